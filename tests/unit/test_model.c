/* The language: what each construct means, by the values it gives. */

#include "model/model.h"
#include "runs.h"
#include "outcomes.h"

#include <time.h>

/* The last value of a column after running a model text. */
static double value_of(const char *text, const char *column)
{
    run r = run_model(parse_model(text), 0, 0);
    double x = last(&r, column);
    free_run(&r);
    return x;
}

#define RUN "\nstate s_ = 0\nder(s_) = 0\nsimulate to 1 step 0.5\n"

static void expressions_have_the_usual_precedence(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } cases[] = {{"1 + 2*3", 7},
                 {"-2^2", -4},
                 {"2^3^2", 512},
                 {"2^-1", 0.5},
                 {"8/2/2", 2},
                 {"1 - 2 - 3", -4},
                 {"(1 + 2)*3", 9},
                 {"-3 + +2", -1},
                 {"2*-3", -6},
                 {"1e3 + .5", 1000.5},
                 {"sin(pi/2)", 1},
                 {"atan2(1, 0)*2/pi", 1},
                 {"min(3, 1, 2)", 1},
                 {"max(3, 1, 2)", 3},
                 {"norm(3, 4)", 5},
                 {"norm([3, 4])", 5},
                 {"abs(-2)", 2},
                 {"sqrt(9)", 3},
                 {"exp(log(5))", 5},
                 {"sign(-3)", -1},
                 {"dot([1, 2], [3, 4])", 11},
                 {"sum([1, 2, 3])", 6},
                 {"sum(i in 1..4, i^2)", 30},
                 {"tanh(0) + cos(0)", 1},
                 {"cosh(1)^2 - sinh(1)^2", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "output y = %s%s", cases[i].text, RUN);
        if (!near(value_of(text, "y"), cases[i].value, 1e-14 * fabs(cases[i].value)))
            fail_msg("%s = %g, expected %g", cases[i].text, value_of(text, "y"), cases[i].value);
    }
}

static void statements_continue_inside_brackets_and_comments_end_lines(void **state)
{
    (void)state;
    assert_near(value_of("param a = (1 +\n  2 # two\n  + 3)\noutput y = max(a,\n 4)" RUN, "y"), 6,
                0);
}

static void words_have_signs_for_them(void **state)
{
    (void)state;
    const char *forms[] = {"0 <= lam perp x >= 0", "0 <= lam complements x >= 0",
                           "0 \u2264 lam \u22a5 x \u2265 0", "lam >= 0 perp 0 <= x",
                           "0 <= lam perp x + 1 >= 1"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "state x = 1\nvar lam\nder(x) = lam - 4\n%s\nsimulate to 1 step 0.1\n", forms[i]);
        assert_near(value_of(text, "x"), 0, 0);
        assert_near(value_of(text, "lam"), 4, 1e-12);
    }
}

static void names_may_be_greek(void **state)
{
    (void)state;
    assert_near(
        value_of("param \u03bc = 2, \u03b8\u2081 = 3\noutput y = \u03bc*\u03b8\u2081" RUN, "y"), 6,
        0);
}

static void parameters_follow_what_is_set(void **state)
{
    (void)state;
    perp_model *model =
        parse_model("param a = 2, b = 3*a\nstate x = b + 1\nder(x) = 0\nsimulate to 1 step 1\n");
    assert_near(perp_model_symbol(model, PERP_STATE, 0).value, 7, 0);
    set_value(model, "a", 5);
    assert_near(perp_model_symbol(model, PERP_PARAM, 1).value, 15, 0);
    assert_near(perp_model_symbol(model, PERP_STATE, 0).value, 16, 0);
    set_value(model, "x", -1);
    set_value(model, "b", 0);
    assert_near(perp_model_symbol(model, PERP_STATE, 0).value, -1, 0);
    perp_model_destroy(model);
}

static void symbols_keep_units_ranges_and_places(void **state)
{
    (void)state;
    perp_model *model = parse_model("model m\nparam mu = 0.5 in [0, 2]  \"1\"\nstate x = 0, y = 1 "
                                    "\"m\"\nder(x) = 1\nder(y) = 1\n");
    perp_symbol mu = perp_model_symbol(model, PERP_PARAM, 0);
    assert_string_equal(mu.name, "mu");
    assert_string_equal(mu.unit, "1");
    assert_true(mu.lo == 0 && mu.hi == 2 && mu.line == 2 && mu.column == 7);
    assert_string_equal(perp_model_symbol(model, PERP_STATE, 0).unit, ""); /* it has a value */
    assert_string_equal(perp_model_symbol(model, PERP_STATE, 1).unit, "m");
    perp_symbol_kind kind;
    int index;
    assert_true(perp_model_find(model, "y", &kind, &index) && kind == PERP_STATE && index == 1);
    assert_false(perp_model_find(model, "z", NULL, NULL));
    assert_string_equal(perp_model_equation(model, 1).text, "der(y) = 1");
    assert_int_equal(perp_model_equation(model, 1).line, 5);
    perp_model_destroy(model);
}

