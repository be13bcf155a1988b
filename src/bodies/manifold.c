/* Contact manifolds. The flat face that separates two shapes best is found, with the part of the
 * other shape that faces it, clipped at the sides of the face. If no face separates them: the
 * nearest points. */

#include "bodies/geometry.h"
#include "bodies/space.h"

#include <string.h>

enum { CORNERS = 64, ROOM = 2 * CORNERS, RIM = 8 };
static const double LEAD = 1e-4; /* of edges before faces, beside the least half length */

/* Corners of a face, counterclockwise from outside; or the ends of a segment; or a point. */
typedef struct patch {
    int n, id[ROOM];
    double x[ROOM][3]; /* in the world, less the origin of the first shape */
    double normal[3];
    int is_face;
} patch;

static void column(const double *R, int k, double *out)
{
    for (int i = 0; i < 3; i++) out[i] = R[3 * i + k];
}

static void put(patch *p, const perp__placed *s, const double *from, const double *local, int id)
{
    if (p->n == ROOM) return;
    perp__place3(s->R, from, local, p->x[p->n]);
    p->id[p->n++] = id;
}

static void box_face(const perp__placed *box, const double *d, const double *from, patch *p)
{
    const double *h = box->shape->size;
    int k = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(d[i]) > fabs(d[k])) k = i;
    double sign = d[k] < 0 ? -1 : 1, x[3];
    x[k] = sign * h[k];
    for (int i = 0; i < 4; i++) {
        double turn = sign * (i < 2 ? 1 : -1);
        x[(k + 1) % 3] = (i == 0 || i == 3 ? 1 : -1) * h[(k + 1) % 3];
        x[(k + 2) % 3] = turn * h[(k + 2) % 3];
        put(p, box, from, x, 8 * k + 4 * (sign > 0) + i);
    }
    column(box->R, k, p->normal);
    for (int i = 0; i < 3; i++) p->normal[i] *= sign;
    p->is_face = 1;
}

static void mesh_face(const perp__placed *s, const double *d, const double *from, patch *p)
{
    const double LEVEL = 1e-9; /* beside the size */
    const perp_mesh *m = s->shape->mesh;
    const perp__face *f = NULL;
    double top = -INFINITY;
    for (int i = 0; i < m->npoint; i++) top = fmax(top, perp__dot3(m->point + 3 * i, d));
    for (int i = 0; i < m->nface;
         i++) { /* of those at the furthest corner the one that faces most */
        const perp__face *one = &m->face[i];
        int is_there = 0;
        if (f && perp__dot3(one->normal, d) <= perp__dot3(f->normal, d)) continue;
        for (int k = 0; k < one->n && !is_there; k++)
            is_there =
                perp__dot3(m->point + 3 * m->corner[one->first + k], d) >= top - LEVEL * m->size;
        if (is_there) f = one;
    }
    int every = (f->n + CORNERS - 1) / CORNERS; /* round ones are thinned */
    for (int i = 0; i < f->n; i += every) {
        int corner = m->corner[f->first + i];
        put(p, s, from, m->point + 3 * corner, corner);
    }
    perp__rotate3(s->R, f->normal, p->normal);
    p->is_face = 1;
}

/* An end: points of the rim that stay where they are in the cylinder, and the furthest. Or the line
 * of the side. */
static void cylinder_face(const perp__placed *s, const double *d, const double *from, patch *p)
{
    const double STEEP = 0.7;
    const double r = s->shape->size[0], h = s->shape->size[1], side = hypot(d[0], d[1]);
    double angle = side > 0 ? atan2(d[1], d[0]) : 0, sign = d[2] < 0 ? -1 : 1;
    if (fabs(d[2]) < STEEP) {
        for (int end = -1; end <= 1; end += 2)
            put(p, s, from, (double[3]){r * d[0] / side, r * d[1] / side, end * h}, end > 0);
        return;
    }
    const double apart = 6.283185307179586 / RIM;
    int after = (int)floor(angle / apart); /* the furthest comes after this one */
    for (int i = 0; i < RIM; i++) {
        int at = (int)sign * i;
        put(p, s, from, (double[3]){r * cos(at * apart), r * sin(at * apart), sign * h},
            2 + (at + RIM) % RIM);
        int last = sign > 0 ? (after + RIM) % RIM : (after + 1 + RIM) % RIM;
        if ((at + RIM) % RIM == last && side > 1e-9)
            put(p, s, from, (double[3]){r * d[0] / side, r * d[1] / side, sign * h}, 2 + RIM);
    }
    column(s->R, 2, p->normal);
    for (int i = 0; i < 3; i++) p->normal[i] *= sign;
    p->is_face = 1;
}

