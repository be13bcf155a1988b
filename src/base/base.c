/* Status and outcome names, version, diagnostics text. */

#include "base/base.h"

#include "base/number.h"
#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROW(name, text)            {#name, text},
#define OUTCOME_ROW(n, word, text) {word, text},
static const perp__word status_rows[] = {PERP_STATUS_LIST(ROW)};
static const perp__word outcome_rows[] = {PERP_OUTCOME_LIST(OUTCOME_ROW)};
static const perp__words statuses = PERP_WORDS(status_rows), outcomes = PERP_WORDS(outcome_rows);

const char *perp_status_name(perp_status status)
{
    return perp__word_name(&statuses, (int)status);
}

const char *perp_outcome_name(perp_outcome outcome)
{
    return perp__word_name(&outcomes, (int)outcome);
}

PERP_WORD_SUMMARY(perp_status, perp_status_message, statuses)
PERP_WORD_SUMMARY(perp_outcome, perp_outcome_message, outcomes)

perp_status perp_outcome_status(perp_status status, perp_outcome outcome)
{
    return status == PERP_OK && outcome != PERP_SOLVED ? PERP_ERR_NO_SOLUTION : status;
}

const char *perp_version(void)
{
    return PERP_VERSION;
}

void perp_diag_clear(perp_diag *diag)
{
    if (!diag) return;
    free(diag->text);
    memset(diag, 0, sizeof *diag);
}

const char *perp_diag_text(const perp_diag *diag)
{
    return diag && diag->text ? diag->text : "";
}

/* Room for `more` bytes and a final zero; 0 when memory is out. */
static int diag_reserve(perp_diag *diag, size_t more)
{
    if (diag->length + more + 1 <= diag->capacity) return 1;
    size_t capacity = diag->capacity ? 2 * diag->capacity : 256;
    while (capacity < diag->length + more + 1) capacity *= 2;
    char *text = realloc(diag->text, capacity);
    if (!text) return 0;
    diag->text = text;
    diag->capacity = capacity;
    return 1;
}

static void append(perp_diag *diag, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = perp__vformat(NULL, 0, format, again);
    va_end(again);
    if (n < 0 || !diag_reserve(diag, (size_t)n)) {
        diag->lost++;
        return;
    }
    perp__vformat(diag->text + diag->length, (size_t)n + 1, format, args);
    for (int i = 0; i < n; i++) { /* what a file contains must not command the terminal */
        char *c = &diag->text[diag->length + (size_t)i];
        if (((unsigned char)*c < 32 && *c != '\n' && *c != '\t') || *c == 127) *c = '?';
    }
    diag->length += (size_t)n;
}

void perp__diag_append(perp_diag *diag, const char *format, ...)
{
    if (!diag) return;
    va_list args;
    va_start(args, format);
    append(diag, format, args);
    va_end(args);
}

perp_status perp__refuse(perp_diag *diag, perp_status status, perp__place place, const char *format,
                         ...)
{
    if (!diag) return status;
    if (place.file) perp__diag_append(diag, "%s:", place.file);
    if (place.line > 0) perp__diag_append(diag, "%ld:", place.line);
    if (place.column > 0) perp__diag_append(diag, "%ld:", place.column);
    if (place.file) perp__diag_append(diag, " ");
    va_list args;
    va_start(args, format);
    append(diag, format, args);
    va_end(args);
    diag->errors++;
    return status;
}

/* Is it one of the two lines that show where: "    12 | text", "       | ^~~"? */
static int is_shown(const char *line, const char *end)
{
    const char *s = line;
    while (s < end && *s == ' ') s++;
    while (s < end && *s >= '0' && *s <= '9') s++;
    while (s < end && *s == ' ') s++;
    return s < end && *s == '|' && *line == ' ';
}

/* ":12:3: " at s; the last of it, or NULL. Without a column it is 0. */
static const char *read_place(const char *s, const char *end, perp_message *m)
{
    int number[2] = {0, 0}, n = 0;
    for (; n < 2 && s + 1 < end && *s == ':' && s[1] >= '0' && s[1] <= '9'; n++)
        for (s++; s < end && *s >= '0' && *s <= '9' && number[n] < 100000000; s++)
            number[n] = 10 * number[n] + *s - '0';
    if (s + 1 >= end || s[0] != ':' || s[1] != ' ') return NULL;
    m->line = number[0];
    m->column = number[1];
    return s + 2;
}

/* "file:line:column: text", with what is not known left out. */
static void read_message(const char *line, const char *end, perp_message *m)
{
    *m = (perp_message){.text = line};
    for (const char *s = line; s < end && !m->file; s++) {
        const char *text = *s == ':' && s > line ? read_place(s, end, m) : NULL;
        if (text && !m->line && memchr(line, ' ', (size_t)(s - line))) break; /* words, no file */
        if (text) {
            m->file = line;
            m->nfile = (int)(s - line);
            m->text = text;
        }
    }
    m->ntext = (int)(end - m->text);
}

int perp_diag_next(const perp_diag *diag, size_t *at, perp_message *m)
{
    const char *text = perp_diag_text(diag), *end;
    size_t length = strlen(text);
    int found = 0;
    while (at && m && *at < length) {
        const char *line = text + *at;
        end = strchr(line, '\n');
        if (!end) end = text + length;
        if (found && !is_shown(line, end)) break;
        if (!is_shown(line, end)) read_message(line, end, m);
        const char *caret = found ? memchr(line, '^', (size_t)(end - line)) : NULL;
        if (caret && strspn(line, " |") == (size_t)(caret - line)) m->length = (int)(end - caret);
        found = 1;
        *at = (size_t)(end - text) + (*end == '\n');
    }
    return found;
}

perp_status perp__out_of_memory(perp_diag *diag, const char *name)
{
    return perp__refuse(diag, PERP_ERR_MEMORY, perp__in(name), "%s\n",
                        perp_status_message(PERP_ERR_MEMORY));
}

void perp__options_give(void *options, size_t size, const void *own, size_t own_size)
{
    if (!options || size < sizeof size) return;
    memset(options, 0, size);
    memcpy(options, own, size < own_size ? size : own_size);
    memcpy(options, &size, sizeof size);
}

int perp__options_take(void *own, size_t own_size, const void *options)
{
    const char *given = options;
    size_t size;
    if (!options) return 1;
    memcpy(&size, options, sizeof size);
    if (size < sizeof size || size > PERP__MOST_SIZE) return 0;
    for (size_t i = own_size; i < size; i++)
        if (given[i]) return 0;
    memcpy(own, options, size < own_size ? size : own_size);
    memcpy(own, &own_size, sizeof own_size);
    return 1;
}

void perp__result_give(void *result, const void *own, size_t own_size)
{
    size_t size;
    if (!result) return;
    memcpy(&size, result, sizeof size);
    perp__options_give(result, size, own, own_size);
}

double perp__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
