/* From model to program: the symbols of a step, the points of the method, equations and pairs. */

#include "plan/transcribe.h"

#include "base/arena.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void perp__plan_error(perp__transcriber *t, int at, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    perp__vformat(text, sizeof text, format, args);
    va_end(args);
    perp__refuse(t->diag, PERP_ERR_MODEL, perp__source_place(&t->model->source, at), "%s\n", text);
    t->errors++;
}

perp_expr perp__translate(perp__transcriber *t, perp_expr e)
{
    perp_expr result = 0;
    if (!perp__graph_copy(t->graph, &t->model->graph, &e, 1, t->map, &result)) t->failed = 1;
    return result;
}

double perp__plan_number(perp__transcriber *t, perp_expr e)
{
    if (e < 0) return NAN;
    perp_expr translated = perp__translate(t, e); /* first: the nodes may move */
    const perp__node *node = &t->graph->node[translated];
    return node->op == PERP__CONST ? node->value : (double)NAN;
}

/* Symbols ------------------------------------------------------------------------------------- */

static perp_expr pre_of(perp__transcriber *t, int i)
{
    return t->pre[i];
}

static perp_expr unknown_of(perp__transcriber *t, int c, int j)
{
    const perp__program *g = t->program;
    return perp__symbol(t->graph, g->nx + c * g->nb + j);
}

static perp_expr global_of(perp__transcriber *t, int i)
{
    return perp__symbol(t->graph, t->program->nx + t->program->nw + i);
}

/* h and the time at the step's start, in terms of the lengths of the runs. */
static void make_time(perp__transcriber *t)
{
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp_expr h = perp__const(graph, 0), start = perp__const(graph, g->from);
    for (int q = 0; q < g->nphase; q++) {
        perp_expr length = g->nrun ? global_of(t, g->run_p + q) : perp__const(graph, g->horizon);
        h = perp__add(graph, h, perp__mul(graph, perp__symbol(graph, g->sym_step + q), length));
        start =
            perp__add(graph, start, perp__mul(graph, perp__symbol(graph, g->sym_frac + q), length));
    }
    t->h = h;
    t->start = start;
}

/* `inside` in phase q, else `outside`. */
static perp_expr in_phase(perp__transcriber *t, int q, perp_expr inside, perp_expr outside)
{
    perp__graph *graph = t->graph;
    perp_expr is_in = perp__symbol(graph, t->program->sym_in + q);
    return perp__add(graph, outside, perp__mul(graph, is_in, perp__sub(graph, inside, outside)));
}

/* Parameters: free ones are unknowns; others numbers, or follow what they are written in. `own`: the
 * values of phases, of the block's `param` lines; nullable. */
static void map_params(perp__transcriber *t, const perp_expr *own)
{
    const perp_model *m = t->model;
    const perp__plan_block *b = t->block;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        perp_expr e = perp__const(t->graph, item->value);
        int k = 0;
        while (k < t->program->nparam && t->program->param_item[k] != i) k++;
        if (k < t->program->nparam)
            e = global_of(t, t->program->param_p + k);
        else if (!item->is_set && item->expr >= 0)
            e = perp__translate(t, item->expr);
        for (int j = 0; j < b->nparam && own; j++)
            if (b->param[j].item == i) e = in_phase(t, b->param[j].phase, own[j], e);
        t->map[item->symbol] = t->value[i] = e;
    }
}

/* The values of phases, and initial values, are of the parameters outside of phases. */
static void map_params_of_phases(perp__transcriber *t)
{
    const perp__plan_block *b = t->block;
    perp_expr *own = malloc(((size_t)b->nparam + 1) * sizeof *own);
    map_params(t, NULL);
    if (!own) t->failed = 1;
    for (int j = 0; j < b->nparam && own; j++) own[j] = perp__translate(t, b->param[j].e);
    for (int i = 0; i < t->program->ns && own; i++) {
        const perp__item *item = &t->model->item[PERP_STATE][i];
        t->initial[i] = item->is_set || item->expr < 0 ? perp__const(t->graph, item->value)
                                                       : perp__translate(t, item->expr);
    }
    if (b->nparam && own) map_params(t, own);
    free(own);
}

