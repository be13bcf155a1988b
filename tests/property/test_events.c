/* Radau's methods in the simulator: their order where motion is smooth and through events, against closed forms or much finer steps. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

enum { MOST_STEPS = 5, MOST_COLUMNS = 8 };

static perp_model *load_data(const char *name)
{
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    snprintf(path, sizeof path, "%s/tests/data/events/%s.perp", PERP_SOURCE_DIR, name);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static run run_by(perp_model *model, perp_integrator by, double to, double step)
{
    perp_diag diag = {0};
    run r = {.model = model};
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = by;
    if (to > 0) o.to = to;
    o.step = step;
    if (perp_simulation_create(model, &o, &r.sim, &diag) != PERP_OK ||
        (r.ncolumn = perp_simulation_columns(r.sim),
         simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK))
        fail_msg("h = %g: %s", step, perp_diag_text(&diag));
    return r;
}

/* The states at the end. */
static void end_of(perp_model *model, perp_integrator by, double to, double step, double *state)
{
    run r = run_by(model, by, to, step);
    int n = perp_model_count(model, PERP_STATE);
    for (int i = 0; i < n; i++) state[i] = r.value[(r.nrow - 1) * r.ncolumn + 1 + i];
    assert_true(fabs(r.value[(r.nrow - 1) * r.ncolumn] - to) < 1e-9);
    perp_simulation_destroy(r.sim);
    free(r.value);
}

/* The slope of a line through (log h, log error), and the errors, for steps h, h/2, ..; against steps of h/2^n/4. */
static double fit_order(perp_model *model, perp_integrator by, double to, double h, int n,
                        double *error)
{
    double reference[MOST_COLUMNS * 4], x[MOST_COLUMNS * 4], sx = 0, sy = 0, sxx = 0, sxy = 0;
    int ns = perp_model_count(model, PERP_STATE);
    assert_true(ns <= MOST_COLUMNS * 4 && n <= MOST_STEPS);
    end_of(model, by, to, ldexp(h, -n - 1), reference);
    for (int k = 0; k < n; k++) {
        error[k] = 0;
        end_of(model, by, to, ldexp(h, -k), x);
        for (int i = 0; i < ns; i++) error[k] = fmax(error[k], fabs(x[i] - reference[i]));
        double lx = -k * log(2), ly = log(fmax(error[k], 1e-300));
        sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* Where motion is smooth -------------------------------------------------------------------------- */

static const char pendulum[] = "state th = 2, w = 0\nder(th) = w\nder(w) = -9.81*sin(th)\n";
static const char stribeck[] =
    "state x = 1, v = 0\nder(x) = v\n"
    "der(v) = -4*x - tanh(20*v)*(0.1 + 0.2*exp(-(v/0.3)^2)) + cos(3*t)\n";
static const char two_pendulums[] =
    "param g = 9.81\nstate a = 2, b = 1, u = 0, w = 0\nder(a) = u\nder(b) = w\n"
    "2*der(u) + cos(a - b)*der(w) = -sin(a - b)*w^2 - 2*g*sin(a)\n"
    "cos(a - b)*der(u) + der(w) = sin(a - b)*u^2 - g*sin(b)\n";

static void smooth_motion_has_the_order_of_the_method(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double to, h[2]; /* of radau3, radau5 */
    } cases[] = {
        {pendulum, 1, {0.02, 0.05}}, {stribeck, 1, {8e-3, 2e-2}}, {two_pendulums, 1, {4e-3, 0.02}}};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            perp_model *model = parse_model(cases[i].text);
            double error[MOST_STEPS];
            double order = fit_order(model, k ? PERP_RADAU5 : PERP_RADAU3, cases[i].to,
                                     cases[i].h[k], 4, error);
            if (!(order > (k ? 4.6 : 2.8)))
                fail_msg("case %d, radau%d: order %g, errors %g .. %g", i, k ? 5 : 3, order,
                         error[0], error[3]);
            perp_model_destroy(model);
        }
    }
}

/* A pendulum from 2 rad: energy at the end, and the time of a quarter of its period, K(sin 1) sqrt(l/g). */
static void a_pendulum_keeps_its_energy_and_its_period(void **state)
{
    (void)state;
    perp_model *model = parse_model(pendulum);
    double a = 1, b = cos(1), x[2];
    while (fabs(a - b) > 1e-15) { /* the arithmetic-geometric mean */
        double mean = (a + b) / 2;
        b = sqrt(a * b), a = mean;
    }
    double quarter = 3.141592653589793 / 2 / a / sqrt(9.81);
    end_of(model, PERP_RADAU5, quarter, quarter / 100, x);
    assert_true(fabs(x[0]) < 1e-10);
    assert_true(fabs(x[1] + sqrt(2 * 9.81 * (1 - cos(2)))) < 1e-10);
    perp_model_destroy(model);
}

