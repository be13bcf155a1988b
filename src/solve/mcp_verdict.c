/* When does z solve a nonlinear problem? As a linear one (verdict.c), that of the derivative at z, F = c + J z: the terms of a
 * row are S_i = |c_i| + sum |J_ij z_j|, its data c_i and what those of the other rows make of its unknowns. F is the caller's,
 * in doubles: a row whose terms exceed its data so far that their rounding hides these is not decided; c_i = w_i - sum J_ij z_j is no
 * datum where it may be this rounding alone. */

#include "base/holds.h"
#include "solve/mcp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double lower(const perp_mcp *p, int i)
{
    return p->lo ? p->lo[i] : 0;
}

static double upper(const perp_mcp *p, int i)
{
    return p->hi ? p->hi[i] : (double)INFINITY;
}

/* Entries first .. end-1 of J are in column j. */
static void column(const perp_mcp_solver *s, int j, int *first, int *end)
{
    const int *start = s->problem->column_start;
    *first = start ? start[j] : j * s->n;
    *end = start ? start[j + 1] : (j + 1) * s->n;
}

static int row(const perp_mcp_solver *s, int j, int e)
{
    return s->problem->column_start ? s->problem->row[e] : e - j * s->n;
}

/* Of w_i, relative to S_i; terms: how many J_ij z_j there are. */
static double rounding_of(int terms)
{
    return (terms + 4) * (DBL_EPSILON / 2);
}

/* May c_i be the rounding of F, of J and of the sum that it is? */
static int is_noise(const perp_mcp_solver *s, int i, double c)
{
    return fabs(c) <= 4 * rounding_of(s->swap[i]) * s->terms[i];
}

/* c in trial, the terms, how many (in swap), and each row's own data; w and J are those of z. */
static void find_terms(perp_mcp_solver *s, const double *z)
{
    int first, end;
    double *c = s->trial;
    for (int i = 0; i < s->n; i++) c[i] = s->w[i], s->terms[i] = s->data[i] = 0, s->swap[i] = 0;
    for (int j = 0; j < s->n; j++) {
        int is_given = z[j] != 0 && (z[j] <= lower(s->problem, j) || z[j] >= upper(s->problem, j));
        column(s, j, &first, &end);
        for (int e = first; e < end; e++) {
            int i = row(s, j, e);
            double term = s->J[e] * z[j];
            c[i] -= term;
            s->terms[i] += fabs(term);
            s->swap[i] += term != 0;
            if (is_given) s->data[i] += fabs(term);
        }
    }
    for (int i = 0; i < s->n; i++) {
        s->terms[i] += fabs(c[i]);
        s->is_lost[i] = c[i] != 0 && is_noise(s, i, c[i]);
        if (!s->is_lost[i]) s->data[i] += fabs(c[i]);
    }
}

/* What would change some row by `amount` of it: of z_j by its terms, or what the data make of it, in its own row if there. */
static double size_of(const perp_mcp_solver *s, int j, const double *amount, int own_first)
{
    int first, end;
    double size = (double)INFINITY;
    column(s, j, &first, &end);
    for (int e = first; e < end; e++) {
        int i = row(s, j, e);
        double x = amount[i] > 0 ? amount[i] / fabs(s->J[e]) : (double)INFINITY;
        if (own_first && i == j && x <= DBL_MAX) return x;
        size = x < size ? x : size;
    }
    return size;
}

/* Can row i take these data of other rows for its own? Where its own may be lost in rounding, only data of the size of its terms, which owe nothing
 * to a lost one then: x1 = x2 = 1e16 hides the 2 of x2 - x1 = 2, whatever 1e12 stands in another row. */
static int takes(const perp_mcp_solver *s, int i, double data)
{
    const double MOST = 100;
    return data > 0 && (!s->is_lost[i] || s->terms[i] <= MOST * data);
}

/* One level of columns: their sizes go to the rows; all rows take them at first, then those that have no data yet. Lists these in s->fresh.
 * Returns how many, or 0 where none of a later level has terms. */
static int carry_level(perp_mcp_solver *s, int ncolumn, int is_first)
{
    int first, end, n = 0, changed = 0;
    double *more = s->trial;
    for (int k = 0; k < ncolumn; k++) {
        double size = size_of(s, s->columns[k], s->data, 1);
        column(s, s->columns[k], &first, &end);
        for (int e = first; e < end && size <= DBL_MAX; e++)
            more[row(s, s->columns[k], e)] += fabs(s->J[e]) * size;
    }
    for (int k = 0; k < ncolumn; k++) {
        column(s, s->columns[k], &first, &end);
        for (int e = first; e < end; e++) {
            int i = row(s, s->columns[k], e), had_none = s->data[i] == 0;
            if (had_none && takes(s, i, more[i])) {
                changed |= s->terms[i] > 0;
                s->fresh[n++] = i;
            }
            if ((is_first || had_none) && takes(s, i, more[i])) s->data[i] += more[i];
            more[i] = 0;
        }
    }
    return changed || is_first ? n : 0;
}

