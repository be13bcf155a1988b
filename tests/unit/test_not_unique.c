/* A step with several verified solutions is told from one with a single one. */

#include "runs.h"
#include "outcomes.h"

#include "simulate/vertices.h"

#include <math.h>

static perp_simulation_summary summary_of(const char *text, perp_simulation **sim,
                                          perp_model **model)
{
    perp_diag diag = {0};
    perp_simulation_summary s = {.size = sizeof s};
    *model = parse_model(text);
    perp_simulation_options o = perp_simulation_options_default(*model);
    assert_int_equal(perp_simulation_create(*model, &o, sim, &diag), PERP_OK);
    if (perp_simulation_run(*sim, NULL, NULL, &s, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return s;
}

static perp_simulation_summary run_text(const char *text)
{
    perp_model *model;
    perp_simulation *sim;
    perp_simulation_summary s = summary_of(text, &sim, &model);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return s;
}

/* What repels from x = 0 may go either way, or stay (../shared/findings/claims/repulsive.perp);
 * only there: one step later it goes its way. */
static void what_repels_may_go_either_way(void **state)
{
    (void)state;
    const char *const method[] = {"backward-euler", "theta", "radau5"};
    for (int k = 0; k < 3; k++) {
        char text[256];
        snprintf(text, sizeof text,
                 "model m\nstate x=0\nvar u\nder(x)=u\n-1<=u<=1 perp -x\n"
                 "simulate to 0.1 step 0.01 method %s\n",
                 method[k]);
        perp_simulation_summary s = run_text(text);
        assert_true(s.not_unique >= 1);
        assert_near(s.not_unique_at, 0.01, 1e-12);
    }
}

static perp_simulation_summary run_example(const char *file, double gravity, double to)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim;
    perp_simulation_summary s = {.size = sizeof s};
    assert_int_equal(perp_model_load(file, &model, &diag), PERP_OK);
    assert_int_equal(perp_model_set(model, "g", gravity, &diag), PERP_OK);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.to = to;
    assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
    assert_int_equal(perp_simulation_run(sim, NULL, NULL, &s, &diag), PERP_OK);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return s;
}

/* A rod whose tip slides against a steep friction (Painleve). Where a small force pulls it off, it
 * may lift off, or a force may hold it: a unit of that force pulls it nearer. */
static void a_painleve_rod_may_lift_off_or_not(void **state)
{
    (void)state;
    perp_simulation_summary s = run_example("examples/mechanics/painleve.perp", -1, 0.01);
    assert_true(s.not_unique >= 1 && s.not_unique_at < 2e-4);
    assert_int_equal(run_example("examples/mechanics/painleve.perp", 9.81, 0.01).not_unique, 0);
}

/* Two blocks that stick at rest: velocities of 1e-19 m/s are rounding of their forces. */
static void rounding_at_rest_is_no_other_solution(void **state)
{
    (void)state;
    assert_int_equal(run_example("examples/mechanics/stack.perp", 9.81, 0.01).not_unique, 0);
}

/* Forces that are not unique are no other motion: a block on two pins that say the same. Nor are
 * friction and impacts with one solution. */
static void one_motion_is_one_solution(void **state)
{
    (void)state;
    const char *const text[] = {
        "model pins\nparam m = 1, g = 10\nstate y = 0, v = 0\nvar p, q\nder(y) = v\n"
        "m*der(v) = p + q - m*g\n0 <= p perp v >= 0 when y <= 0\n0 <= q perp v >= 0 when y <= 0\n"
        "simulate to 0.1 step 1e-2 method backward-euler\n",
        "model block\nparam m = 1, mu = 0.5\nstate x = 0, v = 1\nvar f\nder(x) = v\nm*der(v) = f\n"
        "-mu*m*10 <= f <= mu*m*10 perp v\nsimulate to 1 step 1e-2 method backward-euler\n",
        "model stack\nparam a = 0.6, b = 0.4\nstate v = 0, w = 0\nvar f, p\n"
        "a*der(v) = f - p\nb*der(w) = p + 0.1*t - 0.05\n-5 <= f <= 5 perp v\n"
        "-0.01 <= p <= 0.01 perp w - v\nsimulate to 1 step 1e-2 method backward-euler\n",
        "model wedge\nparam m = 1, M = 3, al = .5, g = 9.81\n"
        "state X = 0, x = 0, z = 1, V = 0, vx = 0, vz = 0\nvar N\nder(X) = V\nder(x) = vx\n"
        "der(z) = vz\nM*der(V) = -N*sin(al)\nm*der(vx) = N*sin(al)\n"
        "m*der(vz) = N*cos(al) - m*g\n0 <= N perp (z - 1)*cos(al) + (x - X)*sin(al) >= 0\n"
        "simulate to .1 step 0.01 method radau5\n",
        "model ball\nstate z = 1, v = 0\nvar p\nder(z) = v\nder(v) = p - 10\n"
        "0 <= p perp v + 0.5*pre(v) >= 0 when z <= 0\nsimulate to 2 step 1e-2 method moreau\n"};
    for (int k = 0; k < 5; k++) assert_int_equal(run_text(text[k]).not_unique, 0);
}

/* Counted again from 0 after a reset, and with a snapshot. */
static void a_reset_begins_at_zero(void **state)
{
    (void)state;
    perp_model *model;
    perp_simulation *sim, *clone;
    perp_simulation_summary now = {.size = sizeof now},
                            s = summary_of("model m\nstate x=0\nvar u\nder(x)=u\n-1<=u<=1 perp -x\n"
                                           "simulate to 0.1 step 0.01 method backward-euler\n",
                                           &sim, &model);
    assert_true(s.not_unique > 0);
    assert_int_equal(perp_simulation_clone(sim, &clone, NULL), PERP_OK);
    perp_simulation_get_summary(clone, &now);
    assert_int_equal(now.not_unique, s.not_unique);
    perp_simulation_destroy(clone);
    perp_simulation_reset(sim);
    perp_simulation_get_summary(sim, &now);
    assert_int_equal(now.not_unique, 0);
    assert_int_equal(perp_simulation_run(sim, NULL, NULL, &now, NULL), PERP_OK);
    assert_int_equal(now.not_unique, s.not_unique);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* M = [0 1; 1 0], q = (-1, -1): z = (1, 1); with q = (1, 1) z = 0; M = -1, q = 1: z = 0 and z =
 * 1. */
static void vertices_are_all_solutions(void **state)
{
    (void)state;
    const double swap[4] = {0, 1, 1, 0}, minus[1] = {-1}, less[2] = {-1, -1}, more[2] = {1, 1};
    double z[PERP__VERTICES_MOST];
    unsigned set = 0;
    perp_lcp lcp = {2, swap, 2, less, NULL, NULL};
    assert_true(perp__next_vertex(&lcp, 1e-9, &set, z));
    assert_true(z[0] == 1 && z[1] == 1);
    assert_false(perp__next_vertex(&lcp, 1e-9, &set, z));
    lcp = (perp_lcp){2, swap, 2, more, NULL, NULL};
    set = 0;
    assert_true(perp__next_vertex(&lcp, 1e-9, &set, z));
    assert_true(z[0] == 0 && z[1] == 0);
    assert_false(perp__next_vertex(&lcp, 1e-9, &set, z));
    lcp = (perp_lcp){1, minus, 1, more, NULL, NULL};
    set = 0;
    assert_true(perp__next_vertex(&lcp, 1e-9, &set, z) && z[0] == 0);
    assert_true(perp__next_vertex(&lcp, 1e-9, &set, z) && z[0] == 1);
    assert_false(perp__next_vertex(&lcp, 1e-9, &set, z));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_repels_may_go_either_way),
        cmocka_unit_test(a_painleve_rod_may_lift_off_or_not),
        cmocka_unit_test(rounding_at_rest_is_no_other_solution),
        cmocka_unit_test(one_motion_is_one_solution),
        cmocka_unit_test(a_reset_begins_at_zero),
        cmocka_unit_test(vertices_are_all_solutions),
    };
    return run_all(tests);
}
