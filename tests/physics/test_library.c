/* Each part of the library against a closed form: of the motion, or of backward Euler's steps where these have one. */

#include "cli.h"
#include "linalg/sparse_lu.h"
#include "library_use.h"
#include "runs.h"
#include "outcomes.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>

enum { STEPS = 50 };
static const double h = 0.01;

/* After STEPS steps from rest with this acceleration, by backward Euler. */
static double fallen(double acceleration)
{
    return acceleration * h * h * STEPS * (STEPS + 1) / 2;
}

typedef struct row {
    const char *text, *column;
    double value, tolerance;
} row;

/* The models that were held against a closed form. */
static char *tried[300];
static int ntried;

/* No divisor of a part may become 0, no argument leave its domain, as far as `perp check` sees (ADR 108). */
static void keep_quiet(const perp_model *model, const char *text)
{
    static const char *const words[] = {"may become", "may leave"};
    perp_check_report report = {.size = sizeof report};
    perp_diag diag = {0};
    assert_int_equal(perp_check(model, NULL, &report, &diag), PERP_OK);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (strstr(perp_diag_text(&diag), words[k]))
            fail_msg("%s\n%s", text, perp_diag_text(&diag));
    }
    perp_diag_clear(&diag);
}

static void check(const char *use, const char *method, const row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        char text[4000];
        perp_diag diag = {0};
        perp_model *model;
        snprintf(text, sizeof text, "use \"%s\"\n%s\nsimulate { to 0.5\n step 0.01\n method %s }\n",
                 use, rows[i].text, method);
        assert_true(ntried < (int)(sizeof tried / sizeof *tried));
        tried[ntried++] = strdup(text);
        perp_model_parse(text, strlen(text), "part.perp", &model, &diag);
        if (!model) fail_msg("%s\n%s", text, perp_diag_text(&diag));
        keep_quiet(model, text);
        run r = run_model(model, 0, 0);
        double x = last(&r, rows[i].column);
        if (!(fabs(x - rows[i].value) <= rows[i].tolerance))
            fail_msg("%s\n%s is %.17g, not %.17g", text, rows[i].column, x, rows[i].value);
        free_run(&r);
    }
}

#define CHECK(use, method, rows) check(use, method, rows, (int)(sizeof(rows) / sizeof *(rows)))

#define SLOPE "param slope = 0.4\nGround floor(th = slope)\n"
#define BOX                                                                                        \
    SLOPE "Body box(x = -0.05*sin(slope) , z = 0.05*cos(slope), th = slope, J = 0.00166)\n"        \
          "PointLine l(floor, box, -0.05, -0.05, mu = mu)\nPointLine r(floor, box, 0.05, -0.05, "  \
          "mu = mu)\n"
#define BALL SLOPE "Body ball(x = -0.1*sin(slope), z = 0.1*cos(slope), m = 2, J = 0.008)\n"

#define PLANK "param plank[4,2] = [[-5, -1], [5, -1], [5, 0], [-5, 0]]\n"
#define SQUARES                                                                                    \
    SLOPE PLANK "param c[4,2] = [[-0.05, -0.05], [0.05, -0.05], [0.05, 0.05], [-0.05, 0.05]]\n"    \
                "Body box(x = -0.05*sin(slope) , z = 0.05*cos(slope), th = slope, J = 0.00166)\n"  \
                "PolygonPolygon p(floor, box, plank, 4, c, 4, mu = mu)\n"
#define TIP                                                                                        \
    "Ground o\nparam c[3,2] = [[-1, -1], [0, 0], [-1, 0]]\n"                                       \
    "Body b(x = 0.1*sqrt(0.5), z = 0.1*sqrt(0.5), vz = -0.001, g = 0)\n"                           \
    "DiscPolygon d(o, b, c, 3, 0.1, mu = 0, e = 1)\n"

