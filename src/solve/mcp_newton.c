/* fb, min for nonlinear problems: newton.c with J dense (own LU) or in compressed columns (sparse LU).
 *
 * Succeeds for uniform P-functions; locally quadratic. Fails at local minima of the merit function. Cost: one
 * factorisation a step. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/mcp.h"
#include "solve/newton.h"

#include <string.h>

static int evaluate(void *context, const double *z, double *w)
{
    const perp_mcp *p = ((perp_mcp_solver *)context)->problem;
    return p->F(p->context, z, w) == 0;
}

static int linearize(void *context, const double *z)
{
    perp_mcp_solver *s = context;
    return s->problem->J(s->problem->context, z, s->J) == 0;
}

static int factor_dense(void *context, const double *dz, const double *dw)
{
    perp_mcp_solver *s = context;
    size_t n = (size_t)s->n;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) s->factors[i + j * n] = dw[i] * s->J[i + j * n];
        s->factors[j + j * n] += dz[j];
    }
    return perp__lu(s->n, s->factors, s->n, s->swap) == 0;
}

static void solve_dense(void *context, double *x)
{
    const perp_mcp_solver *s = context;
    perp__lu_solve(s->n, s->factors, s->n, s->swap, x);
}

static void transposed_dense(void *context, const double *v, double *out)
{
    const perp_mcp_solver *s = context;
    for (int j = 0; j < s->n; j++) {
        const double *column = s->J + (size_t)j * (size_t)s->n;
        out[j] = 0;
        for (int i = 0; i < s->n; i++) out[j] += column[i] * v[i];
    }
}

static int factor_sparse(void *context, const double *dz, const double *dw)
{
    perp_mcp_solver *s = context;
    const perp_mcp *p = s->problem;
    memset(s->value, 0, (size_t)s->start[s->n] * sizeof *s->value);
    for (int e = 0; e < s->nnz; e++) s->value[s->slot[e]] = dw[p->row[e]] * s->J[e];
    for (int i = 0; i < s->n; i++) s->value[s->diagonal[i]] += dz[i];
    if (perp__sparse_lu_factor(s->lu, s->value)) return 1;
    if (perp__sparse_lu_out_of_memory(s->lu)) s->out_of_memory = 1;
    return 0;
}

static void solve_sparse(void *context, double *x)
{
    perp_mcp_solver *s = context;
    perp__sparse_lu_solve(s->lu, x, 1);
}

static void transposed_sparse(void *context, const double *v, double *out)
{
    const perp_mcp_solver *s = context;
    const perp_mcp *p = s->problem;
    for (int j = 0; j < s->n; j++) {
        out[j] = 0;
        for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++)
            out[j] += s->J[e] * v[p->row[e]];
    }
}

/* A full matrix of a J in compressed columns, where josephy has room for one. */
static int factor_filled(perp_mcp_solver *s, const double *dz, const double *dw)
{
    const perp_mcp *p = s->problem;
    size_t n = (size_t)s->n;
    memset(s->factors, 0, n * n * sizeof *s->factors);
    for (size_t j = 0; j < n; j++) {
        for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++)
            s->factors[(size_t)p->row[e] + j * n] = dw[p->row[e]] * s->J[e];
        s->factors[j + j * n] += dz[j];
    }
    return perp__lu(s->n, s->factors, s->n, s->swap) == 0;
}

int perp__mcp_factor(perp_mcp_solver *s, const double *dz, const double *dw)
{
    if (!s->start) return factor_dense(s, dz, dw);
    if (!s->lu && s->factors) return factor_filled(s, dz, dw);
    if (!s->lu) s->lu = perp__sparse_lu_create(s->n, s->start, s->column);
    return s->lu && factor_sparse(s, dz, dw);
}

void perp__mcp_solve_factored(perp_mcp_solver *s, double *x)
{
    if (s->lu)
        solve_sparse(s, x);
    else
        solve_dense(s, x);
}

static int run(perp_mcp_solver *s, perp__ncp kind)
{
    perp__newton_problem p = {s->n,         s->problem->lo, s->problem->hi,  s, evaluate, linearize,
                              factor_dense, solve_dense,    transposed_dense};
    if (s->n == 0) return 0;
    if (s->lu) {
        p.factor = factor_sparse;
        p.solve = solve_sparse;
        p.transposed = transposed_sparse;
    }
    /* the residual is in the problem's units: a small one says nothing yet */
    double target = PERP_TOL_INNER * s->options.tol, residual;
    int steps = 0;
    do {
        steps += perp__newton_solve(&p, kind, target, s->options.max_iter - steps, s->z, s->work);
        residual = perp_mcp_residual(s->problem, s->z, s->w);
        if (!(residual <= target) || steps >= s->options.max_iter) break;
        target = PERP_NEWTON_AGAIN * residual;
    } while (residual > 0 && !(perp__mcp_judge(s) <= s->options.tol));
    return steps;
}

int perp__mcp_fb(perp_mcp_solver *s)
{
    return run(s, PERP__NCP_FB);
}

int perp__mcp_min(perp_mcp_solver *s)
{
    return run(s, PERP__NCP_MIN);
}
