/* ipm - infeasible primal-dual interior point with predictor and corrector (Mehrotra 1992; Kojima
 * et al. 1991 for monotone problems).
 *
 * 1. z, w > 0; a Newton step on w = M z + q, z_i w_i = sigma mu:
 *
 *     (M + diag(w/z)) dz = -(M z + q - w) + (sigma mu - z w)/z
 *
 * 2. First with sigma = 0; the length it reaches sets sigma, and its second-order term is put right
 *    in a second solve with the same factors.
 * 3. Steps stop at max(0.995, 1 - mu) of the way to the boundary, so that the end is quadratic.
 *    From mu = 1e-12 on the driver computes the solution from the basis of those i whose z_i is
 *    larger than w_i. Where that does not hold the second attempt goes on to what rounding allows.
 * 4. Where the solutions are unbounded there is no path to follow. The third attempt is a proximal
 *    point iteration: M + d I, q - d z_k, with d = 1e-6 of the largest diagonal entry, a few times.
 *
 * Succeeds for positive semidefinite M when a solution exists, in 10-40 steps whatever n. Cost: one
 * LU (2 n^3/3) a step. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

static size_t ipm_doubles(int n)
{
    return 7 * (size_t)n;
}

static size_t ipm_ints(int n)
{
    (void)n;
    return 0;
}

typedef struct point {
    int n;
    double *z, *w, *dz, *dw, *r, *c; /* r = M z + q - w, c = target of z dw + w dz */
    double *center, shift;           /* M + shift I, q - shift center */
} point;

/* r, and the largest of it. */
static double infeasibility(const point *p, const perp_lcp *lcp)
{
    double largest = 0;
    for (int i = 0; i < p->n; i++)
        p->r[i] = lcp->q[i] - p->w[i] + p->shift * (p->z[i] - p->center[i]);
    for (int j = 0; j < p->n; j++) {
        const double *column = perp__column(lcp, j);
        for (int i = 0; i < p->n; i++) p->r[i] += column[i] * p->z[j];
    }
    for (int i = 0; i < p->n; i++) largest = fmax(largest, fabs(p->r[i]));
    return largest;
}

static int factor(perp_lcp_solver *s, const point *p, const perp_lcp *lcp)
{
    size_t n = (size_t)p->n;
    for (size_t j = 0; j < n; j++) {
        double *column = s->lu.values + j * n;
        memcpy(column, perp__column(lcp, (int)j), n * sizeof(double));
        column[j] += p->w[j] / p->z[j] + p->shift;
    }
    return perp__lu(p->n, s->lu.values, p->n, s->lu.swap) == 0;
}

/* dz from c, then dw = (c - w dz)/z. */
static void direction(const perp_lcp_solver *s, const point *p)
{
    for (int i = 0; i < p->n; i++) p->dz[i] = -p->r[i] + p->c[i] / p->z[i];
    perp__lu_solve(p->n, s->lu.values, p->n, s->lu.swap, p->dz);
    for (int i = 0; i < p->n; i++) p->dw[i] = (p->c[i] - p->w[i] * p->dz[i]) / p->z[i];
}

static double step_length(const point *p, double share)
{
    double length = 1;
    for (int i = 0; i < p->n; i++) {
        if (p->dz[i] < 0) length = fmin(length, -share * p->z[i] / p->dz[i]);
        if (p->dw[i] < 0) length = fmin(length, -share * p->w[i] / p->dw[i]);
    }
    return length;
}

/* From the point at hand along the path until mu is `gap`, or nothing moves; 0 when numbers run
 * away. */
static int follow_path(perp_lcp_solver *s, point *p, const perp_lcp *lcp, double gap, int limit,
                       int *iterations)
{
    double scale = perp__lcp_scale(lcp);
    for (int k = 0; k < limit; k++) {
        double mu = 0, after = 0, infeasible = infeasibility(p, lcp);
        for (int i = 0; i < p->n; i++) mu += p->z[i] * p->w[i] / p->n;
        if (!isfinite(mu) || !isfinite(infeasible)) return 0;
        if (infeasible <= PERP_IPM_FEASIBLE * scale && mu <= gap * scale * scale) break;
        ++*iterations;
        if (!factor(s, p, lcp)) break;
        for (int i = 0; i < p->n; i++) p->c[i] = -p->z[i] * p->w[i];
        direction(s, p);
        double length = step_length(p, 1);
        for (int i = 0; i < p->n; i++)
            after += (p->z[i] + length * p->dz[i]) * (p->w[i] + length * p->dw[i]) / p->n;
        double sigma = pow(after / mu, 3);
        for (int i = 0; i < p->n; i++)
            p->c[i] = sigma * mu - p->z[i] * p->w[i] - p->dz[i] * p->dw[i];
        direction(s, p);
        length = step_length(p, fmax(0.995, 1 - mu));
        if (!(length > PERP_IPM_STEP)) break;
        for (int i = 0; i < p->n; i++) {
            p->z[i] += length * p->dz[i];
            p->w[i] += length * p->dw[i];
        }
    }
    return 1;
}

/* The proximal points, each from a start as large as the one before. */
static void iterate_proximally(perp_lcp_solver *s, point *p, const perp_lcp *lcp, double start,
                               int limit, int *iterations)
{
    enum { OUTER = 8 };
    for (int outer = 0; outer < OUTER; outer++) {
        double size = fmax(1, start);
        for (int i = 0; i < p->n; i++) size = fmax(size, fabs(p->center[i]));
        for (int i = 0; i < p->n; i++) p->z[i] = p->w[i] = size;
        if (!follow_path(s, p, lcp, PERP_IPM_GAP, limit, iterations)) break;
        memcpy(p->center, p->z, (size_t)p->n * sizeof(double));
    }
}

static perp_outcome ipm_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 100;
    size_t N = (size_t)n;
    double *b = s->work, *reached = b + 6 * N, largest = 0;
    point p = {n, s->z, b, b + N, b + 2 * N, b + 3 * N, b + 4 * N, b + 5 * N, 0};
    for (int j = 0; j < n; j++) largest = fmax(largest, fabs(perp__column(lcp, j)[j]));
    double start = sqrt(perp__lcp_scale(lcp) / fmax(largest, PERP_IPM_LEAST_SCALE));
    if (attempt != 1) memset(p.center, 0, N * sizeof(double));
    if (attempt == 0) {
        for (int i = 0; i < n; i++) p.z[i] = p.w[i] = PERP_IPM_START * fmax(1, start);
        follow_path(s, &p, lcp, PERP_IPM_GAP_ON_BASIS, limit, iterations);
        memcpy(reached, p.z, N * sizeof(double));
    } else if (attempt == 1) {
        memcpy(p.z, reached, N * sizeof(double));
        follow_path(s, &p, lcp, PERP_IPM_GAP, limit, iterations);
    } else {
        p.shift = PERP_IPM_SHIFT * (largest > 0 ? largest : 1);
        iterate_proximally(s, &p, lcp, start, limit, iterations);
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(p.z[i])) p.z[i] = 0;
        s->basis[i] = p.z[i] > p.w[i];
    }
    s->has_basis = 1;
    return PERP_LIMIT; /* the driver's residual decides */
}

const perp__solver perp__lcp_ipm = {
    .doubles = ipm_doubles,
    .ints = ipm_ints,
    .solve = ipm_solve,
    .in_own_units = 1,
    .attempts = 3,
};
