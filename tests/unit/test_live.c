/* A simulation in the hand: values are read and set between steps, a run ends where it is told and begins again. */

#include "runs.h"
#include "outcomes.h"

#include <stdio.h>

static const char cart[] = "model cart\n"
                           "param m = 2 \"kg\", mu = 0.1, weight = m*9.81, n = 1\n"
                           "input F in [-50, 50]\n"
                           "input wind = sin(3*t)/n\n"
                           "state x = 0, v = 1\n"
                           "var f\n"
                           "der(x) = v\n"
                           "m*der(v) = F + wind + f\n"
                           "-mu*weight <= f <= mu*weight perp v\n"
                           "output power = F*v + f*v, rate = der(v)\n"
                           "simulate to 2 step 0.01\n";

static int id(const perp_model *m, const char *name)
{
    perp_symbol_kind kind;
    int i;
    if (!perp_model_find(m, name, &kind, &i)) fail_msg("no '%s'", name);
    return i;
}

/* All inputs and parameters may be set. */
static perp_simulation *create(const perp_model *m, perp_integrator integrator)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = integrator;
    o.ninput = o.nparameter = PERP_ALL;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static perp_simulation *create_plain(const perp_model *m, perp_integrator integrator)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = integrator;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static void step(perp_simulation *sim)
{
    perp_diag diag = {0};
    if (simulation_step(sim, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static void set(perp_simulation *sim, const perp_model *m, const char *input, double value)
{
    assert_int_equal(perp_simulation_set_input(sim, id(m, input), value), PERP_OK);
}

static void expect_same_row(const perp_simulation *a, const perp_simulation *b)
{
    double x[32], y[32];
    int n = perp_simulation_columns(a);
    assert_int_equal(n, perp_simulation_columns(b));
    assert_true(n <= 32);
    perp_simulation_row(a, x);
    perp_simulation_row(b, y);
    for (int c = 0; c < n; c++)
        if (memcmp(x + c, y + c, sizeof *x) != 0 && !(isnan(x[c]) && isnan(y[c])))
            fail_msg("t = %g, %s: %.17g and %.17g", x[0], perp_simulation_column_name(a, c), x[c],
                     y[c]);
}

static double force(int k)
{
    return 4 * sin(0.1 * k) - 2 * (k / 30 % 2);
}

/* A run that is driven is repeated by a table of what it was driven with, whatever the method. */
static void a_driven_run_is_the_run_of_its_table(void **state)
{
    static const perp_integrator method[] = {PERP_BACKWARD_EULER, PERP_THETA, PERP_MOREAU};
    (void)state;
    for (int i = 0; i < 3; i++) {
        perp_model *m = parse_model(cart), *other = parse_model(cart);
        char text[16384] = "t,F\n";
        for (int k = 0; k <= 200; k++)
            snprintf(text + strlen(text), 64, "%.17g,%.17g\n", 0.01 * k, force(k));
        perp_trajectory *table;
        assert_int_equal(perp_trajectory_parse(text, strlen(text), "F.csv", &table, NULL), PERP_OK);
        assert_int_equal(perp_model_set_input_table(other, "F", table, NULL, "F.csv", NULL),
                         PERP_OK);
        perp_simulation *driven = create(m, method[i]), *tabled = create_plain(other, method[i]);
        set(driven, m, "F", force(0));
        expect_same_row(driven, tabled);
        for (int k = 1; k <= 200; k++) {
            set(driven, m, "F", force(k));
            step(driven), step(tabled);
            expect_same_row(driven, tabled);
        }
        perp_simulation_destroy(driven);
        perp_simulation_destroy(tabled);
        perp_trajectory_destroy(table);
        perp_model_destroy(m);
        perp_model_destroy(other);
    }
}

/* F may be set, and all parameters; events are located. */
static perp_simulation *create_through_events(const perp_model *m, double from)
{
    static const char *const input[] = {"F"};
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = PERP_RADAU5, o.from = from;
    o.input = input, o.ninput = 1, o.nparameter = PERP_ALL;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static void expect_near_row(const perp_simulation *a, const perp_simulation *b)
{
    double x[32], y[32];
    perp_simulation_row(a, x), perp_simulation_row(b, y);
    for (int c = 0; c < perp_simulation_columns(a) - 1; c++)
        if (!(isnan(x[c]) && isnan(y[c])) && !near(x[c], y[c], 1e-10 * (1 + fabs(x[c]))))
            fail_msg("t = %g, %s: %.17g and %.17g", x[0], perp_simulation_column_name(a, c), x[c],
                     y[c]);
}

/* Stick and slip are located while the force is set from step to step; parameters change in the middle of a run. */
static void what_is_set_is_taken_through_events(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart), *other = parse_model(cart);
    char text[16384] = "t,F\n";
    for (int k = 0; k <= 200; k++)
        snprintf(text + strlen(text), 64, "%.17g,%.17g\n", 0.01 * k, force(k));
    perp_trajectory *table;
    set_value(m, "mu", 0.2), set_value(other, "mu", 0.2);
    assert_int_equal(perp_trajectory_parse(text, strlen(text), "F.csv", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(other, "F", table, NULL, "F.csv", NULL), PERP_OK);
    perp_simulation *driven = create_through_events(m, 0), *clone,
                    *tabled = create_plain(other, PERP_RADAU5);
    set(driven, m, "F", force(0));
    for (int k = 1; k <= 200; k++) {
        if (k == 100) { /* as a run that begins here with these numbers */
            set_value(other, "m", 3), set_value(other, "mu", 0.02);
            set_value(other, "x", perp_simulation_state(driven, 0));
            set_value(other, "v", perp_simulation_state(driven, 1));
            perp_simulation_set_parameter(driven, id(m, "m"), 3);
            perp_simulation_set_parameter(driven, id(m, "mu"), 0.02);
            perp_simulation_destroy(tabled);
            tabled = create_through_events(other, perp_simulation_time(driven));
        }
        set(driven, m, "F", force(k));
        if (k == 70) assert_int_equal(perp_simulation_clone(driven, &clone, NULL), PERP_OK);
        step(driven), step(tabled);
        expect_near_row(driven, tabled);
        if (k == 70) step(clone), expect_same_row(driven, clone);
    }
    const long *sides = simulation_summary(driven).modes[0];
    assert_true(sides[0] > 20 && sides[1] > 10 && sides[2] > 20);
    assert_int_equal(perp_simulation_fallback_steps(driven, NULL), 0);
    perp_simulation_destroy(driven);
    perp_simulation_destroy(tabled);
    perp_simulation_destroy(clone);
    perp_trajectory_destroy(table);
    perp_model_destroy(m);
    perp_model_destroy(other);
}

/* A function of time in the place of what may be set is refused, not left to another method; a constant is none. */
static void a_function_of_time_is_not_taken_through_events(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *m = parse_model(cart);
    perp_simulation *sim = create(m, PERP_RADAU5);
    set(sim, m, "F", 1);
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "input 'wind' has no value"));
    assert_non_null(strstr(perp_diag_text(&diag), "takes no function of time"));
    set(sim, m, "wind", 0);
    step(sim);
    perp_simulation_destroy(sim);
    set_value(m, "F", 2), set_value(m, "wind", 1);
    sim = create(m, PERP_RADAU5);
    perp_simulation *plain = create_plain(m, PERP_RADAU5);
    for (int k = 0; k < 50; k++) step(sim), step(plain), expect_near_row(sim, plain);
    perp_simulation_destroy(sim);
    perp_simulation_destroy(plain);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
}

static void an_input_that_was_not_set_is_as_the_model_says(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart), *other = parse_model(cart);
    set_value(other, "F", 3);
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER),
                    *plain = create_plain(other, PERP_BACKWARD_EULER);
    assert_true(isnan(perp_simulation_input(sim, id(m, "F"))));
    set(sim, m, "F", 3);
    assert_true(perp_simulation_input(sim, id(m, "F")) == 3);
    for (int k = 0; k < 100; k++) {
        step(sim), step(plain);
        expect_same_row(sim, plain);
    }
    set(sim, m, "wind", 7);
    step(sim), step(plain);
    assert_false(perp_simulation_state(sim, 1) == perp_simulation_state(plain, 1));
    set(sim, m, "wind", (double)NAN); /* again as the model says */
    step(sim);
    double before = perp_simulation_state(sim, 1), t = perp_simulation_time(sim) + 0.01;
    step(sim);
    double a = (3 + sin(3 * t) - 0.1 * 2 * 9.81) / 2;
    assert_true(near(perp_simulation_state(sim, 1), before + 0.01 * a, 1e-12));
    perp_simulation_destroy(sim);
    perp_simulation_destroy(plain);
    perp_model_destroy(m);
    perp_model_destroy(other);
}

