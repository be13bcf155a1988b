/* The plan block, read from its tokens line by line: docs/language.md has its grammar. */

#include "model/plan_block.h"
#include "model/block_reader.h"
#include "model/blocks.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    struct builder *builder;
    perp_model *model;
    perp__plan_block *block;
    perp__cursor in;
    int phase;  /* the one that is read; -1: none */
    int failed; /* memory */
} reader;

/* Values -------------------------------------------------------------------------------------- */

static perp__syntax *expression(reader *r)
{
    if (r->in.bad) return NULL;
    perp__syntax *s = perp__parse_expression(r->in.source, &r->model->arena, &r->in.token);
    if (!s) r->in.bad = 1;
    return s;
}

/* An expression that is one number, of parameters only. */
static perp_expr number(reader *r)
{
    perp_expr *e = NULL;
    int n = 0;
    perp__syntax *s = expression(r);
    if (r->in.bad || !perp__lower_block(r->builder, s, PERP__OF_PARAMS, &e, &n)) {
        r->in.bad = 1;
        return -1;
    }
    if (n != 1) {
        perp__error(r->in.source, s->at, s->end, "expected a number");
        r->in.bad = 1;
        return -1;
    }
    return e[0];
}

static void range(reader *r, perp_expr *lo, perp_expr *hi)
{
    perp__expect_symbol(&r->in, '[', "'[' and the range: in [lo, hi]");
    *lo = number(r);
    perp__expect_symbol(&r->in, ',', "',' between lo and hi");
    *hi = number(r);
    perp__expect_symbol(&r->in, ']', "']'");
}

/* Room for one more element of a list. */
static int room(reader *r, void *list, int *capacity, int n, size_t size)
{
    if (perp__grow(list, capacity, n + 1, size)) return 1;
    r->failed = r->in.bad = 1;
    return 0;
}

/* Settings ------------------------------------------------------------------------------------ */

/* 5   or   free in [0.1, 10] guess 2, after "horizon" */
static void read_horizon(reader *r, int *at, int *is_free, perp_expr *T, perp_expr *lo,
                         perp_expr *hi)
{
    *at = r->in.token[-1].at;
    *is_free = perp__take_word(&r->in, "free");
    if (!*is_free) {
        *T = number(r);
        return;
    }
    if (perp__take_word(&r->in, "in")) range(r, lo, hi);
    if (perp__take_word(&r->in, "guess")) *T = number(r);
}

static void push_cost(reader *r, perp__plan_cost cost)
{
    perp__plan_block *p = r->block;
    if (room(r, &p->cost, &p->ccost, p->ncost, sizeof *p->cost)) p->cost[p->ncost++] = cost;
}

/* NUMBER, PARAMETER or (EXPR) */
static perp_expr read_factor(reader *r, const char *what)
{
    perp_expr *e = NULL;
    int n = 0;
    perp__syntax *s = perp__parse_primary(r->in.source, &r->model->arena, &r->in.token);
    if (!s || !perp__lower_block(r->builder, s, PERP__OF_PARAMS, &e, &n)) r->in.bad = 1;
    if (!r->in.bad && n != 1) {
        perp__error(r->in.source, s->at, s->end, "a %s is one number, not %d", what, n);
        r->in.bad = 1;
    }
    return r->in.bad ? -1 : e[0];
}

/* A factor and "*"; -1 with the error. */
static perp_expr read_weight(reader *r)
{
    const perp__token *t = r->in.token;
    int is_weight = t[1].kind == TOKEN_OTHER && strchr("*[(.", t[1].symbol) != NULL;
    if (!is_weight && !perp__at_symbol(&r->in, '('))
        perp__expect(&r->in, "time, integral(...) or end(...), such as integral(u^2)");
    else if (t->kind != TOKEN_NUMBER && t->kind != TOKEN_NAME && !perp__at_symbol(&r->in, '('))
        perp__expect(&r->in, "time, integral(...) or end(...)");
    if (r->in.bad) return -1;
    perp_expr weight = read_factor(r, "weight");
    perp__expect_symbol(&r->in, '*', "'*' between the weight and time, integral(...) or end(...)");
    return weight;
}

