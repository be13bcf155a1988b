/* Shapes: what they are, their supports, contact of two; spheres and capsules in closed form. */

#include "base/base.h"
#include "base/words.h"
#include "bodies/geometry.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

static const perp__word shape_rows[] = {
#define WORD(name, word, text) {word, text},
    PERP_SHAPE_LIST(WORD)
#undef WORD
};
static const perp__words shapes = PERP_WORDS(shape_rows);
PERP_WORD_FUNCTIONS(perp_shape_kind, perp_shape, shapes)
PERP_WORD_SUMMARY(perp_shape_kind, perp_shape_summary, shapes)

static int are_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

const char *perp__shape_fault(const perp_shape *is)
{
    double q[4];
    static const int figures[] = {0, 1, 2, 3, 2, 3, 0, 0}; /* of `size` */
    if (is->kind < 0 || is->kind >= PERP_SHAPE_COUNT) return "its kind is none";
    for (int k = 0; k < figures[is->kind]; k++)
        if (!(is->size[k] > 0) || !isfinite(is->size[k])) return "its size must be > 0";
    if (is->kind == PERP_SHAPE_MESH && !is->mesh) return "its mesh is not there";
    if (is->kind == PERP_SHAPE_FIELD && !is->field) return "its field is not there";
    if (!are_finite(is->position, 3)) return "its position is not finite";
    if (!perp__rotation_take(is->rotation, q)) return "its rotation is no quaternion";
    return NULL;
}

/* What is below it is looked for so far down. */
static double field_floor(const perp_field *f)
{
    return f->low - f->half[0] - f->half[1];
}

double perp__shape_extent(const perp_shape *s)
{
    switch (s->kind) {
    case PERP_SHAPE_SPHERE: return s->size[0];
    case PERP_SHAPE_CAPSULE: return s->size[0] + s->size[1];
    case PERP_SHAPE_BOX: return perp__length3(s->size);
    case PERP_SHAPE_CYLINDER: return hypot(s->size[0], s->size[1]);
    case PERP_SHAPE_ELLIPSOID: return fmax(s->size[0], fmax(s->size[1], s->size[2]));
    case PERP_SHAPE_MESH: return s->mesh->radius;
    case PERP_SHAPE_FIELD:
        return hypot(hypot(s->field->half[0], s->field->half[1]),
                     fmax(fabs(field_floor(s->field)), fabs(s->field->high)));
    default: return INFINITY;
    }
}

double perp__shape_least(const perp_shape *s)
{
    switch (s->kind) {
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_ELLIPSOID: return fmin(s->size[0], fmin(s->size[1], s->size[2]));
    case PERP_SHAPE_CYLINDER: return fmin(s->size[0], s->size[1]);
    case PERP_SHAPE_MESH: return s->mesh->size;
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_FIELD: return INFINITY;
    default: return s->size[0];
    }
}

double perp__shape_round(const perp_shape *s)
{
    return s->kind == PERP_SHAPE_SPHERE || s->kind == PERP_SHAPE_CAPSULE ? s->size[0] : 0;
}

static void mesh_support(const perp_mesh *m, const double *d, double *x)
{
    const double *best = m->point;
    double most = perp__dot3(best, d);
    for (int i = 1; i < m->npoint; i++) {
        double along = perp__dot3(m->point + 3 * i, d);
        if (along > most) {
            most = along;
            best = m->point + 3 * i;
        }
    }
    memcpy(x, best, 3 * sizeof *x);
}

void perp__shape_support(const perp__placed *s, const double *d, double *x)
{
    const double *size = s->shape->size;
    double own[3], at[3] = {0}, length;
    perp__rotate_back3(s->R, d, own);
    switch (s->shape->kind) {
    case PERP_SHAPE_CAPSULE: at[2] = own[2] < 0 ? -size[1] : size[1]; break;
    case PERP_SHAPE_BOX:
        for (int k = 0; k < 3; k++) at[k] = own[k] < 0 ? -size[k] : size[k];
        break;
    case PERP_SHAPE_CYLINDER:
        length = sqrt(own[0] * own[0] + own[1] * own[1]);
        for (int k = 0; k < 2 && length > 0; k++) at[k] = size[0] * (own[k] / length);
        at[2] = own[2] < 0 ? -size[1] : size[1];
        break;
    case PERP_SHAPE_ELLIPSOID:
        for (int k = 0; k < 3; k++) own[k] *= size[k];
        length = perp__length3(own);
        for (int k = 0; k < 3 && length > 0; k++) at[k] = size[k] * (own[k] / length);
        break;
    case PERP_SHAPE_MESH: mesh_support(s->shape->mesh, own, at); break;
    case PERP_SHAPE_FIELD: /* of the box about it */
        for (int k = 0; k < 2; k++) at[k] = copysign(s->shape->field->half[k], own[k]);
        at[2] = own[2] < 0 ? field_floor(s->shape->field) : s->shape->field->high;
        break;
    default: break;
    }
    perp__rotate3(s->R, at, x);
}

