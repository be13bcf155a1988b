/* The curvature of a Lagrangian under some constraints. The inertia of the interior point's matrix,
 * without a barrier, tells whether it falls along a direction (Gould 1985). Inverse iteration finds
 * one. Unknowns are measured by their extents, the curvature by its mean. */

#include "base/tol.h"
#include "plan/ipm_state.h"

#include <string.h>

/* No curvature that is larger than MOST, in the program's units, is made positive. */
static const double MOST = 1e12;

static const double REDUNDANT =
    1e-10; /* on the diagonal where conditions that are held repeat each other */

/* Unknowns and rows held at the asked level are fixed; all others are free. */
static void hold(perp__ipm *s, const perp__ipm_point *at, int level)
{
    size_t n = s->nW + s->nP;
    for (size_t i = 0; i < s->n; i++) {
        int is_held = at->held[i] >= level;
        s->lo[i] = is_held ? 0 : -UNBOUNDED;
        s->hi[i] = is_held ? 0 : UNBOUNDED;
        if (i < n) s->sigma[i] = 0;
    }
    perp__ipm_place(s);
}

static double by_extents(const perp__ipm *s, const void *at, size_t i, size_t j)
{
    (void)s;
    const double *extent = at;
    return extent[i] * extent[j];
}

/* Derivatives at the point, in units of the extents, of the mean curvature and of the rows'
 * reach. */
void perp__ipm_measure(perp__ipm *s, const perp__ipm_point *at)
{
    const perp__program *g = s->g;
    size_t K = (size_t)s->K;
    perp__program_derivatives(s->g, at->pairing, at->w, at->p, at->lambda, 1, s->values.jac,
                              s->values.grad, s->values.hess);
    double mean = perp__ipm_sum_curvature(s, by_extents, at->extent) / s->K;
    if (!(mean > 0)) mean = 1;
    s->is_redundant = 0;
    s->factors.margin = NAN; /* nothing is factored */
    for (int e = 0; e < g->hess.n; e++)
        for (int k = 0; k < s->K; k++) {
            long i = perp__ipm_index_of(s, g->hess.row[e], k),
                 j = perp__ipm_index_of(s, g->hess.col[e], k);
            if (i >= 0 && j >= 0)
                s->values.hess[(size_t)e * K + (size_t)k] *= at->extent[i] * at->extent[j] / mean;
        }
    for (int e = 0; e < g->jac.n; e++)
        for (int k = 0; k < s->K; k++) {
            long i = perp__ipm_index_of(s, g->jac.col[e], k);
            double reach = at->reach[(size_t)g->jac.row[e] * K + (size_t)k];
            if (i >= 0 && reach > 0)
                s->values.jac[(size_t)e * K + (size_t)k] *= at->extent[i] / reach;
        }
}

static int is_held(const perp__ipm *s, size_t i)
{
    return s->lo[i] == s->hi[i];
}

/* The first stage in which something else is held than in the last factorisation of the same point,
 * or that this did not reach. */
static int first_changed(const perp__ipm *s)
{
    size_t K = (size_t)s->K, n = s->nW + s->nP;
    int first = s->factors.stages;
    for (size_t i = 0; i < s->n; i++) {
        if (is_held(s, i) == s->factors.was_held[i]) continue;
        if (i >= s->nW && i < n) return 0;
        int k = (int)((i < n ? i : i - n) % K);
        if (k < first) first = k;
    }
    return first;
}

static int factor(perp__ipm *s, double margin)
{
    for (size_t i = 0; i < s->nW + s->nP; i++) s->sigma[i] = margin;
    s->delta.w = 0;
    s->delta.c = s->is_redundant ? REDUNDANT : 0;
    int first = margin == s->factors.margin ? first_changed(s) : 0; /* of stages */
    for (size_t i = 0; i < s->n; i++) s->factors.was_held[i] = (char)is_held(s, i);
    s->factors.margin = margin;
    int ok = perp__ipm_factor_from(s, first);
    if (ok >= 0 || s->is_redundant) return ok;
    s->is_redundant = 1;
    s->delta.c = REDUNDANT;
    return perp__ipm_factor_once(s);
}

int perp__ipm_rises(perp__ipm *s, const perp__ipm_point *at, int level, double margin)
{
    hold(s, at, level);
    return factor(s, margin);
}

/* The least margin at which the curvature is positive in all directions, to within a factor of 1.5
 * above. Returns 0: none. */
static double least_margin(perp__ipm *s, double below)
{
    double above = below;
    while (factor(s, above) != 1)
        if ((above *= 10) > MOST) return 0;
    below = 0.1 * above;
    while (above > 1.5 * below) {
        double middle = sqrt(above * below);
        if (factor(s, middle) == 1)
            above = middle;
        else
            below = middle;
    }
    return factor(s, above) == 1 ? above : 0;
}

/* Curvature along d, over its size squared. */
static double curvature_along(const perp__ipm *s, const double *d)
{
    const perp__program *g = s->g;
    double sum = 0, norm = 0;
    for (int e = 0; e < g->hess.n; e++)
        for (int k = 0; k < s->K; k++) {
            long i = perp__ipm_index_of(s, g->hess.row[e], k),
                 j = perp__ipm_index_of(s, g->hess.col[e], k);
            if (i < 0 || j < 0) continue;
            int twice = g->hess.row[e] != g->hess.col[e];
            sum += (1 + twice) * s->values.hess[(size_t)e * (size_t)s->K + (size_t)k] * d[i] * d[j];
        }
    for (size_t i = 0; i < s->nW + s->nP; i++) norm += d[i] * d[i];
    return sum / norm;
}

int perp__ipm_falling_direction(perp__ipm *s, const perp__ipm_point *at, int level, double margin,
                                double *d)
{
    enum { ROUNDS = 20 };
    size_t n = s->nW + s->nP;
    unsigned long long state = 1;
    if (perp__ipm_rises(s, at, level, margin) == 1 || least_margin(s, margin) == 0) return 0;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        d[i] = s->is_free[i] ? (double)(state >> 11) / 9007199254740992.0 - 0.4 : 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double most = 0;
        memset(s->d.lambda, 0, s->m * sizeof *s->d.lambda);
        perp__ipm_solve_factored(s, d, s->d.lambda);
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs(d[i]));
        if (!(most > 0) || !isfinite(most)) return 0;
        for (size_t i = 0; i < n; i++) d[i] /= most;
    }
    if (!(curvature_along(s, d) < 0)) return 0;
    for (size_t i = 0; i < n; i++) d[i] *= at->extent[i];
    return 1;
}
