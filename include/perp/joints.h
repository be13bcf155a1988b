/// perp/joints.h - limits, dry friction, springs, actuators, tendons and closed loops of the bodies
/// in perp/bodies.h.
///
/// A step solves all of them together with its contacts, at the end of the step. With x = q + h v+
/// of a hinge or slide:
///
///     limits           0 <= x - lower   perp   impulse >= 0,   0 <= upper - x   perp   impulse >= 0
///     dry friction     |force| <= friction, and force = -friction sign(v+) where v+ is not 0
///     springs          force = -stiffness (x - rest)
///     actuators        force = gear clamp(gain u + bias - kp gear x - kv gear v+, force_range)
///     tendons          the same laws for a weighted sum of such x, or for the length of a path in space
///     thrusters        a force and a moment on a body, along its axes at the beginning of the step
///     activations      integrated exactly over the step while the control is constant; muscles to order 2
///     muscles          the force at the beginning of the step, and its stabilising derivatives
///     equalities       the position error, linearised in v+, is 0 at the end of the step
///
/// The laws are implicit. A gain is never too stiff for the step, a joint sticks exactly, and a
/// limit is never passed. The verdict of each step judges these laws from their definitions. Why:
/// docs/adr/054-joints.md.

#ifndef PERP_JOINTS_H
#define PERP_JOINTS_H

#include "perp/bodies.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An interval that may be absent. `limited = 0` (all zeros): there are no bounds.
/// `.range = {1, -0.5, 0.5}` bounds a number by -0.5 and 0.5, `{1, 0, 0}` holds it at 0.
typedef struct perp_range {
    int limited; ///< 1: lower and upper hold; 0: neither is read
    double lower, upper;
} perp_range;

/// The passive law of a joint. All zeros: none.
typedef struct perp_joint_law {
    perp_range
        range; ///< of q of a hinge or slide [rad, m]: lower <= upper, one of them may be infinite.
               ///< Of a ball joint: lower 0, upper > 0 is the largest rotation angle (order 1)
    double friction;  ///< dry friction on each velocity of the joint [N m, N], >= 0
    double stiffness; ///< of a hinge or slide [N m/rad, N/m], >= 0
    double rest;      ///< q at which the spring has no force [rad, m]
} perp_joint_law;

/// Set the law of a body's joint, from the next step on.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such body); PERP_ERR_MODEL (diag names the body and what
///         was expected; nothing changed)
PERP_API perp_status perp_bodies_set_joint(perp_bodies *bodies, int body, const perp_joint_law *law,
                                           perp_diag *diag);

/// The points and obstacles of a tendon's path. Between two sites the path may wrap around a sphere
/// or a cylinder: it is straight where the obstacle does not block it, else the shortest way
/// around. Obstacles of a path make no contacts. A pulley ends one branch and begins another, which
/// counts by 1/divisor.
typedef enum perp_path_kind {
    PERP_PATH_SITE,
    PERP_PATH_SPHERE,
    PERP_PATH_CYLINDER, ///< infinitely long, along its z axis
    PERP_PATH_PULLEY
} perp_path_kind;

typedef struct perp_path_point {
    perp_path_kind kind;
    int body;           ///< the body that carries it; 0: the world. Not read for a pulley
    double position[3]; ///< of a site, or of the obstacle's centre, in the body's frame [m]
    double rotation[4]; ///< of a cylinder in the body's frame, a quaternion; all 0: none
    double radius;      ///< of an obstacle [m], > 0
    int has_side;   ///< 1: the path passes on the side of the point `side`; if that point is inside
                    ///< the obstacle, the path runs through the obstacle as through a ring
    int side_body;  ///< the body that carries `side`
    double side[3]; ///< [m]
    double divisor; ///< of a pulley, > 0
} perp_path_point;

/// A tendon. Its length is the sum of coefficient * q over hinges and slides, or the length of a
/// path through space. A tension acts on everything that lengthens it. The length of a path at the
/// end of a step is that at its beginning plus h times its rate there (order 1, as for gaps).
typedef struct perp_tendon {
    int n;                     ///< number of joints; 0: the tendon has a path
    const int *body;           ///< n bodies whose joints count, each once
    const double *coefficient; ///< n, length per unit of q, not 0
    perp_range range;          ///< of the length: lower <= upper, one of them may be infinite
    double friction;           ///< dry friction [N, N m], >= 0
    double stiffness, damping; ///< force = -stiffness (length - rest) - damping * rate; >= 0
    double rest;               ///< length at which the spring has no force
    double slack;              ///< >= 0: no spring force from rest to rest + slack
    int npath;
    const perp_path_point *path; ///< npath, from site to site
} perp_tendon;

