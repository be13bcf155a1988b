/* Random scenes in a closed room: no step takes a shape through another. Bodies are thrown by up to 100 of their sizes a step, spun, pushed, and
 * set anew between steps; some are rods that hang on each other. The check is the test's own: poses along each substep, which step.c, included
 * here, is seen to make; points on the surface of one shape within the other. And the room must hold all bodies. PERP_LONG=1 takes 1e5 scenes,
 * another number so many thousands, PERP_SEED others. */

#include "unit.h"

#include "bodies/bodies.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Where step.c moves the state. */
static void see_motion(const perp_bodies *b, const double *v, double h, double *q);
#define perp__bodies_move see_motion
#include "bodies/step.c"
#undef perp__bodies_move

#include "perp/perp.h"

enum { MOST = 8, STATIC = 9, POINTS = 160, STEPS = 10 };
static unsigned long long seed;

static double random_in(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static int one_of(int n)
{
    return (int)random_in(0, n - 1e-9);
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* What the substeps of a step were: positions before, velocities, length. --------------------------------- */

enum { SUBSTEPS = 4096 };
#ifdef __SANITIZE_ADDRESS__ /* ten times as slow */
enum { SCENES = 20 };
#else
enum { SCENES = 200 };
#endif
typedef struct substep {
    double q[7 * MOST], v[6 * MOST], h;
} substep;
static substep seen[SUBSTEPS];
static double begin[7 * MOST];
static int nseen;

static void see_motion(const perp_bodies *b, const double *v, double h, double *q)
{
    size_t nq = (size_t)b->scene->nq * sizeof *q, nv = (size_t)b->scene->nv * sizeof *v;
    if (q == b->q) {
        if (memcmp(q, begin, nq) == 0) nseen = 0; /* what was tried before does not count */
        assert_true(nseen < SUBSTEPS);
        substep *to = &seen[nseen++];
        memcpy(to->q, q, nq);
        memcpy(to->v, v, nv);
        to->h = h;
    }
    perp__bodies_move(b, v, h, q);
}

/* The test's shapes --------------------------------------------------------------------------------- */

typedef struct solid {
    perp_shape is;
    double R[9];             /* in its body */
    double point[POINTS][3]; /* on its surface, in its own frame */
    int n;
    double extent, least;
    double plane[64][4]; /* of a hull: n'x <= d */
    int nplane;
} solid;

static void matrix_of(const double *q, double *R)
{
    double w = q[0], x = q[1], y = q[2], z = q[3], s = 2 / (w * w + x * x + y * y + z * z);
    R[0] = 1 - s * (y * y + z * z), R[1] = s * (x * y - w * z), R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z), R[4] = 1 - s * (x * x + z * z), R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y), R[7] = s * (y * z + w * x), R[8] = 1 - s * (x * x + y * y);
}

/* How deep a point of a shape's frame is in it; not above 0: outside. */
static double depth_in(const solid *s, const double *x)
{
    const double *h = s->is.size;
    double best = INFINITY;
    switch (s->is.kind) {
    case PERP_SHAPE_SPHERE: return h[0] - sqrt(dot(x, x));
    case PERP_SHAPE_CAPSULE: {
        double z = fmax(0, fabs(x[2]) - h[1]);
        return h[0] - sqrt(x[0] * x[0] + x[1] * x[1] + z * z);
    }
    case PERP_SHAPE_CYLINDER: return fmin(h[0] - hypot(x[0], x[1]), h[1] - fabs(x[2]));
    case PERP_SHAPE_BOX:
        for (int k = 0; k < 3; k++) best = fmin(best, h[k] - fabs(x[k]));
        return best;
    default:
        for (int k = 0; k < s->nplane; k++) best = fmin(best, s->plane[k][3] - dot(s->plane[k], x));
        return best;
    }
}

