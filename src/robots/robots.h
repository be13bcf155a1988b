/* A robot while it is read: lists of parts that grow, places for messages, what is ignored. */

#ifndef PERP_SRC_ROBOTS_H
#define PERP_SRC_ROBOTS_H

#include "base/arena.h"
#include "base/base.h"
#include "base/names.h"
#include "external/xml.h"
#include "perp/robots.h"

typedef struct perp__key {
    const char *name;
    double *q, *v, *u;
    double *act; /* of each actuator */
} perp__key;

struct perp_robot {
    perp__arena arena; /* of all that is here, but meshes */
    perp_robot_parts is;
    int cbody, cjoint, claw, cref, cshape, cmaterial, cshape_name, cshape_place, cactuator,
        cactuator_name, cequality, cpair, cpair_mu, cpair_moment, cexclude, ctendon,
        ctendon_name; /* room of the lists */
    perp_body *body;
    const char **joint;
    perp_joint_law *law;
    double *ref;
    perp_shape *shape;
    perp_contact_material *material;
    const char **shape_name;
    perp__place *shape_place; /* where each is in its file */
    perp_actuator *actuator;
    const char **actuator_name;
    perp_equality *equality;
    perp_tendon *tendon;
    const char **tendon_name; /* NULL: it has none */
    int (*pair)[2];
    double *pair_mu, (*pair_moment)[2];
    int (*exclude)[2];
    perp_mesh **mesh;
    perp_field **field;
    int nmesh, cmesh, nfield, cfield;
    perp__key *key;
    int nkey, ckey;
    const char **q_name, **v_name;
    int nq, nv;
    perp_robot_ignored *note;
    int nnote, cnote;
};

/* What reading goes through; all of it is the reader's alone. */
typedef struct perp__robot_reader {
    perp_robot *to;
    perp_diag *diag;
    perp_status
        status;  /* the worst so far: what is wrong does not end the reading, lack of memory does */
    int nwrong;  /* how many things are */
    char **text; /* of files, freed at the end */
    int ntext, ctext;
    perp__names notes; /* what is ignored: places in the list of the robot */
} perp__robot_reader;

/* A pose: row by row, in what it hangs on. */
typedef struct perp__pose {
    double p[3], R[9];
} perp__pose;

extern const perp__pose perp__pose_none;
/* c = a b: b is in the frame of a. c may be either. */
void perp__pose_multiply(const perp__pose *a, const perp__pose *b, perp__pose *c);
void perp__pose_inverse(const perp__pose *a, perp__pose *b);
void perp__pose_quaternion(const double *q, perp__pose *pose); /* q is normalised */

/* reader.c. Report a fault with its position (attribute: NULL is the element). Returns 0, for
 * callers to return. */
int perp__robot_refuse(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                       const char *format, ...) PERP_PRINTF(4, 5);
/* Something is ignored: counted with what is the same. */
void perp__robot_ignore(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                        const char *format, ...) PERP_PRINTF(4, 5);
int perp__robot_no_memory(perp__robot_reader *r); /* 0 */

/* The tree of a file, or of a text (NULL: the file is read). */
perp__xml_node *perp__robot_tree(perp__robot_reader *r, const char *path, const char *text,
                                 size_t length, const perp__xml_node *from, const char *attribute);
/* `file` as it is seen from the folder of the file `from`, by way of folder (nullable). */
const char *perp__robot_path(perp__robot_reader *r, const char *from, const char *folder,
                             const char *file);

/* From `least` to `most` numbers of an attribute into x; the rest stay. How many; 0: it is not
 * there, or wrong and said so. */
int perp__read_numbers(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                       int least, int most, double *x);
int perp__read_number(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                      double *x);
int perp__read_whole(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                     int *x);
/* One of n words, with a blank between: its number; -1: not there, or wrong and said so. */
int perp__read_word(perp__robot_reader *r, const perp__xml_node *node, const char *attribute,
                    const char *words);

/* parts.c. Add one to a list; its index, -1: memory is out. */
int perp__add_body(perp__robot_reader *r, const perp_body *body, const char *joint);
int perp__add_shape(perp__robot_reader *r, const perp_shape *shape,
                    const perp_contact_material *material, const char *name,
                    const perp__xml_node *node);
int perp__add_actuator(perp__robot_reader *r, const perp_actuator *actuator, const char *name);
int perp__add_tendon(perp__robot_reader *r, const perp_tendon *tendon, const char *name);
int perp__add_equality(perp__robot_reader *r, const perp_equality *equality);
int perp__add_pair(perp__robot_reader *r, int shape0, int shape1, double mu,
                   const double moment[2]);
void perp__robot_put_parts(
    perp_robot *robot); /* what perp_robot_get_parts shows, once all is read */
int perp__add_exclude(perp__robot_reader *r, int body0, int body1);
int perp__add_mesh(perp__robot_reader *r, perp_mesh *mesh);    /* owns it, also where it fails */
int perp__add_field(perp__robot_reader *r, perp_field *field); /* likewise */
int perp__finish_robot(perp__robot_reader *r); /* names of columns; 0: memory is out */

/* inertia.c: of what a body is made of, mass and moments about the body's origin, axes of its
 * frame: xx, yy, zz, xy, xz, yz. */
typedef struct perp__mass {
    double m, h[3], I[6];
} perp__mass;
/* Adds a part of mass m with centre c and inertia I (six) about it, in the frame `pose` of the
 * body. */
void perp__mass_add(perp__mass *sum, const perp__pose *pose, double m, const double *c,
                    const double *I);
/* Into mass, center, inertia of a body. */
void perp__mass_take(const perp__mass *sum, perp_body *body);
/* Volume, centre, and inertia about it of density 1 of a shape; a plane has none. */
void perp__shape_mass(const perp_shape *shape, double *volume, double center[3], double inertia[6]);
/* The same of its surface, by area; 0: not of ellipsoids and meshes. */
int perp__shell_mass(const perp_shape *shape, double *area, double center[3], double inertia[6]);

/* surface.c. The volume that the triangles of a mesh enclose; the same without signs, which is
 * MuJoCo's default; or the triangles themselves, by area. The second is the enclosed volume if the
 * mesh is seen from one point. */
typedef enum perp__surface_rule {
    PERP__SURFACE_EXACT,
    PERP__SURFACE_UNSIGNED,
    PERP__SURFACE_SHELL
} perp__surface_rule;
struct perp__surface;
void perp__surface_mass(const struct perp__surface *s, perp__surface_rule rule, double *weight,
                        double center[3], double inertia[6]);
/* Half the sides, the shortest first, and the axes (row by row, right-handed) of the box that has
 * this inertia; 0: there is none. */
int perp__inertia_box(double weight, const double *inertia, double half[3], double *R);

/* The readers: of the tree's root into r->to. */
void perp__read_mjcf(perp__robot_reader *r, perp__xml_node *root);
void perp__read_urdf(perp__robot_reader *r, perp__xml_node *root);

#endif
