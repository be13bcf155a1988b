/* The lanes of batch.c, which includes this once for every instruction set: ISA is the suffix of the names, TARGET the attribute of
 * the functions. No result depends on it. */

#define JOIN_(name, isa)    name##_##isa
#define JOIN(name, isa)     JOIN_(name, isa)
#define K(name)             JOIN(name, ISA)
#define INLINE              static inline PERP_INLINE TARGET
#define PICK(mask, yes, no) PERP_PICK(ISA, mask, yes, no)
#define BITS(mask)          PERP_BITS(ISA, mask)

/* hot[i] becomes true in the living lanes whose least value, if negative, is in row i: as least_value of lemke_kernel.h finds it, by
 * the row's number in the last bits. A lane whose row has been hot before dies. Is there one that lives? */
INLINE unsigned K(choose)(pivots *d, int n, int k, mask *hot, mask *is_hot)
{
    enum { NUMBERS = 15 };
    union {
        four x;
        mask bits;
    } key[SMALL], least;
    mask again = (mask){0};
    for (int i = 0; i < n; i++) {
        key[i].x = d->q[i];
        key[i].bits = (key[i].bits & ~(long long)NUMBERS) | i;
        least.x = i == 0 ? key[i].x : PERP_LEAST(ISA, key[i].x, least.x);
    }
    for (int i = 0; i < n; i++) {
        hot[i] = key[i].bits == least.bits;
        if (k > 0) again = again | (hot[i] & d->is_z[i]);
    }
    *is_hot = (least.x < (four){0}) & d->is_live & ~again;
    d->is_live = d->is_live & ((least.x >= (four){0}) | ~again);
    for (int i = 0; i < n; i++) hot[i] = hot[i] & *is_hot;
    return BITS(*is_hot);
}

/* The one of x_0, x_stride, .. that is in the hot row; where no row is hot any of them. */
INLINE void K(of_row)(int n, const mask *hot, const four *x, int stride, four *out)
{
    *out = x[0];
    for (int r = 1; r < n; r++) *out = PICK(hot[r], x[r * stride], *out);
}

/* The k-th pivot: x_r and y_r change sides in every lane that has a hot row r; as in lemke_kernel.h, and rounded alike. Where the
 * pivot is not positive the lane dies. Lanes without a hot row get e = 0, which changes nothing. 0 where no lane has one, but for the
 * first. */
INLINE int K(pivot)(const lanes *v, pivots *d, int n, int k)
{
    const four zero = (four){0}, one = zero + 1;
    mask *hot = d->hot[k], is_hot;
    four x[SMALL], F, m, p;
    if (k >= n || !(K(choose)(d, n, k, hot, &is_hot) || k == 0)) return 0;
    for (int i = 0; i < n; i++) K(of_row)(n, hot, &v->M[i], n, &x[i]);
    for (int before = 0; before < k; before++) {
        four f;
        K(of_row)(n, d->hot[before], x, 1, &f);
        for (int i = 0; i < n; i++)
            x[i] = PERP_IF(d->hot[before][i], zero, x[i]) - f * d->e[before][i];
    }
    K(of_row)(n, hot, d->q, 1, &F);
    K(of_row)(n, hot, v->M, n + 1, &m);
    K(of_row)(n, hot, x, 1, &p);
    d->is_live = d->is_live & ((p > PERP_TOL_PIVOT * m) | ~is_hot);
    four inverse = PERP_IF(is_hot, 1 / p, zero);
    for (int i = 0; i < n; i++) {
        d->e[k][i] = PICK(hot[i], one, x[i]) * inverse;
        d->q[i] = PERP_IF(hot[i], zero, d->q[i]) - F * d->e[k][i];
        d->is_z[i] = hot[i];
        for (int before = 0; before < k; before++) d->is_z[i] = d->is_z[i] | d->hot[before][i];
    }
    return 1;
}

/* Row i at z: by how much w_i is off, with the rounding of its sum, and its terms. */
INLINE void K(look_at_row)(const lanes *v, int n, int i, four *off, four *S)
{
    const double rho = (n + 4) * (DBL_EPSILON / 2);
    four w = v->q[i], s = PERP_SIZE(w);
    for (int j = 0; j < n; j++) {
        four term = v->M[i + j * n] * v->z[j];
        w += term, s += PERP_SIZE(term);
    }
    *off = PERP_IF(v->z[i] > (four){0}, PERP_SIZE(w), -w) + rho * s, *S = s;
}

/* Where a row is left open by its own data: does it hold by what the others give it, too? A row without terms, none of which has
 * underflowed, is 0 = 0. */
TARGET static PERP_APART void K(judge_by_data)(const lanes *v, int n, mask *holds)
{
    const four zero = (four){0};
    four given[SMALL], off, S;
    for (int j = 0; j < n; j++) {
        four x = PERP_SIZE(v->q[j] / v->M[j + j * n]);
        given[j] = PERP_IF(x <= DBL_MAX, x, zero);
    }
    *holds = zero == zero;
    for (int i = 0; i < n; i++) {
        four D = PERP_SIZE(v->q[i]), parts = zero;
        for (int j = 0; j < n; j++) {
            four size = PERP_SIZE(v->M[i + j * n]);
            D += size * given[j], parts += PERP_IF(v->z[j] > zero, size, zero);
        }
        K(look_at_row)(v, n, i, &off, &S);
        *holds = *holds & (off <= v->tol * PERP_IF(S < D, S, D)) & (v->z[i] >= zero) &
                 ((S >= PERP__UNDERFLOW) | ((S == zero) & (parts == zero)));
    }
}

