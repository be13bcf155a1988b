/* Contact of two boxes: the axis of largest separation among faces and pairs of edges, then the incident face clipped by the sides of
 * the reference face, or the nearest points of two edges. */

#include "bodies/bodies.h"
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
    best->a = a, best->b = b;
}

static axis best_axis(const boxes *x)
{
    const double FLAT = 1e-9,
                 LEAD = 1e-4; /* of edges before faces, beside the smallest half length */
    axis best = {.separation = -INFINITY, .a = -1, .b = -1};
    double least = x->ha[0];
    for (int k = 0; k < 3; k++) {
        double n[3] = {k == 0, k == 1, k == 2};
        least = fmin(least, fmin(x->ha[k], x->hb[k]));
        try_axis(x, n, k, -1, 0, &best);
    }
    for (int k = 0; k < 3; k++) {
        double n[3] = {x->C[k], x->C[3 + k], x->C[6 + k]};
        try_axis(x, n, -1, k, LEAD * least, &best);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double e[3] = {i == 0, i == 1, i == 2}, c[3] = {x->C[j], x->C[3 + j], x->C[6 + j]},
                   n[3];
            perp__cross3(e, c, n);
            double length = perp__length3(n);
            if (length < FLAT) continue; /* parallel: a face's */
            for (int k = 0; k < 3; k++) n[k] /= length;
            try_axis(x, n, i, j, LEAD * least, &best);
        }
    return best;
}

/* Faces ------------------------------------------------------------------------------------------------ */

enum { CORNERS = 16 };

typedef struct polygon {
    double x[CORNERS][3];
    int n;
} polygon;

/* Cut off what lies beyond `limit` along direction d from c. */
static void clip(polygon *p, const double *c, const double *d, double limit)
{
    polygon out = {.n = 0};
    for (int i = 0; i < p->n; i++) {
        const double *x = p->x[i], *y = p->x[(i + 1) % p->n];
        double from[3], to[3];
        perp__move3(x, -1, c, from);
        perp__move3(y, -1, c, to);
        double gx = perp__dot3(from, d) - limit, gy = perp__dot3(to, d) - limit;
        if (gx <= 0 && out.n < CORNERS) memcpy(out.x[out.n++], x, sizeof out.x[0]);
        if (gx * gy < 0 && out.n < CORNERS)
            for (int k = 0; k < 3; k++) out.x[out.n][k] = x[k] + gx / (gx - gy) * (y[k] - x[k]);
        out.n += gx * gy < 0 && out.n < CORNERS;
    }
    *p = out;
}

static void column(const double *R, int k, double *out)
{
    for (int i = 0; i < 3; i++) out[i] = R[3 * i + k];
}

/* The face of a box whose outward normal is most opposite to n. */
static polygon incident_face(const perp__placed *box, const double *n)
{
    const double *h = box->shape->size;
    double local[3], centre[3], u[3], w[3];
    polygon p = {.n = 4};
    perp__rotate_back3(box->R, n, local);
    int k = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(local[i]) > fabs(local[k])) k = i;
    column(box->R, k, u);
    perp__move3(box->p, local[k] > 0 ? -h[k] : h[k], u, centre);
    column(box->R, (k + 1) % 3, u);
    column(box->R, (k + 2) % 3, w);
    for (int i = 0; i < 4; i++) {
        perp__move3(centre, (i == 0 || i == 3 ? 1 : -1) * h[(k + 1) % 3], u, p.x[i]);
        perp__move3(p.x[i], (i < 2 ? 1 : -1) * h[(k + 2) % 3], w, p.x[i]);
    }
    return p;
}

/* The reference box's face k with outward normal n; contacts have `sign` n as normal. */
static int touch_faces(const perp__placed *reference, const perp__placed *other, int k,
                       const double *n, double sign, double margin, perp_touch *touch)
{
    const double *h = reference->shape->size;
    polygon p = incident_face(other, n);
    int count = 0;
    for (int j = 1; j <= 2; j++) {
        double d[3], back[3];
        column(reference->R, (k + j) % 3, d);
        for (int i = 0; i < 3; i++) back[i] = -d[i];
        clip(&p, reference->p, d, h[(k + j) % 3]);
        clip(&p, reference->p, back, h[(k + j) % 3]);
    }
    for (int i = 0; i < p.n && count < PERP__MOST_TOUCHES; i++) {
        double from[3];
        perp__move3(p.x[i], -1, reference->p, from);
        double gap = perp__dot3(from, n) - h[k];
        if (gap > margin) continue;
        perp_touch *t = &touch[count++];
        perp__move3(p.x[i], -0.5 * gap, n, t->point);
        for (int c = 0; c < 3; c++) t->normal[c] = sign * n[c];
        t->gap = gap;
    }
    return count;
}

/* Edges ------------------------------------------------------------------------------------------------ */

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
                       perp_touch *t)
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
    return 1;
}

int perp__touch_boxes(const perp__placed *a, const perp__placed *b, double margin,
                      perp_touch *touch)
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
    if (best.a >= 0 && best.b >= 0) return touch_edges(a, b, &best, touch);
    if (best.a >= 0) return touch_faces(a, b, best.a, best.n, 1, margin, touch);
    for (int k = 0; k < 3; k++) back[k] = -best.n[k];
    return touch_faces(b, a, best.b, back, -1, margin, touch);
}
