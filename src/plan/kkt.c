/* The conditions of a minimum, evaluated anew from the program's derivatives. */

#include "base/tol.h"
#include "plan/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A condition is active within NEAR of its bound if it has a multiplier, else within
 * PERP_PLAN_AT_BOUND, relative to the size of what is bounded. A curvature has a sign from MARGIN
 * on, which rounding and the errors of multipliers do not reach. */
static const double NEAR = 1e-4, MARGIN = 1e-7;
/* An error of a multiplier is ignored if it changes the cost by less than NOTICE times the
 * tolerance of slopes (1e-5), relative. */
static const double NOTICE = 1e-3;
/* The least size of an unknown relative to what it could be (size_of_zero), and to its unit in the
 * terms of its own slope. */
static const double LITTLE = 1e-3, OWN = 0.1;
/* An unknown that is smaller throughout than MOVES of what it could be has that for its unit; its
 * amplitude is at least AMPLITUDE of it. */
static const double MOVES = 1e-4, AMPLITUDE = 1e-6;

/* Above this many unknowns a step, that a program is convex is not looked for: the matrix is
 * dense. */
enum { MOST_SQUARE = 2000 };

enum { FREE, WEAK, STRONG }; /* a condition: not active, active without a multiplier, with one */

/* Memory -------------------------------------------------------------------------------------- */

perp__kkt *perp__kkt_create(perp__arena *arena, perp__program *g, const perp__pairing *pairing)
{
    perp__kkt *u;
    if (!PERP_TAKE(arena, u, 1)) return NULL;
    size_t K = (size_t)g->K, n, ncol = (size_t)g->sym.ncol;
    u->g = g;
    u->pairing = pairing;
    u->nW = (size_t)g->nw * K;
    u->nP = (size_t)g->np;
    u->nR = (size_t)g->nrow * K;
    n = u->nW + u->nP;
    double **of_n[] = {&u->extent, &u->amplitude, &u->unit, &u->slope,
                       &u->size,   &u->floor,     &u->own,  &u->largest};
    for (size_t i = 0; i < sizeof of_n / sizeof *of_n; i++) PERP_TAKE(arena, *of_n[i], n);
    PERP_TAKE(arena, u->share, u->nR);
    PERP_TAKE(arena, u->reach, u->nR);
    PERP_TAKE(arena, u->jac, (size_t)g->jac.n * K);
    PERP_TAKE(arena, u->grad, (size_t)g->grad.n * K);
    PERP_TAKE(arena, u->hess, (size_t)g->hess.n * K);
    PERP_TAKE(arena, u->held, n + u->nR);
    int may_be_convex = g->npair == 0 && g->is_affine && g->is_quadratic && ncol <= MOST_SQUARE;
    if (may_be_convex) PERP_TAKE(arena, u->square, ncol * ncol);
    if (g->has_kinks) {
        PERP_TAKE(arena, u->beside, n);
        PERP_TAKE(arena, u->before, n);
        PERP_TAKE(arena, u->bends, n);
        PERP_TAKE(arena, u->r, u->nR);
    }
    return arena->failed ? NULL : u;
}

/* First order --------------------------------------------------------------------------------- */

/* Index in (w, p) of column `col` of step k; -1: a given initial state. */
static long index_of(const perp__kkt *u, int col, size_t k)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    if (col >= g->nx + g->nw) return (long)(u->nW + (size_t)(col - g->nx - g->nw));
    if (col >= g->nx) return (long)((size_t)(col - g->nx) * K + k);
    if (k > 0) return (long)((size_t)((g->npoint - 1) * g->nb + col) * K + k - 1);
    return g->initial.p[col] >= 0 ? (long)(u->nW + (size_t)g->initial.p[col]) : -1;
}

static double lower_of(const perp__kkt *u, size_t i)
{
    return i < u->nW ? u->pairing->bound->wlo[i] : u->pairing->bound->plo[i - u->nW];
}

