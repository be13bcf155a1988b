/* Do the conditions of a step hold as they were written? Each is judged on a scale of its own
 * (docs/adr/008-verdicts.md): first by a cheap and sure test, and only if that does not decide by
 * its terms. */

#include "base/tol.h"
#include "simulate/step.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The conditions one after the other, with what is known of the terms so far. */
typedef struct judge {
    perp__step *s;
    perp__verdict v;
    double sure; /* an equation with no larger error by a cheap bound is not looked into */
} judge;

/* Scales ---------------------------------------------------------------------------------------- */

/* The magnitude of unknown j in terms: |y_j|. But of a state, or of a var that an equation defines,
 * the size by which it is judged if that is larger, since it may be a difference that cancelled. */
static double size_of(const perp__step *s, int j)
{
    const perp__layout *l = s->layout;
    double size = fabs(s->ws[l->sym.y + j]);
    return (j < l->nx || l->marks.defined[j]) && s->cache.sizes.own[j] > size
               ? s->cache.sizes.own[j]
               : size;
}

/* The magnitude of unknown j for its rounding: of a state its largest so far, since a velocity that
 * came down from 1 m/s to 1e-23 is known to 1e-16. */
static double rounded_size(const perp__step *s, int j)
{
    double size = size_of(s, j);
    return j < s->layout->nx && s->state.history[j] > size ? s->state.history[j] : size;
}

/* Unknown j is judged by this much, if not by more. */
static void raise_size(perp__step *s, int j, double own)
{
    perp__sizes *sizes = &s->cache.sizes;
    if (own > sizes->own[j]) sizes->own[j] = own;
    sizes->of[j] = size_of(s, j);
}

/* The sum of |terms| of row r, linearised. */
static double row_terms(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    const double *value = s->state.slopes.value, *size = s->cache.sizes.of;
    const int *column = l->column;
    double sum = fabs(s->cache.c[r]);
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        sum += fabs(value[k]) * size[column[k]];
    return sum;
}

/* What the other terms of row r leave for unknown j, whose coefficient is a. */
static double left_for(const perp__step *s, int j, double a, double sum)
{
    double left = sum - a * s->cache.sizes.of[j];
    return left > 0 ? left / a : 0 / a;
}

/* A var that an equation defines, x = ..., has the size of its expression; in an order in which
 * none comes before those it uses. */
static void size_definitions(perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int d = 0; d < l->marks.ndefined; d++) {
        int i = l->marks.definition[d], at = l->marks.defined_at[i];
        double a = at < 0 ? 0 : fabs(s->state.slopes.value[at]);
        raise_size(s, l->marks.defines[i], left_for(s, l->marks.defines[i], a, row_terms(s, i)));
    }
}

/* What the rows of these entries leave for their unknowns, the least of all, in size. */
static void leave_least(const perp__step *s, const perp__entries *list, double *size)
{
    double sum = 0;
    for (int i = 0, row = -1; i < list->n; i++) {
        int j = s->layout->column[list->at[i]];
        double a = fabs(s->state.slopes.value[list->at[i]]), left;
        if (a == 0) continue;
        if (list->row[i] != row) {
            row = list->row[i];
            sum = row_terms(s, row);
        }
        left = left_for(s, j, a, sum);
        if (left < size[j]) size[j] = left;
    }
}

/* A state has the size of |pre| and of what its rate adds. Twice, since a position takes that of
 * its velocity. */
static void size_states(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *pre = s->ws + l->sym.pre;
    double *size = s->cache.sizes.scratch;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < l->nx; j++) size[j] = (double)INFINITY;
        leave_least(s, &l->marks.rate, size);
        for (int j = 0; j < l->nx; j++)
            raise_size(s, j, fabs(pre[j]) + (isinf(size[j]) ? 0 : size[j]));
    }
}

/* Another var, a force, is judged by the least that the other terms of an equation allow; one in no
 * equation by those of the sides it is in. */
static void size_forces(perp__step *s)
{
    perp__sizes *sizes = &s->cache.sizes;
    const perp__layout *l = s->layout;
    for (int j = l->nx; j < l->ny; j++)
        if (!l->marks.defined[j]) sizes->own[j] = (double)INFINITY;
    leave_least(s, &l->marks.force, sizes->own);
    for (int j = l->nx; j < l->ny; j++)
        if (isinf(sizes->own[j])) sizes->own[j] = 0;
}

