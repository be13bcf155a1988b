/* Methods of time stepping: the order conditions of every row of perp/schemes.h, and the order that each engine shows with it. */

#include "model/scheme.h"
#include "runs.h"
#include "outcomes.h"

enum { MOST = 8 };

static const struct {
    const char *word;
    int simulate, plan;
} method[] = {
#define ROW(X, NAME, word, simulate, plan, ...) {word, simulate, plan},
    PERP_SCHEME_LIST(ROW, )
#undef ROW
};
enum { METHODS = (int)(sizeof method / sizeof *method) };

/* Radau IIA of n points has order 2 n - 1; a weighted method 2 at theta = 1/2. */
static int order_of(const perp__scheme *s)
{
    return s->is_weighted ? 2 : 2 * s->npoint - 1;
}

static void weights_integrate_powers_up_to_the_order(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        perp__scheme s = perp__scheme_make(method[m].word, 0.5);
        assert_true(s.npoint >= 1 && s.npoint <= PERP__MOST_POINTS && s.c[s.npoint - 1] == 1);
        for (int k = 1; k <= 2 * s.npoint - 1; k++) {
            double sum = 0;
            for (int i = 0; i < s.npoint; i++) sum += s.b[i] * pow(s.c[i], k - 1);
            if (!near(sum, 1.0 / k, 1e-15)) fail_msg("%s: order %d: %.17g", method[m].word, k, sum);
        }
    }
}

static void slopes_are_those_of_the_polynomial_through_start_and_points(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        perp__scheme s = perp__scheme_make(method[m].word, 0.5);
        for (int i = 0; i < s.npoint; i++) {
            for (int k = 0; k <= s.npoint; k++) {
                double slope = k ? 0 : s.D[i][0];
                for (int j = 0; j < s.npoint; j++) slope += s.D[i][j + 1] * pow(s.c[j], k);
                double right = k ? k * pow(s.c[i], k - 1) : 0;
                if (!near(slope, right, 1e-14))
                    fail_msg("%s: point %d, power %d: %.17g", method[m].word, i, k, slope);
            }
        }
    }
}

static void between_points_lies_their_polynomial(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        perp__scheme s = perp__scheme_make(method[m].word, 0.5);
        double value[PERP__MOST_POINTS];
        for (int k = 0; k < s.npoint; k++) {
            for (int i = 0; i < s.npoint; i++) value[i] = pow(s.c[i], k);
            assert_true(near(perp__scheme_between(&s, value, 0.3), pow(0.3, k), 1e-15));
        }
    }
}

static void theta_counts_only_where_it_weighs(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        perp__scheme s = perp__scheme_make(method[m].word, 0.75);
        assert_true(s.theta == (s.is_weighted ? 0.75 : 1));
    }
}

/* x' = -x + cos(9 t), at 1 from x(0) = 1. */
static const char text[] = "state x = 1\nder(x) = cos(9*t) - x\nsimulate to 1 step 0.01\n"
                           "plan {\n horizon 1\n nodes 11\n minimize integral(x^2)\n}\n";

static double exact(void)
{
    return (cos(9) + 9 * sin(9)) / 82 + (1 - 1.0 / 82) * exp(-1);
}

static double end_of_simulation(const perp_model *model, int m, int steps)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    double row[MOST];
    o.integrator = perp_integrator_find(method[m].word);
    o.step = 1.0 / steps;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
    perp_simulation_row(sim, row);
    perp_simulation_destroy(sim);
    return row[1];
}

static double end_of_plan(const perp_model *model, int m, int steps)
{
    perp_plan_options o = perp_plan_options_default(model);
    perp_plan *plan;
    perp_plan_result result = {.size = sizeof result};
    double row[MOST];
    o.method = perp_plan_method_find(method[m].word);
    o.nodes = steps + 1;
    o.replay = 0;
    assert_int_equal(perp_plan_create(model, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &result, NULL), PERP_OK);
    perp_plan_row(plan, steps, row);
    perp_plan_destroy(plan);
    return row[1];
}

/* Halving the step divides the error by 2 to the order. */
static void expect_order(const perp_model *model, int m,
                         double (*end)(const perp_model *model, int m, int steps))
{
    perp__scheme s = perp__scheme_make(method[m].word, 0.5);
    int steps = s.npoint == 1 ? 80 : s.npoint < 4 ? 20 : 12; /* to above rounding */
    double coarse = end(model, m, steps) - exact(), fine = end(model, m, 2 * steps) - exact();
    double order = log2(fabs(coarse / fine));
    if (!(fabs(order - order_of(&s)) < 0.2))
        fail_msg("%s: order %g; errors %g, %g", method[m].word, order, coarse, fine);
}

static void every_engine_has_the_order_of_its_methods(void **state)
{
    (void)state;
    perp_model *model = parse_model(text);
    for (int m = 0; m < METHODS; m++) {
        assert_int_equal(perp_integrator_find(method[m].word) != PERP_INTEGRATOR_COUNT,
                         method[m].simulate);
        assert_int_equal(perp_plan_method_find(method[m].word) != PERP_PLAN_METHOD_COUNT,
                         method[m].plan);
        if (method[m].simulate) expect_order(model, m, end_of_simulation);
        if (method[m].plan) expect_order(model, m, end_of_plan);
    }
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_integrate_powers_up_to_the_order),
        cmocka_unit_test(slopes_are_those_of_the_polynomial_through_start_and_points),
        cmocka_unit_test(between_points_lies_their_polynomial),
        cmocka_unit_test(theta_counts_only_where_it_weighs),
        cmocka_unit_test(every_engine_has_the_order_of_its_methods),
    };
    return run_all(tests);
}
