/* Values, derivatives and linear systems of the interior point. Kinds of entries of H and J go by
 * what their columns are. */

#include "base/tol.h"
#include "plan/ipm_state.h"

#include <string.h>

/* The paper's regularisation of dependent conditions: delta_c = DELTA_C mu^KAPPA_C. */
static const double DELTA_C = 1e-8, KAPPA_C = 0.25;

/* Structure ----------------------------------------------------------------------------------- */

/* Bounds from the program, and the places of what is free in its stage. */
void perp__ipm_read_bounds(perp__ipm *s)
{
    const perp__program *g = s->g;
    memcpy(s->lo, s->pairing.bound->wlo, s->nW * sizeof *s->lo);
    memcpy(s->hi, s->pairing.bound->whi, s->nW * sizeof *s->hi);
    memcpy(s->lo + s->nW, g->bound.plo, s->nP * sizeof *s->lo);
    memcpy(s->hi + s->nW, g->bound.phi, s->nP * sizeof *s->hi);
    memcpy(s->lo + s->nW + s->nP, s->pairing.bound->rlo, s->nS * sizeof *s->lo);
    memcpy(s->hi + s->nW + s->nP, s->pairing.bound->rhi, s->nS * sizeof *s->hi);
    for (size_t i = 0; i < s->nW; i++) s->units.of[i] = g->unit.w[i / (size_t)s->K];
    for (size_t i = 0; i < s->nP; i++) s->units.of[s->nW + i] = g->unit.p[i];
    for (size_t i = 0; i < s->nS; i++) s->units.of[s->nW + s->nP + i] = g->unit.r[i / (size_t)s->K];
    for (size_t i = 0; i < s->n && g->unit.differ; i++) {
        s->lo[i] /= s->units.of[i];
        s->hi[i] /= s->units.of[i];
    }
    perp__ipm_place(s);
}

void perp__ipm_place(perp__ipm *s)
{
    const perp__program *g = s->g;
    perp__stages *b = s->stages;
    size_t K = (size_t)s->K;
    for (size_t i = 0; i < s->n; i++) s->is_free[i] = s->lo[i] < s->hi[i];
    for (size_t i = 0; i < s->m; i++)
        if (perp__ipm_is_off(s, i)) s->is_free[s->nW + s->nP + i] = 0;
    for (size_t k = 0; k < K; k++) {
        int n = 0;
        for (int a = 0; a < s->nw + s->nrow; a++) {
            int i = s->place.order[a], row = i - s->nw;
            size_t at = (size_t)(row < 0 ? i : row) * K + k;
            if (row < 0)
                s->place.w[at] = s->is_free[at] ? n++ : -1;
            else
                s->place.r[at] = perp__ipm_is_off(s, at) ? -1 : n++;
        }
        if (s->factors.sparse) continue;
        b->n[k] = n;
        for (int i = 0; i < s->nx; i++)
            b->link[k * (size_t)s->nx + (size_t)i] =
                s->place.w[(size_t)((g->npoint - 1) * g->nb + i) * K + k];
    }
    for (size_t i = 0; i < s->nP; i++) s->place.p[i] = s->is_free[s->nW + i] ? (int)i : -1;
}

/* Values -------------------------------------------------------------------------------------- */

/* w and p of x as the program has them. */
static const double *plain(const perp__ipm *s, const double *x)
{
    if (!s->g->unit.differ) return x;
    for (size_t i = 0; i < s->nW + s->nP; i++) s->units.plain[i] = x[i] * s->units.of[i];
    return s->units.plain;
}

void perp__ipm_rows(perp__ipm *s, const double *x, double *r, double *cost)
{
    const double *w = plain(s, x);
    perp__program_values(s->g, &s->pairing, w, w + s->nW, r, cost);
    perp__program_rows_in_units(s->g, r);
}

/* The unit of a column, which is the same at all steps: an initial state that is free has that of
 * the state. */