/* In which lanes does each row hold, as in verdict.c? With a number that is not finite none does. */
INLINE void K(judge)(const lanes *v, int n, mask *holds)
{
    const four zero = (four){0};
    four off, S;
    *holds = zero == zero;
    for (int i = 0; i < n; i++) {
        K(look_at_row)(v, n, i, &off, &S);
        *holds = *holds & (off <= v->tol * PERP_SIZE(v->q[i])) & (S >= PERP__UNDERFLOW) &
                 (v->z[i] >= zero);
    }
    if (BITS(~*holds)) {
        mask by_data;
        K(judge_by_data)(v, n, &by_data);
        *holds = by_data;
    }
}

/* z, and the lanes that it answers. */
INLINE void K(solve_lanes)(lanes *v, int n, mask *holds)
{
    const four zero = (four){0};
    pivots d;
    d.is_live = zero == zero;
    for (int i = 0; i < n; i++) d.q[i] = v->q[i] + zero; /* no -0 */
    if (K(pivot)(v, &d, n, 0) && K(pivot)(v, &d, n, 1) && K(pivot)(v, &d, n, 2))
        K(pivot)(v, &d, n, 3);
    for (int i = 0; i < n; i++) v->z[i] = PERP_IF(d.is_z[i], d.q[i], zero);
    K(judge)(v, n, holds);
    *holds = *holds & d.is_live;
    for (int i = 0; i < n; i++) *holds = *holds & (d.q[i] >= zero);
}

/* size entries of each lane's problem, whose first one is in source; entry: from one to the next. */
INLINE void K(gather)(int size, const double *const *source, size_t entry, four *out)
{
    int e = 0;
    for (; entry == 1 && LANES == 4 && e + 4 <= size; e += 4) {
        four x[4];
        for (int l = 0; l < 4; l++) x[l] = *(const four *)(source[l % LANES] + e);
        perp__transpose(x);
        for (int l = 0; l < 4; l++) out[e + l] = x[l];
    }
    for (; e < size; e++) {
        four x = (four){0};
        for (int l = 0; l < LANES; l++) PERP_LANE(x, l) = source[l][(size_t)e * entry];
        out[e] = x;
    }
}

/* Problems first .. first + many - 1 into the lanes; lanes behind the last repeat it. */
INLINE void K(fill_lanes)(const perp_lcp_batch *batch, int n, int first, int many, lanes *v)
{
    const perp_lcp_batch b = *batch;
    size_t count = (size_t)b.count, entry = b.interleaved ? count : 1, size = (size_t)n;
    size_t next = b.interleaved ? 1 : size, next_M = b.shared_M      ? 0
                                                     : b.interleaved ? 1
                                                                     : size * size;
    const double *M[LANES], *q[LANES];
    for (int l = 0; l < LANES; l++) {
        size_t k = (size_t)(first + (l < many ? l : many - 1));
        M[l] = b.M + k * next_M, q[l] = b.q + k * next;
    }
    K(gather)(n, q, entry, v->q);
    K(gather)(n * n, M, b.shared_M ? 1 : entry, v->M);
}

/* Answers to their places in z. */
INLINE void K(scatter)(const perp_lcp_batch *b, int n, int first, int many, unsigned answered,
                       const four *from, double *z)
{
    size_t size = (size_t)n, count = (size_t)b->count;
    size_t entry = b->interleaved ? count : 1, next = b->interleaved ? 1 : size;
    z += (size_t)first * next;
    if (LANES == 4 && n == 4 && many == 4 && answered == 15 && !b->interleaved) {
        four x[4];
        for (int i = 0; i < 4; i++) x[i] = from[i];
        perp__transpose(x);
        for (int l = 0; l < 4; l++) *(four *)(z + 4 * l) = x[l];
        return;
    }
    for (int l = 0; l < LANES; l++) {
        for (int i = 0; i < n && l < many && (answered >> l & 1); i++)
            z[(size_t)l * next + (size_t)i * entry] = PERP_LANE(from[i], l);
    }
}

#define SOLVE(n)                                                                                   \
    TARGET static unsigned K(solve_##n)(const perp_lcp_batch *b, int first, int many, double tol,  \
                                        double *z)                                                 \
    {                                                                                              \
        lanes v;                                                                                   \
        mask holds;                                                                                \
        v.tol = tol;                                                                               \
        K(fill_lanes)(b, n, first, many, &v);                                                      \
        K(solve_lanes)(&v, n, &holds);                                                             \
        K(scatter)(b, n, first, many, BITS(holds), v.z, z);                                        \
        return BITS(holds);                                                                        \
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
#undef PICK
#undef BITS
#undef ISA
#undef TARGET