static void an_input_without_a_value_is_named(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart);
    perp_diag diag = {0};
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER);
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag),
                           "input 'F' has no value at t = 0.01 (step 1): the "
                           "model gives none, and none was set"));
    set(sim, m, "F", 0);
    step(sim);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

static void a_state_that_is_set_is_where_the_run_goes_on(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart), *other = parse_model(cart);
    double row[16];
    set_value(other, "x", 0.25), set_value(other, "v", -2), set_value(other, "F", 1);
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER),
                    *plain = create_plain(other, PERP_BACKWARD_EULER);
    set(sim, m, "F", 1);
    assert_int_equal(perp_simulation_set_state(sim, 0, 0.25), PERP_OK);
    assert_int_equal(perp_simulation_set_state(sim, 1, -2), PERP_OK);
    for (int k = 0; k < 50; k++) {
        expect_same_row(sim, plain);
        step(sim), step(plain);
    }
    double t = perp_simulation_time(sim), x = perp_simulation_state(sim, 0);
    assert_int_equal(perp_simulation_set_state(sim, 1, 5), PERP_OK);
    perp_simulation_row(sim, row);
    assert_true(row[0] == t && row[1] == x && row[2] == 5);
    assert_true(isnan(row[perp_simulation_find_column(sim, "f")]));
    assert_true(isnan(row[perp_simulation_find_column(sim, "rate")]));
    assert_true(isnan(row[perp_simulation_find_column(sim, "residual")]));
    for (int c = 0; c < perp_simulation_columns(sim); c++) {
        double value = perp_simulation_value(sim, c);
        assert_true(value == row[c] || (isnan(value) && isnan(row[c])));
    }
    step(sim);
    double a = (1 + sin(3 * (t + 0.01)) - 0.1 * 2 * 9.81) / 2;
    assert_true(near(perp_simulation_state(sim, 1), 5 + 0.01 * a, 1e-12));
    perp_simulation_destroy(sim);
    perp_simulation_destroy(plain);
    perp_model_destroy(m);
    perp_model_destroy(other);
}

