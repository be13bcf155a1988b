/* Internal: contact problems on sparse (M, H) without W (docs/adr/088-cones-without-w.md). Rows of
 * H' and of G' are one matrix B' of m rows, with forces x = (r, l): M v = B x + f, y = B' v + c. */

#ifndef PERP_SRC_CONES_H
#define PERP_SRC_CONES_H

#include "external/sparse_ldl.h"
#include "fclib/fclib.h"
#include "solve/pile.h"

/* The part of one contact, or of one row of G': k velocities, d x k entries row by row. */
typedef struct perp__cones_item {
    int d, k, row; /* row: its first of B' */
    int touch;     /* where its k velocities and d k entries begin */
    size_t entry;
} perp__cones_item;

typedef struct perp__fclib_cones {
    const perp_fclib_problem *p;
    int d, nc, n, nv, nl, m, threads;
    perp_fclib_matrix B, rows; /* nv x m; its rows as columns */
    perp_fclib_matrix M;       /* by columns; its sums are made, and it is symmetric */
    double *c;                 /* m: w, b */
    double *mass;              /* nv: diagonal of M */
    perp__cones_item *item;    /* nc + nl */
    int *touch;
    double *entry;
    double *unit; /* nc + nl: the largest of diag(D' inv(diag M) D) of its rows */
    /* A = M + B Q B', its entries by triplets: those of M first, then blocks of items */
    int nentry, *at_row, *at_column;
    double *value;
    perp__sparse_ldl *ldl;
    double *weight;                       /* (nc + nl) x 9: Q in use */
    double *work[8];                      /* nv */
    double *terms;                        /* m */
    perp__pile_scales pile_scales;        /* where the problem is a pile, */
    const perp_pile *pile;                /* else NULL */
    double *data, *normal, *diagonal, *q; /* else: nc, nc, nc, n: of the verdict */
    double *S;                            /* n; or room */
} perp__fclib_cones;

/* PERP_ERR_DATA: the problem is none for it, and *why says so. To be cleared in any case. `pile`
 * nullable, must stay. */
perp_status perp__cones_create(perp__fclib_cones *s, const perp_fclib_problem *p,
                               const perp_pile *pile, int threads, perp__arena *arena,
                               const char **why);
void perp__cones_clear(perp__fclib_cones *s);

/* y = B' v + c; F = f + B x. */
void perp__cones_velocities(const perp__fclib_cones *s, const double *v, double *y);
void perp__cones_forces(const perp__fclib_cones *s, const double *x, double *F);
/* y = M v */
void perp__cones_momentum(const perp__fclib_cones *s, const double *v, double *y);
/* y += B W (B' v) with the weights of items, d x d each, that need not be symmetric; room: m. */
void perp__cones_push(const perp__fclib_cones *s, const double *weight, const double *v, double *y,
                      double *room);

/* Factors of M + B Q B' with s->weight. PERP_ERR_DATA: it is not positive definite. */
perp_status perp__cones_factor(perp__fclib_cones *s);

/* v for contact forces r, and l: M v = H r + G l + f, G' v + b = 0, by factors of M + G Q G'.
 * Overwrites the weights. */
perp_status perp__cones_motion(perp__fclib_cones *s, const double *r, double *v, double *l);

/* The scales of the verdict. */
perp_status perp__cones_scales(perp__fclib_cones *s, perp__arena *arena);
/* The error of contacts at velocities u; no solve. */
double perp__cones_error(perp__fclib_cones *s, double tol, const double *r, const double *u);
/* Moves r into the cones and judges it with its motion, which is found anew: v, l. */
perp_status perp__cones_judge(perp__fclib_cones *s, double tol, double *r, double *v, double *l,
                              double *error);

/* How far a solve is. */
typedef struct perp__cones_run {
    double tol;
    perp_fclib_progress progress; /* nullable */
    void *context;
    int iterations, max_iter, factors, is_stopped;
    double *best, error; /* m: the judged forces with the least error */
    double *trial;       /* m */
} perp__cones_run;

/* Judge forces x, which lie in the cones; the best are kept. v: nv, room. */
perp_status perp__cones_look(perp__fclib_cones *s, perp__cones_run *run, const double *x,
                             double *v);

/* At most `limit` iterations of ADMM on x, v, z, until the error of contacts at v is a tenth of the
 * tolerance. *rho: the penalty in the units of contacts, in and out. y: m, room. */
perp_status perp__cones_admm(perp__fclib_cones *s, perp__cones_run *run, int limit, double *rho,
                             double *x, double *v, double *z, double *y);

/* Newton's method on the augmented Lagrangian from x, v: at most `limit` times new forces. */
perp_status perp__cones_newton(perp__fclib_cones *s, perp__cones_run *run, int limit, double *x,
                               double *v);

/* Both, until it is solved or after max_iter iterations. r: in where is_warm, out; v, l out.
 * PERP_ERR_DATA as perp__cones_create. */
perp_status perp__cones_solve(const perp_fclib_problem *p, const perp_pile *pile,
                              const perp_fclib_options *o, double *r, double *v, double *l,
                              perp_fclib_info *info, const char **why);

#endif
