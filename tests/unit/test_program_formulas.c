/* Programs by formulas: their answers, and what is said of those that are wrong. */

#include "unit.h"

#include "perp/program.h"

static perp_program_result solve(const perp_program_formulas *f, double *x)
{
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};
    assert_int_equal(perp_program_create(f, "formulas", &program, &diag), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, &diag), PERP_OK);
    memcpy(x, perp_program_point(program), (size_t)f->variables * sizeof *x);
    perp_program_destroy(program);
    return r;
}

static void a_nonlinear_program_is_solved(void **state)
{
    (void)state;
    const double lo[] = {1, 1, 1, 1}, hi[] = {5, 5, 5, 5}, start[] = {1, 5, 5, 1},
                 row_lo[] = {25, 40}, row_hi[] = {INFINITY, 40};
    const char *const rows[] = {"x1*x2*x3*x4", "x1^2 + x2^2 + x3^2 + x4^2"};
    const perp_program_formulas f = {.variables = 4,
                                     .lo = lo,
                                     .hi = hi,
                                     .start = start,
                                     .objective = "x1*x4*(x1 + x2 + x3) + x3",
                                     .rows = 2,
                                     .row = rows,
                                     .row_lo = row_lo,
                                     .row_hi = row_hi};
    double x[4];
    perp_program_result r = solve(&f, x);
    assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
    assert_near(r.objective, 17.0140172891563, 1e-6);
}

/* The toll of docs/programs.md: revenue is maximised. */
static void rows_complement_variables(void **state)
{
    (void)state;
    const double lo[] = {0, 0, 0, -INFINITY}, row_lo[] = {1, 0, 0}, row_hi[] = {1, 0, 0};
    const char *const rows[] = {"x2 + x3", "1 + x1 + x2 - x4", "3 + x3 - x4"};
    const int complements[] = {-1, 1, 2};
    const perp_program_formulas f = {.variables = 4,
                                     .lo = lo,
                                     .objective = "x1*x2",
                                     .maximise = 1,
                                     .rows = 3,
                                     .row = rows,
                                     .row_lo = row_lo,
                                     .row_hi = row_hi,
                                     .complements = complements};
    double x[4];
    perp_program_result r = solve(&f, x);
    assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
    assert_near(r.objective, 1.125, 1e-7);
    assert_near(x[0], 1.5, 1e-6);
}

static void classes_are_those_of_the_formulas(void **state)
{
    (void)state;
    const double lo[] = {0, 0};
    const int complements[] = {0, 1};
    const char *linear[] = {"2*x1 + x2 - 3", "x1 + 2*x2 - 3"},
               *other[] = {"2*x1 + x2^3 - 3", "x1 + 2*x2 - 3"};
    perp_program_formulas f = {
        .variables = 2, .lo = lo, .rows = 2, .row = linear, .complements = complements};
    double x[2];
    perp_program *program;
    assert_int_equal(perp_program_create(&f, NULL, &program, NULL), PERP_OK);
    assert_int_equal(perp_program_get_size(program).kind, PERP_PROGRAM_LCP);
    perp_program_destroy(program);
    assert_int_equal(solve(&f, x).outcome, PERP_PLAN_GLOBAL);
    assert_near(x[0], 1, 1e-9);
    f.row = other;
    assert_int_equal(perp_program_create(&f, NULL, &program, NULL), PERP_OK);
    assert_int_equal(perp_program_get_size(program).kind, PERP_PROGRAM_MCP);
    perp_program_destroy(program);
    assert_int_equal(solve(&f, x).outcome, PERP_PLAN_GLOBAL);
    assert_near(2 * x[0] + pow(x[1], 3), 3, 1e-9);
}

static void check_refused(const perp_program_formulas *f, perp_status expected, const char *says)
{
    perp_program *program;
    perp_diag diag = {0};
    assert_int_equal(perp_program_create(f, "formulas", &program, &diag), expected);
    assert_null(program);
    if (says && !strstr(perp_diag_text(&diag), says))
        fail_msg("'%s' is not in: %s", says, perp_diag_text(&diag));
    perp_diag_clear(&diag);
}

static void wrong_formulas_are_named(void **state)
{
    (void)state;
    const char *row[] = {"x1 +"};
    const double none[] = {NAN};
    const int beyond[] = {3};
    perp_program_formulas f = {.variables = 1, .rows = 1, .row = row};
    check_refused(&f, PERP_ERR_MODEL, "formulas: row 1");
    row[0] = "x2";
    check_refused(&f, PERP_ERR_MODEL, "x2");
    row[0] = "x1 + t";
    check_refused(&f, PERP_ERR_MODEL, "formula 1 depends on something else than x1, x2, ..");
    row[0] = "x1\nvar y";
    check_refused(&f, PERP_ERR_MODEL, "one line");
    row[0] = "x1";
    f.objective = "x1 <= 3";
    check_refused(&f, PERP_ERR_MODEL, "objective");
    f.objective = NULL;
    f.complements = beyond;
    check_refused(&f, PERP_ERR_ARG, "row 1 complements x4, which is none");
    f.complements = NULL;
    f.lo = none;
    check_refused(&f, PERP_ERR_ARG, "a bound or a start of x1 is no number");
    f.lo = NULL;
    row[0] = NULL;
    check_refused(&f, PERP_ERR_ARG, NULL);
}

/* x1 - x2 = 0, x2 - x1 = 2, x3 - x1 = 1e12: no solution, as equations or as rows that complement free variables, in any order of the rows and
 * from where doubles lose the 2. */
static void lost_data_solve_nothing(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const double starts[] = {0, 1e13, 2e16, 1e20};
    const char *const rows[] = {"x1 - x2", "x2 - 2 - x1", "x3 - x1 - 1e12"};
    const double lo[] = {-INFINITY, -INFINITY, -INFINITY}, zero[] = {0, 0, 0};
    const int complements[] = {0, 1, 2};
    for (int k = 0; k < 6; k++) {
        for (int s = 0; s < 8; s++) {
            int pairs = s % 2;
            double x[] = {starts[s / 2], starts[s / 2], starts[s / 2] + 1e12};
            const char *row[] = {rows[orders[k][0]], rows[orders[k][1]], rows[orders[k][2]]};
            const perp_program_formulas f = {.variables = 3,
                                             .lo = lo,
                                             .start = x,
                                             .rows = 3,
                                             .row = row,
                                             .row_lo = pairs ? NULL : zero,
                                             .row_hi = pairs ? NULL : zero,
                                             .complements = pairs ? complements : NULL};
            perp_program_result r = solve(&f, x);
            if (perp_plan_holds(r.outcome))
                fail_msg("%s, order %d: %g %g %g", pairs ? "pairs" : "equations", k, x[0], x[1],
                         x[2]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_data_solve_nothing),
        cmocka_unit_test(a_nonlinear_program_is_solved),
        cmocka_unit_test(rows_complement_variables),
        cmocka_unit_test(classes_are_those_of_the_formulas),
        cmocka_unit_test(wrong_formulas_are_named),
    };
    return run_all(tests);
}
