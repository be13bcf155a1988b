/* Results of the library: a struct that a function fills begins with its size, without which the call is refused; the size stays; and "no
 * solution" is an outcome with the status PERP_OK. */

#include "unit.h"

#include "perp/perp.h"

#include <string.h>

static const char slide[] = "model slide\nparam mu = 0.3\nstate v = 1\nvar f\nder(v) = f\n"
                            "-mu*9.81 <= f <= mu*9.81 perp v\nsimulate to 0.1 step 0.01\n",
                  none[] = "model none\nstate x = 1\nder(x) = sqrt(0.5 - t) - sqrt(0.5 - t)\n"
                           "simulate to 1 step 0.1\n",
                  push[] = "model push\ninput u in [-1, 1]\nstate x = 0, v = 0\nder(x) = v\n"
                           "der(v) = u\nplan {\n horizon 2\n nodes 5\n minimize integral(u^2)\n"
                           " at end: x = 0.5, v = 0\n}\n";

static perp_model *model_of(const char *text)
{
    perp_model *model;
    assert_int_equal(perp_model_parse(text, strlen(text), "m", &model, NULL), PERP_OK);
    return model;
}

static perp_simulation *run_of(const perp_model *model)
{
    perp_simulation *sim;
    assert_int_equal(perp_simulation_create(model, NULL, &sim, NULL), PERP_OK);
    return sim;
}

/* Of a call whose result has no size, a size that is too small, and its size, which is still there after it. */
#define REFUSES(type, call)                                                                        \
    do {                                                                                           \
        type result = {.size = 0};                                                                 \
        assert_int_equal(call, PERP_ERR_ARG);                                                      \
        result.size = sizeof result - 1;                                                           \
        assert_int_equal(call, PERP_ERR_ARG);                                                      \
        result.size = sizeof result;                                                               \
        assert_int_equal(call, PERP_OK);                                                           \
        assert_int_equal(result.size, sizeof result);                                              \
    } while (0)

static void results_of_problems_have_a_size(void **state)
{
    (void)state;
    const double M = 2, q = -1, mu = 0.5;
    const perp_lcp lcp = {.n = 1, .M = &M, .ldm = 1, .q = &q};
    const double W[4] = {1, 0, 0, 1}, qf[2] = {-1, 0.1}, identity[4] = {1, 0, 0, 1};
    const perp_fc fc = {.dimension = 2, .nc = 1, .q = qf, .mu = &mu, .W = W, .ldw = 2};
    const double velocity[2] = {0.1, -1}, jacobian[8] = {0, 1, 1, 0};
    const int body[2] = {0, -1};
    const perp_pile pile = {.dimension = 2,
                            .dof = 2,
                            .nbody = 1,
                            .inverse_mass = identity,
                            .velocity = velocity,
                            .nc = 1,
                            .body = body,
                            .jacobian = jacobian,
                            .mu = &mu};
    double z, r[2];
    perp_lcp_solver *solver;
    perp_fc_solver *cone;
    perp_formulas *formulas;
    perp_mcp_solver *nonlinear;
    const char *F = "x1^2 + x1 - 2";
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, 1, NULL, &solver), PERP_OK);
    assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &fc, NULL, &cone), PERP_OK);
    assert_int_equal(perp_formulas_create(1, &F, "F", &formulas, NULL), PERP_OK);
    perp_mcp mcp = perp_formulas_mcp(formulas);
    REFUSES(perp_lcp_info, perp_lcp_solve(solver, &lcp, &z, NULL, &result));
    REFUSES(perp_lcp_class, perp_lcp_classify(&lcp, &result));
    REFUSES(perp_fc_info, perp_fc_solve(cone, &fc, r, NULL, &result));
    REFUSES(perp_pile_info, perp_pile_solve(&pile, NULL, r, NULL, &result));
    if (perp_mcp_solver_create(PERP_MCP_AUTO, &mcp, NULL, &nonlinear) == PERP_OK) {
        z = 0;
        REFUSES(perp_mcp_info, perp_mcp_solve(nonlinear, &mcp, &z, NULL, &result));
        perp_mcp_solver_destroy(nonlinear);
    }
    perp_formulas_destroy(formulas);
    perp_fc_solver_destroy(cone);
    perp_lcp_solver_destroy(solver);
}

