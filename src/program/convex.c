/* Definite by a Cholesky factor of a little less than Q, semidefinite by elimination in whole
 * numbers (Bareiss 1968). */

#include "program/convex.h"

#include "base/memory.h"
#include "linalg/dense.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Differences of products of two whole numbers up to MOST_WHOLE fit into `wide`. Where it has 64
 * bits fewer matrices are shown semidefinite. */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide;
static const double MOST_WHOLE = 4e18;
#else
typedef long long wide;
static const double MOST_WHOLE = 2e9;
#endif

/* Q is scaled by powers of 2 to a diagonal of 0.5 to 2, and mu is subtracted. If the rest has a
 * Cholesky factor despite its rounding (Demmel 1989: n^2 eps of the diagonal), Q - mu is definite.
 * factors: n x n. */
static int is_definite(int n, const double *Q, double *weight, double *factors)
{
    size_t m = (size_t)n;
    for (int j = 0; j < n; j++) {
        double d = Q[(size_t)j * (m + 1)];
        if (!(d > 0 && d <= DBL_MAX)) return 0;
        weight[j] = ldexp(1, -(int)lround(log2(d) / 2));
    }
    for (double mu = 0.25; mu > 1e-9; mu /= 4) {
        for (size_t j = 0; j < m; j++)
            for (size_t i = 0; i < m; i++)
                factors[i + j * m] = Q[i + j * m] * weight[i] * weight[j];
        for (size_t j = 0; j < m; j++) factors[j * (m + 1)] -= mu + 8 * n * n * DBL_EPSILON;
        if (!perp__cholesky(n, factors, n, 0)) continue;
        for (int j = 0; j < n; j++) weight[j] = mu / (weight[j] * weight[j]);
        return 1;
    }
    return 0;
}

/* The power of 2 by which all entries are whole numbers, or -1. */
static int whole_exponent(int n, const double *Q)
{
    enum { MOST_EXPONENT = 40 };
    int k = 0;
    for (int e = 0; e < n * n; e++) {
        while (k <= MOST_EXPONENT && ldexp(Q[e], k) != floor(ldexp(Q[e], k))) k++;
        if (k > MOST_EXPONENT || fabs(ldexp(Q[e], k)) > 1e9) return -1;
    }
    for (int e = 0; e < n * n; e++)
        if (fabs(ldexp(Q[e], k)) > 1e9) return -1;
    return k;
}

/* Eliminate with the first positive diagonal, whose entries stay whole numbers. A diagonal of 0 has
 * a row of 0. M: n x n. */
static int eliminates(int n, long long *M, char *done)
{
    wide last = 1;
    for (int step = 0; step < n; step++) {
        int k = 0;
        while (k < n && (done[k] || M[k + k * n] == 0)) k++;
        if (k == n) break;
        if (M[k + k * n] < 0) return 0;
        wide pivot = M[k + k * n];
        done[k] = 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                if (done[i] || done[j]) continue;
                wide x = (pivot * M[i + j * n] - (wide)M[i + k * n] * M[k + j * n]) / last;
                if (x > (wide)MOST_WHOLE || x < -(wide)MOST_WHOLE) return 0;
                M[i + j * n] = (long long)x;
            }
        last = pivot;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (!done[i] && !done[j] && M[i + j * n] != 0) return 0;
    return 1;
}

static int is_semidefinite(int n, const double *Q)
{
    int k = whole_exponent(n, Q), is = -1;
    if (k < 0) return 0;
    long long *M = malloc(((size_t)n * (size_t)n + 1) * sizeof *M);
    char *done = calloc((size_t)n + 1, 1);
    for (int e = 0; e < n * n && M && done; e++) M[e] = (long long)ldexp(Q[e], k);
    if (M && done) is = eliminates(n, M, done);
    free(M);
    free(done);
    return is;
}

int perp__is_convex(int n, const double *Q, double *weight)
{
    double *factors = malloc(((size_t)n * (size_t)n + 1) * sizeof *factors);
    if (!factors) return -1;
    int is = is_definite(n, Q, weight, factors);
    free(factors);
    if (is) return 1;
    memset(weight, 0, (size_t)n * sizeof *weight);
    return is_semidefinite(n, Q);
}
