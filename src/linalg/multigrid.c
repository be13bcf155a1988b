/* Smoothed aggregation: strongly coupled unknowns are joined to aggregates. Their indicators,
 * smoothed by one step of Jacobi's method, span the next level; its matrix is P'AP. A cycle is one
 * sweep of Gauss and Seidel down and one up. */

#include "linalg/multigrid.h"

#include "base/memory.h"
#include "base/tol.h"
#include "linalg/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 30, COARSEST = 200, MOST_DENSE = 1500 };
/* couplings of at least this part count (Vanek and others), half of it on each level below */
static const double STRONG = 0.08;
static const double DAMPING =
    4.0 / 3; /* over the largest eigenvalue: the smoother of the indicators */

typedef struct level {
    const perp__row_matrix *A;
    perp__row_matrix own, P; /* A of the levels below 0; interpolation from the next */
    double *inverse;         /* of the diagonal */
    double *x, *b, *r;       /* n each */
} level;

struct perp__multigrid {
    level level[MOST_LEVELS];
    int nlevel;
    double *dense;                     /* factors of the last level, or NULL: sweeps must do */
    double *residual, *search, *image; /* of conjugate gradients */
};

/* Matrices ------------------------------------------------------------------------------------- */

static void clear_rows(perp__row_matrix *a)
{
    free(a->start);
    free(a->column);
    free(a->value);
    *a = (perp__row_matrix){0};
}

/* Room for the entries counted in start[1..n], which become where rows begin. */
static int take_entries(perp__row_matrix *a)
{
    for (int i = 0; i < a->n; i++) a->start[i + 1] += a->start[i];
    size_t entries = (size_t)a->start[a->n] + 1;
    a->column = malloc(entries * sizeof *a->column);
    a->value = malloc(entries * sizeof *a->value);
    return a->column && a->value;
}

static int begin_rows(perp__row_matrix *a, int n, int ncolumn)
{
    *a = (perp__row_matrix){.n = n, .ncolumn = ncolumn};
    a->start = calloc((size_t)n + 1, sizeof *a->start);
    return a->start != NULL;
}

static int transpose(const perp__row_matrix *a, perp__row_matrix *t)
{
    if (!begin_rows(t, a->ncolumn, a->n)) return 0;
    for (int e = 0; e < a->start[a->n]; e++) t->start[a->column[e] + 1]++;
    if (!take_entries(t)) return 0;
    for (int i = 0; i < a->n; i++)
        for (int e = a->start[i]; e < a->start[i + 1]; e++) {
            int to = t->start[a->column[e]]++;
            t->column[to] = i;
            t->value[to] = a->value[e];
        }
    memmove(t->start + 1, t->start, (size_t)t->n * sizeof *t->start);
    t->start[0] = 0;
    return 1;
}

/* c = a b. Two passes: count the entries, fill them in. */
static int multiply(const perp__row_matrix *a, const perp__row_matrix *b, perp__row_matrix *c)
{
    int *place = malloc(((size_t)b->ncolumn + 1) * sizeof *place), n = 0;
    int ok = begin_rows(c, a->n, b->ncolumn) && place;
    for (int j = 0; j < b->ncolumn && ok; j++) place[j] = -1;
    for (int i = 0; i < a->n && ok; i++)
        for (int e = a->start[i]; e < a->start[i + 1]; e++)
            for (int k = b->start[a->column[e]]; k < b->start[a->column[e] + 1]; k++) {
                if (place[b->column[k]] == i) continue;
                place[b->column[k]] = i;
                c->start[i + 1]++;
            }
    ok = ok && take_entries(c);
    for (int j = 0; j < b->ncolumn && ok; j++) place[j] = -1;
    for (int i = 0; i < a->n && ok; i++)
        for (int e = a->start[i]; e < a->start[i + 1]; e++)
            for (int k = b->start[a->column[e]]; k < b->start[a->column[e] + 1]; k++) {
                int j = b->column[k];
                double product = a->value[e] * b->value[k];
                if (place[j] >= c->start[i]) {
                    c->value[place[j]] += product;
                    continue;
                }
                place[j] = n;
                c->column[n] = j;
                c->value[n++] = product;
            }
    free(place);
    return ok;
}

