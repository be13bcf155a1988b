/* Tendons and actuators of MJCF. */

#include "bodies/joints.h"
#include "bodies/space.h"
#include "linalg/dense.h"
#include "robots/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tendons -------------------------------------------------------------------------------------- */

typedef struct strand {
    double range[2], stiffness, damping, friction, armature, spring[2], force[2];
    int limited, force_limited;
} strand;

static void apply_tendon(mjcf *m, const perp__xml_node *node, void *to)
{
    strand *s = to;
    perp__robot_reader *r = m->r;
    perp__read_numbers(r, node, "range", 2, 2, s->range);
    mjcf_read_auto(m, node, "limited", &s->limited);
    mjcf_read_auto(m, node, "actuatorfrclimited", &s->force_limited);
    perp__read_numbers(r, node, "actuatorfrcrange", 2, 2, s->force);
    perp__read_number(r, node, "stiffness", &s->stiffness);
    perp__read_number(r, node, "damping", &s->damping);
    perp__read_number(r, node, "frictionloss", &s->friction);
    perp__read_number(r, node, "armature", &s->armature);
    if (perp__read_numbers(r, node, "springlength", 1, 2, s->spring) == 1)
        s->spring[1] = s->spring[0];
}

/* A range in force; 0: there is none, or it is wrong and said so. */
static int is_range(mjcf *m, const perp__xml_node *node, const char *attribute, int limited,
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

/* The body that moves another: what is fixed to it is one. */
static int mover_of(const mjcf *m, int body)
{
    int link = m->body[body].is_static ? 0 : m->body[body].link;
    while (link && m->r->to->body[link - 1].joint == PERP_JOINT_FIXED)
        link = m->r->to->body[link - 1].parent;
    return link;
}

/* A site's place, of the point or of the side where what is wrapped is passed. */
static int put_site(mjcf *m, const perp__xml_node *node, const char *attribute, int *body,
                    double *position, int *mover)
{
    perp__pose pose;
    int k = MJCF_FIND(m, node, attribute, site);
    if (k < 0) return 0;
    mjcf_in_link(m, m->site[k].body, &m->site[k].pose, &pose);
    *body = m->body[m->site[k].body].link;
    memcpy(position, pose.p, sizeof pose.p);
    *mover = mover_of(m, m->site[k].body);
    return 1;
}

static int put_obstacle(mjcf *m, const perp__xml_node *node, perp_path_point *x, int *mover)
{
    perp__pose pose;
    int unused, k = MJCF_FIND(m, node, "geom", geom);
    if (k < 0) return 0;
    const mjcf_geom *g = &m->geom[k];
    if ((g->kind != PERP_SHAPE_SPHERE && g->kind != PERP_SHAPE_CYLINDER) || g->mesh)
        return perp__robot_refuse(m->r, node, "geom",
                                  "geom: a tendon goes around spheres and cylinders");
    mjcf_in_link(m, g->body, &g->pose, &pose);
    x->kind = g->kind == PERP_SHAPE_SPHERE ? PERP_PATH_SPHERE : PERP_PATH_CYLINDER;
    x->body = m->body[g->body].link;
    x->radius = g->size[0];
    memcpy(x->position, pose.p, sizeof pose.p);
    perp__quaternion_of_rotation(pose.R, x->rotation);
    *mover = mover_of(m, g->body);
    x->has_side = perp__xml_get(node, "sidesite") != NULL;
    return !x->has_side || put_site(m, node, "sidesite", &x->side_body, x->side, &unused);
}

/* Its points; 0: something is wrong and was reported. *moves: not all of them are on one body. */
static int read_path(mjcf *m, const perp__xml_node *node, perp_path_point *path, int *moves)
{
    int n = 0, ok = 1, first = -1;
    for (const perp__xml_node *child = node->child; child; child = child->next, n++) {
        perp_path_point *x = &path[n];
        int mover = -1;
        *x = (perp_path_point){.divisor = 1};
        mjcf_check(m, child);
        if (mjcf_is(child, "site")) {
            ok &= put_site(m, child, "site", &x->body, x->position, &mover);
        } else if (mjcf_is(child, "geom")) {
            ok &= put_obstacle(m, child, x, &mover);
        } else if (mjcf_is(child, "pulley")) {
            x->kind = PERP_PATH_PULLEY;
            if (!perp__read_number(m->r, child, "divisor", &x->divisor) || !(x->divisor > 0))
                ok = perp__robot_refuse(m->r, child, NULL, "pulley: a divisor > 0 is expected");
            continue;
        } else {
            ok = perp__robot_refuse(m->r, child, NULL,
                                    "<%.60s>: site, geom or pulley is expected in spatial",
                                    child->name);
        }
        if (first < 0) first = mover;
        *moves |= mover != first;
    }
    return ok ? n : 0;
}

/* From site to site, with at most one thing to go around between two. */
static int check_path(mjcf *m, const perp__xml_node *node, const perp_path_point *path, int n)
{
    int straight = 0;
    for (int i = 0; i < n; i++) {
        int is_site = path[i].kind == PERP_PATH_SITE, is_pulley = path[i].kind == PERP_PATH_PULLEY,
            after = i ? (int)path[i - 1].kind : PERP_PATH_PULLEY,
            before = i + 1 < n ? (int)path[i + 1].kind : PERP_PATH_PULLEY;
        if (!is_site && !is_pulley && (after != PERP_PATH_SITE || before != PERP_PATH_SITE))
            return perp__robot_refuse(m->r, node, NULL,
                                      "spatial: a geom is expected between two sites");
        if (is_pulley && (i + 1 == n || (i && after == PERP_PATH_PULLEY)))
            return perp__robot_refuse(m->r, node, NULL,
                                      "spatial: a pulley is expected between two branches");
        straight += is_site && after != PERP_PATH_PULLEY;
    }
    return straight ? 1 : perp__robot_refuse(m->r, node, NULL, "spatial: two sites are expected");
}

/* Its joints, each once; 0: none, or something is wrong and was reported. */
static int read_strands(mjcf *m, const perp__xml_node *node, int *body, double *coefficient)
{
    int n = 0, ok = 1;
    for (const perp__xml_node *child = node->child; child; child = child->next) {
        double x = 0;
        if (!mjcf_is(child, "joint")) {
            ok = perp__robot_refuse(m->r, child, NULL, "<%.60s>: joint is expected in fixed",
                                    child->name);
            continue;
        }
        mjcf_check(m, child);
        int k = mjcf_single_joint(m, child, "joint"), i = 0;
        if (!perp__read_number(m->r, child, "coef", &x) && !perp__xml_get(child, "coef"))
            ok = perp__robot_refuse(m->r, child, NULL, "joint: coef is missing");
        if (k < 0) ok = 0;
        if (k < 0 || x == 0) continue;
        while (i < n && body[i] != m->joint[k].link) i++;
        if (i == n) {
            body[n++] = m->joint[k].link;
            coefficient[i] = 0;
        }
        coefficient[i] += x;
    }
    if (ok && !n) perp__robot_refuse(m->r, node, NULL, "fixed: no joint has a coef that is not 0");
    return ok ? n : 0;
}

/* The rest length of the tendon, if the file gives none: that at which the springs of joints
 * rest. */
static double length_at_rest(const mjcf *m, const perp_tendon *t)
{
    double length = 0;
    for (int i = 0; i < t->n; i++) length += t->coefficient[i] * m->springref[t->body[i] - 1];
    return length;
}

static void set_strand(mjcf *m, const perp__xml_node *node, const strand *s, mjcf_tendon *own,
                       perp_tendon *t)
{
    int is_own = s->spring[0] == -1 && s->spring[1] == -1;
    if (!is_own && s->spring[0] > s->spring[1])
        perp__robot_refuse(m->r, node, "springlength",
                           "springlength: the first length is not above the second");
    if (s->armature != 0)
        perp__robot_refuse(m->r, node, "armature", "armature: of joints, not of tendons");
    if (s->stiffness < 0 || s->damping < 0 || s->friction < 0)
        perp__robot_refuse(m->r, node, NULL, "%s: stiffness, damping and frictionloss are >= 0",
                           node->name);
    if (is_range(m, node, "actuatorfrcrange", s->force_limited, s->force))
        memcpy(own->force, s->force, sizeof own->force);
    t->stiffness = m->no_spring ? 0 : s->stiffness;
    t->damping = m->no_damper ? 0 : s->damping;
    t->friction = m->no_frictionloss ? 0 : s->friction;
    if (!is_own)
        t->rest = s->spring[0];
    else if (t->npath)
        t->rest = 0;
    else
        t->rest = length_at_rest(m, t);
    t->slack = !is_own ? s->spring[1] - s->spring[0] : 0;
    if (t->stiffness == 0) t->rest = t->slack = 0;
    own->rests_there = is_own && t->npath && t->stiffness != 0;
    if (is_range(m, node, "range", s->limited, s->range) && !m->no_limit)
        t->range = (perp_range){1, s->range[0], s->range[1]};
}

/* The course of a tendon; 0: nothing that moves, or something is wrong and was reported. */
static int read_strand(mjcf *m, const perp__xml_node *node, const mjcf_tendon *own, perp_tendon *t)
{
    perp_path_point *path;
    int most = 0, moves = 0, *body;
    double *coefficient;
    for (const perp__xml_node *child = node->child; child; child = child->next) most++;
    PERP_TAKE(&m->r->to->arena, path, own->is_spatial ? most + 1 : 1);
    PERP_TAKE(&m->r->to->arena, body, most + 1);
    PERP_TAKE(&m->r->to->arena, coefficient, most + 1);
    if (!path || !body || !coefficient) return perp__robot_no_memory(m->r);
    if (!own->is_spatial) {
        t->body = body;
        t->coefficient = coefficient;
        return t->n = read_strands(m, node, body, coefficient);
    }
    t->path = path;
    t->npath = read_path(m, node, path, &moves);
    if ((most && !t->npath) || !check_path(m, node, path, t->npath)) return 0;
    if (!moves)
        perp__robot_ignore(m->r, node, NULL, "<spatial>: a tendon whose length nothing changes");
    return moves;
}

void mjcf_read_tendon(mjcf *m, const perp__xml_node *node)
{
    strand s = {.limited = -1, .force_limited = -1, .spring = {-1, -1}};
    perp_tendon t = {0};
    if (!mjcf_is(node, "fixed") && !mjcf_is(node, "spatial")) {
        perp__robot_refuse(m->r, node, NULL, "<%.60s>: fixed or spatial is expected", node->name);
        return;
    }
    mjcf_tendon *own = MJCF_ADD(m, tendon);
    if (!own) return;
    *own = (mjcf_tendon){
        .name = perp__xml_get(node, "name"), .node = node, .is_spatial = mjcf_is(node, "spatial")};
    mjcf_resolve(m, node, 0, apply_tendon, &s);
    if (!read_strand(m, node, own, &t)) return;
    set_strand(m, node, &s, own, &t);
    own->number = perp__add_tendon(m->r, &t, own->name) + 1;
}

/* Actuators ------------------------------------------------------------------------------------ */

enum { OF_MUSCLE = 9 }; /* how many numbers its gain and bias have */

/* In the order of their words. */
enum { DYN_NONE, DYN_INTEGRATOR, DYN_FILTER, DYN_FILTEREXACT, DYN_MUSCLE };
enum { GAIN_FIXED, GAIN_AFFINE, GAIN_MUSCLE };
enum { BIAS_NONE, BIAS_AFFINE, BIAS_MUSCLE };

typedef struct drive {
    double gear[6], gain[10], bias[10], dyn[10], control[2], force[2], act[2], length[2], inherit,
        armature, damping, delay;
    int control_limited, force_limited, act_limited, gain_type, bias_type, dynamic, is_early,
        dimension, group;
    const char *servo; /* NULL, or which one its gains were written for last */
} drive;

/* What another servo's class says does not count. */
static void forget_gains(drive *d)
{
    memset(d->gain, 0, sizeof d->gain);
    memset(d->bias, 0, sizeof d->bias);
    memset(d->dyn, 0, sizeof d->dyn);
    d->gain[0] = d->dyn[0] = 1;
    d->inherit = 0;
    d->act_limited = -1;
    d->gain_type = d->bias_type = d->dynamic = 0;
}

/* As MuJoCo has it: kp is what the gain was, unless it is given or was one of another servo. */
static void apply_servo(mjcf *m, const perp__xml_node *node, drive *d)
{
    int is_velocity = mjcf_is(node, "velocity"), is_integrated = mjcf_is(node, "intvelocity");
    double gain = d->gain[0], kv;
    perp__read_number(m->r, node, is_velocity ? "kv" : "kp", &gain);
    d->gain_type = GAIN_FIXED;
    d->bias_type = BIAS_AFFINE;
    d->gain[0] = gain;
    if (is_velocity) {
        d->bias[0] = d->bias[1] = 0;
        d->bias[2] = -gain;
        d->dynamic = DYN_NONE;
        return;
    }
    if (d->dynamic != DYN_FILTEREXACT) {
        d->dyn[0] = 1;
        d->dynamic = DYN_NONE;
    }
    d->bias[0] = 0;
    d->bias[1] = -gain;
    if (perp__read_number(m->r, node, "kv", &kv)) d->bias[2] = -kv;
    if (perp__read_number(m->r, node, "dampratio", &kv)) { /* > 0 is one */
        if (kv < 0) perp__robot_refuse(m->r, node, "dampratio", "dampratio: it is >= 0");
        d->bias[2] = kv;
    }
    if (perp__read_number(m->r, node, "timeconst", &d->dyn[0]))
        d->dynamic = d->dyn[0] == 0 ? DYN_NONE : DYN_FILTEREXACT;
    const char *range = is_integrated ? "actrange" : "ctrlrange";
    if (perp__xml_get(node, range)) d->inherit = 0;
    if (perp__read_number(m->r, node, "inheritrange", &d->inherit) && perp__xml_get(node, range))
        perp__robot_refuse(m->r, node, "inheritrange",
                           "inheritrange: beside %s there is none to inherit", range);
    if (is_integrated) {
        d->dynamic = DYN_INTEGRATOR;
        d->act_limited = -1;
    } /* by its range alone */
}

/* A damper whose strength is its control. */
static void apply_damper(mjcf *m, const perp__xml_node *node, drive *d)
{
    double kv = 0;
    int has_kv = perp__read_number(m->r, node, "kv", &kv);
    double kept = has_kv ? -kv : d->gain[2];
    memset(d->gain, 0, sizeof d->gain);
    d->gain[2] = kept;
    d->gain_type = GAIN_AFFINE;
    d->bias_type = BIAS_NONE;
    d->dynamic = DYN_NONE;
    d->control_limited = 1;
}

/* Pressure that follows its control, times an area. */
static void apply_cylinder(mjcf *m, const perp__xml_node *node, drive *d)
{
    const double quarter = 0.78539816339744831;
    double across = -1;
    perp__read_number(m->r, node, "timeconst", &d->dyn[0]);
    perp__read_numbers(m->r, node, "bias", 3, 3, d->bias);
    perp__read_number(m->r, node, "area", &d->gain[0]);
    if (perp__read_number(m->r, node, "diameter", &across) && across >= 0)
        d->gain[0] = quarter * across * across;
    d->gain_type = GAIN_FIXED;
    d->bias_type = BIAS_AFFINE;
    d->dynamic = DYN_FILTER;
}

static void apply_muscle(mjcf *m, const perp__xml_node *node, drive *d)
{
    static const char *const name[] = {"force", "scale", "lmin",  "lmax",
                                       "vmax",  "fpmax", "fvmax", NULL};
    static const double usual[OF_MUSCLE] = {0.75, 1.05, -1, 200, 0.5, 1.6, 1.5, 1.3, 1.2};
    if (d->gain_type != GAIN_MUSCLE) { /* what others' classes say does not count */
        memcpy(d->gain, usual, sizeof usual);
        d->dyn[0] = 0.01;
        d->dyn[1] = 0.04;
        d->dyn[2] = 0;
    }
    perp__read_numbers(m->r, node, "timeconst", 2, 2, d->dyn);
    perp__read_number(m->r, node, "tausmooth", &d->dyn[2]);
    perp__read_numbers(m->r, node, "range", 2, 2, d->gain);
    for (int k = 0; name[k]; k++) perp__read_number(m->r, node, name[k], &d->gain[2 + k]);
    memcpy(d->bias, d->gain, sizeof d->bias);
    d->gain_type = GAIN_MUSCLE;
    d->bias_type = BIAS_MUSCLE;
    d->dynamic = DYN_MUSCLE;
}

static void apply_general(mjcf *m, const perp__xml_node *node, drive *d)
{
    perp__robot_reader *r = m->r;
    int word = perp__read_word(r, node, "dyntype",
                               "none integrator filter filterexact muscle user dcmotor");
    if (word >= 0) d->dynamic = word;
    word = perp__read_word(r, node, "gaintype", "fixed affine muscle user dcmotor");
    if (word >= 0) d->gain_type = word;
    word = perp__read_word(r, node, "biastype", "none affine muscle user dcmotor");
    if (word >= 0) d->bias_type = word;
    perp__read_numbers(r, node, "gainprm", 1, 10, d->gain);
    perp__read_numbers(r, node, "biasprm", 1, 10, d->bias);
    perp__read_numbers(r, node, "dynprm", 1, 10, d->dyn);
    perp__read_whole(r, node, "actdim", &d->dimension);
    mjcf_read_flag(m, node, "actearly", &d->is_early);
}

static void apply_drive(mjcf *m, const perp__xml_node *node, void *to)
{
    static const struct {
        const char *name;
        void (*apply)(mjcf *, const perp__xml_node *, drive *);
    } known[] = {{"position", apply_servo},    {"velocity", apply_servo},
                 {"intvelocity", apply_servo}, {"damper", apply_damper},
                 {"cylinder", apply_cylinder}, {"muscle", apply_muscle},
                 {"general", apply_general},   {"motor", NULL}};
    drive *d = to;
    perp__robot_reader *r = m->r;
    perp__read_numbers(r, node, "gear", 1, 6, d->gear);
    perp__read_numbers(r, node, "ctrlrange", 2, 2, d->control);
    perp__read_numbers(r, node, "forcerange", 2, 2, d->force);
    perp__read_numbers(r, node, "actrange", 2, 2, d->act);
    perp__read_numbers(r, node, "lengthrange", 2, 2, d->length);
    mjcf_read_auto(m, node, "ctrllimited", &d->control_limited);
    mjcf_read_auto(m, node, "forcelimited", &d->force_limited);
    mjcf_read_auto(m, node, "actlimited", &d->act_limited);
    perp__read_number(r, node, "armature", &d->armature);
    perp__read_number(r, node, "damping", &d->damping);
    perp__read_number(r, node, "delay", &d->delay);
    perp__read_whole(r, node, "group", &d->group);
    int is_other = d->servo && strcmp(d->servo, node->name) != 0;
    if (!mjcf_is(node, "general") && (is_other || mjcf_is(node, "motor"))) forget_gains(d);
    if (is_other) d->servo = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].apply && mjcf_is(node, known[i].name)) known[i].apply(m, node, d);
    d->servo = mjcf_is(node, "general") ? NULL : node->name;
}

