/* Robot files: each default of MJCF and URDF by itself, messages with their places, motion of what was read. The whole beside MuJoCo:
 * tests/oracle/robots.py. */

#include "unit.h"

#include "perp/robots.h"
#include "outcomes.h"

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
    return *perp_robot_get_parts(*robot);
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
    assert_near(p.law[0].range.lower, lower, 1e-15);
    assert_near(p.law[0].range.upper, upper, 1e-15);
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
    expect_law(JOINT("", "type='ball' range='0 90'"), 0, PI / 2, 0);
    refuses(JOINT("", "type='ball' range='1 2'"), PERP_ERR_MODEL, "0 and a number > 0");
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

/* The surface of a solid is what it gains where all of it is moved outwards by a little. */
static void a_shell_weighs_what_a_solid_gains(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int n, moved; /* how many sizes, and of these the first are moved */
    } cases[] = {{"sphere", 1, 1}, {"capsule", 2, 1}, {"cylinder", 2, 2}, {"box", 3, 3}};
    const double size[3] = {0.1, 0.25, 0.4}, little = 1e-4;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double is[3][3]; /* mass, Ixx, Izz: of the shell, of a smaller and a larger solid */
        for (int k = 0; k < 3; k++) {
            char text[300];
            double x[3] = {0, 0, 0};
            for (int d = 0; d < cases[i].n; d++)
                x[d] = size[d] + (d < cases[i].moved ? (k == 1 ? -1 : k == 2) * little : 0);
            snprintf(text, sizeof text,
                     "<mujoco><worldbody><body><joint/><geom type='%s' size='%.17g %.17g %.17g' "
                     "shellinertia='%s'/></body></worldbody></mujoco>",
                     cases[i].kind, x[0], x[1], x[2], k ? "false" : "true");
            perp_robot *robot;
            perp_robot_parts p = parts_of(text, &robot);
            is[k][0] = p.body[0].mass;
            is[k][1] = p.body[0].inertia[0];
            is[k][2] = p.body[0].inertia[2];
            perp_robot_destroy(robot);
        }
        for (int k = 0; k < 3; k++)
            assert_near(is[0][k], (is[2][k] - is[1][k]) / (2 * little), 1e-5 * is[0][k]);
    }
    refuses(GEOM("", "type='ellipsoid' size='1 2 3' shellinertia='true'"), PERP_ERR_MODEL,
            "the mass of an ellipsoid's surface");
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

