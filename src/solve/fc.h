/* Internal: what the methods for friction problems share. The driver (friction.c) copies the
 * caller's problem into this form: 3-D blocks in rows, sorted, every contact scaled so that the
 * mean diagonal of its block is 1. */

#ifndef PERP_SRC_FC_H
#define PERP_SRC_FC_H

#include "perp/friction.h"
#include "linalg/block_lu.h"

/* Scaled problem, with s = scale: r_i = s_i r'_i, u'_i = s_i u_i, W'_ij = s_i s_j W_ij, q'_i = s_i
 * q_i. The cones are unchanged, so a solution of one is a solution of the other. A problem in the
 * plane gets a second tangent with W_t2t2 = W_t1t1, coupled to nothing: its r_t2 is exactly 0. */
typedef struct perp__fc {
    int nc, n, nb;    /* contacts, 3 nc, blocks */
    int *start, *col; /* blocks of row i: start[i] <= k < start[i+1], columns ascending, the
                         diagonal always there */
    int *diag;        /* index of the diagonal block of each row */
    double *block;    /* nb x 9, row by row */
    double *q, *mu;   /* 3 nc; nc */
    double *scale;    /* nc */
    double target;    /* the methods stop when perp__fc_residual is below this */
    double *r, *u;    /* 3 nc: the iterate, and W r + q of it after perp__fc_residual */
    double *best;     /* 3 nc: the best iterate of this solve */
    double best_residual;
    double *work;     /* PERP__FC_WORK vectors of 3 nc */
    double *jacobian; /* nb x 9 */
    int *active;      /* nc */
    perp__block_lu *lu;
    const perp_fc_options *options;
    int max_iter; /* of the method that runs; 0: its own limit */
    int iterations, factorizations;
    perp_fc_method used;
    int out_of_memory;
} perp__fc;

enum { PERP__FC_WORK = 12 };

/* Work vector k. */
static inline double *perp__fc_work(const perp__fc *fc, int k)
{
    return fc->work + (size_t)k * (size_t)fc->n;
}

/* u = W r + q. */
void perp__fc_velocity(const perp__fc *fc, const double *r, double *u);

/* Sets fc->u, returns the natural residual of fc->r in the units of the caller: the 2-norm over all
 * contacts, which is never below the largest contact's, so that a method that believes it is on the
 * safe side of the driver. Keeps the best iterate. */
double perp__fc_residual(perp__fc *fc);

/* P_K for 3-D contacts. */
void perp__fc_cone(double mu, const double *x, double *p);

/* One contact: find r with u = W r + q and the conditions of perp/friction.h, exactly but for
 * rounding. W: 9 entries row by row, q: 3, r: in the last r (a guess), out the solution. Returns 0
 * when none was found (W not positive definite); r is then a projected step. */
int perp__fc_contact(const double *W, const double *q, double mu, double *r);

/* Newton on the Alart-Curnier map of the problem with u + alpha (r - center) in place of u; center
 * may be NULL with alpha = 0. Starts from and ends in fc->r. Stops at fc->target, or when the map
 * has fallen by `reduce`, or after `limit` steps, or when the line search fails. Returns the last
 * |map| over the first. */
double perp__fc_newton(perp__fc *fc, double alpha, const double *center, double reduce, int limit);

/* At most `limit` sweeps of nsgs on the same problem; returns the natural residual. */
double perp__fc_sweeps(perp__fc *fc, int limit);

/* The method proximal, for at most `limit` iterations from here. */
void perp__fc_proximal_steps(perp__fc *fc, int limit);

/* At most `limit` interior-point steps from start 0, 1, 2, ... (0 has all contacts alike); the best
 * iterate is kept. */
void perp__fc_ipm_steps(perp__fc *fc, int limit, int start);

/* |W|, by power iteration to a thousandth or so; uses work vectors 0 and 1. */
double perp__fc_largest_eigenvalue(const perp__fc *fc);

/* The methods. Each starts from fc->r, leaves its last iterate there, and adds to fc->iterations.
 */
#define PERP_FRICTION(name, NAME, function, summary) void perp__fc_##function(perp__fc *fc);
#include "perp/friction.def"
#undef PERP_FRICTION

#endif
