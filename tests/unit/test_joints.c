/* Joints: limits, dry friction, springs, actuators and equalities beside closed forms. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static perp_bodies *make(const perp_body *body, int nbody, double h, double g)
{
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = h;
    o.gravity[2] = -g;
    if (perp_bodies_create(body, nbody, NULL, 0, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static void step(perp_bodies *b, long n)
{
    perp_diag diag = {0};
    for (long i = 0; i < n; i++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static void set_law(perp_bodies *b, int body, perp_joint_law law)
{
    perp_diag diag = {0};
    if (perp_bodies_set_joint(b, body, &law, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
}

static void drive(perp_bodies *b, perp_actuator actuator, double u)
{
    perp_diag diag = {0};
    if (perp_bodies_add_actuator(b, &actuator, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_bodies_set_control(b, &u), PERP_OK);
}

static void tie(perp_bodies *b, perp_equality equality)
{
    perp_diag diag = {0};
    if (perp_bodies_add_equality(b, &equality, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
}

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

/* A mass on a vertical slide. */
static perp_body slider(void)
{
    return (perp_body){
        .joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}, .mass = 2, .inertia = {1, 1, 1}};
}

static perp_body rod(int parent, double z)
{
    return (perp_body){.parent = parent,
                       .joint = PERP_JOINT_HINGE,
                       .axis = {0, 1, 0},
                       .position = {0, 0, z},
                       .mass = 1,
                       .center = {0, 0, -0.5},
                       .inertia = {1. / 12, 1. / 12, 1e-3}};
}

static void a_limit_is_reached_without_rebound_and_never_passed(void **state)
{
    (void)state;
    const double H = 1e-3, G = 9.81;
    for (int side = 0; side < 2; side++) {
        perp_body body = slider();
        perp_bodies *b = make(&body, 1, H, side ? -G : G);
        set_law(b, 1, (perp_joint_law){.range = {1, -0.1, 0.1}});
        double force = 0;
        for (int i = 0; i < 1000; i++) {
            step(b, 1);
            double q = perp_bodies_q(b)[0];
            assert_true(q >= -0.1 - 1e-15 && q <= 0.1 + 1e-15);
            perp_bodies_joint_forces(b, &force, NULL, NULL);
            if (fabs(q) < 0.0999) expect_near(force, 0, 0, "force of a limit that is not reached");
        }
        expect_near(perp_bodies_q(b)[0], side ? 0.1 : -0.1, 1e-15, "rests at its limit");
        expect_near(perp_bodies_v(b)[0], 0, 1e-14, "at rest");
        expect_near(force, side ? -2 * G : 2 * G, 1e-9, "force of the limit");
        perp_bodies_destroy(b);
    }
}

/* A range from 0 to 0, or of one point elsewhere, locks the joint: its limits carry the weight. Without the flag nothing holds it. */
static void a_range_of_one_point_locks_a_joint(void **state)
{
    (void)state;
    const double H = 2e-3, G = 9.81;
    for (int k = 0; k < 3; k++) {
        perp_body body = slider();
        perp_bodies *b = make(&body, 1, H, G);
        const double at = k == 1 ? 0.3 : 0;
        set_law(b, 1, (perp_joint_law){.range = {k < 2, at, at}});
        assert_int_equal(perp_bodies_set(b, &at, NULL), PERP_OK);
        double force = 0;
        step(b, 500);
        perp_bodies_joint_forces(b, &force, NULL, NULL);
        expect_near(perp_bodies_q(b)[0], k < 2 ? at : -0.5 * G * H * H * 500 * 501, 1e-11, "place");
        expect_near(force, k < 2 ? 2 * G : 0, 1e-9, "force of the limits");
        perp_bodies_destroy(b);
    }
}