static void a_parameter_that_is_set_holds_from_there(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart), *other = parse_model(cart);
    set_value(other, "m", 3), set_value(other, "mu", 0.2), set_value(other, "F", 2);
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER),
                    *plain = create_plain(other, PERP_BACKWARD_EULER);
    set(sim, m, "F", 2);
    assert_int_equal(perp_simulation_set_parameter(sim, id(m, "m"), 3), PERP_OK);
    assert_int_equal(perp_simulation_set_parameter(sim, id(m, "mu"), 0.2), PERP_OK);
    assert_true(perp_simulation_parameter(sim, id(m, "m")) == 3);
    assert_true(isnan(perp_simulation_parameter(sim, id(m, "weight")))); /* it follows from m */
    for (int k = 0; k < 50; k++) {
        step(sim), step(plain);
        expect_same_row(sim, plain);
    }
    double v = perp_simulation_state(sim, 1), t = perp_simulation_time(sim) + 0.01;
    assert_int_equal(perp_simulation_set_parameter(sim, id(m, "mu"), 0), PERP_OK);
    step(sim);
    assert_true(near(perp_simulation_state(sim, 1), v + 0.01 * (2 + sin(3 * t)) / 3, 1e-12));
    perp_simulation_reset(sim);
    assert_true(perp_simulation_parameter(sim, id(m, "m")) == 2);
    perp_simulation_destroy(sim);
    perp_simulation_destroy(plain);
    perp_model_destroy(m);
    perp_model_destroy(other);
}