static void bodies_joints_and_contacts_move_as_they_must(void **state)
{
    (void)state;
    const double g = 9.81, s = sin(0.4), c = cos(0.4);
    const row rows[] = {
        {"Body b(z = 2)", "b.z", 2 + fallen(-g), 1e-12},
        {"Ground o\nBody b(z = -1, m = 2)\nPin p(o, b, bz = 1)", "p.fz", 2 * g, 1e-9},
        {"Ground o\nBody b(x = 1, m = 2)\nPin p(o, b, bx = -1, friction = 19.7)", "b.th", 0, 1e-10},
        {"Ground o\nBody b(x = 1, m = 2)\nWeld p(o, b, bx = -1)", "p.torque", 2 * g, 1e-8},
        {SLOPE "Body b(th = slope)\nSlider s(floor, b, mu = 0.2)\noutput y = s.along", "y",
         fallen(-g * (s - 0.2 * c)), 1e-7},
        {SLOPE "Body b(th = slope)\nSlider s(floor, b, mu = 0.45)\noutput y = s.along", "y", 0,
         1e-7},
        {"Ground o\nBody b(z = -1, m = 2)\nSpring s(o, b, k = 100, length = 1 - 0.1962)\noutput y "
         "= s.pull",
         "y", 2 * g, 1e-8},
        {"Ground o\nBody b(z = -1)\nDamper s(o, b, d = 100)\noutput y = b.vz", "y", -0.0981, 1e-9},
        {"Ground o\nBody b(z = -1, m = 2)\nRope s(o, b, length = 1)", "s.pull", 2 * g, 1e-8},
        {"Ground o\nBody b(J = 2)\nMotor s(o, b, 3)", "b.w", 0.75, 1e-12},
        /* a force of 3 at an arm of 2; a place at an arm of 0.5 of what turns with 3, and at rest at an angle of 0.4 */
        {"Body b(m = 4, J = 2, g = 0)\nForce f(b, 2, 0.5, 0, 3)", "b.w", 1.5, 1e-12},
        {"Body b(m = 4, J = 2, g = 0)\nForce f(b, 2, 0.5, 3, 0)", "b.w", -0.375, 1e-12},
        {"Body b(m = 4, g = 0)\nForce f(b, 0, 0, 2, 3)\noutput y = b.x*10 + b.z", "y",
         fallen(0.5) * 10 + fallen(0.75), 1e-12},
        {"Body b(g = 0, th = 1.1, w = 3, vx = 2)\nPlace p(b, 0.5, 0)\noutput y = p.vx", "y",
         2 - 3 * 0.5 * sin(1.1 + 1.5), 1e-12},
        {"Body b(g = 0, th = 1.1, w = 3, vz = 2)\nPlace p(b, 0, 0.5)\noutput y = p.vz", "y",
         2 - 3 * 0.5 * sin(1.1 + 1.5), 1e-12},
        {"Body b(g = 0, x = 1, z = 2, th = 0.4)\nPlace p(b, 3, 4)\noutput y = p.x", "y",
         1 + 3 * c - 4 * s, 1e-12},
        {"Body b(g = 0, x = 1, z = 2, th = 0.4)\nPlace p(b, 3, 4)\noutput y = p.z", "y",
         2 + 3 * s + 4 * c, 1e-12},
        /* a contact of one's own: along the normal of a slope, with friction and without */
        {SLOPE "Body b(m = 2)\nContact k(floor, b, 0, 0, -sin(slope), cos(slope), b.z*cos(slope) - "
               "b.x*sin(slope), mu = 0.2)\noutput y = b.x*cos(slope) + b.z*sin(slope)",
         "y", fallen(-g * (s - 0.2 * c)), 1e-9},
        {SLOPE "Body b(m = 2)\nContact k(floor, b, 0, 0, -sin(slope), cos(slope), b.z*cos(slope) - "
               "b.x*sin(slope), mu = 0)",
         "k.fn", 2 * g * c, 1e-9},
        {"param mu = 0.2\n" BOX "output y = (box.x*cos(slope) + box.z*sin(slope))", "y",
         fallen(-g * (s - 0.2 * c)), 1e-7},
        {"param mu = 0.45\n" BOX "output y = (box.x*cos(slope) + box.z*sin(slope))", "y", 0, 1e-7},
        {BALL "DiscLine d(floor, ball, 0.1)\noutput y = ball.x*cos(slope) + ball.z*sin(slope)", "y",
         fallen(-g * s / (1 + 0.008 / (2 * 0.01))), 1e-6},
    };
    CHECK("planar", "backward-euler", rows);
    const row polygons[] = {
        {"param mu = 0.2\n" SQUARES "output y = (box.x*cos(slope) + box.z*sin(slope))", "y",
         fallen(-g * (s - 0.2 * c)), 1e-9},
        {"param mu = 0.45\n" SQUARES "output y = (box.x*cos(slope) + box.z*sin(slope))", "y", 0,
         1e-9},
        {BALL PLANK "DiscPolygon d(floor, ball, plank, 4, 0.1)\n"
                    "output y = ball.x*cos(slope) + ball.z*sin(slope)",
         "y", fallen(-g * s / (1 + 0.008 / (2 * 0.01))), 1e-9},
        /* on a tip: the weight of a disc above it */
        {"Ground o\nparam c[3,2] = [[0,0],[-1,-1],[1,-1]]\nBody b(z = 0.1, m = 2)\n"
         "DiscPolygon d(o, b, c, 3)\noutput y = d.at.fn",
         "y", 2 * g, 1e-9},
    };
    CHECK("planar", "backward-euler", polygons);
    const row impacts[] = {
        {"Body a(vx = 1, g = 0)\nBody b(x = 0.305, g = 0)\nDiscDisc d(a, b, e = 1, mu = 0)", "b.vx",
         1, 1e-9},
        {"Body a(vx = 1, g = 0)\nBody b(x = 0.305, g = 0)\nDiscDisc d(a, b, e = 1, mu = 0)", "a.vx",
         0, 1e-9},
        {"Ground o\nBody b(z = 0.305, vz = -1, g = 0)\nDiscLine d(o, b, e = 0.7)", "b.vz", 0.7,
         1e-9},
        /* two of like mass exchange their speeds; a frictionless disc on a tip at 45 degrees turns by 90 */
        {"Body a(vz = 0.5, g = 0)\nBody b(z = 0.203, vz = -1, g = 0)\n" PLANK
         "PointPolygon d(a, b, plank, 4, bz = -0.1, e = 1, mu = 0)",
         "b.vz", 0.5, 1e-9},
        {"Body a(vz = 0.5, g = 0)\nBody b(z = 0.203, vz = -1, g = 0)\n" PLANK
         "PointPolygon d(a, b, plank, 4, bz = -0.1, e = 0.6, mu = 0)",
         "a.vz", -0.7, 1e-9},
        {TIP, "b.vx", 1e-3, 1e-7},
        {TIP, "b.vz", 0, 2e-7},
    };
    CHECK("planar", "moreau", impacts);
}

/* A turn by 1 about an axis: its matrix keeps the axis, has the trace 1 + 2 cos 1 and turns what is across by 1; the length
 * of the quaternion does not matter. A body that turns at the rate 2 about its z axis: of q (backward Euler, so that its length grows)
 * the angle after n steps is 2 n atan h. */
