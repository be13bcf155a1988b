/* Vars that an equation sets, x = ..., from what is known without them: they are no unknowns of a step; what sets them stands
 * in their place. Those that are a side of a pair or a force stay, since a mode holds them at exactly 0. */

#include "simulate/step.h"

#include <stdlib.h>
#include <string.h>

/* A var made of more unknowns than this stays, since the conditions that read it would fill up; and one that is not reached in
 * so many passes over the equations. */
enum { FEW = 3, PASSES = 8 };

typedef struct search {
    const perp_model *model;
    perp__assigned *assigned;
    int *meaning;            /* symbol of the model: a var, or a mark */
    int *may;                /* var: how many equations may yet set it */
    int *place;              /* var: which of the assigned it is, or -1 */
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
        of[PERP__NEXT] = STATE, of[PERP__DER] = RATE;
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) x->meaning[m->item[PERP_VAR][v].symbol] = v;
}

/* The var that an expression is; -1: it is another thing. */
static int var_of(const search *x, perp_expr e)
{
    const perp__node *node = &x->model->graph.node[e];
    return node->op == PERP__SYMBOL && x->meaning[node->a] >= 0 ? x->meaning[node->a] : -1;
}

/* The symbols of expressions (-1: none): an array of *n, which the caller frees. */
static int *symbols_of(search *x, const perp_expr *e, int ne, int *n)
{
    const perp__graph *g = &x->model->graph;
    perp_expr root[4];
    int roots = 0, count;
    for (int k = 0; k < ne; k++)
        if (e[k] >= 0) root[roots++] = e[k];
    int *reach = perp__graph_reach(g, root, roots, &count);
    *n = 0;
    for (int k = 0; k < count; k++)
        if (g->node[reach[k]].op == PERP__SYMBOL) reach[(*n)++] = g->node[reach[k]].a;
    if (!reach) x->failed = 1;
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
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) x->may[v] = 0, x->place[v] = -1;
    for (int i = 0; i < m->nequation; i++) {
        int v = var_of(x, m->equation[i].left);
        if (v >= 0) x->may[v]++;
    }
    for (int i = 0; i < m->npair; i++) keep(x, m->pair[i].a), keep(x, m->pair[i].b);
    for (int i = 0; i < m->nfriction; i++) {
        const perp__contact *c = &m->contact[i];
        for (int k = 0; k < 2; k++) keep(x, c->f[k]);
        for (int k = 0; k < 2 && c->kind == PERP__CONTACT_CONE; k++) keep(x, c->v[k]);
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++)
        if (m->item[PERP_VAR][v].scale != 0) x->may[v] = 0;
}

/* Put an unknown among the n that a var is made of. Returns how many these are, or that they are not few. */
static int include(int *list, int n, int symbol)
{
    for (int k = 0; k < n && k < FEW; k++)
        if (list[k] == symbol) return n;
    if (n < FEW) list[n] = symbol;
    return n < FEW ? n + 1 : FEW + 1;
}

enum { NEVER, NOT_YET, NOW };

/* Can var v be set to e, and of which unknowns is it made then? */
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
        if (count > FEW) answer = NEVER;
    }
    free(symbol);
    made_of[0] = count;
    return answer;
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
    x->assigned->var[n] = v, x->assigned->equation[n] = i;
    x->place[v] = x->assigned->n++;
    return 1;
}

int perp__assigned_find(perp__assigned *a, const perp_model *m)
{
    size_t nv = (size_t)m->nitem[PERP_VAR] + 1;
    search x = {.model = m, .assigned = a};
    char *done = calloc((size_t)m->nequation + 1, 1);
    a->n = 0;
    a->var = malloc(2 * nv * sizeof(int));
    x.meaning = malloc(((size_t)m->nsymbol + 2 * nv) * sizeof(int));
    x.made_of = malloc(nv * sizeof *x.made_of);
    int ok = done && a->var && x.meaning && x.made_of;
    if (ok) {
        a->equation = a->var + nv;
        x.place = x.meaning + m->nsymbol, x.may = x.place + nv;
        mark_symbols(&x);
        find_candidates(&x);
        for (int pass = 0, more = 1; pass < PASSES && more && !x.failed; pass++) {
            more = 0;
            for (int i = 0; i < m->nequation; i++)
                if (!done[i]) more |= study_equation(&x, i, &done[i]);
        }
    }
    free(done);
    free(x.meaning);
    free(x.made_of);
    return ok && !x.failed;
}
