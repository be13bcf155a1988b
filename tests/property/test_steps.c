/* The step problem on random affine systems, against a brute-force search of all modes; and Lemke
 * on random problems with a known solution. */

#include "unit.h"

#include "linalg/invert.h"
#include "perp/perp.h"
#include "outcomes.h"

#include <stdio.h>

static uint64_t seed;

static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

static int below(int n)
{
    return (int)uniform(0, n);
}

/* A small integer, often 0: degenerate systems are the interesting ones. */
static int small(void)
{
    return uniform(0, 1) < 0.4 ? 0 : below(7) - 3;
}

enum { MAX_N = 6 };

typedef struct affine {
    double row[2 * MAX_N][MAX_N], c[2 * MAX_N]; /* equations, then a and b of each pair */
    int n, nequation, npair;
} affine;

static int append_affine(char *text, int n, const double *row, double c)
{
    int length = sprintf(text, "%g", c);
    for (int j = 0; j < n; j++) {
        if (row[j] != 0) length += sprintf(text + length, " + %g*y%d", row[j], j);
    }
    return length;
}

/* A system of n unknowns as model text. */
static void write_model(const affine *s, char *text)
{
    int length = sprintf(text, "state s = 0\nder(s) = 0\n");
    for (int j = 0; j < s->n; j++) length += sprintf(text + length, "var y%d\n", j);
    for (int i = 0; i < s->nequation; i++) {
        length += sprintf(text + length, "0 = ");
        length += append_affine(text + length, s->n, s->row[i], s->c[i]);
        length += sprintf(text + length, "\n");
    }
    for (int p = 0; p < s->npair; p++) {
        int a = s->nequation + 2 * p;
        length += sprintf(text + length, "0 <= ");
        length += append_affine(text + length, s->n, s->row[a], s->c[a]);
        length += sprintf(text + length, " perp ");
        length += append_affine(text + length, s->n, s->row[a + 1], s->c[a + 1]);
        length += sprintf(text + length, " >= 0\n");
    }
    sprintf(text + length, "simulate to 1 step 1\n");
}

/* Does any of the 2^npair modes solve the system? (-1: a mode's matrix is singular, so the search
 * says nothing.) */
static int has_solution(const affine *s)
{
    int unsure = 0;
    for (int mode = 0; mode < 1 << s->npair; mode++) {
        double B[MAX_N * MAX_N], c[MAX_N], inverse[MAX_N * MAX_N], work[2 * MAX_N * MAX_N + MAX_N],
            y[MAX_N];
        int index[4 * MAX_N], n = s->n, good = 1;
        for (int i = 0; i < n; i++) {
            int p = i - s->nequation, r = p < 0 ? i : s->nequation + 2 * p + (mode >> p & 1);
            memcpy(B + i * n, s->row[r], (size_t)n * sizeof(double));
            c[i] = s->c[r];
        }
        if (!perp__invert(n, B, n, NULL, inverse, work, index)) {
            unsure = 1;
            continue;
        }
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int j = 0; j < n; j++) y[i] -= inverse[i + j * n] * c[j];
        }
        for (int p = 0; p < s->npair; p++) {
            int r = s->nequation + 2 * p + !(mode >> p & 1);
            double x = s->c[r];
            for (int j = 0; j < n; j++) x += s->row[r][j] * y[j];
            if (x < -1e-9) good = 0;
        }
        if (good) return 1;
    }
    return unsure ? -1 : 0;
}

