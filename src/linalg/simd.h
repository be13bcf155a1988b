/* The same C code for several vector widths, chosen at run time. Results do not depend on the
 * choice: no contraction to fused multiply-add anywhere, and every element sees the same operations
 * in the same order. A compiler or machine without these uses the plain version alone.
 *
 *     static inline PERP_INLINE void body(...) { plain loops }
 *     #define VERSION(isa, target) target static void work_##isa(...) { body(...); }
 *     PERP_ISA_LIST(VERSION)
 *
 * PERP_APART: what is rarely needed, kept out of a short function that calls it, so that this saves
 * no registers for it. */

#ifndef PERP_SRC_SIMD_H
#define PERP_SRC_SIMD_H

#include <stdint.h>

#if defined(__GNUC__) && defined(__x86_64__)
#define PERP_INLINE __attribute__((always_inline))
#define PERP_APART  __attribute__((noinline))
#if defined(__clang__)
#define PERP_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define PERP_TARGET_AVX512                                                                         \
    __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define PERP_TARGET_AVX2 __attribute__((target("avx2")))
#define PERP_ISA_COUNT   3
#define PERP_ISA_LIST(X)                                                                           \
    X(plain, )                                                                                     \
    X(avx2, PERP_TARGET_AVX2)                                                                      \
    X(avx512, PERP_TARGET_AVX512)
#define PERP_ISA_DETECT                                                                            \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&                    \
             __builtin_cpu_supports("avx512vl")                                                    \
         ? 2                                                                                       \
     : __builtin_cpu_supports("avx2") ? 1                                                          \
                                      : 0)
#else
#if defined(__GNUC__) && defined(__OPTIMIZE_SIZE__) /* a page is loaded before it runs */
#define PERP_INLINE
#define PERP_APART __attribute__((noinline))
#elif defined(__GNUC__)
#define PERP_INLINE __attribute__((always_inline))
#define PERP_APART  __attribute__((noinline))
#else
#define PERP_INLINE
#define PERP_APART
#endif
#define PERP_ISA_COUNT   1
#define PERP_ISA_LIST(X) X(plain, )
#define PERP_ISA_DETECT  0
#endif

/* LANES(isa): a vector of doubles as wide as that machine's, MASK(isa): what a comparison of two
 * gives. One double where the compiler has no vectors, or computes with more digits than a double
 * has (x87). */
#if defined(__GNUC__) && __FLT_EVAL_METHOD__ == 0
#define PERP_LANES(isa)  PERP_LANES_(isa)
#define PERP_LANES_(isa) perp__lanes_##isa
#define PERP_MASK(isa)   PERP_MASK_(isa)
#define PERP_MASK_(isa)  perp__mask_##isa
typedef double perp__lanes_plain __attribute__((vector_size(16), aligned(8), may_alias));
typedef double perp__lanes_avx2 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double perp__lanes_avx512 __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long perp__mask_plain __attribute__((vector_size(16), aligned(8), may_alias));
typedef long long perp__mask_avx2 __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long perp__mask_avx512 __attribute__((vector_size(64), aligned(8), may_alias));
#define PERP_LANE(x, l) ((x)[l])
#define PERP_SELECT(isa, mask, yes, no)                                                            \
    ((PERP_LANES(isa))(((PERP_MASK(isa))(yes) & (mask)) | ((PERP_MASK(isa))(no) & ~(mask))))
#define PERP_ABS(isa, x)     ((PERP_LANES(isa))((PERP_MASK(isa))(x)&INT64_MAX))
#define PERP_JOIN(isa, x, y) ((PERP_LANES(isa))((PERP_MASK(isa))(x) | (PERP_MASK(isa))(y)))
#define PERP_CLAIM_OF_plain(bits)                                                                  \
    (((perp__mask_plain){1, 2} & (long long)(bits)) != (perp__mask_plain){0})
#define PERP_CLAIM_OF_avx2(bits)                                                                   \
    (((perp__mask_avx2){1, 2, 4, 8} & (long long)(bits)) != (perp__mask_avx2){0})
#if defined(__clang__) || __GNUC__ >= 12
#define PERP_SHUFFLE(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define PERP_SHUFFLE(x, y, i, j, k, l) __builtin_shuffle(x, y, (perp__mask_avx2){i, j, k, l})
#endif
#else
#define PERP_LANES(isa)                 double
#define PERP_MASK(isa)                  long long
#define PERP_LANE(x, l)                 (x)
#define PERP_SELECT(isa, mask, yes, no) ((mask) ? (yes) : (no))
#define PERP_ABS(isa, x)                __builtin_fabs(x)
#define PERP_JOIN(isa, x, y)            ((x) + (y))
#define PERP_CLAIM_OF_plain(bits)       ((long long)(bits)&1)
#endif