/* Derivatives are those of the parameters as they were set, and a state that was set depends on none. */
static void derivatives_follow_what_is_set(void **state)
{
    (void)state;
    static const double d = 1e-6;
    double x[2], row[16], slope[16];
    const char *name = "mu";
    perp_model *m = parse_model(cart);
    for (int k = 0; k < 6; k++) {
        int side = k % 3;
        perp_simulation *sim = k < 3 ? create(m, PERP_BACKWARD_EULER) : create_through_events(m, 0);
        if (side == 2) assert_int_equal(perp_simulation_follow(sim, 1, &name, NULL), PERP_OK);
        set(sim, m, "F", 2);
        perp_simulation_set_parameter(sim, id(m, "m"), 3);
        perp_simulation_set_parameter(sim, id(m, "mu"),
                                      side == 2 ? 0.05 : 0.05 + (2 * side - 1) * d);
        for (int i = 0; i < 20; i++) step(sim);
        perp_simulation_set_state(sim, 1, 1);
        for (int i = 0; i < 20; i++) step(sim);
        perp_simulation_row(sim, row);
        if (side < 2) x[side] = row[1];
        if (side == 2) {
            assert_int_equal(perp_simulation_derivatives(sim, slope), PERP_OK);
            assert_true(near(slope[1], (x[1] - x[0]) / (2 * d), 1e-8));
        }
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(m);
}

static void advance_ends_where_it_is_told(void **state)
{
    static const char *const model[] = {cart, "state x = 1, v = 0\ninput F = 0\nder(x) = v\nder(v) "
                                              "= F - sin(x)\nsimulate to 2 step 0.01\n"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        perp_model *m = parse_model(model[i]);
        perp_step_info info = {.size = sizeof info};
        perp_diag diag = {0};
        perp_simulation *sim = create(m, PERP_BACKWARD_EULER),
                        *whole = create(m, PERP_BACKWARD_EULER);
        set(sim, m, "F", 1), set(whole, m, "F", 1);
        assert_int_equal(simulation_advance(sim, 0.1, &info, &diag), PERP_OK);
        assert_int_equal(info.step, 10);
        for (int k = 0; k < 10; k++) step(whole);
        expect_same_row(sim, whole);
        assert_int_equal(simulation_advance(sim, 0.1, &info, &diag), PERP_OK);
        assert_int_equal(info.step, 10);
        assert_int_equal(perp_simulation_steps(sim), 200);
        assert_int_equal(simulation_advance(sim, 0.1234, &info, &diag), PERP_OK);
        assert_int_equal(info.step, 13);
        assert_true(info.time == 0.1234 && perp_simulation_time(sim) == 0.1234);
        assert_int_equal(perp_simulation_steps(sim), 13 + 187);
        /* a simulation with that step from there takes the same one */
        perp_model *other = parse_model(model[i]);
        set_value(other, "x", perp_simulation_state(whole, 0));
        set_value(other, "v", perp_simulation_state(whole, 1));
        perp_simulation_options o = perp_simulation_options_default(other);
        perp_simulation *part;
        o.from = 0.1 + 2 * 0.01, o.step = 0.1234 - o.from;
        o.ninput = PERP_ALL;
        for (int k = 0; k < 2; k++) step(whole);
        set_value(other, "x", perp_simulation_state(whole, 0));
        set_value(other, "v", perp_simulation_state(whole, 1));
        assert_int_equal(perp_simulation_create(other, &o, &part, NULL), PERP_OK);
        set(part, other, "F", 1);
        step(part);
        for (int j = 0; j < 2; j++)
            assert_true(near(perp_simulation_state(part, j), perp_simulation_state(sim, j), 1e-14));
        assert_int_equal(simulation_advance(sim, 2, &info, &diag), PERP_OK);
        assert_true(perp_simulation_time(sim) == 2);
        assert_int_equal(info.step, 201);
        assert_int_equal(simulation_advance(sim, 2.5, NULL, &diag), PERP_ERR_ARG);
        assert_int_equal(simulation_advance(sim, 1, NULL, &diag), PERP_ERR_ARG);
        assert_int_equal(simulation_advance(sim, (double)NAN, NULL, &diag), PERP_ERR_ARG);
        perp_diag_clear(&diag);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(whole);
        perp_simulation_destroy(part);
        perp_model_destroy(m);
        perp_model_destroy(other);
    }
}

static void reset_goes_back_to_the_start(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart);
    perp_simulation *sim = create(m, PERP_THETA), *fresh = create(m, PERP_THETA);
    set(sim, m, "F", 5), set(sim, m, "wind", 1);
    perp_simulation_set_parameter(sim, id(m, "m"), 7);
    assert_int_equal(simulation_advance(sim, 0.777, NULL, NULL), PERP_OK);
    perp_simulation_set_state(sim, 0, 3);
    perp_simulation_reset(sim);
    set_value(m, "x", 9); /* does not reach it */
    perp_simulation_summary summary = simulation_summary(sim);
    assert_true(summary.steps == 0 && summary.time == 0 && summary.solves == 0 &&
                summary.modes[0][0] == 0);
    assert_int_equal(perp_simulation_steps(sim), 200);
    assert_true(isnan(perp_simulation_input(sim, id(m, "F"))));
    set(sim, m, "F", 1), set(fresh, m, "F", 1);
    for (int k = 0; k < 200; k++) {
        expect_same_row(sim, fresh);
        step(sim), step(fresh);
    }
    perp_simulation_destroy(sim);
    perp_simulation_destroy(fresh);
    perp_model_destroy(m);
}

