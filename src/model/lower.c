/* Expressions of the syntax tree to the graph: what names, operators and functions mean where they stand, arrays element by
 * element. */

#include "model/builder.h"
#include "model/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 2000000 };

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

static perp__value new_value(perp__builder *b, int ndim, int rows, int columns)
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
    perp__value v = new_value(b, 0, 1, 1);
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
        int blank = s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r';
        if (!blank)
            text[n++] = s[i];
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    return text;
}

perp__declared *perp__find_declared(const perp__builder *b, const char *name)
{
    int i = perp__names_find(&b->name_of, name);
    return i >= 0 && b->name[i].is_known ? &b->name[i] : NULL;
}

void perp__unknown_name(perp__builder *b, const perp__syntax *s, const char *what)
{
    enum { MOST = 512 };
    const char *candidate[MOST];
    char text[512];
    int n = 0;
    if (s->kind == SYNTAX_CALL) {
#define PERP_CALL(word, lower) candidate[n++] = #word;
#include "model/calls.def"
#undef PERP_CALL
        for (int op = 0; op < PERP__OP_COUNT; op++) {
            if (perp__op_text(op)) candidate[n++] = perp__op_text(op);
        }
    }
    for (int i = 0; i < b->nname && n < MOST; i++) {
        if (b->name[i].is_known) candidate[n++] = b->name[i].name;
    }
    for (int i = 0; i < b->nloop && n < MOST; i++) candidate[n++] = b->loop[i].name;
    perp__error(b->source, s->at, s->end, "%s",
                perp_unknown_word(what, s->text, candidate, n, "", text, sizeof text));
}

