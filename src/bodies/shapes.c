/* Contact of planes, spheres, capsules and boxes in pairs, and of all pairs that may touch. */

#include "bodies/bodies.h"
#include "bodies/space.h"

#include <string.h>

/* Two points, each on the surface of a ball about it. */
static int touch_balls(const double *ca, double ra, const double *cb, double rb, double margin,
                       perp_touch *t)
{
    double n[3];
    perp__move3(cb, -1, ca, n);
    double distance = perp__length3(n);
    if (distance - ra - rb > margin) return 0;
    for (int k = 0; k < 3; k++) n[k] = distance > 0 ? n[k] / distance : k == 2;
    t->gap = distance - ra - rb;
    memcpy(t->normal, n, sizeof n);
    perp__move3(ca, ra + 0.5 * t->gap, n, t->point);
    return 1;
}

static int touch_plane_point(const perp__placed *plane, const double *c, double radius,
                             double margin, perp_touch *t)
{
    double from[3], n[3] = {plane->R[2], plane->R[5], plane->R[8]};
    perp__move3(c, -1, plane->p, from);
    double gap = perp__dot3(from, n) - radius;
    if (gap > margin) return 0;
    t->gap = gap;
    memcpy(t->normal, n, sizeof n);
    perp__move3(c, -(radius + 0.5 * gap), n, t->point);
    return 1;
}

/* The centre of an end of a capsule. */
static void end_of(const perp__placed *capsule, double sign, double *c)
{
    double axis[3] = {capsule->R[2], capsule->R[5], capsule->R[8]};
    perp__move3(capsule->p, sign * capsule->shape->size[1], axis, c);
}

