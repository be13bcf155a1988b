/* The lanes of batch.c, which includes this once for every instruction set: ISA is the suffix of
 * the names, TARGET the attribute of the functions. No result depends on it. */

#define JOIN_(name, isa)    name##_##isa
#define JOIN(name, isa)     JOIN_(name, isa)
#define K(name)             JOIN(name, ISA)
#define INLINE              static inline PERP_INLINE TARGET
#define VEC                 PERP_LANES(ISA) /* of a number, one of each lane */
#define MASK                PERP_MASK(ISA)  /* of an integer */
#define CLAIM               PERP_CLAIM(ISA)
#define LESS(x, y)          PERP_LESS(ISA, x, y)
#define AT_MOST(x, y)       PERP_AT_MOST(ISA, x, y)
#define SAME(x, y)          PERP_SAME(ISA, x, y)
#define SIZE(x)             PERP_ABS(ISA, x)
#define LEAST(x, y)         PERP_SMALLER(ISA, x, y)
#define PICK(mask, yes, no) PERP_PICK(ISA, mask, yes, no)
#define BUT(mask, x)        PERP_BUT(ISA, mask, x)
#define BITS(mask)          PERP_BITS(ISA, mask)
enum { K(WIDE) = (int)(sizeof(VEC) / sizeof(double)) };
#define LANES     K(WIDE)
#define ALL       ((1U << LANES) - 1)
#define OF(claim) ((CLAIM)(claim)) /* what C has made a wider integer */

/* Problems side by side. */
typedef struct K(lanes) {
    _Alignas(64) VEC M[SMALL * SMALL], q[SMALL], z[SMALL];
    double tol;
} K(lanes);

/* The principal pivots of all lanes, x = q - D y: of the pair i, x_i is basic and y_i is not. It
 * begins with x = w, y = z. Of each pivot its row r (hot[r]) and its column e divided by the pivot
 * are kept, e_r = 1/pivot, and not D. */
typedef struct K(pivots) {
    _Alignas(64) VEC e[SMALL][SMALL], q[SMALL];
    CLAIM hot[SMALL][SMALL];
    CLAIM is_live; /* no pivot failed */
    int count;
} K(pivots);

/* hot[i] becomes true in the living lanes whose least value, if negative, is in row i: as
 * least_value of lemke_kernel.h finds it, by the row's number in the last bits. Elsewhere the least
 * becomes all ones, which no key is. Returns the lanes that have one, as bits. */
INLINE unsigned K(choose)(const K(pivots) * d, int n, CLAIM *hot, CLAIM *is_hot)
{
    enum { NUMBERS = 15 };
    union {
        VEC x;
        MASK bits;
    } key[SMALL], least, none;
    for (int i = 0; i < n; i++) {
        key[i].x = d->q[i];
        key[i].bits = (key[i].bits & ~(long long)NUMBERS) | i;
        least.x = i == 0 ? key[i].x : LEAST(key[i].x, least.x);
    }
    none.bits = (MASK){0} - 1;
    *is_hot = OF(LESS(least.x, (VEC){0}) & d->is_live);
    least.x = PICK(*is_hot, least.x, none.x);
    for (int i = 0; i < n; i++) hot[i] = SAME(key[i].bits, least.bits);
    return BITS(*is_hot);
}

/* The one of x_0, x_stride, .. that is in the hot row; where no row is hot any of them. */
INLINE void K(of_row)(int n, const CLAIM *hot, const VEC *x, int stride, VEC *out)
{
    *out = x[0];
    for (int r = 1; r < n; r++) *out = PICK(hot[r], x[r * stride], *out);
}

/* The next pivot: x_r and y_r change sides in every lane that has a hot row r; as in
 * lemke_kernel.h, and rounded alike. Where the pivot is not positive the lane dies. Lanes without a
 * hot row get e = 0, which changes nothing. Returns 0 where no lane has one. */
INLINE int K(pivot)(const K(lanes) * v, K(pivots) * d, int n)
{
    const VEC zero = (VEC){0}, one = zero + 1;
    int k = d->count;
    CLAIM hot[SMALL], is_hot;
    VEC x[SMALL], F, m, p;
    if (k == n || !K(choose)(d, n, hot, &is_hot)) return 0;
    for (int i = 0; i < n; i++) {
        K(of_row)(n, hot, &v->M[i], n, &x[i]);
        d->hot[k][i] = hot[i];
    }
    K(of_row)(n, hot, x, 1, &m);
    for (int before = 0; before < k; before++) {
        const CLAIM *then = d->hot[before];
        VEC f;
        K(of_row)(n, then, x, 1, &f);
        for (int i = 0; i < n; i++) x[i] = BUT(then[i], x[i]) - f * d->e[before][i];
    }
    K(of_row)(n, hot, x, 1, &p);
    K(of_row)(n, hot, d->q, 1, &F);
    d->is_live = OF(d->is_live & (LESS(PERP_TOL_PIVOT * m, p) | ~is_hot));
    VEC inverse = PICK(is_hot, 1 / p, zero);
    for (int i = 0; i < n; i++) {
        VEC e = PICK(hot[i], one, x[i]) * inverse;
        d->q[i] = BUT(hot[i], d->q[i]) - F * e;
        d->e[k][i] = e;
    }
    d->count = k + 1;
    return 1;
}