static void quaternions_turn_as_they_must(void **state)
{
    (void)state;
#define TURN                                                                                       \
    "state x = 1\nder(x) = 0\nlet a = [2/3, -1/3, 2/3]\n"                                          \
    "let q = [3*cos(0.5), 2*sin(0.5), -sin(0.5), 2*sin(0.5)]\nlet R = rotation(q)\n"
    const row rows[] = {
        {TURN "output y = norm(R @ a - a)", "y", 0, 1e-15},
        {TURN "output y = R[1,1] + R[2,2] + R[3,3]", "y", 1 + 2 * cos(1), 1e-15},
        {TURN "let b = [1, 2, 0]/sqrt(5)\noutput y = dot(a, cross(b, R @ b))", "y", sin(1), 1e-15},
        {TURN "let I = R @ transpose(R)\noutput y = norm(I[1] - [1, 0, 0], I[2] - [0, 1, 0], I[3] "
              "- [0, 0, 1])",
         "y", 0, 1e-15},
        {"state q = [1, 0, 0, 0]\nder(q) = spin(q, [0, 0, 2])\n"
         "let R = rotation(q)\noutput y = atan2(R[2,1], R[1,1])",
         "y", 2 * STEPS * atan(h), 1e-12},
        {"state q = [1, 2, -1, 0.5]\nder(q) = spin(q, [1, -2, 2])\n"
         "output y = norm(der(q))/norm(q) - 1.5",
         "y", 0, 1e-12},
    };
    CHECK("space", "backward-euler", rows);
}

#define SPACE  "param g = 9.81\nWorld o([0, 0, -g])\n"
#define TILTED "param g = 9.81\nWorld o([g*sin(0.4), 0, -g*cos(0.4)])\n"
#define FREE                                                                                       \
    "Free j(z = 0.1)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [0.008, 0.008, 0.008, 0, 0, 0])\n"
#define ROLL                                                                                       \
    FREE "BallPlane c(o, b, [0, 0, 0], level, [0, 0, 0], 0.1)\nSlidingFriction r(c.contact, "      \
         "c.t1, c.t2, mu)\n"
#define BRAKED                                                                                     \
    SPACE "Free j(z = 0.1, wz = 3)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [0.008, 0.008, 0.008, " \
          "0, "                                                                                    \
          "0, 0])\nBallPlane c(o, b, [0, 0, 0], level, [0, 0, 0], 0.1)\n"
#define TURNED "output y = atan2(b.R[2,1], b.R[1,1])\n"

#define WEIGHTS                                                                                    \
    SPACE "Slide i([-1, 0, -2], level, [0, 0, 1])\nSlide j([1, 0, -1.5], level, [0, 0, 1])\n"      \
          "Frame a(o, i)\nFrame b(o, j)\nMass k(a, 1, [0, 0, 0], [1, 1, 1, 0, 0, 0])\n"            \
          "Mass m(b, 3, [0, 0, 0], [1, 1, 1, 0, 0, 0])\nTendon rope\n"

/* Weights on a thread: Atwood's machine over a drum and a ball, a block and tackle; lengths of ways around a circle of radius 1 from 2 on the left to 2 and c on the right: straight where it is
 * free, else two tangents of sqrt(3) and the arc; up a pin by 1. */
static void tendons_pull_as_they_must(void **state)
{
    (void)state;
    const double g = 9.81, tangents = 2 * sqrt(3), pi = acos(-1), arc = pi - 2 * acos(0.5);
#define OVER(way)                                                                                  \
    WEIGHTS way "var f\n0 <= f perp 3.5 + pi - rope.length >= 0\nrope.pull += -f\noutput y = j.q"
#define LENGTH(way) SPACE FREE "Tendon rope\n" way "output y = rope.length"
    const row rows[] = {
        {OVER("BesidePin w(rope, a, b, o, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 2], "
              "1)\n"),
         "y", fallen(-g / 2), 1e-9},
        {OVER("BesidePin w(rope, b, a, o, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 2], "
              "1)\n"),
         "y", fallen(-g / 2), 1e-9},
        {OVER("BesideBall w(rope, a, b, o, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 2], 1)\n"), "y",
         fallen(-g / 2), 1e-9},
        {WEIGHTS "Straight w(rope, o, a, [-1, 0, 0], [0, 0, 0])\n"
                 "Straight x(rope, o, b, [1, 0, 0], [0, 0, 0], divisor = 0.5)\n"
                 "var f\n0 <= f perp 5 - rope.length >= 0\nrope.pull += -f\noutput y = j.q",
         "y", fallen((2 * g - 3 * g) / (4 + 3)), 1e-9},
        {LENGTH("AroundBall w(rope, o, o, o, [-2, 0, 0], [2, 1e-9, 0], [0, 0, 0], 1)\n"), "y",
         tangents + arc, 1e-8},
        {LENGTH("AroundBall w(rope, o, o, o, [-2, 0, 0], [2, 0, 0], [0, 0, 1.1], 1)\n"), "y", 4,
         1e-12},
        {LENGTH("AroundPin w(rope, o, o, o, [-2, 0, 0], [2, 1, 0], [0, 0, 0], [0, 1, 0], 1)\n"),
         "y", hypot(tangents + arc, 1), 1e-12},
        {LENGTH("AroundPin w(rope, o, o, o, [-2, 0, 0], [2, 1, 0], [0, 0, 1.1], [0, 1, 0], 1)\n"),
         "y", hypot(4, 1), 1e-12},
        {LENGTH(
             "BesidePin w(rope, o, o, o, [-2, 0, 0], [0, 0, 2], [0, 0, 0], [0, 1, 0], [1, 0, -1], "
             "1)\n"),
         "y", tangents + 1.5 * pi - 2 * acos(0.5), 1e-12},
        {LENGTH("BesidePin w(rope, o, o, o, [-0.5, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, "
                "-2], "
                "1)\n"),
         "y", 2.5, 1e-12}, /* from within */
    };
    CHECK("space", "backward-euler", rows);
}

