/* Memory: when any single allocation fails, reading and solving a program says so and leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/mcp.h"
#include "perp/program.h"

#include <stdio.h>

/* What a user does; the first status that is not PERP_OK. */
typedef struct file {
    char bytes[1 << 14];
    size_t n;
    perp_plan_outcome expected;
} file;

static perp_status solve_it(void *given, perp_diag *diag)
{
    const file *f = given;
    perp_program *program = NULL;
    perp_program_result result = {.size = sizeof result, .outcome = PERP_PLAN_LIMIT};
    perp_program_options o = perp_program_options_default();
    o.restarts = 0;
    o.global = 1;
    perp_status status = perp_program_parse(f->bytes, f->n, "memory.nl", &program, diag);
    if (status == PERP_OK) status = perp_program_solve(program, &o, &result, diag);
    if (status == PERP_OK) assert_int_equal(result.outcome, f->expected);
    perp_program_destroy(program);
    return status;
}

/* The same by formulas. */
static perp_status create_it(void *given, perp_diag *diag)
{
    (void)given;
    const char *const row[] = {"x1 + exp(x2) - 3"};
    const int complements[] = {0};
    const double lo[] = {0, -1};
    const perp_program_formulas f = {.variables = 2,
                                     .lo = lo,
                                     .objective = "x1^2 + x2^2",
                                     .rows = 1,
                                     .row = row,
                                     .complements = complements};
    perp_program *program;
    perp_status status = perp_program_create(&f, "formulas", &program, diag);
    perp_program_destroy(program);
    return status;
}

/* The same by functions: minimise x^2 + y^2 over 0 <= x perp x + y^3 - 3 >= 0. */
static int cubic(void *context, const double *x, double *row, double *objective)
{
    (void)context;
    row[0] = x[0] + x[1] * x[1] * x[1] - 3;
    *objective = x[0] * x[0] + x[1] * x[1];
    return 0;
}

static int cubic_slopes(void *context, const double *x, double *J, double *gradient)
{
    (void)context;
    J[0] = 1, J[1] = 3 * x[1] * x[1];
    gradient[0] = 2 * x[0], gradient[1] = 2 * x[1];
    return 0;
}

static int cubic_hessian(void *context, const double *x, double sigma, const double *m, double *H)
{
    (void)context;
    H[0] = 2 * sigma, H[1] = 2 * sigma + 6 * m[0] * x[1];
    return 0;
}

static perp_status solve_functions(void *given, perp_diag *diag)
{
    (void)given;
    static const int first[] = {0, 2}, of[] = {0, 1}, complements[] = {0};
    const double lo[] = {0, -INFINITY}, start[] = {1, 1};
    const perp_program_callbacks c = {.variables = 2,
                                      .lo = lo,
                                      .start = start,
                                      .has_objective = 1,
                                      .rows = 1,
                                      .complements = complements,
                                      .row_start = first,
                                      .column = of,
                                      .curvatures = 2,
                                      .hessian_row = of,
                                      .hessian_column = of,
                                      .values = cubic,
                                      .slopes = cubic_slopes,
                                      .hessian = cubic_hessian};
    perp_program *program;
    perp_program_result result = {.size = sizeof result};
    perp_program_options o = perp_program_options_default();
    o.restarts = 0;
    perp_status status = perp_program_create_callbacks(&c, "functions", &program, diag);
    if (status == PERP_OK) status = perp_program_solve(program, &o, &result, diag);
    if (status == PERP_OK) assert_near(result.objective, 2.0252059, 1e-6); /* y^3 = 3 - x */
    perp_program_destroy(program);
    return status;
}

static void creation_without_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    for (long k = 1; tell(k, create_it, NULL).status != PERP_OK; k++) continue;
    for (long k = 1; tell(k, solve_functions, NULL).status != PERP_OK; k++) continue;
}

