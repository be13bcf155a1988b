/* Derivatives of a run with respect to parameters, against central differences of whole runs. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

enum { MOST = 8 };

/* One model: run with derivatives followed, and compare them at every row with differences over a share of each parameter.
 * Rows where a difference crosses a change of mode are those where the differences of two widths disagree; they are left
 * out, and at most `kinks` of the compared numbers may be. */
typedef struct sensitivity_case {
    const char *name, *text; /* a file where the text has one line */
    int n;
    const char *parameter[MOST];
    double to;
    double kinks; /* share */
    perp_integrator integrator;
} sensitivity_case;

static perp_model *model_of(const sensitivity_case *c)
{
    if (strchr(c->text, '\n')) return parse_model(c->text);
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, c->text);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    static const char *const spin[] = {"p[3]", "v[1]", "v[2]", "w[1]", "w[2]", "w[3]"};
    static const double value[] = {0.08, 0.6, 0.2, 3, -2, 1};
    for (int k = 0; k < 6; k++) set_value(model, spin[k], value[k]); /* a tossed cube */
    return model;
}

static run run_at(const sensitivity_case *c, int j, double d)
{
    perp_model *model = model_of(c);
    perp_symbol_kind kind;
    int i;
    if (j >= 0) {
        assert_true(perp_model_find(model, c->parameter[j], &kind, &i));
        set_value(model, c->parameter[j], perp_model_symbol(model, PERP_PARAM, i).value * (1 + d));
    }
    run r = {.model = model};
    perp_diag diag = {0};
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = c->integrator;
    o.to = c->to;
    if (perp_simulation_create(model, &o, &r.sim, &diag) != PERP_OK)
        fail_msg("%s: %s", c->name, perp_diag_text(&diag));
    r.ncolumn = perp_simulation_columns(r.sim);
    if (simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK)
        fail_msg("%s: %s", c->name, perp_diag_text(&diag));
    return r;
}

/* The derivatives of all rows: nrow x n x ncolumn. */
static double *follow(const sensitivity_case *c, long nrow, int ncolumn)
{
    perp_model *model = model_of(c);
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = c->integrator;
    o.to = c->to;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK ||
        perp_simulation_follow(sim, c->n, c->parameter, &diag) != PERP_OK)
        fail_msg("%s: %s", c->name, perp_diag_text(&diag));
    size_t size = (size_t)c->n * (size_t)ncolumn;
    double *all = malloc((size_t)nrow * size * sizeof(double));
    assert_non_null(all);
    for (long k = 0; k < nrow; k++) {
        if (k > 0 && simulation_step(sim, NULL, &diag) != PERP_OK)
            fail_msg("%s: %s", c->name, perp_diag_text(&diag));
        if (perp_simulation_derivatives(sim, all + (size_t)k * size) != PERP_OK)
            fail_msg("%s: no derivatives at row %ld", c->name, k);
    }
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return all;
}

static void compare(const sensitivity_case *c)
{
    const double wide = 1e-5, narrow = 2.5e-6;
    run base = run_at(c, -1, 0);
    double *exact = follow(c, base.nrow, base.ncolumn), worst = 0;
    long compared = 0, kinks = 0;
    for (int j = 0; j < c->n; j++) {
        perp_symbol_kind kind;
        int i;
        assert_true(perp_model_find(base.model, c->parameter[j], &kind, &i));
        double value = perp_model_symbol(base.model, PERP_PARAM, i).value;
        run r[4] = {run_at(c, j, wide), run_at(c, j, -wide), run_at(c, j, narrow),
                    run_at(c, j, -narrow)};
        for (int col = 1; col < base.ncolumn - 1; col++) {
            double scale = 1e-3; /* of the column's derivative */
            for (long k = 1; k < base.nrow; k++) {
                long at = k * base.ncolumn + col;
                scale = fmax(scale, fabs((r[0].value[at] - r[1].value[at]) / (2 * wide * value)));
                scale = fmax(scale, fabs(base.value[at] / value));
            }
            for (long k = 1; k < base.nrow; k++) {
                long at = k * base.ncolumn + col;
                double ours = exact[(k * c->n + j) * base.ncolumn + col];
                double d = (r[0].value[at] - r[1].value[at]) / (2 * wide * value);
                double e = (r[2].value[at] - r[3].value[at]) / (2 * narrow * value);
                double o = (r[2].value[at] - base.value[at]) / (narrow * value);
                assert_true(isfinite(ours));
                compared++;
                if (fabs(d - e) > 1e-7 * scale || fabs(o - e) > 1e-4 * scale) {
                    kinks++;
                    continue;
                }
                /* Richardson: the error of the differences is of second order */
                double richardson = e + (e - d) / 15;
                if (fabs(ours - richardson) > 1e-6 * scale)
                    fail_msg("%s: d %s / d %s at row %ld: %.10g, differences say %.10g", c->name,
                             perp_simulation_column_name(base.sim, col), c->parameter[j], k, ours,
                             richardson);
                worst = fmax(worst, fabs(ours - richardson) / scale);
            }
        }
        for (int k = 0; k < 4; k++) free_run(&r[k]);
    }
    print_message("%-42s %6ld compared, %5.2f %% at kinks, worst %.1e\n", c->name, compared,
                  100.0 * (double)kinks / (double)compared, worst);
    if ((double)kinks > c->kinks * (double)compared)
        fail_msg("%s: %ld of %ld are kinks", c->name, kinks, compared);
    free(exact);
    free_run(&base);
}

