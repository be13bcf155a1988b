/* The motion of steps: positions change by h v and a correction no larger than the penetration; no shape passes another. */

#include "unit.h"

#include "perp/perp.h"
#include "perp/robots.h"
#include "outcomes.h"

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
        perp_bodies_info info = {.size = sizeof info};
        perp_diag diag = {0};
        if (bodies_step(b, &info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        double now = perp_bodies_q(b)[0];
        assert_true(now - before <= 0.02 * 30 + 1e-6 && now > before - 1e-6);
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

/* Tunnelling ------------------------------------------------------------------------------------------- */

static void step(perp_bodies *b, perp_bodies_info *info)
{
    perp_diag diag = {0};
    if (bodies_step(b, info, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static perp_bodies *make(const perp_body *body, int nbody, const perp_shape *shape, int nshape,
                         double h, double gravity)
{
    perp_bodies_options o = perp_bodies_options_default();
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    o.step = h;
    o.gravity[2] = -gravity;
    if (perp_bodies_create(body, nbody, shape, nshape, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static perp_body ball_of(double mass, double radius)
{
    double I = 0.4 * mass * radius * radius;
    return (perp_body){.joint = PERP_JOINT_FREE, .mass = mass, .inertia = {I, I, I}};
}

/* A ball beside a wall, which it would pass in one step: set in motion between steps, or in the first one, or by a force of 1e5 times its weight. */
static void a_ball_stops_at_a_wall(void **state)
{
    (void)state;
    const double r = 0.01, wall = 0.002;
    const perp_shape shapes[] = {{.kind = PERP_SHAPE_BOX, .size = {wall, 1, 1}},
                                 {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {r}}};
    for (int rested = 0; rested < 4; rested += 3)
        for (int k = 0; k < 40; k++) {
            perp_body ball = ball_of(0.01, r);
            double push[6] = {k % 2 ? 1000 : 0}, v[6] = {k % 2 ? 0 : 5 * (k + 1)};
            ball.position[0] = -0.013 - 0.003 * k;
            perp_bodies *b = make(&ball, 1, shapes, 2, 0.01, 0);
            for (int i = 0; i < rested; i++) step(b, NULL);
            assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
            assert_int_equal(perp_bodies_set_force(b, push), PERP_OK);
            for (int i = 0; i < 6; i++) step(b, NULL);
            assert_near(perp_bodies_q(b)[0], -wall - r, 1e-6);
            perp_bodies_destroy(b);
        }
}

static void a_thrown_ball_stops_at_a_plate(void **state)
{
    (void)state;
    perp_bodies *b = robot_at_key("first_step_tunnel.xml");
    for (int i = 0; i < 25; i++) step(b, NULL);
    assert_near(perp_bodies_q(b)[2], 0.0105, 1e-9);
    perp_bodies_destroy(b);
}

/* A ball that flies past a ball, close to it, by many radii a step: nothing holds it, but what it meets does. */
static void what_passes_is_not_held(void **state)
{
    (void)state;
    const double r = 0.01;
    const perp_shape shapes[] = {{.kind = PERP_SHAPE_SPHERE, .size = {r}},
                                 {.body = 1, .kind = PERP_SHAPE_SPHERE, .size = {r}}};
    for (int k = 0; k < 60; k++) {
        double high = 2 * r * (0.5 + k / 60.0) + 1e-4, way = 0.1 + 0.02 * (k % 7);
        perp_body ball = ball_of(0.01, r);
        ball.position[0] = -0.08, ball.position[2] = high;
        perp_bodies *b = make(&ball, 1, shapes, 2, 0.01, 0);
        double v[6] = {way / 0.01};
        assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
        for (int i = 0; i < 3; i++) step(b, NULL);
        if (high > 2 * r)
            assert_true(perp_bodies_v(b)[0] == v[0] && perp_bodies_v(b)[2] == 0);
        else /* it has gone on along the tangent at the place of the impact, 1 % of the radius beside it */
            assert_near(perp_bodies_v(b)[0] / v[0], high * high / (4 * r * r), 0.03);
        perp_bodies_destroy(b);
    }
}

/* Rods that turn by 0.3 to 0.8 rad a step stop at their pegs; 70 of 1000 passed. */
static void turning_rods_stop_at_pegs(void **state)
{
    (void)state;
    unsigned long long seed = 7;
    for (int k = 0; k < 1000; k++) {
        double draw[3];
        for (int i = 0; i < 3; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            draw[i] = (double)(seed >> 11) / 9007199254740992.0;
        }
        const double h = 0.02, turn = 0.3 + 0.5 * draw[0], far = 0.2 + 0.78 * draw[1],
                     angle = 1.5 + 1.6 * draw[2], half = sqrt(0.5);
        perp_body rod = {.joint = PERP_JOINT_HINGE,
                         .axis = {0, 0, 1},
                         .mass = 1,
                         .center = {0.5, 0, 0},
                         .inertia = {1e-4, 0.1, 0.1}};
        const perp_shape shapes[] = {{.kind = PERP_SHAPE_CYLINDER,
                                      .size = {0.02, 0.2},
                                      .position = {far * cos(angle), far * sin(angle), 0}},
                                     {.body = 1,
                                      .kind = PERP_SHAPE_CAPSULE,
                                      .size = {0.01, 0.5},
                                      .position = {0.5, 0, 0},
                                      .rotation = {half, 0, half, 0}}};
        perp_bodies *b = make(&rod, 1, shapes, 2, h, 0);
        double v = turn / h, stop = angle - asin(0.03 / far);
        assert_int_equal(perp_bodies_set(b, NULL, &v), PERP_OK);
        for (int i = 0; i < 15; i++) step(b, NULL);
        assert_near(perp_bodies_q(b)[0], stop, 1e-3 / far);
        perp_bodies_destroy(b);
    }
}

/* A small ball at the end of two arms without shapes, which sweep many of its sizes a step, stops at a peg. */
static void what_hangs_on_arms_stops_at_pegs(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        const double h = 0.01, angle = 1 + 0.03 * k, bend = 0.4, r = 0.02, v = (10 + k) / (100 * h);
        perp_body arm[3];
        for (int i = 0; i < 3; i++)
            arm[i] = (perp_body){.parent = i,
                                 .joint = i ? PERP_JOINT_FIXED : PERP_JOINT_HINGE,
                                 .position = {i ? 0.5 : 0},
                                 .axis = {0, 0, 1},
                                 .mass = 1,
                                 .inertia = {0.1, 0.1, 0.1}};
        arm[2].position[0] = 0.5 * cos(bend), arm[2].position[1] = 0.5 * sin(bend);
        const double x = 0.5 + arm[2].position[0], y = arm[2].position[1], far = hypot(x, y),
                     at = angle + atan2(y, x);
        const perp_shape shapes[] = {
            {.kind = PERP_SHAPE_SPHERE, .size = {r}, .position = {far * cos(at), far * sin(at), 0}},
            {.body = 3, .kind = PERP_SHAPE_SPHERE, .size = {r}}};
        perp_bodies *b = make(arm, 3, shapes, 2, h, 0);
        assert_int_equal(perp_bodies_set(b, NULL, &v), PERP_OK);
        for (int i = 0; i < 40; i++) step(b, NULL);
        assert_near(perp_bodies_q(b)[0], angle - 2 * asin(r / far), 1e-4);
        perp_bodies_destroy(b);
    }
}

/* Seams ------------------------------------------------------------------------------------------------ */

typedef struct slide {
    perp_shape_kind floor, kind;
    double speed, h, gap, curb; /* the second floor is so far from the first, and so much higher */
    int rolls, spins;
} slide;

static perp_mesh *hull_of(double x, double y, double z)
{
    double point[24];
    perp_mesh *mesh = NULL;
    for (int i = 0; i < 8; i++)
        point[3 * i] = i & 1 ? x : -x, point[3 * i + 1] = i & 2 ? y : -y,
                  point[3 * i + 2] = i & 4 ? z : -z;
    assert_int_equal(perp_mesh_hull(point, 8, &mesh, NULL), PERP_OK);
    return mesh;
}

/* How far the speed of what slides over the seam has changed, at most [m/s]; *end: the last place. */
static double slide_over(const slide *s, double *end)
{
    static const double level[9];
    const double r = 0.1, half = sqrt(0.5), sides[2] = {1, 1}, mu = s->rolls ? 0.5 : 0;
    perp_field *field = NULL;
    perp_mesh *large = hull_of(1, 1, 0.5), *small = hull_of(r, r, r);
    assert_int_equal(perp_field_create(level, 3, 3, sides, &field, NULL), PERP_OK);
    perp_shape shape[3];
    for (int k = 0; k < 3; k++)
        shape[k] = (perp_shape){.kind = k == 2 ? s->kind : s->floor,
                                .size = {1, 1, 0.5},
                                .mesh = k == 2 ? small : large,
                                .field = field,
                                .mu = mu};
    for (int k = 0; k < 2; k++) {
        shape[k].position[0] = k ? 1 + s->gap : -1;
        shape[k].position[2] = (s->floor == PERP_SHAPE_FIELD ? 0 : -0.5) + k * s->curb;
    }
    shape[2].body = 1;
    for (int k = 0; k < 3; k++) shape[2].size[k] = r;
    if (s->kind == PERP_SHAPE_CAPSULE || s->kind == PERP_SHAPE_CYLINDER) {
        shape[2].size[1] = 0.15;
        shape[2].rotation[0] = shape[2].rotation[1] = half;
    }
    perp_body body[2] = {ball_of(1, r), ball_of(1, r)};
    body[0].position[0] = -0.3, body[0].position[1] = 0.0137, body[0].position[2] = r;
    if (s->curb > 0) { /* on rails, so that it does not tip */
        body[0].joint = body[1].joint = PERP_JOINT_SLIDE;
        body[0].axis[0] = body[1].axis[2] = 1;
        body[1].parent = 1;
        shape[2].body = 2;
    }
    perp_bodies *b = make(body, s->curb > 0 ? 2 : 1, shape, 3, s->h, 9.81);
    const double v[6] = {s->speed, 0, 0, 0, s->rolls ? s->speed / r : 0, s->spins ? 3 : 0};
    double worst = 0;
    assert_int_equal(perp_bodies_set(b, NULL, v), PERP_OK);
    for (int k = 0; k * s->h * s->speed < 0.6 && perp_bodies_q(b)[0] < 0.85 + 10 * s->curb; k++) {
        step(b, NULL);
        worst = fmax(worst, fabs(perp_bodies_v(b)[0] - s->speed));
    }
    double place[3];
    perp_bodies_pose(b, shape[2].body, place, NULL);
    *end = place[0];
    perp_bodies_destroy(b);
    perp_field_destroy(field);
    perp_mesh_destroy(large);
    perp_mesh_destroy(small);
    return worst;
}

static void seams_are_not_felt(void **state)
{
    (void)state;
    static const perp_shape_kind floors[] = {PERP_SHAPE_BOX, PERP_SHAPE_MESH, PERP_SHAPE_FIELD},
                                 kinds[] = {PERP_SHAPE_BOX,       PERP_SHAPE_SPHERE,
                                            PERP_SHAPE_CAPSULE,   PERP_SHAPE_CYLINDER,
                                            PERP_SHAPE_ELLIPSOID, PERP_SHAPE_MESH};
    static const double speed[] = {0.1, 1, 10}, h[] = {2e-2, 5e-3, 5e-4};
    for (int f = 0; f < 3; f++)
        for (int k = 0; k < 6; k++)
            for (int n = 0; n < 9; n++)
                for (int how = 0; how < 3; how++) {
                    slide s = {floors[f],           kinds[k], speed[n % 3], h[n / 3],
                               how == 1 ? 1e-9 : 0, 0,        how == 2,     how == 1};
                    int is_round = k == 1 || k == 2 || k == 3;
                    double end;
                    if (how == 2 && !is_round) continue;
                    if (n == 6 && f + k > 1 && !getenv("PERP_LONG")) continue; /* 12000 steps */
                    double off = slide_over(&s, &end);
                    if (!(off <= 1e-6 * s.speed))
                        fail_msg("floor %d, kind %d, %g m/s, h = %g s, way %d: off by %g", f, k,
                                 s.speed, s.h, how, off);
                }
}

static void a_curb_is(void **state)
{
    (void)state;
    for (int k = 0; k < 9; k++) {
        slide s = {PERP_SHAPE_BOX,
                   k % 2 ? PERP_SHAPE_MESH : PERP_SHAPE_BOX,
                   k % 3 ? 0.5 : 8,
                   k / 3 ? 5e-3 : 1e-3,
                   0,
                   k < 5 ? 1e-6 : 1e-3,
                   0,
                   0};
        double end;
        slide_over(&s, &end);
        assert_near(end, -0.1, 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_rod_stops_at_a_peg),
                                       cmocka_unit_test(nearest_points_are_told_from_an_overlap),
                                       cmocka_unit_test(a_ball_stops_at_a_wall),
                                       cmocka_unit_test(a_thrown_ball_stops_at_a_plate),
                                       cmocka_unit_test(what_passes_is_not_held),
                                       cmocka_unit_test(turning_rods_stop_at_pegs),
                                       cmocka_unit_test(what_hangs_on_arms_stops_at_pegs),
                                       cmocka_unit_test(seams_are_not_felt),
                                       cmocka_unit_test(a_curb_is)};
    return run_all(tests);
}
