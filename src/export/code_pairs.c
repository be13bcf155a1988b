/* What exported code in floats evaluates in pairs of floats (docs/adr/102): sides of pairs, and
 * equations, that are made of positions alone. Their error over the length of a step is a
 * velocity. */

#include "export/code.h"
#include "model/emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const function[PERP__OP_COUNT] = {
    [PERP__ADD] = "add",   [PERP__SUB] = "sub", [PERP__MUL] = "mul", [PERP__DIV] = "div",
    [PERP__NEG] = "neg",   [PERP__SIN] = "sin", [PERP__COS] = "cos", [PERP__TAN] = "tan",
    [PERP__SQRT] = "sqrt", [PERP__ABS] = "abs", [PERP__MIN] = "min", [PERP__MAX] = "max",
    [PERP__LE] = "le",     [PERP__LT] = "lt"};

static int takes_two(int op)
{
    return op == PERP__ADD || op == PERP__SUB || op == PERP__MUL || op == PERP__DIV ||
           op == PERP__MIN || op == PERP__MAX || op == PERP__LE || op == PERP__LT;
}

/* A row that is left - right, slots of the check's tape; right < 0: it is left. */
typedef struct sharp {
    int row, left, right;
} sharp;

typedef struct pairs {
    const perp__code *c;
    const perp__tape *tape;
    const int *place; /* of slots in the workspace */
    sharp *row;
    int n;
    char *is_used; /* instructions */
    char *is_asked;
    int *stack;
} pairs;

static int maker(const pairs *p, int slot)
{
    int i = slot - p->tape->first - p->tape->nconst;
    return i < 0 ? -1 : i;
}

/* Mark what a slot is made of. Is there a pair for all of it? */
static int ask(pairs *p, int slot)
{
    int n = 0, ok = 1;
    if (slot < 0 || maker(p, slot) < 0) return 1;
    p->stack[n++] = maker(p, slot);
    while (n > 0) {
        int i = p->stack[--n];
        const perp__instruction *code = &p->tape->code[i];
        if (p->is_asked[i]) continue;
        p->is_asked[i] = 1;
        ok = ok && function[code->op];
        if (maker(p, code->a) >= 0) p->stack[n++] = maker(p, code->a);
        if (takes_two(code->op) && maker(p, code->b) >= 0) p->stack[n++] = maker(p, code->b);
    }
    return ok;
}

/* Take a row, where there are pairs for all that it is made of. Else say that it stays plain. */
static void take(pairs *p, sharp row, int at, perp__text *plain)
{
    size_t n = (size_t)p->tape->ncode;
    if (row.right < 0 && maker(p, row.left) < 0) return; /* it is as exact as it can be */
    memset(p->is_asked, 0, n + 1);
    if (ask(p, row.left) & ask(p, row.right)) {
        for (size_t i = 0; i < n; i++) p->is_used[i] |= p->is_asked[i];
        p->row[p->n++] = row;
        return;
    }
    perp__place place = perp__source_place(&p->c->model->source, at);
    perp__text_format(plain, plain->length ? ", %ld" : "%ld", place.line);
}

static void take_all(pairs *p, const char *side, const char *equation, perp__text *plain)
{
    const perp__step *s = &p->c->sim->step;
    const perp_model *m = s->model;
    const int *root = p->tape->out;
    for (int i = 0; i < s->layout->nown; i++, root += 2) {
        int of = s->layout->marks.equation[i];
        sharp row = {i, root[0], root[1]};
        if (equation[of] && !s->layout->marks.has_h[i]) take(p, row, m->equation[of].at, plain);
    }
    for (int i = 0, k = 0; i < m->npair; i++, k++) {
        int two = m->pair[i].two_sided;
        sharp row = {side[i] == 1 ? s->layout->pair[k].a : s->layout->pair[k].b, root[side[i] == 2],
                     -1};
        if (side[i] && !two) take(p, row, m->pair[i].at, plain);
        root += two ? 4 : 2;
        k += two != 0;
    }
}

/* Text ----------------------------------------------------------------------------------------- */

