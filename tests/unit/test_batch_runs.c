/* A batch takes the steps that its copies would take alone, to the last bit, whatever the number of threads and copies. */

#include "linalg/simd.h"
#include "runs.h"
#include "simulate/run.h"

#include "perp/batch.h"
#include "outcomes.h"

#include <stdio.h>

static const char cart[] = "model cart\n"
                           "param m = 2, mu = 0.1, g = 9.81\n"
                           "input F, wind = 3*sin(4*t)\n"
                           "state x = 0, v = 1\n"
                           "var f\n"
                           "der(x) = v\n"
                           "m*der(v) = F + wind + f\n"
                           "-mu*m*g <= f <= mu*m*g perp v\n"
                           "output power = F*v, way = x^2\n"
                           "simulate to 20 step 0.01\n";

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

static perp_simulation_options live(const perp_model *m, perp_integrator integrator)
{
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = integrator;
    o.ninput = o.nparameter = PERP_ALL;
    return o;
}

static void expect_rows(perp_batch *b, perp_simulation *const *alone, const char *what, long step)
{
    enum { MOST = 4096 };
    int n = perp_simulation_columns(alone[0]), column[MOST];
    static double row[MOST];
    double *value = malloc((size_t)(n * perp_batch_count(b)) * sizeof *value);
    assert_true(n <= MOST);
    for (int c = 0; c < n; c++) column[c] = c;
    assert_int_equal(perp_batch_gather(b, n, column, value), PERP_OK);
    for (int i = 0; i < perp_batch_count(b); i++) {
        perp_simulation_row(alone[i], row);
        for (int c = 0; c < n; c++)
            if (memcmp(row + c, value + i * n + c, sizeof *row) != 0 &&
                !(isnan(row[c]) && isnan(value[i * n + c])))
                fail_msg("%s, copy %d, step %ld, %s: %.17g where alone it is %.17g", what, i, step,
                         perp_simulation_column_name(alone[i], c), value[i * n + c], row[c]);
    }
    free(value);
}

/* And the same counts, residuals, errors, and what later verdicts are made with. */
static void expect_summaries(perp_batch *b, perp_simulation *const *alone, const char *what)
{
    for (int i = 0; i < perp_batch_count(b); i++) {
        perp_simulation_summary p = simulation_summary(alone[i]),
                                q = simulation_summary(perp_batch_simulation(b, i));
        if (p.steps != q.steps || p.worst_residual != q.worst_residual ||
            p.worst_step != q.worst_step || p.worst_error != q.worst_error || p.solves != q.solves)
            fail_msg("%s, copy %d: another summary than alone", what, i);
        const perp_simulation *sim = perp_batch_simulation(b, i);
        const perp__step *s = &sim->step, *of = &alone[i]->step;
        size_t npair = (size_t)p.pairs;
        assert_memory_equal(p.modes, q.modes, npair * sizeof *p.modes);
        assert_memory_equal(s->state.side_now, of->state.side_now, npair);
        assert_memory_equal(s->state.history, of->state.history,
                            (size_t)s->layout->nx * sizeof(double));
        assert_memory_equal(s->state.on, of->state.on, (size_t)s->layout->np);
        assert_int_equal(sim->is_moved, alone[i]->is_moved);
    }
}

