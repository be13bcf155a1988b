/* Syntax tree to model: names to symbols, expressions to the graph, loops unrolled, arrays
 * flattened, and the checks that make a model well posed in form: every name declared once, every
 * var used, as many conditions as unknowns. */

#include "model/draw_block.h"
#include "model/identify_block.h"
#include "model/model.h"
#include "model/plan_block.h"
#include "model/syntax.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ELEMENTS = 1000000, MAX_LOOPS = 16, MAX_UNROLLED = 200000, MAX_TERMS = 2000000 };

/* What an expression may speak of, and which instant a name means. */
typedef enum scope {
    SCOPE_PARAM, /* parameters only: defaults, sizes, ranges, initial values, the simulate block */
    SCOPE_INPUT, /* and t: functions of time */
    SCOPE_PRE,   /* the beginning of the step: pre(...), guards */
    SCOPE_STEP,  /* everything, at the end of the step: equations and pairs */
    SCOPE_OUTPUT /* the same, for reports */
} scope;

typedef struct declared {
    const char *name;
    perp_symbol_kind kind;
    int ndim, dim[2], n;
    int first; /* index of its first item */
    int at, end;
    int is_known; /* a parameter is not, in its own value */
} declared;

typedef struct value {
    int ndim, dim[2], n; /* ndim 0: a scalar */
    perp_expr *e;
} value;

typedef struct builder {
    perp_model *model;
    perp__graph *graph;
    perp__source *source;
    perp__arena *arena;
    declared *name;
    int nname, cname;
    perp__names name_of; /* which of `name` */
    double *symbol;      /* values of parameters as they are declared; NaN for other symbols */
    int csymbol;
    int citem[PERP_SYMBOL_KINDS], cequation, cpair, cfriction;
    struct {
        const char *name;
        int value;
    } loop[MAX_LOOPS];
    int nloop;
    scope scope;
    int in_derivative;   /* inside der() or next(): suppresses nothing, forbids nesting */
    int der_at, next_at; /* where the first der( and next( stand, or -1 */
    int structural;      /* an index or size is being computed: mark the parameters it uses */
    int unrolled;        /* conditions and turns of loops so far */
    int terms;           /* of sums so far */
    int in_pre;          /* inside pre() */
    int failed;          /* memory */
} builder;

static const value zero = {0, {1, 1}, 1, NULL};

static value lower(builder *b, const perp__syntax *s);

/* Helpers ------------------------------------------------------------------------------------- */

static perp__item *item_of(const builder *b, perp_symbol_kind kind, int i)
{
    return &b->model->item[kind][i];
}

/* The first of n more symbols, without values. */
static int add_symbols(builder *b, int n)
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

static value new_value(builder *b, int ndim, int rows, int columns)
{
    value v = {ndim, {rows, columns}, rows * columns, NULL};
    v.e = perp__arena_alloc(b->arena, (size_t)v.n * sizeof *v.e + 1);
    if (!v.e) {
        b->failed = 1;
        v = zero;
    }
    return v;
}

static value scalar(builder *b, perp_expr e)
{
    value v = new_value(b, 0, 1, 1);
    if (v.e) v.e[0] = e;
    return v;
}

static value number(builder *b, double x)
{
    return scalar(b, perp__const(b->graph, x));
}

static perp_expr element(const value *v, int i)
{
    return v->e ? v->e[v->n == 1 ? 0 : i] : 0;
}

static const char *text_of(builder *b, int at, int end)
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

static declared *find(const builder *b, const char *name)
{
    int i = perp__names_find(&b->name_of, name);
    return i >= 0 && b->name[i].is_known ? &b->name[i] : NULL;
}

/* The nearest known name, as the end of a message. */
static const char *suggestion(builder *b, const char *name, int functions, char *buffer,
                              size_t size)
{
    const char *candidate[512];
    int n = 0;
    if (functions) {
        static const char *const others[] = {"der", "next", "pre", "sum", "norm", "dot"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) candidate[n++] = others[i];
        for (int op = 0; op < PERP__OP_COUNT; op++) {
            if (perp__op_text(op)) candidate[n++] = perp__op_text(op);
        }
    }
    for (int i = 0; i < b->nname && n < 512; i++) {
        if (b->name[i].is_known) candidate[n++] = b->name[i].name;
    }
    for (int i = 0; i < b->nloop && n < 512; i++) candidate[n++] = b->loop[i].name;
    const char *near = perp__nearest(name, candidate, n);
    if (near)
        snprintf(buffer, size, "; did you mean '%s'?", near);
    else
        buffer[0] = 0;
    return buffer;
}

