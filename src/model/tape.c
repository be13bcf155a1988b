/* Instructions in an order in which each finds its arguments done, and its like as neighbours. */

#include "model/tape.h"

#include "base/memory.h"
#include "linalg/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp__tape_clear(perp__tape *tape)
{
    free(tape->constant);
    free(tape->code);
    free(tape->out);
    memset(tape, 0, sizeof *tape);
}

/* slot[k]: where another tape leaves the value of reach[k]; -1 it is to be computed, -2 it is not
 * needed. */
static void find_needed(const perp__graph *graph, const perp_expr *roots, int nroots,
                        const int *given, const int *reach, int n, int *slot)
{
    for (int k = 0; k < n; k++) slot[k] = given ? -2 : -1;
    if (!given) return;
    for (int i = 0; i < nroots; i++) slot[perp__node_place(reach, n, roots[i])] = -1;
    for (int k = n - 1; k >= 0; k--) {
        if (slot[k] == -1) slot[k] = given[reach[k]];
        int arity = slot[k] == -1 ? perp__op_arity(graph->node[reach[k]].op) : 0;
        for (int j = 0; j < arity; j++) slot[perp__operand_place(reach, n, k, j)] = -1;
    }
}

/* Of each node that is reached. */
typedef struct nodes {
    int n, *reach;
    int *slot;                 /* once it is known; -1: an instruction makes it */
    int *op, *phase, *is_late; /* by which instructions are sorted */
    int *order, *other;        /* places of those that become instructions */
    int *start;                /* of sort_by */
} nodes;

static int allocate(nodes *x)
{
    size_t n = (size_t)x->n + 1;
    x->slot = malloc((7 * n + PERP__OP_COUNT + 1) * sizeof *x->slot);
    if (!x->reach || !x->slot) return 0;
    x->op = x->slot + n;
    x->phase = x->op + n;
    x->is_late = x->phase + n;
    x->order = x->is_late + n;
    x->other = x->order + n;
    x->start = x->other + n;
    return 1;
}

/* The places in x->order by their keys, 0 .. nkey-1. Those of one key stay as they were. */
static void sort_by(nodes *x, const int *key, int nkey, int count)
{
    int *from = x->order;
    memset(x->start, 0, ((size_t)nkey + 1) * sizeof *x->start);
    for (int i = 0; i < count; i++) x->start[key[from[i]] + 1]++;
    for (int k = 0; k < nkey; k++) x->start[k + 1] += x->start[k];
    for (int i = 0; i < count; i++) x->other[x->start[key[from[i]]]++] = from[i];
    x->order = x->other;
    x->other = from;
}

/* Mark what the first `early` roots do not need. */
static void find_late(nodes *x, const perp_expr *roots, int early)
{
    for (int k = 0; k < x->n; k++) x->is_late[k] = 1;
    for (int i = 0; i < early; i++) x->is_late[perp__node_place(x->reach, x->n, roots[i])] = 0;
    for (int k = x->n - 1; k >= 0; k--) {
        int arity = x->is_late[k] || x->slot[k] != -1 ? 0 : perp__op_arity(x->op[k]);
        for (int j = 0; j < arity; j++) x->is_late[perp__operand_place(x->reach, x->n, k, j)] = 0;
    }
}

/* How often the op changes on the way to each node. Instructions of one op and phase can follow
 * each other. */
static int find_phases(nodes *x)
{
    int phases = 1;
    for (int k = 0; k < x->n; k++) {
        int arity = x->slot[k] == -1 ? perp__op_arity(x->op[k]) : 0;
        x->phase[k] = 0;
        for (int j = 0; j < arity; j++) {
            int of = perp__operand_place(x->reach, x->n, k, j),
                phase = x->slot[of] == -1 ? x->phase[of] + (x->op[of] != x->op[k]) : 0;
            if (phase > x->phase[k]) x->phase[k] = phase;
        }
        if (x->phase[k] >= phases) phases = x->phase[k] + 1;
    }
    return phases;
}

