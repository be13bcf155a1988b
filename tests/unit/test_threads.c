/* What threads may do at once: parse models of their own; simulate, check, plan, identify and report on one const model, which
 * nothing writes to; solve by the method nlp; step a batch of bodies. Run under the thread sanitizer, too (make tsan). */

#include "model/model.h"
#include "recorded.h"
#include "outcomes.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8 };

static void together(void *(*work)(void *))
{
    pthread_t thread[THREADS];
    char *wrong[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], (void **)&wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        if (wrong[i]) fail_msg("%s", wrong[i]);
    }
}

static const char text[] =
    "param m = 1, mu = 0.4, g = 9.81\nstate x = 0, y = 0.05, vx = 1, vy = 0\nvar p, f, gap\n"
    "input u = 2*sin(9*t)\nder(x) = vx\nder(y) = vy\nm*der(vx) = f + u*cos(x)\nm*der(vy) = p - "
    "m*g\n"
    "gap = y + 0.01*sin(x)\n0 <= p perp gap >= 0\n-mu*p <= f <= mu*p perp vx\n"
    "output power = f*vx\nsimulate to 0.3 step 1e-2\n";

static const perp_model *shared;
static double expected[16];

/* The last row; NULL, or what is wrong. */
static char *simulate(const perp_model *model, double *row)
{
    perp_simulation *sim;
    if (perp_simulation_create(model, NULL, &sim, NULL) != PERP_OK) return "not created";
    perp_status status = simulation_run(sim, NULL, NULL, NULL);
    perp_simulation_row(sim, row);
    perp_simulation_destroy(sim);
    return status == PERP_OK ? NULL : "not run";
}

static void *simulate_shared(void *context)
{
    char *wrong = NULL;
    (void)context;
    for (int k = 0; k < 40 && !wrong; k++) {
        double row[16] = {0};
        perp_check_report report = {.size = sizeof report};
        wrong = simulate(shared, row);
        if (!wrong && memcmp(row, expected, sizeof row) != 0) wrong = "another row";
        if (!wrong && k % 4 == 0 && perp_check(shared, NULL, &report, NULL) != PERP_OK)
            wrong = "not checked";
    }
    return wrong;
}

static void one_model_is_simulated_by_many(void **state)
{
    (void)state;
    perp_model *model = parse_model(text);
    assert_null(simulate(model, expected));
    shared = model;
    together(simulate_shared);
    perp_model_destroy(model);
}

static void *simulate_own(void *context)
{
    char *wrong = NULL;
    (void)context;
    for (int k = 0; k < 40 && !wrong; k++) {
        double row[16] = {0};
        perp_model *model = NULL, *bad = NULL;
        perp_diag diag = {0};
        if (perp_model_parse(text, strlen(text), "own.perp", &model, NULL) != PERP_OK)
            return "not parsed";
        if (perp_model_parse("state x = 1\nder(x) = (2*y\n", 26, "bad.perp", &bad, &diag) ==
            PERP_OK)
            wrong = "parsed";
        perp_diag_clear(&diag);
        if (!wrong) wrong = simulate(model, row);
        if (!wrong && memcmp(row, expected, sizeof row) != 0) wrong = "another row";
        perp_model_destroy(model);
    }
    return wrong;
}

static void each_has_a_model_of_its_own(void **state)
{
    (void)state;
    perp_model *model = parse_model(text);
    assert_null(simulate(model, expected));
    perp_model_destroy(model);
    together(simulate_own);
}

/* One model in every engine ------------------------------------------------------------------- */

static const char study[] =
    "param m = 1 in [0.5, 2], mu = 0.4 in [0, 2], g = 9.81\nstate x = 0, v = 2\n"
    "input F = 3*sin(2*t) in [-20, 20]\nvar f\nder(x) = v\nm*der(v) = F + f\n"
    "-mu*m*g <= f <= mu*m*g perp v\noutput power = f*v\nsimulate to 1 step 0.02\n"
    "plan {\n horizon 1\n nodes 6\n minimize integral(F^2)\n at end: x = 1, v = 0\n free F in "
    "[-20, 20]\n"
    " guess simulate\n}\n"
    "identify {\n estimate mu, m\n measure x, v\n starts 2\n}\n"
    "draw {\n circle at (x, 0) radius 0.1\n}\n";

