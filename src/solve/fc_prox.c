/* The prox (projected) fixed point.
 *
 *     r_i <- P_K(r_i - rho_i (u_i + mu |u_T| e_n))
 *
 * All contacts at once (Jacobi, u = W r + q of the last iterate), or one after the other with
 * the newest u (Gauss-Seidel). The choice of rho is decisive: above 2/lambda_max the Jacobi
 * iteration diverges, far below it converges slowly. perp_rho lists the choices.
 *
 * Adaptive: a common factor on the local rho. It is multiplied by 2/3 if rho |u(r+) - u(r)| >
 * 0.9 |r+ - r| (the step is repeated), and by 1.2 if it is below 0.6 of that (Khobotov 1987).
 * Fails: needs thousands of iterations at high accuracy. Cost: one product with W an iteration.
 * Schindler, Nguyen & Trinkle 2011 (9), (25), (26); De Saxce & Feng 1998. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

static void choose_rho(const perp__fc *fc, double *rho)
{
    perp_rho strategy = fc->options->prox.strategy;
    double largest = strategy == PERP_RHO_SPECTRAL ? perp__fc_largest_eigenvalue(fc) : 0;
    for (int i = 0; i < fc->nc; i++) {
        const double *w = fc->block + 9 * (size_t)fc->diag[i];
        double d = 1;
        switch (strategy) {
        case PERP_RHO_FIXED: d = fc->scale[i] * fc->force[i] / fc->options->prox.rho; break;
        case PERP_RHO_TRACE: d = w[0] + w[4] + w[8]; break;
        case PERP_RHO_SPECTRAL: d = largest; break;
        default: d = fmax(w[0], fmax(w[4], w[8])); break;
        }
        rho[i] = d > 0 ? 1 / d : 1;
    }
}

static void prox(double mu, double rho, const double *r, const double *u, double *out)
{
    double x[3] = {u[0] + mu * sqrt(u[1] * u[1] + u[2] * u[2]), u[1], u[2]};
    for (int k = 0; k < 3; k++) x[k] = r[k] - rho * x[k];
    perp__fc_cone(mu, x, out);
}

static void gauss_seidel(perp__fc *fc, const double *rho, double factor)
{
    double *r = fc->r;
    for (int i = 0; i < fc->nc; i++) {
        double u[3] = {fc->q[3 * i], fc->q[3 * i + 1], fc->q[3 * i + 2]};
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *x = r + 3 * (size_t)fc->col[k];
            for (int c = 0; c < 3; c++)
                u[c] += w[3 * c] * x[0] + w[3 * c + 1] * x[1] + w[3 * c + 2] * x[2];
        }
        prox(fc->mu[i], factor * rho[i], r + 3 * i, u, r + 3 * i);
    }
}

/* rho |u(r+) - u(r)| / |r+ - r|, contact by contact in the norm that goes with rho. */
static double stretch(const perp__fc *fc, const double *rho, double factor, const double *r,
                      const double *u, const double *next, const double *unext)
{
    double change_u = 0, change_r = 0;
    for (int i = 0; i < fc->nc; i++)
        for (int k = 3 * i; k < 3 * i + 3; k++) {
            change_u += rho[i] * (unext[k] - u[k]) * (unext[k] - u[k]);
            change_r += (next[k] - r[k]) * (next[k] - r[k]) / rho[i];
        }
    return change_r > 0 ? factor * sqrt(change_u / change_r) : 0;
}

void perp__fc_prox(perp__fc *fc)
{
    double *rho = perp__fc_work(fc, 2), *next = perp__fc_work(fc, 3), *u = perp__fc_work(fc, 4);
    double *unext = perp__fc_work(fc, 5), factor = 1;
    int limit = fc->max_iter ? fc->max_iter : 20000;
    int adaptive = fc->options->prox.strategy == PERP_RHO_ADAPTIVE,
        sweeps = fc->options->prox.gauss_seidel;
    fc->used = PERP_FC_PROX;
    choose_rho(fc, rho);
    double residual = perp__fc_residual(fc), last = residual;
    memcpy(u, fc->u, (size_t)fc->n * sizeof *u);
    for (int it = 0; it < limit && residual > fc->target && isfinite(residual); it++) {
        fc->iterations++;
        if (sweeps) {
            gauss_seidel(fc, rho, factor);
            if (it % 5 < 4 && it < limit - 1) continue;
            residual = perp__fc_residual(fc);
            if (adaptive) factor = residual > 1.2 * last ? factor / 1.5 : fmin(1, 1.05 * factor);
            last = residual;
            continue;
        }
        for (int i = 0; i < fc->nc; i++)
            prox(fc->mu[i], factor * rho[i], fc->r + 3 * i, u + 3 * i, next + 3 * i);
        if (adaptive) {
            perp__fc_velocity(fc, next, unext);
            double ratio = stretch(fc, rho, factor, fc->r, u, next, unext);
            if (ratio > 0.9 && factor > PERP_RHO_LEAST) {
                factor *= 2.0 / 3;
                continue;
            }
            if (ratio < 0.6) factor *= 1.2;
        }
        memcpy(fc->r, next, (size_t)fc->n * sizeof *next);
        residual = perp__fc_residual(fc);
        memcpy(u, fc->u, (size_t)fc->n * sizeof *u);
    }
}
