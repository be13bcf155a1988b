/* Tokens to syntax tree, by recursive descent. An error is recorded where it stands and the
 * statement is skipped to the end of its line, so that all errors of a file are found in one go.
 * Grammar: docs/language.md. */

#include "model/blocks.h"
#include "model/graph.h"
#include "base/names.h"
#include "model/syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200 }; /* of nested brackets */

typedef struct parser {
    perp__source *source;
    perp__arena *arena;
    const perp__token *token;     /* the next one */
    const perp__token *statement; /* the first of the statement at hand */
    int depth;                    /* of nested expressions */
    int brackets;                 /* open ( and [: newlines inside them do not count */
    int bad;                      /* the statement at hand has an error: say no more about it */
    int first;                    /* the byte where the file begins */
    perp__statement *next;        /* room for so many spare ones, of those taken at once */
    int spare, taken;
    perp__syntax spare_node; /* when memory is out */
    perp__statement spare_statement;
} parser;

void perp__expected(perp__source *source, const perp__token *t, const char *what)
{
    if (t->kind == TOKEN_NEWLINE || t->kind == TOKEN_END)
        perp__error(source, t->at, t->at, "expected %s, found the end of the line", what);
    else
        perp__error(source, t->at, t->end, "expected %s, found '%.*s'", what,
                    t->end - t->at > 40 ? 40 : t->end - t->at, source->text + t->at);
}

static perp__syntax *parse_expression(parser *p);

/* Tokens -------------------------------------------------------------------------------------- */

static int at_symbol(const parser *p, char symbol)
{
    return p->token->kind == TOKEN_OTHER && p->token->symbol == symbol;
}

static int at_word(const parser *p, const char *word)
{
    return p->token->kind == TOKEN_NAME && perp__is_word(p->token->text, word);
}

static const perp__token *take(parser *p)
{
    const perp__token *token = p->token;
    if (at_symbol(p, '(') || at_symbol(p, '[')) p->brackets++;
    if (at_symbol(p, ')') || at_symbol(p, ']')) p->brackets--;
    if (token->kind != TOKEN_END) p->token++;
    while (p->brackets > 0 && p->token->kind == TOKEN_NEWLINE) p->token++;
    return token;
}

static int take_symbol(parser *p, char symbol)
{
    return at_symbol(p, symbol) ? (take(p), 1) : 0;
}

static int take_word(parser *p, const char *word)
{
    return at_word(p, word) ? (take(p), 1) : 0;
}

static int is_symbol(const perp__token *t, char symbol)
{
    return t->kind == TOKEN_OTHER && t->symbol == symbol;
}

/* The token behind the bracket or brace that opens here. */
static const perp__token *behind(const perp__token *t, char open, char close)
{
    int depth = 0;
    do {
        depth += is_symbol(t, open) - is_symbol(t, close);
        t++;
    } while (depth > 0 && t->kind != TOKEN_END);
    return t;
}

/* What other languages write otherwise: a hint for the token that was not expected, or "". */
static const char *hint(const parser *p)
{
    static const struct {
        char symbol;
        int doubled;
        const char *text;
    } habits[] = {{'*', 1, "; a power is written ^"},
                  {'=', 1, "; an equation has one =, a guard <= or >="},
                  {'/', 1, "; a comment begins with #"},
                  {'%', 0, "; a comment begins with #"},
                  {'[', 0, "; elements are taken of names: let y = .., then y[1]"},
                  {';', 0, "; a statement ends with its line"}};
    const perp__token *t = p->token;
    for (size_t i = 0; i < sizeof habits / sizeof *habits && t->kind == TOKEN_OTHER; i++) {
        int is_doubled =
            (t[-1].kind == TOKEN_OTHER && t[-1].symbol == t->symbol && t[-1].end == t->at) ||
            (t[1].kind == TOKEN_OTHER && t[1].symbol == t->symbol && t->end == t[1].at);
        if (t->symbol == habits[i].symbol && is_doubled >= habits[i].doubled) return habits[i].text;
    }
    return "";
}

/* "expected X, found Y" at the next token; once per statement. */
static void expected(parser *p, const char *what)
{
    if (p->bad) return;
    p->bad = 1;
    p->brackets = 0;
    while (p->token[-1].kind == TOKEN_NEWLINE && p->token > p->statement)
        p->token--; /* inside brackets */
    const perp__token *t = p->token;
    if (t->kind == TOKEN_END || (t->kind == TOKEN_NEWLINE && t[1].kind == TOKEN_END))
        perp__error(p->source, t->at, t->end, "expected %s, found the end of the file", what);
    else if (t->kind == TOKEN_NEWLINE)
        perp__error(p->source, t->at, t->at, "expected %s, found the end of the line", what);
    else if (!perp__source_has_error(p->source, t->at)) /* else no token of the language: said */
        perp__error(p->source, t->at, t->end, "expected %s, found '%.*s'%s", what,
                    t->end - t->at > 40 ? 40 : t->end - t->at, p->source->text + t->at, hint(p));
}

static void expect_symbol(parser *p, char symbol, const char *what)
{
    if (!take_symbol(p, symbol)) expected(p, what);
}

static int last_end(const parser *p)
{
    const perp__token *token = p->token - 1;
    while (token->kind == TOKEN_NEWLINE && token->at > p->first) token--;
    return token->end;
}

/* Nodes --------------------------------------------------------------------------------------- */

static perp__syntax *new_node(parser *p, perp__syntax_kind kind, int at)
{
    perp__syntax *node = perp__arena_alloc(p->arena, sizeof *node);
    if (!node) {
        p->bad = 1;
        return &p->spare_node;
    }
    node->kind = kind;
    node->at = at;
    return node;
}

/* A list that grows in malloc and ends in the arena. */
typedef struct items {
    perp__syntax **item;
    char *op;
    int *opat;
    int n, capacity, failed;
} items;

static void items_push(items *list, perp__syntax *item, char op, int opat)
{
    int c1 = list->capacity, c2 = c1, c3 = c1;
    if (!perp__grow(&list->item, &c1, list->n + 1, sizeof *list->item) ||
        !perp__grow(&list->op, &c2, list->n + 1, sizeof *list->op) ||
        !perp__grow(&list->opat, &c3, list->n + 1, sizeof *list->opat)) {
        list->failed = 1;
        return;
    }
    list->capacity = c1;
    list->item[list->n] = item;
    list->op[list->n] = op;
    list->opat[list->n++] = opat;
}

