/* Programs by functions of the caller: the same answers as by formulas, and what is said of those that are wrong. */

#include "unit.h"

#include "perp/program.h"

/* minimise (x - 3)^2 + exp(y) - z   where   x y + z^2 <= 4 (log(z) is defined for z > 0 only and stands in it, too),
 * 0 <= y perp x - z >= 0,   -1 <= z <= 5 as a pair of bounds in the box variant. */
typedef struct counted {
    int calls, fails;
} counted;

static int values(void *context, const double *x, double *row, double *objective)
{
    counted *c = context;
    c->calls++;
    if (!(x[2] > 0)) return c->fails++, 1;
    row[0] = x[0] * x[1] + x[2] * x[2] + log(x[2]);
    row[1] = x[0] - x[2] + 0.1 * x[1] * x[1];
    if (objective) *objective = (x[0] - 3) * (x[0] - 3) + exp(x[1]) - x[2];
    return 0;
}

static int slopes(void *context, const double *x, double *J, double *gradient)
{
    (void)context;
    const double all[] = {x[1], x[0], 2 * x[2] + 1 / x[2], 1, 0.2 * x[1], -1};
    memcpy(J, all, sizeof all);
    if (!gradient) return 0;
    gradient[0] = 2 * (x[0] - 3), gradient[1] = exp(x[1]), gradient[2] = -1;
    return 0;
}

static int hessian(void *context, const double *x, double sigma, const double *m, double *H)
{
    (void)context;
    H[0] = 2 * sigma;
    H[1] = m[0];
    H[2] = sigma * exp(x[1]) + 0.2 * m[1];
    H[3] = m[0] * (2 - 1 / (x[2] * x[2]));
    return 0;
}

static const int row_start[] = {0, 3, 6}, columns[] = {0, 1, 2, 0, 1, 2},
                 hessian_row[] = {0, 1, 1, 2}, hessian_column[] = {0, 0, 1, 2},
                 complements[] = {-1, 1};
static const double lo[] = {-INFINITY, 0, -INFINITY}, start[] = {1, 1, 1}, row_hi[] = {4, 0};
static const char *const formulas[] = {"x1*x2 + x3^2 + log(x3)", "x1 - x3 + 0.1*x2^2"};

static perp_program_callbacks curved(counted *context)
{
    return (perp_program_callbacks){.variables = 3,
                                    .lo = lo,
                                    .start = start,
                                    .has_objective = 1,
                                    .rows = 2,
                                    .row_hi = row_hi,
                                    .complements = complements,
                                    .row_start = row_start,
                                    .column = columns,
                                    .curvatures = 4,
                                    .hessian_row = hessian_row,
                                    .hessian_column = hessian_column,
                                    .context = context,
                                    .values = values,
                                    .slopes = slopes,
                                    .hessian = hessian};
}

static perp_program_result solve(perp_program *program, double *x, double *dual, int rows)
{
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};
    assert_non_null(program);
    assert_int_equal(perp_program_solve(program, NULL, &r, &diag), PERP_OK);
    memcpy(x, perp_program_point(program), 3 * sizeof *x);
    memcpy(dual, perp_program_duals(program), (size_t)rows * sizeof *dual);
    perp_program_destroy(program);
    return r;
}

/* With a pair on one bound, on both bounds, and without; minimised and, of minus the objective, as maximised. */
static void answers_are_those_of_the_formulas(void **state)
{
    (void)state;
    const double upper[] = {INFINITY, 0.5, INFINITY}, low[] = {-INFINITY, 0.25, -INFINITY};
    for (int k = 0; k < 3; k++) {
        counted context = {0};
        double x[3], y[3], dual[2], other[2];
        perp_program *program;
        perp_program_callbacks c = curved(&context);
        c.hi = k == 1 ? upper : NULL;
        c.lo = k == 1 ? low : lo;
        c.complements = k == 2 ? NULL : complements;
        perp_program_formulas f = {.variables = 3,
                                   .lo = c.lo,
                                   .hi = c.hi,
                                   .start = start,
                                   .objective = "(x1 - 3)^2 + exp(x2) - x3",
                                   .rows = 2,
                                   .row = formulas,
                                   .row_hi = row_hi,
                                   .complements = c.complements};
        assert_int_equal(perp_program_create(&f, "formulas", &program, NULL), PERP_OK);
        perp_program_result b = solve(program, y, other, 2);
        assert_int_equal(perp_program_create_callbacks(&c, "functions", &program, NULL), PERP_OK);
        perp_program_size size = perp_program_get_size(program);
        assert_int_equal(size.kind, k == 2 ? PERP_PROGRAM_NLP : PERP_PROGRAM_MPCC);
        assert_int_equal(size.nonzeros, 6);
        perp_program_result a = solve(program, x, dual, 2);
        assert_int_equal(b.outcome, PERP_PLAN_LOCAL_MINIMUM);
        assert_int_equal(a.outcome, b.outcome);
        assert_near(a.objective, b.objective, 1e-6);
        for (int j = 0; j < 3; j++) assert_near(x[j], y[j], 1e-5);
        for (int i = 0; i < 2; i++) assert_near(dual[i], other[i], 1e-4);
        assert_true(context.calls > 3);
    }
}

