/* Model text, places in it, and the messages about them. A place is a byte offset into the text. */

#ifndef PERP_SRC_SOURCE_H
#define PERP_SRC_SOURCE_H

#include "base/arena.h"
#include "base/base.h"

enum { PERP__MODEL_MAX = 1 << 26 }; /* bytes; a larger text is no model */

typedef struct perp__message {
    int at, end;
    char *text;
} perp__message;

typedef struct perp__source {
    const char *name; /* file name in messages */
    const char *text;
    int length;
    const int *line; /* nline places where lines begin; without them (nline = 0) they are counted */
    int nline;
    perp__message *message;
    int nmessage, capacity;
    int nerror; /* also counts messages that memory had no room for */
} perp__source;

void perp__source_clear(perp__source *source);

/* Keep where the lines begin, for sources of many names. 0 when memory is out. */
int perp__source_lines(perp__source *source, perp__arena *arena);

/* Record an error about the text from `at` to `end` (end <= at: one character). */
void perp__error(perp__source *source, int at, int end, const char *format, ...) PERP_PRINTF(4, 5);

/* Is there one at this place? */
int perp__source_has_error(const perp__source *source, int at);

/* A word of the text; NULL: not said. */
typedef struct perp__said {
    const char *text;
    int at;
} perp__said;

/* Was there no memory for a message? */
int perp__source_lost(const perp__source *source);

/* Line and column (both from 1; columns count characters, not bytes) of a place. */
perp__place perp__source_place(const perp__source *source, int at);

/* The place of a word; the file alone where it is not said. */
perp__place perp__said_place(const perp__source *source, perp__said word);

/* Write all messages in the order of the text, each with its line and a caret, and count them. */
void perp__source_report(perp__source *source, perp_diag *diag);

#endif
