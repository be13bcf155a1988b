/* Symbolic derivatives of the expression graph. One reverse sweep gives a gradient as expressions
 * that share their common parts. The Hessian is the gradient of the gradient. Affine detection. */

#include "base/arena.h"
#include "base/base.h"
#include "model/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp__sparse_row_clear(perp__sparse_row *row)
{
    free(row->column);
    free(row->entry);
    memset(row, 0, sizeof *row);
}

static int row_push(perp__sparse_row *row, int column, perp_expr entry)
{
    int capacity = row->capacity;
    if (!perp__grow(&row->column, &capacity, row->count + 1, sizeof *row->column)) return 0;
    capacity = row->capacity;
    if (!perp__grow(&row->entry, &capacity, row->count + 1, sizeof *row->entry)) return 0;
    row->capacity = capacity;
    row->column[row->count] = column;
    row->entry[row->count++] = entry;
    return 1;
}

/* sign / sqrt(1 - a^2) */
static perp_expr over_root(perp__graph *g, int sign, perp_expr a)
{
    perp_expr square = perp__sub(g, perp__const(g, 1), perp__mul(g, a, a)),
              root = perp__unary(g, PERP__SQRT, square);
    return perp__div(g, perp__const(g, sign), root);
}

/* a^2 + b^2 */
static perp_expr squares(perp__graph *g, perp_expr a, perp_expr b)
{
    return perp__add(g, perp__mul(g, a, a), perp__mul(g, b, b));
}

/* 1 where a > b, 0 where a < b */
static perp_expr above(perp__graph *g, perp_expr a, perp_expr b)
{
    return perp__unary(g, PERP__STEP, perp__sub(g, a, b));
}

