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

perp_expr perp__plan_unknown(perp__transcriber *t, int c, int j)
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
    for (int q = 0; q < g->phase.n; q++) {
        perp_expr length =
            g->phase.nrun ? global_of(t, g->phase.run_p + q) : perp__const(graph, g->horizon);
        h = perp__add(graph, h, perp__mul(graph, perp__symbol(graph, g->sym.step + q), length));
        start =
            perp__add(graph, start, perp__mul(graph, perp__symbol(graph, g->sym.frac + q), length));
    }
    t->at.h = h;
    t->at.start = start;
    for (int c = 0; c < g->npoint; c++) {
        perp_expr passed = perp__mul(graph, perp__const(graph, g->scheme.c[c]), h);
        t->at.time[c] = perp__add(graph, start, passed);
    }
    t->at.theta = perp__const(graph, g->scheme.theta);
}

/* `inside` in phase q, else `outside`. */
static perp_expr in_phase(perp__transcriber *t, int q, perp_expr inside, perp_expr outside)
{
    perp__graph *graph = t->graph;
    perp_expr is_in = perp__symbol(graph, t->program->sym.in + q);
    return perp__add(graph, outside, perp__mul(graph, is_in, perp__sub(graph, inside, outside)));
}

/* Parameters: free ones are unknowns; others numbers, or follow what they are written in. `own`:
 * the values of phases, of the block's `param` lines; nullable. */
static void map_params(perp__transcriber *t, const perp_expr *own)
{
    const perp_model *m = t->model;
    const perp__plan_block *b = t->block;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        int k = 0;
        while (k < t->program->param.n && t->program->param.item[k] != i) k++;
        perp_expr e = k < t->program->param.n ? global_of(t, t->program->param.p + k)
                                              : perp__instant_param(&t->at, i);
        for (int j = 0; j < b->nparam && own; j++)
            if (b->param[j].item == i) e = in_phase(t, b->param[j].phase, own[j], e);
        t->at.known[m->item[PERP_PARAM][i].symbol] = e;
    }
    for (int i = 0; i < b->distant.n; i++)
        t->at.known[b->distant.of[i].symbol] = global_of(t, t->program->initial.distant + i);
}

/* The values of phases, and initial values, are of the parameters outside of phases. */
static void map_params_of_phases(perp__transcriber *t)
{
    const perp__plan_block *b = t->block;
    perp_expr *own;
    PERP_TAKE(&t->program->arena, own, b->nparam);
    map_params(t, NULL);
    if (!own) t->failed = 1;
    for (int j = 0; j < b->nparam && own; j++) own[j] = perp__translate(t, b->param[j].e);
    for (int i = 0; i < t->program->ns && own; i++) {
        const perp__item *item = &t->model->item[PERP_STATE][i];
        t->initial[i] = item->is_set || item->expr < 0 ? perp__const(t->graph, item->value)
                                                       : perp__translate(t, item->expr);
    }
    if (b->nparam && own) map_params(t, own);
}

/* What a table says at a time: at each row the slope changes. */
static perp_expr table_at(perp__transcriber *t, const perp__table *table, perp_expr time)
{
    perp__graph *graph = t->graph;
    perp_expr sum = perp__const(graph, table->value[0]);
    double before = 0;
    for (int k = 0; k + 1 < table->n; k++) {
        double slope =
            (table->value[k + 1] - table->value[k]) / (table->time[k + 1] - table->time[k]);
        perp_expr since = perp__sub(graph, time, perp__const(graph, table->time[k]));
        if (k > 0) since = perp__binary(graph, PERP__MAX, since, perp__const(graph, 0));
        sum = perp__add(graph, sum, perp__mul(graph, perp__const(graph, slope - before), since));
        before = slope;
    }
    return sum;
}

/* What the unknowns of a step are to the model. */
static void place_unknowns(perp__transcriber *t)
{
    const perp__program *g = t->program;
    perp__instant *at = &t->at;
    int n = t->model->nitem[PERP_INPUT];
    for (int i = 0; i < g->ns; i++) at->before[i] = perp__symbol(t->graph, i);
    for (int i = 0; i < n; i++) {
        int k = perp__program_input(g, i);
        const perp__table *table = &t->model->item[PERP_INPUT][i].table;
        int is_table = k < 0 && table->n > 0;
        if (is_table)
            at->input_before[i] = table_at(t, table, at->start);
        else if (k >= 0 && g->nx > g->ns)
            at->input_before[i] = perp__symbol(t->graph, g->ns + k);
        else
            at->input_before[i] = -1;
        for (int c = 0; c < g->npoint; c++) {
            int point = g->held ? g->npoint - 1 : c;
            if (is_table)
                at->input[c * n + i] = table_at(t, table, at->time[c]);
            else if (k < 0)
                at->input[c * n + i] = -1;
            else
                at->input[c * n + i] = perp__plan_unknown(t, point, g->nx + g->nv + g->nsplit + k);
        }
    }
    for (int c = 0; c < g->npoint; c++) {
        for (int i = 0; i < g->ns; i++) at->state[c * g->ns + i] = perp__plan_unknown(t, c, i);
        for (int i = 0; i < g->nv; i++)
            at->var[c * g->nv + i] = perp__plan_unknown(t, c, g->nx + i);
    }
}

