/* prox - projected fixed point, with bounds.
 *
 *     z <- mid(lo, z - rho w, hi)
 *
 * All rows at once (Jacobi), or one after the other with the newest w (Gauss-Seidel). The choice
 * of rho is decisive: for symmetric positive definite M the Jacobi iteration contracts below
 * 2/lambda_max and diverges above. perp_rho lists the choices. Adaptive as in fc_prox.c
 * (Khobotov 1987).
 *
 * Linear convergence, hundreds to thousands of iterations. With the adaptive rho and n <= 64 the
 * driver also tries the direct solve on the basis, after two and five digits. Cost: n^2 each.
 * Schindler, Nguyen & Trinkle 2011. */

#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

static size_t prox_doubles(int n)
{
    return 4 * (size_t)n + 1;
}

static size_t prox_ints(int n)
{
    (void)n;
    return 1; /* iterations so far */
}

/* Largest eigenvalue of M scaled to diagonal 1, rho_i M: power iteration. x, y: scratch. */
static double largest_eigenvalue(const perp_lcp *lcp, const double *rho, double *x, double *y)
{
    double largest = 0;
    for (int i = 0; i < lcp->n; i++) x[i] = 1 + 0.25 * cos(3.0 * i);
    for (int round = 0; round < 50; round++) {
        double size = 0;
        memset(y, 0, (size_t)lcp->n * sizeof *y);
        for (int j = 0; j < lcp->n; j++) {
            const double *column = perp__column(lcp, j);
            for (int i = 0; i < lcp->n; i++) y[i] += rho[i] * column[i] * x[j];
        }
        for (int i = 0; i < lcp->n; i++) size = fmax(size, fabs(y[i]));
        largest = size;
        if (!(size > 0) || !isfinite(size)) break;
        for (int i = 0; i < lcp->n; i++) x[i] = y[i] / size;
    }
    return largest;
}

static void choose_rho(const perp_lcp_solver *s, const perp_lcp *lcp, double *rho, double *x,
                       double *y)
{
    perp_rho strategy = s->options.prox.strategy;
    double trace = 0, biggest = 0;
    for (int i = 0; i < lcp->n; i++) {
        double d = perp__column(lcp, i)[i];
        trace += d;
        biggest = fmax(biggest, fabs(d));
    }
    if (!(biggest > 0)) biggest = 1;
    for (int i = 0; i < lcp->n; i++) {
        double d = perp__column(lcp, i)[i];
        rho[i] = 1 / (d > PERP_RHO_DIAGONAL * biggest ? d : biggest);
        if (strategy == PERP_RHO_FIXED) rho[i] = s->options.prox.rho;
        if (strategy == PERP_RHO_TRACE) rho[i] = 1 / (trace > 0 ? trace : biggest);
    }
    if (strategy != PERP_RHO_SPECTRAL) return;
    double eigenvalue = largest_eigenvalue(lcp, rho, x, y);
    for (int i = 0; i < lcp->n && eigenvalue > 0; i++) rho[i] /= eigenvalue;
}

static double move(const perp_lcp *lcp, int i, const double *z, const double *w, double rho)
{
    return perp__clamp(lcp, i, z[i] - rho * w[i]);
}

static void gauss_seidel(const perp_lcp *lcp, double *z, double *restrict w, const double *rho,
                         double factor)
{
    for (int i = 0; i < lcp->n; i++) {
        double next = move(lcp, i, z, w, factor * rho[i]), d = next - z[i];
        const double *column = perp__column(lcp, i);
        z[i] = next;
        for (int j = 0; j < lcp->n && d != 0; j++) w[j] += column[j] * d;
    }
}

/* |w(z+) - w(z)| rho / |z+ - z|, in the norm that goes with rho: above 1 the step was too long for
 * M. */
static double stretch(const perp_lcp *lcp, const double *z, const double *w, const double *next,
                      const double *wnext, const double *rho, double factor)
{
    double change_w = 0, change_z = 0;
    for (int i = 0; i < lcp->n; i++) {
        change_w += rho[i] * (wnext[i] - w[i]) * (wnext[i] - w[i]);
        change_z += (next[i] - z[i]) * (next[i] - z[i]) / rho[i];
    }
    return change_z > 0 ? factor * sqrt(change_w / change_z) : 0;
}

/* Of the attempts all but the last end early, for the driver to try the basis; each goes on where
 * the one before ended. Of large problems a direct solve costs as much as many iterations: they
 * have one attempt. */
enum { ATTEMPTS = 3, TRY_UP_TO = 64 };

static void begin(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n;
    choose_rho(s, lcp, s->work, s->work + n, s->work + 2 * n);
    for (int i = 0; i < n; i++)
        s->z[i] = perp__clamp(lcp, i, s->options.warm_start ? s->start[i] : 0);
    s->work[4 * n] = 1; /* factor */
    s->index[0] = 0;
}

static perp_outcome prox_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                               int *iterations)
{
    static const double ends[ATTEMPTS] = {1e-2, 1e-5, 0};
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 5000, *k = s->index;
    double *rho = s->work, *next = rho + n, *wnext = next + n, *reached = wnext + n;
    double *factor = reached + n;
    int adaptive = s->options.prox.strategy == PERP_RHO_ADAPTIVE;
    size_t bytes = (size_t)n * sizeof(double);
    if (attempt == 0)
        begin(s, lcp);
    else
        memcpy(s->z, reached, bytes);
    double residual = perp_lcp_residual(lcp, s->z, s->w), last = residual;
    double end = fmax(0.1 * s->options.tol, adaptive && n <= TRY_UP_TO ? ends[attempt] : 0);
    double enough = end * perp__lcp_scale(lcp);
    for (; *k < limit && residual > enough; ++*k) {
        ++*iterations;
        if (s->options.prox.gauss_seidel) {
            gauss_seidel(lcp, s->z, s->w, rho, *factor);
            if (*k % 5 < 4 && *k + 1 < limit) continue;
            residual = perp_lcp_residual(lcp, s->z, s->w);
            if (adaptive) *factor = residual > 1.2 * last ? *factor / 1.5 : fmin(1, 1.05 * *factor);
            last = residual;
        } else {
            for (int i = 0; i < n; i++) next[i] = move(lcp, i, s->z, s->w, *factor * rho[i]);
            double after = perp_lcp_residual(lcp, next, wnext);
            double ratio = adaptive ? stretch(lcp, s->z, s->w, next, wnext, rho, *factor) : 0;
            if (adaptive && ratio > 0.9 && *factor > PERP_RHO_LEAST) {
                *factor *= 2.0 / 3;
                continue;
            }
            if (adaptive && ratio < 0.6) *factor *= 1.2;
            memcpy(s->z, next, bytes);
            memcpy(s->w, wnext, bytes);
            residual = after;
        }
        if (!isfinite(residual)) break;
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(s->z[i])) s->z[i] = perp__clamp(lcp, i, 0);
    }
    memcpy(reached, s->z, bytes);
    s->is_exhausted = *k >= limit || !isfinite(residual) || end <= 0.1 * s->options.tol;
    return PERP_LIMIT; /* the driver's residual decides */
}

const perp__solver perp__lcp_prox = {
    .doubles = prox_doubles,
    .ints = prox_ints,
    .solve = prox_solve,
    .in_own_units = 1,
    .attempts = ATTEMPTS,
    .takes_bounds = 1,
};
