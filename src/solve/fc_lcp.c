/* Friction pyramids: the dense problem as an LCP, and back (Stewart & Trinkle 1996, Int. J. Numer.
 * Methods Engrg. 39). Unknowns in groups over all contacts: r_n (nc), beta (nc facets), gamma (nc).
 */

#include "perp/friction.h"

#include <math.h>
#include <string.h>

int perp_fc_lcp_size(const perp_fc *problem, int facets)
{
    return problem->nc * (facets + 2);
}

static int arguments_valid(const perp_fc *p, int facets)
{
    if (!p || p->nc < 0 || (p->nc > 0 && (!p->W || !p->q || !p->mu))) return 0;
    return p->dimension == 2 ? facets == 2 : p->dimension == 3 && facets >= 4 && facets % 2 == 0;
}

/* Direction k of the pyramid; opposite directions are exact opposites. */
static void direction(int dimension, int facets, int k, double d[2])
{
    int half = facets / 2, j = k % half;
    double sign = k < half ? 1 : -1, angle = 6.283185307179586477 * j / facets;
    if (dimension == 2 || j == 0)
        d[0] = sign;
    else if (4 * j == facets)
        d[0] = 0;
    else
        d[0] = sign * cos(angle);
    if (dimension == 2 || j == 0)
        d[1] = 0;
    else if (4 * j == facets)
        d[1] = sign;
    else
        d[1] = sign * sin(angle);
}

/* Impulse (n, t1[, t2]) of unit column c of contact i: c < 0 the normal, else facet c. */
static void column(int dimension, int facets, int c, double x[3])
{
    double d[2] = {0, 0};
    if (c >= 0) direction(dimension, facets, c, d);
    x[0] = c < 0;
    x[1] = d[0];
    x[2] = d[1];
}

perp_status perp_fc_to_lcp(const perp_fc *p, int facets, double *M, double *q)
{
    if (!arguments_valid(p, facets) || !M || !q) return PERP_ERR_ARG;
    int d = p->dimension, nc = p->nc, moving = facets + 1;
    size_t m = (size_t)perp_fc_lcp_size(p, facets), gamma = (size_t)(nc * moving);
    memset(M, 0, m * m * sizeof *M);
    memset(q, 0, m * sizeof *q);
    for (int i = 0; i < nc; i++)
        for (int a = -1; a < facets; a++) {
            double x[3], y[3];
            size_t row = (size_t)(a < 0 ? i : nc + i * facets + a);
            column(d, facets, a, x);
            for (int k = 0; k < d; k++) q[row] += x[k] * p->q[d * i + k];
            for (int j = 0; j < nc; j++)
                for (int b = -1; b < facets; b++) {
                    size_t col = (size_t)(b < 0 ? j : nc + j * facets + b);
                    double sum = 0;
                    column(d, facets, b, y);
                    for (int l = 0; l < d; l++) {
                        const double *w = p->W + (size_t)(d * j + l) * (size_t)p->ldw + d * i;
                        for (int k = 0; k < d; k++) sum += x[k] * w[k] * y[l];
                    }
                    M[row + col * m] = sum;
                }
            size_t g = gamma + (size_t)i;
            if (a < 0) {
                M[g + row * m] = p->mu[i];
            } else {
                M[row + g * m] = 1;
                M[g + row * m] = -1;
            }
        }
    return PERP_OK;
}

perp_status perp_fc_from_lcp(const perp_fc *p, int facets, const double *z, double *r)
{
    if (!arguments_valid(p, facets) || !z || !r) return PERP_ERR_ARG;
    int d = p->dimension, nc = p->nc;
    for (int i = 0; i < nc; i++) {
        double sum[3] = {z[i], 0, 0}, x[3];
        for (int a = 0; a < facets; a++) {
            column(d, facets, a, x);
            for (int k = 1; k < 3; k++) sum[k] += x[k] * z[nc + i * facets + a];
        }
        memcpy(r + d * i, sum, (size_t)d * sizeof *r);
    }
    return PERP_OK;
}
