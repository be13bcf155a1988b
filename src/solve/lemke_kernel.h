/* The loops of lcp_lemke.c, which includes this once for every vector width: ISA is the suffix of
 * the names, TARGET the attribute of the functions. Every loop runs over whole vectors of a padded
 * column (ld rows; those behind n are 0), and no result depends on the width. */

#define JOIN_(name, isa) name##_##isa
#define JOIN(name, isa)  JOIN_(name, isa)
#define K(name)          JOIN(name, ISA)
#define INLINE           static inline PERP_INLINE TARGET

typedef PERP_LANES(ISA) K(lanes);
typedef PERP_MASK(ISA) K(mask);
enum { K(WIDE) = (int)(sizeof(K(lanes)) / sizeof(double)) };
#define VEC                   K(lanes)
#define WIDTH                 K(WIDE)
#define SELECT(mask, yes, no) PERP_SELECT(ISA, mask, yes, no)
#define AT(array, i)          (*(VEC *)((array) + (i)))

INLINE VEC K(all)(double x)
{
    return x - (VEC){0}; /* which is x, and folds */
}

INLINE VEC K(larger)(VEC a, VEC b)
{
    return PERP_LARGER(ISA, a, b);
}

INLINE VEC K(smaller)(VEC a, VEC b)
{
    return PERP_SMALLER(ISA, a, b);
}

/* One number out of all lanes, in pairs. */
#define PAIR(op, x, k) op(PERP_LANE(x, (k) % WIDTH), PERP_LANE(x, ((k) + WIDTH / 2) % WIDTH))
#define REDUCE(op, x)                                                                              \
    (WIDTH == 8   ? op(op(PAIR(op, x, 0), PAIR(op, x, 2)), op(PAIR(op, x, 1), PAIR(op, x, 3)))     \
     : WIDTH == 4 ? op(PAIR(op, x, 0), PAIR(op, x, 1))                                             \
     : WIDTH == 2 ? PAIR(op, x, 0)                                                                 \
                  : PERP_LANE(x, 0))

/* Few rows: whole vectors are stored, as a load of a vector waits long for a number stored into it.
 * HOT is the mask of row r. */
#define HOT(i) (*(const K(mask) *)(hot + MOST_SMALL + (i)-r))

/* A pivot in row r with column e (divided by the pivot p, e_r = 1/p) turns another column x into
 *
 *     x_i - x_r e_i,   and in row r   -x_r e_r. */
INLINE void K(apply)(int ld, double *x, const double *e, int r)
{
    double f = x[r];
    VEC F = K(all)(f), zero = {0};
    if (ld <= MOST_SMALL) {
        for (int i = 0; i < ld; i += WIDTH)
            AT(x, i) = SELECT(HOT(i), zero, AT(x, i)) - F * AT(e, i);
    } else if (f != 0) {
        for (int i = 0; i < ld; i += WIDTH) AT(x, i) = AT(x, i) - F * AT(e, i);
        x[r] = -f * e[r];
    }
}

/* What four pivots find in their own rows, and leave there. */
INLINE void K(own4)(int ld, const double *x, const double *e, const int *r, double *f, double *v)
{
    for (int k = 0; k < 4; k++) v[k] = x[r[k]];
    for (int k = 0; k < 4; k++) {
        f[k] = v[k];
        for (int l = 0; l < 4; l++)
            v[l] = (r[l] == r[k] ? 0 : v[l]) - f[k] * e[(size_t)k * (size_t)ld + (size_t)r[l]];
    }
}

/* The same where the rows differ, as they nearly always do. */
INLINE void K(other4)(int ld, const double *x, const double *e, const int *r, double *f, double *v)
{
    const double *e1 = e + ld, *e2 = e1 + ld, *e3 = e2 + ld;
    int r0 = r[0], r1 = r[1], r2 = r[2], r3 = r[3];
    f[0] = x[r0];
    f[1] = x[r1] - f[0] * e[r1];
    f[2] = x[r2] - f[0] * e[r2] - f[1] * e1[r2];
    f[3] = x[r3] - f[0] * e[r3] - f[1] * e1[r3] - f[2] * e2[r3];
    v[0] = 0 - f[0] * e[r0] - f[1] * e1[r0] - f[2] * e2[r0] - f[3] * e3[r0];
    v[1] = 0 - f[1] * e1[r1] - f[2] * e2[r1] - f[3] * e3[r1];
    v[2] = 0 - f[2] * e2[r2] - f[3] * e3[r2];
    v[3] = 0 - f[3] * e3[r3];
}

