/* The midpoint rule of bodies: its order beside solutions found by other means, what it keeps, what rests, and what is stiff. */

#include "runs.h"
#include "outcomes.h"

#include <math.h>

static perp_bodies_options options(double h)
{
    perp_bodies_options o = perp_bodies_options_default();
    o.step = h;
    o.method = PERP_BODIES_MIDPOINT;
    return o;
}

static perp_bodies *make(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                         const perp_bodies_options *o)
{
    perp_bodies *b;
    perp_diag diag = {0};
    if (perp_bodies_create(body, nbody, shape, nshape, o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static void step(perp_bodies *b, long n)
{
    perp_diag diag = {0};
    for (long i = 0; i < n; i++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

/* Errors at h, h/2, h/4, and the order that they have. */
static double print_order(const char *what, const double *off)
{
    double order = 0.5 * log2(off[0] / off[2]);
    printf("%s: off by %.3e, %.3e, %.3e at h, h/2, h/4: order %.3f\n", what, off[0], off[1], off[2],
           order);
    return order;
}

/* The rule of four stages, of n unknowns, from t = 0 to T. */
static void runge_kutta(void (*slope)(const double *x, double *dx), int n, double T, long steps,
                        double *x)
{
    double k[4][16], at[16], h = T / (double)steps;
    static const double part[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    for (long s = 0; s < steps; s++) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < n; j++) at[j] = x[j] + (i ? part[i] * h * k[i - 1][j] : 0);
            slope(at, k[i]);
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < 4; i++) x[j] += h / 6 * weight[i] * k[i][j];
    }
}

/* The arm without drives, brakes and limits ---------------------------------------------------------------- */

static const char arm_file[] = PERP_SOURCE_DIR "/tests/data/robots/free_arm.xml";

/* Its motion as a model, by radau5. */
static void motion_of_the_arm(double *q)
{
    char text[400];
    snprintf(
        text, sizeof text,
        "model m\nrobot r = \"%s\"(key = \"up\")\nsimulate { to 1\n step 0.001\n method radau5 }\n",
        arm_file);
    run r = run_model(parse_model(text), 0, 0);
    for (int k = 0; k < 7; k++) {
        char name[16];
        snprintf(name, sizeof name, "r.j%d.q", k + 1);
        q[k] = last(&r, name);
    }
    free_run(&r);
}

static double error_of_the_arm(const perp_robot *robot, double h, perp_bodies_method method,
                               const double *q)
{
    perp_bodies_options o = perp_robot_get_parts(robot)->options;
    perp_bodies *b;
    double off = 0;
    o.step = h;
    o.method = method;
    assert_int_equal(perp_robot_create_bodies(robot, &o, &b, NULL), PERP_OK);
    assert_int_equal(perp_robot_set_key(robot, 0, b), PERP_OK);
    step(b, lround(1 / h));
    for (int k = 0; k < 7; k++) off = fmax(off, fabs(perp_bodies_q(b)[k] - q[k]));
    perp_bodies_destroy(b);
    return off;
}

static void a_free_arm_has_order_two(void **state)
{
    (void)state;
    perp_robot *robot = NULL;
    perp_diag diag = {0};
    double q[7], off[2][3];
    perp_status status = perp_robot_read(arm_file, &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    assert_int_equal(status, PERP_OK);
    motion_of_the_arm(q);
    for (int m = 0; m < 2; m++) {
        for (int k = 0; k < 3; k++)
            off[m][k] = error_of_the_arm(robot, 1e-3 / (1 << k), (perp_bodies_method)m, q);
        print_order(m ? "free arm, 1 s at 1 ms, midpoint [rad]" : "free arm, euler [rad]", off[m]);
    }
    assert_true(off[1][0] <= 5e-3);
    assert_near(off[1][0] / off[1][1], 4, 0.3);
    assert_near(off[1][1] / off[1][2], 4, 0.3);
    assert_true(off[0][0] > 50 * off[1][0]);
    perp_robot_destroy(robot);
}

/* A body that turns freely ------------------------------------------------------------------------------------ */

static const double I[3] = {0.5, 1, 1.4};

/* Euler's equations; x: angular velocity in the body, quaternion. */
static void turn_freely(const double *x, double *dx)
{
    const double *w = x, *q = x + 3;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        dx[i] = (I[j] - I[k]) * w[j] * w[k] / I[i];
    }
    dx[3] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    dx[4] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    dx[5] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    dx[6] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
}

static perp_bodies *make_top(double h, perp_bodies_method method)
{
    perp_body top = {.joint = PERP_JOINT_FREE, .mass = 2, .inertia = {I[0], I[1], I[2]}};
    perp_bodies_options o = options(h);
    o.method = method;
    o.gravity[2] = 0;
    perp_bodies *b = make(&top, 1, NULL, 0, &o);
    /* about its middle axis, which it leaves and comes back to, turned over */
    assert_int_equal(perp_bodies_set(b, NULL, (double[]){0.1, 0.2, 0.3, 1e-3, 5, 1e-3}), PERP_OK);
    return b;
}

static void momentum_of(perp_bodies *b, double *L)
{
    double R[9];
    const double *w = perp_bodies_v(b) + 3;
    perp_bodies_pose(b, 1, NULL, R);
    for (int i = 0; i < 3; i++) {
        L[i] = 0;
        for (int k = 0; k < 3; k++) L[i] += R[3 * i + k] * I[k] * w[k];
    }
}

/* The largest change of energy and of each component of the momentum within n steps, of what they began with; how often it turned over. */
static void drift_of(perp_bodies *b, long n, double *energy, double *momentum, int *flips)
{
    double begin, now, L[3], at[3], side = 1;
    perp_bodies_energy(b, &begin, NULL);
    momentum_of(b, L);
    *energy = *momentum = 0, *flips = 0;
    for (long i = 0; i < n; i++) {
        step(b, 1);
        perp_bodies_energy(b, &now, NULL);
        momentum_of(b, at);
        *energy = fmax(*energy, fabs(now - begin) / begin);
        for (int k = 0; k < 3; k++)
            *momentum =
                fmax(*momentum, fabs(at[k] - L[k]) / sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]));
        double w = perp_bodies_v(b)[4];
        if (w * side < -2) side = -side, ++*flips;
    }
}

static void a_body_that_turns_freely_keeps_energy_and_momentum(void **state)
{
    (void)state;
    const double T = 2, h = 2e-3;
    double x[7] = {1e-3, 5, 1e-3, 1, 0, 0, 0}, off[3], energy, momentum;
    int flips;
    runge_kutta(turn_freely, 7, T, 200000, x);
    for (int k = 0; k < 3; k++) {
        perp_bodies *b = make_top(h / (1 << k), PERP_BODIES_MIDPOINT);
        const double *q = perp_bodies_q(b) + 3;
        step(b, lround(T / h) << k);
        off[k] = 0;
        for (int i = 0; i < 4; i++) off[k] = fmax(off[k], fabs(q[i] - x[3 + i]));
        perp_bodies_destroy(b);
    }
    assert_true(fabs(print_order("free body, 2 s at 2 ms [quaternion]", off) - 2) < 0.1);
    for (int m = 1; m >= 0; m--) {
        perp_bodies *b = make_top(h, (perp_bodies_method)m);
        drift_of(b, 20000, &energy, &momentum, &flips);
        printf("free body, 20000 steps, %s: energy changes by %.1e, momentum by %.1e of itself; it "
               "turns over %d times\n",
               perp_bodies_method_name((perp_bodies_method)m), energy, momentum, flips);
        if (m) {
            assert_true(energy < 1e-10 && momentum < 1e-10 && flips >= 5);
        } else {
            assert_true(energy > 1e-3);
        }
        perp_bodies_destroy(b);
    }
}

/* Contacts that stay ------------------------------------------------------------------------------------------- */

enum { RADIUS = 1 };
static const double ball = 0.1;

/* A ball that rolls on a fixed one: x is the angle of the line of their centres from the vertical, and its rate. */
static void roll_down(const double *x, double *dx)
{
    dx[0] = x[1];
    dx[1] = 5.0 / 7 * 9.81 * sin(x[0]) / (RADIUS + ball);
}

static void a_ball_that_rolls_on_a_ball_has_order_two(void **state)
{
    (void)state;
    const double T = 0.4, h = 2e-3, inertia = 0.4 * ball * ball;
    double x[2] = {0.3, 0}, off[3];
    perp_body body = {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {inertia, inertia, inertia}};
    perp_shape shape[2] = {{.body = 0, .kind = PERP_SHAPE_SPHERE, .size = {RADIUS}, .mu = 1},
                           {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {ball}}};
    runge_kutta(roll_down, 2, T, 10000, x);
    for (int k = 0; k < 3; k++) {
        perp_bodies_options o = options(h / (1 << k));
        perp_bodies *b = make(&body, 1, shape, 2, &o);
        const double *q = perp_bodies_q(b);
        perp_bodies_set(b, (double[]){1.1 * sin(0.3), 0, 1.1 * cos(0.3), 1, 0, 0, 0}, NULL);
        step(b, lround(T / h) << k);
        off[k] = fabs(atan2(q[0], q[2]) - x[0]);
        perp_bodies_destroy(b);
    }
    assert_true(fabs(print_order("ball on a ball, 0.4 s at 2 ms [rad]", off) - 2) < 0.3);
}

static void motion_of_constant_acceleration_is_exact(void **state)
{
    (void)state;
    const double slope = 0.2, T = 1, r = 0.1, inertia = 0.4 * r * r;
    perp_bodies_options o = options(2e-3);
    o.gravity[0] = 9.81 * sin(slope), o.gravity[2] = -9.81 * cos(slope);
    perp_body body[2] = {{.joint = PERP_JOINT_FREE,
                          .position = {0, 0, r},
                          .mass = 1,
                          .inertia = {inertia, inertia, inertia}},
                         {.joint = PERP_JOINT_FREE,
                          .position = {0, 3, r},
                          .mass = 1,
                          .inertia = {0.01, 0.01, 0.01}}};
    perp_shape shape[3] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.1},
                           {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {r}, .mu = 0.5},
                           {.body = 2, .kind = PERP_SHAPE_BOX, .size = {r, r, r}}};
    perp_bodies *b = make(body, 2, shape, 3, &o);
    const double *q = perp_bodies_q(b);
    step(b, lround(T / o.step));
    assert_near(q[0], 0.5 * 5 / 7 * 9.81 * sin(slope) * T * T, 1e-9);              /* rolls */
    assert_near(q[7], 0.5 * 9.81 * (sin(slope) - 0.1 * cos(slope)) * T * T, 1e-9); /* slides */
    perp_bodies_destroy(b);
}

