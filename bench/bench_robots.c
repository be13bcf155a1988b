/* build/bench_robots [--steps N] [FILE...]: robots of examples/robots at their first key, by perp/bodies.h: mean CPU time of a step, the largest
 * speed at the end, steps that are refused. bench/peer_mujoco.py has the same of MuJoCo. */

#include "perp/perp.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>

static perp_bodies *make(const perp_robot *robot, perp_diag *diag)
{
    perp_bodies *b = NULL;
    if (perp_robot_create_bodies(robot, NULL, &b, diag) == PERP_OK && perp_robot_keys(robot))
        perp_robot_set_key(robot, 0, b);
    return b;
}

static double largest_speed(const perp_bodies *b)
{
    double most = 0;
    for (int k = 0; k < perp_bodies_nv(b); k++) most = fmax(most, fabs(perp_bodies_v(b)[k]));
    return most;
}

/* A line: file, microseconds of a step, contacts and iterations in the mean, the largest speed at the end. */
static int bench(const char *file, long steps)
{
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    perp_bodies_info info;
    double touches = 0, iterations = 0, seconds = 0;
    if (perp_robot_read(file, &robot, &diag) == PERP_OK) b = make(robot, &diag);
    perp_status status = b ? PERP_OK : PERP_ERR_MODEL;
    double start = cpu_now();
    for (long i = 0; i < steps && status == PERP_OK; i++) {
        status = perp_bodies_step(b, &info, &diag);
        touches += info.touches, iterations += info.iterations;
    }
    seconds = cpu_now() - start;
    if (status == PERP_OK)
        printf("%s %.2f us a step, %.1f contacts, %.1f iterations, %.1e at the end\n", file,
               1e6 * seconds / (double)steps, touches / (double)steps, iterations / (double)steps,
               largest_speed(b));
    else
        fprintf(stderr, "%s: %s", file, perp_diag_text(&diag));
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    perp_diag_clear(&diag);
    return status == PERP_OK;
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"examples/robots/arm.xml", "examples/robots/hand.xml",
                                        "examples/robots/quadruped.xml"};
    long steps = 2000;
    int first = 1, ok = 1;
    if (argc > 2 && strcmp(argv[1], "--steps") == 0) steps = atol(argv[2]), first = 3;
    if (steps < 1) return fprintf(stderr, "at least one step is expected\n"), 2;
    for (int i = first; i < argc; i++) ok &= bench(argv[i], steps);
    for (size_t i = 0; first >= argc && i < sizeof files / sizeof *files; i++)
        ok &= bench(files[i], steps);
    return !ok;
}
