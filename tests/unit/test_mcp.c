/* Nonlinear complementarity problems: known ones, sparse ones, formulas, bad input. */

#include "unit.h"

#include "perp/mcp.h"
#include "perp/model.h"

#include <stdint.h>
#include <stdio.h>

/* Kojima & Shindo 1986: solutions (sqrt(6)/2, 0, 0, 1/2), degenerate, and (1, 0, 3, 0). */
static int kojima(void *context, const double *x, double *w)
{
    (void)context;
    double a = x[0], b = x[1], c = x[2], d = x[3];
    w[0] = 3 * a * a + 2 * a * b + 2 * b * b + c + 3 * d - 6;
    w[1] = 2 * a * a + a + b * b + 10 * c + 2 * d - 2;
    w[2] = 3 * a * a + a * b + 2 * b * b + 2 * c + 9 * d - 9;
    w[3] = a * a + 3 * b * b + 2 * c + 3 * d - 3;
    return 0;
}

static int kojima_slope(void *context, const double *x, double *J)
{
    (void)context;
    double a = x[0], b = x[1];
    const double rows[4][4] = {{6 * a + 2 * b, 2 * a + 4 * b, 1, 3},
                               {4 * a + 1, 2 * b, 10, 2},
                               {6 * a + b, a + 4 * b, 2, 9},
                               {2 * a, 6 * b, 2, 3}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) J[i + 4 * j] = rows[i][j];
    return 0;
}

static perp_mcp_info solve(perp_mcp_method method, const perp_mcp *p, double *z)
{
    perp_mcp_solver *solver;
    perp_mcp_info info = {.size = sizeof info};
    double *w = calloc((size_t)p->n + 1, sizeof *w);
    assert_int_equal(perp_mcp_solver_create(method, p, NULL, &solver), PERP_OK);
    assert_int_equal(perp_mcp_solve(solver, p, z, w, &info), PERP_OK);
    if (info.outcome == PERP_SOLVED)
        assert_true(perp_mcp_residual(p, z, w) == info.residual && info.error <= 1e-9);
    perp_mcp_solver_destroy(solver);
    free(w);
    return info;
}

static void kojima_and_shindo_is_solved_from_many_points(void **state)
{
    (void)state;
    perp_mcp p = {.n = 4, .F = kojima, .J = kojima_slope};
    for (int k = 0; k < 30; k++) {
        double z[4] = {k % 2, k % 3, k % 5, k % 7};
        assert_int_equal(solve(PERP_MCP_AUTO, &p, z).outcome, PERP_SOLVED);
        int first = fabs(z[0] - sqrt(1.5)) < 1e-6 && fabs(z[3] - 0.5) < 1e-6;
        int second = fabs(z[0] - 1) < 1e-6 && fabs(z[2] - 3) < 1e-6;
        assert_true(first || second);
    }
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
        double z[4] = {1, 0, 2.5, 0};
        assert_int_equal(solve((perp_mcp_method)m, &p, z).outcome, PERP_SOLVED);
    }
}

/* Obstacle problem on a line of n points, -u'' >= -1/4, u >= hat, sparse: tridiagonal J; z = u - hat. */
typedef struct obstacle {
    int n;
    double *hat;
} obstacle;

static int obstacle_F(void *context, const double *z, double *w)
{
    const obstacle *o = context;
    double h = 1.0 / (o->n + 1);
    for (int i = 0; i < o->n; i++) {
        double left = i > 0 ? z[i - 1] + o->hat[i - 1] : 0;
        double right = i + 1 < o->n ? z[i + 1] + o->hat[i + 1] : 0;
        w[i] = 2 * (z[i] + o->hat[i]) - left - right + h * h * (1 + pow(z[i] + o->hat[i], 3));
    }
    return 0;
}

static int obstacle_J(void *context, const double *z, double *values)
{
    const obstacle *o = context;
    double h = 1.0 / (o->n + 1);
    int e = 0;
    for (int j = 0; j < o->n; j++) {
        if (j > 0) values[e++] = -1;
        values[e++] = 2 + 3 * h * h * (z[j] + o->hat[j]) * (z[j] + o->hat[j]);
        if (j + 1 < o->n) values[e++] = -1;
    }
    return 0;
}