/// Add a tendon. Its lists are copied. Tendons are numbered from 1 in the order in which they are
/// added, in every function and struct; 0 means "no tendon".
/// @return as perp_bodies_add_actuator
PERP_API perp_status perp_bodies_add_tendon(perp_bodies *bodies, const perp_tendon *tendon,
                                            perp_diag *diag);

/// The length of tendon 1, 2, .. at the present q; NaN if there is no such tendon.
PERP_API double perp_bodies_tendon_length(perp_bodies *bodies, int tendon);

/// The derivative of a tendon's length with respect to v, nv entries.
///
/// @param tendon  1, 2, ..
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such tendon)
PERP_API perp_status perp_bodies_tendon_jacobian(perp_bodies *bodies, int tendon, double *J);

/// The dynamics from a control u to an activation a, which replaces u in the force: name, summary.
#define PERP_ACTIVATION_LIST(X)                                                                    \
    X(PERP_ACTIVATION_NONE, "none: the control itself")                                            \
    X(PERP_ACTIVATION_INTEGRATOR, "a' = u")                                                        \
    X(PERP_ACTIVATION_FILTER, "a' = (u - a)/rise")                                                 \
    X(PERP_ACTIVATION_MUSCLE, "a' = (u - a)/tau(u, a) with u in 0..1")

typedef enum perp_activation {
#define PERP_ACTIVATION_ENUM(name, text) name,
    PERP_ACTIVATION_LIST(PERP_ACTIVATION_ENUM)
#undef PERP_ACTIVATION_ENUM
} perp_activation;

/// A muscle. Its force at length l and rate w with activation a is (negative: it pulls)
///
///     -force (a FL(L) FV(V) + FP(L)),   L = range[0] + (l - length[0])/l0,   V = w/(l0 vmax),
///     l0 = (length[1] - length[0])/(range[1] - range[0])
///
/// FL is 1 at L = 1 and 0 outside lmin..lmax, in parabolas. FV is 1 at rest, 0 for V <= -1, and
/// fvmax for V >= fvmax - 1. FP is 0 up to L = 1 and fpmax at L = (1 + lmax)/2.
/// @see MuJoCo, Modeling, Muscle actuators
typedef struct perp_muscle {
    double range[2];     ///< normalised lengths at length[0] and length[1]
    double force;        ///< peak force [N]; 0: the actuator is no muscle
    double lmin, lmax;   ///< lmin < 1 < lmax
    double vmax;         ///< > 0 [1/s]
    double fpmax, fvmax; ///< fpmax >= 0, fvmax > 1
    double length[2];    ///< shortest and longest length of the actuator [m]
} perp_muscle;

/// An actuator of a hinge or slide, of a tendon, or a thruster on a body. A motor has gain 1; a
/// position servo of stiffness kp has gain kp and kp. A velocity servo of damping kv has gain kv
/// and kv.
typedef struct perp_actuator {
    int body;      ///< whose joint, or the body that a thruster acts on; not read for a tendon
    double gear;   ///< actuator length per unit of q or of tendon length, not 0
    double gain;   ///< force per unit of the control u
    double bias;   ///< constant force [N, N m]
    double kp, kv; ///< >= 0, feedback of the actuator's length and rate
    perp_range force_range;   ///< the force is clamped to it; lower < upper, both finite
    perp_range control_range; ///< u is clamped to it; lower < upper, both finite
    int tendon;               ///< 1, 2, ..: a tendon's actuator; 0: a joint's or a thruster
    int is_thruster;          ///< 1: a force on the body; kp = kv = 0, no muscle
    double point[3];          ///< of a thruster: where the force acts, in the body's frame [m]
    double force[3];          ///< of a thruster: force per unit of gear * actuator force, body axes
    double moment[3];      ///< of a thruster: moment per unit of gear * actuator force, body axes
    double kp_per_control, ///< the gains are kp + u * kp_per_control and kv + u * kv_per_control
        kv_per_control;    ///< [per unit of u], >= 0; not 0 needs control_range with lower >= 0
                           ///< (activation_range where there is an activation)
    perp_activation activation;
    double rise, fall; ///< time constants [s]: of a filter rise >= 0; of a muscle both > 0
    double smooth;     ///< of a muscle: width of the transition between them in u - a, >= 0
    perp_range activation_range; ///< the activation stays in it; lower < upper, both finite
    int is_early; ///< 1: the activation at the end of the step acts, 0: that at its beginning.
                  ///< The midpoint rule takes the middle either way
    perp_muscle muscle; ///< if force > 0, gain, bias, kp and kv are not read
} perp_actuator;

