/* Gauss-Jordan elimination of [A I] in place. Only columns of I that belong to former pivot rows
 * differ from I. They are stored where A's columns have become unit vectors. */

#include "base/tol.h"
#include "linalg/invert.h"
#include "linalg/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    int n, ld;       /* rows of W are padded by zeros to ld */
    double *W;       /* row-major */
    double *open;    /* of columns: 1 until it is a pivot's, then 0; */
    double *unit;    /* by what it is multiplied */
    double *scale;   /* of rows: the same; */
    double *largest; /* until the row is a pivot's, then 0: the largest in open columns, */
    int *entries;    /* how many there are; */
    int *unknown;    /* which the row gives, or -1 */
    int *row;        /* of unknowns: the row that gives it */
} table;

enum { WIDEST = 8 };

static int padded(int n)
{
    return (n + WIDEST - 1) / WIDEST * WIDEST;
}

static double *row_of(const table *t, int i)
{
    return t->W + (size_t)i * (size_t)t->ld;
}

/* A power of two near 1 / largest: scaling by it is exact. 0 for a zero row. */
static double scale_of(double largest)
{
    int exponent;
    if (largest == 0 || !isfinite(largest)) return 0;
    frexp(largest, &exponent);
    return ldexp(1, -exponent);
}

#define KERNEL "linalg/invert_kernel.h"
#include "linalg/every_isa.h"

#define ENTRY(isa, target) {begin_##isa, eliminate_##isa},
static const struct {
    int (*begin)(const table *t, int i);
    void (*eliminate)(const table *t, int r, int c);
} kernel[] = {PERP_ISA_LIST(ENTRY)};

/* A and the columns' units, padded. */
static void fill(const table *t, const double *A, int lda, const double *unit)
{
    int n = t->n;
    size_t rest = (size_t)(t->ld - n) * sizeof(double);
    for (int i = 0; i < n; i++) {
        memcpy(row_of(t, i), A + (size_t)i * (size_t)lda, (size_t)n * sizeof(double));
        memset(row_of(t, i) + n, 0, rest);
        t->unknown[i] = -1;
    }
    for (int j = 0; j < t->ld; j++) {
        t->open[j] = j < n;
        t->unit[j] = unit && j < n ? unit[j] : 1;
    }
}

/* The first row with one entry left, else that of the largest open entry. Returns -1 if it is too
 * small. */
static int choose_row(const table *t)
{
    int best = -1;
    double largest = PERP_TOL_SINGULAR;
    for (int i = 0; i < t->n; i++) {
        if (!(t->largest[i] > PERP_TOL_SINGULAR)) continue;
        if (t->entries[i] == 1) return i;
        if (t->largest[i] > largest) {
            largest = t->largest[i];
            best = i;
        }
    }
    return best;
}

/* The first of the largest open entries of row r. */
static int choose_column(const table *t, int r)
{
    const double *row = row_of(t, r);
    double largest = t->largest[r];
    int c = 0;
    while (fabs(row[c]) != largest || t->open[c] == 0) c++;
    return c;
}

/* The inverse's columns, from where they stand. */
static void take_out(const table *t, double *inverse)
{
    for (int c = 0; c < t->n; c++) {
        double *column = inverse + (size_t)t->row[c] * (size_t)t->n;
        for (int k = 0; k < t->n; k++) column[k] = row_of(t, t->row[k])[c] * t->unit[k];
    }
}

size_t perp__invert_doubles(int n)
{
    return (size_t)padded(n) * ((size_t)n + 4);
}

int perp__invert(int n, const double *A, int lda, const double *unit, double *inverse, double *work,
                 int *index)
{
    int isa = perp__isa(), ld = padded(n);
    table t = {.n = n, .ld = ld, .W = work, .unknown = index, .entries = index + n};
    t.open = row_of(&t, n);
    t.unit = t.open + ld;
    t.scale = t.unit + ld;
    t.largest = t.scale + ld;
    t.row = t.entries + n;
    fill(&t, A, lda, unit);
    for (int i = 0; i < n; i++)
        if (!kernel[isa].begin(&t, i)) return 0;
    for (int step = 0; step < n; step++) {
        int r = choose_row(&t);
        if (r < 0) return 0;
        int c = choose_column(&t, r);
        t.unknown[r] = c;
        t.row[c] = r;
        t.open[c] = t.largest[r] = 0;
        kernel[isa].eliminate(&t, r, c);
    }
    take_out(&t, inverse);
    return 1;
}
