/* Columns of a run in the places of the model's symbols. */

#include "base/tol.h"
#include "report/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "from 0 to 5 step 0.001, ..." among the metadata */
static double step_of(const perp_trajectory *run)
{
    const char *line;
    double step = (double)NAN;
    for (int i = 0; (line = perp_trajectory_comment(run, i)) != NULL; i++) {
        const char *at = strncmp(line, "from ", 5) == 0 ? strstr(line, " step ") : NULL;
        if (at) step = perp_number_read(at + 6, NULL);
    }
    return step;
}

static int find_columns(perp__evaluation *r)
{
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT};
    const perp_model *m = r->model;
    r->input = calloc(2 * (size_t)m->nitem[PERP_INPUT] + 1, sizeof *r->input);
    for (int k = 0; k < 3; k++) {
        perp_symbol_kind kind = kinds[k];
        int n = perp_model_count(m, kind);
        r->column[kind] = calloc((size_t)n + 1, sizeof *r->column[kind]);
        for (int i = 0; i < n && r->column[kind]; i++)
            r->column[kind][i] =
                perp_trajectory_column(r->run, perp_trajectory_find(r->run, m->item[kind][i].name));
    }
    return r->input && r->column[PERP_STATE] && r->column[PERP_VAR] && r->column[PERP_INPUT];
}

static double after_alone(const void *context, perp_symbol_kind kind, int i, int is_before)
{
    (void)context;
    (void)kind;
    (void)i;
    return is_before ? (double)NAN : 0;
}

/* Comparisons make a number of a NaN. So what is not known has to be found by name. */
static int find_needs(perp__evaluation *r, const perp_expr *expressions)
{
    const perp__graph *g = &r->model->graph;
    perp__numbers after = {.start = NAN, .time = 0, .h = 1, .theta = 1, .value = after_alone};
    perp__put_numbers(r->model, &after, r->reading, r->ws);
    r->needs_before = calloc((size_t)r->n + 1, 1);
    for (int k = 0; k < r->n && r->needs_before; k++) {
        int count, *reached = perp__graph_reach(g, &expressions[k], 1, &count);
        if (!reached) return 0;
        for (int i = 0; i < count && !r->needs_before[k]; i++) {
            const perp__node *node = &g->node[reached[i]];
            r->needs_before[k] = node->op == PERP__SYMBOL && isnan(r->ws[node->a]);
        }
        free(reached);
    }
    return r->needs_before != NULL;
}

/* The inputs that are functions of time share the workspace, behind the expressions. */
static int compile(perp__evaluation *r, const perp_expr *expressions, int n)
{
    const perp_model *m = r->model;
    int nu = m->nitem[PERP_INPUT];
    perp_expr *function = malloc((size_t)(nu + 1) * sizeof *function), zero = 0;
    if (!function) return 0;
    for (int i = 0; i < nu; i++) {
        perp_expr e = m->item[PERP_INPUT][i].expr;
        function[i] = e >= 0 ? e : zero;
    }
    int ok = perp__tape_compile(&r->tape, &m->graph, expressions, n, m->nsymbol) &&
             perp__tape_compile(&r->inputs, &m->graph, function, nu, perp__tape_end(&r->tape));
    free(function);
    if (!ok) return 0;
    r->ws = calloc((size_t)perp__tape_end(&r->inputs) + 1, sizeof *r->ws);
    if (!r->ws) return 0;
    for (int s = 0; s < m->nsymbol; s++) r->ws[s] = (double)NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        r->ws[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    perp__tape_prepare(&r->tape, r->ws, 1);
    perp__tape_prepare(&r->inputs, r->ws, 1);
    return 1;
}

int perp__rows_make(perp__evaluation *r, const perp_model *model, const perp_trajectory *run,
                    int time, perp__reading reading, const perp_expr *expressions, int n)
{
    *r = (perp__evaluation){.model = model,
                            .run = run,
                            .reading = reading,
                            .n = n,
                            .time = perp_trajectory_column(run, time),
                            .step = step_of(run)};
    return find_columns(r) && compile(r, expressions, n) && find_needs(r, expressions);
}

void perp__rows_clear(perp__evaluation *r)
{
    perp__tape_clear(&r->tape);
    perp__tape_clear(&r->inputs);
    free(r->ws);
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) free(r->column[kind]);
    free(r->input);
    free(r->needs_before);
}

static double at_row(const double *column, int i)
{
    return column && i >= 0 ? column[i] : (double)NAN;
}

/* Inputs at row i: the run's where it has them as columns, as a plan does, else those of their
 * function or table at time t. */
static void find_inputs(perp__evaluation *r, double t, int i, double *input)
{
    const perp_model *m = r->model;
    r->ws[PERP__SYM_T] = t;
    perp__tape_eval(&r->inputs, r->ws);
    for (int k = 0; k < m->nitem[PERP_INPUT]; k++) {
        const perp__item *item = &m->item[PERP_INPUT][k];
        if (r->column[PERP_INPUT][k])
            input[k] = at_row(r->column[PERP_INPUT][k], i);
        else if (item->table.n)
            input[k] = perp__table_value(&item->table, t, &r->hint);
        else if (item->expr < 0)
            input[k] = (double)NAN;
        else
            input[k] = r->ws[r->inputs.out[k]];
    }
}

static double value_at(const void *context, perp_symbol_kind kind, int i, int is_before)
{
    const perp__evaluation *r = context;
    if (kind == PERP_INPUT) return r->input[is_before ? r->model->nitem[PERP_INPUT] + i : i];
    if (kind == PERP_VAR && i >= r->model->nvar) return NAN;
    return at_row(r->column[kind][i], is_before ? r->last : r->row);
}

/* By the rows' own times, which rounding keeps from being the step apart. */
static double slope_at(const void *context, int i)
{
    const perp__evaluation *r = context;
    return (value_at(r, PERP_STATE, i, 0) - value_at(r, PERP_STATE, i, 1)) /
           (r->time[r->row] - at_row(r->time, r->row - 1));
}

void perp__rows_get(perp__evaluation *r, int i, double *values)
{
    double t = r->time[i], before = at_row(r->time, i - 1), h = t - before;
    int is_step = isnan(r->step) || fabs(h - r->step) <= PERP_TOL_SAME_STEP * r->step;
    double start = is_step ? before : (double)NAN;
    r->row = i;
    r->last = is_step ? i - 1 : -1; /* else the row before is not the step before */
    find_inputs(r, start, r->last, r->input + r->model->nitem[PERP_INPUT]);
    find_inputs(r, t, i, r->input);
    perp__numbers from = {start, t, isnan(r->step) ? h : r->step, 1, value_at, slope_at, r};
    perp__put_numbers(r->model, &from, r->reading, r->ws);
    perp__tape_get(&r->tape, r->ws, values);
    for (int k = 0; k < r->n && r->last < 0; k++) {
        if (r->needs_before[k]) values[k] = (double)NAN;
    }
}
