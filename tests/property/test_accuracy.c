/* How far runs are from the motion: by the method that fits a model, against much finer runs that locate events. */

#include "runs.h"

#include <math.h>

static const char pendulum[] = "state th = 2, w = 0\nder(th) = w\nder(w) = -9.81*sin(th)\n";

/* The file of a name with a slash; else a text. */
static perp_model *load(const char *what)
{
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    if (!strstr(what, ".perp")) return parse_model(what);
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, what);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static perp_simulation *run_to(const perp_model *model, perp_integrator by, double to, double step)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = by, o.to = to, o.step = step;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK ||
        perp_simulation_run(sim, NULL, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

/* The largest difference of a state at the end. */
static double distance(const perp_model *model, const perp_simulation *a, const perp_simulation *b)
{
    double largest = 0;
    for (int i = 0; i < perp_model_count(model, PERP_STATE); i++)
        largest = fmax(largest, fabs(perp_simulation_state(a, i) - perp_simulation_state(b, i)));
    return largest;
}

static void the_method_that_fits_is_right_to_a_thousandth(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double to;
    } cases[] = {{"bench/scenes/double_pendulum.perp", 3},
                 {"bench/scenes/fourbar.perp", 5},
                 {pendulum, 10},
                 {"examples/mechanics/stribeck.perp", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load(cases[i].model);
        perp_integrator by = perp_simulation_recommend(model);
        perp_simulation *sim = run_to(model, by, cases[i].to, 1e-3);
        perp_simulation *fine = run_to(model, PERP_RADAU7, cases[i].to, 4e-4);
        double off = distance(model, sim, fine);
        if (!(off < 1e-3)) fail_msg("case %zu: off by %g", i, off);
        perp_simulation_destroy(sim);
        perp_simulation_destroy(fine);
        perp_model_destroy(model);
    }
}

/* Where it cannot be had, or is too dear, another is: cones, conditions that read h, many pairs, many unknowns. */
static void the_method_that_fits_is_one_that_can_be_had(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        perp_integrator fits;
    } cases[] = {
        {pendulum, PERP_RADAU5},
        {"state x = 1, v = 0\nvar p\nder(x) = v\nder(v) = p - 9.81\n0 <= p perp x >= 0\n",
         PERP_RADAU5},
        {"state x = 1\nder(x) = -x*h\n", PERP_THETA},
        {"state x = 1\nvar p\nder(x) = p\n0 <= p perp x + h*p >= 0\n", PERP_BACKWARD_EULER},
        {"param n = 201\nstate x[n] = 1\nder(x) = -x\n", PERP_THETA},
        {"param n = 13\nstate x[n] = 1\nvar p[n]\nder(x) = p - 1\n0 <= p perp x >= 0\n",
         PERP_BACKWARD_EULER},
        {"state x = 1\nnext(x) = x/2\n", PERP_BACKWARD_EULER},
        {"examples/mechanics/plane.perp", PERP_BACKWARD_EULER},
        {"examples/control/bounce.perp", PERP_BACKWARD_EULER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perp_model *model = load(cases[i].model);
        perp_integrator by = perp_simulation_recommend(model);
        if (by != cases[i].fits) fail_msg("case %zu: %s", i, perp_integrator_name(by));
        perp_model_destroy(model);
    }
    assert_int_equal(perp_simulation_recommend(NULL), PERP_BACKWARD_EULER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_method_that_fits_is_right_to_a_thousandth),
        cmocka_unit_test(the_method_that_fits_is_one_that_can_be_had)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
