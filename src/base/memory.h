/* The memory that the library allocates, counted, so that a program can bound it
 * (perp_memory_limit). Every file of src that allocates includes this header, most through
 * base.h or arena.h; tests/memory.sh looks. The command and the tests include those, too, but
 * are not the library: they define PERP_PLAIN_MEMORY. */

#ifndef PERP_SRC_MEMORY_H
#define PERP_SRC_MEMORY_H

#include <stdlib.h>

/* As the functions of <stdlib.h>. NULL, and errno ENOMEM, also where the limit would be passed. */
void *perp__malloc(size_t size);
void *perp__calloc(size_t n, size_t size);
void *perp__realloc(void *memory, size_t size);
void perp__free(void *memory);

/* Memory that the caller of the library frees by free(): it is counted no longer. Returns it;
 * NULL is fine. */
void *perp__hand_over(void *memory);

#ifndef PERP_PLAIN_MEMORY
#define malloc(size) perp__malloc(size)
#define calloc(n, size) perp__calloc(n, size)
#define realloc(memory, size) perp__realloc(memory, size)
#define free(memory) perp__free(memory)
#endif

#endif
