/* The principal pivots by which lemke begins, of three pairs in vectors of four.
 *
 * Every number is rounded as in lemke_kernel.h. What differs is when: 1/diagonal is there for all rows before it is known which of
 * them is asked for, and the dictionary is swept only if there is another pivot. A pair that would go back, or a pivot that is
 * not positive, makes NaN of everything, and the kernel of all sizes begins anew. */

#include "base/tol.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

#if PERP_ISA_COUNT > 1
typedef perp__lanes_avx2 four;
typedef perp__mask_avx2 bits;
#define INLINE       static inline PERP_INLINE PERP_TARGET_AVX2
#define FOUR(array)  (*(four *)(array))
#define GIVEN(array) (*(const four *)(array))
#define ROW(r)       (*(const bits *)row_of[r])

static const long long row_of[4][4] = {{-1}, {0, -1}, {0, 0, -1}, {0, 0, 0, -1}};

/* Numbers that are asked for by their place, in the solver's workspace: values; 1/diagonal of the dictionary; from the second pivot on
 * the dictionary. */
typedef struct places {
    double q[4], inverse[4], D[3][4];
} places;

typedef struct three {
    four q, e;        /* values; column of the last pivot, divided by it */
    four least;       /* what a pivot must be more than */
    bits basic;       /* pairs that have changed sides */
    uint64_t changed; /* the same, a bit each */
    double found;     /* the least value, but for its last bits */
    size_t r;         /* of the last pivot its row */
    places *at;
} three;

INLINE double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Row of the least value, as least_value of lemke_kernel.h finds it. */
INLINE size_t find_least(three *d)
{
    enum { NUMBERS = PERP__GUESS_UP_TO - 1 };
    union {
        four x;
        bits bits;
    } key = {.x = d->q};
    union {
        double x;
        long long bits;
    } found;
    key.bits = (key.bits & ~(long long)NUMBERS) | (bits){0, 1, 2, 3};
    found.x = lesser(lesser(key.x[0], key.x[2]), lesser(key.x[1], key.x[3]));
    d->found = found.x;
    return (size_t)found.bits & NUMBERS;
}

INLINE void find_inverses(three *d, four diagonal)
{
    const four zero = {0}, one = zero + 1, none = zero + (double)NAN;
    bits may_be_pivot = (bits)(diagonal > d->least) & ~d->basic;
    FOUR(d->at->inverse) = PERP_IF(may_be_pivot, one / diagonal, none);
}

/* The dictionary after the k-th pivot. */
INLINE void sweep(three *d, const double *M, int k)
{
    four x[3];
    for (int j = 0; j < 3; j++) {
        const double *from = k == 1 ? M + 3 * j : d->at->D[j];
        four given = k == 1 ? PERP_THREE(from, 0) : GIVEN(from);
        x[j] = PERP_BUT_avx2(ROW(d->r), given) - from[d->r] * d->e;
        FOUR(d->at->D[j]) = x[j];
    }
    four first = PERP_SHUFFLE(x[0], x[1], 0, 5, 2, 3);
    find_inverses(d, PERP_SHUFFLE(first, x[2], 0, 1, 6, 7));
}

/* The next pivot, k before it; 0 where no value is negative. */
INLINE int pivot(three *d, const double *M, int k)
{
    size_t r = find_least(d);
    if (!(d->found < 0) || k == 3) return 0;
    if (k > 0) sweep(d, M, k);
    four x = k == 0 ? PERP_THREE(M + 3 * r, 0) : GIVEN(d->at->D[r]);
    d->e = PERP_IF(ROW(r), (four){0} + 1, x) * d->at->inverse[r];
    d->q = PERP_BUT_avx2(ROW(r), d->q) - d->at->q[r] * d->e;
    FOUR(d->at->q) = d->q;
    d->basic |= ROW(r);
    d->changed |= (uint64_t)1 << r;
    d->r = r;
    return 1;
}

/* A fourth pivot ends like those that are not allowed. z and the basis have room for four. */
INLINE int guess(perp_lcp_solver *s, const perp_lcp *lcp)
{
    static const unsigned char bytes[8][4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                              {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    const double *M = lcp->M;
    four diagonal = {M[0], M[4], M[8], 1};
    three d = {.q = PERP_THREE(lcp->q, 0) + (four){0}, /* no -0 */
               .least = PERP_TOL_PIVOT * diagonal,
               .at = (places *)s->work};
    FOUR(d.at->q) = d.q;
    find_inverses(&d, diagonal);
    int pivots = 4;
    if (!pivot(&d, M, 0))
        pivots = 0;
    else if (!pivot(&d, M, 1))
        pivots = 1;
    else if (!pivot(&d, M, 2))
        pivots = 2;
    else if (!pivot(&d, M, 3))
        pivots = 3;
    if (!(d.found >= 0)) return 0;
    FOUR(s->z) = (four)((bits)d.q & d.basic);
    memcpy(s->basis, bytes[d.changed], 4);
    s->pivots = pivots;
    s->has_basis = 1;
    return 1;
}

PERP_TARGET_AVX2 static int guess_avx2(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return guess(s, lcp);
}

PERP_TARGET_AVX512 static int guess_avx512(perp_lcp_solver *s, const perp_lcp *lcp)
{
    return guess(s, lcp);
}

int perp__lemke_guess_three(perp_lcp_solver *s, const perp_lcp *lcp)
{
    if (s->isa > 1) return guess_avx512(s, lcp);
    if (s->isa > 0) return guess_avx2(s, lcp);
    return 0;
}
#else
int perp__lemke_guess_three(perp_lcp_solver *s, const perp_lcp *lcp)
{
    (void)s;
    (void)lcp;
    return 0;
}
#endif
