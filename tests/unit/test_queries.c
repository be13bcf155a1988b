/* Queries of bodies: velocities, centre of mass, momentum and forward dynamics beside the Jacobian and the mass matrix, contacts
 * beside the weights they carry. No query changes a bit of what follows. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <stdlib.h>
#include <string.h>

enum { BODIES = 6, MOST = 32 };

static double random_in(unsigned *seed, double low, double high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (high - low) * (double)(*seed >> 8) / (1 << 24);
}

/* Two trees with every kind of joint, at a random state. */
static perp_bodies *make_trees(unsigned seed, perp_body *body)
{
    static const int parent[BODIES] = {0, 1, 2, 1, 0, 5};
    static const perp_joint joint[BODIES] = {PERP_JOINT_FREE,  PERP_JOINT_HINGE, PERP_JOINT_BALL,
                                             PERP_JOINT_SLIDE, PERP_JOINT_HINGE, PERP_JOINT_FIXED};
    double q[MOST], v[MOST];
    perp_bodies *b;
    for (int i = 0; i < BODIES; i++) {
        body[i] = (perp_body){.parent = parent[i],
                              .joint = joint[i],
                              .mass = random_in(&seed, 0.5, 2),
                              .inertia = {0.3, 0.4, 0.5, 0.05, -0.04, 0.03}};
        for (int k = 0; k < 3; k++) body[i].position[k] = random_in(&seed, -1, 1);
        for (int k = 0; k < 3; k++) body[i].axis[k] = random_in(&seed, -1, 1);
        for (int k = 0; k < 3; k++) body[i].center[k] = random_in(&seed, -0.5, 0.5);
        for (int k = 0; k < 4; k++) body[i].rotation[k] = random_in(&seed, -1, 1);
    }
    assert_int_equal(perp_bodies_create(body, BODIES, NULL, 0, NULL, &b, NULL), PERP_OK);
    for (int k = 0; k < perp_bodies_nq(b); k++) q[k] = random_in(&seed, -1, 1);
    for (int k = 0; k < perp_bodies_nv(b); k++) v[k] = random_in(&seed, -1, 1);
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    return b;
}

/* y = J v, of 3 x nv */
static void times(const double *J, const double *v, int nv, double *y)
{
    for (int d = 0; d < 3; d++) y[d] = 0;
    for (int k = 0; k < nv; k++)
        for (int d = 0; d < 3; d++) y[d] += J[3 * k + d] * v[k];
}

static void place(perp_bodies *b, int body, const double *local, double *world)
{
    double R[9];
    perp_bodies_pose(b, body, world, R);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) world[i] += R[3 * i + k] * local[k];
}

static void velocities_are_those_of_the_jacobians(void **state)
{
    (void)state;
    static const double local[3] = {0.3, -0.2, 0.7};
    for (unsigned seed = 1; seed < 10; seed++) {
        perp_body body[BODIES];
        double at[3], J[3 * MOST], expected[3], linear[3], angular[3], origin[3];
        perp_bodies *b = make_trees(seed, body);
        for (int i = 0; i <= BODIES; i++) {
            double R[9], q[4];
            place(b, i, local, at);
            perp_bodies_pose(b, i, NULL, R);
            assert_int_equal(perp_bodies_quaternion(b, i, q), PERP_OK);
            assert_near(R[0], q[0] * q[0] + q[1] * q[1] - q[2] * q[2] - q[3] * q[3], 1e-14);
            assert_near(R[1], 2 * (q[1] * q[2] - q[0] * q[3]), 1e-14);
            assert_near(R[6], 2 * (q[1] * q[3] - q[0] * q[2]), 1e-14);
            assert_int_equal(perp_bodies_velocity(b, i, at, linear, angular), PERP_OK);
            assert_int_equal(perp_bodies_jacobian(b, i, at, J), PERP_OK);
            times(J, perp_bodies_v(b), perp_bodies_nv(b), expected);
            for (int d = 0; d < 3; d++) assert_near(linear[d], expected[d], 1e-13);
            assert_int_equal(perp_bodies_rotation_jacobian(b, i, J), PERP_OK);
            times(J, perp_bodies_v(b), perp_bodies_nv(b), expected);
            for (int d = 0; d < 3; d++) assert_near(angular[d], expected[d], 1e-13);
            perp_bodies_pose(b, i, at, NULL);
            perp_bodies_velocity(b, i, NULL, origin, NULL);
            perp_bodies_velocity(b, i, at, linear, NULL);
            assert_memory_equal(origin, linear, sizeof linear);
        }
        assert_int_equal(perp_bodies_velocity(b, BODIES + 1, NULL, linear, NULL), PERP_ERR_ARG);
        assert_int_equal(perp_bodies_rotation_jacobian(b, -1, J), PERP_ERR_ARG);
        perp_bodies_destroy(b);
    }
}

