/* What the commands write: never over what they read, whole or not at all. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN  "examples/control/double_integrator.perp"
#define BLOCK "examples/identify/block.perp"
#define RUN   "examples/identify/block.csv"

static void expect_text(const char *path, const char *text)
{
    char *found = cli_read(path);
    assert_string_equal(found, text);
    free(found);
}

/* A copy of `from` in a folder of the test, with its text. */
static char *copy(const char *folder, const char *name, const char *from)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(cli_path(folder), 0777);
    char *text = cli_read(from);
    cli_file(path, text);
    return text;
}

static void measured_data_are_not_overwritten(void **state)
{
    (void)state;
    char data[1024], file[1024], alias[3][1024];
    char *text = copy("data", "run.csv", PERP_SOURCE_DIR "/" RUN);
    strcpy(data, cli_path("data"));
    strcpy(file, cli_path("data/run.csv"));
    const char *const names[] = {"alias.json", "alias.html", "alias.svg"};
    for (int i = 0; i < 3; i++) { /* the endings of what is written */
        strcpy(alias[i], cli_path(names[i]));
        unlink(alias[i]);
        assert_int_equal(symlink(file, alias[i]), 0);
    }
    const char *says = "which this run reads";
    cli_expect(1, NULL, says, "identify " BLOCK " --data '%s' -o '%s'", file, alias[0]);
    cli_expect(1, NULL, says, "identify " BLOCK " --data '%s' --report '%s'", file, alias[1]);
    cli_expect(1, NULL, says, "identify " BLOCK " --data '%s' -o '%s'", data, alias[0]);
    cli_expect(1, NULL, says, "identify " BLOCK " --data '%s' -o '%s/../alias.json'", alias[2],
               data);
    cli_expect(1, NULL, says, "report '%s' -o '%s' --svg '%s'", file, cli_path("a.html"), alias[2]);
    expect_text(file, text);
    cli_expect(0, NULL, NULL, "identify " BLOCK " --data '%s' -o '%s/new.json' --quiet", file,
               data);
    free(text);
}

static void a_guess_is_not_overwritten(void **state)
{
    (void)state;
    char guess[1024];
    strcpy(guess, cli_file("guess.csv", "t,x\n0,0\n1,1\n"));
    cli_expect(1, NULL, "--report", "plan " PLAN " --guess '%s' --report '%s'", guess, guess);
    cli_expect(1, NULL, "which this run reads", "plan " PLAN " --guess '%s' --log '%s'", guess,
               guess);
    cli_expect(1, NULL, "which this run reads", "plan " PLAN " --guess '%s' -o '%s'", guess, guess);
    expect_text(guess, "t,x\n0,0\n1,1\n");
}

/* Files that are not there yet are the same where folder and name are, by whatever path. */
static void two_results_do_not_go_to_one_file(void **state)
{
    (void)state;
    char z[1024], link[1024], folder[1024];
    strcpy(folder, cli_folder());
    strcpy(z, cli_path("z"));
    strcpy(link, cli_path("link"));
    unlink(z);
    unlink(link);
    assert_int_equal(symlink("z", link), 0); /* to a file that is not there */
    cli_expect(1, NULL, "-o and --log cannot both go to", "plan " PLAN " -o '%s' --log '%s'", z, z);
    cli_expect(1, NULL, "-o and --report cannot both go to", "plan " PLAN " -o '%s' --report '%s'",
               z, z);
    cli_expect(1, NULL, "--log and --report", "plan " PLAN " --log '%s' --report '%s'", z, link);
    cli_expect(1, NULL, "-o and --report", "simulate " BLOCK " -o '%s/./z' --report '%s'", folder,
               z);
    cli_expect(1, NULL, "-o and --report",
               "identify " BLOCK " --data " RUN " -o '%s' --report '%s'", z, z);
    cli_expect(1, NULL, "-o and --svg", "report " RUN " -o '%s' --svg '%s'", z, link);
    cli_expect(1, NULL, "standard output", "report " RUN " -o - --svg /dev/stdout");
    assert_int_equal(access(z, F_OK), -1);
    cli_expect(0, NULL, NULL, "plan " PLAN " -o /dev/null --log /dev/null --quiet");
    cli_expect(0, NULL, NULL, "plan " PLAN " -o '%s' --log '%s.log' --quiet", z, z);
}

