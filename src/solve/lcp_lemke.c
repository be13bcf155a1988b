/* lemke - complementary pivoting (Lemke 1965; Cottle, Pang, Stone 1992, algorithm 4.4.5).
 *
 *     w = q + d z0 + M z,   d = 1
 *
 * 1. z0 enters at the row that needs it most; then the complement of what left enters, until z0
 *    leaves (solved) or nothing can (a ray).
 * 2. The dictionary is not kept: of a pivot only its column and row are (product form). The column
 *    that enters is made from M by the k pivots so far, in n k operations instead of the n^2 of an
 *    update. After n pivots the dictionary is computed from M by an LU of the basis, and the list
 *    begins anew.
 * 3. Ties in the ratio test are broken lexicographically, as if q were q + (e, e^2, ...): no
 *    cycling. A row is tied when its value after the step is zero relative to the terms it is the
 *    difference of (PERP_TOL_TIE).
 * 4. Warm start: where M is that of the last solve, its pivots give the new values in n k
 *    operations; if they are nonnegative that is the answer, else pivoting goes on from there.
 *
 * 5. Up to n = 16, before all that: principal pivots on a dictionary, each in the row of the least
 *    value (the simple principal pivoting of Zoutendijk and Bard). They settle nearly all problems
 *    whose principal pivots are positive, in half the time; at a pivot that is not, or after 2 n,
 *    Lemke begins from M and q as if nothing had been. A warm start has the values for a new q by
 *    one product with the dictionary.
 *
 * Succeeds for positive semidefinite, P, copositive-plus M when a solution exists. Fails, with a
 * ray, for others. Cost: about n/2 to n pivots of n k operations. The plain form, with the whole
 * tableau, is in tests/property/test_lemke_textbook.c, and this one is tested against it. */

#include "base/tol.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

/* The starts, one after the other while there is no answer: -1 from the tableau of the last solve
 * (warm_start, same M), then 0 .. LAST_WAY cold, see start_cold. */
enum { LAST_WAY = 4 };

/* Ties of no more rows are broken row by row, those of more column by column. */
enum { FEW_TIED = 4 };

/* The first of the solver's integers: what the last solve left. */
enum {
    TABLEAU,      /* n of the tableau, or 0 */
    PIVOTS,       /* its ne */
    BEFORE,       /* 1: an attempt of this solve came before way 0 */
    SMALL,        /* n of the dictionary of small problems, or 0 */
    SMALL_BASIC,  /* bits: its z that are basic */
    SMALL_PIVOTS, /* since it was M */
    KEPT
};

/* Variables: 0 .. n-1 are w, n .. 2n-1 are z, 2n is z0. */
typedef struct tableau {
    int n, ld;           /* rows, padded rows: those behind n are 0 */
    const perp_lcp *lcp; /* columns of z at the base, where D is not used */
    double *D;          /* ld x (n + 1): columns of the variables that were not basic at the base */
    double *cover;      /* n: d */
    perp_lcp_solver *s; /* for its factors */
    double *E;          /* ld x most: column e of each pivot, divided by the pivot p; e_r = 1/p */
    int *er;            /* most: its row */
    int ne, most;       /* pivots since the base, room for them */
    int tie_base;       /* ties are broken as if the pivots before this one had not been */
    int uses_D;         /* 0: the base is the problem as it is */
    double *q;          /* ld: values of the basic variables */
    double *pc;         /* ld: the entering column */
    double *t;          /* ld: at most 0 where a row may leave */
    double *y;          /* FEW_TIED x ld: columns or rows of perturbations, for ties */
    int *tied;          /* n: rows */
    int *nonzero;       /* n: where a row of perturbations may not be 0; n: whether it may */
    double *M;          /* n x n: the M of the last solve (warm start) */
    double *R, *C;      /* n: the problem is solved for R M C, R q; z = C z' */
    int *basic;         /* n */
    int *where;         /* 2n + 1: row of a basic variable; -1 */
    int *base;          /* 2n: its row at the base, or -1 - its column in D or M */
    int *kept;          /* KEPT: what the last solve left */
    double q_scale;     /* largest |q| of the problem */
    int is_scaled;      /* by R and C */
} tableau;

