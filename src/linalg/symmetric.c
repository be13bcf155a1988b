/* Jacobi's rotations. */

#include "base/tol.h"
#include "linalg/symmetric.h"

#include <math.h>
#include <string.h>

/* Rotate rows and columns p and q so that A_pq becomes 0 (Golub & Van Loan, Matrix Computations,
 * 8.5). */
static void rotate(int n, double *A, double *V, int p, int q)
{
    double apq = A[p + q * n];
    if (apq == 0) return;
    double theta = (A[q + q * n] - A[p + p * n]) / (2 * apq);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)),
           c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = A[k + p * n], y = A[k + q * n];
        A[k + p * n] = c * x - s * y;
        A[k + q * n] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = A[p + k * n], y = A[q + k * n];
        A[p + k * n] = c * x - s * y;
        A[q + k * n] = s * x + c * y;
        x = V[k + p * n];
        y = V[k + q * n];
        V[k + p * n] = c * x - s * y;
        V[k + q * n] = s * x + c * y;
    }
    A[p + q * n] = A[q + p * n] = 0;
}

static void swap_columns(int n, double *value, double *V, int a, int b)
{
    double x = value[a];
    value[a] = value[b];
    value[b] = x;
    for (int k = 0; k < n; k++) {
        x = V[k + a * n];
        V[k + a * n] = V[k + b * n];
        V[k + b * n] = x;
    }
}

void perp__symmetric_eigen(int n, double *A, double *value, double *V)
{
    enum { SWEEPS = 30 };
    memset(V, 0, (size_t)(n * n) * sizeof(double));
    for (int i = 0; i < n; i++) V[i + i * n] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, diagonal = 0;
        for (int i = 0; i < n; i++) {
            diagonal = fmax(diagonal, fabs(A[i + i * n]));
            for (int j = 0; j < i; j++) off = fmax(off, fabs(A[i + j * n]));
        }
        if (off <= PERP_TINY || off <= PERP_TOL_JACOBI * diagonal) break;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) rotate(n, A, V, p, q);
        }
    }
    for (int i = 0; i < n; i++) value[i] = A[i + i * n];
    for (int i = 0; i < n; i++) {
        int least = i;
        for (int j = i + 1; j < n; j++) {
            if (value[j] < value[least]) least = j;
        }
        swap_columns(n, value, V, i, least);
    }
}
