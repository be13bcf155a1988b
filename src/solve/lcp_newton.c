/* fb, min - semismooth Newton, dense (newton.c): the Fischer-Burmeister function, and the minimum
 * function, whose steps are those of an active set.
 *
 * Succeeds from anywhere for P-matrices (fb); quickly, and often exactly, near a solution (min).
 * Fails at local minima of the merit function when M is not P0. Cost: one LU (2 n^3/3) a step, 5-30
 * steps. Takes bounds. A sparse problem is one for perp/mcp.h. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/newton.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

static size_t newton_doubles(int n)
{
    return (PERP__NEWTON_WORK + 1) * (size_t)n;
}

static size_t newton_ints(int n)
{
    (void)n;
    return 0;
}

typedef struct dense {
    perp_lcp_solver *s;
    const perp_lcp *lcp;
} dense;

static int evaluate(void *context, const double *z, double *w)
{
    const dense *d = context;
    perp_lcp_residual(d->lcp, z, w);
    return 1;
}

static int linearize(void *context, const double *z)
{
    (void)context;
    (void)z;
    return 1;
}

static int factor(void *context, const double *dz, const double *dw)
{
    dense *d = context;
    size_t n = (size_t)d->lcp->n;
    for (size_t j = 0; j < n; j++) {
        const double *column = perp__column(d->lcp, (int)j);
        double *out = d->s->lu.values + j * n;
        for (size_t i = 0; i < n; i++) out[i] = dw[i] * column[i];
        out[j] += dz[j];
    }
    return perp__lu((int)n, d->s->lu.values, (int)n, d->s->lu.swap) == 0;
}

static void solve(void *context, double *x)
{
    const dense *d = context;
    perp__lu_solve(d->lcp->n, d->s->lu.values, d->lcp->n, d->s->lu.swap, x);
}

static void transposed(void *context, const double *v, double *out)
{
    const dense *d = context;
    for (int j = 0; j < d->lcp->n; j++) {
        const double *column = perp__column(d->lcp, j);
        double sum = 0;
        for (int i = 0; i < d->lcp->n; i++) sum += column[i] * v[i];
        out[j] = sum;
    }
}

/* The guess or the nearest point to zero; or the least z a diagonal M would have. */
static void choose_start(perp_lcp_solver *s, const perp_lcp *lcp, int diagonal)
{
    double scale = perp__lcp_scale(lcp);
    for (int i = 0; i < lcp->n; i++) {
        double m = perp__column(lcp, i)[i], z = s->options.warm_start ? s->start[i] : 0;
        if (diagonal) z = m > PERP_NEWTON_DIAGONAL * scale ? -lcp->q[i] / m : 1;
        s->z[i] = perp__clamp(lcp, i, z);
    }
}

/* From s->z on, until the residual is `target` in the scale of the problem. */
static void run(perp_lcp_solver *s, const perp_lcp *lcp, perp__ncp kind, double target,
                int *iterations)
{
    int limit = s->options.max_iter ? s->options.max_iter : 200;
    dense d = {s, lcp};
    perp__newton_problem p = {lcp->n,    lcp->lo, lcp->hi, &d,        evaluate,
                              linearize, factor,  solve,   transposed};
    *iterations +=
        perp__newton_solve(&p, kind, target * perp__lcp_scale(lcp), limit, s->z, s->work);
}

/* The second attempt goes on where the first ended: its basis did not hold. */
static perp_outcome fb_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    double *reached = s->work + PERP__NEWTON_WORK * (size_t)lcp->n;
    size_t bytes = (size_t)lcp->n * sizeof(double);
    if (attempt == 1)
        memcpy(s->z, reached, bytes);
    else
        choose_start(s, lcp, attempt > 0);
    run(s, lcp, PERP__NCP_FB, attempt == 0 ? PERP_NEWTON_ON_BASIS : PERP_NEWTON_END, iterations);
    memcpy(reached, s->z, bytes);
    return PERP_LIMIT; /* the driver's residual decides */
}

static perp_outcome min_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    choose_start(s, lcp, attempt > 0);
    run(s, lcp, PERP__NCP_MIN, PERP_NEWTON_END, iterations);
    return PERP_LIMIT; /* the driver's residual decides */
}

const perp__solver perp__lcp_fb = {
    .doubles = newton_doubles,
    .ints = newton_ints,
    .solve = fb_solve,
    .in_own_units = 1,
    .attempts = 3,
    .takes_bounds = 1,
};
const perp__solver perp__lcp_min = {
    .doubles = newton_doubles,
    .ints = newton_ints,
    .solve = min_solve,
    .attempts = 2,
    .takes_bounds = 1,
};