/* time, integral, end or at; one more than these if it is none. */
static int cost_kind(const reader *r)
{
    static const char *const words[] = {"time", "integral", "end", "at"};
    int k = 0;
    while (k <= PLAN_COST_AT && !perp__at_word(&r->in, words[k])) k++;
    return k;
}

/* start | end | 50% | t = 2, after "at" */
static void read_place(reader *r, perp__plan_where *where, perp_expr *place)
{
    *where = PLAN_START;
    *place = -1;
    if (perp__take_word(&r->in, "start")) {
        *where = PLAN_START;
    } else if (perp__take_word(&r->in, "end")) {
        *where = PLAN_END;
    } else if (perp__at_word(&r->in, "t") && r->in.token[1].kind == TOKEN_OTHER &&
               r->in.token[1].symbol == '=') {
        r->in.token += 2;
        *where = PLAN_TIME;
        *place = number(r);
    } else {
        *where = PLAN_SHARE;
        *place = number(r);
        perp__expect_symbol(&r->in, '%',
                            "'%': at 50%: ... is half way; or at start, at end, at t = 2");
    }
}

/* What is minimised: an expression of one number, in parentheses; before it, of a node, where that
 * is. */
static perp_expr read_integrand(reader *r, perp__plan_cost *cost)
{
    perp_expr *e = NULL;
    int n = 0;
    perp__expect_symbol(&r->in, '(', "'('");
    if (cost->kind == PLAN_COST_AT && !r->in.bad) {
        read_place(r, &cost->where, &cost->place);
        perp__expect_symbol(&r->in, ',', "',' and what is minimised: at(50%, x^2)");
    }
    perp__syntax *s = expression(r);
    perp__expect_symbol(&r->in, ')', "')'");
    if (!r->in.bad && !perp__lower_block(r->builder, s, PERP__OF_PLAN, &e, &n)) r->in.bad = 1;
    if (!r->in.bad && n != 1) {
        perp__error(r->in.source, s->at, s->end, "what is minimised is one number, not %d", n);
        r->in.bad = 1;
    }
    return r->in.bad ? -1 : e[0];
}

/* [weight *] time [^ power] | integral(e) | end(e) | at(place, e) */
static void read_cost(reader *r, int sign)
{
    perp__graph *g = &r->model->graph;
    perp__plan_cost cost = {
        .phase = r->phase, .weight = perp__const(g, sign), .at = r->in.token->at};
    int kind = cost_kind(r);
    cost.e = -1;
    if (kind > PLAN_COST_AT) {
        perp_expr weight = read_weight(r);
        if (r->in.bad) return;
        cost.weight = perp__mul(g, cost.weight, weight);
        kind = cost_kind(r);
        if (kind > PLAN_COST_AT) {
            perp__expect(&r->in, "time, integral(...) or end(...)");
            return;
        }
    }
    r->in.token++;
    cost.kind = (perp__plan_cost_kind)kind;
    if (cost.kind != PLAN_COST_TIME)
        cost.e = read_integrand(r, &cost);
    else if (perp__take_symbol(&r->in, '^'))
        cost.e = read_factor(r, "power");
    if (!r->in.bad) push_cost(r, cost);
}

static void read_minimize(reader *r)
{
    int sign = perp__take_symbol(&r->in, '-') ? -1 : 1;
    read_cost(r, sign);
    while (!r->in.bad && (perp__at_symbol(&r->in, '+') || perp__at_symbol(&r->in, '-'))) {
        sign = perp__at_symbol(&r->in, '-') ? -1 : 1;
        r->in.token++;
        read_cost(r, sign);
    }
    if (perp__at_symbol(&r->in, '*') || perp__at_symbol(&r->in, '/'))
        perp__expect(&r->in,
                     "'+', '-' or the end of the line (a weight stands before: 0.5*integral(u^2))");
}

/* Conditions ---------------------------------------------------------------------------------- */

static const char *text_between(reader *r, int at, int end)
{
    const char *text =
        perp__arena_string(&r->model->arena, r->in.source->text + at, (size_t)(end - at));
    if (!text) r->failed = 1;
    return text ? text : "";
}

static void push_condition(reader *r, perp__plan_condition c)
{
    perp__plan_block *p = r->block;
    if (room(r, &p->condition, &p->ccondition, p->ncondition, sizeof *p->condition))
        p->condition[p->ncondition++] = c;
}

