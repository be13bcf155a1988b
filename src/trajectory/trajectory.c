/* Reading tables: comments, one header row, rows of numbers as CSV; binary.c reads the rows of the
 * other format. */

#include "base/number.h"
#include "trajectory/reader.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHOWN = 40, MAX_NUMBER = 64 };

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int perp__read_more(perp__reader *r)
{
    size_t left = (size_t)(r->end - r->at);
    r->before += r->at - r->start;
    memmove(r->buffer, r->at, left);
    r->start = r->at = r->buffer;
    if (2 * left >= r->capacity) {
        char *larger = realloc(r->buffer, 2 * r->capacity);
        r->error = larger ? 0 : ENOMEM;
        if (!larger) return 0;
        r->start = r->at = r->buffer = larger;
        r->end = r->at + left;
        r->capacity *= 2;
    }
    errno = 0;
    size_t got = fread(r->buffer + left, 1, r->capacity - left, r->file);
    if (!ferror(r->file))
        r->error = 0;
    else if (errno)
        r->error = errno;
    else
        r->error = EIO;
    if (r->error) return 0;
    r->end = r->at + left + got;
    if (!r->before) r->is_binary = perp__is_binary(r->at, r->end);
    int is_expected = r->is_binary || !memchr(r->buffer + left, 0, got);
    if (got == 0 || !is_expected) r->file = NULL; /* what is no text is not read to its end */
    return 1;
}

/* The next line without its end; 0 at the end of the text, or where r->error says. */
static int next_line(perp__reader *r, const char **first, const char **last)
{
    const char *newline = NULL;
    while (!(newline = memchr(r->at, '\n', (size_t)(r->end - r->at))) && r->file) {
        if (!perp__read_more(r)) return 0;
    }
    if (r->at >= r->end) return 0;
    *first = r->at;
    r->has_end = newline != NULL;
    *last = newline ? newline : r->end;
    r->at = newline ? newline + 1 : r->end;
    while (*last > *first && is_blank((*last)[-1])) --*last;
    r->line++;
    return 1;
}

/* What stands between two commas, without blanks and quotes. */
typedef struct field {
    const char *text;
    size_t length;
    int doubled;       /* it has quotes, each written twice */
    const char *fault; /* NULL, or what is wrong with its quotes */
} field;

/* The closing quote of a text that starts behind the opening one, or NULL. */
static const char *closing_quote(const char *text, const char *last, int *doubled)
{
    const char *s = text;
    while ((s = memchr(s, '"', (size_t)(last - s))) && s + 1 < last && s[1] == '"') {
        *doubled = 1;
        s += 2;
    }
    return s;
}

/* The field that starts at *at; *at moves behind its comma. */
static field next_field(const char **at, const char *last)
{
    const char *s = *at, *e;
    field f = {0};
    while (s < last && is_blank(*s)) s++;
    f.text = s;
    int quoted = s < last && *s == '"';
    if (quoted) {
        f.text = s + 1;
        s = closing_quote(f.text, last, &f.doubled);
        if (!s) f.fault = "the quote is not closed";
        f.length = (size_t)((s ? s : last) - f.text);
        s = s ? s + 1 : last;
    }
    e = memchr(s, ',', (size_t)(last - s));
    *at = e ? e + 1 : last + 1;
    if (!e) e = last;
    while (e > s && is_blank(e[-1])) e--;
    if (!quoted)
        f.length = (size_t)(e - s);
    else if (e > s)
        f.fault = "text after the closing quote";
    return f;
}

static int shown(size_t length)
{
    return length > MAX_SHOWN ? MAX_SHOWN : (int)length;
}

/* A copy of the field's text. */
static const char *copy_field(perp__arena *arena, const field *f)
{
    char *copy = perp__arena_string(arena, f->text, f->length), *to = copy;
    for (size_t i = 0; copy && f->doubled && i < f->length; i++) {
        *to++ = f->text[i];
        if (f->text[i] == '"') i++;
    }
    if (copy && f->doubled) *to = 0;
    return copy;
}

