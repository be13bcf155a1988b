/// perp/bodies.h - rigid bodies and trees of joints with exact Coulomb friction between their
/// shapes.
///
/// A system is a list of bodies and a list of shapes on them. A joint connects each body to an
/// earlier one or to the world (body 0). The velocities v are those of the joints. A step of length
/// h solves for the velocities at its end:
///
///     M(q) (v+ - v) = h (tau - c(q, v) - D v+) + J(q)' r,     q+ = q moved by h v+,
///     contact i:   u = J_i v+,   u_n + max(gap, ..)/h and the cone of friction as in perp/friction.h
///
/// Torsional and rolling friction have coefficients a [m] and b [m]. Each is a law of its own,
/// bounded by the same normal impulse r_n. With the relative angular velocity w:
///
///     |m_n| <= a r_n,   m_n = -a r_n sign(w_n) where w_n is not 0
///     |m_T| <= b r_n,   m_T = -b r_n w_T/|w_T| where w_T is not 0
///
/// A closed contact stays closed, without slip drift and without sinking. Separate code verifies
/// each step. It checks the laws of the contacts on their own scales (perp_fc_info.error). It
/// checks Newton's law by recursive inverse dynamics, which shares nothing with the mass matrix of
/// the solver. A step that fails is rejected.
///
/// Limits, dry friction, springs, actuators, tendons and closed loops: perp/joints.h.
///
/// A fluid drags each body like the box of uniform density with its mass and inertia: Stokes' drag
/// of a ball of its mean side, and the drag of its faces by the square of their speeds. Fluid drag,
/// gravity compensation and thrust are those at the beginning of the step.
///
/// Inertias, joints and velocities follow Featherstone, Rigid Body Dynamics Algorithms, 2008.
/// Units: m, kg, s, rad.

#ifndef PERP_BODIES_H
#define PERP_BODIES_H

#include "perp/base.h"
#include "perp/friction.h"
#include "perp/impact.h"
#include "perp/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The joints: name, word, entries of q, entries of v, summary.
///
/// A ball's q is a unit quaternion (w, x, y, z). Its v is the angular velocity in the body's frame.
/// A free body's q is its origin in the world (or the parent's frame) and a quaternion. Its v is
/// the origin's velocity in the parent's frame and the angular velocity in its own.
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

/// A body. Its frame coincides with the joint's: a hinge rotates it about an axis through its
/// origin.
typedef struct perp_body {
    const char *name; ///< for messages; nullable
    int parent;       ///< an earlier body, from 1 on; 0: the world
    perp_joint joint; ///< how it moves in its parent
    /// Of its origin in the parent's frame at q = 0; of a free body it is q itself
    double position[3];
    /// Quaternion of its frame there; all 0: none. Of a free body it is q itself
    double rotation[4];
    double axis[3];   ///< of hinge and slide, in its own frame
    double mass;      ///< [kg], >= 0
    double center[3]; ///< of mass, in its frame
    double inertia
        [6]; ///< about the centre of mass, axes of its frame: xx, yy, zz, xy, xz, yz [kg m^2]
    /// >= 0, of each of the joint's velocities: the force -damping v [N s/m, N m s]
    double damping;
    double armature; ///< >= 0, added to the diagonal of M: a geared motor's inertia [kg, kg m^2]
    /// Upward force at the centre of mass, as a share of the weight; 1: weightless (MuJoCo's
    /// gravcomp)
    double gravity_compensation;
} perp_body;

/// Add the mass of a solid shape, of uniform density, to a body: to its mass, centre and inertia.
///
/// @param shape  its kind, size, position, rotation and mesh are read
/// @param mass   >= 0 [kg]
/// @return PERP_OK; PERP_ERR_ARG (NULL, mass, a shape without volume; nothing changed)
PERP_API perp_status perp_body_add_solid(perp_body *body, const perp_shape *shape, double mass);

