/* Options between a program and a library of another version: every engine reads what the program has, fills in what it
 * has not, and refuses what the library does not know. */

#include "unit.h"

#include "perp/perp.h"
#include "outcomes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SLIDE                                                                                      \
    "param m = 1 in [0.5, 2]\nstate v = 1\nvar F\nm*der(v) = F\nF = -v\nsimulate to 0.2 step "     \
    "0.1\n"
#define CART                                                                                       \
    "input u in [-9, 9]\nstate v = 0\nder(v) = u\nplan {\n horizon 1\n nodes 5\n minimize "        \
    "integral(u^2)\n at end: v = 1\n}\n"

static perp_model *load(const char *text)
{
    perp_model *model;
    perp_diag diag = {0};
    if (perp_model_parse(text, strlen(text), "test.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static perp_dataset *measured(void)
{
    static const char csv[] = "t,v\n0,1\n0.1,0.9\n0.2,0.82\n";
    perp_trajectory *table;
    perp_dataset *data;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "d.csv", &table, NULL), PERP_OK);
    assert_int_equal(perp_dataset_create(&data), PERP_OK);
    assert_int_equal(perp_dataset_add(data, table, "d.csv", NULL), PERP_OK);
    return data;
}

static const perp_model *slide, *cart;
static const perp_dataset *data;

/* What a call with these options says ------------------------------------------------------------- */

static perp_status lcp(const void *options)
{
    perp_lcp_solver *s;
    perp_status status = perp_lcp_solver_create(PERP_LCP_AUTO, 3, options, &s);
    perp_lcp_solver_destroy(s);
    return status;
}

static perp_status batch(const void *options)
{
    perp_lcp_batch_solver *s;
    perp_status status = perp_lcp_batch_solver_create(PERP_LCP_LEMKE, 3, 1, options, &s);
    perp_lcp_batch_solver_destroy(s);
    return status;
}

static perp_status fc(const void *options)
{
    perp_fc shape = {.dimension = 3, .nc = 2};
    perp_fc_solver *s;
    perp_status status = perp_fc_solver_create(PERP_FC_AUTO, &shape, options, &s);
    perp_fc_solver_destroy(s);
    return status;
}

static perp_status mcp(const void *options)
{
    perp_mcp shape = {.n = 2};
    perp_mcp_solver *s;
    perp_status status = perp_mcp_solver_create(PERP_MCP_AUTO, &shape, options, &s);
    perp_mcp_solver_destroy(s);
    return status;
}

static perp_status simulation(const void *options)
{
    perp_simulation *s;
    perp_status status = perp_simulation_create(slide, options, &s, NULL);
    perp_simulation_destroy(s);
    return status;
}

static perp_status check(const void *options)
{
    perp_check_report report = {.size = sizeof report};
    return perp_check(slide, options, &report, NULL);
}

static perp_status plan(const void *options)
{
    perp_plan *p;
    perp_status status = perp_plan_create(cart, options, &p, NULL);
    perp_plan_destroy(p);
    return status;
}

static perp_status identify(const void *options)
{
    perp_identification a = {.size = sizeof a};
    perp_status status = run_identify(slide, data, options, &a, NULL);
    perp_identification_clear(&a);
    return status;
}

static perp_status report(const void *options, perp_status (*write)(const perp_report_run *, int,
                                                                    const perp_report_options *,
                                                                    const char *, perp_diag *))
{
    static const char csv[] = "t,v\n0,1\n0.1,0.9\n";
    perp_trajectory *table;
    assert_int_equal(perp_trajectory_parse(csv, strlen(csv), "d.csv", &table, NULL), PERP_OK);
    perp_report_run run = {"d", table, NULL, NULL};
    perp_status status = write(&run, 1, options, "/dev/null", NULL);
    perp_trajectory_destroy(table);
    return status;
}

static perp_status svg(const void *options)
{
    return report(options, perp_report_write_svg);
}

static perp_status html(const void *options)
{
    return report(options, perp_report_write_html);
}

/* The options as they are filled, and a field that a program of an earlier version may have had last. */
static void fill(int engine, void *options, size_t size)
{
    switch (engine) {
    case 0: perp_lcp_options_fill(options, size, PERP_LCP_AUTO); break;
    case 1: perp_fc_options_fill(options, size); break;
    case 2: perp_mcp_options_fill(options, size); break;
    case 3: perp_simulation_options_fill(options, size, slide); break;
    case 4: perp_plan_options_fill(options, size, cart); break;
    case 5: perp_identify_options_fill(options, size, slide, NULL); break;
    case 6: perp_report_options_fill(options, size); break;
    default: fail();
    }
}

static const struct {
    perp_status (*call)(const void *options);
    int engine;
    size_t size, early;
} calls[] = {
    {lcp, 0, sizeof(perp_lcp_options), offsetof(perp_lcp_options, psor)},
    {batch, 0, sizeof(perp_lcp_options), offsetof(perp_lcp_options, prox)},
    {fc, 1, sizeof(perp_fc_options), offsetof(perp_fc_options, newton)},
    {mcp, 2, sizeof(perp_mcp_options), offsetof(perp_mcp_options, max_iter)},
    {simulation, 3, sizeof(perp_simulation_options), offsetof(perp_simulation_options, theta)},
    {check, 3, sizeof(perp_simulation_options), offsetof(perp_simulation_options, tol)},
    {plan, 4, sizeof(perp_plan_options), offsetof(perp_plan_options, theta)},
    {identify, 5, sizeof(perp_identify_options), offsetof(perp_identify_options, derivatives)},
    {svg, 6, sizeof(perp_report_options), offsetof(perp_report_options, max_rows)},
    {html, 6, sizeof(perp_report_options), offsetof(perp_report_options, max_rows)},
};

static void every_engine_takes_options_of_other_versions(void **state)
{
    (void)state;
    enum { MORE = 24 };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t size = calls[i].size;
        if (calls[i].call == html && !perp_report_has_page()) continue;
        char *o = malloc(size + MORE);
        assert_non_null(o);
        memset(o, 0x55, size + MORE);
        fill(calls[i].engine, o, size);
        assert_int_equal(o[size], 0x55); /* no byte beyond what the caller has */
        assert_int_equal(calls[i].call(o), PERP_OK);
        assert_int_equal(calls[i].call(NULL), PERP_OK);

        memset(o, 0x55, size + MORE);
        fill(calls[i].engine, o, calls[i].early); /* a program of an earlier version */
        for (size_t k = calls[i].early; k < size; k++) assert_int_equal(o[k], 0x55);
        assert_int_equal(calls[i].call(o), PERP_OK);

        fill(calls[i].engine, o, size + MORE); /* of a later one */
        assert_int_equal(o[size + MORE - 1], 0);
        assert_int_equal(calls[i].call(o), PERP_OK);
        o[size + MORE - 1] = 1; /* which asks for what this library does not know */
        assert_int_equal(calls[i].call(o), PERP_ERR_ARG);

        memset(o, 0, size); /* filled by no default */
        assert_int_equal(calls[i].call(o), PERP_ERR_ARG);
        memset(o, 0x55, size);
        assert_int_equal(calls[i].call(o), PERP_ERR_ARG);
        free(o);
    }
}

/* A field that is set is read, also by a caller whose struct is short. */
static void what_is_set_is_read(void **state)
{
    (void)state;
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    o.tol = 1; /* out of range */
    assert_int_equal(lcp(&o), PERP_ERR_ARG);
    o.size = offsetof(perp_lcp_options, max_iter);
    assert_int_equal(lcp(&o), PERP_ERR_ARG);
    o.size = offsetof(perp_lcp_options, tol);
    assert_int_equal(lcp(&o), PERP_OK); /* not the caller's */
    perp_plan_options p = perp_plan_options_default(cart);
    p.theta = 7;
    assert_int_equal(plan(&p), PERP_ERR_ARG);
    p.size = offsetof(perp_plan_options, theta);
    assert_int_equal(plan(&p), PERP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_takes_options_of_other_versions),
        cmocka_unit_test(what_is_set_is_read),
    };
    perp_model *first = load(SLIDE), *second = load(CART);
    perp_dataset *third = measured();
    slide = first, cart = second, data = third;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    perp_dataset_destroy(third);
    perp_model_destroy(first);
    perp_model_destroy(second);
    return test_result(failed);
}