/* The relation at the token: '=', 'l', 'g', or 0. */
static char relation(const reader *r)
{
    if (r->in.token->kind == TOKEN_LE) return 'l';
    if (r->in.token->kind == TOKEN_GE) return 'g';
    return perp__at_symbol(&r->in, '=') ? '=' : 0;
}

/* e = e   e <= e   e <= e <= e   and with >=; arrays by element */
static void read_condition(reader *r, perp__plan_where where, perp_expr place)
{
    perp__syntax *s[3];
    perp_expr *e[3];
    int n[3], count = 0, size = 1;
    char rel[2] = {0, 0};
    int at = r->in.token->at;
    s[count++] = expression(r);
    while (!r->in.bad && count < 3 && (rel[count - 1] = relation(r)) != 0) {
        if (count == 2 && (rel[0] == '=' || rel[0] != rel[1])) {
            perp__expect(&r->in, rel[0] == '='
                                     ? "',' or the end of the line"
                                     : "both inequalities to point the same way: lo <= e <= hi");
            return;
        }
        r->in.token++;
        s[count++] = expression(r);
    }
    if (!r->in.bad && count == 1) perp__expect(&r->in, "=, <= or >=");
    if (r->in.bad) return;
    int end = r->in.token[-1].end;
    for (int k = 0; k < count; k++) {
        if (!perp__lower_block(r->builder, s[k], PERP__OF_PLAN, &e[k], &n[k])) {
            r->in.bad = 1;
            return;
        }
        if (n[k] > 1 && size > 1 && n[k] != size) {
            perp__error(r->in.source, s[k]->at, s[k]->end, "the sizes differ: %d and %d elements",
                        size, n[k]);
            r->in.bad = 1;
            return;
        }
        if (n[k] > size) size = n[k];
    }
    const char *text = text_between(r, at, end);
    for (int i = 0; i < size && !r->in.bad; i++) {
        perp_expr v[3];
        for (int k = 0; k < count; k++) v[k] = e[k][n[k] == 1 ? 0 : i];
        perp__plan_condition c = {r->phase, where, place, v[count == 3], -1, -1, at, end, text};
        if (count == 3) {
            c.lo = v[rel[0] == 'l' ? 0 : 2];
            c.hi = v[rel[0] == 'l' ? 2 : 0];
        } else {
            if (rel[0] != 'l') c.lo = v[1];
            if (rel[0] != 'g') c.hi = v[1];
        }
        push_condition(r, c);
    }
}

/* Conditions at a node, after "at". */
static void read_at(reader *r)
{
    perp__plan_where where;
    perp_expr place;
    read_place(r, &where, &place);
    perp__expect_symbol(&r->in, ':', "':' and conditions: at end: x = 0, v = 0");
    do
        if (!r->in.bad) read_condition(r, where, place);
    while (perp__take_symbol(&r->in, ','));
}

/* free NAME [in [lo, hi]] */
static void read_free(reader *r)
{
    perp__plan_block *p = r->block;
    perp_expr lo = -1, hi = -1;
    perp_symbol_kind kind;
    int first, n;
    const perp__syntax *s = expression(r);
    if (r->in.bad || !perp__find_block(r->builder, s, &kind, &first, &n)) {
        r->in.bad = 1;
        return;
    }
    if (kind == PERP_VAR || kind == PERP_OUTPUT) {
        perp__error(r->in.source, s->at, s->end,
                    "only a parameter, an input, or the initial value of a state can be made free");
        r->in.bad = 1;
        return;
    }
    if (perp__take_word(&r->in, "in")) range(r, &lo, &hi);
    for (int i = 0; i < n && !r->in.bad; i++) {
        if (room(r, &p->free_, &p->cfree, p->nfree, sizeof *p->free_))
            p->free_[p->nfree++] = (perp__plan_free){kind, first + i, lo, hi, s->at};
    }
}

/* table("FILE.csv"), after "guess" */
static void read_guess_table(reader *r)
{
    perp__plan_block *p = r->block;
    p->table_at = r->in.token->at;
    r->in.token += 2;
    if (r->in.token->kind != TOKEN_STRING)
        perp__expect(&r->in, "the name of a table: guess table(\"plan.csv\")");
    else if (!(p->table = perp__beside(r->builder, r->in.token++->text)))
        r->failed = r->in.bad = 1;
    perp__expect_symbol(&r->in, ')', "')'");
}

