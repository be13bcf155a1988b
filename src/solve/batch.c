/* Many linear problems of one size.
 *
 * 1. Problems are taken in chunks of a fixed size, which threads share out; a chunk's result depends on
 * nothing outside it, so that the number of threads changes nothing.
 * 2. n <= 4, lemke or auto: LANES problems side by side, with the principal pivots by which lemke begins
 * (docs/adr/006), each lane in its own row: the same sums, so the same bits. An answer is kept where plain sums show that it holds
 * (verdict.c). The rest go to the solver.
 * 3. One M for all: each solve of a chunk starts from the one before it. */

#include "base/base.h"
#include "base/tol.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { CHUNK = 64, SMALL = 4 };

typedef struct worker {
    perp_lcp_solver *solver;
    double *M, *q, *z; /* one problem, from interleaved data */
} worker;

struct perp_lcp_batch_solver {
    perp_lcp_method method;
    int n_max, threads;
    worker *worker; /* threads */
};

perp_status perp_lcp_batch_solver_create(perp_lcp_method method, int n_max, int threads,
                                         const perp_lcp_options *options,
                                         perp_lcp_batch_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    perp_lcp_options o = perp_lcp_options_default(method);
    if (!perp__options_take(&o, sizeof o, options) || threads < 0 || threads > 4096 || n_max < 0 ||
        o.warm_start || o.mixed)
        return PERP_ERR_ARG;
#ifdef _OPENMP
    if (threads == 0) threads = omp_get_num_procs();
#else
    threads = 1;
#endif
    perp_lcp_batch_solver *b = calloc(1, sizeof *b);
    if (b) b->worker = calloc((size_t)threads, sizeof *b->worker);
    perp_status status = b && b->worker ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) b->method = method, b->n_max = n_max, b->threads = threads;
    for (int t = 0; t < threads && status == PERP_OK; t++) {
        size_t n = (size_t)n_max;
        status = perp_lcp_solver_create(method, n_max, options, &b->worker[t].solver);
        if (status != PERP_OK) break;
        b->worker[t].M = malloc((n * n + 2 * n + 1) * sizeof(double));
        if (!b->worker[t].M) status = PERP_ERR_MEMORY;
        b->worker[t].q = b->worker[t].M + n * n;
        b->worker[t].z = b->worker[t].q + n;
    }
    if (status != PERP_OK) {
        perp_lcp_batch_solver_destroy(b);
        return status;
    }
    *out = b;
    return PERP_OK;
}

void perp_lcp_batch_solver_destroy(perp_lcp_batch_solver *b)
{
    if (!b) return;
    for (int t = 0; t < b->threads && b->worker; t++) {
        perp_lcp_solver_destroy(b->worker[t].solver);
        free(b->worker[t].M);
    }
    free(b->worker);
    free(b);
}

/* Entry e of problem k of an array with `size` entries a problem. */
static size_t place(const perp_lcp_batch *b, size_t size, size_t e, int k)
{
    return b->interleaved ? e * (size_t)b->count + (size_t)k : (size_t)k * size + e;
}

static size_t place_M(const perp_lcp_batch *b, size_t e, int k)
{
    return b->shared_M ? e : place(b, (size_t)b->n * (size_t)b->n, e, k);
}

/* Small problems side by side ------------------------------------------------------------------- */

typedef perp__four four;      /* of a number, one of each lane */
typedef perp__four_mask mask; /* of a claim */
enum { LANES = PERP_FOUR };

typedef struct lanes {
    four M[SMALL * SMALL], q[SMALL], z[SMALL];
    four is_open; /* not 0: no answer yet */
    double tol;
} lanes;

/* The principal pivots of all lanes so far, x = q - D y: of the pair i, x_i is basic and y_i is not. It begins with x = w, y = z. Of
 * each pivot its row r (hot[r]) and its column e divided by the pivot are kept, e_r = 1/pivot, and not D. */
typedef struct pivots {
    int many;
    mask hot[2 * SMALL][SMALL];
    four e[2 * SMALL][SMALL], q[SMALL];
    mask is_live; /* no pivot failed */
    mask is_back; /* a pair has changed sides more than once */
} pivots;

/* hot[i] becomes true in the living lanes whose least value, if negative, is in row i: as least_value of lcp_lemke.c finds it, by the
 * row's number in the last bits. Is there one? */
