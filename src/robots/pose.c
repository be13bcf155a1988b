/* Poses, and what bodies weigh. */

#include "bodies/space.h"
#include "robots/robots.h"

#include <math.h>
#include <string.h>

const perp__pose perp__pose_none = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

void perp__pose_multiply(const perp__pose *a, const perp__pose *b, perp__pose *c)
{
    perp__pose out;
    perp__multiply3(a->R, b->R, out.R);
    perp__place3(a->R, a->p, b->p, out.p);
    *c = out;
}

void perp__pose_inverse(const perp__pose *a, perp__pose *b)
{
    perp__pose out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out.R[3 * i + j] = a->R[3 * j + i];
    perp__rotate_back3(a->R, a->p, out.p);
    for (int i = 0; i < 3; i++) out.p[i] = -out.p[i];
    *b = out;
}

void perp__pose_quaternion(const double *q, perp__pose *pose)
{
    perp__rotation_of(q, pose->R);
}

static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};

/* I + m (c'c 1 - c c') for sign 1: from about the centre to about the origin. */
static void shift(double m, const double *c, double sign, double *I)
{
    for (int k = 0; k < 6; k++)
        I[k] += sign * m * ((k < 3 ? perp__dot3(c, c) : 0) - c[row[k]] * c[column[k]]);
}

void perp__mass_add(perp__mass *sum, const perp__pose *pose, double m, const double *c,
                    const double *I)
{
    const double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    double at[3], turned[9], back[9], own[6];
    perp__place3(pose->R, pose->p, c, at);
    perp__multiply3(pose->R, full, turned);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) back[3 * i + j] = pose->R[3 * j + i];
    double inertia[9];
    perp__multiply3(turned, back, inertia);
    for (int k = 0; k < 6; k++) own[k] = inertia[3 * row[k] + column[k]];
    shift(m, at, 1, own);
    sum->m += m;
    for (int k = 0; k < 3; k++) sum->h[k] += m * at[k];
    for (int k = 0; k < 6; k++) sum->I[k] += own[k];
}

void perp__mass_take(const perp__mass *sum, perp_body *body)
{
    body->mass = sum->m;
    for (int k = 0; k < 3; k++) body->center[k] = sum->m > 0 ? sum->h[k] / sum->m : 0;
    memcpy(body->inertia, sum->I, sizeof sum->I);
    shift(sum->m, body->center, -1, body->inertia);
}

/* A cylinder of length 2 h, and what its two halves of a ball add to it for a capsule, whose
 * centres are at +-h. */
static void round_mass(double r, double h, int has_ends, double *volume, double *I)
{
    const double pi = 3.14159265358979323846;
    double side = pi * r * r * 2 * h, ball = has_ends ? 4.0 / 3 * pi * r * r * r : 0;
    *volume = side + ball;
    I[2] = side * r * r / 2 + ball * 2 / 5 * r * r;
    I[0] = I[1] =
        side * (3 * r * r + 4 * h * h) / 12 + ball * (2.0 / 5 * r * r + h * h + 3.0 / 4 * r * h);
}

/* The same of the surface alone. */
static void round_shell(double r, double h, int has_ends, double *area, double *I)
{
    const double pi = 3.14159265358979323846;
    double side = 4 * pi * r * h, ball = has_ends ? 4 * pi * r * r : 0,
           lids = has_ends ? 0 : 2 * pi * r * r;
    *area = side + ball + lids;
    I[2] = side * r * r + ball * 2 / 3 * r * r + lids / 2 * r * r;
    I[0] = I[1] = side * (r * r / 2 + h * h / 3) + ball * (2.0 / 3 * r * r + h * h + r * h) +
                  lids * (r * r / 4 + h * h);
}

/* Pairs of sides, each at its own half length. */
static void box_shell(const double *x, double *area, double *I)
{
    *area = 0;
    for (int side = 0; side < 3; side++) {
        double pair = 8 * x[(side + 1) % 3] * x[(side + 2) % 3];
        *area += pair;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                I[k] += i == k ? 0 : pair * x[i] * x[i] / (i == side ? 1 : 3);
    }
}

int perp__shell_mass(const perp_shape *s, double *area, double center[3], double inertia[6])
{
    memset(center, 0, 3 * sizeof *center);
    memset(inertia, 0, 6 * sizeof *inertia);
    switch (s->kind) {
    case PERP_SHAPE_SPHERE: round_shell(s->size[0], 0, 1, area, inertia); return 1;
    case PERP_SHAPE_CAPSULE: round_shell(s->size[0], s->size[1], 1, area, inertia); return 1;
    case PERP_SHAPE_CYLINDER: round_shell(s->size[0], s->size[1], 0, area, inertia); return 1;
    case PERP_SHAPE_BOX: box_shell(s->size, area, inertia); return 1;
    default: return 0;
    }
}

void perp__shape_mass(const perp_shape *s, double *volume, double center[3], double inertia[6])
{
    const double *x = s->size, pi = 3.14159265358979323846;
    double axes[3] = {x[0], x[1], x[2]}, of = 0;
    memset(center, 0, 3 * sizeof *center);
    memset(inertia, 0, 6 * sizeof *inertia);
    *volume = 0;
    switch (s->kind) {
    case PERP_SHAPE_MESH: perp_mesh_mass(s->mesh, volume, center, inertia); return;
    case PERP_SHAPE_CAPSULE:
    case PERP_SHAPE_CYLINDER:
        round_mass(x[0], x[1], s->kind == PERP_SHAPE_CAPSULE, volume, inertia);
        return;
    case PERP_SHAPE_SPHERE: axes[1] = axes[2] = x[0]; /* fall through */
    case PERP_SHAPE_ELLIPSOID:
        *volume = 4.0 / 3 * pi * axes[0] * axes[1] * axes[2];
        of = *volume / 5;
        break;
    case PERP_SHAPE_BOX:
        *volume = 8 * x[0] * x[1] * x[2];
        of = *volume / 3;
        break;
    default: return;
    }
    for (int k = 0; k < 3; k++) {
        double a = axes[(k + 1) % 3], b = axes[(k + 2) % 3];
        inertia[k] = of * (a * a + b * b);
    }
}

perp_status perp_body_add_solid(perp_body *body, const perp_shape *shape, double mass)
{
    double volume, center[3], I[6];
    perp__pose pose;
    perp__mass sum = {0};
    if (!body || !shape || !(mass >= 0) || !isfinite(mass) ||
        (shape->kind == PERP_SHAPE_MESH && !shape->mesh))
        return PERP_ERR_ARG;
    perp__shape_mass(shape, &volume, center, I);
    double quaternion[4], density = mass / volume;
    if (!(volume > 0) || !isfinite(density) || !perp__rotation_take(shape->rotation, quaternion))
        return PERP_ERR_ARG;
    for (int k = 0; k < 6; k++) I[k] *= density;
    perp__pose_quaternion(quaternion, &pose);
    memcpy(pose.p, shape->position, sizeof pose.p);
    perp__mass_add(&sum, &perp__pose_none, body->mass, body->center, body->inertia);
    perp__mass_add(&sum, &pose, mass, center, I);
    perp__mass_take(&sum, body);
    return PERP_OK;
}
