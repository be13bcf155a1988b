/* A robot file as a part of the language: bodies, joints, laws and contacts as instances of the
 * parts of lib/space.perp, numbers as parameters of the head. A 0 in the file is written as 0, so
 * that it disappears from the equations. */

#include "model/robot.h"
#include "base/arena.h"
#include "base/number.h"
#include "bodies/bodies.h"
#include "bodies/space.h"
#include "base/names.h"
#include "model/syntax.h"
#include "perp/model.h"
#include "robots/robots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 160, STEM = 100 };

/* A tendon: expressions of its length and rate, the sum of what acts along it; units of length and
 * force, of joints none. */
typedef struct cord {
    const char *length, *rate, *pull, *unit, *force;
} cord;

typedef struct writer {
    perp_robot_parts p;
    perp_bodies *b;        /* at the start */
    perp__text head, body; /* of the part */
    perp__names taken;
    perp__arena arena;
    const char **frame,
        **joint; /* what they are called, by body from 0; NULL: fixed ones have no joint */
    cord *cord;  /* of each tendon */
    int on_line; /* parameters of the line of the head */
    const perp_robot *robot;
    const perp__robot_how *how;
    const double *control;     /* of the key; NULL */
    int only_ground, is_apart; /* which contacts */
    int nrefused;
    perp_diag *diag;
    int failed;
} writer;

/* Names ---------------------------------------------------------------------------------------- */

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A name of the file as one of the language, with an ending. */
static void put_name(const char *stem, const char *end, char *name)
{
    size_t n = 0;
    if (stem && !is_letter(stem[0])) name[n++] = '_';
    for (const char *s = stem; s && *s && n < STEM; s++)
        name[n++] = is_letter(*s) || (*s >= '0' && *s <= '9') ? *s : '_';
    snprintf(name + n, NAME_ROOM - n, "%s", end);
}

/* The same, where no other has it: a number follows. */
static const char *new_name(writer *w, const char *stem, const char *end)
{
    char name[NAME_ROOM], number[16];
    put_name(stem, end, name);
    for (int k = 2; perp__is_reserved(name) || perp__names_find(&w->taken, name) >= 0; k++) {
        char both[64];
        snprintf(number, sizeof number, "_%d", k);
        snprintf(both, sizeof both, "%.40s%s", end, number);
        put_name(stem, both, name);
    }
    char *kept = perp__arena_string(&w->arena, name, strlen(name));
    if (!kept || !perp__names_add(&w->taken, kept, 0)) w->failed = 1;
    return kept ? kept : "";
}

void perp__robot_part_name(const char *file, char *name, size_t size)
{
    const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file,
               *point = strrchr(stem, '.');
    char cut[STEM + 1], whole[NAME_ROOM];
    int n = point ? (int)(point - stem) : (int)strlen(stem);
    snprintf(cut, sizeof cut, "%.*s", n, stem);
    put_name(cut[0] ? cut : "robot", "", whole);
    if (perp__is_reserved(whole)) strcat(whole, "_");
    snprintf(name, size, "%s", whole);
}

/* Numbers -------------------------------------------------------------------------------------- */

static const char *number(writer *w, double x)
{
    char text[PERP_NUMBER_SIZE];
    perp_number_write(x == 0 ? 0 : x, text);
    char *kept = perp__arena_string(&w->arena, text, strlen(text));
    if (!kept) w->failed = 1;
    return kept ? kept : "0";
}

/* A parameter of the head, with its value; its name. */
static const char *param(writer *w, const char *stem, const char *end, double x, const char *unit)
{
    const char *name = new_name(w, stem, end);
    perp__text_format(&w->head, "%s%s = %s", w->on_line++ ? ", " : ",\n    ", name, number(w, x));
    if (*unit) perp__text_format(&w->head, " \"%s\"", unit);
    return name;
}

/* The same but of 0, which stays a number. */
static const char *quantity(writer *w, const char *stem, const char *end, double x,
                            const char *unit)
{
    return x == 0 ? "0" : param(w, stem, end, x, unit);
}

/* "[0, 0, upper_z]" */
static const char *list(writer *w, const char *stem, const char *const *end, const double *x, int n,
                        const char *unit)
{
    const double rounding = 1e-15;
    perp__text text = {0};
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    for (int i = 0; i < n; i++) {
        double value = fabs(x[i]) < rounding * most ? 0 : x[i];
        perp__text_format(&text, "%s%s", i ? ", " : "[",
                          end ? quantity(w, stem, end[i], value, unit) : number(w, value));
    }
    perp__text_put(&text, "]");
    char *kept = text.failed ? NULL : perp__arena_string(&w->arena, text.at, text.length);
    if (!kept) w->failed = 1;
    perp__text_clear(&text);
    return kept ? kept : "";
}

static const char *place(writer *w, const char *stem, const double *x)
{
    static const char *const end[] = {"_x", "_y", "_z"};
    return list(w, stem, end, x, 3, "m");
}

/* What is rounding beside 1 is not written. */
static double clean(double x)
{
    const double rounding = 4e-16;
    if (fabs(x) < rounding) return 0;
    if (fabs(fabs(x) - 1) < rounding) return copysign(1, x);
    return x;
}

/* A quaternion as a matrix. */
static const char *turn(writer *w, const double *given)
{
    double q[4], R[9];
    const char *row[3];
    if (!perp__rotation_take(given, q)) w->failed = 1; /* it was checked */
    perp__rotation_of(q, R);
    for (int i = 0; i < 9; i++) R[i] = clean(R[i]);
    if (R[0] == 1 && R[4] == 1 && R[8] == 1) return "level";
    for (int i = 0; i < 3; i++) row[i] = list(w, NULL, NULL, R + 3 * i, 3, "");
    char text[3 * 3 * PERP_NUMBER_SIZE + 32];
    int n = snprintf(text, sizeof text, "[%s, %s, %s]", row[0], row[1], row[2]);
    char *kept = perp__arena_string(&w->arena, text, (size_t)n);
    if (!kept) w->failed = 1;
    return kept ? kept : "level";
}

