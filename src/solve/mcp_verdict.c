/* When does z solve a nonlinear problem? It is judged as a linear one (verdict.c), that of the
 * derivative at z, F = c + J z. The terms of a row are S_i = |c_i| + sum |J_ij z_j|; its own
 * data are c_i and the terms at a bound. F is the caller's, in doubles: if z is so large that
 * the rounding of a row hides its data, z may solve anything. A row is decided
 *
 * 1. by its own data, if its rounding is less than tol of them; or if w_i has the right sign
 *    beyond rounding;
 * 2. exactly: J is the same at a small point and at z, so that the row is F_i(0) + sum J_ij z_j.
 *    It is summed in twice the precision if the J_ij have so few digits that they cannot be
 *    rounded ones;
 * 3. if the rows determine their unknowns: rounding of any sign, by inv(J_bb), moves these by
 *    less than 1e-4 of the terms; or
 * 4. for multigrid, which would need factors for that: the row has no data of its own, by the
 *    same small point, and its terms are at most 100 times those that the others' data imply.
 *
 * Else it is not decided in double precision, and its error is that on the scale of its own data
 * (docs/adr/106-lost-data.md). */

#include "base/holds.h"
#include "base/twice.h"
#include "solve/determined.h"
#include "solve/mcp.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
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

static int is_noise(const perp_mcp_solver *s, int i, double c)
{
    return fabs(c) <= 4 * s->rho[i];
}

/* c_i = w_i - sum J_ij z_j into trial, the terms, the rounding of F, of J and of their sum, and the
 * own data of each row; w and J are those of z. c_i is no datum if it may be rounding alone. */
static void find_terms(perp_mcp_solver *s, const double *z)
{
    const perp_mcp *p = s->problem;
    int first, end;
    double *c = s->trial;
    for (int i = 0; i < s->n; i++) {
        c[i] = s->w[i];
        s->terms[i] = s->own[i] = 0;
        s->swap[i] = 0;
    }
    for (int j = 0; j < s->n; j++) {
        int is_given = z[j] != 0 && (z[j] <= lower(p, j) || z[j] >= upper(p, j));
        column(s, j, &first, &end);
        for (int e = first; e < end; e++) {
            int i = row(s, j, e);
            double term = s->J[e] * z[j];
            c[i] -= term;
            s->terms[i] += fabs(term);
            s->swap[i] += term != 0;
            if (is_given) s->own[i] += fabs(term);
        }
    }
    if (!p->rounding || p->rounding(p->context, z, s->rho))
        memset(s->rho, 0, (size_t)s->n * sizeof *s->rho);
    for (int i = 0; i < s->n; i++) {
        s->terms[i] += fabs(c[i]);
        s->rho[i] = fmax(s->rho[i], rounding_of(s->swap[i]) * s->terms[i]);
        if (!is_noise(s, i, c[i])) s->own[i] += fabs(c[i]);
    }
}

/* The change of z_j that changes some row by `amount` of it: of z_j by its terms, or by the data;
 * in its own row if z_j is there. */
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

/* One level of columns: their sizes go to the rows; all rows take them at first, then those that
 * have no data yet. Lists these in s->fresh. Returns how many, or 0 where none of a later level has
 * terms. */
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
            if (had_none && more[i] > 0) {
                changed |= s->terms[i] > 0;
                s->fresh[n++] = i;
            }
            if (is_first || had_none) s->data[i] += more[i];
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

/* The data of the other rows, carried on from level to level while some row has terms and no data.
 * Only what is beside fresh rows can reach others. */
static void carry_data(perp_mcp_solver *s)
{
    int n = s->n;
    memcpy(s->data, s->own, (size_t)n * sizeof *s->data);
    for (int j = 0; j < s->n; j++) {
        s->columns[j] = j;
        s->seen[j] = 0;
        s->trial[j] = 0;
    }
    for (int level = 1; n > 0; level++) {
        int fresh = carry_level(s, n, level == 1);
        n = fresh ? columns_of_fresh(s, fresh, level) : 0;
    }
}

static double violation(const perp_mcp *p, int i, double z, double w)
{
    int at_lo = z <= lower(p, i), at_hi = z >= upper(p, i);
    if (at_lo && at_hi) return 0;
    if (at_lo) return fmax(-w, 0);
    if (at_hi) return fmax(w, 0);
    return fabs(w);
}

/* What is known of a row, in state. */
enum { DECIDED, OPEN, HAS_NONE, NEEDY };

/* |F_i| that z forbids, with its rounding, on the scale of its terms and of these data. */
static double error_of(const perp_mcp_solver *s, int i, const double *z, double data)
{
    double off = violation(s->problem, i, z[i], s->w[i]) + s->rho[i];
    return perp__error_zero((perp__amount){off, fmin(s->terms[i], data), 0});
}

