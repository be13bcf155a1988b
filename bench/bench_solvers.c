/* Methods and installed peers on generated problems: time and success, in the same run.
 *
 *     bench_solvers [--class NAME]... [--method NAME]... [--n N]... [--count K] [--warm] [--isa K]
 *
 * Success is a natural residual of at most 1e-8 (1 + max|q|), recomputed here. Times are means over the
 * problems, without creating the solver: CPU time of this thread, the least of several rounds and their median;
 * all take turns in each round. `x NAME` is the least time over that of the first, which is a
 * peer if there is one. --warm: times after a 1 % change
 * of q, with the last solution known to the solver. --isa: vectors at most as wide as those of 0, any machine; 1, AVX2; 2, AVX-512. */

#include "generate/lcp_classes.h"
#include "peers.h"
#include "timing.h"

#include "linalg/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct settings {
    int classes[LCP_NCLASS], methods[PERP_LCP_METHOD_COUNT], n[MOST], nn, count, warm, peers;
} settings;

typedef struct batch {
    perp_lcp *problem;
    int count, n;
} batch;

static int is_solved(const perp_lcp *lcp, const double *z)
{
    double scale = 1;
    for (int i = 0; i < lcp->n; i++) scale = fmax(scale, 1 + fabs(lcp->q[i]));
    return perp_lcp_residual(lcp, z, NULL) <= 1e-8 * scale;
}

/* One of those that take turns: a method, the batch solver, or a peer. */
typedef struct runner {
    const char *name;
    perp_lcp_solver *solver;
    perp_lcp_batch_solver *batch;
    const peer *other;
    void *state;
    int solved, inner;
    double spent;
    times time; /* of a problem, by turns */
} runner;

enum { RUNNERS_MOST = PERP_LCP_METHOD_COUNT + 8 };

static void run_one(const runner *r, const perp_lcp *lcp, double *z)
{
    if (r->solver)
        perp_lcp_solve(r->solver, lcp, z, NULL, NULL);
    else
        r->other->solve(r->state, lcp->n, lcp->M, lcp->q, z);
}

/* A turn: all problems, often enough that reading the clock does not count. z has room for all solutions. */
#define TURN 3e-4
static void run_round(runner *r, const batch *b, const perp_lcp_batch *all, double *z)
{
    double start = cpu_now();
    for (int i = 0; i < r->inner; i++) {
        if (r->batch) perp_lcp_solve_batch(r->batch, all, z, NULL, NULL);
        for (int k = 0; k < b->count && !r->batch; k++) run_one(r, &b->problem[k], z + k * b->n);
    }
    double seconds = cpu_now() - start;
    times_add(&r->time, seconds / r->inner / b->count);
    r->spent += seconds;
    if (r->inner == 1 && seconds < TURN) r->inner = (int)(TURN / fmax(seconds, 1e-2 * TURN));
    r->solved = 0;
    for (int k = 0; k < b->count; k++) r->solved += is_solved(&b->problem[k], z + k * b->n);
}

static void measure(runner *r, int n, const batch *b, const char *class_name)
{
    size_t size = (size_t)b->n, count = (size_t)b->count;
    double *M = malloc((count * size * (size + 2) + 1) * sizeof *M), *q = M + count * size * size;
    double *z = q + count * size;
    perp_lcp_batch all = {.count = b->count, .n = b->n, .M = M, .q = q};
    if (!M) return;
    for (size_t k = 0; k < count; k++) {
        memcpy(M + k * size * size, b->problem[k].M, size * size * sizeof *M);
        memcpy(q + k * size, b->problem[k].q, size * sizeof *q);
    }
    memset(z, 0, count * size * sizeof *z);
    for (int i = 0; i < n; i++) r[i].inner = 1;
    for (int round = 0; round < TIMES_MOST; round++) {
        for (int i = 0; i < n; i++) {
            if (round < 2 || (r[i].spent < 0.3 && r[i].spent / round < 2))
                run_round(&r[i], b, &all, z);
        }
    }
    for (int i = 0; i < n; i++) {
        double least = times_least(&r[i].time), median = times_median(&r[i].time);
        printf("%-11s n %-5d %-18s %12.3f us  median %12.3f us", class_name, b->n, r[i].name,
               1e6 * least, 1e6 * median);
        printf("  x %s %8.3f  %5d/%d\n", r[0].name, least / r[0].time.seconds[0], r[i].solved,
               b->count);
    }
    fflush(stdout);
    free(M);
}