/* a < b ? a : b and a > b ? a : b, one instruction on some machines; only in functions of that
 * isa. */
#define PERP_SMALLER(isa, a, b)  PERP_SMALLER_(isa, a, b)
#define PERP_LARGER(isa, a, b)   PERP_LARGER_(isa, a, b)
#define PERP_SMALLER_(isa, a, b) PERP_SMALLER_##isa(a, b)
#define PERP_LARGER_(isa, a, b)  PERP_LARGER_##isa(a, b)
#if PERP_ISA_COUNT > 1
#define PERP_SMALLER_plain(a, b) (perp__lanes_plain)(__builtin_ia32_minpd(a, b))
#define PERP_LARGER_plain(a, b)  (perp__lanes_plain)(__builtin_ia32_maxpd(a, b))
#define PERP_SMALLER_avx2(a, b)  (perp__lanes_avx2)(__builtin_ia32_minpd256(a, b))
#define PERP_LARGER_avx2(a, b)   (perp__lanes_avx2)(__builtin_ia32_maxpd256(a, b))
#ifdef __clang__
#define PERP_SMALLER_avx512(a, b) (perp__lanes_avx512)(__builtin_ia32_minpd512(a, b, 4))
#define PERP_LARGER_avx512(a, b)  (perp__lanes_avx512)(__builtin_ia32_maxpd512(a, b, 4))
#else
#define PERP_SMALLER_avx512(a, b)                                                                  \
    (perp__lanes_avx512)(__builtin_ia32_minpd512_mask(a, b, a, 255, 4))
#define PERP_LARGER_avx512(a, b) (perp__lanes_avx512)(__builtin_ia32_maxpd512_mask(a, b, a, 255, 4))
#endif
#else
#define PERP_SMALLER_plain(a, b) PERP_SELECT(plain, (a) < (b), a, b)
#define PERP_LARGER_plain(a, b)  PERP_SELECT(plain, (a) > (b), a, b)
#endif

/* Four numbers side by side for small kernels, the same in all versions: narrower machines take
 * them in pieces. PERP_FOUR is one where the compiler has no vectors. What a comparison of two
 * gives is joined by & and |, and asked by PERP_IF. */
typedef PERP_LANES(avx2) perp__four;
enum { PERP_FOUR = (int)(sizeof(perp__four) / sizeof(double)) };
#define PERP_IF(mask, yes, no) PERP_SELECT(avx2, mask, yes, no)
#define PERP_SIZE(x)           PERP_ABS(avx2, x)
#define PERP_EITHER(x, y)      PERP_JOIN(avx2, x, y) /* x where y is 0, y where x is 0 */

/* What lanes claim, in functions of that isa alone: vectors of ones and zeros, of avx512 bits.
 * PERP_LESS, PERP_AT_MOST: x < y, x <= y; PERP_SAME: of integers. PERP_PICK: one of two; PERP_BUT:
 * x, but 0 where a claim is true; PERP_BITS: the lanes in which it is, as bits; PERP_CLAIM_OF: the
 * claim that is true in these. */
#define PERP_CLAIM(isa)                PERP_CLAIM_(isa)
#define PERP_CLAIM_(isa)               perp__claim_##isa
#define PERP_LESS(isa, x, y)           PERP_LESS_(isa, x, y)
#define PERP_LESS_(isa, x, y)          PERP_LESS_##isa(x, y)
#define PERP_AT_MOST(isa, x, y)        PERP_AT_MOST_(isa, x, y)
#define PERP_AT_MOST_(isa, x, y)       PERP_AT_MOST_##isa(x, y)
#define PERP_SAME(isa, x, y)           PERP_SAME_(isa, x, y)
#define PERP_SAME_(isa, x, y)          PERP_SAME_##isa(x, y)
#define PERP_PICK(isa, mask, yes, no)  PERP_PICK_(isa, mask, yes, no)
#define PERP_PICK_(isa, mask, yes, no) PERP_PICK_##isa(mask, yes, no)
#define PERP_BUT(isa, mask, x)         PERP_BUT_(isa, mask, x)
#define PERP_BUT_(isa, mask, x)        PERP_BUT_##isa(mask, x)
#define PERP_BITS(isa, mask)           PERP_BITS_(isa, mask)
#define PERP_BITS_(isa, mask)          PERP_BITS_##isa(mask)
#define PERP_CLAIM_OF(isa, bits)       PERP_CLAIM_OF_(isa, bits)
#define PERP_CLAIM_OF_(isa, bits)      PERP_CLAIM_OF_##isa(bits)
typedef PERP_MASK(plain) perp__claim_plain;
typedef PERP_MASK(avx2) perp__claim_avx2;
#define PERP_LESS_plain(x, y)          ((x) < (y))
#define PERP_AT_MOST_plain(x, y)       ((x) <= (y))
#define PERP_SAME_plain(x, y)          ((x) == (y))
#define PERP_LESS_avx2                 PERP_LESS_plain
#define PERP_AT_MOST_avx2              PERP_AT_MOST_plain
#define PERP_SAME_avx2                 PERP_SAME_plain
#define PERP_PICK_plain(mask, yes, no) PERP_SELECT(plain, mask, yes, no)
#if PERP_ISA_COUNT > 1
#define PERP_PICK_avx2(mask, yes, no)                                                              \
    ((perp__four)__builtin_ia32_blendvpd256(no, yes, (perp__four)(mask)))
