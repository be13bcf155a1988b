/* Nodes with the same operation and arguments are one node, found by hashing. */

#include "model/graph.h"

#include "base/arena.h"
#include "base/base.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int arity;
    const char *text, *fault;
} ops[PERP__OP_COUNT] = {
#define PERP_OP(name, arity) [PERP__##name] = {arity, NULL, NULL},
#define PERP_FUNCTION(name, arity, text, value, derivative, terms, sign, unit, warning, fault)     \
    [PERP__##name] = {arity, text, fault},
#include "model/ops.def"
};

int perp__op_arity(int op)
{
    return ops[op].arity;
}

const char *perp__op_text(int op)
{
    return ops[op].text;
}

const char *perp__op_fault(int op)
{
    if (op == PERP__DIV) return "division by zero";
    if (op == PERP__POW) return "power outside its domain";
    return ops[op].fault;
}

double perp__apply(int op, double a, double b)
{
    switch ((perp__op)op) {
#define PERP_FUNCTION(name, arity, text, value, ...) PERP__CASE(PERP__##name, value)
#include "model/ops.def"
    case PERP__CONST:
    case PERP__SYMBOL:
    case PERP__OP_COUNT: break;
    case PERP__ADD: return a + b;
    case PERP__SUB: return a - b;
    case PERP__MUL: return a * b;
    case PERP__DIV: return a / b;
    case PERP__POW: return pow(a, b);
    case PERP__NEG: return -a;
    case PERP__STEP:
        if (a > 0) return 1;
        if (a < 0) return 0;
        if (a == 0) return 0.5;
        return a;
    case PERP__LE: return a <= b;
    case PERP__LT: return a < b;
    }
    return NAN;
}

int perp__graph_init(perp__graph *graph)
{
    memset(graph, 0, sizeof *graph);
    graph->source = -1;
    perp__const(graph, 0);
    return !graph->failed;
}

void perp__graph_clear(perp__graph *graph)
{
    free(graph->node);
    free(graph->bucket);
    memset(graph, 0, sizeof *graph);
}

int perp__graph_clone(perp__graph *to, const perp__graph *from)
{
    *to = *from;
    to->capacity = from->count;
    to->node = malloc((size_t)from->count * sizeof *to->node);
    to->bucket = malloc((size_t)from->nbucket * sizeof *to->bucket);
    if (!to->node || !to->bucket) {
        perp__graph_clear(to);
        return 0;
    }
    memcpy(to->node, from->node, (size_t)from->count * sizeof *to->node);
    memcpy(to->bucket, from->bucket, (size_t)from->nbucket * sizeof *to->bucket);
    return 1;
}

/* Hash consing -------------------------------------------------------------------------------- */

/* A product brings bits up only: the upper ones, which are all that small integers have as doubles,
 * go down first. */
static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x ^ x >> 33) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint64_t node_hash(const perp__node *node)
{
    uint64_t bits;
    memcpy(&bits, &node->value, sizeof bits);
    uint64_t h = mix((uint64_t)node->op, (uint64_t)(uint32_t)node->a);
    return mix(mix(h, (uint64_t)(uint32_t)node->b), bits);
}

static int same_node(const perp__node *x, const perp__node *y)
{
    return x->op == y->op && x->a == y->a && x->b == y->b &&
           memcmp(&x->value, &y->value, sizeof x->value) == 0;
}

static int rehash(perp__graph *graph)
{
    int n = graph->nbucket ? 2 * graph->nbucket : 256;
    perp__bucket *bucket = malloc((size_t)n * sizeof *bucket);
    if (!bucket) return 0;
    for (int i = 0; i < n; i++) bucket[i].node = -1;
    for (int i = 0; i < graph->count; i++) {
        unsigned h = (unsigned)node_hash(&graph->node[i]), k = h, last = (unsigned)n - 1;
        while (bucket[k & last].node >= 0) k++;
        bucket[k & last].node = i;
        bucket[k & last].hash = h;
    }
    free(graph->bucket);
    graph->bucket = bucket;
    graph->nbucket = n;
    return 1;
}

