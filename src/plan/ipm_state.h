/* Internal to the interior point: its state, and the interface of its parts. The main loop is
 * in ipm.c. Values and linear systems are in ipm_system.c. Line search and restoration are in
 * ipm_search.c. The method is that of Waechter and Biegler (2006). Constants are those of their
 * section 3 and table 1 unless noted. */

#ifndef PERP_SRC_IPM_STATE_H
#define PERP_SRC_IPM_STATE_H

#include "plan/ipm.h"
#include "plan/stages.h"

#include <math.h>

#define UNBOUNDED ((double)INFINITY)

enum { MAX_FILTER = 400 };

/* Kinds of entries of H and J, by what their columns are. */
enum { PRE, UNKNOWN, GLOBAL };

struct perp__ipm {
    perp__program *g;
    perp__pairing pairing; /* the relaxation as it is now */
    int K, nx, nw, np, nrow;
    size_t nW, nP, nS, n, m; /* unknowns of steps, globals, slacks, all; rows */
    perp__stages *stages;
    struct {
        int *w, *r, *p; /* place of unknowns and rows in a stage, of globals in the border, or -1 */
        int *order;     /* nw + nrow: unknowns, then rows, as a stage has them */
    } place;
    const perp__ipm_options *options;

    /* primal: w, p, slacks of rows; their bounds and multipliers */
    double *x, *lo, *hi, *zl, *zu, *sigma, *lambda;
    char *is_free;
    double *r, *c; /* c = r - s of active rows */
    double cost;   /* scaled */
    struct {
        double *jac, *grad, *hess;
        double *gradient; /* of cost + lambda'c without bound terms */
    } values;
    struct {
        double cost;   /* factor of the cost */
        double *of;    /* w, p and rows: x is in these */
        double *plain; /* w, p and multipliers of rows in the program's own; where has_units */
    } units;

    struct {
        double *rhs_x, *rhs_c, *res_x, *res_c; /* right-hand sides, and what a solution leaves */
        double *xk, *yk;                       /* right-hand side by stages, and border */
    } system;
    struct {
        double w, c, last; /* on the diagonal, of unknowns and of rows */
    } delta;
    struct {                           /* of the last factorisation */
        double *border_before, margin; /* the border before each stage; by what it went */
        int *negative_before;          /* negative eigenvalues before each stage */
        int stages;                    /* up to which it went */
        char *was_held;
        struct perp__ipm_sparse *sparse; /* in place of the stages, where one is large; else NULL */
    } factors;
    struct {
        double *x, *zl, *zu, *lambda;
    } d; /* direction */
    struct {
        double *c, *dx, *dlambda;
    } soc; /* second-order correction */
    struct {
        double *x, *r, *c, cost;
    } trial; /* point of the line search */
    struct {
        double theta[MAX_FILTER], phi[MAX_FILTER], theta_max, theta_min;
        int n;
    } filter;
    struct {
        double *lo, *hi, *gradient; /* the bounds; of the cost alone */
        signed char *held,
            *next; /* -1 at its lower bound, 1 at its upper; then of the next system */
    } active;      /* of a quadratic program */
    double mu;
    int iteration, is_stopped;
    /* of the point that was measured last: conditions that are held repeat each other */
    int is_redundant;
    int restorations; /* steps of restoration, which count as iterations */
};

static inline int perp__ipm_is_off(const perp__ipm *s, size_t row)
{
    size_t at = s->nW + s->nP + row;
    return s->lo[at] == -UNBOUNDED && s->hi[at] == UNBOUNDED;
}

static inline int perp__ipm_kind_of(const perp__ipm *s, int col)
{
    if (col < s->nx) return PRE;
    if (col < s->nx + s->nw) return UNKNOWN;
    return GLOBAL;
}

/* max(most, |x|), where a NaN counts as larger than every number. */
static inline double perp__ipm_worse(double most, double x)
{
    if (isnan(x)) return UNBOUNDED;
    if (fabs(x) > most) return fabs(x);
    return most;
}

/* Index in (w, p) of column `col` of stage k; -1: a given initial state. */
static inline long perp__ipm_index_of(const perp__ipm *s, int col, int k)
{
    const perp__program *g = s->g;
    switch (perp__ipm_kind_of(s, col)) {
    case PRE:
        if (k == 0) return g->initial.p[col] >= 0 ? (long)s->nW + g->initial.p[col] : -1;
        return (long)((g->npoint - 1) * g->nb + col) * s->K + k - 1;
    case UNKNOWN: return (long)(col - s->nx) * s->K + k;
    default: return (long)s->nW + col - s->nx - s->nw;
    }
}

/* Gradient of the Lagrangian with respect to entry i of (w, p, s), without bound terms. */
static inline double perp__ipm_lagrangian_slope(const perp__ipm *s, size_t i)
{
    return i < s->nW + s->nP ? s->values.gradient[i] : -s->lambda[i - s->nW - s->nP];
}

