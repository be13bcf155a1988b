/* The identify block, the options it sets, and what is said about a wrong one. */

#include "runs.h"

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
        {"identify { estimate mo }", "no parameter named 'mo'; did you mean 'mu'?"},
        {"identify { estimate g }", "'g' has no range; declare it as param g = 9.81 in [lo, hi]"},
        {"identify { measure m }", "no state, var or output named 'm'"},
        {"identify { measure x noise 0 }", "expected the standard deviation of a sample"},
        {"identify { measure x noise }", "expected the standard deviation of a sample"},
        {"identify { measure x weight -1 }", "expected the weight, a positive number"},
        {"identify { measure x, x }", "'x' is measured twice"},
        {"identify { starts 0 }", "a whole number of starts, from 1"},
        {"identify { horizon 1.5 }", "a whole number of rows"},
        {"identify { colour blue }", "expected estimate, measure, method"},
        {"identify { estimate mu m }", "expected ',' or the end of the line, found 'm'"},
        {"identify { }\nidentify { }", "a model has one identify block"},
        {"identify { estimate mu", "expected '}' at the end of the block"},
        {"identify\n", "expected '{'"},
        {"for i in 1..2 { identify { } }", "only equations, pairs and loops can stand in a loop"},
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
    assert_non_null(strstr(perp_diag_text(&diag),
                           "no method named 'guess' in the identify block; there are: predict"));
    perp_diag_clear(&diag);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_sets_the_options),
        cmocka_unit_test(without_a_block_every_parameter_with_a_range_is_estimated),
        cmocka_unit_test(an_array_stands_for_its_elements),
        cmocka_unit_test(a_wrong_block_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
