/* Memory of many objects, small or large, that live and die together. Running out is remembered,
 * not fatal: alloc then returns NULL and `failed` stays set. */

#ifndef PERP_SRC_ARENA_H
#define PERP_SRC_ARENA_H

#include "base/memory.h"

#include <stddef.h>

typedef struct perp__arena_block perp__arena_block;

typedef struct perp__arena {
    perp__arena_block *blocks;
    int failed;
} perp__arena;

/* `size` zeroed bytes, aligned for any type. */
void *perp__arena_alloc(perp__arena *arena, size_t size);
/* Let `array` have n zeroed elements. */
#define PERP_TAKE(arena, array, n)                                                                 \
    ((array) = perp__arena_alloc((arena), (size_t)(n) * sizeof *(array)))
/* A zero-terminated copy of `length` bytes. */
char *perp__arena_string(perp__arena *arena, const char *text, size_t length);
void perp__arena_clear(perp__arena *arena);

/* Let *array, of the arena, have room for `needed` elements of `size` bytes. The new ones are zero.
 * Returns 0 when memory is out. */
int perp__arena_grow(perp__arena *arena, void *array, int *capacity, int needed, size_t size);

int perp__enlarge(void *array, int *capacity, int needed, size_t size);

/* Grow *array (allocated with malloc) so that it holds `needed` elements of `size` bytes; 0 when
 * memory is out. */
static inline int perp__grow(void *array, int *capacity, int needed, size_t size)
{
    return needed <= *capacity || perp__enlarge(array, capacity, needed, size);
}

#endif
