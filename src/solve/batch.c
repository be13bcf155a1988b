/* Many linear problems of one size.
 *
 * 1. Problems are taken in chunks of a fixed size, which threads share. The result of a chunk
 *    depends on nothing outside it, so the number of threads changes nothing.
 * 2. n <= 4, lemke or auto: one problem in each lane of a vector, with the principal pivots by
 *    which lemke begins (docs/adr/006), each lane in its own row. The sums are the same, so the
 *    bits are. An answer is kept if plain sums show that it holds (verdict.c). The rest go to
 *    the solver.
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
    if (status == PERP_OK) {
        b->method = method;
        b->n_max = n_max;
        b->threads = threads;
    }
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

/* Small problems side by side ------------------------------------------------------------------ */

/* While a pivot waits, those of other lanes run: the number of problems at once, by instruction
 * set. */
enum { MOST_TOGETHER = 32 };
static const int together[] = {16, 16, MOST_TOGETHER};

/* batch_kernel.h defines solve_1 .. solve_4 for every instruction set. */
#define KERNEL "solve/batch_kernel.h"
#include "linalg/every_isa.h"

/* Answers of many problems, at most MOST_TOGETHER, from the first on, into z. Returns those that
 * have one, as bits. */
static unsigned (*const kernels[][SMALL])(const perp_lcp_batch *b, int first, int many, double tol,
                                          double *z) = {
#define VERSION(isa, target) {solve_1_##isa, solve_2_##isa, solve_3_##isa, solve_4_##isa},
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Chunks --------------------------------------------------------------------------------------- */

static perp_outcome solve_one(worker *w, const perp_lcp_batch *b, int k, double *z)
{
    size_t n = (size_t)b->n;
    perp_lcp lcp = {b->n, w->M, b->n > 1 ? b->n : 1, w->q, NULL, NULL};
    perp_lcp_info info = {.size = sizeof info, .outcome = PERP_BAD_INPUT};
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
        solved = 0, isa = w->solver->isa;
    int n = b->n, in_lanes = n >= 1 && n <= SMALL &&
                             (s->method == PERP_LCP_LEMKE || s->method == PERP_LCP_AUTO);
    double tol = w->solver->options.tol;
    perp__lcp_forget(w->solver);
    w->solver->options.warm_start = b->shared_M;
    memset(w->z, 0, (size_t)n * sizeof(double));
    for (int k = first; k < end; k += together[isa]) {
        int many = end - k < together[isa] ? end - k : together[isa];
        unsigned answered = 0;
        if (in_lanes) answered = kernels[isa][n - 1](b, k, many, tol, z);
        if (answered == UINT32_MAX >> (32 - many) && !outcomes) {
            solved += many;
            continue;
        }
        for (int l = 0; l < many; l++) {
            perp_outcome outcome = answered >> l & 1 ? PERP_SOLVED : solve_one(w, b, k + l, z);
            if (outcomes) outcomes[k + l] = outcome;
            solved += outcome == PERP_SOLVED;
        }
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
