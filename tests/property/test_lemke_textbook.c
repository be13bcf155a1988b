/* Lemke's method as a textbook states it (Cottle, Pang, Stone 1992, algorithm 4.4.5): the whole tableau, updated by every pivot,
 * and the lexicographic ratio test. The fast form, which keeps columns of pivots only, is tested against it. */

#include "unit.h"

#include "perp/lcp.h"

#include <math.h>
#include <string.h>

enum { MOST = 32, COLUMNS = 2 * MOST + 2 }; /* w, z, z0, and the values */

typedef struct textbook {
    int n, pivots, basic[MOST]; /* the variable of each row: w 0 .. n-1, z n .. 2n-1, z0 2n */
    double row[MOST][COLUMNS];  /* inv(B) [I, -M, -d, q] */
} textbook;

static void pivot(textbook *t, int r, int entering)
{
    int columns = 2 * t->n + 2;
    double p = t->row[r][entering];
    for (int j = 0; j < columns; j++) t->row[r][j] /= p;
    for (int i = 0; i < t->n; i++) {
        double f = t->row[i][entering];
        for (int j = 0; j < columns && i != r && f != 0; j++) t->row[i][j] -= f * t->row[r][j];
    }
    t->basic[r] = entering;
    t->pivots++;
}

/* Is row i before row r, both divided by their entry in column e? First the values, then inv(B), column by column. */
static int is_less(const textbook *t, int i, int r, int e)
{
    int n = t->n;
    for (int k = -1; k < n; k++) {
        int j = k < 0 ? 2 * n + 1 : k;
        double a = t->row[i][j] / t->row[i][e], b = t->row[r][j] / t->row[r][e];
        if (fabs(a - b) > 1e-11 * (1 + fabs(a) + fabs(b))) return a < b;
    }
    return 0;
}

/* 1 solved, 0 a ray, -1 neither after many pivots. */
static int textbook_lemke(int n, const double *M, const double *q, double *z, int *pivots)
{
    static textbook t;
    int r = 0, entering, solved = 0;
    memset(&t, 0, sizeof t);
    memset(z, 0, (size_t)n * sizeof *z);
    t.n = n;
    for (int i = 0; i < n; i++) {
        t.basic[i] = i;
        t.row[i][i] = 1;
        for (int j = 0; j < n; j++) t.row[i][n + j] = -M[i + j * n];
        t.row[i][2 * n] = -1;
        t.row[i][2 * n + 1] = q[i];
        if (q[i] <= q[r]) r = i; /* of equal ones the last, whose perturbation is the smallest */
    }
    *pivots = 0;
    if (q[r] >= 0) return 1;
    int leaving = t.basic[r];
    pivot(&t, r, 2 * n);
    while (t.pivots < 50 * n) {
        entering = leaving < n ? leaving + n : leaving - n; /* the complement of what left */
        r = -1;
        for (int i = 0; i < n; i++) {
            if (!(t.row[i][entering] > 1e-11)) continue;
            if (r < 0 || is_less(&t, i, r, entering)) r = i;
        }
        *pivots = t.pivots;
        if (r < 0) return 0;
        leaving = t.basic[r];
        pivot(&t, r, entering);
        if (leaving == 2 * n) {
            solved = 1;
            break;
        }
    }
    for (int i = 0; i < n; i++)
        if (t.basic[i] >= n && t.basic[i] < 2 * n) z[t.basic[i] - n] = t.row[i][2 * n + 1];
    *pivots = t.pivots;
    return solved ? 1 : -1;
}

/* Random problems ----------------------------------------------------------------------------- */

static unsigned long long seed;

static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

/* G G' of rank r, plus a skew part: positive semidefinite. */
static void draw_semidefinite(int n, int r, double skew, double *M)
{
    double G[MOST * MOST];
    for (int k = 0; k < n * r; k++) G[k] = uniform(-1, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0, s = i == j ? 0 : uniform(-skew, skew);
            for (int k = 0; k < r; k++) sum += G[i + k * n] * G[j + k * n];
            M[i + j * n] = sum + s, M[j + i * n] = sum - s;
        }
}

