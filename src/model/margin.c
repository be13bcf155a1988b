/* A guard a <= b includes its bound, up to the rounding of a and b. So rounding does not decide
 * it. */

#include "model/graph.h"

#include "base/arena.h"
#include "base/tol.h"

#include <stdlib.h>

/* Products within products are looked into so far. */
enum { DEEP = 6 };

static perp_expr size_of(perp__graph *g, perp_expr e, int deep);

static perp_expr magnitude(perp__graph *g, perp_expr e)
{
    return perp__unary(g, PERP__ABS, e);
}

static int is_sum(const perp__graph *g, perp_expr e)
{
    int op = g->node[e].op;
    return op == PERP__ADD || op == PERP__SUB;
}

/* |a| size(b) + |b| size(a); of a product without sums what it is, half of that. */
static perp_expr size_of_product(perp__graph *g, perp_expr e, int deep)
{
    const perp__node node = g->node[e];
    if (deep == DEEP || (!is_sum(g, node.a) && !is_sum(g, node.b))) return magnitude(g, e);
    return perp__add(g, perp__mul(g, magnitude(g, node.a), size_of(g, node.b, deep + 1)),
                     perp__mul(g, magnitude(g, node.b), size_of(g, node.a, deep + 1)));
}

/* What a change of the symbols in e by a part of themselves changes e by, as a multiple of that
 * part; of functions, their value. */
static perp_expr size_of(perp__graph *g, perp_expr e, int deep)
{
    const perp__node node = g->node[e];
    switch (node.op) {
    case PERP__ADD:
    case PERP__SUB: return perp__add(g, size_of(g, node.a, deep), size_of(g, node.b, deep));
    case PERP__NEG: return size_of(g, node.a, deep);
    case PERP__MUL: return size_of_product(g, e, deep);
    default: return magnitude(g, e);
    }
}

static int is_comparison(const perp__graph *g, perp_expr e)
{
    return g->node[e].op == PERP__LE || g->node[e].op == PERP__LT;
}

/* What b - a of a <= b may be rounded by. */
static perp_expr margin_of(perp__graph *g, perp_expr e)
{
    const perp__node node = g->node[e];
    perp_expr size = perp__add(g, size_of(g, node.a, 0), size_of(g, node.b, 0));
    return perp__mul(g, perp__const(g, PERP_TOL_SIGN), size);
}

/* Comparisons that are on their bounds are true: those that include them, all, none. */
typedef enum true_ones { INCLUDING, ALL, NONE } true_ones;

static perp_expr with_margins(perp__graph *g, perp_expr e, true_ones which)
{
    const perp__node node = g->node[e];
    if (node.op == PERP__MIN || node.op == PERP__MAX)
        return perp__binary(g, node.op, with_margins(g, node.a, which),
                            with_margins(g, node.b, which));
    if (!is_comparison(g, e) || (which == INCLUDING && node.op != PERP__LE)) return e;
    perp_expr margin = margin_of(g, e);
    return which == NONE ? perp__binary(g, PERP__LT, perp__add(g, node.a, margin), node.b)
                         : perp__binary(g, PERP__LE, node.a, perp__add(g, node.b, margin));
}

perp_expr perp__with_margins(perp__graph *g, perp_expr e)
{
    return with_margins(g, e, INCLUDING);
}

static int add_comparisons(perp__graph *g, perp_expr e, perp__guard_bounds *to)
{
    const perp__node node = g->node[e];
    if (node.op == PERP__MIN || node.op == PERP__MAX)
        return add_comparisons(g, node.a, to) && add_comparisons(g, node.b, to);
    if (!is_comparison(g, e)) return 1;
    if (!perp__grow(&to->bound, &to->capacity, to->n + 1, sizeof *to->bound)) return 0;
    to->bound[to->n++] = (struct perp__compared){
        .guard = to->nguard, .slack = perp__sub(g, node.b, node.a), .margin = margin_of(g, e)};
    return 1;
}

int perp__guard_bounds_add(perp__graph *g, perp_expr guard, perp_expr taken, perp__guard_bounds *to)
{
    for (int k = 0; k < to->nguard; k++)
        if (to->guard[k].as_written == guard) return 1;
    if (!perp__grow(&to->guard, &to->cguard, to->nguard + 1, sizeof *to->guard) ||
        !add_comparisons(g, guard, to))
        return 0;
    to->guard[to->nguard++] = (struct perp__guard){guard, with_margins(g, guard, NONE),
                                                   with_margins(g, guard, ALL), taken};
    return !g->failed;
}

void perp__guard_bounds_clear(perp__guard_bounds *bounds)
{
    free(bounds->guard);
    free(bounds->bound);
}
