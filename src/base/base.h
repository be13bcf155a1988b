/* Internal: assertions, diagnostics, and small numeric helpers that every module uses. */

#ifndef PERP_SRC_BASE_H
#define PERP_SRC_BASE_H

#include "base/memory.h"
#include "perp/base.h"

#include <assert.h>
#include <stdio.h>

/* What the caller inside the library guaranteed; public entry points check their arguments instead.
 */
#ifdef PERP_ASSERTIONS
#define PERP_ASSERT(condition) assert(condition)
#else
#define PERP_ASSERT(condition) ((void)0)
#endif

#if defined(__GNUC__)
#define PERP_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define PERP_PRINTF(at, first)
#endif

/* Append to the text; does not count an error. NULL is fine. */
void perp__diag_append(perp_diag *diag, const char *format, ...) PERP_PRINTF(2, 3);

/* Where an error is: in messages "file:line:column: ", without what is 0 or NULL. */
typedef struct perp__place {
    const char *file;
    long line, column;
} perp__place;

static inline perp__place perp__in(const char *file)
{
    return (perp__place){file, 0, 0};
}

/* An error: append its place and the text, and count it. More may be appended to it. Returns
 * status; a NULL diag is fine. */
perp_status perp__refuse(perp_diag *diag, perp_status status, perp__place place, const char *format,
                         ...) PERP_PRINTF(4, 5);

/* Say that memory is out and count the error; returns PERP_ERR_MEMORY. */
perp_status perp__out_of_memory(perp_diag *diag, const char *name);

/* Options across versions (perp/base.h); both structs begin with their size. Fill those of a caller
 * from ours. */
void perp__options_give(void *options, size_t size, const void *own, size_t own_size);

/* Our defaults, overwritten by what the caller gives, NULL: nothing. Returns 0: what he gives has
 * no size or fields beyond ours. */
int perp__options_take(void *own, size_t own_size, const void *options);

/* No options and no result are larger: beyond it, it is no size. */
enum { PERP__MOST_SIZE = 1 << 16 };

/* Has the caller of a function set the size of its result, to what this library fills? NULL: it
 * wants none. */
#define PERP__FITS(result)                                                                         \
    (!(result) || ((result)->size >= sizeof *(result) && (result)->size <= PERP__MOST_SIZE))

/* A result of ours to its caller, who keeps the size that it says. NULL: the caller wants none. */
void perp__result_give(void *result, const void *own, size_t own_size);

/* Seconds of a clock that only goes forward. */
double perp__now(void);

#endif
