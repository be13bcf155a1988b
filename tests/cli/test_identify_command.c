/* perp identify as a user runs it. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK "examples/identify/block.perp --data examples/identify/block.csv "

static void says(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("'%s' expected in\n%s", what, text);
}

static void the_example_finds_mass_and_friction(void **state)
{
    (void)state;
    cli_result r = cli_run("identify " BLOCK "-o %s", cli_path("block.json"));
    assert_int_equal(r.code, 0);
    double m = 0, mu = 0;
    const char *line = strstr(r.out, "\n  m  ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " m %lf", &m), 1);
    line = strstr(r.out, "\n  mu ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " mu %lf", &mu), 1);
    assert_near(m, 1.3, 0.005);
    assert_near(mu, 0.37, 0.0015);
    char *json = cli_read(cli_path("block.json"));
    says(json, "\"identifiable\":\ttrue");
    says(json, "\"method\":\t\"predict\"");
    free(json);
    cli_free(&r);
}

static void a_search_of_no_iterations_looks_at_the_starts(void **state)
{
    (void)state;
    cli_result r = cli_run("identify " BLOCK "--data examples/identify/block.csv --max-iter 0");
    assert_int_equal(r.code, 0);
    says(r.out, "the starts were only looked at");
    cli_free(&r);
}

static void the_report_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    cli_result
        a = cli_run(
            "identify " BLOCK
            "--data examples/identify/block.csv --threads 1 -o - 2>/dev/null | grep -v seconds"),
        b = cli_run(
            "identify " BLOCK
            "--data examples/identify/block.csv --threads 2 -o - 2>/dev/null | grep -v seconds");
    assert_true(strlen(a.out) > 1000);
    assert_string_equal(a.out, b.out);
    cli_free(&a);
    cli_free(&b);
}

static void a_folder_is_read_in_the_order_of_its_names(void **state)
{
    (void)state;
    cli_result r =
        cli_run("identify examples/identify/block.perp --data examples/identify -o - --quiet");
    assert_int_equal(r.code, 0);
    says(r.out, "examples/identify/block.csv");
    cli_free(&r);
}

/* What is no file is written to, not replaced: as root, -o /dev/null put a file in the place of the device. */
static void a_pipe_is_written_to(void **state)
{
    (void)state;
    char pipe[1024];
    strcpy(pipe, cli_path("report.pipe"));
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    cli_result r = cli_run("identify " BLOCK "--quiet -o '%s' & cat '%s'; wait $!", pipe, pipe);
    struct stat info;
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "\"covariance\""));
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    cli_free(&r);
    unlink(pipe);
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    const struct {
        const char *command;
        int code;
        const char *says;
    } cases[] = {
        {"identify", 1, "which model?"},
        {"identify examples/identify/block.perp", 1, "which data?"},
        {"identify " BLOCK "--methd predict", 1, "did you mean '--method'?"},
        {"identify " BLOCK "--method guess", 1, "unknown method 'guess'; there are: predict"},
        {"identify " BLOCK "--estimate mo", 1,
         "to estimate: unknown parameter 'mo'; did you mean 'm"},
        {"identify " BLOCK "--estimate g", 1, "'g' needs a range to be estimated"},
        {"identify " BLOCK "--starts 1.5", 1, "--starts needs a whole number from 1 on, not 1.5"},
        {"identify " BLOCK "--confidence 2", 1, "the confidence must lie between 0 and 1"},
        {"identify " BLOCK "--step 0.03", 2, "is not a whole number of steps of 0.03"},
        {"identify examples/identify/block.perp --data no.csv", 4, "no.csv"},
        {"identify examples/identify/block.perp --data tests", 2,
         "no .csv or .perpbin file in this"},
        {"identify no.perp --data examples/identify/block.csv", 4, "no.perp"},
        {"identify " BLOCK "-o /dev/full", 4,
         "/dev/full: cannot be written: No space left on device"},
        {"identify " BLOCK "-o . ", 4, ".: cannot be written: Is a directory"},
        {"identify " BLOCK "-o /nowhere/at/all.json", 4, "/nowhere/at/all.json: cannot be written"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_result r = cli_run("%s", cases[i].command);
        if (r.code != cases[i].code)
            fail_msg("%s: exit code %d\n%s", cases[i].command, r.code, r.err);
        says(r.err, cases[i].says);
        cli_free(&r);
    }
}

