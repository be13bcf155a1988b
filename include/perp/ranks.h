/// perp/ranks.h - processes that share work: begun together by a launcher of MPI (mpirun, srun), or
/// with a common folder.
///
/// Each MPI library has another binary interface. So a plugin uses MPI, libperp-mpi.so. A build
/// makes it if MPI is installed, and only perp_ranks_join loads it. A single process needs none of
/// this.
///
/// If perp_ranks_launched() > 1: join; share (perp_sweep_run_options.ranks,
/// perp_identify_options.ranks); leave. Without MPI: join by a folder and share an identification.

#ifndef PERP_RANKS_H
#define PERP_RANKS_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The number of processes that the launcher began, from the environment (Open MPI, MPICH and its
/// like, MVAPICH, Slurm's srun). 1: this process was begun by itself.
PERP_API int perp_ranks_launched(void);

/// Join the processes of a launcher. Call it once in each of them, before work is shared, from the
/// thread that shares it.
///
/// @param rank  this process's number, 0 .. size - 1
/// @param size  the number of processes
/// @return PERP_OK; PERP_ERR_ARG (NULL, or joined before); PERP_ERR_MEMORY; PERP_ERR_UNAVAILABLE
///         (diag says what is missing: the plugin, or MPI sees other processes than the launcher
///         began)
PERP_API perp_status perp_ranks_join(int *rank, int *size, perp_diag *diag);

/// Called now and then while a process waits for shard 0 .. shards - 1; seconds: the waiting time.
/// @return 0 to continue waiting
typedef int (*perp_ranks_wait)(void *context, int shard, double seconds);

/// Join processes that begin separately at about the same time (an array of a batch system, ssh)
/// and see the same folder.
///
/// They exchange messages as files there, and the folder is removed at the end. This is for
/// perp_identify. The shards of a sweep need not run at the same time.
///
/// The files grow by 8 bytes for each number that a process sends. With `resume` a new process
/// replaces a dead one. The others wait for it, or are resumed as well. It repeats the work of the
/// dead one.
///
/// @param folder   on a file system that all of them share; made if it is missing
/// @param shard    this process's number, 0 .. shards - 1, which is its rank
/// @param resume   not 0: replace a dead process with this number, or begin if there was none
/// @param wait     nullable: wait on; if it stops waiting, shared work ends with
///         PERP_ERR_UNAVAILABLE
/// @param context  passed to wait
/// @return PERP_OK; PERP_ERR_ARG (NULL, numbers out of range, joined before); PERP_ERR_FILE (diag
///         says why: the folder cannot be written, this shard is at work, or without `resume` it
///         has begun there before); PERP_ERR_MEMORY
PERP_API perp_status perp_ranks_join_folder(const char *folder, int shard, int shards, int resume,
                                            perp_ranks_wait wait, void *context, perp_diag *diag);

/// Called by each process: the largest of their values. Without a join it is the own value. With it
/// they agree whether all continue.
PERP_API int perp_ranks_most(int value);

/// Leave the other processes, after waiting for them. Call it before the end of each process that
/// has joined. It does nothing in another.
PERP_API void perp_ranks_leave(void);

/// End all processes at once, if a launcher began them, this one included. Those of a folder get
/// a message, and the call returns. Without a join it does nothing. It is for a process that cannot
/// continue, before it leaves.
PERP_API void perp_ranks_abort(int exit_code);

#ifdef __cplusplus
}
#endif
#endif
