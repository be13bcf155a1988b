/* Each instruction is one assignment with the operation's own value from ops.def: a compiler that
 * keeps to IEEE arithmetic makes the interpreter's bits of it. They stand in depth-first order, so
 * that most values are used soon and stay in a register. */

#include "model/emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest function: compilers take more than linear time for long ones. */
enum { LONGEST = 1024 };

static const char sign[PERP__OP_COUNT] = {
    [PERP__ADD] = '+', [PERP__SUB] = '-', [PERP__MUL] = '*', [PERP__DIV] = '/'};

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

/* Names that a call follows, in MATH(..). */
static void put_value(perp__text *text, const char *says)
{
    for (const char *p = says; *p;) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
        if (n > 0 && p[n] == '(')
            perp__text_format(text, "MATH(%.*s)", (int)n, p);
        else
            perp__text_bytes(text, p, n ? n : 1);
        p += n ? n : 1;
    }
}

/* A function for each operation that is called. */
static void put_head(perp__text *text, const perp__emitted *emitted, int n,
                     const perp__emit_style *style)
{
    char is_used[PERP__OP_COUNT] = {0};
    for (int t = 0; t < n; t++)
        for (int i = 0; i < emitted[t].tape->ncode; i++) is_used[emitted[t].tape->code[i].op] = 1;
    if (!style) perp__text_put(text, "#include <math.h>\n");
    for (int op = 0; op < PERP__OP_COUNT; op++) {
        if (!is_used[op] || !value[op] || sign[op]) continue;
        perp__text_format(
            text,
            style ? "static real f%d(real a, real b)\n{\n    (void)b;\n    return (real)("
                  : "static inline double f%d(double a, double b) { (void)b; return (",
            op);
        if (style)
            put_value(text, value[op]);
        else
            perp__text_put(text, value[op]);
        perp__text_put(text, style ? ");\n}\n\n" : "); }\n");
    }
}

void perp__emit_number(perp__text *text, double x)
{
    char number[PERP_NUMBER_SIZE];
    perp_number_write(fabs(x), number);
    if (!isfinite(x)) {
        const char *word;
        if (isnan(x))
            word = "R(NAN)";
        else if (x < 0)
            word = "R(-INFINITY)";
        else
            word = "R(INFINITY)";
        perp__text_put(text, word);
    } else
        perp__text_format(text, "R(%s%s%s)", signbit(x) ? "-" : "", number,
                          strpbrk(number, ".e") ? "" : ".0");
}

/* A tape on its way into text. */
typedef struct emission {
    perp__text *text;
    const perp__tape *tape;
    int first, end;     /* the part's instructions */
    int *order, norder; /* those in the order of the text */
    /* of each instruction of the tape: the number of the function it stands in; -1: not yet
     * ordered */
    int * function;
    char *is_kept; /* is it written to the workspace? */
    int *stack;
    perp__emit_style *style;
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
    for (int i = e->first; i < e->end; i++)
        if (!e->style || e->is_kept[i]) order_from(e, i); /* of others nothing is read */
}

/* What another function or the caller reads. */
static void find_kept(emission *e)
{
    for (int i = e->first; i < e->end; i++) {
        if (e->function[i] < 0) continue;
        int operand[] = {maker(e->tape, e->tape->code[i].a), maker(e->tape, e->tape->code[i].b)};
        for (int k = 0; k < 2; k++)
            if (operand[k] >= 0 &&
                (operand[k] < e->first || e->function[operand[k]] != e->function[i]))
                e->is_kept[operand[k]] = 1;
    }
}

/* Position of a slot in the workspace; a value gets its position when it is written. */
static int place_of(const emission *e, int slot)
{
    perp__emit_style *style = e->style;
    if (!style) return slot;
    if (style->place[slot] < 0) style->place[slot] = style->nplace++;
    return style->place[slot];
}

/* "v7" if the value was made in this function, a number if it is one and the style allows it, else
 * "w[7]". */
static void put_operand(const emission *e, int slot, int function)
{
    int i = maker(e->tape, slot), constant = slot - e->tape->first;
    if (i >= e->first && e->function[i] == function)
        perp__text_format(e->text, "v%d", slot);
    else if (e->style && constant >= 0 && constant < e->tape->nconst)
        perp__emit_number(e->text, e->tape->constant[constant]);
    else
        perp__text_format(e->text, "w[%d]", place_of(e, slot));
}