/* Friction can be as large as its bound, also if it is not: the velocities it acts on are judged by
 * that. */
static void size_friction(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp_model *m = s->model;
    const int *bound = l->tape.check.out + l->tape.check.nout;
    for (int i = m->nfriction - 1; i >= 0; i--) {
        if (m->contact[i].kind == PERP__CONTACT_CONE) continue;
        double size = fabs(s->ws[*--bound]);
        for (int k = 0; k < m->contact[i].n; k++) {
            int j = l->marks.force_of[2 * i + k];
            if (j >= 0) raise_size(s, j, size);
        }
    }
}

static void size_nothing(perp__step *s)
{
    memset(s->cache.sizes.own, 0, (size_t)s->layout->ny * sizeof(double));
}

/* The size by which each unknown is judged, s->sizes.own. Sizes go from data to definitions (forces
 * to torques), to states, to values defined by these (velocities of contacts, gaps). By the rows as
 * they were last linearised: sizes need no more. */
void perp__step_size(perp__step *s)
{
    perp__sizes *sizes = &s->cache.sizes;
    const perp__layout *l = s->layout;
    size_nothing(s);
    for (int j = 0; j < l->ny; j++) sizes->of[j] = fabs(s->ws[l->sym.y + j]);
    size_friction(s);
    size_definitions(s);
    size_states(s);
    size_definitions(s);
    size_forces(s);
    for (int j = 0; j < l->ny; j++) sizes->own[j] = fmax(sizes->own[j], l->declared[j]);
}

/* Equations are held to the sums of their terms. */
static void scale_equations(perp__step *s)
{
    perp__sizes *sizes = &s->cache.sizes;
    const perp__layout *l = s->layout;
    const int *out = l->tape.check.out;
    for (int i = 0; i < l->nown; i++)
        sizes->scale[i] = sizes->term[out[2 * i]].scale + sizes->term[out[2 * i + 1]].scale;
}

/* The terms of all conditions at the present point, after the evaluation of s->tape.check.
 * Equations have their own terms, or those of declared scales; sides of pairs, and rounding, count
 * unknowns with their sizes. Without pairs both are one pass: no scale comes from rounding, nor
 * rounding from scales. */
static void find_terms(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__tape *check = &l->tape.check;
    perp__terms *term = s->cache.sizes.term, *of_y = term + l->sym.y;
    int has_sides = s->model->npair > 0 || l->ncone > 0;
    for (int i = 0; i < l->sym.n; i++) term[i] = (perp__terms){fabs(s->ws[i]), fabs(s->ws[i])};
    if (!l->nonlinear) term[SYM_H].rounding = 0; /* data, as a number would be */
    for (int j = 0; j < l->ny; j++) of_y[j].scale = fmax(of_y[j].scale, l->declared[j]);
    perp__tape_complete(check, s->ws);
    if (has_sides) {
        perp__tape_terms(check, s->ws, l->marks.before, term);
        scale_equations(s);
    }
    perp__step_size(s);
    for (int j = 0; j < l->ny; j++) {
        of_y[j].rounding = rounded_size(s, j);
        if (has_sides) of_y[j].scale = fmax(fabs(s->ws[l->sym.y + j]), s->cache.sizes.own[j]);
    }
    perp__tape_terms(check, s->ws, l->marks.before, term);
    if (!has_sides) scale_equations(s);
}

/* Row r for unknown j: y_j = -(c + the others) / its coefficient. Returns 0 where that is 0. */
static int solve_row_for(perp__step *s, int r, int j)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y, sum = s->cache.c[r], own = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
        if (l->column[k] == j)
            own = s->state.slopes.value[k];
        else
            sum += s->state.slopes.value[k] * y[l->column[k]];
    }
    if (own == 0) return 0;
    y[j] = (0.0 - sum) / own;
    return 1;
}

/* The last unknown of row r that is not known; -1: all are. */
static int unknown_in(const perp__step *s, int r, const char *known)
{
    const perp__layout *l = s->layout;
    int last = -1;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        if (!known[l->column[k]]) last = l->column[k];
    return last;
}

/* Unknowns that the rows of a mode determine one after the other: a force that is 0, its torque,
 * the velocity. order (nullable): the row and the unknown of each; returns their number. */
