/* Programs without a point or without an end: what is proved of them, which conditions contradict each other, the ray. */

#include "external/lp.h"
#include "unit.h"

#include "program/intervals.h"
#include "program/program_state.h"

/* Marks as digits: "101". */
static void check_marks(const unsigned char *mark, const char *expected, const char *what)
{
    assert_non_null(mark);
    for (size_t i = 0; expected[i]; i++)
        if (mark[i] != expected[i] - '0') fail_msg("%s: mark %zu is %d", what, i + 1, mark[i]);
}

static const double inf = (double)INFINITY;

typedef struct conflict {
    const char *rows[3];
    double row_lo[3], row_hi[3], lo[3], hi[3];
    const char *in_rows, *in_bounds; /* NULL: it is not infeasible */
} conflict;

static void conditions_that_contradict_each_other_are_named(void **state)
{
    (void)state;
    const double i = inf;
    const conflict cases[] = {
        /* linear rows and bounds */
        {{"x1 + x2", "x3", "x3 - x1"}, {3, 0, -9}, {i, 1, 9}, {0, 0, 0}, {1, 1, 1}, "100", "110"},
        {{"x1 + x2 + x3", "x1 + x2", "x3"},
         {5, -i, -i},
         {i, 2, 2},
         {0, 0, 0},
         {i, i, i},
         "111",
         "000"},
        /* rows that are nowhere what they have to be */
        {{"x1^2 + x2^2 + 1", "x3", "x1"},
         {-i, 0, -1},
         {0, 1, 1},
         {-i, -i, -i},
         {i, i, i},
         "100",
         "000"},
        {{"x3", "x1^2 + x2^2", "x1"}, {0, 3, -1}, {1, i, 1}, {0, 0, -i}, {1, 1, i}, "010", "110"},
        {{"exp(x1) + x2", "x3", "x1"},
         {-i, 0, -1},
         {0.5, 1, i},
         {0, 0, -i},
         {i, i, i},
         "100",
         "110"},
        {{"x1*x2", "x3", "x1"}, {-i, 0, 0}, {3, 1, i}, {2, 2, 0}, {i, i, i}, "100", "110"},
        {{"sin(x1) + cos(x2)", "x3", "x1"},
         {2.5, 0, -1},
         {i, 1, i},
         {-i, -i, 0},
         {i, i, i},
         "100",
         "000"},
        /* with bounds that follow from a row */
        {{"x1 + x2", "x1^2 + x2^2", "x3"},
         {1, 5, 0},
         {1, i, 1},
         {0, 0, -i},
         {i, i, i},
         "010",
         "110"},
        /* and such as only just have a point */
        {{"x1^2 + x2^2", "x3", "x1"}, {2, 0, 0}, {i, 1, i}, {0, 0, -i}, {1, 1, i}, NULL, NULL},
        {{"x1^2 + x2^2", "x3", "x1"}, {-i, 0, 0}, {0, 1, i}, {0, 0, -i}, {1, 1, i}, NULL, NULL},
        {{"x1/x2", "x3", "x1"}, {0.5, 0, 0}, {0.5, 1, i}, {1, 2, -i}, {3, 6, i}, NULL, NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const conflict *c = &cases[k];
        perp_program_formulas f = {.variables = 3,
                                   .lo = c->lo,
                                   .hi = c->hi,
                                   .objective = "x1^2 + x2 + x3^2",
                                   .rows = 3,
                                   .row = c->rows,
                                   .row_lo = c->row_lo,
                                   .row_hi = c->row_hi};
        perp_program *program;
        perp_program_result r = {.size = sizeof r};
        perp_program_options o = perp_program_options_default();
        o.restarts = 0;
        assert_int_equal(perp_program_create(&f, "conflict", &program, NULL), PERP_OK);
        assert_null(perp_program_conflicting_rows(program));
        assert_int_equal(perp_program_solve(program, &o, &r, NULL), PERP_OK);
        if ((r.outcome == PERP_PLAN_INFEASIBLE) != (c->in_rows != NULL))
            fail_msg("%zu: %s", k, perp_plan_outcome_name(r.outcome));
        if (c->in_rows) {
            check_marks(perp_program_conflicting_rows(program), c->in_rows, c->rows[0]);
            check_marks(perp_program_conflicting_bounds(program), c->in_bounds, c->rows[0]);
        } else {
            assert_null(perp_program_conflicting_rows(program));
            assert_null(perp_program_conflicting_bounds(program));
        }
        assert_null(perp_program_ray(program));
        perp_program_destroy(program);
    }
}

static double f0(double x, double y)
{
    return pow(x, 3) - x * x * y;
}
static double f1(double x, double y)
{
    return exp(x) * sin(y) + tanh(x * y);
}
static double f2(double x, double y)
{
    return sqrt(x + 3) * log(y + 4) - atan(x - y);
}
static double f3(double x, double y)
{
    return pow(x + 2.5, 1.7) / (y + 3.5) - fabs(x);
}
static double f4(double x, double y)
{
    return pow(x, -2) + fmax(x, y) * fmin(x, 0.3) + cosh(y);
}
static double f5(double x, double y)
{
    return pow(y - 4, 5) - 1 / (x - 4) + sinh(x) + pow(2, y);
}

static double between(double lo, double hi)
{
    static unsigned draw = 1;
    draw = draw * 1664525u + 1013904223u;
    return lo + (hi - lo) * (double)(draw >> 8) / (1 << 24);
}

/* An objective that draws the search to where rounding hides the constants of rows that contradict each other: they held at 2e17 and 1e15. */
static void constants_that_rounding_hides_are_proved_to_contradict(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"x2 + x3 - x1 + 0.5", "2*x1 - 2*x2 - 2*x3 - 3", "x2 - 2*x1 + 2*x3"},
        {"3*x1 + x2 + 4", "3*x1 + x2 + 2", "x3"}};
    const double lo[][3] = {{0, -inf, -inf}, {-inf, -inf, 0}}, hi[] = {0, inf, inf},
                 none[] = {0, 0, 0};
    if (!perp__lp_available()) skip();
    for (int k = 0; k < 2; k++) {
        perp_program_formulas f = {.variables = 3,
                                   .lo = lo[k],
                                   .objective = "exp(-x1) + x2",
                                   .rows = 3,
                                   .row = rows[k],
                                   .row_lo = none,
                                   .row_hi = k ? none : hi};
        perp_program *p;
        perp_program_result r = {.size = sizeof r};
        assert_int_equal(perp_program_create(&f, "far", &p, NULL), PERP_OK);
        assert_int_equal(perp_program_solve(p, NULL, &r, NULL), PERP_OK);
        if (r.outcome != PERP_PLAN_INFEASIBLE)
            fail_msg("program %d: %s at %g %g %g", k, perp_program_word(p, &r),
                     perp_program_point(p)[0], perp_program_point(p)[1], perp_program_point(p)[2]);
        check_marks(perp_program_conflicting_rows(p), "110", "rows");
        perp_program_destroy(p);
    }
}

