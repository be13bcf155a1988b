/* Blocks in a list: shared ones, twice as large each, and one for each large object. */

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct perp__arena_block {
    perp__arena_block *next;
    size_t used, capacity;
    max_align_t data[];
};

#ifdef __SANITIZE_ADDRESS__ /* sees the ends of blocks only: each object has one */
enum { FIRST = 0, MOST = 0 };
#else
enum { FIRST = 4096, MOST = 1 << 20 };
#endif

/* Large ones cost no pages before they are used. */
static perp__arena_block *take_block(size_t size)
{
    return calloc(1, sizeof(perp__arena_block) + size);
}

/* A block for one object, behind the one that is being filled. */
static void *take_alone(perp__arena *arena, size_t size)
{
    perp__arena_block *block = take_block(size), **place = &arena->blocks;
    if (!block) return NULL;
    if (*place) place = &(*place)->next;
    block->next = *place;
    *place = block;
    return block->data;
}

/* The first object of a new shared block. */
static void *take_shared(perp__arena *arena, size_t size, size_t capacity)
{
    perp__arena_block *block = take_block(capacity);
    if (!block) return NULL;
    block->capacity = capacity;
    block->used = size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

/* In a block of its own where it would waste much of a shared one. Apart: the registers it needs
 * are not saved by each call. */
#ifdef __GNUC__
__attribute__((noinline))
#endif
static void *
take_block_for(perp__arena *arena, size_t size)
{
    size_t next = FIRST;
    if (arena->blocks && arena->blocks->capacity) next = 2 * arena->blocks->capacity;
    if (next > MOST) next = MOST;
    void *memory = size > next / 4 ? take_alone(arena, size) : take_shared(arena, size, next);
    if (!memory) arena->failed = 1;
    return memory;
}

void *perp__arena_alloc(perp__arena *arena, size_t size)
{
    size_t unit = _Alignof(max_align_t);
    perp__arena_block *block = arena->blocks;
    size = (size + unit - 1) / unit * unit;
    if (!block || size > block->capacity - block->used) return take_block_for(arena, size);
    block->used += size;
    return (char *)block->data + block->used - size;
}

char *perp__arena_string(perp__arena *arena, const char *text, size_t length)
{
    char *copy = perp__arena_alloc(arena, length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

void perp__arena_clear(perp__arena *arena)
{
    for (perp__arena_block *block = arena->blocks; block;) {
        perp__arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->failed = 0;
}

/* Room for this many, doubled; 0: too many. */
static int larger_capacity(int capacity, int needed)
{
    int larger = capacity < 8 ? 8 : capacity;
    while (larger < needed) {
        if (larger > INT32_MAX / 2) return 0;
        larger *= 2;
    }
    return larger;
}

int perp__arena_grow(perp__arena *arena, void *array, int *capacity, int needed, size_t size)
{
    if (needed <= *capacity) return 1;
    int larger = larger_capacity(*capacity, needed);
    void *moved = larger ? perp__arena_alloc(arena, (size_t)larger * size) : NULL, *old;
    if (!moved) return 0;
    memcpy(&old, array, sizeof old);
    if (*capacity) memcpy(moved, old, (size_t)*capacity * size);
    memcpy(array, &moved, sizeof moved);
    *capacity = larger;
    return 1;
}

int perp__enlarge(void *array, int *capacity, int needed, size_t size)
{
    int larger = larger_capacity(*capacity, needed);
    void *old;
    memcpy(&old, array, sizeof old);
    void *moved = larger ? realloc(old, (size_t)larger * size) : NULL;
    if (!moved) return 0;
    memcpy(array, &moved, sizeof moved);
    *capacity = larger;
    return 1;
}