static void add_point(solid *s, double x, double y, double z)
{
    if (s->n == POINTS) return;
    s->point[s->n][0] = x, s->point[s->n][1] = y, s->point[s->n++][2] = z;
}

/* Planes through three corners that have all others on one side. */
static void find_planes(solid *s, const double (*c)[3], int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            for (int k = j + 1; k < n; k++) {
                double u[3], w[3], m[3], low = 0, high = 0;
                for (int d = 0; d < 3; d++) u[d] = c[j][d] - c[i][d], w[d] = c[k][d] - c[i][d];
                for (int d = 0; d < 3; d++)
                    m[d] = u[(d + 1) % 3] * w[(d + 2) % 3] - u[(d + 2) % 3] * w[(d + 1) % 3];
                double length = sqrt(dot(m, m));
                for (int d = 0; d < 3; d++) m[d] /= length;
                double at = dot(m, c[i]);
                for (int p = 0; p < n; p++) {
                    low = fmin(low, dot(m, c[p]) - at), high = fmax(high, dot(m, c[p]) - at);
                }
                if ((low < -1e-12 && high > 1e-12) || s->nplane == 64) continue;
                double sign = high > 1e-12 ? -1 : 1, *to = s->plane[s->nplane++];
                for (int d = 0; d < 3; d++) to[d] = sign * m[d];
                to[3] = sign * at;
            }
}

static void draw_points(solid *s, const double (*corner)[3], int ncorner)
{
    const double *h = s->is.size;
    for (int i = 0; i < ncorner; i++) add_point(s, corner[i][0], corner[i][1], corner[i][2]);
    for (int i = 0; i < ncorner && ncorner < 12; i++) /* between corners: edges, faces */
        for (int j = 0; j < i; j++)
            for (int k = 1; k < 4; k++) {
                double t = k / 4.0;
                add_point(s, corner[i][0] * t + corner[j][0] * (1 - t),
                          corner[i][1] * t + corner[j][1] * (1 - t),
                          corner[i][2] * t + corner[j][2] * (1 - t));
            }
    for (int i = 0; s->n < POINTS && !ncorner; i++) { /* spirals around what is round */
        double z = 2 * (i + 0.5) / POINTS - 1, a = 2.4 * i, r = sqrt(1 - z * z);
        if (s->is.kind == PERP_SHAPE_SPHERE)
            add_point(s, h[0] * r * cos(a), h[0] * r * sin(a), h[0] * z);
        if (s->is.kind == PERP_SHAPE_CAPSULE)
            add_point(s, h[0] * r * cos(a), h[0] * r * sin(a),
                      h[0] * z + copysign(h[1], z) * (i % 3 / 2.0));
        if (s->is.kind == PERP_SHAPE_CYLINDER) {
            double out = i % 3 ? 1 : sqrt(fabs(z));
            add_point(s, h[0] * out * cos(a), h[0] * out * sin(a),
                      i % 3 == 1 ? h[1] * z : copysign(h[1], z));
        }
    }
}