static double unit_of_column(const perp__ipm *s, int col)
{
    const perp__program *g = s->g;
    switch (perp__ipm_kind_of(s, col)) {
    case PRE: return g->unit.w[(g->npoint - 1) * g->nb + col];
    case UNKNOWN: return g->unit.w[col - s->nx];
    default: return g->unit.p[col - s->nx - s->nw];
    }
}

/* An entry of a matrix at all steps. */
static void scale_entry(double *values, int e, size_t K, double factor)
{
    if (factor == 1) return;
    for (size_t k = 0; k < K; k++) values[(size_t)e * K + k] *= factor;
}

void perp__ipm_derivatives(perp__ipm *s, const double *lambda, double scale)
{
    const perp__program *g = s->g;
    const double *w = plain(s, s->x), *unit = s->units.of + s->nW + s->nP;
    double *l = s->units.plain + s->nW + s->nP;
    size_t K = (size_t)s->K;
    for (size_t i = 0; i < s->m && g->unit.differ && lambda; i++) l[i] = lambda[i] / unit[i];
    perp__program_derivatives(s->g, &s->pairing, w, w + s->nW,
                              lambda && g->unit.differ ? l : lambda, scale, s->values.jac,
                              s->values.grad, s->values.hess);
    if (!g->unit.differ) return;
    for (int e = 0; e < g->jac.n; e++)
        scale_entry(s->values.jac, e, K,
                    unit_of_column(s, g->jac.col[e]) / g->unit.r[g->jac.row[e]]);
    for (int e = 0; e < g->grad.n; e++)
        scale_entry(s->values.grad, e, K, unit_of_column(s, g->grad.col[e]));
    for (int e = 0; e < g->hess.n; e++)
        scale_entry(s->values.hess, e, K,
                    unit_of_column(s, g->hess.row[e]) * unit_of_column(s, g->hess.col[e]));
}

int perp__ipm_values(perp__ipm *s, const double *x, double *r, double *c, double *cost)
{
    perp__ipm_rows(s, x, r, cost);
    const double *slack = x + s->nW + s->nP;
    *cost *= s->units.cost;
    double sum = *cost;
    for (size_t i = 0; i < s->m; i++) {
        c[i] = perp__ipm_is_off(s, i) ? 0 : r[i] - slack[i];
        sum += c[i];
    }
    return isfinite(sum);
}

double perp__ipm_norm1(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs(x[i]);
    return sum;
}

double perp__ipm_norm_inf(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = perp__ipm_worse(most, x[i]);
    return most;
}

double perp__ipm_barrier(const perp__ipm *s, const double *x, double cost)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) sum += log(x[i] - s->lo[i]);
        if (s->hi[i] < UNBOUNDED) sum += log(s->hi[i] - x[i]);
    }
    return cost - s->mu * sum;
}

void perp__ipm_add_transposed(const perp__ipm *s, const double *v, double *y)
{
    const perp__program *g = s->g;
    int K = s->K;
    for (int e = 0; e < g->jac.n; e++) {
        const double *J = s->values.jac + (size_t)e * (size_t)K,
                     *l = v + (size_t)g->jac.row[e] * (size_t)K;
        int col = g->jac.col[e], kind = perp__ipm_kind_of(s, col);
        if (kind == GLOBAL) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += J[k] * l[k];
            y[s->nW + (size_t)(col - s->nx - s->nw)] += sum;
            continue;
        }
        long first = perp__ipm_index_of(s, col, 0);
        if (first >= 0) y[first] += J[0] * l[0];
        double *to = y + perp__ipm_index_of(s, col, 1) - 1; /* stage 1 and on are consecutive */
        for (int k = 1; k < K; k++) to[k] += J[k] * l[k];
    }
}

/* y += J v */
void perp__ipm_add_product(const perp__ipm *s, const double *v, double *y)
{
    const perp__program *g = s->g;
    int K = s->K;
    for (int e = 0; e < g->jac.n; e++) {
        const double *J = s->values.jac + (size_t)e * (size_t)K;
        double *to = y + (size_t)g->jac.row[e] * (size_t)K;
        int col = g->jac.col[e];
        if (perp__ipm_kind_of(s, col) == GLOBAL) {
            double x = v[s->nW + (size_t)(col - s->nx - s->nw)];
            for (int k = 0; k < K; k++) to[k] += J[k] * x;
            continue;
        }
        long first = perp__ipm_index_of(s, col, 0);
        if (first >= 0) to[0] += J[0] * v[first];
        const double *from = v + perp__ipm_index_of(s, col, 1) - 1;
        for (int k = 1; k < K; k++) to[k] += J[k] * from[k];
    }
}

