/* Feedback along plans: derivatives of steps beside steps of the simulator, gains beside the regulator's own conditions, loops that are closed. */

#include "runs.h"
#include "outcomes.h"

static perp_plan *solve_to(perp_model *m, perp_plan_method method, double tol)
{
    perp_diag diag = {0};
    perp_plan *plan;
    perp_plan_result r = {.size = sizeof r};
    perp_plan_options o = perp_plan_options_default(m);
    o.replay = 0;
    o.method = method;
    o.motion_tol = tol;
    if (perp_plan_create(m, &o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, &r, &diag), PERP_OK);
    if (!perp_plan_holds(r.outcome)) fail_msg("%s", perp_diag_text(&diag));
    if (perp_plan_find_gains(plan, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return plan;
}

static perp_plan *solve(perp_model *m, perp_plan_method method)
{
    return solve_to(m, method, 0);
}

static perp_simulation *simulation_of(const perp_model *m, const char *method, double h, double to)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.to = to;
    o.step = h;
    o.integrator = perp_integrator_find(method);
    o.ninput = PERP_ALL;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return sim;
}

enum { MOST = 8 };

/* The states after a step of the simulator from these states with these inputs. */
static void take_step(perp_simulation *sim, double h, int ns, int nu, const double *x,
                      const double *u, double *end)
{
    perp_simulation_reset(sim);
    for (int i = 0; i < ns; i++) assert_int_equal(perp_simulation_set_state(sim, i, x[i]), PERP_OK);
    for (int j = 0; j < nu; j++) assert_int_equal(perp_simulation_set_input(sim, j, u[j]), PERP_OK);
    assert_int_equal(simulation_advance(sim, h, NULL, NULL), PERP_OK);
    for (int i = 0; i < ns; i++) end[i] = perp_simulation_state(sim, i);
}

/* How many entries of A and B of all steps lie between, or at, the one-sided slopes of the simulator's steps. */
static void steps_agree(const char *text, perp_plan_method method, int ns, int nu, int *off,
                        int *all)
{
    perp_model *m = parse_model(text);
    perp_plan *plan = solve(m, method);
    double from[64], to[64], A[MOST * MOST], B[MOST * MOST];
    *off = *all = 0;
    perp_plan_row(plan, 0, from);
    perp_plan_row(plan, 1, to);
    double h = to[0] - from[0], d = 1e-6;
    int input = 1 + ns + perp_model_count(m, PERP_VAR);
    perp_simulation *sim = simulation_of(m, perp_plan_method_name(method), h, 2 * h);
    for (int k = 0; k + 1 < perp_plan_rows(plan); k++) {
        perp_plan_row(plan, k, from);
        perp_plan_row(plan, k + 1, to);
        assert_int_equal(perp_plan_get_gain(plan, k, NULL, A, B), PERP_OK);
        for (int c = 0; c < ns + nu; c++) {
            double x[MOST], u[MOST], base[MOST], more[MOST], less[MOST];
            for (int side = -1; side <= 1; side++) {
                memcpy(x, from + 1, (size_t)ns * sizeof *x);
                memcpy(u, to + input, (size_t)nu * sizeof *u);
                if (c < ns) x[c] += side * d;
                if (c >= ns) u[c - ns] += side * d;
                take_step(sim, h, ns, nu, x, u, side < 0 ? less : side > 0 ? more : base);
            }
            for (int i = 0; i < ns; i++) {
                double slope = c < ns ? A[i * ns + c] : B[i * nu + c - ns],
                       right = (more[i] - base[i]) / d, left = (base[i] - less[i]) / d,
                       slack = 1e-4 * (1 + fabs(right) + fabs(left));
                *off += slope < fmin(left, right) - slack || slope > fmax(left, right) + slack;
                ++*all;
            }
        }
    }
    perp_simulation_destroy(sim);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

#define PUSH                                                                                       \
    "input F in [-40, 40]\nstate x = 0, v = 0\nvar f\nder(x) = v\nder(v) = F + f\n"                \
    "-5 <= f <= 5 perp v\nplan {\nhorizon 2\nnodes 31\nminimize integral(F^2)\nat 50%: x = 1\n"    \
    "at end: x = 0.2, v = 0\n}\n"
#define DROP                                                                                       \
    "input F in [-40, 40]\nstate y = 1, v = 0\nvar f\nder(y) = v\nder(v) = F + f - 9.81\n"         \
    "0 <= f perp y >= 0\nplan {\nhorizon 1.5\nnodes 31\nminimize integral(F^2)\nat end: y = "      \
    "0.3\n}\n"
#define CART                                                                                       \
    "input F\nstate x = 0, a = 3.14159, v = 0, w = 0\nder(x) = v\nder(a) = w\n"                    \
    "1.3*der(v) + 0.15*(der(w)*cos(a) - w^2*sin(a)) = F\n0.5*der(w) + der(v)*cos(a) = "            \
    "9.81*sin(a)\nplan {\ninputs held\nhorizon 1.5\nnodes 31\nminimize integral(F^2)\nat end: a "  \
    "= 0, w = 0, v = "                                                                             \
    "0\n}\n"

/* Friction that sticks and slides, a floor that is hit and left, a smooth motion: A and B are slopes of the simulator's steps. */
static void steps_are_linearised_in_their_modes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        perp_plan_method method;
        int ns, nu;
    } scenes[] = {{PUSH, PERP_PLAN_BACKWARD_EULER, 2, 1},
                  {DROP, PERP_PLAN_BACKWARD_EULER, 2, 1},
                  {CART, PERP_PLAN_BACKWARD_EULER, 4, 1},
                  {CART, PERP_PLAN_RADAU3, 4, 1},
                  {CART, PERP_PLAN_RADAU5, 4, 1}};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int off, all;
        steps_agree(scenes[i].text, scenes[i].method, scenes[i].ns, scenes[i].nu, &off, &all);
        printf("%zu: %d of %d\n", i, off, all);
        assert_int_equal(off, 0);
    }
}

