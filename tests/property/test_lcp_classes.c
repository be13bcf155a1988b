/* Every method on every generated class: auto solves all, nobody claims what is not so; broken problems end in
 * bad input or a verified answer. PERP_LONG=1 takes 1000 problems of each size up to 64, and 50 of 900. */

#include "unit.h"

#include "lcp_classes.h"
#include "perp/lcp.h"

#include <stdint.h>

static int is_long(void)
{
    const char *text = getenv("PERP_LONG");
    return text && text[0] == '1';
}

/* The residual again, in long double and by another loop, less what rounding the terms of w may cost. */
static double residual_of(const perp_lcp *lcp, const double *z)
{
    long double largest = 0;
    for (int i = 0; i < lcp->n; i++) {
        long double w = lcp->q[i], terms = fabsl(w);
        for (int j = 0; j < lcp->n; j++) {
            long double x = (long double)lcp->M[(size_t)i + (size_t)j * (size_t)lcp->ldm] * z[j];
            w += x, terms += fabsl(x);
        }
        long double r = fabsl(z[i] < w ? (long double)z[i] : w) - 1e-15L * terms;
        if (!(r <= largest)) largest = r;
    }
    return (double)largest;
}

static double scale_of(const perp_lcp *lcp)
{
    double scale = 1;
    for (int i = 0; i < lcp->n; i++) scale = fmax(scale, 1 + fabs(lcp->q[i]));
    return scale;
}

/* Solve and judge the claim. Returns the outcome. */
static perp_outcome judge(perp_lcp_solver *solver, const perp_lcp *lcp, const char *what,
                          unsigned seed)
{
    double *z = calloc((size_t)lcp->n + 1, sizeof *z);
    perp_lcp_info info = {.size = sizeof info};
    assert_int_equal(perp_lcp_solve(solver, lcp, z, NULL, &info), PERP_OK);
    double residual = residual_of(lcp, z), allowed = 1e-8 * scale_of(lcp);
    if (info.outcome == PERP_SOLVED && !(residual <= allowed))
        fail_msg("%s, seed %u: %s claims solved with residual %g", what, seed,
                 perp_lcp_method_name(info.method), residual);
    const double *u = perp_lcp_certificate(solver);
    if ((info.outcome == PERP_INFEASIBLE) != (u && perp_lcp_is_infeasible(lcp, u, 1e-10)))
        fail_msg("%s, seed %u: infeasible without a proof", what, seed);
    free(z);
    return info.outcome;
}

static void check_class(perp_lcp_method method, lcp_class c, int n, int count)
{
    perp_lcp_solver *solver;
    int size = lcp_class_size(c, n), solved = 0;
    perp_status status = perp_lcp_solver_create(method, size, NULL, &solver);
    if (status == PERP_ERR_UNAVAILABLE) return;
    assert_int_equal(status, PERP_OK);
    for (unsigned seed = 1; seed <= (unsigned)count; seed++) {
        perp_lcp lcp = lcp_generate(c, n, seed);
        assert_non_null(lcp.M);
        perp_outcome outcome = judge(solver, &lcp, lcp_class_name(c), seed);
        solved += outcome == PERP_SOLVED;
        if (outcome == PERP_INFEASIBLE || (method == PERP_LCP_AUTO && outcome != PERP_SOLVED))
            fail_msg("%s n = %d, seed %u: %s ends in %s, but there is a solution",
                     lcp_class_name(c), size, seed, perp_lcp_method_name(method),
                     perp_outcome_name(outcome));
        free((void *)(uintptr_t)lcp.M);
    }
    perp_lcp_solver_destroy(solver);
}

static void auto_solves_every_class(void **state)
{
    (void)state;
    static const int sizes[] = {3, 4, 8, 13, 24, 40, 64};
    for (int c = 0; c < LCP_NCLASS; c++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check_class(PERP_LCP_AUTO, (lcp_class)c, sizes[k], is_long() ? 1000 : 40);
        check_class(PERP_LCP_AUTO, (lcp_class)c, 150, is_long() ? 50 : 2);
        if (is_long()) check_class(PERP_LCP_AUTO, (lcp_class)c, 900, 50);
    }
}

static void no_method_claims_what_is_not_so(void **state)
{
    (void)state;
    static const int sizes[] = {3, 8, 20};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        for (int c = 0; c < LCP_NCLASS; c++) {
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                int n = lcp_class_size((lcp_class)c, sizes[k]);
                if (n > 64 || (m == PERP_LCP_ENUMERATE && n > 10)) continue;
                int slow = m == PERP_LCP_NLP; /* tens of milliseconds each */
                check_class((perp_lcp_method)m, (lcp_class)c, sizes[k],
                            is_long() ? 100
                            : slow    ? 1
                                      : 5);
            }
        }
    }
}