/* States at the start of a step: those of the step before, or what a link makes of them. */
static void make_links(perp__transcriber *t)
{
    const perp_model *m = t->model;
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    for (int i = 0; i < g->nx; i++) t->pre[i] = perp__symbol(graph, i);
    for (int i = 0; i < g->ns; i++)
        t->map[m->item[PERP_STATE][i].symbol + PERP__PRE] = perp__symbol(graph, i);
    t->map[PERP__SYM_T] = t->start;
    for (int j = 0; j < t->block->nlink && g->nnamed; j++) {
        const perp__plan_link *link = &t->block->link[j];
        perp_expr begins = perp__symbol(graph, g->sym_begin + link->phase),
                  jump = perp__sub(graph, perp__translate(t, link->e),
                                   perp__symbol(graph, link->state)),
                  *pre = &t->pre[link->state];
        *pre = perp__add(graph, *pre, perp__mul(graph, begins, jump));
    }
}

static int chosen_input(const perp__program *g, int item)
{
    for (int k = 0; k < g->nu; k++) {
        if (g->input_item[k] == item) return k;
    }
    return -1;
}

/* theta now + (1 - theta) before */
static perp_expr weighted(perp__transcriber *t, perp__instant instant, perp_expr now,
                          perp_expr before)
{
    perp__graph *graph = t->graph;
    double theta = t->program->scheme.theta;
    if (theta == 1 || instant > PERP__AT_WEIGHTED) return now;
    return perp__add(graph, perp__mul(graph, perp__const(graph, theta), now),
                     perp__mul(graph, perp__const(graph, 1 - theta), before));
}

static void map_inputs(perp__transcriber *t, perp__instant instant, int c)
{
    const perp_model *m = t->model;
    const perp__program *g = t->program;
    perp_expr now = t->map[PERP__SYM_T];
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int k = chosen_input(g, i);
        perp_expr value = -1, before = -1;
        if (k < 0) {
            value = perp__translate(t, item->expr);
            t->map[PERP__SYM_T] = t->start;
            before = perp__translate(t, item->expr);
            t->map[PERP__SYM_T] = now;
        } else {
            if (g->nx > g->ns) before = pre_of(t, g->ns + k);
            value = instant == PERP__AT_START
                        ? before
                        : unknown_of(t, g->held ? g->npoint - 1 : c, g->nx + g->nv + g->nsplit + k);
        }
        t->map[item->symbol + PERP__NOW] = weighted(t, instant, value, before);
        t->map[item->symbol + PERP__INPUT_PRE] = before;
    }
}

/* (sum_j D[c][j] x_j) / h */
static perp_expr slope(perp__transcriber *t, int c, int i)
{
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp_expr sum = perp__mul(graph, perp__const(graph, g->scheme.D[c][0]), pre_of(t, i));
    for (int j = 0; j < g->npoint; j++)
        sum = perp__add(
            graph, sum,
            perp__mul(graph, perp__const(graph, g->scheme.D[c][j + 1]), unknown_of(t, j, i)));
    return sum;
}

static void map_states(perp__transcriber *t, perp__instant instant, int c)
{
    const perp_model *m = t->model;
    const perp__program *g = t->program;
    for (int i = 0; i < g->ns; i++) {
        int symbol = m->item[PERP_STATE][i].symbol;
        perp_expr pre = pre_of(t, i), x = unknown_of(t, c, i);
        t->map[symbol + PERP__PRE] = pre;
        t->map[symbol + PERP__NEXT] = x;
        t->map[symbol + PERP__NOW] = weighted(t, instant, x, pre);
        t->map[symbol + PERP__DER] = instant == PERP__AT_RATES
                                         ? perp__symbol(t->graph, g->nsymbol + i)
                                         : perp__div(t->graph, slope(t, c, i), t->h);
        if (m->kind == PERP_DISCRETE && instant != PERP__AT_NODE) t->map[symbol] = pre;
        if (instant != PERP__AT_START) continue;
        t->map[symbol] = pre;
        t->map[symbol + PERP__DER] = t->map[symbol + PERP__NEXT] = -1;
    }
}

