/* The programs of single steps of the bilevel formulation (notes 3.2.4), shared by implicit, which
 * solves them, and kkt, which writes down their optimality conditions:
 *
 *     J_s(theta) = min over y of  sum of e^2 + sum over pairs of a b (+ sliding b^2)    subject to  a >= 0, b >= 0
 *
 * where the rows e (equations), a and b (sides of the pairs) are affine in the vars y. */

#ifndef PERP_SRC_INNER_H
#define PERP_SRC_INNER_H

#include "identify/samples.h"
#include "model/tape.h"
#include "perp/lcp.h"

/* Rows of a step, affine in y: equations, then sides a and b of each pair. */
typedef struct perp__inner {
    const perp__study *study;
    perp__sample_builder b;
    int ny, nequation, npair, nrow, nslack, nlcp, nstep;
    int *unknown;    /* symbol of each y */
    char *solved;    /* symbol -> is it a y? */
    perp__tape tape; /* per row: value at y = 0, then slopes */
    double *data;    /* nstep x nsymbol: measured symbols of each step */
    double *ws, *row, *H, *g, *M, *q;
    double *z; /* y+, y-, slacks, multipliers of the sides: the last step solved */
    perp_lcp_solver *solver;
    char *slides;    /* nstep: the data say so */
    char *is_cone;   /* npair: its second side is the distance from the friction cone's boundary */
    int failed_step; /* of the last failure, and why */
    const char *why;
    perp_status status; /* PERP_ERR_MEMORY, or PERP_ERR_NO_SOLUTION */
} perp__inner;

perp_status perp__inner_create(const perp__study *study, perp__inner *inner);
void perp__inner_clear(perp__inner *inner);
/* The weight of what side k of the pairs (a, b, a, b, ...) is below zero; 0: it may not be. */
double perp__inner_soft(const perp__inner *inner, int k);
/* The weight of b^2 of a pair in a step, the extra cost of sliding of notes 3.2.6. */
double perp__inner_sliding(const perp__inner *inner, int step, int pair);
/* Evaluate the rows of a step at theta: row r is row[r * (1 + ny)] + sum of row[r * (1 + ny) + 1 +
 * j] y_j. */
void perp__inner_rows(perp__inner *inner, int step, const double *theta);
/* J_s at theta, verified; NaN where a sample is missing, -1 on failure. */
double perp__inner_solve(perp__inner *inner, int step, const double *theta);
/* Search the box for the least sum of J_s, and report. `minimise`: as in perp__problem,
 * nullable. */
perp_status perp__inner_search(perp__inner *inner, perp__study *study,
                               void (*minimise)(perp__problem *problem, perp__minimum *minimum),
                               perp_identification *result);

#endif
