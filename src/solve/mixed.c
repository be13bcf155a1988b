/* A problem with bounds stated as a pure one, for the methods that take no bounds.
 *
 * 1. z = z0 + S y: a pair with a lower bound is measured from it (S = 1), one with an upper bound
 *    alone downward from that (S = -1), a fixed one is z0 and drops out.
 * 2. A pair with both bounds gets a second one for its upper side,
 *
 *     0 <= y perp (M z + q) + t >= 0,   0 <= t perp hi - lo - y >= 0,
 *
 * so that a positive semidefinite M stays so.
 * 3. Free z_F are eliminated by their rows, z_F = -inv(M_FF) (M_FK z_K + q_F). Where M_FF is
 *    singular each is split into two nonnegative parts instead, whose rows are w_i and -w_i. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

typedef struct layout {
    int n, most;           /* pairs of the mixed problem; leading dimension of the pure one */
    double *M, *q;         /* most x most, most */
    double *z0, *shifted;  /* n: origin of y; q + M z0 */
    double *factors;       /* n x n: LU of M_FF */
    double *work;          /* 2 n */
    int *kept, *sign;      /* 2 n each: entry a of the pure problem is sign * z_kept */
    int *free_rows, *swap; /* n each */
    int *counts;           /* kept entries (without t), free rows that were eliminated */
} layout;

size_t perp__mixed_doubles(int n)
{
    size_t N = (size_t)n + 1;
    return 5 * N * N + 6 * N;
}

size_t perp__mixed_ints(int n)
{
    return 6 * ((size_t)n + 1) + 2;
}

static layout lay_out(perp_lcp_solver *s, int n)
{
    size_t N = (size_t)n;
    layout l = {.n = n, .most = 2 * n};
    l.M = s->mixed;
    l.q = l.M + 4 * N * N;
    l.z0 = l.q + 2 * N;
    l.shifted = l.z0 + N;
    l.work = l.shifted + N;
    l.factors = l.work + 2 * N;
    l.counts = s->mixed_index;
    l.kept = l.counts + 2;
    l.sign = l.kept + 2 * N;
    l.free_rows = l.sign + 2 * N;
    l.swap = l.free_rows + N;
    return l;
}

static void keep(layout *l, int i, int sign)
{
    int a = l->counts[0]++;
    l->kept[a] = i;
    l->sign[a] = sign;
}

/* Which rows are kept, and from where they are measured. Boxed ones come last, so that their second
 * pairs follow in the same order. */
static void sort_rows(layout *l, const perp_lcp *lcp)
{
    l->counts[0] = l->counts[1] = 0;
    for (int boxed = 0; boxed < 2; boxed++) {
        for (int i = 0; i < l->n; i++) {
            double lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
            int is_boxed = isfinite(lo) && isfinite(hi) && lo < hi;
            if (is_boxed != boxed) continue;
            if (isfinite(lo))
                l->z0[i] = lo;
            else if (isfinite(hi))
                l->z0[i] = hi;
            else
                l->z0[i] = 0;
            if (isfinite(lo) && lo == hi) continue;
            if (isfinite(lo) || isfinite(hi))
                keep(l, i, isfinite(lo) ? 1 : -1);
            else
                l->free_rows[l->counts[1]++] = i;
        }
    }
}

/* LU of M_FF. Returns 0 if it is too close to singular. */
static int factor_free(layout *l, const perp_lcp *lcp)
{
    int nf = l->counts[1];
    for (int j = 0; j < nf; j++) {
        for (int i = 0; i < nf; i++)
            l->factors[i + j * nf] = perp__column(lcp, l->free_rows[j])[l->free_rows[i]];
    }
    double norm = perp__norm1(nf, l->factors, nf);
    return nf == 0 ||
           (perp__lu(nf, l->factors, nf, l->swap) == 0 &&
            perp__lu_rcond(nf, l->factors, nf, l->swap, norm, l->work) > PERP_TOL_FREE_ROWS);
}

