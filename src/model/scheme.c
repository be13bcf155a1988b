/* Points and weights of a method, and the derivatives of the polynomial through its points. */

#include "model/scheme.h"

#include "perp/schemes.h"

#include <string.h>

static const struct row {
    const char *word;
    int npoint, is_weighted;
    double c[PERP__MOST_POINTS], b[PERP__MOST_POINTS];
} rows[] = {
#define BRACED(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ROW(X, NAME, word, simulate, plan, c, b, weighted, summary)                                \
    {word, (int)(sizeof((double[])BRACED c) / sizeof(double)), weighted, BRACED c, BRACED b},
    PERP_SCHEME_LIST(ROW, )
#undef ROW
#undef BRACED
};

/* D[c][j]: derivative at point c of the Lagrange polynomial of node j; the nodes are 0 and the points. */
static void differentiate(perp__scheme *s)
{
    int n = s->npoint + 1;
    double node[PERP__MOST_POINTS + 1] = {0};
    memcpy(node + 1, s->c, sizeof s->c);
    for (int c = 0; c < s->npoint; c++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++) {
                if (k == j) continue;
                double term = 1 / (node[j] - node[k]);
                for (int l = 0; l < n; l++)
                    if (l != j && l != k) term *= (node[c + 1] - node[l]) / (node[j] - node[l]);
                s->D[c][j] += term;
            }
        }
    }
}

perp__scheme perp__scheme_make(const char *word, double theta)
{
    const struct row *row = rows;
    while (strcmp(row->word, word) != 0) row++;
    perp__scheme s = {row->npoint, row->is_weighted, row->is_weighted ? theta : 1, .D = {{0}}};
    memcpy(s.c, row->c, sizeof s.c);
    memcpy(s.b, row->b, sizeof s.b);
    differentiate(&s);
    return s;
}

double perp__scheme_between(const perp__scheme *s, const double *value, double share)
{
    double sum = 0;
    for (int c = 0; c < s->npoint; c++) {
        double basis = 1;
        for (int d = 0; d < s->npoint; d++)
            if (d != c) basis *= (share - s->c[d]) / (s->c[c] - s->c[d]);
        sum += basis * value[c];
    }
    return sum;
}

double perp__scheme_through(const perp__scheme *s, double before, const double *value, double share)
{
    double node[PERP__MOST_POINTS + 1] = {0}, of[PERP__MOST_POINTS + 1] = {before}, sum = 0;
    memcpy(node + 1, s->c, (size_t)s->npoint * sizeof *node);
    memcpy(of + 1, value, (size_t)s->npoint * sizeof *of);
    for (int c = 0; c <= s->npoint; c++) {
        double basis = 1;
        for (int d = 0; d <= s->npoint; d++)
            if (d != c) basis *= (share - node[d]) / (node[c] - node[d]);
        sum += basis * of[c];
    }
    return sum;
}
