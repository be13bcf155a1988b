/* Bodies: dynamics beside sums over points of mass, contacts beside brute force, steps beside closed forms. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long random_state = 1;
static double random_in(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
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

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

/* Dynamics ------------------------------------------------------------------------------------------- */

enum { BODIES = 9, POINTS = 6 };

/* Six points of mass, in pairs along the axes of a turned frame. */
typedef struct cloud {
    double m[POINTS], x[POINTS][3];
} cloud;

static perp_body body_of(const cloud *c)
{
    perp_body b = {0};
    for (int i = 0; i < POINTS; i++) b.mass += c->m[i];
    for (int i = 0; i < POINTS; i++)
        for (int k = 0; k < 3; k++) b.center[k] += c->m[i] * c->x[i][k] / b.mass;
    for (int i = 0; i < POINTS; i++) {
        double d[3], dd = 0;
        for (int k = 0; k < 3; k++) d[k] = c->x[i][k] - b.center[k], dd += d[k] * d[k];
        static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
        for (int k = 0; k < 6; k++)
            b.inertia[k] += c->m[i] * ((k < 3 ? dd : 0) - d[row[k]] * d[col[k]]);
    }
    return b;
}

static void point_at(perp_bodies *b, int body, const double *x, double *out)
{
    double p[3], R[9];
    assert_int_equal(perp_bodies_pose(b, body, p, R), PERP_OK);
    for (int k = 0; k < 3; k++)
        out[k] = p[k] + R[3 * k] * x[0] + R[3 * k + 1] * x[1] + R[3 * k + 2] * x[2];
}

/* q moved by v over t, as the joints do at constant v. */
static void moved(const perp_bodies *b, const perp_body *body, double t, const double *q,
                  const double *v, double *out)
{
    memcpy(out, q, (size_t)perp_bodies_nq(b) * sizeof *q);
    for (int i = 1; i <= BODIES; i++) {
        int at = perp_bodies_q_of(b, i), w = perp_bodies_v_of(b, i);
        perp_joint joint = body[i - 1].joint;
        if (joint == PERP_JOINT_FIXED) continue;
        if (joint == PERP_JOINT_HINGE || joint == PERP_JOINT_SLIDE) {
            out[at] += t * v[w];
            continue;
        }
        if (joint == PERP_JOINT_FREE) {
            for (int k = 0; k < 3; k++) out[at + k] += t * v[w + k];
            at += 3, w += 3;
        }
        double angle = t * sqrt(v[w] * v[w] + v[w + 1] * v[w + 1] + v[w + 2] * v[w + 2]),
               s = sin(angle / 2) / (angle / t);
        double a[4] = {out[at], out[at + 1], out[at + 2], out[at + 3]},
               c[4] = {cos(angle / 2), s * v[w], s * v[w + 1], s * v[w + 2]};
        out[at] = a[0] * c[0] - a[1] * c[1] - a[2] * c[2] - a[3] * c[3];
        out[at + 1] = a[0] * c[1] + a[1] * c[0] + a[2] * c[3] - a[3] * c[2];
        out[at + 2] = a[0] * c[2] - a[1] * c[3] + a[2] * c[0] + a[3] * c[1];
        out[at + 3] = a[0] * c[3] + a[1] * c[2] - a[2] * c[1] + a[3] * c[0];
    }
}

static void mass_and_bias_are_those_of_points(void **state)
{
    (void)state;
    static const int parent[BODIES] = {0, 1, 1, 2, 4, 0, 6, 6, 5};
    static const perp_joint joint[BODIES] = {PERP_JOINT_FREE,  PERP_JOINT_HINGE, PERP_JOINT_BALL,
                                             PERP_JOINT_FIXED, PERP_JOINT_SLIDE, PERP_JOINT_HINGE,
                                             PERP_JOINT_FREE,  PERP_JOINT_BALL,  PERP_JOINT_HINGE};
    perp_body body[BODIES];
    cloud c[BODIES];
    for (int trial = 0; trial < 20; trial++) {
        for (int i = 0; i < BODIES; i++) {
            for (int k = 0; k < POINTS; k++) {
                c[i].m[k] = random_in(0.1, 1);
                for (int d = 0; d < 3; d++) c[i].x[k][d] = random_in(-0.5, 0.5);
            }
            body[i] = body_of(&c[i]);
            body[i].parent = parent[i], body[i].joint = joint[i];
            for (int d = 0; d < 3; d++)
                body[i].position[d] = random_in(-1, 1), body[i].axis[d] = random_in(-1, 1);
            for (int d = 0; d < 4; d++) body[i].rotation[d] = random_in(-1, 1);
            body[i].armature = i == 1 ? 0.3 : 0;
        }
        perp_bodies *b = make(body, BODIES, NULL, 0, NULL);
        int nv = perp_bodies_nv(b), nq = perp_bodies_nq(b);
        assert_int_equal(nv, 6 + 1 + 3 + 0 + 1 + 1 + 6 + 3 + 1);
        double q[64], v[64], a[64], next[64], bias[64], tau[64], M[32 * 32],
            expected[32 * 32] = {0}, force[64] = {0}, J[3 * 32];
        for (int i = 0; i < nq; i++) q[i] = random_in(-1, 1);
        for (int i = 0; i < nv; i++) v[i] = random_in(-1, 1), a[i] = random_in(-1, 1);
        assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
        memcpy(q, perp_bodies_q(b), (size_t)nq * sizeof *q);
        assert_int_equal(perp_bodies_dynamics(b, M, bias), PERP_OK);
        assert_int_equal(perp_bodies_inverse(b, a, tau), PERP_OK);
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k < POINTS; k++) {
                const double H = 3e-4;
                double x[3], ahead[3], behind[3];
                point_at(b, i + 1, c[i].x[k], x);
                assert_int_equal(perp_bodies_jacobian(b, i + 1, x, J), PERP_OK);
                moved(b, body, H, q, v, next);
                perp_bodies_set(b, next, NULL);
                point_at(b, i + 1, c[i].x[k], ahead);
                moved(b, body, -H, q, v, next);
                perp_bodies_set(b, next, NULL);
                point_at(b, i + 1, c[i].x[k], behind);
                perp_bodies_set(b, q, NULL);
                for (int d = 0; d < 3; d++) {
                    double speed = (ahead[d] - behind[d]) / (2 * H),
                           acceleration = (ahead[d] - 2 * x[d] + behind[d]) / (H * H), sum = 0;
                    for (int r = 0; r < nv; r++) sum += J[3 * r + d] * v[r];
                    expect_near(sum, speed, 1e-6, "speed of a point");
                    for (int r = 0; r < nv; r++) {
                        force[r] += c[i].m[k] * J[3 * r + d] * (acceleration + (d == 2 ? 9.81 : 0));
                        for (int s = 0; s < nv; s++)
                            expected[r + s * nv] += c[i].m[k] * J[3 * r + d] * J[3 * s + d];
                    }
                }
            }
        expected[6 + 6 * nv] += 0.3;
        for (int r = 0; r < nv; r++) {
            double sum = bias[r];
            for (int s = 0; s < nv; s++) {
                expect_near(M[r + s * nv], expected[r + s * nv], 1e-12 * 50, "M");
                sum += M[r + s * nv] * a[s];
            }
            expect_near(bias[r], force[r], 2e-5, "bias");
            expect_near(tau[r], sum, 1e-11, "inverse dynamics");
        }
        double kinetic, potential, sum = 0;
        perp_bodies_energy(b, &kinetic, &potential);
        for (int r = 0; r < nv; r++)
            for (int s = 0; s < nv; s++) sum += 0.5 * v[r] * M[r + s * nv] * v[s];
        expect_near(kinetic, sum, 1e-11, "kinetic energy");
        perp_bodies_destroy(b);
    }
}