void perp__rows_add(const perp__row_matrix *A, double sign, const double *x, const double *b,
                    double *r)
{
    for (int i = 0; i < A->n; i++) {
        double sum = 0;
        for (int e = A->start[i]; e < A->start[i + 1]; e++) sum += A->value[e] * x[A->column[e]];
        r[i] = (b ? b[i] : 0) + sign * sum;
    }
}

/* Hierarchy ------------------------------------------------------------------------------------ */

/* Is entry e of row i a strong coupling to another unknown? */
static int is_strong(const level *l, int i, int e, double strong)
{
    int j = l->A->column[e];
    double a = l->A->value[e];
    return j != i && a * a * l->inverse[i] * l->inverse[j] > strong * strong;
}

/* of (n): the aggregate of each unknown; -1: no strong coupling, so sweeps alone solve it. Returns
 * the number of aggregates. First whole neighbourhoods, then the unknowns beside them, then the
 * rest. */
static int aggregate(const level *l, double strong, int *of)
{
    enum { NONE = -1, LEFT = -2 };
    const perp__row_matrix *A = l->A;
    int count = 0;
    for (int i = 0; i < A->n; i++) of[i] = LEFT;
    for (int i = 0; i < A->n; i++) {
        int is_whole = of[i] == LEFT, coupled = 0;
        for (int e = A->start[i]; e < A->start[i + 1] && is_whole; e++) {
            if (!is_strong(l, i, e, strong)) continue;
            coupled = 1;
            is_whole = of[A->column[e]] == LEFT;
        }
        if (!is_whole) continue;
        of[i] = coupled ? count : NONE;
        for (int e = A->start[i]; e < A->start[i + 1]; e++)
            if (is_strong(l, i, e, strong)) of[A->column[e]] = count;
        count += coupled;
    }
    int whole = count;
    for (int i = 0; i < A->n;
         i++) { /* beside one: marked behind all, so that it attracts no others */
        if (of[i] != LEFT) continue;
        double most = 0;
        int to = LEFT;
        for (int e = A->start[i]; e < A->start[i + 1]; e++) {
            int j = A->column[e];
            if (!is_strong(l, i, e, strong) || of[j] < 0 || of[j] >= whole) continue;
            double size = fabs(A->value[e]);
            if (size > most) {
                most = size;
                to = of[j];
            }
        }
        if (to >= 0) of[i] = whole + to;
    }
    for (int i = 0; i < A->n; i++)
        if (of[i] >= whole) of[i] -= whole;
    for (int i = 0; i < A->n; i++) {
        if (of[i] != LEFT) continue;
        of[i] = count;
        for (int e = A->start[i]; e < A->start[i + 1]; e++)
            if (is_strong(l, i, e, strong) && of[A->column[e]] == LEFT) of[A->column[e]] = count;
        count++;
    }
    return count;
}

/* The matrix whose weak couplings are moved to the diagonal: its diagonal in row i. */
static double lumped_diagonal(const level *l, int i, double strong, double *strongs)
{
    double diagonal = 1 / l->inverse[i], sum = diagonal;
    *strongs = 0;
    for (int e = l->A->start[i]; e < l->A->start[i + 1]; e++) {
        if (l->A->column[e] == i) continue;
        if (is_strong(l, i, e, strong))
            *strongs += fabs(l->A->value[e]);
        else
            sum += l->A->value[e];
    }
    return sum > 0.5 * diagonal ? sum : diagonal;
}

