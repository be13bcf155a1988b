/* perp check and perp simulate of robot files. */

#include "cli.h"
#include "unit.h"

#include "perp/report.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ARM  "examples/robots/arm.xml"
#define CART "examples/robots/cartpole.xml"

/* Without expat all of these are refused, by that name. */
static void need_expat(void)
{
    cli_result r = cli_run("check " ARM);
    int is_there = !strstr(r.err, "expat");
    cli_free(&r);
    if (!is_there) skip_because("there is no expat");
}

static void rows_are_named_by_joints(void **state)
{
    (void)state;
    need_expat();
    const char *out = cli_path("arm.csv");
    cli_result r = cli_run("simulate " ARM " --key ready --to 0.1 --every 10 -o '%s'", out);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "50 steps of 0.002 s"));
    char *text = cli_read(out);
    assert_non_null(strstr(text, "# unit elbow = rad\n"));
    assert_non_null(strstr(text, "# unit block.vy = m/s\n"));
    assert_non_null(strstr(text, "\nt,shoulder_roll,shoulder_bend,"));
    assert_non_null(strstr(text, "\n0,0,0.4,0,1.4,"));
    assert_non_null(strstr(text, "# complete: 6 rows"));
    free(text);
    cli_free(&r);
}

static void what_is_set_is_the_start(void **state)
{
    (void)state;
    need_expat();
    cli_expect(0, "\n0,0.25,0.1,0,-1,", NULL,
               "simulate " CART
               " --to 0.01 -o - --set cart=0.25 --set pole=0.1 --set pole.v=-1 2>&1");
    cli_expect(1, NULL, "there are: cart pole", "simulate " CART " --set card=1");
    cli_expect(1, NULL, "--set needs NAME=NUMBER", "simulate " CART " --set cart=x");
    cli_expect(1, NULL, "--to: a time > 0", "simulate " CART " --to -1");
    cli_expect(1, NULL, "--estimate is not for robot files", "simulate " CART " --estimate full");
    cli_expect(1, NULL, "--flat is not for robot files", "check " CART " --flat");
    cli_expect(1, NULL, "--method of a robot file is one of: euler midpoint",
               "simulate " CART " --method radau5");
    cli_expect(1, NULL, "--method midpoint is for robot files",
               "simulate examples/notes/particle.perp --method midpoint");
    cli_expect(0, "to t = 0.1 s, method midpoint: each verified", NULL,
               "simulate " CART " --to 0.1 --method midpoint");
    cli_expect(1, NULL, "--key is for robot files",
               "simulate examples/notes/particle.perp --key x");
    cli_expect(4, NULL, "nowhere.xml: cannot be read", "check nowhere.xml");
    cli_expect(1, NULL, "would overwrite", "simulate " CART " -o " CART);
}

static void what_overlaps_at_the_start_is_named(void **state)
{
    (void)state;
    need_expat();
    const char *path = cli_file(
        "deep.xml", "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                    "<body pos='0 0 0.05'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
                    "</worldbody></mujoco>");
    cli_expect(
        0, "unnamed (",
        "deep.xml: at the start 'floor' and shape 2 penetrate by 0.05 m: moved to where all holds, "
        "by up to 0.05",
        "check '%s'", path);
    cli_expect(0, NULL, "'floor' and shape 2 penetrate by 0.05 m", "simulate '%s' --to 0.01", path);
    cli_result r = cli_run("check " ARM);
    assert_null(strstr(r.err, "penetrate"));
    cli_free(&r);
}

