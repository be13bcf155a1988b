#include "plan/ipm.h"

#include "plan/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Waechter and Biegler (2006), section 3 and table 1, unless said otherwise. */
static const double KAPPA_EPS = 10, KAPPA_MU = 0.2, THETA_MU = 1.2, TAU_MIN = 0.99,
                    KAPPA_SIGMA = 1e10, GAMMA_THETA = 1e-5, GAMMA_PHI = 1e-8, ETA = 1e-4,
                    S_THETA = 1.1, S_PHI = 2.3, S_MAX = 100, NEARBY = 1e-9;
static const double UNBOUNDED = (double)INFINITY;
enum { MAX_FILTER = 400 };

/* Kinds of entries of H and J, by what their columns are. */
enum { PRE, UNKNOWN, GLOBAL };

struct perp__ipm {
    perp__program *g;
    int K, nx, nw, np, nrow;
    size_t nW, nP, nS, n, m; /* unknowns of steps, globals, slacks, all; rows */
    perp__stages *stages;
    int *local_w, *local_r; /* place in a stage, or -1 */
    int *local_p;           /* place in the border, or -1 */

    /* primal: w, p, slacks of rows; their bounds and multipliers */
    double *x, *lo, *hi, *zl, *zu, *dx, *dzl, *dzu, *sigma;
    char *is_free;
    double *lambda, *dlambda;
    double *r, *c, *trial, *trial_r, *trial_c; /* c = r - s of active rows */
    double *jac, *grad, *hess;
    double *gradient; /* of cost + lambda'c without bound terms */
    double *rhs_x, *rhs_c, *res_x, *res_c;
    double *soc_c, *soc_dx, *soc_dl; /* of second-order corrections */
    double *xk, *yk;                 /* right-hand side by stages, and border */
    double scale;                    /* of the cost */
    double cost, trial_cost;         /* scaled */
    double mu, delta_w, delta_c, last_delta;
    double filter_theta[MAX_FILTER], filter_phi[MAX_FILTER];
    int nfilter;
    double theta_max, theta_min;
};

perp__ipm_options perp__ipm_options_default(void)
{
    return (perp__ipm_options){.tol = 1e-9,
                               .gap = UNBOUNDED,
                               .max_iter = 1000,
                               .barrier = 1,
                               .push = 0.1,
                               .weight = 1,
                               .barrier_min = 1e-10,
                               .relaxation = 10,
                               .relaxation_min = 1e-9};
}

/* Memory -------------------------------------------------------------------------------------- */

static int take(double **to, size_t n)
{
    *to = calloc(n + 1, sizeof **to);
    return *to != NULL;
}

perp__ipm *perp__ipm_create(perp__program *g)
{
    perp__ipm *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    size_t K = (size_t)g->K;
    s->g = g;
    s->K = g->K;
    s->nx = g->nx;
    s->nw = g->nw;
    s->np = g->np;
    s->nrow = g->nrow;
    s->nW = (size_t)g->nw * K;
    s->nP = (size_t)g->np;
    s->nS = s->m = (size_t)g->nrow * K;
    s->n = s->nW + s->nP + s->nS;
    double **of_n[] = {&s->x,   &s->lo,  &s->hi,    &s->zl,    &s->zu,    &s->dx,
                       &s->dzl, &s->dzu, &s->sigma, &s->trial, &s->soc_dx};
    double **of_m[] = {&s->lambda,  &s->dlambda, &s->r,     &s->c,     &s->trial_r,
                       &s->trial_c, &s->rhs_c,   &s->res_c, &s->soc_c, &s->soc_dl};
    double **of_x[] = {&s->gradient, &s->rhs_x, &s->res_x};
    int ok = 1, nmax = g->nw + g->nrow;
    for (size_t i = 0; i < sizeof of_n / sizeof *of_n; i++) ok &= take(of_n[i], s->n);
    for (size_t i = 0; i < sizeof of_m / sizeof *of_m; i++) ok &= take(of_m[i], s->m);
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++) ok &= take(of_x[i], s->nW + s->nP);
    ok &= take(&s->jac, (size_t)g->njac * K) & take(&s->grad, (size_t)g->ngrad * K) &
          take(&s->hess, (size_t)g->nhess * K) & take(&s->xk, (size_t)nmax * K) &
          take(&s->yk, s->nP);
    s->is_free = calloc(s->n + 1, 1);
    s->local_w = calloc(s->nW + 1, sizeof *s->local_w);
    s->local_r = calloc(s->m + 1, sizeof *s->local_r);
    s->local_p = calloc(s->nP + 1, sizeof *s->local_p);
    s->stages = perp__stages_create(g->K, nmax, g->nx, g->np);
    if (ok && s->is_free && s->local_w && s->local_r && s->local_p && s->stages) return s;
    perp__ipm_destroy(s);
    return NULL;
}

void perp__ipm_destroy(perp__ipm *s)
{
    if (!s) return;
    double *arrays[] = {s->x,    s->lo,       s->hi,      s->zl,      s->zu,      s->dx,
                        s->dzl,  s->dzu,      s->sigma,   s->lambda,  s->dlambda, s->r,
                        s->c,    s->trial,    s->trial_r, s->trial_c, s->jac,     s->grad,
                        s->hess, s->gradient, s->rhs_x,   s->rhs_c,   s->res_x,   s->res_c,
                        s->xk,   s->yk,       s->soc_c,   s->soc_dx,  s->soc_dl};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(s->is_free);
    free(s->local_w);
    free(s->local_r);
    free(s->local_p);
    perp__stages_destroy(s->stages);
    free(s);
}

const double *perp__ipm_lambda(const perp__ipm *s)
{
    return s->lambda;
}

const double *perp__ipm_lower(const perp__ipm *s)
{
    return s->zl;
}

const double *perp__ipm_upper(const perp__ipm *s)
{
    return s->zu;
}

