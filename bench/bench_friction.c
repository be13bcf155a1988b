/* Friction problems from files x methods: residual, time, success.
 *
 *     bench_friction [--method NAME]... [--tol T] [--repeat N] [--vary K] FILE.json...
 *
 * --vary K adds K variants of every file: mu times 0.5 to 1.5 q + 0.05 |q| W x/|W x| with random x
 * (a change in the range of W: any other may leave no solution), seeded, so that a method is not
 * judged by the files alone. Times are the best of N solves (default: as many as fit in 0.2 s),
 * without creating the solver. */

#include "../cli/problem_fc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Solve once or more; prints a line, returns 1 when solved. */
static int measure(const problem_fc *problem, perp_fc_method method, double tol, int repeat)
{
    perp_fc_options options = perp_fc_options_default();
    options.tol = tol;
    perp_fc_solver *solver = NULL;
    size_t n = (size_t)(problem->view.dimension * problem->view.nc);
    double *r = calloc(n + 1, sizeof *r), best = INFINITY, start = now();
    perp_fc_info info = {0};
    if (r && perp_fc_solver_create(method, &problem->view, &options, &solver) == PERP_OK)
        for (int k = 0; k < repeat || (repeat == 0 && (k == 0 || now() - start < 0.2)); k++) {
            double t = now();
            perp_fc_solve(solver, &problem->view, r, NULL, &info);
            best = fmin(best, now() - t);
        }
    printf("%-34s %5d %-15s %-9s %9.2e %11.6f ms %6d it %4d lu  %s\n", problem->name,
           problem->view.nc, perp_fc_method_name(method), perp_outcome_name(info.outcome),
           info.error, 1e3 * best, info.iterations, info.factorizations,
           perp_fc_method_name(info.method));
    perp_fc_solver_destroy(solver);
    free(r);
    return info.outcome == PERP_SOLVED;
}

static double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* The k-th variant of a problem in place of the last; q0 and mu0 are the file's. */
static void vary(problem_fc *problem, const double *q0, const double *mu0, int k)
{
    unsigned long long state = 12345 + 977 * (unsigned long long)k;
    int nc = problem->view.nc, n = nc * problem->view.dimension;
    double *q = problem->numbers, *mu = problem->numbers + n, f = 0.5 + uniform(&state);
    double *x = calloc(2 * (size_t)n + 1, sizeof *x), largest = 0, unit = 0;
    if (!x) return;
    memset(q, 0, (size_t)n * sizeof *q);
    for (int i = 0; i < n; i++) x[i] = 2 * uniform(&state) - 1;
    perp_fc_residual(&problem->view, x, x + n); /* with q = 0 gives W x */
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[n + i]));
        unit = fmax(unit, fabs(q0[i]));
    }
    for (int i = 0; i < n; i++)
        q[i] = q0[i] + (k && largest > 0 ? 0.05 * unit / largest * x[n + i] : 0);
    free(x);
    for (int i = 0; i < nc; i++) mu[i] = mu0[i] * (k ? f : 1);
}

int main(int argc, char **argv)
{
    int wanted[PERP_FC_METHOD_COUNT] = {0}, any = 0, repeat = 0, variants = 0, first = 1;
    double tol = 1e-8;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--method") == 0) {
            perp_fc_method m = perp_fc_method_find(argv[first + 1]);
            if (m == PERP_FC_METHOD_COUNT)
                return fprintf(stderr, "unknown method %s\n", argv[first + 1]), 2;
            wanted[m] = any = 1;
        } else if (strcmp(argv[first], "--tol") == 0)
            tol = atof(argv[first + 1]);
        else if (strcmp(argv[first], "--repeat") == 0)
            repeat = atoi(argv[first + 1]);
        else if (strcmp(argv[first], "--vary") == 0)
            variants = atoi(argv[first + 1]);
    }
    if (first == argc)
        return fprintf(stderr, "usage: bench_friction [--method NAME] [--tol TOL] [--repeat N] "
                               "[--vary N] FILE.json...\n"),
               1;
    int solved[PERP_FC_METHOD_COUNT] = {0}, files = 0;
    for (int a = first; a < argc; a++) {
        problem_fc problem;
        perp_diag diag = {0};
        if (problem_fc_load(argv[a], &problem, &diag) != PERP_OK) {
            fprintf(stderr, "%s", perp_diag_text(&diag));
            perp_diag_clear(&diag);
            continue;
        }
        size_t size = (size_t)(problem.view.nc * (problem.view.dimension + 1));
        double *saved = malloc((size + 1) * sizeof *saved);
        if (saved) memcpy(saved, problem.numbers, size * sizeof *saved);
        for (int k = 0; saved && k <= variants; k++) {
            vary(&problem, saved, saved + problem.view.nc * problem.view.dimension, k);
            files++;
            for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
                if (!any || wanted[m])
                    solved[m] += measure(&problem, (perp_fc_method)m, tol, repeat);
        }
        free(saved);
        problem_fc_clear(&problem);
    }
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        if (!any || wanted[m])
            printf("%-15s solved %d of %d\n", perp_fc_method_name((perp_fc_method)m), solved[m],
                   files);
    return 0;
}
