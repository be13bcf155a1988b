/* P A P' = L D L' of small dense symmetric matrices that may be indefinite: Bunch and Kaufman (1977)
 * pivoting, D of 1 x 1 and 2 x 2 blocks. Column-major, lower triangle, leading dimension ld. */

#ifndef PERP_SRC_LDL_H
#define PERP_SRC_LDL_H

/* Factor in place. pivot: n ints. Returns the number of negative eigenvalues, or -1 when a pivot is
 * below tiny (the matrix is singular to working precision). */
int perp__ldl_factor(int n, double *A, int ld, int *pivot, double tiny);

/* X := inv(A) X for m right-hand sides (column-major, ldx). */
void perp__ldl_solve(int n, const double *A, int ld, const int *pivot, double *X, int ldx, int m);

#endif