/// The methods of a step: name, word, summary. `euler` is the step above, of order 1. `midpoint` is
/// Moreau's:
///
///     q' = q moved by h/2 v,   v' = (v + v+)/2,
///     M(q') (v+ - v) = h (tau - c(q', v') - D v') + J(q')' r,   q+ = q moved by h v',
///
/// with contacts, limits, dry friction and equalities at q', for the velocities v+.
///
/// It has order 2 where motion is smooth, including contacts that stay closed. It keeps energy and
/// momentum of a free body that rotates about its centre of mass to rounding (rotations move by
/// Cayley's map). Forces of springs, servos and dampers are those of q and v halfway if they are
/// soft relative to the step, and of its end if they are stiff. Those of tendons are always of its
/// end, to order 1. The method takes about 3 times as long where bodies move fast. Why:
/// docs/adr/077-the-midpoint-rule-of-bodies.md
/// @see Moreau, Numerical aspects of the sweeping process, 1999; Austin, Krishnaprasad, Wang,
///         Almost Poisson integration of rigid body systems, 1993
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
    size_t size;                  ///< set by the default; tells which fields the caller has
    double gravity[3];            ///< [m/s^2]; default (0, 0, -9.81)
    double step;                  ///< h > 0 [s]; default 0.002
    double tol;                   ///< a step is verified if its error is at most this; default 1e-8
    double restitution_threshold; ///< approach speed below which restitution is ignored [m/s];
                                  ///< default 0.01
    double density, viscosity;    ///< of a fluid all around, >= 0 [kg/m^3, Pa s]; default 0: none
    double wind[3];               ///< its velocity [m/s]
    perp_bodies_method method;    ///< default PERP_BODIES_EULER
} perp_bodies_options;

PERP_API void perp_bodies_options_fill(perp_bodies_options *options, size_t size);
static inline perp_bodies_options perp_bodies_options_default(void)
{
    perp_bodies_options options;
    perp_bodies_options_fill(&options, sizeof options);
    return options;
}

typedef struct perp_bodies_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    long step;            ///< 1 for the first
    double time;          ///< at its end [s]
    perp_outcome outcome; ///< PERP_SOLVED, or why it was rejected
    int contacts;         ///< contacts of the step, speculative ones included
    double contact_error; ///< of the contacts' and joints' laws, each on its own scale
    double newton_error;  ///< of Newton's law, each row relative to the sum of its |terms|
    int iterations;       ///< of the friction solver
    double penetration;   ///< deepest penetration at the end of the step [m]; 0: none
    /// 1: the whole step. More: it was divided, at impacts that it would have missed, or because it
    /// was rejected. Errors are those of the worst substep, contacts those of the last.
    int substeps;
    /// Multiply-adds of factorisations and matrix products (docs/scenes.md lists them)
    double work;
} perp_bodies_info;

typedef struct perp_bodies perp_bodies;

/// A system at rest with all joints at 0.
///
/// @param body    nbody; body i of the list is body i + 1, 0 is the world
/// @param shape   nshape; nullable if there is none
/// @return PERP_OK; PERP_ERR_ARG (NULL, options); PERP_ERR_MODEL (diag names the body or shape and
///         what was expected); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_create(const perp_body *body, int nbody, const perp_shape *shape,
                                        int nshape, const perp_bodies_options *options,
                                        perp_bodies **bodies, perp_diag *diag);
PERP_API void perp_bodies_destroy(perp_bodies *bodies);

/// The contact material of a shape: it selects the shapes with which it makes contacts, and their
/// kind. Two shapes may make contacts if the type of one has a bit in common with the affinity of
/// the other.
typedef struct perp_contact_material {
    unsigned type, affinity; ///< without a material both are 1
    /// The shape with the higher priority gives friction and dimension; among equals the larger
    /// value counts; default 0
    int priority;
    /// 1: no friction; 3: sliding friction; 4: and torsional; 6: and rolling friction, which is the
    /// default
    int dimension;
} perp_contact_material;

/// Set the contact material of a shape, from the next step on.
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such shape, another dimension); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_set_contact_material(perp_bodies *bodies, int shape,
                                                      const perp_contact_material *material);

/// Let two shapes of different bodies make contacts whatever their materials say, with this
/// friction coefficient. A second call replaces the coefficient.
/// @return PERP_OK; PERP_ERR_ARG (no such shapes, of one body, two planes, mu < 0 or not finite);
///         PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_add_pair(perp_bodies *bodies, int shape0, int shape1, double mu);

/// Set torsional and rolling friction [m] of a pair that was added before.
/// @return PERP_OK; PERP_ERR_ARG (no such pair, a coefficient < 0 or not finite)
PERP_API perp_status perp_bodies_set_pair_friction(perp_bodies *bodies, int shape0, int shape1,
                                                   double torsional_friction,
                                                   double rolling_friction);

