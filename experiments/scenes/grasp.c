/* What is held by friction alone. */

#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double HEAVY = 0.2, MU = 0.5;

static void press(scene *s, perp_bodies *b)
{
    const double tau[8] = {s->x[0], s->x[0]};
    perp_bodies_set_force(b, tau);
}

static void judge_pinched(scene *s, perp_bodies *b)
{
    const double *v = perp_bodies_v(b) + 2, weight = 9.81 * HEAVY, T = s->steps * s->o.step;
    double fall = fmin(0, 2 * MU * s->x[0] - weight) / HEAVY * T;
    compare(s, "velocity at the end [m/s]", v[2], fall, 1e-10);
    if (fall == 0) at_most(s, "creep [m]", fabs(perp_bodies_q(b)[4] - 0.5), 1e-10);
}

/* Two pads on slides press a cube, 2 mu F being a part of its weight. */
void pinched(scene *s, double of_limit)
{
    const double cube[3] = {0.03, 0.03, 0.03}, pad[3] = {0.02, 0.02, 0.02}, place[3] = {0, 0, 0.5};
    for (int side = -1; side <= 1; side += 2) {
        double at[3] = {side * 0.05, 0, 0.5};
        add_box(s, pad, at, NULL, 0.1, MU);
        s->body[s->nbody - 1].joint = PERP_JOINT_SLIDE;
        s->body[s->nbody - 1].axis[0] = -side;
    }
    add_box(s, cube, place, NULL, HEAVY, MU);
    s->x[0] = of_limit * HEAVY * 9.81 / (2 * MU);
    s->steps = of_limit < 1 ? 100 : 1000;
    s->drive = press, s->judge = judge_pinched;
}

/* Forces on body `body` (from 1) of its contacts in the last step. */
static void contact_force(const scene *s, const perp_bodies *b, int body, double force[3])
{
    const perp_contact *t;
    int n = perp_bodies_contacts(b, &t);
    force[0] = force[1] = force[2] = 0;
    for (int i = 0; i < n; i++, t++)
        for (int side = 0; side < 2; side++) {
            if (s->shape[t->shape[side]].body != body) continue;
            for (int d = 0; d < 3; d++)
                force[d] += (side ? 1 : -1) / s->o.step *
                            (t->impulse[0] * t->normal[d] + t->impulse[1] * t->tangent[0][d] +
                             t->impulse[2] * t->tangent[1][d]);
        }
}

/* The arm: from each joint to the next, the last: to the tip; they turn about z and y in turn, the last link points down. */
enum { LINKS = 7 };
static const double PRESS[3] = {15, 0, -50}, LINK[LINKS] = {0.15, 0.21, 0.21, 0.2, 0.2, 0.06, 0.1},
                    ANGLE[LINKS] = {0.2, 0.5, 0, 1.4, 0, 3.14159265358979324 - 1.9, 0.3};

/* The torques that hold the weights and push the tip with PRESS. */
static void press_table(scene *s, perp_bodies *b)
{
    double J[3 * LINKS], tau[LINKS], p[3], R[9];
    perp_bodies_set(b, ANGLE, s->v);
    perp_bodies_dynamics(b, NULL, tau);
    perp_bodies_pose(b, LINKS, p, R);
    for (int d = 0; d < 3; d++) p[d] += R[3 * d + 2] * s->x[0];
    perp_bodies_jacobian(b, LINKS, p, J);
    for (int k = 0; k < LINKS; k++)
        for (int d = 0; d < 3; d++) tau[k] += J[3 * k + d] * PRESS[d];
    perp_bodies_set_force(b, tau);
}

/* x[1]: the greatest deviation of the table's force. */
static void look_at_press(scene *s, perp_bodies *b, int step)
{
    double force[3];
    (void)step;
    contact_force(s, b, LINKS, force);
    for (int d = 0; d < 3; d++) s->x[1] = fmax(s->x[1], fabs(force[d] + PRESS[d]));
}

static void judge_press(scene *s, perp_bodies *b)
{
    double moved = 0, force[3];
    contact_force(s, b, LINKS, force);
    for (int k = 0; k < LINKS; k++) moved = fmax(moved, fabs(perp_bodies_q(b)[k] - ANGLE[k]));
    compare(s, "force of the table, up [N]", force[2], 50, 1e-6);
    compare(s, "sideways [N]", hypot(force[0], force[1]), 15, 1e-6);
    at_most(s, "off at any step by [N]", s->x[1], 1e-6);
    at_most(s, "joints turned by [rad]", moved, 1e-9);
}

