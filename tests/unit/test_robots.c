/* Robot files: each default of MJCF and URDF by itself, messages with their places, motion of what was read. The whole beside MuJoCo:
 * tests/oracle/robots.py. */

#include "unit.h"

#include "perp/robots.h"

#include <stdio.h>

static perp_robot *read_text(const char *text)
{
    perp_robot *robot = NULL;
    perp_diag diag = {0};
    perp_status status =
        perp_robot_parse(text, strlen(text), "tests/data/robots/t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%s%s", perp_diag_text(&diag), text);
    assert_int_equal(diag.errors, 0);
    perp_diag_clear(&diag);
    return robot;
}

static perp_robot_parts parts_of(const char *text, perp_robot **robot)
{
    *robot = read_text(text);
    return perp_robot_get_parts(*robot);
}

/* A body with a joint's attributes, after what stands before the world. */
#define JOINT(before, joint)                                                                       \
    "<mujoco>" before "<worldbody><body name='b'><joint name='j' " joint                           \
    "/><geom size='0.1'/></body></worldbody></mujoco>"
#define GEOM(before, geom)                                                                         \
    "<mujoco>" before "<worldbody><body name='b'><joint name='j'/><geom " geom                     \
    "/></body></worldbody></mujoco>"
#define WITH(after)                                                                                \
    "<mujoco><worldbody><body name='b'><joint name='j' range='-90 45'/><geom name='g' "            \
    "size='0.1'/>"                                                                                 \
    "<body name='c' pos='0 0 1'><joint name='k' type='slide' ref='0.5'/><geom name='h' "           \
    "size='0.1'/></body></body></worldbody>" after "</mujoco>"

