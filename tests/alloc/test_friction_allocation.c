/* Memory of friction solves: nothing after the first, and a failing allocation is reported and
 * leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "contacts.h"

static void a_second_solve_allocates_nothing(void **state)
{
    (void)state;
    contacts c = contacts_create(3, 10, 30, 0.5, 10, 0, 2);
    double r[90], u[90];
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        for (int form = 0; form < 2; form++) {
            const perp_fc *p = form ? &c.dense : &c.problem;
            perp_fc_solver *solver;
            assert_int_equal(perp_fc_solver_create((perp_fc_method)m, p, NULL, &solver), PERP_OK);
            allocations = 0;
            assert_int_equal(perp_fc_solve(solver, p, r, u, NULL), PERP_OK);
            if (m == PERP_FC_NSGS || m == PERP_FC_PROX) assert_int_equal(allocations, 0);
            allocations = 0;
            assert_int_equal(perp_fc_solve(solver, p, r, u, NULL), PERP_OK);
            assert_int_equal(allocations, 0);
            perp_fc_solver_destroy(solver);
        }
    contacts_destroy(&c);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    contacts c = contacts_create(3, 4, 8, 0.5, 10, 0, 2);
    double r[24];
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        perp_status status = PERP_ERR_MEMORY;
        for (long k = 1; status != PERP_OK; k++) {
            perp_fc_solver *solver = NULL;
            long before = live;
            allocations = 0;
            fail_at = k;
            status = perp_fc_solver_create((perp_fc_method)m, &c.problem, NULL, &solver);
            if (status == PERP_OK) status = perp_fc_solve(solver, &c.problem, r, NULL, NULL);
            fail_at = 0;
            if (solver && status == PERP_ERR_MEMORY) /* and it can go on */
                assert_int_equal(perp_fc_solve(solver, &c.problem, r, NULL, NULL), PERP_OK);
            perp_fc_solver_destroy(solver);
            assert_true(status == PERP_OK || status == PERP_ERR_MEMORY);
            assert_int_equal(live, before);
            assert_true(k < 1000);
        }
    }
    contacts_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_solve_allocates_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return run_all(tests);
}