#define PERP_BITS_avx2(mask)   ((unsigned)__builtin_ia32_movmskpd256((perp__four)(mask)))
#define PERP_BITS_plain(mask)  ((unsigned)__builtin_ia32_movmskpd((perp__lanes_plain)(mask)))
#define PERP_BITS_avx512(mask) ((unsigned)(mask))
typedef unsigned char perp__claim_avx512;
#define PERP_CLAIM_OF_avx512(bits) ((perp__claim_avx512)(bits))
#define PERP_COMPARE(x, y, how)                                                                    \
    ((perp__claim_avx512)__builtin_ia32_cmppd512_mask(x, y, how, 255, 4))
#define PERP_LESS_avx512(x, y)    PERP_COMPARE(x, y, 1)
#define PERP_AT_MOST_avx512(x, y) PERP_COMPARE(x, y, 2)
#define PERP_SAME_avx512(x, y)    ((perp__claim_avx512)__builtin_ia32_cmpq512_mask(x, y, 0, 255))
#define PERP_BUT_avx512(mask, x)  PERP_PICK_avx512(mask, (perp__lanes_avx512){0}, x)
#ifdef __clang__
#define PERP_PICK_avx512(mask, yes, no)                                                            \
    ((perp__lanes_avx512)__builtin_ia32_selectpd_512(mask, yes, no))
#else
#define PERP_PICK_avx512(mask, yes, no)                                                            \
    ((perp__lanes_avx512)__builtin_ia32_blendmpd_512_mask(no, yes, mask))
#endif
#else
#define PERP_BITS_plain(mask) perp__bits(mask)
#endif
#if PERP_ISA_COUNT > 1 && !defined(__clang__) /* gcc makes two blends of a selection with 0 */
#define PERP_BUT_plain(mask, x)                                                                    \
    ((perp__lanes_plain)__builtin_ia32_andnpd((perp__lanes_plain)(mask), x))
#define PERP_BUT_avx2(mask, x) ((perp__four)__builtin_ia32_andnpd256((perp__four)(mask), x))
#else
#define PERP_BUT_plain(mask, x) PERP_SELECT(plain, mask, (PERP_LANES(plain)){0}, x)
#define PERP_BUT_avx2(mask, x)  PERP_SELECT(avx2, mask, (perp__four){0}, x)
#endif

static inline unsigned perp__bits(PERP_MASK(plain) mask)
{
    unsigned bits = 0;
    for (int l = 0; l < (int)(sizeof mask / sizeof(double)); l++)
        bits |= (unsigned)(PERP_LANE(mask, l) != 0) << l;
    return bits;
}

/* Of lanes from avx2 on: PERP_GATHER, x[i] becomes the numbers of[l][i] of all lanes l, i < 4;
 * PERP_SCATTER, back from there to 4 l + i. */
#define PERP_GATHER(isa, of, x)    PERP_GATHER_(isa, of, x)
#define PERP_GATHER_(isa, of, x)   perp__gather_##isa(of, x)
#define PERP_SCATTER(isa, x, to)   PERP_SCATTER_(isa, x, to)
#define PERP_SCATTER_(isa, x, to)  perp__scatter_##isa(x, to)
#define perp__gather_plain(of, x)  (void)(of)
#define perp__scatter_plain(x, to) ((void)(x), (void)(to))

#if PERP_ISA_COUNT > 1
#if defined(__clang__) || __GNUC__ >= 12
#define PERP_SHUFFLE_EIGHT(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#define PERP_TWO_FOURS(x, y)          __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7)
#define PERP_FIRST_FOUR(x)            __builtin_shufflevector(x, x, 0, 1, 2, 3)
#define PERP_LAST_FOUR(x)             __builtin_shufflevector(x, x, 4, 5, 6, 7)
#else
#define PERP_SHUFFLE_EIGHT(x, y, ...) __builtin_shuffle(x, y, (perp__mask_avx512){__VA_ARGS__})
#define PERP_TWO_FOURS(x, y)                                                                       \
    ((perp__lanes_avx512){(x)[0], (x)[1], (x)[2], (x)[3], (y)[0], (y)[1], (y)[2], (y)[3]})
