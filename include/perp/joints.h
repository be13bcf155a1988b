/// perp/joints.h - what acts in the joints of perp/bodies.h and between its bodies: limits, dry friction, springs, actuators, closed loops.
///
/// All of it is taken at the end of a step, with its contacts, in one problem. With x = q + h v+ of a hinge or slide:
///
///     limits           0 <= x - lower   perp   impulse >= 0,      0 <= upper - x   perp   impulse >= 0        (restitution 0)
///     dry friction     |force| <= friction, and force = -friction sign(v+) where v+ is not 0: it sticks exactly
///     springs          force = -stiffness (x - rest)
///     actuators        force = gear clamp(gain u + bias - kp gear x - kv gear v+) to lower..upper, however stiff
///     tendons          the same of a sum of such x, or of the length of a way through space
///     thrusters        a force and a moment along the axes of a body where the step begins
///     activations      moved over the step by the exact motion of their law under the control that is held; muscles by the second order
///     muscles          the force at the step's begin, and its slopes by length and rate where these hold back
///     equalities       the error of position, as the velocities at the end of the step change it, is 0 there: nothing drifts
///
/// so a gain is never too stiff for the step, and a limit is neither passed nor does it push before it is reached. Each step's verdict has
/// these laws too, from their definitions. Why: docs/adr/054-joints.md.

#ifndef PERP_JOINTS_H
#define PERP_JOINTS_H

#include "perp/bodies.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a joint does on its own. All 0: nothing.
typedef struct perp_joint_law {
    double lower,
        upper; ///< of q of a hinge or slide [rad, m], lower < upper, infinite: none; both 0: none. Of a ball: upper > 0 is by how much it may turn, to order 1; lower 0
    double friction;  ///< dry, of each of the joint's velocities [N m, N], >= 0
    double stiffness; ///< of a hinge or slide [N m/rad, N/m], >= 0
    double rest;      ///< q where the spring has no force
} perp_joint_law;

/// From now on. @return PERP_OK; PERP_ERR_ARG (NULL, no such body); PERP_ERR_MODEL (diag names the body and what was expected; nothing changed)
PERP_API perp_status perp_bodies_set_joint(perp_bodies *bodies, int body, const perp_joint_law *law,
                                           perp_diag *diag);

/// What a tendon through space runs along. Between two sites it may go around a sphere or a cylinder, which is of no contact's shape: straight, where that is not in
/// its way; else the shortest way around it. A pulley ends one branch and begins another, whose length counts by 1/divisor.
typedef enum perp_path_kind {
    PERP_PATH_SITE,
    PERP_PATH_SPHERE,
    PERP_PATH_CYLINDER, ///< without ends, about its z
    PERP_PATH_PULLEY
} perp_path_kind;

typedef struct perp_path_point {
    perp_path_kind kind;
    int body;           ///< on which it is, 0: the world; a pulley is on none
    double position[3]; ///< of a site, or of the middle of what is wrapped, in the body's frame [m]
    double rotation[4]; ///< of a cylinder in the body's frame, a quaternion; all 0: none
    double radius;      ///< > 0, of what is wrapped [m]
    int has_side; ///< 1: it passes on the side of the point below, wherever the straight way would be; through it like a ring, where that point is inside
    int side_body;
    double side[3];
    double divisor; ///< > 0, of a pulley
} perp_path_point;

/// A tendon: its length is the sum of coefficient q over hinges and slides, or that of its path through space; and what pulls it pulls all that lengthens it.
/// Through space, its length at the end of a step is that at the begin and h times its rate there: to order 1, as gaps are.
typedef struct perp_tendon {
    int n;                     ///< how many joints; 0: it has a path
    const int *body;           ///< n: whose joints, each once
    const double *coefficient; ///< n, not 0: length per q
    double lower, upper;       ///< of its length, lower < upper, infinite: none; both 0: none
    double friction;           ///< dry [N, N m], >= 0
    double stiffness, damping; ///< >= 0: the force -stiffness (length - rest) - damping its rate
    double rest;               ///< the length without force of the spring
    double slack;              ///< >= 0: from rest to rest + slack the spring has no force
    int npath;
    const perp_path_point *path; ///< npath, from site to site
} perp_tendon;

/// One tendon more; its lists are copied. @return as perp_bodies_add_actuator
PERP_API perp_status perp_bodies_add_tendon(perp_bodies *bodies, const perp_tendon *tendon,
                                            perp_diag *diag);

/// The length of a tendon, by the number of its adding from 0, at the present q; NaN: there is no such tendon.
PERP_API double perp_bodies_tendon_length(perp_bodies *bodies, int tendon);

/// Its derivative by the velocities, nv: by how much it lengthens per unit of each. @return PERP_OK; PERP_ERR_ARG (NULL, no such tendon)
PERP_API perp_status perp_bodies_tendon_jacobian(perp_bodies *bodies, int tendon, double *J);

/// What a control u does to the activation a of an actuator, which then stands for u in its force: summary.
#define PERP_ACTIVATION_LIST(X)                                                                    \
    X(PERP_ACTIVATION_NONE, "there is none: u itself")                                             \
    X(PERP_ACTIVATION_INTEGRATOR, "a' = u")                                                        \
    X(PERP_ACTIVATION_FILTER, "a' = (u - a)/rise")                                                 \
    X(PERP_ACTIVATION_MUSCLE, "a' = (u - a)/tau(u, a) with u in 0..1")

typedef enum perp_activation {
#define PERP_ACTIVATION_ENUM(name, text) name,
    PERP_ACTIVATION_LIST(PERP_ACTIVATION_ENUM)
#undef PERP_ACTIVATION_ENUM
} perp_activation;

