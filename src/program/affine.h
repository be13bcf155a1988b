/* The affine rows of a program over its variables as a linear program, its pairs put on one face or another, and what can be proved of
 * it. */

#ifndef PERP_SRC_PROGRAM_AFFINE_H
#define PERP_SRC_PROGRAM_AFFINE_H

#include "external/lp.h"
#include "program/program_state.h"

/* The sides of a proof differ by this part of all terms, which is more than their rounding; of an optimum, agree to it. */
#define PERP_PROOF_MARGIN 1e-9

/* The affine rows of a program over its variables, as Clp has them. */
typedef struct perp__affine {
    const perp_program *p;
    perp__lp lp;
    int *row_of; /* ncon: the row of the linear program, or -1 */
    double *x, *price, *ray;
    double *at_zero; /* the rows at x = 0 */
} perp__affine;

/* 0: memory. */
int perp__affine_build(perp__affine *a, perp_program *p, perp__arena *arena);

/* Put the pair of row i on one of its faces: the variable at its lower bound, at its upper, or the row at 0. 0: it has no such face. */
enum { PERP__AT_LO, PERP__AT_HI, PERP__ROW_ZERO, PERP__NFACE };
int perp__affine_put_on_face(perp__affine *a, int i, int face);
void perp__affine_take_off_face(perp__affine *a, int i);

/* Note the rows and bounds that stand in a proof with these multipliers of its rows. */
void perp__affine_blame(const perp__affine *a, const double *u);

/* sum_i u_i A_ij with the size of its terms; *is_exact where nothing was rounded. */
double perp__lp_column_sum(const perp__lp *lp, int j, const double *u, double *terms,
                           int *is_exact);
/* The least of s x for lo <= x <= hi; s is known up to `slack`. */
double perp__lp_least_of(double s, double slack, double lo, double hi);
/* Let lo and hi (ncolumn), the bounds as given, have those that follow from rows where they are open, widened by rounding. 0: memory. */
int perp__lp_follow_rows(const perp__lp *lp, double *lo, double *hi);
/* The prices of the linear program whose rows may be missed, at a cost of 1 for each unit of a miss. u: nrow. */
perp_status perp__lp_price_misses(const perp__lp *lp, double *u);
/* Clp says that there is no point: a proof is sought in these prices. u: nrow. 1: it is one; 0: it is not; -1: memory. */
int perp__lp_is_empty(const perp__lp *lp, double *u);

#endif
