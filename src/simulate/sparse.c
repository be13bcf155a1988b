/* A step with many unknowns. The matrix of a mode is factored sparsely. Pairs with negative sides
 * change them, all at once: semismooth Newton on min(a, b) = 0 (Kanzow 1996; Hintermueller, Ito,
 * Kunisch 2003). Singular modes are shifted, and if that does not converge soon interior points
 * find the mode (docs/adr/021-shifted-modes.md). At last one pair at a time (Murty; finite for
 * P-matrices). */

#include "base/tol.h"
#include "linalg/sparse_lu.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALL_AT_ONCE = 40,
    INSIDE_AFTER = 10,
    FRICTION_UP_TO = 150,
    ONE_BY_ONE = 2000,
    ONE_BY_ONE_BEFORE_DENSE = 20
};

/* The part of a force in the condition that determines it, in the units in which the entries of all
 * rows are near 1: the first, and the least. It is lowered by a factor if a step leaves more than a
 * part of the one before. */
static const double SHIFT_FIRST = 1e-8, SHIFT_LEAST = 1e-14, SHIFT_DOWN = 1e-2, SHIFT_SLOW = 1e-2;

/* Steps to a shifted mode's answer end when they are this part of the first, or after so many. */
static const double SHIFTED_ENOUGH = 1e-8;
enum { SHIFTED_STEPS = 8 };

/* The matrix of a mode, with the union of the patterns of the rows that a condition can take
 * (equations, then pairs), and its factors. */
struct perp__sparse {
    int *start, *column, *place; /* where each nonzero of the rows stands in its condition's row */
    int *order,
        norder; /* what follows their solution (perp__step_settling), if rows stay; -1: not known yet */
    char *varies; /* nrow: an entry comes from the tape */
    char *force;  /* np: the side that is a force, or stands where one would: 0 a, 1 b */
    double *slack_a, *slack_b; /* np each: of interior points */
    perp__sparse_lu *lu;
};

static int condition_rows(const perp__step *s, int condition, int rows[3])
{
    const perp__layout *l = s->layout;
    if (condition < l->nequation) {
        rows[0] = condition;
        rows[1] = perp__cone_row(s, condition); /* a cone's equation, or the force alone */
        return rows[1] < 0 ? 1 : 2;
    }
    const perp__rows *pair = &l->pair[condition - l->nequation];
    rows[0] = pair->a;
    rows[1] = pair->b;
    rows[2] = pair->off;
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
    const perp__layout *l = s->layout;
    int n = 0;
    for (int j = 0; j < l->ny; j++) seen[j] = -1;
    for (int i = 0; i < l->ny; i++) {
        int rows[3], count = condition_rows(s, i, rows), first = n;
        s->cache.sparse->start[i] = n;
        for (int c = 0; c < count; c++) {
            for (int k = l->row_start[rows[c]]; k < l->row_start[rows[c] + 1]; k++) {
                if (seen[l->column[k]] == i) continue;
                seen[l->column[k]] = i;
                s->cache.sparse->column[n++] = l->column[k];
            }
        }
        qsort(s->cache.sparse->column + first, (size_t)(n - first), sizeof(int), ascending);
        for (int c = 0; c < count; c++) {
            for (int k = l->row_start[rows[c]]; k < l->row_start[rows[c] + 1]; k++) {
                const int *at = bsearch(&l->column[k], s->cache.sparse->column + first,
                                        (size_t)(n - first), sizeof(int), ascending);
                s->cache.sparse->place[k] = (int)(at - s->cache.sparse->column);
            }
        }
    }
    s->cache.sparse->start[l->ny] = n;
}

/* Pairs p and p + 1 state lo <= f <= hi perp v: f - lo perp s+, s- perp hi - f. */
static int is_line(const perp__step *s, int p)
{
    const perp__layout *l = s->layout;
    return s->model->pair[l->pair[p].of].two_sided && p + 1 < l->np &&
           l->pair[p + 1].of == l->pair[p].of;
}

