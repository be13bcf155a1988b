/* Memory: when any single allocation of a sweep fails, the call says so and leaks nothing. */

#include "failing_malloc.h"
#include "runs.h"
#include "unit.h"

static perp_status count(void *context, const perp_sweep_result *result)
{
    *(long *)context += result->status == PERP_OK;
    return PERP_OK;
}

typedef struct task {
    const perp_model *model;
    const perp_dataset *data; /* of identifications */
    perp_sweep_task task;
    long done;
    int said; /* create has said why it failed */
} task;

/* What a user does. */
static perp_status whole_story(void *given, perp_diag *diag)
{
    task *it = given;
    static const char *const vary[] = {"m=1,2", "k=normal(1, 0.1)", "x=0:1"},
                             *const keep[] = {"final", "max(v)", "first(t where x = 0)"};
    const int is_run = it->task == PERP_SWEEP_SIMULATE;
    perp_sweep_options o = perp_sweep_options_default();
    perp_sweep_run_options r = perp_sweep_run_options_default();
    perp_sweep *sweep = NULL;
    it->done = 0;
    o.task = it->task, o.data = it->data;
    o.vary = vary, o.nvary = is_run ? 3 : 1, o.keep = keep, o.nkeep = is_run ? 3 : 0, o.samples = 3;
    o.design = PERP_DESIGN_SOBOL;
    r.threads = 1;
    perp_status status = perp_sweep_create(it->model, &o, &sweep, diag);
    it->said = status == PERP_OK || diag->errors;
    if (status == PERP_OK) status = perp_sweep_run(sweep, &r, count, &it->done);
    perp_sweep_destroy(sweep);
    return status;
}

/* Fail each allocation in turn; `jobs` are verified where none fails. */
static void fail_each(task it, long jobs)
{
    perp_diag diag = {0};
    long n = 0, refused = 0;
    assert_int_equal(whole_story(&it, &diag), PERP_OK); /* the model keeps what all share */
    assert_int_equal(it.done, jobs);
    for (told t = {.reached = 1}; t.reached; refused += t.status != PERP_OK) {
        t = tell(++n, whole_story, &it);
        if (!it.said) fail_msg("allocation %ld failed and nothing was said", n);
        if (t.status == PERP_OK && it.done != jobs)
            fail_msg("allocation %ld failed: %ld jobs were verified", n, it.done);
    }
    assert_true(refused > n / 2);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    perp_model *model = parse_model("model spring\nparam m = 1, k = 1\nstate x = 1, v = 0\n"
                                    "der(x) = v\nm*der(v) = -k*x\nsimulate to 0.1 step 0.05\n");
    fail_each((task){.model = model}, 6);
    perp_model_destroy(model);
}

static void also_of_identifications(void **state)
{
    (void)state;
    static const char csv[] = "t,x\n0,0\n0.5,1\n1,2\n";
    perp_model *model =
        parse_model("model line\nparam k = 1 in [0, 9], m = 1\nstate x = 0\nder(x) = m*k\n"
                    "identify {\n estimate k\n measure x noise 0.1\n}\n"
                    "simulate to 1 step 0.5 method backward-euler\n");
    perp_trajectory *recorded;
    perp_dataset *data;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "line.csv", &recorded, NULL), PERP_OK);
    assert_int_equal(perp_dataset_create(&data), PERP_OK);
    assert_int_equal(perp_dataset_add(data, recorded, "line.csv", NULL), PERP_OK);
    fail_each((task){.model = model, .data = data, .task = PERP_SWEEP_IDENTIFY}, 2);
    perp_dataset_destroy(data);
    perp_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(also_of_identifications)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
