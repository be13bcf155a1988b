/* Alternating directions (ADMM): r without the cones and z in them, r = z in the limit.
 *
 *     r <- inv(W + (rho + eta) I) (rho (z - y) + eta r - q - s)
 *     z <- P_K(r + y)
 *     y <- y + r - z
 *     s <- mu |u_T| e_n,   u_T = -rho y_T
 *
 * The proximal term eta keeps the matrix regular; -rho y tends to u + s; s is De Saxce's term,
 * from the last multiplier.
 *
 * One factorisation as long as rho is constant. The first rho is spectral, sqrt(1 * lambda_max),
 * with the contacts scaled to diagonal 1. It then follows the ratio of the residuals |r - z| and
 * rho |z - z_last| (He, Yang & Wang 2000). Fails: linear convergence, slow at high accuracy; no
 * proof for s. Cost: one triangular solve an iteration. Boyd et al. 2011; with friction: Acary,
 * Bremond & Huber 2018; Carpentier et al. 2024. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

static void factor(perp__fc *fc, double shift, double *A)
{
    memset(A, 0, 9 * (size_t)fc->nc * sizeof *A);
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < 3; k++) A[9 * i + 4 * k] = shift;
    perp__fc_system_factor(fc, A, NULL, PERP_FC_PIVOT_ADMM);
}

void perp__fc_admm(perp__fc *fc)
{
    int n = fc->n, limit = fc->max_iter ? fc->max_iter : 10000;
    double *z = fc->r, *r = perp__fc_work(fc, 2), *y = perp__fc_work(fc, 3),
           *b = perp__fc_work(fc, 4), *A = perp__fc_work(fc, 5); /* 3 vectors */
    fc->used = PERP_FC_ADMM;
    double residual = perp__fc_residual(fc), rho = fc->options->admm.rho;
    if (!(residual > fc->target)) return;
    if (rho == 0) rho = sqrt(fmax(perp__fc_largest_eigenvalue(fc), PERP_FC_RHO_LEAST));
    double eta = PERP_FC_ETA;
    if (!perp__fc_system_order(fc, NULL)) return;
    factor(fc, rho + eta, A);
    for (int i = 0; i < fc->nc; i++) { /* multipliers of the guess */
        const double *u = fc->u + 3 * i;
        for (int k = 0; k < 3; k++) y[3 * i + k] = -u[k] / rho;
        y[3 * i] -= fc->mu[i] * sqrt(u[1] * u[1] + u[2] * u[2]) / rho;
    }
    memcpy(r, z, (size_t)n * sizeof *r);
    for (int it = 1; it <= limit; it++) {
        fc->iterations++;
        for (int i = 0; i < fc->nc; i++) {
            int k = 3 * i;
            for (int c = k; c < k + 3; c++) b[c] = rho * (z[c] - y[c]) + eta * r[c] - fc->q[c];
            b[k] -= fc->mu[i] * rho * sqrt(y[k + 1] * y[k + 1] + y[k + 2] * y[k + 2]);
        }
        perp__fc_system_solve(fc, b);
        memcpy(r, b, (size_t)n * sizeof *r);
        double primal = 0, dual = 0;
        for (int i = 0; i < fc->nc; i++) {
            double x[3], p[3];
            for (int c = 0; c < 3; c++) x[c] = r[3 * i + c] + y[3 * i + c];
            perp__fc_cone(fc->mu[i], x, p);
            for (int c = 0; c < 3; c++) {
                int k = 3 * i + c;
                dual += (p[c] - z[k]) * (p[c] - z[k]);
                primal += (r[k] - p[c]) * (r[k] - p[c]);
                z[k] = p[c];
                y[k] = x[c] - p[c];
            }
        }
        primal = sqrt(primal);
        dual = rho * sqrt(dual);
        if (!isfinite(primal + dual)) return;
        if (it % 10 == 0 && perp__fc_residual(fc) <= fc->target) return;
        if (fc->options->admm.adapt && it % 20 == 0 && (primal > 10 * dual || dual > 10 * primal)) {
            double f = primal > dual ? 2 : 0.5;
            if (rho * f < PERP_FC_RHO || rho * f > 1 / PERP_FC_RHO) continue;
            rho *= f;
            for (int k = 0; k < n; k++) y[k] /= f;
            factor(fc, rho + eta, A);
        }
    }
    perp__fc_residual(fc);
}
