/* Contact of two boxes. The axis of largest separation among faces and pairs of edges is found;
 * then the common area of two faces, or the nearest points of two edges. */

#include "bodies/geometry.h"
#include "bodies/space.h"

#include <string.h>

/* Two boxes in the frame of the first. */
typedef struct boxes {
    const perp__placed *a, *b;
    const double *ha, *hb; /* half lengths */
    double t[3], C[9];     /* centre and rotation of the second */
} boxes;

typedef struct axis {
    double separation, n[3]; /* n: in the world, from the first box to the second */
    int a, b;                /* which face or edge of each; -1 */
} axis;

static double reach(const double *h, const double *n, const double *R)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += h[k] * fabs(n[0] * R[k] + n[1] * R[3 + k] + n[2] * R[6 + k]);
    return sum;
}

/* Keep the direction n (unit, in the first box's frame) if it separates more by `lead`. */
static void try_axis(const boxes *x, const double *n, int a, int b, double lead, axis *best)
{
    double along = perp__dot3(x->t, n), sign = along < 0 ? -1 : 1, ra = 0;
    for (int k = 0; k < 3; k++) ra += x->ha[k] * fabs(n[k]);
    double separation = fabs(along) - ra - reach(x->hb, n, x->C);
    if (separation <= best->separation + lead) return;
    double turned[3] = {sign * n[0], sign * n[1], sign * n[2]};
    perp__rotate3(x->a->R, turned, best->n);
    best->separation = separation;
    best->a = a;
    best->b = b;
}

static const double LEAD = 1e-4; /* of edges before faces, beside the smallest half length */

static double least_of(const boxes *x)
{
    return fmin(perp__shape_least(x->a->shape), perp__shape_least(x->b->shape));
}

static axis best_axis(const boxes *x)
{
    const double FLAT = 1e-9;
    axis best = {.separation = -INFINITY, .a = -1, .b = -1};
    double lead = LEAD * least_of(x);
    for (int k = 0; k < 3; k++) {
        double n[3] = {k == 0, k == 1, k == 2};
        try_axis(x, n, k, -1, 0, &best);
    }
    for (int k = 0; k < 3; k++) {
        double n[3] = {x->C[k], x->C[3 + k], x->C[6 + k]};
        try_axis(x, n, -1, k, lead, &best);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double e[3] = {i == 0, i == 1, i == 2}, c[3] = {x->C[j], x->C[3 + j], x->C[6 + j]},
                   n[3];
            perp__cross3(e, c, n);
            double length = perp__length3(n);
            if (length < FLAT) continue; /* parallel: a face's */
            for (int k = 0; k < 3; k++) n[k] /= length;
            try_axis(x, n, i, j, lead, &best);
        }
    return best;
}

static void column(const double *R, int k, double *out)
{
    for (int i = 0; i < 3; i++) out[i] = R[3 * i + k];
}

/* Edges ---------------------------------------------------------------------------------------- */

/* The middle of the edge of a box along its axis k that lies furthest in direction n. */
static void support_edge(const perp__placed *box, int k, const double *n, double *middle,
                         double *along)
{
    double local[3];
    perp__rotate_back3(box->R, n, local);
    memcpy(middle, box->p, 3 * sizeof *middle);
    for (int j = 1; j <= 2; j++) {
        double d[3];
        int c = (k + j) % 3;
        column(box->R, c, d);
        perp__move3(middle, local[c] > 0 ? box->shape->size[c] : -box->shape->size[c], d, middle);
    }
    column(box->R, k, along);
}

static int touch_edges(const perp__placed *a, const perp__placed *b, const axis *best,
                       perp_contact *t)
{
    double x[3], y[3], u[3], w[3], back[3], from[3];
    for (int k = 0; k < 3; k++) back[k] = -best->n[k];
    support_edge(a, best->a, best->n, x, u);
    support_edge(b, best->b, back, y, w);
    perp__move3(y, -1, x, from);
    double uw = perp__dot3(u, w), fu = perp__dot3(from, u), fw = perp__dot3(from, w),
           below = 1 - uw * uw, s = (fu - uw * fw) / below, r = (uw * fu - fw) / below;
    perp__move3(x, s, u, x);
    perp__move3(y, r, w, y);
    for (int k = 0; k < 3; k++) {
        t->point[k] = 0.5 * (x[k] + y[k]);
        t->normal[k] = best->n[k];
    }
    t->gap = best->separation;
    t->feature = 3 * best->a + best->b - 16; /* apart from corners and what is cut */
    return 1;
}

int perp__touch_boxes(const perp__placed *a, const perp__placed *b, double margin,
                      perp_contact *touch)
{
    boxes x = {.a = a, .b = b, .ha = a->shape->size, .hb = b->shape->size};
    double from[3], back[3];
    perp__move3(b->p, -1, a->p, from);
    perp__rotate_back3(a->R, from, x.t);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            x.C[3 * i + j] =
                a->R[i] * b->R[j] + a->R[3 + i] * b->R[3 + j] + a->R[6 + i] * b->R[6 + j];
    axis best = best_axis(&x);
    if (best.separation > margin) return 0;
    if (best.separation > LEAD * least_of(&x)) /* no axis says how far corners are apart */
        return perp__touch_convex(a, b, margin, touch);
    if (best.a >= 0 && best.b >= 0) return touch_edges(a, b, &best, touch);
    for (int k = 0; k < 3; k++) back[k] = -best.n[k];
    int n = best.a >= 0 ? perp__touch_face(a, b, best.n, 1, margin, touch)
                        : perp__touch_face(b, a, back, -1, margin, touch);
    return n ? n : perp__touch_convex(a, b, margin, touch);
}
