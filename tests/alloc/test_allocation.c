/* Memory: a step allocates nothing but room for a mode that it meets for the first time, a solve nothing at all, and when any single allocation fails the call says
 * so and leaks nothing. */

#include "cli.h"
#include "failing_malloc.h"
#include "unit.h"

#include "perp/perp.h"
#include "simulate/step.h"
#include "outcomes.h"

#include <stdio.h>

static const char text[] =
    "model everything\n"
    "param m = 1 \"kg\", k = 2*m, r[2,2] = [[1, 2], [3, 4]]\n"
    "input F = sin(t)\n"
    "input u\n"
    "state x = 1, v = 0\n"
    "var lam, f, a[2]\n"
    "der(x) = v\n"
    "m*der(v) = F + u + lam + f - 10 + sum(i in 1..2, a[i])\n"
    "for i in 1..2 { a[i] = r[i,1]*pre(x) }\n"
    "0 <= lam perp x >= 0\n"
    "-1 <= f <= 1 perp v when x <= 0.5\n"
    "output e = m*v^2/2\n"
    "use \"friction\"\n"
    "input s = t, s2 = s + 1\n"
    "let c = d[1].y + d[2].y + 0*s2*lookup([0, 1, 2], [1, 2, 4], x, \"smooth\")\n"
    "function push(a, s) = twice(s)*a.y\n"
    "function twice(s) = 2*s\n"
    "part Dot(y = 0.5, force = 1, of) {\n"
    " sum G \"1\"\n state z = [1, 2]\n let w = z[1..2] @ [1, 2]\n der(z) = [G, of - w]\n}\n"
    "Dot d[i in 1..2](y = 0.1*i, of = x, z = [1, i])\n"
    "param on = 1\nif on > 0 { for i in 1..2 { d[i].G += push(d[1], 0.5) - d[i].z[1] - c } }\n"
    "simulate to 1 step 0.01\n";
static const char csv[] = "# unit u = N\nt,u\n0,0\n2,1\n";

/* Everything a user does; the first status that is not PERP_OK. */
static perp_status whole_story(perp_diag *diag)
{
    perp_model *model = NULL;
    perp_trajectory *table = NULL;
    perp_simulation *sim = NULL;
    const perp_setting set = {"on", 1};
    const perp_model_options how = {.set = &set, .nset = 1};
    perp_status status =
        perp_model_parse_with(text, sizeof text - 1, "everything.perp", &how, &model, diag);
    if (status == PERP_OK) status = perp_model_set(model, "s", 3, diag);
    if (status == PERP_OK)
        status = perp_trajectory_parse(csv, sizeof csv - 1, "u.csv", &table, diag);
    if (status == PERP_OK)
        status = perp_model_set_input_table(model, "u", table, NULL, "u.csv", diag);
    if (status == PERP_OK) status = perp_model_set(model, "m", 2, diag);
    if (status == PERP_OK) {
        perp_simulation_options o = perp_simulation_options_default(model);
        if (o.step != 0.01 || o.to != 1) fail_msg("the settings are another step, %g", o.step);
        status = perp_simulation_create(model, &o, &sim, diag);
    }
    static const char *const followed[] = {"m", "r[1,1]"};
    if (status == PERP_OK) status = perp_simulation_follow(sim, 2, followed, diag);
    perp_check_report report = {.size = sizeof report};
    if (status == PERP_OK) status = perp_check(model, NULL, &report, diag);
    perp_time_scales scales = {.size = sizeof scales};
    if (status == PERP_OK) status = perp_time_scales_find(model, NULL, &scales, diag);
    if (status == PERP_OK) status = simulation_run(sim, NULL, NULL, diag);
    perp_simulation_destroy(sim);
    perp_trajectory_destroy(table);
    perp_model_destroy(model);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    perp_diag whole = {0};
    allocations = 0;
    if (whole_story(&whole) != PERP_OK) fail_msg("%s", perp_diag_text(&whole));
    long n = allocations;
    for (long k = 1; k <= n; k++) {
        perp_diag diag = {0};
        long before = live;
        allocations = 0;
        fail_at = k;
        perp_status status = whole_story(&diag);
        fail_at = 0;
        if (status != PERP_OK && !diag.errors)
            fail_msg("allocation %ld failed and nothing was said", k);
        if (status == PERP_OK && !diag.lost &&
            strcmp(perp_diag_text(&diag), perp_diag_text(&whole)) != 0)
            fail_msg("allocation %ld failed: a part of the text is missing, and nothing says so",
                     k);
        perp_diag_clear(&diag);
        if (live != before) fail_msg("allocation %ld failed: %ld blocks leaked", k, live - before);
        if (status != PERP_OK && status != PERP_ERR_MEMORY)
            fail_msg("allocation %ld failed: %s", k, perp_status_name(status));
    }
    assert_true(n > 100);
    assert_non_null(whole.text); /* a warning, which may be lost */
    perp_diag_clear(&whole);
}

