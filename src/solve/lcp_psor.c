/* psor, pgs - projected successive over-relaxation (Cryer 1971) and Gauss-Seidel (omega = 1), with
 * bounds.
 *
 *     z_i <- mid(lo_i, z_i - omega w_i / M_ii, hi_i),   i = 1 .. n, w always the newest
 *
 * Converges for symmetric M with positive diagonal where a solution exists and omega is in (0, 2).
 * Not for contact problems with friction pyramids, whose gamma has no diagonal: these are declined.
 * Linear convergence: rough answers quickly. Cost: n^2 a sweep. */

#include "solve/solver.h"

#include <math.h>
#include <string.h>

static size_t psor_doubles(int n)
{
    return (size_t)n;
}

static size_t no_ints(int n)
{
    (void)n;
    return 0;
}

/* Sweeps end when no row changes by more than `enough` relative to its largest values so far, |q_i|
 * and |M_ii z_i|. These scale with the units as the changes do. */
static perp_outcome sweep(perp_lcp_solver *s, const perp_lcp *lcp, double omega, int *iterations)
{
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 2000, moves = 1;
    double *z = s->z, *restrict w = s->w, *seen = s->work, enough = 0.1 * s->options.tol;
    for (int i = 0; i < n; i++) {
        z[i] = perp__clamp(lcp, i, s->options.warm_start ? s->start[i] : 0);
        seen[i] = 0;
    }
    for (int i = 0; i < n; i++) {
        if (!(perp__column(lcp, i)[i] > 0)) return PERP_LIMIT;
    }
    for (int k = 0; k < limit && moves; k++) {
        moves = 0;
        if (k % 50 == 0) perp_lcp_residual(lcp, z, w); /* anew, against drift */
        for (int i = 0; i < n; i++) {
            const double *column = perp__column(lcp, i);
            double next = perp__clamp(lcp, i, z[i] - omega * w[i] / column[i]), d = next - z[i];
            if (d == 0) continue;
            double size = fabs(next * column[i]);
            if (size > seen[i]) seen[i] = size;
            moves |= fabs(d * column[i]) > enough * (fabs(lcp->q[i]) + seen[i]);
            z[i] = next;
            for (int j = 0; j < n; j++) w[j] += column[j] * d;
        }
        ++*iterations;
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(z[i])) z[i] = 0;
    }
    return PERP_LIMIT; /* the driver's residual decides */
}

static perp_outcome psor_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                               int *iterations)
{
    (void)attempt;
    return sweep(s, lcp, s->options.psor.omega, iterations);
}

static perp_outcome pgs_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    (void)attempt;
    return sweep(s, lcp, 1, iterations);
}

const perp__solver perp__lcp_psor = {
    .doubles = psor_doubles,
    .ints = no_ints,
    .solve = psor_solve,
    .attempts = 1,
    .takes_bounds = 1,
};
const perp__solver perp__lcp_pgs = {
    .doubles = psor_doubles,
    .ints = no_ints,
    .solve = pgs_solve,
    .attempts = 1,
    .takes_bounds = 1,
};