/* Limits that are passed and loops that are open, too; hulls about one joint touch no more, and are listed. */
static void a_start_that_cannot_be_is_mended_and_said(void **state)
{
    (void)state;
    need_expat();
    const char *path = cli_file(
        "knee.xml",
        "<mujoco><compiler angle='radian'/><worldbody><body name='a'><joint/><geom size='.1'/>"
        "<body name='b'><joint name='knee' range='.5 1'/><geom size='.01' pos='.5 0 0'/>"
        "<body name='c'><joint/><geom name='hub' size='.1'/></body></body></body></worldbody>"
        "</mujoco>");
    cli_expect(0, NULL,
               "at the start shape 1 of 'a' and 'hub' of 'c' penetrate by 0.2 m and cannot be "
               "separated nearby: their contacts are excluded",
               "check '%s'", path);
    cli_expect(0, NULL, "'knee' is past its limit by 0.5", "check '%s'", path);
    cli_result r = cli_run("simulate '%s' --to 0.002 -o - --quiet", path);
    assert_non_null(strstr(r.out, "\n0,0,0.5,0,0,0,0,0,"));
    cli_free(&r);
}

static double cart_after(const char *control)
{
    cli_result r = cli_run("simulate " CART " --to 0.002 -o - --quiet --set push.u=%s", control);
    const char *row = strstr(r.out, "\n0.002,");
    double x = row ? atof(row + 7) : 0;
    cli_free(&r);
    return x;
}

/* A force of 10 N times the control on 1.1 kg, less 0.5 N of friction. */
static void a_control_pushes(void **state)
{
    (void)state;
    need_expat();
    assert_near(cart_after("0.5"), 4e-6 * 4.5 / 1.1, 5e-6);
    assert_near(cart_after("-0.5"), -4e-6 * 4.5 / 1.1, 5e-6);
    assert_near(cart_after("0.05"), 0, 1e-20);
    assert_near(cart_after("7"), cart_after("1"), 0); /* the range ends there */
}

static void check_lists_what_is_ignored(void **state)
{
    (void)state;
    need_expat();
    const char *file =
        cli_file("r.xml", "<mujoco>\n<worldbody><light/>\n<body><joint/><geom size='1' "
                          "solref='1 1'/></body></worldbody>\n<option cone='x'/></mujoco>\n");
    cli_expect(0, "r.xml:3:38: ignored: solref of geom", NULL, "check '%s'", file);
    cli_expect(0, "r.xml:2:12: ignored: <light>", NULL, "check '%s'", file);
    cli_expect(0, "3 kinds of things are ignored", NULL, "check '%s'", file);
    file =
        cli_file("bad.xml", "<mujoco>\n<worldbody><body><joint spin='1'/>\n<geom size='-1'/></body>"
                            "</worldbody></mujoco>\n");
    cli_expect(2, NULL, "bad.xml:2:31: spin: not known of <joint>", "check '%s'", file);
    cli_expect(2, NULL, "bad.xml:3:13: geom: 1 size is > 0 expected", "check '%s'", file);
}

static void a_page_shows_the_rows(void **state)
{
    (void)state;
    need_expat();
    if (!perp_report_has_page()) skip_because("there is no page");
    char out[256], page[256];
    snprintf(out, sizeof out, "%s", cli_path("cart.csv"));
    snprintf(page, sizeof page, "%s", cli_path("cart.html"));
    cli_expect(0, "50 steps", NULL, "simulate " CART " --to 0.1 -o '%s' --report '%s'", out, page);
    char *text = cli_read(page);
    assert_non_null(strstr(text, "pole.v"));
    free(text);
    cli_expect(0, "report: ", NULL, "simulate " CART " --to 0.1 --report '%s'",
               page); /* without -o, too */
    text = cli_read(page);
    assert_non_null(strstr(text, "\"motion\""));
    free(text);
}

/* Steps that do not hold end the run: a box higher than the room between two planes. */
static void a_step_that_does_not_hold_ends_the_run(void **state)
{
    (void)state;
    need_expat();
    const char *file = cli_file(
        "stuck.xml", "<mujoco><worldbody><geom type='plane' size='1 1 1'/><geom type='plane' "
                     "size='1 1 1' pos='0 0 .15' euler='180 0 0'/><body pos='0 0 .07'><freejoint/>"
                     "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>");
    cli_expect(3, NULL, "nowhere near does all hold", "simulate '%s' --quiet", file);
    cli_expect(3, NULL, "not verified", "simulate '%s' --quiet", file);
}

