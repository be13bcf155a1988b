/* lemke - complementary pivoting (Lemke 1965; Cottle, Pang, Stone 1992, algorithm 4.4.5).
 *
 *     w = q + d z0 + M z,   d = 1
 *
 * 1. z0 enters at the row that needs it most; then the complement of what left enters, until z0
 * leaves (solved) or nothing can (a ray).
 * 2. The dictionary is condensed: n rows of basic variables, n + 1 columns of nonbasic ones,
 * column-major, so that a pivot is one rank-1 update that the compiler vectorises.
 * 3. Ties in the ratio test are broken lexicographically, as if q were q + (e, e^2, ...): no
 * cycling. A row is tied when its value after the step is zero relative to the terms it is the
 * difference of (PERP_TOL_TIE).
 * 4. When z0 leaves, z is recomputed from M and q by elimination on the basis, if that lowers the
 * residual.
 *
 * Succeeds for positive semidefinite, P, copositive-plus M when a solution exists. Fails, with a
 * ray, for others. Cost: about n pivots of 2 n^2 operations. */

#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* Variables: 0 .. n-1 are w, n .. 2n-1 are z, 2n is z0. */
typedef struct dictionary {
    int n;
    double *D;      /* n x (n+1), column-major, n rows */
    double *q;      /* n: values of the basic variables */
    int *basic;     /* n */
    int *nonbasic;  /* n + 1 */
    int *where;     /* 2n + 1: row of a basic variable, or -1 - column of a nonbasic one */
    double q_scale; /* largest |q| of the problem */
} dictionary;

static size_t lemke_doubles(int n)
{
    size_t N = (size_t)n;
    return N * (N + 1) + 2 * N + N * N;
}

static size_t lemke_ints(int n)
{
    return 4 * (size_t)n + 2 + (size_t)n;
}

static double *column_of(const dictionary *d, int column)
{
    return d->D + (size_t)column * (size_t)d->n;
}

static void start(dictionary *d, perp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n;
    *d = (dictionary){.n = n,
                      .D = s->work,
                      .q = s->work + (size_t)n * (size_t)(n + 1),
                      .basic = s->index,
                      .nonbasic = s->index + n,
                      .where = s->index + 2 * n + 1};
    for (int j = 0; j < n; j++) {
        memcpy(column_of(d, j), lcp->M + (size_t)j * (size_t)lcp->ldm, (size_t)n * sizeof(double));
        d->q[j] = lcp->q[j];
        d->q_scale = fmax(d->q_scale, fabs(lcp->q[j]));
        d->basic[j] = j, d->where[j] = j;
        d->nonbasic[j] = n + j, d->where[n + j] = -1 - j;
    }
    double *cover = column_of(d, n);
    for (int i = 0; i < n; i++) cover[i] = 1;
    d->nonbasic[n] = 2 * n, d->where[2 * n] = -1 - n;
}

/* The variable of column c becomes basic in row r. */
static void pivot(dictionary *d, int r, int c)
{
    int n = d->n;
    double *restrict pc = column_of(d, c);
    double p = pc[r];
    for (int j = 0; j <= n; j++) {
        double *restrict column = column_of(d, j);
        if (j == c) continue;
        double f = -column[r] / p;
        if (f != 0) {
            for (int i = 0; i < n; i++) column[i] += f * pc[i];
        }
        column[r] = f;
    }
    double f = -d->q[r] / p;
    for (int i = 0; i < n; i++) d->q[i] += f * pc[i];
    d->q[r] = f;
    for (int i = 0; i < n; i++) pc[i] /= p;
    pc[r] = 1 / p;
    int leaves = d->basic[r], enters = d->nonbasic[c];
    d->basic[r] = enters, d->where[enters] = r;
    d->nonbasic[c] = leaves, d->where[leaves] = -1 - c;
}

/* Coefficient of the perturbation e^(k+1) of q_k in basic row r. */
static double perturbation(const dictionary *d, int r, int k)
{
    int at = d->where[k];
    if (at >= 0) return at == r ? 1.0 : 0.0;
    return -column_of(d, -1 - at)[r];
}

/* Is row a's perturbed ratio smaller than row b's? Both rows are tied in value; a and b have
 * negative entries in pc. */
static int lexicographically_smaller(const dictionary *d, int a, int b, const double *pc)
{
    for (int k = 0; k < d->n; k++) {
        double x = perturbation(d, a, k) / -pc[a], y = perturbation(d, b, k) / -pc[b];
        if (fabs(x - y) > PERP_TOL_TIE * (fabs(x) + fabs(y))) return x < y;
    }
    return 0;
}

/* The row that blocks the increase of column c's variable; -1 if none does. z0 is preferred among
 * ties. */
static int ratio_test(const dictionary *d, int c)
{
    int n = d->n, best = -1;
    const double *pc = column_of(d, c);
    double largest = 0, limit = INFINITY;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(pc[i]));
    double smallest_pivot = -PERP_TOL_PIVOT * largest;
    for (int i = 0; i < n; i++) {
        if (pc[i] < smallest_pivot) limit = fmin(limit, fmax(d->q[i], 0) / -pc[i]);
    }
    if (isinf(limit)) return -1;
    for (int i = 0; i < n; i++) {
        if (!(pc[i] < smallest_pivot)) continue;
        double after = d->q[i] + limit * pc[i], terms = fabs(d->q[i]) - limit * pc[i];
        if (after > PERP_TOL_TIE * fmax(terms, 1e-3 * d->q_scale)) continue;
        if (d->basic[i] == 2 * n) return i;
        if (best < 0 || lexicographically_smaller(d, i, best, pc)) best = i;
    }
    return best;
}