/* The order of the instructions. Returns how many there are. */
static int find_order(nodes *x, const perp_expr *roots, int early)
{
    int count = 0;
    find_late(x, roots, early);
    int phases = find_phases(x);
    for (int k = 0; k < x->n; k++)
        if (x->slot[k] == -1) x->order[count++] = k;
    sort_by(x, x->op, PERP__OP_COUNT, count);
    sort_by(x, x->phase, phases, count);
    sort_by(x, x->is_late, 2, count);
    return count;
}

static void make_instructions(perp__tape *tape, nodes *x, const perp_expr *roots, int early)
{
    tape->ncode = find_order(x, roots, early);
    for (int i = 0; i < tape->ncode; i++) {
        int k = x->order[i];
        x->slot[k] = tape->first + tape->nconst + i;
        perp__instruction *code = &tape->code[i];
        code->op = x->op[k];
        code->a = x->slot[perp__operand_place(x->reach, x->n, k, 0)];
        code->b = perp__op_arity(code->op) > 1 ? x->slot[perp__operand_place(x->reach, x->n, k, 1)]
                                               : code->a;
    }
    for (int i = tape->ncode - 1, run = 0; i >= 0; i--) {
        int goes_on = i + 1 < tape->ncode && tape->code[i].op == tape->code[i + 1].op &&
                      x->is_late[x->order[i]] == x->is_late[x->order[i + 1]];
        run = goes_on ? run + 1 : 1;
        tape->code[i].run = run;
    }
}

int perp__tape_compile_upon(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                            int nroots, int early, int first, const int *given, int *leaves)
{
    nodes x = {0};
    memset(tape, 0, sizeof *tape);
    x.reach = perp__graph_reach(graph, roots, nroots, &x.n);
    tape->constant = malloc(((size_t)x.n + 1) * sizeof *tape->constant);
    tape->code = malloc(((size_t)x.n + 1) * sizeof *tape->code);
    tape->out = malloc(((size_t)nroots + 1) * sizeof *tape->out);
    int ok = allocate(&x) && tape->constant && tape->code && tape->out;
    if (ok) {
        tape->first = first;
        tape->nout = nroots;
        find_needed(graph, roots, nroots, given, x.reach, x.n, x.slot);
        for (int k = 0; k < x.n; k++) { /* symbols and constants first */
            const perp__node *node = &graph->node[x.reach[k]];
            x.op[k] = node->op;
            if (x.slot[k] != -1) continue;
            if (node->op == PERP__SYMBOL) x.slot[k] = node->a;
            if (node->op != PERP__CONST) continue;
            x.slot[k] = first + tape->nconst;
            tape->constant[tape->nconst++] = node->value;
        }
        make_instructions(tape, &x, roots, early);
        for (int i = 0; i < tape->ncode && leaves; i++)
            leaves[x.reach[x.order[i]]] = x.slot[x.order[i]];
        for (int i = 0; i < nroots; i++)
            tape->out[i] = x.slot[perp__node_place(x.reach, x.n, roots[i])];
    }
    free(x.reach);
    free(x.slot);
    if (!ok) perp__tape_clear(tape);
    return ok;
}

int perp__tape_compile(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                       int nroots, int first)
{
    return perp__tape_compile_upon(tape, graph, roots, nroots, nroots, first, NULL, NULL);
}

int perp__tape_end(const perp__tape *tape)
{
    return tape->first + tape->nconst + tape->ncode;
}

void perp__tape_prepare(const perp__tape *tape, double *ws, int n)
{
    double *slot = ws + (size_t)tape->first * (size_t)n;
    for (int i = 0; i < tape->nconst; i++) {
        for (int p = 0; p < n; p++) *slot++ = tape->constant[i];
    }
}

int perp__tape_instructions(const perp__tape *tape, int n)
{
    int last = tape->first + tape->nconst - 1;
    for (int i = 0; i < n; i++) last = tape->out[i] > last ? tape->out[i] : last;
    return last - (tape->first + tape->nconst) + 1;
}

void perp__tape_eval(const perp__tape *tape, double *ws)
{
    perp__tape_eval_part(tape, ws, 0, tape->ncode);
}

/* A run of this value of a and b; of products, which have the longest, four at a time. */
#define ONE(k, value)                                                                              \
    do {                                                                                           \
        double a = ws[code[k].a], b = ws[code[k].b];                                               \
        result[k] = value;                                                                         \
    } while (0)