static void the_mass_center_moves_by_its_jacobian(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 10; seed++) {
        perp_body body[BODIES];
        double mass, center[3], J[3 * MOST], move[3], p[3], sum[3] = {0}, total = 0, at[3];
        perp_bodies *b = make_trees(seed, body);
        assert_int_equal(perp_bodies_mass_center(b, &mass, center, J), PERP_OK);
        for (int i = 0; i < BODIES; i++) {
            place(b, i + 1, body[i].center, at);
            total += body[i].mass;
            for (int d = 0; d < 3; d++) sum[d] += body[i].mass * at[d];
        }
        assert_near(mass, total, 1e-13);
        times(J, perp_bodies_v(b), perp_bodies_nv(b), move);
        assert_int_equal(perp_bodies_momentum(b, p, NULL), PERP_OK);
        for (int d = 0; d < 3; d++) assert_near(center[d], sum[d] / total, 1e-13);
        for (int d = 0; d < 3; d++) assert_near(mass * move[d], p[d], 1e-12);
        perp_bodies_destroy(b);
    }
}

/* Without gravity a free tree keeps its momentum; the midpoint rule of a single body to rounding. */
static void momentum_is_kept(void **state)
{
    (void)state;
    perp_bodies_options o = perp_bodies_options_default();
    perp_body top = {
        .joint = PERP_JOINT_FREE, .mass = 2, .inertia = {0.3, 0.5, 0.4}, .position = {1, 2, 3}};
    double v[6] = {1, -2, 0.5, 3, 1, -2}, p[2][3], l[2][3], about[3];
    perp_bodies *b;
    memset(o.gravity, 0, sizeof o.gravity);
    o.method = PERP_BODIES_MIDPOINT;
    assert_int_equal(perp_bodies_create(&top, 1, NULL, 0, &o, &b, NULL), PERP_OK);
    perp_bodies_set(b, NULL, v);
    perp_bodies_momentum(b, p[0], l[0]);
    for (int k = 0; k < 3; k++) about[k] = top.inertia[k] * v[3 + k];
    for (int k = 0; k < 3; k++) assert_near(l[0][k], about[k], 1e-14);
    for (int k = 0; k < 200; k++) assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
    perp_bodies_momentum(b, p[1], l[1]);
    for (int k = 0; k < 3; k++) assert_near(p[1][k], p[0][k], 1e-12);
    for (int k = 0; k < 3; k++) assert_near(l[1][k], l[0][k], 1e-11);
    perp_bodies_destroy(b);
}

static void forward_undoes_inverse(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 10; seed++) {
        perp_body body[BODIES];
        double a[MOST], tau[MOST], back[MOST];
        perp_bodies *b = make_trees(seed, body);
        for (int k = 0; k < perp_bodies_nv(b); k++) a[k] = random_in(&seed, -3, 3);
        assert_int_equal(perp_bodies_inverse(b, a, tau), PERP_OK);
        assert_int_equal(perp_bodies_forward(b, tau, back), PERP_OK);
        for (int k = 0; k < perp_bodies_nv(b); k++) assert_near(back[k], a[k], 1e-11);
        assert_int_equal(perp_bodies_forward(b, tau, tau), PERP_OK); /* in place */
        for (int k = 0; k < perp_bodies_nv(b); k++) assert_near(tau[k], back[k], 0);
        perp_bodies_destroy(b);
    }
    /* two slides whose axes a hinge between them makes parallel, with mass on the second alone */
    perp_body chain[3] = {{.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}},
                          {.parent = 1, .joint = PERP_JOINT_HINGE, .axis = {0, 0, 1}},
                          {.parent = 2, .joint = PERP_JOINT_SLIDE, .axis = {0, 1, 0}}};
    double q[3] = {0}, x[3] = {1, 2, 3};
    perp_bodies *b;
    chain[2].mass = 1;
    chain[2].inertia[0] = chain[2].inertia[1] = chain[2].inertia[2] = 1;
    assert_int_equal(perp_bodies_create(chain, 3, NULL, 0, NULL, &b, NULL), PERP_OK);
    assert_int_equal(perp_bodies_forward(b, x, x), PERP_OK);
    q[1] = -1.5707963267948966;
    perp_bodies_set(b, q, NULL);
    x[0] = 1;
    assert_int_equal(perp_bodies_forward(b, x, x), PERP_ERR_NO_SOLUTION);
    assert_near(x[0], 1, 0);
    perp_bodies_destroy(b);
}