#define PERP_FIRST_FOUR(x) ((perp__four){(x)[0], (x)[1], (x)[2], (x)[3]})
#define PERP_LAST_FOUR(x)  ((perp__four){(x)[4], (x)[5], (x)[6], (x)[7]})
#endif

/* x[i] becomes the lanes i of all. */
static inline PERP_INLINE PERP_TARGET_AVX2 void perp__transpose_avx2(perp__four *x)
{
    perp__four a = PERP_SHUFFLE(x[0], x[1], 0, 4, 2, 6), b = PERP_SHUFFLE(x[0], x[1], 1, 5, 3, 7);
    perp__four c = PERP_SHUFFLE(x[2], x[3], 0, 4, 2, 6), d = PERP_SHUFFLE(x[2], x[3], 1, 5, 3, 7);
    x[0] = PERP_SHUFFLE(a, c, 0, 1, 4, 5);
    x[1] = PERP_SHUFFLE(b, d, 0, 1, 4, 5);
    x[2] = PERP_SHUFFLE(a, c, 2, 3, 6, 7);
    x[3] = PERP_SHUFFLE(b, d, 2, 3, 6, 7);
}

/* The same in both halves. */
static inline PERP_INLINE PERP_TARGET_AVX512 void perp__transpose_avx512(perp__lanes_avx512 *x)
{
#define UPPER(x, y) PERP_SHUFFLE_EIGHT(x, y, 0, 8, 2, 10, 4, 12, 6, 14)
#define LOWER(x, y) PERP_SHUFFLE_EIGHT(x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#define LEFT(x, y)  PERP_SHUFFLE_EIGHT(x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define RIGHT(x, y) PERP_SHUFFLE_EIGHT(x, y, 2, 3, 10, 11, 6, 7, 14, 15)
    perp__lanes_avx512 a = UPPER(x[0], x[1]), b = LOWER(x[0], x[1]);
    perp__lanes_avx512 c = UPPER(x[2], x[3]), d = LOWER(x[2], x[3]);
    x[0] = LEFT(a, c);
    x[1] = LEFT(b, d);
    x[2] = RIGHT(a, c);
    x[3] = RIGHT(b, d);
#undef UPPER
#undef LOWER
#undef LEFT
#undef RIGHT
}

static inline PERP_INLINE PERP_TARGET_AVX2 void perp__gather_avx2(const double *const *of,
                                                                  perp__four *x)
{
    for (int l = 0; l < 4; l++) x[l] = *(const perp__four *)of[l];
    perp__transpose_avx2(x);
}

static inline PERP_INLINE PERP_TARGET_AVX2 void perp__scatter_avx2(const perp__four *x, double *to)
{
    perp__four y[4];
    for (int i = 0; i < 4; i++) y[i] = x[i];
    perp__transpose_avx2(y);
    for (int l = 0; l < 4; l++) *(perp__four *)(to + 4 * l) = y[l];
}

static inline PERP_INLINE PERP_TARGET_AVX512 void perp__gather_avx512(const double *const *of,
                                                                      perp__lanes_avx512 *x)
{
    for (int l = 0; l < 4; l++)
        x[l] = PERP_TWO_FOURS(*(const perp__four *)of[l], *(const perp__four *)of[l + 4]);
    perp__transpose_avx512(x);
}

static inline PERP_INLINE PERP_TARGET_AVX512 void perp__scatter_avx512(const perp__lanes_avx512 *x,
                                                                       double *to)
{
    perp__lanes_avx512 y[4];
    for (int i = 0; i < 4; i++) y[i] = x[i];
    perp__transpose_avx512(y);
    for (int l = 0; l < 4; l++) {
        *(perp__four *)(to + 4 * l) = PERP_FIRST_FOUR(y[l]);
        *(perp__four *)(to + 4 * l + 16) = PERP_LAST_FOUR(y[l]);
    }
}
#endif

/* What is there will soon be read. */
#if defined(__GNUC__)
#define PERP_FETCH(address) __builtin_prefetch(address)
#else
#define PERP_FETCH(address) (void)(address)
#endif

/* The largest that perp__isa answers; tests set it before anything runs. */
extern int perp__isa_most;

/* Which entry of PERP_ISA_LIST this machine runs: its index. */
static inline int perp__isa(void)
{
    int isa = PERP_ISA_DETECT;
    return isa < perp__isa_most ? isa : perp__isa_most;
}

#endif
