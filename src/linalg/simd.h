/* The same C code for several vector widths, chosen at run time. Results do not depend on the choice: no
 * contraction to fused multiply-add anywhere, and every element sees the same operations in the same
 * order. A compiler or machine without these uses the plain version alone.
 *
 *     static inline PERP_INLINE void body(...) { plain loops }
 *     #define VERSION(isa, target) target static void work_##isa(...) { body(...); }
 *     PERP_ISA_LIST(VERSION) */

#ifndef PERP_SRC_SIMD_H
#define PERP_SRC_SIMD_H

#if defined(__GNUC__) && defined(__x86_64__)
#define PERP_INLINE __attribute__((always_inline))
#if defined(__clang__)
#define PERP_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define PERP_TARGET_AVX512                                                                         \
    __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define PERP_ISA_LIST(X)                                                                           \
    X(plain, )                                                                                     \
    X(avx2, __attribute__((target("avx2"))))                                                       \
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
#else
#define PERP_INLINE
#endif
#define PERP_ISA_LIST(X) X(plain, )
#define PERP_ISA_DETECT 0
#endif

/* Which entry of PERP_ISA_LIST this machine runs: its index. */
static inline int perp__isa(void)
{
    return PERP_ISA_DETECT;
}

#endif