void perp__ipm_cost_gradient(const perp__ipm *s, double *gradient)
{
    const perp__program *g = s->g;
    memset(gradient, 0, (s->nW + s->nP) * sizeof *gradient);
    for (size_t i = 0; i < s->nP; i++)
        gradient[s->nW + i] = s->units.cost * g->cost.time[i] * s->units.of[s->nW + i];
    for (int e = 0; e < g->grad.n; e++)
        for (int k = 0; k < s->K; k++) {
            long at = perp__ipm_index_of(s, g->grad.col[e], k);
            if (at >= 0)
                gradient[at] +=
                    s->units.cost * s->values.grad[(size_t)e * (size_t)s->K + (size_t)k];
        }
}

/* Derivatives at x, and the gradient of cost + lambda'c over (w, p). */
void perp__ipm_differentiate(perp__ipm *s)
{
    for (size_t i = 0; i < s->m; i++)
        if (perp__ipm_is_off(s, i)) s->lambda[i] = 0;
    perp__ipm_derivatives(s, s->lambda, s->units.cost);
    perp__ipm_cost_gradient(s, s->values.gradient);
    perp__ipm_add_transposed(s, s->lambda, s->values.gradient);
}

/* Linear system ------------------------------------------------------------------------------- */

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
    return s->place.p[col - s->nx - s->nw];
}

/* Where column `col` of stage k stands: in stage k, in the stage before (PRE), or in the border. */
static int place_of(const perp__ipm *s, int col, int k, int *place)
{
    int kind = perp__ipm_kind_of(s, col);
    if (kind == UNKNOWN) {
        *place = s->place.w[(size_t)(col - s->nx) * (size_t)s->K + (size_t)k];
    } else if (kind == GLOBAL) {
        *place = border_of(s, col);
    } else if (k > 0) {
        *place = s->stages->link[(size_t)(k - 1) * (size_t)s->nx + (size_t)col];
    } else {
        int p = s->g->initial.p[col];
        *place = p >= 0 ? s->place.p[p] : -1;
        kind = GLOBAL;
    }
    return kind;
}

/* Second derivatives of stage k: its own part, its coupling to the stage before, and its
 * contribution to the stage before (only if `before`) or the border. */
static void put_hessian(perp__ipm *s, int k, int before)
{
    const perp__program *g = s->g;
    perp__stages *b = s->stages;
    for (int e = 0; e < g->hess.n; e++) {
        double v = s->values.hess[(size_t)e * (size_t)s->K + (size_t)k];
        int i, j, ki, kj;
        if (v == 0) continue;
        ki = place_of(s, g->hess.row[e], k, &i);
        kj = place_of(s, g->hess.col[e], k, &j);
        if (i < 0 || j < 0) continue;
        if (before) {
            if (ki == PRE && kj == PRE) perp__stages_add(b, k - 1, i, j, v);
            if (ki == GLOBAL && kj == PRE) perp__stages_add_border(b, k - 1, j, i, v);
        } else if (ki == UNKNOWN && kj == UNKNOWN) {
            perp__stages_add(b, k, i, j, v);
        } else if (ki == UNKNOWN && kj == PRE) {
            perp__stages_couple(b, k, i, g->hess.col[e], v);
        } else if (ki == GLOBAL && kj == UNKNOWN) {
            perp__stages_add_border(b, k, j, i, v);
        } else if (ki == UNKNOWN && kj == GLOBAL) { /* a free initial state */
            perp__stages_add_border(b, k, i, j, v);
        } else if (ki == GLOBAL && kj == GLOBAL) {
            put_border(b, i, j, v);
            if (i == j && g->hess.row[e] != g->hess.col[e]) put_border(b, i, j, v);
        }
    }
}

