/* One or two columns are eliminated at a time; several right-hand sides are solved together. */

#include "linalg/ldl.h"

#include "linalg/dense.h"

#include <math.h>

/* Swap rows and columns k < j of the trailing matrix, and the rows of L before it. */
static void swap(int n, double *A, int ld, int k, int j, int first)
{
    double *K = A + (long)k * ld, *J = A + (long)j * ld, x;
    for (int i = j + 1; i < n; i++) x = K[i], K[i] = J[i], J[i] = x;
    for (int i = k + 1; i < j; i++) {
        double *other = A + (long)i * ld + j;
        x = K[i], K[i] = *other, *other = x;
    }
    x = K[k], K[k] = J[j], J[j] = x;
    for (int c = 0; c < first; c++) {
        double *C = A + (long)c * ld;
        x = C[k], C[k] = C[j], C[j] = x;
    }
}

/* Largest |A[i,k]|, i > k; its row in *at. */
static double largest_below(int n, const double *column, int k, int *at)
{
    double most = 0;
    *at = k;
    for (int i = k + 1; i < n; i++) {
        double a = fabs(column[i]);
        if (a > most) most = a, *at = i;
    }
    return most;
}

/* Largest off-diagonal of row r in the trailing matrix from k on. */
static double largest_in_row(int n, const double *A, int ld, int k, int r)
{
    double most = 0;
    for (int c = k; c < r; c++) most = fmax(most, fabs(A[(long)c * ld + r]));
    for (int i = r + 1; i < n; i++) most = fmax(most, fabs(A[(long)r * ld + i]));
    return most;
}

/* Trailing matrix less d l l', and the column becomes l. */
static void eliminate_one(int n, double *A, int ld, int k)
{
    double *restrict L = A + (long)k * ld, inverse = 1 / L[k];
    for (int j = k + 1; j < n; j++) {
        double s = L[j] * inverse;
        if (s == 0) continue;
        double *restrict J = A + (long)j * ld;
        for (int i = j; i < n; i++) J[i] -= s * L[i];
        L[j] = s;
    }
}

static void eliminate_two(int n, double *A, int ld, int k)
{
    double *L0 = A + (long)k * ld, *L1 = L0 + ld;
    double d21 = L0[k + 1], d11 = L1[k + 1] / d21, d22 = L0[k] / d21;
    double t = 1 / (d11 * d22 - 1);
    d21 = t / d21;
    for (int j = k + 2; j < n; j++) {
        double s0 = d21 * (d11 * L0[j] - L1[j]), s1 = d21 * (d22 * L1[j] - L0[j]);
        double *J = A + (long)j * ld;
        for (int i = j; i < n; i++) J[i] -= s0 * L0[i] + s1 * L1[i];
        L0[j] = s0;
        L1[j] = s1;
    }
}

int perp__ldl_factor(int n, double *A, int ld, int *pivot, double tiny)
{
    const double alpha = 0.6403882032022076; /* (1 + sqrt(17)) / 8 bounds the growth */
    int negative = 0;
    for (int k = 0; k < n;) {
        int r, size = 1, at = k;
        double *K = A + (long)k * ld, diagonal = fabs(K[k]), below = largest_below(n, K, k, &r);
        if (!(fmax(diagonal, below) > tiny)) return -1;
        if (diagonal < alpha * below) {
            double row = largest_in_row(n, A, ld, k, r), other = fabs(A[(long)r * ld + r]);
            if (diagonal * row >= alpha * below * below) {
                at = k;
            } else if (other >= alpha * row) {
                at = r;
            } else {
                at = r;
                size = 2;
            }
        }
        int place = k + size - 1;
        if (at != place) swap(n, A, ld, place, at, k);
        if (size == 2 && at != place) { /* the entry beside the pivot block */
            double x = K[place];
            K[place] = K[at];
            K[at] = x;
        }
        if (size == 1) {
            pivot[k] = at;
            negative += K[k] < 0;
            eliminate_one(n, A, ld, k);
        } else {
            pivot[k] = pivot[k + 1] = -at - 1;
            double determinant = K[k] * A[(long)(k + 1) * ld + k + 1] - K[k + 1] * K[k + 1];
            negative += determinant < 0 ? 1 : K[k] < 0 ? 2 : 0;
            eliminate_two(n, A, ld, k);
        }
        k += size;
    }
    return negative;
}

