/* Kernels for wider registers give the bits of the plain ones: every class of problem, with each that this machine runs. */

#include "lcp_classes.h"
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
            for (int isa = 0; isa < PERP_ISA_COUNT; isa++) {
                perp_lcp_info info, plain_info;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_solves_have_the_bits_of_the_plain_kernels),
        cmocka_unit_test(batches_have_the_bits_of_the_plain_kernels),
    };
    return run_all(tests);
}
