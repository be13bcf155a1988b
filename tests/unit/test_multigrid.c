/* Multigrid: systems of diffusion take as many steps whatever their size, and obstacle problems with them. */

#include "unit.h"

#include "linalg/multigrid.h"
#include "perp/mcp.h"

/* The Laplacian on m x m points by rows (and columns), with `wind` from the left. */
typedef struct grid {
    int m, n, *start, *index;
    double *value, *load, *lo, *hi, cubic;
} grid;

static grid make_grid(int m, double wind)
{
    grid g = {.m = m, .n = m * m};
    size_t n = (size_t)g.n;
    int entries = 0;
    g.start = calloc(n + 1, sizeof(int)), g.index = calloc(5 * n, sizeof(int));
    g.value = calloc(5 * n, sizeof(double)), g.load = calloc(3 * n, sizeof(double));
    g.lo = g.load + n, g.hi = g.lo + n;
    for (int k = 0; k < g.n; k++) {
        const int by[] = {-m, -1, 0, 1, m}, x = k % m;
        const double c[] = {-1, -1 + wind, 4, -1 - wind, -1};
        for (int d = 0; d < 5; d++) {
            int j = k + by[d];
            if (j < 0 || j >= g.n || (d == 1 && x == 0) || (d == 3 && x == m - 1)) continue;
            g.index[entries] = j, g.value[entries++] = c[d];
        }
        g.start[k + 1] = entries;
        g.hi[k] = (double)INFINITY;
    }
    return g;
}

static void free_grid(grid *g)
{
    free(g->start);
    free(g->index);
    free(g->value);
    free(g->load);
}

/* By columns, whose values are those of make_grid. */
static int function_at(void *context, const double *z, double *w)
{
    const grid *g = context;
    for (int i = 0; i < g->n; i++) w[i] = g->load[i] + g->cubic * z[i] * z[i] * z[i];
    for (int j = 0; j < g->n; j++)
        for (int e = g->start[j]; e < g->start[j + 1]; e++) w[g->index[e]] += g->value[e] * z[j];
    return 0;
}

static int derivative_at(void *context, const double *z, double *values)
{
    const grid *g = context;
    for (int j = 0; j < g->n; j++)
        for (int e = g->start[j]; e < g->start[j + 1]; e++)
            values[e] = g->value[e] + (g->index[e] == j ? 3 * g->cubic * z[j] * z[j] : 0);
    return 0;
}

static perp_mcp problem_of(grid *g)
{
    return (perp_mcp){g->n, g->lo, g->hi, function_at, derivative_at, g, g->start, g->index, NULL};
}

static perp_mcp_info solve(perp_mcp_method method, grid *g, double *z)
{
    perp_mcp p = problem_of(g);
    perp_mcp_solver *solver;
    perp_mcp_info info = {.size = sizeof info};
    perp_status status = perp_mcp_solver_create(method, &p, NULL, &solver);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("no sparse LU in this build");
    assert_int_equal(status, PERP_OK);
    assert_int_equal(perp_mcp_solve(solver, &p, z, NULL, &info), PERP_OK);
    perp_mcp_solver_destroy(solver);
    return info;
}

static void systems_take_as_many_steps_whatever_their_size(void **state)
{
    (void)state;
    static const int sizes[] = {20, 80, 320};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        grid g = make_grid(sizes[k], 0);
        perp__row_matrix A = {g.n, g.n, g.start, g.index, g.value};
        double *x = calloc((size_t)g.n, sizeof *x), worst = 0;
        for (int i = 0; i < g.n; i++) g.load[i] = sin(i) + 0.1;
        perp__multigrid *m = perp__multigrid_create(&A);
        assert_non_null(m);
        int steps = perp__multigrid_solve(m, g.load, x, 1e-10, 100);
        if (steps < 2 || steps > 22) fail_msg("%d: %d steps", sizes[k], steps);
        perp__rows_add(&A, -1, x, g.load, g.lo);
        for (int i = 0; i < g.n; i++) worst = fmax(worst, fabs(g.lo[i]));
        assert_true(worst <= 1e-8);
        perp__multigrid_destroy(m);
        free(x);
        free_grid(&g);
    }
}

static void what_is_not_definite_is_told(void **state)
{
    (void)state;
    grid g = make_grid(30, 0);
    perp__row_matrix A = {g.n, g.n, g.start, g.index, g.value};
    double x[900];
    for (int e = 0; e < g.start[g.n]; e++)
        if (g.value[e] > 0) g.value[e] = 3.5;
    for (int i = 0; i < g.n; i++) g.load[i] = 1;
    perp__multigrid *m = perp__multigrid_create(&A);
    assert_non_null(m);
    assert_int_equal(perp__multigrid_solve(m, g.load, x, 1e-10, 100), -1);
    perp__multigrid_destroy(m);
    free_grid(&g);
}

/* A membrane between two obstacles, the lower one a cap, the upper one a lid. */
static void put_obstacles(grid *g, double load)
{
    double h = 1.0 / (g->m + 1);
    for (int k = 0; k < g->n; k++) {
        double x = (k % g->m + 1) * h - 0.4, y = (double)(k / g->m + 1) * h - 0.5;
        g->load[k] = -load * h * h;
        g->lo[k] = fmax(-0.1, 0.3 - 3 * (x * x + y * y));
        g->hi[k] = 0.32;
    }
}

static int count_touching(const grid *g, const double *z)
{
    int n = 0;
    for (int i = 0; i < g->n; i++) n += z[i] <= g->lo[i] || z[i] >= g->hi[i];
    return n;
}

static void obstacles_are_met_as_by_min(void **state)
{
    (void)state;
    static const double loads[] = {-40, -3, 0.5, 25};
    for (int k = 0; k < 12; k++) {
        grid g = make_grid(41, k / 4 == 1 ? 0.2 : 0); /* with wind J is not symmetric: as min */
        double *z = calloc(2 * (size_t)g.n, sizeof *z), *other = z + g.n;
        put_obstacles(&g, loads[k % 4]);
        g.cubic = k / 4 == 2 ? 0.01 : 0;
        perp_mcp_info info = solve(PERP_MCP_MULTIGRID, &g, z);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_int_equal(info.method, PERP_MCP_MULTIGRID);
        assert_int_equal(solve(PERP_MCP_MIN, &g, other).outcome, PERP_SOLVED);
        for (int i = 0; i < g.n; i++) assert_near(z[i], other[i], 1e-9);
        int touching = count_touching(&g, z);
        assert_true(touching > 10 && touching < g.n);
        free(z);
        free_grid(&g);
    }
}

/* The sides come from coarse levels: a few steps on each, whatever the size. */
static void sides_take_few_steps(void **state)
{
    (void)state;
    static const int sizes[] = {50, 150, 450};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        grid g = make_grid(sizes[k], 0);
        double *z = calloc((size_t)g.n, sizeof *z);
        put_obstacles(&g, -20);
        perp_mcp_info info = solve(PERP_MCP_MULTIGRID, &g, z);
        assert_int_equal(info.outcome, PERP_SOLVED);
        if (info.iterations > 25) fail_msg("%d: %d steps", sizes[k], info.iterations);
        free(z);
        free_grid(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_take_as_many_steps_whatever_their_size),
        cmocka_unit_test(what_is_not_definite_is_told),
        cmocka_unit_test(obstacles_are_met_as_by_min),
        cmocka_unit_test(sides_take_few_steps),
    };
    return run_all(tests);
}
