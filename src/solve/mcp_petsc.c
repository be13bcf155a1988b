/* Mixed complementarity by PETSc's SNES VI, in one process: Newton's method on the free variables
 * (Benson and Munson 2006), or on the functions of Fischer and Burmeister, with a line search and
 * sparse LU. PETSc's reason to stop is not used: the driver judges the point. */

#include "perp/petsc.h"

#include "base/base.h"
#include "external/petsc.h"
#include "solve/mcp.h"

#include <math.h>

static int run(perp_mcp_solver *s)
{
    const perp_mcp *p = s->problem;
    const perp__vi vi = {p->n, p->lo, p->hi, p->F, p->J, p->context, p->column_start, p->row};
    int steps = 0;
    if (p->n == 0) return 0;
    if (!s->petsc->solve_vi(&vi, s->is_semismooth, s->options.max_iter, s->z, &steps))
        s->out_of_memory = 1;
    for (int i = 0; i < p->n; i++) /* iterates of the semismooth method may be beyond bounds */
        s->z[i] = fmin(fmax(s->z[i], p->lo ? p->lo[i] : 0), p->hi ? p->hi[i] : (double)INFINITY);
    return steps;
}

perp_status perp_petsc_mcp(perp_petsc_method method, const perp_mcp *problem,
                           const perp_mcp_options *options, double *z, double *w,
                           perp_mcp_info *info, perp_diag *diag)
{
    perp_mcp_solver *solver;
    const perp__petsc *petsc;
    if (method != PERP_PETSC_RSLS && method != PERP_PETSC_SSLS) return PERP_ERR_ARG;
    perp_status status = perp__petsc_begin(&petsc, diag);
    if (status != PERP_OK) return status;
    status = perp_mcp_solver_create(PERP_MCP_FB, problem, options, &solver);
    if (status != PERP_OK) return status;
    solver->petsc = petsc;
    solver->is_semismooth = method == PERP_PETSC_SSLS;
    status = perp__mcp_solve_by(solver, problem, run, z, w, info);
    if (info) info->method = PERP_MCP_METHOD_COUNT;
    perp_mcp_solver_destroy(solver);
    return status;
}