static perp_body box_body(double mass, double x, double y, double z)
{
    return (perp_body){.joint = PERP_JOINT_FREE,
                       .mass = mass,
                       .inertia = {mass * (y * y + z * z) / 3, mass * (x * x + z * z) / 3,
                                   mass * (x * x + y * y) / 3}};
}

static perp_body ball_body(double mass, double radius)
{
    double i = 0.4 * mass * radius * radius;
    return (perp_body){.joint = PERP_JOINT_FREE, .mass = mass, .inertia = {i, i, i}};
}

/* A pendulum beside its equation, and a body that turns freely beside Euler's: the errors halve with the step. */
static void motions_converge(void **state)
{
    (void)state;
    double error[2][3];
    for (int k = 0; k < 3; k++) {
        perp_bodies_options o = perp_bodies_options_default();
        o.step = 1e-3 / (1 << k);
        perp_body arm = {.joint = PERP_JOINT_HINGE,
                         .axis = {0, 1, 0},
                         .mass = 2,
                         .center = {0, 0, -0.5},
                         .inertia = {0.1, 0.1, 0.1}};
        perp_bodies *b = make(&arm, 1, NULL, 0, &o);
        double q = 1.2, v = 0, t = 0, H = 1e-5;
        perp_bodies_set(b, &q, &v);
        step(b, 1000L << k);
        for (; t < 1 - H / 2; t += H) { /* midpoint, far finer */
            double mq = q + 0.5 * H * v, mv = v - 0.5 * H * 9.81 * sin(q) / 0.6;
            q += H * mv;
            v -= H * 9.81 * sin(mq) / 0.6;
        }
        error[0][k] = fabs(perp_bodies_q(b)[0] - q);
        perp_bodies_destroy(b);
        o.gravity[2] = 0;
        perp_body top = box_body(1, 0.3, 0.2, 0.1);
        b = make(&top, 1, NULL, 0, &o);
        double w[6] = {0, 0, 0, 1, 3, 2}, L[2][3], e;
        perp_bodies_set(b, NULL, w);
        for (int end = 0; end < 2; end++) {
            double R[9];
            const double *x = perp_bodies_v(b) + 3;
            perp_bodies_pose(b, 1, NULL, R);
            for (int i = 0; i < 3; i++)
                L[end][i] = R[3 * i] * top.inertia[0] * x[0] +
                            R[3 * i + 1] * top.inertia[1] * x[1] +
                            R[3 * i + 2] * top.inertia[2] * x[2];
            if (!end) step(b, 1000L << k);
        }
        for (e = 0, t = 0; t < 3; t++) e = fmax(e, fabs(L[1][(int)t] - L[0][(int)t]));
        error[1][k] = e;
        perp_bodies_destroy(b);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (!(error[i][k + 1] < 0.6 * error[i][k]) || error[i][k] > 0.05)
                fail_msg("errors %g %g %g", error[i][0], error[i][1], error[i][2]);
}

/* Contacts ----------------------------------------------------------------------------------------------- */

static const perp_shape ground = {.kind = PERP_SHAPE_PLANE, .mu = 0.5};

/* Gravity turned by an angle about y: an incline along x. */
static perp_bodies_options incline(double angle)
{
    perp_bodies_options o = perp_bodies_options_default();
    o.gravity[0] = 9.81 * sin(angle), o.gravity[2] = -9.81 * cos(angle);
    return o;
}

static void boxes_stick_and_slide_as_coulomb_says(void **state)
{
    (void)state;
    double angle = atan(0.5);
    for (int side = 0; side < 2; side++) { /* 2 % inside the cone, 20 % outside */
        perp_bodies_options o = incline(atan(side ? 0.6 : 0.49));
        perp_body box = box_body(3, 0.2, 0.15, 0.1);
        box.position[2] = 0.1;
        perp_shape shape[2] = {
            ground, {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.2, 0.15, 0.1}, .mu = 0.5}};
        perp_bodies *b = make(&box, 1, shape, 2, &o);
        step(b, 1000);
        angle = atan(side ? 0.6 : 0.49);
        double speed = side ? 2 * 9.81 * (sin(angle) - 0.5 * cos(angle)) : 0;
        expect_near(perp_bodies_v(b)[0], speed, 1e-9, "speed");
        if (!side) expect_near(perp_bodies_q(b)[0], 0, 1e-12, "creep");
        expect_near(perp_bodies_q(b)[2], 0.1, 1e-10, "height");
        const perp_contact *touch;
        double normal = 0;
        assert_int_equal(perp_bodies_contacts(b, &touch), 4);
        for (int i = 0; i < 4; i++) normal += touch[i].impulse[0];
        expect_near(normal / o.step, 3 * 9.81 * cos(angle), 1e-6, "normal force");
        perp_bodies_destroy(b);
    }
}

