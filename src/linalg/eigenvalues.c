/* Rows and columns are balanced (Osborne 1960), and the matrix is brought to Hessenberg's form. The
 * QR iteration with Wilkinson's shift makes it triangular (Golub & Van Loan, Matrix Computations,
 * 7.4 and 7.5), all in complex numbers. */

#include "linalg/eigenvalues.h"

#include <complex.h>
#include <float.h>
#include <math.h>

#define AT(i, j) A[(i) + (j)*n]

/* The unitary rotation of rows p and q of columns from .. to-1 that makes entry (q, from) zero; c
 * and s are kept. */
static void rotate_rows(int n, double complex *A, int p, int q, int from, int to, double *c,
                        double complex *s)
{
    double a = cabs(AT(p, from)), b = cabs(AT(q, from)), r = hypot(a, b);
    *c = 1;
    *s = 0;
    if (b == 0) return;
    double complex unit = a > 0 ? AT(p, from) / a : 1;
    *c = a / r;
    *s = unit * conj(AT(q, from)) / r;
    for (int j = from; j < to; j++) {
        double complex x = AT(p, j), y = AT(q, j);
        AT(p, j) = *c * x + *s * y;
        AT(q, j) = *c * y - conj(*s) * x;
    }
    AT(q, from) = 0;
}

/* The same rotation of columns p and q, rows from .. to-1, from the other side. */
static void rotate_columns(int n, double complex *A, int p, int q, int from, int to, double c,
                           double complex s)
{
    for (int i = from; i < to && s != 0; i++) {
        double complex x = AT(i, p), y = AT(i, q);
        AT(i, p) = c * x + conj(s) * y;
        AT(i, q) = c * y - s * x;
    }
}

static void balance(int n, double complex *A)
{
    enum { ROUNDS = 20 };
    int moves = 1;
    for (int round = 0; round < ROUNDS && moves; round++) {
        moves = 0;
        for (int k = 0; k < n; k++) {
            double row = 0, column = 0;
            for (int i = 0; i < n; i++) {
                if (i == k) continue;
                row += cabs(AT(k, i));
                column += cabs(AT(i, k));
            }
            if (!(row > 0 && column > 0)) continue;
            int by = (ilogb(row) - ilogb(column)) / 2;
            if (by == 0) continue;
            moves = 1;
            for (int i = 0; i < n; i++) {
                AT(i, k) *= ldexp(1, by);
                AT(k, i) *= ldexp(1, -by);
            }
        }
    }
}

static void to_hessenberg(int n, double complex *A)
{
    double c;
    double complex s;
    for (int j = 0; j + 2 < n; j++) {
        for (int i = n - 1; i > j + 1; i--) {
            rotate_rows(n, A, i - 1, i, j, n, &c, &s);
            rotate_columns(n, A, i - 1, i, 0, n, c, s);
        }
    }
}

/* The eigenvalue of the last 2 x 2 block that is nearer to its last entry. */
static double complex shift(int n, const double complex *A, int last)
{
    double complex a = AT(last - 1, last - 1), b = AT(last - 1, last), c = AT(last, last - 1),
                   d = AT(last, last), half = (a - d) / 2, root = csqrt(half * half + b * c);
    double complex big = cabs(half + root) > cabs(half - root) ? half + root : half - root;
    return big == 0 ? d : d - b * c / big;
}

/* One QR step of the block first .. last. */
static void iterate(int n, double complex *A, int first, int last, double complex by)
{
    double c[2] = {1, 1};
    double complex s[2] = {0, 0};
    for (int i = first; i <= last; i++) AT(i, i) -= by;
    for (int k = first; k < last; k++) { /* the columns follow by one rotation */
        rotate_rows(n, A, k, k + 1, k, last + 1, &c[k % 2], &s[k % 2]);
        if (k > first) rotate_columns(n, A, k - 1, k, first, k + 1, c[(k + 1) % 2], s[(k + 1) % 2]);
    }
    rotate_columns(n, A, last - 1, last, first, last + 1, c[(last + 1) % 2], s[(last + 1) % 2]);
    for (int i = first; i <= last; i++) AT(i, i) += by;
}

int perp__eigenvalues(int n, double complex *A, double complex *value)
{
    enum { MOST = 60, EVERY = 10 };
    int tries = 0;
    for (int i = 0; i < n * n; i++)
        if (!isfinite(creal(A[i])) || !isfinite(cimag(A[i]))) return 0;
    balance(n, A);
    to_hessenberg(n, A);
    for (int last = n - 1; last >= 0;) {
        int first = last;
        while (first > 0) {
            double size = cabs(AT(first, first)) + cabs(AT(first - 1, first - 1));
            if (cabs(AT(first, first - 1)) <= DBL_EPSILON * size + DBL_MIN) break;
            first--;
        }
        if (first == last) {
            value[last] = AT(last, last);
            last--;
            tries = 0;
            continue;
        }
        if (tries++ == MOST) return 0;
        double complex by = shift(n, A, last);
        if (tries % EVERY == 0) by = AT(last, last) + cabs(AT(last, last - 1));
        iterate(n, A, first, last, by);
    }
    return 1;
}