static perp_expr intern(perp__graph *graph, int op, int a, int b, double value)
{
    if (graph->failed) return 0;
    if (2 * graph->count >= graph->nbucket && !rehash(graph)) goto failed;
    perp__node node = {op, a, b, graph->source, value};
    unsigned h = (unsigned)node_hash(&node), k = h, last = (unsigned)graph->nbucket - 1;
    for (; graph->bucket[k & last].node >= 0; k++) {
        int i = graph->bucket[k & last].node;
        if (graph->bucket[k & last].hash == h && same_node(&graph->node[i], &node)) return i;
    }
    if (!perp__grow(&graph->node, &graph->capacity, graph->count + 1, sizeof *graph->node))
        goto failed;
    graph->node[graph->count] = node;
    graph->bucket[k & last].node = graph->count;
    graph->bucket[k & last].hash = h;
    return graph->count++;
failed:
    graph->failed = 1;
    return 0;
}

/* Constructors -------------------------------------------------------------------------------- */

perp_expr perp__const(perp__graph *graph, double value)
{
    return intern(graph, PERP__CONST, 0, 0, value == 0 ? 0.0 : value); /* one zero: -0 is 0 */
}

perp_expr perp__symbol(perp__graph *graph, int symbol)
{
    return intern(graph, PERP__SYMBOL, symbol, 0, 0);
}

static int is_any_const(const perp__graph *graph, perp_expr e)
{
    return graph->node[e].op == PERP__CONST;
}

int perp__is_const(const perp__graph *graph, perp_expr e, double value)
{
    return is_any_const(graph, e) && graph->node[e].value == value;
}

static int is_neg(const perp__graph *graph, perp_expr e)
{
    return graph->node[e].op == PERP__NEG;
}

/* Folds to *folded when all operands are constants and the result is a number. */
static int fold(perp__graph *graph, int op, perp_expr a, perp_expr b, perp_expr *folded)
{
    if (!is_any_const(graph, a) || (ops[op].arity == 2 && !is_any_const(graph, b))) return 0;
    double value = perp__apply(op, graph->node[a].value, graph->node[b].value);
    if (!isfinite(value)) return 0;
    *folded = perp__const(graph, value);
    return 1;
}

/* Is it -x, or x - y where y - x may be there? Of the two, sine and cosine take the one in order,
 * which the joints of a chain share; no bit changes. */
static int is_turned(const perp__graph *graph, perp_expr a)
{
    const perp__node *e = &graph->node[a];
    return !graph->as_written && (e->op == PERP__NEG || (e->op == PERP__SUB && e->a > e->b));
}

perp_expr perp__unary(perp__graph *graph, int op, perp_expr a)
{
    perp_expr folded;
    if (graph->failed) return 0;
    if (fold(graph, op, a, 0, &folded)) return folded;
    if (op == PERP__NEG && is_neg(graph, a)) return graph->node[a].a;
    if (op == PERP__NEG && graph->node[a].op == PERP__SUB)
        return perp__sub(graph, graph->node[a].b, graph->node[a].a);
    if (op == PERP__ABS && is_neg(graph, a)) a = graph->node[a].a;
    if (op == PERP__COS && is_turned(graph, a)) a = perp__neg(graph, a);
    if (op == PERP__SIN && is_turned(graph, a))
        return perp__neg(graph, perp__unary(graph, op, perp__neg(graph, a)));
    return intern(graph, op, a, 0, 0);
}

/* A sum of squares and numbers that are not negative; is_above: one of the numbers is above 0. */
static int is_sum_of_squares(const perp__graph *graph, perp_expr e, int is_above)
{
    for (;;) {
        const perp__node *node = &graph->node[e];
        if (node->op == PERP__CONST) return is_above ? node->value > 0 : node->value >= 0;
        if (node->op == PERP__MUL) return !is_above && node->a == node->b;
        if (node->op != PERP__ADD) return 0;
        int left = is_above && is_sum_of_squares(graph, node->a, 1);
        if (!left && !is_sum_of_squares(graph, node->a, 0)) return 0;
        is_above &= !left;
        e = node->b;
    }
}