/* d op(a, b) / d operand k, for node `self` */
static perp_expr local_derivative(perp__graph *g, int self, int k)
{
    perp__node n = g->node[self];
    perp_expr a = n.a, b = n.b, one = perp__const(g, 1);
    switch ((perp__op)n.op) {
#define PERP_FUNCTION(name, arity, text, value, derivative, ...)                                   \
    PERP__CASE(PERP__##name, derivative)
#include "model/ops.def"
    case PERP__ADD: return one;
    case PERP__SUB: return perp__const(g, k == 0 ? 1 : -1);
    case PERP__MUL: return k == 0 ? b : a;
    case PERP__DIV: return k == 0 ? perp__div(g, one, b) : perp__neg(g, perp__div(g, self, b));
    case PERP__POW:
        if (k == 0) return perp__mul(g, b, perp__binary(g, PERP__POW, a, perp__sub(g, b, one)));
        return perp__mul(g, self, perp__unary(g, PERP__LOG, a));
    case PERP__NEG: return perp__const(g, -1);
    case PERP__STEP: /* piecewise constant: 0 wherever there is a derivative */
    case PERP__LE:
    case PERP__LT: return perp__const(g, 0);
    case PERP__CONST: /* no operands */
    case PERP__SYMBOL:
    case PERP__OP_COUNT: break;
    }
    PERP_ASSERT(0 && "an operation with operands");
    return perp__const(g, NAN);
}

/* depends[k]: does node reach[k] depend on a symbol with a column? */
static void mark_dependence(const perp__graph *g, const int *reach, int n, const int *column_of,
                            char *depends)
{
    for (int k = 0; k < n; k++) {
        const perp__node *node = &g->node[reach[k]];
        int arity = perp__op_arity(node->op);
        if (node->op == PERP__SYMBOL)
            depends[k] = column_of[node->a] >= 0;
        else
            depends[k] = (arity > 0 && depends[perp__operand_place(reach, n, k, 0)]) ||
                         (arity > 1 && depends[perp__operand_place(reach, n, k, 1)]);
    }
}

static int compare_pairs(const void *x, const void *y)
{
    const int *a = x, *b = y;
    int k = a[0] == b[0];
    return (a[k] > b[k]) - (a[k] < b[k]);
}

/* Sort the entries by column; those of one column stay in their order. */
static int row_sort(perp__sparse_row *row)
{
    int(*pair)[3] = malloc(((size_t)row->count + 1) * sizeof *pair);
    if (!pair) return 0;
    for (int k = 0; k < row->count; k++) {
        pair[k][0] = row->column[k];
        pair[k][1] = k;
        pair[k][2] = row->entry[k];
    }
    qsort(pair, (size_t)row->count, sizeof *pair, compare_pairs);
    for (int k = 0; k < row->count; k++) {
        row->column[k] = pair[k][0];
        row->entry[k] = pair[k][2];
    }
    free(pair);
    return 1;
}

int perp__gradient(perp__graph *g, perp_expr e, const int *column_of, perp__sparse_row *row)
{
    int n, ok = 0;
    int *reach = perp__graph_reach(g, &e, 1, &n);
    perp_expr *adjoint = calloc((size_t)n + 1, sizeof *adjoint); /* node 0 is the constant 0 */
    char *depends = calloc((size_t)n + 1, 1);
    row->count = 0;
    if (!reach || !adjoint || !depends) goto done;

    mark_dependence(g, reach, n, column_of, depends);
    if (n && depends[n - 1]) adjoint[n - 1] = perp__const(g, 1); /* e is the last */
    for (int k = n - 1; k >= 0; k--) {
        int self = reach[k];
        if (!depends[k] || perp__is_const(g, adjoint[k], 0)) continue;
        perp__node node = g->node[self];
        if (node.op == PERP__SYMBOL) {
            if (!row_push(row, column_of[node.a], adjoint[k])) goto done;
            continue;
        }
        for (int j = 0; j < perp__op_arity(node.op); j++) {
            int i = perp__operand_place(reach, n, k, j);
            if (!depends[i]) continue;
            perp_expr term = perp__mul(g, adjoint[k], local_derivative(g, self, j));
            adjoint[i] = perp__add(g, adjoint[i], term);
        }
    }
    ok = !g->failed && row_sort(row);
done:
    free(reach);
    free(adjoint);
    free(depends);
    return ok;
}

int perp__chain(perp__graph *g, perp__sparse_row *row, int ncol, const perp__sparse_row *inner)
{
    perp__sparse_row sum = {0};
    int ok = 1, n = 0;
    if (row->count == 0 || row->column[row->count - 1] < ncol) return 1;
    for (int k = 0; k < row->count && ok; k++) {
        const perp__sparse_row *of = row->column[k] < ncol ? NULL : &inner[row->column[k] - ncol];
        if (!of) ok = row_push(&sum, row->column[k], row->entry[k]);
        for (int i = 0; of && i < of->count && ok; i++)
            ok = row_push(&sum, of->column[i], perp__mul(g, row->entry[k], of->entry[i]));
    }
    ok = ok && row_sort(&sum);
    for (int k = 0; k < sum.count && ok; k++) { /* those of one column are one */
        int is_next = n == 0 || sum.column[n - 1] != sum.column[k];
        sum.entry[n - !is_next] =
            is_next ? sum.entry[k] : perp__add(g, sum.entry[n - 1], sum.entry[k]);
        sum.column[n - !is_next] = sum.column[k];
        n += is_next;
    }
    sum.count = n;
    perp__sparse_row_clear(row);
    *row = sum;
    return ok && !g->failed;
}

int perp__hessian(perp__graph *g, perp_expr e, const int *column_of, int ncol,
                  perp__sparse_row *row)
{
    perp__sparse_row gradient = {0}, second = {0};
    row->count = 0;
    int ok = perp__gradient(g, e, column_of, &gradient);
    for (int i = 0; ok && i < gradient.count; i++) {
        ok = perp__gradient(g, gradient.entry[i], column_of, &second);
        for (int j = 0; ok && j < second.count && second.column[j] <= gradient.column[i]; j++)
            ok = row_push(row, gradient.column[i] * ncol + second.column[j], second.entry[j]);
    }
    perp__sparse_row_clear(&gradient);
    perp__sparse_row_clear(&second);
    return ok;
}

static int node_degree(const perp__node *node, const int *column_of, int a, int b)
{
    switch ((perp__op)node->op) {
    case PERP__SYMBOL: return column_of[node->a] >= 0;
    case PERP__ADD:
    case PERP__SUB:
    case PERP__NEG: return a > b ? a : b;
    case PERP__MUL: return a + b < 2 ? a + b : 2;
    case PERP__DIV: return b ? 2 : a;
    case PERP__CONST: return 0;
#define PERP_FUNCTION(name, ...) case PERP__##name:
#include "model/ops.def"
    case PERP__POW:
    case PERP__STEP:
    case PERP__LE:
    case PERP__LT:
    case PERP__OP_COUNT: break;
    }
    return a || b ? 2 : 0;
}

static int kink_of(int op)
{
    switch (op) {
    case PERP__ABS:
    case PERP__MIN:
    case PERP__MAX: return PERP__CORNER;
    case PERP__SIGN:
    case PERP__FLOOR:
    case PERP__STEP:
    case PERP__LE:
    case PERP__LT: return PERP__JUMP;
    default: return 0;
    }
}

int perp__has_kinks(const perp__graph *g, perp_expr e, const int *column_of)
{
    int n, found = -1;
    int *reach = perp__graph_reach(g, &e, 1, &n);
    char *moves = calloc((size_t)n + 1, 1);
    for (int k = 0; reach && moves && k < n; k++) {
        const perp__node *node = &g->node[reach[k]];
        int arity = perp__op_arity(node->op);
        if (k == 0) found = 0;
        moves[k] = node->op == PERP__SYMBOL && column_of[node->a] >= 0;
        for (int i = 0; i < arity; i++) moves[k] |= moves[perp__operand_place(reach, n, k, i)];
        if (moves[k]) found |= kink_of((int)node->op);
    }
    free(reach);
    free(moves);
    return found;
}

void perp__degrees(const perp__graph *g, const int *column_of, char *degree)
{
    for (int k = 0; k < g->count; k++) {
        const perp__node *node = &g->node[k];
        int arity = perp__op_arity(node->op);
        degree[k] = (char)node_degree(node, column_of, arity > 0 ? degree[node->a] : 0,
                                      arity > 1 ? degree[node->b] : 0);
    }
}

int perp__degree(const perp__graph *g, perp_expr e, const int *column_of, int *where)
{
    int n, result = -1;
    int *reach = perp__graph_reach(g, &e, 1, &n);
    char *degree = calloc((size_t)n + 1, 1);
    if (!reach || !degree) goto done;
    for (int k = 0, found = 0; k < n; k++) {
        const perp__node *node = &g->node[reach[k]];
        int arity = perp__op_arity(node->op);
        int a = arity > 0 ? degree[perp__operand_place(reach, n, k, 0)] : 0,
            b = arity > 1 ? degree[perp__operand_place(reach, n, k, 1)] : 0;
        degree[k] = (char)node_degree(node, column_of, a, b);
        if (degree[k] == 2 && a < 2 && b < 2 && where && !found) {
            *where = reach[k];
            found = 1;
        }
    }
    result = degree[n - 1];
done:
    free(reach);
    free(degree);
    return result;
}
