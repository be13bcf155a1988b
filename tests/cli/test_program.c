/* Programs in .nl files: each with its known answer, through the library; and as a modelling language calls the solver: a stub is
 * written, `perp STUB -AMPL` runs, STUB.sol is read. */

#include "cli.h"
#include "unit.h"

#include "perp/perp.h"

#include <stdio.h>

/* The file of a name: of the examples, or of the tests' own. */
static const char *file_of(const char *name)
{
    static char path[512];
    static const char *const folders[] = {"examples/programs", "tests/data/nl"};
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/%s/%s.nl", folders[k], name);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        fclose(file);
        break;
    }
    return path;
}

/* The right word of each, its objective, and the code of the .sol file. `or_better`: a better word is as right. */
static const struct {
    const char *name, *word;
    double objective;
    int code;
} known[] = {
    {"b_not_s", "B-stationary", 0, 0},     {"m_and_b", "B-stationary", 0, 0},
    {"s_minimum", "local minimum", 0, 0},  {"c_trap", "local minimum", 1, 0},
    {"m_trap", "local minimum", 0, 0},     {"w_trap", "local minimum", 0, 0},
    {"ridge", "local minimum", 0.5, 0},    {"bilevel_bard", "local minimum", 17, 0},
    {"toll", "local minimum", 1.125, 0},   {"truss", "local minimum", 2.875, 0},
    {"cournot", "solved", 0, 0},           {"market", "solved", 0, 0},
    {"dry_friction", "solved", 0, 0},      {"string", "solved", 0, 0},
    {"quadratic", "global", 2.0 / 3, 0},   {"hs71", "local minimum", 17.0140172891563, 0},
    {"rosenbrock", "local minimum", 0, 0}, {"functions", "local minimum", 0.1, 0},
};

/* Linear programs, and proofs, need Clp. */
static const struct {
    const char *name, *word;
    double objective;
    int code;
} linear[] = {{"linear", "global", 12, 0},
              {"b_not_s_6", "B-stationary", 0, 0},
              {"infeasible_lpec", "infeasible", NAN, 200},
              {"infeasible_lp", "infeasible", NAN, 200},
              {"infeasible_pair", "infeasible", NAN, 200},
              {"unbounded_lp", "unbounded", NAN, 300}};

static perp_program *solved(const char *name, perp_program_result *result)
{
    perp_program *program;
    perp_diag diag = {0};
    assert_int_equal(perp_program_read(file_of(name), &program, &diag), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, result, &diag), PERP_OK);
    perp_diag_clear(&diag);
    return program;
}

static void check(const char *name, const char *word, double objective, int code)
{
    perp_program_result r = {.size = sizeof r};
    perp_program *program = solved(name, &r);
    if (strcmp(perp_program_word(program, &r), word) != 0)
        fail_msg("%s: %s, expected %s", name, perp_program_word(program, &r), word);
    if (!isnan(objective) && !near(r.objective, objective, 1e-6 * fmax(1, fabs(objective))))
        fail_msg("%s: objective %.12g, expected %.12g", name, r.objective, objective);
    if (!isnan(objective)) assert_true(r.error <= 1e-6);
    assert_int_equal(perp_program_sol_code(&r), code);
    perp_program_destroy(program);
}

static void known_programs_get_their_words_and_optima(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(known[i].name, known[i].word, known[i].objective, known[i].code);
}

static void linear_programs_are_proved_optimal_infeasible_or_unbounded(void **state)
{
    (void)state;
    perp_program_result r = {.size = sizeof r};
    perp_program *program = solved("linear", &r);
    int has_clp = strcmp(r.method, "clp") == 0;
    perp_program_destroy(program);
    if (!has_clp) skip_because("there is no Clp");
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        check(linear[i].name, linear[i].word, linear[i].objective, linear[i].code);
}

