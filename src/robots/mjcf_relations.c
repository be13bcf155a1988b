/* What MJCF says between bodies and joints: pairs of geoms, equalities, actuators, keyframes. */

#include "bodies/space.h"
#include "robots/mjcf.h"

#include <math.h>
#include <string.h>

/* Contact --------------------------------------------------------------------------------------------------- */

static mjcf_geom *geom_of(mjcf *m, const perp__xml_node *node, const char *attribute)
{
    int k = MJCF_FIND(m, node, attribute, geom);
    return k < 0 ? NULL : &m->geom[k];
}

void mjcf_read_contact(mjcf *m, const perp__xml_node *node)
{
    if (mjcf_is(node, "pair")) {
        mjcf_geom *x = geom_of(m, node, "geom1"), *y = geom_of(m, node, "geom2");
        if (x && y && x->body == y->body)
            perp__robot_refuse(m->r, node, NULL, "pair: geoms of two bodies are expected");
        if (x && y) x->is_paired = y->is_paired = 1;
    } else if (mjcf_is(node, "exclude")) {
        mjcf_check(m, node);
        int x = MJCF_FIND(m, node, "body1", body), y = MJCF_FIND(m, node, "body2", body);
        if (x >= 0 && y >= 0) perp__add_apart(m->r, m->body[x].link, m->body[y].link);
    } else {
        perp__robot_refuse(m->r, node, NULL, "<%.60s>: not known in contact", node->name);
    }
}

typedef struct paired {
    int condim; /* 0: as the geoms' */
    double friction[5];
    int nfriction;
} paired;

static void apply_pair(mjcf *m, const perp__xml_node *node, void *to)
{
    paired *p = to;
    perp__read_whole(m->r, node, "condim", &p->condim);
    int n = perp__read_numbers(m->r, node, "friction", 1, 5, p->friction);
    if (n) p->nfriction = n;
}

void mjcf_take_contact(mjcf *m, const perp__xml_node *node)
{
    paired p = {0};
    if (!mjcf_is(node, "pair") || m->r->status != PERP_OK || m->no_contact) return;
    const mjcf_geom *x = geom_of(m, node, "geom1"), *y = geom_of(m, node, "geom2");
    mjcf_resolve(m, node, 0, apply_pair, &p);
    if (!x || !y || x->shape < 0 || y->shape < 0) return;
    if (p.nfriction > 1 && p.friction[0] != p.friction[1])
        perp__robot_refuse(m->r, node, "friction",
                           "friction: one coefficient for both directions is expected");
    if (p.condim > 3)
        perp__robot_ignore(m->r, node, "condim",
                           "condim %d of pair: taken as 3, without torsional "
                           "and rolling friction",
                           p.condim);
    if (p.nfriction && !(p.friction[0] >= 0)) {
        perp__robot_refuse(m->r, node, "friction", "friction: it is >= 0");
        return;
    }
    const mjcf_geom *first = x->priority > y->priority ? x : y->priority > x->priority ? y : NULL;
    double mu = p.nfriction ? p.friction[0]
                : first     ? first->friction[0]
                            : fmax(x->friction[0], y->friction[0]);
    int condim = p.condim                ? p.condim
                 : first                 ? first->condim
                 : x->condim > y->condim ? x->condim
                                         : y->condim;
    if (x->kind == PERP_SHAPE_PLANE && y->kind == PERP_SHAPE_PLANE)
        perp__robot_refuse(m->r, node, NULL, "pair: two planes do not touch");
    else if (m->r->to->shape[x->shape].body == m->r->to->shape[y->shape].body)
        perp__robot_refuse(m->r, node, NULL, "pair: geoms of two bodies are expected");
    else
        perp__add_pair(m->r, x->shape, y->shape, condim == 1 ? 0 : mu);
}

/* Equality --------------------------------------------------------------------------------------------------- */

/* Two bodies, the second the world where it is not named; 0: they are not there. */
static int two_bodies(mjcf *m, const perp__xml_node *node, int *body)
{
    body[0] = MJCF_FIND(m, node, "body1", body);
    body[1] = 0;
    if (perp__xml_get(node, "body2")) body[1] = MJCF_FIND(m, node, "body2", body);
    if (body[0] == body[1] && body[0] >= 0)
        return perp__robot_refuse(m->r, node, NULL, "%s: two bodies are expected", node->name);
    return body[0] >= 0 && body[1] >= 0;
}