static void spheres_roll_and_spin_back(void **state)
{
    (void)state;
    perp_bodies_options o = incline(0.2);
    perp_body ball = ball_body(2, 0.3);
    ball.position[2] = 0.3;
    perp_shape shape[2] = {ground,
                           {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.3}, .mu = 0.5}};
    perp_bodies *b = make(&ball, 1, shape, 2, &o);
    step(b, 500);
    expect_near(perp_bodies_v(b)[0], 5.0 / 7 * 9.81 * sin(0.2), 1e-9, "rolling");
    perp_bodies_destroy(b);
    o = perp_bodies_options_default();
    b = make(&ball, 1, shape, 2, &o);
    double v[6] = {4, 0, 0, 0, -50 / 0.3, 0}; /* (5 v + 2 r w) / 7 whatever the friction */
    perp_bodies_set(b, NULL, v);
    step(b, 3000);
    expect_near(perp_bodies_v(b)[0], -80.0 / 7, 1e-7, "backspin");
    perp_bodies_destroy(b);
}

enum { STACK = 20 };
/* n boxes of side 0.2 on each other. */
static perp_bodies *make_stack(int n, const perp_bodies_options *o)
{
    perp_body body[STACK];
    perp_shape shape[STACK + 1] = {ground};
    for (int i = 0; i < n; i++) {
        body[i] = box_body(1, 0.1, 0.1, 0.1);
        body[i].position[2] = 0.1 + 0.2 * i;
        shape[i + 1] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5};
    }
    return make(body, n, shape, n + 1, o);
}

static void stacks_do_not_sink_or_creep(void **state)
{
    (void)state;
    perp_bodies *b = make_stack(STACK, NULL);
    step(b, 500);
    for (int i = 0; i < STACK; i++) {
        expect_near(perp_bodies_q(b)[7 * i + 2], 0.1 + 0.2 * i, 1e-9, "height of a box");
        for (int k = 0; k < 6; k++)
            expect_near(perp_bodies_v(b)[6 * i + k], 0, 1e-8, "speed of a box");
    }
    perp_bodies_destroy(b);
}

/* The speed of a body of the stack along axis k after a step under a force on its top box. */
static void push_top(perp_bodies *b, int n, int k, double force, double *top, double *rest)
{
    double push[6 * STACK] = {0};
    push[6 * (n - 1) + k] = force;
    perp_bodies_set_force(b, push);
    step(b, 1);
    *top = perp_bodies_v(b)[6 * (n - 1) + k];
    *rest = 0;
    for (int i = 0; i < 6 * (n - 1); i++) *rest = fmax(*rest, fabs(perp_bodies_v(b)[i]));
}

/* What rests costs a step of Newton at most with the matrix that is kept, also while forces change within the cones; where they leave them, the
 * first step of the motion is Coulomb's and Newton's. */
static void what_rests_moves_when_it_has_to(void **state)
{
    (void)state;
    enum { N = 5 };
    const double h = perp_bodies_options_default().step, g = 9.81;
    double top, rest;
    for (int k = 0; k < 3; k++) {
        perp_bodies *b = make_stack(N, NULL);
        step(b, 100);
        for (int i = 0; i < 100; i++) {
            perp_bodies_info info = {.size = sizeof info};
            assert_int_equal(bodies_step(b, &info, NULL), PERP_OK);
            assert_true(info.iterations <= 1 && info.contact_error <= 1e-10);
        }
        push_top(b, N, k, k < 2 ? 0.98 * 0.5 * g : 0.98 * g, &top, &rest);
        expect_near(top, 0, 1e-9, "within its cone");
        push_top(b, N, k, k < 2 ? 1.02 * 0.5 * g : 1.02 * g, &top, &rest);
        expect_near(top, h * 0.02 * (k < 2 ? 0.5 : 1) * g, 1e-9, "beyond its cone");
        expect_near(rest, 0, 1e-9, "the boxes below");
        perp_bodies_destroy(b);
    }
}

/* Gravity turns, the stack rocks and topples: no step takes more than some hundred iterations (it was 26000). */
static void toppling_stacks_have_a_short_tail(void **state)
{
    (void)state;
    perp_bodies *b = NULL;
    int worst = 0;
    unsigned long long before = random_state;
    random_state = 5;
    for (int i = 0; i < 400; i++) {
        perp_bodies_info info = {.size = sizeof info};
        perp_diag diag = {0};
        if (i % 50 == 0) {
            perp_bodies_options o = incline(random_in(-0.2, 0.2));
            perp_bodies *next = make_stack(10, &o);
            if (b) perp_bodies_set(next, perp_bodies_q(b), perp_bodies_v(b));
            perp_bodies_destroy(b);
            b = next;
        }
        if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        if (info.iterations > worst) worst = info.iterations;
    }
    if (worst > 400) fail_msg("%d iterations", worst);
    random_state = before;
    perp_bodies_destroy(b);
}

