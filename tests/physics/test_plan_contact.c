/* Examples that are planned through contact nobody places: the word that each is given, that its motion stands, that what touches touches. */

#include "runs.h"
#include "outcomes.h"

typedef struct piece {
    const char *file, *force; /* of the contact */
    perp_plan_outcome word;
    double cost, motion, least_force;
} piece;

static void pieces_are_planned_through_contact(void **state)
{
    (void)state;
    static const piece pieces[] = {
        {"control/walls.perp", "right", PERP_PLAN_LOCAL_MINIMUM, 3.982679, 0.02, 5},
        {"control/drone.perp", "n[1]", PERP_PLAN_STATIONARY_S, 0.6034384, 0.001, 1},
        {"control/puck.perp", "p", PERP_PLAN_STATIONARY_S, 9.360414, 0.1, 1},
        {"control/rebound.perp", "p", PERP_PLAN_LOCAL_MINIMUM, 13.91616, 0.05, 100},
        {"control/acrobot.perp", "right", PERP_PLAN_LOCAL_MINIMUM, 674.0547, 0.03, 50},
        {"control/regrasp.perp", "n[1]", PERP_PLAN_STATIONARY_S, 0.03017972, 0.005, 1},
        {"control/peg.perp", "n[1]", PERP_PLAN_STATIONARY_S, 0.04799884, 0.03, 1e-3},
        {"control/push_t.perp", "p[2]", PERP_PLAN_STATIONARY_S, 0.03552832, 0.005, 1e-3},
        {"control/hopper_steps.perp", "n", PERP_PLAN_STATIONARY_S, 0.4573397, 0.01, 100},
        {"control/turbo_hysteresis.perp", "on", PERP_PLAN_LOCAL_MINIMUM, 152.0 / 15, 0.005, 1},
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const piece *q = &pieces[i];
        perp_model *m = load_model(q->file);
        perp_diag diag = {0};
        perp_plan *plan;
        perp_plan_result r = {.size = sizeof r};
        double row[64], most = 0;
        int column = 0;
        assert_int_equal(perp_plan_create(m, NULL, &plan, &diag), PERP_OK);
        assert_int_equal(perp_plan_solve(plan, &r, &diag), PERP_OK);
        while (strcmp(perp_plan_column_name(plan, column), q->force) != 0) column++;
        for (int k = 1; k < perp_plan_rows(plan); k++) {
            perp_plan_row(plan, k, row);
            most = fmax(most, row[column]);
        }
        printf("%s: %s, cost %.7g, motion %.2g, %s up to %.3g\n", q->file,
               perp_plan_outcome_name(r.outcome), r.cost, r.replay, q->force, most);
        assert_true(r.outcome <= q->word);
        assert_true(r.cost <= q->cost * 1.001 && r.cost >= q->cost * 0.999);
        assert_true(r.replay <= q->motion);
        assert_true(most >= q->least_force);
        perp_diag_clear(&diag);
        perp_plan_destroy(plan);
        perp_model_destroy(m);
    }
}

/* The pole that leans on a wall falls from a degree more without feedback, and does not with it: at 120 Hz, through the contact. */
static void the_pole_leans_on_its_wall_by_feedback(void **state)
{
    (void)state;
    perp_model *m = load_model("control/walls.perp");
    perp_plan *plan;
    perp_plan_result r = {.size = sizeof r};
    perp_simulation *sim;
    double off[2], h = 1.5 / 180;
    assert_int_equal(perp_plan_create(m, NULL, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_int_equal(perp_plan_find_gains(plan, NULL, NULL), PERP_OK);
    perp_simulation_options o = perp_simulation_options_default(m);
    o.to = 1.5;
    o.step = h;
    o.integrator = PERP_RADAU5;
    o.ninput = PERP_ALL;
    assert_int_equal(perp_simulation_create(m, &o, &sim, NULL), PERP_OK);
    for (int closed = 0; closed < 2; closed++) {
        perp_simulation_reset(sim);
        assert_int_equal(perp_simulation_set_state(sim, 1, 0.25 + 0.0175), PERP_OK);
        for (int k = 0; k < 180; k++) {
            double x[4], u, row[64];
            for (int i = 0; i < 4; i++) x[i] = perp_simulation_state(sim, i);
            perp_plan_row(plan, k + 1, row);
            assert_int_equal(perp_plan_feedback(plan, (k + 1e-6) * h, x, &u), PERP_OK);
            assert_int_equal(perp_simulation_set_input(sim, 0, closed ? u : row[7]), PERP_OK);
            assert_int_equal(simulation_advance(sim, (k + 1) * h, NULL, NULL), PERP_OK);
        }
        off[closed] = fabs(perp_simulation_state(sim, 1));
    }
    printf("off by %.3g rad without feedback, %.3g with\n", off[0], off[1]);
    assert_true(off[0] > 0.5 && off[1] < 0.05);
    perp_simulation_destroy(sim);
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_planned_through_contact),
        cmocka_unit_test(the_pole_leans_on_its_wall_by_feedback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
