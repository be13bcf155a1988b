/* A snapshot holds all that what follows depends on: a simulation that goes on from one takes the steps of the run that it was taken of, to the
 * last bit, whatever it did before. */

#include "runs.h"
#include "outcomes.h"
#include "simulate/run.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *model; /* below examples/, or a scene of the bench */
    perp_integrator integrator;
    int steps, places,
        further;     /* steps of the run; snapshots of it; steps that are compared from each */
    double accuracy; /* 0: whole steps */
} run_of[] = {
    {"notes/sliding_traditional.perp", PERP_BACKWARD_EULER, 2000, 150, 60, 0},
    {"notes/particle.perp", PERP_BACKWARD_EULER, 1200, 150, 60, 0},
    {"notes/sliding_one_line.perp", PERP_THETA, 1000, 100, 60, 0},
    {"mechanics/square.perp", PERP_BACKWARD_EULER, 600, 100, 40, 0},
    {"mechanics/square.perp", PERP_THETA, 600, 100, 40, 0},
    {"mechanics/cube.perp", PERP_BACKWARD_EULER, 400, 60, 25, 0},
    {"mechanics/chain.perp", PERP_BACKWARD_EULER, 300, 40, 20, 0},
    {"mechanics/stack.perp", PERP_BACKWARD_EULER, 200, 40, 15, 0},
    {"mechanics/disc.perp", PERP_BACKWARD_EULER, 400, 60, 25, 0},
    {"mechanics/table.perp", PERP_BACKWARD_EULER, 200, 40, 15, 0},
    {"mechanics/stribeck.perp", PERP_BACKWARD_EULER, 600, 60, 25, 0},
    {"mechanics/slider_crank.perp", PERP_MOREAU, 600, 60, 25, 0},
    {"circuits/diode_bridge.perp", PERP_BACKWARD_EULER, 600, 60, 25, 0},
    {"circuits/pipe.perp", PERP_RADAU5, 200, 60, 25, 0},
    {"parts/cradle.perp", PERP_RADAU5, 200, 40, 25, 0},
    {"mechanics/painleve.perp", PERP_RADAU5, 60, 30, 20, 0},
    {"mechanics/square.perp", PERP_RADAU5, 600, 100, 25, 0},
    {"notes/particle.perp", PERP_RADAU3, 200, 40, 25, 0},
    {"circuits/pipe.perp", PERP_RADAU5, 40, 20, 5, 1e-5},
    {"../bench/scenes/plate.perp", PERP_BACKWARD_EULER, 60, 20, 10, 0},
    {"../bench/scenes/links20.perp", PERP_BACKWARD_EULER, 100, 20, 10, 0},
};

enum { RUNS = sizeof run_of / sizeof *run_of };

static unsigned long long seed;

static int draw(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (unsigned)n);
}