static double upper_of(const perp__kkt *u, size_t i)
{
    return i < u->nW ? u->pairing->bound->whi[i] : u->pairing->bound->phi[i - u->nW];
}

/* The size that an unknown has when it is 0 throughout: half its range, at most its unit. */
static double size_of_zero(const perp__kkt *u, size_t i)
{
    double lo = lower_of(u, i), hi = upper_of(u, i), half = 0.5 * (hi - lo);
    double unit = i < u->nW ? u->g->unit.w[i / (size_t)u->g->K] : u->g->unit.p[i - u->nW];
    return half > 0 ? fmin(half, unit) : unit;
}

static void set_extent(perp__kkt *u, size_t i, double most)
{
    double zero = size_of_zero(u, i);
    u->largest[i] = most;
    u->amplitude[i] = fmax(most, AMPLITUDE * zero);
    u->extent[i] = fmax(most, LITTLE * zero);
    u->unit[i] = most > MOVES * zero ? most : zero;
}

static void measure_unknowns(perp__kkt *u, const double *w, const double *p)
{
    size_t K = (size_t)u->g->K;
    for (int j = 0; j < u->g->nw; j++) {
        const double *x = w + (size_t)j * K;
        double most = 0;
        for (size_t k = 0; k < K; k++) most = fmax(most, fabs(x[k]));
        for (size_t k = 0; k < K; k++) {
            size_t i = (size_t)j * K + k;
            set_extent(u, i, most);
        }
    }
    for (size_t i = 0; i < u->nP; i++) set_extent(u, u->nW + i, fabs(p[i]));
}

/* Slopes of cost + lambda'r and the sizes of their terms. */
static void add_slopes(perp__kkt *u, const double *lambda)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int e = 0; e < g->jac.n + g->grad.n; e++) {
        int is_row = e < g->jac.n, f = is_row ? e : e - g->jac.n;
        for (size_t k = 0; k < K; k++) {
            long at = index_of(u, is_row ? g->jac.col[f] : g->grad.col[f], k);
            double x = is_row ? u->jac[(size_t)f * K + k] * lambda[(size_t)g->jac.row[f] * K + k]
                              : u->grad[(size_t)f * K + k];
            if (at < 0) continue;
            u->slope[at] += x;
            u->size[at] += fabs(x);
            if (is_row) continue;
            u->worth += fabs(x) * u->extent[at];
            u->stake += fabs(x) * u->unit[at];
        }
    }
}

static void add_curvature(perp__kkt *u)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < K; k++) {
            long i = index_of(u, g->hess.row[e], k), j = index_of(u, g->hess.col[e], k);
            double v = fabs(u->hess[(size_t)e * K + k]);
            if (i < 0 || j < 0) continue;
            int is_own = g->hess.row[e] == g->hess.col[e];
            u->floor[i] += v * (is_own ? fmax(u->amplitude[i], OWN * u->unit[i]) : u->amplitude[j]);
            if (!is_own) u->floor[j] += v * u->amplitude[i];
            u->worth += v * u->amplitude[i] * u->amplitude[j];
            u->stake += v * u->unit[i] * u->unit[j];
        }
}

/* What the cost's slopes make of the unknowns at the point; and what the least of those that it
 * speaks of has in it. */
static void measure_cost(perp__kkt *u)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    memset(u->own, 0, (u->nW + u->nP) * sizeof *u->own);
    memcpy(u->own + u->nW, g->cost.time, u->nP * sizeof *u->own);
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < K; k++) {
            long at = index_of(u, g->grad.col[e], k);
            if (at >= 0) u->own[at] += u->grad[(size_t)e * K + k];
        }
    u->pull = 0;
    for (size_t i = 0; i < u->nW + u->nP; i++) {
        u->pull += fabs(u->own[i]) * u->largest[i];
        u->own[i] = fabs(u->own[i]) * u->unit[i];
    }
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < K; k++) {
            long i = index_of(u, g->hess.row[e], k), j = index_of(u, g->hess.col[e], k);
            if (i >= 0 && j == i)
                u->own[i] += fabs(u->hess[(size_t)e * K + k]) * u->unit[i] * u->unit[i];
        }
    u->least = INFINITY;
    for (size_t i = 0; i < u->nW + u->nP;) {
        double sum = 0;
        size_t last = i < u->nW ? i + K : i + 1;
        while (i < last) sum += u->own[i++];
        if (sum > 0) u->least = fmin(u->least, sum);
    }
}

