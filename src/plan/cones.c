/* Exact friction cones in a plan, with the direction d and the speed s of slip as unknowns of each
 * point: f = -bound d, v = s d, and s = 0 or |d| = 1. One of the two is active when sides are
 * fixed. Before that the law is smoothed, s^2 = |v|^2 + eps^2, or softened, |v| <= s <= d'v + eps,
 * which for any v is convex in d and s. Both have a gradient where the bound is 0, too. */

#include "plan/transcribe.h"

#include <math.h>
#include <stdlib.h>

static const double SHARPEST = 1e-16; /* the square of the least slip at which |v| is smooth */

int perp__plan_cones(const perp_model *m)
{
    int n = 0;
    for (int i = 0; i < m->nfriction; i++) n += m->contact[i].kind == PERP__CONTACT_CONE;
    return n;
}

/* A row for one of a cone's conditions. */
static int add_row(perp__transcriber *t, const perp__contact *of, perp_expr e)
{
    return perp__add_row(t, e, 0, 0, of->text, of->at, PERP__OF_MODEL);
}

static void add_cone(perp__transcriber *t, const perp__contact *of, int cone, int point, int split)
{
    perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp__pair named = {.text = of->text, .at = of->at};
    perp__plan_pair pair = {.pair = -1,
                            .point = point,
                            .parts = -1,
                            .switched = -1,
                            .kept = -1,
                            .scale = 1,
                            .is_cone = 1};
    perp_expr eps = perp__symbol(graph, g->sym.relaxation),
              s = perp__plan_unknown(t, point, split + 2), along = s, room = perp__const(graph, 1),
              bound = perp__translate_at(t, of->bound, of->at),
              unit = perp__symbol(graph, g->sym.slip + cone),
              square = perp__mul(
                  graph, perp__mul(graph, unit, unit),
                  perp__add(graph, perp__mul(graph, eps, eps), perp__const(graph, SHARPEST)));
    if (of->guard >= 0) bound = perp__mul(graph, bound, perp__translate_at(t, of->guard, of->at));
    for (int i = 0; i < 2; i++) {
        perp_expr f = perp__translate_at(t, of->f[i], of->at),
                  v = perp__translate_at(t, of->v[i], of->at),
                  d = perp__plan_unknown(t, point, split + i);
        room = perp__sub(graph, room, perp__mul(graph, d, d));
        along = perp__sub(graph, along, perp__mul(graph, d, v));
        square = perp__add(graph, square, perp__mul(graph, v, v));
        pair.force[i] = add_row(t, of, perp__add(graph, f, perp__mul(graph, bound, d)));
        pair.slip[i] = add_row(t, of, perp__sub(graph, v, perp__mul(graph, s, d)));
    }
    pair.speed = add_row(t, of, perp__sub(graph, s, perp__unary(graph, PERP__SQRT, square)));
    int w = point * g->nb + split;
    for (int k = 0; k < 2 * g->K; k++) g->bound.wlo[w * g->K + k] = -INFINITY;
    perp__add_side(t, &pair, 0, room, &named, 1, -1, 0);
    perp__add_side(t, &pair, 1, s, &named, 1, s, 0);
    perp__bound_product(t, &pair, along, &named);
    perp__push_pair(t, pair);
}

void perp__transcribe_cones(perp__transcriber *t, int point, int *split)
{
    const perp_model *m = t->model;
    for (int i = 0, cone = 0; i < m->nfriction && !t->failed; i++) {
        if (m->contact[i].kind != PERP__CONTACT_CONE) continue;
        add_cone(t, &m->contact[i], cone++, point, *split);
        *split += PERP__CONE_UNKNOWNS;
    }
    if (!t->failed) perp__program_treat_cones(t->program, PERP__CONES_SMOOTH);
}

/* lo <= row <= hi at all steps. */
static void set_row(const perp__program *g, const perp__bounds *b, int row, double lo, double hi)
{
    size_t K = (size_t)g->K;
    for (size_t k = 0; k < K && row >= 0; k++) {
        b->rlo[(size_t)row * K + k] = lo;
        b->rhi[(size_t)row * K + k] = hi;
    }
}

void perp__program_treat_cones(perp__program *g, perp__cone_law as)
{
    int is_soft = as == PERP__CONES_SOFT;
    double any = is_soft ? (double)INFINITY : 0, more = is_soft ? (double)INFINITY : 0;
    for (int i = 0; i < g->npair; i++) {
        const perp__plan_pair *pair = &g->pair[i];
        if (!pair->is_cone) continue;
        set_row(g, &g->bound, pair->product, -INFINITY, is_soft ? 0 : (double)INFINITY);
        set_row(g, &g->bound, pair->speed, 0, more);
        for (int j = 0; j < 2; j++) set_row(g, &g->bound, pair->slip[j], -any, any);
    }
}

/* d and s of a cone at step k for a relaxation eps: along the slip or, without slip, against the
 * force. r0, r1: the rows' values without d, and with d = (1, 1). */
static void guess_cone(const perp__program *g, const perp__plan_pair *pair, size_t k, double eps,
                       const double *r0, const double *r1, double *w)
{
    size_t K = (size_t)g->K, s = (size_t)pair->w[1] * K + k;
    double f[2], v[2];
    for (int i = 0; i < 2; i++) {
        f[i] = r0[(size_t)pair->force[i] * K + k];
        v[i] = r0[(size_t)pair->slip[i] * K + k];
    }
    size_t row = (size_t)pair->force[0] * K + k;
    double size = fmax(r1[row] - r0[row], hypot(f[0], f[1]));
    w[s] = hypot(hypot(v[0], v[1]), eps * g->unit.w[pair->w[1]]);
    for (size_t i = 0; i < 2; i++) {
        if (w[s] > 0)
            w[s - (2 - i) * K] = v[i] / w[s];
        else if (size > 0)
            w[s - (2 - i) * K] = -f[i] / size;
        else
            w[s - (2 - i) * K] = 0;
    }
}

int perp__program_has_cones(const perp__program *g)
{
    for (int i = 0; i < g->npair; i++)
        if (g->pair[i].is_cone) return 1;
    return 0;
}

int perp__program_guess_cones(perp__program *g, double eps, double *w, const double *p)
{
    size_t K = (size_t)g->K, n = (size_t)g->nrow * K;
    double cost, *r = NULL;
    if (!perp__program_has_cones(g)) return 1;
    r = malloc(2 * n * sizeof *r);
    if (!r) return 0;
    for (int along = 0; along < 2; along++) {
        for (int i = 0; i < g->npair; i++)
            for (size_t j = 0; j < PERP__CONE_UNKNOWNS * K && g->pair[i].is_cone; j++)
                w[(size_t)(g->pair[i].w[1] - 2) * K + j] = j < 2 * K ? along : 0;
        perp__program_values(g, NULL, w, p, r + (size_t)along * n, &cost);
    }
    for (int i = 0; i < g->npair; i++)
        for (size_t k = 0; k < K && g->pair[i].is_cone; k++)
            guess_cone(g, &g->pair[i], k, eps, r, r + n, w);
    free(r);
    return 1;
}
