/* MJCF while it is read: the compiler's settings, default classes, what elements are called by. */

#ifndef PERP_SRC_ROBOTS_MJCF_H
#define PERP_SRC_ROBOTS_MJCF_H

#include "base/names.h"
#include "robots/robots.h"

/* Friction of a geom that gives none [m]: MuJoCo's defaults. */
#define MJCF_TORSIONAL 0.005
#define MJCF_ROLLING   0.0001

typedef struct mjcf_class {
    const char *name;
    int parent; /* -1: it is the first, `main` */
    /* how many defaults that had when this one began: what comes later is not inherited */
    int nparent;
    perp__xml_node **node; /* the elements of its <default>, but for further classes */
    int nnode, cnode, is_begun;
} mjcf_class;

/* How each thing begins that is called by its name. */
typedef struct mjcf_named {
    const char *name;
    const perp__xml_node *node;
} mjcf_named;

/* A body of the file. `within`: its frame in that of the last of the links that it is here; `at`:
 * in the world, where the file begins. */
typedef struct mjcf_body {
    const char *name;
    const perp__xml_node *node;
    int link, parent; /* parent: of the file's bodies */
    int is_static;    /* nothing moves it */
    perp__pose within, at;
} mjcf_body;

typedef struct mjcf_joint {
    const char *name;
    const perp__xml_node *node;
    int link;
    double force[2]; /* actuatorfrcrange; both 0: none */
} mjcf_joint;

typedef struct mjcf_site {
    const char *name;
    const perp__xml_node *node;
    int body;
    perp__pose pose; /* in its body's frame */
} mjcf_site;

typedef struct mjcf_tendon {
    const char *name;
    const perp__xml_node *node;
    int number, is_spatial; /* number: of the robot's tendons, from 1; 0: none */
    /* its spring has no force where those of the joints have none: a length that is found when all
     * is read */
    int rests_there;
    double force[2]; /* actuatorfrcrange; both 0: none */
} mjcf_tendon;

/* An actuator whose damping is a share of the critical one, or a muscle whose force is `ratio` over
 * the acceleration of 1 N. With actuator -1: a joint's spring and damper by their time and
 * ratio. */
typedef struct mjcf_ratio {
    int actuator, body, is_muscle;
    double ratio, time;
    const perp__xml_node *node;
} mjcf_ratio;

typedef struct mjcf_mesh {
    const char *name;
    const perp__xml_node *node;
    const char *file, *vertex_of; /* vertex_of: NULL, or where `vertex` is */
    double scale[3], refpos[3], refquat[4];
    int inertia;                          /* what of it weighs: mjcf_geoms.c */
    const char *faces;                    /* NULL, or the text of `face` */
    perp_mesh *mesh;                      /* NULL: not read yet */
    int is_bad;                           /* it could not be used, and that was reported */
    double weight, center[3], moments[6]; /* of density 1, when it was read */
} mjcf_mesh;

typedef struct mjcf_field {
    const char *name, *file;
    const perp__xml_node *node;
    int nrow, ncol;
    double size[4];
    const perp_field *field; /* NULL: not read yet */
    int is_bad;
} mjcf_field;

enum { MJCF_SDF = PERP_SHAPE_COUNT };

typedef struct mjcf_geom {
    const char *name;
    const perp__xml_node *node;
    int body, kind; /* of perp_shape_kind, or one of the above */
    int contype, conaffinity, condim, priority, group;
    double size[3], friction[3], fromto[6], mass, density, fitscale;
    int nsize, has_fromto, has_mass, is_shell, is_wing; /* is_wing: fluidshape ellipsoid */
    const char *mesh, *hfield;
    perp__pose pose; /* in its body's frame */
    int is_paired;
    int shape; /* of the robot; -1: none */
} mjcf_geom;

/* Where a list has a name, of its first n entries. */
typedef struct mjcf_index {
    perp__names names;
    int n;
} mjcf_index;

