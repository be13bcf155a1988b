/* Scaling: units in which a program's unknowns and rows are near 1, for the interior point and for comparing
 * the two sides of a pair; powers of two where there are none. Sizes are taken from the guess, from narrow ranges and from the Jacobian of the rows at the
 * guess. A program with pairs whose unknowns are all near 1 is not scaled; a soft one, which compares misses of all kinds, always is, by
 * all bounds. */

#include "plan/program.h"

#include <math.h>
#include <string.h>

/* With pairs, sizes within this factor of 1 are not scaled: a guess gives no more than an order of magnitude, and their relaxation,
 * in the units of the search, is what decides between plans. */
static const double FAR = 512;

enum { SAMPLES = 8 }; /* steps at which the derivatives are looked at, and the last */

/* The kinds of unknowns, one for all steps and points: states, vars, parts and inputs; then the global ones, and misses. */
typedef struct sizer {
    perp__program *g;
    int nkind;
    double *size; /* nkind; 0: not known */
    double *net,
        *sum; /* nrow x nkind: of the derivatives of a row with respect to one kind, the largest over the steps:
                          increments count by the share of a step */
    double *now, *most; /* nrow x nkind, nrow: scratch */
    double *given;      /* nrow: the largest bound of a row of a soft program, else 0 */
} sizer;

static int kind_of(const perp__program *g, int col)
{
    if (col < g->nx) return col;
    if (col < g->nx + g->soft.w) return (col - g->nx) % g->nb;
    if (col < g->nx + g->nw) return g->nb + g->np + col - g->nx - g->soft.w;
    for (int i = 0; i < g->nx; i++)
        if (g->initial.p[i] == col - g->nx - g->nw) return i; /* a free initial state is one */
    return g->nb + col - g->nx - g->nw;
}

static double finite_or_0(double x)
{
    return isfinite(x) ? fabs(x) : 0;
}

static double range_of(const perp__program *g, int j)
{
    size_t at =
        (size_t)((g->npoint - 1) * g->nb + j) * (size_t)g->K; /* a held input is free there alone */
    return fmax(fabs(g->bound.wlo[at]), fabs(g->bound.whi[at]));
}

/* Sizes by the guess; where it is 0, by the range if that is narrow. Not for inputs, which may need a small part of
 * their range only: those are sized by the rows. */
static void size_by_guess(sizer *u, const double *w, const double *p)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int j = 0; j < g->soft.w; j++) {
        double *size = &u->size[j % g->nb];
        for (size_t k = 0; k < K; k++) *size = fmax(*size, finite_or_0(w[(size_t)j * K + k]));
    }
    for (int i = 0; i < g->npair; i++) { /* what a pair holds in a range comes to its ends */
        int side = g->pair[i].w[0], j = side >= 0 && side < g->soft.w ? side % g->nb : -1;
        if (j >= 0 && u->size[j] == 0 && isfinite(range_of(g, j))) u->size[j] = range_of(g, j);
    }
    for (int i = 0; i < g->npair; i++)
        for (int j = 1; j <= 2 && g->pair[i].is_cone; j++)
            u->size[kind_of(g, g->nx + g->pair[i].w[1] - j)] = 1;
    for (int i = 0; i < g->np; i++) {
        double *size = &u->size[kind_of(g, g->nx + g->nw + i)];
        *size = fmax(*size, finite_or_0(p[i]));
    }
}

static int is_soft(const perp__program *g)
{
    return g->nw > g->soft.w;
}

/* The largest bounds of unknowns and rows, and the fixed initial states. */
static void size_by_bounds(sizer *u)
{
    const perp__program *g = u->g;
    const perp__bounds *b = &g->bound;
    size_t K = (size_t)g->K;
    for (int i = 0; i < g->nx; i++)
        if (g->initial.p[i] < 0) u->size[i] = fmax(u->size[i], finite_or_0(g->initial.x[i]));
    for (size_t i = 0; i < (size_t)g->soft.w * K; i++) {
        double *size = &u->size[i / K % (size_t)g->nb];
        *size = fmax(*size, fmax(finite_or_0(b->wlo[i]), finite_or_0(b->whi[i])));
    }
    for (size_t i = 0; i < (size_t)g->nrow * K; i++)
        u->given[i / K] =
            fmax(u->given[i / K], fmax(finite_or_0(b->rlo[i]), finite_or_0(b->rhi[i])));
}