/* Structure ----------------------------------------------------------------------------------- */

static int is_off(const perp__ipm *s, size_t row)
{
    size_t at = s->nW + s->nP + row;
    return s->lo[at] == -UNBOUNDED && s->hi[at] == UNBOUNDED;
}

/* Bounds from the program, and the places of what is free in its stage. */
static void read_bounds(perp__ipm *s)
{
    const perp__program *g = s->g;
    perp__stages *b = s->stages;
    size_t K = (size_t)s->K;
    memcpy(s->lo, g->wlo, s->nW * sizeof *s->lo);
    memcpy(s->hi, g->whi, s->nW * sizeof *s->hi);
    memcpy(s->lo + s->nW, g->plo, s->nP * sizeof *s->lo);
    memcpy(s->hi + s->nW, g->phi, s->nP * sizeof *s->hi);
    memcpy(s->lo + s->nW + s->nP, g->rlo, s->nS * sizeof *s->lo);
    memcpy(s->hi + s->nW + s->nP, g->rhi, s->nS * sizeof *s->hi);
    for (size_t i = 0; i < s->n; i++) s->is_free[i] = s->lo[i] < s->hi[i];
    for (size_t i = 0; i < s->m; i++)
        if (is_off(s, i)) s->is_free[s->nW + s->nP + i] = 0;
    for (size_t k = 0; k < K; k++) {
        int n = 0;
        for (int i = 0; i < s->nw; i++) {
            size_t at = (size_t)i * K + k;
            s->local_w[at] = s->is_free[at] ? n++ : -1;
        }
        for (int i = 0; i < s->nrow; i++) {
            size_t at = (size_t)i * K + k;
            s->local_r[at] = is_off(s, at) ? -1 : n++;
        }
        b->n[k] = n;
        for (int i = 0; i < s->nx; i++)
            b->link[k * (size_t)s->nx + (size_t)i] =
                s->local_w[(size_t)((g->npoint - 1) * g->nb + i) * K + k];
    }
    for (size_t i = 0; i < s->nP; i++) s->local_p[i] = s->is_free[s->nW + i] ? (int)i : -1;
}

static int kind_of(const perp__ipm *s, int col)
{
    return col < s->nx ? PRE : col < s->nx + s->nw ? UNKNOWN : GLOBAL;
}

/* Index in (w, p) of column `col` of stage k; -1: a given initial state. */
static long index_of(const perp__ipm *s, int col, int k)
{
    const perp__program *g = s->g;
    switch (kind_of(s, col)) {
    case PRE:
        if (k == 0) return g->x0_of[col] >= 0 ? (long)s->nW + g->x0_of[col] : -1;
        return (long)((g->npoint - 1) * g->nb + col) * s->K + k - 1;
    case UNKNOWN: return (long)(col - s->nx) * s->K + k;
    default: return (long)s->nW + col - s->nx - s->nw;
    }
}

/* Values -------------------------------------------------------------------------------------- */

static int values(perp__ipm *s, const double *x, double *r, double *c, double *cost)
{
    perp__program_values(s->g, x, x + s->nW, r, cost);
    const double *slack = x + s->nW + s->nP;
    *cost *= s->scale;
    double sum = *cost;
    for (size_t i = 0; i < s->m; i++) {
        c[i] = is_off(s, i) ? 0 : r[i] - slack[i];
        sum += c[i];
    }
    return isfinite(sum);
}

static double norm1(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs(x[i]);
    return sum;
}

static double norm_inf(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

static double barrier(const perp__ipm *s, const double *x, double cost)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) sum += log(x[i] - s->lo[i]);
        if (s->hi[i] < UNBOUNDED) sum += log(s->hi[i] - x[i]);
    }
    return cost - s->mu * sum;
}

/* y += J'v for the active rows; y over (w, p). */
static void add_transposed(const perp__ipm *s, const double *v, double *y)
{
    const perp__program *g = s->g;
    int K = s->K;
    for (int e = 0; e < g->njac; e++) {
        const double *J = s->jac + (size_t)e * (size_t)K,
                     *l = v + (size_t)g->jac_row[e] * (size_t)K;
        int col = g->jac_col[e], kind = kind_of(s, col);
        if (kind == GLOBAL) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += J[k] * l[k];
            y[s->nW + (size_t)(col - s->nx - s->nw)] += sum;
            continue;
        }
        long first = index_of(s, col, 0);
        if (first >= 0) y[first] += J[0] * l[0];
        double *to = y + index_of(s, col, 1) - 1; /* stage 1 and on are consecutive */
        for (int k = 1; k < K; k++) to[k] += J[k] * l[k];
    }
}

/* y += J v */
static void add_product(const perp__ipm *s, const double *v, double *y)
{
    const perp__program *g = s->g;
    int K = s->K;
    for (int e = 0; e < g->njac; e++) {
        const double *J = s->jac + (size_t)e * (size_t)K;
        double *to = y + (size_t)g->jac_row[e] * (size_t)K;
        int col = g->jac_col[e];
        if (kind_of(s, col) == GLOBAL) {
            double x = v[s->nW + (size_t)(col - s->nx - s->nw)];
            for (int k = 0; k < K; k++) to[k] += J[k] * x;
            continue;
        }
        long first = index_of(s, col, 0);
        if (first >= 0) to[0] += J[0] * v[first];
        const double *from = v + index_of(s, col, 1) - 1;
        for (int k = 1; k < K; k++) to[k] += J[k] * from[k];
    }
}