void perp__set_instant(perp__transcriber *t, perp__instant instant, int c)
{
    const perp_model *m = t->model;
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    for (int s = 0; s < m->nsymbol; s++) t->map[s] = -1;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        t->map[m->item[PERP_PARAM][i].symbol] = t->value[i];
    perp_expr passed = perp__mul(graph, perp__const(graph, g->scheme.c[c]), t->h);
    t->map[PERP__SYM_H] = t->h;
    t->map[PERP__SYM_T_PRE] = t->start;
    t->map[PERP__SYM_T] = instant == PERP__AT_START ? t->start : perp__add(graph, t->start, passed);
    map_inputs(t, instant, c);
    t->map[PERP__SYM_T] = weighted(t, instant, t->map[PERP__SYM_T], t->start);
    map_states(t, instant, c);
    for (int i = 0; i < g->nv && instant != PERP__AT_START; i++)
        t->map[m->item[PERP_VAR][i].symbol] = unknown_of(t, c, g->nx + i);
}

/* Is every symbol of e mapped? Those that are not stand for values that do not exist there. */
static int is_mapped(perp__transcriber *t, perp_expr e)
{
    int n, ok = 1;
    int *reach = perp__graph_reach(&t->model->graph, &e, 1, &n);
    if (!reach) t->failed = 1;
    for (int k = 0; reach && k < n; k++) {
        const perp__node *node = &t->model->graph.node[reach[k]];
        if (node->op == PERP__SYMBOL && t->map[node->a] < 0) ok = 0;
    }
    free(reach);
    return ok && !t->failed;
}

perp_expr perp__translate_at(perp__transcriber *t, perp_expr e, int at)
{
    if (is_mapped(t, e)) return perp__translate(t, e);
    if (!t->failed)
        perp__plan_error(t, at,
                         "this speaks of a value before the step that a plan does not have: pre() "
                         "of an input that is chosen");
    return 0;
}

/* Rows ---------------------------------------------------------------------------------------- */

int perp__add_row(perp__transcriber *t, perp_expr e, double lo, double hi, const char *text, int at,
                  int condition)
{
    perp__program *g = t->program;
    int K = g->K, capacity = t->crow, n = g->nrow;
    if (!perp__grow(&t->row, &t->crow, n + 1, sizeof *t->row) ||
        !perp__grow(&g->row, &t->crinfo, n + 1, sizeof *g->row)) {
        t->failed = 1;
        return -1;
    }
    if (t->crow > capacity) {
        double *rlo = realloc(g->rlo, (size_t)t->crow * (size_t)K * sizeof *rlo);
        if (rlo) g->rlo = rlo;
        double *rhi = realloc(g->rhi, (size_t)t->crow * (size_t)K * sizeof *rhi);
        if (rhi) g->rhi = rhi;
        if (!rlo || !rhi) {
            t->failed = 1;
            return -1;
        }
    }
    t->row[n] = e;
    g->row[n] = (perp__plan_row){text, at, condition};
    for (int k = 0; k < K; k++) {
        g->rlo[(size_t)n * (size_t)K + (size_t)k] = lo;
        g->rhi[(size_t)n * (size_t)K + (size_t)k] = hi;
    }
    return g->nrow++;
}

static int has_rate(perp__transcriber *t, perp_expr e)
{
    int degree = perp__degree(t->graph, e, t->rate_column, NULL);
    if (degree < 0) t->failed = 1;
    return degree > 0;
}

/* left - right = R0 + sum C_i der(x_i) becomes h R0 + sum C_i slope_i: without the division. */
static perp_expr equation_row(perp__transcriber *t, int i, int c)
{
    const perp__equation *equation = &t->model->equation[i];
    perp__graph *graph = t->graph;
    perp__sparse_row C = {0};
    perp__set_instant(t, PERP__AT_RATES, c);
    perp_expr R = perp__sub(graph, perp__translate_at(t, equation->left, equation->at),
                            perp__translate_at(t, equation->right, equation->at)),
              row = R;
    t->program->has_rate[i] = (char)has_rate(t, R);
    if (t->failed) return R;
    if (!t->program->has_rate[i] || perp__degree(graph, R, t->rate_column, NULL) > 1) {
        perp__set_instant(t, t->program->has_rate[i] ? PERP__AT_WEIGHTED : PERP__AT_POINT, c);
        return perp__sub(graph, perp__translate(t, equation->left),
                         perp__translate(t, equation->right));
    }
    if (!perp__gradient(graph, R, t->rate_column, &C) ||
        !perp__graph_copy(graph, graph, &R, 1, t->zero_rate, &row))
        t->failed = 1;
    row = perp__mul(graph, t->h, row);
    for (int k = 0; k < C.count && !t->failed; k++)
        row = perp__add(graph, row, perp__mul(graph, C.entry[k], slope(t, c, C.column[k])));
    perp__sparse_row_clear(&C);
    return row;
}

