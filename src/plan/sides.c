/* The active set of a plan's pairs: each has one side at 0. With the sides fixed the program is an
 * ordinary one. */

#include "plan/nlp.h"

#include <math.h>
#include <string.h>

perp__sides *perp__sides_create(perp__arena *arena, perp__program *g)
{
    perp__sides *s;
    size_t K = (size_t)g->K;
    if (!PERP_TAKE(arena, s, 1)) return NULL;
    s->program = g;
    s->bound = g->bound; /* those of p stay the program's */
    PERP_TAKE(arena, s->side, (size_t)g->npair * K);
    PERP_TAKE(arena, s->bound.wlo, (size_t)g->nw * K);
    PERP_TAKE(arena, s->bound.whi, (size_t)g->nw * K);
    PERP_TAKE(arena, s->bound.rlo, (size_t)g->nrow * K);
    PERP_TAKE(arena, s->bound.rhi, (size_t)g->nrow * K);
    return arena->failed ? NULL : s;
}

static size_t entry(const perp__program *g, int i, int k)
{
    return (size_t)i * (size_t)g->K + (size_t)k;
}

double perp__side_value(const perp__program *g, const perp__plan_pair *pair, int side, int k,
                        const double *w, const double *r)
{
    if (pair->row[side] >= 0) return r[entry(g, pair->row[side], k)] / g->unit.r[pair->row[side]];
    return pair->sign[side] * (w[entry(g, pair->w[side], k)] - pair->offset[side]) /
           g->unit.w[pair->w[side]];
}

double perp__pair_scale(const perp__program *g, const perp__plan_pair *pair)
{
    return g->unit.differ ? 1 : pair->scale;
}

/* The second side of the pair behind a guard, in the unit of its parts. */
static double switched_side(const perp__program *g, int guard, int k, const double *w,
                            const double *r)
{
    const perp__plan_pair *pair = &g->pair[guard + 1];
    double b =
        r[entry(g, pair->parts, k)] + w[entry(g, pair->w[1], k)] - w[entry(g, pair->minus, k)];
    return b / g->unit.w[pair->w[1]];
}

/* Of a guard that is at its switch: is what is behind it the same on both sides of that? Where its
 * pair has a force, or would need one at once, it is not, and no small change switches it. */
static int may_switch(const perp__program *g, int guard, int k, const double *w, const double *r,
                      double tol)
{
    return perp__side_value(g, &g->pair[guard + 1], 0, k, w, r) <= tol &&
           switched_side(g, guard, k, w, r) >= -tol;
}

/* The side of a guard; 1: it is off. Then there is no force, and only then may the second side be
 * below 0. */
static int side_of_guard(const perp__program *g, int guard, int k, const double *w, const double *r)
{
    double above = perp__side_value(g, &g->pair[guard], 0, k, w, r),
           below = perp__side_value(g, &g->pair[guard], 1, k, w, r),
           force = perp__side_value(g, &g->pair[guard + 1], 0, k, w, r);
    return above + fmax(0, -switched_side(g, guard, k, w, r)) > below + force;
}

void perp__sides_choose(perp__sides *s, const double *w, const double *r)
{
    const perp__program *g = s->program;
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++)
            s->side[entry(g, i, k)] = g->pair[i].is_guard
                                          ? (signed char)side_of_guard(g, i, k, w, r)
                                          : perp__side_value(g, &g->pair[i], 0, k, w, r) >
                                                perp__side_value(g, &g->pair[i], 1, k, w, r);
}

/* v = s d; s is |v| by that. */
static void hold_direction(perp__bounds *b, const perp__plan_pair *pair, size_t K, size_t k)
{
    size_t speed = (size_t)pair->speed * K + k;
    for (int j = 0; j < 2; j++) {
        size_t at = (size_t)pair->slip[j] * K + k;
        b->rlo[at] = b->rhi[at] = 0;
    }
    b->rlo[speed] = -INFINITY;
    b->rhi[speed] = INFINITY;
}

/* Is the pair switched off at step k by its guard's side? */
static int is_off(const perp__sides *s, const perp__plan_pair *pair, int k)
{
    return pair->switched >= 0 && s->side[entry(s->program, pair->switched, k)] == 1;
}

static int has_relaxed_guard(const perp__sides *s, const perp__plan_pair *pair, int k)
{
    return pair->switched >= 0 &&
           s->side[entry(s->program, pair->switched, k)] == PERP__SIDE_RELAXED;
}

/* Of a switched pair: its second side is free while it is off, and never short of 0 while it is
 * on. */
static void hold_parts(perp__bounds *b, const perp__plan_pair *pair, int off, size_t K, size_t k)
{
    size_t minus = (size_t)pair->minus * K + k, plus = (size_t)pair->w[1] * K + k,
           parts = (size_t)pair->parts * K + k;
    for (int i = 0; i < PERP__KEPT; i++) {
        size_t kept = (size_t)(pair->kept + i) * K + k;
        b->rlo[kept] = -INFINITY;
        b->rhi[kept] = INFINITY;
    }
    b->wlo[minus] = b->whi[minus] = 0;
    if (!off) return;
    b->wlo[plus] = b->whi[plus] = 0;
    b->rlo[parts] = -INFINITY;
    b->rhi[parts] = INFINITY;
}

const perp__bounds *perp__sides_fix(perp__sides *s)
{
    const perp__program *g = s->program;
    perp__bounds *b = &s->bound;
    size_t K = (size_t)g->K;
    memcpy(b->wlo, g->bound.wlo, (size_t)g->nw * K * sizeof *b->wlo);
    memcpy(b->whi, g->bound.whi, (size_t)g->nw * K * sizeof *b->whi);
    memcpy(b->rlo, g->bound.rlo, (size_t)g->nrow * K * sizeof *b->rlo);
    memcpy(b->rhi, g->bound.rhi, (size_t)g->nrow * K * sizeof *b->rhi);
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++) {
            const perp__plan_pair *pair = &g->pair[i];
            int side = s->side[entry(g, i, k)];
            if (side == PERP__SIDE_RELAXED || has_relaxed_guard(s, pair, k)) continue;
            if (pair->product >= 0) {
                b->rlo[entry(g, pair->product, k)] = -INFINITY;
                b->rhi[entry(g, pair->product, k)] = INFINITY;
            }
            if (pair->is_cone) hold_direction(b, pair, (size_t)g->K, (size_t)k);
            if (pair->switched >= 0) {
                int off = is_off(s, pair, k);
                hold_parts(b, pair, off, K, (size_t)k);
                if (off) side = 0;
            }
            if (side == PERP__SIDE_OPEN) continue;
            if (pair->row[side] >= 0) {
                size_t at = entry(g, pair->row[side], k);
                b->rlo[at] = b->rhi[at] = 0;
            } else {
                size_t at = entry(g, pair->w[side], k);
                b->wlo[at] = b->whi[at] = pair->offset[side];
            }
        }
    return b;
}

int perp__sides_treat(perp__sides *s, const double *w, const double *r, double tol, int treatment)
{
    const perp__program *g = s->program;
    int count = 0;
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++) {
            const perp__plan_pair *pair = &g->pair[i];
            signed char *side = &s->side[entry(g, i, k)];
            double scale = *side == 1 ? perp__pair_scale(g, pair) : 1; /* of the other side */
            if (is_off(s, pair, k)) continue;
            if (pair->is_guard && !may_switch(g, i, k, w, r, tol)) continue;
            if (*side > 1 || perp__side_value(g, pair, 1 - *side, k, w, r) > tol * scale) continue;
            *side = (signed char)treatment;
            count++;
        }
    return count;
}