/* No size exceeds the range. */
static void keep_in_ranges(sizer *u)
{
    const perp__program *g = u->g;
    for (int j = 0; j < g->nb; j++) {
        double range = range_of(g, j);
        if (u->size[j] > range || (u->size[j] == 0 && isfinite(range))) u->size[j] = range;
    }
}

/* Take the Jacobian of step k into the largest of each row and kind; the rows a b <= eps of pairs are left out. */
static void measure_step(sizer *u, const double *jac, size_t k)
{
    const perp__program *g = u->g;
    size_t n = (size_t)g->nrow * (size_t)u->nkind;
    memset(u->now, 0, n * sizeof *u->now);
    for (int e = 0; e < g->jac.n; e++) {
        double J = jac[(size_t)e * (size_t)g->K + k];
        size_t at = (size_t)g->jac.row[e] * (size_t)u->nkind + (size_t)kind_of(g, g->jac.col[e]);
        if (!isfinite(J)) continue;
        u->now[at] += J;
        u->sum[at] = fmax(u->sum[at], fabs(J));
    }
    for (size_t i = 0; i < n; i++)
        u->net[i] = fmax(u->net[i], fmax(fabs(u->now[i]), u->sum[i] / g->K));
    for (int i = 0; i < g->npair; i++)
        if (g->pair[i].product >= 0)
            memset(u->net + (size_t)g->pair[i].product * (size_t)u->nkind, 0,
                   (size_t)u->nkind * sizeof *u->net);
}

/* A derivative so small beside the largest of its row is the rounding of terms that cancel: it says nothing of sizes. */
static const double CANCELLED = 1e-14;

static void drop_rounding(sizer *u)
{
    size_t n = (size_t)u->nkind;
    for (int i = 0; i < u->g->nrow; i++) {
        double *net = u->net + (size_t)i * n, *sum = u->sum + (size_t)i * n, most = 0;
        for (size_t j = 0; j < n; j++) most = fmax(most, sum[j]);
        for (size_t j = 0; j < n; j++)
            if (net[j] < CANCELLED * most) net[j] = 0;
    }
}

/* Size the kinds that are still unknown: the least, over the rows they enter, of the largest known term of the row
 * divided by their derivative. 1: at least one was sized. */
static int size_by_rows(sizer *u)
{
    const perp__program *g = u->g;
    int found = 0;
    for (int i = 0; i < g->nrow; i++) {
        const double *A = u->net + (size_t)i * (size_t)u->nkind;
        u->most[i] = u->given[i];
        for (int j = 0; j < u->nkind; j++) u->most[i] = fmax(u->most[i], A[j] * u->size[j]);
    }
    for (int j = 0; j < u->nkind; j++) {
        double least = (double)INFINITY;
        for (int i = 0; i < g->nrow && u->size[j] == 0; i++) {
            double A = u->net[(size_t)i * (size_t)u->nkind + (size_t)j];
            if (A > 0 && u->most[i] > 0) least = fmin(least, u->most[i] / A);
        }
        u->now[j] = isfinite(least) ? least : 0;
    }
    for (int j = 0; j < u->nkind; j++) {
        found |= u->now[j] > 0;
        if (u->now[j] > 0) u->size[j] = u->now[j];
    }
    return found;
}

/* The size of the terms of row i, without their powers of two. */
static double size_of_row(const sizer *u, int i)
{
    double most = u->given[i];
    for (int j = 0; j < u->nkind; j++)
        most = fmax(most, u->sum[(size_t)i * (size_t)u->nkind + (size_t)j] * u->size[j]);
    return most;
}

static int is_far(double size)
{
    return size > 0 && isfinite(size) && (size > FAR || size < 1 / FAR);
}

