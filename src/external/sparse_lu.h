/* Sparse LU of square matrices with one pattern and changing values: KLU of SuiteSparse, which this
 * file alone knows. Without it in the build (PERP_HAVE_KLU, the name of its file, undefined) or on this machine
 * there is none, and larger models take the dense path. */

#ifndef PERP_SRC_EXTERNAL_SPARSE_LU_H
#define PERP_SRC_EXTERNAL_SPARSE_LU_H

typedef struct perp__sparse_lu perp__sparse_lu;

/* The first call loads the library; without memory for that, perp__sparse_lu_create fails. */
int perp__sparse_lu_available(void);

/* The pattern by rows: row i has columns column[start[i]] .. column[start[i+1]-1], ascending. The
 * arrays must stay. An entry of the diagonal is the pivot where it is at least
 * pivot_share times the largest; 0: the library's own share. NULL when memory is out, the pattern is structurally singular, or there is no
 * sparse LU. */
perp__sparse_lu *perp__sparse_lu_create(int n, int *start, int *column, double pivot_share);
void perp__sparse_lu_destroy(perp__sparse_lu *lu);

/* Factor the matrix with these values, with pivoting. 0 if it is singular. Allocates inside the
 * library. */
int perp__sparse_lu_factor(perp__sparse_lu *lu, double *value);

/* The same with the pivots of the last factors, which is several times cheaper. 0 if these do not serve any more: the factors grow,
 * or there are none. */
int perp__sparse_lu_refactor(perp__sparse_lu *lu, double *value);

/* Did the last factors fail for want of memory, not by the matrix? */
int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu);

/* Solve A x = b for each of `count` columns of b (n x count), or A' x = b, in place with the last factors. 0 if that fails. Four columns
 * at once cost about two. */
int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b, int count);
int perp__sparse_lu_solve_transposed(perp__sparse_lu *lu, double *b);

#endif
