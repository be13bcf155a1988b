/* Internal: a tape of records of different lengths, which are read back from the last one on. */

#ifndef PERP_SRC_RECORDS_H
#define PERP_SRC_RECORDS_H

#include <stddef.h>

typedef struct perp__records {
    unsigned char *at;
    size_t size, capacity;
    int is_out_of_memory;
} perp__records;

/* Room for a record, to be filled; NULL when memory is out. */
void *perp__records_push(perp__records *records, size_t size);

/* The last one, until the next push; NULL: there is none. */
void *perp__records_pop(perp__records *records);

void perp__records_clear(perp__records *records);

#endif
