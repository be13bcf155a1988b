/* Sums of bytes that tell texts apart, not forgeries: FNV-1a of Fowler, Noll and Vo, 64 bits. */

#ifndef PERP_BASE_HASH_H
#define PERP_BASE_HASH_H

#include <stdint.h>

#define PERP__HASH_OF_NOTHING UINT64_C(0xcbf29ce484222325)

static inline uint64_t perp__hash_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

#endif