static inline int substitute(perp__step *s, const int *row, char *known, int *order)
{
    const perp__layout *l = s->layout;
    int solved = 0;
    int *left = s->cache.sizes.in_mode, *queue = left + l->nrow, n = 0;
    for (int r = 0; r < l->nrow; r++) left[r] = -1;
    for (int i = 0; i < l->ny; i++) {
        left[row[i]] = l->row_start[row[i] + 1] - l->row_start[row[i]];
        if (left[row[i]] == 1) queue[n++] = row[i];
    }
    for (int i = 0; i < n; i++) {
        int j = unknown_in(s, queue[i], known);
        if (j < 0 || !solve_row_for(s, queue[i], j)) continue;
        known[j] = 1;
        if (order) {
            order[2 * solved] = queue[i];
            order[2 * solved + 1] = j;
            solved++;
        }
        for (int k = l->marks.stands_start[j]; k < l->marks.stands_start[j + 1]; k++)
            if (left[l->marks.stands_in[k]] > 0 && --left[l->marks.stands_in[k]] == 1)
                queue[n++] = l->marks.stands_in[k];
    }
    return solved;
}

void perp__step_settle(perp__step *s, const int *row)
{
    const perp__layout *l = s->layout;
    char *known = s->cache.sizes.anchored;
    memset(known, 0, (size_t)l->ny);
    if (row) substitute(s, row, known, NULL);
    for (int d = 0; d < l->marks.ndefined; d++) {
        int i = l->marks.definition[d], j = l->marks.defines[i];
        if (!l->marks.is_side[j] && !known[j]) solve_row_for(s, i, j);
    }
}

/* Does equation r move a state by forces: has it another unknown than states? */
static int has_force(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    int other = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) other |= l->column[k] >= l->nx;
    return other;
}

double perp__step_reach(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    double reach = DBL_MIN;
    for (int j = 0; j < l->ny; j++) reach = fmax(reach, fabs(s->ws[l->sym.y + j]) / unit[j]);
    return reach;
}

int perp__step_is_loaded_anew(perp__step *s, const double *start)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s), *y = s->ws + l->sym.y;
    double reach = perp__step_reach(s);
    for (int j = l->nx; j < l->ny; j++)
        if (!(fabs(y[j] - start[j]) <= s->tol * reach * unit[j])) return 1;
    return 0;
}

int perp__step_stands(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__entries *rate = &l->marks.rate;
    const double *unit = perp__step_units(s), *y = s->ws + l->sym.y;
    double reach = perp__step_reach(s);
    int moves = 0;
    for (int i = 0; i < rate->n; i++) {
        int j = l->column[rate->at[i]];
        if (y[j] == 0 || !has_force(s, rate->row[i])) continue;
        if (fabs(y[j]) > s->tol * reach * unit[j]) return 0;
        moves = 1;
    }
    return moves;
}

double perp__step_stand(perp__step *s, double *lack)
{
    const perp__layout *l = s->layout;
    const perp__entries *rate = &l->marks.rate;
    double *y = s->ws + l->sym.y, largest = 0;
    for (int i = 0; i < rate->n; i++)
        if (has_force(s, rate->row[i])) y[l->column[rate->at[i]]] = 0;
    for (int i = 0; i < rate->n; i++)
        if (!has_force(s, rate->row[i])) solve_row_for(s, rate->row[i], l->column[rate->at[i]]);
    for (int i = 0; i < l->ny; i++) lack[i] = 0;
    for (int i = 0; i < rate->n; i++) {
        int r = rate->row[i];
        if (!has_force(s, r)) continue;
        double sum = s->cache.c[r], terms = fabs(sum);
        for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
            double x = s->state.slopes.value[k] * y[l->column[k]];
            sum += x;
            terms += fabs(x);
        }
        if (fabs(sum) <= PERP_ROUNDING * terms) continue;
        lack[r] = sum;
        largest = fmax(largest, fabs(sum));
    }
    return largest;
}

int perp__step_settling(perp__step *s, const int *row, int *order)
{
    const perp__layout *l = s->layout;
    char *known = s->cache.sizes.anchored;
    memset(known, 0, (size_t)l->ny);
    int n = substitute(s, row, known, order);
    for (int d = 0; d < l->marks.ndefined; d++) {
        int i = l->marks.definition[d], j = l->marks.defines[i];
        if (l->marks.is_side[j] || known[j] || !solve_row_for(s, i, j)) continue;
        order[2 * n] = i;
        order[2 * n + 1] = j;
        n++;
    }
    return n;
}

