/* Messages: a place, a text, a count. */

#include "base/base.h"
#include "unit.h"

static void an_error_has_its_place_and_is_counted(void **state)
{
    (void)state;
    perp_diag diag = {0};
    assert_int_equal(perp__refuse(&diag, PERP_ERR_DATA, perp__in("a.csv"), "row %d\n", 7),
                     PERP_ERR_DATA);
    assert_int_equal(
        perp__refuse(&diag, PERP_ERR_ARG, (perp__place){"b.perp", 3, 12}, "no %s", "x"),
        PERP_ERR_ARG);
    perp__diag_append(&diag, "; more\n");
    perp__refuse(&diag, PERP_ERR_ARG, (perp__place){"b.perp", 4, 0}, "c\n");
    perp__refuse(&diag, PERP_ERR_ARG, perp__in(NULL), "%d: d\n", 5);
    assert_string_equal(perp_diag_text(&diag),
                        "a.csv: row 7\nb.perp:3:12: no x; more\nb.perp:4: c\n5: d\n");
    assert_int_equal(diag.errors, 4);
    perp_diag_clear(&diag);
    assert_int_equal(perp__refuse(NULL, PERP_ERR_FILE, perp__in("a"), "b"), PERP_ERR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_error_has_its_place_and_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
