/* A plan's program on IPOPT. The relaxation of the pairs is driven down from solve to solve, each starting
 * from the last. */

#include "external/nlp.h"
#include "plan/nlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct nlp {
    perp__program *g;
    perp__pairing pairing;
    const perp__ipm_options *options;
    size_t nW, n, m, K;
    long *row_of; /* nrow * K: IPOPT's row, or -1 */
    double *lambda, *r, *jac, *grad, *hess;
    long njac, nhess;
    double cost;
    int iterations, last; /* of all solves before, of this one */
    double infeasibility, dual;
} nlp;

/* Index of column `col` of stage k in (w, p); -1: a given initial state. */
static long index_of(const nlp *u, int col, size_t k)
{
    const perp__program *g = u->g;
    if (col >= g->nx + g->nw) return (long)u->nW + col - g->nx - g->nw;
    if (col >= g->nx) return (long)(col - g->nx) * g->K + (long)k;
    if (k > 0) return (long)((g->npoint - 1) * g->nb + col) * g->K + (long)k - 1;
    return g->initial.p[col] >= 0 ? (long)u->nW + g->initial.p[col] : -1;
}

static int eval_f(void *context, const double *x, double *f)
{
    nlp *u = context;
    perp__program_values(u->g, &u->pairing, x, x + u->nW, u->r, f);
    return 1;
}

static int eval_gradient(void *context, const double *x, double *grad)
{
    nlp *u = context;
    const perp__program *g = u->g;
    memset(grad, 0, u->n * sizeof *grad);
    for (int i = 0; i < g->np; i++) grad[u->nW + (size_t)i] = g->cost.time[i];
    if (g->grad.n == 0) return 1;
    perp__program_derivatives(u->g, &u->pairing, x, x + u->nW, NULL, 0, u->jac, u->grad, NULL);
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long at = index_of(u, g->grad.col[e], k);
            if (at >= 0) grad[at] += u->grad[(size_t)e * u->K + k];
        }
    return 1;
}

static int eval_g(void *context, const double *x, double *r)
{
    nlp *u = context;
    double cost;
    perp__program_values(u->g, &u->pairing, x, x + u->nW, u->r, &cost);
    for (size_t i = 0; i < (size_t)u->g->nrow * u->K; i++)
        if (u->row_of[i] >= 0) r[u->row_of[i]] = u->r[i];
    return 1;
}

static int eval_jacobian(void *context, const double *x, int *row, int *col, double *value)
{
    nlp *u = context;
    const perp__program *g = u->g;
    long z = 0;
    if (value)
        perp__program_derivatives(u->g, &u->pairing, x, x + u->nW, NULL, 0, u->jac, u->grad, NULL);
    for (int e = 0; e < g->jac.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long r = u->row_of[(size_t)g->jac.row[e] * u->K + k], c = index_of(u, g->jac.col[e], k);
            if (r < 0 || c < 0) continue;
            if (value) {
                value[z++] = u->jac[(size_t)e * u->K + k];
            } else {
                row[z] = (int)r;
                col[z++] = (int)c;
            }
        }
    return 1;
}

static int eval_hessian(void *context, const double *x, double sigma, const double *lambda,
                        int *row, int *col, double *value)
{
    nlp *u = context;
    const perp__program *g = u->g;
    long z = 0;
    if (value) {
        for (size_t i = 0; i < (size_t)g->nrow * u->K; i++)
            u->lambda[i] = u->row_of[i] >= 0 ? lambda[u->row_of[i]] : 0;
        perp__program_derivatives(u->g, &u->pairing, x, x + u->nW, u->lambda, sigma, u->jac,
                                  u->grad, u->hess);
    }
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long i = index_of(u, g->hess.row[e], k), j = index_of(u, g->hess.col[e], k);
            if (i < 0 || j < 0) continue;
            if (value) {
                value[z] = u->hess[(size_t)e * u->K + k];
                if (i == j && g->hess.row[e] != g->hess.col[e]) value[z] *= 2;
            } else {
                row[z] = (int)(i > j ? i : j);
                col[z] = (int)(i > j ? j : i);
            }
            z++;
        }
    return 1;
}

static int progress(void *context, int iteration, double cost, double primal, double dual,
                    double mu, double alpha)
{
    nlp *u = context;
    perp__ipm_progress p = {u->iterations + iteration, cost, primal, dual,
                            u->pairing.relaxation,     mu,   alpha,  0};
    u->last = iteration;
    u->infeasibility = primal;
    u->dual = dual;
    return !u->options->progress || !u->options->progress(u->options->context, &p);
}

int perp__ipopt_available(void)
{
    return perp__nlp_available();
}

static int allocate(nlp *u)
{
    const perp__program *g = u->g;
    size_t rows = (size_t)g->nrow * u->K;
    u->row_of = malloc((rows + 1) * sizeof *u->row_of);
    u->lambda = malloc((rows + 1) * sizeof *u->lambda);
    u->r = malloc((rows + 1) * sizeof *u->r);
    u->jac = malloc(((size_t)g->jac.n * u->K + 1) * sizeof *u->jac);
    u->grad = malloc(((size_t)g->grad.n * u->K + 1) * sizeof *u->grad);
    u->hess = malloc(((size_t)g->hess.n * u->K + 1) * sizeof *u->hess);
    return u->row_of && u->lambda && u->r && u->jac && u->grad && u->hess;
}

