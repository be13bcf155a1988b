/* The lengths of runs, once inputs are at ends of their ranges and no other bound is active. The
 * unknowns are then few, with the conditions at nodes. Newton's iteration on the conditions of a
 * minimum is reduced to these unknowns by the tangents of the steps. Second derivatives are exact
 * (Kaya and Noakes, Computational method for time-optimal switching control, JOTA 2003). It ends at
 * rounding. If conditions meet at a double root, as where an oscillator starts on a switching
 * curve, lengths are right to the root of the states' precision. */

#include "plan/plan.h"

#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_IN_VAIN = 4 };
/* A bound is inactive at this relative distance. A step that is LESS of the one before still makes
 * progress. */
static const double CLEAR = 1e-7, LESS = 0.98;
/* A length falls to no less than this part of itself in a step. The first steps may be large; one
 * that is not this small at last has found nothing. */
/* Multipliers that are not determined are the least ones. */
static const double LEAST_NORM = 1e-10, ABNORMAL = 1e5;
static const double LEAST_PART = 0.5, SMALL = 1e-5, DONE = 1e-15;

typedef struct asked {
    int row, w, k; /* a row, or else an unknown, of step k */
    double value;
} asked;

typedef struct lengths {
    perp_plan *plan;
    perp__program *g;
    size_t K, n;             /* steps; columns of tangents: of p, and what is off */
    int m;                   /* unknowns of a step that follow from its equations */
    int *column_of, *row_of; /* nw, nrow: which of them; -1 */
    double *LU, *Z;          /* K * m * m; K * m * n */
    int *swap;               /* K * m */
    double *jac, *grad, *hess, *dual[2];
    asked *is;
    int nasked, *free_p, nfree;
    double *e, *J, *slope, *H; /* nasked; nasked * n; n; n * n */
    double *mu, *size, *kkt, *rhs, *least;
    int *pivot;
    perp__arena arena;
} lengths;

static int is_input(const perp__program *g, int j)
{
    return j % g->nb >= g->nx + g->nv + g->nsplit;
}

static int is_clear_of(double x, double lo, double hi)
{
    double room = CLEAR * fmax(1, fabs(x));
    return x - lo > room && hi - x > room;
}

/* The conditions at nodes, and whether all other bounds are far. Returns 0 where they are not. */
static int find_asked(lengths *u, int count_only)
{
    const perp__program *g = u->g;
    const perp__bounds *b = &g->bound;
    const perp_plan *plan = u->plan;
    u->nasked = 0;
    for (int i = 0; i < g->nrow + g->nw; i++)
        for (size_t k = 0; k < u->K; k++) {
            int is_row = i < g->nrow, j = is_row ? i : i - g->nrow;
            size_t at = (size_t)j * u->K + k;
            double lo = is_row ? b->rlo[at] : b->wlo[at], hi = is_row ? b->rhi[at] : b->whi[at];
            if (is_row && j >= g->has.model_row && j < g->has.model_end) {
                if (lo != hi) return 0;
            } else if (!is_row && is_input(g, j)) {
                continue;
            } else if (lo == hi) {
                if (!count_only) u->is[u->nasked] = (asked){is_row ? j : -1, j, (int)k, lo};
                u->nasked++;
            } else if (!count_only && !is_clear_of(is_row ? plan->r[at] : plan->w[at], lo, hi)) {
                return 0;
            }
        }
    return 1;
}

static void number(lengths *u)
{
    const perp__program *g = u->g;
    int n = 0;
    u->m = 0;
    for (int j = 0; j < g->nw; j++) u->column_of[j] = is_input(g, j) ? -1 : n++;
    for (int i = 0; i < g->nrow; i++)
        u->row_of[i] = i >= g->has.model_row && i < g->has.model_end ? u->m++ : -1;
    if (n != u->m) u->m = -1;
    for (int i = 0; i < g->np; i++)
        if (g->bound.plo[i] < g->bound.phi[i]) u->free_p[u->nfree++] = i;
}

