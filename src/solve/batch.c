/* Many linear problems of one size.
 *
 * 1. Problems are taken in chunks of a fixed size, which threads share out; a chunk's result depends on
 * nothing outside it, so that the number of threads changes nothing.
 * 2. n <= 4, lemke or auto: LANES problems side by side. All supports are tried in one order, each by
 * elimination without a choice of pivots; a lane keeps the first answer whose natural residual,
 * from its M and q, is within a hundredth of the tolerance. The rest go to the solver.
 * 3. One M for all: each solve of a chunk starts from the one before it. */

#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { CHUNK = 64, LANES = 8, SMALL = 4 };

typedef struct worker {
    perp_solver *solver;
    double *M, *q, *z; /* one problem, from interleaved data */
} worker;

struct perp_batch_solver {
    perp_method method;
    int n_max, threads;
    worker *worker; /* threads */
};

perp_status perp_batch_solver_create(perp_method method, int n_max, int threads,
                                     const perp_solver_options *options, perp_batch_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (threads < 0 || threads > 4096 || n_max < 0 ||
        (options && (options->warm_start || options->mixed)))
        return PERP_ERR_ARG;
#ifdef _OPENMP
    if (threads == 0) threads = omp_get_num_procs();
#else
    threads = 1;
#endif
    perp_batch_solver *b = calloc(1, sizeof *b);
    if (b) b->worker = calloc((size_t)threads, sizeof *b->worker);
    perp_status status = b && b->worker ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) b->method = method, b->n_max = n_max, b->threads = threads;
    for (int t = 0; t < threads && status == PERP_OK; t++) {
        size_t n = (size_t)n_max;
        status = perp_solver_create(method, n_max, options, &b->worker[t].solver);
        if (status != PERP_OK) break;
        b->worker[t].M = malloc((n * n + 2 * n + 1) * sizeof(double));
        if (!b->worker[t].M) status = PERP_ERR_MEMORY;
        b->worker[t].q = b->worker[t].M + n * n;
        b->worker[t].z = b->worker[t].q + n;
    }
    if (status != PERP_OK) {
        perp_batch_solver_destroy(b);
        return status;
    }
    *out = b;
    return PERP_OK;
}

void perp_batch_solver_destroy(perp_batch_solver *b)
{
    if (!b) return;
    for (int t = 0; t < b->threads && b->worker; t++) {
        perp_solver_destroy(b->worker[t].solver);
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
    double limit[LANES];   /* on the residual */
    double is_open[LANES]; /* 1: no answer yet */
} lanes;

static const int supports[] = {0, 1, 2, 4, 8, 3, 5, 6, 9, 10, 12, 7, 11, 13, 14, 15};

/* Solve the rows and columns `index` of M for x = -inv(M_ss) q_s in every lane. */
static inline PERP_INLINE void eliminate(const lanes *v, int n, const int *index, int m,
                                         double x[SMALL][LANES])
{
    double A[SMALL][SMALL + 1][LANES];
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) memcpy(A[i][j], v->M[index[i] + index[j] * n], sizeof A[i][j]);
        for (int l = 0; l < LANES; l++) A[i][m][l] = -v->q[index[i]][l];
    }
    for (int k = 0; k < m; k++) {
        for (int i = k + 1; i < m; i++) {
            double f[LANES];
            for (int l = 0; l < LANES; l++) f[l] = A[i][k][l] / A[k][k][l];
            for (int j = k + 1; j <= m; j++) {
                for (int l = 0; l < LANES; l++) A[i][j][l] -= f[l] * A[k][j][l];
            }
        }
    }
    for (int k = m - 1; k >= 0; k--) {
        for (int l = 0; l < LANES; l++) {
            double sum = A[k][m][l];
            for (int j = k + 1; j < m; j++) sum -= A[k][j][l] * x[j][l];
            x[k][l] = sum / A[k][k][l];
        }
    }
}

/* Keep x on this support where its residual is small enough. A singular support has NaN: never kept. */
static inline PERP_INLINE void judge(lanes *v, int n, const int *index, int m,
                                     double x[SMALL][LANES])
{
    double z[SMALL][LANES] = {{0}}, residual[LANES] = {0};
    for (int k = 0; k < m; k++) memcpy(z[index[k]], x[k], sizeof z[0]);
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < LANES; l++) {
            double w = v->q[i][l];
            for (int j = 0; j < n; j++) w += v->M[i + j * n][l] * z[j][l];
            double r = fabs(z[i][l] < w ? z[i][l] : w);
            residual[l] = r > residual[l] || r != r ? r : residual[l];
        }
    }
    for (int l = 0; l < LANES; l++) { /* no comparison holds for NaN */
        int keep = residual[l] <= v->limit[l] && v->is_open[l] != 0;
        for (int i = 0; i < n; i++) v->z[i][l] = keep ? z[i][l] : v->z[i][l];
        v->is_open[l] = keep ? 0 : v->is_open[l];
    }
}

