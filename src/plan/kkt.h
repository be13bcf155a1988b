/* The conditions of a minimum at a point, each on its own scale. The gradient of the Lagrangian is
 * relative to its terms. Distances to bounds are relative to the size of the bounded quantity. The
 * curvature is that in the null space of the active conditions. */

#ifndef PERP_SRC_PLAN_KKT_H
#define PERP_SRC_PLAN_KKT_H

#include "plan/ipm.h"

typedef struct perp__kkt {
    perp__program *g;
    const perp__pairing *pairing; /* of the point at hand */
    size_t nW, nP, nR;
    double *amplitude;    /* nW + nP: the largest size of an unknown over the steps */
    double *extent;       /* the same, not below a thousandth of 1 or of half its range */
    double *unit;         /* the same; 1 or half its range if it is 0 throughout */
    double *slope, *size; /* nW + nP: of cost + lambda'r, and the sum of its terms' sizes */
    double *floor;        /* nW + nP: what a slope changes by when unknowns change by little */
    double *share;        /* nR: the largest part of a slope's size that a row's multiplier makes */
    double *reach;        /* nR: sum of |J| extent */
    double worth;         /* of the cost: its slopes and second derivatives, over the amplitudes */
    double stake;         /* the same over the units */
    /* the cost's slopes over what the unknowns are at the point: not what it is elsewhere */
    double pull;
    double
        least; /* of the unknowns that the cost speaks of, the least stake of one over all steps */
    /* nW + nP: an unknown's size over the steps, as it is; the cost's slope, then its stake:
     * work */
    double *largest, *own;
    double *jac, *grad, *hess;
    double *square; /* ncol^2, without pairs */
    double *beside, *before, *bends,
        *r;     /* w and p, a slope and its change, rows: where there are kinks */
    char *held; /* nW + nP + nR */
} perp__kkt;

/* NULL: memory */
perp__kkt *perp__kkt_create(perp__arena *arena, perp__program *program,
                            const perp__pairing *pairing);

/* Everything but `held` at a point with its multipliers: of rows, of lower and upper bounds of
 * w. */
void perp__kkt_evaluate(perp__kkt *kkt, const double *w, const double *p, const double *lambda);

/* The distance from stationarity: the worst slope relative to its terms, the worst product of a
 * multiplier and the distance to its bound, relative too. r: the rows' values. */
double perp__kkt_stationarity(const perp__kkt *kkt, const double *w, const double *p,
                              const double *r, const double *lambda, const double *lower,
                              const double *upper);

/* By how much the cost of a convex program may be above its least: the products of multipliers and
 * distances. */
double perp__kkt_gap(const perp__kkt *kkt, const double *w, const double *r, const double *lambda,
                     const double *lower, const double *upper);

/* Has the Lagrangian a corner or a jump where the point is, by its slopes and values beside it?
 * Then slopes and second derivatives there are those of one of its sides, or of none. What
 * perp__kkt_evaluate found is found anew. */
int perp__kkt_is_kinked(perp__kkt *kkt, const double *w, const double *p, const double *lambda);

/* Second order at a stationary point. Returns 1: the curvature is positive in the null space of the
 * active conditions. Returns -1: it is negative along one direction of it. `direction` (nW + nP,
 * nullable) gets that one, its largest entry 1 in units of the extents. Returns 0: neither was
 * shown. Set is_new to 0 if the same point was tested before, with other bounds of the program. */
int perp__kkt_second_order(perp__kkt *kkt, perp__ipm *ipm, int is_new, const double *w,
                           const double *p, const double *r, const double *lambda,
                           const double *lower, const double *upper, double *direction);

/* Is the program convex for certain: rows affine, the cost of each step a convex quadratic? */
int perp__kkt_is_convex(perp__kkt *kkt, const double *w, const double *p);

#endif
