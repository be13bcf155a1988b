/* enumerate - all solutions of a small problem: isolated points, and the vertices and extreme rays
 * of solution segments and faces.
 *
 * For every support (set of indices where z may be positive; free indices always belong to it) the
 * conditions are M_ss z_s = -q_s, z_s >= 0, w >= 0. Where M_ss is regular that is one point. Where
 * it lacks k in rank the points form a polyhedron, and each of its vertices with this support has k
 * further rows w_i = 0: all choices of those are tried. Rays are the same with q = 0 and sum z = 1.
 *
 * Cost: 2^n small eliminations; n <= 20. */

#include "base/tol.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

enum { MOST = PERP_ENUMERATE_MAX };

#define SINGULAR 1e-11
#define FEASIBLE 1e-9

typedef struct search {
    const perp_lcp *lcp;
    const unsigned char *is_free;
    perp_solution_fn found;
    void *context;
    int n, stop, rays;
    double scale;
    int support[MOST], ns; /* columns */
    int rows[MOST + 1], nr;
} search;

static double entry(const search *s, int i, int j)
{
    return s->lcp->M[(size_t)j * (size_t)s->lcp->ldm + (size_t)i];
}

/* Solve the rows for z_s by elimination with complete pivoting; the system may have more rows than
 * columns. Returns the rank; z is set when it is full and the rows agree. */
static int solve_rows(const search *s, double *z, int *agree)
{
    double A[MOST + 1][MOST + 1];
    int column[MOST], rank = 0, nc = s->ns, nr = s->nr + s->rays;
    for (int i = 0; i < s->nr; i++) {
        for (int j = 0; j < nc; j++) A[i][j] = entry(s, s->rows[i], s->support[j]);
        A[i][nc] = s->rays ? 0 : -s->lcp->q[s->rows[i]];
    }
    for (int j = 0; j <= nc && s->rays; j++) A[s->nr][j] = 1; /* sum z = 1 */
    for (int j = 0; j < nc; j++) column[j] = j;
    for (; rank < nc && rank < nr; rank++) {
        int pr = rank, pc = rank;
        for (int i = rank; i < nr; i++) {
            for (int j = rank; j < nc; j++) {
                if (fabs(A[i][j]) > fabs(A[pr][pc])) pr = i, pc = j;
            }
        }
        if (fabs(A[pr][pc]) <= SINGULAR * s->scale) break;
        for (int j = 0; j <= nc; j++) {
            double t = A[rank][j];
            A[rank][j] = A[pr][j], A[pr][j] = t;
        }
        for (int i = 0; i < nr; i++) {
            double t = A[i][rank];
            A[i][rank] = A[i][pc], A[i][pc] = t;
        }
        int t = column[rank];
        column[rank] = column[pc], column[pc] = t;
        for (int i = 0; i < nr; i++) {
            double f = i == rank ? 0 : A[i][rank] / A[rank][rank];
            for (int j = rank; j <= nc && f != 0; j++) A[i][j] -= f * A[rank][j];
        }
    }
    *agree = rank == nc;
    for (int i = rank; i < nr; i++) *agree = *agree && fabs(A[i][nc]) <= FEASIBLE * s->scale;
    for (int i = 0; i < rank && *agree; i++) z[s->support[column[i]]] = A[i][nc] / A[i][i];
    return rank;
}

/* z_s > 0 (a zero belongs to a smaller support), w_s = 0, w >= 0. */
static int is_solution(const search *s, const double *z, double *w)
{
    double size = 1;
    int in_support[MOST] = {0};
    for (int i = 0; i < s->n; i++) size = fmax(size, fabs(z[i]));
    for (int j = 0; j < s->ns; j++) {
        int i = s->support[j];
        in_support[i] = 1;
        if (!s->is_free[i] && !(z[i] > FEASIBLE * size)) return 0;
    }
    for (int i = 0; i < s->n; i++) {
        double terms = s->rays ? 0 : fabs(s->lcp->q[i]);
        w[i] = s->rays ? 0 : s->lcp->q[i];
        for (int j = 0; j < s->ns; j++) {
            double x = entry(s, i, s->support[j]) * z[s->support[j]];
            w[i] += x;
            terms += fabs(x);
        }
        if (fabs(w[i]) <= FEASIBLE * (1 + terms)) w[i] = 0;
        if (w[i] < 0 || (w[i] > 0 && in_support[i])) return 0;
    }
    return 1;
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
        fits &= fabs(z[i] * a->Md[i]) <= FEASIBLE && fabs(a->d[i] * w[i]) <= FEASIBLE;
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
    double z[MOST] = {0}, w[MOST];
    int agree, rank = solve_rows(s, z, &agree);
    if (s->stop || rank <= rank_before) return;
    if (rank == s->ns) {
        if (agree && is_solution(s, z, w) && (!s->rays || is_attached(s, z, w)))
            s->stop = s->found(s->context, z, w, s->rays);
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
            skip |= s->is_free[i] && !in;
            if (in) s->support[s->ns++] = i;
        }
        if (skip || (s->rays && s->ns == 0)) continue;
        s->nr = s->ns;
        for (int i = 0; i < s->ns; i++) s->rows[i] = s->support[i];
        try_rows(s, 0, -1);
    }
}

perp_status perp_lcp_enumerate(const perp_lcp *lcp, const unsigned char *is_free,
                               perp_solution_fn found, void *context)
{
    static const unsigned char none[MOST];
    if (!lcp || !found || lcp->n < 0 || (lcp->n > 0 && (!lcp->M || !lcp->q)) || lcp->ldm < lcp->n)
        return PERP_ERR_ARG;
    if (lcp->n > MOST) return PERP_ERR_DIM;
    search s = {.lcp = lcp,
                .is_free = is_free ? is_free : none,
                .found = found,
                .context = context,
                .n = lcp->n};
    for (int i = 0; i < s.n; i++) {
        for (int j = 0; j < s.n; j++) s.scale = fmax(s.scale, fabs(entry(&s, i, j)));
    }
    if (s.scale == 0) s.scale = 1;
    for (s.rays = 0; s.rays < 2 && !s.stop; s.rays++) visit_supports(&s);
    return PERP_OK;
}

/* As a method: the first solution.
 * ------------------------------------------------------------------------------- */

static size_t no_doubles(int n)
{
    (void)n;
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

static perp_outcome enumerate_first(perp_solver *s, const perp_lcp *lcp, int attempt,
                                    int *iterations)
{
    first_point p = {lcp->n, 0, s->z, s->basis};
    (void)attempt;
    ++*iterations;
    memset(s->z, 0, (size_t)lcp->n * sizeof(double));
    if (lcp->n > MOST) return PERP_LIMIT;
    perp_lcp_enumerate(lcp, NULL, keep_first, &p);
    s->has_basis = p.have;
    return p.have ? PERP_SOLVED : PERP_RAY;
}

const perp__solver perp__enumerate = {
    .doubles = no_doubles,
    .ints = no_doubles,
    .solve = enumerate_first,
    .attempts = 1,
};