/* Fail each allocation that a story makes; all of them are needed. How many there are. */
static long fail_each(perp_status (*story)(void *, perp_diag *), void *given)
{
    for (long k = 1;; k++) {
        told t = tell(k, story, given);
        if (t.status != PERP_OK) continue;
        if (t.reached) fail_msg("allocation %ld was not missed", k);
        return k - 1;
    }
}

static void read_and_fail_each(const char *name, perp_plan_outcome expected)
{
    file f = {.expected = expected};
    char path[512];
    snprintf(path, sizeof path, PERP_SOURCE_DIR "/%s.nl", name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    f.n = fread(f.bytes, 1, sizeof f.bytes, in);
    fclose(in);
    print_message("%s\n", name);
    perp_diag said = {0};
    assert_int_equal(solve_it(&f, &said), PERP_OK); /* loads libraries, for good */
    perp_diag_clear(&said);
    assert_true(fail_each(solve_it, &f) >= 20);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    read_and_fail_each("examples/programs/toll", PERP_PLAN_LOCAL_MINIMUM);
    read_and_fail_each("tests/data/nl/rosenbrock", PERP_PLAN_LOCAL_MINIMUM);
    read_and_fail_each("tests/data/nl/market_big", PERP_PLAN_GLOBAL);
    read_and_fail_each("tests/data/nl/dry_friction", PERP_PLAN_GLOBAL);
    read_and_fail_each("tests/data/nl/quadratic", PERP_PLAN_GLOBAL);
    read_and_fail_each("tests/data/nl/bilevel_bard", PERP_PLAN_GLOBAL);
    read_and_fail_each("tests/data/nl/infeasible_pair", PERP_PLAN_INFEASIBLE);
}

/* A membrane above 0 on SIDE x SIDE points, enough of them for levels below. */
enum { SIDE = 18, POINTS = SIDE * SIDE };
static int first[POINTS + 1], index_of[5 * POINTS];
static double coupling[5 * POINTS];

static int membrane(void *context, const double *z, double *w)
{
    (void)context;
    for (int i = 0; i < POINTS; i++) w[i] = i % SIDE < SIDE / 2 ? -0.1 : 0.3;
    for (int j = 0; j < POINTS; j++)
        for (int e = first[j]; e < first[j + 1]; e++) w[index_of[e]] += coupling[e] * z[j];
    return 0;
}

static int membrane_slope(void *context, const double *z, double *values)
{
    (void)context, (void)z;
    memcpy(values, coupling, (size_t)first[POINTS] * sizeof *values);
    return 0;
}

static perp_status solve_membrane(void *given, perp_diag *diag)
{
    (void)given, (void)diag;
    static double z[POINTS];
    perp_mcp p = {
        .n = POINTS, .F = membrane, .J = membrane_slope, .column_start = first, .row = index_of};
    perp_mcp_solver *solver;
    perp_mcp_info info = {.size = sizeof info};
    memset(z, 0, sizeof z);
    perp_status status = perp_mcp_solver_create(PERP_MCP_MULTIGRID, &p, NULL, &solver);
    if (status == PERP_OK) status = perp_mcp_solve(solver, &p, z, NULL, &info);
    if (status == PERP_OK) assert_int_equal(info.outcome, PERP_SOLVED);
    perp_mcp_solver_destroy(solver);
    return status;
}

static void multigrid_without_memory_says_so_and_leaks_nothing(void **state)
{
    (void)state;
    static const int by[] = {-SIDE, -1, 0, 1, SIDE};
    for (int k = 0, n = 0; k < POINTS; k++, first[k] = n)
        for (int d = 0; d < 5; d++) {
            int j = k + by[d];
            if (j < 0 || j >= POINTS || (d % 2 == 1 && j / SIDE != k / SIDE)) continue;
            index_of[n] = j, coupling[n++] = d == 2 ? 4 : -1;
        }
    assert_true(fail_each(solve_membrane, NULL) >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_without_memory_is_reported_and_leaks_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(multigrid_without_memory_says_so_and_leaks_nothing),
    };
    return run_all(tests);
}
