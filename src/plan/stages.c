/* Elimination stage by stage from the first, the border last. */

#include "plan/stages.h"

#include "linalg/ldl.h"

#include <string.h>

static const double TINY = 1e-13; /* a pivot below this: singular */

perp__stages *perp__stages_create(perp__arena *arena, int K, int nmax, int nlink, int nborder)
{
    perp__stages *s;
    size_t k = (size_t)K, n = (size_t)nmax, l = (size_t)nlink + 1, b = (size_t)nborder + 1;
    if (!PERP_TAKE(arena, s, 1)) return NULL;
    s->K = K;
    s->nmax = nmax;
    s->nlink = nlink;
    s->nborder = nborder;
    PERP_TAKE(arena, s->n, k);
    PERP_TAKE(arena, s->link, k * l);
    PERP_TAKE(arena, s->pivot, k * n);
    PERP_TAKE(arena, s->border_pivot, b);
    PERP_TAKE(arena, s->S, k * n * n);
    PERP_TAKE(arena, s->G, k * n * l);
    PERP_TAKE(arena, s->B, k * n * b);
    PERP_TAKE(arena, s->V, k * n * l);
    PERP_TAKE(arena, s->Y, k * n * b);
    PERP_TAKE(arena, s->P, b * b);
    PERP_TAKE(arena, s->work, n * l + l * b + l);
    return arena->failed ? NULL : s;
}

void perp__stages_start(perp__stages *s)
{
    s->negative = 0;
}

static double *stage(double *array, const perp__stages *s, int k, int columns)
{
    return array + (size_t)k * (size_t)s->nmax * (size_t)columns;
}

/* S_k -= G inv(S_k-1) G', B_k -= G inv(S_k-1) B_k-1; only rows of G that are not 0 count. */
static void bring_forward(perp__stages *s, int k)
{
    int n = s->n[k], nl = s->nlink, nb = s->nborder, nmax = s->nmax;
    const double *G = stage(s->G, s, k, nl), *V = stage(s->V, s, k - 1, nl),
                 *Y = stage(s->Y, s, k - 1, nb);
    const int *link = s->link + (size_t)(k - 1) * (size_t)nl;
    double *S = stage(s->S, s, k, nmax), *B = stage(s->B, s, k, nb), *W = s->work;
    for (int i = 0; i < n; i++) {
        const double *g = G + (size_t)i * (size_t)nl;
        double *w = W + (size_t)i * (size_t)nl;
        int any = 0;
        for (int l = 0; l < nl; l++) any |= g[l] != 0;
        memset(w, 0, (size_t)nl * sizeof *w);
        if (!any) continue;
        for (int m = 0; m < nl; m++) { /* w = G[i] inv(S)[links, links] */
            if (g[m] == 0 || link[m] < 0) continue;
            for (int l = 0; l < nl; l++)
                w[l] += g[m] * V[(size_t)l * (size_t)nmax + (size_t)link[m]];
        }
        for (int j = 0; j <= i; j++) {
            const double *h = G + (size_t)j * (size_t)nl;
            double sum = 0;
            for (int l = 0; l < nl; l++) sum += w[l] * h[l];
            S[(size_t)j * (size_t)nmax + (size_t)i] -= sum;
        }
        for (int b = 0; b < nb; b++) {
            double sum = 0;
            for (int l = 0; l < nl; l++)
                if (link[l] >= 0) sum += g[l] * Y[(size_t)b * (size_t)nmax + (size_t)link[l]];
            B[(size_t)b * (size_t)nmax + (size_t)i] -= sum;
        }
    }
}

