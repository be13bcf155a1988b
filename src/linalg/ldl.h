/* P A P' = L D L' of small dense symmetric matrices that may be indefinite: Bunch and Kaufman
 * (1977) pivoting, D of 1 x 1 and 2 x 2 blocks. Column-major, lower triangle, leading dimension
 * ld. */

#ifndef PERP_SRC_LDL_H
#define PERP_SRC_LDL_H

/* Eliminate the first n of m rows and columns in place, with pivots among those n. The others
 * become their Schur complement. pivot: n ints; list: m ints of work. Returns the number of
 * negative eigenvalues of the n, or -1 when a pivot is below tiny (they are singular to working
 * precision). */
int perp__ldl_factor(int n, int m, double *A, int ld, int *pivot, int *list, double tiny);

/* The two halves of a solution. Forward: of x, the first n are eliminated, and the others are less
 * what that leaves. Backward: the first n by the others. */
void perp__ldl_forward(int n, int m, const double *A, int ld, const int *pivot, double *x);
void perp__ldl_backward(int n, int m, const double *A, int ld, const int *pivot, double *x);

/* x := inv(A) x where all are eliminated. */
void perp__ldl_solve(int n, const double *A, int ld, const int *pivot, double *x);

#endif