/* Unit cubes at the corner, beside and behind it; the sums are of three cubes, and of 8 sides of 1 beside two ends of 3. */
static void a_mesh_weighs_what_its_inertia_says(void **state)
{
    (void)state;
#define ELL(attributes)                                                                            \
    "<mujoco><compiler inertiafromgeom='true'/><asset><mesh file='ell.obj' " attributes            \
    "/></asset><worldbody><body><joint/><geom type='mesh' mesh='ell'/></body></worldbody>"         \
    "</mujoco>"
    const struct {
        const char *text;
        double mass, x, z, Iz;
    } cases[] = {{ELL(""), 3000, 5.0 / 6, 0.5, 5500.0 / 3},
                 {ELL("inertia='legacy'"), 3000, 5.0 / 6, 0.5, 5500.0 / 3},
                 {ELL("inertia='exact'"), 3000, 5.0 / 6, 0.5, 5500.0 / 3},
                 {ELL("inertia='exact' scale='-1 1 2'"), 6000, -5.0 / 6, 1, 11000.0 / 3},
                 {ELL("inertia='convex'"), 3500, 19.0 / 21, 0.5, -1},
                 {ELL("inertia='shell'"), 14000, 12.0 / 14, 0.5, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_robot *robot;
        perp_robot_parts p = parts_of(cases[i].text, &robot);
        assert_near(p.body[0].mass, cases[i].mass, 1e-9);
        assert_near(p.body[0].center[0], cases[i].x, 1e-14);
        assert_near(p.body[0].center[2], cases[i].z, 1e-14);
        if (cases[i].Iz > 0) assert_near(p.body[0].inertia[2], cases[i].Iz, 1e-9);
        perp_robot_destroy(robot);
    }
    /* long legs that are not seen from the centre, which is outside: all volumes are counted from there, as MuJoCo does, which begins with those
     * from the middle of the surface (5522.36) */
    const char *legs = ELL(
        "name='ell' vertex='0 0 0 3 0 0 3 0.5 0 0.5 0.5 0 0.5 4 0 0 4 0 0 0 1 3 0 1 3 0.5 1 0.5 "
        "0.5 1 0.5 4 1 0 4 1' face='0 2 1 0 3 2 0 5 3 3 5 4 6 7 8 6 8 9 6 9 11 9 10 11 0 1 7 0 7 6 "
        "1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9 4 5 11 4 11 10 5 0 6 5 6 11'");
    perp_robot *robot;
    assert_near(parts_of(legs, &robot).body[0].mass, 5643.90834881849, 1e-9);
    perp_robot_destroy(robot);
    refuses(ELL("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 4' name='ell'"), PERP_ERR_MODEL,
            "face: a corner is one of the 4 points, from 0");
    refuses(ELL("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 2 3' name='ell'"), PERP_ERR_MODEL,
            "face: three numbers each are expected, not 4 in all");
    refuses(ELL("vertex='0 0 0 1 0 0 0 1 0 0 0 1 7' name='ell'"), PERP_ERR_MODEL,
            "vertex: three numbers each are expected, not 13 in all");
    refuses(ELL("vertex='0 0 0 1 0 0 0 1 0 0 0 1' inertia='shell' name='ell'"), PERP_ERR_MODEL,
            "it has no volume for its mass");
    refuses(ELL("vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 2 0 3 1 0 2 3 1 3 2' name='ell' "
                "inertia='exact'"),
            PERP_ERR_MODEL, "it has no volume for its mass"); /* its triangles face inwards */
#undef ELL
}

static void expect_fit(const char *geom, const char *compiler, perp_shape_kind kind, double a,
                       double b)
{
    char text[1000];
    snprintf(text, sizeof text,
             "<mujoco><compiler %s/><asset><mesh name='m' vertex='4 -2 -3 6 -2 -3 4 2 -3 6 2 -3 "
             "4 -2 3 6 -2 3 4 2 3 6 2 3'/></asset><worldbody><body pos='0 0 9'><joint/>"
             "<geom mesh='m' pos='0 1 0' euler='0 0 90' size='7' %s/></body></worldbody></mujoco>",
             compiler, geom);
    perp_robot *robot;
    perp_robot_parts p = parts_of(text, &robot);
    assert_int_equal(p.shape[0].kind, kind);
    assert_near(p.shape[0].size[0], a, 1e-13);
    if (b > 0) assert_near(p.shape[0].size[1], b, 1e-13);
    const double at[3] = {0, 6, 0}; /* the mesh is about (5, 0, 0) */
    for (int k = 0; k < 3; k++) assert_near(p.shape[0].position[k], at[k], 1e-13);
    perp_robot_destroy(robot);
}

/* Of a mesh that is a box of 2, 4, 6: half sides 1, 2, 3. */
static void a_shape_that_names_a_mesh_is_fitted_to_it(void **state)
{
    (void)state;
    const char *about = "fitaabb='true'";
    expect_fit("type='box'", "", PERP_SHAPE_BOX, 1, 2);
    expect_fit("type='sphere'", "", PERP_SHAPE_SPHERE, 2, 0);
    expect_fit("type='capsule'", "", PERP_SHAPE_CAPSULE, 1.5, 2.25);
    expect_fit("type='cylinder'", "", PERP_SHAPE_CYLINDER, 1.5, 3);
    expect_fit("type='ellipsoid' fitscale='0.5'", "", PERP_SHAPE_ELLIPSOID, 0.5, 1);
    expect_fit("type='sphere'", about, PERP_SHAPE_SPHERE, 3, 0);
    expect_fit("type='capsule'", about, PERP_SHAPE_CAPSULE, 2, 1);
    expect_fit("type='cylinder'", about, PERP_SHAPE_CYLINDER, 2, 3);
    refuses(GEOM("<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>",
                 "type='capsule' mesh='m' size='1' fromto='0 0 0 0 0 1'"),
            PERP_ERR_MODEL, "fromto: the mesh gives the position");
    refuses(GEOM("", "type='box' mesh='m'"), PERP_ERR_MODEL, "there is no mesh 'm'");
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
    expect_body(GEOM("<compiler boundinertia='6'/>", "type='box' mass='12' size='1 1 0.5'"), 0, 12,
                6, 8);
    expect_body(GEOM("<compiler settotalmass='6'/>", "type='box' mass='12' size='1 1 0.5'"), 0, 6,
                2.5, 4);
    expect_body("<mujoco><compiler balanceinertia='true'/><worldbody><body><joint/><inertial "
                "mass='3' pos='0 0 0' diaginertia='1 2 6'/></body></worldbody></mujoco>",
                0, 3, 3, 3);
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
    /* what main has when a class begins is inherited, what it gets later is not */
    p = parts_of(
        JOINT("<default><joint damping='1'/><default class='x'><joint armature='2'/></default>"
              "<joint frictionloss='3'/></default><default><joint damping='4'/></default>",
              "class='x'"),
        &robot);
    assert_near(p.body[0].damping, 1, 0);
    assert_near(p.body[0].armature, 2, 0);
    assert_near(p.law[0].friction, 3, 0);
    perp_robot_destroy(robot);
}

/* Where a point of the body is at the beginning, and when q is 0: ref is the value of q there. */
/* Of what a joint feels, here an inertia of 3 with one of 1 that hangs on it by a hinge in its own axis: that moves freely. */
static void a_springdamper_is_of_what_the_joint_feels(void **state)
{
    (void)state;
#define FELT(more)                                                                                 \
    "<mujoco><option>" more "</option><worldbody><body name='a'><joint name='a' damping='9' "      \
    "stiffness='9' springdamper='0.1 0.5' ref='20' springref='30'/><inertial pos='0 0 0' "         \
    "mass='1' "                                                                                    \
    "diaginertia='2 2 3'/><body name='b'><joint name='b'/><inertial pos='0 0 0' mass='1' "         \
    "diaginertia='1 1 1'/></body></body></worldbody></mujoco>"
    perp_robot *robot;
    perp_robot_parts p = parts_of(FELT(""), &robot);
    assert_near(p.law[0].stiffness, 3 / (0.05 * 0.05), 1e-9);
    assert_near(p.law[0].rest, PI / 6, 1e-15);
    assert_near(p.body[0].damping, 2 * 3 / 0.1, 1e-11);
    perp_robot_destroy(robot);
    p = parts_of(FELT("<flag spring='disable'/>"), &robot);
    assert_near(p.law[0].stiffness + p.law[0].rest, 0, 0);
    assert_near(p.body[0].damping, 2 * 3 / 0.1, 1e-11);
    perp_robot_destroy(robot);
    p = parts_of(FELT("<flag damper='disable'/>"), &robot);
    assert_near(p.law[0].stiffness, 3 / (0.05 * 0.05), 1e-9);
    assert_near(p.body[0].damping, 0, 0);
    perp_robot_destroy(robot);
    refuses(JOINT("", "type='ball' springdamper='1 1'"), PERP_ERR_MODEL,
            "springs are of hinges and slides");
#undef FELT
}

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
    const perp_contact *t;
    double sum = 0;
    if (perp_robot_create_bodies(robot, NULL, &b, &diag) != PERP_OK ||
        bodies_step(b, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    for (int i = perp_bodies_contacts(b, &t) - 1; i >= 0; i--) sum += t[i].mu + 1;
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
    /* a pair has its own friction and condim, whatever the geoms have */
    assert_near(touches(BALLS("", "friction='0.2'", "condim='1'",
                              "<contact><pair geom1='x' geom2='y'/></contact>")),
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
    assert_near(FLOOR("friction='0.2' condim='6'", ""), 2, 0);
}

/* The coefficients of the first contact where a file begins. */
static void assert_moments(const char *text, double spin, double roll)
{
    perp_robot *robot = read_text(text);
    perp_bodies *b;
    perp_diag diag = {0};
    const perp_contact *t;
    if (perp_robot_create_bodies(robot, NULL, &b, &diag) != PERP_OK ||
        bodies_step(b, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_true(perp_bodies_contacts(b, &t) > 0);
    assert_near(t->torsional_friction, spin, 0);
    assert_near(t->rolling_friction, roll, 0);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
}

#define FIELD(attributes)                                                                          \
    "<mujoco><asset><hfield name='h' " attributes                                                  \
    "/></asset><worldbody><geom name='f' type='hfield' hfield='h' pos='0 0 1'/><body pos='0 0 3'>" \
    "<freejoint/><geom size='0.1'/></body></worldbody></mujoco>"

/* The text's rows go from above to below, a file's as the heights lie; the least is 0, the greatest the third size. */
static void height_fields_are_scaled(void **state)
{
    (void)state;
    const double by_row[6] = {0.3, 0.4, 0.5, 0, 0.1, 0.2},
                 by_file[6] = {0, 0.1, 0.2, 0.3, 0.4, 0.5};
    for (int k = 0; k < 3; k++) {
        perp_robot *robot = read_text(
            k == 0 ? FIELD("nrow='2' ncol='3' size='1 2 0.5 9' elevation='1 2 3 4 5 6'")
            : k == 1
                ? FIELD("size='1 2 0.5 9' file='" PERP_SOURCE_DIR "/tests/data/robots/hills.bin'")
                : FIELD("nrow='2' ncol='3' size='1 2 0.5 9' elevation='7 7 7 7 7 7'"));
        perp_robot_parts parts = *perp_robot_get_parts(robot);
        const double *height;
        double half[2];
        int n[2];
        assert_int_equal(parts.shape[0].kind, PERP_SHAPE_FIELD);
        assert_int_equal(parts.shape[0].body, 0);
        assert_near(parts.shape[0].position[2], 1, 0);
        assert_int_equal(perp_field_heights(parts.shape[0].field, &height, n, half), 6);
        assert_int_equal(n[0], 3);
        assert_near(half[0], 1, 0);
        assert_near(half[1], 2, 0);
        for (int i = 0; i < 6; i++)
            assert_near(height[i], k == 0 ? by_row[i] : k == 1 ? by_file[i] : 0, 1e-15);
        perp_robot_destroy(robot);
    }
    refuses(FIELD("nrow='2' ncol='3' size='1 2 0 9'"), PERP_ERR_MODEL, "four numbers > 0");
    refuses(FIELD("nrow='2' ncol='3'"), PERP_ERR_MODEL, "size is missing");
    refuses(FIELD("nrow='1' ncol='3' size='1 1 1 1'"), PERP_ERR_MODEL, "from 2 to 32768 rows");
    refuses(FIELD("nrow='2' ncol='3' size='1 1 1 1' elevation='1 2'"), PERP_ERR_MODEL,
            "elevation: 2 numbers, 6 expected");
    refuses(FIELD("size='1 1 1 1' file='" PERP_SOURCE_DIR "/tests/data/robots/ell.obj'"),
            PERP_ERR_MODEL, "a float of each height are expected");
    refuses(FIELD("size='1 1 1 1' file='" PERP_SOURCE_DIR "/tests/data/robots/not_an_image.png'"),
            PERP_ERR_MODEL, "images are not read here");
    refuses(FIELD("size='1 1 1 1' file='nowhere.bin'"), PERP_ERR_MODEL, "cannot be read");
    refuses(
        "<mujoco><worldbody><geom type='hfield' hfield='h'/><body><joint/><geom size='1'/></body>"
        "</worldbody></mujoco>",
        PERP_ERR_MODEL, "there is no height field 'h'");
}
#undef FIELD

/* A field's file is where meshes are: in meshdir, else in assetdir. */
static void files_of_height_fields_are_where_meshes_are(void **state)
{
    (void)state;
#define FOLDER PERP_SOURCE_DIR "/tests/data/robots"
#define FILES(compiler)                                                                            \
    "<mujoco><compiler " compiler "/><asset><hfield name='h' size='1 2 0.5 9' file='hills.bin'/>"  \
    "</asset><worldbody><geom type='hfield' hfield='h'/><body><freejoint/><geom size='0.1'/>"      \
    "</body></worldbody></mujoco>"
    static const char *const texts[] = {FILES("assetdir='" FOLDER "'"),
                                        FILES("meshdir='" FOLDER "'"),
                                        FILES("meshdir='" FOLDER "' assetdir='elsewhere'")};
    for (int k = 0; k < 3; k++) perp_robot_destroy(read_text(texts[k]));
    refuses(FILES("meshdir='elsewhere' assetdir='" FOLDER "'"), PERP_ERR_MODEL, "cannot be read");
#undef FILES
#undef FOLDER
}

static void condim_says_which_moments_a_contact_has(void **state)
{
    (void)state;
#define MOMENTS(a, b, after, spin, roll)                                                           \
    assert_moments("<mujoco><worldbody><geom name='f' type='plane' " a "/><body pos='0 0 1'>"      \
                   "<freejoint/><geom name='x' size='1' " b "/></body></worldbody>" after          \
                   "</mujoco>",                                                                    \
                   spin, roll)
#define PAIR(x) "<contact><pair geom1='x' geom2='f' " x "/></contact>"
    MOMENTS("", "", "", 0, 0);
    MOMENTS("condim='4'", "", "", 0.005, 0);
    MOMENTS("", "condim='6'", "", 0.005, 0.0001);
    MOMENTS("condim='4' friction='1 0.1'", "friction='1 0.2 0.3'", "", 0.2, 0);
    MOMENTS("condim='6' friction='1 0.1'", "friction='1 0.2 0.3'", "", 0.2, 0.3);
    MOMENTS("condim='6'", "condim='3' priority='1'", "", 0, 0);
    MOMENTS("condim='6'", "condim='4' friction='1 0.2 0.3' priority='1'", "", 0.2, 0);
    MOMENTS("condim='6'", "", PAIR(""), 0, 0);
    MOMENTS("", "", PAIR("condim='4' friction='1 1 0.2 0.3 0.4'"), 0.2, 0);
    MOMENTS("", "", PAIR("condim='6' friction='1 1 0.2 0.3'"), 0.2, 0.3);
    MOMENTS("", "", PAIR("condim='6'"), 0.005, 0.0001);
#undef MOMENTS
#define PAIRED(x)                                                                                  \
    "<mujoco><worldbody><geom name='f' type='plane'/><body pos='0 0 1'><freejoint/>"               \
    "<geom name='x' size='1'/></body></worldbody>" PAIR(x) "</mujoco>"
    refuses(PAIRED("condim='6' friction='1 1 0 1 2'"), PERP_ERR_MODEL,
            "one coefficient for both directions");
    refuses(PAIRED("condim='5'"), PERP_ERR_MODEL, "condim: 1, 3, 4 or 6 is expected");
    refuses(PAIRED("friction='1 1 -1'"), PERP_ERR_MODEL, "friction: it is >= 0");
    refuses(GEOM("", "size='1' friction='1 -1'"), PERP_ERR_MODEL, "friction: it is >= 0");
#undef PAIRED
#undef PAIR
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
    const double x[] = {a.gear,
                        a.gain,
                        a.bias,
                        a.kp,
                        a.kv,
                        a.force_range.lower,
                        a.force_range.upper,
                        a.control_range.lower,
                        a.control_range.upper},
                 y[] = {e.gear,
                        e.gain,
                        e.bias,
                        e.kp,
                        e.kv,
                        e.force_range.lower,
                        e.force_range.upper,
                        e.control_range.lower,
                        e.control_range.upper};
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
                 (perp_actuator){.gear = 5, .gain = 1, .control_range = {1, -1, 2}});
    expect_drive(DRIVE("<motor joint='j' ctrlrange='-1 2' ctrllimited='false' forcerange='-3 3'/>"),
                 (perp_actuator){.gear = 1, .gain = 1, .force_range = {1, -3, 3}});
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
        (perp_actuator){.gear = 1, .gain = 1, .kp = 1, .control_range = {1, -PI / 2, PI / 4}});
    expect_drive(DRIVE_BY("<position kp='50' kv='4' ctrlrange='0 1'/>", "<velocity joint='j'/>"),
                 (perp_actuator){.gear = 1, .gain = 1, .kv = 1, .control_range = {1, 0, 1}});
    expect_drive(DRIVE_BY("<velocity kv='4'/>", "<general joint='j'/>"),
                 (perp_actuator){.gear = 1, .gain = 4, .kv = 4});
    expect_drive(DRIVE("<damper joint='j' kv='3' ctrlrange='0 5'/>"),
                 (perp_actuator){.gear = 1, .control_range = {1, 0, 5}});
    refuses(DRIVE("<damper joint='j' kv='3'/>"), PERP_ERR_MODEL,
            "ctrlrange: a lower and a greater");
    refuses(DRIVE("<motor tendon='t'/>"), PERP_ERR_MODEL, "there is no tendon 't'");
    refuses(DRIVE("<motor joint='nowhere'/>"), PERP_ERR_MODEL, "there is no joint 'nowhere'");
    refuses(DRIVE("<position joint='j' dampratio='-1'/>"), PERP_ERR_MODEL, "dampratio: it is >= 0");
    refuses(DRIVE("<position joint='j' timeconst='-1'/>"), PERP_ERR_MODEL, "time constant is >= 0");
    refuses(DRIVE("<general joint='j' dyntype='user'/>"), PERP_ERR_MODEL, "a program's own");
    refuses(DRIVE("<muscle joint='j'/>"), PERP_ERR_MODEL, "lengthrange is missing");
    refuses(DRIVE("<motor joint='j' gear='0'/><muscle joint='j' lengthrange='0 1' lmax='0.9'/>"),
            PERP_ERR_MODEL, ".xml:1:251: actuator: a muscle has lmin < 1 < lmax");
    refuses(DRIVE("<muscle joint='j' lengthrange='0 1' scale='-5'/>"), PERP_ERR_MODEL,
            "a scale > 0");
    refuses(DRIVE("<general joint='j' dyntype='muscle'/>"), PERP_ERR_MODEL,
            "actuator: times of its activation");
    refuses(DRIVE("<general joint='j' actrange='0 1'/>"), PERP_ERR_MODEL, "has no activation");
    refuses(DRIVE("<adhesion body='b'/>"), PERP_ERR_MODEL, "sticks to others");
    refuses(DRIVE("<general joint='j' biastype='affine' biasprm='0 1'/>"), PERP_ERR_MODEL,
            "biasprm");
}

/* What MuJoCo has beside gains: had, or refused by its name, also where a class says it. */
static void all_of_an_actuator_is_had_or_refused(void **state)
{
    (void)state;
    expect_drive(DRIVE("<cylinder joint='j' diameter='0.3'/>"),
                 (perp_actuator){.gear = 1, .gain = PI / 4 * 0.09});
    expect_drive(DRIVE("<cylinder joint='j' area='5' diameter='0.3' bias='1 -2 -3'/>"),
                 (perp_actuator){.gear = 1, .gain = PI / 4 * 0.09, .bias = 1, .kp = 2, .kv = 3});
    expect_drive(DRIVE_BY("<cylinder diameter='0.2'/>", "<cylinder joint='j' timeconst='0.5'/>"),
                 (perp_actuator){.gear = 1, .gain = PI / 4 * 0.04});
    perp_actuator a = drive(DRIVE("<cylinder joint='j' diameter='0.3' timeconst='0.5'/>"));
    assert_int_equal(a.activation, PERP_ACTIVATION_FILTER);
    assert_near(a.rise, 0.5, 0);

    refuses(DRIVE("<general joint='j' dyntype='integrator' actdim='2'/>"), PERP_ERR_MODEL,
            "actdim: one activation");
    refuses(DRIVE_BY("<general actdim='3'/>", "<general joint='j' dyntype='filter'/>"),
            PERP_ERR_MODEL, "actdim: one activation");
    a = drive(DRIVE("<general joint='j' dyntype='integrator' actdim='1' actearly='true'/>"));
    assert_int_equal(a.activation, PERP_ACTIVATION_INTEGRATOR);
    assert_true(a.is_early);
    a = drive(DRIVE_BY("<general actearly='true'/>",
                       "<general joint='j' dyntype='filter' actearly='false'/>"));
    assert_int_equal(a.activation, PERP_ACTIVATION_FILTER);
    assert_false(a.is_early);

    refuses(DRIVE("<motor joint='j' delay='0.1'/>"), PERP_ERR_MODEL, "delay: a control acts");
    refuses(DRIVE_BY("<position delay='0.1'/>", "<position joint='j'/>"), PERP_ERR_MODEL,
            "delay: a control acts");
    expect_drive(DRIVE("<motor joint='j' delay='0'/>"), (perp_actuator){.gear = 1, .gain = 1});

    /* a servo of a position that its control moves; what its class says is of no other servo */
    a = drive(
        DRIVE_BY("<intvelocity kp='5' kv='0.5' actrange='-1 2'/>", "<intvelocity joint='j'/>"));
    assert_int_equal(a.activation, PERP_ACTIVATION_INTEGRATOR);
    assert_near(a.activation_range.lower, -1, 0);
    assert_near(a.activation_range.upper, 2, 0);
    assert_near(a.kp, 5, 0);
    assert_near(a.kv, 0.5, 0);
    a = drive(DRIVE_BY("<intvelocity kp='5'/>", "<position joint='j' kv='2'/>"));
    assert_int_equal(a.activation, PERP_ACTIVATION_NONE);
    assert_near(a.kp, 1, 0);
    assert_near(a.kv, 2, 0);
    refuses(DRIVE_BY("<intvelocity kp='5' actrange='-1 2'/>", "<position joint='j'/>"),
            PERP_ERR_MODEL, "actrange: the actuator has no activation");
    a = drive(DRIVE("<intvelocity joint='j' inheritrange='1'/>"));
    assert_near(a.activation_range.lower, -PI / 2, 1e-15);
    assert_near(a.activation_range.upper, PI / 4, 1e-15);

    /* a muscle's curves; without a force, a scale times the inertia that it feels: 2 kg */
    a = drive(
        "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='0.1' mass='2'/></body>"
        "</worldbody><actuator><muscle joint='j' lengthrange='0 1' scale='300' lmin='0.4' "
        "lmax='1.7' "
        "vmax='1.4' fpmax='1.1' fvmax='1.25'/></actuator></mujoco>");
    assert_near(a.muscle.force, 600, 1e-9);
    assert_near(a.muscle.lmin, 0.4, 0);
    assert_near(a.muscle.lmax, 1.7, 0);
    assert_near(a.muscle.vmax, 1.4, 0);
    assert_near(a.muscle.fpmax, 1.1, 0);
    assert_near(a.muscle.fvmax, 1.25, 0);
    a = drive(DRIVE("<general joint='j' lengthrange='0 1' dyntype='muscle' dynprm='0.01 0.04' "
                    "gaintype='muscle' "
                    "gainprm='0.75 1.05 30 200 0.5 1.6 1.5 1.3 1.2'/>"));
    assert_near(a.muscle.force, 30, 0);
    assert_near(a.muscle.fpmax, 0, 0); /* its bias is none: nothing without an activation */

    perp_robot *robot; /* of two groups one is disabled, where a class says it, too */
    perp_robot_parts p = parts_of(
        WITH("<option actuatorgroupdisable='1 3'/><default><default class='off'><motor "
             "group='3'/></default></default><actuator><motor joint='j' gear='2' group='2'/>"
             "<motor class='off' joint='k' gear='2'/></actuator>"),
        &robot);
    assert_int_equal(p.nactuator, 2);
    assert_near(p.actuator[0].gain, 1, 0);
    assert_near(p.actuator[1].gain, 0, 0);
    perp_robot_destroy(robot);
    refuses(WITH("<option actuatorgroupdisable='31'/>"), PERP_ERR_MODEL, "groups from 0 to 30");
    refuses(WITH("<option actuatorgroupdisable='1.5'/>"), PERP_ERR_MODEL, "groups from 0 to 30");
}

static void the_bound_of_a_joint_is_its_actuator_s(void **state)
{
    (void)state;
    expect_drive(
        "<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-10 6'/><geom size='1'/>"
        "</body></worldbody><actuator><motor joint='j' gear='-2' forcerange='-4 4'/></actuator>"
        "</mujoco>",
        (perp_actuator){.gear = -2, .gain = 1, .force_range = {1, -3, 4}});
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
            "there is no tendon 't'");
    refuses(WITH("<equality><weld body1='b' body2='b'/></equality>"), PERP_ERR_MODEL,
            "two bodies are expected");
}

/* Lengths 2 j - 3 (k - 0.5), where j and k are at the beginning 0 and 0.5, and j alone. */
static void equalities_of_tendons_couple_their_joints(void **state)
{
    (void)state;
#define TIE(equality)                                                                              \
    WITH("<tendon><fixed name='t'><joint joint='j' coef='2'/><joint joint='k' coef='-3'/></fixed>" \
         "<fixed name='s'><joint joint='j' coef='1'/></fixed></tendon><equality>" equality         \
         "</equality>")
    perp_robot *robot;
    perp_robot_parts p =
        parts_of(TIE("<tendon tendon1='t' polycoef='0.6'/><tendon tendon1='s' tendon2='t' "
                     "polycoef='0.1 2'/><tendon tendon1='s' polycoef='0.3 7'/>"),
                 &robot);
    assert_int_equal(p.nequality, 3);
    const int body[3][2] = {{1, 2}, {1, 2}, {1, 0}};
    /* 2 j = 0.6 + 3 (k - 0.5); j = 0.1 + 2 (2 j - 3 (k - 0.5)): -3 j = 0.1 - 6 (k - 0.5); j = 0.3 */
    const double line[3][2] = {{0.3 - 0.75, 1.5}, {-0.1 / 3 - 1, 2}, {0.3, 0}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            assert_int_equal(p.equality[i].kind, PERP_EQUALITY_JOINT);
            assert_int_equal(p.equality[i].body[k], body[i][k]);
            assert_near(p.equality[i].polynomial[k], line[i][k], 1e-15);
        }
    perp_robot_destroy(robot);
    /* what is no line, or of more joints, stays one of tendons, about their lengths at the beginning */
    p = parts_of(TIE("<tendon tendon1='s' tendon2='t' polycoef='0 1 1'/>"), &robot);
    assert_int_equal(p.equality[0].kind, PERP_EQUALITY_TENDON);
    assert_int_equal(p.equality[0].body[0], 2);
    assert_int_equal(p.equality[0].body[1], 1);
    const double square[] = {3.75, 4, 1}; /* (x + 1.5) + (x + 1.5)^2 */
    for (int k = 0; k < 3; k++) assert_near(p.equality[0].polynomial[k], square[k], 1e-14);
    perp_robot_destroy(robot);
    p = parts_of(WITH("<default><equality active='false'/></default><equality><joint joint1='j'/>"
                      "<joint joint1='k' active='true'/></equality>"),
                 &robot);
    assert_int_equal(p.nequality, 1);
    assert_int_equal(p.equality[0].body[0], 2);
    perp_robot_destroy(robot);
#undef TIE
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

/* Each copy turned and moved from the one before; the number in the outer ones ends a name. */
static void replicates_are_copies_with_numbers(void **state)
{
    (void)state;
    perp_robot *robot;
    perp_bodies *b;
    perp_diag diag = {0};
    double p[3], R[9];
    perp_robot_parts parts = parts_of(
        "<mujoco><worldbody><replicate count='2' offset='0 0 5'><replicate count='10' sep='_' "
        "offset='1 0 0' euler='0 0 90'><body name='b' pos='1 0 0'><joint name='j'/><geom name='g' "
        "size='0.1'/></body></replicate></replicate></worldbody><actuator><motor joint='j_031'/>"
        "</actuator></mujoco>",
        &robot);
    assert_int_equal(parts.nbody, 20);
    assert_string_equal(parts.body[2].name, "b_020");
    assert_string_equal(parts.shape_name[13], "g_031");
    assert_string_equal(parts.joint[19], "j_091");
    assert_int_equal(parts.actuator[0].body, 14);
    assert_int_equal(perp_robot_create_bodies(robot, NULL, &b, &diag), PERP_OK);
    /* frames begin at 0, 1 0, 1 1 and turn by 0, 90, 180 degrees: the body is 1 along the third one's x */
    perp_bodies_pose(b, 13, p, R);
    const double at[3] = {0, 1, 5};
    for (int k = 0; k < 3; k++) assert_near(p[k], at[k], 1e-15);
    assert_near(R[0], -1, 1e-15);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
#define COPIES(attributes)                                                                         \
    "<mujoco><worldbody><replicate " attributes                                                    \
    "><body><joint/><geom size='1'/></body></replicate></worldbody></mujoco>"
    refuses(COPIES("count='0'"), PERP_ERR_MODEL, "a count of 1 or more is expected");
    refuses(COPIES("offset='0 0 1'"), PERP_ERR_MODEL, "a count of 1 or more is expected");
    refuses(COPIES("count='2' offset='0 0'"), PERP_ERR_MODEL, "offset: 2 numbers, 3 expected");
    refuses(COPIES("count='100000000'"), PERP_ERR_MODEL,
            "replicate: copies have more than 200000 elements");
#undef COPIES
}

static void no_two_have_one_name(void **state)
{
    (void)state;
    refuses(
        "<mujoco><worldbody>\n<body name='a'><joint name='a'/><geom name='a' size='1'/></body>"
        "\n<body name='a'><joint name='b'/><geom name='b' size='1'/></body></worldbody></mujoco>",
        PERP_ERR_MODEL, "t.xml:3:13: body 'a' is there already, in line 2");
    refuses(WITH("<actuator><motor name='m' joint='j'/><motor name='m' joint='k'/></actuator>"),
            PERP_ERR_MODEL, "actuator 'm' is there already");
    refuses(
        WITH("<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed><fixed name='t'><joint "
             "joint='k' coef='1'/></fixed></tendon>"),
        PERP_ERR_MODEL, "tendon 't' is there already");
    refuses(WITH("<actuator><motor joint='j' tendon='t'/></actuator>"), PERP_ERR_MODEL,
            "of one joint, tendon or site, not of several");
    refuses(WITH("<actuator><motor joint='j' ctrlrange='1 -1'/></actuator>"), PERP_ERR_MODEL,
            "ctrlrange: a lower and a greater number are expected");
    refuses(JOINT("<option timestep='0'/>", ""), PERP_ERR_MODEL, "a step > 0 s is expected");
    refuses(JOINT("", "pos='nan 0 0'"), PERP_ERR_MODEL, "is no finite number");
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
    refuses(WITH("<deformable><flex/></deformable>"), PERP_ERR_MODEL,
            "<deformable>: soft bodies are not to be had");
    refuses(GEOM("", "size='0.1'/><composite type='cable'"), PERP_ERR_MODEL,
            "<composite>: parts that are made up are not to be had; replicate is");
    refuses(GEOM("", "size='0.1' surfacevel='0 0 0 1 0 0'"), PERP_ERR_MODEL,
            "surfacevel: surfaces that run are not to be had");
    refuses(GEOM("", "size='0.1' adhesion='2'"), PERP_ERR_MODEL,
            "adhesion: contacts that pull are not to be had");
    refuses(GEOM("<option density='1'/>", "size='0.1' fluidshape='ellipsoid'"), PERP_ERR_MODEL,
            "fluidshape ellipsoid is not to be had");
    refuses(JOINT("", "springyield='0.1'"), PERP_ERR_MODEL,
            "springyield: springs that give way for good are not to be had");
    refuses(JOINT("<option><flag override='enable'/></option>", ""), PERP_ERR_MODEL,
            "override: contacts have the friction of their geoms and pairs");
    static const char *const idle[] = {
        GEOM("", "size='0.1' surfacevel='0 0 0' adhesion='0' fluidshape='ellipsoid'"),
        JOINT("<option><flag override='disable'/></option>", "springyield='0'"),
        WITH("<deformable><skin/></deformable>")};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) perp_robot_destroy(read_text(idle[i]));
    refuses(JOINT("<include file='nowhere.xml'/>", ""), PERP_ERR_FILE,
            "robots/nowhere.xml cannot be read");
    refuses("<sdf/>", PERP_ERR_MODEL, "<sdf>: a file begins with");
    refuses("<mujoco/>", PERP_ERR_MODEL, "there is no body");
    refuses("<!DOCTYPE m [<!ENTITY e 'x'>]><mujoco/>", PERP_ERR_DATA, "entities");
    refuses("", PERP_ERR_DATA, "no element found");
    refuses(GEOM("", "type='hfield' hfield='x'"), PERP_ERR_MODEL, "a height field is of the world");
    refuses(GEOM("", "type='mesh' mesh='x'"), PERP_ERR_MODEL, "there is no mesh 'x'");
    refuses(GEOM("", "type='plane'"), PERP_ERR_MODEL, "a plane is of the world");
    refuses(JOINT("", "actuatorgravcomp='true' actuatorfrcrange='-1 1'"), PERP_ERR_MODEL,
            "actuatorgravcomp");
}

/* All of it at once, not the first alone. */
static void all_that_is_wrong_is_said(void **state)
{
    (void)state;
    const char *text = JOINT("<option viscosity='-1'/>", "pos='1' align='true'");
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
    perp_robot_parts parts = *perp_robot_get_parts(robot);
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
        assert_near(p.law[1].range.lower, cases[i].lower, 0);
        assert_near(p.law[1].range.upper, cases[i].upper, 0);
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
#define MESHED(name) MESHED_BY(name, "2 2 2")
#define MESHED_BY(name, scale)                                                                     \
    "<robot name='r'>" LINK(                                                                       \
        "a") "<link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/>"        \
             "</inertial><collision><origin xyz='0 0 1'/><geometry><mesh filename='" name          \
             "' scale='" scale "'/></geometry>"                                                    \
             "</collision></link><joint name='j' type='continuous'><parent link='a'/><child "      \
             "link='b'/></joint></robot>"
    static const char *const texts[] = {MESHED("package://robots/tetra.obj"),
                                        MESHED("package://anything/tetra.obj"),
                                        MESHED("tetra.obj"),
                                        MESHED("package://data/robots/tetra.obj"),
                                        MESHED("file://tetra.obj"),
                                        MESHED_BY("tetra.obj", "2"),
                                        MESHED_BY("tetra.obj", "1 2 4")};
    for (int i = 0; i < 7; i++) {
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
        for (int k = 0; k < 1000 && status == PERP_OK; k++) status = bodies_step(b, NULL, &diag);
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

/* Every file of tests/data/robots/kinds, robots of the kinds that are published, runs from its start and from each key, each step verified. */
static void kinds_run(void **state)
{
    (void)state;
    static const char *const files[] = {
        "quadruped.xml", "arm_gripper.xml", "four_bar.xml",    "biped.xml",      "base.xml",
        "drone.xml",     "fixed.xml",       "tendon_hand.xml", "muscle_arm.xml", "digger.xml",
        "humanoid.xml",  "cable.xml",       "dexterous.xml",   "insect.xml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        perp_robot *robot;
        perp_bodies *b = NULL;
        perp_diag diag = {0};
        perp_robot_ignored note;
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/tests/data/robots/kinds/%s", files[i]);
        perp_status status = perp_robot_read(path, &robot, &diag);
        if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
        if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        assert_int_equal(perp_robot_note(robot, 0, &note), 1);
        for (int key = -1; key < perp_robot_keys(robot); key++) {
            perp_assembly is = {.size = sizeof is};
            status = perp_robot_create_bodies(robot, NULL, &b, &diag);
            if (status == PERP_OK && key >= 0) status = perp_robot_set_key(robot, key, b);
            if (status == PERP_OK) status = perp_bodies_assemble(b, &is, &diag);
            if (status == PERP_OK) assert_true(is.is_assembled);
            for (int k = 0; k < 1000 && status == PERP_OK; k++)
                status = bodies_step(b, NULL, &diag);
            if (status != PERP_OK) fail_msg("%s: %s", files[i], perp_diag_text(&diag));
            perp_bodies_destroy(b);
        }
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
    for (int k = 0; k < 1500 && status == PERP_OK; k++) status = bodies_step(b, NULL, &diag);
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
        cmocka_unit_test(a_shell_weighs_what_a_solid_gains),
        cmocka_unit_test(a_mesh_weighs_what_its_inertia_says),
        cmocka_unit_test(a_shape_that_names_a_mesh_is_fitted_to_it),
        cmocka_unit_test(inertial_counts_before_geoms_unless_it_says_so),
        cmocka_unit_test(classes_are_nested_and_inherited),
        cmocka_unit_test(a_springdamper_is_of_what_the_joint_feels),
        cmocka_unit_test(ref_is_q_at_the_beginning),
        cmocka_unit_test(shapes_touch_by_type_affinity_pair_and_exclude),
        cmocka_unit_test(friction_is_the_larger_or_that_of_higher_priority),
        cmocka_unit_test(height_fields_are_scaled),
        cmocka_unit_test(files_of_height_fields_are_where_meshes_are),
        cmocka_unit_test(condim_says_which_moments_a_contact_has),
        cmocka_unit_test(a_body_does_not_touch_its_parent_but_the_world),
        cmocka_unit_test(actuators_have_mjcf_s_gains),
        cmocka_unit_test(all_of_an_actuator_is_had_or_refused),
        cmocka_unit_test(the_bound_of_a_joint_is_its_actuator_s),
        cmocka_unit_test(equalities_join_points_bodies_and_joints),
        cmocka_unit_test(equalities_of_tendons_couple_their_joints),
        cmocka_unit_test(keys_put_a_system_where_they_say),
        cmocka_unit_test(replicates_are_copies_with_numbers),
        cmocka_unit_test(no_two_have_one_name),
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
        cmocka_unit_test(kinds_run),
        cmocka_unit_test(a_quadruped_stands_still),
    };
    return run_all(tests);
}