/* Through events ---------------------------------------------------------------------------------- */

static void events_keep_the_order(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double to, h;
        int n;
    } cases[] = {{"ball", 2.4, 0.2, 4},  {"oscillator", 12, 0.4, 4},
                 {"discs", 1.2, 0.1, 4}, {"rocking", 1.5, 0.1, 5},
                 {"wheel", 6.4, 0.4, 5}, {"woodpecker", 0.1, 1e-3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load_data(cases[i].name);
        double error[MOST_STEPS];
        double order = fit_order(model, PERP_RADAU5, cases[i].to, cases[i].h, cases[i].n, error);
        print_message("%-12s order %.2f, errors %.1e .. %.1e\n", cases[i].name, order, error[0],
                      error[cases[i].n - 1]);
        if (!(order >= 4 && error[cases[i].n - 1] <= 1e-8))
            fail_msg("%s: order %g, errors %g .. %g", cases[i].name, order, error[0],
                     error[cases[i].n - 1]);
        perp_model_destroy(model);
    }
}

/* Where the other steps of a run are smooth, the error falls by the order of the method with each halving of the step until nothing but rounding is left, which does not grow with
 * the number of steps: slopes are sums of differences. The example of FESD (Nurkanovic, Sperl, Albrecht, Diehl 2024), against its closed form. */
static void a_switch_keeps_the_order_down_to_rounding(void **state)
{
    (void)state;
    static const struct {
        perp_integrator by;
        double order, least; /* above this there is no rounding in the error */
    } cases[] = {{PERP_RADAU3, 3, 1e-6}, {PERP_RADAU5, 5, 1e-12}, {PERP_RADAU7, 7, 1e-12}};
    const double pi = 3.141592653589793, T = pi / 2;
    perp_model *model = load_data("spirals");
    for (int i = 0; i < 3; i++) {
        double before = 0;
        print_message("spirals by %s:", perp_integrator_name(cases[i].by));
        for (int n = 16; n <= 1024; n *= 2) {
            double x[2];
            end_of(model, cases[i].by, T, T / n, x);
            double off = hypot(x[0] - exp(T - 1) * cos(2 * pi * (T - 1)),
                               x[1] - exp(T - 1) * sin(2 * pi * (T - 1)));
            print_message(" %.1e", off);
            if (n > 16 && before > ldexp(cases[i].least, (int)cases[i].order) &&
                !(log2(before / off) > cases[i].order - 0.15))
                fail_msg("%d steps: order %g", n, log2(before / off));
            before = off;
        }
        print_message("\n");
        if (!(before < 2 * cases[i].least)) fail_msg("off by %g", before);
        if (cases[i].by == PERP_RADAU7) assert_true(before < 1e-13);
    }
    perp_model_destroy(model);
}

/* From z = 1 with v = 0.3: what a ball does through all its impacts, in steps as long as many of them, or as the last but some. */
static void impacts_accumulate_within_a_step(void **state)
{
    (void)state;
    static const double e[] = {0.3, 0.8, 0.95, 0.99};
    for (int i = 0; i < 4; i++) {
        char text[256];
        double v = sqrt(0.09 + 2 * 9.81),
               rest = (0.3 + v) / 9.81 + 2 * v / 9.81 * e[i] / (1 - e[i]);
        snprintf(text, sizeof text,
                 "state z = 1, v = 0.3\nvar p\nder(z) = v\nder(v) = p - 9.81\n"
                 "0 <= p perp v + %g*pre(v) >= 0 when z <= 0\n",
                 e[i]);
        perp_model *model = parse_model(text);
        for (int n = 32; n <= 512; n *= 4) {
            double to = 1.02 * rest;
            run r = run_by(model, PERP_RADAU5, to, to / n);
            const double *last = r.value + (r.nrow - 1) * r.ncolumn;
            if (perp_simulation_fallback_steps(r.sim, NULL) > 0 || !(fabs(last[1]) < 1e-8) ||
                !(fabs(last[2]) < 1e-8))
                fail_msg("e = %g, %d steps: off by %g, %g", e[i], n, last[1], last[2]);
            perp_simulation_destroy(r.sim);
            free(r.value);
        }
        perp_model_destroy(model);
    }
}

/* A ball with e = 0.8 that slides while it bounces: at rest from T0 = v0/g (1 + 2 e/(1 - e)) on, when friction, whose impulses are mu
 * times those of the contact, has taken mu g T. */
