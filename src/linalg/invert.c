/* Gauss-Jordan elimination of [A I]. */

#include "base/tol.h"
#include "linalg/invert.h"

#include <math.h>
#include <string.h>

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

/* Of a row, among the open columns: how many entries it has, and the first of the largest. */
static void look_at_row(int n, const double *row, const int *column_done, int *entries, int *at,
                        double *largest)
{
    *entries = 0, *largest = 0, *at = -1;
    for (int j = 0; j < n; j++) {
        double x = fabs(row[j]);
        if (x == 0 || column_done[j]) continue;
        ++*entries;
        if (x > *largest) *largest = x, *at = j;
    }
}

/* The first row with one entry left, else the largest open entry. -1 if it is too small. */
static int choose_row(int n, const int *row_done, const int *entries, const double *largest)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (row_done[i]) continue;
        if (entries[i] == 1 && largest[i] > PERP_TOL_SINGULAR) return i;
        if (best < 0 || largest[i] > largest[best]) best = i;
    }
    return best >= 0 && largest[best] > PERP_TOL_SINGULAR ? best : -1;
}

int perp__invert(int n, const double *A, int lda, const double *unit, double *inverse, double *work,
                 int *index)
{
    double *W = work; /* [A | I], row-major, n x 2n, rows scaled */
    int *row_done = index, *column_done = index + n, *entries = column_done + n, *at = entries + n;
    double *largest = W + 2 * (size_t)n * (size_t)n;
    for (int i = 0; i < n; i++) {
        double *row = W + (size_t)i * 2 * (size_t)n;
        for (int j = 0; j < n; j++) {
            double a = A[(size_t)i * (size_t)lda + (size_t)j];
            row[j] = unit ? a * unit[j] : a;
            row[n + j] = 0;
        }
        double scale = row_scale(n, row);
        if (scale == 0) return 0;
        for (int j = 0; j < n; j++) row[j] *= scale;
        row[n + i] = scale;
        row_done[i] = column_done[i] = 0;
    }
    for (int i = 0; i < n; i++)
        look_at_row(n, W + (size_t)i * 2 * (size_t)n, column_done, &entries[i], &at[i],
                    &largest[i]);
    for (int step = 0; step < n; step++) {
        int r = choose_row(n, row_done, entries, largest);
        if (r < 0) return 0;
        int c = at[r];
        double *pivot_row = W + (size_t)r * 2 * (size_t)n, p = pivot_row[c];
        for (int j = 0; j < 2 * n; j++) pivot_row[j] /= p;
        row_done[r] = 1 + c; /* row r now gives unknown c */
        column_done[c] = 1;
        for (int i = 0; i < n; i++) {
            double *row = W + (size_t)i * 2 * (size_t)n, f = row[c];
            if (i == r || f == 0) continue;
            for (int j = 0; j < 2 * n; j++) row[j] -= f * pivot_row[j];
            row[c] = 0;
            if (!row_done[i]) look_at_row(n, row, column_done, &entries[i], &at[i], &largest[i]);
        }
    }
    for (int r = 0; r < n; r++) {
        int c = row_done[r] - 1;
        for (int j = 0; j < n; j++)
            inverse[(size_t)j * (size_t)n + (size_t)c] =
                W[(size_t)r * 2 * (size_t)n + (size_t)(n + j)] * (unit ? unit[c] : 1);
    }
    return 1;
}
