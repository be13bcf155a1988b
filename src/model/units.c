/* Units: each node of the graph gets its dimensions where they are known, and sums, comparisons,
 * equations and bounds must agree. A name without a unit, and a plain number, agree with
 * everything; "1" and "rad" are dimensionless. */

#include "base/tol.h"
#include "base/number.h"
#include "model/inspect.h"
#include "model/plan_block.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRE, KILOGRAM, SECOND, AMPERE, KELVIN, BASES };

/* known: 0 agrees with everything, 1 a unit, 2 a plain number (dimensionless in products) */
typedef struct unit {
    int known;
    double power[BASES], scale;
} unit;

static const struct {
    const char *name;
    double m, kg, s, A, K, scale;
} names[] = {{"m", 1, 0, 0, 0, 0, 1},     {"kg", 0, 1, 0, 0, 0, 1},
             {"g", 0, 1, 0, 0, 0, 1e-3},  {"s", 0, 0, 1, 0, 0, 1},
             {"A", 0, 0, 0, 1, 0, 1},     {"K", 0, 0, 0, 0, 1, 1},
             {"1", 0, 0, 0, 0, 0, 1},     {"rad", 0, 0, 0, 0, 0, 1},
             {"-", 0, 0, 0, 0, 0, 1},     {"N", 1, 1, -2, 0, 0, 1},
             {"Pa", -1, 1, -2, 0, 0, 1},  {"J", 2, 1, -2, 0, 0, 1},
             {"W", 2, 1, -3, 0, 0, 1},    {"Hz", 0, 0, -1, 0, 0, 1},
             {"V", 2, 1, -3, -1, 0, 1},   {"Ohm", 2, 1, -3, -2, 0, 1},
             {"F", -2, -1, 4, 2, 0, 1},   {"H", 2, 1, -2, -2, 0, 1},
             {"C", 0, 0, 1, 1, 0, 1},     {"mm", 1, 0, 0, 0, 0, 1e-3},
             {"cm", 1, 0, 0, 0, 0, 1e-2}, {"km", 1, 0, 0, 0, 0, 1e3},
             {"ms", 0, 0, 1, 0, 0, 1e-3}, {"min", 0, 0, 1, 0, 0, 60},
             {"kN", 1, 1, -2, 0, 0, 1e3}, {"deg", 0, 0, 0, 0, 0, 0.017453292519943295}};

static const unit anything = {0, {0}, 1};
static const unit one = {1, {0}, 1};

static int find_name(const char *text, size_t n)
{
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (strlen(names[i].name) == n && strncmp(names[i].name, text, n) == 0) return i;
    }
    return -1;
}

static void multiply(unit *u, const unit *v, double power)
{
    for (int i = 0; i < BASES; i++) u->power[i] += power * v->power[i];
    u->scale *= pow(v->scale, power);
}

/* "kg m^2/s^2": factors joined by blanks, * or /, each with ^power. Returns 0 if a name is not
 * known. */
static int parse_unit(const char *text, unit *u)
{
    double side = 1;
    *u = one;
    for (const char *s = text; *s;) {
        if (*s == ' ' || *s == '*' || *s == '.') {
            s++;
            continue;
        }
        if (*s == '/') {
            side = -1;
            s++;
            continue;
        }
        const char *end = s;
        while (*end && !strchr(" */^.", *end)) end++;
        int k = find_name(s, (size_t)(end - s));
        if (k < 0) return 0;
        double power = 1;
        if (*end == '^') {
            const char *rest;
            power = perp_number_read(end + 1, &rest);
            if (rest == end + 1) return 0;
            end = rest;
        }
        unit factor = {
            1, {names[k].m, names[k].kg, names[k].s, names[k].A, names[k].K}, names[k].scale};
        multiply(u, &factor, side * power);
        s = end;
    }
    return 1;
}

int perp__unit_powers(const char *text, double power[BASES], double *scale)
{
    unit u;
    if (!text[0] || !parse_unit(text, &u)) return 0;
    memcpy(power, u.power, sizeof u.power);
    *scale = u.scale;
    return 1;
}

static int same(const unit *x, const unit *y)
{
    for (int i = 0; i < BASES; i++) {
        if (fabs(x->power[i] - y->power[i]) > PERP_TOL_UNIT) return 0;
    }
    return fabs(x->scale / y->scale - 1) < PERP_TOL_UNIT;
}

