/* Numbers in twice the precision of a double, as the sum of two (Dekker 1971), without fused
 * multiply-add. */

#ifndef PERP_SRC_TWICE_H
#define PERP_SRC_TWICE_H

#include <stdint.h>
#include <string.h>

/* a + b = s + error, exactly (Knuth). */
static inline double perp__sum_error(double a, double b, double s)
{
    double of_b = s - a;
    return (a - (s - of_b)) + (b - of_b);
}

/* x rounded to 26 bits, so that products of such numbers are exact; by its bits, where a product
 * would overflow. */
static inline double perp__upper_half(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x4000000u) & ~(uint64_t)0x7ffffff;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a b = p + error, exactly unless it underflows (below 1e-290). */
static inline double perp__product_error(double a, double b, double p)
{
    double ah = perp__upper_half(a), al = a - ah, bh = perp__upper_half(b), bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/* At most 26 digits. A rounded sum, quotient or decimal fraction almost always has more. */
static inline int perp__is_short(double x)
{
    return x == perp__upper_half(x);
}

#endif
