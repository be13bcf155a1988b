/* The inverse of a small dense matrix, exact in what its rows fix one by one. */

#ifndef PERP_SRC_INVERT_H
#define PERP_SRC_INVERT_H

#include <stddef.h>

size_t perp__invert_doubles(int n);

/* Inverse of the n x n matrix A (row-major, lda), into inverse (column-major, n). Rows with a
 * single entry are used first. So what they fix (such as a velocity at 0) is exact in the inverse.
 * Then the largest entry is the pivot.
 *
 * unit: n powers of two that scale the columns before pivots are chosen; nullable. work:
 * perp__invert_doubles; index: 3 n ints. Returns 0 when a pivot is below 1e-13 of its row's largest
 * entry. */
int perp__invert(int n, const double *A, int lda, const double *unit, double *inverse, double *work,
                 int *index);

#endif