static int is_below(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The columns of the rows that are fresh, ascending; all of a dense J. */
static int columns_of_fresh(perp_mcp_solver *s, int nfresh, int level)
{
    int n = 0;
    if (!s->start) return s->n;
    for (int k = 0; k < nfresh; k++)
        for (int e = s->start[s->fresh[k]]; e < s->start[s->fresh[k] + 1]; e++) {
            int j = s->column[e];
            if (s->seen[j] == level) continue;
            s->seen[j] = level;
            s->columns[n++] = j;
        }
    qsort(s->columns, (size_t)n, sizeof *s->columns, is_below);
    return n;
}

/* The data of the other rows, carried on from level to level while some row has terms and no data. Only what is beside fresh rows
 * can reach others. */
static void carry_data(perp_mcp_solver *s)
{
    int n = s->n;
    for (int j = 0; j < s->n; j++) s->columns[j] = j, s->seen[j] = 0, s->trial[j] = 0;
    for (int level = 1; n > 0; level++) {
        int fresh = carry_level(s, n, level == 1);
        n = fresh ? columns_of_fresh(s, fresh, level) : 0;
    }
}

static double violation(const perp_mcp *p, int i, double z, double w)
{
    int at_lo = z <= lower(p, i), at_hi = z >= upper(p, i);
    if (at_lo && at_hi) return 0;
    return at_lo ? fmax(-w, 0) : at_hi ? fmax(w, 0) : fabs(w);
}

/* INFINITY where F or J is not defined or not finite. */
static double error_at(perp_mcp_solver *s, const double *z)
{
    const perp_mcp *p = s->problem;
    double error = 0;
    if (p->F(p->context, z, s->w) || p->J(p->context, z, s->J)) return (double)INFINITY;
    find_terms(s, z);
    carry_data(s);
    for (int i = 0; i < s->n; i++) {
        double S = s->terms[i], rho = rounding_of(s->swap[i]);
        if (!isfinite(s->w[i]) || !(S <= DBL_MAX)) return (double)INFINITY;
        if (S == 0) continue; /* 0 = 0 */
        perp__amount off = {violation(p, i, z[i], s->w[i]) + rho * S, fmin(S, s->data[i]), 0};
        error = perp__worse(error, perp__error_zero(off));
    }
    return error;
}

int perp__mcp_is_at_rounding(perp_mcp_solver *s)
{
    const perp_mcp *p = s->problem;
    if (p->F(p->context, s->z, s->w) || p->J(p->context, s->z, s->J)) return 0;
    find_terms(s, s->z);
    for (int i = 0; i < s->n; i++)
        if (!(violation(p, i, s->z[i], s->w[i]) <= 2 * rounding_of(s->swap[i]) * s->terms[i]))
            return 0;
    return 1;
}

/* z with what is not basic on its bound: whose distance from it, on its own scale, is less than that of F_i from 0. */
static int snap(perp_mcp_solver *s, double *z)
{
    int moved = 0;
    for (int i = 0; i < s->n; i++) {
        double lo = lower(s->problem, i), hi = upper(s->problem, i), w = s->w[i];
        double bound = isfinite(lo) && (w > 0 || !isfinite(hi)) ? lo : hi;
        if (w == 0 || !isfinite(bound) || z[i] == bound) continue;
        if (fabs(z[i] - bound) / size_of(s, i, s->terms, 0) >= fabs(w) / s->terms[i]) continue;
        z[i] = bound, moved = 1;
    }
    return moved;
}

double perp__mcp_judge(perp_mcp_solver *s)
{
    size_t bytes = (size_t)s->n * sizeof(double);
    for (int i = 0; i < s->n; i++)
        s->z[i] = fmin(fmax(s->z[i], lower(s->problem, i)), upper(s->problem, i));
    double error = error_at(s, s->z);
    if (error <= s->options.tol || s->n == 0) return error;
    for (int i = 0; i < s->n; i++) {
        if (!isfinite(s->w[i]) || !(s->terms[i] <= DBL_MAX)) return error;
    }
    memcpy(s->next, s->z, bytes);
    if (!snap(s, s->next)) return error;
    double snapped = error_at(s, s->next);
    if (snapped <= s->options.tol) memcpy(s->z, s->next, bytes);
    return snapped <= s->options.tol ? snapped : error;
}
