/// perp/bodies.h - rigid bodies and trees of joints with exact Coulomb friction between their shapes.
///
/// A system is a list of bodies, each hung on an earlier one (or the world, body 0) by a joint, and a list of shapes on them. Its
/// velocities v are those of the joints; a step of length h solves for the velocities at its end
///
///     M(q) (v+ - v) = h (tau - c(q, v) - D v+) + J(q)' r,     q+ = q moved by h v+,
///     contact i:   u = J_i v+,   u_n + max(gap, ..)/h and the cone of friction as in perp/friction.h
///
/// and with coefficients of torsional and rolling friction, a [m] and b [m], each a law of its own, bounded by the same normal impulse, w: relative angular
/// velocity,
///
///     |m_n| <= a r_n,   m_n = -a r_n sign(w_n) where w_n is not 0;       |m_T| <= b r_n,   m_T = -b r_n w_T/|w_T| where w_T is not 0
///
/// so a contact that is closed stays closed, without creep and without sinking. After each step the answer is judged by code of its
/// own: the contacts' law on their own scales (perp_fc_info.error), and Newton's law by inverse dynamics (recursive Newton and Euler), which
/// shares nothing with the mass matrix that the solver used. A step that does not hold is refused.
///
/// Limits, dry friction, springs, actuators, tendons and closed loops: perp/joints.h.
///
/// A fluid drags each body as if it were the box of even density with its mass and inertia: Stokes' drag of a ball of its mean side, and that of its faces by
/// the square of their speeds; a step takes it, as lift and thrust, as it is at its begin.
///
/// Inertias, joints and velocities are as in Featherstone, Rigid Body Dynamics Algorithms, 2008. Units: m, kg, s, rad.

#ifndef PERP_BODIES_H
#define PERP_BODIES_H

#include "perp/base.h"
#include "perp/friction.h"
#include "perp/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The joints: name, word, entries of q, entries of v, summary. A ball's q is a unit quaternion (w, x, y, z), its v the angular velocity in the
/// body's frame; a free body's q is its origin in the world (or the parent's frame) and a quaternion, its v the origin's velocity in the parent's
/// frame and the angular velocity in its own.
#define PERP_JOINT_LIST(X)                                                                         \
    X(PERP_JOINT_FIXED, "fixed", 0, 0, "moves with its parent")                                    \
    X(PERP_JOINT_HINGE, "hinge", 1, 1, "turns about an axis through its origin")                   \
    X(PERP_JOINT_SLIDE, "slide", 1, 1, "moves along an axis")                                      \
    X(PERP_JOINT_BALL, "ball", 4, 3, "turns about its origin")                                     \
    X(PERP_JOINT_FREE, "free", 7, 6, "moves and turns freely")

typedef enum perp_joint {
#define PERP_JOINT_ENUM(name, word, nq, nv, text) name,
    PERP_JOINT_LIST(PERP_JOINT_ENUM)
#undef PERP_JOINT_ENUM
        PERP_JOINT_COUNT
} perp_joint;

PERP_API const char *perp_joint_name(perp_joint joint);
PERP_API const char *perp_joint_summary(perp_joint joint);
PERP_API perp_joint perp_joint_find(const char *name);

/// A body. Its frame coincides with the joint's: a hinge turns it about an axis through its origin.
typedef struct perp_body {
    const char *name; ///< for messages; nullable
    int parent;       ///< an earlier body, from 1 on; 0: the world
    perp_joint joint; ///< how it moves in its parent
    double position
        [3]; ///< of its origin in the parent's frame where q = 0; of a free body it is q itself
    double
        rotation[4];  ///< quaternion of its frame there; all 0: none. Of a free body it is q itself
    double axis[3];   ///< of hinge and slide, in its own frame
    double mass;      ///< [kg], >= 0
    double center[3]; ///< of mass, in its frame
    double inertia
        [6]; ///< about the centre of mass, axes of its frame: xx, yy, zz, xy, xz, yz [kg m^2]
    double
        damping; ///< >= 0, of each of the joint's velocities: the force -damping v [N s/m, N m s]
    double armature; ///< >= 0, added to the diagonal of M: a geared motor's inertia [kg, kg m^2]
    double lift;     ///< which part of its weight is taken off, by a force at its centre of mass
} perp_body;

