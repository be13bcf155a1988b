/* The verdicts of the experiments: one that is not expected must fail, and the table must say which. */

#include "unit.h"

#include "support/support.h"

#include <stdio.h>

static const char table[] = PERP_BUILD_DIR "/claims.md";

static void a_verdict_that_is_not_expected_fails_and_is_named_in_the_table(void **state)
{
    char *argv[] = {"test", PERP_BUILD_DIR, (char *)table}, text[4096] = {0};
    (void)state;
    study_begin("claims", 3, argv);
    claim("1", "|a| < 1", HOLDS, 1, "a.svg", "%d", 7);
    claim("2", "b", SLIPS, 0, NULL, "b");
    claim("4", "d", HOLDS, 0, NULL, "d");
    claim("5", "e", SLIPS, 1, NULL, "e");
    study_text("below %s\n", "it");
    assert_int_equal(study_end(), 1);
    FILE *file = fopen(table, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "| 1 | \\|a\\| < 1 | 7 | holds | [a](figures/a.svg) |\n"));
    assert_non_null(strstr(text, "| 2 | b | b | does not hold |"));
    assert_non_null(strstr(text, "| 4 | d | d | FAILS, unexpected |"));
    assert_non_null(strstr(text, "| 5 | e | e | HOLDS, unexpected |"));
    assert_non_null(strstr(text, "\nbelow it\n"));
}

static void expected_verdicts_succeed(void **state)
{
    char *argv[] = {"test"};
    (void)state;
    study_begin("claims", 1, argv);
    assert_true(study_is_quick());
    claim("1", "a", HOLDS, 1, NULL, "a");
    claim("2", "b", SLIPS, 0, NULL, "b");
    assert_int_equal(study_end(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_verdicts_succeed),
        cmocka_unit_test(a_verdict_that_is_not_expected_fails_and_is_named_in_the_table),
    };
    return run_all(tests);
}
