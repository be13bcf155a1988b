/* Sliding, rolling and spinning beside closed forms. */

#include "scene.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979324, G = 9.81;

static void judge_incline(scene *s, perp_bodies *b)
{
    double angle = s->x[0], t = s->steps * s->o.step;
    compare(s, "speed [m/s]", perp_bodies_v(b)[0],
            s->x[1] > 1 ? t * G * (sin(angle) - 0.5 * cos(angle)) : 0, 1e-9);
    if (s->x[1] <= 1) at_most(s, "creep [m]", fabs(perp_bodies_q(b)[0]), 1e-12);
}

/* A box, mu = 0.5, on a slope of a part of that. */
void incline(scene *s, double of_cone)
{
    const double half[3] = {0.2, 0.15, 0.1}, place[3] = {0, 0, 0.1}, angle = atan(0.5 * of_cone);
    add_ground(s, 0.5);
    add_box(s, half, place, NULL, 3, 0.5);
    s->o.gravity[0] = G * sin(angle), s->o.gravity[2] = -G * cos(angle);
    s->x[0] = angle, s->x[1] = of_cone;
    s->steps = 1000;
    s->judge = judge_incline;
}

static void judge_backspin(scene *s, perp_bodies *b)
{
    compare(s, "velocity at last [m/s]", perp_bodies_v(b)[0], -80.0 / 7, 1e-7);
}

/* A ball thrown with backspin rolls at last with (5 v + 2 r w)/7, whatever the friction. */
void backspin(scene *s, double p)
{
    (void)p;
    const double place[3] = {0, 0, 0.3}, v[6] = {4, 0, 0, 0, -50 / 0.3, 0};
    add_ground(s, 0.5);
    add_ball(s, 0.3, place, 2, 0.5);
    memcpy(s->v, v, sizeof v);
    s->steps = 3000;
    s->judge = judge_backspin;
}

/* The velocity's angle, added up; the greatest distance from the circle. */
static void look_at_turntable(scene *s, perp_bodies *b, int step)
{
    const double *q = perp_bodies_q(b) + 1, *v = perp_bodies_v(b) + 1;
    double angle = atan2(v[1], v[0]);
    if (step > 1) s->x[1] += remainder(angle - s->x[0], 2 * PI);
    s->x[0] = angle;
    s->x[2] = fmax(s->x[2], fabs(hypot(q[0] - 0.7, q[1]) - 0.3));
}

static void judge_turntable(scene *s, perp_bodies *b)
{
    const double *q = perp_bodies_q(b) + 1;
    compare(s, "rate of the circle, of the disc's", s->x[1] / ((s->steps - 1) * s->o.step) / 3.5,
            2.0 / 7, 1e-6);
    at_most(s, "distance from the circle [m]", s->x[2], 3 * s->o.step);
    at_most(s, "distance from the start after a turn [m]", hypot(q[0] - 1, q[1]), 3 * s->o.step);
}

static void drive_turntable(scene *s, perp_bodies *b)
{
    const perp_actuator motor = {.body = 1, .gear = 1, .gain = 1e9, .kv = 1e9};
    const double rate = 3.5;
    (void)s;
    perp_bodies_add_actuator(b, &motor, NULL);
    perp_bodies_set_control(b, &rate);
}

/* A ball rolls on a disc that turns at 3.5 rad/s: on a circle, 2/7 as fast, wherever it is (Earnshaw 1844). p: steps a turn, of 3000. */
void turntable(scene *s, double p)
{
    const double rate = 3.5, radius = 0.1, place[3] = {1, 0, radius}, speed = 0.3;
    s->body[s->nbody++] = (perp_body){.joint = PERP_JOINT_HINGE,
                                      .position = {0, 0, -0.05},
                                      .axis = {0, 0, 1},
                                      .mass = 100,
                                      .inertia = {100, 100, 200}};
    s->shape[s->nshape++] =
        (perp_shape){.body = 1, .kind = PERP_SHAPE_CYLINDER, .size = {2, 0.05}, .mu = 0.5};
    add_ball(s, radius, place, 1, 0.5);
    s->v[0] = rate;
    s->v[2] = speed;
    s->v[4] = (rate * place[0] - speed) / radius; /* it does not slip */
    s->steps = (int)(3000 * p);
    s->o.step = 2 * PI / s->steps;
    s->drive = drive_turntable, s->look = look_at_turntable, s->judge = judge_turntable;
}

static const double PULL = 150, PLATE = 10;
enum { BALLS = 25 };