/* One side of a pair, `e` >= 0: where it is one unknown less a number, a bound; else a row. */
static void add_side(perp__transcriber *t, perp__plan_pair *pair, int side, perp_expr e,
                     const perp__pair *of, double sign, perp_expr unknown, double offset)
{
    perp__program *g = t->program;
    const perp__node *node = unknown >= 0 ? &t->graph->node[unknown] : NULL;
    int is_unknown = node && node->op == PERP__SYMBOL && node->a >= g->nx &&
                     node->a < g->nx + g->nw && isfinite(offset);
    pair->w[side] = pair->row[side] = -1;
    pair->sign[side] = sign;
    pair->offset[side] = offset;
    if (!is_unknown) {
        pair->row[side] = perp__add_row(t, e, 0, INFINITY, of->text, of->at, -1);
        return;
    }
    pair->w[side] = node->a - g->nx;
    double *bound = (sign > 0 ? g->wlo : g->whi) + (size_t)pair->w[side] * (size_t)g->K;
    for (int k = 0; k < g->K; k++)
        bound[k] = sign > 0 ? fmax(bound[k], offset) : fmin(bound[k], offset);
}

static double number_or_nan(const perp__transcriber *t, perp_expr e)
{
    return t->graph->node[e].op == PERP__CONST ? t->graph->node[e].value : (double)NAN;
}

/* The row or the cost that holds a pair together. */
static void add_product(perp__transcriber *t, perp__plan_pair *pair, perp_expr a, perp_expr b,
                        const perp__pair *of)
{
    perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp_expr eps = perp__mul(graph, perp__const(graph, pair->scale),
                              perp__symbol(graph, g->sym_relaxation)),
              ab = perp__mul(graph, a, b);
    pair->product = -1;
    if (g->pairs == PERP_PLAN_L1) {
        t->cost =
            perp__add(graph, t->cost, perp__mul(graph, perp__symbol(graph, g->sym_penalty), ab));
    } else if (g->pairs == PERP_PLAN_FISCHER_BURMEISTER) {
        perp_expr square = perp__add(graph, perp__mul(graph, a, a), perp__mul(graph, b, b));
        square = perp__add(graph, square, perp__mul(graph, perp__const(graph, 2), eps));
        perp_expr fb =
            perp__sub(graph, perp__add(graph, a, b), perp__unary(graph, PERP__SQRT, square));
        pair->product = perp__add_row(t, fb, 0, 0, of->text, of->at, -1);
    } else {
        pair->product =
            perp__add_row(t, perp__sub(graph, ab, eps), -INFINITY, 0, of->text, of->at, -1);
    }
}

static void push_pair(perp__transcriber *t, perp__plan_pair pair)
{
    perp__program *g = t->program;
    if (perp__grow(&g->pair, &t->cpair, g->npair + 1, sizeof *g->pair))
        g->pair[g->npair++] = pair;
    else
        t->failed = 1;
}