static void items_store(parser *p, items *list, perp__syntax *node)
{
    size_t n = (size_t)list->n;
    node->item = perp__arena_alloc(p->arena, n * sizeof *node->item + 1);
    node->op = perp__arena_alloc(p->arena, n + 1);
    node->opat = perp__arena_alloc(p->arena, n * sizeof *node->opat + 1);
    if (node->item && node->op && node->opat && !list->failed && n) {
        node->n = list->n;
        memcpy(node->item, list->item, n * sizeof *node->item);
        memcpy(node->op, list->op, n);
        memcpy(node->opat, list->opat, n * sizeof *node->opat);
    }
    if (list->failed) p->arena->failed = 1;
    if (p->arena->failed) p->bad = 1; /* a node without its items is none */
    free(list->item);
    free(list->op);
    free(list->opat);
    node->end = last_end(p);
}

/* Expressions --------------------------------------------------------------------------------- */

typedef perp__syntax *item_parser(parser *p);

static void parse_items(parser *p, perp__syntax *node, char close, const char *what,
                        item_parser *item)
{
    items list = {0};
    if (!at_symbol(p, close)) {
        do items_push(&list, item(p), 0, 0);
        while (!p->bad && take_symbol(p, ','));
    }
    expect_symbol(p, close, what);
    items_store(p, &list, node);
}

/* An index: an expression, a range lo..hi, or : for all. */
static perp__syntax *parse_index(parser *p)
{
    int at = p->token->at;
    perp__syntax *first = at_symbol(p, ':') ? NULL : parse_expression(p);
    if (first && p->token->kind != TOKEN_DOTS) return first;
    perp__syntax *range = new_node(p, SYNTAX_RANGE, at);
    items list = {0};
    take(p);
    if (first) {
        items_push(&list, first, 0, 0);
        items_push(&list, parse_expression(p), 0, 0);
    }
    items_store(p, &list, range);
    return range;
}

/* What choose(condition, ..) and lookup("file", ..) take besides expressions. */
static perp__syntax *parse_condition(parser *p);

static perp__syntax *parse_string(parser *p)
{
    const perp__token *t = p->token;
    if (t->kind != TOKEN_STRING) return parse_expression(p);
    perp__syntax *node = new_node(p, SYNTAX_STRING, t->at);
    node->text = take(p)->text;
    node->end = t->end;
    return node;
}

/* sum(i in lo..hi, term), after "sum(" */
static perp__syntax *parse_sum(parser *p, int at)
{
    perp__syntax *node = new_node(p, SYNTAX_SUM, at);
    items list = {0};
    node->text = take(p)->text;
    take(p); /* in */
    items_push(&list, parse_expression(p), 0, 0);
    if (p->token->kind == TOKEN_DOTS)
        take(p);
    else
        expected(p, "'..' between the first and the last index");
    items_push(&list, parse_expression(p), 0, 0);
    expect_symbol(p, ',', "',' and the term to sum");
    items_push(&list, parse_expression(p), 0, 0);
    expect_symbol(p, ')', "')'");
    items_store(p, &list, node);
    return node;
}

static perp__syntax *parse_call(parser *p, const perp__token *name)
{
    int is_sum = perp__is_word(name->text, "sum") && p->token->kind == TOKEN_NAME;
    if (is_sum && p->token[1].kind == TOKEN_NAME && perp__is_word(p->token[1].text, "in"))
        return parse_sum(p, name->at);
    if (is_sum && is_symbol(p->token + 1, '=')) {
        take(p);
        expected(p, "'in' and the range: sum(i in 1..4, x[i])");
    }
    perp__syntax *node = new_node(p, SYNTAX_CALL, name->at);
    node->text = name->text;
    item_parser *parse_item = parse_expression;
    if (perp__is_word(name->text, "choose"))
        parse_item = parse_condition;
    else if (perp__is_word(name->text, "lookup"))
        parse_item = parse_string;
    parse_items(p, node, ')', "',' or ')'", parse_item);
    return node;
}

/* NAME, NAME[index, ..], NAME(item, ..), and behind a dot a name of the part that this is */
static perp__syntax *parse_name(parser *p)
{
    const perp__token *name = take(p);
    int at = name->at;
    if (take_symbol(p, '(')) return parse_call(p, name);
    for (perp__syntax *base = NULL;;) {
        perp__syntax *node = new_node(p, SYNTAX_NAME, at);
        node->text = name->text;
        node->end = name->end;
        node->base = base;
        if (take_symbol(p, '[')) {
            node->kind = SYNTAX_INDEX;
            parse_items(p, node, ']', "',' or ']'", parse_index);
        }
        if (p->bad || !take_symbol(p, '.')) return node;
        if (p->token->kind != TOKEN_NAME) {
            expected(p, "a name of the part");
            return node;
        }
        name = take(p);
        base = node;
    }
}

static int is_statement_word(const char *text);

static perp__syntax *parse_primary(parser *p)
{
    const perp__token *t = p->token;
    if (t->kind == TOKEN_NUMBER) {
        perp__syntax *node = new_node(p, SYNTAX_NUMBER, t->at);
        node->number = take(p)->number;
        node->end = t->end;
        return node;
    }
    if (at_word(p, "if") && (t[1].kind == TOKEN_NAME || t[1].kind == TOKEN_NUMBER)) {
        expected(p, "an expression; one of two is choose(x < 1, a, b)");
        return new_node(p, SYNTAX_NUMBER, t->at);
    }
    if (t->kind == TOKEN_NAME && !is_statement_word(t->text)) return parse_name(p);
    if (take_symbol(p, '(')) {
        perp__syntax *node = parse_expression(p);
        expect_symbol(p, ')', "')'");
        return node;
    }
    if (take_symbol(p, '[')) {
        perp__syntax *node = new_node(p, SYNTAX_LIST, t->at);
        parse_items(p, node, ']', "',' or ']'", parse_expression);
        return node;
    }
    expected(p, "an expression");
    return new_node(p, SYNTAX_NUMBER, t->at);
}