static void put_jacobian(perp__ipm *s, int k)
{
    const perp__program *g = s->g;
    for (int e = 0; e < g->jac.n; e++) {
        int r = s->place.r[(size_t)g->jac.row[e] * (size_t)s->K + (size_t)k], j;
        if (r < 0) continue;
        int kind = place_of(s, g->jac.col[e], k, &j);
        double v = s->values.jac[(size_t)e * (size_t)s->K + (size_t)k];
        if (j < 0) continue;
        if (kind == UNKNOWN)
            perp__stages_add(s->stages, k, r, j, v);
        else if (kind == PRE)
            perp__stages_couple(s->stages, k, r, g->jac.col[e], v);
        else
            perp__stages_add_border(s->stages, k, r, j, v);
    }
}

static void put_diagonal(perp__ipm *s, int k)
{
    size_t K = (size_t)s->K;
    for (int i = 0; i < s->nw; i++) {
        size_t at = (size_t)i * K + (size_t)k;
        int l = s->place.w[at];
        if (l >= 0) perp__stages_add(s->stages, k, l, l, s->sigma[at] + s->delta.w);
    }
    for (int i = 0; i < s->nrow; i++) {
        size_t at = (size_t)i * K + (size_t)k, slack = s->nW + s->nP + at;
        int l = s->place.r[at];
        if (l < 0) continue;
        double D = s->is_free[slack] ? 1 / (s->sigma[slack] + s->delta.w) : 0;
        perp__stages_add(s->stages, k, l, l, -(D + s->delta.c));
    }
}

/* Assemble and factor with the present delta_w, delta_c. Returns 1: the inertia is right; 0: it is
 * not; -1: singular. */
int perp__ipm_factor_once(perp__ipm *s)
{
    return perp__ipm_factor_from(s, 0);
}

int perp__ipm_factor_from(perp__ipm *s, int first)
{
    if (s->factors.sparse) return perp__ipm_sparse_factor(s);
    perp__stages *b = s->stages;
    size_t nb = (size_t)b->nborder;
    int wanted = 0;
    if (first > 0) {
        memcpy(b->P, s->factors.border_before + (size_t)first * nb * nb, nb * nb * sizeof *b->P);
        b->negative = s->factors.negative_before[first];
    } else {
        memset(b->P, 0, nb * nb * sizeof *b->P);
        for (size_t i = 0; i < s->nP; i++)
            b->P[i * nb + i] = s->place.p[i] >= 0 ? s->sigma[s->nW + i] + s->delta.w : 1;
        perp__stages_start(b);
    }
    for (int k = first; k < s->K; k++) {
        if (nb > 0)
            memcpy(s->factors.border_before + (size_t)k * nb * nb, b->P, nb * nb * sizeof *b->P);
        s->factors.negative_before[k] = b->negative;
        s->factors.stages = k;
        perp__stages_begin(b, k);
        put_hessian(s, k, 0);
        put_jacobian(s, k);
        put_diagonal(s, k);
        if (k + 1 < s->K) put_hessian(s, k + 1, 1);
        if (!perp__stages_eliminate(b, k)) return -1;
    }
    if (!perp__stages_finish(b)) return -1;
    for (size_t i = 0; i < s->m; i++) wanted += s->place.r[i] >= 0;
    return b->negative == wanted;
}

