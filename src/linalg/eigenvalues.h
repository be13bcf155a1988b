/* Eigenvalues of a small dense matrix that need not be symmetric. */

#ifndef PERP_SRC_EIGENVALUES_H
#define PERP_SRC_EIGENVALUES_H

/* Of the n x n matrix A, column-major, which is destroyed; in no order. Returns 0: the iteration
 * did not end, or A is not finite. */
int perp__eigenvalues(int n, double _Complex *A, double _Complex *value);

#endif