/* Four pivots in one sweep: first their own rows, then the others. */
INLINE void K(apply4)(int ld, double *x, const double *e, const int *r)
{
    double v[4], f[4];
    if ((r[0] == r[1]) | (r[0] == r[2]) | (r[0] == r[3]) | (r[1] == r[2]) | (r[1] == r[3]) |
        (r[2] == r[3]))
        K(own4)(ld, x, e, r, f, v);
    else
        K(other4)(ld, x, e, r, f, v);
    if (f[0] == 0 && f[1] == 0 && f[2] == 0 && f[3] == 0) return;
    const double *e1 = e + ld, *e2 = e1 + ld, *e3 = e2 + ld;
    VEC F0 = K(all)(f[0]), F1 = K(all)(f[1]), F2 = K(all)(f[2]), F3 = K(all)(f[3]);
    for (int i = 0; i < ld; i += WIDTH)
        AT(x, i) = AT(x, i) - F0 * AT(e, i) - F1 * AT(e1, i) - F2 * AT(e2, i) - F3 * AT(e3, i);
    for (int k = 0; k < 4; k++) x[r[k]] = v[k];
}

/* The pivots since the base, from the k-th on. */
INLINE void K(apply_from)(const tableau *d, int ld, double *x, int k)
{
    for (; k + 4 <= d->ne && ld > MOST_SMALL; k += 4)
        K(apply4)(ld, x, d->E + (size_t)k * (size_t)ld, d->er + k);
    for (; k < d->ne; k++) K(apply)(ld, x, d->E + (size_t)k * (size_t)ld, d->er[k]);
}

/* n numbers into whole vectors. */
INLINE void K(load)(int n, int ld, const double *source, double *x)
{
    int i = 0;
    for (; i + WIDTH <= n; i += WIDTH) AT(x, i) = AT(source, i);
    for (; i < ld; i += WIDTH) {
        VEC tail = {0};
        for (int l = 0; l < WIDTH; l++)
            if (i + l < n) PERP_LANE(tail, l) = source[i + l];
        AT(x, i) = tail;
    }
}

/* The present column of a nonbasic w or z, into x. */
INLINE void K(column)(const tableau *d, int n, int ld, int variable, double *x)
{
    int base = d->base[variable];
    if (base >= 0) { /* it was basic at the base */
        VEC zero = {0}, one = zero + 1;
        int r = base;
        for (int i = 0; i < ld; i += WIDTH)
            AT(x, i) = ld <= MOST_SMALL ? SELECT(HOT(i), -one, zero) : zero;
        if (ld > MOST_SMALL) x[base] = -1;
    } else if (d->uses_D) {
        const double *source = d->D + (size_t)(-1 - base) * (size_t)ld;
        for (int i = 0; i < ld; i += WIDTH) AT(x, i) = AT(source, i);
    } else {
        K(load)(n, ld, perp__column(d->lcp, -1 - base), x);
    }
    K(apply_from)(d, ld, x, 0);
}

/* The least ratio of a row whose entry in pc is below `smallest`, and the largest entry of pc. */
INLINE double K(least_ratio)(const tableau *d, int ld, double smallest, double *largest)
{
    VEC zero = {0}, one = zero + 1, none = K(all)((double)INFINITY), least = none, most = zero;
    for (int i = 0; i < ld; i += WIDTH) {
        VEC x = AT(d->pc, i), value = K(larger)(AT(d->q, i), zero);
        K(mask) blocks = x < smallest;
        least = K(smaller)(SELECT(blocks, value, none) / SELECT(blocks, -x, one), least);
        most = K(larger)(K(larger)(x, -x), most);
    }
    *largest = REDUCE(greater_of, most);
    return REDUCE(lesser_of, least);
}

/* Of the tied rows (t <= 0) the one that leaves: z0 if it is among them, else the lexicographically
 * smallest of (coefficients of e, e^2, .. in the row)/-pc. The coefficients of e^(k+1) in all rows
 * are a unit vector through the pivots since tie_base. As long as nothing has left row k, it is
 * still the unit vector: then row k is the one that is not smallest. */