/* Two boxes' worth of feet on one body: forces are not determined, motions are. */
static void forces_need_not_be_determined(void **state)
{
    (void)state;
    perp_model *m = parse_model(
        "input F\nstate y = 0, v = 0\nvar f[2]\nder(y) = v\nder(v) = F + f[1] + f[2] - 9.81\n"
        "0 <= f perp [y, y] >= 0\nplan {\nhorizon 1\nnodes 11\nminimize integral(F^2)\n"
        "at end: y = 0.2\n}\n");
    perp_plan *plan = solve(m, PERP_PLAN_BACKWARD_EULER);
    double A[4], B[2], row[16], gain[2];
    int rests = 0, flies = 0;
    for (int k = 0; k < 10; k++) {
        perp_plan_row(plan, k + 1, row);
        assert_int_equal(perp_plan_get_gain(plan, k, gain, A, B), PERP_OK);
        int is_up = row[1] > 1e-6;
        rests += !is_up;
        flies += is_up;
        assert_near(A[0], is_up, 1e-7); /* y by y */
        assert_near(B[1], is_up ? 0.1 : 0, 1e-7);
        assert_true(is_up || k == 0 || fabs(gain[0]) < 1e9);
    }
    assert_true(rests > 0 && flies > 0);
    assert_int_equal(perp_plan_get_gain(plan, 10, gain, A, B), PERP_ERR_ARG);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* The gains of a double integrator over a long plan are those of the algebraic Riccati equation: A, B and weights that are given. */
static void gains_solve_the_riccati_equation(void **state)
{
    (void)state;
    perp_model *m = parse_model(
        "input u\nstate x = 1, v = 0\nder(x) = v\nder(v) = u\nplan {\nhorizon 40\nnodes 401\n"
        "minimize integral(x^2 + v^2 + u^2)\n}\n");
    perp_plan *plan = solve(m, PERP_PLAN_BACKWARD_EULER);
    double size[2] = {0.5, 2}, force = 3, h = 0.1, gain[2], A[4], B[2];
    perp_plan_gain_options o = perp_plan_gain_options_default();
    o.state = size;
    o.input = &force;
    assert_int_equal(perp_plan_find_gains(plan, &o, NULL), PERP_OK);
    assert_int_equal(perp_plan_get_gain(plan, 0, gain, A, B), PERP_OK);
    double exact[] = {1, h, 0, 1, h * h, h}, P[2][2] = {{0}};
    for (int i = 0; i < 4; i++) assert_near(A[i], exact[i], 1e-12);
    for (int i = 0; i < 2; i++) assert_near(B[i], exact[4 + i], 1e-12);
    double q[2] = {1 / 400. / 0.25, 1 / 400. / 4}, r = 1 / 400. / 9, K[2] = {0};
    for (int n = 0; n < 5000; n++) { /* by hand: P <- Q + A'P(A - B K) */
        double pb[2] = {P[0][0] * B[0] + P[0][1] * B[1], P[1][0] * B[0] + P[1][1] * B[1]},
               s = r + B[0] * pb[0] + B[1] * pb[1], C[2][2];
        K[0] = (pb[0] * A[0] + pb[1] * A[2]) / s;
        K[1] = (pb[0] * A[1] + pb[1] * A[3]) / s;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) C[i][j] = A[2 * i + j] - B[i] * K[j];
        double PC[2][2];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) PC[i][j] = P[i][0] * C[0][j] + P[i][1] * C[1][j];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                P[i][j] = (i == j ? q[i] : 0) + A[i] * PC[0][j] + A[2 + i] * PC[1][j];
    }
    assert_near(gain[0], K[0], 1e-9);
    assert_near(gain[1], K[1], 1e-9);
    perp_plan_destroy(plan);
    plan = solve_to(m, PERP_PLAN_BACKWARD_EULER, 1e-4); /* on a mesh of its own */
    assert_int_equal(perp_plan_get_gain(plan, 0, gain, A, B), PERP_OK);
    assert_true(gain[0] > 0 && gain[1] > 0);
    size[0] = 0;
    assert_int_equal(perp_plan_find_gains(plan, &o, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_plan_get_gain(plan, 0, gain, A, B), PERP_ERR_ARG);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* An input that is at an end of its range, either one, does not follow the states; one between its ends does. */
static void inputs_at_their_ends_have_no_gain(void **state)
{
    (void)state;
    int at_end[2] = {0}, between = 0;
    perp_model *m = parse_model("input u, w\nstate x = 0, v = 0\nder(x) = v\nder(v) = u + "
                                "0.5*w\nplan {\nfree u in [-1, 1.2]\n"
                                "free w in [-9, 9]\nhorizon 2\nnodes 21\nminimize integral(u^2 + "
                                "w^2)\nat end: x = 1.5, v = 0\n}\n");
    perp_plan *plan = solve(m, PERP_PLAN_BACKWARD_EULER);
    for (int k = 0; k + 1 < perp_plan_rows(plan); k++) {
        double row[16], gain[4];
        perp_plan_row(plan, k + 1, row);
        assert_int_equal(perp_plan_get_gain(plan, k, gain, NULL, NULL), PERP_OK);
        double u = row[3], of_u = fabs(gain[0]) + fabs(gain[1]),
               of_w = fabs(gain[2]) + fabs(gain[3]);
        int upper = u > 1.2 - 1e-6, lower = u < -1 + 1e-6;
        at_end[0] += lower, at_end[1] += upper, between += !lower && !upper;
        if ((of_u == 0) != (lower || upper)) fail_msg("step %d: u = %g, gain %g", k, u, of_u);
        assert_true(of_w > 0);
    }
    assert_true(at_end[0] > 1 && at_end[1] > 1 && between > 1);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A pole that is swung up falls over without feedback, and is caught with it. */
static void a_disturbed_swing_up_ends_upright_only_with_feedback(void **state)
{
    (void)state;
    perp_model *m = parse_model(CART);
    perp_plan *plan = solve(m, PERP_PLAN_RADAU5);
    double off[2];
    for (int closed = 0; closed < 2; closed++) {
        perp_simulation *sim = simulation_of(m, "radau5", 0.05, 1.5);
        assert_int_equal(perp_simulation_set_state(sim, 1, 3.14159 + 0.02), PERP_OK);
        for (int k = 0; k < 30; k++) {
            double x[4], row[16], u;
            for (int i = 0; i < 4; i++) x[i] = perp_simulation_state(sim, i);
            perp_plan_row(plan, k + 1, row);
            assert_int_equal(perp_plan_feedback(plan, 0.05 * k + 1e-9, x, &u), PERP_OK);
            assert_int_equal(perp_simulation_set_input(sim, 0, closed ? u : row[5]), PERP_OK);
            assert_int_equal(simulation_advance(sim, 0.05 * (k + 1), NULL, NULL), PERP_OK);
        }
        off[closed] = fabs(perp_simulation_state(sim, 1));
        perp_simulation_destroy(sim);
    }
    printf("off by %g without feedback, %g with\n", off[0], off[1]);
    assert_true(off[0] > 0.1 && off[1] < 0.1 * off[0]);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_linearised_in_their_modes),
        cmocka_unit_test(forces_need_not_be_determined),
        cmocka_unit_test(gains_solve_the_riccati_equation),
        cmocka_unit_test(inputs_at_their_ends_have_no_gain),
        cmocka_unit_test(a_disturbed_swing_up_ends_upright_only_with_feedback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
