/* Convex hulls by quickhull (Barber, Dobkin, Huhdanpaa 1996). Triangles are added towards the
 * farthest point outside; coplanar ones are merged to one face. Volume and inertia by
 * tetrahedra. */

#include "base/arena.h"
#include "base/base.h"
#include "bodies/geometry.h"
#include "bodies/space.h"

#include <stdlib.h>
#include <string.h>

static const double FLAT = 1e-10; /* beside the size: points of one plane */
static const double THIN = 100;   /* in these: what is no thicker has no inside */

typedef struct triangle {
    int v[3], next[3]; /* corners; the triangle across the edge from v[k] to v[k + 1] */
    double n[3], d, area;
    int outside; /* first of the points that lie beyond, by `after` */
    int dead, group;
} triangle;

typedef struct builder {
    double *x; /* points about their centre, none beyond 1 */
    int npoint, ntriangle, ctriangle, nvisible, cvisible;
    triangle *t;
    int *after;             /* of a point: the next one outside the same triangle; -1 */
    int *visible;           /* triangles */
    int *fresh;             /* new triangle that begins at a point */
    const triangle **order; /* by area */
    double tol;
} builder;

static double beyond(const builder *b, const triangle *t, int point)
{
    return perp__dot3(t->n, b->x + 3 * point) - t->d;
}

/* -1: memory is out. */
static int add_triangle(builder *b, int i, int j, int k)
{
    if (!perp__grow(&b->t, &b->ctriangle, b->ntriangle + 1, sizeof *b->t)) return -1;
    triangle *t = &b->t[b->ntriangle];
    double u[3], w[3];
    *t = (triangle){.v = {i, j, k}, .next = {-1, -1, -1}, .outside = -1, .group = -1};
    perp__move3(b->x + 3 * j, -1, b->x + 3 * i, u);
    perp__move3(b->x + 3 * k, -1, b->x + 3 * i, w);
    perp__cross3(u, w, t->n);
    t->area = perp__length3(t->n);
    for (int c = 0; c < 3; c++) t->n[c] = t->area > 0 ? t->n[c] / t->area : 0;
    t->d = perp__dot3(t->n, b->x + 3 * i);
    return b->ntriangle++;
}

/* A point goes to the triangle of those from `first` on that it is furthest beyond; to none: it is
 * no corner. */
static void assign(builder *b, int point, int first)
{
    double most = b->tol;
    int which = -1;
    for (int i = first; i < b->ntriangle; i++) {
        double d = beyond(b, &b->t[i], point);
        if (d > most) {
            most = d;
            which = i;
        }
    }
    if (which < 0) return;
    b->after[point] = b->t[which].outside;
    b->t[which].outside = point;
}

/* Four points that are far from each other's point, line and plane. Returns 0: there are none. */
static int first_points(const builder *b, int v[4])
{
    double most[4] = {-1, -1, -1, -1}, u[3], w[3], n[3] = {0};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < b->npoint; i++) {
            const double *x = b->x + 3 * i;
            double far = k ? 0 : x[0] - b->x[0] + 2 * (x[1] - b->x[1]) + 3 * (x[2] - b->x[2]);
            if (k) perp__move3(x, -1, b->x + 3 * v[0], u);
            if (k == 1) far = perp__length3(u);
            if (k == 2) {
                perp__cross3(n, u, w);
                far = perp__length3(w);
            }
            if (k == 3) far = fabs(perp__dot3(n, u));
            if (i == 0 || far > most[k]) {
                most[k] = far;
                v[k] = i;
            }
            if (i + 1 < b->npoint || !k) continue;
            if (!(most[k] > THIN * b->tol)) return 0;
            perp__move3(b->x + 3 * v[k], -1, b->x + 3 * v[0], u);
            if (k == 2) perp__cross3(n, u, n);
            if (k == 1) memcpy(n, u, sizeof n);
            double length = perp__length3(n);
            for (int c = 0; c < 3; c++) n[c] /= length;
        }
    return 1;
}

static int edge_from(const triangle *t, int point)
{
    if (t->v[0] == point) return 0;
    return t->v[1] == point ? 1 : 2;
}