/* Is w_i of the sign that the bound of z_i allows, beyond rounding? */
static int is_right(const perp_mcp_solver *s, int i, const double *z)
{
    int at_lo = z[i] <= lower(s->problem, i), at_hi = z[i] >= upper(s->problem, i);
    return (at_lo && at_hi) || (at_lo && s->w[i] >= s->rho[i]) || (at_hi && -s->w[i] >= s->rho[i]);
}

/* F, J and the rounding at the point nearest to 0 within the bounds, y. Returns J there; NULL: it
 * is not known. */
static const double *probe(perp_mcp_solver *s, double *y, double *w, double *rho)
{
    const perp_mcp *p = s->problem;
    double *J = p->column_start ? s->value : s->factors;
    for (int i = 0; i < s->n; i++) y[i] = fmin(fmax(0, lower(p, i)), upper(p, i));
    memset(rho, 0, (size_t)s->n * sizeof *rho);
    int known = J && !p->F(p->context, y, w) && !p->J(p->context, y, J) &&
                (!p->rounding || !p->rounding(p->context, y, rho));
    return known ? J : NULL;
}

/* Row i is the `sum` c + sum J_ij z_j of exact terms, with c correct to rho. datum: |c|, if it is
 * not in own yet. Decides the row if that is enough. Returns its error. */
static double decide_exactly(perp_mcp_solver *s, int i, const double *z, double datum, double sum,
                             double rho)
{
    double off = violation(s->problem, i, z[i], sum) + rho;
    double data = fmin(s->terms[i], s->own[i] + datum);
    double beyond = off + rounding_of(s->swap[i]) * PERP_ROUNDING * s->terms[i];
    int is_zero = data == 0 && off == 0;
    if (s->terms[i] < PERP__UNDERFLOW || !(is_zero || beyond <= s->options.tol * data)) return 0;
    s->state[i] = DECIDED;
    return is_zero ? 0 : beyond / data;
}

/* 2. and what a small point says about the data of the rows that are open, c in trial. Returns the
 *    largest error of what it decides. */
static double learn_data(perp_mcp_solver *s, const double *z)
{
    int first, end, n = s->n, *is_exact = s->fresh, *is_affine = s->columns;
    double *y = s->work, *c = y + n, *rho = c + n, *sum = rho + n, *low = sum + n, error = 0;
    const double *J = probe(s, y, c, rho);
    if (!J) return 0;
    for (int i = 0; i < n; i++) {
        is_exact[i] = is_affine[i] = 1;
        low[i] = 0;
        sum[i] = c[i];
    }
    for (int j = 0; j < n; j++) {
        column(s, j, &first, &end);
        for (int e = first; e < end; e++) {
            int i = row(s, j, e);
            double x = s->J[e] * z[j], next = sum[i] + x;
            is_affine[i] &= J[e] == s->J[e];
            is_exact[i] &= perp__is_short(J[e]) && (y[j] == 0 || J[e] == 0);
            low[i] += perp__product_error(s->J[e], z[j], x) + perp__sum_error(sum[i], x, next);
            sum[i] = next;
            c[i] -= J[e] * y[j];
        }
    }
    for (int i = 0; i < n; i++) {
        if (s->state[i] != OPEN || !is_affine[i] || !is_noise(s, i, c[i] - s->trial[i])) continue;
        double datum = is_noise(s, i, s->trial[i]) ? fabs(c[i]) : 0;
        if (c[i] == 0 && rho[i] == 0) s->state[i] = HAS_NONE;
        if (is_exact[i])
            error = perp__worse(error, decide_exactly(s, i, z, datum, sum[i] + low[i], rho[i]));
    }
    return error;
}

/* Where z_i is between its bounds. */
static int is_basic(const perp_mcp_solver *s, const double *z, int i)
{
    return z[i] > lower(s->problem, i) && z[i] < upper(s->problem, i);
}

/* Which basic rows are in one system with a needy one: in seen. */
static void mark_parts(perp_mcp_solver *s, const double *z)
{
    int first, end, *parent = s->columns, *is_wanted = s->fresh;
    for (int i = 0; i < s->n; i++) {
        parent[i] = i;
        is_wanted[i] = 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < s->n; j++) {
            if (!is_basic(s, z, j)) continue;
            column(s, j, &first, &end);
            for (int e = first; e < end; e++) {
                int i = row(s, j, e), at = perp__find_part(parent, j);
                if (s->J[e] == 0) continue;
                if (pass == 0 && is_basic(s, z, i)) parent[perp__find_part(parent, i)] = at;
                if (pass == 1 && s->state[i] == NEEDY) is_wanted[at] = 1;
            }
        }
    }
    for (int i = 0; i < s->n; i++)
        s->seen[i] = is_basic(s, z, i) && is_wanted[perp__find_part(parent, i)];
}