/* Derivatives at x, and the gradient of cost + lambda'c over (w, p). */
static void differentiate(perp__ipm *s)
{
    const perp__program *g = s->g;
    for (size_t i = 0; i < s->m; i++)
        if (is_off(s, i)) s->lambda[i] = 0;
    perp__program_derivatives(s->g, s->x, s->x + s->nW, s->lambda, s->scale, s->jac, s->grad,
                              s->hess);
    memset(s->gradient, 0, (s->nW + s->nP) * sizeof *s->gradient);
    for (size_t i = 0; i < s->nP; i++) s->gradient[s->nW + i] = s->scale * g->time_weight[i];
    for (int e = 0; e < g->ngrad; e++)
        for (int k = 0; k < s->K; k++) {
            long at = index_of(s, g->grad_col[e], k);
            if (at >= 0)
                s->gradient[at] += s->scale * s->grad[(size_t)e * (size_t)s->K + (size_t)k];
        }
    add_transposed(s, s->lambda, s->gradient);
}

/* Gradient of the Lagrangian with respect to entry i of (w, p, s), without bound terms. */
static double lagrangian_slope(const perp__ipm *s, size_t i)
{
    return i < s->nW + s->nP ? s->gradient[i] : -s->lambda[i - s->nW - s->nP];
}

typedef struct error {
    double dual, primal, complementarity, total;
} error;

static error optimality_error(const perp__ipm *s, double mu)
{
    error e = {0};
    double sum = norm1(s->lambda, s->m), zsum = 0;
    size_t nz = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        double d = lagrangian_slope(s, i);
        if (s->lo[i] > -UNBOUNDED) {
            d -= s->zl[i];
            e.complementarity = fmax(e.complementarity, fabs((s->x[i] - s->lo[i]) * s->zl[i] - mu));
            zsum += s->zl[i];
            nz++;
        }
        if (s->hi[i] < UNBOUNDED) {
            d += s->zu[i];
            e.complementarity = fmax(e.complementarity, fabs((s->hi[i] - s->x[i]) * s->zu[i] - mu));
            zsum += s->zu[i];
            nz++;
        }
        if (!(fabs(d) <= e.dual)) e.dual = fabs(d);
    }
    e.primal = norm_inf(s->c, s->m);
    double sd = fmax(S_MAX, (sum + zsum) / (double)(s->m + nz + 1)) / S_MAX;
    double sc = fmax(S_MAX, zsum / (double)(nz + 1)) / S_MAX;
    e.total = fmax(fmax(e.dual / sd, e.primal), e.complementarity / sc);
    return e;
}

/* Linear system ------------------------------------------------------------------------------- */

static void put_symmetric(double *S, int nmax, int i, int j, double v)
{
    if (i < j)
        S[(size_t)i * (size_t)nmax + (size_t)j] += v;
    else
        S[(size_t)j * (size_t)nmax + (size_t)i] += v;
}

/* Add v at the border's entry of columns a and b of p. */
static void put_border(perp__stages *b, int i, int j, double v)
{
    int nb = b->nborder;
    if (i < j)
        b->P[(size_t)i * (size_t)nb + (size_t)j] += v;
    else
        b->P[(size_t)j * (size_t)nb + (size_t)i] += v;
}

static int border_of(const perp__ipm *s, int col)
{
    return s->local_p[col - s->nx - s->nw];
}

/* Where column `col` of stage k stands: in stage k, in the stage before (PRE), or in the border. */
static int place_of(const perp__ipm *s, int col, int k, int *place)
{
    int kind = kind_of(s, col);
    if (kind == UNKNOWN) {
        *place = s->local_w[(size_t)(col - s->nx) * (size_t)s->K + (size_t)k];
    } else if (kind == GLOBAL) {
        *place = border_of(s, col);
    } else if (k > 0) {
        *place = s->stages->link[(size_t)(k - 1) * (size_t)s->nx + (size_t)col];
    } else {
        int p = s->g->x0_of[col];
        *place = p >= 0 ? s->local_p[p] : -1;
        kind = GLOBAL;
    }
    return kind;
}

/* Second derivatives of stage k: its own part, what couples it to the stage before, and what it puts
 * on the stage before (only if `before`) or the border. */
static void put_hessian(perp__ipm *s, int k, int before)
{
    const perp__program *g = s->g;
    perp__stages *b = s->stages;
    int nmax = b->nmax, stage = before ? k - 1 : k;
    double *S = b->S + (size_t)stage * (size_t)nmax * (size_t)nmax;
    double *B = b->B + (size_t)stage * (size_t)nmax * (size_t)b->nborder;
    double *G = b->G + (size_t)k * (size_t)nmax * (size_t)b->nlink;
    for (int e = 0; e < g->nhess; e++) {
        double v = s->hess[(size_t)e * (size_t)s->K + (size_t)k];
        int i, j, ki, kj;
        if (v == 0) continue;
        ki = place_of(s, g->hess_i[e], k, &i);
        kj = place_of(s, g->hess_j[e], k, &j);
        if (i < 0 || j < 0) continue;
        if (before) {
            if (ki == PRE && kj == PRE) put_symmetric(S, nmax, i, j, v);
            if (ki == GLOBAL && kj == PRE) B[(size_t)i * (size_t)nmax + (size_t)j] += v;
        } else if (ki == UNKNOWN && kj == UNKNOWN) {
            put_symmetric(S, nmax, i, j, v);
        } else if (ki == UNKNOWN && kj == PRE) {
            G[(size_t)i * (size_t)b->nlink + (size_t)g->hess_j[e]] += v;
        } else if (ki == GLOBAL && kj == UNKNOWN) {
            B[(size_t)i * (size_t)nmax + (size_t)j] += v;
        } else if (ki == UNKNOWN && kj == GLOBAL) { /* a free initial state */
            B[(size_t)j * (size_t)nmax + (size_t)i] += v;
        } else if (ki == GLOBAL && kj == GLOBAL) {
            put_border(b, i, j, v);
            if (i == j && g->hess_i[e] != g->hess_j[e]) put_border(b, i, j, v);
        }
    }
}

