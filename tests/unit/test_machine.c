/* Expressions as machine code beside the interpreter: the same bits; and what happens where none can be made. */

#define _XOPEN_SOURCE 700 /* mkdtemp, setenv, symlink */

#include "unit.h"

#include "model/machine.h"
#include "perp/perp.h"
#include "runs.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/perp-machine-XXXXXX"; /* the cache is in it */
static char *path_before;

static int is_there(const char *command)
{
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", command);
    return system(line) == 0;
}

static void in_folder(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

/* From now on "cc" is a script of this text. */
static void let_cc_be(const char *script)
{
    char path[128], search[8192];
    in_folder(path, "bin");
    mkdir(path, 0700);
    snprintf(search, sizeof search, "%s:%s", path, path_before);
    setenv("PATH", search, 1);
    in_folder(path, "bin/cc");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static void empty_cache(void)
{
    char line[256];
    snprintf(line, sizeof line, "rm -rf %s/cache", folder);
    assert_int_equal(system(line), 0);
}

static int setup(void **state)
{
    (void)state;
    char cache[128];
    if (!mkdtemp(folder)) return 1;
    in_folder(cache, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    path_before = strdup(getenv("PATH"));
    return 0;
}

static int restore(void **state)
{
    (void)state;
    setenv("PATH", path_before, 1);
    empty_cache();
    return 0;
}

static int clean(void **state)
{
    (void)state;
    char line[256];
    free(path_before);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

/* The same number, or none in both. */
static void expect_same(double x, double y, const char *what, int i)
{
    if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
        fail_msg("%s %d: %a compiled, %a interpreted", what, i, x, y);
}

/* Every operation -------------------------------------------------------------------------------- */

static const double special[] = {0.0,      -0.0,      1,   -1,  0.5,  -2.5,     3,
                                 7,        1e-8,      1e8, 710, -745, 1e300,    1e-310,
                                 INFINITY, -INFINITY, NAN, 0.1, M_PI, 1 + 1e-16};
enum { SPECIAL = sizeof special / sizeof *special };

/* All operations of the two symbols of a graph. */
static void compile_operations(perp__tape *tape, perp__compiled **compiled)
{
    perp__graph g;
    perp_expr root[PERP__OP_COUNT];
    int n = 0;
    perp_diag diag = {0};
    assert_true(perp__graph_init(&g));
    for (int op = PERP__SYMBOL + 1; op < PERP__OP_COUNT; op++)
        root[n++] = perp__op_arity(op) == 1
                        ? perp__unary(&g, op, perp__symbol(&g, 0))
                        : perp__binary(&g, op, perp__symbol(&g, 0), perp__symbol(&g, 1));
    assert_true(perp__tape_compile(tape, &g, root, n, 2));
    perp__emitted one = {tape, 0};
    if (perp__machine_make(&one, 1, compiled, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    perp__graph_clear(&g);
}

static void expect_operations(void)
{
    perp__tape tape;
    perp__compiled *compiled;
    compile_operations(&tape, &compiled);
    double ws[2][256] = {{0}};
    assert_true(perp__tape_end(&tape) <= 256);
    for (int k = 0; k < 2; k++) perp__tape_prepare(&tape, ws[k], 1);
    for (int i = 0; i < SPECIAL * SPECIAL; i++) {
        perp__tape by_machine = tape, by_hand = tape;
        by_hand.machine[0] = NULL;
        for (int k = 0; k < 2; k++)
            ws[k][0] = special[i / SPECIAL], ws[k][1] = special[i % SPECIAL];
        perp__tape_eval(&by_machine, ws[0]);
        perp__tape_eval(&by_hand, ws[1]);
        for (int r = 0; r < tape.nout; r++)
            expect_same(ws[0][tape.out[r]], ws[1][tape.out[r]], "root", r);
    }
    perp__compiled_release(compiled);
    perp__tape_clear(&tape);
}

static void operations_have_the_same_bits(void **state)
{
    (void)state;
    if (is_there("cc"))
        expect_operations();
    else
        print_message("skipped: there is no cc\n");
    if (!is_there("tcc")) {
        print_message("skipped: there is no tcc\n");
        return;
    }
    let_cc_be("exec tcc \"$@\"");
    expect_operations();
}

/* A long tape ------------------------------------------------------------------------------------ */

enum { SYMBOLS = 6, LONG = 12000, ROOTS = 40, CUT = 13 };

static uint64_t seed = 20261122;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (unsigned)n);
}

static void make_long_tape(perp__tape *tape)
{
    static const int ops[] = {PERP__ADD, PERP__SUB, PERP__MUL, PERP__MAX, PERP__SIN, PERP__NEG};
    perp__graph g;
    static perp_expr made[LONG];
    perp_expr root[ROOTS];
    assert_true(perp__graph_init(&g));
    for (int i = 0; i < SYMBOLS; i++) made[i] = perp__symbol(&g, i);
    for (int i = SYMBOLS; i < LONG; i++) {
        int op = ops[below(6)], a = made[below(i)], b = made[i - 1 - below(i < 50 ? i : 50)];
        made[i] = perp__op_arity(op) == 1 ? perp__unary(&g, op, b) : perp__binary(&g, op, a, b);
    }
    for (int i = 0; i < ROOTS; i++) root[i] = made[LONG - 1 - 20 * (ROOTS - 1 - i)];
    assert_true(perp__tape_compile_upon(tape, &g, root, ROOTS, CUT, SYMBOLS, NULL, NULL));
    assert_true(tape->ncode > 2500);
    perp__graph_clear(&g);
}

/* Over several functions, in parts, with all values at the end. */
static void parts_of_a_tape_have_the_same_bits(void **state)
{
    (void)state;
    if (!is_there("cc")) skip();
    perp__tape tape, by_hand;
    perp__compiled *compiled;
    perp_diag diag = {0};
    make_long_tape(&tape);
    int end = perp__tape_end(&tape), cut = perp__tape_instructions(&tape, CUT);
    double *ws[2];
    perp__emitted one = {&tape, cut};
    if (perp__machine_make(&one, 1, &compiled, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_true(cut > 0 && cut < tape.ncode);
    by_hand = tape, by_hand.machine[0] = NULL;
    for (int k = 0; k < 2; k++) {
        ws[k] = calloc((size_t)end, sizeof(double));
        assert_non_null(ws[k]);
        perp__tape_prepare(&tape, ws[k], 1);
        for (int i = 0; i < SYMBOLS; i++) ws[k][i] = 0.1 * i - 0.2;
    }
    perp__tape_eval_part(&tape, ws[0], 0, cut);
    perp__tape_eval(&by_hand, ws[1]);
    for (int r = 0; r < CUT; r++) expect_same(ws[0][tape.out[r]], ws[1][tape.out[r]], "early", r);
    perp__tape_eval_part(&tape, ws[0], cut, tape.ncode);
    for (int r = 0; r < ROOTS; r++) expect_same(ws[0][tape.out[r]], ws[1][tape.out[r]], "root", r);
    int left_out = memcmp(ws[0], ws[1], (size_t)end * sizeof(double)) != 0;
    assert_true(left_out); /* the values between stay in registers, */
    perp__tape_complete(&tape, ws[0]);
    assert_memory_equal(ws[0], ws[1], (size_t)end * sizeof(double)); /* and can be had */
    for (int k = 0; k < 2; k++) free(ws[k]);
    perp__compiled_release(compiled);
    perp__tape_clear(&tape);
}

/* Runs ------------------------------------------------------------------------------------------- */

static void expect_same_run(const char *example, perp_integrator by)
{
    run r[2];
    for (int k = 0; k < 2; k++) {
        perp_model *model = load_model(example);
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = by, o.jit = k ? PERP_JIT_ON : PERP_JIT_OFF;
        o.to = o.from + fmin(o.to - o.from, 300 * o.step);
        r[k] = run_as(model, &o);
        assert_int_equal(perp_simulation_compiler(r[k].sim) != NULL, k);
    }
    assert_int_equal(r[0].nrow, r[1].nrow);
    for (long i = 0; i < r[0].nrow * r[0].ncolumn; i++)
        expect_same(r[1].value[i], r[0].value[i], example, (int)i);
    for (int k = 0; k < 2; k++) free_run(&r[k]);
}

static void runs_have_the_same_bits(void **state)
{
    (void)state;
    if (!is_there("cc")) skip();
    expect_same_run("notes/particle.perp", PERP_BACKWARD_EULER);
    expect_same_run("mechanics/cube.perp", PERP_BACKWARD_EULER);
    expect_same_run("mechanics/stribeck.perp", PERP_RADAU5);
    expect_same_run("mechanics/slider_crank.perp", PERP_THETA);
    expect_same_run("mechanics/table.perp", PERP_BACKWARD_EULER);
}

/* Compiling must pay back in the run: the much shorter steps that look for events do not make it
 * longer. */
static void short_runs_are_not_compiled(void **state)
{
    (void)state;
    char path[128];
    perp_simulation *sim;
    perp_model *model = load_model("../bench/scenes/arm7.perp");
    perp_simulation_options o = perp_simulation_options_default(model);
    if (!is_there("cc")) skip();
    empty_cache();
    o.integrator = PERP_RADAU5, o.jit = PERP_JIT_AUTO, o.to = o.from + 500 * o.step;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    in_folder(path, "cache/perp");
    assert_int_equal(access(path, F_OK), -1);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* Where there is none ---------------------------------------------------------------------------- */

/* What comes of creating a run, and whether it is compiled. */
static perp_status create(perp_jit jit, int *is_compiled, perp_diag *diag)
{
    perp_simulation *sim;
    perp_model *model = load_model("notes/particle.perp");
    perp_simulation_options o = perp_simulation_options_default(model);
    o.jit = jit, o.step = 1e-5, o.to = 1;
    perp_status status = perp_simulation_create(model, &o, &sim, diag);
    *is_compiled = perp_simulation_compiler(sim) != NULL;
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

/* Who insists is refused, with why; who does not is interpreted. */
static void expect_none(const char *why)
{
    perp_diag diag = {0};
    int is_compiled;
    assert_int_equal(create(PERP_JIT_ON, &is_compiled, &diag), PERP_ERR_UNAVAILABLE);
    if (!strstr(perp_diag_text(&diag), why)) fail_msg("no '%s' in: %s", why, perp_diag_text(&diag));
    assert_int_equal(diag.errors, 1);
    perp_diag_clear(&diag);
    assert_int_equal(create(PERP_JIT_AUTO, &is_compiled, &diag), PERP_OK);
    assert_false(is_compiled);
    assert_int_equal(diag.errors, 0);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    char path[128];
    setenv("PATH", folder, 1);
    expect_none("neither cc nor tcc");
    let_cc_be("[ \"$1\" = --version ] && echo odd 1.0 && exit; echo 'cc1: no space' >&2; exit 1");
    expect_none("cc1: no space");
    let_cc_be("[ \"$1\" = --version ] && echo odd 1.1 && exit; while [ $1 != -o ]; do shift; done; "
              "echo x >$2");
    expect_none("cannot be loaded");
    setenv("PATH", path_before, 1);
    in_folder(path, "cache/perp");
    chmod(path, 0755);
    expect_none("mode 0700");
    chmod(path, 0700);
    empty_cache();
    in_folder(path, "cache");
    mkdir(path, 0700);
    in_folder(path, "cache/perp");
    assert_int_equal(symlink(folder, path), 0);
    expect_none("mode 0700");
}

/* A kept library that is no longer what it was is made again; nothing else stays in the folder. */
static void a_broken_library_is_made_again(void **state)
{
    (void)state;
    if (!is_there("cc")) skip();
    char line[512];
    perp_diag diag = {0};
    int is_compiled;
    static const char *const breaks[] = {
        "echo no >$f",
        "truncate -s 4096 $f",
        "truncate -s -100 $f",
        "head -c $(($(stat -c %s $f) - 500)) $f >$f.x; truncate -s +500 $f.x; mv $f.x $f",
        "chmod 0666 $f",
        "mv $f $f.x; ln -s $f.x $f; rm $f.x",
        "rm $f; mkfifo $f",
        "[ $(id -u) != 0 ] || chown 1 $f",
        "true"};
    for (size_t k = 0; k < sizeof breaks / sizeof *breaks; k++) {
        if (create(PERP_JIT_ON, &is_compiled, &diag) != PERP_OK || !is_compiled)
            fail_msg("before '%s': %s", breaks[k], perp_diag_text(&diag));
        snprintf(line, sizeof line, "test $(ls -A %s/cache/perp | wc -l) = 1", folder);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof line, "for f in %s/cache/perp/*.so; do %s; done", folder, breaks[k]);
        assert_int_equal(system(line), 0);
    }
}

static void end_cleanly(int signal_number)
{
    (void)signal_number;
    perp_file_abandon();
    _exit(9);
}

/* A signal during a compilation: the compiler removes its temporary files, perp its own. */
static void a_signal_leaves_nothing(void **state)
{
    (void)state;
    char line[512], begun[128];
    const struct timespec pause = {0, 1000000};
    in_folder(begun, "begun");
    snprintf(line, sizeof line,
             "[ \"$1\" = --version ] && echo slow 1.0 && exit; trap 'rm -f %s; exit 1' TERM; "
             "touch %s; while :; do sleep 0.01; done",
             begun, begun);
    let_cc_be(line);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int is_compiled;
        signal(SIGTERM, end_cleanly);
        create(PERP_JIT_ON, &is_compiled, NULL);
        _exit(1);
    }
    int status;
    while (access(begun, F_OK) != 0 && waitpid(child, &status, WNOHANG) == 0)
        nanosleep(&pause, NULL);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    assert_int_equal(access(begun, F_OK), -1);
    snprintf(line, sizeof line, "test $(ls -A %s/cache/perp | wc -l) = 0", folder);
    assert_int_equal(system(line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(operations_have_the_same_bits, restore),
        cmocka_unit_test_teardown(parts_of_a_tape_have_the_same_bits, restore),
        cmocka_unit_test_teardown(runs_have_the_same_bits, restore),
        cmocka_unit_test_teardown(short_runs_are_not_compiled, restore),
        cmocka_unit_test_teardown(what_is_missing_is_named, restore),
        cmocka_unit_test_teardown(a_signal_leaves_nothing, restore),
        cmocka_unit_test_teardown(a_broken_library_is_made_again, restore)};
    return cmocka_run_group_tests(tests, setup, clean);
}