static void put_operand(const pairs *p, int slot, perp__text *to)
{
    const perp__step *s = &p->c->sim->step;
    int constant = slot - p->tape->first, state = slot - s->layout->sym.y,
        before = slot - s->layout->sym.pre;
    if (maker(p, slot) >= 0) {
        perp__text_format(to, "v%d", slot);
    } else if (constant >= 0) {
        double x = p->tape->constant[constant], hi = (double)(float)x;
        perp__text_put(to, "(twofold){");
        perp__emit_number(to, hi);
        perp__text_put(to, ", ");
        perp__emit_number(to, isfinite(hi) ? (double)(float)(x - hi) : 0);
        perp__text_put(to, "}");
    } else if (state >= 0 && state < s->layout->nx) {
        perp__text_format(to, "(twofold){w[%d], s->lost[%d]}", p->place[slot], state);
    } else if (before >= 0 && before < s->layout->nx) {
        perp__text_format(to, "(twofold){w[%d], s->early[%d]}", p->place[slot], before);
    } else {
        perp__text_format(to, "(twofold){w[%d], 0}", p->place[slot]);
    }
}

static void put_statements(const pairs *p, perp__text *to)
{
    int first = p->tape->first + p->tape->nconst;
    perp__text_put(to, "static void take_gaps(work *s)\n{\n    const real *w = s->w;\n");
    for (int i = 0; i < p->tape->ncode; i++) {
        const perp__instruction *code = &p->tape->code[i];
        if (!p->is_used[i]) continue;
        perp__text_format(to, "    const twofold v%d = twofold_%s(", first + i, function[code->op]);
        put_operand(p, code->a, to);
        if (takes_two(code->op)) {
            perp__text_put(to, ", ");
            put_operand(p, code->b, to);
        }
        perp__text_put(to, ");\n");
    }
    for (int k = 0; k < p->n; k++) {
        perp__text_format(to, "    s->value[%d] = ", p->row[k].row);
        if (p->row[k].right >= 0) perp__text_put(to, "twofold_sub(");
        put_operand(p, p->row[k].left, to);
        if (p->row[k].right >= 0) {
            perp__text_put(to, ", ");
            put_operand(p, p->row[k].right, to);
            perp__text_put(to, ")");
        }
        perp__text_put(to, ".hi;\n");
    }
    perp__text_put(to, "}\n\n");
}

static void put_all(const pairs *p, perp__text *to)
{
    int subtracts = 0;
    for (int k = 0; k < p->n; k++) subtracts |= p->row[k].right >= 0;
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        int is_used = op == PERP__SUB && subtracts;
        for (int i = 0; i < p->tape->ncode; i++)
            is_used |= p->is_used[i] && p->tape->code[i].op == op;
        if (!function[op]) continue;
        perp__text_put(to, "#define USES_");
        for (const char *c = function[op]; *c; c++) perp__text_format(to, "%c", *c - 'a' + 'A');
        perp__text_format(to, " %d\n", is_used);
    }
    perp__text_put(to, "\n");
    perp__text_put(to, (const char *)perp__pairs_text);
    perp__text_put(to, "\n");
    put_statements(p, to);
}

int perp__code_pairs(const perp__code *c, const int *place, perp__text *to, perp__text *plain)
{
    const perp_model *m = c->model;
    const perp__step *s = &c->sim->step;
    size_t n = (size_t)s->layout->tape.check.ncode + 1,
           pairs_most = (size_t)m->npair + (size_t)s->layout->nown + 1;
    char *side = calloc((size_t)m->npair + (size_t)m->nequation + 1, 1);
    pairs p = {.c = c, .tape = &s->layout->tape.check, .place = place};
    p.row = malloc(pairs_most * sizeof *p.row);
    p.is_used = calloc(n, 2);
    p.stack = malloc(2 * n * sizeof *p.stack);
    if (side && p.row && p.is_used && p.stack && perp__positions_find(m, side, side + m->npair)) {
        p.is_asked = p.is_used + n;
        if (m->kind == PERP_CONTINUOUS) take_all(&p, side, side + m->npair, plain);
        if (p.n > 0) put_all(&p, to);
    } else {
        to->failed = 1;
    }
    free(side);
    free(p.row);
    free(p.is_used);
    free(p.stack);
    return p.n;
}
