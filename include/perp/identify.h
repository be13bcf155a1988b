/// perp/identify.h - parameters of a model from measured motion, and how well the data determine
/// them.
///
/// Given runs of measured columns y_k and a model with parameters theta in a box, find
///
///     min over theta of  sum over runs, rows k and columns j of  ((y_jk(theta) - y_jk) / s_j)^2
///
/// y(theta) is the prediction of the model (method predict: a simulation from the first row of the
/// run), and s_j is the noise of the column. Columns are matched to the model by name. A state's
/// column gives the initial value, an input's column drives the input. States, vars and outputs can
/// be compared.
///
/// The result has statistics of the residuals, and sentences about what the data leave open. A
/// standard error and an interval are there only if they were checked: other starts lead to the
/// same fit, the cost is smooth, and the residuals look like noise. Else a sentence gives the
/// reason.
///
/// Make a dataset, take options from the model, identify, read the result, clear.

#ifndef PERP_IDENTIFY_H
#define PERP_IDENTIFY_H

#include "perp/base.h"
#include "perp/model.h"
#include "perp/simulate.h"
#include "perp/trajectory.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Estimators: PERP_ESTIMATOR_PREDICT and the like.
typedef enum perp_estimator {
#define PERP_ESTIMATOR(name, suffix, summary) PERP_ESTIMATOR_##suffix,
#include "perp/estimators.def"
#undef PERP_ESTIMATOR
    PERP_ESTIMATOR_COUNT
} perp_estimator;

PERP_API const char *perp_estimator_name(perp_estimator estimator);
PERP_API const char *perp_estimator_summary(perp_estimator estimator);
/// PERP_ESTIMATOR_COUNT for an unknown word.
PERP_API perp_estimator perp_estimator_find(const char *name);

/// The source of the derivatives of predictions with respect to parameters.
typedef enum perp_derivatives {
    /// Exact, unless differences over 1e-2 of a range disagree with them: then those
    PERP_DERIVATIVES_AUTO,
    PERP_DERIVATIVES_EXACT,       ///< through the solved steps (perp_simulation_follow)
    PERP_DERIVATIVES_DIFFERENCES, ///< of whole predictions, over 1e-5 or 1e-2 of a range
    PERP_DERIVATIVES_COUNT
} perp_derivatives;

/// "auto", "exact", "differences"; perp_derivatives_find gives PERP_DERIVATIVES_COUNT for an
/// unknown word.
PERP_API const char *perp_derivatives_name(perp_derivatives derivatives);
PERP_API perp_derivatives perp_derivatives_find(const char *name);

/// Recorded runs. Each is a table with a column "t" [s] and columns named as in the model.
typedef struct perp_dataset perp_dataset;

PERP_API perp_status perp_dataset_create(perp_dataset **out);
PERP_API void perp_dataset_destroy(perp_dataset *data);

/// Add a run. The dataset owns the table from now on, also after a failure. Times must be finite
/// and increase by equal steps. No value may be infinite. An empty field or nan is a missing
/// sample.
///
/// @param name  of the table in messages (its file name)
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DATA (diag names the row and column), PERP_ERR_MEMORY
PERP_API perp_status perp_dataset_add(perp_dataset *data, perp_trajectory *table, const char *name,
                                      perp_diag *diag);

/// Add a CSV file ("-": standard input), or all *.csv files of a folder in the order of their
/// names.
PERP_API perp_status perp_dataset_read(perp_dataset *data, const char *path, perp_diag *diag);

PERP_API int perp_dataset_runs(const perp_dataset *data);
PERP_API const char *perp_dataset_name(const perp_dataset *data, int run);
PERP_API const perp_trajectory *perp_dataset_table(const perp_dataset *data, int run);

/// A compared column and its scale. Without noise or weight (both NaN) the scale is the column's
/// standard deviation over all runs.
typedef struct perp_measure {
    const char *name; ///< a state, var or output
    double noise;     ///< standard deviation of a sample, in the column's unit; NaN: not known
    double weight;    ///< 1 / scale; NaN: none. Not both.
} perp_measure;

enum { PERP_IDENTIFY_MOST_PARAMETERS = 64, PERP_IDENTIFY_MOST_MEASURES = 256 };

/// The progress of a search.
typedef struct perp_identify_progress {
    int searches;     ///< searches begun; 0: points of the ranges are evaluated
    long evaluations; ///< of the whole cost
    double cost;      ///< the least so far; infinite: none
} perp_identify_progress;

