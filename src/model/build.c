/* Syntax tree to model: declares the names, has the conditions added, reads the blocks, and checks that every name is declared
 * once, every var used, and that there are as many conditions as unknowns. */

#include "model/builder.h"
#include "model/blocks.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Declarations -------------------------------------------------------------------------------- */

static perp_symbol_kind symbol_kind(perp__statement_kind kind)
{
    switch (kind) {
    case STATEMENT_PARAM: return PERP_PARAM;
    case STATEMENT_INPUT: return PERP_INPUT;
    case STATEMENT_STATE: return PERP_STATE;
    case STATEMENT_VAR: return PERP_VAR;
    default: return PERP_OUTPUT;
    }
}

/* Numbers of a `in [lo, hi]`. */
static void lower_range(perp__builder *b, const perp__statement *s, double *lo, double *hi)
{
    *lo = -INFINITY, *hi = INFINITY;
    if (!s->lo || !s->hi) return;
    perp__value vl = perp__lower_in(b, SCOPE_PARAM, s->lo),
                vh = perp__lower_in(b, SCOPE_PARAM, s->hi);
    *lo = perp__constant_value(b, perp__element(&vl, 0), 0);
    *hi = perp__constant_value(b, perp__element(&vh, 0), 0);
    if (!(*lo <= *hi))
        perp__error(b->source, s->lo->at, s->hi->end,
                    "the range of '%s' is empty: %g is not below %g", s->name, *lo, *hi);
}

/* The number of a `scale`; 0 without one. */
static double lower_scale(perp__builder *b, const perp__statement *s)
{
    if (!s->scale) return 0;
    int errors = b->source->nerror;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s->scale);
    double scale = perp__constant_value(b, perp__element(&v, 0), 0);
    if (b->source->nerror == errors && (v.ndim || !(scale > 0) || isinf(scale)))
        perp__error(b->source, s->scale->at, s->scale->end,
                    "the scale of '%s' must be a positive number", s->name);
    return scale;
}

static const char *element_name(perp__builder *b, const perp__declared *d, int i)
{
    char buffer[300];
    if (d->ndim == 0) return d->name;
    if (d->ndim == 1)
        snprintf(buffer, sizeof buffer, "%s[%d]", d->name, i + 1);
    else
        snprintf(buffer, sizeof buffer, "%s[%d,%d]", d->name, i / d->dim[1] + 1, i % d->dim[1] + 1);
    const char *name = perp__arena_string(b->arena, buffer, strlen(buffer));
    if (!name) b->failed = 1;
    return name ? name : "";
}

static void enter_item(perp__builder *b, perp_symbol_kind kind, int i)
{
    if (i > (INT_MAX - (int)kind) / PERP_SYMBOL_KINDS ||
        !perp__names_add(&b->model->item_of, perp__item_at(b, kind, i)->name,
                         i * PERP_SYMBOL_KINDS + (int)kind))
        b->failed = 1;
}

/* Enter the name, and its items with their symbols but no expressions yet. NULL if that cannot be.
 */
