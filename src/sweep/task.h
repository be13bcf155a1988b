/* What a job does at its point: a run, a plan or an identification, each with rows over time,
 * single numbers, or both. */

#ifndef PERP_SRC_TASK_H
#define PERP_SRC_TASK_H

#include "perp/sweep.h"

enum { PERP__NUMBER_NAME = 512 };

/* Called with each row in order of time. */
typedef perp_status (*perp__take_row)(void *context, long step, const double *row);

/* How an attempt ended, besides its status. */
typedef struct perp__ending {
    const char *outcome, *reason; /* NULL: as the status and the diag say */
    long steps;
    double error;
} perp__ending;

/* One kind of job; a file each. `of` is what create makes. A column or number out of range has a
 * NULL name. */
typedef struct perp__task {
    perp_status (*create)(const perp_sweep_options *o, const perp_model *model, void **of,
                          perp_diag *diag);
    void (*destroy)(void *of);
    int (*columns)(const void *of);
    const char *(*column)(const void *of, int i);
    const char *(*column_unit)(const void *of, int i);
    /* Name of the i-th number, made in `room`, its unit, and after `run` its value; 0: there is
     * none. */
    int (*number)(const void *of, int i, char room[PERP__NUMBER_NAME], const char **unit,
                  double *value);
    /* PERP_OK: the answer holds. Rows are given where take is not NULL; `last`, of all columns, is
     * the last one. */
    perp_status (*run)(void *of, perp__take_row take, void *context, double *last,
                       perp__ending *ending, perp_diag *diag);
} perp__task;

extern const perp__task perp__task_simulate, perp__task_plan, perp__task_identify;

#endif
