/* Height fields: a shape against each triangle near it, taken as a prism that reaches down. A
 * contact counts if its normal is one of the surface there, so that no shape is caught at edges
 * between triangles. */

#include "base/arena.h"
#include "base/base.h"
#include "bodies/geometry.h"
#include "bodies/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

perp_status perp_field_create(const double *height, int nx, int ny, const double half[2],
                              perp_field **field, perp_diag *diag)
{
    if (!field) return PERP_ERR_ARG;
    *field = NULL;
    if (!height || !half || nx < 2 || ny < 2 || nx > 1 << 15 || ny > 1 << 15 || !(half[0] > 0) ||
        !(half[1] > 0) || !isfinite(half[0] + half[1]))
        return PERP_ERR_ARG;
    size_t n = (size_t)nx * (size_t)ny;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(height[i])) return PERP_ERR_ARG;
    perp_field *f = calloc(1, sizeof *f);
    double *kept = malloc(n * sizeof *kept);
    if (!f || !kept) {
        free(f);
        free(kept);
        return perp__out_of_memory(diag, "height field");
    }
    memcpy(kept, height, n * sizeof *kept);
    *f = (perp_field){.height = kept, .n = {nx, ny}, .low = INFINITY, .high = -INFINITY};
    for (int k = 0; k < 2; k++) {
        f->half[k] = half[k];
        f->cell[k] = 2 * half[k] / (f->n[k] - 1);
    }
    for (size_t i = 0; i < n; i++) {
        f->low = fmin(f->low, height[i]);
        f->high = fmax(f->high, height[i]);
    }
    *field = f;
    return PERP_OK;
}

void perp_field_destroy(perp_field *field)
{
    if (!field) return;
    free(field->height);
    free(field);
}

int perp_field_heights(const perp_field *field, const double **height, int n[2], double half[2])
{
    for (int k = 0; k < 2; k++) {
        if (n) n[k] = field->n[k];
        if (half) half[k] = field->half[k];
    }
    if (height) *height = field->height;
    return field->n[0] * field->n[1];
}

static void corner_at(const perp_field *f, int i, int j, double *x)
{
    x[0] = -f->half[0] + i * f->cell[0];
    x[1] = -f->half[1] + j * f->cell[1];
    x[2] = f->height[(size_t)i + (size_t)j * (size_t)f->n[0]];
}

/* Triangle 0, 1 of a cell, counterclockwise from above, on the two sides of its diagonal from (i,
 * j). */
static void triangle_at(const perp_field *f, int i, int j, int which, double (*x)[3])
{
    corner_at(f, i, j, x[0]);
    corner_at(f, i + 1, j + 1 - which, x[1]);
    corner_at(f, i + which, j + 1, x[2]);
}

static void normal_of(const double (*x)[3], double *n)
{
    double u[3], w[3];
    perp__move3(x[1], -1, x[0], u);
    perp__move3(x[2], -1, x[0], w);
    perp__cross3(u, w, n);
    double length = perp__length3(n);
    for (int k = 0; k < 3; k++) n[k] /= length;
}

/* Prisms --------------------------------------------------------------------------------------- */

static const int corners[] = {0, 1, 2, 5, 4, 3, 0, 3, 4, 1, 1, 4, 5, 2, 2, 5, 3, 0};

static void set_faces(perp__prism *p)
{
    for (int k = 0, first = 0; k < 5; k++) {
        perp__face *face = &p->face[k];
        const double *x = p->point;
        *face = (perp__face){.first = first, .n = k < 2 ? 3 : 4};
        first += face->n;
        if (k == 0) memcpy(face->normal, p->normal, sizeof p->normal);
        if (k == 1) face->normal[2] = -1;
        if (k > 1) {
            const double *a = x + 3 * (k - 2), *b = x + 3 * ((k - 1) % 3);
            double along = hypot(b[0] - a[0], b[1] - a[1]);
            face->normal[0] = (b[1] - a[1]) / along;
            face->normal[1] = -(b[0] - a[0]) / along;
        }
        face->offset = perp__dot3(face->normal, x + 3 * corners[face->first]);
    }
}

