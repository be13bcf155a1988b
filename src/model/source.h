/* Model text, places in it, and the messages about them. A place is a byte offset into the text. */

#ifndef PERP_SRC_SOURCE_H
#define PERP_SRC_SOURCE_H

#include "base/arena.h"
#include "base/base.h"

enum { PERP__MODEL_MAX = 1 << 26 }; /* bytes; a larger text is no model */

typedef struct perp__message {
    int at, end;
    char *text;
    int said; /* how much of the text stands before what the notes say */
} perp__message;

/* Where the text at hand is used: an instance of a part, a call of a function. */
typedef struct perp__note {
    const char *name;
    int at;
    const struct perp__note *outer;
} perp__note;

/* Files whose texts stand one behind the other; the first is the model. */
typedef struct perp__file {
    const char *name; /* in messages */
    int at;           /* its first byte */
    int line;         /* its first in perp__source.line */
} perp__file;

enum { PERP__MOST_ERRORS = 100 }; /* loops and sums go no further behind so many */

typedef struct perp__source {
    const char *name; /* file name in messages */
    const char *text;
    int length;
    const int *line; /* nline places where lines begin; without them (nline = 0) they are counted */
    int nline;
    perp__file *file; /* with what it uses; NULL: one file, `name` */
    int nfile;
    const perp__note *note; /* added to errors; NULL */
    perp__message *message;
    int nmessage, capacity;
    int nerror; /* also counts messages that memory had no room for */
} perp__source;

void perp__source_clear(perp__source *source);

/* Keep where the lines begin, for sources of many names. Returns 0 when memory is out. */
int perp__source_lines(perp__source *source, perp__arena *arena);

/* Record an error about the text from `at` to `end` (end <= at: one character). */
void perp__error(perp__source *source, int at, int end, const char *format, ...) PERP_PRINTF(4, 5);

/* Join the text of one more file. Its name and text are kept, and its lines if given. Returns 0
 * when memory is out. */
int perp__source_add(perp__source *source, perp__arena *arena, const char *name, const char *text,
                     size_t length);

/* The file of a place, from 0. */
int perp__source_file(const perp__source *source, int at);

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

/* The position of a word; the file alone if there is none. */
perp__place perp__said_place(const perp__source *source, perp__said word);

/* Write all messages in the order of the text, each with its line and a caret, and count them. */
void perp__source_report(perp__source *source, perp_diag *diag);

#endif
