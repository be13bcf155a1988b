/* A shared library that is loaded when it is first asked for, so that a command without need of it does not wait for
 * it, and runs where it is not installed. */

#ifndef PERP_SRC_BASE_LIBRARY_H
#define PERP_SRC_BASE_LIBRARY_H

#include <stddef.h>

typedef struct perp__symbol {
    const char *name;
    void *function; /* out: where the pointer to it is stored */
} perp__symbol;

/* 1: the library (its file's name, without a folder) is loaded, for good, and all symbols are found. 0: not. Not for
 * two threads at once. */
int perp__library_load(const char *name, size_t count, const perp__symbol *symbol);

/* What perp_library_running says of this thread from now on: the name of a library, or NULL for our own code. */
void perp__library_enter(const char *name);

#endif
