/* The motion of steps: positions change by h v and a correction no larger than the penetration; no shape passes another. */

#include "unit.h"

#include "perp/perp.h"
#include "perp/robots.h"

#include <math.h>
#include <stdio.h>

/* A robot file's system at its key, if it has one. */
static perp_bodies *robot_at_key(const char *file)
{
    char path[512];
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    snprintf(path, sizeof path, PERP_SOURCE_DIR "/tests/data/motion/%s", file);
    perp_status status = perp_robot_read(path, &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    if (perp_robot_keys(robot)) assert_int_equal(perp_robot_set_key(robot, 0, b), PERP_OK);
    perp_robot_destroy(robot);
    return b;
}

/* A rod that turns against a peg: it stops there. The nearest points of the two were wrong once, and the correction turned it by 3.6e9 rad. */
static void a_rod_stops_at_a_peg(void **state)
{
    (void)state;
    perp_bodies *b = robot_at_key("rod_explodes.xml");
    const double angle = acos(-0.4520360710085306 / hypot(0.4520360710085306, 0.2136899401169149)),
                 stop = angle - asin(0.03 / 0.5);
    double before = perp_bodies_q(b)[0];
    for (int k = 0; k < 15; k++) {
        perp_bodies_info info;
        perp_diag diag = {0};
        if (perp_bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        double now = perp_bodies_q(b)[0];
        assert_near(now - before, 0.02 * perp_bodies_v(b)[0], 0.02); /* a correction at most */
        before = now;
    }
    assert_near(before, stop, 1e-5);
    assert_near(perp_bodies_v(b)[0], 0, 1e-6);
    perp_bodies_destroy(b);
}

/* The nearest points of a segment and a cylinder, where three corners of their difference and the origin lie nearly in a plane. */
static void nearest_points_are_told_from_an_overlap(void **state)
{
    (void)state;
    perp_contact touch[PERP_MANIFOLD];
    int n = 0;
    /* the rod of the test before, as it lay when it was said to touch at its other end */
    const double c = -0.87680055210823316, s = 0.48085423136611521, half = sqrt(0.5);
    perp_shape rod = {.kind = PERP_SHAPE_CAPSULE,
                      .size = {0.01, 0.5},
                      .position = {-0.43840027605411647, 0.24042711568305761, 1},
                      .rotation = {half, -half * s, half * c, 0}},
               peg = {.kind = PERP_SHAPE_CYLINDER,
                      .size = {0.02, 0.2},
                      .position = {-0.4520360710085306, 0.21368994011691489, 1}};
    for (int k = 0; k < 2000; k++) { /* turned little by little */
        double angle = atan2(s, c) + 1e-13 * (k - 1000);
        for (int i = 0; i < 2; i++) {
            double part = i ? sin(angle) : cos(angle);
            rod.position[i] = 0.5 * part;
            rod.rotation[i ? 1 : 2] = i ? -half * part : half * part;
        }
        assert_int_equal(perp_shapes_contacts(&rod, &peg, 0.1, touch, &n), PERP_OK);
        assert_int_equal(n, 1);
        assert_near(touch[0].gap, 0, 1e-9);
        assert_near(hypot(touch[0].point[0], touch[0].point[1]), 0.5, 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_rod_stops_at_a_peg),
                                       cmocka_unit_test(nearest_points_are_told_from_an_overlap)};
    return run_all(tests);
}
