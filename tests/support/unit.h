/* What every test includes: CMocka, skipping that is reported, and a comparison of doubles (CMocka's own compares in
 * single precision). */

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

/* What a test program returns of which a part could not run here: ctest reports it as skipped. */
enum { TEST_SKIPPED = 77 };

static inline int *test_skips(void)
{
    static int count;
    return &count;
}

/* Ends the test: what it needs, a file or a library, is not there. */
#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message("skipped: " __VA_ARGS__);                                                    \
        print_message("\n");                                                                       \
        ++*test_skips();                                                                           \
        skip();                                                                                    \
    } while (0)

static inline int test_result(int failed)
{
    return failed ? failed : *test_skips() ? TEST_SKIPPED : 0;
}

#define run_all(tests) test_result(cmocka_run_group_tests(tests, NULL, NULL))

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