/* A name says what is in the file: no format goes under the ending of another one. */
static void a_name_has_the_ending_of_what_is_written(void **state)
{
    (void)state;
    const struct {
        int code;
        const char *command, *name, *says;
    } rows[] = {
        {1, "export " PLAN " -o", "a.txt",
         "-o %s: what is written there ends in .fmu, not in .txt"},
        {1, "export " PLAN " -o", "a.csv", "ends in .fmu, not in .csv"},
        {1, "export " PLAN " -o", "a.FMU", "ends in .fmu, not in .FMU"},
        {1, "export casadi " PLAN " -o", "a.h", "ends in .c, not in .h"},
        {1, "export perp examples/robots/arm.xml -o", "a.xml", "ends in .perp, not in .xml"},
        {0, "export c " BLOCK " -o", "code.v2", NULL}, /* a folder */
        {1, "simulate " BLOCK " -o", "a.html", "ends in .csv or .perpbin or .h5, not in .html"},
        {1, "simulate " BLOCK " -o", "a.H5", "not in .H5"},
        {1, "simulate " BLOCK " --events", "a.h5", "ends in .csv, not in .h5"},
        {1, "simulate " BLOCK " --report", "a.txt", "ends in .html or .htm, not in .txt"},
        {1, "plan " PLAN " --gains", "a.json", "not in .json"},
        {1, "report " RUN " --svg", "a.png", "ends in .svg, not in .png"},
        {1, "identify " BLOCK " --data " RUN " -o", "a.csv", "ends in .json, not in .csv"},
        {0, "simulate " BLOCK " --quiet -o", "a.run", NULL}, /* an ending of no format: text */
        {0, "simulate " BLOCK " --quiet -o", ".csv.d", NULL},
        {0, "simulate " BLOCK " --quiet -o", ".html", NULL}, /* the name, not its ending */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[1024], says[1200];
        strcpy(path, cli_path(rows[i].name));
        unlink(path);
        snprintf(says, sizeof says, rows[i].says ? rows[i].says : "", path);
        cli_expect(rows[i].code, NULL, rows[i].says ? says : NULL, "%s '%s'", rows[i].command,
                   path);
        assert_int_equal(access(path, F_OK) == 0, rows[i].code == 0);
    }
}

/* Whole or not at all ----------------------------------------------------------------------------- */

#define FALL "state x = 0\nder(x) = 1\nsimulate to 1 step 1e-3\n"
#define LATE "state x = 0\nvar y\nder(x) = 1\ny*y = 0.45 - t\nsimulate to 1 step 0.1\n"

/* How many files of the folder have names that begin with `name`. */
static int count_files(const char *name)
{
    cli_result r = cli_run("--version; ls -A '%s' | grep -c '^%s'", cli_folder(), name);
    int n = atoi(strchr(r.out, '\n') + 1);
    cli_free(&r);
    return n;
}

static char *fall(void)
{
    static char path[1024];
    return strcpy(path, cli_file("fall.perp", FALL));
}

static void a_stopped_run_keeps_the_earlier_file(void **state)
{
    (void)state;
    char out[1024], model[1024];
    strcpy(out, cli_file("kept.csv", "earlier"));
    strcpy(model, cli_file("late.perp", LATE));
    cli_expect(3, NULL, "kept.csv.partial; the earlier file is kept", "simulate '%s' -o '%s'",
               model, out);
    expect_text(out, "earlier");
    assert_int_equal(count_files("kept"), 2);
    char *text = cli_read(cli_path("kept.csv.partial"));
    assert_non_null(strstr(text, "\n0.4,"));
    assert_non_null(strstr(text, "\n# stopped: "));
    free(text);
    cli_expect(0, NULL, NULL, "report '%s.partial' --svg /dev/null", out);
    cli_expect(3, NULL, NULL, "simulate '%s' --stream -o '%s'", model, out); /* in place: gone */
    text = cli_read(out);
    assert_non_null(strstr(text, "\n# stopped: "));
    free(text);
    cli_expect(3, NULL, NULL, "simulate '%s' -o - --report '%s' >/dev/null", model,
               cli_path("kept.html"));
    assert_int_equal(count_files("kept.html"), 0);
    assert_int_equal(count_files("kept.partial.html"), 1);
}

