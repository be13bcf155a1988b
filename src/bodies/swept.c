/* The verdict on the motion of a step, by code of its own: positions are those that the velocities lead to, but for the correction of a
 * penetration. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <math.h>
#include <string.h>

/* A body's pose in the world. */
typedef struct pose {
    double R[9], p[3];
} pose;

/* The rotation of a ball or a free body after the angle |turn| about `turn`, its own axes; of the midpoint rule Cayley's angle. */
static void rotation_after(const double *q, const double *w, double t, int is_midpoint, double *R)
{
    double turn[3], by[4], to[4], speed = perp__length3(w);
    double angle = is_midpoint ? 2 * atan(0.5 * t * speed) : t * speed;
    for (int k = 0; k < 3; k++) turn[k] = speed > 0 ? angle * w[k] / speed : 0;
    perp__quaternion_of(turn, by);
    perp__quaternion_multiply(q, by, to);
    perp__rotation_of(to, R);
}

/* A body's pose a time t after the positions q at the joint velocities v; NULL: at q. */
static void pose_after(const perp_bodies *b, int body, const double *q, const double *v, double t,
                       pose *out)
{
    static const double none[6] = {0};
    const perp__link *l = &b->link[body];
    const double *w = v ? v + l->v : none;
    double R[9], E[9], r[3], along[3];
    pose parent;
    if (!body) {
        *out = (pose){.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
        return;
    }
    q += l->q;
    memcpy(r, l->is.position, sizeof r);
    memcpy(E, l->offset, sizeof E);
    if (l->is.joint == PERP_JOINT_HINGE) {
        double turn[4];
        perp__quaternion_about(l->is.axis, q[0] + t * w[0], turn);
        perp__rotation_of(turn, R);
        perp__multiply3(l->offset, R, E);
    } else if (l->is.joint == PERP_JOINT_SLIDE) {
        perp__rotate3(l->offset, l->is.axis, along);
        perp__move3(r, q[0] + t * w[0], along, r);
    } else if (l->is.joint == PERP_JOINT_BALL) {
        rotation_after(q, w, t, perp__is_midpoint(b), R);
        perp__multiply3(l->offset, R, E);
    } else if (l->is.joint == PERP_JOINT_FREE) {
        perp__move3(q, t, w, r);
        rotation_after(q + 3, w + 3, t, perp__is_midpoint(b), E);
    }
    pose_after(b, l->is.parent, q - l->q, v, t, &parent);
    perp__multiply3(parent.R, E, out->R);
    perp__place3(parent.R, parent.p, r, out->p);
}

/* The largest way of a point of a shape between two poses of its body. */
static double way_between(const perp__form *form, const pose *x, const pose *y)
{
    double shift[3], turn = 0;
    perp__move3(y->p, -1, x->p, shift);
    for (int k = 0; k < 9; k++) turn += (y->R[k] - x->R[k]) * (y->R[k] - x->R[k]);
    return perp__length3(shift) + sqrt(0.5 * turn) * (form->far + form->extent);
}

int perp__correction_is_small(const perp_bodies *b, double h, double penetration)
{
    const double ROUNDING = 1e-12; /* of the numbers that a pose is made of */
    const double *v = perp__is_midpoint(b) ? b->mean : b->v;
    int body = 0;
    pose from, to;
    for (int i = 0; i < b->nshape; i++) {
        const perp__form *form = &b->form[i];
        if (!b->shape[i].body) continue;
        if (b->shape[i].body != body) {
            body = b->shape[i].body;
            pose_after(b, body, b->last, v, h, &from);
            pose_after(b, body, b->q, NULL, 0, &to);
        }
        double size = perp__length3(to.p) + perp__length3(from.p) + form->far + form->extent;
        if (way_between(form, &from, &to) > PERP__LEVER * penetration + ROUNDING * size) return 0;
    }
    return 1;
}