/* A box on a slope of mu 0.4: it sticks where tan(angle) < 0.4, else it slides at the known acceleration. */
static void contacts_carry_the_weight(void **state)
{
    (void)state;
    for (int method = 0; method < PERP_BODIES_METHOD_COUNT; method++)
        for (int slides = 0; slides < 2; slides++) {
            double a = 0.1, angle = slides ? 0.5 : 0.3, total[3] = {0}, m = 3, v[6];
            perp_bodies_options o = perp_bodies_options_default();
            perp_body box = {.joint = PERP_JOINT_FREE,
                             .mass = m,
                             .position = {0, 0, a},
                             .inertia = {m * a * a, m * a * a, m * a * a}};
            perp_shape shape[2] = {
                {.kind = PERP_SHAPE_PLANE, .mu = 0.4},
                {.body = 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = 0.4}};
            perp_contact_point point[16], few[2];
            perp_bodies *b;
            o.method = (perp_bodies_method)method;
            o.gravity[0] = 9.81 * sin(angle);
            o.gravity[2] = -9.81 * cos(angle);
            assert_int_equal(perp_bodies_create(&box, 1, shape, 2, &o, &b, NULL), PERP_OK);
            assert_int_equal(perp_bodies_contact_points(b, point, 16), 0);
            for (int k = 0; k < 100; k++) assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
            memcpy(v, perp_bodies_v(b), sizeof v);
            int n = perp_bodies_contact_points(b, point, 16);
            assert_true(n >= 3 && n == perp_bodies_contacts(b, NULL));
            assert_int_equal(perp_bodies_contact_points(b, few, 2), n);
            assert_memory_equal(few, point, sizeof few);
            for (int i = 0; i < n; i++) {
                assert_int_equal(point[i].body[0], 0);
                assert_int_equal(point[i].body[1], 1);
                assert_int_equal(point[i].shape[1], 1);
                assert_near(point[i].mu, 0.4, 0);
                assert_near(point[i].slip[2], 0, 0);
                assert_near(point[i].slip[0], v[0], slides ? 1e-10 : 1e-13);
                for (int k = 0; k < 3; k++) total[k] += point[i].force[k];
            }
            assert_near(total[2], m * 9.81 * cos(angle), 1e-6);
            assert_near(total[0], slides ? -0.4 * total[2] : -m * 9.81 * sin(angle), 1e-6);
            assert_true(slides ? v[0] > 0.1 : fabs(v[0]) < 1e-12);
            perp_bodies_destroy(b);
        }
}

/* A ball that rolls, and spins about the normal against torsional friction: its point of contact has slip 0 where the forces of the
 * step acted, and not where the ball is at the end. */