/* Rows have the inputs, tables and functions of time, and their derivatives where these depend on parameters. */
static void inputs_are_columns(void **state)
{
    (void)state;
    static const char *const name[] = {"t", "x", "f", "u", "w", "e", "residual"};
    perp_model *m =
        parse_model("param k = 2\ninput u = k*sin(t), w\nstate x = 1\nvar f\nder(x) = f\n"
                    "f = u + w\noutput e = x^2\nsimulate to 1 step 0.1\n");
    static const char csv[] = "t,w\n0,1\n1,3\n";
    const char *k = "k";
    double row[7], slope[7];
    perp_trajectory *table;
    perp_simulation *sim;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "w.csv", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "w", table, NULL, "w.csv", NULL), PERP_OK);
    for (int set = 0; set < 2; set++) {
        sim = set ? create(m, PERP_THETA) : create_plain(m, PERP_THETA);
        assert_int_equal(perp_simulation_columns(sim), 7);
        for (int c = 0; c < 7; c++)
            assert_string_equal(perp_simulation_column_name(sim, c), name[c]);
        perp_diag diag = {0};
        assert_int_equal(perp_simulation_follow(sim, 1, &k, &diag), set ? PERP_ERR_ARG : PERP_OK);
        if (set) assert_non_null(strstr(perp_diag_text(&diag), "input 'u' depends on it"));
        perp_diag_clear(&diag);
        perp_simulation_row(sim, row);
        assert_true(row[3] == 0 && row[4] == 1 && row[5] == 1);
        for (int i = 0; i < 5; i++) step(sim);
        perp_simulation_row(sim, row);
        assert_true(near(row[3], 2 * sin(0.5), 1e-15) && near(row[4], 2, 1e-15));
        assert_true(near(row[5], row[1] * row[1], 1e-15));
        if (!set) {
            assert_int_equal(perp_simulation_derivatives(sim, slope), PERP_OK);
            assert_true(near(slope[3], sin(0.5), 1e-15) && slope[4] == 0);
            assert_true(near(slope[5], 2 * row[1] * slope[1], 1e-14));
        }
        perp_simulation_destroy(sim);
    }
    perp_trajectory_destroy(table);
    perp_model_destroy(m);
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    perp_model *m = parse_model(cart);
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER);
    double row[16];
    set(sim, m, "F", 1);
    step(sim);
    perp_simulation_row(sim, row);
    assert_int_equal(perp_simulation_find_column(sim, "t"), 0);
    assert_int_equal(perp_simulation_find_column(sim, "residual"),
                     perp_simulation_columns(sim) - 1);
    assert_int_equal(perp_simulation_find_column(sim, "g"), -1);
    for (int c = 0; c < perp_simulation_columns(sim); c++) {
        assert_int_equal(perp_simulation_find_column(sim, perp_simulation_column_name(sim, c)), c);
        assert_true(perp_simulation_value(sim, c) == row[c]);
    }
    assert_true(isnan(perp_simulation_value(sim, -1)) &&
                isnan(perp_simulation_value(sim, perp_simulation_columns(sim))));
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

