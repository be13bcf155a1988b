/* Proximal point: a sequence of problems with W + alpha I, which is regular.
 *
 *     u + alpha (r - c) in place of u, c the last solution;  alpha smaller after a good step,
 * larger after a bad one.
 *
 * Inner solver: Newton (fc_alart_curnier.c), started at c; or Gauss-Seidel sweeps, which converge
 * linearly at a rate that alpha improves. Each fixed point c = r solves the original problem.
 * Fails: rarely; slow where friction makes the problem far from monotone. Cost: a few Newton steps
 * an outer step. Rockafellar 1976; for friction: Acary, Bremond & Huber 2018 (the most robust of
 * those they compare). */

#include "base/base.h"
#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

/* Write W + alpha I and q - alpha c into fc, from the given copies of the diagonal and q. */
static void shifted(perp__fc *fc, double alpha, const double *center, const double *diagonal,
                    const double *q)
{
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < 3; k++) {
            fc->block[9 * (size_t)fc->diag[i] + 4 * (size_t)k] = diagonal[3 * i + k] + alpha;
            fc->q[3 * i + k] = q[3 * i + k] - alpha * center[3 * i + k];
        }
}

/* Inner solve by sweeps on the shifted problem; afterwards W and q are restored bit for bit from
 * copies. */
static void inner_sweeps(perp__fc *fc, double alpha, const double *center, int limit)
{
    double *diagonal = perp__fc_work(fc, 6), *q = perp__fc_work(fc, 7);
    PERP_ASSERT(!perp__fc_in_velocities(fc)); /* factors do not know of alpha */
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < 3; k++)
            diagonal[3 * i + k] = fc->block[9 * (size_t)fc->diag[i] + 4 * (size_t)k];
    memcpy(q, fc->q, (size_t)fc->n * sizeof *q);
    double target = fc->target, best = fc->best_residual, tol = fc->tol;
    fc->best_residual = fc->tol = 0; /* the residual of the shifted problem is not that of ours */
    shifted(fc, alpha, center, diagonal, q);
    fc->target = fmax(0.1 * target, 0.1 * perp__fc_residual(fc));
    perp__fc_sweeps(fc, limit);
    fc->target = target;
    shifted(fc, 0, center, diagonal, q);
    fc->best_residual = best;
    fc->tol = tol;
}

void perp__fc_proximal_steps(perp__fc *fc, int limit)
{
    size_t bytes = (size_t)fc->n * sizeof(double);
    double *center = perp__fc_work(fc, 10), alpha = fc->options->proximal.alpha;
    int stop = fc->iterations + limit;
    fc->used = PERP_FC_PROXIMAL;
    double residual = perp__fc_sweeps(fc, limit < 10 ? limit : 10);
    while (residual > fc->target && fc->iterations < stop) {
        int left = stop - fc->iterations, before = fc->iterations;
        memcpy(center, fc->r, bytes);
        double reduced = 0;
        if (fc->options->proximal.sweeps)
            inner_sweeps(fc, alpha, center, left < 50 ? left : 50);
        else
            reduced = perp__fc_newton(fc, alpha, center, PERP_FC_INNER, left < 15 ? left : 15);
        if (fc->out_of_memory) return;
        double after = perp__fc_residual(fc);
        if (fc->iterations == before) break;
        if (!isfinite(after)) {
            memcpy(fc->r, center, bytes);
            alpha = fmin(10 * alpha, PERP_FC_ALPHA_MOST);
            continue;
        }
        if (reduced > 0.1) { /* the inner problem is still too hard: stay near, and let sweeps
                                settle who slides */
            alpha = fmin(5 * alpha, PERP_FC_ALPHA_MOST);
            left = stop - fc->iterations;
            after = perp__fc_sweeps(fc, left < 20 ? left : 20);
        } else if (after < 0.9 * residual) {
            alpha = fmax(fc->options->proximal.sigma * alpha, PERP_FC_ALPHA_LEAST);
        }
        residual = after;
    }
}

void perp__fc_proximal(perp__fc *fc)
{
    perp__fc_proximal_steps(fc, fc->max_iter ? fc->max_iter : 5000);
}
