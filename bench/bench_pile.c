/* Piles of spheres by perp_pile_solve: time and memory a contact and sweep, to 1e-6 or where the time is over.
 * bench_pile [-n SPHERES] [--side S] [--settle STEPS] [--repeat NXxNY] [--tol T] [--threads N] [--seconds S] [--warm]
 * bench_pile .. --write FILE.h5: the problem as a file, and no solve */

#include "perp/fclib.h"
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

/* M, f, H, w of spheres, whose inverse masses are diagonal. 0: it could not be written. */
static int write_file(const perp_pile *p, const char *path)
{
    enum { D = 3, K = 6 };
    int nv = K * p->nbody, n = D * p->nc, at = 0, ok;
    int *place = malloc(((size_t)nv + 1) * sizeof *place),
        *row = malloc((size_t)n * 2 * K * sizeof *row),
        *diagonal = malloc(((size_t)nv + 1) * sizeof *diagonal),
        *start = malloc(((size_t)n + 1) * sizeof *start);
    double *mass = malloc((size_t)nv * sizeof *mass), *f = malloc((size_t)nv * sizeof *f),
           *value = malloc((size_t)n * 2 * K * sizeof *value);
    if (!place || !row || !diagonal || !start || !mass || !f || !value) return 0;
    for (int i = 0; i <= nv; i++) place[i] = diagonal[i] = i;
    for (int i = 0; i < nv; i++) {
        mass[i] = 1 / p->inverse_mass[(size_t)(i / K) * K * K + (size_t)(i % K) * (K + 1)];
        f[i] = mass[i] * p->velocity[i];
    }
    for (int j = 0; j < n; j++) {
        start[j] = at;
        for (int side = 0; side < 2; side++) {
            int b = p->body[2 * (j / D) + side];
            const double *J =
                p->jacobian + ((size_t)(2 * (j / D) + side) * D + (size_t)(j % D)) * K;
            for (int k = 0; b >= 0 && k < K; k++)
                if (J[k] != 0) row[at] = K * b + k, value[at++] = J[k];
        }
    }
    start[n] = at;
    const perp_fclib_problem problem = {.dimension = D,
                                        .nc = p->nc,
                                        .mu = p->mu,
                                        .M = {nv, nv, place, diagonal, mass},
                                        .H = {nv, n, start, row, value},
                                        .f = f,
                                        .w = p->bias,
                                        .title = "spheres, settled"};
    perp_diag diag = {0};
    ok = perp_fclib_write(path, &problem, NULL, &diag) == PERP_OK;
    if (!ok) fprintf(stderr, "%s", diag.text ? diag.text : "");
    perp_diag_clear(&diag);
    free(place), free(row), free(diagonal), free(start), free(mass), free(f), free(value);
    return ok;
}

/* What one thread reads and writes from memory in a second, as x = y + 2 z over 3 x 128 MB does: the best of five. */
static double bandwidth(void)
{
    enum { N = 1 << 24 };
    double *x = calloc(3 * (size_t)N, sizeof *x), *y = x + N, *z = y + N, least = 1e9;
    if (!x) return 0;
    for (int k = 0; k < 6; k++) {
        double t = process_now();
        for (int i = 0; i < N; i++) x[i] = y[i] + 2 * z[i];
        t = process_now() - t;
        if (k > 0 && t < least) least = t; /* the first touches the pages */
        y[k] = x[N - 1 - k] + k;
    }
    free(x);
    return 3.0 * N * sizeof *x / least;
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
    printf(
        "settled: %d spheres, %d steps of %g s (%d not solved to 1e-2), %d contacts, penetration "
        "%.2g m, %.1f s\n",
        n, steps, one.step, one.unsolved, one.pile.nc, one.penetration, wall_now() - t);
    if (!spheres_repeat(&one, nx, ny, 2, &all)) return 1;
    const char *file = value_of(argc, argv, "--write", NULL);
    if (file) {
        int ok = write_file(&all.pile, file);
        spheres_free(&one);
        spheres_free(&all);
        return !ok;
    }
    perp_pile_options o = perp_pile_options_default();
    perp_pile_info info = {.size = sizeof info};
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
    /* Jacobians, bias, friction, blocks, impulses, velocities of two bodies read and written: */
    double bytes = (36 + 3 + 1 + 10 + 2 * 3 + 2 * 2 * 6) * 8 + 8;
    printf(
        "%.0f bytes a contact and sweep, so %.1f GB/s of CPU time beside %.1f GB/s of one thread's "
        "memory here\n",
        bytes, bytes / each / 1e9, bandwidth() / 1e9);
    spheres_free(&one);
    spheres_free(&all);
    return info.outcome != PERP_SOLVED;
}
