/* The order in which a sparse matrix is eliminated: block triangular form, then approximate minimum
 * degree in each diagonal block (docs/explain/linear-systems.md). The pattern alone decides. */

#ifndef PERP_SRC_SPARSE_ORDER_H
#define PERP_SRC_SPARSE_ORDER_H

/* Step k eliminates row row[k] and has column[k] on the diagonal. Steps block[b] .. block[b+1]-1
 * are one diagonal block. Rows have no entries in columns of later blocks. */
typedef struct perp__sparse_order {
    int nblock, rank;          /* rank: the largest that values can give this pattern */
    int *row, *column, *block; /* n, n, n + 1: of the caller */
} perp__sparse_order;

/* Row i of the pattern has the columns column[start[i]] .. column[start[i+1]-1]. If the structural
 * rank is below n, some steps have no entry on the diagonal. Returns 0 when memory is out. */
int perp__sparse_order_find(int n, const int *start, const int *column, perp__sparse_order *order);

#endif