/* Whole vectors; not a multiple of 4 KiB, where columns would share few cache lines. */
static int padded(int n)
{
    if (n <= 4) return 4;
    int ld = (n + 7) / 8 * 8;
    return ld % 64 == 0 ? ld + 8 : ld;
}

static int room_for_pivots(int n)
{
    return n + 16;
}

static size_t lemke_doubles(int n)
{
    size_t N = (size_t)n, ld = (size_t)padded(n);
    return ld * (N + 1) + ld * (size_t)room_for_pivots(n) + (3 + FEW_TIED) * ld + N * N + 3 * N;
}

static size_t lemke_ints(int n)
{
    return KEPT + 5 * (size_t)n + (2 * (size_t)n + 1) + 2 * (size_t)n + (size_t)room_for_pivots(n);
}

static void lay_out(tableau *d, perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n;
    size_t N = (size_t)n, ld = (size_t)padded(n);
    *d = (tableau){.n = n, .ld = (int)ld, .lcp = lcp, .most = room_for_pivots(n), .s = s};
    d->kept = s->index;
    d->basic = s->index + KEPT;
    d->where = d->basic + n;
    d->base = d->where + 2 * n + 1;
    d->er = d->base + 2 * n;
    d->tied = d->er + d->most;
    d->nonzero = d->tied + n;
    d->q = s->work;
    d->pc = d->q + ld;
    d->t = d->pc + ld;
    d->y = d->t + ld;
    d->E = d->y + FEW_TIED * ld;
    d->D = d->E + ld * (size_t)d->most;
    d->M = d->D + ld * (N + 1);
    d->R = d->M + N * N;
    d->C = d->R + N;
    d->cover = d->C + N;
}

/* Beginnings ---------------------------------------------------------------------------------- */

/* All w basic. Way 0: the problem as it is; 1: equilibrated; 2, 3, ..: with another covering
 * vector, which is left in pc. */
static void start_cold(tableau *d, int way)
{
    int n = d->n, ld = d->ld;
    for (int i = 0; i < n; i++) {
        d->q[i] = d->lcp->q[i];
        d->pc[i] = d->cover[i] = 1;
        d->basic[i] = d->where[i] = d->base[i] = i;
        d->where[n + i] = -1;
        d->base[n + i] = -1 - i;
    }
    for (int i = n; i < ld; i++) d->q[i] = d->pc[i] = 0;
    d->where[2 * n] = -1;
    if (way == 0) return;
    d->is_scaled = d->uses_D = 1;
    for (int i = 0; i < n; i++) d->R[i] = d->C[i] = 1;
    perp__equilibrate(n, d->lcp->M, d->lcp->ldm, d->R, d->C);
    for (int j = 0; j < n; j++) {
        double *column = d->D + (size_t)j * (size_t)ld;
        const double *source = perp__column(d->lcp, j);
        for (int i = 0; i < ld; i++) column[i] = i < n ? source[i] * d->R[i] * d->C[j] : 0;
        d->q[j] *= d->R[j];
        if (way > 1) d->pc[j] = d->cover[j] = 1 + (double)((j + 1) * (2 * way + 3) % 17) / 8;
    }
}

static int is_same(const perp_lcp *lcp, const double *M)
{
    size_t n = (size_t)lcp->n;
    if (lcp->ldm == lcp->n) return memcmp(M, lcp->M, n * n * sizeof(double)) == 0;
    for (size_t j = 0; j < n; j++) {
        if (memcmp(M + j * n, perp__column(lcp, (int)j), n * sizeof(double)) != 0) return 0;
    }
    return 1;
}

static void keep(const perp_lcp *lcp, double *M)
{
    size_t n = (size_t)lcp->n;
    for (size_t j = 0; j < n; j++) memcpy(M + j * n, perp__column(lcp, (int)j), n * sizeof(double));
}

/* Is there a tableau of this M from the last solve? It has not gone through the dictionary, so that
 * its base is M itself. */
