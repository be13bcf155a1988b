/* Memory from an arena: zeroed, apart, aligned; growth keeps what was there; running out is remembered. */

#include "unit.h"

#include "base/arena.h"
#include "failing_malloc.h"

#include <stdint.h>
#include <string.h>

static void objects_are_zero_apart_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 500, 4096, 3, 100000, 2, 1 << 21, 5};
    enum { N = sizeof sizes / sizeof *sizes };
    perp__arena arena = {0};
    unsigned char *object[N];
    for (int i = 0; i < N; i++) {
        assert_non_null(PERP_TAKE(&arena, object[i], sizes[i]));
        assert_int_equal((uintptr_t)object[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(object[i][k], 0);
        memset(object[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(object[i][k], i + 1);
    perp__arena_clear(&arena);
    assert_null(arena.blocks);
}

static void growth_keeps_what_was_there(void **state)
{
    (void)state;
    perp__arena arena = {0};
    int *x = NULL, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(perp__arena_grow(&arena, &x, &capacity, i + 1, sizeof *x));
        assert_int_equal(x[i], 0);
        x[i] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(x[i], i);
    assert_false(perp__arena_grow(&arena, &x, &capacity, INT32_MAX, (size_t)1 << 40));
    assert_int_equal(x[999], 999);
    perp__arena_clear(&arena);
}

static void running_out_is_remembered_and_ends_with_the_arena(void **state)
{
    (void)state;
    perp__arena arena = {0};
    double *x, *y;
    long before = live;
    fail_at = allocations + 1;
    assert_null(PERP_TAKE(&arena, x, 1 << 20));
    assert_non_null(PERP_TAKE(&arena, y, 3));
    assert_true(arena.failed);
    perp__arena_clear(&arena);
    assert_false(arena.failed);
    assert_int_equal(live, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_zero_apart_and_aligned),
        cmocka_unit_test(growth_keeps_what_was_there),
        cmocka_unit_test(running_out_is_remembered_and_ends_with_the_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
