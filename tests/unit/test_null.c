/* The rule of perp/base.h: a function that returns a status answers NULL, where it needs something, with PERP_ERR_ARG; what
 * ends a thing takes NULL. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#define REFUSES(call) assert_int_equal(call, PERP_ERR_ARG)

static void null_is_refused(void **state)
{
    (void)state;
    REFUSES(perp_file_write(NULL, NULL, 0, NULL));
    REFUSES(perp_lcp_solver_create(0, 0, NULL, NULL));
    REFUSES(perp_lcp_solve(NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_lcp_differentiate(NULL, NULL, NULL));
    REFUSES(perp_lcp_jvp(NULL, NULL, NULL, NULL));
    REFUSES(perp_lcp_vjp(NULL, NULL, NULL, NULL));
    REFUSES(perp_lcp_batch_solver_create(0, 0, 0, NULL, NULL));
    REFUSES(perp_lcp_solve_batch(NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_lcp_enumerate(NULL, NULL, NULL, NULL));
    REFUSES(perp_lcp_classify(NULL, NULL));
    REFUSES(perp_mcp_solver_create(0, NULL, NULL, NULL));
    REFUSES(perp_mcp_solve(NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_fc_solver_create(0, NULL, NULL, NULL));
    REFUSES(perp_fc_solve(NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_fc_delassus(NULL, NULL, 0));
    REFUSES(perp_fc_to_lcp(NULL, 0, NULL, NULL));
    REFUSES(perp_fc_from_lcp(NULL, 0, NULL, NULL));
    REFUSES(perp_trajectory_read(NULL, NULL, NULL));
    REFUSES(perp_trajectory_parse(NULL, 0, NULL, NULL, NULL));
    REFUSES(perp_trajectory_writer_create(NULL, NULL, NULL));
    REFUSES(perp_trajectory_writer_stream(NULL, NULL, NULL));
    REFUSES(perp_trajectory_writer_comment(NULL, NULL));
    REFUSES(perp_trajectory_writer_header(NULL, 0, NULL, NULL));
    REFUSES(perp_trajectory_writer_row(NULL, NULL));
    REFUSES(perp_model_load(NULL, NULL, NULL));
    REFUSES(perp_model_parse(NULL, 0, NULL, NULL, NULL));
    REFUSES(perp_model_set(NULL, NULL, 0, NULL));
    REFUSES(perp_model_set_input_table(NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_formula_check(NULL, 0, NULL, NULL));
    REFUSES(perp_formulas_create(0, NULL, NULL, NULL, NULL));
    REFUSES(perp_simulation_create(NULL, NULL, NULL, NULL));
    REFUSES(simulation_step(NULL, NULL, NULL));
    REFUSES(perp_simulation_set_state(NULL, 0, 0));
    REFUSES(perp_simulation_set_input(NULL, 0, 0));
    REFUSES(perp_simulation_set_parameter(NULL, 0, 0));
    REFUSES(simulation_advance(NULL, 0, NULL, NULL));
    REFUSES(perp_simulation_snapshot(NULL, NULL, 0));
    REFUSES(perp_simulation_restore(NULL, NULL, 0, NULL));
    REFUSES(perp_simulation_clone(NULL, NULL, NULL));
    REFUSES(perp_batch_create(NULL, NULL, 1, 1, NULL, NULL));
    REFUSES(perp_batch_set_state(NULL, 0, NULL));
    REFUSES(perp_batch_set_input(NULL, 0, NULL));
    REFUSES(perp_batch_set_parameter(NULL, 0, NULL));
    REFUSES(batch_step(NULL, 0, NULL));
    REFUSES(batch_status(NULL, 0));
    REFUSES(perp_batch_gather(NULL, 0, NULL, NULL));
    REFUSES(perp_body_add_solid(NULL, NULL, 1));
    REFUSES(perp_bodies_quaternion(NULL, 0, NULL));
    REFUSES(perp_bodies_forward(NULL, NULL, NULL));
    REFUSES(perp_bodies_velocity(NULL, 0, NULL, NULL, NULL));
    REFUSES(perp_bodies_rotation_jacobian(NULL, 0, NULL));
    REFUSES(perp_bodies_mass_center(NULL, NULL, NULL, NULL));
    REFUSES(perp_bodies_momentum(NULL, NULL, NULL));
    REFUSES(perp_bodies_batch_create(NULL, 1, 1, NULL, NULL));
    REFUSES(perp_bodies_batch_set(NULL, NULL, NULL));
    REFUSES(perp_bodies_batch_get(NULL, NULL));
    REFUSES(perp_bodies_batch_step(NULL, 1, NULL, NULL, NULL));
    REFUSES(perp_bodies_batch_status(NULL, 0, NULL));
    REFUSES(perp_simulation_follow(NULL, 0, NULL, NULL));
    REFUSES(perp_simulation_derivatives(NULL, NULL));
    REFUSES(perp_simulation_jvp(NULL, NULL, NULL, NULL, NULL));
    REFUSES(perp_simulation_vjp(NULL, NULL, NULL, NULL, NULL));
    REFUSES(simulation_run(NULL, NULL, NULL, NULL));
    REFUSES(perp_check(NULL, NULL, NULL, NULL));
    REFUSES(perp_plan_create(NULL, NULL, NULL, NULL));
    REFUSES(perp_plan_set_guess(NULL, NULL, NULL, NULL));
    REFUSES(perp_plan_solve(NULL, NULL, NULL));
    REFUSES(perp_plan_phase_model(NULL, 0, NULL, NULL));
    REFUSES(perp_figure_write_svg(NULL, NULL, NULL));
    REFUSES(perp_figure_svg(NULL, NULL, NULL));
    REFUSES(perp_report_write_svg(NULL, 0, NULL, NULL, NULL));
    REFUSES(perp_report_write_html(NULL, 0, NULL, NULL, NULL));
    REFUSES(perp_dataset_create(NULL));
    REFUSES(perp_dataset_add(NULL, NULL, NULL, NULL));
    REFUSES(perp_dataset_read(NULL, NULL, NULL));
    REFUSES(perp_identify_options_fill(NULL, 0, NULL, NULL));
    REFUSES(run_identify(NULL, NULL, NULL, NULL, NULL));
}

static void the_end_of_nothing_is_fine(void **state)
{
    (void)state;
    perp_diag_clear(NULL);
    perp_lcp_solver_destroy(NULL);
    perp_lcp_batch_solver_destroy(NULL);
    perp_mcp_solver_destroy(NULL);
    perp_fc_solver_destroy(NULL);
    perp_trajectory_destroy(NULL);
    perp_model_destroy(NULL);
    perp_formulas_destroy(NULL);
    perp_simulation_destroy(NULL);
    perp_simulation_reset(NULL);
    perp_batch_destroy(NULL);
    perp_batch_reset(NULL, NULL);
    assert_int_equal(perp_batch_count(NULL), 0);
    assert_null(perp_batch_simulation(NULL, 0));
    perp_bodies_batch_destroy(NULL);
    perp_bodies_batch_reset(NULL, NULL);
    assert_int_equal(perp_bodies_batch_count(NULL), 0);
    assert_null(perp_bodies_batch_at(NULL, 0));
    assert_true(isnan(perp_simulation_time(NULL)) && isnan(perp_simulation_state(NULL, 0)));
    assert_true(isnan(perp_simulation_input(NULL, 0)) && isnan(perp_simulation_parameter(NULL, 0)));
    assert_true(isnan(perp_simulation_value(NULL, 0)));
    assert_int_equal(perp_simulation_find_column(NULL, NULL), -1);
    assert_int_equal(perp_simulation_snapshot_size(NULL), 0);
    perp_plan_destroy(NULL);
    perp_dataset_destroy(NULL);
    perp_identification_clear(NULL);
    assert_int_equal(perp_trajectory_writer_close(NULL, NULL, NULL), PERP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(the_end_of_nothing_is_fine),
    };
    return run_all(tests);
}