/// Exclude contacts between the shapes of two bodies (0: the world), except pairs that were added.
/// @return as perp_bodies_add_pair
PERP_API perp_status perp_bodies_exclude_contacts(perp_bodies *bodies, int body0, int body1);

/// Entries of q and of v; the first entry of a body (-1: none).
PERP_API int perp_bodies_nq(const perp_bodies *bodies);
PERP_API int perp_bodies_nv(const perp_bodies *bodies);
PERP_API int perp_bodies_q_of(const perp_bodies *bodies, int body);
PERP_API int perp_bodies_v_of(const perp_bodies *bodies, int body);

/// The present q, v and time.
PERP_API const double *perp_bodies_q(const perp_bodies *bodies);
PERP_API const double *perp_bodies_v(const perp_bodies *bodies);
PERP_API double perp_bodies_time(const perp_bodies *bodies);

/// Continue from these; quaternions are normalised.
///
/// @param q  nq; nullable: unchanged
/// @param v  nv; nullable
/// @return PERP_OK; PERP_ERR_ARG (not finite, a quaternion of length 0; nothing was changed)
PERP_API perp_status perp_bodies_set(perp_bodies *bodies, const double *q, const double *v);

/// Set the time. Later steps add their lengths to it.
/// @return PERP_OK; PERP_ERR_ARG (NULL, not finite)
PERP_API perp_status perp_bodies_set_time(perp_bodies *bodies, double time);

/// Make the present q, v, controls and activations the start, to which perp_bodies_reset goes.
/// Before the first call the start is the state of creation. For perp_robot_create_bodies it is
/// that of the file.
/// @return PERP_OK; PERP_ERR_ARG (NULL)
PERP_API perp_status perp_bodies_set_start(perp_bodies *bodies);

/// Go back to the start, at time 0. Contacts of the last step are forgotten. The forces of
/// perp_bodies_set_force are 0. Other settings stay. With the same settings and controls the run
/// repeats itself to the last bit. NULL: nothing. Allocates nothing.
PERP_API void perp_bodies_reset(perp_bodies *bodies);

/// Size of a snapshot now [bytes]; 0 for NULL. It changes with the contacts.
PERP_API size_t perp_bodies_snapshot_size(const perp_bodies *bodies);

/// Write everything that decides what follows. This is the state, with the contacts of the last
/// step and the initial guesses of the solvers. It is also what a caller has set: controls, forces,
/// gravity, laws of joints, contact materials and pairs. Allocates nothing.
///
/// @param bytes  at least perp_bodies_snapshot_size
/// @return PERP_OK; PERP_ERR_ARG (NULL, size is too small)
PERP_API perp_status perp_bodies_snapshot(const perp_bodies *bodies, void *bytes, size_t size);

/// Continue from a snapshot of this system, or of another one with the same description. The run
/// continues to the bit. The start of a reset stays. A snapshot belongs to one version of perp and
/// one kind of machine. Allocates where it has more contacts than this system ever had.
///
/// @return PERP_OK; PERP_ERR_DATA (diag says why the bytes do not fit; nothing changed);
///         PERP_ERR_ARG (NULL); PERP_ERR_MEMORY (only a reset or another restore may follow)
PERP_API perp_status perp_bodies_restore(perp_bodies *bodies, const void *bytes, size_t size,
                                         perp_diag *diag);

/// Make another system in the same state, which continues on its own. Both share the description:
/// from now on no tendon, actuator or equality is added to it. Threads may use different systems at
/// once. No thread may change a system while another one clones it.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_clone(const perp_bodies *bodies, perp_bodies **clone,
                                       perp_diag *diag);

/// What was wrong with an initial state, the worst of each kind [m, rad]; 0: nothing.
typedef struct perp_assembly {
    size_t size;        ///< sizeof of this struct, set by the caller
    double penetration; ///< of two shapes
    int shape[2];       ///< these
    double limit;       ///< by which a limit is exceeded
    int body;           ///< whose joint's limit; 0: a tendon's
    double loop;        ///< position error of an equality
    double moved;       ///< the largest change of a position, a joint or a rotation
    int excluded;       ///< number of pairs of shapes whose contacts were excluded
    int is_assembled;   ///< 0: limits, loops and penetrations exclude each other; nothing has moved
    int tendon;         ///< whose limit it is, from 1; 0: a joint's
} perp_assembly;