static inline PERP_INLINE void try_supports(lanes *v, int n)
{
    for (int s = 0; s < 16; s++) {
        int index[SMALL], m = 0;
        double x[SMALL][LANES], open = 0;
        if (supports[s] >= 1 << n) continue;
        for (int i = 0; i < n; i++) {
            if (supports[s] >> i & 1) index[m++] = i;
        }
        switch (m) { /* loops of known length */
        case 0: break;
        case 1: eliminate(v, n, index, 1, x); break;
        case 2: eliminate(v, n, index, 2, x); break;
        case 3: eliminate(v, n, index, 3, x); break;
        default: eliminate(v, n, index, 4, x);
        }
        judge(v, n, index, m, x);
        for (int l = 0; l < LANES; l++) open += v->is_open[l];
        if (open == 0) return;
    }
}

#define VERSION(isa, target)                                                                       \
    target static void supports_##isa(lanes *v, int n)                                             \
    {                                                                                              \
        switch (n) {                                                                               \
        case 1: try_supports(v, 1); break;                                                         \
        case 2: try_supports(v, 2); break;                                                         \
        case 3: try_supports(v, 3); break;                                                         \
        default: try_supports(v, 4);                                                               \
        }                                                                                          \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static void (*const kernels[])(lanes *v, int n) = {
#define VERSION(isa, target) supports_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Problems first .. first + many - 1 into the lanes; lanes behind the last repeat it. What is not finite ends with
 * no answer. */
static void fill_lanes(const perp_lcp_batch *b, int first, int many, double tol, lanes *v)
{
    size_t n = (size_t)b->n;
    for (int l = 0; l < LANES; l++) {
        int k = first + (l < many ? l : many - 1);
        double scale = 1, finite = 0; /* x - x is 0, or NaN */
        for (size_t e = 0; e < n * n; e++) {
            v->M[e][l] = b->M[place_M(b, e, k)];
            finite += v->M[e][l] - v->M[e][l];
        }
        for (size_t i = 0; i < n; i++) {
            double q = b->q[place(b, n, i, k)];
            v->q[i][l] = q;
            finite += q - q;
            scale = 1 + fabs(q) > scale ? 1 + fabs(q) : scale;
        }
        v->limit[l] = finite == 0 ? 0.01 * tol * scale : -1;
        v->is_open[l] = 1;
    }
}

/* Chunks ---------------------------------------------------------------------------------------- */

static perp_outcome solve_one(worker *w, const perp_lcp_batch *b, int k, double *z)
{
    size_t n = (size_t)b->n;
    perp_lcp lcp = {b->n, w->M, b->n > 1 ? b->n : 1, w->q, NULL, NULL};
    perp_solve_info info = {.outcome = PERP_BAD_INPUT};
    if (b->shared_M || !b->interleaved)
        lcp.M = b->M + (b->shared_M ? 0 : (size_t)k * n * n);
    else
        for (size_t e = 0; e < n * n; e++) w->M[e] = b->M[place_M(b, e, k)];
    for (size_t i = 0; i < n; i++) w->q[i] = b->q[place(b, n, i, k)];
    perp_lcp_solve(w->solver, &lcp, w->z, NULL, &info);
    for (size_t i = 0; i < n && info.outcome != PERP_BAD_INPUT; i++) z[place(b, n, i, k)] = w->z[i];
    return info.outcome;
}

static int solve_chunk(const perp_batch_solver *s, worker *w, const perp_lcp_batch *b, int chunk,
                       double *z, perp_outcome *outcomes)
{
    int first = chunk * CHUNK, end = b->count - first > CHUNK ? first + CHUNK : b->count,
        solved = 0;
    int n = b->n, in_lanes = n >= 1 && n <= SMALL &&
                             (s->method == PERP_METHOD_LEMKE || s->method == PERP_METHOD_AUTO);
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

perp_status perp_lcp_solve_batch(perp_batch_solver *s, const perp_lcp_batch *b, double *z,
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