static void add_pair(perp__transcriber *t, int i, int c, int *split)
{
    perp__graph *graph = t->graph;
    const perp__pair *of = &t->model->pair[i];
    perp_expr a = perp__translate_at(t, of->a, of->at), b = perp__translate_at(t, of->b, of->at);
    perp__plan_pair pair = {.pair = i, .point = c, .parts = -1, .scale = 1};
    if (of->guard >= 0) {
        if (c == 0)
            perp__plan_error(t, of->at,
                             "a plan cannot switch a pair by 'when'; write contact as a pair with "
                             "the gap: 0 <= force perp gap >= 0");
        return;
    }
    if (!of->two_sided) {
        add_side(t, &pair, 0, a, of, 1, a, 0);
        add_side(t, &pair, 1, b, of, 1, b, 0);
        add_product(t, &pair, a, b, of);
        push_pair(t, pair);
        return;
    }
    perp_expr lo = perp__translate_at(t, of->lo, of->at),
              hi = perp__translate_at(t, of->hi, of->at);
    perp_expr plus = unknown_of(t, c, *split), minus = unknown_of(t, c, *split + 1);
    perp_expr above = perp__sub(graph, a, lo), below = perp__sub(graph, hi, a);
    *split += 2;
    perp_expr parts = perp__sub(graph, b, perp__sub(graph, plus, minus));
    double width = number_or_nan(t, hi) - number_or_nan(t, lo);
    if (width > 0 && width < 1) pair.scale = width;
    pair.parts = perp__add_row(t, parts, 0, 0, of->text, of->at, -1);
    add_side(t, &pair, 0, above, of, 1, a, number_or_nan(t, lo));
    add_side(t, &pair, 1, plus, of, 1, plus, 0);
    add_product(t, &pair, above, plus, of);
    push_pair(t, pair);
    pair.half = 1;
    add_side(t, &pair, 0, below, of, -1, a, number_or_nan(t, hi));
    add_side(t, &pair, 1, minus, of, 1, minus, 0);
    add_product(t, &pair, below, minus, of);
    push_pair(t, pair);
}

static void add_conditions_of_model(perp__transcriber *t)
{
    const perp__program *g = t->program;
    const perp_model *m = t->model;
    for (int c = 0; c < g->npoint && !t->failed; c++) {
        for (int i = 0; i < m->nequation && !t->failed; i++)
            perp__add_row(t, equation_row(t, i, c), 0, 0, m->equation[i].text, m->equation[i].at,
                          -1);
        for (int i = g->ns; i < g->nx; i++) { /* copies of inputs */
            perp_expr u = unknown_of(t, c, g->nx + g->nv + g->nsplit + i - g->ns);
            const perp__item *item = &m->item[PERP_INPUT][g->input_item[i - g->ns]];
            perp__add_row(t, perp__sub(t->graph, unknown_of(t, c, i), u), 0, 0, item->name,
                          item->at, -1);
        }
        int split = g->nx + g->nv;
        perp__set_instant(t, PERP__AT_POINT, c);
        for (int i = 0; i < m->npair && !t->failed; i++) add_pair(t, i, c, &split);
    }
}

void perp__transcribe(perp__transcriber *t)
{
    perp__program *g = t->program;
    int n = g->nsymbol + g->nx;
    t->map = malloc((size_t)t->model->nsymbol * sizeof *t->map);
    t->value = malloc(((size_t)t->model->nitem[PERP_PARAM] + 1) * sizeof *t->value);
    t->pre = malloc(((size_t)g->nx + 1) * sizeof *t->pre);
    t->initial = malloc(((size_t)t->program->ns + 1) * sizeof *t->initial);
    t->rate_column = malloc((size_t)n * sizeof *t->rate_column);
    t->zero_rate = malloc((size_t)n * sizeof *t->zero_rate);
    if (!t->map || !t->value || !t->pre || !t->initial || !t->rate_column || !t->zero_rate) {
        t->failed = 1;
        return;
    }
    for (int s = 0; s < n; s++) {
        t->rate_column[s] = s < g->nsymbol ? -1 : s - g->nsymbol;
        t->zero_rate[s] = s < g->nsymbol ? perp__symbol(t->graph, s) : perp__const(t->graph, 0);
    }
    for (int s = 0; s < t->model->nsymbol; s++) t->map[s] = -1;
    t->cost = perp__const(t->graph, 0);
    map_params_of_phases(t);
    make_time(t);
    make_links(t);
    perp__transcribe_ranges(t);
    if (t->errors) return;
    if (!t->failed) add_conditions_of_model(t);
    if (!t->failed) perp__transcribe_conditions(t);
    if (!t->failed) perp__transcribe_costs(t);
    if (t->graph->failed) t->failed = 1;
}