/* 2 % inside the cone: what rests stays, exactly. */
static void what_rests_stays_where_it_is(void **state)
{
    (void)state;
    perp_bodies_options o = options(2e-3);
    o.gravity[0] = 9.81 * sin(atan(0.49)), o.gravity[2] = -9.81 * cos(atan(0.49));
    perp_body body = {.joint = PERP_JOINT_FREE,
                      .position = {0, 0, 0.1},
                      .mass = 1,
                      .inertia = {0.01, 0.01, 0.01}};
    perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5},
                           {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}}};
    perp_bodies *b = make(&body, 1, shape, 2, &o);
    step(b, 1000);
    const double *q = perp_bodies_q(b);
    printf("box 2 %% inside its cone moves by %.1e m in 2 s\n", hypot(q[0], q[1]));
    assert_true(hypot(q[0], q[1]) < 1e-12 && fabs(q[2] - 0.1) < 1e-12);
    perp_bodies_destroy(b);
}

/* A ball that bounces: impacts lose what e says, the flights between lose nothing. */
static void bounces_gain_nothing(void **state)
{
    (void)state;
    perp_bodies_options o = options(1e-3);
    perp_body body = {
        .joint = PERP_JOINT_FREE, .position = {0, 0, 1.1}, .mass = 1, .inertia = {1, 1, 1}};
    perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .restitution = 0.8},
                           {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.1}}};
    perp_bodies *b = make(&body, 1, shape, 2, &o);
    double most = 0;
    for (int i = 0; i < 4000; i++) {
        step(b, 1);
        if (perp_bodies_time(b) > 0.5) most = fmax(most, perp_bodies_q(b)[2] - 0.1);
    }
    printf("bounce: up to %.4f m after an impact, %.1e m off the ground at the end\n", most,
           perp_bodies_q(b)[2] - 0.1);
    assert_near(most, 0.64, 0.01);
    assert_true(fabs(perp_bodies_q(b)[2] - 0.1) < 0.01);
    perp_bodies_destroy(b);
}