/* "complete: N rows": N, or -1. */
static long rows_said(const char *comment)
{
    long n = 0;
    if (strncmp(comment, "complete: ", 10) != 0) return -1;
    const char *digit = comment + 10, *s = digit;
    for (; *s >= '0' && *s <= '9'; s++)
        n = n > LONG_MAX / 10 - 1 ? LONG_MAX : 10 * n + (*s - '0'); /* rows are fewer */
    return s > digit && strcmp(s, " rows") == 0 ? n : -1;
}

/* "# text": kept; "# unit NAME = UNIT" is understood once the names are known. */
static int read_comment(perp__reader *r, const char *first, const char *last)
{
    const size_t MOST = (size_t)1 << 26, EACH = 64; /* bytes; of those, for the line itself */
    perp_trajectory *t = r->out;
    first++;
    if (first < last && *first == ' ') first++;
    r->commented += (size_t)(last - first) + EACH;
    if (r->commented > MOST) {
        FAULT(r, 1, "the file has more than 64 MB of comments");
        r->at = r->end;
        r->file = NULL;
        return 1;
    }
    char *text = perp__arena_string(&t->arena, first, (size_t)(last - first));
    if (!text || !perp__grow(&t->comment, &t->ccomment, t->ncomment + 1, sizeof *t->comment))
        return 0;
    t->comment[t->ncomment++] = text;
    long said = rows_said(text);
    t->is_complete = said >= 0;
    if (said >= 0 && said != t->rows && !r->errors)
        FAULT(r, 1, "the file says that it has %ld rows, but there are %d above this line", said,
              t->rows);
    return 1;
}