static void pull_plate(scene *s, perp_bodies *b)
{
    static double tau[6 * (BALLS + 1)];
    tau[0] = PULL * cos(s->x[0]), tau[1] = PULL * sin(s->x[0]);
    perp_bodies_set_force(b, tau);
}

static void judge_plate(scene *s, perp_bodies *b)
{
    const double m = 1, T = s->steps * s->o.step, ground = 0.4 * (PLATE + BALLS * m) * G,
                 ball = (PULL - ground) / PLATE / (3.5 / m + BALLS / PLATE),
                 plate = (PULL - ground - BALLS * ball) / PLATE;
    const double along[3] = {cos(s->x[0]), sin(s->x[0]), 0}, *v = perp_bodies_v(b);
    double off = 0;
    for (int i = 0; i <= BALLS; i++)
        for (int k = 0; k < 3; k++)
            off = fmax(off, fabs(v[6 * i + k] - T * (i ? ball : plate) * along[k]));
    compare(s, "speed of the plate [m/s]", body_speed(b, 0), T * plate, 1e-6);
    compare(s, "speed of a ball [m/s]", body_speed(b, 13), T * ball, 1e-6);
    at_most(s, "velocities of all off by [m/s]", off, 1e-6);
}

/* SimBenchmark's rolling: a plate of 10 kg slides on the ground (0.4), pulled by 150 N; 25 balls of 1 kg roll on it (0.8). */
void balls_on_a_plate(scene *s, double direction)
{
    const double half[3] = {10, 10, 0.5}, place[3] = {0, 0, 0.5}, radius = 0.5;
    add_ground(s, 0.4);
    add_box(s, half, place, NULL, PLATE, 0.4);
    for (int i = 0; i < BALLS; i++) {
        double at[3] = {2 * (i % 5) - 4, 2 * (i / 5) - 4, 1 + radius};
        add_ball(s, radius, at, 1, 0.8);
    }
    s->x[0] = direction;
    s->steps = 2000;
    s->drive = pull_plate, s->judge = judge_plate;
}

/* The axis' horizontal direction, added up; the least and the greatest height. */
static void look_at_disc(scene *s, perp_bodies *b, int step)
{
    double R[9], p[3];
    perp_bodies_pose(b, 1, p, R);
    double angle = atan2(R[5], R[2]);
    if (step > 1) s->x[1] += remainder(angle - s->x[0], 2 * PI);
    s->x[0] = angle;
    s->x[2] = fmax(s->x[2], fabs(p[2] / s->body[0].position[2] - 1));
    s->x[3] = fmax(s->x[3], hypot(p[0], p[1]));
}

static void judge_disc(scene *s, perp_bodies *b)
{
    (void)b;
    compare(s, "rate of precession [rad/s]", s->x[1] / ((s->steps - 1) * s->o.step), s->x[4],
            s->x[4] * 25 * s->o.step);
    at_most(s, "height changes by, of itself", s->x[2], 100 * s->o.step);
    at_most(s, "the centre's way [m]", s->x[3], 2 * s->o.step);
}

/* A coin rolls on its edge with its centre at rest. It turns about the line from the centre to the contact, its axis about the vertical at O:
 *
 *     O^2 = m g (a cos q - t sin q) / (A sin q cos q - C t/a sin^2 q)
 *
 * by Euler's equations: a its radius, t half its thickness, q its inclination, A and C its moments of inertia; 4g/(a sin q) where t = 0 (Moffatt 2000). */
void disc(scene *s, double p)
{
    const double a = 0.1, t = 0.005, m = 0.5, q = 0.5, C = m * a * a / 2,
                 A = m * (a * a / 4 + t * t / 3),
                 rate = sqrt(m * G * (a * cos(q) - t * sin(q)) /
                             (A * sin(q) * cos(q) - C * t / a * sin(q) * sin(q)));
    add_ground(s, 0.8);
    s->body[s->nbody++] = (perp_body){.joint = PERP_JOINT_FREE,
                                      .position = {0, 0, a * sin(q) + t * cos(q)},
                                      .rotation = {cos(q / 2), 0, sin(q / 2), 0},
                                      .mass = m,
                                      .inertia = {A, A, C}};
    s->shape[s->nshape++] =
        (perp_shape){.body = 1, .kind = PERP_SHAPE_CYLINDER, .size = {a, t}, .mu = 0.8};
    s->v[3] = -rate * sin(q), s->v[5] = rate * sin(q) * t / a;
    s->x[4] = rate;
    s->steps = (int)(2000 * p);
    s->o.step = 2 * PI / rate / s->steps;
    s->look = look_at_disc, s->judge = judge_disc;
}