/* -a, a^b (binds tighter than the minus before it, and to the right) */
static perp__syntax *parse_power(parser *p)
{
    int at = p->token->at;
    if (++p->depth > MAX_DEPTH) {
        if (!p->bad)
            perp__error(p->source, at, at, "more than %d nested brackets or signs", MAX_DEPTH);
        p->bad = 1;
    }
    perp__syntax *node;
    if (p->bad) {
        node = new_node(p, SYNTAX_NUMBER, at);
    } else if (take_symbol(p, '-')) {
        node = new_node(p, SYNTAX_NEG, at);
        items list = {0};
        items_push(&list, parse_power(p), 0, 0);
        items_store(p, &list, node);
    } else if (take_symbol(p, '+')) {
        node = parse_power(p);
    } else {
        node = parse_primary(p);
        int opat = p->token->at;
        if (!p->bad && take_symbol(p, '^')) {
            perp__syntax *power = new_node(p, SYNTAX_POW, at);
            items list = {0};
            items_push(&list, node, 0, 0);
            items_push(&list, parse_power(p), '^', opat);
            items_store(p, &list, power);
            node = power;
        }
    }
    p->depth--;
    return node;
}

static int at_one_of(const parser *p, const char *symbols)
{
    return p->token->kind == TOKEN_OTHER && strchr(symbols, p->token->symbol) != NULL;
}

/* A chain of operands joined by any of these operators, from the left. */
static perp__syntax *parse_chain(parser *p, const char *ops, perp__syntax *(*operand)(parser *))
{
    int at = p->token->at;
    perp__syntax *first = operand(p);
    if (p->bad || !at_one_of(p, ops)) return first;
    perp__syntax *node = new_node(p, SYNTAX_CHAIN, at);
    items list = {0};
    items_push(&list, first, 0, 0);
    while (!p->bad && at_one_of(p, ops)) {
        const perp__token *op = take(p);
        items_push(&list, operand(p), op->symbol, op->at);
    }
    items_store(p, &list, node);
    return node;
}

static perp__syntax *parse_product(parser *p)
{
    return parse_chain(p, "*/@", parse_power);
}

static perp__syntax *parse_expression(parser *p)
{
    return parse_chain(p, "+-", parse_product);
}

static perp__syntax *parse_part(perp__source *source, perp__arena *arena, const perp__token **token,
                                perp__syntax *(*part)(parser *))
{
    parser p = {.source = source, .arena = arena, .token = *token, .statement = *token};
    perp__syntax *s = part(&p);
    *token = p.token;
    return p.bad ? NULL : s;
}

perp__syntax *perp__parse_expression(perp__source *source, perp__arena *arena,
                                     const perp__token **token)
{
    return parse_part(source, arena, token, parse_expression);
}

perp__syntax *perp__parse_primary(perp__source *source, perp__arena *arena,
                                  const perp__token **token)
{
    return parse_part(source, arena, token, parse_primary);
}

/* Comparison: '<', '>', 'l' for <=, 'g' for >=, or 0. */
static char comparison(const parser *p)
{
    if (p->token->kind == TOKEN_LE) return 'l';
    if (p->token->kind == TOKEN_GE) return 'g';
    if (at_symbol(p, '<')) return '<';
    if (at_symbol(p, '>')) return '>';
    return 0;
}

static perp__syntax *parse_guard(parser *p);

/* Is the bracket that comes next around comparisons, and not around a term of one? Those in
 * choose(x < 1, ..) are its own. */
static int brackets_guard(const parser *p)
{
    const perp__token *t = p->token, *end = at_symbol(p, '(') ? behind(t, '(', ')') : t;
    while (t < end && ++t < end) {
        int is_call = is_symbol(t, '(') && t[-1].kind == TOKEN_NAME &&
                      !perp__is_word(t[-1].text, "and") && !perp__is_word(t[-1].text, "or");
        if (is_call)
            t = behind(t, '(', ')') - 1;
        else if (t->kind == TOKEN_LE || t->kind == TOKEN_GE || is_symbol(t, '<') ||
                 is_symbol(t, '>'))
            return 1;
    }
    return 0;
}

/* ( guard ), or two expressions compared */
static perp__syntax *parse_comparison(parser *p)
{
    if (brackets_guard(p)) {
        if (p->depth >= MAX_DEPTH) return parse_expression(p); /* which says that it is too deep */
        p->depth++;
        take(p);
        perp__syntax *inside = parse_guard(p);
        expect_symbol(p, ')', "'and', 'or' or ')'");
        inside->text = "(";
        p->depth--;
        return inside;
    }
    perp__syntax *node = new_node(p, SYNTAX_COMPARE, p->token->at);
    items list = {0};
    items_push(&list, parse_expression(p), 0, 0);
    char op = comparison(p);
    int opat = p->token->at;
    if (!op)
        expected(p, "<=, <, >= or >");
    else
        take(p);
    items_push(&list, parse_expression(p), op, opat);
    items_store(p, &list, node);
    return node;
}

/* { and|or comparison }, from the left */
static perp__syntax *more_of_guard(parser *p, perp__syntax *node)
{
    while (!p->bad && (at_word(p, "and") || at_word(p, "or"))) {
        const perp__token *word = take(p);
        perp__syntax *both = new_node(p, SYNTAX_LOGIC, node->at);
        items list = {0};
        items_push(&list, node, 0, 0);
        items_push(&list, parse_comparison(p), word->text[0] == 'a' ? '&' : '|', word->at);
        items_store(p, &list, both);
        node = both;
    }
    return node;
}

/* comparison { and|or comparison } */
static perp__syntax *parse_guard(parser *p)
{
    return more_of_guard(p, parse_comparison(p));
}

/* A guard, or an expression without a comparison. */
static perp__syntax *parse_condition(parser *p)
{
    if (brackets_guard(p)) return parse_guard(p);
    perp__syntax *node = parse_expression(p);
    if (p->bad || !comparison(p)) return node;
    perp__syntax *both = new_node(p, SYNTAX_COMPARE, node->at);
    items list = {0};
    items_push(&list, node, 0, 0);
    char op = comparison(p);
    const perp__token *sign = take(p);
    items_push(&list, parse_expression(p), op, sign->at);
    items_store(p, &list, both);
    return more_of_guard(p, both);
}

