/* Generated friction problems: bodies, random contacts between them, W = J inv(M) J'. */

#ifndef PERP_TEST_CONTACTS_H
#define PERP_TEST_CONTACTS_H

#include "perp/friction.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline double uniform(rng *g, double lo, double hi)
{
    g->state = g->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (hi - lo) * (double)(g->state >> 11) / 9007199254740992.0;
}

/* A problem that owns its arrays. */
typedef struct contacts {
    perp_fc problem; /* mass and Jacobian form */
    perp_fc dense;   /* the same with W */
    double *memory;
} contacts;

/* `nc` contacts between random pairs of `bodies` (body 0 is the ground), d = 2 or 3. Masses from 1
 * to `ratio`. The free velocity of the bodies goes towards the ground: q = J v is in the range of
 * J, so a solution exists. Many contacts on few bodies make W singular; `skew` adds that times a
 * skew-symmetric matrix. */
static inline contacts contacts_create(int d, int bodies, int nc, double mu, double ratio,
                                       double skew, uint64_t seed)
{
    rng g = {seed * 7919 + 13};
    int dof = d == 3 ? 6 : 3, nv = dof * bodies, n = d * nc;
    size_t sizes[] = {(size_t)nv * (size_t)nv, (size_t)n * (size_t)nv, (size_t)n * (size_t)n,
                      (size_t)n, (size_t)nc};
    size_t total = 0;
    for (int k = 0; k < 5; k++) total += sizes[k] + 1;
    contacts c = {.memory = calloc(total, sizeof(double))};
    double *M = c.memory, *J = M + sizes[0] + 1, *W = J + sizes[1] + 1, *q = W + sizes[2] + 1,
           *m = q + sizes[3] + 1;
    for (int b = 0; b < bodies; b++) {
        double mass = pow(ratio, uniform(&g, 0, 1));
        for (int k = 0; k < dof; k++) {
            size_t at = (size_t)(dof * b + k);
            M[at + at * (size_t)nv] = k < d ? mass : mass * uniform(&g, 0.1, 0.4);
        }
    }
    for (int i = 0; i < nc; i++) {
        int pair[2] = {(int)uniform(&g, 0, bodies), (int)uniform(&g, 0, bodies)};
        if (pair[1] == pair[0]) pair[1] = -1; /* ground */
        double f[3][3] = {{0}};               /* frame: normal, t1, t2 */
        double s = 0;
        for (int k = 0; k < d; k++) f[0][k] = uniform(&g, -1, 1);
        f[0][d - 1] += 1.2; /* mostly upwards */
        for (int k = 0; k < d; k++) s += f[0][k] * f[0][k];
        for (int k = 0; k < d; k++) f[0][k] /= sqrt(s);
        if (d == 2) {
            f[1][0] = -f[0][1];
            f[1][1] = f[0][0];
        } else {
            double a[3] = {uniform(&g, -1, 1), uniform(&g, -1, 1), uniform(&g, -1, 1)}, dot = 0;
            for (int k = 0; k < 3; k++) dot += a[k] * f[0][k];
            s = 0;
            for (int k = 0; k < 3; k++) {
                f[1][k] = a[k] - dot * f[0][k];
                s += f[1][k] * f[1][k];
            }
            for (int k = 0; k < 3; k++) f[1][k] /= sqrt(s);
            for (int k = 0; k < 3; k++)
                f[2][k] =
                    f[0][(k + 1) % 3] * f[1][(k + 2) % 3] - f[0][(k + 2) % 3] * f[1][(k + 1) % 3];
        }
        for (int side = 0; side < 2; side++) {
            double sign = side ? -1 : 1, p[3];
            for (int k = 0; k < 3; k++) p[k] = uniform(&g, -0.5, 0.5);
            if (pair[side] < 0) continue;
            for (int a = 0; a < d; a++) {
                double torque[3] = {0};
                for (int k = 0; k < 3; k++)
                    torque[k] = d == 3 ? p[(k + 1) % 3] * f[a][(k + 2) % 3] -
                                             p[(k + 2) % 3] * f[a][(k + 1) % 3]
                                       : p[0] * f[a][1] - p[1] * f[a][0];
                for (int k = 0; k < dof; k++)
                    J[(size_t)(d * i + a) + (size_t)(dof * pair[side] + k) * (size_t)n] +=
                        sign * (k < d ? f[a][k] : torque[k - d]);
            }
        }
        m[i] = mu;
    }
    for (int v = 0; v < nv; v++) {
        double speed = uniform(&g, -1, 1) - (v % dof == d - 1 ? 1 : 0);
        for (int i = 0; i < n; i++) q[i] += J[(size_t)i + (size_t)v * (size_t)n] * speed;
    }
    c.problem = (perp_fc){
        .dimension = d, .nc = nc, .q = q, .mu = m, .M = M, .ldm = nv, .J = J, .ldj = n, .nv = nv};
    perp_fc_delassus(&c.problem, W, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double a = skew * uniform(&g, -1, 1) * W[(size_t)i + (size_t)j * (size_t)n];
            W[(size_t)i + (size_t)j * (size_t)n] += a;
            W[(size_t)j + (size_t)i * (size_t)n] -= a;
        }
    c.dense = (perp_fc){.dimension = d, .nc = nc, .q = q, .mu = m, .W = W, .ldw = n > 0 ? n : 1};
    return c;
}