/* Under another gravity a stack goes on as one that was made under it; what is no gravity is refused. */
static void gravity_turns_within_a_run(void **state)
{
    (void)state;
    perp_bodies_options o = incline(0.3);
    perp_bodies *b = make_stack(3, NULL), *made = make_stack(3, &o);
    const double none[3] = {0, NAN, 0};
    const perp_contact *touch, *other;
    step(b, 20);
    assert_int_equal(perp_bodies_set_gravity(b, o.gravity), PERP_OK);
    assert_int_equal(perp_bodies_set_gravity(b, none), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_set_gravity(b, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_set_gravity(NULL, o.gravity), PERP_ERR_ARG);
    perp_bodies_set(made, perp_bodies_q(b), perp_bodies_v(b));
    for (int k = 0; k < 3; k++) {
        step(b, 1);
        step(made, 1);
        int n = perp_bodies_contacts(b, &touch);
        assert_int_equal(n, perp_bodies_contacts(made, &other));
        double sum[2] = {0};
        for (int i = 0; i < n; i++) sum[0] += touch[i].impulse[0], sum[1] += other[i].impulse[0];
        expect_near(sum[0], sum[1], 1e-9, "normal impulses");
        for (int i = 0; i < 18; i++)
            expect_near(perp_bodies_v(b)[i], perp_bodies_v(made)[i], 1e-9, "velocity");
    }
    perp_bodies_destroy(b);
    perp_bodies_destroy(made);
}

/* A box that hovers is caught where gravity becomes strong: how far a step looks goes by it. */
static void a_step_looks_as_far_as_gravity_reaches(void **state)
{
    (void)state;
    const double strong[3] = {0, 0, -4000}, none[3] = {0}, ABOVE = 8e-3;
    perp_body body = box_body(1, 0.1, 0.1, 0.1);
    perp_shape shape[2] = {ground,
                           {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    body.position[2] = 0.1 + ABOVE;
    perp_bodies *b = make(&body, 1, shape, 2, NULL);
    perp_bodies_set_gravity(b, none);
    step(b, 1);
    perp_bodies_set_gravity(b, strong);
    step(b, 1); /* falls by 16 mm where there is no contact, at 8 m/s */
    expect_near(perp_bodies_q(b)[2], 0.1, 1e-12, "height");
    expect_near(perp_bodies_v(b)[2], -ABOVE / perp_bodies_options_default().step, 1e-9, "speed");
    perp_bodies_destroy(b);
}

/* The deepest overlap of the bodies as they are, seen by a system made anew from them. */
static double overlap_of(const perp_body *body, int n, const perp_shape *shape, int nshape,
                         const perp_bodies *at)
{
    perp_bodies *b = make(body, n, shape, nshape, NULL);
    const perp_contact *touch;
    double most = 0;
    perp_bodies_set(b, perp_bodies_q(at), perp_bodies_v(at));
    step(b, 1);
    int ntouch = perp_bodies_contacts(b, &touch);
    for (int i = 0; i < ntouch; i++) most = fmax(most, -touch[i].gap);
    perp_bodies_destroy(b);
    return most;
}

/* A pile that begins 2 to 5 cm deep in each other and in the floor lies on it after one step, and no body has become faster than gravity makes it in
 * a step and the last micrometre takes to come apart in one. */
static void what_begins_in_another_is_not_thrown(void **state)
{
    (void)state;
    enum { N = 3 };
    perp_body body[N];
    perp_shape shape[N + 1] = {ground};
    for (int i = 0; i < N; i++) {
        body[i] = box_body(1 + i, 0.1, 0.1, 0.1);
        body[i].position[0] = 0.01 * i;
        body[i].position[2] = 0.05 + 0.18 * i;
        shape[i + 1] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5};
    }
    for (int falls = 0; falls < 2; falls++) {
        perp_bodies_options o = perp_bodies_options_default();
        if (!falls) o.gravity[2] = 0;
        double most = 1e-6 / o.step + (falls ? 9.81 * o.step : 0);
        perp_bodies *b = make(body, N, shape, N + 1, &o);
        for (int k = 0; k < 200; k++) {
            step(b, 1);
            double overlap = k % 50 ? 0 : overlap_of(body, N, shape, N + 1, b);
            if (!(overlap <= 1e-6)) fail_msg("step %d: overlap %g", k, overlap);
            for (int i = 0; i < 6 * N; i++) expect_near(perp_bodies_v(b)[i], 0, most, "a speed");
        }
        for (int i = 0; i < N; i++)
            expect_near(perp_bodies_q(b)[7 * i + 2], 0.1 + 0.2 * i, 2e-6 * (i + 1), "height");
        perp_bodies_destroy(b);
    }
}

/* Boxes are thrown at each other, turning: corners and edges meet within a step that were apart when it began. It may not end deeper than
 * 1e-5 of their least half length, and their energy never grows (no restitution, no gravity). */
static void features_that_meet_within_a_step_do_not_overlap(void **state)
{
    (void)state;
    enum { N = 4, RUNS = 20 };
    perp_bodies_options o = perp_bodies_options_default();
    unsigned long long before = random_state;
    random_state = 11;
    o.gravity[2] = 0;
    for (int run = 0; run < RUNS; run++) {
        perp_body body[N];
        perp_shape shape[N];
        double v[6 * N], energy = 1e9, now;
        for (int i = 0; i < N; i++) {
            body[i] = box_body(1, 0.1, 0.08, 0.05);
            for (int k = 0; k < 2; k++) body[i].position[k] = (i >> k & 1 ? 0.13 : -0.13);
            for (int k = 0; k < 3; k++) v[6 * i + k] = -12 * body[i].position[k];
            v[6 * i + 2] = random_in(-0.2, 0.2);
            for (int k = 3; k < 6; k++) v[6 * i + k] = random_in(-12, 12);
            shape[i] = (perp_shape){
                .body = i + 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.08, 0.05}, .mu = 0.5};
        }
        perp_bodies *b = make(body, N, shape, N, &o);
        perp_bodies_set(b, NULL, v);
        for (int k = 0; k < 100; k++) {
            step(b, 1);
            double overlap = overlap_of(body, N, shape, N, b);
            if (!(overlap <= 1e-6)) fail_msg("run %d, step %d: %g", run, k, overlap);
            perp_bodies_energy(b, &now, NULL);
            if (!(now <= energy * (1 + 1e-3))) fail_msg("energy %.9g after %.9g", now, energy);
            energy = now;
        }
        perp_bodies_destroy(b);
    }
    random_state = before;
}

/* A box on four corners, pushed to and fro within its cone: of the forces that hold it those nearest to the last. What they change by has no part
 * in what no motion tells apart (corners in turn up and down, corners pulled against each other), and where nothing changes they do not. */
static void redundant_forces_are_nearest_to_the_last(void **state)
{
    (void)state;
    const double h = perp_bodies_options_default().step;
    perp_body box = box_body(3, 0.2, 0.2, 0.1);
    box.position[2] = 0.1;
    perp_shape shape[2] = {ground,
                           {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.2, 0.2, 0.1}, .mu = 0.5}};
    perp_bodies *b = make(&box, 1, shape, 2, NULL);
    double last[4][3] = {{0}}, most = 0;
    for (int k = 0; k < 300; k++) {
        const perp_contact *t;
        double push[6] = {3 * ((k / 50) % 3 - 1), 2 * ((k / 50) % 2), 0, 0.1, 0, 0.2};
        perp_bodies_set_force(b, push);
        step(b, 1);
        assert_int_equal(perp_bodies_contacts(b, &t), 4);
        double turn = 0, apart = 0, change = 0;
        for (int i = 0; i < 4; i++) {
            double by[3], middle[2] = {t[i].point[0] - perp_bodies_q(b)[0],
                                       t[i].point[1] - perp_bodies_q(b)[1]};
            for (int d = 0; d < 3; d++) by[d] = t[i].impulse[d] / h - last[i][d];
            for (int d = 0; d < 3; d++) change = fmax(change, fabs(by[d]));
            for (int d = 0; d < 3; d++) last[i][d] = t[i].impulse[d] / h;
            turn += (middle[0] * middle[1] > 0 ? 1 : -1) * by[0];
            for (int c = 0; c < 2; c++)
                apart +=
                    middle[c] / 0.2 * (by[1] * t[i].tangent[0][c] + by[2] * t[i].tangent[1][c]);
        }
        if (k == 0) continue; /* from nothing */
        expect_near(turn, 0, 1e-5, "corners in turn");
        expect_near(apart, 0, 1e-5, "corners against each other");
        if (k % 50 > 1) expect_near(change, 0, 1e-6, "forces at rest");
        if (k % 50 == 0) most = fmax(most, change);
    }
    assert_true(most > 0.1); /* they did change where the push did */
    perp_bodies_destroy(b);
}

