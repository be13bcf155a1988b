/* enumerate - all solutions of a small problem: isolated points, and the vertices and extreme rays
 * of solution segments and faces.
 *
 * For every support (set of indices where z may be positive; free indices always belong to it) the
 * conditions are M_ss z_s = -q_s, z_s >= 0, w >= 0. Where M_ss is regular that is one point. Where
 * it lacks k in rank the points form a polyhedron, and each of its vertices with this support has k
 * further rows w_i = 0: all choices of those are tried. Rays are the same with q = 0 and sum z = 1.
 *
 * Cost: 2^n small eliminations; n <= 20. */

#include "base/twice.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

enum { MOST = PERP_LCP_ENUMERATE_MAX };

/* Below this share of its size a number is 0: sums in twice the precision leave some 1e-32, times a
 * condition number. */
#define NOISE 1e-19

typedef struct search {
    const perp_lcp
        *lcp; /* rows and columns scaled by R and C, powers of two; lo: -INFINITY where z is free */
    const double *R, *C;
    perp_lcp_solver *judge; /* tolerance and scratch of the verdict */
    perp_lcp_solution_fn found;
    void *context;
    int n, stop, rays;
    int support[MOST], ns; /* columns */
    int rows[MOST + 1], nr;
} search;

static int is_free(const search *s, int i)
{
    return isinf(s->lcp->lo[i]) != 0;
}

static double entry(const search *s, int i, int j)
{
    return s->lcp->M[(size_t)j * (size_t)s->lcp->ldm + (size_t)i];
}

/* A system during elimination: rows, the right side in column nc, and G, the size of the terms of
 * each entry. An entry that is rounding relative to it is 0, whatever the units of its row and
 * column. */
typedef struct eliminated {
    double A[MOST + 1][MOST + 1], G[MOST + 1][MOST + 1];
    int column[MOST], nr, nc;
} eliminated;

static void exchange(eliminated *e, int k, int pr, int pc)
{
    for (int j = 0; j <= e->nc; j++) {
        double t = e->A[k][j], g = e->G[k][j];
        e->A[k][j] = e->A[pr][j];
        e->A[pr][j] = t;
        e->G[k][j] = e->G[pr][j];
        e->G[pr][j] = g;
    }
    for (int i = 0; i < e->nr; i++) {
        double t = e->A[i][k], g = e->G[i][k];
        e->A[i][k] = e->A[i][pc];
        e->A[i][pc] = t;
        e->G[i][k] = e->G[i][pc];
        e->G[i][pc] = g;
    }
    int t = e->column[k];
    e->column[k] = e->column[pc];
    e->column[pc] = t;
}

/* Row k times f from row i. */
static void subtract(eliminated *e, int i, int k)
{
    const double rounding = 1e-13, *restrict a = e->A[k], *restrict g = e->G[k];
    double *restrict A = e->A[i], *restrict G = e->G[i], p = a[k], f = A[k] / p;
    double size = fabs(f), of_f = fabs(G[k] / p) + fabs(f * (g[k] / p)); /* G of f */
    if (f == 0) return;
    for (int j = k + 1; j <= e->nc; j++) {
        double x = A[j] - f * a[j], of_x = G[j] + (of_f * fabs(a[j]) + size * g[j]);
        A[j] = fabs(x) <= rounding * of_x ? 0 : x;
        G[j] = of_x;
    }
    A[k] = 0;
}

/* solve_rows if every pivot is so large that no rounding could be mistaken for it: elimination with
 * row exchanges. Returns 0 if one is not. Also for rows of directions except the sum, which alone
 * excludes z = 0. */