static void refuses(const char *text, perp_status expected, const char *message)
{
    perp_robot *robot = NULL;
    perp_diag diag = {0};
    perp_status status =
        perp_robot_parse(text, strlen(text), "tests/data/robots/t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != expected || robot || !strstr(perp_diag_text(&diag), message))
        fail_msg("%d, \"%s\", expected %d, \"%s\"", status, perp_diag_text(&diag), expected,
                 message);
    perp_diag_clear(&diag);
}

static void expect_law(const char *text, double lower, double upper, double rest)
{
    perp_robot *robot;
    perp_robot_parts p = parts_of(text, &robot);
    assert_near(p.law[0].lower, lower, 1e-15);
    assert_near(p.law[0].upper, upper, 1e-15);
    assert_near(p.law[0].rest, rest, 1e-15);
    perp_robot_destroy(robot);
}

static const double PI = 3.14159265358979323846;

static void angles_are_degrees_unless_it_says_radian(void **state)
{
    (void)state;
    expect_law(JOINT("", "range='-90 45'"), -PI / 2, PI / 4, 0);
    expect_law(JOINT("<compiler angle='radian'/>", "range='-1 0.5'"), -1, 0.5, 0);
    expect_law(JOINT("", "type='slide' range='-90 45'"), -90, 45, 0);
    expect_law(JOINT("", "stiffness='2' springref='30'"), 0, 0, PI / 6);
    expect_law(JOINT("", "type='slide' stiffness='2' springref='30'"), 0, 0, 30);
    expect_law(JOINT("<option/><compiler angle='radian'/>", "stiffness='1' springref='1'"), 0, 0,
               1);
}

static void a_range_limits_unless_autolimits_is_off(void **state)
{
    (void)state;
    expect_law(JOINT("", "range='-90 90' limited='false'"), 0, 0, 0);
    expect_law(JOINT("", "range='-90 90' limited='true'"), -PI / 2, PI / 2, 0);
    expect_law(JOINT("<compiler autolimits='false'/>", "range='-90 90' limited='true'"), -PI / 2,
               PI / 2, 0);
    expect_law(JOINT("<option><flag limit='disable'/></option>", "range='-90 90'"), 0, 0, 0);
    refuses(JOINT("<compiler autolimits='false'/>", "range='-90 90'"), PERP_ERR_MODEL,
            "range: without autolimits");
    refuses(JOINT("", "range='1 -1'"), PERP_ERR_MODEL, "is not below");
    refuses(JOINT("", "type='ball' range='0 1'"), PERP_ERR_MODEL, "a ball joint has no limit");
}

static void expect_body(const char *text, int body, double mass, double Ixx, double Izz)
{
    perp_robot *robot;
    perp_robot_parts p = parts_of(text, &robot);
    assert_near(p.body[body].mass, mass, 1e-12 * mass);
    assert_near(p.body[body].inertia[0], Ixx, 1e-12 * Ixx);
    assert_near(p.body[body].inertia[2], Izz, 1e-12 * Izz);
    perp_robot_destroy(robot);
}

static void geoms_weigh_1000_by_their_volume(void **state)
{
    (void)state;
    double ball = 1000 * 4 * PI / 3 * 1e-3;
    expect_body(GEOM("", "size='0.1'"), 0, ball, 0.4 * ball * 0.01, 0.4 * ball * 0.01);
    expect_body(GEOM("", "size='0.1' density='500'"), 0, ball / 2, 0.2 * ball * 0.01,
                0.2 * ball * 0.01);
    expect_body(GEOM("", "size='0.1' mass='2'"), 0, 2, 0.008, 0.008);
    expect_body(GEOM("", "type='box' size='0.1 0.2 0.3'"), 0, 48, 16 * 0.13, 16 * 0.05);
    expect_body(GEOM("", "type='box' size='0.1' fromto='0 0 0 0 0 2'"), 0, 80, 80 / 3.0 * 1.01,
                80 / 3.0 * 0.02);
    expect_body(GEOM("", "type='cylinder' size='0.1 0.5' mass='12'"), 0, 12, 12 * (0.03 + 1) / 12,
                0.06);
    expect_body(GEOM("", "type='ellipsoid' size='0.1 0.2 0.3' mass='5'"), 0, 5, 0.13, 0.05);
    expect_body(GEOM("<default><geom density='2000'/></default>", "size='0.1' contype='0' "
                                                                  "conaffinity='0'"),
                0, 2 * ball, 0.8 * ball * 0.01, 0.8 * ball * 0.01);
}

/* A capsule is its cylinder and two halves of a ball: beside a sum over slices. */
static void a_capsule_weighs_what_its_slices_do(void **state)
{
    (void)state;
    double r = 0.1, h = 0.3, m = 0, Iz = 0, Ix = 0;
    int n = 200000;
    for (int i = 0; i < n; i++) {
        double z = ((i + 0.5) / n * 2 - 1) * (h + r), over = fabs(z) - h,
               rr = over > 0 ? r * r - over * over : r * r,
               slice = 1000 * PI * rr * 2 * (h + r) / n;
        m += slice, Iz += slice * rr / 2, Ix += slice * (rr / 4 + z * z);
    }
    perp_robot *robot;
    perp_robot_parts p = parts_of(GEOM("", "type='capsule' size='0.1 0.3'"), &robot);
    assert_near(p.body[0].mass, m, 1e-7 * m);
    assert_near(p.body[0].inertia[0], Ix, 1e-7 * Ix);
    assert_near(p.body[0].inertia[2], Iz, 1e-7 * Iz);
    perp_robot_destroy(robot);
}

#define INERTIAL(compiler)                                                                         \
    "<mujoco>" compiler                                                                            \
    "<worldbody><body><joint/><inertial mass='3' pos='0 0 0' diaginertia='1 2 "                    \
    "2.5'/><geom size='0.1' mass='1'/></body></worldbody></mujoco>"

static void inertial_counts_before_geoms_unless_it_says_so(void **state)
{
    (void)state;
    expect_body(INERTIAL(""), 0, 3, 1, 2.5);
    expect_body(INERTIAL("<compiler inertiafromgeom='auto'/>"), 0, 3, 1, 2.5);
    expect_body(INERTIAL("<compiler inertiafromgeom='false'/>"), 0, 3, 1, 2.5);
    expect_body(INERTIAL("<compiler inertiafromgeom='true'/>"), 0, 1, 0.004, 0.004);
    refuses(GEOM("<compiler inertiafromgeom='false'/>", "size='1'"), PERP_ERR_MODEL,
            "<inertial> is missing");
    expect_body(GEOM("<compiler boundmass='7'/>", "size='0.1' mass='2'"), 0, 7, 0.008, 0.008);
    refuses(GEOM("<compiler inertiagrouprange='1 2'/>", "size='0.1'") "x", PERP_ERR_DATA, "1:");
}

static void classes_are_nested_and_inherited(void **state)
{
    (void)state;
    const char *text =
        "<mujoco><default><joint damping='1'/><geom friction='0.5'/><default class='x'><joint "
        "damping='2' armature='3'/><default class='y'><joint armature='4'/></default></default>"
        "<default class='z'/></default><worldbody>"
        "<body name='main'><joint/><geom size='1'/></body>"
        "<body name='child' childclass='y'><joint/><geom size='1'/><body name='deep'>"
        "<joint/><geom size='1'/></body>"
        "<frame childclass='x'><body name='framed'><joint/><geom size='1'/></body></frame>"
        "<body name='own'><joint class='x' damping='9'/><geom size='1' "
        "friction='0.7'/></body></body>"
        "<body name='other'><joint class='z'/><geom size='1'/></body></worldbody></mujoco>";
    const double expected[][3] = {{1, 0, 0.5}, {2, 4, 0.5}, {2, 4, 0.5},
                                  {2, 3, 0.5}, {9, 3, 0.7}, {1, 0, 0.5}};
    perp_robot *robot;
    perp_robot_parts p = parts_of(text, &robot);
    assert_int_equal(p.nbody, 6);
    for (int i = 0; i < 6; i++) {
        assert_near(p.body[i].damping, expected[i][0], 0);
        assert_near(p.body[i].armature, expected[i][1], 0);
        assert_near(p.shape[i].mu, expected[i][2], 0);
    }
    perp_robot_destroy(robot);
    refuses(JOINT("", "class='nowhere'"), PERP_ERR_MODEL, "1:58: there is no class 'nowhere'");
}

/* Where a point of the body is at the beginning, and when q is 0: ref is the value of q there. */
static void ref_is_q_at_the_beginning(void **state)
{
    (void)state;
    perp_robot *robot = read_text("<mujoco><worldbody><body name='h' pos='1 0 0'><joint ref='90' "
                                  "axis='0 0 2'/><geom size='0.1' "
                                  "pos='1 0 0'/><body pos='1 0 0'><joint type='slide' axis='0 3 0' "
                                  "ref='0.5' pos='7 0 0'/><geom "
                                  "size='0.1'/></body></body></worldbody></mujoco>");
    perp_bodies *b;
    perp_diag diag = {0};
    const double q0[2] = {0, 0};
    double p[3], R[9];
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    assert_near(perp_bodies_q(b)[0], PI / 2, 1e-15);
    assert_near(perp_bodies_q(b)[1], 0.5, 0);
    perp_bodies_pose(b, 2, p, R);
    assert_near(p[0], 9, 1e-14); /* the anchor is 7 further */
    assert_near(p[1], 0, 1e-14);
    perp_bodies_set(b, q0, NULL);
    perp_bodies_pose(b, 2, p, R);
    assert_near(p[0], 1 - 0.5, 1e-14);
    assert_near(p[1], -8, 1e-14);
    assert_near(R[1], 1, 1e-14);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

/* What touches where the file begins: the sum of mu + 1 of its contacts. */
static double touches(const char *text)
{
    perp_robot *robot = read_text(text);
    perp_bodies *b;
    perp_diag diag = {0};
    const perp_touch *t;
    double sum = 0;
    if (perp_robot_create_bodies(robot, NULL, &b, &diag) != PERP_OK ||
        perp_bodies_step(b, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    for (int i = perp_bodies_touches(b, &t) - 1; i >= 0; i--) sum += t[i].mu + 1;
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    return sum;
}

/* Two balls on the floor, side by side: three contacts of mu 1. */
#define BALLS(a, b, c, after)                                                                      \
    "<mujoco><worldbody><geom name='f' type='plane' " a                                            \
    "/><body name='x' pos='0 0 1'><freejoint/>"                                                    \
    "<geom name='x' size='1' " b                                                                   \
    "/></body><body name='y' pos='2 0 1.01'><freejoint/><geom name='y' "                           \
    "size='1.01' " c "/></body></worldbody>" after "</mujoco>"

static void shapes_touch_by_type_affinity_pair_and_exclude(void **state)
{
    (void)state;
    assert_near(touches(BALLS("", "", "", "")), 6, 0); /* x-f, y-f, x-y */
    assert_near(touches(BALLS("", "contype='2' conaffinity='2'", "", "")), 2, 0);
    assert_near(touches(BALLS("", "contype='2' conaffinity='1'", "", "")), 6, 0);
    assert_near(touches(BALLS("", "contype='0' conaffinity='0'", "", "")), 2, 0);
    assert_near(touches(BALLS("", "", "", "<contact><exclude body1='x' body2='y'/></contact>")), 4,
                0);
    assert_near(touches(BALLS("", "", "", "<contact><exclude body1='x' body2='world'/></contact>")),
                4, 0);
    assert_near(touches(BALLS("", "contype='0' conaffinity='0'", "",
                              "<contact><pair geom1='x' geom2='y' friction='3'/></contact>")),
                6, 0);
    assert_near(touches(BALLS("", "", "",
                              "<contact><exclude body1='x' body2='y'/><pair geom1='y' "
                              "geom2='x'/></contact>")),
                6, 0);
    assert_near(touches("<mujoco><option><flag contact='disable'/></option><worldbody><geom "
                        "type='plane'/><body pos='0 0 1'><freejoint/><geom "
                        "size='1'/></body></worldbody></mujoco>"),
                0, 0);
}

static void friction_is_the_larger_or_that_of_higher_priority(void **state)
{
    (void)state;
#define FLOOR(a, b)                                                                                \
    touches("<mujoco><worldbody><geom type='plane' " a "/><body pos='0 0 1'><freejoint/><geom "    \
            "size='1' " b "/></body></worldbody></mujoco>")
    assert_near(FLOOR("", ""), 2, 0);
    assert_near(FLOOR("friction='0.2'", "friction='0.3'"), 1.3, 0);
    assert_near(FLOOR("friction='0.2' priority='1'", "friction='0.3'"), 1.2, 0);
    assert_near(FLOOR("friction='0.2'", "friction='0.3' priority='-1'"), 1.2, 0);
    assert_near(FLOOR("friction='0.2' condim='1'", "friction='0.3' condim='1'"), 1, 0);
    assert_near(FLOOR("friction='0.2' condim='1'", "friction='0.3'"), 1.3, 0);
    assert_near(FLOOR("friction='0.2' condim='1' priority='1'", "friction='0.3'"), 1, 0);
    assert_near(FLOOR("friction='0.2' condim='6'", ""), 2, 0); /* taken as 3 */
}

/* Bodies that overlap: a parent and its child do not touch, also where several joints or fixed bodies are between. */
static void a_body_does_not_touch_its_parent_but_the_world(void **state)
{
    (void)state;
#define CHAIN(joints, fixed)                                                                       \
    "<mujoco><option gravity='0 0 0'/><worldbody><geom type='sphere' size='0.1' pos='5 0 "         \
    "0'/><body>"                                                                                   \
    "<freejoint/><geom size='0.1'/><body>" joints "<geom size='0.1'/>" fixed "</body></body>"      \
    "</worldbody></mujoco>"
    assert_near(touches(CHAIN("<joint pos='1 0 0'/>", "")), 0, 0);
    assert_near(touches(CHAIN("<joint pos='1 0 0'/><joint axis='0 1 0' pos='1 0 0'/>", "")), 0, 0);
    assert_near(touches(CHAIN("<joint pos='1 0 0'/><joint axis='0 1 0' pos='1 0 0'/>",
                              "<body><geom size='0.11'/></body>")),
                0, 0);
    assert_near(
        touches(CHAIN("<joint pos='1 0 0'/>",
                      "<body><joint pos='1 1 0'/><geom size='0.1' pos='0 0.19 0'/></body>")),
        2, 0);
    assert_near(
        touches("<mujoco><worldbody><geom type='plane'/><body pos='0 0 0.1'><joint axis='0 1 0' "
                "pos='1 0 0'/><geom size='0.1'/></body></worldbody></mujoco>"),
        2, 0);
}

static perp_actuator drive(const char *text)
{
    perp_robot *robot;
    perp_robot_parts p = parts_of(text, &robot);
    assert_int_equal(p.nactuator, 1);
    perp_actuator a = p.actuator[0];
    perp_robot_destroy(robot);
    return a;
}

static void expect_drive(const char *text, perp_actuator e)
{
    perp_actuator a = drive(text);
    const double x[] = {a.gear,  a.gain,  a.bias,          a.kp,           a.kv,
                        a.lower, a.upper, a.control_lower, a.control_upper},
                 y[] = {e.gear,  e.gain,  e.bias,          e.kp,           e.kv,
                        e.lower, e.upper, e.control_lower, e.control_upper};
    for (int i = 0; i < 9; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-14))
            fail_msg("%s: number %d is %g, not %g", text, i, x[i], y[i]);
}

#define DRIVE(text) WITH("<actuator>" text "</actuator>")
#define DRIVE_BY(defaults, text)                                                                   \
    WITH("<default>" defaults "</default><actuator>" text "</actuator>")

static void actuators_have_mjcf_s_gains(void **state)
{
    (void)state;
    expect_drive(DRIVE("<motor joint='j'/>"), (perp_actuator){.gear = 1, .gain = 1});
    expect_drive(DRIVE("<motor joint='j' gear='5 0 0' ctrlrange='-1 2'/>"),
                 (perp_actuator){.gear = 5, .gain = 1, .control_lower = -1, .control_upper = 2});
    expect_drive(DRIVE("<motor joint='j' ctrlrange='-1 2' ctrllimited='false' forcerange='-3 3'/>"),
                 (perp_actuator){.gear = 1, .gain = 1, .lower = -3, .upper = 3});
    expect_drive(DRIVE("<position joint='j'/>"), (perp_actuator){.gear = 1, .gain = 1, .kp = 1});
    expect_drive(DRIVE("<position joint='j' kp='7' kv='2'/>"),
                 (perp_actuator){.gear = 1, .gain = 7, .kp = 7, .kv = 2});
    expect_drive(DRIVE("<velocity joint='j' kv='3'/>"),
                 (perp_actuator){.gear = 1, .gain = 3, .kv = 3});
    expect_drive(DRIVE("<general joint='k' gainprm='4' biastype='affine' biasprm='1 -2 -3'/>"),
                 (perp_actuator){.gear = 1, .gain = 4, .bias = 1, .kp = 2, .kv = 3});
    expect_drive(DRIVE("<general joint='k' gainprm='4' biasprm='1 -2 -3'/>"),
                 (perp_actuator){.gear = 1, .gain = 4});
    expect_drive(DRIVE_BY("<position kp='50' kv='4'/>", "<position joint='j'/>"),
                 (perp_actuator){.gear = 1, .gain = 50, .kp = 50, .kv = 4});
    expect_drive(DRIVE_BY("<position kp='50' kv='4'/>", "<motor joint='j'/>"),
                 (perp_actuator){.gear = 1, .gain = 1});
    expect_drive(
        DRIVE("<position joint='j' inheritrange='1'/>"),
        (perp_actuator){
            .gear = 1, .gain = 1, .kp = 1, .control_lower = -PI / 2, .control_upper = PI / 4});
    refuses(DRIVE("<motor tendon='t'/>"), PERP_ERR_MODEL, "there is no tendon 't'");
    refuses(DRIVE("<motor joint='nowhere'/>"), PERP_ERR_MODEL, "there is no joint 'nowhere'");
    refuses(DRIVE("<position joint='j' dampratio='-1'/>"), PERP_ERR_MODEL, "dampratio: it is >= 0");
    refuses(DRIVE("<position joint='j' timeconst='1'/>"), PERP_ERR_MODEL, "dyntype none");
    refuses(DRIVE("<general joint='j' biastype='affine' biasprm='0 1'/>"), PERP_ERR_MODEL,
            "biasprm");
    refuses(DRIVE("<muscle joint='j'/>"), PERP_ERR_MODEL, "<muscle>");
}

static void the_bound_of_a_joint_is_its_actuator_s(void **state)
{
    (void)state;
    expect_drive(
        "<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-10 6'/><geom size='1'/>"
        "</body></worldbody><actuator><motor joint='j' gear='-2' forcerange='-4 4'/></actuator>"
        "</mujoco>",
        (perp_actuator){.gear = -2, .gain = 1, .lower = -3, .upper = 4});
    refuses("<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-10 6'/><geom size='1'/>"
            "</body></worldbody><actuator><motor joint='j'/><motor joint='j'/></actuator></mujoco>",
            PERP_ERR_MODEL, "it has several");
}

static void equalities_join_points_bodies_and_joints(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_robot_parts p = parts_of(
        WITH("<equality><connect body1='c' body2='b' anchor='0.1 0.2 0.3'/><weld body1='b' "
             "body2='c'/><joint joint1='k' joint2='j' polycoef='0.1 2 3'/><connect body1='b' "
             "anchor='0 0 0' active='false'/><joint joint1='k' polycoef='0.2'/></equality>"),
        &robot);
    assert_int_equal(p.nequality, 4);
    assert_near(p.equality[0].point[1][2], 1.3, 1e-15);
    assert_near(p.equality[0].point[0][2], 0.3, 1e-15);
    assert_int_equal(p.equality[1].kind, PERP_EQUALITY_WELD);
    assert_near(p.equality[1].point[0][2], 1, 1e-15);
    assert_near(p.equality[2].polynomial[0], 0.6, 1e-15); /* ref of k and 0.1 */
    assert_near(p.equality[2].polynomial[1], 2, 1e-15);
    assert_near(p.equality[2].polynomial[2], 3, 1e-15);
    assert_near(p.equality[3].polynomial[0], 0.7, 1e-15);
    assert_int_equal(p.equality[3].body[1], 0);
    perp_robot_destroy(robot);
    refuses(WITH("<equality><tendon tendon1='t'/></equality>"), PERP_ERR_MODEL,
            "<tendon> of equality is not to be had");
    refuses(WITH("<equality><weld body1='b' body2='b'/></equality>"), PERP_ERR_MODEL,
            "two bodies are expected");
}

static void keys_put_a_system_where_they_say(void **state)
{
    (void)state;
    perp_robot *robot =
        read_text(WITH("<actuator><motor joint='j'/></actuator><keyframe><key "
                       "name='up' qpos='0.3 0.4' qvel='1 2' ctrl='5'/><key/></keyframe>"));
    perp_bodies *b;
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, NULL), PERP_OK);
    assert_int_equal(perp_robot_keys(robot), 2);
    assert_string_equal(perp_robot_key(robot, 0), "up");
    assert_null(perp_robot_key(robot, 2));
    assert_int_equal(perp_robot_set_key(robot, 0, b), PERP_OK);
    assert_near(perp_bodies_q(b)[1], 0.4, 0);
    assert_near(perp_bodies_v(b)[1], 2, 0);
    assert_int_equal(perp_robot_set_key(robot, 1, b), PERP_OK);
    assert_near(perp_bodies_q(b)[1], 0.5, 0); /* ref */
    assert_int_equal(perp_robot_set_key(robot, 2, b), PERP_ERR_ARG);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    refuses(WITH("<keyframe><key qpos='1'/></keyframe>"), PERP_ERR_MODEL, "1 number, 2 expected");
}

static void columns_have_names(void **state)
{
    (void)state;
    perp_robot *robot =
        read_text("<mujoco><worldbody><body name='x'><freejoint/><geom size='1'/><body "
                  "name='y'><joint type='ball'/><geom size='1'/><body><joint name='y'/>"
                  "<geom size='1'/></body></body></body></worldbody></mujoco>");
    assert_string_equal(perp_robot_q_name(robot, 0), "x.x");
    assert_string_equal(perp_robot_q_name(robot, 3), "x.qw");
    assert_string_equal(perp_robot_q_name(robot, 7), "y.qw");
    assert_string_equal(perp_robot_q_name(robot, 11), "y");
    assert_string_equal(perp_robot_v_name(robot, 5), "x.wz");
    assert_string_equal(perp_robot_v_name(robot, 9), "y.v");
    assert_null(perp_robot_q_name(robot, 12));
    perp_robot_destroy(robot);
}

static void what_is_ignored_is_listed_once(void **state)
{
    (void)state;
    perp_robot *robot =
        read_text("<mujoco>\n<visual/>\n<worldbody>\n<light/><light/>\n<body><joint\n "
                  "solreflimit='1 2'/><geom size='1' rgba='1 0 0 1'/><geom size='1' "
                  "rgba='1 0 0 1'/></body></worldbody></mujoco>");
    perp_robot_ignored note;
    int n = 0, seen = 0;
    while (perp_robot_note(robot, n, &note)) {
        n++;
        if (strcmp(note.what, "solreflimit of joint: contacts and laws are exact here") == 0)
            seen += note.line == 6 && note.column == 15 && note.count == 1;
        if (strcmp(note.what, "rgba of geom: has no part in the motion") == 0)
            seen += note.line == 6 && note.count == 2;
        if (strcmp(note.what, "<light>: has no part in the motion") == 0)
            seen += note.line == 4 && note.column == 1 && note.count == 2;
    }
    assert_int_equal(n, 4);
    assert_int_equal(seen, 3);
    perp_robot_destroy(robot);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    refuses("<mujoco>\n <worldbody>\n  <body/>\n </worldbody>\n <contact/>\n</mujocoo>",
            PERP_ERR_DATA, "t.xml:6:3: mismatched tag");
    refuses("<mujoco><worldbody><body>\n<joint axis='0 0 0' pos='1 2'/><geom "
            "size='x'/></body></worldbody>"
            "</mujoco>",
            PERP_ERR_MODEL, "t.xml:2:26: pos: 2 numbers, 3 expected");
    refuses("<mujoco><worldbody><body>\n<joint axis='0 0 0'/><geom "
            "size='x'/></body></worldbody></mujoco>",
            PERP_ERR_MODEL, "t.xml:2:34: size: 'x' is no finite number");
    refuses(JOINT("", "axis='0 0 0'"), PERP_ERR_MODEL, "axis: it has no direction");
    refuses(JOINT("", "colour='0 0 0'"), PERP_ERR_MODEL, "colour: not known of <joint>");
    refuses(JOINT("<plan/>", ""), PERP_ERR_MODEL, "<plan>: not known, or not to be had");
    refuses(JOINT("<include file='nowhere.xml'/>", ""), PERP_ERR_FILE,
            "robots/nowhere.xml cannot be read");
    refuses("<sdf/>", PERP_ERR_MODEL, "<sdf>: a file begins with");
    refuses("<mujoco/>", PERP_ERR_MODEL, "there is no body");
    refuses("<!DOCTYPE m [<!ENTITY e 'x'>]><mujoco/>", PERP_ERR_DATA, "entities");
    refuses("", PERP_ERR_DATA, "no element found");
    refuses(GEOM("", "type='hfield' hfield='x'"), PERP_ERR_MODEL, "height fields");
    refuses(GEOM("", "type='mesh' mesh='x'"), PERP_ERR_MODEL, "there is no mesh 'x'");
    refuses(GEOM("", "type='plane'"), PERP_ERR_MODEL, "a plane is of the world");
    refuses(JOINT("", "actuatorgravcomp='true' actuatorfrcrange='-1 1'"), PERP_ERR_MODEL,
            "actuatorgravcomp");
}

/* All of it at once, not the first alone. */
static void all_that_is_wrong_is_said(void **state)
{
    (void)state;
    const char *text = JOINT("<option viscosity='-1'/>", "pos='1' springdamper='1 1'");
    perp_robot *robot;
    perp_diag diag = {0};
    assert_int_equal(perp_robot_parse(text, strlen(text), "x", &robot, &diag), PERP_ERR_MODEL);
    assert_int_equal(diag.errors, 3);
    perp_diag_clear(&diag);
    assert_int_equal(perp_robot_read("tests/data/robots/nowhere.xml", &robot, &diag),
                     PERP_ERR_FILE);
    assert_int_equal(perp_robot_read(NULL, &robot, &diag), PERP_ERR_ARG);
    perp_diag_clear(&diag);
}

/* The flags of option switch off what they name. */
static void flags_switch_laws_off(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_robot_parts p = parts_of(JOINT("<option timestep='0.01' gravity='1 2 3'><flag "
                                        "frictionloss='disable' passive='disable'/></option>",
                                        "frictionloss='1' damping='2' stiffness='3'"),
                                  &robot);
    assert_near(p.law[0].friction + p.law[0].stiffness + p.body[0].damping, 0, 0);
    assert_near(p.options.step, 0.01, 0);
    assert_near(p.options.gravity[1], 2, 0);
    perp_robot_destroy(robot);
    p = parts_of(JOINT("<option><flag gravity='disable'/></option>", "frictionloss='1'"), &robot);
    assert_near(p.law[0].friction, 1, 0);
    assert_near(p.options.gravity[2], 0, 0);
    assert_near(p.options.step, 0.002, 0);
    perp_robot_destroy(robot);
}

/* URDF ------------------------------------------------------------------------------------------------------- */

#define LINK(name)                                                                                 \
    "<link name='" name                                                                            \
    "'><inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
#define CHAIN2(joint, more)                                                                        \
    "<robot name='r'>" LINK("a") LINK("b") "<joint name='j' " joint                                \
                                           "<parent link='a'/><child link='b'/></joint>" more      \
                                           "</robot>"

/* Roll, then pitch, then yaw, about axes that stay: x goes to (cos y cos p, sin y cos p, -sin p). */
static void rpy_turns_about_fixed_axes(void **state)
{
    (void)state;
    perp_robot *robot =
        read_text(CHAIN2("type='fixed'><origin xyz='1 2 3' rpy='0.3 0.4 0.5'/>", ""));
    perp_bodies *b;
    perp_diag diag = {0};
    double p[3], R[9];
    /* fixed bodies alone move nothing */
    perp_robot_parts parts = perp_robot_get_parts(robot);
    assert_int_equal(parts.nbody, 2);
    perp_robot_destroy(robot);
    robot = read_text(CHAIN2("type='continuous'><origin xyz='1 2 3' rpy='0.3 0.4 0.5'/>", ""));
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    perp_bodies_pose(b, 2, p, R);
    assert_near(p[2], 3, 0);
    assert_near(R[0], cos(0.5) * cos(0.4), 1e-15);
    assert_near(R[3], sin(0.5) * cos(0.4), 1e-15);
    assert_near(R[6], -sin(0.4), 1e-15);
    assert_near(R[7], cos(0.4) * sin(0.3), 1e-15);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

static void an_inertia_is_about_the_centre_of_mass(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_robot_parts p =
        parts_of("<robot name='r'><link name='a'/><link name='b'><inertial><origin xyz='0 0 2' "
                 "rpy='0 1.5707963267948966 "
                 "0'/><mass value='3'/><inertia ixx='1' iyy='2' izz='2.5' "
                 "ixy='0.1'/></inertial></link><joint name='j' "
                 "type='continuous'><parent link='a'/><child link='b'/></joint></robot>",
                 &robot);
    assert_near(p.body[1].center[2], 2, 1e-15);
    assert_near(p.body[1].inertia[0], 2.5, 1e-14); /* x is where z was */
    assert_near(p.body[1].inertia[1], 2, 1e-14);
    assert_near(p.body[1].inertia[2], 1, 1e-14);
    assert_near(p.body[1].inertia[5], -0.1, 1e-14);
    assert_near(p.body[1].axis[0], 1, 0);
    perp_robot_destroy(robot);
}

static void joints_of_urdf_are_ours(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        perp_joint joint;
        double lower, upper;
    } cases[] = {
        {CHAIN2("type='revolute'><limit lower='-1' upper='2' effort='1' velocity='1'/>", ""),
         PERP_JOINT_HINGE, -1, 2},
        {CHAIN2("type='continuous'><limit effort='1' velocity='1'/>", ""), PERP_JOINT_HINGE, 0, 0},
        {CHAIN2("type='prismatic'><limit lower='-1' upper='2'/>", ""), PERP_JOINT_SLIDE, -1, 2},
        {CHAIN2("type='fixed'>", ""), PERP_JOINT_FIXED, 0, 0},
        {CHAIN2("type='floating'>", ""), PERP_JOINT_FREE, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_robot *robot;
        perp_robot_parts p = parts_of(cases[i].text, &robot);
        assert_int_equal(p.body[1].joint, cases[i].joint);
        assert_int_equal(p.body[0].joint, PERP_JOINT_FIXED);
        assert_near(p.law[1].lower, cases[i].lower, 0);
        assert_near(p.law[1].upper, cases[i].upper, 0);
        perp_robot_destroy(robot);
    }
    refuses(CHAIN2("type='planar'>", ""), PERP_ERR_MODEL, "planar joints are not to be had");
    refuses(CHAIN2("type='revolute'>", ""), PERP_ERR_MODEL, "a revolute one has a <limit>");
    refuses(CHAIN2("type='spherical'>", ""), PERP_ERR_MODEL, "'spherical' is none of");
    refuses(CHAIN2("type='fixed'>", LINK("c")), PERP_ERR_MODEL, "both have no parent");
    refuses(CHAIN2("type='fixed'>", LINK("b")), PERP_ERR_MODEL, "link 'b' is there already");
    refuses(CHAIN2("type='fixed'>",
                   "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>"),
            PERP_ERR_MODEL, "no link is the root");
    refuses(CHAIN2("type='fixed'>",
                   "<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint>"),
            PERP_ERR_MODEL, "has two parents");
    refuses(
        CHAIN2("type='fixed'>",
               LINK("c") LINK(
                   "d") "<joint name='k' type='fixed'><parent link='c'/><child "
                        "link='d'/></joint><joint name='l' type='fixed'><parent link='d'/><child "
                        "link='c'/></joint>"),
        PERP_ERR_MODEL, "hangs on itself");
    refuses(CHAIN2("type='fixed'>",
                   "<joint name='k' type='fixed'><parent link='x'/><child link='b'/></joint>"),
            PERP_ERR_MODEL, "there is no link 'x'");
}

static void a_mimic_joint_follows(void **state)
{
    (void)state;
#define MIMIC(of)                                                                                  \
    CHAIN2("type='continuous'>",                                                                   \
           LINK("c") "<joint name='k' type='continuous'><parent link='b'/><child "                 \
                     "link='c'/><mimic joint='" of "' multiplier='-2' offset='0.3'/></joint>")
    perp_robot *robot;
    perp_robot_parts p = parts_of(MIMIC("j"), &robot);
    assert_int_equal(p.nequality, 1);
    assert_int_equal(p.equality[0].body[0], 3);
    assert_int_equal(p.equality[0].body[1], 2);
    assert_near(p.equality[0].polynomial[0], 0.3, 0);
    assert_near(p.equality[0].polynomial[1], -2, 0);
    perp_robot_destroy(robot);
    refuses(MIMIC("k"), PERP_ERR_MODEL, "another joint that turns or slides");
    refuses(MIMIC("x"), PERP_ERR_MODEL, "another joint that turns or slides");
}

/* tests/data/robots/tetra.obj, as the package `robots` above the file, in its own folder, and as a plain name. */
static void meshes_are_found_by_package_and_file(void **state)
{
    (void)state;
#define MESHED(name)                                                                               \
    "<robot name='r'>" LINK(                                                                       \
        "a") "<link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/>"        \
             "</inertial><collision><origin xyz='0 0 1'/><geometry><mesh filename='" name          \
             "' scale='2 2 2'/></geometry>"                                                        \
             "</collision></link><joint name='j' type='continuous'><parent link='a'/><child "      \
             "link='b'/></joint></robot>"
    static const char *const texts[] = {
        MESHED("package://robots/tetra.obj"), MESHED("package://anything/tetra.obj"),
        MESHED("tetra.obj"), MESHED("package://data/robots/tetra.obj"), MESHED("file://tetra.obj")};
    for (int i = 0; i < 5; i++) {
        perp_robot *robot;
        double mass;
        perp_robot_parts p = parts_of(texts[i], &robot);
        assert_int_equal(p.nshape, 1);
        perp_mesh_mass(p.shape[0].mesh, &mass, NULL, NULL);
        assert_near(mass, 8 / 6.0, 1e-14);
        assert_near(p.shape[0].position[2], 1, 0);
        perp_robot_destroy(robot);
    }
    refuses(MESHED("package://x/none.obj"), PERP_ERR_MODEL, "is not in the file's folder or above");
    refuses(MESHED("none.obj"), PERP_ERR_MODEL, "none.obj: cannot be read");
}

/* Every file of examples/robots runs from its first key, each step verified; what its comment says then holds: `column` is within `room` of `value`. */
static void examples_run(void **state)
{
    (void)state;
    static const struct {
        const char *file, *column;
        double value, room;
    } runs[] = {
        {"arm.xml", "block.z", 0.44, 1e-12},        /* lies on the table */
        {"cartpole.xml", "cart", 0, 1},             /* between its stops */
        {"quadruped.xml", "trunk.z", 0.3334, 1e-3}, /* stands on its feet */
        {"hand.xml", "cube.z", 0.132, 1e-6},        /* holds it where the palm does */
        {"bicycle.xml", "frame.qx", 0, 0.02},       /* rolls upright */
        {"clamp.xml", "block.z", 0.2, 1e-6},        /* holds it up by a tendon */
        {"drone.xml", "drone.z", 1, 1e-6},          /* hovers */
        {"gripper.urdf", "left", 0, 0.014},         /* between its stops */
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char path[256];
        perp_robot *robot;
        perp_bodies *b = NULL;
        perp_diag diag = {0};
        int at = 0;
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/examples/robots/%s", runs[i].file);
        perp_status status = perp_robot_read(path, &robot, &diag);
        if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
        if (status == PERP_OK) status = perp_robot_create_bodies(robot, NULL, &b, &diag);
        if (status == PERP_OK && perp_robot_keys(robot)) status = perp_robot_set_key(robot, 0, b);
        for (int k = 0; k < 1000 && status == PERP_OK; k++)
            status = perp_bodies_step(b, NULL, &diag);
        if (status != PERP_OK) fail_msg("%s: %s", runs[i].file, perp_diag_text(&diag));
        while (perp_robot_q_name(robot, at) &&
               strcmp(perp_robot_q_name(robot, at), runs[i].column) != 0)
            at++;
        assert_non_null(perp_robot_q_name(robot, at));
        if (!(fabs(perp_bodies_q(b)[at] - runs[i].value) <= runs[i].room))
            fail_msg("%s: %s is %.12g", runs[i].file, runs[i].column, perp_bodies_q(b)[at]);
        perp_bodies_destroy(b);
        perp_robot_destroy(robot);
    }
}

/* Nothing creeps: the quadruped stands on four balls, with dry friction and servos in twelve joints. */
static void a_quadruped_stands_still(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    perp_status status =
        perp_robot_read(PERP_SOURCE_DIR "/examples/robots/quadruped.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status == PERP_OK) status = perp_robot_create_bodies(robot, NULL, &b, &diag);
    if (status == PERP_OK) status = perp_robot_set_key(robot, 0, b);
    for (int k = 0; k < 1500 && status == PERP_OK; k++) status = perp_bodies_step(b, NULL, &diag);
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    for (int k = 0; k < perp_bodies_nv(b); k++) assert_near(perp_bodies_v(b)[k], 0, 1e-9);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_are_degrees_unless_it_says_radian),
        cmocka_unit_test(a_range_limits_unless_autolimits_is_off),
        cmocka_unit_test(geoms_weigh_1000_by_their_volume),
        cmocka_unit_test(a_capsule_weighs_what_its_slices_do),
        cmocka_unit_test(inertial_counts_before_geoms_unless_it_says_so),
        cmocka_unit_test(classes_are_nested_and_inherited),
        cmocka_unit_test(ref_is_q_at_the_beginning),
        cmocka_unit_test(shapes_touch_by_type_affinity_pair_and_exclude),
        cmocka_unit_test(friction_is_the_larger_or_that_of_higher_priority),
        cmocka_unit_test(a_body_does_not_touch_its_parent_but_the_world),
        cmocka_unit_test(actuators_have_mjcf_s_gains),
        cmocka_unit_test(the_bound_of_a_joint_is_its_actuator_s),
        cmocka_unit_test(equalities_join_points_bodies_and_joints),
        cmocka_unit_test(keys_put_a_system_where_they_say),
        cmocka_unit_test(columns_have_names),
        cmocka_unit_test(what_is_ignored_is_listed_once),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(all_that_is_wrong_is_said),
        cmocka_unit_test(flags_switch_laws_off),
        cmocka_unit_test(rpy_turns_about_fixed_axes),
        cmocka_unit_test(an_inertia_is_about_the_centre_of_mass),
        cmocka_unit_test(joints_of_urdf_are_ours),
        cmocka_unit_test(a_mimic_joint_follows),
        cmocka_unit_test(meshes_are_found_by_package_and_file),
        cmocka_unit_test(examples_run),
        cmocka_unit_test(a_quadruped_stands_still),
    };
    return run_all(tests);
}
