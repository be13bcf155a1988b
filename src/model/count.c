/* Is a model well posed in form? Every unknown must be in some condition, and unknowns and
 * conditions must match one to one. Surplus ones are named. */

#include "model/model.h"

#include <limits.h>
#include <stdlib.h>

/* The unknowns of each condition, a list each. Conditions are the equations, then the pairs;
 * unknowns the states, then the vars. */
typedef struct incidence {
    int ncondition, nunknown;
    int *start, *unknown; /* of condition i: unknown[start[i]] .. unknown[start[i+1]-1] */
} incidence;

static int read_incidence(perp_model *m, incidence *in)
{
    int ns = m->nitem[PERP_STATE], nv = m->nitem[PERP_VAR], capacity = 0, total = 0, ok = 0;
    in->ncondition = m->nequation + m->npair;
    in->nunknown = ns + nv;
    int *of_symbol = malloc(((size_t)m->nsymbol + 1) * sizeof *of_symbol);
    int *last = malloc(((size_t)in->nunknown + 1) * sizeof *last);
    in->start = malloc(((size_t)in->ncondition + 2) * sizeof *in->start);
    in->unknown = NULL;
    if (!of_symbol || !last || !in->start) goto done;
    for (int s = 0; s < m->nsymbol; s++) of_symbol[s] = -1;
    for (int i = 0; i < ns; i++) {
        int s = m->item[PERP_STATE][i].symbol;
        if (m->kind == PERP_DISCRETE)
            of_symbol[s + PERP__NEXT] = i;
        else
            of_symbol[s + PERP__NOW] = of_symbol[s + PERP__DER] = i;
    }
    for (int i = 0; i < nv; i++) of_symbol[m->item[PERP_VAR][i].symbol] = ns + i;
    for (int i = 0; i < in->nunknown; i++) last[i] = -1;

    in->start[0] = 0;
    for (int i = 0; i < in->ncondition; i++) {
        const perp__pair *p = i < m->nequation ? NULL : &m->pair[i - m->nequation];
        const perp__equation *e = p ? NULL : &m->equation[i];
        perp_expr roots[4] = {p ? p->a : e->left, p ? p->b : e->right, p ? p->lo : e->left,
                              p ? p->hi : e->left};
        int n;
        int *reach = perp__graph_reach(&m->graph, roots, 4, &n);
        if (!reach) goto done;
        for (int k = 0; k < n; k++) {
            const perp__node *node = &m->graph.node[reach[k]];
            int u = node->op == PERP__SYMBOL ? of_symbol[node->a] : -1;
            if (u < 0 || last[u] == i) continue;
            last[u] = i;
            if (!perp__grow(&in->unknown, &capacity, total + 1, sizeof *in->unknown)) {
                free(reach);
                goto done;
            }
            in->unknown[total++] = u;
        }
        free(reach);
        in->start[i + 1] = total;
    }
    ok = 1;
done:
    free(of_symbol);
    free(last);
    return ok;
}

/* Which condition has which unknown. The rest is scratch of a search: a queue of conditions, the
 * condition that met an unknown first, and the search that did. */
typedef struct matching {
    int *owner, *owned; /* of an unknown its condition, of a condition its unknown; or -1 */
    int *queue, *met_by, *mark;
    int search;
} matching;

/* Find an unknown for condition i along a shortest augmenting path. Breadth first, so a search
 * stays near the condition in a local model, and the whole is nearly linear. Nodes of a search
 * without success lead to no free unknown later either. So they are not visited again. */
static int augment(const incidence *in, int i, matching *m)
{
    int first = 0, last = 0;
    m->search++;
    m->queue[last++] = i;
    while (first < last) {
        int c = m->queue[first++];
        for (int k = in->start[c]; k < in->start[c + 1]; k++) {
            int u = in->unknown[k];
            if (m->mark[u] >= m->search) continue;
            m->mark[u] = m->search;
            m->met_by[u] = c;
            if (m->owner[u] >= 0) {
                m->queue[last++] = m->owner[u];
                continue;
            }
            for (int before; u >= 0; u = before) { /* each condition on the path moves on */
                c = m->met_by[u];
                before = m->owned[c];
                m->owner[u] = c;
                m->owned[c] = u;
            }
            return 1;
        }
    }
    while (last > 0) {
        int c = m->queue[--last];
        for (int k = in->start[c]; k < in->start[c + 1]; k++) m->mark[in->unknown[k]] = INT_MAX;
    }
    return 0;
}

static const perp__item *unknown_item(const perp_model *m, int u)
{
    int ns = m->nitem[PERP_STATE];
    return u < ns ? &m->item[PERP_STATE][u] : &m->item[PERP_VAR][u - ns];
}