/* Copies with states, friction and forces of their own; the mass of some is another, so that they have other matrices. */
static void run_both(int count, int threads, perp_integrator integrator, int masses, long chunk)
{
    unsigned seed = (unsigned)count;
    perp_diag diag = {0};
    perp_model *m = parse_model(cart);
    perp_simulation_options o = live(m, integrator);
    perp_batch *b;
    perp_simulation **alone = calloc((size_t)count, sizeof *alone);
    double *value = malloc((size_t)count * sizeof *value);
    if (perp_batch_create(m, &o, count, threads, &b, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    assert_int_equal(perp_batch_count(b), count);
    for (int i = 0; i < count; i++)
        assert_int_equal(perp_simulation_create(m, &o, &alone[i], NULL), PERP_OK);
    for (int k = 0; k < 2; k++) { /* x, then v */
        for (int i = 0; i < count; i++) value[i] = 4 * uniform(&seed) - 2;
        assert_int_equal(perp_batch_set_state(b, k, value), PERP_OK);
        for (int i = 0; i < count; i++) perp_simulation_set_state(alone[i], k, value[i]);
    }
    for (int k = 0; k < 2; k++) { /* m, then mu */
        for (int i = 0; i < count; i++)
            value[i] = k ? 0.4 * uniform(&seed) : masses && i % 3 == 0 ? 2.5 : 2;
        assert_int_equal(perp_batch_set_parameter(b, k, value), PERP_OK);
        for (int i = 0; i < count; i++) perp_simulation_set_parameter(alone[i], k, value[i]);
    }
    for (long step = 0; step < 300; step += chunk) {
        for (int i = 0; i < count; i++) value[i] = 8 * uniform(&seed) - 4;
        assert_int_equal(perp_batch_set_input(b, 0, value), PERP_OK);
        if (step == 100) perp_simulation_set_input(perp_batch_simulation(b, 0), 1, 0.5);
        if (batch_step(b, chunk, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
        for (int i = 0; i < count; i++) {
            perp_simulation_set_input(alone[i], 0, value[i]);
            if (step == 100 && i == 0) perp_simulation_set_input(alone[i], 1, 0.5);
            for (long k = 0; k < chunk; k++)
                assert_int_equal(simulation_step(alone[i], NULL, NULL), PERP_OK);
        }
        expect_rows(b, alone, "cart", step + chunk);
    }
    expect_summaries(b, alone, "cart");
    for (int i = 0; i < count; i++) perp_simulation_destroy(alone[i]);
    perp_batch_destroy(b);
    perp_model_destroy(m);
    free(alone);
    free(value);
}

static void copies_take_the_steps_that_they_take_alone(void **state)
{
    const int most = perp__isa_most;
    (void)state;
    for (int isa = 0; isa < PERP_ISA_COUNT; isa++) { /* every one that this machine runs */
        perp__isa_most = isa;
        run_both(200, 2, PERP_BACKWARD_EULER, 0, 1);
        run_both(131, 1, PERP_BACKWARD_EULER, 0, 20);
        run_both(70, 3, PERP_BACKWARD_EULER, 1, 5);
        run_both(65, 2, PERP_THETA, 0, 10);
        run_both(1, 1, PERP_BACKWARD_EULER, 0, 10);
    }
    perp__isa_most = most;
}

/* Models of every kind of step, of one text, with other initial values; some begin again in between. */
static void models_of_every_kind_take_the_steps_that_they_take_alone(void **state)
{
    static const struct {
        const char *model;
        int steps;
    } of[] = {{"notes/particle.perp", 400},
              {"notes/sliding_one_line.perp", 200},
              {"notes/sliding_traditional.perp", 200},
              {"blog/particle.perp", 200},
              {"parts/charger.perp", 200},
              {"parts/nut_runner.perp", 200},
              {"parts/ratchet.perp", 200},
              {"mechanics/stack.perp", 100},
              {"mechanics/square.perp", 60},
              {"mechanics/disc.perp", 40},
              {"mechanics/chain.perp", 20},
              {"circuits/diode_bridge.perp", 100},
              {"mechanics/conveyor.perp", 100}};
    enum { COUNT = 19 };
    (void)state;
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        perp_model *m = load_model(of[k].model);
        perp_simulation *alone[COUNT];
        perp_batch *b;
        double value[COUNT];
        unsigned char again[COUNT] = {0};
        assert_int_equal(perp_batch_create(m, NULL, COUNT, 2, &b, NULL), PERP_OK);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(perp_simulation_create(m, NULL, &alone[i], NULL), PERP_OK);
            value[i] = perp_simulation_state(alone[i], 0) * (1 + 0.001 * i);
            perp_simulation_set_state(alone[i], 0, value[i]);
            again[i] = i % 5 == 2;
        }
        assert_int_equal(perp_batch_set_state(b, 0, value), PERP_OK);
        for (long at = 0, chunk = 2; at < of[k].steps; at += chunk, chunk += 3) {
            if (batch_step(b, chunk, NULL) != PERP_OK) fail_msg("%s", of[k].model);
            for (int i = 0; i < COUNT; i++)
                for (int j = 0; j < chunk; j++)
                    assert_int_equal(simulation_step(alone[i], NULL, NULL), PERP_OK);
            expect_rows(b, alone, of[k].model, at + chunk);
            expect_summaries(b, alone, of[k].model);
            if (chunk != 5) continue;
            perp_batch_reset(b, again);
            for (int i = 0; i < COUNT; i++)
                if (again[i]) perp_simulation_reset(alone[i]);
        }
        for (int i = 0; i < COUNT; i++) perp_simulation_destroy(alone[i]);
        perp_batch_destroy(b);
        perp_model_destroy(m);
    }
}

/* Forces on their bounds at rest, by copies with inputs of their own; a system without a pair, whose unknowns depend on each other. */
static void copies_on_bounds_have_the_sides_that_they_have_alone(void **state)
{
    static const char *const models[] = {
        "state v = 0\ninput u = 0\nvar f\nder(v) = u + f\n-2 <= f <= 2 perp v\n"
        "simulate to 10 step 0.1\n",
        "state v = 0, x = 1\ninput u = 0\nder(x) = v\nder(v) = u - x\nsimulate to 10 step 0.1\n"};
    enum { COUNT = 5 };
    static const double u[COUNT] = {2, -2, 0, 3, -3};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        perp_model *m = parse_model(models[k]);
        perp_simulation_options o = live(m, PERP_BACKWARD_EULER);
        perp_simulation *alone[COUNT];
        perp_batch *b;
        assert_int_equal(perp_batch_create(m, &o, COUNT, 1, &b, NULL), PERP_OK);
        assert_int_equal(perp_batch_set_input(b, 0, u), PERP_OK);
        assert_int_equal(batch_step(b, 50, NULL), PERP_OK);
        perp_simulation_set_state(perp_batch_simulation(b, 2), 0, 0.5);
        assert_int_equal(batch_step(b, 10, NULL), PERP_OK);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(perp_simulation_create(m, &o, &alone[i], NULL), PERP_OK);
            perp_simulation_set_input(alone[i], 0, u[i]);
            for (int n = 0; n < 60; n++) {
                if (n == 50 && i == 2) perp_simulation_set_state(alone[i], 0, 0.5);
                simulation_step(alone[i], NULL, NULL);
            }
        }
        expect_rows(b, alone, "bounds", 60);
        expect_summaries(b, alone, "bounds");
        for (int i = 0; i < COUNT; i++) perp_simulation_destroy(alone[i]);
        perp_batch_destroy(b);
        perp_model_destroy(m);
    }
}