static void answers_are_where_they_are_known_to_be(void **state)
{
    (void)state;
    static const double toll[] = {1.5, 0.75, 0.25, 3.25}, firms[] = {4, 1, 0},
                        friction[] = {0.7, 1, 0, 0.5};
    const double price = (3 + sqrt(105)) / 4, market[] = {price - 1, price - 2, price};
    const struct {
        const char *name;
        const double *x;
        int n;
    } cases[] = {{"toll", toll, 4},
                 {"cournot", firms, 3},
                 {"dry_friction", friction, 4},
                 {"market", market, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_program_result r = {.size = sizeof r};
        perp_program *program = solved(cases[i].name, &r);
        for (int j = 0; j < cases[i].n; j++)
            assert_near(perp_program_point(program)[j], cases[i].x[j], 1e-6);
        perp_program_destroy(program);
    }
}

/* Duals are the change of the objective with the bound of a row: the toll's demand, and the rows of HS 71. */
static void duals_have_the_sign_of_modelling_languages(void **state)
{
    (void)state;
    perp_program_result r = {.size = sizeof r};
    perp_program *program = solved("hs71", &r);
    assert_near(perp_program_duals(program)[0], 0.5522936, 1e-5);
    assert_near(perp_program_duals(program)[1], -0.1614686, 1e-5);
    perp_program_destroy(program);
    program = solved("quadratic", &r); /* x^2 + 2 y^2 over x + y = b is 2 b^2 / 3 */
    assert_near(perp_program_duals(program)[0], 4.0 / 3, 1e-6);
    perp_program_destroy(program);
}

/* Copy a file of the data to the test's folder under another name, as a stub. */
static const char *stub(const char *name)
{
    static char path[512];
    char bytes[1 << 14], file[64];
    FILE *in = fopen(file_of(name), "rb");
    assert_non_null(in);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    snprintf(file, sizeof file, "stub_%s.nl", name);
    FILE *out = fopen(cli_path(file), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
    snprintf(path, sizeof path, "%s", cli_path(file));
    path[strlen(path) - 3] = 0;
    return path;
}

/* The lines of a .sol file from "Options" on, as numbers; the code at its end. */
static int read_sol(const char *path, double *number, int most, int *n)
{
    char *text = cli_read(path), *line = strstr(text, "\n\nOptions\n"), *end;
    int objective = -1, code = -1;
    assert_non_null(line);
    line += strlen("\n\nOptions\n");
    for (*n = 0; *n < most; line = end, (*n)++) {
        number[*n] = strtod(line, &end);
        if (end == line) break;
    }
    assert_int_equal(sscanf(line, " objno %d %d", &objective, &code), 2);
    assert_int_equal(objective, 0);
    free(text);
    return code;
}

static void modelling_languages_call_it_with_a_stub(void **state)
{
    (void)state;
    static const char *const names[] = {"toll", "truss", "rosenbrock_big"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double number[64];
        int n;
        const char *path = stub(names[i]);
        perp_program_result r = {.size = sizeof r};
        perp_program *program = solved(names[i], &r);
        perp_program_size size = perp_program_get_size(program);
        cli_result run = cli_run("'%s' -AMPL wantsol=1 tries=2", path);
        assert_int_equal(run.code, 0);
        assert_non_null(strstr(run.out, "local minimum"));
        cli_free(&run);
        char sol[600];
        snprintf(sol, sizeof sol, "%s.sol", path);
        assert_int_equal(read_sol(sol, number, 64, &n), 0);
        /* 3 options, four counts, duals, values */
        assert_int_equal(n, 1 + 3 + 4 + size.rows + size.variables);
        assert_near(number[0], 3, 0);
        assert_near(number[4], size.rows, 0);
        assert_near(number[7], size.variables, 0);
        for (int j = 0; j < size.variables; j++)
            assert_near(number[8 + size.rows + j], perp_program_point(program)[j], 1e-4);
        perp_program_destroy(program);
    }
}

/* By its other name: with -AMPL or without, and what languages ask of a solver before they use it. */
static void perp_ampl_is_the_solver(void **state)
{
    (void)state;
    const char *path = stub("hs71");
    char sol[600];
    double number[64];
    int n;
    static const char *const flags[] = {"-AMPL ", ""};
    for (int i = 0; i < 2; i++) {
        snprintf(sol, sizeof sol, "%s.sol", path);
        remove(sol);
        cli_result run = cli_run("-v >/dev/null && \"$PERP-ampl\" '%s' %stries=2", path, flags[i]);
        assert_int_equal(run.code, 0);
        assert_non_null(strstr(run.out, "local minimum"));
        assert_int_equal(read_sol(sol, number, 64, &n), 0);
        cli_free(&run);
    }
    cli_result run = cli_run("-v && \"$PERP-ampl\" -v && \"$PERP-ampl\" -=");
    assert_int_equal(run.code, 0);
    char *second = strchr(run.out, '\n') + 1; /* the same version twice, then the keys */
    assert_memory_equal(run.out, second, (size_t)(second - run.out));
    assert_non_null(strstr(second, "max_iter"));
    cli_free(&run);
    cli_expect(1, NULL, NULL, "-v && \"$PERP-ampl\"");
    cli_expect(1, NULL, "'-x' has no meaning", "-v && \"$PERP-ampl\" -x");
    cli_expect(1, NULL, "tol needs a number", "-v && \"$PERP-ampl\" '%s' tol", path);
}

static void options_come_from_the_environment_and_words(void **state)
{
    (void)state;
    const char *path = stub("hs71");
    cli_result run = cli_run("'%s' -AMPL outlev=0", path);
    assert_int_equal(run.code, 0);
    assert_string_equal(run.out, "");
    cli_free(&run);
    cli_expect(1, NULL, "did you mean 'max_iter'?", "'%s' -AMPL max_iters=3", path);
    cli_expect(1, NULL, "tol needs a number from", "'%s' -AMPL tol=2", path);
    setenv("perp_options", "outlev=0 seed=x", 1);
    run = cli_run("'%s' -AMPL", path);
    unsetenv("perp_options");
    assert_int_equal(run.code, 1);
    assert_non_null(strstr(run.err, "'seed=x'"));
    cli_free(&run);
    setenv("perp_options", "max_iter=1 restarts=0", 1);
    run = cli_run("'%s' -AMPL", path);
    unsetenv("perp_options");
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "limit"));
    char sol[600];
    double number[64];
    int n;
    snprintf(sol, sizeof sol, "%s.sol", path);
    assert_int_equal(read_sol(sol, number, 64, &n), 400);
    cli_free(&run);
}

