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

/* D[c][j]: derivative at point c of the Lagrange polynomial of node j; the nodes are 0 and the
 * points. */
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

/* The polynomials that are 1 at one of n nodes and 0 at the others, at this place. */
static void lagrange(int n, const double *node, double share, double *basis)
{
    for (int c = 0; c < n; c++) {
        basis[c] = 1;
        for (int d = 0; d < n; d++)
            if (d != c) basis[c] *= (share - node[d]) / (node[c] - node[d]);
    }
}

void perp__scheme_basis(const perp__scheme *s, double share, double *through, double *between)
{
    double node[PERP__MOST_POINTS + 1] = {0};
    memcpy(node + 1, s->c, (size_t)s->npoint * sizeof *node);
    lagrange(s->npoint + 1, node, share, through);
    lagrange(s->npoint, s->c, share, between);
}

double perp__scheme_between(const perp__scheme *s, const double *value, double share)
{
    double basis[PERP__MOST_POINTS], sum = 0;
    lagrange(s->npoint, s->c, share, basis);
    for (int c = 0; c < s->npoint; c++) sum += basis[c] * value[c];
    return sum;
}

double perp__scheme_through(const perp__scheme *s, double before, const double *value, double share)
{
    double through[PERP__MOST_POINTS + 1], between[PERP__MOST_POINTS], sum;
    perp__scheme_basis(s, share, through, between);
    sum = through[0] * before;
    for (int c = 0; c < s->npoint; c++) sum += through[c + 1] * value[c];
    return sum;
}
