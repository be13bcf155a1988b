/* perp solve, perp classify, perp solvers; and the stored problems with all their solutions, where
 * they are there. */

#include "cli.h"
#include "unit.h"

#include "perp/lcp.h"
#include "problem_lcp.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static const char block[] = "{\"name\": \"stick\", \"kind\": \"lcp\", \"M\": "
                            "[[1,-1,1],[-1,1,1],[-1,-1,0]], \"q\": [1,-1,2]}";

static void solves_and_prints(void **state)
{
    (void)state;
    const char *path = cli_file("block.json", block);
    cli_result r = cli_run("solve '%s'", path);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "stick"));
    assert_non_null(strstr(r.out, "solved"));
    cli_free(&r);
    r = cli_run("solve '%s' --json", path);
    cJSON *o = cJSON_Parse(r.out);
    assert_non_null(o);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(o, "outcome")), "solved");
    const char *keys[] = {"name", "method", "z", "w", "residual", "iterations", "time_us"};
    for (int k = 0; k < 7; k++) assert_non_null(cJSON_GetObjectItem(o, keys[k]));
    cJSON_Delete(o);
    cli_free(&r);
    r = cli_run("solve '%s' --all-solutions --json",
                path); /* the segment l = (t, t + 1, 0), 0 <= t <= 1/2 */
    o = cJSON_Parse(r.out);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "solutions")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "rays")), 0);
    cJSON_Delete(o);
    cli_free(&r);
    r = cli_run("solve '%s' --method all", path);
    assert_non_null(strstr(r.out, "lemke"));
    assert_non_null(strstr(r.out, "enumerate"));
    cli_free(&r);
    r = cli_run("solve '%s'",
                cli_file("escape.json", "{\"name\": \"a\\nb\\u001b[31m\", \"M\": [[1]], "
                                        "\"q\": [1]}"));
    assert_int_equal(strncmp(r.out, "a?b?[31m ", 9), 0);
    cli_free(&r);
}

static void a_search_that_ends_early_says_so(void **state)
{
    (void)state;
    const struct { /* z_i is 0 or 1: 2^n solutions */
        int n, more;
    } cases[] = {{3, 0}, {11, 1}, {21, 0}};
    for (int k = 0; k < 3; k++) {
        char text[4096] = "{\"M\": [";
        int n = cases[k].n;
        for (int i = 0; i < n; i++) {
            strcat(text, i ? ",[" : "[");
            for (int j = 0; j < n; j++) strcat(strcat(text, j ? "," : ""), i == j ? "-1" : "0");
            strcat(text, "]");
        }
        strcat(text, "], \"q\": [");
        for (int i = 0; i < n; i++) strcat(text, i ? ",1" : "1");
        strcat(text, "]}");
        cli_result r = cli_run("solve '%s' --all-solutions", cli_file("many.json", text));
        assert_int_equal(r.code, n > PERP_LCP_ENUMERATE_MAX ? 3 : 0);
        assert_true(!strstr(r.err, "there may be more than these 1000") == !cases[k].more);
        assert_true(!strstr(r.err, "searched for up to n = 20") == (n <= PERP_LCP_ENUMERATE_MAX));
        cli_free(&r);
    }
}

static void problems_without_solution_exit_3(void **state)
{
    (void)state;
    cli_result r = cli_run(
        "solve '%s'",
        cli_file("none.json", "[{\"M\": [[-1]], \"q\": [-1]}, {\"M\": [[1]], \"q\": [-2]}]"));
    assert_int_equal(r.code, 3);
    assert_non_null(strstr(r.out, "infeasible"));
    assert_non_null(strstr(r.out, "z = 2"));
    cli_free(&r);
}

/* x1 - 1 on [2, 3] and without a lower bound on (-inf, 0.5]: the bounds of a nonlinear problem count. */
static void nonlinear_problems_have_bounds(void **state)
{
    (void)state;
    cli_result r = cli_run(
        "solve '%s' --json",
        cli_file("ncp.json", "{\"kind\": \"ncp\", \"F\": [\"x1 - 1\", \"x2 - 1\", \"x3 + 1\"], "
                             "\"lower\": [2, null, 0], \"upper\": [3, 0.5, null]}"));
    cJSON *o = cJSON_Parse(r.out), *z = cJSON_GetObjectItem(o, "z");
    const double is[] = {2, 0.5, 0};
    assert_int_equal(r.code, 0);
    for (int i = 0; i < 3; i++)
        assert_near(cJSON_GetNumberValue(cJSON_GetArrayItem(z, i)), is[i], 1e-8);
    cJSON_Delete(o);
    cli_free(&r);
}