static void a_rolling_ball_has_no_slip(void **state)
{
    (void)state;
    for (int method = 0; method < PERP_BODIES_METHOD_COUNT; method++) {
        double r = 0.1, m = 2, I = 0.4 * m * r * r, v[6] = {1, 0, 0, 0, 10, 5};
        perp_bodies_options o = perp_bodies_options_default();
        perp_body ball = {
            .joint = PERP_JOINT_FREE, .mass = m, .position = {0, 0, r}, .inertia = {I, I, I}};
        perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5, .torsional_friction = 0.01},
                               {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {r}, .mu = 0.5}};
        perp_contact_point point;
        perp_bodies *b;
        o.method = (perp_bodies_method)method;
        assert_int_equal(perp_bodies_create(&ball, 1, shape, 2, &o, &b, NULL), PERP_OK);
        perp_bodies_set(b, NULL, v);
        for (int k = 0; k < 20; k++) {
            assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
            assert_int_equal(perp_bodies_contact_points(b, &point, 1), 1);
            for (int i = 0; i < 3; i++) assert_near(point.slip[i], 0, 1e-12);
        }
        assert_near(point.force[2], m * 9.81, 1e-6);
        assert_near(point.torque[2], -0.01 * point.force[2], 1e-6);
        assert_near(point.torque[0], 0, 1e-9);
        perp_bodies_velocity(b, 1, NULL, NULL, v);
        assert_true(v[2] > 1 && fabs(perp_bodies_v(b)[0] - 1) < 1e-3);
        perp_bodies_destroy(b);
    }
}

/* The upper of two boxes rides on the lower one, which slides. */
static void slip_is_relative(void **state)
{
    (void)state;
    double a = 0.1, v[12] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    perp_body box[2];
    perp_shape shape[3] = {{.kind = PERP_SHAPE_PLANE}};
    perp_contact_point point[16];
    perp_bodies *b;
    int upper = 0;
    for (int i = 0; i < 2; i++) {
        double half = i ? a / 2 : a; /* the upper one is smaller */
        box[i] = (perp_body){.joint = PERP_JOINT_FREE,
                             .mass = 1,
                             .position = {0, 0, i ? 2 * a + half : a},
                             .inertia = {half * half, half * half, half * half}};
        shape[1 + i] = (perp_shape){
            .body = i + 1, .kind = PERP_SHAPE_BOX, .size = {half, half, half}, .mu = i ? 0.8 : 0.1};
    }
    assert_int_equal(perp_bodies_create(box, 2, shape, 3, NULL, &b, NULL), PERP_OK);
    perp_bodies_set(b, NULL, v);
    for (int k = 0; k < 20; k++) assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
    int n = perp_bodies_contact_points(b, point, 16);
    for (int i = 0; i < n; i++) {
        int is_upper = point[i].body[0] == 1 && point[i].body[1] == 2;
        upper += is_upper;
        assert_near(point[i].slip[0], is_upper ? 0 : perp_bodies_v(b)[0], 1e-10);
    }
    assert_true(upper >= 3 && n > upper && perp_bodies_v(b)[0] > 0.5);
    perp_bodies_destroy(b);
}

/* A box beside one that is queried after each step. */
static void queries_change_nothing(void **state)
{
    (void)state;
    for (int method = 0; method < PERP_BODIES_METHOD_COUNT; method++) {
        double a = 0.1, x[3 * 6], tau[6] = {0.1, 0, 0, 0, 0, 0.2}, y[6];
        perp_bodies_options o = perp_bodies_options_default();
        perp_body box = {.joint = PERP_JOINT_FREE,
                         .mass = 1,
                         .position = {0, 0, 0.4},
                         .rotation = {0.9, 0.3, 0.2, 0.1},
                         .inertia = {0.01, 0.01, 0.01}};
        perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.4},
                               {.body = 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = 0.4}};
        perp_contact_point point[16];
        perp_bodies *b[2];
        o.method = (perp_bodies_method)method;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(perp_bodies_create(&box, 1, shape, 2, &o, &b[i], NULL), PERP_OK);
            assert_int_equal(perp_bodies_set_force(b[i], tau), PERP_OK);
        }
        assert_memory_equal(perp_bodies_force(b[0]), tau, sizeof tau);
        for (int k = 0; k < 400; k++) {
            for (int i = 0; i < 2; i++) assert_int_equal(bodies_step(b[i], NULL, NULL), PERP_OK);
            perp_bodies_velocity(b[0], 1, NULL, x, x);
            perp_bodies_rotation_jacobian(b[0], 1, x);
            perp_bodies_mass_center(b[0], NULL, x, x);
            perp_bodies_momentum(b[0], x, x);
            perp_bodies_forward(b[0], tau, y);
            perp_bodies_contact_points(b[0], point, 16);
            assert_memory_equal(perp_bodies_q(b[0]), perp_bodies_q(b[1]), 7 * sizeof(double));
            assert_memory_equal(perp_bodies_v(b[0]), perp_bodies_v(b[1]), 6 * sizeof(double));
        }
        perp_bodies_destroy(b[0]);
        perp_bodies_destroy(b[1]);
    }
}

