/* Vars that an equation x = ... sets from values known without them. They are not unknowns of a
 * step: their expressions are substituted. A var that is a side of a pair or a force stays, since a
 * mode holds it at exactly 0. */

#include "simulate/step.h"

#include <stdlib.h>
#include <string.h>

/* A var that several conditions read and that contains more unknowns than FEW stays, since it would
 * cause fill-in. So does one that is not reached in PASSES passes over the equations. */
enum { FEW = 3, PASSES = 8 };

typedef struct search {
    const perp_model *model;
    perp__assigned *assigned;
    int *meaning;            /* symbol of the model: a var, or a mark */
    int *may;                /* var: how many equations may yet set it */
    int *place;              /* var: which of the assigned it is, or -1 */
    char *zero;              /* var: it is set to 0 */
    int *readers, *setter;   /* var: how many conditions have it; the equation that could set it */
    int (*made_of)[FEW + 1]; /* assigned: how many unknowns, and which (symbols) */
    int failed;
} search;

enum { KNOWN = -1, RATE = -2, STATE = -3 }; /* or a var */

static void mark_symbols(search *x)
{
    const perp_model *m = x->model;
    for (int k = 0; k < m->nsymbol; k++) x->meaning[k] = KNOWN;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int *of = x->meaning + m->item[PERP_STATE][i].symbol;
        of[PERP__NOW] = m->kind == PERP_DISCRETE ? KNOWN : STATE;
        of[PERP__NEXT] = STATE;
        of[PERP__DER] = RATE;
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) x->meaning[m->item[PERP_VAR][v].symbol] = v;
}

/* The var that an expression is; -1: it is another thing. */
static int var_of(const search *x, perp_expr e)
{
    const perp__node *node = &x->model->graph.node[e];
    return node->op == PERP__SYMBOL && x->meaning[node->a] >= 0 ? x->meaning[node->a] : -1;
}

/* Is a node 0 whatever the others are: a product with a var that is set to 0? zero: of its
 * operands. */
static int is_zero(const search *x, const perp__node *node, int a, int b)
{
    switch (node->op) {
    case PERP__CONST: return node->value == 0;
    case PERP__SYMBOL: return x->meaning[node->a] >= 0 && x->zero[x->meaning[node->a]];
    case PERP__MUL: return a || b;
    case PERP__ADD:
    case PERP__SUB: return a && b;
    case PERP__NEG:
    case PERP__DIV: return a;
    default: return 0;
    }
}

enum { IS_ZERO = 1, IS_NEEDED = 2 };

/* Which of the nodes are 0; the caller frees it. NULL when memory is out. */
static char *mark_zeros(const search *x, const int *reach, int n)
{
    const perp__graph *g = &x->model->graph;
    char *mark = calloc((size_t)n + 1, 1);
    for (int k = 0; mark && k < n; k++) {
        const perp__node *node = &g->node[reach[k]];
        int arity = perp__op_arity(node->op),
            a = arity > 0 && mark[perp__operand_place(reach, n, k, 0)],
            b = arity > 1 && mark[perp__operand_place(reach, n, k, 1)];
        if (is_zero(x, node, a, b)) mark[k] = IS_ZERO;
    }
    return mark;
}

static int is_all_zero(search *x, perp_expr e)
{
    int n, *reach = perp__graph_reach(&x->model->graph, &e, 1, &n);
    char *mark = reach ? mark_zeros(x, reach, n) : NULL;
    int answer = mark && mark[perp__node_place(reach, n, e)];
    if (!mark) x->failed = 1;
    free(mark);
    free(reach);
    return answer;
}

/* The symbols that expressions (-1: none) depend on: an array of *n, which the caller frees. */
static int *symbols_of(search *x, const perp_expr *e, int ne, int *n)
{
    const perp__graph *g = &x->model->graph;
    perp_expr root[4];
    int roots = 0, count = 0;
    for (int k = 0; k < ne; k++)
        if (e[k] >= 0) root[roots++] = e[k];
    int *reach = perp__graph_reach(g, root, roots, &count);
    char *mark = reach ? mark_zeros(x, reach, count) : NULL;
    *n = 0;
    if (!mark) {
        x->failed = 1;
        roots = count = 0;
    }
    for (int k = 0; k < roots; k++) mark[perp__node_place(reach, count, root[k])] |= IS_NEEDED;
    for (int k = count - 1; k >= 0; k--) {
        int arity = mark[k] == IS_NEEDED ? perp__op_arity(g->node[reach[k]].op) : 0;
        for (int j = 0; j < arity; j++) mark[perp__operand_place(reach, count, k, j)] |= IS_NEEDED;
    }
    for (int k = 0; k < count; k++)
        if (mark[k] == IS_NEEDED && g->node[reach[k]].op == PERP__SYMBOL)
            reach[(*n)++] = g->node[reach[k]].a;
    free(mark);
    return reach;
}

