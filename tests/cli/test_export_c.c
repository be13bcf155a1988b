/* perp export c: what it writes passes the compilers' warnings, runs as perp simulate does, and
 * refuses what it does not have. */

#include "cli.h"
#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK "examples/notes/sliding_traditional.perp"
#define WARNS                                                                                      \
    "-std=c99 -O2 -Wall -Wextra -Wconversion -Wdouble-promotion -pedantic -Werror "                \
    "-ffp-contract=off"

enum { PATH = 2048 };

/* The code that is compiled here has no sanitizer in any build: where the command has one, fewer
 * programs are compiled. */
#ifdef __SANITIZE_ADDRESS__
enum { SAMPLE = 5 };
#else
enum { SAMPLE = 1 };
#endif

/* Shell ------------------------------------------------------------------------------------------ */

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char command[4 * PATH];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(n > 0 && n < (int)sizeof command);
    return system(command);
}

static int has(const char *program)
{
    return shell("command -v %s >/dev/null 2>&1", program) == 0;
}

/* A folder of code; the program in it is `run`, of floats where `real` is FLOAT. The name is in
 * capitals. */
static const char *export_code(const char *folder, const char *arguments)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", cli_folder(), folder);
    cli_expect(0, NULL, NULL, "export c %s -o '%s' --quiet", arguments, path);
    return path;
}

static void compile(const char *folder, const char *compiler, const char *define)
{
    if (shell("cd '%s' && "
              "%s " WARNS " %s *.c -o run -lm >log 2>&1",
              folder, compiler, define) == 0)
        return;
    char log[PATH + 20];
    snprintf(log, sizeof log, "%s/log", folder);
    fail_msg("%s: %s", compiler, cli_read(log));
}

/* Rows ------------------------------------------------------------------------------------------- */

static perp_trajectory *rows_of_code(const char *folder, int steps)
{
    char path[PATH + 20];
    perp_trajectory *table = NULL;
    if (shell("cd '%s' && ./run %d >rows.csv", folder, steps) != 0) return NULL;
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    assert_int_equal(perp_trajectory_read(path, &table, NULL), PERP_OK);
    return table;
}

static perp_trajectory *simulate(const char *arguments)
{
    perp_trajectory *table = NULL;
    cli_expect(0, NULL, NULL, "simulate %s -o '%s' --quiet", arguments, cli_path("run.csv"));
    assert_int_equal(perp_trajectory_read(cli_path("run.csv"), &table, NULL), PERP_OK);
    return table;
}

static int begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* The largest entry of the states. */
static double size_of_states(const perp_trajectory *table, int nstate)
{
    double size = 0;
    for (int c = 1; c <= nstate; c++)
        for (int i = 0; i < perp_trajectory_rows(table); i++)
            size = fmax(size, fabs(perp_trajectory_column(table, c)[i]));
    return size;
}

/* The largest difference of one column of the run, beside its largest entry, which counts as
 * `least` at least. */
static double difference(const perp_trajectory *ours, const perp_trajectory *right, int column,
                         double least)
{
    int k = perp_trajectory_find(ours, perp_trajectory_name(right, column));
    double most = 0, scale = least;
    if (k < 0) fail_msg("no column %s", perp_trajectory_name(right, column));
    assert_int_equal(perp_trajectory_rows(ours), perp_trajectory_rows(right));
    for (int i = 0; i < perp_trajectory_rows(right); i++) {
        double a = perp_trajectory_column(ours, k)[i], b = perp_trajectory_column(right, column)[i];
        if (isnan(a) && isnan(b)) continue;
        most = !(fabs(a - b) <= most) ? fabs(a - b) : most;
        scale = fmax(scale, fabs(b));
    }
    return most > 0 ? most / scale : 0;
}

/* Every column but the residual is that of the run, the first nstate + 1 more nearly. except:
 * names that begin so are not looked at. */
static void compare(const char *what, const perp_trajectory *ours, const perp_trajectory *right,
                    int nstate, double tol_state, double tol, const char *except)
{
    double least = 1e-9 * size_of_states(right, nstate); /* what is smaller is rounding */
    for (int c = 0; c < perp_trajectory_columns(right); c++) {
        const char *name = perp_trajectory_name(right, c);
        double d, most = c <= nstate ? tol_state : tol;
        if (begins_with(name, "impulse("))
            continue; /* the command's own, of moreau: h times the force */
        if (strcmp(name, "residual") == 0 || (except && begins_with(name, except))) continue;
        d = difference(ours, right, c, least);
        if (!(d <= most)) fail_msg("%s: %s differs by %g of its scale", what, name, d);
    }
}

