/* bpp - block principal pivoting (Kostreva 1978; Judice & Pires 1994).
 *
 * 1. For a basis b: M_bb z_b = -q_b, w = q + M z. Infeasible are z_i < 0 in the basis, w_i < 0
 *    outside.
 * 2. All infeasible indices change sides at once, as long as their number falls; it may fail to a
 *    few times.
 * 3. After that Murty's rule: only the infeasible index of least number changes sides, until the
 *    count falls below the best so far. For a P-matrix that ends.
 * 4. Warm start: the basis of the last solve; where that leads nowhere, from the beginning.
 *
 * Succeeds for P-matrices, usually in 5-15 factorisations whatever n. Fails where a basis on the
 * way is singular. Cost: nb^3/3 (Cholesky, symmetric M_bb) or 2 nb^3/3 (LU) and n nb a step. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

enum { PATIENCE = 6 };

static size_t bpp_doubles(int n)
{
    return (size_t)n;
}

static size_t bpp_ints(int n)
{
    (void)n;
    return 1; /* is there a last basis, and of what size */
}

static int is_symmetric(const double *A, int n)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < j; i++) {
            if (A[(size_t)j * (size_t)n + (size_t)i] != A[(size_t)i * (size_t)n + (size_t)j])
                return 0;
        }
    }
    return 1;
}

/* z and w of the basis. Returns 0 if it is singular. */
static int solve_basis(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n, nb = perp__lcp_gather_basis(s, lcp), ld = nb > 0 ? nb : 1;
    int symmetric = nb > 0 && is_symmetric(s->lu.values, nb);
    double *x = s->work;
    for (int k = 0; k < nb; k++) x[k] = -lcp->q[s->lu.rows[k]];
    if (symmetric && perp__cholesky(nb, s->lu.values, ld, 0)) {
        perp__cholesky_solve(nb, s->lu.values, ld, x);
    } else if (nb > 0) {
        if (symmetric) perp__lcp_gather_basis(s, lcp);
        if (perp__lu(nb, s->lu.values, ld, s->lu.swap) != 0) return 0;
        perp__lu_solve(nb, s->lu.values, ld, s->lu.swap, x);
    }
    memset(s->z, 0, (size_t)n * sizeof(double));
    memcpy(s->w, lcp->q, (size_t)n * sizeof(double));
    for (int k = 0; k < nb; k++) {
        const double *column = perp__column(lcp, s->lu.rows[k]);
        s->z[s->lu.rows[k]] = x[k];
        for (int i = 0; i < n; i++) s->w[i] += column[i] * x[k];
    }
    return 1;
}

/* Infeasible by more than rounding? */
static int is_infeasible(const perp_lcp_solver *s, int i, double z_scale, double w_scale)
{
    return s->basis[i] ? s->z[i] < -PERP_TOL_SIGN * z_scale : s->w[i] < -PERP_TOL_SIGN * w_scale;
}

/* From the basis at hand. */
static perp_outcome pivot(perp_lcp_solver *s, const perp_lcp *lcp, int *iterations)
{
    int n = lcp->n, best = n + 1, patience = PATIENCE;
    int limit = s->options.max_iter ? s->options.max_iter : 200 + 2 * n;
    double w_scale = perp__lcp_scale(lcp);
    for (int k = 0; k < limit; k++) {
        int count = 0, first = -1;
        double z_scale = 0;
        ++*iterations;
        if (!solve_basis(s, lcp)) return PERP_LIMIT;
        for (int i = 0; i < n; i++) z_scale = fabs(s->z[i]) > z_scale ? fabs(s->z[i]) : z_scale;
        for (int i = n - 1; i >= 0; i--) {
            if (is_infeasible(s, i, z_scale, w_scale)) {
                count++;
                first = i;
            }
        }
        if (count == 0) {
            for (int i = 0; i < n; i++) s->z[i] = s->z[i] > 0 ? s->z[i] : 0;
            return PERP_SOLVED;
        }
        if (count < best) {
            best = count;
            patience = PATIENCE;
        } else
            patience--;
        if (patience < 0) {
            s->basis[first] = !s->basis[first];
            continue;
        }
        for (int i = 0; i < n; i++)
            s->basis[i] ^= (unsigned char)is_infeasible(s, i, z_scale, w_scale);
    }
    return PERP_LIMIT;
}

static perp_outcome bpp_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    int is_warm = s->options.warm_start && s->index[0] == lcp->n + 1;
    size_t size = (size_t)lcp->n + 1;
    (void)attempt;
    if (!is_warm) memset(s->basis, 0, size);
    perp_outcome outcome = pivot(s, lcp, iterations);
    if (outcome != PERP_SOLVED && is_warm) { /* that basis may be singular in this M */
        memset(s->basis, 0, size);
        outcome = pivot(s, lcp, iterations);
    }
    s->has_basis = outcome == PERP_SOLVED;
    s->index[0] = s->has_basis ? lcp->n + 1 : 0;
    return outcome;
}

const perp__solver perp__lcp_bpp = {
    .doubles = bpp_doubles,
    .ints = bpp_ints,
    .solve = bpp_solve,
    .attempts = 1,
};
