/* The plan block of the language: what it means, and what is said when it is wrong. */

#include "model/plan_block.h"
#include "runs.h"

#define MODEL                                                                                      \
    "param m = 2\nparam a[2] = [3, 4]\ninput F\nvar f\nf = F\nstate x = 0, v = 0, w[2] = "         \
    "0\nder(x) = v\n"                                                                              \
    "m*der(v) = F\nder(w) = a\n"

static double value_of(perp_model *m, perp_expr e)
{
    double *symbol = calloc((size_t)m->nsymbol, sizeof *symbol), x = NAN;
    assert_true(perp__model_values(m, symbol) && perp__graph_value(&m->graph, e, symbol, &x));
    free(symbol);
    return x;
}

static void a_block_is_read(void **state)
{
    (void)state;
    perp_model *m = parse_model(MODEL "plan {\n  horizon free in [1, 2*m] guess 3\n  nodes 20*2\n"
                                      "  minimize time + 0.5*integral(F^2) - m*end(x)\n"
                                      "  at start: x = 1\n  at 50%: x = 10, v <= 2\n"
                                      "  at t = 1/2: 0 <= w <= a\n  at end: x^2 + v^2 = m\n"
                                      "  -1 <= F <= 1\n  free m in [1, 5]\n  free v\n"
                                      "  guess x = 10*sin(t)\n  guess w = 1\n  method theta\n"
                                      "  complementarity fischer-burmeister\n}\n");
    perp__plan_block *p = m->plan;
    assert_non_null(p);
    assert_true(p->is_free);
    assert_near(value_of(m, p->horizon_hi), 4, 0);
    assert_near(value_of(m, p->horizon), 3, 0);
    assert_near(value_of(m, p->nodes), 40, 0);
    assert_int_equal(p->ncost, 3);
    assert_near(value_of(m, p->cost[1].weight), 0.5, 0);
    assert_near(value_of(m, p->cost[2].weight), -2, 0);
    assert_int_equal(p->ncondition, 7);
    assert_int_equal(p->condition[1].where, PLAN_SHARE);
    assert_near(value_of(m, p->condition[1].place), 50, 0);
    assert_int_equal(p->condition[2].lo, -1);
    assert_near(value_of(m, p->condition[4].hi), 4, 0); /* w[2] <= a[2] */
    assert_string_equal(p->condition[5].text, "x^2 + v^2 = m");
    assert_int_equal(p->condition[6].where, PLAN_ALWAYS);
    assert_int_equal(p->nfree, 2);
    assert_int_equal(p->nguess, 3);
    assert_string_equal(p->method, "theta");
    assert_string_equal(p->complementarity, "fischer-burmeister");
    perp_model_destroy(m);
}

static void faults_are_named(void **state)
{
    (void)state;
    const struct {
        const char *line, *message;
    } cases[] = {
        {"horizon\n", "expected an expression, found the end of the line"},
        {"horizon x\n", "'x' is a state; only parameters can be used here"},
        {"minimize F\n", "'F' is an input; only parameters can be used here"},
        {"minimize 2\n", "expected '*' between the weight and time"},
        {"minimize integral F\n", "expected '('"},
        {"minimize integral(w)\n", "what is minimised is one number, not 2"},
        {"at middle: x = 1\n", "unknown name 'middle'"},
        {"at 50: x = 1\n", "expected '%'"},
        {"at end x = 1\n", "expected ':'"},
        {"at end: x\n", "expected =, <= or >="},
        {"at end: 1 <= x >= 2\n", "both inequalities to point the same way"},
        {"at end: w = [1, 2, 3]\n", "the sizes differ"},
        {"var z\n", "expected"},
        {"free f\n", "only a parameter, an input"},
        {"free nothing\n", "expected the name of a state"},
        {"guess x = y\n", "unknown name 'y'"},
        {"guess z = 1\n", "expected the name of a state"},
        {"nodes 3 4\n", "expected the end of the line, found '4'"},
        {"method\n", "expected a method"},
        {"}\nplan {\n", "the model has a plan block already"},
        {"speed = 3\n", "unknown name 'speed'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        perp_diag diag = {0};
        perp_model *m;
        snprintf(text, sizeof text, MODEL "plan {\n%s}\n", cases[i].line);
        assert_int_equal(perp_model_parse(text, strlen(text), "t", &m, &diag), PERP_ERR_MODEL);
        if (!strstr(perp_diag_text(&diag), cases[i].message))
            fail_msg("%s: %s", cases[i].line, perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_read),
        cmocka_unit_test(faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
