/* Hulls beside brute force and closed forms, files of points, pairs of boxes beside all pairs, contacts in special positions. */

#include "bodies/bodies.h"
#include "unit.h"

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long random_state = 1;
static double random_in(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static void expect_near(double x, double expected, double tol, const char *what)
{
    if (!(fabs(x - expected) <= tol)) fail_msg("%s: %.15g, expected %.15g", what, x, expected);
}

static perp_mesh *hull_of(const double *x, int n)
{
    perp_mesh *m;
    perp_diag diag = {0};
    if (perp_mesh_hull(x, n, &m, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return m;
}

/* Hulls ---------------------------------------------------------------------------------------------------- */

/* Every point is behind every face, every corner of a face on it; faces close up (Euler); each of n directions has the same reach. */
static void check_hull(const perp_mesh *m, const double *x, int n, double size)
{
    int edges = 0;
    for (int f = 0; f < m->nface; f++) {
        const perp__face *face = &m->face[f];
        edges += face->n;
        assert_true(face->n >= 3);
        for (int i = 0; i < n; i++) {
            const double *p = x + 3 * i, *v = face->normal;
            double d = v[0] * p[0] + v[1] * p[1] + v[2] * p[2] - face->offset;
            if (d > 1e-8 * size) fail_msg("point %d is %g beyond face %d", i, d, f);
        }
        for (int k = 0; k < face->n; k++) {
            const double *p = m->point + 3 * m->corner[face->first + k], *v = face->normal;
            expect_near(v[0] * p[0] + v[1] * p[1] + v[2] * p[2], face->offset, 1e-8 * size, "face");
        }
    }
    assert_int_equal(m->npoint - edges / 2 + m->nface, 2);
    for (int k = 0; k < 50; k++) {
        double d[3] = {random_in(-1, 1), random_in(-1, 1), random_in(-1, 1)}, all = -INFINITY,
               own = -INFINITY;
        for (int i = 0; i < n; i++)
            all = fmax(all, d[0] * x[3 * i] + d[1] * x[3 * i + 1] + d[2] * x[3 * i + 2]);
        for (int i = 0; i < m->npoint; i++) {
            const double *p = m->point + 3 * i;
            own = fmax(own, d[0] * p[0] + d[1] * p[1] + d[2] * p[2]);
        }
        expect_near(own, all, 1e-8 * size, "reach");
    }
}

static void hulls_hold_their_points(void **state)
{
    (void)state;
    double x[3 * 400];
    for (int trial = 0; trial < 300; trial++) {
        int n = 4 + (int)random_in(0, trial < 280 ? 40 : 390), on_grid = trial % 3 == 0;
        double size = pow(10, random_in(-3, 3));
        for (int i = 0; i < 3 * n; i++)
            x[i] = size * (on_grid ? floor(random_in(0, 4)) : random_in(-1, 1));
        if (trial % 3 == 1) /* on a sphere: all are corners */
            for (int i = 0; i < n; i++) {
                double *p = x + 3 * i, r = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
                for (int k = 0; k < 3; k++) p[k] *= size / r;
            }
        perp_mesh *m = NULL;
        perp_status status = perp_mesh_hull(x, n, &m, NULL);
        if (on_grid && status == PERP_ERR_MODEL) continue; /* of four they may lie in a plane */
        assert_int_equal(status, PERP_OK);
        check_hull(m, x, n, 4 * size);
        if (trial % 3 == 1) assert_int_equal(m->npoint, n);
        perp_mesh_destroy(m);
    }
}

static void a_box_of_points_is_a_box(void **state)
{
    (void)state;
    double x[3 * 343];
    int n = 0;
    for (int i = 0; i < 343; i++, n++) { /* a grid of points: all but the corners go */
        x[3 * n] = 5 + 0.1 * (i % 7), x[3 * n + 1] = 0.2 * (i / 7 % 7) - 3;
        x[3 * n + 2] = 0.3 * (i / 49 % 7);
    }
    perp_mesh *m = hull_of(x, n);
    double mass, center[3], inertia[6], a = 0.6, b = 1.2, c = 1.8;
    perp_mesh_mass(m, &mass, center, inertia);
    assert_int_equal(perp_mesh_points(m, NULL), 8);
    assert_int_equal(m->nface, 6);
    expect_near(mass, a * b * c, 1e-12, "volume");
    expect_near(center[0], 5.3, 1e-12, "centre");
    expect_near(center[1], -2.4, 1e-12, "centre");
    expect_near(center[2], 0.9, 1e-12, "centre");
    expect_near(inertia[0], mass * (b * b + c * c) / 12, 1e-12, "xx");
    expect_near(inertia[1], mass * (a * a + c * c) / 12, 1e-12, "yy");
    expect_near(inertia[2], mass * (a * a + b * b) / 12, 1e-12, "zz");
    for (int k = 3; k < 6; k++) expect_near(inertia[k], 0, 1e-12, "product of inertia");
    perp_mesh_destroy(m);
    const double corner[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}; /* a corner cut off a cube */
    m = hull_of(corner, 4);
    perp_mesh_mass(m, &mass, center, inertia);
    expect_near(mass, 1.0 / 6, 1e-15, "volume");
    expect_near(center[1], 0.25, 1e-15, "centre");
    expect_near(inertia[0], 2 * (1.0 / 60 - mass / 16), 1e-15, "xx");
    expect_near(inertia[3], -(1.0 / 120 - mass / 16), 1e-15, "xy");
    perp_mesh_destroy(m);
}

/* Points on a grid, each off by about the rounding of a file of floats, in slabs of any thickness: most triangles are slivers. */
static void hulls_of_noisy_plates(void **state)
{
    (void)state;
    int flat = 0, refused = 0;
    for (int trial = 0; trial < 2000; trial++) {
        double x[3 * 200], noise = pow(10, random_in(-16, -6)), thin = pow(10, random_in(-12, 3));
        int n = 20 + (int)random_in(0, 180);
        if (thin > 1) thin = 1;
        for (int i = 0; i < 3 * n; i++)
            x[i] = (floor(random_in(0, 4)) + noise * random_in(-1, 1)) * (i % 3 == 2 ? thin : 1);
        perp_mesh *m = NULL;
        perp_status status = perp_mesh_hull(x, n, &m, NULL);
        if (status == PERP_OK) check_hull(m, x, n, 2000);
        if (status == PERP_OK && thin < 3e-9) fail_msg("a slab of %g has an inside", thin);
        flat += thin < 3e-8;
        refused += status != PERP_OK && thin > 3e-8;
        perp_mesh_destroy(m);
    }
    assert_in_range(flat, 200, 800);
    assert_in_range(refused, 0, 10); /* slivers whose corners have no plane in common */
}

static void hulls_of_any_size(void **state)
{
    (void)state;
    for (int exponent = -60; exponent <= 60; exponent += 10) {
        double x[3 * 100], unit = pow(10, exponent), mass, inertia[6];
        for (int i = 0; i < 3 * 100; i++) x[i] = unit * 0.5;
        for (int i = 0; i < 8; i++)
            for (int c = 0; c < 3; c++) x[3 * i + c] = unit * (i >> c & 1);
        perp_mesh *m = hull_of(x, 100);
        perp_mesh_mass(m, &mass, NULL, inertia);
        assert_int_equal(m->nface, 6);
        assert_int_equal(m->npoint, 8);
        expect_near(mass / pow(unit, 3), 1, 1e-12, "volume");
        expect_near(inertia[0] / pow(unit, 5), 1.0 / 6, 1e-12, "inertia");
        perp_mesh_destroy(m);
        for (int i = 0; i < 3 * 100; i++) x[i] *= 1e80 / unit; /* its inertia is no number */
        assert_int_equal(perp_mesh_hull(x, 100, &m, NULL), PERP_ERR_MODEL);
    }
}

static void what_is_no_hull_is_refused(void **state)
{
    (void)state;
    perp_mesh *m;
    double x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 3, 3, 0};
    assert_int_equal(perp_mesh_hull(x, 5, &m, NULL), PERP_ERR_MODEL);
    assert_null(m);
    for (int i = 0; i < 5; i++) x[3 * i + 1] = x[3 * i + 2] = 0; /* a line */
    assert_int_equal(perp_mesh_hull(x, 5, &m, NULL), PERP_ERR_MODEL);
    memset(x, 0, sizeof x);
    assert_int_equal(perp_mesh_hull(x, 5, &m, NULL), PERP_ERR_MODEL);
    assert_int_equal(perp_mesh_hull(x, 3, &m, NULL), PERP_ERR_ARG);
    x[4] = (double)NAN;
    assert_int_equal(perp_mesh_hull(x, 5, &m, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_mesh_hull(NULL, 5, &m, NULL), PERP_ERR_ARG);
}

/* Files ---------------------------------------------------------------------------------------------------- */

static void files_give_their_points_and_say_where_they_are_wrong(void **state)
{
    (void)state;
    static const char *const file[] = {"cube.obj", "tetra.stl", "text.stl"};
    static const int corners[] = {8, 4, 4};
    const double scale[3] = {2, 3, -4};
    for (int i = 0; i < 3; i++) {
        char path[300];
        perp_mesh *m;
        perp_diag diag = {0};
        double mass;
        snprintf(path, sizeof path, "%s/fuzz/corpus/mesh/%s", PERP_SOURCE_DIR, file[i]);
        if (perp_mesh_read(path, scale, &m, &diag) != PERP_OK)
            fail_msg("%s", perp_diag_text(&diag));
        assert_int_equal(perp_mesh_points(m, NULL), corners[i]);
        perp_mesh_mass(m, &mass, NULL, NULL);
        expect_near(mass, i ? 4 : 24, 1e-12, "volume");
        perp_mesh_destroy(m);
    }
    static const struct {
        const char *text, *says;
    } wrong[] = {{"v 0 0 0\nv 1 0\n", "part.obj:2:6: a point has three finite numbers"},
                 {"v 0 0 0\n  vertex 1 x 0\n", "part.obj:2:10: a point has three"},
                 {"v 0 0 inf\n", "part.obj:1:7: a point has three"},
                 {"f 1 2 3\n", "part.obj: 0 points"},
                 {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "in one plane; these 4 do"},
                 {"", "0 points"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        perp_mesh *m;
        perp_diag diag = {0};
        assert_int_not_equal(
            perp_mesh_parse(wrong[i].text, strlen(wrong[i].text), "part.obj", NULL, &m, &diag),
            PERP_OK);
        assert_null(m);
        if (!strstr(perp_diag_text(&diag), wrong[i].says)) fail_msg("%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    perp_mesh *m;
    perp_diag diag = {0};
    char head[84] = {0};
    head[80] = 2;
    assert_int_equal(perp_mesh_parse(head, sizeof head, "part.stl", NULL, &m, &diag),
                     PERP_ERR_DATA);
    assert_non_null(strstr(perp_diag_text(&diag), "2 triangles needs 184 bytes, there are 84"));
    perp_diag_clear(&diag);
    assert_int_equal(perp_mesh_read("there/is/none.obj", NULL, &m, &diag), PERP_ERR_FILE);
    assert_non_null(strstr(perp_diag_text(&diag), "none.obj: cannot be read"));
    perp_diag_clear(&diag);
}

/* Pairs of boxes -------------------------------------------------------------------------------------------- */

static int by_shapes(const void *x, const void *y)
{
    const perp__shape_pair *a = x, *b = y;
    return a->shape[0] != b->shape[0] ? a->shape[0] - b->shape[0] : a->shape[1] - b->shape[1];
}

static int meet(const perp__box *a, const perp__box *b)
{
    for (int k = 0; k < 3; k++)
        if (a->low[k] > b->high[k] || b->low[k] > a->high[k]) return 0;
    return 1;
}

static void sweeping_finds_all_pairs_once(void **state)
{
    (void)state;
    enum { MOST = 300 };
    static perp__box box[MOST], sorted[MOST];
    for (int trial = 0; trial < 200; trial++) {
        perp__broad b = {.box = sorted, .n = (int)random_in(0, MOST)};
        int on_grid = trial % 2, flat = trial % 5 == 0 ? trial % 3 : -1, expected = 0;
        for (int i = 0; i < b.n; i++) {
            box[i].which = i;
            for (int k = 0; k < 3; k++) {
                double x = random_in(0, 10), half = random_in(0, trial % 7 ? 1 : 5);
                if (on_grid) x = floor(x), half = floor(2 * half) / 2; /* sides that are shared */
                if (k == flat) x = 1;
                box[i].low[k] = x - half, box[i].high[k] = x + half;
            }
        }
        memcpy(sorted, box, sizeof box);
        assert_true(perp__broad_pairs(&b));
        if (b.npair) qsort(b.pair, (size_t)b.npair, sizeof *b.pair, by_shapes);
        for (int i = 0; i < b.n; i++)
            for (int j = i + 1; j < b.n; j++) {
                if (!meet(&box[i], &box[j])) continue;
                assert_true(expected < b.npair);
                assert_int_equal(b.pair[expected].shape[0], i);
                assert_int_equal(b.pair[expected++].shape[1], j);
            }
        assert_int_equal(expected, b.npair);
        free(b.pair);
    }
}

/* Special positions ----------------------------------------------------------------------------------------- */

static perp_shape shape_of(perp_shape_kind kind, double x, double y, double z, double height)
{
    return (perp_shape){.kind = kind, .size = {x, y, z}, .position = {0, 0, height}};
}

/* What stands on a plane, a box and a hull, at any size: how many contacts, and their gaps. */
static void what_stands_has_a_manifold(void **state)
{
    (void)state;
    static const struct {
        perp_shape_kind kind;
        int least; /* contacts */
    } row[] = {{PERP_SHAPE_SPHERE, 1},   {PERP_SHAPE_CAPSULE, 1},   {PERP_SHAPE_BOX, 4},
               {PERP_SHAPE_CYLINDER, 8}, {PERP_SHAPE_ELLIPSOID, 1}, {PERP_SHAPE_MESH, 4}};
    for (int e = -3; e <= 3; e++)
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
            for (int under = 0; under < 3; under++)
                for (int away = -1; away <= 1; away++) {
                    double s = pow(10, e), gap = away * 1e-6 * s, x[24], y[24], high = 0.3 * s;
                    perp_shape top = shape_of(row[i].kind, 0.3 * s, 0.3 * s, 0.3 * s, 0), ground;
                    if (row[i].kind == PERP_SHAPE_CAPSULE) high = 0.6 * s;
                    for (int k = 0; k < 24; k++) {
                        double sign = k / 3 >> k % 3 & 1 ? 1 : -1;
                        x[k] = sign * 0.3 * s, y[k] = sign * s;
                    }
                    perp_mesh *mesh[2] = {hull_of(x, 8), hull_of(y, 8)};
                    ground = under == 0   ? shape_of(PERP_SHAPE_PLANE, 0, 0, 0, s)
                             : under == 1 ? shape_of(PERP_SHAPE_BOX, s, s, s, 0)
                                          : shape_of(PERP_SHAPE_MESH, 0, 0, 0, 0);
                    top.mesh = mesh[0], ground.mesh = mesh[1];
                    top.position[2] = s + high + gap;
                    perp_contact t[PERP_MANIFOLD];
                    int n;
                    assert_int_equal(perp_shapes_contacts(&ground, &top, 0.01 * s, t, &n), PERP_OK);
                    if (n < row[i].least)
                        fail_msg("%s on %d: %d contacts", perp_shape_name(row[i].kind), under, n);
                    for (int k = 0; k < n; k++) {
                        expect_near(t[k].gap, gap, 1e-13 * s, perp_shape_name(row[i].kind));
                        expect_near(t[k].normal[2], 1, 1e-13, "normal");
                        expect_near(t[k].point[2], s + 0.5 * gap, 1e-13 * s, "height");
                    }
                    for (int k = 0; k < 2; k++) perp_mesh_destroy(mesh[k]);
                }
}

/* Lying capsules and cylinders touch at their ends, on planes and boxes and each other. */
static void lying_shapes_touch_along_lines(void **state)
{
    (void)state;
    static const perp_shape_kind lying[] = {PERP_SHAPE_CAPSULE, PERP_SHAPE_CYLINDER};
    for (int i = 0; i < 2; i++)
        for (int under = 0; under < 4; under++) {
            perp_shape top = shape_of(lying[i], 0.2, 0.5, 0, 1.2),
                       ground = under == 0   ? shape_of(PERP_SHAPE_PLANE, 0, 0, 0, 1)
                                : under == 1 ? shape_of(PERP_SHAPE_BOX, 2, 2, 1, 0)
                                             : shape_of(lying[under - 2], 0.3, 0.4, 0, 0.7);
            double across[4] = {sqrt(0.5), 0, sqrt(0.5), 0};
            memcpy(top.rotation, across, sizeof across);
            if (under > 1) memcpy(ground.rotation, across, sizeof across);
            perp_contact t[PERP_MANIFOLD];
            int n;
            assert_int_equal(perp_shapes_contacts(&ground, &top, 0.01, t, &n), PERP_OK);
            assert_int_equal(n, 2);
            for (int k = 0; k < n; k++) {
                expect_near(t[k].gap, 0, 1e-12, "gap");
                expect_near(t[k].normal[2], 1, 1e-12, "normal");
                expect_near(fabs(t[k].point[0]), under > 1 ? 0.4 : 0.5, 1e-9, "end");
            }
        }
}

static void what_has_one_centre_overlaps(void **state)
{
    (void)state;
    for (int a = PERP_SHAPE_SPHERE; a < PERP_SHAPE_MESH; a++)
        for (int b = PERP_SHAPE_SPHERE; b < PERP_SHAPE_MESH; b++) {
            perp_shape one = shape_of((perp_shape_kind)a, 0.5, 0.5, 0.5, 3),
                       other = shape_of((perp_shape_kind)b, 0.5, 0.5, 0.5, 3);
            perp_contact t[PERP_MANIFOLD];
            int n;
            assert_int_equal(perp_shapes_contacts(&one, &other, 0, t, &n), PERP_OK);
            double deepest = 0;
            for (int k = 0; k < n; k++) deepest = fmin(deepest, t[k].gap);
            expect_near(deepest, -1, 1e-4, perp_shape_name((perp_shape_kind)a));
        }
}

/* The tetrahedra of the faces' triangles and one point fill the hull, so they are counterclockwise from outside. */
static void faces_enclose_the_volume(void **state)
{
    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        double x[3 * 60], mass, volume = 0;
        const double *p;
        const int *c;
        for (int i = 0; i < 3 * 60; i++)
            x[i] = trial % 2 ? random_in(-1, 1) : floor(random_in(0, 3));
        perp_mesh *m = hull_of(x, 60);
        int points = perp_mesh_points(m, &p), n, k = 0;
        perp_mesh_mass(m, &mass, NULL, NULL);
        for (; (n = perp_mesh_face(m, k, &c)) != 0; k++) {
            assert_true(n >= 3);
            for (int i = 0; i < n; i++) assert_true(c[i] >= 0 && c[i] < points);
            for (int i = 2; i < n; i++) {
                const double *u = p + 3 * c[0], *v = p + 3 * c[i - 1], *w = p + 3 * c[i];
                volume += (u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) +
                           u[2] * (v[0] * w[1] - v[1] * w[0])) /
                          6;
            }
        }
        expect_near(volume, mass, 1e-9, "volume");
        assert_int_equal(perp_mesh_face(m, k, NULL), 0);
        assert_int_equal(perp_mesh_face(m, -1, NULL), 0);
        assert_int_equal(perp_mesh_face(NULL, 0, NULL), 0);
        assert_true(perp_mesh_face(m, 0, NULL) >= 3);
        perp_mesh_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hulls_hold_their_points),
        cmocka_unit_test(faces_enclose_the_volume),
        cmocka_unit_test(a_box_of_points_is_a_box),
        cmocka_unit_test(hulls_of_noisy_plates),
        cmocka_unit_test(hulls_of_any_size),
        cmocka_unit_test(what_is_no_hull_is_refused),
        cmocka_unit_test(files_give_their_points_and_say_where_they_are_wrong),
        cmocka_unit_test(sweeping_finds_all_pairs_once),
        cmocka_unit_test(what_stands_has_a_manifold),
        cmocka_unit_test(lying_shapes_touch_along_lines),
        cmocka_unit_test(what_has_one_centre_overlaps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
