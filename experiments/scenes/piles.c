/* Many bodies, and one that is thrown. */

#include "scene.h"
#include "tails.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* n^3 boxes, turned a little at random, fall into a bin of four walls. */
void boxes_in_a_bin(scene *s, double p)
{
    const int n = (int)p;
    const double half[3] = {0.05, 0.05, 0.05}, apart = 0.12, wide = 0.06 * n + 0.03;
    unsigned long long seed = 1;
    add_ground(s, 0.5);
    for (int k = 0; k < 4; k++) {
        double turn = 1.57079632679489662 * k, place[3] = {-wide * cos(turn), -wide * sin(turn)};
        add_wall(s, place, turn, 0.5);
    }
    for (int i = 0; i < n * n * n; i++) {
        const int at[3] = {i % n, i / n % n, i / n / n};
        double place[3], rotation[4] = {1, 0, 0, 0}, length = 0;
        for (int k = 0; k < 3; k++)
            place[k] =
                apart * (at[k] - (k < 2 ? 0.5 * (n - 1) : -0.6)) + 0.005 * (uniform(&seed) - 0.5);
        for (int k = 1; k < 4; k++) rotation[k] = 0.1 * (uniform(&seed) - 0.5);
        for (int k = 0; k < 4; k++) length += rotation[k] * rotation[k];
        for (int k = 0; k < 4; k++) rotation[k] /= sqrt(length);
        add_box(s, half, place, rotation, 1, 0.5);
    }
    s->steps = 1000;
}

/* n boxes on each other. */
void boxes_stacked(scene *s, double n)
{
    const double half[3] = {0.1, 0.1, 0.1};
    add_ground(s, 0.5);
    for (int i = 0; i < (int)n; i++) {
        double place[3] = {0, 0, half[2] * (2 * i + 1)};
        add_box(s, half, place, NULL, 1, 0.5);
    }
    s->steps = 1000;
}

/* A box thrown with spin. */
void thrown_box(scene *s, double p)
{
    (void)p;
    const double half[3] = {0.05, 0.05, 0.05}, place[3] = {0, 0, 0.4},
                 v[6] = {1, 0.3, 0.5, 11, -7, 5};
    add_ground(s, 0.3);
    add_box(s, half, place, NULL, 0.4, 0.3);
    memcpy(s->v, v, sizeof v);
    s->steps = 1000;
}

/* Four storeys of leaning pairs, 4, 3, 2 and 1, with cards between them: 26. */
void cards(scene *s, double p)
{
    (void)p;
    const double length = 0.088, t = 0.001, wide = 0.063, lean = 0.35, mu = 0.6, mass = 0.0018,
                 sine = sin(lean), cosine = cos(lean), high = length * cosine + t * sine,
                 apart = 2 * (length * sine + t * cosine) + 0.5 * t;
    const double leaning[3] = {t / 2, wide / 2, length / 2},
                 lying[3] = {apart / 2 - 0.25 * t, wide / 2, t / 2};
    add_ground(s, mu);
    for (int storey = 0; storey < 4; storey++)
        for (int i = 0; i < 4 - storey; i++) {
            double top = apart * (i + 0.5 * storey), floor = storey * (high + t);
            for (int side = -1; side <= 1; side += 2) {
                double place[3] = {top + side * (length / 2 * sine + t / 2 * cosine), 0,
                                   floor + length / 2 * cosine + t / 2 * sine},
                       turn[4] = {cos(lean / 2), 0, -side * sin(lean / 2), 0};
                add_box(s, leaning, place, turn, mass, mu);
            }
            double place[3] = {top + apart / 2, 0, floor + high + t / 2};
            if (i < 3 - storey) add_box(s, lying, place, NULL, mass * lying[0] / (length / 2), mu);
        }
    s->steps = 500;
}

/* In x[0] the sum of squared overlaps as SimBenchmark takes it, in x[1] the energy at the start, in x[2] the most by which it grew. */
static void look_at_balls(scene *s, perp_bodies *b, int step)
{
    const double *q = perp_bodies_q(b), most = 2 * s->shape[1].size[0];
    double sum = 0;
    for (int i = 0; i < s->nbody; i++) {
        sum += pow(fmax(0, most / 2 - q[7 * i + 2]), 2);
        for (int j = 0; j < i; j++) {
            double far = hypot(hypot(q[7 * i] - q[7 * j], q[7 * i + 1] - q[7 * j + 1]),
                               q[7 * i + 2] - q[7 * j + 2]);
            sum += pow(fmax(0, most - far), 2);
        }
    }
    s->x[0] = fmax(s->x[0], sum);
    if (step == 1) s->x[1] = energy_of(b);
    s->x[2] = fmax(s->x[2], energy_of(b) - s->x[1]);
}

static void judge_balls(scene *s, perp_bodies *b)
{
    printf("  energy %.6g J after the first step, %.6g J at the end\n", s->x[1], energy_of(b));
    at_most(s, "the largest sum of squared overlaps [m^2]", s->x[0], 1e-10);
    if (s->shape[1].restitution == 0)
        at_most(s, "energy gained, of the first", s->x[2] / s->x[1], 1e-2);
    else
        compare(s, "energy at the end, of the first", energy_of(b) / s->x[1], 1, 0.02);
}

/* SimBenchmark's heap: 6 x 6 x 6 balls without friction, 1 cm apart, drawn by a millimetre, fall by a metre. */
void balls_666(scene *s, double restitution)
{
    const double radius = 0.1, apart = 0.21;
    unsigned long long seed = 42;
    add_ground(s, 0);
    for (int i = 0; i < 216; i++) {
        const int at[3] = {i / 36, i / 6 % 6, i % 6};
        double place[3];
        for (int k = 0; k < 3; k++)
            place[k] = apart * at[k] + 0.001 * uniform(&seed) + (k == 2 ? 1.101 : 0);
        add_ball(s, radius, place, 10, 0);
        s->shape[s->nshape - 1].restitution = restitution;
    }
    s->o.step = 0.001;
    s->steps = 1000;
    s->look = look_at_balls;
    s->judge = judge_balls;
}
