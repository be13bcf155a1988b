/* Numbers as text in every locale: a decimal point, whatever the program that uses the library has
 * set. perp_number_read and perp_number_write of perp/base.h are in number.c as well. */

#ifndef PERP_SRC_NUMBER_H
#define PERP_SRC_NUMBER_H

#include "base/base.h"

#include <stdarg.h>

/* Read the number at the start of the n bytes at text, which need not end in a zero. Returns the
 * number of bytes read; 0 if there is none (*x is then 0). */
size_t perp__number_read(const char *text, size_t n, double *x);

/* snprintf and vsnprintf with a decimal point. */
int perp__format(char *text, size_t size, const char *format, ...) PERP_PRINTF(3, 4);
int perp__vformat(char *text, size_t size, const char *format, va_list args);

#endif
