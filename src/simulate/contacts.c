/* Contacts stated by positions, 0 <= force perp gap(x) >= 0, under a weighted method: their pairs,
 * the equations for the positions in their gaps, and whether one is closed. With theta < 1 a
 * closing contact would get the velocity 2 (x1 - x0)/h - v0, a rebound of up to its speed;
 * docs/adr/009. */

#include "simulate/step.h"

#include <stdlib.h>

/* What is known of the model's symbols. */
typedef struct study {
    const perp_model *model;
    /* symbol of a state: an equation with its derivative has a var, it is a velocity */
    char *moves_by_vars;
    char *is_var;    /* symbol -> is it a var? */
    char *read;      /* symbol of a state -> a gap reads it */
    int *defined_by; /* symbol of a var -> the equation `var = ...`, or -1 */
    int *now, *rate; /* symbol -> the state that it is, or whose derivative; or -1 */
    int *visited;    /* var symbol -> the last gap that reads it */
    int gaps;        /* so far */
    int failed;
} study;

/* Symbols that the expressions are made of: an array of *count, which the caller frees. */
static int *symbols_of(study *s, const perp_expr *roots, int nroots, int *count)
{
    const perp__graph *g = &s->model->graph;
    int n, *reach = perp__graph_reach(g, roots, nroots, &n);
    *count = 0;
    for (int k = 0; reach && k < n; k++) {
        if (g->node[reach[k]].op == PERP__SYMBOL) reach[(*count)++] = g->node[reach[k]].a;
    }
    if (!reach) s->failed = 1;
    return reach;
}

static void study_equation(study *s, int equation)
{
    const perp_model *m = s->model;
    const perp__equation *e = &m->equation[equation];
    const perp_expr sides[] = {e->left, e->right};
    int n, has_var = 0, has_rate = 0, *symbol = symbols_of(s, sides, 2, &n);
    for (int k = 0; k < n; k++) {
        has_var |= s->is_var[symbol[k]];
        has_rate |= s->rate[symbol[k]] >= 0;
    }
    for (int k = 0; k < n && has_var; k++) {
        int i = s->rate[symbol[k]];
        if (i >= 0) s->moves_by_vars[m->item[PERP_STATE][i].symbol] = 1;
    }
    for (int side = 0; side < 2 && !has_rate; side++) {
        const perp__node *node = &m->graph.node[sides[side]];
        if (node->op == PERP__SYMBOL && s->is_var[node->a] && s->defined_by[node->a] < 0)
            s->defined_by[node->a] = equation;
    }
    free(symbol);
}

/* Is an expression made of positions alone, the vars in it replaced by what defines them? Marks the
 * states if asked. */
static int reads_positions(study *s, perp_expr root, int equation, int mark, int *positions)
{
    const perp_model *m = s->model;
    perp_expr roots[2] = {root, root};
    if (equation >= 0) {
        roots[0] = m->equation[equation].left;
        roots[1] = m->equation[equation].right;
    }
    int n, ok = 1, *symbol = symbols_of(s, roots, 2, &n);
    for (int k = 0; k < n && ok; k++) {
        int at = symbol[k];
        if (s->now[at] >= 0) {
            ok = !s->moves_by_vars[at];
            *positions += ok;
            if (mark) s->read[at] = 1;
        }
        if (!ok || !s->is_var[at] || s->visited[at] == s->gaps) continue;
        s->visited[at] = s->gaps;
        ok = s->defined_by[at] >= 0 && reads_positions(s, root, s->defined_by[at], mark, positions);
    }
    free(symbol);
    return ok;
}

static int is_gap(study *s, perp_expr side, int mark)
{
    int positions = 0;
    s->gaps++;
    return reads_positions(s, side, -1, mark, &positions) && positions > 0;
}

/* Mark the equations with the derivative of a state that a gap reads. */
static void mark_equations(study *s, perp__layout *l)
{
    const perp_model *m = s->model;
    for (int i = 0; i < m->nequation; i++) {
        const perp_expr sides[] = {m->equation[i].left, m->equation[i].right};
        int n, *symbol = symbols_of(s, sides, 2, &n);
        for (int k = 0; k < n; k++) {
            int x = s->rate[symbol[k]];
            if (x >= 0 && s->read[m->item[PERP_STATE][x].symbol]) l->gaps.damped[i] = 1;
        }
        free(symbol);
    }
}

