/* Contacts beyond the text: the normal force that the bound of friction is a multiple of, and
 * friction written as pairs by hand. Expressions are compared by their form, as sums of products;
 * nothing is evaluated. */

#include "base/tol.h"
#include "model/builder.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 64 }; /* terms of a sum, factors of a product */

/* Sums of products ---------------------------------------------------------------------------- */

static int ascending(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

/* e as *c times other factors, whose product is made anew in one order: equal ones are one node.
 * Factors that are not `kept` (by node; NULL: all are) are left out, and max(x, 0) then counts as
 * x. Returns -1 if there are too many. */
static perp_expr product_of(perp__graph *g, perp_expr e, const char *kept, double *c)
{
    int open[MOST] = {2 * e}, factor[MOST], nopen = 1, n = 0; /* 2 node, + 1 where it divides */
    *c = 1;
    while (nopen > 0 && nopen < MOST && n < MOST) {
        int at = open[--nopen], under = at % 2;
        perp__node node = g->node[at / 2];
        if (node.op == PERP__CONST) {
            *c = under ? *c / node.value : *c * node.value;
        } else if (kept && node.op == PERP__MAX && perp__is_const(g, node.a, 0)) {
            open[nopen++] = 2 * node.b + under;
        } else if (node.op == PERP__NEG || node.op == PERP__MUL || node.op == PERP__DIV) {
            if (node.op == PERP__NEG) *c = -*c;
            open[nopen++] = 2 * node.a + under;
            if (node.op != PERP__NEG) open[nopen++] = 2 * node.b + (under ^ (node.op == PERP__DIV));
        } else if (!kept || kept[at / 2]) {
            int turned = node.op == PERP__SUB && node.a > node.b; /* -(b - a) */
            if (turned) *c = -*c;
            factor[n++] = turned ? 2 * perp__sub(g, node.b, node.a) + under : at;
        }
    }
    if (nopen > 0) return -1;
    qsort(factor, (size_t)n, sizeof *factor, ascending);
    perp_expr product = perp__const(g, 1);
    for (int i = 0; i < n; i++)
        product = perp__binary(g, factor[i] % 2 ? PERP__DIV : PERP__MUL, product, factor[i] / 2);
    return product;
}

typedef struct sum {
    int n;
    perp_expr term[MOST];
    int sign[MOST];
} sum;

/* Add the terms of e, or of -e. Where there are too many, some stay sums. Returns 0 if there is no
 * room at all. */
static int add_terms(const perp__graph *g, perp_expr e, int sign, sum *s)
{
    int i = s->n;
    if (i == MOST) return 0;
    s->term[i] = e;
    s->sign[s->n++] = sign;
    while (i < s->n && s->n < MOST) {
        const perp__node *node = &g->node[s->term[i]];
        if (node->op == PERP__ADD || node->op == PERP__SUB) {
            s->term[s->n] = node->b;
            s->sign[s->n++] = node->op == PERP__ADD ? s->sign[i] : -s->sign[i];
            s->term[i] = node->a;
        } else if (node->op == PERP__NEG) {
            s->term[i] = node->a;
            s->sign[i] = -s->sign[i];
        } else {
            i++;
        }
    }
    return 1;
}

static int has_term(const sum *s, int from, perp_expr term, int sign)
{
    int i = from;
    while (i < s->n && !(s->term[i] == term && s->sign[i] == sign)) i++;
    return i < s->n;
}

static int terms_cancel(perp__graph *g, perp_expr x, perp_expr y, int sign)
{
    double a, b;
    if (x == y && sign < 0) return 1;
    perp_expr p = product_of(g, x, NULL, &a);
    return p >= 0 && p == product_of(g, y, NULL, &b) &&
           fabs(a + sign * b) <= PERP_TOL_CANCEL * fabs(a);
}

/* Does each term cancel with another one? */
static int is_zero(perp__graph *g, const sum *s)
{
    char spent[MOST] = {0};
    for (int i = 0; i < s->n; i++) {
        int k = i + 1;
        if (spent[i]) continue;
        while (k < s->n &&
               (spent[k] || !terms_cancel(g, s->term[i], s->term[k], s->sign[i] * s->sign[k])))
            k++;
        if (k == s->n) return 0;
        spent[k] = 1;
    }
    return 1;
}

/* Normals ------------------------------------------------------------------------------------- */

/* Which nodes read an unknown of the step? `symbol` is scratch, zeros. */
static void mark_unknowns(const perp_model *m, char *symbol, char *reads)
{
    int rate = m->kind == PERP_DISCRETE ? PERP__NEXT : PERP__DER,
        now = m->kind == PERP_DISCRETE ? PERP__NEXT : PERP__NOW;
    for (int i = 0; i < m->nitem[PERP_VAR]; i++) symbol[m->item[PERP_VAR][i].symbol] = 1;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int first = m->item[PERP_STATE][i].symbol;
        symbol[first + now] = symbol[first + rate] = 1;
    }
    for (int e = 0; e < m->graph.count; e++) {
        const perp__node *node = &m->graph.node[e];
        int is_leaf = node->op == PERP__CONST || node->op == PERP__SYMBOL;
        reads[e] = is_leaf ? node->op == PERP__SYMBOL && symbol[node->a]
                           : reads[node->a] || (perp__op_arity(node->op) == 2 && reads[node->b]);
    }
}

