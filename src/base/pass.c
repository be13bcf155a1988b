/* The bytes of a snapshot: counted, written, looked at, read. */

#include "base/pass.h"

#include <limits.h>
#include <string.h>

void perp__pass_bytes(perp__pass *pass, void *data, size_t size)
{
    if (pass->mode == PERP__SAVE && data && size) memcpy(pass->at, data, size);
    if (pass->mode == PERP__SAVE && !data) memset(pass->at, 0, size);
    if (pass->mode == PERP__LOAD && data && size) memcpy(data, pass->at, size);
    if (pass->mode != PERP__COUNT) pass->at += size;
    pass->n += size;
}

void perp__pass_doubles(perp__pass *pass, double *x, size_t n)
{
    perp__pass_bytes(pass, x, n * sizeof *x);
}

void perp__pass_longs(perp__pass *pass, long *x, size_t n)
{
    perp__pass_bytes(pass, x, n * sizeof *x);
}

/* Are these bytes within the snapshot? pass->most = 0: its length is not known; 1. */
static int look(perp__pass *pass, size_t size)
{
    if (pass->mode != PERP__LOOK) return 0;
    if (pass->most && (pass->n > pass->most || size > pass->most - pass->n)) pass->is_bad = 1;
    return !pass->is_bad;
}

void perp__pass_ints(perp__pass *pass, int *x, size_t n, int lo, int hi)
{
    int is_there = look(pass, n * sizeof *x);
    for (size_t i = 0; i < n && is_there; i++) {
        int value;
        memcpy(&value, pass->at + i * sizeof value, sizeof value);
        pass->is_bad |= value < lo || value > hi;
    }
    perp__pass_bytes(pass, x, n * sizeof *x);
}

void perp__pass_chars(perp__pass *pass, char *x, size_t n, int lo, int hi)
{
    int is_there = look(pass, n);
    for (size_t i = 0; i < n && is_there; i++) {
        int value = (signed char)pass->at[i];
        pass->is_bad |= value < lo || value > hi;
    }
    perp__pass_bytes(pass, x, n);
}

int perp__pass_int(perp__pass *pass, int x, int lo, int hi)
{
    int value = x;
    if (look(pass, sizeof value)) memcpy(&value, pass->at, sizeof value);
    perp__pass_ints(pass, &value, 1, lo, hi);
    return value;
}

int perp__pass_count(perp__pass *pass, int n, size_t size)
{
    int value = perp__pass_int(pass, n, 0, INT_MAX);
    size_t left = pass->most > pass->n ? pass->most - pass->n : 0;
    if (pass->mode != PERP__LOOK || (value >= 0 && (size_t)value <= left / size)) return value;
    pass->is_bad = 1;
    return 0;
}

/* Four sums side by side: a product waits for the last one of its own alone. */
uint64_t perp__digest(uint64_t sum, const void *data, size_t size)
{
    enum { SIDE = 4 };
    const uint64_t FACTOR = 0x9e3779b97f4a7c15u;
    const unsigned char *at = data;
    uint64_t word[SIDE], part[SIDE] = {sum, sum + 1, sum + 2, sum + 3};
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(word, at, sizeof word);
        for (int k = 0; k < SIDE; k++) {
            part[k] = (part[k] ^ word[k]) * FACTOR;
            part[k] ^= part[k] >> 29;
        }
    }
    for (int k = 1; k < SIDE; k++) part[0] = (part[0] ^ part[k]) * FACTOR;
    for (; size > 0; at++, size--) part[0] = ((part[0] ^ *at) * FACTOR) ^ (part[0] >> 29);
    return part[0] ^ (part[0] >> 31);
}