/* What a row is at points of a box lies in its interval, and that is not everything where the row is defined in all of the box. */
static void values_lie_in_their_intervals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double (*f)(double, double);
    } rows[] = {{"x1^3 - x1*x1*x2", f0},
                {"exp(x1)*sin(x2) + tanh(x1*x2)", f1},
                {"sqrt(x1 + 3)*log(x2 + 4) - atan(x1 - x2)", f2},
                {"(x1 + 2.5)^1.7/(x2 + 3.5) - abs(x1)", f3},
                {"x1^(-2) + max(x1, x2)*min(x1, 0.3) + cosh(x2)", f4},
                {"(x2 - 4)^5 - 1/(x1 - 4) + sinh(x1) + 2^x2", f5}};
    enum { ROWS = sizeof rows / sizeof *rows };
    for (int k = 0; k < ROWS; k++) {
        perp_status status;
        perp_program_formulas f = {.variables = 2, .rows = 1, .row = &rows[k].text};
        perp__nl *nl = perp__nl_of_formulas(&f, "row", &status, NULL);
        assert_non_null(nl);
        perp__interval *all = calloc((size_t)nl->graph.count, sizeof *all);
        int is_bounded = 0;
        for (int box = 0; box < 200; box++) {
            double lo[2], hi[2];
            for (int j = 0; j < 2; j++) lo[j] = between(-2, 1), hi[j] = between(lo[j], 2);
            perp__intervals_of_nodes(nl, lo, hi, all);
            perp__interval row = perp__interval_of_row(nl, 0, lo, hi, all);
            is_bounded += isfinite(row.lo) && isfinite(row.hi);
            for (int t = 0; t < 40; t++) { /* corners, too */
                double x = t == 0   ? lo[0]
                           : t == 1 ? hi[0]
                                    : between(lo[0], hi[0]),
                       y = t == 0   ? lo[1]
                           : t == 1 ? hi[1]
                                    : between(lo[1], hi[1]),
                       value = rows[k].f(x, y);
                if (!(value >= row.lo && value <= row.hi))
                    fail_msg("%s is %.17g at %.17g, %.17g, not in %.17g .. %.17g", rows[k].text,
                             value, x, y, row.lo, row.hi);
            }
        }
        assert_true(is_bounded > 60);
        free(all);
        perp__nl_destroy(nl);
    }
}

