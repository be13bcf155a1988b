/* Lemke and the driver: known problems, outcomes, certificates, bad input. */

#include "unit.h"

#include "perp/lcp.h"

#include <stdio.h>

static perp_lcp_solver *new_solver(int n)
{
    perp_lcp_solver *solver;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &solver), PERP_OK);
    return solver;
}

/* Solve a problem given row by row. */
static perp_lcp_info solve(int n, const double *rows, const double *q, double *z, double *w,
                           perp_lcp_solver **keep)
{
    double M[64];
    perp_lcp_info info = {.size = sizeof info};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) M[i + j * n] = rows[i * n + j];
    }
    perp_lcp lcp = {n, M, n > 1 ? n : 1, q, NULL, NULL};
    perp_lcp_solver *solver = new_solver(n);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, &info), PERP_OK);
    const double *u = perp_lcp_certificate(solver);
    assert_true((u != NULL) == (info.outcome == PERP_INFEASIBLE));
    if (u) assert_true(perp_lcp_is_infeasible(&lcp, u, 1e-10));
    if (info.outcome == PERP_SOLVED) assert_true(perp_lcp_residual(&lcp, z, NULL) == info.residual);
    if (keep)
        *keep = solver;
    else
        perp_lcp_solver_destroy(solver);
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
    perp_lcp_info info = solve(0, NULL, NULL, NULL, NULL, NULL);
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
    perp_lcp_solver *solver;
    perp_lcp_info info =
        solve(3, (double[]){0, -1, 0, -1, 0, 0, -1, -1, 0}, (double[]){1, -1, 2}, z, w, &solver);
    assert_int_equal(info.outcome, PERP_INFEASIBLE);
    assert_non_null(perp_lcp_ray(solver));
    perp_lcp_solver_destroy(solver);
    /* x + y >= 1 and x + y <= 0, from two rows together */
    info = solve(2, (double[]){1, 1, -1, -1}, (double[]){-1, 0}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_INFEASIBLE);
}

static void a_ray_without_proof_stays_a_ray(void **state)
{
    (void)state;
    double z[2], w[2];
    /* w = (2 z1 - 1, z1 - 1): feasible from z1 = 1 on, where w1 = 0 does not hold */
    perp_lcp_info info = solve(2, (double[]){2, 0, 1, 0}, (double[]){-1, -1}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_RAY);
    /* z = (0, 1) solves it, but all paths from z0 end on a ray: M is neither copositive nor P */
    info = solve(2, (double[]){0, 1, 0, 0}, (double[]){-1, 0}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_RAY);
    info = solve(2, (double[]){-1, 2, 2, -1}, (double[]){-1, -1}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_true(z[0] == 1 && z[1] == 1 && info.residual == 0);
}

/* Murty 1978: on M = 2 below the diagonal, 1 on it, and q_i = -(2^n + .. + 2^(n-i+1)) the path visits all 2^n bases, so that the
 * tableau is computed anew some thousand times. z is 2^n in the first pair alone. */
static void the_longest_path_is_followed_to_its_end(void **state)
{
    (void)state;
    enum { N = 17 };
    double M[N * N] = {0}, q[N], z[N], sum = 0;
    for (int i = 0; i < N; i++) {
        q[i] = -(sum += ldexp(1, N - i));
        for (int j = 0; j <= i; j++) M[j * N + i] = i == j ? 1 : 2;
    }
    perp_lcp lcp = {.n = N, .M = M, .ldm = N, .q = q};
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_LEMKE);
    o.max_iter = 2 << N;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, N, &o, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(info.iterations, 1 << N);
    assert_near(z[0], ldexp(1, N), 0);
    for (int i = 1; i < N; i++) assert_near(z[i], 0, 0);
    perp_lcp_solver_destroy(solver);
}

static void cycling_problems_end(void **state)
{
    (void)state;
    /* Kostreva 1979: cycles without a lexicographic rule */
    const double M[] = {1, 2, 0, 0, 1, 2, 2, 0, 1};
    double z[3], w[3];
    perp_lcp_info info = solve(3, M, (double[]){-1, -1, -1}, z, w, NULL);
    assert_int_equal(info.outcome, PERP_SOLVED);
    for (int i = 0; i < 3; i++) assert_near(z[i], 1.0 / 3, 1e-15);
}

/* Lemke by the book: the whole dictionary, and the identity beside it for the lexicographic order
 * (Cottle, Pang, Stone, section 4.4). x = T (1, e, .., e^n, w, z, z0) for the basic variables x. */
enum { BOOK = 24, BOOK_COLUMNS = 3 * BOOK + 2 };
typedef struct book {
    int n, ties, basic[BOOK]; /* w: 0 .. n-1, z: n .., z0: 2n */
    double T[BOOK][BOOK_COLUMNS];
} book;

/* The sign of row a less row b, each divided by its entry in the column that enters. */
static int lexicographic(const book *d, int a, int b, int column)
{
    for (int k = 0; k <= d->n; k++) {
        double x = d->T[a][k] / -d->T[a][column] - d->T[b][k] / -d->T[b][column];
        if (fabs(x) > 1e-9) return x > 0 ? 1 : -1;
    }
    return 0;
}

