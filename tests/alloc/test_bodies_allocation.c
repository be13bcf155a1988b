/* Memory: when any single allocation of a system of bodies fails, the call says so and leaks nothing; a step that meets no new contact
 * allocates nothing but what its verdict needs. */

#include "failing_malloc.h"
#include "unit.h"

#include "base/base.h"
#include "perp/bodies_batch.h"
#include "perp/joints.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <stdio.h>
#include <string.h>

static perp_status whole_story(void *given, perp_diag *diag)
{
    (void)given;
    perp_body body[2] = {{.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.01, 0.01, 0.01}},
                         {.joint = PERP_JOINT_FREE, .mass = 2, .inertia = {0.02, 0.02, 0.02}}};
    const perp_shape shape[3] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
        {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5},
        {.body = 2,
         .kind = PERP_SHAPE_SPHERE,
         .size = {0.1},
         .mu = 0.5,
         .torsional_friction = 0.01,
         .rolling_friction = 0.01}};
    perp_bodies *b = NULL;
    body[0].position[2] = 0.1;
    body[1].position[2] = 0.305; /* falls onto the box: contacts are added */
    perp_status status = perp_bodies_create(body, 2, shape, 3, NULL, &b, diag);
    for (int i = 0; i < 40 && status == PERP_OK; i++) status = bodies_step(b, NULL, diag);
    perp_bodies_destroy(b);
    return status;
}

/* Two arms that are tied, with all that a joint can have. */
static perp_status story_of_joints(void *given, perp_diag *diag)
{
    (void)given;
    const perp_body arm = {.joint = PERP_JOINT_HINGE,
                           .axis = {0, 1, 0},
                           .mass = 1,
                           .center = {0, 0, -0.5},
                           .inertia = {0.1, 0.1, 0.01}},
                    body[2] = {arm, arm};
    const perp_actuator a = {.body = 1, .gear = 1, .kp = 5, .gain = 5, .force_range = {1, -1, 1}};
    const perp_equality e[2] = {
        {.kind = PERP_EQUALITY_JOINT, .body = {1, 2}, .polynomial = {0, 1}},
        {.kind = PERP_EQUALITY_WELD, .body = {1, 2}, .point = {{0, 0, -1}, {0, 0, -1}}}};
    const perp_tendon strand = {.n = 2,
                                .body = (const int[]){1, 2},
                                .coefficient = (const double[]){1, 0.5},
                                .range = {1, -0.3, 0.3},
                                .friction = 0.1,
                                .stiffness = 2};
    perp_bodies *b = NULL;
    perp_status status = perp_bodies_create(body, 2, NULL, 0, NULL, &b, diag);
    if (status == PERP_OK)
        status = perp_bodies_set_joint(
            b, 2, &(perp_joint_law){.range = {1, -0.1, 1}, .friction = 0.1}, diag);
    if (status == PERP_OK) status = perp_bodies_add_tendon(b, &strand, diag);
    if (status == PERP_OK) status = perp_bodies_add_actuator(b, &a, diag);
    if (status == PERP_OK) status = perp_bodies_set_control(b, (double[]){-1});
    for (int k = 0; k < 2; k++) {
        if (status == PERP_OK) status = perp_bodies_add_equality(b, &e[k], diag);
        for (int i = 0; i < 200 && status == PERP_OK; i++) status = bodies_step(b, NULL, diag);
    }
    perp_bodies_destroy(b);
    return status;
}

/* Boxes that fall on each other and stand, from a snapshot: in the system itself, or in a copy of the first state. */
static perp_status story_of_copies(void *given, perp_diag *diag)
{
    (void)given;
    perp_body body[2] = {{.joint = PERP_JOINT_FREE, .mass = 1, .inertia = {0.01, 0.01, 0.01}},
                         {.joint = PERP_JOINT_BALL, .mass = 2, .inertia = {0.02, 0.02, 0.02}}};
    const perp_shape shape[3] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
        {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5},
        {.body = 2, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    const perp_joint_law law = {.range = {1, 0, 0.5}};
    const perp_actuator a = {.body = 2, .gear = 1, .gain = 1, .is_thruster = 1, .force = {0, 0, 1}};
    perp_bodies *b = NULL, *copy = NULL;
    body[0].position[2] = 0.099;
    body[1].position[2] = 0.11;
    perp_status status = perp_bodies_create(body, 2, shape, 3, NULL, &b, diag);
    if (status == PERP_OK) status = perp_bodies_set_joint(b, 2, &law, diag);
    if (status == PERP_OK) status = perp_bodies_add_actuator(b, &a, diag);
    if (status == PERP_OK) status = perp_bodies_exclude_contacts(b, 1, 2);
    if (status == PERP_OK) status = perp_bodies_add_pair(b, 0, 2, 0.3);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, "pairs"); /* these have no diag */
    if (status == PERP_OK) status = perp_bodies_clone(b, &copy, diag);
    for (int i = 0; i < 10 && status == PERP_OK; i++) status = bodies_step(b, NULL, diag);
    size_t size = status == PERP_OK ? perp_bodies_snapshot_size(b) : 0;
    void *bytes = size ? malloc(size) : NULL;
    if (status == PERP_OK && !bytes) status = perp__out_of_memory(diag, "the test");
    if (status == PERP_OK) status = perp_bodies_snapshot(b, bytes, size);
    if (status == PERP_OK) status = perp_bodies_restore(copy, bytes, size, diag);
    for (int i = 0; i < 10 && status == PERP_OK; i++) status = bodies_step(copy, NULL, diag);
    free(bytes);
    perp_bodies_destroy(b);
    perp_bodies_destroy(copy);
    return status;
}

