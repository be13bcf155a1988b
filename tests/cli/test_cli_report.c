/* perp report as a user meets it. */

#include "cli.h"
#include "perp/report.h"
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>

static void svg_has_a_panel_for_each_unit(void **state)
{
    (void)state;
    cli_result r =
        cli_run("simulate examples/notes/particle.perp --quiet -o '%s'", cli_path("particle.csv"));
    assert_int_equal(r.code, 0);
    cli_free(&r);
    cli_expect(0, NULL, NULL, "report '%s' --svg '%s'", cli_path("particle.csv"),
               cli_path("particle.svg"));
    char *svg = cli_read(cli_path("particle.svg"));
    const char *shown[] = {"[m]", "[m/s]", "[N]", ">x<", ">gamma<", ">friction<", ">residual<"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (!strstr(svg, shown[i])) fail_msg("'%s' is not in the SVG", shown[i]);
    free(svg);
    r = cli_run("report '%s' --columns vx --svg -", cli_path("particle.csv"));
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, ">vx<"));
    assert_null(strstr(r.out, ">vz<"));
    cli_free(&r);
}

/* The strip of a pair says when each mode was on: no gap, no overlap, from the first row to the last. */
static void modes_follow_each_other_without_a_gap(void **state)
{
    (void)state;
    cli_result r =
        cli_run("simulate examples/notes/particle.perp --quiet -o '%s'", cli_path("modes.csv"));
    assert_int_equal(r.code, 0);
    cli_free(&r);
    r = cli_run("report '%s' --model examples/notes/particle.perp --svg -", cli_path("modes.csv"));
    assert_int_equal(r.code, 0);
    double reached = 0;
    int spans = 0, ends = 0;
    for (const char *at = r.out; (at = strstr(at, "<title>")) != NULL; at++) {
        const char *times = strstr(at, ": ");
        double from, to;
        if (!times || sscanf(times, ": %lf to %lf</title>", &from, &to) != 2) continue;
        if (reached == 1.2) reached = 0; /* the next strip */
        assert_true(from == reached && to > from);
        reached = to;
        spans++, ends += to == 1.2;
    }
    assert_true(reached == 1.2 && ends > 0 && spans > ends);
    cli_free(&r);
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

/* A build without the page says how to get it; else the file is one page that needs nothing. */
static void a_page_is_written_or_refused_with_the_way_to_it(void **state)
{
    (void)state;
    cli_result r = cli_run("simulate examples/mechanics/square.perp --quiet --to 0.2 --report '%s'",
                           cli_path("square.html"));
    if (!perp_report_has_page()) {
        assert_int_equal(r.code, 1);
        assert_non_null(strstr(r.err, "scripts/setup"));
        cli_free(&r);
        return;
    }
    if (r.code) fail_msg("%s", r.err);
    cli_free(&r);
    char *html = cli_read(cli_path("square.html"));
    assert_non_null(strstr(html, "\"drawing\":{"));
    assert_non_null(strstr(html, "\"kind\":\"contact\""));
    assert_non_null(
        strstr(html, "\"fUnit\":\"N\",\"vUnit\":\"m s^-1\"")); /* vx - gap*om: derived */
    assert_null(strstr(html, "src=\"http"));
    assert_null(strstr(html, "href=\"http"));
    int scripts = occurrences(html, "</script");
    free(html);
    r = cli_run("report '%s' --title '</script><script>' -o -",
                cli_file("e.csv", "# param </script><script>\nt,\"</script>\"\n0,1\n1,\n"));
    assert_int_equal(r.code, 0);
    assert_int_equal(occurrences(r.out, "</script"), scripts);
    cli_free(&r);
}

/* Of nested loops, the indices of the turn; not what only begins like one. */
static void names_have_the_values_of_loop_indices(void **state)
{
    (void)state;
    if (!perp_report_has_page()) skip_because("no page in this build");
    cli_file("loops.perp", "model loops\n"
                           "state x[2,2] = 1\nvar f[2,2], g[2]\nparam ib = 1\n"
                           "for i in 1..2 { for k in 1..2 {\n"
                           "der(x[i,k]) = f[i,k] - 1\n"
                           "0 <= f[i,k] perp x[i,k] + ib*i >= 0 } }\n"
                           "for i in -10..-9 { 0 <= g[i+11] perp g[i+11] - i >= 0 }\n"
                           "simulate to 0.1 step 0.01\n");
    cli_result r = cli_run("simulate '%s' --quiet -o '%s' --report '%s'", cli_path("loops.perp"),
                           cli_path("loops.csv"), cli_path("loops.html"));
    assert_int_equal(r.code, 0);
    cli_free(&r);
    char *html = cli_read(cli_path("loops.html"));
    assert_non_null(strstr(html, "f[1,2] \xE2\x9F\x82 x[1,2] + ib*1\""));
    assert_non_null(strstr(html, "f[2,1] \xE2\x9F\x82 x[2,1] + ib*2\""));
    assert_non_null(strstr(html, "g[2] \xE2\x9F\x82 g[-9+11] - -9\""));
    free(html);
}

/* Two runs of 2000 rows in a page of 600: all of the first would be 2000, 100 are the least of each. */
static void runs_share_the_rows_of_a_page(void **state)
{
    (void)state;
    if (!perp_report_has_page()) skip_because("no page in this build");
    size_t room = 2000 * 32;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "t,x\n");
    for (int k = 0; k < 2000; k++)
        used += (size_t)snprintf(text + used, room - used, "%d,%d\n", k, k * 7919 % 1000);
    perp_trajectory *t;
    assert_int_equal(perp_trajectory_parse(text, used, "run", &t, NULL), PERP_OK);
    const perp_report_run runs[] = {{.name = "a", .trajectory = t}, {.name = "b", .trajectory = t}};
    const int most[] = {600, 10};
    for (int k = 0; k < 2; k++) {
        perp_report_options o = perp_report_options_default();
        o.max_rows = most[k];
        assert_int_equal(perp_report_write_html(runs, 2, &o, cli_path("two.html"), NULL), PERP_OK);
        char *html = cli_read(cli_path("two.html")), *at = html;
        int kept = 0, n = 0;
        for (; (at = strstr(at, "\"kept\":")) != NULL; n++) kept += atoi(at += 7);
        assert_int_equal(n, 2);
        assert_true(kept > most[k] / 2 && kept <= (most[k] < 200 ? 200 : most[k]));
        assert_int_equal(occurrences(html, "\"all\":{"), 2);
        assert_null(strstr(html, "\"tooMany\":"));
        free(html);
    }
    const int says[] = {1, 2, 0};
    const size_t all[] = {20000, 1000,
                          0}; /* room for the rows of one run, of none; not asked for */
    for (int k = 0; k < 3; k++) {
        perp_report_options o = perp_report_options_default();
        o.max_rows = 600;
        o.max_all = all[k];
        assert_int_equal(perp_report_write_html(runs, 2, &o, cli_path("two.html"), NULL), PERP_OK);
        char *html = cli_read(cli_path("two.html"));
        assert_int_equal(occurrences(html, "\"all\":{"), k == 0);
        assert_int_equal(occurrences(html, "\"tooMany\":"), says[k]);
        free(html);
    }
    perp_trajectory_destroy(t);
    free(text);
}