/* guess NAME = EXPR of t, guess simulate, or guess table(...) */
static void read_guess(reader *r)
{
    perp__plan_block *p = r->block;
    int is_last = r->in.token[0].kind != TOKEN_NEWLINE &&
                  (r->in.token[1].kind == TOKEN_NEWLINE ||
                   (r->in.token[1].kind == TOKEN_OTHER && r->in.token[1].symbol == '}'));
    if (is_last && r->phase < 0 && perp__at_word(&r->in, "simulate")) {
        p->simulates_at = r->in.token++->at;
        p->simulates = 1;
        return;
    }
    if (perp__at_word(&r->in, "table") && r->in.token[1].kind == TOKEN_OTHER &&
        r->in.token[1].symbol == '(') {
        if (r->phase < 0) {
            read_guess_table(r);
            return;
        }
        perp__error(r->in.source, r->in.token->at, r->in.token->end,
                    "a table of guesses belongs to the plan, outside of its phases");
        r->in.bad = 1;
        return;
    }
    perp_symbol_kind kind;
    int first, n, size;
    perp_expr *e = NULL;
    const perp__syntax *name = expression(r);
    perp__expect_symbol(&r->in, '=', "'=' and the guess");
    const perp__syntax *s = expression(r);
    if (r->in.bad || !perp__find_block(r->builder, name, &kind, &first, &n) ||
        !perp__lower_block(r->builder, s, PERP__OF_TIME, &e, &size)) {
        r->in.bad = 1;
        return;
    }
    const char *fault = NULL;
    if (kind == PERP_OUTPUT)
        fault = "an output is computed and takes no guess";
    else if (kind == PERP_PARAM && r->phase >= 0)
        fault = "a free parameter has one guess, which stands outside of the phases";
    else if (size != 1 && size != n)
        fault = "the sizes differ: %d and %d elements";
    if (fault) {
        perp__error(r->in.source, name->at, s->end, fault, n, size);
        r->in.bad = 1;
        return;
    }
    for (int i = 0; i < n && !r->in.bad; i++) {
        if (room(r, &p->guess, &p->cguess, p->nguess, sizeof *p->guess))
            p->guess[p->nguess++] =
                (perp__plan_guess){r->phase, kind, first + i, e[size == 1 ? 0 : i], name->at};
    }
}

/* A word with dashes, such as backward-euler. */
static perp__said read_word(reader *r, const char *what)
{
    int at = r->in.token->at, end = at;
    while ((r->in.token->kind == TOKEN_NAME || perp__at_symbol(&r->in, '-') ||
            r->in.token->kind == TOKEN_NUMBER) &&
           r->in.token->at == end)
        end = r->in.token++->end;
    if (end == at) perp__expect(&r->in, what);
    return (perp__said){text_between(r, at, end), at};
}

/* Phases -------------------------------------------------------------------------------------- */

static int has_colon(const reader *r)
{
    return r->in.token[1].kind == TOKEN_OTHER && r->in.token[1].symbol == ':';
}

static int is_at_phase(const reader *r)
{
    int is_open = r->in.token[1].kind == TOKEN_OTHER && r->in.token[1].symbol == '{';
    return perp__at_word(&r->in, "phase") && (r->in.token[1].kind == TOKEN_NAME || is_open);
}

/* NAME = EXPR as items and as many expressions; how many, 0 with an error. */
static int read_values(reader *r, perp_symbol_kind *kind, int *first, int scope, perp_expr **e,
                       int *size)
{
    int n;
    const perp__syntax *name = expression(r);
    perp__expect_symbol(&r->in, '=', "'=' and a value");
    const perp__syntax *s = expression(r);
    if (r->in.bad || !perp__find_block(r->builder, name, kind, first, &n) ||
        !perp__lower_block(r->builder, s, scope, e, size)) {
        r->in.bad = 1;
        return 0;
    }
    if (*size == 1 || *size == n) return n;
    perp__error(r->in.source, name->at, s->end, "the sizes differ: %d and %d elements", n, *size);
    r->in.bad = 1;
    return 0;
}

