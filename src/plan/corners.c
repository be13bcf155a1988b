/* Non-differentiable points that bend upwards in a cost or in a bounded expression: abs and max
 * that raise it, min that lowers it. Each becomes an unknown s of its point, with
 *
 *     s >= a, s >= -a  for abs(a),    s >= a, s >= b  for max(a, b),    s <= a, s <= b  for min(a, b),
 *
 * The cost presses s onto its value, and a condition only becomes stricter. So plans and minima are
 * the same, and the program is smooth. */

#include "plan/transcribe.h"

#include <math.h>
#include <stdlib.h>

/* If the block has more of them they stay in the expressions. */
enum { MOST_CORNERS = 64 };

/* The sign that an expression has wherever it has a value; 0: not known, or 0. */
static int sign_of(const perp__graph *g, perp_expr e)
{
    const perp__node *node = &g->node[e];
    int a;
    switch ((int)node->op) {
    case PERP__CONST: return (node->value > 0) - (node->value < 0);
    case PERP__EXP: return 1;
    case PERP__NEG: return -sign_of(g, node->a);
    case PERP__MUL:
    case PERP__DIV: a = sign_of(g, node->a); return a ? a * sign_of(g, node->b) : 0;
    default: return 0;
    }
}

/* A way down from a cost through sums and factors with a sign. What is shared is met again, so that
 * there is an end to it. */
enum { MOST_LOOKED_AT = 4000 };
typedef struct way {
    const perp__graph *graph;
    const int *column_of; /* of symbols; those below 0 do not move */
    int left, failed;
    int reading; /* of count: which symbols what is at hand has for the same unknowns */
} way;

static int has_none(way *u, perp_expr e)
{
    int kinks = perp__has_kinks(u->graph, e, u->column_of);
    if (kinks < 0) u->failed = 1;
    return kinks == 0;
}

/* Does e, multiplied by `sign`, have no corner but those that bend upwards? Of a factor that has no
 * sign yet either will do. */
static int bends_upwards(way *u, perp_expr e, int sign)
{
    const perp__node *node = &u->graph->node[e];
    int of;
    if (u->left-- <= 0) return 0;
    switch ((int)node->op) {
    case PERP__ADD: return bends_upwards(u, node->a, sign) && bends_upwards(u, node->b, sign);
    case PERP__SUB: return bends_upwards(u, node->a, sign) && bends_upwards(u, node->b, -sign);
    case PERP__NEG: return bends_upwards(u, node->a, -sign);
    case PERP__MUL:
        of = sign_of(u->graph, node->a);
        if (of) return bends_upwards(u, node->b, sign * of);
        /* fall through */
    case PERP__DIV:
        of = sign_of(u->graph, node->b);
        return of ? bends_upwards(u, node->a, sign * of) : has_none(u, e);
    case PERP__ABS: return sign > 0 && has_none(u, node->a);
    case PERP__MAX:
    case PERP__MIN:
        return (node->op == PERP__MAX) == (sign > 0) && bends_upwards(u, node->a, sign) &&
               bends_upwards(u, node->b, sign);
    default: return has_none(u, e);
    }
}

/* Corners that are met on the ways down from e and bend upwards; `seen` notes each node for either
 * sign and each reading. */
static int count(way *u, perp_expr e, int sign, unsigned char *seen)
{
    const perp__node *node = &u->graph->node[e];
    int bit = (sign > 0 ? 1 : 2) << 2 * u->reading, of, n = 0;
    if (seen[e] & bit) return 0;
    seen[e] |= (unsigned char)bit;
    switch ((int)node->op) {
    case PERP__ADD: return count(u, node->a, sign, seen) + count(u, node->b, sign, seen);
    case PERP__SUB: return count(u, node->a, sign, seen) + count(u, node->b, -sign, seen);
    case PERP__NEG: return count(u, node->a, -sign, seen);
    case PERP__MUL:
    case PERP__DIV:
        for (int i = 0; i < (node->op == PERP__MUL ? 2 : 1); i++) {
            of = sign_of(u->graph, i ? node->a : node->b);
            if (of >= 0) n += count(u, i ? node->b : node->a, sign, seen);
            if (of <= 0) n += count(u, i ? node->b : node->a, -sign, seen);
        }
        return n;
    case PERP__ABS:
    case PERP__MAX:
    case PERP__MIN:
        u->left = MOST_LOOKED_AT;
        if (!bends_upwards(u, e, sign)) return 0;
        return 1 + (node->op == PERP__ABS
                        ? 0
                        : count(u, node->a, sign, seen) + count(u, node->b, sign, seen));
    default: return 0;
    }
}