static void trees_in_space_move_as_they_must(void **state)
{
    (void)state;
    const double g = 9.81, s = sin(0.4), c = cos(0.4), turn = 2 * STEPS * atan(h * 3 / 2);
    const row rows[] = {
        {SPACE FREE "output y = b.p[3]", "y", 0.1 + fallen(-g), 1e-12},
        {SPACE
         "Slide j([0, 0, 1], rotation([1, 1, 0, 0]), [0, 1, 0])\nFrame b(o, j)\nMass m(b, 2, [0, "
         "0, 0], [0, 0, 0, 0, 0, 0])\noutput y = b.p[3]",
         "y", 1 + fallen(-g), 1e-12},
        /* what holds a mass at arm's length; the same over a frame that is fixed on the arm */
        {SPACE
         "Hinge j([0, 0, 0], level, [0, 1, 0])\nFrame b(o, j)\nMass m(b, 2, [1, 0, 0], [0, 0, 0, "
         "0, 0, 0])\nvar f\nj.q = 0\nj.tau += f",
         "f", -2 * g, 1e-9},
        {SPACE
         "Hinge j([0, 0, 0], about([0, 0, 1], pi/2), [1, 0, 0])\nFrame a(o, j)\nFixed k([0, 1, 0], "
         "level)\nFrame b(a, k)\nMass m(b, 2, [0, 0, 0], [0, 0, 0, 0, 0, 0])\nvar f\nj.q = "
         "0\nj.tau += f",
         "f", 2 * g, 1e-9},
        /* a constant rate: each step turns by 2 atan(h w/2) */
        {SPACE
         "Free j(wz = 3)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 2, 3, 0, 0, 0])\n" TURNED,
         "y", turn, 1e-10},
        {SPACE
         "Ball j([1, 2, 3], level, wz = 3)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 2, 3, 0, 0, "
         "0])\n" TURNED,
         "y", turn, 1e-10},
        {"World o([0, 0, 0])\nFree j\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 1, 1, 0, 0, "
         "0])\nSpot "
         "s(b, [0, 1, 0])\nPointForce f(b, s.p, [0, 0, 1])\noutput y = b.p[3]",
         "y", fallen(0.5), 1e-12},
        {"World o([0, 0, 0])\nFree j\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 1, 1, 0, 0, "
         "0])\nSpot "
         "s(b, [0, 1, 0])\nPointForce f(b, s.p, b.R @ [0, 0, 1])\noutput y = j.wx",
         "y", 0.5, 1e-9},
        {SPACE
         "Free j(x = -1)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 1, 1, 0, 0, 0])\nWeld w(o, b, "
         "[0, 0, 0], [1, 0, 0], level)",
         "w.M[2]", 2 * g, 1e-8},
        {SPACE
         "Free j(z = -1)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 1, 1, 0, 0, 0])\nConnect w(o, "
         "b, [0, 0, 0], [0, 0, 1])",
         "w.F[3]", 2 * g, 1e-8},
        {TILTED "param mu = 0.5\n" ROLL "output y = b.p[1]", "y",
         fallen(g * s / (1 + 0.008 / (2 * 0.01))), 1e-7},
        {TILTED "param mu = 0.05\n" ROLL "output y = b.p[1]", "y", fallen(g * (s - 0.05 * c)),
         1e-7},
        {SPACE "Free j(z = 0.3)\nFrame b(o, j)\nMass m(b, 2, [0, 0, 0], [1, 1, 1, 0, 0, "
               "0])\nBallBall c(o, "
               "b, [0, 0, 0], [0, 0, 0], 0.1, 0.2)\nSlidingFriction r(c.contact, c.t1, c.t2, 0.5)",
         "c.contact.fn", 2 * g, 1e-8},
        {BRAKED "TorsionalFriction p(c.contact, 1e-4)", "j.wz",
         3 - 1e-4 * 2 * g / 0.008 * STEPS * h, 1e-9},
        {BRAKED "TorsionalFriction p(c.contact, 1)", "j.wz", 0, 1e-9},
        {TILTED "param mu = 0.5\n" ROLL
                "RollingFriction p(c.contact, c.t1, c.t2, 0.01)\noutput y = b.p[1]",
         "y", fallen(g * (s - 0.1 * c) / (1 + 0.008 / (2 * 0.01))), 1e-7},
        {TILTED "param mu = 0.5\n" ROLL
                "RollingFriction p(c.contact, c.t1, c.t2, 0.05)\noutput y = b.p[1]",
         "y", 0, 1e-9},
    };
    CHECK("space", "backward-euler", rows);
}

