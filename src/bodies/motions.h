/* Motions and forces, vectors of six (angular, linear), and how frames, inertias and products
 * change them (Featherstone 2008, 2.9). */

#ifndef PERP_SRC_MOTIONS_H
#define PERP_SRC_MOTIONS_H

#include "bodies/bodies.h"
#include "bodies/space.h"

/* From the parent's frame to the body's: of a motion. */
static inline void motion_down(const perp__link *l, const double *m, double *out)
{
    double at[3];
    perp__cross3(m, l->r, at);
    for (int i = 0; i < 3; i++) at[i] += m[3 + i];
    perp__rotate_back3(l->E, m, out);
    perp__rotate_back3(l->E, at, out + 3);
}

/* From the body's frame to the parent's: a force, added. */
static inline void force_up(const perp__link *l, const double *f, double *out)
{
    double n[3], g[3], moment[3];
    perp__rotate3(l->E, f, n);
    perp__rotate3(l->E, f + 3, g);
    perp__cross3(l->r, g, moment);
    for (int i = 0; i < 3; i++) {
        out[i] += n[i] + moment[i];
        out[3 + i] += g[i];
    }
}

/* The joint's motion, by its velocities in v, added. */
static inline void add_joint(const perp__link *l, const double *v, double *motion)
{
    for (int k = 0; k < l->nv; k++)
        for (int i = 0; i < 3; i++) motion[3 * l->is_shift[k] + i] += l->unit[k][i] * v[l->v + k];
}

/* The power of a force per unit of the joint's kth velocity. */
static inline double along(const perp__link *l, int k, const double *f)
{
    return perp__dot3(l->unit[k], f + 3 * l->is_shift[k]);
}

static inline void apply(const perp__inertia *in, const double *m, double *f)
{
    const double *I = in->I, *h = in->h;
    double a[3], b[3];
    perp__cross3(h, m + 3, a);
    perp__cross3(m, h, b);
    f[0] = I[0] * m[0] + I[3] * m[1] + I[4] * m[2] + a[0];
    f[1] = I[3] * m[0] + I[1] * m[1] + I[5] * m[2] + a[1];
    f[2] = I[4] * m[0] + I[5] * m[1] + I[2] * m[2] + a[2];
    for (int i = 0; i < 3; i++) f[3 + i] = in->m * m[3 + i] + b[i];
}

/* c += a x b of motions. */
static inline void add_cross_motion(const double *a, const double *b, double *c)
{
    double angular[3], linear[3], moved[3];
    perp__cross3(a, b, angular);
    perp__cross3(a, b + 3, linear);
    perp__cross3(a + 3, b, moved);
    for (int i = 0; i < 3; i++) {
        c[i] += angular[i];
        c[3 + i] += linear[i];
        c[3 + i] += moved[i];
    }
}

/* c += a x* f of a motion and a force. */
static inline void add_cross_force(const double *a, const double *f, double *c)
{
    double moment[3], force[3], arm[3];
    perp__cross3(a, f, moment);
    perp__cross3(a + 3, f + 3, arm);
    perp__cross3(a, f + 3, force);
    for (int i = 0; i < 3; i++) {
        c[i] += moment[i] + arm[i];
        c[3 + i] += force[i];
    }
}

#endif
