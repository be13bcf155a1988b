/* Non-differentiable points and jumps of the Lagrangian: abs, min, choose and the like. There
 * derivatives are those of one side, or the mean of both, by which a summit may look like a valley.
 * Slopes and values at two points on opposite sides decide: if all is smooth they differ by no more
 * than second derivatives explain. */

#include "base/hash.h"
#include "plan/kkt.h"

#include <math.h>
#include <string.h>

/* The two points are BESIDE times the unit of each unknown away. If slopes differ by CORNER of
 * their terms, and by more than second derivatives explain, there is a non-differentiable point
 * between them. */
static const double BESIDE = 1e-6, CORNER = 1e-4;
enum { DIRECTIONS = 3 };

/* A random sign for unknown i. */
static double sign_of(size_t i, int direction)
{
    uint64_t of = (unsigned)direction * UINT64_C(0xbf58476d1ce4e5b9);
    return perp__mixed((i + 1) * PERP__RANDOM_STEP + of) >> 63 ? 1 : -1;
}

/* To one side of the point, within bounds; the slopes there, and the Lagrangian. */
static double look_beside(perp__kkt *u, const double *w, const double *p, const double *lambda,
                          int direction, double side)
{
    const perp__bounds *b = u->pairing->bound;
    double value;
    for (size_t i = 0; i < u->nW + u->nP; i++) {
        int is_w = i < u->nW;
        size_t j = is_w ? i : i - u->nW;
        double lo = is_w ? b->wlo[j] : b->plo[j], hi = is_w ? b->whi[j] : b->phi[j],
               x = is_w ? w[j] : p[j];
        u->beside[i] = fmax(
            fmin(x, lo), fmin(fmax(x, hi), x + side * BESIDE * u->unit[i] * sign_of(i, direction)));
    }
    perp__kkt_evaluate(u, u->beside, u->beside + u->nW, lambda);
    perp__program_values(u->g, u->pairing, u->beside, u->beside + u->nW, u->r, &value);
    for (size_t i = 0; i < u->nR; i++)
        if (lambda[i] != 0) value += lambda[i] * u->r[i];
    return value;
}

/* By how much slopes may change between the two places, by the second derivatives at hand. */
static void add_bends(perp__kkt *u)
{
    const perp__program *g = u->g;
    size_t K = (size_t)g->K;
    for (int e = 0; e < g->hess.n; e++)
        for (size_t k = 0; k < K; k++) {
            long i = perp__program_place(g, g->hess.row[e], (int)k),
                 j = perp__program_place(g, g->hess.col[e], (int)k);
            double v = fabs(u->hess[(size_t)e * K + k]);
            if (i < 0 || j < 0) continue;
            u->bends[i] += 4 * BESIDE * v * u->unit[j];
            if (i != j) u->bends[j] += 4 * BESIDE * v * u->unit[i];
        }
}

static int is_kinked_along(perp__kkt *u, const double *w, const double *p, const double *lambda,
                           int direction)
{
    size_t n = u->nW + u->nP;
    double reach = 0, value;
    memset(u->bends, 0, n * sizeof *u->bends);
    value = look_beside(u, w, p, lambda, direction, 1);
    memcpy(u->before, u->slope, n * sizeof *u->before);
    add_bends(u);
    for (size_t i = 0; i < n; i++) reach += u->size[i] * u->unit[i];
    value -= look_beside(u, w, p, lambda, direction, -1);
    add_bends(u);
    for (size_t i = 0; i < n; i++) {
        reach += (u->size[i] + u->bends[i]) * u->unit[i];
        if (fabs(u->slope[i] - u->before[i]) > u->bends[i] + CORNER * u->size[i]) return 1;
    }
    return fabs(value) > 4 * BESIDE * reach;
}

int perp__kkt_is_kinked(perp__kkt *u, const double *w, const double *p, const double *lambda)
{
    int found = 0;
    if (!u->g->has_kinks) return 0;
    for (int d = 0; d < DIRECTIONS && !found; d++) found = is_kinked_along(u, w, p, lambda, d);
    perp__kkt_evaluate(u, w, p, lambda);
    return found;
}
