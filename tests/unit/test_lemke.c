/* Lemke and the driver: known problems, outcomes, certificates, bad input. */

#include "unit.h"

#include "perp/lcp.h"

static perp_solver *new_solver(int n)
{
    perp_solver *solver;
    assert_int_equal(perp_solver_create(PERP_METHOD_LEMKE, n, NULL, &solver), PERP_OK);
    return solver;
}

/* Solve a problem given row by row. */
static perp_solve_info solve(int n, const double *rows, const double *q, double *z, double *w,
                             perp_solver **keep)
{
    double M[64];
    perp_solve_info info;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) M[i + j * n] = rows[i * n + j];
    }
    perp_lcp lcp = {n, M, n > 1 ? n : 1, q, NULL, NULL};
    perp_solver *solver = new_solver(n);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, &info), PERP_OK);
    const double *u = perp_lcp_certificate(solver);
    assert_true((u != NULL) == (info.outcome == PERP_INFEASIBLE));
    if (u) assert_true(perp_lcp_is_infeasible(&lcp, u, 1e-10));
    if (info.outcome == PERP_SOLVED) assert_true(perp_lcp_residual(&lcp, z, NULL) == info.residual);
    if (keep)
        *keep = solver;
    else
        perp_solver_destroy(solver);
    return info;
}

static void solves_the_trivial_and_the_diagonal(void **state)
{
    (void)state;
    double z[2], w[2];
    assert_int_equal(solve(2, (double[]){1, 0, 0, 1}, (double[]){3, 0}, z, w, NULL).outcome,
                     PERP_SOLVED);
    assert_true(z[0] == 0 && z[1] == 0 && w[0] == 3);
    assert_int_equal(solve(2, (double[]){2, 0, 0, 4}, (double[]){-3, 5}, z, w, NULL).outcome,
                     PERP_SOLVED);
    assert_true(z[0] == 1.5 && z[1] == 0 && w[0] == 0 && w[1] == 5);
}

static void solves_a_problem_of_size_0(void **state)
{
    (void)state;
    perp_solve_info info = solve(0, NULL, NULL, NULL, NULL, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(info.residual == 0);
}

static void solves_the_sliding_block_in_slip_and_stick(void **state)
{
    (void)state;
    const double M[] = {1, -1, 1, -1, 1, 1, -1, -1, 0};
    double z[3], w[3];
    for (double c = -4; c <= 4; c += 0.25) {
        assert_int_equal(solve(3, M, (double[]){c, -c, 2}, z, w, NULL).outcome, PERP_SOLVED);
        assert_near(c + z[0] - z[1], copysign(fmax(fabs(c) - 2, 0), c), 1e-15);
    }
}

static void proves_infeasibility(void **state)
{
    (void)state;
    double z[3], w[3];
    perp_solver *solver;
    perp_solve_info info =
        solve(3, (double[]){0, -1, 0, -1, 0, 0, -1, -1, 0}, (double[]){1, -1, 2}, z, w, &solver);
    assert_int_equal(info.outcome, PERP_INFEASIBLE);
    assert_non_null(perp_lcp_ray(solver));
    perp_solver_destroy(solver);
    /* x + y >= 1 and x + y <= 0, from two rows together */
    info = solve(2, (double[]){1, 1, -1, -1}, (double[]){-1, 0}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_INFEASIBLE);
}

static void a_ray_without_proof_stays_a_ray(void **state)
{
    (void)state;
    /* feasible (z = (2, 0)) but without a solution: w1 = -1 + z2... no complementary point, M is no
     * Q matrix */
    double z[2], w[2];
    perp_solve_info info = solve(2, (double[]){0, 1, 0, 0}, (double[]){-1, 0}, z, w, NULL);
    assert_true(info.outcome == PERP_SOLVED || info.outcome == PERP_RAY);
    info = solve(2, (double[]){-1, 2, 2, -1}, (double[]){-1, -1}, z, w, NULL);
    if (info.outcome == PERP_SOLVED) assert_true(info.residual < 1e-12);
}

static void cycling_problems_end(void **state)
{
    (void)state;
    /* Kostreva 1979: cycles without a lexicographic rule */
    const double M[] = {1, 2, 0, 0, 1, 2, 2, 0, 1};
    double z[3], w[3];
    perp_solve_info info = solve(3, M, (double[]){-1, -1, -1}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    for (int i = 0; i < 3; i++) assert_near(z[i], 1.0 / 3, 1e-15);
}

static void numbers_that_are_not_finite_are_bad_input(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        double z[2] = {7, 7}, w[2];
        assert_int_equal(
            solve(2, (double[]){1, 0, bad[k], 1}, (double[]){-1, -1}, z, w, NULL).outcome,
            PERP_BAD_INPUT);
        assert_int_equal(
            solve(2, (double[]){1, 0, 0, 1}, (double[]){-1, bad[k]}, z, w, NULL).outcome,
            PERP_BAD_INPUT);
        assert_true(z[0] == 7); /* untouched */
    }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    double M[4] = {1, 0, 0, 1}, q[2] = {1, 1}, z[2];
    perp_solver *solver = new_solver(1), *none;
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_ERR_DIM);
    assert_int_equal(perp_lcp_solve(NULL, &lcp, z, NULL, NULL), PERP_ERR_ARG);
    lcp.ldm = 1;
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_ERR_ARG);
    perp_solver_options o = perp_solver_options_default(PERP_METHOD_LEMKE);
    o.tol = 0;
    assert_int_equal(perp_solver_create(PERP_METHOD_LEMKE, 1, &o, &none), PERP_ERR_ARG);
    assert_int_equal(perp_solver_create(PERP_METHOD_COUNT, 1, NULL, &none), PERP_ERR_ARG);
    assert_int_equal(perp_method_find("lemke"), PERP_METHOD_LEMKE);
    assert_int_equal(perp_method_find("nosuch"), PERP_METHOD_COUNT);
    perp_solver_destroy(solver);
    perp_solver_destroy(NULL);
}

static void the_residual_is_the_natural_map(void **state)
{
    (void)state;
    double M[4] = {2, 0, 0, 2}, q[2] = {-2, 1}, w[2];
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    assert_true(perp_lcp_residual(&lcp, (double[]){1, 0}, w) == 0 && w[1] == 1);
    assert_true(perp_lcp_residual(&lcp, (double[]){1.5, 0}, NULL) == 1);      /* min(1.5, 1) */
    assert_true(perp_lcp_residual(&lcp, (double[]){1, -0.25}, NULL) == 0.25); /* min(-0.25, 0.5) */
    assert_true(isnan(perp_lcp_residual(&lcp, (double[]){1, NAN}, NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_the_trivial_and_the_diagonal),
        cmocka_unit_test(solves_a_problem_of_size_0),
        cmocka_unit_test(solves_the_sliding_block_in_slip_and_stick),
        cmocka_unit_test(proves_infeasibility),
        cmocka_unit_test(a_ray_without_proof_stays_a_ray),
        cmocka_unit_test(cycling_problems_end),
        cmocka_unit_test(numbers_that_are_not_finite_are_bad_input),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(the_residual_is_the_natural_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
