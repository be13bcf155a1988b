/* The bits of a double, read as a whole number, change little from row to row if the value does. Of
 * the first or second differences only the bytes that are not zero are stored. */

#include "report/rows.h"

#include <stdint.h>
#include <string.h>

enum { ORDERS = 3 };

typedef struct difference {
    int order;
    uint64_t value, slope; /* of the row before */
} difference;

/* The next difference; its sign goes into the lowest bit. */
static uint64_t next_difference(difference *d, uint64_t bits)
{
    uint64_t left, slope = bits - d->value;
    if (d->order == 0)
        left = bits;
    else if (d->order == 1)
        left = slope;
    else
        left = slope - d->slope;
    d->value = bits;
    d->slope = slope;
    return d->order == 0 ? left : left << 1 ^ (left >> 63 ? UINT64_MAX : 0);
}

static int bytes_of(uint64_t x)
{
    int n = 0;
    for (; x; x >>= 8) n++;
    return n;
}

static size_t size_of(const uint64_t *x, int n, int order)
{
    difference d = {.order = order};
    size_t size = 0;
    for (int i = 0; i < n; i++) size += (size_t)bytes_of(next_difference(&d, x[i]));
    return size;
}

static int best_order(const uint64_t *x, int n)
{
    int best = 0;
    size_t least = size_of(x, n, 0);
    for (int order = 1; order < ORDERS; order++) {
        size_t size = size_of(x, n, order);
        if (size < least) {
            least = size;
            best = order;
        }
    }
    return best;
}

void perp__rows_put_bits(perp__text *text, const uint64_t *x, int n)
{
    unsigned char code[1 + PERP__BLOCK_ROWS / 2 + 8 * PERP__BLOCK_ROWS] = {0};
    unsigned char *length = code + 1, *end = length + (n + 1) / 2;
    difference d = {.order = best_order(x, n)};
    code[0] = (unsigned char)d.order;
    for (int i = 0; i < n; i++) {
        uint64_t left = next_difference(&d, x[i]);
        length[i / 2] |= (unsigned char)(bytes_of(left) << (i % 2 ? 4 : 0));
        for (; left; left >>= 8) *end++ = (unsigned char)left;
    }
    perp__text_base64(text, code, (size_t)(end - code));
}

void perp__rows_put(perp__text *text, const double *x, int n)
{
    uint64_t bits[PERP__BLOCK_ROWS];
    memcpy(bits, x, (size_t)n * sizeof *bits);
    perp__rows_put_bits(text, bits, n);
}
