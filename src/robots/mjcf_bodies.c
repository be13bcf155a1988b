/* Bodies and joints of MJCF. A body with several joints is a chain of links, each at its joint's
 * anchor with the body's axes. The last link has the mass and the shapes. */

#include "bodies/space.h"
#include "linalg/symmetric.h"
#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Joints --------------------------------------------------------------------------------------- */

typedef struct joint {
    int type, limited, force_limited, aligned, gravity;
    double pos[3], axis[3], range[2], ref, springref, stiffness, damping, armature, frictionloss,
        force[2], springdamper[2];
    const perp__xml_node *range_at;
} joint;

static const perp_joint kinds[] = {PERP_JOINT_HINGE, PERP_JOINT_SLIDE, PERP_JOINT_BALL,
                                   PERP_JOINT_FREE};

static void apply_joint(mjcf *m, const perp__xml_node *node, void *to)
{
    joint *j = to;
    perp__robot_reader *r = m->r;
    int word = perp__read_word(r, node, "type", "hinge slide ball free");
    if (word >= 0) j->type = word;
    perp__read_numbers(r, node, "pos", 3, 3, j->pos);
    perp__read_numbers(r, node, "axis", 3, 3, j->axis);
    if (perp__read_numbers(r, node, "range", 2, 2, j->range)) j->range_at = node;
    mjcf_read_auto(m, node, "limited", &j->limited);
    perp__read_number(r, node, "ref", &j->ref);
    perp__read_number(r, node, "springref", &j->springref);
    perp__read_number(r, node, "stiffness", &j->stiffness);
    perp__read_number(r, node, "damping", &j->damping);
    perp__read_number(r, node, "armature", &j->armature);
    perp__read_number(r, node, "frictionloss", &j->frictionloss);
    perp__read_numbers(r, node, "actuatorfrcrange", 2, 2, j->force);
    mjcf_read_auto(m, node, "actuatorfrclimited", &j->force_limited);
    mjcf_read_flag(m, node, "actuatorgravcomp", &j->gravity);
    mjcf_read_auto(m, node, "align", &j->aligned);
    perp__read_numbers(r, node, "springdamper", 2, 2, j->springdamper);
}

static int is_single(const joint *j)
{
    return j->type < 2;
}

/* Is a range in force? `limited`: -1 is by autolimits. */
static int is_limited(mjcf *m, const perp__xml_node *node, const char *attribute, int limited,
                      const double *range)
{
    if (limited >= 0) return limited;
    int has_range = range[0] != 0 || range[1] != 0;
    if (has_range && !m->autolimits)
        perp__robot_refuse(m->r, node, attribute,
                           "%s: without autolimits it has to be said whether it holds", attribute);
    return has_range;
}

/* Its time and ratio are > 0: they say stiffness and damping, whatever these are. */
static int has_springdamper(const joint *j)
{
    return j->springdamper[0] > 0 && j->springdamper[1] > 0;
}

/* What this kernel's joint cannot do. */
static void refuse_joint(mjcf *m, const perp__xml_node *node, const joint *j)
{
    if (has_springdamper(j) && !is_single(j))
        perp__robot_refuse(m->r, node, "springdamper",
                           "springdamper: springs are of hinges and slides");
    if (j->gravity && (j->force[0] != 0 || j->force[1] != 0))
        perp__robot_refuse(m->r, node, "actuatorgravcomp",
                           "actuatorgravcomp: what gravcomp takes off is not within the bounds of "
                           "actuatorfrcrange");
    if (j->aligned > 0)
        perp__robot_refuse(m->r, node, "align",
                           "align: a free body keeps the frame that is "
                           "written");
    if (!is_single(j) && j->stiffness != 0)
        perp__robot_refuse(m->r, node, "stiffness", "stiffness: springs are of hinges and slides");
    if (j->damping < 0 || j->armature < 0 || j->frictionloss < 0 || j->stiffness < 0)
        perp__robot_refuse(m->r, node, NULL,
                           "joint: stiffness, damping, armature and frictionloss are >= 0");
    if (is_single(j) && !(perp__length3(j->axis) > 0))
        perp__robot_refuse(m->r, node, "axis", "axis: it has no direction");
}