static const char *unit_text(const unit *u, char *buffer, size_t size)
{
    static const char *const base[] = {"m", "kg", "s", "A", "K"};
    int n = 0;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) { /* a name, if it is one */
        unit v = {1, {names[i].m, names[i].kg, names[i].s, names[i].A, names[i].K}, names[i].scale};
        if (same(u, &v)) {
            snprintf(buffer, size, "%s", names[i].name);
            return buffer;
        }
    }
    buffer[0] = 0;
    if (fabs(u->scale - 1) > PERP_TOL_UNIT) n += perp__format(buffer, size, "%g ", u->scale);
    for (int i = 0; i < BASES && n < (int)size; i++) {
        if (u->power[i] == 0) continue;
        n += perp__format(buffer + n, size - (size_t)n, u->power[i] == 1 ? "%s%s" : "%s%s^%g",
                          n && buffer[n - 1] != ' ' ? " " : "", base[i], u->power[i]);
    }
    return buffer;
}

typedef struct inspection {
    const perp_model *m;
    perp__source *findings;
    unit *symbol;     /* of every symbol of the model */
    unit *node;       /* of every node that was reached */
    const int *reach; /* the list that node[] goes with */
    int n;
    perp_expr e; /* the node at hand, -1: what has this note */
    const perp__note *note;
} inspection;

/* Whose warnings are those that follow. */
static void warn_of(inspection *in, perp_expr e, const perp__note *note)
{
    in->e = e;
    in->note = note;
}

static void say_whose(const inspection *in)
{
    in->findings->note = in->e < 0 ? in->note : perp__note_of(in->m, in->e);
}

/* Two things that must agree; what is known of both. */
static unit agree(inspection *in, unit x, unit y, int at, const char *where)
{
    if (x.known == 1 && y.known == 1 && !same(&x, &y) && at >= 0) {
        char a[80], b[80];
        say_whose(in);
        perp__error(in->findings, at, at, "warning: units do not match %s: '%s' and '%s'", where,
                    unit_text(&x, a, sizeof a), unit_text(&y, b, sizeof b));
        return anything;
    }
    return x.known == 1 ? x : y;
}

static unit product(unit x, unit y, double power)
{
    if (!x.known || !y.known) return anything;
    unit u = {x.known == 1 || y.known == 1 ? 1 : 2, {0}, 1};
    multiply(&u, &x, 1);
    multiply(&u, &y, power);
    return u;
}

static unit unit_at(const inspection *in, perp_expr e)
{
    return in->node[perp__node_place(in->reach, in->n, e)];
}

/* A function of a pure number. */
static unit of_number(inspection *in, const perp__node *node, unit a)
{
    char text[80];
    if (a.known == 1 && !same(&a, &one) && node->source >= 0) {
        say_whose(in);
        perp__error(in->findings, node->source, node->source, "warning: %s of a quantity in '%s'",
                    perp__op_text(node->op), unit_text(&a, text, sizeof text));
    }
    return one;
}

static unit power(unit a, double exponent)
{
    unit u = one;
    multiply(&u, &a, exponent);
    return u;
}

static unit root(unit a)
{
    return a.known == 1 ? power(a, 0.5) : a;
}

/* A number that two quantities of one unit make. */
static unit ratio(inspection *in, const perp__node *node, unit a, unit b)
{
    char where[16];
    snprintf(where, sizeof where, "in %s", perp__op_text(node->op));
    agree(in, a, b, node->source, where);
    return one;
}

