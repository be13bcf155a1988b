/* Complementarity problems: the rows in the order of their variables, to the methods of perp/lcp.h
 * where they are affine and few, else to those of perp/mcp.h. */

#include "program/program_state.h"
#include "solve/mcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DENSE = 600 }; /* unknowns of a dense linear problem */

typedef struct equilibrium {
    perp_program *p;
    int n;
    int *row_of; /* n: of each variable */
    int *place;  /* ncon: which variable a row belongs to */
    int *start, *row,
        *at; /* the Jacobian by columns, rows by variables; from which entry of the functions */
    double *rows, *jacobian; /* of the functions */
    double *z, *w;
    perp__arena arena;
} equilibrium;

/* A pair's row is its variable's. Equations take the free variables that are left, in order. */
static void assign_rows(equilibrium *q)
{
    const perp__nl *nl = q->p->nl;
    int j = 0;
    for (int i = 0; i < q->n; i++) q->row_of[i] = -1;
    for (int i = 0; i < q->n; i++)
        if (nl->pairs.var[i] >= 0) q->row_of[nl->pairs.var[i]] = i;
    for (int i = 0; i < q->n; i++) {
        if (nl->pairs.var[i] >= 0) continue;
        while (q->row_of[j] >= 0) j++;
        q->row_of[j] = i;
    }
    for (j = 0; j < q->n; j++) q->place[q->row_of[j]] = j;
}

/* Sort the entries of each column by their new rows: by counting, as the transpose of the
 * transpose. Returns 0: memory. */
static int sort_entries(equilibrium *q)
{
    const perp__functions *f = &q->p->functions;
    int n = q->n, *first, *next, *column, *entry;
    PERP_TAKE(&q->arena, first, n + 2);
    PERP_TAKE(&q->arena, next, n + 1);
    PERP_TAKE(&q->arena, column, f->nentry);
    PERP_TAKE(&q->arena, entry, f->nentry);
    if (q->arena.failed) return 0;
    for (int e = 0; e < f->nentry; e++) first[q->place[f->row[e]] + 1]++;
    for (int i = 0; i < n; i++) first[i + 1] += first[i];
    memcpy(next, first, (size_t)n * sizeof *next);
    for (int j = 0; j < n; j++)
        for (int e = f->start[j]; e < f->start[j + 1]; e++) {
            int to = next[q->place[f->row[e]]]++;
            column[to] = j;
            entry[to] = e;
        }
    memcpy(q->start, f->start, ((size_t)n + 1) * sizeof *q->start);
    memcpy(next, f->start, (size_t)n * sizeof *next);
    for (int i = 0; i < n; i++)
        for (int k = first[i]; k < first[i + 1]; k++) {
            int to = next[column[k]]++;
            q->row[to] = i;
            q->at[to] = entry[k];
        }
    return 1;
}

static int create(equilibrium *q, perp_program *p)
{
    const perp__functions *f = &p->functions;
    perp__arena *arena = &q->arena;
    *q = (equilibrium){.p = p, .n = p->nl->nvar};
    PERP_TAKE(arena, q->row_of, q->n);
    PERP_TAKE(arena, q->place, q->n);
    PERP_TAKE(arena, q->start, q->n + 1);
    PERP_TAKE(arena, q->row, f->nentry);
    PERP_TAKE(arena, q->at, f->nentry);
    PERP_TAKE(arena, q->rows, f->n);
    PERP_TAKE(arena, q->jacobian, f->nentry);
    PERP_TAKE(arena, q->z, q->n);
    PERP_TAKE(arena, q->w, q->n);
    if (arena->failed) return 0;
    assign_rows(q);
    return sort_entries(q);
}

static int function_at(void *context, const double *z, double *w)
{
    equilibrium *q = context;
    const perp__nl *nl = q->p->nl;
    double sum = 0;
    perp__functions_at(&q->p->functions, z, q->rows, NULL);
    for (int j = 0; j < q->n; j++) {
        int i = q->row_of[j];
        w[j] = q->rows[i] - (nl->pairs.var[i] < 0 ? nl->rlo[i] : 0);
        sum += fabs(w[j]);
    }
    return !isfinite(sum);
}

static int derivative_at(void *context, const double *z, double *values)
{
    equilibrium *q = context;
    int ok = perp__functions_at(&q->p->functions, z, q->rows, q->jacobian);
    for (int e = 0; e < q->p->functions.nentry; e++) values[e] = q->jacobian[q->at[e]];
    return !ok;
}

static int rounding_at(void *context, const double *z, double *bounds)
{
    equilibrium *q = context;
    int ok = perp__functions_rounding(&q->p->functions, z, q->rows);
    for (int j = 0; j < q->n; j++) bounds[j] = q->rows[q->row_of[j]];
    return !ok;
}

/* A dense linear problem. Its certificate is of the pure problem, so only where no bound is another
 * than 0. */