static int compare_named(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* Sort the columns by name; place[c] is where column c stands in the header line. */
static int sort_names(perp__reader *r, const long *place)
{
    perp_trajectory *t = r->out;
    size_t n = (size_t)t->columns;
    char *again = calloc(n + 1, 1);
    t->by_name = malloc((n + 1) * sizeof *t->by_name);
    if (!again || !t->by_name) {
        free(again);
        return 0;
    }
    for (int c = 0; c < t->columns; c++) t->by_name[c] = (named){t->name[c], c};
    qsort(t->by_name, n, sizeof *t->by_name, compare_named);
    for (int k = 1; k < t->columns; k++) {
        if (strcmp(t->by_name[k].name, t->by_name[k - 1].name) == 0)
            again[t->by_name[k].column] = 1;
    }
    for (int c = 0; c < t->columns; c++) {
        if (again[c])
            FAULT(r, place[c], "the column name '%.*s' appears twice", MAX_SHOWN, t->name[c]);
    }
    free(again);
    return 1;
}

/* The names of a header line, and where each stands in it; 0 when memory is out. */
static int read_names(perp__reader *r, const char *first, const char *last, long **place)
{
    perp_trajectory *t = r->out;
    int cname = 0, cplace = 0;
    for (const char *at = first; at <= last;) {
        const char *start = at;
        field f = next_field(&at, last);
        if (f.fault) {
            FAULT(r, start - first + 1, "%s (column %d)", f.fault, t->columns + 1);
            return 1;
        }
        if (f.length == 0) {
            FAULT(r, start - first + 1, "column %d has no name", t->columns + 1);
            return 1;
        }
        if (!perp__grow(&t->name, &cname, t->columns + 1, sizeof *t->name)) return 0;
        if (!perp__grow(place, &cplace, t->columns + 1, sizeof **place)) return 0;
        t->name[t->columns] = copy_field(&t->arena, &f);
        if (!t->name[t->columns]) return 0;
        (*place)[t->columns++] = (long)(start - first + 1);
    }
    return 1;
}

/* Tables of other kinds show in their first line. */
static void check_separators(perp__reader *r, const char *first, const char *last)
{
    const char *name = r->out->name[0], *cr = memchr(first, '\r', (size_t)(last - first));
    if (cr)
        FAULT(r, cr - first + 1, "a carriage return inside a line; lines end with LF or CRLF");
    else if (r->out->columns == 1 && strpbrk(name, ";\t"))
        FAULT(r, strcspn(name, ";\t") + 1, "columns are separated by commas, not by %s",
              strchr(name, ';') ? "semicolons" : "tabs");
}

/* The last columns are of text where "# text NAME" says so. The table is without them. */
static void leave_out_texts(perp__reader *r)
{
    perp_trajectory *t = r->out;
    for (int is_text = 1; is_text && t->columns > 1;) {
        is_text = 0;
        for (int i = 0; i < t->ncomment; i++)
            is_text |= strncmp(t->comment[i], "text ", 5) == 0 &&
                       strcmp(t->comment[i] + 5, t->name[t->columns - 1]) == 0;
        t->columns -= is_text;
        r->ntext += is_text;
    }
}

static int read_header(perp__reader *r, const char *first, const char *last)
{
    perp_trajectory *t = r->out;
    const char *rest;
    long *place = NULL;
    int ok = read_names(r, first, last, &place);
    if (ok && !r->errors) {
        leave_out_texts(r);
        perp_number_read(t->name[0], &rest);
        if (*rest == 0)
            FAULT(r, 1, "expected a header row of names such as t,F; found the number '%.*s'",
                  MAX_SHOWN, t->name[0]);
        check_separators(r, first, last);
        t->unit = malloc((size_t)t->columns * sizeof *t->unit);
        t->value = calloc((size_t)t->columns, sizeof *t->value);
        ok = t->unit && t->value && sort_names(r, place);
        for (int c = 0; ok && c < t->columns; c++) t->unit[c] = "";
    }
    if (r->errors) r->at = r->end; /* rows under a wrong header have no errors of their own */
    free(place);
    return ok;
}

int perp__grow_rows(perp_trajectory *t)
{
    if (t->rows < t->crows) return 1;
    int larger = 16;
    if (t->crows > INT_MAX / 2)
        larger = INT_MAX;
    else if (t->crows)
        larger = 2 * t->crows; /* few: a table may have many columns */
    for (int c = 0; c < t->columns; c++) {
        double *moved = realloc(t->value[c], (size_t)larger * sizeof(double));
        if (!moved) return 0;
        t->value[c] = moved;
    }
    t->crows = larger;
    return 1;
}

/* Other readers of CSV take "0x10" for a text. */
static int is_hexadecimal(const char *s, size_t n)
{
    return memchr(s, 'x', n) || memchr(s, 'X', n);
}

/* A number, "nan", or nothing (also nan). */
static int read_number(const field *f, double *x)
{
    *x = (double)NAN;
    if (f->length == 0) return 1;
    if (is_hexadecimal(f->text, f->length)) return 0;
    return f->length < MAX_NUMBER && perp__number_read(f->text, f->length, x) == f->length;
}

/* The number that fills the field at *at, as nearly all do; *at moves behind its comma. Returns 0:
 * something else does. */
static int read_plain_field(const perp__reader *r, const char **at, const char *last, double *x)
{
    size_t n = perp__number_read(*at, (size_t)(r->end - *at), x);
    const char *behind = *at + n;
    if (n == 0 || n >= MAX_NUMBER || behind > last || (behind < last && *behind != ',') ||
        is_hexadecimal(*at, n))
        return 0;
    *at = behind + 1;
    return 1;
}

static int read_row(perp__reader *r, const char *first, const char *last)
{
    perp_trajectory *t = r->out;
    int n = 0, errors = r->errors;
    if (t->rows == INT_MAX) {
        FAULT(r, 1, "more than %d rows", INT_MAX);
        r->at = r->end;
        return 1;
    }
    if (t->is_complete) {
        FAULT(r, 1, "a row behind the line that says that the file is complete");
        r->at = r->end;
        return 1;
    }
    if (!perp__grow_rows(t)) return 0;
    for (const char *at = first; at <= last; n++) {
        const char *start = at;
        double x;
        if (n < t->columns && read_plain_field(r, &at, last, &x)) {
            t->value[n][t->rows] = x;
            continue;
        }
        field f = next_field(&at, last);
        if (n >= t->columns + r->ntext) continue;
        if (f.fault) {
            FAULT(r, start - first + 1, "%s (column %.*s)", f.fault, MAX_SHOWN, t->name[n]);
            break;
        }
        if (n >= t->columns) continue;
        if (!read_number(&f, &x)) {
            FAULT(r, start - first + 1, "'%.*s' is not a number (column %.*s)", shown(f.length),
                  f.text, MAX_SHOWN, t->name[n]);
            break;
        }
        t->value[n][t->rows] = x;
    }
    if (r->errors == errors && n != t->columns + r->ntext)
        FAULT(r, 1, "%d fields; the header has %d", n, t->columns + r->ntext);
    if (r->errors == errors) t->rows++;
    return 1;
}

/* The column of the name of n bytes, or -1. */
static int find_name(const perp_trajectory *t, const char *name, size_t n)
{
    int low = 0, high = t->columns;
    while (low < high) {
        int k = low + (high - low) / 2;
        const char *other = t->by_name[k].name;
        int order = strncmp(name, other, n);
        if (order == 0 && other[n]) order = -1;
        if (order == 0) return t->by_name[k].column;
        if (order < 0)
            high = k;
        else
            low = k + 1;
    }
    return -1;
}

/* "# unit NAME = UNIT" */
static void apply_units(perp_trajectory *t)
{
    for (int i = 0; i < t->ncomment; i++) {
        if (strncmp(t->comment[i], "unit ", 5) != 0) continue;
        const char *name = t->comment[i] + 5, *equals = strstr(name, " = ");
        int k = equals ? find_name(t, name, (size_t)(equals - name)) : -1;
        if (k >= 0) t->unit[k] = equals + 3;
    }
}

/* The last line, without its end. In a file of ours, whose lines have ends, it was cut off; in
 * other files it may be a whole row. An omitted line is reported. */
static int read_last_row(perp__reader *r, const char *first, const char *last)
{
    perp_trajectory *t = r->out;
    int is_ours = t->ncomment && strncmp(t->comment[0], "perp ", 5) == 0, errors = r->errors,
        ok = 1;
    perp_diag before = r->diag ? *r->diag : (perp_diag){0};
    if (!is_ours) ok = read_row(r, first, last);
    if (!is_ours && r->errors == errors) return ok;
    r->errors = errors;
    if (r->diag && r->diag->text) {
        r->diag->length = before.length;
        r->diag->text[before.length] = 0;
        r->diag->errors = before.errors;
    }
    perp__diag_append(r->diag, "%s:%ld: the last line is cut off; it is left out\n", r->name,
                      r->line);
    return ok;
}

static void check_version(perp__reader *r, const char *first, const char *last)
{
    size_t n = sizeof PERP__BINARY - 1;
    if ((size_t)(last - first) == n && memcmp(first, PERP__BINARY, n) == 0) return;
    FAULT(r, 1, "'%.*s': this version of perp reads '" PERP__BINARY "'",
          shown((size_t)(last - first)), first);
    r->at = r->end;
}

static int read_all(perp__reader *r)
{
    const char *first, *last;
    if (r->error || (r->file && !perp__read_more(r))) return 0;
    if (r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0) r->at += 3;
    if (r->end - r->at >= 4 && memcmp(r->at, "\x89HDF", 4) == 0) {
        r->line = 1;
        FAULT(r, 1,
              "an HDF5 file, which is for other programs: this one reads CSV "
              "and " PERP_BINARY_SUFFIX);
        return 1;
    }
    r->is_binary = perp__is_binary(r->at, r->end);
    if (r->is_binary && next_line(r, &first, &last)) check_version(r, first, last);
    while (r->errors < MAX_ERRORS && next_line(r, &first, &last)) {
        int ok = 1;
        if (first == last) continue;
        const char *zero = memchr(first, 0, (size_t)(last - first));
        if (zero) {
            FAULT(r, zero - first + 1, "not a text file: it has a zero byte");
            break;
        }
        if (*first == '#')
            ok = read_comment(r, first, last);
        else if (!r->out->columns)
            ok = read_header(r, first, last) &&
                 (!r->is_binary || r->errors || perp__read_binary_rows(r));
        else if (r->is_binary)
            FAULT(r, 1, "expected a line that starts with #, as all do behind the rows");
        else if (!r->has_end)
            ok = read_last_row(r, first, last);
        else
            ok = read_row(r, first, last);
        if (!ok) return 0;
    }
    if (r->error) return 0;
    if (!r->errors && !r->out->columns) {
        r->line = 1;
        FAULT(r, 1, "the file has no header row; expected names such as t,F");
    }
    if (!r->errors) apply_units(r->out);
    return 1;
}

/* The table that a reader reads, or NULL. */
static perp_status read_table(perp__reader *r, perp_trajectory **out)
{
    r->out = calloc(1, sizeof *r->out);
    perp_status status = PERP_ERR_MEMORY;
    if (r->why)
        status = PERP_ERR_FILE;
    else if (r->out && read_all(r))
        status = PERP_OK;
    else if (r->error && r->error != ENOMEM)
        status = PERP_ERR_FILE;
    if (status == PERP_OK && r->errors) status = PERP_ERR_DATA;
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(r->diag, r->name);
    if (status == PERP_ERR_FILE)
        perp__refuse(r->diag, status, perp__in(r->name), "%s\n",
                     r->why ? r->why : strerror(r->error));
    if (status == PERP_OK)
        *out = r->out;
    else
        perp_trajectory_destroy(r->out);
    return status;
}

perp_status perp_trajectory_parse(const char *text, size_t length, const char *name,
                                  perp_trajectory **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!text || !name) return PERP_ERR_ARG;
    perp__reader r = {.name = name, .start = text, .at = text, .end = text + length, .diag = diag};
    return read_table(&r, out);
}