static unit unit_of_node(inspection *in, const perp__node *node)
{
    int arity = perp__op_arity(node->op);
    unit a = arity > 0 ? unit_at(in, node->a) : anything,
         b = arity > 1 ? unit_at(in, node->b) : anything;
    const perp__node *exponent = &in->m->graph.node[node->b];
    switch ((perp__op)node->op) {
#define PERP_FUNCTION(name, arity, text, value, derivative, terms, sign, unit, ...)                \
    PERP__CASE(PERP__##name, unit)
#include "model/ops.def"
    case PERP__CONST: return node->value == 0 ? anything : (unit){2, {0}, 1};
    case PERP__SYMBOL: return in->symbol[node->a];
    case PERP__ADD:
    case PERP__SUB: return agree(in, a, b, node->source, "in a sum");
    case PERP__LE:
    case PERP__LT: agree(in, a, b, node->source, "in a comparison"); return one;
    case PERP__MUL: return product(a, b, 1);
    case PERP__DIV: return product(a, b, -1);
    case PERP__POW:
        return a.known == 1 && exponent->op == PERP__CONST ? power(a, exponent->value) : anything;
    case PERP__NEG: return a;
    case PERP__STEP: return one;
    case PERP__OP_COUNT: break;
    }
    return anything;
}

static int read_units(inspection *in)
{
    const perp_model *m = in->m;
    unit second = one;
    second.power[SECOND] = 1;
    for (int s = 0; s < m->nsymbol; s++) in->symbol[s] = anything;
    in->symbol[PERP__SYM_T] = in->symbol[PERP__SYM_T_PRE] = in->symbol[PERP__SYM_H] = second;
    for (int kind = 0; kind <= PERP_VAR; kind++) {
        for (int i = 0; i < m->nitem[kind]; i++) {
            const perp__item *item = &m->item[kind][i];
            unit u = anything;
            if (item->unit[0] && !parse_unit(item->unit, &u)) {
                perp__error(in->findings, item->at, item->end,
                            "warning: the unit '%s' is not known, so it is not checked%s",
                            item->unit,
                            strpbrk(item->unit, "23456789") && !strchr(item->unit, '^')
                                ? "; a power is written ^"
                                : "");
                u = anything;
            }
            in->symbol[item->symbol] = u;
            if (kind == PERP_INPUT) in->symbol[item->symbol + PERP__INPUT_PRE] = u;
            if (kind != PERP_STATE) continue;
            in->symbol[item->symbol + PERP__NEXT] = in->symbol[item->symbol + PERP__PRE] = u;
            in->symbol[item->symbol + PERP__DER] = u.known ? product(u, second, -1) : u;
        }
    }
    for (int i = 0; m->plan && i < m->plan->distant.n; i++) {
        const perp__plan_distant *d = &m->plan->distant.of[i];
        in->symbol[d->symbol] = in->symbol[m->item[PERP_STATE][d->state].symbol];
    }
    return 1;
}

static void check_conditions(inspection *in)
{
    const perp_model *m = in->m;
    for (int i = 0; i < m->nequation; i++) {
        warn_of(in, -1, m->equation[i].note);
        int cone = perp__cone_of(m, i); /* whose projection adds up a force and a velocity */
        agree(in, unit_at(in, m->equation[i].left),
              unit_at(in, cone < 0 ? m->equation[i].right : m->contact[cone].bound),
              m->equation[i].at, cone < 0 ? "across the equation" : "with the bound");
    }
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *p = &m->pair[i];
        if (!p->two_sided) continue;
        warn_of(in, -1, p->note);
        agree(in, unit_at(in, p->a), unit_at(in, p->lo), p->at, "with the lower bound");
        agree(in, unit_at(in, p->a), unit_at(in, p->hi), p->at, "with the upper bound");
    }
}

static void check_added(inspection *in)
{
    char where[300];
    for (const perp__added *a = in->m->added; a; a = a->before) {
        unit u;
        if (!parse_unit(a->unit, &u) || perp__source_has_error(in->findings, a->at)) continue;
        warn_of(in, -1, a->note);
        snprintf(where, sizeof where, "with the sum '%s' that it is added to", a->sum);
        agree(in, unit_at(in, a->e), u, a->at, where);
    }
}

/* What has values that are compared with its unit. Inputs have not: a 2 in sin(2*t) is one of
 * 1/s. */
static const perp_symbol_kind valued[] = {PERP_PARAM, PERP_STATE, PERP_OUTPUT};

/* The expressions of those that have one, and whose they are, where wanted. */
static int list_values(const perp_model *m, perp_expr *e, const perp__item **of)
{
    int n = 0;
    for (size_t k = 0; k < sizeof valued / sizeof *valued; k++) {
        for (int i = 0; i < m->nitem[valued[k]]; i++) {
            const perp__item *item = &m->item[valued[k]][i];
            if (item->expr < 0) continue;
            if (e) e[n] = item->expr;
            if (of) of[n] = item;
            n++;
        }
    }
    return n;
}

