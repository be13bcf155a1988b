/* A simulation whose parameters are varied takes the same steps, to the last bit, as one made for their new values. */

#include "runs.h"
#include "simulate/step.h"
#include "outcomes.h"

enum { MOST = 32, STEPS = 60, MOST_NUMBERS = 60 * 400 };

/* The model's parameters that are numbers, neither 0 nor 1, which shape no formula. */
static int plain_parameters(const perp_model *m, const char **name)
{
    int n = 0;
    for (int i = 0; i < perp_model_count(m, PERP_PARAM) && n < MOST; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        if (item->is_structural || m->graph.node[item->expr].op != PERP__CONST) continue;
        if (item->value != 0 && fabs(item->value) != 1) name[n++] = item->name;
    }
    return n;
}

static void take_steps(perp_simulation *sim, int n, double *row)
{
    perp_diag diag = {0};
    int columns = perp_simulation_columns(sim);
    for (int k = 0; k < n; k++) {
        if (simulation_step(sim, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        perp_simulation_row(sim, row + (size_t)k * (size_t)columns);
    }
}

static perp_simulation *create(const perp_model *m, perp_integrator integrator, int n,
                               const char *const *name)
{
    perp_simulation *sim;
    perp_diag diag = {0};
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = integrator;
    o.parameter = name;
    o.nparameter = n;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

/* The steps of `varied`, whose parameters are new now, against those of a simulation made for them. */
static void expect_steps(const char *example, perp_simulation *varied, perp_simulation *made,
                         int few)
{
    perp_diag diag = {0};
    int columns = perp_simulation_columns(varied);
    double *row = malloc(2 * STEPS * (size_t)columns * sizeof *row), *other = row + STEPS * columns;
    assert_non_null(row);
    if (perp__simulation_revalue(varied, 0, perp_simulation_steps(varied), &diag) != PERP_OK)
        fail_msg("%s: %s", example, perp_diag_text(&diag));
    take_steps(varied, few, row);
    take_steps(made, few, other);
    for (int k = 0; k < few * columns; k++)
        if (memcmp(row + k, other + k, sizeof *row) != 0)
            fail_msg("%s: step %d, %s: %.17g where a new simulation has %.17g", example,
                     k / columns + 1, perp_simulation_column_name(made, k % columns), row[k],
                     other[k]);
    perp_simulation_destroy(made);
    free(row);
}

/* Against one whose parameters can be varied, too; and where the sums of the formulas keep their order when parameters are numbers in
 * them, against one without. */
static void compare(const char *example, perp_integrator integrator)
{
    perp_model *m = load_model(example);
    const char *name[MOST];
    int n = plain_parameters(m, name), keeps = strcmp(example, "mechanics/table.perp") != 0;
    perp_simulation *varied = create(m, integrator, n, name);
    long steps = perp_simulation_steps(varied);
    int few = steps < STEPS ? (int)steps : STEPS;
    double row[MOST_NUMBERS];
    assert_true(n > 0 && perp_simulation_columns(varied) * few <= MOST_NUMBERS);
    take_steps(varied, few, row);
    for (int i = 0; i < n; i++) {
        perp_symbol_kind kind;
        int at;
        assert_true(perp_model_find(m, name[i], &kind, &at));
        set_value(m, name[i], perp_model_symbol(m, PERP_PARAM, at).value * 1.01);
    }
    expect_steps(example, varied, create(m, integrator, n, name), few);
    if (keeps) expect_steps(example, varied, create(m, integrator, 0, NULL), few);
    perp_simulation_destroy(varied);
    perp_model_destroy(m);
}

static void new_values_give_the_steps_of_a_new_simulation(void **state)
{
    static const char *const example[] = {
        "notes/particle.perp",    "blog/particle.perp",     "notes/sliding_mixed.perp",
        "mechanics/square.perp",  "mechanics/cube.perp",    "mechanics/stribeck.perp",
        "mechanics/chain.perp",   "mechanics/disc.perp",    "mechanics/slider_crank.perp",
        "mechanics/table.perp",   "mechanics/incline.perp", "circuits/diode_bridge.perp",
        "mechanics/conveyor.perp"};
    (void)state;
    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        compare(example[i], PERP_BACKWARD_EULER);
        compare(example[i], PERP_THETA);
    }
}

static void a_restart_forgets_the_steps_before_it(void **state)
{
    perp_model *m = load_model("mechanics/square.perp");
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER, 0, NULL);
    size_t n = (size_t)(300 * perp_simulation_columns(sim));
    double *row = malloc(2 * n * sizeof *row);
    (void)state;
    assert_non_null(row);
    take_steps(sim, 300, row);
    perp__simulation_restart(sim, 0, 300);
    take_steps(sim, 300, row + n);
    assert_memory_equal(row, row + n, n * sizeof *row);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    free(row);
}

/* A value with which a simulation cannot be created is refused in the same words, and the next value runs. */
static void values_are_checked_as_at_creation(void **state)
{
    perp_model *m = parse_model("model m\n"
                                "param k = 2\n"
                                "state x = 1\n"
                                "der(x) = -sqrt(k)*x\n"
                                "simulate to 1 step 0.1\n");
    const char *name[] = {"k"};
    perp_diag diag = {0}, wanted = {0};
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER, 1, name), *none;
    double row[3];
    (void)state;
    set_value(m, "k", -1);
    assert_int_equal(perp_simulation_create(m, NULL, &none, &wanted), PERP_ERR_MODEL);
    assert_int_equal(perp__simulation_revalue(sim, 0, 10, &diag), PERP_ERR_MODEL);
    assert_string_equal(perp_diag_text(&diag), perp_diag_text(&wanted));
    set_value(m, "k", 4);
    assert_int_equal(perp__simulation_revalue(sim, 0, 10, &diag), PERP_OK);
    take_steps(sim, 1, row);
    assert_true(near(row[1], 1 / 1.2, 1e-12));
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    perp_diag_clear(&diag);
    perp_diag_clear(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_values_give_the_steps_of_a_new_simulation),
        cmocka_unit_test(a_restart_forgets_the_steps_before_it),
        cmocka_unit_test(values_are_checked_as_at_creation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