static void set_law(mjcf *m, const perp__xml_node *node, joint *j, int link)
{
    perp_joint_law *law = &m->r->to->law[link];
    double turn = j->type == 0 ? mjcf_angle(m, 1) : 1;
    law->friction = m->no_frictionloss ? 0 : j->frictionloss;
    law->stiffness = m->no_spring ? 0 : j->stiffness;
    law->rest = law->stiffness != 0 ? j->springref * turn : 0;
    if (perp__arena_grow(&m->r->to->arena, &m->springref, &m->cspringref, link + 1,
                         sizeof *m->springref))
        m->springref[link] = j->springref * turn;
    else
        perp__robot_no_memory(m->r);
    if (!is_limited(m, node, "range", j->limited, j->range) || j->type == 3 || m->no_limit) return;
    if (j->type == 2) {
        double most = fmax(j->range[0], j->range[1]);
        if (j->range[0] != 0 || !(most > 0))
            perp__robot_refuse(m->r, node, "range",
                               "range: of a ball, 0 and a number > 0 are expected");
        law->range = (perp_range){1, 0, mjcf_angle(m, most)};
    } else if (!(j->range[0] < j->range[1])) {
        perp__robot_refuse(m->r, node, "range",
                           "range: the lower limit is not below the upper one");
    } else {
        law->range = (perp_range){1, j->range[0] * turn, j->range[1] * turn};
    }
}

/* The initial q is ref, with the body in its pose of the file. So at q = 0 it is rotated or moved
 * back by ref. */
static void set_ref(mjcf *m, const joint *j, int link, perp_body *is)
{
    double ref = j->type == 0 ? mjcf_angle(m, j->ref) : j->ref, axis[3], back[4], turned[3], R[9],
           length = perp__length3(j->axis);
    if (!is_single(j) || ref == 0 || !(length > 0)) return;
    m->r->to->ref[link] = ref;
    for (int k = 0; k < 3; k++) axis[k] = -ref * j->axis[k] / length;
    if (j->type == 0) {
        perp__quaternion_of(axis, back);
        perp__quaternion_multiply(is->rotation, back, is->rotation);
    } else {
        perp__rotation_of(is->rotation, R);
        perp__rotate3(R, axis, turned);
        perp__move3(is->position, 1, turned, is->position);
    }
}

/* Add a link. `place` is the pose of the file's body in its parent link, then in this link. joint
 * NULL: fixed. */
static int add_link(mjcf *m, const char *name, int parent, const joint *j, const char *joint_name,
                    perp__pose *place)
{
    perp_body is = {.name = name, .parent = parent, .joint = PERP_JOINT_FIXED};
    perp__pose anchor = perp__pose_none, at;
    if (j) is.joint = kinds[j->type];
    if (j && is.joint != PERP_JOINT_FREE) memcpy(anchor.p, j->pos, sizeof anchor.p);
    perp__pose_multiply(place, &anchor, &at);
    memcpy(is.position, at.p, sizeof is.position);
    perp__quaternion_of_rotation(at.R, is.rotation);
    int index = m->r->to->is.nbody;
    if (j) {
        memcpy(is.axis, j->axis, sizeof is.axis);
        is.damping = m->no_damper ? 0 : j->damping;
        is.armature = j->armature;
    }
    if (perp__add_body(m->r, &is, joint_name) < 0) return -1;
    if (j) set_ref(m, j, index, &m->r->to->body[index]);
    perp__pose_inverse(&anchor, place);
    return index;
}

/* In a frame: its place and axis are the frame's. */
static void turn_joint(joint *j, const perp__pose *frame)
{
    double pos[3], axis[3];
    perp__rotate3(frame->R, j->pos, pos);
    perp__move3(pos, 1, frame->p, j->pos);
    perp__rotate3(frame->R, j->axis, axis);
    memcpy(j->axis, axis, sizeof axis);
}