static void expect_refusal(const perp_model *m, int ninput, const char *input, int nparameter,
                           const char *parameter, const char *word)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.input = input ? &input : NULL, o.ninput = ninput;
    o.parameter = parameter ? &parameter : NULL, o.nparameter = nparameter;
    assert_int_equal(perp_simulation_create(m, &o, &sim, &diag), PERP_ERR_ARG);
    assert_null(sim);
    if (!strstr(perp_diag_text(&diag), word))
        fail_msg("'%s' is not in: %s", word, perp_diag_text(&diag));
    perp_diag_clear(&diag);
}

static void what_cannot_be_set_is_refused(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("param n = 2, k = 1\ninput force = 1\nstate x[n] = 0\n"
                    "for i in 1..n { der(x[i]) = force - k*x[i] }\nsimulate to 1 step 0.1\n");
    expect_refusal(m, 1, "forse", 0, NULL, "did you mean 'force'?");
    expect_refusal(m, 1, "k", 0, NULL, "'k' is no input");
    expect_refusal(m, 1, NULL, 0, NULL, "not named");
    expect_refusal(m, 0, NULL, 1, "x[1]", "'x[1]' is no parameter");
    expect_refusal(m, 0, NULL, 1, "n", "'n' sets the size of the model; a run cannot change it");
    expect_refusal(m, 0, NULL, 1, "kk", "unknown parameter 'kk'");
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER);
    double inf = (double)INFINITY, nan = (double)NAN;
    assert_int_equal(perp_simulation_set_state(sim, -1, 0), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_state(sim, 2, 0), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_state(sim, 0, nan), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_input(sim, 1, 0), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_input(sim, -1, 0), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_input(sim, 0, inf), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_parameter(sim, 0, 3), PERP_ERR_ARG); /* a size */
    assert_int_equal(perp_simulation_set_parameter(sim, 1, inf), PERP_ERR_ARG);
    assert_true(isnan(perp_simulation_state(sim, 2)) && isnan(perp_simulation_parameter(sim, 0)));
    perp_simulation_destroy(sim);
    sim = create_plain(m, PERP_BACKWARD_EULER);
    assert_int_equal(perp_simulation_set_input(sim, 0, 0), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_set_parameter(sim, 1, 2), PERP_ERR_ARG);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

static int stop_at(void *context)
{
    long *left = context;
    return --*left < 0;
}

