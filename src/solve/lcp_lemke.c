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
    double *t;      /* ld: at most 0 where a row may leave */
    double *row;    /* n + 1, padded: the pivot row divided by minus the pivot */
    double *U, *V;  /* ld x BLOCK, BLOCK x (n+1) */
    double *M;      /* n x n: the M this is the dictionary of (warm start) */
    double *R, *C;  /* n: the problem is solved for R M C, R q; z = C z' */
    int *basic;     /* n */
    int *nonbasic;  /* n + 1 */
    int *where;     /* 2n + 1: row of a basic variable, or -1 - column of a nonbasic one */
    int *begin;     /* n: the basic variables pivoting began with */
    int *kept;      /* n of the dictionary left by the last solve, pivots in it, is it the start */
    double q_scale; /* largest |q| of the problem */
    int is_scaled;  /* by R and C */
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
    return ld * (N + 1) + 3 * ld + (N + 16) + BLOCK * (ld + N + 1) + N * N + 2 * N + 8;
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
    d->D = s->work;
    d->q = d->D + ld * (N + 1);
    d->pc = d->q + ld;
    d->t = d->pc + ld;
    d->U = d->t + ld;
    d->row = d->U + ld * BLOCK;
    d->V = d->row + (N + 16) / 8 * 8;
    d->R = d->V + BLOCK * (N + 1);
    d->C = d->R + N;
    d->M = d->C + N;
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

/* The tableau of the problem as it is: [M | 1] and q. */
static inline PERP_INLINE void load(dictionary *d, const perp_lcp *lcp, int n, int ld)
{
    for (int j = 0; j < n; j++) {
        double *column = d->D + (size_t)j * (size_t)ld;
        const double *source = perp__column(lcp, j);
        for (int i = 0; i < n; i++) column[i] = source[i];
        for (int i = n; i < ld; i++) column[i] = 0;
    }
    double *cover = d->D + (size_t)n * (size_t)ld;
    for (int i = 0; i < ld; i++) cover[i] = i < n ? 1 : 0;
    for (int i = 0; i < n; i++) d->q[i] = lcp->q[i];
    for (int i = n; i < ld; i++) d->q[i] = 0;
}

static inline PERP_INLINE void number_variables(dictionary *d, int n)
{
    for (int j = 0; j < n; j++) d->basic[j] = d->where[j] = d->begin[j] = j;
    for (int j = 0; j <= n; j++) d->nonbasic[j] = n + j, d->where[n + j] = -1 - j;
}

/* The first dictionary. Way 0: the problem as it is; 1: equilibrated; 2, 3, ..: with another covering
 * vector. */
static void start_cold(dictionary *d, const perp_lcp *lcp, int way)
{
    int n = d->n;
    switch (n) { /* small ones with loops of known length */
    case 3: load(d, lcp, 3, 4), number_variables(d, 3); break;
    case 4: load(d, lcp, 4, 4), number_variables(d, 4); break;
    default: load(d, lcp, n, d->ld), number_variables(d, n);
    }
    d->is_scaled = way > 0;
    if (way == 0) return;
    for (int i = 0; i < n; i++) d->R[i] = d->C[i] = 1;
    equilibrate(d, lcp);
    for (int j = 0; j < n; j++) {
        double *column = column_of(d, j), *cover = column_of(d, n);
        for (int i = 0; i < n; i++) column[i] *= d->R[i] * d->C[j];
        d->q[j] *= d->R[j];
        if (way > 1) cover[j] = 1 + (double)((j + 1) * (2 * way + 3) % 17) / 8;
    }
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

/* Pivoting ------------------------------------------------------------------------------------ */

static void exchange(dictionary *d, int r, int c)
{
    int leaves = d->basic[r], enters = d->nonbasic[c];
    d->basic[r] = enters, d->where[enters] = r;
    d->nonbasic[c] = leaves, d->where[leaves] = -1 - c;
}

/* Apply the pending pivots: D += U V. */
static void flush(dictionary *d)
{
    perp__add_product(d->n, d->n + 1, d->pending, d->U, d->ld, d->V, BLOCK, d->D, d->ld);
    d->pending = 0;
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

/* The row that leaves, of those with t <= 0: z0 if it is among them, else the lexicographically smallest. */
static int break_tie(const dictionary *d)
{
    int best = -1;
    for (int i = 0; i < d->n; i++) {
        if (d->t[i] > 0) continue;
        if (d->basic[i] == 2 * d->n) return i;
        if (best < 0 || lexicographically_smaller(d, i, best)) best = i;
    }
    return best;
}

/* The loops of a pivot, for every vector width (simd.h): lemke_kernel.h defines follow_<isa>. */
#define ISA plain
#define TARGET
#include "solve/lemke_kernel.h"
#if PERP_ISA_COUNT > 1
#define ISA avx2
#define TARGET PERP_TARGET_AVX2
#include "solve/lemke_kernel.h"
#define ISA avx512
#define TARGET PERP_TARGET_AVX512
#include "solve/lemke_kernel.h"
#endif

static perp_outcome (*const follows[])(dictionary *d, int r, int limit, int *iterations,
                                       int *ray) = {
#define VERSION(isa, target) follow_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

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

/* Method --------------------------------------------------------------------------------------
 */

static void read_solution(const dictionary *d, perp_solver *s)
{
    int n = d->n;
    for (int i = 0; i < n; i++) {
        int at = d->where[n + i], is_basic = at >= 0;
        double value = d->q[is_basic ? at : 0];
        s->basis[i] = (unsigned char)is_basic;
        s->z[i] = is_basic & (value > 0) ? value : 0;
    }
    for (int i = 0; i < n && d->is_scaled; i++) s->z[i] *= d->C[i];
}

static void read_ray(const dictionary *d, perp_solver *s, int c)
{
    s->has_ray = 1;
    for (int i = 0; i < d->n; i++) {
        int at = d->where[d->n + i];
        s->ray[i] = at >= 0 ? element(d, at, c) : -1 - at == c ? 1.0 : 0.0;
        if (d->is_scaled) s->ray[i] *= d->C[i];
    }
}

static perp_outcome run(dictionary *d, perp_solver *s, int *iterations)
{
    int limit = s->options.max_iter ? s->options.max_iter : 100 * d->n + 100, ray = 0;
    int r = first_row(d->n, d->q), before = *iterations;
    perp_outcome outcome = PERP_SOLVED;
    for (int i = 0; i < d->n; i++) {
        double size = fabs(d->q[i]);
        d->q_scale = size > d->q_scale ? size : d->q_scale;
    }
    int isa = d->ld < 8 && s->isa > 1 ? 1 : s->isa; /* at least one whole vector */
    if (r >= 0) outcome = follows[isa](d, r, limit, iterations, &ray);
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
    if (first_row(n, lcp->q) < 0) { /* nothing pushes */
        memset(s->z, 0, (size_t)n * sizeof(double));
        memset(s->basis, 0, (size_t)n);
        s->has_basis = 1;
        return PERP_SOLVED;
    }
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