static int first_tetrahedron(builder *b)
{
    int v[4];
    if (!first_points(b, v)) return 0;
    double u[3][3], n[3];
    for (int k = 0; k < 3; k++) perp__move3(b->x + 3 * v[k + 1], -1, b->x + 3 * v[0], u[k]);
    perp__cross3(u[0], u[1], n);
    if (perp__dot3(n, u[2]) > 0) {
        int swap = v[0];
        v[0] = v[1];
        v[1] = swap;
    }
    static const int face[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    for (int i = 0; i < 4; i++)
        if (add_triangle(b, v[face[i][0]], v[face[i][1]], v[face[i][2]]) < 0) return -1;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 4; j++)
                for (int m = 0; m < 3; m++)
                    if (b->t[j].v[m] == b->t[i].v[(k + 1) % 3] &&
                        b->t[j].v[(m + 1) % 3] == b->t[i].v[k])
                        b->t[i].next[k] = j;
    for (int i = 0; i < b->npoint; i++)
        if (i != v[0] && i != v[1] && i != v[2] && i != v[3]) assign(b, i, 0);
    return 1;
}

/* The triangles that a point sees, from one on: dead now. */
static int mark_visible(builder *b, int from, int point)
{
    b->nvisible = 0;
    if (!perp__grow(&b->visible, &b->cvisible, b->ntriangle, sizeof *b->visible)) return 0;
    b->visible[b->nvisible++] = from;
    b->t[from].dead = 1;
    for (int i = 0; i < b->nvisible; i++)
        for (int k = 0; k < 3; k++) {
            int next = b->t[b->visible[i]].next[k];
            if (b->t[next].dead || beyond(b, &b->t[next], point) <= b->tol) continue;
            b->t[next].dead = 1;
            b->visible[b->nvisible++] = next;
        }
    return 1;
}

/* The point becomes a corner: a fan of triangles to the edge of what it sees. PERP_ERR_MODEL: by
 * rounding, that has no one edge. */
static perp_status add_point(builder *b, int from, int point)
{
    int first = b->ntriangle;
    if (!mark_visible(b, from, point)) return PERP_ERR_MEMORY;
    for (int i = 0; i < b->nvisible; i++)
        for (int k = 0; k < 3; k++) {
            triangle seen = b->t[b->visible[i]];
            if (b->t[seen.next[k]].dead) continue;
            int start = seen.v[k], end = seen.v[(k + 1) % 3],
                one = add_triangle(b, start, end, point);
            if (one < 0) return PERP_ERR_MEMORY;
            triangle *other = &b->t[seen.next[k]];
            b->t[one].next[0] = seen.next[k];
            other->next[edge_from(other, end)] = one;
            b->fresh[start] = one;
        }
    for (int i = first; i < b->ntriangle; i++) {
        int after = b->fresh[b->t[i].v[1]];
        b->t[i].next[1] = after;
        b->t[after].next[2] = i;
    }
    for (int i = first; i < b->ntriangle; i++)
        if (b->t[i].next[2] < 0) return PERP_ERR_MODEL;
    for (int i = 0; i < b->nvisible; i++)
        for (int p = b->t[b->visible[i]].outside, next; p >= 0; p = next) {
            next = b->after[p];
            if (p != point) assign(b, p, first);
        }
    return PERP_OK;
}

static perp_status grow_hull(builder *b)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < b->ntriangle && status == PERP_OK; i++) {
        double most = -1;
        int which = -1;
        if (b->t[i].dead) continue;
        for (int p = b->t[i].outside; p >= 0; p = b->after[p])
            if (beyond(b, &b->t[i], p) > most) {
                most = beyond(b, &b->t[i], p);
                which = p;
            }
        if (which >= 0) status = add_point(b, i, which);
    }
    return status;
}

/* Faces ---------------------------------------------------------------------------------------- */

static int compare_areas(const void *a, const void *b)
{
    const triangle *x = *(const triangle *const *)a, *y = *(const triangle *const *)b;
    return x->area != y->area ? (x->area < y->area) - (x->area > y->area) : (x > y) - (x < y);
}

/* The living triangles, the largest first; how many. */
static int by_area(const builder *b, const triangle **order)
{
    int n = 0;
    for (int i = 0; i < b->ntriangle; i++)
        if (!b->t[i].dead) order[n++] = &b->t[i];
    qsort(order, (size_t)n, sizeof *order, compare_areas);
    return n;
}