TARGET static int K(break_tie)(tableau *d)
{
    int n = d->n, ld = d->ld, many = 0;
    double *y = d->y;
    for (int i = 0; i < n; i++) {
        if (d->t[i] > 0) continue;
        if (d->basic[i] == 2 * n) return i;
        d->tied[many++] = i;
    }
    for (int k = 0; k < n && many > FEW_TIED; k++) {
        int p = d->tie_base, kept = 0;
        double least = (double)INFINITY;
        while (p < d->ne && d->er[p] != k) p++;
        if (p == d->ne) {
            for (int m = 0; m < many; m++) {
                if (d->tied[m] != k) d->tied[kept++] = d->tied[m];
            }
            many = kept;
            continue;
        }
        memset(y, 0, (size_t)ld * sizeof *y);
        y[k] = 1;
        K(apply_from)(d, ld, y, p);
        for (int m = 0; m < many; m++) {
            int i = d->tied[m];
            y[i] /= -d->pc[i];
            least = y[i] < least ? y[i] : least;
        }
        for (int m = 0; m < many; m++) {
            double x = y[d->tied[m]];
            if (x - least <= PERP_TOL_TIE * (fabs(x) + fabs(least))) d->tied[kept++] = d->tied[m];
        }
        many = kept;
    }
    return many > 1 ? smallest_row(d, many) : d->tied[0];
}

/* The row that blocks the increase of the variable with column pc; -1 if none does. z0 is preferred
 * among ties. One sum tells how many rows are tied, which one if it is a single one, and whether
 * any of them has a negligible entry. Such a row counts 2^42; any row counts 2^26 and its
 * number. */
INLINE int K(ratio_test)(tableau *d, int ld)
{
    const double tied_row = 0x1p26, negligible_row = 0x1p42;
    double *pc = d->pc, *q = d->q, *t = d->t, largest, smallest = 0, unused, sum = 0;
    double limit = K(least_ratio)(d, ld, 0, &largest);
    VEC zero = {0}, one = zero + 1, first = zero + tied_row;
    for (int l = 0; l < WIDTH; l++) PERP_LANE(first, l) += lane_number[l];
    for (int pass = 0; pass < 2; pass++) {
        VEC step = K(all)(limit), floor = K(all)(PERP_TOL_TERMS * d->q_scale), count = zero,
            number = first;
        VEC bound = K(all)(-PERP_TOL_PIVOT * largest);
        if (limit == (double)INFINITY) return -1;
        for (int i = 0; i < ld; i += WIDTH) {
            VEC x = AT(pc, i), b = AT(q, i), moved = step * x;
            VEC terms = K(larger)(K(larger)(b, -b) - moved, floor);
            VEC excess = SELECT(x < smallest, b + moved - terms * PERP_TOL_TIE, one);
            AT(t, i) = excess;
            count += SELECT(excess <= zero, number + SELECT(x < bound, zero, zero + negligible_row),
                            zero);
            number += (double)WIDTH;
        }
        sum = REDUCE(sum_of, count);
        if (sum < negligible_row) break;
        /* an entry that is zero but for rounding does not block: again without such */
        smallest = -PERP_TOL_PIVOT * largest;
        limit = K(least_ratio)(d, ld, smallest, &unused);
    }
    return sum < 2 * tied_row ? (int)(sum - tied_row) : K(break_tie)(d);
}

/* The variable whose column is pc becomes basic in row r. */
INLINE void K(pivot)(tableau *d, int ld, int r, int enters)
{
    double *e = d->E + (size_t)d->ne * (size_t)ld;
    VEC inverse = K(all)(1 / d->pc[r]);
    for (int i = 0; i < ld; i += WIDTH) {
        VEC x = AT(d->pc, i) * inverse;
        AT(e, i) = ld <= MOST_SMALL ? SELECT(HOT(i), inverse, x) : x;
    }
    if (ld > MOST_SMALL) e[r] = PERP_LANE(inverse, 0);
    d->er[d->ne++] = r;
    K(apply)(ld, d->q, e, r);
    d->where[d->basic[r]] = -1;
    d->basic[r] = enters;
    d->where[enters] = r;
}

