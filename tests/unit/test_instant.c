/* What a model's symbols are at an instant: by hand, as expressions and as numbers, which are two pieces of code. */

#include "model/instant.h"
#include "runs.h"

/* Of the graph that the expressions are in. */
enum { START, TIME, H, THETA, BEFORE, STATE, VAR, RATE = VAR + 2, SYMBOLS };

static const double START_AT = 10, END_AT = 10.5, LENGTH = 0.5, PRE = 2, NOW = 6, VALUE = 3;

/* One state x, one var y, an input that is a function of time, a parameter that follows another. */
static const char *const texts[] = {
    "param p = 3, q = 2*p\nstate x = 1\nvar y\ninput u = q*t\nder(x) = u + y\ny = q\n",
    "param p = 3, q = 2*p\nstate x = 1\nvar y\ninput u = q*t\nnext(x) = u + y\ny = q\n",
};

static int symbol_of(const perp_model *m, perp_symbol_kind kind, int i, int offset)
{
    return m->item[kind][i].symbol + offset;
}

static void make_instant(const perp_model *m, perp__graph *g, const char *method, double theta,
                         perp__instant *at)
{
    perp__scheme scheme = perp__scheme_make(method, theta);
    assert_true(perp__graph_init(g));
    assert_true(perp__instant_create(at, m, g, &scheme, RATE, SYMBOLS));
    at->start = perp__symbol(g, START);
    at->time[0] = perp__symbol(g, TIME);
    at->h = perp__symbol(g, H);
    at->theta = perp__symbol(g, THETA);
    at->before[0] = perp__symbol(g, BEFORE);
    at->state[0] = perp__symbol(g, STATE);
    at->var[0] = perp__symbol(g, VAR);
    at->input[0] = at->input_before[0] = -1;
    for (int i = 0; i < 2; i++)
        at->known[symbol_of(m, PERP_PARAM, i, 0)] = perp__instant_param(at, i);
}

static double value_at(const void *context, perp_symbol_kind kind, int i, int is_before)
{
    const double *input = context;
    (void)i;
    return kind == PERP_INPUT ? input[is_before] : kind == PERP_VAR ? VALUE : is_before ? PRE : NOW;
}

/* What each symbol must be; NaN: it has no value. */
typedef struct expected {
    perp__reading reading;
    double t, h, t_pre, input, input_before, bare, der, next, pre, var;
} expected;

static void expect_symbol(const char *what, perp__reading reading, double got, double right)
{
    if (!(got == right || (isnan(got) && isnan(right))))
        fail_msg("%s in reading %d: %.17g instead of %.17g", what, (int)reading, got, right);
}

static void expect_all(const perp_model *m, const double *s, const expected *e)
{
    int x = symbol_of(m, PERP_STATE, 0, 0), u = symbol_of(m, PERP_INPUT, 0, 0);
    expect_symbol("t", e->reading, s[PERP__SYM_T], e->t);
    expect_symbol("h", e->reading, s[PERP__SYM_H], e->h);
    expect_symbol("t before", e->reading, s[PERP__SYM_T_PRE], e->t_pre);
    expect_symbol("u", e->reading, s[u + PERP__NOW], e->input);
    expect_symbol("pre(u)", e->reading, s[u + PERP__INPUT_PRE], e->input_before);
    expect_symbol("x", e->reading, s[x + PERP__NOW], e->bare);
    expect_symbol("der(x)", e->reading, s[x + PERP__DER], e->der);
    expect_symbol("next(x)", e->reading, s[x + PERP__NEXT], e->next);
    expect_symbol("pre(x)", e->reading, s[x + PERP__PRE], e->pre);
    expect_symbol("y", e->reading, s[symbol_of(m, PERP_VAR, 0, 0)], e->var);
}

static void check(const char *text, const char *method, double theta, const expected *all, int n)
{
    perp_model *m = parse_model(text);
    perp__graph g;
    perp__instant at;
    double own[SYMBOLS] = {0}, symbol[64];
    make_instant(m, &g, method, theta, &at);
    own[START] = START_AT, own[TIME] = END_AT, own[H] = LENGTH, own[THETA] = theta;
    own[BEFORE] = PRE, own[STATE] = NOW, own[VAR] = VALUE, own[RATE] = 17;
    assert_true(m->nsymbol <= 64);
    for (int k = 0; k < n; k++) {
        const perp_expr *map = perp__instant_map(&at, all[k].reading, 0);
        for (int s = 0; s < m->nsymbol; s++) {
            symbol[s] = NAN;
            if (map[s] >= 0) assert_true(perp__graph_value(&g, map[s], own, &symbol[s]));
        }
        expect_all(m, symbol, &all[k]);
        if (all[k].reading == PERP__AT_RATES || all[k].reading == PERP__AT_BEGIN) continue;
        const double input[] = {6 * END_AT, 6 * START_AT};
        perp__numbers from = {START_AT, END_AT, LENGTH, theta, value_at, NULL, input};
        for (int s = 0; s < m->nsymbol; s++) symbol[s] = NAN;
        perp__put_numbers(m, &from, all[k].reading, symbol);
        expect_all(m, symbol, &all[k]);
    }
    perp__instant_clear(&at);
    perp__graph_clear(&g);
    perp_model_destroy(m);
}

