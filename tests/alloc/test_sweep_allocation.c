/* Memory: when any single allocation of a sweep fails, the call says so and leaks nothing. */

#include "failing_malloc.h"
#include "runs.h"
#include "unit.h"

static perp_status count(void *context, const perp_sweep_result *result)
{
    *(long *)context += result->status == PERP_OK;
    return PERP_OK;
}

/* What a user does; *said: create has said why it failed. */
static perp_status whole_story(const perp_model *model, long *done, int *said)
{
    static const char *const vary[] = {"m=1,2", "k=normal(1, 0.1)", "x=0:1"},
                             *const keep[] = {"final", "max(v)", "first(t where x = 0)"};
    perp_sweep_options o = perp_sweep_options_default();
    perp_sweep_run_options r = perp_sweep_run_options_default();
    perp_sweep *sweep = NULL;
    perp_diag diag = {0};
    o.vary = vary, o.nvary = 3, o.keep = keep, o.nkeep = 3, o.samples = 3;
    o.design = PERP_DESIGN_SOBOL;
    r.threads = 1;
    perp_status status = perp_sweep_create(model, &o, &sweep, &diag);
    *said = status == PERP_OK || diag.errors;
    if (status == PERP_OK) status = perp_sweep_run(sweep, &r, count, done);
    perp_sweep_destroy(sweep);
    perp_diag_clear(&diag);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    perp_model *model = parse_model("model spring\nparam m = 1, k = 1\nstate x = 1, v = 0\n"
                                    "der(x) = v\nm*der(v) = -k*x\nsimulate to 0.1 step 0.05\n");
    long done = 0;
    int said;
    allocations = 0;
    assert_int_equal(whole_story(model, &done, &said), PERP_OK);
    assert_int_equal(done, 6);
    long n = allocations, refused = 0;
    for (long k = 1; k <= n; k++) {
        long before = live;
        allocations = done = 0;
        fail_at = k;
        perp_status status = whole_story(model, &done, &said);
        fail_at = 0;
        if (!said) fail_msg("allocation %ld failed and nothing was said", k);
        if (status != PERP_OK && status != PERP_ERR_MEMORY)
            fail_msg("allocation %ld failed: %s", k, perp_status_name(status));
        if (status == PERP_OK && done != 6)
            fail_msg("allocation %ld failed: %ld jobs were verified", k, done);
        if (live != before) fail_msg("allocation %ld failed: %ld blocks leaked", k, live - before);
        refused += status != PERP_OK;
    }
    assert_true(refused > n / 2);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