static void put_jacobian(perp__ipm *s, int k)
{
    const perp__program *g = s->g;
    perp__stages *b = s->stages;
    int nmax = b->nmax;
    double *S = b->S + (size_t)k * (size_t)nmax * (size_t)nmax;
    double *B = b->B + (size_t)k * (size_t)nmax * (size_t)b->nborder;
    double *G = b->G + (size_t)k * (size_t)nmax * (size_t)b->nlink;
    for (int e = 0; e < g->njac; e++) {
        int r = s->local_r[(size_t)g->jac_row[e] * (size_t)s->K + (size_t)k], j;
        if (r < 0) continue;
        int kind = place_of(s, g->jac_col[e], k, &j);
        double v = s->jac[(size_t)e * (size_t)s->K + (size_t)k];
        if (j < 0) continue;
        if (kind == UNKNOWN)
            S[(size_t)j * (size_t)nmax + (size_t)r] += v;
        else if (kind == PRE)
            G[(size_t)r * (size_t)b->nlink + (size_t)g->jac_col[e]] += v;
        else
            B[(size_t)j * (size_t)nmax + (size_t)r] += v;
    }
}

static void put_diagonal(perp__ipm *s, int k)
{
    perp__stages *b = s->stages;
    size_t K = (size_t)s->K, nmax = (size_t)b->nmax;
    double *S = b->S + (size_t)k * nmax * nmax;
    for (int i = 0; i < s->nw; i++) {
        size_t at = (size_t)i * K + (size_t)k;
        int l = s->local_w[at];
        if (l >= 0) S[(size_t)l * nmax + (size_t)l] += s->sigma[at] + s->delta_w;
    }
    for (int i = 0; i < s->nrow; i++) {
        size_t at = (size_t)i * K + (size_t)k, slack = s->nW + s->nP + at;
        int l = s->local_r[at];
        if (l < 0) continue;
        double D = s->is_free[slack] ? 1 / (s->sigma[slack] + s->delta_w) : 0;
        S[(size_t)l * nmax + (size_t)l] -= D + s->delta_c;
    }
}

/* Assemble and factor with the present delta_w, delta_c. 1: the inertia is right; 0: it is not; -1:
 * singular. */
static int factor_once(perp__ipm *s)
{
    perp__stages *b = s->stages;
    size_t nmax = (size_t)b->nmax, nb = (size_t)b->nborder;
    int wanted = 0;
    memset(b->P, 0, nb * nb * sizeof *b->P);
    for (size_t i = 0; i < s->nP; i++)
        b->P[i * nb + i] = s->local_p[i] >= 0 ? s->sigma[s->nW + i] + s->delta_w : 1;
    perp__stages_start(b);
    for (int k = 0; k < s->K; k++) {
        size_t n = (size_t)b->n[k];
        for (size_t j = 0; j < n; j++)
            memset(b->S + ((size_t)k * nmax + j) * nmax, 0, n * sizeof *b->S);
        memset(b->G + (size_t)k * nmax * (size_t)b->nlink, 0, n * (size_t)b->nlink * sizeof *b->G);
        memset(b->B + (size_t)k * nmax * nb, 0, nmax * nb * sizeof *b->B);
        put_hessian(s, k, 0);
        put_jacobian(s, k);
        put_diagonal(s, k);
        if (k + 1 < s->K) put_hessian(s, k + 1, 1);
        if (!perp__stages_eliminate(b, k)) return -1;
    }
    if (!perp__stages_finish(b)) return -1;
    for (size_t i = 0; i < s->m; i++) wanted += s->local_r[i] >= 0;
    return b->negative == wanted;
}

/* Factor, adding to the diagonal until the inertia is right. 0 if that does not help. */
static int factor(perp__ipm *s)
{
    const double first = 1e-4, least = 1e-20, most = 1e40;
    s->delta_w = s->delta_c = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->sigma[i] = 0;
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) s->sigma[i] += s->zl[i] / (s->x[i] - s->lo[i]);
        if (s->hi[i] < UNBOUNDED) s->sigma[i] += s->zu[i] / (s->hi[i] - s->x[i]);
        if (s->sigma[i] == 0) s->sigma[i] = 1e-20;
    }
    int ok = factor_once(s);
    if (ok == 1) return 1;
    if (ok < 0) s->delta_c = 1e-8 * pow(s->mu, 0.25);
    s->delta_w = s->last_delta == 0 ? first : fmax(least, s->last_delta / 3);
    while (s->delta_w < most) {
        ok = factor_once(s);
        if (ok == 1) {
            s->last_delta = s->delta_w;
            return 1;
        }
        if (ok < 0 && s->delta_c == 0) s->delta_c = 1e-8 * pow(s->mu, 0.25);
        s->delta_w *= s->last_delta == 0 ? 100 : 8;
    }
    return 0;
}

/* K (dx, dlambda) with the reduced matrix: H + sigma + delta_w, J, -(D + delta_c). */
static void multiply(const perp__ipm *s, const double *dx, const double *dl, double *yx, double *yc)
{
    const perp__program *g = s->g;
    for (size_t i = 0; i < s->nW + s->nP; i++)
        yx[i] = s->is_free[i] ? (s->sigma[i] + s->delta_w) * dx[i] : 0;
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = s->nW + s->nP + i;
        double D = s->is_free[slack] ? 1 / (s->sigma[slack] + s->delta_w) : 0;
        yc[i] = -(D + s->delta_c) * dl[i];
    }
    for (int e = 0; e < g->nhess; e++) {
        const double *H = s->hess + (size_t)e * (size_t)s->K;
        int ci = g->hess_i[e], cj = g->hess_j[e];
        for (int k = 0; k < s->K; k++) {
            long i = index_of(s, ci, k), j = index_of(s, cj, k);
            if (i < 0 || j < 0) continue;
            yx[i] += H[k] * dx[j];
            if (ci != cj) yx[j] += H[k] * dx[i];
        }
    }
    add_transposed(s, dl, yx);
    add_product(s, dx, yc);
    for (size_t i = 0; i < s->nW + s->nP; i++)
        if (!s->is_free[i]) yx[i] = 0;
    for (size_t i = 0; i < s->m; i++)
        if (s->local_r[i] < 0) yc[i] = 0;
}

