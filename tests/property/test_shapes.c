/* Contact of shapes beside certificates that share nothing with it: what is said to be apart by d is so along the normal (supports) and not
 * more (two points of the shapes at d); overlaps beside all planes of corners and all pairs of edges, curved ones beside directions all
 * around. PERP_LONG=300 takes a million pairs, PERP_SEED others. */

#include "tally.h"
#include "unit.h"

#include "perp/shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_POINTS = 24, AROUND = 500 };
static long pairs;
static unsigned long long seed;

static double random_in(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    for (int k = 0; k < 3; k++)
        c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static int make_unit(double *a)
{
    double length = sqrt(dot(a, a));
    for (int k = 0; k < 3; k++) a[k] /= length;
    return length > 1e-9;
}

/* A shape as the test sees it: corners with balls about them, or one that is curved. */
typedef struct solid {
    perp_shape is;
    perp_mesh *mesh;
    double R[9], local[MOST_POINTS][3], x[MOST_POINTS][3], round, size;
    int n; /* 0: curved */
} solid;

static void turn(const double *q, double *R)
{
    for (int k = 0; k < 3;
         k++) { /* columns: e turned by the quaternion, e + 2 w u x e + 2 u x (u x e) */
        double e[3] = {k == 0, k == 1, k == 2}, once[3], twice[3];
        cross(q + 1, e, once);
        cross(q + 1, once, twice);
        for (int i = 0; i < 3; i++) R[3 * i + k] = e[i] + 2 * (q[0] * once[i] + twice[i]);
    }
}

static void to_world(solid *s)
{
    turn(s->is.rotation, s->R);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < 3; k++) s->x[i][k] = s->is.position[k] + dot(s->R + 3 * k, s->local[i]);
}

static void draw(solid *s, perp_shape_kind kind, double size, double far)
{
    static const int corners[PERP_SHAPE_COUNT] = {0, 1, 2, 8, 0, 0, 0};
    *s = (solid){.is.kind = kind, .n = corners[kind], .size = size};
    double *h = s->is.size, length = 0;
    for (int k = 0; k < 3; k++) h[k] = size * random_in(0.2, 1);
    if (random_in(0, 1) < 0.2) h[(int)random_in(0, 2)] *= 0.01; /* plates and needles */
    for (int k = 0; k < 3; k++) s->is.position[k] = far * size * random_in(-1, 1);
    for (int k = 0; k < 4; k++) s->is.rotation[k] = random_in(-1, 1);
    if (random_in(0, 1) < 0.2) { /* turned by right angles: parallel faces, edges */
        memset(s->is.rotation, 0, sizeof s->is.rotation);
        s->is.rotation[(int)random_in(0, 4)] = 1;
    }
    for (int k = 0; k < 4; k++) length += s->is.rotation[k] * s->is.rotation[k];
    for (int k = 0; k < 4; k++) s->is.rotation[k] /= sqrt(length);
    if (kind == PERP_SHAPE_SPHERE || kind == PERP_SHAPE_CAPSULE) s->round = h[0];
    if (kind == PERP_SHAPE_CAPSULE) s->local[0][2] = h[1], s->local[1][2] = -h[1];
    for (int i = 0; i < 8 && kind == PERP_SHAPE_BOX; i++)
        for (int k = 0; k < 3; k++) s->local[i][k] = i >> k & 1 ? h[k] : -h[k];
    if (kind == PERP_SHAPE_MESH) {
        s->n = 4 + (int)random_in(0, 9);
        for (int i = 0; i < s->n; i++)
            for (int k = 0; k < 3; k++) s->local[i][k] = h[k] * random_in(-1, 1);
        assert_int_equal(perp_mesh_hull(s->local[0], s->n, &s->mesh, NULL), PERP_OK);
        s->is.mesh = s->mesh;
    }
    to_world(s);
}

