/* The marks of .nl files: numbers, names and letters, as text with comments or as bytes of either
 * order, and the header. */

#include "program/nl.h"

#include "base/number.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int perp__nl_fail(perp__nl_reader *r, const char *format, ...)
{
    char text[400];
    va_list args;
    perp__place place = {r->nl->name, r->is_binary ? 0 : r->line,
                         r->is_binary ? 0 : (long)(r->at - r->line_begin) + 1};
    if (r->status != PERP_OK) return 0;
    va_start(args, format);
    perp__vformat(text, sizeof text, format, args);
    va_end(args);
    r->status = PERP_ERR_DATA;
    if (r->is_binary)
        perp__refuse(r->diag, r->status, place, "%s, byte %ld: %s\n", r->segment,
                     (long)(r->at - r->begin), text);
    else
        perp__refuse(r->diag, r->status, place, "%s: %s\n", r->segment, text);
    return 0;
}

int perp__nl_no_memory(perp__nl_reader *r)
{
    if (r->status == PERP_OK) r->status = perp__out_of_memory(r->diag, r->nl->name);
    return 0;
}

/* Text ----------------------------------------------------------------------------------------- */

static void skip_blanks(perp__nl_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) r->at++;
}

/* To the start of the next line, over a comment. Returns 0: there is something else. */
static int skip_line(perp__nl_reader *r)
{
    skip_blanks(r);
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end && *r->at == '\r') r->at++;
    if (r->at == r->end) return 1;
    if (*r->at != '\n') return 0;
    r->line_begin = ++r->at;
    r->line++;
    return 1;
}

int perp__nl_end_of_line(perp__nl_reader *r)
{
    if (r->status != PERP_OK) return 0;
    if (r->is_binary || skip_line(r)) return 1;
    return perp__nl_fail(r, "expected the end of the line");
}

static int text_number(perp__nl_reader *r, const char *what, double *x)
{
    skip_blanks(r);
    size_t used = perp__number_read(r->at, (size_t)(r->end - r->at), x);
    if (used == 0) return perp__nl_fail(r, "expected %s, a number", what);
    r->at += used;
    return 1;
}

/* A whole number, quickly: most of a file is such. */
static int text_int(perp__nl_reader *r, const char *what, long long *x)
{
    const char *at;
    long long sum = 0;
    skip_blanks(r);
    at = r->at;
    int is_negative = at < r->end && *at == '-';
    at += is_negative;
    const char *digits = at;
    while (at < r->end && *at >= '0' && *at <= '9' && at - digits < 18)
        sum = 10 * sum + (*at++ - '0');
    if (at == digits) return perp__nl_fail(r, "expected %s, a whole number", what);
    if (at < r->end && (*at == '.' || *at == 'e' || *at == 'E')) { /* 3.0 */
        double value;
        if (!text_number(r, what, &value)) return 0;
        if (value != floor(value) || fabs(value) > 1e15)
            return perp__nl_fail(r, "expected %s, a whole number", what);
        *x = (long long)value;
        return 1;
    }
    r->at = at;
    *x = is_negative ? -sum : sum;
    return 1;
}

/* Binary --------------------------------------------------------------------------------------- */

static int take_bytes(perp__nl_reader *r, const char *what, void *to, size_t n)
{
    unsigned char *byte = to;
    if ((size_t)(r->end - r->at) < n)
        return perp__nl_fail(r, "the file ends where %s is expected", what);
    for (size_t i = 0; i < n; i++) byte[r->is_swapped ? n - 1 - i : i] = (unsigned char)r->at[i];
    r->at += n;
    return 1;
}

/* Either --------------------------------------------------------------------------------------- */

int perp__nl_mark(perp__nl_reader *r, char *mark)
{
    if (r->status != PERP_OK) return 0;
    if (r->at == r->end) return perp__nl_fail(r, "the file ends within this segment");
    *mark = *r->at++;
    return 1;
}

int perp__nl_int(perp__nl_reader *r, int lo, int hi, const char *what, int *x)
{
    long long value;
    if (r->status != PERP_OK) return 0;
    if (r->is_binary) {
        int narrow = 0;
        if (!take_bytes(r, what, &narrow, sizeof narrow)) return 0;
        value = narrow;
    } else if (!text_int(r, what, &value)) {
        return 0;
    }
    if (value < lo || value > hi)
        return perp__nl_fail(r, "%s is %lld; expected %d to %d", what, value, lo, hi);
    *x = (int)value;
    return 1;
}

int perp__nl_number(perp__nl_reader *r, const char *what, double *x)
{
    if (r->status != PERP_OK) return 0;
    int ok = r->is_binary ? take_bytes(r, what, x, sizeof *x) : text_number(r, what, x);
    if (ok && isnan(*x)) return perp__nl_fail(r, "%s is not a number", what);
    return ok;
}

int perp__nl_short(perp__nl_reader *r, double *x)
{
    short value;
    if (!r->is_binary) return perp__nl_number(r, "a constant", x);
    if (r->status != PERP_OK || !take_bytes(r, "a constant", &value, sizeof value)) return 0;
    *x = value;
    return 1;
}