/* A number of parts is not in metres because the next parameter is; of names without a value the unit at the end is that of all. */
static void a_unit_is_of_its_name_and_of_bare_names_before_it(void **state)
{
    (void)state;
    perp_model *model = parse_model("param n = 3, a = 0.05 \"m\", b = 2\nvar f, g \"N\", p, k "
                                    "\"W\", l\nstate x = 0\nder(x) = f\n"
                                    "f = a\ng = n\np = b\nk = 1\nl = 2\n");
    static const char *const param[] = {"", "m", ""}, *const var[] = {"N", "N", "W", "W", ""};
    for (int i = 0; i < 3; i++)
        assert_string_equal(perp_model_symbol(model, PERP_PARAM, i).unit, param[i]);
    for (int i = 0; i < 5; i++)
        assert_string_equal(perp_model_symbol(model, PERP_VAR, i).unit, var[i]);
    perp_model_destroy(model);
}

static void a_scale_is_a_word_only_behind_a_declared_name(void **state)
{
    (void)state;
    static const char text[] =
        "param scale = 4, m = 2\nstate x = scale in [0, 5] scale m*1e-6 \"m\", y = 1 scale scale\n"
        "var v[2] scale 1e-3, w\ninput u in [0, 1] scale 7\nder(x) = v[1]\nder(y) = v[2]\n"
        "v = [u, scale]\nw = x\n";
    perp_model *model = parse_model(text), *copy = NULL;
    assert_near(model->item[PERP_STATE][0].scale, 2e-6, 0);
    assert_near(model->item[PERP_STATE][1].scale, 4, 0);
    for (int i = 0; i < 2; i++) assert_near(model->item[PERP_VAR][i].scale, 1e-3, 0);
    assert_near(model->item[PERP_VAR][2].scale, 0, 0);
    assert_near(model->item[PERP_INPUT][0].scale, 7, 0);
    assert_string_equal(model->item[PERP_STATE][0].unit, "m");
    assert_int_equal(perp__model_clone(model, &copy), PERP_OK);
    assert_near(copy->item[PERP_STATE][0].scale, 2e-6, 0);
    perp_model_destroy(copy);
    perp_model_destroy(model);
}

static void pre_is_the_value_before_the_step(void **state)
{
    (void)state;
    /* explicit Euler for x' = x^2 written with pre: nonlinear in what is known, affine in what is
     * not */
    double x = 0.5;
    for (int k = 0; k < 10; k++) x += 0.1 * x * x;
    assert_near(value_of("state x = 0.5\nder(x) = pre(x)^2\nsimulate to 1 step 0.1\n", "x"), x,
                1e-15);
    /* an input before and after the step: trapezoidal rule */
    assert_near(
        value_of("input u = t^2\nstate x = 0\nder(x) = (u + pre(u))/2\nsimulate to 1 step 0.01\n",
                 "x"),
        1.0 / 3 + 1e-4 / 6, 1e-13);
}

static void inputs_and_time_are_taken_at_the_end_of_the_step(void **state)
{
    (void)state;
    assert_near(value_of("state x = 0\nder(x) = t\nsimulate to 1 step 0.1\n", "x"), 0.55, 1e-14);
    assert_near(
        value_of("input u = t\nstate x = 0\nnext(x) = x + h*u\nsimulate to 1 step 0.1\n", "x"),
        0.55, 1e-14);
    assert_near(value_of("state x = 0\nder(x) = t\nsimulate from 1 to 2 step 0.1\n", "x"), 1.55,
                1e-14);
}

static void discrete_states_are_bare_before_and_next_after(void **state)
{
    (void)state;
    assert_near(
        value_of("state a = 1, b = 1\nnext(a) = b\nnext(b) = a + b\nsimulate to 10 step 1\n", "a"),
        89, 0);
    assert_near(value_of("state a = 1, b = 1\nnext(a) = b\nnext(b) = a + b\noutput c = a\nsimulate "
                         "to 10 step 1\n",
                         "c"),
                89, 0);
}

static void backward_euler_solves_implicit_equations(void **state)
{
    (void)state;
    /* 2 x' = -x + y, 0 = y + x: x' = -x */
    assert_near(
        value_of("state x = 1\nvar y\n2*der(x) + x = y\n0 = y + x\nsimulate to 1 step 0.1\n", "x"),
        pow(1.1, -10), 1e-15);
}

static void a_guard_switches_a_pair_off(void **state)
{
    (void)state;
    const char *text = "state x = 1\nvar f\nder(x) = f - 1\n0 <= f perp x >= 0 when pre(x) > 0.25 "
                       "or t < 0\nsimulate to 3 step 0.125\n";
    run r = run_model(parse_model(text), 0, 0);
    for (long k = 1; k < r.nrow; k++)
        assert_near(at(&r, k, "f"), 0, 0); /* off before it could push */
    assert_near(last(&r, "x"), -2, 1e-12);
    perp_simulation_summary s = simulation_summary(r.sim);
    assert_int_equal(s.modes[0][3] + s.modes[0][2] + s.modes[0][1], s.steps);
    assert_true(s.modes[0][3] > 0 && s.modes[0][2] > 0);
    free_run(&r);
    assert_near(value_of("state v = 1\nvar f\nder(v) = f\n-1 <= f <= 1 perp v when v > "
                         "100\nsimulate to 3 step 0.1\n",
                         "v"),
                1, 0);
}

