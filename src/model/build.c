/* Syntax tree to model. Declares the names, adds the conditions, reads the blocks. Checks that
 * every name is declared once, every var is used, and that there are as many conditions as
 * unknowns. */

#include "model/builder.h"
#include "model/blocks.h"
#include "trajectory/trajectory.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* `in [lo, hi]` */
static void lower_range(perp__builder *b, const perp__statement *s, perp__item *item)
{
    item->lo = -INFINITY;
    item->hi = INFINITY;
    if (!s->lo || !s->hi) return;
    perp__value vl = perp__lower_in(b, SCOPE_PARAM, s->lo),
                vh = perp__lower_in(b, SCOPE_PARAM, s->hi);
    item->of_params[0] = perp__element(&vl, 0);
    item->of_params[1] = perp__element(&vh, 0);
    item->lo = perp__constant_value(b, item->of_params[0], 0);
    item->hi = perp__constant_value(b, item->of_params[1], 0);
    if (!(item->lo <= item->hi))
        perp__error(b->source, s->lo->at, s->hi->end,
                    "the range of '%s' is empty: %g is not below %g", s->name, item->lo, item->hi);
}

/* `scale` */
static void lower_scale(perp__builder *b, const perp__statement *s, perp__item *item)
{
    if (!s->scale) return;
    int errors = b->source->nerror;
    perp__value v = perp__lower_in(b, SCOPE_PARAM, s->scale);
    item->of_params[2] = perp__element(&v, 0);
    item->scale = perp__constant_value(b, item->of_params[2], 0);
    if (b->source->nerror == errors && (v.ndim || !(item->scale > 0) || isinf(item->scale)))
        perp__error(b->source, s->scale->at, s->scale->end,
                    "the scale of '%s' must be a positive number", s->name);
}

perp__declared *perp__declare_name(perp__builder *b, const perp__statement *s, const char *name,
                                   int kind)
{
    int twin = perp__names_find(&b->name_of, name);
    if (twin >= 0 && b->name[twin].is_known) {
        perp__place first = perp__source_place(b->source, b->name[twin].at);
        perp__error(b->source, s->name_at, s->name_end, "'%s' is already declared at %ld:%ld",
                    perp__shown(name), first.line, first.column);
        return NULL;
    }
    if (!perp__grow(&b->name, &b->cname, b->nname + 1, sizeof *b->name) ||
        !perp__names_add(&b->name_of, name, b->nname)) {
        b->failed = 1;
        return NULL;
    }
    b->name[b->nname] = (perp__declared){.name = name,
                                         .kind = kind,
                                         .dim = {1, 1},
                                         .n = 1,
                                         .at = s->name_at,
                                         .end = s->name_end,
                                         .is_known = 1};
    perp__mention(b, s->name_at, s->name_end, s->name_at);
    return &b->name[b->nname++];
}

/* The sizes of a list of numbers, or of lists of them, which says them itself. */
static void sizes_of_list(const perp__syntax *list, perp__declared *d)
{
    const perp__syntax *row = list->n ? list->item[0] : NULL;
    d->ndim = row && row->kind == SYNTAX_LIST ? 2 : 1;
    d->dim[0] = list->n ? list->n : 1;
    d->dim[1] = d->ndim == 2 && row->n ? row->n : 1;
    d->n = d->dim[0] * d->dim[1];
}

void perp__declare_sizes(perp__builder *b, const perp__statement *s, perp__declared *d)
{
    d->ndim = s->ndim;
    d->dim[0] = d->dim[1] = d->n = 1;
    if (!s->ndim && s->value && s->value->kind == SYNTAX_LIST && s->kind != STATEMENT_OUTPUT) {
        sizes_of_list(s->value, d);
        return;
    }
    for (int k = 0; k < s->ndim; k++) {
        if (perp__lower_integer(b, s->dim[k], "a size", &d->dim[k]) &&
            (d->dim[k] < 1 || d->dim[k] > MAX_ELEMENTS)) {
            perp__error(b->source, s->dim[k]->at, s->dim[k]->end,
                        "the size of '%s' is %d; a size is from 1 to %d", s->name, d->dim[k],
                        MAX_ELEMENTS);
            d->dim[k] = 1;
        }
    }
    if ((double)d->dim[0] * d->dim[1] > MAX_ELEMENTS) {
        perp__error(b->source, s->name_at, s->name_end, "'%s' has too many elements", s->name);
        d->dim[0] = d->dim[1] = 1;
    }
    d->n = d->dim[0] * d->dim[1];
}

