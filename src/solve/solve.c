/* The registry, the driver that believes no solver, and the residual. */

#include "base/base.h"
#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    const perp__solver *solver;
} methods[] = {
#define PERP_SOLVER(name, NAME, problem, summary) {#name, summary, &perp__##name},
#include "perp/solvers.def"
#undef PERP_SOLVER
};

perp_method perp_method_find(const char *name)
{
    int m = 0;
    while (m < PERP_METHOD_COUNT && (!name || strcmp(methods[m].name, name) != 0)) m++;
    return (perp_method)m;
}

const char *perp_method_name(perp_method method)
{
    return (unsigned)method < PERP_METHOD_COUNT ? methods[method].name : "unknown";
}

const char *perp_method_summary(perp_method method)
{
    return (unsigned)method < PERP_METHOD_COUNT ? methods[method].summary : "";
}

perp_solver_options perp_solver_options_default(perp_method method)
{
    (void)method;
    return (perp_solver_options){.tol = PERP_TOL_SOLVED, .max_iter = 0};
}

perp_status perp_solver_create(perp_method method, int n_max, const perp_solver_options *options,
                               perp_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    perp_solver_options o = options ? *options : perp_solver_options_default(method);
    if ((unsigned)method >= PERP_METHOD_COUNT || n_max < 0 || !(o.tol > 0 && o.tol <= 1e-2) ||
        o.max_iter < 0)
        return PERP_ERR_ARG;
    perp_solver *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    size_t n = (size_t)n_max + 1;
    s->method = method;
    s->options = o;
    s->n_max = n_max;
    s->basis = calloc(n, 1);
    s->ray = calloc(4 * n, sizeof(double));
    s->work = malloc((methods[method].solver->doubles(n_max) + 1) * sizeof(double));
    s->index = malloc((methods[method].solver->ints(n_max) + 1) * sizeof(int));
    if (!s->basis || !s->ray || !s->work || !s->index) {
        perp_solver_destroy(s);
        return PERP_ERR_MEMORY;
    }
    s->certificate = s->ray + n;
    s->z = s->ray + 2 * n;
    s->w = s->ray + 3 * n;
    *out = s;
    return PERP_OK;
}

void perp_solver_destroy(perp_solver *s)
{
    if (!s) return;
    free(s->basis);
    free(s->ray);
    free(s->work);
    free(s->index);
    free(s);
}

/* Residuals and certificates ---------------------------------------------------------------------
 */

double perp_lcp_residual(const perp_lcp *lcp, const double *z, double *w)
{
    double residual = 0;
    for (int i = 0; i < lcp->n; i++) {
        double sum = lcp->q[i];
        for (int j = 0; j < lcp->n; j++)
            sum += lcp->M[(size_t)j * (size_t)lcp->ldm + (size_t)i] * z[j];
        if (w) w[i] = sum;
        double r = fabs(z[i] < sum ? z[i] : sum);
        if (isnan(z[i]) || isnan(sum)) r = (double)NAN;
        if (!(r <= residual)) residual = r;
        if (isnan(residual)) return residual;
    }
    return residual;
}

int perp_lcp_is_infeasible(const perp_lcp *lcp, const double *u, double tol)
{
    double qu = 0, qu_terms = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (!(u[i] >= 0)) return 0;
        qu += lcp->q[i] * u[i];
        qu_terms += fabs(lcp->q[i] * u[i]);
    }
    if (!(qu < -tol * qu_terms) || qu_terms == 0) return 0;
    for (int j = 0; j < lcp->n; j++) {
        double sum = 0, terms = 0;
        for (int i = 0; i < lcp->n; i++) {
            double x = lcp->M[(size_t)j * (size_t)lcp->ldm + (size_t)i] * u[i];
            sum += x;
            terms += fabs(x);
        }
        if (!(sum <= tol * terms)) return 0;
    }
    return 1;
}

/* A row that no z >= 0 can make nonnegative, else the ray of z: both are tried as certificates. */
static void find_certificate(perp_solver *s, const perp_lcp *lcp)
{
    double tol = 1e-10;
    for (int i = 0; i < lcp->n && !s->has_certificate; i++) {
        memset(s->certificate, 0, (size_t)lcp->n * sizeof(double));
        s->certificate[i] = 1;
        s->has_certificate = lcp->q[i] < 0 && perp_lcp_is_infeasible(lcp, s->certificate, tol);
    }
    if (s->has_certificate || !s->has_ray) return;
    for (int i = 0; i < lcp->n; i++) s->certificate[i] = fmax(s->ray[i], 0);
    s->has_certificate = perp_lcp_is_infeasible(lcp, s->certificate, tol);
}

/* Driver -----------------------------------------------------------------------------------------
 */

static int problem_is_finite(const perp_lcp *lcp)
{
    double sum = 0; /* x - x is 0, or NaN for what is not finite */
    for (int j = 0; j < lcp->n; j++) {
        const double *column = lcp->M + (size_t)j * (size_t)lcp->ldm;
        sum += lcp->q[j] - lcp->q[j];
        for (int i = 0; i < lcp->n; i++) sum += column[i] - column[i];
    }
    return sum == 0;
}

static perp_outcome solve_and_check(perp_solver *s, const perp_lcp *lcp, perp_solve_info *info)
{
    double scale = 0;
    if (!problem_is_finite(lcp)) return PERP_BAD_INPUT;
    for (int i = 0; i < lcp->n; i++) scale = fmax(scale, fabs(lcp->q[i]));
    perp_outcome outcome = methods[s->method].solver->solve(s, lcp, s->z, &info->iterations);
    info->residual = perp_lcp_residual(lcp, s->z, s->w);
    info->residual_scaled = info->residual / (1 + scale);
    if (info->residual_scaled <= s->options.tol) return PERP_SOLVED;
    if (outcome == PERP_SOLVED) return PERP_LIMIT;
    if (outcome == PERP_RAY) find_certificate(s, lcp);
    return outcome == PERP_RAY && s->has_certificate ? PERP_INFEASIBLE : outcome;
}

perp_status perp_lcp_solve(perp_solver *s, const perp_lcp *lcp, double *z, double *w,
                           perp_solve_info *info)
{
    if (!s || !lcp || lcp->n < 0 || (lcp->n > 0 && (!lcp->M || !lcp->q || !z)) ||
        lcp->ldm < (lcp->n > 1 ? lcp->n : 1))
        return PERP_ERR_ARG;
    if (lcp->n > s->n_max) return PERP_ERR_DIM;
    perp_solve_info result = {.method = s->method,
                              .iterations = 0,
                              .residual = (double)NAN,
                              .residual_scaled = (double)NAN};
    size_t bytes = (size_t)lcp->n * sizeof(double);
    s->has_basis = s->has_ray = s->has_certificate = 0;
    result.outcome = solve_and_check(s, lcp, &result);
    if (result.outcome != PERP_BAD_INPUT && bytes) {
        memcpy(z, s->z, bytes);
        if (w) memcpy(w, s->w, bytes);
    }
    if (info) *info = result;
    return PERP_OK;
}

const double *perp_lcp_certificate(const perp_solver *s)
{
    return s && s->has_certificate ? s->certificate : NULL;
}

const double *perp_lcp_ray(const perp_solver *s)
{
    return s && s->has_ray ? s->ray : NULL;
}

const unsigned char *perp_lcp_basis(const perp_solver *s)
{
    return s && s->has_basis ? s->basis : NULL;
}
