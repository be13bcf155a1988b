/* The public face of a model: loading, queries, parameters, input tables. */

#include "base/input.h"
#include "base/tol.h"
#include "model/blocks.h"
#include "model/inspect.h"
#include "model/model.h"
#include "trajectory/trajectory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status set_value(perp_model *model, const char *name, double value, int is_reading,
                             perp_diag *diag);

/* Loading ------------------------------------------------------------------------------------- */

static perp_status build_from_source(perp_model *model, const perp_model_options *how,
                                     perp_outline *outline, perp_diag *diag)
{
    int ok = perp__graph_init(&model->graph);
    model->graph.strict = model->graph.as_written = 1;
    ok = ok && perp__build(model, how, outline);
    model->graph.strict = 0;
    double *symbol = ok ? malloc((size_t)model->nsymbol * sizeof *symbol) : NULL;
    if (ok) ok = symbol && perp__model_values(model, symbol);
    free(symbol);
    if (model->graph.failed || model->arena.failed || perp__source_lost(&model->source))
        return PERP_ERR_MEMORY; /* errors may be about what was not read */
    if (model->source.nerror) {
        perp__source_report(&model->source, diag);
        return PERP_ERR_MODEL;
    }
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status refuse(perp_diag *diag, perp_status status, const char *name, const char *why)
{
    return perp__refuse(diag, status, perp__in(name), "%s\n", why);
}

static perp__common *make_common(void)
{
    perp__common *common = calloc(1, sizeof *common);
    if (common && pthread_mutex_init(&common->lock, NULL) != 0) {
        free(common);
        return NULL;
    }
    if (common) atomic_init(&common->users, 1);
    return common;
}

static void clear_common(perp__common *common)
{
    if (!common) return;
    if (common->kept) common->release(common->kept);
    pthread_mutex_destroy(&common->lock);
    free(common);
}

perp_status perp__model_read(const char *text, size_t length, const char *name,
                             const perp_model_options *how, perp_outline *outline, perp_model **out,
                             perp_diag *diag)
{
    static const perp_model_options plain = {0};
    if (!how) how = &plain;
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!text || !name) return PERP_ERR_ARG;
    if (length > (size_t)1 << 30)
        return refuse(diag, PERP_ERR_MODEL, name, "the file is too large for a model");
    perp_model *model = calloc(1, sizeof *model);
    if (!model) return perp__out_of_memory(diag, name);

    model->source.text = perp__arena_string(&model->arena, text, length);
    model->source.name = perp__arena_string(&model->arena, name, strlen(name));
    model->source.length = (int)length;
    perp_status status = PERP_ERR_MEMORY;
    model->common = make_common();
    if (model->common && model->source.text && model->source.name &&
        perp__source_lines(&model->source, &model->arena))
        status = build_from_source(model, how, outline, diag);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, name);
    for (int k = 0; k < how->nset && status == PERP_OK && !outline; k++)
        status = set_value(model, how->set[k].name, how->set[k].value, 1, diag);
    if (status == PERP_OK || (outline && status == PERP_ERR_MODEL))
        *out = model;
    else
        perp_model_destroy(model);
    return status;
}

perp_status perp_model_parse_with(const char *text, size_t length, const char *name,
                                  const perp_model_options *how, perp_model **out, perp_diag *diag)
{
    return perp__model_read(text, length, name, how, NULL, out, diag);
}

perp_status perp_model_parse(const char *text, size_t length, const char *name, perp_model **out,
                             perp_diag *diag)
{
    return perp_model_parse_with(text, length, name, NULL, out, diag);
}

perp_status perp__model_load(const char *path, perp__input_kind kind, const perp_model_options *how,
                             perp_model **out, perp_diag *diag)
{
    char *text;
    size_t length;
    const char *why;
    perp_status status = perp__input_read(path, kind, PERP__MODEL_MAX, 1, &text, &length, &why);
    if (status == PERP_ERR_FILE || status == PERP_ERR_DATA)
        refuse(diag, status, path, why);
    else if (status == PERP_ERR_MEMORY)
        perp__out_of_memory(diag, path);
    else
        status = perp_model_parse_with(text, length, path, how, out, diag);
    free(text);
    return status;
}

perp_status perp_model_load_with(const char *path, const perp_model_options *how, perp_model **out,
                                 perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    return path ? perp__model_load(path, PERP__STREAM, how, out, diag) : PERP_ERR_ARG;
}

