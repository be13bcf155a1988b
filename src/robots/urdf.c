/* URDF: links and joints of a tree, whose root is fixed to the world. A joint's frame is that of
 * its child link, as here. */

#include "base/input.h"
#include "bodies/space.h"
#include "robots/robots.h"

#include <math.h>
#include <string.h>

typedef struct link {
    const char *name;
    const perp__xml_node *node;
    int joint; /* whose child it is; -1 */
    int first, last; /* joints below it, in the order of the file; -1 */
    int body;  /* of the robot, from 1 on; 0: not yet */
} link;

typedef struct joint {
    const char *name;
    const perp__xml_node *node;
    int parent, child; /* links */
    int next;          /* joint of the same parent; -1 */
} joint;

typedef struct urdf {
    perp__robot_reader *r;
    const perp__xml_node *root;
    link *link;
    joint *joint;
    int nlink, clink, njoint, cjoint;
    perp__names links, joints; /* the first of each name */
} urdf;

/* Elements ------------------------------------------------------------------------------------- */

static int is(const perp__xml_node *node, const char *name)
{
    return strcmp(node->name, name) == 0;
}

static const perp__xml_node *child_of(const perp__xml_node *node, const char *name)
{
    for (const perp__xml_node *child = node->child; child; child = child->next)
        if (is(child, name)) return child;
    return NULL;
}

/* What is in an element and not among the words is ignored. */
static void ignore_others(urdf *u, const perp__xml_node *node, const char *const *read)
{
    for (const perp__xml_node *child = node->child; child; child = child->next) {
        int known = 0;
        for (int i = 0; read[i]; i++) known |= is(child, read[i]);
        if (!known)
            perp__robot_ignore(u->r, child, NULL, "<%.60s> of %.60s: has no part in the motion",
                               child->name, node->name);
    }
}

static void ignore(urdf *u, const perp__xml_node *node, const char *attribute, const char *why)
{
    if (perp__xml_get(node, attribute))
        perp__robot_ignore(u->r, node, attribute, "%s of %s: %s", attribute, node->name, why);
}

/* Roll, pitch, yaw about axes that stay: the turn about z comes last. */
static void turn_rpy(const double *angle, double *R)
{
    double q[4] = {1, 0, 0, 0};
    for (int k = 2; k >= 0; k--) {
        double turn[3] = {0, 0, 0}, one[4];
        turn[k] = angle[k];
        perp__quaternion_of(turn, one);
        perp__quaternion_multiply(q, one, q);
    }
    perp__rotation_of(q, R);
}

static void read_origin(urdf *u, const perp__xml_node *node, perp__pose *pose)
{
    double angle[3] = {0, 0, 0};
    *pose = perp__pose_none;
    const perp__xml_node *origin = child_of(node, "origin");
    if (!origin) return;
    perp__read_numbers(u->r, origin, "xyz", 3, 3, pose->p);
    if (perp__read_numbers(u->r, origin, "rpy", 3, 3, angle)) turn_rpy(angle, pose->R);
}

/* A number that has to be there. */
static void need_number(urdf *u, const perp__xml_node *node, const char *attribute, double *x)
{
    if (!perp__read_number(u->r, node, attribute, x) && !perp__xml_get(node, attribute))
        perp__robot_refuse(u->r, node, NULL, "%s: %s is missing", node->name, attribute);
}

/* Links ---------------------------------------------------------------------------------------- */