static int solve_regular(const search *s, const double *w, double *z)
{
    const double safe = 1e-7;
    double room[MOST + 1][MOST + 1], *A[MOST + 1], largest = 0;
    int nc = s->ns, nr = s->nr;
    for (int i = 0; i < nr; i++) {
        A[i] = room[i];
        for (int j = 0; j < nc; j++) {
            A[i][j] = entry(s, s->rows[i], s->support[j]);
            largest = fabs(A[i][j]) > largest ? fabs(A[i][j]) : largest;
        }
        A[i][nc] = -w[s->rows[i]];
    }
    for (int k = 0; k < nc; k++) {
        int p = k;
        for (int i = k + 1; i < nr; i++) p = fabs(A[i][k]) > fabs(A[p][k]) ? i : p;
        double *restrict a = A[p];
        A[p] = A[k];
        A[k] = a;
        if (!(fabs(a[k]) > safe * largest)) return 0;
        for (int i = k + 1; i < nr; i++) {
            double *restrict x = A[i], f = x[k] / a[k];
            for (int j = k + 1; j <= nc && f != 0; j++) x[j] -= f * a[j];
        }
    }
    for (int i = nc - 1; i >= 0; i--) {
        double x = A[i][nc];
        for (int j = i + 1; j < nc; j++) x -= A[i][j] * z[s->support[j]];
        z[s->support[i]] = x / A[i][i];
    }
    return 1;
}

/* Solves the rows for z_s, M_rs z_s = -w_r, by elimination with complete pivoting; there may be
 * more rows than columns. Returns the rank, with z_s if it is full. A direction has w = 0, and one
 * row more: the sum of z, which is `sum`. */
static int solve_rows(const search *s, const double *w, double sum, double *z)
{
    eliminated e;
    int rank = 0, nc = s->ns, nr = s->nr + s->rays;
    e.nc = nc;
    e.nr = nr;
    for (int i = 0; i < s->nr; i++) {
        for (int j = 0; j < nc; j++) e.A[i][j] = entry(s, s->rows[i], s->support[j]);
        e.A[i][nc] = -w[s->rows[i]];
    }
    for (int j = 0; j < nc && s->rays; j++) e.A[s->nr][j] = 1;
    if (s->rays) e.A[s->nr][nc] = sum;
    for (int j = 0; j < nc; j++) e.column[j] = j;
    for (int i = 0; i < nr; i++) {
        for (int j = 0; j <= nc; j++) e.G[i][j] = fabs(e.A[i][j]);
    }
    for (; rank < nc && rank < nr; rank++) {
        int pr = rank, pc = rank;
        for (int i = rank; i < nr; i++) {
            for (int j = rank; j < nc; j++) {
                if (fabs(e.A[i][j]) > fabs(e.A[pr][pc])) {
                    pr = i;
                    pc = j;
                }
            }
        }
        if (e.A[pr][pc] == 0) break;
        exchange(&e, rank, pr, pc);
        for (int i = rank + 1; i < nr; i++) subtract(&e, i, rank);
    }
    for (int i = rank - 1; i >= 0 && rank == nc; i--) {
        double x = e.A[i][nc];
        for (int j = i + 1; j < nc; j++) x -= e.A[i][j] * z[s->support[e.column[j]]];
        z[s->support[e.column[i]]] = x / e.A[i][i];
    }
    return rank;
}

/* q, or 0 for directions. */
static perp_lcp given(const search *s)
{
    static const double zero[MOST];
    perp_lcp lcp = *s->lcp;
    if (s->rays) lcp.q = zero;
    return lcp;
}

/* What rounding is measured by in z_i: 1, the sum, in a direction; else what would change some row
 * by its terms or data. */
static double size_of(const search *s, int i)
{
    double size = (double)INFINITY;
    for (int k = 0; k < s->n && !s->rays; k++) {
        double m = fabs(entry(s, k, i));
        if (m > 0) size = fmin(size, fmax(s->judge->terms[k], s->judge->data[k]) / m);
    }
    return isinf(size) ? 1 : size;
}

/* z_s > 0 (a zero belongs to a smaller support), w_s = 0, w >= 0, judged as every solution is;
 * directions, which have no data, by the terms. If a row depends on digits that doubles have lost,
 * more rows than unknowns must agree in these too. w: that of z, with entries that are 0 set to
 * 0. */
