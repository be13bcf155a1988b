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
    double unit = pair->row[0] >= 0 ? g->unit.r[pair->row[0]] : g->unit.w[pair->w[0]];
    return unit == 1 ? pair->scale : 1;
}

void perp__sides_choose(perp__sides *s, const double *w, const double *r)
{
    const perp__program *g = s->program;
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++)
            s->side[entry(g, i, k)] = perp__side_value(g, &g->pair[i], 0, k, w, r) >
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
            if (side == PERP__SIDE_RELAXED) continue;
            if (pair->product >= 0) {
                b->rlo[entry(g, pair->product, k)] = -INFINITY;
                b->rhi[entry(g, pair->product, k)] = INFINITY;
            }
            if (pair->is_cone) hold_direction(b, pair, (size_t)g->K, (size_t)k);
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
            if (*side > 1 || perp__side_value(g, pair, 1 - *side, k, w, r) > tol * scale) continue;
            *side = (signed char)treatment;
            count++;
        }
    return count;
}
