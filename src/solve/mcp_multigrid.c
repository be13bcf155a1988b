/* multigrid: a linear problem of J each step (Josephy), by active sets with multigrid inside
 * (multigrid.h).
 *
 * 1. The problem of level k, A y + q on lo <= y <= hi, starts from that of the next level, P'AP.
 *    Sides are then wrong in few places.
 * 2. Sweeps of projected Gauss and Seidel. Then A y + q = 0 for the free y, and projection onto
 *    the bounds, until no side changes.
 *
 * For J sparse, symmetric and positive definite, best with negative couplings, as of diffusion:
 * time and memory linear in n. Problems that it leaves unsolved, and all others, go on as min
 * and fb. (Kornhuber 1994; Hintermueller, Ito and Kunisch 2003.) */

#include "base/memory.h"
#include "base/tol.h"
#include "linalg/multigrid.h"
#include "solve/mcp.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 2, MOST_SETS = 60, MOST_STEPS = 100 };
static const double ROUGH =
    1e-3; /* of the systems while sides change, and of levels that are but a start */
static const double FINE = 1e-11;

/* A y + q on lo <= y <= hi. */
typedef struct bounded {
    const perp__row_matrix *A;
    double *q, *lo, *hi, *y, *r;
    int *number; /* n: of what is free, in the system; -1 */
} bounded;

static int take(bounded *b, const perp__row_matrix *A)
{
    size_t n = (size_t)A->n + 1;
    *b = (bounded){
        .A = A, .q = malloc(5 * n * sizeof *b->q), .number = malloc(n * sizeof *b->number)};
    if (!b->q || !b->number) return 0;
    b->lo = b->q + n;
    b->hi = b->lo + n;
    b->y = b->hi + n;
    b->r = b->y + n;
    for (int i = 0; i < A->n; i++) b->number[i] = -1;
    return 1;
}

static void give(bounded *b)
{
    free(b->q);
    free(b->number);
}

static void relax(const bounded *b, int i)
{
    const perp__row_matrix *A = b->A;
    double sum = b->q[i], diagonal = 0;
    for (int e = A->start[i]; e < A->start[i + 1]; e++) {
        int j = A->column[e];
        sum += A->value[e] * b->y[j];
        if (j == i) diagonal += A->value[e];
    }
    b->y[i] = fmin(fmax(b->y[i] - sum / diagonal, b->lo[i]), b->hi[i]);
}

static void sweep(const bounded *b)
{
    for (int i = 0; i < b->A->n; i++) relax(b, i);
    for (int i = b->A->n - 1; i >= 0; i--) relax(b, i);
}

/* Number what is free. Returns how many sides changed; *nfree, and *size: of r there. */
static int choose_sides(const bounded *b, int *nfree, double *size)
{
    int changed = 0, n = 0;
    double sum = 0;
    perp__rows_add(b->A, 1, b->y, b->q, b->r);
    for (int i = 0; i < b->A->n; i++) {
        int is_held =
            (b->y[i] <= b->lo[i] && b->r[i] >= 0) || (b->y[i] >= b->hi[i] && b->r[i] <= 0);
        changed += is_held != (b->number[i] < 0);
        b->number[i] = is_held ? -1 : n++;
        if (!is_held) sum += b->r[i] * b->r[i];
    }
    *nfree = n;
    *size = sqrt(sum);
    return changed;
}

/* The rows and columns of what is free. Returns 0: memory. */
static int restrict_matrix(const bounded *b, int nfree, perp__row_matrix *free_rows)
{
    const perp__row_matrix *A = b->A;
    int n = 0, row = 0;
    size_t entries = 1;
    for (int i = 0; i < A->n; i++)
        entries += b->number[i] < 0 ? 0 : (size_t)(A->start[i + 1] - A->start[i]);
    *free_rows = (perp__row_matrix){.n = nfree, .ncolumn = nfree};
    free_rows->start = malloc(((size_t)nfree + 1) * sizeof *free_rows->start);
    free_rows->column = malloc(entries * sizeof *free_rows->column);
    free_rows->value = malloc(entries * sizeof *free_rows->value);
    if (!free_rows->start || !free_rows->column || !free_rows->value) return 0;
    for (int i = 0; i < A->n; i++) {
        if (b->number[i] < 0) continue;
        free_rows->start[row++] = n;
        for (int e = A->start[i]; e < A->start[i + 1]; e++) {
            if (b->number[A->column[e]] < 0) continue;
            free_rows->column[n] = b->number[A->column[e]];
            free_rows->value[n++] = A->value[e];
        }
    }
    free_rows->start[row] = n;
    return 1;
}