/* What a pair keeps from being negative on this side. */
static perp_expr side_of(perp__graph *g, const perp__pair *pair, int side)
{
    if (!pair->two_sided) return side ? pair->b : pair->a;
    return side ? perp__sub(g, pair->hi, pair->a) : perp__sub(g, pair->a, pair->lo);
}

/* Remove terms that cancel: the bound of a split is written as the remainder plus p, plus q. */
static void cancel(sum *s)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = i + 1; k < s->n; k++) {
            if (s->term[i] != s->term[k] || s->sign[i] == s->sign[k]) continue;
            s->n -= 2;
            for (int j = i; j < s->n; j++) {
                int from = j + 1 < k ? j + 1 : j + 2;
                s->term[j] = s->term[from];
                s->sign[j] = s->sign[from];
            }
            i--;
            break;
        }
    }
}

/* What of e reads unknowns, as a product; -1: nothing. Of a sum whose terms have that in common,
 * what they have. */
static perp_expr core_of(perp__graph *g, perp_expr e, const char *reads)
{
    sum s = {.n = 0};
    double c;
    if (!reads[e] || !add_terms(g, e, 1, &s)) return -1;
    cancel(&s);
    if (s.n == 0) return -1;
    perp_expr core = product_of(g, s.term[0], reads, &c);
    for (int i = 1; i < s.n; i++)
        if (product_of(g, s.term[i], reads, &c) != core) return product_of(g, e, reads, &c);
    return core;
}

/* Each contact's normal: the first side of a pair with the core of its bound. */
static int find_normals(perp_model *m)
{
    perp__graph *g = &m->graph;
    int nside = 2 * m->npair, n = nside + m->ncontact, *first = NULL;
    perp_expr *core = malloc(((size_t)n + 1) * sizeof *core);
    for (int i = 0; i < n && core; i++)
        core[i] = i < nside ? side_of(g, &m->pair[i / 2], i % 2) : m->contact[i - nside].bound;
    char *reads = calloc((size_t)g->count + (size_t)m->nsymbol, 1);
    if (core && reads) mark_unknowns(m, reads + g->count, reads);
    for (int i = 0; i < n && core && reads; i++) core[i] = core_of(g, core[i], reads);
    if (core && reads) first = calloc((size_t)g->count, sizeof *first); /* 1 + the side; 0: none */
    for (int i = nside - 1; i >= 0 && first; i--)
        if (core[i] >= 0) first[core[i]] = i + 1;
    for (int i = 0; i < m->ncontact && first; i++) {
        int side = core[nside + i] < 0 ? -1 : first[core[nside + i]] - 1;
        if (side >= 0) {
            m->contact[i].normal = side / 2;
            m->contact[i].side = side % 2;
        }
    }
    int ok = first != NULL;
    free(core);
    free(reads);
    free(first);
    return ok;
}

/* Friction by hand ---------------------------------------------------------------------------- */

/* The symbol that is pair i's first side, if it is one-sided; -1. */
static int force_symbol(const perp_model *m, int i)
{
    const perp__node *node = &m->graph.node[m->pair[i].a];
    return !m->pair[i].two_sided && node->op == PERP__SYMBOL ? node->a : -1;
}