/* Statements ---------------------------------------------------------------------------------- */

static const char *const statement_words[] = {"when", "model",  "param", "input",   "state",
                                              "var",  "output", "for",   "simulate"};
static const char *const other_words[] = {
#define PERP_CALL(word, lower) #word,
#define PERP_LATER_CALL(word, lower)
#include "model/calls.def"
    "perp", "complements", "in", "t", "h", "pi", "and", "or"};

static int is_in(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (perp__is_word(text, words[i])) return 1;
    }
    return 0;
}

static int is_statement_word(const char *text)
{
    int k = perp__block_find(text);
    return is_in(text, statement_words, sizeof statement_words / sizeof *statement_words) ||
           (k < PERP__BLOCKS && perp__blocks[k].is_reserved);
}

int perp__is_reserved(const char *name)
{
    for (int op = 0; op <= PERP__MAX; op++) { /* those that came later may be names */
        const char *word = perp__op_text(op);
        if (word && perp__is_word(name, word)) return 1;
    }
    return is_statement_word(name) ||
           is_in(name, other_words, sizeof other_words / sizeof *other_words);
}

/* Many lie side by side: they are walked over several times, and the memory of a long text is
 * far. */
static perp__statement *take_statement(parser *p)
{
    enum { MOST_AT_ONCE = 32 };
    if (p->spare == 0) {
        if (p->taken == 0)
            p->taken = 1;
        else if (p->taken < MOST_AT_ONCE)
            p->taken = 2 * p->taken;
        else
            p->taken = MOST_AT_ONCE;
        p->next = perp__arena_alloc(p->arena, (size_t)p->taken * sizeof *p->next);
        if (!p->next) return NULL;
        p->spare = p->taken;
    }
    p->spare--;
    return p->next++;
}

static perp__statement *new_statement(parser *p, perp__statement_kind kind)
{
    perp__statement *s = take_statement(p);
    if (!s) {
        p->bad = 1;
        return &p->spare_statement;
    }
    s->kind = kind;
    s->at = p->token->at;
    return s;
}

static void parse_declared_name(parser *p, perp__statement *s)
{
    const perp__token *t = p->token;
    if (t->kind != TOKEN_NAME) {
        expected(p, "a name");
        return;
    }
    if (perp__is_reserved(t->text)) {
        if (!p->bad)
            perp__error(p->source, t->at, t->end,
                        "'%s' is a word of the language; choose another name", t->text);
        p->bad = 1;
        return;
    }
    take(p);
    s->name = t->text;
    s->name_at = t->at;
    s->name_end = t->end;
}

static void parse_range(parser *p, perp__statement *s)
{
    expect_symbol(p, '[', "'[' and the range: in [lo, hi]");
    if (!p->bad) s->lo = parse_expression(p);
    expect_symbol(p, ',', "',' between lo and hi");
    if (!p->bad) s->hi = parse_expression(p);
    expect_symbol(p, ']', "']'");
}

/* table("file.csv") or table("file.csv", "column") */
static void parse_table(parser *p, perp__statement *s)
{
    s->table_at = p->token->at;
    take(p);
    expect_symbol(p, '(', "'('");
    if (p->token->kind != TOKEN_STRING)
        expected(p, "the file name as a string");
    else
        s->table = take(p)->text;
    if (!p->bad && take_symbol(p, ',')) {
        if (p->token->kind != TOKEN_STRING)
            expected(p, "the column's name as a string");
        else
            s->table_column = take(p)->text;
    }
    expect_symbol(p, ')', "')'");
    s->table_end = last_end(p);
}

/* Report the fault of the `scale` that comes next, and its name. */
static void wrong_scale(parser *p, const perp__statement *s, const char *format)
{
    if (!p->bad) perp__error(p->source, p->token->at, p->token->end, format, s->name);
    p->bad = 1;
}

/* scale EXPR, of what is solved for */
static void parse_scale(parser *p, perp__statement *s)
{
    if (s->kind == STATEMENT_PARAM || s->kind == STATEMENT_OUTPUT || s->kind == STATEMENT_SUM) {
        wrong_scale(p, s, "'%s' is not solved for: only states, vars and inputs have a scale");
        return;
    }
    take(p);
    s->scale = parse_expression(p);
    if (!p->bad && at_word(p, "scale")) wrong_scale(p, s, "the scale of '%s' is given twice");
}

/* NAME[dims] = value in [lo, hi] scale s "unit" */
static perp__statement *parse_item(parser *p, perp__statement_kind kind, int has_value)
{
    perp__statement *s = new_statement(p, kind);
    parse_declared_name(p, s);
    if (!p->bad && at_symbol(p, '[') && kind == STATEMENT_LET)
        expected(p, "'=': a let has the size of its expression");
    if (!p->bad && take_symbol(p, '[')) {
        do {
            if (s->ndim == 2) {
                expected(p, "']': at most two dimensions");
                break;
            }
            s->dim[s->ndim++] = parse_expression(p);
        } while (!p->bad && take_symbol(p, ','));
        expect_symbol(p, ']', "']'");
    }
    int needs_value = kind == STATEMENT_PARAM || kind == STATEMENT_STATE ||
                      kind == STATEMENT_OUTPUT || kind == STATEMENT_LET;
    if (!p->bad && take_symbol(p, '=')) {
        if (kind == STATEMENT_VAR || kind == STATEMENT_SUM) {
            p->token--;
            expected(p, kind == STATEMENT_VAR
                            ? "',' or the end of the line: a var is solved for and has no value of "
                              "its own"
                            : "',' or the end of the line: a sum is what others add to it, NAME += "
                              "expression");
        } else if (kind == STATEMENT_INPUT && at_word(p, "table")) {
            parse_table(p, s);
        } else {
            s->value = parse_expression(p);
        }
    } else if (!p->bad && needs_value && has_value) {
        const char *what = "'=' and the output's expression";
        if (kind == STATEMENT_PARAM)
            what = "'=' and the parameter's value";
        else if (kind == STATEMENT_STATE)
            what = "'=' and the initial value";
        else if (kind == STATEMENT_LET && at_symbol(p, '('))
            what = "'=' and the expression that the name stands for; with arguments it is a "
                   "function";
        else if (kind == STATEMENT_LET)
            what = "'=' and the expression that the name stands for";
        expected(p, what);
    }
    if (kind == STATEMENT_LET) {
        s->end = last_end(p);
        return s;
    }
    if (!p->bad && take_word(p, "in")) parse_range(p, s);
    if (!p->bad && at_word(p, "scale")) parse_scale(p, s);
    if (!p->bad && p->token->kind == TOKEN_STRING) s->unit = take(p)->text;
    if (!p->bad && s->unit && at_word(p, "scale"))
        wrong_scale(p, s, "the scale of '%s' must stand before its unit");
    s->end = last_end(p);
    return s;
}

