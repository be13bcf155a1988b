/* Creep: speeds along the surfaces at contacts whose force is well inside its cone. */

#ifndef PERP_BENCH_SLIP_H
#define PERP_BENCH_SLIP_H

#include "perp/bodies.h"

#include <math.h>

/* Speed along the surfaces at a contact, of the bodies' points there. J: 3 nv of scratch. */
static inline double slip(perp_bodies *b, const perp_shape *shape, const perp_contact *t, double *J)
{
    double u[3] = {0}, along[2] = {0};
    int nv = perp_bodies_nv(b);
    for (int side = 0; side < 2; side++) {
        perp_bodies_jacobian(b, shape[t->shape[side]].body, t->point, J);
        for (int k = 0; k < nv; k++)
            for (int d = 0; d < 3; d++)
                u[d] += (side ? 1 : -1) * J[3 * k + d] * perp_bodies_v(b)[k];
    }
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < 3; d++) along[k] += t->tangent[k][d] * u[d];
    return hypot(along[0], along[1]);
}

/* The greatest slip of contacts whose force is 1 % inside its cone. */
static inline double creep(perp_bodies *b, const perp_shape *shape, double *J)
{
    const perp_contact *t;
    int n = perp_bodies_contacts(b, &t);
    double most = 0;
    for (int i = 0; i < n; i++, t++)
        if (t->impulse[0] > 0 &&
            hypot(t->impulse[1], t->impulse[2]) < 0.99 * t->mu * t->impulse[0])
            most = fmax(most, slip(b, shape, t, J));
    return most;
}

#endif
