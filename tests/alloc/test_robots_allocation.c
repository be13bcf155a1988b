/* Memory: when any single allocation of reading a robot, or of the system made of it, fails, the call says so and leaks nothing. expat's own are its
 * own. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/model.h"

static perp_status a_robot_read(void *path, perp_diag *diag)
{
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    perp_status status = perp_robot_read(path, &robot, diag);
    if (status == PERP_OK) status = perp_robot_create_bodies(robot, NULL, &b, diag);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    return status;
}

static perp_status a_robot_in_a_model(void *text, perp_diag *diag)
{
    perp_model *model = NULL;
    perp_status status = perp_model_parse(text, strlen(text), "m.perp", &model, diag);
    perp_model_destroy(model);
    if (status == PERP_ERR_MODEL && strstr(text, "hand.xml")) return PERP_OK; /* which is refused */
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    static char *const files[] = {PERP_SOURCE_DIR "/tests/data/robots/defaults.xml",
                                  PERP_SOURCE_DIR "/examples/robots/hand.xml",
                                  PERP_SOURCE_DIR "/examples/robots/gripper.urdf"};
    perp_diag diag = {0};
    perp_status status = a_robot_read(files[1], &diag);
    perp_diag_clear(&diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    for (int i = 0; i < 3; i++) assert_true(tell_each(a_robot_read, files[i], 1) > 8);
    static char model[] = "robot r = \"" PERP_SOURCE_DIR
                          "/examples/robots/cartpole.xml\"(key = \"leaning\", cart_q = 0.1)\n",
                refused[] = "robot r = \"" PERP_SOURCE_DIR "/examples/robots/hand.xml\"\n";
    assert_true(tell_each(a_robot_in_a_model, model, 1) > 8);
    assert_true(tell_each(a_robot_in_a_model, refused, 1) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing)};
    return run_all(tests);
}
