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

static const double *column_of(const perp_trajectory *run, const char *name)
{
    return perp_trajectory_column(run, perp_trajectory_find(run, name));
}

static int find_columns(perp__rows *r)
{
    const perp_model *m = r->model;
    size_t nx = (size_t)m->nitem[PERP_STATE], nv = (size_t)m->nvar;
    size_t nu = (size_t)m->nitem[PERP_INPUT];
    r->state = malloc((nx + 1) * sizeof *r->state);
    r->var = malloc((nv + 1) * sizeof *r->var);
    r->input = malloc((nu + 1) * sizeof *r->input);
    if (!r->state || !r->var || !r->input) return 0;
    for (size_t i = 0; i < nx; i++) r->state[i] = column_of(r->run, m->item[PERP_STATE][i].name);
    for (size_t i = 0; i < nu; i++) r->input[i] = column_of(r->run, m->item[PERP_INPUT][i].name);
    for (size_t i = 0; i < nv; i++) r->var[i] = column_of(r->run, m->item[PERP_VAR][i].name);
    return 1;
}

static int is_before(const perp__rows *r, int symbol)
{
    const perp_model *m = r->model;
    if (symbol == PERP__SYM_T_PRE) return 1;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        if (symbol == m->item[PERP_INPUT][i].symbol + PERP__INPUT_PRE) return 1;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int k = symbol - m->item[PERP_STATE][i].symbol;
        int is_bare_pre = m->kind == PERP_DISCRETE && r->instant == PERP__IN_STEP;
        if (k == PERP__PRE || k == PERP__DER || (k == PERP__NOW && is_bare_pre)) return 1;
    }
    return 0;
}

/* Comparisons make a number of a NaN, so what is not known has to be found by name. */
static int find_needs(perp__rows *r, const perp_expr *expressions)
{
    const perp__graph *g = &r->model->graph;
    r->needs_before = calloc((size_t)r->n + 1, 1);
    for (int k = 0; k < r->n && r->needs_before; k++) {
        int count, *reached = perp__graph_reach(g, &expressions[k], 1, &count);
        if (!reached) return 0;
        for (int i = 0; i < count && !r->needs_before[k]; i++) {
            const perp__node *node = &g->node[reached[i]];
            r->needs_before[k] = node->op == PERP__SYMBOL && is_before(r, node->a);
        }
        free(reached);
    }
    return r->needs_before != NULL;
}

/* The inputs that are functions of time share the workspace, behind the expressions. */
static int compile(perp__rows *r, const perp_expr *expressions, int n)
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

int perp__rows_make(perp__rows *r, const perp_model *model, const perp_trajectory *run, int time,
                    perp__instant instant, const perp_expr *expressions, int n)
{
    *r = (perp__rows){.model = model,
                      .run = run,
                      .instant = instant,
                      .n = n,
                      .time = perp_trajectory_column(run, time),
                      .step = step_of(run)};
    return find_columns(r) && find_needs(r, expressions) && compile(r, expressions, n);
}

void perp__rows_clear(perp__rows *r)
{
    perp__tape_clear(&r->tape);
    perp__tape_clear(&r->inputs);
    free(r->ws);
    free(r->state);
    free(r->var);
    free(r->input);
    free(r->needs_before);
}

static double at_row(const double *column, int i)
{
    return column && i >= 0 ? column[i] : (double)NAN;
}

/* Inputs at time t, into one of their two symbols: from row i where the run has them as columns, as
 * a plan does, else from their function or table. */
static void set_inputs(perp__rows *r, double t, int i, int symbol)
{
    const perp_model *m = r->model;
    r->ws[PERP__SYM_T] = t;
    perp__tape_eval(&r->inputs, r->ws);
    for (int k = 0; k < m->nitem[PERP_INPUT]; k++) {
        const perp__item *item = &m->item[PERP_INPUT][k];
        double u = r->input[k]      ? at_row(r->input[k], i)
                   : item->table.n  ? perp__table_value(&item->table, t, &r->hint)
                   : item->expr < 0 ? (double)NAN
                                    : r->ws[r->inputs.out[k]];
        r->ws[item->symbol + symbol] = u;
    }
}

void perp__rows_get(perp__rows *r, int i, double *values)
{
    const perp_model *m = r->model;
    double t = r->time[i], before = at_row(r->time, i - 1), h = t - before;
    int is_step = isnan(r->step) || fabs(h - r->step) <= 1e-3 * r->step;
    int last = is_step ? i - 1 : -1; /* else the row before is not the step before */
    set_inputs(r, is_step ? before : (double)NAN, last, PERP__INPUT_PRE);
    set_inputs(r, t, i, PERP__NOW);
    r->ws[PERP__SYM_T_PRE] = is_step ? before : (double)NAN;
    r->ws[PERP__SYM_H] = isnan(r->step) ? h : r->step;
    int is_bare_pre = m->kind == PERP_DISCRETE && r->instant == PERP__IN_STEP;
    for (int k = 0; k < m->nitem[PERP_STATE]; k++) {
        double *symbol = r->ws + m->item[PERP_STATE][k].symbol;
        double now = at_row(r->state[k], i), pre = at_row(r->state[k], last);
        symbol[PERP__PRE] = pre;
        symbol[PERP__NEXT] = now;
        symbol[PERP__NOW] = is_bare_pre ? pre : now;
        symbol[PERP__DER] = (now - pre) / h;
    }
    for (int k = 0; k < m->nvar; k++) r->ws[m->item[PERP_VAR][k].symbol] = at_row(r->var[k], i);
    perp__tape_get(&r->tape, r->ws, values);
    for (int k = 0; k < r->n && last < 0; k++) {
        if (r->needs_before[k]) values[k] = (double)NAN;
    }
}
