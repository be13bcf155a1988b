/* The loops of invert.c, which includes this once for every vector width: ISA is the suffix of the
 * names, TARGET the attribute of the functions. Every loop runs over whole vectors of a padded row,
 * and no result depends on the width. */

#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa)  JOIN_(name, isa)
#define K(name)          JOIN(name, ISA)
#define INLINE           static inline PERP_INLINE TARGET
#define VEC              PERP_LANES(ISA)
#define AT(array, j)     (*(VEC *)((array) + (j)))
enum { K(WIDE) = (int)(sizeof(VEC) / sizeof(double)) };
#define WIDTH K(WIDE)

INLINE VEC K(all)(double x)
{
    return x - (VEC){0}; /* which is x, and folds */
}

INLINE double K(largest_of)(VEC x)
{
    double largest = 0;
    for (int l = 0; l < WIDTH; l++) largest = PERP_LANE(x, l) > largest ? PERP_LANE(x, l) : largest;
    return largest;
}

/* What a row has in open columns: how many entries, and the size of the largest. */
typedef struct K(seen) {
    VEC largest;
    PERP_MASK(ISA) entries; /* what comparisons give: of vectors -1, else 1 */
} K(seen);

INLINE void K(see)(const table *t, int j, VEC x, K(seen) * s)
{
    x = PERP_ABS(ISA, x) * AT(t->open, j);
    s->largest = PERP_LARGER(ISA, x, s->largest);
    s->entries += x != (VEC){0};
}

INLINE void K(note)(const table *t, int i, const K(seen) * s)
{
    int entries = 0;
    for (int l = 0; l < WIDTH; l++) entries += (int)PERP_LANE(s->entries, l);
    t->entries[i] = abs(entries);
    t->largest[i] = K(largest_of)(s->largest);
}

/* Row i, which has A's, in the columns' units and scaled. 0: it is zero, or has no size. */
TARGET static int K(begin)(const table *t, int i)
{
    double *row = row_of(t, i);
    VEC most = {0};
    K(seen) s = {{0}, {0}};
    for (int j = 0; j < t->ld; j += WIDTH) {
        AT(row, j) *= AT(t->unit, j);
        most = PERP_LARGER(ISA, PERP_ABS(ISA, AT(row, j)), most);
    }
    t->scale[i] = scale_of(K(largest_of)(most));
    for (int j = 0; j < t->ld; j += WIDTH) {
        AT(row, j) *= K(all)(t->scale[i]);
        K(see)(t, j, AT(row, j), &s);
    }
    K(note)(t, i, &s);
    return t->scale[i] > 0;
}

/* row -= f pivot, seen if it still can be a pivot's. */
INLINE void K(take)(const table *t, int i, double f, const double *pivot, int is_open)
{
    double *row = row_of(t, i);
    VEC F = K(all)(f);
    K(seen) s = {{0}, {0}};
    for (int j = 0; j < t->ld; j += WIDTH) {
        AT(row, j) -= F * AT(pivot, j);
        if (is_open) K(see)(t, j, AT(row, j), &s);
    }
    if (is_open) K(note)(t, i, &s);
}

/* Rows i to end lose their entries in column c by the row of its pivot. The column of the inverse
 * of that row begins there. */
INLINE void K(leave)(const table *t, int i, int end, int c, const double *pivot)
{
    for (double *column = row_of(t, i) + c; i < end; i++, column += t->ld) {
        double f = *column;
        if (f == 0) continue;
        if (t->unknown[i] < 0)
            K(take)(t, i, f, pivot, 1);
        else
            K(take)(t, i, f, pivot, 0);
        *column = 0 - f * pivot[c];
    }
}

/* Unknown c from row r, which leaves the others. */
TARGET static void K(eliminate)(const table *t, int r, int c)
{
    double *pivot = row_of(t, r);
    VEC p = K(all)(pivot[c]);
    pivot[c] = t->scale[r];
    for (int j = 0; j < t->ld; j += WIDTH) AT(pivot, j) /= p;
    K(leave)(t, 0, r, c, pivot);
    K(leave)(t, r + 1, t->n, c, pivot);
}

#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef AT
#undef WIDTH
#undef ISA
#undef TARGET