/* The triangles in one plane with the seed, that are connected to it and have no face yet: its
 * group. */
static void gather(builder *b, int group, const triangle *seed)
{
    b->nvisible = 0;
    b->visible[b->nvisible++] = (int)(seed - b->t);
    b->t[seed - b->t].group = group;
    for (int i = 0; i < b->nvisible; i++)
        for (int k = 0; k < 3; k++) {
            triangle *next = &b->t[b->t[b->visible[i]].next[k]];
            int flat = next->group < 0;
            for (int c = 0; c < 3 && flat; c++)
                flat = fabs(beyond(b, seed, next->v[c])) <= 10 * b->tol;
            if (!flat) continue;
            next->group = group;
            b->visible[b->nvisible++] = (int)(next - b->t);
        }
}

/* The corners around a group, counterclockwise; how many. Returns 0: it has no one boundary. */
static int go_round(const builder *b, int group, int *corner)
{
    int t = -1, k = 0, n = 0, most = 3 * b->nvisible + 3;
    for (int i = 0; i < b->nvisible && t < 0; i++)
        for (k = 0; k < 3; k++)
            if (b->t[b->t[b->visible[i]].next[k]].group != group) {
                t = b->visible[i];
                break;
            }
    const int t0 = t, k0 = k;
    if (t < 0) return 0;
    do {
        int end = b->t[t].v[(k + 1) % 3], turns = 0;
        if (n == most) return 0;
        corner[n++] = b->t[t].v[k];
        for (k = (k + 1) % 3; b->t[b->t[t].next[k]].group == group;) {
            if (turns++ == b->nvisible) return 0;
            t = b->t[t].next[k];
            k = edge_from(&b->t[t], end);
        }
    } while (t != t0 || k != k0);
    return n;
}

/* The face's normal, and its offset among the points as they were given. */
static int face_plane(const builder *b, const double *point, const int *corner, perp__face *face)
{
    double sum[3] = {0}, u[3], w[3], n[3];
    for (int k = 1; k + 1 < face->n; k++) {
        perp__move3(b->x + 3 * corner[k], -1, b->x + 3 * corner[0], u);
        perp__move3(b->x + 3 * corner[k + 1], -1, b->x + 3 * corner[0], w);
        perp__cross3(u, w, n);
        perp__move3(sum, 1, n, sum);
    }
    double length = perp__length3(sum);
    for (int c = 0; c < 3; c++) face->normal[c] = sum[c] / length;
    face->offset = -INFINITY;
    for (int k = 0; k < face->n; k++)
        face->offset = fmax(face->offset, perp__dot3(face->normal, point + 3 * corner[k]));
    return length > 0;
}

/* Volume, centre and inertia from tetrahedra between the origin `o` and the faces' triangles (Tonon
 * 2004). */
static void weigh(perp_mesh *m, const double *o)
{
    double first[3] = {0}, second[3][3] = {{0}};
    m->mass = 0;
    for (int f = 0; f < m->nface; f++) {
        const int *corner = m->corner + m->face[f].first;
        for (int k = 1; k + 1 < m->face[f].n; k++) {
            const int v[3] = {corner[0], corner[k], corner[k + 1]};
            double x[3][3], n[3], sum[3];
            for (int c = 0; c < 3; c++) perp__move3(m->point + 3 * v[c], -1, o, x[c]);
            perp__cross3(x[1], x[2], n);
            double volume = perp__dot3(x[0], n) / 6;
            m->mass += volume;
            for (int c = 0; c < 3; c++) sum[c] = x[0][c] + x[1][c] + x[2][c];
            perp__move3(first, volume / 4, sum, first);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++)
                    second[r][c] += volume / 20 *
                                    (x[0][r] * x[0][c] + x[1][r] * x[1][c] + x[2][r] * x[2][c] +
                                     sum[r] * sum[c]);
        }
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int c = 0; c < 3; c++) first[c] /= m->mass;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) second[r][c] -= m->mass * first[r] * first[c];
    double trace = second[0][0] + second[1][1] + second[2][2];
    for (int k = 0; k < 6; k++) m->inertia[k] = (k < 3 ? trace : 0) - second[row[k]][col[k]];
    perp__move3(o, 1, first, m->center);
}