static void keep(search *x, perp_expr e)
{
    int v = e < 0 ? -1 : var_of(x, e);
    if (v >= 0) x->may[v] = 0;
}

/* Which vars have an equation that could set them, and none of the reasons to stay. */
static void find_candidates(search *x)
{
    const perp_model *m = x->model;
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) {
        x->may[v] = 0;
        x->place[v] = -1;
    }
    for (int i = 0; i < m->nequation; i++) {
        int v = var_of(x, m->equation[i].left);
        if (v >= 0) x->may[v]++;
    }
    for (int i = 0; i < m->npair; i++) {
        keep(x, m->pair[i].a);
        if (!m->pair[i].two_sided) keep(x, m->pair[i].b);
    }
    for (int i = 0; i < m->nfriction; i++) {
        const perp__contact *c = &m->contact[i];
        for (int k = 0; k < 2; k++) keep(x, c->f[k]);
        for (int k = 0; k < 2 && c->kind == PERP__CONTACT_CONE; k++) keep(x, c->v[k]);
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++)
        if (m->item[PERP_VAR][v].scale != 0) x->may[v] = 0;
}

/* Put an unknown among the n that a var is made of. Returns how many these are, or that they are
 * not few. */
static int include(int *list, int n, int symbol)
{
    for (int k = 0; k < n && k < FEW; k++)
        if (list[k] == symbol) return n;
    if (n < FEW) list[n] = symbol;
    return n < FEW ? n + 1 : FEW + 1;
}

enum { NEVER, NOT_YET, NOW };

/* Can var v be set to e, and which unknowns does it then contain? */
static int try_assign(search *x, int v, perp_expr e, int *made_of)
{
    int n, count = 0, answer = NOW, *symbol = symbols_of(x, &e, 1, &n);
    for (int k = 0; k < n && answer != NEVER; k++) {
        int of = x->meaning[symbol[k]];
        if (of == RATE || of == v) answer = NEVER;
        if (of == KNOWN || of == RATE || of == v) continue;
        if (of >= 0 && x->place[of] < 0 && x->may[of] > 0) answer = NOT_YET;
        const int *inner = of >= 0 && x->place[of] >= 0 ? x->made_of[x->place[of]] : NULL;
        for (int j = 0; inner && j < inner[0] && j < FEW; j++)
            count = include(made_of + 1, count, inner[1 + j]);
        if (inner && inner[0] > FEW) count = FEW + 1;
        if (!inner) count = include(made_of + 1, count, symbol[k]);
        if (count > FEW && x->readers[v] > 2)
            answer = NEVER; /* read beside what sets it and another */
    }
    free(symbol);
    made_of[0] = count;
    return answer;
}

static void set_by(search *x, int equation)
{
    perp__assigned *a = x->assigned;
    int v = var_of(x, x->model->equation[equation].left);
    a->var[a->n] = v;
    a->equation[a->n] = equation;
    x->place[v] = a->n++;
}

/* Let equation i set its left side, if it can. Returns 1 where something is new. */
static int study_equation(search *x, int i, char *done)
{
    const perp__equation *q = &x->model->equation[i];
    int v = var_of(x, q->left), n = x->assigned->n;
    if (v < 0 || x->may[v] <= 0 || x->place[v] >= 0) return 0;
    int answer = try_assign(x, v, q->right, x->made_of[n]);
    if (answer == NOT_YET) return 0;
    *done = 1;
    if (answer == NEVER) {
        x->may[v]--;
        return 1;
    }
    set_by(x, i);
    return 1;
}

/* Add this to the number of conditions that have each var of these expressions (-1: none). */
static void count_readers(search *x, const perp_expr *e, int ne, int one)
{
    int n, *symbol = symbols_of(x, e, ne, &n);
    for (int k = 0; k < n; k++)
        if (x->meaning[symbol[k]] >= 0) x->readers[x->meaning[symbol[k]]] += one;
    free(symbol);
}