/* The floor is there where the condition holds, ties included: a mass that is pulled down ends at 0, else at -3. */
static void conditions_of_pairs_compare(void **state)
{
    (void)state;
    const struct {
        const char *condition;
        int at_1, at_2, at_3; /* for a = 1, 2, 3 */
    } cases[] = {{"a <= 2", 1, 1, 0},           {"a < 2", 1, 0, 0},
                 {"a >= 2", 0, 1, 1},           {"a > 2", 0, 0, 1},
                 {"a < 2 or a > 2", 1, 0, 1},   {"a <= 2 and a >= 2", 0, 1, 0},
                 {"a <= 2 and a > 1", 0, 1, 0}, {"2*a >= 4 or a < 2", 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int a = 1; a <= 3; a++) {
            char text[256];
            snprintf(text, sizeof text,
                     "param a = %d\nstate x = 1\nvar p\nder(x) = p - 4\n"
                     "0 <= p perp x >= 0 when %s\nsimulate to 1 step 0.5\n",
                     a, cases[i].condition);
            double x = value_of(text, "x");
            int holds = a == 1 ? cases[i].at_1 : a == 2 ? cases[i].at_2 : cases[i].at_3;
            if (!near(x, holds ? 0 : -3, 1e-12))
                fail_msg("%s at a = %d: x = %g", cases[i].condition, a, x);
        }
    }
}

static void a_two_sided_pair_holds_its_bounds(void **state)
{
    (void)state;
    const struct {
        const char *e;
        double y;
    } cases[] = {{"y - 1", 1}, {"y - 7", 3}, {"y + 7", -2}};
    for (size_t i = 0; i < 3; i++) {
        char model[256];
        snprintf(model, sizeof model,
                 "state s = 0\nvar y\nder(s) = 0\n-2 <= y <= 3 perp %s\nsimulate to 1 step 1\n",
                 cases[i].e);
        assert_near(value_of(model, "y"), cases[i].y, 1e-14);
        snprintf(model, sizeof model,
                 "state s = 0\nvar y\nder(s) = 0\n%s perp -2 <= y <= 3\nsimulate to 1 step 1\n",
                 cases[i].e);
        assert_near(value_of(model, "y"), cases[i].y, 1e-14);
    }
}

static void bounds_may_depend_on_unknowns(void **state)
{
    (void)state;
    const char *text = "param mu = 0.5\ninput F = 10*t\nstate v = 0\nvar n, f\nder(v) = F + f\nn = "
                       "8 + t\n-mu*n <= f <= mu*n perp v\nsimulate to %g step 0.01\n";
    char model[256];
    snprintf(model, sizeof model, text, 0.4);
    assert_near(value_of(model, "v"), 0, 0);
    snprintf(model, sizeof model, text, 1.0);
    run r = run_model(parse_model(model), 0, 0);
    for (long k = 1; k < r.nrow; k++) {
        double t = at(&r, k, "t"), limit = 0.5 * (8 + t);
        if (at(&r, k, "v") == 0)
            assert_near(at(&r, k, "f"), -10 * t, 1e-11);
        else
            assert_near(at(&r, k, "f"), -limit, 1e-12);
    }
    assert_true(last(&r, "v") > 0.1);
    free_run(&r);
}

static void arrays_are_elementwise_and_loops_unroll(void **state)
{
    (void)state;
    const char *text = "param n = 3, k[3] = [1, 2, 4], A[2,3] = [[1, 2, 3], [4, 5, 6]]\n"
                       "state x[3] = 1\nvar y[2], z[2]\n"
                       "der(x) = -k*x\n"
                       "for i in 1..2 { y[i] = sum(j in 1..n, A[i,j]*x[j]) }\n"
                       "for i in 1..2 {\n  z[i] = dot(A[i], x)\n}\n"
                       "output total = sum(y), longest = norm(x)\n"
                       "simulate to 1 step 0.5\n";
    run r = run_model(parse_model(text), 0, 0);
    double x[3] = {pow(1.5, -2), pow(2, -2), pow(3, -2)};
    assert_near(last(&r, "x[1]"), x[0], 1e-15);
    assert_near(last(&r, "x[3]"), x[2], 1e-15);
    assert_near(last(&r, "y[2]"), 4 * x[0] + 5 * x[1] + 6 * x[2], 1e-14);
    assert_near(last(&r, "z[1]"), x[0] + 2 * x[1] + 3 * x[2], 1e-14);
    assert_near(last(&r, "total"), 5 * x[0] + 7 * x[1] + 9 * x[2], 1e-14);
    assert_near(last(&r, "longest"), sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), 1e-15);
    perp_diag diag = {0};
    assert_int_equal(perp_model_set(r.model, "n", 2, &diag), PERP_ERR_ARG); /* it sets a size */
    assert_non_null(strstr(diag.text, "sets the size"));
    perp_diag_clear(&diag);
    free_run(&r);
}

static void pairs_over_arrays_are_one_per_element(void **state)
{
    (void)state;
    run r = run_model(parse_model("state x[3] = [1, 2, 3]\nvar f[3]\nder(x) = f - 2\n0 <= f perp x "
                                  ">= 0\nsimulate to 1 step 0.1\n"),
                      0, 0);
    assert_int_equal(perp_model_pairs(r.model), 3);
    assert_near(last(&r, "x[1]"), 0, 1e-15);
    assert_near(last(&r, "x[2]"), 0, 1e-12);
    assert_near(last(&r, "x[3]"), 1, 1e-12);
    free_run(&r);
}

