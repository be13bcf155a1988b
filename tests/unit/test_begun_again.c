/* What is set in a model, and a run that is begun again: contacts that open and close meanwhile. */

#include "runs.h"
#include "simulate/run.h"
#include "outcomes.h"

#include <math.h>

/* Two bodies with air drag over a floor, the second higher. */
#define BODIES                                                                                     \
    "param m = 2, g = 9.81, mu = 0.3, c = 0.1\n"                                                   \
    "state x[2] = 0, y[2] = 0, z[2] = [0.3, 1.5], vx[2] = [1, 2], vy[2] = [-0.5, 0.7], vz[2] = "   \
    "[0, 0.2]\n"                                                                                   \
    "der(x) = vx\nder(y) = vy\nder(z) = vz\n"                                                      \
    "for i in 1..2 {\n"                                                                            \
    " m*der(vx[i]) = fx[i] - c*vx[i]*abs(vx[i])\n m*der(vy[i]) = fy[i] - c*vy[i]*abs(vy[i])\n"     \
    " m*der(vz[i]) = fn[i] - m*g - c*vz[i]*abs(vz[i])\n}\n"

static const char model[] =
    "var fn[2], fx[2], fy[2]\n" BODIES "for i in 1..2 {\n 0 <= z[i] perp fn[i] >= 0\n"
    " friction(f = [fx[i], fy[i]], v = [vx[i], vy[i]], bound = mu*fn[i], facets = 8)\n}\n"
    "simulate to 1 step 2e-3\n";

/* What is set in the model while a simulation runs is not seen by it, and what is begun again has the numbers of the first time. */
static void runs_belong_to_their_simulation(void **state)
{
    perp_diag diag = {0};
    double row[3][32] = {{0}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        perp_model *m = parse_model(model);
        perp_simulation *sim;
        assert_int_equal(perp_simulation_create(m, NULL, &sim, &diag), PERP_OK);
        for (int i = 0; i < 20 * k; i++)
            assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        if (k == 1) set_value(m, "m", 3), set_value(m, "mu", 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_belong_to_their_simulation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
