/* A particle, a box and a stack of boxes on a rough floor, as problems with exact cones. */

#include "boxes.h"
#include "support.h"

#include <string.h>

/* Row of the Jacobian: velocity along axis a of the point at `arm` from the centre of box b, times sign. */
static void add_row(contacts *c, int row, int b, int a, const double arm[3], double sign)
{
    int n = 3 * c->problem.nc, y = (a + 1) % 3, z = (a + 2) % 3;
    double *J = c->J + row + 6 * b * n;
    J[a * n] += sign;
    J[(3 + y) * n] += sign * arm[z]; /* (omega x arm)_a = omega_y arm_z - omega_z arm_y */
    J[(3 + z) * n] -= sign * arm[y];
}

static void finish(contacts *c, double push)
{
    perp_fc *p = &c->problem;
    int n = 3 * p->nc, nv = p->nv;
    double v[MOST_V] = {0};
    p->M = c->M, p->ldm = nv, p->J = c->J, p->ldj = n, p->q = c->q, p->mu = c->mu;
    for (int b = 0; b < nv / 6; b++) v[6 * b + 2] = -9.81e-2; /* one step of 10 ms */
    v[nv - 6] = push, v[nv - 5] = push / 3;                   /* the top is pushed aside */
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < nv; k++) c->q[i] += c->J[i + k * n] * v[k];
    }
    for (int i = 0; i < p->nc; i++) c->mu[i] = 0.5;
    if (perp_fc_delassus(p, c->W, n) != PERP_OK) die("strategies: no Delassus matrix");
    c->weight = c->W[0];
    p->W = c->W, p->ldw = n; /* the dense form */
}

void make_boxes(contacts *c, const char *name, int boxes, int corners, double push)
{
    const double half[3] = {0.5, 0.5, 0.2}, mass = 2;
    memset(c, 0, sizeof *c);
    c->name = name;
    c->problem = (perp_fc){.dimension = 3, .nc = boxes * corners, .nv = 6 * boxes};
    int nv = 6 * boxes;
    for (int b = 0; b < boxes; b++) {
        for (int a = 0; a < 3; a++) {
            double y = half[(a + 1) % 3], z = half[(a + 2) % 3];
            c->M[(6 * b + a) * (nv + 1)] = mass;
            c->M[(6 * b + 3 + a) * (nv + 1)] = mass / 3 * (y * y + z * z);
        }
        for (int k = 0; k < corners; k++) {
            double below[3] = {k & 1 ? half[0] : -half[0], k & 2 ? half[1] : -half[1], -half[2]},
                   above[3] = {below[0], below[1], half[2]};
            static const int axis[3] = {2, 0, 1};                 /* normal, two tangents */
            if (corners == 1) below[0] = below[1] = below[2] = 0; /* a particle */
            for (int i = 0; i < 3; i++) {
                int row = 3 * (b * corners + k) + i;
                add_row(c, row, b, axis[i], below, 1);
                if (b > 0) add_row(c, row, b - 1, axis[i], above, -1);
            }
        }
    }
    finish(c, push);
}