/* By how much d would move needy rows, at most, relative to their terms. sum: n, scratch */
static double largest_move(const perp_mcp_solver *s, const double *d, double *sum)
{
    int first, end;
    double most = 0;
    memset(sum, 0, (size_t)s->n * sizeof *sum);
    for (int j = 0; j < s->n; j++) {
        column(s, j, &first, &end);
        for (int e = first; e < end && s->seen[j]; e++) sum[row(s, j, e)] += fabs(s->J[e] * d[j]);
    }
    for (int i = 0; i < s->n; i++)
        if (s->state[i] == NEEDY) most = perp__worse(most, sum[i] / s->terms[i]);
    return most;
}

/* 3. Rounding of any signs: all alike, alternating, and as drawn. Rows are in units of their terms,
 *    so that no large one spoils the pivots of others. */
static int is_determined(perp_mcp_solver *s, const double *z)
{
    int n = s->n;
    double *in = s->work, *out = in + n, *d = out + n, *sum = d + n;
    mark_parts(s, z);
    for (int i = 0; i < n; i++) {
        in[i] = s->seen[i] ? 1 / fmax(s->terms[i], PERP__UNDERFLOW) : 0;
        out[i] = !s->seen[i];
    }
    if (!perp__mcp_factor(s, out, in)) return 0;
    for (int k = 0; k < PERP__SIGN_TRIALS; k++) {
        uint32_t draw = perp__first_draw(k);
        for (int i = 0; i < n; i++) {
            double off = violation(s->problem, i, z[i], s->w[i]) + s->rho[i];
            d[i] = perp__with_sign(k, i, off, &draw) * in[i];
        }
        perp__mcp_solve_factored(s, d);
        if (!(largest_move(s, d, sum) <= PERP__MOST_MOVED)) return 0;
    }
    return 1;
}

static int is_rounding(const perp_mcp_solver *s, int i, const double *z)
{
    return violation(s->problem, i, z[i], s->w[i]) <= 4 * s->rho[i];
}

/* The error of the rows that are open: 4, or 3 beside their terms where these are broken by
 * rounding alone. */
static double error_of_open(perp_mcp_solver *s, const double *z)
{
    const double MOST = 100;
    double error = 0, tol = s->options.tol;
    int needy = 0, spares_factors = s->start && !s->lu && !s->factors;
    for (int i = 0; i < s->n; i++) {
        if (s->state[i] == DECIDED) continue;
        double e = error_of(s, i, z, s->data[i]);
        int has_none =
            spares_factors && s->state[i] == HAS_NONE && s->terms[i] <= MOST * s->data[i];
        if (!(e <= tol && has_none && is_rounding(s, i, z))) {
            if (is_rounding(s, i, z)) e = error_of(s, i, z, s->terms[i]);
            if (e <= tol) {
                s->state[i] = NEEDY;
                needy++;
            }
        }
        error = perp__worse(error, e);
    }
    if (!(error <= tol) || needy == 0 || is_determined(s, z)) return error;
    for (int i = 0; i < s->n; i++)
        if (s->state[i] == NEEDY) error = perp__worse(error, error_of(s, i, z, s->own[i]));
    return error;
}

/* INFINITY where F or J is not defined or not finite. */
static double error_at(perp_mcp_solver *s, const double *z)
{
    const perp_mcp *p = s->problem;
    double error = 0, tol = s->options.tol;
    int open = 0;
    if (p->F(p->context, z, s->w) || p->J(p->context, z, s->J)) return (double)INFINITY;
    find_terms(s, z);
    for (int i = 0; i < s->n; i++) {
        double S = s->terms[i];
        if (!isfinite(s->w[i]) || !(S <= DBL_MAX) || !(s->rho[i] <= DBL_MAX))
            return (double)INFINITY;
        int is_open = (S > 0 || s->rho[i] > 0) /* else 0 = 0 */ && !is_right(s, i, z) &&
                      !(error_of(s, i, z, s->own[i]) <= tol);
        s->state[i] = is_open ? OPEN : DECIDED;
        open += is_open;
    }
    if (open) {
        error = learn_data(s, z);
        carry_data(s);
    }
    for (int i = 0; i < s->n; i++) {
        if (s->state[i] != DECIDED || s->terms[i] == 0) continue;
        double e = error_of(s, i, z, open ? s->data[i] : s->own[i]);
        if (e <= tol) error = perp__worse(error, e);
    }
    return open ? perp__worse(error, error_of_open(s, z)) : error;
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

/* z with what is not basic on its bound: whose distance from it, on its own scale, is less than
 * that of F_i from 0. */
static int snap(perp_mcp_solver *s, double *z)
{
    int moved = 0;
    for (int i = 0; i < s->n; i++) {
        double lo = lower(s->problem, i), hi = upper(s->problem, i), w = s->w[i];
        double bound = isfinite(lo) && (w > 0 || !isfinite(hi)) ? lo : hi;
        if (w == 0 || !isfinite(bound) || z[i] == bound) continue;
        if (fabs(z[i] - bound) / size_of(s, i, s->terms, 0) >= fabs(w) / s->terms[i]) continue;
        z[i] = bound;
        moved = 1;
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