/* Solve with the factors: (bx, bc) over (w, p) and rows, in place. */
static void solve_factored(perp__ipm *s, double *bx, double *bc)
{
    perp__stages *b = s->stages;
    size_t K = (size_t)s->K, nmax = (size_t)b->nmax;
    for (int i = 0; i < s->nw; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->local_w[(size_t)i * K + k];
            if (l >= 0) s->xk[k * nmax + (size_t)l] = bx[(size_t)i * K + k];
        }
    for (int i = 0; i < s->nrow; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->local_r[(size_t)i * K + k];
            if (l >= 0) s->xk[k * nmax + (size_t)l] = bc[(size_t)i * K + k];
        }
    for (size_t i = 0; i < s->nP; i++) s->yk[i] = s->local_p[i] >= 0 ? bx[s->nW + i] : 0;
    perp__stages_solve(b, s->xk, s->yk);
    for (int i = 0; i < s->nw; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->local_w[(size_t)i * K + k];
            bx[(size_t)i * K + k] = l >= 0 ? s->xk[k * nmax + (size_t)l] : 0;
        }
    for (int i = 0; i < s->nrow; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->local_r[(size_t)i * K + k];
            bc[(size_t)i * K + k] = l >= 0 ? s->xk[k * nmax + (size_t)l] : 0;
        }
    for (size_t i = 0; i < s->nP; i++) bx[s->nW + i] = s->local_p[i] >= 0 ? s->yk[i] : 0;
}

/* Gradient of the barrier function's Lagrangian at entry i. */
static double barrier_slope(const perp__ipm *s, size_t i)
{
    double d = lagrangian_slope(s, i);
    if (s->lo[i] > -UNBOUNDED) d -= s->mu / (s->x[i] - s->lo[i]);
    if (s->hi[i] < UNBOUNDED) d += s->mu / (s->hi[i] - s->x[i]);
    return d;
}

static void bound_multiplier_steps(perp__ipm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->dzl[i] = s->dzu[i] = 0;
        if (!s->is_free[i]) continue;
        double d = s->dx[i];
        if (s->lo[i] > -UNBOUNDED)
            s->dzl[i] = (s->mu - s->zl[i] * d) / (s->x[i] - s->lo[i]) - s->zl[i];
        if (s->hi[i] < UNBOUNDED)
            s->dzu[i] = (s->mu + s->zu[i] * d) / (s->hi[i] - s->x[i]) - s->zu[i];
    }
}

/* The step for constraint values c: dx, dlambda, dzl, dzu. Refines the linear solution as long as
 * that helps. */
static void direction(perp__ipm *s, const double *c)
{
    size_t n = s->nW + s->nP;
    for (size_t i = 0; i < n; i++) s->rhs_x[i] = s->is_free[i] ? -barrier_slope(s, i) : 0;
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = n + i;
        s->rhs_c[i] = s->local_r[i] < 0 ? 0 : -c[i];
        if (s->is_free[slack])
            s->rhs_c[i] -= barrier_slope(s, slack) / (s->sigma[slack] + s->delta_w);
    }
    memcpy(s->dx, s->rhs_x, n * sizeof *s->dx);
    memcpy(s->dlambda, s->rhs_c, s->m * sizeof *s->dlambda);
    solve_factored(s, s->dx, s->dlambda);
    double scale = fmax(norm_inf(s->rhs_x, n), norm_inf(s->rhs_c, s->m)), last = UNBOUNDED;
    for (int round = 0; round < 4; round++) {
        multiply(s, s->dx, s->dlambda, s->res_x, s->res_c);
        for (size_t i = 0; i < n; i++) s->res_x[i] = s->is_free[i] ? s->rhs_x[i] - s->res_x[i] : 0;
        for (size_t i = 0; i < s->m; i++) s->res_c[i] = s->rhs_c[i] - s->res_c[i];
        double left = fmax(norm_inf(s->res_x, n), norm_inf(s->res_c, s->m));
        if (left <= 1e-12 * scale || !(left < 0.5 * last)) break;
        last = left;
        solve_factored(s, s->res_x, s->res_c);
        for (size_t i = 0; i < n; i++) s->dx[i] += s->res_x[i];
        for (size_t i = 0; i < s->m; i++) s->dlambda[i] += s->res_c[i];
    }
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = n + i;
        s->dx[slack] = s->is_free[slack] ? (s->dlambda[i] - barrier_slope(s, slack)) /
                                               (s->sigma[slack] + s->delta_w)
                                         : 0;
    }
    bound_multiplier_steps(s);
}

/* Largest step that keeps a fraction tau from the bounds. */
static double longest_primal(const perp__ipm *s, double tau)
{
    double alpha = 1;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->dx[i] < 0 && s->lo[i] > -UNBOUNDED)
            alpha = fmin(alpha, tau * (s->lo[i] - s->x[i]) / s->dx[i]);
        if (s->dx[i] > 0 && s->hi[i] < UNBOUNDED)
            alpha = fmin(alpha, tau * (s->hi[i] - s->x[i]) / s->dx[i]);
    }
    return alpha;
}

static double longest_dual(const perp__ipm *s, double tau)
{
    double alpha = 1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->dzl[i] < 0) alpha = fmin(alpha, -tau * s->zl[i] / s->dzl[i]);
        if (s->dzu[i] < 0) alpha = fmin(alpha, -tau * s->zu[i] / s->dzu[i]);
    }
    return alpha;
}