/* A ball of 2 kg falls 0.5 m onto a floor, beside one that lies: m v = 2 sqrt(g), energy m g/2. */
static void impacts_are_listed(void **state)
{
    (void)state;
    need_expat();
    const char *ball = cli_file(
                   "ball.xml", "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                               "<body name='lies' pos='1 0 .1'><freejoint/><geom size='.1'/></body>"
                               "<body name='ball' pos='.2 .3 .6'><freejoint/><geom size='.1' "
                               "mass='2'/></body></worldbody></mujoco>"),
               *path = cli_path("impacts.csv");
    double t, impulse, friction, energy, x, y, z, v = sqrt(9.81);
    cli_expect(0, "1 impact, ", NULL, "simulate '%s' --to 0.5 --events '%s'", ball, path);
    cli_expect(0, " (floor, shape 3: world, ball); energy lost: ", NULL, "simulate '%s' --to 0.5",
               ball);
    char *text = cli_read(path), *second = strchr(text, '\n') + 1;
    assert_memory_equal(text, "t,contact,bodies,impulse,friction,unit,energy,x,y,z\n", 52);
    assert_int_equal(sscanf(second,
                            "%lf,\"floor, shape 3\",\"world, ball\",%lf,%lf,N s,%lf,%lf,%lf,%lf\n",
                            &t, &impulse, &friction, &energy, &x, &y, &z),
                     7);
    assert_true(fabs(t - v / 9.81) < 5e-3 && fabs(impulse - 2 * v) < 0.12);
    assert_true(fabs(energy - 9.81) < 0.4 && fabs(friction) < 1e-9);
    assert_true(fabs(x - 0.2) < 1e-9 && fabs(y - 0.3) < 1e-9 && fabs(z) < 0.01);
    free(text);
    cli_result r = cli_run("simulate '%s' --to 0.5 --json", ball);
    cJSON *o = cJSON_Parse(r.out), *all = cJSON_GetObjectItem(o, "impacts"),
          *one = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "list"), 0);
    assert_int_equal(cJSON_GetObjectItem(all, "count")->valueint, 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "list")), 1);
    assert_true(fabs(cJSON_GetObjectItem(one, "impulse")->valuedouble - impulse) < 1e-12);
    assert_true(fabs(cJSON_GetArrayItem(cJSON_GetObjectItem(one, "point"), 1)->valuedouble - 0.3) <
                1e-9);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(o, "events")));
    cJSON_Delete(o);
    cli_free(&r);
    cli_expect(0, NULL, NULL, "simulate '%s' --to 0.1", ball);
    r = cli_run("simulate '%s' --to 0.1", ball);
    assert_null(strstr(r.out, "impact"));
    cli_free(&r);
}

static void commands_of_models_say_what_takes_a_robot(void **state)
{
    static const char *const commands[] = {"plan %s", "identify %s --data x.csv",
                                           "sweep %s --vary m=1,2", "export %s -o x.fmu",
                                           "export c %s -o x"};
    (void)state;
    for (int i = 0; i < 5; i++) {
        char text[200];
        snprintf(text, sizeof text, commands[i], "examples/robots/arm.xml");
        cli_expect(2, NULL, "robot NAME = \"FILE\"", "%s", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_named_by_joints),
        cmocka_unit_test(what_overlaps_at_the_start_is_named),
        cmocka_unit_test(a_start_that_cannot_be_is_mended_and_said),
        cmocka_unit_test(what_is_set_is_the_start),
        cmocka_unit_test(a_control_pushes),
        cmocka_unit_test(check_lists_what_is_ignored),
        cmocka_unit_test(a_page_shows_the_rows),
        cmocka_unit_test(a_step_that_does_not_hold_ends_the_run),
        cmocka_unit_test(impacts_are_listed),
        cmocka_unit_test(commands_of_models_say_what_takes_a_robot),
    };
    return run_all(tests);
}
