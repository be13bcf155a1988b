/* Internal: what the methods for friction problems share. The driver (friction.c) copies the
 * caller's problem into this form: 3-D blocks in rows, sorted, every contact scaled so that the
 * mean diagonal of its block is 1. */

#ifndef PERP_SRC_FC_H
#define PERP_SRC_FC_H

#include "perp/friction.h"
#include "linalg/block_lu.h"

/* What one contact's solution takes of its block alone. */
typedef struct perp__fc_local {
    const double *W;    /* 9 entries row by row */
    double adjugate[9]; /* W^-1 d0 */
    double d0, d1;      /* det(W + diag(0, x, x)) = d0 + d1 x + W_nn x^2 */
    double inverse;     /* 1/d0, 0 where that is rounding or underflows */
    double lambda;      /* of the last solution that slid, else 0 */
} perp__fc_local;

/* Scaled problem, with s = scale and f = force: r_i = f_i r'_i, u'_i = s_i u_i, W'_ij = s_i W_ij
 * f_j, q'_i = s_i q_i; f_i is s_i times powers of two. The cones are unchanged, so a solution of
 * one is a solution of the other. A planar problem gets a second tangent with W_t2t2 = W_t1t1,
 * without coupling: its r_t2 is exactly 0. */
typedef struct perp__fc {
    int nc, n, nb;         /* contacts, 3 nc, blocks */
    int *start, *col;      /* blocks of row i: start[i] <= k < start[i+1], columns ascending, the
                         diagonal always there */
    int *diag;             /* index of the diagonal block of each row */
    double *block;         /* nb x 9, row by row */
    double *q, *mu;        /* 3 nc; nc */
    double *scale, *force; /* nc */
    /* nc: the size of q where it acts: |q_i|, or what couplings carry here from other contacts */
    double *data;
    double *normal;   /* nc: the same of the normal row alone; while a method runs, data */
    double *weight;   /* nc: 1/data */
    int *order;       /* nc: of the caller's contacts */
    const int *place; /* of each of the caller's contacts: its number here, counted from `first` */
    int first;
    int *carries; /* nc: does the impulse move anything? */
    /* below this residual each contact is judged, and perp__fc_residual is the error if it is
     * larger */
    double tol;
    double target; /* the methods stop when perp__fc_residual is below this */
    double shift;  /* Newton's first */
    double *r, *u; /* 3 nc: the iterate, and W r + q of it after perp__fc_residual */
    double *best;  /* 3 nc: the best iterate of this solve */
    double best_residual;
    double *work;          /* PERP__FC_WORK vectors of 3 nc */
    double *jacobian;      /* nb x 9 */
    perp__fc_local *local; /* nc: of the sweeps */
    int *active;           /* nc */
    perp__block_lu *lu;
    struct perp__fc_system *system;
    double *products; /* multiply-adds of products with W so far, in this solve */
    const perp_fc_options *options;
    int is_stuck; /* Newton stalled before: now short steps raise its shift */
    int is_exact; /* Newton ended where its map is rounding */
    int max_iter; /* of the method that runs; 0: its own limit */
    int iterations, factorizations;
    perp_fc_method used;
    int out_of_memory;
} perp__fc;

enum { PERP__FC_WORK = 16 }; /* 12 to 14 are perp__fc_error's, 15 is auto's guess */

/* Work vector k. */
static inline double *perp__fc_work(const perp__fc *fc, int k)
{
    return fc->work + (size_t)k * (size_t)fc->n;
}

/* So many products of each block of W with a vector. */
static inline void perp__fc_count(const perp__fc *fc, double times)
{
    *fc->products += 9 * times * (fc->start[fc->nc] - fc->start[0]);
}

/* W = Y Y' + E: what the caller of an internal solve knows of W beside its blocks. Y are motions of
 * the contacts by velocities whose kinetic energy is half the sum of their squares, in groups of
 * three. */
typedef struct perp__fc_factors {
    int ngroup;
    const int *start;    /* nc + 1: begins of the contacts' blocks */
    const int *group;    /* of each block; those of a contact differ */
    const double *block; /* 9 each, row by row: rows of the contact, columns of the group */
    const double *own;   /* 9 nc, row by row: the diagonal of E */
    const int *bound; /* nc: the contact whose normal impulse bounds this one's, which is bound by
                          * none; -1: none */
    const double *share; /* nc: then E has -share where their normals meet */
} perp__fc_factors;