/* Filter -------------------------------------------------------------------------------------- */

static void reset_filter(perp__ipm *s)
{
    s->nfilter = 0;
}

static int filter_accepts(const perp__ipm *s, double theta, double phi)
{
    if (!(theta <= s->theta_max) || !isfinite(phi)) return 0;
    for (int i = 0; i < s->nfilter; i++)
        if (theta >= s->filter_theta[i] && phi >= s->filter_phi[i]) return 0;
    return 1;
}

static void add_to_filter(perp__ipm *s, double theta, double phi)
{
    theta *= 1 - GAMMA_THETA;
    phi -= GAMMA_PHI * theta;
    int n = 0;
    for (int i = 0; i < s->nfilter; i++) { /* drop what the new entry dominates */
        if (s->filter_theta[i] >= theta && s->filter_phi[i] >= phi) continue;
        s->filter_theta[n] = s->filter_theta[i];
        s->filter_phi[n++] = s->filter_phi[i];
    }
    if (n == MAX_FILTER) n--;
    s->filter_theta[n] = theta;
    s->filter_phi[n++] = phi;
    s->nfilter = n;
}

/* The trial point. Rounding must not put it on a bound: it stays an ulp or two inside. */
static void move(perp__ipm *s, double alpha)
{
    for (size_t i = 0; i < s->n; i++) {
        double x = s->x[i] + alpha * s->dx[i];
        if (s->is_free[i]) {
            double lo = s->lo[i] + 4e-16 * fmax(1e-3, fabs(s->lo[i]));
            double hi = s->hi[i] - 4e-16 * fmax(1e-3, fabs(s->hi[i]));
            if (x < lo && s->lo[i] > -UNBOUNDED) x = lo;
            if (x > hi && s->hi[i] < UNBOUNDED) x = hi;
        }
        s->trial[i] = x;
    }
}

static void adopt_trial(perp__ipm *s)
{
    double *x = s->x, *r = s->r, *c = s->c;
    s->x = s->trial, s->trial = x;
    s->r = s->trial_r, s->trial_r = r;
    s->c = s->trial_c, s->trial_c = c;
    s->cost = s->trial_cost;
}

/* Where a line search starts. */
typedef struct search {
    double theta, phi, slope;
} search;

/* Does a trial point satisfy the switching and Armijo conditions, or make enough progress? */
static int accept(perp__ipm *s, const search *from, double alpha, double theta_t, double phi_t,
                  int *is_descent)
{
    double theta = from->theta, phi = from->phi, slope = from->slope;
    double slack = 10 * 2.3e-16 * fabs(phi);
    *is_descent =
        theta <= s->theta_min && slope < 0 && alpha * pow(-slope, S_PHI) > pow(theta, S_THETA);
    /* so near the solution that differences of phi are rounding: Newton's step as it is */
    if (theta <= NEARBY && theta_t <= NEARBY && fabs(alpha * slope) <= NEARBY * (1 + fabs(phi)))
        return phi_t <= phi + NEARBY * (1 + fabs(phi));
    if (!filter_accepts(s, theta_t, phi_t)) return 0;
    if (*is_descent) return phi_t <= phi + ETA * alpha * slope + slack;
    return theta_t <= (1 - GAMMA_THETA) * theta || phi_t <= phi - GAMMA_PHI * theta + slack;
}

/* Try x + alpha dx; `full` is what the conditions of descent are judged by. */
static int try_step(perp__ipm *s, const search *from, double alpha, double full, double *theta_t,
                    int *is_descent)
{
    move(s, alpha);
    *theta_t = UNBOUNDED;
    if (!values(s, s->trial, s->trial_r, s->trial_c, &s->trial_cost)) return 0;
    *theta_t = norm1(s->trial_c, s->m);
    return accept(s, from, full, *theta_t, barrier(s, s->trial, s->trial_cost), is_descent);
}

/* Second-order corrections: solve again for the violation that the step leaves behind. */
static int correct_step(perp__ipm *s, const search *from, double alpha, double tau, int *is_descent)
{
    double last = from->theta, step = alpha, theta_t;
    memcpy(s->soc_c, s->c, s->m * sizeof *s->soc_c);
    memcpy(s->soc_dx, s->dx, s->n * sizeof *s->soc_dx);
    memcpy(s->soc_dl, s->dlambda, s->m * sizeof *s->soc_dl);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < s->m; i++) s->soc_c[i] = step * s->soc_c[i] + s->trial_c[i];
        direction(s, s->soc_c);
        step = longest_primal(s, tau);
        if (try_step(s, from, step, alpha, &theta_t, is_descent)) return 1;
        if (!(theta_t <= 0.99 * last)) break;
        last = theta_t;
    }
    memcpy(s->dx, s->soc_dx, s->n * sizeof *s->soc_dx);
    memcpy(s->dlambda, s->soc_dl, s->m * sizeof *s->soc_dl);
    bound_multiplier_steps(s);
    return 0;
}

/* Take a step along the direction, with second-order corrections of the first try. The length, or 0.
 */
static double line_search(perp__ipm *s, double tau)
{
    double alpha = longest_primal(s, tau), theta_t = 0, slope = 0;
    int is_descent = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        /* the slope of the barrier function alone: without the multipliers' part */
        slope += barrier_slope(s, i) * s->dx[i];
    }
    /* remove lambda'(J dx - ds) = -lambda' c (1 up to the linear solve) */
    for (size_t i = 0; i < s->m; i++) s->res_c[i] = 0;
    add_product(s, s->dx, s->res_c);
    for (size_t i = 0; i < s->m; i++)
        if (s->local_r[i] >= 0) slope -= s->lambda[i] * (s->res_c[i] - s->dx[s->nW + s->nP + i]);
    search from = {norm1(s->c, s->m), barrier(s, s->x, s->cost), slope};
    for (int try = 0; try < 40 && alpha > 1e-13; try++, alpha *= 0.5) {
        int ok = try_step(s, &from, alpha, alpha, &theta_t, &is_descent);
        if (!ok && try == 0 && theta_t >= from.theta)
            ok = correct_step(s, &from, alpha, tau, &is_descent);
        if (!ok) continue;
        if (!is_descent) add_to_filter(s, from.theta, from.phi);
        return alpha;
    }
    return 0;
}

