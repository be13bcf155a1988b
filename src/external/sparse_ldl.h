/* Sparse L D L' of symmetric indefinite matrices with one pattern and changing values, with
 * pivoting and the number of negative eigenvalues: MUMPS (sequential), which sparse_ldl.c alone
 * knows. Without it in the build (PERP_HAVE_MUMPS, the name of its file, undefined) or on this
 * machine there is none, and large programs take dense factors. */

#ifndef PERP_SRC_EXTERNAL_SPARSE_LDL_H
#define PERP_SRC_EXTERNAL_SPARSE_LDL_H

typedef struct perp__sparse_ldl perp__sparse_ldl;

/* The first call loads the library; without memory for that, perp__sparse_ldl_create fails. */
int perp__sparse_ldl_available(void);

/* Entry e is at row[e], column[e], from 1, each in one triangle or the other, those of one place
 * are added; the arrays must stay. NULL when memory is out or there is no such library. */
perp__sparse_ldl *perp__sparse_ldl_create(int n, int nentry, int *row, int *column);
void perp__sparse_ldl_destroy(perp__sparse_ldl *ldl);

/* How many entries the factors will have, by an analysis of the pattern alone; -1: memory. */
double perp__sparse_ldl_size(perp__sparse_ldl *ldl);

/* Factor with these values. 1, and the number of negative eigenvalues; 0: singular; -1: memory. */
int perp__sparse_ldl_factor(perp__sparse_ldl *ldl, double *value, int *negative);
/* Solve A x = b in place with the last factors. Returns 0 if that fails. */
int perp__sparse_ldl_solve(perp__sparse_ldl *ldl, double *b);

#endif
