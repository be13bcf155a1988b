#include "linalg/invert.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-13

/* A power of two near 1 / max|row|: scaling by it is exact. 0 for a zero row. */
static double row_scale(int n, const double *row)
{
    double largest = 0;
    for (int j = 0; j < n; j++) {
        if (fabs(row[j]) > largest) largest = fabs(row[j]);
    }
    int exponent;
    if (largest == 0 || !isfinite(largest)) return 0;
    frexp(largest, &exponent);
    return ldexp(1, -exponent);
}

/* Rows with one entry left among the open columns, else the largest open entry. 0 if it is too
 * small. */
static int choose_pivot(int n, const double *W, const int *row_done, const int *column_done,
                        int *pr, int *pc)
{
    double best = 0;
    for (int i = 0; i < n; i++) {
        if (row_done[i]) continue;
        int entries = 0, column = -1;
        for (int j = 0; j < n; j++) {
            double x = fabs(W[i * 2 * n + j]);
            if (column_done[j] || x == 0) continue;
            entries++;
            column = j;
            if (x > best) best = x, *pr = i, *pc = j;
        }
        if (entries == 1 && fabs(W[i * 2 * n + column]) > SINGULAR) {
            *pr = i, *pc = column;
            return 1;
        }
    }
    return best > SINGULAR;
}

int perp__invert(int n, const double *A, int lda, double *inverse, double *work, int *index)
{
    double *W = work; /* [A | I], row-major, n x 2n, rows scaled */
    int *row_done = index, *column_done = index + n;
    for (int i = 0; i < n; i++) {
        double *row = W + (size_t)i * 2 * (size_t)n,
               scale = row_scale(n, A + (size_t)i * (size_t)lda);
        if (scale == 0) return 0;
        for (int j = 0; j < n; j++)
            row[j] = scale * A[(size_t)i * (size_t)lda + (size_t)j], row[n + j] = 0;
        row[n + i] = scale;
        row_done[i] = column_done[i] = 0;
    }
    for (int step = 0; step < n; step++) {
        int r = -1, c = -1;
        if (!choose_pivot(n, W, row_done, column_done, &r, &c)) return 0;
        double *pivot_row = W + (size_t)r * 2 * (size_t)n, p = pivot_row[c];
        for (int j = 0; j < 2 * n; j++) pivot_row[j] /= p;
        for (int i = 0; i < n; i++) {
            double *row = W + (size_t)i * 2 * (size_t)n, f = row[c];
            if (i == r || f == 0) continue;
            for (int j = 0; j < 2 * n; j++) row[j] -= f * pivot_row[j];
            row[c] = 0;
        }
        row_done[r] = 1 + c; /* row r now gives unknown c */
        column_done[c] = 1;
    }
    for (int r = 0; r < n; r++) {
        int c = row_done[r] - 1;
        for (int j = 0; j < n; j++)
            inverse[(size_t)j * (size_t)n + (size_t)c] =
                W[(size_t)r * 2 * (size_t)n + (size_t)(n + j)];
    }
    return 1;
}
