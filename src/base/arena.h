/* A bump allocator: many small objects that live and die together. Running out is remembered, not
 * fatal: alloc then returns NULL and `failed` stays set. */

#ifndef PERP_SRC_ARENA_H
#define PERP_SRC_ARENA_H

#include <stddef.h>

typedef struct perp__arena_block perp__arena_block;

typedef struct perp__arena {
    perp__arena_block *blocks;
    int failed;
} perp__arena;

/* `size` zeroed bytes, aligned for any type. */
void *perp__arena_alloc(perp__arena *arena, size_t size);
/* A zero-terminated copy of `length` bytes. */
char *perp__arena_string(perp__arena *arena, const char *text, size_t length);
void perp__arena_clear(perp__arena *arena);

/* Grow *array (allocated with malloc) so that it holds `needed` elements of `size` bytes; 0 when
 * memory is out. */
int perp__grow(void *array, int *capacity, int needed, size_t size);

#endif