/* Where a phase begins, states are what links make of those of the step before. */
static void make_links(perp__transcriber *t)
{
    const perp__program *g = t->program;
    perp__graph *graph = t->graph;
    perp_expr *map = t->at.map[PERP__AT_START];
    memcpy(map, t->at.known, (size_t)t->model->nsymbol * sizeof *map);
    for (int i = 0; i < g->ns; i++)
        map[t->model->item[PERP_STATE][i].symbol + PERP__PRE] = perp__symbol(graph, i);
    map[PERP__SYM_T] = t->at.start;
    t->map = map;
    for (int j = 0; j < t->block->nlink && g->phase.named; j++) {
        const perp__plan_link *link = &t->block->link[j];
        perp_expr begins = perp__symbol(graph, g->sym.begin + link->phase),
                  jump = perp__sub(graph, perp__translate(t, link->e),
                                   perp__symbol(graph, link->state)),
                  *pre = &t->at.before[link->state];
        *pre = perp__add(graph, *pre, perp__mul(graph, begins, jump));
    }
}

void perp__set_instant(perp__transcriber *t, perp__reading reading, int c)
{
    t->map = perp__instant_map(&t->at, reading, c);
    t->reading = reading;
}

static int check_at(perp__transcriber *t, perp_expr e, int at)
{
    if (perp__instant_has(&t->at, t->map, e)) return 1;
    perp__plan_error(t, at, "%s", PERP__NOT_AT_START);
    return 0;
}

perp_expr perp__translate_at(perp__transcriber *t, perp_expr e, int at)
{
    return check_at(t, e, at) ? perp__translate(t, e) : 0;
}

/* Rows ---------------------------------------------------------------------------------------- */

int perp__add_row(perp__transcriber *t, perp_expr e, double lo, double hi, const char *text, int at,
                  int condition)
{
    perp__program *g = t->program;
    int K = g->K, capacity = t->crow, n = g->nrow;
    if (!perp__grow(&t->row, &t->crow, n + 1, sizeof *t->row) ||
        !perp__arena_grow(&g->arena, &g->row, &t->crinfo, n + 1, sizeof *g->row)) {
        t->failed = 1;
        return -1;
    }
    if (t->crow > capacity) {
        double *rlo = realloc(g->bound.rlo, (size_t)t->crow * (size_t)K * sizeof *rlo);
        if (rlo) g->bound.rlo = rlo;
        double *rhi = realloc(g->bound.rhi, (size_t)t->crow * (size_t)K * sizeof *rhi);
        if (rhi) g->bound.rhi = rhi;
        if (!rlo || !rhi) {
            t->failed = 1;
            return -1;
        }
    }
    t->row[n] = e;
    g->row[n] = (perp__plan_row){text, at, condition, 0, 0, 0};
    for (int k = 0; k < K; k++) {
        g->bound.rlo[(size_t)n * (size_t)K + (size_t)k] = lo;
        g->bound.rhi[(size_t)n * (size_t)K + (size_t)k] = hi;
    }
    return g->nrow++;
}

static perp_expr equation_row(perp__transcriber *t, int i, int c)
{
    const perp__equation *equation = &t->model->equation[i];
    perp_expr row = 0;
    perp__set_instant(t, PERP__AT_RATES, c);
    if (!check_at(t, equation->left, equation->at) || !check_at(t, equation->right, equation->at))
        return row;
    int degree = perp__instant_row(&t->at, equation, c, &row, NULL);
    t->program->has.rate[i] = degree > 0;
    if (degree < 0) t->failed = 1;
    return row;
}

void perp__add_side(perp__transcriber *t, perp__plan_pair *pair, int side, perp_expr e,
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
    double *bound = (sign > 0 ? g->bound.wlo : g->bound.whi) + (size_t)pair->w[side] * (size_t)g->K;
    for (int k = 0; k < g->K; k++)
        bound[k] = sign > 0 ? fmax(bound[k], offset) : fmin(bound[k], offset);
}

static double number_or_nan(const perp__transcriber *t, perp_expr e)
{
    return t->graph->node[e].op == PERP__CONST ? t->graph->node[e].value : (double)NAN;
}