/* Of a servo whose gain is its stiffness, damping > 0 is a part of the critical one. */
static int has_ratio(const drive *d)
{
    return d->bias_type == BIAS_AFFINE && d->bias[2] > 0 && d->gain[0] == -d->bias[1];
}

/* Muscles have the same numbers for what they do by their activation and without. */
static void refuse_muscle(mjcf *m, const perp__xml_node *node, const drive *d)
{
    if (d->gain_type != GAIN_MUSCLE)
        perp__robot_refuse(m->r, node, NULL, "actuator: a muscle's bias is beside a muscle's gain");
    else if (d->bias_type == BIAS_AFFINE ||
             (d->bias_type == BIAS_MUSCLE &&
              memcmp(d->gain, d->bias, OF_MUSCLE * sizeof *d->gain) != 0))
        perp__robot_refuse(m->r, node, "biasprm",
                           "biasprm: of a muscle, what gainprm says or none is expected");
    else if (d->gain[2] < 0 && !(d->gain[3] > 0))
        perp__robot_refuse(m->r, node, NULL, "muscle: a scale > 0 is expected");
    else if (!(d->length[0] < d->length[1]))
        perp__robot_refuse(
            m->r, node, NULL,
            "muscle: lengthrange is missing, the least and the greatest length; MuJoCo "
            "finds it by a simulation, which is not done here");
}