/* The upper arm is at rest at its limit until the lower one hits its own: no one knew before the solve. */
static void limits_that_others_make_are_found_within_the_step(void **state)
{
    (void)state;
    perp_body body[2] = {rod(0, 0), rod(1, -1)};
    perp_bodies *b = make(body, 2, 1e-3, 9.81);
    set_law(b, 1, (perp_joint_law){.range = {1, -0.01, 0.01}});
    set_law(b, 2, (perp_joint_law){.range = {1, -0.3, 0.3}});
    assert_int_equal(perp_bodies_set(b, NULL, (double[]){0, 5}), PERP_OK);
    for (int i = 0; i < 3000; i++) {
        step(b, 1);
        const double *q = perp_bodies_q(b);
        assert_true(fabs(q[0]) <= 0.01 + 1e-14 && fabs(q[1]) <= 0.3 + 1e-14);
    }
    perp_bodies_destroy(b);
}

static void dry_friction_holds_exactly_and_slides_by_its_bound(void **state)
{
    (void)state;
    const double H = 1e-3, G = 9.81, WEIGHT = 2 * G;
    perp_body body = slider();
    perp_bodies *b = make(&body, 1, H, G);
    double force;
    set_law(b, 1, (perp_joint_law){.friction = WEIGHT * 1.0001});
    step(b, 2000);
    expect_near(perp_bodies_q(b)[0], 0, 1e-18, "sticks");
    perp_bodies_joint_forces(b, NULL, &force, NULL);
    expect_near(force, WEIGHT, 1e-9, "friction that holds");
    set_law(b, 1, (perp_joint_law){.friction = 5});
    step(b, 500);
    expect_near(perp_bodies_v(b)[0], -(G - 2.5) * 0.5, 1e-9, "speed against friction");
    set_law(b, 1, (perp_joint_law){.friction = 2 * WEIGHT});
    step(b, 1000); /* decelerates by g: stops */
    double held = perp_bodies_q(b)[0];
    step(b, 1000);
    expect_near(perp_bodies_q(b)[0], held, 1e-18, "holds where it stopped");
    perp_bodies_destroy(b);

    /* each velocity of a ball has its own */
    perp_body ball = {.joint = PERP_JOINT_BALL, .mass = 1, .inertia = {0.1, 0.2, 0.25}};
    b = make(&ball, 1, H, 0);
    set_law(b, 1, (perp_joint_law){.friction = 0.1});
    assert_int_equal(perp_bodies_set(b, NULL, (double[]){0, 0, 1}), PERP_OK);
    step(b, 1000);
    expect_near(perp_bodies_v(b)[2], 1 - 0.1 / 0.25, 1e-9, "a ball that turns against friction");
    perp_bodies_destroy(b);
}

static void springs_of_any_stiffness_are_those_of_implicit_euler(void **state)
{
    (void)state;
    const double H = 2e-3, M = 2;
    for (double k = 1; k < 1e13; k *= 1e3) {
        perp_body body = slider();
        body.damping = 3;
        perp_bodies *b = make(&body, 1, H, 0);
        set_law(b, 1, (perp_joint_law){.stiffness = k, .rest = 0.2});
        double q = 0, v = 0;
        for (int i = 0; i < 50; i++) {
            v = (M * v - H * k * (q - 0.2)) / (M + H * 3 + H * H * k);
            q += H * v;
            step(b, 1);
            expect_near(perp_bodies_q(b)[0], q, 1e-12, "spring");
        }
        perp_bodies_destroy(b);
    }
}