/* Spheres and capsules ------------------------------------------------------------------------- */

/* Two points, each on the surface of a ball about it. */
static int touch_balls(const double *ca, double ra, const double *cb, double rb, double margin,
                       perp_contact *t)
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

static double clamp(double x, double low, double high)
{
    if (x < low) return low;
    return x > high ? high : x;
}

static int touch_sphere_capsule(const perp__placed *ball, const perp__placed *capsule,
                                double margin, perp_contact *t)
{
    double from[3], c[3], axis[3] = {capsule->R[2], capsule->R[5], capsule->R[8]};
    perp__move3(ball->p, -1, capsule->p, from);
    double s = clamp(perp__dot3(from, axis), -capsule->shape->size[1], capsule->shape->size[1]);
    perp__move3(capsule->p, s, axis, c);
    return touch_balls(ball->p, ball->shape->size[0], c, capsule->shape->size[0], margin, t);
}

/* One contact at the nearest points of the axes; two, at the ends of what lies side by side, where
 * they are parallel. */
static int touch_capsules(const perp__placed *a, const perp__placed *b, double margin,
                          perp_contact *t)
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
    if (n == 2) {
        s[0] = low;
        s[1] = high;
    }
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
                            perp_contact *t)
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
        perp__place3(box->R, box->p, near, out);
        return touch_balls(ball->p, radius, out, 0, margin, t);
    }
    n[face] = local[face] < 0 ? 1 : -1; /* from the ball into the box */
    t->gap = fabs(local[face]) - h[face] - radius;
    perp__rotate3(box->R, n, t->normal);
    perp__move3(ball->p, radius + 0.5 * t->gap, t->normal, t->point);
    return t->gap <= margin;
}

int perp__touch_shapes(const perp__placed *a, const perp__placed *b, double margin, perp_contact *t)
{
    perp_shape_kind x = a->shape->kind, y = b->shape->kind;
    if (x == PERP_SHAPE_PLANE) return perp__touch_plane(a, b, margin, t);
    if (x == PERP_SHAPE_SPHERE && y == PERP_SHAPE_SPHERE)
        return touch_balls(a->p, a->shape->size[0], b->p, b->shape->size[0], margin, t);
    if (x == PERP_SHAPE_SPHERE && y == PERP_SHAPE_CAPSULE)
        return touch_sphere_capsule(a, b, margin, t);
    if (x == PERP_SHAPE_SPHERE && y == PERP_SHAPE_BOX) return touch_sphere_box(a, b, margin, t);
    if (x == PERP_SHAPE_CAPSULE && y == PERP_SHAPE_CAPSULE) return touch_capsules(a, b, margin, t);
    if (x == PERP_SHAPE_BOX && y == PERP_SHAPE_BOX) return perp__touch_boxes(a, b, margin, t);
    return perp__touch_convex(a, b, margin, t);
}

/* The most telling of its contacts. */
static int touch_field(const perp__placed *a, const perp__placed *field, double margin,
                       perp_contact *touch)
{
    perp_contact *all = NULL;
    int room = 0, n = perp__touch_field(field, a, margin, &all, &room, 0);
    if (n > 0) n = perp__thin_touches(all, n, touch);
    free(all);
    return n;
}

perp_status perp_shapes_contacts(const perp_shape *a, const perp_shape *b, double margin,
                                 perp_contact *touch, int *count)
{
    const perp_shape *is[2] = {a, b};
    perp__placed placed[2];
    if (!a || !b || !touch || !count || isnan(margin)) return PERP_ERR_ARG;
    *count = 0;
    if (perp__is_ground(a) && perp__is_ground(b)) return PERP_ERR_ARG;
    for (int i = 0; i < 2; i++) {
        double q[4];
        if (perp__shape_fault(is[i])) return PERP_ERR_ARG;
        placed[i].shape = is[i];
        perp__rotation_take(is[i]->rotation, q);
        perp__rotation_of(q, placed[i].R);
        memcpy(placed[i].p, is[i]->position, sizeof is[i]->position);
    }
    memset(touch, 0, PERP_MANIFOLD * sizeof *touch);
    int swap = a->kind > b->kind;
    int n = is[!swap]->kind == PERP_SHAPE_FIELD
                ? touch_field(&placed[swap], &placed[!swap], margin, touch)
                : perp__touch_shapes(&placed[swap], &placed[!swap], margin, touch);
    if (n < 0) return PERP_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3 && swap; k++) touch[i].normal[k] = -touch[i].normal[k];
        touch[i].shape[0] = 0;
        touch[i].shape[1] = 1;
        perp__tangents3(touch[i].normal, touch[i].tangent[0], touch[i].tangent[1]);
    }
    *count = n;
    return PERP_OK;
}