/* Joints ----------------------------------------------------------------------------------------------------------- */

static perp_body slider(double mass)
{
    return (perp_body){.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = mass};
}

/* A mass on a spring and a damper, and one at a servo: as the equations' solution where they are soft. */
static void soft_springs_and_servos_have_order_two(void **state)
{
    (void)state;
    double off[2][3];
    const double h = 5e-3, k = 40, d = 1.5, w = sqrt(k - d * d / 4), T = 1,
                 x = exp(-d / 2 * T) * (cos(w * T) + d / (2 * w) * sin(w * T));
    for (int n = 0; n < 3; n++)
        for (int is_servo = 0; is_servo < 2; is_servo++) {
            perp_body body = slider(1);
            perp_bodies_options o = options(h / (1 << n));
            o.gravity[2] = 0;
            if (!is_servo) body.damping = d;
            perp_bodies *b = make(&body, 1, NULL, 0, &o);
            if (is_servo)
                perp_bodies_add_actuator(
                    b, &(perp_actuator){.body = 1, .gear = 1, .gain = k, .kp = k, .kv = d}, NULL);
            else
                perp_bodies_set_joint(b, 1, &(perp_joint_law){.stiffness = k}, NULL);
            perp_bodies_set(b, (double[]){1}, NULL);
            step(b, lround(T / h) << n);
            off[is_servo][n] = fabs(perp_bodies_q(b)[0] - x);
            perp_bodies_destroy(b);
        }
    assert_true(fabs(print_order("spring and damper, 1 s at 5 ms [m]", off[0]) - 2) < 0.2);
    assert_true(fabs(print_order("servo, 1 s at 5 ms [m]", off[1]) - 2) < 0.2);
}

