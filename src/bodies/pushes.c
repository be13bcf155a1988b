/* Forces on bodies that a step takes from its beginning, with the midpoint rule halfway:
 * thrusters, weight compensation, drag of a fluid. */

#include "bodies/bodies.h"
#include "bodies/space.h"
#include "linalg/symmetric.h"

#include <math.h>
#include <string.h>

/* The box of even density that has a body's mass and inertia: its axes in the body, its sides. */
struct perp__box_of {
    double R[9], side[3];
};

static void find_box(const perp_body *is, perp__box_of *box)
{
    const double *I = is->inertia;
    double A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, value[3], V[9];
    perp__symmetric_eigen(3, A, value, V);
    for (int k = 0; k < 3; k++) { /* V is column-major */
        double square = value[(k + 1) % 3] + value[(k + 2) % 3] - value[k];
        for (int i = 0; i < 3; i++) box->R[3 * i + k] = V[3 * k + i];
        box->side[k] = is->mass > 0 ? sqrt(6 * fmax(square, 0) / is->mass) : 0;
    }
}

int perp__pushes_create(perp_bodies *b)
{
    int is_fluid = b->scene->o.density > 0 || b->scene->o.viscosity > 0;
    b->is_pushed = is_fluid;
    PERP_TAKE(&b->arena, b->outside, 6 * b->scene->n);
    if (is_fluid) PERP_TAKE(&b->arena, b->box, b->scene->n);
    if (!b->outside || (is_fluid && !b->box)) return 0;
    for (int i = 1; i < b->scene->n; i++) perp__pushes_weigh(b, i);
    for (int i = 0; i < b->joints->nu; i++)
        if (b->joints->actuator[i].is_thruster) b->is_pushed = 1;
    return 1;
}

void perp__pushes_weigh(perp_bodies *b, int i)
{
    if (b->box) find_box(&b->link[i].is, &b->box[i]);
    if (b->link[i].is.gravity_compensation != 0) b->is_pushed = 1;
}

/* A force at a point of the body's frame, and a moment, along the world's axes. */
static void add(perp_bodies *b, int body, const double *point, const double *force,
                const double *turn)
{
    double from[3], moment[3], *outside = b->outside + 6 * body;
    perp__rotate3(b->link[body].R, point, from);
    perp__cross3(from, force, moment);
    perp__move3(outside, 1, moment, outside);
    perp__move3(outside, 1, turn, outside);
    perp__move3(outside + 3, 1, force, outside + 3);
}

static void add_thrust(perp_bodies *b, int i)
{
    const perp_actuator *a = &b->joints->actuator[i];
    double size = perp__push_force(b, i), force[3], turn[3];
    perp__rotate3(b->link[a->body].R, a->force, force);
    perp__rotate3(b->link[a->body].R, a->moment, turn);
    for (int k = 0; k < 3; k++) {
        force[k] *= size;
        turn[k] *= size;
    }
    add(b, a->body, a->point, force, turn);
}

/* Drag of the box by its speed w, u along its axes, about and at the centre of mass: that of Stokes
 * for a ball of its mean side, and of its faces by the square of their speeds (MuJoCo, Computation,
 * passive forces: inertia model). */
static void drag(const perp_bodies *b, const double *side, const double *w, const double *u,
                 double *turn, double *force)
{
    const double pi = 3.14159265358979323846, density = b->scene->o.density,
                 d = (side[0] + side[1] + side[2]) / 3;
    for (int k = 0; k < 3; k++) {
        double x = side[k], y = side[(k + 1) % 3], z = side[(k + 2) % 3];
        turn[k] = -pi * d * d * d * b->scene->o.viscosity * w[k] -
                  density * x * (y * y * y * y + z * z * z * z) / 64 * fabs(w[k]) * w[k];
        force[k] =
            -3 * pi * d * b->scene->o.viscosity * u[k] - 0.5 * density * y * z * fabs(u[k]) * u[k];
    }
}

static void add_drag(perp_bodies *b, int i)
{
    const perp__link *l = &b->link[i];
    const perp__box_of *box = &b->box[i];
    double u[3], wind[3], w_box[3], u_box[3], turn[3], force[3], along[3], world[2][3];
    perp__cross3(l->vel, l->is.center, u);
    perp__move3(u, 1, l->vel + 3, u);
    perp__rotate_back3(l->R, b->scene->o.wind, wind);
    perp__move3(u, -1, wind, u);
    perp__rotate_back3(box->R, l->vel, w_box);
    perp__rotate_back3(box->R, u, u_box);
    drag(b, box->side, w_box, u_box, turn, force);
    perp__rotate3(box->R, force, along);
    perp__rotate3(l->R, along, world[0]);
    perp__rotate3(box->R, turn, along);
    perp__rotate3(l->R, along, world[1]);
    add(b, i, l->is.center, world[0], world[1]);
}

const double *perp__pushes(perp_bodies *b)
{
    const double none[3] = {0, 0, 0};
    if (!b->is_pushed) return NULL;
    memset(b->outside, 0, 6 * (size_t)b->scene->n * sizeof *b->outside);
    for (int i = 1; i < b->scene->n; i++) {
        const perp_body *is = &b->link[i].is;
        double force[3];
        for (int k = 0; k < 3; k++) force[k] = -is->gravity_compensation * is->mass * b->gravity[k];
        if (is->gravity_compensation != 0) add(b, i, is->center, force, none);
        if (b->box && is->mass > 0) add_drag(b, i);
    }
    for (int i = 0; i < b->joints->nu; i++)
        if (b->joints->actuator[i].is_thruster) add_thrust(b, i);
    return b->outside;
}

void perp__pushes_load(const perp_bodies *b)
{
    size_t n = 6 * (size_t)b->scene->n * sizeof *b->load;
    if (b->is_pushed)
        memcpy(b->load, b->outside, n);
    else
        memset(b->load, 0, n);
}

void perp__pushes_size(const perp_bodies *b, double (*size)[2])
{
    for (int i = 1; i < b->scene->n && b->is_pushed; i++)
        for (int half = 0; half < 2; half++)
            size[i][half] += perp__length3(b->outside + 6 * i + 3 * half);
}
