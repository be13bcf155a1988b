/// perp/batch.h - batched simulation: many copies of a model, each with its own states, inputs and
/// parameters.
///
/// Uses are Monte Carlo, filters and learning. Copies are simulations (perp/simulate.h) that share
/// their model. Several threads step them. Copies of a small model whose step is affine with
/// constant coefficients use SIMD while they keep their modes. A copy takes exactly the steps of a
/// single simulation, to the last bit, for any number of threads and copies.
///
/// Create a batch with options that name the inputs and parameters to be set. Set arrays of `count`
/// values, step, gather columns, and reset copies that have ended.

#ifndef PERP_BATCH_H
#define PERP_BATCH_H

#include "perp/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_batch perp_batch;

/// `count` copies of a simulation of this model with these options.
///
/// @param model    must outlive the batch
/// @param options  nullable; as for perp_simulation_create
/// @param count    > 0
/// @param threads  number of threads; 0: one for each processor
/// @return as perp_simulation_create
PERP_API perp_status perp_batch_create(const perp_model *model,
                                       const perp_simulation_options *options, int count,
                                       int threads, perp_batch **batch, perp_diag *diag);
PERP_API void perp_batch_destroy(perp_batch *batch);

/// The number of copies; 0 for NULL.
PERP_API int perp_batch_count(const perp_batch *batch);

/// Copy i; NULL if there is none. The batch owns it. Between steps you may read, set, save and
/// restore it, but not destroy it.
PERP_API perp_simulation *perp_batch_simulation(perp_batch *batch, int i);

/// Set one state, input or parameter of all copies.
///
/// @param state  its index in the model, as for perp_simulation_set_state; inputs and parameters
///         likewise
/// @param value  count values
/// @return PERP_OK; PERP_ERR_ARG (as for one copy; copies before the first bad value are set)
PERP_API perp_status perp_batch_set_state(perp_batch *batch, int state, const double *value);
PERP_API perp_status perp_batch_set_input(perp_batch *batch, int input, const double *value);
PERP_API perp_status perp_batch_set_parameter(perp_batch *batch, int parameter,
                                              const double *value);

/// Take `steps` steps of each copy. A copy whose step fails stays at its last verified step; the
/// others continue.
///
/// Allocates as perp_simulation_step does, and the stacks of threads.
///
/// @param steps   >= 0
/// @param solved  out: number of copies whose steps are all verified
/// @param diag    nullable; the message about the first copy that failed
/// @return PERP_OK; PERP_ERR_ARG; else the status of the first copy whose call could not be carried
///         out
PERP_API perp_status perp_batch_step(perp_batch *batch, long steps, int *solved, perp_diag *diag);

/// The status of the last perp_batch_step for copy i; PERP_ERR_ARG if there is no such copy.
///
/// @param outcome  nullable; out: PERP_SOLVED, or the reason why its step was rejected
PERP_API perp_status perp_batch_status(const perp_batch *batch, int i, perp_outcome *outcome);

/// Columns of all copies' rows (perp_simulation_row).
///
/// @param column  n indices (perp_simulation_find_column)
/// @param value   count x n, row by row: value[i * n + j] is column j of copy i
/// @return PERP_OK; PERP_ERR_ARG (NULL, or no such column)
PERP_API perp_status perp_batch_gather(perp_batch *batch, int n, const int *column, double *value);

/// perp_simulation_reset of the copies with which[i] != 0.
///
/// @param which  count; nullable: all
PERP_API void perp_batch_reset(perp_batch *batch, const unsigned char *which);

#ifdef __cplusplus
}
#endif
#endif
