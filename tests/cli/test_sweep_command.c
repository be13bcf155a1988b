/* perp sweep: the table is the same whoever does the jobs, and however often they are interrupted. */

#include "cli.h"
#include "unit.h"

#include "external/hdf5.h"
#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SWEEP                                                                                      \
    "sweep examples/notes/particle.perp --vary 'm=normal(10, 0.5)' --vary mu=0.05:0.3:3 "          \
    "--samples "                                                                                   \
    "40 --keep 'final(x),first(t where vx = 0)' "

static void clear(const char *folder)
{
    char command[2048];
    snprintf(command, sizeof command, "rm -rf '%s'", cli_path(folder));
    assert_int_equal(system(command), 0);
}

static void expect_same(const char *a, const char *b)
{
    char *one = cli_read(a), *other = cli_read(b);
    assert_string_equal(one, other);
    free(one);
    free(other);
}

static void the_table_has_a_row_for_each_job(void **state)
{
    (void)state;
    char folder[1024], table[1100];
    clear("whole");
    snprintf(folder, sizeof folder, "%s", cli_path("whole"));
    snprintf(table, sizeof table, "%s/table.csv", folder);
    cli_expect(0, "120 of 120 jobs", NULL, SWEEP "-o '%s'", folder);
    assert_int_not_equal(access(cli_path("whole/table.perpbin"), F_OK), 0);
    perp_trajectory *t; /* numbers are read as of every table of ours, words are passed over */
    assert_int_equal(perp_trajectory_read(table, &t, NULL), PERP_OK);
    assert_int_equal(perp_trajectory_rows(t), 120);
    assert_int_equal(perp_trajectory_columns(t), 7);
    assert_true(perp_trajectory_is_complete(t));
    assert_string_equal(perp_trajectory_unit(t, perp_trajectory_find(t, "m")), "kg");
    for (int i = 0; i < 120; i++) assert_true(perp_trajectory_column(t, 0)[i] == i);
    perp_trajectory_destroy(t);
    char *text = cli_read(table);
    assert_non_null(strstr(text, "outcome,reason\n"));
    assert_non_null(strstr(text, ",\"verified\",\n"));
    free(text);
}

static void shards_and_threads_give_the_same_table(void **state)
{
    (void)state;
    char folder[1024], table[1100], whole[1024];
    clear("shards");
    snprintf(folder, sizeof folder, "%s", cli_path("shards"));
    snprintf(table, sizeof table, "%s/table.csv", folder);
    snprintf(whole, sizeof whole, "%s", cli_path("whole/table.csv"));
    cli_expect(0, "shard 3/3", NULL, SWEEP "-o '%s' --shard 3/3 --threads 1", folder);
    cli_expect(4, NULL, "this shard has no journal", "sweep --merge -o '%s'", folder);
    cli_expect(0, "perp sweep --merge -o", NULL, SWEEP "-o '%s' --shard 1/3 --threads 2", folder);
    cli_expect(0, "", NULL, SWEEP "-o '%s' --shard 2/3 --threads 3 --quiet", folder);
    cli_expect(0, table, NULL, "sweep --merge -o '%s'", folder);
    expect_same(whole, table);
    clear("one");
    cli_expect(0, NULL, NULL, SWEEP "-o '%s' --threads 1 --quiet", cli_path("one"));
    expect_same(whole, cli_path("one/table.csv"));
}

/* Killed a hundred times at any moment, each time going on: nothing is lost but jobs in hand, nothing is there twice. */
static void a_killed_sweep_goes_on(void **state)
{
    (void)state;
    char folder[1024], whole[1024];
    int kills = 0, rounds = 0;
    snprintf(folder, sizeof folder, "%s", cli_path("killed"));
    snprintf(whole, sizeof whole, "%s", cli_path("whole/table.csv"));
    srand(7);
    while (kills < 100 && rounds++ < 400) {
        clear("killed");
        for (int done = 0; !done && kills < 100;) {
            cli_result r = cli_run(
                SWEEP "--to 3 -o '%s' --resume --quiet & sleep 0.%03d; kill -KILL $! && echo "
                      "killed; wait $! 2>/dev/null; true",
                folder, 3 + rand() % 60);
            done = !strstr(r.out, "killed");
            kills += !done;
            cli_free(&r);
        }
    }
    assert_int_equal(kills, 100);
    cli_expect(0, NULL, NULL, SWEEP "--to 3 -o '%s' --resume --quiet", folder);
    clear("long");
    cli_expect(0, NULL, NULL, SWEEP "--to 3 -o '%s' --quiet", cli_path("long"));
    snprintf(whole, sizeof whole, "%s", cli_path("long/table.csv"));
    expect_same(whole, cli_path("killed/table.csv"));
}

