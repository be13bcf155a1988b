/* Sparse matrices by columns: checks, products, transposes. */

#include "fclib/fclib.h"

#include <limits.h>
#include <math.h>

int perp_fclib_velocities(const perp_fclib_problem *p)
{
    return p && perp__fclib_is_global(p) ? p->M.columns : 0;
}

int perp_fclib_multipliers(const perp_fclib_problem *p)
{
    if (!p) return 0;
    const perp_fclib_matrix *of = perp__fclib_is_global(p) ? &p->G : &p->V;
    return of->start ? of->columns : 0;
}

/* Shape ---------------------------------------------------------------------------------------- */

static int refuse(perp_diag *diag, const char *name, const char *what)
{
    perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "%s %s\n", name, what);
    return 0;
}

/* Entries are looked at only where the sizes are right. */
static int is_matrix(const perp_fclib_matrix *A, const char *name, int rows, int columns,
                     perp_diag *diag)
{
    if (!A->start) return refuse(diag, name, "is missing");
    if (A->rows != rows || A->columns != columns) {
        perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "%s is %d x %d where %d x %d is needed\n",
                     name, A->rows, A->columns, rows, columns);
        return 0;
    }
    if (A->start[0] != 0) return refuse(diag, name, "does not begin at 0");
    for (int j = 0; j < columns; j++)
        if (A->start[j + 1] < A->start[j]) return refuse(diag, name, "has columns that go back");
    int n = A->start[columns];
    if (n > 0 && (!A->row || !A->value)) return refuse(diag, name, "has no entries");
    for (int e = 0; e < n; e++) {
        if (A->row[e] < 0 || A->row[e] >= rows)
            return refuse(diag, name, "has an entry in a row that it has not");
        if (!isfinite(A->value[e])) return refuse(diag, name, "has an entry that is not finite");
    }
    return 1;
}

static int is_vector(const double *x, const char *name, int n, perp_diag *diag)
{
    if (n > 0 && !x) return refuse(diag, name, "is missing");
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return refuse(diag, name, "has an entry that is not finite");
    return 1;
}

static int is_local(const perp_fclib_problem *p, int n, perp_diag *diag)
{
    int nl = perp_fclib_multipliers(p);
    if (!is_matrix(&p->W, "W", n, n, diag) || !is_vector(p->q, "q", n, diag)) return 0;
    return !p->V.start || (is_matrix(&p->V, "V", n, nl, diag) &&
                           is_matrix(&p->R, "R", nl, nl, diag) && is_vector(p->s, "s", nl, diag));
}

static int is_global(const perp_fclib_problem *p, int n, perp_diag *diag)
{
    int nv = p->M.columns, nl = perp_fclib_multipliers(p);
    if (!is_matrix(&p->M, "M", nv, nv, diag) || !is_matrix(&p->H, "H", nv, n, diag) ||
        !is_vector(p->f, "f", nv, diag) || !is_vector(p->w, "w", n, diag))
        return 0;
    if (!p->G.start) return 1;
    if (!is_matrix(&p->G, "G", nv, nl, diag) || !is_vector(p->b, "b", nl, diag)) return 0;
    return p->M.start[nv] + 2.0 * p->G.start[nl] < INT_MAX - 1 ||
           refuse(diag, "M with G", "has too many entries");
}

int perp__fclib_is_shaped(const perp_fclib_problem *p, perp_diag *diag)
{
    if (p->dimension != 2 && p->dimension != 3)
        return refuse(diag, "the dimension", "must be 2 or 3");
    if (p->nc < 0 || p->nc > PERP_FCLIB_MOST_CONTACTS)
        return refuse(diag, "the number of contacts", "must be from 0 to 100000000");
    if (!is_vector(p->mu, "mu", p->nc, diag)) return 0;
    for (int i = 0; i < p->nc; i++) {
        if (p->mu[i] >= 0) continue;
        perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "mu[%d] is %g; it must not be negative\n",
                     i, p->mu[i]);
        return 0;
    }
    if ((double)perp_fclib_velocities(p) + perp_fclib_multipliers(p) > INT_MAX / 2)
        return refuse(diag, "a problem", "must have less than 2^30 velocities and multipliers");
    if (perp__fclib_is_global(p) && p->W.start)
        return refuse(diag, "a problem", "is local (W) or global (M), not both");
    int n = p->nc * p->dimension;
    return perp__fclib_is_global(p) ? is_global(p, n, diag) : is_local(p, n, diag);
}

/* Products ------------------------------------------------------------------------------------- */

void perp__fclib_add(const perp_fclib_matrix *A, double scale, const double *x, double *y,
                     double *Y)
{
    for (int j = 0; A->start && j < A->columns; j++)
        for (int e = A->start[j]; e < A->start[j + 1]; e++) {
            double term = scale * A->value[e] * x[j];
            y[A->row[e]] += term;
            if (Y) Y[A->row[e]] += fabs(term);
        }
}

void perp__fclib_add_transposed(const perp_fclib_matrix *A, double scale, const double *x,
                                double *y, double *Y)
{
    for (int j = 0; A->start && j < A->columns; j++)
        for (int e = A->start[j]; e < A->start[j + 1]; e++) {
            double term = scale * A->value[e] * x[A->row[e]];
            y[j] += term;
            if (Y) Y[j] += fabs(term);
        }
}