static void laws_of_friction_hold(void **state)
{
    (void)state;
    const double full = 0.3 + 0.1 * exp(-1), wrapped = exp(0.3 * 3.14159265358979323846);
    const row rows[] = {
        {"state v = 1\nder(v) = c.f\nCoulomb c(v, 0.5)", "v", 0.75, 1e-12},
        {"state v = 1\nder(v) = 0.3 + c.f\nCoulomb c(v, 3)", "v", 0, 1e-12},
        {"state v = 1\nder(v) = 0\nvar y\ny = stribeck(0.3, 0.4, 1, v)", "y", full, 1e-12},
        {"state v = 1\nder(v) = 0\nStribeck c(v, 10, vs = 1, viscous = 2)\noutput y = c.f", "y",
         -10 * full - 2, 1e-9},
        {"state v = 1\nder(v) = 0\nLuGre c(v, 10, vs = 1)\noutput y = c.f", "y", -10 * full, 1e-3},
        {"state w = 2\nder(w) = c.M\nRolling c(w, 10, arm = 0.1)", "w", 1.5, 1e-12},
        {"state w = -2\nder(w) = c.M\nRolling c(w, 10, arm = 0.1)", "w", -1.5, 1e-12},
        {"state w = 0\nder(w) = 0.9 + c.M\nRolling c(w, 10, arm = 0.1)", "w", 0, 1e-12},
        /* a weight of 3, 2, 0.3 that a tension of 1 holds by half a turn, exp(0.3 pi) = 2.57 */
        {"state v = 0\nder(v) = 3 - c.other\nBelt c(v, 1)", "v", 0.5 * (3 - wrapped), 1e-12},
        {"state v = 0\nder(v) = 2 - c.other\nBelt c(v, 1)", "v", 0, 1e-12},
        {"state v = 0\nder(v) = 0.3 - c.other\nBelt c(v, 1)", "v", 0.5 * (0.3 - 1 / wrapped),
         1e-12},
    };
    CHECK("friction", "backward-euler", rows);
}

static void drives_turn_as_they_must(void **state)
{
    (void)state;
    const row rows[] = {
        {"Housing o\nShaft s(J = 2)\nTorque k(o, s, 3)", "s.w", 0.75, 1e-12},
        {"Housing o\nShaft s(J = 2, phi = 0.1)\nElastic e(o, s, k = 10)\nTorque k(o, s, 1)", "s.w",
         0, 1e-12},
        {"Housing o\nShaft a(J = 1)\nShaft b(J = 9)\nGear g(a, b, 3)\nTorque k(o, a, 2)", "a.w",
         0.5, 1e-12},
        {"Housing o\nShaft s(phi = 0.5, J = 1)\nBacklash b(s, o, 0.2, k = 10, d = 0)\nTorque k(o, "
         "s, 4)",
         "s.w", 0, 1e-12},
        {"Housing o\nShaft s(phi = 0.09, J = 1)\nBacklash b(s, o, 0.2, k = 10)\n", "s.w", 0, 1e-12},
        {"Housing o\nShaft a(J = 1)\nShaft b(J = 1, w = 1)\nOneWay c(a, b)\nTorque k(o, a, 4)",
         "b.w", 1.5, 1e-9},
        {"Housing o\nShaft a(J = 1)\nShaft b(J = 1, w = 1)\nOneWay c(a, b)\nTorque k(o, a, 1)",
         "b.w", 1, 1e-9},
        {"Housing o\nShaft a(J = 1)\nShaft b(J = 1, w = 1)\nClutch c(a, b, 0.5)", "b.w", 0.75,
         1e-12},
        {"Housing o\nShaft a(J = 1)\nShaft b(J = 1, w = 1)\nClutch c(a, b, 5)", "b.w", 0.5, 1e-12},
        {"Housing o\nShaft s(J = 1, w = 8)\nEndStop e(o, s)", "s.phi", 1, 1e-12},
        /* up to 0.19, and back to the tooth at 0.15, or to none */
        {"Housing o\nShaft s(J = 1, w = 2)\nRatchet r(o, s, 0.15)\nTorque k(o, s, -10)", "s.phi",
         0.15, 1e-12},
        {"Housing o\nShaft s(J = 1, w = 2)\nRatchet r(o, s, 0.15)\nTorque k(o, s, -10)", "r.torque",
         10, 1e-9},
        {"Housing o\nShaft s(J = 1, w = 2)\nRatchet r(o, s, 0.2)\nTorque k(o, s, -10)", "s.phi", 0,
         1e-12},
        {"Housing o\nShaft s(J = 1, w = 2)\nRatchet r(o, s, 0.06)", "s.phi", 1, 1e-12},
    };
    CHECK("drives", "backward-euler", rows);
}

static void circuits_have_their_currents(void **state)
{
    (void)state;
    const double slow = 1 - pow(1 + h / 0.5, -STEPS); /* of a time constant of 0.5 s */
    const row rows[] = {
        {"Ground o\nNode a\nSource s(a, o, 6)\nCapacity c(C = 0.25)\nResistor r(a, c, 2)", "c.v",
         6 * slow, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nResistor r(a, b, 2)\nCapacitor c(b, o, "
         "0.25)",
         "c.u", 6 * slow, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nResistor r(a, b, 2)\nInductor l(b, o, 1)",
         "l.i", 3 * slow, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nDiode d(a, b, 0.7)\nResistor r(b, o, 2)",
         "d.i", 2.65, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, -6)\nDiode d(a, b, 0.7)\nResistor r(b, o, 2)",
         "d.i", 0, 1e-9},
        /* a current that is given: through a resistor, and what a diode leaves of it to one */
        {"Ground o\nNode a\nCurrent s(o, a, 3)\nResistor r(a, o, 2)", "a.v", 6, 1e-9},
        {"Ground o\nNode a\nCurrent s(a, o, 3)\nCapacity c(C = 0.5)\nCurrent q(o, c, 3)\n"
         "Resistor r(a, o, 2)\noutput y = a.v + c.v",
         "y", -6 + 3, 1e-9},
        {"Ground o\nNode a\nCurrent s(o, a, 3)\nDiode d(a, o, 0.5)\nResistor r(a, o, 2)", "d.i",
         2.75, 1e-9},
        /* fired by a pulse, on after it; without one, or against the voltage, off */
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nThyristor d(a, b, choose(t < 0.1, 1, 0), "
         "0.7)\nResistor r(b, o, 2)",
         "d.i", 2.65, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nThyristor d(a, b, 0)\nResistor r(b, o, 2)",
         "d.i", 0, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, -6)\nThyristor d(a, b, 1)\nResistor r(b, o, "
         "2)",
         "d.i", 0, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, choose(t < 0.2, 6, choose(t < 0.3, -6, 6)))\n"
         "Thyristor d(a, b, choose(t < 0.1, 1, 0))\nResistor r(b, o, 2)",
         "d.i", 0, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, choose(t < 0.2, 6, 1))\n"
         "Thyristor d(a, b, choose(t < 0.1, 1, 0), holding = 1)\nResistor r(b, o, 2)",
         "d.i", 0, 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nSwitch d(a, b, 1, R = 1)\nResistor r(b, o, "
         "2)",
         "b.v", 4, 1e-9},
        {"Ground o\nNode a\nSource s(a, o, 6)\nCapacity c(C = 1)\nPwm p(a, c, 0.2, 0.1, R = 100, "
         "leak = 0)",
         "c.v", 6 * (1 - pow(1.0001, -10)), 1e-9},
        {"Ground o\nNode a\nNode b\nSource s(a, o, 6)\nTransformer w(a, o, b, o, 3)\nResistor r(b, "
         "o, 2)",
         "w.i", 6.0 / 18, 1e-9},
    };
    CHECK("electrical", "backward-euler", rows);
}