static void actuators_are_clamped_exactly_however_stiff(void **state)
{
    (void)state;
    const double H = 2e-3, M = 2, GEAR = -3;
    for (double kp = 10; kp < 1e10; kp *= 10)
        for (int bounded = 0; bounded < 2; bounded++) {
            perp_body body = slider();
            perp_bodies *b = make(&body, 1, H, 0);
            perp_actuator a = {.body = 1, .gear = GEAR, .gain = kp, .kp = kp, .kv = 0.1 * kp};
            if (bounded) a.force_range = (perp_range){1, -4, 7};
            drive(b, a, 0.5);
            double q = 0, v = 0, force, slope = 0.1 * kp + H * kp;
            for (int i = 0; i < 400; i++) {
                /* M (v' - v) = h gear clamp(want - slope gear v') */
                double want = kp * (0.5 - GEAR * q),
                       next = (M * v + H * GEAR * want) / (M + H * GEAR * GEAR * slope),
                       f = want - slope * GEAR * next;
                if (bounded) {
                    f = fmin(fmax(f, -4), 7);
                    if (f == -4 || f == 7) next = v + H * GEAR * f / M;
                }
                v = next;
                q += H * v;
                step(b, 1);
                expect_near(perp_bodies_v(b)[0], v, 1e-9, "driven speed");
                perp_bodies_joint_forces(b, NULL, NULL, &force);
                assert_true(!bounded || (force >= -4 && force <= 7));
            }
            expect_near(perp_bodies_q(b)[0], q, 1e-9, "driven place");
            perp_bodies_destroy(b);
        }
    /* a motor, its control clamped, its force too */
    perp_body body = slider();
    perp_bodies *b = make(&body, 1, H, 0);
    drive(b,
          (perp_actuator){.body = 1,
                          .gear = 2,
                          .gain = 5,
                          .control_range = {1, -1, 1},
                          .force_range = {1, -3, 3}},
          100);
    step(b, 100);
    expect_near(perp_bodies_v(b)[0], 2 * 3 / M * 100 * H, 1e-12, "motor");
    perp_bodies_destroy(b);
}

static double random_in(unsigned long long *state, double low, double high)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * ((double)(*state >> 11) / 9007199254740992.0);
}

enum { ARM = 5 };

/* An arm with limits, dry friction and bounded servos in every joint. */
static perp_bodies *make_arm(unsigned long long seed, perp_actuator *servo, double *friction,
                             double *damping)
{
    perp_body body[ARM];
    for (int i = 0; i < ARM; i++) {
        body[i] = rod(i, i ? -1 : 0);
        body[i].axis[i % 2] = 0.6;
        body[i].damping = damping[i] = random_in(&seed, 0, 0.5);
        body[i].armature = random_in(&seed, 0, 0.1);
    }
    perp_bodies *b = make(body, ARM, 2e-3, 9.81);
    for (int i = 0; i < ARM; i++) {
        perp_diag diag = {0};
        double gain = random_in(&seed, 10, 400), most = random_in(&seed, 5, 40);
        servo[i] = (perp_actuator){.body = i + 1,
                                   .gear = i % 2 ? -1.5 : 1,
                                   .gain = gain,
                                   .kp = gain,
                                   .kv = 0.1 * gain,
                                   .force_range = {1, -0.5 * most, most}};
        friction[i] = i == 2 ? 0 : random_in(&seed, 0.01, 8);
        set_law(b, i + 1, (perp_joint_law){.range = {1, -0.8, 0.5}, .friction = friction[i]});
        assert_int_equal(perp_bodies_add_actuator(b, &servo[i], &diag), PERP_OK);
    }
    return b;
}

/* Do the forces that a step says obey the joints' laws at its end, and do they make the motion from (q, v)? By inverse dynamics of another
 * system, which has only the bodies. Counts what holds and what is at its bound. */
static void expect_laws(const perp_bodies *b, perp_bodies *still, const double *v,
                        const double *damping, const perp_actuator *servo, const double *friction,
                        const double *u, long *seen)
{
    double limit[ARM], dry[ARM], drive_force[ARM], a[ARM], tau[ARM];
    const double *end = perp_bodies_v(b), *q = perp_bodies_q(b), H = 2e-3;
    for (int i = 0; i < ARM; i++) a[i] = (end[i] - v[i]) / H;
    assert_int_equal(perp_bodies_inverse(still, a, tau), PERP_OK);
    assert_int_equal(perp_bodies_joint_forces(b, limit, dry, drive_force), PERP_OK);
    for (int i = 0; i < ARM; i++) {
        const perp_actuator *s = &servo[i];
        double want = s->gain * u[i] - s->kp * s->gear * q[i] - s->kv * s->gear * end[i],
               clamped = fmin(fmax(want, s->force_range.lower), s->force_range.upper);
        expect_near(drive_force[i], clamped, 1e-9 * (1 + fabs(want)), "a servo's force");
        assert_true(fabs(dry[i]) <= friction[i] * (1 + 1e-12));
        if (fabs(end[i]) > 1e-9)
            expect_near(dry[i], end[i] > 0 ? -friction[i] : friction[i], 1e-9, "dry friction");
        assert_true(q[i] >= -0.8 - 1e-13 && q[i] <= 0.5 + 1e-13);
        if (limit[i] > 0) expect_near(q[i], -0.8, 1e-12, "a lower limit that pushes");
        if (limit[i] < 0) expect_near(q[i], 0.5, 1e-12, "an upper limit that pushes");
        expect_near(limit[i] + dry[i] + s->gear * drive_force[i] - damping[i] * end[i], tau[i],
                    1e-7 * (1 + fabs(tau[i])), "Newton's law");
        seen[0] += friction[i] > 0 && end[i] == 0;
        seen[1] += clamped != want;
        seen[2] += limit[i] != 0;
    }
}

