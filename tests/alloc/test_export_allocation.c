/* Memory: when any single allocation of an export fails, the call says so and leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/export.h"

static perp_status whole_story(void *given, perp_diag *diag)
{
    static const char text[] = "use \"friction\"\nparam m = 1 \"kg\", n = 2*m\ninput F \"N\"\n"
                               "state x = 0 \"m\"\nder(x) = F/n\noutput y = x\n"
                               "simulate to 1 step 0.1\n";
    perp_model *model = NULL;
    perp_fmu_options o = perp_fmu_options_default();
    (void)given;
    o.library = PERP_SOURCE_DIR "/README.md"; /* any file */
    perp_status status = perp_model_parse(text, sizeof text - 1, "m.perp", &model, diag);
    if (status == PERP_OK) status = perp_model_set(model, "m", 2, diag);
    if (status == PERP_OK) status = perp_export_fmu(model, &o, "/dev/null", diag);
    perp_model_destroy(model);
    return status;
}

static perp_status code_story(void *given, perp_diag *diag)
{
    static const char text[] = "param m = 1, n = 2*m\ninput F = 2*t\nstate x = 0, v = n\nvar f\n"
                               "der(x) = v\nm*der(v) = F + f - x*abs(v)\n-1 <= f <= 1 perp v\n"
                               "simulate to 1 step 0.1 method backward-euler\n";
    perp_model *model = NULL;
    perp_status status = perp_model_parse(text, sizeof text - 1, "m.perp", &model, diag);
    (void)given;
    if (status == PERP_OK) status = perp_export_c(model, NULL, "/proc/none", NULL, diag);
    if (status == PERP_ERR_FILE) status = PERP_OK, perp_diag_clear(diag); /* all but the files */
    perp_model_destroy(model);
    return status;
}

static perp_status conditions_story(void *given, perp_diag *diag)
{
    static const char text[] = "param m = 1, n = 2*m\ninput F = 2*t\nstate x = 0, v = n\nvar f\n"
                               "der(x) = v\nm*der(v) = F + f - x*abs(v)\n-1 <= f <= 1 perp v\n";
    perp_model *model = NULL;
    perp_status status = perp_model_parse(text, sizeof text - 1, "m.perp", &model, diag);
    (void)given;
    if (status == PERP_OK) status = perp_export_casadi(model, NULL, "/dev/null", NULL, diag);
    perp_model_destroy(model);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(tell_each(whole_story, NULL, 1) > 50);
    assert_true(tell_each(code_story, NULL, 1) > 100);
    assert_true(tell_each(conditions_story, NULL, 1) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing)};
    return run_all(tests);
}
