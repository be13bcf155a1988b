/* Sparse LU by rows. The same source makes it for real and for complex numbers. */

#include "linalg/sparse_lu.h"

#include "base/arena.h"
#include "base/tol.h"
#include "linalg/simd.h"
#include "linalg/sparse_order.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The power of two below x, or the least normal number. */
static double power_below(double x)
{
    union {
        double number;
        uint64_t bits;
    } u = {x};
    u.bits &= 0x7ff0000000000000u;
    return u.number > 0x1p-1022 ? u.number : 0x1p-1022;
}

/* Rows of a triangular factor, one behind the other. */
typedef struct fill {
    int used, capacity, capacity_of_values;
    int *start, *index;
} fill;

#define SCALAR        double
#define LU            perp__sparse_lu
#define NAME(name)    perp__sparse_lu##name
#define LOCAL(name)   real_##name
#define SIZE(x)       fabs(x)
#define PRODUCT(x, y) ((x) * (y))
#define IS_FINITE(x)  isfinite(x)
#include "linalg/sparse_lu_kernel.h"

#ifndef CMPLX /* C11's; glibc's header has it for gcc alone */
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

/* Without the care for infinite parts that the operator takes. */
static inline double complex product(double complex x, double complex y)
{
    return CMPLX(creal(x) * creal(y) - cimag(x) * cimag(y),
                 creal(x) * cimag(y) + cimag(x) * creal(y));
}

#define SCALAR        double complex
#define LU            perp__sparse_zlu
#define NAME(name)    perp__sparse_zlu##name
#define LOCAL(name)   complex_##name
#define SIZE(x)       (fabs(creal(x)) + fabs(cimag(x)))
#define PRODUCT(x, y) product(x, y)
#define IS_FINITE(x)  (isfinite(creal(x)) && isfinite(cimag(x)))
#include "linalg/sparse_lu_kernel.h"
