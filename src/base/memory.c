/* Allocations with a count of what is held, in bytes as the C library gives them. */

#define PERP_PLAIN_MEMORY
#include "base/memory.h"

#include "perp/base.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef __APPLE__
#include <malloc/malloc.h>
#define USABLE(memory) malloc_size(memory)
#else
#include <malloc.h>
#define USABLE(memory) malloc_usable_size(memory)
#endif

/* Every allocation ends with a cache line that nobody uses [bytes]. So no two share a line, and
 * threads that write to two of them do not slow each other. Sanitizers see the end of an
 * allocation only without it. */
#if defined(__has_feature) /* clang's word for what gcc defines */
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SEES_ENDS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SEES_ENDS)
enum { APART = 0 };
#else
enum { APART = 64 };
#endif

static atomic_size_t held, limit; /* limit 0: none */

void perp_memory_limit(size_t bytes)
{
    atomic_store(&limit, bytes);
}

size_t perp_memory_held(void)
{
    return atomic_load(&held);
}

static void give_back(size_t size)
{
    atomic_fetch_sub_explicit(&held, size, memory_order_relaxed);
}

/* Where there is a limit, bytes are counted before they are taken: threads together stay within it.
 * How many were counted, at *reserved. */
static int reserve(size_t size, size_t *reserved)
{
    size_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    *reserved = 0;
    if (!most) return 1;
    size_t before = atomic_fetch_add_explicit(&held, size, memory_order_relaxed);
    *reserved = size;
    if (before <= most && size <= most - before) return 1;
    give_back(size);
    errno = ENOMEM;
    return 0;
}

/* Count what was given instead of what was reserved. */
static void *settle(void *memory, size_t reserved)
{
    size_t given = memory ? USABLE(memory) : 0;
    atomic_fetch_add_explicit(&held, given - reserved, memory_order_relaxed);
    return memory;
}

/* With its end; what is too large stays so. */
static size_t whole(size_t size)
{
    return size > SIZE_MAX - APART ? SIZE_MAX : size + APART;
}

void *perp__malloc(size_t size)
{
    size_t reserved;
    size = whole(size);
    return reserve(size, &reserved) ? settle(malloc(size), reserved) : NULL;
}

void *perp__calloc(size_t n, size_t size)
{
    size_t reserved;
    if (size && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    size = whole(n * size);
    return reserve(size, &reserved) ? settle(calloc(1, size), reserved) : NULL;
}

void *perp__realloc(void *memory, size_t size)
{
    size_t before = memory ? USABLE(memory) : 0, reserved;
    size = whole(size);
    if (!reserve(size > before ? size - before : 0, &reserved)) return NULL;
    void *moved = realloc(memory, size);
    if (moved) return settle(moved, before + reserved);
    give_back(reserved);
    return NULL;
}

void perp__free(void *memory)
{
    if (memory) give_back(USABLE(memory));
    free(memory);
}

void *perp__hand_over(void *memory)
{
    if (memory) give_back(USABLE(memory));
    return memory;
}