/* The parameter of a symbol, which rise alike; NULL if it belongs to something else. */
static perp__item *param_of(const builder *b, int symbol)
{
    int low = 0, high = b->model->nitem[PERP_PARAM] - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (item_of(b, PERP_PARAM, middle)->symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    perp__item *item = high >= 0 ? item_of(b, PERP_PARAM, low) : NULL;
    return item && item->symbol == symbol ? item : NULL;
}

static void mark_structural(builder *b, perp_expr e)
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

/* Value of an expression of parameters, by their declared values; NaN if it has others. Parameters
 * that a size depends on cannot be changed later and are marked. */
static double constant_value(builder *b, perp_expr e, int structural)
{
    if (b->graph->node[e].op == PERP__CONST) return b->graph->node[e].value;
    double x = NAN;
    if (structural) mark_structural(b, e);
    if (!b->failed && !perp__graph_value(b->graph, e, b->symbol, &x)) b->failed = 1;
    return x;
}

/* A whole number computed from parameters and loop indices, as an index or a size. */
static int lower_integer(builder *b, const perp__syntax *s, const char *what, int *result)
{
    scope outer = b->scope;
    b->scope = SCOPE_PARAM;
    int errors = b->source->nerror;
    value v = lower(b, s);
    b->scope = outer;
    *result = 1;
    if (b->source->nerror > errors || b->failed) return 0;
    double x = v.ndim == 0 ? constant_value(b, element(&v, 0), 1) : (double)NAN;
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
static perp_expr item_expression(builder *b, const perp__syntax *s, const declared *d, int i)
{
    const perp__item *item = item_of(b, d->kind, d->first + i);
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

static value lower_name(builder *b, const perp__syntax *s)
{
    for (int i = b->nloop - 1; i >= 0; i--) {
        if (strcmp(b->loop[i].name, s->text) == 0) return number(b, b->loop[i].value);
    }
    if (strcmp(s->text, "pi") == 0) return number(b, 3.14159265358979323846);
    if (strcmp(s->text, "t") == 0 && b->scope != SCOPE_PARAM)
        return scalar(
            b, perp__symbol(b->graph, b->scope == SCOPE_PRE ? PERP__SYM_T_PRE : PERP__SYM_T));
    if (strcmp(s->text, "h") == 0 && b->scope >= SCOPE_PRE)
        return scalar(b, perp__symbol(b->graph, PERP__SYM_H));
    if (strcmp(s->text, "t") == 0 || strcmp(s->text, "h") == 0) {
        perp__error(b->source, s->at, s->end, "'%s' has no value here; only parameters can be used",
                    s->text);
        return zero;
    }
    declared *d = find(b, s->text);
    if (!d) {
        char near[300];
        perp__error(b->source, s->at, s->end, "unknown name '%s'%s", s->text,
                    suggestion(b, s->text, 0, near, sizeof near));
        return zero;
    }
    value v = new_value(b, d->ndim, d->dim[0], d->dim[1]);
    for (int i = 0; i < v.n && v.e; i++) v.e[i] = item_expression(b, s, d, i);
    return v;
}

/* name[i], name[i,j], and name[i] of a two-dimensional one: its row i */
static value lower_index(builder *b, const perp__syntax *s)
{
    declared *d = find(b, s->text);
    char near[300];
    int index[2] = {1, 1};
    if (!d) {
        perp__error(b->source, s->at, s->end, "unknown name '%s'%s", s->text,
                    suggestion(b, s->text, 0, near, sizeof near));
        return zero;
    }
    if (s->n < 1 || s->n > d->ndim) {
        perp__error(b->source, s->at, s->end,
                    d->ndim ? "'%s' has %d index%s, not %d" : "'%s' is a scalar and has no index",
                    d->name, d->ndim, d->ndim == 1 ? "" : "es", s->n);
        return zero;
    }
    for (int k = 0; k < s->n; k++) {
        if (!lower_integer(b, s->item[k], "an index", &index[k])) return zero;
        if (index[k] < 1 || index[k] > d->dim[k]) {
            perp__error(b->source, s->item[k]->at, s->item[k]->end,
                        "index %d of '%s' is outside 1..%d", index[k], d->name, d->dim[k]);
            return zero;
        }
    }
    int whole_row = s->n < d->ndim, n = whole_row ? d->dim[1] : 1;
    value v = new_value(b, whole_row, n, 1);
    int first = (index[0] - 1) * d->dim[1] + (whole_row ? 0 : index[1] - 1);
    if (d->ndim == 1) first = index[0] - 1;
    for (int i = 0; i < n && v.e; i++) v.e[i] = item_expression(b, s, d, first + i);
    return v;
}

/* Operators and functions --------------------------------------------------------------------- */

static void shape_text(const value *v, char *buffer, size_t size)
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
static int common_shape(builder *b, const value *x, const value *y, int at, int end, value *shape)
{
    *shape = x->ndim ? *x : *y;
    if (!x->ndim || !y->ndim ||
        (x->ndim == y->ndim && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1]))
        return 1;
    char sx[64], sy[64];
    shape_text(x, sx, sizeof sx);
    shape_text(y, sy, sizeof sy);
    perp__error(b->source, at, end, "the sizes differ: %s and %s", sx, sy);
    return 0;
}

static value elementwise(builder *b, int op, value x, value y, int at, int end)
{
    value shape;
    if (!common_shape(b, &x, &y, at, end, &shape)) return zero;
    value v = new_value(b, shape.ndim, shape.dim[0], shape.dim[1]);
    for (int i = 0; i < v.n && v.e; i++) {
        b->graph->source = at;
        v.e[i] = perp__op_arity(op) == 1
                     ? perp__unary(b->graph, op, element(&x, i))
                     : perp__binary(b->graph, op, element(&x, i), element(&y, i));
        b->graph->source = -1;
    }
    return v;
}

static value lower_chain(builder *b, const perp__syntax *s)
{
    value v = lower(b, s->item[0]);
    for (int i = 1; i < s->n; i++) {
        int op = s->op[i] == '+'   ? PERP__ADD
                 : s->op[i] == '-' ? PERP__SUB
                 : s->op[i] == '*' ? PERP__MUL
                                   : PERP__DIV;
        v = elementwise(b, op, v, lower(b, s->item[i]), s->opat[i], s->opat[i] + 1);
    }
    return v;
}

static value lower_list(builder *b, const perp__syntax *s)
{
    if (s->n == 0) {
        perp__error(b->source, s->at, s->end, "an empty list");
        return zero;
    }
    value first = lower(b, s->item[0]);
    if (first.ndim > 1) {
        perp__error(b->source, s->at, s->end, "at most two dimensions: a list of lists of numbers");
        return zero;
    }
    value v = new_value(b, first.ndim + 1, s->n, first.n);
    for (int i = 0; i < s->n && v.e; i++) {
        value row = i ? lower(b, s->item[i]) : first;
        if (row.ndim != first.ndim || row.n != first.n) {
            perp__error(b->source, s->item[i]->at, s->item[i]->end,
                        "the rows of a list must have the same size");
            return zero;
        }
        for (int j = 0; j < first.n; j++) v.e[i * first.n + j] = element(&row, j);
    }
    return v;
}

static value lower_sum(builder *b, const perp__syntax *s)
{
    int lo, hi;
    if (s->n != 3 || !lower_integer(b, s->item[0], "the first index", &lo) ||
        !lower_integer(b, s->item[1], "the last index", &hi))
        return zero;
    if (hi - lo >= MAX_ELEMENTS || b->nloop == MAX_LOOPS) {
        perp__error(b->source, s->at, s->end, "the sum is too large");
        return zero;
    }
    value v = number(b, 0);
    for (int i = lo; i <= hi && !b->failed && b->terms <= MAX_TERMS; i++) {
        if (++b->terms > MAX_TERMS) {
            perp__error(b->source, s->at, s->end,
                        "the sums of the model have more than %d terms in all", MAX_TERMS);
            return zero;
        }
        b->loop[b->nloop].name = s->text;
        b->loop[b->nloop++].value = i;
        v = elementwise(b, PERP__ADD, v, lower(b, s->item[2]), s->at, s->end);
        b->nloop--;
    }
    return v;
}

/* der(x), next(x): x must name a state, or elements of one. */
static value lower_rate(builder *b, const perp__syntax *s)
{
    int is_der = s->text[0] == 'd', offset = is_der ? PERP__DER : PERP__NEXT;
    const perp__syntax *x = s->n == 1 ? s->item[0] : NULL;
    if (!x || (x->kind != SYNTAX_NAME && x->kind != SYNTAX_INDEX)) {
        perp__error(b->source, s->at, s->end, "expected %s(x) with the name of a state", s->text);
        return zero;
    }
    declared *d = find(b, x->text);
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
    value v = lower(b, x); /* the states' own symbols, or an error about the name */
    for (int i = 0; i < v.n && v.e && d; i++) {
        int symbol = b->graph->node[v.e[i]].a;
        if (b->graph->node[v.e[i]].op == PERP__SYMBOL)
            v.e[i] = perp__symbol(b->graph, symbol + offset);
    }
    return v;
}

static value lower_pre(builder *b, const perp__syntax *s)
{
    if (s->n != 1) {
        perp__error(b->source, s->at, s->end, "pre takes one expression, not %d", s->n);
        return zero;
    }
    scope outer = b->scope;
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
    value v = lower(b, s->item[0]);
    b->scope = outer, b->in_pre = 0;
    return v;
}

/* All elements of all arguments, combined from the left: sum, min, max, and norm's sum of squares.
 */
static value reduce(builder *b, const perp__syntax *s, int op, int square)
{
    value total = zero;
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        value v = lower(b, s->item[i]);
        for (int j = 0; j < v.n && v.e; j++) {
            value x = scalar(b, v.e[j]);
            if (square) x = elementwise(b, PERP__MUL, x, x, s->at, s->end);
            total = count++ ? elementwise(b, op, total, x, s->at, s->end) : x;
        }
    }
    if (count == 0)
        perp__error(b->source, s->at, s->end, "%s needs at least one argument", s->text);
    return total;
}

static value lower_dot(builder *b, const perp__syntax *s)
{
    if (s->n != 2) {
        perp__error(b->source, s->at, s->end, "dot takes two arrays, not %d", s->n);
        return zero;
    }
    value x = lower(b, s->item[0]), y = lower(b, s->item[1]);
    value product = elementwise(b, PERP__MUL, x, y, s->at, s->end), total = number(b, 0);
    for (int i = 0; i < product.n && product.e; i++)
        total = elementwise(b, PERP__ADD, total, scalar(b, product.e[i]), s->at, s->end);
    return total;
}

static value lower_call(builder *b, const perp__syntax *s)
{
    const char *f = s->text;
    if (strcmp(f, "der") == 0 || strcmp(f, "next") == 0) return lower_rate(b, s);
    if (strcmp(f, "pre") == 0) return lower_pre(b, s);
    if (strcmp(f, "sum") == 0) return reduce(b, s, PERP__ADD, 0);
    if (strcmp(f, "min") == 0) return reduce(b, s, PERP__MIN, 0);
    if (strcmp(f, "max") == 0) return reduce(b, s, PERP__MAX, 0);
    if (strcmp(f, "norm") == 0)
        return elementwise(b, PERP__SQRT, reduce(b, s, PERP__ADD, 1), zero, s->at, s->end);
    if (strcmp(f, "dot") == 0) return lower_dot(b, s);
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        if (!perp__op_text(op) || strcmp(f, perp__op_text(op)) != 0) continue;
        if (s->n != perp__op_arity(op)) {
            perp__error(b->source, s->at, s->end, "%s takes %d argument%s, not %d", f,
                        perp__op_arity(op), perp__op_arity(op) == 1 ? "" : "s", s->n);
            return zero;
        }
        value x = lower(b, s->item[0]);
        return elementwise(b, op, x, s->n > 1 ? lower(b, s->item[1]) : zero, s->at, s->end);
    }
    char near[300];
    if (find(b, f))
        perp__error(b->source, s->at, s->end, "'%s' is %s, not a function; write a product with *",
                    f, kind_words[find(b, f)->kind]);
    else
        perp__error(b->source, s->at, s->end, "unknown function '%s'%s", f,
                    suggestion(b, f, 1, near, sizeof near));
    return zero;
}

