/* Numbers in ascending order, and their quantiles. */

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void perp__sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

double perp__quantile(const double *sorted, size_t n, double share)
{
    if (n == 0) return (double)NAN;
    double at = share * ((double)n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n) return sorted[i];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}