/* The size itself where there are pairs, so that one path is taken whatever the model's units; the search has many minima there. */
static double unit_of(const perp__program *g, double size)
{
    if (!(size > 0 && isfinite(size))) return 1;
    return g->npair > 0 ? size : exp2(round(log2(size)));
}

static double unit_of_side(const perp__program *g, const perp__plan_pair *pair, int side)
{
    return pair->row[side] >= 0 ? g->unit.r[pair->row[side]] : g->unit.w[pair->w[side]];
}

static void set_units(sizer *u)
{
    perp__program *g = u->g;
    g->unit.differ |= is_soft(g) || g->npair == 0;
    for (int j = 0; j < u->nkind; j++) g->unit.differ |= is_far(u->size[j]);
    if (!g->unit.differ) return;
    for (int j = 0; j < g->nw; j++) g->unit.w[j] = unit_of(g, u->size[kind_of(g, g->nx + j)]);
    for (int i = 0; i < g->np; i++)
        g->unit.p[i] = unit_of(g, u->size[kind_of(g, g->nx + g->nw + i)]);
    for (int i = 0; i < g->nrow; i++) {
        double most = 0;
        for (int j = 0; j < u->nkind; j++)
            most = fmax(most,
                        u->sum[(size_t)i * (size_t)u->nkind + (size_t)j] * unit_of(g, u->size[j]));
        g->unit.r[i] = unit_of(g, most);
    }
    for (int i = 0; i < g->npair && g->pairs != PERP_PLAN_FISCHER_BURMEISTER; i++)
        if (g->pair[i].product >= 0)
            g->unit.r[g->pair[i].product] =
                unit_of_side(g, &g->pair[i], 0) * unit_of_side(g, &g->pair[i], 1);
}

/* All sizes, at this guess. 0: memory. */
static int find_sizes(sizer *u, perp__arena *arena, const double *w, const double *p)
{
    perp__program *g = u->g;
    size_t K = (size_t)g->K, rows = (size_t)g->nrow,
           n = (size_t)(g->nb + g->np + g->nw - g->soft.w);
    double *jac, *grad;
    u->nkind = (int)n;
    PERP_TAKE(arena, jac, (size_t)g->jac.n * K);
    PERP_TAKE(arena, grad, (size_t)g->grad.n * K);
    PERP_TAKE(arena, u->size, n);
    PERP_TAKE(arena, u->now, rows * n + n);
    PERP_TAKE(arena, u->most, rows);
    PERP_TAKE(arena, u->given, rows);
    PERP_TAKE(arena, u->net, 2 * rows * n);
    if (arena->failed) return 0;
    u->sum = u->net + rows * n;
    size_by_guess(u, w, p);
    if (is_soft(g)) size_by_bounds(u);
    perp__program_derivatives(g, NULL, w, p, NULL, 1, jac, grad, NULL);
    for (size_t s = 0; s <= SAMPLES; s++) measure_step(u, jac, (K - 1) * s / SAMPLES);
    drop_rounding(u);
    while (size_by_rows(u)) continue;
    keep_in_ranges(u);
    while (size_by_rows(u)) continue; /* by those that have nothing but their range */
    return 1;
}

int perp__program_find_units(perp__program *g, const double *w, const double *p)
{
    sizer u = {.g = g};
    perp__arena arena = {0};
    int ok = find_sizes(&u, &arena, w, p);
    if (ok) set_units(&u);
    perp__arena_clear(&arena);
    return ok;
}

int perp__program_size_conditions(perp__program *g, const double *w, const double *p, double *size)
{
    sizer u = {.g = g};
    perp__arena arena = {0};
    int ok = find_sizes(&u, &arena, w, p);
    for (int i = 0; i < g->nrow && ok; i++) {
        double *of = g->row[i].condition >= 0 ? &size[g->row[i].condition] : NULL;
        if (of) *of = fmax(*of, size_of_row(&u, i));
    }
    perp__arena_clear(&arena);
    return ok;
}

void perp__program_rows_in_units(const perp__program *g, double *r)
{
    size_t K = (size_t)g->K;
    if (!g->unit.differ) return;
    for (size_t i = 0; i < (size_t)g->nrow * K; i++) r[i] /= g->unit.r[i / K];
}
