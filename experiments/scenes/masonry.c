/* Stones, books and a ladder on each other: what stands, and what just does not. */

#include "scene.h"
#include "support/verdicts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979324;

/* A half circle of n wedges, `thickness` of the middle radius 1. */
static void arch_of(scene *s, int n, double thickness)
{
    const double inner = 1 - thickness / 2, outer = 1 + thickness / 2, deep = 0.15, density = 2000;
    add_ground(s, 0.7);
    for (int i = 0; i < n; i++) {
        double x[24], mass, center[3];
        for (int k = 0; k < 8; k++) {
            double angle = PI * (i + (k & 1)) / n, r = k & 2 ? outer : inner;
            x[3 * k] = r * cos(angle), x[3 * k + 1] = k & 4 ? deep : -deep;
            x[3 * k + 2] = i + (k & 1) == n ? 0 : r * sin(angle);
        }
        perp_mesh **mesh = &s->mesh[s->nmesh++];
        if (perp_mesh_hull(x, 8, mesh, NULL) != PERP_OK) exit(2);
        perp_mesh_mass(*mesh, &mass, center, NULL);
        for (int k = 0; k < 8; k++) /* about its centre */
            for (int c = 0; c < 3; c++) x[3 * k + c] -= center[c];
        perp_mesh_destroy(*mesh);
        if (perp_mesh_hull(x, 8, mesh, NULL) != PERP_OK) exit(2);
        perp_body *b = &s->body[s->nbody++];
        *b = (perp_body){.joint = PERP_JOINT_FREE};
        perp_mesh_mass(*mesh, &b->mass, b->center, b->inertia);
        b->mass *= density;
        for (int c = 0; c < 6; c++) b->inertia[c] *= density;
        memcpy(b->position, center, sizeof center);
        s->shape[s->nshape++] =
            (perp_shape){.body = s->nbody, .kind = PERP_SHAPE_MESH, .mesh = *mesh, .mu = 0.7};
    }
    s->steps = 500;
}

void arch(scene *s, double stones)
{
    arch_of(s, (int)stones, 0.2);
}

/* By how much the line of thrust of an arch of n stones (odd) can stay within its joints at best, of its thickness; H: the thrust. Its part between the
 * crown and a joint at the angle a from it: r (H cos a + W sin a) = K + W x, W and x its weight and centre, K the moment of H, r where the
 * thrust crosses the joint: an interval of K for each joint (Heyman 1966: stones are rigid and do not slide). */
static double room_for_thrust(int n, double t, double H)
{
    const double ri = 1 - t / 2, ro = 1 + t / 2, d = PI / n, yi = ri * cos(d / 2),
                 yo = ro * cos(d / 2), tangent = tan(d / 2),
                 area = 0.5 * (ro * ro - ri * ri) * sin(d),
                 middle =
                     2.0 / 3 * (ro * ro * ro - ri * ri * ri) / (ro * ro - ri * ri) * cos(d / 2);
    double W = 0.5 * tangent * (yo * yo - yi * yi),
           Wx = tangent * tangent / 6 * (yo * yo * yo - yi * yi * yi), low = -INFINITY,
           high = INFINITY;
    for (int j = 0; j <= n / 2; j++) {
        double a = d * (j + 0.5), push = H * cos(a) + W * sin(a);
        low = fmax(low, ri * push - Wx), high = fmin(high, ro * push - Wx);
        W += area, Wx += area * middle * sin(d * (j + 1));
    }
    return high - low;
}

static int can_stand(int n, double t)
{
    double a = 0, b = 10 * t;
    for (int k = 0; k < 200; k++) { /* the room is concave in H */
        double c = a + (b - a) / 3, e = b - (b - a) / 3;
        if (room_for_thrust(n, t, c) < room_for_thrust(n, t, e))
            a = c;
        else
            b = e;
    }
    return room_for_thrust(n, t, 0.5 * (a + b)) >= 0;
}

static double least_thickness(int n)
{
    double low = 0.05, high = 0.2;
    while (high - low > 1e-12) {
        double t = 0.5 * (low + high);
        if (can_stand(n, t))
            high = t;
        else
            low = t;
    }
    return high;
}

static void judge_least(scene *s, perp_bodies *b)
{
    (void)b;
    printf("  thickness %.6f of %.6f, the least of 25 stones\n", s->x[0], s->x[1]);
    compare(s, "the least thickness of many stones, of the radius", least_thickness(4001), 0.1075,
            5e-5);
}

/* 25 stones at a part of the least thickness: that of the line of thrust of as many, of many stones Milankovitch's 0.1075 (1907). */
void thin_arch(scene *s, double of_least)
{
    s->x[1] = least_thickness(25);
    s->x[0] = s->x[1] * of_least;
    arch_of(s, 25, s->x[0]);
    s->judge = judge_least;
}

/* Ten books at a part of the harmonic overhang: book k from the top lies L/(2k) over the one below it, the lowest over the table's edge. */
void overhang(scene *s, double of_limit)
{
    enum { N = 10 };
    const double half[3] = {0.1, 0.07, 0.01}, table[3] = {1, 1, 0.1};
    double edge = 0;
    s->shape[s->nshape] =
        (perp_shape){.kind = PERP_SHAPE_BOX, .mu = 0.5, .position = {-table[0], 0, -table[2]}};
    memcpy(s->shape[s->nshape++].size, table, sizeof table);
    for (int k = N; k > 0; k--) {
        edge += of_limit * half[0] / k;
        double place[3] = {edge - half[0], 0, half[2] * (2 * (N - k) + 1)};
        add_box(s, half, place, NULL, 1, 0.5);
    }
    s->steps = 500;
}

/* A ladder with round feet on a floor and at a wall, at a part of its least angle: both ends about to slip, moments about the foot on the floor give
 * mu (r + L sin a) + mu mu_w (r + L cos a) = (1 + mu mu_w) L/2 cos a. */
void ladder(scene *s, double of_limit)
{
    const double mu = 0.4, wall = 0.3, L = 3, r = 0.02, mass = 10, J = mass * L * L / 12, A = mu,
                 B = (1 - mu * wall) / 2, C = mu * r * (1 + wall) / L,
                 angle = of_limit * (atan2(B, A) - asin(C / hypot(A, B))), lean = PI / 2 - angle;
    const double origin[3] = {0};
    add_ground(s, mu);
    add_wall(s, origin, 0, wall);
    s->body[s->nbody++] =
        (perp_body){.joint = PERP_JOINT_FREE,
                    .position = {r + L / 2 * cos(angle), 0, r + L / 2 * sin(angle)},
                    .rotation = {cos(lean / 2), 0, -sin(lean / 2), 0},
                    .mass = mass,
                    .inertia = {J, J, mass * 0.02}};
    for (int k = 0; k < 4; k++) {
        double place[3] = {0, k & 1 ? 0.2 : -0.2, k & 2 ? L / 2 : -L / 2};
        add_knob(s, r, place, 0, 0);
    }
    s->steps = 500;
}