/* x1 - x2 = 0, x2 - x1 = 2 and x3 - x1 = 1e12 have no solution, though all of F is 0 in doubles at 2e16; 1e16, and 2 beside it, is one. */
static void lost_data_solve_nothing(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"x1 - x2", "x2 - 2 - x1", "x3 - x1 - 1e12"},
        {"x3 - x1 - 1e12", "x1 - x2", "x2 - 2 - x1"},
        {"x2 - 2 - x1", "x3 - x1 - 1e12", "x1 - x2"},
        {"x1 - 1e16", "x2 - 2 - x1", "x3 - x1 - 1e12"},
        {"x3 - x1 - 1e12", "x2 - 2 - x1", "x1 - 1e16"},
    };
    for (int k = 0; k < 5; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"kind\": \"ncp\", \"F\": [\"%s\", \"%s\", \"%s\"], \"lower\": [null, null, "
                 "null], \"start\": [2e16, 2e16, 2e16]}",
                 rows[k][0], rows[k][1], rows[k][2]);
        cli_result r = cli_run("solve '%s' --method all", cli_file("lost.json", text));
        if (k < 3)
            assert_null(strstr(r.out, "solved"));
        else
            assert_non_null(strstr(r.out, "solved"));
        cli_free(&r);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    const struct {
        const char *text, *says;
        int code;
    } cases[] = {
        {"{\"M\": [[1]]", "this is not JSON", 2},
        {"", "this is not JSON", 2},
        {"[]", "the list has no problem in it", 2},
        {"{\"q\": [1]}", "expected \"M\"", 2},
        {"{\"M\": [[1,2]], \"q\": [1]}", "\"M[0]\" has 2 entries; \"q\" has 1", 2},
        {"{\"M\": [[1,2]], \"q\": [1,2]}", "as many rows and columns", 2},
        {"{\"M\": [[1,2],[3,null]], \"q\": [1,2]}", "\"M[1]\"[1] is not a number", 2},
        {"{\"M\": [[1]], \"q\": [1e400]}", "\"q\"[0] is not a finite number", 2},
        {"{\"M\": [[1]], \"q\": 1}", "and \"q\" (a list)", 2},
        {"[{\"M\": [[1]], \"q\": [1]}, {\"M\": [[1]], \"q\": [null]}]",
         "bad.json, problem 2: \"q\"[0] is not a number", 2},
        {"{\"kind\": 5, \"M\": [[1]], \"q\": [1]}", "\"kind\" must be a text", 2},
        {"{\"M\": [[1]], \"q\": [1], \"free\": \"all\"}", "\"free\" must be a list", 2},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"q\": [0, 0], \"mu\": [-1], "
         "\"W\": [[1, 0], [0, 1]]}",
         "\"mu\"[0] is -1; it must not be negative", 2},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"q\": [0, 1e999], \"mu\": [1], "
         "\"W\": [[1, 0], [0, 1]]}",
         "\"q\"[1] is not a finite number", 2},
        {"{\"kind\": \"ncp\", \"F\": [\"x1 - t\"]}", "formula 1 depends on something else", 2},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\"], \"start\": [1e999]}",
         "\"start\" must be a list of 1 numbers", 2},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\"], \"start\": {\"a\": 1}}", "\"start\" must be", 2},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\"], \"lower\": [\"NaN\"]}",
         "\"lower\"[0] is neither a finite number nor null", 2},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\"], \"lower\": [1], \"upper\": [0]}",
         "the lower bound of z[0] is above", 2},
        {"{\"M\": [[1]], \"q\": [1], \"upper\": {\"a\": 1}}", "\"upper\" must be a list of 1", 2},
        {"{\"M\": [[1]], \"q\": [\"a\"]}", "\"q\"[0] is not a number", 2},
        {"{\"M\": [[1]], \"q\": [1], \"free\": [3]}", "indices from 0 to n - 1", 2},
        {"{\"kind\": \"qp\", \"M\": [[1]], \"q\": [1]}", "kind 'qp' is not known", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_result r = cli_run("solve '%s'", cli_file("bad.json", cases[i].text));
        if (r.code != cases[i].code || !strstr(r.err, cases[i].says))
            fail_msg("%s\nexit code %d: %s", cases[i].text, r.code, r.err);
        cli_free(&r);
    }
    cli_result r = cli_run("solve nosuch.json");
    assert_int_equal(r.code, 4);
    cli_free(&r);
    cli_expect(1, NULL, NULL, "solve '%s' --method nosuch", cli_file("block.json", block));
    cli_expect(2, NULL, "it has a zero byte",
               "--version; printf '{\"M\": [[1]], \"q\": [1]}\\0' > '%s'; \"$PERP\" solve '%s'",
               cli_path("zero.json"), cli_path("zero.json"));
}

