/* A proof that no plan keeps the conditions, from those that are affine in the unknowns: the linear
 * program of these rows over all steps. Where unknowns have no range they have bounds from the
 * equations of their step, one step behind the other. */

#include "plan/farkas_lp.h"
#include "plan/nlp.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Multipliers of the interior point below this, in its units, are what it ends with where they are
 * 0. */
static const double SMALL = 1e-8;
/* Above this many open unknowns in a step their bounds are not looked for: the matrix is dense. */
enum { MOST_OPEN = 400 };
static const double SINGULAR = 1e-10; /* a pivot beside the first */

typedef struct proof {
    perp__program *g;
    const perp__bounds *bound;
    perp__arena *arena;
    size_t K, nW;
    perp__lp lp;
    int *of;              /* of a row of lp: row * K + step */
    int *first, *entry;   /* of its entries by rows: lp.nrow + 1; column, ... */
    double *a;            /* ...value */
    double *row, *column; /* powers of two by which rows and columns are in units */
    double *lo, *hi;      /* bounds that follow */
    double *u;
} proof;

static double power_of_two(double x)
{
    return x > 0 && isfinite(x) ? ldexp(1, ilogb(x)) : 1;
}

/* Rows that are affine and ask for something, and which of the linear program each is (else -1). */
static int list_rows(proof *q, int *row_of, const double *r)
{
    const perp__program *g = q->g;
    perp__lp *lp = &q->lp;
    for (size_t at = 0; at < (size_t)g->nrow * q->K; at++) {
        int i = (int)(at / q->K);
        double lo = q->bound->rlo[at], hi = q->bound->rhi[at];
        row_of[at] = -1;
        if (!g->row[i].is_affine || (isinf(lo) && isinf(hi)) || !isfinite(r[at])) continue;
        double unit = power_of_two(g->unit.r[i]);
        row_of[at] = lp->nrow;
        q->of[lp->nrow] = (int)at;
        q->row[lp->nrow] = unit;
        lp->row_lo[lp->nrow] = (lo - r[at]) / unit;
        lp->row_hi[lp->nrow++] = (hi - r[at]) / unit;
    }
    return lp->nrow;
}

static void list_columns(proof *q)
{
    const perp__program *g = q->g;
    size_t soft = (size_t)g->soft.w * q->K;
    for (size_t j = 0; j < (size_t)q->lp.ncolumn; j++) {
        int is_w = j < q->nW;
        double unit = power_of_two(is_w ? g->unit.w[j / q->K] : g->unit.p[j - q->nW]),
               lo = is_w ? q->bound->wlo[j] : q->bound->plo[j - q->nW],
               hi = is_w ? q->bound->whi[j] : q->bound->phi[j - q->nW];
        int is_miss = is_w && j >= soft;    /* nothing is missed */
        if (!is_w && lo == hi) lo = hi = 0; /* the change from what is given */
        q->column[j] = unit;
        q->lp.lo[j] = is_miss ? 0 : lo / unit;
        q->lp.hi[j] = is_miss ? 0 : hi / unit;
    }
}

/* The entries, by columns for the linear program and by rows. */
static void fill_matrix(proof *q, const int *row_of, const double *jac)
{
    const perp__program *g = q->g;
    perp__lp *lp = &q->lp;
    int *by_column = lp->start + 1, *by_row = q->first + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int e = 0; e < g->jac.n; e++)
            for (size_t k = 0; k < q->K; k++) {
                int i = row_of[(size_t)g->jac.row[e] * q->K + k];
                long j = perp__program_place(g, g->jac.col[e], (int)k);
                double a = jac[(size_t)e * q->K + k];
                if (i < 0 || j < 0 || a == 0) continue;
                if (pass == 0) {
                    by_column[j + 1]++;
                    by_row[i + 1]++;
                    continue;
                }
                a *= q->column[j] / q->row[i];
                lp->index[by_column[j]] = i;
                lp->value[by_column[j]++] = a;
                q->entry[by_row[i]] = (int)j;
                q->a[by_row[i]++] = a;
            }
        for (int j = 0; j < lp->ncolumn && pass == 0; j++) by_column[j + 1] += by_column[j];
        for (int i = 0; i < lp->nrow && pass == 0; i++) by_row[i + 1] += by_row[i];
    }
}