int perp__nl_name(perp__nl_reader *r, char *text, size_t size)
{
    int length = 0;
    if (r->is_binary && !perp__nl_int(r, 0, INT_MAX, "the length of a name", &length)) return 0;
    if (r->status != PERP_OK) return 0;
    if (!r->is_binary) {
        skip_blanks(r);
        while (r->at + length < r->end && (unsigned char)r->at[length] > ' ') length++;
    }
    if (length > r->end - r->at) return perp__nl_fail(r, "the file ends within a name");
    size_t kept = (size_t)length < size ? (size_t)length : size - 1;
    memcpy(text, r->at, kept);
    text[kept] = 0;
    r->at += length;
    return 1;
}

/* Header --------------------------------------------------------------------------------------- */

/* The whole numbers of a line; those that are not there are 0. At least `least` of them must be. */
static int header_line(perp__nl_reader *r, int least, int most, int *x)
{
    memset(x, 0, (size_t)most * sizeof *x);
    for (int i = 0; i < most; i++) {
        long long value;
        skip_blanks(r);
        int is_there = r->at < r->end && *r->at != '\n' && *r->at != '\r' && *r->at != '#';
        if (!is_there && i >= least) break;
        if (!text_int(r, "a count", &value)) return 0;
        if (value < -1 || value > INT_MAX)
            return perp__nl_fail(r, "a count of %lld is beyond what can be", value);
        x[i] = value < 0 ? 0 : (int)value;
    }
    return skip_line(r) || perp__nl_fail(r, "expected the end of the line");
}

/* "g3 1 1 0": the format and the options of AMPL. */
static int first_line(perp__nl_reader *r, int *is_binary)
{
    perp__nl *nl = r->nl;
    long long n = 0;
    if (r->at == r->end || (*r->at != 'g' && *r->at != 'b'))
        return perp__nl_fail(r, "an .nl file begins with g (text) or b (binary)");
    *is_binary = *r->at++ == 'b';
    if (!text_int(r, "the number of options", &n)) return 0;
    if (n < 0 || n > 9) return perp__nl_fail(r, "expected 0 to 9 options, not %lld", n);
    nl->noption = (int)n;
    for (int i = 0; i < nl->noption; i++) {
        long long value;
        if (!text_int(r, "an option", &value)) return 0;
        if (value < -1000000) value = -1000000;
        if (value > 1000000) value = 1000000;
        nl->option[i] = (int)value;
    }
    if (nl->noption > 1 && nl->option[1] == 3 && !text_number(r, "an option", &nl->vbtol)) return 0;
    while (r->at < r->end && *r->at != '\n' && *r->at != '#') r->at++; /* what newer writers add */
    return skip_line(r) || perp__nl_fail(r, "expected the end of the line");
}

/* Whole-number kinds of variables; the first that is there is an error. */
static int refuse_discrete(perp__nl_reader *r, const int *count)
{
    static const char *const what[] = {"binary", "integer", "nonlinear integer",
                                       "nonlinear integer", "nonlinear integer"};
    for (int i = 0; i < 5; i++)
        if (count[i] > 0)
            return perp__nl_fail(r, "%d %s variable%s; perp solves programs of real ones", count[i],
                                 what[i], count[i] > 1 ? "s" : "");
    return 1;
}

int perp__nl_header(perp__nl_reader *r)
{
    enum { LITTLE = 1, BIG = 2 };
    perp__nl *nl = r->nl;
    int x[8], is_binary = 0;
    const int one = 1;
    snprintf(r->segment, sizeof r->segment, "header");
    if (!first_line(r, &is_binary) || !header_line(r, 3, 6, x)) return 0;
    nl->nvar = x[0];
    nl->ncon = x[1];
    nl->nobj = x[2];
    if (x[5] > 0) return perp__nl_fail(r, "%d logical constraints, which are not solved", x[5]);
    long size = (long)(r->end - r->begin);
    if (nl->nvar > size || nl->ncon > size || nl->nobj > size)
        return perp__nl_fail(r,
                             "%d variables, %d rows and %d objectives are more than %ld bytes hold",
                             nl->nvar, nl->ncon, nl->nobj, size);
    if (!header_line(r, 2, 6, x) || !header_line(r, 2, 2, x)) return 0;
    if (x[0] || x[1]) return perp__nl_fail(r, "network constraints are not known");
    if (!header_line(r, 2, 3, x) || !header_line(r, 2, 4, x)) return 0;
    int order = x[2], ends_little = *(const char *)&one == 1;
    if (x[1] > 0) return perp__nl_fail(r, "%d imported functions, which are not known", x[1]);
    if (is_binary && order > BIG)
        return perp__nl_fail(r, "numbers of kind %d, neither little- nor big-endian", order);
    r->is_swapped = is_binary && order != 0 && (order == LITTLE) != ends_little;
    if (!header_line(r, 2, 5, x) || !refuse_discrete(r, x)) return 0;
    if (!header_line(r, 2, 2, x) || !header_line(r, 2, 2, x) || !header_line(r, 5, 5, x)) return 0;
    for (int i = 0; i < 5; i++) {
        if (x[i] > size - r->ndefined)
            return perp__nl_fail(r, "more defined variables than %ld bytes hold", size);
        r->ndefined += x[i];
    }
    r->is_binary = is_binary;
    return 1;
}