/* IPOPT's rows are those that are not off; entries of the derivatives are counted. */
static void lay_out(nlp *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = u->pairing.bound;
    for (size_t i = 0; i < (size_t)g->nrow * u->K; i++)
        u->row_of[i] = b->rlo[i] < -1e19 && b->rhi[i] > 1e19 ? -1 : (long)u->m++;
    for (size_t k = 0; k < u->K; k++) {
        for (int e = 0; e < g->jac.n; e++)
            u->njac += u->row_of[(size_t)g->jac.row[e] * u->K + k] >= 0 &&
                       index_of(u, g->jac.col[e], k) >= 0;
        for (int e = 0; e < g->hess.n; e++)
            u->nhess += index_of(u, g->hess.row[e], k) >= 0 && index_of(u, g->hess.col[e], k) >= 0;
    }
}

perp__ipm_result perp__ipopt_solve(perp__program *g, const perp__ipm_options *o, double *w,
                                   double *p, double *lambda, double *lower, double *upper)
{
    perp__ipm_result result = {.status = IPM_MEMORY};
    nlp u = {.g = g,
             .pairing = {o->bound ? o->bound : &g->bound, o->relaxation, o->penalty},
             .options = o,
             .K = (size_t)g->K};
    u.nW = (size_t)g->nw * u.K;
    u.n = u.nW + (size_t)g->np;
    double *x = malloc((u.n + 1) * sizeof *x), *lo = malloc((u.n + 1) * sizeof *lo);
    double *hi = malloc((u.n + 1) * sizeof *hi), *zl = calloc(u.n + 1, sizeof *zl);
    double *zu = calloc(u.n + 1, sizeof *zu), *y = NULL, *rlo = NULL, *rhi = NULL;
    if (!x || !lo || !hi || !zl || !zu || !allocate(&u)) goto done;
    lay_out(&u);
    y = calloc(u.m + 1, sizeof *y);
    rlo = malloc((u.m + 1) * sizeof *rlo);
    rhi = malloc((u.m + 1) * sizeof *rhi);
    if (!y || !rlo || !rhi) goto done;
    memcpy(x, w, u.nW * sizeof *x);
    memcpy(x + u.nW, p, (size_t)g->np * sizeof *x);
    for (size_t i = 0; i < u.n; i++) {
        lo[i] = i < u.nW ? u.pairing.bound->wlo[i] : u.pairing.bound->plo[i - u.nW];
        hi[i] = i < u.nW ? u.pairing.bound->whi[i] : u.pairing.bound->phi[i - u.nW];
    }
    for (size_t i = 0; i < (size_t)g->nrow * u.K; i++) {
        if (u.row_of[i] < 0) continue;
        rlo[u.row_of[i]] = u.pairing.bound->rlo[i];
        rhi[u.row_of[i]] = u.pairing.bound->rhi[i];
    }
    perp__nlp_problem problem = {(int)u.n, (int)u.m,      (int)u.njac,  (int)u.nhess, lo,
                                 hi,       rlo,           rhi,          eval_f,       eval_gradient,
                                 eval_g,   eval_jacobian, eval_hessian, progress,     &u};
    perp__nlp_options options = {.tol = o->tol, .max_iter = o->max_iter};
    double relaxation = fmin(1, o->relaxation);
    for (;;) {
        u.pairing.relaxation = relaxation = fmax(relaxation, o->relaxation_min);
        perp__nlp_status status = perp__nlp_solve(&problem, &options, x, y, zl, zu, &u.cost);
        u.iterations += u.last;
        result.status = status == PERP__NLP_STOPPED       ? IPM_STOPPED
                        : status == PERP__NLP_SOLVED      ? IPM_SOLVED
                        : status == PERP__NLP_LIMIT       ? IPM_LIMIT
                        : status == PERP__NLP_UNAVAILABLE ? IPM_NOT_FINITE
                        : status == PERP__NLP_MEMORY      ? IPM_MEMORY
                                                          : IPM_STALLED;
        if (status == PERP__NLP_STOPPED || status == PERP__NLP_MEMORY ||
            relaxation <= o->relaxation_min)
            break;
        relaxation *= 0.01;
        options.is_warm = 1;
    }
    memcpy(w, x, u.nW * sizeof *w);
    memcpy(p, x + u.nW, (size_t)g->np * sizeof *p);
    memcpy(lower, zl, u.nW * sizeof *lower);
    memcpy(upper, zu, u.nW * sizeof *upper);
    for (size_t i = 0; i < (size_t)g->nrow * u.K; i++)
        lambda[i] = u.row_of[i] >= 0 ? y[u.row_of[i]] : 0;
    result.iterations = u.iterations;
    result.cost = u.cost;
    result.infeasibility = u.infeasibility;
    result.dual = u.dual;
    result.relaxation = relaxation;
done:
    free(x);
    free(lo);
    free(hi);
    free(zl);
    free(zu);
    free(y);
    free(rlo);
    free(rhi);
    free(u.row_of);
    free(u.lambda);
    free(u.r);
    free(u.jac);
    free(u.grad);
    free(u.hess);
    return result;
}