/// How a step goes: name, word, summary. `euler` is the step above, of order 1. `midpoint` is Moreau's:
///
///     q' = q moved by h/2 v,   v' = (v + v+)/2,   M(q') (v+ - v) = h (tau - c(q', v') - D v') + J(q')' r,   q+ = q moved by h v',
///
/// contacts, limits, dry friction and equalities at q', for the velocities v+. It has order 2 where motion is smooth, contacts that stay closed included, and
/// keeps energy and momentum of a free body that turns about its centre of mass to rounding (rotations move by Cayley's map). Forces of springs, servos and
/// dampers are those of q and v halfway where they are soft beside the step, of its end where they are stiff; those of tendons always of its end, to order 1.
/// It takes about 3 times as long where bodies move fast. Why: docs/adr/077-the-midpoint-rule-of-bodies.md
/// @see Moreau, Numerical aspects of the sweeping process, 1999; Austin, Krishnaprasad, Wang, Almost Poisson integration of rigid body systems, 1993
#define PERP_BODIES_METHOD_LIST(X)                                                                 \
    X(PERP_BODIES_EULER, "euler", "order 1; forces at the begin of a step, the default")           \
    X(PERP_BODIES_MIDPOINT, "midpoint", "order 2 in smooth motion; forces in the middle")

typedef enum perp_bodies_method {
#define PERP_BODIES_METHOD_ENUM(name, word, text) name,
    PERP_BODIES_METHOD_LIST(PERP_BODIES_METHOD_ENUM)
#undef PERP_BODIES_METHOD_ENUM
        PERP_BODIES_METHOD_COUNT
} perp_bodies_method;

PERP_API const char *perp_bodies_method_name(perp_bodies_method method);
PERP_API const char *perp_bodies_method_summary(perp_bodies_method method);
PERP_API perp_bodies_method perp_bodies_method_find(const char *name);

typedef struct perp_bodies_options {
    size_t size;       ///< set by the default; says which fields the caller has
    double gravity[3]; ///< [m/s^2]; default (0, 0, -9.81)
    double step;       ///< h > 0 [s]; default 0.002
    double tol;        ///< a step is verified when its error is at most this; default 1e-8
    double
        rebound; ///< approaches slower than this come to rest whatever the restitution [m/s]; default 0.01
    double density, viscosity; ///< of a fluid all around, >= 0 [kg/m^3, Pa s]; default 0: none
    double wind[3];            ///< its velocity [m/s]
    perp_bodies_method method; ///< default PERP_BODIES_EULER
} perp_bodies_options;

PERP_API void perp_bodies_options_fill(perp_bodies_options *options, size_t size);
static inline perp_bodies_options perp_bodies_options_default(void)
{
    perp_bodies_options options;
    perp_bodies_options_fill(&options, sizeof options);
    return options;
}

typedef struct perp_bodies_info {
    long step;            ///< 1 for the first
    double time;          ///< at its end [s]
    perp_outcome outcome; ///< PERP_SOLVED, or why not
    int touches;          ///< near contacts of the step
    double contact_error; ///< of the contacts' and joints' laws, each on its own scale
    double newton_error;  ///< of Newton's law, each row beside the sum of its |terms|
    int iterations;       ///< of the friction solver
    double
        overlap; ///< the deepest that is left at its end, where the next step looks [m], 0: of nothing
    int parts; ///< 1; 2, 4, up to 64 where the whole step had no verified answer and was made in so many: errors of the worst part, touches of the last
    double
        work; ///< multiply-adds of its factorisations and products of matrices: docs/scenes.md says which
} perp_bodies_info;