static void balls_rebound(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        double e = 0.5 * k;
        perp_body ball = ball_body(1, 0.1);
        ball.position[2] = 0.6;
        perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE, .restitution = e},
                               {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.1}}};
        perp_bodies *b = make(&ball, 1, shape, 2, NULL);
        double before = 0, after = 0;
        for (int i = 0; i < 200 && after <= 0; i++) {
            before = perp_bodies_v(b)[2];
            step(b, 1);
            after = perp_bodies_v(b)[2];
            if (e == 0 && fabs(perp_bodies_q(b)[2] - 0.1) < 1e-12) break;
        }
        if (e > 0) expect_near(after, -e * before, 1e-9, "rebound");
        perp_bodies_destroy(b);
    }
}

/* What falls together without gravity keeps its momentum. */
static void momentum_is_kept(void **state)
{
    (void)state;
    perp_bodies_options o = perp_bodies_options_default();
    o.gravity[2] = 0;
    for (int trial = 0; trial < 20; trial++) {
        perp_body body[3] = {
            box_body(1, 0.3, 0.2, 0.1),
            ball_body(2, 0.2),
            {.joint = PERP_JOINT_FREE, .mass = 1.5, .inertia = {0.05, 0.05, 0.01}}};
        perp_shape shape[3] = {
            {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.3, 0.2, 0.1}, .mu = 0.7},
            {.body = 2, .kind = PERP_SHAPE_SPHERE, .size = {0.2}, .mu = 0.3},
            {.body = 3, .kind = PERP_SHAPE_CAPSULE, .size = {0.1, 0.2}, .mu = 0.4}};
        body[1].position[0] = 1;
        body[2].position[0] = trial % 2 ? 2.2 : -5;
        if (trial % 2 == 0)
            shape[2].kind = PERP_SHAPE_SPHERE;
        else
            shape[0].kind = PERP_SHAPE_SPHERE;
        perp_bodies *b = make(body, 3, shape, 3, &o);
        double v[18] = {0}, p[2][6] = {{0}};
        for (int i = 0; i < 18; i++) v[i] = random_in(-1, 1);
        v[0] = 3, v[6] = 0, v[12] = -3;
        for (int i = 0; i < 3; i++) v[6 * i + 1] *= 0.05, v[6 * i + 2] *= 0.05;
        perp_bodies_set(b, NULL, v);
        int touched = 0;
        for (int end = 0; end < 2; end++) {
            for (int i = 0; i < 3; i++) {
                double x[3], R[9], L[3];
                const double *w = perp_bodies_v(b) + 6 * i;
                perp_bodies_pose(b, i + 1, x, R);
                for (int k = 0; k < 3; k++) L[k] = body[i].inertia[k] * w[3 + k];
                for (int k = 0; k < 3; k++) {
                    p[end][k] += body[i].mass * w[k];
                    p[end][3 + k] += R[3 * k] * L[0] + R[3 * k + 1] * L[1] + R[3 * k + 2] * L[2] +
                                     body[i].mass * (x[(k + 1) % 3] * w[(k + 2) % 3] -
                                                     x[(k + 2) % 3] * w[(k + 1) % 3]);
                }
            }
            for (int i = 0; i < 300 && !end; i++) {
                const perp_contact *t;
                step(b, 1);
                int n = perp_bodies_contacts(b, &t);
                for (int k = 0; k < n; k++) touched |= t[k].impulse[0] > 0;
            }
        }
        assert_true(touched);
        for (int k = 0; k < 3; k++) expect_near(p[1][k], p[0][k], 1e-9, "momentum");
        /* The angular one to the order of the step: bodies turn between impulses. */
        for (int k = 3; k < 6; k++) expect_near(p[1][k], p[0][k], 2e-2, "angular momentum");
        perp_bodies_destroy(b);
    }
}

