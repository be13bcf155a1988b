/* Expressions of a model at the rows of a run. */

#ifndef PERP_SRC_EVALUATE_H
#define PERP_SRC_EVALUATE_H

#include "model/model.h"
#include "model/tape.h"
#include "perp/trajectory.h"

/* What a bare name of a discrete model means: the value before the step, or after it. */
typedef enum perp__instant { PERP__IN_STEP, PERP__AFTER_STEP } perp__instant;

typedef struct perp__rows {
    const perp_model *model;
    const perp_trajectory *run;
    perp__instant instant;
    perp__tape tape, inputs;
    double *ws;
    const double **state, **var, **input, *time; /* columns; NULL where the run has none */
    double step;                                 /* the run's, NaN if it does not say */
    int n;
    unsigned char *needs_before; /* per expression: it needs the step before */
    int hint;
} perp__rows;

/* Prepare n expressions; clear in every case. 0 when memory is out. */
int perp__rows_make(perp__rows *rows, const perp_model *model, const perp_trajectory *run, int time,
                    perp__instant instant, const perp_expr *expressions, int n);
void perp__rows_clear(perp__rows *rows);

/* Their values at row i; NaN where something they need is not known: at the first row what was
 * before it, and in a run of which not every row was kept. */
void perp__rows_get(perp__rows *rows, int i, double *values);

#endif