static void a_sparse_obstacle_problem_is_solved(void **state)
{
    (void)state;
    enum { N = 400 };
    static double hat[N], z[N], w[N];
    static int start[N + 1], row[3 * N];
    obstacle o = {N, hat};
    for (int j = 0; j < N; j++) {
        double x = (j + 1.0) / (N + 1);
        hat[j] = 0.25 - fabs(x - 0.5);
        start[j + 1] = start[j];
        for (int i = j - 1; i <= j + 1; i++)
            if (i >= 0 && i < N) row[start[j + 1]++] = i;
    }
    perp_mcp p = {
        .n = N, .F = obstacle_F, .J = obstacle_J, .context = &o, .column_start = start, .row = row};
    static const perp_mcp_method methods[] = {PERP_MCP_AUTO, PERP_MCP_MIN};
    for (size_t k = 0; k < 2; k++) {
        perp_mcp_method m = methods[k];
        perp_mcp_solver *solver;
        perp_mcp_info info = {.size = sizeof info};
        perp_status status = perp_mcp_solver_create(m, &p, NULL, &solver);
        assert_int_equal(status, PERP_OK);
        memset(z, 0, sizeof z);
        assert_int_equal(perp_mcp_solve(solver, &p, z, w, &info), PERP_OK);
        if (info.outcome != PERP_SOLVED)
            fail_msg("%s: %s, residual %g after %d steps", perp_mcp_method_name(m),
                     perp_outcome_name(info.outcome), info.residual, info.iterations);
        int touching = 0;
        for (int i = 0; i < N; i++) touching += z[i] < 1e-9;
        assert_true(touching > 0 && touching < N / 2);
        perp_mcp_solver_destroy(solver);
    }
}

/* z^3 = 8 with z free; -1 <= z <= 1 with F = z - 5 and F = z + 5: all kinds of bounds. */
static int cubes(void *context, const double *z, double *w)
{
    (void)context;
    w[0] = z[0] * z[0] * z[0] - 8, w[1] = z[1] - 5, w[2] = z[2] + 5;
    return 0;
}

static int cubes_slope(void *context, const double *z, double *J)
{
    (void)context;
    memset(J, 0, 9 * sizeof *J);
    J[0] = 3 * z[0] * z[0], J[4] = J[8] = 1;
    return 0;
}

static void all_kinds_of_bounds_are_met(void **state)
{
    (void)state;
    const double lo[] = {-(double)INFINITY, -1, -1}, hi[] = {(double)INFINITY, 1, 1};
    perp_mcp p = {.n = 3, .lo = lo, .hi = hi, .F = cubes, .J = cubes_slope};
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
        double z[3] = {1, 0, 0};
        assert_int_equal(solve((perp_mcp_method)m, &p, z).outcome, PERP_SOLVED);
        assert_near(z[0], 2, 1e-8);
        assert_near(z[1], 1, 1e-8);
        assert_near(z[2], -1, 1e-8);
    }
}

/* z_0 - 5000, z_1 + 5000, z_2 - z_0 - 1/2 */
static int shifted(void *context, const double *z, double *w)
{
    (void)context;
    w[0] = z[0] - 5000, w[1] = z[1] + 5000, w[2] = z[2] - z[0] - 0.5;
    return 0;
}

static int shifted_slope(void *context, const double *z, double *J)
{
    (void)context;
    (void)z;
    memset(J, 0, 9 * sizeof *J);
    J[0] = J[4] = J[8] = 1, J[2] = -1;
    return 0;
}

/* The minimum function is linear on each side: one Newton step to the bounds and the root from where the sides are right. */
static void one_step_of_min_solves_a_linear_problem(void **state)
{
    (void)state;
    const double lo[] = {-1, -300, -999}, hi[] = {300, 1, 999};
    perp_mcp p = {.n = 3, .lo = lo, .hi = hi, .F = shifted, .J = shifted_slope};
    for (int k = 0; k < 2; k++) { /* from 0, and from the solution */
        double z[3] = {300 * k, -300 * k, 300.5 * k};
        perp_mcp_info info = solve(PERP_MCP_MIN, &p, z);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_true(z[0] == 300 && z[1] == -300 && z[2] == 300.5);
        assert_int_equal(info.iterations, 1 - k);
    }
}

/* log(z) - 1: not defined for z <= 0, where every step that leads there is shortened. */
static int logarithm(void *context, const double *z, double *w)
{
    (void)context;
    if (!(z[0] > 0)) return 1;
    w[0] = log(z[0]) - 1;
    return 0;
}

static int logarithm_slope(void *context, const double *z, double *J)
{
    (void)context;
    J[0] = 1 / z[0];
    return 0;
}

static void a_function_may_be_undefined_somewhere(void **state)
{
    (void)state;
    perp_mcp p = {.n = 1, .F = logarithm, .J = logarithm_slope};
    double z = 20;
    assert_int_equal(solve(PERP_MCP_FB, &p, &z).outcome, PERP_SOLVED);
    assert_near(z, exp(1), 1e-8);
    z = 0;
    assert_int_equal(solve(PERP_MCP_FB, &p, &z).outcome, PERP_LIMIT);
    z = NAN;
    assert_int_equal(solve(PERP_MCP_FB, &p, &z).outcome, PERP_BAD_INPUT);
}