static perp__declared *declare(perp__builder *b, const perp__statement *s)
{
    static const int symbols_of[] = {1, 2, 4, 1, 0};
    perp_model *m = b->model;
    perp__declared *twin = perp__find_declared(b, s->name);
    if (twin) {
        perp__place first = perp__source_place(b->source, twin->at);
        perp__error(b->source, s->name_at, s->name_end, "'%s' is already declared at %ld:%ld",
                    s->name, first.line, first.column);
        return NULL;
    }
    perp_symbol_kind kind = symbol_kind(s->kind);
    perp__declared fresh = {s->name,        kind,       s->ndim,     {1, 1}, 1,
                            m->nitem[kind], s->name_at, s->name_end, 1},
                   *d = &fresh;
    for (int k = 0; k < s->ndim; k++) {
        if (perp__lower_integer(b, s->dim[k], "a size", &d->dim[k]) &&
            (d->dim[k] < 1 || d->dim[k] > MAX_ELEMENTS)) {
            perp__error(b->source, s->dim[k]->at, s->dim[k]->end, "a size must be from 1 to %d",
                        MAX_ELEMENTS);
            d->dim[k] = 1;
        }
    }
    if ((double)d->dim[0] * d->dim[1] > MAX_ELEMENTS) {
        perp__error(b->source, s->name_at, s->name_end, "'%s' has too many elements", s->name);
        d->dim[0] = d->dim[1] = 1;
    }
    d->n = d->dim[0] * d->dim[1];
    double lo, hi, scale = lower_scale(b, s); /* like the sizes, before the name is known */
    lower_range(b, s, &lo, &hi);
    if (!perp__grow(&b->name, &b->cname, b->nname + 1, sizeof *b->name) ||
        !perp__grow(&m->item[kind], &b->citem[kind], m->nitem[kind] + d->n, sizeof(perp__item)) ||
        !perp__names_add(&b->name_of, s->name, b->nname)) {
        b->failed = 1;
        return NULL;
    }
    b->name[b->nname] = fresh;
    d = &b->name[b->nname++];
    for (int i = 0; i < d->n && !b->failed; i++) {
        m->item[kind][m->nitem[kind]++] =
            (perp__item){.name = element_name(b, d, i),
                         .unit = s->unit ? s->unit : "",
                         .at = s->name_at,
                         .end = s->name_end,
                         .symbol = perp__add_symbols(b, symbols_of[kind]),
                         .expr = -1,
                         .value = NAN,
                         .lo = lo,
                         .hi = hi,
                         .scale = scale};
        enter_item(b, kind, m->nitem[kind] - 1);
    }
    return d;
}

/* Give a declared name's items their expressions. */
static void assign_value(perp__builder *b, const perp__statement *s, const perp__declared *d,
                         perp__value v)
{
    if (b->failed || !v.e) return;
    if (v.ndim && (v.ndim != d->ndim || v.dim[0] != d->dim[0] || v.dim[1] != d->dim[1])) {
        perp__value shape = {d->ndim, {d->dim[0], d->dim[1]}, d->n, NULL};
        char is[64], should[64];
        perp__shape_text(&v, is, sizeof is);
        perp__shape_text(&shape, should, sizeof should);
        perp__error(b->source, s->value->at, s->value->end, "the value of '%s' is %s; expected %s",
                    s->name, is, should);
        return;
    }
    for (int i = 0; i < d->n; i++)
        perp__item_at(b, d->kind, d->first + i)->expr = perp__element(&v, i);
}

static void assign(perp__builder *b, const perp__statement *s, perp__scope where)
{
    const perp__declared *d = perp__find_declared(b, s->name);
    if (d && d->at == s->name_at) assign_value(b, s, d, perp__lower_in(b, where, s->value));
}

/* Say why a parameter's value is no number: where in its expression the fault is. */
static void report_not_finite(perp__builder *b, const perp__statement *s, const perp__item *item)
{
    double *symbol = malloc((size_t)b->model->nsymbol * sizeof *symbol);
    if (!symbol || !perp__model_values(b->model, symbol)) b->failed = 1;
    int node = b->failed ? -1 : perp__graph_not_finite(b->graph, &item->expr, 1, symbol);
    if (node >= 0 && b->graph->node[node].op == PERP__DIV)
        perp__error(b->source, b->graph->node[node].source, 0,
                    "division by zero in the value of '%s'", item->name);
    else
        perp__error(b->source, s->value->at, s->value->end,
                    "the value of '%s' is not a finite number", item->name);
    free(symbol);
}

/* Is a parameter that the value reads at fault? It was reported where it is declared. */
static int rests_on_fault(perp__builder *b, const perp__item *item)
{
    int n, found = 0, *reach = perp__graph_reach(b->graph, &item->expr, 1, &n);
    for (int k = 0; reach && k < n; k++) {
        const perp__node *node = &b->graph->node[reach[k]];
        found |= node->op == PERP__SYMBOL && node->a != item->symbol && isnan(b->symbol[node->a]);
    }
    free(reach);
    return found;
}