/* Messages ------------------------------------------------------------------------------------ */

static void mistakes_are_named(void **state)
{
    (void)state;
    const struct {
        const char *text, *says;
    } cases[] = {
        {"param sin = 1", "1:7: 'sin' is a word of the language"},
        {"param a = b", "1:11: unknown name 'b'"},
        {"param a = 2 b", "expected a unit in quotes, ',' or the end of the line, found 'b'"},
        {"param a = 2 \"m\" b", "expected the end of the line, found 'b'"},
        {"param a = 2; b = 3", "found ';'; a statement ends with its line"},
        {"state x = 0\nder(x) == 1", "found '='; an equation has one ="},
        {"state x = 0\nder(x) = x**2", "found '*'; a power is written ^"},
        {"state x = 0\nder(x) = x // decay", "found '/'; a comment begins with #"},
        {"% block\nstate x = 0\nder(x) = x", "found '%'; a comment begins with #"},
        {"state x = 0\nx' = 1", "a derivative is written der(x)"},
        {"param m1 = 1, mu1 = 2\noutput y = mu", "did you mean 'mu1'?"},
        {"state x = 0\nvar f\nder(x) = f", "2 unknowns (states and vars) and 1 equation or pair\n"},
        {"param a", "expected '=' and the parameter's value"},
        {"param a = 3x", "'3x' is not a number"},
        {"param a = 1 in [2, 1]", "the range of 'a' is empty"},
        {"var x scale 0", "1:13: the scale of 'x' must be a positive number"},
        {"var x scale -1e-6", "1:13: the scale of 'x' must be a positive number"},
        {"param a = 1\nvar x scale a - a", "2:13: the scale of 'x' must be a positive number"},
        {"var x scale 1e400", "1:13: the number 1e400 is too large"},
        {"param k = 1e300\nvar x scale k*k", "the scale of 'x' must be a positive number"},
        {"var x scale 0/0", "the scale of 'x' must be a positive number"},
        {"var x[2] scale [1, 2]", "the scale of 'x' must be a positive number"},
        {"var x scale y", "1:13: unknown name 'y'"},
        {"var x scale", "expected an expression, found the end of the file"},
        {"var x scale 1 scale 2", "1:15: the scale of 'x' is given twice"},
        {"var x \"m\" scale 1", "1:11: the scale of 'x' must stand before its unit"},
        {"var x scale 1 in [0, 1]", "expected a unit in quotes, ',' or the end of the line"},
        {"param a = 1 scale 1", "1:13: 'a' is not solved for: only states, vars and inputs"},
        {"output y = 1 scale 1", "'y' is not solved for"},
        {"param a = 1 \"kg", "the string is not closed"},
        {"param a = a", "unknown name 'a'"},
        {"param a = 2 + t", "'t' has no value here"},
        {"param a[2] = [1, 2, 3]", "the value of 'a' is 3 elements; expected 2 elements"},
        {"param a[1.5] = 1", "a size must be a whole number"},
        {"param a[2] = 1\noutput y = a[3]", "index 3 of 'a' is outside 1..2"},
        {"param a[2] = 1\noutput y = a[1,1]", "'a' has 1 index, not 2"},
        {"param a = 1\noutput y = a[1]", "is a scalar"},
        {"param a[2] = 1, b[3] = 1\noutput y = a + b",
         "the sizes differ: 2 elements and 3 elements"},
        {"var x = 1", "a var is solved for"},
        {"state x = 0\nvar y\nder(x) = pre(y)\ny = 1",
         "'y' is a var and has no value before the step"},
        {"input u = x\nstate x = 0", "'x' is a state; an input is a function of t and parameters"},
        {"output y = sine(1)", "unknown function 'sine'; did you mean 'sin'?"},
        {"output y = sin(1, 2)", "sin takes 1 argument, not 2"},
        {"param m = 1\noutput y = m(2)",
         "'m' is a parameter, not a function; write a product with *"},
        {"state x = 0\nder(x) < 1", "expected"},
        {"state x = 0\n0 < x perp x >= 0", "complementarity has no strict inequalities"},
        {"state x = 0\n0 <= x >= 1 perp x", "must point the same way"},
        {"state x = 0\n0 <= x <= 1 <= 2 perp x", "expected an operator or 'perp', found '<='"},
        {"output y = $", "the character '$' has no meaning"},
        {"output y = 1 +\n# end", "expected an expression, found the end of the line"},
        {"output y = (1 + 2\n# end", "expected ')', found the end of the line"},
        {"for i in 1..2 { x = 1", "expected '}'"},
        {"}", "expected a statement"},
        {"simulate untl 5", "expected from, to, step, method"},
        {"model a\nmodel b", "the model has a name already"},
        {"plan { nodes 3", "expected '}' at the end of the block"},
        {"input u = table(\"nosuch.csv\")\nstate x = 0\nder(x) = u", "No such file"},
        {"x = 1", "unknown name 'x'"},
        {"param a = 1e999", "is too large"},
        {"state x = 0\nfor i in 1..999 { for j in 1..999 { x = i*j } }", "unroll to more than"},
        {"state x[x] = 1", "unknown name 'x'"}, /* found by fuzzing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_diag diag = {0};
        perp_model *model;
        perp_status status =
            perp_model_parse(cases[i].text, strlen(cases[i].text), "m.perp", &model, &diag);
        if (status == PERP_OK || !strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("%s\nexpected '%s', got %s:\n%s", cases[i].text, cases[i].says,
                     perp_status_name(status), perp_diag_text(&diag));
        assert_null(model);
        assert_true(diag.errors > 0);
        perp_diag_clear(&diag);
    }
}

static void an_error_in_an_argument_is_told_once(void **state)
{
    (void)state;
    static const char *const text[] = {"output y = max(sin(1, 2))", "output y = norm(sin(1, 2))",
                                       "output y = sum(sin(1, 2), 1)", "output y = min()"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        perp_diag diag = {0};
        perp_model *model;
        assert_int_not_equal(perp_model_parse(text[i], strlen(text[i]), "m.perp", &model, &diag),
                             PERP_OK);
        assert_int_equal(diag.errors, 1);
        perp_diag_clear(&diag);
    }
}

/* Of a name that is there twice the second declaration is the only mistake: its value is not the first one's. */
static void a_second_declaration_is_one_mistake(void **state)
{
    (void)state;
    static const char text[] = "output a = 1\noutput a[2] = [1, 2]\n";
    perp_diag diag = {0};
    perp_model *model;
    assert_int_equal(perp_model_parse(text, sizeof text - 1, "m.perp", &model, &diag),
                     PERP_ERR_MODEL);
    assert_non_null(strstr(perp_diag_text(&diag), "m.perp:2:8: 'a' is already declared at 1:8"));
    assert_int_equal(diag.errors, 1);
    perp_diag_clear(&diag);
}

static void deep_nesting_is_refused_not_followed(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        char text[20000] = "param a = ";
        size_t n = strlen(text);
        for (int i = 0; i < 9000; i++) text[n++] = "(-["[k];
        text[n] = 0;
        perp_diag diag = {0};
        perp_model *model;
        assert_int_equal(perp_model_parse(text, n, "m.perp", &model, &diag), PERP_ERR_MODEL);
        if (!strstr(diag.text, "nested")) fail_msg("%s", diag.text);
        perp_diag_clear(&diag);
    }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    perp_model *model;
    assert_int_equal(perp_model_parse(NULL, 0, "x", &model, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_model_load(NULL, &model, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_model_load("/nonexistent", &model, NULL), PERP_ERR_FILE);
    assert_int_equal(perp_simulation_create(NULL, NULL, NULL, NULL), PERP_ERR_ARG);
    perp_model_destroy(NULL);
    perp_simulation_destroy(NULL);
}

/* Text that is not what it looks like, and expressions without a meaning or an end. */
static void deceptive_and_endless_models_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"state x = 1\nparam a\xE2\x80\xAE = 1\nder(x) = 0\n",
         "test.perp:2:8: the character U+202E is invisible"},
        {"state x = 1\nparam a\xE2\x80\x8B = 1\nder(x) = 0\n", "2:8: the character U+200B"},
        {"state x = 1 # \xE2\x81\xA6\nder(x) = 0\n", "1:15: the character U+2066"},
        {"state \xED\xA0\x80 = 1\nder(x) = 0\n", "1:7: not a text file: byte 0xED"},
        {"state x = 1\nparam \xE0\x81\x81 = 1\n", "2:7: not a text file: byte 0xE0"},
        {"state x = 1\nparam \xF0\x82\x82\xAC = 1\n", "2:7: not a text file: byte 0xF0"},
        {"state x = 1\nparam \xF4\x90\x80\x80 = 1\n", "2:7: not a text file: byte 0xF4"},
        {"state x = 1\nder(x) = pre(pre(x))\n", "2:14: pre() inside pre()"},
        {"state x = 1\nder(x) = sum(a in 1..200, sum(b in 1..200, sum(c in 1..200, sum(d in "
         "1..200, a*b*c*d*x))))\n",
         "the sums of the model have more than 2000000 terms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model;
        perp_diag diag = {0};
        perp_status status =
            perp_model_parse(cases[i].text, strlen(cases[i].text), "test.perp", &model, &diag);
        if (status != PERP_ERR_MODEL || !strstr(perp_diag_text(&diag), cases[i].says))
            fail_msg("expected '%s' in:\n%s", cases[i].says, perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    perp_model_destroy(parse_model("\xEF\xBB\xBFparam \xC3\xA4\xCE\xB1 = 1 # "
                                   "\xF0\x9F\x99\x82\nstate x = \xC3\xA4\xCE\xB1\nder(x) = 0\n"));
}

/* Every byte that is no text, at every place of a line, whatever stands beside it. */
static void bytes_that_are_no_text_are_found_where_they_stand(void **state)
{
    (void)state;
    static const char beside[] = " 0Az~";
    for (int byte = 1; byte < 256; byte++) {
        if (byte == '\n' || byte == '\r' || byte == '\t' || (byte >= 32 && byte < 127)) continue;
        for (int at = 2; at < 30; at++) {
            char text[64], says[64];
            perp_diag diag = {0};
            perp_model *model;
            memset(text, beside[(byte + at) % 5], 32);
            memcpy(text, "# ", 2);
            text[at] = (char)byte;
            strcpy(text + 32, "\nstate x = 1\nder(x) = 0\n");
            snprintf(says, sizeof says, "test.perp:1:%d: not a text file: byte 0x%02X", at + 1,
                     (unsigned)byte);
            perp_status status = perp_model_parse(text, strlen(text), "test.perp", &model, &diag);
            if (status != PERP_ERR_MODEL || !strstr(perp_diag_text(&diag), says))
                fail_msg("expected '%s' in:\n%s", says, perp_diag_text(&diag));
            perp_diag_clear(&diag);
        }
    }
}

static perp_status status_of(const char *text, const char *says)
{
    perp_model *model = parse_model(text);
    perp_simulation *sim = NULL;
    perp_diag diag = {0};
    perp_status status = perp_simulation_create(model, NULL, &sim, &diag);
    if (status == PERP_OK) status = simulation_run(sim, NULL, NULL, &diag);
    if (!strstr(perp_diag_text(&diag), says)) fail_msg("%s in %s", says, perp_diag_text(&diag));
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status;
}

/* 0 times what is no number is no number, at the start and later; where it is a number nothing is lost. */
static void nothing_times_an_infinity_is_refused(void **state)
{
    (void)state;
    assert_int_equal(
        status_of("param z = 0\nstate x = 1\nder(x) = 0*(1/z)\nsimulate to 1 step 0.1\n", ":3:"),
        PERP_ERR_MODEL);
    assert_int_equal(
        status_of(
            "state x = 1, z = 0\nder(x) = (1/z) - (1/z)\nder(z) = 0\nsimulate to 1 step 0.1\n",
            "division by zero"),
        PERP_ERR_MODEL);
    assert_int_equal(
        status_of("state x = 1, z = 2\nder(z) = -1\nder(x) = 0*log(z)\nsimulate to 4 step 0.5\n",
                  "no"),
        PERP_ERR_NO_SOLUTION);
    assert_int_equal(
        status_of("state x = 1, z = 2\nder(x) = 0*(1/z)\nder(z) = 0\nsimulate to 1 step 0.1\n", ""),
        PERP_OK);
}

/* A run has its steps; a step more is refused and changes nothing. */
static void a_step_past_the_end_is_refused(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 0\nder(x) = 1\nsimulate to 0.3 step 0.1\n");
    perp_simulation *sim;
    perp_diag diag = {0};
    double row[3], after[3];
    assert_int_equal(perp_simulation_create(model, NULL, &sim, NULL), PERP_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
    perp_simulation_row(sim, row);
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_ARG);
    assert_non_null(
        strstr(perp_diag_text(&diag), "the run has ended after its 3 steps, at t = 0.3"));
    perp_simulation_row(sim, after);
    assert_memory_equal(row, after, sizeof row);
    assert_int_equal(simulation_summary(sim).steps, 3);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A model of n parameters, each from the one before, and n inputs. The caller frees it. */
static char *text_of_names(int n)
{
    char *text = malloc(128 + (size_t)n * 96), *end = text;
    assert_non_null(text);
    end += sprintf(end, "param p0 = 1\n");
    for (int i = 1; i < n; i++)
        end += sprintf(end, "param p%d = p%d / 2 + 1 in [0, 3]\n", i, i - 1);
    for (int i = 0; i < n; i++) end += sprintf(end, "input u%d = t\n", i);
    sprintf(end, "state x[2] = 0\nder(x) = p%d * u%d\n", n - 1, n - 1);
    return text;
}

/* Seconds of this processor to read such a model and to ask for every name in it and its place: the least of three. */
static double seconds_for_names(int n)
{
    char *text = text_of_names(n), name[32];
    double least = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        clock_t start = clock();
        perp_model *model = parse_model(text);
        for (int i = 0; i < 2 * n; i++) {
            perp_symbol_kind kind;
            int index = -1;
            sprintf(name, "%c%d", i < n ? 'p' : 'u', i % n);
            assert_true(perp_model_find(model, name, &kind, &index));
            assert_int_equal(kind, i < n ? PERP_PARAM : PERP_INPUT);
            assert_int_equal(index, i % n);
            assert_int_equal(perp_model_symbol(model, kind, index).line, i + 1);
        }
        assert_false(perp_model_find(model, "p", NULL, NULL));
        assert_false(perp_model_find(model, "x", NULL, NULL)); /* its elements are x[1] and x[2] */
        assert_true(perp_model_find(model, "x[2]", NULL, NULL));
        perp_model_destroy(model);
        least = fmin(least, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    free(text);
    return least;
}

/* Eight times the names take about eight times as long; they took 64 times as long once. */
static void many_names_take_their_share_of_time(void **state)
{
    (void)state;
    double few = seconds_for_names(2500), many = seconds_for_names(20000);
    if (many > 24 * few + 0.1) fail_msg("2500 names: %g s, 20000 names: %g s", few, many);
}

/* Seconds of this processor to read a chain of n blocks on a rough floor: the least of three. */
static double seconds_for_chain(int n)
{
    char text[600];
    double least = INFINITY;
    sprintf(text,
            "param n = %d\nstate x[n] = 0\nstate v[n] = 1\nvar f[n]\nder(x) = v\n"
            "der(v[1]) = x[2] - x[1] + f[1]\n"
            "for i in 2..n - 1 { der(v[i]) = x[i-1] - 2*x[i] + x[i+1] + f[i] }\n"
            "der(v[n]) = x[n-1] - x[n] + f[n]\n-1 <= f <= 1 perp v\n",
            n);
    for (int turn = 0; turn < 3; turn++) {
        clock_t start = clock();
        perp_model_destroy(parse_model(text));
        least = fmin(least, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
}

static void many_conditions_take_their_share_of_time(void **state)
{
    (void)state;
    double few = seconds_for_chain(1250), many = seconds_for_chain(10000);
    if (many > 24 * few + 0.1) fail_msg("1250 blocks: %g s, 10000 blocks: %g s", few, many);
}

/* Whether conditions of the set `chosen` can have an unknown each: condition i has the bits of knows[i]. */
static int is_matchable(const int *knows, int chosen, int i, int used)
{
    if (chosen >> i == 0) return 1;
    if (!(chosen >> i & 1)) return is_matchable(knows, chosen, i + 1, used);
    for (int u = 0; u < 8; u++) {
        int is_free = (knows[i] & ~used) >> u & 1;
        if (is_free && is_matchable(knows, chosen, i + 1, used | 1 << u)) return 1;
    }
    return 0;
}

/* Conditions that have an unknown each, the earlier ones first: every one that can is in, all others are named. */
static void what_is_left_over_is_as_little_as_can_be(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 400; round++) {
        char text[2000], says[64], *end = text;
        int knows[8] = {0}, all = 0, n = 2 + round % 6, m = n + round / 6 % 3 - 1, chosen = 0;
        for (int i = 0; i < m * 2; i++) {
            knows[i / 2] |= 1 << (seed >> 16) % (unsigned)n;
            seed = seed * 1103515245u + 12345u;
        }
        for (int i = 0; i < m; i++) all |= knows[i];
        for (int u = 0; u < n; u++) knows[m - 1] |= ~all & 1 << u; /* none is without condition */
        for (int u = 0; u < n; u++) end += sprintf(end, "var u%d\n", u);
        for (int i = 0; i < m; i++) {
            int line = 3 + n + i;
            if (i == 0) end += sprintf(end, "state x = 0\nder(x) = 1\n");
            for (int u = 0; u < n; u++) {
                if (knows[i] >> u & 1) end += sprintf(end, "+u%d", u);
            }
            end += sprintf(end, " = %d\n", line);
            if (is_matchable(knows, chosen | 1 << i, 0, 0)) chosen |= 1 << i;
        }
        perp_model *model;
        perp_diag diag = {0};
        perp_model_parse(text, strlen(text), "m", &model, &diag);
        const char *said = perp_diag_text(&diag);
        int taken = 0, unknowns = 0;
        for (int i = 0; i < m; i++) {
            sprintf(says, "m:%d:1: this equation is left over", 3 + n + i);
            if (!!strstr(said, says) == (chosen >> i & 1))
                fail_msg("%s%s: equation %d", text, said, i + 1);
            taken += chosen >> i & 1;
        }
        for (const char *s = said; (s = strstr(s, "nothing determines")); s++) unknowns++;
        if (unknowns != n - taken) fail_msg("%s%s: %d of %d", text, said, taken, n);
        perp_diag_clear(&diag);
        perp_model_destroy(model);
    }
}

static void expect_range(const perp_model *m, const char *name, double lo, double hi)
{
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(m, name, &kind, &i));
    perp_symbol s = perp_model_symbol(m, kind, i);
    if (s.lo != lo || s.hi != hi) fail_msg("%s in [%g, %g]", name, s.lo, s.hi);
}

/* Ranges and scales are made of parameters, and go with them; an empty one is refused, and nothing was set. */
static void ranges_follow_parameters(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m =
        parse_model("param a = 1, b = 2*a\nparam c = 3 in [0, 4]\nstate x = 0 in [-b, c]\n"
                    "input u = 0 in [-a, a]\nvar q[2] in [0, b] scale c - a\n"
                    "der(x) = u\nq = [x, x]\nsimulate to 1 step 0.1\n");
    expect_range(m, "x", -2, 3);
    set_value(m, "a", 2);
    expect_range(m, "x", -4, 3);
    expect_range(m, "u", -2, 2);
    expect_range(m, "q[2]", 0, 4);
    expect_range(m, "c", 0, 4);
    assert_int_equal(perp_model_set(m, "a", -1, &diag), PERP_ERR_ARG);
    if (!strstr(perp_diag_text(&diag), "with a = -1 the range of 'u' is empty: 1 is not below -1"))
        fail_msg("%s", perp_diag_text(&diag));
    expect_range(m, "u", -2, 2);
    perp_diag_clear(&diag);
    assert_int_equal(perp_model_set(m, "c", 2, &diag), PERP_ERR_ARG);
    if (!strstr(perp_diag_text(&diag), "with c = 2 the scale of 'q[1]' is 0; it must be"))
        fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    set_value(m, "c", 3.5);
    expect_range(m, "x", -4, 3.5);
    perp_model_destroy(m);
}

/* A plan's table says how inputs go between its rows: here 1 - t^2 through the two points of each step, cut off at the range, and a held one. */
static void tables_of_plans_are_read_as_the_plan_meant_them(void **state)
{
    (void)state;
    static const char text[] = "input u in [-1, 0.9], f\nstate x = 0\nder(x) = u + f\n";
    static const char rows[] =
        "# points 2\n# held f\nt,u,f\n0,0,9\n0.25,0,2\n1,3,2\n1.5,-4,2\n2,-2,5\n";
    static const char odd[] = "# points 2\nt,u,f\n0,0,9\n1,0,2\n2,1,2\n3,2,2\n";
    perp_model *m = NULL;
    perp_trajectory *table = NULL;
    perp_diag diag = {0};
    int hint = 0;
    assert_int_equal(perp_model_parse(text, strlen(text), "m", &m, &diag), PERP_OK);
    assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "p", &table, &diag), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "u", table, NULL, "p", &diag), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "f", table, NULL, "p", &diag), PERP_OK);
    const perp__table *u = &m->item[PERP_INPUT][0].table, *f = &m->item[PERP_INPUT][1].table;
    assert_true(perp__table_value(u, 0, &hint) == -1); /* the line through 0 and 3 has -1 there */
    assert_true(perp__table_value(u, 0.375, &hint) == 0.5); /* between the points */
    assert_true(perp__table_value(u, 1, &hint) == 0.9);     /* not 3: the end belongs to its step */
    assert_true(perp__table_value(u, 1.25, &hint) == -1);   /* not -5 */
    assert_true(isnan(perp__table_value(u, 2.1, &hint)));
    hint = 0;
    assert_true(perp__table_value(f, 0.1, &hint) == 2 && perp__table_value(f, 2, &hint) == 5);
    assert_true(perp__table_value(f, 1.4, &hint) == 2 && perp__table_value(f, 1.6, &hint) == 5);
    perp_trajectory_destroy(table);
    assert_int_equal(perp_trajectory_parse(odd, strlen(odd), "odd.csv", &table, &diag), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "u", table, NULL, "odd.csv", &diag),
                     PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "odd.csv: 4 rows; 'points 2' needs"));
    perp_trajectory_destroy(table);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