static void perp_solve_takes_nl_files(void **state)
{
    (void)state;
    cli_result run =
        cli_run("solve examples/programs/toll.nl --tries 2 --sol '%s'", cli_path("toll.sol"));
    assert_int_equal(run.code, 0);
    assert_non_null(strstr(run.out, "local minimum"));
    assert_non_null(strstr(run.out, "objective 1.125"));
    cli_free(&run);
    double number[64];
    int n;
    assert_int_equal(read_sol(cli_path("toll.sol"), number, 64, &n), 0);
    run = cli_run("solve tests/data/nl/infeasible_lp.nl");
    assert_int_equal(run.code, 3);
    assert_non_null(strstr(run.out, "contradict each other: rows 1 2\n"));
    assert_non_null(strstr(run.out, "with the bounds or sides of variables 1\n"));
    cli_free(&run);
    run = cli_run("solve tests/data/nl/unbounded_lp.nl");
    assert_non_null(strstr(run.out, "ray = 0 1\n"));
    cli_free(&run);
    cli_expect(0, "\"proof\":\t\"global\"", NULL, "solve tests/data/nl/ridge.nl --global --json");
    cli_expect(2, NULL, "cut.nl:2:5: header: expected a count", "solve '%s'",
               cli_file("cut.nl", "g3 1 1 0\n 1 1\n"));
    cli_expect(1, NULL, NULL, "solve '%s' --tries 3",
               cli_file("one.json", "{\"M\": [[1]], \"q\": [1]}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_programs_get_their_words_and_optima),
        cmocka_unit_test(linear_programs_are_proved_optimal_infeasible_or_unbounded),
        cmocka_unit_test(answers_are_where_they_are_known_to_be),
        cmocka_unit_test(duals_have_the_sign_of_modelling_languages),
        cmocka_unit_test(modelling_languages_call_it_with_a_stub),
        cmocka_unit_test(perp_ampl_is_the_solver),
        cmocka_unit_test(options_come_from_the_environment_and_words),
        cmocka_unit_test(perp_solve_takes_nl_files),
    };
    return run_all(tests);
}
