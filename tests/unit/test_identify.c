/* The identify block, the options it sets, and what is said about a wrong one. */

#include "external/nlp.h"
#include "recorded.h"
#include "outcomes.h"

#define BLOCK                                                                                      \
    "param m = 1 in [0.1, 10] \"kg\", mu = 0.5 in [0, 2]\nparam g = 9.81\nstate x = 0, v = 1\n"    \
    "var f\nder(x) = v\nm*der(v) = f\n-mu*m*g <= f <= mu*m*g perp v\noutput speed = abs(v)\n"

static perp_identify_options options_of(const char *block, perp_model **model)
{
    char text[2048];
    perp_diag diag = {0};
    perp_identify_options o;
    snprintf(text, sizeof text, "%s%s", BLOCK, block);
    *model = parse_model(text);
    if (perp_identify_options_default(*model, &o, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return o;
}

static void the_block_sets_the_options(void **state)
{
    (void)state;
    perp_model *model;
    perp_identify_options o =
        options_of("identify {\n  estimate mu  # only friction\n"
                   "  measure x noise 1e-3, v weight 2\n  measure speed\n"
                   "  method predict\n  horizon 20\n  starts 3\n  seed 7\n  step 0.01\n}\n",
                   &model);
    assert_int_equal(o.nparameter, 1);
    assert_string_equal(o.parameter[0], "mu");
    assert_int_equal(o.nmeasure, 3);
    assert_string_equal(o.measure[0].name, "x");
    assert_near(o.measure[0].noise, 1e-3, 0);
    assert_true(isnan(o.measure[0].weight));
    assert_near(o.measure[1].weight, 2, 0);
    assert_true(isnan(o.measure[2].noise) && isnan(o.measure[2].weight));
    assert_int_equal(o.method, PERP_ESTIMATOR_PREDICT);
    assert_int_equal(o.horizon, 20);
    assert_int_equal(o.starts, 3);
    assert_true(o.seed == 7);
    assert_near(o.step, 0.01, 0);
    perp_model_destroy(model);
}

static void without_a_block_every_parameter_with_a_range_is_estimated(void **state)
{
    (void)state;
    perp_model *model;
    perp_identify_options o = options_of("", &model);
    assert_int_equal(o.nparameter, 2);
    assert_string_equal(o.parameter[0], "m");
    assert_string_equal(o.parameter[1], "mu");
    assert_int_equal(o.nmeasure, 0);
    perp_model_destroy(model);
}

static void an_array_stands_for_its_elements(void **state)
{
    (void)state;
    perp_model *model = parse_model("param a[2] = [1, 2] in [0, 3]\nstate x[2] = [0, 1]\n"
                                    "for i in 1..2 { der(x[i]) = a[i] }\n"
                                    "identify { estimate a\n measure x[2], x[1] noise 2 }\n");
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    assert_int_equal(o.nparameter, 2);
    assert_string_equal(o.parameter[1], "a[2]");
    assert_int_equal(o.nmeasure, 2);
    assert_string_equal(o.measure[0].name, "x[2]");
    assert_string_equal(o.measure[1].name, "x[1]");
    perp_model_destroy(model);
}

static void a_wrong_block_is_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *block, *says;
    } cases[] = {
        {"identify { estimate mo }", "unknown parameter 'mo'; did you mean 'mu'?"},
        {"identify { estimate g }", "'g' has no range; declare it as param g = 9.81 in [lo, hi]"},
        {"identify { measure m }", "unknown state, var or output 'm'"},
        {"identify { measure x noise 0 }", "expected the standard deviation of a sample"},
        {"identify { measure x noise }", "expected the standard deviation of a sample"},
        {"identify { measure x weight -1 }", "expected the weight, a positive number"},
        {"identify { measure x, x }", "'x' is measured twice"},
        {"identify { starts 0 }", "a whole number of starts, from 1"},
        {"identify { horizon 1.5 }", "a whole number of rows"},
        {"identify { colour blue }", "expected estimate, measure, method"},
        {"identify { estimate mu m }", "expected ',' or the end of the line, found 'm'"},
        {"identify { }\nidentify { }", "the model has one identify block already"},
        {"identify { estimate mu", "expected '}' at the end of the block"},
        {"identify\n", "expected '{'"},
        {"for i in 1..2 { identify { } }",
         "only equations, pairs, parts, lets, += and loops can stand in a loop"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        perp_diag diag = {0};
        perp_model *model;
        snprintf(text, sizeof text, "%s%s", BLOCK, cases[i].block);
        assert_int_equal(perp_model_parse(text, strlen(text), "b.perp", &model, &diag),
                         PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("%s: '%s' expected in\n%s", cases[i].block, cases[i].says,
                     perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    perp_model *model;
    char text[2048];
    perp_diag diag = {0};
    perp_identify_options o;
    snprintf(text, sizeof text, "%sidentify { method guess }", BLOCK);
    assert_int_equal(perp_model_parse(text, strlen(text), "b.perp", &model, NULL), PERP_OK);
    assert_int_equal(perp_identify_options_default(model, &o, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "unknown method 'guess'; there are: predict"));
    perp_diag_clear(&diag);
    perp_model_destroy(model);
}

/* Estimates ----------------------------------------------------------------------------------- */

#define PUSHED                                                                                     \
    "param m = 1 in [0.2, 5]\nparam mu = 0.5 in [0.01, 100]\nparam g = 9.81\n"                     \
    "input u = 8*sin(3*t)\nstate x = 0, v = 1\nvar f\nder(x) = v\nm*der(v) = u + f\n"              \
    "-mu*m*g <= f <= mu*m*g perp v\nsimulate to 3 step 0.01\n"

static const char *const xv[] = {"x", "v"};

/* The block of PUSHED with these values. */
static perp_model *pushed(double m, double mu)
{
    perp_model *model = parse_model(PUSHED);
    set_value(model, "m", m);
    set_value(model, "mu", mu);
    return model;
}

static void exact_data_give_back_the_parameters(void **state)
{
    (void)state;
    perp_dataset *data = new_dataset();
    record(data, pushed(1.3, 0.37), 1, xv, 2, 0, NULL);
    const double starts[] = {0.01, 0.3, 3, 100};
    for (int k = 0; k < 4; k++) {
        perp_model *model = pushed(0.5, starts[k]);
        perp_identification r = identify(model, data, NULL);
        assert_near(r.parameter[0].value, 1.3, 1e-6);
        assert_near(r.parameter[1].value, 0.37, 1e-6);
        assert_true(r.parameter[0].identifiable && r.parameter[1].identifiable);
        perp_identification_clear(&r);
        perp_model_destroy(model);
    }
    perp_dataset_destroy(data);
}

/* 40 data sets with known noise: the 95 % intervals hold the truth about as often as they say, and the standard error is
 * the spread of the estimates. */
static void intervals_hold_the_truth_as_often_as_they_say(void **state)
{
    (void)state;
    enum { SETS = 40 };
    uint64_t seed = 11;
    int inside = 0, refused = 0;
    double sum = 0, squares = 0, error = 0;
    for (int k = 0; k < SETS; k++) {
        perp_dataset *data = new_dataset();
        record(data, pushed(1, 0.37), 5, xv, 2, 0.02, &seed);
        perp_model *model = pushed(1, 0.5);
        perp_identify_options o;
        assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
        o.nmeasure = 2;
        o.measure[0] = (perp_measure){"x", 0.02, NAN};
        o.measure[1] = (perp_measure){"v", 0.02, NAN};
        perp_identification r = identify(model, data, &o);
        inside += r.parameter[1].low <= 0.37 && 0.37 <= r.parameter[1].high;
        sum += r.parameter[1].value, squares += r.parameter[1].value * r.parameter[1].value;
        if (!r.parameter[1].has_interval) refused++;
        if (r.parameter[1].has_interval) error += r.parameter[1].std_error;
        assert_near(r.noise_factor, 1, 0.25);
        perp_identification_clear(&r);
        perp_model_destroy(model);
        perp_dataset_destroy(data);
    }
    double spread = sqrt(squares / SETS - (sum / SETS) * (sum / SETS));
    error /= SETS - refused;
    print_message("spread %g, standard error %g, %d of %d inside\n", spread, error, inside,
                  SETS - refused);
    assert_true(refused <= 6);
    assert_true(inside >= SETS - refused - 4);
    assert_near(spread / error, 1, 0.35);
}

static void only_a_ratio_is_said_to_be_a_ratio(void **state)
{
    (void)state;
    const char *text = "param m = 1 in [0.2, 5], k = 3 in [1, 20]\nstate x = 1, v = 0\nder(x) = "
                       "v\nm*der(v) = -k*x\n"
                       "simulate to 3 step 0.01\n";
    perp_dataset *data = new_dataset();
    record(data, parse_model(text), 2, xv, 2, 0, NULL);
    perp_model *model = parse_model(text);
    set_value(model, "k", 5);
    perp_identification r = identify(model, data, NULL);
    assert_near(r.parameter[1].value / r.parameter[0].value, 3, 1e-5);
    assert_true(!r.parameter[0].identifiable && !r.parameter[1].identifiable);
    assert_true(isnan(r.parameter[0].std_error));
    if (!finds(&r, "only the ratio m/k is determined"))
        fail_msg("%s", r.nfinding ? r.finding[0] : "nothing found");
    perp_identification_clear(&r);
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

/* The block at rest under a push of 3 N: anything from mu m g = 3 on explains it. */
/* Of der(x) = -a b c x only the product is seen: all three are named, as in a sentence. */
static void parameters_that_act_together_are_named_together(void **state)
{
    (void)state;
    const char *const x[] = {"x"};
    uint64_t seed = 7;
    static const char text[] = "param a = 1 in [0.1, 9], b = 1 in [0.1, 9], c = 1 in [0.1, 9]\n"
                               "state x = 1\nder(x) = -a*b*c*x\nsimulate to 1 step 0.02\n";
    perp_model *model = parse_model(text), *truth = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "a", 2);
    record(data, truth, 1, x, 1, 0.01, &seed);
    perp_identification r = identify(model, data, NULL);
    int named = 0;
    for (int k = 0; k < 3; k++) assert_false(r.parameter[k].has_interval);
    for (int k = 0; k < r.nfinding; k++)
        named += strncmp(r.finding[k], "a, b and c: not identifiable separately", 39) == 0;
    if (named == 0)
        for (int k = 0; k < r.nfinding; k++) print_message("%s\n", r.finding[k]);
    assert_true(named > 0);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void sticking_data_bound_friction_from_below(void **state)
{
    (void)state;
    const char *text =
        "param mu = 0.5 in [0.01, 100]\nparam g = 9.81\nstate x = 0, v = 0\nvar f\nder(x) = v\n"
        "der(v) = 3 + f\n-mu*g <= f <= mu*g perp v\nsimulate to 1 step 0.01\n";
    perp_dataset *data = new_dataset();
    record(data, parse_model(text), 1, xv, 2, 0, NULL);
    const double starts[] = {0.02, 0.5, 90};
    for (int k = 0; k < 3; k++) {
        perp_model *model = parse_model(text);
        set_value(model, "mu", starts[k]);
        perp_identification r = identify(model, data, NULL);
        assert_false(r.parameter[0].identifiable);
        assert_near(r.parameter[0].low, 3 / 9.81, 1e-4);
        assert_near(r.parameter[0].high, 100, 0);
        assert_true(finds(&r, "mu: not identifiable from these data: every value from 0.30"));
        assert_true(finds(&r, "everything sticks or rests"));
        perp_identification_clear(&r);
        perp_model_destroy(model);
    }
    perp_dataset_destroy(data);
}

/* With friction far too large the block sticks all the way and every derivative is zero; the smoothed continuation leaves that
 * place also from a single start. */
static void a_single_start_leaves_the_place_where_everything_sticks(void **state)
{
    (void)state;
    const char *text =
        "param mu = 0.5 in [0.01, 100]\nparam g = 9.81\ninput u = 8*sin(3*t)\nstate x = 0, v = "
        "0\nvar f\n"
        "der(x) = v\nder(v) = u + f\n-mu*g <= f <= mu*g perp v\nsimulate to 3 step 0.01\n";
    perp_model *truth = parse_model(text), *model = parse_model(text);
    perp_dataset *data = new_dataset();
    set_value(truth, "mu", 0.2);
    record(data, truth, 1, xv, 2, 0, NULL);
    const double starts[] = {2, 20, 100};
    for (int k = 0; k < 3; k++) {
        perp_identify_options o;
        set_value(model, "mu", starts[k]);
        assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
        o.starts = 1;
        perp_identification r = identify(model, data, &o);
        assert_near(r.parameter[0].value, 0.2, 1e-6);
        assert_true(r.parameter[0].identifiable);
        perp_identification_clear(&r);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void what_acts_on_nothing_is_not_identifiable(void **state)
{
    (void)state;
    const char *text = "param e = 0.5 in [0, 1], a = 1 in [0, 3]\nstate x = 1, v = 0\nvar "
                       "p\nder(x) = v\nder(v) = -a + p\n"
                       "0 <= p perp v + e*pre(v) >= 0 when x <= 0\nsimulate to 1 step 0.01\n";
    perp_dataset *data = new_dataset();
    record(data, parse_model(text), 1, xv, 2, 0, NULL); /* it does not reach the ground */
    perp_model *model = parse_model(text);
    set_value(model, "a", 0.2);
    perp_identification r = identify(model, data, NULL);
    assert_near(r.parameter[1].value, 1, 1e-7);
    assert_true(r.parameter[1].identifiable);
    assert_true(
        finds(&r, "e: not identifiable from these data: no predicted sample depends on it"));
    perp_identification_clear(&r);
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

static void the_result_does_not_depend_on_the_threads(void **state)
{
    (void)state;
    uint64_t seed = 5;
    perp_dataset *data = new_dataset();
    for (int k = 0; k < 5; k++) record(data, pushed(1, 0.3 + 0.02 * k), 5, xv, 2, 0.01, &seed);
    perp_model *model = pushed(1, 0.5);
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    double value[3][2];
    for (int k = 0; k < 3; k++) {
        o.threads = k == 0 ? 1 : k == 1 ? 2 : 5;
        perp_identification r = identify(model, data, &o);
        for (int i = 0; i < 2; i++) value[k][i] = r.parameter[i].value;
        perp_identification_clear(&r);
    }
    assert_memory_equal(value[0], value[1], sizeof value[0]);
    assert_memory_equal(value[0], value[2], sizeof value[0]);
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

/* Runs with different friction: samples of one run go wrong together, which the curvature does not know and the bootstrap
 * does. The spread of mu over 12 runs is 0.05 / sqrt(12). */
static void the_bootstrap_sees_that_runs_differ(void **state)
{
    (void)state;
    uint64_t seed = 17;
    perp_dataset *data = new_dataset();
    for (int k = 0; k < 12; k++)
        record(data, pushed(1, 0.37 + 0.05 * normal(&seed)), 5, xv, 2, 1e-3, &seed);
    perp_model *model = pushed(1, 0.5);
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.nparameter = 1;
    o.parameter[0] = "mu";
    perp_identification curvature = identify(model, data, &o);
    o.bootstrap = 100;
    perp_identification resampled = identify(model, data, &o);
    double expected = 0.05 / sqrt(12);
    assert_near(resampled.parameter[0].value, curvature.parameter[0].value, 0);
    assert_near(resampled.parameter[0].std_error / expected, 1, 0.5);
    assert_false(curvature.parameter[0].has_interval);
    assert_true(isnan(curvature.parameter[0].std_error) && isnan(curvature.parameter[0].low));
    assert_true(finds(&curvature, "no interval: the residuals of x are not noise"));
    assert_true(resampled.parameter[0].has_interval);
    assert_true(resampled.parameter[0].low <= 0.37 && 0.37 <= resampled.parameter[0].high);
    assert_true(finds(&curvature, "--bootstrap"));
    perp_identification_clear(&curvature);
    perp_identification_clear(&resampled);
    perp_dataset_destroy(data);
    data = new_dataset();
    record(data, pushed(1, 0.37), 5, xv, 2, 0, NULL);
    perp_diag diag = {0};
    assert_int_equal(run_identify(model, data, &o, &resampled, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "needs at least 5 of them"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* The slope of a run is its own: the estimate is their mean, whose variance is s^2/n with n - 1 degrees of freedom, also of n = 5. */
static void the_bootstrap_of_a_mean_has_its_standard_error(void **state)
{
    (void)state;
    static const double slope[5] = {1.1, 0.7, 1.3, 0.95, 0.8};
    double mean = 0, squares = 0;
    perp_dataset *data = new_dataset();
    for (int k = 0; k < 5; k++) {
        char rows[128], name[16];
        perp_trajectory *table;
        snprintf(name, sizeof name, "run%d.csv", k);
        snprintf(rows, sizeof rows, "t,x\n0,0\n0.5,%.17g\n1,%.17g\n", 0.5 * slope[k], slope[k]);
        assert_int_equal(perp_trajectory_parse(rows, strlen(rows), name, &table, NULL), PERP_OK);
        assert_int_equal(perp_dataset_add(data, table, name, NULL), PERP_OK);
        mean += slope[k] / 5;
    }
    for (int k = 0; k < 5; k++) squares += (slope[k] - mean) * (slope[k] - mean);
    perp_model *model =
        parse_model("param c = 0.5 in [0, 2]\nstate x = 0\nder(x) = c\nidentify { measure x }\n"
                    "simulate to 1 step 0.5\n");
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.bootstrap = 2000;
    perp_identification r = identify(model, data, &o);
    assert_near(r.parameter[0].value, mean, 1e-6);
    assert_near(r.parameter[0].std_error, sqrt(squares / 4 / 5), 0.05 * sqrt(squares / 4 / 5));
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* lp and svd ---------------------------------------------------------------------------------- */

/* The friction bound and the mass from measured forces: affine in b and k = 1/m. */
#define MEASURED                                                                                   \
    "param b = 1 in [0, 5], k = 1 in [0.1, 10]\ninput u\nstate v = 0\nvar lp, ln, gamma\n"         \
    "next(v) = v + h*k*(u + lp - ln)\n0 <= lp perp gamma + next(v) >= 0\n"                         \
    "0 <= ln perp gamma - next(v) >= 0\n0 <= gamma perp b - lp - ln >= 0\n"

static void lp_svd_and_penalty_find_what_the_conditions_hold(void **state)
{
    (void)state;
    static const char *const columns[] = {"v", "lp", "ln", "gamma", "u_"};
    perp_model *truth =
        parse_model("param b = 1.5, k = 0.5\ninput u = 4*sin(t)\nstate v = 0\nvar lp, ln, gamma\n"
                    "next(v) = v + h*k*(u + lp - ln)\n0 <= lp perp gamma + next(v) >= 0\n"
                    "0 <= ln perp gamma - next(v) >= 0\n0 <= gamma perp b - lp - ln >= 0\n"
                    "output u_ = 4*sin(t)\nsimulate to 10 step 0.1\n");
    perp_dataset *data = new_dataset();
    record(data, truth, 1, columns, 5, 0, NULL);
    perp_model *model = parse_model(MEASURED);
    const perp_estimator methods[] = {PERP_ESTIMATOR_LP, PERP_ESTIMATOR_SVD,
                                      PERP_ESTIMATOR_PENALTY};
    perp_identify_options o;
    perp_diag diag = {0};
    perp_identification r = {.size = sizeof r};
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    for (int k = 0; k < 3; k++) {
        o.method = methods[k];
        /* the data call the force u_, so the input is not there */
        perp_status status = run_identify(model, data, &o, &r, &diag);
        if (status == PERP_ERR_UNAVAILABLE) {
            perp_diag_clear(&diag);
            continue;
        }
        assert_int_equal(status, PERP_ERR_DATA);
        assert_non_null(strstr(perp_diag_text(&diag), "no run has a column 'u'"));
        perp_diag_clear(&diag);
    }
    perp_model_destroy(model);
    model = parse_model("param b = 1 in [0, 5], k = 1 in [0.1, 10]\ninput u = 4*sin(t)\nstate v = "
                        "0\nvar lp, ln, gamma\n"
                        "next(v) = v + h*k*(u + lp - ln)\n0 <= lp perp gamma + next(v) >= 0\n"
                        "0 <= ln perp gamma - next(v) >= 0\n0 <= gamma perp b - lp - ln >= 0\n");
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    for (int k = 0; k < 3; k++) {
        o.method = methods[k];
        perp_status status = run_identify(model, data, &o, &r, &diag);
        if (status == PERP_ERR_UNAVAILABLE) {
            assert_non_null(strstr(perp_diag_text(&diag), "Clp"));
            perp_diag_clear(&diag);
            continue;
        }
        if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        assert_near(r.parameter[0].value, 1.5, k < 2 ? 1e-9 : 1e-6);
        assert_near(r.parameter[1].value, 0.5, k < 2 ? 1e-9 : 1e-6);
        assert_true(r.parameter[0].identifiable && r.parameter[1].identifiable);
        perp_identification_clear(&r);
    }
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

static const char *const block_3_2 =
    "param mu = 1 in [0.01, 20]\ninput u\nstate v = 0\nvar lp, ln, gamma\nnext(v) = v + u + lp - "
    "ln\n"
    "0 <= lp perp gamma + v + u + lp - ln >= 0\n0 <= ln perp gamma - v - u - lp + ln >= 0\n"
    "0 <= gamma perp mu - lp - ln >= 0\n";

static void implicit_needs_no_forces_and_matches_remark_6(void **state)
{
    (void)state;
    perp_model *model = parse_model(block_3_2);
    perp_dataset *data = dataset_of("t,v,u\n0,1,0\n1,2,2\n");
    const double at[] = {0.5, 1.6, 3, 6.5, 9},
                 J[] = {0.25, 0.36, 2, 3 * 6.5 - 11.5 * 11.5 / 8 + 1, 4};
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.method = PERP_ESTIMATOR_IMPLICIT;
    for (int k = 0; k < 5; k++) {
        set_value(model, "mu", at[k]);
        o.starts = 1, o.max_iter = 0;
        perp_identification r = identify(model, data, &o);
        assert_near(r.start[0].cost, J[k], 1e-12);
        perp_identification_clear(&r);
    }
    o.starts = 0, o.max_iter = 100;
    perp_identification r = identify(model, data, &o);
    assert_near(r.parameter[0].value, 1, 1e-3);
    assert_true(finds(&r, "as many samples as parameters"));
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Steps of the block with mu = 0.8 and noise of 0.01, each its own run. */
static perp_dataset *noisy_block_in(double unit)
{
    perp_dataset *data;
    assert_int_equal(perp_dataset_create(&data), PERP_OK);
    for (int k = 0; k < 12; k++) {
        double v = 1 + 0.1 * k, u = k % 3 - 1, next = v + u - 0.8 + 0.01 * sin(7.0 * k * k);
        char text[128];
        perp_trajectory *table;
        snprintf(text, sizeof text, "t,v,u\n0,%.17g,0\n1,%.17g,%.17g\n", v * unit, next * unit,
                 u * unit);
        assert_int_equal(perp_trajectory_parse(text, strlen(text), "run", &table, NULL), PERP_OK);
        assert_int_equal(perp_dataset_add(data, table, "run", NULL), PERP_OK);
    }
    return data;
}

static perp_dataset *noisy_block(void)
{
    return noisy_block_in(1);
}

/* All in units of 2^k: what IPOPT is given, and so its answer, is the same to the bit. */
static void kkt_knows_no_units(void **state)
{
    (void)state;
    if (!perp__nlp_available()) skip_because("there is no IPOPT here");
    double cost = 0, mu = 0, stiff[2] = {0};
    for (int k = 0; k < 6; k++) {
        double unit = k % 3 == 0 ? 1 : ldexp(1, k % 3 == 1 ? 30 : -30);
        char text[512];
        snprintf(text, sizeof text, "param mu = %.17g in [%.17g, %.17g]%s", unit, 0.01 * unit,
                 20 * unit, strchr(block_3_2, '\n'));
        perp_model *model = parse_model(text);
        perp_dataset *data = noisy_block_in(unit);
        perp_identify_options o;
        assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
        o.method = PERP_ESTIMATOR_KKT;
        o.soft_sides = k < 3 ? 0 : 5 * unit;
        perp_identification a = identify(model, data, &o);
        if (unit == 1) mu = a.parameter[0].value, cost = a.cost, stiff[k / 3] = mu;
        assert_true(a.parameter[0].value == mu * unit);
        assert_true(a.cost == cost * unit * unit);
        assert_near(mu, 0.8, 0.02);
        perp_identification_clear(&a);
        perp_dataset_destroy(data);
        perp_model_destroy(model);
    }
    assert_near(stiff[0], stiff[1], 0.02);
}

/* A range's end is a constant of a side, not of the cost: however far, tolerances and the judgement do not widen. */
static void kkt_is_as_strict_where_a_range_is_wide(void **state)
{
    (void)state;
    if (!perp__nlp_available()) skip_because("there is no IPOPT here");
    char text[512];
    snprintf(text, sizeof text, "param mu = 1 in [0.01, 2e5]%s", strchr(block_3_2, '\n'));
    perp_model *model = parse_model(text);
    perp_dataset *data = noisy_block();
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.method = PERP_ESTIMATOR_IMPLICIT;
    perp_identification a = identify(model, data, &o);
    o.method = PERP_ESTIMATOR_KKT;
    perp_identification b = identify(model, data, &o);
    assert_near(b.parameter[0].value, a.parameter[0].value, 1e-4);
    assert_near(b.parameter[0].value, 0.8, 0.02);
    assert_near(b.cost, a.cost, 1e-6);
    perp_identification_clear(&a);
    perp_identification_clear(&b);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Hard bounds, soft second sides, soft first sides: the estimate and the cost are those of implicit. */
static void kkt_gives_the_answer_of_implicit(void **state)
{
    (void)state;
    perp_model *model = parse_model(block_3_2);
    perp_dataset *data = noisy_block();
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    for (int k = 0; k < 3; k++) {
        o.soft_sides = k == 1 ? 5 : 0, o.soft_vars = k == 2 ? 5 : 0;
        o.method = PERP_ESTIMATOR_IMPLICIT;
        perp_identification a = identify(model, data, &o);
        o.method = PERP_ESTIMATOR_KKT;
        if (!perp__nlp_available()) {
            perp_identification none = {.size = sizeof none};
            perp_diag diag = {0};
            assert_int_equal(run_identify(model, data, &o, &none, &diag), PERP_ERR_UNAVAILABLE);
            assert_non_null(strstr(perp_diag_text(&diag), "no IPOPT"));
            perp_diag_clear(&diag);
        } else {
            perp_identification b = identify(model, data, &o);
            assert_near(b.parameter[0].value, a.parameter[0].value, 1e-4);
            assert_near(b.parameter[0].value, 0.8, 0.02);
            assert_true(b.cost <= a.cost + 1e-6);
            perp_identification_clear(&b);
        }
        perp_identification_clear(&a);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Notes 3.2.6. Friction in one direction, l = ln: stuck with gamma = 0, l >= 3, J = (l - 1)^2 + l (l - 3) + W (mu - l)^2, least at
 * l = 5 for W = 1/2, mu = 20, so that J has a slope where it was flat. With two forces, both grow at no cost until their
 * sum is mu, so the extra cost changes nothing. */
static void cost_of_sliding_helps_where_forces_are_unique(void **state)
{
    (void)state;
    perp_model *one = parse_model(
        "param mu = 20 in [0.01, 100]\ninput u\nstate v = 0\nvar ln, gamma\nnext(v) = v + "
        "u - ln\n0 <= ln perp gamma - v - u + ln >= 0\n0 <= gamma perp mu - ln >= 0\n");
    perp_model *two = parse_model(block_3_2);
    perp_dataset *data = dataset_of("t,v,u,sliding\n0,1,0,0\n1,2,2,1\n");
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(one, &o, NULL), PERP_OK);
    o.starts = 1;
    for (int k = 0; k < 2; k++) {
        o.sliding = k ? 0.5 : 0;
        o.method = PERP_ESTIMATOR_IMPLICIT, o.max_iter = 0;
        set_value(two, "mu", 18);
        perp_identification a = identify(one, data, &o), b = identify(two, data, &o);
        assert_near(a.start[0].cost, k ? 138.5 : 4, 1e-9);
        assert_near(b.start[0].cost, 4, 1e-9);
        perp_identification_clear(&a);
        perp_identification_clear(&b);
    }
    o.max_iter = 100;
    for (int k = 0; k < 1 + perp__nlp_available(); k++) {
        o.method = k ? PERP_ESTIMATOR_KKT : PERP_ESTIMATOR_IMPLICIT;
        perp_identification a = identify(one, data, &o);
        assert_near(a.parameter[0].value, 1, 1e-3);
        perp_identification_clear(&a);
    }
    perp_dataset_destroy(data);
    perp_model_destroy(one);
    perp_model_destroy(two);
}

static void cost_of_sliding_says_what_is_missing(void **state)
{
    (void)state;
    perp_model *model = parse_model(block_3_2);
    perp_dataset *data = dataset_of("t,v,u\n0,1,0\n1,2,2\n");
    perp_identify_options o;
    perp_identification r = {.size = sizeof r};
    perp_diag diag = {0};
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.method = PERP_ESTIMATOR_IMPLICIT, o.sliding = 1;
    assert_int_equal(run_identify(model, data, &o, &r, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "column 'sliding'"));
    o.sliding_var = "gama";
    assert_int_equal(run_identify(model, data, &o, &r, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "var 'gama'"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* The falling particle, m = 1, mu = 0.5: with the normal force unknown the inner program is not convex. */
static void implicit_refuses_an_inner_program_that_is_not_convex(void **state)
{
    (void)state;
    perp_model *model = parse_model(
        "param mu = 0.5 in [0.1, 1]\nstate vx = 1, vy = 0\nvar fn, lp, ln, gamma\n"
        "next(vx) = vx + lp - ln\nnext(vy) = vy - 1 + fn\n0 <= fn perp vy - 1 + fn >= 0\n"
        "0 <= lp perp gamma + vx + lp - ln >= 0\n0 <= ln perp gamma - vx - lp + ln >= 0\n"
        "0 <= gamma perp mu*fn - lp - ln >= 0\n");
    perp_dataset *data = dataset_of("t,vx,vy\n0,1,0\n1,0.5,0\n2,0,0\n");
    perp_identify_options o;
    perp_diag diag = {0};
    perp_identification r = {.size = sizeof r};
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.method = PERP_ESTIMATOR_IMPLICIT;
    assert_int_equal(run_identify(model, data, &o, &r, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "the inner program is not convex"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void lp_and_svd_refuse_what_is_not_affine(void **state)
{
    (void)state;
    perp_model *model =
        parse_model("param mu = 0.5 in [0, 2], m = 1 in [0.1, 2]\nstate v = 1\nvar f\nder(v) = f\n"
                    "0 <= f perp v - mu*m >= 0\n");
    perp_dataset *data = dataset_of("t,v,f\n0,1,0\n1,1,0\n");
    perp_identify_options o;
    perp_diag diag = {0};
    perp_identification r = {.size = sizeof r};
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.method = PERP_ESTIMATOR_SVD;
    assert_int_equal(run_identify(model, data, &o, &r, &diag), PERP_ERR_MODEL);
    assert_non_null(
        strstr(perp_diag_text(&diag),
               "test.perp:5:1: method svd needs conditions that are affine in the parameters"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Missing samples are left out, an initial value that is a parameter is found, and the horizon begins anew in mid-run. */
static void missing_samples_initial_values_and_horizons(void **state)
{
    (void)state;
    const char *text = "param v0 = 1 in [0, 5], a = 1 in [0, 3]\nstate x = 0, v = v0\nder(x) = "
                       "v\nder(v) = -a\nsimulate to 1 step 0.1 method backward-euler\n";
    perp_model *model = parse_model(text);
    perp_dataset *data =
        dataset_of("t,x\n0,0\n0.1,0.18\n0.2,\n0.3,nan\n0.4,0.6\n0.6,0.78\n"); /* v0 = 2, a = 2 */
    perp_identification r = identify(model, data, NULL);
    assert_near(r.parameter[0].value, 2, 1e-6);
    assert_near(r.parameter[1].value, 2, 1e-6);
    assert_int_equal(r.missing, 2);
    assert_int_equal(r.samples, 3);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);

    perp_model *block = pushed(1, 0.5);
    uint64_t seed = 3;
    data = new_dataset();
    record(data, pushed(1, 0.37), 5, xv, 2, 1e-4, &seed);
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(block, &o, NULL), PERP_OK);
    o.horizon = 4;
    r = identify(block, data, &o);
    assert_near(r.parameter[1].value, 0.37, 2e-3);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(block);
}

#define SPRING                                                                                     \
    "param k = 3 in [0.1, 10]\nstate x = 1, v = 0\nder(x) = v\nder(v) = -k*x\nsimulate to 1 step " \
    "0.05\n"

/* The second run has no column x: it begins at the model's x, not where the first run began. */
static void a_run_without_a_state_begins_at_the_models_value(void **state)
{
    (void)state;
    static const char *const only_v[] = {"v"};
    perp_model *model = parse_model(SPRING), *first = parse_model(SPRING);
    perp_dataset *data = new_dataset();
    perp_identify_options o;
    set_value(first, "x", 2);
    set_value(first, "k", 5);
    record(data, first, 1, xv, 2, 0, NULL);
    perp_model *second = parse_model(SPRING);
    set_value(second, "k", 5);
    record(data, second, 1, only_v, 1, 0, NULL);
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    o.threads = 1;
    perp_identification r = identify(model, data, &o);
    assert_near(r.parameter[0].value, 5, 1e-6);
    assert_true(r.cost < 1e-12);
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

/* Exact derivatives and differences lead to the same place; the exact ones get there with fewer runs. */
static void exact_derivatives_need_fewer_runs_than_differences(void **state)
{
    (void)state;
    uint64_t seed = 5;
    perp_dataset *data = new_dataset();
    record(data, pushed(1.3, 0.37), 5, xv, 2, 0.01, &seed);
    perp_model *model = pushed(1, 0.5);
    perp_identify_options o;
    double value[PERP_DERIVATIVES_COUNT][2];
    long evaluations[PERP_DERIVATIVES_COUNT];
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    for (int k = 0; k < PERP_DERIVATIVES_COUNT; k++) {
        o.derivatives = perp_derivatives_find(perp_derivatives_name((perp_derivatives)k));
        assert_int_equal(o.derivatives, k);
        perp_identification r = identify(model, data, &o);
        for (int i = 0; i < 2; i++) value[k][i] = r.parameter[i].value;
        evaluations[k] = r.evaluations;
        perp_identification_clear(&r);
    }
    for (int k = 1; k < PERP_DERIVATIVES_COUNT; k++) {
        for (int i = 0; i < 2; i++) assert_near(value[k][i], value[0][i], 1e-5);
    }
    assert_true(evaluations[PERP_DERIVATIVES_EXACT] < evaluations[PERP_DERIVATIVES_DIFFERENCES]);
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

/* Bad data ------------------------------------------------------------------------------------ */

static void bad_data_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *data, *says;
    } cases[] = {
        {"t,x,v\n0,0,1\n0.1,0.1,1\n0.1,0.2,1\n",
         "run.csv: row 3: time 0.1 is not after 0.1; column 't' must increase"},
        {"t,x,v\n0,0,1\nnan,0.1,1\n", "run.csv: row 2: the time 't' is nan"},
        {"x,v\n0,1\n0,1\n", "run.csv: no column 't' (time [s]); it has: x, v"},
        {"t,x,v\n0,0,1\n", "run.csv: 1 rows; a run needs at least two"},
        {"t,x,v\n0,0,1\n0.1,inf,1\n", "run.csv: row 2: column 'x' is infinite"},
        {"t,x,v\n0,nan,1\n0.1,0.1,1\n",
         "run.csv: row 1: column 'x' is missing, but it is the initial value"},
        {"t,x,v\n0,0,1\n0.1,0.1,1\n0.13,0.1,1\n0.17,0.1,1\n0.2,0.1,1\n",
         "is not a whole number of steps"},
        {"t,y,w\n0,0,1\n0.1,0.1,1\n",
         "run.csv: no column is a state, var or output of the model; it has: t, y, w"},
        {"# unit x = mm\nt,x,v\n0,0,1\n0.1,0.1,1\n",
         "run.csv: column 'x' is in 'mm', but the model needs 'm': multiply"},
        {"# unit v = N\nt,x,v\n0,0,1\n0.1,0.1,1\n",
         "run.csv: column 'v' is in 'N', but the model needs 'm/s'"},
        {"t,x,v,u\n0,0,1,0\n0.1,0.1,1,\n",
         "run.csv: row 2: column 'u' is missing; an input must be known in every row"},
        {"t,x,v\n0,0,1\n0.1,,\n", "0 samples for 1 parameters: too few"},
    };
    perp_model *model = parse_model("param mu = 0.5 in [0, 2]\ninput u = 0\nstate x = 0 \"m\", v = "
                                    "1 \"m/s\"\nvar f\nder(x) = v\n"
                                    "der(v) = u + f\n-mu <= f <= mu perp v\n");
    perp_identify_options o;
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_trajectory *table;
        perp_diag diag = {0};
        perp_identification r = {.size = sizeof r};
        perp_dataset *data = new_dataset();
        assert_int_equal(
            perp_trajectory_parse(cases[i].data, strlen(cases[i].data), "run.csv", &table, NULL),
            PERP_OK);
        perp_status status = perp_dataset_add(data, table, "run.csv", &diag);
        if (status == PERP_OK) status = run_identify(model, data, &o, &r, &diag);
        if (status != PERP_ERR_DATA || !strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("%s\nexpected: %s\ngot %s: %s", cases[i].data, cases[i].says,
                     perp_status_name(status), perp_diag_text(&diag));
        assert_true(diag.errors > 0);
        perp_diag_clear(&diag);
        perp_dataset_destroy(data);
    }
    perp_model_destroy(model);
}

/* Without units in the file, a column of millimetres shows in what it leaves over. */
static void a_column_in_another_unit_is_suspected(void **state)
{
    (void)state;
    perp_model *model = parse_model("param a = 1 in [0, 3]\nstate x = 0 \"m\", v = 1\nder(x) = "
                                    "v\nder(v) = -a\nsimulate to 1 step 0.1\n");
    perp_dataset *data =
        dataset_of("t,x,v\n0,0,2\n0.1,180,1.8\n0.2,340,1.6\n0.3,480,1.4\n0.4,600,1.2\n");
    perp_identification r = identify(model, data, NULL);
    if (!finds(&r, "column 'x': its measured changes are"))
        fail_msg("%s", r.nfinding ? r.finding[0] : "nothing found");
    perp_identification_clear(&r);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

static void a_model_without_a_solution_is_reported(void **state)
{
    (void)state;
    perp_model *model = parse_model("param a = 1 in [0.5, 3]\nstate x = 0\nvar p\nder(x) = p\n0 <= "
                                    "p perp -p - a >= 0\nsimulate to 1 step 0.1\n");
    perp_dataset *data = dataset_of("t,x\n0,0\n0.1,0\n0.2,0\n");
    perp_identify_options o;
    perp_identification r = {.size = sizeof r};
    perp_diag diag = {0};
    assert_int_equal(perp_identify_options_default(model, &o, NULL), PERP_OK);
    assert_int_equal(run_identify(model, data, &o, &r, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(
        strstr(perp_diag_text(&diag), "no verified solution over the data from any of the starts"));
    assert_non_null(strstr(perp_diag_text(&diag), "no solution at step 1"));
    perp_diag_clear(&diag);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_sets_the_options),
        cmocka_unit_test(without_a_block_every_parameter_with_a_range_is_estimated),
        cmocka_unit_test(an_array_stands_for_its_elements),
        cmocka_unit_test(a_wrong_block_is_refused_by_name),
        cmocka_unit_test(exact_data_give_back_the_parameters),
        cmocka_unit_test(intervals_hold_the_truth_as_often_as_they_say),
        cmocka_unit_test(only_a_ratio_is_said_to_be_a_ratio),
        cmocka_unit_test(parameters_that_act_together_are_named_together),
        cmocka_unit_test(sticking_data_bound_friction_from_below),
        cmocka_unit_test(a_single_start_leaves_the_place_where_everything_sticks),
        cmocka_unit_test(what_acts_on_nothing_is_not_identifiable),
        cmocka_unit_test(the_result_does_not_depend_on_the_threads),
        cmocka_unit_test(the_bootstrap_sees_that_runs_differ),
        cmocka_unit_test(the_bootstrap_of_a_mean_has_its_standard_error),
        cmocka_unit_test(lp_svd_and_penalty_find_what_the_conditions_hold),
        cmocka_unit_test(implicit_needs_no_forces_and_matches_remark_6),
        cmocka_unit_test(kkt_gives_the_answer_of_implicit),
        cmocka_unit_test(kkt_knows_no_units),
        cmocka_unit_test(kkt_is_as_strict_where_a_range_is_wide),
        cmocka_unit_test(cost_of_sliding_helps_where_forces_are_unique),
        cmocka_unit_test(cost_of_sliding_says_what_is_missing),
        cmocka_unit_test(implicit_refuses_an_inner_program_that_is_not_convex),
        cmocka_unit_test(lp_and_svd_refuse_what_is_not_affine),
        cmocka_unit_test(missing_samples_initial_values_and_horizons),
        cmocka_unit_test(a_run_without_a_state_begins_at_the_models_value),
        cmocka_unit_test(exact_derivatives_need_fewer_runs_than_differences),
        cmocka_unit_test(bad_data_are_refused_by_name),
        cmocka_unit_test(a_column_in_another_unit_is_suspected),
        cmocka_unit_test(a_model_without_a_solution_is_reported),
    };
    return run_all(tests);
}