static void draw_solid(solid *s, int kind, double size)
{
    static const perp_shape_kind kinds[] = {PERP_SHAPE_SPHERE, PERP_SHAPE_BOX, PERP_SHAPE_MESH,
                                            PERP_SHAPE_CAPSULE, PERP_SHAPE_CYLINDER};
    double corner[8][3], *h = s->is.size;
    int n = 0;
    *s = (solid){.is.kind = kinds[kind], .least = INFINITY};
    for (int k = 0; k < 3; k++) h[k] = size * random_in(0.3, 1);
    if (one_of(4) == 0) h[one_of(2)] *= 0.2; /* plates, needles */
    if (s->is.kind == PERP_SHAPE_BOX)
        for (; n < 8; n++)
            for (int k = 0; k < 3; k++) corner[n][k] = n >> k & 1 ? h[k] : -h[k];
    if (s->is.kind == PERP_SHAPE_MESH) {
        for (; n < 7; n++) {
            double length = 0;
            for (int k = 0; k < 3; k++)
                corner[n][k] = random_in(-1, 1), length += corner[n][k] * corner[n][k];
            for (int k = 0; k < 3; k++) corner[n][k] *= size / sqrt(length);
        }
        assert_int_equal(perp_mesh_hull(corner[0], n, (perp_mesh **)&s->is.mesh, NULL), PERP_OK);
        find_planes(s, (const double(*)[3])corner, n);
    }
    draw_points(s, (const double(*)[3])corner, n);
    for (int i = 0; i < s->n; i++) s->extent = fmax(s->extent, sqrt(dot(s->point[i], s->point[i])));
    if (s->is.kind == PERP_SHAPE_CAPSULE) s->extent = h[0] + h[1];
    for (int k = 0; k < 3; k++) {
        double low = 0, high = 0;
        for (int i = 0; i < s->n; i++)
            low = fmin(low, s->point[i][k]), high = fmax(high, s->point[i][k]);
        s->least = fmin(s->least, 0.5 * (high - low));
    }
    s->is.rotation[0] = 1;
    matrix_of(s->is.rotation, s->R);
}

/* Scenes ------------------------------------------------------------------------------------------------ */

typedef struct scene {
    solid solid[STATIC + MOST];
    perp_body body[MOST];
    int nbody, is_rod[MOST];
    double room, h;
    int is_midpoint;
    perp_field *field;
    perp_bodies *b;
} scene;

typedef struct place {
    double R[9], p[3];
} place;

/* Where a shape is a time t after q at velocities v; of a static one always. */
static void place_of(const scene *s, int k, const double *q, const double *v, double t, place *at)
{
    const solid *x = &s->solid[k];
    memcpy(at->p, x->is.position, sizeof at->p);
    memcpy(at->R, x->R, sizeof at->R);
    if (k < STATIC) return;
    int body = k - STATIC + 1, iq = perp_bodies_q_of(s->b, body), iv = perp_bodies_v_of(s->b, body);
    if (s->is_rod[body - 1]) { /* the second hangs on the end of the first */
        double up = body == 2 ? q[0] + t * v[0] : 0;
        const double pivot[2] = {body == 2 ? 0.4 * cos(up) : 0, body == 2 ? 0.4 * sin(up) : 0};
        double angle = up + q[iq] + t * v[iv], turn[4] = {cos(angle / 2), 0, 0, sin(angle / 2)},
               T[9];
        matrix_of(turn, T);
        for (int i = 0; i < 3; i++)
            at->p[i] = (i < 2 ? pivot[i] : 0) + dot(T + 3 * i, x->is.position);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                at->R[3 * i + j] =
                    T[3 * i] * x->R[j] + T[3 * i + 1] * x->R[3 + j] + T[3 * i + 2] * x->R[6 + j];
        return;
    }
    const double *w = v + iv + 3, *r = q + iq + 3;
    double speed = sqrt(dot(w, w)), half = s->is_midpoint ? atan(0.5 * t * speed) : 0.5 * t * speed,
           c = cos(half), f = speed > 0 ? sin(half) / speed : 0;
    double by[3] = {f * w[0], f * w[1], f * w[2]};
    double turned[4] = {r[0] * c - dot(r + 1, by), 0, 0, 0};
    for (int i = 0; i < 3; i++)
        turned[1 + i] = r[0] * by[i] + c * r[1 + i] + r[1 + (i + 1) % 3] * by[(i + 2) % 3] -
                        r[1 + (i + 2) % 3] * by[(i + 1) % 3];
    matrix_of(turned, at->R);
    for (int i = 0; i < 3; i++) at->p[i] = q[iq + i] + t * v[iv + i];
}