static void read_inertial(urdf *u, const perp__xml_node *node, perp_body *body)
{
    static const char *const entries[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    const double center[3] = {0, 0, 0};
    double mass = 0, I[6] = {0};
    perp__pose pose;
    perp__mass sum = {0};
    const perp__xml_node *mass_at = child_of(node, "mass"), *inertia = child_of(node, "inertia");
    read_origin(u, node, &pose);
    if (mass_at)
        need_number(u, mass_at, "value", &mass);
    else
        perp__robot_refuse(u->r, node, NULL, "inertial: <mass> is missing");
    for (int k = 0; k < 6 && inertia; k++)
        if (k < 3)
            need_number(u, inertia, entries[k], &I[k]);
        else
            perp__read_number(u->r, inertia, entries[k], &I[k]);
    perp__mass_add(&sum, &pose, mass, center, I);
    perp__mass_take(&sum, body);
}

/* package://NAME/REST is NAME/REST, or REST, in the file's folder or one of those above. */
static const char *package_path(urdf *u, const perp__xml_node *node, const char *rest)
{
    enum { ABOVE = 8 };
    char up[3 * ABOVE + 1] = "";
    const char *slash = strchr(rest, '/');
    for (int i = 0; i < ABOVE && slash; i++) {
        for (int without = 0; without < 2; without++) {
            const char *path =
                perp__robot_path(u->r, u->root->file->name, up, without ? slash + 1 : rest);
            if (!path || perp__input_is_there(path)) return path;
        }
        strcat(up, "../");
    }
    perp__robot_refuse(u->r, node, "filename",
                       "filename: package://%.200s is not in the file's folder or above", rest);
    return NULL;
}

static const char *mesh_path(urdf *u, const perp__xml_node *node)
{
    static const char package[] = "package://", plain[] = "file://";
    const char *name = perp__xml_get(node, "filename");
    if (!name) {
        perp__robot_refuse(u->r, node, NULL, "mesh: filename is missing");
        return NULL;
    }
    if (strncmp(name, package, sizeof package - 1) == 0)
        return package_path(u, node, name + sizeof package - 1);
    if (strncmp(name, plain, sizeof plain - 1) == 0) name += sizeof plain - 1;
    return perp__robot_path(u->r, u->root->file->name, NULL, name);
}

static int read_mesh(urdf *u, const perp__xml_node *node, perp_shape *shape)
{
    double scale[3] = {1, 1, 1};
    perp_mesh *mesh = NULL;
    perp_diag diag = {0};
    const char *path = mesh_path(u, node);
    if (perp__read_numbers(u->r, node, "scale", 1, 3, scale) == 1) scale[1] = scale[2] = scale[0];
    if (!path) return 0;
    perp_status status = perp_mesh_read(path, scale, &mesh, &diag);
    if (status == PERP_ERR_MEMORY)
        perp__robot_no_memory(u->r);
    else if (status != PERP_OK)
        perp__robot_refuse(u->r, node, "filename", "%.*s",
                           (int)strcspn(perp_diag_text(&diag), "\n"), perp_diag_text(&diag));
    perp_diag_clear(&diag);
    if (status != PERP_OK || perp__add_mesh(u->r, mesh) < 0) return 0;
    shape->kind = PERP_SHAPE_MESH;
    shape->mesh = mesh;
    return 1;
}

/* The one shape of a <geometry>; 0: it is none, which was reported. */
static int read_geometry(urdf *u, const perp__xml_node *node, perp_shape *shape)
{
    const perp__xml_node *g = node ? node->child : NULL;
    int errors = u->r->diag->errors;
    if (!g) return perp__robot_refuse(u->r, node, NULL, "geometry: there is none");
    if (is(g, "mesh")) return read_mesh(u, g, shape);
    if (is(g, "box")) {
        shape->kind = PERP_SHAPE_BOX;
        perp__read_numbers(u->r, g, "size", 3, 3, shape->size);
        for (int k = 0; k < 3; k++) shape->size[k] *= 0.5;
    } else if (is(g, "sphere")) {
        shape->kind = PERP_SHAPE_SPHERE;
        need_number(u, g, "radius", &shape->size[0]);
    } else if (is(g, "cylinder") || is(g, "capsule")) {
        shape->kind = is(g, "capsule") ? PERP_SHAPE_CAPSULE : PERP_SHAPE_CYLINDER;
        need_number(u, g, "radius", &shape->size[0]);
        need_number(u, g, "length", &shape->size[1]);
        shape->size[1] *= 0.5;
    } else {
        return perp__robot_refuse(u->r, g, NULL,
                                  "<%.60s>: box, sphere, cylinder, capsule or mesh "
                                  "is expected",
                                  g->name);
    }
    int n = 2;
    if (shape->kind == PERP_SHAPE_BOX)
        n = 3;
    else if (shape->kind == PERP_SHAPE_SPHERE)
        n = 1;
    for (int k = 0; k < n && u->r->diag->errors == errors; k++)
        if (!(shape->size[k] > 0))
            perp__robot_refuse(u->r, g, NULL, "%s: its sizes are > 0", g->name);
    return u->r->diag->errors == errors;
}

static void read_collision(urdf *u, const perp__xml_node *node, const link *l)
{
    const perp_contact_material rule = {.type = 1, .affinity = 1, .dimension = 3};
    perp_shape shape = {.body = l->body, .mu = 1};
    perp__pose pose;
    const perp__xml_node *geometry = child_of(node, "geometry");
    if (!geometry) {
        perp__robot_refuse(u->r, node, NULL, "collision: <geometry> is missing");
        return;
    }
    read_origin(u, node, &pose);
    if (!read_geometry(u, geometry, &shape)) return;
    memcpy(shape.position, pose.p, sizeof pose.p);
    perp__quaternion_of_rotation(pose.R, shape.rotation);
    const char *name = perp__xml_get(node, "name");
    perp__robot_ignore(u->r, node, NULL, "collision: URDF has no friction, 1 is taken");
    perp__add_shape(u->r, &shape, &rule, name ? name : l->name, node);
}

static void read_link(urdf *u, const link *l)
{
    static const char *const read[] = {"inertial", "collision", NULL};
    const perp__xml_node *inertial = child_of(l->node, "inertial");
    ignore_others(u, l->node, read);
    if (inertial) read_inertial(u, inertial, &u->r->to->body[l->body - 1]);
    for (const perp__xml_node *c = l->node->child; c; c = c->next)
        if (is(c, "collision")) read_collision(u, c, l);
}

/* Joints --------------------------------------------------------------------------------------- */

enum { REVOLUTE, CONTINUOUS, PRISMATIC, FIXED, FLOATING, PLANAR };
static const perp_joint kinds[] = {PERP_JOINT_HINGE, PERP_JOINT_HINGE, PERP_JOINT_SLIDE,
                                   PERP_JOINT_FIXED, PERP_JOINT_FREE,  PERP_JOINT_FIXED};

static int kind_of(urdf *u, const joint *j)
{
    int kind = perp__read_word(u->r, j->node, "type",
                               "revolute continuous prismatic fixed floating planar");
    if (!perp__xml_get(j->node, "type"))
        perp__robot_refuse(u->r, j->node, NULL, "joint: type is missing");
    if (kind == PLANAR)
        perp__robot_refuse(u->r, j->node, "type",
                           "type: planar joints are not to be had; two "
                           "prismatic ones and a continuous one are the same");
    return kind < 0 ? FIXED : kind;
}

static void read_limit(urdf *u, const joint *j, int kind, perp_joint_law *law)
{
    const perp__xml_node *limit = child_of(j->node, "limit");
    if (!limit && (kind == REVOLUTE || kind == PRISMATIC))
        perp__robot_refuse(u->r, j->node, NULL, "joint: a %s one has a <limit>",
                           kind == REVOLUTE ? "revolute" : "prismatic");
    if (!limit) return;
    ignore(u, limit, "effort", "there are no actuators in URDF");
    ignore(u, limit, "velocity", "speeds are not bounded");
    if (kind != REVOLUTE && kind != PRISMATIC) return;
    perp_range is = {.limited = 1};
    perp__read_number(u->r, limit, "lower", &is.lower);
    perp__read_number(u->r, limit, "upper", &is.upper);
    if (is.lower == 0 && is.upper == 0)
        perp__robot_ignore(u->r, limit, NULL, "limit from 0 to 0: taken as none");
    else if (!(is.lower < is.upper))
        perp__robot_refuse(u->r, limit, NULL, "limit: lower is not below upper");
    else
        law->range = is;
}

static void read_laws(urdf *u, const joint *j, int kind, int body)
{
    perp_body *is_body = &u->r->to->body[body - 1];
    perp_joint_law *law = &u->r->to->law[body - 1];
    const perp__xml_node *dynamics = child_of(j->node, "dynamics");
    read_limit(u, j, kind, law);
    if (!dynamics || kind == FIXED) return;
    perp__read_number(u->r, dynamics, "damping", &is_body->damping);
    perp__read_number(u->r, dynamics, "friction", &law->friction);
    if (is_body->damping < 0 || law->friction < 0)
        perp__robot_refuse(u->r, dynamics, NULL, "dynamics: damping and friction are >= 0");
}

static int add_joint(urdf *u, const joint *j, int parent_body)
{
    static const char *const read[] = {"origin", "parent",   "child", "axis",
                                       "limit",  "dynamics", "mimic", NULL};
    int kind = kind_of(u, j);
    perp__pose pose;
    perp_body body = {.name = u->link[j->child].name,
                      .parent = parent_body,
                      .joint = kinds[kind],
                      .axis = {1, 0, 0}};
    const perp__xml_node *axis = child_of(j->node, "axis");
    ignore_others(u, j->node, read);
    read_origin(u, j->node, &pose);
    memcpy(body.position, pose.p, sizeof pose.p);
    perp__quaternion_of_rotation(pose.R, body.rotation);
    if (axis) perp__read_numbers(u->r, axis, "xyz", 3, 3, body.axis);
    if (kind < FIXED && !(perp__length3(body.axis) > 0))
        perp__robot_refuse(u->r, axis ? axis : j->node, axis ? "xyz" : NULL,
                           "axis: it has no direction");
    int index = perp__add_body(u->r, &body, kind == FIXED ? NULL : j->name);
    if (index >= 0) read_laws(u, j, kind, index + 1);
    return index + 1;
}

static int is_single(const urdf *u, int k)
{
    int body = u->link[u->joint[k].child].body;
    perp_joint kind = body ? u->r->to->body[body - 1].joint : PERP_JOINT_FIXED;
    return kind == PERP_JOINT_HINGE || kind == PERP_JOINT_SLIDE;
}

static void read_mimic(urdf *u, int k)
{
    const perp__xml_node *mimic = child_of(u->joint[k].node, "mimic");
    const char *name = mimic ? perp__xml_get(mimic, "joint") : NULL;
    if (!mimic) return;
    int other = name ? perp__names_find(&u->joints, name) : -1;
    if (other < 0 || other == k || !is_single(u, other) || !is_single(u, k)) {
        perp__robot_refuse(u->r, mimic, name ? "joint" : NULL,
                           "mimic: another joint that turns or slides is expected");
        return;
    }
    perp_equality e = {
        .kind = PERP_EQUALITY_JOINT,
        .body = {u->link[u->joint[k].child].body, u->link[u->joint[other].child].body},
        .polynomial = {0, 1}};
    perp__read_number(u->r, mimic, "offset", &e.polynomial[0]);
    perp__read_number(u->r, mimic, "multiplier", &e.polynomial[1]);
    perp__add_equality(u->r, &e);
}

/* The tree ------------------------------------------------------------------------------------- */

static int find_link(urdf *u, const perp__xml_node *joint_node, const char *side)
{
    const perp__xml_node *node = child_of(joint_node, side);
    const char *name = node ? perp__xml_get(node, "link") : NULL;
    int k = name ? perp__names_find(&u->links, name) : -1;
    if (k >= 0) return k;
    if (name)
        perp__robot_refuse(u->r, node, "link", "there is no link '%.60s'", name);
    else
        perp__robot_refuse(u->r, joint_node, NULL, "joint: its %s is missing", side);
    return -1;
}

static void collect_link(urdf *u, const perp__xml_node *node)
{
    const char *name = perp__xml_get(node, "name");
    if (!name) {
        perp__robot_refuse(u->r, node, NULL, "link: name is missing");
        return;
    }
    if (perp__names_find(&u->links, name) >= 0) {
        perp__robot_refuse(u->r, node, "name", "link '%.60s' is there already", name);
        return;
    }
    if (perp__arena_grow(&u->r->to->arena, &u->link, &u->clink, u->nlink + 1, sizeof *u->link) &&
        perp__names_add(&u->links, name, u->nlink))
        u->link[u->nlink++] =
            (link){.name = name, .node = node, .joint = -1, .first = -1, .last = -1};
    else
        perp__robot_no_memory(u->r);
}

static void collect_joint(urdf *u, const perp__xml_node *node)
{
    int parent = find_link(u, node, "parent"), child = find_link(u, node, "child");
    if (parent < 0 || child < 0) return;
    if (u->link[child].joint >= 0) {
        perp__robot_refuse(u->r, node, NULL, "link '%.60s' has two parents", u->link[child].name);
        return;
    }
    if (!perp__arena_grow(&u->r->to->arena, &u->joint, &u->cjoint, u->njoint + 1,
                          sizeof *u->joint)) {
        perp__robot_no_memory(u->r);
        return;
    }
    const char *name = perp__xml_get(node, "name");
    link *above = &u->link[parent];
    int k = u->njoint++;
    u->joint[k] = (joint){name, node, parent, child, -1};
    u->link[child].joint = k;
    if (above->last >= 0)
        u->joint[above->last].next = k;
    else
        above->first = k;
    above->last = k;
    if (name && perp__names_find(&u->joints, name) < 0 && !perp__names_add(&u->joints, name, k))
        perp__robot_no_memory(u->r);
}

/* A link whose parent is there, then those below it, in the order of the file. Depth is bounded as
 * that of elements is. */
static void add_below(urdf *u, int link_index, int depth)
{
    if (depth > PERP__XML_DEPTH) {
        perp__robot_refuse(u->r, u->link[link_index].node, NULL, "links are nested too deeply");
        return;
    }
    for (int k = u->link[link_index].first; k >= 0 && u->r->status != PERP_ERR_MEMORY;
         k = u->joint[k].next) {
        const joint *j = &u->joint[k];
        int body = add_joint(u, j, u->link[link_index].body);
        if (!body) return;
        u->link[j->child].body = body;
        read_link(u, &u->link[j->child]);
        add_below(u, j->child, depth + 1);
    }
}

static void add_tree(urdf *u)
{
    int root = -1;
    for (int i = 0; i < u->nlink; i++) {
        if (u->link[i].joint >= 0) continue;
        if (root >= 0) {
            perp__robot_refuse(u->r, u->link[i].node, NULL,
                               "links '%.60s' and '%.60s' both have no parent", u->link[root].name,
                               u->link[i].name);
            return;
        }
        root = i;
    }
    if (root < 0) {
        perp__robot_refuse(u->r, u->root, NULL, "no link is the root");
        return;
    }
    perp_body body = {.name = u->link[root].name, .joint = PERP_JOINT_FIXED};
    u->link[root].body = perp__add_body(u->r, &body, NULL) + 1;
    if (!u->link[root].body) return;
    read_link(u, &u->link[root]);
    add_below(u, root, 0);
    for (int i = 0; i < u->nlink && u->r->status == PERP_OK; i++)
        if (!u->link[i].body)
            perp__robot_refuse(u->r, u->link[i].node, NULL, "link '%.60s' hangs on itself",
                               u->link[i].name);
}

void perp__read_urdf(perp__robot_reader *r, perp__xml_node *root)
{
    static const char *const read[] = {"link", "joint", NULL};
    urdf u = {.r = r, .root = root};
    const char *name = perp__xml_get(root, "name");
    if (name) r->to->is.name = perp__arena_string(&r->to->arena, name, strlen(name));
    ignore_others(&u, root, read);
    for (const perp__xml_node *c = root->child; c && r->status != PERP_ERR_MEMORY; c = c->next)
        if (is(c, "link")) collect_link(&u, c);
    for (const perp__xml_node *c = root->child; c && r->status != PERP_ERR_MEMORY; c = c->next)
        if (is(c, "joint")) collect_joint(&u, c);
    if (r->status == PERP_OK) add_tree(&u);
    for (int k = 0; k < u.njoint && r->status == PERP_OK; k++) read_mimic(&u, k);
    perp__names_clear(&u.links);
    perp__names_clear(&u.joints);
}
