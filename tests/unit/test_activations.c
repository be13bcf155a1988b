/* Actuators with activations, gains that grow with a control, muscles: beside closed forms; what MJCF says of them. */

#include "unit.h"

#include "perp/perp.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <math.h>
#include <string.h>

static const perp_actuator plain = {.body = 1, .gear = 1, .gain = 1};

/* A mass on a slide, without gravity, with one actuator under the control u. */
static perp_bodies *make(perp_actuator a, double mass, double u, double h,
                         perp_bodies_method method)
{
    const perp_body body = {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = mass};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    perp_diag diag = {0};
    o.step = h;
    o.method = method;
    o.gravity[2] = 0;
    if (perp_bodies_create(&body, 1, NULL, 0, &o, &b, &diag) != PERP_OK ||
        perp_bodies_add_actuator(b, &a, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_bodies_set_control(b, &u), PERP_OK);
    return b;
}

static void step(perp_bodies *b, int n)
{
    perp_diag diag = {0};
    for (int i = 0; i < n; i++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static perp_actuator filter(int is_early)
{
    perp_actuator a = plain;
    a.activation = PERP_ACTIVATION_FILTER;
    a.rise = 0.05;
    a.is_early = is_early;
    return a;
}

static void a_filter_is_exact_at_any_step(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        const double h = 0.02, keep = exp(-h / 0.05);
        perp_bodies *b = make(filter(early), 2, 3, h, PERP_BODIES_EULER);
        step(b, 10);
        assert_near(perp_bodies_activation(b)[0], 3 * (1 - pow(keep, 10)), 1e-14);
        double sum = 0; /* of the activations at the begins, or at the ends */
        for (int k = early; k < 10 + early; k++) sum += 3 * (1 - pow(keep, k));
        assert_near(perp_bodies_v(b)[0], h * sum / 2, 1e-14);
        perp_bodies_destroy(b);
    }
}

static void without_a_time_constant_it_follows_at_once(void **state)
{
    (void)state;
    perp_actuator a = filter(0);
    a.rise = 0;
    perp_bodies *b = make(a, 1, 3, 0.01, PERP_BODIES_EULER);
    step(b, 1);
    assert_near(perp_bodies_activation(b)[0], 3, 0);
    perp_bodies_destroy(b);
}

static void the_midpoint_rule_has_order_2_with_a_filter(void **state)
{
    (void)state;
    const double t = 0.2, exact = 3 * (t - 0.05 * (1 - exp(-t / 0.05)));
    double off[2];
    for (int k = 0; k < 2; k++) {
        int n = k ? 40 : 20;
        perp_bodies *b = make(filter(0), 1, 3, t / n, PERP_BODIES_MIDPOINT);
        step(b, n);
        off[k] = fabs(perp_bodies_v(b)[0] - exact);
        perp_bodies_destroy(b);
    }
    assert_true(off[0] < 1e-3 && off[0] > 1e-6);
    assert_near(off[0] / off[1], 4, 0.05);
}

static void an_integrator_stays_in_its_range(void **state)
{
    (void)state;
    perp_actuator a = plain;
    a.activation = PERP_ACTIVATION_INTEGRATOR;
    a.activation_range = (perp_range){1, -0.1, 0.25};
    perp_bodies *b = make(a, 1, 2, 0.01, PERP_BODIES_EULER);
    step(b, 10);
    assert_near(perp_bodies_activation(b)[0], 0.2, 1e-15);
    step(b, 10);
    assert_near(perp_bodies_activation(b)[0], 0.25, 0);
    perp_bodies_set_control(b, (double[]){-2});
    step(b, 1); /* it does not wind up */
    assert_near(perp_bodies_activation(b)[0], 0.23, 1e-15);
    assert_int_equal(perp_bodies_set_activation(b, (double[]){-7}), PERP_OK);
    assert_near(perp_bodies_activation(b)[0], -0.1, 0);
    assert_int_equal(perp_bodies_set_activation(b, (double[]){(double)NAN}), PERP_ERR_ARG);
    perp_bodies_destroy(b);
}

static void a_damper_s_strength_is_its_control(void **state)
{
    (void)state;
    perp_actuator a = {.body = 1, .gear = 2, .kv_per_control = 3, .control_range = {1, 0, 1e9}};
    for (int stiff = 0; stiff < 2; stiff++) {
        double u = stiff ? 1e9 : 0.5, h = 0.01;
        perp_bodies *b = make(a, 2, u, h, PERP_BODIES_EULER);
        assert_int_equal(perp_bodies_set(b, NULL, (double[]){1}), PERP_OK);
        step(b, 5);
        assert_near(perp_bodies_v(b)[0], pow(1 + h * 4 * 3 * u / 2, -5), 1e-14);
        perp_bodies_destroy(b);
    }
}

static perp_actuator muscle(double force)
{
    perp_actuator a = {.body = 1, .gear = 1, .activation = PERP_ACTIVATION_MUSCLE};
    a.rise = 0.01, a.fall = 0.04;
    a.muscle = (perp_muscle){.range = {0.75, 1.05},
                             .force = force,
                             .lmin = 0.5,
                             .lmax = 1.6,
                             .vmax = 1.5,
                             .fpmax = 1.3,
                             .fvmax = 1.2,
                             .length = {-0.75, 2.25}}; /* l0 = 10: L = 0.75 + (q + 0.75)/10 */
    return a;
}

/* By hand from the parabolas: at L, V and an activation of a half. */
static void a_muscle_pulls_by_length_and_rate(void **state)
{
    (void)state;
    static const struct {
        double L, V, FL, FV, FP;
    } point[] = {{0.4, 0, 0, 1, 0},
                 {0.6, 0, 0.08, 1, 0},
                 {0.9, 0, 0.92, 1, 0},
                 {1, -0.5, 1, 0.25, 0},
                 {1, -1.2, 1, 0, 0},
                 {1, 0.1, 1, 1.15, 0},
                 {1, 0.3, 1, 1.2, 0},
                 {1.2, 0, 7.0 / 9, 1, 1.3 * 2 / 9},
                 {1.5, -0.5, 1.0 / 18, 0.25, 1.3 * 7 / 6},
                 {1.7, 0, 0, 1, 1.3 * 11 / 6}};
    const double h = 1e-7, mass = 3;
    for (size_t k = 0; k < sizeof point / sizeof *point; k++) {
        perp_bodies *b = make(muscle(20), mass, 0.5, h, PERP_BODIES_EULER);
        double q = 10 * (point[k].L - 0.75) - 0.75, v = point[k].V * 15, half = 0.5;
        perp_bodies_set(b, &q, &v);
        assert_int_equal(perp_bodies_set_activation(b, &half), PERP_OK);
        step(b, 1);
        assert_near((perp_bodies_v(b)[0] - v) / h * mass,
                    -20 * (0.5 * point[k].FL * point[k].FV + point[k].FP), 1e-5);
        perp_bodies_destroy(b);
    }
}

/* However strong beside the mass: it shortens at its own greatest rate, stretched it comes back, and nothing rings. */
static void a_strong_muscle_is_never_too_stiff(void **state)
{
    (void)state;
    const double one = 1, start[2] = {1.75, 8}; /* L = 1, 1.625 */
    for (int stretched = 0; stretched < 2; stretched++) {
        perp_bodies *b = make(muscle(1e7), 1e-3, 1, 0.002, PERP_BODIES_EULER);
        perp_bodies_set(b, &start[stretched], NULL);
        perp_bodies_set_activation(b, &one);
        for (int k = 0; k < 2000; k++) {
            step(b, 1);
            assert_true(perp_bodies_v(b)[0] < 1e-9);                       /* it only pulls */
            if (!stretched) assert_true(perp_bodies_v(b)[0] > -15 - 1e-9); /* V = -1 */
        }
        assert_true(perp_bodies_q(b)[0] < -3.25); /* L = 0.5 */
        perp_bodies_destroy(b);
    }
}

/* In a step so short that it is one of Euler's, from an activation of a half: rising takes longer the more active it is, falling the less. */
static void a_muscle_rises_and_falls_in_its_times(void **state)
{
    (void)state;
    static const struct {
        double u, smooth, tau;
    } by[] = {{0.8, 0, 0.01 * 1.25},
              {0.2, 0, 0.04 / 1.25},
              {0.5 + 0.125, 1, 0}, /* x = 0.625 of the way from one to the other */
              {0.5 - 0.25, 1, 0}};
    const double h = 1e-7, half = 0.5;
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        perp_actuator a = muscle(20);
        a.muscle.force = 0; /* nothing moves */
        a.smooth = by[k].smooth;
        double tau = by[k].tau, x = by[k].u;
        if (by[k].smooth > 0)
            tau = 0.032 + (0.0125 - 0.032) * (6 * pow(x, 5) - 15 * pow(x, 4) + 10 * pow(x, 3));
        perp_bodies *b = make(a, 1, by[k].u, h, PERP_BODIES_EULER);
        perp_bodies_set_activation(b, &half);
        step(b, 1);
        assert_near((perp_bodies_activation(b)[0] - half) / h, (by[k].u - half) / tau,
                    1e-4 * fabs(by[k].u - half) / tau);
        perp_bodies_destroy(b);
    }
}

/* A body beside it is turned faster and faster and tumbles, by 1 rad in the step, so that this is made in parts: of fewer the last is too long when others were made,
 * and the integrator is where one step of its own would have it; or, by 40 rad, where it was when all is refused. */
static void a_step_in_parts_moves_it_once(void **state)
{
    (void)state;
    const perp_body body[2] = {
        {.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 1},
        {.joint = PERP_JOINT_BALL, .mass = 1, .inertia = {1, 2, 3, 0, 0, 0}}};
    const double h = 0.01, angle[2] = {1, 40}, begin[2] = {0.5, 0};
    perp_bodies_options o = perp_bodies_options_default();
    perp_actuator a = plain,
                  thruster = {
                      .body = 2, .gear = 1, .gain = 3, .is_thruster = 1, .moment = {0, 0.5, 1}};
    a.activation = PERP_ACTIVATION_INTEGRATOR;
    o.step = h, o.method = PERP_BODIES_MIDPOINT, o.gravity[2] = 0;
    for (int k = 0; k < 2; k++) {
        const double u[2] = {2, 2 * angle[k] / (h * h)};
        perp_bodies *b;
        perp_bodies_info info = {.size = sizeof info};
        perp_diag diag = {0};
        assert_int_equal(perp_bodies_create(body, 2, NULL, 0, &o, &b, &diag), PERP_OK);
        assert_int_equal(perp_bodies_add_actuator(b, &a, &diag), PERP_OK);
        assert_int_equal(perp_bodies_add_actuator(b, &thruster, &diag), PERP_OK);
        assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
        assert_int_equal(perp_bodies_set_activation(b, begin), PERP_OK);
        perp_status status = bodies_step(b, &info, &diag);
        if (k == 1) {
            assert_int_equal(status, PERP_ERR_NO_SOLUTION);
            assert_near(perp_bodies_activation(b)[0], begin[0], 0);
        } else {
            if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
            assert_true(info.substeps > 2);
            assert_near(perp_bodies_activation(b)[0], begin[0] + h * u[0], 1e-15);
            assert_near(perp_bodies_v(b)[0], h * (begin[0] + 0.5 * h * u[0]), 1e-15);
        }
        perp_diag_clear(&diag);
        perp_bodies_destroy(b);
    }
}

static void a_gain_of_position_grows_with_its_control(void **state)
{
    (void)state;
    const double h = 0.01, q = 0.3;
    perp_actuator a = {
        .body = 1, .gear = 2, .kp = 1, .kp_per_control = 3, .control_range = {1, 0, 1}};
    perp_bodies *b = make(a, 2, 0.5, h, PERP_BODIES_EULER);
    assert_int_equal(perp_bodies_set(b, &q, NULL), PERP_OK);
    step(b, 1); /* m v = -h 4 kp (q + h v) */
    assert_near(perp_bodies_v(b)[0], -h * 4 * 2.5 * q / (2 + h * h * 4 * 2.5), 1e-15);
    perp_bodies_destroy(b);
}

static void it_begins_within_its_bounds(void **state)
{
    (void)state;
    perp_actuator a = filter(0);
    a.activation_range = (perp_range){1, 0.2, 0.7};
    perp_bodies *b = make(a, 1, 0, 0.01, PERP_BODIES_EULER);
    assert_near(perp_bodies_activation(b)[0], 0.2, 0);
    perp_bodies_destroy(b);
}

static void a_muscle_is_active_to_the_second_order(void **state)
{
    (void)state;
    double act[3];
    for (int k = 0; k < 3; k++) {
        int n = k == 2 ? 4000 : 10 << k;
        perp_bodies *b = make(muscle(20), 1, 0.8, 0.02 / n, PERP_BODIES_EULER);
        step(b, n);
        act[k] = perp_bodies_activation(b)[0];
        perp_bodies_destroy(b);
    }
    assert_true(act[2] > 0.4 && act[2] < 0.8);
    assert_near((act[0] - act[2]) / (act[1] - act[2]), 4, 0.4);
    perp_bodies *b =
        make(muscle(20), 1, 7, 10, PERP_BODIES_EULER); /* a step of 10 s, a control beyond 1 */
    step(b, 1);
    assert_near(perp_bodies_activation(b)[0], 1, 1e-12);
    perp_bodies_destroy(b);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    perp_bodies *b = make(plain, 1, 0, 0.01, PERP_BODIES_EULER);
    perp_actuator a[14];
    for (int k = 0; k < 14; k++) a[k] = k < 5 ? plain : muscle(1);
    a[0].kv_per_control = 1; /* of a control without bounds */
    a[1].kv_per_control = 1, a[1].control_range = (perp_range){1, -1, 1};
    a[2].activation = PERP_ACTIVATION_FILTER, a[2].rise = -1;
    a[3].activation = PERP_ACTIVATION_INTEGRATOR, a[3].activation_range = (perp_range){1, 2, 1};
    a[4].activation = (perp_activation)7;
    a[5].fall = 0;
    a[6].muscle.lmax = 1;
    a[7].muscle.length[1] = -1;
    a[8].muscle.force = -1;
    a[9].muscle.lmin = 1;
    a[10].muscle.fvmax = 1;
    a[11].activation_range = (perp_range){1, 0, (double)INFINITY};
    a[12].is_thruster = 1; /* a thruster is no muscle */
    a[13].muscle.vmax = 0;
    for (int k = 0; k < 14; k++) {
        perp_diag diag = {0};
        if (perp_bodies_add_actuator(b, &a[k], &diag) != PERP_ERR_MODEL) fail_msg("actuator %d", k);
        perp_diag_clear(&diag);
    }
    perp_bodies_destroy(b);
    b = make(filter(0), 1, 1, 0.01, PERP_BODIES_EULER); /* derivatives know of no activation */
    step(b, 1);
    double slope;
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_step_derivatives(b, &slope, NULL, NULL, &diag),
                     PERP_ERR_UNAVAILABLE);
    assert_non_null(strstr(perp_diag_text(&diag), "has an activation"));
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
    for (int k = 0; k < 2; k++) { /* nor of gains that change */
        perp_actuator grows = {.body = 1, .gear = 1, .control_range = {1, 0, 1}};
        *(k ? &grows.kv_per_control : &grows.kp_per_control) = 1;
        b = make(grows, 1, 0.5, 0.01, PERP_BODIES_EULER);
        step(b, 1);
        assert_int_equal(perp_bodies_step_derivatives(b, &slope, NULL, NULL, &diag),
                         PERP_ERR_UNAVAILABLE);
        assert_non_null(strstr(perp_diag_text(&diag), "a gain changes with a control"));
        perp_diag_clear(&diag);
        perp_bodies_destroy(b);
    }
}