static void steps_are_solved_or_refused_rightly(void **state)
{
    (void)state;
    int solved = 0, refused = 0, proved = 0, structural = 0, singular = 0;
    for (int k = 1; k <= 3000; k++) {
        affine s = {.n = 2 + (k % (MAX_N - 1))};
        char text[8192];
        perp_diag diag = {0};
        perp_model *model = NULL;
        perp_simulation *sim = NULL;
        seed = (uint64_t)k * 7919;
        s.n = s.n > MAX_N ? MAX_N : s.n;
        s.npair = 1 + below(s.n > 4 ? 4 : s.n);
        s.nequation = s.n - s.npair;
        for (int i = 0; i < s.nequation + 2 * s.npair; i++) {
            for (int j = 0; j < s.n; j++) s.row[i][j] = small();
            s.c[i] = small();
        }
        write_model(&s, text);
        perp_status status = perp_model_parse(text, strlen(text), "random.perp", &model, &diag);
        if (status == PERP_OK) status = perp_simulation_create(model, NULL, &sim, &diag);
        if (status == PERP_ERR_MODEL) {
            structural++; /* a zero column, or no choice of sides */
            if (strstr(diag.text, "singular")) singular++;
        } else {
            assert_int_equal(status, PERP_OK);
            perp_step_info info = {.size = sizeof info};
            status = simulation_step(sim, &info, &diag);
            int truth = has_solution(&s);
            if (status == PERP_OK) {
                if (truth == 0)
                    fail_msg("seed %d: claims a solution where no mode has one\n%s", k, text);
                if (!(info.residual <= 1e-9))
                    fail_msg("seed %d: residual %g\n%s", k, info.residual, text);
                solved++;
            } else {
                assert_int_equal(status, PERP_ERR_NO_SOLUTION);
                if (info.outcome == PERP_INFEASIBLE && truth == 1)
                    fail_msg("seed %d: a proof that is none\n%s", k, text);
                proved += info.outcome == PERP_INFEASIBLE;
                refused++;
            }
        }
        perp_simulation_destroy(sim);
        perp_model_destroy(model);
        perp_diag_clear(&diag);
    }
    print_message("solved %d, refused %d (%d proved infeasible), structural %d (%d singular)\n",
                  solved, refused, proved, structural, singular);
    assert_true(solved > 500 && proved > 100);
}

/* Where greed fails: the only good choice takes the second side of the first pair. */
static void sides_are_found_by_exchange(void **state)
{
    (void)state;
    const char *text = "state s = 0\nder(s) = 0\nvar x, y, z\n"
                       "0 <= x + y perp x >= 0\n"
                       "0 <= x + y + 1 perp 2*x + 2*y + 3 >= 0\n"
                       "0 <= z perp x + z - 1 >= 0\n"
                       "simulate to 1 step 1\n";
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim;
    assert_int_equal(perp_model_parse(text, strlen(text), "exchange.perp", &model, &diag), PERP_OK);
    perp_status status = perp_simulation_create(model, NULL, &sim, &diag);
    if (status != PERP_OK) fail_msg("%s", diag.text);
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
}

/* M = A A' + skew, positive definite; pick complementary z and w, form q, recover z. */
static void lemke_recovers_the_solution_of_random_monotone_problems(void **state)
{
    (void)state;
    enum { MOST = 64 };
    static double M[MOST * MOST], A[MOST * MOST];
    double q[MOST], z[MOST], found[MOST], w[MOST];
    for (int k = 1; k <= 400; k++) {
        seed = (uint64_t)k * 104729;
        int n = 1 + below(k % 10 ? 12 : MOST);
        perp_lcp_solver *solver;
        perp_lcp_info info = {.size = sizeof info};
        perp_lcp lcp = {n, M, n, q, NULL, NULL};
        for (int i = 0; i < n * n; i++) A[i] = uniform(-1, 1);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                double sum = i == j ? 0.1 : 0.05 * (i - j); /* skew */
                for (int l = 0; l < n; l++) sum += A[i + l * n] * A[j + l * n];
                M[i + j * n] = sum;
            }
            z[i] = uniform(0, 1) < 0.5 ? 0 : uniform(0, 1);
            w[i] = z[i] > 0 ? 0 : uniform(0, 1) < 0.2 ? 0 : uniform(0, 1); /* some degenerate */
        }
        for (int i = 0; i < n; i++) {
            q[i] = w[i];
            for (int j = 0; j < n; j++) q[i] -= M[i + j * n] * z[j];
        }
        assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &solver), PERP_OK);
        assert_int_equal(perp_lcp_solve(solver, &lcp, found, NULL, &info), PERP_OK);
        if (info.outcome != PERP_SOLVED)
            fail_msg("seed %d, n = %d: %s", k, n, perp_outcome_name(info.outcome));
        for (int i = 0; i < n; i++) assert_near(found[i], z[i], 1e-9);
        perp_lcp_solver_destroy(solver);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_solved_or_refused_rightly),
        cmocka_unit_test(sides_are_found_by_exchange),
        cmocka_unit_test(lemke_recovers_the_solution_of_random_monotone_problems),
    };
    return run_all(tests);
}
