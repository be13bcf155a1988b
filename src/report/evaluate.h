/* Expressions of a model at the rows of a run. */

#ifndef PERP_SRC_EVALUATE_H
#define PERP_SRC_EVALUATE_H

#include "model/instant.h"
#include "model/tape.h"
#include "perp/trajectory.h"

typedef struct perp__evaluation {
    const perp_model *model;
    const perp_trajectory *run;
    perp__reading reading;
    perp__tape tape, inputs;
    double *ws;
    const double **column[PERP_SYMBOL_KINDS],
        *time;     /* of states, vars, inputs; NULL where the run has none */
    double *input; /* at the row, then before it */
    double step;   /* the run's, NaN if it does not say */
    int row, last; /* the row in hand, and the one before the step; -1: none */
    int n;
    unsigned char *needs_before; /* per expression: it needs the step before */
    int hint;
} perp__evaluation;

/* Prepare n expressions; clear in every case. Returns 0 when memory is out. */
int perp__rows_make(perp__evaluation *rows, const perp_model *model, const perp_trajectory *run,
                    int time, perp__reading reading, const perp_expr *expressions, int n);
void perp__rows_clear(perp__evaluation *rows);

/* Their values at row i; NaN if a needed value is not known: at the first row the value before it,
 * and a run without all its rows. */
void perp__rows_get(perp__evaluation *rows, int i, double *values);

#endif