perp_status perp_model_load(const char *path, perp_model **out, perp_diag *diag)
{
    return perp_model_load_with(path, NULL, out, diag);
}

static void *copy_memory(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    return to ? memcpy(to, from, bytes) : NULL;
}

static void clear_table(perp__table *table)
{
    free(table->time);
    free(table->value);
    free(table->name);
    memset(table, 0, sizeof *table);
}

/* What the last of the copies leaves. */
static void clear_shared(perp_model *model)
{
    for (int k = 0; k < PERP__BLOCKS; k++) perp__blocks[k].clear(model);
    perp__names_clear(&model->item_of);
    free(model->equation);
    free(model->pair);
    free(model->contact);
    perp__source_clear(&model->source);
    perp__arena_clear(&model->arena);
    clear_common(model->common);
}

void perp_model_destroy(perp_model *model)
{
    if (!model) return;
    for (int i = 0; i < model->nitem[PERP_INPUT] && model->item[PERP_INPUT]; i++)
        clear_table(&model->item[PERP_INPUT][i].table);
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) free(model->item[kind]);
    perp__graph_clear(&model->graph);
    if (!model->common || atomic_fetch_sub(&model->common->users, 1) == 1) clear_shared(model);
    free(model);
}

/* Values -------------------------------------------------------------------------------------- */

/* Of the simulate block; NaN where it says nothing. */
static int setting_value(const perp_model *model, perp_expr e, const double *symbol, double *value)
{
    *value = (double)NAN;
    return e < 0 || perp__graph_value(&model->graph, e, symbol, value);
}

/* Ranges and scales that are made of parameters. */
static int follow_ranges(perp_model *model, const double *symbol)
{
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        for (int i = 0; i < model->nitem[kind]; i++) {
            perp__item *item = &model->item[kind][i];
            double *value[] = {&item->lo, &item->hi, &item->scale};
            for (int k = 0; k < 3; k++)
                if (model->graph.node[item->of_params[k]].op != PERP__CONST &&
                    !perp__graph_value(&model->graph, item->of_params[k], symbol, value[k]))
                    return 0;
        }
    return 1;
}

int perp__model_values(perp_model *model, double *symbol)
{
    int np = model->nitem[PERP_PARAM], ns = model->nitem[PERP_STATE];
    for (int s = 0; s < model->nsymbol; s++) symbol[s] = NAN;
    for (int i = 0; i < np + ns; i++) { /* a parameter speaks only of earlier ones */
        perp__item *item = i < np ? &model->item[PERP_PARAM][i] : &model->item[PERP_STATE][i - np];
        if (!item->is_set && item->expr >= 0 &&
            !perp__graph_value(&model->graph, item->expr, symbol, &item->value))
            return 0;
        if (i < np) symbol[item->symbol] = item->value;
    }
    return follow_ranges(model, symbol) &&
           setting_value(model, model->from, symbol, &model->from_value) &&
           setting_value(model, model->to, symbol, &model->to_value) &&
           setting_value(model, model->step, symbol, &model->step_value);
}

int perp__follow_inputs(perp_model *model)
{
    perp__graph *g = &model->graph;
    int any = 0, n = model->nitem[PERP_INPUT], ok = 1;
    for (int i = 0; i < n; i++) any |= model->item[PERP_INPUT][i].written >= 0;
    if (!any) return 1;
    perp_expr *map = malloc((size_t)model->nsymbol * sizeof *map);
    for (int s = 0; map && s < model->nsymbol; s++) map[s] = perp__symbol(g, s);
    for (int i = 0; map && ok && i < n; i++) {
        perp__item *item = &model->item[PERP_INPUT][i];
        if (item->written >= 0) ok = perp__graph_copy(g, g, &item->written, 1, map, &item->expr);
        map[item->symbol] = item->expr;
    }
    free(map);
    return map && ok && !g->failed;
}

/* An input that is written in terms of this one, which must remain an expression; NULL: there is
 * none. Returns 0 when memory is out. */
static int find_user(const perp_model *model, const perp__item *input, const perp__item **user)
{
    *user = NULL;
    for (int i = 0; i < model->nitem[PERP_INPUT] && !*user; i++) {
        const perp__item *item = &model->item[PERP_INPUT][i];
        if (item->written < 0) continue;
        int n, *reach = perp__graph_reach(&model->graph, &item->written, 1, &n);
        if (!reach) return 0;
        for (int k = 0; k < n; k++) {
            const perp__node *node = &model->graph.node[reach[k]];
            if (node->op == PERP__SYMBOL && node->a == input->symbol) *user = item;
        }
        free(reach);
    }
    return 1;
}