/* Row i at z: by how much w_i is off, with the rounding of its sum, and its terms. */
INLINE void K(look_at_row)(const K(lanes) * v, int n, int i, VEC *off, VEC *S)
{
    const double rho = (n + 4) * (DBL_EPSILON / 2);
    VEC w = v->q[i], s = SIZE(w);
    for (int j = 0; j < n; j++) {
        VEC term = v->M[i + j * n] * v->z[j];
        w += term;
        s += SIZE(term);
    }
    *off = PICK(LESS((VEC){0}, v->z[i]), SIZE(w), -w) + rho * s;
    *S = s;
}

/* If a row is left open by its own data: does it hold by the data of the others? One with data that
 * rounding may hide is not judged here. A row without terms, if none has underflowed, is 0 = 0. */
TARGET static PERP_APART void K(judge_by_data)(const K(lanes) * v, int n, CLAIM *is_good)
{
    const double noise = (PERP__LCP_NOISE + 1) * ((n + 4) * (DBL_EPSILON / 2));
    const VEC zero = (VEC){0};
    VEC given[SMALL], off, S;
    for (int j = 0; j < n; j++) {
        VEC x = SIZE(v->q[j] / v->M[j + j * n]);
        given[j] = PICK(AT_MOST(x, zero + DBL_MAX) & LESS(zero, v->z[j]), x, zero);
    }
    CLAIM holds = AT_MOST(zero, zero);
    for (int i = 0; i < n; i++) {
        VEC own = SIZE(v->q[i]), D = own, parts = zero;
        for (int j = 0; j < n; j++) {
            VEC size = SIZE(v->M[i + j * n]);
            D += size * given[j];
            parts += PICK(LESS(zero, v->z[j]), size, zero);
        }
        K(look_at_row)(v, n, i, &off, &S);
        VEC rounding = noise * S, seen = v->tol * own;
        VEC most = PICK(LESS(rounding, PERP__LCP_SEEN * seen), PERP__LCP_SEEN * seen, rounding);
        CLAIM is_redundant =
            OF(AT_MOST(own, zero) & AT_MOST(off, most) & AT_MOST(S / PERP__LCP_GROWTH, D) &
               AT_MOST(off, v->tol * PICK(LESS(S, D), S, D)));
        holds = OF(holds & (AT_MOST(off, seen) | is_redundant) & AT_MOST(zero, v->z[i]));
        holds = OF(holds & (AT_MOST(zero + PERP__UNDERFLOW, S) |
                            (AT_MOST(S, zero) & AT_MOST(parts, zero))));
    }
    *is_good = holds;
}

/* In which lanes does each row hold, as in verdict.c? With a number that is not finite none
 * does. */
INLINE void K(judge)(const K(lanes) * v, int n, CLAIM *is_good)
{
    const VEC zero = (VEC){0};
    CLAIM holds = AT_MOST(zero, zero);
    VEC off, S, least_S = zero + DBL_MAX, least_z = zero;
    for (int i = 0; i < n; i++) {
        K(look_at_row)(v, n, i, &off, &S);
        holds = OF(holds & AT_MOST(off, v->tol * SIZE(v->q[i])));
        least_S = LEAST(S, least_S);
        least_z = LEAST(v->z[i], least_z);
    }
    holds = OF(holds & AT_MOST(zero + PERP__UNDERFLOW, least_S) & AT_MOST(zero, least_z));
    *is_good = holds;
    if (BITS(holds) != ALL) K(judge_by_data)(v, n, is_good);
}

/* z from the values of the pairs that have changed sides, and the lanes that it answers, as bits.
 * None where one went back. */
INLINE unsigned K(end)(K(lanes) * v, const K(pivots) * d, int n)
{
    const VEC zero = (VEC){0};
    CLAIM holds, is_z[SMALL], is_back = LESS(zero, zero);
    for (int i = 0; i < n; i++) is_z[i] = LESS(zero, zero);
    for (int k = 0; k < d->count; k++) {
        for (int i = 0; i < n; i++) {
            is_back = OF(is_back | (is_z[i] & d->hot[k][i]));
            is_z[i] = OF(is_z[i] | d->hot[k][i]);
        }
    }
    for (int i = 0; i < n; i++) v->z[i] = PICK(is_z[i], d->q[i], zero);
    K(judge)(v, n, &holds);
    holds = OF(holds & d->is_live & ~is_back);
    for (int i = 0; i < n; i++) holds = OF(holds & AT_MOST(zero, d->q[i]));
    return BITS(holds);
}

/* size entries of each lane's problem; from one to the next is entry, from the problem to the next
 * is next. Lanes behind the last of many repeat it. */