static int take_room(lengths *u)
{
    const perp__program *g = u->g;
    perp__arena *a = &u->arena;
    size_t K = u->K, m = (size_t)u->m, n = u->n, all = n + (size_t)u->nasked;
    PERP_TAKE(a, u->LU, K * m * m);
    PERP_TAKE(a, u->Z, K * m * n);
    PERP_TAKE(a, u->swap, K * m);
    PERP_TAKE(a, u->jac, (size_t)g->jac.n * K);
    PERP_TAKE(a, u->grad, (size_t)g->grad.n * K);
    PERP_TAKE(a, u->hess, (size_t)g->hess.n * K);
    PERP_TAKE(a, u->dual[0], n);
    PERP_TAKE(a, u->dual[1], n);
    PERP_TAKE(a, u->is, u->nasked + 1);
    PERP_TAKE(a, u->e, u->nasked + 1);
    PERP_TAKE(a, u->J, (size_t)(u->nasked + 1) * n);
    PERP_TAKE(a, u->slope, n);
    PERP_TAKE(a, u->H, n * n);
    PERP_TAKE(a, u->mu, u->nasked + 1);
    PERP_TAKE(a, u->size, u->nasked + 1);
    PERP_TAKE(a, u->kkt, all * all);
    PERP_TAKE(a, u->rhs, all);
    PERP_TAKE(a, u->least, all > m ? all : m);
    PERP_TAKE(a, u->pivot, all);
    return !a->failed;
}

/* Tangents ------------------------------------------------------------------------------------- */

/* What the unknown of column `col` of step k changes by: n numbers, into `unit` where they are not
 * in Z. */
static const double *change_of(const lengths *u, int col, size_t k, double *unit)
{
    const perp__program *g = u->g;
    memset(unit, 0, u->n * sizeof *unit);
    int j = col - g->nx;
    if (col < g->nx) {
        if (k == 0) {
            if (g->initial.p[col] >= 0) unit[g->initial.p[col]] = 1;
            return unit;
        }
        j = (g->npoint - 1) * g->nb + col;
        k--;
    } else if (j >= g->nw) {
        unit[j - g->nw] = 1;
        return unit;
    }
    int c = u->column_of[j];
    return c >= 0 ? u->Z + (k * (size_t)u->m + (size_t)c) * u->n : unit;
}

/* Z of step k, from that of the step before. Returns 0: its equations do not determine it. */
static int sweep_step(lengths *u, size_t k)
{
    const perp__program *g = u->g;
    size_t m = (size_t)u->m, n = u->n;
    double *A = u->LU + k * m * m, *Z = u->Z + k * m * n, *column = u->least;
    memset(A, 0, m * m * sizeof *A);
    memset(Z, 0, m * n * sizeof *Z);
    for (int i = 0; i < g->nrow; i++)
        if (u->row_of[i] >= 0)
            Z[(size_t)u->row_of[i] * n + n - 1] =
                g->bound.rlo[(size_t)i * u->K + k] - u->plan->r[(size_t)i * u->K + k];
    for (int e = 0; e < g->jac.n; e++) {
        int row = u->row_of[g->jac.row[e]], col = g->jac.col[e], j = col - g->nx;
        double x = u->jac[(size_t)e * u->K + k];
        if (row < 0) continue;
        if (j >= 0 && j < g->nw) {
            if (u->column_of[j] >= 0) A[(size_t)u->column_of[j] * m + (size_t)row] += x;
            continue;
        }
        const double *d = change_of(u, col, k, u->dual[0]);
        for (size_t c = 0; c < n; c++) Z[(size_t)row * n + c] -= x * d[c];
    }
    int *swap = u->swap + k * m;
    if (perp__lu((int)m, A, (int)m, swap) != 0) return 0;
    for (size_t c = 0; c < n; c++) {
        for (size_t i = 0; i < m; i++) column[i] = Z[i * n + c];
        perp__lu_solve((int)m, A, (int)m, swap, column);
        for (size_t i = 0; i < m; i++) Z[i * n + c] = column[i];
    }
    return perp__are_finite((int)(m * n), Z);
}

