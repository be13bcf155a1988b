/* LU of sparse block matrices: A inv(A) b = b in the active rows, for random patterns and rows left out; the order is good for
 * other values of the same pattern. */

#include "unit.h"

#include "contacts.h"
#include "linalg/block_lu.h"

enum { N = 30, FULL = 9 * N * N };

typedef struct matrix {
    int start[N + 1], col[N * N];
    double value[FULL];
} matrix;

/* Off-diagonal blocks in pairs (i, j), (j, i), one in `rare`; the diagonal outweighs them. */
static void draw_pattern(rng *g, int rare, matrix *a)
{
    int joined[N][N] = {{0}}, nb = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            joined[i][j] = joined[j][i] = i == j || (int)uniform(g, 0, rare) == 0;
    for (int i = 0; i < N; i++) {
        a->start[i] = nb;
        for (int j = 0; j < N; j++)
            if (joined[i][j]) a->col[nb++] = j;
    }
    a->start[N] = nb;
}

static void draw_values(rng *g, matrix *a)
{
    for (int i = 0; i < N; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            for (int e = 0; e < 9; e++)
                a->value[9 * k + e] = uniform(g, -1, 1) + (a->col[k] == i && e % 4 == 0 ? 9 : 0);
}

/* |A x - b| in the active rows, with x = 0 in the others. */
static double off(const matrix *a, const int *active, const double *x, const double *b)
{
    double worst = 0;
    for (int i = 0; i < N; i++) {
        for (int e = 0; e < 3 && active[i]; e++) {
            double sum = -b[3 * i + e];
            for (int k = a->start[i]; k < a->start[i + 1]; k++)
                for (int f = 0; f < 3 && active[a->col[k]]; f++)
                    sum += a->value[9 * k + 3 * e + f] * x[3 * a->col[k] + f];
            worst = fmax(worst, fabs(sum));
        }
    }
    return worst;
}

/* k odd: all rows. */
static void random_blocks_are_solved(void **state)
{
    (void)state;
    static matrix a;
    perp__block_lu *lu = perp__block_lu_create(N);
    assert_non_null(lu);
    for (int k = 0; k < 200; k++) {
        rng g = {(uint64_t)k + 1};
        int active[N];
        double x[3 * N], b[3 * N];
        draw_pattern(&g, 1 + k % 12, &a);
        for (int i = 0; i < N; i++) active[i] = k % 2 || uniform(&g, 0, 1) < 0.7;
        assert_true(perp__block_lu_order(lu, N, a.start, a.col, active));
        for (int again = 0; again < 2; again++) { /* other values, the same order */
            draw_values(&g, &a);
            for (int i = 0; i < 3 * N; i++) x[i] = b[i] = uniform(&g, -1, 1);
            assert_int_equal(perp__block_lu_factor(lu, a.start, a.col, a.value, 1e-14), 0);
            perp__block_lu_solve(lu, x);
            double e = off(&a, active, x, b);
            if (!(e < 1e-11)) fail_msg("matrix %d: |A x - b| = %g", k, e);
            for (int i = 0; i < 3 * N; i++) assert_true(active[i / 3] || x[i] == b[i]);
        }
    }
    perp__block_lu_destroy(lu);
}

/* One block, from regular to singular: the residual is small beside the solution; pivots of 0
 * are said. */
static void blocks_are_solved_however_regular(void **state)
{
    (void)state;
    const int start[] = {0, 1}, col[] = {0};
    perp__block_lu *lu = perp__block_lu_create(1);
    assert_non_null(lu);
    assert_true(perp__block_lu_order(lu, 1, start, col, NULL));
    for (int k = 0; k < 300; k++) {
        rng g = {(uint64_t)k + 1};
        double small = pow(10, -uniform(&g, 0, 12)), unit = pow(10, uniform(&g, -120, 120));
        double a[9], x[3], b[3], off = 0, largest = 0;
        for (int e = 0; e < 9; e++) a[e] = uniform(&g, -1, 1) * unit;
        for (int e = 0; e < 3; e++) a[6 + e] = a[e] - a[3 + e] + small * a[6 + e];
        for (int e = 0; e < 3; e++) x[e] = b[e] = uniform(&g, -1, 1);
        assert_int_equal(perp__block_lu_factor(lu, start, col, a, 1e-18), 0);
        perp__block_lu_solve(lu, x);
        for (int i = 0; i < 3; i++) {
            off =
                fmax(off, fabs(a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2] - b[i]));
            largest = fmax(largest, unit * fabs(x[i]));
        }
        if (!(off <= 2e-15 * (1 + largest))) fail_msg("block %d: %g beside %g", k, off, largest);
    }
    const double singular[9] = {1, 2, 3, 2, 4, 6, 3, 6, 9};
    assert_int_equal(perp__block_lu_factor(lu, start, col, singular, 1e-14), 2);
    perp__block_lu_destroy(lu);
}

/* Of n rows that all share blocks: of row i, i solutions with the blocks of rows above, products
 * with these, a factor; two triangles and the diagonal. */
static void multiply_adds_are_counted(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    int start[ROWS + 1], col[ROWS * ROWS], products = ROWS;
    double value[9 * ROWS * ROWS], x[3 * ROWS] = {1};
    perp__block_lu *lu = perp__block_lu_create(ROWS);
    assert_non_null(lu);
    for (int i = 0; i <= ROWS; i++) start[i] = ROWS * i;
    for (int k = 0; k < ROWS * ROWS; k++) {
        col[k] = k % ROWS;
        for (int e = 0; e < 9; e++)
            value[9 * k + e] = (e % 4 == 0) * (k / ROWS == k % ROWS ? 9 : 1);
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < i; k++) products += ROWS - k;
    assert_true(perp__block_lu_order(lu, ROWS, start, col, NULL));
    perp__block_lu_factor(lu, start, col, value, 1e-14);
    assert_true(perp__block_lu_work(lu) == 27.0 * products);
    perp__block_lu_solve(lu, x);
    assert_true(perp__block_lu_work(lu) == 9.0 * ROWS * ROWS);
    perp__block_lu_destroy(lu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiply_adds_are_counted),
        cmocka_unit_test(random_blocks_are_solved),
        cmocka_unit_test(blocks_are_solved_however_regular),
    };
    return run_all(tests);
}