/* fc_system.c: (A + B W) x = b, A and B of 9 numbers a contact, row by row. */
typedef struct perp__fc_system perp__fc_system;
perp__fc_system *perp__fc_system_create(void); /* NULL: memory is out */
void perp__fc_system_destroy(perp__fc_system *system);
/* For the contacts of fc, with factors of W (nullable: there are none). 0: memory is out. */
int perp__fc_system_begin(perp__fc *fc, const perp__fc_factors *factors);
/* For these contacts, until the next call (NULL: all; the array stays); 0: memory is out. */
int perp__fc_system_order(perp__fc *fc, const int *active);
/* A, B (nullable: the identity) stay until the last solution. Pivots below tiny times the largest
 * entry of their block are replaced. */
void perp__fc_system_factor(perp__fc *fc, const double *A, const double *B, double tiny);
/* x: 3 nc. In b, of contacts that are not active their x; out x. */
void perp__fc_system_solve(perp__fc *fc, double *x);
int perp__fc_in_velocities(const perp__fc *fc); /* are there factors? */
/* u = W x + q by factors. */
void perp__fc_system_product(const perp__fc *fc, const double *x, double *u);

/* u = W r + q. */
void perp__fc_velocity(const perp__fc *fc, const double *r, double *u);

/* Sets fc->u, returns the natural residual of fc->r: the 2-norm over all contacts, each relative to
 * its data. Below fc->tol it is the largest error of a contact if that is larger, so that a method
 * that uses it is on the safe side of the driver. Keeps the best iterate. */
double perp__fc_residual(perp__fc *fc);

/* The same where fc->u is set already. */
double perp__fc_residual_of_u(perp__fc *fc);

/* The largest error of fc->r, with fc->u set, projected onto the cones, as the driver will judge
 * it. For normal rows on their own scales if that is more than tol; target is asked of contacts. */
double perp__fc_error(const perp__fc *fc);

/* Sums of the caller's problem: u = W r + q, S its |terms|, low (nullable) what rounding took from
 * u. */
typedef struct perp__fc_sums {
    double *u, *S, *low;
} perp__fc_sums;

/* The verdict: moves r into the cones and judges each contact of the caller's problem there.
 * error[k]: of the contact at place k. Returns the largest. */
double perp__fc_judge(const perp__fc *fc, const perp_fc *problem, double tol, double *r,
                      perp__fc_sums sums, double *error);

/* Of r that holds, u = W r + q: does no r, though, by a proof from normal rows that rounding or a
 * tolerance hides? Then how far these are off beside their own data, more than tol; else 0. */
double perp__fc_contradiction(const perp_fc *problem, const double *r, const double *u, double tol);

/* perp_fc_residual where u is known. */
double perp__fc_residual_of(const perp_fc *problem, const double *r, const double *u);

/* How far the terms may exceed the data before these are the scale: piles and stacks have terms of
 * 50 times the data. Those of a normal row may less: what no impulse can do is hidden by impulses
 * that do nothing (docs/adr/069-normal-rows.md). */
#define PERP_FC_GROWTH        100.0
#define PERP_FC_NORMAL_GROWTH 32.0

/* r into its cone: a normal force that pulls is 0, and friction beyond mu r_n on the surface.
 * Returns 1 where r was outside. */
int perp__fc_snap(int d, double mu, double *r);

/* The largest of the rows that a contact's conditions speak of: without friction the normal one
 * alone. */
double perp__fc_largest_row(int d, double mu, const double *x);

/* The scales of a contact. Of u_n: the terms, at most PERP_FC_NORMAL_GROWTH times the data of
 * normal rows, and the possible rounding of the data in u_n. Of u: the terms, at most
 * PERP_FC_GROWTH times the data. */
typedef struct perp__fc_scale {
    double normal, rounding, contact, terms; /* terms: however many times the data */
} perp__fc_scale;

/* terms: of each row of u; q, normal and data: what is given, of it the normal row's data and the
 * contact's. */
perp__fc_scale perp__fc_scale_of(int d, double mu, const double *terms, const double *q,
                                 double normal, double data);

