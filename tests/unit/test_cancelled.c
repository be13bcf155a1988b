/* Right answers whose terms cancel are verified: each is judged beside its terms, with their rounding. */

#include "unit.h"

#include "perp/perp.h"
#include "perp/robots.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static perp_bodies *robot(const char *text, double h)
{
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    perp_status status = perp_robot_parse(text, strlen(text), "t.xml", &robot, &diag);
    if (status == PERP_ERR_UNAVAILABLE) skip_because("there is no expat");
    if (status != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    perp_bodies_options o = perp_robot_get_parts(robot)->options;
    o.step = h;
    if (perp_robot_create_bodies(robot, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    perp_robot_destroy(robot);
    return b;
}

static void go(perp_bodies *b, int steps)
{
    perp_diag diag = {0};
    for (int k = 0; k < steps; k++)
        if (bodies_step(b, NULL, &diag) != PERP_OK)
            fail_msg("step %d: %s", k + 1, perp_diag_text(&diag));
}

static unsigned long long seed = 3;

static double draw(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
}

/* A chain of n hinges about y. The last link hangs at its centre of mass, so that nothing turns it. */
static void write_chain(char *text, size_t room, int n)
{
    int at = snprintf(text, room, "<mujoco><worldbody>");
    for (int i = 0; i < n; i++) {
        double x = i + 1 < n ? draw(-0.3, 0.3) : 0, z = i + 1 < n ? draw(-0.3, 0.3) : 0;
        at += snprintf(text + at, room - (size_t)at,
                       "<body pos='%.3f 0 %.3f'><joint axis='0 1 0'/><inertial pos='%.3f 0 %.3f' "
                       "mass='%.2f' diaginertia='.1 .1 .15'/>",
                       i ? draw(-0.4, 0.4) : 0, i ? draw(-0.4, 0.4) : 0, x, z, draw(0.5, 8));
    }
    for (int i = 0; i < n; i++) at += snprintf(text + at, room - (size_t)at, "</body>");
    snprintf(text + at, room - (size_t)at, "</worldbody></mujoco>");
}

static void chains_fall_whose_last_link_is_balanced(void **state)
{
    (void)state;
    for (int k = 0; k < 200; k++) {
        char text[4000];
        int n = 2 + k % 5;
        write_chain(text, sizeof text, n);
        perp_bodies *b = robot(text, 2e-3);
        for (int i = 0; i < 60; i++) {
            double turn = 0, size = 0;
            go(b, 1);
            const double *v = perp_bodies_v(b);
            for (int j = 0; j < n; j++) {
                turn += v[j];
                size += fabs(v[j]);
            }
            assert_true(fabs(turn) <= 1e-11 * size);
        }
        perp_bodies_destroy(b);
    }
}

/* A drawer that slides along a wall, which it overlaps by what 0.1 + 0.2 - 0.3 leaves: 5.6e-17 m. */
static const char drawer[] =
    "<mujoco><option gravity='0 -1 0'/><default><geom friction='0 0 0'/></default><worldbody>"
    "<geom type='box' size='.1 .5 .1' pos='%.17g 0 0'/><body><joint type='slide' axis='0 0 1'/>"
    "<geom type='box' size='.02 .02 .02' mass='1' pos='0.5 0 0'/><body pos='-0.1 0 0'>"
    "<joint type='slide' axis='0 1 0'/><geom type='box' size='.1 .1 .1' mass='1'/></body></body>"
    "</worldbody></mujoco>";

static void a_drawer_slides_flush_with_a_wall(void **state)
{
    (void)state;
    char text[2000];
    snprintf(text, sizeof text, drawer, -0.3);
    perp_bodies *b = robot(text, 2e-3);
    go(b, 250);
    assert_near(perp_bodies_v(b)[1], -0.5, 1e-13);
    assert_near(perp_bodies_v(b)[0], 0, 1e-13);
    perp_bodies_destroy(b);
}

/* One that really overlaps the wall, by more than rounding, cannot move out of it: no step holds. */
static void a_drawer_in_a_wall_is_refused(void **state)
{
    (void)state;
    char text[2000];
    perp_diag diag = {0};
    snprintf(text, sizeof text, drawer, -0.3 + 1e-9);
    perp_bodies *b = robot(text, 2e-3);
    assert_int_equal(bodies_step(b, NULL, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "not verified"));
    perp_diag_clear(&diag);
    perp_bodies_destroy(b);
}

/* A puck that slides in a plane alone, with its lower face in the plane of the table. */
static void a_puck_lies_on_its_table(void **state)
{
    (void)state;
    perp_bodies *b = robot(
        "<mujoco><option gravity='0 0 0'/><worldbody>"
        "<geom type='plane' pos='0 0.5 -0.325' size='1 1 0.1' condim='1'/><body pos='0.45 -0.05 "
        "-0.275'><geom type='cylinder' size='0.05 0.05' density='0.01' condim='1'/>"
        "<joint type='slide' axis='0 1 0' damping='0.5'/><joint type='slide' axis='1 0 0' "
        "damping='0.5'/></body></worldbody></mujoco>",
        1e-2);
    go(b, 50);
    assert_near(perp_bodies_v(b)[0], 0, 0);
    assert_near(perp_bodies_v(b)[1], 0, 0);
    perp_bodies_destroy(b);
}

/* Masses on slides, coupled by a tendon that is the sum of all: a_i = -g + f/m_i with f = n g over the sum
 * of the 1/m_i. */
static void a_tendon_of_many_joints_is_held(void **state)
{
    (void)state;
    for (int n = 2; n <= 6; n++) {
        char text[4000];
        int at = snprintf(text, sizeof text, "<mujoco><worldbody>");
        double over = 0;
        for (int i = 0; i < n; i++) {
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "<body pos='%d 0 0'><joint name='j%d' type='slide' axis='0 0 1'/>"
                           "<inertial pos='0 0 0' mass='%d' diaginertia='1 1 1'/></body>",
                           i, i, i + 1);
            over += 1.0 / (i + 1);
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "</worldbody><tendon><fixed name='t'>");
        for (int i = 0; i < n; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "<joint joint='j%d' coef='1'/>", i);
        snprintf(text + at, sizeof text - (size_t)at,
                 "</fixed></tendon><equality><tendon tendon1='t'/></equality></mujoco>");
        perp_bodies *b = robot(text, 1e-3);
        go(b, 100);
        for (int i = 0; i < n; i++) {
            double a = -9.81 + n * 9.81 / over / (i + 1);
            assert_near(perp_bodies_v(b)[i], 0.1 * a, 1e-12);
            assert_near(perp_bodies_q(b)[i], 0.5 * a * 0.01 * 1.01, 1e-12);
        }
        perp_bodies_destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_fall_whose_last_link_is_balanced),
                                       cmocka_unit_test(a_drawer_slides_flush_with_a_wall),
                                       cmocka_unit_test(a_drawer_in_a_wall_is_refused),
                                       cmocka_unit_test(a_puck_lies_on_its_table),
                                       cmocka_unit_test(a_tendon_of_many_joints_is_held)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