/* A list of declared items; the statements are chained. A unit belongs to its item, and to the
 * items directly before it that have neither a value nor a unit: var fx, fy "N", but param n = 3, a
 * = 0.05 "m". Returns the end of the chain. */
static perp__statement **parse_declaration(parser *p, perp__statement_kind kind,
                                           perp__statement **tail)
{
    perp__statement **first = tail; /* of the items that may still get a unit */
    take(p);
    do {
        perp__statement *s = parse_item(p, kind, 1);
        int has_own = s->value || s->unit;
        for (perp__statement *before = *first; s->unit && before; before = before->next)
            before->unit = s->unit;
        if (p->bad) s->value = s->lo = s->hi = s->scale = NULL;
        if (s->name) { /* also when it is wrong, so that its name is known further on */
            *tail = s;
            tail = &s->next;
        }
        if (has_own) first = tail;
    } while (!p->bad && take_symbol(p, ','));
    return tail;
}

static void parse_model(parser *p, perp__statement *s)
{
    take(p);
    parse_declared_name(p, s);
}

static void parse_simulate(parser *p, perp__statement *s)
{
    take(p);
    int braces = take_symbol(p, '{');
    for (;;) {
        while (braces && p->token->kind == TOKEN_NEWLINE) take(p);
        if (take_word(p, "from"))
            s->from = parse_expression(p);
        else if (take_word(p, "to"))
            s->to = parse_expression(p);
        else if (take_word(p, "step"))
            s->step = parse_expression(p);
        else if (take_word(p, "method")) {
            /* method names have dashes: join adjacent tokens */
            int at = p->token->at, end = at;
            while ((p->token->kind == TOKEN_NAME || at_symbol(p, '-')) && (p->token->at == end))
                end = take(p)->end;
            if (end == at) expected(p, "a method, such as backward-euler");
            s->method.at = at;
            s->method.text = perp__arena_string(p->arena, p->source->text + at, (size_t)(end - at));
        } else if (braces && take_symbol(p, '}')) {
            return;
        } else if (!braces && (p->token->kind == TOKEN_NEWLINE || at_symbol(p, '}'))) {
            return;
        } else {
            expected(p, braces ? "from, to, step, method or '}'"
                               : "from, to, step, method or the end of the line");
        }
        if (p->bad) return;
    }
}

/* The row in blocks.def of the block that begins here; PERP__BLOCKS if none does. */
static int block_here(const parser *p)
{
    int k = p->token->kind == TOKEN_NAME ? perp__block_find(p->token->text) : PERP__BLOCKS,
        opens = p->token[1].kind == TOKEN_OTHER && p->token[1].symbol == '{';
    return k < PERP__BLOCKS && (opens || perp__blocks[k].is_reserved) ? k : PERP__BLOCKS;
}

/* The tokens of a block are kept for its reader. */
static void parse_block(parser *p, perp__statement *s)
{
    take(p);
    expect_symbol(p, '{', "'{'");
    s->block = p->token;
    for (int depth = 0;
         !p->bad && p->token->kind != TOKEN_END && (depth > 0 || !at_symbol(p, '}'));) {
        depth += at_symbol(p, '{') - at_symbol(p, '}');
        p->token++;
    }
    expect_symbol(p, '}', "'}' at the end of the block");
}

static perp__statement *parse_body(parser *p, int nested);

static int makes_parts(const perp__statement *s);

/* { statements } of a loop or an if, of limited depth. Returns 1: the depth was counted, and the
 * caller counts it down. */
static int parse_own_body(parser *p, perp__statement *s, const char *what)
{
    expect_symbol(p, '{', "'{'");
    s->end = last_end(p);
    if (p->bad) return 0;
    if (++p->depth > MAX_DEPTH) {
        perp__error(p->source, s->at, s->at, "more than %d nested %s", MAX_DEPTH, what);
        p->bad = 1;
    } else {
        s->body = parse_body(p, 1);
        s->body_end = last_end(p);
    }
    return 1;
}

/* lo..hi of an index */
static void parse_indices(parser *p, perp__statement *s)
{
    if (!p->bad) s->lo = parse_expression(p);
    if (!p->bad && p->token->kind != TOKEN_DOTS)
        expected(p, "'..' between the first and the last index");
    if (p->bad) return;
    take(p);
    s->hi = parse_expression(p);
}

static void parse_for(parser *p, perp__statement *s)
{
    take(p);
    parse_declared_name(p, s);
    if (!p->bad && !take_word(p, "in")) expected(p, "'in' and the range: for i in 1..4 { ... }");
    parse_indices(p, s);
    if (!parse_own_body(p, s, "loops")) return;
    s->makes = makes_parts(s->body);
    p->depth--;
}

/* side := expression [ rel expression [ rel expression ] ] */
static void parse_side(parser *p, perp__side *side)
{
    side->e[side->n++] = parse_expression(p);
    while (!p->bad && side->n < 3) {
        char rel = comparison(p);
        if (rel == '<' || rel == '>') {
            expected(p, rel == '<' ? "<= (complementarity has no strict inequalities)"
                                   : ">= (complementarity has no strict inequalities)");
            return;
        }
        if (!rel) return;
        take(p);
        side->rel[side->n - 1] = rel;
        side->e[side->n++] = parse_expression(p);
    }
}