static void flows_fill_and_valves_hold(void **state)
{
    (void)state;
    const double slow = 1 - pow(1 + h / 0.5, -STEPS);
    const row rows[] = {
        {"Tank a(p = 1e5)\nVolume v(C = 1e-9)\nPipe p(a, v, R = 5e8)", "v.p", 1e5 * slow, 1e-4},
        {"Tank a(p = 1e5)\nTank b\nOrifice o(a, b, K = 1e11)", "o.q", 1e-3, 1e-9},
        {"Tank a(p = 1e5)\nTank b\nValve o(a, b, opening = 4e4, R = 6e7)", "o.q", 1e-3, 1e-9},
        {"Tank a(p = 1e5)\nTank b\nValve o(b, a)", "o.q", 0, 1e-12},
        {"Volume v(C = 1e-9)\nTank o\nFlow pump(o, v, 1e-4)", "v.p", 5e4, 1e-6},
        {"Tank a(p = 1e5)\nCylinder c(a)", "c.x", 0.1, 1e-9},
        {"Tank a(p = 1e5)\nCylinder c(a)", "c.high", 100, 1e-6},
    };
    CHECK("hydraulics", "backward-euler", rows);
}

static void controllers_have_their_values(void **state)
{
    (void)state;
    const double slow = 1 - pow(1 + h / 0.5, -STEPS);
    const row rows[] = {
        {"LowPass f(3, 0.5)", "f.y", 3 * slow, 1e-12},
        {"Integral f(3)\noutput y = saturate(f.y, 0, 1) + deadband(f.y, 1)", "y", 1.5, 1e-9},
        {"Integral f(3)\nPid c(f.y, 3, 2, 4, 5)\noutput y = c.y", "y", 3 + 15 + 4 * fallen(3),
         1e-9},
        {"state x = 0\nder(x) = 3\nInput w(quantise(3*t, 0.4))\npart Input(u) { var y\n y = u }",
         "w.y", 1.6, 1e-9},
        {"Pi c(2, kp = 1, ki = 1, lo = -1, hi = 1)", "c.y", 1, 1e-9},
        {"Pi c(2, kp = 1, ki = 1, lo = -1, hi = 1)", "c.z", 1 - pow(1 + h, -STEPS), 1e-9},
        {"Integral f(6)\nHysteresis r(f.y)", "r.y", 1, 1e-12},
        {"Integral f(1)\nHysteresis r(f.y)", "r.y", 0, 1e-12},
    };
    CHECK("control", "backward-euler", rows);
}

/* The last value of a column of an example with this step; its own where it is 0. */
static double example(const char *name, double step, const char *column)
{
    run r = run_model(load_model(name), 0, step);
    double x = last(&r, column);
    free_run(&r);
    return x;
}

static void converters_have_their_voltages(void **state)
{
    (void)state;
    double mean = 3 * sqrt(3) / 3.14159265358979323846;
    double coarse = fabs(example("parts/rectifier.perp", 1e-4, "over_peak") - mean),
           fine = fabs(example("parts/rectifier.perp", 1e-5, "over_peak") - mean);
    assert_true(fine < 1e-6 * mean && fine < coarse / 8); /* first order at least */
    double fired = (1 + cos(1)) / (2 * 3.14159265358979323846);
    assert_true(fabs(example("parts/thyristors.perp", 1e-4, "over_peak") - fired) < 1e-12);
    double ratio = 2 / (1 + sqrt(1 + 8 * 1e-4 / (20 * 1e-4 * 0.4 * 0.4)));
    assert_true(fabs(example("parts/buck.perp", 2e-6, "ratio") - ratio) <
                1e-3 * ratio); /* without ripple */
}

/* A crank's table is where its angle says; a ball on it rolls with 2/7 of what the table does until a knob strikes it. What heat came
 * into an oven is stored or lost. An orifice lets out what its pressure says, and a valve the rest of what the pump brings. */
