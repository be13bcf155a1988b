/* What perp takes from its surroundings: files that hostile inputs name, libraries, the cache, full discs. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A file of the working directory under the name of a library that perp loads, with loader paths that have empty and relative elements. */
static void libraries_do_not_come_from_the_working_directory(void **state)
{
    (void)state;
    cli_result r = cli_run("--version --verbose");
    assert_int_equal(r.code, 0);
    int has_expat =
        strstr(r.out, "libexpat.so.1 ") && !strstr(r.out, "libexpat.so.1            not");
    char *line = strchr(r.out, '\n');
    for (line = line ? strtok(line, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        char name[256], path[4096];
        assert_int_equal(sscanf(line, "%255s %4095[^\n]", name, path), 2);
        if (path[0] != '/' && strcmp(path, "not found") != 0) fail_msg("%s", line);
        cli_file(name, "no library");
    }
    cli_free(&r);
    if (!has_expat) skip_because("there is no expat");
    cli_expect(0, "bodies: 11", NULL,
               "--version > /dev/null; cd '%s' && LD_LIBRARY_PATH=:.: \"$PERP\" check "
               "'" PERP_SOURCE_DIR "/examples/robots/hand.xml'",
               cli_folder());
}

/* What files name must be regular files: a pipe would hang, "-" would read what is meant for another. */
static void what_files_name_is_a_regular_file(void **state)
{
    (void)state;
    static const char *const robots[][2] = {
        {"include.xml", "<mujoco><include file='%s'/><worldbody><body><geom size='1'/></body>"
                        "</worldbody></mujoco>"},
        {"mesh.xml", "<mujoco><asset><mesh name='m' file='%s'/></asset><worldbody><geom "
                     "type='mesh' mesh='m'/></worldbody></mujoco>"},
        {"field.xml", "<mujoco><asset><hfield name='h' file='%s' size='1 1 1 1'/></asset>"
                      "<worldbody><geom type='hfield' hfield='h'/></worldbody></mujoco>"},
        {"robot.perp", "model a\nrobot r = \"%s\"\nsimulate to 1 step 0.1\n"},
        {"table.perp",
         "input u = table(\"%s\")\nstate x = 0\nder(x) = u\nsimulate to 1 step 0.1\n"},
        {"lookup.perp", "var q\nq = lookup(\"%s\", \"F\", q)\nsimulate to 1 step 0.1\n"},
        {"guess.perp",
         "state x = 0\ninput u\nder(x) = u\nplan {\nhorizon 1\nnodes 5\nguess table(\"%s\")\n}\n"},
    };
    static const char *const names[] = {"pipe.xml", "pipe.stl", "pipe.png", "/dev/zero", "-", "."};
    for (int k = 0; k < 3; k++) {
        remove(cli_path(names[k]));
        assert_int_equal(mkfifo(cli_path(names[k]), 0600), 0);
    }
    cli_result r = cli_run("--version --verbose");
    int has_expat = !strstr(r.out, "libexpat.so.1            not");
    cli_free(&r);
    for (size_t i = has_expat ? 0 : 4; i < sizeof robots / sizeof *robots; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char text[512];
            snprintf(text, sizeof text, robots[i][1], names[k]);
            r = cli_run("--version > /dev/null; echo 't,F,x,u' | timeout 20 \"$PERP\" %s '%s'",
                        strstr(robots[i][0], "guess") ? "plan" : "check",
                        cli_file(robots[i][0], text));
            if ((r.code != 2 && r.code != 4) || !*r.err)
                fail_msg("%s with %s: exit code %d: %s", robots[i][0], names[k], r.code, r.err);
            cli_free(&r);
        }
    for (int k = 0; k < 3; k++) remove(cli_path(names[k]));
}

/* What the caller names may be a pipe. */
static void a_caller_may_name_pipes(void **state)
{
    (void)state;
    const char *pipe = cli_path("model.pipe");
    remove(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    cli_expect(0, NULL, NULL,
               "--version > /dev/null; echo 'state x = 1' > '%s' & timeout 20 \"$PERP\" check '%s' "
               "> /dev/null 2>&1; "
               "[ $? -ne 124 ]",
               pipe, pipe);
    remove(pipe);
}

/* JSON is UTF-8 (RFC 8259), whatever bytes a file's name has. */
static void json_is_utf8(void **state)
{
    (void)state;
    const char *path = cli_file("caf\351 \360\237\230\200.perp", "state x = 1\nder(x) = -y\n");
    cli_expect(0, NULL, NULL, "check '%s' --json | iconv -f utf-8 -t utf-8 > /dev/null", path);
    cli_expect(0, "caf\357\277\275 \360\237\230\200.perp", NULL, "check '%s' --json; true", path);
    cli_expect(0, NULL, NULL, "solve '%s' --json | iconv -f utf-8 -t utf-8 > /dev/null", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_do_not_come_from_the_working_directory),
        cmocka_unit_test(what_files_name_is_a_regular_file),
        cmocka_unit_test(a_caller_may_name_pipes),
        cmocka_unit_test(json_is_utf8),
    };
    return run_all(tests);
}