/* How deep points of one are in the other. */
static double depth_of(const solid *x, const place *px, const solid *y, const place *py)
{
    double most = -INFINITY;
    for (int i = 0; i < x->n; i++) {
        double world[3], local[3];
        for (int k = 0; k < 3; k++)
            world[k] = px->p[k] + dot(px->R + 3 * k, x->point[i]) - py->p[k];
        for (int k = 0; k < 3; k++)
            local[k] = py->R[k] * world[0] + py->R[3 + k] * world[1] + py->R[6 + k] * world[2];
        most = fmax(most, depth_in(y, local));
    }
    return most;
}

static double field_height(const scene *s, double x, double y)
{
    const double *height;
    int n[2];
    double half[2];
    perp_field_heights(s->field, &height, n, half);
    double u = (x + half[0]) / (2 * half[0]) * (n[0] - 1),
           w = (y + half[1]) / (2 * half[1]) * (n[1] - 1);
    int i = (int)u, j = (int)w;
    if (u < 0 || w < 0 || i > n[0] - 2 || j > n[1] - 2) return -INFINITY;
    u -= i, w -= j;
    double a = height[i + j * n[0]], b = height[i + 1 + j * n[0]], c = height[i + (j + 1) * n[0]],
           d = height[i + 1 + (j + 1) * n[0]];
    return u > w ? a + u * (b - a) + w * (d - b) : a + w * (c - a) + u * (d - c);
}

/* Of the field `heights` are vertical: no less than depths. */
static double depth_between(const scene *s, int i, int j, const place *pi, const place *pj)
{
    const solid *x = &s->solid[i], *y = &s->solid[j];
    if (x->is.kind == PERP_SHAPE_FIELD) {
        double most = -INFINITY;
        for (int k = 0; k < y->n; k++) {
            double p[3];
            for (int d = 0; d < 3; d++)
                p[d] = pj->p[d] + dot(pj->R + 3 * d, y->point[k]) - pi->p[d];
            most = fmax(most, 0.5 * (field_height(s, p[0], p[1]) - p[2])); /* slopes are gentle */
        }
        return most;
    }
    double from[3] = {pj->p[0] - pi->p[0], pj->p[1] - pi->p[1], pj->p[2] - pi->p[2]};
    if (sqrt(dot(from, from)) > x->extent + y->extent) return -INFINITY;
    return fmax(depth_of(x, pi, y, pj), depth_of(y, pj, x, pi));
}

static double tolerance(const scene *s, int i, int j)
{
    return 0.025 * fmin(s->solid[i].least, s->solid[j].least);
}

/* Is a shape clear of all others, where it is? */
static int is_free(const scene *s, int k, const double *q, const double *v)
{
    place mine, other;
    place_of(s, k, q, v, 0, &mine);
    for (int i = 0; i < s->solid[k].n; i++) /* a wall is thinner than the way between two points */
        for (int d = 0; d < 3; d++)
            if (fabs(mine.p[d] + dot(mine.R + 3 * d, s->solid[k].point[i])) > 0.99 * s->room)
                return 0;
    for (int i = 0; i < STATIC + s->nbody; i++) {
        if (i == k) continue;
        place_of(s, i, q, v, 0, &other);
        double far[3] = {mine.p[0] - other.p[0], mine.p[1] - other.p[1], mine.p[2] - other.p[2]};
        if (i >= STATIC && sqrt(dot(far, far)) < s->solid[i].extent + s->solid[k].extent) return 0;
        if (i < STATIC && depth_between(s, i, k, &other, &mine) > -0.02 * s->solid[k].least)
            return 0;
    }
    return 1;
}