/// Strings and arrays point into the model that the options come from, or are the caller's.
///
/// - starts: searches begin at the model's own values and at points spread over the ranges. 0
///   (default): a number that follows from the number of parameters.
/// - horizon: rows predicted from a measured one, after which the prediction begins anew (then
///   every state must be measured). 0 (default): the whole run.
/// - step: of the simulation. It must divide the data's interval. NaN (default): the largest such
///   step up to the model's own. A discrete model takes one step a row.
typedef struct perp_identify_options {
    size_t size;             ///< set by the default; tells which fields the caller has
    perp_estimator method;   ///< default predict, or the model's
    double tol;              ///< relative gain at which a search ends; default 1e-10
    int max_iter; ///< iterations from one start; default 100; 0: only evaluate the starts
    int starts;              ///< see above
    unsigned long long seed; ///< of the bootstrap; default 1
    int threads;             ///< 0: one per processor; the result does not depend on it
    int horizon;             ///< see above [rows]
    double step;             ///< see above [s]
    double confidence;       ///< of the intervals, default 0.95
    int bootstrap;           ///< number of resampled sets of runs; default 0
    perp_derivatives derivatives; ///< predict: default auto
    double huber; ///< residuals above it count linearly [scales]; default 0: squares
    /// Implicit: weight of negative second sides of pairs; default 0: none allowed
    double soft_sides;
    double soft_vars; ///< implicit: weight of negative first sides; default 0: none allowed
    /// Implicit, kkt: weight of the squares of second sides (distances from the friction cone's
    /// boundary) of pairs whose first side is `sliding_var` or an element of it. It acts in steps
    /// that end in rows where the data's column "sliding" is not 0 (notes 3.2.6). Default 0
    double sliding;
    const char *sliding_var; ///< default NULL: "gamma"
    int nparameter;          ///< default: the block's, else every parameter with a range
    const char *parameter[PERP_IDENTIFY_MOST_PARAMETERS];
    int nmeasure; ///< default: the block's, else every column that is a state, var or output
    perp_measure measure[PERP_IDENTIFY_MOST_MEASURES];
    /// Called after each evaluation of the cost, in the caller's thread. Return not 0 to stop with
    /// the best so far. Default NULL
    int (*progress)(void *context, const perp_identify_progress *progress);
    void *progress_context;
    /// Predict: the method of time stepping. Default PERP_INTEGRATOR_COUNT: the model's. If it
    /// names none, the method that fits it (perp_simulation_recommend). Backward Euler replaces
    /// that method if only its own residuals look like noise.
    perp_integrator integrator;
    /// Only predict. 1: the processes that have joined share it (perp/ranks.h). All of them call
    /// perp_identify with the same model, data and options. Each predicts a part of the runs, and
    /// all get the result of one process, to the last bit. `threads` is then by default 1. Default
    /// 0
    int ranks;
} perp_identify_options;

/// Options with the model's own identify block filled in.
///
/// @return PERP_OK, PERP_ERR_ARG (too many parameters or measured columns, or an unknown method)
PERP_API perp_status perp_identify_options_fill(perp_identify_options *options, size_t size,
                                                const perp_model *model, perp_diag *diag);
static inline perp_status perp_identify_options_default(const perp_model *model,
                                                        perp_identify_options *options,
                                                        perp_diag *diag)
{
    return perp_identify_options_fill(options, options ? sizeof *options : 0, model, diag);
}

/// The estimate of one parameter.
///
/// If the data do not determine it (identifiable is 0), `value` is one of many that fit. Then
/// std_error is NaN, and low and high bound the values of the range that fit as well. Without a
/// checked interval (has_interval is 0) std_error, low and high are NaN, and a finding gives the
/// reason. The methods lp and svd have no intervals and give ranges in low and high
/// (docs/identify.md).
typedef struct perp_estimate {
    const char *name, *unit; ///< the model's
    double value;
    double lo, hi; ///< range
    double std_error;
    double low, high; ///< interval
    int has_interval; ///< of the options' confidence, and checked
    int identifiable;
    int at_bound; ///< value is an end of the range: the optimum may lie outside
} perp_estimate;

/// The residual of one column: predicted minus measured, in its unit. The correlation is that of
/// each residual with the next one of its run. Near 1 it shows an error of the model, not of the
/// measurement.
typedef struct perp_fit_column {
    const char *name, *unit;
    double scale; ///< s_j
    long samples, missing;
    double mean, rms, largest;
    int largest_run;
    double largest_time; ///< [s]
    double correlation;
} perp_fit_column;

/// One initial guess of the search.
typedef struct perp_fit_start {
    double *from, *to; ///< nparameter each
    double cost;       ///< at `to`; infinite if the model had no solution
    int searched;      ///< 0: only evaluated, on a part of the runs; others were better
    int iterations;
    int is_cut; ///< it ended at max_iter
    int flat;   ///< it ended where no parameter changed the cost
} perp_fit_start;

/// The result. Release with perp_identification_clear.
typedef struct perp_identification {
    size_t size; ///< sizeof of this struct, set by the caller
    /// PERP_SOLVED; PERP_LIMIT: no verified solution from any start, and nothing else is filled
    perp_outcome outcome;
    perp_estimator method;
    int nparameter, ncolumn, nstart, nfinding;
    perp_estimate *parameter;
    perp_fit_column *column;
    perp_fit_start *start;
    char **finding;      ///< sentences: what the data leave open, what is suspicious
    double *covariance;  ///< nparameter x nparameter; NaN where not determined
    double cost;         ///< sum of squares, or Huber's
    double noise_factor; ///< sqrt(cost / degrees of freedom): 1 if the stated noise explains it
    double condition;    ///< of the information matrix, parameters in units of their ranges
    long samples, missing;
    long evaluations; ///< of the whole cost
    double step;      ///< of the simulation [s]
    double seconds;
    int interrupted;            ///< options.progress stopped it: the best so far, without checks
    perp_integrator integrator; ///< of the simulation; PERP_INTEGRATOR_COUNT: none was needed
    /// Predict: a bound of the effect of the steps' error in time on an estimate, in its standard
    /// errors, by a prediction of higher order. NaN: unknown. Above 0.25 there is an interval only
    /// if the data fit the steps better than the motion.
    double time_shift;
} perp_identification;

/// Estimate parameters.
///
/// @param model    not changed; its parameter values are the first start
/// @param result   filled when the status is PERP_OK, else empty
/// @return PERP_OK, PERP_ERR_ARG (options), PERP_ERR_DATA (columns that do not fit the model, too
///         few samples), PERP_ERR_MODEL, PERP_ERR_UNAVAILABLE (also: another process of `ranks` has
///         gone), PERP_ERR_STOPPED (by options.progress, before any point had a value),
///         PERP_ERR_MEMORY
PERP_API perp_status perp_identify(const perp_model *model, const perp_dataset *data,
                                   const perp_identify_options *options,
                                   perp_identification *result, perp_diag *diag);
PERP_API void perp_identification_clear(perp_identification *result);

#ifdef __cplusplus
}
#endif
#endif