/* May its value be no number where all symbols are numbers? */
static int is_partial(perp__graph *graph, perp_expr e)
{
    int n, found = 0, *reach = perp__graph_reach(graph, &e, 1, &n);
    if (!reach) graph->failed = 1;
    for (int k = 0; k < n && !found; k++) {
        const perp__node *node = &graph->node[reach[k]];
        found = perp__op_fault(node->op) &&
                !(node->op == PERP__DIV && is_sum_of_squares(graph, node->b, 1));
    }
    free(reach);
    return found;
}

static perp_expr simplify_add(perp__graph *graph, perp_expr a, perp_expr b)
{
    if (perp__is_const(graph, a, 0)) return b;
    if (perp__is_const(graph, b, 0)) return a;
    if (is_neg(graph, b)) return perp__sub(graph, a, graph->node[b].a);
    if (is_neg(graph, a)) return perp__sub(graph, b, graph->node[a].a);
    return a < b ? intern(graph, PERP__ADD, a, b, 0) : intern(graph, PERP__ADD, b, a, 0);
}

static perp_expr simplify_sub(perp__graph *graph, perp_expr a, perp_expr b)
{
    if (a == b && !(graph->strict && is_partial(graph, a))) return perp__const(graph, 0);
    if (perp__is_const(graph, b, 0)) return a;
    if (perp__is_const(graph, a, 0)) return perp__neg(graph, b);
    if (is_neg(graph, b)) return perp__add(graph, a, graph->node[b].a);
    return intern(graph, PERP__SUB, a, b, 0);
}

static perp_expr simplify_mul(perp__graph *graph, perp_expr a, perp_expr b)
{
    if (is_any_const(graph, b)) {
        perp_expr c = a;
        a = b;
        b = c;
    }
    if (perp__is_const(graph, a, 0) && !(graph->strict && is_partial(graph, b))) return a;
    if (perp__is_const(graph, a, 1)) return b;
    if (perp__is_const(graph, a, -1)) return perp__neg(graph, b);
    if (is_neg(graph, a)) return perp__neg(graph, perp__mul(graph, graph->node[a].a, b));
    if (is_neg(graph, b)) return perp__neg(graph, perp__mul(graph, a, graph->node[b].a));
    return a < b ? intern(graph, PERP__MUL, a, b, 0) : intern(graph, PERP__MUL, b, a, 0);
}

static perp_expr simplify_div(perp__graph *graph, perp_expr a, perp_expr b)
{
    if (perp__is_const(graph, b, 1)) return a;
    if (perp__is_const(graph, b, -1)) return perp__neg(graph, a);
    int may_be_0 = graph->strict ? !is_any_const(graph, b) : 0;
    if (perp__is_const(graph, a, 0) && !perp__is_const(graph, b, 0) && !may_be_0) return a;
    if (is_neg(graph, a)) return perp__neg(graph, perp__div(graph, graph->node[a].a, b));
    return intern(graph, PERP__DIV, a, b, 0);
}

static perp_expr simplify_pow(perp__graph *graph, perp_expr a, perp_expr b)
{
    if (perp__is_const(graph, b, 0)) return perp__const(graph, 1);
    if (perp__is_const(graph, b, 1)) return a;
    if (perp__is_const(graph, b, 2)) return perp__mul(graph, a, a);
    if (perp__is_const(graph, b, -1)) return perp__div(graph, perp__const(graph, 1), a);
    return intern(graph, PERP__POW, a, b, 0);
}

perp_expr perp__binary(perp__graph *graph, int op, perp_expr a, perp_expr b)
{
    perp_expr folded;
    if (graph->failed) return 0;
    if (fold(graph, op, a, b, &folded)) return folded;
    switch (op) {
    case PERP__ADD: return simplify_add(graph, a, b);
    case PERP__SUB: return simplify_sub(graph, a, b);
    case PERP__MUL: return simplify_mul(graph, a, b);
    case PERP__DIV: return simplify_div(graph, a, b);
    case PERP__POW: return simplify_pow(graph, a, b);
    case PERP__MIN:
    case PERP__MAX:
        if (a == b) return a;
        return a < b ? intern(graph, op, a, b, 0) : intern(graph, op, b, a, 0);
    default: return intern(graph, op, a, b, 0);
    }
}

