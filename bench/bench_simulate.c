/* make bench: steps per second of the example models, measured inside the process, the whole
 * command for the 1200-step particle, and Lemke on random problems. CPU time, the least of several runs and their
 * median; those of a table take turns. */

#include "perp/perp.h"
#include "timing.h"
#include "../tests/support/outcomes.h"

#include <math.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double uniform(double lo, double hi)
{
    static unsigned long long seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

/* What malloc has handed out; 0 where the C library does not tell. */
static size_t bytes_held(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* Seconds a step of a run of the model; *solves is how many problems a step had. */
static double seconds_per_step(const perp_model *model, double *solves)
{
    perp_simulation *sim;
    perp_diag diag = {0};
    if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) exit(2);
    double start = cpu_now();
    if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) exit(2);
    double steps = (double)perp_simulation_steps(sim), seconds = (cpu_now() - start) / steps;
    *solves = (double)simulation_summary(sim).solves / steps;
    perp_simulation_destroy(sim);
    return seconds;
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
    enum { N = sizeof models / sizeof *models };
    perp_model *model[N];
    double solves[N];
    static times time[N];
    for (int i = 0; i < N; i++) {
        perp_diag diag = {0};
        if (perp_model_load(models[i].path, &model[i], &diag) == PERP_OK) continue;
        fprintf(stderr, "%s", perp_diag_text(&diag));
        exit(2);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) times_add(&time[i], seconds_per_step(model[i], &solves[i]));
    }
    printf("%-42s %14s %14s %14s %16s\n", "model", "steps/s", "median", "wanted", "problems/step");
    for (int i = 0; i < N; i++) {
        printf("%-42s %14.3g %14.3g ", models[i].path, 1 / times_least(&time[i]),
               1 / times_median(&time[i]));
        if (models[i].wanted > 0)
            printf(">= %11.3g", models[i].wanted);
        else
            printf("%14s", "");
        printf(" %16.4f\n", solves[i]);
        perp_model_destroy(model[i]);
    }
}

/* Cost of a step against the number of blocks: steps/s at 1000, and the exponent from 100 to 3000.
 */
static perp_model *chain_of(int blocks)
{
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
    snprintf(size, sizeof size, "param n = %d\n", blocks);
    memmove(at + strlen(size), at + strlen("param n = 100\n"),
            strlen(at + strlen("param n = 100\n")) + 1);
    memcpy(at, size, strlen(size));
    if (perp_model_parse(text, strlen(text), "chain.perp", &model, &diag) == PERP_OK) return model;
    fprintf(stderr, "%s", perp_diag_text(&diag));
    exit(2);
}

static void bench_chain(void)
{
    enum { N = 4, ROUNDS = 3 };
    static const int sizes[N] = {100, 300, 1000, 3000};
    static times time[N];
    perp_model *model[N];
    double solves;
    for (int k = 0; k < N; k++) model[k] = chain_of(sizes[k]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < N; k++) times_add(&time[k], seconds_per_step(model[k], &solves));
    }
    printf("\n%-42s %14s %14s %14s\n", "chain of blocks (friction pairs)", "steps/s", "us/step",
           "median us");
    for (int k = 0; k < N; k++) {
        printf("%-42d %14.3g %14.3g %14.3g%s\n", sizes[k], 1 / times_least(&time[k]),
               1e6 * times_least(&time[k]), 1e6 * times_median(&time[k]),
               sizes[k] == 1000 ? "   (wanted >= 200 steps/s)" : "");
        perp_model_destroy(model[k]);
    }
    printf("growth from 100 to 3000 blocks: n^%.2f (wanted at most n^1.3)\n",
           log(times_least(&time[N - 1]) / times_least(&time[0])) / log(30));
}

/* Seconds that ended children have computed, in the system too. */
static double children_now(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* A simulation of a model after the first: what it takes and holds. */
static void bench_creation(void)
{
    static const char *const path[] = {"examples/notes/particle.perp",
                                       "examples/identify/block.perp",
                                       "examples/mechanics/cube.perp"};
    printf("\n%-42s %14s %14s %14s\n", "creation after the first", "us", "median", "kB");
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        perp_diag diag = {0};
        perp_model *model;
        perp_simulation *first, *sim;
        times time = {0};
        size_t bytes = 0;
        if (perp_model_load(path[i], &model, &diag) != PERP_OK ||
            perp_simulation_create(model, NULL, &first, &diag) != PERP_OK)
            exit(2);
        for (int round = 0; round < 50; round++) {
            size_t before = bytes_held();
            double start = cpu_now();
            if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) exit(2);
            times_add(&time, cpu_now() - start);
            bytes = bytes_held() - before;
            perp_simulation_destroy(sim);
        }
        printf("%-42s %14.3g %14.3g %14.3g%s\n", path[i], 1e6 * times_least(&time),
               1e6 * times_median(&time), 1e-3 * (double)bytes,
               i == 0 ? "   (wanted < 20 us, < 20 kB)" : "");
        perp_simulation_destroy(first);
        perp_model_destroy(model);
    }
}

