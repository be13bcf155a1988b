/* Multipliers and the slopes of the least cost, beside differences of plans that are solved again with a little more. */

#include "runs.h"

static perp_plan *solve(perp_model *m, perp_plan_result *r)
{
    perp_diag diag = {0};
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(m);
    o.replay = 0;
    if (perp_plan_create(m, &o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, r, &diag), PERP_OK);
    if (r->outcome > PERP_PLAN_STATIONARY_B) fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return plan;
}

/* The cost of a plan with another value of a parameter. */
static double cost_with(const char *text, const char *name, double value)
{
    perp_plan_result r = {.size = sizeof r};
    perp_model *m = parse_model(text);
    set_value(m, name, value);
    perp_plan_destroy(solve(m, &r));
    perp_model_destroy(m);
    return r.cost;
}

/* d cost / d parameter by plans that are solved again. */
static double quotient(const char *text, const char *name, double value)
{
    double d = 1e-4 * fmax(fabs(value), 0.1);
    return (cost_with(text, name, value + d) - cost_with(text, name, value - d)) / (2 * d);
}

static double value_of(const perp_model *m, const char *name)
{
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(m, name, &kind, &i));
    return perp_model_symbol(m, kind, i).value;
}

static double sum_of(const perp_plan *plan, const char *kind, const char *text)
{
    for (int i = 0; i < perp_plan_multipliers(plan); i++) {
        perp_plan_multiplier q = perp_plan_get_multiplier(plan, i);
        if (strcmp(q.kind, kind) == 0 && strcmp(q.text, text) == 0) return q.sum;
    }
    fail_msg("no multiplier of %s '%s'", kind, text);
    return NAN;
}

/* Everything that a plan's cost can hang on, each by a parameter of its own. The last two are those of a condition's or range's side: `priced`. */
typedef struct scene {
    const char *text;
    const char *param[9];
    const char *kind[3], *priced[3],
        *side[3]; /* the multiplier of `priced` is the slope along `side` */
} scene;

#define CART "input u\nstate x = x0, v = 0\nder(x) = v\nm*der(v) = u - c*v\n"
static const scene scenes[] = {
    {"param um = 2, m = 1.5, c = 0.3, L = 1, x0 = 0.1, T = 2, s = 0.5\n" CART
     "plan {\nfree u in [-um, um]\nhorizon T\nnodes 21\nminimize integral(u^2 + s*v^4)\nat end: x "
     "= L, v = 0\n}\n",
     {"m", "c", "L", "x0", "T", "s", "um"},
     {"condition"},
     {"x = L"},
     {"L"}},
    {"param um = 1, m = 1, c = 0.2, L = 3, x0 = 0, vm = 1.2, k = 0.1, a = 0\n" CART
     "plan {\nfree u in [-9, um]\nhorizon free in [0.1, 9]\nnodes 21\nmethod radau5\ninputs "
     "held\nminimize time + "
     "0.01*integral(u^2)\n"
     "v <= vm\nat end: x + k*v = L, v = a\n}\n",
     {"m", "c", "L", "vm", "k", "um", "a"},
     {"condition", "condition", "range"},
     {"x + k*v = L", "v <= vm", "u"},
     {"L", "vm", "um"}},
    {"param um = 9, m = 1, c = 0, e = 0.7, x0 = 0.2, d = 1, q = 2, L = 2\n" CART
     "plan {\nfree u in [-um, um]\nminimize integral(u^2)\nphase a {\nhorizon 1\nnodes 9\nparam c "
     "= 0.5*q\nat end: x = "
     "d\n}\n"
     "link: v = -e*pre(v)\nphase b {\nhorizon 1\nnodes 9\nat end: x - x0 = L - 1.5\n}\n}\n",
     {"m", "c", "e", "d", "q", "x0", "L"},
     {"condition", "condition"},
     {"x = d", "x - x0 = L - 1.5"},
     {"d", "L"}},
    {"param um = 1.6, m = 1.5, c = 0.3, L = 1, x0 = 0.1, T = 2, s = 0.5\n" CART /* at both ends of its range */
     "plan {\nfree u in [-um, um]\nhorizon T\nnodes 21\nminimize integral(u^2)\nat end: x = L, v = "
     "0\n}\n",
     {"um", "L", "m"},
     {"condition", "range"},
     {"x = L", "u"},
     {"L", "um"}},
    {"param m = 1, mu = 0.3, g = 9.81, L = 1, r = 0.1\ninput F\nstate x = 0, v = 0\nvar f\n"
     "der(x) = v\nm*der(v) = F + f\n-mu*m*g <= f <= mu*m*g perp v\n"
     "plan {\nhorizon 2\nnodes 21\nminimize integral(F^2 + r*v^2)\nat end: x = L, v = 0\n}\n",
     {"m", "mu", "g", "L", "r"},
     {"condition"},
     {"x = L"},
     {"L"}},
};

