/* Torsional and rolling friction beside closed forms. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double G = 9.81, H = 1e-3, R = 0.1, M = 2;

static perp_body ball(double x, double z)
{
    double I = 0.4 * M * R * R;
    return (perp_body){
        .joint = PERP_JOINT_FREE, .position = {x, 0, z}, .mass = M, .inertia = {I, I, I}};
}

static perp_shape ball_shape(int body, double mu, double spin, double roll)
{
    return (perp_shape){.body = body,
                        .kind = PERP_SHAPE_SPHERE,
                        .size = {R},
                        .mu = mu,
                        .torsional_friction = spin,
                        .rolling_friction = roll};
}

static const perp_shape ground = {.kind = PERP_SHAPE_PLANE};

/* On a slope towards (cos, sin) of a direction. */
static perp_bodies *make(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                         double slope, double direction, perp_bodies_method method)
{
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = H;
    o.method = method;
    o.gravity[0] = G * sin(slope) * cos(direction), o.gravity[1] = G * sin(slope) * sin(direction);
    o.gravity[2] = -G * cos(slope);
    if (perp_bodies_create(body, nbody, shape, nshape, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static void step(perp_bodies *b, int n)
{
    perp_diag diag = {0};
    perp_bodies_info info = {.size = sizeof info};
    for (int i = 0; i < n; i++) {
        if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        assert_int_equal(info.substeps, 1);
        assert_true(info.contact_error <= 1e-8 && info.newton_error <= 1e-8);
    }
}

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

static double length(const double *x)
{
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* I w' = -spin m g. */
static void a_spinning_ball_stops_when_the_closed_form_says(void **state)
{
    (void)state;
    const double SPIN = 2e-3, W = 20, rate = SPIN * M * G / (0.4 * M * R * R), T = W / rate;
    const perp_body body = ball(0, R);
    for (int m = 0; m < PERP_BODIES_METHOD_COUNT; m++) {
        const perp_shape shape[2] = {ground, ball_shape(1, 0.5, SPIN, 0)};
        perp_bodies *b = make(&body, 1, shape, 2, 0, 0, (perp_bodies_method)m);
        const double v[6] = {0, 0, 0, 0, 0, W}, *w = perp_bodies_v(b);
        const perp_contact *touch;
        assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
        for (int k = 1; k * H < T; k++) {
            step(b, 1);
            expect_near(w[5], W - rate * k * H, 1e-9, "angular velocity");
        }
        assert_int_equal(perp_bodies_contacts(b, &touch), 1);
        expect_near(touch->moment[0], -SPIN * M * G * H, 1e-12, "moment");
        step(b, 100);
        assert_true(fabs(w[5]) < 1e-15 && length(w) < 1e-12);
        perp_bodies_destroy(b);
    }
}

/* However its points share the weight, the moments of all are spin m g. */
static void a_spinning_disc_stops_when_the_closed_form_says(void **state)
{
    (void)state;
    const double SPIN = 0.01, W = 9, I = 0.5 * M * R * R, rate = SPIN * M * G / I;
    const perp_body body = {.joint = PERP_JOINT_FREE,
                            .position = {0, 0, 0.02},
                            .mass = M,
                            .inertia = {0.5 * I, 0.5 * I, I}};
    const perp_shape shape[2] = {
        ground,
        {.body = 1, .kind = PERP_SHAPE_CYLINDER, .size = {R, 0.02}, .torsional_friction = SPIN}};
    perp_bodies *b = make(&body, 1, shape, 2, 0, 0, PERP_BODIES_EULER);
    const double v[6] = {0, 0, 0, 0, 0, W}, *w = perp_bodies_v(b);
    perp_bodies_set(b, NULL, v);
    for (int k = 1; k * H < W / rate; k++) {
        step(b, 1);
        expect_near(w[5], W - rate * k * H, 1e-8, "angular velocity");
    }
    step(b, 50);
    assert_true(length(w + 3) < 1e-14);
    perp_bodies_destroy(b);
}

/* Without slip (I + m r^2) w' = -roll m g: v' = -5/7 g roll/r. */
static void a_rolling_ball_slows_down_and_rests(void **state)
{
    (void)state;
    const double ROLL = 1e-3, V = 0.5, rate = 5. / 7 * G * ROLL / R;
    const perp_body body = ball(0, R);
    for (int turn = 0; turn < 7; turn++) { /* in any direction */
        double c = cos(0.9 * turn), s = sin(0.9 * turn);
        const perp_shape shape[2] = {ground, ball_shape(1, 0.5, 0, ROLL)};
        perp_bodies *b =
            make(&body, 1, shape, 2, 0, 0, turn & 1 ? PERP_BODIES_EULER : PERP_BODIES_MIDPOINT);
        const double v[6] = {V * c, V * s, 0, -V / R * s, V / R * c, 0}, *now = perp_bodies_v(b);
        perp_bodies_set(b, NULL, v);
        for (int k = 1; k * H < V / rate; k++) {
            step(b, 1);
            expect_near(now[0], (V - rate * k * H) * c, 1e-9, "speed");
            expect_near(now[1], (V - rate * k * H) * s, 1e-9, "speed");
        }
        step(b, 50);
        assert_true(length(now) < 1e-14 && length(now + 3) < 1e-12);
        perp_bodies_destroy(b);
    }
}

/* It rests where tan of the slope is below roll/r, else x'' = 5/7 g (sin - roll/r cos). */
static void a_ball_rests_on_a_slope_below_the_limit(void **state)
{
    (void)state;
    const double ROLL = 0.02, limit = atan(ROLL / R);
    const perp_body body = ball(0, R);
    const double part[4] = {0.5, 0.999, 1.001, 1.5};
    for (int i = 0; i < 8; i++) {
        double slope = limit * part[i % 4], direction = 0.3 + i;
        const perp_shape shape[2] = {ground, ball_shape(1, 0.9, 0, ROLL)};
        perp_bodies *b = make(&body, 1, shape, 2, slope, direction, PERP_BODIES_EULER);
        step(b, 1000);
        double excess = sin(slope) - ROLL / R * cos(slope), speed = length(perp_bodies_v(b)),
               moved = length(perp_bodies_q(b)) - R;
        if (excess < 0)
            assert_true(speed < 1e-13 && fabs(moved) < 1e-14);
        else
            expect_near(speed, 5. / 7 * G * excess, 1e-9, "speed after 1 s");
        perp_bodies_destroy(b);
    }
}

/* A moment about the normal by a force of its own. */
static void it_sticks_up_to_the_limit_and_turns_above_it(void **state)
{
    (void)state;
    const double SPIN = 5e-3, most = SPIN * M * G, I = 0.4 * M * R * R;
    const perp_body body = ball(0, R);
    const double part[3] = {0.5, 1 - 1e-6, 1.1};
    for (int i = 0; i < 3; i++) {
        const perp_shape shape[2] = {ground, ball_shape(1, 0, SPIN, 0)};
        perp_bodies *b = make(&body, 1, shape, 2, 0, 0, PERP_BODIES_EULER);
        const double tau[6] = {0, 0, 0, 0, 0, part[i] * most}, *v = perp_bodies_v(b);
        const perp_contact *touch;
        perp_bodies_set_force(b, tau);
        step(b, 500);
        perp_bodies_contacts(b, &touch);
        expect_near(touch->moment[0], -fmin(part[i], 1) * most * H, 1e-12, "moment");
        if (part[i] < 1)
            assert_true(fabs(v[5]) < 5e-13);
        else
            expect_near(v[5], 0.1 * most / I * 500 * H, 1e-9, "angular velocity");
        perp_bodies_destroy(b);
    }
}

/* A wheel on a hinge has one velocity for both axes across the normal, and none about it. */
static void brake(double x, double y)
{
    const double ROLL = 0.01, I = 0.4 * M * R * R, W = 3, PRESS = 30;
    const perp_body body[2] = {
        {.joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}, .position = {0, 0, R}, .mass = 1e-3},
        {.parent = 1,
         .joint = PERP_JOINT_HINGE,
         .axis = {x, y, 0},
         .mass = M,
         .inertia = {I, I, I}}};
    const perp_shape shape[2] = {ground, ball_shape(2, 0, 0.1, ROLL)};
    perp_bodies *b = make(body, 2, shape, 2, 0, 0, PERP_BODIES_EULER);
    const double v[2] = {0, W}, tau[2] = {-PRESS, 0}, *now = perp_bodies_v(b),
                 rate = ROLL * ((M + 1e-3) * G + PRESS) / I;
    perp_bodies_set(b, NULL, v);
    perp_bodies_set_force(b, tau);
    step(b, 20);
    expect_near(now[1], W - rate * 20 * H, 1e-9, "angular velocity");
    step(b, 200);
    assert_true(fabs(now[1]) < 1e-14);
    perp_bodies_destroy(b);
}

/* Whatever the axle's direction: what is left of torsional friction about the normal is rounding. */
static void a_wheel_on_a_fixed_axle_is_braked(void **state)
{
    (void)state;
    brake(0.6, 0.8);
    for (int i = 0; i < 12; i++) brake(cos(0.3 + 0.5 * i), sin(0.3 + 0.5 * i));
}

/* One ball on another: the moment acts on both. Momentum about the axis is kept. */
static void it_acts_between_two_bodies(void **state)
{
    (void)state;
    const double SPIN = 1e-3, I = 0.4 * M * R * R, W = 4, rate = SPIN * M * G / I;
    const perp_body body[2] = {ball(0, R), ball(0, 3 * R)};
    const perp_shape shape[3] = {ground, ball_shape(1, 0, 0, 0), ball_shape(2, 0, SPIN, 0)};
    perp_bodies *b = make(body, 2, shape, 3, 0, 0, PERP_BODIES_EULER);
    const perp_contact_material smooth = {1, 1, 1, 1}; /* of a higher priority */
    assert_int_equal(perp_bodies_set_contact_material(b, 0, &smooth), PERP_OK);
    const double v[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, W}, *now = perp_bodies_v(b);
    perp_bodies_set(b, NULL, v);
    step(b, 20);
    expect_near(now[11], W - rate * 20 * H, 1e-9, "the upper one");
    expect_near(now[5], rate * 20 * H, 1e-9, "the lower one");
    step(b, 1000);
    expect_near(now[11], 0.5 * W, 1e-9, "both at last");
    expect_near(now[5], 0.5 * W, 1e-9, "both at last");
    perp_bodies_destroy(b);
}

static double slowed(const perp_contact_material *ground_rule,
                     const perp_contact_material *ball_rule, double spin_of_pair)
{
    const perp_body body = ball(0, R);
    perp_shape shape[2] = {ground, ball_shape(1, 0, 3e-3, 0)};
    shape[0].torsional_friction = 1e-3;
    perp_bodies *b = make(&body, 1, shape, 2, 0, 0, PERP_BODIES_EULER);
    const double v[6] = {0, 0, 0, 0, 0, 10};
    if (ground_rule) assert_int_equal(perp_bodies_set_contact_material(b, 0, ground_rule), PERP_OK);
    if (ball_rule) assert_int_equal(perp_bodies_set_contact_material(b, 1, ball_rule), PERP_OK);
    if (spin_of_pair >= 0) {
        assert_int_equal(perp_bodies_set_pair_friction(b, 0, 1, spin_of_pair, 0), PERP_ERR_ARG);
        assert_int_equal(perp_bodies_add_pair(b, 1, 0, 0.5), PERP_OK);
        assert_int_equal(perp_bodies_set_pair_friction(b, 0, 1, spin_of_pair, 0), PERP_OK);
        assert_int_equal(perp_bodies_set_pair_friction(b, 0, 1, -1, 0), PERP_ERR_ARG);
        assert_int_equal(perp_bodies_set_pair_friction(b, 0, 1, 0, NAN), PERP_ERR_ARG);
    }
    perp_bodies_set(b, NULL, v);
    step(b, 1);
    double spin = (10 - perp_bodies_v(b)[5]) * 0.4 * R * R / G / H;
    perp_bodies_destroy(b);
    return spin;
}

static void rules_and_pairs_say_which_friction_there_is(void **state)
{
    (void)state;
    const perp_contact_material slides = {1, 1, 0, 3}, spins = {1, 1, 0, 4}, rolls = {1, 1, 0, 6},
                                first = {1, 1, 1, 4}, first_slides = {1, 1, 1, 3},
                                wrong = {1, 1, 0, 5};
    expect_near(slowed(NULL, NULL, -1), 3e-3, 1e-12, "without a rule");
    expect_near(slowed(&slides, &slides, -1), 0, 1e-12, "3 and 3");
    expect_near(slowed(&slides, &spins, -1), 3e-3, 1e-12, "3 and 4: the larger of both");
    expect_near(slowed(&rolls, &slides, -1), 3e-3, 1e-12, "6 and 3");
    expect_near(slowed(&first, &rolls, -1), 1e-3, 1e-12, "by priority");
    expect_near(slowed(&first_slides, &rolls, -1), 0, 1e-12, "by priority, none");
    expect_near(slowed(&slides, &slides, 7e-3), 7e-3, 1e-12, "a pair");
    expect_near(slowed(&slides, &slides, 0), 0, 1e-12, "a pair without");
    const perp_body body = ball(0, R);
    const perp_shape shape[2] = {ground, ball_shape(1, 0, 0, 0)};
    perp_bodies *b = make(&body, 1, shape, 2, 0, 0, PERP_BODIES_EULER);
    assert_int_equal(perp_bodies_set_contact_material(b, 0, &wrong), PERP_ERR_ARG);
    perp_bodies_destroy(b);
    for (int k = 0; k < 4; k++) {
        perp_diag diag = {0};
        perp_shape bad = ball_shape(1, 0, k == 0 ? -1 : k == 1 ? NAN : 0, k == 2 ? -1 : 0);
        if (k == 3) bad.rolling_friction = INFINITY;
        assert_int_equal(perp_bodies_create(&body, 1, &bad, 1, NULL, &b, &diag), PERP_ERR_MODEL);
        assert_non_null(strstr(perp_diag_text(&diag), "torsional and rolling friction are >= 0"));
        perp_diag_clear(&diag);
    }
}

/* Boxes, cylinders and balls that fall on each other, with all frictions: every step is verified, and they come to rest. */
static void a_heap_comes_to_rest(void **state)
{
    (void)state;
    enum { N = 6, STEPS = 700 };
    perp_body body[N];
    perp_shape shape[N + 1] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.6}};
    for (int i = 0; i < N; i++) {
        body[i] = ball(0.07 * (i % 3), 0.15 + 0.22 * (i / 3) + 0.01 * (i % 3));
        body[i].position[1] = 0.21 * (i % 3) + 0.03 * (i / 3);
        shape[i + 1] = (perp_shape){.body = i + 1,
                                    .kind = i % 3 == 0   ? PERP_SHAPE_SPHERE
                                            : i % 3 == 1 ? PERP_SHAPE_BOX
                                                         : PERP_SHAPE_CYLINDER,
                                    .size = {R, i % 3 == 0 ? 0 : 0.8 * R, i % 3 == 1 ? R : 0},
                                    .mu = 0.6,
                                    .torsional_friction = 0.01,
                                    .rolling_friction = 0.01};
    }
    perp_bodies *b = make(body, N, shape, N + 1, 0, 0, PERP_BODIES_EULER);
    perp_diag diag = {0};
    perp_bodies_info info = {.size = sizeof info};
    int parted = 0;
    for (int k = 0; k < STEPS; k++) {
        if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        parted += info.substeps > 1;
    }
    double most = 0;
    for (int k = 0; k < perp_bodies_nv(b); k++) most = fmax(most, fabs(perp_bodies_v(b)[k]));
    printf("heap: %d of %d steps in parts, at last %.2g\n", parted, STEPS, most);
    assert_true(parted <= 15 && most < 1e-10);
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spinning_ball_stops_when_the_closed_form_says),
        cmocka_unit_test(a_spinning_disc_stops_when_the_closed_form_says),
        cmocka_unit_test(a_rolling_ball_slows_down_and_rests),
        cmocka_unit_test(a_ball_rests_on_a_slope_below_the_limit),
        cmocka_unit_test(it_sticks_up_to_the_limit_and_turns_above_it),
        cmocka_unit_test(a_wheel_on_a_fixed_axle_is_braked),
        cmocka_unit_test(it_acts_between_two_bodies),
        cmocka_unit_test(rules_and_pairs_say_which_friction_there_is),
        cmocka_unit_test(a_heap_comes_to_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