static perp_dataset *recorded;

enum { RESULTS = 64 };

/* An engine's numbers, or what is wrong. */
typedef char *engine(double *result);

static char *check_it(double *result)
{
    perp_check_report report = {.size = sizeof report};
    if (perp_check(shared, NULL, &report, NULL) != PERP_OK) return "not checked";
    result[0] = report.unknowns, result[1] = report.pairs, result[2] = report.coefficients;
    return NULL;
}

static char *simulate_it(double *result)
{
    return simulate(shared, result);
}

static char *plan_it(double *result)
{
    perp_plan_options o = perp_plan_options_default(shared);
    perp_plan *plan;
    perp_plan_result r = {.size = sizeof r};
    o.threads = 2;
    o.tries = 2;
    if (perp_plan_create(shared, &o, &plan, NULL) != PERP_OK) return "no plan";
    char *wrong = perp_plan_solve(plan, &r, NULL) == PERP_OK ? NULL : "not planned";
    if (!wrong && r.outcome > PERP_PLAN_FEASIBLE_ON_MESH) wrong = "not found";
    for (int k = 0; k < perp_plan_rows(plan) && !wrong; k++)
        perp_plan_row(plan, k, result + k * perp_plan_columns(plan));
    perp_plan_destroy(plan);
    return wrong;
}

static char *identify_it(double *result)
{
    perp_identify_options o;
    perp_identification found = {.size = sizeof found};
    if (perp_identify_options_default(shared, &o, NULL) != PERP_OK) return "no options";
    o.threads = 2;
    if (run_identify(shared, recorded, &o, &found, NULL) != PERP_OK) return "not identified";
    for (int i = 0; i < found.nparameter; i++)
        result[2 * i] = found.parameter[i].value, result[2 * i + 1] = found.parameter[i].low;
    perp_identification_clear(&found);
    return NULL;
}

static char *report_it(double *result)
{
    char path[] = "/tmp/perp-threads-XXXXXX";
    perp_report_run one = {.trajectory = perp_dataset_table(recorded, 0), .model = shared};
    int file = mkstemp(path);
    if (file < 0) return "no file";
    close(file);
    char *wrong = NULL;
    size_t length = 0;
    if (perp_report_write_svg(&one, 1, NULL, path, NULL) != PERP_OK) wrong = "no figure";
    if (!wrong && perp_report_has_page() &&
        perp_report_write_html(&one, 1, NULL, path, NULL) != PERP_OK)
        wrong = "no page";
    FILE *written = fopen(path, "r");
    for (int c; written && (c = getc(written)) != EOF; length++) result[length % RESULTS] += c;
    if (written) fclose(written);
    remove(path);
    return length > 1000 || wrong ? wrong : "an empty report";
}

static engine *const engines[] = {check_it, simulate_it, plan_it, identify_it, report_it};
enum { ENGINES = (int)(sizeof engines / sizeof *engines) };
static double alone[ENGINES][RESULTS];
static atomic_int number;

/* Every thread begins with another engine. */
static void *use_shared(void *context)
{
    int first = atomic_fetch_add(&number, 1);
    char *wrong = NULL;
    (void)context;
    for (int k = 0; k < ENGINES && !wrong; k++) {
        int e = (first + k) % ENGINES;
        double result[RESULTS] = {0};
        wrong = engines[e](result);
        if (!wrong && memcmp(result, alone[e], sizeof result) != 0) wrong = "other numbers";
    }
    return wrong;
}

