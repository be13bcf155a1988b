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

static void smooth_problems_reach_their_known_optima(void **state)
{
    (void)state;
    const struct {
        const char *file;
        double cost, tol;
    } known[] = {{"control/brachistochrone.perp", 1.790301924, 1e-9},
                 {"control/double_integrator.perp", 12, 1e-9},
                 {"control/hypersensitive.perp", 6.72411381, 1e-7}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        perp_plan_result r = solve_example(known[i].file, NULL);
        assert_optimal(&r, known[i].cost, known[i].tol);
    }
}

/* A weak motor needs more than one swing; the cost falls towards its limit as nodes grow. */
static void a_pendulum_is_swung_up(void **state)
{
    (void)state;
    perp_model *m = load_model("control/swing_up.perp");
    double cost[3];
    for (int i = 0; i < 3; i++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r;
        o.nodes = 41 << i;
        perp_plan_destroy(solve(m, &o, &r));
        assert_int_equal(r.outcome, PERP_PLAN_OPTIMAL);
        cost[i] = r.cost;
    }
    assert_true(fabs(cost[2] - cost[1]) < 0.3 * fabs(cost[1] - cost[0]));
    perp_model_destroy(m);
}

static void free_switch_times_give_the_optimum_of_continuous_time(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push_phases.perp");
    for (int nodes = 5; nodes <= 81; nodes = 2 * nodes - 1) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r;
        o.nodes = nodes;
        perp_plan_destroy(solve(m, &o, &r));
        assert_optimal(&r, 0.632524016341, 1e-9);
    }
    perp_model_destroy(m);
}

static void ipopt_agrees_with_the_own_back_end(void **state)
{
    (void)state;
    const char *files[] = {"opty/push.perp", "control/brachistochrone.perp",
                           "control/double_integrator.perp", "control/swing_up.perp",
                           "opty/push_phases.perp"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        perp_model *m = load_model(files[i]);
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result own = solve_example(files[i], &o), other;
        perp_plan *plan;
        o.backend = PERP_PLAN_IPOPT;
        perp_status status = perp_plan_create(m, &o, &plan, NULL);
        if (status == PERP_ERR_UNAVAILABLE) {
            perp_model_destroy(m);
            skip();
        }
        assert_int_equal(status, PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &other, NULL), PERP_OK);
        assert_optimal(&other, own.cost, 1e-8 * (1 + fabs(own.cost)));
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

static void every_treatment_of_pairs_verifies(void **state)
{
    (void)state;
    perp_model *m = load_model("opty/push.perp");
    for (int pairs = 0; pairs < PERP_PLAN_PAIRS_COUNT; pairs++) {
        perp_plan_options o = perp_plan_options_default(m);
        perp_plan_result r;
        o.pairs = (perp_plan_pairs)pairs;
        perp_plan_destroy(solve(m, &o, &r));
        assert_int_equal(r.outcome, PERP_PLAN_OPTIMAL);
        if (o.pairs == PERP_PLAN_L1)
            assert_true(r.cost > 0.65 - 1e-8); /* a penalty may end in another local optimum */
        else
            assert_near(r.cost, 0.65, 1e-8);
    }
    perp_model_destroy(m);
}

/* The diagnostics of a plan that cannot be; every string must be in them. */
static void expect_conflict(const char *text, const char *const *says, int n)
{
    perp_model *m = parse_model(text);
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r;
    perp_plan *plan;
    perp_diag diag = {0};
    assert_int_equal(perp_plan_create(m, &o, &plan, &diag), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, &diag), PERP_OK);
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    for (int i = 0; i < n; i++)
        if (!strstr(perp_diag_text(&diag), says[i]))
            fail_msg("expected '%s' in:\n%s", says[i], perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

static void goals_out_of_reach_end_with_what_conflicts(void **state)
{
    (void)state;
    /* at most 1 m/s for 2 s: 3 m are out of reach; backward Euler gets to 1.843 */
    expect_conflict(
        "param mu = 0.6\ninput F in [-10, 10]\nstate x = 0\nstate v = 0 in [-1, 1]\n"
        "var f\nder(x) = v\nder(v) = F + f\n-mu*9.81 <= f <= mu*9.81 perp v\n"
        "plan {\nhorizon 2\nnodes 41\nminimize integral(F^2)\nat end: x = 3, v = 0\n}\n",
        (const char *[]){"'x = 3' by 1.157", "the range of 'v': at 1 in", "the horizon of 2"}, 3);
    /* 400 N against friction of 981 N: it does not move at all */
    perp_model *m = load_model("opty/push.perp");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r;
    set_value(m, "mu", 100);
    perp_plan_destroy(solve(m, &o, &r));
    assert_int_equal(r.outcome, PERP_PLAN_INFEASIBLE);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_push_reaches_its_exact_optimum_from_every_start),
        cmocka_unit_test(the_push_follows_its_known_optima_as_nodes_grow),
        cmocka_unit_test(free_switch_times_give_the_optimum_of_continuous_time),
        cmocka_unit_test(smooth_problems_reach_their_known_optima),
        cmocka_unit_test(a_pendulum_is_swung_up),
        cmocka_unit_test(ipopt_agrees_with_the_own_back_end),
        cmocka_unit_test(every_treatment_of_pairs_verifies),
        cmocka_unit_test(goals_out_of_reach_end_with_what_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