const char *perp__unknown_symbol(const perp_model *model, const char *what, const char *name,
                                 perp_symbol_kind first, perp_symbol_kind last, char *text,
                                 size_t size)
{
    enum { MOST = 512 };
    const char *candidate[MOST];
    int n = 0;
    for (int kind = (int)first; kind <= (int)last; kind++) {
        for (int i = 0; i < perp_model_count(model, (perp_symbol_kind)kind) && n < MOST; i++)
            candidate[n++] = model->item[kind][i].name;
    }
    return perp_unknown_word(what, name, candidate, n, "", text, size);
}

/* With the nearest declared name that can be set. */
static perp_status unknown_name(const perp_model *model, const char *name, const char *what,
                                perp_diag *diag)
{
    char text[512];
    perp__unknown_symbol(model, what, name, PERP_PARAM, PERP_STATE, text, sizeof text);
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name), "%s\n", text);
}

/* One whose range is empty, or whose scale is not positive; NULL: there is none. */
static const perp__item *find_empty(const perp_model *model)
{
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        for (int i = 0; i < model->nitem[kind]; i++) {
            const perp__item *item = &model->item[kind][i];
            if (!(item->lo <= item->hi) || !(item->scale >= 0) || isinf(item->scale) ||
                (item->scale == 0 && model->graph.node[item->of_params[2]].op != PERP__CONST))
                return item;
        }
    return NULL;
}

/* All parameters and initial values that match. */
static perp_status set_matching(perp_model *model, const char *pattern, double value,
                                int is_reading, perp_diag *diag)
{
    static const perp_symbol_kind kinds[] = {PERP_PARAM, PERP_STATE};
    int found = 0;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < model->nitem[kinds[k]]; i++) {
            const char *name = model->item[kinds[k]][i].name;
            if (!perp__names_match(pattern, name)) continue;
            perp_status status = set_value(model, name, value, is_reading, diag);
            if (status != PERP_OK) return status;
            found++;
        }
    }
    return found ? PERP_OK
                 : perp__refuse(diag, PERP_ERR_MODEL, perp__in(model->source.name),
                                "no parameter and no state of the model matches '%s'\n", pattern);
}

/* While the model is read its parameters have their values already. */
static perp_status set_value(perp_model *model, const char *name, double value, int is_reading,
                             perp_diag *diag)
{
    perp_symbol_kind kind;
    int i;
    if (strchr(name, '*')) return set_matching(model, name, value, is_reading, diag);
    if (!perp_model_find(model, name, &kind, &i))
        return unknown_name(model, name, "parameter, state or input", diag);
    perp__item *item = &model->item[kind][i];
    const char *wrong = NULL;
    if (kind == PERP_VAR) wrong = "is a var: it is solved for";
    if (kind == PERP_OUTPUT) wrong = "is an output: it is computed";
    int is_fixed = item->is_structural && value != item->value && !is_reading;
    if (is_fixed) wrong = "sets the size of the model; give it when the model is loaded";
    if (!isfinite(value)) wrong = "must be given a finite number";
    if (wrong)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name), "'%s' %s\n", name,
                            wrong);
    if (is_reading && kind == PERP_PARAM) return PERP_OK;
    if (kind == PERP_INPUT) {
        perp_expr constant = perp__const(&model->graph, value);
        if (model->graph.failed) return perp__out_of_memory(diag, model->source.name);
        clear_table(&item->table);
        item->expr = constant;
        item->written = -1;
        if (!perp__follow_inputs(model)) return perp__out_of_memory(diag, model->source.name);
        return PERP_OK;
    }
    perp__item before = *item;
    double *symbol = malloc((size_t)model->nsymbol * sizeof *symbol);
    item->value = value;
    item->is_set = 1;
    int ok = symbol && perp__model_values(model, symbol);
    const perp__item *empty = ok ? find_empty(model) : NULL;
    if (empty) {
        if (empty->lo <= empty->hi)
            perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name),
                         "with %s = %g the scale of '%s' is %g; it must be a positive number\n",
                         name, value, empty->name, empty->scale);
        else
            perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name),
                         "with %s = %g the range of '%s' is empty: %g is not below %g\n", name,
                         value, empty->name, empty->lo, empty->hi);
        item->value = before.value;
        item->is_set = before.is_set;
        ok = perp__model_values(model, symbol);
    }
    free(symbol);
    if (!ok) return perp__out_of_memory(diag, model->source.name);
    return empty ? PERP_ERR_ARG : PERP_OK;
}