/* Tests ------------------------------------------------------------------------------------------ */

/* 10 000 steps of each. The square's velocities where it hits the floor are differences of
 * positions divided by h: both runs are off by some 1e-12 there (this code by 1e-13, as its
 * build with long doubles shows), and which of two corners that stick carries what is not
 * determined. Friction of the chain's blocks is a difference of velocities divided by h where
 * they stop. */
static void code_runs_as_perp_simulate(void **state)
{
    static const struct {
        const char *arguments, *name, *except;
        int nstate;
        double tol_state, tol, tol_float;
    } run[] = {
        {BLOCK " --step 1e-3", "SLIDING_TRADITIONAL", NULL, 2, 1e-15, 1e-15, 1e-4},
        {"examples/notes/sliding_one_line.perp --step 1e-3", "SLIDING_ONE_LINE", NULL, 2, 1e-15,
         1e-15, 1e-4},
        {"examples/notes/particle.perp --step 1e-3", "PARTICLE", NULL, 4, 1e-15, 1e-15, 1e-4},
        {"examples/mechanics/disc.perp --step 1e-3", "DISC", NULL, 4, 1e-15, 1e-15, 1e-4},
        {"examples/mechanics/square.perp --step 1e-3", "SQUARE", "ft[", 6, 3e-12, 1e-11, 1e-4},
        {"examples/mechanics/chain.perp --set n=20 --step 1e-3", "CHAIN", "f[", 40, 1e-12, 0, 1e-4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof run / sizeof *run; i += SAMPLE) {
        char arguments[PATH], define[PATH];
        snprintf(arguments, sizeof arguments, "%s --method backward-euler", run[i].arguments);
        const char *folder = export_code(run[i].name, arguments);
        strncat(arguments, " --to 10", sizeof arguments - strlen(arguments) - 1);
        perp_trajectory *right = simulate(arguments), *ours;
        compile(folder, "cc", "");
        ours = rows_of_code(folder, 10000);
        assert_non_null(ours);
        compare(run[i].name, ours, right, run[i].nstate, run[i].tol_state, run[i].tol,
                run[i].except);
        perp_trajectory_destroy(ours);
        snprintf(define, sizeof define, "-D%s_FLOAT", run[i].name);
        compile(folder, "cc", define);
        ours = rows_of_code(folder, 10000);
        assert_non_null(ours);
        compare(define, ours, right, run[i].nstate, run[i].tol_float, run[i].tol_float,
                run[i].except);
        perp_trajectory_destroy(ours);
        perp_trajectory_destroy(right);
        if (!has("clang")) continue;
        compile(folder, "clang", define);
        compile(folder, "clang", "");
    }
}

/* perp simulate, in doubles, of the square whose gaps are off by half a unit in the last place
 * of a float (3e-8 m): velocities where it hits the floor are off by more than 1e-4 of scale, by
 * any method that evaluates gaps in floats. A tenth of that is not. */
static void floats_of_gaps_move_the_square(void **state)
{
    static const char run[] = "--method backward-euler --to 0.6 --estimate none";
    char *text = cli_read(PERP_SOURCE_DIR "/examples/mechanics/square.perp"),
         *gap = strstr(text, "gap[i] >= 0"), arguments[PATH];
    double most[2] = {0, 0};
    (void)state;
    assert_non_null(gap);
    snprintf(arguments, sizeof arguments, "examples/mechanics/square.perp %s", run);
    perp_trajectory *right = simulate(arguments);
    for (int k = 0; k < 2; k++) {
        char noisy[4 * PATH];
        snprintf(noisy, sizeof noisy, "%.*sgap[i] + %s*sin((1.2e6 + 777*i)*t + i) >= 0%s",
                 (int)(gap - text), text, k ? "3e-9" : "3e-8", gap + strlen("gap[i] >= 0"));
        snprintf(arguments, sizeof arguments, "'%s' %s", cli_file("noisy.perp", noisy), run);
        perp_trajectory *ours = simulate(arguments);
        for (int c = 1; c <= 6; c++) most[k] = fmax(most[k], difference(ours, right, c, 0));
        perp_trajectory_destroy(ours);
    }
    perp_trajectory_destroy(right);
    free(text);
    printf("gaps off by 3e-8: %.1e of scale, by 3e-9: %.1e\n", most[0], most[1]);
    assert_true(most[0] > 1.5e-4 && most[1] < 1e-4);
}

/* The square from other places, which a float is exactly: it slips, sticks and hits at other
 * steps. */
static void squares_in_floats_keep_to_the_run(void **state)
{
    char *text = cli_read(PERP_SOURCE_DIR "/examples/mechanics/square.perp"), define[PATH],
         arguments[PATH];
    (void)state;
    for (int k = 0; k < 4; k += SAMPLE) {
        char moved[4 * PATH], *height = strstr(text, "y = 1.5"), *angle = strstr(text, "th = 0.3");
        assert_true(height && angle && height < angle);
        snprintf(moved, sizeof moved, "%.*sy = %.17g%.*sth = %.17g%s", (int)(height - text), text,
                 1.5 + 39 * k / 1024.0, (int)(angle - height) - 7, height + 7,
                 0.25 + 63 * k / 1024.0, angle + 8);
        snprintf(arguments, sizeof arguments, "'%s' --method backward-euler",
                 cli_file("moved.perp", moved));
        const char *folder = export_code("moved", arguments);
        strncat(arguments, " --to 1.2 --estimate none", sizeof arguments - strlen(arguments) - 1);
        perp_trajectory *right = simulate(arguments), *ours;
        snprintf(define, sizeof define, "start %d", k);
        compile(folder, "cc", "-DSQUARE_FLOAT");
        ours = rows_of_code(folder, 1200);
        assert_non_null(ours);
        compare(define, ours, right, 6, 1e-4, INFINITY, NULL);
        perp_trajectory_destroy(ours);
        perp_trajectory_destroy(right);
    }
    free(text);
}

/* Models of positions in floats, by methods: closed loops, which are equations of positions, and
 * gaps. */
static void positions_in_floats(void **state)
{
    static const struct {
        const char *file, *name, *method;
    } run[] = {{"mechanics/slider_crank", "SLIDER_CRANK", "backward-euler"},
               {"parts/lift", "LIFT", "backward-euler"},
               {"parts/kerb", "KERB", "backward-euler"},
               {"parts/kerb", "KERB", "theta"},
               {"parts/bike_chain", "BIKE_CHAIN", "backward-euler"}};
    (void)state;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        char arguments[PATH], define[PATH];
        perp_model *model = NULL;
        snprintf(arguments, sizeof arguments, "%s/examples/%s.perp", PERP_SOURCE_DIR, run[i].file);
        assert_int_equal(perp_model_load(arguments, &model, NULL), PERP_OK);
        double step = perp_model_simulate_task(model).step;
        int nstate = perp_model_count(model, PERP_STATE);
        perp_model_destroy(model);
        snprintf(arguments, sizeof arguments, "examples/%s.perp --method %s", run[i].file,
                 run[i].method);
        const char *folder = export_code(run[i].name, arguments);
        snprintf(arguments + strlen(arguments), 100, " --to %.17g --estimate none", 300 * step);
        perp_trajectory *right = simulate(arguments), *ours;
        snprintf(define, sizeof define, "-D%s_FLOAT", run[i].name);
        compile(folder, "cc", define);
        ours = rows_of_code(folder, perp_trajectory_rows(right) - 1);
        if (!ours) fail_msg("%s by %s does not run in floats", run[i].name, run[i].method);
        compare(define, ours, right, nstate, 1e-4, INFINITY, NULL);
        perp_trajectory_destroy(ours);
        perp_trajectory_destroy(right);
    }
}

