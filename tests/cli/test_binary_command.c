/* Runs whose rows are numbers, wherever commands read a table: the same comes of both formats. */

#include "cli.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTICLE "examples/notes/particle.perp"

static void run(const char *arguments, const char *file, const char *out)
{
    cli_result r = cli_run(arguments, file, out);
    if (r.code != 0) fail_msg("%s%s", r.out, r.err);
    cli_free(&r);
}

/* What two files say behind the lines that name the files they came from. */
static void expect_same(const char *a, const char *b, const char *from)
{
    char *x = cli_read(a), *y = cli_read(b), *s = strstr(x, from), *t = strstr(y, from);
    if (!s || !t || strcmp(s, t) != 0) fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* Room for several paths at a time. */
static const char *path(const char *name)
{
    static char room[8][1024];
    static int k;
    char *to = room[k++ % 8];
    snprintf(to, 1024, "%s", cli_path(name));
    return to;
}

static void a_run_goes_on_from_numbers_as_from_text(void **state)
{
    (void)state;
    run("simulate %s --quiet --to 0.5 -o '%s'", PARTICLE, path("half.csv"));
    run("simulate %s --quiet --to 0.5 -o '%s'", PARTICLE, path("half.perpbin"));
    run("simulate " PARTICLE " --quiet --from '%s' -o '%s'", path("half.csv"), path("a.csv"));
    run("simulate " PARTICLE " --quiet --from '%s' -o '%s'", path("half.perpbin"), path("b.csv"));
    expect_same(path("a.csv"), path("b.csv"), "\n# unit");
    cli_expect(2, NULL, "there is no row at t = 0.12345; they go from 0 to 0.5",
               "simulate " PARTICLE " --from '%s':0.12345", path("half.perpbin"));
    cli_expect(1, NULL, "which this run reads", "simulate " PARTICLE " --from '%s' -o '%s'",
               path("half.perpbin"), path("half.perpbin"));
}

static void a_page_is_drawn_from_numbers_as_from_text(void **state)
{
    (void)state;
    mkdir(path("text"), 0777);
    mkdir(path("numbers"), 0777);
    run("simulate %s --quiet -o '%s'", PARTICLE, path("text/run"));
    run("simulate %s --quiet -o '%s'", PARTICLE, path("run.perpbin"));
    assert_int_equal(rename(path("run.perpbin"), path("numbers/run")), 0); /* told by its bytes */
    run("report '%s' --model " PARTICLE " --svg '%s'", path("text/run"), path("text.svg"));
    run("report '%s' --model " PARTICLE " --svg '%s'", path("numbers/run"), path("numbers.svg"));
    expect_same(path("text.svg"), path("numbers.svg"), "<svg");
}

static void a_fit_and_a_plan_take_numbers_as_text(void **state)
{
    (void)state;
    static const char model[] = "model fall\nparam g = 9 in [1, 20], b = 0.5\nstate v = 0\n"
                                "der(v) = g - b*v\nsimulate { to 1  step 0.05  method radau5 }\n"
                                "identify {\n estimate g\n measure v noise 0.01\n}\n";
    const char *file = path(strrchr(cli_file("fall.perp", model), '/') + 1);
    for (int k = 0; k < 2; k++) {
        const char *data = path(k ? "fall.perpbin" : "fall.csv");
        run("simulate '%s' --set g=9.75 --quiet -o '%s'", file, data);
        cli_expect(0, "9.75", NULL, "identify '%s' --data '%s' --set g=9", file, data);
    }
    mkdir(path("folder"), 0777);
    assert_int_equal(rename(path("fall.perpbin"), path("folder/fall.perpbin")), 0);
    cli_expect(0, "9.75", NULL, "identify '%s' --data '%s' --set g=9", file, path("folder"));
    run("plan %s -o '%s'", "examples/control/double_integrator.perp", path("plan.perpbin"));
    run("plan %s -o '%s'", "examples/control/double_integrator.perp", path("plan.csv"));
    run("plan examples/control/double_integrator.perp --guess '%s' -o '%s'", path("plan.csv"),
        path("a.csv"));
    run("plan examples/control/double_integrator.perp --guess '%s' -o '%s'", path("plan.perpbin"),
        path("b.csv"));
    expect_same(path("a.csv"), path("b.csv"), "\n# unit");
}

/* The rows of a run that cannot go on are a file of the same format. */
static void a_run_that_stops_leaves_its_rows(void **state)
{
    (void)state;
    const char *file = cli_file(
        "stops.perp", "model stops\nstate x = 0\nvar f\nder(x) = 1\n0 <= f perp 0.5 - x >= 0\n"
                      "simulate { to 1  step 0.1  method backward-euler }\n");
    char model[1024];
    snprintf(model, sizeof model, "%s", file);
    cli_expect(3, NULL, "stops.perpbin.partial", "simulate '%s' -o '%s'", model,
               path("stops.perpbin"));
    assert_true(access(path("stops.perpbin"), F_OK) != 0);
    cli_expect(0, NULL, NULL, "report '%s' --model '%s' -o '%s'", path("stops.perpbin.partial"),
               model, path("stops.html"));
}

static void damage_is_refused_with_its_byte(void **state)
{
    (void)state;
    run("simulate %s --quiet -o '%s'", PARTICLE, path("damaged.perpbin"));
    FILE *out = fopen(path("damaged.perpbin"), "r+b");
    assert_non_null(out);
    assert_int_equal(fseek(out, 20000, SEEK_SET), 0);
    fputs("damaged!", out);
    fclose(out);
    cli_expect(2, NULL, "damaged.perpbin: byte ", "simulate " PARTICLE " --from '%s'",
               path("damaged.perpbin"));
    cli_expect(2, NULL, "the sum over the 1201 rows", "report '%s' --model " PARTICLE " -o '%s'",
               path("damaged.perpbin"), path("x.html"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_from_numbers_as_from_text),
        cmocka_unit_test(a_page_is_drawn_from_numbers_as_from_text),
        cmocka_unit_test(a_fit_and_a_plan_take_numbers_as_text),
        cmocka_unit_test(a_run_that_stops_leaves_its_rows),
        cmocka_unit_test(damage_is_refused_with_its_byte),
    };
    return run_all(tests);
}
