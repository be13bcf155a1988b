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
    double *R, *C;  /* n: the problem is solved for R M C, R q; z = C z' */
} dictionary;

static size_t lemke_doubles(int n)
{
    size_t N = (size_t)n;
    return N * (N + 1) + N + (N * N + N) + 2 * N; /* dictionary, q, refinement, scales */
}

static size_t lemke_ints(int n)
{
    return 4 * (size_t)n + 2 + (size_t)n;
}

static double *column_of(const dictionary *d, int column)
{
    return d->D + (size_t)column * (size_t)d->n;
}

/* Scales that bring the largest entry of every row and column of M near 1 (Ruiz 2001), as powers of
 * two. */
static void equilibrate(dictionary *d, const perp_lcp *lcp)
{
    for (int pass = 0; pass < 6; pass++) {
        int by_row = pass % 2 == 0;
        for (int i = 0; i < d->n; i++) {
            double largest = 0;
            for (int j = 0; j < d->n; j++) {
                size_t at = by_row ? (size_t)j * (size_t)lcp->ldm + (size_t)i
                                   : (size_t)i * (size_t)lcp->ldm + (size_t)j;
                largest = fmax(largest, fabs(lcp->M[at]) * (by_row ? d->C[j] : d->R[j]));
            }
            double *scale = by_row ? &d->R[i] : &d->C[i];
            int exponent;
            frexp(largest * *scale, &exponent);
            if (largest > 0) *scale = ldexp(*scale, -(exponent / 2));
        }
    }
}

/* The dictionary of attempt 0: the problem as it is; 1: equilibrated; 2, 3, ..: with another
 * covering vector. */
static void start(dictionary *d, perp_solver *s, const perp_lcp *lcp, int attempt)
{
    int n = lcp->n;
    size_t N = (size_t)n;
    *d = (dictionary){.n = n,
                      .D = s->work,
                      .q = s->work + N * (N + 1),
                      .basic = s->index,
                      .nonbasic = s->index + n,
                      .where = s->index + 2 * n + 1,
                      .R = s->work + N * (2 * N + 3),
                      .C = s->work + N * (2 * N + 4)};
    for (int i = 0; i < n; i++) d->R[i] = d->C[i] = 1;
    if (attempt > 0) equilibrate(d, lcp);
    for (int j = 0; j < n; j++) {
        double *column = column_of(d, j);
        memcpy(column, lcp->M + (size_t)j * (size_t)lcp->ldm, N * sizeof(double));
        for (int i = 0; i < n && attempt > 0; i++) column[i] *= d->R[i] * d->C[j];
        d->q[j] = d->R[j] * lcp->q[j];
        d->q_scale = fmax(d->q_scale, fabs(d->q[j]));
        d->basic[j] = j, d->where[j] = j;
        d->nonbasic[j] = n + j, d->where[n + j] = -1 - j;
    }
    double *cover = column_of(d, n);
    for (int i = 0; i < n; i++)
        cover[i] = attempt < 2 ? 1 : 1 + (double)((i + 1) * (2 * attempt + 3) % 17) / 8;
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
    double *B = s->work + (size_t)n * (size_t)(n + 2);
    double *x = s->work + (size_t)n * (size_t)(n + 1); /* the dictionary's q is no longer needed */
    for (int j = 0; j < nb; j++) {
        for (int i = 0; i < nb; i++)
            B[(size_t)j * (size_t)nb + (size_t)i] =
                lcp->M[(size_t)row[j] * (size_t)lcp->ldm + (size_t)row[i]];
    }
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
        z[i] = at >= 0 ? d->C[i] * fmax(d->q[at], 0) : 0;
    }
    s->has_basis = 1;
}

static void read_ray(const dictionary *d, perp_solver *s, int c)
{
    s->has_basis = 0;
    s->has_ray = 1;
    for (int i = 0; i < d->n; i++) {
        int at = d->where[d->n + i];
        s->ray[i] = d->C[i] * (at >= 0 ? column_of(d, c)[at] : -1 - at == c ? 1.0 : 0.0);
    }
}

/* When z0 has left: the residual decides whether z is taken from the dictionary or computed anew
 * from the basis. */
static double finish(const dictionary *d, perp_solver *s, const perp_lcp *lcp, double *z)
{
    size_t bytes = (size_t)d->n * sizeof(double);
    read_solution(d, s, z);
    double residual = perp_lcp_residual(lcp, z, NULL), scale = 1;
    for (int i = 0; i < d->n; i++) scale = fmax(scale, 1 + fabs(lcp->q[i]));
    if (residual <= 1e-14 * scale) return residual / scale;
    memcpy(s->w, z, bytes);
    double refined = refine(s, lcp, z) ? perp_lcp_residual(lcp, z, NULL) : (double)NAN;
    if (refined <= residual) return refined / scale;
    memcpy(z, s->w, bytes);
    return residual / scale;
}

static perp_outcome pivot_to_the_end(dictionary *d, perp_solver *s, const perp_lcp *lcp, double *z,
                                     int limit, int *iterations)
{
    int n = d->n, r = first_row(d), c = n;
    if (r < 0) {
        read_solution(d, s, z);
        return PERP_SOLVED;
    }
    for (int k = 0; k < limit; k++) {
        int leaves = d->basic[r];
        ++*iterations;
        pivot(d, r, c);
        if (leaves == 2 * n)
            return finish(d, s, lcp, z) <= s->options.tol ? PERP_SOLVED : PERP_LIMIT;
        c = -1 - d->where[leaves < n ? leaves + n : leaves - n]; /* its complement enters */
        r = ratio_test(d, c);
        if (r < 0) {
            read_solution(d, s, z);
            read_ray(d, s, c);
            return PERP_RAY;
        }
    }
    read_solution(d, s, z);
    s->has_basis = 0;
    return PERP_LIMIT;
}

/* A ray, or an answer that does not hold, is often the work of bad scaling: try again equilibrated,
 * then along other paths. */
static perp_outcome lemke_solve(perp_solver *s, const perp_lcp *lcp, double *z, int *iterations)
{
    enum { ATTEMPTS = 4 };
    int limit = s->options.max_iter ? s->options.max_iter : 100 * lcp->n + 100;
    perp_outcome outcome = PERP_LIMIT;
    *iterations = 0;
    for (int attempt = 0; attempt < ATTEMPTS && outcome != PERP_SOLVED; attempt++) {
        dictionary d;
        s->has_ray = s->has_basis = 0;
        start(&d, s, lcp, attempt);
        outcome = pivot_to_the_end(&d, s, lcp, z, limit, iterations);
    }
    return outcome;
}

const perp__solver perp__lemke = {lemke_doubles, lemke_ints, lemke_solve};