void perp__step_settle_again(perp__step *s, const int *row, int *order, int *n)
{
    if (!s->layout->constant)
        perp__step_settle(s, row);
    else if (*n < 0)
        *n = perp__step_settling(s, row, order);
    else
        for (int k = 0; k < *n; k++) solve_row_for(s, order[2 * k], order[2 * k + 1]);
}

int perp__step_define(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y;
    int changed = 0;
    for (int d = 0; d < l->marks.ndefined; d++) {
        int i = l->marks.definition[d], j = l->marks.defines[i];
        double before = y[j];
        solve_row_for(s, i, j);
        changed |= fabs(y[j] - before) > PERP_ROUNDING * fabs(before);
    }
    return changed;
}

double perp__step_row_rounding(const perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y, *history = s->state.history;
    double sum = fabs(s->cache.c[r]);
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
        int j = l->column[k];
        double size = fabs(y[j]);
        sum += fabs(s->state.slopes.value[k]) * (history[j] > size ? history[j] : size);
    }
    return PERP_ROUNDING * sum;
}

int perp__step_row_holds(const perp__step *s, int r, double tol, int is_zero)
{
    const perp__layout *l = s->layout;
    const double *y = s->ws + l->sym.y;
    double value = s->cache.c[r], terms = fabs(value);
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
        double x = s->state.slopes.value[k] * y[l->column[k]];
        value += x;
        terms += fabs(x);
    }
    return fabs(value) <= tol * terms || (!is_zero && value > 0) ||
           fabs(value) <= perp__step_row_rounding(s, r);
}

perp__amount perp__step_row_amount(const perp__step *s, int r, const double *y)
{
    const perp__layout *l = s->layout;
    int first = l->row_start[r], end = l->row_start[r + 1];
    double value = s->cache.c[r], scale = fabs(s->cache.c[r]), rounding = scale;
    for (int k = first; k < end; k++) {
        int j = l->column[k];
        double a = fabs(s->state.slopes.value[k]), x = s->state.slopes.value[k] * y[j];
        value += x;
        scale += r < l->nequation ? fabs(x) : fmax(fabs(x), a * s->cache.sizes.own[j]);
        rounding += a * rounded_size(s, j);
    }
    return (perp__amount){value, scale, PERP_ROUNDING * rounding};
}

/* Conditions ----------------------------------------------------------------------------------- */

/* Was an unknown so much larger where the rows were linearised last that its size there, and not
 * data, would be their scale? */
static int has_come_far(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s), *y = s->ws + l->sym.y, *at = s->cache.newton.at;
    for (int j = 0; l->nonlinear && j < l->ny; j++)
        if (fabs(at[j]) > PERP_FAR * (fabs(y[j]) + unit[j])) return 1;
    return 0;
}

static void know_terms(perp__step *s)
{
    perp__sizes *sizes = &s->cache.sizes;
    if (!sizes->has_terms && has_come_far(s)) perp__step_linearise(s);
    if (!sizes->has_terms) find_terms(s);
    sizes->has_terms = 1;
}

/* The value of root `out` of s->tape.check. */
static perp__amount amount(judge *j, const int *out)
{
    perp__step *s = j->s;
    double value = s->ws[*out];
    know_terms(s);
    int y = *out - s->layout->sym.y;
    double scale =
        y >= 0 && y < s->layout->ny ? s->cache.sizes.own[y] : s->cache.sizes.term[*out].scale;
    return (perp__amount){value, scale, PERP_ROUNDING * s->cache.sizes.term[*out].rounding};
}

/* The scale of an equation, whose first root is `out`. */
static double equation_scale(judge *j, const int *out)
{
    perp__step *s = j->s;
    know_terms(s);
    return s->cache.sizes.scale[(out - s->layout->tape.check.out) / 2];
}

/* Condition i has this error, its inequalities this one. */
static void note(judge *j, int i, double error, double breach, double residual)
{
    perp__verdict *v = &j->v;
    if (isnan(residual)) error = (double)INFINITY;
    if (!(residual <= v->residual)) v->residual = residual;
    if (!(breach <= v->breach)) v->breach = breach;
    if (error > v->error || (error == v->error && residual > v->off) || v->worst < 0) {
        v->worst = i;
        v->off = residual;
    }
    if (!(error <= v->error)) v->error = error;
}

