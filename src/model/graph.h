/* The expression graph: a hash-consed DAG of scalar expressions. Equal expressions are one node,
 * operands come before their users. So every pass is a loop over indices and nothing recurses. A
 * node's index is its name (perp_expr).
 *
 * Out of memory is remembered in `failed`. Constructors then return node 0 (the constant 0), and
 * the caller checks the flag once at the end. */

#ifndef PERP_SRC_GRAPH_H
#define PERP_SRC_GRAPH_H

#include <stddef.h>

typedef int perp_expr;

typedef enum perp__op {
#define PERP_OP(name, arity)            PERP__##name,
#define PERP_FUNCTION(name, arity, ...) PERP__##name,
#include "model/ops.def"
    PERP__OP_COUNT
} perp__op;

/* In a switch over operations, of a column of ops.def. */
#define PERP__CASE(op, result)                                                                     \
    case op: return result;

typedef struct perp__node {
    int op;       /* perp__op */
    int a, b;     /* operands; a symbol's number in a; unused ones are 0 */
    int source;   /* where in the model text it was first written, or -1 */
    double value; /* of a constant */
} perp__node;

typedef struct perp__bucket {
    int node;      /* -1: empty */
    unsigned hash; /* part of it: another node is mostly told without being read */
} perp__bucket;

typedef struct perp__graph {
    perp__node *node;
    int count, capacity;
    perp__bucket *bucket; /* open addressing */
    int nbucket;
    int source; /* given to nodes made from now on */
    /* 0 x, 0/x and x - x stay where x may be no number: set while the conditions as written are
     * made */
    int strict;
    int as_written; /* sin(y - x) stays beside sin(x - y): the graph of a model, which is printed */
    int failed;
} perp__graph;

int perp__graph_init(perp__graph *graph); /* 0 when memory is out */
void perp__graph_clear(perp__graph *graph);
int perp__graph_clone(perp__graph *to, const perp__graph *from); /* 0 when memory is out */

/* Constructors simplify: constants fold when the result is finite, 0 and 1 vanish, commuting
 * operands are ordered. */
perp_expr perp__const(perp__graph *graph, double value);
perp_expr perp__symbol(perp__graph *graph, int symbol);
perp_expr perp__unary(perp__graph *graph, int op, perp_expr a);
perp_expr perp__binary(perp__graph *graph, int op, perp_expr a, perp_expr b);

/* Shorthand for the arithmetic ones. */
perp_expr perp__add(perp__graph *graph, perp_expr a, perp_expr b);
perp_expr perp__sub(perp__graph *graph, perp_expr a, perp_expr b);
perp_expr perp__mul(perp__graph *graph, perp_expr a, perp_expr b);
perp_expr perp__div(perp__graph *graph, perp_expr a, perp_expr b);
perp_expr perp__neg(perp__graph *graph, perp_expr a);

/* This guard, each a <= b in it true up to what its terms may be rounded by. */
perp_expr perp__with_margins(perp__graph *graph, perp_expr guard);

/* Guards on their bounds. For each guard: is it on with comparisons on their bounds all false, all
 * true, and as a step takes it? For each comparison a <= b or a < b: its guard (counted here), b -
 * a, and a bound of its rounding. */
typedef struct perp__guard_bounds {
    struct perp__guard {
        perp_expr as_written, off, on, taken;
    } * guard;
    struct perp__compared {
        int guard;
        perp_expr slack, margin;
    } * bound;
    int nguard, cguard, n, capacity;
} perp__guard_bounds;

/* 0: out of memory */
int perp__guard_bounds_add(perp__graph *graph, perp_expr guard, perp_expr taken,
                           perp__guard_bounds *to);
void perp__guard_bounds_clear(perp__guard_bounds *bounds);

int perp__is_const(const perp__graph *graph, perp_expr e, double value);
int perp__op_arity(int op);
const char *perp__op_text(int op);  /* the function's word; NULL: it is none */
const char *perp__op_fault(int op); /* why it may have no value; NULL: it always has one */
double perp__apply(int op, double a, double b);

