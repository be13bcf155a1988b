/* Lengths of runs are refined where inputs alone are at bounds: a bound that holds anything else keeps them from it. */

#include "runs.h"

#include "plan/lengths.c"

static void a_bound_on_either_side_that_holds_is_not_clear(void **state)
{
    (void)state;
    static const double big = 1e3;
    assert_true(is_clear_of(1, 0, 2) && is_clear_of(1, -(double)INFINITY, INFINITY));
    assert_false(is_clear_of(1, 1, 2) || is_clear_of(1, 0, 1)); /* at either bound */
    assert_false(is_clear_of(1, -(double)INFINITY, 1) || is_clear_of(1, 1, INFINITY));
    assert_false(is_clear_of(1 + 1e-8, 1, 2) || is_clear_of(2 - 1e-8, 1, 2)); /* within CLEAR */
    assert_true(is_clear_of(1 + 1e-6, 1, 2) && is_clear_of(2 - 1e-6, 1, 2));
    assert_false(is_clear_of(3, 1, 2) || is_clear_of(0, 1, 2)); /* beyond */
    assert_false(is_clear_of(big + 1e-5, big, 2 * big));        /* relative */
    assert_true(is_clear_of(big + 1e-3, big, 2 * big));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_on_either_side_that_holds_is_not_clear),
    };
    return run_all(tests);
}