/* What is asked for, as it is and with its slopes; the slope of the cost. */
static void reduce(lengths *u)
{
    const perp__program *g = u->g;
    size_t n = u->n, K = u->K;
    for (int i = 0; i < u->nasked; i++) {
        const asked *a = &u->is[i];
        double *J = u->J + (size_t)i * n;
        u->e[i] =
            (a->row >= 0 ? u->plan->r : u->plan->w)[(size_t)a->w * K + (size_t)a->k] - a->value;
        memset(J, 0, n * sizeof *J);
        if (a->row < 0)
            memcpy(J, change_of(u, g->nx + a->w, (size_t)a->k, u->dual[0]), n * sizeof *J);
        for (int e = 0; e < g->jac.n && a->row >= 0; e++) {
            if (g->jac.row[e] != a->row) continue;
            const double *d = change_of(u, g->jac.col[e], (size_t)a->k, u->dual[0]);
            double x = u->jac[(size_t)e * K + (size_t)a->k];
            for (size_t c = 0; c < n; c++) J[c] += x * d[c];
        }
        u->e[i] += J[n - 1];
    }
    memset(u->slope, 0, n * sizeof *u->slope);
    for (int i = 0; i < g->np; i++) u->slope[i] = g->cost.time[i];
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < K; k++) {
            const double *d = change_of(u, g->grad.col[e], k, u->dual[0]);
            for (size_t c = 0; c < n; c++) u->slope[c] += u->grad[(size_t)e * K + k] * d[c];
        }
}

/* Multipliers ---------------------------------------------------------------------------------- */

/* Those of the model's equations, from those of what is asked for, backwards over the steps; `w`:
 * nw * K, what the slopes come to. */
static void sweep_back(lengths *u, double *w)
{
    const perp__program *g = u->g;
    size_t K = u->K, m = (size_t)u->m;
    double *lambda = u->plan->lambda, *column = u->least;
    memset(w, 0, (size_t)g->nw * K * sizeof *w);
    memset(lambda, 0, u->plan->nR * sizeof *lambda);
    for (int i = 0; i < u->nasked; i++) {
        size_t at = (size_t)u->is[i].w * K + (size_t)u->is[i].k;
        if (u->is[i].row >= 0)
            lambda[at] = u->mu[i];
        else
            w[at] += u->mu[i];
    }
    for (size_t k = K; k-- > 0;) {
        for (int pass = 0; pass < 2; pass++) { /* all but the model's rows, then these */
            for (int e = 0; e < g->jac.n + g->grad.n; e++) {
                int is_row = e < g->jac.n, f = is_row ? e : e - g->jac.n,
                    col = is_row ? g->jac.col[f] : g->grad.col[f];
                int is_model = is_row && u->row_of[g->jac.row[f]] >= 0;
                if (is_model != pass || (is_model && col >= g->nx)) continue;
                long at = perp__program_place(g, col, (int)k);
                double x = is_row
                               ? u->jac[(size_t)f * K + k] * lambda[(size_t)g->jac.row[f] * K + k]
                               : u->grad[(size_t)f * K + k];
                if (at >= 0 && at < (long)u->plan->nW) w[at] += x;
            }
            if (pass) break;
            for (int j = 0; j < g->nw; j++)
                if (u->column_of[j] >= 0) column[u->column_of[j]] = -w[(size_t)j * K + k];
            perp__lu_solve_transposed((int)m, u->LU + k * m * m, (int)m, u->swap + k * m, column);
            for (int i = 0; i < g->nrow; i++)
                if (u->row_of[i] >= 0) lambda[(size_t)i * K + k] = column[u->row_of[i]];
        }
    }
}

/* The second derivatives of the cost with these multipliers along the tangents. */
static void reduce_curvature(lengths *u)
{
    const perp__program *g = u->g;
    size_t n = u->n;
    memset(u->H, 0, n * n * sizeof *u->H);
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < u->K; k++) {
            double x = u->hess[(size_t)e * u->K + k];
            if (x == 0) continue;
            const double *a = change_of(u, g->hess.row[e], k, u->dual[0]),
                         *b = change_of(u, g->hess.col[e], k, u->dual[1]);
            int is_own = g->hess.row[e] == g->hess.col[e];
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n && (a[i] != 0 || b[i] != 0); j++)
                    u->H[i * n + j] += x * (is_own ? a[i] * b[j] : a[i] * b[j] + b[i] * a[j]);
        }
}

/* Steps ---------------------------------------------------------------------------------------- */

