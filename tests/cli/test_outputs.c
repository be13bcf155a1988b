/* What the commands write: never over what they read, whole or not at all. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN  "examples/control/double_integrator.perp"
#define BLOCK "examples/identify/block.perp"
#define RUN   "examples/identify/block.csv"

/* Run and expect the exit code and, unless NULL, words on standard error. */
static void expect(int code, const char *says, const char *arguments)
{
    cli_result r = cli_run("%s", arguments);
    if (r.code != code || (says && !strstr(r.err, says)))
        fail_msg("perp %s\nexit code %d, expected %d with '%s' in:\n%s", arguments, r.code, code,
                 says ? says : "", r.err);
    cli_free(&r);
}

#define EXPECT(code, says, ...)                                                                    \
    do {                                                                                           \
        char line_[4096];                                                                          \
        snprintf(line_, sizeof line_, __VA_ARGS__);                                                \
        expect(code, says, line_);                                                                 \
    } while (0)

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
    char data[1024], file[1024], alias[1024];
    char *text = copy("data", "run.csv", PERP_SOURCE_DIR "/" RUN);
    strcpy(data, cli_path("data"));
    strcpy(file, cli_path("data/run.csv"));
    strcpy(alias, cli_path("alias.csv"));
    unlink(alias);
    assert_int_equal(symlink(file, alias), 0);
    const char *says = "which this run reads";
    EXPECT(1, says, "identify " BLOCK " --data '%s' -o '%s'", file, file);
    EXPECT(1, says, "identify " BLOCK " --data '%s' --report '%s'", file, file);
    EXPECT(1, says, "identify " BLOCK " --data '%s' -o '%s'", data, file);
    EXPECT(1, says, "identify " BLOCK " --data '%s' -o '%s'", file, alias);
    EXPECT(1, says, "identify " BLOCK " --data '%s' -o '%s/../data/run.csv'", alias, data);
    EXPECT(1, says, "report '%s' -o '%s' --svg '%s'", file, cli_path("a.html"), alias);
    expect_text(file, text);
    EXPECT(0, NULL, "identify " BLOCK " --data '%s' -o '%s/new.json' --quiet", file, data);
    free(text);
}

static void a_guess_is_not_overwritten(void **state)
{
    (void)state;
    char guess[1024];
    strcpy(guess, cli_file("guess.csv", "t,x\n0,0\n1,1\n"));
    EXPECT(1, "--report", "plan " PLAN " --guess '%s' --report '%s'", guess, guess);
    EXPECT(1, "which this run reads", "plan " PLAN " --guess '%s' --log '%s'", guess, guess);
    EXPECT(1, "which this run reads", "plan " PLAN " --guess '%s' -o '%s'", guess, guess);
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
    EXPECT(1, "-o and --log cannot both go to", "plan " PLAN " -o '%s' --log '%s'", z, z);
    EXPECT(1, "-o and --report cannot both go to", "plan " PLAN " -o '%s' --report '%s'", z, z);
    EXPECT(1, "--log and --report", "plan " PLAN " --log '%s' --report '%s'", z, link);
    EXPECT(1, "-o and --report", "simulate " BLOCK " -o '%s/./z' --report '%s'", folder, z);
    EXPECT(1, "-o and --report", "identify " BLOCK " --data " RUN " -o '%s' --report '%s'", z, z);
    EXPECT(1, "-o and --svg", "report " RUN " -o '%s' --svg '%s'", z, link);
    EXPECT(1, "standard output", "report " RUN " -o - --svg /dev/stdout");
    assert_int_equal(access(z, F_OK), -1);
    EXPECT(0, NULL, "plan " PLAN " -o /dev/null --log /dev/null --quiet");
    EXPECT(0, NULL, "plan " PLAN " -o '%s' --log '%s.log' --quiet", z, z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_data_are_not_overwritten),
        cmocka_unit_test(a_guess_is_not_overwritten),
        cmocka_unit_test(two_results_do_not_go_to_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