static void measure_rows(perp__kkt *u, const double *lambda)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int e = 0; e < g->jac.n; e++)
        for (size_t k = 0; k < K; k++) {
            long at = index_of(u, g->jac.col[e], k);
            size_t row = (size_t)g->jac.row[e] * K + k;
            double J = fabs(u->jac[(size_t)e * K + k]), part = J * fabs(lambda[row]);
            if (at < 0 || J == 0) continue;
            u->reach[row] += J * u->extent[at];
            if (part > 0) u->share[row] = fmax(u->share[row], part / (u->size[at] + u->floor[at]));
        }
}

void perp__kkt_evaluate(perp__kkt *u, const double *w, const double *p, const double *lambda)
{
    perp__program *g = u->g;
    size_t n = u->nW + u->nP;
    double *zero[] = {u->slope, u->size, u->floor};
    for (int i = 0; i < 3; i++) memset(zero[i], 0, n * sizeof(double));
    memset(u->share, 0, u->nR * sizeof *u->share);
    memset(u->reach, 0, u->nR * sizeof *u->reach);
    measure_unknowns(u, w, p);
    u->worth = u->stake = 0;
    for (size_t i = 0; i < u->nP; i++) {
        u->slope[u->nW + i] = g->cost.time[i];
        u->size[u->nW + i] = fabs(g->cost.time[i]);
        u->worth += fabs(g->cost.time[i]) * u->extent[u->nW + i];
        u->stake += fabs(g->cost.time[i]) * u->unit[u->nW + i];
    }
    perp__program_derivatives(g, u->pairing, w, p, lambda, 1, u->jac, u->grad, u->hess);
    add_slopes(u, lambda);
    add_curvature(u);
    measure_cost(u);
    measure_rows(u, lambda);
}

/* The multipliers of an unknown's bounds: those of w are given. A bound of p has what its slope
 * asks for where p is at it. */
static void bound_multipliers(const perp__kkt *u, size_t i, double x, const double *lower,
                              const double *upper, double *zl, double *zu)
{
    double s = u->slope[i], near = PERP_PLAN_AT_BOUND * u->extent[i];
    int is_global = i >= u->nW;
    if (!is_global)
        *zl = lower[i];
    else if (s > 0 && x - lower_of(u, i) <= near)
        *zl = s;
    else
        *zl = 0;
    if (!is_global)
        *zu = upper[i];
    else if (s < 0 && upper_of(u, i) - x <= near)
        *zu = -s;
    else
        *zu = 0;
}

/* The part of slope i that should be 0, relative to the terms of that slope. Returns 0 if its
 * effect over the size of the unknown is negligible in the cost. */
static double slope_error(const perp__kkt *u, size_t i, double part, double size)
{
    if (part == 0) return 0;
    return fmin(part / (size + u->floor[i]), part * u->amplitude[i] / (NOTICE * u->worth));
}

/* What the cost is near the point: what its slopes make of the unknowns there, or, where these are
 * 0, of the least of single unknowns. What it is elsewhere may be any number of times more. */
static double size_at(const perp__kkt *u)
{
    return fmin(u->stake, fmax(u->least, u->pull));
}

/* A multiplier of a bound must have its sign, and be 0 off the bound. The product with the distance
 * is a change of the cost. It is relative to the cost near the point, or to the slope. */