/* Exit code, the page that is said, and what is at the old name. */
static void expect_page(const char *page, int code, const char *command)
{
    char partial[1024];
    strcpy(partial, cli_path("shown.partial.html"));
    unlink(partial);
    cli_result r = cli_run("%s --report '%s'", command, page);
    assert_int_equal(r.code, code);
    if (!strstr(r.out, "shown.partial.html")) fail_msg("perp %s\n%s", command, r.out);
    assert_non_null(strstr(r.out, "report: "));
    cli_free(&r);
    expect_text(page, "earlier");
    char *text = cli_read(partial);
    assert_non_null(strstr(text, "</html>"));
    free(text);
    assert_int_equal(count_files("shown."), 2);
}

static void a_stopped_run_keeps_the_earlier_page(void **state)
{
    (void)state;
    char page[1024], command[4096];
    strcpy(page, cli_file("shown.html", "earlier"));
    snprintf(command, sizeof command, "simulate '%s'", cli_file("late.perp", LATE));
    expect_page(page, 3, command);
    expect_page(page, 3, "plan examples/opty/push.perp --max-iter 2");
}

static void a_search_that_is_interrupted_keeps_the_earlier_fit(void **state)
{
    (void)state;
    char fit[1024];
    strcpy(fit, cli_file("fit.json", "earlier"));
    unlink(cli_path("fit.json.partial"));
    cli_result r =
        cli_run("identify " BLOCK " --data " RUN " --quiet --starts 2 --step 5e-6 -o '%s' & "
                "pid=$!; sleep 2; kill -INT $pid; wait $pid",
                fit);
    assert_int_equal(r.code, 130);
    expect_text(fit, "earlier");
    if (!strstr(r.err, "before any point had a fit")) {
        assert_non_null(strstr(r.err, "fit.json.partial"));
        char *text = cli_read(cli_path("fit.json.partial"));
        assert_non_null(strstr(text, "\"interrupted\":\ttrue"));
        free(text);
    }
    cli_free(&r);
}

