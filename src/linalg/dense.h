/* Dense linear algebra, column-major, in workspace the caller brings. Products are computed in
 * blocks that stay in cache, in the widest vectors the machine has (simd.h). */

#ifndef PERP_SRC_DENSE_H
#define PERP_SRC_DENSE_H

/* C += A B, with A m x k, B k x n. */
void perp__add_product(int m, int n, int k, const double *A, int lda, const double *B, int ldb,
                       double *C, int ldc);

/* P A = L U by partial pivoting, in place. Row i was exchanged with row swap[i]. Returns the number
 * of the first zero (or not finite) pivot + 1, or 0. */
int perp__lu(int n, double *A, int lda, int *swap);

/* x := inv(A) x and x := inv(A') x with the factors. */
void perp__lu_solve(int n, const double *LU, int ldlu, const int *swap, double *x);
void perp__lu_solve_transposed(int n, const double *LU, int ldlu, const int *swap, double *x);

/* Estimate of 1 / (||A||_1 ||inv(A)||_1) from the factors and ||A||_1 (Hager 1984). work: 2 n. */
double perp__lu_rcond(int n, const double *LU, int ldlu, const int *swap, double norm,
                      double *work);

/* A = L L' of a symmetric matrix, lower triangle, in place. Returns 0 when a pivot is at most
 * `smallest`. */
int perp__cholesky(int n, double *A, int lda, double smallest);
void perp__cholesky_solve(int n, const double *L, int ldl, double *x);

/* Exchange the n numbers a[0], a[step], .. with those of b: rows or columns. */
void perp__exchange(int n, double *a, double *b, int step);

/* Largest column sum of |A|. */
double perp__norm1(int n, const double *A, int lda);

/* Are all of them finite? */
int perp__are_finite(int n, const double *x);

#endif