static void what_does_not_apply_is_refused(void **state)
{
    (void)state;
    const char contact[] = "{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"q\": [-1, 0], "
                           "\"mu\": [1], \"W\": [[1, 0], [0, 1]]}";
    const struct {
        const char *options, *text, *says;
        int code;
    } cases[] = {{"--method nsgs", block, "this is a linear problem, and 'nsgs' is no method", 1},
                 {"--method nsgs --json", block, "'nsgs' is no method", 1},
                 {"--method lemke", contact, "this is a friction problem, and 'lemke' is no", 1},
                 {"--all-solutions", contact, "--all-solutions is for linear problems", 1},
                 {"--method nsgs", contact, "", 0},
                 {"--method lemke", block, "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_result r =
            cli_run("solve '%s' %s", cli_file("class.json", cases[i].text), cases[i].options);
        if (r.code != cases[i].code || !strstr(r.err, cases[i].says))
            fail_msg("%s %s\nexit code %d: %s", cases[i].options, cases[i].text, r.code, r.err);
        cli_free(&r);
    }
    const struct {
        const char *arguments, *says;
        int code;
    } calls[] = {{"solvers --help", "", 0},
                 {"solvers junk", "takes no file, but there is 'junk'", 1},
                 {"solvers --all", "unknown option '--all'", 1},
                 {"--version junk", "'junk' after '--version'", 1},
                 {"help solve junk", "'junk' after 'solve'", 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cli_result r = cli_run("%s", calls[i].arguments);
        if (r.code != calls[i].code || !strstr(r.err, calls[i].says))
            fail_msg("perp %s: exit code %d: %s", calls[i].arguments, r.code, r.err);
        cli_free(&r);
    }
}

static void classify_and_solvers_tell(void **state)
{
    (void)state;
    cli_result r = cli_run("classify '%s'", cli_file("block.json", block));
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "semidefinite yes; P no; P0 yes; copositive yes"));
    cli_free(&r);
    r = cli_run("solvers");
    assert_non_null(strstr(r.out, "lemke"));
    assert_non_null(strstr(r.out, "alart-curnier"));
    cli_free(&r);
}

/* Stored problems
 * ---------------------------------------------------------------------------------- */

typedef struct points {
    double z[64][PERP_LCP_ENUMERATE_MAX];
    int is_ray[64], n, size;
} points;

static int keep(void *context, const double *z, const double *w, int is_ray)
{
    points *p = context;
    (void)w;
    assert_true(p->n < 64);
    memcpy(p->z[p->n], z, (size_t)p->size * sizeof(double));
    p->is_ray[p->n++] = is_ray;
    return 0;
}

static int is_among(const points *p, const cJSON *z, int is_ray)
{
    double length = 0;
    for (int i = 0; i < p->size; i++) length += fabs(cJSON_GetArrayItem(z, i)->valuedouble);
    for (int k = 0; k < p->n; k++) {
        int same = p->is_ray[k] == is_ray;
        for (int i = 0; i < p->size; i++) {
            double x = cJSON_GetArrayItem(z, i)->valuedouble / (is_ray ? length : 1);
            same &= fabs(p->z[k][i] - x) < 1e-8 * (1 + fabs(x));
        }
        if (same) return 1;
    }
    return 0;
}

