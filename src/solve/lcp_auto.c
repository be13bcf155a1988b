/* auto - a cascade; the driver verifies every stage of it.
 *
 * 1. lemke with all its attempts: in product form it is the quickest at every size, and settles nearly
 * everything.
 * 2. Is there a proof that nothing can? It ends the search.
 * 3. What that leaves: bpp, ipm, fb; then murty, whose pivots visit other vertices (n <= 100).
 * 4. Small problems (n <= 8; beyond that a refusal would take seconds) are searched completely.
 *
 * Where nothing is found the outcome is that of lemke: a ray, or a proof that there is no solution; z is the best
 * point of all stages. */

#include "solve/solver.h"

#include <limits.h>
#include <string.h>

/* MURTY_UP_TO: a failing search of murty is 1000 + 50 n pivots of n^2 operations, 0.1 s here. */
enum { SEARCH_UP_TO = 8, PROVE_UP_TO = 32, MURTY_UP_TO = 100 };

static const struct {
    perp_lcp_method method;
    const perp__solver *solver;
    int up_to; /* unknowns */
} rest[] = {{PERP_LCP_BPP, &perp__lcp_bpp, INT_MAX},
            {PERP_LCP_IPM, &perp__lcp_ipm, INT_MAX},
            {PERP_LCP_FB, &perp__lcp_fb, INT_MAX},
            {PERP_LCP_MURTY, &perp__lcp_murty, MURTY_UP_TO}};

enum { NREST = sizeof rest / sizeof *rest };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* lemke's dictionary and bpp's basis are kept between solves: they have a place of their own. */
static size_t auto_doubles(int n)
{
    size_t size = 0;
    for (int k = 0; k < NREST; k++) size = larger(size, rest[k].solver->doubles(n));
    return perp__lcp_lemke.doubles(n) + size;
}

static size_t auto_ints(int n)
{
    size_t size = 0;
    for (int k = 0; k < NREST; k++) size = larger(size, rest[k].solver->ints(n));
    return perp__lcp_lemke.ints(n) + size;
}

/* 1 where that settles it: solved, or proved to have no solution. */
static int run(perp_lcp_solver *s, perp_lcp_method method, const perp__solver *solver,
               const perp_lcp *lcp, int *iterations, perp_outcome *outcome, double *best)
{
    double *work = s->work;
    int *index = s->index;
    if (solver != &perp__lcp_lemke) {
        s->work += perp__lcp_lemke.doubles(s->n_max);
        s->index += perp__lcp_lemke.ints(s->n_max);
    }
    *outcome = perp__lcp_run(s, solver, lcp, iterations);
    s->work = work;
    s->index = index;
    s->answered = method;
    if (*outcome == PERP_SOLVED || *outcome == PERP_INFEASIBLE) return 1;
    if (method == PERP_LCP_LEMKE || s->residual < *best) {
        *best = s->residual;
        memcpy(s->kept, s->z, (size_t)lcp->n * sizeof *s->z);
    }
    return 0;
}

static perp_outcome auto_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                               int *iterations)
{
    perp_outcome outcome, other;
    double best;
    (void)attempt;
    if (run(s, PERP_LCP_LEMKE, &perp__lcp_lemke, lcp, iterations, &outcome, &best)) return outcome;
    if (lcp->n <= PROVE_UP_TO && perp__lcp_prove(s, lcp, 1)) return PERP_INFEASIBLE;
    for (int k = 0; k < NREST; k++) {
        if (lcp->n > rest[k].up_to) continue;
        if (run(s, rest[k].method, rest[k].solver, lcp, iterations, &other, &best)) return other;
    }
    if (lcp->n <= SEARCH_UP_TO &&
        run(s, PERP_LCP_ENUMERATE, &perp__lcp_enumerate, lcp, iterations, &other, &best))
        return other;
    s->answered = PERP_LCP_LEMKE;
    s->has_basis = 0;
    memcpy(s->z, s->kept, (size_t)lcp->n * sizeof *s->z);
    return outcome;
}

const perp__solver perp__lcp_auto = {
    .doubles = auto_doubles,
    .ints = auto_ints,
    .solve = auto_solve,
    .attempts = 1,
    .is_driver = 1,
};