/* a <= b and the like as 1 or 0 */
static value lower_comparison(builder *b, const perp__syntax *s)
{
    value x = lower(b, s->item[0]), y = lower(b, s->item[1]);
    int swap = s->op[1] == 'g' || s->op[1] == '>';
    int op = s->op[1] == 'l' || s->op[1] == 'g' ? PERP__LE : PERP__LT;
    return swap ? elementwise(b, op, y, x, s->opat[1], s->opat[1] + 1)
                : elementwise(b, op, x, y, s->opat[1], s->opat[1] + 1);
}

static value lower(builder *b, const perp__syntax *s)
{
    if (b->failed || b->graph->failed || !s) return zero;
    switch (s->kind) {
    case SYNTAX_NUMBER: return number(b, s->number);
    case SYNTAX_NAME: return lower_name(b, s);
    case SYNTAX_INDEX: return lower_index(b, s);
    case SYNTAX_CALL: return lower_call(b, s);
    case SYNTAX_LIST: return lower_list(b, s);
    case SYNTAX_CHAIN: return lower_chain(b, s);
    case SYNTAX_SUM: return lower_sum(b, s);
    case SYNTAX_COMPARE: return lower_comparison(b, s);
    default: break;
    }
    value x = s->n > 0 ? lower(b, s->item[0]) : zero, y = s->n > 1 ? lower(b, s->item[1]) : zero;
    int op = s->kind == SYNTAX_NEG ? PERP__NEG
             : s->kind == SYNTAX_POW
                 ? PERP__POW
                 : (s->op[1] == '&' ? PERP__MIN : PERP__MAX); /* of 0 and 1: and, or */
    return elementwise(b, op, x, y, s->at, s->end);
}

