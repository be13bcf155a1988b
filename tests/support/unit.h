/* What every test includes: CMocka and a comparison of doubles (CMocka's own compares in single
 * precision). */

#ifndef PERP_TEST_UNIT_H
#define PERP_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

/* |x - y| <= tolerance; never true of NaN. */
static inline int near(double x, double y, double tolerance)
{
    return fabs(x - y) <= tolerance;
}

#define assert_near(x, y, tolerance)                                                               \
    do {                                                                                           \
        double x_ = (x), y_ = (y), tol_ = (tolerance);                                             \
        if (!near(x_, y_, tol_))                                                                   \
            fail_msg("%s is %.17g, expected %.17g within %g (off by %g)", #x, x_, y_, tol_,        \
                     x_ - y_);                                                                     \
    } while (0)

#endif