/* Every method that needs no more than the notes' data point, and what it says of it. */
static void the_bilevel_point_is_identified_from_the_command(void **state)
{
    (void)state;
    static const char *const options[] = {"", "--soft-sides 5", "--soft-vars 5",
                                          "--method predict"};
    for (int k = 0; k < 4; k++) {
        cli_result r = cli_run("identify experiments/bilevel/block.perp --data "
                               "experiments/bilevel/point.csv --set mu=4 %s",
                               options[k]);
        double mu = 0;
        assert_int_equal(r.code, 0);
        const char *line = strstr(r.out, "\n  mu ");
        assert_non_null(line);
        assert_int_equal(sscanf(line, " mu %lf", &mu), 1);
        if (!near(mu, 1, 0.01)) fail_msg("%s: mu = %g\n%s", options[k], mu, r.out);
        says(r.out, "there are as many samples as parameters");
        cli_free(&r);
    }
    cli_result r = cli_run(
        "identify experiments/bilevel/block.perp --data experiments/bilevel/point.csv --method lp");
    assert_int_not_equal(r.code, 0); /* no force was measured (or the build has no Clp) */
    assert_true(strstr(r.err, "column 'lp'") || strstr(r.err, "Clp"));
    cli_free(&r);
}

/* Without an interval the reason is printed, and JSON has null. */
static void a_missing_interval_has_a_reason(void **state)
{
    (void)state;
    cli_result r = cli_run("identify " BLOCK "--starts 1 -o %s", cli_path("one.json"));
    assert_int_equal(r.code, 0);
    says(r.out, "- no interval: no other start was compared");
    assert_null(strstr(r.out, "["));
    char *json = cli_read(cli_path("one.json"));
    says(json, "\"has_interval\":\tfalse");
    says(json, "\"std_error\":\tnull");
    free(json);
    cli_free(&r);
}

/* The search begins within the range, and the report says so where the model's value is outside. */
static void a_value_outside_of_its_range_is_named(void **state)
{
    (void)state;
    const char *words =
        "- mu: the model's value 50 is outside of the range [0.01, 10]; the search begins "
        "at 10";
    cli_result r = cli_run("identify " BLOCK "--starts 1 --set mu=50");
    says(r.out, words);
    cli_free(&r);
    r = cli_run("identify " BLOCK "--starts 1 --set mu=10");
    assert_null(strstr(r.out, "the search begins"));
    cli_free(&r);
}

/* A long search is stopped: exit code 130, and the best so far where there is one. */
static void an_interrupted_search_prints_the_best_so_far(void **state)
{
    (void)state;
    cli_result r = cli_run("identify " BLOCK "--starts 2 --step 5e-6 & pid=$!; sleep 1; kill -TERM "
                           "$pid; wait $pid");
    assert_int_equal(r.code, 130);
    if (r.out[0]) {
        says(r.out, "interrupted: the best fit so far, which is not judged");
        says(r.out, "- no interval: the search was interrupted");
    } else {
        says(r.err, "interrupted before any point had a fit");
    }
    cli_free(&r);
}

static void help_lists_the_methods(void **state)
{
    (void)state;
    cli_result r = cli_run("identify --help");
    assert_int_equal(r.code, 0);
    says(r.out, "predict");
    says(r.out, "--bootstrap");
    cli_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_finds_mass_and_friction),
        cmocka_unit_test(a_search_of_no_iterations_looks_at_the_starts),
        cmocka_unit_test(the_report_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(a_folder_is_read_in_the_order_of_its_names),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(a_pipe_is_written_to),
        cmocka_unit_test(the_bilevel_point_is_identified_from_the_command),
        cmocka_unit_test(a_missing_interval_has_a_reason),
        cmocka_unit_test(a_value_outside_of_its_range_is_named),
        cmocka_unit_test(an_interrupted_search_prints_the_best_so_far),
        cmocka_unit_test(help_lists_the_methods),
    };
    return run_all(tests);
}