static void judge_equation(judge *j, int i, const int *out)
{
    const perp__step *s = j->s;
    double left = s->ws[out[0]], right = s->ws[out[1]], r = fabs(left - right);
    double sure = fabs(left) + fabs(right); /* S is never less */
    double error = r == 0 ? 0 : r / sure;
    if (!(error <= j->sure)) { /* it may be rounding alone */
        perp__amount d = perp__amount_difference(amount(j, out), amount(j, out + 1));
        d.scale = equation_scale(j, out);
        error = perp__error_zero(d);
    }
    note(j, s->layout->marks.equation[i], error, 0, r);
}

static double pair_residual(const double *ws, const int *out)
{
    double a = ws[out[0]], b = ws[out[1]];
    return isnan(a) || isnan(b) ? (double)NAN : fabs(a < b ? a : b);
}

static void judge_pair(judge *j, int i, const int *out)
{
    perp__step *s = j->s;
    double a = s->ws[out[0]], b = s->ws[out[1]], r = pair_residual(s->ws, out);
    double error = 0, breach = 0;
    int side = b > 0 ? 2 : 1;
    if (a > 0) side = 0;
    if (!(a >= 0 && b >= 0 && (a == 0 || b == 0))) {
        perp__amount A = amount(j, out), B = amount(j, out + 1);
        double a0 = perp__error_zero(A), b0 = perp__error_zero(B);
        error = perp__error_pair(A, B);
        breach = fmax(perp__error_negative(A), perp__error_negative(B));
        side = b0 <= s->tol ? 1 : 2;
        if (!(a0 <= s->tol)) side = 0;
    }
    s->state.side_now[i] = (char)side;
    note(j, s->model->nequation + i, error, breach, r);
}

static double clamp(double x, double lo, double hi)
{
    if (x < lo) return lo;
    return x > hi ? hi : x;
}

static double box_residual(const double *ws, const int *out)
{
    double a = ws[out[0]], e = ws[out[1]], lo = ws[out[2]], hi = ws[out[3]];
    if (isnan(a) || isnan(e)) return (double)NAN;
    return lo <= hi ? fabs(a - clamp(a - e, lo, hi)) : lo - hi;
}

/* A force beside its bound: each on the scale of its own value. What it is made of, m v/h among it,
 * enters by its rounding alone. */
static perp__amount force_amount(judge *j, const int *out)
{
    perp__amount x = amount(j, out);
    return (perp__amount){x.value, fabs(x.value), x.rounding + PERP_ROUNDING * x.scale};
}

static void judge_box(judge *j, int i, const int *out)
{
    perp__step *s = j->s;
    double a = s->ws[out[0]], e = s->ws[out[1]], lo = s->ws[out[2]], hi = s->ws[out[3]];
    double r = box_residual(s->ws, out), error = 0, breach = 0;
    int side = e > 0 ? 0 : e < 0 ? 2 : a <= lo ? 0 : a >= hi ? 2 : 1;
    if (!(a >= lo && a <= hi && (e == 0 || (e > 0 ? a == lo : a == hi)))) {
        int is_friction = s->model->pair[i].contact >= 0;
        perp__amount (*of)(judge *, const int *) = is_friction ? force_amount : amount;
        perp__amount A = of(j, out), E = amount(j, out + 1);
        perp__amount above = perp__amount_difference(A, of(j, out + 2)),
                     below = perp__amount_difference(of(j, out + 3), A);
        error = perp__error_box(above, below, E);
        breach = error; /* e on the wrong side of 0 is one, too */
        side = perp__error_zero(E) > s->tol        ? (e > 0 ? 0 : 2)
               : perp__error_zero(above) <= s->tol ? 0
               : perp__error_zero(below) <= s->tol ? 2
                                                   : 1;
    }
    s->state.side_now[i] = (char)side;
    note(j, s->model->nequation + i, error, breach, r);
}

static void judge_off(judge *j, int i, const int *out)
{
    double a = j->s->ws[out[0]];
    double error = a == 0 ? 0 : perp__error_zero(amount(j, out));
    j->s->state.side_now[i] = 3;
    note(j, j->s->model->nequation + i, error, 0, fabs(a));
}

/* An exact cone: |f| <= bound, and f = -bound v/|v| unless v = 0. Its equations say the same with a
 * factor between force and velocity; here each has its own scale. Roots: f (2), v (2), bound. */
