/* A proof that no plan keeps the conditions (Farkas), from those that are affine in the unknowns: with multipliers l of the rows,
 *
 *     sum l_i r_i(x) <= sum max(l_i rlo_i, l_i rhi_i)
 *
 * for all x that keep them. Where the left side is larger for every x within its bounds, there is none. */

#include "plan/nlp.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* By so much of all terms must the sides differ: more than their rounding, and than that of the coefficients. */
static const double MARGIN = 1e-9;
/* Multipliers below this, in the units of the search, are what it ends with where they are 0. */
static const double SMALL = 1e-8;

typedef struct proof {
    const perp__program *g;
    const perp__bounds *bound;
    size_t nW, n, K;
    int *first, *entry;    /* nrow + 1; the entries of the Jacobian row by row */
    double *jac, *c;       /* values of those; the rows at x = 0 */
    double *lo, *hi;       /* n: bounds of the unknowns, given or by the rows */
    double *slope, *terms; /* n: of sum l_i r_i, and the sum of its |terms| */
    double *lambda;
} proof;

static int allocate(proof *u, perp__arena *arena)
{
    const perp__program *g = u->g;
    size_t rows = (size_t)g->nrow * u->K;
    double **of_n[] = {&u->lo, &u->hi, &u->slope, &u->terms};
    for (int i = 0; i < 4; i++) PERP_TAKE(arena, *of_n[i], u->n);
    PERP_TAKE(arena, u->first, g->nrow + 1);
    PERP_TAKE(arena, u->entry, g->jac.n);
    PERP_TAKE(arena, u->jac, (size_t)g->jac.n * u->K);
    PERP_TAKE(arena, u->c, rows);
    PERP_TAKE(arena, u->lambda, rows);
    return !arena->failed;
}

static void list_entries(proof *u)
{
    const perp__program *g = u->g;
    for (int i = 0, n = 0; i < g->nrow; i++) {
        for (int e = 0; e < g->jac.n; e++)
            if (g->jac.row[e] == i) u->entry[n++] = e;
        u->first[i + 1] = n;
    }
}

/* Rows at x = 0 and their derivatives, which are the same everywhere where they count. grad: room for that of the cost. */
static void evaluate(proof *u, perp__program *g, double *grad)
{
    double cost;
    perp__program_values(g, NULL, u->slope, u->slope + u->nW, u->c, &cost); /* slope is still 0 */
    perp__program_derivatives(g, NULL, u->slope, u->slope + u->nW, NULL, 0, u->jac, grad, NULL);
}

/* Bounds of the unknowns as given; nothing is missed. */
static void set_bounds(proof *u)
{
    const perp__program *g = u->g;
    size_t soft = (size_t)g->soft.w * u->K;
    for (size_t i = 0; i < u->n; i++) {
        u->lo[i] = i < u->nW ? u->bound->wlo[i] : u->bound->plo[i - u->nW];
        u->hi[i] = i < u->nW ? u->bound->whi[i] : u->bound->phi[i - u->nW];
        if (i >= soft && i < u->nW) u->lo[i] = u->hi[i] = 0;
    }
}

/* Coefficient of entry e of row i at step k, and its unknown (-1: a given initial state, which is in c). */
static double coefficient(const proof *u, int e, size_t k, long *j)
{
    *j = perp__program_place(u->g, u->g->jac.col[e], (int)k);
    return u->jac[(size_t)e * u->K + k];
}