/// Add an actuator. Its control is 0.
/// @return as perp_bodies_set_joint, and PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_add_actuator(perp_bodies *bodies, const perp_actuator *actuator,
                                              perp_diag *diag);
/// The number of actuators.
PERP_API int perp_bodies_nu(const perp_bodies *bodies);

/// Set the controls, nu in the order of the actuators, from the next step on.
/// @return PERP_OK; PERP_ERR_ARG (NULL, not finite; nothing changed)
PERP_API perp_status perp_bodies_set_control(perp_bodies *bodies, const double *u);

/// The controls, nu in the order of the actuators; the system owns them.
PERP_API const double *perp_bodies_control(const perp_bodies *bodies);

/// The activations, nu in the order of the actuators; 0 for an actuator without activation.
PERP_API const double *perp_bodies_activation(const perp_bodies *bodies);

/// Set the activations, nu; entries of actuators without activation are not read. Values outside
/// the activation range are clamped.
/// @return PERP_OK; PERP_ERR_ARG (NULL, not finite; nothing changed)
PERP_API perp_status perp_bodies_set_activation(perp_bodies *bodies, const double *a);

/// The equalities: name, word, rows, summary.
#define PERP_EQUALITY_LIST(X)                                                                      \
    X(PERP_EQUALITY_CONNECT, "connect", 3, "a point of one body stays on a point of another")      \
    X(PERP_EQUALITY_WELD, "weld", 6, "two points stay together, and the bodies' rotations")        \
    X(PERP_EQUALITY_JOINT, "joint", 1, "q of one hinge or slide is a polynomial of another's")     \
    X(PERP_EQUALITY_TENDON, "tendon", 1, "the length of one tendon is a polynomial of another's")

typedef enum perp_equality_kind {
#define PERP_EQUALITY_ENUM(name, word, rows, text) name,
    PERP_EQUALITY_LIST(PERP_EQUALITY_ENUM)
#undef PERP_EQUALITY_ENUM
        PERP_EQUALITY_COUNT
} perp_equality_kind;

PERP_API const char *perp_equality_name(perp_equality_kind kind);
PERP_API const char *perp_equality_summary(perp_equality_kind kind);
PERP_API perp_equality_kind perp_equality_find(const char *name);

/// A closed loop or a coupling. The solver leaves out redundant rows. The verdict judges all rows.
typedef struct perp_equality {
    perp_equality_kind kind;
    int body[2];        ///< two bodies, 0: the world (not as body[0] of a joint). Of tendons: their
                        ///< numbers from 1; 0 as the second: none
    double point[2][3]; ///< connect and weld: in the frame of each body [m]
    double rotation[4]; ///< weld: of the second body in the first, a quaternion; all 0: none
    double
        polynomial[5]; ///< joint, tendon: q0 = sum_k polynomial[k] q1^k, with q0 of body[0]; q1 = 0
                       ///< where the second is the world or no tendon
} perp_equality;

/// Add an equality. @return as perp_bodies_add_actuator
PERP_API perp_status perp_bodies_add_equality(perp_bodies *bodies, const perp_equality *equality,
                                              perp_diag *diag);

/// Forces of the last step [N, N m], each nullable.
///
/// @param limit     nv, of limits: > 0 at a lower one; of a ball joint in its first entry, about
///         the axis of its rotation
/// @param friction  nv, dry friction
/// @param actuator  nu, before the gear
PERP_API perp_status perp_bodies_joint_forces(const perp_bodies *bodies, double *limit,
                                              double *friction, double *actuator);

/// Derivatives of the velocities at the end of the last step with respect to its start. Each law of
/// a joint keeps its branch: dry friction that sticks stays, a limit that acts stays, a saturated
/// force stays. Columns of q are as in perp_bodies_inverse_derivatives. Of hinges and slides q+ =
/// q + h v+ follows. Tendons are treated as joints. Allocates scratch memory.
///
/// @param dq  by q, nv x nv column-major; nullable
/// @param dv  by v, nv x nv; nullable
/// @param du  by the controls, nv x nu; nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL, no step since the system was created or set, or the last
///         step was divided into substeps); PERP_ERR_UNAVAILABLE (a contact acted, there are
///         equalities or forces on bodies, the method is not euler, or a tendon's way around an
///         obstacle is not unique: diag says which); PERP_ERR_NO_SOLUTION (the mass matrix is
///         singular, or a motion is constrained twice); PERP_ERR_MEMORY
/// @see docs/adr/074-derivatives-of-bodies.md
PERP_API perp_status perp_bodies_step_derivatives(perp_bodies *bodies, double *dq, double *dv,
                                                  double *du, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