/// Move q to the nearest state in which limits hold, loops are closed and nothing penetrates by
/// more than a step tolerates.
///
/// First joints go to the limits that they exceed. Then all joints move the least in the metric of
/// the mass matrix. A state without a fault does not move.
///
/// Contacts of some pairs are excluded from then on: pairs of shapes of one tree, or of the world
/// and a tree fixed to it. They penetrate and cannot be separated, or only by more than 0.05 m or
/// rad. Hulls of links about one axis are an example. Pairs that were added stay.
/// perp_bodies_excluded_pair lists them.
///
/// @param assembly  nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
/// @see docs/adr/111-a-start-that-can-be-one.md
PERP_API perp_status perp_bodies_assemble(perp_bodies *bodies, perp_assembly *assembly,
                                          perp_diag *diag);

/// The kth pair of shapes whose contacts perp_bodies_assemble excluded, and its penetration [m].
/// @return 1; 0: after the last one
PERP_API int perp_bodies_excluded_pair(const perp_bodies *bodies, int k, int shape[2],
                                       double *penetration);

/// Forces of the joints from now on, nv [N, N m]; NULL: none. @return PERP_OK; PERP_ERR_ARG (not
/// finite)
PERP_API perp_status perp_bodies_set_force(perp_bodies *bodies, const double *tau);

/// The forces of perp_bodies_set_force, nv; the system owns them.
PERP_API const double *perp_bodies_force(const perp_bodies *bodies);

/// Gravity from now on [m/s^2]; contacts and their forces continue unchanged. @return PERP_OK;
/// PERP_ERR_ARG (NULL, not finite)
PERP_API perp_status perp_bodies_set_gravity(perp_bodies *bodies, const double gravity[3]);

/// Take one step.
///
/// Shapes that penetrate at its end by more than 1e-5 of the smaller shape's least half length are
/// separated. They move the least in the metric of the mass matrix, and no velocity changes.
///
/// No shape passes another. A step that would take one more than 1e-2 of that length into another
/// on its way is divided at the impact (docs/explain/crossed-contacts.md). A step without a
/// verified answer is divided into equal substeps (docs/adr/081). Each substep is verified. The
/// impulses are then those of the last one, scaled to the length of the step. Allocates when there
/// are more contacts than ever before.
///
/// @param info  its outcome is PERP_SOLVED, or the step is rejected and the state stays. diag says
///         why: it was not verified, shapes penetrate by more than a tenth of that length and
///         cannot be separated, or would pass each other
/// @return PERP_OK; PERP_ERR_ARG (NULL, info->size); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_step(perp_bodies *bodies, perp_bodies_info *info, perp_diag *diag);

/// Origin and rotation of a body, row by row, in the world. Each nullable.
PERP_API perp_status perp_bodies_pose(perp_bodies *bodies, int body, double position[3],
                                      double rotation[9]);

/// Rotation of a body in the world as a unit quaternion (w, x, y, z).
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such body)
PERP_API perp_status perp_bodies_quaternion(perp_bodies *bodies, int body, double quaternion[4]);

/// The mass matrix, nv x nv, symmetric, and the bias force c(q, v), nv: M a + c = tau without
/// contacts, gravity compensation and drag. Each nullable.
PERP_API perp_status perp_bodies_dynamics(perp_bodies *bodies, double *M, double *c);

/// Forces of the joints that give the accelerations a (nv): M a + c by recursion over the bodies.
PERP_API perp_status perp_bodies_inverse(perp_bodies *bodies, const double *a, double *tau);

/// Accelerations of the joints that these forces give without contacts and laws of joints: the a of
/// M a + c = tau. It undoes perp_bodies_inverse.
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_NO_SOLUTION (the mass matrix is singular)
PERP_API perp_status perp_bodies_forward(perp_bodies *bodies, const double *tau, double *a);

/// Derivatives of perp_bodies_inverse at the accelerations a, nv x nv column-major; that by a is M.
///
/// Column k of dq is the derivative as velocity k alone moves q. Of a hinge or slide it is by its
/// q. Of a rotation it is by a rotation about axis k of the body. Allocates scratch memory.
///
/// @param a   nv
/// @param dq  nullable
/// @param dv  by v; nullable
/// @return PERP_OK; PERP_ERR_ARG (NULL); PERP_ERR_MEMORY
/// @see Carpentier, Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018;
///         docs/adr/074-derivatives-of-bodies.md
PERP_API perp_status perp_bodies_inverse_derivatives(perp_bodies *bodies, const double *a,
                                                     double *dq, double *dv);