/* From z0's entering in row r, with its column in pc, to its leaving. On a ray *ray is the
 * variable. */
INLINE perp_outcome K(follow_)(tableau *d, int n, int ld, int r, int limit, int *iterations,
                               int *ray)
{
    int enters = 2 * n, k = 0;
    perp_outcome outcome = PERP_LIMIT;
    while (k < limit) {
        int leaves = d->basic[r];
        k++;
        K(pivot)(d, ld, r, enters);
        if (leaves == 2 * n) {
            outcome = PERP_SOLVED;
            break;
        }
        if (d->ne == d->most && !rebase(d)) break;
        enters = leaves < n ? leaves + n : leaves - n; /* its complement */
        K(column)(d, n, ld, enters, d->pc);
        r = K(ratio_test)(d, ld);
        if (r < 0) {
            *ray = enters;
            outcome = PERP_RAY;
            break;
        }
    }
    *iterations += k;
    return outcome;
}

TARGET static perp_outcome K(follow)(tableau *d, int r, int limit, int *iterations, int *ray)
{
    if (d->n == 3 && WIDTH <= 4) return K(follow_)(d, 3, 4, r, limit, iterations, ray);
    if (d->n == 4 && WIDTH <= 4) return K(follow_)(d, 4, 4, r, limit, iterations, ray);
    if (d->ld == 8) return K(follow_)(d, d->n, 8, r, limit, iterations, ray);
    if (d->ld == 16) return K(follow_)(d, d->n, 16, r, limit, iterations, ray);
    return K(follow_)(d, d->n, d->ld, r, limit, iterations, ray);
}

/* Row of the least of few values, as its number in the last bits of the value says; 0 where none is
 * negative. */
INLINE int K(least_value)(int ld, const VEC *q, size_t *r)
{
    union {
        VEC x;
        K(mask) bits;
    } key, number, least = {.x = (VEC){0}};
    union {
        double x;
        long long bits;
    } found;
    for (int l = 0; l < WIDTH; l++) PERP_LANE(number.bits, l) = l;
    for (int i = 0; i < ld; i += WIDTH) {
        key.x = q[i / WIDTH];
        key.bits = (key.bits & ~(long long)(MOST_SMALL - 1)) | (number.bits + i);
        least.x = i == 0 ? key.x : K(smaller)(key.x, least.x);
    }
    found.x = REDUCE(lesser_of, least.x);
    *r = (size_t)found.bits & (MOST_SMALL - 1);
    return found.x < 0;
}

/* A pivot in row r, with the column e of the pivot, as in apply; hot: of row r. */
INLINE void K(sweep)(int ld, double *x, double f, const VEC *e, const K(mask) * hot_row)
{
    VEC F = K(all)(f), zero = {0};
    for (int i = 0, k = 0; i < ld; i += WIDTH, k++)
        AT(x, i) = SELECT(hot_row[k], zero, AT(x, i)) - F * e[k];
}

/* q of the dictionary in which the pairs of `basic` have changed sides, from that of the
 * problem. */
INLINE void K(guess_values)(int n, int ld, const double *D, const double *given, unsigned basic,
                            VEC *q)
{
    VEC zero = {0};
    for (int r = 0; r < n; r++) {
        if (!(basic >> r & 1)) continue;
        for (int i = 0, k = 0; i < ld; i += WIDTH, k++) q[k] = SELECT(HOT(i), zero, q[k]);
    }
    for (int j = 0; j < n; j++) {
        if (!(basic >> j & 1)) continue;
        VEC F = K(all)(given[j]);
        for (int i = 0, k = 0; i < ld; i += WIDTH, k++) q[k] = q[k] - F * AT(D + j * ld, i);
    }
}

/* The point and the basis of the values q: z has room for n, and for four where ld is four. A load
 * of a whole vector waits long for numbers stored into it one by one. */
INLINE void K(guess_point)(perp_lcp_solver *s, int n, int ld, const VEC *q, unsigned basic)
{
    VEC zero = {0};
    double *z = s->z, *out = ld == 4 || ld == n ? z : s->work;
    unsigned char *basis = s->basis;
    for (int i = 0, k = 0; i < ld; i += WIDTH, k++) {
        K(mask) bit;
        for (int l = 0; l < WIDTH; l++) PERP_LANE(bit, l) = 1LL << (i + l);
        AT(out, i) = SELECT((bit & (long long)basic) != 0, q[k], zero);
    }
    for (int i = 0; i < n && ld != 4 && ld != n; i++) z[i] = out[i];
    for (int i = 0; i < n; i++) basis[i] = basic >> i & 1;
    s->has_basis = 1;
}