static void make_room(scene *s)
{
    for (int k = 0; k < 6; k++) { /* thin walls, which overlap at their edges */
        solid *x = &s->solid[k];
        *x = (solid){
            .is.kind = PERP_SHAPE_BOX, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .is.rotation = {1}};
        for (int i = 0; i < 3; i++) x->is.size[i] = s->room * (i == k / 2 ? 0.01 : 1.05);
        x->is.position[k / 2] = s->room * (k % 2 ? 1.01 : -1.01);
        x->extent = 3 * s->room, x->least = 0.01 * s->room;
    }
    double height[49];
    const double half[2] = {s->room, s->room};
    for (int k = 0; k < 49; k++) height[k] = s->room * random_in(-0.05, 0.05);
    assert_int_equal(perp_field_create(height, 7, 7, half, &s->field, NULL), PERP_OK);
    s->solid[6] = (solid){.is = {.kind = PERP_SHAPE_FIELD, .field = s->field, .rotation = {1}},
                          .R = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                          .least = INFINITY};
    s->solid[6].is.position[2] = -0.8 * s->room;
    for (int k = 7; k < STATIC; k++) { /* what stands within */
        draw_solid(&s->solid[k], one_of(5), 0.3 * s->room * random_in(0.2, 1));
        for (int i = 0; i < 3; i++) s->solid[k].is.position[i] = s->room * random_in(-0.6, 0.6);
        for (int i = 0; i < 4; i++) s->solid[k].is.rotation[i] = random_in(-1, 1);
        matrix_of(s->solid[k].is.rotation, s->solid[k].R);
    }
}

/* Bodies where they are clear, as well as can be; 0: there is no room. */
static int put(const scene *s, double *q, const double *v)
{
    for (int k = 0; k < s->nbody; k++) {
        int at = perp_bodies_q_of(s->b, k + 1), tries = 0;
        do {
            if (++tries > 200) return 0;
            if (s->is_rod[k]) {
                q[at] = random_in(-3, 3);
                continue;
            }
            for (int i = 0; i < 3; i++) q[at + i] = s->room * random_in(-0.9, 0.9);
            for (int i = 3; i < 7; i++) q[at + i] = random_in(-1, 1);
            double length = 0;
            for (int i = 3; i < 7; i++) length += q[at + i] * q[at + i];
            for (int i = 3; i < 7; i++) q[at + i] /= sqrt(length);
        } while (!is_free(s, k + STATIC, q, v));
    }
    return 1;
}

static void draw_velocities(const scene *s, double *v, int nv)
{
    for (int i = 0; i < nv; i++) v[i] = 0;
    for (int k = 0; k < s->nbody; k++) {
        int at = perp_bodies_v_of(s->b, k + 1);
        double size = s->solid[STATIC + k].extent,
               speed = size / s->h * (one_of(3) ? pow(10, random_in(-2, 2)) : 0),
               spin = one_of(3) ? pow(10, random_in(-2, 0.3)) / s->h : 0;
        if (s->is_rod[k]) {
            v[at] = random_in(-1, 1) * fmin(spin, 1 / s->h);
            continue;
        }
        for (int i = 0; i < 3; i++)
            v[at + i] = speed * random_in(-1, 1), v[at + 3 + i] = spin * random_in(-1, 1);
    }
}