/// The force of a muscle of length l and rate w with the activation a, negative as it pulls:
///
///     -force (a FL(L) FV(V) + FP(L)),     L = range[0] + (l - length[0])/l0,   V = w/(l0 vmax),   l0 = (length[1] - length[0])/(range[1] - range[0])
///
/// FL is 1 at L = 1 and 0 outside lmin..lmax, in parabolas; FV is 1 at rest, 0 from V = -1 down, fvmax from V = fvmax - 1 up; FP is 0 up to L = 1 and fpmax where
/// L = (1 + lmax)/2.
/// @see MuJoCo, Modeling, Muscle actuators
typedef struct perp_muscle {
    double range[2], force, lmin, lmax, vmax, fpmax,
        fvmax; ///< force 0: it is no muscle; else > 0 [N], lmin < 1 < lmax, vmax > 0, fpmax >= 0, fvmax > 1
    double length[2]; ///< the least and the greatest of the actuator [m]
} perp_muscle;

/// An actuator of a hinge or slide, of a tendon, or (`pushes`) one that pushes a body as a thruster does. A motor has gain 1; one of position gain
/// kp, kp, kv; one of velocity gain kv, kv.
typedef struct perp_actuator {
    int body;            ///< whose joint, or what is pushed; of a tendon it is not read
    double gear;         ///< length of the actuator per q or the tendon's length, not 0
    double gain;         ///< of its control u
    double bias;         ///< [N, N m]
    double kp, kv;       ///< >= 0
    double lower, upper; ///< of its force, lower < upper, infinite: none; both 0: none
    double control_lower,
        control_upper; ///< u is clamped to these; lower < upper; both 0: it is not
    int tendon;        ///< 0: of a joint; else of a tendon, by the number of its adding from 1
    int pushes;        ///< 1: a force on the body, kp = kv = 0; 0: none
    double point[3];   ///< where it pushes, in the body's frame [m]
    double push[3],
        turn[3]; ///< force and moment per unit of gear times its force, along the body's axes as they are when a step begins
    double more_kp,
        more_kv; ///< >= 0: by so much kp and kv are larger per unit of u, which is then bounded by 0 or more
    perp_activation activation;
    double rise, fall; ///< time constants [s] of a filter: rise >= 0; of a muscle: both > 0
    double smooth;     ///< of a muscle: over so much of u - a it goes from one to the other, >= 0
    double act_lower,
        act_upper; ///< the activation stays in these; lower < upper; both 0: it is not bounded
    int is_early; ///< 1: the activation of the step's end acts in a step; 0: that of its begin. By the midpoint rule it is that halfway
    perp_muscle muscle; ///< then gain, bias, kp, kv are not read
} perp_actuator;

/// One actuator more; its control is 0. @return as perp_bodies_set_joint, and PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_add_actuator(perp_bodies *bodies, const perp_actuator *actuator,
                                              perp_diag *diag);
PERP_API int perp_bodies_nu(const perp_bodies *bodies);

/// Controls from now on, nu in the order of their actuators. @return PERP_OK; PERP_ERR_ARG (NULL, not finite; nothing changed)
PERP_API perp_status perp_bodies_set_control(perp_bodies *bodies, const double *u);

/// The activations, nu in the order of their actuators; 0 of those that have none.
PERP_API const double *perp_bodies_activation(const perp_bodies *bodies);

/// From here the system goes on with these, nu, of which those of actuators without activation are not read; what is past its bounds is put there.
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

/// A closed loop or a coupling. Rows that follow from others are left out of the solve, and judged as all are.
typedef struct perp_equality {
    perp_equality_kind kind;
    int body
        [2]; ///< two bodies; 0: the world (not as body[0] of a joint). Of tendons: their numbers from 1, and 0 as the second: none
    double point[2][3]; ///< connect and weld: in the frame of each [m]
    double
        rotation[4]; ///< weld: of the second body's frame in the first's, a quaternion; all 0: none
    double polynomial
        [5]; ///< joint, tendon: q0 = sum_k polynomial[k] q1^k, q0 of body[0]; of the world q1 = 0
} perp_equality;

/// One equality more. @return as perp_bodies_add_actuator
PERP_API perp_status perp_bodies_add_equality(perp_bodies *bodies, const perp_equality *equality,
                                              perp_diag *diag);

/// Forces of the last step [N, N m], each nullable.
///
/// @param limit     nv, of limits: > 0 at a lower one; of a ball in its first, about the axis of its turn
/// @param friction  nv, dry
/// @param actuator  nu, before the gear
PERP_API perp_status perp_bodies_joint_forces(const perp_bodies *bodies, double *limit,
                                              double *friction, double *actuator);

/// Derivatives of the velocities at the end of the last step by what it began with, each law of a joint on the side that it was on: dry friction that
/// held holds, a limit that pushed pushes, a force at a bound stays there. Columns of q are as in perp_bodies_inverse_derivatives. Of hinges
/// and slides q+ = q + h v+ follows. Tendons are as joints: springs with slack on their side, limits, dry friction. Allocates scratch.
///
/// @param dq  by q, nv x nv column-major; nullable
/// @param dv  by v, nv x nv; nullable
/// @param du  by the controls, nv x nu; nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL, no step since it was created or set, or the last one was made in parts); PERP_ERR_UNAVAILABLE (a contact pushed in it, there are
/// equalities or forces on bodies, the method is not euler, or a tendon's way around something is not unique: diag says so); PERP_ERR_NO_SOLUTION (the mass matrix is singular, or what is held is held twice); PERP_ERR_MEMORY
/// @see docs/adr/074-derivatives-of-bodies.md
PERP_API perp_status perp_bodies_step_derivatives(perp_bodies *bodies, double *dq, double *dv,
                                                  double *du, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