perp_status perp__trajectory_read(const char *path, perp__input_kind kind, perp_trajectory **out,
                                  perp_diag *diag)
{
    enum { CAPACITY = 1 << 16 };
    FILE *file;
    perp__reader r = {.name = path, .capacity = CAPACITY, .diag = diag};
    perp_status status = perp__input_open(path, kind, SIZE_MAX, &file, &r.why);
    *out = NULL;
    r.file = file;
    if (file) r.buffer = malloc(CAPACITY);
    r.start = r.at = r.end = r.buffer;
    if (status == PERP_ERR_MEMORY || (file && !r.buffer))
        status = perp__out_of_memory(diag, path);
    else
        status = read_table(&r, out);
    free(r.buffer);
    perp__input_close(file);
    return status;
}

perp_status perp_trajectory_read(const char *path, perp_trajectory **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    return path ? perp__trajectory_read(path, PERP__STREAM, out, diag) : PERP_ERR_ARG;
}

void perp_trajectory_destroy(perp_trajectory *t)
{
    if (!t) return;
    for (int c = 0; t->value && c < t->columns; c++) free(t->value[c]);
    free(t->value);
    free(t->name);
    free(t->unit);
    free(t->by_name);
    free(t->comment);
    perp__arena_clear(&t->arena);
    free(t);
}

