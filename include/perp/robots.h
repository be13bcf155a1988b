/// perp/robots.h - robots and scenes from files: MJCF (`mujoco`) and URDF (`robot`) as systems of
/// perp/bodies.h.
///
/// A file is read into the parts of a system: bodies, laws of joints, shapes, actuators,
/// equalities. A system is made of them:
///
///     perp_robot_read("arm.xml", &robot, &diag);
///     perp_robot_create_bodies(robot, NULL, &bodies, &diag);
///     perp_bodies_step(bodies, ..);
///
/// q has the meaning and order of the file. A hinge's q is its angle including `ref`. A free body's
/// q is its origin and quaternion. The defaults of MJCF hold. An element that cannot be honoured is
/// refused, with file, line and column. All of them are reported at once. Elements without a part
/// in exact rigid motion (looks, sensors, parameters of soft contact) are ignored, and
/// perp_robot_note lists them. docs/robots.md lists all attributes; docs/adr/063-robot-files.md has
/// the reasons.
///
/// MJCF is the format of MuJoCo (Todorov, Erez, Tassa 2012), URDF that of ROS. expat reads the
/// files. A build without it refuses them all. Units: m, kg, s, rad.

#ifndef PERP_ROBOTS_H
#define PERP_ROBOTS_H

#include "perp/bodies.h"
#include "perp/joints.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_robot perp_robot;

/// Read a file, the files that it includes, and the meshes that collide or have mass.
///
/// @param path  MJCF or URDF, by its root element
/// @return PERP_OK; PERP_ERR_ARG; PERP_ERR_FILE (it, or a file that it names, cannot be read);
///         PERP_ERR_DATA (no XML); PERP_ERR_MODEL (diag lists all faults with their positions);
///         PERP_ERR_UNAVAILABLE (no expat); PERP_ERR_MEMORY
PERP_API perp_status perp_robot_read(const char *path, perp_robot **robot, perp_diag *diag);

/// The same for a text. `name` is used in messages; files that the text names lie beside it.
PERP_API perp_status perp_robot_parse(const char *text, size_t length, const char *name,
                                      perp_robot **robot, perp_diag *diag);
PERP_API void perp_robot_destroy(perp_robot *robot);

/// The contents of a file, owned by the robot. Body i of the list is body i + 1 of the system, 0 is
/// the world. A body of the file with several joints is several bodies here, all but the last
/// without mass.
typedef struct perp_robot_parts {
    size_t size;      ///< tells which fields the library has
    const char *name; ///< of the model or robot; "" without one
    perp_bodies_options options;
    int nbody, nshape, nactuator, nequality, npair, nexclude;
    const perp_body *body;
    const char *const *joint;  ///< nbody names of their joints; NULL: no joint or no name
    const perp_joint_law *law; ///< nbody
    const double *ref;         ///< nbody: initial q of a hinge or slide
    const perp_shape *shape;
    const perp_contact_material *material; ///< nshape
    const char *const *shape_name;
    const perp_actuator *actuator;
    const char *const *actuator_name;
    const perp_equality *equality;
    const int (*pair)[2];    ///< shapes that make contacts regardless of their materials
    const double *pair_mu;   ///< npair
    const int (*exclude)[2]; ///< nexclude: bodies whose shapes make no contact
    int ntendon;
    const perp_tendon *tendon; ///< actuators number them from 1
    const double (*pair_moment)
        [2]; ///< npair: coefficients of torsional and rolling friction of the pairs [m]
} perp_robot_parts;

PERP_API const perp_robot_parts *perp_robot_get_parts(const perp_robot *robot);

/// A system of the parts in the initial state of the file. The robot must outlive it: names and
/// meshes belong to the robot.
///
/// @param options  nullable: those of the file
/// @return as perp_bodies_create
PERP_API perp_status perp_robot_create_bodies(const perp_robot *robot,
                                              const perp_bodies_options *options,
                                              perp_bodies **bodies, perp_diag *diag);

/// Keyframes: their number, their names ("" without one); NULL: no such key.
PERP_API int perp_robot_keys(const perp_robot *robot);
PERP_API const char *perp_robot_key(const perp_robot *robot, int key);
/// The controls of a key, one for each actuator, owned by the robot; NULL: no such key.
PERP_API const double *perp_robot_key_control(const perp_robot *robot, int key);

/// Set a system to a key, with its controls and activations. @return PERP_OK; PERP_ERR_ARG (no such
/// key, another robot's system)
PERP_API perp_status perp_robot_set_key(const perp_robot *robot, int key, perp_bodies *bodies);

/// Names for the entries of q and v, owned by the robot; NULL: no such entry.
///
/// A hinge `knee` has q `knee` and v `knee.v`. A free joint `base` has base.x base.y base.z base.qw
/// base.qx base.qy base.qz and base.vx base.vy base.vz base.wx base.wy base.wz. Joints without a
/// name have their body's.
PERP_API const char *perp_robot_q_name(const perp_robot *robot, int k);
PERP_API const char *perp_robot_v_name(const perp_robot *robot, int k);

/// An element of the file without a part in the motion.
typedef struct perp_robot_ignored {
    const char *file;
    long line, column; ///< its first position, from 1
    const char *what;  ///< "solref of geom: contact is rigid here"
    int count;         ///< number of occurrences
} perp_robot_ignored;

/// The kth ignored element, in the order of discovery. @return 1; 0: after the last one
PERP_API int perp_robot_note(const perp_robot *robot, int k, perp_robot_ignored *ignored);

#ifdef __cplusplus
}
#endif
#endif