/* Pairs of floats beside doubles: 100 000 numbers, multiples of pi/4, and what lies beside them. */
static const char pairs[] =
    "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "typedef float real;\n#define R(x) ((real)(x))\n"
    "#define USES_ADD 1\n#define USES_SUB 1\n#define USES_MUL 1\n#define USES_DIV 1\n#define "
    "USES_NEG 1\n#define USES_SIN 1\n#define USES_COS 1\n#define USES_TAN 1\n#define USES_SQRT "
    "1\n"
    "#define USES_ABS 1\n#define USES_MIN 1\n#define USES_MAX 1\n#define USES_LE 1\n#define "
    "USES_LT "
    "1\n"
    "#include \"" PERP_SOURCE_DIR "/src/export/code/pairs.c\"\n"
    "static double most;\nstatic unsigned long seed = 1;\n"
    "static double number(void)\n{\n    seed = (seed*1103515245 + 12345) % 2147483648u;\n    "
    "return "
    "(double)seed/1073741824.0 - 1;\n}\n"
    "static twofold of(double x)\n{\n    twofold z = {(float)x, (float)(x - (float)x)};\n    "
    "return "
    "z;\n}\n"
    "static double value(twofold x)\n{\n    return (double)x.hi + (double)x.lo;\n}\n"
    "static void same(twofold x, double right, double scale)\n{\n    double d = fabs(value(x) - "
    "right)/scale;\n    if (!(d <= most)) most = d;\n}\n"
    "static void angle(double at)\n{\n    twofold x = of(at);\n    double a = value(x);\n"
    "    same(twofold_sin(x), sin(a), 1 + 1e-2*fabs(a));\n    same(twofold_cos(x), cos(a), 1 + "
    "1e-2*fabs(a));\n"
    "    if (fabs(cos(a)) > 0.1) same(twofold_tan(x), tan(a), 100 + fabs(a));\n}\n"
    "int main(void)\n{\n    for (int k = 0; k < 100000; k++) {\n"
    "        double scale = exp(20*number());\n        twofold x = of(number()*scale), y = "
    "of(number()*exp(20*number()));\n"
    "        double a = value(x), b = value(y);\n"
    "        same(twofold_add(x, y), a + b, fabs(a + b));\n        same(twofold_sub(x, y), a - b, "
    "fabs(a - b));\n"
    "        same(twofold_add(x, twofold_sub(of(1), x)), 1, 1 + fabs(a));\n"
    "        same(twofold_mul(x, y), a*b, fabs(a*b));\n        same(twofold_div(x, y), a/b, "
    "fabs(a/b));\n"
    "        same(twofold_sqrt(twofold_abs(x)), sqrt(fabs(a)), sqrt(fabs(a)));\n"
    "        same(twofold_min(x, y), fmin(a, b), fabs(a) + fabs(b));\n        same(twofold_max(x, "
    "y), "
    "fmax(a, b), fabs(a) + fabs(b));\n"
    "        if (twofold_le(x, y).hi != (float)(a <= b) || twofold_lt(x, y).hi != (float)(a < b)) "
    "return 2;\n"
    "        angle(4*number());\n        angle(1000*number());\n    }\n"
    "    for (int k = -40; k <= 40; k++)\n"
    "        angle(k*0.78539816339744831), angle((float)(k*0.78539816339744831)), "
    "angle(k*0.78539816339744831 + 1e-9);\n"
    "    same(twofold_sqrt(of(0)), 0, 1);\n    if (twofold_le(of(1), of(1)).hi != 1 || "
    "twofold_lt(of(1), of(1)).hi != 0) return 2;\n"
    "    printf(\"%.1e\\n\", most);\n    return most < 1e-13 ? 0 : 1;\n}\n";

