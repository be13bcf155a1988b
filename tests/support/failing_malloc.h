/* Counting and failing allocations. Included by one file of a test whose link wraps malloc
 * (tests/alloc). */

#ifndef PERP_TEST_FAILING_MALLOC_H
#define PERP_TEST_FAILING_MALLOC_H

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

#endif