/* Restoration --------------------------------------------------------------------------------- */

/* What restoration brings down: |c|^2 / 2 and the barrier of the bounds. */
static double violation(const perp__ipm *s, const double *x, const double *c)
{
    double sum = 0;
    for (size_t i = 0; i < s->m; i++) sum += c[i] * c[i];
    return 0.5 * sum + barrier(s, x, 0);
}

/* A Levenberg-Marquardt step for it: rows enter as -(J dx - ds + c - lambda) = 0, so that lambda is
 * what is left of c. 0 if the matrix is singular. */
static int feasibility_step(perp__ipm *s, double zeta)
{
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    perp__program_derivatives(s->g, s->x, s->x + s->nW, NULL, 0, s->jac, s->grad, s->hess);
    memset(s->gradient, 0, (s->nW + s->nP) * sizeof *s->gradient);
    for (size_t i = 0; i < s->n; i++) {
        double scale = fmax(1, fabs(s->x[i])), to_lo = s->x[i] - s->lo[i],
               to_hi = s->hi[i] - s->x[i];
        s->sigma[i] = 1e-20;
        if (!s->is_free[i]) continue;
        s->sigma[i] = zeta / (scale * scale);
        if (s->lo[i] > -UNBOUNDED) s->sigma[i] += s->mu / (to_lo * to_lo);
        if (s->hi[i] < UNBOUNDED) s->sigma[i] += s->mu / (to_hi * to_hi);
    }
    s->delta_w = 0;
    s->delta_c = 1;
    if (factor_once(s) < 0) return 0;
    direction(s, s->c);
    return 1;
}

/* One damped step of restoration; 0 when no step helps at this damping. */
static int damped_step(perp__ipm *s, double zeta)
{
    double before = violation(s, s->x, s->c), slope = 0;
    if (!feasibility_step(s, zeta)) return 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->is_free[i]) slope -= s->sigma[i] * s->dx[i] * s->dx[i];
    for (size_t i = 0; i < s->m; i++)
        slope -= (s->c[i] - s->dlambda[i]) * (s->c[i] - s->dlambda[i]);
    double alpha = longest_primal(s, 0.95);
    for (int try = 0; try < 12 && alpha > 1e-8; try++, alpha *= 0.3) {
        move(s, alpha);
        if (!values(s, s->trial, s->trial_r, s->trial_c, &s->trial_cost)) continue;
        if (violation(s, s->trial, s->trial_c) > before + 1e-3 * alpha * slope) continue;
        adopt_trial(s);
        return alpha > 0.1 ? 2 : 1;
    }
    return 0;
}

/* Bring the violation down until the filter takes the point again. 0 if that fails. */
static int restore(perp__ipm *s)
{
    double before = norm1(s->c, s->m), mu = s->mu, zeta = 1e-2, weight = fmin(mu, 1e-2 * before);
    int found = 0;
    if (before < 1e-8) return 0;
    add_to_filter(s, before, barrier(s, s->x, s->cost));
    for (int round = 0; round < 100 && !found && zeta < 1e10; round++) {
        s->mu = weight;
        int taken = damped_step(s, zeta);
        s->mu = mu;
        if (taken == 2) weight *= 0.3;
        zeta *= taken == 2 ? 0.2 : taken ? 1 : 10;
        double theta = norm1(s->c, s->m);
        found =
            taken && theta < 0.1 * before && filter_accepts(s, theta, barrier(s, s->x, s->cost));
    }
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    for (size_t i = 0; i < s->n; i++) {
        if (s->zl[i] > 0) s->zl[i] = fmin(1e3, s->mu / (s->x[i] - s->lo[i]));
        if (s->zu[i] > 0) s->zu[i] = fmin(1e3, s->mu / (s->hi[i] - s->x[i]));
    }
    return found;
}

/* Main loop ----------------------------------------------------------------------------------- */

/* Weigh the cost so that its gradient is 1/4 a step on average: then the barrier's path, and the
 * number of iterations, depend little on the number of steps. */
static void scale_cost(perp__ipm *s, double weight)
{
    s->scale = 1;
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    differentiate(s);
    double norm = norm1(s->gradient, s->nW + s->nP);
    s->scale = 0.25 * s->K;
    if (isfinite(norm) && norm > 1e-3) s->scale /= norm;
    s->scale = fmax(1e-4, fmin(1e6, weight * s->scale));
}

/* Move a point inside its bounds. */
static void push_inside(perp__ipm *s, size_t i, double kappa1, double kappa2)
{
    double lo = s->lo[i], hi = s->hi[i];
    if (!s->is_free[i]) {
        if (lo == hi) s->x[i] = lo;
        return;
    }
    double pl = kappa1 * fmax(1, fabs(lo)), pu = kappa1 * fmax(1, fabs(hi));
    if (lo > -UNBOUNDED && hi < UNBOUNDED) {
        pl = fmin(pl, kappa2 * (hi - lo));
        pu = fmin(pu, kappa2 * (hi - lo));
    }
    if (lo > -UNBOUNDED) s->x[i] = fmax(s->x[i], lo + pl);
    if (hi < UNBOUNDED) s->x[i] = fmin(s->x[i], hi - pu);
}