static void pairs_of_floats_are_doubles_but_for_their_end(void **state)
{
    (void)state;
    cli_file("pairs.c", pairs);
    assert_int_equal(shell("cd '%s' && cc -std=c99 -O2 -ffp-contract=off pairs.c -o pairs -lm && "
                           "./pairs",
                           cli_folder()),
                     0);
    if (shell("grep -qw fma /proc/cpuinfo 2>/dev/null") != 0) return;
    assert_int_equal(shell("cd '%s' && cc -std=c99 -O2 -mfma -ffp-contract=off pairs.c -o pairs "
                           "-lm && ./pairs",
                           cli_folder()),
                     0);
}

/* The header says what is evaluated in pairs, and what is not. */
static void what_has_no_pairs_is_said(void **state)
{
    (void)state;
    const char *file = cli_file(
        "hill.perp", "model hill\nstate x = 0, y = 2, vx = 1, vy = 0\nvar p[2]\n"
                     "der(x) = vx\nder(y) = vy\nder(vx) = 0\nder(vy) = p[1] + p[2] - 9.81\n"
                     "0 <= p[1] perp y - 0.1*exp(-x^2) >= 0\n0 <= p[2] perp y - 0.1*cos(x) >= 0\n"
                     "simulate to 1 step 1e-3 method backward-euler\n");
    char arguments[PATH];
    snprintf(arguments, sizeof arguments, "'%s'", file);
    const char *folder = export_code("hill", arguments);
    compile(folder, "cc", "-DHILL_FLOAT");
    perp_trajectory *ours = rows_of_code(folder, 1000);
    assert_non_null(ours);
    perp_trajectory_destroy(ours);
    char *header = cli_read(cli_path("hill/hill.h"));
    assert_non_null(strstr(header, "and 1 condition made of positions is evaluated in pairs"));
    assert_non_null(strstr(header, "In line 8 a function of positions has no such"));
    free(header);
    assert_int_not_equal(shell("cd '%s' && cc -ffast-math -c hill.c >log 2>&1", folder), 0);
    export_code("block", BLOCK);
    assert_int_not_equal(shell("grep -q 'pairs of them\\|twofold' '%s/block/'*", cli_folder()), 0);
}