/* An arm of seven joints presses a table (mu 0.5) with 50 N and 15 N sideways, by a ball or by the face of a box. */
void pressing_arm(scene *s, double is_flat)
{
    const double height = LINK[0] + (LINK[1] + LINK[2]) * cos(ANGLE[1]) +
                          (LINK[3] + LINK[4]) * cos(ANGLE[1] + ANGLE[3]) - LINK[5] - LINK[6],
                 thick = 0.02;
    add_ground(s, 0.5);
    s->shape[0].position[2] = height - thick;
    for (int i = 0; i < LINKS; i++) {
        double m = 4 - 0.5 * i, l = LINK[i], J = m * (l * l / 12 + 1e-3);
        s->body[s->nbody++] = (perp_body){.parent = i,
                                          .joint = PERP_JOINT_HINGE,
                                          .axis = {0, i % 2, 1 - i % 2},
                                          .position = {0, 0, i ? LINK[i - 1] : 0},
                                          .mass = m,
                                          .center = {0, 0, l / 2},
                                          .inertia = {J, J, m * 2e-3},
                                          .damping = 1};
    }
    s->shape[s->nshape++] =
        (perp_shape){.body = LINKS,
                     .kind = is_flat ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE,
                     .size = {is_flat ? 0.03 : thick, is_flat ? 0.03 : 0, is_flat ? thick : 0},
                     .position = {0, 0, LINK[LINKS - 1]},
                     .mu = 0.5};
    s->x[0] = LINK[LINKS - 1] + thick;
    s->steps = 2000;
    s->drive = press_table, s->look = look_at_press, s->judge = judge_press;
}

/* Two rows of sixteen: boxes, and plates on three knobs, whose forces are unique. */
enum { WAYS = 16 };
static const double WAY = 2 * 3.14159265358979324 / WAYS, PUSHED = 2;

static void push_sixteen(scene *s, perp_bodies *b)
{
    static double tau[6 * 2 * WAYS];
    for (int i = 0; i < 2 * WAYS; i++) {
        const double force = s->x[0] * MU * PUSHED * 9.81;
        tau[6 * i] = force * cos(WAY * i), tau[6 * i + 1] = force * sin(WAY * i);
    }
    perp_bodies_set_force(b, tau);
}

/* A vector of the i-th, turned back. */
static void turn_back(int i, const double *x, double *y)
{
    const double c = cos(WAY * i), z = sin(WAY * i);
    y[0] = c * x[0] + z * x[1], y[1] = c * x[1] - z * x[0], y[2] = x[2];
}

static void judge_sixteen(scene *s, perp_bodies *b)
{
    double speeds = 0, turns = 0, forces = 0, first[6] = {0}, mine[6], force[3];
    for (int i = 0; i < 2 * WAYS; i++) {
        const double *v = perp_bodies_v(b) + 6 * i;
        contact_force(s, b, i + 1, force);
        turn_back(i, v, mine), turn_back(i, force, mine + 3);
        if (i % WAYS == 0) memcpy(first, mine, sizeof first);
        for (int d = 0; d < 3; d++) {
            speeds = fmax(speeds, fabs(mine[d] - first[d]));
            forces = fmax(forces, fabs(mine[3 + d] - first[3 + d]));
            turns = fmax(turns, fabs(v[3 + d] - perp_bodies_v(b)[6 * (i / WAYS * WAYS) + 3 + d]));
        }
    }
    printf("  of a tripod: friction %.9g N, speed %.9g m/s, turning at %.9g rad/s\n",
           hypot(first[3], first[4]), hypot(first[0], first[1]),
           perp_bodies_v(b)[6 * (2 * WAYS - 1) + 5]);
    at_most(s, "friction differs by [N]", forces, 1e-6);
    at_most(s, "velocities differ by [m/s]", speeds, 1e-6);
    at_most(s, "turning differs by [rad/s]", turns, 1e-6);
}

/* Sixteen boxes and sixteen tripods, each turned by 22.5 degrees more, pushed along their own side by a part of what friction holds; the tripods turn
 * where they slide. */
void sixteen_ways(scene *s, double of_cone)
{
    const double half[3] = {0.1, 0.1, 0.05},
                 knob[3][3] = {{0.1, 0.02, -0.04}, {-0.05, 0.08, -0.04}, {-0.06, -0.07, -0.04}};
    add_ground(s, MU);
    for (int i = 0; i < 2 * WAYS; i++) {
        const double place[3] = {5 * (i % WAYS), i < WAYS ? 0 : 20, half[2]},
                     turn[4] = {cos(WAY * i / 2), 0, 0, sin(WAY * i / 2)};
        add_box(s, half, place, turn, PUSHED, MU);
        if (i < WAYS) continue;
        s->nshape--; /* knobs in its place */
        for (int k = 0; k < 3; k++) add_knob(s, 0.01, knob[k], MU, 0);
        if (of_cone > 1) s->v[6 * i + 5] = 3;
    }
    s->x[0] = of_cone;
    s->steps = of_cone > 1 ? 50 : 500;
    s->drive = push_sixteen, s->judge = judge_sixteen;
}
