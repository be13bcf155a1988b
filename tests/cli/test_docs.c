/* Every model in the documents, and every example, runs. */

#include "cli.h"
#include "unit.h"

#include <glob.h>
#include <stdio.h>

/* A model with a plan is planned: its inputs are chosen, not given. */
static void run_file(const char *path, const char *what)
{
    char *text = cli_read(path);
    const char *command = strstr(text, "\nplan {") ? "plan" : "simulate";
    cli_result r = cli_run("%s '%s' --no-plot", command, path);
    free(text);
    if (r.code != 0) fail_msg("%s: exit code %d\n%s", what, r.code, r.err);
    cli_free(&r);
}

/* The blocks between ```perp and ```. */
static int run_blocks(const char *document)
{
    char path[1024], name[128];
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, document);
    char *text = cli_read(path), *at = text;
    int blocks = 0;
    while ((at = strstr(at, "```perp\n")) != NULL) {
        char *start = at + strlen("```perp\n"), *end = strstr(start, "\n```");
        assert_non_null(end);
        end[1] = 0;
        snprintf(name, sizeof name, "%s, block %d", document, ++blocks);
        run_file(cli_file("block.perp", start), name);
        at = end + 2;
    }
    free(text);
    return blocks;
}

static void every_model_in_the_documents_runs(void **state)
{
    (void)state;
    assert_true(run_blocks("docs/language.md") >= 8);
    assert_true(run_blocks("docs/library.md") >= 6);
    assert_true(run_blocks("docs/start.md") >= 4);
    assert_true(run_blocks("docs/plan.md") >= 2);
}

/* Is a command line of the text one that simulates or plans the file? */
static int is_run_in(const char *golden, const char *file)
{
    static const char *const command[] = {"simulate", "plan"};
    char line[512];
    for (int k = 0; k < 2; k++) {
        snprintf(line, sizeof line, "\n$ perp %s %s ", command[k], file);
        if (strstr(golden, line)) return 1;
        line[strlen(line) - 1] = '\n';
        if (strstr(golden, line)) return 1;
    }
    return 0;
}

/* tests/golden.sh runs the others, and compares what they print. */
static void every_example_runs(void **state)
{
    (void)state;
    glob_t found;
    char *golden = cli_read(PERP_SOURCE_DIR "/tests/data/golden.txt");
    assert_int_equal(glob(PERP_SOURCE_DIR "/examples/*/*.perp", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 15);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strstr(found.gl_pathv[i], "sliding_direct2"))
            continue; /* has no solution, by design; see test_notes */
        if (is_run_in(golden, found.gl_pathv[i] + strlen(PERP_SOURCE_DIR) + 1)) continue;
        run_file(found.gl_pathv[i], found.gl_pathv[i]);
    }
    free(golden);
    globfree(&found);
}

/* Of forces that are not unique they may. */
static void check_file(const char *path, const char *name)
{
    static const char *const warnings[] = {"units do not match", "of a quantity in", "nothing uses",
                                           "is not known",       "comes before",     "the guard"};
    cli_result r = cli_run("check '%s'", path);
    for (size_t k = 0; k < sizeof warnings / sizeof *warnings; k++)
        if (strstr(r.out, warnings[k])) fail_msg("%s:\n%s", name, r.out);
    if (strstr(r.out, "lib/") && (strstr(r.out, "may become") || strstr(r.out, "may leave") ||
                                  strstr(r.out, "grow together")))
        fail_msg("%s:\n%s", name, r.out); /* of a part of the library */
    cli_free(&r);
}

static void no_example_has_a_warning_but_of_forces(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(PERP_SOURCE_DIR "/examples/*/*.perp", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) check_file(found.gl_pathv[i], found.gl_pathv[i]);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_in_the_documents_runs),
        cmocka_unit_test(every_example_runs),
        cmocka_unit_test(no_example_has_a_warning_but_of_forces),
    };
    return run_all(tests);
}
