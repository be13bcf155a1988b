/* Impacts, by Newton's law at every contact that closes, all at once. */

#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double G = 9.81;

static void judge_cradle(scene *s, perp_bodies *b)
{
    const double *v = perp_bodies_v(b);
    double energy = 0;
    for (int i = 0; i < s->nbody; i++) energy += v[i] * v[i];
    compare(s, "velocity of the first [m/s]", v[0], s->x[0] > 0 ? 0 : -0.6, 1e-9);
    compare(s, "velocity of the third [m/s]", v[2], s->x[0] > 0 ? 0 : 0.4, 1e-9);
    compare(s, "velocity of the last [m/s]", v[4], s->x[0] > 0 ? 1 : 0.4, 1e-9);
    compare(s, "energy, of the first", energy, 1, 1e-9);
}

/* Five balls on a line, e = 1, the first hits the others. Where they touch Newton's law at all contacts at once gives -3/5 and four times 2/5 of its
 * velocity, and keeps energy; where they are apart the impacts come one after the other, and the last has it all. */
void cradle(scene *s, double gap)
{
    const double radius = 0.05;
    for (int i = 0; i < 5; i++) {
        double place[3] = {i ? i * (2 * radius + gap) : -0.2};
        add_ball(s, radius, place, 1, 0);
        s->body[i].joint = PERP_JOINT_SLIDE;
        s->body[i].axis[0] = 1;
        s->shape[i].restitution = 1;
    }
    s->v[0] = 1;
    s->x[0] = gap;
    s->steps = 200;
    s->judge = judge_cradle;
}

/* x[0], x[1]: the highest and the lowest of the heights from which the balls fell, after the first. */
static void look_at_bounces(scene *s, perp_bodies *b, int step)
{
    const double z = perp_bodies_q(b)[2], v = perp_bodies_v(b)[2];
    if (step == 1) s->x[1] = INFINITY;
    if (s->x[2] > 0 && v <= 0) s->x[0] = fmax(s->x[0], s->x[3]), s->x[1] = fmin(s->x[1], s->x[3]);
    s->x[2] = v, s->x[3] = z;
}

static void judge_bounces(scene *s, perp_bodies *b)
{
    const double *q = perp_bodies_q(b);
    double apart = 0;
    for (int i = 1; i < s->nbody; i++) apart = fmax(apart, fabs(q[7 * i + 2] - q[2]));
    compare(s, "the highest top [m]", s->x[0], 5, 5e-3);
    compare(s, "the lowest top [m]", s->x[1], s->x[0], 1e-9);
    at_most(s, "the balls' heights differ by [m]", apart, 1e-9);
}

/* SimBenchmark's bouncing: 7 x 7 balls of 10 kg fall by 5 m, e = 1, for 20 s at 10 ms. */
void bouncing(scene *s, double p)
{
    (void)p;
    add_ground(s, 0);
    for (int i = 0; i < 49; i++) {
        double place[3] = {i % 7, i / 7, 5};
        add_ball(s, 0.1, place, 10, 0);
        s->shape[s->nshape - 1].restitution = 1;
    }
    s->o.step = 0.01;
    s->steps = 2000;
    s->look = look_at_bounces, s->judge = judge_bounces;
}

static void look_at_rod(scene *s, perp_bodies *b, int step)
{
    const perp_contact *touch;
    double R[9], *x = s->x;
    if (step > 1) return;
    if (perp_bodies_contacts(b, &touch) > 0) x[1] = touch[0].impulse[0];
    perp_bodies_pose(b, 1, NULL, R);
    const double *v = perp_bodies_v(b);
    /* the contact's velocity by the lever arm at the begin of the step */
    x[2] = v[0] + v[4] * x[5], x[3] = v[2] - v[4] * x[4];
}

static void judge_rod(scene *s, perp_bodies *b)
{
    const double m = 1, J = 1.0 / 3, cx = s->x[4], cz = s->x[5], mu = s->x[0], h = s->o.step,
                 Wx = 1 / m + cz * cz / J, Wxz = -cx * cz / J, Wz = 1 / m + cx * cx / J,
                 lift = Wz + mu * Wxz, det = Wx * Wz - Wxz * Wxz;
    (void)b;
    printf("  a unit of normal force lifts the contact by %.4f m/s^2\n", lift);
    if (lift > 0) {
        compare(s, "impulse of a step that slides [N s]", s->x[1], h * G / lift, 1e-12);
    } else {
        compare(s, "impulse that stops the contact [N s]", s->x[1], (Wx * h * G - Wxz * 3) / det,
                1e-9);
        at_most(s, "speed of the contact after it [m/s]", hypot(s->x[2], s->x[3]), 1e-9);
    }
}

/* Painleve's rod slides on a rough table, its tip ahead, 57 degrees to it. With much friction no force holds it (a unit of normal force, its
 * friction included, pulls the contact down): the step takes the impulse that stops it, whatever the step's length. */