static const char *element_name(perp__builder *b, const perp__declared *d, int i)
{
    char buffer[700];
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
    perp_symbol_kind kind = symbol_kind(s->kind);
    perp__declared size, *d;
    perp__declare_sizes(b, s, &size);
    if (b->space != &b->root && !perp__unroll(b, s, size.n - 1)) return NULL;
    perp__item item = {.unit = s->unit ? s->unit : "",
                       .at = s->name_at,
                       .end = s->name_end,
                       .expr = -1,
                       .written = -1,
                       .value = NAN};
    lower_scale(b, s, &item); /* like the sizes, before the name is known */
    lower_range(b, s, &item);
    const char *name = perp__full_name(b, s->name);
    d = name ? perp__declare_name(b, s, name, kind) : NULL;
    if (!d) return NULL;
    d->ndim = size.ndim;
    d->n = size.n;
    d->first = m->nitem[kind];
    memcpy(d->dim, size.dim, sizeof d->dim);
    if (!perp__grow(&m->item[kind], &b->citem[kind], m->nitem[kind] + d->n, sizeof(perp__item))) {
        b->failed = 1;
        return NULL;
    }
    for (int i = 0; i < d->n && !b->failed; i++) {
        item.name = element_name(b, d, i);
        item.symbol = perp__add_symbols(b, symbols_of[kind]);
        m->item[kind][m->nitem[kind]++] = item;
        enter_item(b, kind, m->nitem[kind] - 1);
    }
    return d;
}

/* Give a declared name's items their expressions. */
static void assign_value(perp__builder *b, const perp__statement *s, const perp__syntax *value,
                         const perp__declared *d, perp__value v)
{
    if (b->failed || !v.e) return;
    if (v.ndim && (v.ndim != d->ndim || v.dim[0] != d->dim[0] || v.dim[1] != d->dim[1])) {
        perp__value shape = {d->ndim, {d->dim[0], d->dim[1]}, d->n, NULL};
        char is[64], should[64];
        perp__shape_text(&v, is, sizeof is);
        perp__shape_text(&shape, should, sizeof should);
        perp__error(b->source, value->at, value->end, "the value of '%s' is %s; expected %s",
                    s->name, is, should);
        return;
    }
    for (int i = 0; i < d->n; i++)
        perp__item_at(b, (perp_symbol_kind)d->kind, d->first + i)->expr = perp__element(&v, i);
}

/* What is given for it where the instance was made, or what the statement says. */
static perp__value value_of(perp__builder *b, perp__scope where, const perp__statement *s,
                            const perp__syntax *given)
{
    if (!given) return perp__lower_in(b, where, s->value);
    perp__here before = perp__enter(b, b->space->outer, b->space->turn);
    perp__value v = perp__lower_in(b, where, given);
    perp__leave(b, before);
    return v;
}

static void assign(perp__builder *b, const perp__statement *s, perp__scope where)
{
    const perp__declared *d = perp__find_declared(b, s->name);
    if (!d || d->at != s->name_at) return;
    const perp__syntax *given = s->kind == STATEMENT_STATE ? perp__given(b, s->name) : NULL;
    b->reads_inputs = 0;
    int errors = b->source->nerror;
    perp__value v = value_of(b, where, s, given);
    if (b->source->nerror == errors) assign_value(b, s, given ? given : s->value, d, v);
    for (int i = d->first; b->reads_inputs && i < d->first + d->n; i++) {
        perp__item *item = perp__item_at(b, (perp_symbol_kind)d->kind, i);
        item->written = item->expr;
    }
}