static int minus_values(void *context, const double *x, double *row, double *objective)
{
    int no = values(context, x, row, objective);
    *objective = -*objective;
    return no;
}

static int minus_slopes(void *context, const double *x, double *J, double *gradient)
{
    int no = slopes(context, x, J, gradient);
    for (int j = 0; j < 3; j++) gradient[j] = -gradient[j];
    return no;
}

static int minus_hessian(void *context, const double *x, double sigma, const double *m, double *H)
{
    return hessian(context, x, -sigma, m, H);
}

static void objectives_may_be_maximised(void **state)
{
    (void)state;
    counted context = {0};
    double x[3], y[3], dual[2], other[2];
    perp_program *program;
    perp_program_callbacks c = curved(&context);
    assert_int_equal(perp_program_create_callbacks(&c, NULL, &program, NULL), PERP_OK);
    perp_program_result a = solve(program, x, dual, 2);
    c.values = minus_values, c.slopes = minus_slopes, c.hessian = minus_hessian, c.maximise = 1;
    assert_int_equal(perp_program_create_callbacks(&c, NULL, &program, NULL), PERP_OK);
    perp_program_result b = solve(program, y, other, 2);
    assert_near(a.objective, -b.objective, 1e-7);
    assert_near(dual[0], -other[0], 1e-5);
}

/* An equilibrium: no objective, a row for each variable; from a start where the functions are not defined nothing is found, and said. */
static int market(void *context, const double *x, double *row, double *objective)
{
    (void)context;
    assert_null(objective);
    if (!(x[0] > 0)) return 1;
    row[0] = x[1] - 12 / x[0], row[1] = 1 + x[1] - x[0];
    return 0;
}

static int market_slopes(void *context, const double *x, double *J, double *gradient)
{
    (void)context, (void)gradient;
    const double all[] = {12 / (x[0] * x[0]), 1, -1, 1};
    memcpy(J, all, sizeof all);
    return 0;
}