/* What eps stands for in a pair: of the first side's width. */
static perp_expr relaxation_of(perp__transcriber *t, const perp__plan_pair *pair)
{
    return perp__mul(t->graph, perp__const(t->graph, pair->scale),
                     perp__symbol(t->graph, t->program->sym.relaxation));
}

void perp__bound_product(perp__transcriber *t, perp__plan_pair *pair, perp_expr product,
                         const perp__pair *of)
{
    perp__graph *graph = t->graph;
    pair->product = -1;
    if (t->program->pairs == PERP_PLAN_L1)
        t->cost =
            perp__add(graph, t->cost,
                      perp__mul(graph, perp__symbol(graph, t->program->sym.penalty), product));
    else
        pair->product = perp__add_row(t, product, -INFINITY, 0, of->text, of->at, -1);
}

void perp__join_sides(perp__transcriber *t, perp__plan_pair *pair, perp_expr a, perp_expr b,
                      const perp__pair *of)
{
    perp__graph *graph = t->graph;
    if (t->program->pairs != PERP_PLAN_FISCHER_BURMEISTER) {
        perp__bound_product(t, pair, perp__mul(graph, a, b), of);
        return;
    }
    perp_expr square = perp__add(graph, perp__mul(graph, a, a), perp__mul(graph, b, b)),
              eps = perp__mul(graph, perp__const(graph, 2), relaxation_of(t, pair));
    square = perp__add(graph, square, eps);
    perp_expr fb = perp__sub(graph, perp__add(graph, a, b), perp__unary(graph, PERP__SQRT, square));
    pair->product = perp__add_row(t, fb, 0, 0, of->text, of->at, -1);
}

void perp__push_pair(perp__transcriber *t, perp__plan_pair pair)
{
    perp__program *g = t->program;
    if (perp__arena_grow(&g->arena, &g->pair, &t->cpair, g->npair + 1, sizeof *g->pair))
        g->pair[g->npair++] = pair;
    else
        t->failed = 1;
}

/* One of two pairs by which a pair is switched: of side a and a part of what row `parts` has. The
 * program's index of it. */
static int join_parts(perp__transcriber *t, perp__plan_pair pair, const perp__pair *of, perp_expr a,
                      perp_expr part, int parts, int half)
{
    pair.parts = parts;
    pair.half = half;
    perp__add_side(t, &pair, 0, a, of, 1, a, 0);
    perp__add_side(t, &pair, 1, part, of, 1, part, 0);
    perp__join_sides(t, &pair, a, part, of);
    perp__push_pair(t, pair);
    return t->program->npair - 1;
}

/* A pair that holds where the guard c <= 0 holds at the start of the step, with a = 0 elsewhere.
 * With c = above - below and b = plus - minus: 0 <= above perp below >= 0 and 0 <= a perp plus >=
 * 0, and products of a, above, below, minus that exclude each other are 0. With fixed sides
 * (sides.c), below = 0 switches the pair off. */
static void add_guarded(perp__transcriber *t, perp__plan_pair pair, const perp__pair *of,
                        perp_expr a, perp_expr b, int *split)
{
    perp__graph *graph = t->graph;
    perp__program *g = t->program;
    const perp__node *guard = &t->model->graph.node[of->guard];
    if (guard->op != PERP__LE && guard->op != PERP__LT) {
        perp__plan_error(t, of->at, "a plan switches a pair by one comparison: 'when a <= b'");
        return;
    }
    perp_expr left = perp__translate_at(t, guard->a, of->at),
              right = perp__translate_at(t, guard->b, of->at), part[PERP__GUARD_PARTS];
    int first = pair.point * g->nb + *split;
    for (int i = 0; i < PERP__GUARD_PARTS; i++)
        part[i] = perp__plan_unknown(t, pair.point, (*split)++);
    perp_expr above = part[0], below = part[1], plus = part[2], minus = part[3];
    perp_expr gap = perp__sub(graph, left, right), gap_parts = perp__sub(graph, above, below),
              side_parts = perp__sub(graph, plus, minus),
              kept[PERP__KEPT] = {perp__mul(graph, a, above), perp__mul(graph, a, minus),
                                  perp__mul(graph, minus, below), perp__mul(graph, minus, plus)};
    int of_gap = perp__add_row(t, perp__sub(graph, gap, gap_parts), 0, 0, of->text, of->at, -1);
    int of_side = perp__add_row(t, perp__sub(graph, b, side_parts), 0, 0, of->text, of->at, -1);
    pair.is_guard = 1;
    int switched = join_parts(t, pair, of, above, below, of_gap, 1);
    pair.is_guard = 0;
    pair.switched = switched;
    for (int i = 0; i < PERP__KEPT; i++) {
        int row = perp__add_row(t, kept[i], -INFINITY, 0, of->text, of->at, -1);
        if (i == 0) pair.kept = row;
    }
    pair.minus = first + 3;
    join_parts(t, pair, of, a, plus, of_side, 0);
}