/* Rounding of u, and of its normal row: where either is more than a tenth of what is accepted u
 * decides nothing. */
static inline int perp__fc_is_rough(const perp__fc_scale *s, double any, double normal, double tol)
{
    return any > 0.1 * tol * s->contact || normal > 0.1 * tol * s->normal + s->rounding;
}

/* A contact that opens, and more than it presses: its impulse is 0 if not for rounding. r, u: its
 * normals; w: its diagonal. */
int perp__fc_opens(double w, double r, double u, perp__fc_scale s, double tol);

/* w: the diagonal of W. Forces are judged by their effect on their own u, but no less strictly than
 * to a part of themselves; not at all if they are so large that their last digits are beyond
 * that. */
double perp__fc_contact_error(int d, double mu, const double *r, const double *u,
                              const perp__fc_scale *s, double w, double tol);

/* P_K for 3-D contacts. */
void perp__fc_cone(double mu, const double *x, double *p);

perp__fc_local perp__fc_local_of(const double *W);

/* One contact, as perp__fc_contact; where it slides, Newton ends after a step below `tol` of the
 * root: the error is its square. */
int perp__fc_local_solve(perp__fc_local *l, const double *q, double mu, double tol, double *r);

/* One contact: find r with u = W r + q and the conditions of perp/friction.h, exactly but for
 * rounding. W: 9 entries row by row, q: 3, r: in the last r (a guess), out the solution. Returns 0
 * when none was found (W not positive definite); r is then a projected step. */
int perp__fc_contact(const double *W, const double *q, double mu, double *r);

/* The map of Alart and Curnier of one contact at (r, u), and on request its derivatives: dF = A
 * dr + B du, 3 x 3 row by row. W: 9 entries row by row. Returns 1 for a closed contact. */
int perp__fc_map(const double *W, double mu, const double *r, const double *u, double *F, double *A,
                 double *B);

/* Which piece of it a contact is on, by A. */
enum { PERP__OPEN, PERP__STICKS, PERP__SLIDES };
static inline int perp__fc_piece(int closed, const double *A)
{
    int slides = A[4] + A[8] > 0.5; /* 0, or at least 1 */
    if (!closed) return PERP__OPEN;
    if (slides) return PERP__SLIDES;
    return PERP__STICKS;
}

/* Newton on the Alart-Curnier map of the problem with u + alpha (r - center) in place of u; center
 * may be NULL with alpha = 0. Starts from and ends in fc->r. Stops at fc->target, or when the map
 * has fallen by `reduce`, or after `limit` steps, or when the line search fails. Returns the last
 * |map| over the first. */
double perp__fc_newton(perp__fc *fc, double alpha, const double *center, double reduce, int limit);

/* At most `limit` sweeps of nsgs on the same problem; returns the natural residual. */
double perp__fc_sweeps(perp__fc *fc, int limit);

/* The method proximal, for at most `limit` iterations from here. */
void perp__fc_proximal_steps(perp__fc *fc, int limit);

/* When interior points leave the rest to Newton: when no contact changes its piece of the map of
 * Alart and Curnier any more; when they are near and converge no further; never. */
typedef enum perp__ipm_end { PERP__IPM_SETTLED, PERP__IPM_SLOW, PERP__IPM_NOWHERE } perp__ipm_end;

/* At most `limit` interior-point steps from start 0, 1, 2, ... (0 has all contacts alike), or from
 * where the last ones ended (-1); the best iterate is kept. Returns 1: they came to `end`. */
int perp__fc_ipm_steps(perp__fc *fc, int limit, int start, perp__ipm_end end);

/* |W|, by power iteration to a thousandth or so; uses work vectors 0 and 1. */
double perp__fc_largest_eigenvalue(const perp__fc *fc);

/* perp_fc_solve with factors (nullable) of W, which is given by blocks. */
perp_status perp__fc_solve(perp_fc_solver *solver, const perp_fc *problem,
                           const perp__fc_factors *factors, double *r, double *u,
                           perp_fc_info *info);

/* The methods. Each starts from fc->r, leaves its last iterate there, and adds to fc->iterations.
 */
#define PERP_FRICTION(name, NAME, function, summary) void perp__fc_##function(perp__fc *fc);
#include "perp/friction.def"
#undef PERP_FRICTION

#endif