/* A cube that sinks and slows down in a fluid, beside v' = -g - c |v| v: speed and depth are tanh and log cosh. */
static void drag_has_order_two(void **state)
{
    (void)state;
    const double h = 0.01, T = 1, side = 0.2, mass = 4, density = 50, g = 9.81,
                 c = 0.5 * density * side * side / mass, last = sqrt(g / c),
                 z = -log(cosh(sqrt(c * g) * T)) / c, inertia = mass * side * side / 6;
    double off[3];
    for (int n = 0; n < 3; n++) {
        perp_body body = {
            .joint = PERP_JOINT_FREE, .mass = mass, .inertia = {inertia, inertia, inertia}};
        perp_bodies_options o = options(h / (1 << n));
        o.density = density;
        perp_bodies *b = make(&body, 1, NULL, 0, &o);
        step(b, lround(T / h) << n);
        assert_true(fabs(perp_bodies_v(b)[2] + last * tanh(sqrt(c * g) * T)) < 1e-3);
        off[n] = fabs(perp_bodies_q(b)[2] - z);
        perp_bodies_destroy(b);
    }
    assert_true(fabs(print_order("a cube sinks, 1 s at 10 ms [m]", off) - 2) < 0.2);
}

/* What a tendon pulls with is that of a step's end: order 1, and stiff ones do not ring. */
static void tendons_have_order_one(void **state)
{
    (void)state;
    const double h = 5e-3, k = 40, d = 1.5, w = sqrt(k - d * d / 4), T = 1,
                 x = exp(-d / 2 * T) * (cos(w * T) + d / (2 * w) * sin(w * T));
    double off[3];
    for (int n = 0; n < 4; n++) {
        perp_body body = slider(1);
        perp_bodies_options o = options(n < 3 ? h / (1 << n) : h);
        o.gravity[2] = 0;
        perp_bodies *b = make(&body, 1, NULL, 0, &o);
        perp_tendon t = {.n = 1,
                         .body = (int[]){1},
                         .coefficient = (double[]){1},
                         .stiffness = n < 3 ? k : 1e9,
                         .damping = n < 3 ? d : 0};
        assert_int_equal(perp_bodies_add_tendon(b, &t, NULL), PERP_OK);
        perp_bodies_set(b, (double[]){1}, NULL);
        step(b, n < 3 ? lround(T / h) << n : 20);
        if (n < 3)
            off[n] = fabs(perp_bodies_q(b)[0] - x);
        else
            assert_true(fabs(perp_bodies_q(b)[0]) < 1e-3 && fabs(perp_bodies_v(b)[0]) < 1e-3);
        perp_bodies_destroy(b);
    }
    assert_true(fabs(print_order("tendon's spring and damper, 1 s at 5 ms [m]", off) - 1) < 0.2);
}

