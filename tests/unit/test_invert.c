/* linalg/invert.c against elimination of [A I] as it is written in books, bit for bit and by every vector width. */

#include "unit.h"

#include "contacts.h"
#include "base/tol.h"
#include "linalg/invert.h"
#include "linalg/simd.h"

enum { MOST = 40 };

/* Sparse, entries from 1e-6 to 1e6 and small integers, which leave ties and zeros. */
static void fill(rng *g, int n, double *A, double density)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            int is_small = uniform(g, 0, 1) < 0.5;
            double x = is_small ? floor(uniform(g, -2, 3)) : pow(10, uniform(g, -6, 6));
            A[i * n + j] = i == j || uniform(g, 0, 1) < density ? x : 0;
        }
    }
}

static double scale_of(int n, const double *row)
{
    double largest = 0;
    int exponent = 0;
    for (int j = 0; j < n; j++) largest = fmax(largest, fabs(row[j]));
    frexp(largest, &exponent);
    return largest > 0 ? ldexp(1, -exponent) : 0;
}

/* The next pivot: of the first row with one open entry, or the largest of all. 0: none is large enough. */
static int next_pivot(int n, double W[MOST][2 * MOST], const int *gives, const int *done, int *r,
                      int *c)
{
    double largest = PERP_TOL_SINGULAR;
    *r = -1;
    for (int i = 0; i < n; i++) {
        int entries = 0, at = -1;
        double most = 0;
        for (int j = 0; j < n; j++) {
            double x = fabs(W[i][j]);
            if (done[j] || x == 0) continue;
            entries++;
            if (x > most) most = x, at = j;
        }
        if (gives[i] >= 0 || !(most > PERP_TOL_SINGULAR)) continue;
        if (entries == 1) return *r = i, *c = at, 1;
        if (most > largest) largest = most, *r = i, *c = at;
    }
    return *r >= 0;
}

static int invert_by_the_book(int n, const double *A, const double *unit, double *inverse)
{
    static double W[MOST][2 * MOST];
    int gives[MOST], done[MOST] = {0}, r, c;
    memset(W, 0, sizeof W);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) W[i][j] = A[i * n + j] * unit[j];
        double scale = scale_of(n, W[i]);
        if (scale == 0) return 0;
        for (int j = 0; j < n; j++) W[i][j] *= scale;
        W[i][n + i] = scale;
        gives[i] = -1;
    }
    for (int step = 0; step < n; step++) {
        if (!next_pivot(n, W, gives, done, &r, &c)) return 0;
        double p = W[r][c];
        for (int j = 0; j < 2 * n; j++) W[r][j] /= p;
        gives[r] = c, done[c] = 1;
        for (int i = 0; i < n; i++) {
            double f = W[i][c];
            for (int j = 0; j < 2 * n && i != r && f != 0; j++) W[i][j] -= f * W[r][j];
            if (i != r) W[i][c] = 0;
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[j * n + gives[i]] = W[i][n + j] * unit[gives[i]];
    return 1;
}

static void inverses_are_those_of_the_book_at_every_width(void **state)
{
    static double A[MOST * MOST], unit[MOST], said[MOST * MOST], inverse[MOST * MOST];
    int index[3 * MOST], singular = 0, regular = 0, most = perp__isa_most;
    (void)state;
    for (int trial = 0; trial < 400; trial++) {
        int n = 1 + trial % MOST;
        rng g = {(uint64_t)trial + 1};
        fill(&g, n, A, trial % 3 == 0 ? 1 : 3.0 / n);
        if (trial % 7 == 0 && n > 2) memcpy(A, A + n, (size_t)n * sizeof(double)); /* twice */
        for (int j = 0; j < n; j++) unit[j] = ldexp(1, (int)uniform(&g, -10, 10));
        int expected = invert_by_the_book(n, A, unit, said);
        double *work = malloc(perp__invert_doubles(n) * sizeof *work);
        assert_non_null(work);
        for (int isa = 0; isa < PERP_ISA_COUNT; isa++) {
            perp__isa_most = isa;
            assert_int_equal(perp__invert(n, A, n, unit, inverse, work, index), expected);
            for (int k = 0; k < n * n && expected; k++) /* but the signs of zeros */
                if (!(inverse[k] == said[k])) fail_msg("n %d isa %d entry %d", n, isa, k);
        }
        free(work);
        perp__isa_most = most;
        expected ? regular++ : singular++;
    }
    assert_true(regular > 150 && singular > 50);
}

static void what_one_row_fixes_is_exact(void **state)
{
    /* x_2 = 0 / 3 stands in a row by itself; the others are as unlike as 1e8 */
    const double A[9] = {1e8, 1, 7, 0, 3, 0, 1e-3, 1, 1};
    double inverse[9], work[64];
    int index[9];
    (void)state;
    assert_true(perp__invert_doubles(3) <= 64);
    assert_true(perp__invert(3, A, 3, NULL, inverse, work, index));
    assert_true(inverse[0 * 3 + 1] == 0 && inverse[2 * 3 + 1] == 0);
    assert_true(inverse[1 * 3 + 1] == 1.0 / 3);
}

static void rows_that_have_no_pivot_are_singular(void **state)
{
    const double zero[4] = {1, 2, 0, 0}, near[4] = {1, 1, 1, 1 + 1e-14},
                 infinite[4] = {1, (double)INFINITY, 0, 1};
    double inverse[4], work[64];
    int index[6];
    (void)state;
    assert_true(perp__invert_doubles(2) <= 64);
    assert_false(perp__invert(2, zero, 2, NULL, inverse, work, index));
    assert_false(perp__invert(2, near, 2, NULL, inverse, work, index));
    assert_false(perp__invert(2, infinite, 2, NULL, inverse, work, index));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_are_those_of_the_book_at_every_width),
        cmocka_unit_test(what_one_row_fixes_is_exact),
        cmocka_unit_test(rows_that_have_no_pivot_are_singular),
    };
    return run_all(tests);
}