static int is_var(const perp__step *s, int row)
{
    const perp__layout *l = s->layout;
    int k = l->row_start[row];
    return l->row_start[row + 1] == k + 1 && l->column[k] >= l->nx;
}

static void find_forces(perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int p = 0; p < l->np; p++) {
        s->cache.sparse->force[p] = !is_var(s, l->pair[p].a) && is_var(s, l->pair[p].b);
        if (!is_line(s, p)) continue;
        s->cache.sparse->force[p] = 0;
        s->cache.sparse->force[p + 1] = 1;
        p++;
    }
}

/* With the pivots of the last factors, if these were of a mode and still serve. */
static int factor_values(perp__step *s, int has_pivots)
{
    const perp__layout *l = s->layout;
    struct perp__sparse *m = s->cache.sparse;
    perp__factored *f = &s->state.factored;
    f->is_refactored = has_pivots && perp__sparse_lu_refactor(m->lu, f->value);
    if (f->is_refactored) return 1;
    if (!l->constant) memcpy(f->pivoted, f->value, (size_t)m->start[l->ny] * sizeof(double));
    if (perp__sparse_lu_factor(m->lu, f->value)) return 1;
    if (perp__sparse_lu_out_of_memory(s->cache.sparse->lu)) s->cache.out_of_memory = 1;
    return 0;
}

static void mark_varying(perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int r = 0, k = 0; r < l->nrow; r++)
        for (; k < l->nentry && l->entry[k] < l->row_start[r + 1]; k++)
            s->cache.sparse->varies[r] = 1;
}

int perp__sparse_allocate(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny, nonzeros = (size_t)l->row_start[l->nrow] + 1;
    struct perp__sparse *m = s->cache.sparse = calloc(1, sizeof *m);
    int *seen = malloc((ny + 1) * sizeof(int));
    if (m) {
        m->start = malloc((ny + 1) * sizeof(int));
        m->column = malloc(nonzeros * sizeof(int));
        m->place = malloc(nonzeros * sizeof(int));
        m->varies = calloc((size_t)l->nrow + 1, 1);
        m->order = malloc((l->constant ? 2 * (ny + (size_t)l->marks.ndefined) : 1) * sizeof(int));
        m->force = calloc((size_t)l->np + 1, 1);
        m->slack_a = calloc(2 * (size_t)l->np + 1, sizeof(double));
    }
    int ok = seen && m && m->start && m->column && m->place && m->varies && m->order && m->force &&
             m->slack_a;
    if (ok) {
        lay_out_modes(s, seen);
        m->slack_b = m->slack_a + l->np;
        mark_varying(s);
        find_forces(s);
        m->norder = -1;
        m->lu = perp__sparse_lu_create(l->ny, m->start, m->column);
        ok = m->lu != NULL;
    }
    free(seen);
    return ok;
}

void perp__sparse_forget(perp__step *s)
{
    if (s->cache.sparse) {
        s->state.factored.are = PERP__NO_FACTORS;
        s->state.factored.shift = 0;
    }
}

int perp__sparse_is_shifted(const perp__step *s)
{
    return s->cache.sparse && s->state.factored.shift > 0;
}

void perp__sparse_slopes_changed(perp__step *s)
{
    if (s->cache.sparse && s->state.factored.are == PERP__CURRENT)
        s->state.factored.are = PERP__SLOPES_CHANGED;
}

void perp__sparse_free(perp__step *s)
{
    struct perp__sparse *m = s->cache.sparse;
    if (!m) return;
    perp__sparse_lu_destroy(m->lu);
    free(m->start);
    free(m->column);
    free(m->place);
    free(m->varies);
    free(m->force);
    free(m->slack_a);
    free(m->order);
    free(m);
    s->cache.sparse = NULL;
}

/* Row `row` as condition i of the matrix: in the unknowns' units, times a power of two that makes
 * the largest entry 1/2 to 1. Not so the modes of Newton's iteration: with it a heap of discs would
 * lose the zeros of rotations (contacts of the cones' T are fewer). */