static void parse_equation_or_pair(parser *p, perp__statement *s)
{
    parse_side(p, &s->side[0]);
    if (p->bad) return;
    if (s->side[0].n == 1 && take_symbol(p, '=')) {
        s->kind = STATEMENT_EQUATION;
        s->left = s->side[0].e[0];
        s->right = parse_expression(p);
    } else if (s->side[0].n == 1 && p->token->kind == TOKEN_ADD) {
        take(p);
        s->kind = STATEMENT_ADD;
        s->left = s->side[0].e[0];
        s->right = parse_expression(p);
        if (!p->bad && at_word(p, "when"))
            expected(p, "the end of the line: what is added has no guard");
    } else if (p->token->kind == TOKEN_PERP) {
        take(p);
        s->kind = STATEMENT_PAIR;
        parse_side(p, &s->side[1]);
        if (!p->bad && take_word(p, "when")) s->guard = parse_guard(p);
    } else {
        expected(p,
                 s->side[0].n == 1 ? "an operator, '=', '<=' or 'perp'" : "an operator or 'perp'");
    }
}

/* friction(f = .., v = .., bound = .., facets = N | exact) [when guard], in any order. Old models
 * may have r = .. */
static void parse_friction(parser *p, perp__statement *s)
{
    perp__syntax *old = NULL; /* the step of the projection: any r > 0 has the same solutions */
    struct {
        const char *name;
        perp__syntax **to;
    } arguments[] = {
        {"f", &s->f}, {"v", &s->v}, {"bound", &s->bound}, {"facets", &s->facets}, {"r", &old}};
    const size_t n = sizeof arguments / sizeof *arguments;
    take(p);
    take(p);
    do {
        size_t k = 0;
        while (k < n && !at_word(p, arguments[k].name)) k++;
        if (k == n) {
            expected(p, "one of f =, v =, bound =, facets =");
            return;
        }
        if (arguments[k].to == &old) s->r_at = p->token->at;
        take(p);
        expect_symbol(p, '=', "'='");
        if (k == 3 && take_word(p, "exact"))
            s->facets = NULL;
        else
            *arguments[k].to = parse_expression(p);
    } while (!p->bad && take_symbol(p, ','));
    expect_symbol(p, ')', "',' or ')'");
    if (!p->bad && !(s->f && s->v && s->bound)) {
        perp__error(p->source, s->at, last_end(p),
                    "friction needs f = [fx, fy], v = [vx, vy] and bound = mu*fn");
        p->bad = 1;
    }
    if (!p->bad && take_word(p, "when")) s->guard = parse_guard(p);
}

/* Parts --------------------------------------------------------------------------------------- */

/* What a function or a part takes, after "(": names, of a part with values, ranges and units. */
static perp__statement *parse_head(parser *p, int is_part)
{
    perp__statement *first = NULL, **tail = &first;
    expect_symbol(p, '(', "'('");
    while (!p->bad && !at_symbol(p, ')')) {
        perp__statement *s = parse_item(p, STATEMENT_PARAM, 0);
        if (!p->bad && !is_part && (s->value || s->ndim || s->lo || s->unit)) {
            perp__error(p->source, s->at, s->end, "a function takes names alone: f(x, y) = ...");
            p->bad = 1;
        }
        for (perp__statement *other = first; other && !p->bad; other = other->next) {
            if (!perp__is_word(other->name, s->name)) continue;
            perp__error(p->source, s->name_at, s->name_end, "'%s' is taken twice", s->name);
            p->bad = 1;
        }
        if (p->bad) return NULL;
        *tail = s;
        tail = &s->next;
        if (!take_symbol(p, ',')) break;
    }
    expect_symbol(p, ')', "',' or ')'");
    return first;
}

static void parse_function(parser *p, perp__statement *s)
{
    take(p);
    parse_declared_name(p, s);
    s->head = parse_head(p, 0);
    expect_symbol(p, '=', "'=' and the function's expression");
    if (!p->bad) s->value = parse_expression(p);
}

static void parse_part_definition(parser *p, perp__statement *s)
{
    take(p);
    parse_declared_name(p, s);
    if (at_symbol(p, '(')) s->head = parse_head(p, 1);
    expect_symbol(p, '{', "'{' and the statements of the part");
    s->end = last_end(p);
    if (!p->bad) s->body = parse_body(p, 1);
    s->body_end = last_end(p);
}

static void parse_use(parser *p, perp__statement *s)
{
    take(p);
    s->name_at = p->token->at;
    s->name_end = p->token->end;
    if (p->token->kind == TOKEN_STRING)
        s->type = take(p)->text;
    else
        expected(p, "a library or a file in quotes, such as \"planar\"");
}

/* What an instance is given, after "(": expressions, then NAME = expression */
static perp__statement *parse_arguments(parser *p)
{
    perp__statement *first = NULL, **tail = &first;
    take(p);
    while (!p->bad && !at_symbol(p, ')')) {
        perp__statement *s = new_statement(p, STATEMENT_PARAM);
        int is_named = p->token->kind == TOKEN_NAME && p->token[1].kind == TOKEN_OTHER &&
                       p->token[1].symbol == '=';
        if (is_named) {
            s->name_at = p->token->at;
            s->name_end = p->token->end;
            s->name = take(p)->text;
            take(p);
        } else if (tail != &first && first->name) {
            expected(p, "NAME = expression, as before it");
        }
        if (!p->bad) s->value = is_named ? parse_string(p) : parse_expression(p);
        s->end = last_end(p);
        *tail = s;
        tail = &s->next;
        if (!take_symbol(p, ',')) break;
    }
    expect_symbol(p, ')', "',' or ')'");
    return p->bad ? NULL : first;
}

/* TYPE NAME [ "[" INDEX in lo..hi "]" ] [ "(" arguments ")" ] */
static void parse_instance(parser *p, perp__statement *s)
{
    s->type = take(p)->text;
    parse_declared_name(p, s);
    if (!p->bad && take_symbol(p, '[')) {
        s->index = take(p)->text;
        if (perp__is_reserved(s->index)) {
            p->token--;
            expected(p, "the name of an index");
        }
        if (!p->bad && !take_word(p, "in")) expected(p, "'in' and the range: [i in 1..4]");
        parse_indices(p, s);
        expect_symbol(p, ']', "']'");
    }
    if (!p->bad && at_symbol(p, '(')) s->head = parse_arguments(p);
}