static void formulas_have_exact_derivatives(void **state)
{
    (void)state;
    const char *text[] = {"x1^2 + sin(x2)*x3 - 2", "exp(x1) - x2", "x3^3 + x1*x2 - 1"};
    perp_formulas *f;
    double z[] = {0.3, 0.7, 1.1}, w[3], w1[3], w2[3], J[9];
    assert_int_equal(perp_formulas_create(3, text, "test", &f, NULL), PERP_OK);
    perp_mcp p = perp_formulas_mcp(f);
    assert_int_equal(p.F(p.context, z, w), 0);
    assert_near(w[0], 0.09 + sin(0.7) * 1.1 - 2, 1e-15);
    assert_int_equal(p.J(p.context, z, J), 0);
    for (int j = 0; j < 3; j++) {
        double keep = z[j], eps = 1e-6;
        double dense[3] = {0, 0, 0};
        for (int e = p.column_start[j]; e < p.column_start[j + 1]; e++) dense[p.row[e]] = J[e];
        z[j] = keep - eps, p.F(p.context, z, w1);
        z[j] = keep + eps, p.F(p.context, z, w2);
        z[j] = keep;
        for (int i = 0; i < 3; i++) assert_near((w2[i] - w1[i]) / (2 * eps), dense[i], 1e-8);
    }
    perp_formulas_destroy(f);
}

static void bad_formulas_are_told(void **state)
{
    (void)state;
    const char *const wrong[] = {"x1 +", "y + x1", "x1\nvar q", "x1 perp x1",
                                 "",     "x1 - t", "x1 - h",    "x1 - a\nparam a = 3"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        perp_formulas *f;
        perp_diag diag = {0};
        assert_int_equal(perp_formulas_create(1, &wrong[k], "test", &f, &diag), PERP_ERR_MODEL);
        assert_null(f);
        assert_true(perp_diag_text(&diag)[0] != 0);
        perp_diag_clear(&diag);
    }
}

static int one(void *context, const double *z, double *w)
{
    (void)z;
    *w = *(const double *)context;
    return 0;
}

static int zero_slope(void *context, const double *z, double *J)
{
    (void)context, (void)z;
    *J = 0;
    return 0;
}

/* F = 1 beside z = 1e20 is no solution, whatever rounds away; neither is an infinite F. */
static void what_is_no_solution_is_not_taken_for_one(void **state)
{
    (void)state;
    double value = 1, z = 1e20;
    perp_mcp p = {.n = 1, .F = one, .J = zero_slope, .context = &value};
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++, z = 1e20) {
        perp_mcp_info info = solve((perp_mcp_method)m, &p, &z);
        assert_true(info.outcome == PERP_SOLVED ? z <= 1e-9 : info.residual >= 1);
    }
    value = (double)INFINITY;
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
        z = 0;
        perp_mcp_info info = solve((perp_mcp_method)m, &p, &z);
        assert_true(info.outcome == PERP_LIMIT && isnan(info.residual));
    }
}

/* z^2 + 1 from 0.1, unbounded: auto gives back the best of the points that it tried. */
static int parabola(void *context, const double *z, double *w)
{
    (void)context;
    *w = *z * *z + 1;
    return 0;
}

static int parabola_slope(void *context, const double *z, double *J)
{
    (void)context;
    *J = 2 * *z;
    return 0;
}

static void auto_returns_its_best_point(void **state)
{
    (void)state;
    const double lo = -INFINITY;
    perp_mcp p = {.n = 1, .lo = &lo, .F = parabola, .J = parabola_slope};
    for (int k = 0; k < 20; k++) {
        double z = 0.1 + k, of_fb = z;
        perp_mcp_info first = solve(PERP_MCP_FB, &p, &of_fb), info = solve(PERP_MCP_AUTO, &p, &z);
        assert_int_equal(info.outcome, PERP_LIMIT);
        assert_true(info.residual <= first.residual);
        assert_near(info.residual, 1, 1e-6);
    }
}

static void another_pattern_is_refused(void **state)
{
    (void)state;
    const int start[] = {0, 1, 2}, row[] = {0, 1}, other[] = {1, 0}, outside[] = {0, 2};
    double z[2] = {0};
    perp_mcp p = {.n = 2, .F = cubes, .J = cubes_slope, .column_start = start, .row = row};
    perp_mcp_solver *solver;
    perp_status status = perp_mcp_solver_create(PERP_MCP_FB, &p, NULL, &solver);
    assert_int_equal(status, PERP_OK);
    p.row = other;
    assert_int_equal(perp_mcp_solve(solver, &p, z, NULL, NULL), PERP_ERR_DIM);
    p.row = outside;
    assert_int_equal(perp_mcp_solve(solver, &p, z, NULL, NULL), PERP_ERR_DIM);
    p.row = NULL;
    assert_int_equal(perp_mcp_solve(solver, &p, z, NULL, NULL), PERP_ERR_ARG);
    perp_mcp_solver_destroy(solver);
}