static void put_row(perp__step *s, int i, int row)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    double largest = 0;
    int exponent = 0, in_units = s->state.factored.in_units;
    for (int k = s->cache.sparse->start[i]; k < s->cache.sparse->start[i + 1]; k++)
        s->state.factored.value[k] = 0;
    for (int k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        double x =
            in_units ? s->state.slopes.value[k] * unit[l->column[k]] : s->state.slopes.value[k];
        s->state.factored.value[s->cache.sparse->place[k]] = x;
        if (in_units) largest = fmax(largest, fabs(x));
    }
    s->state.factored.factor[i] = 1;
    if (!in_units) return;
    frexp(largest, &exponent);
    s->state.factored.factor[i] = ldexp(1, -exponent);
    for (int k = l->row_start[row]; k < l->row_start[row + 1]; k++)
        s->state.factored.value[s->cache.sparse->place[k]] *= s->state.factored.factor[i];
}

/* `part` of another row added to condition i, in the units that it was put in. */
static void add_row(perp__step *s, int i, int row, double part)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    part *= s->state.factored.factor[i];
    for (int k = l->row_start[row]; k < l->row_start[row + 1]; k++)
        s->state.factored.value[s->cache.sparse->place[k]] +=
            part * s->state.slopes.value[k] * (s->state.factored.in_units ? unit[l->column[k]] : 1);
}

/* The row of the force that condition i determines with this row: of a closed contact, of friction
 * in stick, of a cone; or -1. */
static int force_of(const perp__step *s, int i, int row)
{
    const perp__layout *l = s->layout;
    int p = i - l->nequation;
    if (p < 0) return perp__cone_row(s, i);
    int force = s->cache.sparse->force[p] ? l->pair[p].b : l->pair[p].a;
    return s->state.on[p] && force != row ? force : -1;
}

static int chosen_row(const perp__step *s, int condition)
{
    const perp__layout *l = s->layout;
    if (condition < l->nequation) return condition;
    int p = condition - l->nequation;
    const perp__rows *pair = &l->pair[p];
    if (!s->state.on[p]) return pair->off;
    return s->state.choice[p] ? pair->b : pair->a;
}

/* Condition i of a mode: its row, and in a shifted mode a part of its force. The matrix is then
 * regular also with redundant contacts: W + shift I instead of W. */
static void put_condition(perp__step *s, int i, int row)
{
    const double *factor = perp__step_row_units(s);
    int force = s->state.factored.shift > 0 ? force_of(s, i, row) : -1;
    put_row(s, i, row);
    if (force >= 0) add_row(s, i, force, s->state.factored.shift * factor[force] / factor[row]);
}

/* About PER_NONZERO multiplications for each number of the matrix. */
static void count_factors(perp__step *s)
{
    enum { PER_NONZERO = 50 };
    s->state.count.eliminations++;
    s->state.count.work += PER_NONZERO * (double)s->cache.sparse->start[s->layout->ny];
}

/* Updates the matrix and its factors to the present mode; new slopes in the same mode of Newton's
 * are not another problem to solve. Returns 0 if it is singular. */
static int factor_chosen(perp__step *s, int *solves)
{
    const perp__layout *l = s->layout;
    struct perp__sparse *m = s->cache.sparse;
    perp__factored *f = &s->state.factored;
    f->in_units = !l->nonlinear;
    int changed = f->are == PERP__NO_FACTORS, has_pivots = !l->constant && !changed,
        is_other = changed;
    for (int i = 0; i < l->ny; i++) {
        int row = chosen_row(s, i);
        int same = f->are != PERP__NO_FACTORS && f->row[i] == row;
        if (same && !(f->are == PERP__SLOPES_CHANGED && m->varies[row])) continue;
        put_condition(s, i, row);
        f->row[i] = row;
        m->norder = -1;
        changed = 1;
        is_other |= !same;
    }
    f->are = PERP__CURRENT;
    if (!changed) return 1;
    count_factors(s);
    *solves += is_other || !l->nonlinear;
    if (factor_values(s, has_pivots && !is_other)) return 1; /* pivots rarely serve other sides */
    f->are = PERP__NO_FACTORS;
    return 0;
}