static void an_interrupted_sweep_keeps_what_is_done(void **state)
{
    (void)state;
    char folder[1024];
    clear("ended");
    snprintf(folder, sizeof folder, "%s", cli_path("ended"));
    cli_expect(130, "table.csv.partial", "the time limit came",
               SWEEP "--to 200 -o '%s' --time-limit 0.2", folder);
    assert_int_equal(access(cli_path("ended/table.csv"), F_OK), -1);
    char *text = cli_read(cli_path("ended/table.csv.partial"));
    assert_non_null(strstr(text, "of 120 jobs are done"));
    free(text);
    cli_expect(2, NULL, "is the first that is not", "sweep --merge -o '%s'", folder);
    cli_result r =
        cli_run(SWEEP "--to 200 -o '%s' --resume & sleep 0.5; kill -TERM $!; wait $!; echo code $?",
                folder);
    assert_non_null(strstr(r.out, "code 130"));
    assert_non_null(strstr(r.err, "--resume goes on"));
    cli_free(&r);
    cli_expect(1, NULL, "there is a sweep already", SWEEP "--to 200 -o '%s'", folder);
    cli_expect(1, "there is a sweep already", NULL, SWEEP "--to 200 -o '%s' --json", folder);
    cli_expect(2, NULL, "'to' was another", SWEEP "--to 2 -o '%s' --resume", folder);
    cli_expect(2, NULL, "'vary' was another", SWEEP "--to 200 --vary e=0,1 -o '%s' --resume",
               folder);
}

static void a_damaged_journal_is_refused(void **state)
{
    (void)state;
    char folder[1024], journal[1100];
    clear("damaged");
    snprintf(folder, sizeof folder, "%s", cli_path("damaged"));
    snprintf(journal, sizeof journal, "%s/journal.jsonl", folder);
    cli_expect(0, NULL, NULL, SWEEP "-o '%s' --quiet", folder);
    char *text = cli_read(journal), *third = strchr(strchr(text, '\n') + 1, '\n') + 1;
    FILE *file = fopen(journal, "w"); /* a line in the middle */
    fprintf(file, "%.*s{\"job\":\n%s", (int)(third - text), text, third);
    fclose(file);
    cli_expect(2, NULL, "journal.jsonl:3: the line is not as it was", "sweep --merge -o '%s'",
               folder);
    cli_expect(2, NULL, "journal.jsonl:3: the line is not as it was", SWEEP "-o '%s' --resume",
               folder);
    size_t length = strlen(text);
    for (size_t i = 0; i < 40; i++) { /* one byte is another */
        size_t at = i * 7919 % (length - 1);
        char was = text[at];
        text[at] = i % 4 == 0 ? 0 : i % 4 == 1 ? '\n' : (char)(was ^ 5);
        file = fopen(journal, "wb");
        fwrite(text, 1, length, file);
        fclose(file);
        cli_expect(2, NULL, "journal.jsonl:", SWEEP "-o '%s' --resume", folder);
        text[at] = was;
    }
    file = fopen(journal, "w"); /* cut in the middle of a line: done again */
    fprintf(file, "%.*s", (int)(third - text) - 9, text);
    fclose(file);
    cli_expect(0, "120 of 120 jobs", NULL, SWEEP "-o '%s' --resume", folder);
    expect_same(cli_path("whole/table.csv"), cli_path("damaged/table.csv"));
    file = fopen(journal, "w");
    fprintf(file, "t,x\n0,1\n");
    fclose(file);
    cli_expect(2, NULL, "no journal of a sweep", SWEEP "-o '%s' --resume", folder);
    cli_expect(4, NULL, "cannot be read", "sweep --merge -o '%s/none'", folder);
    free(text);
}

