/* Internal: what the methods for nonlinear problems share; the driver is mcp.c. */

#ifndef PERP_SRC_MCP_H
#define PERP_SRC_MCP_H

#include "perp/mcp.h"
#include "linalg/sparse_lu.h"

struct perp_mcp_solver {
    perp_mcp_method method;
    perp_mcp_options options;
    int n, nnz;              /* entries of J: n^2 where dense */
    const perp_mcp *problem; /* of the solve in progress */
    double *z, *w, *best;    /* n each */
    double *work;            /* PERP__NEWTON_WORK n */
    double *J;               /* nnz */
    double *factors;         /* n x n where dense, and J as josephy needs it */
    int *swap;               /* n */

    /* Compressed columns: the pattern of diag + J by rows, for the sparse LU. */
    perp__sparse_lu *lu;
    int *start, *column;  /* n + 1, entries */
    int *slot, *diagonal; /* nnz, n: their places */
    double *value;        /* entries */

    int out_of_memory; /* in the solve in progress */

    double *settled;             /* n: best point of auto */
    double *terms, *data, *own, *rho; /* n each: of the rows, see mcp_verdict.c */
    int *columns, *fresh, *seen; /* n each: its work */
    int *state;                  /* n: what is known of a row there */

    /* josephy */
    perp_lcp_solver *linear;
    double *q, *next, *trial; /* n each */

    const struct perp__petsc *petsc; /* of mcp_petsc.c */
    int is_semismooth;
};

/* mcp_verdict.c: the error of solver->z, each condition on its own scale, which is solved where
 * that is at most options.tol. Bare z_i at a bound but for rounding are put there if that solves
 * it. Evaluates F and J. */
double perp__mcp_judge(perp_mcp_solver *solver);
/* Is no violation at solver->z more than rounding, so that no method can do better? */
int perp__mcp_is_at_rounding(perp_mcp_solver *solver);

/* As perp_mcp_solve, by these steps. */
typedef int (*perp__mcp_steps)(perp_mcp_solver *solver);
perp_status perp__mcp_solve_by(perp_mcp_solver *solver, const perp_mcp *problem,
                               perp__mcp_steps steps, double *z, double *w, perp_mcp_info *info);

/* LU of diag(dz) + diag(dw) J, sparse where there is a sparse LU; x := its inverse times x. Returns
 * 0: singular. (mcp_newton.c) */
int perp__mcp_factor(perp_mcp_solver *solver, const double *dz, const double *dw);
void perp__mcp_solve_factored(perp_mcp_solver *solver, double *x);

/* Each method goes on from solver->z and leaves its best point there; returns the steps. */
int perp__mcp_fb(perp_mcp_solver *solver);
int perp__mcp_min(perp_mcp_solver *solver);
int perp__mcp_josephy(perp_mcp_solver *solver);
int perp__mcp_auto(perp_mcp_solver *solver);
int perp__mcp_multigrid(perp_mcp_solver *solver);

#endif
