/* The size of W by power iteration; shared by the methods whose step depends on it. */

#include "solve/fc.h"

#include <math.h>

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
        perp__fc_velocity(fc, x, y);
        for (int k = 0; k < fc->n; k++) y[k] -= fc->q[k];
        norm = 0;
        for (int k = 0; k < fc->n; k++) {
            norm += y[k] * y[k];
            x[k] = y[k];
        }
        norm = sqrt(norm);
        if (fabs(norm - last) <= 1e-3 * norm) break;
    }
    return norm;
}