void perp__field_prism(const perp__placed *field, int i, int j, int which, double depth,
                       perp__prism *p)
{
    const perp_field *f = field->shape->field;
    *p = (perp__prism){.tag = 2 * (i + j * f->n[0]) + which};
    triangle_at(f, i, j, which, p->top);
    normal_of((const double(*)[3])p->top, p->normal);
    double low = fmin(p->top[0][2], fmin(p->top[1][2], p->top[2][2])), radius = 0;
    for (int k = 0; k < 3; k++) p->middle[k] = (p->top[0][k] + p->top[1][k] + p->top[2][k]) / 3;
    for (int c = 0; c < 6; c++) {
        double *x = p->point + 3 * c;
        perp__move3(p->top[c % 3], -1, p->middle, x);
        if (c > 2) x[2] = low - depth - p->middle[2];
        radius = fmax(radius, perp__dot3(x, x));
    }
    set_faces(p);
    p->mesh = (perp_mesh){.point = p->point,
                          .corner = (int *)corners,
                          .face = p->face,
                          .npoint = 6,
                          .nface = 5,
                          .radius = sqrt(radius),
                          .size = 0.25 * fmin(f->cell[0], f->cell[1])};
    p->shape = (perp_shape){.kind = PERP_SHAPE_MESH, .mesh = &p->mesh};
    p->placed.shape = &p->shape;
    memcpy(p->placed.R, field->R, sizeof field->R);
    perp__place3(field->R, field->p, p->middle, p->placed.p);
}

/* Is a place of the field's frame over a triangle, or on its edges? Its height above it. */
static int is_over(const double (*t)[3], const double *x, double *above)
{
    const double ON = 1e-4; /* nearest points of what is curved are known so well */
    double ux = t[1][0] - t[0][0], uy = t[1][1] - t[0][1], wx = t[2][0] - t[0][0],
           wy = t[2][1] - t[0][1], px = x[0] - t[0][0], py = x[1] - t[0][1],
           area = ux * wy - uy * wx, b = (px * wy - py * wx) / area, c = (ux * py - uy * px) / area;
    *above = x[2] - t[0][2] - b * (t[1][2] - t[0][2]) - c * (t[2][2] - t[0][2]);
    return b >= -ON && c >= -ON && b + c <= 1 + ON;
}

/* May a contact be at x of the surface with normal n? It is nearest there to what is along n:
 * nothing of the triangles at x lies before it. */
static int is_of_surface(const perp_field *f, int i, int j, const double *x, const double *n,
                         double flat)
{
    const double UNDER = 1e-3;
    double above, size = f->cell[0] + f->cell[1];
    for (int b = j > 0 ? j - 1 : 0; b <= j + 1 && b < f->n[1] - 1; b++)
        for (int a = i > 0 ? i - 1 : 0; a <= i + 1 && a < f->n[0] - 1; a++)
            for (int which = 0; which < 2; which++) {
                double t[3][3];
                triangle_at(f, a, b, which, t);
                if (!is_over((const double(*)[3])t, x, &above)) continue;
                if (above < -UNDER * (size + fabs(x[2]))) return 0; /* at its side */
                for (int k = 0; k < 3; k++) {
                    double to[3];
                    perp__move3(t[k], -1, x, to);
                    if (perp__dot3(to, n) > flat * perp__length3(to) + 1e-12 * size) return 0;
                }
            }
    return 1;
}

/* A contact along the normal of a prism's triangle at what is lowest beside that. */
static perp_contact lowest_touch(const perp__prism *p, const perp__placed *other, const double *up)
{
    double round = perp__shape_round(other->shape), back[3] = {-up[0], -up[1], -up[2]}, x[3],
           gap = perp__apart(&p->placed, other, up) - round;
    perp_contact t = {.gap = gap, .feature = -1};
    perp__shape_support(other, back, x);
    perp__move3(x, 1, other->p, x);
    memcpy(t.normal, up, sizeof t.normal);
    perp__move3(x, -round - 0.5 * gap, up, t.point);
    return t;
}