perp_expr perp__add(perp__graph *graph, perp_expr a, perp_expr b)
{
    return perp__binary(graph, PERP__ADD, a, b);
}

perp_expr perp__sub(perp__graph *graph, perp_expr a, perp_expr b)
{
    return perp__binary(graph, PERP__SUB, a, b);
}

perp_expr perp__mul(perp__graph *graph, perp_expr a, perp_expr b)
{
    return perp__binary(graph, PERP__MUL, a, b);
}

perp_expr perp__div(perp__graph *graph, perp_expr a, perp_expr b)
{
    return perp__binary(graph, PERP__DIV, a, b);
}

perp_expr perp__neg(perp__graph *graph, perp_expr a)
{
    return perp__unary(graph, PERP__NEG, a);
}

/* Passes -------------------------------------------------------------------------------------- */

/* A list is sorted by insertion, and needs no memory of its own, up to this length: that of most
 * expressions. */
enum { FEW = 24 };

typedef struct nodes {
    int *of; /* `few`, or malloc'ed */
    int n, capacity, few[FEW];
} nodes;

static void start_list(nodes *list)
{
    list->of = list->few;
    list->n = 0;
    list->capacity = FEW;
}

static void free_list(nodes *list)
{
    if (list->of != list->few) free(list->of);
}

static int grow_list(nodes *list)
{
    int *own = list->of == list->few ? NULL : list->of, capacity = own ? list->capacity : 0;
    if (!perp__grow(&own, &capacity, list->n + 1, sizeof *own)) return 0;
    if (list->of == list->few) memcpy(own, list->few, sizeof list->few);
    list->of = own;
    list->capacity = capacity;
    return 1;
}

static inline int append(nodes *list, int node)
{
    if (list->n == list->capacity && !grow_list(list)) return 0;
    list->of[list->n++] = node;
    return 1;
}

static void insert(int *list, int n)
{
    for (int i = 1; i < n; i++) {
        int x = list[i], j = i;
        for (; j > 0 && list[j - 1] > x; j--) list[j] = list[j - 1];
        list[j] = x;
    }
}

/* Sort numbers >= 0 by their digits, the last first; scratch: n, unless they are few. */
static void sort_ascending(int *list, int n, int *scratch)
{
    enum { BITS = 8, VALUES = 1 << BITS };
    int largest = 0;
    if (n <= FEW) {
        insert(list, n);
        return;
    }
    for (int i = 0; i < n; i++) largest = list[i] > largest ? list[i] : largest;
    for (int shift = 0; shift < 31 && largest >> shift > 0; shift += BITS) {
        int from[VALUES + 1] = {0};
        for (int i = 0; i < n; i++) from[(list[i] >> shift & (VALUES - 1)) + 1]++;
        for (int v = 0; v < VALUES; v++) from[v + 1] += from[v];
        for (int i = 0; i < n; i++) scratch[from[list[i] >> shift & (VALUES - 1)]++] = list[i];
        memcpy(list, scratch, (size_t)n * sizeof *list);
    }
}

/* The visited nodes, with their indices in a list: open addressing. */
typedef struct met {
    struct slot {
        int node, place;
    } * slot, few[32];
    int size; /* a power of two, at least twice the nodes */
} met;

static int slot_of(const met *m, int node)
{
    int at = (int)((unsigned)node * 2654435769u >> 7) & (m->size - 1);
    while (m->slot[at].node >= 0 && m->slot[at].node != node) at = (at + 1) & (m->size - 1);
    return at;
}

static void start_met(met *m)
{
    m->slot = m->few;
    m->size = sizeof m->few / sizeof *m->few;
    memset(m->few, -1, sizeof m->few);
}

static void free_met(met *m)
{
    if (m->slot != m->few) free(m->slot);
}