static void count_all_readers(search *x)
{
    const perp_model *m = x->model;
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) x->readers[v] = 0;
    for (int i = 0; i < m->nequation; i++) {
        const perp_expr side[] = {m->equation[i].left, m->equation[i].right};
        count_readers(x, side, 2, 1);
    }
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *q = &m->pair[i];
        const perp_expr side[] = {q->a, q->b, q->two_sided ? q->lo : -1, q->two_sided ? q->hi : -1};
        count_readers(x, side, 4, 1);
    }
    for (int i = 0; i < m->nfriction; i++) {
        const perp__contact *c = &m->contact[i];
        const perp_expr of[] = {c->v[0], c->v[1], c->bound};
        count_readers(x, of, 3, 1);
    }
}

/* Is nothing made of var v, and can the equation that has it on its left set it? */
static int is_unread(search *x, int v)
{
    if (x->may[v] != 1 || x->readers[v] > 1) return 0;
    int n, ok = 1, *symbol = symbols_of(x, &x->model->equation[x->setter[v]].right, 1, &n);
    for (int k = 0; k < n; k++) ok &= x->meaning[symbol[k]] != v && x->meaning[symbol[k]] != RATE;
    free(symbol);
    return ok;
}

/* The equations of vars that nothing else is made of but such vars, each before those that it
 * reads. Returns how many. */
static int find_unread(search *x, int *list)
{
    const perp_model *m = x->model;
    int n = 0;
    count_all_readers(x);
    for (int i = 0; i < m->nequation; i++) {
        int v = var_of(x, m->equation[i].left);
        if (v >= 0) x->setter[v] = i;
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++)
        if (is_unread(x, v)) {
            list[n++] = x->setter[v];
            x->may[v] = 0;
        }
    for (int k = 0; k < n; k++) {
        perp_expr right = m->equation[list[k]].right;
        int count, *symbol = symbols_of(x, &right, 1, &count);
        count_readers(x, &right, 1, -1);
        for (int i = 0; i < count; i++) {
            int v = x->meaning[symbol[i]];
            if (v >= 0 && is_unread(x, v)) {
                list[n++] = x->setter[v];
                x->may[v] = 0;
            }
        }
        free(symbol);
    }
    return n;
}

/* Vars that are set to 0: what is multiplied by them is read by nobody there. */
static void find_zeros(search *x, char *done)
{
    const perp_model *m = x->model;
    for (int pass = 0, more = 1; pass < PASSES && more; pass++) {
        more = 0;
        for (int i = 0; i < m->nequation; i++) {
            const perp__equation *q = &m->equation[i];
            int v = done[i] ? -1 : var_of(x, q->left);
            if (v < 0 || x->may[v] <= 0 || !is_all_zero(x, q->right)) continue;
            x->made_of[x->assigned->n][0] = 0;
            set_by(x, i);
            x->may[v] = 0;
            done[i] = x->zero[v] = 1;
            more = 1;
        }
    }
}

static void find_all(search *x, char *done, int *unread)
{
    const perp_model *m = x->model;
    mark_symbols(x);
    find_candidates(x);
    find_zeros(x, done);
    int n = find_unread(x, unread);
    for (int k = 0; k < n; k++) done[unread[k]] = 1;
    for (int pass = 0, more = 1; pass < PASSES && more && !x->failed; pass++) {
        more = 0;
        for (int i = 0; i < m->nequation; i++)
            if (!done[i]) more |= study_equation(x, i, &done[i]);
    }
    x->assigned->nread = x->assigned->n;
    while (n > 0 && !x->failed) set_by(x, unread[--n]);
}

int perp__assigned_find(perp__assigned *a, const perp_model *m)
{
    size_t nv = (size_t)m->nitem[PERP_VAR] + 1;
    search x = {.model = m, .assigned = a};
    char *done = calloc((size_t)m->nequation + 1, 1);
    a->n = 0;
    a->var = malloc(2 * nv * sizeof(int));
    x.meaning = malloc(((size_t)m->nsymbol + 5 * nv) * sizeof(int));
    x.made_of = malloc(nv * sizeof *x.made_of);
    x.zero = calloc(nv, 1);
    int ok = done && a->var && x.meaning && x.made_of && x.zero;
    if (ok) {
        a->equation = a->var + nv;
        x.place = x.meaning + m->nsymbol;
        x.may = x.place + nv;
        x.readers = x.may + nv;
        x.setter = x.readers + nv;
        find_all(&x, done, x.setter + nv);
    }
    free(done);
    free(x.zero);
    free(x.meaning);
    free(x.made_of);
    return ok && !x.failed;
}