/* A name that is unknown in every turn of a loop is looked for among all others once, and said once. */
static void an_unknown_name_in_a_loop_is_said_once(void **state)
{
    (void)state;
    static char text[16384] = "state x = 1\nder(x) = 0\n";
    size_t n = strlen(text);
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "param stiffness%d = 1\n", i);
    snprintf(text + n, sizeof text - n, "for i in 1..300 { for j in 1..300 { damping7 = x } }\n");
    perp_diag diag = {0};
    perp_model *model = NULL;
    clock_t begin = clock();
    assert_int_equal(perp_model_parse(text, strlen(text), "a.perp", &model, &diag), PERP_ERR_MODEL);
    double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("90 000 turns with an unknown name: %.2g s\n", took);
    assert_int_equal(diag.errors, 1);
    assert_non_null(strstr(perp_diag_text(&diag), "unknown name 'damping7'"));
    assert_true(took < 3); /* 6 s when each turn looked */
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_name_in_a_loop_is_said_once),
        cmocka_unit_test(expressions_have_the_usual_precedence),
        cmocka_unit_test(statements_continue_inside_brackets_and_comments_end_lines),
        cmocka_unit_test(words_have_signs_for_them),
        cmocka_unit_test(names_may_be_greek),
        cmocka_unit_test(parameters_follow_what_is_set),
        cmocka_unit_test(symbols_keep_units_ranges_and_places),
        cmocka_unit_test(a_unit_is_of_its_name_and_of_bare_names_before_it),
        cmocka_unit_test(ranges_follow_parameters),
        cmocka_unit_test(a_scale_is_a_word_only_behind_a_declared_name),
        cmocka_unit_test(pre_is_the_value_before_the_step),
        cmocka_unit_test(a_step_past_the_end_is_refused),
        cmocka_unit_test(nothing_times_an_infinity_is_refused),
        cmocka_unit_test(deceptive_and_endless_models_are_refused),
        cmocka_unit_test(bytes_that_are_no_text_are_found_where_they_stand),
        cmocka_unit_test(inputs_and_time_are_taken_at_the_end_of_the_step),
        cmocka_unit_test(discrete_states_are_bare_before_and_next_after),
        cmocka_unit_test(backward_euler_solves_implicit_equations),
        cmocka_unit_test(a_guard_switches_a_pair_off),
        cmocka_unit_test(conditions_of_pairs_compare),
        cmocka_unit_test(a_two_sided_pair_holds_its_bounds),
        cmocka_unit_test(bounds_may_depend_on_unknowns),
        cmocka_unit_test(arrays_are_elementwise_and_loops_unroll),
        cmocka_unit_test(pairs_over_arrays_are_one_per_element),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(an_error_in_an_argument_is_told_once),
        cmocka_unit_test(many_names_take_their_share_of_time),
        cmocka_unit_test(many_conditions_take_their_share_of_time),
        cmocka_unit_test(what_is_left_over_is_as_little_as_can_be),
        cmocka_unit_test(a_second_declaration_is_one_mistake),
        cmocka_unit_test(deep_nesting_is_refused_not_followed),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(tables_of_plans_are_read_as_the_plan_meant_them),
    };
    return run_all(tests);
}
