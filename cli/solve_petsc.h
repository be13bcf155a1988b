/* Complementarity problems by PETSc's SNES VI, for perp solve. */

#ifndef PERP_CLI_SOLVE_PETSC_H
#define PERP_CLI_SOLVE_PETSC_H

#include "solve.h"

#include "perp/lcp.h"
#include "perp/mcp.h"

/* Is it one of its methods, petsc-rsls or petsc-ssls? */
int cli_is_snes(const char *method);

/* Solve and print; z, w: n each, z the guess. Returns an exit code; what was not solved is known to
 * `out`. */
int solve_petsc(const char *method, const perp_mcp *p, const char *name, double *z, double *w,
                output *out, perp_diag *diag);
int solve_petsc_linear(const char *method, const perp_lcp *p, const char *name, double *z,
                       double *w, output *out, perp_diag *diag);

#endif