static double gap_error(const perp__kkt *u, size_t i, double z, double size, double distance)
{
    double gap = fabs(z) * fmax(0, distance), own = (size + u->floor[i]) * u->unit[i];
    return gap == 0 ? 0 : fmin(gap / own, gap / size_at(u)) / NOTICE;
}

static double worst_of(double worst, double x)
{
    return isnan(x) ? (double)INFINITY : fmax(worst, x);
}

double perp__kkt_stationarity(const perp__kkt *u, const double *w, const double *p, const double *r,
                              const double *lambda, const double *lower, const double *upper)
{
    double worst = 0;
    for (size_t i = 0; i < u->nW + u->nP; i++) {
        double lo = lower_of(u, i), hi = upper_of(u, i), zl, zu;
        double x = i < u->nW ? w[i] : p[i - u->nW];
        if (lo == hi) continue;
        bound_multipliers(u, i, x, lower, upper, &zl, &zu);
        double left = fmax(fabs(u->slope[i] - zl + zu), fmax(-zl, -zu)),
               size = u->size[i] + fabs(zl) + fabs(zu);
        worst = worst_of(worst, slope_error(u, i, left, size));
        worst = worst_of(worst, isfinite(lo) ? gap_error(u, i, zl, size, x - lo) : 0);
        worst = worst_of(worst, isfinite(hi) ? gap_error(u, i, zu, size, hi - x) : 0);
    }
    for (size_t i = 0; i < u->nR; i++) {
        double lo = u->pairing->bound->rlo[i], hi = u->pairing->bound->rhi[i],
               bound = lambda[i] > 0 ? hi : lo;
        if (lambda[i] == 0 || lo == hi || (isinf(lo) && isinf(hi))) continue;
        double way =
            isfinite(bound) ? fabs(r[i] - bound) : u->reach[i]; /* else of the wrong sign */
        double gap = way > 0 ? fabs(lambda[i]) * way / (NOTICE * size_at(u)) : 0;
        worst = worst_of(worst, fmin(u->share[i], gap));
    }
    return worst;
}

double perp__kkt_gap(const perp__kkt *u, const double *w, const double *r, const double *lambda,
                     const double *lower, const double *upper)
{
    const perp__bounds *b = u->pairing->bound;
    double sum = 0;
    for (size_t i = 0; i < u->nW; i++) {
        if (b->wlo[i] == b->whi[i]) continue;
        if (isfinite(b->wlo[i])) sum += fabs(lower[i] * (w[i] - b->wlo[i]));
        if (isfinite(b->whi[i])) sum += fabs(upper[i] * (b->whi[i] - w[i]));
    }
    for (size_t i = 0; i < u->nR; i++) {
        double at = lambda[i] > 0 ? b->rhi[i] : b->rlo[i];
        if (b->rlo[i] != b->rhi[i] && isfinite(at)) sum += fabs(lambda[i] * (r[i] - at));
    }
    return sum;
}

/* Second order -------------------------------------------------------------------------------- */

/* How active a condition is, by its distance from its bound and its multiplier's part. */
static int activity(double distance, double multiplier)
{
    if (!(distance <= NEAR)) return FREE;
    if (multiplier > distance) return STRONG;
    return distance <= PERP_PLAN_AT_BOUND ? WEAK : FREE;
}

static int stronger(int a, int b)
{
    return a > b ? a : b;
}