/* All that a model holds outside of its arena, byte by byte. */
static size_t bytes_of(const perp_model *m, char *bytes)
{
    size_t n = 0;
#define TAKE(from, size)                                                                           \
    do {                                                                                           \
        if (bytes) memcpy(bytes + n, from, size);                                                  \
        n += size;                                                                                 \
    } while (0)
    TAKE(m, sizeof *m);
    TAKE(m->graph.node, (size_t)m->graph.count * sizeof *m->graph.node);
    TAKE(m->graph.bucket, (size_t)m->graph.nbucket * sizeof *m->graph.bucket);
    for (int kind = 0; kind < PERP_SYMBOL_KINDS; kind++)
        if (m->nitem[kind]) TAKE(m->item[kind], (size_t)m->nitem[kind] * sizeof(perp__item));
    TAKE(m->equation, (size_t)m->nequation * sizeof *m->equation);
    TAKE(m->pair, (size_t)m->npair * sizeof *m->pair);
#undef TAKE
    return n;
}

static perp_model *prepare_study(void)
{
    static const char *const columns[] = {"x", "v", "f"};
    perp_model *model = parse_model(study), *true_one = parse_model(study);
    uint64_t seed = 1;
    set_value(true_one, "mu", 0.35);
    recorded = new_dataset();
    record(recorded, true_one, 1, columns, 3, 1e-4, &seed);
    shared = model;
    return model;
}

static void free_study(perp_model *model)
{
    perp_dataset_destroy(recorded);
    perp_model_destroy(model);
}

static void no_engine_writes_to_a_model(void **state)
{
    (void)state;
    perp_model *model = prepare_study();
    size_t n = bytes_of(model, NULL);
    char *before = malloc(n), *after = malloc(n);
    assert_true(before && after);
    bytes_of(model, before);
    for (int e = 0; e < ENGINES; e++) {
        memset(alone[e], 0, sizeof alone[e]);
        char *wrong = engines[e](alone[e]);
        if (wrong) fail_msg("%s", wrong);
        bytes_of(model, after);
        if (memcmp(before, after, n) != 0) fail_msg("engine %d wrote to its model", e);
    }
    free(before);
    free(after);
    free_study(model);
}

static void one_model_is_in_every_engine_at_once(void **state)
{
    (void)state;
    perp_model *model = prepare_study();
    for (int e = 0; e < ENGINES; e++) {
        memset(alone[e], 0, sizeof alone[e]);
        char *wrong = engines[e](alone[e]);
        if (wrong) fail_msg("%s", wrong);
    }
    together(use_shared);
    free_study(model);
}

/* Copies share text and conditions, and not what is set; either may be destroyed first. */
static void *set_and_run_a_copy(void *context)
{
    perp_model *copy = NULL;
    double row[RESULTS] = {0}, other[RESULTS] = {0};
    (void)context;
    if (perp__model_clone(shared, &copy) != PERP_OK) return "not copied";
    char *wrong = simulate(copy, row);
    if (!wrong && memcmp(row, alone[1], sizeof row) != 0) wrong = "the copy is another model";
    if (!wrong && perp_model_set(copy, "mu", 0.1, NULL) != PERP_OK) wrong = "not set";
    if (!wrong && perp_model_set(copy, "F", 2, NULL) != PERP_OK) wrong = "not set";
    if (!wrong) wrong = simulate(copy, other);
    if (!wrong && memcmp(row, other, sizeof row) == 0) wrong = "the setting does not count";
    perp_model_destroy(copy);
    return wrong;
}

static void a_copy_is_a_model_of_its_own(void **state)
{
    (void)state;
    perp_model *model = parse_model(study), *copy;
    memset(alone[1], 0, sizeof alone[1]);
    assert_null(simulate(model, alone[1]));
    shared = model;
    together(set_and_run_a_copy);
    assert_int_equal(perp__model_clone(model, &copy), PERP_OK);
    perp_model_destroy(model);
    shared = copy;
    together(set_and_run_a_copy);
    perp_model_destroy(copy);
}