static void laws_on_pieces_are_those_of_their_definition(void **state)
{
    (void)state;
    long seen[3] = {0};
    for (unsigned long long seed = 1; seed <= 20; seed++) {
        unsigned long long at = seed;
        perp_actuator servo[ARM];
        double friction[ARM], u[ARM], q[ARM], v[ARM], damping[ARM];
        perp_bodies *b = make_arm(seed, servo, friction, damping),
                    *still = make_arm(seed, servo, friction, damping);
        if (seed % 2)
            assert_int_equal(perp_bodies_set(b, NULL, (double[ARM]){1, -2, 3, -4, 5}), PERP_OK);
        for (int k = 0; k < 600; k++) {
            for (int i = 0; i < ARM && k % 60 == 0; i++) u[i] = random_in(&at, -1, 1);
            assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
            memcpy(q, perp_bodies_q(b), sizeof q);
            memcpy(v, perp_bodies_v(b), sizeof v);
            assert_int_equal(perp_bodies_set(still, q, v), PERP_OK);
            step(b, 1);
            expect_laws(b, still, v, damping, servo, friction, u, seen);
        }
        perp_bodies_destroy(still);
        perp_bodies_destroy(b);
    }
    for (int i = 0; i < 3; i++) assert_true(seen[i] > 1000);
}

/* Two masses that move together: friction of one holds some of the other's weight, by their coupling. */
static void coupled_joints_share_what_holds(void **state)
{
    (void)state;
    const double WEIGHT = 2 * 9.81;
    for (int strong = 0; strong < 2; strong++) {
        perp_body body[2] = {slider(), slider()};
        perp_bodies *b = make(body, 2, 1e-3, 9.81);
        perp_bodies_info info = {.size = sizeof info};
        perp_diag diag = {0};
        double dry[2], most = 1.6 - 0.2 * !strong;
        tie(b, (perp_equality){.kind = PERP_EQUALITY_JOINT, .body = {1, 2}, .polynomial = {0, 1}});
        set_law(b, 1, (perp_joint_law){.friction = most * WEIGHT});
        set_law(b, 2, (perp_joint_law){.friction = 0.5 * WEIGHT});
        for (int i = 0; i < 100; i++) assert_int_equal(bodies_step(b, &info, &diag), PERP_OK);
        perp_bodies_joint_forces(b, NULL, dry, NULL);
        expect_near(dry[0] + dry[1], fmin(2, most + 0.5) * WEIGHT, 1e-9, "friction of both");
        assert_true(dry[0] <= most * WEIGHT && dry[1] <= 0.5 * WEIGHT);
        if (strong) {
            expect_near(perp_bodies_v(b)[0], 0, 0, "held");
            assert_int_equal(info.iterations, 0);
        } else {
            expect_near(perp_bodies_v(b)[0], -0.1 * 9.81 * 0.05, 1e-9, "both slide");
        }
        perp_bodies_destroy(b);
    }
}

