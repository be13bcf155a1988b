/* Starts that break what states alone must fulfil: found, named with their place, and moved to the nearest that do not. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>

#define ROD                                                                                        \
    "state x = %s, y = %s, u = %s, v = %s\nvar s\nder(x) = u\nder(y) = v\nder(u) = -s*x\n"         \
    "der(v) = -s*y - 9.81\nx^2 + y^2 = 1\nsimulate to 1 step 0.01\n"

static perp_simulation *create(const perp_model *model)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static perp_simulation *begin(const char *text, perp_model **model)
{
    *model = load_or_parse(text);
    return create(*model);
}

static perp_simulation *begin_rod(const char *x, const char *y, const char *u, const char *v,
                                  perp_model **model)
{
    char text[512];
    snprintf(text, sizeof text, ROD, x, y, u, v);
    return begin(text, model);
}

/* So many conditions are broken, and these words are among what is said of them. */
static void expect_broken(const char *text, int broken, const char *says)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim = begin(text, &model);
    int found = perp_simulation_inspect_start(sim, &diag);
    if (found != broken || diag.errors || !strstr(perp_diag_text(&diag), says))
        fail_msg("%d broken, expected %d with '%s':\n%s", found, broken, says,
                 perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

static void project(perp_simulation *sim, double *moved)
{
    perp_diag diag = {0};
    if (perp_simulation_project(sim, moved, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_simulation_inspect_start(sim, NULL), 0);
}

static void what_the_start_breaks_is_named(void **state)
{
    (void)state;
    char text[512];
    snprintf(text, sizeof text, ROD, "1.1", "0.3", "0.5", "0.2");
    expect_broken(text, 2,
                  "test.perp:7:1: warning: at the start the sides of this equation differ by 0.3;");
    expect_broken(text, 2, "drift apart, by 1.22 a second");
    snprintf(text, sizeof text, ROD, "0.6", "0.8", "0.8", "-0.6");
    expect_broken(text, 0, "");
    expect_broken("param l = 0.5\nstate y = 0.47, th = 0, v = 0\nvar tip, N\ntip = y - l*cos(th)\n"
                  "der(y) = v\nder(th) = 0\nder(v) = N - 9.81\n0 <= tip perp N >= 0\n"
                  "simulate to 1 step 0.1\n",
                  1, "test.perp:8:1: warning: at the start 'tip' is -0.03, below 0");
    expect_broken("param l = 0.5\nstate y = 0.47, th = 0, v = 0\nvar tip, N\n"
                  "tip = 2*tip - y + l*cos(th)\nder(y) = v\nder(th) = 0\nder(v) = N - 9.81\n"
                  "0 <= tip perp N >= 0\nsimulate to 1 step 0.1\n", /* told by itself, too */
                  1, "test.perp:8:1: warning: at the start 'tip' is -0.03, below 0");
    expect_broken("state y = 2, v = 0\nvar f\nder(y) = v\nder(v) = f\n-1 <= y <= 1 perp -f\n"
                  "simulate to 1 step 0.1\n",
                  1, "at the start 'y' is 2, above 1");
    expect_broken("state v = 1, w = 3\nvar f\nder(v) = f\nder(w) = -2*f\nv = 0.5*w\n" /* rolling */
                  "simulate to 1 step 0.1\n",
                  1,
                  "test.perp:5:1: warning: at the start the sides of this equation differ by -0.5");
    expect_broken("state x = 0, v = 0\nvar f\nder(x) = v\nder(v) = f\nx = sin(2*t)\n"
                  "simulate to 1 step 0.1\n", /* a motion that is given */
                  1, "drift apart, by -2 a second");
}

/* An impact is none; nor is what a guard, a force, or the length of a step decides. */
static void what_states_do_not_decide_is_not_asked(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "state y = 0, v = -1\nvar N\nder(y) = v\nder(v) = N - 9.81\n0 <= y perp N >= 0\n",
        "state y = 0, v = -1\nvar N\nder(y) = v\nder(v) = N - 9.81\n"
        "0 <= v + 0.5*pre(v) perp N >= 0 when y <= 0\n",
        "state y = -1, v = 0\nvar N\nder(y) = v\nder(v) = N\n0 <= y perp N >= 0 when v > 1\n",
        "state x = 3\nvar f\nder(x) = f\nf = 2*x\n",
        "state x = 3\nvar p\nder(x) = p - x\n0 <= p perp x + p >= 0\n",
        "state x = 3\nnext(x) = 0.5*x\n"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        char text[512];
        snprintf(text, sizeof text, "%ssimulate to 1 step 0.1\n", fine[i]);
        expect_broken(text, 0, "");
    }
}

/* On a circle the nearest point lies on the ray, and the nearest velocity along the tangent. */
static void the_nearest_start_of_a_rod_is_known(void **state)
{
    (void)state;
    double r = hypot(1.1, 0.3), x = 1.1 / r, y = 0.3 / r, along = -y * 0.5 + x * 0.2, moved[4];
    perp_model *model;
    perp_simulation *sim = begin_rod("1.1", "0.3", "0.5", "0.2", &model);
    project(sim, moved);
    const double expected[] = {x, y, -y * along, x * along}, given[] = {1.1, 0.3, 0.5, 0.2};
    for (int i = 0; i < 4; i++) {
        double now = perp_simulation_state(sim, i);
        assert_true(fabs(now - expected[i]) < 1e-14);
        assert_true(moved[i] == now - given[i]);
    }
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    sim = begin_rod("0.6", "0.8", "0.8", "-0.6", &model); /* to the last bit */
    project(sim, moved);
    for (int i = 0; i < 4; i++) assert_true(moved[i] == 0);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A four-bar has one way to move: where that is nearest is found by walking along it. */
static void the_nearest_start_of_a_closed_loop_is_found(void **state)
{
    (void)state;
    perp_model *model = load_or_parse("bench/scenes/fourbar.perp");
    double given[3], moved[6], at[3], least = INFINITY, distance = 0;
    set_value(model, "th[2]", perp_model_symbol(model, PERP_STATE, 1).value + 0.1);
    set_value(model, "w[1]", 1), set_value(model, "w[2]", 0.5);
    perp_simulation *sim = create(model);
    for (int i = 0; i < 3; i++) given[i] = perp_simulation_state(sim, i);
    assert_int_equal(perp_simulation_inspect_start(sim, NULL),
                     4); /* two equations and their rates */
    project(sim, moved);
    for (int i = 0; i < 3; i++) distance += moved[i] * moved[i];
    const double a = 0.1, b = 0.3, c = 0.25, d = 0.3;
    for (long k = -200000; k <= 200000; k++) {
        at[0] = given[0] + 1e-6 * (double)k;
        double X = a * cos(at[0]), Y = a * sin(at[0]), D = hypot(d - X, Y);
        at[2] = atan2(Y, X - d) - acos((c * c + D * D - b * b) / (2 * c * D));
        at[1] = atan2(c * sin(at[2]) - Y, d + c * cos(at[2]) - X);
        double sum = 0;
        for (int i = 0; i < 3; i++) sum += (at[i] - given[i]) * (at[i] - given[i]);
        least = fmin(least, sum);
    }
    assert_true(sqrt(distance) > 0.01);
    assert_true(fabs(sqrt(distance) - sqrt(least)) < 1e-10);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* Only what is broken moves; what is said twice does no harm; a pair that would be broken on the way holds. */
static void bodies_are_lifted_out_of_walls(void **state)
{
    (void)state;
    double moved[6];
    perp_model *model;
    perp_simulation *sim =
        begin("state x = -0.2, y = 0.3, z = 5, u = 1, v = 0, w = 2\nvar p, q, r, s\nder(x) = u\n"
              "der(y) = v\nder(z) = w\nder(u) = p + r\nder(v) = q - r\nder(w) = s\n"
              "0 <= x perp p >= 0\n0 <= 2*x perp q >= 0\n0 <= 0.4 + x - y perp r >= 0\n0 <= z perp "
              "s >= 0\n"
              "simulate to 1 step 0.1\n",
              &model);
    assert_int_equal(perp_simulation_inspect_start(sim, NULL), 3);
    project(sim, moved);
    const double expected[] = {0, 0.3, 5, 1, 0, 2};
    for (int i = 0; i < 6; i++)
        assert_true(fabs(perp_simulation_state(sim, i) - expected[i]) < 1e-12);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

static void where_there_is_no_start_nothing_moves(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim =
        begin("state x = 1, y = 2, u = 0, v = 0\nvar s\nder(x) = u\nder(y) = v\nder(u) = s*x\n"
              "der(v) = s*y\nx^2 + y^2 = -1\nsimulate to 1 step 0.1\n",
              &model);
    assert_int_equal(perp_simulation_project(sim, NULL, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "whose positions fulfil"));
    assert_non_null(strstr(perp_diag_text(&diag), "test.perp:7:1"));
    assert_true(perp_simulation_state(sim, 0) == 1 && perp_simulation_state(sim, 1) == 2);
    assert_int_equal(perp_simulation_project(NULL, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_inspect_start(NULL, NULL), 0);
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* The position of a loop stays at rounding for 1e5 steps, by every method, also with steps of 1e-6 s. */
static void loops_stay_closed(void **state)
{
    (void)state;
    static const struct {
        perp_integrator by;
        double step;
    } cases[] = {{PERP_BACKWARD_EULER, 1e-4}, {PERP_THETA, 1e-4},  {PERP_RADAU3, 1e-4},
                 {PERP_RADAU5, 1e-3},         {PERP_RADAU7, 1e-3}, {PERP_BACKWARD_EULER, 1e-6},
                 {PERP_THETA, 1e-6},          {PERP_RADAU5, 1e-6}};
    perp_model *model = load_or_parse("bench/scenes/fourbar.perp");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perp_diag diag = {0};
        perp_simulation *sim;
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = cases[k].by, o.step = cases[k].step, o.to = 1e5 * cases[k].step;
        double x[3], open = 0;
        assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
        long n = cases[k].by == PERP_BACKWARD_EULER || cases[k].by == PERP_THETA ? 100000 : 10000;
        for (long step = 1; step <= n; step++) {
            if (simulation_step(sim, NULL, &diag) != PERP_OK)
                fail_msg("%s at %g: %s", perp_integrator_name(cases[k].by), cases[k].step,
                         perp_diag_text(&diag));
            for (int i = 0; i < 3; i++) x[i] = perp_simulation_state(sim, i);
            open = fmax(open, fabs(0.1 * cos(x[0]) + 0.3 * cos(x[1]) - 0.3 - 0.25 * cos(x[2])));
            open = fmax(open, fabs(0.1 * sin(x[0]) + 0.3 * sin(x[1]) - 0.25 * sin(x[2])));
        }
        printf("four-bar by %s, %g s: open by %.1e after %ld steps\n",
               perp_integrator_name(cases[k].by), cases[k].step, open, n);
        assert_true(open < 2e-10);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

/* A pendulum that begins level: the slope of its length by y passes through 0, by which the units of unknowns were led astray. */
static void a_level_pendulum_runs_with_any_step(void **state)
{
    (void)state;
    static const double steps[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
    perp_model *model;
    perp_simulation_destroy(begin_rod("1", "0", "0", "0", &model));
    for (int k = 0; k < 10; k++) {
        perp_diag diag = {0};
        perp_simulation *sim;
        perp_simulation_options o = perp_simulation_options_default(model);
        o.integrator = k % 2 ? PERP_THETA : PERP_BACKWARD_EULER;
        o.step = steps[k / 2], o.to = 10000 * o.step;
        assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
        if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK)
            fail_msg("%g: %s", o.step, perp_diag_text(&diag));
        double x = perp_simulation_state(sim, 0), y = perp_simulation_state(sim, 1), t = o.to;
        assert_true(fabs(x * x + y * y - 1) < 4e-15);
        double falls = 9.81 * t * t / 2; /* freely, at first */
        assert_true(fabs(y + falls) < (2e-4 + falls) * falls);
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_start_breaks_is_named),
        cmocka_unit_test(what_states_do_not_decide_is_not_asked),
        cmocka_unit_test(the_nearest_start_of_a_rod_is_known),
        cmocka_unit_test(the_nearest_start_of_a_closed_loop_is_found),
        cmocka_unit_test(bodies_are_lifted_out_of_walls),
        cmocka_unit_test(where_there_is_no_start_nothing_moves),
        cmocka_unit_test(loops_stay_closed),
        cmocka_unit_test(a_level_pendulum_runs_with_any_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
