/* What perp takes from its surroundings: files that hostile inputs name, libraries, the cache, full discs. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* A file of the working directory under the name of a library that perp loads, with loader paths that have empty and relative elements. */
static void libraries_do_not_come_from_the_working_directory(void **state)
{
    (void)state;
    cli_result r = cli_run("--version --verbose");
    assert_int_equal(r.code, 0);
    int has_expat = strstr(r.out, "libexpat.so.1 ") && !strstr(r.out, "libexpat.so.1            not");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_do_not_come_from_the_working_directory),
    };
    return run_all(tests);
}
