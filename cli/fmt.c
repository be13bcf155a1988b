/* perp fmt: a model in one style. Only blanks and empty lines change: indents by braces and
 * brackets, one blank around assignments and comparisons, sums spaced out, products tight. The
 * result is checked before the file is written. */

#include "base/input.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_args args;
    const char *file, *out;
    int check;
} request;

#define INTO(field) CLI_INTO(request, field)

static const cli_option options[] = {
    {"", "FILE.perp", NULL, INTO(file), .needed = "which model?"},
    {"check", NULL, "change nothing; exit code 2 where the file is not in this style", INTO(check)},
    {"o", "OUT.perp", "write it there, - is standard output (default: the file itself)", INTO(out),
     .is_output = 1, .endings = "perp *"},
};

const cli_command cli_command_fmt = {
    .name = "fmt",
    .usage = "FILE.perp [options]",
    .about = "Write a model, or a file of parts, in one style: four blanks for each brace and "
             "bracket that is "
             "open, one blank around = and <=,\n"
             "sums spaced out, products and what is in an index tight. Only blanks change; "
             "comments and lines "
             "stay, and what is\n"
             "in that style does not change.",
    .notes = "examples:\n"
             "  perp fmt block.perp\n"
             "  perp fmt block.perp --check\n"
             "\n"
             "exit codes: 0 done, 1 usage, 2 --check found another style, 4 file or memory",
    CLI_OPTIONS(options)};

typedef enum kind { START, WORD, NUMBER, STRING, OPEN, CLOSE, SIGN, COMMENT } kind;

typedef struct token {
    kind kind;
    const char *at;
    int n;
    int is_spaced; /* there was a blank before it */
} token;

enum { DEEPEST = 1000, INDENT = 4, MOST_BYTES = 16 << 20 };

typedef struct writer {
    const char *in;
    char *out; /* three bytes for each of the text, and indents, suffice */
    size_t n, capacity;
    char open[DEEPEST]; /* brackets: the sign, 'i' for that of an index */
    int depth, failed;
    int is_method; /* behind `method`: backward-euler is one word */
    token before;  /* the token before the last, for the sign of a number */
} writer;

static void put(writer *w, const char *text, size_t n)
{
    if (w->n + n > w->capacity) {
        size_t capacity = 2 * (w->n + n) + 256;
        char *out = realloc(w->out, capacity);
        w->failed |= !out;
        if (!out) return;
        w->out = out;
        w->capacity = capacity;
    }
    memcpy(w->out + w->n, text, n);
    w->n += n;
}

static int is_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One of the signs for perp, <= and >=. */
static int is_sign(const char *s)
{
    return strncmp(s, "\xE2\x8A\xA5", 3) == 0 || strncmp(s, "\xE2\x89\xA4", 3) == 0 ||
           strncmp(s, "\xE2\x89\xA5", 3) == 0;
}

static int length_of_number(const char *s)
{
    int i = 0;
    while (is_digit(s[i])) i++;
    if (s[i] == '.' && s[i + 1] != '.') i++;
    while (is_digit(s[i])) i++;
    int sign = s[i] && (s[i + 1] == '-' || s[i + 1] == '+');
    if ((s[i] == 'e' || s[i] == 'E') && is_digit(s[i + 1 + sign])) i += 1 + sign;
    while (is_digit(s[i]) || is_word((unsigned char)s[i])) i++;
    return i;
}

/* The token at s, which is no blank and not the end of its line. */
static token scan(const char *s, int is_spaced)
{
    token t = {SIGN, s, 1, is_spaced};
    if (*s == '#') {
        t.kind = COMMENT;
        t.n = (int)strcspn(s, "\n");
        while (s[t.n - 1] == ' ' || s[t.n - 1] == '\t' || s[t.n - 1] == '\r') t.n--;
    } else if (*s == '"') {
        t.kind = STRING;
        t.n = 1 + (int)strcspn(s + 1, "\"\n");
        t.n += s[t.n] == '"';
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        t.kind = NUMBER;
        t.n = length_of_number(s);
    } else if (is_sign(s)) {
        t.n = 3;
    } else if (is_word((unsigned char)*s)) {
        t.kind = WORD;
        while (is_digit(s[t.n]) || (is_word((unsigned char)s[t.n]) && !is_sign(s + t.n))) t.n++;
    } else if (strchr("([{", *s)) {
        t.kind = OPEN;
    } else if (strchr(")]}", *s)) {
        t.kind = CLOSE;
    } else if (strncmp(s, "<=", 2) == 0 || strncmp(s, ">=", 2) == 0 || strncmp(s, "..", 2) == 0 ||
               strncmp(s, "+=", 2) == 0) {
        t.n = 2;
    }
    return t;
}

