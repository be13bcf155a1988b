/* Numbers in ascending order, and their quantiles. */

#ifndef PERP_SRC_SORTED_H
#define PERP_SRC_SORTED_H

#include <stddef.h>

/* Sort n numbers, none of them NaN. */
void perp__sort(double *x, size_t n);

/* The quantile of a share from 0 to 1 of n sorted numbers, linear between two of them; NaN of
 * none. */
double perp__quantile(const double *sorted, size_t n, double share);

#endif
