/* Internal: the state of a run, shared by the run itself (simulate.c) and the checks before one
 * (check.c). */

#ifndef PERP_SRC_RUN_H
#define PERP_SRC_RUN_H

#include "simulate/sensitivity.h"
#include "simulate/step.h"

struct perp_simulation {
    const perp_model *model;
    perp_simulation_options options;
    perp__step step;
    perp__sensitivity *sensitivity; /* NULL: derivatives are not followed */
    long nstep;                     /* whole steps that fit */
    long done;
    double *before;    /* symbols as they were before the step: given back when it fails */
    double *beginning; /* symbols at the beginning of a part of it, for when it is taken again */
    double residual;
    perp_simulation_summary summary;
    long (*sides)[4];
    const char **column_name, **column_unit;
    int ncolumn;
};

/* The time after k whole steps. */
double perp__run_time(const perp_simulation *sim, long k);

/* Put the times and table values of a step from t0 to t1 into the workspace; the states become pre
 * states. */
void perp__run_begin_step(perp_simulation *sim, double t0, double t1, double h);

/* The model's symbols before the first step: parameters and initial states, NaN for the others. */
void perp__run_initial_symbols(const perp_simulation *sim, double *symbol);

/* The initial row: states known, nothing else. */
void perp__run_set_initial(perp_simulation *sim);

#endif