/* Room for four times as many, with what is in the list. Returns 0 when memory is out. */
static int widen(met *m, const nodes *list)
{
    if (m->size > INT32_MAX / 4) return 0;
    struct slot *slot = malloc(4 * (size_t)m->size * sizeof *slot);
    if (!slot) return 0;
    free_met(m);
    m->slot = slot;
    m->size *= 4;
    memset(m->slot, -1, (size_t)m->size * sizeof *m->slot);
    for (int k = 0; k < list->n; k++) m->slot[slot_of(m, list->of[k])].node = list->of[k];
    return 1;
}

/* Append a node to the list unless it is there. */
static int visit(met *m, int node, nodes *list)
{
    int at = slot_of(m, node);
    if (m->slot[at].node == node) return 1;
    m->slot[at].node = node;
    return append(list, node) && (2 * list->n <= m->size || widen(m, list));
}

/* The nodes in the order in which they are met. Returns 0 when memory is out. */
static int collect(const perp__graph *graph, const perp_expr *roots, int nroots, met *m,
                   nodes *list)
{
    for (int i = 0; i < nroots; i++) {
        if (!visit(m, roots[i], list)) return 0;
    }
    /* the list is its own queue: operands of entry k are appended when k is reached */
    for (int k = 0; k < list->n; k++) {
        const perp__node *node = &graph->node[list->of[k]];
        int operand[2] = {node->a, node->b};
        for (int j = 0; j < ops[node->op].arity; j++) {
            if (!visit(m, operand[j], list)) return 0;
        }
    }
    return 1;
}