static int is_solution(const search *s, double *z, double *w)
{
    perp_lcp lcp = given(s);
    double error = perp__lcp_error(s->judge, &lcp, z, w), sum = 0;
    int dropped = 0;
    for (int j = 0; j < s->ns; j++) {
        int i = s->support[j], is_zero = fabs(z[i]) <= NOISE * size_of(s, i);
        if (!is_free(s, i) && (is_zero || z[i] < 0)) return 0;
        if (is_zero) {
            z[i] = s->judge->fine[i] = 0;
            dropped = 1;
        }
    }
    if (dropped) error = perp__lcp_error(s->judge, &lcp, z, w);
    for (int i = 0; i < s->n; i++) sum += z[i];
    if (s->rays) error = fabs(sum - 1);
    int strict = s->rays || (s->nr > s->ns && perp__lcp_needs_fine(s->judge, s->n));
    for (int i = 0; i < s->n; i++) {
        double v = z[i] != 0 || is_free(s, i) ? fabs(w[i]) : -w[i], S = s->judge->terms[i];
        if (strict && v > PERP__STRICT * S) return 0;
        if (fabs(w[i]) <= s->judge->options.tol * S) w[i] = 0;
    }
    if (!(error <= s->judge->options.tol) || s->rays) return error <= s->judge->options.tol;
    int has_free = 0;
    for (int i = 0; i < s->n; i++) {
        has_free |= is_free(s, i);
        s->judge->basis[i] = 0;
    }
    for (int j = 0; j < s->ns; j++) s->judge->basis[s->support[j]] = 1;
    if (!has_free) lcp.lo = NULL;
    return perp__lcp_keeps_data(s->judge, &lcp, z);
}

/* Has z a negative part, or w, or w_s one at all, that no rounding has made? Rows far below the
 * largest may be nothing but rounding. */
static int is_hopeless(const search *s, const perp_lcp *lcp, const double *z)
{
    double S[MOST], w[MOST], largest = 0;
    int must_vanish[MOST] = {0}, negative[MOST], many = 0;
    for (int j = 0; j < s->ns; j++) {
        int k = s->support[j];
        must_vanish[k] = 1;
        if (!(z[k] >= 0) && !is_free(s, k)) negative[many++] = k;
    }
    for (int i = 0; i < s->n; i++) {
        w[i] = lcp->q[i];
        S[i] = fabs(w[i]);
        for (int j = 0; j < s->ns; j++) {
            double term = entry(s, i, s->support[j]) * z[s->support[j]];
            w[i] += term;
            S[i] += fabs(term);
        }
        largest = S[i] > largest ? S[i] : largest;
    }
    for (int i = 0; i < s->n; i++) {
        if (S[i] <= 1e-9 * largest) continue;
        double off = 1e-6 * S[i];
        if (w[i] < -off || (must_vanish[i] && w[i] > off)) return 1;
        for (int j = 0; j < many; j++) {
            double m = fabs(entry(s, i, negative[j]));
            if (m != 0 && z[negative[j]] * m < -off) return 1;
        }
    }
    return 0;
}

/* z and w, in the problem's own units, to the caller. */
static void report(search *s, const double *z, const double *w)
{
    double own_z[MOST], own_w[MOST], sum = 0;
    for (int i = 0; i < s->n; i++) {
        own_z[i] = z[i] * s->C[i];
        own_w[i] = w[i] / s->R[i];
        sum += own_z[i];
    }
    for (int i = 0; i < s->n && s->rays; i++) {
        own_z[i] /= sum;
        own_w[i] /= sum;
    }
    s->stop = s->found(s->context, own_z, own_w, s->rays);
}

/* The solution of the rows as z + fine, by corrections with w in twice the precision. Returns the
 * rank; *hopeless is 1 where that cannot be a solution of the problem. */