/* A four-bar in a plane: a connect has a row that follows from none of its own and is empty, and the loop turns for long. */
static void a_closed_loop_does_not_drift(void **state)
{
    (void)state;
    perp_body body[3] = {rod(0, 0), rod(1, -1), rod(0, 0)};
    body[2].position[0] = 1, body[2].position[2] = 0.3; /* cranks of 1 and 1.3 m */
    for (int redundant = 0; redundant < 2; redundant++) {
        perp_bodies *b = make(body, 3, 1e-3, 9.81);
        /* links hang down 1 m; the second is turned to the side and meets the third's end */
        const double q[3] = {0, -acos(-1) / 2, 0};
        assert_int_equal(perp_bodies_set(b, q, (double[]){1.3, -1.3, 1}), PERP_OK);
        for (int k = 0; k <= redundant; k++)
            tie(b, (perp_equality){.kind = PERP_EQUALITY_CONNECT,
                                   .body = {2, 3},

                                   .point = {{0, 0, -1}, {0, 0, -1.3}}});
        double begin = 0, worst = 0, potential, kinetic;
        perp_bodies_energy(b, &kinetic, &potential);
        begin = kinetic + potential;
        for (int i = 0; i < 5000; i++) {
            double p[2][3], R[2][9], gap = 0;
            step(b, 1);
            for (int side = 0; side < 2; side++) {
                perp_bodies_pose(b, 2 + side, p[side], R[side]);
                for (int d = 0; d < 3; d++) p[side][d] -= (side ? 1.3 : 1) * R[side][3 * d + 2];
            }
            for (int d = 0; d < 3; d++) gap = fmax(gap, fabs(p[0][d] - p[1][d]));
            worst = fmax(worst, gap);
        }
        perp_bodies_energy(b, &kinetic, &potential);
        printf("loop%s: gap %.2g m, energy lost %.2g J\n", redundant ? ", tied twice" : "", worst,
               begin - kinetic - potential);
        assert_true(worst > 1e-9 && worst < 1e-5); /* (h v)^2 of one step, not their sum */
        assert_true(fabs(begin - kinetic - potential) < 0.05);
        perp_bodies_destroy(b);
    }
}

/* A coupling with a gear ratio is one inertia; a weld makes two bodies one. */
static void couplings_and_welds_are_one_body(void **state)
{
    (void)state;
    perp_body body[2] = {slider(), slider()};
    perp_bodies *b = make(body, 2, 1e-3, 0);
    tie(b, (perp_equality){
               .kind = PERP_EQUALITY_JOINT, .body = {1, 2}, .polynomial = {0.5, 3, 0, 0, 0}});
    assert_int_equal(perp_bodies_set(b, (double[]){0.5, 0}, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set_force(b, (double[]){0, 10}), PERP_OK);
    step(b, 1000);
    expect_near(perp_bodies_v(b)[1], 10. / (2 + 9 * 2), 1e-12, "coupled speed");
    expect_near(perp_bodies_q(b)[0], 0.5 + 3 * perp_bodies_q(b)[1], 1e-13, "coupling");
    perp_bodies_destroy(b);

    perp_body two[2] = {
        {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.1, 0.1, 0.1}},
        {.joint = PERP_JOINT_FREE, .position = {2, 0, 0}, .mass = 3, .inertia = {0.2, 0.2, 0.2}}};
    b = make(two, 2, 1e-3, 9.81);
    tie(b, (perp_equality){
               .kind = PERP_EQUALITY_WELD, .body = {1, 2}, .point = {{1, 0, 0}, {-1, 0, 0}}});
    assert_int_equal(perp_bodies_set(b, NULL, (double[]){0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1}),
                     PERP_OK);
    step(b, 1000);
    const double *q = perp_bodies_q(b);
    double far = hypot(q[7] - q[0], q[8] - q[1]), turn = 2 * acos(fabs(q[3]));
    expect_near(far, 2, 2e-6, "welded bodies stay apart");
    expect_near(turn, 1, 1e-5, "and turn as one");
    expect_near(q[2], -9.81 * 0.5 * 1.001, 1e-9, "and fall");
    for (int k = 0; k < 4; k++) expect_near(q[3 + k], q[10 + k], 1e-9, "rotation");
    perp_bodies_destroy(b);
}