static int draw_scene(scene *s)
{
    perp_shape shape[STATIC + MOST];
    perp_bodies_options o = perp_bodies_options_default();
    perp_diag diag = {0};
    memset(s, 0, sizeof *s);
    s->room = 1, s->h = pow(10, random_in(-3.3, -1.7)), s->nbody = 1 + one_of(MOST);
    make_room(s);
    for (int k = 0; k < s->nbody; k++) {
        solid *x = &s->solid[STATIC + k];
        double size = pow(10, random_in(-1.7, -0.7)), I;
        s->is_rod[k] = k < 2 && (k == 0 || s->is_rod[0]) && one_of(3) == 0;
        draw_solid(x, s->is_rod[k] ? 3 : one_of(5), size);
        I = 0.3 * size * size;
        s->body[k] = (perp_body){.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {I, I, I}};
        if (s->is_rod[k]) { /* a capsule that turns about an end */
            x->is.size[0] = 0.02, x->is.size[1] = 0.2;
            x->n = 0;
            draw_points(x, NULL, 0);
            x->extent = 0.22, x->least = 0.02;
            x->is.rotation[0] = sqrt(0.5), x->is.rotation[2] = sqrt(0.5);
            x->is.position[0] = 0.2;
            matrix_of(x->is.rotation, x->R);
            s->body[k] = (perp_body){.joint = PERP_JOINT_HINGE,
                                     .parent = k,
                                     .position = {k ? 0.4 : 0},
                                     .axis = {0, 0, 1},
                                     .mass = 1,
                                     .center = {0.2, 0, 0},
                                     .inertia = {1e-3, 0.03, 0.03}};
        }
        x->is.body = k + 1;
    }
    double mu = one_of(2) ? random_in(0, 1) : 0, e = one_of(2) ? random_in(0, 1) : 0;
    for (int k = 0; k < STATIC + s->nbody; k++) {
        shape[k] = s->solid[k].is;
        shape[k].mu = mu, shape[k].restitution = e;
    }
    o.step = s->h;
    s->is_midpoint = one_of(4) == 0;
    if (s->is_midpoint) o.method = PERP_BODIES_MIDPOINT;
    o.gravity[2] = one_of(2) ? -9.81 : 0;
    if (perp_bodies_create(s->body, s->nbody, shape, STATIC + s->nbody, &o, &s->b, &diag) !=
        PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return 1;
}

static void clear(scene *s)
{
    perp_bodies_destroy(s->b);
    perp_field_destroy(s->field);
    for (int k = 0; k < STATIC + s->nbody; k++) perp_mesh_destroy((perp_mesh *)s->solid[k].is.mesh);
}

/* The deepest that a pair is along a step beside its tolerance and what it was in before, by instants no further apart than a third of the thinner shape. */
static double swept_depth(const scene *s, const substep *on, int *pair)
{
    const double *q = on->q, *v = on->v, h = on->h;
    double worst = 0;
    for (int j = STATIC; j < STATIC + s->nbody; j++)
        for (int i = 0; i < j; i++) {
            place x0, y0, x, y;
            if (j == STATIC + 1 && i == STATIC && s->is_rod[1]) continue; /* these do not touch */
            double way = 0, tol = tolerance(s, i, j);
            place_of(s, i, q, v, 0, &x0);
            place_of(s, j, q, v, 0, &y0);
            for (int k = i < STATIC ? 1 : 0; k < 2; k++) {
                int body = (k ? j : i) - STATIC, at = perp_bodies_v_of(s->b, body + 1);
                const double *w = v + at;
                const double up = body == 1 ? fabs(v[0]) : 0, out = s->solid[k ? j : i].extent;
                way += h * (s->is_rod[body] ? 0.42 * fabs(w[0]) + 0.82 * up
                                            : sqrt(dot(w, w)) + out * sqrt(dot(w + 3, w + 3)));
            }
            double first = depth_between(s, i, j, &x0, &y0),
                   thin = fmin(s->solid[i].least, s->solid[j].least);
            int n = (int)ceil(3 * way / thin) + 1;
            for (int k = 1; k <= n && n < 20000; k++) {
                double t = h * k / n;
                place_of(s, i, q, v, t, &x);
                place_of(s, j, q, v, t, &y);
                double depth = (depth_between(s, i, j, &x, &y) - fmax(0, first)) / tol;
                if (depth > worst) worst = depth, pair[0] = i, pair[1] = j;
            }
        }
    return worst;
}

/* Is the mean of a body's points behind a wall? */
static int is_out(const scene *s, int body, const double *q, const double *v)
{
    const solid *x = &s->solid[STATIC + body];
    double mean[3] = {0};
    place at;
    place_of(s, STATIC + body, q, v, 0, &at);
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < 3; k++) mean[k] += x->point[i][k] / x->n;
    for (int k = 0; k < 3; k++)
        if (fabs(at.p[k] + dot(at.R + 3 * k, mean)) > 1.01 * s->room) return 1;
    return 0;
}