/* Corners that faces use, in the order in which they were given. */
static int keep_corners(builder *b, const double *point, perp_mesh *m, int ncorner)
{
    int *is = b->after; /* no longer needed */
    for (int i = 0; i < b->npoint; i++) is[i] = -1;
    for (int i = 0; i < ncorner; i++) is[m->corner[i]] = 0;
    for (int i = 0; i < b->npoint; i++)
        if (is[i] >= 0) is[i] = m->npoint++;
    m->point = malloc(3 * (size_t)m->npoint * sizeof *m->point);
    if (!m->point) return 0;
    for (int i = 0; i < b->npoint; i++)
        if (is[i] >= 0) memcpy(m->point + 3 * is[i], point + 3 * i, 3 * sizeof *m->point);
    for (int i = 0; i < ncorner; i++) m->corner[i] = is[m->corner[i]];
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < m->npoint; i++) {
        const double *x = m->point + 3 * i;
        m->radius = fmax(m->radius, perp__length3(x));
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], x[c]);
            high[c] = fmax(high[c], x[c]);
        }
    }
    m->size = 0.5 * fmin(fmin(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
    return 1;
}

static double distance(const perp__face *face, const double *x)
{
    return perp__dot3(face->normal, x) - face->offset;
}

/* Of the corners, what is furthest beyond the face. All other points lie within their hull. */
static double furthest(const perp_mesh *m, const perp__face *face)
{
    double most = 0;
    for (int i = 0; i < m->npoint; i++) {
        double d = distance(face, m->point + 3 * i);
        if (d > most) most = d;
    }
    return most;
}

/* A face so narrow that rounding has turned it into the body takes the plane of the face that it
 * lies in. Returns 0: there is none. */
static int straighten(perp_mesh *m, double tol)
{
    for (int f = 0; f < m->nface; f++) {
        perp__face *own = &m->face[f];
        double least = INFINITY;
        int which = f;
        if (furthest(m, own) <= tol) continue;
        for (int g = 0; g < m->nface; g++) {
            double most = 0;
            for (int k = 0; k < own->n; k++) {
                const double *corner = m->point + 3 * m->corner[own->first + k];
                most = fmax(most, fabs(distance(&m->face[g], corner)));
            }
            if (g == f || most >= least || furthest(m, &m->face[g]) > tol) continue;
            least = most;
            which = g;
        }
        if (!(least <= 10 * tol)) return 0;
        memcpy(own->normal, m->face[which].normal, sizeof own->normal);
        own->offset = m->face[which].offset;
    }
    return 1;
}

/* PERP_ERR_MODEL: rounding has left no closed surface. */
static perp_status make_faces(builder *b, const double *point, double size, perp_mesh *m)
{
    int ncorner = 0;
    if (!perp__grow(&b->visible, &b->cvisible, b->ntriangle, sizeof *b->visible))
        return PERP_ERR_MEMORY;
    m->corner = malloc(3 * (size_t)b->ntriangle * sizeof *m->corner);
    m->face = malloc((size_t)b->ntriangle * sizeof *m->face);
    b->order = malloc((size_t)b->ntriangle * sizeof *b->order);
    if (!m->corner || !m->face || !b->order) return PERP_ERR_MEMORY;
    for (int i = 0, n = by_area(b, b->order); i < n; i++) {
        if (b->order[i]->group >= 0) continue;
        perp__face *face = &m->face[m->nface];
        gather(b, m->nface, b->order[i]);
        face->first = ncorner;
        face->n = go_round(b, m->nface++, m->corner + ncorner);
        if (!face_plane(b, point, m->corner + ncorner, face)) return PERP_ERR_MODEL;
        ncorner += face->n;
    }
    if (!keep_corners(b, point, m, ncorner)) return PERP_ERR_MEMORY;
    int is_closed = 2 * (m->npoint + m->nface) - ncorner == 4; /* Euler */
    return is_closed && straighten(m, 10 * THIN * FLAT * size) ? PERP_OK : PERP_ERR_MODEL;
}

/* The points about their centre, which is `middle`, in a unit in which their size, half of their
 * extent, is below 1. Returns 0: memory is out. */
static int take_points(builder *b, const double *point, double *middle, double *size)
{
    int exponent = 0;
    *size = 0;
    for (int c = 0; c < 3; c++) {
        double low = point[c], high = point[c];
        for (int i = 0; i < b->npoint; i++) {
            low = fmin(low, point[3 * i + c]);
            high = fmax(high, point[3 * i + c]);
        }
        *size = fmax(*size, 0.5 * high - 0.5 * low);
        middle[c] = 0.5 * low + 0.5 * high;
    }
    (void)frexp(*size, &exponent);
    b->tol = FLAT * ldexp(*size, 1 - exponent);
    b->x = malloc(3 * (size_t)b->npoint * sizeof *b->x);
    b->after = malloc((size_t)b->npoint * sizeof *b->after);
    b->fresh = calloc((size_t)b->npoint, sizeof *b->fresh);
    if (!b->x || !b->after || !b->fresh) return 0;
    for (int i = 0; i < 3 * b->npoint; i++) b->x[i] = ldexp(point[i] - middle[i % 3], -exponent);
    for (int i = 0; i < b->npoint; i++) b->after[i] = -1;
    return 1;
}

static perp_status build(builder *b, const double *point, perp_mesh *m, perp_diag *diag)
{
    double middle[3], size;
    if (!take_points(b, point, middle, &size)) return perp__out_of_memory(diag, "mesh");
    int is_solid = first_tetrahedron(b);
    if (is_solid == 0)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL),
                            "a hull needs four points that do not lie in one plane; these %d do, "
                            "to 1e-8 of their size\n",
                            b->npoint);
    perp_status status = is_solid < 0 ? PERP_ERR_MEMORY : grow_hull(b);
    if (status == PERP_OK) status = make_faces(b, point, size, m);
    if (status == PERP_ERR_MEMORY) return perp__out_of_memory(diag, "mesh");
    if (status == PERP_OK) weigh(m, middle);
    for (int k = 0; k < 3; k++)
        if (!(m->inertia[k] > 0 && isfinite(m->inertia[k]))) status = PERP_ERR_MODEL;
    if (status == PERP_OK) return PERP_OK;
    return perp__refuse(diag, PERP_ERR_MODEL, perp__in(NULL),
                        "these %d points have no hull with a volume and an inertia that double "
                        "precision can hold\n",
                        b->npoint);
}

