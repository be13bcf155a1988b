/* What each name of the model is at an instant, as expressions or as numbers. */

#include "model/instant.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rules ---------------------------------------------------------------------------------------- */

static int is_weighted(perp__reading reading)
{
    return reading <= PERP__AT_WEIGHTED;
}

static int has_point(perp__reading reading)
{
    return reading < PERP__AT_START;
}

/* Is a bare state the one before the step? */
static int is_bare_before(const perp_model *m, perp__reading reading)
{
    return !has_point(reading) || (m->kind == PERP_DISCRETE && reading != PERP__AT_ROW);
}

/* Expressions ---------------------------------------------------------------------------------- */

int perp__instant_create(perp__instant *at, const perp_model *m, perp__graph *graph,
                         const perp__scheme *scheme, int rate, int symbols)
{
    size_t ns = (size_t)m->nitem[PERP_STATE], nu = (size_t)m->nitem[PERP_INPUT],
           n = (size_t)scheme->npoint, nm = (size_t)m->nsymbol;
    *at = (perp__instant){.model = m, .graph = graph, .scheme = *scheme, .rate = rate};
    at->known = malloc((1 + PERP__READINGS) * nm * sizeof(perp_expr));
    at->before =
        malloc(((n + 1) * (ns + nu) + n * (size_t)m->nitem[PERP_VAR] + 1) * sizeof(perp_expr));
    at->rate_column = malloc((size_t)symbols * sizeof(int));
    at->without_rates = malloc((size_t)symbols * sizeof(perp_expr));
    if (!at->known || !at->before || !at->rate_column || !at->without_rates) return 0;
    for (int k = 0; k < PERP__READINGS; k++) at->map[k] = at->known + (size_t)(k + 1) * nm;
    at->state = at->before + ns;
    at->input_before = at->state + n * ns;
    at->input = at->input_before + nu;
    at->var = at->input + n * nu;
    for (size_t k = 0; k < nm; k++) at->known[k] = -1;
    for (int s = 0; s < symbols; s++) {
        int is_rate = s >= rate && s < rate + (int)ns;
        at->rate_column[s] = is_rate ? s - rate : -1;
        at->without_rates[s] = is_rate ? perp__const(graph, 0) : perp__symbol(graph, s);
    }
    return 1;
}

/* As when no map is made. */
static void forget_copies(perp__instant *at)
{
    memset(at->is_made, 0, sizeof at->is_made);
    for (int k = 0; k < PERP__READINGS; k++) {
        for (int strict = 0; strict < 2; strict++) {
            free(at->copy[k][strict]);
            at->copy[k][strict] = NULL;
        }
    }
}

void perp__instant_clear(perp__instant *at)
{
    forget_copies(at);
    free(at->known);
    free(at->before);
    free(at->rate_column);
    free(at->without_rates);
    memset(at, 0, sizeof *at);
}

static perp_expr translate(const perp__instant *at, perp_expr e, const perp_expr *map)
{
    perp_expr result = 0;
    perp__graph_copy(at->graph, &at->model->graph, &e, 1, map, &result);
    return result;
}

perp_expr perp__instant_param(perp__instant *at, int i)
{
    const perp__item *item = &at->model->item[PERP_PARAM][i];
    if (item->is_set || item->expr < 0) return perp__const(at->graph, item->value);
    return translate(at, item->expr, at->known);
}

/* The numbers are symbols, by their index; all others expressions of these. */
static perp_expr param_of_numbers(perp__instant *at, int i)
{
    int is_number = perp__is_number(at->model, &at->model->item[PERP_PARAM][i]);
    return is_number ? perp__symbol(at->graph, i) : perp__instant_param(at, i);
}

int perp__params_move(const perp_model *m, const double *seed, double *move)
{
    int n = m->nitem[PERP_PARAM], symbols = n + m->nitem[PERP_STATE];
    perp__graph graph = {0};
    perp__scheme scheme = perp__scheme_make("backward-euler", 1);
    perp__instant at;
    perp__sparse_row slope = {0};
    double *value = calloc((size_t)symbols + 1, sizeof *value), term;
    int *column = malloc(((size_t)symbols + 1) * sizeof *column);
    (void)perp__const(&graph, 0); /* an adjoint that is none yet */
    int ok = perp__instant_create(&at, m, &graph, &scheme, n, symbols) && value && column;
    for (int i = 0; i < symbols && ok; i++) {
        column[i] = i < n ? i : -1;
        if (i < n) value[i] = m->item[PERP_PARAM][i].value;
    }
    for (int i = 0; i < n && ok; i++) {
        perp_expr e = param_of_numbers(&at, i);
        at.known[m->item[PERP_PARAM][i].symbol] = e;
        move[i] = 0;
        ok = perp__gradient(&graph, e, column, &slope);
        for (int k = 0; k < slope.count && ok; k++) {
            if (seed[slope.column[k]] == 0) continue;
            ok = perp__graph_value(&graph, slope.entry[k], value, &term);
            if (ok) move[i] += term * seed[slope.column[k]];
        }
    }
    ok = ok && !graph.failed;
    perp__sparse_row_clear(&slope);
    perp__instant_clear(&at);
    perp__graph_clear(&graph);
    free(column);
    free(value);
    return ok;
}

