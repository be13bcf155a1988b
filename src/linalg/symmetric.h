/* Eigenvalues and eigenvectors of a small dense symmetric matrix. */

#ifndef PERP_SRC_SYMMETRIC_H
#define PERP_SRC_SYMMETRIC_H

/* Eigenvalues (ascending) and orthonormal eigenvectors (columns of V) of the symmetric n x n matrix
 * A, by Jacobi's rotations. A is destroyed. */
void perp__symmetric_eigen(int n, double *A, double *value, double *V);

#endif
