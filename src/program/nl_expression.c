/* Expressions of .nl files: operators by their numbers, in prefix notation. The stack is a list of
 * our own, for a file may be as deep as it is long. */

#include "program/nl.h"

#include <math.h>
#include <string.h>

/* What an operator of the file is: one operation of the graph, or a formula in them. */
typedef enum kind { OF_GRAPH, FORMULA, LIST } kind;

typedef struct operator_row {
    int code;
    const char *word;
    int arity; /* of a list: the fewest operands */
    kind kind;
    int op; /* of the graph */
} operator_row;

enum { LOG10 = 42, ATANH = 47, ASINH = 50, SQUARE = 77, LESS = 6 };

static const operator_row operators[] = {
    {0, "+", 2, OF_GRAPH, PERP__ADD},      {1, "-", 2, OF_GRAPH, PERP__SUB},
    {2, "*", 2, OF_GRAPH, PERP__MUL},      {3, "/", 2, OF_GRAPH, PERP__DIV},
    {5, "^", 2, OF_GRAPH, PERP__POW},      {LESS, "less", 2, FORMULA, 0},
    {11, "min", 1, LIST, PERP__MIN},       {12, "max", 1, LIST, PERP__MAX},
    {15, "abs", 1, OF_GRAPH, PERP__ABS},   {16, "-", 1, OF_GRAPH, PERP__NEG},
    {37, "tanh", 1, OF_GRAPH, PERP__TANH}, {38, "tan", 1, OF_GRAPH, PERP__TAN},
    {39, "sqrt", 1, OF_GRAPH, PERP__SQRT}, {40, "sinh", 1, OF_GRAPH, PERP__SINH},
    {41, "sin", 1, OF_GRAPH, PERP__SIN},   {LOG10, "log10", 1, FORMULA, 0},
    {43, "log", 1, OF_GRAPH, PERP__LOG},   {44, "exp", 1, OF_GRAPH, PERP__EXP},
    {45, "cosh", 1, OF_GRAPH, PERP__COSH}, {46, "cos", 1, OF_GRAPH, PERP__COS},
    {ATANH, "atanh", 1, FORMULA, 0},       {48, "atan2", 2, OF_GRAPH, PERP__ATAN2},
    {49, "atan", 1, OF_GRAPH, PERP__ATAN}, {ASINH, "asinh", 1, FORMULA, 0},
    {51, "asin", 1, OF_GRAPH, PERP__ASIN}, {52, "acosh", 1, FORMULA, 0},
    {53, "acos", 1, OF_GRAPH, PERP__ACOS}, {54, "sum", 1, LIST, PERP__ADD},
    {76, "^", 2, OF_GRAPH, PERP__POW},     {SQUARE, "^2", 1, FORMULA, 0},
    {78, "^", 2, OF_GRAPH, PERP__POW},
};

/* Those that have no place in a smooth program, by their words. */
static const struct {
    int code;
    const char *word;
} refused[] = {{4, "mod"},        {13, "floor"},
               {14, "ceil"},      {20, "or"},
               {21, "and"},       {22, "<"},
               {23, "<="},        {24, "="},
               {28, ">="},        {29, ">"},
               {30, "<>"},        {34, "not"},
               {35, "if"},        {55, "div"},
               {56, "precision"}, {57, "round"},
               {58, "trunc"},     {59, "count"},
               {60, "numberof"},  {62, "atleast"},
               {63, "atmost"},    {64, "a piecewise-linear term"},
               {65, "if"},        {66, "exactly"},
               {70, "forall"},    {71, "exists"},
               {72, "==>"},       {73, "<==>"},
               {74, "alldiff"}};

static const operator_row *find_operator(int code)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].code == code) return &operators[i];
    return NULL;
}

static int refuse_operator(perp__nl_reader *r, int code)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].code == code)
            return perp__nl_fail(r, "operator o%d, %s, has no derivative: it is not solved", code,
                                 refused[i].word);
    return perp__nl_fail(r, "there is no operator o%d", code);
}

/* (1 + a)/(1 - a) */
static perp_expr ratio(perp__graph *g, perp_expr a)
{
    perp_expr one = perp__const(g, 1);
    return perp__div(g, perp__add(g, one, a), perp__sub(g, one, a));
}

static perp_expr half(perp__graph *g, perp_expr a)
{
    return perp__mul(g, perp__const(g, 0.5), a);
}

static perp_expr log_of(perp__graph *g, perp_expr a)
{
    return perp__unary(g, PERP__LOG, a);
}

/* sqrt(a^2 + c) */
static perp_expr root(perp__graph *g, perp_expr a, double c)
{
    return perp__unary(g, PERP__SQRT, perp__add(g, perp__mul(g, a, a), perp__const(g, c)));
}

