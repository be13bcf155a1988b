/* A step of bodies that holds, damaged in one condition: the verdict of step.c, which is included here, has to notice. */

#include "damage.h"

#include "perp/perp.h"

#include "bodies/step.c"
#include "solve/fc.h"
#include "outcomes.h"

#include <stdio.h>

static const double G = 9.81, H = 1e-3;

typedef enum scene_kind {
    ROLLING, /* a ball on a plane: it slides, spins and rolls */
    SLIDING, /* a box on a plane, pushed along x and y */
    LIMITED, /* a mass on a vertical slide, at its limit */
    HELD,    /* the same, held by dry friction */
    RUBBING, /* the same, sliding against dry friction */
    DRIVEN,  /* the same with a spring and a servo */
    LOOP,    /* three rods that close a loop */
    COUPLED, /* two slides, one thrice as fast as the other */
    WELDED,  /* two bodies as one */
    STRUNG,  /* two slides on a tendon at its limit, with a spring and dry friction */
    SCENES
} scene_kind;

static const char *const scene_name[SCENES] = {"rolling", "sliding", "limited", "held",   "rubbing",
                                               "driven",  "loop",    "coupled", "welded", "strung"};

static void expect_ok(perp_status status, perp_diag *diag)
{
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(diag));
    perp_diag_clear(diag);
}

static perp_bodies *make(const perp_body *body, int n, const perp_shape *shape, int nshape)
{
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = H;
    o.gravity[2] = -G;
    expect_ok(perp_bodies_create(body, n, shape, nshape, &o, &b, &diag), &diag);
    return b;
}

static perp_body slide(double mass)
{
    return (perp_body){.joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}, .mass = mass};
}

static perp_body rod(int parent, double z)
{
    return (perp_body){.joint = PERP_JOINT_HINGE,
                       .parent = parent,
                       .position = {0, 0, z},
                       .axis = {0, 1, 0},
                       .mass = 2,
                       .center = {0, 0, -0.5},
                       .inertia = {0.1, 0.1, 0.1}};
}

static perp_bodies *on_a_plane(scene_kind kind)
{
    perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE},
                           {.body = 1,
                            .kind = kind == ROLLING ? PERP_SHAPE_SPHERE : PERP_SHAPE_BOX,
                            .size = {0.1, 0.1, 0.1},
                            .mu = 0.4}};
    if (kind == ROLLING) shape[1].torsional_friction = 0.01, shape[1].rolling_friction = 0.005;
    perp_body body = {.joint = PERP_JOINT_FREE,
                      .position = {0, 0, 0.1},
                      .mass = 2,
                      .inertia = {0.008, 0.008, 0.008}};
    perp_bodies *b = make(&body, 1, shape, 2);
    double v[6] = {0.7, -0.4, 0, 1, 2, 9}; /* linear, angular */
    if (kind == SLIDING) v[3] = v[4] = v[5] = 0;
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    return b;
}

static perp_bodies *on_slides(scene_kind kind)
{
    perp_body body[2] = {slide(2), slide(3)};
    perp_bodies *b = make(body, kind == COUPLED || kind == STRUNG ? 2 : 1, NULL, 0);
    perp_diag diag = {0};
    perp_joint_law law = {0};
    if (kind == LIMITED) law.range = (perp_range){1, 0, 1};
    if (kind == HELD) law.friction = 40;
    if (kind == RUBBING) law.friction = 5;
    if (kind == DRIVEN) law.stiffness = 30, law.rest = 0.3;
    expect_ok(perp_bodies_set_joint(b, 1, &law, &diag), &diag);
    if (kind == DRIVEN) {
        perp_actuator servo = {.body = 1, .gear = 1, .gain = 20, .kp = 20, .kv = 2};
        expect_ok(perp_bodies_add_actuator(b, &servo, &diag), &diag);
        assert_int_equal(perp_bodies_set_control(b, (double[]){0.4}), PERP_OK);
    }
    if (kind == COUPLED) {
        perp_equality e = {
            .kind = PERP_EQUALITY_JOINT, .body = {1, 2}, .polynomial = {0, 3, 0, 0, 0}};
        expect_ok(perp_bodies_add_equality(b, &e, &diag), &diag);
    }
    if (kind == STRUNG) {
        perp_tendon t = {.n = 2,
                         .body = (int[]){1, 2},
                         .coefficient = (double[]){1, -2},
                         .range = {1, -1, 0.0},
                         .stiffness = 50,
                         .rest = -0.1};
        expect_ok(perp_bodies_add_tendon(b, &t, &diag), &diag);
    }
    return b;
}