/* All models that simulate and that C code takes, 200 steps: their states are those of the run.
 * The cube lies on four corners from step 165 on: which of them carry it is not determined, and
 * so its turning under friction is not. The sled on bristles is 8e-5 m from where it began, and
 * 1.5e-15 m off. */
static int try_example(const char *folder, const char *name)
{
    char file[PATH], out[PATH], arguments[2 * PATH];
    perp_model *model = NULL;
    snprintf(file, sizeof file, "%s/examples/%s/%s", PERP_SOURCE_DIR, folder, name);
    snprintf(out, sizeof out, "%s/%s_%.100s", cli_folder(), folder, name);
    assert_int_equal(perp_model_load(file, &model, NULL), PERP_OK);
    perp_simulate_task task = perp_model_simulate_task(model);
    int nstate = perp_model_count(model, PERP_STATE), count = 0;
    double from = isnan(task.from) ? 0 : task.from;
    snprintf(arguments, sizeof arguments, "%s --method backward-euler", file);
    cli_result made = cli_run("export c %s -o '%s' --quiet", arguments, out);
    snprintf(arguments + strlen(arguments), PATH, " --to %.17g",
             from + (strcmp(name, "cube.perp") == 0 ? 160 : 200) * task.step);
    cli_result done =
        cli_run("simulate %s -o '%s' --quiet --estimate none", arguments, cli_path("all.csv"));
    if (made.code == 0 && done.code == 0 && strcmp(name, "tower.perp") != 0) {
        perp_trajectory *right = NULL, *ours;
        assert_int_equal(perp_trajectory_read(cli_path("all.csv"), &right, NULL), PERP_OK);
        if (shell("cd '%s' && cc -std=c99 -O1 -ffp-contract=off *.c -o run -lm", out) != 0)
            fail_msg("%s does not compile", name);
        ours = rows_of_code(out, perp_trajectory_rows(right) - 1);
        if (!ours) fail_msg("%s does not run", name);
        compare(name, ours, right, nstate, strcmp(name, "frictions.perp") == 0 ? 1e-10 : 1e-11,
                INFINITY, NULL);
        perp_trajectory_destroy(ours);
        perp_trajectory_destroy(right);
        count = 1;
    }
    cli_free(&made);
    cli_free(&done);
    perp_model_destroy(model);
    return count;
}

static void examples_run_as_perp_simulate(void **state)
{
    static const char *const folders[] = {"circuits", "mechanics", "notes", "parts", "blog"};
    int count = 0, seen = 0;
    (void)state;
    for (int i = 0; i < 5; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/examples/%s", PERP_SOURCE_DIR, folders[i]);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *e; (e = readdir(folder)) != NULL;) {
            size_t n = strlen(e->d_name);
            if (n > 5 && strcmp(e->d_name + n - 5, ".perp") == 0 && seen++ % SAMPLE == 0)
                count += try_example(folders[i], e->d_name);
        }
        closedir(folder);
    }
    if (count < 22 / SAMPLE) fail_msg("only %d models ran", count);
}