static perp_expr formula(perp__graph *g, int code, perp_expr a, perp_expr b)
{
    perp_expr one = perp__const(g, 1);
    switch (code) {
    case LESS: return perp__binary(g, PERP__MAX, perp__sub(g, a, b), perp__const(g, 0));
    case SQUARE: return perp__mul(g, a, a);
    case LOG10: return perp__mul(g, perp__const(g, 1 / log(10.0)), log_of(g, a));
    case ATANH: return half(g, log_of(g, ratio(g, a)));
    case ASINH: return log_of(g, ratio(g, perp__div(g, a, perp__add(g, one, root(g, a, 1)))));
    default: return log_of(g, perp__add(g, a, root(g, a, -1))); /* acosh */
    }
}

/* An operator whose operands are read: how many are wanted and there, and what they make so far. */
struct perp__nl_frame {
    const operator_row *row;
    int needed, count;
    perp_expr first;
};

static perp_expr take_operand(perp__graph *g, struct perp__nl_frame *f, perp_expr e)
{
    const operator_row *row = f->row;
    f->count++;
    if (row->kind == LIST) return f->count == 1 ? e : perp__binary(g, row->op, f->first, e);
    if (f->count < f->needed) return e;
    if (row->kind == FORMULA) return formula(g, row->code, row->arity == 1 ? e : f->first, e);
    if (row->arity == 1) return perp__unary(g, row->op, e);
    return perp__binary(g, row->op, f->first, e);
}

static int push_operator(perp__nl_reader *r)
{
    int code, needed;
    if (!perp__nl_int(r, 0, 1 << 20, "an operator", &code)) return 0;
    const operator_row *row = find_operator(code);
    if (!row) return refuse_operator(r, code);
    needed = row->arity;
    if (!perp__nl_end_of_line(r)) return 0;
    if (row->kind == LIST &&
        (!perp__nl_int(r, 1, 1 << 30, "a number of operands", &needed) || !perp__nl_end_of_line(r)))
        return 0;
    if (!perp__grow(&r->stack, &r->cstack, r->depth + 1, sizeof *r->stack))
        return perp__nl_no_memory(r);
    r->stack[r->depth++] = (struct perp__nl_frame){row, needed, 0, 0};
    return 1;
}

static perp_expr read_variable(perp__nl_reader *r)
{
    perp__nl *nl = r->nl;
    int i, most = nl->nvar + r->ndefined - 1;
    if (!perp__nl_int(r, 0, most, "a variable", &i) || !perp__nl_end_of_line(r)) return -1;
    if (i < nl->nvar) return perp__symbol(&nl->graph, i);
    if (r->defined[i - nl->nvar] < 0) {
        perp__nl_fail(r, "variable v%d is used before its segment V%d", i, i);
        return -1;
    }
    return r->defined[i - nl->nvar];
}

static perp_expr read_constant(perp__nl_reader *r, char mark)
{
    double x = 0;
    int whole = 0;
    if (mark == 's')
        perp__nl_short(r, &x);
    else if (mark == 'l' && r->is_binary &&
             perp__nl_int(r, -2147483647 - 1, 2147483647, "a constant", &whole))
        x = whole;
    else if (mark != 'l' || !r->is_binary)
        perp__nl_number(r, "a constant", &x);
    if (!perp__nl_end_of_line(r)) return -1;
    if (!isfinite(x)) {
        perp__nl_fail(r, "a constant is not finite");
        return -1;
    }
    return perp__const(&r->nl->graph, x);
}

/* The next operand that is no operator; operators on the way are pushed. */
static perp_expr next_leaf(perp__nl_reader *r)
{
    char mark;
    while (perp__nl_mark(r, &mark)) {
        switch (mark) {
        case 'n':
        case 's':
        case 'l': return read_constant(r, mark);
        case 'v': return read_variable(r);
        case 'o':
            if (!push_operator(r)) return -1;
            break;
        case 'f': perp__nl_fail(r, "a call of an imported function, which is not known"); break;
        case 'h': perp__nl_fail(r, "a text has no place in an expression of numbers"); break;
        default:
            r->at--;
            perp__nl_fail(r, "expected an operator (o), a variable (v) or a constant (n)");
        }
    }
    return -1;
}

perp_expr perp__nl_expression(perp__nl_reader *r)
{
    perp__graph *g = &r->nl->graph;
    r->depth = 0;
    for (;;) {
        perp_expr e = next_leaf(r);
        if (e < 0) return -1;
        while (r->depth > 0) {
            struct perp__nl_frame *f = &r->stack[r->depth - 1];
            f->first = e = take_operand(g, f, e);
            if (f->count < f->needed) break;
            r->depth--;
        }
        if (g->failed) {
            perp__nl_no_memory(r);
            return -1;
        }
        if (r->depth == 0) return e;
    }
}