static void refused_points_have_a_reason(void **state)
{
    (void)state;
    const char *model = cli_file("fall.perp", "model fall\nparam m = 1\nstate v = 0\n"
                                              "m*der(v) = 1/m\nsimulate to 1 step 0.1\n");
    clear("refused");
    cli_expect(0, "2 verified, 0 without a solution, 1 refused; job 1: ", NULL,
               "sweep '%s' --vary m=1,0,2 -o '%s'", model, cli_path("refused"));
    char *text = cli_read(cli_path("refused/table.csv"));
    const char *row = strstr(text, "\n1,0,");
    assert_non_null(row);
    assert_non_null(strstr(row, "\"refused\",\""));
    free(text);
}

/* Row `job` of a table: its columns up to the k-th; NaN where it is refused. */
static double entry(const char *table, int job, int k)
{
    char begin[20];
    snprintf(begin, sizeof begin, "\n%d,", job);
    const char *at = strstr(table, begin);
    assert_non_null(at);
    for (int i = 0; i < k; i++) at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

/* A size, and what an `if` asks, at each point: the model is read anew, with all else that was set. */
static void sizes_may_vary(void **state)
{
    (void)state;
    char model[1024];
    snprintf(model, sizeof model, "%s",
             cli_file("sum.perp", "param n = 3, fast = 0, k = 1\ninput u = 0\nstate x[n] = 1\n"
                                  "for i in 1..n { der(x[i]) = u + k*i }\nif fast > 0 { "
                                  "output all = 2*sum(x) } else { output all = sum(x) }\n"
                                  "simulate to 1 step 0.5 method backward-euler\n"));
    clear("sizes");
    cli_file("two.csv", "t,u\n0,2\n1,2\n");
    cli_expect(
        0, "10 verified, 0 without a solution, 8 refused", NULL,
        "sweep '%s' --set k=3 --input u=%s --vary n=1:5:9 --vary fast=0,1 --keep 'final(all)' "
        "--threads 3 -o '%s'",
        model, cli_path("two.csv"), cli_path("sizes"));
    char *text = cli_read(cli_path("sizes/table.csv"));
    for (int job = 0; job < 18; job++) {
        double n = 1 + 0.5 * (job / 2), all = n * 3 + 3 * n * (n + 1) / 2;
        double found = entry(text, job, 3);
        if (job / 2 % 2)
            assert_true(isnan(found));
        else
            assert_near(found, all * (1 + job % 2), 1e-9);
    }
    assert_non_null(strstr(text, "a size must be a whole number"));
    free(text);
    clear("sizes");
    cli_expect(0, "2 verified, 0 without a solution, 1 refused; job 2: ", NULL,
               "sweep '%s' --vary n=3,2,1 --keep 'final(x[2])' -o '%s'", model, cli_path("sizes"));
}

/* Plans and identifications at each point: from any split the same table. */
static void plans_and_identifications_may_be_swept(void **state)
{
    (void)state;
#define PLANS                                                                                      \
    "sweep examples/control/push_wall.perp --task plan --nodes 21 --vary m=0.5:2:4 --vary "        \
    "mu=0.2,0.6 "
#define FITS                                                                                       \
    "sweep examples/identify/block.perp --task identify --data examples/identify/block.csv "       \
    "--vary 'g=normal(9.81, 0.02)' --samples 4 "
    clear("plans");
    clear("plans4");
    cli_expect(0, "S-stationary", NULL, PLANS "-o '%s' --threads 2", cli_path("plans"));
    for (int i = 1; i <= 4; i++)
        cli_expect(0, NULL, NULL, PLANS "-o '%s' --shard %d/4 --quiet", cli_path("plans4"), i);
    cli_expect(0, NULL, NULL, "sweep --merge -o '%s'", cli_path("plans4"));
    char *text = cli_read(cli_path("plans/table.csv")), whole[1024];
    assert_non_null(strstr(text, "# task \"plan\""));
    assert_non_null(strstr(text, "job,m,mu,cost,horizon,steps,error,outcome,reason\n"));
    free(text);
    snprintf(whole, sizeof whole, "%s", cli_path("plans/table.csv"));
    expect_same(whole, cli_path("plans4/table.csv"));
    cli_expect(2, NULL, "'nodes' was another", PLANS "--nodes 11 --resume -o '%s'",
               cli_path("plans"));
    cli_expect(0, "1 S-stationary, 1 locally infeasible", NULL,
               "sweep examples/control/push_wall.perp --task plan --vary 'm=1,1000'");
    clear("fits");
    cli_expect(0, "4 identified", NULL, FITS "-o '%s'", cli_path("fits"));
    text = cli_read(cli_path("fits/table.csv"));
    for (int job = 0; job < 4; job++) /* what the data know is the force mu m g */
        assert_near(entry(text, job, 1) * entry(text, job, 6), 9.81 * 0.36942, 1e-3);
    free(text);
    cli_expect(2, NULL, "'task' was another",
               "sweep examples/identify/block.perp --vary 'g=normal(9.81, 0.02)' --samples 4 "
               "--resume -o '%s'",
               cli_path("fits"));
}

static void a_sweep_has_a_page(void **state)
{
    (void)state;
    clear("page");
    cli_expect(0, "of 240 jobs", NULL,
               "sweep examples/notes/particle.perp --vary mu=0.05:0.3 --vary 'm=normal(10, 0.5)' "
               "--samples 60 --design saltelli --keep 'final(x),first(t where vx = 0)' -o '%s'",
               cli_path("page"));
    char table[1100], page[1100];
    snprintf(table, sizeof table, "%s", cli_path("page/table.csv"));
    snprintf(page, sizeof page, "%s", cli_path("page/study.html"));
    cli_expect(0, NULL, NULL, "report '%s' -o '%s'", table, page);
    char *text = cli_read(page);
    assert_non_null(strstr(text, ", in total</th>"));
    free(text);
    cli_expect(0, NULL, NULL, "report '%s' --columns 'first(t where vx = 0)' -o '%s'", table, page);
    text = cli_read(page);
    assert_null(strstr(text, "final(x)"));
    free(text);
    cli_expect(2, NULL, "'m' is no result", "report '%s' --columns m -o '%s'", table, page);
    cli_expect(1, NULL, "is the table of a sweep", "report '%s' --svg '%s'", table,
               cli_path("page/study.svg"));
    cli_expect(
        1, NULL, "all that varies needs a distribution",
        "sweep examples/notes/particle.perp --vary mu=0.1:0.2 --vary m=1,2 --design saltelli");
}

static void wrong_options_are_said(void **state)
{
    (void)state;
#define MODEL "sweep examples/notes/particle.perp "
    cli_expect(1, NULL, "which model?", "sweep --vary m=1:2");
    cli_expect(1, NULL, "what varies?", MODEL);
    cli_expect(1, NULL, "unknown", MODEL "--vary mq=1:2");
    cli_expect(1, NULL, "'m=2:1': LOW < HIGH", MODEL "--vary m=2:1");
    cli_expect(1, NULL, "needs a folder", MODEL "--vary m=1:2 --shard 1/2");
    cli_expect(1, NULL, "needs a folder", MODEL "--vary m=1:2 --resume");
    cli_expect(1, NULL, "I/N is expected", MODEL "--vary m=1:2 --shard 3/2 -o x");
    cli_expect(1, NULL, "-o is a folder", MODEL "--vary m=1:2 -o -");
    cli_expect(1, NULL, "it takes no model", MODEL "--merge -o x");
    cli_expect(1, NULL, "needs the folder", "sweep --merge");
    cli_expect(4, NULL, "cannot be made", MODEL "--vary m=1,2 -o /dev/null/x");
    cli_expect(1, NULL, "--data is nothing of --task simulate",
               MODEL "--vary m=1,2 --data examples/identify/block.csv");
    cli_expect(1, NULL, "--to is nothing of --task plan", MODEL "--vary m=1,2 --task plan --to 1");
    cli_expect(1, NULL, "needs recorded runs", MODEL "--vary m=1,2 --task identify");
    cli_expect(2, NULL, "no plan block", MODEL "--vary m=1,2 --task plan");
    cli_expect(0, "sobol", NULL, "sweep --help");
}

/* Of many jobs the numbers are there as numbers, too: those of the text. Two seconds; with sanitizers twenty, for the same code. */
static void many_jobs_have_a_table_of_numbers(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("skipped: with sanitizers\n");
    skip();
#endif
    char folder[1024], path[2][1100];
    perp_trajectory *t[2];
    const char *model =
        cli_file("count.perp", "model count\nparam a = 1\nstate x = 0\nnext(x) = x + a\n"
                               "simulate to 1 step 1\n");
    clear("many");
    snprintf(folder, sizeof folder, "%s", cli_path("many"));
    snprintf(path[0], sizeof path[0], "%s/table.csv", folder);
    snprintf(path[1], sizeof path[1], "%s/table.perpbin", folder);
    cli_expect(0, NULL, NULL, "sweep '%s' --vary a=0:1:100001 --quiet -o '%s'", model, folder);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(perp_trajectory_read(path[k], &t[k], NULL), PERP_OK);
        assert_true(perp_trajectory_is_complete(t[k]));
        assert_true(perp_report_is_sweep(t[k]));
        assert_int_equal(perp_trajectory_rows(t[k]), 100001);
    }
    assert_int_equal(perp_trajectory_columns(t[0]), perp_trajectory_columns(t[1]));
    for (int c = 0; c < perp_trajectory_columns(t[0]); c++) {
        assert_string_equal(perp_trajectory_name(t[0], c), perp_trajectory_name(t[1], c));
        assert_memory_equal(perp_trajectory_column(t[0], c), perp_trajectory_column(t[1], c),
                            100001 * sizeof(double));
    }
    for (int k = 0; k < 2; k++) perp_trajectory_destroy(t[k]);
}