/* The linear program; its derivatives are the same everywhere. Returns 0: memory. */
static int build(proof *q)
{
    perp__program *g = q->g;
    perp__arena *arena = q->arena;
    size_t rows = (size_t)g->nrow * q->K, entries = (size_t)g->jac.n * q->K,
           n = q->nW + (size_t)g->np;
    double *x, *r, *jac, *grad, cost;
    int *row_of;
    q->lp.ncolumn = (int)n;
    double **of_columns[] = {&x, &q->lp.lo, &q->lp.hi, &q->lp.cost, &q->column, &q->lo, &q->hi},
           **of_rows[] = {&r, &q->lp.row_lo, &q->lp.row_hi, &q->row, &q->u},
           **of_entries[] = {&jac, &q->lp.value, &q->a};
    for (int i = 0; i < 7; i++) PERP_TAKE(arena, *of_columns[i], n);
    for (int i = 0; i < 5; i++) PERP_TAKE(arena, *of_rows[i], rows);
    for (int i = 0; i < 3; i++) PERP_TAKE(arena, *of_entries[i], entries);
    PERP_TAKE(arena, grad, (size_t)g->grad.n * q->K);
    PERP_TAKE(arena, row_of, rows);
    PERP_TAKE(arena, q->of, rows);
    PERP_TAKE(arena, q->first, rows + 2);
    PERP_TAKE(arena, q->entry, entries);
    PERP_TAKE(arena, q->lp.start, n + 2);
    PERP_TAKE(arena, q->lp.index, entries);
    if (arena->failed) return 0;
    for (int i = 0; i < g->np; i++) /* what is given counts there: lengths of runs */
        if (q->bound->plo[i] == q->bound->phi[i]) x[q->nW + (size_t)i] = q->bound->plo[i];
    perp__program_values(g, NULL, x, x + q->nW, r, &cost);
    perp__program_derivatives(g, NULL, x, x + q->nW, NULL, 0, jac, grad, NULL);
    list_rows(q, row_of, r);
    list_columns(q);
    fill_matrix(q, row_of, jac);
    q->lp.most = 5 * (q->lp.ncolumn + q->lp.nrow);
    memcpy(q->lo, q->lp.lo, n * sizeof *q->lo);
    memcpy(q->hi, q->lp.hi, n * sizeof *q->hi);
    return 1;
}

/* Bounds from the equations of a step ---------------------------------------------------------- */

/* The open unknowns of a step and the equations that speak of no others: B x = b. */
typedef struct block {
    int n, m;             /* unknowns, equations */
    int *unknown, *row;   /* columns and rows of the linear program */
    int *place;           /* ncolumn: of an open unknown of this step, else -1 */
    double *B, *Y, *work; /* n x n by rows: B, its inverse nearly */
    double *mid, *off;    /* n: of Y b */
    double *sum, *size;   /* ncolumn: work */
} block;

static int is_open(const proof *q, int j)
{
    return isinf(q->lo[j]) || isinf(q->hi[j]);
}

/* Does an equation speak of open unknowns of this step, and of no others that are open? */
static int is_of_block(const proof *q, const block *b, int i)
{
    int own = 0;
    if (q->lp.row_lo[i] != q->lp.row_hi[i]) return 0;
    for (int e = q->first[i]; e < q->first[i + 1]; e++) {
        int j = q->entry[e];
        if (is_open(q, j) && b->place[j] < 0) return 0;
        own += is_open(q, j);
    }
    return own > 0;
}