/* What the header of each method's file promises. */
static void methods_solve_the_classes_they_are_for(void **state)
{
    (void)state;
    static const struct {
        perp_lcp_method method;
        lcp_class class;
    } promised[] = {
        {PERP_LCP_LEMKE, LCP_definite}, {PERP_LCP_LEMKE, LCP_semidefinite},
        {PERP_LCP_LEMKE, LCP_p_matrix}, {PERP_LCP_LEMKE, LCP_stack5},
        {PERP_LCP_BPP, LCP_definite},   {PERP_LCP_BPP, LCP_p_matrix},
        {PERP_LCP_MURTY, LCP_definite}, {PERP_LCP_MURTY, LCP_p_matrix},
        {PERP_LCP_IPM, LCP_definite},   {PERP_LCP_IPM, LCP_semidefinite},
        {PERP_LCP_FB, LCP_definite},    {PERP_LCP_FB, LCP_p_matrix},
        {PERP_LCP_PGS, LCP_definite},   {PERP_LCP_PSOR, LCP_definite},
    };
    for (size_t k = 0; k < sizeof promised / sizeof *promised; k++) {
        perp_lcp_solver *solver;
        perp_lcp_method method = promised[k].method;
        int n = lcp_class_size(promised[k].class, 8);
        assert_int_equal(perp_lcp_solver_create(method, n, NULL, &solver), PERP_OK);
        for (unsigned seed = 1; seed <= 100; seed++) {
            perp_lcp lcp = lcp_generate(promised[k].class, 8, seed);
            perp_outcome outcome = judge(solver, &lcp, lcp_class_name(promised[k].class), seed);
            if (outcome != PERP_SOLVED)
                fail_msg("%s, seed %u: %s ends in %s", lcp_class_name(promised[k].class), seed,
                         perp_lcp_method_name(method), perp_outcome_name(outcome));
            free((void *)(uintptr_t)lcp.M);
        }
        perp_lcp_solver_destroy(solver);
    }
}

static void flip(double *x, unsigned long long *g)
{
    static const double strange[] = {NAN, INFINITY, -INFINITY, 5e-324, -1e-310, 1e300, -1e300, 0};
    *g = *g * 6364136223846793005ULL + 1442695040888963407ULL;
    unsigned bit = (unsigned)(*g >> 58), pick = (unsigned)(*g >> 40) % 16;
    uint64_t bits;
    if (pick < 8) {
        *x = strange[pick];
        return;
    }
    memcpy(&bits, x, sizeof bits);
    bits ^= 1ULL << bit;
    memcpy(x, &bits, sizeof bits);
}

static void broken_numbers_end_in_bad_input_or_a_verified_answer(void **state)
{
    (void)state;
    unsigned long long g = 1;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        unsigned count = is_long() ? 2000 : m == PERP_LCP_NLP ? 15 : 150;
        for (unsigned seed = 1; seed <= count; seed++) {
            lcp_class c = (lcp_class)(seed % LCP_NCLASS);
            if (lcp_class_size(c, 8) > 12) continue;
            perp_lcp lcp = lcp_generate(c, 8, seed);
            double *M = (double *)(uintptr_t)lcp.M, *q = (double *)(uintptr_t)lcp.q;
            int n = lcp.n, is_finite = 1;
            for (unsigned k = 0; k <= seed % 3; k++) {
                g = g * 6364136223846793005ULL + 1442695040888963407ULL;
                size_t at = (size_t)(g >> 33) % (size_t)(n * n + n);
                flip(at < (size_t)(n * n) ? &M[at] : &q[at - (size_t)(n * n)], &g);
            }
            for (int i = 0; i < n * n; i++) is_finite &= isfinite(M[i]) != 0;
            for (int i = 0; i < n; i++) is_finite &= isfinite(q[i]) != 0;
            perp_lcp_solver *solver;
            perp_lcp_options o = perp_lcp_options_default((perp_lcp_method)m);
            o.max_iter = 300;
            perp_status status = perp_lcp_solver_create((perp_lcp_method)m, n, &o, &solver);
            if (status != PERP_ERR_UNAVAILABLE) {
                assert_int_equal(status, PERP_OK);
                perp_outcome outcome = judge(solver, &lcp, "broken", seed);
                assert_int_equal(outcome == PERP_BAD_INPUT, !is_finite);
                perp_lcp_solver_destroy(solver);
            }
            free(M);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_solves_every_class),
        cmocka_unit_test(no_method_claims_what_is_not_so),
        cmocka_unit_test(methods_solve_the_classes_they_are_for),
        cmocka_unit_test(broken_numbers_end_in_bad_input_or_a_verified_answer),
    };
    return run_all(tests);
}
