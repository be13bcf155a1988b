/* perp_bodies_assemble: starts that cannot be ones are moved the least way in the metric of the masses; what has no room touches no more. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static perp_bodies *make(const perp_body *body, int nbody, const perp_shape *shape, int nshape)
{
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_options o = perp_bodies_options_default();
    if (perp_bodies_create(body, nbody, shape, nshape, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static perp_assembly assemble(perp_bodies *b)
{
    perp_assembly is = {.size = sizeof is};
    assert_int_equal(perp_bodies_assemble(b, &is, NULL), PERP_OK);
    return is;
}

static void run(perp_bodies *b, int n)
{
    perp_diag diag = {0};
    for (int k = 0; k < n; k++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static perp_body slide(double mass)
{
    return (perp_body){.joint = PERP_JOINT_SLIDE, .axis = {1, 0, 0}, .mass = mass};
}

/* x = y is reached where m (x - x0) + M (y - y0) = 0. */
static void a_loop_closes_at_the_mean_of_the_masses(void **state)
{
    (void)state;
    const perp_body body[] = {slide(1), slide(3)};
    perp_bodies *b = make(body, 2, NULL, 0);
    const double q[] = {0, 1}, v[] = {2, -2};
    perp_equality e = {.kind = PERP_EQUALITY_JOINT, .body = {1, 2}, .polynomial = {0, 1}};
    assert_int_equal(perp_bodies_add_equality(b, &e, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, q, v), PERP_OK);
    perp_assembly is = assemble(b);
    assert_near(is.loop, 1, 1e-15);
    assert_near(is.moved, 0.75, 1e-12);
    assert_true(is.is_assembled && is.penetration == 0 && is.limit == 0);
    for (int k = 0; k < 2; k++) assert_near(perp_bodies_q(b)[k], 0.75, 1e-12);
    for (int k = 0; k < 2; k++) assert_near(perp_bodies_v(b)[k], v[k], 0);
    perp_bodies_destroy(b);
}