static void a_program_without_end_has_a_ray(void **state)
{
    (void)state;
    const double lo[] = {0, 0}, row_hi[] = {1};
    const char *const row[] = {"x1 - x2"};
    perp_program_formulas f = {.variables = 2,
                               .lo = lo,
                               .objective = "x1 + x2",
                               .maximise = 1,
                               .rows = 1,
                               .row = row,
                               .row_hi = row_hi};
    perp_program *program;
    perp_program_result r = {.size = sizeof r};
    assert_int_equal(perp_program_create(&f, "ray", &program, NULL), PERP_OK);
    assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
    assert_true(r.is_unbounded);
    const double *ray = perp_program_ray(program);
    assert_non_null(ray);
    assert_true(ray[0] >= 0 && ray[1] >= 0 && ray[0] <= ray[1] && ray[0] + ray[1] > 0);
    assert_null(perp_program_conflicting_rows(program));
    perp_program_destroy(program);
}

/* x2 stands in no row: of that Clp knows no ray. Rows that contradict each other are told where Clp found a ray before it looked at them. */
static void what_falls_beside_the_rows_hides_nothing(void **state)
{
    (void)state;
    const double lo[] = {-inf, -inf}, row_lo[] = {1, -inf}, row_hi[] = {inf, 0.999};
    const char *const row[] = {"x1", "x1"};
    for (int rows = 1; rows <= 2; rows++) {
        for (int k = 0; k < 2; k++) {
            perp_program_formulas f = {.variables = 2,
                                       .lo = lo,
                                       .objective = k ? "x1 + x2" : "2*x2",
                                       .maximise = k,
                                       .rows = rows,
                                       .row = row,
                                       .row_lo = row_lo,
                                       .row_hi = row_hi};
            perp_program *program;
            perp_program_result r = {.size = sizeof r};
            assert_int_equal(perp_program_create(&f, "beside", &program, NULL), PERP_OK);
            assert_int_equal(perp_program_solve(program, NULL, &r, NULL), PERP_OK);
            assert_int_equal(r.is_unbounded, rows == 1);
            assert_int_equal(r.outcome == PERP_PLAN_INFEASIBLE, rows == 2);
            if (rows == 1) assert_true(perp_program_ray(program)[1] * (k ? 1 : -1) > 0);
            perp_program_destroy(program);
        }
    }
}