/* Names that C or a comment would not take, and some that fall together. */
static void names_do_not_break_the_code(void **state)
{
    (void)state;
    const char *file =
        cli_file("int.perp",
                 "model int\n"
                 "param double = 2 \"*/ ?\?/\"\nparam a_1 = 1, a[2] = [3, 4], NULL = 1\n"
                 "input static = t \"m*/s\"\nstate do_2 = 0, do[2] = [1, 2]\nvar return\n"
                 "der(do_2) = double*static\nder(do) = a*a_1*NULL\nreturn = do_2 + 1\n"
                 "output while = return \"?\?)\"\nsimulate to 1 step 0.1 method backward-euler\n");
    char arguments[PATH];
    snprintf(arguments, sizeof arguments, "'%s'", file);
    cli_result made = cli_run("export c %s -o '%s' --quiet", arguments, cli_path("int"));
    if (made.code != 0) fail_msg("%s", made.err);
    cli_free(&made);
    const char *folder = cli_path("int");
    compile(folder, "cc", "");
    perp_trajectory *right = simulate(arguments), *ours = rows_of_code(folder, 10);
    compare("names", ours, right, 3, 1e-15, 1e-15, NULL);
    perp_trajectory_destroy(ours);
    perp_trajectory_destroy(right);
    char *header = cli_read(cli_path("int/int.h"));
    assert_non_null(strstr(header, "INT_PARAM_a_1,"));
    assert_non_null(strstr(header, "INT_PARAM_a_1_2,"));
    assert_non_null(strstr(header, "INT_STATE_do_2_2,"));
    free(header);
}

/* A program over the block's functions: parameters, inputs, states, and a step that has no
 * solution. */
static const char host[] =
    "#include \"m.h\"\n#include <stdio.h>\n"
    "static m_model a, b;\n"
    "int main(void)\n{\n"
    "    m_real p[M_PARAMS];\n"
    "    m_parameters(p);\n"
    "    p[M_PARAM_mu] = 0.2;\n"
    "    m_init(&a, 0);\n    m_init(&b, p);\n"
    "    for (int k = 0; k < 300; k++) {\n"
    "        m_set_input(&b, M_INPUT_u, 3 + 0.01*k);\n"
    "        if (m_step(&a) != M_SOLVED || m_step(&b) != M_SOLVED) return 1;\n"
    "    }\n"
    "    m_set_state(&b, M_STATE_v, -2);\n"
    "    m_step(&b);\n"
    "    printf(\"%.17g %.17g\\n\", m_column(&a, M_COLUMN_x), m_column(&b, M_COLUMN_x));\n"
    "    m_real x = m_column(&b, M_COLUMN_x), v = m_column(&b, M_COLUMN_v), t = m_column(&b, "
    "M_COLUMN_t);\n"
    "    m_set_input(&b, M_INPUT_u, 1e308*1e10);\n"
    "    m_outcome outcome = m_step(&b);\n"
    "    printf(\"%d %d\\n\", outcome != M_SOLVED, x == m_column(&b, M_COLUMN_x) && v == "
    "m_column(&b, M_COLUMN_v) && t == m_column(&b, M_COLUMN_t));\n"
    "    m_set_input(&b, M_INPUT_u, 1);\n"
    "    printf(\"%d %ld\\n\", m_step(&b) == M_SOLVED, (long)sizeof a);\n"
    "    return 0;\n}\n";

static void instances_are_set_and_keep_their_state(void **state)
{
    (void)state;
    const char *text = "model m\nparam m = 1, mu = 0.6, g = 9.81\ninput u = 4*sin(2*t)\n"
                       "state x = 0, v = 1\nvar f\nder(x) = v\nm*der(v) = u + f\n"
                       "-mu*m*g <= f <= mu*m*g perp v\n"
                       "simulate to 5 step 1e-3 method backward-euler\n";
    char file[PATH], line[3][200], expected[200];
    snprintf(file, sizeof file, "%s", cli_file("m.perp", text));
    cli_result made = cli_run("export c '%s' -o '%s' --json", file, cli_path("m"));
    assert_int_equal(made.code, 0);
    cli_file("m/m_main.c", host);
    compile(cli_path("m"), "cc", "");
    FILE *pipe = popen(cli_path("m/run"), "r");
    for (int i = 0; i < 3; i++) assert_non_null(fgets(line[i], sizeof line[i], pipe));
    assert_int_equal(pclose(pipe), 0);

    perp_model *model = NULL;
    perp_simulation *sim[2] = {NULL, NULL};
    assert_int_equal(perp_model_load(file, &model, NULL), PERP_OK);
    for (int k = 0; k < 2; k++) {
        perp_simulation_options o = perp_simulation_options_default(model);
        o.ninput = PERP_ALL;
        if (k) perp_model_set(model, "mu", 0.2, NULL);
        assert_int_equal(perp_simulation_create(model, &o, &sim[k], NULL), PERP_OK);
    }
    for (int k = 0; k < 300; k++) {
        perp_simulation_set_input(sim[1], 0, 3 + 0.01 * k);
        for (int i = 0; i < 2; i++) simulation_step(sim[i], NULL, NULL);
    }
    perp_simulation_set_state(sim[1], 1, -2);
    simulation_step(sim[1], NULL, NULL);
    snprintf(expected, sizeof expected, "%.17g %.17g\n", perp_simulation_state(sim[0], 0),
             perp_simulation_state(sim[1], 0));
    assert_string_equal(line[0], expected);
    assert_string_equal(line[1], "1 1\n");
    snprintf(expected, sizeof expected, "1 %s", strstr(made.out, "\"bytes\":") + 8);
    assert_int_equal(strtol(line[2] + 2, NULL, 10), strtol(expected + 2, NULL, 10));
    assert_int_equal(line[2][0], '1');
    for (int k = 0; k < 2; k++) perp_simulation_destroy(sim[k]);
    perp_model_destroy(model);
    cli_free(&made);
}

