/* Instructions a solve of the generated linear problems takes, one line a problem: what scripts/counts compares between two builds.
 *
 *     bench_counts [--method NAME]... [--class NAME]... [--n N]...
 *
 * Counted by the processor (Linux), in this thread, libraries included; the least of a few rounds. nlp only where it is asked for. */

#define _DEFAULT_SOURCE /* syscall */

#include "generate/lcp_classes.h"
#include "perp/lcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { ROUNDS = 5, FEW = 16, MOST_SIZES = 32, LARGEST = 4096, LONG = 300000 };

static const long double TOL = 1e-9L;

typedef struct settings {
    int methods[PERP_LCP_METHOD_COUNT], classes[LCP_NCLASS], n[MOST_SIZES], nn;
} settings;

/* 0 where the machine or its administrator does not let this program count. */
static int open_counter(void)
{
#ifdef __linux__
    struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_HW_INSTRUCTIONS,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    long file = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
    return file > 0 ? (int)file : 0;
#else
    return 0;
#endif
}

static long long count(int file)
{
    long long value = -1;
#ifdef __linux__
    if (read(file, &value, sizeof value) != sizeof value) value = -1;
#else
    (void)file;
#endif
    return value;
}

/* Instructions of one solve: the least over the rounds of `repeat` of them; long ones once. */
static double count_one(int file, perp_lcp_solver *solver, const perp_lcp *lcp, double *z,
                        perp_lcp_info *info)
{
    int repeat = lcp->n <= FEW ? 16 : 1;
    double least = -1;
    for (int round = 0; round < ROUNDS && least < LONG; round++) {
        long long before = count(file);
        for (int i = 0; i < repeat; i++) perp_lcp_solve(solver, lcp, z, NULL, info);
        double now = (double)(count(file) - before) / repeat;
        least = least < 0 || now < least ? now : least;
    }
    return least;
}

/* w, the terms of its rows and their data, |q_i| + sum |M_ij q_j / M_jj|, in long double. */
static void add_up(const perp_lcp *lcp, const double *z, int i, long double *w, long double *terms,
                   long double *data)
{
    *w = lcp->q[i], *terms = *data = fabsl(*w);
    for (int j = 0; j < lcp->n; j++) {
        const double *column = lcp->M + (size_t)j * (size_t)lcp->ldm;
        long double term = (long double)column[i] * z[j];
        *w += term, *terms += fabsl(term);
        if (column[j] != 0) *data += fabsl((long double)column[i] * lcp->q[j] / column[j]);
    }
}

static int rows_hold(const perp_lcp *lcp, const double *z)
{
    for (int i = 0; i < lcp->n; i++) {
        long double w, terms, data;
        add_up(lcp, z, i, &w, &terms, &data);
        long double scale = data > 0 && data < terms ? data : terms;
        if (!(z[i] >= 0 && (z[i] > 0 ? fabsl(w) : -w) <= TOL * scale)) return 0;
    }
    return 1;
}

/* Does z solve the problem, judged here and not by the library under count? By the rule of docs/adr/008-verdicts.md: what each w_i has
 * wrong is small beside the terms of its row, and beside its data where it has any; as it is, or with those z_i at 0 that their own row
 * would not miss (without a diagonal: no row). */
static int holds(const perp_lcp *lcp, double *z)
{
    long double w, data, terms[LARGEST];
    if (rows_hold(lcp, z)) return 1;
    for (int i = 0; i < lcp->n; i++) add_up(lcp, z, i, &w, &terms[i], &data);
    for (int j = 0; j < lcp->n; j++) {
        const double *column = lcp->M + (size_t)j * (size_t)lcp->ldm;
        int first = column[j] != 0 ? j : 0, last = column[j] != 0 ? j : lcp->n - 1, matters = 0;
        for (int i = first; i <= last; i++)
            matters |= fabsl((long double)column[i] * z[j]) > TOL * terms[i];
        if (!matters) z[j] = 0;
    }
    return rows_hold(lcp, z);
}

static int problems_of_size(int n)
{
    return n <= 64 ? 64 : n <= 256 ? 10 : 3;
}

static int is_wanted(const settings *s, perp_lcp_method m, int n)
{
    return s->methods[m] && (m != PERP_LCP_ENUMERATE || n <= 8);
}

