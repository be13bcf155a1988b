/* Nonlinear complementarity problems: the registry, the driver that believes no method, the
 * residual. */

#include "solve/mcp.h"
#include "base/base.h"
#include "base/tol.h"
#include "base/words.h"
#include "solve/newton.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const perp__word word_rows[] = {
#define PERP_MCP_METHOD(name, NAME, summary) {#name, summary},
#include "perp/mcp.def"
#undef PERP_MCP_METHOD
};
static int (*const methods[])(perp_mcp_solver *) = {
#define PERP_MCP_METHOD(name, NAME, summary) perp__mcp_##name,
#include "perp/mcp.def"
#undef PERP_MCP_METHOD
};
static const perp__words words = PERP_WORDS(word_rows);

PERP_WORD_FUNCTIONS(perp_mcp_method, perp_mcp_method, words)
PERP_WORD_SUMMARY(perp_mcp_method, perp_mcp_method_summary, words)

void perp_mcp_options_fill(perp_mcp_options *options, size_t size)
{
    perp_mcp_options own = {.tol = PERP_TOL_NONLINEAR};
    perp__options_give(options, size, &own, sizeof own);
}

/* Life ----------------------------------------------------------------------------------------- */

static int pattern_is_valid(const perp_mcp *p)
{
    if (!p->row || p->column_start[0] != 0) return 0;
    for (int j = 0; j < p->n; j++) {
        if (p->column_start[j + 1] < p->column_start[j]) return 0;
        for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++) {
            int ascending = e == p->column_start[j] || p->row[e] > p->row[e - 1];
            if (p->row[e] < 0 || p->row[e] >= p->n || !ascending) return 0;
        }
    }
    return 1;
}

/* The pattern of diag + J by rows. Columns are visited in order, so that each row is ascending. */
static void transpose_pattern(perp_mcp_solver *s, const perp_mcp *p)
{
    int n = s->n;
    for (int pass = 0; pass < 2; pass++) {
        int *next = s->swap;
        for (int i = 0; i < n && pass == 1; i++) next[i] = s->start[i];
        if (pass == 0) memset(s->start, 0, ((size_t)n + 1) * sizeof(int));
        for (int j = 0; j < n; j++) {
            int has_diagonal = 0;
            for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++) {
                int i = p->row[e];
                has_diagonal |= i == j;
                if (pass == 0) {
                    s->start[i + 1]++;
                    continue;
                }
                if (i == j) s->diagonal[j] = next[i];
                s->column[next[i]] = j;
                s->slot[e] = next[i]++;
            }
            if (has_diagonal) continue;
            if (pass == 0) {
                s->start[j + 1]++;
                continue;
            }
            s->column[next[j]] = j;
            s->diagonal[j] = next[j]++;
        }
        for (int i = 0; i < n && pass == 0; i++) s->start[i + 1] += s->start[i];
    }
}