static value lower_in(builder *b, scope where, const perp__syntax *s)
{
    b->scope = where;
    return lower(b, s);
}

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

static int is_declaration(perp__statement_kind kind)
{
    return kind >= STATEMENT_PARAM && kind <= STATEMENT_OUTPUT;
}

/* Numbers of a `in [lo, hi]`. */
static void lower_range(builder *b, const perp__statement *s, double *lo, double *hi)
{
    *lo = -INFINITY, *hi = INFINITY;
    if (!s->lo || !s->hi) return;
    value vl = lower_in(b, SCOPE_PARAM, s->lo), vh = lower_in(b, SCOPE_PARAM, s->hi);
    *lo = constant_value(b, element(&vl, 0), 0);
    *hi = constant_value(b, element(&vh, 0), 0);
    if (!(*lo <= *hi))
        perp__error(b->source, s->lo->at, s->hi->end,
                    "the range of '%s' is empty: %g is not below %g", s->name, *lo, *hi);
}

static const char *element_name(builder *b, const declared *d, int i)
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

static void enter_item(builder *b, perp_symbol_kind kind, int i)
{
    if (i > (INT_MAX - (int)kind) / PERP_SYMBOL_KINDS ||
        !perp__names_add(&b->model->item_of, item_of(b, kind, i)->name,
                         i * PERP_SYMBOL_KINDS + (int)kind))
        b->failed = 1;
}

/* Enter the name, and its items with their symbols but no expressions yet. NULL if that cannot be.
 */