/* More is asked for than there are unknowns: the nearest, as it is written. */
static int solve_least_squares(lengths *u)
{
    size_t f = (size_t)u->nfree, n = u->n;
    memset(u->kkt, 0, f * f * sizeof *u->kkt);
    memset(u->rhs, 0, f * sizeof *u->rhs);
    for (int i = 0; i < u->nasked; i++) {
        const double *J = u->J + (size_t)i * n;
        for (size_t a = 0; a < f; a++) {
            u->rhs[a] -= J[u->free_p[a]] * u->e[i];
            for (size_t b = 0; b < f; b++) u->kkt[a * f + b] += J[u->free_p[a]] * J[u->free_p[b]];
        }
    }
    if (!perp__cholesky((int)f, u->kkt, (int)f, 0)) return 0;
    perp__cholesky_solve((int)f, u->kkt, (int)f, u->rhs);
    return 1;
}

/* The step of the lengths into rhs, the multipliers into mu. is_first: with 1 for second
 * derivatives, which makes the multipliers those of least squares. Rows of what is asked for have
 * size 1, as have second derivatives: multipliers have no bound where a root is double. */
static int solve_step(lengths *u, int is_first)
{
    size_t f = (size_t)u->nfree, q = (size_t)u->nasked, n = u->n, all = f + q;
    double worth = 0;
    for (size_t a = 0; a < f && !is_first; a++)
        for (size_t b = 0; b < f; b++)
            worth = fmax(worth, fabs(u->H[(size_t)u->free_p[a] * n + (size_t)u->free_p[b]]));
    if (worth == 0) worth = 1;
    memset(u->kkt, 0, all * all * sizeof *u->kkt);
    for (size_t a = 0; a < f; a++) {
        size_t i = (size_t)u->free_p[a];
        u->rhs[a] = -u->slope[i] / worth;
        for (size_t b = 0; b < f; b++)
            u->kkt[b * all + a] = is_first ? a == b : u->H[i * n + (size_t)u->free_p[b]] / worth;
    }
    for (size_t i = 0; i < q; i++) {
        const double *J = u->J + i * n;
        double size = 0;
        for (size_t a = 0; a < f; a++) size = fmax(size, fabs(J[u->free_p[a]]));
        u->size[i] = size > 0 ? size : 1;
        u->rhs[f + i] = -u->e[i] / u->size[i];
        for (size_t a = 0; a < f; a++)
            u->kkt[a * all + f + i] = u->kkt[(f + i) * all + a] = J[u->free_p[a]] / u->size[i];
        if (q > f) u->kkt[(f + i) * all + f + i] = -LEAST_NORM;
    }
    if (perp__lu((int)all, u->kkt, (int)all, u->pivot) != 0) return 0;
    perp__lu_solve((int)all, u->kkt, (int)all, u->pivot, u->rhs);
    for (size_t i = 0; i < q; i++) u->mu[i] = u->rhs[f + i] * worth / u->size[i];
    return perp__are_finite((int)all, u->rhs);
}

/* Where more is asked for than there are unknowns the multipliers may be any along a direction that
 * makes no slope: far along it. */
static void add_abnormal(lengths *u, int way)
{
    size_t f = (size_t)u->nfree, q = (size_t)u->nasked, n = u->n;
    double *trial = u->least, most = 0, sum = 0;
    for (size_t i = 0; i < q; i++) { /* the unit vectors, less what makes slopes */
        double norm = 0;
        memset(u->e, 0, q * sizeof *u->e);
        u->e[i] = -1;
        if (!solve_least_squares(u)) return;
        for (size_t l = 0; l < q; l++) {
            trial[l] = l == i;
            for (size_t a = 0; a < f; a++)
                trial[l] -= u->J[l * n + (size_t)u->free_p[a]] * u->rhs[a];
            norm += trial[l] * trial[l];
        }
        if (norm <= most) continue;
        most = norm;
        memcpy(u->size, trial, q * sizeof *trial);
    }
    for (size_t i = 0; i < q; i++) sum += fabs(u->mu[i]);
    for (size_t i = 0; i < q; i++) u->mu[i] += way * ABNORMAL * sum * u->size[i];
}

/* Take the step, shortened so that lengths remain. Returns its size relative to the horizon; not
 * finite: it leaves the ranges. */