/* Solve, change q by 1 %, solve again: the time of the second. */
static void measure_warm(const batch *b, perp_lcp_method method, const char *class_name)
{
    perp_lcp_options o = perp_lcp_options_default(method);
    perp_lcp_solver *warm, *cold;
    o.warm_start = 1;
    if (perp_lcp_solver_create(method, b->n, &o, &warm) != PERP_OK) return;
    if (perp_lcp_solver_create(method, b->n, NULL, &cold) != PERP_OK) return;
    double *z = calloc(2 * (size_t)b->n + 1, sizeof *z), *q = z + b->n, sum[2] = {0};
    int solved = 0;
    unsigned long long s = 1;
    for (int k = 0; k < b->count; k++) {
        perp_lcp lcp = b->problem[k];
        double best[2] = {INFINITY, INFINITY};
        for (int round = 0; round < 5; round++) {
            perp_lcp_solve(warm, &lcp, z, NULL, NULL);
            for (int i = 0; i < b->n; i++) {
                s = s * 6364136223846793005ULL + 1442695040888963407ULL;
                q[i] = lcp.q[i] * (1 + 0.02 * ((double)(s >> 11) * 0x1p-53 - 0.5));
            }
            perp_lcp changed = {b->n, lcp.M, lcp.ldm, q, NULL, NULL};
            double t0 = cpu_now();
            perp_lcp_solve(warm, &changed, z, NULL, NULL);
            double t1 = cpu_now();
            solved += round == 0 && is_solved(&changed, z);
            double t2 = cpu_now();
            perp_lcp_solve(cold, &changed, z, NULL, NULL);
            best[0] = fmin(best[0], t1 - t0);
            best[1] = fmin(best[1], cpu_now() - t2);
        }
        sum[0] += best[0] / b->count;
        sum[1] += best[1] / b->count;
    }
    printf("%-11s n %-5d %-18s warm %10.3f us  cold %10.3f us  ratio %.3f  %5d/%d\n", class_name,
           b->n, perp_lcp_method_name(method), 1e6 * sum[0], 1e6 * sum[1], sum[0] / sum[1], solved,
           b->count);
    free(z);
    perp_lcp_solver_destroy(warm);
    perp_lcp_solver_destroy(cold);
}

static void measure_class(const settings *s, lcp_class c, int n)
{
    int count = s->count ? s->count : n <= 64 ? 64 : n <= 256 ? 10 : 3, nr = 0;
    batch b = {calloc((size_t)count, sizeof *b.problem), count, lcp_class_size(c, n)};
    runner *r = calloc(RUNNERS_MOST, sizeof *r);
    if (!b.problem || !r) exit(2);
    for (int k = 0; k < count; k++) b.problem[k] = lcp_generate(c, n, (unsigned long long)k + 1);
    for (const peer *p = perp_bench_peers; p->name && s->peers && !s->warm; p++) {
        if (p->definite_only && c != LCP_definite) continue;
        r[nr++] = (runner){.name = p->name, .other = p, .state = p->create(b.n)};
    }
    for (int m = 0; m < PERP_LCP_METHOD_COUNT; m++) {
        runner *next = &r[nr];
        if (!s->methods[m] || (m == PERP_LCP_ENUMERATE && b.n > 8) ||
            (m == PERP_LCP_NLP && b.n > 16))
            continue;
        next->name = perp_lcp_method_name((perp_lcp_method)m);
        if (s->warm)
            measure_warm(&b, (perp_lcp_method)m, lcp_class_name(c));
        else
            nr += perp_lcp_solver_create((perp_lcp_method)m, b.n, NULL, &next->solver) == PERP_OK;
    }
    if (s->methods[PERP_LCP_AUTO] && !s->warm && b.n <= 16) {
        r[nr].name = "auto, as a batch";
        nr += perp_lcp_batch_solver_create(PERP_LCP_AUTO, b.n, 1, NULL, &r[nr].batch) == PERP_OK;
    }
    measure(r, nr, &b, lcp_class_name(c));
    for (int i = 0; i < nr; i++) {
        perp_lcp_solver_destroy(r[i].solver);
        perp_lcp_batch_solver_destroy(r[i].batch);
        if (r[i].other) r[i].other->destroy(r[i].state);
    }
    for (int k = 0; k < count; k++) free((void *)(size_t)b.problem[k].M);
    free(b.problem);
    free(r);
}

static int read_settings(int argc, char **argv, settings *s)
{
    int classes = 0, methods = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--warm") == 0) {
            s->warm = 1;
        } else if (strcmp(argv[i], "--no-peers") == 0) {
            s->peers = 0;
        } else if (strcmp(argv[i], "--class") == 0 && lcp_class_find(value) < LCP_NCLASS) {
            s->classes[lcp_class_find(value)] = ++classes, i++;
        } else if (strcmp(argv[i], "--method") == 0 &&
                   perp_lcp_method_find(value) < PERP_LCP_METHOD_COUNT) {
            s->methods[perp_lcp_method_find(value)] = ++methods, i++;
        } else if (strcmp(argv[i], "--n") == 0 && atoi(value) > 0 && s->nn < MOST) {
            s->n[s->nn++] = atoi(value), i++;
        } else if (strcmp(argv[i], "--isa") == 0 && strchr("012", *value) && *value) {
            perp__isa_most = atoi(value), i++;
        } else if (strcmp(argv[i], "--count") == 0 && atoi(value) > 0) {
            s->count = atoi(value), i++;
        } else {
            fprintf(stderr, "bench_solvers: %s %s? see the head of the source\n", argv[i], value);
            return 0;
        }
    }
    for (int c = 0; c < LCP_NCLASS && !classes; c++) s->classes[c] = 1;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT && !methods; m++) s->methods[m] = 1;
    return 1;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {3, 4, 8, 16, 32, 64, 128};
    settings s = {.peers = 1};
    if (!read_settings(argc, argv, &s)) return 1;
    if (s.nn == 0) {
        s.nn = sizeof sizes / sizeof *sizes;
        memcpy(s.n, sizes, sizeof sizes);
    }
    for (int c = 0; c < LCP_NCLASS; c++) {
        int last = -1;
        for (int k = 0; k < s.nn && s.classes[c]; k++) {
            int n = lcp_class_size((lcp_class)c, s.n[k]);
            if (n == last) continue;
            measure_class(&s, (lcp_class)c, n);
            last = n;
        }
    }
    return 0;
}
