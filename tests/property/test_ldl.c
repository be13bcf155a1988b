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

/* A x */
static void multiply(int n, const double *A, const double *x, double *y, double *scale)
{
    *scale = 1;
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            y[i] += A[i + j * n] * x[j];
            *scale = fmax(*scale, fabs(A[i + j * n] * x[j]));
        }
}

static void matrices_are_solved_and_their_inertia_counted(void **state)
{
    (void)state;
    for (int trial = 0; trial < 4000; trial++) {
        int n = 1 + trial % MOST, pivot[MOST], list[MOST];
        double A[MOST * MOST], F[MOST * MOST], x[MOST], b[MOST], y[MOST], scale;
        int negative = trial & 1 ? saddle_point(n, A) : with_known_inertia(n, A);
        memcpy(F, A, sizeof A);
        for (int i = 0; i < n; i++) b[i] = x[i] = uniform();
        assert_int_equal(perp__ldl_factor(n, n, F, n, pivot, list, 1e-14), negative);
        perp__ldl_solve(n, F, n, pivot, x);
        multiply(n, A, x, y, &scale);
        for (int i = 0; i < n; i++) assert_near(y[i], b[i], 1e-10 * n * scale);
    }
}

static void a_singular_matrix_is_said_to_be(void **state)
{
    (void)state;
    double A[9] = {1, 2, 3, 2, 4, 6, 3, 6, 9}, zero[4] = {0};
    int pivot[3], list[3];
    assert_int_equal(perp__ldl_factor(3, 3, A, 3, pivot, list, 1e-13), -1);
    assert_int_equal(perp__ldl_factor(2, 2, zero, 2, pivot, list, 1e-13), -1);
}

/* Of [A11 .; A21 A22], many of whose entries are 0, A11 is eliminated. */
static void what_is_left_is_the_schur_complement(void **state)
{
    (void)state;
    int judged = 0;
    for (int trial = 0; trial < 2000; trial++) {
        int m = 2 + trial % (MOST - 1), n = 1 + trial % (m - 1), pivot[MOST], list[MOST];
        double A[MOST * MOST], F[MOST * MOST], x[MOST], y[MOST], b[MOST], scale;
        if (trial & 1)
            saddle_point(m, A);
        else
            with_known_inertia(m, A);
        for (int i = 0; i < m && trial % 3; i++)
            for (int j = 0; j < i; j++)
                if (uniform() < 0.4) A[i + j * m] = A[j + i * m] = 0;
        memcpy(F, A, sizeof A);
        if (perp__ldl_factor(n, m, F, m, pivot, list, 1e-2) < 0) continue;
        judged++;
        for (int i = 0; i < m; i++) x[i] = b[i] = i < n ? uniform() : 0;
        perp__ldl_forward(n, m, F, m, pivot, x); /* x2 = - A21 inv(A11) b */
        memcpy(y, x, sizeof y);
        for (int i = n; i < m; i++) y[i] = 0;
        perp__ldl_backward(n, m, F, m, pivot, y);
        double u[MOST];
        multiply(m, A, y, u, &scale);
        for (int i = 0; i < n; i++) assert_near(u[i], b[i], 1e-9 * scale);
        for (int i = n; i < m; i++) assert_near(u[i], -x[i], 1e-9 * scale);
        for (int c = n; c < m; c++) { /* column c of what is left */
            for (int i = 0; i < m; i++) x[i] = i == c;
            perp__ldl_backward(n, m, F, m, pivot, x);
            multiply(m, A, x, u, &scale);
            for (int i = 0; i < m; i++)
                assert_near(u[i], i < n ? 0 : F[i > c ? i + c * m : c + i * m], 1e-9 * scale);
        }
    }
    assert_true(judged > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_the_schur_complement),
        cmocka_unit_test(matrices_are_solved_and_their_inertia_counted),
        cmocka_unit_test(a_singular_matrix_is_said_to_be),
    };
    return run_all(tests);
}