static void results_of_models_have_a_size(void **state)
{
    (void)state;
    perp_model *model = model_of(slide), *planned = model_of(push);
    perp_simulation *sim = run_of(model);
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(planned);
    REFUSES(perp_check_report, perp_check(model, NULL, &result, NULL));
    REFUSES(perp_time_scales, perp_time_scales_find(model, NULL, &result, NULL));
    REFUSES(perp_step_info, perp_simulation_step(sim, &result, NULL));
    REFUSES(perp_step_info, perp_simulation_advance(sim, 0.025, &result, NULL));
    REFUSES(perp_simulation_summary, perp_simulation_get_summary(sim, &result));
    REFUSES(perp_simulation_summary, perp_simulation_run(sim, NULL, NULL, &result, NULL));
    assert_int_equal(perp_simulation_step(sim, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_run(sim, NULL, NULL, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_plan_create(planned, &o, &plan, NULL), PERP_OK);
    REFUSES(perp_plan_result, perp_plan_solve(plan, &result, NULL));
    REFUSES(perp_plan_result, perp_plan_solve_again(plan, 0, &result, NULL));
    REFUSES(perp_plan_result, perp_plan_iterate(plan, &result, NULL));
    perp_plan_destroy(plan);
    perp_simulation_destroy(sim);
    perp_model_destroy(planned);
    perp_model_destroy(model);
}

static void results_of_bodies_have_a_size(void **state)
{
    (void)state;
    const perp_body ball = {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {1, 1, 1}};
    perp_bodies *b;
    assert_int_equal(perp_bodies_create(&ball, 1, NULL, 0, NULL, &b, NULL), PERP_OK);
    REFUSES(perp_bodies_info, perp_bodies_step(b, &result, NULL));
    REFUSES(perp_assembly, perp_bodies_assemble(b, &result, NULL));
    assert_int_equal(perp_bodies_step(b, NULL, NULL), PERP_ERR_ARG);
    assert_near(perp_bodies_time(b), 0.002, 0); /* what was refused did nothing */
    perp_bodies_destroy(b);
}

/* Half of the run is verified; then there is no root: an outcome of the step, of the summary, and of a copy in a batch. */
static void no_solution_is_an_outcome(void **state)
{
    (void)state;
    perp_model *model = model_of(none);
    perp_simulation *sim = run_of(model);
    perp_diag diag = {0};
    perp_simulation_summary all = {.size = sizeof all};
    perp_step_info info = {.size = sizeof info};
    assert_int_equal(perp_simulation_run(sim, NULL, NULL, &all, &diag), PERP_OK);
    assert_int_equal(all.outcome, PERP_LIMIT);
    assert_int_equal(all.steps, 5);
    assert_true(diag.errors > 0);
    assert_int_equal(perp_simulation_step(sim, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_int_equal(perp_simulation_advance(sim, 0.7, &info, NULL), PERP_OK);
    assert_int_equal(info.outcome, PERP_LIMIT);
    assert_near(perp_simulation_time(sim), 0.5, 1e-15); /* at its last verified step */
    perp_simulation_reset(sim);
    assert_int_equal(perp_simulation_get_summary(sim, &all), PERP_OK);
    assert_int_equal(all.outcome, PERP_SOLVED);

    perp_batch *batch;
    int solved = -1;
    perp_outcome outcome = PERP_SOLVED;
    assert_int_equal(perp_batch_create(model, NULL, 3, 1, &batch, NULL), PERP_OK);
    assert_int_equal(perp_batch_step(batch, 5, &solved, NULL), PERP_OK);
    assert_int_equal(solved, 3);
    assert_int_equal(perp_batch_step(batch, 1, &solved, NULL), PERP_OK);
    assert_int_equal(solved, 0);
    assert_int_equal(perp_batch_status(batch, 1, &outcome), PERP_OK);
    assert_int_equal(outcome, PERP_LIMIT);
    perp_batch_destroy(batch);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* Two equalities that contradict each other: the step is rejected, and the state stays. */
static void a_rejected_step_of_bodies_is_an_outcome(void **state)
{
    (void)state;
    const perp_body slide_body = {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 1};
    perp_bodies *b;
    perp_bodies_info info = {.size = sizeof info};
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_create(&slide_body, 1, NULL, 0, NULL, &b, NULL), PERP_OK);
    for (int k = 1; k <= 2; k++) {
        const perp_equality at = {
            .kind = PERP_EQUALITY_JOINT, .body = {1, 0}, .polynomial = {0.1 * k}};
        assert_int_equal(perp_bodies_add_equality(b, &at, NULL), PERP_OK);
    }
    assert_int_equal(perp_bodies_step(b, &info, &diag), PERP_OK);
    assert_true(info.outcome != PERP_SOLVED && diag.errors > 0);
    assert_near(perp_bodies_q(b)[0], 0, 0);
    assert_near(perp_bodies_time(b), 0, 0);
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
}

static void an_outcome_becomes_a_status_where_one_is_required(void **state)
{
    (void)state;
    assert_int_equal(perp_outcome_status(PERP_OK, PERP_SOLVED), PERP_OK);
    for (int outcome = PERP_SOLVED + 1; outcome < PERP_OUTCOME_COUNT; outcome++)
        assert_int_equal(perp_outcome_status(PERP_OK, (perp_outcome)outcome),
                         PERP_ERR_NO_SOLUTION);
    assert_int_equal(perp_outcome_status(PERP_ERR_FILE, PERP_LIMIT), PERP_ERR_FILE);
    assert_int_equal(perp_outcome_status(PERP_ERR_MEMORY, PERP_SOLVED), PERP_ERR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_problems_have_a_size),
        cmocka_unit_test(results_of_models_have_a_size),
        cmocka_unit_test(results_of_bodies_have_a_size),
        cmocka_unit_test(no_solution_is_an_outcome),
        cmocka_unit_test(a_rejected_step_of_bodies_is_an_outcome),
        cmocka_unit_test(an_outcome_becomes_a_status_where_one_is_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