static perp_status solve_dense(equilibrium *q, perp_program_result *result)
{
    size_t n = (size_t)q->n;
    const perp__nl *nl = q->p->nl;
    double *M, *values, *rhs, *zero;
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info, .outcome = PERP_LIMIT};
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    PERP_TAKE(&q->arena, M, n * n);
    PERP_TAKE(&q->arena, rhs, n);
    PERP_TAKE(&q->arena, zero, n);
    PERP_TAKE(&q->arena, values, q->p->functions.nentry);
    if (q->arena.failed) return PERP_ERR_MEMORY;
    function_at(q, zero, rhs);
    derivative_at(q, zero, values);
    for (int j = 0; j < q->n; j++)
        for (int e = q->start[j]; e < q->start[j + 1]; e++)
            M[(size_t)q->row[e] + (size_t)j * n] = values[e];
    perp_lcp lcp = {q->n, M, q->n > 1 ? q->n : 1, rhs, nl->lo, nl->hi};
    o.mixed = 1;
    perp_status status = perp_lcp_solver_create(PERP_LCP_AUTO, q->n, &o, &solver);
    if (status != PERP_OK) return status;
    status = perp_lcp_solve(solver, &lcp, q->z, q->w, &info);
    const double *u = info.outcome == PERP_INFEASIBLE ? perp_lcp_certificate(solver) : NULL;
    for (int j = 0; j < q->n && u; j++)
        if (u[j] > 0) q->p->row_conflicts[q->row_of[j]] = q->p->bound_conflicts[j] = 1;
    perp_lcp_solver_destroy(solver);
    result->method = "lcp";
    result->iterations = info.iterations;
    if (info.outcome == PERP_SOLVED) result->outcome = PERP_PLAN_GLOBAL;
    if (info.outcome == PERP_INFEASIBLE) result->outcome = PERP_PLAN_INFEASIBLE;
    return status;
}

static perp_mcp problem_of(equilibrium *q)
{
    return (perp_mcp){.n = q->n,
                      .lo = q->p->nl->lo,
                      .hi = q->p->nl->hi,
                      .F = function_at,
                      .J = derivative_at,
                      .context = q,
                      .column_start = q->start,
                      .row = q->row,
                      .rounding = rounding_at};
}

static perp_status solve_sparse(equilibrium *q, perp_program_result *result)
{
    const perp__nl *nl = q->p->nl;
    perp_mcp problem = problem_of(q);
    perp_mcp_options o = perp_mcp_options_default();
    perp_mcp_info info = {.size = sizeof info};
    perp_mcp_solver *solver;
    perp_mcp_method method = q->n > MOST_DENSE ? PERP_MCP_MULTIGRID : PERP_MCP_AUTO;
    perp_status status = perp_mcp_solver_create(method, &problem, &o, &solver);
    if (status != PERP_OK) return status;
    memcpy(q->z, nl->start, (size_t)q->n * sizeof *q->z);
    status = perp_mcp_solve(solver, &problem, q->z, q->w, &info);
    perp_mcp_solver_destroy(solver);
    result->iterations += info.iterations;
    result->method = "mcp";
    if (status == PERP_OK && info.outcome == PERP_SOLVED) result->outcome = PERP_PLAN_GLOBAL;
    return status;
}

perp_status perp__program_solve_equilibrium(perp_program *p, perp_program_result *result)
{
    equilibrium q;
    if (!create(&q, p)) {
        perp__arena_clear(&q.arena);
        return PERP_ERR_MEMORY;
    }
    int is_dense = p->kind == PERP_PROGRAM_LCP && q.n <= MOST_DENSE;
    perp_status status = is_dense ? solve_dense(&q, result) : solve_sparse(&q, result);
    if (status == PERP_OK && result->outcome != PERP_PLAN_INFEASIBLE) {
        memcpy(p->x, q.z, (size_t)q.n * sizeof *p->x);
        perp__program_check(p, result);
        result->outcome = perp__program_holds(p, result) ? PERP_PLAN_GLOBAL : PERP_PLAN_LIMIT;
    }
    perp__arena_clear(&q.arena);
    if (status == PERP_OK && is_dense && result->outcome == PERP_PLAN_GLOBAL)
        status = perp__program_judge_equilibrium(p, result);
    return status;
}

static int stay(perp_mcp_solver *solver)
{
    (void)solver;
    return 0;
}

perp_status perp__program_judge_equilibrium(perp_program *p, perp_program_result *result)
{
    equilibrium q;
    perp_mcp_options o = perp_mcp_options_default();
    perp_mcp_info info = {.size = sizeof info, .outcome = PERP_LIMIT};
    perp_mcp_solver *solver = NULL;
    perp_status status = create(&q, p) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        perp_mcp problem = problem_of(&q);
        o.tol = p->options.tol;
        status = perp_mcp_solver_create(q.n > MOST_DENSE ? PERP_MCP_MULTIGRID : PERP_MCP_JOSEPHY,
                                        &problem, &o, &solver);
        memcpy(q.z, p->x, (size_t)q.n * sizeof *q.z);
        if (status == PERP_OK) status = perp__mcp_solve_by(solver, &problem, stay, q.z, q.w, &info);
        perp_mcp_solver_destroy(solver);
    }
    if (info.outcome != PERP_SOLVED) result->outcome = PERP_PLAN_LIMIT;
    perp__arena_clear(&q.arena);
    return status;
}
