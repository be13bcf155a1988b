/* Sums of bytes that tell texts apart, not forgeries: FNV-1a of Fowler, Noll and Vo, 64 bits.
 * Random numbers from a counter: splitmix64 of Steele, Lea and Flood 2014. */

#ifndef PERP_BASE_HASH_H
#define PERP_BASE_HASH_H

#include <stdint.h>

#define PERP__HASH_OF_NOTHING UINT64_C(0xcbf29ce484222325)

static inline uint64_t perp__hash_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The counter of splitmix64 goes in these steps. */
#define PERP__RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The random number of a counter. */
static inline uint64_t perp__mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