static int cubes_slope_entries(void *context, const double *z, double *values)
{
    (void)context;
    values[0] = 3 * z[0] * z[0], values[1] = values[2] = 1;
    return 0;
}

/* cubes with a pattern, for the method that has no sparse path: it makes J dense, without a sparse LU. */
static void josephy_takes_a_pattern(void **state)
{
    (void)state;
    const int start[] = {0, 1, 2, 3}, row[] = {0, 1, 2};
    const double lo[] = {-INFINITY, -1, -1}, hi[] = {INFINITY, 1, 1};
    perp_mcp dense = {.n = 3, .lo = lo, .hi = hi, .F = cubes, .J = cubes_slope}, sparse = dense;
    sparse.J = cubes_slope_entries, sparse.column_start = start, sparse.row = row;
    double x[3] = {1, 0, 0}, y[3] = {1, 0, 0};
    perp_mcp_info a = solve(PERP_MCP_JOSEPHY, &dense, x), b = solve(PERP_MCP_JOSEPHY, &sparse, y);
    assert_int_equal(a.outcome, PERP_SOLVED);
    assert_int_equal(b.iterations, a.iterations);
    assert_memory_equal(x, y, sizeof x);
}

/* An arrow, monotone: x_0^3 + 3 x_0 + x_1 + .. + x_5 - 10 and x_i^3 + 3 x_i - x_0 - i, all entries or those that are not zero. */
enum { ARROW = 6 };

static int arrow(void *context, const double *x, double *w)
{
    (void)context;
    for (int i = 0; i < ARROW; i++) w[i] = (x[i] * x[i] + 3) * x[i] - (i ? x[0] + i : 10);
    for (int i = 1; i < ARROW; i++) w[0] += x[i];
    return 0;
}

static int arrow_slope(void *context, const double *x, double *J)
{
    (void)context;
    memset(J, 0, ARROW * ARROW * sizeof *J);
    for (int i = 0; i < ARROW; i++)
        J[i] = -1, J[i * ARROW] = 1, J[i * ARROW + i] = 3 * x[i] * x[i] + 3;
    J[0] = 3 * x[0] * x[0] + 3;
    return 0;
}

static int arrow_entries(void *context, const double *x, double *J)
{
    (void)context;
    J[0] = 3 * x[0] * x[0] + 3;
    for (int i = 1; i < ARROW; i++) J[i] = -1, J[4 + 2 * i] = 1, J[5 + 2 * i] = 3 * x[i] * x[i] + 3;
    return 0;
}

/* Every iterate is that of the dense matrix. */
static void a_pattern_changes_no_iterate(void **state)
{
    (void)state;
    static const int start[] = {0, 6, 8, 10, 12, 14, 16},
                     row[] = {0, 1, 2, 3, 4, 5, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5};
    perp_mcp dense = {.n = ARROW, .F = arrow, .J = arrow_slope}, sparse = dense;
    sparse.J = arrow_entries, sparse.column_start = start, sparse.row = row;
    double x[ARROW] = {1, 1, 1, 1, 1, 1}, y[ARROW] = {1, 1, 1, 1, 1, 1};
    perp_mcp_info a = solve(PERP_MCP_JOSEPHY, &dense, x), b = solve(PERP_MCP_JOSEPHY, &sparse, y);
    assert_int_equal(a.outcome, PERP_SOLVED);
    assert_true(a.iterations > 2);
    assert_int_equal(b.iterations, a.iterations);
    assert_memory_equal(x, y, sizeof x);
}

static void patterns_are_checked(void **state)
{
    (void)state;
    const int start[] = {0, 1, 2}, row[] = {0, 2}, twice[] = {0, 2, 2}, same[] = {0, 0};
    perp_mcp p = {.n = 2, .F = cubes, .J = cubes_slope, .column_start = start, .row = row};
    perp_mcp_solver *solver;
    assert_int_equal(perp_mcp_solver_create(PERP_MCP_FB, &p, NULL, &solver), PERP_ERR_ARG);
    p.column_start = twice, p.row = same;
    assert_int_equal(perp_mcp_solver_create(PERP_MCP_FB, &p, NULL, &solver), PERP_ERR_ARG);
    p.row = NULL;
    assert_int_equal(perp_mcp_solver_create(PERP_MCP_FB, &p, NULL, &solver), PERP_ERR_ARG);
    assert_int_equal(perp_mcp_method_find("nosuch"), PERP_MCP_METHOD_COUNT);
    perp_mcp_solver_destroy(NULL);
}

