/* Names and the numbers that stand for them: a hash table with open addressing. The names are not
 * copied. */

#ifndef PERP_SRC_NAMES_H
#define PERP_SRC_NAMES_H

#include <string.h>

/* Are they the same word? Mostly not, which the first letters say. */
static inline int perp__is_word(const char *a, const char *b)
{
    return *a == *b && strcmp(a, b) == 0;
}

typedef struct perp__name {
    const char *text; /* NULL: an empty place */
    int value;
    unsigned hash; /* part of it: another name is mostly told without being read */
} perp__name;

typedef struct perp__names {
    perp__name *place;
    int size, count; /* places, a power of two; names */
} perp__names;

/* Add a name that is not there yet, with a value >= 0. Returns 0 when memory is out. */
int perp__names_add(perp__names *names, const char *text, int value);

/* Is the name one of a pattern, in which * stands for any characters? */
int perp__names_match(const char *pattern, const char *name);

/* The value of a name; -1 if it is not there. */
int perp__names_find(const perp__names *names, const char *text);

void perp__names_clear(perp__names *names);

#endif
