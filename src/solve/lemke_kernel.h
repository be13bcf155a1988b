/* The loops of lcp_lemke.c, which includes this once for every vector width: ISA is the suffix of the
 * names, TARGET the attribute of the functions. Every loop runs over whole vectors of a padded column
 * (ld rows; those behind n are 0), and no result depends on the width. */

#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa) JOIN_(name, isa)
#define K(name) JOIN(name, ISA)
#define INLINE static inline PERP_INLINE TARGET

typedef PERP_LANES(ISA) K(lanes);
typedef PERP_MASK(ISA) K(mask);
enum { K(WIDE) = (int)(sizeof(K(lanes)) / sizeof(double)) };
#define VEC K(lanes)
#define WIDTH K(WIDE)
#define SELECT(mask, yes, no) PERP_SELECT(ISA, mask, yes, no)
#define AT(array, i) (*(VEC *)((array) + (i)))

INLINE VEC K(all)(double x)
{
    return (VEC){0} + x;
}

INLINE VEC K(larger)(VEC a, VEC b)
{
    return SELECT(a > b, a, b);
}

INLINE VEC K(smaller)(VEC a, VEC b)
{
    return SELECT(a < b, a, b);
}

/* column += f pc, for k columns with their f at once. */
INLINE void K(update)(int ld, double *column, const double *pc, double f)
{
    for (int i = 0; i < ld; i += WIDTH) AT(column, i) += AT(pc, i) * f;
}

INLINE void K(update4)(int ld, double *column, const double *pc, const double *f)
{
    double f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3];
    double *b = column + ld, *c = b + ld, *d = c + ld;
    for (int i = 0; i < ld; i += WIDTH) {
        VEC p = AT(pc, i);
        AT(column, i) += p * f0;
        AT(b, i) += p * f1;
        AT(c, i) += p * f2;
        AT(d, i) += p * f3;
    }
}

/* The variable of column c becomes basic in row r; pc is column c. */
INLINE void K(pivot)(dictionary *d, int ld, int r, int c)
{
    int n = d->n, j = 0;
    double inverse = 1 / d->pc[r], *row = d->row, *D = d->D, *column = D + (size_t)c * (size_t)ld;
    double q = -d->q[r] * inverse;
    d->pc[r] = 0;
    for (int k = 0; k <= n; k++) row[k] = -D[(size_t)r + (size_t)k * (size_t)ld] * inverse;
    row[c] = 0;
    for (; j + 4 <= n + 1; j += 4) {
        if (row[j] != 0 || row[j + 1] != 0 || row[j + 2] != 0 || row[j + 3] != 0)
            K(update4)(ld, D + (size_t)j * (size_t)ld, d->pc, row + j);
    }
    for (; j <= n; j++) K(update)(ld, D + (size_t)j * (size_t)ld, d->pc, row[j]);
    K(update)(ld, d->q, d->pc, q);
    for (int k = 0; k <= n; k++) D[(size_t)r + (size_t)k * (size_t)ld] = row[k];
    for (int i = 0; i < ld; i += WIDTH) AT(column, i) = AT(d->pc, i) * inverse;
    column[r] = inverse;
    d->q[r] = q;
    exchange(d, r, c);
}

/* The same for few rows, with whole vectors stored: a load of a vector waits long for a number stored into it. */
INLINE void K(pivot_small)(dictionary *d, int ld, int r, int c)
{
    int n = d->n;
    double inverse = 1 / d->pc[r], *D = d->D, *pc = d->pc;
    for (int j = 0; j <= n + 1; j++) {
        double *column = j <= n ? D + j * ld : d->q, f = -column[r] * inverse;
        VEC index = {0}, F = K(all)(f);
        for (int l = 0; l < WIDTH; l++) PERP_LANE(index, l) = l - r;
        for (int i = 0; i < ld; i += WIDTH) {
            AT(column, i) = SELECT(index == 0, F, AT(column, i) + AT(pc, i) * F);
            index += (double)WIDTH;
        }
    }
    VEC index = {0}, R = K(all)(inverse);
    for (int l = 0; l < WIDTH; l++) PERP_LANE(index, l) = l - r;
    for (int i = 0; i < ld; i += WIDTH) {
        AT(D, i + c * ld) = SELECT(index == 0, R, AT(pc, i) * R);
        index += (double)WIDTH;
    }
    exchange(d, r, c);
}

/* The same pivot kept as factors: row r and column c of D, U and V become 0, and D gets the product of
 * the column (1 in row r) and the row (1/p in column c). */
INLINE void K(pivot_later)(dictionary *d, int r, int c)
{
    int n = d->n, ld = d->ld, k = d->pending;
    double p = d->pc[r], *v = d->V + k, q = -d->q[r] / p;
    for (int j = 0; j <= n; j++) {
        double *entry = column_of(d, j) + r, x = *entry;
        const double *older = d->V + (size_t)j * BLOCK;
        for (int l = 0; l < k; l++) x += d->U[r + l * ld] * older[l];
        *entry = 0;
        v[(size_t)j * BLOCK] = -x / p;
    }
    d->pc[r] = 0;
    K(update)(ld, d->q, d->pc, q);
    d->q[r] = q;
    d->pc[r] = 1;
    memset(column_of(d, c), 0, (size_t)ld * sizeof(double));
    for (int l = 0; l < k; l++) d->U[r + l * ld] = 0, d->V[l + c * BLOCK] = 0;
    v[(size_t)c * BLOCK] = 1 / p;
    memcpy(d->U + (size_t)k * (size_t)ld, d->pc, (size_t)ld * sizeof(double));
    exchange(d, r, c);
    if (++d->pending == BLOCK) flush(d);
}

