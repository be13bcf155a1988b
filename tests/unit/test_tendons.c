/* Tendons, thrusters, lift and drag: beside closed forms and steps by hand; what MJCF says of them. */

#include "unit.h"

#include "perp/perp.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static perp_bodies *make(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                         perp_bodies_options o)
{
    perp_bodies *b;
    perp_diag diag = {0};
    if (perp_bodies_create(body, nbody, shape, nshape, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static perp_bodies_options options(double h, double g)
{
    perp_bodies_options o = perp_bodies_options_default();
    o.step = h;
    o.gravity[2] = -g;
    return o;
}

static void step(perp_bodies *b, long n)
{
    perp_diag diag = {0};
    for (long i = 0; i < n; i++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static void hang(perp_bodies *b, perp_tendon tendon)
{
    perp_diag diag = {0};
    if (perp_bodies_add_tendon(b, &tendon, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static void drive(perp_bodies *b, perp_actuator actuator, double u)
{
    perp_diag diag = {0};
    if (perp_bodies_add_actuator(b, &actuator, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_bodies_set_control(b, &u), PERP_OK);
}

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

static perp_body slide(double mass)
{
    return (perp_body){.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = mass};
}

static const int BOTH[] = {1, 2};

/* M (v+ - v) = h c F, F = k (u - l - h l') - d l' with l' = c v+: the change of v is along inv(M) c. */
static void a_stiff_servo_pulls_two_joints_as_one(void **state)
{
    (void)state;
    const double c[] = {0.5, -2}, m[] = {1, 3}, h = 0.01, k = 1e8, d = 1e5, u = 0.3;
    const perp_body body[] = {slide(m[0]), slide(m[1])};
    perp_bodies *b = make(body, 2, NULL, 0, options(h, 0));
    double q[2] = {0.1, 0.2}, v[2] = {1, -1};
    hang(b, (perp_tendon){.n = 2, .body = BOTH, .coefficient = c});
    drive(b, (perp_actuator){.tendon = 1, .gear = 1, .gain = k, .kp = k, .kv = d}, u);
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    expect_near(perp_bodies_tendon_length(b, 1), 0.05 - 0.4, 1e-15, "length");
    assert_true(isnan(perp_bodies_tendon_length(b, 2)));
    for (int i = 0; i < 100; i++) {
        double w = c[0] * c[0] / m[0] + c[1] * c[1] / m[1], rate = c[0] * v[0] + c[1] * v[1],
               l = c[0] * q[0] + c[1] * q[1], s = d + h * k,
               force = (k * (u - l) - s * rate) / (1 + h * s * w);
        for (int j = 0; j < 2; j++) v[j] += h * c[j] / m[j] * force, q[j] += h * v[j];
        step(b, 1);
        for (int j = 0; j < 2; j++) {
            expect_near(perp_bodies_v(b)[j], v[j], 1e-11, "v");
            expect_near(perp_bodies_q(b)[j], q[j], 1e-11, "q");
        }
    }
    double ours;
    perp_bodies_joint_forces(b, NULL, NULL, &ours);
    expect_near(perp_bodies_tendon_length(b, 1), u, 1e-3, "it is there");
    perp_bodies_destroy(b);
}

/* A bounded servo is its bound until it arrives; then the tendon stays there, however the joints share it. */
static void a_bounded_servo_pulls_with_its_bound(void **state)
{
    (void)state;
    const double one[] = {1, 1};
    const perp_body body[] = {slide(1), slide(1)};
    perp_bodies *b = make(body, 2, NULL, 0, options(0.01, 0));
    double force;
    hang(b, (perp_tendon){.n = 2, .body = BOTH, .coefficient = one});
    drive(b,
          (perp_actuator){
              .tendon = 1, .gear = 2, .gain = 1e6, .kp = 1e6, .kv = 1e5, .force_range = {1, -3, 3}},
          1);
    step(b, 10);
    perp_bodies_joint_forces(b, NULL, NULL, &force);
    expect_near(force, 3, 1e-12, "force");
    for (int j = 0; j < 2; j++) expect_near(perp_bodies_v(b)[j], 0.6, 1e-12, "speed");
    step(b, 2000);
    expect_near(2 * perp_bodies_tendon_length(b, 1), 1, 1e-9, "length");
    expect_near(perp_bodies_q(b)[0], perp_bodies_q(b)[1], 1e-12, "alike");
    perp_bodies_destroy(b);
}

static void a_tendon_of_one_joint_is_the_joint(void **state)
{
    (void)state;
    const double one[] = {1};
    const perp_body body[] = {slide(2)};
    perp_bodies *b[2];
    perp_diag diag = {0};
    for (int i = 0; i < 2; i++) {
        b[i] = make(body, 1, NULL, 0, options(0.002, 0));
        if (i)
            hang(b[i], (perp_tendon){.n = 1,
                                     .body = BOTH,
                                     .coefficient = one,
                                     .range = {1, -1, 0.02},
                                     .friction = 0.3,
                                     .stiffness = 40,
                                     .rest = -0.01});
        else
            assert_int_equal(perp_bodies_set_joint(b[i], 1,
                                                   &(perp_joint_law){.range = {1, -1, 0.02},
                                                                     .friction = 0.3,
                                                                     .stiffness = 40,
                                                                     .rest = -0.01},
                                                   &diag),
                             PERP_OK);
        drive(b[i],
              (perp_actuator){.body = 1,
                              .tendon = i,
                              .gear = 3,
                              .gain = 90,
                              .kp = 90,
                              .kv = 2,
                              .force_range = {1, -4, 4}},
              0.3);
    }
    for (int n = 0; n < 1000; n++) {
        double u = 0.3 * sin(0.02 * n);
        for (int i = 0; i < 2; i++) {
            perp_bodies_set_control(b[i], &u);
            step(b[i], 1);
        }
        expect_near(perp_bodies_q(b[1])[0], perp_bodies_q(b[0])[0], 1e-10, "q");
        expect_near(perp_bodies_v(b[1])[0], perp_bodies_v(b[0])[0], 1e-9, "v");
    }
    for (int i = 0; i < 2; i++) perp_bodies_destroy(b[i]);
}

/* Two joints that a force pulls apart until their sum is at its limit: it holds; below its dry friction nothing moves. */
/* The number by which an actuator drives a tendon is that of its length and Jacobian: from 1; 0 and 3 are none. */
static void a_tendon_has_one_number(void **state)
{
    (void)state;
    const perp_body body[2] = {{.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = 1},
                               {.joint = PERP_JOINT_SLIDE, .axis = {0, 1, 0}, .mass = 1}};
    const double one = 1;
    for (int number = 1; number <= 2; number++) {
        perp_bodies_options o = perp_bodies_options_default();
        perp_bodies *b;
        o.gravity[2] = 0;
        assert_int_equal(perp_bodies_create(body, 2, NULL, 0, &o, &b, NULL), PERP_OK);
        for (int of = 1; of <= 2; of++)
            hang(b, (perp_tendon){.n = 1, .body = &of, .coefficient = &one});
        drive(b, (perp_actuator){.gear = 1, .gain = 1, .tendon = number}, 1);
        step(b, 100);
        double J[2];
        for (int k = 0; k < 4; k++) {
            double length = perp_bodies_tendon_length(b, k);
            perp_status status = perp_bodies_tendon_jacobian(b, k, J);
            if (k < 1 || k > 2) {
                assert_true(isnan(length) && status == PERP_ERR_ARG);
                continue;
            }
            expect_near(length, k == number ? 0.5 * 0.002 * 0.002 * 100 * 101 : 0, 1e-12, "length");
            assert_true(status == PERP_OK && J[k - 1] == 1 && J[2 - k] == 0);
        }
        perp_bodies_destroy(b);
    }
}

static void a_tendon_has_limits_and_rubs(void **state)
{
    (void)state;
    const double one[] = {1, 1}, push[] = {2, 2}, little[] = {0.4, 0.4};
    const perp_body body[] = {slide(1), slide(4)};
    perp_bodies *b = make(body, 2, NULL, 0, options(0.01, 0));
    hang(b, (perp_tendon){.n = 2,
                          .body = BOTH,
                          .coefficient = one,
                          .range = {1, -(double)INFINITY, 0.5},
                          .friction = 0.5});
    perp_bodies_set_force(b, little);
    step(b, 100);
    for (int j = 0; j < 2; j++) expect_near(perp_bodies_q(b)[j], 0, 1e-15, "it sticks");
    perp_bodies_set_force(b, push);
    step(b, 20);
    expect_near(perp_bodies_v(b)[0], 0.2 * 1.5, 1e-9, "it slides");
    step(b, 300);
    expect_near(perp_bodies_tendon_length(b, 1), 0.5, 1e-12, "it is held");
    expect_near(perp_bodies_v(b)[0] + perp_bodies_v(b)[1], 0, 1e-12, "it does not go on");
    perp_bodies_destroy(b);
}

/* A tendon over three boxes on the ground: their contacts feel it together. */
static void a_tendon_pulls_what_stands_on_the_ground(void **state)
{
    (void)state;
    const int all[] = {2, 4, 6};
    const double c[] = {1, 1, -2};
    perp_body body[6];
    perp_shape shape[4] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5}};
    for (int i = 0; i < 3; i++) {
        body[2 * i] = (perp_body){.joint = PERP_JOINT_SLIDE,
                                  .axis = {0, 0, 1},
                                  .armature = 1e-3,
                                  .position = {0, 1.0 * i, 0.1}};
        body[2 * i + 1] = slide(1 + i);
        body[2 * i + 1].parent = 2 * i + 1;
        for (int k = 0; k < 3; k++) body[2 * i + 1].inertia[k] = 0.01;
        shape[1 + i] = (perp_shape){
            .body = 2 * i + 2, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5};
    }
    perp_bodies *b = make(body, 6, shape, 4, options(0.002, 9.81));
    hang(b, (perp_tendon){.n = 3, .body = all, .coefficient = c});
    drive(b, (perp_actuator){.tendon = 1, .gear = 1, .gain = 1}, 4);
    step(b, 300);
    for (int i = 0; i < 3; i++) expect_near(perp_bodies_v(b)[2 * i + 1], 0, 1e-9, "it holds");
    double u = 6;
    perp_bodies_set_control(b, &u);
    step(b, 100); /* 6 N on 1 kg with friction of 4.905 N; 12 N on 3 kg of 14.7 */
    expect_near(perp_bodies_v(b)[1], 0.2 * (6 - 0.5 * 9.81), 2e-3, "the light one slides");
    expect_near(perp_bodies_v(b)[3], 0, 1e-9, "this stays");
    expect_near(perp_bodies_v(b)[5], 0, 1e-9, "and this");
    perp_bodies_destroy(b);
}

static perp_body drone(void)
{
    return (perp_body){
        .joint = PERP_JOINT_FREE, .mass = 2, .center = {0.1, 0, 0}, .inertia = {0.02, 0.03, 0.04}};
}

/* A thruster at the centre lifts what weighs as much; one beside it also turns; both along the axes of the body. */
static void thrusters_push_along_the_body_s_axes(void **state)
{
    (void)state;
    perp_body body = drone();
    perp_actuator jet = {.body = 1,
                         .gear = 1,
                         .gain = 2,
                         .is_thruster = 1,
                         .force = {0, 0, 1},
                         .point = {0.1, 0, 0}};
    perp_bodies *b = make(&body, 1, NULL, 0, options(0.001, 9.81));
    drive(b, jet, 9.81);
    step(b, 1000);
    expect_near(perp_bodies_q(b)[2], 0, 1e-12, "it hovers");
    perp_bodies_destroy(b);
    body.rotation[0] = body.rotation[1] = sqrt(0.5); /* z is -y of the world */
    b = make(&body, 1, NULL, 0, options(0.001, 0));
    jet.point[0] = 0.6;
    jet.moment[2] = 0.3;
    drive(b, jet, 1);
    step(b, 1); /* force 2 along z at 0.5 along x: moment -1 about y; and 0.6 about z */
    expect_near(perp_bodies_v(b)[4], 1e-3 * -1 / 0.03, 1e-9, "it turns about y");
    expect_near(perp_bodies_v(b)[5], 1e-3 * 0.6 / 0.04, 1e-9, "and about z");
    double a = 1e-3 * (1 + 0.1 * -1 / 0.03); /* of the origin: the centre's, and w x (-c) */
    expect_near(perp_bodies_v(b)[1], -a, 1e-9, "it goes along its z");
    expect_near(perp_bodies_v(b)[2], 1e-3 * 0.1 * 0.6 / 0.04 * -1, 1e-9, "and its -y");
    perp_bodies_destroy(b);
}

static void lift_takes_weight_off(void **state)
{
    (void)state;
    for (int i = 0; i <= 4; i++) {
        perp_body body = drone();
        double potential;
        body.gravity_compensation = 0.5 * i;
        perp_bodies *b = make(&body, 1, NULL, 0, options(0.01, 9.81));
        step(b, 100);
        expect_near(perp_bodies_v(b)[2], -9.81 * (1 - body.gravity_compensation), 1e-11, "speed");
        perp_bodies_energy(b, NULL, &potential);
        expect_near(potential, 2 * 9.81 * (1 - body.gravity_compensation) * perp_bodies_q(b)[2],
                    1e-9, "energy");
        perp_bodies_destroy(b);
    }
}

/* A box that slides and turns in a fluid with wind: one step by hand. */
static void a_fluid_drags_the_box_of_a_body(void **state)
{
    (void)state;
    const double x = 0.4, y = 0.2, z = 0.1, m = 3, h = 0.01, rho = 1.2, mu = 0.7,
                 pi = 3.14159265358979323846, d = (x + y + z) / 3;
    perp_body body = {
        .joint = PERP_JOINT_FREE,
        .mass = m,
        .inertia = {m / 12 * (y * y + z * z), m / 12 * (x * x + z * z), m / 12 * (x * x + y * y)}};
    perp_bodies_options o = options(h, 0);
    const double v[6] = {2, 0, -3, 0, 5, 0};
    o.density = rho, o.viscosity = mu;
    o.wind[0] = 0.5;
    perp_bodies *b = make(&body, 1, NULL, 0, o);
    perp_bodies_set(b, NULL, v);
    step(b, 1);
    double fx = -3 * pi * d * mu * 1.5 - 0.5 * rho * y * z * 1.5 * 1.5,
           fz = 3 * pi * d * mu * 3 + 0.5 * rho * x * y * 9,
           turn = -pi * d * d * d * mu * 5 - rho * y * (pow(x, 4) + pow(z, 4)) / 64 * 25;
    expect_near(perp_bodies_v(b)[0], 2 + h * fx / m, 1e-13, "along x");
    expect_near(perp_bodies_v(b)[2], -3 + h * fz / m, 1e-13, "along z");
    expect_near(perp_bodies_v(b)[4], 5 + h * turn / body.inertia[1], 1e-12, "about y");
    step(b, 20000);
    expect_near(perp_bodies_v(b)[0], 0.5, 1e-6, "it goes with the wind");
    perp_bodies_destroy(b);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    const perp_body body[] = {slide(1), slide(1), drone()};
    const int twice[] = {1, 1}, none[] = {1, 3};
    const double one[] = {1, 1}, zero[] = {1, 0};
    perp_bodies *b = make(body, 3, NULL, 0, options(0.01, 0));
    const struct {
        perp_tendon is;
        const char *why;
    } wrong[] = {
        {{.n = 0}, "joints or a path"},
        {{.n = 2, .body = twice, .coefficient = one}, "named once"},
        {{.n = 2, .body = none, .coefficient = one}, "hinges and slides"},
        {{.n = 2, .body = BOTH, .coefficient = zero}, "not 0"},
        {{.n = 2, .body = BOTH, .coefficient = one, .range = {1, 1, -1}}, "not be above"},
        {{.n = 2, .body = BOTH, .coefficient = one, .friction = -1}, ">= 0"},
        {{.n = 2, .body = BOTH, .coefficient = one, .slack = -1}, ">= 0"},
        {{.n = 2, .body = BOTH, .coefficient = one, .rest = (double)NAN}, "finite"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        perp_diag diag = {0};
        assert_int_equal(perp_bodies_add_tendon(b, &wrong[i].is, &diag), PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), wrong[i].why)) fail_msg("%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_add_tendon(b, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_add_actuator(b, &(perp_actuator){.tendon = 1, .gear = 1}, &diag),
                     PERP_ERR_ARG);
    assert_int_equal(
        perp_bodies_add_actuator(
            b, &(perp_actuator){.body = 3, .is_thruster = 1, .gear = 1, .kp = 1}, &diag),
        PERP_ERR_MODEL);
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
}

/* MJCF -------------------------------------------------------------------------------------------------- */

#define GRIP(before, tendon, after)                                                                \
    "<mujoco>" before "<worldbody><body name='b'><joint name='j' axis='0 1 0' range='-90 90' "     \
    "stiffness='1' springref='60'/><geom size='0.1' mass='2'/><body name='c' gravcomp='0.5'>"      \
    "<joint name='k' type='slide' ref='0.5' armature='3'/><geom size='0.1' mass='1'/>"             \
    "<site name='s' pos='1 0 0' euler='0 90 0'/></body></body></worldbody><tendon>" tendon         \
    "</tendon>" after "</mujoco>"
#define STRANDS           "<joint joint='j' coef='2'/><joint joint='k' coef='3'/>"
#define FIXED(attributes) "<fixed name='t' " attributes ">" STRANDS "</fixed>"

static perp_robot *read_text(const char *text)
{
    perp_robot *robot = NULL;
    perp_diag diag = {0};
    perp_status status = perp_robot_parse(text, strlen(text), "t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%s%s", perp_diag_text(&diag), text);
    return robot;
}

static void refuses(const char *text, const char *message)
{
    perp_robot *robot = NULL;
    perp_diag diag = {0};
    perp_status status = perp_robot_parse(text, strlen(text), "t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status == PERP_OK || !strstr(perp_diag_text(&diag), message))
        fail_msg("\"%s\", expected \"%s\"", perp_diag_text(&diag), message);
    perp_diag_clear(&diag);
    perp_robot_destroy(robot);
}

static void fixed_tendons_of_mjcf(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846;
    static const struct {
        const char *text;
        perp_tendon is;
    } row[] = {
        {GRIP("", FIXED(""), ""), {0}},
        {GRIP("", FIXED("range='-1 2'"), ""), {.range = {1, -1, 2}}},
        {GRIP("", FIXED("range='-1 2' limited='false'"), ""), {0}},
        {GRIP("<option><flag limit='disable'/></option>", FIXED("range='-1 2'"), ""), {0}},
        {GRIP("", FIXED("frictionloss='3' damping='4'"), ""), {.friction = 3, .damping = 4}},
        {GRIP("", FIXED("stiffness='5' springlength='0.7'"), ""), {.stiffness = 5, .rest = 0.7}},
        {GRIP("", FIXED("stiffness='5'"), ""), {.stiffness = 5, .rest = -1}},
        {GRIP("<default><tendon damping='6'/></default>", FIXED(""), ""), {.damping = 6}},
        {GRIP("<default><tendon damping='6'/><default class='x'><tendon damping='7'/></default>"
              "</default>",
              FIXED("class='x'"), ""),
         {.damping = 7}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        perp_robot *robot = read_text(row[i].text);
        perp_robot_parts p = *perp_robot_get_parts(robot);
        const perp_tendon *t = p.tendon, *e = &row[i].is;
        double rest = e->rest == -1 ? 2 * pi / 3 : e->rest; /* springref; of the slide 0 */
        assert_int_equal(p.ntendon, 1);
        assert_int_equal(t->n, 2);
        assert_int_equal(t->body[1], 2);
        expect_near(t->coefficient[0], 2, 0, "coef");
        expect_near(t->range.lower, e->range.lower, 0, "lower");
        expect_near(t->range.upper, e->range.upper, 0, "upper");
        expect_near(t->friction, e->friction, 0, "friction");
        expect_near(t->damping, e->damping, 0, "damping");
        expect_near(t->stiffness, e->stiffness, 0, "stiffness");
        expect_near(t->rest, rest, 1e-15, "rest");
        perp_robot_destroy(robot);
    }
    refuses(GRIP("", "<fixed name='t'/>", ""), "no joint has a coef");
    refuses(GRIP("", "<fixed><joint joint='x' coef='1'/></fixed>", ""), "there is no joint 'x'");
    refuses(GRIP("", FIXED("range='2 1'"), ""), "range: a lower and a greater");
    refuses(GRIP("", FIXED("stiffness='1' springlength='2 1'"), ""), "not above the second");
    refuses(GRIP("", FIXED("armature='1'"), ""), "armature: of joints");
    refuses(GRIP("", "<spatial stiffness='1'/>", ""), "1:323: spatial: two sites are expected");
}

static void actuators_of_tendons_and_sites(void **state)
{
    (void)state;
    perp_robot *robot = read_text(
        GRIP("", FIXED("range='1 3'"),
             "<actuator><position tendon='t' kp='8' inheritrange='1'/>"
             "<motor site='s' gear='1 0 0 0 4 0' ctrlrange='-2 2'/>"
             "<position joint='k' kp='16' gear='2' dampratio='0.5'/>"
             "<position tendon='t' kp='2' dampratio='1'/>"
             "<general joint='k' gainprm='16' biastype='affine' biasprm='0 -16 1'/></actuator>"));
    const perp_actuator *a = perp_robot_get_parts(robot)->actuator;
    assert_int_equal(a[0].tendon, 1);
    expect_near(a[0].kp, 8, 0, "kp");
    expect_near(a[0].control_range.upper, 3, 1e-15, "inherited");
    assert_int_equal(a[1].is_thruster, 1);
    assert_int_equal(a[1].body, 2);
    const double point[] = {1, 0, 0}, push[] = {0, 0, -1}, turn[] = {0, 4, 0};
    for (int k = 0; k < 3; k++) {
        expect_near(a[1].point[k], point[k], 1e-15, "point");
        expect_near(a[1].force[k], push[k], 1e-15, "push");
        expect_near(a[1].moment[k], turn[k], 1e-15, "turn");
    }
    /* of the slide: 1 kg and an armature of 3 kg, felt through the gear by a quarter */
    expect_near(a[2].kv, 2 * 0.5 * sqrt(16 * 4 / 4.0), 1e-12, "damping of the joint");
    expect_near(a[4].kv, 2 * 1 * sqrt(16 * 4), 1e-12, "1 of biasprm is a ratio");
    /* of the hinge: two balls, that of 1 kg at 0 along the slide */
    double I = 3 * 0.4 * 0.01;
    expect_near(a[3].kv, 2 * sqrt(2 / (4 / I + 9 / 4.0)), 1e-12, "damping of the tendon");
    expect_near(perp_robot_get_parts(robot)->body[1].gravity_compensation, 0.5, 0, "gravcomp");
    perp_robot_destroy(robot);
    refuses(GRIP("", FIXED(""), "<actuator><motor tendon='x'/></actuator>"),
            "there is no tendon 'x'");
    refuses(GRIP("", FIXED(""), "<actuator><motor site='s' refsite='s'/></actuator>"),
            "not of a refsite");
    refuses(GRIP("", FIXED(""), "<actuator><velocity site='s'/></actuator>"), "kv = 0");
    refuses(GRIP("", FIXED(""),
                 "<actuator><general joint='k' gainprm='1' biastype='affine' biasprm='0 -16 1'/>"
                 "</actuator>"),
            "biasprm: it must not push away");
}

static void a_fluid_of_mjcf(void **state)
{
    (void)state;
    perp_robot *robot =
        read_text(GRIP("<option density='1.2' viscosity='2e-5' wind='1 2 3'/>", FIXED(""), ""));
    perp_bodies_options o = perp_robot_get_parts(robot)->options;
    expect_near(o.density, 1.2, 0, "density");
    expect_near(o.viscosity, 2e-5, 0, "viscosity");
    expect_near(o.wind[2], 3, 0, "wind");
    perp_robot_destroy(robot);
    refuses(GRIP("<option density='-1'/>", FIXED(""), ""), "density and viscosity are >= 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stiff_servo_pulls_two_joints_as_one),
        cmocka_unit_test(a_bounded_servo_pulls_with_its_bound),
        cmocka_unit_test(a_tendon_of_one_joint_is_the_joint),
        cmocka_unit_test(a_tendon_has_one_number),
        cmocka_unit_test(a_tendon_has_limits_and_rubs),
        cmocka_unit_test(a_tendon_pulls_what_stands_on_the_ground),
        cmocka_unit_test(thrusters_push_along_the_body_s_axes),
        cmocka_unit_test(lift_takes_weight_off),
        cmocka_unit_test(a_fluid_drags_the_box_of_a_body),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(fixed_tendons_of_mjcf),
        cmocka_unit_test(actuators_of_tendons_and_sites),
        cmocka_unit_test(a_fluid_of_mjcf),
    };
    return run_all(tests);
}
