/* Do rows determine their unknowns (docs/adr/106-lost-data.md)? What the verdicts on linear and
 * nonlinear problems, which factor in their own ways, ask alike. */

#ifndef PERP_SRC_DETERMINED_H
#define PERP_SRC_DETERMINED_H

#include <stdint.h>

/* Rounding of rows, with any signs in so many tries, may move rows by this share of their terms. */
enum { PERP__SIGN_TRIALS = 6 };
#define PERP__MOST_MOVED 1e-4

/* `off` with the sign that row i has in a trial: all alike, alternating, and as drawn, row after
 * row, from *draw. */
static inline double perp__with_sign(int trial, int i, double off, uint32_t *draw)
{
    *draw = *draw * 1664525u + 1013904223u;
    int is_less;
    if (trial == 0)
        is_less = 0;
    else if (trial == 1)
        is_less = i % 2;
    else
        is_less = (int)(*draw >> 31);
    return is_less ? -off : off;
}

static inline uint32_t perp__first_draw(int trial)
{
    return 2654435769u * (uint32_t)(trial + 1);
}

/* The least that stands for the system that i is in. */
static inline int perp__find_part(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

#endif
