/* Internal to src/plan: what solves a program, and how a plan is refined and explained. */

#ifndef PERP_SRC_NLP_H
#define PERP_SRC_NLP_H

#include "plan/ipm.h"
#include "plan/program.h"

/* IPOPT on the same program (ipopt.c is the only file that knows it). multipliers: of rows, lower
 * and upper bounds of w, as perp__ipm_lambda and so on. */
int perp__ipopt_available(void);
perp__ipm_result perp__ipopt_solve(perp__program *program, const perp__ipm_options *options,
                                   double *w, double *p, double *lambda, double *lower,
                                   double *upper);

/* Is there a proof that no plan satisfies the affine rows and bounds of a soft program without a
 * violation? By lambda, multipliers of its rows; NULL: by those that Clp finds. 1: there is, and
 * its rows (nrow * K) and bounds of unknowns (nW + nP: at which end) are noted; -1: memory. */
enum { PERP__AT_LOWER = 1, PERP__AT_UPPER };
int perp__plan_is_infeasible(perp__program *program, const perp__bounds *bound,
                             const double *lambda, char *row, char *column);

/* Why there is no plan: solve for the least violation of the conditions at nodes, and name the
 * violated ones and those that they conflict with. Returns 2: they conflict, which is proved; 1:
 * they do nearby; 0: no conflict was found; -1: memory. only_proof: 1 and its message are
 * omitted. */
int perp__plan_explain(const perp__program *hard, const perp__program_options *options,
                       const perp__ipm_options *ipm, int only_proof, perp_diag *diag);

/* Sides ---------------------------------------------------------------------------------------- */

/* Neither side of a pair is held: the pair is open, or relaxed. */
enum { PERP__SIDE_OPEN = 2, PERP__SIDE_RELAXED = 3 };

/* Which side of each pair is held at 0: side[i * K + k] is 0, 1 or open. */
typedef struct perp__sides {
    perp__program *program;
    signed char *side;
    perp__bounds bound; /* with sides fixed, by perp__sides_fix */
} perp__sides;

/* The value of a side of a pair at step k, in the program's unit of it. r: rows' values. */
double perp__side_value(const perp__program *program, const perp__plan_pair *pair, int side, int k,
                        const double *w, const double *r);
/* What is much of the first side, in this unit. */
double perp__pair_scale(const perp__program *program, const perp__plan_pair *pair);

perp__sides *perp__sides_create(perp__arena *arena, perp__program *program); /* NULL: memory */
/* Hold the smaller side of every pair at w, p. r: rows' values. */
void perp__sides_choose(perp__sides *sides, const double *w, const double *r);
/* Give the pairs whose larger side is at most tol another treatment: open, or relaxed. How many. */
int perp__sides_treat(perp__sides *sides, const double *w, const double *r, double tol,
                      int treatment);
/* The program's bounds with the sides fixed. */
const perp__bounds *perp__sides_fix(perp__sides *sides);

#endif