static void a_ball_comes_to_rest_through_infinitely_many_impacts(void **state)
{
    (void)state;
    static const char text[] =
        "param g = 9.81, mu = 0.1\nstate z = 1, v = 0, x = 0, u = 10\nvar p, f\n"
        "der(z) = v\nder(v) = p - g\nder(x) = u\nder(u) = f\n"
        "0 <= p perp v + 0.8*pre(v) >= 0 when z <= 0\n-mu*p <= f <= mu*p perp u\n";
    perp_model *model = parse_model(text);
    double x[4], T = 5;
    for (double h = 0.05; h > 0.004; h /= 2) {
        end_of(model, PERP_RADAU5, T, h, x);
        assert_true(fabs(x[0]) < 1e-8 && fabs(x[1]) < 1e-8);
        if (!(fabs(x[3] - (10 - 0.1 * 9.81 * T)) < 1e-8))
            fail_msg("h = %g: u off by %g", h, x[3] - (10 - 0.981 * T));
    }
    perp_model_destroy(model);
}

/* m x'' = -k x -+ F from x = 1: extremes 1, -0.7, 0.4, -0.1 after half periods, and there it sticks. */
static void a_mass_on_a_spring_stops_where_friction_holds_it(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1, v = 0\nvar f\nder(x) = v\nder(v) = f - x\n"
                                    "-0.15 <= f <= 0.15 perp v\n");
    double x[2];
    end_of(model, PERP_RADAU5, 12, 0.1, x);
    assert_true(fabs(x[0] + 0.1) < 1e-7 && x[1] == 0);
    end_of(model, PERP_RADAU5, 12, 0.01, x);
    assert_true(fabs(x[0] + 0.1) < 1e-11 && x[1] == 0);
    perp_model_destroy(model);
}

/* The same with the force of a stop stated by positions: it closes without rebound and opens where the force is 0. */
static void a_stop_closes_and_opens(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1, v = 0\nvar p\nder(x) = v\n"
                                    "der(v) = p - x + 0.5*sin(t - 1)\n0 <= p perp x + 0.2 >= 0\n");
    double error[MOST_STEPS], order = fit_order(model, PERP_RADAU5, 9.6, 0.2, 4, error);
    if (!(order >= 4 && error[3] < 1e-8))
        fail_msg("order %g, errors %g .. %g", order, error[0], error[3]);
    perp_model_destroy(model);
}

/* A bead on the outside of a hoop, held by a position: it slides and leaves where p is 0. */
static void a_bead_slides_down_a_hoop_and_leaves_it(void **state)
{
    (void)state;
    perp_model *model = parse_model(
        "state x = 0, y = 1, u = 1, w = 0\nvar p\nder(x) = u\nder(y) = w\nder(u) = p*x\n"
        "der(w) = p*y - 9.81\n0 <= p perp x^2 + y^2 - 1 >= 0\n");
    double error[MOST_STEPS];
    fit_order(model, PERP_RADAU5, 0.4, 0.04, 2, error);
    if (!(error[0] < 2e-8)) fail_msg("error %g with steps of 0.04", error[0]);
    perp_model_destroy(model);
}

/* Off the end of a table at x = 1: a guard opens while its pair carries a force. */
static void a_block_falls_off_its_table(void **state)
{
    (void)state;
    perp_model *model =
        parse_model("param g = 9.81\nstate x = 0, z = 0, u = 2, v = 0\nvar p\nder(x) = u\n"
                    "der(z) = v\nder(u) = 0\nder(v) = p - g\n"
                    "0 <= p perp v >= 0 when z <= 0 and x <= 1\n");
    double x[4];
    end_of(model, PERP_RADAU5, 0.8, 0.08, x);
    assert_true(fabs(x[1] + 9.81 * 0.09 / 2) < 1e-8 && fabs(x[3] + 9.81 * 0.3) < 1e-8);
    perp_model_destroy(model);
}

/* z = (t - 0.82)^2 - 0.01 is negative between two points of a step of 1, and at none of them. */
static void what_happens_between_points_is_seen(void **state)
{
    (void)state;
    perp_model *model =
        parse_model("state z = 0.6624, v = -1.64\nvar p\nder(z) = v\nder(v) = p + 2\n"
                    "0 <= p perp z >= 0\n");
    double x[2];
    end_of(model, PERP_RADAU5, 1, 1, x);
    assert_true(fabs(x[0] - 0.28 * 0.28) < 1e-8 && fabs(x[1] - 0.56) < 1e-8);
    perp_model_destroy(model);
}