/* Factor, adding to the diagonal until the inertia is right. Returns 0 if that does not help. */
int perp__ipm_factor(perp__ipm *s)
{
    /* delta_w^0, delta_w^min and delta_w^max of the paper */
    const double first = 1e-4, least = PERP_IPM_LEAST_DIAGONAL, most = 1e40;
    s->delta.w = s->delta.c = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->sigma[i] = 0;
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) s->sigma[i] += s->zl[i] / (s->x[i] - s->lo[i]);
        if (s->hi[i] < UNBOUNDED) s->sigma[i] += s->zu[i] / (s->hi[i] - s->x[i]);
        if (s->sigma[i] == 0) s->sigma[i] = PERP_IPM_LEAST_DIAGONAL;
    }
    int ok = perp__ipm_factor_once(s);
    if (ok == 1) return 1;
    if (ok < 0) s->delta.c = DELTA_C * pow(s->mu, KAPPA_C);
    s->delta.w = s->delta.last == 0 ? first : fmax(least, s->delta.last / 3);
    while (s->delta.w < most) {
        ok = perp__ipm_factor_once(s);
        if (ok == 1) {
            s->delta.last = s->delta.w;
            return 1;
        }
        if (ok < 0 && s->delta.c == 0) s->delta.c = DELTA_C * pow(s->mu, KAPPA_C);
        s->delta.w *= s->delta.last == 0 ? 100 : 8;
    }
    return 0;
}

void perp__ipm_add_curvature(const perp__ipm *s, const double *v, double *y)
{
    const perp__program *g = s->g;
    for (int e = 0; e < g->hess.n; e++) {
        const double *H = s->values.hess + (size_t)e * (size_t)s->K;
        int ci = g->hess.row[e], cj = g->hess.col[e];
        for (int k = 0; k < s->K; k++) {
            long i = perp__ipm_index_of(s, ci, k), j = perp__ipm_index_of(s, cj, k);
            if (i < 0 || j < 0) continue;
            y[i] += H[k] * v[j];
            if (ci != cj) y[j] += H[k] * v[i];
        }
    }
}

/* K (dx, dlambda) with the reduced matrix: H + sigma + delta_w, J, -(D + delta_c). */
static void multiply(const perp__ipm *s, const double *dx, const double *dl, double *yx, double *yc)
{
    for (size_t i = 0; i < s->nW + s->nP; i++)
        yx[i] = s->is_free[i] ? (s->sigma[i] + s->delta.w) * dx[i] : 0;
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = s->nW + s->nP + i;
        double D = s->is_free[slack] ? 1 / (s->sigma[slack] + s->delta.w) : 0;
        yc[i] = -(D + s->delta.c) * dl[i];
    }
    perp__ipm_add_curvature(s, dx, yx);
    perp__ipm_add_transposed(s, dl, yx);
    perp__ipm_add_product(s, dx, yc);
    for (size_t i = 0; i < s->nW + s->nP; i++)
        if (!s->is_free[i]) yx[i] = 0;
    for (size_t i = 0; i < s->m; i++)
        if (s->place.r[i] < 0) yc[i] = 0;
}

void perp__ipm_solve_factored(perp__ipm *s, double *bx, double *bc)
{
    if (s->factors.sparse) {
        perp__ipm_sparse_solve(s, bx, bc);
        return;
    }
    perp__stages *b = s->stages;
    size_t K = (size_t)s->K, nmax = (size_t)b->nmax;
    for (int i = 0; i < s->nw; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->place.w[(size_t)i * K + k];
            if (l >= 0) s->system.xk[k * nmax + (size_t)l] = bx[(size_t)i * K + k];
        }
    for (int i = 0; i < s->nrow; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->place.r[(size_t)i * K + k];
            if (l >= 0) s->system.xk[k * nmax + (size_t)l] = bc[(size_t)i * K + k];
        }
    for (size_t i = 0; i < s->nP; i++) s->system.yk[i] = s->place.p[i] >= 0 ? bx[s->nW + i] : 0;
    perp__stages_solve(b, s->system.xk, s->system.yk);
    for (int i = 0; i < s->nw; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->place.w[(size_t)i * K + k];
            bx[(size_t)i * K + k] = l >= 0 ? s->system.xk[k * nmax + (size_t)l] : 0;
        }
    for (int i = 0; i < s->nrow; i++)
        for (size_t k = 0; k < K; k++) {
            int l = s->place.r[(size_t)i * K + k];
            bc[(size_t)i * K + k] = l >= 0 ? s->system.xk[k * nmax + (size_t)l] : 0;
        }
    for (size_t i = 0; i < s->nP; i++) bx[s->nW + i] = s->place.p[i] >= 0 ? s->system.yk[i] : 0;
}