static void count_methods(int file, const settings *s, lcp_class c, int n, const perp_lcp *problem)
{
    double *z = calloc((size_t)n, sizeof *z);
    for (int m = 0; m < PERP_LCP_METHOD_COUNT && z; m++) {
        perp_lcp_solver *solver;
        perp_lcp_info info = {.size = sizeof info};
        if (!is_wanted(s, (perp_lcp_method)m, n) ||
            perp_lcp_solver_create((perp_lcp_method)m, n, NULL, &solver) != PERP_OK)
            continue;
        for (int k = 0; k < problems_of_size(n); k++) {
            double instructions = count_one(file, solver, &problem[k], z, &info);
            int solved = info.outcome == PERP_SOLVED;
            printf("%s,%s,%d,%d,%.0f,%d,%d,%d\n", perp_lcp_method_name((perp_lcp_method)m),
                   lcp_class_name(c), n, k + 1, instructions, info.iterations, solved,
                   solved && holds(&problem[k], z));
        }
        perp_lcp_solver_destroy(solver);
    }
    free(z);
}

/* All problems of a class at once; one line for all, per problem. */
static void count_batch(int file, lcp_class c, int n, const perp_lcp *problem)
{
    size_t N = (size_t)n, many = (size_t)problems_of_size(n);
    double *M = malloc(many * N * (N + 2) * sizeof *M), *q = M + many * N * N, least = -1;
    perp_lcp_batch batch = {.count = (int)many, .n = n, .M = M, .q = q};
    perp_lcp_batch_solver *solver;
    int solved = 0;
    if (!M || perp_lcp_batch_solver_create(PERP_LCP_AUTO, n, 1, NULL, &solver) != PERP_OK) return;
    for (size_t k = 0; k < many; k++) {
        memcpy(M + k * N * N, problem[k].M, N * N * sizeof *M);
        memcpy(q + k * N, problem[k].q, N * sizeof *q);
    }
    for (int round = 0; round <= ROUNDS; round++) {
        long long before = count(file);
        perp_lcp_solve_batch(solver, &batch, q + many * N, NULL, &solved);
        double now = (double)(count(file) - before) / (double)many;
        least = least < 0 || now < least ? now : least;
    }
    printf("batch,%s,%d,0,%.0f,0,%d,%d\n", lcp_class_name(c), n, least, solved, solved);
    perp_lcp_batch_solver_destroy(solver);
    free(M);
}

static void count_class(int file, const settings *s, lcp_class c, int n)
{
    int many = problems_of_size(n);
    perp_lcp *problem = calloc((size_t)many, sizeof *problem);
    if (!problem) exit(2);
    for (int k = 0; k < many; k++) problem[k] = lcp_generate(c, n, (unsigned long long)k + 1);
    count_methods(file, s, c, n, problem);
    if (s->methods[PERP_LCP_AUTO] && n <= FEW) count_batch(file, c, n, problem);
    for (int k = 0; k < many; k++) free((void *)(size_t)problem[k].M);
    free(problem);
    fflush(stdout);
}

static int read_settings(int argc, char **argv, settings *s)
{
    int classes = 0, methods = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--class") == 0 && lcp_class_find(value) < LCP_NCLASS) {
            s->classes[lcp_class_find(value)] = ++classes;
        } else if (strcmp(argv[i], "--method") == 0 &&
                   perp_lcp_method_find(value) < PERP_LCP_METHOD_COUNT) {
            s->methods[perp_lcp_method_find(value)] = ++methods;
        } else if (strcmp(argv[i], "--n") == 0 && atoi(value) > 0 && atoi(value) <= LARGEST / 2 &&
                   s->nn < MOST_SIZES) {
            s->n[s->nn++] = atoi(value);
        } else {
            fprintf(stderr, "bench_counts: %s %s? see the head of the source\n", argv[i], value);
            return 0;
        }
    }
    for (int c = 0; c < LCP_NCLASS && !classes; c++) s->classes[c] = 1;
    for (int m = 0; m < PERP_LCP_METHOD_COUNT && !methods; m++) s->methods[m] = m != PERP_LCP_NLP;
    return 1;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {3, 4, 8, 16, 32, 64, 128};
    settings s = {.nn = 0};
    int file = open_counter();
    if (!read_settings(argc, argv, &s)) return 1;
    if (!file) {
        fprintf(stderr,
                "bench_counts: this machine lets no program count instructions; on Linux see "
                "/proc/sys/kernel/perf_event_paranoid\n");
        return 77;
    }
    if (s.nn == 0) {
        s.nn = sizeof sizes / sizeof *sizes;
        memcpy(s.n, sizes, sizeof sizes);
    }
    printf("method,class,n,problem,instructions,iterations,solved,holds\n");
    for (int c = 0; c < LCP_NCLASS; c++) {
        int last = -1;
        for (int k = 0; k < s.nn && s.classes[c]; k++) {
            int n = lcp_class_size((lcp_class)c, s.n[k]);
            if (n != last) count_class(file, &s, (lcp_class)c, n);
            last = n;
        }
    }
    return 0;
}