/* Through an angle, so that several motions are needed. */
static void a_connect_closes(void **state)
{
    (void)state;
    const perp_body body[] = {
        {.joint = PERP_JOINT_HINGE, .axis = {0, 1, 0}, .mass = 1, .center = {0.5, 0, 0}},
        {.parent = 1,
         .joint = PERP_JOINT_HINGE,
         .axis = {0, 1, 0},
         .position = {1, 0, 0},
         .mass = 1,
         .center = {0.5, 0, 0}}};
    perp_bodies *b = make(body, 2, NULL, 0);
    perp_equality e = {
        .kind = PERP_EQUALITY_CONNECT, .body = {2, 0}, .point = {{1, 0, 0}, {1.2, 0, 0.4}}};
    const double q[] = {0.3, 0.4}, tip[3] = {1, 0, 0};
    double p[3], R[9];
    assert_int_equal(perp_bodies_add_equality(b, &e, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    perp_assembly is = assemble(b);
    assert_true(is.is_assembled && is.loop > 0.1);
    perp_bodies_pose(b, 2, p, R);
    for (int d = 0; d < 3; d++) assert_near(p[d] + R[3 * d] * tip[0], e.point[1][d], 1e-8);
    perp_bodies_destroy(b);
}

static void a_passed_limit_is_met(void **state)
{
    (void)state;
    const perp_body body[] = {slide(1), slide(1)};
    perp_bodies *b = make(body, 2, NULL, 0);
    const perp_joint_law law = {.range = {1, -3, -0.9}};
    const double q[] = {0.25, 0};
    assert_int_equal(perp_bodies_set_joint(b, 2, &law, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    perp_assembly is = assemble(b);
    assert_near(is.limit, 0.9, 1e-15);
    assert_int_equal(is.body, 2);
    assert_near(perp_bodies_q(b)[0], 0.25, 0);
    assert_near(perp_bodies_q(b)[1], -0.9, 1e-12);
    run(b, 10);
    assert_near(perp_bodies_v(b)[1], 0, 1e-9); /* nothing was thrown */
    perp_bodies_destroy(b);
}

/* A sum of slides goes to its limit by the masses; a thread that is too long for an arm is shorter then. */
static void a_tendon_s_passed_limit_is_met(void **state)
{
    (void)state;
    const perp_body body[] = {slide(1), slide(3)};
    perp_bodies *b = make(body, 2, NULL, 0);
    const perp_tendon sum = {
        .n = 2, .body = (int[]){1, 2}, .coefficient = (double[]){1, 1}, .range = {1, -1, 0.5}};
    const double q[] = {1, 0};
    assert_int_equal(perp_bodies_add_tendon(b, &sum, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    perp_assembly is = assemble(b);
    assert_true(is.is_assembled && is.body == 0 && is.tendon == 1);
    assert_near(is.limit, 0.5, 1e-15);
    assert_near(perp_bodies_q(b)[0], 1 - 0.375, 1e-9);
    assert_near(perp_bodies_q(b)[1], -0.125, 1e-9);
    run(b, 10);
    for (int k = 0; k < 2; k++) assert_near(perp_bodies_v(b)[k], 0, 1e-6); /* nothing was thrown */
    perp_bodies_destroy(b);
    const perp_tendon same = {
        .n = 2, .body = (int[]){1, 2}, .coefficient = (double[]){1, -1}, .range = {1, -9, 0}};
    b = make(body, 2, NULL, 0); /* to a limit of 0, which its terms reach to rounding */
    assert_int_equal(perp_bodies_add_tendon(b, &same, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, (double[]){1.7, 0.1}, NULL), PERP_OK);
    is = assemble(b);
    assert_true(is.is_assembled && is.tendon == 1);
    for (int k = 0; k < 2; k++) assert_near(perp_bodies_q(b)[k], 0.5, 1e-8);
    perp_bodies_destroy(b);
    const perp_body arm = {
        .joint = PERP_JOINT_HINGE, .axis = {0, 0, 1}, .mass = 1, .center = {1, 0, 0}};
    const perp_path_point path[] = {{.kind = PERP_PATH_SITE, .position = {0, 2, 0}},
                                    {.kind = PERP_PATH_SITE, .body = 1, .position = {1, 0, 0}}};
    const perp_tendon thread = {.npath = 2, .path = path, .range = {1, 0, 1.5}};
    b = make(&arm, 1, NULL, 0);
    assert_int_equal(perp_bodies_add_tendon(b, &thread, NULL), PERP_OK);
    is = assemble(b);
    assert_true(is.is_assembled && is.tendon == 1);
    assert_near(is.limit, sqrt(5) - 1.5, 1e-14);
    assert_true(perp_bodies_tendon_length(b, 1) < 1.5 + 1e-8); /* as far as a tangent says */
    perp_bodies_destroy(b);
}

/* A joint alone goes to its limit: what hangs on it goes along, and what it hangs on stays to the bit. */
static void a_limit_moves_no_other_joint(void **state)
{
    (void)state;
    perp_body body[3];
    for (int i = 0; i < 3; i++)
        body[i] = (perp_body){.parent = i,
                              .joint = PERP_JOINT_HINGE,
                              .axis = {0, 1, 0},
                              .position = {i ? 0.3 : 0, 0, 0},
                              .mass = 1,
                              .center = {0.2, 0, 0}};
    perp_bodies *b = make(body, 3, NULL, 0);
    const perp_joint_law law = {.range = {1, 0.5, 1}};
    const double q[] = {0.1, 0.2, 0.3};
    assert_int_equal(perp_bodies_set_joint(b, 2, &law, NULL), PERP_OK);
    assert_int_equal(perp_bodies_set(b, q, NULL), PERP_OK);
    assert_true(assemble(b).is_assembled);
    assert_true(perp_bodies_q(b)[0] == q[0] && perp_bodies_q(b)[1] == 0.5 &&
                perp_bodies_q(b)[2] == q[2]);
    perp_bodies_destroy(b);
}

static const perp_body free_box = {
    .joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.01, 0.01, 0.01}, .position = {0, 0, 0.06}};
static const perp_shape floor_and_box[] = {
    {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
    {.kind = PERP_SHAPE_BOX, .body = 1, .size = {0.1, 0.1, 0.1}, .mu = 0.5},
    {.kind = PERP_SHAPE_PLANE, .position = {0, 0, 0.15}, .rotation = {0, 1, 0, 0}}};

static void what_overlaps_is_moved_out(void **state)
{
    (void)state;
    perp_bodies *b = make(&free_box, 1, floor_and_box, 2);
    perp_assembly is = assemble(b);
    assert_near(is.penetration, 0.04, 1e-12);
    assert_true(is.is_assembled && !is.excluded && is.shape[0] + is.shape[1] == 1);
    assert_near(perp_bodies_q(b)[2], 0.1, 1e-6);
    perp_bodies_destroy(b);
}

/* A free body has room somewhere: it is not for us to say that it does not touch. */
static void what_cannot_be_stays_as_it_is(void **state)
{
    (void)state;
    perp_bodies *b = make(&free_box, 1, floor_and_box, 3);
    perp_assembly is = assemble(b);
    assert_true(!is.is_assembled && !is.excluded && is.moved == 0);
    assert_near(perp_bodies_q(b)[2], 0.06, 0);
    assert_int_equal(perp_bodies_excluded_pair(b, 0, NULL, NULL), 0);
    perp_bodies_destroy(b);
}

static void what_is_right_stays_to_the_bit(void **state)
{
    (void)state;
    perp_body body = free_box;
    body.position[2] = 0.1;
    perp_bodies *b = make(&body, 1, floor_and_box, 2);
    perp_assembly is = assemble(b);
    assert_true(is.is_assembled && is.moved == 0 && is.penetration == 0);
    assert_memory_equal(perp_bodies_q(b), body.position, sizeof body.position);
    perp_bodies_destroy(b);
}

/* Two hinges about one axis: the first and the third link's balls are in each other, however they turn. The two that can leave each other do. */
static void hulls_about_one_axis_touch_no_more(void **state)
{
    (void)state;
    perp_body body[3];
    for (int i = 0; i < 3; i++)
        body[i] = (perp_body){.parent = i,
                              .joint = PERP_JOINT_HINGE,
                              .axis = {0, 0, 1},
                              .mass = 1,
                              .inertia = {1, 1, 1}};
    for (int kind = 0; kind < 3; kind++) {
        int is_named = kind == 1, is_far = kind == 2, pair[2] = {-1, -1};
        const perp_shape shape[] = {
            {.kind = PERP_SHAPE_SPHERE, .body = 1, .size = {0.1}},
            {.kind = PERP_SHAPE_SPHERE, .body = 3, .size = {0.08}},
            {.kind = PERP_SHAPE_SPHERE, .body = 1, .size = {0.1}, .position = {1, 0, 0}},
            {.kind = PERP_SHAPE_SPHERE,
             .body = 3,
             .size = {0.1},
             .position = {1, is_far ? 0.1 : 0.17, 0}}};
        perp_bodies *b = make(body, 3, shape, 4);
        double overlap = 0;
        if (is_named) assert_int_equal(perp_bodies_add_pair(b, 0, 1, 0.5), PERP_OK);
        perp_assembly is = assemble(b);
        if (is_named) { /* said by name, it holds: it cannot be */
            assert_true(!is.is_assembled && !perp_bodies_excluded_pair(b, 0, NULL, NULL));
            perp_bodies_destroy(b);
            continue;
        }
        assert_true(is.is_assembled);
        assert_int_equal(is.excluded, is_far ? 2 : 1);
        assert_int_equal(perp_bodies_excluded_pair(b, 0, pair, &overlap), 1);
        assert_true(pair[0] == 0 && pair[1] == 1);
        assert_near(overlap, 0.18, 1e-12);
        assert_int_equal(perp_bodies_excluded_pair(b, 1, pair, &overlap), is_far);
        if (is_far)
            assert_true(pair[0] == 2 && pair[1] == 3 && is.moved == 0);
        else
            assert_true(is.moved > 0.01); /* the other two went apart */
        run(b, 20);
        perp_bodies_destroy(b);
    }
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    assert_int_equal(perp_bodies_assemble(NULL, NULL, NULL), PERP_ERR_ARG);
    assert_int_equal(perp_bodies_excluded_pair(NULL, 0, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_closes_at_the_mean_of_the_masses),
        cmocka_unit_test(a_connect_closes),
        cmocka_unit_test(a_passed_limit_is_met),
        cmocka_unit_test(a_tendon_s_passed_limit_is_met),
        cmocka_unit_test(a_limit_moves_no_other_joint),
        cmocka_unit_test(what_overlaps_is_moved_out),
        cmocka_unit_test(what_cannot_be_stays_as_it_is),
        cmocka_unit_test(what_is_right_stays_to_the_bit),
        cmocka_unit_test(hulls_about_one_axis_touch_no_more),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return run_all(tests);
}
