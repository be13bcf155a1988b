/* Each instruction is one assignment with the operation's own value from ops.def: a compiler that keeps to IEEE arithmetic makes the
 * interpreter's bits of it. They stand in depth-first order, so that most values are used soon and stay in a register. */

#include "model/emit.h"

#include <stdlib.h>

/* The longest function: compilers take more than linear time for long ones. */
enum { LONGEST = 1024 };

static const char *const value[PERP__OP_COUNT] = {
#define PERP_FUNCTION(name, arity, text, value, ...) [PERP__##name] = #value,
#include "model/ops.def"
    [PERP__ADD] = "a + b",
    [PERP__SUB] = "a - b",
    [PERP__MUL] = "a * b",
    [PERP__DIV] = "a / b",
    [PERP__POW] = "pow(a, b)",
    [PERP__NEG] = "-a",
    [PERP__STEP] = "a > 0 ? 1 : a < 0 ? 0 : a == 0 ? 0.5 : a",
    [PERP__LE] = "a <= b",
    [PERP__LT] = "a < b",
};

void perp__emit_head(perp__text *text)
{
    perp__text_put(text, "#include <math.h>\n");
    for (int op = 0; op < PERP__OP_COUNT; op++)
        if (value[op])
            perp__text_format(
                text, "static inline double f%d(double a, double b) { (void)b; return %s; }\n", op,
                value[op]);
}

/* A tape on its way into text. */
typedef struct emission {
    perp__text *text;
    const perp__tape *tape;
    int first, end;     /* the part's instructions */
    int *order, norder; /* those in the order of the text */
    int *
        function; /* of each instruction of the tape: the number of the function it stands in; -1: not yet ordered */
    char *is_kept; /* is it written to the workspace? */
    int *stack;
} emission;

/* The instruction that makes a slot; -1: none, a symbol or constant. */
static int maker(const perp__tape *tape, int slot)
{
    int i = slot - tape->first - tape->nconst;
    return i < 0 ? -1 : i;
}

static int is_open(const emission *e, int i)
{
    return i >= e->first && i < e->end && e->function[i] < 0;
}

/* Append an instruction, what it is made of before it. */
static void order_from(emission *e, int root)
{
    int n = 0;
    if (is_open(e, root)) e->stack[n++] = root;
    while (n > 0) {
        int i = e->stack[n - 1], a = maker(e->tape, e->tape->code[i].a),
            b = maker(e->tape, e->tape->code[i].b);
        if (is_open(e, a))
            e->stack[n++] = a;
        else if (is_open(e, b))
            e->stack[n++] = b;
        else {
            n--;
            if (!is_open(e, i)) continue;
            e->function[i] = e->norder / LONGEST;
            e->order[e->norder++] = i;
        }
    }
}

static void find_order(emission *e)
{
    e->norder = 0;
    for (int r = 0; r < e->tape->nout; r++) order_from(e, maker(e->tape, e->tape->out[r]));
    for (int i = e->first; i < e->end; i++) order_from(e, i);
}

/* What another function or the caller reads. */
static void find_kept(emission *e)
{
    for (int i = e->first; i < e->end; i++) {
        int operand[] = {maker(e->tape, e->tape->code[i].a), maker(e->tape, e->tape->code[i].b)};
        for (int k = 0; k < 2; k++)
            if (operand[k] >= 0 &&
                (operand[k] < e->first || e->function[operand[k]] != e->function[i]))
                e->is_kept[operand[k]] = 1;
    }
}

/* "v7" where the value was made in this function, else "w[7]". */
static void write_operand(char text[24], const emission *e, int slot, int function)
{
    int i = maker(e->tape, slot);
    int is_local = i >= e->first && e->function[i] == function;
    snprintf(text, 24, is_local ? "v%d" : "w[%d]", slot);
}

static void emit_statement(const emission *e, int i)
{
    static const char sign[PERP__OP_COUNT] = {
        [PERP__ADD] = '+', [PERP__SUB] = '-', [PERP__MUL] = '*', [PERP__DIV] = '/'};
    const perp__instruction *code = &e->tape->code[i];
    int slot = e->tape->first + e->tape->nconst + i;
    char a[24], b[24];
    write_operand(a, e, code->a, e->function[i]);
    write_operand(b, e, code->b, e->function[i]);
    if (sign[code->op])
        perp__text_format(e->text, "double v%d=%s%c%s;", slot, a, sign[code->op], b);
    else
        perp__text_format(e->text, "double v%d=f%d(%s,%s);", slot, code->op, a, b);
    if (e->is_kept[i]) perp__text_format(e->text, "w[%d]=v%d;", slot, slot);
    perp__text_put(e->text, "\n");
}

/* `void NAME(double *w)`, which calls one function after the other. */
static void emit_part(emission *e, const char *name, char part)
{
    int n = 0;
    for (int k = 0; k < e->norder; n++) {
        perp__text_format(e->text, "static void %s%c%d(double *w)\n{\n", name, part, n);
        while (k < e->norder && e->function[e->order[k]] == n) emit_statement(e, e->order[k++]);
        perp__text_put(e->text, "}\n");
    }
    perp__text_format(e->text, "void %s%c(double *w)\n{\n(void)w;\n", name, part);
    for (int k = 0; k < n; k++) perp__text_format(e->text, "%s%c%d(w);\n", name, part, k);
    perp__text_put(e->text, "}\n");
}

int perp__emit_tape(perp__text *text, const char *name, const perp__tape *tape, int cut,
                    const char *is_read)
{
    size_t n = (size_t)tape->ncode + 1;
    int *room = malloc(3 * n * sizeof *room);
    char *is_kept = malloc(n);
    emission e = {.text = text, .tape = tape, .is_kept = is_kept};
    if (room && is_kept) {
        e.order = room, e.function = room + n, e.stack = room + 2 * n;
        for (int i = 0; i < tape->ncode; i++) e.function[i] = -1, is_kept[i] = is_read[i];
        for (int r = 0; r < tape->nout; r++)
            if (maker(tape, tape->out[r]) >= 0) is_kept[maker(tape, tape->out[r])] = 1;
        for (int i = cut; i < tape->ncode; i++) { /* what the second part takes from the first */
            int a = maker(tape, tape->code[i].a), b = maker(tape, tape->code[i].b);
            if (a >= 0 && a < cut) is_kept[a] = 1;
            if (b >= 0 && b < cut) is_kept[b] = 1;
        }
        for (int part = 0; part < 2; part++) {
            e.first = part ? cut : 0, e.end = part ? tape->ncode : cut;
            find_order(&e);
            find_kept(&e);
            emit_part(&e, name, (char)('a' + part));
        }
    }
    free(room);
    free(is_kept);
    return e.order && !text->failed;
}
