/* All rows of a run as text that a browser takes apart again: columns in blocks, by differences,
 * exact to the last bit. */

#ifndef PERP_SRC_ROWS_H
#define PERP_SRC_ROWS_H

#include "base/text.h"

#include <stdint.h>

enum { PERP__BLOCK_ROWS = 8192 };

/* Append the n <= PERP__BLOCK_ROWS values: base64 of one byte with the order of the differences (0
 * to 2). Then for every two values a byte with the lengths of their differences (first in the low
 * half) and the differences, low bytes first. At most 11.4 letters a value, mostly fewer. */
void perp__rows_put(perp__text *text, const double *x, int n);

/* The same of whole numbers. */
void perp__rows_put_bits(perp__text *text, const uint64_t *bits, int n);

#endif