/* Entries of one place follow each other: columns are gone through in order. */
int perp__fclib_transpose(const perp_fclib_matrix *A, perp__arena *arena, perp_fclib_matrix *out)
{
    int n = A->start[A->columns], *start, *row, *next;
    double *value;
    PERP_TAKE(arena, start, A->rows + 1);
    PERP_TAKE(arena, next, A->rows + 1);
    PERP_TAKE(arena, row, n + 1);
    PERP_TAKE(arena, value, n + 1);
    if (arena->failed) return 0;
    for (int e = 0; e < n; e++) next[A->row[e]]++;
    for (int i = 0, at = 0; i < A->rows; i++) {
        int count = next[i];
        start[i] = next[i] = at;
        at += count;
    }
    for (int j = 0; j < A->columns; j++)
        for (int e = A->start[j]; e < A->start[j + 1]; e++) {
            int i = A->row[e], at = next[i];
            if (at > start[i] && row[at - 1] == j) {
                value[at - 1] += A->value[e];
                continue;
            }
            row[at] = j;
            value[at] = A->value[e];
            next[i]++;
        }
    int end = 0; /* close the gaps that sums left */
    for (int i = 0; i < A->rows; i++) {
        int first = start[i];
        start[i] = end;
        for (int e = first; e < next[i]; e++) {
            row[end] = row[e];
            value[end++] = value[e];
        }
    }
    start[A->rows] = end;
    *out = (perp_fclib_matrix){A->columns, A->rows, start, row, value};
    return 1;
}

/* Verdict -------------------------------------------------------------------------------------- */

static double worst_of(int n, const double *rest, const double *terms)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double share = rest[i] == 0 ? 0 : fabs(rest[i]) / terms[i];
        if (!(share <= worst)) worst = isnan(share) ? (double)INFINITY : share;
    }
    return worst;
}

/* y and its |terms| begin as scale x. */
static void begin(int n, double scale, const double *x, double *y, double *Y)
{
    for (int i = 0; i < n; i++) {
        y[i] = scale * x[i];
        if (Y) Y[i] = fabs(y[i]);
    }
}

static void add_velocities(const perp_fclib_problem *p, const double *r, const double *v,
                           const double *l, double *u, double *U)
{
    if (perp__fclib_is_global(p)) {
        perp__fclib_add_transposed(&p->H, 1, v, u, U);
    } else {
        perp__fclib_add(&p->W, 1, r, u, U);
        perp__fclib_add(&p->V, 1, l, u, U);
    }
}

void perp__fclib_velocities(const perp_fclib_problem *p, const double *r, const double *v,
                            const double *l, double *u)
{
    begin(p->nc * p->dimension, 1, perp__fclib_is_global(p) ? p->w : p->q, u, NULL);
    add_velocities(p, r, v, l, u, NULL);
}

double perp__fclib_residual(const perp_fclib_problem *p, const double *r, const double *u)
{
    int d = p->dimension;
    double worst = 0;
    for (int c = 0; c < p->nc; c++) {
        const double *rc = r + (size_t)c * (size_t)d, *uc = u + (size_t)c * (size_t)d;
        double slip = d == 3 ? hypot(uc[1], uc[2]) : fabs(uc[1]), x[3], y[3], sum = 0;
        for (int a = 0; a < d; a++) x[a] = rc[a] - uc[a] - (a == 0 ? p->mu[c] * slip : 0);
        perp_fc_project(d, p->mu[c], x, y);
        for (int a = 0; a < d; a++) sum += (rc[a] - y[a]) * (rc[a] - y[a]);
        if (!(sqrt(sum) <= worst)) worst = sqrt(sum);
    }
    return worst;
}

double perp__fclib_violation(const perp_fclib_problem *p, const double *r, const double *u,
                             const double *scale, const double *v, const double *l, double *room)
{
    int global = perp__fclib_is_global(p), n = p->nc * p->dimension, nv = perp_fclib_velocities(p),
        nl = perp_fclib_multipliers(p);
    double *y = room, *Y = room + n + nv + nl, worst;
    begin(n, 1, global ? p->w : p->q, y, Y);
    add_velocities(p, r, v, l, y, Y);
    for (int i = 0; i < n; i++) {
        y[i] -= u[i];
        if (scale) Y[i] = fmax(Y[i], scale[i]);
    }
    worst = worst_of(n, y, Y);
    if (global) {
        begin(nv, 1, p->f, y, Y);
        perp__fclib_add(&p->H, 1, r, y, Y);
        perp__fclib_add(&p->G, 1, l, y, Y);
        perp__fclib_add(&p->M, -1, v, y, Y);
        worst = fmax(worst, worst_of(nv, y, Y));
        if (nl > 0) begin(nl, 1, p->b, y, Y);
        perp__fclib_add_transposed(&p->G, 1, v, y, Y);
    } else if (nl > 0) {
        begin(nl, 1, p->s, y, Y);
        perp__fclib_add_transposed(&p->V, 1, r, y, Y);
        perp__fclib_add(&p->R, 1, l, y, Y);
    }
    return fmax(worst, worst_of(nl, y, Y));
}
