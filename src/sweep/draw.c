/* Random numbers by their place: counter-based words, Latin hypercubes through a keyed permutation,
 * Sobol's sequence. Nothing is kept between calls. So a job's numbers do not depend on which jobs
 * were done before. */

#include "sweep/axes.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 52 };

void perp__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
        uint64_t p0 = (uint64_t)M0 * c[0], p1 = (uint64_t)M1 * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

/* 64 bits for a place on an axis; `use` keeps apart what they are for. */
static uint64_t bits_at(uint64_t seed, uint64_t place, int axis, int use)
{
    uint32_t counter[4] = {(uint32_t)place, (uint32_t)(place >> 32), (uint32_t)axis, (uint32_t)use},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
    perp__philox(counter, key, out);
    return (uint64_t)out[1] << 32 | out[0];
}

/* The middle of one of 2^52 parts of (0, 1). */
static double fraction(uint64_t bits)
{
    return ldexp((double)(bits >> (64 - DIGITS)) + 0.5, -DIGITS);
}

enum { DRAW, SHUFFLE, SHIFT }; /* uses of random bits */

/* Where sample i of n comes in a permutation of them: a Feistel network on the next power of 4,
 * walked until it is inside. */
static uint64_t shuffled(uint64_t seed, int axis, uint64_t i, uint64_t n)
{
    enum { ROUNDS = 6 };
    int half = 1;
    while (half < 31 && (uint64_t)1 << 2 * half < n) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (int r = 0; r < ROUNDS; r++) {
            uint64_t next = left ^ (bits_at(seed, right, axis, SHUFFLE + 16 * (r + 1)) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* Sobol's sequence ----------------------------------------------------------------------------
 * Sobol 1967; direction numbers after Bratley and Fox, Algorithm 659, 1988: v = m / 2^i, m by the
 * recurrence of a primitive polynomial. The first m of each axis are the first odd ones, counting
 * up, that keep his property A: the leading bits of the first n numbers of n axes have full rank.
 * So 2^n points lie one in each half-cube. */

/* Is the polynomial with these bits, of this degree, primitive over GF(2): is the order of x the
 * largest? */
static int is_primitive(uint32_t polynomial, int degree)
{
    uint32_t power = 1, order = 0;
    do {
        power <<= 1;
        if (power >> degree) power ^= polynomial;
        order++;
    } while (power > 1);
    return power == 1 && order == ((uint32_t)1 << degree) - 1;
}

static void extend(uint64_t *v, uint32_t polynomial, int degree, const uint32_t *m)
{
    for (int i = 0; i < DIGITS; i++) {
        if (i < degree) {
            v[i] = (uint64_t)m[i] << (63 - i);
            continue;
        }
        v[i] = v[i - degree] ^ v[i - degree] >> degree;
        for (int k = 1; k < degree; k++)
            if (polynomial >> (degree - k) & 1) v[i] ^= v[i - k];
    }
}

/* Property A: the rows (first digits of the first n + 1 numbers) of n + 1 axes, at most 64, are
 * independent. */
static int is_independent(uint64_t (*direction)[DIGITS], int n)
{
    uint64_t row[64];
    int size = n + 1 < DIGITS ? n + 1 : DIGITS, rank = 0;
    for (int axis = 0; axis < size; axis++) {
        row[axis] = 0;
        for (int i = 0; i < size; i++) row[axis] |= (direction[n + 1 - size + axis][i] >> 63) << i;
    }
    for (int i = 0; i < size; i++) {
        int k = rank;
        while (k < size && !(row[k] >> i & 1)) k++;
        if (k == size) continue;
        uint64_t pivot = row[k];
        row[k] = row[rank];
        row[rank] = pivot;
        for (int j = rank + 1; j < size; j++)
            if (row[j] >> i & 1) row[j] ^= pivot;
        rank++;
    }
    return rank == size;
}

void perp__sobol_directions(uint64_t (*direction)[DIGITS], int n)
{
    enum { TRIES = 4096 };
    uint32_t polynomial = 1; /* of axis 0: all m are 1, van der Corput's sequence */
    for (int axis = 0, degree = 0; axis < n; axis++) {
        if (axis == 0) {
            for (int i = 0; i < DIGITS; i++) direction[0][i] = (uint64_t)1 << (63 - i);
            continue;
        }
        do {
            polynomial += 2;
            for (degree = 1; polynomial >> (degree + 1);) degree++;
        } while (!is_primitive(polynomial, degree));
        for (uint32_t t = 0; t < TRIES; t++) {
            uint32_t m[32];
            for (int i = 0; i < degree; i++) {
                uint64_t bits = bits_at(0, t, axis, i);
                m[i] = (uint32_t)(bits & (((uint64_t)1 << (i + 1)) - 1)) | 1;
            }
            extend(direction[axis], polynomial, degree, m);
            if (is_independent(direction, axis)) break;
        }
    }
}

double perp__draw(const perp__axes *axes, long sample, int drawn)
{
    uint64_t i = (uint64_t)sample, sum = 0;
    switch (axes->design) {
    case PERP_DESIGN_LHS:
        return ((double)shuffled(axes->seed, drawn, i, (uint64_t)axes->samples) +
                fraction(bits_at(axes->seed, i, drawn, DRAW))) /
               (double)axes->samples;
    case PERP_DESIGN_SOBOL:
    case PERP_DESIGN_SALTELLI:
        for (int k = 0; i >> k; k++)
            if (i >> k & 1) sum ^= axes->direction[drawn][k];
        return fraction(sum ^ bits_at(axes->seed, 0, drawn, SHIFT));
    default: return fraction(bits_at(axes->seed, i, drawn, DRAW));
    }
}