static void set_point(const mjcf *m, perp_equality *e, int side, int body, const double *point)
{
    perp__pose pose = perp__pose_none;
    memcpy(pose.p, point, sizeof pose.p);
    mjcf_in_link(m, body, &pose, &pose);
    e->body[side] = m->body[body].link;
    memcpy(e->point[side], pose.p, sizeof pose.p);
}

/* Where the second is as the first sees it, at the beginning. */
static perp__pose relative(const mjcf *m, const int *body)
{
    perp__pose back, out;
    perp__pose_inverse(&m->body[body[0]].at, &back);
    perp__pose_multiply(&back, &m->body[body[1]].at, &out);
    return out;
}

/* Bodies, points, and how the second is turned as the first sees it, by two sites. 1: it was so. */
static int by_sites(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    if (!perp__xml_get(node, "site1") && !perp__xml_get(node, "site2")) return 0;
    int x = MJCF_FIND(m, node, "site1", site), y = MJCF_FIND(m, node, "site2", site);
    if (x < 0 || y < 0) return 1;
    perp__pose back, turn;
    set_point(m, e, 0, m->site[x].body, m->site[x].pose.p);
    set_point(m, e, 1, m->site[y].body, m->site[y].pose.p);
    perp__pose_inverse(&m->site[y].pose, &back);
    perp__pose_multiply(&m->site[x].pose, &back, &turn);
    perp__quaternion_of_rotation(turn.R, e->rotation);
    return 1;
}

static void read_connect(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    int body[2];
    double anchor[3];
    e->kind = PERP_EQUALITY_CONNECT;
    if (by_sites(m, node, e) || !two_bodies(m, node, body)) return;
    if (!perp__read_numbers(m->r, node, "anchor", 3, 3, anchor)) {
        if (!perp__xml_get(node, "anchor"))
            perp__robot_refuse(m->r, node, NULL, "connect: anchor is missing");
        return;
    }
    perp__pose here = perp__pose_none, there, between = relative(m, body);
    memcpy(here.p, anchor, sizeof anchor);
    perp__pose_inverse(&between, &there);
    perp__pose_multiply(&there, &here, &here);
    set_point(m, e, 0, body[0], anchor);
    set_point(m, e, 1, body[1], here.p);
}

static void read_weld(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    int body[2];
    double anchor[3] = {0, 0, 0}, pose[7] = {0, 1, 0, 0, 0, 0, 0}, on_first[3];
    e->kind = PERP_EQUALITY_WELD;
    if (by_sites(m, node, e) || !two_bodies(m, node, body)) return;
    perp__read_numbers(m->r, node, "anchor", 3, 3, anchor);
    perp__read_numbers(m->r, node, "relpose", 7, 7, pose);
    if (perp__quaternion_normalise(pose + 3)) {
        memcpy(on_first, pose, sizeof on_first);
        memcpy(e->rotation, pose + 3, sizeof e->rotation);
    } else {
        perp__pose between = relative(m, body);
        perp__rotate3(between.R, anchor, on_first);
        perp__move3(on_first, 1, between.p, on_first);
        perp__quaternion_of_rotation(between.R, e->rotation);
    }
    set_point(m, e, 0, body[0], on_first);
    set_point(m, e, 1, body[1], anchor);
}

/* The hinge or slide that an attribute names; -1, and said: there is none. */
static int single_joint(mjcf *m, const perp__xml_node *node, const char *attribute)
{
    int k = MJCF_FIND(m, node, attribute, joint);
    if (k < 0) return -1;
    perp_joint joint = m->r->to->body[m->joint[k].link - 1].joint;
    if (joint == PERP_JOINT_HINGE || joint == PERP_JOINT_SLIDE) return k;
    perp__robot_refuse(m->r, node, attribute, "%s: it is no hinge or slide", attribute);
    return -1;
}

/* y - y0 = sum a_k (x - x0)^k as a polynomial of x, by Horner. */
static void expand_polynomial(const double *a, double x0, double y0, double *out)
{
    memset(out, 0, 5 * sizeof *out);
    for (int k = 4; k >= 0; k--) {
        for (int i = 4; i >= 0; i--) out[i] = (i ? out[i - 1] : 0) - x0 * out[i];
        out[0] += a[k];
    }
    out[0] += y0;
}

