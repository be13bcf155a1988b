/* Internal: what the parts of perp_pile_solve share. */

#ifndef PERP_SRC_PILE_H
#define PERP_SRC_PILE_H

#include "perp/pile.h"

#include "base/arena.h"

#include <stddef.h>

/* The blocks of contacts are in units of their own, powers of two: the largest diagonal entry is from 1/2 to 1. */
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
    int ncolour, *first,
        *order; /* colour c has the places first[c] .. first[c + 1] - 1; order: the contact at a place */
    int is_serial; /* the contacts of the last colour share bodies */
} perp__pile;

/* What a verdict needs beside the problem, from the caller's arrays alone. */
typedef struct perp__pile_scales {
    double *
        data; /* nc: the size of J velocity + bias where it acts: its own, or what bodies carry here from other contacts */
    double *diagonal; /* nc: the largest entry of the diagonal of W */
    double *sum;      /* nbody x 2k: J' r, |J'| |r| */
    int *contacts;    /* nbody: how many */
    double *u, *S;    /* nc x d: velocities of contacts, their |terms| */
} perp__pile_scales;

/* 0: memory, which the arena remembers. */
int perp__pile_scales_create(perp__pile_scales *scales, const perp_pile *p, perp__arena *arena);

/* Moves r into the cones, and judges each contact there: the largest error, and whose it is in *worst, -1: there is none. Sets u. */
double perp__pile_judge(perp__pile_scales *scales, const perp_pile *p, double tol, double *r,
                        int *worst);

/* inv(M) x of body b. */
void perp__pile_accelerate(const perp_pile *p, int b, const double *x, double *y);

/* J of side 0 or 1 of contact i: d x k. */
static inline const double *perp__pile_jacobian(const perp_pile *p, int i, int side)
{
    return p->jacobian + (2 * (size_t)i + (size_t)side) * (size_t)(p->dimension * p->dof);
}

/* Groups of contacts that share no body that moves. 0: memory. */
int perp__pile_colour(perp__pile *s, perp__arena *arena);

/* Let `own` be the problem in the order of the colours. 0: memory. */
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

#endif