static int book_row(book *d, int column)
{
    int r = -1;
    for (int i = 0; i < d->n; i++) {
        if (!(d->T[i][column] < -1e-9)) continue;
        double gap = r < 0 ? -1 : d->T[i][0] / -d->T[i][column] - d->T[r][0] / -d->T[r][column];
        if (r < 0 || gap < -1e-9)
            r = i;
        else if (gap < 1e-9) {
            d->ties++;
            if (d->basic[r] == 2 * d->n) continue; /* z0 leaves where it may */
            if (d->basic[i] == 2 * d->n || lexicographic(d, i, r, column) < 0) r = i;
        }
    }
    return r;
}

/* Exchange the basic variable of row r and the one whose column is given; returns the former. */
static int book_pivot(book *d, int r, int column)
{
    int n = d->n, left = d->basic[r], end = 3 * n + 2;
    double p = d->T[r][column];
    for (int j = 0; j < end; j++) d->T[r][j] = j == column ? 0 : -d->T[r][j] / p;
    d->T[r][n + 1 + left] = 1 / p;
    for (int i = 0; i < n; i++) {
        double f = d->T[i][column];
        if (i == r) continue;
        d->T[i][column] = 0;
        for (int j = 0; j < end; j++) d->T[i][j] += f * d->T[r][j];
    }
    d->basic[r] = column - n - 1;
    return left;
}

/* The number of pivots; -1: a ray. is_basic: of each z. */
static int book_solve(book *d, const perp_lcp *lcp, unsigned char *is_basic)
{
    int n = d->n = lcp->n, r = n - 1, column = 3 * n + 1, pivots = 0;
    memset(d->T, 0, sizeof d->T);
    for (int i = 0; i < n; i++) {
        d->T[i][0] = lcp->q[i], d->T[i][1 + i] = 1, d->T[i][column] = 1, d->basic[i] = i;
        for (int j = 0; j < n; j++) d->T[i][2 * n + 1 + j] = lcp->M[i + j * lcp->ldm];
    }
    for (int i = n - 1; i >= 0; i--)
        if (lcp->q[i] < lcp->q[r]) r = i; /* of equal ones the last */
    while (r >= 0 && pivots < 200) {
        int left = book_pivot(d, r, column);
        pivots++;
        if (left == 2 * n) break;
        column = n + 1 + (left < n ? left + n : left - n);
        r = book_row(d, column);
    }
    memset(is_basic, 0, BOOK);
    for (int i = 0; i < n; i++)
        if (d->basic[i] >= n && d->basic[i] < 2 * n) is_basic[d->basic[i] - n] = 1;
    return r < 0 ? -1 : pivots;
}

/* Problems of small integers have many ties; which row leaves decides the path and where it ends. */
static void ties_are_broken_lexicographically(void **state)
{
    (void)state;
    static book d;
    unsigned x = 1;
    int paths = 0, ties = 0;
    for (int k = 0; k < 300; k++) {
        enum { RANK = 5 };
        int n = 17 + k % 8; /* smaller problems begin with principal pivots */
        double A[BOOK][RANK], M[BOOK * BOOK], q[BOOK], z[BOOK];
        unsigned char is_basic[BOOK];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < RANK; j++)
                A[i][j] = (int)((x = x * 1664525u + 1013904223u) >> 24) % 3 - 1;
            if (A[i][0] == 0) A[i][0] = 1; /* one connected component: parts are solved alone */
            q[i] = (int)((x = x * 1664525u + 1013904223u) >> 24) % 3 - 1;
        }
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                double sum = i == j;
                for (int l = 0; l < RANK; l++) sum += A[i][l] * A[j][l];
                M[i + j * n] = sum;
            }
        }
        perp_lcp lcp = {n, M, n, q, NULL, NULL};
        perp_lcp_solver *solver = new_solver(n);
        perp_lcp_info info = {.size = sizeof info};
        d.ties = 0;
        int pivots = book_solve(&d, &lcp, is_basic);
        assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_int_equal(info.iterations, pivots);
        assert_memory_equal(perp_lcp_basis(solver), is_basic, (size_t)n);
        ties += d.ties, paths += d.ties > 0;
        perp_lcp_solver_destroy(solver);
    }
    printf("%d ties on %d of 300 paths\n", ties, paths);
    assert_true(paths > 200);
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
    perp_lcp_solver *solver = new_solver(1), *none;
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_ERR_DIM);
    assert_int_equal(perp_lcp_solve(NULL, &lcp, z, NULL, NULL), PERP_ERR_ARG);
    lcp.ldm = 1;
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, NULL), PERP_ERR_ARG);
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_LEMKE);
    o.tol = 0;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, 1, &o, &none), PERP_ERR_ARG);
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_METHOD_COUNT, 1, NULL, &none), PERP_ERR_ARG);
    assert_string_equal(perp_lcp_method_name(PERP_LCP_METHOD_COUNT), "unknown");
    assert_int_equal(perp_lcp_method_find("lemke"), PERP_LCP_LEMKE);
    assert_int_equal(perp_lcp_method_find("nosuch"), PERP_LCP_METHOD_COUNT);
    perp_lcp_solver_destroy(solver);
    perp_lcp_solver_destroy(NULL);
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
        cmocka_unit_test(the_longest_path_is_followed_to_its_end),
        cmocka_unit_test(cycling_problems_end),
        cmocka_unit_test(ties_are_broken_lexicographically),
        cmocka_unit_test(numbers_that_are_not_finite_are_bad_input),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(the_residual_is_the_natural_map),
    };
    return run_all(tests);
}