perp_status perp_model_set(perp_model *model, const char *name, double value, perp_diag *diag)
{
    return model && name ? set_value(model, name, value, 0, diag) : PERP_ERR_ARG;
}

/* Input tables -------------------------------------------------------------------------------- */

static perp_status bad_column(const perp_trajectory *table, const char *wanted, const char *name,
                              perp_diag *diag)
{
    enum { MOST = 64 };
    const char *candidate[MOST];
    int n = perp_trajectory_columns(table) < MOST ? perp_trajectory_columns(table) : MOST;
    for (int i = 0; i < n; i++) candidate[i] = perp_trajectory_name(table, i);
    const char *near = perp_nearest(wanted, candidate, n);
    perp__refuse(diag, PERP_ERR_DATA, perp__in(name), "no column '%s'", wanted);
    if (near) perp__diag_append(diag, "; did you mean '%s'?", near);
    perp__diag_append(diag, near ? " It has:" : "; it has:");
    perp__list_columns(diag, table);
    return PERP_ERR_DATA;
}

/* Times must increase and everything must be a number. Rows are counted from 1 below the header. */
static perp_status check_samples(const double *time, const double *value, int n, const char *name,
                                 const char *column, perp_diag *diag)
{
    if (n < 2)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                            "%d rows; an input needs at least two to interpolate between\n", n);
    for (int i = 0; i < n; i++) {
        int bad_time = !isfinite(time[i]);
        if (bad_time || !isfinite(value[i]))
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                                "row %d: %s is %g; expected a number\n", i + 1,
                                bad_time ? "t" : column, bad_time ? time[i] : value[i]);
        if (i == 0) continue;
        int far_time = !isfinite(time[i] - time[0]);
        if (far_time || !isfinite(value[i] - value[i - 1]))
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                                "row %d: %s is too far from the row before to interpolate\n", i + 1,
                                far_time ? "t" : column);
        if (time[i] <= time[i - 1])
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                                "row %d: time %.17g is not after %.17g; times must increase\n",
                                i + 1, time[i], time[i - 1]);
    }
    return PERP_OK;
}

int perp__item_set_pieces(perp__item *item, const double *time, const double *value, int n,
                          int points, const char *name)
{
    size_t bytes = (size_t)n * sizeof(double);
    perp__table copy = {n,
                        points,
                        item->lo,
                        item->hi,
                        copy_memory(time, bytes),
                        copy_memory(value, bytes),
                        copy_memory(name, strlen(name) + 1)};
    if (!copy.time || !copy.value || !copy.name) {
        clear_table(&copy);
        return 0;
    }
    clear_table(&item->table);
    item->table = copy;
    item->table_file = item->table_column = NULL;
    item->expr = item->written = -1;
    return 1;
}

int perp__item_set_table(perp__item *item, const double *time, const double *value, int n,
                         const char *name)
{
    return perp__item_set_pieces(item, time, value, n, 0, name);
}

/* What a plan's table says of a column: "held F", one value a piece, or "points 3", rows at the
 * points of a method. Returns 0: neither. */
static int points_of(const perp_trajectory *table, const char *column)
{
    int points = 0;
    for (int i = 0; perp_trajectory_comment(table, i); i++) {
        const char *line = perp_trajectory_comment(table, i);
        if (strncmp(line, "held ", 5) == 0 && strcmp(line + 5, column) == 0) return 1;
        if (strncmp(line, "points ", 7) == 0) points = atoi(line + 7);
    }
    return points;
}