static int condition_place(const perp_model *m, int i, const char **text)
{
    *text = i < m->nequation ? m->equation[i].text : m->pair[i - m->nequation].text;
    return i < m->nequation ? m->equation[i].at : m->pair[i - m->nequation].at;
}

/* Say where the rate of one state is given twice, der(x) = ...; 1 if it is somewhere. */
static int report_rates_given_twice(perp_model *m)
{
    int *by = calloc((size_t)m->nsymbol + 1, sizeof *by), said = 0; /* the equation, from 1 */
    int is_discrete = m->kind == PERP_DISCRETE, rate = is_discrete ? PERP__NEXT : PERP__DER;
    for (int s = 0; by && s < m->nitem[PERP_STATE]; s++) {
        const perp__item *state = &m->item[PERP_STATE][s];
        by[state->symbol + rate] = -1;
    }
    for (int i = 0; by && i < m->nequation && said < 10; i++) {
        const perp__equation *e = &m->equation[i];
        const perp__node *left = &m->graph.node[e->left];
        int *first = left->op == PERP__SYMBOL ? &by[left->a] : NULL;
        if (!first || *first == 0) continue;
        if (*first < 0) {
            *first = i + 1;
            continue;
        }
        const perp__equation *other = &m->equation[*first - 1];
        int line = (int)perp__source_place(&m->source, other->at).line;
        perp__error(&m->source, e->at, e->at + 1,
                    "a second equation for the same %s: line %d has '%s'",
                    is_discrete ? "next value" : "rate", line, other->text);
        said++;
    }
    free(by);
    return said > 0;
}

static void report_left_over(perp_model *m, const int *owner, const int *owned, const incidence *in)
{
    for (int u = 0, said = 0; u < in->nunknown && said < 10; u++) {
        if (owner[u] >= 0) continue;
        const perp__item *item = unknown_item(m, u);
        perp__error(&m->source, item->at, item->end,
                    "nothing determines '%s': the model has %d %s (states and vars) and %d "
                    "%s",
                    item->name, in->nunknown, in->nunknown == 1 ? "unknown" : "unknowns",
                    in->ncondition,
                    in->ncondition == 1 ? "equation or pair" : "equations and pairs");
        said++;
    }
    int is_left = 0;
    for (int i = 0; i < in->ncondition; i++) is_left |= owned[i] < 0;
    if (is_left && report_rates_given_twice(m)) return;
    for (int i = 0, said = 0; i < in->ncondition && said < 10; i++) {
        if (owned[i] >= 0) continue;
        const char *text;
        int at = condition_place(m, i, &text);
        perp__error(&m->source, at, at + 1,
                    "this %s is left over: the model has %d %s (states and vars) and %d "
                    "%s",
                    i < m->nequation ? "equation" : "pair", in->nunknown,
                    in->nunknown == 1 ? "unknown" : "unknowns", in->ncondition,
                    in->ncondition == 1 ? "equation or pair" : "equations and pairs");
        said++;
    }
}

int perp__check_count(perp_model *m)
{
    incidence in;
    int ok = 0;
    if (!read_incidence(m, &in)) {
        free(in.start);
        free(in.unknown);
        return 0;
    }
    size_t nc = (size_t)in.ncondition + 1, nu = (size_t)in.nunknown + 1;
    int *room = malloc((2 * nc + 3 * nu) * sizeof *room);
    if (!room) goto done;
    matching match = {room, room + nu, room + nu + nc, room + nu + 2 * nc, room + 2 * nu + 2 * nc,
                      0};
    int unused = 0, left = 0;
    for (int u = 0; u < in.nunknown; u++) match.owner[u] = match.mark[u] = -1;
    for (int i = 0; i < in.ncondition; i++) match.owned[i] = -1;
    for (int k = 0; k < in.start[in.ncondition]; k++) match.owner[in.unknown[k]] = 0;
    for (int u = 0; u < in.nunknown; u++) {
        const perp__item *item = unknown_item(m, u);
        if (match.owner[u] < 0) {
            int is_state = u < m->nitem[PERP_STATE];
            perp__error(&m->source, item->at, item->end,
                        is_state
                            ? "state '%s' has no equation; expected one with der(%s) or next(%s)"
                            : "var '%s' is never used; it needs an equation or a pair",
                        item->name, item->name, item->name);
            unused++;
        }
        match.owner[u] = -1;
    }
    for (int i = 0; i < in.ncondition; i++) left += !augment(&in, i, &match);
    for (int u = 0; u < in.nunknown; u++) left += match.owner[u] < 0;
    if (left && !unused) report_left_over(m, match.owner, match.owned, &in);
    ok = 1;
done:
    free(room);
    free(in.start);
    free(in.unknown);
    return ok;
}
