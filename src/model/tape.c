/* Instructions in the order of the graph, so that each finds its arguments done. */

#include "model/tape.h"

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

/* slot[k]: where another tape leaves the value of reach[k]; -1 it is to be computed, -2 it is not needed. */
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

int perp__tape_compile(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                       int nroots, int first)
{
    return perp__tape_compile_upon(tape, graph, roots, nroots, first, NULL);
}

int perp__tape_compile_upon(perp__tape *tape, const perp__graph *graph, const perp_expr *roots,
                            int nroots, int first, const int *given)
{
    int n, ok = 0;
    memset(tape, 0, sizeof *tape);
    int *reach = perp__graph_reach(graph, roots, nroots, &n);
    int *slot = malloc(((size_t)n + 1) * sizeof *slot); /* of node reach[k] */
    tape->constant = malloc(((size_t)n + 1) * sizeof *tape->constant);
    tape->code = malloc(((size_t)n + 1) * sizeof *tape->code);
    tape->out = malloc(((size_t)nroots + 1) * sizeof *tape->out);
    if (!reach || !slot || !tape->constant || !tape->code || !tape->out) goto done;

    tape->first = first;
    tape->nout = nroots;
    find_needed(graph, roots, nroots, given, reach, n, slot);
    for (int k = 0; k < n; k++) { /* symbols and constants first */
        const perp__node *node = &graph->node[reach[k]];
        if (slot[k] != -1) continue;
        if (node->op == PERP__SYMBOL) slot[k] = node->a;
        if (node->op != PERP__CONST) continue;
        slot[k] = first + tape->nconst;
        tape->constant[tape->nconst++] = node->value;
    }
    for (int k = 0; k < n; k++) {
        const perp__node *node = &graph->node[reach[k]];
        int arity = perp__op_arity(node->op);
        if (arity == 0 || slot[k] != -1) continue;
        slot[k] = first + tape->nconst + tape->ncode;
        perp__instruction *code = &tape->code[tape->ncode++];
        code->op = node->op;
        code->a = slot[perp__operand_place(reach, n, k, 0)];
        code->b = arity > 1 ? slot[perp__operand_place(reach, n, k, 1)] : code->a;
    }
    for (int i = 0; i < nroots; i++) tape->out[i] = slot[perp__node_place(reach, n, roots[i])];
    ok = 1;
done:
    free(reach);
    free(slot);
    if (!ok) perp__tape_clear(tape);
    return ok;
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

void perp__tape_eval_part(const perp__tape *tape, double *ws, int first, int last)
{
    double *result = ws + tape->first + tape->nconst + first;
    const perp__instruction *code = tape->code + first, *end = tape->code + last;
    for (; code < end; code++, result++) {
        double a = ws[code->a], b = ws[code->b];
        switch (code->op) { /* the four that fill most tapes first */
        case PERP__ADD: *result = a + b; break;
        case PERP__SUB: *result = a - b; break;
        case PERP__MUL: *result = a * b; break;
        case PERP__DIV: *result = a / b; break;
        case PERP__NEG: *result = -a; break;
        default: *result = perp__apply(code->op, a, b);
        }
    }
}

void perp__tape_eval_many(const perp__tape *tape, double *ws, int n)
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

void perp__tape_get(const perp__tape *tape, double *ws, double *out)
{
    perp__tape_eval(tape, ws);
    for (int i = 0; i < tape->nout; i++) out[i] = ws[tape->out[i]];
}
