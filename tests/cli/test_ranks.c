/* Under a launcher of several processes a command shares its work with them or is refused; it
 * never does all of it in each. */

#include "cli.h"
#include "unit.h"

#include "perp/perp.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_launcher_is_known_by_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(perp_ranks_launched(), 1);
    setenv("PMI_SIZE", "1", 1);
    assert_int_equal(perp_ranks_launched(), 1);
    setenv("PMI_SIZE", "3", 1);
    assert_int_equal(perp_ranks_launched(), 3);
    unsetenv("PMI_SIZE");
}

static void commands_of_one_process_are_refused_under_a_launcher(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    cli_expect(2, NULL, "one of 4 processes", "simulate examples/notes/particle.perp");
    cli_expect(2, NULL, "one of 4 processes", "plan examples/opty/push.perp");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    cli_expect(0, "verified", NULL, "simulate examples/notes/particle.perp --to 0.1");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

/* What all processes would say is said by the first of them; without its number by each. */
static void what_all_would_say_is_said_once(void **state)
{
    (void)state;
    static const char *const rank[] = {NULL, "0", "1", "2"};
    const char *file = cli_file("one.json", "{\"M\": [[1]], \"q\": [-1]}");
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    for (int k = 0; k < 4; k++) {
        if (rank[k]) setenv("OMPI_COMM_WORLD_RANK", rank[k], 1);
        cli_result wrong = cli_run("solve '%s' --method UNKNOWN", file),
                   alone = cli_run("solve '%s'", file);
        assert_int_equal(wrong.code, 1);
        assert_int_equal(alone.code, 2);
        assert_int_equal(strstr(wrong.err, "UNKNOWN") != NULL, k < 2);
        assert_int_equal(strstr(alone.err, "one of 3 processes") != NULL, k < 2);
        cli_free(&wrong), cli_free(&alone);
    }
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

/* Sweeps of several processes -------------------------------------------------------------------- */

#define SWEEP                                                                                      \
    "sweep examples/notes/particle.perp --vary 'm=normal(10, 0.5)' --vary mu=0.05:0.3:3 --quiet "  \
    "--keep 'final(x),first(t where vx = 0)' --samples "

/* Skips the test where there is no launcher, or no plugin. */
static void need_mpi(void)
{
    const char *slash = strrchr(PERP_CLI, '/');
    char plugin[1024];
#ifdef __SANITIZE_ADDRESS__ /* MPI says rank 0 to each process then (not understood) */
    printf("skipped: with sanitizers\n");
    skip();
#endif
    snprintf(plugin, sizeof plugin, "%.*s/libperp-mpi.so", (int)(slash - PERP_CLI), PERP_CLI);
    if (access(plugin, R_OK) == 0 && system("command -v mpirun >/dev/null") == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
        setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
        return;
    }
    printf("skipped: there is no mpirun or no libperp-mpi.so\n");
    skip();
}

static int shell(const char *format, ...)
{
    char command[1 << 15];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

/* An empty folder, whose path is kept. */
static const char *fresh(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s", cli_path(name));
    assert_int_equal(shell("rm -rf '%s' && mkdir -p '%s'", path, path), 0);
    return path;
}

/* Lines of a section of docs/clusters.md in a folder, with fewer points and this command: what
 * ssh would do elsewhere is done here, and sbatch's tasks one after the other. */
static const char *const section_of =
    "cd '%s' && mkdir bin && ln -s '%s' bin/perp && PATH=$PWD/bin:$PATH && "
    "printf '#!/bin/sh\\nshift; exec sh -c \"$*\"\\n' > bin/ssh && chmod +x bin/ssh && "
    "cp '%s/examples/identify/block.perp' model.perp && "
    "awk -v h='## %s' '$0 == h {on = 1; next} /^## / {on = 0} on && /^    / {print substr($0, 5)}' "
    "'%s/docs/clusters.md' | grep -v '^sbatch' | "
    "sed 's/100001/301/; s/--samples 10000/--samples 5/; s/--sshlogin [^ ]* --workdir [.]//' > "
    "lines && "
    "test -s lines && ";

static void lines_of_the_docs_give_one_table(void **state)
{
    (void)state;
    static const struct {
        const char *section, *runs, *alone;
    } of[] = {
        {"Slurm, an array",
         "for i in $(seq 16); do SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 sh lines; done && "
         "perp sweep --merge -o study --quiet",
         "--vary 'mu=0.1:0.9:17' --vary 'm=normal(1, 0.05)' --samples 5"},
        {"ssh", "sh lines", "--vary mu=0:1:301"},
        {"GNU parallel", "sh lines", "--vary mu=0:1:301"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char folder[1024], format[2048];
        if (i == 2 && shell("parallel --version 2>&1 | grep -q 'GNU parallel'") != 0) {
            printf("skipped: there is no GNU parallel\n");
            continue;
        }
        fresh("docs", folder);
        snprintf(format, sizeof format, "%s(%s) > out 2>&1", section_of, of[i].runs);
        if (shell(format, folder, PERP_CLI, PERP_SOURCE_DIR, of[i].section, PERP_SOURCE_DIR) != 0)
            fail_msg("%s: the lines fail, see %s/out", of[i].section, folder);
        if (shell("cd '%s' && bin/perp sweep model.perp %s -o one --quiet && "
                  "cmp one/table.csv study/table.csv",
                  folder, of[i].alone) != 0)
            fail_msg("%s: another table", of[i].section);
    }
}

static void ranks_shards_and_one_process_give_the_same_table(void **state)
{
    (void)state;
    char one[1024], four[1024], shards[1024];
    need_mpi();
    cli_expect(0, NULL, NULL, SWEEP "40 -o '%s'", fresh("one", one));
    fresh("shards", shards);
    for (int i = 1; i <= 4; i++)
        cli_expect(0, NULL, NULL, SWEEP "40 -o '%s' --shard %d/4", shards, i);
    cli_expect(0, NULL, NULL, "sweep --merge -o '%s'", shards);
    assert_int_equal(shell("mpirun -n 4 %s " SWEEP "40 -o '%s'", PERP_CLI, fresh("four", four)), 0);
    assert_int_equal(shell("cmp '%s/table.csv' '%s/table.csv'", one, shards), 0);
    assert_int_equal(shell("cmp '%s/table.csv' '%s/table.csv'", one, four), 0);
}

/* Which of them dies is the last that began; what it had in hand is done again. */
static void a_rank_that_dies_ends_the_run_with_what_is_saved(void **state)
{
    (void)state;
    char whole[1024], cut[1024];
    need_mpi();
    /* On a busy machine the run may be over before it is killed, or the launcher kill the others
     * before they have their turn to say something: then again. */
    int code = 0, is_said = 0;
    for (int tries = 0; (code == 0 || !is_said) && tries < 5; tries++) {
        fresh("cut", cut);
        code = shell("{ for i in $(seq 1500); do [ $(cat '%s/journal.jsonl' | wc -l) -lt 40 ] || "
                     "break; sleep 0.02; "
                     "done; kill -9 $(cat '%s/pid'); } >/dev/null 2>&1 & "
                     "mpirun -n 3 sh -c '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 2 ] || echo $$ "
                     ">\"$0/pid\"; "
                     "exec \"$@\"' '%s' %s " SWEEP "500 -o '%s' 2>'%s/said'",
                     cut, cut, cut, PERP_CLI, cut, cut);
        is_said = shell("grep -q 'jobs are done and in the journal, --resume goes on' '%s/said' || "
                        "! mpirun --version | grep -q 'Open MPI'",
                        cut) == 0;
    }
    assert_int_not_equal(code, 0);
    assert_int_not_equal(access(cli_path("cut/table.csv"), F_OK), 0);
    assert_true(is_said);
    cli_expect(0, NULL, NULL, SWEEP "500 -o '%s' --resume", cut);
    cli_expect(0, NULL, NULL, SWEEP "500 -o '%s'", fresh("uncut", whole));
    assert_int_equal(shell("cmp '%s/table.csv' '%s/table.csv'", whole, cut), 0);
}

static void processes_that_cannot_share_are_refused(void **state)
{
    (void)state;
    char alone[1024];
    fresh("alone", alone); /* a command without its plugin */
    assert_int_equal(shell("cp %s '%s/perp'", PERP_CLI, alone), 0);
    int code =
        shell("OMPI_COMM_WORLD_SIZE=3 '%s/perp' sweep examples/notes/particle.perp --vary m=1,2 "
              "-o '%s/out' 2>'%s/said'",
              alone, alone, alone);
    char *said = cli_read(cli_path("alone/said"));
    assert_int_equal(WEXITSTATUS(code), 2);
    assert_non_null(strstr(said, "one of 3 processes"));
    assert_non_null(strstr(said, "libperp-mpi.so is not there"));
    assert_non_null(strstr(said, "MPI (libopenmpi-dev)"));
    free(said);
    assert_int_not_equal(access(cli_path("alone/out"), F_OK), 0);
}

/* Identification over many recordings ----------------------------------------------------------- */

/* Recordings of x' = -k x with noise, of different length, so that the shares of processes are
 * not the same. */
static void write_recordings(const char *folder)
{
    unsigned seed = 7;
    for (int r = 0; r < 11; r++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/run%02d.csv", folder, r);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "t,x\n");
        for (int i = 0; i < 20 + 3 * r; i++) {
            double noise = 0;
            for (int k = 0; k < 12; k++) {
                seed = seed * 1664525u + 1013904223u;
                noise += (double)(seed >> 8) / (1 << 24) - 0.5;
            }
            fprintf(file, "%.17g,%.17g\n", 0.05 * i,
                    i ? (1 + 0.1 * r) * exp(-0.7 * 0.05 * i) + 0.01 * noise : 1 + 0.1 * r);
        }
        fclose(file);
    }
}

static char decay[1024], runs[1024];

/* decay.perp and its recordings, and what one process makes of them in one.json. */
static void identify_in_one(void)
{
    snprintf(
        decay, sizeof decay, "%s",
        cli_file("decay.perp",
                 "model decay\nparam k = 2 in [0.1, 5] \"1/s\"\nstate x = 1\nder(x) = -k*x\n"
                 "identify { estimate k\n measure x noise 0.01 }\nsimulate to 1 step 0.05 method "
                 "radau5\n"));
    write_recordings(fresh("runs", runs));
    cli_expect(0, "% interval", NULL, "identify '%s' --data '%s' --threads 1 -o '%s'", decay, runs,
               cli_path("one.json"));
}

/* The whole result is that of one process, but for the clock. */
static void compare_with_one(const char *path)
{
    assert_int_equal(
        shell("grep -v seconds '%s' >'%s.a' && grep -v seconds '%s' >'%s.b' && cmp '%s.a' '%s.b'",
              cli_path("one.json"), decay, path, decay, decay, decay),
        0);
}

/* Three shards at once, the second with these options more; what each says is in said.I. Returns
 * the largest exit code. */
static int identify_in_shards(const char *out, const char *more)
{
    int code = shell("for i in 1 2 3; do m=; [ $i != 2 ] || m='%s'; '%s' identify '%s' --data '%s' "
                     "--threads 1 -o '%s' --shard $i/3 $m >'%s.'$i 2>&1 & all=\"$all $!\"; done; "
                     "most=0; for p in $all; do wait $p; c=$?; [ $c -le $most ] || most=$c; done; "
                     "exit $most",
                     more, PERP_CLI, decay, runs, out, cli_path("said"));
    return WEXITSTATUS(code);
}

static void shards_of_a_folder_and_one_process_identify_the_same(void **state)
{
    (void)state;
    char out[1024];
    identify_in_one();
    snprintf(out, sizeof out, "%s", cli_path("parts.json"));
    assert_int_equal(identify_in_shards(out, ""), 0);
    compare_with_one(out);
    assert_int_equal(shell("test ! -e '%s.shards'", out), 0);
    assert_int_equal(shell("test $(cat '%s'.? | grep -c '11 runs') = 1", cli_path("said")), 0);
}

/* Another start, other data: they notice. What they leave is not taken for words of another run. */
static void shards_that_differ_end(void **state)
{
    (void)state;
    char out[1024];
    snprintf(out, sizeof out, "%s", cli_path("apart.json"));
    assert_int_not_equal(identify_in_shards(out, "--set k=3"), 0);
    assert_int_equal(shell("grep -q 'not at the parameters of process 1' '%s.1'", cli_path("said")),
                     0);
    assert_int_equal(shell("test ! -e '%s'", out), 0);
    cli_expect(4, NULL, "has begun here before", "identify '%s' --data '%s' -o '%s' --shard 2/3",
               decay, runs, out);
    cli_expect(1, NULL, "needs -o", "identify '%s' --data '%s' --shard 2/3", decay, runs);
    cli_expect(1, NULL, "I/N is expected", "identify '%s' --data '%s' -o '%s' --shard 4/3", decay,
               runs, out);
}

/* The shell's words that begin shard I of 3 with these options more; what it says goes to
 * said.I. */
static const char *shard(int i, const char *out, const char *more, char room[4096])
{
    snprintf(room, 4096,
             "'%s' identify '%s' --data '%s' --threads 1 -o '%s' --shard %d/3 %s >>'%s.%d' 2>&1",
             PERP_CLI, decay, runs, out, i, more, cli_path("said"), i);
    return room;
}

static int die_at_the_seventh(void *context, const perp_identify_progress *progress)
{
    (void)context;
    if (progress->evaluations >= 7) raise(SIGKILL);
    return 0;
}

/* Shard 2 of 3 of the command's run, which dies within it: this program as `test_ranks --die
 * FOLDER MODEL RUNS`. */
static int die(char **given)
{
    perp_model *model;
    perp_dataset *data;
    perp_identify_options o;
    perp_identification answer = {.size = sizeof answer};
    int ok = perp_ranks_join_folder(given[0], 1, 3, 0, NULL, NULL, NULL) == PERP_OK &&
             perp_model_load(given[1], &model, NULL) == PERP_OK &&
             perp_dataset_create(&data) == PERP_OK &&
             perp_dataset_read(data, given[2], NULL) == PERP_OK && perp_ranks_most(0) == 0 &&
             perp_identify_options_default(model, &o, NULL) == PERP_OK;
    if (!ok) return 1;
    o.ranks = o.threads = 1, o.progress = die_at_the_seventh;
    perp_identify(model, data, &o, &answer, NULL);
    return 2; /* it should be dead */
}

static const char *program; /* this one */

/* The second shard dies. The others wait, until `then` has been done. */
static int with_a_dead_shard(const char *out, const char *then)
{
    char one[4096], three[4096];
    return WEXITSTATUS(shell("rm -rf '%s' '%s.shards' '%s'.?; %s & p=$!; %s & q=$!; '%s' --die "
                             "'%s.shards' '%s' '%s'; [ $? = 137 ] || exit 99; %s; wait $p && "
                             "wait $q",
                             out, out, cli_path("said"), shard(1, out, "", one),
                             shard(3, out, "", three), program, out, decay, runs, then));
}

static void a_dead_shard_is_replaced(void **state)
{
    (void)state;
    char out[1024], resumed[4096], then[16384];
    identify_in_one();
    snprintf(out, sizeof out, "%s", cli_path("taken.json"));
    assert_int_equal(with_a_dead_shard(out, shard(2, out, "--resume", resumed)), 0);
    compare_with_one(out);
    assert_int_equal(shell("test ! -e '%s.shards'", out), 0);

    /* A byte of its words is not as it was written: they count up to there. */
    snprintf(then, sizeof then,
             "printf x | dd of='%s.shards/words-2-of-3' bs=1 seek=300 conv=notrunc 2>/dev/null; "
             "printf torn >>'%s.shards/words-2-of-3'; %s",
             out, out, resumed);
    assert_int_equal(with_a_dead_shard(out, then), 0);
    compare_with_one(out);

    /* All are dead. */
    char one[4096], three[4096];
    snprintf(then, sizeof then, "kill -9 $p $q; wait $p $q 2>/dev/null; %s & p=$!; %s & q=$!; %s",
             shard(1, out, "--resume", one), shard(3, out, "--resume", three), resumed);
    assert_int_equal(with_a_dead_shard(out, then), 0);
    compare_with_one(out);
}

/* Another start: its words are others than those that the dead one said. The others go on to
 * wait for the right one. */
static void what_is_no_dead_shard_is_not_replaced(void **state)
{
    (void)state;
    char out[1024], resumed[4096], other[4096], living[4096], then[16384];
    identify_in_one();
    snprintf(out, sizeof out, "%s", cli_path("held.json"));
    snprintf(then, sizeof then, "! %s || exit 98; ! %s || exit 97; %s",
             shard(2, out, "--resume --set k=3", other), shard(1, out, "--resume", living),
             shard(2, out, "--resume", resumed));
    assert_int_equal(with_a_dead_shard(out, then), 0);
    compare_with_one(out);
    assert_int_equal(shell("grep -q 'came to other numbers' '%s.2'", cli_path("said")), 0);
    assert_int_equal(shell("grep -q '1 of 3 is at work' '%s.1'", cli_path("said")), 0);
    cli_expect(1, NULL, "--resume needs --shard", "identify '%s' --data '%s' --resume", decay, runs);
}

static void ranks_and_one_process_identify_the_same(void **state)
{
    (void)state;
    need_mpi();
    identify_in_one();
    for (int n = 2; n <= 4;
         n += 2) { /* text, and the whole result: as one process has it, but for the clock */
        assert_int_equal(shell("mpirun -n %d %s identify '%s' --data '%s' -o '%s' >'%s'", n,
                               PERP_CLI, decay, runs, cli_path("many.json"), cli_path("said")),
                         0);
        compare_with_one(cli_path("many.json"));
        assert_int_equal(shell("test $(grep -c '11 runs' '%s') = 1", cli_path("said")), 0);
    }
    assert_int_equal(shell("grep -q '\"has_interval\":.true' '%s'", cli_path("many.json")), 0);
    assert_int_not_equal(
        shell("mpirun -n 2 %s identify '%s' --data '%s' --method implicit >'%s' 2>&1", PERP_CLI,
              decay, runs, cli_path("said")),
        0);
    assert_int_equal(shell("grep -q 'implicit is for one process' '%s'", cli_path("said")), 0);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 5 && strcmp(argv[1], "--die") == 0) return die(argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launcher_is_known_by_what_it_says),
        cmocka_unit_test(commands_of_one_process_are_refused_under_a_launcher),
        cmocka_unit_test(what_all_would_say_is_said_once),
        cmocka_unit_test(lines_of_the_docs_give_one_table),
        cmocka_unit_test(processes_that_cannot_share_are_refused),
        cmocka_unit_test(ranks_shards_and_one_process_give_the_same_table),
        cmocka_unit_test(a_rank_that_dies_ends_the_run_with_what_is_saved),
        cmocka_unit_test(ranks_and_one_process_identify_the_same),
        cmocka_unit_test(shards_of_a_folder_and_one_process_identify_the_same),
        cmocka_unit_test(shards_that_differ_end),
        cmocka_unit_test(a_dead_shard_is_replaced),
        cmocka_unit_test(what_is_no_dead_shard_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
