/* A linear problem in units of its own, rows R_i and columns C_j times powers of two. So no choice
 * of units changes the course of a method. R_i brings the data of row i (verdict.c) to [1, 2), C_j
 * the largest entry of column j to (1/2, 1]. If no data reach z_j, in rows without any, it is 0 in
 * every answer: such a pair becomes w = z. */

#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>

size_t perp__own_units_doubles(int n)
{
    size_t N = (size_t)n + 1;
    return N * N + 5 * N;
}

/* 0 where a row's data are so large or small that the problem stays as it is. */
static int choose_rows(int n, const double *D, double *R)
{
    for (int i = 0; i < n; i++) {
        if (D[i] != 0 && !(D[i] > PERP_LEAST_ROOT && D[i] < 1 / PERP_LEAST_ROOT)) return 0;
        R[i] = D[i] == 0 ? 0 : 1 / perp__power_below(D[i]);
    }
    return 1;
}

static void scale_column(const perp_lcp *lcp, int j, const double *R, double *C, double *out)
{
    const double *column = perp__column(lcp, j);
    double largest = 0;
    for (int i = 0; i < lcp->n; i++) {
        double x = fabs(column[i] * R[i]);
        out[i] = column[i] * R[i];
        largest = x > largest ? x : largest;
    }
    C[j] = largest == 0 ? 0 : 0.5 / perp__power_below(largest);
    for (int i = 0; i < lcp->n; i++) out[i] *= C[j];
    if (C[j] == 0 && R[j] == 0) out[j] = 1;
}

perp_lcp perp__own_units(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n, fits;
    size_t N = (size_t)n;
    double *M = s->own.block, *q = M + N * N;
    s->own.R = q + n;
    s->own.C = s->own.R + n;
    perp__lcp_data(s, lcp);
    fits = choose_rows(n, s->data, s->own.R);
    for (int j = 0; j < n && fits; j++) {
        scale_column(lcp, j, s->own.R, s->own.C, M + (size_t)j * N);
        q[j] = lcp->q[j] * s->own.R[j];
        fits = s->own.C[j] == 0 ||
               (s->own.C[j] > PERP_LEAST_ROOT && s->own.C[j] < 1 / PERP_LEAST_ROOT);
    }
    if (!fits || n == 0) {
        s->own.R = s->own.C = NULL;
        return *lcp;
    }
    return (perp_lcp){n, M, n, q, NULL, NULL};
}

void perp__to_own_units(const perp_lcp_solver *s, int n, double *z)
{
    for (int i = 0; i < n && s->own.C; i++) z[i] = s->own.C[i] == 0 ? 0 : z[i] / s->own.C[i];
}

void perp__from_own_units(const perp_lcp_solver *s, int n, double *z)
{
    for (int i = 0; i < n && s->own.C; i++) z[i] *= s->own.C[i];
}

perp_outcome perp__solve_in_own_units(perp_lcp_solver *s, const perp__solver *method,
                                      const perp_lcp *lcp, int attempt, int *iterations)
{
    perp_lcp own = perp__own_units(s, lcp);
    perp_outcome word = method->solve(s, &own, attempt, iterations);
    perp__from_own_units(s, lcp->n, s->z);
    if (s->has_ray) perp__from_own_units(s, lcp->n, s->ray);
    return word;
}
