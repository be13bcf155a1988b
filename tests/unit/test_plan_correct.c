/* Margins of a corrected plan: a node between two steps keeps what either of them breaks. */

#include "runs.h"

#include "plan/correct.c"

static void a_node_keeps_the_larger_margin_of_its_steps(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    perp_model *m =
        parse_model("input u\nstate x = 0 in [-2, 3], v = 0\nder(x) = v\nder(v) = u\nplan "
                    "{\nhorizon 1\nnodes 5\n"
                    "method radau3\nminimize integral(u^2)\nx + v <= 5\nat end: x = 1\n}\n");
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(m);
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    const perp__program *g = plan->program;
    const perp__bounds *b = &g->bound;
    correction c = {.plan = plan};
    assert_true(allocate(&c));
    assert_int_equal(g->K, STEPS);
    exchange_bounds(&c, 1);
    static const double margin[STEPS] = {0.1, 0.4, 0.2, 0.3}, at_end[STEPS] = {0.4, 0.4, 0.3, 0.3};
    int ncondition = m->plan->ncondition;
    for (int i = 0; i < ncondition + g->ns; i++)
        for (int k = 0; k < STEPS; k++) c.margin[(size_t)i * STEPS + (size_t)k] = margin[k];
    keep_margins(&c);
    int rows = 0;
    for (size_t at = 0; at < plan->nR; at++) {
        int i = g->row[at / STEPS].condition;
        if (i < 0 || m->plan->condition[i].where != PLAN_ALWAYS) continue;
        double of = at_end[at % STEPS];
        if (isfinite(c.lo[at])) assert_near(b->rlo[at], c.lo[at] + of, 1e-15);
        if (isfinite(c.hi[at])) assert_near(b->rhi[at], c.hi[at] - of, 1e-15);
        rows += isfinite(c.lo[at]) || isfinite(c.hi[at]);
    }
    assert_true(rows >= STEPS);
    for (int point = 0; point < g->npoint; point++)
        for (size_t k = 0; k < STEPS; k++) {
            size_t at = (size_t)(point * g->nb) * STEPS + k;
            double of = point == g->npoint - 1 ? at_end[k] : margin[k];
            assert_near(b->wlo[at], c.below[at] + of, 1e-15);
            assert_near(b->whi[at], c.above[at] - of, 1e-15);
        }
    exchange_bounds(&c, 0);
    for (size_t k = 0; k < STEPS; k++) assert_near(b->whi[k], c.above[k], 0);
    perp__arena_clear(&c.arena);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_keeps_the_larger_margin_of_its_steps),
    };
    return run_all(tests);
}