static void declare_param(perp__builder *b, const perp__statement *s)
{
    perp__declared *d = declare(b, s);
    if (!d || b->failed) return;
    d->is_known = 0;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s->value);
    d->is_known = 1;
    assign_value(b, s, d, v);
    for (int i = d->first; i < d->first + d->n && !b->failed; i++) {
        perp__item *item = perp__item_at(b, PERP_PARAM, i);
        if (item->expr < 0) continue;
        b->symbol[item->symbol] = item->value = perp__constant_value(b, item->expr, 0);
        if (!isfinite(item->value) && !rests_on_fault(b, item)) report_not_finite(b, s, item);
    }
}

static void declare_all(perp__builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_PARAM)
            declare_param(b, s);
        else if (perp__is_declaration(s->kind))
            declare(b, s);
        else if (s->kind == STATEMENT_MODEL && b->model->name[0])
            perp__error(b->source, s->name_at, s->name_end, "the model has a name already: '%s'",
                        b->model->name);
        else if (s->kind == STATEMENT_MODEL)
            b->model->name = s->name;
    }
}

const char *perp__beside(struct builder *b, const char *name)
{
    const char *file = b->source->name, *slash = strrchr(file, '/');
    size_t folder = slash && name[0] != '/' ? (size_t)(slash - file) + 1 : 0;
    char *path = perp__arena_alloc(b->arena, folder + strlen(name) + 1);
    if (!path) {
        b->failed = 1;
        return NULL;
    }
    memcpy(path, file, folder);
    strcpy(path + folder, name);
    return path;
}

/* The file beside the model that `input name = table("file")` names. */
static void read_table(perp__builder *b, const perp__statement *s)
{
    perp__declared *d = perp__find_declared(b, s->name);
    if (!d || d->at != s->name_at) return;
    const char *path = perp__beside(b, s->table);
    if (!path) return;
    struct stat found;
    if (stat(path, &found) == 0 &&
        !S_ISREG(found.st_mode)) { /* a pipe would hang, whoever reads the model */
        perp__error(b->source, s->table_at, s->table_end, "the table '%s' is no regular file",
                    path);
        return;
    }
    perp_diag diag = {0};
    perp_trajectory *table = NULL;
    perp_status status = perp_trajectory_read(path, &table, &diag);
    if (d->n > 1) {
        perp__error(b->source, s->table_at, s->table_end, "give each element of '%s' its own table",
                    d->name);
    } else {
        if (status == PERP_OK)
            status =
                perp_model_set_input_table(b->model, d->name, table, s->table_column, path, &diag);
        if (status == PERP_ERR_MEMORY)
            b->failed = 1;
        else if (status != PERP_OK) {
            size_t n = strcspn(perp_diag_text(&diag), "\n");
            perp__error(b->source, s->table_at, s->table_end, "%.*s", (int)n,
                        perp_diag_text(&diag));
        }
    }
    perp_trajectory_destroy(table);
    perp_diag_clear(&diag);
}

static void assign_all(perp__builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_STATE) assign(b, s, SCOPE_PARAM);
        if (s->kind == STATEMENT_INPUT) assign(b, s, SCOPE_INPUT);
        if (s->kind == STATEMENT_INPUT && s->table) read_table(b, s);
        if (s->kind == STATEMENT_OUTPUT) assign(b, s, SCOPE_OUTPUT);
    }
}

static perp_expr lower_setting(perp__builder *b, const perp__syntax *s, perp_expr former)
{
    if (!s) return former;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s);
    if (v.ndim) perp__error(b->source, s->at, s->end, "expected a number");
    return perp__element(&v, 0);
}

static void read_block(perp__builder *b, const perp__statement *s)
{
    const perp__block_row *row = &perp__blocks[s->block_kind];
    if (row->has(b->model))
        perp__error(b->source, s->at, s->at + (int)strlen(row->word),
                    "the model has one %s block already", row->word);
    else if (!row->read(b, b->model, s))
        b->failed = 1;
}

static void read_settings(perp__builder *b, const perp__statement *s)
{
    perp_model *m = b->model;
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_BLOCK) read_block(b, s);
        if (s->kind != STATEMENT_SIMULATE) continue;
        m->from = lower_setting(b, s->from, m->from);
        m->to = lower_setting(b, s->to, m->to);
        m->step = lower_setting(b, s->step, m->step);
        if (s->method.text) m->method = s->method;
        if (s->step && m->step >= 0 && perp__constant_value(b, m->step, 0) <= 0)
            perp__error(b->source, s->step->at, s->step->end, "the step must be positive");
    }
}

