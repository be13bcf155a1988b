/* What threads may do at once: parse models of their own, simulate one const model, solve by the method nlp, plan. Run under
 * the thread sanitizer, too (make tsan). */

#include "runs.h"

#include <pthread.h>

enum { THREADS = 4 };

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
    perp_status status = perp_simulation_run(sim, NULL, NULL, NULL);
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
        perp_check_report report;
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

/* The linear algebra behind IPOPT has globals: two solves at once ended the process. */
static void *solve_by_program(void *context)
{
    const double M[] = {2, 1, 1, 2}, q[] = {-1, -1};
    double z[2], w[2];
    perp_lcp lcp = {2, M, 2, q, NULL, NULL};
    perp_solver *solver;
    (void)context;
    if (perp_solver_create(PERP_METHOD_NLP, 2, NULL, &solver) != PERP_OK)
        return NULL; /* none here */
    char *wrong = NULL;
    for (int k = 0; k < 25 && !wrong; k++) {
        perp_solve_info info;
        perp_lcp_solve(solver, &lcp, z, w, &info);
        if (info.outcome != PERP_SOLVED || !near(z[0], 1.0 / 3, 1e-6)) wrong = "not solved";
    }
    perp_solver_destroy(solver);
    return wrong;
}

static void programs_wait_for_each_other(void **state)
{
    (void)state;
    perp_solver *solver;
    if (perp_solver_create(PERP_METHOD_NLP, 2, NULL, &solver) != PERP_OK)
        skip_because("no IPOPT in this build");
    perp_solver_destroy(solver);
    together(solve_by_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_is_simulated_by_many),
        cmocka_unit_test(each_has_a_model_of_its_own),
        cmocka_unit_test(programs_wait_for_each_other),
    };
    return run_all(tests);
}