typedef struct free_system {
    perp__row_matrix rows;
    perp__multigrid *multigrid;
    double *b, *x;
} free_system;

static void clear_system(free_system *s)
{
    perp__multigrid_destroy(s->multigrid);
    free(s->rows.start);
    free(s->rows.column);
    free(s->rows.value);
    free(s->b);
    *s = (free_system){0};
}

static int make_system(const bounded *b, int nfree, free_system *s)
{
    clear_system(s);
    s->b = malloc(2 * ((size_t)nfree + 1) * sizeof *s->b);
    if (!s->b || !restrict_matrix(b, nfree, &s->rows)) return 0;
    s->x = s->b + nfree;
    s->multigrid = perp__multigrid_create(&s->rows);
    return s->multigrid != NULL;
}

/* Changes the free y so that r = 0 there, and projects it onto the bounds. Returns 0 if the
 * matrix is not definite. */
static int solve_system(const bounded *b, free_system *s, double share)
{
    int n = b->A->n;
    for (int i = 0; i < n; i++)
        if (b->number[i] >= 0) s->b[b->number[i]] = -b->r[i];
    if (perp__multigrid_solve(s->multigrid, s->b, s->x, share, MOST_STEPS) < 0) return 0;
    for (int i = 0; i < n; i++)
        if (b->number[i] >= 0)
            b->y[i] = fmin(fmax(b->y[i] + s->x[b->number[i]], b->lo[i]), b->hi[i]);
    return 1;
}

/* 1: done, or as far as it goes; 0: not definite; -1: memory. */
static int find_sides(const bounded *b, int is_start, int *steps)
{
    free_system s = {0};
    double first = 0, size, last = (double)INFINITY;
    int result = 1, nfree;
    for (int k = 0; k < MOST_SETS && result > 0; k++) {
        for (int i = 0; i < SWEEPS; i++) sweep(b);
        int changed = choose_sides(b, &nfree, &size);
        if (k == 0) first = size;
        if (nfree == 0 || (changed == 0 && size <= (is_start ? ROUGH : FINE) * first)) break;
        if (changed == 0 && size > last / 2) break; /* all that rounding leaves */
        last = changed == 0 ? size : (double)INFINITY;
        if (is_start && k > 0 && changed <= ROUGH * b->A->n && size <= ROUGH * first) break;
        if (changed > 0 || !s.multigrid) result = make_system(b, nfree, &s) ? 1 : -1;
        if (result > 0) result = solve_system(b, &s, changed > 0 ? ROUGH : ROUGH * ROUGH);
        ++*steps;
    }
    clear_system(&s);
    return result;
}

/* The problem of the next level for y = P x: the bounds are the tightest of an aggregate. */
static void restrict_problem(const bounded *b, const perp__row_matrix *P, const bounded *next)
{
    for (int j = 0; j < P->ncolumn; j++) {
        next->q[j] = next->y[j] = 0;
        next->lo[j] = -(double)INFINITY;
        next->hi[j] = (double)INFINITY;
    }
    for (int i = 0; i < P->n; i++)
        for (int e = P->start[i]; e < P->start[i + 1]; e++) {
            int j = P->column[e];
            next->q[j] += P->value[e] * b->q[i];
            next->lo[j] = fmax(next->lo[j], b->lo[i]);
            next->hi[j] = fmin(next->hi[j], b->hi[i]);
        }
}

/* y of level k as a start: as find_sides. */
static int begin_level(const perp__multigrid *m, int k, const bounded *b, int *steps)
{
    if (k + 1 >= perp__multigrid_levels(m)) return 1;
    const perp__row_matrix *P = perp__multigrid_interpolation(m, k);
    bounded next;
    int result = take(&next, perp__multigrid_matrix(m, k + 1)) ? 1 : -1;
    if (result > 0) {
        restrict_problem(b, P, &next);
        result = begin_level(m, k + 1, &next, steps);
    }
    if (result > 0) result = find_sides(&next, 1, steps);
    if (result > 0) {
        perp__rows_add(P, 1, next.y, b->y, b->y);
        for (int i = 0; i < P->n; i++) b->y[i] = fmin(fmax(b->y[i], b->lo[i]), b->hi[i]);
    }
    give(&next);
    return result;
}

/* The method ----------------------------------------------------------------------------------- */

/* J by rows if it is symmetric with a positive diagonal. Returns 0 if it is not, or is not defined
 * at z. */
