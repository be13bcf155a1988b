/* Products by strips that are packed once; LU by panels with partial pivoting. */

#include "linalg/dense.h"
#include "linalg/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int perp__isa_most = PERP_ISA_COUNT - 1;

static const double *at(const double *A, int lda, int i, int j)
{
    return A + (size_t)i + (size_t)j * (size_t)lda;
}

static double *at_(double *A, int lda, int i, int j)
{
    return A + (size_t)i + (size_t)j * (size_t)lda;
}

/* Products ------------------------------------------------------------------------------------ */

enum { ROWS = 16, FEW = 4, DEPTH = 64 };

/* A few columns of ROWS rows of C += A B stay in registers. A is packed ROWS x k. */
#define TILE(lanes, columns)                                                                       \
    enum { WIDE = (int)(sizeof(lanes) / sizeof(double)), PARTS = ROWS / WIDE };                    \
    lanes sum[columns][PARTS];                                                                     \
    for (int j = 0; j < columns; j++) {                                                            \
        for (int p = 0; p < PARTS; p++) sum[j][p] = (lanes){0};                                    \
    }                                                                                              \
    for (int l = 0; l < k; l++) {                                                                  \
        const lanes *a = (const lanes *)(A + l * ROWS);                                            \
        for (int j = 0; j < columns; j++) {                                                        \
            double b = B[(size_t)l + (size_t)j * (size_t)ldb];                                     \
            for (int p = 0; p < PARTS; p++) sum[j][p] += a[p] * b;                                 \
        }                                                                                          \
    }                                                                                              \
    for (int j = 0; j < columns; j++) {                                                            \
        lanes *c = (lanes *)(C + (size_t)j * (size_t)ldc);                                         \
        for (int p = 0; p < PARTS; p++) c[p] += sum[j][p];                                         \
    }

static inline PERP_INLINE void pack(int rows, int padded, int k, const double *A, int lda,
                                    double *strip)
{
    for (int l = 0; l < k; l++) {
        for (int r = 0; r < padded; r++) strip[l * ROWS + r] = r < rows ? *at(A, lda, r, l) : 0;
    }
}

/* The same at the border: m <= `padded` rows, any number of columns. */
static inline PERP_INLINE void border(int m, int padded, int n, int k, const double *restrict A,
                                      const double *B, int ldb, double *C, int ldc)
{
    for (int j = 0; j < n; j++) {
        double sum[ROWS] = {0};
        for (int l = 0; l < k; l++) {
            double b = B[(size_t)l + (size_t)j * (size_t)ldb];
            for (int i = 0; i < padded; i++) sum[i] += A[l * ROWS + i] * b;
        }
        for (int i = 0; i < m; i++) C[(size_t)i + (size_t)j * (size_t)ldc] += sum[i];
    }
}

