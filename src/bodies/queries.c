/* Quantities of a state: velocities of points, the centre of mass, momentum, accelerations without
 * contacts, and the contacts of the last step in world axes. No query changes what follows. */

#include "bodies/bodies.h"
#include "bodies/motions.h"
#include "bodies/space.h"

#include <float.h>
#include <string.h>

const double *perp_bodies_force(const perp_bodies *b)
{
    return b->tau;
}

const double *perp_bodies_control(const perp_bodies *b)
{
    return b->joints->control;
}

/* Points --------------------------------------------------------------------------------------- */

static int is_body(const perp_bodies *b, int body)
{
    return b && body >= 0 && body < b->scene->n;
}

/* Velocities of a body's point, which is given in the world, and of the body; world axes. The
 * bodies' velocities are those of perp__bodies_velocities. */
static void velocity_of(const perp__link *l, const double *point, double *linear, double *angular)
{
    double from[3], across[3];
    perp__rotate3(l->R, l->end, angular);
    perp__rotate3(l->R, l->end + 3, linear);
    perp__move3(point, -1, l->p, from);
    perp__cross3(angular, from, across);
    perp__move3(linear, 1, across, linear);
}

perp_status perp_bodies_velocity(perp_bodies *b, int body, const double point[3], double linear[3],
                                 double angular[3])
{
    double at[3], w[3], u[3];
    if (!is_body(b, body)) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    perp__bodies_velocities(b, b->v);
    memcpy(at, point ? point : b->link[body].p, sizeof at);
    velocity_of(&b->link[body], at, u, w);
    if (linear) memcpy(linear, u, sizeof u);
    if (angular) memcpy(angular, w, sizeof w);
    return PERP_OK;
}

perp_status perp_bodies_quaternion(perp_bodies *b, int body, double quaternion[4])
{
    if (!is_body(b, body) || !quaternion) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    perp__quaternion_of_rotation(b->link[body].R, quaternion);
    return PERP_OK;
}

perp_status perp_bodies_rotation_jacobian(perp_bodies *b, int body, double *J)
{
    if (!is_body(b, body) || !J) return PERP_ERR_ARG;
    memset(J, 0, 3 * (size_t)b->scene->nv * sizeof *J);
    perp__bodies_place(b, b->q);
    for (int i = body; i; i = b->link[i].is.parent) {
        const perp__link *l = &b->link[i];
        for (int k = 0; k < l->nv; k++)
            if (!l->is_shift[k]) memcpy(J + 3 * (l->v + k), l->world[k], 3 * sizeof *J);
    }
    return PERP_OK;
}

/* Sums over bodies ----------------------------------------------------------------------------- */

/* Total mass; the centre of mass in the world, NaN without mass. */
static double find_center(const perp_bodies *b, double *center)
{
    double mass = 0, moment[3] = {0}, at[3];
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *l = &b->link[i];
        mass += l->own.m;
        perp__rotate3(l->R, l->own.h, at);
        for (int k = 0; k < 3; k++) moment[k] += l->own.m * l->p[k] + at[k];
    }
    for (int k = 0; k < 3; k++) center[k] = moment[k] / mass;
    return mass;
}

/* What body i adds to the Jacobian of the centre of mass, by all velocities on the way to it. */
static void add_center(const perp_bodies *b, int i, double mass, double *J)
{
    double at[3], move[3];
    perp__place3(b->link[i].R, b->link[i].p, b->link[i].is.center, at);
    for (int up = i; up; up = b->link[up].is.parent) {
        const perp__link *l = &b->link[up];
        for (int k = 0; k < l->nv; k++) {
            perp__point_motion(l, k, at, move);
            perp__move3(J + 3 * (l->v + k), b->link[i].own.m / mass, move, J + 3 * (l->v + k));
        }
    }
}

perp_status perp_bodies_mass_center(perp_bodies *b, double *mass, double center[3], double *J)
{
    double at[3];
    if (!b) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    double total = find_center(b, at);
    if (mass) *mass = total;
    if (center) memcpy(center, at, sizeof at);
    if (!J) return PERP_OK;
    memset(J, 0, 3 * (size_t)b->scene->nv * sizeof *J);
    for (int i = 1; i < b->scene->n; i++)
        if (b->link[i].own.m > 0) add_center(b, i, total, J);
    return PERP_OK;
}