/* However stiff, in one joint or in both of a heavy and a light link: at the target soon, and without ringing. */
static void stiff_gains_do_not_ring(void **state)
{
    (void)state;
    double worst = 0;
    for (double kp = 1; kp < 1e13; kp *= 100)
        for (double light = 1; light > 1e-4; light *= 1e-3)
            for (int has_kv = 0; has_kv < 2 && kp / light <= 1e12; has_kv++) {
                perp_body body[2] = {slider(1), slider(light)};
                body[1].parent = 1;
                perp_bodies_options o = options(2e-3);
                o.gravity[2] = 0;
                perp_bodies *b = make(body, 2, NULL, 0, &o);
                for (int i = 0; i < 2; i++)
                    perp_bodies_add_actuator(b,
                                             &(perp_actuator){.body = i + 1,
                                                              .gear = 1,
                                                              .gain = kp,
                                                              .kp = kp,
                                                              .kv = has_kv ? 2 * sqrt(kp) : 0},
                                             NULL);
                perp_bodies_set(b, (double[]){1, -0.5}, NULL);
                double most = 0;
                for (int i = 0; i < 2000; i++) {
                    step(b, 1);
                    const double *q = perp_bodies_q(b), *v = perp_bodies_v(b);
                    double energy = 0.5 * (v[0] * v[0] + light * (v[0] + v[1]) * (v[0] + v[1]) +
                                           kp * (q[0] * q[0] + q[1] * q[1]));
                    most = fmax(most, energy / (0.625 * kp));
                }
                const double *q = perp_bodies_q(b);
                double end = fmax(fabs(q[0]), fabs(q[1]));
                worst = fmax(worst, most);
                if ((kp >= 1e6 && end > 1e-9) || most > 1.01)
                    fail_msg("kp %g, second mass %g, kv %d: energy up to %g of the start's, at the "
                             "end off by %g",
                             kp, light, has_kv, most, end);
                perp_bodies_destroy(b);
            }
    printf("stiff servos: energy never above %.3f of the start's\n", worst);
}

/* Bounds, limits and dry friction are those of their definition: a servo at its bound gives the bound, a limit is not passed, what is held is at rest. */
static void laws_of_joints_are_exact(void **state)
{
    (void)state;
    perp_body body = slider(2);
    perp_bodies_options o = options(1e-3);
    perp_bodies *b = make(&body, 1, NULL, 0, &o);
    perp_actuator servo = {.body = 1, .gear = 1, .gain = 1e9, .kp = 1e9, .force_range = {1, -3, 3}};
    double force, dry, limit;
    perp_bodies_set_joint(b, 1, &(perp_joint_law){.range = {1, -1, 0.5}, .friction = 1}, NULL);
    perp_bodies_add_actuator(b, &servo, NULL);
    perp_bodies_set_control(b, (double[]){2});
    step(b, 600);
    assert_near(perp_bodies_q(b)[0], 0.5 * 1 * 0.36, 1e-12); /* (3 - 1)/2 m/s^2 */
    perp_bodies_joint_forces(b, NULL, &dry, &force);
    assert_near(force, 3, 1e-12);
    assert_near(dry, -1, 1e-12);
    for (int i = 0; i < 600; i++) {
        step(b, 1);
        assert_true(perp_bodies_q(b)[0] <= 0.5 + 1e-15);
    }
    perp_bodies_joint_forces(b, &limit, &dry, &force);
    assert_near(perp_bodies_q(b)[0], 0.5, 1e-15);
    assert_near(limit + dry + force, 0, 1e-9);
    assert_near(perp_bodies_v(b)[0], 0, 1e-12);
    perp_bodies_destroy(b);
}