/* The nodes that the roots are made of, ascending. The array is malloc'ed, NULL when memory is out.
 * Costs no more than what is reached. Threads may share the graph. */
int *perp__graph_reach(const perp__graph *graph, const perp_expr *roots, int nroots, int *count);

/* Where operand j (0 or 1) of node reach[k] stands among the n: the list goes on with these
 * places. */
static inline int perp__operand_place(const int *reach, int n, int k, int j)
{
    return reach[n + 2 * k + j];
}

/* Where a node stands that is in the list. */
int perp__node_place(const int *reach, int n, int node);

/* Values of all nodes given the symbols' values; value has graph->count entries. */
void perp__graph_values(const perp__graph *graph, const double *symbol, double *value);

/* The same up to a node, which is all that its own value needs: operands stand before what is made
 * of them. */
void perp__graph_values_to(const perp__graph *graph, perp_expr last, const double *symbol,
                           double *value);

/* The value of one expression. Returns 0 when memory is out. */
int perp__graph_value(const perp__graph *graph, perp_expr e, const double *symbol, double *value);

/* First node reachable from the roots whose operands are numbers and whose value is not finite; -1
 * if none. Symbols that are NaN count as not known, and so does what depends on them. Returns -2
 * when memory is out. */
int perp__graph_not_finite(const perp__graph *graph, const perp_expr *roots, int nroots,
                           const double *symbol);

/* Copy expressions into another graph (or the same), replacing symbol s by map[s]. Returns 0 when
 * memory is out. */
int perp__graph_copy(perp__graph *to, const perp__graph *from, const perp_expr *roots, int nroots,
                     const perp_expr *map, perp_expr *copies);

/* The copy of one expression; parts of it may be copied already. copy has an entry for each node
 * of `from`, -1 if it has none yet, for one map and one `strict`. The new nodes are those of
 * perp__graph_copy. */
perp_expr perp__graph_copy_kept(perp__graph *to, const perp__graph *from, perp_expr e,
                                const perp_expr *map, perp_expr *copy);

/* derive.c ------------------------------------------------------------------------------------ */

/* A sparse row of derivatives: column[k] is where entry[k] stands; columns ascend. */
typedef struct perp__sparse_row {
    int count, capacity;
    int *column;
    perp_expr *entry;
} perp__sparse_row;

void perp__sparse_row_clear(perp__sparse_row *row);

/* Gradient of e, by one reverse sweep. column_of[s] is the column of symbol s, or -1. Returns 0
 * when memory is out. */
int perp__gradient(perp__graph *graph, perp_expr e, const int *column_of, perp__sparse_row *row);

/* Derivatives by ncol columns and, behind them, by quantities whose own are inner[k] become
 * derivatives by those columns alone. Returns 0 when memory is out. */
int perp__chain(perp__graph *graph, perp__sparse_row *row, int ncol, const perp__sparse_row *inner);

/* Lower triangle of the Hessian of e: column[k] = i * ncol + j with j <= i. Returns 0 when memory
 * is out. */
int perp__hessian(perp__graph *graph, perp_expr e, const int *column_of, int ncol,
                  perp__sparse_row *row);

/* How e depends on the symbols with column_of[s] >= 0: 0 not at all, 1 affinely, 2 otherwise. If 2
 * and `where` is not NULL, the first node that makes it so. Returns -1 when memory is out. */
int perp__degree(const perp__graph *graph, perp_expr e, const int *column_of, int *where);

/* The same of all nodes: degree has graph->count entries. */
void perp__degrees(const perp__graph *graph, const int *column_of, char *degree);

/* Has e a corner (abs, min) in the symbols with column_of[s] >= 0, or a jump (floor, a comparison
 * of them)? Bits; -1 when memory is out. */
enum { PERP__CORNER = 1, PERP__JUMP = 2 };
int perp__has_kinks(const perp__graph *graph, perp_expr e, const int *column_of);

#endif