/* F = a (z - 3) b in other units, from a start that is wrong by more than the size of F. */
static void a_small_function_is_not_zero(void **state)
{
    (void)state;
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
        for (int e = -30; e <= 30; e += 10) {
            char text[64];
            const char *formula = text;
            perp_formulas *formulas;
            perp_diag diag = {0};
            double z = 0;
            snprintf(text, sizeof text, "1e%d*(x1 - 3)", e);
            assert_int_equal(perp_formulas_create(1, &formula, "test", &formulas, &diag), PERP_OK);
            perp_mcp p = perp_formulas_mcp(formulas);
            perp_mcp_info info = solve((perp_mcp_method)m, &p, &z);
            if (info.outcome != PERP_SOLVED && m != PERP_MCP_FB) /* whose function mixes units */
                fail_msg("%s: 1e%d is not solved", perp_mcp_method_name((perp_mcp_method)m), e);
            if (info.outcome == PERP_SOLVED) assert_near(z, 3, 1e-8);
            perp_formulas_destroy(formulas);
            perp_diag_clear(&diag);
        }
    }
}

/* exp(y) = 0; and two rows whose sum is 0 = -2, which z = 1e17 hides. */
static void what_only_looks_like_zero_is_refused(void **state)
{
    (void)state;
    const char *const texts[][2] = {{"exp(x1)", "x2 - 1"}, {"2*x1 - 2*x2", "2*x2 - 2*x1 - 2"}};
    const double lo[] = {-INFINITY, -INFINITY};
    for (int k = 0; k < 2; k++) {
        perp_formulas *formulas;
        perp_diag diag = {0};
        assert_int_equal(perp_formulas_create(2, texts[k], "test", &formulas, &diag), PERP_OK);
        perp_mcp p = perp_formulas_mcp(formulas);
        p.lo = lo;
        for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
            double z[] = {-30, 1}, far[] = {1e17, 1e17};
            assert_int_equal(solve((perp_mcp_method)m, &p, z).outcome, PERP_LIMIT);
            assert_int_equal(solve((perp_mcp_method)m, &p, far).outcome, PERP_LIMIT);
        }
        perp_formulas_destroy(formulas);
        perp_diag_clear(&diag);
    }
}

/* x1 - x2 = c, twice: all along a line, which doubles decide where c is a whole number, and x1 and x2 are; for c = 0.1 until the sums of two terms
 * and of what was subtracted exceed tol of it. */
static void a_row_is_decided_as_far_as_its_sums_are(void **state)
{
    (void)state;
    const char *const texts[][2] = {{"x1 - x2 - 1", "x2 - x1 + 1"},
                                    {"x1 - x2 - 0.1", "x2 - x1 + 0.1"}};
    const double lo[] = {-INFINITY, -INFINITY};
    for (int k = 0; k < 2; k++) {
        perp_formulas *formulas;
        assert_int_equal(perp_formulas_create(2, texts[k], "test", &formulas, NULL), PERP_OK);
        perp_mcp p = perp_formulas_mcp(formulas);
        p.lo = lo;
        for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
            double c = k ? 0.1 : 1, x = k ? 2e4 : 9e15, here[] = {x + c, x}, far[] = {2e16, 2e16};
            assert_int_equal(solve((perp_mcp_method)m, &p, here).outcome, PERP_SOLVED);
            assert_near(here[0], x + c, 0);
            double beyond[] = {1e7 + c, 1e7};
            double *z = k ? beyond : far;
            perp_mcp_info info = solve((perp_mcp_method)m, &p, z);
            if (info.outcome == PERP_SOLVED) /* from another start */
                assert_near(z[0] - z[1], c, 1e-9 * c);
            else
                assert_true(info.error > 1e-9);
        }
        perp_formulas_destroy(formulas);
    }
}

/* A string without weight over a bump, clamped at 0: where it does not touch its rows are 0 = 2 z_i - z_{i-1} - z_{i+1}, whose data are the bump's
 * alone, by way of the other rows. */
enum { STRING = 63 };

static int string_force(void *context, const double *z, double *w)
{
    (void)context;
    for (int i = 0; i < STRING; i++)
        w[i] = 2 * z[i] - (i > 0 ? z[i - 1] : 0) - (i < STRING - 1 ? z[i + 1] : 0);
    return 0;
}

static int string_slope(void *context, const double *z, double *values)
{
    (void)context, (void)z;
    for (int j = 0, e = 0; j < STRING; j++)
        for (int i = j - 1; i <= j + 1; i++)
            if (i >= 0 && i < STRING) values[e++] = i == j ? 2 : -1;
    return 0;
}