static void equilibria_are_solved(void **state)
{
    (void)state;
    static const int first[] = {0, 2, 4}, of[] = {0, 1, 0, 1}, both[] = {0, 1};
    const double least[] = {0, 0}, here[] = {2, 1}, nowhere[] = {0, 0};
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_program_callbacks c = {.variables = 2,
                                .lo = least,
                                .start = here,
                                .rows = 2,
                                .complements = both,
                                .row_start = first,
                                .column = of,
                                .values = market,
                                .slopes = market_slopes};
    assert_int_equal(perp_program_create_callbacks(&c, "market", &program, NULL), PERP_OK);
    assert_int_equal(perp_program_get_size(program).kind, PERP_PROGRAM_MCP);
    assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
    assert_int_equal(r.outcome, PERP_PLAN_GLOBAL); /* p - 1 = 12/p */
    assert_near(perp_program_point(program)[0], 4, 1e-8);
    perp_program_destroy(program);
    c.start = nowhere;
    assert_int_equal(perp_program_create_callbacks(&c, "market", &program, NULL), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
    if (perp_plan_holds(r.outcome)) assert_near(perp_program_point(program)[0], 4, 1e-6);
    perp_program_destroy(program);
}

static void check_refused(const perp_program_callbacks *c, const char *says)
{
    perp_program *program;
    perp_diag diag = {0};
    assert_int_equal(perp_program_create_callbacks(c, "functions", &program, &diag), PERP_ERR_ARG);
    assert_null(program);
    if (!strstr(perp_diag_text(&diag), says))
        fail_msg("'%s' is not in: %s", says, perp_diag_text(&diag));
    perp_diag_clear(&diag);
}

static void wrong_functions_are_named(void **state)
{
    (void)state;
    counted context = {0};
    static const int twice[] = {0, 1, 1, 0, 1, 2}, upper[] = {0, 0, 1, 2}, falls[] = {0, 3, 2},
                     beyond[] = {-1, 3};
    const double none[] = {0, NAN, 0};
    perp_program_callbacks c = curved(&context);
    c.column = twice;
    check_refused(&c, "columns do not ascend from 0 to the last variable in row 1");
    c = curved(&context), c.hessian_row = upper;
    check_refused(&c, "not in the lower triangle, row by row, is the Hessian's entry 2");
    c = curved(&context), c.row_start = falls;
    check_refused(&c, "row_start falls behind row 2");
    c = curved(&context), c.complements = beyond;
    check_refused(&c, "a variable that is none is complemented by row 2");
    c = curved(&context), c.lo = none;
    check_refused(&c, "a bound or a start is no number of variable 2");
    c = curved(&context), c.hessian = NULL;
    check_refused(&c, "are needed");
    perp_program *program;
    assert_int_equal(perp_program_create_callbacks(NULL, NULL, &program, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_program_create_callbacks(&c, NULL, NULL, NULL), PERP_ERR_ARG);
}

/* sum (x_i - i mod 3)^2 over x_i + x_i+1 = 2 for many unknowns, where systems are sparse: as test_program_sparse has it by expressions. */
enum { MANY = 400 };

static int chain(void *context, const double *x, double *row, double *objective)
{
    (void)context;
    *objective = 0;
    for (int i = 0; i < MANY; i++) *objective += (x[i] - i % 3) * (x[i] - i % 3);
    for (int i = 1; i < MANY; i++) row[i - 1] = x[i - 1] + x[i] - 2;
    return 0;
}

static int chain_slopes(void *context, const double *x, double *J, double *gradient)
{
    (void)context;
    for (int i = 0; i < MANY; i++) gradient[i] = 2 * (x[i] - i % 3);
    for (int e = 0; e < 2 * (MANY - 1); e++) J[e] = 1;
    return 0;
}

static int chain_hessian(void *context, const double *x, double sigma, const double *m, double *H)
{
    (void)context, (void)x, (void)m;
    for (int i = 0; i < MANY; i++) H[i] = 2 * sigma;
    return 0;
}

static void large_programs_are_sparse(void **state)
{
    (void)state;
    static int first[MANY], of[2 * MANY], diagonal[MANY];
    static double zero[MANY];
    double a = 0,
           b = 0; /* x_i = 1 + (-1)^i s: the sum is least at s = the mean of (-1)^i (i mod 3 - 1) */
    for (int i = 0; i < MANY; i++) {
        diagonal[i] = i;
        if (i + 1 < MANY) first[i + 1] = 2 * (i + 1), of[2 * i] = i, of[2 * i + 1] = i + 1;
        a += (i % 2 ? -1 : 1) * (i % 3 - 1.0), b += 1;
    }
    perp_program_callbacks c = {.variables = MANY,
                                .has_objective = 1,
                                .rows = MANY - 1,
                                .row_lo = zero,
                                .row_hi = zero,
                                .row_start = first,
                                .column = of,
                                .curvatures = MANY,
                                .hessian_row = diagonal,
                                .hessian_column = diagonal,
                                .values = chain,
                                .slopes = chain_slopes,
                                .hessian = chain_hessian};
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    assert_int_equal(perp_program_create_callbacks(&c, "chain", &program, NULL), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
    assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
    assert_near(perp_program_point(program)[0], 1 + a / b, 1e-7);
    perp_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_formulas),
        cmocka_unit_test(objectives_may_be_maximised),
        cmocka_unit_test(equilibria_are_solved),
        cmocka_unit_test(wrong_functions_are_named),
        cmocka_unit_test(large_programs_are_sparse),
    };
    return run_all(tests);
}