static void read_couple(mjcf *m, const perp__xml_node *node, perp_equality *e)
{
    double a[5] = {0, 1, 0, 0, 0}, x0 = 0;
    e->kind = PERP_EQUALITY_JOINT;
    int y = single_joint(m, node, "joint1"), x = -1;
    if (perp__xml_get(node, "joint2")) {
        x = single_joint(m, node, "joint2");
        if (x < 0) return;
    }
    perp__read_numbers(m->r, node, "polycoef", 1, 5, a);
    if (y < 0) return;
    if (x == y) {
        perp__robot_refuse(m->r, node, "joint2", "joint: two joints are expected");
        return;
    }
    e->body[0] = m->joint[y].link;
    e->body[1] = x < 0 ? 0 : m->joint[x].link;
    if (x >= 0) x0 = m->r->to->ref[e->body[1] - 1];
    if (x < 0) a[1] = a[2] = a[3] = a[4] = 0;
    expand_polynomial(a, x0, m->r->to->ref[e->body[0] - 1], e->polynomial);
}

static void apply_active(mjcf *m, const perp__xml_node *node, void *to)
{
    mjcf_read_flag(m, node, "active", to);
}

void mjcf_read_equality(mjcf *m, const perp__xml_node *node)
{
    static const struct {
        const char *name;
        void (*read)(mjcf *, const perp__xml_node *, perp_equality *);
    } known[] = {{"connect", read_connect}, {"weld", read_weld}, {"joint", read_couple}};
    perp_equality e = {0};
    int active = 1, n = m->r->diag->errors;
    mjcf_check(m, node);
    apply_active(m, node, &active);
    if (!active || m->no_equality) {
        perp__robot_ignore(m->r, node, NULL, "<%.60s> of equality: it is not active", node->name);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!mjcf_is(node, known[i].name)) continue;
        known[i].read(m, node, &e);
        if (m->r->diag->errors > n) return;
        if (e.body[0] == e.body[1])
            perp__robot_refuse(m->r, node, NULL, "%s: two bodies are expected", node->name);
        else
            perp__add_equality(m->r, &e);
        return;
    }
    perp__robot_refuse(m->r, node, NULL, "<%.60s> of equality is not to be had", node->name);
}

/* Actuators ---------------------------------------------------------------------------------------------------- */

typedef struct drive {
    double gear[6], gain[3], bias[3], control[2], force[2], dampratio, timeconst, inherit;
    int control_limited, force_limited, gain_type, bias_type, dynamic;
    const char *joint, *other; /* other: what it is of instead */
} drive;

/* As MuJoCo has it: kp is what the gain was, unless it is given. */
static void apply_servo(mjcf *m, const perp__xml_node *node, drive *d)
{
    int is_position = mjcf_is(node, "position");
    double gain = d->gain[0];
    perp__read_number(m->r, node, is_position ? "kp" : "kv", &gain);
    d->gain_type = 0;
    d->bias_type = 1;
    d->gain[0] = gain;
    if (!is_position) {
        d->bias[0] = d->bias[1] = 0;
        d->bias[2] = -gain;
        return;
    }
    d->bias[1] = -gain;
    double kv;
    if (perp__read_number(m->r, node, "kv", &kv)) d->bias[2] = -kv;
    perp__read_number(m->r, node, "dampratio", &d->dampratio);
    perp__read_number(m->r, node, "timeconst", &d->timeconst);
    perp__read_number(m->r, node, "inheritrange", &d->inherit);
}

static void apply_general(mjcf *m, const perp__xml_node *node, drive *d)
{
    perp__robot_reader *r = m->r;
    double x[10] = {0};
    int word = perp__read_word(r, node, "dyntype",
                               "none integrator filter filterexact muscle user dcmotor");
    if (word >= 0) d->dynamic = word;
    word = perp__read_word(r, node, "gaintype", "fixed affine muscle user dcmotor");
    if (word >= 0) d->gain_type = word;
    word = perp__read_word(r, node, "biastype", "none affine muscle user dcmotor");
    if (word >= 0) d->bias_type = word;
    int n = perp__read_numbers(r, node, "gainprm", 1, 10, x);
    for (int k = 0; k < 3 && k < n; k++) d->gain[k] = x[k];
    n = perp__read_numbers(r, node, "biasprm", 1, 10, x);
    for (int k = 0; k < 3 && k < n; k++) d->bias[k] = x[k];
}

