/// perp/sweep.h - the same model at many points: parameter studies, tolerances, designs of experiments; runs, plans or identifications.
///
/// A sweep is a numbered list of jobs. What job i is follows from the sweep's options and i alone, its random numbers too
/// (counter-based: Salmon and others, Parallel random numbers: as easy as 1, 2, 3, 2011), so jobs may be done in any order, on any
/// number of threads, processes or machines, and again: the numbers are the same to the last bit. Of each run only what is asked for
/// is kept. Typical use: options, create, run with a function that takes the results, destroy.

#ifndef PERP_SWEEP_H
#define PERP_SWEEP_H

#include "perp/identify.h"
#include "perp/plan.h"
#include "perp/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How axes with a distribution are drawn: the list is here.
#define PERP_DESIGN_LIST(X)                                                                        \
    X(PERP_DESIGN_RANDOM, "random", "independent draws")                                           \
    X(PERP_DESIGN_LHS, "lhs", "Latin hypercube: one draw in each of as many strata of each axis")  \
    X(PERP_DESIGN_SOBOL, "sobol", "Sobol's sequence, shifted by the seed: fills the space evenly") \
    X(PERP_DESIGN_SALTELLI, "saltelli",                                                            \
      "for Sobol's indices: two points of Sobol's sequence and, for each axis, the first with "    \
      "that axis of the second")

typedef enum perp_design {
#define PERP_DESIGN_ENUM(name, word, text) name,
    PERP_DESIGN_LIST(PERP_DESIGN_ENUM)
#undef PERP_DESIGN_ENUM
        PERP_DESIGN_COUNT
} perp_design;

PERP_API const char *perp_design_name(perp_design design);
PERP_API const char *perp_design_summary(perp_design design);
PERP_API perp_design perp_design_find(const char *name);

/// What is done at each point: the list is here.
#define PERP_SWEEP_TASK_LIST(X)                                                                    \
    X(PERP_SWEEP_SIMULATE, "simulate", "a run")                                                    \
    X(PERP_SWEEP_PLAN, "plan", "a plan, by the model's plan block")                                \
    X(PERP_SWEEP_IDENTIFY, "identify", "an identification from the same recorded runs")

typedef enum perp_sweep_task {
#define PERP_SWEEP_TASK_ENUM(name, word, text) name,
    PERP_SWEEP_TASK_LIST(PERP_SWEEP_TASK_ENUM)
#undef PERP_SWEEP_TASK_ENUM
        PERP_SWEEP_TASK_COUNT
} perp_sweep_task;

PERP_API const char *perp_sweep_task_name(perp_sweep_task task);
PERP_API const char *perp_sweep_task_summary(perp_sweep_task task);
PERP_API perp_sweep_task perp_sweep_task_find(const char *name);

typedef struct perp_sweep_options {
    size_t size; ///< set by the default; says which fields the caller has
    /// What varies: "NAME=LOW:HIGH:N" (N points with both ends), "NAME=A,B,C", "NAME=LOW:HIGH" (uniform), or
    /// "NAME=DISTRIBUTION(..)": uniform(low, high), loguniform(low, high), normal(mean, sd), lognormal(median, sd of the
    /// logarithm), triangular(low, mode, high). NAME is what perp_model_set takes. Points of several lists are combined with each other, and each
    /// combination with every sample: the same samples, so that differences between points are not chance.
    const char *const *vary;
    int nvary;
    /// What is kept: "final" (states, vars and outputs at the end), "final(C)", "max(C)", "min(C)", "mean(C)" and "rms(C)" over
    /// time (trapezoids), "first(C where D = 2)" (also < <= > >=; between rows linear): C, D are columns of a row, which of a plan is a node. Of
    /// plans also "cost", "horizon" and the name of a free parameter; of identifications, which have no rows, the name P of an estimated
    /// parameter, "std_error(P)", "low(P)", "high(P)" and "noise_factor".
    const char *const *keep;
    int nkeep; ///< default 0: final; of plans and identifications all single numbers
    long
        samples; ///< draws of the axes with distributions, in design saltelli each of as many jobs as axes and two; default 1000
    perp_design design;      ///< default random
    unsigned long long seed; ///< default 1
    double from, to, step;   ///< of the runs [s]; default NaN: what the model says at each point
    perp_integrator
        integrator; ///< default PERP_INTEGRATOR_COUNT: the model's, else that of perp_simulation_options_fill
    /// Makes the model anew with these values, besides being what perp_sweep_create was given; called by several threads at once. Needed where a
    /// size, an index or an `if` depends on something that varies; NULL, the default: that is refused. Columns are those of job 0: a point that
    /// lacks one of them, as x[5] with n = 4, is refused.
    perp_status (*read)(void *context, const perp_setting *set, int nset, perp_model **model,
                        perp_diag *diag);
    void *read_context;
    perp_sweep_task task; ///< default PERP_SWEEP_SIMULATE
    const perp_plan_options
        *plan; ///< of plans, at all points; default NULL: what the model says at each
    const perp_identify_options
        *identify; ///< of identifications, at all points; default NULL: what the model says at each
    const perp_dataset *
        data; ///< of identifications, and only of these; must outlive the sweep, as what plan and identify point to
} perp_sweep_options;

