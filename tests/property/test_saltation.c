/* Derivatives of runs through located events, against closed forms and differences of such runs. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

enum { MOST = 6 };

#define CONTACT "when z <= 0\n"

/* A scene: text, or a file of tests/data/events where it has one line. */
typedef struct scene {
    const char *name, *text;
    double to, step;
    const char *by[MOST]; /* parameters and initial values */
    double
        kinks; /* at most so many numbers may be at a jump, where differences do not tell: a share */
    double share; /* of a value, for differences */
} scene;

static const scene scenes[] = {
    {"two elastic balls",
     "param r = 0.1, k = 1\nstate a = 0, b = 0.52, va = 1, vb = 0\nvar p\nder(a) = va\nder(b) = "
     "vb\n"
     "der(va) = -p\nder(vb) = k*p\n0 <= p perp vb - va + pre(vb - va) >= 0 when b - a - 2*r <= 0\n"
     "output before = pre(b)\n",
     1,
     0.03,
     {"a", "b", "va", "vb", "r", "k"},
     0.01,
     1e-4},
    {"ball in air that resists", "ball", 1.9, 0.05, {"g", "e", "c", "z", "v", "u"}, 0.2, 1e-4},
    {"ball that slides while it bounces",
     "param g = 9.81, mu = 0.1, e = 0.7\nstate z = 1, v = 0, x = 0, u = 10\nvar p, f\nder(z) = v\n"
     "der(v) = p - g\nder(x) = u\nder(u) = f\n0 <= p perp v + e*pre(v) >= 0 " CONTACT
     "-mu*p <= f <= mu*p perp u\n",
     1.2,
     0.03,
     {"g", "mu", "e", "z", "v", "u"},
     0.01,
     1e-4},
    {"spinning ball that grips at its impact",
     "param g = 9.81, mu = 0.5, e = 0.6, r = 0.2\nstate z = 1, v = 0, x = 0, u = 1, w = 2\n"
     "var p, f\nder(z) = v\nder(v) = p - g\nder(x) = u\nder(u) = f\nr*der(w) = -2.5*f\n"
     "0 <= p perp v + e*pre(v) >= 0 " CONTACT "-mu*p <= f <= mu*p perp u - r*w\n",
     0.9,
     0.03,
     {"g", "mu", "e", "r", "u", "w"},
     0.01,
     1e-4},
    {"ball on a table that moves",
     "param g = 9.81, e = 0.5, A = 0.05, w = 9\nstate z = 0.4, v = 0\nvar p\nder(z) = v\n"
     "der(v) = p - g\n0 <= p perp v - A*w*cos(w*t) + e*pre(v - A*w*cos(w*t)) >= 0 "
     "when z <= A*sin(w*t)\n",
     0.7,
     0.01,
     {"g", "e", "A", "w", "z", "v"},
     0.01,
     1e-4},
    {"restitution that depends on time and place",
     "param g = 9.81, e = 0.5, a = 0.3, b = 0.1\nstate z = 0.5, v = 0, x = 0, u = 1\nvar p\n"
     "der(z) = v\nder(v) = p - g\nder(x) = u\nder(u) = -0.2*u\n"
     "0 <= p perp v + (e + a*t + b*sin(x))*pre(v) >= 0 " CONTACT,
     0.95,
     0.03,
     {"g", "e", "a", "b", "z", "u"},
     0.01,
     1e-4},
    {"block that is pushed to and fro",
     "param m = 1.3, mu = 0.37, g = 9.81, A = 8, w = 3\nstate x = 0, v = 1\nvar f\nder(x) = v\n"
     "m*der(v) = A*sin(w*t) + f\n-mu*m*g <= f <= mu*m*g perp v\noutput power = f*v\n",
     3.1,
     0.01,
     {"m", "mu", "A", "w", "x", "v"},
     0.01,
     1e-4},
    {"block by a table",
     "input u\nparam m = 1, mu = 0.2\nstate x = 0, v = 0.5\nvar f\nder(x) = v\nm*der(v) = u + f\n"
     "-mu*m*9.81 <= f <= mu*m*9.81 perp v\n",
     1,
     0.07,
     {"m", "mu", "v"},
     0.01,
     1e-4},
    {"oscillator on a belt",
     "oscillator",
     12,
     0.1,
     {"k", "m", "mu_s", "mu_d", "belt", "x"},
     0.05,
     1e-4},
    {"three discs", "discs", 1.2, 0.02, {"r", "e", "k", "x[1]", "u[1]", "w[3]"}, 0.1, 1e-4},
    {"rocking block", "rocking", 1.05, 0.02, {"b", "c", "g", "J", "tilt"}, 0.1, 1e-4},
    {"wheel with a lock", "wheel", 6.4, 0.1, {"J", "d", "A", "w0"}, 0.05, 1e-4},
    {"woodpecker", "woodpecker", 0.1, 5e-4, {"mS", "JS", "g", "e1", "mu", "wS"}, 0.3, 1e-4},
    {"mass on a spring, stuck in the end",
     "param k = 1, F = 0.15\nstate x = 1, v = 0.3\nvar f\nder(x) = v\nder(v) = f - k*x\n"
     "-F <= f <= F perp v\n",
     11.8,
     0.01,
     {"k", "F", "x", "v"},
     0.01,
     1e-4},
    {"stop by position that closes and opens",
     "param k = 1, A = 0.5, s = 0.2\nstate x = 1, v = 0\nvar p\nder(x) = v\n"
     "der(v) = p - k*x + A*sin(t - 1)\n0 <= p perp x + s >= 0\n",
     9.6,
     0.1,
     {"k", "A", "s", "x", "v"},
     0.01,
     1e-2},
    {"bead that leaves a hoop",
     "param g = 9.81\nstate x = 0, y = 1, u = 1, w = 0\nvar p\nder(x) = u\nder(y) = w\n"
     "der(u) = p*x\nder(w) = p*y - g\n0 <= p perp x^2 + y^2 - 1 >= 0\n",
     0.4,
     0.04,
     {"g", "u"},
     0.01,
     1e-4},
    {"block that falls off its table",
     "param g = 9.81, L = 1, mu = 0.05\nstate x = 0, z = 0, u = 2, v = 0\nvar p, f\nder(x) = u\n"
     "der(z) = v\nder(u) = f\nder(v) = p - g\n0 <= p perp v >= 0 when z <= 0 and x <= L\n"
     "-mu*p <= f <= mu*p perp u\n",
     0.8,
     0.03,
     {"g", "L", "mu", "x", "u"},
     0.01,
     1e-4},
    {"pendulum and wall",
     "param l = 0.8, e = 0.7, k = 0.3, wall = 0.5\nstate a = 0.3, w = 2\nvar n\nder(a) = w\n"
     "l*der(w) = -9.81*sin(a) - k*w*abs(w) - n\n0 <= n perp -w - e*pre(w) >= 0 when wall <= a\n",
     2.1,
     0.03,
     {"l", "e", "k", "wall", "a", "w"},
     0.01,
     1e-4},
    {"mass between two walls",
     "param k = 1, c = 0.05, e = 0.8, A = 2\nstate x = 0, v = 1\nvar p, q\nder(x) = v\n"
     "der(v) = p - q - k*x - c*v + A*cos(2*t)\n0 <= p perp v + e*pre(v) >= 0 when x <= -0.3\n"
     "0 <= q perp -v - e*pre(v) >= 0 when x >= 0.4\n",
     3.05,
     0.03,
     {"k", "c", "e", "A", "x", "v"},
     0.01,
     1e-4},
    {"carts that meet, go on together and part",
     "param k = 4, m = 2, g = 1\nstate x = -0.5, y = -0.3, u = 1, w = 0\nvar p\nder(x) = u\nder(y) "
     "= w\n"
     "der(u) = -p - k*x\nm*der(w) = p - g*y\n0 <= p perp w - u >= 0 when y - x <= 0\n",
     2,
     0.03,
     {"k", "m", "g", "x", "u", "w"},
     0.01,
     1e-4},
    {"rectifier",
     "param R = 1, C = 0.2, L = 0.1, V = 5, w = 12\nstate i = 0, q = 0\nvar v\nL*der(i) = "
     "V*sin(w*t) - R*i - q/C + v\nder(q) = i - q/(4*C)\n0 <= v perp i >= 0\n",
     2,
     0.01,
     {"R", "C", "L", "V", "w"},
     0.01,
     1e-4},
    {"wheel that slips, then rolls",
     "param mu = 0.3, m = 2, J = 0.05, r = 0.2, T = 0.5\nstate x = 0, u = 3, w = 0\nvar f\n"
     "der(x) = u\nm*der(u) = f\nJ*der(w) = T*sin(4*t) - r*f\n-mu*m*9.81 <= f <= mu*m*9.81 perp u - "
     "r*w\n",
     1.5,
     0.03,
     {"mu", "m", "J", "r", "T", "u"},
     0.01,
     1e-4},
    {"three boxes on a belt",
     "param k = 30, mu = 0.3, V = 0.4\nstate x[3] = [0, 0.02, -0.03], v[3] = [0, 0.1, 0.3]\nvar "
     "f[3]\n"
     "for i in 1..3 {\nder(x[i]) = v[i]\n-mu*(8 + i) <= f[i] <= mu*(8 + i) perp v[i] - V\n}\n"
     "der(v[1]) = f[1] - k*x[1] + k*(x[2] - x[1])\n"
     "der(v[2]) = f[2] - k*(x[2] - x[1]) + k*(x[3] - x[2])\nder(v[3]) = f[3] - k*(x[3] - x[2])\n",
     2,
     0.02,
     {"k", "mu", "V", "x[1]", "v[3]"},
     0.01,
     1e-3},
    {"spring that pushes only",
     "param k = 300, d = 0.02, g = 9.81\nstate z = 0.3, v = 0\nvar p\nder(z) = v\nder(v) = p - g\n"
     "0 <= p perp p + k*(z - d) >= 0\n",
     1.3,
     0.01,
     {"k", "d", "g", "z", "v"},
     0.01,
     1e-4},
};