int perp__node_place(const int *reach, int n, int node)
{
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (reach[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int *perp__graph_reach(const perp__graph *graph, const perp_expr *roots, int nroots, int *count)
{
    met m;
    nodes list;
    start_met(&m);
    start_list(&list);
    int ok = collect(graph, roots, nroots, &m, &list), n = ok ? list.n : 0;
    int *reach = ok ? malloc((3 * (size_t)n + 1) * sizeof *reach) : NULL;
    if (reach) {
        for (int k = 0; k < n; k++) reach[k] = list.of[n - 1 - k]; /* operands tend to be first */
        sort_ascending(reach, n, reach + n);
        for (int k = 0; k < n; k++) m.slot[slot_of(&m, reach[k])].place = k;
        for (int k = 0; k < n; k++) {
            const perp__node *node = &graph->node[reach[k]];
            int arity = ops[node->op].arity;
            reach[n + 2 * k] = arity > 0 ? m.slot[slot_of(&m, node->a)].place : 0;
            reach[n + 2 * k + 1] = arity > 1 ? m.slot[slot_of(&m, node->b)].place : 0;
        }
    }
    *count = reach ? n : 0;
    free_list(&list);
    free_met(&m);
    return reach;
}

static double node_value(const perp__node *node, const double *symbol, const double *value)
{
    if (node->op == PERP__CONST) return node->value;
    if (node->op == PERP__SYMBOL) return symbol[node->a];
    return perp__apply(node->op, value[node->a], value[node->b]);
}

void perp__graph_values_to(const perp__graph *graph, perp_expr last, const double *symbol,
                           double *value)
{
    for (int i = 0; i <= last; i++) value[i] = node_value(&graph->node[i], symbol, value);
}

void perp__graph_values(const perp__graph *graph, const double *symbol, double *value)
{
    perp__graph_values_to(graph, graph->count - 1, symbol, value);
}

/* The value of reach[k], those before it being known, and of its operands; 0 for those that it does
 * not have. */
static double reached_value(const perp__graph *graph, const int *reach, int n, int k,
                            const double *symbol, const double *value, double operand[2])
{
    const perp__node *node = &graph->node[reach[k]];
    for (int j = 0; j < 2; j++)
        operand[j] = j < ops[node->op].arity ? value[perp__operand_place(reach, n, k, j)] : 0;
    if (node->op == PERP__CONST) return node->value;
    if (node->op == PERP__SYMBOL) return symbol[node->a];
    return perp__apply(node->op, operand[0], operand[1]);
}

int perp__graph_not_finite(const perp__graph *graph, const perp_expr *roots, int nroots,
                           const double *symbol)
{
    int n, found = -1;
    int *reach = perp__graph_reach(graph, roots, nroots, &n);
    double *value = malloc(((size_t)n + 1) * sizeof *value), x[2];
    if (!reach || !value) found = -2;
    for (int k = 0; k < n && found == -1; k++) {
        value[k] = reached_value(graph, reach, n, k, symbol, value, x);
        int is_unknown = graph->node[reach[k]].op == PERP__SYMBOL && isnan(value[k]);
        if (!isfinite(value[k]) && isfinite(x[0]) && isfinite(x[1]) && !is_unknown)
            found = reach[k];
    }
    free(reach);
    free(value);
    return found;
}

int perp__graph_value(const perp__graph *graph, perp_expr e, const double *symbol, double *result)
{
    int n;
    int *reach = perp__graph_reach(graph, &e, 1, &n);
    double *value = malloc(((size_t)n + 1) * sizeof *value), x[2];
    int ok = reach && value;
    for (int k = 0; ok && k < n; k++)
        value[k] = reached_value(graph, reach, n, k, symbol, value, x);
    if (ok) *result = value[n - 1]; /* e is the last */
    free(reach);
    free(value);
    return ok;
}

/* The copy of a node whose operands, those it has, are copied. */
static perp_expr copy_node(perp__graph *to, const perp__node *node, const perp_expr *map,
                           perp_expr a, perp_expr b)
{
    to->source = node->source;
    switch (ops[node->op].arity) {
    case 0: return node->op == PERP__CONST ? perp__const(to, node->value) : map[node->a];
    case 1: return perp__unary(to, node->op, a);
    default: return perp__binary(to, node->op, a, b);
    }
}

int perp__graph_copy(perp__graph *to, const perp__graph *from, const perp_expr *roots, int nroots,
                     const perp_expr *map, perp_expr *copies)
{
    int n;
    int *reach = perp__graph_reach(from, roots, nroots, &n);
    perp_expr *copy = malloc(((size_t)n + 1) * sizeof *copy);
    if (!reach || !copy) to->failed = 1;
    for (int k = 0; k < n && !to->failed; k++) {
        perp__node node = from->node[reach[k]]; /* by value: `to` may be `from` and grow */
        int arity = ops[node.op].arity;
        copy[k] =
            copy_node(to, &node, map, arity > 0 ? copy[perp__operand_place(reach, n, k, 0)] : 0,
                      arity > 1 ? copy[perp__operand_place(reach, n, k, 1)] : 0);
    }
    to->source = -1;
    for (int i = 0; i < nroots && !to->failed; i++)
        copies[i] = copy[perp__node_place(reach, n, roots[i])];
    free(reach);
    free(copy);
    return !to->failed;
}

/* Put a node that has no copy into the list, once. */
static inline int await(perp_expr *copy, int node, nodes *list)
{
    enum { AWAITED = -2 };
    if (copy[node] >= 0 || copy[node] == AWAITED) return 1;
    copy[node] = AWAITED;
    return append(list, node);
}

perp_expr perp__graph_copy_kept(perp__graph *to, const perp__graph *from, perp_expr e,
                                const perp_expr *map, perp_expr *copy)
{
    nodes list;
    start_list(&list);
    int ok = await(copy, e, &list);
    for (int k = 0; k < list.n && ok; k++) {
        const perp__node *node = &from->node[list.of[k]];
        int arity = ops[node->op].arity;
        ok = (arity < 1 || await(copy, node->a, &list)) &&
             (arity < 2 || await(copy, node->b, &list));
    }
    int n = list.n, *scratch = ok && n > FEW ? malloc((size_t)n * sizeof *scratch) : NULL;
    if (!ok || (n > FEW && !scratch)) to->failed = 1;
    if (!to->failed) sort_ascending(list.of, n, scratch);
    for (int k = 0; k < n && !to->failed; k++) {
        int at = list.of[k];
        const perp__node *node = &from->node[at];
        int arity = ops[node->op].arity;
        copy[at] =
            copy_node(to, node, map, arity > 0 ? copy[node->a] : 0, arity > 1 ? copy[node->b] : 0);
    }
    to->source = -1;
    free(scratch);
    free_list(&list);
    return to->failed ? 0 : copy[e];
}