static const char *axis(writer *w, const double *given)
{
    double size = sqrt(given[0] * given[0] + given[1] * given[1] + given[2] * given[2]), a[3];
    for (int i = 0; i < 3; i++) a[i] = clean(given[i] / size);
    return list(w, NULL, NULL, a, 3, "");
}

/* Bodies and joints ---------------------------------------------------------------------------- */

static int is_single(perp_joint joint)
{
    return joint == PERP_JOINT_HINGE || joint == PERP_JOINT_SLIDE;
}

/* Is the body one of several that a body of the file with several joints is, but not the last? */
static int goes_on(const writer *w, int i)
{
    const char *name = w->p.body[i].name;
    for (int k = i + 1; k < w->p.nbody && name; k++)
        if (w->p.body[k].parent == i + 1 && w->p.body[k].name == name) return 1;
    return 0;
}

/* Joints first: they have the plain names. */
static void call_all(writer *w)
{
    new_name(w, "world", "");
    new_name(w, "g", "");
    for (int i = 0; i < w->p.nbody; i++)
        if (w->p.body[i].joint != PERP_JOINT_FIXED)
            w->joint[i] = new_name(w, w->p.joint[i] ? w->p.joint[i] : w->p.body[i].name,
                                   w->p.joint[i] || w->p.body[i].name ? "" : "joint");
    for (int i = 0; i < w->p.nbody; i++) {
        char name[NAME_ROOM];
        const char *stem = w->p.body[i].name ? w->p.body[i].name : "body";
        put_name(stem, "", name);
        int is_taken = goes_on(w, i) || perp__names_find(&w->taken, name) >= 0;
        w->frame[i] = new_name(w, stem, is_taken ? "_body" : "");
    }
}

static const char *frame_of(const writer *w, int body)
{
    return body ? w->frame[body - 1] : "world";
}

static void put_gravity(writer *w)
{
    const double *a = w->p.options.gravity;
    double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    perp__text_put(&w->body, "    World world(");
    if (size == 0) {
        perp__text_put(&w->body, "[0, 0, 0]");
    } else {
        perp__text_format(&w->head, "%sg = %s \"m/s^2\"", w->on_line++ ? ", " : "    ",
                          number(w, size));
        for (int i = 0; i < 3; i++) {
            double x = a[i] / size;
            perp__text_put(&w->body, i ? ", " : "[");
            if (x == 0)
                perp__text_put(&w->body, "0");
            else if (fabs(x) == 1)
                perp__text_put(&w->body, x < 0 ? "-g" : "g");
            else
                perp__text_format(&w->body, "%s*g", number(w, x));
        }
        perp__text_put(&w->body, "]");
    }
    perp__text_put(&w->body, ")\n");
}

/* Where the states of a joint begin. */
static void put_start(writer *w, int i)
{
    static const char *const free_q[] = {"x", "y", "z", "qw", "qx", "qy", "qz"}, *const free_v[] = {
                                                                                     "vx", "vy",
                                                                                     "vz", "wx",
                                                                                     "wy", "wz"};
    const perp_body *is = &w->p.body[i];
    const double *q = perp_bodies_q(w->b) + perp_bodies_q_of(w->b, i + 1),
                 *v = perp_bodies_v(w->b) + perp_bodies_v_of(w->b, i + 1);
    if (is_single(is->joint)) {
        int turns = is->joint == PERP_JOINT_HINGE;
        const char *begin = param(w, w->joint[i], "_q", q[0], turns ? "rad" : "m"),
                   *rate = param(w, w->joint[i], "_v", v[0], turns ? "rad/s" : "m/s");
        perp__text_format(&w->body, ", q = %s, v = %s", begin, rate);
        return;
    }
    int first = is->joint == PERP_JOINT_BALL ? 3 : 0;
    for (int k = first; k < 7; k++) {
        char end[8];
        snprintf(end, sizeof end, "_%s", free_q[k]);
        perp__text_format(&w->body, "%s%s = %s", k ? ", " : "", free_q[k],
                          param(w, w->joint[i], end, q[k - first], k < 3 ? "m" : ""));
    }
    for (int k = first; k < 6; k++) {
        char end[8];
        snprintf(end, sizeof end, "_%s", free_v[k]);
        perp__text_format(&w->body, ", %s = %s", free_v[k],
                          param(w, w->joint[i], end, v[k - first], k < 3 ? "m/s" : "rad/s"));
    }
}

static void put_mass(writer *w, int i)
{
    static const char *const inertia[] = {"_Ixx", "_Iyy", "_Izz", "_Ixy", "_Ixz", "_Iyz"};
    static const char *const center[] = {"_cx", "_cy", "_cz"};
    const perp_body *is = &w->p.body[i];
    int is_nothing = is->mass == 0;
    const char *stem = is->name ? is->name : w->frame[i];
    for (int k = 0; k < 6; k++) is_nothing &= is->inertia[k] == 0;
    if (is_nothing) return;
    const char *m = quantity(w, stem, "_m", is->mass, "kg"),
               *c = list(w, stem, center, is->center, 3, "m"),
               *I = list(w, stem, inertia, is->inertia, 6, "kg m^2");
    perp__text_format(&w->body, "    Mass %s(%s, %s, %s, %s)\n", new_name(w, stem, "_mass"),
                      w->frame[i], m, c, I);
}

