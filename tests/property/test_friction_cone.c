/* The projection onto the Coulomb cone, judged in long double: on the apex, the axis, the surface, in the polar cone and on its
 * surface, for mu = 0 and for tiny and huge mu. */

#include "unit.h"

#include "contacts.h"
#include "solve/fc.h"

#include <float.h>

static const double MUS[] = {0,    DBL_MIN, 1e-100, 1e-8, 1e-3, 0.1,   0.3,   1,
                             1.25, 20,      1e4,    1e8,  1e16, 1e100, 1e200, 1e300};
enum { NMU = sizeof MUS / sizeof *MUS, PLACES = 9 };

/* A point of size 1: inside, outside, or on one of the places where the projection changes. */
static void draw(rng *g, int place, double mu, double x[3])
{
    double angle = uniform(g, 0, 6.283185307179586), c = cos(angle), s = sin(angle), n, t;
    if (uniform(g, 0, 1) < 0.3) c = 1, s = 0;
    double h = mu > 1e150 ? mu : sqrt(1 + mu * mu);
    switch (place) {
    case 0: n = 0, t = 0; break;                                  /* apex */
    case 1: n = 1, t = 0; break;                                  /* axis */
    case 2: n = -1, t = 0; break;                                 /* against it */
    case 3: n = 0, t = 1; break;                                  /* in the plane */
    case 4: n = 1 / h, t = mu / h; break;                         /* on the surface */
    case 5: n = -mu / h, t = 1 / h; break;                        /* on the polar cone's */
    case 6: n = 1 / h, t = nextafter(mu / h, 2); break;           /* just outside */
    case 7: n = -mu / h, t = nextafter(1 / h, 2); break;          /* just not polar */
    default: n = uniform(g, -1, 1), t = uniform(g, -1, 1); break; /* anywhere */
    }
    x[0] = uniform(g, 0, 1) < 0.5 || n != 0 ? n : -n; /* both zeros */
    x[1] = t * c;
    x[2] = t * s;
}

/* p is in the cone, and x - p in its polar cone and orthogonal to p: then p is the nearest point and no other is. */
static void assert_nearest(double mu, const double *x, const double *p)
{
    const long double rounding = 8 * (long double)DBL_EPSILON;
    long double n = p[0], t = hypotl(p[1], p[2]), dn = x[0] - n, dot = dn * n;
    long double dt = hypotl((long double)x[1] - p[1], (long double)x[2] - p[2]);
    for (int k = 1; k < 3; k++) dot += ((long double)x[k] - p[k]) * p[k];
    int inside = n >= 0 && t <= (long double)mu * n * (1 + rounding) + 1e-300L;
    /* v'(x - p) <= 0 for all v of the cone: the worst is (1, mu d), d along x_T - p_T */
    int polar = dn / hypotl(1, mu) + mu / hypotl(1, mu) * dt <= rounding;
    if (!inside || !polar || fabsl(dot) > rounding)
        fail_msg(
            "mu %g, x (%g, %g, %g): p (%.17g, %.17g, %.17g), in the cone %d, polar %d, dot %Lg", mu,
            x[0], x[1], x[2], p[0], p[1], p[2], inside, polar, dot);
}

static void projections_are_nearest_points(void **state)
{
    (void)state;
    rng g = {3};
    for (int k = 0; k < 200 * NMU * PLACES; k++) {
        double mu = MUS[k % NMU], x[3], p[3], again[3], flat[3], plane[2];
        draw(&g, k / NMU % PLACES, mu, x);
        perp_fc_project(3, mu, x, p);
        assert_nearest(mu, x, p);
        perp_fc_project(3, mu, p, again);
        for (int c = 0; c < 3; c++) assert_near(again[c], p[c], 4 * DBL_EPSILON);
        memcpy(flat, x, sizeof flat);
        flat[2] = 0;
        perp_fc_project(2, mu, flat, plane);
        perp_fc_project(3, mu, flat, p);
        for (int c = 0; c < 2; c++) assert_near(plane[c], p[c], 4 * DBL_EPSILON);
        double t = hypot(x[1], x[2]);
        if (mu > 1e100 || (t > 0 && t < 1e-150)) continue; /* its squares must be numbers */
        perp__fc_cone(mu, x, p);
        assert_nearest(mu, x, p);
    }
}

static void a_frictionless_cone_is_a_half_line(void **state)
{
    (void)state;
    const double values[] = {-1e300, -1, -1e-300, -0.0, 0.0, 1e-300, 1, 1e300};
    for (int k = 0; k < 8 * 8; k++) {
        double x[3] = {values[k % 8], values[k / 8] / 1e150, 0}, p[3], inner[3];
        double n = x[0] > 0 ? x[0] : 0;
        perp_fc_project(3, 0, x, p);
        perp__fc_cone(0, x, inner);
        assert_true(p[0] == n && p[1] == 0 && p[2] == 0);
        assert_true(inner[0] == n && inner[1] == 0 && inner[2] == 0);
    }
}

/* Nothing presses: r = 0 is the only answer, by every method; no method may pull. */
static void frictionless_contacts_that_separate_stay_open(void **state)
{
    (void)state;
    const double W[] = {2, 0, 0, 0, 1, 0, 0, 0, 1}, q[] = {1, 0, 0}, mu = 0;
    for (int d = 2; d <= 3; d++)
        for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
            double dense[9] = {0}, r[3];
            for (int i = 0; i < d; i++) dense[i * d + i] = W[4 * i];
            perp_fc p = {.dimension = d, .nc = 1, .q = q, .mu = &mu, .W = dense, .ldw = d};
            perp_fc_solver *solver;
            perp_fc_info info = {.size = sizeof info};
            assert_int_equal(perp_fc_solver_create((perp_fc_method)m, &p, NULL, &solver), PERP_OK);
            assert_int_equal(perp_fc_solve(solver, &p, r, NULL, &info), PERP_OK);
            assert_int_equal(info.outcome, PERP_SOLVED);
            for (int k = 0; k < d; k++) assert_true(r[k] == 0);
            perp_fc_solver_destroy(solver);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projections_are_nearest_points),
        cmocka_unit_test(a_frictionless_cone_is_a_half_line),
        cmocka_unit_test(frictionless_contacts_that_separate_stay_open),
    };
    return run_all(tests);
}
