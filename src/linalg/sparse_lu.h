/* Sparse LU of square matrices with one pattern and changing values, real and complex
 * (docs/explain/linear-systems.md). */

#ifndef PERP_SRC_SPARSE_LU_H
#define PERP_SRC_SPARSE_LU_H

typedef struct perp__sparse_lu perp__sparse_lu;
typedef struct perp__sparse_zlu perp__sparse_zlu;

/* Row i of the pattern has the columns column[start[i]] .. column[start[i+1]-1], each once. The
 * arrays must stay. NULL: memory is out. */
perp__sparse_lu *perp__sparse_lu_create(int n, const int *start, const int *column);
perp__sparse_zlu *perp__sparse_zlu_create(int n, const int *start, const int *column);
void perp__sparse_lu_destroy(perp__sparse_lu *lu);
void perp__sparse_zlu_destroy(perp__sparse_zlu *lu);

/* Factor the matrix with these values; pivots are chosen. Returns 0: it is singular, or memory is
 * out. */
int perp__sparse_lu_factor(perp__sparse_lu *lu, const double *value);
int perp__sparse_zlu_factor(perp__sparse_zlu *lu, const double _Complex *value);

/* The same with the pivots of the last factors. Returns 0: they do not serve, or there are none. */
int perp__sparse_lu_refactor(perp__sparse_lu *lu, const double *value);
int perp__sparse_zlu_refactor(perp__sparse_zlu *lu, const double _Complex *value);

/* Did the last factorisation fail for want of memory, not by the matrix? */
int perp__sparse_lu_out_of_memory(const perp__sparse_lu *lu);
int perp__sparse_zlu_out_of_memory(const perp__sparse_zlu *lu);

/* Entries of the last factors: how sparse they are. */
int perp__sparse_lu_fill(const perp__sparse_lu *lu);
int perp__sparse_zlu_fill(const perp__sparse_zlu *lu);

/* Solve A x = b for each of `count` columns of b (n x count), or A' x = b (not conjugated), in
 * place with the last factors. Returns 0: there are none. */
int perp__sparse_lu_solve(perp__sparse_lu *lu, double *b, int count);
int perp__sparse_zlu_solve(perp__sparse_zlu *lu, double _Complex *b, int count);
int perp__sparse_lu_solve_transposed(perp__sparse_lu *lu, double *b);
int perp__sparse_zlu_solve_transposed(perp__sparse_zlu *lu, double _Complex *b);

#endif
