/* Memory: when any single allocation fails, planning says so and leaks nothing. */

#include "failing_malloc.h"
#include "unit.h"

#include "perp/perp.h"

static const char text[] =
    "param mu = 0.6, m = 1\ninput F in [-40, 40]\nstate x = 0 in [-1, 2], v = 0\nvar f\n"
    "der(x) = v\nm*der(v) = F + f\n-mu*9.81 <= f <= mu*9.81 perp v\noutput e = m*v^2\n"
    "plan {\nhorizon free in [0.1, 4]\nphases 2\nnodes 5\nminimize time + 0.001*integral(F^2)\n"
    "free m in [1, 2]\nat start: v^2 <= 0.01\nat 50%: x = 1\nat end: x = 0, v = 0\n"
    "guess F = sin(t)\n}\n";
static const char phases[] =
    "param k = 2, s = 1\ninput u in [-9, 9]\nstate x = 0, v = 2*s\nder(x) = v\nder(v) = k*u\n"
    "plan {\nminimize integral(u^2 + abs(u))\nfree s in [0, 1]\nx + v <= 9\nphase a {\nhorizon "
    "1\nnodes "
    "3\nparam k = 1\n"
    "guess u = 1\nat end: x = 1\n}\nlink: v = -pre(v)\nphase b {\nhorizon free in [1, 2]\n"
    "nodes 3\n}\nat end: x = 0, v = 0\n}\n";
static const char far[] = "input u in [-1, 1]\nstate x = 0\nder(x) = u\n"
                          "plan {\nhorizon 1\nnodes 4\nat end: x = 3\n}\n";
static const char finer[] =
    "input u\nstate x = 0\nder(x) = u - x^3\n"
    "plan {\nhorizon 1\nnodes 4\nminimize integral(u^2)\nat end: x = 1\n}\n";

/* Switches are found to the last digits. */
static const char arcs[] = "input u in [-1, 1]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n"
                           "plan {\nhorizon free in [0.5, 9]\nnodes 5\ninputs held\nminimize time\n"
                           "at end: x = 1, v = 0\n}\n";

/* A stage that is large enough to be ordered. */
static const char wide[] =
    "input u\nstate x[8] = 0\nder(x[1]) = u\nfor i in 2..8 {\nder(x[i]) = x[i-1] - x[i]\n}\n"
    "plan {\nhorizon 1\nnodes 4\nmethod radau7\nminimize integral(u^2)\nat end: x[2] = 1\n}\n";

static const char cone[] =
    "input F[2] in [-9, 9]\nstate v[2] = [1, 0]\nvar f[2]\nder(v) = F + f\n"
    "friction(f = f, v = v, bound = 1, facets = exact)\n"
    "plan {\nhorizon 1\nnodes 4\nminimize integral(F[1]^2 + F[2]^2)\nat end: v = [0, 1]\n}\n";

/* Everything a user does; the first status that is not PERP_OK. */
typedef struct task {
    const char *text;
    perp_plan_outcome expected;
} task;

static perp_status plan_it(void *given, perp_diag *diag)
{
    const task *it = given;
    perp_model *model = NULL;
    perp_plan *plan = NULL;
    perp_plan_result result = {.size = sizeof result, .outcome = PERP_PLAN_LIMIT};
    perp_status status = perp_model_parse(it->text, strlen(it->text), "plan.perp", &model, diag);
    if (status == PERP_OK) {
        perp_plan_options o = perp_plan_options_default(model);
        if (o.nodes < 4) o.nodes = 4; /* memory was out when they were computed */
        o.restarts = 0;
        if (it->text == text) o.homotopy = "mu";
        if (it->text == cone) o.start = PERP_PLAN_START_RANDOM;
        if (it->text == finer || it->text == arcs) o.motion_tol = 3e-2;
        status = perp_plan_create(model, &o, &plan, diag);
    }
    if (status == PERP_OK) status = perp_plan_solve(plan, &result, diag);
    if (status == PERP_OK && !fail_at) assert_int_equal(result.on_mesh, it->expected);
    if (status == PERP_OK && result.on_mesh <= PERP_PLAN_STATIONARY_B) {
        double slope;
        status = perp_plan_find_multipliers(plan, diag);
        if (status == PERP_OK && it->text == text)
            status = perp_plan_cost_slope(plan, "mu", &slope, diag);
    }
    if (status == PERP_OK && perp_plan_holds(result.outcome)) {
        double state[8] = {0}, input[8];
        status = perp_plan_find_gains(plan, NULL, diag);
        if (status == PERP_OK) status = perp_plan_feedback(plan, 0, state, input);
    }
    if (status == PERP_OK && perp_plan_shift(plan, 1) == PERP_OK)
        status = perp_plan_iterate(plan, &result, diag);
    if (status == PERP_OK && perp_plan_shift(plan, 1) == PERP_OK)
        status = perp_plan_solve_again(plan, 0, &result, diag);
    if (status == PERP_OK) {
        double row[32];
        assert_true(perp_plan_columns(plan) <= 32);
        for (int k = 0; k < perp_plan_rows(plan); k++) perp_plan_row(plan, k, row);
        perp_model *phase = NULL;
        status = perp_plan_phase_model(plan, 1, &phase, diag);
        perp_model_destroy(phase);
        if (perp_plan_phases(plan) < 2 && status == PERP_ERR_ARG) status = PERP_OK;
    }
    perp_plan_destroy(plan);
    perp_model_destroy(model);
    return status;
}

/* A limit that is broken between nodes, a little. */
static const char limit[] =
    "model limit\ninput u in [-20, 20]\nstate x = 0, v = 1\nder(x) = v\nder(v) = u\n"
    "plan {\n horizon 1\n nodes 4\n method radau5\n minimize integral(u^2/2)\n"
    " x <= 1/9\n at end: x = 0, v = -1\n}\n";

static void fail_each(const char *model_text, perp_plan_outcome expected)
{
    task it = {model_text, expected};
    long k = 1;
    for (told t = {.reached = 1}; t.reached || t.status != PERP_OK;
         k += next_failure()) { /* or only a message was lost */
        t = tell(k, plan_it, &it);
        assert_true(k < 100000);
    }
    assert_true(k > 101);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    perp_diag diag = {0};
    task first = {text, PERP_PLAN_LOCAL_MINIMUM};
    assert_int_equal(plan_it(&first, &diag), PERP_OK);
    fail_each(text, PERP_PLAN_LOCAL_MINIMUM);
    fail_each(phases, PERP_PLAN_LOCAL_MINIMUM);
    fail_each(far, PERP_PLAN_LOCALLY_INFEASIBLE);
    fail_each(cone, PERP_PLAN_LOCAL_MINIMUM);
    fail_each(finer, PERP_PLAN_LOCAL_MINIMUM);
    fail_each(arcs, PERP_PLAN_LOCAL_MINIMUM);
    fail_each(limit, PERP_PLAN_GLOBAL);
    fail_each(wide, PERP_PLAN_GLOBAL);
    perp_diag_clear(&diag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return run_all(tests);
}
