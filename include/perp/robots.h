/// perp/robots.h - robots and scenes from files: MJCF (`mujoco`) and URDF (`robot`) as systems of perp/bodies.h.
///
/// A file is read into the parts of such a system, bodies, laws of joints, shapes, actuators, equalities, and a system is made of them:
///
///     perp_robot_read("arm.xml", &robot, &diag);  perp_robot_create_bodies(robot, NULL, &bodies, &diag);  perp_bodies_step(bodies, ..);
///
/// q means what it means in the file, in its order: a hinge's q is its angle with `ref` in it, a free body's its origin and quaternion. The
/// defaults of MJCF hold. What cannot be honoured is refused, with file, line and column, all of it at once; what has no part in exact rigid motion
/// (looks, sensors, the parameters of soft contact) is ignored, and listed: perp_robot_note. Why: docs/adr/063-robot-files.md; what is read, attribute
/// by attribute: docs/robots.md.
///
/// MJCF is the format of MuJoCo (Todorov, Erez, Tassa 2012), URDF that of ROS. Files are read by expat; a build without it refuses them all.
/// Units: m, kg, s, rad.

#ifndef PERP_ROBOTS_H
#define PERP_ROBOTS_H

#include "perp/bodies.h"
#include "perp/joints.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_robot perp_robot;

/// Read a file, and what it includes, and the meshes that touch or weigh.
///
/// @param path  its root element says what it is
/// @return PERP_OK; PERP_ERR_ARG; PERP_ERR_FILE (it, or a file that it names, cannot be read); PERP_ERR_DATA (no XML); PERP_ERR_MODEL (diag has
///         all that is wrong or cannot be honoured, each with its place); PERP_ERR_UNAVAILABLE (no expat); PERP_ERR_MEMORY
PERP_API perp_status perp_robot_read(const char *path, perp_robot **robot, perp_diag *diag);

/// The same of a text; `name` is what messages call it, and files that it names are looked for beside that.
PERP_API perp_status perp_robot_parse(const char *text, size_t length, const char *name,
                                      perp_robot **robot, perp_diag *diag);
PERP_API void perp_robot_destroy(perp_robot *robot);

/// What was read, owned by the robot. Body i of the list is body i + 1 of the system, 0 is the world. A body of the file with several joints is
/// several here, all but the last without mass.
typedef struct perp_robot_parts {
    size_t size;      ///< says which fields the library has
    const char *name; ///< of the model or robot; "" where it has none
    perp_bodies_options options;
    int nbody, nshape, nactuator, nequality, npair, nexclude;
    const perp_body *body;
    const char *const *joint;  ///< nbody names of their joints, NULL: it has none or no name
    const perp_joint_law *law; ///< nbody
    const double *ref;         ///< nbody: q of a hinge or slide at the beginning
    const perp_shape *shape;
    const perp_contact_material *material; ///< nshape
    const char *const *shape_name;
    const perp_actuator *actuator;
    const char *const *actuator_name;
    const perp_equality *equality;
    const int (*pair)[2];    ///< shapes that make contacts whatever their materials say
    const double *pair_mu;   ///< npair
    const int (*exclude)[2]; ///< nexclude: bodies whose shapes make no contact
    int ntendon;
    const perp_tendon *tendon; ///< what actuators name from 1 on
    const double (*pair_moment)
        [2]; ///< npair: coefficients of torsional and rolling friction of the pairs [m]
} perp_robot_parts;

PERP_API const perp_robot_parts *perp_robot_get_parts(const perp_robot *robot);

/// A system of the parts, where the file begins it. The robot has to last as long: names and meshes are its own.
///
/// @param options  nullable: those of the file
/// @return as perp_bodies_create
PERP_API perp_status perp_robot_create_bodies(const perp_robot *robot,
                                              const perp_bodies_options *options,
                                              perp_bodies **bodies, perp_diag *diag);

/// Keyframes: how many, their names ("" where there is none), NULL: no such key.
PERP_API int perp_robot_keys(const perp_robot *robot);
PERP_API const char *perp_robot_key(const perp_robot *robot, int key);
/// The controls of a key, as many as there are actuators, owned by the robot; NULL: no such key.
PERP_API const double *perp_robot_key_control(const perp_robot *robot, int key);

/// Put a system at a key, its controls and activations too. @return PERP_OK; PERP_ERR_ARG (no such key, another robot's system)
PERP_API perp_status perp_robot_set_key(const perp_robot *robot, int key, perp_bodies *bodies);

/// Names for the entries of q and v, owned by the robot; NULL: no such entry. A hinge `knee` has q `knee` and v `knee.v`, a free joint `base` has
/// base.x base.y base.z base.qw base.qx base.qy base.qz and base.vx base.vy base.vz base.wx base.wy base.wz. Joints without a name have their
/// body's.
PERP_API const char *perp_robot_q_name(const perp_robot *robot, int k);
PERP_API const char *perp_robot_v_name(const perp_robot *robot, int k);

/// What was read and has no part in the motion.
typedef struct perp_robot_ignored {
    const char *file;
    long line, column; ///< where it is first, from 1
    const char *what;  ///< "solref of geom: contact is rigid here"
    int count;         ///< how often
} perp_robot_ignored;

/// The kth of them, in the order they were found. @return 1; 0: there are no more
PERP_API int perp_robot_note(const perp_robot *robot, int k, perp_robot_ignored *ignored);

#ifdef __cplusplus
}
#endif
#endif
