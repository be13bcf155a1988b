/* Contact problems of structures by perp_fclib_solve: time, and the verdict.
 * bench_structures elastic [-n N] [--wide N] | wall [--length N] [--courses N] [--mu MU] [--push P] [--method M] [--tol T] [--threads N]
 * bench_structures .. --write FILE.h5: the problem as a file, and no solve */

#include "structures.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value_of(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

static int progress(void *context, int iterations, double error)
{
    double *last = context, now = wall_now();
    if (now - *last < 5) return 0;
    *last = now;
    fprintf(stderr, "  %d iterations, error %.2e\n", iterations, error);
    return 0;
}

static int write_file(const perp_fclib_problem *p, const char *path)
{
    perp_diag diag = {0};
    int ok = perp_fclib_write(path, p, NULL, &diag) == PERP_OK;
    if (!ok) fprintf(stderr, "%s", diag.text ? diag.text : "");
    perp_diag_clear(&diag);
    return !ok;
}

static int solve(const perp_fclib_problem *p, const char *method, double tol, int threads)
{
    perp_fclib_options o = perp_fclib_options_default();
    perp_fclib_info info = {.size = sizeof info, .method = ""};
    perp_diag diag = {0};
    double *r = calloc(3 * (size_t)p->nc + 1, sizeof *r), last = wall_now(), t = wall_now(),
           cpu = process_now();
    o.method = method, o.tol = tol, o.threads = threads, o.progress = progress, o.context = &last;
    perp_status status =
        r ? perp_fclib_solve(p, &o, r, NULL, NULL, NULL, &info, &diag) : PERP_ERR_MEMORY;
    printf("%d contacts, %d velocities, %s: %s%s, error %.2e (equations %.1e), %d iterations, %.1f "
           "s, %.1f s of CPU\n",
           p->nc, p->M.columns, info.method,
           status == PERP_OK ? perp_outcome_name(info.outcome)
           : diag.text       ? diag.text
                             : "?",
           "", info.error, info.equations, info.iterations, wall_now() - t, process_now() - cpu);
    perp_diag_clear(&diag);
    free(r);
    return status != PERP_OK || info.outcome != PERP_SOLVED;
}

int main(int argc, char **argv)
{
    structure s = {0};
    int is_wall = argc > 1 && strcmp(argv[1], "wall") == 0,
        n = atoi(value_of(argc, argv, "-n", "10")),
        length = atoi(value_of(argc, argv, "--length", "30")),
        wide = atoi(value_of(argc, argv, "--wide", "0"));
    double mu = atof(value_of(argc, argv, "--mu", is_wall ? "0.6" : "0.3")),
           push = atof(value_of(argc, argv, "--push", is_wall ? "0.1" : "0.3"));
    if (argc < 2 || (!is_wall && strcmp(argv[1], "elastic") != 0)) {
        fprintf(stderr, "bench_structures elastic|wall ..\n");
        return 1;
    }
    if (wide == 0) wide = n;
    if (is_wall
            ? !structure_wall(length, atoi(value_of(argc, argv, "--courses", "30")), push, mu, &s)
            : !structure_elastic(wide, wide, n, push, mu, &s))
        return 1;
    const char *file = value_of(argc, argv, "--write", NULL);
    int code = file ? write_file(&s.problem, file)
                    : solve(&s.problem, value_of(argc, argv, "--method", "auto"),
                            atof(value_of(argc, argv, "--tol", "0")),
                            atoi(value_of(argc, argv, "--threads", "1")));
    structure_free(&s);
    return code;
}