static void stored_problems_have_the_solutions_that_are_listed(void **state)
{
    (void)state;
    perp_status status;
    cJSON *list = problem_json_load(PERP_SOURCE_DIR "/../shared/data/lcp-problems/lcp_open.json",
                                    &status, NULL);
    const cJSON *item, *point;
    if (!list) skip_because("no stored problems here");
    cJSON_ArrayForEach(item, list)
    {
        problem_lcp p;
        points found = {.n = 0};
        assert_int_equal(problem_lcp_from_json(item, "stored", &p, NULL), PERP_OK);
        found.size = p.view.n;
        assert_int_equal(perp_lcp_enumerate(&p.view, p.is_free, keep, &found), PERP_OK);
        const cJSON *solutions = cJSON_GetObjectItem(item, "solutions"),
                    *rays = cJSON_GetObjectItem(item, "rays");
        cJSON_ArrayForEach(point, solutions)
        {
            if (!is_among(&found, cJSON_GetObjectItem(point, "z"), 0))
                fail_msg("%s: a listed solution was not found", p.name);
        }
        if (cJSON_GetArraySize(solutions) == 0 && found.n)
            fail_msg("%s: has no solution, but one was claimed", p.name);
        int nrays = 0;
        for (int k = 0; k < found.n; k++) nrays += found.is_ray[k];
        assert_int_equal(nrays > 0, cJSON_GetArraySize(rays) > 0);
        for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
            /* nothing is claimed that is not so; auto solves all */
            double z[PERP_LCP_ENUMERATE_MAX];
            perp_lcp_solver *solver;
            perp_lcp_info info = {.size = sizeof info};
            perp_lcp_options o = perp_lcp_options_default((perp_lcp_method)m);
            o.mixed = p.view.lo != NULL;
            perp_status created = perp_lcp_solver_create((perp_lcp_method)m, p.view.n, &o, &solver);
            if (created == PERP_ERR_UNAVAILABLE) continue;
            assert_int_equal(created, PERP_OK);
            assert_int_equal(perp_lcp_solve(solver, &p.view, z, NULL, &info), PERP_OK);
            int has = cJSON_GetArraySize(solutions) > 0;
            if (info.outcome == PERP_SOLVED)
                assert_true(has && perp_lcp_residual(&p.view, z, NULL) <= 1e-9);
            if (m == PERP_LCP_AUTO && has) assert_int_equal(info.outcome, PERP_SOLVED);
            perp_lcp_solver_destroy(solver);
        }
        problem_lcp_clear(&p);
    }
    problem_json_free(list);
}

/* perp solve FILE --json, one object or a list; the caller deletes it. */
static cJSON *solve_json(const char *path, int code)
{
    cli_result r = cli_run("solve '%s' --json", path);
    if (r.code != code) fail_msg("%s: exit code %d, %s%s", path, r.code, r.out, r.err);
    cJSON *o = cJSON_Parse(r.out);
    assert_non_null(o);
    cli_free(&r);
    return o;
}

static double z_of(const cJSON *o, int i)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(o, "z"), i)->valuedouble;
}

/* The formulas' sparse derivatives are made dense for josephy, which was refused as "an argument is null". */
static void every_nonlinear_method_takes_formulas(void **state)
{
    (void)state;
    const char *path =
        cli_file("formulas.json", "{\"kind\": \"ncp\", \"F\": [\"x1^2 + x2 - 4\", "
                                  "\"x2 + x1 - 1\", \"x3^3 - 8\"], \"start\": [1, 1, 1]}");
    cli_result r = cli_run("solve '%s' --method josephy --json", path);
    assert_int_equal(r.code, 0);
    cJSON *o = cJSON_Parse(r.out);
    assert_string_equal(cJSON_GetObjectItem(o, "method")->valuestring, "josephy");
    assert_near(z_of(o, 0), 2, 1e-9);
    assert_near(z_of(o, 1), 0, 1e-9);
    assert_near(z_of(o, 2), 2, 1e-9);
    cJSON_Delete(o);
    cli_free(&r);
    r = cli_run("solve '%s' --method all", path);
    assert_non_null(strstr(r.out, "josephy"));
    cli_free(&r);
}