/* Say why a parameter's value is no number: where in its expression the fault is. */
static void report_not_finite(perp__builder *b, const perp__syntax *value, const perp__item *item)
{
    double *symbol = malloc((size_t)b->model->nsymbol * sizeof *symbol);
    if (!symbol || !perp__model_values(b->model, symbol)) b->failed = 1;
    int node = b->failed ? -1 : perp__graph_not_finite(b->graph, &item->expr, 1, symbol);
    if (node >= 0 && b->graph->node[node].op == PERP__DIV)
        perp__error(b->source, b->graph->node[node].source, 0,
                    "division by zero in the value of '%s'", item->name);
    else
        perp__error(b->source, value->at, value->end, "the value of '%s' is not a finite number",
                    item->name);
    free(symbol);
}

/* Does the value read a faulty parameter? The fault was reported at its declaration. */
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

/* The parameter is set before anything is made of it; 0: it is not. */
static int is_set_at_once(const perp__builder *b, perp__item *item)
{
    for (int k = b->how->nset - 1; k >= 0 && !item->is_set; k--) {
        const perp_setting *set = &b->how->set[k];
        if (!isfinite(set->value) || !perp__names_match(set->name, item->name)) continue;
        item->value = set->value;
        item->is_set = 1;
    }
    return item->is_set;
}

void perp__declare_param_as(perp__builder *b, const perp__statement *s, const perp__syntax *given)
{
    perp__declared *d = declare(b, s);
    if (!d || b->failed) return;
    d->is_known = 0;
    int errors = b->source->nerror;
    perp__value v = value_of(b, SCOPE_PARAM, s, given);
    d->is_known = 1;
    if (b->source->nerror == errors) assign_value(b, s, given ? given : s->value, d, v);
    for (int i = d->first; i < d->first + d->n && !b->failed; i++) {
        perp__item *item = perp__item_at(b, PERP_PARAM, i);
        if (item->expr < 0) continue;
        if (!is_set_at_once(b, item)) item->value = perp__constant_value(b, item->expr, 0);
        b->symbol[item->symbol] = item->value;
        if (!isfinite(item->value) && !rests_on_fault(b, item))
            report_not_finite(b, given ? given : s->value, item);
    }
}

/* What stands in the model alone, or only where no loop, if or part is around it. 0 with an
 * error. */
static int may_stand(perp__builder *b, const perp__statement *s)
{
    int is_definition =
            s->kind == STATEMENT_PART || s->kind == STATEMENT_FUNCTION || s->kind == STATEMENT_USE,
        is_task = s->kind == STATEMENT_MODEL || s->kind == STATEMENT_SIMULATE ||
                  (s->kind == STATEMENT_BLOCK && s->block_kind != PERP__BLOCK_draw);
    if (!(is_definition && b->inside > 1) && !(is_task && b->space != &b->root)) return 1;
    perp__error(b->source, s->at, s->end, "%s cannot stand in a part%s",
                is_definition ? "a definition" : "a statement about the whole model",
                is_definition ? ", a loop or an if" : "");
    return 0;
}

static void declare_one(perp__builder *b, const perp__statement *s)
{
    if (!may_stand(b, s)) return;
    if (b->space != &b->root && !perp__unroll(b, s, 1)) return;
    if (s->kind == STATEMENT_ADD) perp__add_share(b, s);
    if (b->turn && s->kind == STATEMENT_LET) perp__declare_late(b, s);
    if (b->turn) return; /* other declarations in loops: conditions.c */
    const perp__syntax *given = s->kind == STATEMENT_INPUT ? perp__given(b, s->name) : NULL;
    if (s->kind == STATEMENT_PARAM)
        perp__declare_param_as(b, s, NULL);
    else if (given)
        perp__declare_given(b, s, given);
    else if (perp__is_declaration(s->kind))
        declare(b, s);
    else if (s->kind == STATEMENT_LET || s->kind == STATEMENT_SUM)
        perp__declare_late(b, s);
    else if (s->kind == STATEMENT_MODEL && b->model->name[0])
        perp__error(b->source, s->name_at, s->name_end, "the model has a name already: '%s'",
                    b->model->name);
    else if (s->kind == STATEMENT_MODEL)
        b->model->name = s->name;
}

/* The lets of used files. */
static void declare_constants(perp__builder *b)
{
    b->is_declaring = 1;
    for (int k = 1; k < b->nused; k++) {
        b->space = &b->used[k].space;
        for (const perp__statement *s = b->used[k].statements; s && !b->failed; s = s->next) {
            if (s->kind == STATEMENT_LET) perp__declare_late(b, s);
        }
    }
    b->space = &b->root;
    b->is_declaring = 0;
}