/* key = "ready", contacts = "none": what is in quotes among the arguments, which leaves them. */
static void take_robot_words(parser *p, perp__statement *s)
{
    for (perp__statement **at = &s->head; *at && !p->bad;) {
        const perp__statement *a = *at;
        if (!a->value || a->value->kind != SYNTAX_STRING) {
            at = &(*at)->next;
            continue;
        }
        const char **word = NULL;
        if (a->name && perp__is_word(a->name, "key"))
            word = &s->key;
        else if (a->name && perp__is_word(a->name, "contacts"))
            word = &s->contacts;
        if (!word || *word) {
            perp__error(p->source, a->at, a->end,
                        word ? "'%s' is given twice" : "only key and contacts are given in quotes",
                        a->name ? a->name : "");
            p->bad = 1;
        } else {
            *word = a->value->text;
        }
        *at = a->next;
    }
}

/* robot NAME = "FILE" [ "(" arguments ")" ] */
static void parse_robot(parser *p, perp__statement *s)
{
    s->type = take(p)->text;
    parse_declared_name(p, s);
    if (p->bad) return;
    take(p); /* = */
    s->robot_at = p->token->at;
    s->robot_end = p->token->end;
    s->robot = take(p)->text;
    if (at_symbol(p, '(')) s->head = parse_arguments(p);
    take_robot_words(p, s);
}

/* Do these statements make names, or add to sums? */
static int makes_parts(const perp__statement *s)
{
    for (; s; s = s->next) {
        if (s->kind == STATEMENT_INSTANCE || s->kind == STATEMENT_ADD || s->kind == STATEMENT_LET ||
            s->makes)
            return 1;
    }
    return 0;
}

/* if guard { statements } [ else { statements } | else if ... ] */
static void parse_if(parser *p, perp__statement *s)
{
    take(p);
    s->guard = parse_guard(p);
    if (!parse_own_body(p, s, "ifs")) return;
    const perp__token *next = p->token;
    while (next->kind == TOKEN_NEWLINE) next++;
    int is_else =
        next->kind == TOKEN_NAME && perp__is_word(next->text, "else") &&
        (next[1].kind == TOKEN_NAME || (next[1].kind == TOKEN_OTHER && next[1].symbol == '{'));
    if (!p->bad && is_else) {
        p->token = next + 1;
        if (at_word(p, "if")) {
            s->otherwise = new_statement(p, STATEMENT_IF);
            parse_if(p, s->otherwise);
        } else {
            expect_symbol(p, '{', "'{' or if");
            if (!p->bad) s->otherwise = parse_body(p, 1);
        }
    }
    p->depth--;
    s->makes = makes_parts(s->body) || makes_parts(s->otherwise);
}

/* A word that is one where a statement begins with what it needs, and a name elsewhere; NULL. */
static const char *later_word(const parser *p)
{
    const perp__token *t = p->token + 1;
    int opens = t->kind == TOKEN_OTHER && t->symbol == '(', is_name = t->kind == TOKEN_NAME;
    if (at_word(p, "let") && is_name) return "let";
    if (at_word(p, "sum") && is_name) return "sum";
    if (at_word(p, "function") && is_name) return "function";
    if (at_word(p, "part") && is_name) return "part";
    int ends = is_name && (t[1].kind == TOKEN_NEWLINE || t[1].kind == TOKEN_END);
    if (at_word(p, "use") && (t->kind == TOKEN_STRING || ends)) return "use";
    if (at_word(p, "if") && (is_name || opens || t->kind == TOKEN_NUMBER)) return "if";
    int is_given = is_name && t[1].kind == TOKEN_OTHER && t[1].symbol == '=';
    if (at_word(p, "robot") && is_given && t[2].kind == TOKEN_STRING) return "robot";
    return NULL;
}

/* Two names, and what an instance may go on with. */
static int is_instance(const parser *p)
{
    const perp__token *t = p->token;
    if (t->kind != TOKEN_NAME || t[1].kind != TOKEN_NAME || is_statement_word(t->text)) return 0;
    if (t[2].kind == TOKEN_NEWLINE || t[2].kind == TOKEN_END) return 1;
    if (t[2].kind != TOKEN_OTHER) return 0;
    if (t[2].symbol == '[')
        return t[3].kind == TOKEN_NAME && t[4].kind == TOKEN_NAME && perp__is_word(t[4].text, "in");
    return t[2].symbol == '(' || t[2].symbol == '}';
}

static const struct {
    const char *word;
    perp__statement_kind kind;
} declarations[] = {{"param", STATEMENT_PARAM},   {"input", STATEMENT_INPUT},
                    {"state", STATEMENT_STATE},   {"var", STATEMENT_VAR},
                    {"output", STATEMENT_OUTPUT}, {"let", STATEMENT_LET},
                    {"sum", STATEMENT_SUM}};

static int is_declaration(perp__statement_kind kind)
{
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
        if (declarations[i].kind == kind) return 1;
    }
    return 0;
}

/* After a statement: the end of the line, or the brace that closes the block. */
static void finish_statement(parser *p, perp__statement *s)
{
    s->end = last_end(p);
    if (!p->bad && p->token->kind != TOKEN_NEWLINE && p->token->kind != TOKEN_END &&
        !at_symbol(p, '}')) {
        const char *what = "the end of the line";
        if (s->kind == STATEMENT_EQUATION || s->kind == STATEMENT_PAIR)
            what = "an operator or the end of the line";
        else if (s->kind == STATEMENT_LET)
            what = "an operator, ',' or the end of the line";
        else if (is_declaration(s->kind) && p->token[-1].kind != TOKEN_STRING)
            what = "a unit in quotes, ',' or the end of the line";
        expected(p, what);
    }
    while (p->bad && p->token->kind != TOKEN_NEWLINE && p->token->kind != TOKEN_END) {
        if (at_symbol(p, '{')) /* what is in it belongs to this statement */
            p->token = behind(p->token, '{', '}');
        else
            take(p);
    }
}

