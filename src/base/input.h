/* The gate: each file that somebody named is opened for reading here, and nowhere else
 * (tests/rooms.sh). */

#ifndef PERP_SRC_INPUT_H
#define PERP_SRC_INPUT_H

#include "perp/base.h"

#include <stdint.h>
#include <stdio.h>

typedef enum perp__input_kind {
    /* a regular file: what another file names, or what is found in a folder. "-" is a name like any
     * other */
    PERP__REGULAR,
    PERP__STREAM   /* a pipe or a device, too: what the caller names. "-" is standard input */
} perp__input_kind;

/* PERP_ERR_FILE (errno, too), PERP_ERR_DATA (more than `most` bytes): *why says it, in static
 * memory. PERP_ERR_MEMORY. */
perp_status perp__input_open(const char *path, perp__input_kind kind, size_t most, FILE **file,
                             const char **why);
void perp__input_close(FILE *file); /* NULL is fine */

/* The same without a stream, which would need memory; -1: refused. */
perp_status perp__input_descriptor(const char *path, perp__input_kind kind, size_t most, int *fd,
                                   const char **why);

/* The whole file in malloc'ed memory, which the caller frees in every case, and a zero behind its n
 * bytes. With `is_text` reading stops soon after a zero byte: what has one is no text, and a device
 * may have no end. Statuses and `why` as above. */
perp_status perp__input_read(const char *path, perp__input_kind kind, size_t most, int is_text,
                             char **bytes, size_t *n, const char **why);

/* A regular file that may be read. */
int perp__input_is_there(const char *path);

#endif