static inline void contacts_destroy(contacts *c)
{
    free(c->memory);
}

/* How far r is from solving a problem with dense W, in long double: of the contacts, the largest of
 *     pulling      -r_n, and |r_T| - mu r_n, beside |r|
 *     normal       |u_n| where r != 0, else -u_n, beside S
 *     friction     |r_T - P(r_T - (R/S) u_T)| beside R, P onto the disc of radius mu r_n
 * with S = |q| + sum |W| |r|, the largest of the contact's rows (of a frictionless one: the normal row), and R = S over the largest
 * diagonal entry. Tests must not judge by the code under test. */
static inline double judge(const perp_fc *p, const double *W, const double *r)
{
    int d = p->dimension, n = d * p->nc;
    long double worst = 0;
    for (int i = 0; i < p->nc; i++) {
        long double u[3] = {0}, f[3] = {0}, S = 0, w = 0, mu = p->mu[i];
        for (int k = 0; k < d; k++) {
            long double row = fabsl(p->q[d * i + k]);
            u[k] = p->q[d * i + k];
            f[k] = r[d * i + k];
            for (int j = 0; j < n; j++) {
                long double term =
                    (long double)W[(size_t)(d * i + k) + (size_t)j * (size_t)n] * r[j];
                u[k] += term;
                row += fabsl(term);
            }
            if (k > 0 && mu == 0) continue;
            S = fmaxl(S, row);
            w = fmaxl(w, fabsl(W[(size_t)(d * i + k) * (size_t)(n + 1)]));
        }
        long double t = hypotl(f[1], f[2]), size = hypotl(f[0], t), e = 0;
        if (size > 0) e = fmaxl(-f[0], t - mu * f[0]) / size;
        if (e < 1e-15L) e = 0;
        long double normal = size > 0 ? fabsl(u[0]) : -u[0];
        if (normal > 0) e = fmaxl(e, normal / S);
        if (size > 0 && hypotl(u[1], u[2]) > 0) {
            long double R = w > 0 ? S / w : size;
            long double x = f[1] - R / S * u[1], y = f[2] - R / S * u[2], s = hypotl(x, y);
            long double shorter = s > mu * f[0] ? mu * f[0] / s : 1;
            e = fmaxl(e, hypotl(f[1] - shorter * x, f[2] - shorter * y) / R);
        }
        if (!(e <= worst)) worst = e;
    }
    return (double)worst;
}

#endif