/* The linear algebra behind IPOPT has globals: two solves at once ended the process. */
static void *solve_by_program(void *context)
{
    const double M[] = {2, 1, 1, 2}, q[] = {-1, -1};
    double z[2], w[2];
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    perp_lcp_solver *solver;
    (void)context;
    if (perp_lcp_solver_create(PERP_LCP_NLP, 2, NULL, &solver) != PERP_OK)
        return NULL; /* none here */
    char *wrong = NULL;
    for (int k = 0; k < 25 && !wrong; k++) {
        perp_lcp_info info = {.size = sizeof info};
        perp_lcp_solve(solver, &lcp, z, w, &info);
        if (info.outcome != PERP_SOLVED || !near(z[0], 1.0 / 3, 1e-6)) wrong = "not solved";
    }
    perp_lcp_solver_destroy(solver);
    return wrong;
}

static void programs_wait_for_each_other(void **state)
{
    (void)state;
    perp_lcp_solver *solver;
    if (perp_lcp_solver_create(PERP_LCP_NLP, 2, NULL, &solver) != PERP_OK)
        skip_because("no IPOPT in this build");
    perp_lcp_solver_destroy(solver);
    together(solve_by_program);
}

/* Bodies --------------------------------------------------------------------------------------- */

/* Two boxes on a plane, the upper one larger. */
static perp_bodies *two_boxes(void)
{
    perp_body body[2];
    perp_shape shape[3] = {{.kind = PERP_SHAPE_PLANE, .mu = 0.5}};
    perp_bodies *b = NULL;
    for (int i = 0; i < 2; i++) {
        double a = 0.1 + 0.05 * i, m = 1 + 3 * i, I = m * a * a * 2 / 3;
        body[i] = (perp_body){.joint = PERP_JOINT_FREE,
                              .position = {0, 0, 0.1 + 0.26 * i},
                              .mass = m,
                              .inertia = {I, I, I}};
        shape[i + 1] =
            (perp_shape){.body = i + 1, .kind = PERP_SHAPE_BOX, .size = {a, a, a}, .mu = 0.4};
    }
    assert_int_equal(perp_bodies_create(body, 2, shape, 3, NULL, &b, NULL), PERP_OK);
    return b;
}

enum { COPIES = 13, BOX_V = 12, BOX_Q = 14 };

static void run_boxes(const perp_bodies *b, int threads, double *q)
{
    double v[COPIES * BOX_V];
    int solved;
    perp_bodies_batch *batch;
    perp_bodies_arrays x = {.size = sizeof x, .v = v};
    assert_int_equal(perp_bodies_batch_create(b, COPIES, threads, &batch, NULL), PERP_OK);
    perp_bodies_batch_get(batch, &x);
    for (int i = 0; i < COPIES; i++) v[i * BOX_V + 6] = 0.3 * i;
    x.q = NULL;
    for (int call = 0; call < 10; call++) {
        assert_int_equal(perp_bodies_batch_step(batch, 10, &x, &solved, NULL), PERP_OK);
        assert_int_equal(solved, COPIES);
    }
    x.q = q;
    perp_bodies_batch_get(batch, &x);
    perp_bodies_batch_destroy(batch);
}

static void a_batch_of_bodies_is_stepped_by_many(void **state)
{
    double by_one[COPIES * BOX_Q], q[COPIES * BOX_Q];
    (void)state;
    perp_bodies *b = two_boxes();
    run_boxes(b, 1, by_one);
    for (int threads = 2; threads <= 8; threads *= 2) {
        run_boxes(b, threads, q);
        assert_memory_equal(q, by_one, sizeof q);
    }
    perp_bodies_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_is_simulated_by_many),
        cmocka_unit_test(each_has_a_model_of_its_own),
        cmocka_unit_test(no_engine_writes_to_a_model),
        cmocka_unit_test(one_model_is_in_every_engine_at_once),
        cmocka_unit_test(a_copy_is_a_model_of_its_own),
        cmocka_unit_test(programs_wait_for_each_other),
        cmocka_unit_test(a_batch_of_bodies_is_stepped_by_many),
    };
    return run_all(tests);
}