static void rounding_is_no_datum(void **state)
{
    (void)state;
    int start[STRING + 1] = {0}, row[3 * STRING];
    double lo[STRING], hi[STRING], z[STRING];
    for (int j = 0; j < STRING; j++) {
        double x = (j + 1.0) / (STRING + 1);
        start[j + 1] = start[j];
        for (int i = j - 1; i <= j + 1; i++)
            if (i >= 0 && i < STRING) row[start[j + 1]++] = i;
        lo[j] = 0.2 - 4 * (x - 0.5) * (x - 0.5), hi[j] = (double)INFINITY;
    }
    const perp_mcp p = {.n = STRING,
                        .lo = lo,
                        .hi = hi,
                        .F = string_force,
                        .J = string_slope,
                        .column_start = start,
                        .row = row};
    static const perp_mcp_method method[] = {PERP_MCP_FB, PERP_MCP_MIN, PERP_MCP_AUTO};
    for (int m = 0; m < 3; m++) {
        perp_mcp_solver *solver;
        perp_status status = perp_mcp_solver_create(method[m], &p, NULL, &solver);
        assert_int_equal(status, PERP_OK);
        perp_mcp_solver_destroy(solver);
        memset(z, 0, sizeof z);
        perp_mcp_info info = solve(method[m], &p, z);
        if (info.outcome != PERP_SOLVED)
            fail_msg("%s: error %g, residual %g", perp_mcp_method_name(method[m]), info.error,
                     info.residual);
        for (int i = 1; i < STRING - 1; i++) { /* straight, or on the bump */
            double bend = 2 * z[i] - z[i - 1] - z[i + 1];
            assert_true(z[i] >= lo[i] && bend >= -1e-12);
            assert_true(z[i] == lo[i] || bend <= 1e-12);
        }
    }
}

static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Rows from and to here, of three, in this order; dense, without bounds of their rounding. */
static const int *order;

static int no_solution(void *context, const double *z, double *w)
{
    (void)context;
    const double rows[] = {z[0] - z[1], z[1] - 2 - z[0], z[2] - z[0] - 1e12};
    for (int i = 0; i < 3; i++) w[i] = rows[order[i]];
    return 0;
}

static int no_solution_slope(void *context, const double *z, double *J)
{
    (void)context, (void)z;
    static const double rows[][3] = {{1, -1, 0}, {-1, 1, 0}, {-1, 0, 1}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) J[i + 3 * j] = rows[order[i]][j];
    return 0;
}

static void is_never_solved(const perp_mcp *p, int k)
{
    static const double starts[] = {1e3,  1e9,  1e12, 1e13, 3e13, 1e14, 1e15,  9e15,
                                    2e16, 1e17, 1e18, 1e20, 1e25, 1e30, -2e16, -1e19};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
            for (int shifted = 0; shifted < 2; shifted++) {
                double z[] = {starts[s], starts[s], starts[s] + shifted * 1e12};
                perp_mcp_info info = solve((perp_mcp_method)m, p, z);
                if (info.outcome == PERP_SOLVED)
                    fail_msg("%s, order %d, from %g: solved at %g %g %g, error %g",
                             perp_mcp_method_name((perp_mcp_method)m), k, starts[s], z[0], z[1],
                             z[2], info.error);
            }
        }
    }
}

/* x1 - x2 = 0 and x2 - x1 = 2, which no point fulfils, beside x3 - x1 = 1e12, in any order: neither where x1 = x2 is so large that F itself is 0
 * nor where 2 is nothing beside 1e12. The same with terms that bend rows a little. */
static void data_of_others_do_not_stand_for_what_is_lost(void **state)
{
    (void)state;
    const char *const rows[][3] = {
        {"x1 - x2", "x2 - 2 - x1", "x3 - x1 - 1e12"},
        {"3*x1 - 3*x2", "x2/7 - 2 - x1/7", "x3 - x1 - 1e12"},
        {"x1 - x2", "x2 - 2 - x1 + 1/(1 + (x1 - 1)^2)", "x3 - x1 - 1e12 + sin(x2)"},
        {"(x1 - 2e16) - (x2 - 2e16)", "(x2 - 2e16) - (x1 - 2e16 + 4)", "x3 - x1 - 1e12"}};
    const double lo[] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < 6; k++) {
        for (size_t of = 0; of < sizeof rows / sizeof *rows; of++) {
            const char *texts[3];
            perp_formulas *formulas;
            for (int i = 0; i < 3; i++) texts[i] = rows[of][orders[k][i]];
            assert_int_equal(perp_formulas_create(3, texts, "test", &formulas, NULL), PERP_OK);
            perp_mcp p = perp_formulas_mcp(formulas);
            p.lo = lo;
            is_never_solved(&p, k);
            p.rounding = NULL;
            if (of < 2) is_never_solved(&p, k); /* J says all */
            perp_formulas_destroy(formulas);
        }
        order = orders[k];
        const perp_mcp dense = {.n = 3, .lo = lo, .F = no_solution, .J = no_solution_slope};
        is_never_solved(&dense, k);
    }
}