static void read_joint(mjcf *m, const perp__xml_node *node, int body, int class,
                       const perp__pose *frame, int *count)
{
    joint j = {.axis = {0, 0, 1}, .limited = -1, .force_limited = -1};
    mjcf_body *b = &m->body[body];
    if (mjcf_is(node, "freejoint")) {
        mjcf_check(m, node);
        mjcf_read_auto(m, node, "align", &j.aligned);
        j.type = 3;
    } else {
        mjcf_resolve(m, node, class, apply_joint, &j);
    }
    turn_joint(&j, frame);
    refuse_joint(m, node, &j);
    if (j.type == 3 && (*count || b->parent))
        perp__robot_refuse(m->r, node, NULL, "a free joint is the only one of a body of the world");
    const char *name = perp__xml_get(node, "name");
    int parent = *count ? b->link : m->body[b->parent].link;
    int index = add_link(m, b->name, parent, &j, name, &b->within);
    mjcf_joint *own = index >= 0 ? MJCF_ADD(m, joint) : NULL;
    if (!own) return;
    set_law(m, node, &j, index);
    mjcf_ratio *ratio = has_springdamper(&j) ? MJCF_ADD(m, ratio) : NULL;
    if (ratio)
        *ratio = (mjcf_ratio){.actuator = -1,
                              .body = index + 1,
                              .ratio = j.springdamper[1],
                              .time = j.springdamper[0],
                              .node = node};
    *own = (mjcf_joint){.name = name, .link = index + 1, .node = node};
    if (is_limited(m, node, "actuatorfrcrange", j.force_limited, j.force))
        memcpy(own->force, j.force, sizeof own->force);
    b = &m->body[body];
    b->link = index + 1;
    b->is_static = 0;
    ++*count;
}

/* Bodies --------------------------------------------------------------------------------------- */

/* Of what is in a body, with the frames around it. */
typedef struct place {
    int body, class;
    const perp__pose *frame; /* in the body */
    int *count;              /* of joints */
} place;

typedef void part(mjcf *m, const perp__xml_node *node, const place *p);

static void read_body(mjcf *m, const perp__xml_node *node, const place *p);

/* Let `read` see the children, those in frames too, where those are. */
static void walk(mjcf *m, const perp__xml_node *node, const place *p, part *read)
{
    for (const perp__xml_node *child = node->child; child; child = child->next) {
        if (m->r->status == PERP_ERR_MEMORY) return;
        if (!mjcf_is(child, "frame")) {
            read(m, child, p);
            continue;
        }
        perp__pose own = perp__pose_none;
        place inner = *p;
        mjcf_read_pose(m, child, &own);
        perp__pose_multiply(p->frame, &own, &own);
        inner.frame = &own;
        inner.class = mjcf_class_of(m, child, p->class);
        walk(m, child, &inner, read);
    }
}

static void part_joint(mjcf *m, const perp__xml_node *node, const place *p)
{
    if (mjcf_is(node, "joint") || mjcf_is(node, "freejoint"))
        read_joint(m, node, p->body, p->class, p->frame, p->count);
}

static void apply_site(mjcf *m, const perp__xml_node *node, void *to)
{
    double x[6], z[3];
    mjcf_site *s = to;
    mjcf_read_pose(m, node, &s->pose);
    if (!perp__read_numbers(m->r, node, "fromto", 6, 6, x)) return;
    for (int k = 0; k < 3; k++) {
        s->pose.p[k] = 0.5 * (x[k] + x[3 + k]);
        z[k] = x[k] - x[3 + k];
    }
    mjcf_turn_z(z, s->pose.R);
}

static void read_site(mjcf *m, const perp__xml_node *node, const place *p)
{
    mjcf_site *s = MJCF_ADD(m, site);
    if (!s) return;
    *s = (mjcf_site){.name = perp__xml_get(node, "name"),
                     .node = node,
                     .body = p->body,
                     .pose = perp__pose_none};
    mjcf_resolve(m, node, p->class, apply_site, s);
    perp__pose_multiply(p->frame, &s->pose, &s->pose);
}