static int may_start_warm(const tableau *d)
{
    return d->kept[TABLEAU] == d->n && d->kept[PIVOTS] + d->n / 4 <= d->most &&
           is_same(d->lcp, d->M);
}

/* Pivoting ------------------------------------------------------------------------------------ */

/* Entry i of the column of a variable in w - M z - d z0 = q. */
static double original(const tableau *d, int variable, int i)
{
    if (variable < d->n) return variable == i ? 1 : 0;
    if (variable == 2 * d->n) return -d->cover[i];
    double m = perp__column(d->lcp, variable - d->n)[i];
    return d->is_scaled ? -m * d->R[i] * d->C[variable - d->n] : -m;
}

/* Computes the dictionary from M and the basis, so that rounding does not accumulate: it is the new
 * base. Returns 0 if that is singular, or unknown since the cover is one of a warm start. */
static int rebase(tableau *d)
{
    int n = d->n, ld = d->ld, next = 0;
    double *B = d->s->lu.values;
    if (d->tie_base > 0) return 0;
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < n; i++)
            B[(size_t)i + (size_t)r * (size_t)n] = original(d, d->basic[r], i);
    }
    if (perp__lu(n, B, n, d->s->lu.swap) != 0) return 0;
    for (int v = 0; v < 2 * n; v++) {
        if (d->where[v] >= 0) {
            d->base[v] = d->where[v];
            continue;
        }
        double *column = d->D + (size_t)next * (size_t)ld;
        for (int i = 0; i < ld; i++) column[i] = i < n ? -original(d, v, i) : 0;
        perp__lu_solve(n, B, n, d->s->lu.swap, column);
        d->base[v] = -1 - next++;
    }
    for (int i = 0; i < n; i++) d->q[i] = d->is_scaled ? d->R[i] * d->lcp->q[i] : d->lcp->q[i];
    perp__lu_solve(n, B, n, d->s->lu.swap, d->q);
    d->uses_D = 1;
    d->ne = 0;
    return 1;
}

/* Up to so many padded rows the kernel blends rows by masks: -1 in the row, 0 in all others. */
enum { MOST_SMALL = PERP__GUESS_UP_TO };
static const long long hot[3 * MOST_SMALL] = {[MOST_SMALL] = -1};
static const double lane_number[] = {0, 1, 2, 3, 4, 5, 6, 7};

static inline PERP_INLINE double greater_of(double a, double b)
{
    return a > b ? a : b;
}

static inline PERP_INLINE double lesser_of(double a, double b)
{
    return a < b ? a : b;
}

static inline PERP_INLINE double sum_of(double a, double b)
{
    return a + b;
}

/* Row i of the coefficients of e, e^2, .., divided by -pc: through the pivots since tie_base from
 * the last to the first. Each of them changes the row at the position of its own row. */
static void find_perturbations(tableau *d, int i, double *row)
{
    int *at = d->nonzero, *is_in = at + d->n, n = 0;
    memset(row, 0, (size_t)d->n * sizeof *row);
    memset(is_in, 0, (size_t)d->n * sizeof *is_in);
    row[i] = is_in[i] = 1;
    at[n++] = i;
    for (int p = d->ne - 1; p >= d->tie_base; p--) {
        const double *e = d->E + (size_t)p * (size_t)d->ld;
        int r = d->er[p];
        double sum = 0;
        for (int k = 0; k < n; k++) sum += row[at[k]] * e[at[k]];
        row[r] = 0 - sum;
        if (!is_in[r] && sum != 0) {
            is_in[r] = 1;
            at[n++] = r;
        }
    }
    for (int k = 0; k < n; k++) row[at[k]] /= -d->pc[i];
}

/* Of few tied rows the lexicographically smallest. */
static int smallest_row(tableau *d, int many)
{
    const double *row[FEW_TIED];
    for (int m = 0; m < many; m++) {
        double *y = d->y + (size_t)m * (size_t)d->ld;
        find_perturbations(d, d->tied[m], y);
        row[m] = y;
    }
    for (int k = 0; k < d->n && many > 1; k++) {
        double least = row[0][k];
        int kept = 0;
        for (int m = 1; m < many; m++) least = lesser_of(row[m][k], least);
        for (int m = 0; m < many; m++) {
            double x = row[m][k];
            if (x - least > PERP_TOL_TIE * (fabs(x) + fabs(least))) continue;
            d->tied[kept] = d->tied[m];
            row[kept++] = row[m];
        }
        many = kept;
    }
    return d->tied[0];
}