/* What is large by its data is solved, in any order of the rows; to the last digits. */
static void large_numbers_that_data_make_are_solved(void **state)
{
    (void)state;
    static const struct {
        const char *rows[3];
        double z[3];
    } of[] = {{{"x1 - 1e16", "x2 - x1 - 2", "x3 - x2 - 2"}, {1e16, 1e16 + 2, 1e16 + 4}},
              {{"x1 - 1e12", "x2 - x1 - 1e-3", "x3 - x2 - 1e-3"}, {1e12, 1e12 + 1e-3, 1e12 + 2e-3}},
              {{"x1 - 1e9", "x2 - x1 - 1e-3", "x3 - 7*x2 + 7*x1"}, {1e9, 1e9 + 1e-3, 7e-3}},
              {{"x1/3 - 1e20", "x2 - 2*x1", "x3*1e-20 - x2*1e-20 - 1"}, {3e20, 6e20, 7e20}},
              {{"x1^3 - 1e30", "x2^2 - x1^2", "x3 - x2 - 1"}, {1e10, 1e10, 1e10 + 1}},
              {{"exp(x1) - 1e200", "x2 - 1e300*x1", "x3 - x2 - 1"},
               {460.51701859880914, 4.6051701859880914e302, 4.6051701859880914e302}}};
    const double lo[] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        for (int k = 0; k < 6; k++) {
            const char *texts[3];
            perp_formulas *formulas;
            for (int r = 0; r < 3; r++) texts[r] = of[i].rows[orders[k][r]];
            assert_int_equal(perp_formulas_create(3, texts, "test", &formulas, NULL), PERP_OK);
            perp_mcp p = perp_formulas_mcp(formulas);
            p.lo = lo;
            for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
                double z[3];
                memcpy(z, of[i].z, sizeof z);
                perp_mcp_info info = solve((perp_mcp_method)m, &p, z);
                if (info.outcome != PERP_SOLVED)
                    fail_msg("%s, problem %zu, order %d: error %g",
                             perp_mcp_method_name((perp_mcp_method)m), i, k, info.error);
                for (int j = 0; j < 3; j++)
                    assert_near(z[j] / of[i].z[j], 1, i == 2 ? 1e-3 : 1e-12);
            }
            perp_formulas_destroy(formulas);
        }
    }
}

/* Free along a line: its points are solutions where doubles say so. */
static void a_free_line_is_solved_where_it_is_exact(void **state)
{
    (void)state;
    const char *const texts[] = {"x1 - x2", "x2 - x1", "x3 - x1 - 1e12"};
    const double lo[] = {-INFINITY, -INFINITY, -INFINITY};
    perp_formulas *formulas;
    assert_int_equal(perp_formulas_create(3, texts, "test", &formulas, NULL), PERP_OK);
    perp_mcp p = perp_formulas_mcp(formulas);
    p.lo = lo;
    for (double x = 1e3; x < 1e20; x *= 10) {
        double z[] = {x, x, x + 1e12};
        assert_int_equal(solve(PERP_MCP_MIN, &p, z).outcome, PERP_SOLVED);
    }
    perp_formulas_destroy(formulas);
}

/* Functions without a zero that are 0 in doubles: by their own rounding, which no entry of J shows. */
static void what_a_function_hides_is_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"x1 - sqrt(1 + x1^2)", "x1^2 - (x1 + 1)*(x1 - 1)",
                                 "(x1 + 3) - (x1 + 2)", "tanh(x1) - 1"};
    const double lo[] = {-INFINITY};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        perp_formulas *formulas;
        assert_int_equal(perp_formulas_create(1, &texts[i], "test", &formulas, NULL), PERP_OK);
        perp_mcp p = perp_formulas_mcp(formulas);
        p.lo = lo;
        for (double x = 10; x < 1e30; x *= 100) {
            for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
                double z[] = {x};
                perp_mcp_info info = solve((perp_mcp_method)m, &p, z);
                if (info.outcome == PERP_SOLVED)
                    fail_msg("%s: %s is 0 at %g", perp_mcp_method_name((perp_mcp_method)m),
                             texts[i], z[0]);
            }
        }
        perp_formulas_destroy(formulas);
    }
}

/* Systems A z = b of integers with a row that is a combination of others, its datum off by more than the tolerance of all data, in any
 * order, from near and far: no method solves one. */
enum { DRAWN = 4 };