static void part_rest(mjcf *m, const perp__xml_node *node, const place *p)
{
    if (mjcf_is(node, "geom"))
        mjcf_read_geom(m, node, p->body, p->frame, p->class);
    else if (mjcf_is(node, "site"))
        read_site(m, node, p);
    else if (mjcf_is(node, "camera") || mjcf_is(node, "light"))
        perp__robot_ignore(m->r, node, NULL, "<%s>: has no part in the motion", node->name);
    else if (mjcf_is(node, "inertial") && !mjcf_is(node->parent, "body"))
        perp__robot_refuse(m->r, node, NULL, "inertial: a child of the body itself is expected");
    else if (!mjcf_is(node, "body") && !mjcf_is(node, "joint") && !mjcf_is(node, "freejoint") &&
             !mjcf_is(node, "inertial"))
        mjcf_refuse_element(m, node);
}

static void part_body(mjcf *m, const perp__xml_node *node, const place *p)
{
    if (mjcf_is(node, "body")) read_body(m, node, p);
}

/* What <inertial> says, in the body's frame. */
static void read_inertial(mjcf *m, const perp__xml_node *node, const perp__pose *within,
                          perp__mass *sum)
{
    perp__pose pose = perp__pose_none;
    const double origin[3] = {0, 0, 0};
    double mass = 0, I[6] = {0, 0, 0, 0, 0, 0};
    mjcf_check(m, node);
    mjcf_read_pose(m, node, &pose);
    if (!perp__read_number(m->r, node, "mass", &mass) && !perp__xml_get(node, "mass"))
        perp__robot_refuse(m->r, node, NULL, "inertial: mass is missing");
    perp__read_numbers(m->r, node, "diaginertia", 3, 3, I);
    if (perp__read_numbers(m->r, node, "fullinertia", 6, 6, I) &&
        memcmp(pose.R, perp__pose_none.R, sizeof pose.R) != 0)
        perp__robot_refuse(m->r, node, "fullinertia",
                           "fullinertia is about the axes of the body: it has no rotation");
    perp__pose_multiply(within, &pose, &pose);
    perp__mass_add(sum, &pose, mass, origin, I);
}

/* boundmass, boundinertia, balanceinertia: principal moments that no body has become their mean. */
static void bound_mass(const mjcf *m, perp_body *is)
{
    double *I = is->inertia, A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, x[3],
           V[9];
    is->mass = fmax(is->mass, m->boundmass);
    if (!(m->boundinertia > 0) && !m->is_balanced) return;
    perp__symmetric_eigen(3, A, x, V);
    int is_other = x[0] < m->boundinertia;
    for (int k = 0; k < 3; k++) x[k] = fmax(x[k], m->boundinertia);
    if (m->is_balanced && x[0] + x[1] < x[2]) {
        x[0] = x[1] = x[2] = (x[0] + x[1] + x[2]) / 3;
        is_other = 1;
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6 && is_other; k++) {
        I[k] = 0;
        for (int j = 0; j < 3; j++) I[k] += x[j] * V[row[k] + 3 * j] * V[column[k] + 3 * j];
    }
}

/* settotalmass: all are scaled. */
void mjcf_scale_mass(mjcf *m)
{
    perp_robot *to = m->r->to;
    double sum = 0;
    for (int i = 0; i < to->is.nbody; i++) sum += to->body[i].mass;
    for (int i = 0; i < to->is.nbody && m->total > 0 && sum > 0; i++) {
        to->body[i].mass *= m->total / sum;
        for (int k = 0; k < 6; k++) to->body[i].inertia[k] *= m->total / sum;
    }
}

static void set_mass(mjcf *m, const perp__xml_node *node, int body, int first_geom)
{
    const perp__xml_node *inertial = NULL;
    const mjcf_body *b = &m->body[body];
    perp__mass sum = {0};
    for (const perp__xml_node *child = node->child; child; child = child->next)
        if (mjcf_is(child, "inertial")) inertial = child;
    if (inertial && m->inertiafromgeom != 1)
        read_inertial(m, inertial, &b->within, &sum);
    else if (m->inertiafromgeom)
        mjcf_weigh(m, first_geom, &b->within, &sum);
    else if (!b->is_static)
        perp__robot_refuse(m->r, node, NULL, "body: <inertial> is missing (inertiafromgeom false)");
    perp_body *is = &m->r->to->body[b->link - 1];
    perp__mass_take(&sum, is);
    bound_mass(m, is);
    if (b->is_static) return;
    perp__read_number(m->r, node, "gravcomp", &is->gravity_compensation);
    if (m->no_spring && m->no_damper) is->gravity_compensation = 0; /* that, too, is passive */
}