perp_status perp_bodies_momentum(perp_bodies *b, double linear[3], double angular[3])
{
    double p[3] = {0}, l[3] = {0}, center[3], across[3];
    if (!b) return PERP_ERR_ARG;
    perp__bodies_place(b, b->q);
    perp__bodies_velocities(b, b->v);
    for (int i = 1; i < b->scene->n; i++) {
        const perp__link *of = &b->link[i];
        double own[6], moment[3], force[3];
        apply(&of->own, of->end, own);
        perp__rotate3(of->R, own, moment);
        perp__rotate3(of->R, own + 3, force);
        perp__cross3(of->p, force, across);
        for (int k = 0; k < 3; k++) p[k] += force[k];
        for (int k = 0; k < 3; k++) l[k] += moment[k] + across[k];
    }
    if (find_center(b, center) > 0) {
        perp__cross3(center, p, across);
        perp__move3(l, -1, across, l);
    }
    if (linear) memcpy(linear, p, sizeof p);
    if (angular) memcpy(angular, l, sizeof l);
    return PERP_OK;
}

/* Forward dynamics ----------------------------------------------------------------------------- */

/* Dry friction holds no joint here. A pivot within the rounding of its diagonal entry says that M is
 * singular. */
perp_status perp_bodies_forward(perp_bodies *b, const double *tau, double *a)
{
    if (!b || !tau || !a) return PERP_ERR_ARG;
    const int *up = b->scene->parent_of;
    int nv = b->scene->nv;
    double *M = b->again, *D = b->row, *work = b->q + b->scene->nq; /* room for another q */
    perp__bodies_place(b, b->q);
    perp__bodies_carry(b, b->v);
    perp__bodies_mass(b, M);
    for (int k = 0; k < nv; k++) {
        work[k] = M[perp__mass_entry(b, k, k)];
        D[k] = 0;
    }
    if (!perp__tree_factor(b->scene, up, M, D)) return PERP_ERR_NO_SOLUTION;
    for (int k = 0; k < nv; k++)
        if (!(D[k] > nv * DBL_EPSILON * work[k])) return PERP_ERR_NO_SOLUTION;
    perp__bodies_inverse(b, NULL, NULL, work);
    for (int k = 0; k < nv; k++) a[k] = tau[k] - work[k];
    perp__tree_solve(b->scene, up, M, D, a);
    return PERP_OK;
}

/* Contacts ------------------------------------------------------------------------------------- */

/* The velocity of the second body relative to the first at the point, without its normal part. */
static void find_slip(const perp_bodies *b, const perp_contact *t, const int *body, double *slip)
{
    double u[2][3], w[3];
    for (int side = 0; side < 2; side++) velocity_of(&b->link[body[side]], t->point, u[side], w);
    perp__move3(u[1], -1, u[0], u[1]);
    perp__move3(u[1], -perp__dot3(u[1], t->normal), t->normal, slip);
}

static void fill_point(const perp_bodies *b, const perp_contact *t, perp_contact_point *out)
{
    double per_time = 1 / b->scene->o.step;
    *out = (perp_contact_point){.gap = t->gap, .mu = t->mu};
    memcpy(out->point, t->point, sizeof out->point);
    memcpy(out->normal, t->normal, sizeof out->normal);
    for (int side = 0; side < 2; side++) {
        out->shape[side] = t->shape[side];
        out->body[side] = b->scene->shape[t->shape[side]].body;
    }
    for (int k = 0; k < 3; k++) {
        out->force[k] =
            per_time * (t->impulse[0] * t->normal[k] + t->impulse[1] * t->tangent[0][k] +
                        t->impulse[2] * t->tangent[1][k]);
        out->torque[k] = per_time * (t->moment[0] * t->normal[k] + t->moment[1] * t->tangent[0][k] +
                                     t->moment[2] * t->tangent[1][k]);
    }
    find_slip(b, t, out->body, out->slip);
}

int perp_bodies_contact_points(perp_bodies *b, perp_contact_point *point, int most)
{
    const perp_contact *touch;
    if (!b) return 0;
    int n = perp_bodies_contacts(b, &touch);
    if (!point || n == 0) return n;
    size_t nq = (size_t)b->scene->nq;
    double *q = b->q + nq;              /* room for another q */
    memcpy(q, b->last, nq * sizeof *q); /* the laws hold where the forces of the step acted */
    if (perp__is_midpoint(b)) perp__bodies_move(b, b->last + nq, 0.5 * b->scene->o.step, q);
    perp__bodies_place(b, q);
    perp__bodies_velocities(b, b->v);
    for (int i = 0; i < n && i < most; i++) fill_point(b, &touch[i], &point[i]);
    return n;
}