static perp_bodies *tied(scene_kind kind)
{
    perp_diag diag = {0};
    perp_bodies *b;
    perp_equality e;
    if (kind == LOOP) {
        perp_body body[3] = {rod(0, 0), rod(1, -1), rod(0, 0)};
        body[2].position[0] = 1, body[2].position[2] = 0.3;
        b = make(body, 3, NULL, 0);
        const double q[3] = {0, -1.5707963267948966, 0};
        assert_int_equal(perp_bodies_set(b, q, (double[]){1.3, -1.3, 1}), PERP_OK);
        e = (perp_equality){
            .kind = PERP_EQUALITY_CONNECT, .body = {2, 3}, .point = {{0, 0, -1}, {0, 0, -1.3}}};
    } else {
        perp_body body[2] = {
            {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.1, 0.1, 0.1}},
            {.joint = PERP_JOINT_FREE, .position = {2}, .mass = 3, .inertia = {0.2, 0.2, 0.2}}};
        b = make(body, 2, NULL, 0);
        const double v[12] = {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1};
        assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
        e = (perp_equality){
            .kind = PERP_EQUALITY_WELD, .body = {1, 2}, .point = {{1, 0, 0}, {-1, 0, 0}}};
    }
    expect_ok(perp_bodies_add_equality(b, &e, &diag), &diag);
    return b;
}

/* Twenty steps on, and the next one solved, but not made. */
static perp_bodies *at_an_answer(scene_kind kind, perp_bodies_info *info)
{
    perp_bodies *b = kind <= SLIDING                  ? on_a_plane(kind)
                     : kind == LOOP || kind == WELDED ? tied(kind)
                                                      : on_slides(kind);
    perp_diag diag = {0};
    for (int k = 0; k < 20; k++) expect_ok(bodies_step(b, info, &diag), &diag);
    assert_int_equal(info->substeps, 1);
    *info = (perp_bodies_info){.outcome = PERP_SOLVED};
    b->is_ahead = 0;
    expect_ok(look_from(b, info, &diag), &diag);
    guess_mean(b);
    assert_int_equal(settle(b, info), PERP_OK);
    assert_true(is_verified(b, info));
    return b;
}

/* What is damaged: number `at` of what the name says. */
typedef struct damage {
    scene_kind scene;
    const char *what;
    int at;
    double (*error)(const void *damage, double by);
} damage;

static double judged(perp_bodies *b, perp_bodies_info *info)
{
    judge(b, info);
    double error = fmax(info->contact_error, info->newton_error);
    perp_bodies_destroy(b);
    return error;
}

static double velocity(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    double *M = calloc((size_t)(b->scene->nv * b->scene->nv), sizeof *M);
    perp__bodies_full_mass(b, M);
    b->next[of->at] += by * b->scale[of->at] * H / M[of->at * (b->scene->nv + 1)];
    free(M);
    return judged(b, &info);
}

/* The impulse of a contact that the bodies do not feel: its scale is that of Newton's law of the body, which has this force and as much again. */
static double contact_impulse(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    b->touch[0].impulse[of->at] += by * b->scale[of->at == 0 ? 2 : of->at - 1] * H;
    return judged(b, &info);
}

static double contact_velocity(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    const double *scale = perp__contact_value(b, PERP__SCALE);
    perp__contact_value(b, PERP__U)[of->at] += by * fmax(scale[0], fmax(scale[1], scale[2]));
    return judged(b, &info);
}

