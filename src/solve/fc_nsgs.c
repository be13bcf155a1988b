/* Nonsmooth Gauss-Seidel for friction problems.
 *
 * Contacts are solved one after the other with the newest impulses of the others, q_i' = q_i +
 * sum_{j != i} W_ij r_j. Each is solved by fc_cone.c, more accurately as the iteration
 * converges, and r_i is relaxed by omega inside the cone. Fails: converges slowly, or cycles, if
 * many stiff contacts share bodies. Cost: one product with W a sweep. Jean & Moreau 1992;
 * Jourdan, Alart & Jean 1998. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>

/* One sweep; returns the squared change of r. */
static double sweep(perp__fc *fc, double omega)
{
    double change = 0, *r = fc->r;
    perp__fc_count(fc, 1);
    for (int i = 0; i < fc->nc; i++) {
        double b[3] = {fc->q[3 * i], fc->q[3 * i + 1], fc->q[3 * i + 2]};
        int d = fc->diag[i];
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *x = r + 3 * (size_t)fc->col[k];
            if (k == d || (x[0] == 0 && x[1] == 0 && x[2] == 0)) continue;
            b[0] += w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
            b[1] += w[3] * x[0] + w[4] * x[1] + w[5] * x[2];
            b[2] += w[6] * x[0] + w[7] * x[1] + w[8] * x[2];
        }
        double *ri = r + 3 * (size_t)i, x[3] = {ri[0], ri[1], ri[2]};
        perp__fc_local_solve(&fc->local[i], b, fc->mu[i], PERP_FC_SLIDE_SWEEP, x);
        if (omega != 1) {
            for (int c = 0; c < 3; c++) x[c] = ri[c] + omega * (x[c] - ri[c]);
            if (omega > 1) perp__fc_cone(fc->mu[i], x, x);
        }
        for (int c = 0; c < 3; c++) {
            change += (x[c] - ri[c]) * (x[c] - ri[c]);
            ri[c] = x[c];
        }
    }
    return change;
}

double perp__fc_sweeps(perp__fc *fc, int limit)
{
    double omega = fc->options->nsgs.omega, residual = perp__fc_residual(fc), at = INFINITY;
    int check = 11;
    for (int i = 0; i < fc->nc && residual > fc->target; i++)
        fc->local[i] = perp__fc_local_of(fc->block + 9 * (size_t)fc->diag[i]);
    for (int k = 1; k <= limit && residual > fc->target; k++) {
        double change = sqrt(sweep(fc, omega));
        fc->iterations++;
        /* The residual costs a sweep: it is checked when the change of r has fallen as far as the
         * residual must. The first change belongs to the first residual. */
        if (k == 1 && change > 0) at = 0.7 * change * fc->target / residual;
        if (--check > 0 && k < limit && !(change < at)) continue;
        residual = perp__fc_residual(fc);
        at = residual > 0 ? 0.7 * change * fc->target / residual : 0;
        check = 10;
        if (!isfinite(residual)) break;
    }
    return residual;
}

void perp__fc_nsgs(perp__fc *fc)
{
    fc->used = PERP_FC_NSGS;
    perp__fc_sweeps(fc, fc->max_iter ? fc->max_iter : 10000);
}