/* Two couplings of nearly the same ratio lock both joints: neither row follows from the other, however small the difference, until it is rounding. */
static void couplings_that_nearly_agree_hold_both(void **state)
{
    (void)state;
    static const double differs[] = {0.1, 1e-2, 1e-3, 1e-4};
    for (int k = 0; k < 4; k++) {
        perp_body body[2] = {slider(), slider()};
        perp_bodies *b = make(body, 2, 1e-3, 0);
        for (int i = 0; i < 2; i++)
            tie(b, (perp_equality){.kind = PERP_EQUALITY_JOINT,
                                   .body = {1, 2},
                                   .polynomial = {0.5, 3 + i * differs[k], 0, 0, 0}});
        assert_int_equal(perp_bodies_set(b, (double[]){0.5, 0}, NULL), PERP_OK);
        assert_int_equal(perp_bodies_set_force(b, (double[]){0, 10}), PERP_OK);
        step(b, 100);
        expect_near(perp_bodies_q(b)[0], 0.5, 1e-9, "the first");
        expect_near(perp_bodies_q(b)[1], 0, 1e-9, "the second");
        perp_bodies_destroy(b);
    }
}

/* A hinge on the floor's friction: contact and joint in one problem. A lever on a hinge pushes a box against its friction. */
static void limits_and_contacts_are_one_problem(void **state)
{
    (void)state;
    perp_body body[2] = {{.joint = PERP_JOINT_FREE,
                          .position = {0, 0, 0.1},
                          .mass = 1,
                          .inertia = {0.01, 0.01, 0.01}},
                         {.joint = PERP_JOINT_SLIDE,
                          .axis = {1, 0, 0},
                          .position = {-0.2, 0, 0.1},
                          .mass = 1,
                          .inertia = {0.01, 0.01, 0.01}}};
    const perp_shape shape[3] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
        {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0},
        {.body = 2, .kind = PERP_SHAPE_SPHERE, .size = {0.1}, .mu = 0}};
    perp_bodies *b;
    perp_diag diag = {0};
    assert_int_equal(perp_bodies_create(body, 2, shape, 3, NULL, &b, &diag), PERP_OK);
    set_law(b, 2, (perp_joint_law){.range = {1, -1, 0.15}});
    drive(b, (perp_actuator){.body = 2, .gear = 1, .gain = 1}, 4.8);
    step(b, 1000); /* the floor holds 4.905 */
    expect_near(perp_bodies_q(b)[0], 0, 1e-12, "the box holds");
    double held = perp_bodies_q(b)[0], limit[7];
    step(b, 1000);
    expect_near(perp_bodies_q(b)[0], held, 1e-12, "without creep");
    assert_int_equal(perp_bodies_set_control(b, (double[]){6}), PERP_OK);
    step(b, 2000);
    expect_near(perp_bodies_q(b)[7], 0.15, 1e-12, "to the slide's limit");
    perp_bodies_joint_forces(b, limit, NULL, NULL);
    expect_near(limit[6], -6, 1e-6, "which takes the force");
    perp_bodies_destroy(b);
}

