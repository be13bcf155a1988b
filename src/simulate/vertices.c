/* The solutions of a small LCP, one after the other: each set of z that may be above 0 gives one
 * system. Allocates nothing. */

#include "simulate/vertices.h"

#include "base/tol.h"

#include <math.h>
#include <string.h>

/* A z = b in place, n <= PERP__VERTICES_MOST: x in b. Returns 0: singular. */
static int solve(int n, double A[][PERP__VERTICES_MOST], double *b)
{
    for (int c = 0; c < n; c++) {
        int p = c;
        double largest = 0;
        for (int i = c; i < n; i++)
            if (fabs(A[i][c]) > fabs(A[p][c])) p = i;
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(A[p][i]));
        if (!(fabs(A[p][c]) > PERP_TOL_PIVOT * largest)) return 0;
        for (int j = 0; j < n && p != c; j++) {
            double kept = A[p][j];
            A[p][j] = A[c][j];
            A[c][j] = kept;
        }
        double kept = b[p];
        b[p] = b[c];
        b[c] = kept;
        for (int i = c + 1; i < n; i++) {
            double by = A[i][c] / A[c][c];
            for (int j = c; j < n; j++) A[i][j] -= by * A[c][j];
            b[i] -= by * b[c];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) b[i] -= A[i][j] * b[j];
        b[i] /= A[i][i];
    }
    return 1;
}

/* The z of one set, if it is a solution. */
static int try_set(const perp_lcp *lcp, unsigned in, double tol, double *z)
{
    double A[PERP__VERTICES_MOST][PERP__VERTICES_MOST], b[PERP__VERTICES_MOST];
    int at[PERP__VERTICES_MOST], n = 0;
    for (int i = 0; i < lcp->n; i++)
        if (in >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++) {
        b[i] = -lcp->q[at[i]];
        for (int j = 0; j < n; j++)
            A[i][j] = lcp->M[(size_t)at[i] + (size_t)at[j] * (size_t)lcp->ldm];
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
