/* The check of a plan finds every change of it: single values moved, values that are no numbers. */

#include "plan/plan.h"
#include "runs.h"

static perp_plan *solved(const char *file, perp_plan_method method, perp_model **m)
{
    perp_plan_result r;
    perp_plan *plan;
    *m = load_model(file);
    perp_plan_options o = perp_plan_options_default(*m);
    if (method < PERP_PLAN_METHOD_COUNT) o.method = method;
    assert_int_equal(perp_plan_create(*m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_int_equal(r.outcome, PERP_PLAN_OPTIMAL);
    return plan;
}

static double worst_of(const perp_plan *plan)
{
    perp__plan_check check;
    assert_true(perp__plan_verify(plan->program, plan->w, plan->p, &check, NULL));
    return check.worst;
}

static void every_value_that_is_moved_is_noticed(void **state)
{
    (void)state;
    const char *files[] = {"opty/push.perp", "opty/push_phases.perp", "control/hopper.perp",
                           "control/transport.perp"};
    for (int f = 0; f < 4; f++) {
        perp_model *m;
        perp_plan *plan = solved(files[f], f < 3 ? PERP_PLAN_METHOD_COUNT : PERP_PLAN_THETA, &m);
        const perp__program *g = plan->program;
        assert_true(worst_of(plan) < 1e-8);
        for (size_t i = 0; i < plan->nW; i++) {
            int j = (int)(i / (size_t)g->K), part = j % g->nb, point = j / g->nb;
            int is_part_of_split = part >= g->nx + g->nv && part < g->nb - g->nu;
            int is_unused = g->held && part >= g->nb - g->nu && point < g->npoint - 1;
            int is_copy = part >= g->ns && part < g->nx; /* of an input, which is moved itself */
            double x = plan->w[i];
            if (is_copy || is_part_of_split || is_unused)
                continue; /* not in the model as written */
            plan->w[i] = x + 0.01 * (1 + fabs(x));
            if (worst_of(plan) < 1e-6)
                fail_msg("%s: unknown %d of step %zu was moved by %g", files[f], j,
                         i % (size_t)g->K, plan->w[i] - x);
            plan->w[i] = NAN;
            assert_false(worst_of(plan) < 1e-6);
            plan->w[i] = x;
        }
        for (size_t i = 0; i < plan->nP; i++) {
            double x = plan->p[i];
            plan->p[i] = 1.01 * x;
            assert_false(worst_of(plan) < 1e-6);
            plan->p[i] = x;
        }
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_that_is_moved_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