static void slopes_are_those_of_plans_solved_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const scene *s = &scenes[i];
        perp_plan_result r = {.size = sizeof r};
        perp_model *m = parse_model(s->text);
        perp_plan *plan = solve(m, &r);
        assert_int_equal(perp_plan_find_multipliers(plan, NULL), PERP_OK);
        for (int k = 0; k < 9 && s->param[k]; k++) {
            double slope, other = quotient(s->text, s->param[k], value_of(m, s->param[k]));
            assert_int_equal(perp_plan_cost_slope(plan, s->param[k], &slope, NULL), PERP_OK);
            assert_near(slope, other, 1e-5 * (fabs(other) + fabs(r.cost)));
        }
        for (int k = 0; k < 3 && s->kind[k]; k++) {
            double slope, sum = sum_of(plan, s->kind[k], s->priced[k]);
            assert_int_equal(perp_plan_cost_slope(plan, s->side[k], &slope, NULL), PERP_OK);
            assert_near(sum, slope, 1e-6 * (fabs(slope) + fabs(r.cost)));
        }
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* Where the cost has no slope there is none; what is no answer has no multipliers. */
static void what_has_no_slope_has_none(void **state)
{
    (void)state;
    perp_plan_result r = {.size = sizeof r};
    perp_diag diag = {0};
    double slope;
    perp_model *m = parse_model(
        "param a = 0, n = 9, p = 1\ninput u\nstate x = 0\nder(x) = u\nplan {\nhorizon 1\n"
        "nodes n\nfree p in [0.5, 2]\nminimize integral(u^2 + (p - 1)^2)\n"
        "at end: x = 1 + abs(a)\n}\n");
    perp_plan *plan = solve(m, &r);
    assert_int_equal(perp_plan_multipliers(plan), 0);
    assert_int_equal(perp_plan_cost_slope(plan, "a", &slope, NULL), PERP_OK);
    assert_true(isnan(slope)); /* |a| at 0 */
    assert_int_equal(perp_plan_cost_slope(plan, "p", &slope, NULL), PERP_OK);
    assert_near(slope, 0, 1e-7);
    assert_int_equal(perp_plan_cost_slope(plan, "u", &slope, &diag), PERP_ERR_ARG);
    assert_string_equal(perp_diag_text(&diag), "test.perp: 'u' is no parameter\n");
    assert_int_equal(perp_plan_find_multipliers(plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_multipliers(plan), 2);
    perp_plan_multiplier end = perp_plan_get_multiplier(plan, 0);
    assert_int_equal(end.line, 10);
    assert_int_equal(end.node, 8);
    assert_near(end.sum, 2, 1e-7);
    assert_near(perp_plan_multiplier_at(plan, 0, 8), 2, 1e-7);
    assert_near(perp_plan_multiplier_at(plan, 0, 7), 0, 0);
    assert_true(isnan(perp_plan_multiplier_at(plan, 0, 9)));
    assert_string_equal(perp_plan_get_multiplier(plan, 2).kind, "");
    assert_int_equal(perp_plan_shift(plan, 1), PERP_OK);
    perp_diag_clear(&diag);
    assert_int_equal(perp_plan_find_multipliers(plan, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "stationary"));
    perp_diag_clear(&diag);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* The last two nodes are held three times over by x = 0, v = 0 and x >= 0, or by the first two alone. */
static void multipliers_that_are_a_choice_are_called_so(void **state)
{
    (void)state;
    static const char *const low[] = {"-1", "0"};
    for (int i = 0; i < 2; i++) {
        char text[400];
        perp_diag diag = {0};
        perp_plan_result r = {.size = sizeof r};
        snprintf(text, sizeof text,
                 "input u in [-9, 9]\nstate x = 1 in [%s, 2], v = 0\nder(x) = v\nder(v) = u\n"
                 "plan {\n horizon 1\n nodes 11\n minimize integral(u^2)\n"
                 " at end: x = 0, v = 0\n}\n",
                 low[i]);
        perp_model *m = parse_model(text);
        perp_plan *plan = solve(m, &r);
        assert_int_equal(perp_plan_find_multipliers(plan, &diag), PERP_OK);
        assert_int_equal(strstr(perp_diag_text(&diag), "one choice of many") != NULL, i);
        if (i == 0) assert_near(perp_plan_get_multiplier(plan, 0).sum, -2 * r.cost, 1e-5);
        perp_diag_clear(&diag);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_plans_solved_again),
        cmocka_unit_test(what_has_no_slope_has_none),
        cmocka_unit_test(multipliers_that_are_a_choice_are_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
