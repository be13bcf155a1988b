/* A step with many unknowns. The matrix of a mode is factored sparsely; where the mode's answer
 * makes a side negative, that pair changes sides, all at once: semismooth Newton on min(a, b) = 0
 * (Kanzow 1996; Hintermueller, Ito, Kunisch 2003). When that does not settle, one pair at a time,
 * the first violated (Murty's rule, finite for P-matrices). */

#include "base/tol.h"
#include "external/sparse_lu.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_AT_ONCE = 40, ONE_BY_ONE = 2000, ONE_BY_ONE_BEFORE_DENSE = 20 };

/* The matrix of a mode, with the union of the patterns of the rows that a condition can take (equations, then pairs), and its
 * factors. */
struct perp__sparse {
    int *start, *column, *place; /* where each nonzero of the rows stands in its condition's row */
    double *value, *factor;      /* ny: by what each row was multiplied */
    int *row;                    /* ny: the row that each condition has in the factors */
    char *varies;                /* nrow: an entry comes from the tape */
    double *pivoted;             /* of a nonlinear step: the values that the pivots are of */
    int is_refactored;           /* the factors are of others, with these pivots */
    enum { CURRENT, SLOPES_CHANGED, NO_FACTORS } state;
    int in_units; /* the factors are */
    perp__sparse_lu *lu;
};

static int condition_rows(const perp__step *s, int condition, int rows[3])
{
    if (condition < s->nequation) {
        rows[0] = condition;
        rows[1] = perp__cone_row(s, condition); /* a cone's equation, or the force alone */
        return rows[1] < 0 ? 1 : 2;
    }
    const perp__rows *pair = &s->pair[condition - s->nequation];
    rows[0] = pair->a, rows[1] = pair->b, rows[2] = pair->off;
    return pair->off == pair->a ? 2 : 3;
}