static void examples_keep_their_closed_forms(void **state)
{
    (void)state;
    run r = run_model(load_model("parts/shaker.perp"), 0.15, 0);
    assert_near(last(&r, "table_at"), last(&r, "formula"), 1e-12);
    assert_near(last(&r, "ball_on"), 5.0 / 7 * (0.25 - last(&r, "table_at")), 1e-9);
    free_run(&r);
    r = run_model(load_model("parts/oven.perp"), 0, 0);
    assert_near(last(&r, "error"), 0, 1e-9 * last(&r, "heat.y"));
    assert_near(last(&r, "temperature"), 180, 0.5);
    free_run(&r);
    r = run_model(load_model("parts/lift.perp"), 1.9, 0);
    assert_near(last(&r, "throttle.q"), sqrt(last(&r, "line.p") / 2e15), 1e-12);
    assert_near(last(&r, "relief.q") + last(&r, "throttle.q"), 2e-4, 1e-12);
    assert_near(last(&r, "ram.x"), 0.1, 1e-12);
    free_run(&r);
}

/* A stack of ten boxes, its boxes and contacts written in some order. */
static perp_model *stack(unsigned seed)
{
    enum { BOXES = 10, N = 3 * BOXES };
    char text[6000];
    int order[N], at = snprintf(text, sizeof text, "use \"planar\"\nGround b0(z = -0.05)\n");
    for (int k = 0; k < N; k++) order[k] = k;
    for (int k = N - 1; k > 0 && seed; k--) {
        seed = seed * 1664525u + 1013904223u;
        int j = (int)(seed >> 8) % (k + 1), kept = order[k];
        order[k] = order[j], order[j] = kept;
    }
    for (int k = 0; k < N; k++) {
        int i = order[k] / 3 + 1;
        const char *side = order[k] % 3 == 1 ? "-" : "";
        size_t rest = sizeof text - (size_t)at;
        at += order[k] % 3 == 0
                  ? snprintf(text + at, rest, "Body b%d(J = 1/600, z = %g)\n", i, 0.1 * i - 0.05)
                  : snprintf(text + at, rest, "PointLine p%d(b%d, b%d, %s0.05, -0.05, 0, 0.05)\n",
                             order[k], i - 1, i, side);
    }
    snprintf(text + at, sizeof text - (size_t)at,
             "simulate { to 0.08\n step 0.002\n method backward-euler }\n");
    return parse_model(text);
}

/* Which modes a step tries depends on the order, not what they cost: singular ones are shifted, not pivoted. */
static void a_stack_stands_in_whatever_order_it_is_written(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 6; order++) {
        run r = run_model(stack(order), 0, 0);
        perp_simulation_summary s = simulation_summary(r.sim);
        printf("  order %u: %ld problems solved, %ld factorisations, worst error %.1e\n", order,
               s.solves, s.eliminations, s.worst_error);
        assert_near(last(&r, "b10.z"), 0.95, 1e-12);
        assert_near(last(&r, "p1.at.fn") + last(&r, "p2.at.fn"), 98.1, 1e-8);
        assert_true(s.solves < 40 && s.eliminations < 60);
        assert_true(last(&r, "b10.vx") == 0 && last(&r, "b1.w") == 0); /* not 1e-18 */
        free_run(&r);
    }
}

/* Stacks of any number of contacts come to rest: not a bit changes. */
static void stacks_of_any_height_come_to_rest(void **state)
{
    (void)state;
    static const int heights[] = {2, 3, 4, 5, 8, 9, 11, 12, 13, 30};
    for (size_t k = 0; k < sizeof heights / sizeof *heights; k++) {
        char text[1000], top[20];
        int n = heights[k];
        snprintf(text, sizeof text,
                 "use \"planar\"\nparam n = %d, a = 0.05\nGround floor\n"
                 "Body box[i in 1..n](m = 1, J = 0.001666666667, z = a*(2*i - 1))\n"
                 "PointLine left(floor, box[1], -a, -a)\nPointLine right(floor, box[1], a, -a)\n"
                 "for i in 2..n {\n PointLine l(box[i-1], box[i], -a, -a, 0, a)\n"
                 " PointLine r(box[i-1], box[i], a, -a, 0, a)\n}\n"
                 "simulate to 0.6 step 2e-3 method backward-euler\n",
                 n);
        run r = run_model(parse_model(text), 0, 0);
        snprintf(top, sizeof top, "box[%d].x", n);
        if (memcmp(r.value + 201 * r.ncolumn + 1, r.value + 300 * r.ncolumn + 1,
                   (size_t)(r.ncolumn - 1) * sizeof *r.value) != 0)
            fail_msg("%d boxes move", n);
        assert_near(last(&r, top), 0, 1e-8);
        free_run(&r);
    }
}

/* What stands under a load that grows is never at rest: to try it in every step would take seven factorisations in each. */
static void what_stands_under_a_growing_load_is_seldom_tried_at_rest(void **state)
{
    (void)state;
    run r = run_model(
        parse_model("use \"planar\"\nparam n = 3, a = 0.05\nGround floor\n"
                    "Body box[i in 1..n](m = 1, J = 0.001666666667, z = a*(2*i - 1))\n"
                    "PointLine left(floor, box[1], -a, -a)\nPointLine right(floor, box[1], a, -a)\n"
                    "for i in 2..n {\n PointLine l(box[i-1], box[i], -a, -a, 0, a)\n"
                    " PointLine r(box[i-1], box[i], a, -a, 0, a)\n}\nbox[1].Fx += 2*t\n"
                    "simulate to 0.6 step 2e-3 method backward-euler\n"),
        0, 0);
    perp_simulation_summary s = simulation_summary(r.sim);
    assert_near(last(&r, "box[1].x"), 0, 1e-12);
    if (s.eliminations > 2 * s.steps)
        fail_msg("%ld factorisations in %ld steps", s.eliminations, s.steps);
    free_run(&r);
}