/* What of a core lies furthest along n. */
static void patch_of(const perp__placed *s, const double *n, const double *from, patch *p)
{
    double d[3];
    p->n = p->is_face = 0;
    perp__rotate_back3(s->R, n, d);
    if (s->shape->kind == PERP_SHAPE_BOX) box_face(s, d, from, p);
    if (s->shape->kind == PERP_SHAPE_MESH) mesh_face(s, d, from, p);
    if (s->shape->kind == PERP_SHAPE_CYLINDER) cylinder_face(s, d, from, p);
    if (s->shape->kind == PERP_SHAPE_CAPSULE)
        for (int end = -1; end <= 1; end += 2)
            put(p, s, from, (double[3]){0, 0, end * s->shape->size[1]}, end > 0);
    if (p->n) return;
    perp__shape_support(s, n, p->x[0]);
    perp__move3(p->x[0], 1, from, p->x[0]);
    p->id[0] = 0;
    p->n = 1;
}

/* Cut off what lies beyond the line from x along d, which is as long as the line; what lies on it
 * stays whole. What is cut has a name of the corner before it and the line. */
static void clip(patch *p, const double *x, const double *d, int line)
{
    const double ON = 1e-12 * perp__dot3(d, d);
    patch out;
    out.n = 0;
    int edges = p->n == 2 ? 1 : p->n;
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        double to_a[3], to_b[3];
        perp__move3(a, -1, x, to_a);
        perp__move3(b, -1, x, to_b);
        double ga = perp__dot3(to_a, d), gb = perp__dot3(to_b, d);
        if (ga <= ON && out.n < ROOM) {
            memcpy(out.x[out.n], a, sizeof out.x[0]);
            out.id[out.n++] = p->id[i];
        }
        if ((ga <= ON) == (gb <= ON) || i >= edges || out.n == ROOM) continue;
        double share = fmin(1, fmax(0, ga / (ga - gb)));
        for (int k = 0; k < 3; k++) out.x[out.n][k] = a[k] + share * (b[k] - a[k]);
        out.id[out.n++] = (p->id[i] * 64 + line + 1) & 0xffffff;
    }
    p->n = out.n;
    memcpy(p->x, out.x, sizeof out.x[0] * (size_t)out.n);
    memcpy(p->id, out.id, sizeof out.id[0] * (size_t)out.n);
}

/* The distance of touch i from the nearest kept one. */
static double way_to_kept(const perp_contact *t, int i, const int *kept, int nkept)
{
    double least = INFINITY, from[3];
    for (int j = 0; j < nkept; j++) {
        perp__move3(t[i].point, -1, t[kept[j]].point, from);
        least = fmin(least, perp__dot3(from, from));
    }
    return least;
}

int perp__thin_touches(const perp_contact *t, int n, perp_contact *out)
{
    int kept[PERP_MANIFOLD], count = 0, written = 0;
    for (int i = 0; i < n && n <= PERP_MANIFOLD; i++) out[i] = t[i];
    if (n <= PERP_MANIFOLD) return n;
    for (; count < PERP_MANIFOLD; count++) {
        int best = -1;
        double most = 0;
        for (int i = 0; i < n; i++) {
            double far = way_to_kept(t, i, kept, count);
            int is_kept = 0;
            for (int j = 0; j < count; j++) is_kept |= kept[j] == i;
            if (is_kept || (best >= 0 && !(count ? far > most : t[i].gap < t[best].gap))) continue;
            best = i;
            most = far;
        }
        kept[count] = best;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < count; j++)
            if (kept[j] == i) out[written++] = t[i];
    return count;
}

