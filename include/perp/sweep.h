/// perp/sweep.h - the same model at many points: parameter studies, tolerances, designs of
/// experiments. Each point is a run, a plan or an identification.
///
/// A sweep is a numbered list of jobs. Job i depends on the sweep's options and i alone. So do its
/// random numbers (counter-based: Salmon and others, Parallel random numbers: as easy as 1, 2, 3,
/// 2011). Jobs may be done in any order, on any number of threads, processes or machines, and
/// again: the numbers are the same to the last bit. Only the requested results of each run are
/// kept.
///
/// Set options, create, run with a function that takes the results, destroy.

#ifndef PERP_SWEEP_H
#define PERP_SWEEP_H

#include "perp/identify.h"
#include "perp/plan.h"
#include "perp/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The designs: how axes with a distribution are drawn.
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

/// The tasks: what is done at each point.
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
    size_t size; ///< set by the default; tells which fields the caller has
    /// What varies: "NAME=LOW:HIGH:N" (N points with both ends), "NAME=A,B,C", "NAME=LOW:HIGH"
    /// (uniform), or "NAME=DISTRIBUTION(..)".
    ///
    /// Distributions are uniform(low, high), loguniform(low, high), normal(mean, sd),
    /// lognormal(median, sd of the logarithm), triangular(low, mode, high). NAME is as for
    /// perp_model_set. Points of several lists are combined with each other, and each combination
    /// with every sample. The samples are the same, so chance does not contribute to differences
    /// between points.
    const char *const *vary;
    int nvary;
    /// Results to keep, of columns C and D of a row (of a plan: a node):
    ///
    /// - "final": states, vars and outputs at the end; "final(C)";
    /// - "max(C)", "min(C)", "mean(C)" and "rms(C)" over time (trapezoids);
    /// - "first(C where D = 2)", also < <= > >=; linear between rows;
    /// - of plans also "cost", "horizon" and the name of a free parameter;
    /// - of identifications, which have no rows, the name P of an estimated parameter,
    ///   "std_error(P)", "low(P)", "high(P)" and "noise_factor".
    const char *const *keep;
    int nkeep; ///< default 0: final; of plans and identifications all single numbers
    /// Draws of axes with distributions; of saltelli each takes (axes + 2) jobs; default 1000
    long samples;
    perp_design design;      ///< default random
    unsigned long long seed; ///< default 1
    double from, to, step;   ///< of the runs [s]; default NaN: the model's at each point
    /// Default PERP_INTEGRATOR_COUNT: the model's, else that of perp_simulation_options_fill
    perp_integrator integrator;
    /// Reads the model anew with these values. The other arguments are as for perp_sweep_create.
    /// Several threads call it at once. It is needed if a size, an index or an `if` depends on a
    /// varied quantity. NULL, the default: that is refused. Columns are those of job 0. A point
    /// that lacks one of them is refused, such as x[5] with n = 4.
    perp_status (*read)(void *context, const perp_setting *set, int nset, perp_model **model,
                        perp_diag *diag);
    void *read_context;
    perp_sweep_task task; ///< default PERP_SWEEP_SIMULATE
    const perp_plan_options *plan; ///< of plans, at all points; default NULL: the model's at each
    /// Of identifications, at all points; default NULL: the model's at each
    const perp_identify_options *identify;
    /// Only of identifications; must outlive the sweep, like the targets of plan and identify
    const perp_dataset * data;
} perp_sweep_options;

PERP_API void perp_sweep_options_fill(perp_sweep_options *options, size_t size);
static inline perp_sweep_options perp_sweep_options_default(void)
{
    perp_sweep_options options;
    perp_sweep_options_fill(&options, sizeof options);
    return options;
}

/// The result of a job. The sweep owns the pointers, valid while the function that receives them
/// runs.
typedef struct perp_sweep_result {
    size_t size; ///< tells which fields the library has
    long long job;
    /// Perp_sweep_columns; NaN if the run was not verified to its end, or has no such result
    const double * value;
    perp_status status; ///< PERP_OK, or why the point was refused
    int verified;       ///< 1: every step verified, the plan holds, there are estimates
    const char *reason; ///< one line; "" if it is verified
    long steps;         ///< verified steps; of a plan iterations, of an identification evaluations
    /// The worst, each condition on its own scale; of an identification the residual in scales
    /// (noise_factor)
    double error;
    /// "verified", "no solution" or "refused". Of a plan that was sought perp_plan_outcome_name.
    /// "identified", or "not identifiable" if a parameter is not.
    const char *outcome;
} perp_sweep_result;

