/* One or two columns are eliminated at a time; where most of a column is 0, by a list of the
 * rest. */

#include "linalg/ldl.h"

#include "base/holds.h"

#include <math.h>
#include <stddef.h>

/* Swap rows and columns k < j of the trailing matrix of size m, and the rows of L before it. */
static void swap(int m, double *A, int ld, int k, int j)
{
    double *K = A + (long)k * ld, *J = A + (long)j * ld, x;
    for (int i = j + 1; i < m; i++) {
        x = K[i];
        K[i] = J[i];
        J[i] = x;
    }
    for (int i = k + 1; i < j; i++) {
        double *other = A + (long)i * ld + j;
        x = K[i];
        K[i] = *other;
        *other = x;
    }
    x = K[k];
    K[k] = J[j];
    J[j] = x;
    for (int c = 0; c < k; c++) {
        double *C = A + (long)c * ld;
        x = C[k];
        C[k] = C[j];
        C[j] = x;
    }
}

/* Largest |A[i,k]|, i > k; its row in *at. */
static double largest_below(int n, const double *column, int k, int *at)
{
    double most = 0;
    *at = k;
    for (int i = k + 1; i < n; i++) {
        double a = fabs(column[i]);
        if (a > most) {
            most = a;
            *at = i;
        }
    }
    return most;
}

/* Largest off-diagonal of row r in the trailing matrix from k on. */
static double largest_in_row(int n, const double *A, int ld, int k, int r)
{
    double most = 0;
    for (int c = k; c < r; c++) most = perp__larger(fabs(A[(long)c * ld + r]), most);
    for (int i = r + 1; i < n; i++) most = perp__larger(fabs(A[(long)r * ld + i]), most);
    return most;
}

/* The rows from `first` on in which one of two columns (M may be NULL) is not 0. Returns their
 * number, or -1 if they are too many for a list to pay. */
static int list_rows(int first, int m, const double *L, const double *M, int *list)
{
    int n = 0;
    for (int i = first; i < m; i++) {
        list[n] = i;
        n += L[i] != 0 || (M && M[i] != 0);
    }
    return 3 * n < m - first ? n : -1;
}

/* Trailing matrix less d l l', and the column becomes l. */
static void eliminate_one(int m, double *A, int ld, int k, int *list)
{
    double *restrict L = A + (long)k * ld, inverse = 1 / L[k];
    int few = list_rows(k + 1, m, L, NULL, list);
    for (int a = 0; a < few; a++) {
        int j = list[a];
        double s = L[j] * inverse, *restrict J = A + (long)j * ld;
        for (int b = a; b < few; b++) J[list[b]] -= s * L[list[b]];
        L[j] = s;
    }
    for (int j = k + 1; j < m && few < 0; j++) {
        double s = L[j] * inverse;
        if (s == 0) continue;
        double *restrict J = A + (long)j * ld;
        for (int i = j; i < m; i++) J[i] -= s * L[i];
        L[j] = s;
    }
}

static void eliminate_two(int m, double *A, int ld, int k, int *list)
{
    double *restrict L0 = A + (long)k * ld, *restrict L1 = L0 + ld;
    double d21 = L0[k + 1], d11 = L1[k + 1] / d21, d22 = L0[k] / d21;
    double t = 1 / (d11 * d22 - 1);
    int few = list_rows(k + 2, m, L0, L1, list), n = few < 0 ? m - k - 2 : few;
    d21 = t / d21;
    for (int a = 0; a < n; a++) {
        int j = few < 0 ? k + 2 + a : list[a];
        double s0 = d21 * (d11 * L0[j] - L1[j]), s1 = d21 * (d22 * L1[j] - L0[j]);
        double *restrict J = A + (long)j * ld;
        if (s0 == 0 && s1 == 0) continue;
        if (few < 0)
            for (int i = j; i < m; i++) J[i] -= s0 * L0[i] + s1 * L1[i];
        else
            for (int b = a; b < n; b++) J[list[b]] -= s0 * L0[list[b]] + s1 * L1[list[b]];
        L0[j] = s0;
        L1[j] = s1;
    }
}

int perp__ldl_factor(int n, int m, double *A, int ld, int *pivot, int *list, double tiny)
{
    const double alpha = 0.6403882032022076; /* (1 + sqrt(17)) / 8 bounds the growth */
    int negative = 0;
    for (int k = 0; k < n;) {
        int r, size = 1, at = k;
        double *K = A + (long)k * ld, diagonal = fabs(K[k]), below = largest_below(n, K, k, &r);
        if (!(perp__larger(below, diagonal) > tiny)) return -1;
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
        if (at != place) swap(m, A, ld, place, at);
        if (size == 1) {
            pivot[k] = at;
            negative += K[k] < 0;
            eliminate_one(m, A, ld, k, list);
        } else {
            pivot[k] = pivot[k + 1] = -at - 1;
            double determinant = K[k] * A[(long)(k + 1) * ld + k + 1] - K[k + 1] * K[k + 1];
            if (determinant < 0)
                negative += 1;
            else if (K[k] < 0)
                negative += 2;
            eliminate_two(m, A, ld, k, list);
        }
        k += size;
    }
    return negative;
}

void perp__ldl_forward(int n, int m, const double *A, int ld, const int *pivot, double *restrict x)
{
    for (int k = 0; k < n;) {
        int two = pivot[k] < 0, at = two ? -pivot[k] - 1 : pivot[k], place = k + two;
        double y = x[at];
        x[at] = x[place];
        x[place] = y;
        k += 1 + two;
    }
    for (int k = 0; k < n;) {
        const double *restrict L = A + (long)k * ld;
        if (pivot[k] >= 0) {
            double s = x[k];
            for (int i = k + 1; i < m && s != 0; i++) x[i] -= L[i] * s;
            x[k] = s / L[k];
            k++;
        } else {
            const double *restrict M = L + ld;
            double s0 = x[k], s1 = x[k + 1];
            for (int i = k + 2; i < m && (s0 != 0 || s1 != 0); i++) x[i] -= L[i] * s0 + M[i] * s1;
            double d21 = L[k + 1], d11 = L[k] / d21, d22 = M[k + 1] / d21, t = d11 * d22 - 1;
            x[k] = (d22 * s0 - s1) / d21 / t;
            x[k + 1] = (d11 * s1 - s0) / d21 / t;
            k += 2;
        }
    }
}

/* Four sums side by side, which a processor adds at once. */
static double product(int n, const double *a, const double *b)
{
    double s[4] = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int c = 0; c < 4; c++) s[c] += a[i + c] * b[i + c];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

void perp__ldl_backward(int n, int m, const double *A, int ld, const int *pivot, double *x)
{
    for (int k = n - 1; k >= 0;) {
        int first = pivot[k] < 0 ? k - 1 : k;
        for (int c = first; c <= k; c++)
            x[c] -= product(m - k - 1, A + (long)c * ld + k + 1, x + k + 1);
        k = first - 1;
    }
    for (int k = n - 1; k >= 0;) {
        int two = pivot[k] < 0, at = two ? -pivot[k] - 1 : pivot[k];
        double y = x[at];
        x[at] = x[k];
        x[k] = y;
        k -= 1 + two;
    }
}

void perp__ldl_solve(int n, const double *A, int ld, const int *pivot, double *x)
{
    perp__ldl_forward(n, n, A, ld, pivot, x);
    perp__ldl_backward(n, n, A, ld, pivot, x);
}