/* Gradient of the barrier function's Lagrangian at entry i. */
static inline double perp__ipm_barrier_slope(const perp__ipm *s, size_t i)
{
    double d = perp__ipm_lagrangian_slope(s, i);
    if (s->lo[i] > -UNBOUNDED) d -= s->mu / (s->x[i] - s->lo[i]);
    if (s->hi[i] < UNBOUNDED) d += s->mu / (s->hi[i] - s->x[i]);
    return d;
}

/* ipm.c ---------------------------------------------------------------------------------------- */

/* The sum of |second derivatives|, each times the weight of its two unknowns. */
typedef double perp__ipm_weight(const perp__ipm *s, const void *context, size_t i, size_t j);
double perp__ipm_sum_curvature(const perp__ipm *s, perp__ipm_weight *weight, const void *context);

/* Tell the caller's progress function where it stands; not 0: stop. */
int perp__ipm_report(perp__ipm *s, double primal, double dual, double alpha);

/* ipm_system.c -------------------------------------------------------------------------------- */

/* Bounds from the program, and the places of what is free in its stage. */
void perp__ipm_read_bounds(perp__ipm *s);
void perp__ipm_place(perp__ipm *s); /* the places alone */
/* Solve with the factors: (bx, bc) over (w, p) and rows, in place. */
void perp__ipm_solve_factored(perp__ipm *s, double *bx, double *bc);

double perp__ipm_norm1(const double *x, size_t n);
double perp__ipm_norm_inf(const double *x, size_t n);

/* Rows r at x, and the cost. */
void perp__ipm_rows(perp__ipm *s, const double *x, double *r, double *cost);
/* Derivatives at x of scale * cost + lambda'r. */
void perp__ipm_derivatives(perp__ipm *s, const double *lambda, double scale);

/* Rows r, violations c and the scaled cost at x. Returns 0 if they are not finite. */
int perp__ipm_values(perp__ipm *s, const double *x, double *r, double *c, double *cost);
/* The barrier function: cost - mu sum log(distance to the bounds). */
double perp__ipm_barrier(const perp__ipm *s, const double *x, double cost);
/* Derivatives at x, and the gradient of cost + lambda'c. */
void perp__ipm_differentiate(perp__ipm *s);
/* The gradient of the cost over (w, p), by the derivatives that were taken last. */
void perp__ipm_cost_gradient(const perp__ipm *s, double *gradient);
/* y += J v */
void perp__ipm_add_product(const perp__ipm *s, const double *v, double *y);
/* y += J'v for the active rows; y over (w, p). */
void perp__ipm_add_transposed(const perp__ipm *s, const double *v, double *y);
/* y += H v over (w, p). */
void perp__ipm_add_curvature(const perp__ipm *s, const double *v, double *y);

/* Assemble and factor with sigma, delta_w, delta_c. Returns 1: the inertia is right; 0: it is not;
 * -1: singular. */
int perp__ipm_factor_once(perp__ipm *s);
/* The same where stages before `first` are as in the last factorisation. */
int perp__ipm_factor_from(perp__ipm *s, int first);
/* Factor, adding to the diagonal until the inertia is right. Returns 0 if that does not help. */
int perp__ipm_factor(perp__ipm *s);
/* The step for violations c: dx, dlambda, dzl, dzu. */
void perp__ipm_direction(perp__ipm *s, const double *c);
/* dzl and dzu for dx. */
void perp__ipm_bound_multiplier_steps(perp__ipm *s);
/* Largest step up to `most` that keeps a fraction 1 - tau of the distance to the bounds. */
double perp__ipm_longest_primal(const perp__ipm *s, double tau, double most);
double perp__ipm_longest_dual(const perp__ipm *s, double tau);

/* order.c -------------------------------------------------------------------------------------- */

/* order: nw + nrow. Returns 0: memory. */
int perp__ipm_order(const perp__ipm *s, perp__arena *work, int *order);

/* ipm_sparse.c --------------------------------------------------------------------------------- */

/* Set s->factors.sparse where that is the way to go. Returns 0: memory. */
int perp__ipm_sparse_create(perp__ipm *s, perp__arena *arena);
/* As perp__ipm_factor_once and perp__ipm_solve_factored. */
int perp__ipm_sparse_factor(perp__ipm *s);
void perp__ipm_sparse_solve(perp__ipm *s, double *bx, double *bc);
int perp__ipm_lacked_memory(const perp__ipm *s); /* did the library? */

/* ipm_search.c -------------------------------------------------------------------------------- */

void perp__ipm_reset_filter(perp__ipm *s);
/* Make the trial point the point. */
void perp__ipm_adopt_trial(perp__ipm *s);
/* Find a step along the direction; the trial point is at its end. Its length, or 0. */
double perp__ipm_line_search(perp__ipm *s, double tau);
/* Bring the violation down until the filter takes the point again. Returns 0 if that fails. */
int perp__ipm_restore(perp__ipm *s);

#endif
