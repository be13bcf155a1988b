/* murty - least-index principal pivoting (Murty 1974).
 *
 * 1. The dictionary w = q + M z; a principal pivot exchanges w_i and z_i.
 * 2. Of the rows whose basic variable is negative, the one of least index is exchanged.
 *
 * Succeeds for every P-matrix, on some (murty's own example) after 2^n - 1 pivots. Fails where a
 * diagonal entry of the dictionary is zero, and at its limit. Cost: 2 n^2 a pivot. */

#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

static size_t murty_doubles(int n)
{
    return (size_t)n * (size_t)n + (size_t)n;
}

static size_t murty_ints(int n)
{
    (void)n;
    return 0;
}

/* Exchange w_r and z_r. Returns 0 where the pivot vanishes against its column. */
static int exchange(int n, double *D, double *q, int r)
{
    double *restrict pc = D + (size_t)r * (size_t)n, p = pc[r], largest = 0;
    for (int i = 0; i < n; i++) largest = fabs(pc[i]) > largest ? fabs(pc[i]) : largest;
    if (!(fabs(p) > PERP_TOL_MURTY_PIVOT * largest)) return 0;
    for (int j = 0; j <= n; j++) {
        double *restrict column = j < n ? D + (size_t)j * (size_t)n : q;
        if (j == r) continue;
        double f = -column[r] / p;
        for (int i = 0; i < n && f != 0; i++) column[i] += f * pc[i];
        column[r] = f;
    }
    for (int i = 0; i < n; i++) pc[i] /= p;
    pc[r] = 1 / p;
    return 1;
}

static perp_outcome murty_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                                int *iterations)
{
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 1000 + 50 * n;
    double *D = s->work, *q = D + (size_t)n * (size_t)n, scale = 0;
    (void)attempt;
    size_t N = (size_t)n, columns = lcp->ldm == n ? 1 : N; /* copied at once, or one by one */
    for (size_t j = 0; j < columns; j++)
        memcpy(D + j * N, perp__column(lcp, (int)j), N * N / columns * sizeof(double));
    for (int j = 0; j < n; j++) {
        q[j] = lcp->q[j];
        scale = fabs(q[j]) > scale ? fabs(q[j]) : scale;
    }
    memset(s->basis, 0, (size_t)n + 1);
    perp_outcome outcome = PERP_LIMIT;
    for (int k = 0; k <= limit; k++) {
        int r = 0;
        while (r < n && !(q[r] < -PERP_TOL_SIGN * scale)) r++;
        if (r == n) {
            outcome = PERP_SOLVED;
            break;
        }
        if (k == limit || !exchange(n, D, q, r)) break;
        s->basis[r] = !s->basis[r];
        ++*iterations;
    }
    for (int i = 0; i < n; i++) s->z[i] = s->basis[i] && q[i] > 0 ? q[i] : 0;
    s->has_basis = outcome == PERP_SOLVED;
    return outcome;
}

const perp__solver perp__lcp_murty = {
    .doubles = murty_doubles,
    .ints = murty_ints,
    .solve = murty_solve,
    .attempts = 1,
};