/* The rows of table.h5 are the numbers of table.csv, of one process and of shards the same bytes; more of them than are written at once. */
static void a_table_for_other_programs(void **state)
{
    (void)state;
    enum { JOBS = 3000 };
    static double rows[JOBS * 8];
    char one[1024], two[1100], model[1024];
    perp_trajectory *t;
    perp__hdf5 *file;
    perp_diag diag = {0};
    snprintf(model, sizeof model, "%s",
             cli_file("count.perp", "model count\nparam a = 1\nstate x = 0\nnext(x) = x + a\n"
                                    "simulate to 1 step 1\n"));
    clear("hdf5");
    snprintf(one, sizeof one, "%s", cli_path("hdf5"));
    cli_result r = cli_run("sweep '%s' --vary a=0:1:%d --quiet --hdf5 -o '%s'", model, JOBS, one);
    if (r.code == 1 && strstr(r.err, "HDF5")) skip_because("no HDF5 here");
    if (r.code != 0) fail_msg("%s", r.err);
    cli_free(&r);
    clear("parts");
    for (int i = 1; i <= 2; i++)
        cli_expect(0, NULL, NULL, "sweep '%s' --vary a=0:1:%d --quiet -o '%s' --shard %d/2", model,
                   JOBS, cli_path("parts"), i);
    cli_expect(0, NULL, NULL, "sweep --merge --hdf5 -o '%s'", cli_path("parts"));
    cli_expect(0, NULL, NULL, "--version && cmp '%s/table.h5' '%s/table.h5'", one,
               cli_path("parts"));
    snprintf(two, sizeof two, "%s/table.csv", one);
    assert_int_equal(perp_trajectory_read(two, &t, NULL), PERP_OK);
    snprintf(two, sizeof two, "%s/table.h5", one);
    int columns = perp_trajectory_columns(t);
    assert_in_range(columns, 4, 8);
    assert_int_equal(perp__hdf5_open(two, &file, NULL), PERP_OK);
    assert_int_equal(perp__hdf5_doubles(file, "/rows", JOBS * columns, 0, rows, &diag), PERP_OK);
    for (int i = 0; i < JOBS; i++)
        for (int c = 0; c < columns; c++) {
            double x = perp_trajectory_column(t, c)[i], y = rows[i * columns + c];
            assert_true(x == y || (isnan(x) && isnan(y)));
        }
    assert_int_equal(perp__hdf5_close(file, NULL), PERP_OK);
    perp_trajectory_destroy(t);
    assert_int_equal(perp_trajectory_read(two, &t, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "an HDF5 file, which is for other programs"));
    perp_diag_clear(&diag);
    cli_expect(1, NULL, "--hdf5 is for --merge",
               "sweep '%s' --vary a=0:1:9 --hdf5 -o x --shard 1/2", model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_a_row_for_each_job),
        cmocka_unit_test(many_jobs_have_a_table_of_numbers),
        cmocka_unit_test(a_table_for_other_programs),
        cmocka_unit_test(shards_and_threads_give_the_same_table),
        cmocka_unit_test(a_killed_sweep_goes_on),
        cmocka_unit_test(an_interrupted_sweep_keeps_what_is_done),
        cmocka_unit_test(a_damaged_journal_is_refused),
        cmocka_unit_test(refused_points_have_a_reason),
        cmocka_unit_test(sizes_may_vary),
        cmocka_unit_test(plans_and_identifications_may_be_swept),
        cmocka_unit_test(a_sweep_has_a_page),
        cmocka_unit_test(wrong_options_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