/* Clp keeps rows to 1e-7: what contradicts itself by less was global, or unbounded where something falls beside it. */
static void rows_that_nearly_agree_are_proved_to_contradict(void **state)
{
    (void)state;
    const double off[] = {2e-3, 2e-7, 2e-8, 2e-9, 0}, lo[] = {-inf, -inf};
    const char *const row[] = {"3*x1", "3*x1 - 0.5"};
    if (!perp__lp_available()) skip();
    for (int k = 0; k < 5; k++) {
        for (int way = 0; way < 3; way++) {
            const int is_bounded = way > 0;
            const double row_lo[] = {-inf, off[k]}, row_hi[] = {0.5, inf};
            perp_program_formulas f = {.variables = 2,
                                       .lo = lo,
                                       .objective = is_bounded ? "x1" : "x1 + x2",
                                       .rows = 2,
                                       .row = row,
                                       .row_lo = row_lo,
                                       .row_hi = row_hi};
            perp_program *p;
            perp_program_result r = {.size = sizeof r};
            perp_program_options o = perp_program_options_default();
            o.global = way == 2;
            assert_int_equal(perp_program_create(&f, "near", &p, NULL), PERP_OK);
            assert_int_equal(perp_program_solve(p, &o, &r, NULL), PERP_OK);
            if ((r.outcome == PERP_PLAN_INFEASIBLE) != (off[k] > 0))
                fail_msg("%g: %s", off[k], perp_program_word(p, &r));
            assert_int_equal(r.is_unbounded, off[k] == 0 && !is_bounded);
            if (off[k] > 0) check_marks(perp_program_conflicting_rows(p), "11", "rows");
            perp_program_destroy(p);
        }
    }
}

/* Many vertices on the way: one that takes too long says so, and claims nothing. */
static void a_linear_program_is_cut(void **state)
{
    (void)state;
    enum { N = 8 };
    int start[N + 1], index[N * N];
    double value[N * N], lo[N] = {0}, hi[N], cost[N], row_lo[N], row_hi[N], x[N] = {0};
    for (int j = 0; j < N; j++) {
        start[j + 1] = (j + 1) * N;
        hi[j] = row_hi[j] = 100 + j;
        cost[j] = -1 - 0.1 * j;
        row_lo[j] = -1e30;
        for (int i = 0; i < N; i++) {
            index[j * N + i] = i;
            value[j * N + i] = i == j ? 3 : 1.0 / (1 + i + 2 * j);
        }
    }
    start[0] = 0;
    perp__lp lp = {.nrow = N,
                   .ncolumn = N,
                   .start = start,
                   .index = index,
                   .value = value,
                   .lo = lo,
                   .hi = hi,
                   .cost = cost,
                   .row_lo = row_lo,
                   .row_hi = row_hi,
                   .most = 1};
    perp__lp_end end = {0};
    if (!perp__lp_available()) skip();
    assert_int_equal(perp__lp_solve_with_end(&lp, x, &end), PERP_ERR_NO_SOLUTION);
    assert_true(end.is_cut && !end.is_infeasible && !end.is_unbounded);
    lp.most = 100;
    assert_int_equal(perp__lp_solve_with_end(&lp, x, &end), PERP_OK);
    assert_true(!end.is_cut && x[0] > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_falls_beside_the_rows_hides_nothing),
        cmocka_unit_test(rows_that_nearly_agree_are_proved_to_contradict),
        cmocka_unit_test(a_linear_program_is_cut),
        cmocka_unit_test(conditions_that_contradict_each_other_are_named),
        cmocka_unit_test(constants_that_rounding_hides_are_proved_to_contradict),
        cmocka_unit_test(values_lie_in_their_intervals),
        cmocka_unit_test(a_program_without_end_has_a_ray),
    };
    return run_all(tests);
}