typedef struct mjcf {
    perp__robot_reader *r;
    perp__xml_node *root;
    /* compiler */
    int is_degree, autolimits, inertiafromgeom, group_low, group_high, strippath, fitaabb;
    const char *eulerseq, *meshdir, *assetdir;
    double boundmass, boundinertia, total;
    int is_balanced;
    /* flags of option, 1: disabled */
    int no_contact, no_constraint, no_equality, no_frictionloss, no_limit, no_spring, no_damper,
        no_gravity, no_clampctrl, no_actuation;
    unsigned no_group; /* a bit of each group of actuators that is disabled */
    mjcf_class *class;
    mjcf_body *body;
    mjcf_joint *joint;
    mjcf_site *site;
    mjcf_mesh *mesh;
    mjcf_field *field;
    mjcf_geom *geom;
    mjcf_tendon *tendon;
    mjcf_named *drive;
    mjcf_ratio *ratio;
    double *springref; /* of each link; 0 where its spring does not rest elsewhere */
    int nclass, cclass, nbody, cbody, njoint, cjoint, nsite, csite, nmesh, cmesh, nfield, cfield,
        ngeom, cgeom, ntendon, ctendon, ndrive, cdrive, nratio, cratio, cspringref;
    const char **included;
    int nincluded, cincluded, ncopied; /* ncopied: elements of copies */
    mjcf_index of_class, of_body, of_joint, of_site, of_mesh, of_field, of_geom, of_tendon,
        of_included;
} mjcf;