/* Of parameters and initial values, which may be an instance's arguments, and of outputs. A pure
 * number may stand for any. */
static int check_values(inspection *in)
{
    char where[300];
    warn_of(in, -1, NULL); /* the name says whose */
    const perp__item **item = malloc((size_t)list_values(in->m, NULL, NULL) * sizeof(void *) + 1);
    int n = item ? list_values(in->m, NULL, item) : 0;
    for (int i = 0; i < n; i++) {
        unit u = unit_at(in, item[i]->expr), declared;
        if (same(&u, &one) || !item[i]->unit[0] || !parse_unit(item[i]->unit, &declared)) continue;
        snprintf(where, sizeof where, "between the value of '%s' and what is declared",
                 item[i]->name);
        agree(in, u, declared, item[i]->at, where);
    }
    free(item);
    return item != NULL;
}

/* Two sides that should be of one unit: the first an expression, or what a symbol is; the second
 * may be -1. */
typedef struct sides {
    int symbol;
    perp_expr left, right;
    int at;
    const char *where;
} sides;

/* All that a plan block says: at most as many as `most`. */
static int list_plan(const perp_model *m, sides *s, int most)
{
    const perp__plan_block *b = m->plan;
    int n = 0;
    for (int i = 0; b && i < b->ncondition && n + 2 <= most; i++) {
        const perp__plan_condition *c = &b->condition[i];
        int is_equation = c->lo == c->hi;
        s[n++] = (sides){-1, c->e, c->lo, c->at,
                         is_equation ? "across the condition" : "with the lower bound"};
        s[n++] = (sides){-1, c->e, is_equation ? -1 : c->hi, c->at, "with the upper bound"};
    }
    for (int i = 0; b && i < b->ncost && n < most; i++)
        if (b->cost[i].kind != PLAN_COST_TIME)
            s[n++] = (sides){-1, b->cost[i].e, -1, b->cost[i].at, ""};
    for (int i = 0; b && i < b->nlink && n < most; i++)
        s[n++] = (sides){m->item[PERP_STATE][b->link[i].state].symbol, -1, b->link[i].e,
                         b->link[i].at, "across the link"};
    if (b && n + 3 <= most) {
        s[n++] = (sides){PERP__SYM_T, -1, b->horizon, b->horizon_at, "with a time"};
        s[n++] = (sides){PERP__SYM_T, -1, b->horizon_lo, b->horizon_at, "with a time"};
        s[n++] = (sides){PERP__SYM_T, -1, b->horizon_hi, b->horizon_at, "with a time"};
    }
    return n;
}

static int most_of_plan(const perp_model *m)
{
    const perp__plan_block *b = m->plan;
    return b ? 2 * b->ncondition + b->ncost + b->nlink + 3 : 0;
}

static void check_plan(inspection *in, const sides *s, int n)
{
    warn_of(in, -1, NULL);
    for (int i = 0; i < n; i++) {
        if (s[i].right < 0) continue;
        unit left = s[i].symbol >= 0 ? in->symbol[s[i].symbol] : unit_at(in, s[i].left);
        agree(in, left, unit_at(in, s[i].right), s[i].at, s[i].where);
    }
}

/* Where each lookup is in the list, it has the unit of its table. */
static int read_lookups(const inspection *in, unit **of)
{
    int any = 0;
    *of = NULL;
    for (const perp__looked *l = in->m->looked; l; l = l->before) any = 1;
    if (!any) return 1;
    *of = malloc((size_t)in->m->graph.count * sizeof **of);
    for (int i = 0; *of && i < in->m->graph.count; i++) (*of)[i].known = -1;
    for (const perp__looked *l = in->m->looked; *of && l; l = l->before)
        if (!l->unit[0] || !parse_unit(l->unit, &(*of)[l->e])) (*of)[l->e] = anything;
    return *of != NULL;
}

/* The unit of every node behind the roots. What is found on the way goes to the findings. Returns 0
 * when memory is out. */
