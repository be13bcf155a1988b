/* Records one behind the other, each with its length at its end. */

#include "simulate/records.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void *perp__records_push(perp__records *r, size_t size)
{
    size_t room = (size + 7) / 8 * 8, end = r->size + room + sizeof room;
    if (end > r->capacity) {
        size_t capacity = 2 * end + 1024;
        unsigned char *at = realloc(r->at, capacity);
        r->is_out_of_memory |= !at;
        if (!at) return NULL;
        r->at = at;
        r->capacity = capacity;
    }
    void *record = r->at + r->size;
    memcpy(r->at + r->size + room, &room, sizeof room);
    r->size = end;
    return record;
}

void *perp__records_pop(perp__records *r)
{
    size_t room;
    if (r->size == 0) return NULL;
    memcpy(&room, r->at + r->size - sizeof room, sizeof room);
    r->size -= room + sizeof room;
    return r->at + r->size;
}

void perp__records_clear(perp__records *r)
{
    free(r->at);
    *r = (perp__records){0};
}