static void solve_free(const layout *l, double *x)
{
    int nf = l->counts[1];
    if (nf > 0) perp__lu_solve(nf, l->factors, nf, l->swap, x);
}

/* Column of the pure problem that belongs to `column` of M (at the entries' rows), less what goes
 * through the free rows. */
static void reduced_column(const layout *l, const perp_lcp *lcp, const double *column, int sign,
                           double *out)
{
    double *x = l->work;
    int nf = l->counts[1], nk = l->counts[0];
    for (int f = 0; f < nf; f++) x[f] = column[l->free_rows[f]];
    solve_free(l, x);
    for (int a = 0; a < nk; a++) {
        int i = l->kept[a];
        double sum = column[i];
        for (int f = 0; f < nf; f++) sum -= perp__column(lcp, l->free_rows[f])[i] * x[f];
        out[a] = sum * sign * l->sign[a];
    }
}

perp_lcp perp__mixed_reduce(perp_lcp_solver *s, const perp_lcp *lcp)
{
    layout l = lay_out(s, lcp->n);
    sort_rows(&l, lcp);
    int boxes = 0, first_box;
    for (int a = 0; a < l.counts[0]; a++)
        boxes += isfinite(perp__lo(lcp, l.kept[a])) && isfinite(perp__hi(lcp, l.kept[a]));
    first_box = l.counts[0] - boxes;
    if (!factor_free(&l, lcp)) {
        int nf = l.counts[1];
        l.counts[1] = 0;
        for (int f = 0; f < nf; f++) {
            keep(&l, l.free_rows[f], 1);
            keep(&l, l.free_rows[f], -1);
        }
    }
    int nk = l.counts[0], m = nk + boxes, ld = m > 1 ? m : 1;
    memset(l.M, 0, (size_t)ld * (size_t)m * sizeof(double));
    for (int i = 0; i < l.n; i++) l.shifted[i] = lcp->q[i];
    for (int j = 0; j < l.n; j++) {
        for (int i = 0; i < l.n && l.z0[j] != 0; i++)
            l.shifted[i] += perp__column(lcp, j)[i] * l.z0[j];
    }
    for (int a = 0; a < nk; a++)
        reduced_column(&l, lcp, perp__column(lcp, l.kept[a]), l.sign[a],
                       l.M + (size_t)a * (size_t)ld);
    reduced_column(&l, lcp, l.shifted, 1, l.q);
    for (int b = 0; b < boxes; b++) {
        int a = first_box + b, i = l.kept[a];
        l.M[(size_t)a + (size_t)(nk + b) * (size_t)ld] = 1;
        l.M[(size_t)(nk + b) + (size_t)a * (size_t)ld] = -1;
        l.q[nk + b] = perp__hi(lcp, i) - perp__lo(lcp, i);
    }
    return (perp_lcp){m, l.M, ld, l.q, NULL, NULL};
}

void perp__mixed_expand(perp_lcp_solver *s, const perp_lcp *lcp)
{
    layout l = lay_out(s, lcp->n);
    const double *y = s->inner->z, *t = y + l.counts[0];
    memcpy(s->z, l.z0, (size_t)l.n * sizeof(double));
    for (int a = 0; a < l.counts[0]; a++) {
        int i = l.kept[a];
        double hi = perp__hi(lcp, i);
        s->z[i] += l.sign[a] * y[a];
        if (isfinite(perp__lo(lcp, i)) && isfinite(hi) && *t++ > 0) s->z[i] = hi;
    }
    double *x = l.work;
    int nf = l.counts[1];
    for (int f = 0; f < nf; f++) s->z[l.free_rows[f]] = 0;
    for (int f = 0; f < nf; f++) {
        x[f] = -lcp->q[l.free_rows[f]];
        for (int j = 0; j < l.n; j++) x[f] -= perp__column(lcp, j)[l.free_rows[f]] * s->z[j];
    }
    solve_free(&l, x);
    for (int f = 0; f < nf; f++) s->z[l.free_rows[f]] = x[f];
    for (int i = 0; i < l.n; i++) s->z[i] = perp__clamp(lcp, i, s->z[i]);
}