/* A box that dry friction holds overlaps the ground by rounding: no force moves it on that piece, and nothing is solved to find that out. */
static void what_is_held_in_an_overlap_is_let_go_at_once(void **state)
{
    (void)state;
    const double DEEP = 1e-11;
    perp_body body = slider();
    body.position[2] = 0.1 - DEEP;
    perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5},
                           {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_info info = {.size = sizeof info};
    const perp_contact *touch;
    perp_bodies_options o = perp_bodies_options_default();
    if (perp_bodies_create(&body, 1, shape, 2, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    set_law(b, 1, (perp_joint_law){.friction = 100});
    for (int i = 0; i < 10; i++) {
        if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        if (i == 0) assert_true(info.iterations > 0 && info.iterations <= 10);
        int n = perp_bodies_contacts(b, &touch);
        assert_int_equal(n, 4);
        for (int k = 0; k < n && i > 0; k++) expect_near(touch[k].gap, 0, 1e-16, "gap");
    }
    perp_bodies_destroy(b);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    perp_body body[2] = {rod(0, 0),
                         {.parent = 1, .joint = PERP_JOINT_BALL, .mass = 1, .inertia = {1, 1, 1}}};
    perp_bodies *b = make(body, 2, 1e-3, 9.81);
    perp_diag diag = {0};
    const perp_joint_law bad[] = {
        {.range = {1, 1, 0}},    {.range = {1, NAN, 1}},        {.friction = -1},
        {.stiffness = INFINITY}, {.stiffness = 1, .rest = NAN}, {.range = {1, INFINITY, INFINITY}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(perp_bodies_set_joint(b, 1, &bad[i], &diag), PERP_ERR_MODEL);
        assert_non_null(strstr(perp_diag_text(&diag), "body 1"));
    }
    assert_int_equal(perp_bodies_set_joint(b, 2, &(perp_joint_law){.stiffness = 1}, &diag),
                     PERP_ERR_MODEL);
    assert_int_equal(perp_bodies_set_joint(b, 3, &(perp_joint_law){0}, &diag), PERP_ERR_ARG);
    const perp_actuator wrong[] = {{.body = 2, .gear = 1},
                                   {.body = 1, .gear = 0},
                                   {.body = 1, .gear = 1, .kp = -1},
                                   {.body = 1, .gear = 1, .force_range = {1, 1, -1}},
                                   {.body = 1, .gear = 1, .force_range = {1, -INFINITY, 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(perp_bodies_add_actuator(b, &wrong[i], &diag), PERP_ERR_MODEL);
    assert_int_equal(perp_bodies_nu(b), 0);
    const perp_equality none[] = {{.kind = PERP_EQUALITY_COUNT, .body = {1, 2}},
                                  {.kind = PERP_EQUALITY_CONNECT, .body = {1, 1}},
                                  {.kind = PERP_EQUALITY_CONNECT, .body = {1, 3}},
                                  {.kind = PERP_EQUALITY_JOINT, .body = {1, 2}},
                                  {.kind = PERP_EQUALITY_CONNECT, .body = {1, 2}, .point = {{NAN}}},
                                  {.kind = PERP_EQUALITY_WELD, .body = {1, 0}, .rotation = {NAN}}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(perp_bodies_add_equality(b, &none[i], &diag), PERP_ERR_MODEL);
    /* equalities that contradict each other are refused, not averaged */
    tie(b, (perp_equality){.kind = PERP_EQUALITY_JOINT, .body = {1, 0}, .polynomial = {0.1}});
    tie(b, (perp_equality){.kind = PERP_EQUALITY_JOINT, .body = {1, 0}, .polynomial = {0.2}});
    assert_int_equal(bodies_step(b, NULL, &diag), PERP_ERR_NO_SOLUTION);
    perp_bodies_destroy(b);
    perp_diag_clear(&diag);
    assert_int_equal(perp_equality_find("weld"), PERP_EQUALITY_WELD);
    assert_string_equal(perp_equality_name(PERP_EQUALITY_JOINT), "joint");
    assert_non_null(perp_equality_summary(PERP_EQUALITY_CONNECT));
}

/* A rod that stands on a ball joint with a stop at 0.5 rad: it falls to it and rests there, past it by nothing, held by what its weight turns. */
static void a_ball_rests_at_its_limit(void **state)
{
    (void)state;
    const double most = 0.5, pull = 2 * 9.81 * 0.3;
    const perp_body rod = {.joint = PERP_JOINT_BALL,
                           .mass = 2,
                           .center = {0, 0, 0.3},
                           .inertia = {0.02, 0.03, 0.01},
                           .damping = 0.2};
    for (int rubs = 0; rubs < 2; rubs++) {
        perp_bodies_options o = perp_bodies_options_default();
        perp_bodies *b;
        perp_diag diag = {0};
        assert_int_equal(perp_bodies_create(&rod, 1, NULL, 0, &o, &b, &diag), PERP_OK);
        const perp_joint_law law = {.range = {1, 0, most}, .friction = rubs ? 0.05 : 0};
        assert_int_equal(perp_bodies_set_joint(b, 1, &law, &diag), PERP_OK);
        assert_int_equal(perp_bodies_set(b, NULL, (double[]){0.6, -0.3, 0.4}), PERP_OK);
        double deepest = 0;
        for (int k = 0; k < 4000; k++) {
            if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
            deepest = fmax(deepest, 2 * acos(fabs(perp_bodies_q(b)[0])) - most);
        }
        double force[3], turn = 2 * acos(fabs(perp_bodies_q(b)[0]));
        assert_true(deepest < 1e-4); /* to order 1 while it moves */
        if (!rubs) {
            perp_bodies_joint_forces(b, force, NULL, NULL);
            assert_near(turn, most, 1e-12);
            assert_near(perp_bodies_q(b)[3], 0, 1e-6); /* it fell straight in the end */
            assert_near(-force[0], pull * sin(most), 1e-6);
        }
        assert_near(turn, most, 1e-9);
        perp_bodies_destroy(b);
    }
}

/* Where it begins turned too far it is turned back about the same axis. */
static void a_ball_past_its_limit_is_turned_back(void **state)
{
    (void)state;
    const perp_body body = {.joint = PERP_JOINT_BALL, .mass = 1, .inertia = {1, 1, 1}};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b;
    perp_diag diag = {0};
    perp_assembly is = {.size = sizeof is};
    assert_int_equal(perp_bodies_create(&body, 1, NULL, 0, &o, &b, &diag), PERP_OK);
    perp_joint_law law = {.range = {1, 0, 0.5}};
    assert_int_equal(perp_bodies_set_joint(b, 1, &law, &diag), PERP_OK);
    assert_int_equal(perp_bodies_set(b, (double[]){-cos(0.4), -sin(0.4), 0, 0}, NULL), PERP_OK);
    assert_int_equal(perp_bodies_assemble(b, &is, &diag), PERP_OK);
    assert_near(is.limit, 0.3, 1e-14);
    assert_near(perp_bodies_q(b)[0], cos(0.25), 1e-14);
    assert_near(perp_bodies_q(b)[1], sin(0.25), 1e-14);
    law.range.lower = -1;
    assert_int_equal(perp_bodies_set_joint(b, 1, &law, &diag), PERP_ERR_MODEL);
    perp_diag_clear(&diag);
    double slopes[9];
    for (int has = 1; has >= 0; has--) { /* what has no limit any more has slopes again */
        law = (perp_joint_law){.range = {has, 0, has}};
        assert_int_equal(perp_bodies_set_joint(b, 1, &law, &diag), PERP_OK);
        assert_int_equal(bodies_step(b, NULL, &diag), PERP_OK);
        assert_int_equal(perp_bodies_step_derivatives(b, slopes, NULL, NULL, NULL),
                         has ? PERP_ERR_UNAVAILABLE : PERP_OK);
    }
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_reached_without_rebound_and_never_passed),
        cmocka_unit_test(a_range_of_one_point_locks_a_joint),
        cmocka_unit_test(limits_that_others_make_are_found_within_the_step),
        cmocka_unit_test(dry_friction_holds_exactly_and_slides_by_its_bound),
        cmocka_unit_test(springs_of_any_stiffness_are_those_of_implicit_euler),
        cmocka_unit_test(actuators_are_clamped_exactly_however_stiff),
        cmocka_unit_test(laws_on_pieces_are_those_of_their_definition),
        cmocka_unit_test(coupled_joints_share_what_holds),
        cmocka_unit_test(a_closed_loop_does_not_drift),
        cmocka_unit_test(couplings_and_welds_are_one_body),
        cmocka_unit_test(couplings_that_nearly_agree_hold_both),
        cmocka_unit_test(limits_and_contacts_are_one_problem),
        cmocka_unit_test(what_is_held_in_an_overlap_is_let_go_at_once),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_ball_rests_at_its_limit),
        cmocka_unit_test(a_ball_past_its_limit_is_turned_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
