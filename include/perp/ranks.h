/// perp/ranks.h - processes that share one piece of work: begun together by a launcher of MPI (mpirun, srun), or with a folder in common.
///
/// MPI's binary interface is another one in each of its libraries, so what speaks it is a plugin, libperp-mpi.so, which a build makes where
/// MPI is installed, and which is loaded by perp_ranks_join alone. A process that was begun by itself needs none of this.
///
/// Typical use: if perp_ranks_launched() > 1, join; share (perp_sweep_run_options.ranks, perp_identify_options.ranks); leave. Or, without
/// MPI, join by a folder and share an identification.

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

/// What a process does while it waits for a word of shard 0 .. shards - 1, now and then; seconds: for how long already. @return 0 to wait on
typedef int (*perp_ranks_wait)(void *context, int shard, double seconds);

/// Join processes that begin by themselves at about the same time (an array of a batch system, ssh) and see the same folder, instead of
/// those of a launcher. What they tell each other are files there; at the end the folder is removed. For perp_identify; a sweep has shards
/// that need not run at the same time.
///
/// @param folder   on a file system that all of them share; made where it is not there
/// @param shard    this process's number, 0 .. shards - 1, which is its rank
/// @param wait     nullable: waits on; where it ends the waiting, what is shared ends with PERP_ERR_UNAVAILABLE
/// @param context  handed to it
/// @return PERP_OK; PERP_ERR_ARG (NULL, numbers out of range, joined before); PERP_ERR_FILE (diag says why: the folder cannot be written, or
///         this shard has begun there before)
PERP_API perp_status perp_ranks_join_folder(const char *folder, int shard, int shards,
                                            perp_ranks_wait wait, void *context, perp_diag *diag);

/// Called by each of them: the largest of their values; of a process that has not joined its own. So they agree whether all go on.
PERP_API int perp_ranks_most(int value);

/// Leave them: waits for the others. Before the end of each process that has joined; does nothing in another.
PERP_API void perp_ranks_leave(void);

/// End all of them at once, this one included, where a launcher began them; those of a folder are told, and it returns. Where it has not
/// joined it does nothing. For a process that cannot go on, before it leaves.
PERP_API void perp_ranks_abort(int exit_code);

#ifdef __cplusplus
}
#endif
#endif