/* Tables, of time and of an expression, and guards. */
static void tables_go_along(void **state)
{
    (void)state;
    char arguments[PATH];
    cli_file("push.csv", "t,u\n0,0\n0.3,5\n0.5,5\n2,1\n");
    snprintf(
        arguments, sizeof arguments, "'%s'",
        cli_file("looked.perp",
                 "model looked\ninput u = table(\"push.csv\") \"N\"\nstate x = 1 \"m\", v = 0\n"
                 "var p\nder(x) = v\nder(v) = u - 9.81 + p - lookup([0, 1, 2], [0, 3, 1], x)\n"
                 "0 <= p perp v + 0.5*pre(v) >= 0 when x <= 0\n"
                 "simulate to 2 step 1e-3 method moreau\n"));
    const char *folder = export_code("looked", arguments);
    compile(folder, "cc", "");
    perp_trajectory *right = simulate(arguments), *ours = rows_of_code(folder, 2000);
    assert_non_null(ours);
    compare("looked", ours, right, 2, 1e-13, 1e-13, NULL);
    perp_trajectory_destroy(ours);
    perp_trajectory_destroy(right);
    assert_int_not_equal(shell("cd '%s' && ./run 2100 >/dev/null 2>&1", folder), 0); /* it ends */
}

/* A model's code, of floats too without a warning, has the rows of its run. */
static void expect_same_rows(const char *name, const char *text, int steps)
{
    char arguments[PATH], file[64], define[64];
    snprintf(file, sizeof file, "%s.perp", name);
    snprintf(arguments, sizeof arguments, "'%s'", cli_file(file, text));
    snprintf(define, sizeof define, "-D%s_FLOAT", name);
    for (char *c = define + 2; *c; c++) *c = (char)toupper((unsigned char)*c);
    const char *folder = export_code(name, arguments);
    compile(folder, "cc", define);
    compile(folder, "cc", "");
    perp_trajectory *right = simulate(arguments), *ours = rows_of_code(folder, steps);
    assert_non_null(ours);
    assert_int_equal(perp_trajectory_columns(ours), perp_trajectory_columns(right));
    compare(name, ours, right, 1, 1e-14, 1e-14, NULL);
    perp_trajectory_destroy(ours);
    perp_trajectory_destroy(right);
}

/* Many columns that are one value; one unknown and no state, arrays of one entry; a constant
 * that a parameter does not change. */
static void odd_models_run_alike(void **state)
{
    (void)state;
    static char text[80000];
    size_t n = (size_t)snprintf(text, sizeof text, "model many\nstate x = 1\nder(x) = -x\n");
    for (int i = 0; i < 3000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "output o%d = x\n", i);
    snprintf(text + n, sizeof text - n, "simulate to 0.1 step 0.01 method backward-euler\n");
    expect_same_rows("many", text, 10);
    expect_same_rows("single",
                     "model single\nvar p\n0 <= p perp p - t >= 0\n"
                     "simulate to 1 step 0.01 method backward-euler\n",
                     100);
    expect_same_rows("unmoved",
                     "model unmoved\nparam a = 2\nstate x = 1\nvar f\nf = sin(3)\n"
                     "der(x) = 0/(2 + sin(a)) - x + f\n"
                     "simulate to 1 step 0.01 method backward-euler\n",
                     100);
    expect_same_rows("faded", /* to the smallest numbers, whose rounding is larger than they are */
                     "model faded\nstate x = 1, y = 2\nder(x) = -x\nder(y) = 0.7*x - 0.9*y\n"
                     "simulate to 2000 step 0.5 method backward-euler\n",
                     4000);
}