/* Is there no other path for this step's modes but contacts as a friction problem? */
static int is_last(const perp__step *s)
{
    return !s->cache.A || perp__shifts_modes(s);
}

static void set_shift(perp__step *s, double shift)
{
    if (s->state.factored.shift != shift) s->state.factored.are = PERP__NO_FACTORS;
    s->state.factored.shift = shift;
}

/* The same; a mode that is singular is shifted, where no other path is to decide. */
static int factor_mode(perp__step *s, int *solves)
{
    if (factor_chosen(s, solves)) return 1;
    if (s->state.factored.shift > 0 || s->cache.out_of_memory || !is_last(s)) return 0;
    memcpy(s->state.factored.singular, s->state.factored.row, (size_t)s->layout->ny * sizeof(int));
    set_shift(s, SHIFT_FIRST);
    return factor_chosen(s, solves);
}

/* Is the present mode another than the one for which modes are shifted? Then it may be regular. */
static int has_left_singular(const perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int i = l->nequation; i < l->ny; i++)
        if (chosen_row(s, i) != s->state.factored.singular[i]) return 1;
    return 0;
}

int perp__sparse_factor(perp__step *s, const int *row, int has_pivots)
{
    s->state.factored.in_units = 1;
    for (int i = 0; i < s->layout->ny; i++) put_row(s, i, row[i]);
    s->state.factored.are = PERP__NO_FACTORS; /* of no mode */
    return factor_values(s, has_pivots);
}

/* The row of the side that the mode does not hold at zero. */
static int other_side(const perp__step *s, int p)
{
    const perp__layout *l = s->layout;
    return s->state.choice[p] ? l->pair[p].a : l->pair[p].b;
}

/* Do both belong to one contact with facets? Its pairs follow each other: first the slip speed's,
 * then the facets'. */
static int same_facets(const perp__step *s, int first, int p)
{
    const perp__layout *l = s->layout;
    const perp_model *m = s->model;
    int contact = m->pair[l->pair[first].of].contact;
    return contact >= 0 && contact == m->pair[l->pair[p].of].contact &&
           m->contact[contact].kind == PERP__CONTACT_FACETS;
}

/* How far the side of pair p that the mode does not hold at zero is below it; 0 where that is
 * rounding. */
static double violation(perp__step *s, int p, int *has_sizes)
{
    int row = other_side(s, p);
    if (!s->state.on[p] || perp__step_row_holds(s, row, PERP_TOL_MODE, 0)) return 0;
    if (!*has_sizes) {
        perp__step_size(s);
        *has_sizes = 1;
    }
    perp__amount x = perp__step_row_amount(s, row, s->ws + s->layout->sym.y);
    return x.value < 0 && perp__error_negative(x) > PERP_TOL_MODE ? -x.value : 0;
}

/* Row r at the present y. */
static double row_at(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y;
    double sum = s->cache.c[r];
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += s->state.slopes.value[k] * y[l->column[k]];
    return sum;
}

/* May friction that slides at one bound of line p slide at the other at once? Where there is
 * nothing between them. */
static int is_thin(perp__step *s, int p, double off)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    int lo = l->pair[p].a, hi = l->pair[p + 1].b;
    double width = row_at(s, lo) * factor[lo] + row_at(s, hi) * factor[hi];
    return width <= PERP_TOL_STEP * off * factor[l->pair[p].b];
}

/* The friction of pairs p, p + 1 holds, slides at lo, or at hi. Change that if it is violated.
 * Returns whether it is. */
static int switch_line(perp__step *s, int p, int change, int *has_sizes)
{
    char *at_lo = s->state.choice + p, *at_hi = at_lo + 1; /* 0: f = lo; 1: f = hi */
    double below = violation(s, p, has_sizes), above = violation(s, p + 1, has_sizes);
    int is_both = !*at_lo && *at_hi;
    if (!s->state.on[p] || (below == 0 && above == 0 && !is_both)) return 0;
    if (!change) return 1;
    if (is_both) {
        *at_hi = 0;
    } else if (!*at_lo) {
        *at_lo = 1;
        *at_hi = (char)is_thin(s, p, below);
    } else if (*at_hi) {
        *at_hi = 0;
        *at_lo = (char)!is_thin(s, p, above);
    } else if (below > above) {
        *at_lo = 0;
    } else {
        *at_hi = 1;
    }
    return 1;
}