#define FOURS(value)                                                                               \
    for (; i + 4 < n; i += 4) {                                                                    \
        ONE(i, value);                                                                             \
        ONE(i + 1, value);                                                                         \
        ONE(i + 2, value);                                                                         \
        ONE(i + 3, value);                                                                         \
    }
#define RUN(value)                                                                                 \
    do {                                                                                           \
        ONE(i, value);                                                                             \
    } while (++i < n);                                                                             \
    break

/* By machine code, where that begins and ends there. */
static int is_run(const perp__tape *tape, double *ws, int first, int last)
{
    if ((first != 0 && first != tape->cut) || (last != tape->cut && last != tape->ncode)) return 0;
    if (first < tape->cut) tape->machine[0](ws);
    if (last > tape->cut) tape->machine[1](ws);
    return 1;
}

static void interpret(const perp__tape *tape, double *ws, int first, int last)
{
    double *result = ws + tape->first + tape->nconst + first;
    const perp__instruction *code = tape->code + first, *end = tape->code + last;
    for (long n; code < end; code += n, result += n) {
        int op = code->op;
        long i = 0;
        n = code->run;
        switch (op) { /* what fills most tapes first */
        case PERP__ADD: RUN(a + b);
        case PERP__SUB: RUN(a - b);
        case PERP__MUL: FOURS(a * b) RUN(a * b);
        case PERP__DIV: RUN(a / b);
        case PERP__NEG: RUN(((void)b, -a));
        case PERP__SIN: RUN(((void)b, sin(a)));
        case PERP__COS: RUN(((void)b, cos(a)));
        default: RUN(perp__apply(op, a, b));
        }
    }
}

void perp__tape_eval_part(const perp__tape *tape, double *ws, int first, int last)
{
    if (!tape->machine[0] || !is_run(tape, ws, first, last)) interpret(tape, ws, first, last);
}

void perp__tape_complete(const perp__tape *tape, double *ws)
{
    if (tape->machine[0]) interpret(tape, ws, 0, tape->ncode);
}

static inline PERP_INLINE void eval_many(const perp__tape *tape, double *ws, int n)
{
    size_t np = (size_t)n;
    double *restrict result = ws + (size_t)(tape->first + tape->nconst) * np;
    for (int k = 0; k < tape->ncode; k++, result += np) {
        const double *a = ws + (size_t)tape->code[k].a * np, *b = ws + (size_t)tape->code[k].b * np;
        int op = tape->code[k].op;
        switch (op) {
        case PERP__ADD:
            for (int p = 0; p < n; p++) result[p] = a[p] + b[p];
            break;
        case PERP__SUB:
            for (int p = 0; p < n; p++) result[p] = a[p] - b[p];
            break;
        case PERP__MUL:
            for (int p = 0; p < n; p++) result[p] = a[p] * b[p];
            break;
        case PERP__DIV:
            for (int p = 0; p < n; p++) result[p] = a[p] / b[p];
            break;
        case PERP__NEG:
            for (int p = 0; p < n; p++) result[p] = -a[p];
            break;
        case PERP__SQRT:
            for (int p = 0; p < n; p++) result[p] = sqrt(a[p]);
            break;
        case PERP__ABS:
            for (int p = 0; p < n; p++) result[p] = fabs(a[p]);
            break;
        default:
            for (int p = 0; p < n; p++) result[p] = perp__apply(op, a[p], b[p]);
        }
    }
}

#define VERSION(isa, target)                                                                       \
    target static void eval_many_##isa(const perp__tape *tape, double *ws, int n)                  \
    {                                                                                              \
        eval_many(tape, ws, n);                                                                    \
    }
PERP_ISA_LIST(VERSION)
#define NAME(isa, target) eval_many_##isa,
static void (*const versions[])(const perp__tape *tape, double *ws, int n) = {PERP_ISA_LIST(NAME)};

void perp__tape_eval_many(const perp__tape *tape, double *ws, int n)
{
    versions[perp__isa()](tape, ws, n);
}

void perp__tape_get(const perp__tape *tape, double *ws, double *out)
{
    perp__tape_eval(tape, ws);
    for (int i = 0; i < tape->nout; i++) out[i] = ws[tape->out[i]];
}