static double take(lengths *u)
{
    const perp__program *g = u->g;
    perp_plan *plan = u->plan;
    double part = 1, most = 0, all = 0;
    for (int i = 0; i < u->nfree; i++) {
        int at = u->free_p[i];
        if (at < g->phase.nrun && u->rhs[i] < 0)
            part = fmin(part, (1 - LEAST_PART) * plan->p[at] / -u->rhs[i]);
        all += fabs(plan->p[at]);
    }
    memset(u->dual[1], 0, u->n * sizeof *u->dual[1]);
    u->dual[1][u->n - 1] = 1; /* what is off is taken away whole */
    for (int i = 0; i < u->nfree; i++) {
        int at = u->free_p[i];
        double d = part * u->rhs[i];
        u->dual[1][at] = d;
        plan->p[at] += d;
        most = fmax(most, fabs(d) / all);
        if (plan->p[at] < g->bound.plo[at] || plan->p[at] > g->bound.phi[at]) return INFINITY;
    }
    for (int j = 0; j < g->nw; j++)
        for (size_t k = 0; k < u->K && u->column_of[j] >= 0; k++) {
            const double *z = u->Z + (k * (size_t)u->m + (size_t)u->column_of[j]) * u->n;
            double d = 0;
            for (size_t c = 0; c < u->n; c++) d += z[c] * u->dual[1][c];
            plan->w[(size_t)j * u->K + k] += d;
        }
    return most;
}

/* Derivatives at the point, the tangents, the slopes. Returns 0: a step has none. */
static int linearise(lengths *u)
{
    perp_plan *plan = u->plan;
    double cost;
    perp__program_values(u->g, NULL, plan->w, plan->p, plan->r, &cost);
    perp__program_derivatives(u->g, NULL, plan->w, plan->p, NULL, 1, u->jac, u->grad, NULL);
    for (size_t k = 0; k < u->K; k++)
        if (!sweep_step(u, k)) return 0;
    reduce(u);
    return 1;
}

static int step_of_lengths(lengths *u)
{
    perp_plan *plan = u->plan;
    if (u->nasked > u->nfree) return solve_least_squares(u);
    sweep_back(u, plan->lower);
    perp__program_derivatives(u->g, NULL, plan->w, plan->p, plan->lambda, 1, u->jac, u->grad,
                              u->hess);
    reduce_curvature(u);
    return solve_step(u, 0);
}

/* 1: the steps have become as small as rounding lets them; 0: they have not. */
static int iterate(lengths *u)
{
    double last = INFINITY;
    int vain = 0, i = 0;
    if (!linearise(u) || !solve_step(u, 1)) return 0;
    for (; i < MOST_STEPS && vain < MOST_IN_VAIN && last > DONE; i++) {
        if (!step_of_lengths(u)) return 0;
        double step = take(u);
        if (!isfinite(step) || !linearise(u)) return 0;
        vain = step < LESS * last ? 0 : vain + 1;
        last = fmin(last, step);
    }
    return last < SMALL;
}

int perp__plan_solve_lengths(perp_plan *plan, int abnormal)
{
    perp__program *g = plan->program;
    lengths u = {.plan = plan, .g = g, .K = (size_t)g->K, .n = (size_t)g->np + 1};
    double cost;
    int solved = -1;
    PERP_TAKE(&u.arena, u.column_of, g->nw);
    PERP_TAKE(&u.arena, u.row_of, g->nrow);
    PERP_TAKE(&u.arena, u.free_p, g->np + 1);
    if (!u.arena.failed) {
        perp__program_values(g, NULL, plan->w, plan->p, plan->r, &cost);
        number(&u);
        solved = u.m > 0 && u.nfree > 0 && find_asked(&u, 1);
        if (abnormal && u.nasked <= u.nfree) solved = 0;
        if (solved && !take_room(&u)) solved = -1;
        if (solved > 0) solved = find_asked(&u, 0) && iterate(&u);
        if (solved > 0 && !solve_step(&u, 1)) solved = 0;
        if (solved > 0 && abnormal) add_abnormal(&u, abnormal);
        if (solved > 0) sweep_back(&u, plan->lower);
    }
    perp__arena_clear(&u.arena);
    return solved;
}
