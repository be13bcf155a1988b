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

/* The last row's column; the plan's first row's. */
static double at_end(const perp_plan *plan, int column)
{
    double row[32];
    perp_plan_row(plan, perp_plan_rows(plan) - 1, row);
    return row[column];
}

static double at_start(const perp_plan *plan, int column)
{
    double row[32];
    perp_plan_row(plan, 0, row);
    return row[column];
}

/* A plan that ends as it begins is the same with start(x) and with free parameters at both ends. */
static void a_plan_may_end_as_it_begins(void **state)
{
    (void)state;
    static const char *const said[] = {
        "free x\nfree v\nat end: x = start(x), v = start(v)\n",
        "free a\nfree b\nat start: x = a, v = b\nat end: x = a, v = b\n",
        "free x\nfree v\nat start: x = end(x), v = end(v)\n"};
    double cost[3];
    for (int i = 0; i < 3; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "param a = 0, b = 0\ninput u\nstate x = 0, v = 0\nder(x) = v\n"
                 "der(v) = u - x\nplan {\nhorizon 3\nnodes 31\nmethod radau3\n"
                 "minimize integral(u^2)\nat 50%%: x = 1\n%s}\n",
                 said[i]);
        perp_model *m = parse_model(text);
        perp_plan_result r;
        perp_plan *plan = plan_by(m, PERP_PLAN_RADAU3, &r);
        for (int c = 1; c <= 2; c++) assert_near(at_start(plan, c), at_end(plan, c), 1e-7);
        cost[i] = r.cost;
        assert_int_equal(r.on_mesh, PERP_PLAN_GLOBAL);
        free_plan(plan, m);
    }
    assert_near(cost[1], cost[0], 1e-9);
    assert_near(cost[2], cost[0], 1e-9);
}

/* start(x) is where the plan begins now, also in a control loop and on a finer mesh. */
static void the_start_is_that_of_the_solve(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("input u\nstate x = 0.3, v = 0\nder(x) = v\nder(v) = u\nplan {\n"
                    "horizon 1\nnodes 5\nmethod radau3\nminimize integral(u^2)\n"
                    "at end: x - start(x) = 1 + start(v^2), v = 0\nx <= end(x) + 0.5\n}\n");
    perp_plan_options o = perp_plan_options_default(m);
    perp_plan_result r;
    perp_plan *plan;
    o.motion_tol = 1e-6;
    assert_int_equal(perp_plan_create(m, &o, &plan, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_near(at_end(plan, 1), 1.3, 1e-9);
    assert_near(r.cost, 12, 1e-5);
    assert_int_equal(perp_plan_set_state(plan, 0, 2, NULL), PERP_OK);
    assert_int_equal(perp_plan_set_state(plan, 1, -1, NULL), PERP_OK);
    assert_int_equal(perp_plan_solve(plan, &r, NULL), PERP_OK);
    assert_true(perp_plan_holds(r.outcome));
    assert_near(at_end(plan, 1), 4, 1e-9);
    free_plan(plan, m);
}

/* What is minimised at a node is what a phase minimises at its end; a power of time is that of t at the end. */
static void costs_stand_at_nodes(void **state)
{
    (void)state;
    static const char *const said[][2] = {
        {"horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(50%, (x - 1)^2)\n",
         "phase a {\nhorizon 1\nnodes 11\nminimize 100*end((x - 1)^2)\n}\nphase b {\nhorizon 1\n"
         "nodes 11\n}\nminimize integral(u^2)\n"},
        {"horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(t = 1, (x - 1)^2)\n",
         "horizon 2\nnodes 21\nminimize integral(u^2) + 100*at(50%, (x - 1)^2)\n"},
        {"horizon 2\nnodes 21\nfree v\nminimize integral(u^2) + 3*at(start, v^2)\n",
         "horizon 2\nnodes 21\nfree v\nminimize integral(u^2) + 3*end(start(v)^2)\n"},
        {"horizon free in [0.5, 9]\nnodes 21\nminimize 2*time^2 + integral(u^2)\n",
         "horizon free in [0.5, 9]\nnodes 21\nminimize 2*end(t^2) + integral(u^2)\n"},
        {"horizon 3\nnodes 21\nminimize 2*time^2 + integral(u^2)\n",
         "horizon 3\nnodes 21\nminimize 18*end(1) + integral(u^2)\n"},
        {"phases 2\nhorizon free in [0.5, 9]\nnodes 21\nminimize time^3 + integral(u^2)\n",
         "phases 2\nhorizon free in [0.5, 9]\nnodes 21\nminimize end(t^3) + integral(u^2)\n"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        perp_plan_result r[2];
        for (int k = 0; k < 2; k++) {
            char text[1024];
            snprintf(text, sizeof text, CART "plan {\n%sat end: x = 2, v = 0\n}\n", said[i][k]);
            perp_model *m = parse_model(text);
            free_plan(plan_by(m, PERP_PLAN_RADAU3, &r[k]), m);
        }
        assert_near(r[0].cost, r[1].cost, 1e-6 * r[1].cost);
    }
}

/* 1 m from rest to rest by |u| <= 2 where u changes by at most 3 a second: 2 for 0.1384 s, then down to -2, and so on: 1.61020 s.
 * From u = 0: T^3 = 32/3 where u just does not reach 2. */
static void an_input_may_be_bounded_in_its_rate(void **state)
{
    (void)state;
    static const perp_plan_method by[] = {PERP_PLAN_BACKWARD_EULER, PERP_PLAN_THETA,
                                          PERP_PLAN_RADAU3};
    for (int i = 0; i < 6; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 CART "plan {\nhorizon free in [0.5, 9]\nnodes 121\nminimize time\n%s"
                      "at end: x = 1, v = 0%s\n%s-3 <= (u - pre(u))/h <= 3\n}\n",
                 i % 3 == 2 ? "inputs held\n" : "", i < 3 ? "" : ", u = 0",
                 i < 3 ? "" : "at start: u = 0\n");
        perp_model *m = parse_model(text);
        perp_plan_result r;
        perp_plan *plan = plan_by(m, by[i % 3], &r);
        assert_near(r.cost, i < 3 ? 1.6102 : cbrt(32.0 / 3), i % 3 == 1 ? 1e-3 : 0.03);
        free_plan(plan, m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_may_end_as_it_begins),
        cmocka_unit_test(the_start_is_that_of_the_solve),
        cmocka_unit_test(costs_stand_at_nodes),
        cmocka_unit_test(an_input_may_be_bounded_in_its_rate),
        cmocka_unit_test(a_table_is_followed),
        cmocka_unit_test(a_table_that_is_too_short_is_named),
    };
    return run_all(tests);
}