/* k <= DEPTH. Strips of ROWS rows of A are packed, so that they stay in the first cache. */
#define VERSION(isa, target)                                                                       \
    enum {                                                                                         \
        COLUMNS_##isa = sizeof(PERP_LANES(isa)) == 64   ? 6                                        \
                        : sizeof(PERP_LANES(isa)) == 32 ? 2                                        \
                                                        : 1                                        \
    };                                                                                             \
    target static void tile_##isa(int k, const double *restrict A, const double *B, int ldb,       \
                                  double *C, int ldc){TILE(                                        \
        PERP_LANES(isa),                                                                           \
        COLUMNS_##isa)} target static void product_##isa(int m, int n, int k, const double *A,     \
                                                         int lda, const double *B, int ldb,        \
                                                         double *C, int ldc)                       \
    {                                                                                              \
        double strip[ROWS * DEPTH];                                                                \
        for (int i = 0; i < m; i += ROWS) {                                                        \
            int rows = m - i < ROWS ? m - i : ROWS, j = 0;                                         \
            if (rows <= FEW) {                                                                     \
                pack(rows, FEW, k, at(A, lda, i, 0), lda, strip);                                  \
                border(rows, FEW, n, k, strip, B, ldb, at_(C, ldc, i, 0), ldc);                    \
                break;                                                                             \
            }                                                                                      \
            pack(rows, ROWS, k, at(A, lda, i, 0), lda, strip);                                     \
            for (; rows == ROWS && n - j >= COLUMNS_##isa; j += COLUMNS_##isa)                     \
                tile_##isa(k, strip, at(B, ldb, 0, j), ldb, at_(C, ldc, i, j), ldc);               \
            border(rows, ROWS, n - j, k, strip, at(B, ldb, 0, j), ldb, at_(C, ldc, i, j), ldc);    \
        }                                                                                          \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

typedef void product_fn(int m, int n, int k, const double *A, int lda, const double *B, int ldb,
                        double *C, int ldc);

static product_fn *const products[] = {
#define VERSION(isa, target) product_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

void perp__add_product(int m, int n, int k, const double *A, int lda, const double *B, int ldb,
                       double *C, int ldc)
{
    product_fn *run = products[perp__isa()];
    for (int l = 0; l < k; l += DEPTH)
        run(m, n, k - l < DEPTH ? k - l : DEPTH, A + (size_t)l * (size_t)lda, lda, B + l, ldb, C,
            ldc);
}

/* LU ------------------------------------------------------------------------------------------ */

void perp__exchange(int n, double *a, double *b, int step)
{
    enum { AT_ONCE = 4 };
    const size_t by = (size_t)step;
    if (a == b) return;
    for (; n >= AT_ONCE; n -= AT_ONCE, a += AT_ONCE * by, b += AT_ONCE * by) {
        for (size_t l = 0; l < AT_ONCE; l++) {
            double t = a[l * by];
            a[l * by] = b[l * by];
            b[l * by] = t;
        }
    }
    for (; n > 0; n--, a += by, b += by) {
        double t = *a;
        *a = *b;
        *b = t;
    }
}

enum { MOST_BEHIND = 7 }; /* lu_kernel.h has loops of their own for so many vectors behind one */
#define KERNEL "linalg/lu_kernel.h"
#include "linalg/every_isa.h"

static const struct {
    int (*factor_panel)(int n, int k, int nb, double *A, int lda, int *swap);
    void (*solve_rows)(int n, int k, int nb, double *A, int lda);
    void (*solve)(int n, const double *LU, int ld, double *x);
} lu[] = {
#define VERSION(isa, target) {factor_panel_##isa, solve_rows_##isa, solve_##isa},
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

int perp__lu(int n, double *A, int lda, int *swap)
{
    enum { NB = 32 };
    int first_bad = 0, isa = perp__isa();
    for (int k = 0; k < n; k += NB) {
        int nb = n - k < NB ? n - k : NB, rest = n - k - nb;
        int bad = lu[isa].factor_panel(n, k, nb, A, lda, swap);
        if (bad && !first_bad) first_bad = bad;
        for (int c = k; c < k + nb && nb < n; c++) { /* the same exchanges in the other columns */
            perp__exchange(k, A + c, A + swap[c], lda);
            perp__exchange(rest, at_(A, lda, c, k + nb), at_(A, lda, swap[c], k + nb), lda);
        }
        if (rest == 0) break;
        lu[isa].solve_rows(n, k, nb, A, lda); /* U12, and -U12 for the product */
        for (int j = k + nb; j < n; j++) {
            double *column = A + (size_t)j * (size_t)lda;
            for (int c = k; c < k + nb; c++) column[c] = -column[c];
        }
        perp__add_product(rest, rest, nb, at(A, lda, k + nb, k), lda, at(A, lda, k, k + nb), lda,
                          at_(A, lda, k + nb, k + nb), lda);
        for (int j = k + nb; j < n; j++) {
            double *column = A + (size_t)j * (size_t)lda;
            for (int c = k; c < k + nb; c++) column[c] = -column[c];
        }
    }
    return first_bad;
}

void perp__lu_solve(int n, const double *LU, int ld, const int *swap, double *x)
{
    for (int k = 0; k < n; k++) {
        double t = x[k];
        x[k] = x[swap[k]];
        x[swap[k]] = t;
    }
    lu[perp__isa()].solve(n, LU, ld, x);
}

void perp__lu_solve_transposed(int n, const double *LU, int ld, const int *swap, double *x)
{
    for (int k = 0; k < n; k++) {
        const double *column = LU + (size_t)k * (size_t)ld;
        double sum = x[k];
        for (int i = 0; i < k; i++) sum -= column[i] * x[i];
        x[k] = sum / column[k];
    }
    for (int k = n - 1; k >= 0; k--) {
        const double *column = LU + (size_t)k * (size_t)ld;
        double sum = x[k];
        for (int i = k + 1; i < n; i++) sum -= column[i] * x[i];
        x[k] = sum;
    }
    for (int k = n - 1; k >= 0; k--) {
        double t = x[k];
        x[k] = x[swap[k]];
        x[swap[k]] = t;
    }
}

double perp__lu_rcond(int n, const double *LU, int ld, const int *swap, double norm, double *work)
{
    double *x = work, *s = work + n, estimate = 0;
    for (int k = 0; k < n; k++) {
        if (*at(LU, ld, k, k) == 0) return 0;
        x[k] = 1.0 / n;
    }
    for (int round = 0; round < 4 && n > 0; round++) {
        double sum = 0, largest = 0, inner = 0;
        int at_largest = 0;
        perp__lu_solve(n, LU, ld, swap, x);
        for (int i = 0; i < n; i++) {
            sum += fabs(x[i]);
            s[i] = x[i] < 0 ? -1 : 1;
        }
        if (!(sum > estimate)) break;
        estimate = sum;
        perp__lu_solve_transposed(n, LU, ld, swap, s);
        for (int i = 0; i < n; i++) {
            inner += s[i] / n;
            if (fabs(s[i]) > largest) {
                largest = fabs(s[i]);
                at_largest = i;
            }
        }
        if (round > 0 && largest <= fabs(inner)) break;
        memset(x, 0, (size_t)n * sizeof *x);
        x[at_largest] = 1;
    }
    if (n == 0) return 1;
    if (estimate > 0 && norm > 0) return 1 / (estimate * norm);
    return 0;
}

/* Cholesky ------------------------------------------------------------------------------------ */

int perp__cholesky(int n, double *A, int lda, double smallest)
{
    enum { NB = 32 };
    double transposed[NB * NB];
    for (int k = 0; k < n; k += NB) {
        int nb = n - k < NB ? n - k : NB;
        for (int c = k; c < k + nb; c++) {
            double *column = A + (size_t)c * (size_t)lda;
            if (!(column[c] > smallest)) return 0;
            double root = sqrt(column[c]);
            for (int i = c; i < n; i++) column[i] /= root;
            for (int j = c + 1; j < k + nb; j++) {
                double *restrict other = A + (size_t)j * (size_t)lda, f = column[j];
                for (int i = j; i < n && f != 0; i++) other[i] -= f * column[i];
            }
        }
        for (int j = k + nb; j < n; j += NB) { /* block columns of the rest */
            int width = n - j < NB ? n - j : NB;
            for (int r = 0; r < width; r++) {
                for (int c = 0; c < nb; c++) transposed[c + r * NB] = -*at(A, lda, j + r, k + c);
            }
            perp__add_product(n - j, width, nb, at(A, lda, j, k), lda, transposed, NB,
                              at_(A, lda, j, j), lda);
        }
    }
    return 1;
}

void perp__cholesky_solve(int n, const double *L, int ld, double *x)
{
    for (int k = 0; k < n; k++) {
        const double *column = L + (size_t)k * (size_t)ld;
        x[k] /= column[k];
        for (int i = k + 1; i < n; i++) x[i] -= x[k] * column[i];
    }
    for (int k = n - 1; k >= 0; k--) {
        const double *column = L + (size_t)k * (size_t)ld;
        double sum = x[k];
        for (int i = k + 1; i < n; i++) sum -= column[i] * x[i];
        x[k] = sum / column[k];
    }
}

/* ------------------------------------------------------------------------------------------- */

double perp__norm1(int n, const double *A, int lda)
{
    double largest = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fabs(*at(A, lda, i, j));
        if (!(sum <= largest)) largest = sum;
    }
    return largest;
}

/* x - x is 0, or NaN. Sixteen partial results, which the compiler puts into vectors. */
static inline PERP_INLINE int finite_body(int n, const double *x)
{
    enum { STRANDS = 16 };
    double sum[STRANDS] = {0}, rest = 0;
    int i = 0;
    for (; i + STRANDS <= n; i += STRANDS) {
        for (int l = 0; l < STRANDS; l++) sum[l] += x[i + l] - x[i + l];
    }
    for (; i < n; i++) rest += x[i] - x[i];
    for (int l = 0; l < STRANDS && n >= STRANDS; l++) rest += sum[l];
    return rest == 0;
}

#define VERSION(isa, target)                                                                       \
    target static int finite_##isa(int n, const double *x)                                         \
    {                                                                                              \
        return finite_body(n, x);                                                                  \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static int (*const finite_tests[])(int n, const double *x) = {
#define VERSION(isa, target) finite_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

int perp__are_finite(int n, const double *x)
{
    return n < 16 ? finite_body(n, x) : finite_tests[perp__isa()](n, x);
}
