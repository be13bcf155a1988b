/* Derivatives of the bodies' dynamics and of their steps beside differences. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 7, ROOM = 40 };

static unsigned long long random_state = 1;
static double random_in(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static void draw(double *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = random_in(-1, 1);
}

/* A tree of all joints: the first body free, or fixed by one of the others. */
static perp_bodies *make_tree(int is_free, double damping)
{
    perp_body body[BODIES] = {0};
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    for (int i = 0; i < BODIES; i++) {
        perp_body *is = &body[i];
        is->parent = i == 0 ? 0 : 1 + (int)random_in(0, i - 0.001);
        is->joint = i == 0 && is_free ? PERP_JOINT_FREE : (perp_joint)random_in(0, 4.999);
        draw(is->position, 3);
        draw(is->rotation, 4);
        draw(is->axis, 3);
        draw(is->center, 3);
        is->mass = random_in(0.5, 2);
        for (int k = 0; k < 3; k++) is->inertia[k] = random_in(1, 1.9);
        for (int k = 3; k < 6; k++) is->inertia[k] = random_in(-0.1, 0.1);
        is->armature = random_in(0, 0.1);
        is->damping = damping;
    }
    perp_bodies_options o = perp_bodies_options_default();
    o.tol = 1e-10; /* differences by 1e-4 need digits */
    if (perp_bodies_create(body, BODIES, NULL, 0, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_true(perp_bodies_nv(b) <= ROOM);
    double q[2 * ROOM], v[ROOM];
    draw(q, perp_bodies_nq(b));
    draw(v, perp_bodies_nv(b));
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    return b;
}

/* q moved by eps along velocity k: by the quaternion of a turn, or straight. */
static void move(const perp_bodies *b, int k, double eps, const double *q, double *to)
{
    memcpy(to, q, (size_t)perp_bodies_nq(b) * sizeof *q);
    for (int i = 1; i <= BODIES; i++) {
        int at = perp_bodies_q_of(b, i), first = perp_bodies_v_of(b, i), next = perp_bodies_nv(b),
            end = perp_bodies_nq(b);
        for (int j = i + 1; j <= BODIES; j++)
            if (perp_bodies_v_of(b, j) >= 0) {
                next = perp_bodies_v_of(b, j), end = perp_bodies_q_of(b, j);
                break;
            }
        if (first < 0 || k < first || k >= next) continue;
        if (end - at == next - first || (next - first == 6 && k < first + 3)) {
            to[at + k - first] += eps;
            continue;
        }
        const double *r = q + end - 4;
        double *s = to + end - 4, c = cos(eps / 2), t = sin(eps / 2);
        int axis = k - next + 3;
        double w[4] = {c, t * (axis == 0), t * (axis == 1), t * (axis == 2)};
        s[0] = r[0] * w[0] - r[1] * w[1] - r[2] * w[2] - r[3] * w[3];
        s[1] = r[0] * w[1] + r[1] * w[0] + r[2] * w[3] - r[3] * w[2];
        s[2] = r[0] * w[2] - r[1] * w[3] + r[2] * w[0] + r[3] * w[1];
        s[3] = r[0] * w[3] + r[1] * w[2] - r[2] * w[1] + r[3] * w[0];
    }
}

/* Central differences of order 4. */
static const double WEIGHT[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12},
                    PLACE[4] = {-2, -1, 1, 2};
static const double EPS = 1e-3;

static void inverse_dynamics_has_the_slopes_of_its_values(void **state)
{
    (void)state;
    double worst = 0;
    for (int trial = 0; trial < 60; trial++) {
        perp_bodies *b = make_tree(trial % 2, 0);
        int nv = perp_bodies_nv(b), nq = perp_bodies_nq(b);
        double q[2 * ROOM], v[ROOM], a[ROOM], x[2 * ROOM], tau[ROOM], dq[ROOM * ROOM],
            dv[ROOM * ROOM];
        memcpy(q, perp_bodies_q(b), (size_t)nq * sizeof *q);
        memcpy(v, perp_bodies_v(b), (size_t)nv * sizeof *v);
        draw(a, nv);
        assert_int_equal(perp_bodies_inverse_derivatives(b, a, dq, dv), PERP_OK);
        for (int k = 0; k < nv; k++)
            for (int in_v = 0; in_v < 2; in_v++) {
                double sum[ROOM] = {0}, *slope = in_v ? dv : dq;
                for (int p = 0; p < 4; p++) {
                    double moved[ROOM];
                    memcpy(moved, v, sizeof moved);
                    if (in_v) moved[k] += PLACE[p] * EPS;
                    move(b, k, in_v ? 0 : PLACE[p] * EPS, q, x);
                    assert_int_equal(perp_bodies_set(b, x, moved), PERP_OK);
                    assert_int_equal(perp_bodies_inverse(b, a, tau), PERP_OK);
                    for (int i = 0; i < nv; i++) sum[i] += WEIGHT[p] * tau[i] / EPS;
                }
                for (int i = 0; i < nv; i++)
                    worst = fmax(worst, fabs(sum[i] - slope[i + k * nv]) / (1 + fabs(sum[i])));
            }
        perp_bodies_destroy(b);
    }
    printf("inverse dynamics: differences off by %.1e\n", worst);
    assert_true(worst < 1e-9);
}

static int is_single(const perp_bodies *b, int body)
{
    int at = perp_bodies_q_of(b, body), next = perp_bodies_nq(b);
    for (int j = BODIES; j > body; j--)
        if (perp_bodies_q_of(b, j) >= 0) next = perp_bodies_q_of(b, j);
    return at >= 0 && next - at == 1;
}

/* Laws on all sides: springs, dry friction that holds and slides, limits, servos within and at their bounds. */
static int add_laws(perp_bodies *b)
{
    perp_diag diag = {0};
    int nu = 0, at = 0;
    for (int i = 1; i <= BODIES; i++) {
        if (!is_single(b, i)) continue;
        double x = perp_bodies_q(b)[perp_bodies_q_of(b, i)],
               speed = perp_bodies_v(b)[perp_bodies_v_of(b, i)];
        perp_joint_law law = {.stiffness = 3, .rest = 0.2};
        perp_actuator servo = {
            .body = i, .gear = 1.5, .gain = 20, .kp = 20, .kv = 2, .force_range = {1, -1000, 1000}};
        if (at % 4 == 1) law.friction = 0.5;
        if (at % 4 == 2) law.friction = 1e4;
        if (at % 4 == 3 && fabs(speed) > 0.5)
            law.range.limited = 1, law.range.lower = x - (speed < 0 ? 0 : 100),
            law.range.upper = law.range.lower + 100;
        if (at % 3 == 1)
            servo.force_range = (perp_range){1, 1, 2}, servo.gain = 1e4, servo.bias = 1e4;
        at++;
        if (perp_bodies_set_joint(b, i, &law, &diag) != PERP_OK ||
            perp_bodies_add_actuator(b, &servo, &diag) != PERP_OK)
            fail_msg("%s", perp_diag_text(&diag));
        nu++;
    }
    return nu;
}

/* The ways of a tendon: straight, around a sphere or a cylinder that is in the way, on the far side of one, through one, and of joints. */
enum { STRAIGHT, SPHERE, CYLINDER, FAR_SPHERE, FAR_CYLINDER, RING, TUBE, JOINTS, WAYS };

/* A point of the world in the frame of a body. */
static void put_on_body(perp_bodies *b, int body, const double *x, double *out)
{
    double p[3] = {0}, R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (body) assert_int_equal(perp_bodies_pose(b, body, p, R), PERP_OK);
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (int k = 0; k < 3; k++) out[i] += R[3 * k + i] * (x[k] - p[k]);
    }
}

static void add_site(perp_bodies *b, int must_move, perp_path_point *site, double *x)
{
    do site->body = (int)random_in(0, BODIES + 0.999);
    while (must_move && (!site->body || perp_bodies_v_of(b, site->body) < 0));
    draw(x, 3);
    for (int i = 0; i < 3; i++) x[i] *= 3;
    put_on_body(b, site->body, x, site->position);
}

/* Between the sites x, beside the straight way. */
static void add_round(perp_bodies *b, int way, double x[2][3], perp_path_point *o)
{
    double along[3], axis[3], across[3], middle[3], side[3], size = 0, far = 0;
    draw(axis, 3);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        along[i] = x[1][i] - x[0][i];
        size += along[i] * along[i];
        across[i] = axis[j] * (x[1][k] - x[0][k]) - axis[k] * (x[1][j] - x[0][j]);
        far += across[i] * across[i];
    }
    int is_ring = way >= RING, is_sphere = way == SPHERE || way == FAR_SPHERE || way == RING;
    *o = (perp_path_point){.kind = is_sphere ? PERP_PATH_SPHERE : PERP_PATH_CYLINDER,
                           .body = (int)random_in(0, BODIES + 0.999),
                           .radius = 0.2 * sqrt(size),
                           .has_side = way >= FAR_SPHERE};
    draw(o->rotation, 4);
    for (int i = 0; i < 3; i++) {
        double radius = across[i] / sqrt(far) * o->radius;
        middle[i] = 0.5 * (x[0][i] + x[1][i]) + (is_ring ? 1.5 : 0.3) * radius;
        side[i] = middle[i] + (is_ring ? 0.3 : 2) * radius;
    }
    o->side_body = o->body;
    put_on_body(b, o->body, middle, o->position);
    put_on_body(b, o->body, side, o->side);
}