/* Boxes of a batch that fall on a plane, by one thread: what fails is the same each time. */
static perp_status story_of_a_batch(void *given, perp_diag *diag)
{
    (void)given;
    enum { COUNT = 2 };
    const perp_body body = {.joint = PERP_JOINT_FREE,
                            .position = {0, 0, 0.105},
                            .mass = 1,
                            .inertia = {0.01, 0.01, 0.01}};
    const perp_shape shape[2] = {
        {.kind = PERP_SHAPE_PLANE, .mu = 0.5},
        {.body = 1, .kind = PERP_SHAPE_BOX, .size = {0.1, 0.1, 0.1}, .mu = 0.5}};
    double v[6 * COUNT] = {0};
    int solved = 0;
    perp_bodies_arrays x = {.size = sizeof x, .v = v};
    perp_bodies *b = NULL;
    perp_bodies_batch *batch = NULL;
    perp_status status = perp_bodies_create(&body, 1, shape, 2, NULL, &b, diag);
    if (status == PERP_OK) status = perp_bodies_batch_create(b, COUNT, 1, &batch, diag);
    v[6] = 0.1;
    if (status == PERP_OK) status = perp_bodies_batch_step(batch, 30, &x, &solved, diag);
    if (status == PERP_OK) assert_int_equal(solved, COUNT);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(tell_each(story_of_a_batch, NULL, 1) > 30);
    assert_true(tell_each(whole_story, NULL, 1) > 21);
    assert_true(tell_each(story_of_joints, NULL, 1) > 21);
    assert_true(tell_each(story_of_copies, NULL, 1) > 40);
}

/* Threads that step a batch meet at no lock of the allocator: a quadruped that stands and moves its legs allocates nothing. */
static void a_batch_allocates_nothing_once_contacts_are_there(void **state)
{
    enum { COUNT = 3, MOST = 64 };
    double u[COUNT * MOST] = {0};
    int solved, nu;
    (void)state;
    perp_robot *robot;
    perp_bodies *b;
    perp_bodies_batch *batch;
    perp_bodies_arrays x = {.size = sizeof x, .control = u};
    perp_status status =
        perp_robot_read(PERP_SOURCE_DIR "/examples/robots/quadruped.xml", &robot, NULL);
    if (status == PERP_ERR_UNAVAILABLE) skip();
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, NULL), PERP_OK);
    assert_int_equal(perp_robot_set_key(robot, 0, b), PERP_OK);
    nu = perp_bodies_nu(b);
    assert_true(nu <= MOST);
    for (int i = 0; i < COUNT; i++)
        memcpy(u + i * nu, perp_robot_key_control(robot, 0), (size_t)nu * sizeof *u);
    assert_int_equal(perp_bodies_batch_create(b, COUNT, 1, &batch, NULL), PERP_OK);
    assert_int_equal(perp_bodies_batch_step(batch, 400, &x, &solved, NULL), PERP_OK);
    long before = 0;
    for (int k = 0; k < 120; k++) {
        if (k == 20) before = allocations; /* the legs have moved once */
        for (int i = 0; i < COUNT * nu; i++) u[i] += k % 20 < 10 ? 1e-3 : -1e-3;
        assert_int_equal(perp_bodies_batch_step(batch, 4, &x, &solved, NULL), PERP_OK);
        assert_int_equal(solved, COUNT);
    }
    assert_true(perp_bodies_contacts(perp_bodies_batch_at(batch, 1), NULL) >= 4);
    /* a pattern of contacts that was not met before may need room, once a copy */
    assert_in_range(allocations - before, 0, COUNT);
    perp_bodies_batch_destroy(batch);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

static perp_status a_mesh_read(void *given, perp_diag *diag)
{
    (void)given;
    perp_mesh *mesh = NULL;
    perp_status status =
        perp_mesh_read(PERP_SOURCE_DIR "/fuzz/corpus/mesh/grid.obj", NULL, &mesh, diag);
    perp_mesh_destroy(mesh);
    return status;
}

static void every_failing_allocation_of_a_mesh_is_reported(void **state)
{
    (void)state;
    assert_true(tell_each(a_mesh_read, NULL, 1) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_batch_allocates_nothing_once_contacts_are_there),
        cmocka_unit_test(every_failing_allocation_of_a_mesh_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