/* Two halves of a box are the box; a ball at an arm has the inertia of the parallel axes. */
static void solids_are_added(void **state)
{
    (void)state;
    double a = 0.1, b = 0.2, c = 0.3, m = 2, r = 0.05;
    perp_body whole = {.joint = PERP_JOINT_FREE}, halves = whole, ball = whole;
    perp_shape box = {.kind = PERP_SHAPE_BOX, .size = {a, b, c}, .position = {1, 0, 0}},
               half = {.kind = PERP_SHAPE_BOX,
                       .size = {b, a / 2, c}, /* turned by a right angle about z */
                       .rotation = {sqrt(0.5), 0, 0, sqrt(0.5)}},
               sphere = {.kind = PERP_SHAPE_SPHERE, .size = {r}, .position = {0, 0, 1}},
               plane = {.kind = PERP_SHAPE_PLANE}, mesh = {.kind = PERP_SHAPE_MESH};
    assert_int_equal(perp_body_add_solid(&whole, &box, m), PERP_OK);
    for (int side = -1; side <= 1; side += 2) {
        half.position[0] = 1 + side * a / 2;
        assert_int_equal(perp_body_add_solid(&halves, &half, m / 2), PERP_OK);
    }
    assert_near(whole.mass, m, 1e-15);
    assert_near(whole.center[0], 1, 1e-15);
    assert_near(whole.inertia[0], m * (b * b + c * c) / 3, 1e-15);
    assert_near(whole.inertia[2], m * (a * a + b * b) / 3, 1e-15);
    assert_near(halves.mass, m, 1e-15);
    for (int k = 0; k < 3; k++) assert_near(halves.center[k], whole.center[k], 1e-15);
    for (int k = 0; k < 6; k++) assert_near(halves.inertia[k], whole.inertia[k], 1e-14);
    assert_int_equal(perp_body_add_solid(&ball, &sphere, 1), PERP_OK);
    sphere.position[2] = -1;
    assert_int_equal(perp_body_add_solid(&ball, &sphere, 1), PERP_OK);
    assert_near(ball.inertia[0], 2 * (0.4 * r * r + 1), 1e-14);
    assert_near(ball.inertia[2], 2 * 0.4 * r * r, 1e-14);
    assert_int_equal(perp_body_add_solid(&ball, &plane, 1), PERP_ERR_ARG);
    assert_int_equal(perp_body_add_solid(&ball, &mesh, 1), PERP_ERR_ARG);
    assert_int_equal(perp_body_add_solid(&ball, &sphere, -1), PERP_ERR_ARG);
    assert_near(ball.mass, 2, 1e-15);
}

static void controls_are_read_back(void **state)
{
    (void)state;
    perp_body arm = {.joint = PERP_JOINT_HINGE, .axis = {0, 1, 0}, .mass = 1, .inertia = {1, 1, 1}};
    perp_actuator motor = {.body = 1, .gear = 1, .gain = 1};
    double u[2] = {0.25, -3};
    perp_bodies *b;
    assert_int_equal(perp_bodies_create(&arm, 1, NULL, 0, NULL, &b, NULL), PERP_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(perp_bodies_add_actuator(b, &motor, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set_control(b, u), PERP_OK);
    assert_memory_equal(perp_bodies_control(b), u, sizeof u);
    perp_bodies_reset(b);
    assert_near(perp_bodies_control(b)[1], 0, 0);
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(velocities_are_those_of_the_jacobians),
        cmocka_unit_test(the_mass_center_moves_by_its_jacobian),
        cmocka_unit_test(momentum_is_kept),
        cmocka_unit_test(forward_undoes_inverse),
        cmocka_unit_test(contacts_carry_the_weight),
        cmocka_unit_test(a_rolling_ball_has_no_slip),
        cmocka_unit_test(slip_is_relative),
        cmocka_unit_test(queries_change_nothing),
        cmocka_unit_test(solids_are_added),
        cmocka_unit_test(controls_are_read_back),
    };
    return run_all(tests);
}