/* One more in a list of m, zeroed; NULL: memory is out, and said so. */
#define MJCF_ADD(m, list)                                                                          \
    (perp__arena_grow(&(m)->r->to->arena, &(m)->list, &(m)->c##list, (m)->n##list + 1,             \
                      sizeof *(m)->list)                                                           \
         ? &(m)->list[(m)->n##list++]                                                              \
         : (perp__robot_no_memory((m)->r), NULL))

static inline int mjcf_is(const perp__xml_node *node, const char *name)
{
    const char *a = node->name;
    while (*a && *a == *name) {
        a++;
        name++;
    }
    return *a == *name;
}

/* mjcf_tree.c. Included files in place of each <include>. Frames with copies in place of each
 * <replicate> below a node, the inner ones first: a name ends with the number in the outermost. */
void mjcf_include(mjcf *m, perp__xml_node *root);
void mjcf_replicate(mjcf *m, perp__xml_node *parent);

/* mjcf_classes.c. The tree of default classes. */
void mjcf_read_classes(mjcf *m);
/* The class of an element: its own, else `inherited`. */
int mjcf_class_of(mjcf *m, const perp__xml_node *node, int inherited);
/* Let `apply` see, from the root of the classes on, what they say of such elements, then the
 * element itself. */
typedef void mjcf_apply(mjcf *m, const perp__xml_node *node, void *to);
void mjcf_resolve(mjcf *m, const perp__xml_node *node, int class, mjcf_apply *apply, void *to);
/* Is it one of the actuators that are read? Why another is not. */
int mjcf_is_actuator(const perp__xml_node *node);
void mjcf_refuse_actuator(mjcf *m, const perp__xml_node *node);
/* Each attribute is used, ignored or refused by name; what is unknown is refused. */
void mjcf_check(mjcf *m, const perp__xml_node *node);

/* `true` or `false` into 1 or 0. */
void mjcf_read_flag(mjcf *m, const perp__xml_node *node, const char *attribute, int *flag);
/* `auto`: -1 */
void mjcf_read_auto(mjcf *m, const perp__xml_node *node, const char *attribute, int *flag);
double mjcf_angle(const mjcf *m, double x);
/* The least turn that brings z to a direction; 0: that has none. */
int mjcf_turn_z(const double *z, double *R);
/* Rotation by quat, axisangle, euler, xyaxes or zaxis; none: it stays. */
void mjcf_read_rotation(mjcf *m, const perp__xml_node *node, double *R);
void mjcf_read_pose(mjcf *m, const perp__xml_node *node, perp__pose *pose);

/* The first entry of a list that has the name, -1: none, or no memory. The list has n entries of
 * `size` bytes, whose first member is the name. */
int mjcf_index_of(mjcf *m, mjcf_index *index, const void *list, int n, size_t size,
                  const char *name);
#define MJCF_INDEX_OF(m, list, name)                                                               \
    mjcf_index_of(m, &(m)->of_##list, (m)->list, (m)->n##list, sizeof *(m)->list, name)
/* The index of what an attribute names; -1, and said: none. */
int mjcf_find(mjcf *m, const perp__xml_node *node, const char *attribute, const char *what,
              int index);
#define MJCF_FIND(m, node, attribute, list)                                                        \
    mjcf_find(m, node, attribute, #list,                                                           \
              MJCF_INDEX_OF(m, list, perp__xml_get(node, attribute)))

/* mjcf_bodies.c, mjcf_geoms.c */
void mjcf_read_world(mjcf *m, const perp__xml_node *node);
/* Exclude contacts of a body and its parent, also if the body has several joints. */
void mjcf_keep_parents(mjcf *m);
void mjcf_read_geom(mjcf *m, const perp__xml_node *node, int body, const perp__pose *frame,
                    int class);
/* No two of a list have one name. */
void mjcf_check_names(mjcf *m);
/* settotalmass */
void mjcf_scale_mass(mjcf *m);
/* The mass of a body's geoms from `first` on. */
void mjcf_weigh(mjcf *m, int first, const perp__pose *within, perp__mass *sum);
/* 0, and said: it is none. */
int mjcf_check_condim(mjcf *m, const perp__xml_node *node, int condim);
void mjcf_read_mesh(mjcf *m, const perp__xml_node *node);
/* The name of a file without its folder and its ending. */
const char *mjcf_name_in_path(mjcf *m, const char *file);
/* Where the file of a mesh or a height field is; NULL: memory. */
const char *mjcf_asset_path(mjcf *m, const char *file);
/* mjcf_fields.c. What a geom names; NULL, and said: it is not there. */
void mjcf_read_field(mjcf *m, const perp__xml_node *node);
const perp_field *mjcf_field_of(mjcf *m, const mjcf_geom *g);
void mjcf_add_shapes(mjcf *m);
/* A pose in a body's frame as one in that of its link. */
void mjcf_in_link(const mjcf *m, int body, const perp__pose *pose, perp__pose *in_link);

/* mjcf.c. Why what has this name is not to be had; NULL: it is not in the table. */
typedef struct mjcf_reason {
    const char *name, *why;
} mjcf_reason;
const char *mjcf_reason_of(const mjcf_reason *known, size_t n, const char *name);
/* Why an element is not read. */
void mjcf_refuse_element(mjcf *m, const perp__xml_node *node);

/* mjcf_relations.c */
void mjcf_read_contact(mjcf *m, const perp__xml_node *node);
void mjcf_take_contact(mjcf *m, const perp__xml_node *node); /* after shapes were added */
void mjcf_read_equality(mjcf *m, const perp__xml_node *node);
/* Couplings of tendons are about the lengths that these have at the beginning. */
void mjcf_place_couples(mjcf *m, const double *length);
void mjcf_read_key(mjcf *m, const perp__xml_node *node);
/* The hinge or slide that an attribute names; -1, and said: there is none. */
int mjcf_single_joint(mjcf *m, const perp__xml_node *node, const char *attribute);

/* mjcf_actuators.c */
void mjcf_read_tendon(mjcf *m, const perp__xml_node *node);
void mjcf_read_actuator(mjcf *m, const perp__xml_node *node);
void mjcf_bound_joints(mjcf *m); /* actuatorfrcrange */
void mjcf_damp(mjcf *m);         /* springdamper and dampratio, when all is read */

#endif