/* Penetration so deep in a prism that its sides are nearer than its top: out by the top. The lowest
 * point counts if it is above or below the triangle, also outside its columns along the normal.
 * *spare: the least deep of the lowest points elsewhere, if nothing else is found. */
static int touch_deep(const perp__placed *field, const perp__prism *p, const perp__placed *other,
                      double margin, perp_contact *t, perp_contact *spare)
{
    double up[3], from[3], local[3], above, least = INFINITY;
    perp__rotate3(field->R, p->normal, up);
    int n = perp__touch_face(&p->placed, other, up, 1, margin, t);
    perp_contact lowest = lowest_touch(p, other, up);
    for (int i = 0; i < n; i++) least = fmin(least, t[i].gap);
    perp__move3(lowest.point, perp__shape_round(other->shape) + 0.5 * lowest.gap, up, from);
    perp__move3(from, -1, field->p, from);
    perp__rotate_back3(field->R, from, local);
    if (is_over((const double(*)[3])p->top, local, &above)) {
        const double LEAD = 1e-4;
        if (least <= lowest.gap + LEAD * perp__shape_least(other->shape)) return n;
        n -= n == PERP_MANIFOLD;
        t[n] = lowest;
        return n + 1;
    }
    if (!n && lowest.gap > spare->gap) *spare = lowest;
    return n;
}

/* Contacts with one triangle, at most PERP_MANIFOLD; normals from the field. */
static int touch_prism(const perp__placed *field, int i, int j, const perp__prism *p,
                       const perp__placed *other, double margin, perp_contact *t,
                       perp_contact *spare)
{
    const double LEVEL = 1e-10, SHARP = 1e-6,
                 BLUNT = 1e-3; /* how well n is known of what is curved */
    perp__separation s;
    double n[3], x[3];
    perp__separate(&p->placed, other, &s);
    double gap = s.distance - perp__shape_round(other->shape);
    if (gap > margin) return 0;
    perp__rotate_back3(field->R, s.n, n);
    perp__rotate_back3(field->R, s.x, x);
    perp__move3(x, 1, p->middle, x);
    if (perp__dot3(n, p->normal) > 1 - LEVEL ||
        is_of_surface(field->shape->field, i, j, x, n, s.distance < 0 ? BLUNT : SHARP))
        return perp__touch_convex(&p->placed, other, margin, t);
    if (s.distance >= 0) return 0; /* another triangle is nearer */
    return touch_deep(field, p, other, margin, t, spare);
}

/* Contacts of one plane ------------------------------------------------------------------------ */

/* While contacts are sorted out their first shape says what is known of them. */
enum { UNSEEN, MEMBER, CORNER, KEPT, DROPPED };

static void surface_point(const perp_contact *t, double *x)
{
    perp__move3(t->point, -0.5 * t->gap, t->normal, x);
}

static int is_in_plane(const perp_contact *of, const perp_contact *t, double size)
{
    const double LEVEL = 1e-10, FLAT = 1e-9;
    double x[3], y[3];
    if (perp__dot3(of->normal, t->normal) < 1 - LEVEL) return 0;
    surface_point(of, x);
    surface_point(t, y);
    perp__move3(y, -1, x, y);
    return fabs(perp__dot3(y, of->normal)) <= FLAT * size;
}

/* Twice the area of a, b, c seen along n; how far c is. */
static double area_of(const perp_contact *a, const perp_contact *b, const perp_contact *c,
                      const double *n)
{
    double u[3], w[3], m[3];
    perp__move3(b->point, -1, a->point, u);
    perp__move3(c->point, -1, a->point, w);
    perp__cross3(u, w, m);
    return perp__dot3(m, n);
}

static double way(const perp_contact *a, const perp_contact *b)
{
    double u[3];
    perp__move3(b->point, -1, a->point, u);
    return perp__length3(u);
}