static perp_status create_sparse(perp_mcp_solver *s, const perp_mcp *p)
{
    size_t n = (size_t)s->n + 1, entries = (size_t)s->nnz + n;
    s->start = malloc(n * sizeof(int));
    s->column = malloc(entries * sizeof(int));
    s->slot = malloc(entries * sizeof(int));
    s->diagonal = malloc(n * sizeof(int));
    s->value = malloc(entries * sizeof(double));
    if (!s->start || !s->column || !s->slot || !s->diagonal || !s->value) return PERP_ERR_MEMORY;
    transpose_pattern(s, p);
    if (s->method == PERP_MCP_JOSEPHY || s->method == PERP_MCP_MULTIGRID) return PERP_OK;
    if (s->n > 0) s->lu = perp__sparse_lu_create(s->n, s->start, s->column);
    return s->lu || s->n == 0 ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status create_parts(perp_mcp_solver *s, const perp_mcp *p)
{
    size_t n = (size_t)s->n + 1, nnz = (size_t)s->nnz + 1;
    s->z = calloc((PERP__NEWTON_WORK + 11) * n, sizeof(double));
    s->J = malloc(nnz * sizeof(double));
    s->swap = malloc(5 * n * sizeof(int));
    if (!s->z || !s->J || !s->swap) return PERP_ERR_MEMORY;
    s->w = s->z + n;
    s->best = s->w + n;
    s->q = s->best + n;
    s->next = s->q + n;
    s->trial = s->next + n;
    s->settled = s->trial + n;
    s->columns = s->swap + n;
    s->fresh = s->columns + n;
    s->seen = s->fresh + n;
    s->state = s->seen + n;
    s->terms = s->settled + n;
    s->data = s->terms + n;
    s->own = s->data + n;
    s->rho = s->own + n;
    s->work = s->rho + n;
    perp_status status = p->column_start ? create_sparse(s, p) : PERP_OK;
    if (status != PERP_OK || (p->column_start && s->method != PERP_MCP_JOSEPHY)) return status;
    s->factors = calloc(n * n + 1, sizeof(double));
    if (!s->factors) return PERP_ERR_MEMORY;
    if (s->method != PERP_MCP_JOSEPHY && s->method != PERP_MCP_AUTO) return PERP_OK;
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    o.mixed = 1;
    return perp_lcp_solver_create(PERP_LCP_AUTO, s->n, &o, &s->linear);
}

perp_status perp_mcp_solver_create(perp_mcp_method method, const perp_mcp *p,
                                   const perp_mcp_options *options, perp_mcp_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    perp_mcp_options o = perp_mcp_options_default();
    if (!perp__options_take(&o, sizeof o, options) || (unsigned)method >= PERP_MCP_METHOD_COUNT ||
        !p || p->n < 0 || p->n > 1 << 20 || !(o.tol > 0 && o.tol <= PERP_TOL_LARGEST) ||
        o.max_iter < 0 || ((!p->column_start || method == PERP_MCP_JOSEPHY) && p->n > 1 << 15) ||
        (p->column_start && !pattern_is_valid(p)))
        return PERP_ERR_ARG;
    perp_mcp_solver *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    s->method = method;
    s->options = o;
    s->n = p->n;
    if (s->options.max_iter == 0) s->options.max_iter = 200;
    s->nnz = p->column_start ? p->column_start[p->n] : p->n * p->n;
    perp_status status = create_parts(s, p);
    if (status != PERP_OK) {
        perp_mcp_solver_destroy(s);
        return status;
    }
    *out = s;
    return PERP_OK;
}

void perp_mcp_solver_destroy(perp_mcp_solver *s)
{
    if (!s) return;
    perp__sparse_lu_destroy(s->lu);
    perp_lcp_solver_destroy(s->linear);
    free(s->z);
    free(s->J);
    free(s->swap);
    free(s->factors);
    free(s->start);
    free(s->column);
    free(s->slot);
    free(s->diagonal);
    free(s->value);
    free(s);
}

/* Driver --------------------------------------------------------------------------------------- */

double perp_mcp_residual(const perp_mcp *p, const double *z, double *w)
{
    if (p->F(p->context, z, w)) return (double)NAN;
    double largest = 0;
    for (int i = 0; i < p->n; i++) {
        double lo = p->lo ? p->lo[i] : 0, hi = p->hi ? p->hi[i] : (double)INFINITY;
        double r = fabs(perp__natural(z[i], w[i], lo, hi));
        if (isnan(r) || !isfinite(z[i]) || !isfinite(w[i])) return (double)NAN;
        largest = fmax(largest, r);
    }
    return largest;
}

/* Finite, with bounds the right way round? Moves z between them. */
static int prepare(const perp_mcp *p, double *z)
{
    for (int i = 0; i < p->n; i++) {
        double lo = p->lo ? p->lo[i] : 0, hi = p->hi ? p->hi[i] : (double)INFINITY;
        if (!(lo <= hi) || lo == (double)INFINITY || hi == -(double)INFINITY || !isfinite(z[i]))
            return 0;
        z[i] = fmin(fmax(z[i], lo), hi);
    }
    return 1;
}

/* Are the entries of J where those of the shape were? */
static int has_pattern(const perp_mcp_solver *s, const perp_mcp *p)
{
    for (int j = 0; j < s->n && p->column_start; j++) {
        if (p->column_start[j] > p->column_start[j + 1] || p->column_start[j] < 0) return 0;
        for (int e = p->column_start[j]; e < p->column_start[j + 1]; e++) {
            int i = p->row[e], at = e < s->nnz ? s->slot[e] : -1;
            if (i < 0 || i >= s->n || at < s->start[i] || at >= s->start[i + 1] ||
                s->column[at] != j)
                return 0;
        }
    }
    return 1;
}

perp_status perp__mcp_solve_by(perp_mcp_solver *s, const perp_mcp *p, perp__mcp_steps steps,
                               double *z, double *w, perp_mcp_info *info)
{
    if (!PERP__FITS(info) || !s || !p || !p->F || !p->J || (p->n > 0 && !z) ||
        !p->column_start != !s->start || (p->column_start && !p->row))
        return PERP_ERR_ARG;
    if (p->n != s->n || (p->column_start && p->column_start[p->n] != s->nnz) || !has_pattern(s, p))
        return PERP_ERR_DIM;
    perp_mcp_info result = {.size = sizeof result,
                            .outcome = PERP_BAD_INPUT,
                            .method = s->method,
                            .residual = (double)NAN,
                            .error = (double)NAN};
    size_t bytes = (size_t)s->n * sizeof(double);
    s->problem = p;
    s->out_of_memory = 0;
    if (bytes) memcpy(s->z, z, bytes);
    if (prepare(p, s->z)) {
        result.iterations = steps(s);
        result.error = perp__mcp_judge(s);
        result.outcome = result.error <= s->options.tol ? PERP_SOLVED : PERP_LIMIT;
        result.residual = perp_mcp_residual(p, s->z, s->w);
        if (bytes) memcpy(z, s->z, bytes);
        if (bytes && w) memcpy(w, s->w, bytes);
    }
    if (s->out_of_memory) result.outcome = PERP_LIMIT; /* the methods took another way */
    perp__result_give(info, &result, sizeof result);
    return s->out_of_memory ? PERP_ERR_MEMORY : PERP_OK;
}

perp_status perp_mcp_solve(perp_mcp_solver *s, const perp_mcp *p, double *z, double *w,
                           perp_mcp_info *info)
{
    return s ? perp__mcp_solve_by(s, p, methods[s->method], z, w, info) : PERP_ERR_ARG;
}

/* Is z solved? Else it is kept if it is the best point so far. */
static int is_settled(perp_mcp_solver *s, double *least)
{
    if (perp__mcp_judge(s) <= s->options.tol) return 1;
    double residual = perp_mcp_residual(s->problem, s->z, s->w);
    if (residual < *least) {
        *least = residual;
        memcpy(s->settled, s->z, (size_t)s->n * sizeof(double));
    }
    return 0;
}

/* auto: each method goes on where the one before it ended; then all of them from other points,
 * which are the same every time. */
int perp__mcp_auto(perp_mcp_solver *s)
{
    enum { STARTS = 10 };
    const perp_mcp *p = s->problem;
    size_t bytes = (size_t)s->n * sizeof(double);
    double least = (double)INFINITY;
    int steps = 0;
    memcpy(s->settled, s->z, bytes);
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < s->n && start > 0; i++) {
            double lo = p->lo ? p->lo[i] : 0, hi = p->hi ? p->hi[i] : (double)INFINITY;
            double x = ldexp((double)((i + 1) * (2 * start + 5) % 13 + 1) / 7, (start + 1) / 2);
            if (isfinite(lo))
                s->z[i] = fmin(lo + x, hi);
            else if (isfinite(hi))
                s->z[i] = hi - x;
            else if (start % 2)
                s->z[i] = x;
            else
                s->z[i] = -x;
        }
        steps += perp__mcp_fb(s);
        if (is_settled(s, &least)) return steps;
        steps += perp__mcp_min(s);
        if (is_settled(s, &least)) return steps;
        if (!s->linear) continue;
        steps += perp__mcp_josephy(s);
        if (is_settled(s, &least)) return steps;
    }
    memcpy(s->z, s->settled, bytes);
    return steps;
}
