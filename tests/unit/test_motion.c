/* What bodies did: frames kept by halves, contacts, and when they change. */

#include "report/motion.h"
#include "unit.h"
#include "ways.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

enum { MOST_BOXES = 64 };

/* Boxes of 0.2 m and 1 kg in a row above a plane, by this height. */
static perp_bodies *boxes(int n, double above, double mu)
{
    perp_body body[MOST_BOXES];
    perp_shape shape[MOST_BOXES + 1] = {{.kind = PERP_SHAPE_PLANE, .mu = mu}};
    perp_bodies *b;
    perp_diag diag = {0};
    for (int i = 0; i < n; i++) {
        body[i] = (perp_body){.joint = PERP_JOINT_FREE, .position = {i, 0, 0.1 + above}, .mass = 1};
        for (int k = 0; k < 3; k++) body[i].inertia[k] = 0.04 / 6;
        shape[1 + i] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = mu};
    }
    if (perp_bodies_create(body, n, shape, n + 1, NULL, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static perp_motion *motion_of(perp_bodies *b, int steps)
{
    perp_motion *m;
    assert_int_equal(perp_motion_create(b, &m), PERP_OK);
    assert_int_equal(perp_motion_add(m, b), PERP_OK);
    for (int k = 0; k < steps; k++) {
        assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
        assert_int_equal(perp_motion_add(m, b), PERP_OK);
    }
    return m;
}

static void frames_are_evenly_spread_and_the_last_one_is_the_end(void **state)
{
    (void)state;
    const int steps[] = {0, 1, 7, 1999, 2000, 2001, 4000, 4001, 9999};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        perp_bodies *b = boxes(1, 3000, 0.5);
        perp_motion *m = motion_of(b, steps[i]);
        int every, n = perp_motion_frames(m, &every);
        assert_true(n >= 1 && n <= 2000);
        if (steps[i] >= 2000) assert_true(n >= 1000);
        assert_int_equal(m->steps, steps[i] + 1);
        for (int k = 0; k < n - 1; k++) assert_int_equal(m->frame[k].step, (long)k * every);
        assert_int_equal(m->frame[n - 1].step, steps[i]);
        for (int k = 0; k < n; k++) { /* free fall by backward Euler: z = z0 - g h^2 k (k + 1)/2 */
            double step = (double)m->frame[k].step, h = 0.002;
            expect_near(m->frame[k].t, step * h, 1e-9, "time");
            double z = m->pose[(k * 2 + 1) * PERP__POSE + 2], t = step * h;
            expect_near(z, 3000.1 - 9.81 * t * t / 2, 9.81 * h * t + 1e-9, "height");
            expect_near(m->pose[(k * 2 + 1) * PERP__POSE + 3], 1, 0, "turn");
        }
        perp_motion_destroy(m);
        perp_bodies_destroy(b);
    }
}

static void poses_are_those_of_the_bodies(void **state)
{
    (void)state;
    perp_bodies *b = boxes(3, 1, 0.5);
    double q[21], v[18], before[7] = {0};
    for (int i = 0; i < 21; i++) q[i] = sin(7.0 * i + 1);
    for (int i = 0; i < 18; i++) v[i] = 9 * cos(3.0 * i);
    for (int i = 0; i < 3; i++) q[7 * i + 2] = 60;
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    perp_motion *m = motion_of(b, 0);
    for (int k = 0; k < 500; k++) {
        assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
        assert_int_equal(perp_motion_add(m, b), PERP_OK);
        for (int body = 0; body <= 3; body++) {
            double p[3], R[9], along = 0;
            const double *x = m->pose + (size_t)((m->nframe - 1) * 4 + body) * PERP__POSE;
            const double w = x[3], *u = x + 4;
            assert_int_equal(perp_bodies_pose(b, body, p, R), PERP_OK);
            for (int i = 0; i < 3; i++) {
                expect_near(x[i], p[i], 0, "position");
                for (int j = 0; j < 3; j++) {
                    double cross = i == j ? 0 : (j == (i + 1) % 3 ? -1 : 1) * u[3 - i - j];
                    double r = 2 * u[i] * u[j] + 2 * w * cross + (i == j ? 2 * w * w - 1 : 0);
                    expect_near(r, R[3 * i + j], 1e-14, "rotation");
                }
            }
            if (body != 2) continue;
            for (int i = 3; i < 7; i++) along += x[i] * before[i];
            if (k) assert_true(along > 0.9); /* it does not jump to the other sign */
            memcpy(before, x, sizeof before);
        }
    }
    perp_motion_destroy(m);
    perp_bodies_destroy(b);
}

/* Half turns, where the scalar part is 0, and turns near them. */
static void every_turn_has_its_quaternion(void **state)
{
    (void)state;
    for (int k = 0; k < 3000; k++) {
        double axis[3] = {sin(k), cos(1.7 * k), sin(2.3 * k + 1)}, R[9], p[3] = {1, 2, 3}, pose[7];
        if (k % 5 == 0) axis[0] = axis[1] = 0;
        if (k % 5 == 1) axis[1] = axis[2] = 0;
        double size = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
        double angle = k % 2 ? acos(-1) - 1e-9 * (k % 7) : 0.01 * k, c = cos(angle), s = sin(angle);
        for (int i = 0; i < 3; i++) axis[i] /= size;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                R[3 * i + j] = axis[i] * axis[j] * (1 - c) +
                               (i == j ? c : (j == (i + 1) % 3 ? -s : s) * axis[3 - i - j]);
        perp__motion_pose(pose, NULL, p, R);
        double sign = pose[3] * cos(angle / 2);
        for (int i = 0; i < 3; i++) sign += pose[4 + i] * axis[i] * sin(angle / 2);
        expect_near(fabs(sign), 1, 1e-12, "quaternion");
    }
}

/* Tendons --------------------------------------------------------------------------------------- */

enum { AROUND = 13 };

static perp_bodies *a_chain(void)
{
    perp_bodies *b;
    assert_int_equal(perp_bodies_create(chain, CHAIN, NULL, 0, NULL, &b, NULL), PERP_OK);
    return b;
}

static void hang(perp_bodies *b, const perp_path_point *path, int n)
{
    const perp_tendon tendon = {.npath = n, .path = path};
    assert_int_equal(perp_bodies_add_tendon(b, &tendon, NULL), PERP_OK);
}

/* What is wrapped: its middle, and for a cylinder its axis (else 0), in the world. */
static void place_round(perp_bodies *b, const perp_path_point *o, double *center, double *axis)
{
    double p[3], R[9], own[3] = {0}, size = 0;
    const double *q = o->rotation;
    assert_int_equal(perp_bodies_pose(b, o->body, p, R), PERP_OK);
    for (int i = 0; i < 4; i++) size += q[i] * q[i];
    if (o->kind == PERP_PATH_CYLINDER) {
        own[0] = 2 * (q[1] * q[3] + q[0] * q[2]) / size;
        own[1] = 2 * (q[2] * q[3] - q[0] * q[1]) / size;
        own[2] = 1 - 2 * (q[1] * q[1] + q[2] * q[2]) / size;
    }
    for (int i = 0; i < 3; i++) {
        center[i] = p[i], axis[i] = 0;
        for (int k = 0; k < 3; k++) {
            center[i] += R[3 * i + k] * o->position[k];
            axis[i] += R[3 * i + k] * own[k];
        }
    }
}

/* x - y, along an axis, and across it. */
static void part_of(const double *x, const double *y, const double *axis, double *along,
                    double *across)
{
    double d[3], sum = 0;
    *along = 0;
    for (int i = 0; i < 3; i++) d[i] = x[i] - y[i], *along += d[i] * axis[i];
    for (int i = 0; i < 3; i++) sum += (d[i] - *along * axis[i]) * (d[i] - *along * axis[i]);
    *across = sqrt(sum);
}

static double distance(const double *x, const double *y)
{
    double along, across;
    part_of(x, y, (double[]){0, 0, 0}, &along, &across);
    return across;
}

/* The length of the points on something round, as arcs where they are on it; is it touched? */
static int go_along(perp_bodies *b, const perp_path_point *o, const double *x, double *length)
{
    double center[3], axis[3], along, across;
    place_round(b, o, center, axis);
    part_of(x + 3 * (AROUND / 2), center, axis, &along, &across);
    int touches = fabs(across - o->radius) < 1e-9;
    for (int k = 0; k < AROUND; k++) {
        part_of(x + 3 * k, center, axis, &along, &across);
        if (touches) expect_near(across, o->radius, 1e-13, "on the surface");
        if (!k) continue;
        part_of(x + 3 * k, x + 3 * (k - 1), axis, &along, &across);
        double arc = touches ? 2 * o->radius * asin(across / (2 * o->radius)) : across;
        *length += hypot(arc, along);
    }
    return touches;
}

/* Its points lie on what it goes around, and their way, with arcs for chords, has the tendon's length; from either end. */
static void points_of_tendons_are_on_their_ways(void **state)
{
    (void)state;
    for (int is_back = 0; is_back < 2; is_back++) {
        perp_path_point path[NWAY];
        int touched[NWAY] = {0}, free_of[NWAY] = {0};
        perp_bodies *b = a_chain();
        for (int i = 0; i < NWAY; i++) path[i] = ways[is_back ? NWAY - 1 - i : i];
        hang(b, path, NWAY);
        for (int trial = 0; trial < 500; trial++) {
            double q[9], length = 0, divisor = 1;
            for (int k = 0; k < 9; k++) q[k] = sin(37.0 * trial + 11.0 * k * k) / 2;
            assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
            perp_motion *m = motion_of(b, 0);
            const double *x = m->pose + 4 * PERP__POSE;
            assert_int_equal(m->npoint, 5 + 3 * AROUND);
            for (int i = 0; i < NWAY; i++) {
                double part = 0;
                if (path[i].kind == PERP_PATH_PULLEY) {
                    divisor = path[i].divisor;
                    continue;
                }
                int n = path[i].kind == PERP_PATH_SITE ? 1 : AROUND;
                if (n > 1) {
                    int is = go_along(b, &path[i], x, &part);
                    touched[i] += is, free_of[i] += !is;
                }
                x += 3 * n;
                if (i + 1 < NWAY && path[i + 1].kind != PERP_PATH_PULLEY)
                    part += distance(x - 3, x);
                length += part / divisor;
            }
            expect_near(length, perp_bodies_tendon_length(b, 1), 1e-12, "length");
            perp_motion_destroy(m);
        }
        for (int i = 0; i < NWAY; i++) {
            if (!(path[i].radius > 0)) continue;
            assert_true(touched[i] > 20);
            assert_true(path[i].has_side || free_of[i] > 20);
        }
        perp_bodies_destroy(b);
    }
}

/* In the frames that stay, too. */
static void points_of_tendons_stay_with_their_frames(void **state)
{
    (void)state;
    const perp_path_point rope[] = {{.position = {1, 2, 3}}, {.body = 3}};
    perp_bodies *b = a_chain();
    hang(b, rope, 2);
    hang(b, ways, NWAY);
    perp_motion *m = motion_of(b, 4001);
    assert_non_null(strstr(m->shapes.at, "],\"tendons\":[[2],[29,15]]"));
    assert_true(m->every > 1);
    for (int k = 0; k < m->nframe; k++) {
        const double *pose = m->pose + (size_t)k * m->size, *x = pose + 4 * PERP__POSE;
        for (int i = 0; i < 3; i++) {
            expect_near(x[i], i + 1, 0, "in the world");
            expect_near(x[3 + i], pose[3 * PERP__POSE + i], 1e-9, "on its body");
        }
    }
    hang(b, rope, 2);
    assert_int_equal(bodies_step(b, NULL, NULL), PERP_OK);
    assert_int_equal(perp_motion_add(m, b), PERP_ERR_ARG); /* one more than it has room for */
    perp_motion_destroy(m);
    perp_bodies_destroy(b);
}

/* Contacts -------------------------------------------------------------------------------------- */

static void contact_forces_carry_the_weight(void **state)
{
    (void)state;
    perp_bodies *b = boxes(2, 0, 0.5);
    perp_motion *m = motion_of(b, 20);
    assert_int_equal(m->frame[0].n, -1); /* not known before a step */
    for (int k = 1; k < m->nframe; k++) {
        double force[3] = {0};
        assert_true(m->frame[k].n >= 6);
        for (int c = 0; c < m->frame[k].n; c++) {
            const float *x = m->contact + (size_t)(m->frame[k].first + c) * PERP__CONTACT;
            for (int i = 0; i < 3; i++) force[i] += (double)x[6 + i];
            expect_near((double)x[5], 1, 1e-6, "normal, on the box");
            expect_near((double)x[2], 0, 1e-6, "point");
            expect_near((double)x[9], 0.5, 1e-7, "friction coefficient");
        }
        expect_near(force[2], 2 * 9.81, 1e-4, "weight");
        expect_near(force[0], 0, 1e-4, "sideways");
    }
    assert_int_equal(m->nevent, 0);
    perp_motion_destroy(m);
    perp_bodies_destroy(b);
}

static void many_contacts_are_kept_in_fewer_frames(void **state)
{
    (void)state;
    perp_bodies *b = boxes(MOST_BOXES, 0, 0.5);
    perp_motion *m = motion_of(b, 1200);
    int known = 0, sum = 0;
    assert_int_equal(m->every, 1);
    assert_true(m->touch_every > 1 && m->ncontact <= 200000);
    for (int k = 0; k < m->nframe; k++) {
        if (m->frame[k].n < 0) continue;
        assert_true(m->frame[k].step % m->touch_every == 0 || k == m->nframe - 1);
        assert_int_equal(m->frame[k].first, sum);
        known++, sum += m->frame[k].n;
    }
    assert_int_equal(sum, m->ncontact);
    assert_true(known >= 1200 / m->touch_every);
    perp_motion_destroy(m);
    perp_bodies_destroy(b);
}

static void changes_of_contact_are_found_when_they_are(void **state)
{
    (void)state;
    const double v[6] = {1};
    perp_bodies *b = boxes(1, 0.3, 0.5);
    perp_motion *m = motion_of(b, 300);
    assert_true(m->nevent >= 1);
    expect_near(m->event[0].t, sqrt(2 * 0.3 / 9.81), 0.005, "the fall's end");
    assert_int_equal(m->event[0].begin, 1);
    expect_near(m->event[0].impulse, sqrt(2 * 9.81 * 0.3), 0.06, "its impulse");
    perp_motion_destroy(m);
    perp_bodies_destroy(b);

    b = boxes(1, 0, 0.5);
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    m = motion_of(b, 300);
    assert_int_equal(m->nevent, 1);
    assert_int_equal(m->event[0].stick, 1);
    assert_int_equal(m->event[0].begin + m->event[0].end + m->event[0].slip, 0);
    expect_near(m->event[0].t, 1 / (0.5 * 9.81), 0.003, "the end of its way");
    perp_motion_destroy(m);
    perp_bodies_destroy(b);
}

static void what_does_not_belong_together_is_refused(void **state)
{
    (void)state;
    perp_bodies *one = boxes(1, 1, 0.5), *two = boxes(2, 1, 0.5);
    perp_motion *m;
    assert_int_equal(perp_motion_create(NULL, &m), PERP_ERR_ARG);
    assert_int_equal(perp_motion_create(one, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_motion_create(one, &m), PERP_OK);
    assert_int_equal(perp_motion_frames(m, NULL), 0);
    assert_int_equal(perp_motion_add(m, two), PERP_ERR_ARG);
    assert_int_equal(perp_motion_add(m, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_motion_add(NULL, one), PERP_ERR_ARG);
    assert_int_equal(perp_motion_add(m, one), PERP_OK);
    assert_int_equal(perp_motion_add(m, one), PERP_ERR_ARG); /* the same time */
    assert_int_equal(perp_motion_frames(m, NULL), 1);
    assert_int_equal(perp_motion_frames(NULL, NULL), 0);
    perp_motion_destroy(m);
    perp_motion_destroy(NULL);
    perp_bodies_destroy(one);
    perp_bodies_destroy(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_evenly_spread_and_the_last_one_is_the_end),
        cmocka_unit_test(poses_are_those_of_the_bodies),
        cmocka_unit_test(every_turn_has_its_quaternion),
        cmocka_unit_test(points_of_tendons_are_on_their_ways),
        cmocka_unit_test(points_of_tendons_stay_with_their_frames),
        cmocka_unit_test(contact_forces_carry_the_weight),
        cmocka_unit_test(many_contacts_are_kept_in_fewer_frames),
        cmocka_unit_test(changes_of_contact_are_found_when_they_are),
        cmocka_unit_test(what_does_not_belong_together_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
