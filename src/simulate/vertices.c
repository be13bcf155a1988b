/* The solutions of a small LCP, one after the other: each set of z that may be above 0 gives one
 * system. Allocates nothing. lcp_enumerate.c also finds segments and rays, with sums in twice the
 * precision; this is for a look beside steps. */

#include "simulate/vertices.h"

#include "base/tol.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum { MOST = PERP__VERTICES_MOST };

/* A z = b, both in place, by columns: z in b. Returns 0: singular. */
static int solve(int n, double *A, double *b)
{
    int swap[MOST];
    if (perp__lu(n, A, MOST, swap) != 0) return 0;
    for (int i = 0; i < n; i++) {
        double largest = 0;
        for (int j = i; j < n; j++) largest = fmax(largest, fabs(A[i + j * MOST]));
        if (!(fabs(A[i + i * MOST]) > PERP_TOL_PIVOT * largest)) return 0;
    }
    perp__lu_solve(n, A, MOST, swap, b);
    return 1;
}

/* The z of one set, if it is a solution. */
static int try_set(const perp_lcp *lcp, unsigned in, double tol, double *z)
{
    double A[MOST * MOST], b[MOST];
    int at[MOST], n = 0;
    for (int i = 0; i < lcp->n; i++)
        if (in >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++) {
        b[i] = -lcp->q[at[i]];
        for (int j = 0; j < n; j++)
            A[i + j * MOST] = lcp->M[(size_t)at[i] + (size_t)at[j] * (size_t)lcp->ldm];
    }
    if (!solve(n, A, b)) return 0;
    memset(z, 0, (size_t)lcp->n * sizeof *z);
    for (int i = 0; i < n; i++) {
        if (!(b[i] >= 0)) return 0;
        z[at[i]] = b[i];
    }
    for (int i = 0; i < lcp->n; i++) {
        double w = lcp->q[i], terms = fabs(w);
        for (int j = 0; j < lcp->n; j++) {
            double part = lcp->M[(size_t)i + (size_t)j * (size_t)lcp->ldm] * z[j];
            w += part;
            terms += fabs(part);
        }
        if (!(in >> i & 1) && !(w >= -tol * terms)) return 0;
    }
    return 1;
}

int perp__next_vertex(const perp_lcp *lcp, double tol, unsigned *set, double *z)
{
    while (*set < 1u << lcp->n)
        if (try_set(lcp, (*set)++, tol, z)) return 1;
    return 0;
}
