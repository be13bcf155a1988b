/* build/bench_scenes REPEAT MODEL...: CPU time of a step, the least of so many runs; by default of mechanisms and a plate (bench/scenes). */

#include "perp/perp.h"
#include "../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void refuse(perp_diag *diag)
{
    fprintf(stderr, "%s", perp_diag_text(diag));
    exit(2);
}

static void bench(const char *path, int repeat)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation_summary s = {.size = sizeof s};
    double least = INFINITY;
    if (perp_model_load(path, &model, &diag) != PERP_OK) refuse(&diag);
    for (int r = 0; r < repeat; r++) {
        perp_simulation *sim;
        if (perp_simulation_create(model, NULL, &sim, &diag) != PERP_OK) refuse(&diag);
        double start = now();
        if (simulation_run(sim, NULL, NULL, &diag) != PERP_OK) refuse(&diag);
        s = simulation_summary(sim);
        least = fmin(least, (now() - start) / (double)s.steps);
        perp_simulation_destroy(sim);
    }
    printf("%-42s %10.2f us a step, %.2f factorisations, worst error %.1e\n", path, 1e6 * least,
           (double)s.eliminations / (double)s.steps, s.worst_error);
    perp_model_destroy(model);
}

int main(int argc, char **argv)
{
    static const char *const scenes[] = {
        "bench/scenes/double_pendulum.perp", "bench/scenes/double_pendulum_pins.perp",
        "bench/scenes/fourbar.perp",         "bench/scenes/links20.perp",
        "bench/scenes/links20_pins.perp",    "bench/scenes/plate.perp"};
    int repeat = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 2; i < argc; i++) bench(argv[i], repeat);
    for (size_t i = 0; argc <= 2 && i < sizeof scenes / sizeof *scenes; i++)
        bench(scenes[i], repeat);
    return 0;
}