/* y = x + h y^2 has no solution beyond h = 1/(4 x). The code of a continuous model takes halves of its
 * step, and that of a discrete model ends as perp simulate does. */
static void steps_of_next_have_no_halves(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        int has_halves;
    } models[] = {
        {"rate",
         "state x = 1\nder(x) = x*x\n"
         "simulate to 0.3 step 0.3 method backward-euler\n",
         1},
        {"whole", "state x = 1\nnext(x) = x + h*next(x)^2\nsimulate to 0.3 step 0.3\n", 0}};
    for (int i = 0; i < 2; i++) {
        char file[64], arguments[PATH];
        snprintf(file, sizeof file, "%s.perp", models[i].name);
        snprintf(arguments, sizeof arguments, "'%s'", cli_file(file, models[i].text));
        const char *folder = export_code(models[i].name, arguments);
        compile(folder, "cc", "");
        assert_int_equal(shell("cd '%s' && ./run 1 >/dev/null 2>&1", folder) == 0,
                         models[i].has_halves);
    }
}

/* Nothing is called but libm and memset, memcpy; and what is written twice is the same. */
static void nothing_is_allocated(void **state)
{
    (void)state;
    char folder[PATH];
    snprintf(folder, sizeof folder, "%s",
             export_code("alone", "examples/mechanics/square.perp --method backward-euler"));
    assert_int_equal(shell("cd '%s' && cc -std=c99 -O2 -c square.c && "
                           "nm -u square.o | grep -vE ' "
                           "(sin|cos|sincos|frexp|ldexp|memset|memcpy|_GLOBAL_OFFSET_TABLE_|__"
                           "stack_chk_fail)$' >log",
                           folder) == 0,
                     0);
    export_code("again", "examples/mechanics/square.perp --method backward-euler");
    assert_int_equal(shell("cmp '%s/square.c' '%s/again/square.c'", folder, cli_folder()), 0);
}

static void what_code_does_not_have_is_refused(void **state)
{
    (void)state;
    char out[PATH];
    snprintf(out, sizeof out, "%s", cli_path("none"));
    cli_expect(2, NULL, "plane.perp:19:1: C code has no exact friction cones",
               "export c examples/mechanics/plane.perp -o '%s'", out);
    cli_expect(2, NULL, "method radau5 locates events",
               "export c " BLOCK " -o '%s' --method radau5", out);
    cli_expect(
        2, NULL, "r.perp:3:31: method radau5 locates events", "export c '%s' -o '%s'",
        cli_file("r.perp", "state x = 1\nder(x) = -x\nsimulate to 1 step 0.1 method radau5\n"),
        out);
    cli_expect(2, NULL, "no step", "export c '%s' -o '%s'",
               cli_file("nostep.perp", "state x = 1\nder(x) = -x\n"), out);
    cli_expect(1, NULL, "--fmi is for FMUs", "export c " BLOCK " -o '%s' --fmi 2", out);
    cli_expect(1, NULL, "which model", "export c -o '%s'", out);
    cli_expect(4, NULL, "/proc/none: ", "export c " BLOCK " -o /proc/none");
    assert_int_not_equal(shell("test -e '%s'", out), 0);
    cli_expect(0, "size of an instance", NULL, "export c " BLOCK " -o '%s'", out);
}

int main(void)
{
    if (!has("cc")) {
        printf("no compiler cc: not tested\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_runs_as_perp_simulate),
        cmocka_unit_test(floats_of_gaps_move_the_square),
        cmocka_unit_test(squares_in_floats_keep_to_the_run),
        cmocka_unit_test(positions_in_floats),
        cmocka_unit_test(pairs_of_floats_are_doubles_but_for_their_end),
        cmocka_unit_test(what_has_no_pairs_is_said),
        cmocka_unit_test(examples_run_as_perp_simulate),
        cmocka_unit_test(names_do_not_break_the_code),
        cmocka_unit_test(instances_are_set_and_keep_their_state),
        cmocka_unit_test(tables_go_along),
        cmocka_unit_test(odd_models_run_alike),
        cmocka_unit_test(steps_of_next_have_no_halves),
        cmocka_unit_test(nothing_is_allocated),
        cmocka_unit_test(what_code_does_not_have_is_refused),
    };
    return run_all(tests);
}
