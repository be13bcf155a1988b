/* Includes the header that KERNEL names once for every instruction set (simd.h), with ISA, the
 * suffix of its names, and TARGET, the attribute of its functions. Both are undefined at the
 * end. */

#define ISA plain
#define TARGET
#include KERNEL
#if PERP_ISA_COUNT > 1
#define ISA    avx2
#define TARGET PERP_TARGET_AVX2
#include KERNEL
#define ISA    avx512
#define TARGET PERP_TARGET_AVX512
#include KERNEL
#endif
#undef KERNEL