PERP_API void perp_sweep_options_fill(perp_sweep_options *options, size_t size);
static inline perp_sweep_options perp_sweep_options_default(void)
{
    perp_sweep_options options;
    perp_sweep_options_fill(&options, sizeof options);
    return options;
}

/// What became of a job. Pointers are the sweep's, for as long as the function that is given them runs.
typedef struct perp_sweep_result {
    size_t size; ///< says which fields the library has
    long long job;
    const double *
        value; ///< perp_sweep_columns; what is kept is NaN where the run was not verified to its end, or has none
    perp_status status; ///< PERP_OK, or why the point was refused
    int verified;       ///< 1: every step verified, the plan holds, there are estimates
    const char *reason; ///< why it is not verified, one line; "" where it is
    long steps;         ///< verified; of a plan iterations, of an identification evaluations
    double
        error; ///< the worst, each condition on its own scale; of an identification what is left over, in scales (noise_factor)
    /// In a word: "verified", "no solution" or "refused"; of a plan that was sought perp_plan_outcome_name; "identified", or "not
    /// identifiable" where a parameter is not.
    const char *outcome;
} perp_sweep_result;

typedef struct perp_sweep perp_sweep;

/// A sweep of this model, as it is set now. Job 0 is prepared once, to see that its run can begin and has the columns.
///
/// @param model    copied
/// @param options  nullable, but without `vary` there is nothing to do
/// @return PERP_OK; PERP_ERR_ARG (diag says which text is wrong and what was expected; more than 2^53 jobs; data without the task identify
///         or the other way round); what perp_simulation_create, perp_plan_create or perp_identify_options_fill says of job 0;
///         PERP_ERR_MEMORY
PERP_API perp_status perp_sweep_create(const perp_model *model, const perp_sweep_options *options,
                                       perp_sweep **sweep, perp_diag *diag);
PERP_API void perp_sweep_destroy(perp_sweep *sweep);

/// How many jobs; 0 for NULL.
PERP_API long long perp_sweep_jobs(const perp_sweep *sweep);

/// What is done at each point; PERP_SWEEP_SIMULATE for NULL.
PERP_API perp_sweep_task perp_sweep_get_task(const perp_sweep *sweep);

/// Columns of a result: those that vary, in their order, then what is kept ("max(x)").
PERP_API int perp_sweep_columns(const perp_sweep *sweep);
PERP_API int perp_sweep_varied(const perp_sweep *sweep); ///< how many of them vary
PERP_API const char *perp_sweep_column_name(const perp_sweep *sweep, int column);
PERP_API const char *perp_sweep_column_unit(const perp_sweep *sweep, int column);

/// Where a job is.
///
/// @param value  perp_sweep_varied entries
/// @return PERP_OK; PERP_ERR_ARG (no such job, or NULL)
PERP_API perp_status perp_sweep_point(const perp_sweep *sweep, long long job, double *value);

/// Takes a result; calls do not overlap. PERP_OK to go on; anything else ends the sweep with it, once the jobs in hand are done
/// and taken.
typedef perp_status (*perp_sweep_sink)(void *context, const perp_sweep_result *result);

typedef struct perp_sweep_run_options {
    size_t size;
    int threads;       ///< default 0: one for each processor
    int shard, shards; ///< only jobs i with i mod shards = shard; default 0 of 1
    int (*skip)(void *context,
                long long job); ///< nullable; is this job done already? Asked in the order of jobs
    int (*stop)(
        void *
            context); ///< nullable; asked before each job: 1 ends the sweep, once the jobs in hand are done and taken
    /// 1: jobs are shared with the processes that have joined (perp/ranks.h). All of them call perp_sweep_run for the same sweep; rank 0 hands out jobs and
    /// alone has results, `skip` and a shard; the others return when there are no more jobs. `threads` is then of each process, by default 1. Default 0
    int ranks;
} perp_sweep_run_options;

/// How far a job that is done may be ahead of one that is not.
enum { PERP_SWEEP_WINDOW = 4096 };

PERP_API void perp_sweep_run_options_fill(perp_sweep_run_options *options, size_t size);
static inline perp_sweep_run_options perp_sweep_run_options_default(void)
{
    perp_sweep_run_options options;
    perp_sweep_run_options_fill(&options, sizeof options);
    return options;
}

/// Do the jobs. Results come as they are done, less than PERP_SWEEP_WINDOW jobs (of the shard) apart; memory does not grow with their number.
///
/// @param options  nullable
/// @param context  for sink, skip and stop
/// @return PERP_OK; PERP_ERR_ARG; PERP_ERR_STOPPED; what the sink returned; PERP_ERR_MEMORY; PERP_ERR_UNAVAILABLE (another process is not
///         there any more: perp_ranks_abort is what is left)
PERP_API perp_status perp_sweep_run(const perp_sweep *sweep, const perp_sweep_run_options *options,
                                    perp_sweep_sink sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