/// Velocity of a body's point per unit of v, 3 x nv column-major, world axes.
///
/// @param point  its position in the world [m]
PERP_API perp_status perp_bodies_jacobian(perp_bodies *bodies, int body, const double point[3],
                                          double *J);

/// Angular velocity of a body per unit of v, 3 x nv column-major, world axes.
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such body)
PERP_API perp_status perp_bodies_rotation_jacobian(perp_bodies *bodies, int body, double *J);

/// Velocity of a body's point and angular velocity of the body, world axes. Each nullable.
///
/// @param point  its position in the world [m]; nullable: the body's origin
/// @return PERP_OK; PERP_ERR_ARG (NULL, no such body)
PERP_API perp_status perp_bodies_velocity(perp_bodies *bodies, int body, const double point[3],
                                          double linear[3], double angular[3]);

/// The mass of all bodies, their centre of mass in the world and its Jacobian, each nullable.
///
/// @param center  NaN if the mass is 0
/// @param J       its velocity per unit of v, 3 x nv column-major
/// @return PERP_OK; PERP_ERR_ARG (NULL)
PERP_API perp_status perp_bodies_mass_center(perp_bodies *bodies, double *mass, double center[3],
                                             double *J);

/// Momentum of all bodies [N s], and angular momentum about their centre of mass [N m s], world
/// axes. Armatures are not counted. Each nullable.
/// @return PERP_OK; PERP_ERR_ARG (NULL)
PERP_API perp_status perp_bodies_momentum(perp_bodies *bodies, double linear[3], double angular[3]);

/// Energies [J]; the potential one is 0 at the world's origin. Each nullable.
PERP_API void perp_bodies_energy(perp_bodies *bodies, double *kinetic, double *potential);

/// The impacts of the last step, in the order of time. They stay until the next call that changes
/// the system. Batches count them, too: perp_bodies_batch_at gives the copy.
///
/// Two shapes have an impact where a contact of theirs closes, and approached faster than the
/// forces of one step give. That speed is the step times the acceleration without contacts. Contact
/// points of the same two shapes that close in one step are one impact. Its `impulse` is the sum of
/// the normal ones, its `friction` the size of the sum of the tangential ones, its `point` their
/// mean weighted by the normal impulses. Its time is the end of the step, or of the substep.
///
/// A contact may end a step before it is closed (its gap decides), and still approach. Then its
/// impact has the impulses of that step and of the next one. The record comes with the second.
/// Where other forces act, they have a share in the impulse, which shrinks with the step.
///
/// @param impact  nullable; out: the records, owned by the system; `pair` is -1
/// @return their number; 0 for NULL
/// @see docs/bodies.md
PERP_API int perp_bodies_impacts(const perp_bodies *bodies, const perp_impact **impact);

/// The number of impacts since the start. Snapshots and clones have it; a reset begins at 0.
///
/// @param largest  nullable; out: the one of the largest impulse; its shapes are -1 if there was
///         none
/// @param energy   nullable; out: the sum of the energies lost [J]; 0: less than tol beside its
///         terms
PERP_API long perp_bodies_impact_count(const perp_bodies *bodies, perp_impact *largest,
                                       double *energy);

/// The contacts of the last step, including speculative ones (gap > 0). The system owns them until
/// its next change. @return their number
PERP_API int perp_bodies_contacts(const perp_bodies *bodies, const perp_contact **contact);

/// A contact of the last step with its bodies, force and slip, world axes.
typedef struct perp_contact_point {
    int body[2];                ///< 0: the world
    int shape[2];               ///< indices of the description
    double point[3], normal[3]; ///< as in perp_contact
    double force[3];            ///< mean force of the step on the second body [N]
    double torque[3];           ///< of torsional and rolling friction on the second body [N m]
    double slip[3]; ///< velocity of the second body relative to the first, less its normal part
    double gap;     ///< [m]; > 0: a speculative contact
    double mu;      ///< friction coefficient
} perp_contact_point;

/// The contacts of perp_bodies_contacts with their forces and slip.
///
/// The slip is the one whose laws the step solved: velocities of the end of the step, at the
/// positions where its forces acted. A contact that sticks has slip 0 up to rounding.
///
/// @param point  out: `most` at most; nullable
/// @return the number of contacts
PERP_API int perp_bodies_contact_points(perp_bodies *bodies, perp_contact_point *point, int most);

#ifdef __cplusplus
}
#endif
#endif
