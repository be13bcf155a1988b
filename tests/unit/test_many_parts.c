/* Robot files with many parts: 8 times as many take about 8 times as long (n log n), of the
 * processor. A look-up of names from one end would take 64 times. */

#include "unit.h"

#include "base/text.h"
#include "perp/robots.h"

#include <time.h>

enum { FEW = 8000, MANY = 8 * FEW };

typedef void write_part(perp__text *out, int n);

static void bodies(perp__text *out, int n)
{
    for (int i = 0; i < n; i++)
        perp__text_format(out,
                          "<body name='b%d' pos='%d %d 1'><joint name='j%d' axis='1 0 0'/>"
                          "<joint name='k%d' axis='0 1 0'/><geom name='g%d' size='0.1'/>"
                          "<site name='s%d'/></body>",
                          i, i % 100, i / 100, i, i, i, i);
}

static void world(perp__text *out, int n)
{
    perp__text_put(out, "<worldbody>");
    bodies(out, n);
    perp__text_put(out, "</worldbody>");
}

/* All hang on one that moves, and each has several joints. */
static void tree(perp__text *out, int n)
{
    perp__text_put(out, "<worldbody><body><joint/><geom size='0.1'/>");
    bodies(out, n);
    perp__text_put(out, "</body></worldbody>");
}

/* An order without rule: 7919 is a prime. */
static int other(int i, int n)
{
    return (int)((long long)i * 7919 % n);
}

static void contacts(perp__text *out, int n)
{
    world(out, n);
    perp__text_put(out, "<contact>");
    for (int i = 0; i < n; i++) {
        int k = other(i, n);
        if (k == i) continue;
        perp__text_format(out,
                          "<pair geom1='g%d' geom2='g%d'/><exclude body1='b%d' body2='b%d'/>", k, i,
                          k, i);
    }
    perp__text_put(out, "</contact>");
}

static void actuators(perp__text *out, int n)
{
    world(out, n);
    perp__text_put(out, "<actuator>");
    for (int i = 0; i < n; i++) perp__text_format(out, "<motor joint='j%d'/>", other(i, n));
    perp__text_put(out, "</actuator>");
}

static void classes(perp__text *out, int n)
{
    perp__text_put(out, "<default>");
    for (int i = 0; i < n; i++)
        perp__text_format(out, "<default class='c%d'><geom size='0.1'/></default>", i);
    perp__text_put(out, "</default><worldbody>");
    for (int i = 0; i < n; i++)
        perp__text_format(out,
                          "<body pos='%d 0 1'><freejoint/><geom class='c%d'/></body>", i,
                          other(i, n));
    perp__text_put(out, "</worldbody>");
}

static void meshes(perp__text *out, int n)
{
    perp__text_put(out, "<asset>");
    for (int i = 0; i < n; i++)
        perp__text_format(out, "<mesh name='m%d' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/>", i);
    perp__text_put(out, "</asset><worldbody>");
    for (int i = 0; i < n; i++)
        perp__text_format(out,
                          "<body pos='%d 0 1'><freejoint/><geom type='mesh' mesh='m%d'/></body>", i,
                          other(i, n));
    perp__text_put(out, "</worldbody>");
}

static void ignored(perp__text *out, int n)
{
    perp__text_put(out, "<worldbody><body><freejoint/><geom size='0.1'/></body></worldbody>");
    for (int i = 0; i < n; i++) perp__text_put(out, "<sensor/>");
}

static void links(perp__text *out, int n)
{
    for (int i = 0; i <= n; i++)
        perp__text_format(out,
                          "<link name='l%d'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
                          "izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>",
                          i);
    for (int i = 1; i <= n; i++)
        perp__text_format(out,
                          "<joint name='j%d' type='continuous'><parent link='l0'/><child "
                          "link='l%d'/>%s</joint>",
                          i, i, i == n ? "<mimic joint='j1'/>" : "");
}

/* Seconds of the processor for reading the file and making its system. */
static double time_of(write_part *write, const char *root, int n)
{
    perp__text text = {0};
    perp_robot *robot;
    perp_bodies *b;
    perp_diag diag = {0};
    perp__text_format(&text, "<%s>", root);
    write(&text, n);
    perp__text_format(&text, "</%s>", root);
    assert_false(text.failed);
    clock_t begun = clock();
    perp_status status = perp_robot_parse(text.at, text.length, "many.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%.400s", perp_diag_text(&diag));
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    perp__text_clear(&text);
    perp_diag_clear(&diag);
    return seconds;
}

static void files_load_in_n_log_n(void **state)
{
    static const struct {
        const char *name, *root;
        write_part *write;
    } file[] = {{"tree", "mujoco", tree},           {"contacts", "mujoco", contacts},
                {"actuators", "mujoco", actuators}, {"classes", "mujoco", classes},
                {"meshes", "mujoco", meshes},       {"ignored", "mujoco", ignored},
                {"links", "robot", links}};
    (void)state;
#ifdef __SANITIZE_ADDRESS__ /* its own time is not in proportion */
    skip_because("with sanitizers");
#endif
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        double few = INFINITY, many = INFINITY;
        for (int k = 0; k < 3; k++) few = fmin(few, time_of(file[i].write, file[i].root, FEW));
        for (int k = 0; k < 3 && !(many < 28 * few); k++) /* again where something disturbed it */
            many = fmin(many, time_of(file[i].write, file[i].root, MANY));
        print_message("%-10s %.4f s, 8 times as many %.4f s\n", file[i].name, few, many);
        if (!(many < 28 * few)) fail_msg("%s: %.3f s, then %.3f s", file[i].name, few, many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_load_in_n_log_n)};
    return run_all(tests);
}
