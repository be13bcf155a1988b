/* Tendons through space: lengths by hand, derivatives beside differences, and what hangs, swings, slides and turns on them beside closed forms. */

#include "unit.h"
#include "ways.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static perp_bodies *make(const perp_body *body, int nbody, double h)
{
    perp_bodies *b;
    perp_diag diag = {0};
    perp_bodies_options o = perp_bodies_options_default();
    o.step = h;
    if (perp_bodies_create(body, nbody, NULL, 0, &o, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return b;
}

static void hang(perp_bodies *b, const perp_path_point *path, int n, perp_tendon tendon)
{
    perp_diag diag = {0};
    tendon.npath = n, tendon.path = path;
    if (perp_bodies_add_tendon(b, &tendon, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static void step(perp_bodies *b, int n)
{
    perp_diag diag = {0};
    for (int i = 0; i < n; i++)
        if (bodies_step(b, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static perp_body slide(double x, double mass)
{
    return (perp_body){
        .joint = PERP_JOINT_SLIDE, .axis = {0, 0, 1}, .mass = mass, .position = {x, 0, 0}};
}

/* Around a cylinder of radius 1 along y, from below on the left to below on the right. */
static const perp_path_point over_a_drum[] = {{.body = 1},
                                              {.kind = PERP_PATH_CYLINDER,
                                               .radius = 1,
                                               .rotation = {1, 1, 0, 0},
                                               .has_side = 1,
                                               .side = {0, 0, 2}},
                                              {.body = 2}};

/* Atwood's machine: what one goes up the other goes down, with (m - M)/(m + M) g. */
static void two_weights_hang_over_a_drum(void **state)
{
    (void)state;
    const perp_body body[] = {slide(-1, 1), slide(1, 3)};
    const double q[] = {-2, -1.5}, h = 1e-3;
    perp_bodies *b = make(body, 2, h);
    hang(b, over_a_drum, 3, (perp_tendon){.range = {1, -1, 3.5 + PI}});
    perp_bodies_set(b, q, NULL);
    assert_near(perp_bodies_tendon_length(b, 1), 3.5 + PI, 1e-14);
    step(b, 100);
    double v = 0.5 * 9.81 * 0.1;
    assert_near(perp_bodies_v(b)[0], v, 1e-12);
    assert_near(perp_bodies_v(b)[1], -v, 1e-12);
    assert_near(perp_bodies_tendon_length(b, 1), 3.5 + PI, 1e-12);
    perp_bodies_destroy(b);
}

/* A block and tackle: the branch over two strands counts half, so that 1 kg holds 2 kg, and sinks twice as far as they rise. */
static void a_pulley_halves_a_branch(void **state)
{
    (void)state;
    const perp_path_point path[] = {{.position = {-1, 0, 0}},
                                    {.body = 1},
                                    {.kind = PERP_PATH_PULLEY, .divisor = 0.5},
                                    {.position = {1, 0, 0}},
                                    {.body = 2}};
    for (int heavy = 0; heavy < 2; heavy++) {
        const perp_body body[] = {slide(-1, 1), slide(1, heavy ? 3 : 2)};
        const double q[] = {-1, -1};
        double J[2];
        perp_bodies *b = make(body, 2, 1e-3);
        hang(b, path, 5, (perp_tendon){.range = {1, -1, 3}});
        perp_bodies_set(b, q, NULL);
        assert_near(perp_bodies_tendon_length(b, 1), 3, 1e-15);
        assert_int_equal(perp_bodies_tendon_jacobian(b, 1, J), PERP_OK);
        assert_near(J[0], -1, 1e-15);
        assert_near(J[1], -2, 1e-15);
        step(b, 50);
        /* v = -2 w, m v' = T - m g, M w' = 2 T - M g */
        double M = heavy ? 3 : 2, w = (2 * 9.81 - M * 9.81) / (4 + M) * 0.05;
        assert_near(perp_bodies_v(b)[1], w, 1e-12);
        assert_near(perp_bodies_v(b)[0], -2 * w, 1e-12);
        perp_bodies_destroy(b);
    }
}

/* A spring between 1 and 1.5 m without force: a weight on it hangs at 1.5 + m g/k; above it falls freely. */
static void a_slack_spring_pulls_behind_its_slack(void **state)
{
    (void)state;
    const perp_body body = slide(0, 2);
    const perp_path_point path[] = {{.position = {0, 0, 0}}, {.body = 1}};
    for (double k = 100; k < 1e9; k *= 1e3) {
        double q = -1.2;
        perp_bodies *b = make(&body, 1, 1e-3);
        hang(b, path, 2, (perp_tendon){.stiffness = k, .rest = 1, .slack = 0.5, .damping = 0});
        perp_bodies_set(b, &q, NULL);
        step(b, 100);
        assert_near(perp_bodies_v(b)[0], -0.981, 1e-12);
        q = -1.5 - 2 * 9.81 / k;
        perp_bodies_set(b, &q, (double[]){0});
        step(b, 100);
        assert_near(perp_bodies_v(b)[0], 0, 1e-9);
        assert_near(perp_bodies_q(b)[0], q, 1e-9);
        q = -0.5; /* pushed away from above */
        perp_bodies_set(b, &q, (double[]){0});
        step(b, 1);
        /* M v = -h M g + h F, F = -k (0.5 - h v - 1) down */
        double h = 1e-3, v = -(2 * 9.81 + 0.5 * k) * h / (2 + h * h * k);
        assert_near(perp_bodies_v(b)[0], v, 1e-9 * fabs(v));
        perp_bodies_destroy(b);
    }
}

/* The rate of a servo's length is exact however stiff: a weight on a winch. */
static void a_stiff_winch_lifts(void **state)
{
    (void)state;
    const perp_body body = slide(0, 2);
    const perp_path_point path[] = {{.position = {0.3, 0, 0}}, {.body = 1}};
    perp_diag diag = {0};
    double q = -1, u = 0.5, force;
    perp_bodies *b = make(&body, 1, 1e-3);
    hang(b, path, 2, (perp_tendon){0});
    perp_actuator a = {
        .tendon = 1, .gear = 1, .gain = 1e7, .kp = 1e7, .kv = 1e6, .force_range = {1, -40, 40}};
    assert_int_equal(perp_bodies_add_actuator(b, &a, &diag), PERP_OK);
    perp_bodies_set(b, &q, NULL);
    perp_bodies_set_control(b, &u);
    step(b, 3000);
    assert_near(perp_bodies_tendon_length(b, 1), 0.5, 1e-5);
    assert_near(perp_bodies_v(b)[0], 0, 1e-9);
    perp_bodies_joint_forces(b, NULL, NULL, &force);
    assert_near(force * 0.4 / 0.5, -2 * 9.81, 1e-3); /* along the rope */
    perp_bodies_destroy(b);
}

/* The lengths of two ropes tied to each other: what one gives the other takes, at every step. */
static void tied_lengths_stay_tied(void **state)
{
    (void)state;
    const perp_body body[] = {
        {.joint = PERP_JOINT_BALL, .mass = 1, .inertia = {0.1, 0.2, 0.3}, .center = {0.3, 0, 0}},
        {.joint = PERP_JOINT_HINGE,
         .axis = {0, 1, 0},
         .mass = 2,
         .center = {0.5, 0, 0},
         .position = {0, 1, 0}}};
    const perp_path_point one[] = {{.position = {0.2, 0.1, 1}},
                                   {.body = 1, .position = {0.6, 0, 0}}},
                          two[] = {{.position = {-0.2, 1, 1}},
                                   {.body = 2, .position = {0.4, 0, 0}}};
    perp_bodies *b = make(body, 2, 1e-3);
    hang(b, one, 2, (perp_tendon){0});
    hang(b, two, 2, (perp_tendon){0});
    double x = perp_bodies_tendon_length(b, 1), y = perp_bodies_tendon_length(b, 2);
    perp_equality e = {
        .kind = PERP_EQUALITY_TENDON, .body = {1, 2}, .polynomial = {x + 0.5 * y, -0.5}};
    assert_int_equal(perp_bodies_add_equality(b, &e, NULL), PERP_OK);
    for (int i = 0; i < 500; i++) {
        step(b, 1);
        assert_near(perp_bodies_tendon_length(b, 1) - x,
                    -0.5 * (perp_bodies_tendon_length(b, 2) - y), 1e-4);
    }
    assert_true(fabs(perp_bodies_tendon_length(b, 1) - x) > 0.01);
    const perp_equality wrong[] = {{.kind = PERP_EQUALITY_TENDON, .body = {1, 1}},
                                   {.kind = PERP_EQUALITY_TENDON, .body = {3, 1}},
                                   {.kind = PERP_EQUALITY_TENDON, .body = {0, 1}}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(perp_bodies_add_equality(b, &wrong[i], NULL), PERP_ERR_MODEL);
    perp_bodies_destroy(b);
}

static double draw(unsigned *seed, double low, double high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (high - low) * (*seed >> 8) / 16777216.0;
}

/* Along all kinds of paths the derivative is that of the length, by differences, where neither jumps. */
static void derivatives_are_those_of_lengths(void **state)
{
    (void)state;
    perp_bodies *b = make(chain, CHAIN, 1e-3);
    unsigned seed = 7;
    int wrapped = 0;
    hang(b, ways, NWAY, (perp_tendon){0});
    for (int trial = 0; trial < 300; trial++) {
        double q[CHAIN_NQ], J[CHAIN_NV], there[2];
        for (int k = 0; k < CHAIN_NQ; k++) q[k] = draw(&seed, -0.5, 0.5);
        perp_bodies_set(b, q, NULL);
        memcpy(q, perp_bodies_q(b), sizeof q);
        assert_int_equal(perp_bodies_tendon_jacobian(b, 1, J), PERP_OK);
        for (int k = 6; k < CHAIN_NV; k++) {
            const double eps = 1e-6;
            for (int side = 0; side < 2; side++) {
                double x[CHAIN_NQ];
                memcpy(x, q, sizeof x);
                x[k + 1] += side ? eps : -eps;
                perp_bodies_set(b, x, NULL);
                there[side] = perp_bodies_tendon_length(b, 1);
            }
            if (fabs(there[1] - there[0]) > 1e-4) continue; /* it leapt to the other side */
            assert_near(J[k], (there[1] - there[0]) / (2 * eps), 2e-4);
            wrapped++;
        }
    }
    assert_true(wrapped > 500);
    perp_bodies_destroy(b);
}

static void what_is_no_path_is_refused(void **state)
{
    (void)state;
    const perp_body body = slide(0, 1);
    const perp_path_point site = {.body = 1}, world = {.position = {1, 0, 0}},
                          ball = {.kind = PERP_PATH_SPHERE, .radius = 0.1},
                          pulley = {.kind = PERP_PATH_PULLEY, .divisor = 2};
    perp_path_point nowhere = site, flat = ball, lost = site, zero = pulley;
    nowhere.body = 2, flat.radius = 0, lost.position[1] = (double)NAN, zero.divisor = 0;
    const struct {
        perp_path_point path[4];
        int n;
        const char *why;
    } wrong[] = {{{site}, 1, "two sites"},
                 {{site, ball}, 2, "between two sites"},
                 {{site, ball, ball, world}, 4, "between two sites"},
                 {{site, nowhere}, 2, "no such body"},
                 {{site, flat, world}, 3, "radius"},
                 {{site, lost}, 2, "finite"},
                 {{site, world, pulley}, 3, "a pulley ends it"},
                 {{site, zero, world, site}, 4, "divisor"},
                 {{site, pulley, pulley, world}, 4, "follow each other"},
                 {{world, world}, 2, "nothing on its path moves"}};
    perp_bodies *b = make(&body, 1, 1e-3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        perp_diag diag = {0};
        perp_tendon t = {.npath = wrong[i].n, .path = wrong[i].path};
        assert_int_equal(perp_bodies_add_tendon(b, &t, &diag), PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), wrong[i].why)) fail_msg("%s", perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
    assert_int_equal(perp_bodies_tendon_jacobian(b, 1, (double[]){0}), PERP_ERR_ARG);
    step(b, 1); /* none of them is there */
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_weights_hang_over_a_drum),
        cmocka_unit_test(a_pulley_halves_a_branch),
        cmocka_unit_test(a_slack_spring_pulls_behind_its_slack),
        cmocka_unit_test(a_stiff_winch_lifts),
        cmocka_unit_test(tied_lengths_stay_tied),
        cmocka_unit_test(derivatives_are_those_of_lengths),
        cmocka_unit_test(what_is_no_path_is_refused),
    };
    return run_all(tests);
}