static void keys_have_activations(void **state)
{
    (void)state;
    static const char text[] =
        "<mujoco><worldbody><body><joint name='j'/><geom size='0.1'/></body></worldbody><actuator>"
        "<motor joint='j'/><position joint='j' timeconst='0.1'/><intvelocity joint='j' kp='2' "
        "actrange='-1 1'/></actuator><keyframe><key name='k' act='0.3 0.4'/></keyframe></mujoco>";
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    perp_status status = perp_robot_parse(text, strlen(text), "t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    assert_int_equal(perp_robot_set_key(robot, 0, b), PERP_OK);
    const double *act = perp_bodies_activation(b);
    assert_near(act[0], 0, 0);
    assert_near(act[1], 0.3, 0);
    assert_near(act[2], 0.4, 0);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_is_exact_at_any_step),
        cmocka_unit_test(without_a_time_constant_it_follows_at_once),
        cmocka_unit_test(the_midpoint_rule_has_order_2_with_a_filter),
        cmocka_unit_test(an_integrator_stays_in_its_range),
        cmocka_unit_test(a_damper_s_strength_is_its_control),
        cmocka_unit_test(a_muscle_pulls_by_length_and_rate),
        cmocka_unit_test(a_strong_muscle_is_never_too_stiff),
        cmocka_unit_test(a_muscle_rises_and_falls_in_its_times),
        cmocka_unit_test(a_step_in_parts_moves_it_once),
        cmocka_unit_test(a_gain_of_position_grows_with_its_control),
        cmocka_unit_test(it_begins_within_its_bounds),
        cmocka_unit_test(a_muscle_is_active_to_the_second_order),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(keys_have_activations),
    };
    return run_all(tests);
}
