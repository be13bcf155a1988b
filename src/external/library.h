/* A shared library that is loaded at first use. A command that does not need it does not wait for
 * it, and runs without it. */

#ifndef PERP_SRC_EXTERNAL_LIBRARY_H
#define PERP_SRC_EXTERNAL_LIBRARY_H

#include "base/installed.h"
#include "perp/base.h"

#include <stddef.h>

typedef struct perp__library_symbol {
    const char *name;
    void *function; /* out: where the pointer to it is stored */
} perp__library_symbol;

/* PERP_OK: the library (an absolute name, or its file's name, which perp__library_find looks for)
 * is loaded, for good, and all symbols are found. PERP_ERR_UNAVAILABLE: not; it is not tried again.
 * PERP_ERR_MEMORY: it is, by the next call. *state begins as 0. */
perp_status perp__library_load(const char *name, size_t count, const perp__library_symbol *symbol,
                               int *state);

/* The absolute name under which a file's name is found: in absolute folders of LD_LIBRARY_PATH, in
 * those of the build, in the system's. The working directory is never searched. NULL: nowhere. */
const char *perp__library_find(const char *name, char path[PERP__PATH_ROOM]);

/* The only call of dlopen: RTLD_NOW, RTLD_LOCAL, of an absolute name. NULL: dlerror() says why. */
void *perp__library_open(const char *path);

/* What perp_library_running says of this thread from now on: the name of a library, or NULL for our
 * own code. */
void perp__library_enter(const char *name);

/* Before a library begins; and whether memory ran out in it since: it may have gone on with less,
 * or with other words. */
void perp__library_watch(void);
int perp__library_lacked_memory(void);

#endif
