/* What a plan block can say besides equations and bounds: each statement beside a plan whose optimum is known. */

#include "runs.h"

/* The plan of a model by a method; the caller destroys it with its model. */
static perp_plan *plan_by(perp_model *m, perp_plan_method method, perp_plan_result *r)
{
    perp_diag diag = {0};
    perp_plan *plan;
    perp_plan_options o = perp_plan_options_default(m);
    o.method = method;
    if (perp_plan_create(m, &o, &plan, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_plan_solve(plan, r, &diag), PERP_OK);
    if (!perp_plan_holds(r->outcome)) fail_msg("%s", perp_diag_text(&diag));
    assert_true(r->defect <= 1e-8 && r->conditions <= 1e-8 && r->bounds <= 1e-8);
    perp_diag_clear(&diag);
    return plan;
}

static void free_plan(perp_plan *plan, perp_model *m)
{
    perp_plan_destroy(plan);
    perp_model_destroy(m);
}

/* A model whose input `ref` is a table with these rows. */
static perp_model *with_table(const char *text, const char *rows)
{
    perp_trajectory *table;
    perp_model *m = parse_model(text);
    assert_int_equal(perp_trajectory_parse(rows, strlen(rows), "rows", &table, NULL), PERP_OK);
    assert_int_equal(perp_model_set_input_table(m, "ref", table, NULL, "rows.csv", NULL), PERP_OK);
    perp_trajectory_destroy(table);
    return m;
}

static void refused(perp_model *m, const char *message)
{
    perp_diag diag = {0};
    perp_plan *plan;
    assert_int_equal(perp_plan_create(m, NULL, &plan, &diag), PERP_ERR_MODEL);
    if (!strstr(perp_diag_text(&diag), message)) fail_msg("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_model_destroy(m);
}

#define CART "input u in [-2, 2]\nstate x = 0, v = 0\nder(x) = v\nder(v) = u\n"
#define ROWS "t,ref\n0,0\n1,1\n2,0.5\n4,2\n"
#define TRACK(horizon, more)                                                                       \
    CART "plan {\n" horizon "\nnodes 41\nminimize integral((x - ref)^2 + 0.01*u^2)" more "\n"

/* A table is the function that it draws, in every method, whether the plan's length is given or chosen. */
static void a_table_is_followed(void **state)
{
    (void)state;
    static const perp_plan_method by[] = {PERP_PLAN_BACKWARD_EULER, PERP_PLAN_THETA,
                                          PERP_PLAN_RADAU5};
    static const char *const plan[] = {TRACK("horizon 4", ""),
                                       TRACK("horizon free in [1, 6]", " - time")};
    for (int i = 0; i < 6; i++) {
        perp_plan_result r[2];
        for (int k = 0; k < 2; k++) {
            char text[1024];
            snprintf(text, sizeof text, "input ref = %s\n%s%s}\n",
                     k ? "t - 1.5*max(0, t - 1) + 1.25*max(0, t - 2)" : "0", plan[i / 3],
                     k && i >= 3 ? "t <= 4\n" : ""); /* where the table ends */
            perp_model *m = k ? parse_model(text) : with_table(text, ROWS);
            free_plan(plan_by(m, by[i % 3], &r[k]), m);
        }
        assert_near(r[0].cost, r[1].cost, 1e-7);
        assert_near(r[0].horizon, i < 3 ? 4 : r[1].horizon, 1e-6);
        assert_true(i >= 3 || r[0].outcome == PERP_PLAN_GLOBAL);
    }
}

static void a_table_that_is_too_short_is_named(void **state)
{
    (void)state;
    refused(with_table("input ref = 0\n" TRACK("horizon 5", "") "}\n", ROWS),
            "test.perp:1:7: the table of 'ref' ends at t = 4, the plan at 5");
    refused(with_table("input ref = 0\n" TRACK("horizon 3", "") "}\n", "t,ref\n1,0\n5,1\n"),
            "test.perp:1:7: the table of 'ref' begins at t = 1, the plan at 0");
    refused(
        with_table("input ref = 0\n" TRACK("horizon 3", "") "}\n", "# held ref\nt,ref\n0,0\n5,1\n"),
        "is in pieces");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_followed),
        cmocka_unit_test(a_table_that_is_too_short_is_named),
    };
    return run_all(tests);
}
