/* Simulations of one model share its step problem, as long as what it is made of stays the same. */

#include "runs.h"
#include "simulate/run.h"
#include "outcomes.h"

static perp_simulation *create(const perp_model *m, double step)
{
    perp_simulation *sim;
    perp_diag diag = {0};
    perp_simulation_options o = perp_simulation_options_default(m);
    if (step > 0) o.step = step;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static const void *problem(const perp_simulation *sim)
{
    return sim->step.shared;
}

static perp_model *slider(void)
{
    return parse_model(
        "param m = 2, mu = 0.3, k = 3*m\nstate x = 0, v = 1\nvar f\ninput push = 4, pull = sin(t)\n"
        "der(x) = v\nm*der(v) = f + push - pull - k*x\n"
        "-mu*m <= f <= mu*m perp v\nsimulate to 1 step 0.01\n");
}

static void last_row(perp_simulation *sim, double *row)
{
    perp_diag diag = {0};
    assert_int_equal(simulation_run(sim, NULL, NULL, &diag), PERP_OK);
    perp_simulation_row(sim, row);
}

/* The run has the numbers of the same values set in a model that nothing was run of. */
static void expect_numbers(perp_simulation *sim, const char *name, double value)
{
    perp_model *m = slider();
    double row[2][8] = {{0}};
    if (name) set_value(m, name, value);
    perp_simulation *other = create(m, 0);
    last_row(sim, row[0]);
    last_row(other, row[1]);
    assert_memory_equal(row[0], row[1], sizeof row[0]);
    perp_simulation_destroy(other);
    perp_model_destroy(m);
}

static void the_same_problem_is_shared(void **state)
{
    perp_model *m = slider(), *copy;
    perp_simulation *a = create(m, 0), *b;
    (void)state;
    set_value(m, "x", 0.5); /* initial values are numbers of a simulation */
    b = create(m, 0);
    assert_ptr_equal(problem(a), problem(b));
    assert_int_equal(perp__model_clone(m, &copy), PERP_OK);
    perp_simulation_destroy(b);
    b = create(copy, 0);
    assert_ptr_equal(problem(a), problem(b));
    expect_numbers(b, "x", 0.5);
    perp_simulation_destroy(b);
    perp_model_destroy(copy);
    expect_numbers(a, NULL, 0);
    perp_simulation_destroy(a);
    perp_model_destroy(m);
}

static void what_is_made_of_other_values_is_not(void **state)
{
    static const struct {
        const char *name;
        double value;
    } change[] = {{"m", 3}, {"mu", 0.2}, {"k", 6}, {"push", 5}, {"pull", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        perp_model *m = slider();
        perp_simulation *before = create(m, 0);
        set_value(m, change[i].name, change[i].value);
        perp_simulation *after = create(m, 0);
        if (problem(before) == problem(after)) fail_msg("%s is no part of the key", change[i].name);
        expect_numbers(after, change[i].name, change[i].value);
        expect_numbers(before, NULL, 0); /* its problem lives on */
        perp_simulation_destroy(after);
        perp_simulation_destroy(before);
        perp_model_destroy(m);
    }
}

/* The length of a step is a number of the simulation. */
static void another_step_is_the_same_problem(void **state)
{
    perp_model *m = slider(), *other = slider();
    perp_simulation *a = create(m, 0), *b = create(m, 0.02), *alone = create(other, 0.02);
    double row[2][8] = {{0}};
    (void)state;
    assert_ptr_equal(problem(a), problem(b));
    last_row(b, row[0]);
    last_row(alone, row[1]);
    assert_memory_equal(row[0], row[1], sizeof row[0]);
    expect_numbers(a, NULL, 0);
    perp_simulation_destroy(a);
    perp_simulation_destroy(b);
    perp_simulation_destroy(alone);
    perp_model_destroy(m);
    perp_model_destroy(other);
}

static void another_method_is_another_problem(void **state)
{
    perp_model *m = slider();
    perp_simulation *a = create(m, 0), *b, *c;
    perp_simulation_options o = perp_simulation_options_default(m);
    perp_diag diag = {0};
    (void)state;
    o.integrator = PERP_THETA;
    assert_int_equal(perp_simulation_create(m, &o, &c, &diag), PERP_OK);
    assert_ptr_not_equal(problem(a), problem(c));
    o.theta = 0.7;
    assert_int_equal(perp_simulation_create(m, &o, &b, &diag), PERP_OK);
    assert_ptr_not_equal(problem(b), problem(c));
    expect_numbers(a, NULL, 0);
    perp_simulation_destroy(a);
    perp_simulation_destroy(b);
    perp_simulation_destroy(c);
    perp_model_destroy(m);
}

/* A table in the place of a number is other unknown data of the step. */
static void an_input_table_makes_another_problem(void **state)
{
    perp_model *m = slider();
    perp_simulation *a = create(m, 0);
    perp_symbol_kind kind;
    int i;
    double time[] = {0, 1}, value[] = {4, 4};
    (void)state;
    assert_true(perp_model_find(m, "push", &kind, &i));
    assert_true(perp__item_set_table(&m->item[PERP_INPUT][i], time, value, 2, "t"));
    perp_simulation *b = create(m, 0);
    assert_ptr_not_equal(problem(a), problem(b));
    expect_numbers(a, NULL, 0);
    perp_simulation_destroy(a);
    perp_simulation_destroy(b);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_problem_is_shared),
                                       cmocka_unit_test(what_is_made_of_other_values_is_not),
                                       cmocka_unit_test(another_step_is_the_same_problem),
                                       cmocka_unit_test(another_method_is_another_problem),
                                       cmocka_unit_test(an_input_table_makes_another_problem)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
