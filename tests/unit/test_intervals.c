/* Intervals are given where they were checked, and else taken back with a reason. */

#include "recorded.h"
#include "outcomes.h"

static perp_identify_options options_of(const perp_model *model)
{
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    return o;
}

static perp_identification identify_from(const perp_model *model, const perp_dataset *data,
                                         int starts)
{
    perp_identify_options o = options_of(model);
    o.starts = starts;
    return identify(model, data, &o);
}

static void expect(const perp_identification *r, const char *reason)
{
    char all[4096] = "";
    for (int k = 0; k < r->nparameter; k++) {
        const perp_estimate *e = &r->parameter[k];
        if (e->has_interval || !isnan(e->std_error) || (e->identifiable && !isnan(e->low)))
            fail_msg("%s has an interval although '%s'", e->name, reason);
    }
    for (int k = 0; k < r->nfinding; k++) {
        if (strstr(r->finding[k], reason)) return;
        strncat(all, r->finding[k], sizeof all - strlen(all) - 1);
        strncat(all, "\n", sizeof all - strlen(all) - 1);
    }
    fail_msg("'%s' expected in\n%s", reason, all);
}

/* Data made with e = 0.7, mu = 0.12, g = 9.81; the intervals were [0.686, 0.693], [0.124, 0.126], [9.40, 9.54]. */
static void the_recorded_ball_is_found(void **state)
{
    (void)state;
    static const double truth[] = {0.7, 0.12, 9.81};
    perp_diag diag = {0};
    perp_model *model;
    perp_dataset *data = new_dataset();
    assert_int_equal(perp_model_load("tests/data/identify/ball.perp", &model, &diag), PERP_OK);
    assert_int_equal(perp_dataset_read(data, "tests/data/identify/ball_one.csv", &diag), PERP_OK);
    const int starts[] = {0, 1, 80};
    for (int k = 0; k < 3; k++) {
        perp_identification r = identify_from(model, data, starts[k]);
        for (int i = 0; i < 3; i++) {
            const perp_estimate *e = &r.parameter[i];
            assert_near(e->value, truth[i], 0.01 * truth[i]);
            assert_true(!e->has_interval || (e->low <= truth[i] && truth[i] <= e->high));
        }
        assert_false(finds(&r, "the model errs"));
        perp_identification_clear(&r);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

#define DECAY                                                                                      \
    "param c = 1 in [0.1, 10], b = 0.5 in [0, 5]\nstate x = 3\nder(x) = -c*x + b*sin(2*t)\n"       \
    "identify { measure x noise 0.05 }\nsimulate to 4 step 0.02\n"

static perp_dataset *decay(double noise, uint64_t *seed)
{
    const char *const x[] = {"x"};
    perp_model *truth = parse_model(DECAY);
    perp_dataset *data = new_dataset();
    set_value(truth, "c", 1.3);
    set_value(truth, "b", 0.8);
    record(data, truth, 1, x, 1, noise, seed);
    return data;
}

/* The same rows, and a model that names no method: steps of backward Euler made them, and fit them, where the motion does not; that is said. Rows of the
 * motion are fitted by it, with intervals that hold the truth. */
static void balls_that_name_no_method_are_found(void **state)
{
    (void)state;
    static const char text[] =
        "param e = 0.5 in [0, 0.95], mu = 0.3 in [0, 1], g = 9 in [5, 15]\nstate z = 1, v = 0, x = "
        "0, w "
        "= 2\nvar p, f\nder(z) = v\nder(v) = p - g\nder(x) = w\nder(w) = f\n"
        "0 <= p perp v + e*pre(v) >= 0 when z + h*v <= 0\n-mu*p <= f <= mu*p perp w when z + h*v "
        "<= 0\n"
        "identify { measure z noise 0.004, x noise 0.004 }\nsimulate to 1.6 step 0.01\n";
    static const double truth[2][3] = {{0.7, 0.12, 9.81}, {0.5, 0.3, 9.81}};
    const char *const columns[] = {"z", "x"}, *const names[] = {"e", "mu", "g"};
    uint64_t seed = 5;
    for (int k = 0; k < 2; k++) {
        perp_model *model = parse_model(text), *ball = parse_model(text);
        perp_dataset *data = new_dataset();
        for (int i = 0; i < 3 && k; i++) set_value(ball, names[i], truth[k][i]);
        if (k)
            record(data, ball, 1, columns, 2, 0.004, &seed);
        else
            assert_int_equal(perp_dataset_read(data, "tests/data/identify/ball_one.csv", NULL),
                             PERP_OK);
        perp_identification r = identify(model, data, NULL);
        assert_int_equal(r.integrator, k ? PERP_RADAU5 : PERP_BACKWARD_EULER);
        assert_int_equal(finds(&r, "steps of backward-euler leave over noise"), !k);
        assert_int_equal(finds(&r, "the data are those of steps of 0.01 s"), !k);
        assert_true(k ? r.time_shift < 1e-6 : r.time_shift > 1);
        for (int i = 0; i < 3; i++) {
            const perp_estimate *e = &r.parameter[i];
            assert_near(e->value, truth[k][i], 0.01 * truth[k][i]);
            assert_int_equal(e->has_interval, k);
            if (k) assert_true(e->low <= truth[k][i] && truth[k][i] <= e->high);
        }
        perp_identification_clear(&r);
        perp_dataset_destroy(data);
        if (!k) perp_model_destroy(ball);
        perp_model_destroy(model);
    }
}

/* Steps whose error biases the estimates by more than the noise have no interval, unless the rows are clearly theirs. */
static void steps_that_bias_have_no_interval(void **state)
{
    (void)state;
    uint64_t seed = 3;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0.05, &seed);
    perp_identify_options o = options_of(model);
    o.integrator = PERP_BACKWARD_EULER;
    perp_identification r = identify(model, data, &o);
    expect(&r, "no interval: steps of 0.02 s by backward-euler are too far from the motion: beside "
               "radau5 they move");
    assert_true(r.time_shift > 0.25);
    perp_identification_clear(&r);
    o.integrator = PERP_INTEGRATOR_COUNT;
    r = identify(model, data, &o);
    assert_int_equal(r.integrator, PERP_RADAU5);
    assert_true(r.parameter[0].has_interval && r.time_shift < 1e-4);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Where the first bounce nearly stops the sliding, the right friction lies behind the edge of a flat place. */
static void balls_have_no_interval_that_misses_far(void **state)
{
    (void)state;
    enum { SETS = 12 };
    static const double truth[] = {0.5, 0.3, 9.81};
    const char *const columns[] = {"z", "x"}, *const names[] = {"e", "mu", "g"};
    perp_model *model;
    uint64_t seed = 11;
    assert_int_equal(perp_model_load("tests/data/identify/ball.perp", &model, NULL), PERP_OK);
    for (int k = 0; k < SETS; k++) {
        perp_model *ball;
        perp_dataset *data = new_dataset();
        assert_int_equal(perp_model_load("tests/data/identify/ball.perp", &ball, NULL), PERP_OK);
        for (int i = 0; i < 3; i++) set_value(ball, names[i], truth[i]);
        record(data, ball, 1, columns, 2, 0.004, &seed);
        perp_identification r = identify(model, data, NULL);
        for (int i = 0; i < 3; i++) {
            const perp_estimate *e = &r.parameter[i];
            assert_near(e->value, truth[i], 0.02 * truth[i]);
            assert_true(!e->has_interval || fabs(e->value - truth[i]) < 2 * (e->high - e->low));
        }
        perp_identification_clear(&r);
        perp_dataset_destroy(data);
    }
    perp_model_destroy(model);
}

static void what_was_not_compared_or_finished_has_no_interval(void **state)
{
    (void)state;
    uint64_t seed = 3;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0.05, &seed);
    const struct {
        int starts, max_iter;
        const char *says;
    } cases[] = {{1, 100, "no interval: no other start was compared"},
                 {0, 1, "ended at its limit of 1 iterations"},
                 {0, 0, "the starts were only looked at"}};
    for (int k = 0; k < 3; k++) {
        perp_identify_options o = options_of(model);
        o.starts = cases[k].starts, o.max_iter = cases[k].max_iter;
        perp_identification r = identify(model, data, &o);
        expect(&r, cases[k].says);
        perp_identification_clear(&r);
    }
    perp_identification r = identify(model, data, NULL);
    assert_true(r.parameter[0].has_interval && r.parameter[1].has_interval);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* A standard error of 9e-18 was printed. */
static void a_fit_to_rounding_has_no_interval(void **state)
{
    (void)state;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0, NULL);
    perp_identification r = identify(model, data, NULL);
    expect(&r, "the model fits to rounding");
    assert_near(r.parameter[0].value, 1.3, 1e-6);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void left_overs_that_are_not_the_stated_noise_are_said(void **state)
{
    (void)state;
    uint64_t seed = 3;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0.2, &seed);
    perp_identification r = identify(model, data, NULL);
    expect(&r, "times its stated noise");
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    data = dataset_of("t,x\n0,3\n0.02,2.9\n0.04,2.85\n0.06,2.83\n0.08,2.72\n");
    r = identify(model, data, NULL);
    expect(&r, "2 samples more than parameters are too few");
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* over: by how many standard deviations of chi^2 the squares of the residuals exceed what the stated noise expects. */
static void residuals_may_exceed_the_stated_noise_by_four_deviations(void **state)
{
    (void)state;
    uint64_t seed = 3;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0.05, &seed);
    perp_identification r = identify(model, data, NULL);
    double rms = r.column[0].rms, n = (double)r.column[0].samples;
    perp_identification_clear(&r);
    for (int k = 0; k < 4; k++) {
        const double over[] = {-3, 3.8, 4.2, 12};
        perp_identify_options o = options_of(model);
        o.measure[0].noise = rms / sqrt(1 + over[k] * sqrt(2 / n));
        r = identify(model, data, &o);
        if (over[k] > 4)
            expect(&r, "times its stated noise");
        else
            assert_true(r.parameter[0].has_interval && r.parameter[1].has_interval);
        perp_identification_clear(&r);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* The valley of a frequency is 0.2 wide beside a range of 39: of searches from the middle of the range and beside the best none comes to it. */
static void a_minimum_that_one_search_alone_found_has_no_interval(void **state)
{
    (void)state;
    const char *text = "param om = 10.03 in [1, 40]\nstate x = 1, v = 0\nder(x) = v\n"
                       "der(v) = -om^2*x\nidentify { measure x noise 0.05 }\nsimulate { to 8 step "
                       "0.02 method radau5 }\n";
    const char *const x[] = {"x"};
    uint64_t seed = 5;
    perp_model *model = parse_model(text), *truth = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "om", 10);
    record(data, truth, 4, x, 1, 0.05, &seed);
    perp_identification r = identify_from(model, data, 2);
    assert_near(r.parameter[0].value, 10, 0.02);
    for (int k = 1; k < r.nstart; k++) assert_true(r.start[k].cost > 10 * r.start[0].cost);
    expect(&r, "searches one alone ended at the best fit");
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* The number behind `text` in a finding. */
static double number_behind(const perp_identification *r, const char *text)
{
    for (int k = 0; k < r->nfinding; k++) {
        const char *at = strstr(r->finding[k], text);
        if (at) return strtod(at + strlen(text), NULL);
    }
    fail_msg("no finding has '%s'", text);
    return NAN;
}

/* x' = a x from noisy x: least squares is off by -a n sigma^2 / sum x^2 (Fuller, Measurement Error Models, 1987, 1.1). */
static void the_bias_of_measured_starts_is_that_of_regression_on_noisy_data(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    const double a = 0.99, sigma = 0.1;
    const char *text = "param a = 0.9 in [0.5, 1]\nstate x = 1\nnext(x) = a*x\n"
                       "identify {\nmeasure x noise 0.1\nhorizon 1\n}\nsimulate to 400 step 1\n";
    char rows[ROWS * 32] = "t,x\n";
    uint64_t seed = 21;
    double x = 3, squares = 0;
    for (int k = 0; k < ROWS; k++, x *= a) {
        double seen = x + sigma * normal(&seed);
        squares += seen * seen;
        snprintf(rows + strlen(rows), 32, "%d,%.17g\n", k, seen);
    }
    perp_model *model = parse_model(text);
    perp_dataset *data = dataset_of(rows);
    perp_identification r = identify(model, data, NULL);
    double found = r.parameter[0].value, bias = -found * ROWS * sigma * sigma / squares;
    assert_near(found, a * (1 - ROWS * sigma * sigma / squares), 0.3 * fabs(bias));
    assert_near(number_behind(&r, "the estimate has an error of roughly "), bias, 0.2 * fabs(bias));
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* v' = -k v by backward Euler has the rate log(1 + k h)/h. The pair, which reads h, keeps methods of higher order away. */
static void the_time_error_of_a_first_order_method_is_its_whole_error(void **state)
{
    (void)state;
    const char *text = "param k = 1 in [0.2, 5]\nstate v = 1\nvar p\nder(v) = p - k*v\n"
                       "0 <= p perp 100 + v + h*p >= 0\nidentify { measure v noise 0.2 }\n"
                       "simulate to 3 step 0.02\n";
    const double k = 1.4, h = 0.02;
    char rows[160 * 64] = "t,v\n0,1\n";
    uint64_t seed = 9;
    for (int i = 1; i <= 150; i++)
        snprintf(rows + strlen(rows), 64, "%g,%.17g\n", i * h,
                 exp(-k * i * h) + 0.2 * normal(&seed));
    perp_model *model = parse_model(text);
    perp_dataset *data = dataset_of(rows);
    perp_identification r = identify(model, data, NULL);
    double found = r.parameter[0].value, motion = log(1 + found * h) / h;
    assert_int_equal(r.integrator, PERP_BACKWARD_EULER);
    assert_near(found, k, 0.4);
    double error = r.time_shift * r.parameter[0].std_error;
    assert_near(error, found - motion, 0.1 * (found - motion));
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* x(0) = p^2 is the same for p and -p. */
static void several_minima_are_listed(void **state)
{
    (void)state;
    const char *text =
        "param p = 0.9 in [-1, 1]\nstate x = p^2\nder(x) = -x\nsimulate to 1 step 0.02\n";
    const char *const x[] = {"x"};
    uint64_t seed = 5;
    perp_model *model = parse_model(text), *truth = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "p", 0.6);
    record(data, truth, 1, x, 1, 0.01, &seed);
    perp_identification r = identify(model, data, NULL);
    expect(&r, "2 minima fit as well within the noise: p = ");
    assert_true(finds(&r, "p = 0.6") + finds(&r, "p = 0.5") > 0);
    assert_true(finds(&r, "p = -0.6") + finds(&r, "p = -0.5") > 0);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void an_estimate_at_the_end_of_its_range_has_no_interval(void **state)
{
    (void)state;
    const char *text = "param a = 1 in [0, 1]\nstate x = 0\nder(x) = a\nsimulate to 1 step 0.02\n";
    const char *const x[] = {"x"};
    uint64_t seed = 5;
    perp_model *model = parse_model(text), *truth = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "a", 1.5);
    record(data, truth, 1, x, 1, 0.01, &seed);
    perp_identification r = identify(model, data, NULL);
    expect(&r, "the estimate of a is an end of its range");
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* The frequency of an oscillation over 50 periods and more: each beat is a valley of its own. It was 4.87 [4.83, 4.91] for 10. */
static void a_frequency_beside_the_right_one_has_no_interval(void **state)
{
    (void)state;
    const char *text = "param om = 5 in [1, 40]\nstate x = 1, v = 0\nder(x) = v\nder(v) = -om^2*x\n"
                       "simulate { to 20 step 0.02 method theta }\n";
    const char *const x[] = {"x"};
    const int starts[] = {2, 9, 40};
    uint64_t seed = 5;
    perp_model *model = parse_model(text), *truth = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "om", 10);
    record(data, truth, 2, x, 1, 0.05, &seed);
    for (int k = 0; k < 3; k++) {
        perp_identification r = identify_from(model, data, starts[k]);
        const perp_estimate *e = &r.parameter[0];
        if (e->has_interval && !(e->low <= 10 && 10 <= e->high))
            fail_msg("%d starts: %g [%g, %g]", starts[k], e->value, e->low, e->high);
        perp_identification_clear(&r);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* With a bound at half the noise 88 % held the truth; far below, too few residuals have a curvature. */
static void hubers_loss_keeps_the_coverage(void **state)
{
    (void)state;
    enum { SETS = 150 };
    uint64_t seed = 11;
    int inside = 0;
    perp_model *model = parse_model(DECAY);
    perp_identify_options o = options_of(model);
    for (int k = 0; k < SETS; k++) {
        perp_dataset *data = decay(0.05, &seed);
        o.huber = 0.5;
        perp_identification r = identify(model, data, &o);
        assert_true(r.parameter[0].has_interval);
        inside += r.parameter[0].low <= 1.3 && 1.3 <= r.parameter[0].high;
        perp_identification_clear(&r);
        o.huber = 0.05;
        if (k == 0) {
            r = identify(model, data, &o);
            expect(&r, "residuals are within Huber's bound of 0.05 scales: too few");
            perp_identification_clear(&r);
        }
        perp_dataset_destroy(data);
    }
    print_message("%d of %d inside\n", inside, SETS);
    assert_true(inside >= 136 && inside <= 149);
    perp_model_destroy(model);
}

/* progress ---------------------------------------------------------------------------------------- */

static int stop_after(void *context, const perp_identify_progress *p)
{
    return p->evaluations >= *(const int *)context;
}

static long evaluations_unstopped(const perp_model *model, const perp_dataset *data,
                                  perp_identify_options o)
{
    perp_identification r = {.size = sizeof r};
    o.progress = NULL;
    assert_int_equal(run_identify(model, data, &o, &r, NULL), PERP_OK);
    long n = r.evaluations;
    perp_identification_clear(&r);
    return n;
}

/* Stopped after any number of evaluations: nothing, or the best so far, never an interval. */
static void a_search_that_is_stopped_keeps_the_best_so_far(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int last = 1, kept = 0;
    double least = INFINITY;
    perp_model *model = parse_model(DECAY);
    perp_dataset *data = decay(0.05, &seed);
    perp_identify_options o = options_of(model);
    o.progress = stop_after, o.progress_context = &last;
    for (;; last++) {
        perp_identification r = {.size = sizeof r};
        perp_diag diag = {0};
        perp_status status = run_identify(model, data, &o, &r, &diag);
        if (status == PERP_ERR_STOPPED) {
            assert_non_null(strstr(perp_diag_text(&diag), "interrupted"));
            perp_diag_clear(&diag);
            assert_int_equal(kept, 0);
            continue;
        }
        assert_int_equal(status, PERP_OK);
        int done = !r.interrupted;
        if (done) { /* then nothing is missing */
            assert_true(r.parameter[0].has_interval);
            assert_int_equal(r.evaluations, evaluations_unstopped(model, data, o));
        }
        if (r.interrupted) {
            kept++;
            expect(&r, "the search was interrupted");
            assert_true(r.cost <= least);
            least = r.cost;
        }
        perp_identification_clear(&r);
        if (done) break;
    }
    assert_true(kept > 10);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_ball_is_found),
        cmocka_unit_test(balls_that_name_no_method_are_found),
        cmocka_unit_test(steps_that_bias_have_no_interval),
        cmocka_unit_test(balls_have_no_interval_that_misses_far),
        cmocka_unit_test(what_was_not_compared_or_finished_has_no_interval),
        cmocka_unit_test(a_fit_to_rounding_has_no_interval),
        cmocka_unit_test(left_overs_that_are_not_the_stated_noise_are_said),
        cmocka_unit_test(residuals_may_exceed_the_stated_noise_by_four_deviations),
        cmocka_unit_test(a_minimum_that_one_search_alone_found_has_no_interval),
        cmocka_unit_test(the_bias_of_measured_starts_is_that_of_regression_on_noisy_data),
        cmocka_unit_test(the_time_error_of_a_first_order_method_is_its_whole_error),
        cmocka_unit_test(several_minima_are_listed),
        cmocka_unit_test(an_estimate_at_the_end_of_its_range_has_no_interval),
        cmocka_unit_test(a_frequency_beside_the_right_one_has_no_interval),
        cmocka_unit_test(hubers_loss_keeps_the_coverage),
        cmocka_unit_test(a_search_that_is_stopped_keeps_the_best_so_far),
    };
    return run_all(tests);
}