static int ascending(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

/* The union of the patterns of each condition's rows, and where each nonzero goes in it. */
static void lay_out_modes(perp__step *s, int *seen)
{
    int n = 0;
    for (int j = 0; j < s->ny; j++) seen[j] = -1;
    for (int i = 0; i < s->ny; i++) {
        int rows[3], count = condition_rows(s, i, rows), first = n;
        s->sparse->start[i] = n;
        for (int c = 0; c < count; c++) {
            for (int k = s->row_start[rows[c]]; k < s->row_start[rows[c] + 1]; k++) {
                if (seen[s->column[k]] == i) continue;
                seen[s->column[k]] = i;
                s->sparse->column[n++] = s->column[k];
            }
        }
        qsort(s->sparse->column + first, (size_t)(n - first), sizeof(int), ascending);
        for (int c = 0; c < count; c++) {
            for (int k = s->row_start[rows[c]]; k < s->row_start[rows[c] + 1]; k++) {
                const int *at = bsearch(&s->column[k], s->sparse->column + first,
                                        (size_t)(n - first), sizeof(int), ascending);
                s->sparse->place[k] = (int)(at - s->sparse->column);
            }
        }
    }
    s->sparse->start[s->ny] = n;
}

/* With the pivots of the last factors, if these were of a mode and still serve. */
static int factor_values(perp__step *s, int has_pivots)
{
    struct perp__sparse *m = s->sparse;
    m->is_refactored = has_pivots && perp__sparse_lu_refactor(m->lu, m->value);
    if (m->is_refactored) return 1;
    if (s->nonlinear) memcpy(m->pivoted, m->value, (size_t)m->start[s->ny] * sizeof(double));
    if (perp__sparse_lu_factor(m->lu, m->value)) return 1;
    if (perp__sparse_lu_out_of_memory(s->sparse->lu)) s->out_of_memory = 1;
    return 0;
}

static void mark_varying(perp__step *s)
{
    for (int r = 0, k = 0; r < s->nrow; r++)
        for (; k < s->nentry && s->entry[k] < s->row_start[r + 1]; k++) s->sparse->varies[r] = 1;
}

int perp__sparse_allocate(perp__step *s)
{
    size_t ny = (size_t)s->ny, nonzeros = (size_t)s->row_start[s->nrow] + 1;
    struct perp__sparse *m = s->sparse = calloc(1, sizeof *m);
    int *seen = malloc((ny + 1) * sizeof(int));
    if (m) {
        m->start = malloc((ny + 1) * sizeof(int));
        m->column = malloc(nonzeros * sizeof(int));
        m->value = calloc(nonzeros, sizeof(double));
        m->factor = calloc(ny + 1, sizeof(double));
        m->place = malloc(nonzeros * sizeof(int));
        m->row = calloc(ny + 1, sizeof(int));
        m->varies = calloc((size_t)s->nrow + 1, 1);
        m->pivoted = calloc(s->nonlinear ? nonzeros : 1, sizeof(double));
    }
    int ok = seen && m && m->start && m->column && m->value && m->factor && m->place && m->row &&
             m->varies && m->pivoted;
    if (ok) {
        lay_out_modes(s, seen);
        mark_varying(s);
        m->state = NO_FACTORS;
        m->lu =
            perp__sparse_lu_create(s->ny, m->start, m->column, s->nonlinear ? PERP_PIVOT_SHARE : 0);
        ok = m->lu != NULL;
    }
    free(seen);
    return ok;
}

void perp__sparse_forget(perp__step *s)
{
    if (s->sparse) s->sparse->state = NO_FACTORS;
}

void perp__sparse_slopes_changed(perp__step *s)
{
    if (s->sparse && s->sparse->state == CURRENT) s->sparse->state = SLOPES_CHANGED;
}

void perp__sparse_free(perp__step *s)
{
    struct perp__sparse *m = s->sparse;
    if (!m) return;
    perp__sparse_lu_destroy(m->lu);
    free(m->start);
    free(m->column);
    free(m->value);
    free(m->factor);
    free(m->place);
    free(m->row);
    free(m->varies);
    free(m->pivoted);
    free(m);
    s->sparse = NULL;
}

/* Row `row` as condition i of the matrix: in the unknowns' units, times a power of two that makes the largest entry 1/2 to 1. Not so
 * the modes of Newton's iteration: there a heap of discs loses the zeros of what does not turn (contacts of the cones' T are fewer). */
static void put_row(perp__step *s, int i, int row)
{
    const double *unit = perp__step_units(s);
    double largest = 0;
    int exponent = 0;
    for (int k = s->sparse->start[i]; k < s->sparse->start[i + 1]; k++) s->sparse->value[k] = 0;
    for (int k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
        double x = s->sparse->in_units ? s->value[k] * unit[s->column[k]] : s->value[k];
        s->sparse->value[s->sparse->place[k]] = x;
        largest = fmax(largest, fabs(x));
    }
    if (s->sparse->in_units) frexp(largest, &exponent);
    s->sparse->factor[i] = ldexp(1, -exponent);
    for (int k = s->row_start[row]; k < s->row_start[row + 1]; k++)
        s->sparse->value[s->sparse->place[k]] *= s->sparse->factor[i];
}

static int chosen_row(const perp__step *s, int condition)
{
    if (condition < s->nequation) return condition;
    int p = condition - s->nequation;
    const perp__rows *pair = &s->pair[p];
    return !s->on[p] ? pair->off : s->choice[p] ? pair->b : pair->a;
}

/* Bring the matrix and its factors up to the present mode; new slopes in the same mode of Newton's are no other problem to solve.
 * 0 if it is singular. */
static int factor_mode(perp__step *s, int *solves)
{
    struct perp__sparse *m = s->sparse;
    m->in_units = !s->nonlinear;
    int changed = m->state == NO_FACTORS, has_pivots = s->nonlinear && !changed, is_other = changed;
    for (int i = 0; i < s->ny; i++) {
        int row = chosen_row(s, i);
        int same = m->state != NO_FACTORS && m->row[i] == row;
        if (same && !(m->state == SLOPES_CHANGED && m->varies[row])) continue;
        put_row(s, i, row);
        m->row[i] = row;
        changed = 1;
        is_other |= !same;
    }
    m->state = CURRENT;
    if (!changed) return 1;
    s->count.eliminations++;
    *solves += is_other || !s->nonlinear;
    if (factor_values(s, has_pivots)) return 1;
    perp__sparse_forget(s);
    return 0;
}

int perp__sparse_factor(perp__step *s, const int *row)
{
    s->sparse->in_units = 1;
    for (int i = 0; i < s->ny; i++) put_row(s, i, row[i]);
    perp__sparse_forget(s); /* no mode's factors any more */
    return factor_values(s, 0);
}

/* The row of the side that the mode does not hold at zero. */
static int other_side(const perp__step *s, int p)
{
    return s->choice[p] ? s->pair[p].a : s->pair[p].b;
}

/* Do both belong to one contact with facets? Its pairs follow each other: first the slip speed's, then the facets'. */
static int same_facets(const perp__step *s, int first, int p)
{
    const perp_model *m = s->model;
    int contact = m->pair[s->pair[first].of].contact;
    return contact >= 0 && contact == m->pair[s->pair[p].of].contact &&
           m->contact[contact].kind == PERP__CONTACT_FACETS;
}

/* Change the sides of violated pairs: all of them, but of one contact only the slip speed's or else the worst facet's (two
 * facets that face the motion would both have to stop it); or the first. Returns how many were violated. */
static int switch_sides(perp__step *s, int all)
{
    int violated = 0, has_sizes = 0;
    for (int p = 0, next; p < s->np; p = next) {
        double worst = 0;
        int at = -1;
        for (next = p; next < s->np && (next == p || same_facets(s, p, next)); next++) {
            if (!s->on[next] || at == p) continue;
            if (perp__step_row_holds(s, other_side(s, next), PERP_TOL_MODE, 0)) continue;
            if (!has_sizes) perp__step_size(s), has_sizes = 1;
            perp__amount x = perp__step_row_amount(s, other_side(s, next), s->ws + s->sym.y);
            if (x.value < worst && perp__error_negative(x) > PERP_TOL_MODE)
                worst = x.value, at = next;
        }
        if (at < 0) continue;
        if (all || !violated) s->choice[at] = !s->choice[at];
        violated++;
    }
    return violated;
}

int perp__sparse_solve_rows(perp__step *s, double *x)
{
    const double *unit = perp__step_units(s);
    for (int i = 0; i < s->ny; i++) x[i] *= s->sparse->factor[i];
    if (!perp__sparse_lu_solve(s->sparse->lu, x)) return 0;
    for (int j = 0; j < s->ny && s->sparse->in_units; j++) x[j] *= unit[j];
    return 1;
}

int perp__sparse_refine(perp__step *s)
{
    double *y = s->ws + s->sym.y, *r = s->sizes.scratch;
    for (int i = 0; i < s->ny; i++) {
        int row = s->sparse->row[i];
        r[i] = s->c[row];
        for (int k = s->row_start[row]; k < s->row_start[row + 1]; k++)
            r[i] += s->value[k] * y[s->column[k]];
    }
    if (!perp__sparse_solve_rows(s, r)) return 0;
    for (int i = 0; i < s->ny; i++) y[i] -= r[i];
    perp__step_settle(s, s->sparse->row);
    return 1;
}

/* y of the mode. Steps with old slopes are small: only what the rows lack at y is solved for. Where slopes change from step to step,
 * to the last digit; and what is 0 comes out as 0. */
static int solve_mode(perp__step *s, int is_near)
{
    double *y = s->ws + s->sym.y;
    if (is_near) return perp__sparse_refine(s);
    for (int i = 0; i < s->ny; i++) y[i] = 0.0 - s->c[s->sparse->row[i]];
    if (!perp__sparse_solve_rows(s, y)) return 0;
    if (s->nonlinear) return perp__sparse_refine(s);
    perp__step_settle(s, s->sparse->row);
    return 1;
}

perp__step_result perp__sparse_solve(perp__step *s)
{
    perp__step_result result = {
        .outcome = PERP_LIMIT, .fault = PERP__NO_ANSWER, .residual = (double)NAN, .worst = -1};
    int most = ALL_AT_ONCE + (s->A ? ONE_BY_ONE_BEFORE_DENSE : ONE_BY_ONE);
    for (int k = 0; k < most; k++) {
        if (!factor_mode(s, &result.solves)) {
            result.fault = PERP__SINGULAR;
            return result;
        }
        if (!solve_mode(s, s->newton.is_old && k == 0)) return result;
        if (switch_sides(s, k < ALL_AT_ONCE)) continue;
        result.outcome = PERP_SOLVED;
        result.fault = PERP__FINE;
        return result;
    }
    return result;
}

int perp__sparse_factor_mode(perp__step *s)
{
    int solves = 0;
    return factor_mode(s, &solves);
}

/* The factors come back as they were made: with the pivots of the same matrix. */
static int factor_again(perp__step *s)
{
    struct perp__sparse *m = s->sparse;
    if (m->state == NO_FACTORS) return 1;
    if (!s->nonlinear) return perp__sparse_lu_factor(m->lu, m->value);
    return perp__sparse_lu_factor(m->lu, m->pivoted) &&
           (!m->is_refactored || perp__sparse_lu_refactor(m->lu, m->value));
}

void perp__sparse_pass(perp__step *s, perp__pass *pass)
{
    struct perp__sparse *m = s->sparse;
    if (!m) return;
    size_t ny = (size_t)s->ny, nonzeros = (size_t)m->start[s->ny];
    int state = perp__pass_int(pass, (int)m->state, CURRENT, NO_FACTORS);
    perp__pass_ints(pass, m->row, ny, 0, s->nrow - 1);
    perp__pass_ints(pass, &m->in_units, 1, 0, 1);
    perp__pass_ints(pass, &m->is_refactored, 1, 0, 1);
    perp__pass_doubles(pass, m->value, nonzeros);
    perp__pass_doubles(pass, m->factor, ny);
    if (s->nonlinear) perp__pass_doubles(pass, m->pivoted, nonzeros);
    if (pass->mode != PERP__LOAD) return;
    m->state = state;
    if (!factor_again(s)) m->state = NO_FACTORS, pass->is_bad = 1;
}
