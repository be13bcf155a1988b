/* Jobs, handed out and taken back: by threads (sweep.c), and by other processes (ranks.c). */

#ifndef PERP_SRC_JOBS_H
#define PERP_SRC_JOBS_H

#include "perp/sweep.h"
#include "sweep/keep.h"

/* What does jobs, one at a time. */
typedef struct perp__worker {
    perp_model *model;
    perp__kept *kept;
    double *value, *row;
    int nrow;
    perp_diag diag;
} perp__worker;

int perp__worker_open(perp__worker *worker, const perp_sweep *sweep); /* 0: memory is out */
void perp__worker_clear(perp__worker *worker);
/* What the result points to is the worker's until its next job. */
perp_sweep_result perp__do_job(const perp_sweep *sweep, perp__worker *worker, long long job);

/* The jobs of a run, in the process that has the sink. */
typedef struct perp__jobs perp__jobs;
int perp__jobs_columns(const perp__jobs *jobs);
int perp__jobs_take(perp__jobs *jobs, int most, long long *job); /* how many may be begun now */
void perp__jobs_give(perp__jobs *jobs, const perp_sweep_result *result);
long long perp__jobs_left(perp__jobs *jobs); /* to be begun; 0 also when the run is to end */
void perp__jobs_fail(perp__jobs *jobs, perp_status status);

/* ranks.c: rank 0 hands out jobs until there are none and all that were begun are given. The others
 * do them. PERP_OK; PERP_ERR_MEMORY; PERP_ERR_UNAVAILABLE: a process is not there any more. */
perp_status perp__ranks_lead(perp__jobs *jobs);
perp_status perp__ranks_follow(const perp_sweep *sweep, int threads, int (*stop)(void *context),
                               void *context);

#endif
