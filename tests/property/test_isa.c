/* Kernels for wider registers give the bits of the plain ones: every class of problem, with each that this machine runs. */

#include "contacts.h"
#include "lcp_classes.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "unit.h"

#include "perp/lcp.h"

#include <math.h>

enum { MOST = 200, COUNT = 109 };

/* Every fifth seed: one that nothing pushes, by -0. */
static void solve(lcp_class c, perp_lcp_method method, int n, int seed, double *z,
                  perp_lcp_info *info)
{
    perp_lcp_solver *solver;
    perp_lcp lcp = lcp_generate(c, n, (unsigned long long)seed);
    assert_non_null(lcp.M);
    assert_in_range(lcp.n, 1, MOST);
    memset(z, 0, MOST * sizeof *z);
    for (int i = 0; i < lcp.n && seed % 5 == 0; i++)
        ((double *)(size_t)lcp.q)[i] = i == 1 ? -0.0 : fabs(lcp.q[i]);
    assert_int_equal(perp_lcp_solver_create(method, lcp.n, NULL, &solver), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, info), PERP_OK);
    perp_lcp_solver_destroy(solver);
    free((void *)(size_t)lcp.M);
}

static void single_solves_have_the_bits_of_the_plain_kernels(void **state)
{
    (void)state;
    static const perp_lcp_method methods[] = {PERP_LCP_LEMKE, PERP_LCP_BPP, PERP_LCP_IPM,
                                              PERP_LCP_AUTO};
    static const struct {
        int n, seeds;
    } sizes[] = {{3, 100}, {4, 100}, {40, 1}};
    static double plain[MOST], wide[MOST];
    for (int k = 0; k < LCP_NCLASS * 3 * 4; k++) {
        lcp_class c = (lcp_class)(k / 12);
        perp_lcp_method method = methods[k % 4];
        int n = sizes[k / 4 % 3].n, seeds = sizes[k / 4 % 3].seeds;
        for (int seed = 1; seed <= seeds && (n == 40 || lcp_class_size(c, n) == n); seed++) {
            perp_lcp_info info = {.size = sizeof info}, plain_info = {.size = sizeof plain_info};
            for (int isa = 0; isa < PERP_ISA_COUNT; isa++) {
                perp__isa_most = isa;
                solve(c, method, n, seed, isa ? wide : plain, isa ? &info : &plain_info);
                if (isa == 0) continue;
                if (memcmp(wide, plain, sizeof wide) != 0 || info.outcome != plain_info.outcome ||
                    info.iterations != plain_info.iterations)
                    fail_msg("%s, %s, n = %d, version %d", lcp_class_name(c),
                             perp_lcp_method_name(method), n, isa);
            }
        }
    }
}

/* Full vectors of every width, and a rest; problems one after the other, or interleaved. */
static void batches_have_the_bits_of_the_plain_kernels(void **state)
{
    (void)state;
    static double M[COUNT * 36], q[COUNT * 6], z[PERP_ISA_COUNT][COUNT * 6];
    for (int n = 1; n <= 6; n++) {
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            int solved[PERP_ISA_COUNT];
            for (int k = 0; k < COUNT; k++) {
                perp_lcp one =
                    lcp_generate(k % 2 ? LCP_definite : LCP_p_matrix, n, (unsigned)k + 1);
                for (int e = 0; e < n * n; e++)
                    M[interleaved ? e * COUNT + k : k * n * n + e] = one.M[e];
                for (int e = 0; e < n; e++) q[interleaved ? e * COUNT + k : k * n + e] = one.q[e];
                free((void *)(size_t)one.M);
            }
            perp_lcp_batch batch = {
                .count = COUNT, .n = n, .M = M, .q = q, .interleaved = interleaved};
            memset(z, 0, sizeof z);
            for (int isa = 0; isa < PERP_ISA_COUNT; isa++) {
                perp_lcp_batch_solver *solver;
                perp__isa_most = isa;
                assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, n, 1, NULL, &solver),
                                 PERP_OK);
                assert_int_equal(perp_lcp_solve_batch(solver, &batch, z[isa], NULL, &solved[isa]),
                                 PERP_OK);
                perp_lcp_batch_solver_destroy(solver);
                assert_int_equal(solved[isa], solved[0]);
                assert_memory_equal(z[isa], z[0], sizeof z[0]);
            }
            assert_int_equal(solved[0], COUNT);
        }
    }
}

/* Column x behind a panel of columns from `begin` to `end`. */
static void leave_panel(int n, const double *A, int lda, int begin, int end, double *x)
{
    for (int c = begin; c < end; c++)
        for (int i = c + 1; i < end; i++) x[i] -= x[c] * A[i + c * lda];
    for (int i = end; i < n; i++) {
        double sum = 0;
        for (int c = begin; c < end; c++) sum += A[i + c * lda] * -x[c];
        x[i] += sum;
    }
}

/* Factors as they are defined, panels of 32 columns by rank 1 after rank 1: what zeros, -0 and ties of pivots become. Returns the first
 * pivot that is none + 1. */
