/// perp/bodies_batch.h - batched bodies: many copies of a system of perp/bodies.h, each with its own
/// state and settings.
///
/// Uses are Monte Carlo, predictive control and learning. The copies share the description of the
/// system. Several threads step them. A copy takes exactly the steps that it would take alone, to
/// the last bit, for any number of threads and copies.
///
/// States go in and out as arrays of the caller, row by row. Row i belongs to copy i:
///
///     perp_bodies_batch_create(bodies, n, 0, &batch, &diag);
///     perp_bodies_arrays x = {sizeof x, .q = q, .v = v, .control = u};
///     perp_bodies_batch_get(batch, &x);
///     ..                                                       write to u, perhaps to q and v
///     perp_bodies_batch_step(batch, 10, &x, &solved, &diag);   now q and v are those at the end
///
/// Each copy is a system (perp_bodies_batch_at). What can be set on a system can be set on a copy:
/// gravity, contact materials, friction of pairs, laws of joints. A snapshot of a system with the
/// same tree and shapes but other masses, friction or gains gives these to a copy
/// (perp_bodies_restore).

#ifndef PERP_BODIES_BATCH_H
#define PERP_BODIES_BATCH_H

#include "perp/joints.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_bodies_batch perp_bodies_batch;

/// `count` copies of a system in its present state, as by perp_bodies_clone.
///
/// @param bodies   need not outlive the batch; what its bodies and shapes point to must
/// @param count    > 0
/// @param threads  number of threads; 0: one for each processor
/// @return PERP_OK; PERP_ERR_ARG (NULL, count, threads); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_batch_create(const perp_bodies *bodies, int count, int threads,
                                              perp_bodies_batch **batch, perp_diag *diag);
PERP_API void perp_bodies_batch_destroy(perp_bodies_batch *batch);

/// The number of copies; 0 for NULL.
PERP_API int perp_bodies_batch_count(const perp_bodies_batch *batch);

/// Copy i; NULL if there is none. The batch owns it. Between steps you may read, set, save and
/// restore it, but not destroy it.
PERP_API perp_bodies *perp_bodies_batch_at(perp_bodies_batch *batch, int i);

/// Arrays of the caller, each of `count` rows and nullable. The library reads and writes them in
/// place and keeps no pointer to them.
///
/// A row of q, v or activation that equals the state of its copy to the bit leaves that copy as it
/// is. Another row is set as by perp_bodies_set and perp_bodies_set_activation: the copy then
/// forgets the contacts of its last step.
typedef struct perp_bodies_arrays {
    size_t size;           ///< sizeof of this struct, set by the caller
    double *q;             ///< count x nq
    double *v;             ///< count x nv
    double *activation;    ///< count x nu
    double *time;          ///< count, only written [s]
    const double *control; ///< count x nu, only read
    const double *force;   ///< count x nv, only read: forces of the joints [N, N m]
    const double *gravity; ///< count x 3, only read [m/s^2]
} perp_bodies_arrays;

/// Set all copies from rows: q, v, activation, control, force, gravity.
///
/// @return PERP_OK; PERP_ERR_ARG (NULL, size; not finite or a quaternion of length 0: diag names
///         the copy and the array, the rows before it are set)
PERP_API perp_status perp_bodies_batch_set(perp_bodies_batch *batch,
                                           const perp_bodies_arrays *arrays, perp_diag *diag);

/// Write the present q, v, activation and time of all copies.
/// @return PERP_OK; PERP_ERR_ARG (NULL, size)
PERP_API perp_status perp_bodies_batch_get(const perp_bodies_batch *batch,
                                           const perp_bodies_arrays *arrays);

/// Set each copy from its rows, take `steps` steps of it, and write its rows. One thread does all
/// this for one copy. A copy whose step is rejected stays at its last verified step and takes no
/// more in this call; the others continue. Its rows are written, too.
///
/// Steps allocate as perp_bodies_step does. A call allocates the stacks of its threads.
///
/// @param steps   >= 0; controls and forces are constant over them
/// @param arrays  nullable: none
/// @param solved  out: number of copies whose steps are all verified
/// @param diag    nullable; the message about the first copy whose step was rejected, or that
///         could not be set
/// @return PERP_OK; PERP_ERR_ARG (NULL, steps, size; a row that cannot be set: its copy takes no
///         step, its rows are not written); PERP_ERR_MEMORY
PERP_API perp_status perp_bodies_batch_step(perp_bodies_batch *batch, long steps,
                                            const perp_bodies_arrays *arrays, int *solved,
                                            perp_diag *diag);

/// The status of the last perp_bodies_batch_step for copy i; PERP_ERR_ARG if there is no such copy.
///
/// @param info  nullable; out: of the copy's last step, which tells why it was rejected; its size
///         is set by the caller
PERP_API perp_status perp_bodies_batch_status(const perp_bodies_batch *batch, int i,
                                              perp_bodies_info *info);

/// perp_bodies_reset of the copies with which[i] != 0.
///
/// @param which  count; nullable: all
PERP_API void perp_bodies_batch_reset(perp_bodies_batch *batch, const unsigned char *which);

#ifdef __cplusplus
}
#endif
#endif