/* Choose as many of the m equations as there are unknowns, in front, by elimination of a copy with
 * complete pivoting. How many unknowns they determine: the first in the order behind b->place. */
static int choose_rows(const proof *q, block *b)
{
    int n = b->n, m = b->m, *column = b->place + q->lp.ncolumn; /* the order of unknowns */
    double *A = b->work, first = 0;
    memset(A, 0, (size_t)m * (size_t)n * sizeof *A);
    for (int i = 0; i < m; i++)
        for (int e = q->first[b->row[i]]; e < q->first[b->row[i] + 1]; e++)
            if (is_open(q, q->entry[e])) A[i * n + b->place[q->entry[e]]] = q->a[e];
    for (int j = 0; j < n; j++) column[j] = j;
    for (int k = 0; k < n; k++) {
        int at = k, to = k;
        double most = 0;
        for (int i = k; i < m; i++)
            for (int j = k; j < n; j++)
                if (fabs(A[i * n + column[j]]) > most) {
                    most = fabs(A[i * n + column[j]]);
                    at = i;
                    to = j;
                }
        if (k == 0) first = most;
        int swap = column[k];
        column[k] = column[to];
        column[to] = swap;
        if (!(most > SINGULAR * first)) return k;
        swap = b->row[k];
        b->row[k] = b->row[at];
        b->row[at] = swap;
        for (int j = 0; j < n; j++) {
            double x = A[k * n + j];
            A[k * n + j] = A[at * n + j];
            A[at * n + j] = x;
        }
        for (int i = k + 1; i < m; i++) {
            double l = A[i * n + column[k]] / A[k * n + column[k]];
            for (int j = k; j < n && l != 0; j++) A[i * n + column[j]] -= l * A[k * n + column[j]];
        }
    }
    return n;
}

/* Without the unknowns that are not determined. */
static void drop_unknowns(const proof *q, block *b, int rank)
{
    const int *column = b->place + q->lp.ncolumn;
    int n = 0;
    for (int k = rank; k < b->n; k++) b->place[b->unknown[column[k]]] = -1;
    for (int k = 0; k < b->n; k++) {
        int j = b->unknown[k];
        if (b->place[j] < 0) continue;
        b->place[j] = n;
        b->unknown[n++] = j;
    }
    b->n = n;
}

static void fill_block(const proof *q, block *b)
{
    memset(b->B, 0, (size_t)b->n * (size_t)b->n * sizeof *b->B);
    for (int i = 0; i < b->n; i++)
        for (int e = q->first[b->row[i]]; e < q->first[b->row[i] + 1]; e++)
            if (b->place[q->entry[e]] >= 0) b->B[i * b->n + b->place[q->entry[e]]] = q->a[e];
}

/* Y = B^-1 nearly, by Gauss and Jordan with pivots in columns. Returns 0: a pivot is 0. */
static int invert(block *b)
{
    int n = b->n;
    double *A = b->work, *Y = b->Y;
    memcpy(A, b->B, (size_t)n * (size_t)n * sizeof *A);
    memset(Y, 0, (size_t)n * (size_t)n * sizeof *Y);
    for (int i = 0; i < n; i++) Y[i * n + i] = 1;
    for (int k = 0; k < n; k++) {
        int at = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[at * n + k])) at = i;
        if (A[at * n + k] == 0) return 0;
        double pivot = A[at * n + k];
        for (int j = 0; j < n; j++) {
            double x = A[at * n + j] / pivot, y = Y[at * n + j] / pivot;
            A[at * n + j] = A[k * n + j];
            Y[at * n + j] = Y[k * n + j];
            A[k * n + j] = x;
            Y[k * n + j] = y;
        }
        for (int i = 0; i < n; i++) {
            double l = A[i * n + k];
            for (int j = 0; j < n && i != k && l != 0; j++) {
                A[i * n + j] -= l * A[k * n + j];
                Y[i * n + j] -= l * Y[k * n + j];
            }
        }
    }
    return 1;
}