static int solve_exactly(const search *s, double *z, int *hopeless)
{
    enum { CORRECTIONS = 8 };
    const double enough = 1e-24; /* of z_i; 0 is approached only so far */
    double change = 1;
    perp_lcp lcp = given(s);
    double w[MOST], d[MOST] = {0}, *fine = s->judge->fine;
    int regular = s->nr >= s->ns && solve_regular(s, lcp.q, z);
    if (regular && s->rays) { /* it gives z = 0 */
        *hopeless = 1;
        return s->ns;
    }
    int rank = regular ? s->ns : solve_rows(s, lcp.q, 1, z);
    memset(fine, 0, MOST * sizeof *fine);
    *hopeless = rank == s->ns && is_hopeless(s, &lcp, z);
    for (int k = 0; k < CORRECTIONS && change > enough && rank == s->ns && !*hopeless; k++) {
        perp__lcp_product(s->judge, &lcp, z, w);
        if (!regular || !solve_regular(s, w, d)) solve_rows(s, w, 0, d);
        change = 0;
        for (int j = 0; j < s->ns; j++) {
            int i = s->support[j];
            double more = fine[i] + d[i], sum = z[i] + more;
            fine[i] = perp__sum_error(z[i], more, sum);
            z[i] = sum;
            if (fabs(d[i]) > change * fabs(sum)) change = fabs(d[i] / sum);
        }
    }
    return rank;
}

/* A direction belongs to the solution set where it can be added to a solution: neither positive
 * against the other's w. */
typedef struct attachment {
    const double *d, *Md;
    int n, found;
} attachment;

static int is_base(void *context, const double *z, const double *w, int is_ray)
{
    attachment *a = context;
    if (is_ray) return 1;
    int fits = 1;
    for (int i = 0; i < a->n; i++)
        fits &= (z[i] == 0 || a->Md[i] == 0) && (a->d[i] == 0 || w[i] == 0);
    a->found |= fits;
    return fits;
}

static void visit_supports(search *s);

static int is_attached(const search *s, const double *d, const double *Md)
{
    attachment a = {d, Md, s->n, 0};
    search inner = *s;
    inner.found = is_base;
    inner.context = &a;
    inner.rays = inner.stop = 0;
    visit_supports(&inner);
    return a.found;
}

/* Try the present rows; where the rank is short, with one more row from `first` on. Solutions found
 * with more rows than needed are found once: rows are added in ascending order and only while they
 * raise the rank. */
static void try_rows(search *s, int first, int rank_before)
{
    double z[MOST], w[MOST];
    memset(z, 0, (size_t)s->n * sizeof *z);
    int hopeless, rank = solve_exactly(s, z, &hopeless);
    if (s->stop || rank <= rank_before) return;
    if (rank == s->ns) {
        if (!hopeless && is_solution(s, z, w) && (!s->rays || is_attached(s, z, w)))
            report(s, z, w);
        return;
    }
    if (s->nr >= MOST) return;
    for (int i = first; i < s->n && !s->stop; i++) {
        int used = 0;
        for (int j = 0; j < s->ns; j++) used |= s->support[j] == i;
        if (used) continue;
        s->rows[s->nr++] = i;
        try_rows(s, i + 1, rank);
        s->nr--;
    }
}

static void visit_supports(search *s)
{
    for (unsigned long subset = 0; subset < 1ul << s->n && !s->stop; subset++) {
        int skip = 0;
        s->ns = 0;
        for (int i = 0; i < s->n; i++) {
            int in = (int)(subset >> i & 1);
            skip |= is_free(s, i) && !in;
            if (in) s->support[s->ns++] = i;
        }
        if (skip || (s->rays && s->ns == 0)) continue;
        s->nr = s->ns;
        for (int i = 0; i < s->ns; i++) s->rows[i] = s->support[i];
        try_rows(s, 0, -1);
    }
}