static void links_and_modes_stay(void **state)
{
    (void)state;
    struct stat s;
    char out[1024], link[1024], later[1024];
    mkdir(cli_path("real"), 0777);
    strcpy(out, cli_file("real/out.csv", "earlier"));
    strcpy(link, cli_path("to_out"));
    strcpy(later, cli_path("to_later"));
    unlink(link);
    unlink(later);
    unlink(cli_path("real/later.csv"));
    assert_int_equal(symlink("real/out.csv", link), 0);
    assert_int_equal(symlink("real/later.csv", later), 0);
    assert_int_equal(chmod(out, 0640), 0);
    cli_expect(0, NULL, NULL, "simulate '%s' -o '%s' --quiet", fall(), link);
    cli_expect(0, NULL, NULL, "simulate '%s' -o '%s' --quiet", fall(), later);
    assert_int_equal(lstat(link, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(lstat(later, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat(out, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);
    const char *written[] = {out, cli_path("real/later.csv")};
    for (int i = 0; i < 2; i++) {
        char *text = cli_read(written[i]);
        assert_non_null(strstr(text, "\n# complete: 1001 rows\n"));
        free(text);
    }
    mode_t mask = umask(0027);
    cli_expect(0, NULL, NULL, "simulate '%s' -o '%s' --quiet", fall(), cli_path("real/new.csv"));
    umask(mask);
    assert_int_equal(stat(cli_path("real/new.csv"), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);
}

static void pipes_are_written_to(void **state)
{
    (void)state;
    struct stat s;
    char pipe[1024], got[1024];
    strcpy(pipe, cli_path("pipe"));
    strcpy(got, cli_path("got"));
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0666), 0);
    cli_expect(
        0, NULL, NULL,
        "--version; timeout 20 cat '%s' > '%s' & \"$PERP\" simulate '%s' -o '%s' --quiet; wait",
        pipe, got, fall(), pipe);
    assert_int_equal(stat(pipe, &s), 0);
    assert_true(S_ISFIFO(s.st_mode));
    char *text = cli_read(got);
    assert_non_null(strstr(text, "\n# complete: 1001 rows\n"));
    free(text);
}

/* A file may have 8 blocks of 512 bytes: each command ends with 4, says why, and leaves what was there. */
static void a_full_disk_leaves_the_earlier_file_and_nothing_else(void **state)
{
    (void)state;
    char out[1024], line[8192];
    strcpy(out, cli_file("full", "earlier"));
    const char *calls[] = {"simulate %s -o '%s'",
                           "simulate %s --report '%s'",
                           "simulate %s -o /dev/null --report '%s'",
                           "plan " PLAN " --nodes 400 -o '%s'",
                           "plan " PLAN " --nodes 400 --report '%s'",
                           "plan examples/opty/push.perp --log '%s'",
                           "identify " BLOCK " --data " RUN " --report '%s'",
                           "report " RUN " -o '%s'",
                           "report " RUN " --svg '%s'"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int is_log = strstr(calls[i], "--log") != NULL;
        int n =
            snprintf(line, sizeof line, "--version >&2; ulimit -f %d; \"$PERP\" ", is_log ? 1 : 8);
        if (i < 3)
            snprintf(line + n, sizeof line - (size_t)n, calls[i], fall(), out);
        else
            snprintf(line + n, sizeof line - (size_t)n, calls[i], out);
        strcat(line, " >/dev/null");
        cli_expect(4, NULL, "File too large", "%s", line);
        expect_text(out, "earlier");
        if (count_files("full") != 1) fail_msg("perp %s leaves files behind", line);
    }
    cli_expect(4, NULL, "cannot be written",
               "identify " BLOCK " --data " RUN " --quiet -o /dev/full");
}

/* Whatever a run is doing when it is killed, the earlier file is whole, and what is beside it can be read. */
static void a_killed_run_leaves_the_earlier_file(void **state)
{
    (void)state;
    char out[1024];
    strcpy(out, cli_file("killed.csv", "t,x\n0,1\n"));
    for (int i = 1; i <= 12; i++) {
        cli_result r =
            cli_run("simulate '%s' --step 1e-6 --quiet -o '%s' & sleep 0.%02d; kill -KILL $!; "
                    "wait $!",
                    fall(), out, 2 * i);
        assert_int_equal(r.code, 128 + 9);
        cli_free(&r);
        expect_text(out, "t,x\n0,1\n");
        r = cli_run(
            "--version; for f in '%s'.*.part; do test ! -s \"$f\" || \"$PERP\" report \"$f\" "
            "--svg /dev/null >&2; rm -f \"$f\"; done",
            out);
        if (strstr(r.err, "not a number") || strstr(r.err, "fields")) fail_msg("%s", r.err);
        cli_free(&r);
        assert_int_equal(count_files("killed"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_data_are_not_overwritten),
        cmocka_unit_test(a_guess_is_not_overwritten),
        cmocka_unit_test(two_results_do_not_go_to_one_file),
        cmocka_unit_test(a_name_has_the_ending_of_what_is_written),
        cmocka_unit_test(a_stopped_run_keeps_the_earlier_file),
        cmocka_unit_test(a_stopped_run_keeps_the_earlier_page),
        cmocka_unit_test(a_search_that_is_interrupted_keeps_the_earlier_fit),
        cmocka_unit_test(links_and_modes_stay),
        cmocka_unit_test(pipes_are_written_to),
        cmocka_unit_test(a_full_disk_leaves_the_earlier_file_and_nothing_else),
        cmocka_unit_test(a_killed_run_leaves_the_earlier_file),
    };
    return run_all(tests);
}