static declared *declare(builder *b, const perp__statement *s)
{
    static const int symbols_of[] = {1, 2, 4, 1, 0};
    perp_model *m = b->model;
    declared *twin = find(b, s->name);
    if (twin) {
        int line, column;
        perp__source_place(b->source, twin->at, &line, &column);
        perp__error(b->source, s->name_at, s->name_end, "'%s' is already declared at %d:%d",
                    s->name, line, column);
        return NULL;
    }
    perp_symbol_kind kind = symbol_kind(s->kind);
    declared fresh = {s->name,        kind,       s->ndim,     {1, 1}, 1,
                      m->nitem[kind], s->name_at, s->name_end, 1},
             *d = &fresh;
    for (int k = 0; k < s->ndim; k++) {
        if (lower_integer(b, s->dim[k], "a size", &d->dim[k]) &&
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
    double lo, hi;
    lower_range(b, s, &lo, &hi); /* like the sizes, before the name is known */
    if (!perp__grow(&b->name, &b->cname, b->nname + 1, sizeof *b->name) ||
        !perp__grow(&m->item[kind], &b->citem[kind], m->nitem[kind] + d->n, sizeof(perp__item)) ||
        !perp__names_add(&b->name_of, s->name, b->nname)) {
        b->failed = 1;
        return NULL;
    }
    b->name[b->nname] = fresh;
    d = &b->name[b->nname++];
    for (int i = 0; i < d->n && !b->failed; i++) {
        m->item[kind][m->nitem[kind]++] = (perp__item){.name = element_name(b, d, i),
                                                       .unit = s->unit ? s->unit : "",
                                                       .at = s->name_at,
                                                       .end = s->name_end,
                                                       .symbol = add_symbols(b, symbols_of[kind]),
                                                       .expr = -1,
                                                       .value = NAN,
                                                       .lo = lo,
                                                       .hi = hi};
        enter_item(b, kind, m->nitem[kind] - 1);
    }
    return d;
}

/* Give a declared name's items their expressions. */
static void assign_value(builder *b, const perp__statement *s, const declared *d, value v)
{
    if (b->failed || !v.e) return;
    if (v.ndim && (v.ndim != d->ndim || v.dim[0] != d->dim[0] || v.dim[1] != d->dim[1])) {
        value shape = {d->ndim, {d->dim[0], d->dim[1]}, d->n, NULL};
        char is[64], should[64];
        shape_text(&v, is, sizeof is);
        shape_text(&shape, should, sizeof should);
        perp__error(b->source, s->value->at, s->value->end, "the value of '%s' is %s; expected %s",
                    s->name, is, should);
        return;
    }
    for (int i = 0; i < d->n; i++) item_of(b, d->kind, d->first + i)->expr = element(&v, i);
}

static void assign(builder *b, const perp__statement *s, scope where)
{
    const declared *d = find(b, s->name);
    if (d && d->at == s->name_at && s->value) assign_value(b, s, d, lower_in(b, where, s->value));
}

/* Say why a parameter's value is no number: where in its expression the fault is. */
static void report_not_finite(builder *b, const perp__statement *s, const perp__item *item)
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

static void declare_param(builder *b, const perp__statement *s)
{
    declared *d = declare(b, s);
    if (!d || b->failed) return;
    d->is_known = 0;
    value v = lower_in(b, SCOPE_PARAM, s->value);
    d->is_known = 1;
    assign_value(b, s, d, v);
    for (int i = d->first; i < d->first + d->n && !b->failed; i++) {
        perp__item *item = item_of(b, PERP_PARAM, i);
        if (item->expr < 0) continue;
        b->symbol[item->symbol] = item->value = constant_value(b, item->expr, 0);
        if (!isfinite(item->value)) report_not_finite(b, s, item);
    }
}

static void declare_all(builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_PARAM)
            declare_param(b, s);
        else if (is_declaration(s->kind))
            declare(b, s);
        else if (s->kind == STATEMENT_MODEL && b->model->name[0])
            perp__error(b->source, s->name_at, s->name_end, "the model has a name already: '%s'",
                        b->model->name);
        else if (s->kind == STATEMENT_MODEL)
            b->model->name = s->name;
    }
}

/* Loops can multiply beyond what anybody means. */
static int unroll(builder *b, const perp__statement *s, int n)
{
    if (b->unrolled > MAX_UNROLLED) return 0;
    b->unrolled += n;
    if (b->unrolled > MAX_UNROLLED)
        perp__error(b->source, s->at, s->end, "the loops unroll to more than %d conditions",
                    MAX_UNROLLED);
    return b->unrolled <= MAX_UNROLLED;
}

/* Equations and pairs ------------------------------------------------------------------------- */

static void add_equations(builder *b, const perp__statement *s)
{
    value left = lower_in(b, SCOPE_STEP, s->left), right = lower_in(b, SCOPE_STEP, s->right), shape;
    if (!common_shape(b, &left, &right, s->at, s->end, &shape) || b->failed ||
        !unroll(b, s, shape.n))
        return;
    perp_model *m = b->model;
    const char *text = text_of(b, s->at, s->end);
    if (!perp__grow(&m->equation, &b->cequation, m->nequation + shape.n, sizeof *m->equation))
        b->failed = 1;
    for (int i = 0; i < shape.n && !b->failed; i++)
        m->equation[m->nequation++] =
            (perp__equation){element(&left, i), element(&right, i), s->at, text};
}

/* `e0 <= e1` or `e1 >= e0` as the quantity that is not negative. */
static value nonnegative(builder *b, const perp__side *side)
{
    value x = lower(b, side->e[0]), y = lower(b, side->e[1]);
    int at = side->e[0]->at, end = side->e[1]->end;
    return side->rel[0] == 'l' ? elementwise(b, PERP__SUB, y, x, at, end)
                               : elementwise(b, PERP__SUB, x, y, at, end);
}

static int is_zero(const perp__syntax *s)
{
    return s->kind == SYNTAX_NUMBER && s->number == 0;
}

