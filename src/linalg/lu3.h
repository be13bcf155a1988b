/* LU of 3 x 3 matrices with complete pivoting. Solutions have small residuals however bad the
 * condition is; those by an inverse have not. */

#ifndef PERP_SRC_LU3_H
#define PERP_SRC_LU3_H

/* A[row[i]][column[j]] = (L U)[i][j]; L has a unit diagonal, over: inverses of U's. */
typedef struct perp__lu3 {
    double l10, l20, l21, u01, u02, u12, over[3];
    int row[3], column[3];
} perp__lu3;

/* A: row by row. Pivots below `floor` are replaced; returns how many were. */
int perp__lu3_factor(const double *A, double floor, perp__lu3 *lu);

/* C = A B of 3 x 3 matrices, row by row; C is another array. */
static inline void perp__multiply3(const double *restrict A, const double *restrict B,
                                   double *restrict C)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

/* x := inv(A) x */
static inline void perp__lu3_solve(const perp__lu3 *lu, double *x)
{
    double a = x[lu->row[0]], b = x[lu->row[1]] - lu->l10 * a,
           c = x[lu->row[2]] - lu->l20 * a - lu->l21 * b;
    c *= lu->over[2];
    b = (b - lu->u12 * c) * lu->over[1];
    a = (a - lu->u01 * b - lu->u02 * c) * lu->over[0];
    x[lu->column[0]] = a;
    x[lu->column[1]] = b;
    x[lu->column[2]] = c;
}

/* x' := x' inv(A) */
static inline void perp__lu3_solve_left(const perp__lu3 *lu, double *x)
{
    double a = x[lu->column[0]] * lu->over[0], b = (x[lu->column[1]] - a * lu->u01) * lu->over[1],
           c = (x[lu->column[2]] - a * lu->u02 - b * lu->u12) * lu->over[2];
    b -= c * lu->l21;
    a -= b * lu->l10 + c * lu->l20;
    x[lu->row[0]] = a;
    x[lu->row[1]] = b;
    x[lu->row[2]] = c;
}

#endif