/* A contact of one direction that these pairs state (the last of them first). */
static void recognised(perp__builder *b, perp__contact_kind kind, perp_expr f, perp_expr v,
                       perp_expr bound, const int *pair, int npair)
{
    perp_model *m = b->model;
    const perp__pair *last = &m->pair[pair[0]];
    perp__contact *c =
        perp__add_contact(b, (perp__contact){.kind = kind,
                                             .n = 1,
                                             .f = {f, f},
                                             .v = {v, v},
                                             .bound = bound,
                                             .guard = last->guard,
                                             .pair = pair[0],
                                             .equation = -1,
                                             .force = {pair[npair / 2], pair[npair - 1]},
                                             .at = last->at,
                                             .text = last->text});
    for (int i = 0; i < npair && c; i++) m->pair[pair[i]].contact = m->ncontact - 1;
}

/* lo <= f <= hi perp v with lo = -hi. */
static void recognise_line(perp__builder *b, int i)
{
    const perp__pair *p = &b->model->pair[i];
    sum s = {.n = 0};
    if (add_terms(b->graph, p->lo, 1, &s) && add_terms(b->graph, p->hi, 1, &s) &&
        is_zero(b->graph, &s))
        recognised(b, PERP__CONTACT_LINE, p->a, p->b, p->hi, &i, 1);
}

/* Pair k as the last of a split, 0 <= s perp bound - p - q >= 0 (references: the traditional
 * formulation): p and q are first sides of pairs whose second sides are s + v and s - v.
 * by_force[symbol]: the pair whose first side it is, or -1. */
static void recognise_split(perp__builder *b, int k, const int *by_force)
{
    perp_model *m = b->model;
    perp__graph *g = b->graph;
    perp_expr slip = m->pair[k].a;
    sum last = {.n = 0}, sides = {.n = 0};
    int pair[3] = {k}, n = 1;
    if (!add_terms(g, m->pair[k].b, 1, &last)) return;
    for (int t = 0; t < last.n; t++) {
        const perp__node *node = &g->node[last.term[t]];
        int is_force = last.sign[t] < 0 && node->op == PERP__SYMBOL;
        int i = is_force ? by_force[node->a] : -1, before = sides.n;
        if (i < 0 || m->pair[i].guard != m->pair[k].guard) continue;
        if (!add_terms(g, m->pair[i].b, 1, &sides)) return;
        int counts = has_term(&sides, before, slip, 1);
        if (counts && n == 3) return;
        if (counts)
            pair[n++] = i;
        else
            sides.n = before;
    }
    if (n < 3 || !add_terms(g, slip, -1, &sides) || !add_terms(g, slip, -1, &sides) ||
        !is_zero(g, &sides))
        return;
    if (pair[1] > pair[2]) {
        n = pair[1];
        pair[1] = pair[2];
        pair[2] = n;
    }
    const perp__pair *p = &m->pair[pair[1]], *q = &m->pair[pair[2]];
    perp_expr f = perp__sub(g, p->a, q->a),
              v = perp__div(g, perp__sub(g, p->b, q->b), perp__const(g, 2)),
              bound = perp__add(g, perp__add(g, m->pair[k].b, p->a), q->a);
    recognised(b, PERP__CONTACT_SPLIT, f, v, bound, pair, 3);
}

void perp__recognise_contacts(perp__builder *b)
{
    perp_model *m = b->model;
    int *by_force = malloc(((size_t)m->nsymbol + 1) * sizeof *by_force);
    for (int s = 0; s < m->nsymbol && by_force; s++) by_force[s] = -1;
    for (int i = 0; i < m->npair && by_force; i++)
        if (force_symbol(m, i) >= 0) by_force[force_symbol(m, i)] = i;
    for (int i = 0; i < m->npair && by_force; i++) {
        if (m->pair[i].contact >= 0) continue;
        if (m->pair[i].two_sided)
            recognise_line(b, i);
        else if (force_symbol(m, i) >= 0)
            recognise_split(b, i, by_force);
    }
    if (!by_force || (m->ncontact > 0 && !find_normals(m))) b->failed = 1;
    free(by_force);
}