static inline PERP_INLINE int choose(const pivots *d, int n, mask *hot, mask *is_hot)
{
    enum { NUMBERS = 15 };
    union {
        four x;
        mask bits;
    } key[SMALL], least;
    long long any = 0;
    for (int i = 0; i < n; i++) {
        key[i].x = d->q[i];
        key[i].bits = (key[i].bits & ~(long long)NUMBERS) | i;
        least.x = i == 0 ? key[i].x : PERP_IF(key[i].x < least.x, key[i].x, least.x);
    }
    mask negative = (least.x < (four){0}) & d->is_live;
    for (int i = 0; i < n; i++) hot[i] = (key[i].bits == least.bits) & negative;
    for (int l = 0; l < LANES; l++) any |= PERP_LANE(negative, l);
    *is_hot = negative;
    return any != 0;
}

/* The one of x_0 .. x_(n-1) that is in the hot row; 0 where there is none. */
static inline PERP_INLINE void of_hot_row(int n, const mask *hot, const four *x, int stride,
                                          four *out)
{
    const four zero = (four){0};
    for (int r = 0; r < n; r++) {
        four here = PERP_IF(hot[r], x[r * stride], zero);
        if (r > 0) here = PERP_EITHER(*out, here);
        *out = here;
    }
}

/* The column x of the hot rows, through the pivots so far. One in the same row leaves its e, which is 0 - -1 e. is_z: of x_r. */
static inline PERP_INLINE void find_column(const lanes *v, const pivots *d, int n, const mask *hot,
                                           four *x, mask *is_z)
{
    const four zero = (four){0}, one = zero + 1;
    *is_z = (mask){0};
    for (int i = 0; i < n; i++) of_hot_row(n, hot, &v->M[i], n, &x[i]);
    for (int k = 0; k < d->many; k++) {
        const mask *before = d->hot[k];
        mask same = hot[0] & before[0];
        four f;
        for (int r = 1; r < n; r++) same = same | (hot[r] & before[r]);
        of_hot_row(n, before, x, 1, &f);
        f = PERP_IF(same, -one, f);
        *is_z = *is_z ^ same;
        for (int i = 0; i < n; i++) x[i] = PERP_IF(before[i] | same, zero, x[i]) - f * d->e[k][i];
    }
}

/* x_r and y_r change sides in every lane that has a hot row r; as in lcp_lemke.c, and rounded alike. Where the pivot is not
 * positive the lane dies. */
static inline PERP_INLINE void pivot(const lanes *v, pivots *d, int n, const mask *is_hot)
{
    const four zero = (four){0}, one = zero + 1, none = PERP_IF(*is_hot, zero, one);
    const mask *hot = d->hot[d->many];
    four x[SMALL], F, m, p;
    mask leaves;
    find_column(v, d, n, hot, x, &leaves);
    d->is_back = d->is_back | leaves;
    of_hot_row(n, hot, d->q, 1, &F);
    of_hot_row(n, hot, v->M, n + 1, &m);
    of_hot_row(n, hot, x, 1, &p);
    m = PERP_EITHER(m, none), p = PERP_EITHER(p, none);
    d->is_live = d->is_live & (PERP_IF(leaves, p * m, p) >
                               PERP_IF(leaves, zero + PERP_TOL_PIVOT, PERP_TOL_PIVOT * m));
    four inverse = 1 / p;
    for (int i = 0; i < n; i++) {
        four e = PERP_IF(hot[i], one, x[i]) * inverse;
        d->q[i] = PERP_IF(hot[i], zero, d->q[i]) - F * e;
        d->e[d->many][i] = e;
    }
    d->many++;
}

/* Where a row is left open by its own data: does it hold by what the others give it, too? off: v + rho S, S: its terms. A row
 * without terms, none of which has underflowed, is 0 = 0. */
static inline PERP_INLINE void judge_by_data(lanes *v, int n, const four *off, const four *S)
{
    const four zero = (four){0}, one = zero + 1;
    four given[SMALL], wrong = zero;
    for (int j = 0; j < n; j++) {
        four x = PERP_SIZE(v->q[j] / v->M[j + j * n]);
        given[j] = PERP_IF(x <= DBL_MAX, x, zero);
    }
    for (int i = 0; i < n; i++) {
        four D = PERP_SIZE(v->q[i]), parts = zero;
        for (int j = 0; j < n; j++) {
            four size = PERP_SIZE(v->M[i + j * n]);
            D += size * given[j], parts += PERP_IF(v->z[j] > zero, size, zero);
        }
        mask holds = (off[i] <= v->tol * PERP_IF(S[i] < D, S[i], D)) & (v->z[i] >= zero);
        holds = holds & ((S[i] >= PERP__UNDERFLOW) | ((S[i] == zero) & (parts == zero)));
        wrong += PERP_IF(holds, zero, one);
    }
    v->is_open = wrong;
}