/* What an actuator here is not. */
static void refuse_drive(mjcf *m, const perp__xml_node *node, const drive *d)
{
    if (d->dynamic > DYN_MUSCLE || d->gain_type > GAIN_MUSCLE || d->bias_type > BIAS_MUSCLE)
        perp__robot_refuse(m->r, node, NULL,
                           "actuator: laws of a program's own, and direct-current motors, are not "
                           "to be had");
    else if (d->gain_type == GAIN_MUSCLE || d->bias_type == BIAS_MUSCLE)
        refuse_muscle(m, node, d);
    if (d->dimension > 1)
        perp__robot_refuse(m->r, node, "actdim", "actdim: one activation is expected");
    if (d->delay > 0)
        perp__robot_refuse(m->r, node, "delay", "delay: a control acts from its step on");
    if (d->dynamic && d->dynamic != DYN_INTEGRATOR && d->dyn[0] < 0)
        perp__robot_refuse(m->r, node, NULL, "actuator: its time constant is >= 0");
    if (d->gain_type == GAIN_AFFINE && (d->gain[1] > 0 || d->gain[2] > 0))
        perp__robot_refuse(m->r, node, NULL,
                           "actuator: a gain must not push away: its parts by length and rate are "
                           "<= 0");
    if (d->bias_type == BIAS_AFFINE && (d->bias[1] > 0 || (d->bias[2] > 0 && !has_ratio(d))))
        perp__robot_refuse(m->r, node, "biasprm",
                           "biasprm: it must not push away: -kp and -kv are <= 0");
}

