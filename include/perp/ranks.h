/// perp/ranks.h - processes that a launcher of MPI (mpirun, srun) has begun together, to share one piece of work.
///
/// MPI's binary interface is another one in each of its libraries, so what speaks it is a plugin, libperp-mpi.so, which a build makes where
/// MPI is installed, and which is loaded by perp_ranks_join alone. A process that was begun by itself needs none of this.
///
/// Typical use: if perp_ranks_launched() > 1, join; share (perp_sweep_run_options.ranks, perp_identify_options.ranks); leave.

#ifndef PERP_RANKS_H
#define PERP_RANKS_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many processes the launcher began with this one, by what it wrote into the environment (Open MPI, MPICH and its like, MVAPICH, Slurm's
/// srun); 1: it was begun by itself.
PERP_API int perp_ranks_launched(void);

/// Join them; in every one of them, once, before work is shared, from the thread that shares it.
///
/// @param rank  this process's number, 0 .. size - 1
/// @param size  how many there are
/// @return PERP_OK; PERP_ERR_UNAVAILABLE (diag says what is missing: the plugin, or MPI sees other processes than the launcher began);
///         PERP_ERR_ARG (NULL, or joined before); PERP_ERR_MEMORY
PERP_API perp_status perp_ranks_join(int *rank, int *size, perp_diag *diag);

/// Called by each of them: the largest of their values; of a process that has not joined its own. So they agree whether all go on.
PERP_API int perp_ranks_most(int value);

/// Leave them: waits for the others. Before the end of each process that has joined; does nothing in another.
PERP_API void perp_ranks_leave(void);

/// End all of them at once, this one included, where it has joined; else it returns. For a process that cannot go on.
PERP_API void perp_ranks_abort(int exit_code);

#ifdef __cplusplus
}
#endif
#endif