/* A ball thrown at 5 m/s meets a ceiling that is `below` its apex: for 1e-3 s, of 1e-6 m, somewhere within a step, also before its first point. */
static void a_guard_that_is_on_for_a_moment_is_seen(void **state)
{
    (void)state;
    static const double below[] = {1e-2, 1e-4, 1e-6};
    for (int i = 0; i < 3; i++) {
        char text[256];
        double g = 9.81, c = 12.5 / g - below[i], up = sqrt(2 * g * below[i]), t = (5 - up) / g;
        double v = -0.5 * up - g * (1 - t), z = c - 0.5 * up * (1 - t) - g * (1 - t) * (1 - t) / 2;
        snprintf(text, sizeof text,
                 "param c = %.17g\nstate z = 0, v = 5\nvar p\nder(z) = v\nder(v) = -p - 9.81\n"
                 "0 <= p perp -v - 0.5*pre(v) >= 0 when z >= c\n",
                 c);
        perp_model *model = parse_model(text);
        for (int by = PERP_RADAU3; by <= PERP_RADAU7; by++) {
            for (int n = 1; n <= 20; n++) {
                double x[2];
                end_of(model, (perp_integrator)by, 1, 1.0 / n, x);
                if (!(fabs(x[0] - z) < 1e-10 && fabs(x[1] - v) < 1e-10))
                    fail_msg("%g below the apex, %d steps of radau%d: off by %g", below[i], n,
                             2 * (by - PERP_RADAU3) + 3, x[1] - v);
            }
        }
        perp_model_destroy(model);
    }
}

/* Two impacts within a step, and steps that end on the first one to the last bit: a mass that falls on a floor at t = 0.5, and others a little later. */
static void the_first_of_two_impacts_is_taken(void **state)
{
    (void)state;
    for (int k = 1; k <= 40; k++) {
        char text[512];
        double later = 0.5 + 0.002 * k, to = 0.75, s = to - later;
        snprintf(text, sizeof text,
                 "state z = 1, v = -2, y = %.17g, w = -1\nvar p, q\nder(z) = v\nder(v) = p\n"
                 "der(y) = w\nder(w) = q\n0 <= p perp v + 0.5*pre(v) >= 0 when z <= 0\n"
                 "0 <= q perp w + 0.5*pre(w) >= 0 when y <= 0\n",
                 later);
        perp_model *model = parse_model(text);
        for (int n = 1; n <= 32; n++) {
            double x[4];
            end_of(model, PERP_RADAU5, to, to / n, x);
            if (!(fabs(x[0] - 0.25) < 1e-12 && fabs(x[2] - s / 2) < 1e-12))
                fail_msg("%d steps, %g: off by %g, %g", n, later, x[0] - 0.25, x[2] - s / 2);
        }
        perp_model_destroy(model);
    }
}

static double largest_drift(const run *r, const char *name)
{
    double first = at(r, 0, name), worst = 0;
    for (long k = 0; k < r->nrow; k++) worst = fmax(worst, fabs(at(r, k, name) - first));
    return worst / fabs(first);
}

/* The bouncing test of SimBenchmark. */
static void elastic_balls_keep_their_energy(void **state)
{
    (void)state;
    run r = run_by(load_data("balls"), PERP_RADAU5, 20, 1e-2);
    double off = largest_drift(&r, "E");
    print_message("49 elastic balls, 20 s at 1e-2 s: energy off by %.1e of itself\n", off);
    if (!(off < 1e-10)) fail_msg("energy off by %g of itself", off);
    free_run(&r);
}

/* A force that a table gives, with kinks between the steps: x is cubic between them. */
static void tables_have_no_kink_within_a_step(void **state)
{
    (void)state;
    static const char rows[] = "t,u\n0,0\n0.33,1\n1,0\n";
    double x[2];
    perp_model *model = parse_model("input u\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n");
    perp_trajectory *table = NULL;
    assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "test", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(model, "u", table, NULL, "test", NULL), PERP_OK);
    end_of(model, PERP_RADAU5, 1, 0.1, x);
    assert_true(fabs(x[1] - 0.5) < 1e-13);
    perp_trajectory_destroy(table);
    perp_model_destroy(model);
}

