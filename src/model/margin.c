/* A guard a <= b includes its bound, and rounding does not decide about that: it holds up to what a and b may be rounded by. */

#include "model/graph.h"

#include "base/tol.h"

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

/* What a change of the symbols in e by a part of themselves changes e by, as a multiple of that part; of functions, their value. */
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

perp_expr perp__with_margins(perp__graph *g, perp_expr e)
{
    const perp__node node = g->node[e];
    if (node.op == PERP__MIN || node.op == PERP__MAX)
        return perp__binary(g, node.op, perp__with_margins(g, node.a),
                            perp__with_margins(g, node.b));
    if (node.op != PERP__LE) return e;
    perp_expr size = perp__add(g, size_of(g, node.a, 0), size_of(g, node.b, 0));
    perp_expr margin = perp__mul(g, perp__const(g, PERP_TOL_SIGN), size);
    return perp__binary(g, PERP__LE, node.a, perp__add(g, node.b, margin));
}