/* Lines longer than a block make the reader's memory grow. */
static void a_table_in_a_file_survives_failing_allocations(void **state)
{
    (void)state;
    enum { COLUMNS = 30000 };
    const char *path = cli_path("long.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int c = 0; c < COLUMNS; c++) fprintf(file, "c%d%c", c, c + 1 < COLUMNS ? ',' : '\n');
    for (int c = 0; c < COLUMNS; c++) fprintf(file, "%d%c", c, c + 1 < COLUMNS ? ',' : '\n');
    assert_int_equal(fclose(file), 0);
    perp_trajectory *table;
    long n = COLUMNS + 100, refused = 0, before = live;
    for (long k = 1; k <= n; k += k < 60 ? 1 : 997) { /* then the columns, one by one */
        perp_diag diag = {0};
        allocations = 0;
        fail_at = k;
        perp_status status = perp_trajectory_read(path, &table, &diag);
        fail_at = 0;
        if (status != PERP_OK && (status != PERP_ERR_MEMORY || diag.errors != 1 || table))
            fail_msg("allocation %ld failed: %s, %s", k, perp_status_name(status),
                     perp_diag_text(&diag));
        refused += status != PERP_OK;
        perp_trajectory_destroy(table);
        perp_diag_clear(&diag);
        if (live != before) fail_msg("allocation %ld failed: %ld blocks leaked", k, live - before);
    }
    assert_true(refused > 80);
}

/* The same steps again, when all modes have been met: how many allocations? */
static long allocations_of_a_second_run(perp_simulation *sim)
{
    perp_diag diag = {0};
    double row[32];
    long steps = perp_simulation_steps(sim), before;
    perp__simulation_restart(sim, 0, steps);
    before = allocations;
    for (long k = 0; k < steps; k++) {
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        perp_simulation_row(sim, row);
        assert_true(perp_simulation_derivatives(sim, row) >= 0);
    }
    return allocations - before;
}

static void a_step_allocates_nothing_but_new_modes(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim;
    const char *models[] = {"notes/particle.perp", "notes/sliding_traditional.perp",
                            "notes/sliding_one_line.perp", "blog/particle.perp"};
    for (int i = 0; i < 4; i++) {
        char path[1024];
        double row[32];
        const char *first;
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/examples/%s", models[i]);
        assert_int_equal(perp_model_load(path, &model, &diag), PERP_OK);
        assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
        assert_true(perp_simulation_columns(sim) <= 32);
        first = perp_model_symbol(model, PERP_PARAM, 0).name;
        assert_int_equal(perp_simulation_follow(sim, 1, &first, &diag), PERP_OK);
        long before = allocations;
        for (long k = 0; k < perp_simulation_steps(sim); k++) {
            assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
            perp_simulation_row(sim, row);
            assert_true(perp_simulation_derivatives(sim, row) != PERP_ERR_ARG);
        }
        assert_true(allocations - before <= 8);
        assert_int_equal(allocations_of_a_second_run(sim), 0);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

static void a_step_whose_coefficients_change_allocates_nothing(void **state)
{
    (void)state;
    const char *source = "state v = 1, m = 1\nvar f\npre(m)*der(v) = f - v/2\nder(m) = 0.1\n-1 <= "
                         "f <= 1 perp v\nsimulate to 1 step 0.01\n";
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim;
    if (perp_model_parse(source, strlen(source), "changing.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", diag.text);
    if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) fail_msg("%s", diag.text);
    long before = allocations;
    while (simulation_summary(sim).steps < 100)
        assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
    assert_true(allocations - before <= 2); /* one mode and one elimination, which change */
    assert_int_equal(allocations_of_a_second_run(sim), 0);
    assert_true(simulation_summary(sim).eliminations > 1);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A controller, a filter: values read and set, parts of steps, snapshots there and back. */
static void use_in_hand(perp_simulation *sim, unsigned char *bytes, size_t size)
{
    perp_simulation_reset(sim);
    for (int k = 0; k < 90; k++) {
        double v = perp_simulation_state(sim, 1) + perp_simulation_value(sim, 3);
        assert_int_equal(perp_simulation_set_input(sim, 1, isnan(v) ? 0 : -v), PERP_OK);
        if (k == 30) assert_int_equal(perp_simulation_set_parameter(sim, 0, 3), PERP_OK);
        if (k == 50) assert_int_equal(perp_simulation_set_state(sim, 1, 1), PERP_OK);
        assert_int_equal(simulation_step(sim, NULL, NULL), PERP_OK);
        assert_int_equal(perp_simulation_snapshot(sim, bytes, size), PERP_OK);
        assert_int_equal(perp_simulation_restore(sim, bytes, size, NULL), PERP_OK);
        assert_true(perp_simulation_find_column(sim, "lam") > 0);
    }
    assert_int_equal(simulation_advance(sim, 0.9312, NULL, NULL), PERP_OK);
}

static void a_loop_of_a_controller_allocates_nothing(void **state)
{
    (void)state;
    perp_model *model;
    perp_simulation *sim;
    perp_diag diag = {0};
    assert_int_equal(perp_model_parse(text, sizeof text - 1, "hand.perp", &model, &diag), PERP_OK);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.ninput = o.nparameter = PERP_ALL;
    assert_int_equal(perp_simulation_create(model, &o, &sim, &diag), PERP_OK);
    size_t size = perp_simulation_snapshot_size(sim);
    unsigned char *bytes = malloc(size);
    use_in_hand(sim, bytes, size);
    long before = allocations;
    use_in_hand(sim, bytes, size);
    assert_int_equal(allocations, before);
    free(bytes);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* A copy that finds no memory says so and leaves nothing behind; the next one goes on. */
static void a_clone_survives_failing_allocations(void **state)
{
    (void)state;
    const char *models[] = {"mechanics/square.perp", "mechanics/stack.perp", "mechanics/disc.perp"};
    for (int i = 0; i < 3; i++) {
        perp_model *model;
        perp_simulation *sim, *clone;
        perp_diag diag = {0};
        char path[1024];
        snprintf(path, sizeof path, PERP_SOURCE_DIR "/examples/%s", models[i]);
        assert_int_equal(perp_model_load(path, &model, &diag), PERP_OK);
        assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
        const char *first = perp_model_symbol(model, PERP_PARAM, 0).name;
        assert_int_equal(perp_simulation_follow(sim, 1, &first, &diag), PERP_OK);
        for (int k = 0; k < 40; k++) assert_int_equal(simulation_step(sim, NULL, &diag), PERP_OK);
        perp_status status = PERP_ERR_MEMORY;
        for (long k = 1; status != PERP_OK; k += k < 200 ? 1 : 97) {
            long before = live;
            allocations = 0;
            fail_at = k;
            status = perp_simulation_clone(sim, &clone, &diag);
            fail_at = 0;
            if (status == PERP_OK) break;
            assert_int_equal(status, PERP_ERR_MEMORY);
            assert_true(diag.errors || diag.lost);
            assert_null(clone);
            perp_diag_clear(&diag);
            assert_int_equal(live, before);
            assert_true(k < 100000);
        }
        assert_int_equal(simulation_step(clone, NULL, &diag), PERP_OK);
        perp_simulation_destroy(clone);
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
    }
}

/* Load, create, run through impacts, copy: everything of a method that locates events. */
static perp_status story_with_events(void *given, perp_diag *diag)
{
    const char *name = *(const char **)given;
    perp_model *model = NULL;
    perp_simulation *sim = NULL, *copy = NULL;
    char path[1024];
    snprintf(path, sizeof path, PERP_SOURCE_DIR "/tests/data/events/%s.perp", name);
    perp_status status = perp_model_load(path, &model, diag);
    if (status == PERP_OK) {
        perp_simulation_options o = perp_simulation_options_default(model);
        o.step = 0.05, o.to = 1.3;
        if (strcmp(name, "wheel") == 0) o.accuracy = 1e-5; /* in parts */
        status = perp_simulation_create(model, &o, &sim, diag);
    }
    const char *const followed[] = {"e", strcmp(name, "balls") == 0 ? "z[1]" : "z"};
    if (status == PERP_OK && strcmp(name, "wheel") != 0)
        status = perp_simulation_follow(sim, 2, followed, diag);
    if (status == PERP_OK) status = simulation_run(sim, NULL, NULL, diag);
    if (status == PERP_OK) status = perp_simulation_clone(sim, &copy, diag);
    perp_simulation_destroy(copy);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

/* Derivatives of a stretch, forward and backward. */
static perp_status story_of_a_stretch(void *given, perp_diag *diag)
{
    const perp_integrator *by = given;
    static const char block[] = "param m = 1\ninput u\nstate x = 0, v = 1\nvar f\nder(x) = v\n"
                                "m*der(v) = u + f\n-3 <= f <= 3 perp v\nsimulate to 1 step 0.01\n";
    perp_model *model = NULL;
    perp_simulation *sim = NULL;
    double value[10], gradient[10], state[2], parameter[1], row[16], weight[16] = {0, 1, 1};
    for (int k = 0; k < 10; k++) value[k] = gradient[k] = 0.1 * k;
    state[0] = state[1] = parameter[0] = 1;
    const perp_run_change change = {state, parameter, gradient};
    perp_derivative_kind kind;
    perp_run_stretch s = {sizeof s, 10, 1, (const int[]){0}, value, 1, (const int[]){0}, 0, &kind};
    perp_status status = perp_model_parse(block, sizeof block - 1, "block.perp", &model, diag);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.ninput = o.nparameter = PERP_ALL;
    o.integrator = *by;
    if (status == PERP_OK) status = perp_simulation_create(model, &o, &sim, diag);
    if (status == PERP_OK) assert_true(perp_simulation_columns(sim) <= 16);
    if (status == PERP_OK) status = perp_simulation_jvp(sim, &s, &change, row, diag);
    if (status == PERP_OK) status = perp_simulation_vjp(sim, &s, weight, &change, diag);
    if (status == PERP_OK) status = simulation_step(sim, NULL, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

static void stretches_survive_failing_allocations(void **state)
{
    (void)state;
    perp_integrator by[] = {PERP_BACKWARD_EULER, PERP_RADAU5};
    for (int i = 0; i < 2; i++) tell_each(story_of_a_stretch, &by[i], 1);
}

/* How far the end is from the motion's: beside runs that carry differences along, and of a model with many pairs, beside longer steps. */
static perp_status story_of_an_estimate(void *given, perp_diag *diag)
{
    const char *of = given;
    perp_model *model = NULL;
    perp_simulation *sim = NULL;
    double error[32], unsure[32];
    perp_status status = perp_model_parse(of, strlen(of), "run.perp", &model, diag);
    perp_simulation_options o = perp_simulation_options_default(model);
    if (status == PERP_OK) status = perp_simulation_create(model, &o, &sim, diag);
    if (status == PERP_OK) status = simulation_run(sim, NULL, NULL, diag);
    if (status == PERP_OK) status = perp_simulation_estimate(sim, 2, error, unsure, NULL, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

static void estimates_survive_failing_allocations(void **state)
{
    (void)state;
    static char block[] = "state x = 0, v = 1\nvar f\nder(x) = v\nder(v) = 4*sin(9*t) - x + f\n"
                          "-1 <= f <= 1 perp v\nsimulate to 1 step 0.01\n",
                many[] = "state x[14] = 1, v[14] = 0\nvar p[14]\n"
                         "for i in 1..14 {\n der(x[i]) = v[i]\n der(v[i]) = p[i] - i\n"
                         " 0 <= p[i] perp v[i] >= 0 when x[i] <= 0\n}\n"
                         "simulate to 1 step 0.01 method backward-euler\n";
    tell_each(story_of_an_estimate, block, 1);
    tell_each(story_of_an_estimate, many, 1);
}

/* A start is looked at and moved. */
static perp_status story_of_a_start(void *given, perp_diag *diag)
{
    (void)given;
    static const char loop[] =
        "state x = 1.1, y = -0.1, u = 0, v = 1\nvar s, p\nder(x) = u\nder(y) = v\n"
        "der(u) = -s*x\nder(v) = p - s*y\nx^2 + y^2 = 1\n0 <= y perp p >= 0\n"
        "simulate to 1 step 0.1\n";
    perp_model *model = NULL;
    perp_simulation *sim = NULL;
    perp_status status = perp_model_parse(loop, strlen(loop), "start.perp", &model, diag);
    if (status == PERP_OK) status = perp_simulation_create(model, NULL, &sim, diag);
    if (status == PERP_OK && perp_simulation_inspect_start(sim, NULL) < 0)
        status = PERP_ERR_MEMORY, diag->lost = 1;
    if (status == PERP_OK) status = perp_simulation_project(sim, NULL, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    return status;
}

static void starts_survive_failing_allocations(void **state)
{
    (void)state;
    tell_each(story_of_a_start, NULL, 1);
}

static void events_survive_failing_allocations(void **state)
{
    (void)state;
    const char *models[] = {"ball", "balls",
                            "wheel"}; /* of a dense matrix, a sparse one, in parts */
    for (int i = 0; i < 3; i++) {
        print_message("%s\n", models[i]);
        tell_each(story_with_events, &models[i], i ? 997 : 7);
    }
}

/* The same of a batch; its steps allocate nothing once modes are there. */
static void a_batch_survives_failing_allocations(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    perp_model *model;
    perp_batch *batch;
    perp_diag diag = {0};
    perp_status status = PERP_ERR_MEMORY;
    assert_int_equal(
        perp_model_load(PERP_SOURCE_DIR "/examples/notes/sliding_traditional.perp", &model, &diag),
        PERP_OK);
    assert_int_equal(perp_batch_create(model, NULL, COUNT, 1, &batch, &diag), PERP_OK);
    perp_batch_destroy(batch); /* the model keeps what all share */
    for (long k = 1; status != PERP_OK; k++) {
        long before = live;
        allocations = 0;
        fail_at = k;
        status = perp_batch_create(model, NULL, COUNT, 1, &batch, &diag);
        fail_at = 0;
        if (status == PERP_OK) break;
        assert_int_equal(status, PERP_ERR_MEMORY);
        assert_true(diag.errors || diag.lost);
        perp_diag_clear(&diag);
        assert_null(batch);
        assert_int_equal(live, before);
    }
    assert_int_equal(batch_step(batch, 3000, &diag), PERP_OK);
    perp_batch_reset(batch, NULL);
    long before = allocations;
    assert_int_equal(batch_step(batch, 3000, &diag), PERP_OK);
    assert_int_equal(allocations, before);
    perp_batch_destroy(batch);
    perp_model_destroy(model);
}

/* Where there is no room for a mode the step fails, leaves the simulation as it was, and can be taken later. */
static void a_step_without_memory_can_be_taken_again(void **state)
{
    (void)state;
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim[2];
    double row[2][32];
    int refused = 0;
    assert_int_equal(
        perp_model_load(PERP_SOURCE_DIR "/examples/notes/particle.perp", &model, &diag), PERP_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(perp_simulation_create(model, NULL, &sim[i], &diag), PERP_OK);
    for (long k = 0; k < perp_simulation_steps(sim[0]); k++) {
        allocations = 0;
        fail_at = 1;
        perp_status status = simulation_step(sim[0], NULL, &diag);
        fail_at = 0;
        assert_true(status == PERP_OK || status == PERP_ERR_MEMORY);
        refused += status == PERP_ERR_MEMORY;
        if (status != PERP_OK) assert_int_equal(simulation_step(sim[0], NULL, &diag), PERP_OK);
        assert_int_equal(simulation_step(sim[1], NULL, &diag), PERP_OK);
        for (int i = 0; i < 2; i++) perp_simulation_row(sim[i], row[i]);
        for (int c = 0; c < perp_simulation_columns(sim[0]); c++)
            assert_near(row[0][c], row[1][c], 1e-12);
    }
    assert_true(refused > 1);
    for (int i = 0; i < 2; i++) perp_simulation_destroy(sim[i]);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
}

/* Runs of a model in which every allocation fails once: each goes on by other means, or says so; nothing leaks. Its summary is that of
 * the last, in which none failed. */
static perp_simulation_summary run_without_memory(const char *source)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation_summary summary = {.size = sizeof summary};
    long k = 0;
    int out_of_memory = 0, failed = 1;
    if (perp_model_parse(source, strlen(source), "model.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    perp_simulation *first; /* the model keeps what all share */
    assert_int_equal(perp_simulation_create(model, NULL, &first, &diag), PERP_OK);
    perp_simulation_destroy(first);
    while (failed) {
        perp_simulation *sim;
        assert_int_equal(perp_simulation_create(model, NULL, &sim, &diag), PERP_OK);
        allocations = 0;
        fail_at = ++k;
        perp_status status = simulation_run(sim, NULL, NULL, &diag);
        failed = allocations >= fail_at;
        fail_at = 0;
        assert_true(status == PERP_OK || status == PERP_ERR_MEMORY);
        out_of_memory += status == PERP_ERR_MEMORY;
        summary = simulation_summary(sim);
        perp_simulation_destroy(sim);
        perp_diag_clear(&diag);
        assert_true(k < 10000);
    }
    assert_true(k > 10 && out_of_memory > 0);
    perp_model_destroy(model);
    return summary;
}

/* Two pads in one place: a friction problem at each step. */
static void redundant_cones_survive_failing_allocations(void **state)
{
    (void)state;
    long before = live;
    perp_simulation_summary s =
        run_without_memory("state v[2] = 0\nvar f[2], k[2]\nder(v[1]) = f[1] + k[1] + t\n"
                           "der(v[2]) = f[2] + k[2] + t\nfriction(f = f, v = v, bound = 1)\n"
                           "friction(f = k, v = v, bound = 1)\n"
                           "simulate to 2 step 0.1\n");
    assert_true(s.friction_problems > 3);
    assert_int_equal(live, before);
}

static void a_solve_allocates_nothing(void **state)
{
    (void)state;
    double M[9] = {1, -1, -1, -1, 1, -1, 1, 1, 0}, q[3] = {3, -3, 1}, z[3], w[3];
    perp_lcp lcp = {3, M, 3, q, NULL, NULL};
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        perp_lcp_solver *solver;
        if (m == PERP_LCP_NLP) continue; /* its library allocates */
        assert_int_equal(perp_lcp_solver_create((perp_lcp_method)m, 3, NULL, &solver), PERP_OK);
        long before = allocations;
        for (int k = -8; k <= 8; k++) {
            q[0] = k, q[1] = -k;
            assert_int_equal(perp_lcp_solve(solver, &lcp, z, w, NULL), PERP_OK);
        }
        assert_int_equal(allocations, before);
        perp_lcp_solver_destroy(solver);
    }
}

static void batches_bounds_and_derivatives_allocate_nothing(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static double M[COUNT * 9], q[COUNT * 3], z[COUNT * 3];
    const double lo[3] = {-1, 0, 0}, hi[3] = {1, 2, 3};
    for (int e = 0; e < COUNT * 9; e++) M[e] = e % 9 % 4 == 0 ? 2 : sin(e);
    for (int e = 0; e < COUNT * 3; e++) q[e] = cos(e);
    perp_lcp_batch_solver *batch;
    perp_lcp_batch b = {.count = COUNT, .n = 3, .M = M, .q = q};
    assert_int_equal(perp_lcp_batch_solver_create(PERP_LCP_AUTO, 3, 1, NULL, &batch), PERP_OK);
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_AUTO);
    perp_lcp_solver *solver;
    perp_lcp lcp = {3, M, 3, q, lo, hi};
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp_sensitivity how;
    o.mixed = 1;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_AUTO, 3, &o, &solver), PERP_OK);
    long before = allocations;
    assert_int_equal(perp_lcp_solve_batch(batch, &b, z, NULL, NULL), PERP_OK);
    assert_int_equal(perp_lcp_solve(solver, &lcp, z, NULL, &info), PERP_OK);
    assert_int_equal(info.outcome, PERP_SOLVED);
    assert_int_equal(perp_lcp_differentiate(solver, &lcp, &how), PERP_OK);
    assert_int_equal(perp_lcp_vjp(solver, q, z, NULL), PERP_OK);
    assert_int_equal(allocations, before);
    perp_lcp_solver_destroy(solver);
    perp_lcp_batch_solver_destroy(batch);
}

/* 0 <= z perp z^2 + z - 1 in both unknowns */
static int square(void *context, const double *z, double *w)
{
    (void)context;
    for (int i = 0; i < 2; i++) w[i] = z[i] * z[i] + z[i] - 1;
    return 0;
}

static int square_slope(void *context, const double *z, double *J)
{
    (void)context;
    for (int e = 0; e < 4; e++) J[e] = e % 3 ? 0 : 2 * z[e / 3] + 1;
    return 0;
}

static void nonlinear_problems_allocate_nothing(void **state)
{
    (void)state;
    perp_mcp p = {.n = 2, .F = square, .J = square_slope};
    for (int m = 0; m < PERP_MCP_METHOD_COUNT; m++) {
        perp_mcp_solver *solver = NULL;
        perp_mcp_info info = {.size = sizeof info};
        double z[2] = {3, 0};
        perp_status status = PERP_ERR_MEMORY;
        for (long k = 1; status != PERP_OK; k++) {
            long start = live;
            allocations = 0, fail_at = k;
            status = perp_mcp_solver_create((perp_mcp_method)m, &p, NULL, &solver);
            fail_at = 0;
            assert_true(status == PERP_OK || (status == PERP_ERR_MEMORY && live == start));
        }
        long before = allocations;
        assert_int_equal(perp_mcp_solve(solver, &p, z, NULL, &info), PERP_OK);
        assert_int_equal(info.outcome, PERP_SOLVED);
        assert_true(fabs(z[0] - (sqrt(5) - 1) / 2) < 1e-9);
        assert_int_equal(allocations, before);
        perp_mcp_solver_destroy(solver);
    }
}

static void failing_solver_creation_leaks_nothing(void **state)
{
    (void)state;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        perp_status status = PERP_ERR_MEMORY;
        for (long k = 1; status != PERP_OK; k++) {
            perp_lcp_solver *solver;
            long before = live;
            allocations = 0;
            fail_at = k;
            perp_lcp_options o = perp_lcp_options_default((perp_lcp_method)m);
            o.mixed = 1;
            status = perp_lcp_solver_create((perp_lcp_method)m, 10, &o, &solver);
            fail_at = 0;
            if (status == PERP_ERR_UNAVAILABLE) break;
            assert_true(status == PERP_OK || (status == PERP_ERR_MEMORY && solver == NULL));
            perp_lcp_solver_destroy(solver);
            assert_int_equal(live, before);
            assert_true(k < 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_table_in_a_file_survives_failing_allocations),
        cmocka_unit_test(a_step_allocates_nothing_but_new_modes),
        cmocka_unit_test(a_loop_of_a_controller_allocates_nothing),
        cmocka_unit_test(a_clone_survives_failing_allocations),
        cmocka_unit_test(stretches_survive_failing_allocations),
        cmocka_unit_test(estimates_survive_failing_allocations),
        cmocka_unit_test(starts_survive_failing_allocations),
        cmocka_unit_test(events_survive_failing_allocations),
        cmocka_unit_test(a_batch_survives_failing_allocations),
        cmocka_unit_test(a_step_without_memory_can_be_taken_again),
        cmocka_unit_test(a_step_whose_coefficients_change_allocates_nothing),
        cmocka_unit_test(redundant_cones_survive_failing_allocations),
        cmocka_unit_test(a_solve_allocates_nothing),
        cmocka_unit_test(batches_bounds_and_derivatives_allocate_nothing),
        cmocka_unit_test(nonlinear_problems_allocate_nothing),
        cmocka_unit_test(failing_solver_creation_leaks_nothing),
    };
    return run_all(tests);
}
