/* Internal to src/plan: a plan while it is solved. plan.c is its public face, solve.c its phases. */

#ifndef PERP_SRC_PLAN_H
#define PERP_SRC_PLAN_H

#include "plan/nlp.h"
#include "plan/verify.h"

struct perp_plan {
    const perp_model *model;
    perp_plan_options options;
    perp__program *program;
    perp__ipm *ipm;
    perp__sides *sides;
    size_t nW, nP, nR;
    double *w, *p, *best_w, *best_p; /* the iterate; the best answer so far */
    double *from_w, *from_p;         /* where a phase starts */
    double *guess_w, *guess_p;       /* from a table */
    int has_guess;
    double *r, *lambda, *lower, *upper, *slope, *size;
    double *residual, *costate; /* K; nx * (K + 1) */
    double *kept[4];            /* the best plan so far: w, p, residual, costate */
    double *symbol, *value;     /* of the model, for rows */
    char **costate_name;        /* nx */
    const char *phase;
    int iterations, stopped;
};

#endif
