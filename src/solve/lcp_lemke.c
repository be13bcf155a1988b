/* lemke - complementary pivoting (Lemke 1965; Cottle, Pang, Stone 1992, algorithm 4.4.5).
 *
 *     w = q + d z0 + M z,   d = 1
 *
 * 1. z0 enters at the row that needs it most; then the complement of what left enters, until z0
 * leaves (solved) or nothing can (a ray).
 * 2. The dictionary is condensed: a row for each basic variable, a column for each of the n + 1 nonbasic
 * ones, column-major. Columns are padded to whole vectors, so that a pivot is one rank-1 update
 * without remainders, in the widest vectors of the machine.
 * 3. From n = 160 on pivots are kept as factors, D = D0 + U V, of which 32 are applied as one matrix
 * product; only the entering column and the leaving row are computed at once.
 * 4. Ties in the ratio test are broken lexicographically, as if q were q + (e, e^2, ...): no
 * cycling. A row is tied when its value after the step is zero relative to the terms it is the
 * difference of (PERP_TOL_TIE).
 * 5. Warm start: where M is that of the last solve its dictionary is a principal pivot transform of M.
 * It gives the new q column in 2 n^2 operations; if that is nonnegative it is the answer, else
 * pivoting goes on from there.
 *
 * Succeeds for positive semidefinite, P, copositive-plus M when a solution exists. Fails, with a
 * ray, for others. Cost: about n / 2 to n pivots of 2 n^2 operations. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

enum { BLOCKED_FROM = 160, BLOCK = 32 };

/* Variables: 0 .. n-1 are w, n .. 2n-1 are z, 2n is z0. */
typedef struct dictionary {
    int n, ld;      /* rows, padded rows: those behind n are 0 */
    int pending;    /* pivots in U, V */
    double *D;      /* ld x (n+1), column-major */
    double *q;      /* ld: values of the basic variables */
    double *pc;     /* ld: a copy of the entering column */
    double *keep;   /* ld: 1, but 0 in the pivot row */
    double *t;      /* ld: scratch */
    double *row;    /* n + 1: the pivot row */
    double *U, *V;  /* ld x BLOCK, BLOCK x (n+1) */
    double *M;      /* n x n: the M this is the dictionary of (warm start) */
    double *R, *C;  /* n: the problem is solved for R M C, R q; z = C z' */
    int *basic;     /* n */
    int *nonbasic;  /* n + 1 */
    int *where;     /* 2n + 1: row of a basic variable, or -1 - column of a nonbasic one */
    int *begin;     /* n: the basic variables pivoting began with */
    int *list;      /* n + 1: columns to update */
    int *kept;      /* n of the dictionary left by the last solve, pivots in it, is it the start */
    double q_scale; /* largest |q| of the problem */
} dictionary;

/* Whole vectors; not a multiple of 4 KiB, where rows would share few cache lines. */
static int padded(int n)
{
    if (n <= 4) return 4;
    int ld = (n + 7) / 8 * 8;
    return ld % 64 == 0 ? ld + 8 : ld;
}

static size_t lemke_doubles(int n)
{
    size_t N = (size_t)n, ld = (size_t)padded(n);
    return ld * (N + 1) + 4 * ld + (N + 1) + BLOCK * (ld + N + 1) + N * N + 2 * N + 8;
}

static size_t lemke_ints(int n)
{
    return 6 * (size_t)n + 9;
}

static void lay_out(dictionary *d, perp_solver *s, int n)
{
    size_t N = (size_t)n, ld = (size_t)padded(n);
    *d = (dictionary){.n = n, .ld = (int)ld};
    d->kept = s->index;
    d->basic = s->index + 3;
    d->nonbasic = d->basic + n;
    d->where = d->nonbasic + n + 1;
    d->begin = d->where + 2 * n + 1;
    d->list = d->begin + n;
    d->D = s->work;
    d->q = d->D + ld * (N + 1);
    d->pc = d->q + ld;
    d->keep = d->pc + ld;
    d->t = d->keep + ld;
    d->R = d->t + ld;
    d->C = d->R + N;
    d->row = d->C + N;
    d->M = d->row + N + 1;
    d->U = d->M + N * N;
    d->V = d->U + ld * BLOCK;
}