/* P = (I - omega D^-1 A) T for the indicators T; omega by Gershgorin's bound of the spectrum. */
static int interpolate(level *l, double strong, const int *of, int count)
{
    const perp__row_matrix *A = l->A;
    perp__row_matrix *P = &l->P;
    int *place = malloc(((size_t)count + 1) * sizeof *place), n = 0;
    double radius = 1, strongs;
    int ok = begin_rows(P, A->n, count) && place;
    for (int i = 0; i < A->n && ok; i++) {
        double diagonal = lumped_diagonal(l, i, strong, &strongs);
        radius = fmax(radius, 1 + strongs / diagonal);
        P->start[i + 1] = of[i] >= 0;
        for (int e = A->start[i]; e < A->start[i + 1] && of[i] >= 0; e++)
            P->start[i + 1] += is_strong(l, i, e, strong);
    }
    ok = ok && take_entries(P); /* more than is needed: what falls together is joined */
    for (int j = 0; j < count && ok; j++) place[j] = -1;
    for (int i = 0; i < A->n && ok; i++) {
        int first = n;
        P->start[i] = first;
        if (of[i] < 0) continue;
        double diagonal = lumped_diagonal(l, i, strong, &strongs), omega = DAMPING / radius;
        P->column[n] = of[i];
        P->value[n] = 1 - omega;
        place[of[i]] = n++;
        for (int e = A->start[i]; e < A->start[i + 1]; e++) {
            if (!is_strong(l, i, e, strong) || of[A->column[e]] < 0) continue;
            int to = of[A->column[e]];
            if (place[to] < first) {
                P->column[n] = to;
                P->value[n] = 0;
                place[to] = n++;
            }
            P->value[place[to]] -= omega * A->value[e] / diagonal;
        }
    }
    if (ok) P->start[A->n] = n;
    free(place);
    return ok;
}

static int prepare_level(level *l)
{
    size_t n = (size_t)l->A->n + 1;
    l->inverse = calloc(4 * n, sizeof *l->inverse);
    if (!l->inverse) return 0;
    l->x = l->inverse + n;
    l->b = l->x + n;
    l->r = l->b + n;
    for (int i = 0; i < l->A->n; i++)
        for (int e = l->A->start[i]; e < l->A->start[i + 1]; e++)
            if (l->A->column[e] == i) l->inverse[i] += l->A->value[e];
    for (int i = 0; i < l->A->n; i++) l->inverse[i] = 1 / l->inverse[i];
    return 1;
}

/* The level below the last one: 1; 0: it would hardly be smaller; -1: memory. */
static int coarsen(perp__multigrid *m, double strong)
{
    level *l = &m->level[m->nlevel - 1], *next = l + 1;
    perp__row_matrix product = {0}, transposed = {0};
    int *of = malloc(((size_t)l->A->n + 1) * sizeof *of), done = -1;
    int count = of ? aggregate(l, strong, of) : 0;
    if (of && (count == 0 || count > 0.9 * l->A->n)) done = 0;
    int ok = of && done && interpolate(l, strong, of, count);
    free(of);
    ok = ok && multiply(l->A, &l->P, &product) && transpose(&l->P, &transposed) &&
         multiply(&transposed, &product, &next->own);
    clear_rows(&product);
    clear_rows(&transposed);
    if (!done) return 0;
    next->A = &next->own;
    m->nlevel++;
    return ok && prepare_level(next) ? 1 : -1;
}

static int factor_last(perp__multigrid *m)
{
    const perp__row_matrix *A = m->level[m->nlevel - 1].A;
    size_t n = (size_t)A->n;
    if (A->n > MOST_DENSE) return 1;
    m->dense = calloc(n * n + 1, sizeof *m->dense);
    if (!m->dense) return 0;
    for (int i = 0; i < A->n; i++)
        for (int e = A->start[i]; e < A->start[i + 1]; e++)
            m->dense[(size_t)i + (size_t)A->column[e] * n] += A->value[e];
    if (!perp__cholesky(A->n, m->dense, A->n, 0)) {
        free(m->dense);
        m->dense = NULL;
    }
    return 1;
}

perp__multigrid *perp__multigrid_create(const perp__row_matrix *A)
{
    perp__multigrid *m = calloc(1, sizeof *m);
    double strong = STRONG;
    int more = 1;
    if (!m) return NULL;
    m->nlevel = 1;
    m->level[0].A = A;
    m->residual = malloc(3 * ((size_t)A->n + 1) * sizeof *m->residual);
    int ok = m->residual && prepare_level(&m->level[0]);
    if (ok) {
        m->search = m->residual + A->n;
        m->image = m->search + A->n;
    }
    while (ok && more > 0 && m->nlevel < MOST_LEVELS && m->level[m->nlevel - 1].A->n > COARSEST) {
        more = coarsen(m, strong);
        ok = more >= 0;
        strong /= 2;
    }
    if (ok && factor_last(m)) return m;
    perp__multigrid_destroy(m);
    return NULL;
}