static int touch_plane(const perp__placed *plane, const perp__placed *b, double margin,
                       perp_touch *t)
{
    const double *size = b->shape->size;
    double c[3], d[3];
    int n = 0;
    if (b->shape->kind == PERP_SHAPE_SPHERE)
        return touch_plane_point(plane, b->p, size[0], margin, t);
    if (b->shape->kind == PERP_SHAPE_CAPSULE) {
        for (int sign = -1; sign <= 1; sign += 2) {
            end_of(b, sign, c);
            n += touch_plane_point(plane, c, size[0], margin, &t[n]);
        }
        return n;
    }
    for (int corner = 0; corner < 8; corner++) {
        for (int k = 0; k < 3; k++) d[k] = corner >> k & 1 ? size[k] : -size[k];
        perp__rotate3(b->R, d, c);
        perp__move3(c, 1, b->p, c);
        n += touch_plane_point(plane, c, 0, margin, &t[n]);
    }
    return n;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static int touch_sphere_capsule(const perp__placed *ball, const perp__placed *capsule,
                                double margin, perp_touch *t)
{
    double from[3], c[3], axis[3] = {capsule->R[2], capsule->R[5], capsule->R[8]};
    perp__move3(ball->p, -1, capsule->p, from);
    double s = clamp(perp__dot3(from, axis), -capsule->shape->size[1], capsule->shape->size[1]);
    perp__move3(capsule->p, s, axis, c);
    return touch_balls(ball->p, ball->shape->size[0], c, capsule->shape->size[0], margin, t);
}

/* One contact at the nearest points of the axes; two, at the ends of what lies side by side, where they are parallel. */
static int touch_capsules(const perp__placed *a, const perp__placed *b, double margin,
                          perp_touch *t)
{
    const double PARALLEL = 1e-10; /* sine squared of the angle */
    double u[3] = {a->R[2], a->R[5], a->R[8]}, w[3] = {b->R[2], b->R[5], b->R[8]}, from[3], x[3],
           y[3];
    double la = a->shape->size[1], lb = b->shape->size[1];
    perp__move3(b->p, -1, a->p, from);
    double uw = perp__dot3(u, w), fu = perp__dot3(from, u), fw = perp__dot3(from, w),
           below = 1 - uw * uw;
    double s[2], low = fmax(-la, fu - lb), high = fmin(la, fu + lb);
    int n = below < PARALLEL && low < high ? 2 : 1, count = 0;
    s[0] = below < PARALLEL ? clamp(fu, -la, la) : clamp((fu - uw * fw) / below, -la, la);
    if (n == 2) s[0] = low, s[1] = high;
    for (int k = 0; k < n; k++) {
        double r = clamp(uw * s[k] - fw, -lb, lb);
        if (n == 1) { /* nearest to each other: each within its own length */
            s[k] = clamp(fu + uw * r, -la, la);
            r = clamp(uw * s[k] - fw, -lb, lb);
        }
        perp__move3(a->p, s[k], u, x);
        perp__move3(b->p, r, w, y);
        count += touch_balls(x, a->shape->size[0], y, b->shape->size[0], margin, &t[count]);
    }
    return count;
}

static int touch_sphere_box(const perp__placed *ball, const perp__placed *box, double margin,
                            perp_touch *t)
{
    const double *h = box->shape->size, radius = ball->shape->size[0];
    double from[3], local[3], near[3], n[3] = {0}, out[3];
    perp__move3(ball->p, -1, box->p, from);
    perp__rotate_back3(box->R, from, local);
    int inside = 1, face = 0;
    for (int k = 0; k < 3; k++) {
        near[k] = clamp(local[k], -h[k], h[k]);
        inside &= near[k] == local[k];
        if (h[k] - fabs(local[k]) < h[face] - fabs(local[face])) face = k;
    }
    if (!inside) {
        perp__rotate3(box->R, near, out);
        perp__move3(out, 1, box->p, out);
        return touch_balls(ball->p, radius, out, 0, margin, t);
    }
    n[face] = local[face] < 0 ? 1 : -1; /* from the ball into the box */
    t->gap = fabs(local[face]) - h[face] - radius;
    perp__rotate3(box->R, n, t->normal);
    perp__move3(ball->p, radius + 0.5 * t->gap, t->normal, t->point);
    return t->gap <= margin;
}

int perp__touch_shapes(const perp__placed *a, const perp__placed *b, double margin, perp_touch *t)
{
    perp_shape_kind x = a->shape->kind, y = b->shape->kind;
    if (x == PERP_SHAPE_PLANE) return touch_plane(a, b, margin, t);
    if (x == PERP_SHAPE_BOX) return perp__touch_boxes(a, b, margin, t);
    if (x == PERP_SHAPE_CAPSULE) return touch_capsules(a, b, margin, t);
    if (y == PERP_SHAPE_SPHERE)
        return touch_balls(a->p, a->shape->size[0], b->p, b->shape->size[0], margin, t);
    return y == PERP_SHAPE_CAPSULE ? touch_sphere_capsule(a, b, margin, t)
                                   : touch_sphere_box(a, b, margin, t);
}

/* All pairs -------------------------------------------------------------------------------------------- */

static perp__placed place(const perp_bodies *b, int shape)
{
    const perp_shape *s = &b->shape[shape];
    const perp__link *l = &b->link[s->body];
    perp__placed placed = {.shape = s};
    double own[9];
    perp__rotation_of(s->rotation, own);
    perp__multiply3(l->R, own, placed.R);
    perp__rotate3(l->R, s->position, placed.p);
    perp__move3(placed.p, 1, l->p, placed.p);
    return placed;
}

/* The radius of a ball about a shape's origin; of a plane infinite. */
static double extent(const perp_shape *s)
{
    switch (s->kind) {
    case PERP_SHAPE_SPHERE: return s->size[0];
    case PERP_SHAPE_CAPSULE: return s->size[0] + s->size[1];
    case PERP_SHAPE_BOX: return perp__length3(s->size);
    default: return INFINITY;
    }
}

/* How far any point of a shape may come within a step, at the present velocities and with what gravity adds. */
static double travel(const perp_bodies *b, const perp__placed *s)
{
    const perp__link *l = &b->link[s->shape->body];
    double far[3], fall = b->o.step * perp__length3(b->o.gravity);
    if (!s->shape->body) return 0;
    perp__move3(s->p, -1, l->p, far);
    double spin = perp__length3(l->vel) * (perp__length3(far) + extent(s->shape));
    return b->o.step * (perp__length3(l->vel + 3) + spin + 2 * fall);
}

static int are_far(const perp__placed *x, const perp__placed *y, double margin)
{
    double from[3];
    perp__move3(y->p, -1, x->p, from);
    if (x->shape->kind == PERP_SHAPE_PLANE) {
        double n[3] = {x->R[2], x->R[5], x->R[8]};
        return perp__dot3(from, n) > extent(y->shape) + margin;
    }
    return perp__length3(from) > extent(x->shape) + extent(y->shape) + margin;
}

int perp__bodies_find_touches(perp_bodies *b)
{
    b->ntouch = 0;
    for (int i = 0; i < b->npair; i++) {
        const int *pair = b->pair[i].shape;
        perp__placed x = place(b, pair[0]), y = place(b, pair[1]);
        double margin = travel(b, &x) + travel(b, &y);
        if (are_far(&x, &y, margin)) continue;
        if (!perp__grow(&b->touch, &b->ctouch, b->ntouch + PERP__MOST_TOUCHES, sizeof *b->touch))
            return 0;
        perp_touch *t = b->touch + b->ntouch;
        memset(t, 0, PERP__MOST_TOUCHES * sizeof *t);
        int n = perp__touch_shapes(&x, &y, margin, t);
        for (int k = 0; k < n; k++) {
            t[k].shape[0] = pair[0], t[k].shape[1] = pair[1];
            t[k].mu = fmax(x.shape->mu, y.shape->mu);
            perp__tangents3(t[k].normal, t[k].tangent[0], t[k].tangent[1]);
        }
        b->ntouch += n;
    }
    return 1;
}