static void check_body(mjcf *m, const perp__xml_node *node)
{
    int mocap = 0;
    mjcf_check(m, node);
    mjcf_read_flag(m, node, "mocap", &mocap);
    if (mocap) perp__robot_ignore(m->r, node, "mocap", "mocap of body: it does not move");
}

static void read_body(mjcf *m, const perp__xml_node *node, const place *p)
{
    perp__pose own = perp__pose_none;
    int count = 0, index = m->nbody, first_geom = m->ngeom;
    mjcf_body *b = MJCF_ADD(m, body);
    if (!b) return;
    check_body(m, node);
    mjcf_read_pose(m, node, &own);
    perp__pose_multiply(p->frame, &own, &own);
    const mjcf_body *parent = &m->body[p->body];
    *b = (mjcf_body){.name = perp__xml_get(node, "name"),
                     .node = node,
                     .parent = p->body,
                     .is_static = parent->is_static};
    perp__pose_multiply(&parent->at, &own, &b->at);
    perp__pose_multiply(&parent->within, &own, &b->within);
    int link = parent->link;
    place inner = {index, mjcf_class_of(m, node, p->class), &perp__pose_none, &count};
    walk(m, node, &inner, part_joint);
    b = &m->body[index];
    if (!count) b->link = add_link(m, b->name, link, NULL, NULL, &b->within) + 1;
    if (!b->link || m->r->status == PERP_ERR_MEMORY) return;
    walk(m, node, &inner, part_rest);
    set_mass(m, node, index, first_geom);
    walk(m, node, &inner, part_body);
}

void mjcf_read_world(mjcf *m, const perp__xml_node *node)
{
    int count = 0;
    if (!m->nbody) {
        mjcf_body *world = MJCF_ADD(m, body);
        if (!world) return;
        *world = (mjcf_body){.name = "world",
                             .node = node,
                             .is_static = 1,
                             .within = perp__pose_none,
                             .at = perp__pose_none};
    }
    place all = {0, 0, &perp__pose_none, &count};
    for (const perp__xml_node *child = node->child; child; child = child->next)
        if (mjcf_is(child, "joint") || mjcf_is(child, "freejoint") || mjcf_is(child, "inertial"))
            perp__robot_refuse(m->r, child, NULL, "<%s>: the world has none", child->name);
    walk(m, node, &all, part_rest);
    walk(m, node, &all, part_body);
}

static int root_of(const mjcf *m, int body)
{
    while (body && m->r->to->body[m->body[body].link - 1].joint == PERP_JOINT_FIXED)
        body = m->body[body].parent;
    return body;
}

/* The parent of a body with several joints is not the parent of its last link, which is the only
 * one that the kernel checks. So bodies fixed to the two exclude each other by name. */
void mjcf_keep_parents(mjcf *m)
{
    int *first, *next; /* bodies by their root, in rising order; 0: no more */
    PERP_TAKE(&m->r->to->arena, first, m->nbody);
    PERP_TAKE(&m->r->to->arena, next, m->nbody);
    if (!first || !next) {
        perp__robot_no_memory(m->r);
        return;
    }
    for (int y = m->nbody - 1; y > 0; y--) {
        int root = root_of(m, y);
        next[y] = first[root];
        first[root] = y;
    }
    for (int x = 1; x < m->nbody; x++) {
        int root = root_of(m, x), parent = m->body[root].parent;
        if (!root || m->r->to->body[m->body[root].link - 1].parent == m->body[parent].link)
            continue;
        parent = root_of(m, parent);
        for (int y = parent ? first[parent] : 0; y; y = next[y])
            perp__add_exclude(m->r, m->body[x].link, m->body[y].link);
    }
}

void mjcf_in_link(const mjcf *m, int body, const perp__pose *pose, perp__pose *in_link)
{
    perp__pose_multiply(&m->body[body].within, pose, in_link);
}