const char *perp__beside(struct builder *b, const char *name)
{
    const char *file = b->space ? b->used[b->space->file].name : b->source->name,
               *slash = strrchr(file, '/');
    size_t folder = slash && name[0] != '/' ? (size_t)(slash - file) + 1 : 0;
    char *path = perp__arena_alloc(b->arena, folder + strlen(name) + 1);
    perp__named_file *named = perp__arena_alloc(b->arena, sizeof *named);
    if (!path || !named) {
        b->failed = 1;
        return NULL;
    }
    memcpy(path, file, folder);
    strcpy(path + folder, name);
    *named = (perp__named_file){name, path, b->model->named_file};
    b->model->named_file = named;
    return path;
}

/* The file beside the model that `input name = table("file")` names. */
static void read_table(perp__builder *b, const perp__statement *s)
{
    perp__declared *d = perp__find_declared(b, s->name);
    if (!d || d->at != s->name_at) return;
    const char *path = perp__beside(b, s->table);
    if (!path) return;
    perp_diag diag = {0};
    perp_trajectory *table = NULL;
    perp_status status = perp__trajectory_read(path, PERP__REGULAR, &table, &diag);
    if (d->n > 1) {
        perp__error(b->source, s->table_at, s->table_end, "give each element of '%s' its own table",
                    d->name);
    } else {
        if (status == PERP_OK)
            status = perp_model_set_input_table(
                b->model, d->name, table, s->table_column ? s->table_column : s->name, path, &diag);
        perp__item *item = perp__item_at(b, PERP_INPUT, d->first);
        item->table_file = s->table;
        item->table_column = s->table_column ? s->table_column : s->name;
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

static void assign_one(perp__builder *b, const perp__statement *s)
{
    if (s->kind == STATEMENT_STATE) assign(b, s, SCOPE_PARAM);
    int is_input = s->kind == STATEMENT_INPUT && !perp__given(b, s->name);
    if (is_input) assign(b, s, SCOPE_INPUT);
    if (is_input && s->table) read_table(b, s);
    if (s->kind == STATEMENT_OUTPUT) assign(b, s, SCOPE_OUTPUT);
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
    int is_twice = b->space == &b->root && (b->blocks_read >> s->block_kind & 1);
    if (b->space == &b->root) b->blocks_read |= 1 << s->block_kind;
    if (is_twice)
        perp__error(b->source, s->at, s->at + (int)strlen(row->word),
                    "the model has one %s block already", row->word);
    else if (!row->read(b, b->model, s))
        b->failed = 1;
}

static void read_setting(perp__builder *b, const perp__statement *s)
{
    perp_model *m = b->model;
    int is_whole = b->space == &b->root && !b->turn;
    if (s->kind == STATEMENT_BLOCK && !b->turn && (is_whole || s->block_kind == PERP__BLOCK_draw))
        read_block(b, s);
    if (s->kind != STATEMENT_SIMULATE || !is_whole) return;
    m->from = lower_setting(b, s->from, m->from);
    m->to = lower_setting(b, s->to, m->to);
    m->step = lower_setting(b, s->step, m->step);
    if (s->method.text) m->method = s->method;
    if (s->step && m->step >= 0 && perp__constant_value(b, m->step, 0) <= 0)
        perp__error(b->source, s->step->at, s->step->end, "the step must be positive");
}

/* Blocks -------------------------------------------------------------------------------------- */

int perp__lower_block(struct builder *b, const perp__syntax *s, int where, perp_expr **e, int *n)
{
    static const perp__scope scopes[] = {SCOPE_PARAM, SCOPE_INPUT, SCOPE_OUTPUT, SCOPE_OUTPUT};
    int errors = b->source->nerror;
    b->in_plan = where == PERP__OF_PLAN;
    perp__value v = perp__lower_in(b, scopes[where], s);
    b->in_plan = 0;
    *e = v.e;
    *n = v.n;
    return v.e && !b->failed && b->source->nerror == errors;
}

int perp__find_block(struct builder *b, const perp__syntax *s, perp_symbol_kind *kind, int *first,
                     int *n)
{
    int is_name = s->kind == SYNTAX_NAME || s->kind == SYNTAX_INDEX;
    const perp__declared *d = is_name ? perp__find_path(b, s, !s->base) : NULL;
    int index[2] = {1, 1}, nindex = s->kind == SYNTAX_INDEX ? s->n : 0;
    if (!d || (nindex && nindex != d->ndim) || d->kind >= PERP_SYMBOL_KINDS) {
        if (is_name && !d && !s->base)
            perp__unknown_name(b, s, "state, var, input or parameter");
        else if (!is_name || d)
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
    *kind = (perp_symbol_kind)d->kind;
    *n = nindex ? 1 : d->n;
    *first = d->first;
    if (nindex) *first += d->ndim == 1 ? index[0] - 1 : (index[0] - 1) * d->dim[1] + index[1] - 1;
    return 1;
}

/* Checks of the whole ------------------------------------------------------------------------- */

static void check_kind(perp__builder *b)
{
    b->model->kind = b->first.next_at >= 0 ? PERP_DISCRETE : PERP_CONTINUOUS;
    if (b->first.der_at < 0 || b->first.next_at < 0) return;
    int later = b->first.der_at > b->first.next_at ? b->first.der_at : b->first.next_at;
    perp__place other = perp__source_place(b->source, b->first.der_at + b->first.next_at - later);
    perp__error(
        b->source, later, later,
        "a model is continuous (der) or discrete (next), not both; the other one is at %ld:%ld",
        other.line, other.column);
}

/* Names, their values, conditions, and what the blocks say. */
static void read_statements(perp__builder *b, const perp__statement *statements)
{
    perp_model *model = b->model;
    b->is_declaring = 1;
    perp__visit(b, statements, 0, declare_one);
    b->is_declaring = 0;
    if (!b->failed) perp__settle_shares(b);
    model->nvar = model->nitem[PERP_VAR];
    perp__visit(b, statements, 0, assign_one);
    if (!b->failed && !perp__follow_inputs(model)) b->failed = 1;
    perp__visit(b, statements, 1, perp__add_condition);
    if (!b->failed) perp__check_lates(b);
    perp__visit(b, statements, 0, read_setting);
}

int perp__build(perp_model *model, const perp_model_options *how, perp_outline *outline)
{
    perp__builder b = {.model = model,
                       .how = how,
                       .outline = outline,
                       .graph = &model->graph,
                       .source = &model->source,
                       .arena = &model->arena,
                       .first = {-1, -1}};
    model->name = "";
    model->from = model->to = model->step = -1;
    perp__add_symbols(&b, PERP__SYM_FIRST);
    b.root.prefix = "";
    b.space = &b.root;
    b.last_late = &b.late;
    b.last_share = &b.share;
    const perp__statement *statements = perp__parse(&model->source, &model->arena, 0);
    if (!statements && !model->source.nerror && !model->arena.failed)
        perp__error(
            &model->source, 0, 0,
            "the file is empty; expected a model, such as 'model block' and its statements");

    b.failed |= model->arena.failed;
    if (!b.failed) perp__read_uses(&b, statements);
    if (!b.failed) declare_constants(&b);
    if (!b.failed) read_statements(&b, statements);
    if (!b.failed) check_kind(&b);
    model->nfriction = model->ncontact;
    if (!b.failed && !model->source.nerror) perp__recognise_contacts(&b);
    int is_model = !outline || !perp__are_definitions(statements);
    if (!b.failed && !model->source.nerror && is_model) {
        if (model->nequation + model->npair == 0)
            perp__error(&model->source, 0, 0, "the model has no equation and no pair");
        else
            b.failed = !perp__check_count(model);
    }
    if (outline && !b.failed) perp__finish_outline(&b, read_statements);
    model->source.note = NULL;
    for (int k = 0; k < b.nused; k++) {
        perp__names_clear(&b.used[k].part);
        perp__names_clear(&b.used[k].function);
    }
    free(b.used);
    free(b.full.text);
    free(b.name);
    free(b.symbol);
    perp__names_clear(&b.name_of);
    int memory = b.failed || model->graph.failed || model->arena.failed;
    if (memory) model->graph.failed = 1;
    return !memory && !model->source.nerror;
}