/* Costs and conditions are read at a row of a step, at the plan's start, between the ends of a
 * step, or where a phase begins. */
enum { WHERE_PHASES_BEGIN = 3 };

static int reading_of(const perp__plan_cost *cost, int is_weighted)
{
    if (cost->kind == PLAN_COST_INTEGRAL) return is_weighted ? 2 : 0;
    return cost->kind == PLAN_COST_AT && cost->where == PLAN_START;
}

/* Those of a condition, with its reading. An equation has none that may become an unknown. */
static int count_condition(way *u, const perp__plan_condition *c, int reading, unsigned char *seen)
{
    perp_expr side[2] = {c->lo, c->hi};
    int n = 0;
    u->reading = reading;
    for (int i = 0; i < 2 && c->lo != c->hi; i++) {
        int sign = i ? 1 : -1;
        if (side[i] >= 0) n += count(u, c->e, sign, seen) + count(u, side[i], -sign, seen);
    }
    return n;
}

int perp__plan_corners(const perp_model *m, int is_weighted)
{
    const perp__plan_block *b = m->plan;
    int n = 0, *moves = calloc((size_t)m->nsymbol + 1, sizeof *moves);
    unsigned char *seen = calloc((size_t)m->graph.count + 1, 1);
    way u = {.graph = &m->graph, .column_of = moves, .failed = !moves || !seen};
    /* what may be known counts as known: there is room then */
    for (int i = 0; i < PERP__SYM_FIRST && moves; i++) moves[i] = -1;
    for (int i = 0; i < m->nitem[PERP_PARAM] && moves; i++)
        moves[m->item[PERP_PARAM][i].symbol] = -1;
    for (int i = 0; i < m->nitem[PERP_INPUT] && moves; i++)
        if (m->item[PERP_INPUT][i].expr >= 0 || m->item[PERP_INPUT][i].table.n)
            moves[m->item[PERP_INPUT][i].symbol] = -1;
    for (int i = 0; i < b->ncost && !u.failed; i++) {
        u.reading = reading_of(&b->cost[i], is_weighted);
        for (int sign = 1; sign >= -1 && b->cost[i].kind != PLAN_COST_TIME; sign -= 2)
            if (sign_of(&m->graph, b->cost[i].weight) != -sign)
                n += count(&u, b->cost[i].e, sign, seen);
    }
    for (int i = 0; i < b->ncondition && !u.failed; i++) {
        const perp__plan_condition *c = &b->condition[i];
        n += count_condition(&u, c, c->where == PLAN_START, seen);
        if (c->where == PLAN_ALWAYS) n += count_condition(&u, c, WHERE_PHASES_BEGIN, seen);
    }
    free(seen);
    free(moves);
    if (u.failed) return -1;
    if (n <= MOST_CORNERS) return n;
    return 0;
}

/* The unknown of a corner is one at steps first .. last - 1. */
static void let_move(perp__program *g, const perp__plan_corner *corner, int first, int last)
{
    size_t K = (size_t)g->K;
    for (int k = first; k < last; k++) {
        if (g->bound.rlo[(size_t)corner->row[0] * K + (size_t)k] == 0)
            continue; /* it is, and may be bounded */
        g->bound.wlo[(size_t)corner->w * K + (size_t)k] = -INFINITY;
        g->bound.whi[(size_t)corner->w * K + (size_t)k] = INFINITY;
        for (int i = 0; i < 2; i++) g->bound.rlo[(size_t)corner->row[i] * K + (size_t)k] = 0;
    }
}

/* Where corners are met: in a cost or condition at a point of steps first .. last - 1. */
typedef struct lifter {
    perp__transcriber *t;
    const char *text; /* of it */
    int at;           /* in the model's text */
    int point, first, last;
    int left; /* expressions that may still be looked at: those that are shared are met again */
} lifter;

/* One of the two rows that hold the unknown above (or below) what it stands for. */
static int add_side(const lifter *u, perp_expr s, perp_expr of, int sign)
{
    perp__graph *graph = u->t->graph;
    perp_expr room = sign > 0 ? perp__sub(graph, s, of) : perp__sub(graph, of, s);
    return perp__add_row(u->t, room, -INFINITY, INFINITY, u->text, u->at, PERP__OF_CORNER);
}

