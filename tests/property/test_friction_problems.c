/* The stored problems of ../shared/data/friction-problems, and the reader's messages. Skipped when
 * the data are not there. */

#include "unit.h"

#include "contacts.h"
#include "perp/friction.h"
#include "problem_fc.h"

#include <stdio.h>

static const char *const names[] = {
    "Box_Stacks-i0122-82-5",
    "Capsules-i100-1090",
    "Capsules-i100-889",
    "Capsules-i103-990",
    "Capsules-i122-1617",
    "Confeti-ex13-Fc3D-SBM",
    "FC3D_Example1",
    "KaplasTower-i1061-4",
    "NESpheres_10_1",
    "NESpheres_30_1",
    "OneObject-i100000-499",
    "OneObject-i1028-138",
    "RockPile_tob1",
    "Rover4396",
    "Rover9770",
    "spheres-in-a-box-98-i10000-256-10",
};

static int load(const char *name, problem_fc *problem)
{
    char path[512];
    perp_diag diag = {0};
    snprintf(path, sizeof path, "%s/../shared/data/friction-problems/%s.json", PERP_SOURCE_DIR,
             name);
    perp_status status = problem_fc_load(path, problem, &diag);
    perp_diag_clear(&diag);
    return status == PERP_OK;
}

static void auto_solves_the_stored_problems(void **state)
{
    (void)state;
    int missing = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        problem_fc problem;
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info};
        if (!load(names[k], &problem)) {
            missing++;
            continue;
        }
        perp_fc_options o = perp_fc_options_default();
        double *r = calloc((size_t)(3 * problem.view.nc), sizeof *r);
        assert_int_equal(perp_fc_solver_create(PERP_FC_AUTO, &problem.view, &o, &solver), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &problem.view, r, NULL, &info), PERP_OK);
        int n = 3 * problem.view.nc;
        double *W = malloc((size_t)n * (size_t)n * sizeof *W);
        assert_int_equal(perp_fc_delassus(&problem.view, W, n), PERP_OK);
        double error = judge(&problem.view, W, r);
        if (info.outcome != PERP_SOLVED || !(error <= o.tol))
            fail_msg("%s: %s, error %g", names[k], perp_outcome_name(info.outcome), error);
        /* the rock pile takes most; 0.1.0 needed 2588 */
        if (info.iterations > 4000) fail_msg("%s: %d iterations", names[k], info.iterations);
        free(W);
        perp_fc_solver_destroy(solver);
        problem_fc_clear(&problem);
        free(r);
    }
    if (missing) skip_because("%d stored friction problems are not there", missing);
}

/* "data/friction-problems/NAME.json<tab>METHOD<tab><tab>solved": the name of the row's problem, or 0. */
static int solved_row(const char *line, char name[64], char method[32])
{
    return sscanf(line, "data/friction-problems/%63[^.].json\t%31[^\t]\t\tsolved", name, method) ==
               2 &&
           strstr(line, "\tsolved");
}

/* Single methods too: each is finished from its best point. */
static void methods_solve_what_they_solved_in_0_1_0(void **state)
{
    (void)state;
    char line[512], name[64], method[32];
    FILE *table = fopen(PERP_SOURCE_DIR "/tests/data/outcomes-0.1.0.tsv", "r");
    int rows = 0, missing = 0;
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        problem_fc problem;
        perp_fc_solver *solver;
        perp_fc_info info = {.size = sizeof info};
        if (!solved_row(line, name, method)) continue;
        rows++;
        if (!load(name, &problem)) {
            missing++;
            continue;
        }
        double *r = calloc((size_t)(3 * problem.view.nc), sizeof *r);
        perp_fc_method m = perp_fc_method_find(method);
        assert_int_equal(perp_fc_solver_create(m, &problem.view, NULL, &solver), PERP_OK);
        assert_int_equal(perp_fc_solve(solver, &problem.view, r, NULL, &info), PERP_OK);
        if (info.outcome != PERP_SOLVED)
            fail_msg("%s, %s: %s, error %g", name, method, perp_outcome_name(info.outcome),
                     info.error);
        perp_fc_solver_destroy(solver);
        problem_fc_clear(&problem);
        free(r);
    }
    fclose(table);
    assert_true(rows > 90);
    if (missing) skip_because("%d of %d rows, whose problems are not there", missing, rows);
}

static void the_reader_says_what_is_wrong(void **state)
{
    (void)state;
    const char *const texts[][2] = {
        {"{", "this is not JSON"},
        {"[1]", "object"},
        {"{\"kind\": \"lcp\"}", "\"kind\""},
        {"{\"kind\": \"fc\", \"dimension\": 4}", "\"dimension\""},
        {"{\"kind\": \"fc\", \"dimension\": 3, \"contacts\": -1}", "\"contacts\""},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [0.1], \"q\": [1, 2]}",
         "\"blocks\""},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [0.1], \"q\": [1], "
         "\"blocks\": []}",
         "\"q\""},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [0.1], \"q\": [1, 2], "
         "\"blocks\": [[0, 1, 1, 0, 0, 1]]}",
         "blocks[0]"},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [\"a\"], \"q\": [1, 2], "
         "\"W\": [[1, 0], [0, 1]]}",
         "\"mu\"[0]"},
        {"{\"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, \"mu\": [0], \"q\": [1, 2], \"W\": "
         "[[1, 0], [0]]}",
         "W[1]"},
    };
    char path[512];
    snprintf(path, sizeof path, "%s/test_friction_problems.json", PERP_BUILD_DIR);
    for (size_t k = 0; k <= sizeof texts / sizeof *texts; k++) {
        int good = k == sizeof texts / sizeof *texts;
        problem_fc problem;
        perp_diag diag = {0};
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(good ? "{\"name\": \"one\", \"kind\": \"fc\", \"dimension\": 2, \"contacts\": 1, "
                     "\"mu\": [0.5], \"q\": [-1, 2], "
                     "\"W\": [[1, 0.5], [0, 1]]}"
                   : texts[k][0],
              file);
        fclose(file);
        perp_status status = problem_fc_load(path, &problem, &diag);
        assert_int_equal(status, good ? PERP_OK : PERP_ERR_DATA);
        if (!good && !strstr(perp_diag_text(&diag), texts[k][1]))
            fail_msg("%s: %s", texts[k][0], perp_diag_text(&diag));
        if (good) assert_true(problem.view.W[2] == 0.5 && problem.view.W[1] == 0);
        perp_diag_clear(&diag);
        problem_fc_clear(&problem);
    }
    remove(path);
    problem_fc problem;
    assert_int_equal(problem_fc_load("/nowhere/x.json", &problem, NULL), PERP_ERR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_solves_the_stored_problems),
        cmocka_unit_test(methods_solve_what_they_solved_in_0_1_0),
        cmocka_unit_test(the_reader_says_what_is_wrong),
    };
    return run_all(tests);
}
