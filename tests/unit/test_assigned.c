/* Vars that an equation sets leave the step: which do, what is reported of them, what is judged. */

#include "runs.h"
#include "simulate/run.h"
#include "outcomes.h"

static int is_assigned(const perp_simulation *sim, const char *name)
{
    perp_symbol_kind kind;
    int i;
    assert_true(perp_model_find(sim->model, name, &kind, &i) && kind == PERP_VAR);
    return sim->step.layout->sym.var_at[i] >= sim->step.layout->ny;
}

static perp_simulation *create(const perp_model *m)
{
    perp_simulation *sim;
    perp_diag diag = {0};
    if (perp_simulation_create(m, NULL, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static void vars_leave_in_triangular_order(void **state)
{
    static const struct {
        const char *name;
        int leaves;
    } var[] = {{"late", 1},  {"c", 1},     {"d", 1},     {"u", 1},    {"f", 0},
               {"a", 0},     {"ring1", 0}, {"ring2", 0}, {"wide", 0}, {"sized", 0},
               {"bound", 1}, {"gap", 0},   {"once", 1}};
    perp_model *m =
        parse_model("state x[4] = 1, v = 0\n"
                    "var late, c, d, u, f, a, ring1, ring2, wide, bound, n, gap, k, once\n"
                    "var sized scale 1\n"
                    "late = 2*d\n"    /* behind what it is made of */
                    "c = cos(x[1])\n" /* of one unknown */
                    "d = c + x[2]\n"  /* of two */
                    "u = v + d\n"     /* what friction stops */
                    "a = der(v)\n"    /* has a derivative */
                    "ring1 = ring2 + x[1]\nring2 = x[2] - ring1/2\n"
                    "wide = sum(x)\n"       /* of four, in two conditions */
                    "once = 2*sum(x) + v\n" /* of five, in one */
                    "gap = x[1]\n"          /* a side that is at least 0 */
                    "sized = 2*x[1]\n"      /* is judged by a size of its own */
                    "bound = 0.5*n\n"
                    "der(x) = [v, wide, late, wide + ring1 + sized]\n"
                    "der(v) = f - c - 0*k + once\n"
                    "0 <= n perp n - 1 >= 0\n0 <= k perp gap >= 0\n"
                    "-bound <= f <= bound perp u\n"
                    "simulate to 1 step 0.1\n");
    perp_simulation *sim = create(m);
    (void)state;
    for (size_t k = 0; k < sizeof var / sizeof *var; k++)
        if (is_assigned(sim, var[k].name) != var[k].leaves)
            fail_msg("%s %s", var[k].name, var[k].leaves ? "stays" : "leaves");
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

/* Whatever they are made of, and where the only ones that read them leave, too, or multiply them by 0. */
static void what_nobody_reads_leaves(void **state)
{
    static const struct {
        const char *name;
        int leaves;
    } var[] = {{"seen", 1}, {"wide", 1}, {"none", 1},  {"torque", 1}, {"rate", 0},
               {"read", 1}, {"self", 0}, {"twice", 1}, {"arm", 1},    {"lift", 0}};
    perp_model *m = parse_model(
        "state x[4] = [1, 2, 3, 4], v = 0\n"
        "var wide, seen, none, torque, arm, rate, read, self, twice, lift\n"
        "seen = wide*x[1]\n"
        "wide = sum(x)\n" /* of four; read by what leaves */
        "torque = arm*none\n"
        "none = 0\n"
        "arm = sum(x) + x[1]^2\n"              /* 0 times it is read by der(v) */
        "rate = der(v)\n"                      /* has a derivative */
        "read = sum(x)\n"                      /* of four, for one condition */
        "self = sum(x) - self\n"               /* is made of itself */
        "twice = sum(x) + v\ntwice = 2*lift\n" /* one sets it, the other is a condition */
        "der(x) = -x\nder(v) = read + torque*arm\n"
        "output o = seen + lift + torque\nsimulate to 1 step 0.5\n");
    perp_simulation *sim = create(m);
    (void)state;
    for (size_t k = 0; k < sizeof var / sizeof *var; k++)
        if (is_assigned(sim, var[k].name) != var[k].leaves)
            fail_msg("%s %s", var[k].name, var[k].leaves ? "stays" : "leaves");
    perp_simulation_destroy(sim);
    run r = run_model(m, 0, 0);
    double x = last(&r, "x[1]");
    assert_near(x, 4 / 9.0, 1e-15);
    assert_near(last(&r, "wide"), 10 * x, 1e-14);
    assert_near(last(&r, "seen"), 10 * x * x, 1e-14);
    assert_near(last(&r, "arm"), 10 * x + x * x, 1e-14);
    assert_true(last(&r, "torque") == 0 && last(&r, "none") == 0);
    free_run(&r);
}

#define BLOCK(var, is)                                                                             \
    "param k = 3, mu = 0.4\nstate x = 0.1, v = 1, w = 2\nvar n, f\n" var " s" is " sin(x)*v\n" var \
    " p" is " k*s + w\n"                                                                           \
    "der(x) = v\nder(v) = f - p\nder(w) = -s*w - f\n"                                              \
    "0 <= n perp n - 2 - s^2 >= 0\n-mu*n <= f <= mu*n perp v\n"                                    \
    "output e = s + p\nsimulate to 1 step 0.01\n"

/* The same steps as with the expressions under the names of outputs, in the rows as in their derivatives. */
static void assigned_vars_are_expressions(void **state)
{
    perp_model *vars = parse_model("var s, p\n" BLOCK("", " =")),
               *lets = parse_model(BLOCK("output", " ="));
    perp_simulation *sim[2] = {create(vars), create(lets)};
    perp_diag diag = {0};
    const char *k[] = {"k", "mu"};
    double row[2][16], slope[2][32];
    int columns = perp_simulation_columns(sim[0]), at[16];
    (void)state;
    assert_true(is_assigned(sim[0], "s") && is_assigned(sim[0], "p"));
    assert_int_equal(columns, perp_simulation_columns(sim[1]));
    for (int c = 0; c < columns; c++)
        for (int d = 0; d < columns; d++)
            if (strcmp(perp_simulation_column_name(sim[0], c),
                       perp_simulation_column_name(sim[1], d)) == 0)
                at[c] = d;
    for (int i = 0; i < 2; i++)
        assert_int_equal(perp_simulation_follow(sim[i], 2, k, &diag), PERP_OK);
    perp_simulation_row(sim[0], row[0]);
    for (int c = 1; c < columns; c++) {
        perp_symbol_kind kind;
        int j,
            is_state = perp_model_find(vars, perp_simulation_column_name(sim[0], c), &kind, &j) &&
                       kind == PERP_STATE;
        assert_int_equal(isnan(row[0][c]), !is_state); /* vars, and what is made of them */
    }
    for (int step = 0; step < 100; step++) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(simulation_step(sim[i], NULL, &diag), PERP_OK);
            perp_simulation_row(sim[i], row[i]);
            assert_int_equal(perp_simulation_derivatives(sim[i], slope[i]), PERP_OK);
        }
        for (int c = 0; c < columns - 1; c++) {
            assert_near(row[0][c], row[1][at[c]], 1e-12);
            for (int j = 0; j < 2; j++)
                assert_near(slope[0][j * columns + c], slope[1][j * columns + at[c]], 1e-9);
        }
    }
    for (int i = 0; i < 2; i++) perp_simulation_destroy(sim[i]);
    perp_model_destroy(vars);
    perp_model_destroy(lets);
}

/* Nothing reads s but the report; it has no value from x = -1 on. */
static void a_var_without_value_is_no_solution(void **state)
{
    perp_model *m =
        parse_model("state x = 0\nvar s\ns = sqrt(1 + x)\nder(x) = -1\nsimulate to 2 step 0.4\n");
    perp_simulation *sim = create(m);
    perp_diag diag = {0};
    (void)state;
    assert_true(is_assigned(sim, "s"));
    for (int k = 0; k < 2; k++) assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
    assert_int_equal(simulation_step(sim, NULL, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "s = sqrt(1 + x)"));
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
}

/* The conditions at another point, as for derivatives, or in a step that fails. */
static void evaluate_elsewhere(perp__step *s)
{
    const perp__layout *l = s->layout;
    double *y = s->ws + l->sym.y, kept[16];
    assert_true(l->ny <= 16);
    for (int j = 0; j < l->ny; j++) kept[j] = y[j], y[j] += 1;
    perp__step_evaluate(s);
    memcpy(y, kept, (size_t)l->ny * sizeof(double));
}

/* What is done between steps: an evaluation, an input, a parameter, a state that is moved and mostly put back. */
static void disturb(perp_simulation *sim, int k)
{
    if (k % 8 == 1) evaluate_elsewhere(&sim->step);
    if (k % 8 == 3) perp_simulation_set_input(sim, 0, k);
    if (k % 8 == 5) perp_simulation_set_parameter(sim, 0, 1 + 0.125 * k);
    if (k % 8 == 7) {
        double y = perp_simulation_state(sim, 0);
        perp_simulation_set_state(sim, 0, 1e-4);
        if (k % 16 == 7) perp_simulation_set_state(sim, 0, y);
    }
}

/* A block rests. Where a step asks the same of the same numbers it takes the answer of the step before; one that begins from the bytes of a snapshot has
 * nothing to compare with, and evaluates all. No row differs, whatever is done between the steps. */
static void what_rests_is_asked_anew_where_something_changes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *end; /* what sets `seen`, and a condition more */
        int reads_time;
    } cases[] = {{"seen = N + u", "0 <= p perp w >= 0", 0},
                 {"seen = N + k*u", "0 <= p perp w >= 0", 0},
                 {"seen = t*N", "0 <= p perp w >= 0", 1},
                 {"seen = N + u", "0 <= p perp w - 1 >= 0 when t >= 0.255", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum { STEPS = 40, COLUMNS = 12 };
        char text[512];
        double row[2][COLUMNS];
        int known = 0;
        snprintf(text, sizeof text,
                 "param k = 1\ninput u = 0\nstate y = 0, v = 0, w = 0\nvar N, p, seen\nder(y) = v\n"
                 "der(v) = N*cos(y) - 9.81\nder(w) = p\n%s\n0 <= N perp y >= 0\n%s\n"
                 "simulate to 0.4 step 0.01\n",
                 cases[i].line, cases[i].end);
        perp_model *m = parse_model(text);
        perp_simulation_options o = perp_simulation_options_default(m);
        o.ninput = o.nparameter = PERP_ALL;
        perp_simulation *sim, *restored;
        assert_int_equal(perp_simulation_create(m, &o, &sim, NULL), PERP_OK);
        assert_int_equal(perp_simulation_create(m, &o, &restored, NULL), PERP_OK);
        assert_true(is_assigned(sim, "seen") && perp_simulation_columns(sim) <= COLUMNS);
        assert_int_equal(sim->step.layout->marks.reads_time, cases[i].reads_time);
        size_t size = perp_simulation_snapshot_size(sim);
        void *bytes = malloc(size);
        assert_non_null(bytes);
        for (int k = 0; k < STEPS; k++) {
            disturb(sim, k);
            assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
            assert_int_equal(perp_simulation_restore(restored, bytes, size, NULL), PERP_OK);
            const perp__tape *check = &sim->step.layout->tape.check;
            double *made = sim->step.ws + check->first + check->nconst, kept = *made;
            *made = -12345; /* the first value that an evaluation makes */
            assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
            if (*made == -12345) *made = kept, known++;
            assert_int_equal(simulation_step(restored, NULL, NULL), PERP_OK);
            perp_simulation_row(sim, row[0]);
            perp_simulation_row(restored, row[1]);
            assert_memory_equal(row[0], row[1],
                                (size_t)perp_simulation_columns(sim) * sizeof(double));
        }
        assert_true(cases[i].reads_time ? known == 0 : known >= 12 && known <= 25);
        free(bytes);
        perp_simulation_destroy(restored);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vars_leave_in_triangular_order),
        cmocka_unit_test(what_nobody_reads_leaves), cmocka_unit_test(assigned_vars_are_expressions),
        cmocka_unit_test(a_var_without_value_is_no_solution),
        cmocka_unit_test(what_rests_is_asked_anew_where_something_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
