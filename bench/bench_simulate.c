/* make bench: steps per second of the example models, measured inside the process, the whole
 * command for the 1200-step particle, and Lemke on random problems. Each figure is the best of
 * several runs: machines are shared. */

#include "perp/perp.h"

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

static double uniform(double lo, double hi)
{
    static unsigned long long seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

/* Steps per second of a model, best of `repeat` runs. */
static double steps_per_second(const char *path, int repeat, double *solves)
{
    perp_diag diag = {0};
    perp_model *model;
    double best = 0;
    if (perp_model_load(path, &model, &diag) != PERP_OK) {
        fprintf(stderr, "%s", perp_diag_text(&diag));
        exit(2);
    }
    for (int r = 0; r < repeat; r++) {
        perp_simulation *sim;
        if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) exit(2);
        double start = now();
        perp_simulation_run(sim, NULL, NULL, &diag);
        double rate = (double)perp_simulation_steps(sim) / (now() - start);
        *solves =
            (double)perp_simulation_get_summary(sim).solves / (double)perp_simulation_steps(sim);
        if (rate > best) best = rate;
        perp_simulation_destroy(sim);
    }
    perp_model_destroy(model);
    return best;
}

static void bench_models(void)
{
    static const struct {
        const char *path;
        double wanted;
    } models[] = {
        {"examples/notes/sliding_traditional.perp", 1e6}, {"examples/notes/particle.perp", 5e5},
        {"examples/notes/sliding_direct.perp", 0},        {"examples/notes/sliding_mixed.perp", 0},
        {"examples/notes/sliding_one_line.perp", 0},      {"examples/blog/particle.perp", 0}};
    printf("%-42s %14s %14s %16s\n", "model", "steps/s", "wanted", "problems/step");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double solves, rate = steps_per_second(models[i].path, 20, &solves);
        printf("%-42s %14.3g ", models[i].path, rate);
        if (models[i].wanted > 0)
            printf(">= %11.3g", models[i].wanted);
        else
            printf("%14s", "");
        printf(" %16.4f\n", solves);
    }
}

/* Cost of a step against the number of blocks: steps/s at 1000, and the exponent from 100 to 3000.
 */
static void bench_chain(void)
{
    static const int sizes[] = {100, 300, 1000, 3000};
    double cost[4];
    printf("\n%-42s %14s %14s\n", "chain of blocks (friction pairs)", "steps/s", "us/step");
    for (int k = 0; k < 4; k++) {
        char text[8192], size[64];
        FILE *file = fopen("examples/mechanics/chain.perp", "r");
        perp_diag diag = {0};
        perp_model *model;
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (!file) exit(2);
        fclose(file);
        text[n] = 0;
        char *at = strstr(text, "param n = 100");
        if (!at) exit(2);
        snprintf(size, sizeof size, "param n = %d\n", sizes[k]);
        memmove(at + strlen(size), at + strlen("param n = 100\n"),
                strlen(at + strlen("param n = 100\n")) + 1);
        memcpy(at, size, strlen(size));
        if (perp_model_parse(text, strlen(text), "chain.perp", &model, &diag) != PERP_OK) {
            fprintf(stderr, "%s", perp_diag_text(&diag));
            exit(2);
        }
        cost[k] = 1e9;
        for (int r = 0; r < 3; r++) {
            perp_simulation *sim;
            if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) exit(2);
            double start = now();
            if (perp_simulation_run(sim, NULL, NULL, &diag) != PERP_OK) exit(2);
            cost[k] = fmin(cost[k], (now() - start) / (double)perp_simulation_steps(sim));
            perp_simulation_destroy(sim);
        }
        printf("%-42d %14.3g %14.3g%s\n", sizes[k], 1 / cost[k], 1e6 * cost[k],
               sizes[k] == 1000 ? "   (wanted >= 200 steps/s)" : "");
        perp_model_destroy(model);
    }
    printf("growth from 100 to 3000 blocks: n^%.2f (wanted at most n^1.3)\n",
           log(cost[3] / cost[0]) / log(30));
}

static void bench_command(void)
{
    double best = 1e9;
    for (int r = 0; r < 20; r++) {
        double start = now();
        if (system(
                "build/perp simulate examples/notes/particle.perp -o build/bench.csv >/dev/null") !=
            0)
            exit(2);
        best = fmin(best, now() - start);
    }
    printf("\nperp simulate particle.perp -o particle.csv, 1200 steps, whole command: %.1f ms "
           "(wanted < 20 ms)\n",
           1e3 * best);
}

/* M = A A' + I/10, q of both signs. */
static void random_problem(int n, double *M, double *q)
{
    double *A = malloc((size_t)(n * n) * sizeof *A);
    for (int i = 0; i < n * n; i++) A[i] = uniform(-1, 1);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = i == j ? 0.1 : 0;
            for (int k = 0; k < n; k++) sum += A[i + k * n] * A[j + k * n];
            M[i + j * n] = sum;
        }
        q[i] = uniform(-1, 1);
    }
    free(A);
}

static void bench_lemke(void)
{
    enum { NPROBLEM = 64 };
    printf("\n%-42s %14s %14s\n", "lemke, random positive definite", "us/solve", "solved");
    for (int n = 3; n <= 128; n = n == 3 ? 4 : 2 * n) {
        double *M = malloc((size_t)(NPROBLEM * n * n) * sizeof *M),
               *q = malloc((size_t)(NPROBLEM * n) * sizeof *q);
        double *z = malloc((size_t)n * sizeof *z), best = 1e9;
        int solved = 0;
        perp_lcp_solver *solver;
        for (int p = 0; p < NPROBLEM; p++) random_problem(n, M + p * n * n, q + p * n);
        perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &solver);
        for (int r = 0; r < (n < 32 ? 50 : 5); r++) {
            double start = now();
            solved = 0;
            for (int p = 0; p < NPROBLEM; p++) {
                perp_lcp lcp = {n, M + p * n * n, n, q + p * n, NULL, NULL};
                perp_lcp_info info;
                perp_lcp_solve(solver, &lcp, z, NULL, &info);
                solved += info.outcome == PERP_SOLVED;
            }
            best = fmin(best, (now() - start) / NPROBLEM);
        }
        printf("n = %-38d %14.3g %11d/%d\n", n, 1e6 * best, solved, NPROBLEM);
        perp_lcp_solver_destroy(solver);
        free(M);
        free(q);
        free(z);
    }
}

int main(void)
{
    bench_models();
    bench_chain();
    bench_command();
    bench_lemke();
    return 0;
}