static void judge_cone(judge *j, int i, const int *out)
{
    const double *ws = j->s->ws;
    int is_open = ws[out[0]] == 0 && ws[out[1]] == 0 && ws[out[4]] == 0;
    if (is_open && isfinite(ws[out[2]]) && isfinite(ws[out[3]])) return; /* nothing to compare */
    perp__amount f[2] = {force_amount(j, out), force_amount(j, out + 1)},
                 v[2] = {amount(j, out + 2), amount(j, out + 3)}, bound = force_amount(j, out + 4);
    note(j, j->s->layout->marks.equation[j->s->layout->cone[i].equation],
         perp__error_friction(f, v, bound), perp__error_negative(bound), fmax(0, -bound.value));
}

/* The natural residual of pair i, its sides times these factors. */
static double scaled_residual(const perp__step *s, int i, const int *out, double a, double b)
{
    const perp__layout *l = s->layout;
    const double *ws = s->ws;
    int g = l->tape.guard_of[i];
    if (g >= 0 && !(ws[l->tape.guards.out[g]] > 0)) return a * fabs(ws[out[0]]);
    double side[4] = {a * ws[out[0]], b * ws[out[1]]};
    int at[4] = {0, 1, 2, 3};
    if (!s->model->pair[i].two_sided) return pair_residual(side, at);
    side[2] = a * ws[out[2]];
    side[3] = a * ws[out[3]];
    return box_residual(side, at);
}

double perp__step_residual(perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp_model *m = s->model;
    const double *ws = s->ws, *factor = perp__step_row_units(s);
    const perp__rows *rows = l->pair;
    const int *out = l->tape.check.out;
    int split = l->nown;
    double residual = 0, h = ws[SYM_H];
    for (int i = 0; i < l->nown; i++, out += 2) {
        double r = fabs(ws[out[0]] - ws[out[1]]) * factor[i] * (l->marks.has_h[i] ? h : 1);
        if (!(r <= residual)) residual = r;
    }
    for (int i = 0; i < m->npair; i++) {
        int two = m->pair[i].two_sided;
        double r = scaled_residual(s, i, out, factor[rows->a], factor[two ? split++ : rows->b]);
        if (!(r <= residual)) residual = r;
        rows += two ? 2 : 1;
        out += two ? 4 : 2;
    }
    for (int i = 0; i < l->ncone; i++, out += 5)
        residual = fmax(residual, -ws[out[4]] * factor[l->cone[i].row + 4]);
    return residual;
}

perp__verdict perp__step_verify(perp__step *s)
{
    perp__step_evaluate(s);
    return perp__step_judge_evaluated(s);
}

static perp__verdict judge_all(judge j)
{
    perp__step *s = j.s;
    const perp_model *m = s->model;
    const int *out = s->layout->tape.check.out;
    s->cache.sizes.has_terms = 0;
    for (int i = 0; i < s->layout->nown; i++, out += 2) {
        if (perp__cone_of(m, s->layout->marks.equation[i]) >= 0)
            note(&j, s->layout->marks.equation[i], 0, 0,
                 fabs(s->ws[out[0]] - s->ws[out[1]])); /* below, on its own scales */
        else
            judge_equation(&j, i, out);
    }
    for (int i = 0; i < m->npair; i++) {
        int g = s->layout->tape.guard_of[i];
        if (g >= 0 && !(s->ws[s->layout->tape.guards.out[g]] > 0))
            judge_off(&j, i, out);
        else if (m->pair[i].two_sided)
            judge_box(&j, i, out);
        else
            judge_pair(&j, i, out);
        out += m->pair[i].two_sided ? 4 : 2;
    }
    for (int i = 0; i < s->layout->ncone; i++, out += 5) judge_cone(&j, i, out);
    for (int d = 0; d < s->layout->sym.assigned.n;
         d++) /* these hold as they are made, if they have a value */
        if (!isfinite(s->ws[out[d]]))
            note(&j, s->layout->sym.assigned.equation[d], 0, 0, (double)NAN);
    return j.v;
}

perp__verdict perp__step_judge(perp__step *s, double sure)
{
    return judge_all((judge){.s = s, .v = {.worst = -1}, .sure = sure});
}

perp__verdict perp__step_judge_evaluated(perp__step *s)
{
    return perp__step_judge(s, (s->layout->nonlinear ? PERP_AMPLY : 1) * s->tol);
}