static void solve_one(int n, const double *A, int ld, const int *pivot, double *restrict x)
{
    for (int k = 0; k < n;) {
        const double *L = A + (long)k * ld;
        if (pivot[k] >= 0) {
            double s = x[k];
            if (s != 0)
                for (int i = k + 1; i < n; i++) x[i] -= L[i] * s;
            x[k] = s / L[k];
            k++;
        } else {
            const double *M = L + ld;
            double s0 = x[k], s1 = x[k + 1];
            for (int i = k + 2; i < n; i++) x[i] -= L[i] * s0 + M[i] * s1;
            double d21 = L[k + 1], d11 = L[k] / d21, d22 = M[k + 1] / d21, t = d11 * d22 - 1;
            x[k] = (d22 * s0 - s1) / d21 / t;
            x[k + 1] = (d11 * s1 - s0) / d21 / t;
            k += 2;
        }
    }
    for (int k = n - 1; k >= 0;) {
        int two = pivot[k] < 0, first = two ? k - 1 : k;
        for (int c = first; c <= k; c++) {
            const double *L = A + (long)c * ld;
            double s = 0;
            for (int i = k + 1; i < n; i++) s += L[i] * x[i];
            x[c] -= s;
        }
        k = first - 1;
    }
}

enum {
    FEW = 2, /* columns: as many as a plain vector register holds */
    MOST_OF_FEW = 128
};

/* The same for a few columns at once, entry i of column c at x[FEW i + c]. */
static void solve_few(int n, const double *A, int ld, const int *pivot, double *restrict x)
{
    for (int k = 0; k < n;) {
        const double *restrict L = A + (long)k * ld;
        double *at = x + (long)FEW * k, s0[FEW], s1[FEW];
        int two = pivot[k] < 0, any = 0;
        for (int c = 0; c < FEW; c++) s0[c] = at[c], any |= s0[c] != 0;
        for (int c = 0; c < FEW && two; c++) s1[c] = at[FEW + c], any |= s1[c] != 0;
        if (any && !two) {
            for (int i = k + 1; i < n; i++)
                for (int c = 0; c < FEW; c++) x[FEW * i + c] -= L[i] * s0[c];
            for (int c = 0; c < FEW; c++) at[c] = s0[c] / L[k];
        } else if (any) {
            const double *restrict M = L + ld;
            double d21 = L[k + 1], d11 = L[k] / d21, d22 = M[k + 1] / d21, t = d11 * d22 - 1;
            for (int i = k + 2; i < n; i++)
                for (int c = 0; c < FEW; c++) x[FEW * i + c] -= L[i] * s0[c] + M[i] * s1[c];
            for (int c = 0; c < FEW; c++) at[c] = (d22 * s0[c] - s1[c]) / d21 / t;
            for (int c = 0; c < FEW; c++) at[FEW + c] = (d11 * s1[c] - s0[c]) / d21 / t;
        }
        k += 1 + two;
    }
    for (int k = n - 1; k >= 0;) {
        int first = pivot[k] < 0 ? k - 1 : k;
        for (int j = first; j <= k; j++) {
            const double *restrict L = A + (long)j * ld;
            double s[FEW] = {0};
            for (int i = k + 1; i < n; i++)
                for (int c = 0; c < FEW; c++) s[c] += L[i] * x[FEW * i + c];
            for (int c = 0; c < FEW; c++) x[FEW * j + c] -= s[c];
        }
        k = first - 1;
    }
}

/* m <= FEW columns of X, side by side. */
static void solve_together(int n, const double *A, int ld, const int *pivot, double *X, int ldx,
                           int m)
{
    double x[FEW * MOST_OF_FEW];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < FEW; c++) x[FEW * i + c] = c < m ? X[(long)c * ldx + i] : 0;
    solve_few(n, A, ld, pivot, x);
    for (int c = 0; c < m; c++)
        for (int i = 0; i < n; i++) X[(long)c * ldx + i] = x[FEW * i + c];
}

void perp__ldl_solve(int n, const double *A, int ld, const int *pivot, double *X, int ldx, int m)
{
    for (int k = 0; k < n;) {
        int two = pivot[k] < 0, at = two ? -pivot[k] - 1 : pivot[k], place = two ? k + 1 : k;
        if (at != place) perp__exchange(m, X + at, X + place, ldx);
        k += two ? 2 : 1;
    }
    for (int c = 0, few; c < m; c += few) {
        few = n > MOST_OF_FEW ? 1 : m - c < FEW ? m - c : FEW;
        if (few == 1)
            solve_one(n, A, ld, pivot, X + (long)c * ldx);
        else
            solve_together(n, A, ld, pivot, X + (long)c * ldx, ldx, few);
    }
    for (int k = n - 1; k >= 0;) {
        int two = pivot[k] < 0, at = two ? -pivot[k] - 1 : pivot[k];
        if (at != k) perp__exchange(m, X + at, X + k, ldx);
        k -= two ? 2 : 1;
    }
}
