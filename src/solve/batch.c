/* Many linear problems of one size.
 *
 * 1. Problems are taken in chunks of a fixed size, which threads share out; a chunk's result depends on
 * nothing outside it, so that the number of threads changes nothing.
 * 2. n <= 4, lemke or auto: LANES problems side by side, with the principal pivots by which lemke begins
 * (docs/adr/006), each lane in its own row. An answer is kept where plain sums show that it holds (verdict.c). The
 * rest go to the solver.
 * 3. One M for all: each solve of a chunk starts from the one before it. */

#include "base/base.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { CHUNK = 64, LANES = 8, SMALL = 4 };

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

typedef struct lanes {
    double M[SMALL * SMALL][LANES], q[SMALL][LANES], z[SMALL][LANES];
    double limit[LANES];   /* on the error; NaN where a number is not finite */
    double is_open[LANES]; /* not 0: no answer yet */
} lanes;

/* The dictionary of each lane, x = q + D y: of the pair i, x_i is basic and y_i is not. It begins with x = w, y = z. */
typedef struct dictionary {
    double D[SMALL][SMALL][LANES], q[SMALL][LANES];
    double is_z[SMALL][LANES]; /* 1: x_i is z_i */
} dictionary;

/* hot[i] is 1 in the lanes whose least value, if negative, is in row i. Returns how many lanes have one. */
static inline PERP_INLINE double choose(const dictionary *d, int n, double hot[SMALL][LANES])
{
    double least[LANES] = {0}, row[LANES], count = 0;
    for (int l = 0; l < LANES; l++) row[l] = -1;
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) {
            row[l] = d->q[i][l] < least[l] ? i : row[l];
            least[l] = d->q[i][l] < least[l] ? d->q[i][l] : least[l];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) hot[i][l] = row[l] == i ? 1 : 0;
    }
    for (int l = 0; l < LANES; l++) count += row[l] >= 0;
    return count;
}

/* x_r and y_r change sides in every lane, r its hot row. Where the pivot is not positive the lane ends with NaN. */
static inline PERP_INLINE void pivot(dictionary *d, int n, double hot[SMALL][LANES])
{
    double row[SMALL][LANES] = {{0}}, column[SMALL][LANES] = {{0}}, inverse[LANES], q[LANES] = {0},
           p[LANES];
    for (int l = 0; l < LANES; l++) p[l] = 1;
    for (int r = 0; r < n; r++) {
        for (int l = 0; l < LANES; l++) {
            p[l] = hot[r][l] != 0 ? d->D[r][r][l] : p[l];
            q[l] = hot[r][l] != 0 ? d->q[r][l] : q[l];
        }
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < LANES; l++) {
                row[j][l] = hot[r][l] != 0 ? d->D[r][j][l] : row[j][l];
                column[j][l] = hot[r][l] != 0 ? d->D[j][r][l] : column[j][l];
            }
        }
    }
    for (int l = 0; l < LANES; l++) {
        inverse[l] = p[l] > 0 ? 1 / p[l] : (double)NAN;
        q[l] = -q[l] * inverse[l];
    }
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) {
            row[i][l] = hot[i][l] != 0 ? inverse[l] : -row[i][l] * inverse[l];
            column[i][l] = hot[i][l] != 0 ? 1 : column[i][l];
            d->q[i][l] = (hot[i][l] != 0 ? 0 : d->q[i][l]) + column[i][l] * q[l];
            d->is_z[i][l] = hot[i][l] != 0 ? 1 - d->is_z[i][l] : d->is_z[i][l];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < LANES; l++) {
                double old = hot[i][l] + hot[j][l] != 0 ? 0 : d->D[i][j][l];
                d->D[i][j][l] = old + column[i][l] * row[j][l];
            }
        }
    }
}

