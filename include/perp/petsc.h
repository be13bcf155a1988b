/// perp/petsc.h - contact problems by several processes, and complementarity problems by PETSc's
/// SNES VI.
///
/// PETSc is in a plugin, libperp-petsc.so. A build makes it if PETSc is installed (Debian:
/// petsc-dev), and only these functions load it. PETSc's own status is not read: every answer is
/// verified like those of other methods.
///
/// In each process of a launcher (mpirun, srun): begin. Rank 0 solves by perp_fclib_solve with the
/// method "petsc", and the others serve. Rank 0 ends. A single process needs only the solve and,
/// once, the end.

#ifndef PERP_PETSC_H
#define PERP_PETSC_H

#include "perp/base.h"
#include "perp/mcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Load PETSc and begin it, in all processes of the launcher.
///
/// @param rank  out: this process's number, 0 .. size - 1; nullable
/// @param size  out: the number of processes; nullable
/// @return PERP_OK; PERP_ERR_UNAVAILABLE (diag names the missing part); PERP_ERR_MEMORY
PERP_API perp_status perp_petsc_begin(int *rank, int *size, perp_diag *diag);

/// In the processes above rank 0, once begun: take part in the solves of rank 0, until it ends. If
/// MPI loses a process, all end with a message.
PERP_API void perp_petsc_serve(void);

/// In rank 0: the others return from serving. PETSc cannot begin again in these processes. Does
/// nothing before the begin.
PERP_API void perp_petsc_end(void);

/// Methods of SNES VI.
typedef enum perp_petsc_method {
    PERP_PETSC_RSLS, ///< vinewtonrsls: Newton's method on the variables at no bound
    PERP_PETSC_SSLS  ///< vinewtonssls: semismooth Newton's method
} perp_petsc_method;

/// Solve a mixed complementarity problem (perp/mcp.h) in this process, by SNES VI with sparse LU.
/// Linear problems with sparse M work, too. Options of PETSc with the prefix -perp_ in
/// PETSC_OPTIONS change the solver.
///
/// @param options  nullable: the defaults
/// @param z        n, in: guess (moved into the bounds), out: solution, or the last iterate
/// @param w        n, out: F(z); nullable
/// @param info     nullable; as of perp_mcp_solve, with the same verdict; `method` is
///         PERP_MCP_METHOD_COUNT
/// @return as perp_mcp_solver_create and perp_mcp_solve; PERP_ERR_UNAVAILABLE: no PETSc here, diag
///         names the missing part
PERP_API perp_status perp_petsc_mcp(perp_petsc_method method, const perp_mcp *problem,
                                    const perp_mcp_options *options, double *z, double *w,
                                    perp_mcp_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