void perp__multigrid_destroy(perp__multigrid *m)
{
    if (!m) return;
    for (int k = 0; k < m->nlevel; k++) {
        clear_rows(&m->level[k].own);
        clear_rows(&m->level[k].P);
        free(m->level[k].inverse);
    }
    free(m->dense);
    free(m->residual);
    free(m);
}

int perp__multigrid_levels(const perp__multigrid *m)
{
    return m->nlevel;
}

const perp__row_matrix *perp__multigrid_matrix(const perp__multigrid *m, int k)
{
    return m->level[k].A;
}

const perp__row_matrix *perp__multigrid_interpolation(const perp__multigrid *m, int k)
{
    return &m->level[k].P;
}

/* Solving -------------------------------------------------------------------------------------- */

static void relax(const level *l, int i)
{
    double sum = l->b[i];
    for (int e = l->A->start[i]; e < l->A->start[i + 1]; e++)
        sum -= l->A->value[e] * l->x[l->A->column[e]];
    l->x[i] += sum * l->inverse[i];
}

static void sweep_down(const level *l)
{
    for (int i = 0; i < l->A->n; i++) relax(l, i);
}

static void sweep_up(const level *l)
{
    for (int i = l->A->n - 1; i >= 0; i--) relax(l, i);
}

/* x of level k for its b. Symmetric: up is the adjoint of down. */
static void cycle(perp__multigrid *m, int k)
{
    enum { SWEEPS_WITHOUT_FACTORS = 4 };
    level *l = &m->level[k], *next = l + 1;
    int n = l->A->n, is_last = k == m->nlevel - 1;
    if (is_last && m->dense) {
        memcpy(l->x, l->b, (size_t)n * sizeof *l->x);
        perp__cholesky_solve(n, m->dense, n, l->x);
        return;
    }
    memset(l->x, 0, (size_t)n * sizeof *l->x);
    for (int s = 0; s < (is_last ? SWEEPS_WITHOUT_FACTORS : 1); s++) sweep_down(l);
    if (!is_last) {
        const perp__row_matrix *P = &l->P;
        perp__rows_add(l->A, -1, l->x, l->b, l->r);
        memset(next->b, 0, (size_t)P->ncolumn * sizeof *next->b);
        for (int i = 0; i < n; i++)
            for (int e = P->start[i]; e < P->start[i + 1]; e++)
                next->b[P->column[e]] += P->value[e] * l->r[i];
        cycle(m, k + 1);
        perp__rows_add(P, 1, next->x, l->x, l->x);
    }
    for (int s = 0; s < (is_last ? SWEEPS_WITHOUT_FACTORS : 1); s++) sweep_up(l);
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double square(const level *l, const double *r)
{
    double sum = 0;
    for (int i = 0; i < l->A->n; i++) sum += r[i] * r[i] * l->inverse[i];
    return sum;
}

int perp__multigrid_solve(perp__multigrid *m, const double *b, double *x, double share, int limit)
{
    level *l = &m->level[0];
    int n = l->A->n, step = 0;
    double *r = m->residual, *p = m->search, *q = m->image, rho = 0, target;
    memset(x, 0, (size_t)n * sizeof *x);
    memcpy(r, b, (size_t)n * sizeof *r);
    for (target = share * share * square(l, r); square(l, r) > target && step < limit; step++) {
        memcpy(l->b, r, (size_t)n * sizeof *r);
        cycle(m, 0);
        double next = dot(n, r, l->x), beta = step > 0 ? next / rho : 0;
        if (!(next > 0)) return -1;
        for (int i = 0; i < n; i++) p[i] = step > 0 ? l->x[i] + beta * p[i] : l->x[i];
        rho = next;
        perp__rows_add(l->A, 1, p, NULL, q);
        double curvature = dot(n, p, q);
        if (!(curvature > 0)) return -1;
        for (int i = 0; i < n; i++) {
            x[i] += rho / curvature * p[i];
            r[i] -= rho / curvature * q[i];
        }
    }
    return step;
}