static perp_model *model_of(const scene *s)
{
    if (strchr(s->text, '\n')) {
        perp_model *model = parse_model(s->text);
        perp_trajectory *table = NULL;
        static const char rows[] = "t,u\n0,0\n0.21,3\n0.5,-4\n1,2\n";
        if (strncmp(s->text, "input", 5) != 0) return model;
        assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "test", &table, NULL), PERP_OK);
        assert_int_equal(perp_model_set_input_table(model, "u", table, NULL, "test", NULL),
                         PERP_OK);
        perp_trajectory_destroy(table);
        return model;
    }
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    snprintf(path, sizeof path, "%s/tests/data/events/%s.perp", PERP_SOURCE_DIR, s->text);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static perp_simulation *begin(const scene *s, perp_model *model, double step)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = PERP_RADAU5, o.to = s->to, o.step = step;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s: %s", s->name, perp_diag_text(&diag));
    return sim;
}

static int count_names(const scene *s)
{
    int n = 0;
    while (n < MOST && s->by[n]) n++;
    return n;
}

static double value_of(const perp_model *model, const char *name)
{
    perp_symbol_kind kind;
    int i;
    if (!perp_model_find(model, name, &kind, &i)) fail_msg("no %s", name);
    return perp_model_symbol(model, kind, i).value;
}

/* All rows with one value moved by d. */
static run run_at(const scene *s, const char *name, double d)
{
    perp_diag diag = {0};
    run r = {.model = model_of(s)};
    if (name) set_value(r.model, name, value_of(r.model, name) + d);
    r.sim = begin(s, r.model, s->step);
    r.ncolumn = perp_simulation_columns(r.sim);
    if (simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK)
        fail_msg("%s, %s + %g: %s", s->name, name ? name : "", d, perp_diag_text(&diag));
    return r;
}

/* The derivatives of all rows: n columns each. The run itself is the same, up to rounding. */
static double *follow(const scene *s, const run *base)
{
    int n = count_names(s);
    size_t size = (size_t)n * (size_t)base->ncolumn;
    perp_diag diag = {0};
    perp_model *model = model_of(s);
    perp_simulation *sim = begin(s, model, s->step);
    double *all = malloc((size_t)base->nrow * size * sizeof *all),
           *row = malloc(size * sizeof *row);
    if (perp_simulation_follow(sim, n, s->by, &diag) != PERP_OK)
        fail_msg("%s: %s", s->name, perp_diag_text(&diag));
    for (long k = 0; k < base->nrow; k++) {
        if (k > 0) assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        perp_simulation_row(sim, row);
        for (int c = 1; c < base->ncolumn - 1 && k > 0; c++)
            assert_near(row[c], base->value[k * base->ncolumn + c], 1e-9);
        if (perp_simulation_derivatives(sim, all + (size_t)k * size) != PERP_OK)
            fail_msg("%s: no derivatives at row %ld", s->name, k);
    }
    for (int k = 0; k < n; k++) {
        double since;
        perp_derivative_kind kind = perp_simulation_derivative_kind(sim, k, &since);
        if (kind != PERP_DERIVATIVE_DIFFERENTIABLE)
            fail_msg("%s: by %s they are said to be %s from t = %g on", s->name, s->by[k],
                     perp_derivative_kind_name(kind), since);
    }
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    free(row);
    return all;
}

/* By six runs, of order six; *kink: it does not agree with that of order four, as at a jump. */
static double difference(const run r[6], long at, double d, double scale, int *kink)
{
    double one = (r[0].value[at] - r[1].value[at]) / (2 * d),
           two = (r[2].value[at] - r[3].value[at]) / (4 * d),
           three = (r[4].value[at] - r[5].value[at]) / (6 * d), four = (4 * one - two) / 3;
    double six = 1.5 * one - 0.6 * two + 0.1 * three;
    *kink = !(fabs(six - four) <= 1e-6 * scale);
    return six;
}

static void compare(const scene *s)
{
    run base = run_at(s, NULL, 0);
    int n = count_names(s), ns = perp_model_count(base.model, PERP_STATE);
    double *exact = follow(s, &base), worst[2] = {0}; /* of states; of forces and outputs */
    long compared = 0, kinks = 0;
    for (int j = 0; j < n; j++) {
        double v = value_of(base.model, s->by[j]), d = s->share * (v != 0 ? fabs(v) : 0.3);
        run r[6];
        for (int k = 0; k < 6; k++) r[k] = run_at(s, s->by[j], (k % 2 ? -1 : 1) * (k / 2 + 1) * d);
        for (int col = 1; col < base.ncolumn - 1; col++) {
            double scale = 1;
            for (long k = 1; k < base.nrow; k++)
                scale = fmax(scale, fabs(exact[(k * n + j) * base.ncolumn + col]));
            for (long k = 1; k < base.nrow; k++) {
                int kink;
                double ours = exact[(k * n + j) * base.ncolumn + col],
                       theirs = difference(r, k * base.ncolumn + col, d, scale, &kink);
                compared++, kinks += kink;
                if (!kink) worst[col > ns] = fmax(worst[col > ns], fabs(ours - theirs) / scale);
                if (!kink && !(fabs(ours - theirs) <= 1e-7 * scale))
                    fail_msg("%s: d %s / d %s at row %ld: %.12g, differences say %.12g", s->name,
                             perp_simulation_column_name(base.sim, col), s->by[j], k, ours, theirs);
            }
        }
        for (int k = 0; k < 6; k++) free_run(&r[k]);
    }
    print_message("%-42s %6ld compared, %5.2f %% at kinks, worst %.1e of states, %.1e of forces\n",
                  s->name, compared, 100.0 * (double)kinks / (double)compared, worst[0], worst[1]);
    if ((double)kinks > s->kinks * (double)compared)
        fail_msg("%s: %ld of %ld are at kinks", s->name, kinks, compared);
    free(exact);
    free_run(&base);
}