int perp__stages_eliminate(perp__stages *s, int k)
{
    int n = s->n[k], nl = s->nlink, nb = s->nborder, nmax = s->nmax;
    double *S = stage(s->S, s, k, nmax), *B = stage(s->B, s, k, nb), *V = stage(s->V, s, k, nl),
           *Y = stage(s->Y, s, k, nb);
    int *pivot = s->pivot + (size_t)k * (size_t)nmax;
    if (k > 0) bring_forward(s, k);
    int negative = perp__ldl_factor(n, S, nmax, pivot, TINY);
    if (negative < 0) return 0;
    s->negative += negative;
    memset(V, 0, (size_t)nmax * (size_t)nl * sizeof *V);
    for (int l = 0; l < nl; l++) {
        int at = s->link[(size_t)k * (size_t)nl + (size_t)l];
        if (at >= 0) V[(size_t)l * (size_t)nmax + (size_t)at] = 1;
    }
    memcpy(Y, B, (size_t)nmax * (size_t)nb * sizeof *Y);
    if (k < s->K - 1) perp__ldl_solve(n, S, nmax, pivot, V, nmax, nl);
    perp__ldl_solve(n, S, nmax, pivot, Y, nmax, nb);
    for (int b = 0; b < nb; b++)
        for (int c = 0; c <= b; c++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += B[(size_t)b * (size_t)nmax + (size_t)i] *
                       Y[(size_t)c * (size_t)nmax + (size_t)i];
            s->P[(size_t)c * (size_t)nb + (size_t)b] -= sum;
        }
    return 1;
}

int perp__stages_finish(perp__stages *s)
{
    int negative = perp__ldl_factor(s->nborder, s->P, s->nborder, s->border_pivot, TINY);
    if (negative < 0) return 0;
    s->negative += negative;
    return 1;
}

void perp__stages_solve(const perp__stages *s, double *x, double *y)
{
    int nl = s->nlink, nb = s->nborder, nmax = s->nmax;
    double *z = s->work;
    for (int k = 0; k < s->K; k++) { /* forward: r_k -= G inv(S_k-1) r_k-1 */
        int n = s->n[k];
        double *r = x + (size_t)k * (size_t)nmax;
        const double *Y = s->Y + (size_t)k * (size_t)nmax * (size_t)nb;
        if (k > 0) {
            const double *V = s->V + (size_t)(k - 1) * (size_t)nmax * (size_t)nl;
            const double *G = s->G + (size_t)k * (size_t)nmax * (size_t)nl;
            const double *before = r - nmax;
            for (int l = 0; l < nl; l++) {
                double sum = 0;
                for (int i = 0; i < s->n[k - 1]; i++)
                    sum += V[(size_t)l * (size_t)nmax + (size_t)i] * before[i];
                z[l] = sum;
            }
            for (int i = 0; i < n; i++)
                for (int l = 0; l < nl; l++) r[i] -= G[(size_t)i * (size_t)nl + (size_t)l] * z[l];
        }
        for (int b = 0; b < nb; b++)
            for (int i = 0; i < n; i++) y[b] -= Y[(size_t)b * (size_t)nmax + (size_t)i] * r[i];
    }
    perp__ldl_solve(nb, s->P, nb, s->border_pivot, y, nb, 1);
    for (int k = s->K - 1; k >= 0; k--) { /* backward */
        int n = s->n[k];
        double *r = x + (size_t)k * (size_t)nmax;
        const double *Y = s->Y + (size_t)k * (size_t)nmax * (size_t)nb;
        const double *V = s->V + (size_t)k * (size_t)nmax * (size_t)nl;
        perp__ldl_solve(n, s->S + (size_t)k * (size_t)nmax * (size_t)nmax, nmax,
                        s->pivot + (size_t)k * (size_t)nmax, r, nmax, 1);
        for (int b = 0; b < nb; b++)
            for (int i = 0; i < n; i++) r[i] -= Y[(size_t)b * (size_t)nmax + (size_t)i] * y[b];
        if (k == s->K - 1) continue;
        const double *G = s->G + (size_t)(k + 1) * (size_t)nmax * (size_t)nl, *after = r + nmax;
        for (int l = 0; l < nl; l++) {
            double sum = 0;
            for (int i = 0; i < s->n[k + 1]; i++)
                sum += G[(size_t)i * (size_t)nl + (size_t)l] * after[i];
            for (int i = 0; i < n; i++) r[i] -= V[(size_t)l * (size_t)nmax + (size_t)i] * sum;
        }
    }
}