/* Its target: a joint, a tendon, or a site. Returns 0: none of these, or something is wrong; it was
 * reported. */
static int take_target(mjcf *m, const perp__xml_node *node, const drive *d, perp_actuator *a)
{
    static const char *const others[] = {"refsite", "body", "slidersite", "cranksite"},
                             *const ours[] = {"joint", "jointinparent", "tendon", "site"};
    const char *of = perp__xml_get(node, "joint") ? "joint" : "jointinparent";
    int n = 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        n += perp__xml_get(node, ours[i]) != NULL;
    if (n > 1)
        return perp__robot_refuse(m->r, node, NULL,
                                  "actuator: of one joint, tendon or site, not of several");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (perp__xml_get(node, others[i]))
            return perp__robot_refuse(m->r, node, others[i],
                                      "actuator: of a joint, a tendon or a site alone, not "
                                      "of a %s",
                                      others[i]);
    a->gear = d->gear[0];
    if (perp__xml_get(node, "tendon")) {
        int k = MJCF_FIND(m, node, "tendon", tendon);
        if (k >= 0 && m->tendon[k].is_spatial && !m->tendon[k].number && m->r->status == PERP_OK)
            return perp__robot_refuse(m->r, node, "tendon",
                                      "tendon: nothing changes its length, so nothing is pulled");
        a->tendon = k >= 0 ? m->tendon[k].number : 0;
        return a->tendon > 0;
    }
    if (perp__xml_get(node, "site")) {
        int k = MJCF_FIND(m, node, "site", site);
        if (k < 0) return 0;
        perp__pose pose;
        mjcf_in_link(m, m->site[k].body, &m->site[k].pose, &pose);
        a->is_thruster = 1;
        a->gear = 1;
        a->body = m->body[m->site[k].body].link;
        memcpy(a->point, pose.p, sizeof a->point);
        perp__rotate3(pose.R, d->gear, a->force);
        perp__rotate3(pose.R, d->gear + 3, a->moment);
        if (!a->body)
            return perp__robot_refuse(m->r, node, "site", "site: it is of a body that moves");
        return 1;
    }
    int k = mjcf_single_joint(m, node, perp__xml_get(node, of) ? of : "joint");
    if (k >= 0) a->body = m->joint[k].link;
    return k >= 0;
}