static void parameters_of_the_run_reach_the_model(void **state)
{
    (void)state;
    if (!perp_report_has_page()) return;
    cli_result r = cli_run("simulate examples/notes/sliding_one_line.perp --set mu=0.25 --quiet "
                           "--to 0.01 --every 5 -o '%s'",
                           cli_path("mu.csv"));
    assert_int_equal(r.code, 0);
    cli_free(&r);
    r = cli_run("report '%s' --model examples/notes/sliding_one_line.perp -o -",
                cli_path("mu.csv"));
    assert_int_equal(r.code, 0);
    /* the bound at three rows: 0.25 * 9.81 = 2.4525 in base64 of doubles */
    assert_non_null(strstr(r.out, "\"bound\":\"H4XrUbieA0AfhetRuJ4DQB+F61G4ngNA\""));
    cli_free(&r);
    cli_expect(4, NULL, NULL, "report '%s' --model no-such.perp -o -", cli_path("mu.csv"));
}

static void faults_are_named(void **state)
{
    (void)state;
    char line[2048];
    cli_expect(1, NULL, "which run?", "report");
    cli_expect(1, NULL, "is a model; perp simulate",
               "report examples/notes/particle.perp --svg x.svg");
    cli_expect(1, NULL, "where to?", "report x.csv");
    cli_expect(4, NULL, "no-such.csv", "report no-such.csv --svg x.svg");
    snprintf(line, sizeof line, "report '%s' --svg '%s'", cli_file("a.csv", "t,x\n0,1\n1,2\n"),
             cli_path("no/such/x.svg"));
    cli_expect(4, NULL, "cannot be written", "%s", line);
    snprintf(line, sizeof line, "report '%s' --columns y --svg -", cli_path("a.csv"));
    cli_expect(2, NULL, "no run has a column 'y'; there are: t, x", "%s", line);
    snprintf(line, sizeof line, "report '%s' --svg -", cli_file("b.csv", "t,x\n"));
    cli_expect(2, NULL, "b.csv: it has no rows", "%s", line);
    snprintf(line, sizeof line, "report '%s' --svg -", cli_file("c.csv", "t,x\n0,1\n2,1\n1,1\n"));
    cli_expect(2, NULL, "c.csv: row 3: 't' does not increase: 1 after 2", "%s", line);
}

