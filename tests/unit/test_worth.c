/* What estimates are worth: the intervals that are printed, and what is said to be open. */

#include "identify/identify.h"
#include "recorded.h"

static void students_quantiles_are_those_of_tables(void **state)
{
    (void)state;
    const struct {
        double confidence;
        long dof;
        double quantile;
    } cases[] = {{0.95, 1, 12.7062},   {0.95, 2, 4.30265},   {0.95, 3, 3.18245},
                 {0.95, 10, 2.22814},  {0.99, 1, 63.6567},   {0.999, 3, 12.9240},
                 {0.99, 4, 4.60409},   {0.5, 1, 1},          {0.95, 100, 1.98397},
                 {0.95, 120, 1.97993}, {0.99, 1000, 2.58075}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(perp__student_quantile(cases[i].confidence, cases[i].dof), cases[i].quantile,
                    1e-5 * cases[i].quantile);
}

/* x(0) = p^2 is the same at both ends of the range of p; a b is 0 where the model has both 0. */
static void initial_values_follow_parameters_however_written(void **state)
{
    (void)state;
    const char *square = "param p = 0.9 in [-1, 1]\nparam half = p/2\nstate x = 4*half^2\n"
                         "der(x) = -x\nsimulate to 1 step 0.01\n",
               *product = "param a = 0 in [0, 2], b = 0 in [0, 2]\nstate x = a*b, v = a\n"
                          "der(x) = -x\nder(v) = -v\nsimulate to 1 step 0.01\n";
    const char *const xv[] = {"x", "v"};
    perp_dataset *data = new_dataset();
    perp_model *model = parse_model(square), *truth = parse_model(square);
    set_value(truth, "p", 0.6);
    record(data, truth, 1, xv, 1, 0, NULL);
    perp_identification r = identify(model, data, NULL);
    assert_near(fabs(r.parameter[0].value), 0.6, 1e-6);
    assert_true(r.parameter[0].identifiable);
    perp_identification_clear(&r);
    perp_model_destroy(model);
    perp_dataset_destroy(data);

    data = new_dataset();
    model = parse_model(product), truth = parse_model(product);
    set_value(truth, "a", 0.6);
    set_value(truth, "b", 1.3);
    record(data, truth, 1, xv, 2, 0, NULL);
    r = identify(model, data, NULL);
    assert_near(r.parameter[0].value, 0.6, 1e-6);
    assert_near(r.parameter[1].value, 1.3, 1e-6);
    assert_true(r.parameter[1].identifiable);
    perp_identification_clear(&r);
    perp_model_destroy(model);
    perp_dataset_destroy(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_quantiles_are_those_of_tables),
        cmocka_unit_test(initial_values_follow_parameters_however_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
