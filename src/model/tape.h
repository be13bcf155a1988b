/* A tape: expressions flattened to a list of instructions, evaluated for one point or for many at
 * once. Instructions of one kind follow each other as far as what they are made of allows: a run.
 *
 * The workspace has one slot per value. Slot s < first is symbol s, which the caller writes; from
 * `first` on come the tape's constants, then its results. Several tapes can share one workspace,
 * and so the symbols, by starting where the last one ends. For n points slot s of point p is ws[s *
 * n + p]. So the inner loop runs over the points. */

#ifndef PERP_SRC_TAPE_H
#define PERP_SRC_TAPE_H

#include "base/holds.h"
#include "model/graph.h"

typedef struct perp__instruction {
    int op, a, b; /* slots of the operands */
    int run;      /* how many from here on have this op */
} perp__instruction;

typedef struct perp__tape {
    int first, nconst, ncode, nout;
    double *constant;
    perp__instruction *code;
    int *out; /* slot of each root */
    /* the instructions before `cut` and from there on as machine code (machine.h); NULL: they are
     * interpreted */
    void (*machine[2])( double *);
    int cut;
} perp__tape;

/* Compile the roots for a workspace where slots below `first` are symbols or belong to others.
 * Returns 0 when memory is out. given (by node, nullable): the slot where another tape leaves its
 * value, or -1. Instructions of the first `early` roots come first. leaves (nullable): the slots
 * where this tape leaves its values. */
int perp__tape_compile(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                       int nroots, int first);
int perp__tape_compile_upon(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                            int nroots, int early, int first, const int *given, int *leaves);
void perp__tape_clear(perp__tape *tape);

/* The first slot after those of the tape. */
int perp__tape_end(const perp__tape *tape);

/* Write the constants into a workspace; once, before the first evaluation. */
void perp__tape_prepare(const perp__tape *tape, double *ws, int n);

void perp__tape_eval(const perp__tape *tape, double *ws);

/* The instructions from `first` on, before `end`, both 0, all, or how many the early roots take:
 * what precedes them was evaluated for the same symbols. */
void perp__tape_eval_part(const perp__tape *tape, double *ws, int first, int end);

/* After an evaluation: all values, where machine code left some out. */
void perp__tape_complete(const perp__tape *tape, double *ws);

/* How many instructions make the first n roots and all that they are made of. */
int perp__tape_instructions(const perp__tape *tape, int n);

void perp__tape_eval_many(const perp__tape *tape, double *ws, int n);

/* Evaluate and gather the roots of one point. */
void perp__tape_get(const perp__tape *tape, double *ws, double *out);

/* The composition of the values at one point, after its evaluation (docs/adr/008-verdicts.md). For
 * each symbol, constant and result it is the sum of its |terms| and the first-order bound of its
 * rounding, in units of 2^-53. */
typedef struct perp__terms {
    double scale, rounding;
} perp__terms;

/* term[0 .. first-1] are the caller's, for the symbols; the rest is written. Where before[s] >= 0,
 * s - before[s] is one term: an increment, of two symbols (nullable: there are none). */
void perp__tape_terms(const perp__tape *tape, const double *ws, const int *before,
                      perp__terms *term);

#endif