perp_status perp_model_set_input_table(perp_model *model, const char *input,
                                       const perp_trajectory *table, const char *column,
                                       const char *name, perp_diag *diag)
{
    perp_symbol_kind kind;
    int i;
    if (!model || !input || !table) return PERP_ERR_ARG;
    if (!name) name = "table";
    if (!column) column = input;
    if (!perp_model_find(model, input, &kind, &i) || kind != PERP_INPUT)
        return unknown_name(model, input, "input", diag);
    const perp__item *user;
    if (!find_user(model, &model->item[PERP_INPUT][i], &user))
        return perp__out_of_memory(diag, model->source.name);
    if (user)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name),
                            "'%s' cannot have a table: '%s' is written in terms of it\n", input,
                            user->name);
    int t = perp_trajectory_find(table, "t"), v = perp_trajectory_find(table, column),
        n = perp_trajectory_rows(table);
    if (t < 0) return bad_column(table, "t", name, diag);
    if (v < 0) return bad_column(table, column, name, diag);
    const double *time = perp_trajectory_column(table, t),
                 *value = perp_trajectory_column(table, v);
    perp_status status = check_samples(time, value, n, name, column, diag);
    if (status == PERP_OK) status = perp__check_unit(table, t, "s", name, diag);
    if (status == PERP_OK)
        status = perp__check_unit(table, v, model->item[PERP_INPUT][i].unit, name, diag);
    int points = points_of(table, column);
    if (status == PERP_OK && points != 0 && (points < 0 || (n - 1) % points != 0))
        status = perp__refuse(
            diag, PERP_ERR_DATA, perp__in(name),
            "%d rows; 'points %d' needs that many for each step behind the first\n", n, points);
    if (status != PERP_OK) return status;

    return perp__item_set_pieces(&model->item[PERP_INPUT][i], time, value, n, points, name)
               ? PERP_OK
               : perp__out_of_memory(diag, name);
}

const char *perp_model_input_table(const perp_model *model, int input)
{
    if (!model || input < 0 || input >= model->nitem[PERP_INPUT]) return NULL;
    return model->item[PERP_INPUT][input].table.name;
}

int perp_model_settle_inputs(perp_model *model)
{
    static const double always[] = {-1e15,
                                    1e15}; /* a constant would be folded into the equations */
    int n = 0;
    for (int i = 0; model && i < model->nitem[PERP_INPUT]; i++) {
        perp__item *item = &model->item[PERP_INPUT][i];
        if (item->expr >= 0 || item->table.n > 0) continue;
        double middle = item->lo / 2 + item->hi / 2;
        if (!isfinite(middle)) middle = 0;
        double value[] = {middle, middle};
        if (!perp__item_set_table(item, always, value, 2, "no value")) return -1;
        n++;
    }
    return n;
}

/* By the polynomial of the piece that ends at t or behind it, up to rounding. */
static double piece_value(const perp__table *table, double t, int *hint)
{
    int s = table->points, n = (table->n - 1) / s, k = *hint < 0 || *hint > n - 1 ? 0 : *hint;
    const double *end = table->time + s, *time, *value;
    double sum = 0;
    while (k > 0 && t <= end[s * (k - 1)]) k--;
    while (k < n - 1 && t > end[s * k]) k++;
    double slack = PERP_TOL_SAME * (end[s * k] - end[s * (k - 1)]) + DBL_EPSILON * fabs(t);
    if (k > 0 && t <= end[s * (k - 1)] + slack) k--; /* a step's end, computed from its start */
    *hint = k;
    time = table->time + 1 + s * k;
    value = table->value + 1 + s * k;
    for (int i = 0; i < s; i++) {
        double basis = 1;
        for (int j = 0; j < s; j++)
            if (j != i) basis *= (t - time[j]) / (time[i] - time[j]);
        sum += basis * value[i];
    }
    return s > 1 ? fmax(table->lo, fmin(table->hi, sum)) : sum;
}

double perp__table_value(const perp__table *table, double t, int *hint)
{
    const double *time = table->time;
    int n = table->n, k = *hint < 0 || *hint > n - 2 ? 0 : *hint;
    double slack = PERP_TOL_WHOLE * (time[n - 1] - time[0]) +
                   PERP_TOL_SAME * fabs(t); /* rounding of t0 + k h */
    if (!(t >= time[0] - slack && t <= time[n - 1] + slack)) return NAN;
    if (table->points) return piece_value(table, t, hint);
    while (k < n - 2 && t >= time[k + 1]) k++;
    while (k > 0 && t < time[k]) k--;
    *hint = k;
    double s = (t - time[k]) / (time[k + 1] - time[k]);
    if (s <= 0) return table->value[k];
    if (s >= 1) return table->value[k + 1];
    return table->value[k] + s * (table->value[k + 1] - table->value[k]);
}

double perp__table_slope(const perp__table *table, double t, int *hint)
{
    if (table->n < 2 || isnan(perp__table_value(table, t, hint))) return 0;
    int k = *hint;
    return (table->value[k + 1] - table->value[k]) / (table->time[k + 1] - table->time[k]);
}

/* Copies ---------------------------------------------------------------------------------------
 */