/* inheritrange: controls, or (of intvelocity) activations, of the range of what it moves. */
static void inherit_range(mjcf *m, const perp__xml_node *node, const perp_actuator *a, drive *d)
{
    const perp_robot *to = m->r->to;
    double *range = d->dynamic == DYN_INTEGRATOR ? d->act : d->control;
    perp_range of = {0};
    if (a->tendon)
        of = to->tendon[a->tendon - 1].range;
    else if (!a->is_thruster)
        of = to->law[a->body - 1].range;
    if (of.limited) {
        double mean = 0.5 * (of.lower + of.upper), half = 0.5 * (of.upper - of.lower);
        range[0] = mean - d->inherit * half;
        range[1] = mean + d->inherit * half;
    } else {
        perp__robot_refuse(m->r, node, "inheritrange", "inheritrange: what it moves has no range");
    }
}

/* The length and rate of a site alone are none: nothing of the bias but its constant acts, or it
 * brakes. */
static void check_push(mjcf *m, const perp__xml_node *node, perp_actuator *a)
{
    a->kp = a->kp_per_control = 0;
    if (a->kv != 0 || a->kv_per_control != 0)
        perp__robot_refuse(m->r, node, NULL, "actuator: of a site, kv = 0 is expected");
    if (a->muscle.force != 0)
        perp__robot_refuse(m->r, node, NULL, "muscle: of a joint or a tendon, not of a site");
}