/* Geometry ---------------------------------------------------------------------------------------------------- */

static double extent_along(const double *h, const double *p, const double *R, const double *n)
{
    double sum = n[0] * p[0] + n[1] * p[1] + n[2] * p[2];
    for (int k = 0; k < 3; k++) sum += h[k] * fabs(n[0] * R[k] + n[1] * R[3 + k] + n[2] * R[6 + k]);
    return sum;
}

/* Along the normal that was found two boxes are as far apart as was said, and along no other much further. */
static void boxes_touch_where_they_overlap_least(void **state)
{
    (void)state;
    int found = 0, edges = 0;
    perp_bodies_options o = perp_bodies_options_default();
    o.gravity[2] = 0;
    for (int trial = 0; trial < 20000; trial++) {
        double h[2][3], p[2][3], R[2][9], q[14], v[12] = {0};
        perp_body body[2];
        perp_shape shape[2];
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 3; k++) h[i][k] = random_in(0.1, 1);
            body[i] = box_body(1, h[i][0], h[i][1], h[i][2]);
            shape[i] = (perp_shape){
                .body = i + 1, .kind = PERP_SHAPE_BOX, .size = {h[i][0], h[i][1], h[i][2]}};
            for (int k = 0; k < 7; k++) q[7 * i + k] = random_in(-1, 1) * (k < 3 ? 1.2 : 1);
        }
        perp_bodies *b = make(body, 2, shape, 2, &o);
        perp_bodies_set(b, q, v);
        step(b, 1);
        const perp_contact *t;
        int n = perp_bodies_contacts(b, &t);
        perp_bodies_set(b, q, v); /* the contacts were those of this place */
        for (int i = 0; i < 2; i++) perp_bodies_pose(b, i + 1, p[i], R[i]);
        double best = -INFINITY;
        for (int k = 0; k < 400 + 15; k++) {
            double a[3];
            if (k < 3 || (k >= 3 && k < 6))
                for (int d = 0; d < 3; d++) a[d] = R[k / 3][3 * d + k % 3];
            else if (k < 15) {
                double x[3], y[3];
                for (int d = 0; d < 3; d++)
                    x[d] = R[0][3 * d + (k - 6) / 3], y[d] = R[1][3 * d + (k - 6) % 3];
                for (int d = 0; d < 3; d++)
                    a[d] = x[(d + 1) % 3] * y[(d + 2) % 3] - x[(d + 2) % 3] * y[(d + 1) % 3];
            } else
                for (int d = 0; d < 3; d++) a[d] = random_in(-1, 1);
            double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]), back[3];
            for (int d = 0; d < 3; d++) a[d] /= length, back[d] = -a[d];
            for (int s = 0; s < 2; s++) { /* of the second from the first, both ways */
                double apart = -extent_along(h[1], p[1], R[1], s ? a : back) -
                               extent_along(h[0], p[0], R[0], s ? back : a);
                best = fmax(best, apart);
            }
        }
        if (best > 1e-9) assert_int_equal(n, 0);
        if (best > -1e-3) {
            perp_bodies_destroy(b);
            continue;
        }
        assert_true(n >= 1);
        double deepest = INFINITY, back[3];
        for (int i = 0; i < n; i++) deepest = fmin(deepest, t[i].gap);
        for (int d = 0; d < 3; d++) back[d] = -t[0].normal[d];
        double along =
            -extent_along(h[1], p[1], R[1], back) - extent_along(h[0], p[0], R[0], t[0].normal);
        /* A face that overlaps more than an edge pair, by up to 1e-4 of the least half length, is
         * preferred; its deepest corner may then lie beside it, so that the contacts are between. */
        double least = INFINITY;
        for (int k = 0; k < 6; k++) least = fmin(least, h[k / 3][k % 3]);
        assert_true(along >= best - 1.01e-4 * least && along <= best + 1e-9);
        assert_true(deepest >= along - 1e-9 && deepest <= best + 1e-9);
        found++;
        edges += n == 1;
        perp_bodies_destroy(b);
    }
    assert_true(found > 3000 && edges > 200);
}