typedef struct perp_sweep perp_sweep;

/// A sweep of this model with its present values. Job 0 is prepared once, to check that its run can
/// begin and has the columns.
///
/// @param model    copied
/// @param options  nullable, but without `vary` there is nothing to do
/// @return PERP_OK; PERP_ERR_MEMORY; PERP_ERR_ARG (diag names the wrong text and what was expected;
///         more than 2^53 jobs; data without the task identify or vice versa); the status of
///         perp_simulation_create, perp_plan_create or perp_identify_options_fill for job 0
PERP_API perp_status perp_sweep_create(const perp_model *model, const perp_sweep_options *options,
                                       perp_sweep **sweep, perp_diag *diag);
PERP_API void perp_sweep_destroy(perp_sweep *sweep);

/// The number of jobs; 0 for NULL.
PERP_API long long perp_sweep_jobs(const perp_sweep *sweep);

/// The task at each point; PERP_SWEEP_SIMULATE for NULL.
PERP_API perp_sweep_task perp_sweep_get_task(const perp_sweep *sweep);

/// Columns of a result: the varied ones in their order, then the results ("max(x)").
PERP_API int perp_sweep_columns(const perp_sweep *sweep);
PERP_API int perp_sweep_varied(const perp_sweep *sweep); ///< the number of varied columns
PERP_API const char *perp_sweep_column_name(const perp_sweep *sweep, int column);
PERP_API const char *perp_sweep_column_unit(const perp_sweep *sweep, int column);

/// The point of a job.
///
/// @param value  perp_sweep_varied entries
/// @return PERP_OK; PERP_ERR_ARG (no such job, or NULL)
PERP_API perp_status perp_sweep_point(const perp_sweep *sweep, long long job, double *value);

/// Takes a result; calls do not overlap. Return PERP_OK to continue. Anything else ends the sweep
/// with it, after the jobs that have begun are done and taken.
typedef perp_status (*perp_sweep_sink)(void *context, const perp_sweep_result *result);

typedef struct perp_sweep_run_options {
    size_t size;
    int threads;       ///< default 0: one for each processor
    int shard, shards; ///< only jobs i with i mod shards = shard; default 0 of 1
    /// Nullable; 1 if this job is already done. Asked in the order of jobs
    int (*skip)(void *context, long long job);
    /// Nullable; asked before each job: 1 ends the sweep after the jobs that have begun
    int (*stop)( void * context);
    /// 1: the processes that have joined share the jobs (perp/ranks.h). All of them call
    /// perp_sweep_run for the same sweep. Rank 0 hands out jobs. It alone has results, `skip` and a
    /// shard. The others return after the last job. `threads` is then of each process, by
    /// default 1. Default 0.
    int ranks;
} perp_sweep_run_options;

/// A finished job is less than this ahead of an unfinished one.
enum { PERP_SWEEP_WINDOW = 4096 };

PERP_API void perp_sweep_run_options_fill(perp_sweep_run_options *options, size_t size);
static inline perp_sweep_run_options perp_sweep_run_options_default(void)
{
    perp_sweep_run_options options;
    perp_sweep_run_options_fill(&options, sizeof options);
    return options;
}

/// Do the jobs. Results arrive in the order of completion, less than PERP_SWEEP_WINDOW jobs (of the
/// shard) apart. Memory does not grow with their number.
///
/// @param options  nullable
/// @param context  for sink, skip and stop
/// @return PERP_OK; PERP_ERR_ARG; PERP_ERR_STOPPED; the value of the sink; PERP_ERR_MEMORY;
///         PERP_ERR_UNAVAILABLE (another process has gone; call perp_ranks_abort)
PERP_API perp_status perp_sweep_run(const perp_sweep *sweep, const perp_sweep_run_options *options,
                                    perp_sweep_sink sink, void *context);

#ifdef __cplusplus
}
#endif
#endif