/* The loops of a pivot, for every vector width (simd.h): lemke_kernel.h defines these. */
#define KERNEL "solve/lemke_kernel.h"
#include "linalg/every_isa.h"

typedef int guess_kernel(perp_lcp_solver *s, const perp_lcp *lcp, int is_warm, int limit);
static const struct {
    perp_outcome (*follow)(tableau *d, int r, int limit, int *iterations, int *ray);
    void (*values)(tableau *d);
    guess_kernel *guess[5]; /* n = 3, 4, 8, below 8, others */
} kernel[] = {
#define VERSION(isa, target)                                                                       \
    {follow_##isa,                                                                                 \
     values_##isa,                                                                                 \
     {guess_3_##isa, guess_4_##isa, guess_8_##isa, guess_to_8_##isa, guess_to_16_##isa}},
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Row where z0 enters: the most negative q_i/d_i; of equal ones the last (its perturbation is the
 * smallest). Returns -1 where no q_i is negative. */
static int first_row(int n, const double *q, const double *cover)
{
    int r = -1;
    double least = 0;
    for (int i = 0; i < n; i++) {
        double ratio = cover ? q[i] / cover[i] : q[i];
        if (ratio <= least && ratio < 0) {
            least = ratio;
            r = i;
        }
    }
    return r;
}

/* Method -------------------------------------------------------------------------------------- */

static void read_solution(const tableau *d, perp_lcp_solver *s)
{
    int n = d->n;
    for (int i = 0; i < n; i++) {
        int at = d->where[n + i], is_basic = at >= 0;
        double value = d->q[is_basic ? at : 0];
        s->basis[i] = (unsigned char)is_basic;
        s->z[i] = (is_basic & (value > 0)) ? value : 0;
    }
    for (int i = 0; i < n && d->is_scaled; i++) s->z[i] *= d->C[i];
}

/* ray: the variable that could enter without end; pc is its column. */
static void read_ray(const tableau *d, perp_lcp_solver *s, int ray)
{
    s->has_ray = 1;
    for (int i = 0; i < d->n; i++) {
        int at = d->where[d->n + i];
        if (at >= 0)
            s->ray[i] = d->pc[at];
        else if (d->n + i == ray)
            s->ray[i] = 1.0;
        else
            s->ray[i] = 0.0;
        if (d->is_scaled) s->ray[i] *= d->C[i];
    }
}

static perp_outcome run(tableau *d, perp_lcp_solver *s, int way, int *iterations)
{
    /* paths of more than 5 n pivots are rare, but there are some: the last attempt is patient */
    int patience = way < LAST_WAY ? 10 : 50, ray = -1;
    int limit = s->options.max_iter ? s->options.max_iter : patience * d->n + 200;
    int isa = d->ld < 8 && s->isa > 1 ? 1 : s->isa; /* at least one whole vector */
    int warm = d->ne > 0;
    if (warm) {
        kernel[isa].values(d);
        for (int i = 0; i < d->ld; i++) d->pc[i] = i < d->n ? 1 : 0;
    }
    int r = first_row(d->n, d->q, d->pc);
    perp_outcome outcome = PERP_SOLVED;
    for (int i = 0; i < d->n; i++) {
        double size = fabs(d->q[i]);
        d->q_scale = size > d->q_scale ? size : d->q_scale;
    }
    if (r >= 0) outcome = kernel[isa].follow(d, r, limit, iterations, &ray);
    read_solution(d, s);
    s->has_basis = outcome == PERP_SOLVED;
    if (outcome == PERP_RAY) read_ray(d, s, ray);
    return outcome;
}

/* From the dictionary of the last solve, if it was of this M: it is at the beginning of the
 * workspace, its M at the end. */
static PERP_APART int guess_from_last(perp_lcp_solver *s, const perp_lcp *lcp, int is_same_size,
                                      int limit, guess_kernel *guess)
{
    int n = lcp->n, *kept = s->index;
    double *M = s->work + lemke_doubles(n) - n * n;
    int is_warm = is_same_size && kept[SMALL_PIVOTS] < 8 * n && is_same(lcp, M);
    if (!guess(s, lcp, is_warm, limit)) return 0;
    if (!is_warm) {
        keep(lcp, M);
        kept[SMALL_PIVOTS] = 0;
    }
    kept[SMALL] = n;
    kept[SMALL_PIVOTS] += s->pivots;
    return 1;
}

/* Which of a kernel's versions: n = 3, 4, 8, less than 8, more. */
static int kernel_of(int n)
{
    if (n == 3) return 0;
    if (n == 4) return 1;
    if (n == 8) return 2;
    return n < 8 ? 3 : 4;
}

/* Small problems without z0: principal pivots, which settle definite ones in half as many steps.
 * They prove nothing where they fail. */
int perp__lemke_guess(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int n = lcp->n, isa = n <= 4 && s->isa > 1 ? 1 : s->isa, most = s->options.max_iter;
    int limit = most > 0 && most < 2 * n ? most : 2 * n, *kept = s->index;
    int is_same_size = kept[SMALL] == n;
    guess_kernel *guess = kernel[isa].guess[kernel_of(n)];
    kept[TABLEAU] = kept[SMALL] = 0;
    if (s->options.warm_start) return guess_from_last(s, lcp, is_same_size, limit, guess);
    return guess(s, lcp, 0, limit);
}

/* First from the last tableau, where that may be. A ray, or an answer that does not hold, is often
 * the work of bad scaling: try again equilibrated, then along other paths. */
static perp_outcome follow_path(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                                int *iterations)
{
    tableau d;
    int n = lcp->n, warm = s->options.warm_start;
    if (first_row(n, lcp->q, NULL) < 0) { /* nothing pushes */
        memset(s->z, 0, (size_t)n * sizeof(double));
        memset(s->basis, 0, (size_t)n);
        s->has_basis = 1;
        return PERP_SOLVED;
    }
    lay_out(&d, s, lcp);
    int way = attempt - d.kept[BEFORE], same_M = way < 0;
    if (way > LAST_WAY) return PERP_LIMIT;
    if (same_M)
        d.ne = d.tie_base = d.kept[PIVOTS];
    else
        start_cold(&d, way);
    d.kept[TABLEAU] = d.kept[SMALL] = 0;
    perp_outcome outcome = run(&d, s, way, iterations);
    if (!warm || way > 0 || outcome != PERP_SOLVED || d.uses_D) return outcome;
    if (!same_M) keep(lcp, d.M);
    d.kept[TABLEAU] = n;
    d.kept[PIVOTS] = d.ne;
    return outcome;
}

static int may_continue(perp_lcp_solver *s, const perp_lcp *lcp)
{
    tableau d;
    if (!s->options.warm_start || s->index[TABLEAU] != lcp->n) return 0;
    lay_out(&d, s, lcp);
    return may_start_warm(&d);
}

static perp_outcome lemke_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                                int *iterations)
{
    int *before = &s->index[BEFORE];
    if (attempt == 0) {
        *before = may_continue(s, lcp);
        int guessed = s->guessed;
        s->guessed = 0;
        if (!*before && lcp->n <= MOST_SMALL && guessed == 0) {
            guessed = perp__lemke_guess(s, lcp) > 0 ? 1 : -1;
            *iterations += s->pivots;
        }
        if (!*before && guessed > 0) {
            *before = s->has_basis = 1;
            return PERP_SOLVED;
        }
    }
    return follow_path(s, lcp, attempt, iterations);
}

const perp__solver perp__lcp_lemke = {
    .doubles = lemke_doubles,
    .ints = lemke_ints,
    .solve = lemke_solve,
    .attempts = LAST_WAY + 2, /* one from the last tableau */
};
