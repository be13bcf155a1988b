/* Friction problems from files x methods: residual, time, success.
 *
 *     bench_friction [--method NAME]... [--tol T] [--repeat N] [--vary K] FILE.json...
 *
 * --vary K adds K variants of every file: mu times 0.5 to 1.5 q + 0.05 |q| W x/|W x| with random x
 * (a change in the range of W: any other may leave no solution), seeded, so that a method is not
 * judged by the files alone. Times are the least of N solves (default: as many as fit in 0.2 s) and their median,
 * without creating the solver: CPU time of this thread, the methods in turn. `x best` is the least time over that of the
 * quickest method that solves the problem. */

#include "../cli/problem_fc.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct contestant {
    perp_fc_solver *solver; /* NULL: not asked for, or it cannot be */
    perp_fc_info info;
    double spent;
    times time;
} contestant;

/* Every method wanted, in turn; prints a line each and counts those that solve. */
static void measure(const problem_fc *problem, const int *wanted, double tol, int repeat,
                    int *solved)
{
    static contestant all[PERP_FC_METHOD_COUNT];
    perp_fc_options options = perp_fc_options_default();
    options.tol = tol;
    size_t n = (size_t)(problem->view.dimension * problem->view.nc);
    double *r = calloc(n + 1, sizeof *r), best = INFINITY;
    memset(all, 0, sizeof all);
    for (int m = 0; m < PERP_FC_METHOD_COUNT && r; m++) {
        if (wanted[m])
            perp_fc_solver_create((perp_fc_method)m, &problem->view, &options, &all[m].solver);
    }
    for (int k = 0; k < (repeat ? repeat : TIMES_MOST); k++) {
        for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
            contestant *c = &all[m];
            if (!c->solver || (!repeat && k && c->spent > 0.2)) continue;
            double start = cpu_now();
            c->info.size = sizeof c->info;
            perp_fc_solve(c->solver, &problem->view, r, NULL, &c->info);
            double seconds = cpu_now() - start;
            times_add(&c->time, seconds);
            c->spent += seconds;
        }
    }
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        if (all[m].solver && all[m].info.outcome == PERP_SOLVED)
            best = fmin(best, times_least(&all[m].time));
    }
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) {
        contestant *c = &all[m];
        if (!c->solver) continue;
        double least = times_least(&c->time);
        printf("%-34s %5d %-15s %-9s %9.2e %11.6f ms  median %11.6f ms  x best %8.2f %6d it %4d "
               "lu  %s\n",
               problem->name, problem->view.nc, perp_fc_method_name((perp_fc_method)m),
               perp_outcome_name(c->info.outcome), c->info.error, 1e3 * least,
               1e3 * times_median(&c->time), least / best, c->info.iterations,
               c->info.factorizations, perp_fc_method_name(c->info.method));
        solved[m] += c->info.outcome == PERP_SOLVED;
        perp_fc_solver_destroy(c->solver);
    }
    free(r);
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
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++) wanted[m] |= !any;
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
            measure(&problem, wanted, tol, repeat, solved);
        }
        free(saved);
        problem_fc_clear(&problem);
    }
    for (int m = 0; m < PERP_FC_METHOD_COUNT; m++)
        if (wanted[m])
            printf("%-15s solved %d of %d\n", perp_fc_method_name((perp_fc_method)m), solved[m],
                   files);
    return 0;
}
