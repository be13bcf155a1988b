/* Reads the rows of a binary file. Damage is refused with its byte. A file without its end, as a
 * killed run leaves it, has the whole rows before that. */

#include "trajectory/binary.h"
#include "trajectory/reader.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { WORD = 8 };

/* A fault at a place of the rows, `at` bytes into what is in the buffer. */
#define FAULT_AT(r, place, ...)                                                                    \
    do {                                                                                           \
        (r)->errors++;                                                                             \
        perp__refuse((r)->diag, PERP_ERR_DATA, perp__in((r)->name),                                \
                     "byte %lld: ", (r)->before + ((place) - (r)->start));                         \
        perp__diag_append((r)->diag, __VA_ARGS__);                                                 \
        perp__diag_append((r)->diag, "\n");                                                        \
        (r)->at = (r)->end;                                                                        \
        (r)->file = NULL;                                                                          \
    } while (0)

int perp__is_binary(const char *first, const char *last)
{
    static const char begin[] = "# perpbin ";
    return last - first >= (long)sizeof begin - 1 && memcmp(first, begin, sizeof begin - 1) == 0;
}

/* Have n bytes in the buffer, where the file has so many. Returns 0: r->error says why not. */
static int fill(perp__reader *r, size_t n)
{
    while (r->file && (size_t)(r->end - r->at) < n)
        if (!perp__read_more(r)) return 0;
    return 1;
}

static size_t left(const perp__reader *r)
{
    return (size_t)(r->end - r->at);
}

static uint64_t turned_round(uint64_t word)
{
    char bytes[WORD], back[WORD];
    perp__put_word(bytes, word);
    for (int i = 0; i < WORD; i++) back[i] = bytes[WORD - 1 - i];
    return perp__get_word(back);
}

/* Is this the mark of the end, but for a few bits? No number of a run is. */
static int is_nearly_end(uint64_t word)
{
    uint64_t other = word ^ PERP__END_MARK;
    for (int k = 0; k < 4; k++) other &= other - 1; /* without its lowest bit */
    return !other;
}

static void say_cut(perp__reader *r, const char *where)
{
    perp__diag_append(r->diag, "%s: cut off at byte %lld, %s\n", r->name,
                      r->before + (r->end - r->start), where);
    r->at = r->end;
}

static int read_rows_mark(perp__reader *r)
{
    if (!fill(r, WORD)) return 0;
    uint64_t word = left(r) >= WORD ? perp__get_word(r->at) : 0;
    if (left(r) < WORD)
        say_cut(r, "before the first row");
    else if (word == turned_round(PERP__ROWS_MARK))
        FAULT_AT(r, r->at,
                 "the numbers have their bytes from high to low; in this format they go from low "
                 "to high");
    else if (word != PERP__ROWS_MARK)
        FAULT_AT(r, r->at, "expected the mark of the rows, '<rows:' and two bytes ff");
    else
        r->at += WORD;
    return 1;
}

/* A row into the columns; the sum with it. */
static uint64_t take_row(perp_trajectory *t, const char *at, uint64_t sum)
{
    for (int c = 0; c < t->columns; c++, at += WORD) {
        uint64_t word = perp__get_word(at);
        double *x = &t->value[c][t->rows];
        sum = perp__add_word(sum, word);
        memcpy(x, &word, WORD);
        if (*x != *x) *x = (double)NAN;
    }
    t->rows++;
    return sum;
}

/* At what is the end's mark, or nearly. */
static int read_end(perp__reader *r, uint64_t sum)
{
    if (!fill(r, 2 * WORD)) return 0;
    if (perp__get_word(r->at) != PERP__END_MARK)
        FAULT_AT(r, r->at, "damaged: this is nearly the mark of the rows' end");
    else if (left(r) < 2 * WORD)
        say_cut(r, "within the mark of the rows' end");
    else if (perp__get_word(r->at + WORD) != sum)
        FAULT_AT(
            r, r->at + WORD,
            "damaged: the sum over the %d rows before this byte is %016llx, not what stands here",
            r->out->rows, (unsigned long long)sum);
    else
        r->at += 2 * WORD;
    return 1;
}

int perp__read_binary_rows(perp__reader *r)
{
    perp_trajectory *t = r->out;
    size_t row = WORD * (size_t)t->columns;
    uint64_t sum = 0;
    if (r->ntext) {
        FAULT_AT(r, r->at, "columns of text are in CSV files only");
        return 1;
    }
    if (!read_rows_mark(r)) return 0;
    while (!r->errors) {
        if (!fill(r, row > WORD ? row : WORD)) return 0;
        if (left(r) >= WORD && is_nearly_end(perp__get_word(r->at))) return read_end(r, sum);
        if (left(r) < row) break;
        if (t->rows == INT_MAX) {
            FAULT_AT(r, r->at, "more than %d rows", INT_MAX);
            return 1;
        }
        if (!perp__grow_rows(t)) return 0;
        sum = take_row(t, r->at, sum);
        r->at += row;
    }
    if (left(r)) say_cut(r, "within a row, which is left out");
    return 1;
}
