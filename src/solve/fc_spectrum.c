/* The size of W by power iteration; shared by the methods whose step depends on it. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>

/* y = W x */
static void product(const perp__fc *fc, const double *x, double *y)
{
    for (int i = 0; i < fc->nc; i++) {
        double *to = y + 3 * i;
        to[0] = to[1] = to[2] = 0;
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *from = x + 3 * (size_t)fc->col[k];
            for (int a = 0; a < 3; a++, w += 3)
                to[a] += w[0] * from[0] + w[1] * from[1] + w[2] * from[2];
        }
    }
}

double perp__fc_largest_eigenvalue(const perp__fc *fc)
{
    double *x = perp__fc_work(fc, 0), *y = perp__fc_work(fc, 1), norm = 0;
    for (int k = 0; k < fc->n; k++)
        x[k] = 1 + 0.5 * sin(1.7 * k); /* fixed, and in no symmetric subspace */
    for (int it = 0; it < 50; it++) {
        double sum = 0, last = norm;
        for (int k = 0; k < fc->n; k++) sum += x[k] * x[k];
        sum = sqrt(sum);
        if (!(sum > 0)) return 0;
        for (int k = 0; k < fc->n; k++) x[k] /= sum;
        product(fc, x, y);
        norm = 0;
        for (int k = 0; k < fc->n; k++) {
            norm += y[k] * y[k];
            x[k] = y[k];
        }
        norm = sqrt(norm);
        if (fabs(norm - last) <= PERP_FC_SPECTRUM * norm) break;
    }
    return norm;
}
