/* The affine rows of a program over its variables as a linear program, its pairs put on one face or
 * another. */

#ifndef PERP_SRC_PROGRAM_AFFINE_H
#define PERP_SRC_PROGRAM_AFFINE_H

#include "plan/farkas_lp.h"
#include "program/program_state.h"

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

/* Put the pair of row i on one of its faces: the variable at its lower bound, at its upper, or the
 * row at 0. 0: it has no such face. */
enum { PERP__AT_LO, PERP__AT_HI, PERP__ROW_ZERO, PERP__NFACE };
int perp__affine_put_on_face(perp__affine *a, int i, int face);
void perp__affine_take_off_face(perp__affine *a, int i);

/* Note the rows and bounds that stand in a proof with these multipliers of its rows. */
void perp__affine_blame(const perp__affine *a, const double *u);

#endif