static void emit_statement(const emission *e, int i)
{
    const perp__instruction *code = &e->tape->code[i];
    int slot = e->tape->first + e->tape->nconst + i;
    perp__text_format(e->text, e->style ? "    real v%d = " : "double v%d=", slot);
    if (!sign[code->op]) perp__text_format(e->text, "f%d(", code->op);
    put_operand(e, code->a, e->function[i]);
    const char *blank = e->style ? " " : "";
    if (sign[code->op])
        perp__text_format(e->text, "%s%c%s", blank, sign[code->op], blank);
    else
        perp__text_format(e->text, ",%s", blank);
    put_operand(e, code->b, e->function[i]);
    perp__text_put(e->text, sign[code->op] ? ";" : ");");
    if (e->is_kept[i])
        perp__text_format(e->text, e->style ? "\n    w[%d] = v%d;" : "w[%d]=v%d;",
                          place_of(e, slot), slot);
    perp__text_put(e->text, "\n");
}

/* `void NAME(double *w)`, which calls one function after the other. */
static void emit_part(emission *e, const char *name, int tape, char part)
{
    const char *type = e->style ? "real" : "double", *storage = e->style ? "static " : "";
    int n = 0;
    for (int k = 0; k < e->norder; n++) {
        perp__text_format(e->text, "static void %s%d%c%d(%s *w)\n{\n", name, tape, part, n, type);
        while (k < e->norder && e->function[e->order[k]] == n) emit_statement(e, e->order[k++]);
        perp__text_put(e->text, "}\n");
    }
    perp__text_format(e->text, "%svoid %s%d%c(%s *w)\n{\n    (void)w;\n", storage, name, tape, part,
                      type);
    for (int k = 0; k < n; k++)
        perp__text_format(e->text, "    %s%d%c%d(w);\n", name, tape, part, k);
    perp__text_put(e->text, "}\n");
}

/* Mark what is written: roots, what others read, and what the second part takes from the first. */
static void begin_kept(const emission *e, int cut)
{
    const perp__tape *tape = e->tape;
    for (int r = 0; r < tape->nout; r++)
        if (maker(tape, tape->out[r]) >= 0) e->is_kept[maker(tape, tape->out[r])] = 1;
    for (int i = cut; i < tape->ncode; i++) {
        int a = maker(tape, tape->code[i].a), b = maker(tape, tape->code[i].b);
        if (a >= 0 && a < cut) e->is_kept[a] = 1;
        if (b >= 0 && b < cut) e->is_kept[b] = 1;
    }
}

/* Of the instructions of tape k, those whose value another takes. */
static void find_read(const perp__emitted *emitted, int n, int k, char *is_read)
{
    const perp__tape *of = emitted[k].tape;
    int first = of->first + of->nconst;
    for (int j = 0; j < n; j++) {
        const perp__tape *by = emitted[j].tape;
        for (int i = 0; i < by->ncode + by->nout && j != k; i++) {
            int a = i < by->ncode ? by->code[i].a : by->out[i - by->ncode],
                b = i < by->ncode ? by->code[i].b : a;
            if (a >= first && a - first < of->ncode) is_read[a - first] = 1;
            if (b >= first && b - first < of->ncode) is_read[b - first] = 1;
        }
    }
}

static int emit_tape(perp__text *text, const char *name, const perp__emitted *emitted, int count,
                     int k, perp__emit_style *style)
{
    const perp__tape *tape = emitted[k].tape;
    size_t n = (size_t)tape->ncode + 1;
    int *room = malloc(3 * n * sizeof *room), cut = emitted[k].cut;
    char *is_kept = calloc(n, 1);
    emission e = {.text = text, .tape = tape, .is_kept = is_kept, .style = style};
    if (room && is_kept) {
        e.order = room;
        e.function = room + n;
        e.stack = room + 2 * n;
        for (int i = 0; i < tape->ncode; i++) e.function[i] = -1;
        find_read(emitted, count, k, is_kept);
        begin_kept(&e, cut);
        for (int part = 0; part < 2; part++) {
            e.first = part ? cut : 0;
            e.end = part ? tape->ncode : cut;
            find_order(&e);
            find_kept(&e);
            if (style && part == 0 && cut == 0) continue;
            emit_part(&e, name, k, (char)('a' + part));
        }
    }
    free(room);
    free(is_kept);
    return e.order && !text->failed;
}

int perp__emit(perp__text *text, const char *name, const perp__emitted *emitted, int n,
               perp__emit_style *style)
{
    int ok = 1;
    put_head(text, emitted, n, style);
    for (int k = 0; ok && k < n; k++) ok = emit_tape(text, name, emitted, n, k, style);
    return ok && !text->failed;
}
