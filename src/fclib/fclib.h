/* Internal: what reading, elimination and verdict of FCLIB's problems share. */

#ifndef PERP_SRC_FCLIB_H
#define PERP_SRC_FCLIB_H

#include "perp/fclib.h"
#include "perp/pile.h"

#include "base/arena.h"
#include "base/base.h"

/* 0: something of it does not fit; diag says what. */
int perp__fclib_is_shaped(const perp_fclib_problem *p, perp_diag *diag);

static inline int perp__fclib_is_global(const perp_fclib_problem *p)
{
    return p->M.start != NULL;
}

/* A' : the rows of A as columns, those of one place added up, ascending. Returns 0: memory, which
 * the arena remembers. */
int perp__fclib_transpose(const perp_fclib_matrix *A, perp__arena *arena, perp_fclib_matrix *out);

/* y += scale A x, and Y += |scale A| |x| where Y is not NULL; or with A'. A matrix that is not
 * there adds nothing. */
void perp__fclib_add(const perp_fclib_matrix *A, double scale, const double *x, double *y,
                     double *Y);
void perp__fclib_add_transposed(const perp_fclib_matrix *A, double scale, const double *x,
                                double *y, double *Y);

/* Elimination: with x = (v, l), K x = sign C r + g and u = W r + C' x + c. */
typedef struct perp__fclib_system {
    const perp_fclib_problem *p;
    int n, nx;
    double sign;
    perp_fclib_matrix K, C; /* K by rows, C nx x n by columns; not there: nothing is eliminated */
    double *g;              /* nx */
    const double *c;        /* n */
    void *lu;               /* factors of K */
    double *rest;           /* nx: room */
} perp__fclib_system;

/* PERP_ERR_DATA: K is singular. To be cleared in any case. */
perp_status perp__fclib_system_create(perp__fclib_system *s, const perp_fclib_problem *p,
                                      perp__arena *arena, perp_diag *diag);
void perp__fclib_system_clear(perp__fclib_system *s);

/* x of impulses r. Returns 0: factors do not serve. */
int perp__fclib_eliminated(perp__fclib_system *s, const double *r, double *x);

/* The problem as blocks of W, all in the arena. PERP_ERR_DATA: W is too large. */
perp_status perp__fclib_blocks(perp__fclib_system *s, perp__arena *arena, perp_fc *out,
                               perp_diag *diag);

/* The problem as a pile, all in the arena: its place of each velocity in *place (body * dof +
 * which). PERP_ERR_DATA: it is none; *why says so. */
perp_status perp__fclib_pile(const perp_fclib_problem *p, perp__arena *arena, perp_pile *out,
                             int **place, const char **why);

/* The largest violation of a row of the equations relative to the sum of its |terms|: of v and l,
 * and of u = `u`. Rows of u have at least `scale` (n; nullable), the terms from which v and l were
 * computed. room: 2 (n + nv + nl). */
double perp__fclib_violation(const perp_fclib_problem *p, const double *r, const double *u,
                             const double *scale, const double *v, const double *l, double *room);

/* The natural residual of all contacts, perp_fc_residual's. */
double perp__fclib_residual(const perp_fclib_problem *p, const double *r, const double *u);

/* u from r, v and l with the file's matrices. */
void perp__fclib_velocities(const perp_fclib_problem *p, const double *r, const double *v,
                            const double *l, double *u);

#endif
