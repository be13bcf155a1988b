/* Counting and failing allocations. Included by one file of a test whose link wraps malloc
 * (tests/alloc). */

#ifndef PERP_TEST_FAILING_MALLOC_H
#define PERP_TEST_FAILING_MALLOC_H

#include "unit.h"

#include "perp/base.h"

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);

static long allocations; /* so far */
static long fail_at;     /* the allocation that fails, from 1; 0: none */
static long live;        /* allocated and not freed */

static int fails(void)
{
    return ++allocations == fail_at;
}

void *__wrap_malloc(size_t size)
{
    void *memory = fails() ? NULL : __real_malloc(size);
    live += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *memory = fails() ? NULL : __real_calloc(n, size);
    live += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *memory = fails() ? NULL : __real_realloc(old, size);
    live += memory != NULL && old == NULL;
    return memory;
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

/* Where a story is told by the thousand, one in so many allocations fails, and with
 * PERP_ALL_FAILURES in the environment each (.ci/all). Under the address sanitizer a story takes
 * ten times as long. */
static inline long next_failure(void)
{
#ifdef __SANITIZE_ADDRESS__
    const long usual = 37;
#else
    const long usual = 7;
#endif
    return getenv("PERP_ALL_FAILURES") ? 1 : usual;
}

/* What came of a story told with one allocation failing. */
typedef struct told {
    perp_status status; /* PERP_OK or PERP_ERR_MEMORY */
    int reached;        /* there was such an allocation */
    int errors, lost;   /* of its diag */
} told;

/* Tell `story` with its k-th allocation failing, k from 1. Fails the test where memory leaks or
 * another status comes back. */
static inline told tell(long k, perp_status (*story)(void *given, perp_diag *diag), void *given)
{
    perp_diag diag = {0};
    long before = live;
    allocations = 0, fail_at = k;
    perp_status status = story(given, &diag);
    told t = {status, allocations >= k, diag.errors, diag.lost};
    fail_at = 0;
    perp_diag_clear(&diag);
    if (live != before) fail_msg("allocation %ld failed: %ld blocks leaked", k, live - before);
    if (status != PERP_OK && status != PERP_ERR_MEMORY)
        fail_msg("allocation %ld failed: %s", k, perp_status_name(status));
    return t;
}

/* Tell it with each allocation failing, from the 300th on with every `later`-th: the failure is
 * reported. How often it was told. */
static inline long tell_each(perp_status (*story)(void *given, perp_diag *diag), void *given,
                             long later)
{
    long n = 0;
    told t = {.reached = 1};
    for (long k = 1; t.reached; k += k < 300 ? 1 : later, n++) {
        t = tell(k, story, given);
        if (t.status != PERP_OK && !t.errors && !t.lost)
            fail_msg("allocation %ld failed and nothing was said", k);
    }
    return n;
}

#endif