/* Open bounds of the unknown of entry `own` of row i at step k, from the bounds of the others; widened by rounding. 1: one is found. */
static int bound_by_row(proof *u, int i, size_t k, int own)
{
    long j, other;
    size_t at = (size_t)i * u->K + k;
    double a = coefficient(u, u->entry[own], k, &j), terms = fabs(u->c[at]);
    double lo = u->bound->rlo[at] - u->c[at], hi = u->bound->rhi[at] - u->c[at];
    if (j < 0 || a == 0 || (isfinite(u->lo[j]) && isfinite(u->hi[j]))) return 0;
    for (int e = u->first[i]; e < u->first[i + 1]; e++) {
        double b = coefficient(u, u->entry[e], k, &other);
        if (e == own || other < 0 || b == 0) continue;
        double x = b * u->lo[other], y = b * u->hi[other];
        lo -= fmax(x, y), hi -= fmin(x, y), terms += fabs(x) + fabs(y);
    }
    if (!isfinite(terms)) return 0;
    lo -= MARGIN * (terms + fabs(lo)), hi += MARGIN * (terms + fabs(hi));
    double from = fmin(lo / a, hi / a), to = fmax(lo / a, hi / a);
    int better = (isinf(u->lo[j]) && isfinite(from)) || (isinf(u->hi[j]) && isfinite(to));
    if (isinf(u->lo[j])) u->lo[j] = from;
    if (isinf(u->hi[j])) u->hi[j] = to;
    return better;
}

/* Bounds that follow from rows: a position from its velocities. */
static void find_bounds(proof *u)
{
    enum { MOST_PASSES = 20 };
    const perp__program *g = u->g;
    for (int pass = 0, better = 1; better && pass < MOST_PASSES; pass++) {
        better = 0;
        for (size_t k = 0; k < u->K; k++)
            for (int i = 0; i < g->nrow; i++)
                for (int e = u->first[i]; e < u->first[i + 1] && g->row[i].is_affine; e++)
                    better |= bound_by_row(u, i, k, e);
    }
}

/* Multipliers of affine rows, of the sign of a bound that is there. *sum: of l_i r_i(0) minus the largest that each may be; *terms. */
static void take_multipliers(proof *u, const double *lambda, double *sum, double *terms)
{
    const perp__program *g = u->g;
    for (size_t at = 0; at < (size_t)g->nrow * u->K; at++) {
        int i = (int)(at / u->K);
        double l = lambda[at], most = l * (l > 0 ? u->bound->rhi[at] : u->bound->rlo[at]);
        if (!g->row[i].is_affine || fabs(l) * g->unit.r[i] < SMALL || !isfinite(most)) continue;
        u->lambda[at] = l;
        *sum += l * u->c[at] - most;
        *terms += fabs(l * u->c[at]) + fabs(most);
        for (int e = u->first[i]; e < u->first[i + 1]; e++) {
            long j;
            double a = coefficient(u, u->entry[e], at % u->K, &j) * l;
            if (j >= 0) u->slope[j] += a, u->terms[j] += fabs(a);
        }
    }
}

/* The least that slope_j x_j can be; -infinity where x_j is open and its slope is not 0 for certain. */
static double least_of(const proof *u, size_t j, double *terms)
{
    double slack = (double)(u->n + u->K) * DBL_EPSILON * u->terms[j],
           most = fmax(fabs(u->lo[j]), fabs(u->hi[j]));
    if (u->terms[j] == 0) return 0;
    if (!isfinite(most)) return -(double)INFINITY;
    *terms += u->terms[j] * most;
    return fmin(u->slope[j] * u->lo[j], u->slope[j] * u->hi[j]) - slack * most;
}

int perp__plan_is_infeasible(perp__program *g, const perp__bounds *bound, const double *lambda)
{
    proof u = {.g = g, .bound = bound, .K = (size_t)g->K};
    perp__arena arena = {0};
    double *grad, sum = 0, terms = 0;
    u.nW = (size_t)g->nw * u.K;
    u.n = u.nW + (size_t)g->np;
    PERP_TAKE(&arena, grad, (size_t)g->grad.n * u.K);
    int ok = allocate(&u, &arena);
    if (ok) {
        list_entries(&u);
        evaluate(&u, g, grad);
        set_bounds(&u);
        find_bounds(&u);
        take_multipliers(&u, lambda, &sum, &terms);
        for (size_t j = 0; j < u.n; j++) sum += least_of(&u, j, &terms);
    }
    perp__arena_clear(&arena);
    return ok ? sum > MARGIN * terms : -1;
}