/* theta now + (1 - theta) before */
static perp_expr weigh(const perp__instant *at, perp__reading reading, perp_expr now,
                       perp_expr before)
{
    perp__graph *g = at->graph;
    if (at->scheme.theta == 1 || !is_weighted(reading)) return now;
    perp_expr rest = perp__sub(g, perp__const(g, 1), at->theta);
    return perp__add(g, perp__mul(g, at->theta, now), perp__mul(g, rest, before));
}

static void map_inputs(perp__instant *at, perp__reading reading, perp_expr *map)
{
    const perp_model *m = at->model;
    int n = m->nitem[PERP_INPUT];
    perp_expr t = map[PERP__SYM_T];
    for (int i = 0; i < n; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        perp_expr now = at->input[at->point * n + i], before = at->input_before[i];
        if (now < 0) {
            now = translate(at, item->expr, map);
            map[PERP__SYM_T] = at->start;
            before = translate(at, item->expr, map);
            map[PERP__SYM_T] = t;
        } else if (!has_point(reading)) {
            now = before;
        }
        map[item->symbol + PERP__NOW] = weigh(at, reading, now, before);
        if (reading == PERP__AT_BEGIN)
            map[item->symbol + PERP__INPUT_PRE] = -1;
        else if (at->is_limit)
            map[item->symbol + PERP__INPUT_PRE] = now;
        else
            map[item->symbol + PERP__INPUT_PRE] = before;
    }
}

perp_expr perp__instant_slope(const perp__instant *at, int i, int point)
{
    perp__graph *g = at->graph;
    const double *D = at->scheme.D[point]; /* which add up to 0 */
    int n = at->model->nitem[PERP_STATE];
    perp_expr before = at->before[i], sum;
    sum = at->by_differences ? perp__const(g, 0) : perp__mul(g, perp__const(g, D[0]), before);
    for (int j = 0; j < at->scheme.npoint; j++) {
        perp_expr x = at->state[j * n + i];
        if (at->by_differences) x = perp__sub(g, x, before);
        sum = perp__add(g, sum, perp__mul(g, perp__const(g, D[j + 1]), x));
    }
    return sum;
}

static perp_expr derivative(const perp__instant *at, perp__reading reading, int i)
{
    if (!has_point(reading)) return -1;
    if (reading == PERP__AT_RATES) return perp__symbol(at->graph, at->rate + i);
    return perp__div(at->graph, perp__instant_slope(at, i, at->point), at->h);
}

static void map_states(perp__instant *at, perp__reading reading, perp_expr *map)
{
    const perp_model *m = at->model;
    int n = m->nitem[PERP_STATE];
    for (int i = 0; i < n; i++) {
        perp_expr *x = map + m->item[PERP_STATE][i].symbol, pre = at->before[i],
                  now = at->state[at->point * n + i];
        x[PERP__NEXT] = has_point(reading) ? now : -1;
        if (reading == PERP__AT_BEGIN)
            x[PERP__PRE] = -1;
        else if (at->is_limit && has_point(reading))
            x[PERP__PRE] = now;
        else
            x[PERP__PRE] = pre;
        x[PERP__NOW] = is_bare_before(m, reading) ? pre : weigh(at, reading, now, pre);
        x[PERP__DER] = derivative(at, reading, i);
    }
}

const perp_expr *perp__instant_map(perp__instant *at, perp__reading reading, int point)
{
    const perp_model *m = at->model;
    perp_expr *map = at->map[reading];
    if (at->point != point) forget_copies(at);
    at->point = point;
    if (at->is_made[reading]) return map;
    at->is_made[reading] = 1;
    int is_begin = reading == PERP__AT_BEGIN, nv = m->nitem[PERP_VAR];
    memcpy(map, at->known, (size_t)m->nsymbol * sizeof *map);
    map[PERP__SYM_T] = has_point(reading) ? at->time[point] : at->start;
    if (is_begin)
        map[PERP__SYM_T_PRE] = -1;
    else if (at->is_limit && has_point(reading))
        map[PERP__SYM_T_PRE] = at->time[point];
    else
        map[PERP__SYM_T_PRE] = at->start;
    map[PERP__SYM_H] = is_begin ? -1 : at->h;
    map_inputs(at, reading, map);
    map[PERP__SYM_T] = weigh(at, reading, map[PERP__SYM_T], at->start);
    map_states(at, reading, map);
    for (int i = 0; i < nv && has_point(reading); i++)
        map[m->item[PERP_VAR][i].symbol] = at->var[point * nv + i];
    return map;
}

perp_expr perp__instant_read(perp__instant *at, perp_expr e, perp__reading reading, int point)
{
    const perp_expr *map = perp__instant_map(at, reading, point);
    perp_expr **copy = &at->copy[reading][at->graph->strict != 0];
    if (!*copy && at->model->graph.count > 0) {
        size_t size = (size_t)at->model->graph.count * sizeof **copy;
        *copy = malloc(size);
        if (!*copy) at->graph->failed = 1;
        if (*copy) memset(*copy, -1, size);
    }
    return *copy ? perp__graph_copy_kept(at->graph, &at->model->graph, e, map, *copy) : 0;
}