/* NAME = EXPR of parameters, after "param": the value within the phase. */
static void read_param(reader *r)
{
    perp__plan_block *p = r->block;
    const perp__token *name = r->in.token;
    perp_symbol_kind kind;
    perp_expr *e = NULL;
    int first, size, n = read_values(r, &kind, &first, PERP__OF_PARAMS, &e, &size);
    for (int i = 0; i < n && !r->in.bad; i++) {
        const perp__item *item = &r->model->item[kind][first + i];
        const char *fault = NULL;
        if (kind != PERP_PARAM)
            fault = "is no parameter";
        else if (item->is_structural)
            fault = "sets the size of the model";
        for (int k = 0; k < p->nparam && !fault; k++)
            if (p->param[k].phase == r->phase && p->param[k].item == first + i)
                fault = "has a value in this phase already";
        if (fault) {
            perp__error(r->in.source, name->at, name->end,
                        "'%s' %s; a phase gives values to parameters: param mu = 0.2", item->name,
                        fault);
            r->in.bad = 1;
        } else if (room(r, &p->param, &p->cparam, p->nparam, sizeof *p->param)) {
            p->param[p->nparam++] = (perp__plan_param){r->phase, first + i, e[size == 1 ? 0 : i]};
        }
    }
}

/* Does e speak of nothing but pre() of states, parameters and t? 0 with the error. */
static int is_of_before(reader *r, perp_expr e, int at, int end)
{
    const perp_model *m = r->model;
    int n, bad = 0, *reach = perp__graph_reach(&m->graph, &e, 1, &n);
    if (!reach) r->failed = r->in.bad = 1;
    for (int k = 0; reach && k < n && !bad; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        if (node->op != PERP__SYMBOL || node->a == PERP__SYM_T) continue;
        bad = node->a < PERP__SYM_FIRST;
        for (int i = 0; i < m->nitem[PERP_STATE] && !bad; i++) {
            int offset = node->a - m->item[PERP_STATE][i].symbol;
            bad = offset >= 0 && offset <= PERP__PRE && offset != PERP__PRE;
        }
        for (int i = 0; i < m->nitem[PERP_INPUT] && !bad; i++) {
            int offset = node->a - m->item[PERP_INPUT][i].symbol;
            bad = offset >= 0 && offset <= PERP__INPUT_PRE;
        }
        for (int i = 0; i < m->nitem[PERP_VAR] && !bad; i++)
            bad = node->a == m->item[PERP_VAR][i].symbol;
    }
    free(reach);
    if (bad)
        perp__error(r->in.source, at, end,
                    "a link speaks of the states before the joint, of parameters and of t: "
                    "v = -e*pre(v)");
    return !bad && reach;
}

/* STATE = EXPR, after "link:": holds where the next phase begins. */
static void read_link(reader *r)
{
    perp__plan_block *p = r->block;
    perp_symbol_kind kind;
    perp_expr *e = NULL;
    int at = r->in.token->at, first, size,
        n = read_values(r, &kind, &first, PERP__OF_NODE, &e, &size);
    int end = r->in.token[-1].end;
    for (int i = 0; i < n && !r->in.bad; i++) {
        const perp__item *item = &r->model->item[kind][first + i];
        perp_expr value = e[size == 1 ? 0 : i];
        int is_given = 0;
        for (int k = 0; k < p->nlink; k++)
            is_given |= p->link[k].phase == p->nphase && p->link[k].state == first + i;
        if (kind != PERP_STATE || is_given) {
            perp__error(r->in.source, at, end,
                        is_given ? "'%s' has a link at this joint already"
                                 : "a link gives a state where the next phase begins; '%s' is none",
                        item->name);
            r->in.bad = 1;
        } else if (!is_of_before(r, value, at, end)) {
            r->in.bad = 1;
        } else if (room(r, &p->link, &p->clink, p->nlink, sizeof *p->link)) {
            p->link[p->nlink++] = (perp__plan_link){p->nphase, first + i, value, at, end};
        }
    }
}

static void read_links(reader *r)
{
    int at = r->in.token->at, end = r->in.token->end;
    r->in.token += 2;
    if (r->block->nphase == 0) {
        perp__error(r->in.source, at, end, "a link stands between two phases");
        r->in.bad = 1;
    }
    do
        if (!r->in.bad) read_link(r);
    while (perp__take_symbol(&r->in, ','));
}

