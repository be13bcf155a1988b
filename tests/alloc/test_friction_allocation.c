/* Memory of friction solves: nothing after the first, and a failing allocation is reported and
 * leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "contacts.h"

#include "perp/fclib.h"
#include "perp/pile.h"

#include <stdio.h>
#include <sys/stat.h>

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

static perp_status story_of_a_pile(void *given, perp_diag *diag)
{
    (void)given;
    const double inverse[] = {1, 0, 0, 1, 2, 0, 0, 2}, v[] = {0.3, -1, 0, -1}, mu[] = {0.5, 0.2},
                 bias[] = {0, 0, 0.1, 0}, J[] = {0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, -1, -1, 0};
    const int body[] = {0, -1, 1, 0};
    const perp_pile p = {2, 2, 2, inverse, v, 2, body, J, bias, mu};
    double r[4];
    perp_pile_info info = {.size = sizeof info};
    perp_status status = perp_pile_solve(&p, NULL, r, NULL, &info);
    if (status == PERP_OK) assert_int_equal(info.outcome, PERP_SOLVED);
    diag->errors += status != PERP_OK; /* a status is all that is said */
    return status;
}

/* A file is read and solved as blocks and without W; without its equation as a pile. */
static perp_status story_of_a_file(void *path, perp_diag *diag)
{
    perp_fclib *file;
    perp_fclib_options o = perp_fclib_options_default();
    perp_fclib_info info = {.size = sizeof info};
    double r[2], v[2], l[1];
    perp_status status = perp_fclib_read(path, &file, diag);
    if (status != PERP_OK) return status;
    perp_fclib_problem p = *perp_fclib_problem_of(file);
    status = perp_fclib_solve(&p, &o, r, NULL, v, l, &info, diag);
    if (status == PERP_OK) assert_int_equal(info.outcome, PERP_SOLVED);
    o.method = "cones"; /* where MUMPS is not here it takes no problem */
    if (status == PERP_OK) status = perp_fclib_solve(&p, &o, r, NULL, v, l, &info, diag);
    if (status == PERP_ERR_UNAVAILABLE) {
        perp_diag_clear(diag);
        status = PERP_OK;
    }
    p.G.start = NULL, o.method = "pile";
    if (status == PERP_OK) status = perp_fclib_solve(&p, &o, r, NULL, v, NULL, &info, diag);
    perp_fclib_destroy(file);
    return status;
}

/* Two masses glued by an equation, on the ground. */
static void a_file_survives_failing_allocations(void **state)
{
    (void)state;
    const int start[] = {0, 1, 2}, row[] = {0, 1}, h_start[] = {0, 1, 1}, zero[] = {0},
              g_start[] = {0, 2};
    const double mass[] = {2, 3}, one[] = {1}, join[] = {1, -1}, f[] = {-2, -3}, none[] = {0, 0},
                 mu[] = {0.5};
    const perp_fclib_problem p = {.dimension = 2,
                                  .nc = 1,
                                  .mu = mu,
                                  .M = {2, 2, start, row, mass},
                                  .H = {2, 2, h_start, zero, one},
                                  .G = {2, 1, g_start, row, join},
                                  .f = f,
                                  .w = none,
                                  .b = none};
    char path[] = PERP_BUILD_DIR "/scratch/memory.h5";
    mkdir(PERP_BUILD_DIR "/scratch", 0755);
    perp_status status = perp_fclib_write(path, &p, NULL, NULL);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("HDF5 is not here");
    assert_int_equal(status, PERP_OK);
    assert_true(tell_each(story_of_a_file, path, 1) > 20);
    remove(path);
}

static void a_pile_survives_failing_allocations(void **state)
{
    (void)state;
    assert_true(tell_each(story_of_a_pile, NULL, 1) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_solve_allocates_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_pile_survives_failing_allocations),
        cmocka_unit_test(a_file_survives_failing_allocations),
    };
    return run_all(tests);
}