/* What a side is called in reports: the part of it that is not the 0. */
static const char *side_text(builder *b, const perp__side *side)
{
    const perp__syntax *e = side->n == 3 ? side->e[1] : NULL;
    if (side->n == 1 || (side->n == 2 && is_zero(side->e[1])))
        e = side->e[0];
    else if (side->n == 2 && is_zero(side->e[0]))
        e = side->e[1];
    return e ? text_of(b, e->at, e->end) : text_of(b, side->e[0]->at, side->e[side->n - 1]->end);
}

static int common_size(builder *b, const perp__statement *s, const value *v, int n, int *size)
{
    value shape = v[0];
    for (int i = 1; i < n; i++) {
        if (!common_shape(b, &shape, &v[i], s->at, s->end, &shape)) return 0;
    }
    *size = shape.n;
    return 1;
}

static void add_pairs(builder *b, const perp__statement *s)
{
    const perp__side *first = &s->side[0], *second = &s->side[1];
    if (second->n == 3 && first->n == 1) first = &s->side[1], second = &s->side[0];
    int two_sided = first->n == 3 && second->n == 1, size;
    if (!two_sided && (first->n != 2 || second->n != 2)) {
        perp__error(b->source, s->at, s->end,
                    "a pair is '0 <= a perp b >= 0' or 'lo <= y <= hi perp e'%s",
                    first->n + second->n == 3 ? "; one side here has no inequality" : "");
        return;
    }
    if (two_sided && first->rel[0] != first->rel[1]) {
        perp__error(b->source, first->e[0]->at, first->e[2]->end,
                    "both inequalities must point the same way: lo <= y <= hi");
        return;
    }
    b->scope = SCOPE_STEP;
    value v[5]; /* a, b, lo, hi, guard */
    if (two_sided) {
        int up = first->rel[0] == 'l';
        v[0] = lower(b, first->e[1]);
        v[1] = lower(b, second->e[0]);
        v[2] = lower(b, first->e[up ? 0 : 2]);
        v[3] = lower(b, first->e[up ? 2 : 0]);
    } else {
        v[0] = nonnegative(b, first);
        v[1] = nonnegative(b, second);
        v[2] = v[3] = number(b, 0);
    }
    v[4] = s->guard ? lower_in(b, SCOPE_PRE, s->guard) : number(b, 1);
    if (!common_size(b, s, v, 5, &size) || b->failed || !unroll(b, s, size)) return;

    perp_model *m = b->model;
    if (!perp__grow(&m->pair, &b->cpair, m->npair + size, sizeof *m->pair)) {
        b->failed = 1;
        return;
    }
    const char *text = text_of(b, s->at, s->end),
               *sides[2] = {side_text(b, first), side_text(b, second)};
    for (int i = 0; i < size; i++) {
        m->pair[m->npair++] = (perp__pair){two_sided,
                                           element(&v[0], i),
                                           element(&v[1], i),
                                           element(&v[2], i),
                                           element(&v[3], i),
                                           s->guard ? element(&v[4], i) : -1,
                                           s->at,
                                           text,
                                           {sides[0], sides[1]}};
    }
}

/* Friction ------------------------------------------------------------------------------------ */

/* A var of the statement's own. Returns its expression. */
static perp_expr hidden_var(builder *b, const perp__statement *s)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->item[PERP_VAR], &b->citem[PERP_VAR], m->nitem[PERP_VAR] + 1,
                    sizeof(perp__item))) {
        b->failed = 1;
        return 0;
    }
    int symbol = add_symbols(b, 1);
    m->item[PERP_VAR][m->nitem[PERP_VAR]++] = (perp__item){.name = "a facet of friction",
                                                           .unit = "",
                                                           .at = s->at,
                                                           .end = s->at + 8,
                                                           .symbol = symbol,
                                                           .expr = -1,
                                                           .value = NAN,
                                                           .lo = -INFINITY,
                                                           .hi = INFINITY};
    return perp__symbol(b->graph, symbol);
}

static void push_equation(builder *b, const perp__statement *s, perp_expr left, perp_expr right,
                          const char *text)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->equation, &b->cequation, m->nequation + 1, sizeof *m->equation))
        b->failed = 1;
    else
        m->equation[m->nequation++] = (perp__equation){left, right, s->at, text};
}

static void push_pair(builder *b, perp__pair pair)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->pair, &b->cpair, m->npair + 1, sizeof *m->pair))
        b->failed = 1;
    else
        m->pair[m->npair++] = pair;
}

/* k facets (Stewart and Trinkle 1996): f = sum beta_j d_j, 0 <= beta_j perp sigma + d_j.v >= 0,
 * 0 <= sigma perp bound - sum beta_j >= 0. sigma is the speed of slip. */