/* Each text is refused with its message, and the command's own names for its parts stay inside. */
static void assert_refused(const char *const (*cases)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cli_result r = cli_run("solve '%s'", cli_file("refused.json", cases[i][0]));
        if (r.code != 2 || !strstr(r.err, cases[i][1]) || strstr(r.err, "root:"))
            fail_msg("%s: expected '%s' (exit code %d) in:\n%s%s", cases[i][0], cases[i][1], r.code,
                     r.out, r.err);
        cli_free(&r);
    }
}

/* What is put into the text of a model is an expression and nothing else: no table is read, no statement added. */
static void formulas_cannot_carry_statements(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"kind\": \"ncp\", \"F\": [\"x1 - 1\\ninput u = table(\\\"/etc/passwd\\\")\"]}",
         "formula 1:1:7: a formula is one line"},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\", \"x1 perp x2\"]}",
         "formula 2:1:4: expected the end of the formula, found 'perp'"},
        {"{\"kind\": \"ncp\", \"F\": [\"x1 # x\"]}", "formula 1:1:4: a formula is one line"},
        {"{\"kind\": \"ncp\", \"F\": [\"\"]}", "formula 1:1:1: expected"},
        {"{\"kind\": \"ncp\", \"F\": [\"table(\\\"/etc/passwd\\\")\"]}", "formula 1:1:7: expected"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1)\\n minimize end(x1\", \"G\": [\"x1\"], \"H\": "
         "[\"x2\"]}",
         "\"objective\":1:4: a formula is one line"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"x1 >= 0\"], \"H\": [\"x2\"]}",
         "\"G\"[0]:1:4: expected the end of the formula, found '>='"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"x1\"], \"H\": [\"x2\\n} draw {\"]}",
         "\"H\"[0]:1:3: a formula is one line"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"x1\"], \"H\": [\"x2\"], "
         "\"constraints\": [\"x1 <= 1, link\"]}",
         "\"constraints\"[0]:1:8: expected the end of the formula, found ','"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"x1\"], \"H\": [\"x2\"], "
         "\"constraints\": [\"x1 < 1\"]}",
         "\"constraints\"[0]:1:4: expected <=, >= or =, found '<'"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
    cJSON *o = solve_json(
        cli_file("joined.json", "{\"kind\": \"mpcc\", \"objective\": \"-x1\", \"G\": [\"x1\"], "
                                "\"H\": [\"x2\"], \"constraints\": [\"x1 \u2264 1\", \"2 - x2\"]}"),
        0);
    assert_near(z_of(o, 0), 1, 1e-6);
    cJSON_Delete(o);
}

/* A key that nothing reads is a mistake, and so is one that is there twice or contradicts the data. */
static void keys_are_checked(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"kind\": \"mlcp\", \"M\": [[1]], \"q\": [-1], \"uper\": [0.5]}",
         "kind mlcp: unknown key 'uper'; did you mean 'upper'?"},
        {"{\"M\": [[1]], \"q\": [-1], \"mu\": [0.5]}",
         "kind lcp: unknown key 'mu'; there are: M q"},
        {"{\"M\": [[1]], \"q\": [-1], \"q\": [1]}", "the key \"q\" is there twice"},
        {"{\"n\": 2, \"M\": [[1]], \"q\": [-1]}", "\"n\" is not the number of entries of \"q\""},
        {"{\"kind\": \"ncp\", \"n\": 2, \"F\": [\"x1 - 1\"]}",
         "\"n\" is not the number of formulas, 1"},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [0.5], \"q\": [-1, 0], "
         "\"blocks\": [], \"W\": [[1, 0], [0, 1]]}",
         "\"W\" and \"blocks\" say the same thing"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
    static const char *const endless[] = {"solve /dev/zero", "classify /dev/zero"};
    for (int i = 0; i < 2; i++) {
        cli_result r = cli_run("%s", endless[i]);
        assert_int_equal(r.code, 2);
        assert_non_null(strstr(r.err, "not a text file: it has a zero byte"));
        cli_free(&r);
    }
}

