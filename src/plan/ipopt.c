/* A plan's program on IPOPT, in the program's units. The relaxation of the pairs is driven down
 * from solve to solve, each starting from the last. */

#include "base/tol.h"
#include "external/nlp.h"
#include "plan/nlp.h"

#include <math.h>
#include <string.h>

typedef struct nlp {
    perp__program *g;
    perp__pairing pairing;
    const perp__ipm_options *options;
    size_t nW, n, m, K;
    long *row_of; /* nrow * K: IPOPT's row, or -1 */
    double *lambda, *r, *jac, *grad, *hess;
    double *x, *lo, *hi, *zl, *zu; /* n: the unknowns, their bounds, multipliers of these */
    double *unit, *plain;          /* n: of the unknowns; w and p without units */
    double *y, *rlo, *rhi;         /* nrow * K; IPOPT has m of them */
    long njac, nhess;
    double cost, weight;  /* without, and of it as IPOPT sees it */
    int iterations, last; /* of all solves before, of this one */
    double infeasibility, dual;
    perp__arena arena;
} nlp;

static double unit_of_row(const nlp *u, int row)
{
    return u->g->unit.r[row];
}

/* w and p of IPOPT's x. */
static const double *plain(nlp *u, const double *x)
{
    for (size_t i = 0; i < u->n; i++) u->plain[i] = x[i] * u->unit[i];
    return u->plain;
}

static void evaluate(nlp *u, const double *x)
{
    const double *w = plain(u, x);
    perp__program_values(u->g, &u->pairing, w, w + u->nW, u->r, &u->cost);
    perp__program_rows_in_units(u->g, u->r);
}

/* Of scale * cost + lambda'r, without units. */
static void differentiate(nlp *u, const double *x, const double *lambda, double scale, double *hess)
{
    const double *w = plain(u, x);
    perp__program_derivatives(u->g, &u->pairing, w, w + u->nW, lambda, scale, u->jac, u->grad,
                              hess);
}

static int eval_f(void *context, const double *x, double *f)
{
    nlp *u = context;
    evaluate(u, x);
    *f = u->weight * u->cost;
    return 1;
}

static int eval_gradient(void *context, const double *x, double *grad)
{
    nlp *u = context;
    const perp__program *g = u->g;
    memset(grad, 0, u->n * sizeof *grad);
    for (int i = 0; i < g->np; i++) grad[u->nW + (size_t)i] = g->cost.time[i];
    if (g->grad.n > 0) differentiate(u, x, NULL, 0, NULL);
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long at = perp__program_place(u->g, g->grad.col[e], (int)k);
            if (at >= 0) grad[at] += u->grad[(size_t)e * u->K + k];
        }
    for (size_t i = 0; i < u->n; i++) grad[i] *= u->weight * u->unit[i];
    return 1;
}

static int eval_g(void *context, const double *x, double *r)
{
    nlp *u = context;
    evaluate(u, x);
    for (size_t i = 0; i < (size_t)u->g->nrow * u->K; i++)
        if (u->row_of[i] >= 0) r[u->row_of[i]] = u->r[i];
    return 1;
}