/* Is corner i where one before it is? Faces that meet exactly cut each other at their corners. */
static int is_double(const patch *p, int i, double size)
{
    const double SAME = 1e-9; /* beside the patch */
    for (int j = 0; j < i; j++) {
        double from[3];
        perp__move3(p->x[i], -1, p->x[j], from);
        if (perp__dot3(from, from) <= SAME * SAME * size) return 1;
    }
    return 0;
}

/* Corners of `p`, with balls of radius `around`, against the plane through x with normal n; the
 * plane is pushed out by `out`. */
static int over_plane(const patch *p, const double *origin, const double *x, const double *n,
                      double out, double around, double sign, double margin, perp_contact *touch)
{
    perp_contact t[ROOM];
    int count = 0;
    double size = 0, from[3];
    for (int i = 1; i < p->n; i++) {
        perp__move3(p->x[i], -1, p->x[0], from);
        size = fmax(size, perp__dot3(from, from));
    }
    for (int i = 0; i < p->n; i++) {
        if (is_double(p, i, size)) continue;
        perp__move3(p->x[i], -1, x, from);
        double height = perp__dot3(from, n), gap = height - around - out;
        if (gap > margin) continue;
        perp_contact *one = &t[count++];
        perp__move3(p->x[i], out + 0.5 * gap - height, n, one->point);
        perp__move3(one->point, 1, origin, one->point);
        for (int c = 0; c < 3; c++) one->normal[c] = sign * n[c];
        one->gap = gap;
        one->feature = p->id[i];
    }
    return perp__thin_touches(t, count, touch);
}

static int over_face(const patch *face, patch *other, const double *origin, double around,
                     double sign, double margin, perp_contact *touch)
{
    for (int i = 0; i < face->n && other->n; i++) {
        double edge[3], out[3];
        perp__move3(face->x[(i + 1) % face->n], -1, face->x[i], edge);
        perp__cross3(edge, face->normal, out);
        clip(other, face->x[i], out, i);
    }
    return over_plane(other, origin, face->x[0], face->normal, 0, around, sign, margin, touch);
}

int perp__touch_face(const perp__placed *reference, const perp__placed *other, const double *n,
                     double sign, double margin, perp_contact *touch)
{
    patch face, facing;
    double from[3], back[3] = {-n[0], -n[1], -n[2]};
    static const double zero[3] = {0};
    perp__move3(other->p, -1, reference->p, from);
    patch_of(reference, n, zero, &face);
    patch_of(other, back, from, &facing);
    return over_face(&face, &facing, reference->p, perp__shape_round(other->shape), sign, margin,
                     touch);
}

/* Two segments side by side: at the ends of what they have in common. */
static int side_by_side(const patch *p, patch *q, const double *n, const double *origin, double out,
                        double around, double margin, perp_contact *touch)
{
    const double PARALLEL = 1e-6; /* sine squared */
    double u[3], w[3], m[3], back[3];
    perp__move3(p->x[1], -1, p->x[0], u);
    perp__move3(q->x[1], -1, q->x[0], w);
    perp__cross3(u, w, m);
    if (perp__dot3(m, m) > PARALLEL * perp__dot3(u, u) * perp__dot3(w, w)) return 0;
    for (int k = 0; k < 3; k++) back[k] = -u[k];
    clip(q, p->x[1], u, 0);
    clip(q, p->x[0], back, 1);
    if (q->n < 2) return 0;
    perp__cross3(u, n, m);
    perp__cross3(m, u, w); /* n, less its part along the first */
    double length = perp__length3(w);
    for (int k = 0; k < 3; k++) w[k] /= length;
    return over_plane(q, origin, p->x[0], w, out, around, 1, margin, touch);
}

