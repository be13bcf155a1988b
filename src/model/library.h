/* Internal: the library of parts, lib/<name>.perp, which the build makes a source file of
 * (cmake/library.cmake). */

#ifndef PERP_SRC_LIBRARY_H
#define PERP_SRC_LIBRARY_H

#include <stddef.h>

typedef struct perp__library_file {
    const char *name, *file; /* "planar", and what it is called in messages */
    const char *text;
    size_t length;
} perp__library_file;

extern const perp__library_file perp__library[];
extern const int perp__nlibrary;

#endif
