/* The verdict on a point, as judge.h says. */

#include "program/judge.h"

#include "program/callbacks.h"

#include <math.h>

/* Where all terms of a row vanish with its unknowns, each unknown still counts as this part of 1,
 * or of half its range. */
static const double LITTLE = 1e-3;

int perp__judge_create(perp__judge *u, perp__arena *arena, const perp__nl *nl)
{
    perp_expr *root;
    *u = (perp__judge){.nl = nl};
    PERP_TAKE(arena, root, (size_t)nl->ncon + (size_t)nl->nobj);
    if (!root) return 0;
    for (int i = 0; i < nl->ncon; i++) root[i] = nl->row[i];
    for (int i = 0; i < nl->nobj; i++) root[nl->ncon + i] = nl->objective[i];
    if (!perp__tape_compile(&u->tape, &nl->graph, root, nl->ncon + nl->nobj, nl->nvar)) return 0;
    size_t n = (size_t)perp__tape_end(&u->tape);
    PERP_TAKE(arena, u->ws, n);
    PERP_TAKE(arena, u->term, n);
    PERP_TAKE(arena, u->size, nl->nvar);
    if (nl->callbacks) PERP_TAKE(arena, u->given, perp__callbacks_size(nl));
    if (arena->failed) return 0;
    perp__tape_prepare(&u->tape, u->ws, 1);
    return 1;
}

void perp__judge_clear(perp__judge *u)
{
    perp__tape_clear(&u->tape);
}

/* Values and terms at x. An unknown is exact but for its last digit. */
static void evaluate(const perp__judge *u, const double *x)
{
    const perp__nl *nl = u->nl;
    for (int j = 0; j < nl->nvar; j++) {
        double half = 0.5 * (nl->hi[j] - nl->lo[j]), least = LITTLE * fmin(1, half);
        u->ws[j] = x[j];
        u->size[j] = fmax(fabs(x[j]), least);
        u->term[j] = (perp__terms){u->size[j], fabs(x[j])};
    }
    perp__tape_eval(&u->tape, u->ws);
    perp__tape_terms(&u->tape, u->ws, NULL, u->term);
    if (nl->callbacks) perp__callbacks_at(nl, x, 1, u->given);
}

/* Row i (or the objective) of the caller's functions: the terms are those of the row that is linear
 * there. */
static perp__amount given_amount(const perp__judge *u, int i, const double *x)
{
    const perp_program_callbacks *c = u->nl->callbacks;
    int is_row = i < u->nl->ncon, n = is_row ? c->row_start[i + 1] - c->row_start[i] : u->nl->nvar;
    const double *slope = u->given + (is_row ? perp__callbacks_jacobian(u->nl) + c->row_start[i]
                                             : perp__callbacks_gradient(u->nl));
    double value = u->given[i], rest = value, scale = 0;
    for (int e = 0; e < n; e++) {
        int j = is_row ? c->column[c->row_start[i] + e] : e;
        rest -= slope[e] * x[j];
        scale += fabs(slope[e]) * u->size[j];
    }
    scale += fabs(rest);
    return (perp__amount){value, scale, PERP_ROUNDING * (n + 2) * scale};
}

/* Row i (or objective, behind them) at the point. */
static perp__amount row_amount(const perp__judge *u, int i, const double *x)
{
    if (u->nl->callbacks) return given_amount(u, i, x);
    const perp__linear *l = &u->nl->linear;
    int slot = u->tape.out[i];
    double sum = u->ws[slot], scale = u->term[slot].scale, rounding = u->term[slot].rounding;
    for (int k = l->first[i]; k < l->first[i] + l->count[i]; k++) {
        double c = l->coefficient[k], term = c * x[l->var[k]];
        sum += term;
        scale += fabs(c) * u->size[l->var[k]];
        rounding += 2 * fabs(term) + fabs(sum);
    }
    return (perp__amount){sum, scale, PERP_ROUNDING * rounding};
}

static perp__amount bound_amount(double bound)
{
    return (perp__amount){bound, isfinite(bound) ? fabs(bound) : 0, 0};
}

/* lo <= a <= hi */
static double range_error(perp__amount a, double lo, double hi)
{
    double error = 0;
    if (lo == hi) return perp__error_zero(perp__amount_difference(a, bound_amount(lo)));
    if (isfinite(lo))
        error =
            perp__worse(error, perp__error_negative(perp__amount_difference(a, bound_amount(lo))));
    if (isfinite(hi))
        error =
            perp__worse(error, perp__error_negative(perp__amount_difference(bound_amount(hi), a)));
    return isnan(a.value) ? (double)INFINITY : error;
}

static perp__amount variable_amount(const perp__judge *u, int j, const double *x)
{
    return (perp__amount){x[j], u->size[j], 0};
}

static double pair_error(const perp__judge *u, int i, const double *x)
{
    const perp__nl *nl = u->nl;
    int j = nl->pairs.var[i];
    perp__amount row = row_amount(u, i, x), y = variable_amount(u, j, x),
                 above = perp__amount_difference(y, bound_amount(nl->lo[j])),
                 below = perp__amount_difference(bound_amount(nl->hi[j]), y);
    if (nl->pairs.lower[i] && nl->pairs.upper[i]) return perp__error_box(above, below, row);
    if (nl->pairs.lower[i]) return perp__error_pair(above, row);
    if (!nl->pairs.upper[i]) return perp__error_zero(row);
    row.value = -row.value;
    return perp__error_pair(below, row);
}

perp__judgement perp__judge_point(const perp__judge *u, const double *x)
{
    const perp__nl *nl = u->nl;
    perp__judgement j = {.worst_row = -1, .worst_variable = -1};
    evaluate(u, x);
    for (int i = 0; i < nl->ncon; i++) {
        int is_pair = nl->pairs.var[i] >= 0;
        double error = is_pair ? pair_error(u, i, x)
                               : range_error(row_amount(u, i, x), nl->rlo[i], nl->rhi[i]);
        double *of = is_pair ? &j.pairs : &j.rows;
        *of = perp__worse(*of, error);
        if (error > j.worst) {
            j.worst = error;
            j.worst_row = i;
        }
    }
    for (int k = 0; k < nl->nvar; k++) {
        double error = range_error(variable_amount(u, k, x), nl->lo[k], nl->hi[k]);
        j.bounds = perp__worse(j.bounds, error);
        if (error > j.worst) {
            j.worst = error;
            j.worst_row = -1;
            j.worst_variable = k;
        }
    }
    return j;
}

double perp__judge_objective(const perp__judge *u, int objective, const double *x)
{
    return objective < 0 ? 0 : row_amount(u, u->nl->ncon + objective, x).value;
}