/* Growth --------------------------------------------------------------------------------------- */

/* The constants of the rows, into s->sizes.scale. */
static void take_constants(perp__step *s)
{
    for (int r = 0; r < s->layout->nrow; r++) s->cache.sizes.scale[r] = fabs(s->cache.c[r]);
}

/* The same of a step that is not affine, by its linearisation at the present point: that of the
 * step's start. */
static void find_constants(perp__step *s)
{
    const perp__layout *l = s->layout;
    const int *out = l->tape.coefficients.out;
    const double *ws = s->ws, *y = ws + l->sym.y;
    perp__tape_eval(&l->tape.coefficients, s->ws);
    for (int r = 0, e = 0; r < l->nrow; r++) {
        double sum = ws[out[r]];
        for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++) {
            int varies = e < l->nentry && l->entry[e] == k;
            sum -= (varies ? ws[out[l->nrow + e]] : s->state.slopes.value[k]) * y[l->column[k]];
            e += varies;
        }
        s->cache.sizes.scale[r] = fabs(sum);
    }
}

/* And in equations at least the terms without unknowns. */
static void add_data(perp__step *s)
{
    perp__sizes *sizes = &s->cache.sizes;
    const perp__layout *l = s->layout;
    const int *out = l->tape.check.out;
    double h = s->ws[SYM_H], *data = sizes->scale;
    for (int i = 0; i < l->sym.n; i++)
        sizes->term[i] = (perp__terms){i < l->sym.y ? fabs(s->ws[i]) : 0, 0};
    perp__tape_complete(&l->tape.check, s->ws);
    perp__tape_terms(&l->tape.check, s->ws, NULL, sizes->term);
    for (int i = 0; i < l->nown; i++) {
        double sum = sizes->term[out[2 * i]].scale + sizes->term[out[2 * i + 1]].scale;
        data[i] = fmax(data[i], l->marks.has_h[i] ? h * sum : sum);
    }
    sizes->has_terms = 0;
}

/* Data of the rows. If the step is not affine they are those of its start: a distant linearisation
 * has constants as large as its point. */
static void find_data(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t bytes = (size_t)l->ny * sizeof(double);
    double *y = s->ws + l->sym.y, *end = s->cache.sizes.scratch;
    if (l->nonlinear) {
        memcpy(end, y, bytes);
        memcpy(y, s->cache.newton.from, bytes);
        perp__step_evaluate(s);
        find_constants(s);
        add_data(s);
        memcpy(y, end, bytes);
        perp__step_evaluate(s);
    } else {
        take_constants(s);
        add_data(s);
    }
}

/* Marks the unknowns that row r anchors: its possible rounding is small relative to the data of the
 * row itself, or to an unknown that another row anchors. Returns 1 if that is new. */
static int anchor(perp__step *s, int r)
{
    const perp__layout *l = s->layout;
    char *row = s->cache.sizes.anchored, *unknown = row + l->nrow;
    int first = l->row_start[r], end = l->row_start[r + 1];
    double data = s->cache.sizes.scale[r], rounding = data;
    if (row[r]) return 0;
    for (int k = first; k < end; k++) {
        double x = fabs(s->state.slopes.value[k]) * size_of(s, l->column[k]);
        rounding += x;
        if (unknown[l->column[k]]) data = fmax(data, x);
    }
    if (!(PERP_ROUNDING * rounding <= s->tol * data)) return 0;
    row[r] = 1;
    for (int k = first; k < end; k++)
        if (s->state.slopes.value[k] != 0) unknown[l->column[k]] = 1;
    return 1;
}

/* Data of row r in units in which its entries are near 1. */
static double scaled_data(const perp__step *s, int r, const double *unit)
{
    const perp__layout *l = s->layout;
    double data = s->cache.sizes.scale[r], largest = 0;
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        largest = fmax(largest, fabs(s->state.slopes.value[k]) * unit[l->column[k]]);
    return largest > 0 ? data / largest : 0;
}

/* Is an unknown, but those that are anchored (NULL: none), so large that its rounding exceeds tol
 * times these data? The largest is noted. */