/* What is no number in one condition is not made good by the next, which holds; nor a var without a value. */
static void a_copy_that_overflows_fails(void **state)
{
    static const char *const models[] = {"state x = 1, y = 1\nder(x) = 1.5*x\nder(y) = -y\n"
                                         "simulate to 1000 step 0.5\n",
                                         "state x = 1\nvar z\nder(x) = 1.5*x\nz = 1e9*x\n"
                                         "simulate to 1000 step 0.5\n"};
    const double x[2] = {1e-30, 1};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        perp_model *m = parse_model(models[k]);
        perp_simulation *alone;
        perp_batch *b;
        assert_int_equal(perp_simulation_create(m, NULL, &alone, NULL), PERP_OK);
        while (simulation_step(alone, NULL, NULL) == PERP_OK) continue;
        const double last = perp_simulation_state(alone, 0);
        assert_true(isfinite(last) && last > (k ? 1e297 : 1e306));
        assert_int_equal(perp_batch_create(m, NULL, 2, 1, &b, NULL), PERP_OK);
        assert_int_equal(perp_batch_set_state(b, 0, x), PERP_OK);
        assert_int_equal(batch_step(b, 520, NULL), PERP_ERR_NO_SOLUTION); /* 4^520 > 1e308 */
        assert_int_equal(batch_status(b, 0), PERP_OK);
        assert_int_equal(batch_status(b, 1), PERP_ERR_NO_SOLUTION);
        assert_true(perp_simulation_state(perp_batch_simulation(b, 1), 0) == last);
        perp_simulation_destroy(alone);
        perp_batch_destroy(b);
        perp_model_destroy(m);
    }
}

