/* Symmetric linear systems that are block tridiagonal with a border,
 *
 *     S_k x_k + G_k x_k-1[links] + (G_k+1' x_k+1 at the links) + B_k y = r_k,   sum_k B_k' x_k + P y = q,
 *
 * which is the form of the Newton systems of an interior point over stages. Elimination goes forward over the stages, with
 * pivoting inside a stage; the border is last. Cost and memory are linear in the number of stages. */

#ifndef PERP_SRC_STAGES_H
#define PERP_SRC_STAGES_H

#include "base/arena.h"

typedef struct perp__stages {
    int K, nmax, nlink, nborder;
    int *n;     /* K: size of stage k */
    int *link;  /* K * nlink: where link l stands in stage k; -1: it is fixed */
    double *S;  /* K * nmax^2: S_k, then its factor */
    double *G;  /* K * nmax * nlink, row i of stage k at G + (k nmax + i) nlink */
    double *B;  /* K * nmax * nborder, column j at B + (k nborder + j) nmax */
    double *P;  /* nborder^2 */
    double *V;  /* inv(S_k) at the links */
    double *Y;  /* inv(S_k) B_k */
    int *pivot; /* K * nmax */
    int *border_pivot;
    double *work;
    int negative; /* eigenvalues so far */
} perp__stages;

/* NULL: memory, as of all that an arena owns. */
perp__stages *perp__stages_create(perp__arena *arena, int K, int nmax, int nlink, int nborder);

/* The caller fills n, link and S_k (lower triangle, column-major, leading dimension nmax), G_k and
 * B_k of stage k, then eliminates it; stages in order from 0. 0 if S_k is singular. P is to be
 * filled before the first. */
void perp__stages_start(perp__stages *s);
int perp__stages_eliminate(perp__stages *s, int k);
/* The border; 0 if it is singular. Then `negative` counts the negative eigenvalues of the whole. */
int perp__stages_finish(perp__stages *s);

/* Solve in place. x: K * nmax, stage k at x + k nmax; y: nborder. */
void perp__stages_solve(const perp__stages *s, double *x, double *y);

#endif