/* Snapshots and copies, at every step of a run with impacts: not a bit of what follows is another. */
static void a_run_goes_on_from_a_snapshot(void **state)
{
    (void)state;
    const char *names[] = {"ball", "oscillator", "rocking", "balls"};
    for (int k = 0; k < 4; k++) {
        perp_model *model = load_data(names[k]);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim, *other, *copy;
        double row[2][256];
        o.to = k == 3 ? 0.7 : 4.5, o.step = 0.02;
        assert_int_equal(perp_simulation_create(model, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_create(model, &o, &other, NULL), PERP_OK);
        size_t size = perp_simulation_snapshot_size(sim),
               bytes = (size_t)perp_simulation_columns(sim) * sizeof(double);
        void *snapshot = malloc(size);
        assert_true(bytes <= sizeof row[0]);
        while (perp_simulation_time(sim) < o.to - 0.01) {
            assert_int_equal(perp_simulation_snapshot(sim, snapshot, size), PERP_OK);
            assert_int_equal(perp_simulation_restore(other, snapshot, size, NULL), PERP_OK);
            assert_int_equal(perp_simulation_clone(sim, &copy, NULL), PERP_OK);
            assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
            perp_simulation_row(sim, row[0]);
            perp_simulation *next[] = {other, copy};
            for (int i = 0; i < 2; i++) {
                assert_int_equal(simulation_step(next[i], NULL, NULL), PERP_OK);
                perp_simulation_row(next[i], row[1]);
                if (memcmp(row[0], row[1], bytes) != 0)
                    fail_msg("%s: differs after t = %g", names[k], row[0][0]);
            }
            perp_simulation_destroy(copy);
        }
        free(snapshot);
        perp_simulation_destroy(other);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* Against closed forms: backward Euler on a spring, x = cos t; and a run that is right to rounding. */
static void the_error_of_a_run_is_estimated(void **state)
{
    (void)state;
    perp_model *model = parse_model("state x = 1, v = 0\nder(x) = v\nder(v) = -x\n");
    double error[2], unsure[2];
    run r = run_by(model, PERP_BACKWARD_EULER, 10, 1e-3);
    assert_int_equal(perp_simulation_estimate(r.sim, 10, error, unsure, NULL, NULL), PERP_OK);
    for (int i = 0; i < 2; i++) {
        double right = fabs(perp_simulation_state(r.sim, i) - (i ? -sin(10) : cos(10)));
        assert_true(fabs(error[i] - right) < 0.01 * right && unsure[i] < 0.01 * right);
    }
    perp_simulation *copy;
    size_t size = perp_simulation_snapshot_size(r.sim);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(perp_simulation_snapshot(r.sim, bytes, size), PERP_OK);
    assert_int_equal(perp_simulation_clone(r.sim, &copy, NULL), PERP_OK);
    assert_int_equal(perp_simulation_estimate(copy, 10, error, unsure, NULL, NULL), PERP_OK);
    assert_int_equal(perp_simulation_set_state(copy, 0, 2),
                     PERP_OK); /* not from the start any more */
    assert_int_equal(perp_simulation_estimate(copy, 10, error, unsure, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_restore(r.sim, bytes, size, NULL), PERP_OK);
    assert_int_equal(perp_simulation_estimate(r.sim, 10, error, unsure, NULL, NULL), PERP_ERR_ARG);
    free(bytes);
    perp_simulation_destroy(copy);
    perp_simulation_destroy(r.sim);
    free(r.value);
    perp_model_destroy(model);
}

/* A block whose friction is stated by pairs with the guard of its contact: it bounces dead, slides and stops at 1.0194 s, after the
 * impulse m sqrt(2 g) and the weight have taken 1 m/s. */
static void friction_keeps_the_guard_of_its_contact(void **state)
{
    (void)state;
    perp_model *model = load_model("notes/particle.perp");
    double x[4], fall = sqrt(2 / 9.81), u = 1 - 0.1 * sqrt(2 * 9.81);
    for (double h = 1e-2; h > 5e-4; h /= 2) {
        end_of(model, PERP_RADAU5, 1.2, h, x);
        if (!(fabs(x[0] - fall - u * u / (2 * 0.981)) < 1e-8 && x[2] == 0))
            fail_msg("h = %g: x off by %g", h, x[0] - fall - u * u / (2 * 0.981));
    }
    perp_model_destroy(model);
}

/* The currents of a rectifier fall to 0, and are not negative by rounding there. */
static void currents_end_at_zero(void **state)
{
    (void)state;
    perp_model *model = load_model("circuits/diode_bridge.perp");
    double u[1], half[1];
    end_of(model, PERP_RADAU5, 0.079, 1e-4, u);
    end_of(model, PERP_RADAU5, 0.079, 5e-5, half);
    assert_true(fabs(u[0] - half[0]) < 1e-8);
    perp_model_destroy(model);
}

/* What is refused --------------------------------------------------------------------------------- */

static void expect_refusal(const char *text, const char *words)
{
    perp_model *model = parse_model(text);
    perp_simulation *sim = NULL;
    perp_diag diag = {0};
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = PERP_RADAU5, o.to = 2, o.step = 0.1;
    perp_status status = perp_simulation_create(model, &o, &sim, &diag);
    if (status == PERP_OK) status = simulation_run(sim, NULL, NULL, &diag);
    if (status == PERP_OK || !strstr(perp_diag_text(&diag), words))
        fail_msg("expected '%s' in: %s", words, perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

static void what_has_no_instant_is_refused(void **state)
{
    (void)state;
    expect_refusal("state x = 1\nvar p\nder(x) = p\n0 <= p perp x/h + 1 >= 0\n", "the step h");
    expect_refusal("state v[2] = 1\nvar f[2]\nder(v) = f\nfriction(f = f, v = v, bound = 1)\n",
                   "exact friction cone");
}

/* An event 1e-10 s before the end of a step: of the slopes of so short a part rounding is counted of 1e9 times the states. In what follows, which has no derivative and no solution by
 * backward Euler, it counted, too, so that x stood still, "verified". */
static void a_short_part_lends_no_rounding_to_what_follows(void **state)
{
    (void)state;
    expect_refusal("state x = 0.9, y = 0, z = 0.1 - 1.2e-10\nvar p\nder(x) = 1\n"
                   "der(y) = acos(max(-1, min(1, x)))\nder(z) = p - 1\n0 <= p perp z >= 0\n",
                   "is not a number");
}

/* Straight flight is exact, so that nothing but impacts can be off: by a ball that meets a floor that swings, and a bowl z = x^2/2. Free flight from each impact to the next, whose time
 * is a root found by halving. */
static void impacts_are_right_to_rounding(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "state x = 0, z = 1, u = 0, w = 0\nvar p\nlet r = w - 0.5*cos(5*t)\nder(x) = u\n"
        "der(z) = w\nder(u) = 0\nder(w) = p - 9.81\n"
        "0 <= p perp r + 0.8*pre(w - 0.5*cos(5*t)) >= 0 when z <= 0.1*sin(5*t)\n",
        "state x = 0.3, z = 1, u = 0.2, w = 0\nvar p\nder(x) = u\nder(z) = w\nder(u) = -p*x\n"
        "der(w) = p - 9.81\n0 <= p perp w - x*u + 0.8*pre(w - x*u) >= 0 when z <= x^2/2\n"};
    for (int i = 0; i < 2; i++) {
        perp_model *model = parse_model(texts[i]);
        double x = i ? 0.3 : 0, z = 1, u = i ? 0.2 : 0, w = 0, t = 0, to = i ? 1.8 : 2.6;
        for (int n = 0;; n++) {
            double a = n > 0 ? 1e-6 : 0, b = a, gap = 1;
            while (gap > 0 && t + b < to) {
                a = b, b += 1e-3;
                gap = z + w * b - 9.81 * b * b / 2 -
                      (i ? (x + u * b) * (x + u * b) / 2 : 0.1 * sin(5 * (t + b)));
            }
            for (int k = 0; k < 60 && gap <= 0; k++) {
                double s = (a + b) / 2;
                double at = z + w * s - 9.81 * s * s / 2 -
                            (i ? (x + u * s) * (x + u * s) / 2 : 0.1 * sin(5 * (t + s)));
                if (at > 0)
                    a = s;
                else
                    b = s;
            }
            double s = gap <= 0 && t + b < to ? b : to - t;
            x += u * s, z += w * s - 9.81 * s * s / 2, w -= 9.81 * s, t += s;
            if (t >= to - 1e-12) break;
            double fall = i ? w - x * u : w - 0.5 * cos(5 * t),
                   p = 1.8 * fall / (i ? 1 + x * x : 1);
            if (i) u += p * x;
            w -= p;
        }
        for (double h = to / 8; h > to / 200; h /= 4) {
            double end[4];
            end_of(model, PERP_RADAU5, to, h, end);
            double off = fmax(fmax(fabs(end[0] - x), fabs(end[1] - z)),
                              fmax(fabs(end[2] - u), fabs(end[3] - w)));
            if (!(off < 2e-13)) fail_msg("floor %d, h = %g: off by %g", i, h, off);
        }
        perp_model_destroy(model);
    }
}

/* x is pushed through its bound at t = 1. */
static void what_cannot_go_on_is_told_with_its_time(void **state)
{
    (void)state;
    expect_refusal("state x = 0\nvar p\nder(x) = 1\n0 <= p perp 1 - x >= 0\n", "t = 1");
}

/* How many causes there were, which add up to n steps. */
static int causes_of(const perp_simulation *sim, long n)
{
    const char *words;
    long sum = 0, some = 0;
    for (int k = 0;; k++) {
        long count = perp_simulation_fallback_cause(sim, k, &words);
        if (!words) break;
        sum += count, some += count > 0;
        if (count) print_message("%ld: %s\n", count, words);
    }
    assert_int_equal(sum, n);
    return (int)some;
}

/* Redundant contacts, an index that changes, contacts that chatter at rest: steps that a Radau method cannot take are left to backward Euler,
 * counted, and told why. */
static void what_events_cannot_pass_is_left_to_backward_euler(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double to, near;
        long least, most; /* steps by backward Euler */
    } cases[] = {{"circuits/diode_bridge", 0.095, 1e-2, 0, 0},
                 {"circuits/pipe", 2, 1e-4, 200, 200},
                 {"mechanics/painleve", 0.01, 1e-3, 0, 0},
                 {"mechanics/slider_crank", 5, 5e-2, 0, 0},
                 /* of which half the step moves backward Euler by 2e-4 */
                 {"mechanics/square", 1.5, 1e-3, 0, 1500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[1024];
        perp_diag diag = {0};
        perp_model *model;
        double x[MOST_COLUMNS];
        snprintf(path, sizeof path, "%s/examples/%s.perp", PERP_SOURCE_DIR, cases[i].name);
        if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        double step = perp_simulation_options_default(model).step;
        end_of(model, PERP_BACKWARD_EULER, cases[i].to, step, x);
        run r = run_by(model, PERP_RADAU5, cases[i].to, step);
        long n = perp_simulation_fallback_steps(r.sim, &diag);
        const char *why = perp_diag_text(&diag);
        if (n < cases[i].least || n > cases[i].most || (n > 0 && !strstr(why, "at t = ")))
            fail_msg("%s: %ld steps: %s", cases[i].name, n, why);
        assert_true((causes_of(r.sim, n) > 0) == (n > 0));
        double off = r.value[(r.nrow - 1) * r.ncolumn + 1] - x[0];
        if (!(fabs(off) < cases[i].near)) fail_msg("%s: off by %g", cases[i].name, off);
        perp_simulation_destroy(r.sim);
        perp_model_destroy(model);
        perp_diag_clear(&diag);
        free(r.value);
    }
}

/* A closed loop whose crank turns back again and again under dry friction: its positions, divided by a short step, are velocities of nothing but rounding, which at a reversal decide
 * about the side. With steps too short one of them was left to backward Euler, and the rates were off by 2e-3. */
static void a_loop_turns_back_under_friction(void **state)
{
    (void)state;
    static const double steps[] = {2e-3, 1e-3};
    perp_model *model = load_or_parse("bench/scenes/fourbar.perp");
    double right[MOST_COLUMNS], x[MOST_COLUMNS], off[2] = {0};
    end_of(model, PERP_RADAU7, 5, 1e-3, right);
    for (int k = 0; k < 2; k++) {
        run r = run_by(model, PERP_RADAU5, 5, steps[k]);
        assert_int_equal(perp_simulation_fallback_steps(r.sim, NULL), 0);
        for (int i = 0; i < 6; i++) {
            x[i] = r.value[(r.nrow - 1) * r.ncolumn + 1 + i];
            off[k] = fmax(off[k], fabs(x[i] - right[i]));
        }
        perp_simulation_destroy(r.sim);
        free(r.value);
    }
    print_message("four-bar, 5 s: off by %.1e at 2 ms, %.1e at 1 ms\n", off[0], off[1]);
    assert_true(off[1] < 1e-4 && off[0] > 16 * off[1]); /* order 4 at least */
    perp_model_destroy(model);
}

/* What a state was before: at an instant that is what it is, so that a switch by pre(v) is located as one by v, and held where motion slides along it. From 9 m/s a thrust of 5
 * is trebled above 10: v = 10 after 0.2 s, then 22; q = 1.9 + 8 + 15 0.64/2. It left a step to backward Euler each time. */
static void a_switch_by_what_was_before_has_the_order_of_the_method(void **state)
{
    (void)state;
    static const char thrust[] =
        "state q = 0, v = 9\nvar now, before\nder(q) = v\nder(v) = 5*(1 + now + before)\n"
        "0 <= now <= 1 perp 10 - v\n0 <= before <= 1 perp 10 - pre(v)\n";
    static const char *const switches[] = {
        /* a heater; a spring that dry friction holds in the end, also by products */
        "state T = 15, w = 0\nvar on\nder(T) = 8*on - 0.5*(T - 10) + 2*sin(3*t) + 0.1*w\nder(w) = "
        "T - w\n"
        "0 <= on <= 1 perp %s(T) - 18 + sin(t)\n",
        "state x = 1, v = 0\nvar f\nder(x) = v\nder(v) = -9*x + 3*f - 0.3\n-1 <= f <= 1 perp "
        "%s(v)\n",
        "state x = 1, v = 0, w = 2\nvar f\nder(x) = v\nder(v) = -9*x + w*f\nder(w) = -0.3*w*x*x\n"
        "-1 <= f <= 1 perp %s(v)\n"};
    perp_model *model = parse_model(thrust);
    for (int by = PERP_RADAU3; by <= PERP_RADAU7; by++) {
        for (int n = 1; n <= 16; n *= 4) {
            run r = run_by(model, (perp_integrator)by, 1, 1.0 / n);
            const double *last = r.value + (r.nrow - 1) * r.ncolumn;
            assert_int_equal(perp_simulation_fallback_steps(r.sim, NULL), 0);
            assert_true(fabs(last[1] - 14.7) < 1e-10 && fabs(last[2] - 22) < 1e-10);
            assert_true(last[3] == 1 && last[4] == 1);
            perp_simulation_destroy(r.sim);
            free(r.value);
        }
    }
    perp_model_destroy(model);
    for (int i = 0; i < 3; i++) {
        char text[2][512];
        double error[3], other[3], x[3];
        snprintf(text[0], sizeof text[0], switches[i], "pre");
        snprintf(text[1], sizeof text[1], switches[i], "");
        model = parse_model(text[0]);
        double order = fit_order(model, PERP_RADAU5, 4, 0.1, 3, error);
        end_of(model, PERP_RADAU5, 4, 0.0125, x);
        perp_model_destroy(model);
        model = parse_model(text[1]);
        end_of(model, PERP_RADAU5, 4, 0.0125, other);
        perp_model_destroy(model);
        print_message("switch %d by pre: order %.2f, error %.1e\n", i, order, error[2]);
        if (!(order > 4.5 && error[2] < 1e-7)) fail_msg("order %g, %g", order, error[2]);
        assert_true(fabs(x[0] - other[0]) < 1e-11 && fabs(x[1] - other[1]) < 1e-11);
    }
}

/* A body at rest in a contact whose velocity and gap fall below what a double has digits for. */
static void what_is_less_than_any_number_is_taken(void **state)
{
    (void)state;
    perp_model *model = parse_model(
        "param p = 0.01\nstate x = 0, v = 0, y = 0, w = 0\nvar f, g\nder(x) = v\nder(y) = w\n"
        "0 <= f perp v + 0.5*pre(v) >= 0 when x <= 0\nder(v) = 1 - p + f\n"
        "0 <= g perp y >= 0\nder(w) = p*t - 1 - y + g\nsimulate to 0.3 step 0.01\n");
    run r = run_by(model, PERP_RADAU5, 0, 0.01);
    assert_int_equal(perp_simulation_fallback_steps(r.sim, NULL), 0);
    assert_near(perp_simulation_state(r.sim, 0), 0.045 * (1 - 0.01), 1e-14);
    free_run(&r);
}

/* A mass that friction holds, beside a cubic equation: what a solve leaves in its velocity of 0 is the rounding of other rows, 1e-38, and has no terms but itself. */
static void a_state_that_is_held_at_zero_is_taken(void **state)
{
    (void)state;
    perp_model *model = parse_model(
        "state x = 0.033, y = -0.7, z = -0.371, v = 0\nvar g, p, f\ng + 0.1*g^3 = 1.04 + 0.4*t\n"
        "0 <= p perp z + 0.52 + 0.01*p >= 0\n-0.7 <= f <= 0.64 perp v\nder(x) = -x + 0.1*g - "
        "0.471\n"
        "der(y) = -y + 0.3*x\nder(z) = -z + 0.3*exp(-exp(-2*abs(y))) + p\n"
        "der(v) = -v + 0.3*(max(v, z) - 1.04)*z^4 + f\nsimulate to 0.5 step 0.01\n");
    run r = run_by(model, PERP_RADAU5, 0, 0.01);
    assert_int_equal(perp_simulation_fallback_steps(r.sim, NULL), 0);
    free_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smooth_motion_has_the_order_of_the_method),
        cmocka_unit_test(a_pendulum_keeps_its_energy_and_its_period),
        cmocka_unit_test(events_keep_the_order),
        cmocka_unit_test(a_switch_keeps_the_order_down_to_rounding),
        cmocka_unit_test(impacts_accumulate_within_a_step),
        cmocka_unit_test(a_ball_comes_to_rest_through_infinitely_many_impacts),
        cmocka_unit_test(a_mass_on_a_spring_stops_where_friction_holds_it),
        cmocka_unit_test(a_stop_closes_and_opens),
        cmocka_unit_test(a_bead_slides_down_a_hoop_and_leaves_it),
        cmocka_unit_test(a_block_falls_off_its_table),
        cmocka_unit_test(what_happens_between_points_is_seen),
        cmocka_unit_test(the_first_of_two_impacts_is_taken),
        cmocka_unit_test(a_guard_that_is_on_for_a_moment_is_seen),
        cmocka_unit_test(elastic_balls_keep_their_energy),
        cmocka_unit_test(tables_have_no_kink_within_a_step),
        cmocka_unit_test(a_run_goes_on_from_a_snapshot),
        cmocka_unit_test(the_error_of_a_run_is_estimated),
        cmocka_unit_test(friction_keeps_the_guard_of_its_contact),
        cmocka_unit_test(currents_end_at_zero),
        cmocka_unit_test(what_has_no_instant_is_refused),
        cmocka_unit_test(a_short_part_lends_no_rounding_to_what_follows),
        cmocka_unit_test(impacts_are_right_to_rounding),
        cmocka_unit_test(what_cannot_go_on_is_told_with_its_time),
        cmocka_unit_test(a_switch_by_what_was_before_has_the_order_of_the_method),
        cmocka_unit_test(a_loop_turns_back_under_friction),
        cmocka_unit_test(what_is_less_than_any_number_is_taken),
        cmocka_unit_test(a_state_that_is_held_at_zero_is_taken),
        cmocka_unit_test(what_events_cannot_pass_is_left_to_backward_euler),
    };
    return run_all(tests);
}