static void add_tendon(perp_bodies *b, const perp_tendon *t)
{
    perp_diag diag = {0};
    if (perp_bodies_add_tendon(b, t, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

/* Tendons 2 k and 2 k + 1 of the same way: what nothing acts on, whose length says where the laws of the other are: a spring, a damper and a servo, a spring with slack, a limit, dry friction
 * that holds, or that slides. Is it longer than straight ways? */
static int add_tendons(perp_bodies *b, int k, int way, int law)
{
    perp_path_point path[6] = {{0}};
    double x[4][3], J[ROOM], coefficient[BODIES], straight = 0, rate = 0, most = 0;
    int joint[BODIES], njoint = 0;
    for (int i = 1; i <= BODIES; i++)
        if (is_single(b, i)) joint[njoint++] = i;
    draw(coefficient, njoint);
    for (int i = 0; i < 4; i++) add_site(b, i % 2, &path[i < 2 ? 2 * i : i + 2], x[i]);
    path[3] = (perp_path_point){.kind = PERP_PATH_PULLEY, .divisor = 2};
    add_round(b, way, x, &path[1]);
    perp_tendon t = {.npath = way == STRAIGHT ? 2 : 6, .path = way == STRAIGHT ? path + 4 : path};
    if (way == JOINTS && njoint)
        t = (perp_tendon){.n = njoint, .body = joint, .coefficient = coefficient};
    add_tendon(b, &t);
    double length = perp_bodies_tendon_length(b, 2 * k + 1);
    assert_int_equal(perp_bodies_tendon_jacobian(b, 2 * k + 1, J), PERP_OK);
    for (int i = 0; i < perp_bodies_nv(b); i++) {
        rate += J[i] * perp_bodies_v(b)[i];
        most = fmax(most, fabs(J[i]));
    }
    if (most < 1e-3) law = 0;                  /* nothing changes its length */
    if (law == 2 && fabs(rate) < 0.5) law = 4; /* nearby it is on either side */
    for (int i = 0; i < 4; i += 2) {
        double d[3] = {x[i + 1][0] - x[i][0], x[i + 1][1] - x[i][1], x[i + 1][2] - x[i][2]};
        straight += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (i ? 2 : 1);
    }
    if (law == 0) t.stiffness = 5, t.damping = 0.5, t.rest = 1;
    if (law == 1) t.stiffness = 50, t.slack = 0.3, t.rest = length - (k % 2 ? 0.4 : -0.1);
    if (law == 2)
        t.range.limited = 1, t.range.lower = length - (rate < 0 ? 0 : 100),
        t.range.upper = t.range.lower + 100;
    if (law >= 3) t.friction = law == 3 ? 1e4 : 0.5;
    add_tendon(b, &t);
    const perp_actuator servo = {.tendon = 2 * k + 2,
                                 .gear = 1.5,
                                 .gain = 20,
                                 .kp = 20,
                                 .kv = 2,
                                 .force_range = {1, -1e3, 1e3}};
    if (law == 0) assert_int_equal(perp_bodies_add_actuator(b, &servo, NULL), PERP_OK);
    return way != STRAIGHT && way != JOINTS && length > straight + 1e-9;
}

static void step_from(perp_bodies *b, const double *q, const double *v, const double *u,
                      double *end)
{
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    if (perp_bodies_nu(b)) assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
    if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    memcpy(end, perp_bodies_v(b), (size_t)perp_bodies_nv(b) * sizeof *end);
}

/* kind 0: by q, 1: by v, 2: by u; the largest difference, -1: laws are on other sides nearby. */
static double compare(perp_bodies *b, int kind, int k, const double *start[3], const double *slope)
{
    static const double eps = 1e-4;
    int nv = perp_bodies_nv(b), nq = perp_bodies_nq(b), nu = perp_bodies_nu(b);
    double x[2 * ROOM], v[ROOM], u[ROOM], end[ROOM], sum[ROOM] = {0}, worst = 0;
    for (int p = 0; p < 4; p++) {
        double by = PLACE[p] * eps;
        memcpy(v, start[1], (size_t)nv * sizeof *v);
        memcpy(u, start[2], (size_t)nu * sizeof *u);
        memcpy(x, start[0], (size_t)nq * sizeof *x);
        if (kind == 0) move(b, k, by, start[0], x);
        if (kind == 1) v[k] += by;
        if (kind == 2) u[k] += by;
        step_from(b, x, v, u, end);
        for (int i = 0; i < nv; i++) sum[i] += WEIGHT[p] * end[i] / eps;
    }
    for (int i = 0; i < nv; i++) worst = fmax(worst, fabs(sum[i] - slope[i]) / (1 + fabs(sum[i])));
    return worst;
}

/* The largest differences by q, v and u of a step from where b is. */
static void compare_step(perp_bodies *b, double *worst, int *held)
{
    int nv = perp_bodies_nv(b), nu = perp_bodies_nu(b);
    double q[2 * ROOM], v[ROOM], u[ROOM], end[ROOM], d[3][ROOM * ROOM];
    const double *start[3] = {q, v, u};
    perp_diag diag = {0};
    memcpy(q, perp_bodies_q(b), (size_t)perp_bodies_nq(b) * sizeof *q);
    memcpy(v, perp_bodies_v(b), (size_t)nv * sizeof *v);
    draw(u, nu);
    assert_int_equal(perp_bodies_step_derivatives(b, d[0], NULL, NULL, NULL), PERP_ERR_ARG);
    step_from(b, q, v, u, end);
    for (int i = 0; i < nv; i++) *held += fabs(end[i]) < 1e-12;
    if (perp_bodies_step_derivatives(b, d[0], d[1], d[2], &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_memory_equal(end, perp_bodies_v(b), (size_t)nv * sizeof *end);
    for (int kind = 0; kind < 3; kind++)
        for (int k = 0; k < (kind == 2 ? nu : nv); k++)
            worst[kind] =
                fmax(worst[kind], compare(b, kind, k, start, d[kind] + (size_t)k * (size_t)nv));
}

static void steps_have_the_slopes_of_their_ends(void **state)
{
    (void)state;
    double worst[3] = {0};
    int held = 0;
    for (int trial = 0; trial < 60; trial++) {
        perp_bodies *b = make_tree(trial % 2, 0.3);
        add_laws(b);
        compare_step(b, worst, &held);
        perp_bodies_destroy(b);
    }
    printf("steps: differences by q, v, u off by %.1e, %.1e, %.1e; %d velocities held\n", worst[0],
           worst[1], worst[2], held);
    assert_true(worst[0] < 1e-7 && worst[1] < 1e-7 && worst[2] < 1e-7);
    assert_true(held > 5);
}

/* Two tendons a tree, each way with each law. */
static void steps_with_tendons_have_the_slopes_of_their_ends(void **state)
{
    (void)state;
    double worst[3] = {0};
    int held = 0, bent = 0;
    for (int trial = 0; trial < 5 * WAYS; trial++) {
        double own[3] = {0};
        perp_bodies *b = make_tree(trial % 2, 0.3);
        if (trial % 3 == 0) add_laws(b);
        for (int k = 0; k < 2; k++)
            bent += add_tendons(b, k, (trial + 3 * k) % WAYS, (trial + k) % 5);
        compare_step(b, own, &held);
        for (int i = 0; i < 3; i++) worst[i] = fmax(worst[i], own[i]);
        perp_bodies_destroy(b);
    }
    printf("tendons: differences by q, v, u off by %.1e, %.1e, %.1e; %d around something\n",
           worst[0], worst[1], worst[2], bent);
    assert_true(worst[0] < 1e-7 && worst[1] < 1e-7 && worst[2] < 1e-7);
    assert_true(bent > 30);
}

/* Asking for derivatives changes no later step. */
static void derivatives_leave_the_run_as_it_is(void **state)
{
    (void)state;
    double end[2][ROOM], d[ROOM * ROOM];
    for (int asked = 0; asked < 2; asked++) {
        random_state = 5;
        perp_bodies *b = make_tree(1, 0.3);
        perp_diag diag = {0};
        for (int k = 0; k < 5; k++) {
            assert_int_equal(bodies_step(b, NULL, &diag), PERP_OK);
            if (asked) assert_int_equal(perp_bodies_step_derivatives(b, d, d, NULL, NULL), PERP_OK);
        }
        memcpy(end[asked], perp_bodies_v(b), (size_t)perp_bodies_nv(b) * sizeof **end);
        if (asked) assert_memory_equal(end[0], end[1], (size_t)perp_bodies_nv(b) * sizeof **end);
        perp_bodies_destroy(b);
    }
}

/* A way around a ball from sites on one line with its centre may go anywhere around; two equal tendons that hold share their force as they like. */
static void ways_that_are_many_have_no_slopes(void **state)
{
    (void)state;
    const perp_body slider = {
        .name = "slider", .joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}, .mass = 1};
    perp_path_point path[] = {{.position = {-1, 0, 0}},
                              {.kind = PERP_PATH_SPHERE, .radius = 0.2},
                              {.body = 1, .position = {1, 0, 0}}};
    for (int twice = 0; twice < 2; twice++) {
        perp_bodies *b = NULL;
        perp_diag diag = {0};
        double dq;
        assert_int_equal(perp_bodies_create(&slider, 1, NULL, 0, NULL, &b, &diag), PERP_OK);
        path[1].position[2] = twice ? -0.1 : 0;
        const perp_tendon t = {.npath = 3, .path = path, .friction = 1e3};
        for (int k = 0; k <= twice; k++) add_tendon(b, &t);
        step_from(b, (double[]){0}, (double[]){0}, NULL, &dq);
        assert_int_equal(perp_bodies_step_derivatives(b, &dq, NULL, NULL, &diag),
                         twice ? PERP_ERR_NO_SOLUTION : PERP_ERR_UNAVAILABLE);
        if (!twice) assert_non_null(strstr(perp_diag_text(&diag), "not unique"));
        perp_diag_clear(&diag);
        perp_bodies_destroy(b);
    }
}

/* A ball that lies on the ground, and a loop: not known, and said so. */
static void what_has_no_slopes_is_refused(void **state)
{
    (void)state;
    const perp_body ball = {.name = "ball",
                            .joint = PERP_JOINT_FREE,
                            .position = {0, 0, 0.1},
                            .mass = 1,
                            .inertia = {0.1, 0.1, 0.1}};
    const perp_shape shape[] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.3},
                                {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.1}}};
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    double dq[36];
    assert_int_equal(perp_bodies_create(&ball, 1, shape, 2, NULL, &b, &diag), PERP_OK);
    assert_int_equal(bodies_step(b, NULL, &diag), PERP_OK);
    assert_int_equal(perp_bodies_step_derivatives(b, dq, NULL, NULL, &diag), PERP_ERR_UNAVAILABLE);
    assert_non_null(strstr(perp_diag_text(&diag), "a contact pushes"));
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
    assert_int_equal(perp_bodies_step_derivatives(NULL, dq, NULL, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_inverse_derivatives(NULL, dq, dq, NULL), PERP_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_dynamics_has_the_slopes_of_its_values),
        cmocka_unit_test(steps_have_the_slopes_of_their_ends),
        cmocka_unit_test(steps_with_tendons_have_the_slopes_of_their_ends),
        cmocka_unit_test(derivatives_leave_the_run_as_it_is),
        cmocka_unit_test(ways_that_are_many_have_no_slopes),
        cmocka_unit_test(what_has_no_slopes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
