/* Checks of a plan by code that shares nothing with its solution: the conditions as written in the
 * model are evaluated from the model's own expressions, step by step. */

#ifndef PERP_SRC_PLAN_VERIFY_H
#define PERP_SRC_PLAN_VERIFY_H

#include "plan/program.h"

/* Errors, each on its own condition's scale (docs/adr/008-verdicts.md). */
typedef struct perp__plan_check {
    double defect;     /* of equations */
    double pairs;      /* of the pairs, and the bounds of friction cones */
    double bounds;     /* ranges of states, vars, inputs and free values */
    double conditions; /* of the plan block */
    int worst_at;      /* where the worst of all stands in the model's text, or -1 */
    int worst_step;
    double worst;
} perp__plan_check;

/* residual: K, nullable: the worst of each step. Returns 0 when memory is out. */
int perp__plan_verify(const perp__program *program, const double *w, const double *p,
                      perp__plan_check *check, double *residual);

/* A condition that no plan satisfies since it is violated at the begin of the plan, by states,
 * parameters and a time that are all given there, beyond tol; by how much in *off. Its number; -1:
 * there is none; -2: memory. w, p: any point. */
int perp__plan_broken_start(const perp__program *program, const double *w, const double *p,
                            double tol, double *off);

/* The model's symbols at a point of the step before a node, in the meaning of a table's rows; node
 * 0: at the start. symbol: nsymbol, and room for one more value for each `param` line of the block;
 * value: the graph's nodes. */
void perp__plan_row_symbols(const perp__program *program, const double *w, const double *p,
                            int node, int point, double *symbol, double *value);

/* The same where a phase begins, behind its links: states and parameters. */
void perp__plan_begin_symbols(const perp__program *program, const double *w, const double *p,
                              int phase, double *symbol, double *value);

#endif
