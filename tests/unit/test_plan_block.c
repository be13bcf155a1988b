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
                                      "  minimize time + (0.5)*integral(F^2) - m*end(x)\n"
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
    assert_string_equal(p->method.text, "theta");
    assert_string_equal(p->complementarity.text, "fischer-burmeister");
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
        {"minimize F*time\n", "'F' is an input; only parameters can be used here"},
        {"minimize F^2\n",
         "expected time, integral(...) or end(...), such as integral(u^2), found 'F'"},
        {"minimize 2\n", "expected time, integral(...) or end(...)"},
        {"minimize (2) time\n", "expected '*' between the weight and time"},
        {"minimize time/2\n", "a weight stands before"},
        {"minimise time\n", "unknown plan line 'minimise'; did you mean 'minimize'?"},
        {"horizn 3\n", "did you mean 'horizon'?"},
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
        {"free nothing\n", "unknown state"},
        {"guess x = y\n", "unknown name 'y'"},
        {"guess z = 1\n", "unknown state"},
        {"nodes 3 4\n", "expected the end of the line, found '4'"},
        {"method\n", "expected a method"},
        {"}\nplan {\n", "the model has one plan block already"},
        {"speed = 3\n", "unknown name 'speed'"},
        {"at end: x = start(F)\n", "start(..) takes an expression of states and parameters"},
        {"at end: x = start(x, v)\n", "start(..) takes one expression"},
        {"at end: x = end(f)\n", "end(..) takes an expression of states and parameters"},
        {"guess x = start(v)\n", "start(..) belongs to the conditions and costs of a plan block"},
        {"minimize at(50, x)\n", "expected '%'"},
        {"minimize at(50% x)\n", "expected ',' and what is minimised: at(50%, x^2), found 'x'"},
        {"minimize time^w\n", "'w' is a state; only parameters can be used here"},
        {"minimize time^a\n", "a power is one number, not 2"},
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

#define PHASES                                                                                     \
    "phase one {\n horizon 1\n nodes 5\n}\n%s\nphase two {\n horizon 1\n nodes 3\n%s\n}\n"

static void phases_are_read(void **state)
{
    (void)state;
    perp_model *m = parse_model(MODEL "plan {\n  minimize time\n  guess x = 1\n"
                                      "  phase one {\n    horizon free in [1, m] guess 2\n"
                                      "    nodes 10\n    param m = 3, a = [5, 6]\n"
                                      "    minimize integral(F^2)\n    at end: x = 1\n"
                                      "    F <= 2\n    guess x = 2\n  }\n"
                                      "  link: v = -pre(v)/m, w = 2*pre(w) + [t, 0]\n"
                                      "  phase two { nodes 4\n horizon 7 }\n"
                                      "  at end: v = 0\n}\n");
    perp__plan_block *p = m->plan;
    assert_int_equal(p->nphase, 2);
    assert_string_equal(p->phase[0].name, "one");
    assert_true(p->phase[0].is_free && !p->phase[1].is_free);
    assert_near(value_of(m, p->phase[0].hi), 2, 0);
    assert_near(value_of(m, p->phase[1].horizon), 7, 0);
    assert_near(value_of(m, p->phase[1].nodes), 4, 0);
    assert_int_equal(p->nparam, 3);
    assert_near(value_of(m, p->param[2].e), 6, 0);
    assert_int_equal(p->nlink, 3);
    assert_int_equal(p->link[0].phase, 1);
    assert_int_equal(p->link[0].state, 1);
    assert_int_equal(p->cost[0].phase, -1);
    assert_int_equal(p->cost[1].phase, 0);
    assert_int_equal(p->condition[0].phase, 0);
    assert_int_equal(p->condition[2].phase, -1);
    assert_int_equal(p->guess[0].phase, -1);
    assert_int_equal(p->guess[1].phase, 0);
    perp_plan_options o = perp_plan_options_default(m);
    assert_int_equal(o.nodes, 13);
    perp_model_destroy(m);
}

static void faults_of_phases_are_named_with_their_place(void **state)
{
    (void)state;
    const struct {
        const char *between, *inside, *message;
    } cases[] = {
        {"link: u = 1", "", ":15:7: unknown state"},
        {"link: F = 1", "", ":15:7: a link gives a state where the next phase begins; 'F' is none"},
        {"link: v = -v", "", ":15:7: a link speaks of the states before the joint"},
        {"link: v = pre(F)", "", ":15:7: a link speaks of the states before the joint"},
        {"link: v = f", "", ":15:7: a link speaks of the states before the joint"},
        {"link: v = 1, v = 2", "", ":15:14: 'v' has a link at this joint already"},
        {"link: w = [1, 2, 3]", "", "the sizes differ: 2 and 3 elements"},
        {"link v = 1", "", "found 'v'"},
        {"nodes 4", "", ":15:7: each phase has nodes of its own"},
        {"phases 2", "", ":15:8: a plan has either phases of its own"},
        {"phase one { nodes 2\n horizon 2 }", "", ":15:7: there is a phase 'one' already"},
        {"phase none { horizon 3 }", "", ":15:1: phase 'none' needs its nodes"},
        {"phase none { nodes 3 }", "", ":15:1: phase 'none' needs a horizon"},
        {"phase { nodes 3 }", "", ":15:7: expected the name of the phase"},
        {"phase none nodes 3", "", ":15:12: expected '{'"},
        {"phase none {", "", "expected '}'"},
        {"link: v = 0\nguess simulate", "", ":16:7: a simulation follows neither links"},
        {"", "minimize a*time", ":19:10: a weight is one number, not 2"},
        {"", "guess m = 1", ":19:7: a free parameter has one guess"},
        {"", "param n = 1", ":19:7: unknown state"},
        {"", "param x = 1", ":19:7: 'x' is no parameter"},
        {"", "param m = 1, m = 2", ":19:14: 'm' has a value in this phase already"},
        {"", "param m = x", ":19:11: 'x' is a state; only parameters can be used here"},
        {"", "method theta", ":19:1: 'method' belongs to the plan"},
        {"", "link: v = 1", ":19:1: 'link' belongs to the plan"},
        {"", "phase three { nodes 2 }", ":19:1: 'phase' belongs to the plan"},
        {"", "horizon free in [1]", "expected ','"},
        {"", "}\nlink: v = 0", ":20:7: a link stands between two phases"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], phases[512];
        perp_diag diag = {0};
        perp_model *m;
        snprintf(phases, sizeof phases, PHASES, cases[i].between, cases[i].inside);
        size_t n = strlen(phases);
        if (strstr(cases[i].inside, "}\nlink")) phases[n - 3] = '\0'; /* closed already */
        snprintf(text, sizeof text, MODEL "plan {\n%s}\n", phases);
        if (perp_model_parse(text, strlen(text), "t", &m, &diag) != PERP_ERR_MODEL)
            fail_msg("%s%s: no error", cases[i].between, cases[i].inside);
        if (!strstr(perp_diag_text(&diag), cases[i].message))
            fail_msg("%s%s: %s", cases[i].between, cases[i].inside, perp_diag_text(&diag));
        perp_diag_clear(&diag);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_read),
        cmocka_unit_test(phases_are_read),
        cmocka_unit_test(faults_of_phases_are_named_with_their_place),
        cmocka_unit_test(faults_are_named),
    };
    return run_all(tests);
}