/* Symbols of the program that are unknowns. Returns 0: memory. */
static int find_columns(perp__transcriber *t)
{
    const perp__program *g = t->program;
    int n = g->sym.n + 2 * g->nx;
    if (t->column_of) return 1;
    t->column_of = malloc(((size_t)n + 1) * sizeof *t->column_of);
    for (int s = 0; t->column_of && s < n; s++) t->column_of[s] = s < g->sym.ncol ? s : -1;
    return t->column_of != NULL;
}

/* Is it a corner of unknowns that bends upwards? */
static int is_lifted(lifter *u, perp_expr e, int sign)
{
    perp__transcriber *t = u->t;
    way down = {.graph = t->graph, .column_of = t->column_of, .left = MOST_LOOKED_AT};
    int is = !has_none(&down, e) && bends_upwards(&down, e, sign);
    if (down.failed) t->failed = 1;
    return is;
}

static perp_expr lift(lifter *u, perp_expr e, int sign);

/* The unknown that stands for a corner, which may have been met before; the corner itself where
 * there is no room for one. */
static perp_expr unknown_of(lifter *u, perp_expr e, int sign)
{
    perp__transcriber *t = u->t;
    perp__program *g = t->program;
    perp__node node = t->graph->node[e];
    int is_abs = node.op == PERP__ABS, own = 0, i = 0;
    perp_expr a = is_abs ? node.a : lift(u, node.a, sign),
              b = is_abs ? perp__neg(t->graph, node.a) : lift(u, node.b, sign);
    for (; i < g->corner.n && g->corner.of[i].e != e; i++) own += g->corner.of[i].point == u->point;
    if (i == g->corner.n) {
        if (own == g->corner.most || t->failed) return e;
        int w = u->point * g->nb + g->corner.first + own;
        perp_expr s = perp__symbol(t->graph, g->nx + w);
        int first = add_side(u, s, a, sign), second = add_side(u, s, b, sign);
        if (t->failed) return e;
        g->corner.of[g->corner.n++] = (perp__plan_corner){e, w, {first, second}, u->point, sign};
    }
    let_move(g, &g->corner.of[i], u->first, u->last);
    return perp__symbol(t->graph, g->nx + g->corner.of[i].w);
}

/* `e` with unknowns for the corners that bend upwards where e is multiplied by `sign`. */
static perp_expr lift(lifter *u, perp_expr e, int sign)
{
    perp__graph *g = u->t->graph;
    perp__node node = g->node[e];
    int of_a, of_b;
    perp_expr a;
    if (u->left-- <= 0) return e;
    switch ((int)node.op) {
    case PERP__ADD: a = lift(u, node.a, sign); return perp__add(g, a, lift(u, node.b, sign));
    case PERP__SUB: a = lift(u, node.a, sign); return perp__sub(g, a, lift(u, node.b, -sign));
    case PERP__NEG: return perp__neg(g, lift(u, node.a, -sign));
    case PERP__MUL:
        of_a = sign_of(g, node.a);
        of_b = sign_of(g, node.b);
        if (of_a) return perp__mul(g, node.a, lift(u, node.b, sign * of_a));
        return of_b ? perp__mul(g, lift(u, node.a, sign * of_b), node.b) : e;
    case PERP__DIV:
        of_b = sign_of(g, node.b);
        return of_b ? perp__div(g, lift(u, node.a, sign * of_b), node.b) : e;
    case PERP__ABS:
    case PERP__MAX:
    case PERP__MIN: return is_lifted(u, e, sign) ? unknown_of(u, e, sign) : e;
    default: return e;
    }
}

perp_expr perp__lift_corners(perp__transcriber *t, perp_expr e, double weight, const char *text,
                             int at, int point, int first, int last)
{
    lifter u = {t, text, at, point, first, last, MOST_LOOKED_AT};
    if (t->program->corner.most == 0 || weight == 0 || t->failed) return e;
    if (!find_columns(t)) {
        t->failed = 1;
        return e;
    }
    return lift(&u, e, weight > 0 ? 1 : -1);
}

void perp__program_close_corners(perp__program *g, double *w, const double *p, double *r)
{
    size_t K = (size_t)g->K;
    double cost;
    for (int i = 0; i < g->corner.n; i++) { /* what is within others came first */
        const perp__plan_corner *c = &g->corner.of[i];
        perp__program_values(g, NULL, w, p, r, &cost);
        for (size_t k = 0; k < K; k++) {
            size_t at = (size_t)c->w * K + k;
            double room = fmin(r[(size_t)c->row[0] * K + k], r[(size_t)c->row[1] * K + k]);
            if (g->bound.wlo[at] < g->bound.whi[at] && isfinite(room)) w[at] -= c->sign * room;
        }
    }
}
