/* Vectors of three, rotations (row by row), quaternions (w, x, y, z). */

#ifndef PERP_SRC_SPACE_H
#define PERP_SRC_SPACE_H

#include "linalg/lu3.h"

#include <math.h>

static inline double perp__dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double perp__length3(const double *a)
{
    return sqrt(perp__dot3(a, a));
}

static inline void perp__cross3(const double *a, const double *b, double *c)
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
           z = a[0] * b[1] - a[1] * b[0];
    c[0] = x;
    c[1] = y;
    c[2] = z;
}

/* c = a + s b */
static inline void perp__move3(const double *a, double s, const double *b, double *c)
{
    for (int i = 0; i < 3; i++) c[i] = a[i] + s * b[i];
}

/* y = R x, and y = R' x; y is another array than x. */
static inline void perp__rotate3(const double *R, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

static inline void perp__rotate_back3(const double *R, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}

/* y = p + R x */
static inline void perp__place3(const double *R, const double *p, const double *x, double *y)
{
    perp__rotate3(R, x, y);
    perp__move3(y, 1, p, y);
}

static inline void perp__rotation_of(const double *q, double *R)
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - 2 * (y * y + z * z);
    R[1] = 2 * (x * y - w * z);
    R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z);
    R[4] = 1 - 2 * (x * x + z * z);
    R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y);
    R[7] = 2 * (y * z + w * x);
    R[8] = 1 - 2 * (x * x + y * y);
}

/* c = a b of quaternions */
static inline void perp__quaternion_multiply(const double *a, const double *b, double *c)
{
    double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    c[0] = w;
    c[1] = x;
    c[2] = y;
    c[3] = z;
}

/* The turn by |turn| about turn (Rodrigues). */
static inline void perp__quaternion_of(const double *turn, double *q)
{
    double angle = perp__length3(turn), half = 0.5 * angle,
           s = angle > 1e-8 ? sin(half) / angle : 0.5 - angle * angle / 48;
    q[0] = cos(half);
    for (int i = 0; i < 3; i++) q[1 + i] = s * turn[i];
}

/* The turn by `angle` about a unit vector. */
static inline void perp__quaternion_about(const double *axis, double angle, double *q)
{
    double s = sin(0.5 * angle);
    q[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; i++) q[1 + i] = s * axis[i];
}

/* 0: its length is 0, or not finite. */
static inline int perp__quaternion_normalise(double *q)
{
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(n > 0) || !isfinite(n)) return 0;
    for (int i = 0; i < 4; i++) q[i] /= n;
    return 1;
}

/* By the largest of its entries (Shepperd 1978). */
static inline void perp__quaternion_of_rotation(const double *R, double *q)
{
    double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                        1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (square[i] > square[k]) k = i;
    double x[4][4] = {{square[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                      {R[7] - R[5], square[1], R[3] + R[1], R[2] + R[6]},
                      {R[2] - R[6], R[3] + R[1], square[2], R[7] + R[5]},
                      {R[3] - R[1], R[2] + R[6], R[7] + R[5], square[3]}};
    for (int i = 0; i < 4; i++) q[i] = x[k][i];
    perp__quaternion_normalise(q);
}

/* A rotation that is given: all 0 is none. Returns 0: its length is 0, or not finite. */
static inline int perp__rotation_take(const double *given, double *q)
{
    int is_none = given[0] == 0 && given[1] == 0 && given[2] == 0 && given[3] == 0;
    for (int i = 0; i < 4; i++) q[i] = is_none ? i == 0 : given[i];
    return perp__quaternion_normalise(q);
}

/* Two unit vectors at right angles to a unit normal and each other. */
static inline void perp__tangents3(const double *n, double *t1, double *t2)
{
    int k = fabs(n[0]) < 0.6 ? 0 : 1;
    double e[3] = {k == 0, k == 1, 0};
    perp__move3(e, -n[k], n, t1);
    double length = perp__length3(t1);
    for (int i = 0; i < 3; i++) t1[i] /= length;
    perp__cross3(n, t1, t2);
}

#endif
