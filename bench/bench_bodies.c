/* build/bench_bodies [--steps N] [--seed S] [--tilt DEGREES] [HEIGHT...]: stacks of boxes with exact cones at 1e-8: CPU time of a step, its
 * work and the friction solver's iterations, in the mean, the median, at p99.9 and the worst step; steps that are refused; how deep the stack has sunk. */

#include "perp/perp.h"
#include "tails.h"
#include "timing.h"
#include "../tests/support/outcomes.h"

#include <string.h>

enum { HEIGHT_MOST = 200 };
static const double HALF = 0.1;

typedef struct figures {
    tails tails;
    long refused;
} figures;

static perp_bodies *make_stack(int n, perp_diag *diag)
{
    static perp_body body[HEIGHT_MOST];
    static perp_shape shape[HEIGHT_MOST + 1];
    perp_bodies *b = NULL;
    shape[0] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = 0.5};
    for (int i = 0; i < n; i++) {
        double I = 2 * HALF * HALF / 3;
        body[i] = (perp_body){.joint = PERP_JOINT_FREE,
                              .mass = 1,
                              .inertia = {I, I, I},
                              .position = {0, 0, HALF * (2 * i + 1)}};
        shape[i + 1] = (perp_shape){
            .body = i + 1, .kind = PERP_SHAPE_BOX, .size = {HALF, HALF, HALF}, .mu = 0.5};
    }
    perp_bodies_create(body, n, shape, n + 1, NULL, &b, diag);
    return b;
}

/* A stack's steps. */
static perp_bodies *run(int n, long steps, double degrees, unsigned long long seed, figures *f,
                        perp_diag *diag)
{
    perp_bodies *b = make_stack(n, diag);
    for (long i = 0; i < steps && b; i++) {
        perp_bodies_info info = {.size = sizeof info};
        if (degrees > 0 && i % TILT_EVERY == 0) {
            double gravity[3];
            tilt(degrees, &seed, gravity);
            perp_bodies_set_gravity(b, gravity);
        }
        double start = cpu_now();
        perp_status status = bodies_step(b, &info, diag);
        note_step(&f->tails, cpu_now() - start, &info);
        if (status == PERP_OK) continue;
        if (!f->refused++) printf("  %s", perp_diag_text(diag));
        perp_diag_clear(diag);
    }
    return b;
}

static int bench(int n, long steps, double degrees, unsigned long long seed)
{
    perp_diag diag = {0};
    figures f = {.tails = make_tails(steps)};
    perp_bodies *b = run(n, steps, degrees, seed, &f, &diag);
    if (b) {
        double sunk = 0;
        for (int i = 0; i < n; i++)
            sunk = fmax(sunk, HALF * (2 * i + 1) - perp_bodies_q(b)[7 * i + 2]);
        printf("%d boxes, %ld steps, gravity turned by up to %g degrees (seed %llu): %ld refused, "
               "sunk %.1e m\n",
               n, steps, degrees, seed, f.refused, sunk);
        print_tails(&f.tails, degrees > 0);
    } else
        fprintf(stderr, "%s", perp_diag_text(&diag));
    perp_bodies_destroy(b);
    perp_diag_clear(&diag);
    free_tails(&f.tails);
    return b != NULL;
}

int main(int argc, char **argv)
{
    static const int heights[] = {5, 10, 20};
    long steps = 1000;
    double degrees = 0;
    unsigned long long seed = 1;
    int first = 1, ok = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--steps") == 0) steps = atol(argv[first + 1]);
        if (strcmp(argv[first], "--seed") == 0) seed = strtoull(argv[first + 1], NULL, 10);
        if (strcmp(argv[first], "--tilt") == 0) degrees = atof(argv[first + 1]);
    }
    for (int i = first; i < argc; i++) {
        int n = atoi(argv[i]);
        if (n < 1 || n > HEIGHT_MOST || steps < 1)
            return fprintf(stderr, "heights are 1 .. %d, steps at least 1\n", HEIGHT_MOST), 2;
        ok &= bench(n, steps, degrees, seed);
    }
    for (size_t i = 0; first == argc && i < sizeof heights / sizeof *heights; i++)
        ok &= bench(heights[i], steps, degrees, seed);
    return !ok;
}