/* A moment of torsional (0) or rolling (1) friction beyond its bound, by its law alone. */
static double moment(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    double *m = b->touch[0].moment,
           R = b->touch[0].impulse[0] *
               (of->at ? b->touch[0].rolling_friction : b->touch[0].torsional_friction),
           length = of->at ? hypot(m[1], m[2]) : fabs(m[0]);
    assert_near(length, R, 1e-6 * R); /* it turns: the moment is at its bound */
    for (int k = of->at; k < 1 + 2 * of->at; k++) m[k] *= R * (1 + by) / length;
    double error = perp__moments_difference(b);
    perp_bodies_destroy(b);
    return error;
}

/* Where moment `rolls` of the contact is in the friction problem. */
static int place_of_moment(const perp_bodies *b, int rolls)
{
    int k = 0;
    while (b->c->moment[k].rolls != rolls) k++;
    return 3 * (perp__first_moment(b) + k);
}

/* A moment within its bound though the ball turns, on the scale of moments: what turns it as fast. */
static double moment_within(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    const perp__moment *law = &b->c->moment[place_of_moment(b, of->at) / 3 - perp__first_moment(b)];
    const double *S = perp__contact_value(b, PERP__SCALE) + place_of_moment(b, of->at);
    double *m = b->touch[0].moment + of->at, R = law->mu * b->touch[0].impulse[0],
           scale = fmin(fmax(S[1], S[2]) / law->own, PERP_FC_GROWTH * R);
    for (int k = 0; k < 1 + of->at; k++) m[k] *= fmax(1 - by * scale / R, 0);
    double error = perp__moments_difference(b);
    perp_bodies_destroy(b);
    return error;
}

static double moment_turned(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    const perp__moment *law = &b->c->moment[place_of_moment(b, of->at) / 3 - perp__first_moment(b)];
    const double *S = perp__contact_value(b, PERP__SCALE) + place_of_moment(b, of->at);
    double *m = b->touch[0].moment + 1, x = m[0], R = law->mu * b->touch[0].impulse[0],
           scale = fmin(fmax(S[1], S[2]) / law->own, PERP_FC_GROWTH * R), angle = by * scale / R;
    m[0] = x * cos(angle) - m[1] * sin(angle);
    m[1] = x * sin(angle) + m[1] * cos(angle);
    double error = perp__moments_difference(b);
    perp_bodies_destroy(b);
    return error;
}

static double moment_velocity(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    int place = place_of_moment(b, of->at);
    const double *S = perp__contact_value(b, PERP__SCALE) + place;
    perp__contact_value(b, PERP__U)[place + 1] += by * fmax(S[0], fmax(S[1], S[2]));
    return judged(b, &info);
}

/* A bound of dry friction below the force that holds. */
static double holding(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    assert_true(perp__joints_hold(b, of->at));
    b->joints->law[b->scene->body_of[of->at]].friction =
        fabs(b->joints->hold[of->at]) - by * b->scale[of->at];
    return judged(b, &info);
}

static double row_velocity(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    assert_true(of->at < b->joints->nrow);
    int i = b->ntouch + of->at, at = 3 * i + (b->joints->row[of->at].kind != PERP__LIMIT);
    double *u = perp__contact_value(b, PERP__U), S = perp__contact_value(b, PERP__SCALE)[at];
    u[at] += by * S;
    return judged(b, &info);
}

static double row_impulse(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    assert_true(of->at < b->joints->nrow);
    b->joints->row[of->at].impulse += by * b->scale[b->joints->row[of->at].at] * H;
    return judged(b, &info);
}

static double drive_control(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    b->joints->control[of->at] += by * b->scale[0] / b->joints->actuator[of->at].gain;
    b->joints->pull[of->at].line = perp__drive_line(b, of->at);
    return judged(b, &info);
}

static double spring_rest(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    b->joints->law[1].rest += by * b->scale[0] / b->joints->law[1].stiffness;
    return judged(b, &info);
}

/* Row `at` of the equalities is off by this much more where the step begins. */
static double equality_place(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    double *error = b->equal->error + of->at;
    *error += by * (b->equal->size[of->at] + 2 * fabs(*error));
    return judged(b, &info);
}

