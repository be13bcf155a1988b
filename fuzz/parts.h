/* Inputs of several texts: parted by lines "---". */

#ifndef PERP_FUZZ_PARTS_H
#define PERP_FUZZ_PARTS_H

#include <string.h>

/* What is in front of the first such line; *rest, *nrest is what is behind it, nothing without one. Returns its length. */
static inline size_t first_part(const char *text, size_t n, const char **rest, size_t *nrest)
{
    for (size_t i = 0; i + 5 <= n; i++) {
        if (memcmp(text + i, "\n---\n", 5) != 0) continue;
        *rest = text + i + 5;
        *nrest = n - i - 5;
        return i + 1;
    }
    *rest = text + n;
    *nrest = 0;
    return n;
}

#endif
