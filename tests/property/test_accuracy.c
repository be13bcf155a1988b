/* How far runs are from the motion: by the method that fits a model, against much finer runs that locate events. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

static const char pendulum[] = "state th = 2, w = 0\nder(th) = w\nder(w) = -9.81*sin(th)\n";

/* The largest difference of a state at the end. */
static double distance(const perp_model *model, const perp_simulation *a, const perp_simulation *b)
{
    double largest = 0;
    for (int i = 0; i < perp_model_count(model, PERP_STATE); i++)
        largest = fmax(largest, fabs(perp_simulation_state(a, i) - perp_simulation_state(b, i)));
    return largest;
}

static void the_method_that_fits_is_right_to_a_thousandth(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double to;
    } cases[] = {{"bench/scenes/double_pendulum.perp", 3},
                 {"bench/scenes/fourbar.perp", 5},
                 {pendulum, 10},
                 {"examples/mechanics/stribeck.perp", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load_or_parse(cases[i].model);
        perp_integrator by = perp_simulation_recommend(model);
        perp_simulation *sim = run_to(model, by, cases[i].to, 1e-3);
        perp_simulation *fine = run_to(model, PERP_RADAU7, cases[i].to, 4e-4);
        double off = distance(model, sim, fine);
        if (!(off < 1e-3)) fail_msg("case %zu: off by %g", i, off);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(fine);
        perp_model_destroy(model);
    }
}

/* Where it cannot be had, or is too dear, another is: cones, conditions that read h, many pairs, many unknowns. */
static void the_method_that_fits_is_one_that_can_be_had(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        perp_integrator fits;
    } cases[] = {
        {pendulum, PERP_RADAU5},
        {"state x = 1, v = 0\nvar p\nder(x) = v\nder(v) = p - 9.81\n0 <= p perp x >= 0\n",
         PERP_RADAU5},
        {"state x = 1\nder(x) = -x*h\n", PERP_THETA},
        {"state x = 1\nvar p\nder(x) = p\n0 <= p perp x + h*p >= 0\n", PERP_BACKWARD_EULER},
        {"param n = 201\nstate x[n] = 1\nder(x) = -x\n", PERP_THETA},
        {"param n = 13\nstate x[n] = 1\nvar p[n]\nder(x) = p - 1\n0 <= p perp x >= 0\n",
         PERP_BACKWARD_EULER},
        {"state x = 1\nnext(x) = x/2\n", PERP_BACKWARD_EULER},
        {"examples/mechanics/plane.perp", PERP_BACKWARD_EULER},
        {"examples/control/bounce.perp", PERP_BACKWARD_EULER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load_or_parse(cases[i].model);
        perp_integrator by = perp_simulation_recommend(model);
        if (by != cases[i].fits) fail_msg("case %zu: %s", i, perp_integrator_name(by));
        perp_model_destroy(model);
    }
    assert_int_equal(perp_simulation_recommend(NULL), PERP_BACKWARD_EULER);
}

/* With an accuracy ------------------------------------------------------------------------------ */

