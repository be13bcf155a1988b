/* What the triangles of a mesh weigh, and the box of the same inertia. Volumes are sums of
 * tetrahedra, each triangle's with one common corner (Mirtich 1996 has the sums; the tetrahedron's
 * second moments are those of Tonon 2005). */

#include "bodies/geometry.h"
#include "bodies/space.h"
#include "linalg/symmetric.h"
#include "robots/robots.h"

#include <math.h>
#include <string.h>

typedef struct triangle {
    double x[3][3], normal[3], center[3], area; /* normal: as long as twice the area */
} triangle;

static triangle triangle_of(const perp__surface *s, int i, const double *origin)
{
    triangle t;
    double a[3], b[3];
    for (int j = 0; j < 3; j++)
        perp__move3(s->point + 3 * s->corner[3 * i + j], -1, origin, t.x[j]);
    perp__move3(t.x[1], -1, t.x[0], a);
    perp__move3(t.x[2], -1, t.x[0], b);
    perp__cross3(a, b, t.normal);
    t.area = 0.5 * perp__length3(t.normal);
    for (int k = 0; k < 3; k++) t.center[k] = (t.x[0][k] + t.x[1][k] + t.x[2][k]) / 3;
    return t;
}

/* Of the tetrahedron with a corner at the origin, or of the triangle itself. */
static double weight_of(const triangle *t, perp__surface_rule rule)
{
    double volume = perp__dot3(t->center, t->normal) / 6;
    if (rule == PERP__SURFACE_SHELL) return t->area;
    return rule == PERP__SURFACE_UNSIGNED ? fabs(volume) : volume;
}

/* The centre of all triangles. */
static void middle_of(const perp__surface *s, double *middle)
{
    const double origin[3] = {0, 0, 0};
    double sum[3] = {0, 0, 0}, area = 0;
    for (int i = 0; i < s->ntriangle; i++) {
        triangle t = triangle_of(s, i, origin);
        perp__move3(sum, t.area, t.center, sum);
        area += t.area;
    }
    for (int k = 0; k < 3; k++) middle[k] = area > 0 ? sum[k] / area : 0;
}

/* The second moments of a triangle, or of its tetrahedron, of weight w: the sums over corners a, b
 * of (1 + [a = b]) x_a x_b' w / 12, or / 20. */
static void add_moments(const triangle *t, double w, double *P)
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                P[k] += (1 + (a == b)) * w * t->x[a][row[k]] * t->x[b][column[k]];
}

void perp__surface_mass(const perp__surface *s, perp__surface_rule rule, double *weight,
                        double center[3], double inertia[6])
{
    double middle[3], P[6] = {0, 0, 0, 0, 0, 0}, reach = rule == PERP__SURFACE_SHELL ? 1 : 0.75;
    middle_of(s, middle);
    memcpy(center, middle, sizeof middle);
    *weight = 0;
    double moved[3] = {0, 0, 0};
    for (int i = 0; i < s->ntriangle; i++) {
        triangle t = triangle_of(s, i, middle);
        double w = weight_of(&t, rule);
        *weight += w;
        perp__move3(moved, reach * w, t.center, moved);
    }
    if (*weight != 0) perp__move3(middle, 1 / *weight, moved, center);
    *weight =
        0; /* of a surface that is not closed, or not seen from one point, it hangs on from where */
    for (int i = 0; i < s->ntriangle; i++) {
        triangle t = triangle_of(s, i, center);
        double w = weight_of(&t, rule);
        *weight += w;
        add_moments(&t, w / (rule == PERP__SURFACE_SHELL ? 12 : 20), P);
    }
    for (int k = 0; k < 3; k++) {
        inertia[k] = P[(k + 1) % 3] + P[(k + 2) % 3];
        inertia[3 + k] = -P[3 + k];
    }
}

int perp__inertia_box(double weight, const double *inertia, double half[3], double *R)
{
    const double *I = inertia;
    double A[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, value[3], V[9];
    perp__symmetric_eigen(3, A, value, V);
    for (int k = 0; k < 3; k++) { /* the greatest first: x is across the shortest side */
        double other = value[0] + value[1] + value[2] - 2 * value[2 - k];
        half[k] = 0.5 * sqrt(fmax(0, 6 * other / weight));
        for (int i = 0; i < 3; i++) R[3 * i + k] = V[i + 3 * (2 - k)];
    }
    double x[3] = {R[0], R[3], R[6]}, y[3] = {R[1], R[4], R[7]}, z[3];
    perp__cross3(x, y, z);
    for (int i = 0; i < 3; i++) R[3 * i + 2] = z[i];
    return half[0] > 0 && isfinite(half[2]);
}
