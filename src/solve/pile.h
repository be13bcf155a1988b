/* Internal: what the parts of perp_pile_solve share. */

#ifndef PERP_SRC_PILE_H
#define PERP_SRC_PILE_H

#include "perp/pile.h"

#include "base/arena.h"
#include "external/petsc.h"

#include <stddef.h>

/* The bodies of a part of a pile that other ranks have, too (pile_ranks.c). A rank has a share of
 * each of them, and the velocity of the body is the mean of theirs. NULL everywhere: there is one
 * process. */
typedef struct perp__pile_halo {
    const perp__petsc *petsc;
    int n, *body;                   /* n: which */
    double *share;                  /* n, of the mass; they add up to 1 over the ranks */
    double *room;                   /* n x 2k */
    perp__halo *velocities, *terms; /* k and 2k numbers a body */
} perp__pile_halo;

/* A part of a pile, for one rank. */
typedef struct perp__pile_part {
    perp_pile pile; /* with whole masses */
    perp__pile_halo halo;
    double *inverse_mass;  /* nbody x k x k: of its shares */
    double *data, *normal; /* nc: perp__pile_scales' of the whole pile */
    int *contacts;         /* nbody: of the whole pile */
    /* Between sweeps, on all ranks, with this part of the best iterate: 0 to go on. */
    int (*between)(void *context, int iterations, double error, const double *r);
    void *context;
} perp__pile_part;

/* The blocks of contacts are in units of their own, powers of two: the largest diagonal entry is
 * from 1/2 to 1. */
typedef struct perp__pile {
    const perp_pile *p; /* the caller's */
    perp_pile own; /* the same, with its contacts in the order of colours, in which they are read */
    int d, k, threads;
    double *r;         /* nc x d: the iterate, in this order, as all below */
    double *v;         /* nbody x k: velocities with it */
    double *block;     /* nc x 9: of W, divided by unit; in the plane with a second tangent */
    double *unit;      /* nc; 0: nothing moves the contact */
    char *moves;       /* nbody: its inverse mass is not 0 */
    char *is_diagonal; /* nbody */
    /* colour c has the places first[c] .. first[c + 1] - 1; order: the contact at a place */
    int ncolour, *first, *order;
    int is_serial; /* the contacts of the last colour share bodies */
    const perp__pile_halo *halo;
} perp__pile;

/* What a verdict needs beside the problem, from the caller's arrays alone. */
typedef struct perp__pile_scales {
    /* nc: the size of J velocity + bias where it acts: its own, or what bodies carry here from
     * other contacts */
    double * data;
    double *normal;   /* nc: the same of normal rows alone */
    double *diagonal; /* nc: the largest entry of the diagonal of W */
    double *sum;      /* nbody x 2k: J' r, |J'| |r| */
    int *contacts;    /* nbody: how many */
    double *u, *S;    /* nc x d: velocities of contacts, their |terms| */
    const perp__pile_halo *halo;
} perp__pile_scales;

/* part: whose pile it is; nullable. Returns 0: memory, which the arena remembers. */
int perp__pile_scales_create(perp__pile_scales *scales, const perp_pile *p,
                             const perp__pile_part *part, perp__arena *arena);

/* Moves r into the cones, and judges each contact there: the largest error (of all ranks), and
 * whose it is in *worst, -1: none of these. Sets u. */
double perp__pile_judge(perp__pile_scales *scales, const perp_pile *p, double tol, double *r,
                        int *worst);

/* inv(M) x of body b. */
void perp__pile_accelerate(const perp_pile *p, int b, const double *x, double *y);

/* J of side 0 or 1 of contact i: d x k. */
static inline const double *perp__pile_jacobian(const perp_pile *p, int i, int side)
{
    return p->jacobian + (2 * (size_t)i + (size_t)side) * (size_t)(p->dimension * p->dof);
}

/* Groups of contacts that share no body that moves. Returns 0: memory. */
int perp__pile_colour(perp__pile *s, perp__arena *arena);

/* Let `own` be the problem in the order of the colours. Returns 0: memory. */
int perp__pile_reorder(perp__pile *s, perp__arena *arena);

/* v from r, anew. */
void perp__pile_velocities(perp__pile *s);

/* One sweep over all contacts, each solved exactly with the others' newest impulses. */
void perp__pile_sweep(const perp__pile *s);

/* Conjugate directions over sweeps, pile_conjugate.c. */
typedef struct perp__pile_directions {
    const perp__pile *s;
    double *r_before, *r_along; /* nc x d: before the sweep; the direction */
    double *v_before, *v_along; /* nbody x k */
    double *part;               /* sums of pieces */
    double size, beta;          /* |g|^2 of the last sweep, 0: there is none */
} perp__pile_directions;

/* 0: memory, which the arena remembers. */
int perp__pile_directions_create(perp__pile_directions *a, const perp__pile *s, perp__arena *arena);
/* Before a sweep, and after it. */
void perp__pile_directions_before(perp__pile_directions *a);
void perp__pile_directions_after(perp__pile_directions *a);
/* What comes next has nothing to do with the sweeps before. */
void perp__pile_directions_forget(perp__pile_directions *a);

/* Is every entry of the problem and of r finite, and every body there? */
int perp__pile_is_sound(const perp_pile *p, const double *r);

/* This rank's part of a solve, all ranks at once; options.progress is not called. info.error: that
 * of the whole. */
perp_status perp__pile_solve_part(const perp__pile_part *part, const perp_pile_options *options,
                                  double *r, perp_pile_info *info);

/* Of each place its sum over the ranks; x: nbody x k velocities by shares, or nbody x 2k. All
 * NULL-safe: nothing to be done without a halo. */
void perp__pile_meet(const perp__pile_halo *halo, int k, double *v);
void perp__pile_sum_terms(const perp__pile_halo *halo, int k, double *x);
double perp__pile_sum(const perp__pile_halo *halo, double x);
double perp__pile_most(const perp__pile_halo *halo, double x);

/* pile_ranks.c: as perp_pile_solve, by all ranks; the others serve rank 0. keep: gets the best
 * answer so far at intervals; nullable. */
typedef void (*perp__pile_keep)(void *context, int iterations, const double *r, const double *v);
perp_status perp__pile_solve_ranks(const perp__petsc *petsc, const perp_pile *p,
                                   const perp_pile_options *options, perp__pile_keep keep,
                                   double *r, double *v, perp_pile_info *info);

#endif