/* Changes the sides of violated pairs: all of them, but of one contact only the slip speed's or
 * else the worst facet's (two facets that face the motion would both have to stop it); or the
 * first. Returns the number of violated ones. */
static int switch_sides(perp__step *s, int all)
{
    const perp__layout *l = s->layout;
    int violated = 0, has_sizes = 0;
    for (int p = 0, next; p < l->np; p = next) {
        double worst = 0;
        int at = -1;
        next = p + 2;
        if (is_line(s, p)) {
            violated += switch_line(s, p, all || !violated, &has_sizes);
            continue;
        }
        for (next = p; next < l->np && (next == p || same_facets(s, p, next)); next++) {
            double off = at == p ? 0 : violation(s, next, &has_sizes);
            if (off > worst) {
                worst = off;
                at = next;
            }
        }
        if (at < 0) continue;
        if (all || !violated) s->state.choice[at] = !s->state.choice[at];
        violated++;
    }
    return violated;
}

int perp__sparse_solve_rows(perp__step *s, double *x, int count)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < l->ny; i++) x[k * l->ny + i] *= s->state.factored.factor[i];
    if (!perp__sparse_lu_solve(s->cache.sparse->lu, x, count)) return 0;
    for (int k = 0; k < count && s->state.factored.in_units; k++)
        for (int j = 0; j < l->ny; j++) x[k * l->ny + j] *= unit[j];
    return 1;
}

int perp__sparse_solve_columns(perp__step *s, double *x)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    for (int j = 0; j < l->ny && s->state.factored.in_units; j++) x[j] *= unit[j];
    if (!perp__sparse_lu_solve_transposed(s->cache.sparse->lu, x)) return 0;
    for (int i = 0; i < l->ny; i++) x[i] *= s->state.factored.factor[i];
    return 1;
}

/* What the rows of the mode lack at y; returns the largest, in units in which their entries are
 * near 1. */
static double lack_of_mode(perp__step *s, double *lack)
{
    const double *factor = perp__step_row_units(s);
    double largest = 0;
    for (int i = 0; i < s->layout->ny; i++) {
        int row = s->state.factored.row[i];
        lack[i] = row_at(s, row);
        largest = fmax(largest, fabs(lack[i]) * factor[row]);
    }
    return largest;
}

/* y without what its mode's rows lack. */
static int take_off(perp__step *s, double *lack)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y;
    if (!perp__sparse_solve_rows(s, lack, 1)) return 0;
    for (int i = 0; i < l->ny; i++) y[i] -= lack[i];
    perp__step_settle(s, s->state.factored.row);
    return 1;
}

int perp__sparse_refine(perp__step *s)
{
    double *lack = s->cache.sizes.scratch;
    for (int i = 0; i < s->layout->ny; i++) lack[i] = row_at(s, s->state.factored.row[i]);
    return take_off(s, lack);
}

/* Of vars there is nothing to go on from before the first step. */
static void begin_vars(perp__step *s)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y;
    for (int i = l->nx; i < l->ny; i++)
        if (!isfinite(y[i])) y[i] = 0;
}

/* If a step with the shifted mode left more than a part of the residual before it, lowers the
 * shift. Returns 0 if the mode is singular then. */
static int lower_shift(perp__step *s, double before, double now, int *solves)
{
    if (now <= SHIFT_SLOW * before || s->state.factored.shift <= SHIFT_LEAST) return 1;
    set_shift(s, fmax(SHIFT_LEAST, SHIFT_DOWN * s->state.factored.shift));
    return factor_chosen(s, solves);
}

/* Proximal steps (Rockafellar 1976). Each has an error of the shift times the change of the forces.
 * So they converge to forces of the mode, and of these to those near the former ones. */
