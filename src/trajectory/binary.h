/* Internal: the parts of a binary file (docs/formats.md): its first line, marks, numbers and their
 * sum. */

#ifndef PERP_SRC_TRAJECTORY_BINARY_H
#define PERP_SRC_TRAJECTORY_BINARY_H

#include <stdint.h>
#include <string.h>

#define PERP__BINARY "# perpbin 1" /* the first line */

/* Before and behind the rows; as numbers, both are nan. */
#define PERP__ROWS_MARK UINT64_C(0xffff3a73776f723c) /* "<rows:" ff ff */
#define PERP__END_MARK  UINT64_C(0xffff3e73776f722f) /* "/rows>" ff ff */

/* All nan are this one, so that equal tables are equal files. */
#define PERP__NAN_WORD UINT64_C(0x7ff8000000000000)

/* The bytes stand from low to high on every machine. Compilers make one store or load of these. */
static inline void perp__put_word(char *to, uint64_t word)
{
    for (int i = 0; i < 8; i++) to[i] = (char)(word >> 8 * i);
}

static inline uint64_t perp__get_word(const char *from)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word |= (uint64_t)(unsigned char)from[i] << 8 * i;
    return word;
}

/* A number as written: -0 is 0. */
static inline uint64_t perp__word_of(double x)
{
    uint64_t word;
    if (x != x) return PERP__NAN_WORD;
    if (x == 0) return 0;
    memcpy(&word, &x, sizeof word);
    return word;
}

/* The sum over words so far, and one more: no bit that turns leaves it as it is. */
static inline uint64_t perp__add_word(uint64_t sum, uint64_t word)
{
    sum ^= word;
    return (sum << 29 | sum >> 35) * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