static int start(perp__ipm *s, const perp__ipm_options *o, const double *w, const double *p)
{
    double push = o->push;
    read_bounds(s);
    s->mu = o->barrier;
    s->g->relaxation = o->relaxation;
    s->last_delta = 0;
    memcpy(s->x, w, s->nW * sizeof *s->x);
    memcpy(s->x + s->nW, p, s->nP * sizeof *s->x);
    for (size_t i = 0; i < s->nW + s->nP; i++) push_inside(s, i, push, push);
    if (!o->is_warm) scale_cost(s, o->weight);
    perp__program_values(s->g, s->x, s->x + s->nW, s->r, &s->cost);
    for (size_t i = 0; i < s->m; i++) {
        s->x[s->nW + s->nP + i] = s->r[i];
        push_inside(s, s->nW + s->nP + i, push, push);
    }
    for (size_t i = 0; i < s->m; i++) s->lambda[i] *= o->is_warm ? s->scale : 0;
    for (size_t i = 0; i < s->n; i++) {
        s->zl[i] = s->is_free[i] && s->lo[i] > -UNBOUNDED ? s->mu / (s->x[i] - s->lo[i]) : 0;
        s->zu[i] = s->is_free[i] && s->hi[i] < UNBOUNDED ? s->mu / (s->hi[i] - s->x[i]) : 0;
        if (o->is_warm) continue;
        s->zl[i] = s->zl[i] > 0 ? 1 : 0;
        s->zu[i] = s->zu[i] > 0 ? 1 : 0;
    }
    int finite = values(s, s->x, s->r, s->c, &s->cost);
    double theta = norm1(s->c, s->m);
    s->theta_max = 1e4 * fmax(1, theta);
    s->theta_min = 1e-4 * fmax(1, theta);
    reset_filter(s);
    return finite;
}

/* Keep the multipliers within a factor of what the barrier says. */
static void reset_multipliers(perp__ipm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) {
            double z = s->mu / (s->x[i] - s->lo[i]);
            s->zl[i] = fmax(fmin(s->zl[i], KAPPA_SIGMA * z), z / KAPPA_SIGMA);
        }
        if (s->hi[i] < UNBOUNDED) {
            double z = s->mu / (s->hi[i] - s->x[i]);
            s->zu[i] = fmax(fmin(s->zu[i], KAPPA_SIGMA * z), z / KAPPA_SIGMA);
        }
    }
}

/* Lower the barrier, and the relaxation with it; 0 when both are at their last. */
static int lower_barrier(perp__ipm *s, const perp__ipm_options *o)
{
    double mu = fmax(o->barrier_min, fmin(KAPPA_MU * s->mu, pow(s->mu, THETA_MU)));
    double relaxation = fmax(o->relaxation_min, o->relaxation * mu / o->barrier);
    if (mu == s->mu && relaxation == s->g->relaxation) return 0;
    s->mu = mu;
    s->g->relaxation = relaxation;
    reset_filter(s);
    values(s, s->x, s->r, s->c, &s->cost);
    return 1;
}

static int report(const perp__ipm *s, const perp__ipm_options *o, int iteration, error e,
                  double alpha)
{
    perp__ipm_progress p = {iteration, s->cost / s->scale, e.primal,
                            e.dual,    s->g->relaxation,   s->mu,
                            alpha,     s->delta_w};
    return o->progress && o->progress(o->context, &p);
}

/* What the barrier's complementarity is worth in cost. */
static double barrier_gap(const perp__ipm *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) sum += (s->x[i] - s->lo[i]) * s->zl[i];
        if (s->hi[i] < UNBOUNDED) sum += (s->hi[i] - s->x[i]) * s->zu[i];
    }
    return sum;
}

perp__ipm_result perp__ipm_solve(perp__ipm *s, const perp__ipm_options *o, double *w, double *p)
{
    perp__ipm_result result = {.status = IPM_LIMIT};
    double alpha = 0;
    int iteration = 0, finite = start(s, o, w, p);
    if (!finite) result.status = IPM_NOT_FINITE;
    for (; finite && iteration < o->max_iter; iteration++) {
        differentiate(s);
        error e = optimality_error(s, 0);
        if (report(s, o, iteration, e, alpha)) {
            result.status = IPM_STOPPED;
            break;
        }
        if (e.total <= o->tol && s->g->relaxation <= o->relaxation_min &&
            (s->mu <= o->barrier_min || barrier_gap(s) <= o->gap * (1 + fabs(s->cost)))) {
            result.status = IPM_SOLVED;
            break;
        }
        while (optimality_error(s, s->mu).total <= KAPPA_EPS * s->mu && lower_barrier(s, o))
            differentiate(s);
        if (!factor(s)) {
            result.status = IPM_STALLED;
            break;
        }
        double tau = fmax(TAU_MIN, 1 - s->mu);
        direction(s, s->c);
        alpha = line_search(s, tau);
        if (alpha == 0) {
            if (restore(s)) continue;
            result.status = IPM_STALLED;
            break;
        }
        double alpha_z = longest_dual(s, tau);
        adopt_trial(s);
        for (size_t i = 0; i < s->m; i++) s->lambda[i] += alpha * s->dlambda[i];
        for (size_t i = 0; i < s->n; i++) {
            s->zl[i] += alpha_z * s->dzl[i];
            s->zu[i] += alpha_z * s->dzu[i];
        }
        reset_multipliers(s);
    }
    error e = optimality_error(s, 0);
    result.iterations = iteration;
    result.cost = s->cost / s->scale;
    result.infeasibility = e.primal;
    result.dual = e.dual / s->scale;
    result.complementarity = e.complementarity / s->scale;
    for (size_t i = 0; i < s->m; i++) s->lambda[i] /= s->scale;
    for (size_t i = 0; i < s->n; i++) {
        s->zl[i] /= s->scale;
        s->zu[i] /= s->scale;
    }
    memcpy(w, s->x, s->nW * sizeof *w);
    memcpy(p, s->x + s->nW, s->nP * sizeof *p);
    return result;
}