static void no_shape_passes_another(void **state)
{
    (void)state;
    const char *longer = getenv("PERP_LONG"), *start = getenv("PERP_SEED");
    long scenes = longer ? 1000 * (atol(longer) > 1 ? atol(longer) : 100) : SCENES;
    long steps = 0, refused = 0, divided = 0, crossed = 0, lost = 0;
    for (long n = 0; n < scenes; n++) {
        scene s;
        double q[7 * MOST] = {0}, v[6 * MOST] = {0}, force[6 * MOST];
        seed =
            1000003u * (unsigned long long)(n + 1) + (start ? strtoull(start, NULL, 10) : 0) * 7919;
        for (int k = 0; k < 8; k++) random_in(0, 1);
        draw_scene(&s);
        int nv = perp_bodies_nv(s.b), is_put = put(&s, q, v);
        for (int k = 0; k < STEPS && is_put; k++) {
            perp_bodies_info info = {.size = sizeof info};
            if (k == 0 || one_of(4) == 0) {
                if (k && one_of(3) == 0 && !put(&s, q, v)) break;
                draw_velocities(&s, v, nv);
                assert_int_equal(perp_bodies_set(s.b, q, v), PERP_OK);
            }
            for (int i = 0; i < nv; i++) force[i] = one_of(20) ? 0 : random_in(-1, 1) / (s.h * s.h);
            for (int b = 0; b < s.nbody; b++) /* no torques on what is small */
                for (int i = s.is_rod[b] ? 0 : 3; i < (s.is_rod[b] ? 1 : 6); i++)
                    force[perp_bodies_v_of(s.b, b + 1) + i] *= s.is_rod[b] ? 0.02 : 0;
            perp_bodies_set_force(s.b, force);
            perp_diag diag = {0};
            memcpy(begin, perp_bodies_q(s.b), (size_t)perp_bodies_nq(s.b) * sizeof *begin);
            perp_status status = bodies_step(s.b, &info, &diag);
            if (status != PERP_OK) {
                if (getenv("PERP_SAY"))
                    printf("scene %ld step %d: %s", n, k, perp_diag_text(&diag));
                perp_diag_clear(&diag);
                refused++;
                break;
            }
            steps++;
            divided += info.substeps > 1;
            int pair[2] = {0};
            double depth = 0;
            assert_int_equal(nseen, info.substeps);
            for (int i = 0; i < nseen; i++) {
                int worst[2];
                double one = swept_depth(&s, &seen[i], worst);
                if (one > depth) depth = one, pair[0] = worst[0], pair[1] = worst[1];
            }
            if (depth > 1) {
                crossed++;
                printf("scene %ld, step %d: shapes %d (kind %d) and %d (kind %d): %.3g of what may "
                       "be\n",
                       n, k, pair[0], s.solid[pair[0]].is.kind, pair[1], s.solid[pair[1]].is.kind,
                       depth);
            }
            memcpy(q, perp_bodies_q(s.b), (size_t)perp_bodies_nq(s.b) * sizeof *q);
            memcpy(v, perp_bodies_v(s.b), (size_t)nv * sizeof *v);
            for (int b = 0; b < s.nbody; b++)
                if (!s.is_rod[b] && is_out(&s, b, q, v)) {
                    printf("scene %ld, step %d: body %d is out of the room\n", n, k, b);
                    lost++;
                    k = STEPS;
                }
        }
        clear(&s);
    }
    printf(
        "crossings: %ld scenes, %ld steps, %ld in substeps, %ld refused, %ld crossed, %ld lost\n",
        scenes, steps, divided, refused, crossed, lost);
    assert_int_equal(crossed + lost, 0);
    assert_true(100 * refused <= 2 * scenes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_shape_passes_another)};
    return run_all(tests);
}