static void apply_drive(mjcf *m, const perp__xml_node *node, void *to)
{
    static const char *const others[] = {"tendon", "site",       "refsite",
                                         "body",   "slidersite", "cranksite"};
    drive *d = to;
    perp__robot_reader *r = m->r;
    const char *joint = perp__xml_get(node, "joint");
    if (!joint) joint = perp__xml_get(node, "jointinparent");
    if (joint) d->joint = joint;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (perp__xml_get(node, others[i])) d->other = others[i];
    perp__read_numbers(r, node, "gear", 1, 6, d->gear);
    perp__read_numbers(r, node, "ctrlrange", 2, 2, d->control);
    perp__read_numbers(r, node, "forcerange", 2, 2, d->force);
    mjcf_read_auto(m, node, "ctrllimited", &d->control_limited);
    mjcf_read_auto(m, node, "forcelimited", &d->force_limited);
    if (mjcf_is(node, "position") || mjcf_is(node, "velocity")) apply_servo(m, node, d);
    if (mjcf_is(node, "general")) apply_general(m, node, d);
    if (!mjcf_is(node, "motor")) return;
    d->gain[0] = 1;
    d->gain_type = d->bias_type = d->dynamic = 0;
}

/* What an actuator here is not. */
static void refuse_drive(mjcf *m, const perp__xml_node *node, const drive *d)
{
    if (d->other)
        perp__robot_refuse(m->r, node, d->other, "actuator: of a joint, not of a %s", d->other);
    if (d->dynamic || d->timeconst > 0)
        perp__robot_refuse(m->r, node, d->timeconst > 0 ? "timeconst" : "dyntype",
                           "actuator: without a state of its own (dyntype none) is expected");
    if (d->gain_type > 1 || d->bias_type > 1)
        perp__robot_refuse(m->r, node, NULL,
                           "actuator: gain and bias that are fixed or affine are "
                           "expected");
    if (d->gain_type == 1 && (d->gain[1] != 0 || d->gain[2] != 0))
        perp__robot_refuse(m->r, node, "gainprm",
                           "gainprm: a gain that does not hang on the joint is expected");
    if (d->bias_type && (d->bias[1] > 0 || d->bias[2] > 0))
        perp__robot_refuse(m->r, node, "biasprm",
                           "biasprm: it must not push away: -kp and -kv are <= 0");
    if (d->dampratio != 0) perp__robot_refuse(m->r, node, "dampratio", "dampratio: kv is expected");
}

static int is_drive_limited(mjcf *m, const perp__xml_node *node, const char *attribute, int limited,
                            const double *range)
{
    int has = range[0] != 0 || range[1] != 0, holds = limited < 0 ? has : limited;
    if (limited < 0 && has && !m->autolimits)
        perp__robot_refuse(m->r, node, attribute,
                           "%s: without autolimits it has to be said whether it holds", attribute);
    if (holds && !(range[0] < range[1]))
        perp__robot_refuse(m->r, node, attribute, "%s: a lower and a greater number are expected",
                           attribute);
    return holds;
}

void mjcf_read_actuator(mjcf *m, const perp__xml_node *node)
{
    static const char *const known[] = {"motor", "position", "velocity", "general"};
    drive d = {.gear = {1}, .gain = {1}, .control_limited = -1, .force_limited = -1};
    int is_known = 0;
    for (int i = 0; i < 4; i++) is_known |= mjcf_is(node, known[i]);
    if (!is_known) {
        perp__robot_refuse(m->r, node, NULL,
                           "<%.60s>: motor, position, velocity or general is "
                           "expected",
                           node->name);
        return;
    }
    mjcf_resolve(m, node, 0, apply_drive, &d);
    refuse_drive(m, node, &d);
    if (d.other) return;
    if (!perp__xml_get(node, "joint") && perp__xml_get(node, "jointinparent"))
        d.other = "jointinparent";
    int k = single_joint(m, node, d.other ? d.other : "joint");
    if (k < 0 || m->no_actuation) return;
    perp_actuator a = {.body = m->joint[k].link, .gear = d.gear[0], .gain = d.gain[0]};
    if (a.gear == 0) perp__robot_refuse(m->r, node, "gear", "gear: it is not 0");
    if (d.bias_type) a.bias = d.bias[0], a.kp = -d.bias[1], a.kv = -d.bias[2];
    const perp_joint_law *law = &m->r->to->law[a.body - 1];
    if (d.inherit > 0 && (law->lower != 0 || law->upper != 0)) {
        double mean = 0.5 * (law->lower + law->upper), half = 0.5 * (law->upper - law->lower);
        d.control[0] = mean - d.inherit * half;
        d.control[1] = mean + d.inherit * half;
    } else if (d.inherit > 0) {
        perp__robot_refuse(m->r, node, "inheritrange", "inheritrange: the joint has no range");
    }
    if (is_drive_limited(m, node, "ctrlrange", d.control_limited, d.control) && !m->no_clampctrl)
        a.control_lower = d.control[0], a.control_upper = d.control[1];
    if (is_drive_limited(m, node, "forcerange", d.force_limited, d.force))
        a.lower = d.force[0], a.upper = d.force[1];
    perp__add_actuator(m->r, &a, perp__xml_get(node, "name"));
}

