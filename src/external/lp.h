/* A linear program through Clp (Forrest and others), whose header is included by lp.c alone:
 *
 *     minimise c'x   subject to   row_lo <= A x <= row_hi,   lo <= x <= hi
 *
 * by the simplex method, so that the answer is a vertex. A is given by columns. */

#ifndef PERP_SRC_EXTERNAL_LP_H
#define PERP_SRC_EXTERNAL_LP_H

#include "perp/base.h"

typedef struct perp__lp {
    int nrow, ncolumn;
    int *start, *index; /* ncolumn + 1; nonzeros */
    double *value;
    double *lo, *hi, *cost;  /* ncolumn */
    double *row_lo, *row_hi; /* nrow */
    int most;                /* iterations; 0: as many as Clp takes, which may cycle */
    /* what needs no pivots is taken out first: faster, but another vertex, and no ray */
    int is_reduced;
} perp__lp;

/* Is Clp in this build and on this machine? The first call loads it; without memory for that,
 * perp__lp_solve says so. */
int perp__lp_available(void);

/* What else is known at the end: each nullable, filled where it applies. */
typedef struct perp__lp_end {
    double *price; /* nrow: d cost / d row bound at a solution */
    double
        *infeasible;   /* nrow: multipliers of the rows whose sum no x within its bounds can keep */
    double *unbounded; /* ncolumn: a direction along which the cost falls for ever */
    int is_infeasible, is_unbounded; /* by Clp's word */
    int is_cut;                      /* it made the most iterations */
} perp__lp_end;

/* PERP_OK and x (ncolumn), PERP_ERR_NO_SOLUTION (infeasible, unbounded or cut), PERP_ERR_MEMORY or
 * PERP_ERR_UNAVAILABLE. */
perp_status perp__lp_solve(const perp__lp *lp, double *x);
perp_status perp__lp_solve_with_end(const perp__lp *lp, double *x, perp__lp_end *end);

#endif