int perp__instant_has(perp__instant *at, const perp_expr *map, perp_expr e)
{
    const perp__graph *g = &at->model->graph;
    int n, ok = 1, *reach = perp__graph_reach(g, &e, 1, &n);
    if (!reach) at->graph->failed = 1;
    for (int k = 0; reach && k < n; k++)
        if (g->node[reach[k]].op == PERP__SYMBOL && map[g->node[reach[k]].a] < 0) ok = 0;
    free(reach);
    return ok;
}

static perp_expr difference(perp__instant *at, const perp__equation *e, perp__reading reading,
                            int point)
{
    perp_expr right = perp__instant_read(at, e->right, reading, point);
    return perp__sub(at->graph, perp__instant_read(at, e->left, reading, point), right);
}

/* h R0 + sum C_i (h slope_i) */
static perp_expr affine_row(const perp__instant *at, perp_expr R, const perp__sparse_row *C)
{
    perp__graph *g = at->graph;
    perp_expr row = R;
    perp__graph_copy(g, g, &R, 1, at->without_rates, &row);
    row = perp__mul(g, at->h, row);
    for (int k = 0; k < C->count && !g->failed; k++)
        row = perp__add(
            g, row, perp__mul(g, C->entry[k], perp__instant_slope(at, C->column[k], at->point)));
    return row;
}

int perp__instant_row(perp__instant *at, const perp__equation *e, int point, perp_expr *row,
                      perp__sparse_row *rates)
{
    perp__graph *g = at->graph;
    perp__sparse_row C = {0};
    perp_expr R = difference(at, e, PERP__AT_RATES, point);
    int degree = perp__degree(g, R, at->rate_column, NULL);
    if (degree < 0 || (degree > 0 && !perp__gradient(g, R, at->rate_column, &C))) g->failed = 1;
    if (!g->failed) {
        if (degree == 1)
            *row = affine_row(at, R, &C);
        else if (degree == 0)
            *row = difference(at, e, PERP__AT_POINT, point);
        else
            *row = difference(at, e, PERP__AT_WEIGHTED, point);
    }
    if (rates)
        *rates = C;
    else
        perp__sparse_row_clear(&C);
    return g->failed ? -1 : degree;
}

/* Numbers -------------------------------------------------------------------------------------- */

void perp__put_numbers(const perp_model *m, const perp__numbers *from, perp__reading reading,
                       double *symbol)
{
    int here = has_point(reading);
    double a = is_weighted(reading) ? from->theta : 1, b = 1 - a, nan = (double)NAN;
    symbol[PERP__SYM_H] = from->h;
    symbol[PERP__SYM_T_PRE] = from->start;
    if (!here)
        symbol[PERP__SYM_T] = from->start;
    else if (a < 1)
        symbol[PERP__SYM_T] = a * from->time + b * from->start;
    else
        symbol[PERP__SYM_T] = from->time;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        double *u = symbol + m->item[PERP_INPUT][i].symbol;
        double before = from->value(from->context, PERP_INPUT, i, 1),
               now = here ? from->value(from->context, PERP_INPUT, i, 0) : before;
        u[PERP__NOW] = a < 1 ? a * now + b * before : now;
        u[PERP__INPUT_PRE] = before;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        double *x = symbol + m->item[PERP_STATE][i].symbol;
        double pre = from->value(from->context, PERP_STATE, i, 1),
               now = here ? from->value(from->context, PERP_STATE, i, 0) : nan;
        if (is_bare_before(m, reading))
            x[PERP__NOW] = pre;
        else if (a < 1)
            x[PERP__NOW] = a * now + b * pre;
        else
            x[PERP__NOW] = now;
        if (!here)
            x[PERP__DER] = nan;
        else if (from->slope)
            x[PERP__DER] = from->slope(from->context, i);
        else
            x[PERP__DER] = (now - pre) / from->h;
        x[PERP__NEXT] = now;
        x[PERP__PRE] = pre;
    }
    for (int i = 0; i < m->nitem[PERP_VAR]; i++)
        symbol[m->item[PERP_VAR][i].symbol] =
            here ? from->value(from->context, PERP_VAR, i, 0) : nan;
}

void perp__put_inputs(const perp_model *m, double t, int offset, double *symbol, double *value)
{
    perp_expr last = -1;
    symbol[PERP__SYM_T] = t;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        if (m->item[PERP_INPUT][i].expr > last) last = m->item[PERP_INPUT][i].expr;
    perp__graph_values_to(&m->graph, last, symbol, value);
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int hint = 0;
        if (item->table.n)
            symbol[item->symbol + offset] = perp__table_value(&item->table, t, &hint);
        else if (item->expr >= 0)
            symbol[item->symbol + offset] = value[item->expr];
        else
            symbol[item->symbol + offset] = (double)NAN;
    }
}