static perp_simulation *create(const perp_model *m, perp_integrator integrator, double accuracy,
                               int nparameter)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(m);
    o.integrator = integrator, o.accuracy = accuracy, o.nparameter = nparameter;
    if (perp_simulation_create(m, &o, &sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

static void step(perp_simulation *sim, double *row)
{
    perp_diag diag = {0};
    if (simulation_step(sim, NULL, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    perp_simulation_row(sim, row);
}

/* All that is told of a run so far; the caller frees. */
static char *told(const perp_simulation *sim)
{
    perp_diag diag = {0};
    perp_simulation_summary s = simulation_summary(sim);
    long unresolved, left = perp_simulation_fallback_steps(sim, &diag);
    double shortest, energy;
    perp_impact largest;
    long parts = perp_simulation_substeps(sim, &shortest, &unresolved);
    size_t room = 1024 + 100 * (size_t)s.pairs + strlen(perp_diag_text(&diag));
    char *text = malloc(room);
    assert_non_null(text);
    int n =
        snprintf(text, room,
                 "%ld steps, %ld solves, %ld cones, worst %ld %a %a, parts %ld %a %ld, left %ld %s",
                 s.steps, s.solves, s.friction_problems, s.worst_step, s.worst_residual,
                 s.worst_error, parts, shortest, unresolved, left, perp_diag_text(&diag));
    for (int i = 0; i < s.pairs; i++)
        n += snprintf(text + n, room - (size_t)n, " %ld,%ld,%ld,%ld", s.modes[i][0], s.modes[i][1],
                      s.modes[i][2], s.modes[i][3]);
    long impacts = perp_simulation_impact_count(sim, &largest, &energy);
    if (isnan(energy)) energy = INFINITY; /* its sign says nothing */
    snprintf(text + n, room - (size_t)n, ", %ld impacts, %d %a %a, energy %a", impacts,
             largest.pair, largest.time, largest.impulse, energy);
    perp_diag_clear(&diag);
    return text;
}

static void expect_told(const perp_simulation *sim, const char *model, const char *wanted)
{
    char *text = told(sim);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s: told: %s\nwhere the run has: %s", model, text, wanted);
    free(text);
}

static void expect_row(const perp_simulation *sim, const char *model, long from, long k,
                       const double *row, const double *wanted)
{
    for (int c = 0; c < perp_simulation_columns(sim); c++)
        if (memcmp(row + c, wanted + c, sizeof *row) != 0)
            fail_msg("%s: from step %ld, step %ld, %s: %.17g where the run has %.17g", model, from,
                     k, perp_simulation_column_name(sim, c), row[c], wanted[c]);
}

/* Restored into a simulation that is elsewhere, into a fresh one, and copied. */
static int go_on(perp_simulation *const other[2], int i, const void *bytes, size_t size, long from,
                 long steps, const double *row, char *const *words, int columns)
{
    perp_diag diag = {0};
    double *now = malloc((size_t)columns * sizeof *now);
    int further = run_of[i].further;
    for (int k = 0; k < 2; k++) {
        if (perp_simulation_restore(other[k], bytes, size, &diag) != PERP_OK)
            fail_msg("%s: %s", run_of[i].model, perp_diag_text(&diag));
        assert_int_equal(simulation_summary(other[k]).steps, from);
        expect_told(other[k], run_of[i].model, words[from]);
        for (long at = from + 1; at <= steps && at <= from + further; at++) {
            step(other[k], now);
            expect_row(other[k], run_of[i].model, from, at, now, row + at * columns);
            expect_told(other[k], run_of[i].model, words[at]);
        }
    }
    free(now);
    return 1;
}

static void restored_runs_take_the_steps_of_the_run(void **state)
{
    (void)state;
    int done = 0;
    for (int i = 0; i < RUNS; i++) {
        seed = (unsigned long long)i;
        perp_model *m = load_model(run_of[i].model);
        int set = i % 2 ? PERP_ALL : 0; /* every other run with parameters that may be set */
        perp_simulation *plain = create(m, run_of[i].integrator, run_of[i].accuracy, set),
                        *other[2] = {create(m, run_of[i].integrator, run_of[i].accuracy, set),
                                     NULL};
        long steps = perp_simulation_steps(plain);
        if (steps > run_of[i].steps) steps = run_of[i].steps;
        int columns = perp_simulation_columns(plain);
        size_t size = perp_simulation_snapshot_size(plain),
               n = (size_t)(steps + 1) * (size_t)columns;
        double *row = calloc(n, sizeof *row), *now = malloc((size_t)columns * sizeof *now);
        unsigned char *bytes = malloc(size);
        char **words = calloc((size_t)steps + 1, sizeof *words);
        assert_true(row && now && bytes && words);
        words[0] = told(plain);
        for (long k = 1; k <= steps; k++) {
            step(plain, row + k * columns);
            words[k] = told(plain);
        }
        perp_simulation_reset(plain);
        for (long k = 1, left = run_of[i].places; k <= steps; k++) { /* snapshots change nothing */
            int wanted = draw((int)(steps - k) + 1) < left;
            if (wanted) {
                assert_int_equal(perp_simulation_snapshot(plain, bytes, size), PERP_OK);
                other[1] = NULL;
                perp_simulation *clone = NULL;
                assert_int_equal(perp_simulation_clone(plain, &clone, NULL), PERP_OK);
                step(clone, now);
                expect_row(clone, run_of[i].model, k - 1, k, now, row + k * columns);
                other[1] = clone;
                done += go_on(other, i, bytes, size, k - 1, steps, row, words, columns);
                perp_simulation_destroy(clone);
                left--;
            }
            step(plain, now);
            expect_row(plain, run_of[i].model, 0, k, now, row + k * columns);
        }
        expect_told(plain, run_of[i].model, words[steps]);
        for (long k = 0; k <= steps; k++) free(words[k]);
        free(words);
        perp_simulation_destroy(plain);
        perp_simulation_destroy(other[0]);
        perp_model_destroy(m);
        free(row);
        free(now);
        free(bytes);
    }
    if (done < 1000) fail_msg("only %d places", done);
}

/* The state alone decides: without the cache, thrown away at random steps, no bit of a run changes. */
static void the_cache_decides_nothing(void **state)
{
    (void)state;
    int thrown = 0;
    for (int i = 0; i < RUNS; i++) {
        seed = (unsigned long long)i + 100;
        perp_model *m = load_model(run_of[i].model);
        perp_simulation *plain = create(m, run_of[i].integrator, run_of[i].accuracy, 0),
                        *other = create(m, run_of[i].integrator, run_of[i].accuracy, 0);
        size_t columns = (size_t)perp_simulation_columns(plain);
        double *row = malloc(2 * columns * sizeof *row), *now = row + columns;
        assert_non_null(row);
        long steps = perp_simulation_steps(plain);
        if (steps > run_of[i].steps) steps = run_of[i].steps;
        for (long k = 1; k <= steps; k++) {
            if (draw(4) == 0) {
                assert_int_equal(perp__simulation_drop_caches(other), PERP_OK);
                thrown++;
            }
            step(plain, row);
            step(other, now);
            expect_row(other, run_of[i].model, 0, k, now, row);
        }
        perp_simulation_destroy(plain);
        perp_simulation_destroy(other);
        perp_model_destroy(m);
        free(row);
    }
    assert_true(thrown > 1000);
}

/* A restored run ends as the run does, derivatives and all. */
static void derivatives_and_the_end_are_the_same(void **state)
{
    (void)state;
    perp_model *m = load_model("mechanics/square.perp");
    perp_simulation *a = create(m, PERP_BACKWARD_EULER, 0, 0), *b;
    const char *name = perp_model_symbol(m, PERP_PARAM, 0).name;
    int columns = perp_simulation_columns(a);
    double *d = calloc(4 * (size_t)columns, sizeof *d), *e = d + columns, *row = e + columns;
    assert_int_equal(perp_simulation_follow(a, 1, &name, NULL), PERP_OK);
    for (int k = 0; k < 333; k++) step(a, row);
    assert_int_equal(perp_simulation_clone(a, &b, NULL), PERP_OK);
    while (simulation_summary(a).steps < perp_simulation_steps(a)) {
        step(a, row);
        step(b, row + columns);
        assert_memory_equal(row, row + columns, (size_t)columns * sizeof *row);
        assert_int_equal(perp_simulation_derivatives(a, d), perp_simulation_derivatives(b, e));
        assert_memory_equal(d, e, (size_t)columns * sizeof *d);
    }
    assert_int_equal(perp_simulation_steps(b), perp_simulation_steps(a));
    perp_simulation_destroy(a);
    perp_simulation_destroy(b);
    perp_model_destroy(m);
    free(d);
}

/* A mass lifts off a stop between steps 981 and 982: behind that its gap is nothing beside its terms for a while, and no kink, also where the run goes on from there. */
static void gaps_that_have_just_opened_are_no_kinks_behind_a_snapshot(void **state)
{
    (void)state;
    static const perp_integrator methods[] = {PERP_RADAU3, PERP_RADAU5, PERP_RADAU7};
    for (int i = 0; i < 3; i++) {
        perp_model *m = parse_model(
            "param c = 1, m = 2\nstate x = 1, v = 0\nvar p\nder(x) = v\n"
            "m*der(v) = 20*t - m*9.819 + p\n0 <= p perp x - c >= 0\nsimulate to 1 step 1e-3\n");
        perp_simulation *a = create(m, methods[i], 0, 0);
        const char *name = "m";
        double row[8], since;
        assert_int_equal(perp_simulation_follow(a, 1, &name, NULL), PERP_OK);
        size_t size = perp_simulation_snapshot_size(a);
        unsigned char *bytes = malloc(size);
        assert_non_null(bytes);
        for (int k = 0; k < 988; k++) {
            step(a, row);
            if (k < 977) continue;
            perp_simulation *b = create(m, methods[i], 0, 0);
            assert_int_equal(perp_simulation_follow(b, 1, &name, NULL), PERP_OK);
            assert_int_equal(perp_simulation_snapshot(a, bytes, size), PERP_OK);
            assert_int_equal(perp_simulation_restore(b, bytes, size, NULL), PERP_OK);
            for (int n = 0; n < 10; n++) step(b, row);
            assert_int_equal(perp_simulation_derivative_kind(b, 0, &since),
                             PERP_DERIVATIVE_DIFFERENTIABLE);
            perp_simulation_destroy(b);
        }
        perp_simulation_destroy(a);
        perp_model_destroy(m);
        free(bytes);
    }
}

/* Models with something to set: of the first conditions read what a state was before; the second is driven. */
static const char *const driven[] = {
    "model kept\nparam p = 0.9\nstate x = -0.281\nvar f, g\n"
    "0 <= f perp x + 0.5*pre(x) >= 0 when x <= 0\ng = sin(x)\nder(x) = -x + p + f + 0.1*g\n"
    "simulate to 0.6 step 0.01\n",
    "model cart\nparam m = 2, mu = 0.1, weight = m*9.81\ninput F\nstate x = 0, v = 1\nvar f\n"
    "der(x) = v\nm*der(v) = F - 30*x + f\n-mu*weight <= f <= mu*weight perp v\n"
    "simulate to 0.6 step 0.01\n",
};

enum { DONE = 40 };

/* The k-th thing that is done to a run: it depends on k alone. Its status, and the row behind it. */
static int go(perp_simulation *sim, int k, double *row)
{
    perp_status status;
    seed = 77 + (unsigned long long)k;
    int what = draw(8), much = draw(100);
    if (what == 0)
        status = perp_simulation_set_parameter(sim, 0, 0.5 + 0.01 * much);
    else if (what == 1)
        status = perp_simulation_set_input(sim, 0, 0.4 * much - 20);
    else if (what == 2)
        status = perp_simulation_set_state(sim, 0, 0.01 * much - 0.5);
    else if (what == 3)
        status = simulation_advance(sim, perp_simulation_time(sim) + 2e-4 * much, NULL, NULL);
    else
        status = simulation_step(sim, NULL, NULL);
    perp_simulation_row(sim, row);
    return (int)status;
}

static void expect_the_same(perp_simulation *sim, int from, const int *status, const double *wanted)
{
    double row[8];
    size_t columns = (size_t)perp_simulation_columns(sim);
    for (int k = from; k < DONE; k++) {
        assert_int_equal(go(sim, k, row), status[k]);
        if (memcmp(row, wanted + 8 * k, columns * sizeof *row) != 0)
            fail_msg("%s from %d: %d is another", perp_integrator_name(perp_simulation_method(sim)),
                     from, k);
    }
}

/* Parameters, inputs and states that are set on the way, and steps of other lengths. */
static void driven_runs_go_on_the_same(void **state)
{
    (void)state;
    static const int from[] = {1, 9, 18, 30};
    for (int i = 0; i < 4 * PERP_INTEGRATOR_COUNT; i++) {
        perp_model *m = parse_model(driven[i % 2]);
        perp_simulation_options o = perp_simulation_options_default(m);
        o.integrator = (perp_integrator)(i / 4), o.accuracy = i / 2 % 2 ? 1e-4 : 0;
        o.ninput = o.nparameter = PERP_ALL;
        perp_simulation *sim, *fresh, *clone;
        double row[8 * DONE] = {0};
        int status[DONE];
        assert_int_equal(perp_simulation_create(m, &o, &sim, NULL), PERP_OK);
        size_t size = perp_simulation_snapshot_size(sim);
        unsigned char *bytes = malloc(2 * size), *again = bytes + size;
        assert_true(bytes && perp_simulation_columns(sim) <= 8);
        for (int place = 0; place < 4; place++) {
            perp_simulation_reset(sim);
            for (int k = 0; k < DONE; k++) {
                if (k == from[place]) {
                    assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
                    assert_int_equal(perp_simulation_clone(sim, &clone, NULL), PERP_OK);
                }
                status[k] = go(sim, k, row + 8 * k);
            }
            assert_int_equal(perp_simulation_create(m, &o, &fresh, NULL), PERP_OK);
            assert_int_equal(perp_simulation_restore(fresh, bytes, size, NULL), PERP_OK);
            assert_int_equal(perp_simulation_snapshot(fresh, again, size), PERP_OK);
            assert_memory_equal(again, bytes, size);
            expect_the_same(clone, from[place], status, row);
            expect_the_same(fresh, from[place], status, row);
            perp_simulation_destroy(clone);
            perp_simulation_destroy(fresh);
        }
        free(bytes);
        perp_simulation_destroy(sim);
        perp_model_destroy(m);
    }
}

static void expect_refusal(perp_simulation *sim, const void *bytes, size_t size, const char *word)
{
    perp_diag diag = {0};
    assert_int_equal(perp_simulation_restore(sim, bytes, size, &diag), PERP_ERR_DATA);
    if (!strstr(perp_diag_text(&diag), word))
        fail_msg("'%s' is not in: %s", word, perp_diag_text(&diag));
    perp_diag_clear(&diag);
}

static void what_is_no_snapshot_of_this_simulation_is_refused(void **state)
{
    (void)state;
    perp_model *m = load_model("notes/particle.perp"), *other = load_model("notes/particle.perp");
    perp_simulation *sim = create(m, PERP_BACKWARD_EULER, 0, 0),
                    *theta = create(m, PERP_THETA, 0, 0), *changed;
    size_t size = perp_simulation_snapshot_size(sim);
    unsigned char *bytes = malloc(size), *wrong = malloc(size);
    double row[2][16];
    assert_true(bytes && wrong && perp_simulation_columns(sim) <= 16);
    for (int k = 0; k < 500; k++) step(sim, row[0]);
    assert_int_equal(perp_simulation_snapshot(sim, bytes, size - 1), PERP_ERR_ARG);
    assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
    for (int k = 0; k < 9; k++) step(sim, row[0]);
    expect_refusal(sim, bytes, 10, "too short");
    expect_refusal(sim, bytes, size - 1, "not complete");
    expect_refusal(theta, bytes, size, "another model, or of a simulation with other options");
    set_value(other, "m", 2);
    changed = create(other, PERP_BACKWARD_EULER, 0, 0);
    expect_refusal(changed, bytes, size, "another model");
    for (size_t i = 0; i < size; i++) { /* each single byte counts */
        memcpy(wrong, bytes, size);
        wrong[i] ^= (unsigned char)(1 + i % 255);
        expect_refusal(sim, wrong, size, "");
    }
    step(sim, row[0]); /* nothing was changed */
    assert_int_equal(perp_simulation_restore(sim, bytes, size, NULL), PERP_OK);
    for (int k = 0; k < 10; k++) step(sim, row[1]);
    assert_memory_equal(row[0], row[1], (size_t)perp_simulation_columns(sim) * sizeof(double));
    perp_simulation_destroy(sim);
    perp_simulation_destroy(theta);
    perp_simulation_destroy(changed);
    perp_model_destroy(m);
    perp_model_destroy(other);
    free(bytes);
    free(wrong);
}

/* Derivatives are by the names that a simulation follows, in its order. */
static void snapshots_are_of_simulations_that_follow_the_same(void **state)
{
    (void)state;
    static const char *const by[][2] = {{"m", "mu"}, {"m", "mu"}, {"mu", "m"}, {"m", "k"},
                                        {"m", "x"},  {"x", "v"},  {"v", "x"},  {"m"}};
    enum { N = sizeof by / sizeof *by };
    perp_model *m =
        parse_model("param m = 2, mu = 0.1, k = 3\nstate x = 0, v = 1\nvar f\nder(x) = v\n"
                    "m*der(v) = f - k*x\n-mu <= f <= mu perp v\nsimulate to 1 step 0.1\n");
    for (int method = 0; method < 2; method++) {
        perp_simulation *sim[N];
        double row[8];
        for (int i = 0; i < N; i++) {
            sim[i] = create(m, method ? PERP_RADAU5 : PERP_BACKWARD_EULER, 0, 0);
            assert_int_equal(perp_simulation_follow(sim[i], by[i][1] ? 2 : 1, by[i], NULL),
                             PERP_OK);
        }
        for (int i = 0; i < N; i++) {
            size_t own = perp_simulation_snapshot_size(sim[i]);
            void *bytes = malloc(own);
            step(sim[i], row);
            assert_int_equal(perp_simulation_snapshot(sim[i], bytes, own), PERP_OK);
            for (int k = 0; k < N; k++) {
                if (k == i || (k < 2 && i < 2))
                    assert_int_equal(perp_simulation_restore(sim[k], bytes, own, NULL), PERP_OK);
                else
                    expect_refusal(sim[k], bytes, own, "derivatives");
            }
            free(bytes);
        }
        for (int i = 0; i < N; i++) perp_simulation_destroy(sim[i]);
    }
    perp_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restored_runs_take_the_steps_of_the_run),
        cmocka_unit_test(the_cache_decides_nothing),
        cmocka_unit_test(derivatives_and_the_end_are_the_same),
        cmocka_unit_test(gaps_that_have_just_opened_are_no_kinks_behind_a_snapshot),
        cmocka_unit_test(driven_runs_go_on_the_same),
        cmocka_unit_test(snapshots_are_of_simulations_that_follow_the_same),
        cmocka_unit_test(what_is_no_snapshot_of_this_simulation_is_refused),
    };
    return run_all(tests);
}