static void add_facets(builder *b, const perp__statement *s, const perp_expr *f, const perp_expr *v,
                       perp_expr bound, perp_expr guard, int k)
{
    perp__graph *g = b->graph;
    const char *text = text_of(b, s->at, s->end);
    perp_expr sigma = hidden_var(b, s), zero_ = perp__const(g, 0), total = zero_,
              force[2] = {zero_, zero_};
    int at = b->model->npair;
    push_pair(
        b,
        (perp__pair){
            0, sigma, zero_, zero_, zero_, guard, s->at, text, {"slip speed", "bound - friction"}});
    for (int j = 0; j < k && !b->failed; j++) {
        double angle = 2 * 3.14159265358979323846 * j / k, d[2] = {cos(angle), sin(angle)};
        perp_expr beta = hidden_var(b, s), slip = sigma;
        for (int i = 0; i < 2; i++) {
            perp_expr di = perp__const(g, fabs(d[i]) < 1e-15 ? 0 : d[i]);
            force[i] = perp__add(g, force[i], perp__mul(g, di, beta));
            slip = perp__add(g, slip, perp__mul(g, di, v[i]));
        }
        total = perp__add(g, total, beta);
        push_pair(b, (perp__pair){0, beta, slip, zero_, zero_, guard, s->at, text, {"", ""}});
    }
    if (b->failed) return;
    b->model->pair[at].b = perp__sub(g, bound, total);
    for (int i = 0; i < 2; i++) push_equation(b, s, f[i], force[i], text);
}

/* The exact cone (Alart and Curnier 1991): f = P(f - r v), P the projection on the disc of radius
 * bound: f = w bound / max(bound, |w|), w = f - r v. Any r > 0 has the same solutions. */
static void add_exact_cone(builder *b, const perp__statement *s, const perp_expr *f,
                           const perp_expr *v, perp_expr bound, perp_expr guard, perp_expr r)
{
    perp__graph *g = b->graph;
    const char *text = text_of(b, s->at, s->end);
    perp_expr w[2], square = perp__const(g, 1e-300); /* so that |w| has a derivative at 0 */
    if (guard >= 0) bound = perp__mul(g, bound, guard);
    for (int i = 0; i < 2; i++) {
        w[i] = perp__sub(g, f[i], perp__mul(g, r, v[i]));
        square = perp__add(g, square, perp__mul(g, w[i], w[i]));
    }
    perp_expr ratio =
        perp__div(g, bound, perp__binary(g, PERP__MAX, bound, perp__unary(g, PERP__SQRT, square)));
    for (int i = 0; i < 2; i++) push_equation(b, s, f[i], perp__mul(g, w[i], ratio), text);
}

static void push_friction(builder *b, const perp__statement *s, const value *f, const value *v,
                          perp_expr bound, perp_expr guard, int is_exact)
{
    perp_model *m = b->model;
    if (!perp__grow(&m->friction, &b->cfriction, m->nfriction + 1, sizeof *m->friction)) {
        b->failed = 1;
        return;
    }
    m->friction[m->nfriction++] = (perp__friction){f->n,
                                                   {f->e[0], f->e[f->n - 1]},
                                                   {v->e[0], v->e[v->n - 1]},
                                                   bound,
                                                   guard,
                                                   is_exact ? m->nequation : -1,
                                                   s->at,
                                                   text_of(b, s->at, s->end)};
}

static void add_friction(builder *b, const perp__statement *s)
{
    value f = lower_in(b, SCOPE_STEP, s->f), v = lower(b, s->v), bound = lower(b, s->bound);
    value r = s->r ? lower(b, s->r)
                   : scalar(b, perp__div(b->graph, perp__const(b->graph, 1),
                                         perp__symbol(b->graph, PERP__SYM_H)));
    value guard = s->guard ? lower_in(b, SCOPE_PRE, s->guard) : zero;
    int facets = 0;
    if (b->failed || !f.e || !v.e || !bound.e || !r.e) return;
    if (f.n != v.n || f.n > 2 || bound.n != 1 || r.n != 1 || guard.n != 1) {
        perp__error(b->source, s->at, s->end,
                    "friction acts in one direction or two: f and v have one or two elements each, "
                    "bound has one");
        return;
    }
    if (s->facets &&
        (!lower_integer(b, s->facets, "facets", &facets) || facets < 3 || facets > 1000)) {
        perp__error(b->source, s->facets->at, s->facets->end,
                    "facets must be a whole number from 3 to 1000, or exact");
        return;
    }
    if (!unroll(b, s, facets + 2)) return;
    perp_expr on = s->guard ? element(&guard, 0) : -1, limit = element(&bound, 0);
    push_friction(b, s, &f, &v, limit, on, f.n == 2 && !facets);
    if (f.n == 1) {
        const char *text = text_of(b, s->at, s->end);
        push_pair(b, (perp__pair){1,
                                  f.e[0],
                                  v.e[0],
                                  perp__neg(b->graph, limit),
                                  limit,
                                  on,
                                  s->at,
                                  text,
                                  {"friction", "slip"}});
    } else if (facets) {
        add_facets(b, s, f.e, v.e, limit, on, facets);
    } else {
        add_exact_cone(b, s, f.e, v.e, limit, on, element(&r, 0));
    }
}

static void add_conditions(builder *b, const perp__statement *s);

static void add_loop(builder *b, const perp__statement *s)
{
    int lo, hi;
    if (find(b, s->name)) {
        perp__error(b->source, s->name_at, s->name_end,
                    "the loop index '%s' is also a declared name", s->name);
        return;
    }
    if (!lower_integer(b, s->lo, "the first index", &lo) ||
        !lower_integer(b, s->hi, "the last index", &hi))
        return;
    if (b->nloop == MAX_LOOPS || hi - lo >= MAX_ELEMENTS) {
        perp__error(b->source, s->at, s->end, "the loop is too large");
        return;
    }
    for (int i = lo; i <= hi && !b->failed && b->source->nerror < 100 && unroll(b, s, 1); i++) {
        b->loop[b->nloop].name = s->name;
        b->loop[b->nloop++].value = i;
        add_conditions(b, s->body);
        b->nloop--;
    }
}