static int take_matrix(perp_mcp_solver *s)
{
    const perp_mcp *p = s->problem;
    if (p->F(p->context, s->z, s->w) || p->J(p->context, s->z, s->J)) return 0;
    for (int i = 0; i < s->n; i++) {
        int entries = s->start[i + 1] - s->start[i];
        if (entries != p->column_start[i + 1] - p->column_start[i] || !isfinite(s->w[i])) return 0;
    }
    for (int e = 0; e < s->nnz; e++) {
        s->value[s->slot[e]] = s->J[e];
        if (!isfinite(s->J[e])) return 0;
    }
    for (int i = 0; i < s->n; i++) { /* row i beside column i, both ascending */
        double diagonal = s->value[s->diagonal[i]];
        const double *row = s->value + s->start[i], *column = s->J + p->column_start[i];
        if (!(diagonal > 0)) return 0;
        for (int k = 0; k < s->start[i + 1] - s->start[i]; k++)
            if (s->column[s->start[i] + k] != p->row[p->column_start[i] + k] ||
                fabs(row[k] - column[k]) > PERP_ROUNDING * diagonal)
                return 0;
    }
    return 1;
}

/* z moves by the answer of the problem that is linear at z. As find_sides. */
static int solve_linear(perp_mcp_solver *s, bounded *b, int is_first, int *steps)
{
    const perp_mcp *p = s->problem;
    int result = 1;
    for (int i = 0; i < s->n; i++) {
        b->q[i] = s->w[i];
        b->y[i] = 0;
        b->lo[i] = (p->lo ? p->lo[i] : 0) - s->z[i];
        b->hi[i] = (p->hi ? p->hi[i] : (double)INFINITY) - s->z[i];
    }
    if (is_first) {
        perp__multigrid *m = perp__multigrid_create(b->A);
        result = m ? begin_level(m, 0, b, steps) : -1;
        perp__multigrid_destroy(m);
    }
    if (result > 0) result = find_sides(b, 0, steps);
    for (int i = 0; i < s->n && result > 0; i++) {
        double lo = p->lo ? p->lo[i] : 0, hi = p->hi ? p->hi[i] : (double)INFINITY;
        if (b->y[i] <= b->lo[i]) /* on its bound but for rounding */
            s->z[i] = lo;
        else if (b->y[i] >= b->hi[i])
            s->z[i] = hi;
        else
            s->z[i] = fmin(fmax(s->z[i] + b->y[i], lo), hi);
    }
    return result;
}

/* As long as the residual falls. Its best point is left. */
static int iterate(perp_mcp_solver *s)
{
    enum { PATIENCE = 3 };
    perp__row_matrix A = {s->n, s->n, s->start, s->column, s->value};
    bounded b;
    int steps = 0, worse = 0, result = take(&b, &A) ? 1 : -1;
    double least = perp_mcp_residual(s->problem, s->z, s->w);
    memcpy(s->settled, s->z, (size_t)s->n * sizeof *s->z);
    for (int k = 0; result > 0 && worse < PATIENCE && steps < s->options.max_iter; k++, steps++) {
        if (!take_matrix(s)) break;
        result = solve_linear(s, &b, k == 0, &steps);
        if (result <= 0 || perp__mcp_judge(s) <= s->options.tol || perp__mcp_is_at_rounding(s))
            break;
        double residual = perp_mcp_residual(s->problem, s->z, s->w);
        worse = residual < least ? 0 : worse + 1;
        if (!(residual < least)) continue;
        least = residual;
        memcpy(s->settled, s->z, (size_t)s->n * sizeof *s->z);
    }
    if (result < 0) s->out_of_memory = 1;
    if (worse) memcpy(s->z, s->settled, (size_t)s->n * sizeof *s->z);
    give(&b);
    return steps;
}

int perp__mcp_multigrid(perp_mcp_solver *s)
{
    int steps = s->problem->column_start && s->n > 0 ? iterate(s) : 0;
    if (s->out_of_memory || perp__mcp_judge(s) <= s->options.tol) return steps;
    if (perp__mcp_is_at_rounding(s)) return steps; /* what the judge wants cannot be had */
    if (s->start && !s->lu) s->lu = perp__sparse_lu_create(s->n, s->start, s->column);
    if (s->start && !s->lu) return steps;
    steps += perp__mcp_min(s);
    return perp__mcp_judge(s) <= s->options.tol ? steps : steps + perp__mcp_fb(s);
}
