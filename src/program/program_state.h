/* Internal to src/program: a program while it is solved. programs.c is its public face. */

#ifndef PERP_SRC_PROGRAM_STATE_H
#define PERP_SRC_PROGRAM_STATE_H

#include "perp/program.h"
#include "program/callbacks.h"
#include "program/functions.h"
#include "program/judge.h"
#include "program/nl.h"

struct perp_program {
    perp__nl *nl;
    perp_program_class kind;
    perp_program_options options;
    int objective; /* which is solved for; -1: none */
    /* of the objective: -1 if it is maximised, so that sign * objective is minimised */
    double sign;
    double *x, *dual;
    perp_program_proof proof;
    unsigned char *row_conflicts,
        *bound_conflicts;     /* ncon, nvar: what stands in the proof of infeasibility */
    double *ray;              /* nvar */
    perp_program_result last; /* of the last solve */
    perp__judge judge;
    perp__functions functions;
    int has_functions;
    perp__arena arena;
};

/* formulas.c: a program as perp_program_create is given it. NULL: *status says why. */
perp__nl *perp__nl_of_formulas(const perp_program_formulas *formulas, const char *name,
                               perp_status *status, perp_diag *diag);

/* classes.c: what the program is, for the objective that is chosen. Returns 0: memory. */
int perp__program_classify(perp_program *p);

/* programs.c: judge p->x, and put errors and the objective into the result. Do its conditions
 * hold? */
void perp__program_check(perp_program *p, perp_program_result *result);
int perp__program_holds(const perp_program *p, const perp_program_result *result);

/* Each leaves its answer in p->x and p->dual, judged; an outcome of limit where it found none.
 * linear.c: a linear program by Clp. PERP_ERR_UNAVAILABLE without it. */
perp_status perp__program_solve_linear(perp_program *p, perp_program_result *result);
/* Was it shown that no point satisfies the affine rows, bounds and pairs, or one other row within
 * the bounds? holds: p->x satisfies them, on the scale of terms. Then this is checked only if some
 * affine row violates its own constant. Returns -1: memory. */
int perp__program_is_infeasible(perp_program *p, int holds);
/* global.c: the best point over all choices of sides, with p->proof, from the one that was
 * found. */
perp_status perp__program_prove(perp_program *p, perp_program_result *result);
/* equilibrium.c: a complementarity problem, by the methods of perp/lcp.h and perp/mcp.h. */
perp_status perp__program_solve_equilibrium(perp_program *p, perp_program_result *result);
/* Does the verdict of perp/mcp.h take p->x, too? Rows of programs hold beside their terms, whatever
 * data these hide. Else: limit. */
perp_status perp__program_judge_equilibrium(perp_program *p, perp_program_result *result);
/* search.c: any program by the search of plans. */
perp_status perp__program_search(perp_program *p, perp_program_result *result);

#endif