#define BLOCK                                                                                      \
    "param m = 1.3 in [0.2, 5]\nparam mu = 0.37 in [0.01, 10]\nparam g = 9.81\nparam v0 = 1\n"     \
    "input u = 8*sin(3*t)\nstate x = 0, v = v0\nvar f\nder(x) = v\nm*der(v) = u + f\n"

static const sensitivity_case cases[] = {
    {"block, two-sided friction",
     BLOCK "-mu*m*g <= f <= mu*m*g perp v\noutput power = f*v\nsimulate to 3 step 0.01\n",
     4,
     {"m", "mu", "g", "v0"},
     3,
     0.01,
     PERP_BACKWARD_EULER},
    {"block, theta",
     BLOCK "-mu*m*g <= f <= mu*m*g perp v\nsimulate to 3 step 0.01\n",
     3,
     {"m", "mu", "v0"},
     3,
     0.01,
     PERP_THETA},
    {"spring on a floor, theta: free flight and contact",
     "param m = 1.2, k = 40, mu = 0.1, g = 9.81\nparam x0 = 0.6\nstate x = x0, z = 0.05, vx = 0, "
     "vz = 0\n"
     "var p, f\nder(x) = vx\nder(z) = vz\nm*der(vx) = f - k*x\nm*der(vz) = p - m*g\n"
     "0 <= p perp z >= 0\n-mu*p <= f <= mu*p perp vx\nsimulate to 0.6 step 0.01\n",
     5,
     {"m", "k", "mu", "g", "x0"},
     0.6,
     0.05,
     PERP_THETA},
    {"block that sticks throughout",
     "param m = 1\nparam mu = 5\nparam a = 2\nstate x = 0, v = 0\nvar f\nder(x) = v\n"
     "m*der(v) = a*sin(t) + f\n-mu*m*9.81 <= f <= mu*m*9.81 perp v\nsimulate to 1 step 0.01\n",
     3,
     {"mu", "a", "m"},
     1,
     0,
     PERP_BACKWARD_EULER},
    {"pairs of the traditional block",
     "param m = 1, mu = 0.6\nparam A = 4, w = 2\nparam N = mu*m*9.81\ninput F = A*sin(w*t)\n"
     "state x = 0, v = 1\nvar lp, ln, gamma\nder(x) = v\nm*der(v) = F + lp - ln\n"
     "0 <= lp perp gamma + v >= 0\n0 <= ln perp gamma - v >= 0\n"
     "0 <= gamma perp N - lp - ln >= 0\noutput net = lp - ln\nsimulate to 5 step 0.01\n",
     4,
     {"mu", "m", "A", "w"},
     5,
     0.01,
     PERP_BACKWARD_EULER},
    {"ball with restitution",
     "param e = 0.7, g = 9.81, m = 0.5\nparam x0 = 1\nstate x = x0, v = 0\nvar p\n"
     "next(x) = x + h*next(v)\nm*next(v) = m*v - h*m*g + p\n"
     "0 <= p perp next(v) + e*v >= 0 when x <= 0\nsimulate to 2 step 0.005\n",
     4,
     {"e", "g", "m", "x0"},
     2,
     0.01,
     PERP_BACKWARD_EULER},
    {"pendulum between walls, not affine",
     "param k = 4, l = 0.8\nstate a = 0.3, w = 2\nvar n\nder(a) = w\n"
     "l*der(w) = -9.81*sin(a) - k*w*abs(w) - n*cos(a)\n0 <= n perp 0.5 - sin(a) >= 0\n"
     "output height = l*(1 - cos(a))\nsimulate to 1.5 step 0.01\n",
     2,
     {"k", "l"},
     1.5,
     0.01,
     PERP_BACKWARD_EULER},
    {"plane friction, exact cone",
     "param mu = 0.3, m = 2\nparam a = 1.5\nstate x = 0, y = 0, vx = 1, vy = 0.4\nvar fx, fy\n"
     "der(x) = vx\nder(y) = vy\nm*der(vx) = fx\nm*der(vy) = fy + a*m*sin(4*t)\n"
     "friction(f = [fx, fy], v = [vx, vy], bound = mu*m*9.81, facets = exact)\n"
     "simulate to 1 step 0.01\n",
     3,
     {"mu", "a", "m"},
     1,
     0.02,
     PERP_BACKWARD_EULER},
    {"plane friction, eight facets",
     "param mu = 0.3, m = 2\nparam a = 6\nstate x = 0, y = 0, vx = 1, vy = 0.4\nvar fx, fy\n"
     "der(x) = vx\nder(y) = vy\nm*der(vx) = fx\nm*der(vy) = fy + a*m*sin(4*t)\n"
     "friction(f = [fx, fy], v = [vx, vy], bound = mu*m*9.81, facets = 8)\n"
     "simulate to 1 step 0.01\n",
     3,
     {"mu", "a", "m"},
     1,
     0.01,
     PERP_BACKWARD_EULER},
    {"cube on a board, sparse factors",
     "experiments/cube/cube.perp",
     4,
     {"mu", "e", "s", "J"},
     0.25,
     0.05, /* most are rounding of the differences */
     PERP_BACKWARD_EULER},
};

