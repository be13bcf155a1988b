/* Symmetric linear systems that are block tridiagonal with a border,
 *
 *     S_k x_k + G_k x_k-1[links] + (G_k+1' x_k+1 at the links) + B_k y = r_k,   sum_k B_k' x_k + P y = q,
 *
 * which is the form of the Newton systems of an interior point over stages. Elimination goes
 * forward over the stages, with pivoting inside a stage; the border is last. Cost and memory are
 * linear in the number of stages.
 *
 * A stage is one matrix [S C; C' 0], C = [1 at the links, B]. The rows of S are eliminated. The
 * remainder of the others is subtracted from the next stage and the border. */

#ifndef PERP_SRC_STAGES_H
#define PERP_SRC_STAGES_H

#include "base/arena.h"

/* An entry of G. */
typedef struct perp__coupling {
    int row, link;
    double value;
} perp__coupling;

typedef struct perp__stages {
    int K, nmax, nlink, nborder, most_coupled;
    int ld;               /* nmax + nlink + nborder */
    int *n;               /* K: size of stage k */
    int *link;            /* K * nlink: where link l stands in stage k; -1: it is fixed */
    double *A;            /* K * ld^2: stage k, column-major, lower triangle; then its factor */
    int *coupled;         /* K: entries of G_k */
    perp__coupling *pair; /* K * most_coupled */
    double *P;            /* nborder^2 */
    int *pivot;           /* K * nmax */
    int *border_pivot, *list;
    double *work;
    int negative; /* eigenvalues so far */
} perp__stages;

/* most_coupled: of entries of G in a stage. NULL: memory, as of all that an arena owns. */
perp__stages *perp__stages_create(perp__arena *arena, int K, int nmax, int nlink, int nborder,
                                  int most_coupled);

/* The caller fills n, link and P. Then for each stage, in order from 0: begins it, adds to its
 * entries, eliminates it. 0 if S_k is singular. */
void perp__stages_start(perp__stages *s);
void perp__stages_begin(perp__stages *s, int k);
int perp__stages_eliminate(perp__stages *s, int k);
/* The border; 0 if it is singular. Then `negative` counts the negative eigenvalues of the whole. */
int perp__stages_finish(perp__stages *s);

static inline double *perp__stages_matrix(const perp__stages *s, int k)
{
    return s->A + (size_t)k * (size_t)s->ld * (size_t)s->ld;
}

/* Add v to entry (i, j) of S_k, to row i and column j of B_k, to row i and link j of G_k. */
static inline void perp__stages_add(perp__stages *s, int k, int i, int j, double v)
{
    double *S = perp__stages_matrix(s, k);
    if (i < j)
        S[(size_t)i * (size_t)s->ld + (size_t)j] += v;
    else
        S[(size_t)j * (size_t)s->ld + (size_t)i] += v;
}

static inline void perp__stages_add_border(perp__stages *s, int k, int i, int j, double v)
{
    perp__stages_add(s, k, i, s->n[k] + s->nlink + j, v);
}

static inline void perp__stages_couple(perp__stages *s, int k, int i, int j, double v)
{
    s->pair[(size_t)k * (size_t)s->most_coupled + (size_t)s->coupled[k]++] =
        (perp__coupling){i, j, v};
}

/* Solve in place. x: K * nmax, stage k at x + k nmax; y: nborder. */
void perp__stages_solve(const perp__stages *s, double *x, double *y);

#endif