/* A step of many parts ends where it is told, at the last whole one; then it can be taken. */
static void a_step_of_many_parts_can_be_stopped(void **state)
{
    (void)state;
    static const perp_integrator by[] = {PERP_THETA, PERP_RADAU5};
    perp_model *model = parse_model("state x = 1, v = 0\nder(x) = v\nder(v) = -x^3 + sin(t)\n"
                                    "simulate to 100 step 50\n");
    for (int k = 0; k < 2; k++) {
        perp_diag diag = {0};
        long left = 1000000000;
        perp_simulation *sim;
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = by[k], o.accuracy = 1e-7, o.stop = stop_at, o.stop_context = &left;
        assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        double x = perp_simulation_state(sim, 0);
        left = 20;
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_STOPPED);
        assert_int_equal(left, -1); /* it was not asked again */
        assert_true(perp_simulation_time(sim) == 50 && perp_simulation_state(sim, 0) == x);
        left = 1000000000;
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        assert_true(perp_simulation_time(sim) == 100);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

/* Bounds of friction that cross from the second step on: no part of it has a solution, and those before are ever shorter. */
static void parts_that_lead_nowhere_end(void **state)
{
    (void)state;
    static const perp_integrator by[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    perp_model *model = parse_model("param g = 9.81, angle = 0.6\nstate x = 0, v = 0\nvar f\n"
                                    "der(x) = v\nder(v) = g*sin(angle) - f\n"
                                    "-g*cos(angle) <= f <= g*cos(angle) perp v\n"
                                    "simulate to 1 step 1e-3\n");
    for (int k = 0; k < 3; k++) {
        perp_diag diag = {0};
        perp_simulation *sim;
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = by[k], o.accuracy = 1e-4, o.nparameter = PERP_ALL;
        assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
        for (int i = 0; i < 10; i++) step(sim);
        assert_int_equal(perp_simulation_set_parameter(sim, 1, 1.68), PERP_OK);
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_NO_SOLUTION);
        assert_non_null(strstr(perp_diag_text(&diag), "the accuracy asked for at step 11"));
        assert_true(perp_simulation_time(sim) < 0.0105);
        perp_simulation_set_parameter(sim, 1, 0.6);
        step(sim);
        perp_diag_clear(&diag);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

/* A ball that falls on the floor: m v (1 + e) in the step of the impact, whatever its length; divided steps (--tol) and clones have the sum, and the sum over all steps is what changed the
 * momentum. */
static void moreau_has_impulses_of_forces(void **state)
{
    (void)state;
    static const char ball[] =
        "param m = 2, g = 9.81, e = 0.5, c = %s\nstate z = 1, v = 0\nvar p, gap\n"
        "gap = z\nder(z) = v\nm*der(v) = p - m*g - c*v*abs(v)\n"
        "0 <= p perp v + e*pre(v) >= 0 when z + h*v <= 0\n"
        "simulate { to 0.9\n step 1e-3\n method moreau }\n";
    for (int k = 0; k < 3; k++) {
        char text[512];
        perp_diag diag = {0};
        snprintf(text, sizeof text, ball, k ? "0.1" : "0");
        perp_model *m = load_or_parse(text);
        perp_simulation_options o = perp_simulation_options_default(m);
        o.accuracy = k == 2 ? 1e-5 : 0;
        perp_simulation *sim, *twin = NULL;
        assert_int_equal(perp_simulation_create(m, &o, &sim, &diag), PERP_OK);
        double x, sum = 0, largest = 0, fallen = 0, drag = 0;
        assert_int_equal(perp_simulation_impulse(sim, id(m, "p"), &x), 1);
        assert_true(isnan(x));
        assert_int_equal(perp_simulation_impulse(sim, id(m, "gap"), &x), 0); /* no force */
        assert_int_equal(perp_simulation_impulse(sim, 7, &x), 0);
        for (int i = 0; i < 900; i++) {
            double v = perp_simulation_state(sim, 1);
            step(sim);
            assert_int_equal(perp_simulation_impulse(sim, id(m, "p"), &x), 1);
            if (x > largest) largest = x, fallen = v;
            sum += x;
            v = (v + perp_simulation_state(sim, 1)) / 2;
            drag += (k ? 0.1 : 0) * v * fabs(v) * 1e-3;
        }
        assert_near(largest, 2 * 1.5 * -fallen, 0.1);
        assert_near(sum, 2 * perp_simulation_state(sim, 1) + 2 * 9.81 * 0.9 + drag,
                    k ? 1e-2 : 1e-10);
        assert_int_equal(perp_simulation_clone(sim, &twin, &diag), PERP_OK);
        double same = -1;
        perp_simulation_impulse(twin, id(m, "p"), &same);
        assert_true(same == x);
        perp_simulation_set_state(twin, 1, 0);
        perp_simulation_impulse(twin, id(m, "p"), &same);
        assert_true(isnan(same));
        perp_simulation_destroy(twin);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
    perp_model *m = load_or_parse(cart);
    perp_simulation *sim = create(m, PERP_THETA);
    assert_int_equal(perp_simulation_impulse(sim, 0, NULL), 0); /* of another method */
    perp_simulation_destroy(sim);
    sim = create(m, PERP_MOREAU);
    assert_int_equal(perp_simulation_impulse(sim, id(m, "f"), NULL), 1); /* friction in a line */
    assert_int_equal(perp_simulation_impulse_unit(NULL, 0, NULL, 0), -1);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    assert_int_equal(perp_simulation_impulse(NULL, 0, NULL), 0);
}

/* What stands behind a unit's / divides: the seconds come before it. */
static void impulses_have_units(void **state)
{
    static const char *const units[][2] = {
        {"\"N\"", "N s"}, {"\"kg m/s^2\"", "s kg m/s^2"}, {"", "s"}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char text[256], unit[20] = "";
        snprintf(text, sizeof text,
                 "state z = 1, v = 0\nvar p %s\nder(z) = v\nder(v) = p - 9.81\n"
                 "0 <= p perp v >= 0 when z <= 0\nsimulate to 1 step 0.1 method moreau\n",
                 units[k][0]);
        perp_model *m = load_or_parse(text);
        perp_simulation *sim = create(m, PERP_MOREAU);
        int length = perp_simulation_impulse_unit(sim, id(m, "p"), unit, sizeof unit);
        assert_string_equal(unit, units[k][1]);
        assert_int_equal(length, strlen(units[k][1]));
        assert_int_equal(perp_simulation_impulse_unit(sim, id(m, "p"), unit, 1), length);
        assert_string_equal(unit, ""); /* cut, and how long it is */
        assert_int_equal(perp_simulation_impulse_unit(sim, 7, unit, sizeof unit), -1);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impulses_have_units),
        cmocka_unit_test(moreau_has_impulses_of_forces),
        cmocka_unit_test(a_step_of_many_parts_can_be_stopped),
        cmocka_unit_test(parts_that_lead_nowhere_end),
        cmocka_unit_test(a_driven_run_is_the_run_of_its_table),
        cmocka_unit_test(what_is_set_is_taken_through_events),
        cmocka_unit_test(a_function_of_time_is_not_taken_through_events),
        cmocka_unit_test(an_input_that_was_not_set_is_as_the_model_says),
        cmocka_unit_test(an_input_without_a_value_is_named),
        cmocka_unit_test(a_state_that_is_set_is_where_the_run_goes_on),
        cmocka_unit_test(a_parameter_that_is_set_holds_from_there),
        cmocka_unit_test(derivatives_follow_what_is_set),
        cmocka_unit_test(advance_ends_where_it_is_told),
        cmocka_unit_test(reset_goes_back_to_the_start),
        cmocka_unit_test(inputs_are_columns),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(what_cannot_be_set_is_refused),
    };
    return run_all(tests);
}