static double *column_of(const dictionary *d, int column)
{
    return d->D + (size_t)column * (size_t)d->ld;
}

/* Entry of the present dictionary. */
static double element(const dictionary *d, int r, int c)
{
    double x = column_of(d, c)[r];
    for (int l = 0; l < d->pending; l++) x += d->U[r + l * d->ld] * d->V[l + c * BLOCK];
    return x;
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
                double x = fabs(lcp->M[at]) * (by_row ? d->C[j] : d->R[j]);
                largest = x > largest ? x : largest;
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
static void start_cold(dictionary *d, const perp_lcp *lcp, int attempt)
{
    int n = d->n, ld = d->ld;
    for (int i = 0; i < n; i++) d->R[i] = d->C[i] = 1;
    if (attempt > 0) equilibrate(d, lcp);
    for (int j = 0; j < n; j++) {
        double *column = column_of(d, j);
        const double *source = lcp->M + (size_t)j * (size_t)lcp->ldm;
        for (int i = 0; i < n; i++) column[i] = source[i];
        for (int i = n; i < ld; i++) column[i] = 0;
        for (int i = 0; i < n && attempt > 0; i++) column[i] *= d->R[i] * d->C[j];
        d->q[j] = d->R[j] * lcp->q[j];
        d->basic[j] = d->where[j] = d->begin[j] = j;
        d->nonbasic[j] = n + j, d->where[n + j] = -1 - j;
    }
    double *cover = column_of(d, n);
    for (int i = 0; i < ld; i++) cover[i] = i < n ? 1 : 0;
    for (int i = 0; i < n && attempt > 1; i++)
        cover[i] = 1 + (double)((i + 1) * (2 * attempt + 3) % 17) / 8;
    for (int i = n; i < ld; i++) d->q[i] = 0;
    d->nonbasic[n] = 2 * n, d->where[2 * n] = -1 - n;
}

/* The last dictionary with the constants of the new q: the column of w_i, were it nonbasic, is that of
 * -q_i. z0 gets a column of ones again. 0 where there is no such dictionary. */
static int start_warm(dictionary *d, const perp_lcp *lcp)
{
    int n = d->n, ld = d->ld;
    if (d->kept[0] != n || d->kept[1] > 20 * n + 100) return 0;
    for (int j = 0; j < n; j++) {
        if (memcmp(d->M + (size_t)j * (size_t)n, lcp->M + (size_t)j * (size_t)lcp->ldm,
                   (size_t)n * sizeof(double)) != 0)
            return 0;
    }
    for (int i = 0; i < n; i++) d->R[i] = d->C[i] = 1;
    for (int i = 0; i < ld; i++) d->q[i] = 0;
    for (int i = 0; i < n; i++) {
        int at = d->where[i];
        double f = lcp->q[i];
        if (at >= 0) {
            d->q[at] += f;
            continue;
        }
        const double *column = column_of(d, -1 - at);
        for (int k = 0; k < ld; k++) d->q[k] -= f * column[k];
    }
    double *cover = column_of(d, -1 - d->where[2 * n]);
    for (int i = 0; i < ld; i++) cover[i] = i < n ? 1 : 0;
    memcpy(d->begin, d->basic, (size_t)n * sizeof(int));
    return 1;
}

/* Pivoting ------------------------------------------------------------------------------------
 */

static void exchange(dictionary *d, int r, int c)
{
    int leaves = d->basic[r], enters = d->nonbasic[c];
    d->basic[r] = enters, d->where[enters] = r;
    d->nonbasic[c] = leaves, d->where[leaves] = -1 - c;
}

/* Column j of the dictionary: what is not in the pivot row gets f times the entering column, the pivot
 * row gets f. pc is the entering column with a 1 in the pivot row. */
static inline PERP_INLINE void update(int ld, double *restrict column, const double *restrict keep,
                                      const double *restrict pc, double f)
{
    for (int i = 0; i < ld; i++) column[i] = column[i] * keep[i] + pc[i] * f;
}

static inline PERP_INLINE void update4(int ld, double *restrict a, double *restrict b,
                                       double *restrict c, double *restrict d,
                                       const double *restrict keep, const double *restrict pc,
                                       const double *f)
{
    double fa = f[0], fb = f[1], fc = f[2], fd = f[3];
    for (int i = 0; i < ld; i++) {
        double k = keep[i], p = pc[i];
        a[i] = a[i] * k + p * fa;
        b[i] = b[i] * k + p * fb;
        c[i] = c[i] * k + p * fc;
        d[i] = d[i] * k + p * fd;
    }
}

/* The variable of column c becomes basic in row r; pc is column c. */
static inline PERP_INLINE void pivot(dictionary *d, int ld, int r, int c)
{
    int n = d->n, count = 0;
    double p = d->pc[r], *row = d->row;
    d->pc[r] = 1;
    d->keep[r] = 0;
    if (ld <= 8) {
        for (int j = 0; j <= n; j++) {
            double *column = d->D + j * ld;
            update(ld, column, d->keep, d->pc, -column[r] / p);
        }
    } else {
        for (int j = 0; j <= n; j++) {
            double f = -column_of(d, j)[r] / p;
            row[count] = f, d->list[count] = j;
            count += f != 0 && j != c;
        }
        int j = 0;
        for (const int *list = d->list; j + 4 <= count; j += 4)
            update4(ld, column_of(d, list[j]), column_of(d, list[j + 1]), column_of(d, list[j + 2]),
                    column_of(d, list[j + 3]), d->keep, d->pc, row + j);
        for (; j < count; j++) update(ld, column_of(d, d->list[j]), d->keep, d->pc, row[j]);
    }
    update(ld, d->q, d->keep, d->pc, -d->q[r] / p);
    double *column = column_of(d, c);
    for (int i = 0; i < ld; i++) column[i] = d->pc[i] / p;
    d->keep[r] = 1;
    exchange(d, r, c);
}

/* Apply the pending pivots: D += U V. */
static void flush(dictionary *d)
{
    perp__add_product(d->n, d->n + 1, d->pending, d->U, d->ld, d->V, BLOCK, d->D, d->ld);
    d->pending = 0;
}

/* The same pivot kept as factors: row r and column c of D, U and V become 0, and D gets the product of
 * the column (1 in row r) and the row (1/p in column c). */
static inline PERP_INLINE void pivot_later(dictionary *d, int r, int c)
{
    int n = d->n, ld = d->ld, k = d->pending;
    double p = d->pc[r], *v = d->V + k;
    d->pc[r] = 1;
    d->keep[r] = 0;
    for (int j = 0; j <= n; j++) {
        double *entry = column_of(d, j) + r, x = *entry;
        const double *older = d->V + (size_t)j * BLOCK;
        for (int l = 0; l < k; l++) x += d->U[r + l * ld] * older[l];
        *entry = 0;
        v[(size_t)j * BLOCK] = -x / p;
    }
    update(ld, d->q, d->keep, d->pc, -d->q[r] / p);
    memset(column_of(d, c), 0, (size_t)ld * sizeof(double));
    for (int l = 0; l < k; l++) d->U[r + l * ld] = 0, d->V[l + c * BLOCK] = 0;
    v[(size_t)c * BLOCK] = 1 / p;
    memcpy(d->U + (size_t)k * (size_t)ld, d->pc, (size_t)ld * sizeof(double));
    d->keep[r] = 1;
    exchange(d, r, c);
    if (++d->pending == BLOCK) flush(d);
}

/* Coefficient of the perturbation e^(k+1) of the k-th basic variable of the beginning in basic row r. */
static double perturbation(const dictionary *d, int r, int k)
{
    int at = d->where[d->begin[k]];
    if (at >= 0) return at == r ? 1.0 : 0.0;
    return -element(d, r, -1 - at);
}

/* Is row a's perturbed ratio smaller than row b's? Both rows are tied in value and have negative
 * entries in pc. */
static int lexicographically_smaller(const dictionary *d, int a, int b)
{
    for (int k = 0; k < d->n; k++) {
        double x = perturbation(d, a, k) / -d->pc[a], y = perturbation(d, b, k) / -d->pc[b];
        if (fabs(x - y) > PERP_TOL_TIE * (fabs(x) + fabs(y))) return x < y;
    }
    return 0;
}

/* The row that blocks the increase of the variable whose column is pc; -1 if none does. z0 is preferred
 * among ties. */
static inline PERP_INLINE int ratio_test(dictionary *d, int ld)
{
    enum { W = 4 };
    const double *pc = d->pc, *q = d->q;
    double *t = d->t, lane[W] = {0, 0, 0, 0}, largest = 0, limit = (double)INFINITY;
    for (int i = 0; i < ld; i += W) {
        for (int l = 0; l < W; l++) {
            double x = fabs(pc[i + l]);
            lane[l] = x > lane[l] ? x : lane[l];
        }
    }
    for (int l = 0; l < W; l++) largest = lane[l] > largest ? lane[l] : largest;
    double smallest_pivot = -PERP_TOL_PIVOT * largest;
    for (int l = 0; l < W; l++) lane[l] = limit;
    for (int i = 0; i < ld; i += W) {
        for (int l = 0; l < W; l++) {
            int blocks = pc[i + l] < smallest_pivot;
            double value = q[i + l] > 0 ? q[i + l] : 0;
            double x = (blocks ? value : (double)INFINITY) / (blocks ? -pc[i + l] : 1);
            lane[l] = x < lane[l] ? x : lane[l];
        }
    }
    for (int l = 0; l < W; l++) limit = lane[l] < limit ? lane[l] : limit;
    if (limit == (double)INFINITY) return -1;
    double floor_scale = 1e-3 * d->q_scale;
    for (int i = 0; i < ld; i++) {
        double after = q[i] + limit * pc[i], terms = fabs(q[i]) - limit * pc[i];
        double excess = after - PERP_TOL_TIE * (terms > floor_scale ? terms : floor_scale);
        t[i] = pc[i] < smallest_pivot ? excess : 1;
    }
    int best = -1;
    for (int i = 0; i < d->n; i++) {
        if (t[i] > 0) continue;
        if (d->basic[i] == 2 * d->n) return i;
        if (best < 0 || lexicographically_smaller(d, i, best)) best = i;
    }
    return best;
}

/* Row where z0 enters: the most negative q; of equal ones the last (its perturbation is the
 * smallest). */
static int first_row(int n, const double *q)
{
    int r = -1;
    double least = 0;
    for (int i = 0; i < n; i++) {
        if (q[i] <= least && q[i] < 0) least = q[i], r = i;
    }
    return r;
}

/* The present column c into pc. */
static inline PERP_INLINE void fetch_column(dictionary *d, int ld, int c)
{
    double *restrict pc = d->pc;
    const double *column = column_of(d, c), *v = d->V + (size_t)c * BLOCK;
    for (int i = 0; i < ld; i++) pc[i] = column[i];
    for (int l = 0; l < d->pending; l++) {
        const double *u = d->U + (size_t)l * (size_t)ld;
        double f = v[l];
        for (int i = 0; i < ld && f != 0; i++) pc[i] += f * u[i];
    }
}

/* From z0's entering in row r to its leaving. On a ray *ray is the column. */
static inline PERP_INLINE perp_outcome follow(dictionary *d, int ld, int later, int r, int limit,
                                              int *iterations, int *ray)
{
    int n = d->n, c = -1 - d->where[2 * n];
    for (int i = 0; i < ld; i++) d->keep[i] = 1;
    fetch_column(d, ld, c);
    for (int k = 0; k < limit; k++) {
        int leaves = d->basic[r];
        ++*iterations;
        if (later)
            pivot_later(d, r, c);
        else
            pivot(d, ld, r, c);
        if (leaves == 2 * n) return PERP_SOLVED;
        c = -1 - d->where[leaves < n ? leaves + n : leaves - n]; /* its complement enters */
        fetch_column(d, ld, c);
        r = ratio_test(d, ld);
        if (r < 0) {
            *ray = c;
            return PERP_RAY;
        }
    }
    return PERP_LIMIT;
}

#define VERSION(isa, target)                                                                       \
    target static perp_outcome follow_##isa(dictionary *d, int r, int limit, int *iterations,      \
                                            int *ray)                                              \
    {                                                                                              \
        if (d->ld == 4) return follow(d, 4, 0, r, limit, iterations, ray);                         \
        if (d->ld == 8) return follow(d, 8, 0, r, limit, iterations, ray);                         \
        if (d->ld == 16) return follow(d, 16, 0, r, limit, iterations, ray);                       \
        return follow(d, d->ld, d->n >= BLOCKED_FROM, r, limit, iterations, ray);                  \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static perp_outcome (*const follows[])(dictionary *d, int r, int limit, int *iterations,
                                       int *ray) = {
#define VERSION(isa, target) follow_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Method --------------------------------------------------------------------------------------
 */

static void read_solution(const dictionary *d, perp_solver *s)
{
    int n = d->n;
    for (int i = 0; i < n; i++) {
        int at = d->where[n + i];
        s->basis[i] = at >= 0;
        s->z[i] = at >= 0 && d->q[at] > 0 ? d->C[i] * d->q[at] : 0;
    }
}

static void read_ray(const dictionary *d, perp_solver *s, int c)
{
    s->has_ray = 1;
    for (int i = 0; i < d->n; i++) {
        int at = d->where[d->n + i];
        s->ray[i] = d->C[i] * (at >= 0 ? element(d, at, c) : -1 - at == c ? 1.0 : 0.0);
    }
}

static perp_outcome run(dictionary *d, perp_solver *s, int *iterations)
{
    int limit = s->options.max_iter ? s->options.max_iter : 100 * d->n + 100, ray = 0;
    int r = first_row(d->n, d->q), before = *iterations;
    perp_outcome outcome = PERP_SOLVED;
    for (int i = 0; i < d->n; i++) d->q_scale = fabs(d->q[i]) > d->q_scale ? fabs(d->q[i]) : d->q_scale;
    if (r >= 0) outcome = follows[s->isa](d, r, limit, iterations, &ray);
    read_solution(d, s);
    s->has_basis = outcome == PERP_SOLVED;
    if (outcome == PERP_RAY) read_ray(d, s, ray);
    if (d->pending) flush(d);
    d->kept[1] += *iterations - before;
    return outcome;
}

/* First from the last dictionary, where that may be. A ray, or an answer that does not hold, is often
 * the work of bad scaling: try again equilibrated, then along other paths. */
static perp_outcome lemke_solve(perp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    dictionary d;
    int n = lcp->n;
    lay_out(&d, s, n);
    if (attempt == 0) {
        d.kept[2] = s->options.warm_start && start_warm(&d, lcp);
        if (d.kept[2]) return run(&d, s, iterations);
    }
    int way = attempt - d.kept[2];
    start_cold(&d, lcp, way);
    d.kept[0] = d.kept[1] = 0;
    perp_outcome outcome = run(&d, s, iterations);
    if (s->options.warm_start && way == 0 && outcome == PERP_SOLVED) {
        for (int j = 0; j < n; j++)
            memcpy(d.M + (size_t)j * (size_t)n, perp__column(lcp, j), (size_t)n * sizeof(double));
        d.kept[0] = n;
    }
    return outcome;
}

const perp__solver perp__lemke = {lemke_doubles, lemke_ints, lemke_solve, 5, 0};
