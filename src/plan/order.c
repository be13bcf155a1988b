/* The order in which a stage is eliminated: least degree first, of the pattern that all stages
 * share, so that little of it fills up. What couples a stage to its neighbours and to the border
 * stays to the end. */

#include "plan/ipm_state.h"

#include <string.h>

typedef unsigned long long word;

enum { BITS = 64 };

/* n items, unknowns and then rows. The others are never eliminated: the links, the border, and all
 * neighbours in the stage before as one. */
typedef struct pattern {
    int n, all, words;
    word *of;
    int *degree;
    char *is_gone, *has_pivot; /* of a row: an unknown of its own is gone */
} pattern;

static void join(pattern *q, int i, int j)
{
    if (i == j) return;
    q->of[(size_t)i * (size_t)q->words + (size_t)(j / BITS)] |= 1ULL << (j % BITS);
    q->of[(size_t)j * (size_t)q->words + (size_t)(i / BITS)] |= 1ULL << (i % BITS);
}

static int joined(const pattern *q, int i, int j)
{
    return q->of[(size_t)i * (size_t)q->words + (size_t)(j / BITS)] >> (j % BITS) & 1;
}

static void count(pattern *q, int i)
{
    q->degree[i] = 0;
    for (int b = 0; b < q->words; b++)
        q->degree[i] += __builtin_popcountll(q->of[(size_t)i * (size_t)q->words + (size_t)b]);
}

/* The item of column `col`; -1: the stage before. */
static int item_of(const perp__ipm *s, int col)
{
    switch (perp__ipm_kind_of(s, col)) {
    case PRE: return -1;
    case UNKNOWN: return col - s->nx;
    default: return s->nrow + col; /* behind unknowns, rows and links */
    }
}

static void join_column(const perp__ipm *s, pattern *q, int item, int col, char *touched)
{
    int at = item_of(s, col);
    if (at >= 0)
        join(q, item, at);
    else
        touched[item] = 1;
}

static void fill_pattern(const perp__ipm *s, pattern *q, char *touched)
{
    const perp__program *g = s->g;
    for (int e = 0; e < g->jac.n; e++)
        join_column(s, q, s->nw + g->jac.row[e], g->jac.col[e], touched);
    for (int e = 0; e < g->hess.n; e++) {
        int i = item_of(s, g->hess.row[e]), j = item_of(s, g->hess.col[e]);
        if (i >= 0) join_column(s, q, i, g->hess.col[e], touched);
        if (i < 0 && j >= 0) touched[j] = 1;
    }
    for (int l = 0; l < s->nx; l++) join(q, (g->npoint - 1) * g->nb + l, q->n + l);
    for (int i = 0; i < q->n; i++)
        for (int j = 0; j < i && touched[i]; j++)
            if (touched[j]) join(q, i, j);
}

/* All that is joined to an item is joined among itself, and no more to the item. */
static void eliminate(pattern *q, int item)
{
    word *mine = q->of + (size_t)item * (size_t)q->words;
    for (int j = 0; j < q->all; j++) {
        if (!joined(q, item, j)) continue;
        word *other = q->of + (size_t)j * (size_t)q->words;
        for (int b = 0; b < q->words; b++) other[b] |= mine[b];
        other[j / BITS] &= ~(1ULL << (j % BITS));
        other[item / BITS] &= ~(1ULL << (item % BITS));
        q->has_pivot[j] = 1;
        count(q, j);
    }
    q->is_gone[item] = 1;
}

int perp__ipm_order(const perp__ipm *s, perp__arena *work, int *order)
{
    pattern q = {.n = s->nw + s->nrow};
    char *touched;
    q.all = q.n + s->nx + s->np;
    q.words = (q.all + BITS - 1) / BITS;
    PERP_TAKE(work, q.of, (size_t)q.all * (size_t)q.words);
    PERP_TAKE(work, q.degree, (size_t)q.all);
    PERP_TAKE(work, q.is_gone, (size_t)q.all);
    PERP_TAKE(work, q.has_pivot, (size_t)q.all);
    PERP_TAKE(work, touched, (size_t)q.all);
    if (work->failed) return 0;
    fill_pattern(s, &q, touched);
    for (int i = 0; i < q.n; i++) count(&q, i);
    for (int k = 0; k < q.n; k++) {
        int best = -1;
        for (int i = 0; i < q.n; i++) {
            if (q.is_gone[i] || (i >= s->nw && !q.has_pivot[i])) continue;
            if (best < 0 || q.degree[i] < q.degree[best]) best = i;
        }
        for (int i = s->nw; i < q.n && best < 0; i++)
            if (!q.is_gone[i]) best = i;
        eliminate(&q, best);
        order[k] = best;
    }
    return 1;
}