static int is(const token *t, const char *text)
{
    return (size_t)t->n == strlen(text) && strncmp(t->at, text, (size_t)t->n) == 0;
}

static int is_one_of(const token *t, const char *signs)
{
    return t->kind == SIGN && t->n == 1 && strchr(signs, *t->at);
}

/* Does an operand end with this token? */
static int ends_operand(const token *t)
{
    return t->kind == WORD || t->kind == NUMBER || t->kind == CLOSE || t->kind == STRING;
}

static int is_tight_sign(const token *t)
{
    return is_one_of(t, "*/^.%") || is(t, "..");
}

/* Is `last` a + or - that stands before one operand, not between two? */
static int is_unary(const writer *w, const token *last)
{
    return is_one_of(last, "+-") && (!ends_operand(&w->before) || w->before.kind == START);
}

/* Is a blank between these two? What is open: the innermost bracket. */
static int has_blank(const writer *w, const token *last, const token *t)
{
    char open = w->depth ? w->open[w->depth - 1] : 0;
    if (w->is_method && !t->is_spaced && (is_one_of(t, "-") || is_one_of(last, "-"))) return 0;
    if (last->kind == START) return 0;
    if (is_one_of(t, ",;:") || (t->kind == CLOSE && *t->at != '}')) return 0;
    if (t->kind == CLOSE) return !(last->kind == OPEN && *last->at == '{');
    if (last->kind == OPEN) return *last->at == '{';
    if (is_one_of(last, ",;")) return open != 'i';
    if (is_one_of(last, ":")) return open != 'i';
    if (is_tight_sign(t) || is_tight_sign(last)) return is_one_of(last, "%") && t->kind == WORD;
    if (t->kind == OPEN && *t->at != '{')
        return ends_operand(last) ? t->is_spaced : !is_unary(w, last);
    if (is_one_of(t, "+-") && ends_operand(last)) {
        int is_sign_of_next = last->kind == WORD && t->is_spaced && t->at[1] != ' ';
        return open != 'i' || is_sign_of_next;
    }
    if (is_one_of(last, "+-") && last->at[1] != ' ' && w->before.kind == WORD && last->is_spaced)
        return 0;
    if (is_unary(w, last)) return 0;
    return !(open == 'i' && is_one_of(last, "+-"));
}

static int is_called(const token *t, const char *word)
{
    return t->kind == WORD && (size_t)t->n == strlen(word) &&
           strncmp(t->at, word, (size_t)t->n) == 0;
}

static void put_token(writer *w, const token *last, const token *t)
{
    if (t->kind == COMMENT && last->kind != START)
        put(w, "  ", 2);
    else if (has_blank(w, last, t))
        put(w, " ", 1);
    put(w, t->at, (size_t)t->n);
    if (t->kind == WORD && t->is_spaced)
        w->is_method = is_called(last, "method") || is_called(last, "complementarity");
    if (t->kind == OPEN && w->depth < DEEPEST)
        w->open[w->depth++] = *t->at == '[' && ends_operand(last) && !t->is_spaced ? 'i' : *t->at;
    if (t->kind == CLOSE && w->depth > 0) w->depth--;
}

/* The line at s, without its end; returns where it ends. */
static const char *put_line(writer *w, const char *s)
{
    token last = {START, s, 0, 0};
    int closes = 0;
    const char *p = s;
    w->before = last;
    w->is_method = 0;
    for (; *p == ' ' || *p == '\t' || *p == ')' || *p == ']' || *p == '}'; p++)
        closes += *p != ' ' && *p != '\t';
    int indent = INDENT * (w->depth > closes ? w->depth - closes : 0), is_spaced = 0;
    s += strspn(s, " \t\r");
    for (int i = 0; i < indent && *s && *s != '\n'; i++) put(w, " ", 1);
    for (; *s && *s != '\n'; is_spaced = 0) {
        size_t blanks = strspn(s, " \t\r");
        s += blanks;
        is_spaced = blanks > 0;
        if (!*s || *s == '\n') break;
        token t = scan(s, is_spaced);
        put_token(w, &last, &t);
        w->before = last;
        last = t;
        s += t.n;
    }
    return s;
}