static void classify(perp__kkt *u, const double *w, const double *p, const double *r,
                     const double *lambda, const double *lower, const double *upper)
{
    size_t n = u->nW + u->nP;
    for (size_t i = 0; i < n; i++) {
        double lo = lower_of(u, i), hi = upper_of(u, i), zl, zu, X = u->extent[i];
        double x = i < u->nW ? w[i] : p[i - u->nW];
        bound_multipliers(u, i, x, lower, upper, &zl, &zu);
        double size = u->size[i] + fabs(zl) + fabs(zu) + u->floor[i];
        if (size == 0) size = 1;
        int at_lo = activity((x - lo) / X, zl / size), at_hi = activity((hi - x) / X, zu / size);
        u->held[i] = (char)(lo == hi ? STRONG : stronger(at_lo, at_hi));
    }
    for (size_t i = 0; i < u->nR; i++) {
        double lo = u->pairing->bound->rlo[i], hi = u->pairing->bound->rhi[i], reach = u->reach[i];
        int at_lo = activity((r[i] - lo) / reach, lambda[i] < 0 ? u->share[i] : 0),
            at_hi = activity((hi - r[i]) / reach, lambda[i] > 0 ? u->share[i] : 0);
        int held = lo == hi ? STRONG : stronger(at_lo, at_hi);
        u->held[n + i] = (char)(reach == 0 ? FREE : held);
    }
}

int perp__kkt_second_order(perp__kkt *u, perp__ipm *ipm, int is_new, const double *w,
                           const double *p, const double *r, const double *lambda,
                           const double *lower, const double *upper, double *direction)
{
    perp__ipm_point at = {u->pairing, w, p, lambda, u->held, u->unit, u->reach};
    classify(u, w, p, r, lambda, lower, upper);
    if (is_new) perp__ipm_measure(ipm, &at);
    if (perp__ipm_rises(ipm, &at, STRONG, -MARGIN) == 1) return 1;
    if (perp__ipm_rises(ipm, &at, WEAK, MARGIN) != 0) return 0;
    if (direction && !perp__ipm_falling_direction(ipm, &at, WEAK, MARGIN, direction)) return 0;
    return -1;
}

/* Convexity ----------------------------------------------------------------------------------- */

/* Is a small symmetric matrix (full, n x n, destroyed) positive semidefinite, up to the rounding of
 * its entries? */
static int is_semidefinite(double *A, int n)
{
    const double eps = DBL_EPSILON * (n + 1);
    for (int k = 0; k < n; k++) {
        double *K = A + k * n, most = 0;
        for (int i = k + 1; i < n; i++) most = fmax(most, fabs(K[i]));
        if (most == 0 && K[k] >= 0) continue;
        if (!(K[k] > 0)) return 0;
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < n; i++) {
                double before = A[j * n + i], less = K[i] * K[j] / K[k];
                A[j * n + i] = before - less;
                if (fabs(A[j * n + i]) <= eps * fmax(fabs(before), fabs(less))) A[j * n + i] = 0;
            }
    }
    return 1;
}

/* Has step k the second derivatives of the step before? */
static int is_as_before(const perp__kkt *u, size_t k)
{
    size_t K = (size_t)u->g->K;
    for (int e = 0; e < u->g->hess.n; e++)
        if (u->hess[(size_t)e * K + k] != u->hess[(size_t)e * K + k - 1]) return 0;
    return 1;
}

int perp__kkt_is_convex(perp__kkt *u, const double *w, const double *p)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    int n = g->sym.ncol;
    if (g->npair > 0 || !g->is_affine || !g->is_quadratic) return 0;
    if (g->hess.n == 0) return 1;
    if (!u->square) return 0;
    double *A = u->square;
    perp__program_derivatives(u->g, u->pairing, w, p, NULL, 1, u->jac, u->grad, u->hess);
    int convex = 1;
    for (size_t k = 0; k < K && convex; k++) {
        if (k > 0 && is_as_before(u, k)) continue;
        memset(A, 0, (size_t)n * (size_t)n * sizeof *A);
        for (int e = 0; e < g->hess.n; e++) {
            double v = u->hess[(size_t)e * K + k];
            A[g->hess.row[e] * n + g->hess.col[e]] = v;
            A[g->hess.col[e] * n + g->hess.row[e]] = v;
        }
        convex = is_semidefinite(A, n);
    }
    return convex;
}
