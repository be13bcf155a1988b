/* Runs by radau7 in parts, beside which the error of others is told (docs/adr/032, 123): how far they are from the motion, beside what the estimated errors of their parts say, and
 * what they cost, most of which were searches for events. */

#include "runs.h"
#include "simulate/events.h"
#include "simulate/parts.h"
#include "outcomes.h"

#include <math.h>
#include <stdio.h>

/* As the estimate makes one. */
static perp_simulation *refer(const perp_model *model, double to, double accuracy)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = PERP_RADAU7, o.to = to, o.step = (to - o.from) / 32, o.accuracy = accuracy;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_true(perp__events_go_on(sim->events) && perp__parts_refer(sim));
    perp_simulation_reset(sim);
    if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

/* The largest difference at the end, each state beside the largest that it was. */
static double off_by(const perp_simulation *sim, const perp_simulation *fine, int nx)
{
    const double *size = perp__parts_largest(sim);
    double off = 0;
    for (int i = 0; i < nx; i++)
        if (size[i] > 0)
            off = fmax(off, fabs(perp_simulation_state(sim, i) - perp_simulation_state(fine, i)) /
                                size[i]);
    return off;
}

/* Differences of Stribeck's block grow to twice as much. Where Newton's iteration asked for factors time and again a step was too long for its order, and its error was 20 times what was told. */
static void parts_tell_what_a_reference_lacks(void **state)
{
    (void)state;
    perp_model *model = load_or_parse("examples/mechanics/stribeck.perp");
    perp_simulation *fine = run_to(model, PERP_RADAU7, 10, 2.5e-4);
    for (double accuracy = 1e-4; accuracy > 1e-8; accuracy /= 1.7782794) {
        perp_simulation *sim = refer(model, 10, accuracy);
        double told = perp__parts_error(sim), off = off_by(sim, fine, 2);
        print_message("accuracy %.1e: off %.2e, told %.2e\n", accuracy, off, told);
        assert_true(off < 8 * told);
        perp_simulation_destroy(sim);
    }
    perp_simulation_destroy(fine);
    perp_model_destroy(model);
}

/* A search for an event takes one or two steps with factors of their own: three times the work before, and of the slider-crank nine times, where rounding of its closed loop was taken for
 * events; and the end is no worse for it. */
static void events_of_references_are_found_in_few_steps(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double to, work, off;
    } cases[] = {{"examples/mechanics/stribeck.perp", 10, 3.5e6, 5e-4},
                 {"examples/mechanics/slider_crank.perp", 2, 9e5, 3e-6},
                 {"examples/parts/rectifier.perp", 0.02, 2.2e6, 1e-10},
                 {"examples/parts/frictions.perp", 2, 8e6, 5e-4},
                 {"tests/data/events/woodpecker.perp", 0.1, 2.7e6, 1e-7}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perp_model *model = load_or_parse(cases[k].model);
        perp_simulation_options o = perp_simulation_options_default(model);
        perp_simulation *sim = refer(model, cases[k].to, 1e-5);
        perp_simulation *fine = run_to(model, PERP_RADAU7, cases[k].to, o.step / 4);
        double off = off_by(sim, fine, perp_model_count(model, PERP_STATE));
        print_message("%s: work %.2e, off %.2e\n", cases[k].model, perp__run_work(sim), off);
        assert_true(perp__run_work(sim) < cases[k].work && off < cases[k].off);
        assert_int_equal(perp_simulation_fallback_steps(sim, NULL), 0);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(fine);
        perp_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_tell_what_a_reference_lacks),
        cmocka_unit_test(events_of_references_are_found_in_few_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