static double reach(const solid *s, const double *n)
{
    double best = -INFINITY, d[3];
    for (int i = 0; i < s->n; i++) best = fmax(best, dot(s->x[i], n));
    if (s->n) return best + s->round;
    for (int k = 0; k < 3; k++) d[k] = s->R[k] * n[0] + s->R[3 + k] * n[1] + s->R[6 + k] * n[2];
    best = dot(s->is.position, n);
    const double *h = s->is.size;
    if (s->is.kind == PERP_SHAPE_CYLINDER)
        return best + h[0] * hypot(d[0], d[1]) + h[1] * fabs(d[2]);
    for (int k = 0; k < 3; k++) d[k] *= h[k];
    return best + sqrt(dot(d, d));
}

static double apart(const solid *a, const solid *b, const double *n)
{
    double back[3] = {-n[0], -n[1], -n[2]};
    return -reach(b, back) - reach(a, n);
}

/* How far a point is outside: > 0 by any direction of a search, about 0 within. */
static double outside(const solid *s, const double *x)
{
    double to[3], local[3], worst = -INFINITY;
    for (int k = 0; k < 3; k++) to[k] = x[k] - s->is.position[k];
    for (int k = 0; k < 3; k++)
        local[k] = s->R[k] * to[0] + s->R[3 + k] * to[1] + s->R[6 + k] * to[2];
    const double *h = s->is.size;
    switch (s->is.kind) {
    case PERP_SHAPE_SPHERE: return sqrt(dot(local, local)) - h[0];
    case PERP_SHAPE_CAPSULE:
        local[2] -= fmax(-h[1], fmin(h[1], local[2]));
        return sqrt(dot(local, local)) - h[0];
    case PERP_SHAPE_CYLINDER: return fmax(hypot(local[0], local[1]) - h[0], fabs(local[2]) - h[1]);
    case PERP_SHAPE_ELLIPSOID: {
        double level = 0, slope = 0;
        for (int k = 0; k < 3; k++)
            level += local[k] * local[k] / (h[k] * h[k]),
                slope += 4 * local[k] * local[k] / (h[k] * h[k] * h[k] * h[k]);
        return (level - 1) / sqrt(slope); /* to first order */
    }
    default: break;
    }
    for (int i = 0; i < s->n; i++) /* all planes of corners that have every corner on one side */
        for (int j = 0; j < s->n; j++)
            for (int l = 0; l < s->n; l++) {
                double u[3], w[3], n[3];
                if (i >= j || j == l || i == l || i >= l) continue;
                for (int k = 0; k < 3; k++)
                    u[k] = s->x[j][k] - s->x[i][k], w[k] = s->x[l][k] - s->x[i][k];
                cross(u, w, n);
                if (!make_unit(n)) continue;
                if (reach(s, n) - dot(n, s->x[i]) > 1e-12 * s->size) continue;
                worst = fmax(worst, dot(n, x) - reach(s, n));
            }
    return worst;
}

static void try_direction(const solid *a, const solid *b, const double *n, double *best,
                          double *which)
{
    double unit[3] = {n[0], n[1], n[2]};
    if (!make_unit(unit)) return;
    for (int sign = -1; sign <= 1; sign += 2) {
        double d[3] = {sign * unit[0], sign * unit[1], sign * unit[2]}, s = apart(a, b, d);
        if (s > *best) *best = s, memcpy(which, d, sizeof d);
    }
}

