/* Outlines: what names of a text mean, in parts, in branches that are not taken, in what nothing uses, and in texts with errors. */

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp/outline.h"

static perp_outline *outline_of(const char *text, int errors)
{
    perp_outline *o;
    perp_diag diag = {0};
    assert_int_equal(perp_outline_create(text, strlen(text), "m.perp", NULL, &o, &diag), PERP_OK);
    if (diag.errors != errors) fail_msg("%d errors:\n%s", diag.errors, perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return o;
}

/* Bytes of the k-th occurrence of the word, from 0. */
static int place(const char *text, const char *word, int k)
{
    const char *at = strstr(text, word);
    for (; k > 0 && at; k--) at = strstr(at + 1, word);
    assert_non_null(at);
    return (int)(at - text);
}

/* Where the name at this byte of the first file is declared: how many places, the first of them; -1: not known, -2: no name. */
static int meant(const perp_outline *o, int at, int *count)
{
    int first = -2;
    *count = 0;
    for (int i = 0; i < perp_outline_mentions(o); i++) {
        perp_outline_mention m = perp_outline_get_mention(o, i);
        if (m.at.file || m.at.at != at) continue;
        if (!*count) first = m.meant.file < 0 ? -1 : m.meant.at;
        ++*count;
    }
    return first;
}

static void expect(const char *text, const perp_outline *o, const char *word, int k, int declared)
{
    int n, at = meant(o, place(text, word, k), &n);
    if (n != 1 || at != declared)
        fail_msg("%s (%d): %d meanings, the first at %d, expected %d in\n%s", word, k, n, at,
                 declared, text);
}

static const char *const parts = "part Block(m = 1 \"kg\") {\n"
                                 "    state xx = 0 \"m\", vv = 0\n"
                                 "    sum F\n"
                                 "    der(xx) = vv\n"
                                 "    m*der(vv) = F\n"
                                 "}\n"
                                 "part Pull(bb, k = 3) {\n"
                                 "    if k > 2 { bb.F += -k*bb.xx } else { bb.F += -bb.vv }\n"
                                 "}\n"
                                 "part Idle(qq) { let z = 2\n let w = z*qq.xx }\n"
                                 "function twice(uu) = 2*uu\n"
                                 "Block train[jj in 1..2](m = 2, xx = 0.1*jj)\n"
                                 "for ii in 1..2 { Pull p(train[ii]) }\n"
                                 "output y = twice(train[2].xx) + sum(nn in 1..2, nn)\n";

static void names_mean_their_declarations(void **state)
{
    (void)state;
    perp_outline *o = outline_of(parts, 0);
    int x = place(parts, "xx", 0), v = place(parts, "vv", 0);
    for (int k = 0; k < 3; k++) expect(parts, o, "xx", k, x); /* in der, through an argument */
    expect(parts, o, "vv", 3, v);                             /* in the branch not taken */
    expect(parts, o, "xx", 4, x);                             /* the start that is given */
    expect(parts, o, "xx = 0.1", 0, x);
    expect(parts, o, "xx) + sum", 0, x);
    expect(parts, o, "qq.xx", 0, place(parts, "qq", 0));
    expect(parts, o, "bb.F", 1, place(parts, "bb", 0));
    expect(parts, o, "uu", 1, place(parts, "uu", 0));
    expect(parts, o, "twice", 1, place(parts, "twice", 0));
    expect(parts, o, "Pull", 1, place(parts, "Pull", 0));
    expect(parts, o, "train", 1, place(parts, "train", 0));
    expect(parts, o, "jj", 1, place(parts, "jj", 0));
    expect(parts, o, "ii", 1, place(parts, "ii", 0));
    expect(parts, o, "ii", 0, place(parts, "ii", 0));
    expect(parts, o, "jj", 0, place(parts, "jj", 0));
    expect(parts, o, "nn", 0, place(parts, "nn", 0));
    expect(parts, o, "nn", 1, place(parts, "nn", 0));
    expect(parts, o, "z*qq", 0, place(parts, "z = 2", 0));
    expect(parts, o, "m = 2", 0, place(parts, "m = 1", 0));
    int n, unknown = meant(o, place(parts, "qq.xx", 0) + 3, &n);
    assert_int_equal(unknown, -1); /* of what Idle is given nothing is known */
    perp_outline_destroy(o);
}

static perp_outline_name name_of(const perp_outline *o, const char *full)
{
    for (int i = 0; i < perp_outline_names(o); i++) {
        perp_outline_name name = perp_outline_get_name(o, i);
        if (strcmp(name.name, full) == 0) return name;
    }
    fail_msg("no name %s", full);
    return (perp_outline_name){0};
}

static void names_have_kinds_units_values_and_scopes(void **state)
{
    (void)state;
    perp_outline *o = outline_of(parts, 0);
    perp_outline_name m = name_of(o, "train[2].m"), x = name_of(o, "train[2].xx");
    assert_string_equal(m.kind, "parameter");
    assert_string_equal(m.unit, "kg");
    assert_true(m.value == 2);
    assert_true(x.value == 0.2 && strcmp(x.unit, "m") == 0);
    assert_true(m.scope.at < m.at.at && m.scope.end == place(parts, "}\n", 0) + 1);
    assert_string_equal(name_of(o, "train[1]").of, "Block");
    assert_string_equal(name_of(o, "p[2].bb").of, "train[2]");
    assert_string_equal(name_of(o, "Block").kind, "part");
    assert_string_equal(name_of(o, "twice").kind, "function");
    assert_string_equal(name_of(o, "uu").kind, "argument");
    assert_string_equal(name_of(o, "ii").kind, "index");
    assert_int_equal(name_of(o, "ii").scope.end, place(parts, "Pull p", 0) + 19);
    assert_int_equal(name_of(o, "y").scope.end, (int)strlen(parts));
    perp_outline_destroy(o);
}

/* Several parts through one argument. */
static void one_mention_may_mean_several_declarations(void **state)
{
    (void)state;
    static const char *const text =
        "part A { state x = 0\n der(x) = 0 }\npart B { state x = 1\n der(x) = 1 }\n"
        "part Look(o) { output y = o.x }\nA a\nB b\nLook l(a)\nLook k(b)\n";
    perp_outline *o = outline_of(text, 0);
    int n;
    meant(o, place(text, "o.x", 0) + 2, &n);
    assert_int_equal(n, 2);
    perp_outline_destroy(o);
}

static void files_of_parts_are_no_errors_and_libraries_are_known(void **state)
{
    (void)state;
    perp_outline *o = outline_of("part A(k = 1) { let z = k\n state x = z\n der(x) = -k*x }\n", 0);
    assert_true(name_of(o, "?A.z").at.at > 0);
    perp_outline_destroy(o);
    static const char *const text = "use \"planar\"\nGround g\nBody b\nPin p(g, b)\n";
    o = outline_of(text, 0);
    assert_int_equal(perp_outline_files(o), 2);
    perp_outline_file lib = perp_outline_get_file(o, 1);
    assert_true(lib.is_library && !perp_outline_get_file(o, 0).is_library);
    perp_outline_name pin = name_of(o, "Pin");
    assert_int_equal(pin.at.file, 1);
    assert_memory_equal(lib.text + pin.at.at, "Pin", 3);
    perp_outline_destroy(o);
}

static void texts_with_errors_have_outlines(void **state)
{
    (void)state;
    static const char *const text = "param k = 2\nstate x = 1\nx +\nder(x) = -k*x + zz\n";
    perp_outline *o = outline_of(text, 2);
    expect(text, o, "k", 1, place(text, "k", 0));
    expect(text, o, "x", 2, place(text, "x", 0));
    perp_outline_destroy(o);
    for (int n = 0; n <= (int)strlen(parts); n++) { /* cut anywhere, as while it is typed */
        assert_int_equal(perp_outline_create(parts, (size_t)n, "m.perp", NULL, &o, NULL), PERP_OK);
        perp_outline_destroy(o);
    }
}

static void words_and_libraries_are_listed(void **state)
{
    (void)state;
    int n, found = 0;
    const char *const *word = perp_language_words(&n);
    for (int i = 0; i < n; i++) {
        found += strcmp(word[i], "lookup") == 0 || strcmp(word[i], "sin") == 0 ||
                 strcmp(word[i], "state") == 0 || strcmp(word[i], "perp") == 0;
    }
    assert_int_equal(found, 4);
    assert_non_null(perp_library_name(0));
    assert_null(perp_library_name(1000));
    assert_null(perp_library_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_their_declarations),
        cmocka_unit_test(names_have_kinds_units_values_and_scopes),
        cmocka_unit_test(one_mention_may_mean_several_declarations),
        cmocka_unit_test(files_of_parts_are_no_errors_and_libraries_are_known),
        cmocka_unit_test(texts_with_errors_have_outlines),
        cmocka_unit_test(words_and_libraries_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