/* The bound of all that actuators do to a joint is one of its only actuator. */
static void bound_joint(mjcf *m, const mjcf_joint *joint)
{
    perp_actuator *only = NULL;
    for (int i = 0; i < m->r->to->is.nactuator; i++) {
        perp_actuator *a = &m->r->to->actuator[i];
        if (a->body != joint->link) continue;
        if (only) {
            perp__robot_refuse(
                m->r, joint->node, "actuatorfrcrange",
                "actuatorfrcrange: of a joint with one actuator, here it has several");
            return;
        }
        only = a;
    }
    if (!only) return;
    double x = joint->force[0] / only->gear, y = joint->force[1] / only->gear, low = fmin(x, y),
           high = fmax(x, y);
    int has = only->lower != 0 || only->upper != 0;
    only->lower = has ? fmax(low, only->lower) : low;
    only->upper = has ? fmin(high, only->upper) : high;
    if (!(only->lower < only->upper))
        perp__robot_refuse(m->r, joint->node, "actuatorfrcrange",
                           "actuatorfrcrange: with forcerange nothing is left");
}

void mjcf_bound_joints(mjcf *m)
{
    for (int i = 0; i < m->njoint; i++)
        if (m->joint[i].force[0] != 0 || m->joint[i].force[1] != 0) bound_joint(m, &m->joint[i]);
}

/* Keyframes ------------------------------------------------------------------------------------------------------ */

/* q where the file begins. */
static void first_q(const mjcf *m, double *q)
{
    const perp_robot *to = m->r->to;
    int k = 0;
    for (int i = 0; i < to->is.nbody; i++) {
        const perp_body *is = &to->body[i];
        if (is->joint == PERP_JOINT_HINGE || is->joint == PERP_JOINT_SLIDE) q[k++] = to->ref[i];
        if (is->joint == PERP_JOINT_FREE)
            for (int d = 0; d < 3; d++) q[k++] = is->position[d];
        if (is->joint != PERP_JOINT_FREE && is->joint != PERP_JOINT_BALL) continue;
        for (int d = 0; d < 4; d++)
            q[k++] = is->joint == PERP_JOINT_FREE ? is->rotation[d] : d == 0;
    }
}

static int count_entries(const mjcf *m, int is_v)
{
    static const int sizes[][2] = {
#define SIZE(name, word, nq, nv, text) {nq, nv},
        PERP_JOINT_LIST(SIZE)
#undef SIZE
    };
    int n = 0;
    for (int i = 0; i < m->r->to->is.nbody; i++) n += sizes[m->r->to->body[i].joint][is_v];
    return n;
}

/* Exactly n numbers, where there are any. */
static double *key_numbers(mjcf *m, const perp__xml_node *node, const char *attribute, int n)
{
    double *x;
    PERP_TAKE(&m->r->to->arena, x, n + 1);
    if (!x) {
        perp__robot_no_memory(m->r);
        return NULL;
    }
    if (n && strcmp(attribute, "qpos") == 0) first_q(m, x);
    if (perp__xml_get(node, attribute) && perp__xml_get(node, attribute)[0])
        perp__read_numbers(m->r, node, attribute, n, n, x);
    return x;
}

void mjcf_read_key(mjcf *m, const perp__xml_node *node)
{
    perp_robot *to = m->r->to;
    if (!mjcf_is(node, "key")) {
        perp__robot_refuse(m->r, node, NULL, "<%.60s>: key is expected", node->name);
        return;
    }
    mjcf_check(m, node);
    if (m->r->status != PERP_OK) return; /* how many numbers it needs is not known */
    const char *name = perp__xml_get(node, "name");
    perp__key key = {.name = name ? name : "",
                     .q = key_numbers(m, node, "qpos", count_entries(m, 0)),
                     .v = key_numbers(m, node, "qvel", count_entries(m, 1)),
                     .u = key_numbers(m, node, "ctrl", to->is.nactuator)};
    if (m->r->status == PERP_ERR_MEMORY) return;
    if (perp__arena_grow(&to->arena, &to->key, &to->ckey, to->nkey + 1, sizeof *to->key))
        to->key[to->nkey++] = key;
    else
        perp__robot_no_memory(m->r);
}