/* Principal pivots, each in the row of the least value, until no value is negative. The dictionary
 * is kept in work: q, then the columns of M. is_warm: it is that of the last solve, by SMALL_BASIC.
 * Returns 0 if a pivot is not positive, or there are too many; 2 if a pair changed sides more than
 * once. */
INLINE int K(guess_)(perp_lcp_solver *s, const perp_lcp *lcp, int n, int ld, int is_warm, int limit)
{
    double *work = s->work, *D = work + ld;
    size_t r, column = (size_t)ld;
    int pivots = 0, is_back = 0, is_pushed;
    unsigned now = is_warm ? (unsigned)s->index[SMALL_BASIC] : 0;
    VEC q[MOST_SMALL / WIDTH], zero = {0}, one = zero + 1;
    K(load)(n, ld, lcp->q, work);
    for (int i = 0, k = 0; i < ld; i += WIDTH, k++) q[k] = AT(work, i) + zero; /* no -0 */
    if (is_warm)
        K(guess_values)(n, ld, D, lcp->q, now, q);
    else
        for (int j = 0; j < n; j++) K(load)(n, ld, perp__column(lcp, j), D + j * ld);
    for (int i = 0, k = 0; i < ld && is_warm; i += WIDTH, k++) AT(work, i) = q[k];
    for (; (is_pushed = K(least_value)(ld, q, &r)); pivots++) {
        VEC e[MOST_SMALL / WIDTH];
        K(mask) hot_row[MOST_SMALL / WIDTH];
        double *own = D + r * column, p = own[r], m = perp__column(lcp, (int)r)[r];
        int leaves = now >> r & 1; /* with a pivot like 1/m, else one like m */
        if (pivots == limit || !(leaves ? p * m > PERP_TOL_PIVOT : p > PERP_TOL_PIVOT * m)) break;
        VEC inverse = K(all)(1 / p);
        for (int i = 0, k = 0; i < ld; i += WIDTH, k++) {
            hot_row[k] = HOT(i);
            e[k] = SELECT(hot_row[k], one, AT(own, i)) * inverse;
        }
        VEC F = K(all)(work[r]);
        for (int i = 0, k = 0; i < ld; i += WIDTH, k++) {
            q[k] = SELECT(hot_row[k], zero, q[k]) - F * e[k];
            AT(work, i) = q[k];
        }
        for (int j = 0; j < n; j++) K(sweep)(ld, D + j * ld, D[(size_t)(j * ld) + r], e, hot_row);
        for (int i = 0, k = 0; i < ld; i += WIDTH, k++) AT(own, i) = e[k];
        now ^= 1U << r;
        is_back |= leaves;
    }
    s->pivots = pivots;
    s->index[SMALL_BASIC] = (int)now;
    if (is_pushed) return 0;
    K(guess_point)(s, n, ld, q, now);
    return 1 + is_back;
}

#define GUESS(name, n, ld)                                                                         \
    TARGET static int K(name)(perp_lcp_solver * s, const perp_lcp *lcp, int is_warm, int limit)    \
    {                                                                                              \
        return K(guess_)(s, lcp, n, ld, is_warm, limit);                                           \
    }
GUESS(guess_3, 3, WIDTH < 4 ? 4 : WIDTH)
GUESS(guess_4, 4, WIDTH < 4 ? 4 : WIDTH)
GUESS(guess_8, 8, 8)
GUESS(guess_to_8, lcp->n, 8)
GUESS(guess_to_16, lcp->n, 16)
#undef GUESS

/* q of the present tableau from that of the problem. */
TARGET static void K(values)(tableau *d)
{
    for (int i = 0; i < d->ld; i++) d->q[i] = i < d->n ? d->lcp->q[i] : 0;
    K(apply_from)(d, d->ld, d->q, 0);
}

#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef WIDTH
#undef SELECT
#undef AT
#undef HOT
#undef PAIR
#undef REDUCE
#undef ISA
#undef TARGET
