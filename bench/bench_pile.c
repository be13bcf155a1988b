/* Piles of spheres by perp_pile_solve: time and memory a contact and sweep, to 1e-6 or where the time is over.
 * bench_pile [-n SPHERES] [--side S] [--settle STEPS] [--repeat NXxNY] [--tol T] [--threads N] [--seconds S] [--warm] */

#include "spheres.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct limits {
    double until, started;
} limits;

static int progress(void *context, int iterations, double error)
{
    const limits *l = context;
    double t = wall_now();
    fprintf(stderr, "\r  %d sweeps, error %.2e, %.0f s ", iterations, error, t - l->started);
    return t > l->until;
}

static const char *value_of(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    int n = atoi(value_of(argc, argv, "-n", "4000")), nx = 1, ny = 1, warm = 0,
        side = atoi(value_of(argc, argv, "--side", "20")),
        steps = atoi(value_of(argc, argv, "--settle", "400")),
        threads = atoi(value_of(argc, argv, "--threads", "2"));
    double tol = atof(value_of(argc, argv, "--tol", "1e-6")),
           seconds = atof(value_of(argc, argv, "--seconds", "600"));
    for (int i = 1; i < argc; i++) warm |= strcmp(argv[i], "--warm") == 0;
    if (sscanf(value_of(argc, argv, "--repeat", "1x1"), "%dx%d", &nx, &ny) != 2) return 1;
    spheres one, all;
    double t = wall_now();
    if (!spheres_settle(n, side, steps, threads, 1, &one)) return 1;
    printf("settled: %d spheres, %d steps of %g s (%d not solved to 1e-2), %d contacts, overlap "
           "%.2g m, %.1f s\n",
           n, steps, one.step, one.unsolved, one.pile.nc, one.overlap, wall_now() - t);
    if (!spheres_repeat(&one, nx, ny, 2, &all)) return 1;
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info;
    t = wall_now();
    limits l = {t + seconds, t};
    o.tol = tol, o.threads = threads, o.warm_start = warm, o.progress = progress, o.context = &l,
    o.max_iter = 10000000;
    double cpu = process_now();
    perp_pile_solve(&all.pile, &o, all.r, NULL, &info);
    cpu = process_now() - cpu;
    t = wall_now() - t;
    fprintf(stderr, "\r%60s\r", "");
    double each = cpu / info.iterations / all.pile.nc;
    printf("%d contacts, %d bodies, %d threads: %s, error %.2e, %d sweeps of %d colours, %.1f s, "
           "%.0f ns of CPU a contact and sweep, %.0f MB "
           "beside %.0f MB of the problem\n",
           all.pile.nc, all.pile.nbody, threads, perp_outcome_name(info.outcome), info.error,
           info.iterations, info.colours, t, each * 1e9, (double)info.bytes / 1e6,
           ((double)all.pile.nc * (36 + 3 + 1 + 3) * 8 + (double)all.pile.nc * 8 +
            (double)all.pile.nbody * 42 * 8) /
               1e6);
    spheres_free(&one);
    spheres_free(&all);
    return info.outcome != PERP_SOLVED;
}
