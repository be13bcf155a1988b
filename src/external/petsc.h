/* PETSc, and the MPI that it was built with, as a table of functions. They are in a library of
 * their own (plugins/petsc.c), compiled against the installed PETSc and loaded at first use. If
 * PETSc or MPI fails, all processes of the run end with a message. */

#ifndef PERP_SRC_EXTERNAL_PETSC_H
#define PERP_SRC_EXTERNAL_PETSC_H

#include "perp/base.h"

#include <stddef.h>

/* Numbers that several processes have: of a place the same on all of them that have it. */
typedef struct perp__halo perp__halo;

/* lo <= z <= hi complementary to F(z), in one process; J by columns, rows ascending, or n x n where
 * start is NULL. */
typedef struct perp__vi {
    int n;
    const double *lo, *hi;
    int (*F)(void *context, const double *z, double *w); /* not 0: not defined there */
    int (*J)(void *context, const double *z, double *values);
    void *context;
    const int *start, *row;
} perp__vi;

typedef struct perp__petsc {
    size_t bytes; /* of this struct, where the library was compiled */
    int rank, size;

    void (*send)(int to, size_t bytes, const void *data);
    void (*receive)(int from, size_t bytes, void *data);
    void (*broadcast)(size_t bytes, void *data); /* of rank 0 */
    double (*sum)(double x);                     /* over all ranks, for all of them */
    double (*most)(double x);

    /* Part 0 .. parts - 1 of each of n vertices, about as heavy as each other, with few edges
     * between them. Of one process. */
    void (*divide)(int n, const int *start, const int *neighbour, const int *weight, int parts,
                   int *part);

    /* Of n places, `width` numbers each; number: which they are among all. The first `own` numbers
     * are of rank 0, and so on. */
    perp__halo *(*halo_create)(int width, int own, int n, const int *number);
    void (*halo_destroy)(perp__halo *halo);
    void (*halo_sum)(perp__halo *halo, double *x); /* n x width: over all that have the place */

    /* SNES VI: reduced space (vinewtonrsls), or semismooth (vinewtonssls). z: guess, then the last
     * iterate. Returns 0: memory. */
    int (*solve_vi)(const perp__vi *problem, int is_semismooth, int max_iter, double *z,
                    int *iterations);

    void (*end)(void);
} perp__petsc;

/* The table, PETSc begun by all processes of the run. PERP_ERR_UNAVAILABLE: diag says what
 * lacks. */
perp_status perp__petsc_begin(const perp__petsc **petsc, perp_diag *diag);

/* The table where PETSc has begun and not ended; else NULL. */
const perp__petsc *perp__petsc_begun(void);

/* No more of it. */
void perp__petsc_end(void);

#endif