static void put_body(writer *w, int i)
{
    static const char *const word[] = {"Fixed", "Hinge", "Slide", "Ball", "Free"};
    const perp_body *is = &w->p.body[i];
    const char *joint = w->joint[i];
    w->on_line = 0;
    if (!joint) joint = new_name(w, w->frame[i], "_fixed");
    perp__text_format(&w->body, "    %s %s(", word[is->joint], joint);
    int is_free = is->joint == PERP_JOINT_FREE;
    if (!is_free)
        perp__text_format(&w->body, "%s, %s",
                          place(w, is->name ? is->name : w->frame[i], is->position),
                          turn(w, is->rotation));
    if (is_single(is->joint)) perp__text_format(&w->body, ", %s", axis(w, is->axis));
    if (is->joint != PERP_JOINT_FIXED) put_start(w, i);
    perp__text_format(&w->body, ")\n    Frame %s(%s, %s)\n", w->frame[i], frame_of(w, is->parent),
                      joint);
    put_mass(w, i);
}

/* Laws of joints ------------------------------------------------------------------------------- */

/* Of the kth velocity of a joint: what it is called, and the force along it. */
typedef struct motion {
    char v[NAME_ROOM], tau[NAME_ROOM], end[8];
    int turns;
} motion;

static motion motion_of(const writer *w, int i, int k)
{
    static const char *const rate[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
    perp_joint joint = w->p.body[i].joint;
    motion m = {.turns = joint != PERP_JOINT_SLIDE && !(joint == PERP_JOINT_FREE && k < 3)};
    if (is_single(joint)) {
        snprintf(m.v, sizeof m.v, "%s.v", w->joint[i]);
        snprintf(m.tau, sizeof m.tau, "%s.tau", w->joint[i]);
        return m;
    }
    const char *name = rate[joint == PERP_JOINT_BALL ? k + 3 : k];
    snprintf(m.v, sizeof m.v, "%s.%s", w->joint[i], name);
    snprintf(m.tau, sizeof m.tau, "%s.tau[%d]", w->joint[i], k + 1);
    snprintf(m.end, sizeof m.end, "_%s", name);
    return m;
}

static void put_dry(writer *w, int i, const char *most, const motion *m)
{
    char end[32];
    snprintf(end, sizeof end, "%s_dry", m->end);
    const char *dry = new_name(w, w->joint[i], end);
    perp__text_format(&w->body, "    var %s \"%s\"\n    -%s <= %s <= %s perp %s\n    %s += %s\n",
                      dry, m->turns ? "N m" : "N", most, dry, most, m->v, m->tau, dry);
}

static void put_stop(writer *w, int i, int is_upper, double limit)
{
    const char *joint = w->joint[i];
    int turns = w->p.body[i].joint == PERP_JOINT_HINGE;
    if (!isfinite(limit)) return;
    const char *at = param(w, joint, is_upper ? "_upper" : "_lower", limit, turns ? "rad" : "m"),
               *f = new_name(w, joint, is_upper ? "_upper_stop" : "_lower_stop");
    perp__text_format(&w->body, "    var %s \"%s\"\n", f, turns ? "N m" : "N");
    if (is_upper)
        perp__text_format(&w->body, "    0 <= %s perp %s - %s.q >= 0\n    %s.tau += -%s\n", f, at,
                          joint, joint, f);
    else
        perp__text_format(&w->body, "    0 <= %s perp %s.q - %s >= 0\n    %s.tau += %s\n", f, joint,
                          at, joint, f);
}

/* Units of damping, armature and friction: of a slide, a rotation, a free joint (both mixed). */
static const char *const joint_units[3][3] = {
    {"N s/m", "kg", "N"}, {"N m s", "kg m^2", "N m"}, {"", "", ""}};

static void put_law(writer *w, int i)
{
    const perp_body *is = &w->p.body[i];
    const perp_joint_law *law = &w->p.law[i];
    const char *joint = w->joint[i];
    int nv = 1;
    if (is->joint == PERP_JOINT_FREE)
        nv = 6;
    else if (is->joint == PERP_JOINT_BALL)
        nv = 3;
    int is_slide = is->joint == PERP_JOINT_SLIDE;
    if (!joint) return;
    w->on_line = 0;
    const char *const *unit = joint_units[is->joint == PERP_JOINT_FREE ? 2 : !is_slide];
    const char *damping = quantity(w, joint, "_damping", is->damping, unit[0]),
               *armature = quantity(w, joint, "_armature", is->armature, unit[1]),
               *dry = quantity(w, joint, "_friction", law->friction, unit[2]);
    for (int k = 0; k < nv; k++) {
        motion m = motion_of(w, i, k);
        if (is->damping != 0)
            perp__text_format(&w->body, "    %s += -%s*%s\n", m.tau, damping, m.v);
        if (is->armature != 0)
            perp__text_format(&w->body, "    %s += -%s*der(%s)\n", m.tau, armature, m.v);
        if (law->friction != 0) put_dry(w, i, dry, &m);
    }
    if (law->stiffness != 0) {
        const char *k = param(w, joint, "_stiffness", law->stiffness, is_slide ? "N/m" : "N m/rad"),
                   *rest = quantity(w, joint, "_rest", law->rest, is_slide ? "m" : "rad");
        perp__text_format(&w->body, "    %s.tau += -%s*(%s.q - %s)\n", joint, k, joint, rest);
    }
    if (!law->range.limited) return;
    put_stop(w, i, 0, law->range.lower);
    put_stop(w, i, 1, law->range.upper);
}

/* What has no equations ------------------------------------------------------------------------ */

/* Of a path through space. */
static const char *reason_no_way(const perp_tendon *t)
{
    for (int i = 0; i < t->npath; i++) {
        const perp_path_point *o = &t->path[i];
        double from[3];
        if (o->kind == PERP_PATH_SITE || o->kind == PERP_PATH_PULLEY || !o->has_side) continue;
        if (o->side_body != o->body)
            return "a tendon whose side is on another body than what it goes around";
        perp__move3(o->side, -1, o->position, from);
        if (perp__length3(from) < o->radius)
            return "a tendon that runs through a ring (its side is within)";
    }
    return NULL;
}

/* Forces that a part of the language does not state. */
static const char *reason_not_stated(const perp_robot_parts *p)
{
    if (p->options.density > 0 || p->options.viscosity > 0) return "the drag of a fluid";
    for (int i = 0; i < p->nbody; i++)
        if (p->body[i].gravity_compensation != 0) return "weight that is taken off (gravcomp)";
    for (int i = 0; i < p->nactuator; i++) {
        const perp_actuator *a = &p->actuator[i];
        if (a->is_thruster) return "an actuator of a site";
        if (a->muscle.force != 0 || a->activation == PERP_ACTIVATION_MUSCLE) return "a muscle";
        if (a->activation == PERP_ACTIVATION_FILTER && a->rise == 0)
            return "a filter without a time constant";
    }
    for (int i = 0; i < p->nbody; i++)
        if (p->body[i].joint == PERP_JOINT_BALL && p->law[i].range.limited) return "a ball's limit";
    const char *why = NULL;
    for (int i = 0; i < p->ntendon && !why; i++) why = reason_no_way(&p->tendon[i]);
    return why;
}

/* Tendons -------------------------------------------------------------------------------------- */

/* A sum of joints. */
static void put_sum(writer *w, const perp_tendon *t, cord *is, const char *stem)
{
    is->length = new_name(w, stem, "_length");
    is->rate = new_name(w, stem, "_rate");
    is->pull = new_name(w, stem, "_pull");
    perp__text_format(&w->body, "    sum %s\n", is->pull);
    for (int in_v = 0; in_v < 2; in_v++) {
        perp__text_format(&w->body, "    let %s = ", in_v ? is->rate : is->length);
        for (int i = 0; i < t->n; i++)
            perp__text_format(&w->body, "%s%s*%s.%s", i ? " + " : "", number(w, t->coefficient[i]),
                              w->joint[t->body[i] - 1], in_v ? "v" : "q");
        perp__text_put(&w->body, "\n");
    }
    for (int i = 0; i < t->n; i++)
        perp__text_format(&w->body, "    %s.tau += %s*%s\n", w->joint[t->body[i] - 1],
                          number(w, t->coefficient[i]), is->pull);
}

/* From one site to the next, around what is between (nullable). */
static void put_way(writer *w, const char *tendon, const perp_path_point *a,
                    const perp_path_point *o, const perp_path_point *b, double divisor)
{
    static const char *const word[2][2] = {{"AroundBall", "AroundPin"},
                                           {"BesideBall", "BesidePin"}};
    static const char *const end[4][3] = {
        {"_ax", "_ay", "_az"}, {"_bx", "_by", "_bz"}, {"_ox", "_oy", "_oz"}, {"_sx", "_sy", "_sz"}};
    const char *name = new_name(w, tendon, "_way"), *kind = "Straight";
    int is_pin = o && o->kind == PERP_PATH_CYLINDER;
    w->on_line = 0;
    if (o) kind = word[o->has_side != 0][is_pin];
    perp__text_format(&w->body, "    %s %s(%s, %s, %s, ", kind, name, tendon, frame_of(w, a->body),
                      frame_of(w, b->body));
    if (o) perp__text_format(&w->body, "%s, ", frame_of(w, o->body));
    perp__text_format(&w->body, "%s, %s", list(w, name, end[0], a->position, 3, "m"),
                      list(w, name, end[1], b->position, 3, "m"));
    if (o) perp__text_format(&w->body, ", %s", list(w, name, end[2], o->position, 3, "m"));
    if (is_pin) {
        double q[4], R[9];
        if (!perp__rotation_take(o->rotation, q)) w->failed = 1; /* it was checked */
        perp__rotation_of(q, R);
        perp__text_format(&w->body, ", %s", axis(w, (double[]){R[2], R[5], R[8]}));
    }
    if (o && o->has_side)
        perp__text_format(&w->body, ", %s", list(w, name, end[3], o->side, 3, "m"));
    if (o) perp__text_format(&w->body, ", %s", param(w, name, "_r", o->radius, "m"));
    if (divisor != 1) perp__text_format(&w->body, ", divisor = %s", number(w, divisor));
    perp__text_put(&w->body, ")\n");
}

static void put_path(writer *w, const perp_tendon *t, cord *is, const char *stem)
{
    const char *name = new_name(w, stem, "");
    const char **of[3] = {&is->length, &is->rate, &is->pull};
    static const char *const what[3] = {"length", "rate", "pull"};
    double divisor = 1;
    for (int k = 0; k < 3; k++) {
        char text[NAME_ROOM + 16];
        int n = snprintf(text, sizeof text, "%s.%s", name, what[k]);
        *of[k] = perp__arena_string(&w->arena, text, (size_t)n);
        if (!*of[k]) {
            w->failed = 1;
            *of[k] = "";
        }
    }
    perp__text_format(&w->body, "    Tendon %s\n", name);
    for (int i = 0; i + 1 < t->npath; i++) {
        const perp_path_point *here = &t->path[i], *next = here + 1;
        if (here->kind == PERP_PATH_PULLEY) divisor = here->divisor;
        if (here->kind != PERP_PATH_SITE || next->kind == PERP_PATH_PULLEY) continue;
        int is_site = next->kind == PERP_PATH_SITE;
        put_way(w, name, here, is_site ? NULL : next, is_site ? next : next + 1, divisor);
    }
}

/* A limit, as of a joint. */
static void put_cord_stop(writer *w, const cord *is, const char *stem, int is_upper, double limit)
{
    if (!isfinite(limit)) return;
    const char *at = param(w, stem, is_upper ? "_upper" : "_lower", limit, is->unit),
               *f = new_name(w, stem, is_upper ? "_upper_stop" : "_lower_stop");
    perp__text_format(&w->body, "    var %s%s\n    0 <= %s perp ", f, is->force, f);
    perp__text_format(&w->body, "%s - %s >= 0\n    %s += %s%s\n", is_upper ? at : is->length,
                      is_upper ? is->length : at, is->pull, is_upper ? "-" : "", f);
}

static void put_spring(writer *w, const perp_tendon *t, const cord *is, const char *stem)
{
    const char *k = param(w, stem, "_stiffness", t->stiffness, *is->unit ? "N/m" : ""),
               *rest = quantity(w, stem, "_rest", t->rest, is->unit);
    if (t->slack == 0) {
        perp__text_format(&w->body, "    %s += -%s*(%s - %s)\n", is->pull, k, is->length, rest);
        return;
    }
    const char *slack = param(w, stem, "_slack", t->slack, is->unit);
    perp__text_format(&w->body, "    %s += -%s*(max(0, %s - %s - %s) + min(0, %s - %s))\n",
                      is->pull, k, is->length, rest, slack, is->length, rest);
}

static void put_tendon(writer *w, int i)
{
    const perp_tendon *t = &w->p.tendon[i];
    const char *given = w->robot->tendon_name[i], *stem = given && *given ? given : "tendon";
    cord *is = &w->cord[i];
    w->on_line = 0;
    *is = (cord){.unit = t->npath ? "m" : "", .force = t->npath ? " \"N\"" : ""};
    if (t->npath)
        put_path(w, t, is, stem);
    else
        put_sum(w, t, is, stem);
    w->on_line = 0;
    if (t->damping != 0)
        perp__text_format(&w->body, "    %s += -%s*%s\n", is->pull,
                          param(w, stem, "_damping", t->damping, t->npath ? "N s/m" : ""),
                          is->rate);
    if (t->stiffness != 0) put_spring(w, t, is, stem);
    if (t->friction != 0) {
        const char *most = param(w, stem, "_friction", t->friction, t->npath ? "N" : ""),
                   *dry = new_name(w, stem, "_dry");
        perp__text_format(&w->body, "    var %s%s\n    -%s <= %s <= %s perp %s\n    %s += %s\n",
                          dry, is->force, most, dry, most, is->rate, is->pull, dry);
    }
    if (!t->range.limited) return;
    put_cord_stop(w, is, stem, 0, t->range.lower);
    put_cord_stop(w, is, stem, 1, t->range.upper);
}

/* Actuators ------------------------------------------------------------------------------------ */

/* "arm.q", or of a tendon "flexor.length"; in_v: its rate. */
static void put_length(writer *w, const perp_actuator *a, int in_v, perp__text *text)
{
    const cord *is = a->tendon ? &w->cord[a->tendon - 1] : NULL;
    if (is)
        perp__text_put(text, in_v ? is->rate : is->length);
    else
        perp__text_format(text, "%s.%s", w->joint[a->body - 1], in_v ? "v" : "q");
}

/* "push_gain*push_u + push_bias - push_kp*arm.q": what it would push with, without bounds; its gear
 * is g. */
static void put_wanted(writer *w, const perp_actuator *a, const char *stem, const char *u,
                       const char *gear, perp__text *text)
{
    const char *times = a->gear == 1 ? "" : "*";
    if (a->gear == 1) gear = "";
    if (a->gain == 1)
        perp__text_put(text, u);
    else
        perp__text_format(text, "%s*%s", quantity(w, stem, "_gain", a->gain, ""), u);
    if (a->bias != 0) perp__text_format(text, " + %s", param(w, stem, "_bias", a->bias, ""));
    for (int k = 0; k < 2; k++) {
        double fixed = k ? a->kv : a->kp, more = k ? a->kv_per_control : a->kp_per_control;
        if (fixed == 0 && more == 0) continue;
        const char *gain = quantity(w, stem, k ? "_kv" : "_kp", fixed, "");
        if (more == 0)
            perp__text_format(text, " - %s%s%s*", gain, times, gear);
        else
            perp__text_format(text, " - (%s + %s*%s)%s%s*", gain,
                              param(w, stem, k ? "_more_kv" : "_more_kp", more, ""), u, times,
                              gear);
        put_length(w, a, k, text);
    }
}

/* The activation as a state, which stays in its bounds as what pushes it back is complementary to
 * its distance from them; what it is called. */
static const char *put_activation(writer *w, int i, const char *stem, const char *u)
{
    const perp_actuator *a = &w->p.actuator[i];
    const char *act = new_name(w, stem, "_act"),
               *start = param(w, stem, "_act_start", perp_bodies_activation(w->b)[i], "");
    int is_bounded = a->activation_range.limited;
    perp__text_format(&w->body, "    state %s = %s\n    der(%s) = ", act, start, act);
    if (a->activation == PERP_ACTIVATION_INTEGRATOR)
        perp__text_put(&w->body, u);
    else
        perp__text_format(&w->body, "(%s - %s)/%s", u, act, param(w, stem, "_rise", a->rise, "s"));
    if (!is_bounded) {
        perp__text_put(&w->body, "\n");
        return act;
    }
    const char *least = param(w, stem, "_act_least", a->activation_range.lower, ""),
               *most = param(w, stem, "_act_most", a->activation_range.upper, ""),
               *up = new_name(w, stem, "_act_up"), *down = new_name(w, stem, "_act_down");
    perp__text_format(&w->body,
                      " + %s - %s\n    var %s, %s\n    0 <= %s perp %s - %s >= 0\n"
                      "    0 <= %s perp %s - %s >= 0\n",
                      up, down, up, down, up, act, least, down, most, act);
    return act;
}

/* The force f on what it pulls. */
static void put_pull(writer *w, const perp_actuator *a, const char *gear, const char *f)
{
    if (a->tendon)
        perp__text_format(&w->body, "    %s += ", w->cord[a->tendon - 1].pull);
    else
        perp__text_format(&w->body, "    %s.tau += ", w->joint[a->body - 1]);
    if (a->gear != 1) perp__text_format(&w->body, "%s*", gear);
    perp__text_format(&w->body, "%s\n", f);
}

static void put_actuator(writer *w, int i)
{
    const perp_actuator *a = &w->p.actuator[i];
    const char *joint = a->tendon ? "tendon" : w->joint[a->body - 1],
               *stem =
                   w->p.actuator_name[i] && *w->p.actuator_name[i] ? w->p.actuator_name[i] : joint;
    int has_range = a->control_range.limited, is_bounded = a->force_range.limited;
    perp__text wanted = {0};
    w->on_line = 0;
    const char *u = new_name(w, stem, "_u"), *f = new_name(w, stem, "_f"),
               *gear = a->gear == 1 ? "1" : param(w, stem, "_gear", a->gear, "");
    perp__text_format(&w->body, "    input %s", u);
    if (w->control) perp__text_format(&w->body, " = %s", number(w, w->control[i]));
    if (has_range) {
        const char *least = param(w, stem, "_u_least", a->control_range.lower, ""),
                   *most = param(w, stem, "_u_most", a->control_range.upper, "");
        perp__text_format(&w->body, " in [%s, %s]", least, most);
    }
    perp__text_put(&w->body, "\n");
    if (a->activation) u = put_activation(w, i, stem, u);
    put_wanted(w, a, stem, u, gear, &wanted);
    if (wanted.failed) w->failed = 1;
    const char *text = wanted.at ? wanted.at : "0";
    if (is_bounded) {
        const char *least = param(w, stem, "_least", a->force_range.lower, ""),
                   *most = param(w, stem, "_most", a->force_range.upper, "");
        if (a->kp != 0 || a->kv != 0 || a->kp_per_control != 0 || a->kv_per_control != 0)
            perp__text_format(&w->body, "    var %s\n    %s <= %s <= %s perp %s - (%s)\n", f, least,
                              f, most, f, text);
        else
            perp__text_format(&w->body, "    let %s = max(%s, min(%s, %s))\n", f, least, most,
                              text);
    } else {
        perp__text_format(&w->body, "    let %s = %s\n", f, text);
    }
    put_pull(w, a, gear, f);
    perp__text_clear(&wanted);
}

/* Equalities ----------------------------------------------------------------------------------- */

/* Of joints "arm.q" and "arm.tau", of tendons lengths and pulls. There may be no second. */
static void put_coupling(writer *w, const perp_equality *e, const char *stem)
{
    char joint[2][2][NAME_ROOM + 8];
    const char *x[2] = {NULL, NULL}, *tau[2] = {NULL, NULL}, *f = new_name(w, stem, "_f"), *c[5];
    for (int k = 0; k < 2 && e->body[k]; k++) {
        const char *name = e->kind == PERP_EQUALITY_JOINT ? w->joint[e->body[k] - 1] : NULL;
        if (name) {
            snprintf(joint[k][0], sizeof joint[k][0], "%s.q", name);
            snprintf(joint[k][1], sizeof joint[k][1], "%s.tau", name);
        }
        x[k] = name ? joint[k][0] : w->cord[e->body[k] - 1].length;
        tau[k] = name ? joint[k][1] : w->cord[e->body[k] - 1].pull;
    }
    for (int k = 0; k < 5; k++) {
        char end[8];
        snprintf(end, sizeof end, "_c%d", k);
        c[k] = x[1] || k == 0 ? quantity(w, stem, end, e->polynomial[k], "") : "0";
    }
    perp__text_format(&w->body, "    var %s\n    %s = %s", f, x[0], c[0]);
    for (int k = 1; k < 5 && x[1]; k++)
        if (e->polynomial[k] != 0) perp__text_format(&w->body, " + %s*%s^%d", c[k], x[1], k);
    perp__text_format(&w->body, "\n    %s += %s\n", tau[0], f);
    if (!x[1]) return;
    perp__text_format(&w->body, "    %s += -%s*(0", tau[1], f);
    for (int k = 1; k < 5; k++)
        if (e->polynomial[k] != 0)
            perp__text_format(&w->body, " + %d*%s*%s^%d", k, c[k], x[1], k - 1);
    perp__text_put(&w->body, ")\n");
}

static void put_equality(writer *w, int i)
{
    static const char *const word[] = {"Connect", "Weld", "Coupling"};
    const perp_equality *e = &w->p.equality[i];
    char stem[32];
    snprintf(stem, sizeof stem, "loop%d", i + 1);
    w->on_line = 0;
    if (e->kind == PERP_EQUALITY_JOINT || e->kind == PERP_EQUALITY_TENDON) {
        put_coupling(w, e, stem);
        return;
    }
    static const char *const end[2][3] = {{"_ax", "_ay", "_az"}, {"_bx", "_by", "_bz"}};
    const char *a = list(w, stem, end[0], e->point[0], 3, "m"),
               *b = list(w, stem, end[1], e->point[1], 3, "m");
    perp__text_format(&w->body, "    %s %s(%s, %s, %s, %s", word[e->kind], new_name(w, stem, ""),
                      frame_of(w, e->body[0]), frame_of(w, e->body[1]), a, b);
    if (e->kind == PERP_EQUALITY_WELD) perp__text_format(&w->body, ", %s", turn(w, e->rotation));
    perp__text_put(&w->body, ")\n");
}

/* Contacts ------------------------------------------------------------------------------------- */

/* Centres of the balls that a shape is where a plane is near: a ball, the ends of a capsule, the
 * corners of a box. How many; 0: it is none of these. In the frame of its body. */
static int balls_of(const perp_shape *s, double (*c)[3])
{
    int n = 0;
    if (s->kind == PERP_SHAPE_SPHERE)
        n = 1;
    else if (s->kind == PERP_SHAPE_CAPSULE)
        n = 2;
    else if (s->kind == PERP_SHAPE_BOX)
        n = 8;
    double q[4], R[9];
    if (!perp__rotation_take(s->rotation, q)) return 0;
    perp__rotation_of(q, R);
    for (int k = 0; k < n; k++) {
        double local[3] = {0};
        if (n == 2) local[2] = k ? -s->size[1] : s->size[1];
        for (int i = 0; i < 3 && n == 8; i++) local[i] = k >> i & 1 ? -s->size[i] : s->size[i];
        perp__rotate3(R, local, c[k]);
        for (int i = 0; i < 3; i++) c[k][i] += s->position[i];
    }
    return n;
}

static const char *shape_stem(const writer *w, int shape)
{
    const char *name = w->p.shape_name[shape];
    int body = w->p.shape[shape].body;
    if (name && *name) return name;
    if (body && w->p.body[body - 1].name) return w->p.body[body - 1].name;
    if (body) return "shape";
    return "ground";
}

/* The coefficients of two shapes: names of parameters, or "0". */
typedef struct rubs {
    const char *slides, *spins, *rolls;
} rubs;

static rubs rubs_of(writer *w, const char *stem, int i, int j)
{
    double mu[3];
    perp__bodies_friction(w->b, i, j, mu);
    return (rubs){quantity(w, stem, "_mu", mu[0], ""), quantity(w, stem, "_spin", mu[1], "m"),
                  quantity(w, stem, "_roll", mu[2], "m")};
}

static void put_rub(writer *w, const char *touch, const rubs *mu)
{
    if (strcmp(mu->slides, "0") != 0)
        perp__text_format(&w->body, "    SlidingFriction %s(%s.contact, %s.t1, %s.t2, %s)\n",
                          new_name(w, touch, "_friction"), touch, touch, touch, mu->slides);
    if (strcmp(mu->spins, "0") != 0)
        perp__text_format(&w->body, "    TorsionalFriction %s(%s.contact, %s)\n",
                          new_name(w, touch, "_torsion"), touch, mu->spins);
    if (strcmp(mu->rolls, "0") != 0)
        perp__text_format(&w->body, "    RollingFriction %s(%s.contact, %s.t1, %s.t2, %s)\n",
                          new_name(w, touch, "_rolling"), touch, touch, touch, mu->rolls);
}

static void put_plane(writer *w, int plane, int shape, const char *stem)
{
    static const char *const end[2][3] = {{"_px", "_py", "_pz"}, {"_x", "_y", "_z"}};
    const perp_shape *p = &w->p.shape[plane], *s = &w->p.shape[shape];
    double c[8][3];
    int n = balls_of(s, c);
    const char *at = list(w, stem, end[0], p->position, 3, "m"), *axes = turn(w, p->rotation),
               *r = s->kind == PERP_SHAPE_BOX ? "0" : param(w, stem, "_r", s->size[0], "m");
    const rubs mu = rubs_of(w, stem, plane, shape);
    for (int k = 0; k < n; k++) {
        char number[16] = "";
        if (n > 1) snprintf(number, sizeof number, "%d", k + 1);
        const char *name = new_name(w, stem, number), *place = list(w, name, end[1], c[k], 3, "m");
        perp__text_format(&w->body, "    BallPlane %s(world, %s, %s, %s, %s, %s)\n", name,
                          frame_of(w, s->body), at, axes, place, r);
        put_rub(w, name, &mu);
    }
}

static void put_balls(writer *w, int i, int j, const char *stem)
{
    static const char *const end[2][3] = {{"_ax", "_ay", "_az"}, {"_bx", "_by", "_bz"}};
    const perp_shape *a = &w->p.shape[i], *b = &w->p.shape[j];
    const char *ca = list(w, stem, end[0], a->position, 3, "m"),
               *cb = list(w, stem, end[1], b->position, 3, "m"),
               *ra = param(w, stem, "_ra", a->size[0], "m"),
               *rb = param(w, stem, "_rb", b->size[0], "m"), *name = new_name(w, stem, "");
    const rubs mu = rubs_of(w, stem, i, j);
    perp__text_format(&w->body, "    BallBall %s(%s, %s, %s, %s, %s, %s)\n", name,
                      frame_of(w, a->body), frame_of(w, b->body), ca, cb, ra, rb);
    put_rub(w, name, &mu);
}

/* A pair that has no equations. */
static void refuse_touch(writer *w, int first, int second)
{
    enum { SHOWN = 3 };
    if (w->nrefused++ >= SHOWN) return;
    perp__refuse(w->diag, PERP_ERR_MODEL, w->robot->shape_place[first],
                 "'%.60s' (%s) may meet '%.60s' (%s), which has no equations: balls, capsules and "
                 "boxes on planes have, and balls on balls\n",
                 shape_stem(w, first), perp_shape_name(w->p.shape[first].kind),
                 shape_stem(w, second), perp_shape_name(w->p.shape[second].kind));
}

static void leave_out(writer *w, int first, int second)
{
    char text[300];
    const perp__place at = w->robot->shape_place[first];
    perp__format(text, sizeof text, "contact of %s and %s, of %.60s and %.60s: it has no equations",
                 perp_shape_name(w->p.shape[first].kind), perp_shape_name(w->p.shape[second].kind),
                 shape_stem(w, first), shape_stem(w, second));
    perp_robot_ignored note = {at.file, at.line, at.column, text, 1};
    if (w->how->ignore) w->how->ignore(w->how->context, &note);
}

/* A pair that may collide: stated, or reported as impossible. */
static void put_touch(writer *w, int i, int j)
{
    perp_shape_kind a = w->p.shape[i].kind, b = w->p.shape[j].kind;
    int has_plane = a == PERP_SHAPE_PLANE || b == PERP_SHAPE_PLANE,
        other = a == PERP_SHAPE_PLANE ? j : i;
    double c[8][3];
    char stem[2 * STEM + 8];
    if (w->only_ground && !has_plane) return;
    int first = has_plane ? other : i, second = i + j - first;
    snprintf(stem, sizeof stem, "%.*s_%.*s", STEM / 2 - 1, shape_stem(w, first), STEM / 2 - 1,
             shape_stem(w, second));
    w->on_line = 0;
    if (has_plane && balls_of(&w->p.shape[other], c)) {
        put_plane(w, second, first, stem);
    } else if (a == PERP_SHAPE_SPHERE && b == PERP_SHAPE_SPHERE) {
        put_balls(w, i, j, stem);
    } else if (w->only_ground) {
        leave_out(w, first, second);
    } else {
        refuse_touch(w, first, second);
    }
}

static void put_touches(writer *w)
{
    for (int i = 0; i < w->p.nshape; i++)
        for (int j = i + 1; j < w->p.nshape; j++)
            if (perp__bodies_may_touch(w->b, i, j)) put_touch(w, i, j);
}

/* The whole ------------------------------------------------------------------------------------ */

static void put_all(writer *w)
{
    call_all(w);
    put_gravity(w);
    for (int i = 0; i < w->p.nbody; i++) put_body(w, i);
    for (int i = 0; i < w->p.nbody; i++) put_law(w, i);
    for (int i = 0; i < w->p.ntendon; i++) put_tendon(w, i);
    for (int i = 0; i < w->p.nactuator; i++) put_actuator(w, i);
    for (int i = 0; i < w->p.nequality; i++) put_equality(w, i);
    if (!w->is_apart) put_touches(w);
}

static perp_status join(writer *w, const char *file, const char *part, perp__text *text,
                        perp_diag *diag)
{
    const char *head = w->head.at ? w->head.at : "";
    perp__text_format(text, "# %s\nuse \"space\"\n\npart %s", file, part);
    if (*head) perp__text_format(text, "(\n%s)", head[0] == ',' ? head + 2 : head);
    perp__text_format(text, " {\n%s}\n", w->body.at ? w->body.at : "");
    if (!w->failed && !w->head.failed && !w->body.failed && !text->failed && !w->arena.failed)
        return PERP_OK;
    return perp__out_of_memory(diag, file);
}

static int find_key(const perp_robot *robot, const char *name)
{
    int k = 0;
    while (k < perp_robot_keys(robot) && strcmp(perp_robot_key(robot, k), name) != 0) k++;
    return k < perp_robot_keys(robot) ? k : -1;
}

static perp_status start(writer *w, const perp_robot *robot, const char *file, const char *key,
                         perp_diag *diag)
{
    perp_status status = perp_robot_create_bodies(robot, NULL, &w->b, diag);
    if (status != PERP_OK || !key) return status;
    int k = find_key(robot, key);
    w->control = perp_robot_key_control(robot, k);
    if (k >= 0) return perp_robot_set_key(robot, k, w->b);
    perp__refuse(diag, PERP_ERR_MODEL, perp__in(file), "it has no keyframe '%s'%s", key,
                 perp_robot_keys(robot) ? "; there are:" : "");
    for (k = 0; k < perp_robot_keys(robot); k++)
        perp__diag_append(diag, " %s", perp_robot_key(robot, k));
    perp__diag_append(diag, "\n");
    return PERP_ERR_MODEL;
}

static int read_touch(writer *w, const char *file, const char *touch)
{
    w->only_ground = strcmp(touch, "ground") == 0;
    w->is_apart = strcmp(touch, "none") == 0;
    if (w->only_ground || w->is_apart || strcmp(touch, "all") == 0) return 1;
    perp__refuse(w->diag, PERP_ERR_MODEL, perp__in(file),
                 "contacts = \"%.40s\": expected all, ground or none\n", touch);
    return 0;
}

perp_status perp__robot_text(const perp_robot *robot, const char *file, const char *part,
                             const perp__robot_how *how, perp__text *text, perp_diag *diag)
{
    writer w = {.p = *perp_robot_get_parts(robot), .robot = robot, .how = how, .diag = diag};
    const char *why = reason_not_stated(&w.p);
    if (why)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(file),
                            "%s has no equations here; perp simulate steps the file itself\n", why);
    if (how->contacts && !read_touch(&w, file, how->contacts)) return PERP_ERR_MODEL;
    PERP_TAKE(&w.arena, w.frame, w.p.nbody + 1);
    PERP_TAKE(&w.arena, w.joint, w.p.nbody + 1);
    PERP_TAKE(&w.arena, w.cord, w.p.ntendon + 1);
    perp_status status = start(&w, robot, file, how->key, diag);
    if (status == PERP_OK && w.frame && w.joint && w.cord) put_all(&w);
    if (status == PERP_OK && w.nrefused) {
        perp__refuse(
            diag, PERP_ERR_MODEL, perp__in(file),
            "%d pairs of shapes may meet without equations; contacts = \"ground\" states what it "
            "can of contacts with planes, contacts = \"none\" no contact\n",
            w.nrefused);
        status = PERP_ERR_MODEL;
    }
    if (status == PERP_OK) status = join(&w, file, part, text, diag);
    perp_bodies_destroy(w.b);
    perp__text_clear(&w.head);
    perp__text_clear(&w.body);
    perp__names_clear(&w.taken);
    perp__arena_clear(&w.arena);
    return status;
}

perp_status perp_model_write_robot(const char *file, const char *key, const char *contacts,
                                   const char *path, perp_diag *diag)
{
    perp_robot *robot = NULL;
    perp__text text = {0};
    char part[NAME_ROOM];
    const perp__robot_how how = {.key = key, .contacts = contacts};
    if (!file || !path) return PERP_ERR_ARG;
    perp__robot_part_name(file, part, sizeof part);
    perp_status status = perp_robot_read(file, &robot, diag);
    if (status == PERP_OK) status = perp__robot_text(robot, file, part, &how, &text, diag);
    if (status == PERP_OK) status = perp__text_write(&text, path, diag);
    perp__text_clear(&text);
    perp_robot_destroy(robot);
    return status;
}