/* The text in the style: one empty line at most, none at the beginning and the end. NULL when
 * memory is out. */
static char *rewrite(const char *text, size_t *n)
{
    writer w = {.in = text};
    int empty = 0;
    for (const char *s = text; *s; s += *s == '\n') {
        const char *first = s + strspn(s, " \t\r");
        if (*first == '\n' || !*first) {
            empty = w.n > 0;
            s = first;
            continue;
        }
        if (empty) put(&w, "\n", 1);
        empty = 0;
        s = put_line(&w, s);
        put(&w, "\n", 1);
    }
    put(&w, "", 1);
    *n = w.n - 1;
    if (!w.failed) return w.out;
    free(w.out);
    return NULL;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Have both texts the same tokens, in lines of the same statements? */
static int is_same_model(const char *a, const char *b)
{
    int line_a = 0, line_b = 0, first = 1;
    for (;; first = 0) {
        const char *from_a = a, *from_b = b;
        for (line_a = 0; is_blank(*a); a++) line_a |= *a == '\n';
        for (line_b = 0; is_blank(*b); b++) line_b |= *b == '\n';
        if (!*a || !*b) return !*a && !*b;
        token x = scan(a, a > from_a), y = scan(b, b > from_b);
        if ((line_a != line_b && !first) || x.kind != y.kind || x.n != y.n ||
            strncmp(a, b, (size_t)x.n) != 0)
            return 0;
        a += x.n;
        b += y.n;
    }
}

char *cli_format(const char *text, size_t *n)
{
    char *out = rewrite(text, n);
    if (!out) cli_exit_code(PERP_ERR_MEMORY);
    if (!out || is_same_model(text, out)) return out;
    free(out);
    return NULL;
}

/* The whole file, with a zero behind it; *code says why not. The caller frees it. */
static char *read_file(const char *path, int *code)
{
    char *text;
    const char *why;
    size_t n;
    perp_status status = perp__input_read(path, PERP__STREAM, MOST_BYTES, 1, &text, &n, &why);
    if (status == PERP_OK && memchr(text, 0, n)) {
        status = PERP_ERR_DATA;
        why = "not a text file";
    }
    if (status == PERP_ERR_FILE || status == PERP_ERR_DATA) cli_say("%s: %s\n", path, why);
    if (status != PERP_OK) *code = cli_exit_code(status);
    return text;
}

static int write_out(const request *r, const char *text, size_t n, perp_diag *diag)
{
    const char *path = r->out ? r->out : r->file;
    if (strcmp(path, "-") == 0) return fwrite(text, 1, n, stdout) == n ? CLI_DONE : CLI_FILE;
    return cli_exit_code(perp_file_write(path, text, n, diag));
}

int perp__cmd_fmt(int argc, char **argv)
{
    request r = {.args = {&cli_command_fmt, argc, argv}};
    int code = cli_read(&r.args, &r);
    perp_diag diag = {0};
    char *text = NULL, *out = NULL;
    size_t n_out = 0;
    if (code == CLI_DONE) text = read_file(r.file, &code);
    if (code == CLI_DONE && !(out = cli_format(text, &n_out)) && !cli_is_out_of_memory()) {
        cli_say("%s: left as it is: there is text in it that is none of a model\n", r.file);
        code = CLI_BAD_INPUT;
    } else if (code == CLI_DONE && out && r.check && strcmp(text, out) != 0) {
        cli_say("%s: not in the style of perp fmt\n", r.file);
        code = CLI_BAD_INPUT;
    } else if (code == CLI_DONE && out && !r.check && (r.out || strcmp(text, out) != 0)) {
        code = write_out(&r, out, n_out, &diag);
    }
    cli_print_diag(&diag, stderr);
    perp_diag_clear(&diag);
    free(text);
    free(out);
    return code;
}
