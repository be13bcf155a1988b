/// perp/petsc.h - contact problems by several processes, on PETSc's matrices and vectors over MPI, and complementarity problems by PETSc's SNES VI.
///
/// PETSc is in a plugin, libperp-petsc.so, which a build makes where it is installed (Debian: petsc-dev) and which is loaded by these functions
/// alone. PETSc's own word for what it did is not asked: every answer is judged as those of other methods are.
///
/// Typical use, in each process that a launcher began (mpirun, srun): begin; rank 0 solves by perp_fclib_solve with the method "petsc", the
/// others serve; rank 0 ends. A process that was begun by itself needs only the solve and, once, the end.

#ifndef PERP_PETSC_H
#define PERP_PETSC_H

#include "perp/base.h"
#include "perp/mcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Load PETSc and begin it, in all processes that the launcher began.
///
/// @param rank  out: this process's number, 0 .. size - 1; nullable
/// @param size  out: how many there are; nullable
/// @return PERP_OK; PERP_ERR_UNAVAILABLE (diag says what is missing); PERP_ERR_MEMORY
PERP_API perp_status perp_petsc_begin(int *rank, int *size, perp_diag *diag);

/// In the processes above rank 0, once begun: take part in what rank 0 solves, until it ends. Where MPI loses a process, all end with a message.
PERP_API void perp_petsc_serve(void);

/// In rank 0: no more problems; the others return from serving. PETSc cannot begin again in these processes. Does nothing where it has not begun.
PERP_API void perp_petsc_end(void);

/// Methods of SNES VI.
typedef enum perp_petsc_method {
    PERP_PETSC_RSLS, ///< vinewtonrsls: Newton's method on the variables that are at no bound
    PERP_PETSC_SSLS  ///< vinewtonssls: semismooth Newton's method
} perp_petsc_method;

/// Solve a mixed complementarity problem (perp/mcp.h; a linear one with sparse M, too) in this process, by SNES VI with sparse LU. PETSc's
/// options with the prefix -perp_ in PETSC_OPTIONS change how.
///
/// @param options  nullable: the defaults
/// @param z        n, in: guess (moved into the bounds), out: solution, or the last iterate
/// @param w        n, out: F(z); nullable
/// @param info     nullable; as perp_mcp_solve's, judged by the same verdict; `method` is PERP_MCP_METHOD_COUNT
/// @return as perp_mcp_solver_create and perp_mcp_solve; PERP_ERR_UNAVAILABLE: no PETSc here, diag says what is missing
PERP_API perp_status perp_petsc_mcp(perp_petsc_method method, const perp_mcp *problem,
                                    const perp_mcp_options *options, double *z, double *w,
                                    perp_mcp_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