/* Copies of a mode are put beside each other; what is said is of the one that failed all the same. */
static void a_copy_that_fails_among_others_is_named(void **state)
{
    enum { COUNT = 6 };
    const double u[COUNT] = {0, 0, 0.06, 0, 0, 0}, w[COUNT] = {3, -3, 3, -3, 3, -3};
    (void)state;
    perp_model *m =
        parse_model("state x = 0, v = 0\ninput u = 0, w = 0\nvar f, p\nder(x) = u\nder(v) = w + p\n"
                    "-1 <= p <= 1 perp v\n0 <= f perp 1 - x - 0*f >= 0\nsimulate to 100 step 1\n");
    perp_simulation_options o = live(m, PERP_BACKWARD_EULER);
    perp_batch *b;
    perp_diag diag = {0};
    assert_int_equal(perp_batch_create(m, &o, COUNT, 1, &b, &diag), PERP_OK);
    assert_int_equal(perp_batch_set_input(b, 0, u), PERP_OK);
    assert_int_equal(perp_batch_set_input(b, 1, w), PERP_OK);
    assert_int_equal(batch_step(b, 80, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "copy 2: "));
    assert_non_null(strstr(perp_diag_text(&diag), "step 17 (t = 17)"));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(batch_status(b, i), i == 2 ? PERP_ERR_NO_SOLUTION : PERP_OK);
        assert_true(perp_simulation_time(perp_batch_simulation(b, i)) == (i == 2 ? 16 : 80));
    }
    perp_diag_clear(&diag);
    perp_batch_destroy(b);
    perp_model_destroy(m);
}

/* The residual of a copy that fails is that of its last step that holds, as it is alone. */
static void a_copy_that_fails_keeps_its_residual(void **state)
{
    const double u[2] = {0.4, 0.3}, lost[2] = {0.4, (double)NAN};
    (void)state;
    perp_model *m = parse_model("input u\nstate x = 0.1, v = 0.3\nder(x) = v\n"
                                "der(v) = u - 0.7*x - 0.3*v\nsimulate to 1 step 0.01\n");
    perp_simulation_options o = live(m, PERP_BACKWARD_EULER);
    perp_simulation *alone;
    perp_batch *b;
    double residual[2];
    assert_int_equal(perp_simulation_create(m, &o, &alone, NULL), PERP_OK);
    assert_int_equal(perp_batch_create(m, &o, 2, 1, &b, NULL), PERP_OK);
    int column = perp_simulation_columns(alone) - 1;
    assert_string_equal(perp_simulation_column_name(alone, column), "residual");
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        assert_int_equal(perp_batch_set_input(b, 0, is_lost ? lost : u), PERP_OK);
        perp_simulation_set_input(alone, 0, is_lost ? lost[1] : u[1]);
        perp_status status = batch_step(b, 5, NULL);
        for (int i = 0; i < 5; i++)
            if (simulation_step(alone, NULL, NULL) != PERP_OK) break;
        assert_int_equal(status, is_lost ? PERP_ERR_DATA : PERP_OK);
        assert_int_equal(perp_batch_gather(b, 1, &column, residual), PERP_OK);
        assert_true(residual[1] > 0 && residual[1] == perp_simulation_value(alone, column));
    }
    perp_simulation_destroy(alone);
    perp_batch_destroy(b);
    perp_model_destroy(m);
}

