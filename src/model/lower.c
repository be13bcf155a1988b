/* Expressions of the syntax tree to the graph: what names, operators and functions mean where they
 * stand, arrays element by element. */

#include "model/builder.h"
#include "base/names.h"
#include "model/plan_block.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 2000000, MAX_INSIDE = 4000 };

static const perp__value zero = {0, {1, 1}, 1, NULL};

/* Helpers ------------------------------------------------------------------------------------- */

int perp__add_symbols(perp__builder *b, int n)
{
    int first = b->model->nsymbol;
    if (!perp__grow(&b->symbol, &b->csymbol, first + n, sizeof *b->symbol)) {
        b->failed = 1;
        return 0;
    }
    for (int i = 0; i < n; i++) b->symbol[first + i] = NAN;
    b->model->nsymbol += n;
    return first;
}

perp__value perp__new_value(perp__builder *b, int ndim, int rows, int columns)
{
    perp__value v = {ndim, {rows, columns}, rows * columns, NULL};
    v.e = perp__arena_alloc(b->arena, (size_t)v.n * sizeof *v.e + 1);
    if (!v.e) {
        b->failed = 1;
        v = zero;
    }
    return v;
}

perp__value perp__scalar_value(perp__builder *b, perp_expr e)
{
    perp__value v = perp__new_value(b, 0, 1, 1);
    if (v.e) v.e[0] = e;
    return v;
}

perp__value perp__number_value(perp__builder *b, double x)
{
    return perp__scalar_value(b, perp__const(b->graph, x));
}