/* What a controller in the loop costs beside the steps: two states and a force read, an input set; and what else is done with a run in
 * the hand. Microseconds. */
static void bench_hand(void)
{
    enum { STEPS = 20000, ROUNDS = 20 };
    static const char cart[] = "param m = 2, mu = 0.1\ninput F\nstate x = 0, v = 1\nvar f\n"
                               "der(x) = v\nm*der(v) = F + f\n-mu*m*9.81 <= f <= mu*m*9.81 perp v\n"
                               "simulate to 1e6 step 1e-3\n";
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation *sim[2], *clone;
    times time[2] = {{0}}, other[4] = {{0}};
    if (perp_model_parse(cart, strlen(cart), "cart.perp", &model, &diag) != PERP_OK) exit(2);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.ninput = o.nparameter = PERP_ALL;
    for (int i = 0; i < 2; i++)
        if (perp_simulation_create(model, &o, &sim[i], &diag) != PERP_OK ||
            perp_simulation_set_input(sim[i], 0, 0.25) != PERP_OK)
            exit(2);
    size_t size = perp_simulation_snapshot_size(sim[0]);
    unsigned char *bytes = malloc(size);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2;
             i++) { /* 0: steps alone; 1: with the controller, which commands the same */
            double start = cpu_now(), sum = 0;
            for (int k = 0; k < STEPS; k++) {
                if (i) {
                    sum += perp_simulation_state(sim[1], 0) + perp_simulation_state(sim[1], 1) +
                           perp_simulation_value(sim[1], 3);
                    perp_simulation_set_input(sim[1], 0, 0.25 + 0 * (sum > 1e300));
                }
                simulation_step(sim[i], NULL, NULL);
            }
            times_add(&time[i], (cpu_now() - start) / STEPS);
        }
        double start = cpu_now();
        for (int k = 0; k < 1000; k++) perp_simulation_snapshot(sim[0], bytes, size);
        times_add(&other[0], (cpu_now() - start) / 1000);
        start = cpu_now();
        for (int k = 0; k < 1000; k++) perp_simulation_restore(sim[0], bytes, size, NULL);
        times_add(&other[1], (cpu_now() - start) / 1000);
        start = cpu_now();
        for (int k = 0; k < 1000; k++) {
            perp_simulation_clone(sim[0], &clone, NULL);
            perp_simulation_destroy(clone);
        }
        times_add(&other[2], (cpu_now() - start) / 1000);
        start = cpu_now();
        for (int k = 0; k < 1000; k++) perp_simulation_set_parameter(sim[1], 1, 0.1 + 1e-9 * k);
        times_add(&other[3], (cpu_now() - start) / 1000);
    }
    printf("\n%-42s %14s\n", "a run in the hand (cart with friction)", "us");
    printf("%-42s %14.3g\n", "step", 1e6 * times_least(&time[0]));
    printf("%-42s %14.3g   (wanted < 0.1)\n", "loop of a controller beside the step",
           1e6 * (times_least(&time[1]) - times_least(&time[0])));
    static const char *const what[] = {"snapshot", "restore", "clone and destroy",
                                       "set a parameter"};
    for (int i = 0; i < 4; i++) printf("%-42s %14.3g\n", what[i], 1e6 * times_least(&other[i]));
    printf("%-42s %14zu\n", "bytes of a snapshot", size);
    for (int i = 0; i < 2; i++) perp_simulation_destroy(sim[i]);
    perp_model_destroy(model);
    free(bytes);
}

