/* A buffer that grows, and what must be escaped in it. */

#include "base/text.h"

#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void perp__text_clear(perp__text *text)
{
    free(text->at);
    memset(text, 0, sizeof *text);
}

static int reserve(perp__text *text, size_t more)
{
    if (text->failed) return 0;
    if (text->length + more + 1 <= text->capacity) return 1;
    size_t capacity = text->capacity ? 2 * text->capacity : 4096;
    while (capacity < text->length + more + 1) capacity *= 2;
    char *moved = realloc(text->at, capacity);
    if (!moved) {
        text->failed = 1;
        return 0;
    }
    text->at = moved;
    text->capacity = capacity;
    return 1;
}

void perp__text_bytes(perp__text *text, const char *bytes, size_t n)
{
    if (!reserve(text, n)) return;
    if (n) memcpy(text->at + text->length, bytes, n);
    text->length += n;
    text->at[text->length] = 0;
}

void perp__text_put(perp__text *text, const char *string)
{
    perp__text_bytes(text, string, strlen(string));
}

void perp__text_format(perp__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = perp__vformat(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve(text, (size_t)n)) return;
    va_start(args, format);
    perp__vformat(text->at + text->length, (size_t)n + 1, format, args);
    va_end(args);
    text->length += (size_t)n;
}

/* Length of the UTF-8 character at s, or 0 if there is none: a stray byte, an overlong form, a
 * surrogate. */
static int utf8_length(const unsigned char *s)
{
    int n = 4;
    if (s[0] < 0x80)
        n = 1;
    else if (s[0] >= 0xC2 && s[0] < 0xE0)
        n = 2;
    else if ((s[0] & 0xF0) == 0xE0)
        n = 3;
    if (n == 4 && (s[0] < 0xF0 || s[0] > 0xF4)) return 0;
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
    }
    if (n == 3 && ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))) return 0;
    if (n == 4 && ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))) return 0;
    return n;
}

/* One character of a string, valid or replaced; returns how many bytes were taken. */
static int put_character(perp__text *text, const char *s)
{
    int n = utf8_length((const unsigned char *)s);
    if (n)
        perp__text_bytes(text, s, (size_t)n);
    else
        perp__text_put(text, "\xEF\xBF\xBD");
    return n ? n : 1;
}

void perp__text_tenths(perp__text *text, double x)
{
    char digits[16];
    size_t at = sizeof digits;
    double tenths = 10 * fabs(x);
    if (!(tenths < 1e9)) {
        perp__text_format(text, "%.1f", x);
        return;
    }
    unsigned n = (unsigned)tenths;
    double rest = tenths - n, rounded = rest == 0.5 ? fma(10, fabs(x), -tenths) : 0;
    if (rest > 0.5 || (rest == 0.5 && (rounded > 0 || (rounded == 0 && n % 2)))) n++;
    digits[--at] = (char)('0' + n % 10);
    digits[--at] = '.';
    for (n /= 10; at == sizeof digits - 2 || n > 0; n /= 10) digits[--at] = (char)('0' + n % 10);
    if (signbit(x)) digits[--at] = '-';
    perp__text_bytes(text, digits + at, sizeof digits - at);
}

void perp__text_xml(perp__text *text, const char *s)
{
    while (s && *s) {
        const char *entity = NULL;
        if (*s == '<')
            entity = "&lt;";
        else if (*s == '>')
            entity = "&gt;";
        else if (*s == '&')
            entity = "&amp;";
        else if (*s == '"')
            entity = "&quot;";
        int is_control = (unsigned char)*s < 0x20 && *s != '\n' && *s != '\t';
        if (entity)
            perp__text_put(text, entity);
        else if (!is_control) {
            s += put_character(text, s);
            continue;
        }
        s++;
    }
}

void perp__text_json(perp__text *text, const char *s)
{
    perp__text_put(text, "\"");
    while (s && *s) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            perp__text_format(text, "\\%c", c);
        else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x7F)
            perp__text_format(text, "\\u%04x", c);
        else {
            s += put_character(text, s);
            continue;
        }
        s++;
    }
    perp__text_put(text, "\"");
}

void perp__text_utf8(perp__text *text, const char *s)
{
    while (*s) {
        const char *from = s;
        for (int n; *s && (n = utf8_length((const unsigned char *)s)) > 0;) s += n;
        perp__text_bytes(text, from, (size_t)(s - from));
        if (*s) s += put_character(text, s);
    }
}

/* Three bytes to four letters. */
static void put_base64(char *to, const unsigned char *bytes, size_t n)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned word = (unsigned)bytes[0] << 16;
    if (n > 1) word |= (unsigned)bytes[1] << 8;
    if (n > 2) word |= bytes[2];
    to[0] = letter[word >> 18];
    to[1] = letter[word >> 12 & 63];
    to[2] = n > 1 ? letter[word >> 6 & 63] : '=';
    to[3] = n > 2 ? letter[word & 63] : '=';
}

void perp__text_base64(perp__text *text, const unsigned char *bytes, size_t n)
{
    if (!reserve(text, (n + 2) / 3 * 4)) return;
    for (size_t k = 0; k < n; k += 3) {
        put_base64(text->at + text->length, bytes + k, n - k);
        text->length += 4;
    }
    text->at[text->length] = 0;
}

static void little_endian(uint64_t bits, unsigned char *bytes, size_t size)
{
    for (size_t k = 0; k < size; k++) bytes[k] = (unsigned char)(bits >> (8 * k));
}

static uint64_t bits_of(const void *x, size_t size)
{
    uint64_t wide;
    uint32_t narrow;
    if (size == sizeof wide) {
        memcpy(&wide, x, sizeof wide);
        return wide;
    }
    memcpy(&narrow, x, sizeof narrow);
    return narrow;
}

/* n numbers of `size` bytes. */
static void put_numbers(perp__text *text, const void *x, size_t n, size_t size)
{
    perp__text_put(text, "\"");
    for (size_t i = 0; i < n; i += 3) { /* 24 bytes are 32 letters */
        unsigned char bytes[24];
        size_t count = n - i < 3 ? n - i : 3;
        for (size_t k = 0; k < count; k++)
            little_endian(bits_of((const char *)x + (i + k) * size, size), bytes + size * k, size);
        perp__text_base64(text, bytes, size * count);
    }
    perp__text_put(text, "\"");
}

void perp__text_doubles(perp__text *text, const double *x, size_t n)
{
    put_numbers(text, x, n, sizeof *x);
}

void perp__text_floats(perp__text *text, const float *x, size_t n)
{
    put_numbers(text, x, n, sizeof *x);
}

perp_status perp__text_write(const perp__text *text, const char *path, perp_diag *diag)
{
    return text->failed ? PERP_ERR_MEMORY : perp_file_write(path, text->at, text->length, diag);
}
