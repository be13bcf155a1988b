/* Time scales of models at their start beside closed forms, and steps by which a run keeps them within what is promised. */

#include "runs.h"

#include "linalg/eigenvalues.h"
#include "outcomes.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

static perp_time_scales scales_of(const char *text)
{
    perp_model *model = load_or_parse(text);
    perp_time_scales s = {.size = sizeof s};
    assert_int_equal(perp_time_scales_find(model, NULL, &s, NULL), PERP_OK);
    perp_model_destroy(model);
    return s;
}

static void expect_scale(perp_time_scale is, perp_motion_kind kind, double time)
{
    if (is.kind != kind || !(fabs(is.time - time) <= 1e-5 * time))
        fail_msg("kind %d, %g s; expected kind %d, %.9g s", is.kind, is.time, kind, time);
}

#define SWING                                                                                      \
    "state x = 1, v = 0\nder(x) = v\nder(v) = -100*x - %s*v\nsimulate to 5 step %s method %s\n"

static char *swing(const char *damping, const char *step, const char *method)
{
    static char text[256];
    snprintf(text, sizeof text, SWING, damping, step, method);
    return text;
}

static void a_swing_a_decay_and_a_growth_have_their_times(void **state)
{
    (void)state;
    double pi = acos(-1);
    perp_time_scales s = scales_of(swing("0", "1e-3", "theta"));
    expect_scale(s.swing, PERP_MOTION_SWING, 2 * pi / 10);
    assert_int_equal(s.decay.kind, PERP_MOTION_NONE);
    assert_int_equal(s.growth.kind, PERP_MOTION_NONE);
    assert_true(fabs(s.of[PERP_BACKWARD_EULER].error - 0.25) < 1e-6);
    s = scales_of("state x = 0.01, v = 0\nder(x) = v\nder(v) = 25*x\nsimulate to 1 step 1e-3\n");
    expect_scale(s.growth, PERP_MOTION_GROWTH, 0.2);
    expect_scale(s.decay, PERP_MOTION_DECAY, 0.2);
    s = scales_of("state x = 1, y = 1\nder(x) = y - 1e5*x\nder(y) = -y\nsimulate to 5 step 1e-2\n");
    expect_scale(s.decay, PERP_MOTION_DECAY, 1);
    expect_scale(s.passed, PERP_MOTION_DECAY, 1e-5);
}

/* A pendulum by its bar's force, index 3: its period, and nothing of what the bar holds. */
static void what_constraints_hold_has_no_scale(void **state)
{
    (void)state;
    perp_time_scales s = scales_of("state x = 1e-3, y = -1, u = 0, v = 0\nvar f\nder(x) = u\n"
                                   "der(y) = v\nder(u) = -f*x\nder(v) = -f*y - 9.81\n"
                                   "x^2 + y^2 = 1 + 1e-6\nsimulate to 4 step 1e-3\n");
    if (s.unknown) fail_msg("%s", s.unknown);
    assert_true(fabs(s.swing.time - 2 * acos(-1) / sqrt(9.81)) < 1e-3);
    assert_int_equal(s.decay.kind, PERP_MOTION_NONE);
    assert_int_equal(s.passed.kind, PERP_MOTION_NONE);
}

#define BALL                                                                                       \
    "state z = 1, v = 0\nvar F\nder(z) = v\nm*der(v) = F - 9.81*m\n0 <= F perp F/k + z >= 0\n"     \
    "param m = 2, k = 8e4\nsimulate to 2 step 1e-3\n"

static void a_contact_that_is_open_has_its_stiffness(void **state)
{
    (void)state;
    perp_time_scales s = scales_of(BALL);
    expect_scale(s.swing, PERP_MOTION_SWING, 2 * acos(-1) / 200);
    assert_int_equal(s.swing.pair, 0);
    /* half a swing: (200 h) pi / 2 */
    assert_true(fabs(s.of[PERP_BACKWARD_EULER].error - 0.1 * acos(-1)) < 1e-5);
}

static double run_to_end(const char *text)
{
    perp_model *model = load_or_parse(text);
    perp_simulation *sim;
    perp_diag diag = {0};
    assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
    if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    double x = perp_simulation_state(sim, 0), v = perp_simulation_state(sim, 1);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return hypot(x - cos(50), v / 10 + sin(50));
}