static void read_lines(reader *r);

/* phase NAME { lines } */
static void read_phase(reader *r)
{
    perp__plan_block *p = r->block;
    const perp__token *name = r->in.token + 1;
    perp__plan_phase q = {
        .name = name->text, .at = r->in.token->at, .end = name->end, .is_free = 1};
    q.horizon = q.lo = q.hi = q.nodes = -1;
    r->in.token++;
    if (name->kind == TOKEN_NAME)
        r->in.token++;
    else
        perp__expect(&r->in, "the name of the phase: phase flight {");
    perp__expect_symbol(&r->in, '{', "'{' and the lines of the phase");
    if (r->in.bad) return;
    for (int k = 0; k < p->nphase; k++) {
        if (strcmp(p->phase[k].name, q.name) != 0) continue;
        perp__error(r->in.source, name->at, name->end, "there is a phase '%s' already", q.name);
    }
    if (!room(r, &p->phase, &p->cphase, p->nphase, sizeof *p->phase)) return;
    p->phase[p->nphase++] = q;
    r->phase = p->nphase - 1;
    read_lines(r);
    r->phase = -1;
    r->in.bad = r->failed;
    perp__expect_symbol(&r->in, '}', "'}' at the end of the phase");
}

/* The lines that a phase may have; 0: it is another. */
static int read_line_of_phase(reader *r)
{
    static const char *const others[] = {"phases", "free", "method", "complementarity"};
    perp__plan_phase *q = &r->block->phase[r->phase];
    if (perp__take_word(&r->in, "horizon")) {
        read_horizon(r, &q->horizon_at, &q->is_free, &q->horizon, &q->lo, &q->hi);
        return 1;
    }
    if (perp__take_word(&r->in, "nodes")) {
        q->nodes_at = r->in.token->at;
        q->nodes = number(r);
        return 1;
    }
    if (perp__take_word(&r->in, "param")) {
        do read_param(r);
        while (perp__take_symbol(&r->in, ','));
        return 1;
    }
    int is_other = (perp__at_word(&r->in, "inputs") && r->in.token[1].kind == TOKEN_NAME) ||
                   (perp__at_word(&r->in, "link") && has_colon(r)) || is_at_phase(r);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        is_other |= perp__at_word(&r->in, others[k]);
    if (!is_other) return 0;
    perp__error(r->in.source, r->in.token->at, r->in.token->end,
                "'%s' belongs to the plan, outside of its phases", r->in.token->text);
    r->in.bad = 1;
    return 1;
}

/* The lines that only the plan has; 0: it is another. */
static int read_line_of_plan(reader *r)
{
    perp__plan_block *p = r->block;
    if (is_at_phase(r)) {
        read_phase(r);
    } else if (perp__at_word(&r->in, "link") && has_colon(r)) {
        read_links(r);
    } else if (perp__take_word(&r->in, "horizon")) {
        read_horizon(r, &p->horizon_at, &p->is_free, &p->horizon, &p->horizon_lo, &p->horizon_hi);
    } else if (perp__take_word(&r->in, "nodes")) {
        p->nodes_at = r->in.token->at;
        p->nodes = number(r);
    } else if (perp__take_word(&r->in, "phases")) {
        p->runs_at = r->in.token->at;
        p->runs = number(r);
    } else if (perp__take_word(&r->in, "free")) {
        read_free(r);
    } else if (perp__at_word(&r->in, "inputs") && r->in.token[1].kind == TOKEN_NAME) {
        r->in.token++;
        p->holds_inputs = perp__at_word(&r->in, "held");
        if (!perp__take_word(&r->in, "held") && !perp__take_word(&r->in, "free"))
            perp__expect(&r->in,
                         "held (constant over a step) or free (at each point of the method)");
    } else if (perp__take_word(&r->in, "method")) {
        p->method = read_word(r, "a method, such as backward-euler");
    } else if (perp__take_word(&r->in, "complementarity")) {
        p->complementarity = read_word(r, "a way to treat the pairs, such as scholtes");
    } else {
        return 0;
    }
    return 1;
}