static int touch_nearest(const perp__placed *a, const perp__separation *s, double round, double gap,
                         perp_contact *t)
{
    memcpy(t->normal, s->n, sizeof s->n);
    t->gap = gap;
    t->feature = -1;
    perp__move3(a->p, 1, s->x, t->point);
    perp__move3(t->point, round + 0.5 * gap, s->n, t->point);
    return 1;
}

int perp__touch_convex(const perp__placed *a, const perp__placed *b, double margin,
                       perp_contact *touch)
{
    static const double zero[3] = {0};
    perp__separation s;
    double ra = perp__shape_round(a->shape), rb = perp__shape_round(b->shape), back[3], from[3],
           lead = LEAD * fmin(perp__shape_least(a->shape), perp__shape_least(b->shape)), turned[3];
    perp__separate(a, b, &s);
    double gap = s.distance - ra - rb;
    if (gap > margin) return 0;
    patch p, q;
    int n = 0;
    for (int k = 0; k < 3; k++) back[k] = -s.n[k];
    perp__move3(b->p, -1, a->p, from);
    patch_of(a, s.n, zero, &p);
    patch_of(b, back, from, &q);
    for (int k = 0; k < 3; k++) turned[k] = -q.normal[k];
    double by_a = p.is_face ? perp__apart(a, b, p.normal) : -(double)INFINITY,
           by_b = q.is_face ? perp__apart(a, b, turned) : -(double)INFINITY;
    if (by_a >= by_b && by_a >= s.distance - lead) {
        for (int k = 0; k < 3; k++) turned[k] = -p.normal[k];
        patch_of(b, turned, from, &q);
        n = over_face(&p, &q, a->p, ra + rb, 1, margin, touch);
    } else if (by_b >= s.distance - lead) {
        patch_of(a, turned, zero, &p);
        n = over_face(&q, &p, a->p, ra + rb, -1, margin, touch);
    } else if (p.n == 2 && q.n == 2) {
        n = side_by_side(&p, &q, s.n, a->p, ra, rb, margin, touch);
    }
    double least = INFINITY; /* of a face whose sides cut off what is nearest */
    for (int i = 0; i < n; i++) least = fmin(least, touch[i].gap);
    if (least <= gap + lead) return n;
    n -= n == PERP_MANIFOLD;
    return n + touch_nearest(a, &s, ra, gap, &touch[n]);
}

/* The corners of a box or a mesh that are nearer to a plane than `margin`. If there is not enough
 * room: those of the lowest face. */
static void corners_near(const perp__placed *s, const double *n, const double *from, double margin,
                         patch *p)
{
    const perp_mesh *m = s->shape->kind == PERP_SHAPE_MESH ? s->shape->mesh : NULL;
    const double *h = s->shape->size;
    int count = m ? m->npoint : 8, near = 0;
    p->n = 0;
    for (int i = 0; i < count; i++) {
        double box[3], x[3];
        for (int k = 0; k < 3 && !m; k++) box[k] = i >> k & 1 ? h[k] : -h[k];
        const double *local = m ? m->point + 3 * i : box;
        perp__place3(s->R, from, local, x);
        if (perp__dot3(x, n) > margin) continue;
        put(p, s, from, local, i);
        near++;
    }
    double back[3] = {-n[0], -n[1], -n[2]};
    if (near > ROOM) patch_of(s, back, from, p);
}

int perp__touch_plane(const perp__placed *plane, const perp__placed *b, double margin,
                      perp_contact *touch)
{
    static const double zero[3] = {0};
    double n[3], back[3], from[3];
    patch p;
    column(plane->R, 2, n);
    for (int k = 0; k < 3; k++) back[k] = -n[k];
    perp__move3(b->p, -1, plane->p, from);
    if (b->shape->kind == PERP_SHAPE_BOX || b->shape->kind == PERP_SHAPE_MESH)
        corners_near(b, n, from, margin, &p);
    else
        patch_of(b, back, from, &p);
    return over_plane(&p, plane->p, zero, n, 0, perp__shape_round(b->shape), 1, margin, touch);
}