static perp_simulation *run_within(const perp_model *model, perp_integrator by, double to,
                                   double accuracy)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = by, o.to = to, o.step = to / 20, o.accuracy = accuracy;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK ||
        simulation_run(sim, NULL, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

/* Also where a mass sticks and slips, or a ball bounces: for what steps of one length would need thousands of them. */
static void parts_are_as_long_as_the_accuracy_allows(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        perp_integrator by;
        double to, accuracy, off;
        long most; /* parts */
    } cases[] = {{pendulum, PERP_BACKWARD_EULER, 2, 1e-6, 1e-2, 6000},
                 {pendulum, PERP_THETA, 2, 1e-6, 1e-3, 400},
                 {pendulum, PERP_RADAU5, 2, 1e-9, 1e-7, 80},
                 {"examples/mechanics/stribeck.perp", PERP_THETA, 2, 1e-6, 1e-2, 4000},
                 {"examples/mechanics/stribeck.perp", PERP_RADAU5, 2, 1e-8, 5e-4, 150},
                 {"tests/data/events/oscillator.perp", PERP_BACKWARD_EULER, 4, 1e-6, 1e-3, 12000},
                 {"tests/data/events/oscillator.perp", PERP_THETA, 4, 1e-6, 1e-3, 2000},
                 {"tests/data/events/ball.perp", PERP_BACKWARD_EULER, 1, 1e-6, 5e-3, 6000},
                 {"tests/data/events/ball.perp", PERP_THETA, 2, 1e-6, 1e-3, 400},
                 {"tests/data/events/ball.perp", PERP_RADAU3, 2, 1e-7, 1e-5, 150},
                 {"bench/scenes/double_pendulum.perp", PERP_RADAU5, 2, 1e-8, 1e-5, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load_or_parse(cases[i].model);
        perp_simulation *sim = run_within(model, cases[i].by, cases[i].to, cases[i].accuracy);
        perp_simulation *fine = run_to(model, PERP_RADAU7, cases[i].to, 1e-3);
        double shortest, off = distance(model, sim, fine);
        long unresolved, n = perp_simulation_substeps(sim, &shortest, &unresolved);
        if (!(off < cases[i].off && n >= 20 && n <= cases[i].most && shortest > 0 && !unresolved))
            fail_msg("case %zu: off by %g, %ld parts, shortest %g", i, off, n, shortest);
        assert_int_equal(simulation_summary(sim).steps, 20);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(fine);
        perp_model_destroy(model);
    }
}

/* A mass that rests on a stop stated by positions until a force lifts it: what is rounding while it rests is no error of a part. */
static void what_rests_on_a_stop_takes_few_parts(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    for (int i = 0; i < 6; i++) {
        char text[256];
        double at = i / 3, g = 9.81, since = 2 - 2 * g / 20, x = at + 20 * pow(since, 3) / 12;
        snprintf(
            text, sizeof text,
            "param c = %g\nstate x = %g, v = 0\nvar p\nder(x) = v\n2*der(v) = 20*t - 2*9.81 + p\n"
            "0 <= p perp x - c >= 0\n",
            at, at);
        perp_model *model = load_or_parse(text);
        perp_simulation *sim = run_within(model, methods[i % 3], 2, 1e-9);
        long n = perp_simulation_substeps(sim, NULL, NULL);
        double off = fabs(perp_simulation_state(sim, 0) - x);
        if (!(off < 1e-10 && n <= 100))
            fail_msg("%s from %g: off by %g, %ld parts", perp_integrator_name(methods[i % 3]), at,
                     off, n);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* Rows are a step apart but for rounding, and where a step is short enough it is one part. */
static void what_is_slow_takes_a_part_a_step(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_RADAU5};
    for (int i = 0; i < 3; i++) {
        perp_model *model = load_or_parse("state x = 1\nder(x) = -1e-3*x\n");
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim;
        o.integrator = methods[i], o.accuracy = 1e-4, o.step = 0.01, o.to = 2;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        assert_int_equal(perp_simulation_substeps(sim, NULL, NULL), 200);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* In other units of length a run has the same parts and the same states, for powers of 2 to the bit. */
static void parts_do_not_depend_on_units(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_RADAU5};
    static const int powers[] = {0, -40, -60, 40};
    for (int m = 0; m < 3; m++) {
        double right = 0;
        long parts = 0;
        for (int k = 0; k < 4; k++) {
            char text[512];
            double S = ldexp(1, powers[k]), shortest;
            long unresolved;
            snprintf(text, sizeof text,
                     "param S = %.17g\nstate x = S, v = 0, y = 0, u = 3*S\nvar p, f\nder(x) = v\n"
                     "der(v) = p - 9.81*S\nder(y) = u\nder(u) = f\n"
                     "0 <= p perp v + 0.6*pre(v) >= 0 when x <= 0\n-0.3*p <= f <= 0.3*p perp u\n",
                     S);
            perp_model *model = load_or_parse(text);
            perp_simulation *sim = run_within(model, methods[m], 1, 1e-5);
            double x = perp_simulation_state(sim, 0) / S;
            long n = perp_simulation_substeps(sim, &shortest, &unresolved);
            if (k == 0) right = x, parts = n;
            if (n != parts || x != right)
                fail_msg("%s, 2^%d: %ld parts and %.17g, where %ld and %.17g are right",
                         perp_integrator_name(methods[m]), powers[k], n, x, parts, right);
            perp_simulation_destroy(sim);
            perp_model_destroy(model);
        }
    }
}

/* Also an accuracy below what the conditions of a step are held to. */
static void more_accuracy_is_more(void **state)
{
    (void)state;
    perp_model *model = load_or_parse(pendulum);
    perp_simulation *fine = run_to(model, PERP_RADAU7, 0.2, 1e-3);
    double before = INFINITY;
    for (double accuracy = 1e-8; accuracy > 5e-12; accuracy /= 10) {
        perp_simulation *sim = run_within(model, PERP_BACKWARD_EULER, 0.2, accuracy);
        double off = distance(model, sim, fine);
        if (!(off < 0.5 * before)) fail_msg("%g: off by %g, before by %g", accuracy, off, before);
        before = off;
        perp_simulation_destroy(sim);
    }
    perp_simulation_destroy(fine);
    perp_model_destroy(model);
}

/* Where the method leaves its steps to backward Euler (a root of 0 in time): their error is estimated by its order, not by the method's. */
static void parts_that_are_left_to_backward_euler_are_judged_by_its_order(void **state)
{
    (void)state;
    perp_model *model = load_or_parse("examples/circuits/pipe.perp");
    perp_simulation *sim = run_within(model, PERP_RADAU5, 2, 1e-5);
    long n = perp_simulation_substeps(sim, NULL, NULL);
    double off = fabs(perp_simulation_state(sim, 0) - 0.02 / 3);
    assert_true(perp_simulation_fallback_steps(sim, NULL) > 0);
    if (!(off < 3e-6)) fail_msg("off by %g, %ld parts", off, n);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A tenth of the accuracy, a tenth of the error or so. */
static void the_error_goes_with_the_accuracy(void **state)
{
    (void)state;
    perp_model *model = load_or_parse("tests/data/events/oscillator.perp");
    perp_simulation *fine = run_to(model, PERP_RADAU7, 4, 1e-3);
    double off[3];
    for (int k = 0; k < 3; k++) {
        perp_simulation *sim = run_within(model, PERP_RADAU3, 4, pow(10, -4 - 2 * k));
        off[k] = distance(model, sim, fine);
        perp_simulation_destroy(sim);
    }
    if (!(off[1] < off[0] / 4 && off[2] < off[1] / 4))
        fail_msg("errors %g, %g, %g", off[0], off[1], off[2]);
    perp_simulation_destroy(fine);
    perp_model_destroy(model);
}

/* The length of the next part is in a snapshot and in a clone; reset forgets it. */
static void parts_go_on_from_snapshots(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_RADAU5};
    perp_model *model = load_or_parse("examples/mechanics/stribeck.perp");
    for (int k = 0; k < 3; k++) {
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim, *clone;
        o.integrator = methods[k], o.to = 2, o.step = 0.1, o.accuracy = 1e-5;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        size_t size = perp_simulation_snapshot_size(sim);
        void *bytes = malloc(size);
        for (int i = 0; i < 10; i++) assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
        assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
        assert_int_equal(perp_simulation_clone(sim, &clone, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        double x = perp_simulation_state(sim, 0);
        long n = perp_simulation_substeps(sim, NULL, NULL);
        assert_int_equal(simulation_run(clone, NULL, NULL, NULL), PERP_OK);
        assert_true(perp_simulation_state(clone, 0) == x);
        assert_int_equal(perp_simulation_substeps(clone, NULL, NULL), n);
        assert_int_equal(perp_simulation_restore(sim, bytes, size, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        assert_true(perp_simulation_state(sim, 0) == x);
        perp_simulation_reset(sim);
        assert_int_equal(perp_simulation_substeps(sim, NULL, NULL), 0);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        assert_true(perp_simulation_state(sim, 0) == x);
        free(bytes);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(clone);
    }
    perp_model_destroy(model);
}

static void what_has_no_parts_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"k"};
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_model *model = parse_model("state x = 1\nnext(x) = x/2\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    o.to = 1, o.step = 0.1, o.accuracy = 1e-6;
    assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "discrete"));
    perp_model_destroy(model);
    model = load_or_parse("examples/mechanics/stribeck.perp");
    o = perp_simulation_options_default(model);
    o.accuracy = -1;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_ERR_ARG);
    o.accuracy = 1e-6;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    assert_int_equal(perp_simulation_follow(sim, 1, names, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "whole steps"));
    assert_int_equal(perp_simulation_substeps(NULL, NULL, NULL), 0);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_method_that_fits_is_right_to_a_thousandth),
        cmocka_unit_test(the_method_that_fits_is_one_that_can_be_had),
        cmocka_unit_test(parts_are_as_long_as_the_accuracy_allows),
        cmocka_unit_test(what_is_slow_takes_a_part_a_step),
        cmocka_unit_test(parts_do_not_depend_on_units),
        cmocka_unit_test(what_rests_on_a_stop_takes_few_parts),
        cmocka_unit_test(more_accuracy_is_more),
        cmocka_unit_test(parts_that_are_left_to_backward_euler_are_judged_by_its_order),
        cmocka_unit_test(the_error_goes_with_the_accuracy),
        cmocka_unit_test(parts_go_on_from_snapshots),
        cmocka_unit_test(what_has_no_parts_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