static void add_pair(perp__transcriber *t, int i, int c, int *split)
{
    perp__graph *graph = t->graph;
    const perp__pair *of = &t->model->pair[i];
    perp_expr a = perp__translate_at(t, of->a, of->at), b = perp__translate_at(t, of->b, of->at);
    perp__plan_pair pair = {
        .pair = i, .point = c, .parts = -1, .switched = -1, .kept = -1, .scale = 1};
    if (of->guard >= 0 && (of->two_sided || t->program->npoint > 1)) {
        if (c == 0)
            perp__plan_error(t, of->at,
                             of->two_sided
                                 ? "a plan does not switch two-sided pairs by 'when'; friction "
                                   "ends with its bound, mu times the force of the contact"
                                 : "a plan switches pairs by 'when' from step to step: by "
                                   "'method backward-euler' or 'theta'");
        return;
    }
    if (of->guard >= 0) {
        t->program->has.guards++;
        add_guarded(t, pair, of, a, b, split);
        return;
    }
    if (!of->two_sided) {
        perp__add_side(t, &pair, 0, a, of, 1, a, 0);
        perp__add_side(t, &pair, 1, b, of, 1, b, 0);
        perp__join_sides(t, &pair, a, b, of);
        perp__push_pair(t, pair);
        return;
    }
    perp_expr lo = perp__translate_at(t, of->lo, of->at),
              hi = perp__translate_at(t, of->hi, of->at);
    perp_expr plus = perp__plan_unknown(t, c, *split), minus = perp__plan_unknown(t, c, *split + 1);
    perp_expr above = perp__sub(graph, a, lo), below = perp__sub(graph, hi, a);
    *split += 2;
    perp_expr parts = perp__sub(graph, b, perp__sub(graph, plus, minus));
    double width = number_or_nan(t, hi) - number_or_nan(t, lo);
    if (width > 0 && width < 1) pair.scale = width;
    pair.parts = perp__add_row(t, parts, 0, 0, of->text, of->at, -1);
    perp__add_side(t, &pair, 0, above, of, 1, a, number_or_nan(t, lo));
    perp__add_side(t, &pair, 1, plus, of, 1, plus, 0);
    perp__join_sides(t, &pair, above, plus, of);
    perp__push_pair(t, pair);
    pair.half = 1;
    perp__add_side(t, &pair, 0, below, of, -1, a, number_or_nan(t, hi));
    perp__add_side(t, &pair, 1, minus, of, 1, minus, 0);
    perp__join_sides(t, &pair, below, minus, of);
    perp__push_pair(t, pair);
}

static void add_conditions_of_model(perp__transcriber *t)
{
    const perp__program *g = t->program;
    const perp_model *m = t->model;
    for (int c = 0; c < g->npoint && !t->failed; c++) {
        for (int i = 0; i < m->nequation && !t->failed; i++)
            if (perp__cone_of(m, i) < 0)
                perp__add_row(t, equation_row(t, i, c), 0, 0, m->equation[i].text,
                              m->equation[i].at, PERP__OF_MODEL);
        for (int i = g->ns; i < g->nx; i++) { /* copies of inputs */
            perp_expr u = perp__plan_unknown(t, c, g->nx + g->nv + g->nsplit + i - g->ns);
            const perp__item *item = &m->item[PERP_INPUT][g->input_item[i - g->ns]];
            perp__add_row(t, perp__sub(t->graph, perp__plan_unknown(t, c, i), u), 0, 0, item->name,
                          item->at, -1);
        }
        int split = g->nx + g->nv;
        perp__set_instant(t, PERP__AT_POINT, c);
        for (int i = 0; i < m->npair && !t->failed; i++) add_pair(t, i, c, &split);
        split += g->corner.most;
        perp__transcribe_cones(t, c, &split);
    }
}

void perp__transcribe(perp__transcriber *t)
{
    perp__program *g = t->program;
    PERP_TAKE(&g->arena, t->initial, g->ns);
    if (!t->initial ||
        !perp__instant_create(&t->at, t->model, t->graph, &g->scheme, g->sym.n, g->sym.n + g->ns)) {
        t->failed = 1;
        return;
    }
    t->at.by_differences = g->mesh.is_exact;
    t->map = t->at.known;
    t->cost = perp__const(t->graph, 0);
    map_params_of_phases(t);
    make_time(t);
    place_unknowns(t);
    make_links(t);
    perp__transcribe_ranges(t);
    if (t->errors) return;
    g->has.model_row = g->nrow;
    if (!t->failed) add_conditions_of_model(t);
    g->has.model_end = g->nrow;
    if (!t->failed) perp__transcribe_conditions(t);
    if (!t->failed) perp__transcribe_costs(t);
    if (t->graph->failed) t->failed = 1;
}
