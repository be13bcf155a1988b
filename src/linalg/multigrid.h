/* Sparse symmetric positive definite systems by conjugate gradients with a multigrid cycle made of
 * the matrix alone. The method is smoothed aggregation (Vanek, Mandel and Brezina 1996). Work is
 * linear in the nonzeros for matrices of diffusion. */

#ifndef PERP_SRC_MULTIGRID_H
#define PERP_SRC_MULTIGRID_H

/* A matrix by rows: row i has entries start[i] .. start[i+1]-1, in any order. */
typedef struct perp__row_matrix {
    int n, ncolumn;
    int *start, *column;
    double *value;
} perp__row_matrix;

typedef struct perp__multigrid perp__multigrid;

/* The hierarchy of a symmetric matrix with positive diagonal, which must stay. NULL: memory. */
perp__multigrid *perp__multigrid_create(const perp__row_matrix *A);
void perp__multigrid_destroy(perp__multigrid *m);

/* The number of levels; level 0 is the given matrix. The matrix of a level, and the interpolation
 * from the level below it. */
int perp__multigrid_levels(const perp__multigrid *m);
const perp__row_matrix *perp__multigrid_matrix(const perp__multigrid *m, int level);
const perp__row_matrix *perp__multigrid_interpolation(const perp__multigrid *m, int level);

/* A x = b from x = 0, until |b - A x| <= share |b| in the norm of the inverse diagonal. Returns the
 * steps, at most `limit`; -1: the matrix is shown not to be positive definite. */
int perp__multigrid_solve(perp__multigrid *m, const double *b, double *x, double share, int limit);

/* r = b + sign A x; b: NULL: 0 */
void perp__rows_add(const perp__row_matrix *A, double sign, const double *x, const double *b,
                    double *r);

#endif
