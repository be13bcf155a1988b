/* build/bench_scenes REPEAT MODEL...: CPU time of a step, the least of so many runs; by default of mechanisms and a plate (bench/scenes),
 * then of 10 to 300 cubes that slide side by side (tests/data/scenes/cubes.perp), a cube and step. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Microseconds of a step: the least of so many runs. */
static double least_step(const perp_model *model, int repeat, perp_simulation_summary *s,
                         perp_diag *diag)
{
    double least = INFINITY;
    for (int r = 0; r < repeat; r++) {
        perp_simulation *sim;
        if (perp_simulation_create(model, NULL, &sim, diag) != PERP_OK) refuse(diag);
        double start = now();
        if (perp_simulation_run(sim, NULL, NULL, diag) != PERP_OK) refuse(diag);
        *s = perp_simulation_get_summary(sim);
        least = fmin(least, (now() - start) / (double)s->steps);
        perp_simulation_destroy(sim);
    }
    return 1e6 * least;
}

static void bench(const char *path, int repeat)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation_summary s = {0};
    if (perp_model_load(path, &model, &diag) != PERP_OK) refuse(&diag);
    double least = least_step(model, repeat, &s, &diag);
    printf("%-42s %10.2f us a step, %.2f factorisations, worst error %.1e\n", path, least,
           (double)s.eliminations / (double)s.steps, s.worst_error);
    perp_model_destroy(model);
}

/* The text of the scene for n cubes with exact cones. */
static size_t write_cubes(char *to, size_t room, int n)
{
    FILE *file = fopen("tests/data/scenes/cubes.perp", "r");
    size_t used = 0;
    if (!file) exit(2);
    for (int c; (c = fgetc(file)) != EOF && used + 32 < room;) {
        char word[16] = "";
        if (c != '@')
            to[used++] = (char)c;
        else if (fscanf(file, "%15[a-z]", word) == 1 && strcmp(word, "n") == 0)
            used += (size_t)sprintf(to + used, "%d", n);
        else
            used += (size_t)sprintf(to + used, "exact");
    }
    fclose(file);
    return used;
}

static void bench_cubes(int n, int repeat, double *first)
{
    static char text[4096];
    perp_diag diag = {0};
    perp_model *model;
    perp_simulation_summary s = {0};
    size_t length = write_cubes(text, sizeof text, n);
    if (perp_model_parse(text, length, "cubes", &model, &diag) != PERP_OK) refuse(&diag);
    double each = least_step(model, repeat, &s, &diag) / n;
    if (*first == 0) *first = each;
    printf("%3d cubes side by side %31.2f us a cube, %.2f times that of 10, worst error %.1e\n", n,
           each, each / *first, s.worst_error);
    perp_model_destroy(model);
}

int main(int argc, char **argv)
{
    static const char *const scenes[] = {
        "bench/scenes/double_pendulum.perp", "bench/scenes/double_pendulum_pins.perp",
        "bench/scenes/fourbar.perp",         "bench/scenes/links20.perp",
        "bench/scenes/links20_pins.perp",    "bench/scenes/plate.perp"};
    static const int cubes[] = {10, 30, 100, 300};
    int repeat = argc > 1 ? atoi(argv[1]) : 10;
    double first = 0;
    for (int i = 2; i < argc; i++) bench(argv[i], repeat);
    for (size_t i = 0; argc <= 2 && i < sizeof scenes / sizeof *scenes; i++)
        bench(scenes[i], repeat);
    for (size_t i = 0; argc <= 2 && i < sizeof cubes / sizeof *cubes; i++)
        bench_cubes(cubes[i], repeat, &first);
    return 0;
}