/* Blocks -------------------------------------------------------------------------------------- */

int perp__lower_block(struct builder *b, const perp__syntax *s, int where, perp_expr **e, int *n)
{
    static const perp__scope scopes[] = {SCOPE_PARAM, SCOPE_INPUT, SCOPE_OUTPUT};
    int errors = b->source->nerror;
    perp__value v = perp__lower_in(b, scopes[where], s);
    *e = v.e;
    *n = v.n;
    return v.e && !b->failed && b->source->nerror == errors;
}

int perp__find_block(struct builder *b, const perp__syntax *s, perp_symbol_kind *kind, int *first,
                     int *n)
{
    int is_name = s->kind == SYNTAX_NAME || s->kind == SYNTAX_INDEX;
    const perp__declared *d = is_name ? perp__find_declared(b, s->text) : NULL;
    int index[2] = {1, 1}, nindex = s->kind == SYNTAX_INDEX ? s->n : 0;
    if (!d || (nindex && nindex != d->ndim)) {
        if (is_name && !d)
            perp__unknown_name(b, s, "state, var, input or parameter");
        else
            perp__error(b->source, s->at, s->end,
                        "expected the name of a state, var, input or parameter");
        return 0;
    }
    for (int k = 0; k < nindex; k++) {
        if (!perp__lower_integer(b, s->item[k], "an index", &index[k])) return 0;
        if (index[k] >= 1 && index[k] <= d->dim[k]) continue;
        perp__error(b->source, s->item[k]->at, s->item[k]->end, "index %d of '%s' is outside 1..%d",
                    index[k], d->name, d->dim[k]);
        return 0;
    }
    *kind = d->kind;
    *n = nindex ? 1 : d->n;
    *first = d->first;
    if (nindex) *first += d->ndim == 1 ? index[0] - 1 : (index[0] - 1) * d->dim[1] + index[1] - 1;
    return 1;
}

/* Checks of the whole ------------------------------------------------------------------------- */

static void check_kind(perp__builder *b)
{
    b->model->kind = b->next_at >= 0 ? PERP_DISCRETE : PERP_CONTINUOUS;
    if (b->der_at < 0 || b->next_at < 0) return;
    int later = b->der_at > b->next_at ? b->der_at : b->next_at;
    perp__place other = perp__source_place(b->source, b->der_at + b->next_at - later);
    perp__error(
        b->source, later, later,
        "a model is continuous (der) or discrete (next), not both; the other one is at %ld:%ld",
        other.line, other.column);
}

int perp__build(perp_model *model)
{
    perp__builder b = {.model = model,
                       .graph = &model->graph,
                       .source = &model->source,
                       .arena = &model->arena,
                       .der_at = -1,
                       .next_at = -1};
    model->name = "";
    model->from = model->to = model->step = -1;
    perp__add_symbols(&b, PERP__SYM_FIRST);
    const perp__statement *statements = perp__parse(&model->source, &model->arena);
    if (!statements && !model->source.nerror && !model->arena.failed)
        perp__error(
            &model->source, 0, 0,
            "the file is empty; expected a model, such as 'model block' and its statements");

    if (!model->arena.failed)
        declare_all(&b, statements);
    else
        b.failed = 1;
    model->nvar = model->nitem[PERP_VAR];
    if (!b.failed) assign_all(&b, statements);
    if (!b.failed) perp__add_conditions(&b, statements);
    if (!b.failed) read_settings(&b, statements);
    if (!b.failed) check_kind(&b);
    model->nfriction = model->ncontact;
    if (!b.failed && !model->source.nerror) perp__recognise_contacts(&b);
    if (!b.failed && !model->source.nerror) {
        if (model->nequation + model->npair == 0)
            perp__error(&model->source, 0, 0, "the model has no equation and no pair");
        else
            b.failed = !perp__check_count(model);
    }
    free(b.name);
    free(b.symbol);
    perp__names_clear(&b.name_of);
    int memory = b.failed || model->graph.failed || model->arena.failed;
    if (memory) model->graph.failed = 1;
    return !memory && !model->source.nerror;
}