static void a_continuous_model_is_weighted_where_it_has_derivatives(void **state)
{
    (void)state;
    static const expected all[] = {
        {PERP__AT_RATES, 10.375, 0.5, 10, 62.25, 60, 5, 17, 6, 2, 3},
        {PERP__AT_WEIGHTED, 10.375, 0.5, 10, 62.25, 60, 5, 8, 6, 2, 3},
        {PERP__AT_POINT, 10.5, 0.5, 10, 63, 60, 6, 8, 6, 2, 3},
        {PERP__AT_ROW, 10.5, 0.5, 10, 63, 60, 6, 8, 6, 2, 3},
        {PERP__AT_START, 10, 0.5, 10, 60, 60, 2, NAN, NAN, 2, NAN},
        {PERP__AT_BEGIN, 10, NAN, NAN, 60, NAN, 2, NAN, NAN, NAN, NAN},
    };
    check(texts[0], "theta", 0.75, all, 6);
}

static void a_bare_state_of_a_discrete_model_is_that_before_the_step_but_in_rows(void **state)
{
    (void)state;
    static const expected all[] = {
        {PERP__AT_WEIGHTED, 10.5, 0.5, 10, 63, 60, 2, 8, 6, 2, 3},
        {PERP__AT_POINT, 10.5, 0.5, 10, 63, 60, 2, 8, 6, 2, 3},
        {PERP__AT_ROW, 10.5, 0.5, 10, 63, 60, 6, 8, 6, 2, 3},
        {PERP__AT_START, 10, 0.5, 10, 60, 60, 2, NAN, NAN, 2, NAN},
    };
    check(texts[1], "backward-euler", 1, all, 4);
}

/* Affine in der(x): multiplied by h; without it: at the point; not affine: with the slope as it is. */
static void a_row_has_its_derivatives_times_h(void **state)
{
    (void)state;
    perp_model *m = parse_model("state x = 1, v = 1\nvar y\n3*der(x) = x\ny = x\nder(v)^2 = v\n");
    perp__scheme scheme = perp__scheme_make("theta", 0.5);
    perp__graph g;
    perp__instant at;
    enum { X = 4, V, X0, V0, Y };
    double own[] = {0, 1, 0.5, 0, 6, 9, 2, 8, 3, 0, 0}, value;
    assert_true(perp__graph_init(&g));
    assert_true(perp__instant_create(&at, m, &g, &scheme, Y + 1, Y + 3));
    at.start = perp__symbol(&g, 0), at.time[0] = perp__symbol(&g, 1), at.h = perp__symbol(&g, 2);
    at.theta = perp__const(&g, 0.5);
    for (int i = 0; i < 2; i++)
        at.state[i] = perp__symbol(&g, X + i), at.before[i] = perp__symbol(&g, X0 + i);
    at.var[0] = perp__symbol(&g, Y);
    const double right[] = {3 * (6 - 2) - 0.5 * 4, 3 - 6, 4 - 8.5};
    const int degree[] = {1, 0, 2}, count[] = {1, 0, 1};
    for (int i = 0; i < 3; i++) {
        perp__sparse_row rates = {0};
        perp_expr row;
        assert_int_equal(perp__instant_row(&at, &m->equation[i], 0, &row, &rates), degree[i]);
        assert_int_equal(rates.count, count[i]);
        perp__sparse_row_clear(&rates);
        assert_true(perp__graph_value(&g, row, own, &value));
        if (value != right[i]) fail_msg("row %d: %g instead of %g", i, value, right[i]);
    }
    perp__instant_clear(&at);
    perp__graph_clear(&g);
    perp_model_destroy(m);
}

static void inputs_come_from_tables_and_functions_of_time(void **state)
{
    (void)state;
    perp_model *m = parse_model("param q = 2\nstate x = 1\ninput u = q*t, w\nder(x) = u + w\n");
    perp_trajectory *table = NULL;
    double symbol[32], *value = malloc((size_t)m->graph.count * sizeof *value);
    assert_int_equal(perp_trajectory_parse("t,w\n0,1\n2,5\n", 12, "w.csv", &table, NULL), PERP_OK);
    assert_true(m->nsymbol <= 32 && value);
    for (int s = 0; s < m->nsymbol; s++) symbol[s] = NAN;
    symbol[symbol_of(m, PERP_PARAM, 0, 0)] = 2;
    perp__put_inputs(m, 1, PERP__INPUT_PRE, symbol, value);
    assert_true(symbol[symbol_of(m, PERP_INPUT, 0, PERP__INPUT_PRE)] == 2);
    assert_true(isnan(symbol[symbol_of(m, PERP_INPUT, 1, PERP__INPUT_PRE)]));
    assert_int_equal(perp_model_set_input_table(m, "w", table, NULL, NULL, NULL), PERP_OK);
    perp__put_inputs(m, 1, PERP__NOW, symbol, value);
    assert_true(symbol[symbol_of(m, PERP_INPUT, 1, PERP__NOW)] == 3);
    free(value);
    perp_trajectory_destroy(table);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_continuous_model_is_weighted_where_it_has_derivatives),
        cmocka_unit_test(a_bare_state_of_a_discrete_model_is_that_before_the_step_but_in_rows),
        cmocka_unit_test(a_row_has_its_derivatives_times_h),
        cmocka_unit_test(inputs_come_from_tables_and_functions_of_time),
    };
    return run_all(tests);
}