static int solve_shifted(perp__step *s, int *solves)
{
    begin_vars(s);
    double *lack = s->cache.sizes.scratch, first = lack_of_mode(s, lack), before = first;
    for (int k = 0; k < SHIFTED_STEPS; k++) {
        if (!take_off(s, lack)) return 0;
        double now = lack_of_mode(s, lack), nothing = PERP_TOL_MODE * perp__step_reach(s);
        if (k > 0 && (now <= SHIFTED_ENOUGH * first || now <= nothing)) break;
        if (now > nothing && !lower_shift(s, before, now, solves)) return 0;
        before = now;
    }
    return 1;
}

/* Friction in closed contacts holds: in what stands it may be at a bound, too. */
static void hold_lines(perp__step *s)
{
    for (int p = 0; p < s->layout->np; p++) {
        if (!is_line(s, p)) continue;
        if (s->state.on[p] && !is_thin(s, p, 0)) {
            s->state.choice[p] = 1;
            s->state.choice[p + 1] = 0;
        }
        p++;
    }
}

int perp__sparse_stand(perp__step *s, char *choice)
{
    const perp__layout *l = s->layout;
    enum { ROUNDS = 8 };
    double *lack = s->cache.sizes.scratch, *y = s->ws + l->sym.y, before = (double)INFINITY, now,
           shift = s->state.factored.shift;
    int solves = 0, has_solved;
    memcpy(choice, s->state.choice, (size_t)l->np);
    hold_lines(s);
    if (shift == 0) set_shift(s, SHIFT_FIRST);
    has_solved = factor_chosen(s, &solves);
    for (int k = 0; has_solved && k < ROUNDS && (now = perp__step_stand(s, lack)) > 0; k++) {
        has_solved = lower_shift(s, before, now, &solves) && perp__sparse_solve_rows(s, lack, 1);
        for (int j = l->nx; has_solved && j < l->ny; j++) y[j] -= lack[j];
        before = now;
    }
    if (shift == 0 && !perp__has_many_contacts(s))
        set_shift(s, 0); /* as the next step's modes are */
    if (has_solved) perp__step_settle(s, NULL);
    return has_solved;
}

/* y of the mode. Steps with old slopes are small: only what the rows lack at y is solved for. Where
 * slopes change within a step, and with pivots of other slopes, to the last digit; and what is 0
 * comes out as 0. */
static int solve_mode(perp__step *s, int is_near, int *solves)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y;
    if (is_near) return perp__sparse_refine(s);
    if (s->state.factored.shift > 0) return solve_shifted(s, solves);
    for (int i = 0; i < l->ny; i++) y[i] = 0.0 - s->cache.c[s->state.factored.row[i]];
    if (!perp__sparse_solve_rows(s, y, 1)) return 0;
    if (l->nonlinear || s->state.factored.is_refactored) return perp__sparse_refine(s);
    struct perp__sparse *m = s->cache.sparse;
    perp__step_settle_again(s, s->state.factored.row, m->order, &m->norder);
    return 1;
}

/* Interior points ------------------------------------------------------------------------------ */

/* Condition p of Newton's matrix at the slacks x, z > 0 of its sides: x z = target, and each slack
 * is its side. Returns its residual. */
static double put_interior(perp__step *s, int p, double target)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    int a = l->pair[p].a, b = l->pair[p].b, i = l->nequation + p;
    double x = s->cache.sparse->slack_a[p], z = s->cache.sparse->slack_b[p], sum = x + z;
    put_row(s, i, a);
    for (int k = s->cache.sparse->start[i]; k < s->cache.sparse->start[i + 1]; k++)
        s->state.factored.value[k] *= z / sum * factor[a];
    add_row(s, i, b, x / sum * factor[b]);
    return (x * z - target + z * (factor[a] * row_at(s, a) - x) +
            x * (factor[b] * row_at(s, b) - z)) /
           sum;
}

