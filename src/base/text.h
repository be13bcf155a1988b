/* Text that grows, with the escapes that SVG, HTML and JSON need. Running out of memory is
 * remembered in `failed`; later appends do nothing. */

#ifndef PERP_SRC_TEXT_H
#define PERP_SRC_TEXT_H

#include "base/base.h"

typedef struct perp__text {
    char *at; /* always zero-terminated once something was appended */
    size_t length, capacity;
    int failed;
} perp__text;

void perp__text_clear(perp__text *text);
void perp__text_bytes(perp__text *text, const char *bytes, size_t n);
void perp__text_put(perp__text *text, const char *string);
void perp__text_format(perp__text *text, const char *format, ...) PERP_PRINTF(2, 3);

/* x as %.1f has it, in a sixth of the time: coordinates of curves are thousands. */
void perp__text_tenths(perp__text *text, double x);

/* For XML: < > & " are escaped, control characters are left out. NULL is "". */
void perp__text_xml(perp__text *text, const char *string);

/* A JSON string with its quotes, safe inside a script element: < is written as \u003c. Bytes that
 * are not UTF-8 become U+FFFD. NULL is "". */
void perp__text_json(perp__text *text, const char *string);

/* The string as UTF-8: other bytes become U+FFFD. */
void perp__text_utf8(perp__text *text, const char *string);

void perp__text_base64(perp__text *text, const unsigned char *bytes, size_t n);

/* n doubles as base64 of their little-endian bytes, with quotes. */
void perp__text_doubles(perp__text *text, const double *x, size_t n);
/* The same of floats, 4 bytes each. */
void perp__text_floats(perp__text *text, const float *x, size_t n);

/* perp_file_write of the text. */
perp_status perp__text_write(const perp__text *text, const char *path, perp_diag *diag);

#endif
