/* Elimination stage by stage from the first, the border last. */

#include "plan/stages.h"

#include "linalg/ldl.h"

#include <string.h>

static const double TINY = 1e-13; /* a pivot below this: singular */

perp__stages *perp__stages_create(perp__arena *arena, int K, int nmax, int nlink, int nborder,
                                  int most_coupled)
{
    perp__stages *s;
    size_t k = (size_t)K, n = (size_t)nmax, l = (size_t)nlink, b = (size_t)nborder, ld = n + l + b;
    if (!PERP_TAKE(arena, s, 1)) return NULL;
    s->K = K;
    s->nmax = nmax;
    s->nlink = nlink;
    s->nborder = nborder;
    s->most_coupled = most_coupled;
    s->ld = (int)ld;
    PERP_TAKE(arena, s->n, k);
    PERP_TAKE(arena, s->link, k * l);
    PERP_TAKE(arena, s->pivot, k * n);
    PERP_TAKE(arena, s->border_pivot, b);
    PERP_TAKE(arena, s->list, ld);
    PERP_TAKE(arena, s->A, k * ld * ld);
    PERP_TAKE(arena, s->coupled, k);
    PERP_TAKE(arena, s->pair, k * (size_t)most_coupled);
    PERP_TAKE(arena, s->P, b * b);
    PERP_TAKE(arena, s->work, n * l + ld);
    return arena->failed ? NULL : s;
}

void perp__stages_start(perp__stages *s)
{
    s->negative = 0;
}

static const perp__coupling *coupling(const perp__stages *s, int k)
{
    return s->pair + (size_t)k * (size_t)s->most_coupled;
}

/* All of stage k that is eliminated and left. */
static int width(const perp__stages *s, int k)
{
    return s->n[k] + s->nlink + s->nborder;
}

void perp__stages_begin(perp__stages *s, int k)
{
    int n = s->n[k], m = width(s, k);
    size_t ld = (size_t)s->ld;
    double *A = perp__stages_matrix(s, k);
    for (int j = 0; j < m; j++) memset(A + (size_t)j * (ld + 1), 0, (size_t)(m - j) * sizeof *A);
    s->coupled[k] = 0;
    for (int l = 0; l < s->nlink && k < s->K - 1; l++) {
        int at = s->link[(size_t)k * (size_t)s->nlink + (size_t)l];
        if (at >= 0) A[(size_t)at * ld + (size_t)(n + l)] = 1;
    }
}

/* S_k += G T G', B_k += G U', where [T . ; U .] is the remainder of the links and the border after
 * stage k - 1. */
static void bring_forward(perp__stages *s, int k)
{
    int nl = s->nlink, before = s->n[k - 1], many = 0, *rows = s->list;
    size_t ld = (size_t)s->ld, n = (size_t)s->n[k];
    const double *T = perp__stages_matrix(s, k - 1) + (size_t)before * (ld + 1);
    const perp__coupling *pair = coupling(s, k), *end = pair + s->coupled[k];
    double *W = s->work, *A = perp__stages_matrix(s, k); /* W = G T, column l at W + l n */
    if (nl == 0) return;
    memset(W, 0, n * (size_t)nl * sizeof *W);
    for (const perp__coupling *e = pair; e < end; e++) {
        int i = e->row, is_known = 0;
        for (int a = many - 1; a >= 0 && !is_known; a--) is_known = rows[a] == i;
        if (!is_known) rows[many++] = i;
        for (int l = 0; l < nl; l++) {
            size_t a = (size_t)(l < e->link ? l : e->link), b = (size_t)(l + e->link) - a;
            W[(size_t)l * n + (size_t)i] += e->value * T[a * ld + b];
        }
        for (int b = 0; b < s->nborder; b++)
            perp__stages_add_border(s, k, i, b,
                                    e->value * T[(size_t)e->link * ld + (size_t)(nl + b)]);
    }
    for (const perp__coupling *e = pair; e < end; e++) {
        const double *w = W + (size_t)e->link * n;
        double *to = A + (size_t)e->row * ld;
        for (int a = 0; a < many; a++)
            if (rows[a] >= e->row) to[rows[a]] += e->value * w[rows[a]];
    }
}

int perp__stages_eliminate(perp__stages *s, int k)
{
    int n = s->n[k], nb = s->nborder, m = width(s, k);
    double *A = perp__stages_matrix(s, k);
    const double *left = A + (size_t)(n + s->nlink) * (size_t)(s->ld + 1);
    if (k > 0) bring_forward(s, k);
    int negative =
        perp__ldl_factor(n, m, A, s->ld, s->pivot + (size_t)k * (size_t)s->nmax, s->list, TINY);
    if (negative < 0) return 0;
    s->negative += negative;
    for (int c = 0; c < nb; c++)
        for (int b = c; b < nb; b++) s->P[c * nb + b] += left[c * s->ld + b];
    return 1;
}

int perp__stages_finish(perp__stages *s)
{
    int nb = s->nborder,
        negative = perp__ldl_factor(nb, nb, s->P, nb, s->border_pivot, s->list, TINY);
    if (negative < 0) return 0;
    s->negative += negative;
    return 1;
}

/* A solution goes through stage k in `work`: its own part, the links, the border. */
void perp__stages_solve(const perp__stages *s, double *x, double *y)
{
    int nl = s->nlink, nb = s->nborder;
    double *z = s->work;
    for (int k = 0; k < s->K; k++) {
        int n = s->n[k], before = k > 0 ? s->n[k - 1] : 0;
        double *r = x + (size_t)k * (size_t)s->nmax;
        const perp__coupling *pair = coupling(s, k);
        for (int e = 0; e < s->coupled[k] && k > 0; e++)
            r[pair[e].row] += pair[e].value * z[before + pair[e].link];
        memcpy(z, r, (size_t)n * sizeof *z);
        memset(z + n, 0, (size_t)nl * sizeof *z);
        memcpy(z + n + nl, y, (size_t)nb * sizeof *z);
        perp__ldl_forward(n, width(s, k), perp__stages_matrix(s, k), s->ld,
                          s->pivot + (size_t)k * (size_t)s->nmax, z);
        memcpy(r, z, (size_t)n * sizeof *z);
        memcpy(y, z + n + nl, (size_t)nb * sizeof *z);
    }
    perp__ldl_solve(nb, s->P, nb, s->border_pivot, y);
    for (int k = s->K - 1; k >= 0; k--) {
        int n = s->n[k];
        double *r = x + (size_t)k * (size_t)s->nmax;
        memcpy(z, r, (size_t)n * sizeof *z);
        memset(z + n, 0, (size_t)nl * sizeof *z);
        memcpy(z + n + nl, y, (size_t)nb * sizeof *z);
        for (int e = 0; k < s->K - 1 && e < s->coupled[k + 1]; e++) {
            const perp__coupling *c = &coupling(s, k + 1)[e];
            z[n + c->link] += c->value * r[s->nmax + c->row];
        }
        perp__ldl_backward(n, width(s, k), perp__stages_matrix(s, k), s->ld,
                           s->pivot + (size_t)k * (size_t)s->nmax, z);
        memcpy(r, z, (size_t)n * sizeof *z);
    }
}