/* Newton's step from an interior point, negative; 0 if its matrix is singular. */
static int step_inside(perp__step *s, double target, int has_pivots, double *step)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    s->state.factored.in_units = 1;
    for (int i = 0; i < l->ny; i++) {
        int p = i - l->nequation;
        if (p >= 0 && s->state.on[p]) {
            step[i] = put_interior(s, p, target);
            continue;
        }
        int row = p < 0 ? i : l->pair[p].off, force = p < 0 ? perp__cone_row(s, i) : -1;
        put_row(s, i, row);
        if (force >= 0) add_row(s, i, force, SHIFT_FIRST * factor[force] / factor[row]);
        step[i] = row_at(s, row);
    }
    return factor_values(s, has_pivots) && perp__sparse_solve_rows(s, step, 1);
}

/* Slacks that begin at the sides, but no lower than the largest violation. */
static void begin_slacks(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    double *x = s->cache.sparse->slack_a, *z = s->cache.sparse->slack_b, least = 0;
    for (int p = 0; p < l->np; p++) {
        x[p] = factor[l->pair[p].a] * row_at(s, l->pair[p].a);
        z[p] = factor[l->pair[p].b] * row_at(s, l->pair[p].b);
        if (s->state.on[p]) least = fmax(least, fmax(-x[p], -z[p]));
    }
    for (int p = 0; p < l->np; p++) {
        x[p] = fmax(x[p], least);
        z[p] = fmax(z[p], least);
    }
}

/* The slack that a full step would make of this one. */
static double slack_after(const perp__step *s, int row, double factor, const double *step)
{
    const perp__layout *l = s->layout;
    double sum = row_at(s, row);
    for (int k = l->row_start[row]; k < l->row_start[row + 1]; k++)
        sum -= s->state.slopes.value[k] * step[l->column[k]];
    return sum * factor;
}

/* The part of a step that leaves a slack positive. */
static double part_inside(double from, double to)
{
    return to < 0.05 * from ? 0.95 * from / (from - to) : 1;
}

/* Go along the step as far as all slacks stay positive. Returns how far. */
static double go_inside(perp__step *s, const double *step)
{
    const perp__layout *l = s->layout;
    const double *factor = perp__step_row_units(s);
    double *y = s->ws + l->sym.y, *x = s->cache.sparse->slack_a, *z = s->cache.sparse->slack_b,
           part = 1;
    for (int p = 0; p < l->np; p++) {
        int a = l->pair[p].a, b = l->pair[p].b;
        if (!s->state.on[p]) continue;
        part = fmin(part, part_inside(x[p], slack_after(s, a, factor[a], step)));
        part = fmin(part, part_inside(z[p], slack_after(s, b, factor[b], step)));
    }
    for (int p = 0; p < l->np; p++) {
        int a = l->pair[p].a, b = l->pair[p].b;
        if (!s->state.on[p]) continue;
        x[p] += part * (slack_after(s, a, factor[a], step) - x[p]);
        z[p] += part * (slack_after(s, b, factor[b], step) - z[p]);
    }
    for (int i = 0; i < l->ny; i++) y[i] -= part * step[i];
    return part;
}

/* The mean product of the slacks. */
static double gap_inside(const perp__step *s)
{
    double sum = 0;
    int n = 0;
    for (int p = 0; p < s->layout->np; p++)
        if (s->state.on[p]) {
            sum += s->cache.sparse->slack_a[p] * s->cache.sparse->slack_b[p];
            n++;
        }
    return n ? sum / n : 0;
}

/* The mode from interior points: the side whose slack is smaller is 0. */
static void find_mode_inside(perp__step *s, int *solves)
{
    enum { STEPS = 60 };
    double *step = s->cache.sizes.scratch, part = 0;
    begin_vars(s);
    begin_slacks(s);
    double first = gap_inside(s), gap = first;
    for (int k = 0; k < STEPS && gap > PERP_INSIDE_GAP * first; k++) {
        double sigma = part > 0.9 ? 0.1 : part > 0.5 ? 0.3 : 0.6;
        count_factors(s);
        ++*solves;
        if (!step_inside(s, sigma * gap, k > 0, step)) break;
        part = go_inside(s, step);
        gap = gap_inside(s);
        if (!(part > PERP_INSIDE_STEP)) break;
    }
    s->state.factored.are = PERP__NO_FACTORS;
    for (int p = 0; p < s->layout->np; p++)
        if (s->state.on[p])
            s->state.choice[p] = s->cache.sparse->slack_a[p] > s->cache.sparse->slack_b[p];
}

