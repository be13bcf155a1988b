/* LU of a sparse matrix of 3 x 3 blocks with symmetric pattern. The minimum-degree order is found
 * together with the fill, then elimination pivots inside the diagonal blocks only. For matrices
 * whose Schur complements stay regular, such as a Delassus matrix plus a positive definite block
 * diagonal. The caller checks the result by the residual. */

#ifndef PERP_SRC_BLOCK_LU_H
#define PERP_SRC_BLOCK_LU_H

typedef struct perp__block_lu perp__block_lu;

perp__block_lu *perp__block_lu_create(int n_max); /* NULL when memory is out */
void perp__block_lu_destroy(perp__block_lu *lu);

/* Order and allocate for the rows with active[i] != 0 (NULL: all) of the pattern (rows `start`,
 * `col`; an entry (i,j) stands for (j,i) too). Returns 0 when memory is out. */
int perp__block_lu_order(perp__block_lu *lu, int n, const int *start, const int *col,
                         const int *active);

/* Factorise; value: 9 entries a block, row by row, in the pattern given to order. Pivots below tiny
 * times the largest entry of their block are moved away from zero. Returns the number of pivots
 * that were. */
int perp__block_lu_factor(perp__block_lu *lu, const int *start, const int *col, const double *value,
                          double tiny);

/* x := inv(A) x for the active rows; x: 3 n, other rows are left alone. */
void perp__block_lu_solve(perp__block_lu *lu, double *x);

/* Multiply-adds of factorisations and solutions since the last call: 27 for a product of two
 * blocks, 9 for one of a block and a vector. */
double perp__block_lu_work(perp__block_lu *lu);

/* Blocks in the upper factor, for reports. */
int perp__block_lu_fill(const perp__block_lu *lu);

#endif
