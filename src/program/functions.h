/* The rows of a program and their derivatives as numbers, sparse, for the methods of
 * complementarity and of linear programs. */

#ifndef PERP_SRC_PROGRAM_FUNCTIONS_H
#define PERP_SRC_PROGRAM_FUNCTIONS_H

#include "model/tape.h"
#include "program/nl.h"

typedef struct perp__functions {
    const perp__nl *nl;
    int n;         /* rows, and the objective behind them where there is one */
    int objective; /* -1: none */
    int nentry;
    int *start,
        *row; /* entries of the Jacobian by columns: nvar + 1; nentry, ascending in each column */
    double *constant; /* of each entry */
    int *root; /* and what the tape adds to it; -1: nothing; -2 - k: number k of callbacks.h */
    int *out;  /* n: the row's expression, or -1: 0 */
    perp__tape tape;
    double *ws, *given; /* given: by callbacks */
    perp__terms *terms; /* of each slot of ws */
} perp__functions;

/* 0: memory. The arrays are of the arena, the tape is cleared by perp__functions_clear. objective:
 * -1: none. */
int perp__functions_create(perp__functions *f, perp__arena *arena, perp__nl *nl, int objective);
void perp__functions_clear(perp__functions *f);

/* Rows at x (n), and entries of the Jacobian there (nentry; nullable). Returns 0: a value is not
 * finite. */
int perp__functions_at(const perp__functions *f, const double *x, double *rows, double *jacobian);

/* What rounding of rows there may be, of functions by callbacks only that of their linear terms. As
 * above. */
int perp__functions_rounding(const perp__functions *f, const double *x, double *rows);

#endif