/* A closed loop: as its motion by steps of 1/64, and it does not drift. */
static void a_closed_loop_has_order_two(void **state)
{
    (void)state;
    perp_body body[3];
    double q[4], off[3];
    for (int i = 0; i < 3; i++)
        body[i] = (perp_body){.parent = i == 1,
                              .joint = PERP_JOINT_HINGE,
                              .position = {i == 2, 0,
                                           i == 1   ? -1
                                           : i == 2 ? 0.3
                                                    : 0},
                              .axis = {0, 1, 0},
                              .mass = 1,
                              .center = {0, 0, -0.5},
                              .inertia = {0.1, 0.1, 0.01}};
    for (int k = 3; k >= 0; k--) {
        int n = k == 3 ? 256 : 1 << k;
        perp_bodies_options o = options(4e-3 / n);
        perp_bodies *b = make(body, 3, NULL, 0, &o);
        perp_bodies_add_equality(b,
                                 &(perp_equality){.kind = PERP_EQUALITY_CONNECT,
                                                  .body = {2, 3},
                                                  .point = {{0, 0, -1}, {0, 0, -1.3}}},
                                 NULL);
        perp_bodies_set(b, (double[]){0, -acos(-1) / 2, 0}, (double[]){1.3, -1.3, 1});
        step(b, 125 * n);
        q[k] = perp_bodies_q(b)[0];
        if (k < 3) off[k] = fabs(q[k] - q[3]);
        perp_bodies_destroy(b);
    }
    assert_true(fabs(print_order("four-bar, 0.5 s at 4 ms [rad]", off) - 2) < 0.2);
}

/* What is asked between steps changes nothing of them; and what is not there is said. */
static void questions_change_nothing_and_what_is_missing_is_said(void **state)
{
    (void)state;
    double q[2][7], R[9], J[18], dv[36];
    perp_diag diag = {0};
    for (int asked = 0; asked < 2; asked++) {
        perp_bodies *b = make_top(2e-3, PERP_BODIES_MIDPOINT);
        for (int i = 0; i < 100; i++) {
            step(b, 1);
            if (!asked) continue;
            perp_bodies_pose(b, 1, NULL, R);
            perp_bodies_jacobian(b, 1, (double[]){1, 2, 3}, J);
            perp_bodies_dynamics(b, NULL, NULL);
        }
        memcpy(q[asked], perp_bodies_q(b), sizeof q[asked]);
        assert_int_equal(perp_bodies_step_derivatives(b, NULL, dv, NULL, &diag),
                         PERP_ERR_UNAVAILABLE);
        assert_non_null(strstr(perp_diag_text(&diag), "method euler"));
        perp_diag_clear(&diag);
        perp_bodies_destroy(b);
    }
    assert_memory_equal(q[0], q[1], sizeof q[0]);
    perp_bodies_options o = options(1e-3);
    perp_body body = slider(1);
    perp_bodies *b = NULL;
    o.method = PERP_BODIES_METHOD_COUNT;
    assert_int_equal(perp_bodies_create(&body, 1, NULL, 0, &o, &b, &diag), PERP_ERR_ARG);
    assert_non_null(strstr(perp_diag_text(&diag), "perp_bodies_method"));
    perp_diag_clear(&diag);
    assert_int_equal(perp_bodies_method_find("midpoint"), PERP_BODIES_MIDPOINT);
    assert_int_equal(perp_bodies_method_find("none"), PERP_BODIES_METHOD_COUNT);
    assert_string_equal(perp_bodies_method_name(PERP_BODIES_EULER), "euler");
    assert_non_null(strstr(perp_bodies_method_summary(PERP_BODIES_MIDPOINT), "order 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_arm_has_order_two),
        cmocka_unit_test(a_body_that_turns_freely_keeps_energy_and_momentum),
        cmocka_unit_test(a_ball_that_rolls_on_a_ball_has_order_two),
        cmocka_unit_test(motion_of_constant_acceleration_is_exact),
        cmocka_unit_test(what_rests_stays_where_it_is),
        cmocka_unit_test(bounces_gain_nothing),
        cmocka_unit_test(soft_springs_and_servos_have_order_two),
        cmocka_unit_test(drag_has_order_two),
        cmocka_unit_test(tendons_have_order_one),
        cmocka_unit_test(stiff_gains_do_not_ring),
        cmocka_unit_test(laws_of_joints_are_exact),
        cmocka_unit_test(a_closed_loop_has_order_two),
        cmocka_unit_test(questions_change_nothing_and_what_is_missing_is_said),
    };
    return test_result(cmocka_run_group_tests(tests, NULL, NULL));
}