/* The gap of two round shapes beside the least distance of many points of their axes. */
static void round_shapes_are_as_far_as_their_axes(void **state)
{
    (void)state;
    static const perp_shape_kind kinds[][2] = {{PERP_SHAPE_SPHERE, PERP_SHAPE_SPHERE},
                                               {PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE},
                                               {PERP_SHAPE_CAPSULE, PERP_SHAPE_CAPSULE},
                                               {PERP_SHAPE_SPHERE, PERP_SHAPE_BOX}};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = 1; /* all pairs are near */
    for (int trial = 0; trial < 400; trial++) {
        const perp_shape_kind *kind = kinds[trial % 4];
        double q[14], v[12] = {0}, p[2][3], R[2][9], size[2][3], least = INFINITY;
        perp_body body[2] = {ball_body(1, 1), ball_body(1, 1)};
        perp_shape shape[2];
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 3; k++) size[i][k] = random_in(0.2, 0.6);
            shape[i] = (perp_shape){
                .body = i + 1, .kind = kind[i], .size = {size[i][0], size[i][1], size[i][2]}};
            for (int k = 0; k < 7; k++) q[7 * i + k] = random_in(-1, 1) * (k < 3 ? 1.5 : 1);
        }
        perp_bodies *b = make(body, 2, shape, 2, &o);
        perp_bodies_set(b, q, v);
        step(b, 1);
        const perp_contact *t;
        int n = perp_bodies_contacts(b, &t);
        assert_true(n >= 1);
        perp_bodies_set(b, q, v);
        for (int i = 0; i < 2; i++) perp_bodies_pose(b, i + 1, p[i], R[i]);
        enum { N = 60 };
        for (int i = 0; i <= N; i++)
            for (int j = 0; j <= N; j++) {
                double x[3], y[3],
                    d = 0,
                    s[2] = {kind[0] == PERP_SHAPE_CAPSULE ? size[0][1] * (2.0 * i / N - 1) : 0,
                            kind[1] == PERP_SHAPE_CAPSULE ? size[1][1] * (2.0 * j / N - 1) : 0};
                for (int k = 0; k < 3; k++)
                    x[k] = p[0][k] + s[0] * R[0][3 * k + 2],
                    y[k] = p[1][k] + s[1] * R[1][3 * k + 2];
                if (kind[1] == PERP_SHAPE_BOX) {
                    double local[3], inside = -INFINITY;
                    for (int k = 0; k < 3; k++) {
                        local[k] = R[1][k] * (x[0] - p[1][0]) + R[1][3 + k] * (x[1] - p[1][1]) +
                                   R[1][6 + k] * (x[2] - p[1][2]);
                        double out = fabs(local[k]) - size[1][k];
                        inside = fmax(inside, out);
                        d += out > 0 ? out * out : 0;
                    }
                    d = inside > 0 ? sqrt(d) : inside;
                    least = fmin(least, d - size[0][0]);
                    continue;
                }
                for (int k = 0; k < 3; k++) d += (x[k] - y[k]) * (x[k] - y[k]);
                least = fmin(least, sqrt(d) - size[0][0] - size[1][0]);
            }
        double gap = INFINITY;
        for (int k = 0; k < n; k++) gap = fmin(gap, t[k].gap);
        if (!(gap <= least + 1e-12 && gap >= least - 2e-2))
            fail_msg("%s, %s: gap %g, %g", perp_shape_name(kind[0]), perp_shape_name(kind[1]), gap,
                     least);
        perp_bodies_destroy(b);
    }
}

/* Descriptions that are wrong ------------------------------------------------------------------------------------ */

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    perp_body good = ball_body(1, 0.1);
    static const char *const says[] = {"its parent",       "its joint",
                                       "no quaternion",    "no direction",
                                       "mass is negative", "inertia is that of no masses",
                                       "damping",          "moves no mass"};
    for (int k = 0; k < 8; k++) {
        perp_body body = good;
        perp_bodies *b;
        perp_diag diag = {0};
        body.name = "arm";
        if (k == 0) body.parent = 2;
        if (k == 1) body.joint = PERP_JOINT_COUNT;
        if (k == 2) body.rotation[1] = (double)NAN;
        if (k == 3) body.joint = PERP_JOINT_HINGE;
        if (k == 4) body.mass = -1;
        if (k == 5) body.inertia[0] = 1;
        if (k == 6) body.damping = -1;
        if (k == 7) body.mass = 0;
        assert_int_equal(perp_bodies_create(&body, 1, NULL, 0, NULL, &b, &diag), PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), "body 1 arm: ") ||
            !strstr(perp_diag_text(&diag), says[k]))
            fail_msg("%d: %s", k, perp_diag_text(&diag));
        assert_null(b);
        perp_diag_clear(&diag);
    }
    static const char *const shapes[] = {
        "its kind",         "no such body", "a plane is of the world",
        "size must be > 0", "restitution",  "mesh is not there"};
    for (int k = 0; k < 6; k++) {
        perp_shape shape[2] = {
            {.body = 1, .kind = PERP_SHAPE_CAPSULE, .size = {1, 1}},
            {.kind = k == 5 ? PERP_SHAPE_MESH : PERP_SHAPE_PLANE, .size = {1, 1, 1}}};
        perp_bodies *b;
        perp_diag diag = {0};
        if (k == 0) shape[0].kind = PERP_SHAPE_COUNT;
        if (k == 1) shape[0].body = 2;
        if (k == 2) shape[1].body = 1;
        if (k == 3) shape[0].size[1] = 0;
        if (k == 4) shape[0].restitution = 1.1;
        assert_int_equal(perp_bodies_create(&good, 1, shape, 2, NULL, &b, &diag), PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), shapes[k])) fail_msg("%d: %s", k, perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    perp_bodies *b = make(&good, 1, NULL, 0, NULL);
    double q[7] = {0}, v[6] = {(double)INFINITY};
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_ERR_ARG); /* a quaternion of length 0 */
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_set_force(b, v), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_pose(b, 2, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_q_of(b, 0), -1);
    assert_string_equal(perp_joint_name(PERP_JOINT_BALL), "ball");
    assert_int_equal(perp_shape_find("box"), PERP_SHAPE_BOX);
    perp_bodies_destroy(b);
    perp_bodies_destroy(NULL);
}

/* Two balls begin 0.05 m in each other, one twice as heavy: each moves by its share, and nothing is thrown. One that is held within another ends the step, and the
 * state stays. */