static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) compare(&scenes[k]);
}

/* x1, x2, v0, u0 -> (1, 0, 1, 0) and (0, 1, 0, 1) for steps of any length, also where one ends at the impact (0.01: t = 0.32). */
static void two_elastic_balls_exchange_what_they_are(void **state)
{
    (void)state;
    static const double steps[] = {0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4};
    static const char *const by[] = {"a", "b", "va", "vb"};
    static const double right[2][4] = {{0, 1, 0, 1}, {1, 0, 1, 0}};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        perp_model *model = model_of(&scenes[0]);
        perp_simulation *sim = begin(&scenes[0], model, steps[k]);
        double d[4][8];
        assert_true(perp_simulation_columns(sim) <= 8);
        assert_int_equal(perp_simulation_follow(sim, 4, by, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        double *derivative = malloc(4 * (size_t)perp_simulation_columns(sim) * sizeof(double));
        assert_int_equal(perp_simulation_derivatives(sim, derivative), PERP_OK);
        for (int j = 0; j < 4; j++)
            memcpy(d[j], derivative + j * perp_simulation_columns(sim), 3 * sizeof(double));
        /* the last row of steps of 0.03 is at 0.99 */
        double rest = 1 - perp_simulation_time(sim);
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 2; i++)
                assert_near(d[j][1 + i], right[i][j] * (j < 2 ? 1 : 1 - rest), 1e-11);
        free(derivative);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* A ball that slides while it bounces, and rests from T0 = v0/g (1 + 2 e/(1 - e)) on: friction takes mu g T whatever e and v are. */
static void derivatives_pass_an_accumulation_of_impacts(void **state)
{
    (void)state;
    static const char *const by[] = {"g", "mu", "e", "z", "u", "x"};
    static const scene ball = {
        "",
        "param g = 9.81, mu = 0.1, e = 0.7\nstate z = 1, v = 0, x = 0, u = 10\n"
        "var p, f\nder(z) = v\nder(v) = p - g\nder(x) = u\nder(u) = f\n"
        "0 <= p perp v + e*pre(v) >= 0 when z <= 0\n-mu*p <= f <= mu*p perp u\n",
        4,
        0,
        {0},
        0,
        0};
    for (double h = 0.05; h > 0.004; h /= 2) {
        perp_model *model = model_of(&ball);
        perp_simulation *sim = begin(&ball, model, h);
        double d[6 * 8];
        int n = perp_simulation_columns(sim);
        assert_int_equal(n, 8);
        assert_int_equal(perp_simulation_follow(sim, 6, by, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        assert_int_equal(perp_simulation_derivatives(sim, d), PERP_OK);
        double T = perp_simulation_time(sim), right[6] = {-0.1 * T, -9.81 * T, 0, 0, 1, 0};
        for (int j = 0; j < 6; j++) {
            assert_near(d[j * n + 1], 0, 1e-7); /* z, v: at rest */
            assert_near(d[j * n + 2], 0, 1e-7);
            assert_near(d[j * n + 4], right[j], 1e-7);
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* The end of a run with `by` moved by d, by a method. */
static double end_of(const char *text, perp_integrator method, const char *by, double d)
{
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    o.integrator = method;
    set_value(model, by, value_of(model, by) + d);
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
    double x = perp_simulation_state(sim, 0);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return x;
}

static perp_derivative_kind kind_of(const char *text, perp_integrator method, const char *by,
                                    double *derivative)
{
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    double row[16], since;
    o.integrator = method;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    assert_int_equal(perp_simulation_derivative_kind(sim, 0, NULL), PERP_DERIVATIVE_KIND_COUNT);
    assert_int_equal(perp_simulation_follow(sim, 1, &by, NULL), PERP_OK);
    assert_int_equal(perp_simulation_derivative_kind(sim, 1, NULL), PERP_DERIVATIVE_KIND_COUNT);
    assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
    assert_int_equal(perp_simulation_derivatives(sim, row), PERP_OK);
    perp_derivative_kind kind = perp_simulation_derivative_kind(sim, 0, &since);
    assert_int_equal(isnan(since) != 0, kind == PERP_DERIVATIVE_DIFFERENTIABLE);
    *derivative = row[1];
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return kind;
}

/* Scenes in which an event is at a row, up to rounding on either side of it; the row, what is read of it, and by what. */
static const struct {
    const char *text;
    int row, column;
    const char *by;
    perp_derivative_kind kind;
} on_rows[] = {
    {"param r = 0.05\nstate x[2] = [0, 0.5], v[2] = [1, 0]\nvar p\nder(x) = v\nder(v[1]) = -p\n"
     "der(v[2]) = p\n0 <= p perp v[2] - v[1] + pre(v[2] - v[1]) >= 0 when x[2] - x[1] <= 2*r\n",
     20, 2, "r", PERP_DERIVATIVE_DECREASE},
    {"param r = 0.05\nstate x[2] = [0, 0.5], v[2] = [1, 0]\nvar p\nder(x) = v\nder(v[1]) = -p\n"
     "der(v[2]) = p\n0 <= p perp v[2] - v[1] + pre(v[2] - v[1]) >= 0 when x[2] - x[1] <= 2*r\n",
     20, 1, "x[2]", PERP_DERIVATIVE_INCREASE},
    {"state x = -1, v = 3\nvar p\nder(x) = v\nder(v) = -p\n"
     "0 <= p perp -v - 0.6*pre(v) >= 0 when x >= -0.1\n",
     15, 1, "x", PERP_DERIVATIVE_DECREASE},
    {"state x = -1, v = 3\nvar p\nder(x) = v\nder(v) = -p\n"
     "0 <= p perp -v - 0.6*pre(v) >= 0 when x >= -0.1\n",
     15, 1, "v", PERP_DERIVATIVE_DECREASE},
    {"state x = -1, v = 3\nvar p\nder(x) = v\nder(v) = -p\n" /* the state before the event's step */
     "0 <= p perp -v - 0.6*pre(v) >= 0 when x >= -0.1\noutput before = pre(x)\n",
     15, 4, "v", PERP_DERIVATIVE_DECREASE},
    {"state x = -1, v = 2.7\nvar p\nder(x) = v\nder(v) = 2 - p\n"
     "0 <= p perp -v - 0.6*pre(v) >= 0 when x >= -0.1\noutput before = pre(x)\n",
     15, 4, "v", PERP_DERIVATIVE_DECREASE},
    {"param c = 0.3\nstate x = 0, v = 0.7\nvar p\nder(x) = v\nder(v) = 2 - p\n0 <= p perp c - x >= "
     "0\n",
     15, 2, "c", PERP_DERIVATIVE_INCREASE}, /* by positions */
    {"param F = 1\nstate v = 0.3\nvar f\nder(v) = f\n-F <= f <= F perp v\n", 15, 1, "F",
     PERP_DERIVATIVE_DECREASE}, /* comes to rest */
    {"param F = 1\nstate v = -0.3\nvar f\nder(v) = f\n-F <= f <= F perp v\n", 15, 1, "v",
     PERP_DERIVATIVE_DECREASE},
    {"param a = 1\nstate v = 0\nvar f\nder(v) = a*t + f\n-0.3 <= f <= 0.3 perp v\n"
     "output force = f\n",
     15, 2, "a", PERP_DERIVATIVE_DECREASE}, /* begins to slip */
    {"param a = -1\nstate v = 0\nvar f\nder(v) = a*t + f\n-0.3 <= f <= 0.3 perp v\n", 15, 2, "a",
     PERP_DERIVATIVE_INCREASE},
    {"param c = 0.9\nstate x = 0\nvar p\nder(x) = 1 + p\n2 <= p <= 2 perp x when x <= c\n", 15, 1,
     "c", PERP_DERIVATIVE_INCREASE}, /* a guard goes off */
    {"param c = 0.3\nstate x = 0\nvar p\nder(x) = 1 + p\n2 <= p <= 2 perp x when x >= c\n", 15, 1,
     "c", PERP_DERIVATIVE_INCREASE},
    {"param a = 1\nstate x = 0\nvar p\nder(x) = p\n0 <= p perp p + 0.3 - a*t >= 0\n", 15, 2, "a",
     PERP_DERIVATIVE_DECREASE}, /* a force begins, and another ends */
    {"param a = 1\nstate x = 0\nvar p\nder(x) = p\n0 <= p perp p - 0.3 + a*t >= 0\n", 15, 2, "a",
     PERP_DERIVATIVE_DECREASE},
};

/* What is read of the row with `by` moved by d. */
static double at_row(int i, perp_integrator method, double d)
{
    perp_model *model = parse_model(on_rows[i].text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    o.integrator = method, o.to = 1, o.step = 0.02;
    set_value(model, on_rows[i].by, value_of(model, on_rows[i].by) + d);
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    for (int k = 0; k < on_rows[i].row; k++)
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
    double x = perp_simulation_value(sim, on_rows[i].column);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return x;
}

static void expect_row(int i, perp_integrator method)
{
    perp_model *model = parse_model(on_rows[i].text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim, *clone;
    double row[16], since, d = 1e-6, here = at_row(i, method, 0);
    o.integrator = method, o.to = 1, o.step = 0.02;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    assert_true(perp_simulation_columns(sim) <= 16);
    assert_int_equal(perp_simulation_follow(sim, 1, &on_rows[i].by, NULL), PERP_OK);
    for (int k = 0; k < on_rows[i].row; k++) {
        assert_int_equal(perp_simulation_derivative_kind(sim, 0, NULL),
                         PERP_DERIVATIVE_DIFFERENTIABLE);
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
    }
    assert_int_equal(perp_simulation_derivatives(sim, row), PERP_OK);
    perp_derivative_kind kind = perp_simulation_derivative_kind(sim, 0, &since);
    if (kind != on_rows[i].kind)
        fail_msg("%d by %s: %s", i, perp_integrator_name(method), perp_derivative_kind_name(kind));
    assert_true(since == perp_simulation_time(sim));
    double sign = kind == PERP_DERIVATIVE_INCREASE ? 1 : -1, ours = row[on_rows[i].column],
           along = (at_row(i, method, sign * d) - here) / (sign * d),
           other = (here - at_row(i, method, -sign * d)) / (sign * d);
    if (!(fabs(ours - along) <= 1e-4) || !(fabs(ours - other) > 1e-2))
        fail_msg("%d by %s: %g, differences say %g, and %g to the other side", i,
                 perp_integrator_name(method), ours, along, other);
    assert_int_equal(perp_simulation_clone(sim, &clone, NULL), PERP_OK);
    assert_int_equal(perp_simulation_derivative_kind(clone, 0, NULL), kind);
    assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK); /* behind the event */
    assert_true(perp_simulation_derivative_kind(sim, 0, NULL) != kind);
    perp_simulation_destroy(sim);
    perp_simulation_destroy(clone);
    perp_model_destroy(model);
}

static void rows_on_events_have_the_derivative_from_before_them_and_say_so(void **state)
{
    (void)state;
    for (int i = 0; i < (int)(sizeof on_rows / sizeof *on_rows); i++)
        for (int m = 0; m < 3; m++) expect_row(i, (perp_integrator)(PERP_RADAU3 + m));
}

static const struct {
    const char *text, *by;
    int is_one_sided;
} kinks[] = {
    {"param F = 1\nstate v = 0\nvar f\nder(v) = F + f\n-1 <= f <= 1 perp v\n", "F", 1},
    {"param B = 1\nstate v = 0\nvar f\nder(v) = 1 + f\n-B <= f <= B perp v\n", "B", 1},
    {"param B = 1\nstate v = 0\nvar f\nder(v) = -1 + f\n-B <= f <= B perp v\n", "B", 1},
    {"param u = 0\nstate x = 0\nvar p\nder(x) = u + p\n0 <= p perp x >= 0\n", "u", 1},
    {"param u = 0\nstate x = 0\nvar p\nder(x) = u + p\n0 <= p perp der(x) >= 0\n", "u", 1},
    {"param F = 0.5\nstate v = 0\nvar f\nder(v) = F + f\n-1 <= f <= 1 perp v\n", "F", 0},
    {"param F = 2\nstate v = 0\nvar f\nder(v) = F + f\n-1 <= f <= 1 perp v\n", "F", 0},
    {"param c = 1\nstate v = 1, w = 1\nvar n, f\nder(v) = f\nder(w) = n + c\n0 <= n perp w >= "
     "0\n-n <= f <= n perp v\n",
     "c", 0},
    {"param p = 0\nstate x = 0, v = 0\nvar f\nder(x) = v\nder(v) = 1 - p + x + f\n"
     "-1 <= f <= 1 perp v\n", /* v is not quite 0 */
     "p", 1},
};

/* Where both sides of a pair are 0, derivatives are those of one side, and say of which. */
static void one_sided_derivatives_say_so(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_RADAU5};
    for (size_t i = 0; i < 2 * sizeof kinks / sizeof *kinks; i++) {
        double d = 1e-6, ours;
        char text[512];
        perp_integrator method = methods[i % 2];
        snprintf(text, sizeof text, "%ssimulate to 1 step 0.1\n", kinks[i / 2].text);
        const char *by = kinks[i / 2].by;
        perp_derivative_kind kind = kind_of(text, method, by, &ours);
        double here = end_of(text, method, by, 0), up = (end_of(text, method, by, d) - here) / d,
               down = (here - end_of(text, method, by, -d)) / d;
        print_message("%s %s: %g of %g for an increase, %g for a decrease\n",
                      perp_integrator_name(method), perp_derivative_kind_name(kind), ours, up,
                      down);
        assert_int_equal(kind == PERP_DERIVATIVE_INCREASE || kind == PERP_DERIVATIVE_DECREASE,
                         kinks[i / 2].is_one_sided);
        assert_int_equal(fabs(up - down) > 0.1, kinks[i / 2].is_one_sided);
        assert_near(ours, kind == PERP_DERIVATIVE_DECREASE ? down : up, 1e-5);
    }
}

/* The gradient of the first state at the end by a parameter of the model, going back through all steps; what it is. */
static perp_derivative_kind kind_back(const char *text, perp_integrator method, const char *by,
                                      double weighs, double *gradient)
{
    perp_model *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim;
    perp_derivative_kind kind = PERP_DERIVATIVE_KIND_COUNT;
    double weight[16] = {0, weighs};
    int parameter;
    assert_true(perp_model_find(model, by, NULL, &parameter));
    o.integrator = method;
    assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
    const perp_run_stretch of = {
        .size = sizeof of, .steps = 10, .nparameter = 1, .parameter = &parameter, .kind = &kind};
    const perp_run_change by_it = {.parameter = gradient};
    assert_int_equal(perp_simulation_vjp(sim, &of, weight, &by_it, NULL), PERP_OK);
    assert_int_equal(perp_simulation_steps(sim), 10);
    double here = perp_simulation_state(sim, 0);
    assert_true(here == end_of(text, method, by, 0)); /* and the run is at the end */
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return kind;
}

/* So does a gradient: whether there are sides at all, and which way it holds. */
static void one_sided_gradients_say_so(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_RADAU5};
    int told = 0;
    for (size_t i = 0; i < 4 * sizeof kinks / sizeof *kinks; i++) {
        double d = 1e-6, weight = i / 2 % 2 ? -1 : 1, gradient;
        char text[512];
        perp_integrator method = methods[i % 2];
        snprintf(text, sizeof text, "%ssimulate to 1 step 0.1\n", kinks[i / 4].text);
        const char *by = kinks[i / 4].by;
        perp_derivative_kind kind = kind_back(text, method, by, weight, &gradient);
        if ((kind == PERP_DERIVATIVE_DIFFERENTIABLE) == kinks[i / 4].is_one_sided)
            fail_msg("%s by %s: %s", text, by, perp_derivative_kind_name(kind));
        double here = end_of(text, method, by, 0), up = (end_of(text, method, by, d) - here) / d,
               down = (here - end_of(text, method, by, -d)) / d;
        int is_up = (gradient > 0) == (kind != PERP_DERIVATIVE_DECREASE);
        if (kind != PERP_DERIVATIVE_UNKNOWN_DIRECTION)
            assert_near(gradient, weight * (is_up ? up : down), 1e-5);
        told += kind == PERP_DERIVATIVE_INCREASE || kind == PERP_DERIVATIVE_DECREASE;
        if (kind == PERP_DERIVATIVE_UNKNOWN_DIRECTION)
            assert_true(gradient == 0); /* it is no direction */
    }
    assert_true(told >= 8);
}

/* What no change moves is no side of it: friction by facets that sticks has forces of 0 beside sides of 0; and where a ball begins in contact, inputs do
 * not move the guard. */
static void gradients_that_move_no_side_are_two_sided(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "state x = 0, v = 0\nvar p, n\ninput u\nder(x) = v\nder(v) = u + p - n\n"
        "var s\n0 <= p perp s + v >= 0\n0 <= n perp s - v >= 0\n0 <= s perp 3 - p - n >= 0\n",
        "state x = 0, v = 0\nvar p\ninput u\nder(x) = v\nder(v) = u + p - 9\n"
        "0 <= p perp v >= 0 when x <= 0\n"};
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_RADAU5};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        perp_model *model = parse_model(cases[i / 3]);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim;
        perp_derivative_kind kind;
        int input = 0;
        double weight[16] = {0, 1, 1}, value[5] = {1, 2, 1, 0.5, 1.5}, by[5], dx[2];
        o.integrator = methods[i % 3], o.to = 0.5, o.step = 0.1, o.ninput = PERP_ALL;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        const perp_run_stretch of = {.size = sizeof of,
                                     .steps = 5,
                                     .ninput = 1,
                                     .input = &input,
                                     .value = value,
                                     .kind = &kind};
        perp_run_change gradient = {.value = by};
        assert_int_equal(perp_simulation_vjp(sim, &of, weight, &gradient, NULL), PERP_OK);
        if (kind != PERP_DERIVATIVE_DIFFERENTIABLE)
            fail_msg("case %zu: %s", i, perp_derivative_kind_name(kind));
        perp_simulation_reset(sim);
        gradient.state = dx;
        assert_int_equal(perp_simulation_vjp(sim, &of, weight, &gradient, NULL), PERP_OK);
        if (i / 3 == 1)
            assert_true(kind != PERP_DERIVATIVE_DIFFERENTIABLE); /* where it starts does */
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* A block on a belt that begins to move: with all the friction there is it neither follows it up, nor slows down as fast. */
static void derivatives_that_hold_for_no_change_say_so(void **state)
{
    (void)state;
    static const char belt[] = "param u = 0\nstate v = 0\nvar f\nder(v) = 0.5*u - 1 + f\n"
                               "-1 <= f <= 1 perp v - u\nsimulate to 1 step 0.1\n";
    double d;
    assert_int_equal(kind_of(belt, PERP_BACKWARD_EULER, "u", &d),
                     PERP_DERIVATIVE_UNKNOWN_DIRECTION);
    assert_int_equal(kind_of(belt, PERP_RADAU5, "u", &d), PERP_DERIVATIVE_UNKNOWN_DIRECTION);
}

/* The motion begins with a guard on its bound: a change that moves the guard to the other side has another motion; one that begins with no speed there, with a change of
 * that speed, too. */
static void derivatives_say_that_a_guard_was_touched(void **state)
{
    (void)state;
    static const struct {
        const char *state, *force, *law, *by;
        perp_derivative_kind kind;
    } cases[] = {{"x = 0, v = 0", "1", "v + 0.5*pre(v)", "v", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
                 {"x = 0, v = 0", "1", "v + 0.5*pre(v)", "x", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
                 {"x = 0, v = 0", "F", "v + 0.5*pre(v)", "F", PERP_DERIVATIVE_DIFFERENTIABLE},
                 {"x = 0, v = 0", "t", "v", "v", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
                 {"x = 0, v = 0", "-F", "v", "F", PERP_DERIVATIVE_DIFFERENTIABLE}, /* it rests */
                 {"x = 0, v = 0", "-F", "v", "x", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
                 {"x = 0, v = 1", "-F", "v", "v", PERP_DERIVATIVE_DIFFERENTIABLE},
                 {"x = 0, v = 1", "-F", "v", "x", PERP_DERIVATIVE_INCREASE}, /* below, it is on */
                 {"x = 0.1, v = 0", "-F", "v + 0.5*pre(v)", "x", PERP_DERIVATIVE_DIFFERENTIABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        double d;
        snprintf(text, sizeof text,
                 "param F = 1\nstate %s\nvar p\nder(x) = v\nder(v) = p + %s\n"
                 "0 <= p perp %s >= 0 when x <= 0\nsimulate to 0.2 step 0.05\n",
                 cases[i].state, cases[i].force, cases[i].law);
        perp_derivative_kind kind = kind_of(text, PERP_RADAU5, cases[i].by, &d);
        if (kind != cases[i].kind)
            fail_msg("case %zu: %s, %g", i, perp_derivative_kind_name(kind), d);
    }
}

/* An impact at the end of a fixed step is not followed, and that is said from there on; a method that locates it follows it. */
static void derivatives_of_steps_say_so(void **state)
{
    (void)state;
    static const char ball[] =
        "param e = 0.5\nstate z = 1, v = 0\nvar p\nder(z) = v\nder(v) = p - 9.81\n"
        "0 <= p perp v + e*pre(v) >= 0 when z <= 0\nsimulate to 0.6 step 0.01\n";
    double d;
    assert_int_equal(kind_of(ball, PERP_BACKWARD_EULER, "z", &d), PERP_DERIVATIVE_OF_STEPS);
    assert_int_equal(kind_of(ball, PERP_RADAU5, "z", &d), PERP_DERIVATIVE_DIFFERENTIABLE);
}

/* Fixed steps take a guard as on or off where they begin. On its bound, derivatives hold for what leaves it so. */
static void fixed_steps_say_that_a_guard_was_touched(void **state)
{
    (void)state;
    static const struct {
        const char *law, *by;
        perp_derivative_kind kind;
    } cases[] = {
        {"0 <= p perp v >= 0 when x <= c", "F", PERP_DERIVATIVE_DIFFERENTIABLE},
        {"0 <= p perp v >= 0 when x <= c", "x", PERP_DERIVATIVE_DECREASE},
        {"0 <= p perp v >= 0 when x <= c", "c", PERP_DERIVATIVE_INCREASE},
        {"0 <= p perp v >= 0 when x <= c and t >= 0", "c", PERP_DERIVATIVE_INCREASE},
        {"0 <= p perp v >= 0 when x <= c and t >= 5", "c", PERP_DERIVATIVE_DIFFERENTIABLE},
        {"0 <= p perp v >= 0 when x <= c or x <= c + 1", "c", PERP_DERIVATIVE_DIFFERENTIABLE},
        {"0 <= p perp v >= 0 when x*x <= c*c", "F", PERP_DERIVATIVE_DIFFERENTIABLE},
        {"0 <= p perp v >= 0 when x*x <= c*c", "x", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
        {"0 <= p perp v >= 0 when x < c", "F", PERP_DERIVATIVE_OF_STEPS}, /* falls */
        {"0 <= p perp v >= 0 when x < c", "x", PERP_DERIVATIVE_UNKNOWN_DIRECTION},
        {"friction(f = p, v = v, bound = 2) when x <= c", "F", PERP_DERIVATIVE_DIFFERENTIABLE},
        {"friction(f = p, v = v, bound = 2) when x <= c", "x", PERP_DERIVATIVE_DECREASE}};
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_MOREAU};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        char text[512];
        double d;
        snprintf(text, sizeof text,
                 "param c = 0, F = 1\nstate x = 0, v = 0\nvar p\nder(x) = v\nder(v) = p - F\n%s\n"
                 "simulate to 0.2 step 0.05\n",
                 cases[i / 3].law);
        perp_derivative_kind kind = kind_of(text, methods[i % 3], cases[i / 3].by, &d);
        if (kind != cases[i / 3].kind)
            fail_msg("%s, by %s, %s: %s, %g", cases[i / 3].law, cases[i / 3].by,
                     perp_integrator_name(methods[i % 3]), perp_derivative_kind_name(kind), d);
    }
}

/* A mass that rests on a stop stated by positions until a force lifts it: x = k s^3 / (6 m), where s is the time since m g = k t. Its gap opens from 0, where the
 * points of a method of order 3 have it below, and is less than the tolerance of its terms for a while: neither is an event, nor a kink. */
/* In units of mass that are so many kg. */
static void expect_both_sides(double unit, int nstep)
{
    static const perp_integrator methods[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    static const char *const guards[] = {"", "when x <= c", "when x >= c"};
    static const double steps[] = {0.2, 0.01, 0.003, 0.001};
    double s = 2 - 2 * 9.81 / 20, by[2] = {-s * s * s * 20 / 24 - 20 * s * s / 4 * 9.81 / 20,
                                           s * s * s / 12 + 20 * s * s / 4 * 2 * 9.81 / 400};
    for (int i = 0; i < 3 * 3 * 4 * 2; i++) {
        if (i / 9 % 4 >= nstep) continue;
        char text[512];
        const char *name[2] = {"m", "k"};
        double c = i / 36, row[2 * 8], since;
        perp_simulation *sim;
        perp_integrator method = methods[i % 3];
        snprintf(text, sizeof text,
                 "param c = %g, m = %.17g, k = %.17g\nstate x = %g, v = 0\nvar p\nder(x) = v\n"
                 "m*der(v) = k*t - m*9.81 + p\n0 <= p perp x - c >= 0 %s\nsimulate to 2 step %g\n",
                 c, 2 / unit, 20 / unit, c, guards[i / 3 % 3], steps[i / 9 % 4]);
        perp_model *model = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = method, o.step = steps[i / 9 % 4], o.to = 2;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_follow(sim, 2, name, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        assert_int_equal(perp_simulation_derivatives(sim, row), PERP_OK);
        double late = 2 - perp_simulation_time(sim); /* steps of 3 ms do not end at 2 */
        for (int j = 0; j < 2; j++) {
            perp_derivative_kind kind = perp_simulation_derivative_kind(sim, j, &since);
            double at = row[j * perp_simulation_columns(sim) + 1] / unit,
                   tol = late > 1e-6 ? 0.01 : 1e-9;
            if (kind != PERP_DERIVATIVE_DIFFERENTIABLE || !(fabs(at - by[j]) < tol * fabs(by[j])) ||
                perp_simulation_fallback_steps(sim, NULL) > 0)
                fail_msg("%s, %s: by %s %s, %.15g for %.15g", text, perp_integrator_name(method),
                         name[j], perp_derivative_kind_name(kind), at, by[j]);
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

static void what_lifts_off_has_both_sides(void **state)
{
    (void)state;
    expect_both_sides(1, 4);
    expect_both_sides(1e6, 2);
    expect_both_sides(1e-6, 2);
}

/* A ball meets a wall at row 15 of 20. The gradient of rows with weights is of one side where that has one. */
static void gradients_of_rows_on_events_are_of_one_side(void **state)
{
    (void)state;
    perp_model *model = parse_model(on_rows[2].text);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = PERP_RADAU5, o.to = 1, o.step = 0.02;
    for (int k = 0; k < 4; k++) {
        perp_simulation *sim;
        perp_derivative_kind kind;
        double weight[20 * 5] = {0}, by[2];
        const perp_run_stretch of = {
            .size = sizeof of, .steps = k == 3 ? 15 : 20, .every_row = k < 3, .kind = &kind};
        const perp_run_change gradient = {.state = by};
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_columns(sim), 5);
        weight[k == 0 ? 14 * 5 + 1 : k == 3 ? 1 : 19 * 5 + 1] = 1;
        weight[14 * 5] = 1; /* of the time: not read */
        if (k == 2) weight[14 * 5 + 3] = 1e-3;
        assert_int_equal(perp_simulation_vjp(sim, &of, weight, &gradient, NULL), PERP_OK);
        if (k == 1)
            assert_int_equal(kind, PERP_DERIVATIVE_DIFFERENTIABLE);
        else
            assert_true(kind == PERP_DERIVATIVE_INCREASE || kind == PERP_DERIVATIVE_DECREASE);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

/* What jumps at 0.513 or beside it, with no event there; by what the time of that moves, and by what it does not. */
static const struct {
    const char *text, *by, *not_by;
} jumping[] = {
    {"param T = 0.513, m = 2\ninput u = choose(t < T, 1, 0)\nstate v = 0\nm*der(v) = u\n", "T",
     "m"},
    {"param T = 0.513, m = 2\nstate v = 0\nm*der(v) = t\noutput w = v*floor(t/T)\n", "T", "m"},
    {"param T = 0.513, m = 2\nstate v = 0\nvar u\nm*der(v) = u\nu = mod(t, T)\n", "T", "m"},
    {"param T = 0.513, m = 2\nstate v = 0, w = 1\nm*der(v) = w\nder(w) = sign(t - T)\n", "T", "m"},
    {"param c = 0.5\nstate x = 0, v = 1, y = 0\nder(x) = v\nder(v) = 0\nder(y) = "
     "choose(pre(x) > c and t > 0, 1, 0)\n",
     "v", "y"},
    {"param c = 0.6446\nstate x = 0, v = 1\nder(x) = v\nder(v) = -sign(x - c)\n", "v", NULL},
};

static perp_simulation *begin_jumping(int i, perp_integrator method, perp_model **model)
{
    perp_simulation *sim;
    *model = parse_model(jumping[i].text);
    perp_simulation_options o = perp_simulation_options_default(*model);
    o.integrator = method, o.to = 1, o.step = 0.02, o.nparameter = PERP_ALL;
    assert_int_equal(perp_simulation_create(*model, &o, &sim, NULL), PERP_OK);
    return sim;
}

static perp_derivative_kind kind_at(const perp_simulation *sim, int k, int is_wanted, double *since)
{
    return is_wanted ? perp_simulation_derivative_kind(sim, k, since)
                     : PERP_DERIVATIVE_DIFFERENTIABLE;
}

static void expect_jump(int i, perp_integrator method)
{
    perp_model *model;
    perp_simulation *sim = begin_jumping(i, method, &model), *clone;
    double since;
    const char *by[2] = {jumping[i].by, jumping[i].not_by};
    int two = by[1] != NULL;
    assert_int_equal(perp_simulation_follow(sim, 1 + two, by, NULL), PERP_OK);
    for (int k = 0; k < 22; k++) {
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
        assert_int_equal(kind_at(sim, 0, 1, &since), PERP_DERIVATIVE_DIFFERENTIABLE);
    }
    assert_int_equal(perp_simulation_clone(sim, &clone, NULL), PERP_OK);
    for (int k = 0; k < 6; k++) assert_int_equal(simulation_step(clone, NULL, NULL), PERP_OK);
    perp_derivative_kind kind = kind_at(clone, 0, 1, &since);
    if (kind != PERP_DERIVATIVE_OF_STEPS || !(fabs(since - 0.51) < 0.04))
        fail_msg("%d by %s: %s since %g", i, perp_integrator_name(method),
                 perp_derivative_kind_name(kind), since);
    assert_int_equal(kind_at(clone, 1, two, &since), PERP_DERIVATIVE_DIFFERENTIABLE);
    perp_simulation_reset(clone);
    assert_int_equal(simulation_step(clone, NULL, NULL), PERP_OK);
    assert_int_equal(kind_at(clone, 0, 1, &since), PERP_DERIVATIVE_DIFFERENTIABLE);
    perp_simulation_destroy(sim);
    perp_simulation_destroy(clone);
    perp_model_destroy(model);
}

/* The first model's gradient over steps of which the first has the jump in it, or the last has not yet. */
static void expect_jump_of_stretch(perp_integrator method, int before, int steps, int has_jump)
{
    perp_model *model;
    perp_simulation *sim = begin_jumping(0, method, &model);
    const int by[2] = {0, 1};
    double row[16] = {0}, weight[16] = {0, 1}, value[2] = {1, 0};
    perp_derivative_kind kind;
    const perp_run_stretch of = {
        .size = sizeof of, .steps = steps, .nparameter = 2, .parameter = by, .kind = &kind};
    const perp_run_change change = {.parameter = value};
    for (int k = 0; k < before; k++) assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
    size_t size = perp_simulation_snapshot_size(sim);
    void *bytes = malloc(size);
    assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
    perp_derivative_kind wanted =
        has_jump ? PERP_DERIVATIVE_OF_STEPS : PERP_DERIVATIVE_DIFFERENTIABLE;
    assert_int_equal(perp_simulation_jvp(sim, &of, &change, row, NULL), PERP_OK);
    assert_int_equal(kind, wanted);
    assert_int_equal(perp_simulation_restore(sim, bytes, size, NULL), PERP_OK);
    value[0] = 0, value[1] = 1;
    assert_int_equal(perp_simulation_jvp(sim, &of, &change, row, NULL), PERP_OK);
    assert_int_equal(kind, PERP_DERIVATIVE_DIFFERENTIABLE);
    assert_int_equal(perp_simulation_restore(sim, bytes, size, NULL), PERP_OK);
    assert_int_equal(perp_simulation_vjp(sim, &of, weight, &change, NULL), PERP_OK);
    assert_int_equal(kind, wanted);
    free(bytes);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

static void what_jumps_with_no_event_has_derivatives_of_the_steps(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_RADAU3,
                                              PERP_RADAU5};
    for (int m = 0; m < 4; m++) {
        for (int i = 0; i < (int)(sizeof jumping / sizeof *jumping); i++)
            expect_jump(i, methods[m]);
        expect_jump_of_stretch(methods[m], 0, 30, 1);
        expect_jump_of_stretch(methods[m], 25, 1, 1);
        expect_jump_of_stretch(methods[m], 0, 25, 0);
        expect_jump_of_stretch(methods[m], 26, 10, 0);
    }
    perp_model *model = parse_model("param c = 3\nstate x = 0\nnext(x) = x + choose(t < c, 1, 2)\n"
                                    "simulate to 10 step 1\n");
    perp_simulation *sim; /* steps are the model */
    const char *by = "c";
    assert_int_equal(perp_simulation_create(model, NULL, &sim, NULL), PERP_OK);
    assert_int_equal(perp_simulation_follow(sim, 1, &by, NULL), PERP_OK);
    assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
    assert_int_equal(perp_simulation_derivative_kind(sim, 0, NULL), PERP_DERIVATIVE_DIFFERENTIABLE);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A pendulum whose start a change takes off its circle: a pair that is far from closed changes nothing. What takes the place back leaves no speed behind. */
static void places_off_an_equation_leave_no_speed_behind(void **state)
{
    (void)state;
    static const char *const by[] = {"l", "x", "y", "u"};
    enum { N = 4, STATES = 4 };
    double d[2][7 * N], gradient[STATES], l[1], weight[7] = {0, 0, 1};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "param l = 0.5\nstate x = 0.3, y = 0.4, u = 0, v = 0\nvar f%s\nder(x) = u\n"
                 "der(y) = v\nder(u) = f*x\nder(v) = f*y - 9.81\nx^2 + y^2 = l^2\n%s",
                 i ? ", n" : "", i ? "0 <= n perp n + y + 5 >= 0\n" : "");
        perp_model *model = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim;
        const int param[] = {0};
        o.integrator = PERP_RADAU5, o.to = 0.3, o.step = 0.01, o.nparameter = PERP_ALL;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_columns(sim), 7 + i);
        assert_int_equal(perp_simulation_follow(sim, N, by, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        double *derivative = malloc((size_t)(7 + i) * N * sizeof *derivative);
        assert_int_equal(perp_simulation_derivatives(sim, derivative), PERP_OK);
        for (int j = 0; j < N; j++)
            memcpy(d[i] + 7 * j, derivative + (7 + i) * j, 6 * sizeof(double));
        free(derivative);
        perp_simulation_reset(sim);
        const perp_run_stretch of = {
            .size = sizeof of, .steps = 30, .nparameter = 1, .parameter = param};
        const perp_run_change back = {.state = gradient, .parameter = l};
        assert_int_equal(perp_simulation_vjp(sim, &of, weight, &back, NULL), PERP_OK);
        assert_near(l[0], d[i][2], 1e-8);
        for (int j = 1; j < N; j++) assert_near(gradient[j - 1], d[i][7 * j + 2], 1e-8);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
    for (int k = 0; k < 7 * N; k++)
        if (k % 7 > 0 && k % 7 < 5) assert_near(d[1][k], d[0][k], 1e-3 * (2 + fabs(d[0][k])));
}

#define ROW_OF_BALLS                                                                               \
    "param r = 0.05\nstate x[3] = [0, 0.5, %g], v[3] = [1, 0, %g]\nvar p[2]\nder(x) = v\n"         \
    "der(v[1]) = -p[1]\nder(v[2]) = p[1] - p[2]\nder(v[3]) = p[2]\nfor i in 1..2 {\n"              \
    "0 <= p[i] perp v[i+1] - v[i] + pre(v[i+1] - v[i]) >= 0 when x[i+1] - x[i] <= 2*r\n}\n"

/* Impacts at one time, of bodies that have to do with each other or not, and of one that touches another. */
static void impacts_at_one_time_have_derivatives_where_they_stay_so(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double a, b;
        const char *by;
        int is_known;
    } at_once[] = {
        {ROW_OF_BALLS, 1, -1, "x[1]", 0},
        {ROW_OF_BALLS, 1, -1, "v[3]", 0},
        {ROW_OF_BALLS, 1, -1, "r", 1},
        {ROW_OF_BALLS, 1.02, -1, "x[1]", 1},
        {ROW_OF_BALLS, 0.6, 0, "x[3]", 0}, /* touches */
        {ROW_OF_BALLS, 0.6, 0, "x[1]", 1},
        {ROW_OF_BALLS, 0.61, 0, "x[3]", 1},
        {"param g = 9.81\nstate z[2] = [%g, 1], v[2] = %g\nvar p[2]\nder(z) = v\nder(v) = p - g\n"
         "0 <= p perp v + 0.7*pre(v) >= 0 when z <= 0\n",
         1, 0, "z[1]", 0},
        {"param g = 9.81\nstate z[2] = [%g, 1], v[2] = %g\nvar p[2]\nder(z) = v\nder(v) = p - g\n"
         "0 <= p perp v + 0.7*pre(v) >= 0 when z <= 0\n",
         1, 0, "g", 1},
        {"param g = 9.81\nstate z[2] = [%g, 1], v[2] = %g\nvar p[2]\nder(z) = v\nder(v) = p - g\n"
         "0 <= p perp v + 0.7*pre(v) >= 0 when z <= 0\n",
         1.01, 0, "z[1]", 1},
        {"state x[2] = [0.2, %g], v[2] = %g\nvar p[2]\nder(x) = v\nder(v) = p\n0 <= p perp x >= "
         "0\n",
         0.2, -1, "x[2]", 0}, /* by positions */
        {"state x[2] = [0.2, %g], v[2] = %g\nvar p[2]\nder(x) = v\nder(v) = p\n0 <= p perp x >= "
         "0\n",
         0.21, -1, "x[2]", 1},
    };
    for (int i = 0; i < 3 * (int)(sizeof at_once / sizeof *at_once); i++) {
        char text[512];
        double row[16];
        int k = i / 3;
        snprintf(text, sizeof text, at_once[k].text, at_once[k].a, at_once[k].b);
        strcat(text, "simulate to 0.5 step 0.03\n");
        perp_derivative_kind kind =
            kind_of(text, (perp_integrator)(PERP_RADAU3 + i % 3), at_once[k].by, row);
        if (kind != (at_once[k].is_known ? PERP_DERIVATIVE_DIFFERENTIABLE
                                         : PERP_DERIVATIVE_UNKNOWN_DIRECTION))
            fail_msg("%s\nby %s, method %d: %s", text, at_once[k].by, i % 3,
                     perp_derivative_kind_name(kind));
    }
}

/* So does the derivative of a stretch along a change. */
static void stretches_say_that_a_guard_was_touched(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 0, v = 0\nvar p\nder(x) = v\nder(v) = p - 1\n"
                                    "0 <= p perp v >= 0 when x <= 0\nsimulate to 0.2 step 0.05\n");
    for (int sign = -1; sign <= 1; sign++) {
        perp_simulation *sim;
        perp_derivative_kind kind;
        double row[16], change[2] = {sign, 1};
        const perp_run_stretch of = {.size = sizeof of, .steps = 3, .kind = &kind};
        const perp_run_change along = {.state = change};
        assert_int_equal(perp_simulation_create(model, NULL, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_jvp(sim, &of, &along, row, NULL), PERP_OK);
        assert_int_equal(kind, sign > 0   ? PERP_DERIVATIVE_DECREASE
                               : sign < 0 ? PERP_DERIVATIVE_INCREASE
                                          : PERP_DERIVATIVE_DIFFERENTIABLE);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

/* Where a mass leaves its belt, one short step may slip and the other not: what they leave is no jump beside what derivatives were before they were 0 there. */
static void what_leaves_its_belt_has_both_sides(void **state)
{
    (void)state;
    static const char *const by[] = {"k", "m", "mu_s", "mu_d", "belt"};
    static const scene belt = {.name = "belt", .text = "oscillator", .to = 12};
    unsigned seed = 3;
    for (int i = 0; i < 20; i++) {
        perp_model *model = model_of(&belt);
        for (int k = 0; k < 5; k++) {
            seed = seed * 1664525u + 1013904223u;
            set_value(model, by[k],
                      value_of(model, by[k]) * (1 + 0.1 * (seed / 4294967296.0 - 0.5)));
        }
        perp_simulation *sim = begin(&belt, model, 0.1);
        assert_int_equal(perp_simulation_follow(sim, 5, by, NULL), PERP_OK);
        assert_int_equal(simulation_run(sim, NULL, NULL, NULL), PERP_OK);
        for (int k = 0; k < 5; k++) {
            double since;
            perp_derivative_kind kind = perp_simulation_derivative_kind(sim, k, &since);
            if (kind != PERP_DERIVATIVE_DIFFERENTIABLE)
                fail_msg("belt %d, by %s: %s from t = %g on", i, by[k],
                         perp_derivative_kind_name(kind), since);
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_leaves_its_belt_has_both_sides),
        cmocka_unit_test(two_elastic_balls_exchange_what_they_are),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(derivatives_pass_an_accumulation_of_impacts),
        cmocka_unit_test(rows_on_events_have_the_derivative_from_before_them_and_say_so),
        cmocka_unit_test(one_sided_derivatives_say_so),
        cmocka_unit_test(one_sided_gradients_say_so),
        cmocka_unit_test(gradients_that_move_no_side_are_two_sided),
        cmocka_unit_test(derivatives_that_hold_for_no_change_say_so),
        cmocka_unit_test(derivatives_say_that_a_guard_was_touched),
        cmocka_unit_test(derivatives_of_steps_say_so),
        cmocka_unit_test(fixed_steps_say_that_a_guard_was_touched),
        cmocka_unit_test(what_lifts_off_has_both_sides),
        cmocka_unit_test(gradients_of_rows_on_events_are_of_one_side),
        cmocka_unit_test(what_jumps_with_no_event_has_derivatives_of_the_steps),
        cmocka_unit_test(places_off_an_equation_leave_no_speed_behind),
        cmocka_unit_test(impacts_at_one_time_have_derivatives_where_they_stay_so),
        cmocka_unit_test(stretches_say_that_a_guard_was_touched),
    };
    return run_all(tests);
}