/* The present column c into pc. */
INLINE void K(fetch_column)(dictionary *d, int ld, int c)
{
    double *pc = d->pc, *column = d->D + (size_t)c * (size_t)ld;
    for (int l = 0; l < d->pending; l++) {
        double *u = d->U + (size_t)l * (size_t)ld, f = d->V[(size_t)l + (size_t)c * BLOCK];
        if (f == 0) continue;
        for (int i = 0; i < ld; i += WIDTH) AT(pc, i) = AT(column, i) + AT(u, i) * f;
        column = pc;
    }
    for (int i = 0; i < ld && column != pc; i += WIDTH) AT(pc, i) = AT(column, i);
}

/* The least ratio of a row whose entry in pc is below `smallest`, and the largest entry of pc. */
INLINE double K(least_ratio)(const dictionary *d, int ld, double smallest, double *largest)
{
    VEC zero = {0}, one = zero + 1, none = K(all)((double)INFINITY), least = none, most = zero;
    double limit = (double)INFINITY, size = 0;
    for (int i = 0; i < ld; i += WIDTH) {
        VEC x = AT(d->pc, i), value = K(larger)(AT(d->q, i), zero);
        K(mask) blocks = x < smallest;
        least = K(smaller)(SELECT(blocks, value, none) / SELECT(blocks, -x, one), least);
        most = K(larger)(K(larger)(x, -x), most);
    }
    for (int l = 0; l < WIDTH; l++) {
        limit = PERP_LANE(least, l) < limit ? PERP_LANE(least, l) : limit;
        size = PERP_LANE(most, l) > size ? PERP_LANE(most, l) : size;
    }
    *largest = size;
    return limit;
}

/* The row that blocks the increase of the variable whose column is pc; -1 if none does. z0 is preferred
 * among ties. */
INLINE int K(ratio_test)(dictionary *d, int ld)
{
    const double infinity = (double)INFINITY;
    double *pc = d->pc, *q = d->q, *t = d->t, largest, smallest = 0, unused;
    double limit = K(least_ratio)(d, ld, 0, &largest);
    VEC zero = {0}, one = zero + 1, index = zero, count = zero, sum = zero, negligible = zero;
    for (int l = 0; l < WIDTH; l++) PERP_LANE(index, l) = l;
    for (int pass = 0; pass < 2; pass++) {
        VEC step = K(all)(limit), floor = K(all)(1e-3 * d->q_scale);
        VEC bound = K(all)(-PERP_TOL_PIVOT * largest), at = index;
        if (limit == infinity) return -1;
        count = sum = negligible = zero;
        for (int i = 0; i < ld; i += WIDTH) {
            VEC x = AT(pc, i), b = AT(q, i), moved = step * x;
            VEC terms = K(larger)(K(larger)(b, -b) - moved, floor);
            VEC excess = SELECT(x < smallest, b + moved - terms * PERP_TOL_TIE, one);
            AT(t, i) = excess;
            count += SELECT(excess <= zero, one, zero);
            sum += SELECT(excess <= zero, at, zero);
            negligible += SELECT((excess <= zero) & (x >= bound), one, zero);
            at += (double)WIDTH;
        }
        double small = 0;
        for (int l = 0; l < WIDTH; l++) small += PERP_LANE(negligible, l);
        if (small == 0) break;
        /* an entry that is zero but for rounding does not block: again without such */
        smallest = -PERP_TOL_PIVOT * largest;
        limit = K(least_ratio)(d, ld, smallest, &unused);
    }
    double many = 0, where = 0;
    for (int l = 0; l < WIDTH; l++) many += PERP_LANE(count, l), where += PERP_LANE(sum, l);
    return many == 1 ? (int)where : break_tie(d);
}

/* From z0's entering in row r to its leaving. On a ray *ray is the column. */
INLINE perp_outcome K(follow_)(dictionary *d, int ld, int later, int r, int limit, int *iterations,
                               int *ray)
{
    int n = d->n, c = -1 - d->where[2 * n], k = 0;
    perp_outcome outcome = PERP_LIMIT;
    K(fetch_column)(d, ld, c);
    while (k < limit) {
        int leaves = d->basic[r];
        k++;
        if (ld <= 16)
            K(pivot_small)(d, ld, r, c);
        else if (later)
            K(pivot_later)(d, r, c);
        else
            K(pivot)(d, ld, r, c);
        if (leaves == 2 * n) {
            outcome = PERP_SOLVED;
            break;
        }
        c = -1 - d->where[leaves < n ? leaves + n : leaves - n]; /* its complement enters */
        K(fetch_column)(d, ld, c);
        r = K(ratio_test)(d, ld);
        if (r < 0) {
            *ray = c;
            outcome = PERP_RAY;
            break;
        }
    }
    *iterations += k;
    return outcome;
}

TARGET static perp_outcome K(follow)(dictionary *d, int r, int limit, int *iterations, int *ray)
{
    if (d->ld == 4 && WIDTH <= 4) return K(follow_)(d, 4, 0, r, limit, iterations, ray);
    if (d->ld == 8) return K(follow_)(d, 8, 0, r, limit, iterations, ray);
    if (d->ld == 16) return K(follow_)(d, 16, 0, r, limit, iterations, ray);
    return K(follow_)(d, d->ld, d->n >= BLOCKED_FROM, r, limit, iterations, ray);
}

#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef WIDTH
#undef SELECT
#undef AT
#undef ISA
#undef TARGET
