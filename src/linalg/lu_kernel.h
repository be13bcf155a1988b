/* The loops of LU in dense.c, which includes this once for every vector width: ISA is the suffix of
 * the names, TARGET the attribute of the functions. Each entry gets the same operations in the same
 * order for all widths.
 *
 * Of n numbers, at least WIDTH, one vector begins with the first, and others end with the last. The
 * entries that the first shares with the next are computed twice from the same old values. */

#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa)  JOIN_(name, isa)
#define K(name)          JOIN(name, ISA)
#define INLINE           static inline PERP_INLINE TARGET
#define VEC              PERP_LANES(ISA)
#define AT(x)            (*(VEC *)(x))
#define CONST_AT(x)      (*(const VEC *)(x))
enum { K(WIDE) = (int)(sizeof(VEC) / sizeof(double)) };
#define WIDTH K(WIDE)

/* How many vectors behind the first one; -1: there are fewer numbers than that has. */
INLINE int K(behind)(int n)
{
    return n < WIDTH ? -1 : (int)((unsigned)(n - 1) / WIDTH);
}

/* x -= f y, of the n numbers that end before x and y. */
INLINE void K(subtract)(int n, int behind, double f, const double *y, double *x)
{
#define SUBTRACT(k) AT(x - (k)*WIDTH) -= f * CONST_AT(y - (k)*WIDTH)
    if (behind < 0) {
        for (int l = 1; l < WIDTH; l++)
            if (l <= n) x[-l] -= f * y[-l];
        return;
    }
    VEC first = CONST_AT(x - n) - f * CONST_AT(y - n);
    for (; behind > MOST_BEHIND; behind--) SUBTRACT(behind);
    switch (behind) {
    case 7: SUBTRACT(7); /* fall through */
    case 6: SUBTRACT(6); /* fall through */
    case 5: SUBTRACT(5); /* fall through */
    case 4: SUBTRACT(4); /* fall through */
    case 3: SUBTRACT(3); /* fall through */
    case 2: SUBTRACT(2); /* fall through */
    case 1: SUBTRACT(1);
    }
    AT(x - n) = first;
#undef SUBTRACT
}

/* Rows c+1 .. n-1 of columns, from that at x to that at `end`, minus their entry of row c times
 * column y; column `none` is skipped. */
INLINE void K(eliminate)(int c, int n, const double *y, double *x, const double *end, size_t lda,
                         double none)
{
#define COLUMNS(rows, behind)                                                                      \
    for (double *to = x; to < end; to += lda)                                                      \
        if (to[c] != none) K(subtract)(rows, behind, to[c], y, to)
    enum { MOST = (MOST_BEHIND + 1) * WIDTH };
    int rows = n - c - 1;
    for (x += n, end += n, y += n, c -= n; rows > MOST; rows -= MOST) {
        COLUMNS(MOST, MOST_BEHIND);
        x -= MOST;
        end -= MOST;
        y -= MOST;
        c += MOST;
    }
    switch (K(behind)(rows)) {
    case 7: COLUMNS(rows, 7); break;
    case 6: COLUMNS(rows, 6); break;
    case 5: COLUMNS(rows, 5); break;
    case 4: COLUMNS(rows, 4); break;
    case 3: COLUMNS(rows, 3); break;
    case 2: COLUMNS(rows, 2); break;
    case 1: COLUMNS(rows, 1); break;
    case 0: COLUMNS(rows, 0); break;
    default: COLUMNS(rows, -1);
    }
#undef COLUMNS
}

/* The first of the largest |x_i|; x_0 where that is not a number. */
INLINE int K(largest)(int n, const double *x)
{
    double largest = fabs(x[0]);
    int i = 0;
    if (isnan(largest)) return 0;
    if (n >= WIDTH) {
        VEC most = (VEC){0};
        for (int k = n % WIDTH; k < n; k += WIDTH)
            most = PERP_LARGER(ISA, PERP_ABS(ISA, CONST_AT(x + k)), most);
        most = PERP_LARGER(ISA, PERP_ABS(ISA, CONST_AT(x)), most);
        for (int l = 0; l < WIDTH; l++)
            largest = PERP_LANE(most, l) > largest ? PERP_LANE(most, l) : largest;
    } else {
        for (int k = 1; k < n; k++) largest = fabs(x[k]) > largest ? fabs(x[k]) : largest;
    }
    while (fabs(x[i]) != largest) i++;
    return i;
}

INLINE void K(divide)(int n, double by, double *x)
{
    if (n < WIDTH) {
        for (int l = 0; l < WIDTH - 1; l++)
            if (l < n) x[l] /= by;
        return;
    }
    VEC first = CONST_AT(x) / by;
    for (int k = n % WIDTH; k < n; k += WIDTH) AT(x + k) /= by;
    AT(x) = first;
}

/* Columns k .. k+nb-1 from row k down. Rows are exchanged in these columns only. */
TARGET static int K(factor_panel)(int n, int k, int nb, double *A, int lda, int *swap)
{
    int first_bad = 0;
    const double *end = at(A, lda, 0, k + nb);
    for (int c = k; c < k + nb; c++) {
        double *column = at_(A, lda, 0, c);
        int p = swap[c] = c + K(largest)(n - c, column + c);
        if (!(fabs(column[p]) > 0) || !isfinite(column[p])) {
            if (!first_bad) first_bad = c + 1;
            continue;
        }
        perp__exchange(nb, at_(A, lda, c, k), at_(A, lda, p, k), lda);
        K(divide)(n - c - 1, column[c], column + c + 1);
        K(eliminate)(c, n, column, column + lda, end, (size_t)lda, 0);
    }
    return first_bad;
}

/* inv(L11) A12 of panel k .. k+nb-1, in the columns behind it. */
TARGET static void K(solve_rows)(int n, int k, int nb, double *A, int lda)
{
    double *first = at_(A, lda, 0, k + nb), *end = at_(A, lda, 0, n);
    for (int c = k; c < k + nb; c++)
        K(eliminate)(c, k + nb, at(A, lda, 0, c), first, end, (size_t)lda, (double)NAN);
}

/* The rows of x were exchanged. */
TARGET static void K(solve)(int n, const double *LU, int ld, double *x)
{
    for (int k = 0; k < n; k++)
        if (x[k] != 0) K(subtract)(n - k - 1, K(behind)(n - k - 1), x[k], at(LU, ld, n, k), x + n);
    for (int k = n - 1; k >= 0; k--) {
        x[k] /= *at(LU, ld, k, k);
        K(subtract)(k, K(behind)(k), x[k], at(LU, ld, k, k), x + k);
    }
}

#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef AT
#undef CONST_AT
#undef WIDTH
#undef ISA
#undef TARGET