void rod(scene *s, double mu)
{
    const double l = 1, q = 1, r = 0.01, place[3] = {-l}, J = 1.0 / 3;
    add_ground(s, mu);
    s->body[s->nbody++] = (perp_body){.joint = PERP_JOINT_FREE,
                                      .position = {0, 0, l * sin(q) + r},
                                      .rotation = {cos(q / 2), 0, -sin(q / 2), 0},
                                      .mass = 1,
                                      .inertia = {1e-3, J, J}};
    add_knob(s, r, place, mu, 0);
    s->v[0] = -3;
    s->x[0] = mu, s->x[4] = -l * cos(q), s->x[5] = -(l * sin(q) + r);
    s->steps = 200;
    s->look = look_at_rod, s->judge = judge_rod;
}

static const double RING = 0.0031, POLE = 0.0025, RING_HALF = 0.0058, TO_SPRING = 0.01,
                    TO_BIRD = 0.015, BEAK_HIGH = 0.02, BEAK_BACK = 0.0201, SPRING = 0.0056;

static void drive_woodpecker(scene *s, perp_bodies *b)
{
    const perp_joint_law spring = {.stiffness = SPRING};
    const double q[3] = {0, -0.1, -0.18};
    (void)s;
    perp_bodies_set_joint(b, 3, &spring, NULL);
    perp_bodies_set(b, q, NULL);
}

/* The bird swings up through 0: x[2] how often, x[3] when last, x[4] how high then; x[5..8] the least and the greatest period and way of the last
 * cycles. */
static void look_at_woodpecker(scene *s, perp_bodies *b, int step)
{
    enum { LATE = 8 };
    const double *q = perp_bodies_q(b), angle = q[1] + q[2], t = step * s->o.step;
    double *x = s->x;
    if (step == 1) x[5] = x[7] = INFINITY;
    if (step > 1 && x[0] < 0 && angle >= 0) {
        double back = angle / (angle - x[0]), when = t - back * s->o.step,
               high = q[0] - back * (q[0] - x[1]), period = when - x[3], way = x[4] - high;
        if (x[2] > LATE) {
            x[5] = fmin(x[5], period), x[6] = fmax(x[6], period);
            x[7] = fmin(x[7], way), x[8] = fmax(x[8], way);
        }
        x[2]++, x[3] = when, x[4] = high;
    }
    x[0] = angle, x[1] = q[0];
}

static void judge_woodpecker(scene *s, perp_bodies *b)
{
    const double period = 0.13135, way = 14.849e-3, *x = s->x;
    (void)b;
    printf("  %.0f cycles of %.6f..%.6f s, down by %.4f..%.4f mm\n", x[2], x[5], x[6], 1e3 * x[7],
           1e3 * x[8]);
    at_least(s, "cycles in 4 s", x[2], 29);
    compare(s, "period [s]", 0.5 * (x[5] + x[6]), period, 5e-3 * period);
    compare(s, "way of a period [m]", 0.5 * (x[7] + x[8]), way, 2.5e-2 * way);
    at_most(s, "ways differ by, of a way", x[8] / x[7] - 1, 1e-2);
}

/* The woodpecker toy with the constants of Glocker 1995: a ring on a pole and a bird on a spring; the ring's lower and upper edge and the beak
 * touch the pole. It goes down in a cycle of three impacts, sticking and sliding, of order 1 in the step: 0.1333, 0.1323, 0.1318 s and
 * 16.06, 15.44, 15.14 mm at 1e-4, 5e-5, 2.5e-5 s. woodpecker.perp, whose impacts are events and whose order is five, has 0.131350 s and 14.849 mm. */
void woodpecker(scene *s, double p)
{
    (void)p;
    const double r = 1e-4, pole[3] = {POLE},
                 edge[2][3] = {{RING + r, 0, -RING_HALF}, {RING + r, 0, RING_HALF}},
                 beak[3] = {TO_BIRD - BEAK_BACK + r, 0, BEAK_HIGH};
    add_wall(s, pole, 0, 0.3);
    s->body[0] = (perp_body){.joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}};
    s->body[1] = (perp_body){.parent = 1,
                             .joint = PERP_JOINT_HINGE,
                             .axis = {0, -1, 0},
                             .mass = 0.0003,
                             .inertia = {5e-9, 5e-9, 5e-9}};
    s->body[2] = (perp_body){.parent = 2,
                             .joint = PERP_JOINT_HINGE,
                             .axis = {0, -1, 0},
                             .position = {TO_SPRING},
                             .mass = 0.0045,
                             .center = {TO_BIRD},
                             .inertia = {7e-7, 7e-7, 7e-7}};
    s->nbody = 2;
    for (int k = 0; k < 2; k++) add_knob(s, r, edge[k], 0.3, 0);
    s->nbody = 3;
    add_knob(s, r, beak, 0.3, 0.5);
    s->v[0] = -0.34, s->v[2] = -7.4;
    s->o.step = 2.5e-5;
    s->steps = 160000;
    s->drive = drive_woodpecker, s->look = look_at_woodpecker, s->judge = judge_woodpecker;
}