/* Do so few contacts press that a friction problem, which comes next, finds the mode for less than
 * interior points? In a mode that has not settled they are up to twice as many as in the end. */
static int is_for_friction(const perp__step *s)
{
    int closed = 0;
    for (int p = 0; p < s->layout->np; p++)
        closed +=
            s->state.on[p] && !is_line(s, p) && s->state.choice[p] != s->cache.sparse->force[p];
    return perp__shifts_modes(s) && closed <= FRICTION_UP_TO;
}

perp__step_result perp__sparse_solve(perp__step *s)
{
    perp__step_result result = {
        .outcome = PERP_LIMIT, .fault = PERP__NO_ANSWER, .residual = (double)NAN, .worst = -1};
    int one_by_one = s->cache.newton.sparse_only ? 0
                     : s->cache.A                ? ONE_BY_ONE_BEFORE_DENSE
                                                 : ONE_BY_ONE;
    if (s->state.factored.shift > 0 && (!is_last(s) || has_left_singular(s))) set_shift(s, 0);
    for (int k = 0; k < ALL_AT_ONCE + one_by_one; k++) {
        if (k == INSIDE_AFTER && is_for_friction(s)) return result;
        if (k == INSIDE_AFTER && (!s->layout->nonlinear || is_last(s)))
            find_mode_inside(s, &result.solves);
        if (!factor_mode(s, &result.solves)) {
            result.fault = PERP__SINGULAR;
            return result;
        }
        if (!solve_mode(s, s->cache.newton.is_old && k == 0, &result.solves)) return result;
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
    set_shift(s, 0);
    return factor_chosen(s, &solves);
}

int perp__sparse_apply_mode(perp__step *s)
{
    int solves = 0;
    return perp__sparse_factor_mode(s) && solve_mode(s, 0, &solves);
}

/* The factors come back as they were made: with the pivots of the same matrix. */
int perp__sparse_factor_again(perp__step *s)
{
    struct perp__sparse *m = s->cache.sparse;
    const perp__factored *f = &s->state.factored;
    if (!m) return 1;
    m->norder = -1;
    if (f->are == PERP__NO_FACTORS) return 1;
    if (s->layout->constant) return perp__sparse_lu_factor(m->lu, f->value);
    return perp__sparse_lu_factor(m->lu, f->pivoted) &&
           (!f->is_refactored || perp__sparse_lu_refactor(m->lu, f->value));
}

void perp__sparse_pass(perp__step *s, perp__pass *pass)
{
    const perp__layout *l = s->layout;
    perp__factored *f = &s->state.factored;
    if (!s->cache.sparse) return;
    size_t ny = (size_t)l->ny, nonzeros = (size_t)s->cache.sparse->start[l->ny];
    int are = perp__pass_int(pass, (int)f->are, PERP__CURRENT, PERP__NO_FACTORS);
    perp__pass_ints(pass, f->row, ny, 0, l->nrow - 1);
    perp__pass_ints(pass, &f->in_units, 1, 0, 1);
    perp__pass_ints(pass, &f->is_refactored, 1, 0, 1);
    perp__pass_doubles(pass, f->value, nonzeros);
    perp__pass_doubles(pass, f->factor, ny);
    perp__pass_doubles(pass, &f->shift, 1);
    perp__pass_ints(pass, f->singular, ny, 0, l->nrow - 1);
    if (!l->constant) perp__pass_doubles(pass, f->pivoted, nonzeros);
    if (pass->mode != PERP__LOAD) return;
    f->are = are;
    if (perp__sparse_factor_again(s)) return;
    f->are = PERP__NO_FACTORS;
    pass->is_bad = 1;
}
