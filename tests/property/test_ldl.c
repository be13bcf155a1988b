/* Random symmetric matrices, saddle points among them: L D L' solves them and counts their negative
 * eigenvalues. */

#include "linalg/ldl.h"
#include "unit.h"

enum { MOST = 24 };

static uint64_t seed = 5;

static double uniform(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return 2 * ((double)(seed >> 11) / 9007199254740992.0) - 1;
}

/* A = Q diag(d) Q' with a product of reflections Q; returns the number of negative d. */
static int with_known_inertia(int n, double *A)
{
    double v[MOST], u[MOST];
    int negative = 0;
    for (int i = 0; i < n * n; i++) A[i] = 0;
    for (int i = 0; i < n; i++) {
        double d = uniform();
        A[i + i * n] = d < 0 ? d - 0.1 : d + 0.1;
        negative += d < 0;
    }
    for (int k = 0; k < 5; k++) { /* A := (I - 2 v v') A (I - 2 v v') */
        double norm = 0;
        for (int i = 0; i < n; i++) v[i] = uniform(), norm += v[i] * v[i];
        for (int side = 0; side < 2; side++)
            for (int j = 0; j < n; j++) {
                double s = 0;
                for (int i = 0; i < n; i++) s += v[i] * (side ? A[j + i * n] : A[i + j * n]);
                for (int i = 0; i < n; i++) {
                    u[i] = 2 * s * v[i] / norm;
                    A[side ? j + i * n : i + j * n] -= u[i];
                }
            }
    }
    return negative;
}

/* [H B'; B 0] with positive definite H: as many negative eigenvalues as rows in B. */
static int saddle_point(int n, double *A)
{
    int rows = n / 3;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) A[i + j * n] = 0;
    for (int i = 0; i < n - rows; i++) A[i + i * n] = pow(10, 4 * uniform());
    for (int i = n - rows; i < n; i++)
        for (int j = 0; j < n - rows; j++) A[i + j * n] = A[j + i * n] = uniform();
    return rows;
}

static void matrices_are_solved_and_their_inertia_counted(void **state)
{
    (void)state;
    for (int trial = 0; trial < 4000; trial++) {
        int n = 1 + trial % MOST, pivot[MOST];
        double A[MOST * MOST], F[MOST * MOST], X[2 * MOST], b[2 * MOST], scale = 1;
        int negative = trial & 1 ? saddle_point(n, A) : with_known_inertia(n, A);
        memcpy(F, A, sizeof A);
        for (int i = 0; i < 2 * n; i++) b[i] = X[i] = uniform();
        assert_int_equal(perp__ldl_factor(n, F, n, pivot, 1e-14), negative);
        perp__ldl_solve(n, F, n, pivot, X, n, 2);
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < n; i++) {
                double s = 0;
                scale = 1;
                for (int j = 0; j < n; j++) {
                    s += A[i + j * n] * X[j + c * n];
                    scale += fabs(A[i + j * n] * X[j + c * n]);
                }
                assert_near(s, b[i + c * n], 1e-10 * scale);
            }
    }
}

static void a_singular_matrix_is_said_to_be(void **state)
{
    (void)state;
    double A[9] = {1, 2, 3, 2, 4, 6, 3, 6, 9}, zero[4] = {0};
    int pivot[3];
    assert_int_equal(perp__ldl_factor(3, A, 3, pivot, 1e-13), -1);
    assert_int_equal(perp__ldl_factor(2, zero, 2, pivot, 1e-13), -1);
}

/* Right-hand sides that begin with zeros among them. */
static void columns_together_are_columns_alone(void **state)
{
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        int n = 1 + trial % MOST, m = 1 + trial % 5, pivot[MOST];
        double A[MOST * MOST], X[5 * MOST], alone[5 * MOST];
        if (trial % 2)
            with_known_inertia(n, A);
        else
            saddle_point(n, A);
        for (int i = 0; i < n * m; i++) X[i] = alone[i] = i % n < trial % 7 ? 0 : uniform();
        if (perp__ldl_factor(n, A, n, pivot, 1e-13) < 0) continue;
        perp__ldl_solve(n, A, n, pivot, X, n, m);
        for (int c = 0; c < m; c++) perp__ldl_solve(n, A, n, pivot, alone + c * n, n, 1);
        for (int i = 0; i < n * m; i++) assert_true(X[i] == alone[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_together_are_columns_alone),
        cmocka_unit_test(matrices_are_solved_and_their_inertia_counted),
        cmocka_unit_test(a_singular_matrix_is_said_to_be),
    };
    return run_all(tests);
}
