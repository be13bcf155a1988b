/* Zip files (PKWARE's APPNOTE 6.3.10, 4.3) with stored entries, dated
 * 1980-01-01: the same content is the same file. */

#include "export/export.h"
#include "base/arena.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct perp__zip_entry {
    char *name;
    uint32_t crc, size, at;
} perp__zip_entry;

/* CRC-32, polynomial 0xEDB88320, by four bits. */
static uint32_t checksum(const unsigned char *bytes, size_t n)
{
    uint32_t table[16], crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xEDB88320u : table[i] >> 1;
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void append(perp__zip *zip, const void *bytes, size_t n)
{
    if (n > UINT32_MAX - zip->bytes.length) zip->failed = 1;
    if (zip->failed) return;
    perp__text_bytes(&zip->bytes, bytes, n);
    zip->failed = zip->bytes.failed;
}

/* A whole number of `size` bytes, the lowest first. */
static void put(perp__zip *zip, uint32_t value, int size)
{
    unsigned char byte[4];
    for (int i = 0; i < size; i++) byte[i] = (unsigned char)(value >> 8 * i);
    append(zip, byte, (size_t)size);
}

/* What a local header and the directory both say of an entry. */
static void put_entry(perp__zip *zip, const perp__zip_entry *e)
{
    put(zip, 10, 2);     /* version needed */
    put(zip, 0x800, 2);  /* the name is UTF-8 */
    put(zip, 0, 2);      /* stored */
    put(zip, 0, 2);      /* time */
    put(zip, 0x0021, 2); /* 1980-01-01 */
    put(zip, e->crc, 4);
    put(zip, e->size, 4);
    put(zip, e->size, 4);
    put(zip, (uint32_t)strlen(e->name), 2);
    put(zip, 0, 2); /* extra field */
}

void perp__zip_add(perp__zip *zip, const char *name, const void *bytes, size_t n)
{
    size_t length = strlen(name);
    char *copy = length < UINT16_MAX ? malloc(length + 1) : NULL;
    if (!copy || n > UINT32_MAX || zip->nentry == UINT16_MAX ||
        !perp__grow(&zip->entry, &zip->centry, zip->nentry + 1, sizeof *zip->entry)) {
        free(copy);
        zip->failed = 1;
        return;
    }
    memcpy(copy, name, length + 1);
    perp__zip_entry *e = &zip->entry[zip->nentry++];
    *e = (perp__zip_entry){copy, checksum(bytes, n), (uint32_t)n, (uint32_t)zip->bytes.length};
    put(zip, 0x04034b50u, 4);
    put_entry(zip, e);
    append(zip, name, length);
    append(zip, bytes, n);
}

void perp__zip_end(perp__zip *zip)
{
    uint32_t at = (uint32_t)zip->bytes.length;
    for (int i = 0; i < zip->nentry; i++) {
        const perp__zip_entry *e = &zip->entry[i];
        put(zip, 0x02014b50u, 4);
        put(zip, 0x0314, 2); /* made on Unix */
        put_entry(zip, e);
        put(zip, 0, 2);              /* comment */
        put(zip, 0, 2);              /* disk */
        put(zip, 0, 2);              /* internal attributes */
        put(zip, 0100755u << 16, 4); /* a regular file, its mode */
        put(zip, e->at, 4);
        append(zip, e->name, strlen(e->name));
    }
    uint32_t size = (uint32_t)zip->bytes.length - at;
    put(zip, 0x06054b50u, 4);
    put(zip, 0, 2);
    put(zip, 0, 2);
    put(zip, (uint32_t)zip->nentry, 2);
    put(zip, (uint32_t)zip->nentry, 2);
    put(zip, size, 4);
    put(zip, at, 4);
    put(zip, 0, 2);
}

void perp__zip_clear(perp__zip *zip)
{
    for (int i = 0; i < zip->nentry; i++) free(zip->entry[i].name);
    free(zip->entry);
    perp__text_clear(&zip->bytes);
    *zip = (perp__zip){0};
}