/* Does each row hold, as in verdict.c? With a number that is not finite none does. */
static inline PERP_INLINE void judge(lanes *v, int n)
{
    const double rho = (n + 4) * (DBL_EPSILON / 2);
    const four zero = (four){0}, one = zero + 1;
    four off[SMALL], S[SMALL], wrong = zero;
    double any = 0;
    for (int i = 0; i < n; i++) {
        four w = v->q[i], s = PERP_SIZE(w);
        for (int j = 0; j < n; j++) {
            four term = v->M[i + j * n] * v->z[j];
            w += term, s += PERP_SIZE(term);
        }
        off[i] = PERP_IF(v->z[i] > zero, PERP_SIZE(w), -w) + rho * s, S[i] = s;
        mask holds = (off[i] <= v->tol * PERP_SIZE(v->q[i])) & (s >= PERP__UNDERFLOW);
        wrong += PERP_IF(holds & (v->z[i] >= zero), zero, one);
    }
    for (int l = 0; l < LANES; l++) any += PERP_LANE(wrong, l);
    v->is_open = wrong;
    if (any > 0) judge_by_data(v, n, off, S);
}

/* A pair that went back and forth in a matrix that may have connected components, each with a limit of its own (lcp_parts.c): the
 * solver sees to it. */
static inline PERP_INLINE void leave_to_parts(lanes *v, int n, const mask *is_back)
{
    const four zero = (four){0}, one = zero + 1;
    long long any = 0;
    mask has_zero = (mask){0};
    for (int l = 0; l < LANES; l++) any |= PERP_LANE(*is_back, l);
    for (int e = 0; e < n * n && any; e++) has_zero = has_zero | (v->M[e] == zero);
    if (any) v->is_open += PERP_IF(*is_back & has_zero, one, zero);
}

static inline PERP_INLINE void solve_lanes(lanes *v, int n)
{
    const four zero = (four){0}, one = zero + 1;
    pivots d;
    mask is_hot;
    d.many = 0;
    d.is_live = zero == zero, d.is_back = (mask){0};
    for (int i = 0; i < n; i++) d.q[i] = v->q[i] + zero; /* no -0 */
    while (d.many < 2 * n && choose(&d, n, d.hot[d.many], &is_hot)) pivot(v, &d, n, &is_hot);
    for (int i = 0; i < n; i++) {
        mask is_z = (mask){0};
        for (int k = 0; k < d.many; k++) is_z = is_z ^ d.hot[k][i];
        v->z[i] = PERP_IF(is_z, d.q[i], zero);
    }
    judge(v, n);
    for (int i = 0; i < n; i++) v->is_open += PERP_IF((d.q[i] >= zero) & d.is_live, zero, one);
    leave_to_parts(v, n, &d.is_back);
}

static inline PERP_INLINE void gather(const double *const *source, size_t at, four *out)
{
    four x = (four){0};
    for (int l = 0; l < LANES; l++) PERP_LANE(x, l) = source[l][at];
    *out = x;
}

/* Problems first .. first + many - 1 into the lanes; lanes behind the last repeat it. */
static inline PERP_INLINE void fill_lanes(const perp_lcp_batch *b, int n, int first, int many,
                                          lanes *v)
{
    size_t count = (size_t)b->count, entry = b->interleaved ? count : 1;
    size_t entry_M = b->shared_M ? 1 : entry, size = (size_t)n;
    const double *M[LANES], *q[LANES];
    for (int l = 0; l < LANES; l++) {
        size_t k = (size_t)(first + (l < many ? l : many - 1));
        M[l] = b->M + (b->shared_M ? 0 : b->interleaved ? k : k * size * size);
        q[l] = b->q + (b->interleaved ? k : k * size);
    }
    for (int i = 0; i < n; i++) {
        gather(q, (size_t)i * entry, &v->q[i]);
        for (int j = 0; j < n; j++) gather(M, (size_t)(i + j * n) * entry_M, &v->M[i + j * n]);
    }
}

