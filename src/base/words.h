/* Words of users for the values of an enum. One table gives the look-up, the names, and the message
 * for an unknown word. */

#ifndef PERP_SRC_WORDS_H
#define PERP_SRC_WORDS_H

#include "base/base.h"

typedef struct perp__word {
    const char *word, *summary;
} perp__word;

/* In the order of the enum. */
typedef struct perp__words {
    int n;
    const perp__word *row;
} perp__words;

#define PERP_WORDS(rows)                                                                           \
    {                                                                                              \
        (int)(sizeof(rows) / sizeof *(rows)), rows                                                 \
    }

/* The value of a word; n where there is none, or word is NULL. */
int perp__word_find(const perp__words *words, const char *word);

/* "unknown" and "" outside the enum. */
const char *perp__word_name(const perp__words *words, int value);
const char *perp__word_summary(const perp__words *words, int value);

/* The public functions of an enum with such a table. */
#define PERP_WORD_FUNCTIONS(type, prefix, words)                                                   \
    type prefix##_find(const char *word)                                                           \
    {                                                                                              \
        return (type)perp__word_find(&(words), word);                                              \
    }                                                                                              \
    const char *prefix##_name(type value)                                                          \
    {                                                                                              \
        return perp__word_name(&(words), (int)value);                                              \
    }
#define PERP_WORD_SUMMARY(type, function, words)                                                   \
    const char *function(type value)                                                               \
    {                                                                                              \
        return perp__word_summary(&(words), (int)value);                                           \
    }

/* Refuse a word that is not in the table. NULL, or one that is: the value came from elsewhere and
 * is outside the enum. */
perp_status perp__refuse_word(perp_diag *diag, perp_status status, perp__place place,
                              const char *what, const char *word, const perp__words *words);

#endif
