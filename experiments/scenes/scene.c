#include "scene.h"
#include "support/verdicts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void add_ground(scene *s, double mu)
{
    s->shape[s->nshape++] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = mu};
}

void add_wall(scene *s, const double *place, double turn, double mu)
{
    const double a[4] = {cos(turn / 2), 0, 0, sin(turn / 2)},
                 c = sqrt(0.5); /* about z, after z to x */
    perp_shape *wall = &s->shape[s->nshape++];
    *wall = (perp_shape){
        .kind = PERP_SHAPE_PLANE, .mu = mu, .rotation = {a[0] * c, -a[3] * c, a[0] * c, a[3] * c}};
    memcpy(wall->position, place, sizeof wall->position);
}

static perp_shape *add_body(scene *s, perp_shape_kind kind, const double *size, const double *place,
                            const double *rotation, perp_body is)
{
    perp_body *b = &s->body[s->nbody++];
    perp_shape *shape = &s->shape[s->nshape++];
    *b = is;
    *shape = (perp_shape){.body = s->nbody, .kind = kind};
    memcpy(shape->size, size, sizeof shape->size);
    memcpy(b->position, place, sizeof b->position);
    if (rotation) memcpy(b->rotation, rotation, sizeof b->rotation);
    return shape;
}

void add_box(scene *s, const double *half, const double *place, const double *rotation, double mass,
             double mu)
{
    const double x = half[0] * half[0], y = half[1] * half[1], z = half[2] * half[2];
    add_body(s, PERP_SHAPE_BOX, half, place, rotation,
             (perp_body){.joint = PERP_JOINT_FREE,
                         .mass = mass,
                         .inertia = {mass * (y + z) / 3, mass * (x + z) / 3, mass * (x + y) / 3}})
        ->mu = mu;
}

void add_ball(scene *s, double radius, const double *place, double mass, double mu)
{
    const double size[3] = {radius}, J = 0.4 * mass * radius * radius;
    add_body(s, PERP_SHAPE_SPHERE, size, place, NULL,
             (perp_body){.joint = PERP_JOINT_FREE, .mass = mass, .inertia = {J, J, J}})
        ->mu = mu;
}

void add_knob(scene *s, double radius, const double *place, double mu, double restitution)
{
    perp_shape *shape = &s->shape[s->nshape++];
    *shape = (perp_shape){.body = s->nbody,
                          .kind = PERP_SHAPE_SPHERE,
                          .size = {radius},
                          .mu = mu,
                          .restitution = restitution};
    memcpy(shape->position, place, sizeof shape->position);
}

double body_speed(const perp_bodies *b, int body)
{
    const double *v = perp_bodies_v(b) + 6 * body;
    return hypot(hypot(v[0], v[1]), v[2]);
}

double energy_of(perp_bodies *b)
{
    double kinetic, potential;
    perp_bodies_energy(b, &kinetic, &potential);
    return kinetic + potential;
}

static void claim(const scene *s, const char *what, const char *is, double than, int holds)
{
    char text[300];
    snprintf(text, sizeof text, "%s: %s %s %.10g", s->name, what, is, than);
    verdict(text, holds);
}

void compare(const scene *s, const char *what, double value, double expected, double tolerance)
{
    printf("  %s %.10g, expected %.10g: off by %.1e, allowed %.1e\n", what, value, expected,
           value - expected, tolerance);
    claim(s, what, "is", expected, fabs(value - expected) <= tolerance);
}

void at_most(const scene *s, const char *what, double value, double most)
{
    printf("  %s %.3e\n", what, value);
    claim(s, what, "is at most", most, value <= most);
}

void at_least(const scene *s, const char *what, double value, double least)
{
    printf("  %s %.3e\n", what, value);
    claim(s, what, "is at least", least, value >= least);
}