/* The parameter of a symbol, which rise alike; NULL if it belongs to something else. */
static perp__item *param_of(const perp__builder *b, int symbol)
{
    int low = 0, high = b->model->nitem[PERP_PARAM] - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (perp__item_at(b, PERP_PARAM, middle)->symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    perp__item *item = high >= 0 ? perp__item_at(b, PERP_PARAM, low) : NULL;
    return item && item->symbol == symbol ? item : NULL;
}

static void mark_structural(perp__builder *b, perp_expr e)
{
    int n, *reach = perp__graph_reach(b->graph, &e, 1, &n);
    if (!reach) b->failed = 1;
    for (int k = 0; k < n; k++) {
        const perp__node *node = &b->graph->node[reach[k]];
        perp__item *item = node->op == PERP__SYMBOL ? param_of(b, node->a) : NULL;
        if (item) item->is_structural = 1;
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
        perp__error(b->source, s->at, s->end, "%s must be a whole number", what);
        return 0;
    }
    *result = (int)x;
    return 1;
}

/* Names --------------------------------------------------------------------------------------- */

static const char *const kind_words[] = {"a parameter", "an input", "a state", "a var",
                                         "an output"};

/* The symbol that an item stands for in the present scope; -1 with an error if it may not be named
 * here. */
static perp_expr item_expression(perp__builder *b, const perp__syntax *s, const perp__declared *d,
                                 int i)
{
    const perp__item *item = perp__item_at(b, d->kind, d->first + i);
    int now = b->scope == SCOPE_STEP || b->scope == SCOPE_OUTPUT;
    switch (d->kind) {
    case PERP_PARAM: return perp__symbol(b->graph, item->symbol);
    case PERP_INPUT:
        if (now) return perp__symbol(b->graph, item->symbol + PERP__NOW);
        if (b->scope == SCOPE_PRE) return perp__symbol(b->graph, item->symbol + PERP__INPUT_PRE);
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
    perp__error(b->source, s->at, s->end, "'%s' is %s; %s", d->name, kind_words[d->kind],
                b->scope == SCOPE_INPUT ? "an input is a function of t and parameters"
                : b->scope == SCOPE_PRE
                    ? "at the beginning of a step only states, inputs and parameters have a value"
                    : "only parameters can be used here");
    return 0;
}

static perp__value lower_name(perp__builder *b, const perp__syntax *s)
{
    for (int i = b->nloop - 1; i >= 0; i--) {
        if (perp__is_word(b->loop[i].name, s->text)) return perp__number_value(b, b->loop[i].value);
    }
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
    perp__declared *d = perp__find_declared(b, s->text);
    if (!d) {
        perp__unknown_name(b, s, "name");
        return zero;
    }
    perp__value v = new_value(b, d->ndim, d->dim[0], d->dim[1]);
    for (int i = 0; i < v.n && v.e; i++) v.e[i] = item_expression(b, s, d, i);
    return v;
}

/* name[i], name[i,j], and name[i] of a two-dimensional one: its row i */
static perp__value lower_index(perp__builder *b, const perp__syntax *s)
{
    perp__declared *d = perp__find_declared(b, s->text);
    int index[2] = {1, 1};
    if (!d) {
        perp__unknown_name(b, s, "name");
        return zero;
    }
    if (s->n < 1 || s->n > d->ndim) {
        perp__error(b->source, s->at, s->end,
                    d->ndim ? "'%s' has %d index%s, not %d" : "'%s' is a scalar and has no index",
                    d->name, d->ndim, d->ndim == 1 ? "" : "es", s->n);
        return zero;
    }
    for (int k = 0; k < s->n; k++) {
        if (!perp__lower_integer(b, s->item[k], "an index", &index[k])) return zero;
        if (index[k] < 1 || index[k] > d->dim[k]) {
            perp__error(b->source, s->item[k]->at, s->item[k]->end,
                        "index %d of '%s' is outside 1..%d", index[k], d->name, d->dim[k]);
            return zero;
        }
    }
    int whole_row = s->n < d->ndim, n = whole_row ? d->dim[1] : 1;
    perp__value v = new_value(b, whole_row, n, 1);
    int first = (index[0] - 1) * d->dim[1] + (whole_row ? 0 : index[1] - 1);
    if (d->ndim == 1) first = index[0] - 1;
    for (int i = 0; i < n && v.e; i++) v.e[i] = item_expression(b, s, d, first + i);
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
    perp__value v = new_value(b, shape.ndim, shape.dim[0], shape.dim[1]);
    for (int i = 0; i < v.n && v.e; i++) {
        b->graph->source = at;
        v.e[i] = perp__op_arity(op) == 1
                     ? perp__unary(b->graph, op, perp__element(&x, i))
                     : perp__binary(b->graph, op, perp__element(&x, i), perp__element(&y, i));
        b->graph->source = -1;
    }
    return v;
}

static perp__value lower_chain(perp__builder *b, const perp__syntax *s)
{
    perp__value v = perp__lower(b, s->item[0]);
    for (int i = 1; i < s->n; i++) {
        int op = s->op[i] == '+'   ? PERP__ADD
                 : s->op[i] == '-' ? PERP__SUB
                 : s->op[i] == '*' ? PERP__MUL
                                   : PERP__DIV;
        v = perp__elementwise(b, op, v, perp__lower(b, s->item[i]), s->opat[i], s->opat[i] + 1);
    }
    return v;
}

static perp__value lower_list(perp__builder *b, const perp__syntax *s)
{
    if (s->n == 0) {
        perp__error(b->source, s->at, s->end, "an empty list");
        return zero;
    }
    perp__value first = perp__lower(b, s->item[0]);
    if (first.ndim > 1) {
        perp__error(b->source, s->at, s->end, "at most two dimensions: a list of lists of numbers");
        return zero;
    }
    perp__value v = new_value(b, first.ndim + 1, s->n, first.n);
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

static perp__value lower_sum(perp__builder *b, const perp__syntax *s)
{
    int lo, hi;
    if (s->n != 3 || !perp__lower_integer(b, s->item[0], "the first index", &lo) ||
        !perp__lower_integer(b, s->item[1], "the last index", &hi))
        return zero;
    if (hi - lo >= MAX_ELEMENTS || b->nloop == MAX_LOOPS) {
        perp__error(b->source, s->at, s->end, "the sum is too large");
        return zero;
    }
    perp__value v = perp__number_value(b, 0);
    for (int i = lo; i <= hi && !b->failed && b->terms <= MAX_TERMS; i++) {
        if (++b->terms > MAX_TERMS) {
            perp__error(b->source, s->at, s->end,
                        "the sums of the model have more than %d terms in all", MAX_TERMS);
            return zero;
        }
        b->loop[b->nloop].name = s->text;
        b->loop[b->nloop++].value = i;
        v = perp__elementwise(b, PERP__ADD, v, perp__lower(b, s->item[2]), s->at, s->end);
        b->nloop--;
    }
    return v;
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
    perp__declared *d = perp__find_declared(b, x->text);
    if (d && d->kind != PERP_STATE) {
        perp__error(b->source, x->at, x->end, "%s('%s'): '%s' is %s; only a state has %s", s->text,
                    d->name, d->name, kind_words[d->kind],
                    is_der ? "a derivative" : "a next value");
        return zero;
    }
    if (b->scope != SCOPE_STEP && b->scope != SCOPE_OUTPUT) {
        perp__error(b->source, s->at, s->end, "%s() cannot be used here", s->text);
        return zero;
    }
    int *first_at = is_der ? &b->der_at : &b->next_at;
    if (*first_at < 0) *first_at = s->at;
    perp__value v = perp__lower(b, x); /* the states' own symbols, or an error about the name */
    for (int i = 0; i < v.n && v.e && d; i++) {
        int symbol = b->graph->node[v.e[i]].a;
        if (b->graph->node[v.e[i]].op == PERP__SYMBOL)
            v.e[i] = perp__symbol(b->graph, symbol + offset);
    }
    return v;
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
    b->scope = SCOPE_PRE, b->in_pre = 1;
    perp__value v = perp__lower(b, s->item[0]);
    b->scope = outer, b->in_pre = 0;
    return v;
}

/* All elements of all arguments, combined from the left: sum, min, max, and norm's sum of squares.
 */
static perp__value reduce(perp__builder *b, const perp__syntax *s, int op, int square)
{
    perp__value total = zero;
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        perp__value v = perp__lower(b, s->item[i]);
        for (int j = 0; j < v.n && v.e; j++) {
            perp__value x = perp__scalar_value(b, v.e[j]);
            if (square) x = perp__elementwise(b, PERP__MUL, x, x, s->at, s->end);
            total = count++ ? perp__elementwise(b, op, total, x, s->at, s->end) : x;
        }
    }
    if (count == 0)
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

static perp__value lower_call(perp__builder *b, const perp__syntax *s)
{
    const char *f = s->text;
#define PERP_CALL(word, lower)                                                                     \
    if (perp__is_word(f, #word)) return lower(b, s);
#include "model/calls.def"
#undef PERP_CALL
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        if (!perp__op_text(op) || !perp__is_word(f, perp__op_text(op))) continue;
        if (s->n != perp__op_arity(op)) {
            perp__error(b->source, s->at, s->end, "%s takes %d argument%s, not %d", f,
                        perp__op_arity(op), perp__op_arity(op) == 1 ? "" : "s", s->n);
            return zero;
        }
        perp__value x = perp__lower(b, s->item[0]);
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

perp__value perp__lower(perp__builder *b, const perp__syntax *s)
{
    if (b->failed || b->graph->failed || !s) return zero;
    switch (s->kind) {
    case SYNTAX_NUMBER: return perp__number_value(b, s->number);
    case SYNTAX_NAME: return lower_name(b, s);
    case SYNTAX_INDEX: return lower_index(b, s);
    case SYNTAX_CALL: return lower_call(b, s);
    case SYNTAX_LIST: return lower_list(b, s);
    case SYNTAX_CHAIN: return lower_chain(b, s);
    case SYNTAX_SUM: return lower_sum(b, s);
    case SYNTAX_COMPARE: return lower_comparison(b, s);
    default: break;
    }
    perp__value x = s->n > 0 ? perp__lower(b, s->item[0]) : zero,
                y = s->n > 1 ? perp__lower(b, s->item[1]) : zero;
    int op = s->kind == SYNTAX_NEG ? PERP__NEG
             : s->kind == SYNTAX_POW
                 ? PERP__POW
                 : (s->op[1] == '&' ? PERP__MIN : PERP__MAX); /* of 0 and 1: and, or */
    return perp__elementwise(b, op, x, y, s->at, s->end);
}

perp__value perp__lower_in(perp__builder *b, perp__scope where, const perp__syntax *s)
{
    b->scope = where;
    return perp__lower(b, s);
}
