/* Derivatives of the bodies' dynamics and of their steps beside differences. */

#include "unit.h"

#include "perp/perp.h"

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
    if (perp_bodies_create(body, BODIES, NULL, 0, NULL, &b, &diag) != PERP_OK)
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

/* Laws on all sides: springs, dry friction that holds and slides, limits, servos within and at their bounds. */
static int add_laws(perp_bodies *b)
{
    perp_diag diag = {0};
    int nu = 0, at = 0;
    for (int i = 1; i <= BODIES; i++) {
        int q = perp_bodies_q_of(b, i), v = perp_bodies_v_of(b, i), next = perp_bodies_nq(b);
        if (v < 0) continue;
        for (int j = BODIES; j > i; j--)
            if (perp_bodies_q_of(b, j) >= 0) next = perp_bodies_q_of(b, j);
        double x = perp_bodies_q(b)[q], speed = perp_bodies_v(b)[v];
        if (next - q != 1) continue; /* hinges and slides */
        perp_joint_law law = {.stiffness = 3, .rest = 0.2};
        perp_actuator servo = {
            .body = i, .gear = 1.5, .gain = 20, .kp = 20, .kv = 2, .lower = -1000, .upper = 1000};
        if (at % 4 == 1) law.friction = 0.5;
        if (at % 4 == 2) law.friction = 1e4;
        if (at % 4 == 3 && fabs(speed) > 0.5)
            law.lower = x - (speed < 0 ? 0 : 100), law.upper = law.lower + 100;
        if (at % 3 == 1) servo.lower = 1, servo.upper = 2, servo.gain = 1e4, servo.bias = 1e4;
        at++;
        if (perp_bodies_set_joint(b, i, &law, &diag) != PERP_OK ||
            perp_bodies_add_actuator(b, &servo, &diag) != PERP_OK)
            fail_msg("%s", perp_diag_text(&diag));
        nu++;
    }
    return nu;
}

static void step_from(perp_bodies *b, const double *q, const double *v, const double *u,
                      double *end)
{
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    if (perp_bodies_nu(b)) assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
    if (perp_bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
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

static void steps_have_the_slopes_of_their_ends(void **state)
{
    (void)state;
    double worst[3] = {0};
    int held = 0;
    for (int trial = 0; trial < 60; trial++) {
        perp_bodies *b = make_tree(trial % 2, 0.3);
        add_laws(b);
        int nv = perp_bodies_nv(b), nu = perp_bodies_nu(b);
        double q[2 * ROOM], v[ROOM], u[ROOM], end[ROOM], d[3][ROOM * ROOM];
        const double *start[3] = {q, v, u};
        memcpy(q, perp_bodies_q(b), (size_t)perp_bodies_nq(b) * sizeof *q);
        memcpy(v, perp_bodies_v(b), (size_t)nv * sizeof *v);
        draw(u, nu);
        assert_int_equal(perp_bodies_step_derivatives(b, d[0], NULL, NULL, NULL), PERP_ERR_ARG);
        step_from(b, q, v, u, end);
        for (int i = 0; i < nv; i++) held += fabs(end[i]) < 1e-12;
        assert_int_equal(perp_bodies_step_derivatives(b, d[0], d[1], d[2], NULL), PERP_OK);
        assert_memory_equal(end, perp_bodies_v(b), (size_t)nv * sizeof *end);
        for (int kind = 0; kind < 3; kind++)
            for (int k = 0; k < (kind == 2 ? nu : nv); k++)
                worst[kind] =
                    fmax(worst[kind], compare(b, kind, k, start, d[kind] + (size_t)k * (size_t)nv));
        perp_bodies_destroy(b);
    }
    printf("steps: differences by q, v, u off by %.1e, %.1e, %.1e; %d velocities held\n", worst[0],
           worst[1], worst[2], held);
    assert_true(worst[0] < 1e-7 && worst[1] < 1e-7 && worst[2] < 1e-7);
    assert_true(held > 5);
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
            assert_int_equal(perp_bodies_step(b, NULL, &diag), PERP_OK);
            if (asked) assert_int_equal(perp_bodies_step_derivatives(b, d, d, NULL, NULL), PERP_OK);
        }
        memcpy(end[asked], perp_bodies_v(b), (size_t)perp_bodies_nv(b) * sizeof **end);
        if (asked) assert_memory_equal(end[0], end[1], (size_t)perp_bodies_nv(b) * sizeof **end);
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
    assert_int_equal(perp_bodies_step(b, NULL, &diag), PERP_OK);
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
        cmocka_unit_test(derivatives_leave_the_run_as_it_is),
        cmocka_unit_test(what_has_no_slopes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