static int inspect(inspection *in, const perp_expr *roots, int nroot)
{
    const perp_model *m = in->m;
    int n = 0;
    int *reach = roots ? perp__graph_reach(&m->graph, roots, nroot, &n) : NULL;
    in->reach = reach;
    in->n = n;
    in->symbol = malloc((size_t)m->nsymbol * sizeof(unit));
    in->node = malloc(((size_t)n + 1) * sizeof(unit));
    unit *looked = NULL;
    int ok = reach && in->symbol && in->node && read_units(in) && read_lookups(in, &looked);
    for (int k = 0; ok && k < n; k++) {
        warn_of(in, reach[k], NULL);
        int is_looked = looked && looked[reach[k]].known >= 0;
        in->node[k] = is_looked ? looked[reach[k]] : unit_of_node(in, &m->graph.node[reach[k]]);
    }
    free(looked);
    return ok;
}

static void clear(inspection *in)
{
    free((int *)in->reach);
    free(in->symbol);
    free(in->node);
}

int perp__inspect_units(const perp_model *m, perp__source *findings)
{
    int nroot;
    perp_expr *roots = perp__condition_roots(m, &nroot);
    int most = most_of_plan(m);
    sides *plan = malloc(((size_t)most + 1) * sizeof *plan);
    int n = plan ? list_plan(m, plan, most) : 0;
    int nadded = 0;
    for (const perp__added *a = m->added; a; a = a->before) nadded++;
    int nvalue = list_values(m, NULL, NULL);
    size_t size = (size_t)nroot + 2 * (size_t)n + (size_t)nadded + (size_t)nvalue + 1;
    perp_expr *all = roots ? realloc(roots, size * sizeof *all) : NULL;
    if (all) roots = all;
    for (const perp__added *a = m->added; all && a; a = a->before) all[nroot++] = a->e;
    if (all) nroot += list_values(m, all + nroot, NULL);
    for (int i = 0; i < 2 * n && all; i++) {
        perp_expr e = i % 2 ? plan[i / 2].right : plan[i / 2].left;
        if (e >= 0) all[nroot++] = e;
    }
    inspection in = {.m = m, .findings = findings};
    int ok = plan && all && inspect(&in, all, nroot);
    ok = ok && check_values(&in);
    if (ok) {
        check_added(&in);
        check_conditions(&in);
        check_plan(&in, plan, n);
    }
    findings->note = NULL;
    free(plan);
    free(roots);
    clear(&in);
    return ok;
}

int perp__units_of(const perp_model *m, const perp_expr *e, int n, char (*text)[PERP__UNIT_SIZE])
{
    perp__source unheard = {0};
    inspection in = {.m = m, .findings = &unheard};
    int ok = inspect(&in, e, n);
    for (int k = 0; k < n; k++) {
        unit u = ok ? unit_at(&in, e[k]) : anything;
        text[k][0] = 0;
        if (u.known == 1) unit_text(&u, text[k], PERP__UNIT_SIZE);
    }
    perp__source_clear(&unheard);
    clear(&in);
    return ok;
}

/* 1 if the units have the same dimension, and how many b are one a; 0 if they do not; -1 if one is
 * empty or not understood. */
static int unit_ratio(const char *a, const char *b, double *ratio)
{
    unit u, v;
    if (!a[0] || !b[0] || !parse_unit(a, &u) || !parse_unit(b, &v)) return -1;
    *ratio = u.scale / v.scale;
    for (int i = 0; i < BASES; i++) {
        if (fabs(u.power[i] - v.power[i]) > PERP_TOL_UNIT) return 0;
    }
    return 1;
}

perp_status perp__check_unit(const perp_trajectory *table, int column, const char *ours,
                             const char *file, perp_diag *diag)
{
    double ratio;
    const char *theirs = perp_trajectory_unit(table, column);
    int same = unit_ratio(theirs, ours, &ratio);
    if (same < 0 || (same == 1 && fabs(ratio - 1) < PERP_TOL_SAME)) return PERP_OK;
    perp__refuse(diag, PERP_ERR_DATA, perp__in(file),
                 "column '%s' is in '%s', but the model needs '%s'",
                 perp_trajectory_name(table, column), theirs, ours);
    if (same == 1)
        perp__diag_append(diag, ": multiply the column by %g and correct its unit", ratio);
    perp__diag_append(diag, "\n");
    return PERP_ERR_DATA;
}
