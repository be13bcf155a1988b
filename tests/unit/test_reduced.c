/* Contacts that are open leave the step: the answers are those of the whole step, at landing too, and where nothing is left in between. */

#include "runs.h"
#include "simulate/run.h"
#include "outcomes.h"

#include <math.h>

/* Two bodies with air drag over a floor, the second higher; what is said of their contacts follows. */
#define BODIES                                                                                     \
    "param m = 2, g = 9.81, mu = 0.3, c = 0.1\n"                                                   \
    "state x[2] = 0, y[2] = 0, z[2] = [0.3, 1.5], vx[2] = [1, 2], vy[2] = [-0.5, 0.7], vz[2] = "   \
    "[0, 0.2]\n"                                                                                   \
    "der(x) = vx\nder(y) = vy\nder(z) = vz\n"                                                      \
    "for i in 1..2 {\n"                                                                            \
    " m*der(vx[i]) = fx[i] - c*vx[i]*abs(vx[i])\n m*der(vy[i]) = fy[i] - c*vy[i]*abs(vy[i])\n"     \
    " m*der(vz[i]) = fn[i] - m*g - c*vz[i]*abs(vz[i])\n}\n"

static const char *const models[] = {
    /* exact cones, facets, a line and nothing, a split by hand, contacts by velocities under a guard */
    "var fn[2], fx[2], fy[2]\n" BODIES "for i in 1..2 {\n 0 <= fn[i] perp z[i] >= 0\n"
    " friction(f = [fx[i], fy[i]], v = [vx[i], vy[i]], bound = mu*fn[i], facets = exact)\n}\n",
    "var fn[2], fx[2], fy[2]\n" BODIES "for i in 1..2 {\n 0 <= z[i] perp fn[i] >= 0\n"
    " friction(f = [fx[i], fy[i]], v = [vx[i], vy[i]], bound = mu*fn[i], facets = 8)\n}\n",
    "var fn[2], fx[2], fy[2]\n" BODIES "for i in 1..2 {\n 0 <= fn[i] perp z[i] >= 0\n"
    " friction(f = fx[i], v = vx[i], bound = mu*fn[i])\n fy[i] = 0\n}\n",
    "var fn[2], fx[2], fy[2], p[2], q[2], s[2]\n" BODIES
    "for i in 1..2 {\n 0 <= fn[i] perp z[i] >= 0\n fx[i] = p[i] - q[i]\n fy[i] = 0\n"
    " 0 <= p[i] perp s[i] + vx[i] >= 0\n 0 <= q[i] perp s[i] - vx[i] >= 0\n"
    " 0 <= s[i] perp mu*fn[i] - p[i] - q[i] >= 0\n}\n"};

/* Runs model k by whole steps, or without what is open. Counts the steps of which a part was solved. */
static run run_it(const char *text, int is_whole, const char *method, int *parts)
{
    char all[4000];
    perp_diag diag = {0};
    snprintf(all, sizeof all, "%ssimulate { to 1.5 step 2e-3 method %s }\n", text, method);
    run r = {.model = parse_model(all)};
    if (perp_simulation_create(r.model, NULL, &r.sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    if (is_whole) r.sim->step.groups.n = 0;
    r.ncolumn = perp_simulation_columns(r.sim);
    r.value = malloc(1001 * (size_t)r.ncolumn * sizeof *r.value);
    assert_non_null(r.value);
    long steps = perp_simulation_steps(r.sim);
    for (long k = 0; k < steps; k++) {
        if (simulation_step(r.sim, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        perp_simulation_row(r.sim, r.value + k * r.ncolumn);
        *parts += r.sim->step.newton.is_behind;
    }
    r.nrow = steps;
    assert_true(simulation_summary(r.sim).worst_error <= 1e-9);
    return r;
}

static void answers_are_those_of_whole_steps(void **state)
{
    static const char *const methods[] = {"backward-euler", "theta"};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        for (int m = 0; m < 2; m++) {
            int parts = 0, none = 0;
            run a = run_it(models[k], 0, methods[m], &parts),
                b = run_it(models[k], 1, methods[m], &none);
            if (parts <= 100 || none)
                fail_msg("model %d, %s: %d steps by parts, %d", (int)k, methods[m], parts, none);
            for (long i = 0; i < a.nrow; i++)
                for (int c = 0; c < a.ncolumn; c++) {
                    double x = a.value[i * a.ncolumn + c], y = b.value[i * b.ncolumn + c];
                    if (!(fabs(x - y) <= 1e-8 * (1 + fabs(y))))
                        fail_msg("model %d, %s, row %ld, %s: %.17g, %.17g", (int)k, methods[m], i,
                                 perp_simulation_column_name(a.sim, c), x, y);
                }
            assert_true(last(&a, "fn[1]") > 19 && last(&a, "z[1]") == 0);
            free_run(&a);
            free_run(&b);
        }
    }
}

/* What is set in the model while a simulation runs is not seen by it, and what is begun again has the numbers of the first time. */
static void parts_belong_to_their_simulation(void **state)
{
    char all[4000];
    perp_diag diag = {0};
    double row[3][32] = {{0}};
    (void)state;
    snprintf(all, sizeof all, "%ssimulate to 1 step 2e-3\n", models[1]);
    for (int k = 0; k < 3; k++) {
        perp_model *m = parse_model(all);
        perp_simulation *sim;
        assert_int_equal(perp_simulation_create(m, NULL, &sim, &diag), PERP_OK);
        for (int i = 0; i < 20 * k; i++)
            assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        if (k == 1) set_value(m, "m", 3), set_value(m, "mu", 2); /* parts are made later */
        if (k == 2) {
            assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
            perp__simulation_restart(sim, 0, 500);
        }
        assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
        perp_simulation_row(sim, row[k]);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
    assert_memory_equal(row[0], row[2], sizeof row[0]);
    for (int c = 0; c < 32; c++) assert_near(row[1][c], row[0][c], 1e-9);
}

/* A body in flight costs no linearisation, and its contacts no memory, once the smaller step is known; the next simulation shares it. */
static void flight_is_cheap(void **state)
{
    (void)state;
    run r = run_model(load_model("mechanics/cube.perp"), 0.18, 0);
    perp_simulation_summary s = simulation_summary(r.sim);
    assert_true(r.sim->step.newton.is_behind);
    assert_in_range(s.eliminations, 1, 25); /* 22 in 90 steps */
    free_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_whole_steps),
                                       cmocka_unit_test(parts_belong_to_their_simulation),
                                       cmocka_unit_test(flight_is_cheap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
