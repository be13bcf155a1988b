/* Internal: what the estimators share. identify.c checks options and data and makes a study of them; an estimator
 * searches the box of the parameters for the smallest cost; report.c says what the answer is worth. */

#ifndef PERP_SRC_IDENTIFY_H
#define PERP_SRC_IDENTIFY_H

#include "base/base.h"
#include "perp/identify.h"

/* A measured column: where it stands in each run's table, and in a row of the simulation. */
typedef struct perp__measured {
    const char *name, *unit;
    perp_symbol_kind kind;
    int index;     /* among the model's symbols of this kind */
    int sim;       /* column of a simulation's row */
    double scale;  /* a residual is (predicted - measured) / scale */
    int has_noise; /* scale is the noise of a sample */
} perp__measured;

/* One run. Column numbers are those of its table; -1: not there. */
typedef struct perp__recording {
    const perp_trajectory *table;
    const char *name;
    int rows;
    const double *t;
    double interval;        /* between rows [s] */
    const double **state;   /* per state of the model: its column, or NULL */
    const double **measure; /* per measured column: samples, or NULL */
} perp__recording;

typedef struct perp__study {
    const perp_model *model;
    const perp_dataset *data;
    perp_identify_options options;
    int np, nm, nrun, nstate;
    int *param;             /* indices among the model's parameters */
    double *lo, *hi, *from; /* np: range, and the model's own values */
    char *log_scale;        /* np: searched in the logarithm */
    char *
        depends; /* nstate: the initial value is written in terms of an estimated parameter: not taken from the data */
    perp__measured *measured;
    perp__recording *run;
    int threads;
    perp_diag *diag;
} perp__study;

/* An estimator fills value, starts, cost, the residuals at the estimate and their Jacobian. */
typedef struct perp__answer {
    double *theta; /* np */
    long nres;
    double *residual; /* nres, scaled; NaN: a missing sample */
    double *jacobian; /* nres x np, column-major, in units of the ranges (z) */
    double cost;
    long evaluations;
} perp__answer;

typedef struct perp__estimator {
    const char *name;
    perp_status (*run)(perp__study *study, perp_identification *result);
} perp__estimator;

#define PERP_ESTIMATOR(name, suffix, summary) extern const perp__estimator perp__estimator_##name;
#include "perp/estimators.def"
#undef PERP_ESTIMATOR

#endif
