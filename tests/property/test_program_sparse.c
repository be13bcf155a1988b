/* Large programs, whose linear systems are one sparse matrix: the same answers as by dense factors, and memory in proportion. */

#include "unit.h"

#include "external/sparse_ldl.h"
#include "perp/program.h"

#include <stdio.h>

typedef struct text {
    char *bytes;
    size_t n, capacity;
} text;

static void put(text *t, const char *format, ...)
{
    va_list args;
    if (t->capacity - t->n < 200) {
        t->capacity = 2 * t->capacity + 4096;
        t->bytes = realloc(t->bytes, t->capacity);
        assert_non_null(t->bytes);
    }
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->bytes + t->n, t->capacity - t->n, format, args);
    va_end(args);
}

static void head(text *t, int n, int rows)
{
    put(t, "g3 1 1 0\n %d %d 1\n 1 1\n 0 0\n %d %d\n 0 0 0 1\n 0 0 0 0 0\n 1 1\n 0 0\n 0 0 0 0 0\n",
        n, rows, n, n);
}

static perp_program_result solve(text *t)
{
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    perp_diag diag = {0};
    assert_int_equal(perp_program_parse(t->bytes, t->n, "large.nl", &program, &diag), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, &diag), PERP_OK);
    perp_program_destroy(program);
    free(t->bytes);
    return r;
}

/* sum (x_i - i mod 3)^2 over x_i + x_i+1 = 2, exp(x_0) <= 2: the equations leave one freedom, so the optimum has a closed form. */
static perp_program_result chain(int n)
{
    text t = {0};
    head(&t, n, n);
    put(&t, "C0\no44\nv0\n");
    put(&t, "O0 0\no54\n%d\n", n);
    for (int i = 0; i < n; i++) put(&t, "o77\no0\nv%d\nn%d\n", i, -(i % 3));
    put(&t, "r\n1 2\n");
    for (int i = 1; i < n; i++) put(&t, "4 2\n");
    put(&t, "b\n");
    for (int i = 0; i < n; i++) put(&t, "3\n");
    for (int i = 1; i < n; i++) put(&t, "J%d 2\n%d 1\n%d 1\n", i, i - 1, i);
    return solve(&t);
}

static double chain_optimum(int n)
{
    double mean = 0, sum = 0, s;
    for (int i = 0; i < n; i++) mean += (i % 2 ? 2 - i % 3 : i % 3) / (double)n;
    s = fmin(mean, log(2));
    for (int i = 0; i < n; i++) sum += pow((i % 2 ? 2 - s : s) - i % 3, 2);
    return sum;
}

static void a_chain_has_its_optimum_dense_and_sparse(void **state)
{
    (void)state;
    static const int sizes[] = {20, 59, 61, 300, 3000}; /* 120 unknowns and rows are the border */
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (sizes[k] > 1000 && !perp__sparse_ldl_available()) skip_because("there is no MUMPS");
        perp_program_result r = chain(sizes[k]);
        assert_true(r.outcome <= PERP_PLAN_LOCAL_MINIMUM);
        assert_near(r.objective, chain_optimum(sizes[k]), 1e-7 * r.objective);
    }
}

/* n pairs 0 <= x perp y + x_next - 1 >= 0 with (x - 2/3)^2 + y^2: strictly complementary at known sides. */
static perp_program_result pairs(int n)
{
    text t = {0};
    head(&t, 2 * n, n);
    put(&t, "O0 0\no54\n%d\n", 2 * n);
    for (int i = 0; i < n; i++) put(&t, "o77\no0\nv%d\nn-2\no77\nv%d\n", i, n + i);
    put(&t, "x%d\n", n);
    for (int i = 0; i < n; i++) put(&t, "%d 1\n", i);
    put(&t, "r\n");
    for (int i = 0; i < n; i++) put(&t, "5 1 %d\n", i + 1);
    put(&t, "b\n");
    for (int i = 0; i < 2 * n; i++) put(&t, i < n ? "2 0\n" : "3\n");
    for (int i = 0; i < n; i++) put(&t, "C%d\nn-1\nJ%d 2\n%d 1\n%d 1\n", i, i, i, n + i);
    return solve(&t);
}

/* Each pair by itself: x > 0, so that x + y = 1: (x - 2)^2 + (1 - x)^2 is least at x = 3/2, where it is 1/2. */
static void many_pairs_have_their_optimum_dense_and_sparse(void **state)
{
    (void)state;
    static const int sizes[] = {10, 100, 400};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        perp_program_result r = pairs(sizes[k]);
        assert_int_equal(r.outcome, PERP_PLAN_LOCAL_MINIMUM);
        assert_near(r.objective, 0.5 * sizes[k], 1e-7 * sizes[k]);
    }
}

/* The factors themselves: inertia and solution of a matrix with a zero block, and that a singular one is seen. */
static void sparse_factors_count_negative_eigenvalues(void **state)
{
    (void)state;
    if (!perp__sparse_ldl_available()) skip_because("there is no MUMPS");
    int row[] = {1, 2, 3, 3}, column[] = {1, 2, 1, 2}, negative;
    double value[] = {2, -1, 1, 1}, b[] = {3, 0, 2};
    perp__sparse_ldl *ldl = perp__sparse_ldl_create(3, 4, row, column);
    assert_non_null(ldl);
    assert_int_equal(perp__sparse_ldl_factor(ldl, value, &negative), 1);
    assert_int_equal(negative, 1); /* [2 0 1; 0 -1 1; 1 1 0]: determinant -2 + 1 < 0, and 2 > 0 */
    assert_int_equal(perp__sparse_ldl_solve(ldl, b), 1);
    assert_near(2 * b[0] + b[2], 3, 1e-12);
    assert_near(-b[1] + b[2], 0, 1e-12);
    assert_near(b[0] + b[1], 2, 1e-12);
    value[0] = value[1] = value[2] = value[3] = 0;
    assert_int_equal(perp__sparse_ldl_factor(ldl, value, &negative), 0);
    perp__sparse_ldl_destroy(ldl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_its_optimum_dense_and_sparse),
        cmocka_unit_test(many_pairs_have_their_optimum_dense_and_sparse),
        cmocka_unit_test(sparse_factors_count_negative_eigenvalues),
    };
    return run_all(tests);
}
