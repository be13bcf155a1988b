/* Messages: a place, a text, a count. */

#include "base/words.h"
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

static void an_unknown_word_is_answered_with_the_nearest_one(void **state)
{
    (void)state;
    static const char *const words[] = {"lemke", "pgs", "psor"};
    char text[128], little[12];
    assert_string_equal(perp_unknown_word("method", "lemk", words, 3, NULL, text, sizeof text),
                        "unknown method 'lemk'; did you mean 'lemke'? There are: lemke pgs psor");
    assert_string_equal(perp_unknown_word("method", "xyz", words, 3, NULL, text, sizeof text),
                        "unknown method 'xyz'; there are: lemke pgs psor");
    assert_string_equal(
        perp_unknown_word("method", "pg", words, 3, "perp solvers", text, sizeof text),
        "unknown method 'pg'; did you mean 'pgs'? See perp solvers");
    assert_string_equal(
        perp_unknown_word("method", "xyz", words, 3, "perp solvers", text, sizeof text),
        "unknown method 'xyz'; see perp solvers");
    assert_string_equal(perp_unknown_word("name", "pg", words, 3, "", text, sizeof text),
                        "unknown name 'pg'; did you mean 'pgs'?");
    assert_string_equal(perp_unknown_word("method", NULL, words, 3, NULL, text, sizeof text),
                        "unknown method; there are: lemke pgs psor");
    assert_string_equal(perp_unknown_word("method", "pg", words, 3, "", little, sizeof little),
                        "unknown met");
    perp_unknown_word("method", "pg", words, 3, "", little, 0);
    assert_string_equal(little, "unknown met"); /* no room: nothing is read or written */
    assert_null(perp_nearest("xyz", words, 3));
}

static void a_table_of_words_names_and_finds(void **state)
{
    (void)state;
    static const perp__word rows[] = {{"fast", "not slow"}, {"slow", "not fast"}};
    static const perp__words words = PERP_WORDS(rows);
    perp_diag diag = {0};
    assert_int_equal(perp__word_find(&words, "slow"), 1);
    assert_int_equal(perp__word_find(&words, "slo"), 2);
    assert_int_equal(perp__word_find(&words, NULL), 2);
    assert_string_equal(perp__word_name(&words, 0), "fast");
    assert_string_equal(perp__word_summary(&words, 1), "not fast");
    assert_string_equal(perp__word_name(&words, 2), "unknown");
    assert_string_equal(perp__word_summary(&words, -1), "");
    perp__refuse_word(&diag, PERP_ERR_ARG, perp__in("a.perp"), "speed", "slwo", &words);
    perp__refuse_word(&diag, PERP_ERR_ARG, perp__in("a.perp"), "speed", "slow",
                      &words); /* a number was wrong */
    assert_string_equal(perp_diag_text(&diag),
                        "a.perp: unknown speed 'slwo'; did you mean 'slow'? There are: fast slow\n"
                        "a.perp: unknown speed; there are: fast slow\n");
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_its_place_and_is_counted),
        cmocka_unit_test(an_unknown_word_is_answered_with_the_nearest_one),
        cmocka_unit_test(a_table_of_words_names_and_finds)};
    return run_all(tests);
}