/* z is an answer where each row holds by its own data and what the others give it, as in verdict.c: with NaN none does. */
static inline PERP_INLINE void judge(lanes *v, int n)
{
    double given[SMALL][LANES], fails[LANES] = {0};
    const double rho = (n + 4) * (DBL_EPSILON / 2);
    for (int j = 0; j < n; j++) {
        for (int l = 0; l < LANES; l++) {
            double x = fabs(v->q[j][l] / v->M[j + j * n][l]);
            given[j][l] = x <= DBL_MAX ? x : 0;
        }
    }
    for (int i = 0; i < n; i++) {
        double w[LANES], S[LANES], D[LANES];
        for (int l = 0; l < LANES; l++) w[l] = v->q[i][l], S[l] = D[l] = fabs(w[l]);
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < LANES; l++) {
                double m = v->M[i + j * n][l], term = m * v->z[j][l];
                w[l] += term, S[l] += fabs(term), D[l] += fabs(m) * given[j][l];
            }
        }
        for (int l = 0; l < LANES; l++) {
            double violation = v->z[i][l] > 0 ? fabs(w[l]) : -w[l];
            double open = violation + rho * S[l] - v->limit[l] * (S[l] < D[l] ? S[l] : D[l]);
            fails[l] += (open <= 0) & (v->z[i][l] >= 0) & (S[l] >= PERP__UNDERFLOW) ? 0 : 1;
        }
    }
    for (int l = 0; l < LANES; l++) v->is_open[l] = fails[l];
}

static inline PERP_INLINE void solve_lanes(lanes *v, int n)
{
    dictionary d;
    double hot[SMALL][LANES];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) memcpy(d.D[i][j], v->M[i + j * n], sizeof d.D[i][j]);
        memcpy(d.q[i], v->q[i], sizeof d.q[i]);
        memset(d.is_z[i], 0, sizeof d.is_z[i]);
    }
    for (int k = 0; k < 2 * n && choose(&d, n, hot) > 0; k++) pivot(&d, n, hot);
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) v->z[i][l] = d.is_z[i][l] != 0 ? d.q[i][l] : 0;
    }
    judge(v, n);
}

#define VERSION(isa, target)                                                                       \
    target static void solve_##isa(lanes *v, int n)                                                \
    {                                                                                              \
        switch (n) {                                                                               \
        case 1: solve_lanes(v, 1); break;                                                          \
        case 2: solve_lanes(v, 2); break;                                                          \
        case 3: solve_lanes(v, 3); break;                                                          \
        default: solve_lanes(v, 4);                                                                \
        }                                                                                          \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static void (*const kernels[])(lanes *v, int n) = {
#define VERSION(isa, target) solve_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Problems first .. first + many - 1 into the lanes; lanes behind the last repeat it. What is not finite ends with
 * no answer. */
static void fill_lanes(const perp_lcp_batch *b, int first, int many, double tol, lanes *v)
{
    size_t n = (size_t)b->n, count = (size_t)b->count, entry = b->interleaved ? count : 1,
           problem[LANES];
    double finite[LANES] = {0}; /* x - x is 0, or NaN */
    for (int l = 0; l < LANES; l++) problem[l] = (size_t)(first + (l < many ? l : many - 1));
    size_t entry_M = b->shared_M ? 1 : entry,
           next_M = b->shared_M      ? 0
                    : b->interleaved ? 1
                                     : n * n,
           next = b->interleaved ? 1 : n;
    for (size_t e = 0; e < n * n; e++) {
        for (int l = 0; l < LANES; l++) v->M[e][l] = b->M[e * entry_M + problem[l] * next_M];
        for (int l = 0; l < LANES; l++) finite[l] += v->M[e][l] - v->M[e][l];
    }
    for (size_t i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) v->q[i][l] = b->q[i * entry + problem[l] * next];
        for (int l = 0; l < LANES; l++) finite[l] += v->q[i][l] - v->q[i][l];
    }
    for (int l = 0; l < LANES; l++) v->limit[l] = finite[l] == 0 ? tol : (double)NAN;
}

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
    lanes v;
    perp__lcp_forget(w->solver);
    w->solver->options.warm_start = b->shared_M;
    memset(w->z, 0, (size_t)n * sizeof(double));
    for (int k = first; k < end; k++) {
        int l = (k - first) % LANES;
        if (in_lanes && l == 0) {
            fill_lanes(b, k, end - k < LANES ? end - k : LANES, w->solver->options.tol, &v);
            kernels[w->solver->isa](&v, n);
        }
        perp_outcome outcome = PERP_SOLVED;
        if (in_lanes && v.is_open[l] == 0) {
            for (int i = 0; i < n; i++) z[place(b, (size_t)n, (size_t)i, k)] = v.z[i][l];
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