/* The next corner of the members' hull after `at`, counterclockwise; -1: it is alone. */
static int next_corner(const perp_contact *t, int n, int at, double size)
{
    const double LINE = 1e-9;
    int best = -1;
    for (int i = 0; i < n; i++) {
        double far = way(&t[at], &t[i]), reach = best < 0 ? 0 : way(&t[at], &t[best]);
        if ((t[i].shape[0] != MEMBER && t[i].shape[0] != CORNER) || far <= LINE * size) continue;
        double area = best < 0 ? -1 : area_of(&t[at], &t[best], &t[i], t[at].normal);
        int is_level = best >= 0 && fabs(area) <= LINE * size * fmax(far, reach);
        if (is_level ? far > reach : area < 0) best = i;
    }
    return best;
}

/* The member that is furthest along an axis across the normal, then along the other: a corner. */
static int first_corner(const perp_contact *t, int n, int of)
{
    double u[3], w[3], most = -INFINITY;
    int best = of;
    perp__tangents3(t[of].normal, u, w);
    for (int i = 0; i < n; i++) {
        double along = perp__dot3(t[i].point, u) + 1e-7 * perp__dot3(t[i].point, w);
        if (t[i].shape[0] == MEMBER && along > most) {
            most = along;
            best = i;
        }
    }
    return best;
}

/* Gaps of the members beside the plane through three corners, or the line through two. Returns 0:
 * one is below it, and they are no flat face's. */
static int are_flat(const perp_contact *t, int n, const int *corner, int ncorner, double size)
{
    const double FLAT = 1e-9;
    const perp_contact *a = &t[corner[0]], *b = &t[corner[ncorner > 2 ? ncorner / 3 : 1]],
                       *c = &t[corner[ncorner > 2 ? 2 * ncorner / 3 : 1]];
    double whole = ncorner > 2 ? area_of(a, b, c, a->normal) : 1, line = way(a, b);
    for (int i = 0; i < n; i++) {
        if (t[i].shape[0] != MEMBER && t[i].shape[0] != CORNER) continue;
        double at_b = way(a, &t[i]) / line, at_c = 0;
        if (ncorner > 2) {
            at_b = area_of(a, &t[i], c, a->normal) / whole;
            at_c = area_of(a, b, &t[i], a->normal) / whole;
        }
        double off = t[i].gap - a->gap - at_b * (b->gap - a->gap) - at_c * (c->gap - a->gap);
        if (off < -FLAT * size || (t[i].shape[0] == CORNER && off > FLAT * size)) return 0;
    }
    return 1;
}

/* Of contacts in one plane, of faces that lie on several triangles, only the corners of all: the
 * others say nothing more. */
static void reduce_plane(perp_contact *t, int n, int of, double size)
{
    enum { MOST = 64 };
    int corner[MOST], count = 0;
    for (int i = of; i < n; i++)
        if (t[i].shape[0] == UNSEEN && is_in_plane(&t[of], &t[i], size)) t[i].shape[0] = MEMBER;
    int at = first_corner(t, n, of);
    for (; at >= 0 && count < MOST && t[at].shape[0] == MEMBER; at = next_corner(t, n, at, size)) {
        t[at].shape[0] = CORNER;
        corner[count++] = at;
    }
    int is_closed = at < 0 || at == corner[0],
        is_flat = is_closed && (count == 1 || are_flat(t, n, corner, count, size));
    for (int i = of; i < n; i++) {
        if (t[i].shape[0] == MEMBER) t[i].shape[0] = is_flat ? DROPPED : KEPT;
        if (t[i].shape[0] == CORNER) t[i].shape[0] = KEPT;
    }
}

/* Two triangles find what is at their edge twice. */
static void drop_doubles(perp_contact *t, int n, double size)
{
    const double SAME = 1e-9, ALIKE = 1e-8;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i && t[i].shape[0] == UNSEEN; j++)
            if (t[j].shape[0] == UNSEEN && perp__dot3(t[i].normal, t[j].normal) > 1 - ALIKE &&
                way(&t[i], &t[j]) <= SAME * size)
                t[t[j].gap > t[i].gap ? j : i].shape[0] = DROPPED;
}