static double drawn_A[DRAWN][DRAWN], drawn_b[DRAWN];

static int drawn(void *context, const double *z, double *w)
{
    (void)context;
    for (int i = 0; i < DRAWN; i++) {
        w[i] = -drawn_b[i];
        for (int j = 0; j < DRAWN; j++) w[i] += drawn_A[i][j] * z[j];
    }
    return 0;
}

static int drawn_slope(void *context, const double *z, double *J)
{
    (void)context, (void)z;
    for (int i = 0; i < DRAWN; i++)
        for (int j = 0; j < DRAWN; j++) J[i + DRAWN * j] = drawn_A[i][j];
    return 0;
}

static unsigned draw(uint64_t *rng, unsigned n)
{
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*rng >> 33) % n;
}

/* 0: by chance nothing is off. */
static int draw_system(uint64_t *rng)
{
    static const double data[] = {0, 0, 1, 2, 0.5, 1e3, 1e9, 1e12, -1e12, 1e15};
    int k = (int)draw(rng, DRAWN), c[DRAWN];
    double sum = 0, size = 0;
    for (int i = 0; i < DRAWN; i++) {
        drawn_b[i] = data[draw(rng, (unsigned)(sizeof data / sizeof *data))];
        c[i] = i == k ? 0 : (int)draw(rng, 5) - 2;
        for (int j = 0; j < DRAWN; j++) drawn_A[i][j] = (double)draw(rng, 7) - 3;
    }
    for (int j = 0; j < DRAWN; j++) {
        drawn_A[k][j] = 0;
        for (int i = 0; i < DRAWN; i++) drawn_A[k][j] += c[i] * drawn_A[i][j];
    }
    for (int i = 0; i < DRAWN; i++) sum += c[i] * drawn_b[i], size += fabs(c[i] * drawn_b[i]);
    if (draw(rng, 2)) drawn_b[k] = sum + (draw(rng, 2) ? 2 : 1e-3);
    return fabs(sum - drawn_b[k]) > 3e-9 * (size + fabs(drawn_b[k]));
}

static void what_contradicts_itself_is_never_solved(void **state)
{
    (void)state;
    static const double from[] = {0, 1, 1e9, 1e13, 1e16, 2e16, 1e20};
    double lo[DRAWN];
    uint64_t rng = 19;
    int many = 0;
    for (int j = 0; j < DRAWN; j++) lo[j] = -INFINITY;
    const perp_mcp p = {.n = DRAWN, .lo = lo, .F = drawn, .J = drawn_slope};
    for (int k = 0; k < 600; k++) {
        if (!draw_system(&rng)) continue;
        many++;
        for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
            double z[DRAWN], start = from[k % 7];
            for (int j = 0; j < DRAWN; j++) z[j] = start * (double)(draw(&rng, 3) + 1);
            perp_mcp_info info = solve((perp_mcp_method)m, &p, z);
            if (info.outcome == PERP_SOLVED)
                fail_msg("%s, system %d: solved at %g %g %g %g, error %g",
                         perp_mcp_method_name((perp_mcp_method)m), k, z[0], z[1], z[2], z[3],
                         info.error);
        }
    }
    assert_true(many > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kojima_and_shindo_is_solved_from_many_points),
        cmocka_unit_test(a_sparse_obstacle_problem_is_solved),
        cmocka_unit_test(all_kinds_of_bounds_are_met),
        cmocka_unit_test(one_step_of_min_solves_a_linear_problem),
        cmocka_unit_test(a_function_may_be_undefined_somewhere),
        cmocka_unit_test(formulas_have_exact_derivatives),
        cmocka_unit_test(bad_formulas_are_told),
        cmocka_unit_test(what_is_no_solution_is_not_taken_for_one),
        cmocka_unit_test(auto_returns_its_best_point),
        cmocka_unit_test(another_pattern_is_refused),
        cmocka_unit_test(josephy_takes_a_pattern),
        cmocka_unit_test(a_pattern_changes_no_iterate),
        cmocka_unit_test(patterns_are_checked),
        cmocka_unit_test(a_small_function_is_not_zero),
        cmocka_unit_test(what_only_looks_like_zero_is_refused),
        cmocka_unit_test(a_row_is_decided_as_far_as_its_sums_are),
        cmocka_unit_test(rounding_is_no_datum),
        cmocka_unit_test(data_of_others_do_not_stand_for_what_is_lost),
        cmocka_unit_test(large_numbers_that_data_make_are_solved),
        cmocka_unit_test(a_free_line_is_solved_where_it_is_exact),
        cmocka_unit_test(what_a_function_hides_is_refused),
        cmocka_unit_test(what_contradicts_itself_is_never_solved),
    };
    return run_all(tests);
}