perp_status perp_mesh_hull(const double *point, int npoint, perp_mesh **mesh, perp_diag *diag)
{
    if (!mesh) return PERP_ERR_ARG;
    *mesh = NULL;
    if (!point || npoint < 4)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL), "a hull needs four points\n");
    for (int i = 0; i < npoint; i++)
        for (int c = 0; c < 3; c++)
            if (!isfinite(point[3 * i + c]))
                return perp__refuse(diag, PERP_ERR_ARG, perp__in(NULL),
                                    "point %d of the hull is not finite\n", i);
    builder b = {.npoint = npoint};
    perp_mesh *m = calloc(1, sizeof *m);
    perp_status status = m ? build(&b, point, m, diag) : perp__out_of_memory(diag, "mesh");
    free(b.x);
    free(b.t);
    free(b.after);
    free(b.visible);
    free(b.fresh);
    free(b.order);
    if (status == PERP_OK)
        *mesh = m;
    else
        perp_mesh_destroy(m);
    return status;
}

void perp_mesh_destroy(perp_mesh *m)
{
    if (!m) return;
    free(m->point);
    free(m->corner);
    free(m->face);
    free(m);
}

int perp_mesh_points(const perp_mesh *m, const double **point)
{
    if (point) *point = m->point;
    return m->npoint;
}

int perp_mesh_face(const perp_mesh *m, int k, const int **corner)
{
    if (!m || k < 0 || k >= m->nface) return 0;
    if (corner) *corner = m->corner + m->face[k].first;
    return m->face[k].n;
}

void perp_mesh_mass(const perp_mesh *m, double *mass, double center[3], double inertia[6])
{
    if (mass) *mass = m->mass;
    if (center) memcpy(center, m->center, sizeof m->center);
    if (inertia) memcpy(inertia, m->inertia, sizeof m->inertia);
}