/* What turns with it, seen through the gear: of the joint's own, or of the tendon's. */
static void add_rotor(mjcf *m, const perp__xml_node *node, const drive *d, const perp_actuator *a)
{
    perp_robot *to = m->r->to;
    double gears = a->gear * a->gear, damping = m->no_damper ? 0 : gears * d->damping;
    if (d->armature < 0 || d->damping < 0)
        perp__robot_refuse(m->r, node, NULL, "actuator: armature and damping are >= 0");
    if ((d->armature != 0 && (a->tendon || a->is_thruster)) || (d->damping != 0 && a->is_thruster))
        perp__robot_refuse(m->r, node, d->armature != 0 ? "armature" : "damping",
                           "actuator: armature is of joints, damping of joints and tendons");
    else if (a->tendon)
        to->tendon[a->tendon - 1].damping += damping;
    else if (!a->is_thruster) {
        to->body[a->body - 1].armature += gears * d->armature;
        to->body[a->body - 1].damping += damping;
    }
}

/* Its force by control, length and rate. */
static void set_force(const drive *d, perp_actuator *a)
{
    if (d->gain_type == GAIN_MUSCLE) {
        const double *x = d->gain;
        a->muscle = (perp_muscle){.range = {x[0], x[1]},
                                  .force = x[2] < 0 ? 1 : x[2], /* else when its inertia is known */
                                  .lmin = x[4],
                                  .lmax = x[5],
                                  .vmax = x[6],
                                  .fpmax = d->bias_type == BIAS_MUSCLE ? x[7] : 0,
                                  .fvmax = x[8],
                                  .length = {d->length[0], d->length[1]}};
        return;
    }
    a->gain = d->gain[0];
    if (d->gain_type == GAIN_AFFINE) {
        a->kp_per_control = -d->gain[1];
        a->kv_per_control = -d->gain[2];
    }
    if (!d->bias_type) return;
    a->bias = d->bias[0];
    a->kp = -d->bias[1];
    a->kv = has_ratio(d) ? 0 : -d->bias[2];
}

static void set_activation(mjcf *m, const perp__xml_node *node, const drive *d, perp_actuator *a)
{
    static const perp_activation kinds[] = {PERP_ACTIVATION_NONE, PERP_ACTIVATION_INTEGRATOR,
                                            PERP_ACTIVATION_FILTER, PERP_ACTIVATION_FILTER,
                                            PERP_ACTIVATION_MUSCLE};
    if (d->dynamic <= DYN_MUSCLE) a->activation = kinds[d->dynamic];
    int is_bounded = is_range(m, node, "actrange", d->act_limited, d->act);
    if (is_bounded && !a->activation)
        perp__robot_refuse(m->r, node, "actrange", "actrange: the actuator has no activation");
    if (!a->activation) return;
    if (a->activation != PERP_ACTIVATION_INTEGRATOR) a->rise = d->dyn[0];
    if (a->activation == PERP_ACTIVATION_MUSCLE) {
        a->fall = d->dyn[1];
        a->smooth = d->dyn[2];
    }
    a->is_early = d->is_early;
    if (is_bounded) a->activation_range = (perp_range){1, d->act[0], d->act[1]};
}

/* What hangs on the inertia that it feels: a part of the critical damping, or a muscle's force. */
static void wait_for_inertia(mjcf *m, const perp__xml_node *node, const drive *d, int index)
{
    int is_muscle = d->gain_type == GAIN_MUSCLE && d->gain[2] < 0;
    if (m->r->to->actuator[index].is_thruster || (!is_muscle && !has_ratio(d))) return;
    mjcf_ratio *ratio = MJCF_ADD(m, ratio);
    if (ratio)
        *ratio = (mjcf_ratio){.actuator = index,
                              .ratio = is_muscle ? d->gain[3] : d->bias[2],
                              .is_muscle = is_muscle,
                              .node = node};
}

void mjcf_read_actuator(mjcf *m, const perp__xml_node *node)
{
    drive d = {.gear = {1},
               .gain = {1},
               .dyn = {1},
               .control_limited = -1,
               .force_limited = -1,
               .act_limited = -1};
    perp_actuator a = {0};
    int before = m->r->nwrong;
    if (!mjcf_is_actuator(node)) {
        mjcf_refuse_actuator(m, node);
        return;
    }
    mjcf_named *own = MJCF_ADD(m, drive);
    if (own) *own = (mjcf_named){perp__xml_get(node, "name"), node};
    mjcf_resolve(m, node, 0, apply_drive, &d);
    refuse_drive(m, node, &d);
    if (!take_target(m, node, &d, &a) || m->no_actuation) return;
    if (a.gear == 0) perp__robot_refuse(m->r, node, "gear", "gear: it is not 0");
    set_force(&d, &a);
    if (a.is_thruster) check_push(m, node, &a);
    add_rotor(m, node, &d, &a);
    if (d.inherit > 0) inherit_range(m, node, &a, &d);
    set_activation(m, node, &d, &a);
    int has_control = is_range(m, node, "ctrlrange", d.control_limited, d.control);
    if (has_control && !m->no_clampctrl)
        a.control_range = (perp_range){1, d.control[0], d.control[1]};
    if (is_range(m, node, "forcerange", d.force_limited, d.force))
        a.force_range = (perp_range){1, d.force[0], d.force[1]};
    const char *fault = m->r->nwrong == before ? perp__drive_fault(&a) : NULL;
    if (fault) perp__robot_refuse(m->r, node, NULL, "actuator: %s", fault);
    int is_off = d.group >= 0 && d.group <= 30 && (m->no_group >> d.group & 1);
    if (is_off) {
        perp__robot_ignore(m->r, node, NULL, "actuator of a disabled group: it has no force");
        a.gain = a.bias = a.kp = a.kv = a.kp_per_control = a.kv_per_control = a.muscle.force = 0;
    }
    int index = perp__add_actuator(m->r, &a, perp__xml_get(node, "name"));
    if (index >= 0 && !is_off) wait_for_inertia(m, node, &d, index);
}