/* What entry i of Y b can be, mid +- off: each unknown that is not of the block counts once, by the
 * sum of its coefficients. */
static void bound_entry(const proof *q, block *b, int i)
{
    double mid = 0, off = 0, terms = 0;
    for (int k = 0; k < b->n; k++) {
        double y = b->Y[i * b->n + k];
        mid += y * q->lp.row_lo[b->row[k]];
        terms += fabs(y * q->lp.row_lo[b->row[k]]);
        for (int e = q->first[b->row[k]]; e < q->first[b->row[k] + 1]; e++) {
            b->sum[q->entry[e]] -= y * q->a[e];
            b->size[q->entry[e]] += fabs(y * q->a[e]);
        }
    }
    for (int k = 0; k < b->n; k++)
        for (int e = q->first[b->row[k]]; e < q->first[b->row[k] + 1]; e++) {
            int j = q->entry[e];
            if (b->size[j] > 0 && b->place[j] < 0) {
                double half = 0.5 * (q->hi[j] - q->lo[j]),
                       most = fmax(fabs(q->lo[j]), fabs(q->hi[j]));
                mid += b->sum[j] * (q->lo[j] + half);
                off += fabs(b->sum[j]) * half + (b->n + 2) * DBL_EPSILON * b->size[j] * most;
                terms += fabs(b->sum[j]) * most;
            }
            b->sum[j] = b->size[j] = 0;
        }
    b->mid[i] = mid;
    b->off[i] = off + PERP_PROOF_MARGIN * terms;
}

/* x = Y b + (I - Y B) x, so |x| <= |Y b| / (1 - |I - Y B|) in the largest entries. This then bounds
 * each entry. */
static void bound_block(proof *q, block *b)
{
    int n = b->n;
    double far = 0, norm = 0;
    for (int i = 0; i < n; i++) {
        double off = 0;
        for (int j = 0; j < n; j++) {
            double sum = i == j, terms = 1;
            for (int k = 0; k < n; k++) {
                double product = b->Y[i * n + k] * b->B[k * n + j];
                sum -= product;
                terms += fabs(product);
            }
            off += fabs(sum) + (n + 2) * DBL_EPSILON * terms;
        }
        bound_entry(q, b, i);
        far = fmax(far, off);
        norm = fmax(norm, fabs(b->mid[i]) + b->off[i]);
    }
    if (!(far < 0.5) || !isfinite(norm)) return;
    for (int i = 0; i < n; i++) {
        int j = b->unknown[i];
        double off = b->off[i] + 2 * far * norm;
        q->lo[j] = fmax(q->lo[j], b->mid[i] - off);
        q->hi[j] = fmin(q->hi[j], b->mid[i] + off);
    }
}

/* Of step k: those unknowns that its equations determine. rows_at: the rows of the linear program
 * step by step, those of k from `from` to `to`. */
static void bound_step(proof *q, block *b, size_t k, const int *rows_at, int from, int to)
{
    b->n = 0;
    for (int j = 0; j < q->lp.ncolumn; j++) b->place[j] = -1;
    for (size_t j = k; j < q->nW && b->n <= MOST_OPEN; j += q->K)
        if (is_open(q, (int)j)) {
            b->place[j] = b->n;
            b->unknown[b->n++] = (int)j;
        }
    if (b->n > MOST_OPEN) return;
    for (int before = -1; before != b->n;) {
        before = b->n;
        b->m = 0;
        for (int i = from; i < to; i++)
            if (is_of_block(q, b, rows_at[i])) b->row[b->m++] = rows_at[i];
        drop_unknowns(q, b, choose_rows(q, b));
    }
    if (b->n == 0) return;
    fill_block(q, b);
    if (invert(b)) bound_block(q, b);
}