const char *const *perp__statement_words(int *n)
{
    static const char *const words[] = {
        "model", "param", "input",    "state", "var", "output", "for",  "simulate",
#define PERP_BLOCK(word, is_reserved) #word,
#include "model/blocks.def"
#undef PERP_BLOCK
        "let",   "sum",   "function", "part",  "use", "if",     "robot"};
    *n = (int)(sizeof words / sizeof *words);
    return words;
}

/* From "f" on those of friction and robot, of simulate, and of the blocks. */
const char *const *perp__language_words(int *n)
{
    static const char *const words[] = {
        "model",       "param",
        "input",       "state",
        "var",         "output",
        "for",         "simulate",
        "let",         "sum",
        "function",    "part",
        "use",         "robot",
        "if",          "else",
        "when",        "in",
        "scale",       "perp",
        "complements", "and",
        "or",          "friction",
        "table",       "pi",
        "t",           "h",
        "f",           "v",
        "bound",       "facets",
        "exact",       "key",
        "contacts",    "from",
        "to",          "step",
        "method",      "box",
        "circle",      "ground",
        "line",        "polygon",
        "force",       "at",
        "size",        "radius",
        "angle",       "rotation",
        "phase",       "phases",
        "link",        "horizon",
        "free",        "guess",
        "nodes",       "complementarity",
        "inputs",      "held",
        "minimize",    "time",
        "integral",    "estimate",
        "measure",     "noise",
        "weight",      "starts",
        "seed",
#define PERP_BLOCK(word, is_reserved) #word,
#include "model/blocks.def"
#undef PERP_BLOCK
#define PERP_CALL(word, lower) #word,
#include "model/calls.def"
#define PERP_FUNCTION(name, operands, word, ...) word,
#include "model/ops.def"
    };
    *n = (int)(sizeof words / sizeof *words);
    return words;
}

/* A word at the start of a line that is followed by another name, and no instance, can only be a
 * misspelt keyword. */
static int is_misspelt_keyword(parser *p)
{
    if (p->token->kind != TOKEN_NAME || p->token[1].kind != TOKEN_NAME || p->token[1].text == NULL)
        return 0;
    int n;
    const char *const *words = perp__statement_words(&n);
    char text[256];
    if (is_symbol(p->token + 2, '[') && !perp_nearest(p->token->text, words, n))
        perp__error(p->source, p->token->at, p->token->end,
                    "'%s' is no statement; an array of parts names its index: %s %s[i in 1..4]",
                    p->token->text, p->token->text, p->token[1].text);
    else
        perp__error(
            p->source, p->token->at, p->token->end, "%s",
            perp_unknown_word("statement", p->token->text, words, n, NULL, text, sizeof text));
    p->bad = 1;
    return 1;
}

static perp__statement **parse_statement(parser *p, perp__statement **tail)
{
    perp__statement **start = tail, *s = NULL;
    p->bad = p->brackets = 0;
    p->statement = p->token;
    const char *word = later_word(p);
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations && !s; i++) {
        int is_later = declarations[i].kind >= STATEMENT_LET;
        if (!(is_later ? word && perp__is_word(word, declarations[i].word)
                       : at_word(p, declarations[i].word)))
            continue;
        perp__statement dummy = {.kind = declarations[i].kind};
        tail = parse_declaration(p, declarations[i].kind, tail);
        finish_statement(p, &dummy);
        return tail;
    }
    s = new_statement(p, STATEMENT_EQUATION);
    if (at_word(p, "model")) {
        s->kind = STATEMENT_MODEL;
        parse_model(p, s);
    } else if (at_word(p, "simulate")) {
        s->kind = STATEMENT_SIMULATE;
        parse_simulate(p, s);
    } else if (at_word(p, "for")) {
        s->kind = STATEMENT_FOR;
        parse_for(p, s);
    } else if (word && *word == 'i') {
        s->kind = STATEMENT_IF;
        parse_if(p, s);
    } else if (word && *word == 'f') {
        s->kind = STATEMENT_FUNCTION;
        parse_function(p, s);
    } else if (word && *word == 'p') {
        s->kind = STATEMENT_PART;
        parse_part_definition(p, s);
    } else if (word && *word == 'u') {
        s->kind = STATEMENT_USE;
        parse_use(p, s);
    } else if (word && *word == 'r') {
        s->kind = STATEMENT_INSTANCE;
        parse_robot(p, s);
    } else if (is_instance(p)) {
        s->kind = STATEMENT_INSTANCE;
        parse_instance(p, s);
    } else if (at_word(p, "friction") && p->token[1].kind == TOKEN_OTHER &&
               p->token[1].symbol == '(') {
        s->kind = STATEMENT_FRICTION;
        parse_friction(p, s);
    } else if ((s->block_kind = block_here(p)) < PERP__BLOCKS) {
        s->kind = STATEMENT_BLOCK;
        parse_block(p, s);
    } else if (!is_misspelt_keyword(p))
        parse_equation_or_pair(p, s);
    finish_statement(p, s);
    if (!p->bad) {
        *start = s;
        tail = &s->next;
    }
    return tail;
}

/* Statements up to the end of the file, or the closing brace of a loop. */
static perp__statement *parse_body(parser *p, int nested)
{
    perp__statement *first = NULL, **tail = &first;
    for (;;) {
        while (p->token->kind == TOKEN_NEWLINE) take(p);
        if (p->token->kind == TOKEN_END) {
            p->statement = p->token;
            if (nested) expected(p, "'}'");
            return first;
        }
        if (at_symbol(p, '}')) {
            if (nested) {
                take(p);
                p->bad = 0;
                return first;
            }
            p->bad = 0;
            p->statement = p->token;
            expected(p, "a statement");
            while (p->token->kind != TOKEN_NEWLINE && p->token->kind != TOKEN_END) take(p);
            continue;
        }
        tail = parse_statement(p, tail);
        if (p->arena->failed) return first;
    }
}

perp__statement *perp__parse(perp__source *source, perp__arena *arena, int first)
{
    perp__token *tokens = perp__lex(source, arena, first);
    if (!tokens) return NULL;
    parser p = {.source = source, .arena = arena, .token = tokens + 1, .first = first};
    return parse_body(&p, 0);
}
