/* An interior-point method for programs over stages (src/plan/program.h). Primal-dual barrier steps
 * come from a stagewise factorisation, with corrections of the inertia. A filter line search limits
 * them (Waechter and Biegler 2006). The relaxation of the pairs goes down with the barrier. */

#ifndef PERP_SRC_IPM_H
#define PERP_SRC_IPM_H

#include "plan/program.h"

typedef enum perp__ipm_status {
    IPM_SOLVED,
    IPM_LIMIT,      /* of iterations */
    IPM_STALLED,    /* no step is accepted any more */
    IPM_STOPPED,    /* by the callback */
    IPM_NOT_FINITE, /* values are not finite at the start */
    IPM_MEMORY      /* of a library */
} perp__ipm_status;

typedef struct perp__ipm_progress {
    int iteration;
    double cost, infeasibility, dual, relaxation, barrier, step, regularisation;
} perp__ipm_progress;

typedef struct perp__ipm_options {
    double tol; /* of the optimality error */
    double
        primal; /* of the violation of conditions, tried for a few steps; default: any within tol */
    double gap; /* the barrier's share of the cost at the end, relative; default: any */
    int max_iter;                      /* default 1000 */
    double barrier, barrier_min;       /* first and last */
    double relaxation, relaxation_min; /* of the pairs, first and last */
    double penalty;                    /* on their products, default 0 */
    const perp__bounds *bound;         /* NULL: the program's */
    double weight;                     /* of the cost against the barrier, default 1 */
    double push;                       /* how far inside its bounds a start is moved, default 0.1 */
    int is_warm;                       /* multipliers are given; stay near the point */
    const double *lambda;              /* those of rows; NULL: the last solve's */
    int (*progress)(void *context, const perp__ipm_progress *progress); /* not 0: stop; nullable */
    void *context;
} perp__ipm_options;

typedef struct perp__ipm_result {
    perp__ipm_status status;
    int iterations;
    double relaxation;                                 /* the last */
    double cost, infeasibility, dual, complementarity; /* at the end, barrier 0; dual: of the cost
                                                          as it was weighed */
} perp__ipm_result;

typedef struct perp__ipm perp__ipm;

perp__ipm_options perp__ipm_options_default(void);
perp__ipm *perp__ipm_create(perp__arena *arena, perp__program *program); /* NULL: memory */
void perp__ipm_destroy(perp__ipm *ipm); /* what is not the arena's */

/* Solve from w (nw * K), p (np), which become the answer. The program's bounds may have changed
 * since the last call. */
perp__ipm_result perp__ipm_solve(perp__ipm *ipm, const perp__ipm_options *options, double *w,
                                 double *p);

/* A point with the multipliers of rows and of the bounds of w. */
typedef struct perp__ipm_iterate {
    double *w, *p, *lambda, *lower, *upper;
} perp__ipm_iterate;

/* One step of a sequential quadratic method from there, within `bound`, with both sides of pairs
 * open. side: the active side of each pair, before and after. Returns the number of solved systems.
 * 0: more than `most` were needed, or one had no solution, and nothing has changed. */
int perp__ipm_quadratic(perp__ipm *ipm, const perp__bounds *bound, signed char *side, int most,
                        perp__ipm_iterate *at);

/* A point whose curvature is tested. held: for unknowns and rows, how firmly each is constrained; a
 * question includes those of at least some level. extent, reach: the sizes of unknowns, and of rows
 * by their terms. */
typedef struct perp__ipm_point {
    const perp__pairing *pairing;
    const double *w, *p, *lambda; /* of cost + lambda'r */
    const char *held;
    const double *extent, *reach;
} perp__ipm_point;

/* Take the derivatives at a point. The questions below are about the point that was measured
 * last. */
void perp__ipm_measure(perp__ipm *ipm, const perp__ipm_point *at);

/* Does cost + lambda'r rise along all directions that keep the constrained unknowns and rows?
 * `margin` is added to the curvature, which is 1 on average. Returns 1: yes; 0: no; -1: the matrix
 * is singular. */
int perp__ipm_rises(perp__ipm *ipm, const perp__ipm_point *at, int level, double margin);
/* One along which it falls, by inverse iteration. Returns 0 if none is found. */
int perp__ipm_falling_direction(perp__ipm *ipm, const perp__ipm_point *at, int level, double margin,
                                double *direction);

/* Multipliers of the last solve: of rows (nrow * K), of lower and upper bounds of w (nw * K each),
 * all for minimise cost + lambda'r. */
const double *perp__ipm_lambda(const perp__ipm *ipm);
const double *perp__ipm_lower(const perp__ipm *ipm);
const double *perp__ipm_upper(const perp__ipm *ipm);

#endif