static inline PERP_INLINE void fill_and_solve(const perp_lcp_batch *b, int n, int first, int many,
                                              lanes *v)
{
    fill_lanes(b, n, first, many, v);
    solve_lanes(v, n);
}

#define VERSION(isa, target)                                                                       \
    target static void solve_##isa(const perp_lcp_batch *b, int first, int many, lanes *v)         \
    {                                                                                              \
        switch (b->n) {                                                                            \
        case 1: fill_and_solve(b, 1, first, many, v); break;                                       \
        case 2: fill_and_solve(b, 2, first, many, v); break;                                       \
        case 3: fill_and_solve(b, 3, first, many, v); break;                                       \
        default: fill_and_solve(b, 4, first, many, v);                                             \
        }                                                                                          \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static void (*const kernels[])(const perp_lcp_batch *b, int first, int many, lanes *v) = {
#define VERSION(isa, target) solve_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Chunks ---------------------------------------------------------------------------------------- */

static perp_outcome solve_one(worker *w, const perp_lcp_batch *b, int k, double *z)
{
    size_t n = (size_t)b->n;
    perp_lcp lcp = {b->n, w->M, b->n > 1 ? b->n : 1, w->q, NULL, NULL};
    perp_lcp_info info = {.outcome = PERP_BAD_INPUT};
    if (b->shared_M || !b->interleaved)
        lcp.M = b->M + (b->shared_M ? 0 : (size_t)k * n * n);
    else
        for (size_t e = 0; e < n * n; e++) w->M[e] = b->M[place_M(b, e, k)];
    for (size_t i = 0; i < n; i++) w->q[i] = b->q[place(b, n, i, k)];
    perp_lcp_solve(w->solver, &lcp, w->z, NULL, &info);
    for (size_t i = 0; i < n && info.outcome != PERP_BAD_INPUT; i++) z[place(b, n, i, k)] = w->z[i];
    return info.outcome;
}

static int solve_chunk(const perp_lcp_batch_solver *s, worker *w, const perp_lcp_batch *b,
                       int chunk, double *z, perp_outcome *outcomes)
{
    int first = chunk * CHUNK, end = b->count - first > CHUNK ? first + CHUNK : b->count,
        solved = 0;
    int n = b->n, in_lanes = n >= 1 && n <= SMALL &&
                             (s->method == PERP_LCP_LEMKE || s->method == PERP_LCP_AUTO);
    lanes v = {.tol = w->solver->options.tol};
    perp__lcp_forget(w->solver);
    w->solver->options.warm_start = b->shared_M;
    memset(w->z, 0, (size_t)n * sizeof(double));
    for (int k = first; k < end; k++) {
        int l = (k - first) % LANES;
        if (in_lanes && l == 0) {
            kernels[w->solver->isa](b, k, end - k < LANES ? end - k : LANES, &v);
        }
        perp_outcome outcome = PERP_SOLVED;
        if (in_lanes && PERP_LANE(v.is_open, l) == 0) {
            for (int i = 0; i < n; i++) z[place(b, (size_t)n, (size_t)i, k)] = PERP_LANE(v.z[i], l);
        } else {
            outcome = solve_one(w, b, k, z);
        }
        if (outcomes) outcomes[k] = outcome;
        solved += outcome == PERP_SOLVED;
    }
    return solved;
}

perp_status perp_lcp_solve_batch(perp_lcp_batch_solver *s, const perp_lcp_batch *b, double *z,
                                 perp_outcome *outcomes, int *solved)
{
    if (!s || !b || b->count < 0 || b->n < 0 ||
        (b->count > 0 && b->n > 0 && (!b->M || !b->q || !z)))
        return PERP_ERR_ARG;
    if (b->n > s->n_max) return PERP_ERR_DIM;
    int chunks = b->count / CHUNK + (b->count % CHUNK > 0), total = 0;
#ifdef _OPENMP
    if (s->threads > 1 && chunks > 1) {
#pragma omp parallel for num_threads(s->threads) schedule(dynamic) reduction(+ : total)
        for (int c = 0; c < chunks; c++)
            total += solve_chunk(s, &s->worker[omp_get_thread_num()], b, c, z, outcomes);
        if (solved) *solved = total;
        return PERP_OK;
    }
#endif
    for (int c = 0; c < chunks; c++) total += solve_chunk(s, &s->worker[0], b, c, z, outcomes);
    if (solved) *solved = total;
    return PERP_OK;
}