/* A run names files; only those that it was made from are read, and where they lie beside it. */
static void a_run_cannot_name_files_to_read(void **state)
{
    (void)state;
    char model[1024], run[1024], arguments[4096], fifo[1024];
    const char *text = "model secret\ninput u\nstate x = 0\nder(x) = u\nsimulate to 1 step 0.5\n";
    strcpy(model, cli_file("secret.perp", text));
    strcpy(run, cli_path("secret.csv"));
    strcpy(fifo, cli_path("fifo.perp"));
    snprintf(arguments, sizeof arguments, "simulate '%s' --input u='%s' --quiet -o '%s'", model,
             cli_file("force.csv", "t,u\n0,1\n1,2\n"), run);
    cli_expect(0, NULL, "", "%s", arguments);
    snprintf(arguments, sizeof arguments, "report '%s' --svg '%s'", run, cli_path("secret.svg"));
    cli_result r = cli_run("%s", arguments); /* beside it, as they were */
    assert_int_equal(r.code, 0);
    assert_null(strstr(r.err, "not beside"));
    cli_free(&r);
    cli_file("force.csv", "t,u\n0,1\n1,3\n");
    cli_expect(0, NULL, "the table of --input u=", "%s", arguments);
    cli_file("secret.perp",
             "model secret\ninput u\nstate x = 0\nder(x) = u + 1\nsimulate to 1 step 0.5\n");
    cli_expect(0, NULL, "is not beside it, or was changed since the run", "%s", arguments);
    snprintf(arguments + strlen(arguments), 1100, " --model '%s'", model); /* given: read */
    r = cli_run("%s", arguments);
    assert_int_equal(r.code, 0);
    assert_null(strstr(r.err, "its model"));
    cli_free(&r);

    strcpy(
        run,
        cli_path(
            "elsewhere.csv")); /* its model is below the folder of the command, unchanged, but not beside it */
    snprintf(arguments, sizeof arguments,
             "simulate examples/notes/particle.perp --to 0.1 --quiet -o '%s'", run);
    cli_expect(0, NULL, "", "%s", arguments);
    snprintf(arguments, sizeof arguments, "report '%s' --svg '%s'", run, cli_path("else.svg"));
    cli_expect(0, NULL, "is not beside it, or was changed since the run", "%s", arguments);

    static const char *const forged[] = {
        "# model: a (/etc/passwd, continuous)\nt,x\n0,1\n1,2\n",
        "# model: a (examples/notes/particle.perp, continuous)\nt,x\n0,1\n1,2\n",
        "# model: a (/etc/passwd, continuous)\n# file 0123456789abcdef "
        "/etc/passwd\nt,x\n0,1\n1,2\n",
        "# model: a (fifo.perp, continuous)\n# file cbf29ce484222325 fifo.perp\nt,x\n0,1\n1,2\n",
        "# model: a (/dev/zero, continuous)\n# file cbf29ce484222325 /dev/zero\nt,x\n0,1\n1,2\n",
    };
    remove(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        snprintf(arguments, sizeof arguments, "report '%s' --svg '%s'",
                 cli_file("forged.csv", forged[i]), cli_path("forged.svg"));
        r = cli_run("%s", arguments);
        assert_int_equal(r.code, 0);
        assert_non_null(strstr(r.err, "is not beside it, or was changed since the run"));
        assert_null(strstr(r.err, "root:"));
        cli_free(&r);
    }
    snprintf(arguments, sizeof arguments, "check '%s'",
             cli_file("piped.perp", "input u = table(\"fifo.perp\")\nstate x = 0\nder(x) = u\n"));
    cli_expect(2, NULL, "fifo.perp: it is no regular file", "%s", arguments);
    remove(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg_has_a_panel_for_each_unit),
        cmocka_unit_test(modes_follow_each_other_without_a_gap),
        cmocka_unit_test(a_page_is_written_or_refused_with_the_way_to_it),
        cmocka_unit_test(names_have_the_values_of_loop_indices),
        cmocka_unit_test(runs_share_the_rows_of_a_page),
        cmocka_unit_test(parameters_of_the_run_reach_the_model),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(a_run_cannot_name_files_to_read),
    };
    return run_all(tests);
}