static void what_overlaps_is_moved_apart(void **state)
{
    (void)state;
    perp_body body[2] = {ball_body(1, 0.1), ball_body(2, 0.1)};
    perp_shape shape[2] = {{.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.1}},
                           {.body = 2, .kind = PERP_SHAPE_SPHERE, .size = {0.1}}};
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies_info info = {.size = sizeof info};
    perp_diag diag = {0};
    o.gravity[2] = 0;
    double q[14] = {0, 0, 0, 1, 0, 0, 0, 0.15, 0, 0, 1, 0, 0, 0};
    perp_bodies *b = make(body, 2, shape, 2, &o);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    assert_int_equal(bodies_step(b, &info, &diag), PERP_OK);
    assert_true(info.penetration < 1e-6);
    expect_near(perp_bodies_q(b)[0], -0.05 * 2 / 3, 1e-6, "the light one");
    expect_near(perp_bodies_q(b)[7], 0.15 + 0.05 / 3, 1e-6, "the heavy one");
    for (int k = 0; k < perp_bodies_nv(b); k++) assert_true(perp_bodies_v(b)[k] == 0);
    perp_bodies_destroy(b);

    body[0].joint = PERP_JOINT_SLIDE, body[0].axis[0] = 1; /* between two that stand still */
    perp_shape three[3] = {shape[0], shape[0], shape[0]};
    for (int k = 1; k < 3; k++) three[k].body = 0, three[k].position[0] = k == 1 ? 0.05 : -0.05;
    b = make(body, 1, three, 3, &o);
    const double before = perp_bodies_q(b)[0];
    assert_int_equal(bodies_step(b, &info, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "cannot be moved apart"));
    assert_true(info.outcome == PERP_LIMIT && perp_bodies_time(b) == 0);
    assert_true(perp_bodies_q(b)[0] == before && perp_bodies_v(b)[0] == 0);
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
}

/* A ball, no axis as heavy as another, turns on an even ground by more a step than the midpoint rule has an answer for. */
static perp_bodies *make_top(double h, double v)
{
    const perp_body body = {.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {1e-3, 2e-3, 2.5e-3}};
    const perp_shape shape[2] = {{.kind = PERP_SHAPE_PLANE},
                                 {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {0.1}}};
    perp_bodies_options o = perp_bodies_options_default();
    const double q[7] = {0, 0, 0.1, 1, 0, 0, 0}, speed[6] = {0.5, 0, 0, v / 2, v, v / 3};
    o.step = h;
    o.method = PERP_BODIES_MIDPOINT;
    perp_bodies *b = make(&body, 1, shape, 2, &o);
    assert_int_equal(perp_bodies_set(b, q, speed), PERP_OK);
    return b;
}

static void a_step_without_an_answer_is_made_in_parts(void **state)
{
    (void)state;
    const double h = 0.002;
    perp_bodies *b = make_top(h, 3 / h);
    perp_bodies_info info = {.size = sizeof info};
    perp_diag diag = {0};
    const perp_contact *touch;
    assert_int_equal(bodies_step(b, &info, &diag), PERP_OK);
    assert_true(info.substeps > 1 && info.outcome == PERP_SOLVED && info.step == 1);
    assert_string_equal(perp_diag_text(&diag), "");
    assert_true(info.contact_error <= 1e-8 && info.newton_error <= 1e-8);
    assert_true(info.time == h && perp_bodies_time(b) == h);
    assert_int_equal(perp_bodies_contacts(b, &touch), 1);
    expect_near(touch->impulse[0] / h, 9.81, 1e-9, "the weight");
    assert_int_equal(perp_bodies_step_derivatives(b, NULL, NULL, NULL, &diag), PERP_ERR_ARG);

    perp_bodies *fine = make_top(h / info.substeps, 3 / h); /* as so many short steps */
    step(fine, info.substeps);
    for (int k = 0; k < 7; k++)
        expect_near(perp_bodies_q(b)[k], perp_bodies_q(fine)[k], 1e-14, "q");
    for (int k = 0; k < 6; k++)
        expect_near(perp_bodies_v(b)[k], perp_bodies_v(fine)[k], 1e-12, "v");
    perp_bodies_destroy(fine);

    const double slow[6] = {0.5, 0, 0, 0, 0, 1};
    assert_int_equal(perp_bodies_set(b, NULL, slow), PERP_OK); /* and goes on in whole steps */
    assert_int_equal(bodies_step(b, &info, &diag), PERP_OK);
    assert_true(info.substeps == 1 && info.step == 2 && perp_bodies_time(b) == 2 * h);
    perp_bodies_destroy(b);

    b = make_top(h, 100 / h); /* no part is short enough */
    const double *q = perp_bodies_q(b), *v = perp_bodies_v(b);
    assert_int_equal(bodies_step(b, &info, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "step 1, t = 0 s: not verified"));
    assert_true(info.outcome == PERP_LIMIT && perp_bodies_time(b) == 0 && q[0] == 0 && q[3] == 1);
    assert_true(v[0] == 0.5 && v[4] == 100 / h);
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_and_bias_are_those_of_points),
        cmocka_unit_test(motions_converge),
        cmocka_unit_test(boxes_stick_and_slide_as_coulomb_says),
        cmocka_unit_test(spheres_roll_and_spin_back),
        cmocka_unit_test(stacks_do_not_sink_or_creep),
        cmocka_unit_test(what_rests_moves_when_it_has_to),
        cmocka_unit_test(toppling_stacks_have_a_short_tail),
        cmocka_unit_test(gravity_turns_within_a_run),
        cmocka_unit_test(a_step_looks_as_far_as_gravity_reaches),
        cmocka_unit_test(what_begins_in_another_is_not_thrown),
        cmocka_unit_test(features_that_meet_within_a_step_do_not_overlap),
        cmocka_unit_test(redundant_forces_are_nearest_to_the_last),
        cmocka_unit_test(balls_rebound),
        cmocka_unit_test(momentum_is_kept),
        cmocka_unit_test(boxes_touch_where_they_overlap_least),
        cmocka_unit_test(what_overlaps_is_moved_apart),
        cmocka_unit_test(round_shapes_are_as_far_as_their_axes),
        cmocka_unit_test(a_step_without_an_answer_is_made_in_parts),
        cmocka_unit_test(what_is_wrong_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