/* The impulse of row `at` acts on nobody's velocity. The force is a part of all that its row of Newton's law has. */
static double equality_impulse(const void *d, double by)
{
    const damage *of = d;
    perp_bodies_info info = {.size = sizeof info};
    perp_bodies *b = at_an_answer(of->scene, &info);
    const double *G_of = b->equal->G + (size_t)of->at * (size_t)b->scene->nv;
    double least = INFINITY;
    for (int k = 0; k < b->scene->nv; k++)
        if (fabs(G_of[k]) > 1e-9) least = fmin(least, b->scale[k] / fabs(G_of[k]));
    b->equal->impulse[of->at] += by * least * H;
    return judged(b, &info);
}

static const damage damages[] = {
    {ROLLING, "velocity", 0, velocity},
    {ROLLING, "velocity", 2, velocity},
    {ROLLING, "velocity", 3, velocity},
    {ROLLING, "velocity", 5, velocity},
    {SLIDING, "velocity", 0, velocity},
    {SLIDING, "velocity", 2, velocity},
    {SLIDING, "velocity", 4, velocity},
    {LIMITED, "velocity", 0, velocity},
    {RUBBING, "velocity", 0, velocity},
    {DRIVEN, "velocity", 0, velocity},
    {LOOP, "velocity", 0, velocity},
    {LOOP, "velocity", 1, velocity},
    {LOOP, "velocity", 2, velocity},
    {COUPLED, "velocity", 0, velocity},
    {COUPLED, "velocity", 1, velocity},
    {WELDED, "velocity", 1, velocity},
    {WELDED, "velocity", 11, velocity},
    {ROLLING, "normal impulse", 0, contact_impulse},
    {ROLLING, "friction", 1, contact_impulse},
    {ROLLING, "friction", 2, contact_impulse},
    {SLIDING, "normal impulse", 0, contact_impulse},
    {SLIDING, "friction", 1, contact_impulse},
    {SLIDING, "friction", 2, contact_impulse},
    {ROLLING, "normal velocity", 0, contact_velocity},
    {ROLLING, "tangential velocity", 1, contact_velocity},
    {ROLLING, "tangential velocity", 2, contact_velocity},
    {SLIDING, "normal velocity", 0, contact_velocity},
    {SLIDING, "tangential velocity", 1, contact_velocity},
    {ROLLING, "torsional moment", 0, moment},
    {ROLLING, "rolling moment", 1, moment},
    {ROLLING, "torsional moment within its bound", 0, moment_within},
    {ROLLING, "rolling moment within its bound", 1, moment_within},
    {ROLLING, "direction of the rolling moment", 1, moment_turned},
    {ROLLING, "spin", 0, moment_velocity},
    {ROLLING, "rolling velocity", 1, moment_velocity},
    {HELD, "bound of what holds", 0, holding},
    {LIMITED, "speed at the limit", 0, row_velocity},
    {LIMITED, "force of the limit", 0, row_impulse},
    {STRUNG, "rate at the tendon's limit", 0, row_velocity},
    {STRUNG, "force of the tendon's limit", 0, row_impulse},
    {DRIVEN, "control", 0, drive_control},
    {DRIVEN, "spring", 0, spring_rest},
    {LOOP, "place of the loop", 0, equality_place},
    {LOOP, "place of the loop", 2, equality_place},
    {COUPLED, "coupling", 0, equality_place},
    {WELDED, "place of the weld", 0, equality_place},
    {WELDED, "turn of the weld", 4, equality_place},
    {LOOP, "force of the loop", 0, equality_impulse},
    {LOOP, "force of the loop", 2, equality_impulse},
    {COUPLED, "force of the coupling", 0, equality_impulse},
    {WELDED, "force of the weld", 1, equality_impulse},
    {WELDED, "moment of the weld", 5, equality_impulse},
};

static known_fault known[] = {{NULL, NULL, NULL, 0}};

static void a_damaged_step_is_not_verified(void **state)
{
    (void)state;
    double tol = perp_bodies_options_default().tol;
    for (size_t k = 0; k < sizeof damages / sizeof *damages; k++) {
        const damage *d = &damages[k];
        char condition[64];
        snprintf(condition, sizeof condition, "%s %d", d->what, d->at);
        expect_damage_seen(scene_name[d->scene], condition, d->error, d, tol, known);
    }
    expect_faults_met(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_step_is_not_verified),
    };
    return run_all(tests);
}
