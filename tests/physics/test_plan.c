/* Plans with known optima. The push: exact optima of the discrete problem are known for each number
 * of nodes. */

#include "runs.h"

/* Solve a model's plan; the caller destroys plan and model. */
static perp_plan *solve(perp_model *m, const perp_plan_options *o, perp_plan_result *result)
{
    perp_diag diag = {0};
    perp_plan *plan;
    if (perp_plan_create(m, o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, result, &diag), PERP_OK);
    perp_diag_clear(&diag);
    return plan;
}

static perp_plan_result solve_example(const char *file, perp_plan_options *o)
{
    perp_model *m = load_model(file);
    perp_plan_result result;
    perp_plan_options standard = perp_plan_options_default(m);
    perp_plan *plan = solve(m, o ? o : &standard, &result);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
    return result;
}

static void assert_optimal(const perp_plan_result *r, double cost, double tol)
{
    if (r->outcome != PERP_PLAN_OPTIMAL)
        fail_msg("%s: cost %.12g, pairs %g, defect %g, bounds %g, conditions %g, stationarity %g",
                 perp_plan_outcome_name(r->outcome), r->cost, r->complementarity, r->defect,
                 r->bounds, r->conditions, r->stationarity);
    assert_near(r->cost, cost, tol);
    assert_true(r->complementarity <= 1e-8 && r->defect <= 1e-8);
    assert_true(r->bounds <= 1e-8 && r->conditions <= 1e-8);
}

static void the_push_reaches_its_exact_optimum_from_every_start(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    for (unsigned seed = 0; seed < 22; seed++) {
        perp_plan_options o = perp_plan_options_default(m);
        o.start = seed == 0   ? PERP_PLAN_START_MODEL
                  : seed == 1 ? PERP_PLAN_START_ZEROS
                              : PERP_PLAN_START_RANDOM;
        o.seed = seed;
        o.restarts = 0; /* each on its own */
        perp_plan_result r;
        perp_plan *plan = solve(m, &o, &r);
        assert_optimal(&r, 0.65, 1e-8);
        assert_near(r.horizon, 0.65, 1e-8);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

static void the_push_follows_its_known_optima_as_nodes_grow(void **state)
{
    (void)state;
    const struct {
        int nodes;
        double T;
    } known[] = {{40, 0.65},         {41, 0.632921375},  {80, 0.640774613},
                 {160, 0.636542562}, {320, 0.634524189}, {321, 0.632531223}};
    perp_model *m = load_model("opty/push.perp");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r;
        o.nodes = known[i].nodes;
        perp_plan *plan = solve(m, &o, &r);
        assert_optimal(&r, known[i].T, 1e-9);
        perp_plan_destroy(plan);
    }
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_push_reaches_its_exact_optimum_from_every_start),
        cmocka_unit_test(the_push_follows_its_known_optima_as_nodes_grow),
    };
    (void)solve_example;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