/* Its moments: gear times what its length has of each velocity; or the joint's own. */
static void moments_of(const perp_robot *to, perp_bodies *b, const mjcf_ratio *ratio, double *c)
{
    const perp_actuator *a = ratio->actuator < 0 ? NULL : &to->actuator[ratio->actuator];
    if (a && a->tendon) {
        perp_bodies_tendon_jacobian(b, a->tendon, c);
        for (int k = 0; k < perp_bodies_nv(b); k++) c[k] *= a->gear;
        return;
    }
    c[perp_bodies_v_of(b, a ? a->body : ratio->body)] = a ? a->gear : 1;
}

/* Of inertia m as it is felt: kv = 2 ratio sqrt(kp m); a spring m/(time ratio)^2 beside a damper 2
 * m/time. */
static void set_damping(mjcf *m, const mjcf_ratio *ratio, double mass)
{
    perp_robot *to = m->r->to;
    if (ratio->actuator >= 0) {
        perp_actuator *a = &to->actuator[ratio->actuator];
        a->kv = 2 * ratio->ratio * sqrt(a->kp * mass);
        return;
    }
    double slow = ratio->time * ratio->ratio;
    perp_joint_law *law = &to->law[ratio->body - 1];
    law->stiffness = m->no_spring ? 0 : mass / (slow * slow);
    law->rest = law->stiffness != 0 ? m->springref[ratio->body - 1] : 0;
    to->body[ratio->body - 1].damping = m->no_damper ? 0 : 2 * mass / ratio->time;
}

/* q of hinges and slides from a list, of each link or (there) of each joint. */
static void put_positions(const perp_robot *to, perp_bodies *b, const double *x, double *q)
{
    memcpy(q, perp_bodies_q(b), (size_t)perp_bodies_nq(b) * sizeof *q);
    for (int i = 0; i < to->is.nbody; i++)
        if (to->body[i].joint == PERP_JOINT_HINGE || to->body[i].joint == PERP_JOINT_SLIDE)
            q[perp_bodies_q_of(b, i + 1)] = x[i];
    perp_bodies_set(b, q, NULL);
}

/* Springs of tendons through space rest at the length that they have where the joints' springs
 * rest. */
static void rest_all(mjcf *m, perp_bodies *b, double *q)
{
    perp_robot *to = m->r->to;
    put_positions(to, b, m->springref, q);
    for (int i = 0; i < m->ntendon; i++) {
        int k = m->tendon[i].number - 1;
        if (m->tendon[i].rests_there) to->tendon[k].rest = perp_bodies_tendon_length(b, k + 1);
    }
}

/* Lengths of all tendons at the beginning; 0: memory is out. */
static int couple_all(mjcf *m, perp_bodies *b, double *q)
{
    perp_robot *to = m->r->to;
    double *length;
    PERP_TAKE(&to->arena, length, to->is.ntendon + 1);
    if (!length) return perp__robot_no_memory(m->r);
    put_positions(to, b, to->ref, q);
    for (int i = 0; i < to->is.ntendon; i++) length[i] = perp_bodies_tendon_length(b, i + 1);
    mjcf_place_couples(m, length);
    return 1;
}

/* The effective mass of each in the initial pose: 1/(c' inv(M) c) of its moments c. A muscle's
 * force is its scale over the acceleration inv(M) c. `room`: q, M, and two vectors. */
static void damp_all(mjcf *m, perp_bodies *b, double *room)
{
    const perp_robot *to = m->r->to;
    size_t nv = (size_t)perp_bodies_nv(b), nq = (size_t)perp_bodies_nq(b);
    double *q = room, *M = q + nq, *c = M + nv * nv, *x = c + nv;
    put_positions(to, b, to->ref, q);
    perp_bodies_dynamics(b, M, NULL);
    int ok = perp__cholesky((int)nv, M, (int)nv, 0);
    for (int i = 0; i < m->nratio; i++) {
        double over = 0;
        memset(c, 0, nv * sizeof *c);
        moments_of(to, b, &m->ratio[i], c);
        memcpy(x, c, nv * sizeof *x);
        if (ok) perp__cholesky_solve((int)nv, M, (int)nv, x);
        double whole = 0;
        for (size_t k = 0; k < nv; k++) {
            over += c[k] * x[k];
            whole += x[k] * x[k];
        }
        if (ok && over > 0 && m->ratio[i].is_muscle)
            m->r->to->actuator[m->ratio[i].actuator].muscle.force = m->ratio[i].ratio / sqrt(whole);
        else if (ok && over > 0)
            set_damping(m, &m->ratio[i], 1 / over);
        else
            perp__robot_refuse(m->r, m->ratio[i].node, NULL,
                               "%s: nothing that has mass is moved, which its %s hangs on",
                               m->ratio[i].node->name, m->ratio[i].is_muscle ? "force" : "damping");
    }
}

