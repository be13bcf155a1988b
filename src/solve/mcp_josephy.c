/* josephy - Newton for complementarity problems (Josephy 1979).
 *
 * 1. At z the function is replaced by F(z) + J (y - z); the mixed linear problem for y goes to auto
 *    of perp/lcp.h.
 * 2. From z towards y, halved until the natural residual falls; where it never does, the whole step
 *    is taken, a few times at most.
 *
 * Locally quadratic under strong regularity, also at degenerate solutions. Fails where the linear
 * problem has no solution. Cost: one linear problem a step, dense also where J is given
 * sparsely. */

#include "solve/mcp.h"

#include "base/tol.h"

#include <math.h>
#include <string.h>

/* J as a full matrix. */
static const double *full_matrix(perp_mcp_solver *s)
{
    const perp_mcp *p = s->problem;
    size_t n = (size_t)s->n;
    if (!p->column_start) return s->J;
    memset(s->factors, 0, n * n * sizeof *s->factors); /* the judge's were in it */
    for (size_t j = 0; j < n; j++) {
        for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++)
            s->factors[(size_t)p->row[e] + j * n] = s->J[e];
    }
    return s->factors;
}

/* The linear problem at z; its solution into next. */
static int solve_linear(perp_mcp_solver *s)
{
    const perp_mcp *p = s->problem;
    size_t n = (size_t)s->n;
    perp_lcp_info info = {.size = sizeof info};
    if (p->F(p->context, s->z, s->q) || p->J(p->context, s->z, s->J)) return 0;
    const double *J = full_matrix(s);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) s->q[i] -= J[i + j * n] * s->z[j];
    }
    perp_lcp lcp = {s->n, J, s->n > 1 ? s->n : 1, s->q, p->lo, p->hi};
    return perp_lcp_solve(s->linear, &lcp, s->next, NULL, &info) == PERP_OK &&
           info.outcome == PERP_SOLVED;
}

/* The residual is in the units of the problem: if it is small the verdict decides. */
static int is_done(perp_mcp_solver *s, double residual)
{
    return residual <= PERP_TOL_INNER * s->options.tol &&
           (residual == 0 || perp__mcp_judge(s) <= s->options.tol);
}

int perp__mcp_josephy(perp_mcp_solver *s)
{
    enum { BLIND_STEPS = 5, HALVINGS = 20 };
    size_t bytes = (size_t)s->n * sizeof(double);
    double residual = perp_mcp_residual(s->problem, s->z, s->w), least = residual;
    int steps = 0, blind = 0;
    memcpy(s->best, s->z, bytes);
    while (steps < s->options.max_iter && !is_done(s, residual) && solve_linear(s)) {
        double length = 1, after = (double)NAN;
        steps++;
        for (int k = 0; k < HALVINGS && !(after < residual); k++, length /= 2) {
            for (int i = 0; i < s->n; i++) s->trial[i] = s->z[i] + length * (s->next[i] - s->z[i]);
            after = perp_mcp_residual(s->problem, s->trial, s->w);
        }
        if (!(after < residual)) {
            if (blind++ == BLIND_STEPS) break;
            memcpy(s->trial, s->next, bytes);
            after = perp_mcp_residual(s->problem, s->trial, s->w);
            if (isnan(after)) break;
        }
        memcpy(s->z, s->trial, bytes);
        residual = after;
        if (residual < least) {
            least = residual;
            memcpy(s->best, s->z, bytes);
        }
    }
    memcpy(s->z, s->best, bytes);
    return steps;
}