typedef struct perp_bodies perp_bodies;

/// A system at rest where its joints are 0.
///
/// @param body    nbody; body i of the list is body i + 1, 0 is the world
/// @param shape   nshape; nullable where there is none
/// @return PERP_OK; PERP_ERR_ARG (NULL, options); PERP_ERR_MODEL (diag names the body or shape and what was expected); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_create(const perp_body *body, int nbody, const perp_shape *shape,
                                        int nshape, const perp_bodies_options *options,
                                        perp_bodies **bodies, perp_diag *diag);
PERP_API void perp_bodies_destroy(perp_bodies *bodies);

/// Which others a shape may touch, beside what perp_shape says of bodies: two shapes may where the type of one has a bit in common with the
/// affinity of the other.
typedef struct perp_touch_rule {
    unsigned type, affinity; ///< of a shape without a rule both are 1
    int priority; ///< of two shapes the friction and dimension of the higher count; of equals the larger; 0
    int dimension; ///< 1: no friction; 3: as mu says; 4: torsional friction, too; 6: rolling friction, too, which is so without a rule
} perp_touch_rule;

/// From the next step on. @return PERP_OK; PERP_ERR_ARG (NULL, no such shape, another dimension); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_set_rule(perp_bodies *bodies, int shape,
                                          const perp_touch_rule *rule);

/// Two shapes of different bodies that touch whatever else is said, with this friction coefficient. Once more: another coefficient.
/// @return PERP_OK; PERP_ERR_ARG (no such shapes, of one body, two planes, mu < 0 or not finite); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_add_pair(perp_bodies *bodies, int shape0, int shape1, double mu);

/// The same pair, added before, has torsional and rolling friction with these coefficients [m].
/// @return PERP_OK; PERP_ERR_ARG (no such pair, a coefficient < 0 or not finite)
PERP_API perp_status perp_bodies_set_pair_moments(perp_bodies *bodies, int shape0, int shape1,
                                                  double spin, double roll);

/// The shapes of two bodies (0: the world) do not touch, but for pairs that were added. @return as perp_bodies_add_pair
PERP_API perp_status perp_bodies_keep_apart(perp_bodies *bodies, int body0, int body1);

/// Entries of q and of v; where those of a body begin (-1: none).
PERP_API int perp_bodies_nq(const perp_bodies *bodies);
PERP_API int perp_bodies_nv(const perp_bodies *bodies);
PERP_API int perp_bodies_q_of(const perp_bodies *bodies, int body);
PERP_API int perp_bodies_v_of(const perp_bodies *bodies, int body);

/// The present q, v and time.
PERP_API const double *perp_bodies_q(const perp_bodies *bodies);
PERP_API const double *perp_bodies_v(const perp_bodies *bodies);
PERP_API double perp_bodies_time(const perp_bodies *bodies);

/// From here the system goes on with these; quaternions are normalised.
///
/// @param q  nq; nullable: as they are
/// @param v  nv; nullable
/// @return PERP_OK; PERP_ERR_ARG (not finite, a quaternion of length 0; nothing was changed)
PERP_API perp_status perp_bodies_set(perp_bodies *bodies, const double *q, const double *v);

/// What was wrong with a start, the worst of each kind [m, rad]; 0: nothing.
typedef struct perp_assembly {
    double overlap;   ///< of two shapes
    int shape[2];     ///< these
    double limit;     ///< by which a limit is passed
    int body;         ///< whose joint's; 0: a tendon's
    double loop;      ///< of an equality
    double moved;     ///< how far a position has moved, or a joint or a body turned
    int jammed;       ///< how many pairs of shapes touch no more
    int is_assembled; ///< 0: limits, loops and overlaps do not go together, and nothing has moved
    int tendon;       ///< whose limit it is, from 1; 0: a joint's
} perp_assembly;