typedef struct both {
    int textbook, pivots;
    perp_lcp_info info;
    double z[MOST], w[MOST], z_textbook[MOST];
} both;

static both solve(int n, const double *M, const double *q)
{
    both b = {0};
    perp_lcp lcp = {n, M, n, q, NULL, NULL};
    perp_lcp_solver *solver;
    assert_int_equal(perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &solver), PERP_OK);
    b.info.size = sizeof b.info;
    assert_int_equal(perp_lcp_solve(solver, &lcp, b.z, b.w, &b.info), PERP_OK);
    perp_lcp_solver_destroy(solver);
    b.textbook = textbook_lemke(n, M, q, b.z_textbook, &b.pivots);
    return b;
}

/* z of a P-matrix is unique: both forms find it, and where the fast one pivots on columns they go the same way. */
static void both_forms_find_the_one_solution(void **state)
{
    (void)state;
    int same = 0, all = 0;
    for (int k = 0; k < 300; k++) {
        seed = 1000 + (unsigned long long)k;
        int n = 1 + k % MOST;
        double M[MOST * MOST], q[MOST];
        draw_semidefinite(n, n, 0.5, M);
        for (int i = 0; i < n; i++) M[i + i * n] += 0.3, q[i] = uniform(-1, 0.4);
        both b = solve(n, M, q);
        assert_int_equal(b.textbook, 1);
        assert_int_equal(b.info.outcome, PERP_SOLVED);
        for (int i = 0; i < n; i++)
            if (!(fabs(b.z[i] - b.z_textbook[i]) <= 1e-8 * (1 + fabs(b.z[i]))))
                fail_msg("seed %d, n = %d: z[%d] is %.15g, by the textbook %.15g", 1000 + k, n, i,
                         b.z[i], b.z_textbook[i]);
        all += n > 16;
        same += n > 16 && b.info.iterations == b.pivots;
    }
    print_message("%d of %d went the same way\n", same, all);
    assert_true(same == all);
}

/* Positive semidefinite with dependent rows and ties: both solve what has a solution and end on a ray where there is none. */
static void both_forms_agree_on_what_has_a_solution(void **state)
{
    (void)state;
    int solved = 0, rays = 0;
    for (int k = 0; k < 400; k++) {
        seed = 5000 + (unsigned long long)k;
        int n = 2 + k % (MOST - 1), r = n / 2;
        double M[MOST * MOST], q[MOST];
        draw_semidefinite(n, r, 0, M);
        for (int i = 0; i < n; i++) q[i] = k % 2 ? uniform(-1.5, 1) : 0;
        for (int i = 0; i < n && k % 2 == 0;
             i++) { /* q = w - M z: there is a solution, with ties */
            double z = uniform(-1, 1);
            for (int j = 0; j < n; j++) q[j] -= z > 0 ? M[j + i * n] * z : 0;
            q[i] += z < -0.5 ? -z : 0;
        }
        both b = solve(n, M, q);
        if (b.textbook < 0) continue;
        if ((b.textbook == 1) != (b.info.outcome == PERP_SOLVED))
            fail_msg("seed %d, n = %d: %s, by the textbook %s", 5000 + k, n,
                     perp_outcome_name(b.info.outcome), b.textbook ? "solved" : "ray");
        solved += b.textbook, rays += !b.textbook;
        for (int i = 0; i < n && b.textbook; i++) { /* w is unique */
            double w = q[i];
            for (int j = 0; j < n; j++) w += M[i + j * n] * b.z_textbook[j];
            if (!(fabs(w - b.w[i]) <= 1e-7))
                fail_msg("seed %d, n = %d: w[%d] is %.15g, by the textbook %.15g", 5000 + k, n, i,
                         b.w[i], w);
        }
    }
    print_message("%d solved, %d rays\n", solved, rays);
    assert_true(solved > 100 && rays > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_find_the_one_solution),
        cmocka_unit_test(both_forms_agree_on_what_has_a_solution),
    };
    return run_all(tests);
}
