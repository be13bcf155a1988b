/* Messages are kept by place and written in its order, with the line and a caret. */

#include "model/source.h"

#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ERRORS = 20, SHOWN_WIDTH = 96, MOST_MESSAGES = 1000 };

void perp__source_clear(perp__source *source)
{
    for (int i = 0; i < source->nmessage; i++) free(source->message[i].text);
    free(source->message);
    source->message = NULL;
    source->nmessage = source->capacity = source->nerror = 0;
}

/* "; in train[2] (stack.perp:14:1), ..", the innermost first */
static void add_notes(const perp__source *source, char *buffer, size_t size)
{
    enum { SHOWN_NOTES = 4 };
    int shown = 0;
    for (const perp__note *note = source->note; note && shown < SHOWN_NOTES; note = note->outer) {
        size_t n = strlen(buffer);
        perp__place place = perp__source_place(source, note->at);
        perp__format(buffer + n, size - n, "%s in %s (%s:%ld:%ld)", shown++ ? "," : ";", note->name,
                     place.file, place.line, place.column);
    }
}

void perp__error(perp__source *source, int at, int end, const char *format, ...)
{
    char buffer[1024];
    va_list args;
    va_start(args, format);
    perp__vformat(buffer, sizeof buffer, format, args);
    va_end(args);

    int said = (int)strlen(buffer);
    for (int i = 0; i < source->nmessage;
         i++) { /* said already: a loop body is lowered once per turn, a part once per instance */
        const perp__message *m = &source->message[i];
        if (m->at == at && m->said == said && memcmp(m->text, buffer, (size_t)said) == 0) return;
    }
    source->nerror++;
    if (source->nmessage >= MOST_MESSAGES) return;
    add_notes(source, buffer, sizeof buffer);
    char *text = malloc(strlen(buffer) + 1);
    if (!text || !perp__grow(&source->message, &source->capacity, source->nmessage + 1,
                             sizeof *source->message)) {
        free(text);
        return;
    }
    strcpy(text, buffer);
    source->message[source->nmessage++] = (perp__message){at, end, text, said};
}

int perp__source_has_error(const perp__source *source, int at)
{
    int found = 0;
    for (int i = 0; i < source->nmessage; i++) found |= source->message[i].at == at;
    return found;
}

int perp__source_lost(const perp__source *source)
{
    return source->nmessage < (source->nerror < MOST_MESSAGES ? source->nerror : MOST_MESSAGES);
}

static int continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

int perp__source_lines(perp__source *source, perp__arena *arena)
{
    int n = 1, k = 1, file = 0;
    for (int i = 0; i < source->length; i++) n += source->text[i] == '\n';
    int *line = perp__arena_alloc(arena, (size_t)n * sizeof *line);
    if (!line) return 0;
    for (int i = 0; i < source->length; i++) {
        if (source->text[i] != '\n') continue;
        if (file + 1 < source->nfile && source->file[file + 1].at == i + 1)
            source->file[++file].line = k;
        line[k++] = i + 1;
    }
    source->line = line;
    source->nline = n;
    return 1;
}

/* The last line that begins at `at` or before it, from 0. */
static int line_of(const perp__source *source, int at)
{
    int low = 0, high = source->nline - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (source->line[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int perp__source_add(perp__source *source, perp__arena *arena, const char *name, const char *text,
                     size_t length)
{
    int n = source->nfile ? source->nfile : 1, at = source->length + 1;
    perp__file *file = perp__arena_alloc(arena, (size_t)(n + 1) * sizeof *file);
    char *all = perp__arena_alloc(arena, (size_t)at + length + 1);
    if (!file || !all) return 0;
    if (source->nfile) memcpy(file, source->file, (size_t)n * sizeof *file);
    if (!source->nfile) file[0] = (perp__file){source->name, 0, 0};
    file[n] = (perp__file){name, at, 0};
    memcpy(all, source->text, (size_t)source->length);
    all[source->length] = '\n';
    memcpy(all + at, text, length);
    source->text = all;
    source->length = at + (int)length;
    source->file = file;
    source->nfile = n + 1;
    return !source->nline || perp__source_lines(source, arena);
}

int perp__source_file(const perp__source *source, int at)
{
    int k = source->nfile - 1;
    while (k > 0 && source->file[k].at > at) k--;
    return k > 0 ? k : 0;
}

perp__place perp__source_place(const perp__source *source, int at)
{
    int first = source->nline > 0 ? line_of(source, at) : 0, k = perp__source_file(source, at);
    perp__place place = {source->name, first + 1, 1};
    if (k > 0) place = (perp__place){source->file[k].name, first + 1 - source->file[k].line, 1};
    for (int i = source->nline > 0 ? source->line[first] : 0; i < at && i < source->length; i++) {
        if (source->text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (!continues_character(source->text[i]))
            place.column++;
    }
    return place;
}

perp__place perp__said_place(const perp__source *source, perp__said word)
{
    return word.text ? perp__source_place(source, word.at) : perp__in(source->name);
}

static int by_place(const void *x, const void *y)
{
    const perp__message *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

/* The line around `at`, cut to a window when it is long, and a caret under the marked text. */
static void show_line(const perp__source *source, const perp__message *message, long line,
                      perp_diag *diag)
{
    const char *text = source->text;
    int at = message->at < source->length ? message->at : source->length, first = at, last = at;
    while (first > 0 && text[first - 1] != '\n') first--;
    while (last < source->length && text[last] != '\n' && text[last] != '\r') last++;
    if (at - first > SHOWN_WIDTH / 2) first = at - SHOWN_WIDTH / 2;
    while (first < at && continues_character(text[first])) first++;
    if (last - first > SHOWN_WIDTH) last = first + SHOWN_WIDTH;
    while (last > at && last < source->length && continues_character(text[last])) last--;

    char shown[2 * SHOWN_WIDTH + 2], caret[2 * SHOWN_WIDTH + 2];
    int ns = 0, nc = 0;
    for (int i = first; i < last; i++) {
        unsigned char c = (unsigned char)text[i];
        shown[ns++] = c < 32 || c == 127 ? ' ' : (char)c;
        if (continues_character(text[i])) continue;
        if (i < at)
            caret[nc++] = ' ';
        else if (i == at)
            caret[nc++] = '^';
        else if (i < message->end)
            caret[nc++] = '~';
    }
    if (at >= last) caret[nc++] = '^';
    shown[ns] = caret[nc] = 0;
    perp__diag_append(diag, "%6ld | %s\n       | %s\n", line, shown, caret);
}

void perp__source_report(perp__source *source, perp_diag *diag)
{
    if (!diag) return;
    if (source->nmessage)
        qsort(source->message, (size_t)source->nmessage, sizeof *source->message, by_place);
    for (int i = 0; i < source->nmessage && i < SHOWN_ERRORS; i++) {
        perp__place place = perp__source_place(source, source->message[i].at);
        perp__refuse(diag, PERP_ERR_MODEL, place, "%s\n", source->message[i].text);
        show_line(source, &source->message[i], place.line, diag);
    }
    int shown = source->nmessage < SHOWN_ERRORS ? source->nmessage : SHOWN_ERRORS;
    if (source->nerror > SHOWN_ERRORS)
        perp__diag_append(diag, "%s: and %d more errors\n", source->name,
                          source->nerror - SHOWN_ERRORS);
    diag->errors += source->nerror - shown;
}