/* A copy without a solution stays where it was and is named; the others go on, and it may begin again. */
static void a_copy_that_fails_is_named(void **state)
{
    (void)state;
    perp_model *m =
        parse_model("state x = 1\ninput u = 0\nvar f\nder(x) = u\n0 <= f perp 1 - x - 0*f >= 0\n"
                    "simulate to 1 step 0.1\n");
    perp_simulation_options o = live(m, PERP_BACKWARD_EULER);
    perp_batch *b;
    perp_diag diag = {0};
    double u[5] = {-1, 0, 3, -2, 3}, x[5];
    int column = 1;
    unsigned char which[5] = {0, 0, 1, 0, 1};
    assert_int_equal(perp_batch_create(m, &o, 5, 1, &b, &diag), PERP_OK);
    for (int round = 0; round < 2; round++) {
        if (round) u[2] = u[4] = -3;
        assert_int_equal(perp_batch_set_input(b, 0, u), PERP_OK);
        perp_status status = batch_step(b, 3, &diag);
        assert_int_equal(status, round ? PERP_OK : PERP_ERR_NO_SOLUTION);
        if (!round) assert_non_null(strstr(perp_diag_text(&diag), "copy 2: "));
        assert_int_equal(batch_status(b, 2), status);
        assert_int_equal(batch_status(b, 3), PERP_OK);
        assert_int_equal(perp_batch_gather(b, 1, &column, x), PERP_OK);
        assert_true(near(x[0], round ? 0.4 : 0.7, 1e-12) && (round || x[2] == 1));
        if (round) assert_true(near(x[2], 0.1, 1e-12));
        perp_batch_reset(b, which);
    }
    column = 9;
    assert_int_equal(perp_batch_gather(b, 1, &column, x), PERP_ERR_ARG);
    assert_int_equal(perp_batch_set_state(b, 7, x), PERP_ERR_ARG);
    assert_null(perp_batch_simulation(b, 5));
    assert_int_equal(batch_status(b, 5), PERP_ERR_ARG);
    assert_int_equal(batch_step(b, 100, &diag), PERP_ERR_ARG); /* the run has ended */
    perp_diag_clear(&diag);
    perp_batch_destroy(b);
    perp_model_destroy(m);
}

/* The message is that copy's own, not that of one beside it which failed earlier. */
static void what_is_said_is_of_the_copy_named(void **state)
{
    (void)state;
    perp_model *m = parse_model("state x = 1\ninput u = 0\nvar f\nder(x) = u\n"
                                "0 <= f perp 1 - x - 0*f >= 0\nsimulate to 9 step 1\n");
    perp_simulation_options o = live(m, PERP_BACKWARD_EULER);
    perp_batch *b;
    perp_diag diag = {0};
    double u[3] = {0, 1, 1}, x[3] = {1, -4, 0};
    assert_int_equal(perp_batch_create(m, &o, 3, 1, &b, &diag), PERP_OK);
    assert_int_equal(perp_batch_set_state(b, 0, x), PERP_OK);
    assert_int_equal(perp_batch_set_input(b, 0, u), PERP_OK);
    assert_int_equal(batch_step(b, 9, &diag), PERP_ERR_NO_SOLUTION);
    assert_non_null(strstr(perp_diag_text(&diag), "copy 1: "));
    assert_non_null(strstr(perp_diag_text(&diag), "step 6 (t = 6)")); /* copy 2: step 2 */
    assert_null(strstr(perp_diag_text(&diag), "step 2"));
    perp_diag_clear(&diag);
    perp_batch_destroy(b);
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_take_the_steps_that_they_take_alone),
        cmocka_unit_test(models_of_every_kind_take_the_steps_that_they_take_alone),
        cmocka_unit_test(copies_on_bounds_have_the_sides_that_they_have_alone),
        cmocka_unit_test(a_copy_that_overflows_fails),
        cmocka_unit_test(a_copy_that_fails_among_others_is_named),
        cmocka_unit_test(a_copy_that_fails_keeps_its_residual),
        cmocka_unit_test(a_copy_that_fails_is_named),
        cmocka_unit_test(what_is_said_is_of_the_copy_named),
    };
    return run_all(tests);
}
