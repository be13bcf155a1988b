/* Do the conditions of a program hold at a point? From the file's own expressions by a tape of
 * their own, each on the scale of its own terms (docs/adr/008-verdicts.md): shares nothing with the
 * methods. */

#ifndef PERP_SRC_PROGRAM_JUDGE_H
#define PERP_SRC_PROGRAM_JUDGE_H

#include "model/tape.h"
#include "program/nl.h"

typedef struct perp__judge {
    const perp__nl *nl;
    perp__tape tape;           /* rows, then the objectives */
    double *ws, *size, *given; /* given: by callbacks */
    perp__terms *term;
} perp__judge;

/* Errors, each on its own condition's scale. */
typedef struct perp__judgement {
    double rows, pairs, bounds; /* of rows, of pairs, of variables */
    double worst;
    int worst_row, worst_variable; /* where the worst is; -1 */
} perp__judgement;

/* 0: memory. The arrays are of the arena; the tape is cleared by perp__judge_clear. */
int perp__judge_create(perp__judge *judge, perp__arena *arena, const perp__nl *nl);
void perp__judge_clear(perp__judge *judge);

perp__judgement perp__judge_point(const perp__judge *judge, const double *x);
/* The value of an objective at the point that was judged last. */
double perp__judge_objective(const perp__judge *judge, int objective, const double *x);

#endif