/* 0: memory. */
static int bound_steps(proof *q)
{
    block b = {0};
    int *rows_at, *first, most = 0;
    size_t n = 0, rows = (size_t)q->lp.nrow, columns = (size_t)q->lp.ncolumn;
    PERP_TAKE(q->arena, rows_at, rows);
    PERP_TAKE(q->arena, first, q->K + 2);
    if (q->arena->failed) return 0;
    for (size_t i = 0; i < rows; i++) first[(size_t)q->of[i] % q->K + 2]++;
    for (size_t k = 0; k < q->K; k++) {
        if (first[k + 2] > most) most = first[k + 2];
        first[k + 2] += first[k + 1];
    }
    for (size_t i = 0; i < rows; i++) rows_at[first[(size_t)q->of[i] % q->K + 1]++] = (int)i;
    for (size_t k = 0; k < q->K; k++) {
        size_t open = 0;
        for (size_t j = k; j < q->nW; j += q->K) open += (size_t)is_open(q, (int)j);
        if (open > n) n = open;
    }
    if (n > MOST_OPEN) n = MOST_OPEN;
    PERP_TAKE(q->arena, b.place, columns + n + 1);
    PERP_TAKE(q->arena, b.unknown, n + 1);
    PERP_TAKE(q->arena, b.row, most);
    PERP_TAKE(q->arena, b.B, n * n);
    PERP_TAKE(q->arena, b.Y, n * n);
    PERP_TAKE(q->arena, b.work, ((size_t)most + n) * n);
    PERP_TAKE(q->arena, b.mid, n);
    PERP_TAKE(q->arena, b.off, n);
    PERP_TAKE(q->arena, b.sum, columns);
    PERP_TAKE(q->arena, b.size, columns);
    if (q->arena->failed) return 0;
    for (size_t k = 0; k < q->K; k++) bound_step(q, &b, k, rows_at, first[k], first[k + 1]);
    return perp__lp_follow_rows(&q->lp, q->lo, q->hi);
}

/* The proof ------------------------------------------------------------------------------------ */

/* Multipliers of the interior point, of the sign of a bound that is there. */
static void take_multipliers(proof *q, const double *lambda)
{
    for (int i = 0; i < q->lp.nrow; i++) {
        double l = lambda[q->of[i]] * q->row[i], bound = l > 0 ? q->lp.row_hi[i] : q->lp.row_lo[i];
        q->u[i] = fabs(l) < SMALL || !isfinite(bound) ? 0 : l;
    }
}

/* What stands in the proof: 1 in `row` (nrow * K) and `column` (nW + np). */
static void note_parts(const proof *q, char *row, char *column)
{
    for (int i = 0; i < q->lp.nrow; i++) row[q->of[i]] = q->u[i] != 0;
    for (int j = 0; j < q->lp.ncolumn; j++) {
        double terms;
        int is_exact;
        double sum = perp__lp_column_sum(&q->lp, j, q->u, &terms, &is_exact);
        if (fabs(sum) <= PERP_PROOF_MARGIN * terms) continue;
        column[j] = sum > 0 ? PERP__AT_LOWER : PERP__AT_UPPER;
    }
}

int perp__plan_is_infeasible(perp__program *g, const perp__bounds *bound, const double *lambda,
                             char *row, char *column)
{
    perp__arena arena = {0};
    proof q = {.g = g, .bound = bound, .arena = &arena, .K = (size_t)g->K};
    int found = -1;
    q.nW = (size_t)g->nw * q.K;
    if (build(&q) && bound_steps(&q)) {
        perp_status status = PERP_OK;
        if (lambda)
            take_multipliers(&q, lambda);
        else
            status = perp__lp_price_misses(&q.lp, q.u);
        if (status == PERP_ERR_MEMORY)
            found = -1;
        else if (status != PERP_OK)
            found = 0;
        else
            found = perp__lp_is_proof(&q.lp, q.lo, q.hi, q.u);
        if (found > 0) note_parts(&q, row, column);
    }
    perp__arena_clear(&arena);
    return found;
}
