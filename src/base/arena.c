/* Blocks in a list, twice as large each up to 1 MB. */

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct perp__arena_block {
    perp__arena_block *next;
    size_t used, capacity;
    max_align_t data[];
};

void *perp__arena_alloc(perp__arena *arena, size_t size)
{
    size_t unit = sizeof(max_align_t);
    size = (size + unit - 1) / unit * unit;
    perp__arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < size) {
        size_t capacity = block ? 2 * block->capacity : 4096;
        if (capacity > 1 << 20) capacity = 1 << 20;
        if (capacity < size) capacity = size;
        block = malloc(sizeof *block + capacity);
        if (!block) {
            arena->failed = 1;
            return NULL;
        }
        block->next = arena->blocks;
        block->used = 0;
        block->capacity = capacity;
        arena->blocks = block;
    }
    void *memory = (char *)block->data + block->used;
    block->used += size;
    return memset(memory, 0, size);
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

int perp__grow(void *array, int *capacity, int needed, size_t size)
{
    if (needed <= *capacity) return 1;
    int larger = *capacity < 8 ? 8 : *capacity;
    while (larger < needed) {
        if (larger > INT32_MAX / 2) return 0;
        larger *= 2;
    }
    void *old;
    memcpy(&old, array, sizeof old);
    void *moved = realloc(old, (size_t)larger * size);
    if (!moved) return 0;
    memcpy(array, &moved, sizeof moved);
    *capacity = larger;
    return 1;
}
