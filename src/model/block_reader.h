/* Internal to src/model: what the readers of blocks share, a place among a block's tokens. Once a
 * line is bad nothing is taken or expected any more, until its reader goes on to the next one. */

#ifndef PERP_SRC_BLOCK_READER_H
#define PERP_SRC_BLOCK_READER_H

#include "model/syntax.h"

typedef struct perp__cursor {
    perp__source *source;
    const perp__token *token;
    int bad; /* the line at hand has an error */
} perp__cursor;

int perp__at_symbol(const perp__cursor *place, char symbol);
int perp__at_word(const perp__cursor *place, const char *word);

/* The end of the line or of the block. */
int perp__at_line_end(const perp__cursor *place);

/* 1 if it was there, and behind it now. */
int perp__take_symbol(perp__cursor *place, char symbol);
int perp__take_word(perp__cursor *place, const char *word);

/* The error 'expected WHAT, found ...', of a line the first alone. */
void perp__expect(perp__cursor *place, const char *what);
void perp__expect_symbol(perp__cursor *place, char symbol, const char *what);
void perp__expect_word(perp__cursor *place, const char *word, const char *what);

/* To the end of the line. */
void perp__skip_line(perp__cursor *place);

#endif