static int factor_by_definition(int n, double *A, int lda, int *swap)
{
    for (int c = 0; c < n; c++) {
        double *column = A + c * lda;
        int p = c, end = c / 32 * 32 + 32 < n ? c / 32 * 32 + 32 : n;
        for (int i = c + 1; i < n; i++) p = fabs(column[i]) > fabs(column[p]) ? i : p;
        swap[c] = p;
        if (!(fabs(column[p]) > 0) || !isfinite(column[p])) return c + 1;
        for (int j = 0; j < n; j++) {
            double t = A[c + j * lda];
            A[c + j * lda] = A[p + j * lda], A[p + j * lda] = t;
        }
        for (int i = c + 1; i < n; i++) column[i] /= column[c];
        for (double *x = column + lda; x < A + end * lda; x += lda)
            for (int i = c + 1; i < n && x[c] != 0; i++) x[i] -= x[c] * column[i];
        for (int j = end; j < n && c == end - 1; j++)
            leave_panel(n, A, lda, c / 32 * 32, end, A + j * lda);
    }
    return 0;
}

static void solve_by_definition(int n, const double *LU, int ld, const int *swap, double *x)
{
    for (int k = 0; k < n; k++) {
        double t = x[k];
        x[k] = x[swap[k]], x[swap[k]] = t;
    }
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n && x[k] != 0; i++) x[i] -= x[k] * LU[i + k * ld];
    for (int k = n - 1; k >= 0; k--) {
        x[k] /= LU[k + k * ld];
        for (int i = 0; i < k; i++) x[i] -= x[k] * LU[i + k * ld];
    }
}

/* Entries in the share given, ones among them, which tie, the others 0 or -0; a row and a column of zeros, or what is no number, now and then. */
static void draw_matrix(rng *g, int n, int lda, double share, double *A, double *x)
{
    for (int k = 0; k < n * lda; k++) {
        int is_one = uniform(g, 0, 1) < 0.1, is_minus = uniform(g, 0, 1) < 0.1;
        if (uniform(g, 0, 1) < share)
            A[k] = is_one ? 1 : uniform(g, -1, 1);
        else
            A[k] = is_minus ? -0.0 : 0;
    }
    for (int i = 0; i < n; i++) {
        int is_zero = uniform(g, 0, 1) < 0.3;
        if (share < 1) A[i + (i * 7 + 3) % n * lda] = uniform(g, 0.5, 1.5);
        x[i] = is_zero ? (i % 2 ? -0.0 : 0) : uniform(g, -1, 1);
    }
    if (uniform(g, 0, 1) < 0.05) memset(A + n / 2 * lda, 0, (size_t)n * sizeof *A);
    if (uniform(g, 0, 1) < 0.05)
        A[(int)uniform(g, 0, n * lda)] = n % 2 ? (double)NAN : (double)INFINITY;
}

static void factors_and_solves_have_the_bits_that_are_defined(void **state)
{
    (void)state;
    enum { LARGEST = 100 };
    static double A[LARGEST * (LARGEST + 2)], of[PERP_ISA_COUNT + 1][LARGEST * (LARGEST + 2)];
    static double b[LARGEST], x[PERP_ISA_COUNT + 1][LARGEST];
    int swap[PERP_ISA_COUNT + 1][LARGEST], bad[PERP_ISA_COUNT + 1], factored = 0, refused = 0;
    rng g = {1};
    for (int k = 0; k < 40 * LARGEST; k++) {
        int n = 1 + k % (k % 4 ? 40 : LARGEST), lda = n + k % 3;
        draw_matrix(&g, n, lda, k % 5 ? 0.1 * (k % 5) : 1, A, b);
        for (int v = 0; v <= PERP_ISA_COUNT; v++) {
            memcpy(of[v], A, sizeof A), memcpy(x[v], b, sizeof b);
            perp__isa_most = v > 0 ? v - 1 : 0;
            bad[v] = v == 0 ? factor_by_definition(n, of[v], lda, swap[v])
                            : perp__lu(n, of[v], lda, swap[v]);
            assert_int_equal(bad[v], bad[0]);
            if (bad[v] || !perp__are_finite(n * lda, of[v])) continue;
            if (v == 0)
                solve_by_definition(n, of[v], lda, swap[v], x[v]);
            else
                perp__lu_solve(n, of[v], lda, swap[v], x[v]);
            assert_memory_equal(swap[v], swap[0], (size_t)n * sizeof(int));
            assert_memory_equal(of[v], of[0], sizeof A);
            assert_memory_equal(x[v], x[0], sizeof b);
            factored++;
        }
        refused += bad[0] != 0;
    }
    assert_in_range(factored, 4000, 1 << 20);
    assert_in_range(refused, 100, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_solves_have_the_bits_of_the_plain_kernels),
        cmocka_unit_test(batches_have_the_bits_of_the_plain_kernels),
        cmocka_unit_test(factors_and_solves_have_the_bits_that_are_defined),
    };
    return run_all(tests);
}