/* The largest s(n) over what can be the best of two overlapping hulls of corners. */
static double best_of_corners(const solid *a, const solid *b)
{
    double best = -INFINITY, which[3], n[3], u[3], w[3];
    const solid *both[2] = {a, b};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < both[side]->n; i++)
            for (int j = 0; j < i; j++)
                for (int l = 0; l < j; l++) {
                    const solid *s = both[side];
                    for (int k = 0; k < 3; k++)
                        u[k] = s->x[j][k] - s->x[i][k], w[k] = s->x[l][k] - s->x[i][k];
                    cross(u, w, n);
                    for (int k = 0; k < 3; k++) n[k] /= s->size * s->size;
                    try_direction(a, b, n, &best, which);
                }
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < i; j++)
            for (int l = 0; l < b->n; l++)
                for (int m = 0; m < l; m++) {
                    for (int k = 0; k < 3; k++)
                        u[k] = a->x[j][k] - a->x[i][k], w[k] = b->x[m][k] - b->x[l][k];
                    cross(u, w, n);
                    for (int k = 0; k < 3; k++) n[k] /= a->size * b->size;
                    try_direction(a, b, n, &best, which);
                }
    return best;
}

/* The same by directions all around, then nearer and nearer to the best. */
static double best_around(const solid *a, const solid *b)
{
    double best = -INFINITY, which[3] = {0}, step = 0.1;
    for (int i = 0; i < AROUND; i++) {
        double z = 1 - (2.0 * i + 1) / AROUND, r = sqrt(1 - z * z), turned = 2.399963229728653 * i,
               n[3] = {r * cos(turned), r * sin(turned), z};
        try_direction(a, b, n, &best, which);
    }
    for (int i = 0; i < 600 && step > 1e-9; i++) {
        double before = best, n[3];
        for (int k = 0; k < 3; k++) n[k] = which[k] + step * random_in(-1, 1);
        try_direction(a, b, n, &best, which);
        step *= best > before ? 1.5 : 0.95;
    }
    return best;
}

static double least_size(const solid *s)
{
    double low = INFINITY;
    for (int k = 0; k < 3; k++) {
        double n[3] = {s->R[k], s->R[3 + k], s->R[6 + k]}, back[3] = {-n[0], -n[1], -n[2]};
        low = fmin(low, 0.5 * (reach(s, n) + reach(s, back)));
    }
    return low;
}

static void describe(const solid *a, const solid *b, const perp_contact *t, double expected)
{
    fail_msg("%s, %s, size %g: gap %.15g, expected %.15g", perp_shape_name(a->is.kind),
             perp_shape_name(b->is.kind), a->size, t->gap, expected);
}

/* The deepest of the contacts; 0: none. */
static int touch(const solid *a, const solid *b, double margin, perp_contact *deepest)
{
    perp_contact t[PERP_MANIFOLD];
    int n;
    assert_int_equal(perp_shapes_contacts(&a->is, &b->is, margin, t, &n), PERP_OK);
    assert_true(n <= PERP_MANIFOLD);
    for (int i = 0; i < n; i++) {
        assert_true(fabs(dot(t[i].normal, t[i].normal) - 1) < 1e-12 && t[i].gap <= margin);
        if (i == 0 || t[i].gap < deepest->gap) *deepest = t[i];
    }
    return n;
}

static void check_pair(const solid *a, const solid *b, long *apart_count, long *overlap_count)
{
    perp_contact t;
    double size = fmax(a->size, b->size), tol = 1e-9 * size,
           lead = 1.01e-4 * fmin(least_size(a), least_size(b));
    if (!touch(a, b, 100 * size, &t)) describe(a, b, &t, 0);
    double along = apart(a, b, t.normal);
    int is_curved = !a->n || !b->n;
    /* Along its normal: no nearer than was said, and no further but for a face that is taken though an edge, and where it is cut off
     * though a corner, is nearer by `lead`. */
    if (t.gap < along - tol || t.gap > along + 2 * lead + tol) describe(a, b, &t, along);
    if (t.gap > lead + tol) {
        /* Nearest points of what is curved are known less well than their distance. */
        double x[3], y[3], room = 2 * lead + (is_curved ? 1e-4 : 1e-7) * size;
        for (int k = 0; k < 3; k++) {
            x[k] = t.point[k] - 0.5 * t.gap * t.normal[k];
            y[k] = t.point[k] + 0.5 * t.gap * t.normal[k];
        }
        if (outside(a, x) > room) describe(a, b, &t, outside(a, x));
        if (outside(b, y) > room) describe(a, b, &t, outside(b, y));
        ++*apart_count;
        return;
    }
    double best = is_curved ? best_around(a, b) : best_of_corners(a, b);
    if (a->n == 1 && b->n == 1) best = along;
    /* Corners: as good as any plane. Curved: no worse than what is found around, to 1e-4 of the size. */
    if (along < best - lead - (is_curved ? 1e-4 * size : tol)) describe(a, b, &t, best);
    ++*overlap_count;
}