static int eval_jacobian(void *context, const double *x, int *row, int *col, double *value)
{
    nlp *u = context;
    const perp__program *g = u->g;
    long z = 0;
    if (value) differentiate(u, x, NULL, 0, NULL);
    for (int e = 0; e < g->jac.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long r = u->row_of[(size_t)g->jac.row[e] * u->K + k],
                 c = perp__program_place(u->g, g->jac.col[e], (int)k);
            if (r < 0 || c < 0) continue;
            if (value) {
                value[z++] =
                    u->jac[(size_t)e * u->K + k] * (u->unit[c] / unit_of_row(u, g->jac.row[e]));
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
            u->lambda[i] =
                u->row_of[i] >= 0 ? lambda[u->row_of[i]] / unit_of_row(u, (int)(i / u->K)) : 0;
        differentiate(u, x, u->lambda, u->weight * sigma, u->hess);
    }
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long i = perp__program_place(u->g, g->hess.row[e], (int)k),
                 j = perp__program_place(u->g, g->hess.col[e], (int)k);
            if (i < 0 || j < 0) continue;
            if (value) {
                value[z] = u->hess[(size_t)e * u->K + k] * (u->unit[i] * u->unit[j]);
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
    perp__ipm_progress p = {.iteration = u->iterations + iteration,
                            .cost = cost / u->weight,
                            .infeasibility = primal,
                            .dual = dual,
                            .relaxation = u->pairing.relaxation,
                            .barrier = mu,
                            .step = alpha};
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
    double **of_n[] = {&u->x, &u->lo, &u->hi, &u->zl, &u->zu, &u->unit, &u->plain};
    double **of_rows[] = {&u->lambda, &u->r, &u->y, &u->rlo, &u->rhi};
    for (int i = 0; i < 7; i++) PERP_TAKE(&u->arena, *of_n[i], u->n);
    for (int i = 0; i < 5; i++) PERP_TAKE(&u->arena, *of_rows[i], rows);
    PERP_TAKE(&u->arena, u->row_of, rows);
    PERP_TAKE(&u->arena, u->jac, (size_t)g->jac.n * u->K);
    PERP_TAKE(&u->arena, u->grad, (size_t)g->grad.n * u->K);
    PERP_TAKE(&u->arena, u->hess, (size_t)g->hess.n * u->K);
    return !u->arena.failed;
}

/* IPOPT's rows are those that are not off; entries of the derivatives are counted. */
static void lay_out(nlp *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = u->pairing.bound;
    for (size_t i = 0; i < (size_t)g->nrow * u->K; i++)
        u->row_of[i] =
            b->rlo[i] < -PERP_NLP_INFINITE && b->rhi[i] > PERP_NLP_INFINITE ? -1 : (long)u->m++;
    for (size_t k = 0; k < u->K; k++) {
        for (int e = 0; e < g->jac.n; e++)
            u->njac += u->row_of[(size_t)g->jac.row[e] * u->K + k] >= 0 &&
                       perp__program_place(u->g, g->jac.col[e], (int)k) >= 0;
        for (int e = 0; e < g->hess.n; e++)
            u->nhess += perp__program_place(u->g, g->hess.row[e], (int)k) >= 0 &&
                        perp__program_place(u->g, g->hess.col[e], (int)k) >= 0;
    }
}

static void set_bounds(nlp *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = u->pairing.bound;
    for (size_t i = 0; i < u->n; i++) {
        int is_w = i < u->nW;
        size_t j = is_w ? i : i - u->nW;
        u->unit[i] = is_w ? g->unit.w[j / u->K] : g->unit.p[j];
        u->lo[i] = (is_w ? b->wlo : b->plo)[j] / u->unit[i];
        u->hi[i] = (is_w ? b->whi : b->phi)[j] / u->unit[i];
    }
    for (size_t i = 0; i < (size_t)g->nrow * u->K; i++) {
        if (u->row_of[i] < 0) continue;
        u->rlo[u->row_of[i]] = b->rlo[i] / unit_of_row(u, (int)(i / u->K));
        u->rhi[u->row_of[i]] = b->rhi[i] / unit_of_row(u, (int)(i / u->K));
    }
}

/* Weigh the cost by its slopes at the start, or where these are 0 by its curvature, so that its own
 * unit does not count. */
static void weigh_cost(nlp *u)
{
    const perp__program *g = u->g;
    double slope = 0, curvature = 0;
    u->weight = 1;
    eval_gradient(u, u->x, u->zl);
    for (size_t i = 0; i < u->n; i++) {
        slope += fabs(u->zl[i]);
        u->zl[i] = 0;
    }
    memset(u->lambda, 0, (size_t)g->nrow * u->K * sizeof *u->lambda);
    differentiate(u, u->x, u->lambda, 1, u->hess);
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            long i = perp__program_place(u->g, g->hess.row[e], (int)k),
                 j = perp__program_place(u->g, g->hess.col[e], (int)k);
            if (i >= 0 && j >= 0)
                curvature += fabs(u->hess[(size_t)e * u->K + k]) * u->unit[i] * u->unit[j];
        }
    double norm = fmax(slope, curvature) / (double)u->K;
    if (isfinite(norm) && norm > 0) u->weight = exp2(-round(log2(norm)));
}

static perp__ipm_status status_of(perp__nlp_status status)
{
    switch (status) {
    case PERP__NLP_STOPPED: return IPM_STOPPED;
    case PERP__NLP_SOLVED: return IPM_SOLVED;
    case PERP__NLP_LIMIT: return IPM_LIMIT;
    case PERP__NLP_UNAVAILABLE: return IPM_NOT_FINITE;
    case PERP__NLP_MEMORY: return IPM_MEMORY;
    default: return IPM_STALLED;
    }
}

/* Solve with smaller and smaller relaxation, which is the last one's at the end. */
static perp__ipm_status solve(nlp *u)
{
    perp__nlp_problem problem = {
        (int)u->n, (int)u->m,     (int)u->njac, (int)u->nhess, u->lo,
        u->hi,     u->rlo,        u->rhi,       eval_f,        eval_gradient,
        eval_g,    eval_jacobian, eval_hessian, progress,      u};
    perp__nlp_options options = {.tol = u->options->tol, .max_iter = u->options->max_iter};
    double least = u->options->relaxation_min,
           relaxation = fmax(fmin(1, u->options->relaxation), least);
    for (;;) {
        u->pairing.relaxation = relaxation;
        double cost;
        perp__nlp_status status =
            perp__nlp_solve(&problem, &options, u->x, u->y, u->zl, u->zu, &cost);
        u->cost = cost / u->weight;
        u->iterations += u->last;
        if (status == PERP__NLP_STOPPED || status == PERP__NLP_MEMORY || relaxation <= least)
            return status_of(status);
        relaxation = fmax(relaxation * 0.01, least);
        options.is_warm = 1;
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
    if (allocate(&u)) {
        lay_out(&u);
        set_bounds(&u);
        for (size_t i = 0; i < u.n; i++) u.x[i] = (i < u.nW ? w[i] : p[i - u.nW]) / u.unit[i];
        weigh_cost(&u);
        result.status = solve(&u);
        plain(&u, u.x);
        memcpy(w, u.plain, u.nW * sizeof *w);
        memcpy(p, u.plain + u.nW, (size_t)g->np * sizeof *p);
        for (size_t i = 0; i < u.nW; i++) {
            lower[i] = u.zl[i] / (u.weight * u.unit[i]);
            upper[i] = u.zu[i] / (u.weight * u.unit[i]);
        }
        for (size_t i = 0; i < (size_t)g->nrow * u.K; i++)
            lambda[i] = u.row_of[i] >= 0
                            ? u.y[u.row_of[i]] / (u.weight * unit_of_row(&u, (int)(i / u.K)))
                            : 0;
        result.iterations = u.iterations;
        result.cost = u.cost;
        result.infeasibility = u.infeasibility;
        result.dual = u.dual;
        result.relaxation = u.pairing.relaxation;
    }
    perp__arena_clear(&u.arena);
    return result;
}