/* What each symbol is. */
static void name_symbols(study *s, size_t n)
{
    const perp_model *m = s->model;
    s->is_var = s->moves_by_vars + n;
    s->read = s->is_var + n;
    s->now = s->defined_by + n;
    s->rate = s->now + n;
    s->visited = s->rate + n;
    for (size_t k = 0; k < n; k++) {
        s->defined_by[k] = s->now[k] = s->rate[k] = -1;
        s->visited[k] = 0;
    }
    for (int v = 0; v < m->nitem[PERP_VAR]; v++) s->is_var[m->item[PERP_VAR][v].symbol] = 1;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int symbol = m->item[PERP_STATE][i].symbol;
        s->now[symbol + PERP__NOW] = s->rate[symbol + PERP__DER] = i;
    }
}

static int begin_study(study *s, const perp_model *m)
{
    size_t n = (size_t)m->nsymbol + 1;
    *s = (study){.model = m};
    s->moves_by_vars = calloc(3 * n, 1);
    s->defined_by = malloc(4 * n * sizeof(int));
    if (!s->moves_by_vars || !s->defined_by) return 0;
    name_symbols(s, n);
    for (int i = 0; i < m->nequation; i++) study_equation(s, i);
    return 1;
}

static void end_study(study *s)
{
    free(s->moves_by_vars);
    free(s->defined_by);
}

/* Which side of a pair is a gap: 1 or 2, else 0. */
static char side_of_gap(study *s, const perp__pair *pair)
{
    if (pair->two_sided) return 0;
    if (is_gap(s, pair->a, 0)) return 1;
    return is_gap(s, pair->b, 0) ? 2 : 0;
}

int perp__contacts_find(perp__layout *l, const perp_model *m)
{
    study s;
    l->gaps.side = calloc((size_t)m->npair + 1, 1);
    l->gaps.damped = calloc((size_t)m->nequation + 1, 1);
    if (!l->gaps.side || !l->gaps.damped) return 0;
    if (l->scheme.theta >= 1 || m->kind != PERP_CONTINUOUS) return 1;
    int ok = begin_study(&s, m);
    for (int i = 0; ok && i < m->npair; i++) {
        const perp__pair *pair = &m->pair[i];
        char side = side_of_gap(&s, pair);
        if (!side) continue;
        is_gap(&s, side == 1 ? pair->a : pair->b, 1);
        l->gaps.side[i] = side;
        l->gaps.n++;
    }
    if (ok && l->gaps.n) mark_equations(&s, l);
    end_study(&s);
    return ok && !s.failed;
}

static int has_rate(study *s, int equation)
{
    const perp_expr sides[] = {s->model->equation[equation].left,
                               s->model->equation[equation].right};
    int n, found = 0, *symbol = symbols_of(s, sides, 2, &n);
    for (int k = 0; k < n; k++) found |= s->rate[symbol[k]] >= 0;
    free(symbol);
    return found;
}

int perp__positions_find(const perp_model *m, char *side, char *equation)
{
    study s;
    int ok = begin_study(&s, m);
    for (int i = 0; ok && i < m->npair; i++) side[i] = side_of_gap(&s, &m->pair[i]);
    for (int i = 0; ok && i < m->nequation; i++) {
        int positions = 0;
        s.gaps++;
        equation[i] =
            (char)(!has_rate(&s, i) && reads_positions(&s, 0, i, 0, &positions) && positions > 0);
    }
    end_study(&s);
    return ok && !s.failed;
}

int perp__contacts_closed(const perp__step *s)
{
    const perp__layout *l = s->layout;
    const int *out = l->tape.check.out + 2 * l->nown;
    for (int i = 0; i < s->model->npair; i++) {
        int force = l->gaps.side[i] == 1 ? 1 : 0; /* of the check's a and b */
        if (l->gaps.side[i] && s->ws[out[force]] > 0) return 1;
        out += s->model->pair[i].two_sided ? 4 : 2;
    }
    return 0;
}