static int sort_out(perp_contact *t, int n, double size)
{
    int count = 0;
    for (int i = 0; i < n; i++) t[i].shape[0] = UNSEEN;
    drop_doubles(t, n, size);
    for (int i = 0; i < n; i++)
        if (t[i].shape[0] == UNSEEN) reduce_plane(t, n, i, size);
    for (int i = 0; i < n; i++)
        if (t[i].shape[0] == KEPT) t[count++] = t[i];
    return count;
}

/* All of a pair -------------------------------------------------------------------------------- */

/* The cells from low to high along x and y where a shape may be within margin, and the shape's
 * range of height, in the field's frame. */
static void reach_of(const perp__placed *field, const perp__placed *other, double margin,
                     double low[3], double high[3])
{
    double from[3], at[3], round = perp__shape_round(other->shape) + margin;
    perp__move3(other->p, -1, field->p, from);
    perp__rotate_back3(field->R, from, at);
    for (int k = 0; k < 3; k++)
        for (int side = -1; side <= 1; side += 2) {
            double d[3] = {side * field->R[k], side * field->R[3 + k], side * field->R[6 + k]},
                   x[3];
            perp__shape_support(other, d, x);
            *(side > 0 ? &high[k] : &low[k]) = at[k] + side * (perp__dot3(d, x) + round);
        }
}

static int clamp(double x, int most)
{
    if (x >= most) return most;
    return x > 0 ? (int)x : 0;
}

int perp__field_cells(const perp__placed *field, const perp__placed *other, double margin,
                      int from[2], int to[2], double *lowest)
{
    const perp_field *f = field->shape->field;
    double low[3], high[3];
    reach_of(field, other, margin, low, high);
    *lowest = low[2];
    for (int k = 0; k < 2; k++) {
        if (high[k] < -f->half[k] || low[k] > f->half[k]) return 0;
        from[k] = clamp((low[k] + f->half[k]) / f->cell[k], f->n[k] - 2);
        to[k] = clamp((high[k] + f->half[k]) / f->cell[k], f->n[k] - 2);
    }
    return 1;
}

int perp__touch_field(const perp__placed *field, const perp__placed *other, double margin,
                      perp_contact **touch, int *room, int first)
{
    const perp_field *f = field->shape->field;
    double low, extent = perp__shape_extent(other->shape);
    int from[2], to[2], n = 0;
    perp_contact spare = {.gap = -(double)INFINITY};
    if (!perp__field_cells(field, other, margin, from, to, &low)) return 0;
    for (int j = from[1]; j <= to[1]; j++)
        for (int i = from[0]; i <= to[0]; i++)
            for (int which = 0; which < 2; which++) {
                perp__prism p;
                perp__field_prism(field, i, j, which, 2 * extent + f->cell[0] + f->cell[1], &p);
                if (low > fmax(p.top[0][2], fmax(p.top[1][2], p.top[2][2]))) continue;
                if (!perp__grow(touch, room, first + n + PERP_MANIFOLD, sizeof **touch)) return -1;
                perp_contact *t = *touch + first + n;
                memset(t, 0, PERP_MANIFOLD * sizeof *t);
                int count = touch_prism(field, i, j, &p, other, margin, t, &spare);
                for (int k = 0; k < count; k++)
                    t[k].feature =
                        (int)(((unsigned)p.tag << 8 ^ (unsigned)t[k].feature) & 0x7fffffff);
                n += count;
            }
    if (!n && isfinite(spare.gap)) {
        if (!perp__grow(touch, room, first + 1, sizeof **touch)) return -1;
        (*touch)[first + n++] = spare;
    }
    n = sort_out(*touch + first, n, fmin(extent, f->half[0] + f->half[1]));
    for (int i = first; i < first + n; i++)
        for (int k = 0; k < 3; k++) (*touch)[i].normal[k] = -(*touch)[i].normal[k];
    return n;
}