/// Moves q to where limits hold, loops are closed and nothing overlaps, to where a step would leap: joints to the limits that they are past, then all by the
/// least motion in the metric of the masses. Nothing that is right already is moved. Two shapes of one tree, or one of what stays and one of a tree that hangs on it, which overlap and have no
/// room to move apart, as hulls of links about one axis, or would have to go further than 0.05 m or rad, touch no more from now on, but for pairs that were added; perp_bodies_jammed lists them.
///
/// @param assembly  nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
/// @see docs/adr/111-a-start-that-can-be-one.md
PERP_API perp_status perp_bodies_assemble(perp_bodies *bodies, perp_assembly *assembly,
                                          perp_diag *diag);

/// The kth pair of shapes that touches no more, and by how much it overlapped. @return 1; 0: there are no more
PERP_API int perp_bodies_jammed(const perp_bodies *bodies, int k, int shape[2], double *overlap);

/// Forces of the joints from now on, nv [N, N m]; NULL: none. @return PERP_OK; PERP_ERR_ARG (not finite)
PERP_API perp_status perp_bodies_set_force(perp_bodies *bodies, const double *tau);

/// Gravity from now on [m/s^2]; contacts and their forces go on from where they are. @return PERP_OK; PERP_ERR_ARG (NULL, not finite)
PERP_API perp_status perp_bodies_set_gravity(perp_bodies *bodies, const double gravity[3]);

/// One step. What overlaps at its end by more than 1e-5 of the smaller shape's least half length is moved apart: the least motion in the metric of
/// the masses, which changes no velocity. A step without a verified answer is made in parts of equal length, each verified (docs/adr/081): then the impulses are
/// those of the last part times their number. Allocates where there are more contacts than ever before.
///
/// @param info  nullable
/// @return PERP_OK; PERP_ERR_NO_SOLUTION (not verified, or shapes overlap by more than a tenth of that length and cannot be moved apart: diag says
///         what; the state stays); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_step(perp_bodies *bodies, perp_bodies_info *info, perp_diag *diag);

/// Where a body is: its origin and rotation, row by row, in the world. Each nullable.
PERP_API perp_status perp_bodies_pose(perp_bodies *bodies, int body, double position[3],
                                      double rotation[9]);

/// The mass matrix, nv x nv, symmetric, and the bias force c(q, v), nv: M a + c = tau without contacts, lift and drag. Each nullable.
PERP_API perp_status perp_bodies_dynamics(perp_bodies *bodies, double *M, double *c);

/// Forces of the joints that give the accelerations a (nv): M a + c by recursion over the bodies.
PERP_API perp_status perp_bodies_inverse(perp_bodies *bodies, const double *a, double *tau);

/// Derivatives of perp_bodies_inverse at the accelerations a, nv x nv column-major; that by a is M. Column k of dq is the change as q is moved by
/// velocity k alone: of a hinge or slide, by its q; of a rotation, by a turn about axis k of the body. Allocates scratch.
///
/// @param a   nv
/// @param dq  nullable
/// @param dv  by v; nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
/// @see Carpentier, Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018; docs/adr/074-derivatives-of-bodies.md
PERP_API perp_status perp_bodies_inverse_derivatives(perp_bodies *bodies, const double *a,
                                                     double *dq, double *dv);

/// Velocity of a body's point per unit of v, 3 x nv column-major, world axes.
PERP_API perp_status perp_bodies_jacobian(perp_bodies *bodies, int body, const double point[3],
                                          double *J);

/// Energies [J]; the potential one is 0 at the world's origin. Each nullable.
PERP_API void perp_bodies_energy(perp_bodies *bodies, double *kinetic, double *potential);

/// The contacts of the last step, nearest shapes included; owned by the system, until the next call that changes it.
PERP_API int perp_bodies_touches(const perp_bodies *bodies, const perp_touch **touch);

#ifdef __cplusplus
}
#endif
#endif