static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) compare(&cases[k]);
}

static void what_cannot_be_followed_is_refused_by_name(void **state)
{
    (void)state;
    perp_model *model =
        parse_model(BLOCK "-mu*m*g <= f <= mu*m*g perp v\nsimulate to 1 step 0.1\n");
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    perp_diag diag = {0};
    double row[64];
    const char *wrong[] = {"m", "f"}, *right[] = {"m"};
    assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
    assert_int_equal(perp_simulation_derivatives(sim, row), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_follow(sim, 2, wrong, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "no parameter 'f'"));
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
    assert_int_equal(perp_simulation_follow(sim, 1, right, &diag), PERP_ERR_ARG);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* The steps of a failed step's first halves are not those of the row that stays. */
static void a_failed_step_leaves_no_derivatives(void **state)
{
    (void)state;
    perp_model *model = parse_model("param a = 1\nstate x = 1\nvar y\nder(x) = -a\n"
                                    "y^2 = x - 0.45\nsimulate to 1 step 0.1\n");
    static const char *const a[] = {"a"};
    perp_simulation *sim;
    double derivative[8];
    perp_diag diag = {0};
    assert_int_equal(perp_simulation_create(model, NULL, &sim, NULL), PERP_OK);
    assert_int_equal(perp_simulation_follow(sim, 1, a, NULL), PERP_OK);
    int steps = 0;
    while (simulation_step(sim, NULL, &diag) == PERP_OK) {
        steps++;
        assert_int_equal(perp_simulation_derivatives(sim, derivative), PERP_OK);
        assert_near(derivative[1], -0.1 * steps, 1e-9);
    }
    assert_int_equal(steps, 5);
    assert_int_equal(perp_simulation_derivatives(sim, derivative), PERP_ERR_NO_SOLUTION);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_step_leaves_no_derivatives),
        cmocka_unit_test(what_cannot_be_followed_is_refused_by_name),
        cmocka_unit_test(derivatives_agree_with_differences),
    };
    return run_all(tests);
}