static void distances_are_the_least_and_overlaps_too(void **state)
{
    (void)state;
    long apart_count = 0, overlap_count = 0;
    print_message("%ld pairs, seed %llu\n", pairs, seed);
    for (long i = 0; i < pairs; i++) {
        solid a, b;
        double size = pow(10, random_in(-3, 3)), far = random_in(0, 1) < 0.5 ? 0.8 : 2;
        draw(&a, 1 + (perp_shape_kind)random_in(0, PERP_SHAPE_MESH), size, far);
        draw(&b, 1 + (perp_shape_kind)random_in(0, PERP_SHAPE_MESH), size, far);
        check_pair(&a, &b, &apart_count, &overlap_count);
        perp_mesh_destroy(a.mesh);
        perp_mesh_destroy(b.mesh);
    }
    print_message("%ld apart, %ld overlap\n", apart_count, overlap_count);
    assert_true(apart_count > pairs / 5 && overlap_count > pairs / 5);
}

/* A pair moved and turned as one has the same gap and the normal turned with it. */
static void gaps_stay_where_all_is_moved_and_turned(void **state)
{
    (void)state;
    for (long i = 0; i < pairs / 3; i++) {
        solid s[2];
        perp_contact before, after;
        double q[4], R[9], p[3], far = pow(10, random_in(-2, 4)), length = 0;
        for (int k = 0; k < 4; k++) q[k] = random_in(-1, 1), length += q[k] * q[k];
        for (int k = 0; k < 4; k++) q[k] /= sqrt(length);
        for (int k = 0; k < 3; k++) p[k] = far * random_in(-1, 1);
        turn(q, R);
        for (int j = 0; j < 2; j++)
            draw(&s[j], 1 + (perp_shape_kind)random_in(0, PERP_SHAPE_MESH), 1, 1);
        assert_true(touch(&s[0], &s[1], 100, &before));
        for (int j = 0; j < 2; j++) {
            double x[3], r[4], *o = s[j].is.rotation, u[3];
            for (int k = 0; k < 3; k++) x[k] = p[k] + dot(R + 3 * k, s[j].is.position);
            memcpy(s[j].is.position, x, sizeof x);
            cross(q + 1, o + 1, u);
            r[0] = q[0] * o[0] - dot(q + 1, o + 1);
            for (int k = 0; k < 3; k++) r[1 + k] = q[0] * o[1 + k] + o[0] * q[1 + k] + u[k];
            memcpy(o, r, sizeof r);
            to_world(&s[j]);
        }
        assert_true(touch(&s[0], &s[1], 100, &after));
        int is_curved = before.gap < 0 && (!s[0].n || !s[1].n);
        double lead = 1.01e-4 * fmin(least_size(&s[0]), least_size(&s[1]));
        if (fabs(after.gap - before.gap) > 1e-12 * (1 + far) + (is_curved ? 1e-4 : 1e-10) + lead)
            describe(&s[0], &s[1], &after, before.gap);
        for (int j = 0; j < 2; j++) perp_mesh_destroy(s[j].mesh);
    }
}

int main(void)
{
    pairs = problems(3000);
    seed = seed_of_run();
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances_are_the_least_and_overlaps_too),
                                       cmocka_unit_test(gaps_stay_where_all_is_moved_and_turned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
