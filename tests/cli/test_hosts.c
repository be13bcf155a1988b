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
#ifdef __SANITIZE_ADDRESS__
    skip_because("the sanitizer's build links its libraries, which the loader looks for");
#endif
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

/* The end of the time is said, and what is done is kept; what never asks is ended. */
static void a_timeout_ends_a_run(void **state)
{
    (void)state;
    const char *model =
                   cli_file("long.perp", "state x = 1\nder(x) = -x\nsimulate to 1e9 step 1e-3\n"),
               *out = cli_path("long.csv");
    cli_expect(130, NULL, "perp: the time of --timeout is over\nperp simulate: interrupted",
               "simulate '%s' --timeout 0.2 -o '%s' --quiet", model, out);
    char *text = cli_read(cli_path("long.csv.partial"));
    assert_non_null(strstr(text, "\n# stopped: interrupted"));
    free(text);
    cli_expect(130, NULL, "perp: the time of --timeout is over",
               "--version > /dev/null; sleep 60 | \"$PERP\" check - --timeout 0.1");
    cli_expect(130, NULL, "limit of processor time",
               "--version > /dev/null; ulimit -St 1; \"$PERP\" simulate '%s' -o '%s' --quiet",
               model, out);
    cli_expect(1, NULL, "--timeout must be positive", "check '%s' --timeout 0", model);
}

/* Address space of 200 MB is enough for a small run, and for a flat field of 900 million heights, not for a table of as many numbers. */
static void memory_is_limited(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("the sanitizer needs all of the address space");
#endif
    const char *table = cli_path("table.csv"), *picture = cli_path("table.svg");
    cli_expect(0, NULL, NULL, "simulate examples/notes/particle.perp --max-memory 200 --quiet");
    cli_expect(4, NULL, "out of memory",
               "--version > /dev/null; { echo t,x; seq 0 5000000 | sed 's/$/,1/'; } > '%s'; "
               "\"$PERP\" report '%s' "
               "--svg '%s' --max-memory 100; code=$?; rm -f '%s'; exit $code",
               table, table, picture, table);
    cli_expect(2, NULL, "more than 64 MB of comments",
               "--version > /dev/null; { yes '#' | head -2000000; echo t,x; echo 0,1; } > '%s'; "
               "\"$PERP\" report '%s' "
               "--svg '%s' --max-memory 200; code=$?; rm -f '%s'; exit $code",
               table, table, picture, table);
    cli_result r = cli_run("--version --verbose");
    int has_expat = !strstr(r.out, "libexpat.so.1            not");
    cli_free(&r);
    if (!has_expat) skip_because("there is no expat");
    const char *field =
        cli_file("field.xml",
                 "<mujoco><asset><hfield name='h' nrow='30000' ncol='30000' size='1 1 0.2 0.1'/>"
                 "</asset><worldbody><geom type='hfield' hfield='h'/><body pos='0 0 1'><freejoint/>"
                 "<geom size='0.1'/></body></worldbody></mujoco>");
    cli_expect(0, "bodies: 1", NULL, "check '%s' --max-memory 200", field);
    field = cli_file("short.xml",
                     "<mujoco><asset><hfield name='h' nrow='30000' ncol='30000' size='1 1 1 1' "
                     "elevation='1 2'/></asset><worldbody><geom type='hfield' hfield='h'/>"
                     "</worldbody></mujoco>");
    cli_expect(2, NULL, "2 numbers, 900000000 expected", "check '%s' --max-memory 200", field);
    cli_expect(0, "bodies: 3000", NULL,
               "--version > /dev/null; { echo '<mujoco><worldbody>'; for i in $(seq 3000); do echo "
               "\"<body "
               "name='b$i' pos='$((3*i)) 0 1'><freejoint/><geom size='1'/></body>\"; done; "
               "echo '</worldbody></mujoco>'; } > '%s'; \"$PERP\" check '%s'",
               field, field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_do_not_come_from_the_working_directory),
        cmocka_unit_test(what_files_name_is_a_regular_file),
        cmocka_unit_test(a_caller_may_name_pipes),
        cmocka_unit_test(json_is_utf8),
        cmocka_unit_test(a_timeout_ends_a_run),
        cmocka_unit_test(memory_is_limited),
    };
    return run_all(tests);
}
