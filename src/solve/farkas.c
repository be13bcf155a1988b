/* A proof that no z >= 0 has M z + q >= 0 (Farkas): u >= 0 with M'u <= 0, q'u < 0.
 *
 * The point of the cone { w - M z : w, z >= 0 } nearest to q is found by nonnegative least squares (Lawson &
 * Hanson 1974, chapter 23); where it is not q itself, u = nearest - q. The caller checks u. */

#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* Entry i of generator k: the unit vectors, then the columns of -M. */
static double generator(const perp_lcp *lcp, int k, int i)
{
    return k < lcp->n ? (i == k ? 1.0 : 0.0) : -perp__column(lcp, k - lcp->n)[i];
}

static double inner(const perp_lcp *lcp, int k, const double *x)
{
    double sum = 0;
    if (k < lcp->n) return x[k];
    for (int i = 0; i < lcp->n; i++) sum -= perp__column(lcp, k - lcp->n)[i] * x[i];
    return sum;
}

/* Least squares over the generators in rows[0 .. m-1], by normal equations; 0 if they are dependent. */
static int least_squares(perp_solver *s, const perp_lcp *lcp, int m, double *x)
{
    double trace = 0;
    for (int b = 0; b < m; b++) {
        double *column = s->factors + (size_t)b * (size_t)m;
        for (int i = 0; i < lcp->n; i++) s->z2[i] = generator(lcp, s->rows[b], i);
        for (int a = 0; a < m; a++) column[a] = inner(lcp, s->rows[a], s->z2);
        trace += column[b];
        x[b] = inner(lcp, s->rows[b], lcp->q);
    }
    if (!perp__cholesky(m, s->factors, m, 1e-13 * trace / m)) return 0;
    perp__cholesky_solve(m, s->factors, m, x);
    return 1;
}

void perp__lcp_farkas(perp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n, m = 0, limit = 3 * n + 10;
    double *x = s->scratch, *next = s->w2, *u = s->certificate; /* x: weights of rows[] */
    for (int step = 0; step < limit; step++) {
        int best = -1;
        double largest = 0;
        for (int i = 0; i < n; i++) { /* u = nearest - q, so that -u is the residual */
            u[i] = -lcp->q[i];
            for (int a = 0; a < m; a++) u[i] += x[a] * generator(lcp, s->rows[a], i);
        }
        for (int k = 0; k < 2 * n; k++) { /* the generator that gains most */
            int is_in = 0;
            double gain = -inner(lcp, k, u), size = 1;
            for (int a = 0; a < m; a++) is_in |= s->rows[a] == k;
            for (int i = 0; i < n && k >= n; i++)
                size = fmax(size, fabs(perp__column(lcp, k - n)[i]));
            if (!is_in && gain / size > fmax(largest, 1e-12 * s->scale))
                largest = gain / size, best = k;
        }
        if (best < 0 || m == n) break;
        s->rows[m] = best, x[m] = 0, m++;
        for (;;) {
            double length = 1;
            int leaving = -1;
            if (!least_squares(s, lcp, m, next)) return;
            for (int a = 0; a < m; a++) {
                if (next[a] > 0) continue;
                double ratio = x[a] / (x[a] - next[a]);
                if (leaving < 0 || ratio < length) length = ratio, leaving = a;
            }
            if (leaving < 0) break;
            for (int a = 0; a < m; a++) x[a] += length * (next[a] - x[a]);
            m--;
            for (int a = leaving; a < m; a++) s->rows[a] = s->rows[a + 1], x[a] = x[a + 1];
            if (m == 0) break;
        }
        if (m > 0) memcpy(x, next, (size_t)m * sizeof *x);
    }
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(u[i]));
    for (int i = 0; i < n; i++) u[i] = u[i] > 1e-12 * size ? u[i] : 0;
}