static void add_conditions(builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_EQUATION)
            add_equations(b, s);
        else if (s->kind == STATEMENT_PAIR)
            add_pairs(b, s);
        else if (s->kind == STATEMENT_FRICTION)
            add_friction(b, s);
        else if (s->kind == STATEMENT_FOR)
            add_loop(b, s);
        else if (b->nloop && (is_declaration(s->kind) || s->kind == STATEMENT_SIMULATE ||
                              s->kind == STATEMENT_MODEL || s->kind == STATEMENT_PLAN ||
                              s->kind == STATEMENT_DRAW || s->kind == STATEMENT_IDENTIFY))
            perp__error(b->source, s->at, s->end,
                        "only equations, pairs and loops can stand in a loop");
    }
}

static void read_table(builder *b, const perp__statement *s);

static void assign_all(builder *b, const perp__statement *s)
{
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_STATE) assign(b, s, SCOPE_PARAM);
        if (s->kind == STATEMENT_INPUT && s->value) assign(b, s, SCOPE_INPUT);
        if (s->kind == STATEMENT_INPUT && s->table) read_table(b, s);
        if (s->kind == STATEMENT_OUTPUT) assign(b, s, SCOPE_OUTPUT);
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
static void read_table(builder *b, const perp__statement *s)
{
    declared *d = find(b, s->name);
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

static perp_expr lower_setting(builder *b, const perp__syntax *s, perp_expr former)
{
    if (!s) return former;
    value v = lower_in(b, SCOPE_PARAM, s);
    if (v.ndim) perp__error(b->source, s->at, s->end, "expected a number");
    return element(&v, 0);
}

static void read_settings(builder *b, const perp__statement *s)
{
    perp_model *m = b->model;
    for (; s && !b->failed; s = s->next) {
        if (s->kind == STATEMENT_PLAN && !perp__read_plan(b, m, s)) b->failed = 1;
        if (s->kind == STATEMENT_DRAW && !perp__read_draw(b, m, s)) b->failed = 1;
        if (s->kind == STATEMENT_IDENTIFY && !perp__read_identify(m, s)) b->failed = 1;
        if (s->kind != STATEMENT_SIMULATE) continue;
        m->from = lower_setting(b, s->from, m->from);
        m->to = lower_setting(b, s->to, m->to);
        m->step = lower_setting(b, s->step, m->step);
        if (s->method) m->method = s->method;
        if (s->step && m->step >= 0 && constant_value(b, m->step, 0) <= 0)
            perp__error(b->source, s->step->at, s->step->end, "the step must be positive");
    }
}

/* Blocks -------------------------------------------------------------------------------------- */

int perp__lower_block(struct builder *b, const perp__syntax *s, int where, perp_expr **e, int *n)
{
    static const scope scopes[] = {SCOPE_PARAM, SCOPE_INPUT, SCOPE_OUTPUT};
    int errors = b->source->nerror;
    value v = lower_in(b, scopes[where], s);
    *e = v.e;
    *n = v.n;
    return v.e && !b->failed && b->source->nerror == errors;
}

int perp__find_block(struct builder *b, const perp__syntax *s, perp_symbol_kind *kind, int *first,
                     int *n)
{
    int is_name = s->kind == SYNTAX_NAME || s->kind == SYNTAX_INDEX;
    const declared *d = is_name ? find(b, s->text) : NULL;
    int index[2] = {1, 1}, nindex = s->kind == SYNTAX_INDEX ? s->n : 0;
    if (!d || (nindex && nindex != d->ndim)) {
        char near[300] = "";
        perp__error(b->source, s->at, s->end,
                    "expected the name of a state, var, input or parameter%s",
                    is_name && !d ? suggestion(b, s->text, 0, near, sizeof near) : near);
        return 0;
    }
    for (int k = 0; k < nindex; k++) {
        if (!lower_integer(b, s->item[k], "an index", &index[k])) return 0;
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

static void check_kind(builder *b)
{
    b->model->kind = b->next_at >= 0 ? PERP_DISCRETE : PERP_CONTINUOUS;
    if (b->der_at < 0 || b->next_at < 0) return;
    int later = b->der_at > b->next_at ? b->der_at : b->next_at, line, column;
    perp__source_place(b->source, b->der_at + b->next_at - later, &line, &column);
    perp__error(
        b->source, later, later,
        "a model is continuous (der) or discrete (next), not both; the other one is at %d:%d", line,
        column);
}

int perp__build(perp_model *model)
{
    builder b = {.model = model,
                 .graph = &model->graph,
                 .source = &model->source,
                 .arena = &model->arena,
                 .der_at = -1,
                 .next_at = -1};
    model->name = "";
    model->from = model->to = model->step = -1;
    add_symbols(&b, PERP__SYM_FIRST);
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
    if (!b.failed) add_conditions(&b, statements);
    if (!b.failed) read_settings(&b, statements);
    if (!b.failed) check_kind(&b);
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