/* 4096 copies of the block, each pushed and rubbed in its own way, beside as many runs alone; in lanes, and on two threads. */
static void bench_batch(void)
{
    enum { COUNT = 4096, STEPS = 500, ROUNDS = 4 };
    static const char *const model_path = "examples/notes/sliding_traditional.perp";
    static double mu[COUNT], v[COUNT], u[COUNT];
    perp_diag diag = {0};
    perp_model *model;
    perp_batch *batch;
    perp_symbol_kind kind;
    int parameter;
    times alone = {0}, lanes = {0}, one_at_a_time = {0}, wall[2] = {{0}}, all[2] = {{0}};
    if (perp_model_load(model_path, &model, &diag) != PERP_OK) exit(2);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.nparameter = o.ninput = PERP_ALL;
    perp_model_find(model, "mu", &kind, &parameter);
    for (int i = 0; i < COUNT; i++)
        mu[i] = uniform(0.2, 0.6), v[i] = uniform(-2, 2), u[i] = uniform(-9, 9);
    for (int threads = 2; threads >= 1; threads--) {
        if (perp_batch_create(model, &o, COUNT, threads, &batch, &diag) != PERP_OK) exit(2);
        for (int round = 0; round < ROUNDS; round++) {
            perp_batch_reset(batch, NULL);
            perp_batch_set_parameter(batch, parameter, mu);
            perp_batch_set_state(batch, 1, v);
            perp_batch_set_input(batch, 0, u);
            double start = cpu_now(), began = wall_now(), before = process_now();
            if (batch_step(batch, STEPS, &diag) != PERP_OK) exit(2);
            times_add(&wall[threads - 1], (wall_now() - began) / STEPS / COUNT);
            times_add(&all[threads - 1], (process_now() - before) / STEPS / COUNT);
            if (threads == 2) continue;
            times_add(&lanes, (cpu_now() - start) / STEPS / COUNT);
            start = cpu_now();
            for (int k = 0; k < STEPS; k++) batch_step(batch, 1, NULL);
            times_add(&one_at_a_time, (cpu_now() - start) / STEPS / COUNT);
            perp_batch_reset(batch, NULL);
            perp_batch_set_parameter(batch, parameter, mu);
            perp_batch_set_state(batch, 1, v);
            perp_batch_set_input(batch, 0, u);
            start = cpu_now();
            for (int i = 0; i < COUNT; i++)
                for (int k = 0; k < STEPS; k++)
                    simulation_step(perp_batch_simulation(batch, i), NULL, NULL);
            times_add(&alone, (cpu_now() - start) / STEPS / COUNT);
        }
        perp_batch_destroy(batch);
    }
    printf("\n%-42s %14s\n", "4096 copies of the block", "ns/step");
    printf("%-42s %14.3g\n", "alone, one run after the other", 1e9 * times_least(&alone));
    printf("%-42s %14.3g   %.2f times as fast (wanted >= 3)\n", "in lanes, 500 steps a call",
           1e9 * times_least(&lanes), times_least(&alone) / times_least(&lanes));
    printf("%-42s %14.3g   %.2f times\n", "in lanes, one step a call",
           1e9 * times_least(&one_at_a_time), times_least(&alone) / times_least(&one_at_a_time));
    printf("%-42s %14.3g   %.2f times 1 thread (wanted >= 1.8); %.2f by what both computed\n",
           "2 threads, wall clock", 1e9 * times_least(&wall[1]),
           times_least(&wall[0]) / times_least(&wall[1]),
           2 * times_least(&all[0]) / times_least(&all[1]));
    perp_model_destroy(model);
}

static void bench_command(void)
{
    times time = {0};
    for (int r = 0; r < 20; r++) {
        double start = children_now();
        if (system(
                "build/perp simulate examples/notes/particle.perp -o build/bench.csv >/dev/null") !=
            0)
            exit(2);
        times_add(&time, children_now() - start);
    }
    printf("\nperp simulate particle.perp -o particle.csv, 1200 steps, whole command: %.1f ms, "
           "median %.1f (wanted < 20 ms)\n",
           1e3 * times_least(&time), 1e3 * times_median(&time));
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
    printf("\n%-42s %14s %14s %14s\n", "lemke, random positive definite", "us/solve", "median",
           "solved");
    for (int n = 3; n <= 128; n = n == 3 ? 4 : 2 * n) {
        double *M = malloc((size_t)(NPROBLEM * n * n) * sizeof *M),
               *q = malloc((size_t)(NPROBLEM * n) * sizeof *q);
        double *z = malloc((size_t)n * sizeof *z);
        times time = {0};
        int solved = 0;
        perp_lcp_solver *solver;
        for (int p = 0; p < NPROBLEM; p++) random_problem(n, M + p * n * n, q + p * n);
        perp_lcp_solver_create(PERP_LCP_LEMKE, n, NULL, &solver);
        for (int r = 0; r < (n < 32 ? 50 : 5); r++) {
            double start = cpu_now();
            solved = 0;
            for (int p = 0; p < NPROBLEM; p++) {
                perp_lcp lcp = {n, M + p * n * n, n, q + p * n, NULL, NULL};
                perp_lcp_info info = {.size = sizeof info};
                perp_lcp_solve(solver, &lcp, z, NULL, &info);
                solved += info.outcome == PERP_SOLVED;
            }
            times_add(&time, (cpu_now() - start) / NPROBLEM);
        }
        printf("n = %-38d %14.3g %14.3g %11d/%d\n", n, 1e6 * times_least(&time),
               1e6 * times_median(&time), solved, NPROBLEM);
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
    bench_creation();
    bench_hand();
    bench_batch();
    bench_command();
    bench_lemke();
    return 0;
}