/* The step that is told keeps a swing within 1 %, and one of ten times that does not where the order is 1 or 2. */
static void the_step_that_is_told_keeps_what_it_promises(void **state)
{
    (void)state;
    perp_time_scales s = scales_of(swing("0", "1e-3", "theta"));
    for (int m = 0; m < PERP_INTEGRATOR_COUNT; m++) {
        char h[32];
        const char *method = perp_integrator_name((perp_integrator)m);
        snprintf(h, sizeof h, "%g", s.of[m].step);
        double error = run_to_end(swing("0", h, method));
        printf("%s: %s s changes the swing by %.2g %%\n", method, h, 100 * error);
        if (!(error <= 0.01)) fail_msg("%s, %s s: %g", method, h, error);
        if (m > PERP_MOREAU) continue;
        snprintf(h, sizeof h, "%g", 10 * s.of[m].step);
        assert_true(run_to_end(swing("0", h, method)) > 0.01);
    }
    assert_true(s.of[PERP_RADAU5].step > 100 * s.of[PERP_BACKWARD_EULER].step);
}

static void expect_unknown(const char *text, const char *why)
{
    perp_time_scales s = scales_of(text);
    if (!s.unknown || !strstr(s.unknown, why))
        fail_msg("%s; expected %s", s.unknown ? s.unknown : "known", why);
    assert_int_equal(s.swing.kind, PERP_MOTION_NONE);
    assert_true(isnan(s.of[PERP_RADAU5].step));
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    expect_unknown("state x = 0\nnext(x) = x + 1\nsimulate to 3 step 1\n", "discrete");
    expect_unknown("var f\nf = sin(t)\nsimulate to 1 step 0.1\n", "no state");
    expect_unknown("state x = 0\nvar f\nder(x) = 1\n0 <= f perp -1 - x - f >= 0\n"
                   "simulate to 1 step 0.1\n",
                   "no solution");
    expect_unknown("examples/control/flip.perp", "does not determine");
    expect_unknown("examples/mechanics/chain.perp", "too many states");
    perp_time_scales s = scales_of("state x = 0\nder(x) = 1\n");
    assert_null(s.unknown);
    assert_true(isnan(s.horizon) && isnan(s.of[PERP_THETA].step));
    assert_int_equal(perp_time_scales_find(NULL, NULL, &s, NULL), PERP_ERR_ARG);
}

static void eigenvalues_are_those_of_the_matrix(void **state)
{
    (void)state;
    enum { MOST = 40 };
    static double complex A[MOST * MOST], value[MOST];
    unsigned draw = 1;
    for (int n = 1; n <= MOST; n += n < 6 ? 1 : 17) {
        double complex trace = 0, square = 0, sum = 0, sum2 = 0;
        for (int i = 0; i < n * n; i++) {
            draw = draw * 1664525u + 1013904223u;
            A[i] = (double)(draw >> 8) / (1 << 24) - 0.5;
        }
        for (int i = 0; i < n; i++) {
            trace += A[i + i * n];
            for (int j = 0; j < n; j++) square += A[i + j * n] * A[j + i * n];
        }
        assert_true(perp__eigenvalues(n, A, value));
        for (int i = 0; i < n; i++) sum += value[i], sum2 += value[i] * value[i];
        assert_true(cabs(sum - trace) < 1e-12 && cabs(sum2 - square) < 1e-11);
    }
    double complex far[4] = {0, -1e12, 1, 0};
    assert_true(perp__eigenvalues(2, far, value));
    for (int i = 0; i < 2; i++) assert_true(fabs(fabs(cimag(value[i])) - 1e6) < 1e-6);
    double complex turn[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0}; /* no shift of Wilkinson's moves it */
    assert_true(perp__eigenvalues(3, turn, value));
    for (int i = 0; i < 3; i++) assert_true(cabs(value[i] * value[i] * value[i] - 1) < 1e-12);
    double complex none[1] = {(double)NAN};
    assert_false(perp__eigenvalues(1, none, value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swing_a_decay_and_a_growth_have_their_times),
        cmocka_unit_test(what_constraints_hold_has_no_scale),
        cmocka_unit_test(a_contact_that_is_open_has_its_stiffness),
        cmocka_unit_test(the_step_that_is_told_keeps_what_it_promises),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(eigenvalues_are_those_of_the_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