/* Row where z0 enters: the most negative q; of equal ones the last (its perturbation is the
 * smallest). */
static int first_row(const dictionary *d)
{
    int r = -1;
    for (int i = 0; i < d->n; i++) {
        if (d->q[i] < 0 && (r < 0 || d->q[i] <= d->q[r])) r = i;
    }
    return r;
}

/* z of the basis from M and q: M_bb z_b = -q_b by elimination with partial pivoting. 0 if singular.
 */
static int refine(perp_solver *s, const perp_lcp *lcp, double *z)
{
    int n = lcp->n, nb = 0, *row = s->index + 4 * n + 2;
    for (int i = 0; i < n; i++) {
        if (s->basis[i]) row[nb++] = i;
    }
    double *B = s->work + (size_t)n * (size_t)(n + 2), *x = B + (size_t)nb * (size_t)nb;
    for (int j = 0; j < nb; j++) {
        for (int i = 0; i < nb; i++)
            B[(size_t)j * (size_t)nb + (size_t)i] =
                lcp->M[(size_t)row[j] * (size_t)lcp->ldm + (size_t)row[i]];
    }
    x = s->work + (size_t)n * (size_t)(n + 1); /* the dictionary's q is no longer needed */
    for (int i = 0; i < nb; i++) x[i] = -lcp->q[row[i]];
    for (int k = 0; k < nb; k++) {
        int p = k;
        for (int i = k + 1; i < nb; i++) {
            if (fabs(B[(size_t)k * (size_t)nb + (size_t)i]) >
                fabs(B[(size_t)k * (size_t)nb + (size_t)p]))
                p = i;
        }
        if (B[(size_t)k * (size_t)nb + (size_t)p] == 0) return 0;
        for (int j = 0; j < nb && p != k; j++) {
            double t = B[(size_t)j * (size_t)nb + (size_t)k];
            B[(size_t)j * (size_t)nb + (size_t)k] = B[(size_t)j * (size_t)nb + (size_t)p];
            B[(size_t)j * (size_t)nb + (size_t)p] = t;
        }
        double t = x[k];
        x[k] = x[p], x[p] = t;
        for (int i = k + 1; i < nb; i++)
            B[(size_t)k * (size_t)nb + (size_t)i] /= B[(size_t)k * (size_t)nb + (size_t)k];
        for (int j = k + 1; j < nb; j++) {
            double f = B[(size_t)j * (size_t)nb + (size_t)k];
            for (int i = k + 1; i < nb; i++)
                B[(size_t)j * (size_t)nb + (size_t)i] -= f * B[(size_t)k * (size_t)nb + (size_t)i];
        }
        for (int i = k + 1; i < nb; i++) x[i] -= x[k] * B[(size_t)k * (size_t)nb + (size_t)i];
    }
    for (int k = nb - 1; k >= 0; k--) {
        x[k] /= B[(size_t)k * (size_t)nb + (size_t)k];
        for (int i = 0; i < k; i++) x[i] -= x[k] * B[(size_t)k * (size_t)nb + (size_t)i];
    }
    memset(z, 0, (size_t)n * sizeof(double));
    for (int i = 0; i < nb; i++) z[row[i]] = x[i];
    return 1;
}

static void read_solution(const dictionary *d, perp_solver *s, double *z)
{
    int n = d->n;
    for (int i = 0; i < n; i++) {
        int at = d->where[n + i];
        s->basis[i] = at >= 0;
        z[i] = at >= 0 ? fmax(d->q[at], 0) : 0;
    }
    s->has_basis = 1;
}

static perp_outcome lemke_solve(perp_solver *s, const perp_lcp *lcp, double *z, int *iterations)
{
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 100 * n + 100;
    dictionary d;
    start(&d, s, lcp);
    int r = first_row(&d), c = n;
    if (r < 0) {
        read_solution(&d, s, z);
        return PERP_SOLVED;
    }
    for (*iterations = 1; *iterations <= limit; ++*iterations) {
        int leaves = d.basic[r];
        pivot(&d, r, c);
        if (leaves == 2 * n) { /* z0 is back at 0 */
            read_solution(&d, s, z);
            double residual = perp_lcp_residual(lcp, z, NULL);
            if (residual > 1e-14 * (1 + d.q_scale)) {
                memcpy(s->w, z, (size_t)n * sizeof(double));
                if (!refine(s, lcp, z) || !(perp_lcp_residual(lcp, z, NULL) <= residual))
                    memcpy(z, s->w, (size_t)n * sizeof(double));
            }
            return PERP_SOLVED;
        }
        c = -1 - d.where[leaves < n ? leaves + n : leaves - n]; /* its complement enters */
        r = ratio_test(&d, c);
        if (r < 0) {
            read_solution(&d, s, z);
            s->has_basis = 0;
            s->has_ray = 1;
            for (int i = 0; i < n; i++) {
                int at = d.where[n + i];
                s->ray[i] = at >= 0 ? column_of(&d, c)[at] : -1 - at == c ? 1.0 : 0.0;
            }
            return PERP_RAY;
        }
    }
    read_solution(&d, s, z);
    s->has_basis = 0;
    return PERP_LIMIT;
}

const perp__solver perp__lemke = {lemke_doubles, lemke_ints, lemke_solve};