const char *perp__text_of(perp__builder *b, int at, int end)
{
    const char *s = b->source->text;
    char *text = perp__arena_alloc(b->arena, (size_t)(end - at) + 1);
    if (!text) {
        b->failed = 1;
        return "";
    }
    int n = 0;
    for (int i = at; i < end; i++) {
        int blank = (unsigned char)s[i] <= ' ' &&
                    (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r');
        if (!blank)
            text[n++] = s[i];
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    return text;
}

/* The full name of a name declared in the present space, at the builder's until the next call. */
static const char *full_name(perp__builder *b, const char *name)
{
    const char *prefix = b->space->prefix;
    if (!prefix[0]) return name;
    size_t n = strlen(prefix), length = strlen(name);
    if (!perp__grow(&b->full.text, &b->full.capacity, (int)(n + length) + 1, 1)) {
        b->failed = 1;
        return name;
    }
    memcpy(b->full.text, prefix, n);
    memcpy(b->full.text + n, name, length + 1);
    return b->full.text;
}

const char *perp__full_name(perp__builder *b, const char *name)
{
    const char *full = full_name(b, name);
    if (full == name) return name;
    full = perp__arena_string(b->arena, full, strlen(full));
    if (!full) b->failed = 1;
    return full;
}

perp__declared *perp__find_declared(perp__builder *b, const char *name)
{
    if (!b->space->prefix) return NULL;
    perp__declared *local = b->has_turn_names ? perp__find_in_turns(b, name) : NULL;
    if (local) return local;
    int i = perp__names_find(&b->name_of, full_name(b, name));
    return i >= 0 && b->name[i].is_known ? &b->name[i] : NULL;
}

/* The functions that are known in the present space. */
static int add_functions(const perp__builder *b, const char **candidate, int n, int most)
{
    const perp__used *here = &b->used[b->space->file];
    for (int k = -1; k < here->nuse; k++) {
        const perp__used *file = k < 0 ? here : &b->used[here->uses[k]];
        for (int i = 0; i < file->ndefined && n < most; i++) {
            if (file->defined[i]->kind == STATEMENT_FUNCTION)
                candidate[n++] = file->defined[i]->name;
        }
    }
    return n;
}

/* What the name is where it cannot be seen from, or what it is meant for: "; ..", or "". */
static const char *elsewhere(perp__builder *b, const perp__syntax *s, char *text, size_t size)
{
    static const char *const rates[] = {"ddt", "diff", "deriv", "D"};
    int file, i = perp__names_find(&b->name_of, s->text), is_call = s->kind == SYNTAX_CALL;
    const perp__space *space = b->space;
    const perp__statement *part = perp__find_definition(b, STATEMENT_PART, s->text, -1, -1, &file),
                          *function = is_call ? NULL
                                              : perp__find_definition(b, STATEMENT_FUNCTION,
                                                                      s->text, -1, -1, &file);
    text[0] = 0;
    for (size_t k = 0; is_call && k < sizeof rates / sizeof *rates; k++)
        if (perp__is_word(s->text, rates[k])) return "; a derivative is written der(x)";
    if (!is_call && s->text[0] == 'd' && s->text[1] && perp__find_declared(b, s->text + 1))
        snprintf(text, size, "; a derivative is written der(%s)", s->text + 1);
    else if (part)
        snprintf(text, size, "; '%s' is a part, and a line '%s NAME' makes an instance of it",
                 s->text, s->text);
    else if (function)
        snprintf(text, size, "; '%s' is a function, %s(..)", s->text, s->text);
    else if (!is_call && space != &b->root && i >= 0 && b->name[i].is_known)
        snprintf(text, size, "; %s '%s' sees what it is given, not the model's '%s'",
                 space->prefix ? "the part" : "the function", space->of ? space->of->name : "",
                 s->text);
    return text;
}

void perp__unknown_name(perp__builder *b, const perp__syntax *s, const char *what)
{
    enum { MOST = 512, MOST_SHOWN = 16 };
    const char *candidate[MOST];
    char text[512], more[300];
    int n = 0;
    if (perp__source_has_error(b->source, s->at))
        return; /* in each turn of a loop; a search costs */
    if (s->kind == SYNTAX_CALL) {
#define PERP_CALL(word, lower) candidate[n++] = #word;
#include "model/calls.def"
        for (int op = 0; op < PERP__OP_COUNT; op++) {
            if (perp__op_text(op)) candidate[n++] = perp__op_text(op);
        }
    }
    if (s->kind == SYNTAX_CALL) n = add_functions(b, candidate, n, MOST);
    const char *prefix = b->space->prefix;
    size_t length = prefix ? strlen(prefix) : 0;
    for (int i = 0; i < b->nname && n < MOST && prefix; i++) {
        const char *name = b->name[i].name;
        if (b->name[i].is_known && strncmp(name, prefix, length) == 0 &&
            !strpbrk(name + length, ".[:"))
            candidate[n++] = name + length;
    }
    for (int i = 0; i < b->space->nbound && n < MOST; i++) candidate[n++] = b->space->bound[i].name;
    for (const perp__turn *turn = b->turn; turn && n < MOST; turn = turn->outer)
        candidate[n++] = turn->name;
    const char *hint = elsewhere(b, s, more, sizeof more);
    int is_member = strncmp(what, "name of ", 8) == 0; /* which are few */
    perp__error(b->source, s->at, s->end, "%s%s",
                perp_unknown_word(what, s->text, candidate, *hint ? 0 : n,
                                  is_member && n <= MOST_SHOWN ? NULL : "", text, sizeof text),
                hint);
}

/* The item of this kind whose first symbol it is, which rise alike; NULL if it belongs to something
 * else. */
static perp__item *item_of(const perp__builder *b, perp_symbol_kind kind, int symbol)
{
    int low = 0, high = b->model->nitem[kind] - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (perp__item_at(b, kind, middle)->symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    perp__item *item = high >= 0 ? perp__item_at(b, kind, low) : NULL;
    return item && item->symbol == symbol ? item : NULL;
}

static void mark_structural(perp__builder *b, perp_expr e)
{
    int n, *reach = perp__graph_reach(b->graph, &e, 1, &n);
    if (!reach) b->failed = 1;
    for (int k = 0; k < n; k++) {
        const perp__node *node = &b->graph->node[reach[k]];
        perp__item *item = node->op == PERP__SYMBOL ? item_of(b, PERP_PARAM, node->a) : NULL;
        if (!item || item->is_structural) continue;
        item->is_structural = 1;
        if (item->expr >= 0) mark_structural(b, item->expr); /* and what its value is made of */
    }
    free(reach);
}

double perp__constant_value(perp__builder *b, perp_expr e, int structural)
{
    if (b->graph->node[e].op == PERP__CONST) return b->graph->node[e].value;
    double x = NAN;
    if (structural) mark_structural(b, e);
    if (!b->failed && !perp__graph_value(b->graph, e, b->symbol, &x)) b->failed = 1;
    return x;
}

int perp__lower_integer(perp__builder *b, const perp__syntax *s, const char *what, int *result)
{
    perp__scope outer = b->scope;
    b->scope = SCOPE_PARAM;
    int errors = b->source->nerror;
    perp__value v = perp__lower(b, s);
    b->scope = outer;
    *result = 1;
    if (b->source->nerror > errors || b->failed) return 0;
    double x = v.ndim == 0 ? perp__constant_value(b, perp__element(&v, 0), 1) : (double)NAN;
    if (!(fabs(x) < 1e9) || x != floor(x)) {
        perp__error(b->source, s->at, s->end, "%s must be a whole number%s", what,
                    fabs(x) >= 1e9 ? " below 1e9" : "");
        return 0;
    }
    *result = (int)x;
    return 1;
}

/* Names --------------------------------------------------------------------------------------- */

static const char *const kind_words[] = {"a parameter", "an input",  "a state",
                                         "a var",       "an output", "a let",
                                         "a sum",       "a part",    "an array of parts"};

/* The symbol that an item stands for in the present scope; -1 with an error if it may not be named
 * here. */
static perp_expr item_expression(perp__builder *b, const perp__syntax *s, const perp__declared *d,
                                 int i)
{
    const perp__item *item = perp__item_at(b, (perp_symbol_kind)d->kind, d->first + i);
    int now = b->scope == SCOPE_STEP || b->scope == SCOPE_OUTPUT;
    switch (d->kind) {
    case PERP_PARAM: return perp__symbol(b->graph, item->symbol);
    case PERP_INPUT:
        if (now) return perp__symbol(b->graph, item->symbol + PERP__NOW);
        if (b->scope == SCOPE_PRE) return perp__symbol(b->graph, item->symbol + PERP__INPUT_PRE);
        if (b->scope == SCOPE_INPUT && item->expr >= 0) {
            b->reads_inputs = 1;
            return perp__symbol(b->graph, item->symbol + PERP__NOW);
        }
        break;
    case PERP_STATE:
        if (now) return perp__symbol(b->graph, item->symbol + PERP__NOW);
        if (b->scope == SCOPE_PRE) return perp__symbol(b->graph, item->symbol + PERP__PRE);
        break;
    case PERP_VAR:
        if (now) return perp__symbol(b->graph, item->symbol);
        if (b->scope == SCOPE_PRE) {
            perp__error(
                b->source, s->at, s->end,
                "'%s' is a var and has no value before the step; only states and inputs have one",
                d->name);
            return 0;
        }
        break;
    default:
        if (now && item->expr >= 0) return item->expr;
        if (now) {
            perp__error(b->source, s->at, s->end, "output '%s' is used before it is defined",
                        d->name);
            return 0;
        }
    }
    const char *rule = "only parameters can be used here";
    if (b->scope == SCOPE_INPUT)
        rule = "an input is a function of t and parameters, and of "
               "inputs before it that have an expression";
    else if (b->scope == SCOPE_PRE)
        rule = "at the beginning of a step only states, inputs and parameters have a value";
    perp__error(b->source, s->at, s->end, "'%s' is %s; %s", d->name, kind_words[d->kind], rule);
    return 0;
}

/* A name declared: its items, or what it stands for. */
static perp__value lower_declared(perp__builder *b, const perp__syntax *s)
{
    perp__declared *d = perp__find_path(b, s, 0);
    if (!d) return zero;
    if (d->kind == PERP__LET || d->kind == PERP__SUM) return perp__lower_late(b, d, s);
    if (d->kind >= PERP__PART) {
        perp__error(b->source, s->at, s->end, "'%s' is %s; name what you mean of it: %s.x", d->name,
                    kind_words[d->kind], d->name);
        return zero;
    }
    perp__value v = perp__new_value(b, d->ndim, d->dim[0], d->dim[1]);
    for (int i = 0; i < v.n && v.e; i++) v.e[i] = item_expression(b, s, d, i);
    return v;
}

static perp__value lower_name(perp__builder *b, const perp__syntax *s)
{
    if (s->base) return lower_declared(b, s);
    for (const perp__turn *turn = b->turn; turn; turn = turn->outer) {
        if (!perp__is_word(turn->name, s->text)) continue;
        perp__mention(b, s->at, s->end, turn->at);
        return perp__number_value(b, turn->value);
    }
    const perp__bound *bound = perp__find_bound(b, s->text);
    if (bound) perp__mention(b, s->at, s->end, bound->at);
    if (bound && !bound->part) return bound->value;
    if (perp__is_word(s->text, "pi")) return perp__number_value(b, 3.14159265358979323846);
    if (perp__is_word(s->text, "t") && b->scope != SCOPE_PARAM)
        return perp__scalar_value(
            b, perp__symbol(b->graph, b->scope == SCOPE_PRE ? PERP__SYM_T_PRE : PERP__SYM_T));
    if (perp__is_word(s->text, "h") && b->scope >= SCOPE_PRE)
        return perp__scalar_value(b, perp__symbol(b->graph, PERP__SYM_H));
    if (perp__is_word(s->text, "t") || perp__is_word(s->text, "h")) {
        perp__error(b->source, s->at, s->end, "'%s' has no value here; only parameters can be used",
                    s->text);
        return zero;
    }
    return lower_declared(b, s);
}

/* The first and the last of an index; 0 with an error. */
static int index_range(perp__builder *b, const perp__syntax *s, int n, int *lo, int *hi)
{
    *lo = 1;
    *hi = n;
    if (s->kind == SYNTAX_RANGE && s->n == 0) return 1;
    if (s->kind != SYNTAX_RANGE)
        return perp__lower_integer(b, s, "an index", lo) ? (*hi = *lo, 1) : 0;
    return perp__lower_integer(b, s->item[0], "the first index", lo) &&
           perp__lower_integer(b, s->item[1], "the last index", hi);
}

int perp__pick(perp__builder *b, const perp__syntax *s, const char *name, int ndim, const int *dim,
               perp__picked *p)
{
    *p = (perp__picked){0, {1, 1}, {0, 0}, {1, 1}};
    if (s->n < 1 || s->n > ndim) {
        perp__error(b->source, s->at, s->end,
                    ndim ? "'%s' has %d index%s, not %d" : "'%s' is a scalar and has no index",
                    name, ndim, ndim == 1 ? "" : "es", s->n);
        return 0;
    }
    for (int k = 0; k < ndim; k++) {
        int lo = 1, hi = dim[k];
        const perp__syntax *index = k < s->n ? s->item[k] : NULL; /* a row, without the second */
        if (index && !index_range(b, index, dim[k], &lo, &hi)) return 0;
        if (hi < lo) {
            perp__error(b->source, index->at, index->end, "no index is from %d to %d", lo, hi);
            return 0;
        }
        if (lo < 1 || hi > dim[k]) {
            perp__error(b->source, index->at, index->end, "index %d of '%s' is outside 1..%d",
                        lo < 1 ? lo : hi, name, dim[k]);
            return 0;
        }
        p->first[k] = lo - 1;
        p->count[k] = hi - lo + 1;
        if (!index || index->kind == SYNTAX_RANGE) p->dim[p->ndim++] = hi - lo + 1;
    }
    return 1;
}

/* name[i], name[i,j], a slice, and name[i] of a two-dimensional one: its row i */
static perp__value lower_index(perp__builder *b, const perp__syntax *s)
{
    const perp__bound *bound = s->base ? NULL : perp__find_bound(b, s->text);
    const perp__declared *d = bound && !bound->part ? NULL : perp__find_path(b, s, 0);
    if (bound) perp__mention(b, s->at, s->at + (int)strlen(s->text), bound->at);
    if (d && d->kind < PERP__LET && d->ndim == 1 && s->n == 1 && s->item[0]->kind != SYNTAX_RANGE) {
        int lo = 1, hi = d->dim[0]; /* one element, the usual index */
        if (!index_range(b, s->item[0], hi, &lo, &hi)) return zero;
        if (lo >= 1 && lo <= d->dim[0]) {
            perp__value v = perp__new_value(b, 0, 1, 1);
            if (v.e) v.e[0] = item_expression(b, s, d, lo - 1);
            return v;
        }
    }
    perp__value whole = bound ? bound->value : zero;
    if (d) whole = (perp__value){.ndim = d->ndim, .dim = {d->dim[0], d->dim[1]}};
    if (d && d->kind >= PERP__LET) {
        whole = lower_declared(b, s);
        d = NULL;
    } else if (!d && !bound) {
        return zero;
    }
    perp__picked p;
    if ((!d && !whole.e) || !perp__pick(b, s, d ? d->name : s->text, whole.ndim, whole.dim, &p))
        return zero;
    perp__value v = perp__new_value(b, p.ndim, p.dim[0], p.dim[1]);
    for (int i = 0, k = 0; i < p.count[0] && v.e; i++) {
        for (int j = 0; j < p.count[1]; j++) {
            int at =
                whole.ndim == 1 ? p.first[0] + i : (p.first[0] + i) * whole.dim[1] + p.first[1] + j;
            v.e[k++] = d ? item_expression(b, s, d, at) : perp__element(&whole, at);
        }
    }
    return v;
}

/* Operators and functions --------------------------------------------------------------------- */

void perp__shape_text(const perp__value *v, char *buffer, size_t size)
{
    if (v->ndim == 0)
        snprintf(buffer, size, "a scalar");
    else if (v->ndim == 1)
        snprintf(buffer, size, "%d elements", v->n);
    else
        snprintf(buffer, size, "%d x %d elements", v->dim[0], v->dim[1]);
}

/* Shape of an elementwise combination: equal shapes, or a scalar with anything. 0 with an error
 * otherwise. */
int perp__common_shape(perp__builder *b, const perp__value *x, const perp__value *y, int at,
                       int end, perp__value *shape)
{
    *shape = x->ndim ? *x : *y;
    if (!x->ndim || !y->ndim ||
        (x->ndim == y->ndim && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1]))
        return 1;
    char sx[64], sy[64];
    perp__shape_text(x, sx, sizeof sx);
    perp__shape_text(y, sy, sizeof sy);
    perp__error(b->source, at, end, "the sizes differ: %s and %s", sx, sy);
    return 0;
}

perp__value perp__elementwise(perp__builder *b, int op, perp__value x, perp__value y, int at,
                              int end)
{
    perp__value shape;
    if (!perp__common_shape(b, &x, &y, at, end, &shape)) return zero;
    perp__value v = perp__new_value(b, shape.ndim, shape.dim[0], shape.dim[1]);
    for (int i = 0; i < v.n && v.e; i++) {
        b->graph->source = at;
        v.e[i] = perp__op_arity(op) == 1
                     ? perp__unary(b->graph, op, perp__element(&x, i))
                     : perp__binary(b->graph, op, perp__element(&x, i), perp__element(&y, i));
        b->graph->source = -1;
    }
    return v;
}

/* n more terms of sums, products and calls; 0 with an error when they are too many. */
static int count_terms(perp__builder *b, int at, int n)
{
    if (b->terms <= MAX_TERMS) b->terms += n;
    if (b->terms > MAX_TERMS)
        perp__error(b->source, at, at,
                    "the sums of the model have more than %d terms in all, calls among them",
                    MAX_TERMS);
    return b->terms <= MAX_TERMS;
}

/* x @ y: a vector before it is a row, behind it a column. */
static perp__value matrix_product(perp__builder *b, perp__value x, perp__value y, int at)
{
    int rows = x.ndim == 2 ? x.dim[0] : 1, inner = x.ndim == 2 ? x.dim[1] : x.n,
        columns = y.ndim == 2 ? y.dim[1] : 1, other = y.ndim == 2 ? y.dim[0] : y.n;
    if (!x.e || !y.e) return zero;
    if (!x.ndim || !y.ndim || inner != other) {
        char sx[64], sy[64];
        perp__shape_text(&x, sx, sizeof sx);
        perp__shape_text(&y, sy, sizeof sy);
        perp__error(b->source, at, at + 1, "the sizes do not fit a matrix product: %s and %s", sx,
                    sy);
        return zero;
    }
    perp__value v = y.ndim == 2 && x.ndim == 1
                        ? perp__new_value(b, 1, columns, 1)
                        : perp__new_value(b, x.ndim + y.ndim - 2, rows, columns);
    for (int i = 0; i < rows && v.e; i++) {
        for (int j = 0; j < columns && count_terms(b, at, inner); j++) {
            perp_expr sum = -1;
            b->graph->source = at;
            for (int k = 0; k < inner; k++) {
                perp_expr term = perp__mul(b->graph, x.e[i * inner + k], y.e[k * columns + j]);
                sum = sum < 0 ? term : perp__add(b->graph, sum, term);
            }
            b->graph->source = -1;
            v.e[i * columns + j] = sum;
        }
    }
    return v;
}

static perp__value lower_chain(perp__builder *b, const perp__syntax *s)
{
    perp__value v = perp__lower(b, s->item[0]);
    for (int i = 1; i < s->n; i++) {
        int op = PERP__DIV;
        if (s->op[i] == '+')
            op = PERP__ADD;
        else if (s->op[i] == '-')
            op = PERP__SUB;
        else if (s->op[i] == '*')
            op = PERP__MUL;
        perp__value next = perp__lower(b, s->item[i]);
        v = s->op[i] == '@' ? matrix_product(b, v, next, s->opat[i])
                            : perp__elementwise(b, op, v, next, s->opat[i], s->opat[i] + 1);
    }
    return v;
}

static perp__value lower_list(perp__builder *b, const perp__syntax *s)
{
    if (s->n == 0) {
        perp__error(b->source, s->at, s->end, "an empty list; expected one element or more");
        return zero;
    }
    perp__value first = perp__lower(b, s->item[0]);
    if (first.ndim > 1) {
        perp__error(b->source, s->at, s->end, "at most two dimensions: a list of lists of numbers");
        return zero;
    }
    perp__value v = perp__new_value(b, first.ndim + 1, s->n, first.n);
    for (int i = 0; i < s->n && v.e; i++) {
        perp__value row = i ? perp__lower(b, s->item[i]) : first;
        if (row.ndim != first.ndim || row.n != first.n) {
            perp__error(b->source, s->item[i]->at, s->item[i]->end,
                        "the rows of a list must have the same size");
            return zero;
        }
        for (int j = 0; j < first.n; j++) v.e[i * first.n + j] = perp__element(&row, j);
    }
    return v;
}

int perp__count_term(perp__builder *b, const perp__syntax *s)
{
    return count_terms(b, s->at, 1);
}

static perp__value lower_sum(perp__builder *b, const perp__syntax *s)
{
    int lo, hi;
    if (s->n != 3 || !perp__lower_integer(b, s->item[0], "the first index", &lo) ||
        !perp__lower_integer(b, s->item[1], "the last index", &hi))
        return zero;
    if (hi - lo >= MAX_ELEMENTS) {
        perp__error(b->source, s->at, s->end, "the sum is too large");
        return zero;
    }
    perp__value v = perp__number_value(b, 0);
    const perp__turn *outer = b->turn;
    int name_at = b->outline ? perp__word_behind(b, s->at + 3, s->text) : s->at;
    perp__mention(b, name_at, name_at + (int)strlen(s->text), name_at);
    for (int i = lo;
         i <= hi && !b->failed && b->source->nerror < PERP__MOST_ERRORS && b->terms <= MAX_TERMS;
         i++) {
        if (!perp__count_term(b, s)) return zero;
        perp__turn turn = {s->text, i, outer, name_at};
        b->turn = &turn;
        v = perp__elementwise(b, PERP__ADD, v, perp__lower(b, s->item[2]), s->at, s->end);
        b->turn = outer;
    }
    return v;
}

/* Is it the own symbol of a state? Those of one declaration follow each other. */
static int is_state(const perp__builder *b, const perp__declared *d, int symbol)
{
    if (d && d->kind == PERP_STATE) {
        int i = (symbol - perp__item_at(b, PERP_STATE, d->first)->symbol) / (PERP__PRE + 1);
        if (i >= 0 && i < d->n && perp__item_at(b, PERP_STATE, d->first + i)->symbol == symbol)
            return 1;
    }
    return item_of(b, PERP_STATE, symbol) != NULL;
}

/* der(x), next(x): x must name a state, or elements of one. */
static perp__value lower_rate(perp__builder *b, const perp__syntax *s)
{
    int is_der = s->text[0] == 'd', offset = is_der ? PERP__DER : PERP__NEXT;
    const perp__syntax *x = s->n == 1 ? s->item[0] : NULL;
    if (!x || (x->kind != SYNTAX_NAME && x->kind != SYNTAX_INDEX)) {
        perp__error(b->source, s->at, s->end, "expected %s(x) with the name of a state", s->text);
        return zero;
    }
    perp__declared *d = perp__find_path(b, x, 1);
    if (d && d->kind != PERP_STATE && d->kind != PERP__LET) {
        perp__error(b->source, x->at, x->end, "%s('%s'): '%s' is %s; only a state has %s", s->text,
                    d->name, d->name, kind_words[d->kind],
                    is_der ? "a derivative" : "a next value");
        return zero;
    }
    if (b->scope != SCOPE_STEP && b->scope != SCOPE_OUTPUT) {
        perp__error(b->source, s->at, s->end, "%s() cannot be used here", s->text);
        return zero;
    }
    int *first_at = is_der ? &b->first.der_at : &b->first.next_at;
    if (*first_at < 0) *first_at = s->at;
    perp__value v = perp__lower(b, x); /* the states' own symbols, or an error about the name */
    int is_own = d && d->kind == PERP_STATE; /* else others may hold these elements, too */
    perp__value rate = is_own || !v.e ? v : perp__new_value(b, v.ndim, v.dim[0], v.dim[1]);
    for (int i = 0; i < v.n && rate.e; i++) {
        int symbol = b->graph->node[v.e[i]].a;
        if (b->graph->node[v.e[i]].op == PERP__SYMBOL && is_state(b, d, symbol)) {
            rate.e[i] = perp__symbol(b->graph, symbol + offset);
            continue;
        }
        if (perp__find_bound(b, x->text) || d)
            perp__error(b->source, x->at, x->end, "expected %s(x) with the name of a state",
                        s->text);
        return zero;
    }
    return rate;
}

static perp__value lower_pre(perp__builder *b, const perp__syntax *s)
{
    if (s->n != 1) {
        perp__error(b->source, s->at, s->end, "pre takes one expression, not %d", s->n);
        return zero;
    }
    perp__scope outer = b->scope;
    if (outer < SCOPE_PRE) {
        perp__error(b->source, s->at, s->end, "pre() cannot be used here");
        return zero;
    }
    if (b->in_pre) {
        perp__error(b->source, s->at, s->end,
                    "pre() inside pre(): only the value before the step is kept; a state can carry "
                    "an older one");
        return zero;
    }
    b->scope = SCOPE_PRE;
    b->in_pre = 1;
    perp__value v = perp__lower(b, s->item[0]);
    b->scope = outer;
    b->in_pre = 0;
    return v;
}

/* What stands for a symbol of an expression at the start or the end of a plan; -1: nothing does. */
static perp_expr distant(perp__builder *b, int symbol, int is_end)
{
    perp_model *m = b->model;
    perp__plan_block *p = m->plan;
    int i = 0, k = 0;
    while (i < m->nitem[PERP_PARAM] && m->item[PERP_PARAM][i].symbol != symbol) i++;
    if (i < m->nitem[PERP_PARAM]) return perp__symbol(b->graph, symbol);
    for (i = 0; i < m->nitem[PERP_STATE] && m->item[PERP_STATE][i].symbol != symbol;) i++;
    if (i == m->nitem[PERP_STATE]) return -1;
    while (k < p->distant.n && (p->distant.of[k].state != i || p->distant.of[k].is_end != is_end))
        k++;
    if (k < p->distant.n) return perp__symbol(b->graph, p->distant.of[k].symbol);
    if (!perp__grow(&p->distant.of, &p->distant.capacity, k + 1, sizeof *p->distant.of)) {
        b->failed = 1;
        return -1;
    }
    p->distant.of[p->distant.n++] = (perp__plan_distant){is_end, i, perp__add_symbols(b, 1)};
    return perp__symbol(b->graph, p->distant.of[k].symbol);
}

/* start(e), end(e): e where the plan begins or ends. */
static perp__value lower_distant(perp__builder *b, const perp__syntax *s)
{
    if (!b->in_plan || s->n != 1) {
        perp__error(b->source, s->at, s->end,
                    b->in_plan ? "%s(..) takes one expression"
                               : "%s(..) belongs to the conditions and costs of a plan block",
                    s->text);
        return zero;
    }
    perp__value v = perp__lower(b, s->item[0]), there = v;
    int n = 0, symbols = b->model->nsymbol, missing = 0,
        *reach = v.e ? perp__graph_reach(b->graph, v.e, v.n, &n) : NULL;
    perp_expr *map = malloc(((size_t)symbols + 1) * sizeof *map);
    there.e = perp__arena_alloc(b->arena, (size_t)v.n * sizeof *there.e + 1);
    if (v.e && (!reach || !map || !there.e)) b->failed = 1;
    for (int k = 0; k < n && !b->failed; k++) {
        const perp__node *node = &b->graph->node[reach[k]];
        int symbol = node->a;
        if (node->op == PERP__SYMBOL)
            missing |= (map[symbol] = distant(b, symbol, perp__is_word(s->text, "end"))) < 0;
    }
    if (missing && !b->failed)
        perp__error(b->source, s->at, s->end, "%s(..) takes an expression of states and parameters",
                    s->text);
    else if (v.e && !b->failed && !perp__graph_copy(b->graph, b->graph, v.e, v.n, map, there.e))
        b->failed = 1;
    free(map);
    free(reach);
    return missing || b->failed ? zero : there;
}

/* All elements of all arguments, combined from the left: sum, min, max, and norm's sum of squares.
 */
static perp__value reduce(perp__builder *b, const perp__syntax *s, int op, int square)
{
    perp__value total = zero;
    int count = 0, failed = 0;
    for (int i = 0; i < s->n; i++) {
        perp__value v = perp__lower(b, s->item[i]);
        failed |= !v.e;
        for (int j = 0; j < v.n && v.e; j++) {
            perp__value x = perp__scalar_value(b, v.e[j]);
            if (square) x = perp__elementwise(b, PERP__MUL, x, x, s->at, s->end);
            total = count++ ? perp__elementwise(b, op, total, x, s->at, s->end) : x;
        }
    }
    if (count == 0 && !failed)
        perp__error(b->source, s->at, s->end, "%s needs at least one argument", s->text);
    return total;
}

static perp__value lower_dot(perp__builder *b, const perp__syntax *s)
{
    if (s->n != 2) {
        perp__error(b->source, s->at, s->end, "dot takes two arrays, not %d", s->n);
        return zero;
    }
    perp__value x = perp__lower(b, s->item[0]), y = perp__lower(b, s->item[1]);
    perp__value product = perp__elementwise(b, PERP__MUL, x, y, s->at, s->end),
                total = perp__number_value(b, 0);
    for (int i = 0; i < product.n && product.e; i++)
        total = perp__elementwise(b, PERP__ADD, total, perp__scalar_value(b, product.e[i]), s->at,
                                  s->end);
    return total;
}

static perp__value lower_total(perp__builder *b, const perp__syntax *s)
{
    return reduce(b, s, PERP__ADD, 0);
}

static perp__value lower_least(perp__builder *b, const perp__syntax *s)
{
    return reduce(b, s, PERP__MIN, 0);
}

static perp__value lower_largest(perp__builder *b, const perp__syntax *s)
{
    return reduce(b, s, PERP__MAX, 0);
}

static perp__value lower_norm(perp__builder *b, const perp__syntax *s)
{
    return perp__elementwise(b, PERP__SQRT, reduce(b, s, PERP__ADD, 1), zero, s->at, s->end);
}

/* Has it the number of arguments? An error if not. */
static int takes(perp__builder *b, const perp__syntax *s, int n)
{
    if (s->n != n)
        perp__error(b->source, s->at, s->end, "%s takes %d argument%s, not %d", s->text, n,
                    n == 1 ? "" : "s", s->n);
    return s->n == n;
}

/* A function that jumps where v does what it does: in conditions v must be known before they are
 * solved. */
static int may_jump(perp__builder *b, const perp__syntax *s, const perp__value *v)
{
    if (b->scope != SCOPE_STEP || !v->e) return 1;
    int n = 0, *reach = perp__graph_reach(b->graph, v->e, v->n, &n);
    const perp__item *unknown = NULL;
    if (!reach) b->failed = 1;
    for (int k = 0; k < n && !unknown; k++) {
        const perp__node *node = &b->graph->node[reach[k]];
        if (node->op != PERP__SYMBOL) continue;
        unknown = item_of(b, PERP_VAR, node->a);
        for (int i = PERP__NOW; i <= PERP__NEXT && !unknown; i++)
            unknown = item_of(b, PERP_STATE, node->a - i);
    }
    free(reach);
    if (unknown)
        perp__error(b->source, s->at, s->end,
                    "%s jumps, and '%s' is solved for: take pre(..) of it, or say what happens "
                    "with a pair",
                    s->text, unknown->name);
    return !unknown && reach;
}

/* x - y floor(x/y) */
static perp__value lower_mod(perp__builder *b, const perp__syntax *s)
{
    if (!takes(b, s, 2)) return zero;
    perp__value x = perp__lower(b, s->item[0]), y = perp__lower(b, s->item[1]),
                ratio = perp__elementwise(b, PERP__DIV, x, y, s->at, s->end);
    if (!may_jump(b, s, &ratio)) return zero;
    ratio = perp__elementwise(b, PERP__FLOOR, ratio, zero, s->at, s->end);
    ratio = perp__elementwise(b, PERP__MUL, y, ratio, s->at, s->end);
    return perp__elementwise(b, PERP__SUB, x, ratio, s->at, s->end);
}

/* choose(condition, a, b): condition a + (1 - condition) b */
static perp__value lower_choose(perp__builder *b, const perp__syntax *s)
{
    if (!takes(b, s, 3)) return zero;
    perp__value c = perp__lower(b, s->item[0]);
    if (!c.e) return zero;
    if (s->item[0]->kind != SYNTAX_COMPARE && s->item[0]->kind != SYNTAX_LOGIC) {
        perp__error(b->source, s->item[0]->at, s->item[0]->end,
                    "expected a condition, such as x < y");
        return zero;
    }
    if (!may_jump(b, s, &c)) return zero;
    perp__value x = perp__lower(b, s->item[1]), y = perp__lower(b, s->item[2]),
                rest = perp__elementwise(b, PERP__SUB, perp__number_value(b, 1), c, s->at, s->end);
    x = perp__elementwise(b, PERP__MUL, c, x, s->at, s->end);
    y = perp__elementwise(b, PERP__MUL, rest, y, s->at, s->end);
    return perp__elementwise(b, PERP__ADD, x, y, s->at, s->end);
}

static perp__value lower_transpose(perp__builder *b, const perp__syntax *s)
{
    if (!takes(b, s, 1)) return zero;
    perp__value x = perp__lower(b, s->item[0]);
    if (!x.e) return zero;
    if (x.ndim != 2) {
        perp__error(b->source, s->at, s->end, "transpose takes an array of two dimensions");
        return zero;
    }
    perp__value v = perp__new_value(b, 2, x.dim[1], x.dim[0]);
    for (int i = 0; i < v.n && v.e; i++) v.e[i] = x.e[i % v.dim[1] * x.dim[1] + i / v.dim[1]];
    return v;
}

/* x_i y_j - x_j y_i */
static perp_expr cross_term(perp__graph *g, const perp__value *x, const perp__value *y, int i,
                            int j)
{
    return perp__sub(g, perp__mul(g, x->e[i], y->e[j]), perp__mul(g, x->e[j], y->e[i]));
}

/* Of three elements a vector, of two, in the plane, a number. */
static perp__value lower_cross(perp__builder *b, const perp__syntax *s)
{
    if (!takes(b, s, 2)) return zero;
    perp__value x = perp__lower(b, s->item[0]), y = perp__lower(b, s->item[1]);
    if (!x.e || !y.e) return zero;
    if (x.ndim != 1 || y.ndim != 1 || x.n != y.n || x.n < 2 || x.n > 3) {
        perp__error(b->source, s->at, s->end,
                    "cross takes two vectors of three elements, or of two");
        return zero;
    }
    perp__value v = x.n == 3 ? perp__new_value(b, 1, 3, 1) : perp__new_value(b, 0, 1, 1);
    b->graph->source = s->at;
    for (int k = 0; k < v.n && v.e; k++)
        v.e[k] = x.n == 3 ? cross_term(b->graph, &x, &y, (k + 1) % 3, (k + 2) % 3)
                          : cross_term(b->graph, &x, &y, 0, 1);
    b->graph->source = -1;
    return v;
}

static perp__value lower_call(perp__builder *b, const perp__syntax *s)
{
    const char *f = s->text;
    int file, errors = b->source->nerror;
    const perp__statement *own =
        perp__find_definition(b, STATEMENT_FUNCTION, f, s->at, s->end, &file);
    if (own) return perp__lower_function(b, s, own, file);
    if (b->source->nerror > errors) return zero;
#define PERP_CALL(word, lower)                                                                     \
    if (perp__is_word(f, #word)) return lower(b, s);
#include "model/calls.def"
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        if (!perp__op_text(op) || !perp__is_word(f, perp__op_text(op))) continue;
        if (s->n != perp__op_arity(op)) {
            perp__error(b->source, s->at, s->end, "%s takes %d argument%s, not %d", f,
                        perp__op_arity(op), perp__op_arity(op) == 1 ? "" : "s", s->n);
            return zero;
        }
        perp__value x = perp__lower(b, s->item[0]);
        if (op == PERP__FLOOR && !may_jump(b, s, &x)) return zero;
        return perp__elementwise(b, op, x, s->n > 1 ? perp__lower(b, s->item[1]) : zero, s->at,
                                 s->end);
    }
    if (perp__find_declared(b, f))
        perp__error(b->source, s->at, s->end, "'%s' is %s, not a function; write a product with *",
                    f, kind_words[perp__find_declared(b, f)->kind]);
    else
        perp__unknown_name(b, s, "function");
    return zero;
}

/* a <= b and the like as 1 or 0 */
static perp__value lower_comparison(perp__builder *b, const perp__syntax *s)
{
    perp__value x = perp__lower(b, s->item[0]), y = perp__lower(b, s->item[1]);
    int swap = s->op[1] == 'g' || s->op[1] == '>';
    int op = s->op[1] == 'l' || s->op[1] == 'g' ? PERP__LE : PERP__LT;
    return swap ? perp__elementwise(b, op, y, x, s->opat[1], s->opat[1] + 1)
                : perp__elementwise(b, op, x, y, s->opat[1], s->opat[1] + 1);
}

static perp__value lower_at_hand(perp__builder *b, const perp__syntax *s)
{
    switch (s->kind) {
    case SYNTAX_NUMBER: return perp__number_value(b, s->number);
    case SYNTAX_NAME: return lower_name(b, s);
    case SYNTAX_INDEX: return lower_index(b, s);
    case SYNTAX_CALL: return lower_call(b, s);
    case SYNTAX_LIST: return lower_list(b, s);
    case SYNTAX_CHAIN: return lower_chain(b, s);
    case SYNTAX_SUM: return lower_sum(b, s);
    case SYNTAX_COMPARE: return lower_comparison(b, s);
    case SYNTAX_RANGE:
    case SYNTAX_STRING:
        perp__error(b->source, s->at, s->end, "expected an expression");
        return zero;
    default: break;
    }
    perp__value x = s->n > 0 ? perp__lower(b, s->item[0]) : zero,
                y = s->n > 1 ? perp__lower(b, s->item[1]) : zero;
    int op;
    if (s->kind == SYNTAX_NEG)
        op = PERP__NEG;
    else if (s->kind == SYNTAX_POW)
        op = PERP__POW;
    else
        op = (s->op[1] == '&' ? PERP__MIN : PERP__MAX); /* of 0 and 1: and, or */
    return perp__elementwise(b, op, x, y, s->at, s->end);
}

perp__value perp__lower(perp__builder *b, const perp__syntax *s)
{
    if (b->failed || b->graph->failed || !s) return zero;
    if (!b->depth)
        b->is_too_deep = 0;
    else if (b->is_too_deep)
        return zero; /* said; its other branches would say it again */
    if (b->depth == MAX_INSIDE) {
        perp__error(b->source, s->at, s->end,
                    "more than %d expressions inside each other, through lets and functions",
                    MAX_INSIDE);
        b->is_too_deep = 1;
        return zero;
    }
    b->depth++;
    perp__value v = lower_at_hand(b, s);
    b->depth--;
    return v;
}

perp__value perp__lower_in(perp__builder *b, perp__scope where, const perp__syntax *s)
{
    b->scope = where;
    return perp__lower(b, s);
}