perp_status perp_lcp_enumerate(const perp_lcp *lcp, const unsigned char *free_z,
                               perp_lcp_solution_fn found, void *context)
{
    if (!lcp || !found || lcp->n < 0 || (lcp->n > 0 && (!lcp->M || !lcp->q)) || lcp->ldm < lcp->n)
        return PERP_ERR_ARG;
    if (lcp->n > MOST) return PERP_ERR_DIM;
    int n = lcp->n;
    double room[12][MOST] = {{0}}, lo[MOST], R[MOST], C[MOST], M[MOST * MOST], q[MOST];
    double factors[MOST * MOST];
    unsigned char marks[3][MOST];
    int places[3][MOST];
    for (int i = 0; i < n; i++) R[i] = C[i] = 1;
    perp__equilibrate(n, lcp->M, lcp->ldm, R, C);
    for (int i = 0; i < n; i++) {
        lo[i] = free_z && free_z[i] ? -(double)INFINITY : 0;
        q[i] = lcp->q[i] * R[i];
        for (int j = 0; j < n; j++) M[i + j * MOST] = perp__column(lcp, j)[i] * R[i] * C[j];
    }
    perp_lcp scaled = {n, M, MOST, q, lo, NULL};
    perp_lcp_solver judge = {.options = perp_lcp_options_default(PERP_LCP_ENUMERATE),
                             .isa = perp__isa(),
                             .terms = room[0],
                             .data = room[1],
                             .low = room[2],
                             .scratch = room[3],
                             .fine = room[4],
                             .w2 = room[5],
                             .correction = room[6],
                             .certificate = room[9],
                             .target = room[10],
                             .along = room[11],
                             .basis = marks[0],
                             .needy = marks[1],
                             .part = marks[2],
                             .lu = {.values = factors,
                                    .row_scale = room[7],
                                    .column_scale = room[8],
                                    .swap = places[0],
                                    .rows = places[1],
                                    .order = places[2]}};
    search s = {.lcp = &scaled,
                .R = R,
                .C = C,
                .judge = &judge,
                .found = found,
                .context = context,
                .n = n};
    for (s.rays = 0; s.rays < 2 && !s.stop; s.rays++) visit_supports(&s);
    return PERP_OK;
}

/* As a method: the first solution ------------------------------------------------------------- */

static size_t no_doubles(int n)
{
    (void)n;
    return 0;
}

static size_t one_int(int n)
{
    (void)n;
    return 1; /* has all been tried? */
}

/* The first support that is regular beyond doubt and whose z may be a solution by plain sums: most
 * often it is one. */
static int find_regular(search *s, double *z)
{
    for (unsigned long subset = 0; subset < 1ul << s->n; subset++) {
        s->ns = 0;
        for (int i = 0; i < s->n; i++) {
            z[i] = 0;
            if (subset >> i & 1) {
                s->rows[s->ns] = s->support[s->ns] = i;
                s->ns++;
            }
        }
        s->nr = s->ns;
        if (solve_regular(s, s->lcp->q, z) && !is_hopeless(s, s->lcp, z)) return 1;
    }
    return 0;
}

typedef struct first_point {
    int n, have;
    double *z;
    unsigned char *basis;
} first_point;

static int keep_first(void *context, const double *z, const double *w, int is_ray)
{
    first_point *p = context;
    (void)w;
    if (is_ray) return 1;
    memcpy(p->z, z, (size_t)p->n * sizeof(double));
    for (int i = 0; i < p->n; i++) p->basis[i] = z[i] > 0;
    p->have = 1;
    return 1;
}

/* By plain sums, which the driver judges; where they find nothing, or what does not hold, by all
 * that there is. */
static perp_outcome enumerate_first(perp_lcp_solver *s, const perp_lcp *lcp, int attempt,
                                    int *iterations)
{
    static const double zero[MOST];
    first_point p = {lcp->n, 0, s->z, s->basis};
    perp_lcp pure = {lcp->n, lcp->M, lcp->ldm, lcp->q, zero, NULL};
    search plain = {.lcp = &pure, .n = lcp->n};
    int *is_done = s->index;
    *iterations += attempt == 0;
    if (attempt == 0 && lcp->n <= MOST && find_regular(&plain, s->z)) {
        for (int i = 0; i < lcp->n; i++) s->basis[i] = s->z[i] > 0;
        *is_done = 0;
        s->has_basis = 1;
        return PERP_SOLVED;
    }
    memset(s->z, 0, (size_t)lcp->n * sizeof(double));
    if (lcp->n > MOST || (attempt == 1 && *is_done)) return PERP_LIMIT;
    perp_lcp_enumerate(lcp, NULL, keep_first, &p);
    *is_done = 1;
    s->has_basis = p.have;
    return p.have ? PERP_SOLVED : PERP_RAY;
}

const perp__solver perp__lcp_enumerate = {
    .doubles = no_doubles,
    .ints = one_int,
    .solve = enumerate_first,
    .in_own_units = 1,
    .attempts = 2,
};