/* A program without a minimum: the point that was reached meets every condition, and is given. */
static void a_feasible_point_of_a_program_is_printed(void **state)
{
    (void)state;
    const char *path =
        cli_file("open.json", "{\"kind\": \"mpcc\", \"objective\": \"(x1-1)*(x2-1)\", "
                              "\"G\": [\"x1\"], \"H\": [\"x2\"]}");
    cJSON *o = solve_json(path, 3);
    assert_string_equal(cJSON_GetObjectItem(o, "outcome")->valuestring, "feasible");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "z")), 2);
    assert_near(fmin(z_of(o, 0), z_of(o, 1)), 0, 1e-9);
    cJSON_Delete(o);
    cli_result r = cli_run("solve '%s'", path);
    assert_non_null(strstr(r.out, "  z = "));
    cli_free(&r);
}

static void bounds_formulas_and_programs_are_solved(void **state)
{
    (void)state;
    cJSON *o = solve_json(
        cli_file("kinds.json", "[{\"kind\": \"mlcp\", \"M\": [[2,1,0],[1,2,1],[0,1,2]], \"q\": "
                               "[-8,3,1], \"lower\": [0,null,-1], \"upper\": [1,null,1]},"
                               "{\"kind\": \"ncp\", \"F\": [\"x1^2 - 2\"]},"
                               "{\"kind\": \"ncp\", \"F\": [\"exp(x1) - 3\"], \"start\": [2]},"
                               "{\"kind\": \"mpcc\", \"objective\": \"(x1-1)^2+x2^2\", \"G\": "
                               "[\"x2-x1\"], \"H\": [\"x2\"], \"constraints\": [\"x1 <= 0.25\"]}]"),
        0);
    assert_near(z_of(cJSON_GetArrayItem(o, 0), 0), 1, 1e-12); /* at its upper bound */
    assert_near(z_of(cJSON_GetArrayItem(o, 0), 1), -7.0 / 3, 1e-12);
    assert_near(z_of(cJSON_GetArrayItem(o, 1), 0), sqrt(2), 1e-9);
    assert_near(z_of(cJSON_GetArrayItem(o, 2), 0), log(3), 1e-9);
    assert_near(z_of(cJSON_GetArrayItem(o, 3), 0), 0.25, 1e-6);
    assert_near(z_of(cJSON_GetArrayItem(o, 3), 1), 0.25, 1e-6);
    assert_near(cJSON_GetObjectItem(cJSON_GetArrayItem(o, 3), "objective")->valuedouble, 0.625,
                1e-6);
    cJSON_Delete(o);
    static const char *const cases[][2] = {
        {"{\"M\": [[1]], \"q\": [1], \"lower\": [2], \"upper\": [1]}", "is above the upper one"},
        {"{\"M\": [[1]], \"q\": [1], \"lower\": [2, 3]}", "must be a list of 1 numbers"},
        {"{\"M\": [[1]], \"q\": [1], \"upper\": [\"a\"]}", "neither a finite number nor null"},
        {"{\"kind\": \"ncp\", \"F\": [3]}", "must be a list of formulas"},
        {"{\"kind\": \"ncp\", \"F\": [\"y + 1\"]}", "unknown name 'y'"},
        {"{\"kind\": \"ncp\", \"F\": [\"x1\"], \"start\": [1, 2]}", "a list of 1 numbers"},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"x1\"]}", "as many formulas"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* Pairs without variables of their own, sides that are none, comparisons in a chain, more than 100 variables. */
static void programs_of_all_shapes_are_solved(void **state)
{
    (void)state;
    static char many[20000];
    int n = snprintf(many, sizeof many, "{\"kind\": \"mpcc\", \"objective\": \"(x150 - 1)^2");
    for (int i = 1; i < 150; i++)
        n += snprintf(many + n, sizeof many - (size_t)n, " + (x%d - %d)^2", i, i % 3);
    snprintf(many + n, sizeof many - (size_t)n,
             "\", \"G\": [\"x1\", \"x1\"], \"H\": [\"x2\", \"x150 + x2\"]}");
    const struct {
        const char *text;
        int code;
        double objective;
    } cases[] = {
        /* x1 x2 = 0 and x1 x3 = 0 */
        {"{\"kind\": \"mpcc\", \"objective\": \"(x1-1)^2 + (x2-2)^2 + (x3-2)^2\", \"G\": [\"x1\", "
         "\"x1\"], \"H\": [\"x2\", \"x3\"]}",
         0, 1},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1\", \"G\": [\"1\"], \"H\": [\"2\"]}", 3, NAN},
        {"{\"kind\": \"mpcc\", \"objective\": \"x1 - x2\", \"G\": [\"x1 + x2 - 1\"], \"H\": "
         "[\"3 - x2\"], \"constraints\": [\"-1 <= x1 - x2 <= 2 = x3\", \"5 >= x2\"]}",
         0, -1},
        {many, 0, 1}, /* x1 = 0 costs 1, x2 = x150 = 0 5 */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cJSON *o = solve_json(cli_file("shape.json", cases[k].text), cases[k].code);
        const cJSON *objective = cJSON_GetObjectItem(o, "objective");
        if (cases[k].code == 0) assert_near(objective->valuedouble, cases[k].objective, 1e-6);
        if (cases[k].code == 3)
            assert_string_equal(cJSON_GetObjectItem(o, "outcome")->valuestring, "infeasible");
        cJSON_Delete(o);
    }
}

/* The stored nonlinear problems and programs end at one of their listed solutions. */
static void stored_nonlinear_problems_are_solved(void **state)
{
    (void)state;
    static const char *const files[] = {"ncp_open.json", "mpcc_open.json"};
    for (int f = 0; f < 2; f++) {
        char path[512];
        perp_status status;
        snprintf(path, sizeof path, "%s/../shared/data/lcp-problems/%s", PERP_SOURCE_DIR, files[f]);
        cJSON *list = problem_json_load(path, &status, NULL);
        if (!list) skip_because("no stored problems here");
        cJSON *answers = solve_json(path, 0);
        for (int k = 0; k < cJSON_GetArraySize(list); k++) {
            const cJSON *p = cJSON_GetArrayItem(list, k), *a = cJSON_GetArrayItem(answers, k);
            const cJSON *best = cJSON_GetObjectItem(p, "solution"), *s;
            int found = 0;
            if (best)
                found = near(cJSON_GetObjectItem(a, "objective")->valuedouble,
                             cJSON_GetObjectItem(best, "f")->valuedouble, 1e-6);
            cJSON_ArrayForEach(s, cJSON_GetObjectItem(p, "solutions"))
            {
                int same = 1;
                for (int i = 0; i < cJSON_GetObjectItem(p, "n")->valueint; i++)
                    same &= near(z_of(a, i), z_of(s, i), 1e-6);
                found |= same;
            }
            if (!found) fail_msg("%s, problem %d: not a listed solution", files[f], k + 1);
        }
        cJSON_Delete(answers);
        problem_json_free(list);
    }
}

/* A body in a slot: lemke ends on a ray, bpp at a singular basis. Pivots by least index reach a
 * solution. */
static void auto_tries_the_vertices_of_murty(void **state)
{
    (void)state;
    const char *file = "tests/data/slot.json";
    cli_expect(3, "limit", NULL, "solve %s --method lemke", file);
    cli_expect(0, "solved", NULL, "solve %s", file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_and_prints),
        cmocka_unit_test(auto_tries_the_vertices_of_murty),
        cmocka_unit_test(bounds_formulas_and_programs_are_solved),
        cmocka_unit_test(every_nonlinear_method_takes_formulas),
        cmocka_unit_test(a_feasible_point_of_a_program_is_printed),
        cmocka_unit_test(formulas_cannot_carry_statements),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(programs_of_all_shapes_are_solved),
        cmocka_unit_test(stored_nonlinear_problems_are_solved),
        cmocka_unit_test(a_search_that_ends_early_says_so),
        cmocka_unit_test(problems_without_solution_exit_3),
        cmocka_unit_test(nonlinear_problems_have_bounds),
        cmocka_unit_test(lost_data_solve_nothing),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(what_does_not_apply_is_refused),
        cmocka_unit_test(classify_and_solvers_tell),
        cmocka_unit_test(stored_problems_have_the_solutions_that_are_listed),
    };
    return run_all(tests);
}