/* The bodies and tendons alone: an impossible system is refused at its creation. */
static perp_status make_mechanism(const perp_robot *to, perp_bodies **b, perp_diag *diag)
{
    perp_status status =
        perp_bodies_create(to->body, to->is.nbody, NULL, 0, &to->is.options, b, diag);
    for (int i = 0; i < to->is.ntendon && status == PERP_OK; i++)
        status = perp_bodies_add_tendon(*b, &to->tendon[i], diag);
    return status;
}

void mjcf_damp(mjcf *m)
{
    perp_robot *to = m->r->to;
    perp_diag diag = {0};
    perp_bodies *b = NULL;
    int rests = 0, couples = 0;
    for (int i = 0; i < m->ntendon; i++) rests |= m->tendon[i].rests_there;
    for (int i = 0; i < to->is.nequality; i++)
        couples |= to->equality[i].kind == PERP_EQUALITY_TENDON;
    if ((!m->nratio && !rests && !couples) || m->r->status != PERP_OK) return;
    perp_status status = make_mechanism(to, &b, &diag);
    size_t nv = b ? (size_t)perp_bodies_nv(b) : 0, nq = b ? (size_t)perp_bodies_nq(b) : 0;
    double *room = b ? calloc(nq + nv * (nv + 2) + 1, sizeof *room) : NULL;
    if (status == PERP_ERR_MEMORY || (b && !room)) perp__robot_no_memory(m->r);
    if (room && status == PERP_OK && rests) rest_all(m, b, room);
    if (room && status == PERP_OK && couples) couple_all(m, b, room);
    if (room && status == PERP_OK && m->nratio) damp_all(m, b, room);
    free(room);
    perp_bodies_destroy(b);
    perp_diag_clear(&diag);
}

/* The part that a bound of all actuators leaves to the only one. */
static void bound_drive(mjcf *m, const perp__xml_node *node, perp_actuator *only,
                        const double *force)
{
    double x = force[0] / only->gear, y = force[1] / only->gear, low = fmin(x, y),
           high = fmax(x, y);
    perp_range *range = &only->force_range;
    if (range->limited) {
        low = fmax(low, range->lower);
        high = fmin(high, range->upper);
    }
    *range = (perp_range){1, low, high};
    if (!(low < high))
        perp__robot_refuse(m->r, node, "actuatorfrcrange",
                           "actuatorfrcrange: with forcerange nothing is left");
}

static void refuse_several(mjcf *m, const perp__xml_node *node)
{
    perp__robot_refuse(m->r, node, "actuatorfrcrange",
                       "actuatorfrcrange: of a %s with one actuator, here it has several",
                       mjcf_is(node, "joint") ? "joint" : "tendon");
}

static void bound_tendon(mjcf *m, const mjcf_tendon *tendon)
{
    perp_actuator *only = NULL;
    for (int i = 0; i < m->r->to->is.nactuator; i++) {
        perp_actuator *a = &m->r->to->actuator[i];
        if (!a->tendon || a->tendon != tendon->number) continue;
        if (only) {
            refuse_several(m, tendon->node);
            return;
        }
        only = a;
    }
    if (only) bound_drive(m, tendon->node, only, tendon->force);
}

/* Does an actuator's tendon pull a joint? One through space may pull all that its points hang
 * on. */
static int pulls(const perp_robot *to, const perp_actuator *a, int body)
{
    const perp_tendon *t = &to->tendon[a->tendon - 1];
    for (int i = 0; i < t->n; i++)
        if (t->body[i] == body) return 1;
    for (int i = 0; i < t->npath; i++)
        for (int k = t->path[i].kind == PERP_PATH_PULLEY ? 0 : t->path[i].body; k;
             k = to->body[k - 1].parent)
            if (k == body) return 1;
    return 0;
}

/* The bound of all that actuators do to a joint is one of its only actuator. */
static void bound_joint(mjcf *m, const mjcf_joint *joint)
{
    perp_actuator *only = NULL;
    for (int i = 0; i < m->r->to->is.nactuator; i++) {
        perp_actuator *a = &m->r->to->actuator[i];
        if (a->tendon ? !pulls(m->r->to, a, joint->link) : a->body != joint->link) continue;
        if (a->tendon || a->is_thruster) {
            perp__robot_refuse(m->r, joint->node, "actuatorfrcrange",
                               "actuatorfrcrange: of a joint without tendons and sites that push");
            return;
        }
        if (only) {
            refuse_several(m, joint->node);
            return;
        }
        only = a;
    }
    if (only) bound_drive(m, joint->node, only, joint->force);
}

void mjcf_bound_joints(mjcf *m)
{
    for (int i = 0; i < m->njoint; i++)
        if (m->joint[i].force[0] != 0 || m->joint[i].force[1] != 0) bound_joint(m, &m->joint[i]);
    for (int i = 0; i < m->ntendon; i++)
        if (m->tendon[i].force[0] != 0 || m->tendon[i].force[1] != 0)
            bound_tendon(m, &m->tendon[i]);
}
