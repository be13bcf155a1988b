/* lookup(..): tables of files and lists, linear and smooth, as functions of any expression. */

#include "runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Row k of a column of a run in which x is t - 1. */
static double at_row(const char *lookup, int k)
{
    char text[500];
    snprintf(
        text, sizeof text,
        "state x = -1\nder(x) = 1\noutput y = %s\nlet both = lookup([0, 1], [0, 2], [x, 2*x])\n"
        "output two = both[2]\n",
        lookup);
    run r = run_model(parse_model(text), 6, 0.125);
    double y = at(&r, k, "y");
    free_run(&r);
    return y;
}

static void tables_are_linear_between_their_rows(void **state)
{
    (void)state;
    const char *y = "lookup([0, 1, 2, 4], [5, 7, 4, 4], x)";
    const double places[] = {-1, 0, 0.5, 1, 1.5, 2, 3, 4, 5}, is[] = {5, 5, 6, 7, 5.5, 4, 4, 4, 4};
    for (int i = 0; i < 9; i++)
        assert_true(fabs(at_row(y, (int)(8 * (places[i] + 1))) - is[i]) < 1e-12);
    assert_true(fabs(at_row("lookup([0, 1], [0, 2], x)", 12) - 1) < 1e-12);
}

/* Through the rows, monotone between them, with a derivative that does not jump. */
static void smooth_tables_have_a_derivative(void **state)
{
    (void)state;
    const char *y = "lookup([0, 1, 2, 4], [0, 2, 3, 3], x, \"smooth\")";
    double before = at_row(y, 7), here = at_row(y, 8), last = 0;
    assert_true(fabs(before) < 1e-12 && fabs(here) < 1e-12);
    assert_true(fabs(at_row(y, 16) - 2) < 1e-12 && fabs(at_row(y, 24) - 3) < 1e-12);
    for (int k = 8; k < 30; k++) {
        double next = at_row(y, k);
        assert_true(next >= last - 1e-12 && next <= 3 + 1e-12);
        last = next;
    }
    /* one piece by hand: from 1 to 2 with slopes 4/3 and 0, at the middle 2.5 + (4/3)/8 */
    assert_true(fabs(at_row(y, 20) - (2.5 + 4. / 24)) < 1e-12);
}

static void tables_come_from_files_with_units(void **state)
{
    (void)state;
    char path[] = "/tmp/perp_lookup_XXXXXX", text[600];
    int file = mkstemp(path);
    const char *table = "# unit F = N\nx,F\n0,1\n2,5\n";
    assert_true(file >= 0 && write(file, table, strlen(table)) == (ssize_t)strlen(table));
    close(file);
    snprintf(text, sizeof text,
             "param m = 1 \"kg\"\nstate x = 1 \"m\", v = 0 \"m/s\"\nvar q \"m\"\nder(x) = v\n"
             "m*der(v) = lookup(\"%s\", \"F\", x)\nq = lookup(\"%s\", \"F\", 2*x)\n",
             path, path);
    perp_model *m = parse_model(text);
    perp_check_report report = {.size = sizeof report};
    perp_diag diag = {0};
    assert_int_equal(perp_check(m, NULL, &report, &diag), PERP_OK);
    assert_int_equal(report.warnings, 1); /* of q alone */
    assert_non_null(
        strstr(perp_diag_text(&diag), "units do not match across the equation: 'm' and 'N'"));
    perp_diag_clear(&diag);
    run r = run_model(m, 0.01, 0.01);
    assert_true(fabs(last(&r, "q") - 5) < 1e-12); /* held beyond its end */
    free_run(&r);
    snprintf(text, sizeof text, "var q\nq = lookup(\"%s\", \"x\", 1) + lookup(\"%s\", \"G\", 1)\n",
             path, path);
    refuse_model(text, "has no column 'G'");
    unlink(path);
    refuse_model("var q\nq = lookup(\"none.csv\", \"F\", q)\n",
                 "m.perp:2:12: none.csv: No such file");
    refuse_model("var q\nq = lookup(\".\", \"F\", q)\n", "it is no regular file");
    refuse_model("var q\nq = lookup([0, 0], [1, 2], q)\n",
                 "m.perp:2:12: row 2 of the table is not behind");
    refuse_model("var q\nq = lookup([0, 1], [1, 2, 3], q)\n", "3 values for 2 places of the table");
    refuse_model("var q\nq = lookup([0], [1], q)\n", "1 rows; a table to look up has from 2 to");
    refuse_model("var q\nq = lookup(3, [1], q)\n", "expected a list of numbers");
    refuse_model("var q\nq = lookup(q, q)\n", "expected lookup(\"FILE.csv\"");
    refuse_model("var q\nq = lookup([0, 1], [1, 2], q, \"rough\")\n", "expected lookup(");
    refuse_model("var q\nq = lookup([0, q], [1, 2], q)\n", "'q' is a var; only parameters");
}