void perp__ipm_bound_multiplier_steps(perp__ipm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->d.zl[i] = s->d.zu[i] = 0;
        if (!s->is_free[i]) continue;
        double d = s->d.x[i];
        if (s->lo[i] > -UNBOUNDED)
            s->d.zl[i] = (s->mu - s->zl[i] * d) / (s->x[i] - s->lo[i]) - s->zl[i];
        if (s->hi[i] < UNBOUNDED)
            s->d.zu[i] = (s->mu + s->zu[i] * d) / (s->hi[i] - s->x[i]) - s->zu[i];
    }
}

/* The step for constraint values c: dx, dlambda, dzl, dzu. Refines the linear solution as long as
 * that helps. */
void perp__ipm_direction(perp__ipm *s, const double *c)
{
    size_t n = s->nW + s->nP;
    for (size_t i = 0; i < n; i++)
        s->system.rhs_x[i] = s->is_free[i] ? -perp__ipm_barrier_slope(s, i) : 0;
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = n + i;
        s->system.rhs_c[i] = s->place.r[i] < 0 ? 0 : -c[i];
        if (s->is_free[slack])
            s->system.rhs_c[i] -=
                perp__ipm_barrier_slope(s, slack) / (s->sigma[slack] + s->delta.w);
    }
    memcpy(s->d.x, s->system.rhs_x, n * sizeof *s->d.x);
    memcpy(s->d.lambda, s->system.rhs_c, s->m * sizeof *s->d.lambda);
    perp__ipm_solve_factored(s, s->d.x, s->d.lambda);
    double scale = fmax(perp__ipm_norm_inf(s->system.rhs_x, n),
                        perp__ipm_norm_inf(s->system.rhs_c, s->m)),
           last = UNBOUNDED;
    for (int round = 0; round < 4; round++) {
        multiply(s, s->d.x, s->d.lambda, s->system.res_x, s->system.res_c);
        for (size_t i = 0; i < n; i++)
            s->system.res_x[i] = s->is_free[i] ? s->system.rhs_x[i] - s->system.res_x[i] : 0;
        for (size_t i = 0; i < s->m; i++)
            s->system.res_c[i] = s->system.rhs_c[i] - s->system.res_c[i];
        double left =
            fmax(perp__ipm_norm_inf(s->system.res_x, n), perp__ipm_norm_inf(s->system.res_c, s->m));
        if (left <= PERP_TOL_REFINED * scale || !(left < 0.5 * last)) break;
        last = left;
        perp__ipm_solve_factored(s, s->system.res_x, s->system.res_c);
        for (size_t i = 0; i < n; i++) s->d.x[i] += s->system.res_x[i];
        for (size_t i = 0; i < s->m; i++) s->d.lambda[i] += s->system.res_c[i];
    }
    for (size_t i = 0; i < s->m; i++) {
        size_t slack = n + i;
        s->d.x[slack] = s->is_free[slack] ? (s->d.lambda[i] - perp__ipm_barrier_slope(s, slack)) /
                                                (s->sigma[slack] + s->delta.w)
                                          : 0;
    }
    perp__ipm_bound_multiplier_steps(s);
}

/* Largest step up to `most` that keeps a fraction tau from the bounds. */
double perp__ipm_longest_primal(const perp__ipm *s, double tau, double most)
{
    double alpha = most;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->d.x[i] < 0 && s->lo[i] > -UNBOUNDED)
            alpha = fmin(alpha, tau * (s->lo[i] - s->x[i]) / s->d.x[i]);
        if (s->d.x[i] > 0 && s->hi[i] < UNBOUNDED)
            alpha = fmin(alpha, tau * (s->hi[i] - s->x[i]) / s->d.x[i]);
    }
    return alpha;
}

double perp__ipm_longest_dual(const perp__ipm *s, double tau)
{
    double alpha = 1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->d.zl[i] < 0) alpha = fmin(alpha, -tau * s->zl[i] / s->d.zl[i]);
        if (s->d.zu[i] < 0) alpha = fmin(alpha, -tau * s->zu[i] / s->d.zu[i]);
    }
    return alpha;
}