/* A word that is followed by another or by a number begins no condition: it is a misspelt line. */
static int is_misspelt(reader *r)
{
    static const char *const words[] = {"minimize", "horizon", "nodes",          "phases",
                                        "phase",    "free",    "inputs",         "method",
                                        "guess",    "link",    "complementarity"};
    const perp__token *t = r->in.token;
    if (t->kind != TOKEN_NAME || (t[1].kind != TOKEN_NAME && t[1].kind != TOKEN_NUMBER)) return 0;
    int n = (int)(sizeof words / sizeof *words);
    const char *near = perp_nearest(t->text, words, n);
    if (!near || strcmp(near, t->text) == 0) return 0;
    char text[256];
    perp__error(r->in.source, t->at, t->end, "%s",
                perp_unknown_word("plan line", t->text, words, n, "", text, sizeof text));
    r->in.bad = 1;
    return 1;
}

static void read_line(reader *r)
{
    int is_read = r->phase >= 0 ? read_line_of_phase(r) : read_line_of_plan(r);
    if (is_read) {
        ;
    } else if (perp__take_word(&r->in, "minimize")) {
        read_minimize(r);
    } else if (perp__take_word(&r->in, "at")) {
        read_at(r);
    } else if (perp__take_word(&r->in, "guess")) {
        read_guess(r);
    } else if (!is_misspelt(r)) {
        do read_condition(r, PLAN_ALWAYS, -1);
        while (perp__take_symbol(&r->in, ','));
    }
    if (!perp__at_line_end(&r->in)) perp__expect(&r->in, "the end of the line");
}

/* To the brace that closes the block, or the phase. */
static void read_lines(reader *r)
{
    while (!r->failed) {
        while (r->in.token->kind == TOKEN_NEWLINE) r->in.token++;
        if (perp__at_symbol(&r->in, '}') || r->in.token->kind == TOKEN_END) break;
        r->in.bad = 0;
        read_line(r);
        if (r->in.bad) perp__skip_line(&r->in);
    }
}

/* What only the whole block shows. */
static void check_phases(reader *r)
{
    const perp__plan_block *p = r->block;
    if (p->nphase == 0 || r->in.source->nerror > 0) return;
    for (int k = 0; k < p->nlink; k++)
        if (p->link[k].phase == p->nphase)
            perp__error(r->in.source, p->link[k].at, p->link[k].end,
                        "a link stands between two phases");
    if (p->nodes >= 0)
        perp__error(r->in.source, p->nodes_at, p->nodes_at + 1,
                    "each phase has nodes of its own; the plan has their sum");
    if (p->runs >= 0)
        perp__error(r->in.source, p->runs_at, p->runs_at + 1,
                    "a plan has either phases of its own or a number of equal ones");
    if (p->simulates && (p->nlink || p->nparam))
        perp__error(r->in.source, p->simulates_at, p->simulates_at + 8,
                    "a simulation follows neither links nor the parameters of a phase");
    for (int k = 0; k < p->nphase; k++) {
        const perp__plan_phase *q = &p->phase[k];
        if (q->nodes < 0)
            perp__error(r->in.source, q->at, q->end, "phase '%s' needs its nodes: nodes 20",
                        q->name);
        if (q->is_free && q->horizon_at == 0 && !p->is_free && p->horizon < 0)
            perp__error(r->in.source, q->at, q->end,
                        "phase '%s' needs a horizon: 'horizon 5', or 'horizon free'", q->name);
    }
}

int perp__read_plan(struct builder *b, perp_model *model, const perp__statement *s)
{
    perp__plan_block *p = model->plan = calloc(1, sizeof *p);
    if (!p) return 0;
    p->at = s->at;
    p->horizon = p->horizon_lo = p->horizon_hi = p->nodes = p->runs = -1;
    reader r = {.builder = b,
                .model = model,
                .block = p,
                .in = {.source = &model->source, .token = s->block},
                .phase = -1};
    read_lines(&r);
    check_phases(&r);
    return !r.failed;
}

void perp__clear_plan(perp__plan_block *p)
{
    if (!p) return;
    free(p->cost);
    free(p->condition);
    free(p->free_);
    free(p->guess);
    free(p->phase);
    free(p->param);
    free(p->link);
    free(p->distant.of);
    free(p);
}