/* An input in terms of earlier ones is what they are, also when they are set. */
static void inputs_follow_earlier_inputs(void **state)
{
    (void)state;
    const char *text =
        "input a = 2*t\ninput b = a + 1, c[2] = [b*b, a]\nstate x = 0\nder(x) = c[1]\n"
        "output y = c[2]\n";
    run r = run_model(parse_model(text), 1, 0.5);
    assert_true(last(&r, "b") == 3 && last(&r, "x") == 0.5 * 4 + 0.5 * 9 && last(&r, "y") == 2);
    free_run(&r);
    perp_model *m = parse_model(text);
    assert_int_equal(perp_model_set(m, "a", 4, NULL), PERP_OK);
    r = run_model(m, 1, 0.5);
    assert_true(last(&r, "c[1]") == 25 && last(&r, "y") == 4);
    free_run(&r);
    m = parse_model(text);
    perp_trajectory *table;
    perp_diag diag = {0};
    assert_int_equal(perp_trajectory_parse("t,a\n0,1\n1,2\n", 12, "t.csv", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "a", table, NULL, NULL, &diag), PERP_ERR_ARG);
    assert_non_null(
        strstr(perp_diag_text(&diag), "'a' cannot have a table: 'b' is written in terms"));
    perp_trajectory_destroy(table);
    perp_diag_clear(&diag);
    perp_model_destroy(m);
    refuse_model(
        "input a = b\ninput b = 1\nstate x = 0\nder(x) = a\n",
        "'b' is an input; an input is a function of t and parameters, and of inputs before it");
    refuse_model("input a = a\nstate x = 0\nder(x) = a\n", "m.perp:1:11: 'a' is an input");
    refuse_model("input a\ninput b = a\nstate x = 0\nder(x) = a\n", "m.perp:2:11: 'a' is an input");
}

/* What is added to a sum has its unit. */
static void shares_have_the_unit_of_their_sum(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("part B { state v = 0 \"m/s\"\n sum F \"N\", n[2] \"m\"\n"
                    " der(v) = F/2\n}\nB b\ninput P = t \"m\", Q = t \"N\"\n"
                    "b.F += P\nb.F += Q\nb.n += [P, P]\nb.n[2] += Q\noutput o = sum(b.n)\n");
    perp_check_report report = {.size = sizeof report};
    perp_diag diag = {0};
    assert_int_equal(perp_check(m, NULL, &report, &diag), PERP_OK);
    assert_non_null(strstr(
        perp_diag_text(&diag),
        ":7:8: warning: units do not match with the sum 'b.F' that it is added to: 'm' and 'N'"));
    assert_null(strstr(perp_diag_text(&diag), ":8:8: warning"));
    perp_diag_clear(&diag);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_linear_between_their_rows),
        cmocka_unit_test(smooth_tables_have_a_derivative),
        cmocka_unit_test(tables_come_from_files_with_units),
        cmocka_unit_test(inputs_follow_earlier_inputs),
        cmocka_unit_test(shares_have_the_unit_of_their_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