static int is_beyond(perp__step *s, double data, const char *anchored)
{
    perp__sizes *sizes = &s->cache.sizes;
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s);
    double most = s->tol * data / PERP_ROUNDING;
    int found = 0;
    for (int j = 0; j < l->ny; j++) {
        double y = s->ws[l->sym.y + j], size = fabs(y) / unit[j];
        if ((anchored && anchored[j]) || !(size > most)) continue;
        most = size;
        found = 1;
        sizes->grown = j;
        sizes->grown_to = y;
        sizes->beside = data * unit[j];
    }
    return found;
}

const perp__item *perp__step_grown(const perp__step *s)
{
    return perp__step_is_named(s->layout, s->model, s->cache.sizes.grown)
               ? perp__step_item(s->layout, s->model, s->cache.sizes.grown)
               : NULL;
}

/* Does an unknown rest on no row's data, and is so large beside all data that rounding decides?
 * (What floats and is small is rounding itself: a velocity of 1e-15 at rest.) */
static int something_floats(perp__step *s)
{
    const perp__layout *l = s->layout;
    int rows = l->ncone == 0 ? l->nrow : l->cone[0].row; /* those of cones repeat others */
    const double *unit = perp__step_units(s);
    double data = 0;
    for (int r = 0; r < rows; r++) data = fmax(data, scaled_data(s, r, unit));
    if (!is_beyond(s, data, NULL)) return 0;
    memset(s->cache.sizes.anchored, 0, (size_t)l->nrow + (size_t)l->ny);
    for (int more = 1; more;) {
        more = 0;
        for (int r = 0; r < rows; r++) more |= anchor(s, r);
    }
    return is_beyond(s, data, s->cache.sizes.anchored + l->nrow);
}

/* The largest state at the step's start, in its unit: the least that there is of data. */
static double data_of_states(perp__step *s)
{
    const perp__layout *l = s->layout;
    const double *unit = perp__step_units(s), *pre = s->ws + l->sym.pre;
    double data = 0;
    for (int j = 0; j < l->nx; j++) data = fmax(data, fabs(pre[j]) / unit[j]);
    return data;
}

/* First by the data that are at hand: of an affine step the constants of the rows, of another one
 * the states at its start. Where they do not suffice, they and the unknowns may have cancelled. */
int perp__step_has_grown(perp__step *s)
{
    const perp__layout *l = s->layout;
    size_nothing(s);
    s->cache.sizes.has_terms = 0;
    if (!l->nonlinear) take_constants(s);
    if (l->nonlinear ? !is_beyond(s, data_of_states(s), NULL) : !something_floats(s)) return 0;
    find_terms(s);
    find_data(s);
    return something_floats(s);
}

const char *perp__step_unscaled(perp__step *s, int condition, double *scale)
{
    const perp__layout *l = s->layout;
    const char *name = NULL;
    int row = condition < 0 || condition >= s->model->nequation
                  ? -1
                  : perp__equation_row(s->layout, condition);
    if (row < 0) return NULL;
    perp__step_linearise(s);
    double off = fabs(perp__step_row_amount(s, row, s->ws + l->sym.y).value);
    *scale = (double)INFINITY;
    for (int k = l->row_start[row]; k < l->row_start[row + 1]; k++) {
        int j = l->column[k];
        double usual = fmax(perp__step_units(s)[j], fabs(s->cache.newton.from[j])),
               x = off / fabs(s->state.slopes.value[k]) / s->tol;
        if (perp__step_is_named(s->layout, s->model, j) && x <= usual && x < *scale) {
            *scale = x;
            name = perp__step_item(s->layout, s->model, j)->name;
        }
    }
    return name;
}

int perp__step_moves_nothing(perp__step *s, const double *start)
{
    const perp__layout *l = s->layout;
    const double *ws = s->ws;
    const perp__entries *rate = &l->marks.rate;
    for (int j = 0; j < l->nx; j++)
        if (ws[l->sym.y + j] != start[j]) return 0;
    perp__step_evaluate(s);
    find_terms(s);
    s->cache.sizes.has_terms = 1;
    for (int k = 0; k < rate->n; k++) {
        int i = rate->row[k];
        double r = fabs(ws[l->tape.check.out[2 * i]] - ws[l->tape.check.out[2 * i + 1]]);
        int j = l->column[rate->at[k]];
        if (start[j] == 0) continue;                  /* nothing is lost beside 0 */
        if (ws[l->sym.pre + j] != start[j]) continue; /* within the step it moves, if by rounding */
        if (l->marks.has_h[i] && r > 0.5 * s->cache.sizes.scale[i]) return 1;
    }
    return 0;
}