/* Ten boxes on each other, each 0.1 m high and twice `half` wide, on a slope of 0.2 rad. */
static run tower_on_a_slope(const char *half)
{
    char text[1200];
    snprintf(text, sizeof text,
             "use \"planar\"\nparam n = 10, a = 0.05, b = %s, al = 0.2\nGround floor(th = al)\n"
             "Body box[i in 1..n](m = 1, J = (a^2 + b^2)/3, x = -sin(al)*a*(2*i - 1),"
             " z = cos(al)*a*(2*i - 1), th = al)\n"
             "PointLine left(floor, box[1], -b, -a)\nPointLine right(floor, box[1], b, -a)\n"
             "for i in 2..n {\n PointLine l(box[i-1], box[i], -b, -a, 0, a)\n"
             " PointLine r(box[i-1], box[i], b, -a, 0, a)\n}\n"
             "simulate to 0.4 step 2e-3 method backward-euler\n",
             half);
    return run_model(parse_model(text), 0, 0);
}

/* Friction holds it, and its steps are at rest, where it is wide enough; one metre high and 0.1 m wide it falls over: tan(0.2) > 0.1. */
static void a_tower_on_a_slope_rests_where_it_is_wide_enough(void **state)
{
    (void)state;
    run wide = tower_on_a_slope("0.3"), slender = tower_on_a_slope("0.05");
    perp_simulation_summary s = simulation_summary(wide.sim);
    assert_true(last(&wide, "box[10].th") == 0.2 && last(&wide, "box[1].vx") == 0);
    if (s.eliminations > 40) fail_msg("%ld factorisations in %ld steps", s.eliminations, s.steps);
    assert_true(last(&slender, "box[10].th") > 0.25);
    free_run(&wide);
    free_run(&slender);
}

static void the_last_ball_of_a_cradle_swings_as_the_first_did(void **state)
{
    (void)state;
    run r = run_model(load_model("parts/cradle.perp"), 1.1, 0);
    double others = 0;
    for (int i = 2; i <= 4; i++) {
        char name[20];
        snprintf(name, sizeof name, "ball[%d].vx", i);
        others = fmax(others, fabs(last(&r, name)));
    }
    double far = 0;
    for (long k = 0; k < r.nrow; k++) far = fmax(far, at(&r, k, "ball[5].x"));
    assert_true(fabs(far - 4 * 0.1001 - 0.2) < 1e-3 && others < 2e-3);
    free_run(&r);
}

static void what_is_not_used_is_listed(void **state)
{
    (void)state;
    const char *library =
        "# part Not\npart A(x) {\n let y = f(x) # C\n}\nfunction f(x) = 2*x\npart B {\n A a(1)\n}\n"
        "part C {\n B b\n}\nfunction D(x) = x\n";
    char *texts[] = {"use \"it\"\nA a(2) # D\nlet x = a.D\n", "C c\n"};
    char *one = unused_of(library, texts, 1), *two = unused_of(library, texts, 2);
    assert_string_equal(one, "B C D ");
    assert_string_equal(two, "D ");
    free(one);
    free(two);
}

/* What is tried stands in the tests above, which ran before this one. */
static void every_part_has_an_example_and_a_closed_form(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(PERP_SOURCE_DIR "/lib/*.perp", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *library = cli_read(found.gl_pathv[i]), name[100], use[110], **shown = NULL, *of[300];
        int nshown = 0, n = 0;
        snprintf(name, sizeof name, "%s", strrchr(found.gl_pathv[i], '/') + 1);
        *strchr(name, '.') = 0;
        snprintf(use, sizeof use, "use \"%s\"", name);
        shown = add_models_using(shown, &nshown, name, "examples/*/*.perp");
        shown = add_models_using(shown, &nshown, name, "docs/library.md");
        for (int k = 0; k < ntried; k++)
            if (strstr(tried[k], use)) of[n++] = tried[k];
        char *unshown = unused_of(library, shown, nshown), *untried = unused_of(library, of, n);
        if (*unshown) fail_msg("%s: no example uses %s", name, unshown);
        if (*untried) fail_msg("%s: no closed form is of %s", name, untried);
        for (int k = 0; k < nshown; k++) free(shown[k]);
        free(shown);
        free(unshown);
        free(untried);
        free(library);
    }
    globfree(&found);
    for (int k = 0; k < ntried; k++) free(tried[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_joints_and_contacts_move_as_they_must),
        cmocka_unit_test(quaternions_turn_as_they_must),
        cmocka_unit_test(trees_in_space_move_as_they_must),
        cmocka_unit_test(tendons_pull_as_they_must),
        cmocka_unit_test(laws_of_friction_hold),
        cmocka_unit_test(drives_turn_as_they_must),
        cmocka_unit_test(circuits_have_their_currents),
        cmocka_unit_test(flows_fill_and_valves_hold),
        cmocka_unit_test(controllers_have_their_values),
        cmocka_unit_test(converters_have_their_voltages),
        cmocka_unit_test(examples_keep_their_closed_forms),
        cmocka_unit_test(a_stack_stands_in_whatever_order_it_is_written),
        cmocka_unit_test(stacks_of_any_height_come_to_rest),
        cmocka_unit_test(what_stands_under_a_growing_load_is_seldom_tried_at_rest),
        cmocka_unit_test(a_tower_on_a_slope_rests_where_it_is_wide_enough),
        cmocka_unit_test(the_last_ball_of_a_cradle_swings_as_the_first_did),
        cmocka_unit_test(what_is_not_used_is_listed),
        cmocka_unit_test(every_part_has_an_example_and_a_closed_form),
    };
    return run_all(tests);
}
