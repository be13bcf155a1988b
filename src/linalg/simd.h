/* The same C code for several vector widths, chosen at run time. Results do not depend on the choice: no
 * contraction to fused multiply-add anywhere, and every element sees the same operations in the same
 * order. A compiler or machine without these uses the plain version alone.
 *
 *     static inline PERP_INLINE void body(...) { plain loops }
 *     #define VERSION(isa, target) target static void work_##isa(...) { body(...); }
 *     PERP_ISA_LIST(VERSION)
 *
 * PERP_APART: what is rarely needed, kept out of a short function that calls it, so that this saves no registers for it. */

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
#if defined(__GNUC__)
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

/* LANES(isa): a vector of doubles as wide as that machine's, MASK(isa): what a comparison of two gives. One double
 * where the compiler has no vectors, or computes with more digits than a double has (x87). */
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
#define PERP_THREE(x, last)  ((perp__lanes_avx2){(x)[0], (x)[1], (x)[2], last})
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
#define PERP_THREE(x, last)             ((x)[0])
#endif

/* a < b ? a : b and a > b ? a : b, which some machines have as one instruction; in functions of that isa alone. */
#define PERP_SMALLER(isa, a, b)  PERP_SMALLER_(isa, a, b)
#define PERP_LARGER(isa, a, b)   PERP_LARGER_(isa, a, b)
#define PERP_SMALLER_(isa, a, b) PERP_SMALLER_##isa(a, b)
#define PERP_LARGER_(isa, a, b)  PERP_LARGER_##isa(a, b)
#if PERP_ISA_COUNT > 1
#define PERP_SMALLER_plain(a, b) (perp__lanes_plain)(__builtin_ia32_minpd(a, b))
#define PERP_LARGER_plain(a, b)  (perp__lanes_plain)(__builtin_ia32_maxpd(a, b))
#define PERP_SMALLER_avx2(a, b)  (perp__lanes_avx2)(__builtin_ia32_minpd256(a, b))
#define PERP_LARGER_avx2(a, b)   (perp__lanes_avx2)(__builtin_ia32_maxpd256(a, b))
#else
#define PERP_SMALLER_plain(a, b) PERP_SELECT(plain, (a) < (b), a, b)
#define PERP_LARGER_plain(a, b)  PERP_SELECT(plain, (a) > (b), a, b)
#endif
#define PERP_SMALLER_avx512(a, b) PERP_SELECT(avx512, (a) < (b), a, b)
#define PERP_LARGER_avx512(a, b)  PERP_SELECT(avx512, (a) > (b), a, b)

/* Four numbers side by side for small kernels, the same in all versions: narrower machines take them in pieces. PERP_FOUR is one where
 * the compiler has no vectors. What a comparison of two gives is joined by & and |, and asked by PERP_IF. */
typedef PERP_LANES(avx2) perp__four;
enum { PERP_FOUR = (int)(sizeof(perp__four) / sizeof(double)) };
#define PERP_IF(mask, yes, no) PERP_SELECT(avx2, mask, yes, no)
#define PERP_SIZE(x)           PERP_ABS(avx2, x)
#define PERP_EITHER(x, y)      PERP_JOIN(avx2, x, y) /* x where y is 0, y where x is 0 */
/* PERP_THREE(x, last): x_0, x_1, x_2 and last, made in a register: a load of what was stored by pieces waits long. */

/* Of lanes up to avx2, in functions of that isa alone: PERP_SELECT by a mask that is all ones or all zeros in each lane; x, but 0 where
 * a mask is true; the lanes in which a mask is true, as bits. */
#define PERP_PICK(isa, mask, yes, no)  PERP_PICK_(isa, mask, yes, no)
#define PERP_PICK_(isa, mask, yes, no) PERP_PICK_##isa(mask, yes, no)
#define PERP_BUT(isa, mask, x)         PERP_BUT_(isa, mask, x)
#define PERP_BUT_(isa, mask, x)        PERP_BUT_##isa(mask, x)
#define PERP_BITS(isa, mask)           PERP_BITS_(isa, mask)
#define PERP_BITS_(isa, mask)          PERP_BITS_##isa(mask)
#define PERP_PICK_plain(mask, yes, no) PERP_SELECT(plain, mask, yes, no)
#if PERP_ISA_COUNT > 1
#define PERP_PICK_avx2(mask, yes, no)                                                              \
    ((perp__four)__builtin_ia32_blendvpd256(no, yes, (perp__four)(mask)))
#define PERP_BITS_avx2(mask)  ((unsigned)__builtin_ia32_movmskpd256((perp__four)(mask)))
#define PERP_BITS_plain(mask) ((unsigned)__builtin_ia32_movmskpd((perp__lanes_plain)(mask)))
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

/* Four of four: x[i] becomes the lanes i of all. */
static inline PERP_INLINE void perp__transpose(perp__four *x)
{
#ifdef PERP_SHUFFLE
    perp__four a = PERP_SHUFFLE(x[0], x[1], 0, 4, 2, 6), b = PERP_SHUFFLE(x[0], x[1], 1, 5, 3, 7);
    perp__four c = PERP_SHUFFLE(x[2], x[3], 0, 4, 2, 6), d = PERP_SHUFFLE(x[2], x[3], 1, 5, 3, 7);
    x[0] = PERP_SHUFFLE(a, c, 0, 1, 4, 5), x[1] = PERP_SHUFFLE(b, d, 0, 1, 4, 5);
    x[2] = PERP_SHUFFLE(a, c, 2, 3, 6, 7), x[3] = PERP_SHUFFLE(b, d, 2, 3, 6, 7);
#else
    (void)x; /* one lane */
#endif
}

/* The largest that perp__isa answers; tests set it before anything runs. */
extern int perp__isa_most;

/* Which entry of PERP_ISA_LIST this machine runs: its index. */
static inline int perp__isa(void)
{
    int isa = PERP_ISA_DETECT;
    return isa < perp__isa_most ? isa : perp__isa_most;
}

#endif