static int copy_items(perp_model *to, const perp_model *from)
{
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++) {
        int n = from->nitem[kind];
        if (n == 0) continue;
        to->item[kind] = copy_memory(from->item[kind], (size_t)n * sizeof(perp__item));
        if (!to->item[kind]) return 0;
        for (int i = 0; i < n; i++) to->item[kind][i].table = (perp__table){0};
    }
    for (int i = 0; i < from->nitem[PERP_INPUT]; i++) {
        const perp__table *table = &from->item[PERP_INPUT][i].table;
        if (table->n > 0 &&
            !perp__item_set_pieces(&to->item[PERP_INPUT][i], table->time, table->value, table->n,
                                   table->points, table->name))
            return 0;
    }
    return 1;
}

perp_status perp__model_clone(const perp_model *model, perp_model **out)
{
    perp_model *m = copy_memory(model, sizeof *m);
    *out = NULL;
    if (!m) return PERP_ERR_MEMORY;
    memset(&m->graph, 0, sizeof m->graph);
    memset(m->item, 0, sizeof m->item);
    atomic_fetch_add(&m->common->users, 1);
    if (copy_items(m, model) && perp__graph_clone(&m->graph, &model->graph)) {
        *out = m;
        return PERP_OK;
    }
    perp_model_destroy(m);
    return PERP_ERR_MEMORY;
}

/* Queries ------------------------------------------------------------------------------------- */

const char *perp_model_name(const perp_model *model)
{
    return model->name[0] ? model->name : "unnamed";
}

const char *perp_model_file(const perp_model *model)
{
    return model->source.name;
}

const char *perp_model_source(const perp_model *model, size_t *length)
{
    const perp__source *s = &model->source;
    *length = (size_t)(s->nfile > 1 ? s->file[1].at - 1 : s->length);
    return s->text;
}

perp_model_kind perp_model_get_kind(const perp_model *model)
{
    return model->kind;
}

perp_simulate_task perp_model_simulate_task(const perp_model *model)
{
    return (perp_simulate_task){model->from_value, model->to_value, model->step_value,
                                model->method.text};
}

int perp_model_count(const perp_model *model, perp_symbol_kind kind)
{
    if ((unsigned)kind >= PERP_SYMBOL_KINDS) return 0;
    return kind == PERP_VAR ? model->nvar : model->nitem[kind];
}

perp_symbol perp_model_symbol(const perp_model *model, perp_symbol_kind kind, int i)
{
    if (i < 0 || i >= perp_model_count(model, kind))
        return (perp_symbol){"", "", NAN, NAN, NAN, 0, 0, ""};
    const perp__item *item = &model->item[kind][i];
    perp__place place = perp__source_place(&model->source, item->at);
    return (perp_symbol){item->name, item->unit,      item->value,       item->lo,
                         item->hi,   (int)place.line, (int)place.column, place.file};
}

int perp_model_find(const perp_model *model, const char *name, perp_symbol_kind *kind, int *index)
{
    int found = perp__names_find(&model->item_of, name);
    if (found < 0) return 0;
    if (kind) *kind = (perp_symbol_kind)(found % PERP_SYMBOL_KINDS);
    if (index) *index = found / PERP_SYMBOL_KINDS;
    return 1;
}

static perp_statement statement(const perp_model *model, const char *text, int at)
{
    perp__place place = perp__source_place(&model->source, at);
    return (perp_statement){text, (int)place.line, (int)place.column, place.file};
}

int perp_model_equations(const perp_model *model)
{
    return model->nequation;
}

perp_statement perp_model_equation(const perp_model *model, int i)
{
    if (i < 0 || i >= model->nequation) return (perp_statement){"", 0, 0, ""};
    return statement(model, model->equation[i].text, model->equation[i].at);
}

int perp_model_pairs(const perp_model *model)
{
    return model->npair;
}

perp_statement perp_model_pair(const perp_model *model, int i)
{
    if (i < 0 || i >= model->npair) return (perp_statement){"", 0, 0, ""};
    return statement(model, model->pair[i].text, model->pair[i].at);
}

const char *perp_model_pair_side(const perp_model *model, int i, int side)
{
    if (i < 0 || i >= model->npair || side < 0 || side > 1) return "";
    return model->pair[i].side[side];
}

int perp_model_pair_is_two_sided(const perp_model *model, int i)
{
    return i >= 0 && i < model->npair && model->pair[i].two_sided;
}