int perp_trajectory_rows(const perp_trajectory *t)
{
    return t->rows;
}

int perp_trajectory_columns(const perp_trajectory *t)
{
    return t->columns;
}

const char *perp_trajectory_name(const perp_trajectory *t, int column)
{
    return column >= 0 && column < t->columns ? t->name[column] : NULL;
}

const char *perp_trajectory_unit(const perp_trajectory *t, int column)
{
    return column >= 0 && column < t->columns ? t->unit[column] : NULL;
}

int perp_trajectory_find(const perp_trajectory *t, const char *name)
{
    return find_name(t, name, strlen(name));
}

const double *perp_trajectory_column(const perp_trajectory *t, int column)
{
    return column >= 0 && column < t->columns ? t->value[column] : NULL;
}

const char *perp_trajectory_comment(const perp_trajectory *t, int i)
{
    return i >= 0 && i < t->ncomment ? t->comment[i] : NULL;
}

int perp_trajectory_is_complete(const perp_trajectory *t)
{
    return t->is_complete;
}

void perp__list_columns(perp_diag *diag, const perp_trajectory *table)
{
    enum { MOST = 64 };
    int n = perp_trajectory_columns(table);
    for (int i = 0; i < n && i < MOST; i++)
        perp__diag_append(diag, "%s %.40s", i ? "," : "", perp_trajectory_name(table, i));
    perp__diag_append(diag, n > MOST ? ", ...\n" : "\n");
}