INLINE void K(gather)(int size, const double *source, size_t entry, size_t next, int many, VEC *out)
{
    const double *of[LANES], *row[LANES];
    int e = 0;
    for (int l = 0; l < LANES; l++) {
        if (l == 0)
            of[l] = source;
        else if (l < many)
            of[l] = of[l - 1] + next;
        else
            of[l] = of[l - 1];
    }
    for (; entry > 1 && many >= LANES && e < size; e++)
        out[e] = *(const VEC *)(source + (size_t)e * entry);
    for (; LANES >= 4 && entry == 1 && e + 4 <= size; e += 4) {
        for (int l = 0; l < LANES; l++) row[l] = of[l] + e;
        PERP_GATHER(ISA, row, out + e);
    }
    for (; e < size; e++) {
        VEC x = (VEC){0};
        for (int l = 0; l < LANES; l++) PERP_LANE(x, l) = of[l][(size_t)e * entry];
        out[e] = x;
    }
}

/* The next problems come from memory while these are solved. */
INLINE void K(fetch)(const perp_lcp_batch *b, int n, int first, int many)
{
    int next = first + many, end = b->count - next > many ? next + many : b->count;
    const double *M = b->M + (size_t)next * (size_t)(n * n), *q = b->q + (size_t)next * (size_t)n;
    if (b->interleaved || b->shared_M) return;
    for (int e = 0; e < (end - next) * n * n; e += 8) PERP_FETCH(M + e);
    for (int e = 0; e < (end - next) * n; e += 8) PERP_FETCH(q + e);
}

/* Problems first, first + 1, .. into the lanes. */
INLINE void K(begin)(const perp_lcp_batch *b, int n, int first, int many, double tol, K(lanes) * v,
                     K(pivots) * d)
{
    const VEC zero = (VEC){0};
    size_t k = (size_t)first, count = (size_t)b->count, N = (size_t)n, M = N * N;
    size_t entry = b->interleaved ? count : 1, next = b->interleaved ? 1 : N;
    size_t entry_M = b->shared_M ? 1 : entry, next_M = b->interleaved ? 1 : M;
    if (b->shared_M) next_M = 0;
    K(gather)(n, b->q + k * next, entry, next, many, v->q);
    K(gather)(n * n, b->M + k * next_M, entry_M, next_M, many, v->M);
    v->tol = tol;
    d->count = 0;
    d->is_live = AT_MOST(zero, zero);
    for (int i = 0; i < n; i++) d->q[i] = v->q[i] + zero; /* no -0 */
}

/* Answers to their places in z. */
INLINE void K(scatter)(const perp_lcp_batch *b, int n, int first, unsigned answered,
                       const VEC *from, double *z)
{
    size_t N = (size_t)n, entry = b->interleaved ? (size_t)b->count : 1;
    size_t next = b->interleaved ? 1 : N;
    z += (size_t)first * next;
    if (answered == ALL && LANES >= 4 && n == 4 && !b->interleaved) {
        PERP_SCATTER(ISA, from, z);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        for (int i = 0; i < n && (answered >> l & 1); i++)
            z[(size_t)l * next + (size_t)i * entry] = PERP_LANE(from[i], l);
    }
}

#define SOLVE(n)                                                                                   \
    TARGET static unsigned K(solve_##n)(const perp_lcp_batch *b, int first, int many, double tol,  \
                                        double *z)                                                 \
    {                                                                                              \
        K(lanes) v[MOST_TOGETHER / LANES];                                                         \
        K(pivots) d[MOST_TOGETHER / LANES];                                                        \
        unsigned answered = 0;                                                                     \
        int groups = (many + LANES - 1) / LANES, last = many - (groups - 1) * LANES;               \
        K(fetch)(b, n, first, many);                                                               \
        for (int g = 0; g < groups; g++)                                                           \
            K(begin)(b, n, first + g * LANES, g + 1 < groups ? LANES : last, tol, &v[g], &d[g]);   \
        for (int is_pushed = 1; is_pushed;) {                                                      \
            is_pushed = 0;                                                                         \
            for (int g = 0; g < groups; g++) is_pushed |= K(pivot)(&v[g], &d[g], n);               \
        }                                                                                          \
        for (int g = 0; g < groups; g++) {                                                         \
            unsigned bits = K(end)(&v[g], &d[g], n) & (g + 1 < groups ? ALL : (1U << last) - 1);   \
            K(scatter)(b, n, first + g * LANES, bits, v[g].z, z);                                  \
            answered |= bits << g * LANES;                                                         \
        }                                                                                          \
        return answered;                                                                           \
    }
SOLVE(1)
SOLVE(2)
SOLVE(3)
SOLVE(4)

#undef SOLVE
#undef JOIN_
#undef JOIN
#undef K
#undef INLINE
#undef VEC
#undef MASK
#undef CLAIM
#undef OF
#undef LESS
#undef AT_MOST
#undef SAME
#undef SIZE
#undef LEAST
#undef PICK
#undef BUT
#undef BITS
#undef LANES
#undef ALL
#undef ISA
#undef TARGET
