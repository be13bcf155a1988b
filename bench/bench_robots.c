/* build/bench_robots [--steps N] [--tilt DEGREES] [--noise SIZE] [--seed S] [FILE...]: robots of
 * examples/robots, or others, at their first key, with noise of that size on each control in
 * each step (uniform, in the control's unit), by perp/bodies.h: mean CPU time of a step, by the
 * clock at both ends of the run, as a peer's is (to read it takes a tenth of a step); then, step
 * by step, the largest speed at the end, steps that are refused; the tails of time, of work
 * (docs/scenes.md says what is counted) and of the friction solver's iterations, and the step
 * with the most work; penetration at any step; in the last quarter the creep of contacts that
 * are 1 % inside their cone, and by how much a contact's force changes from step to step; what
 * the forces on the second bodies add up to at the end. bench/peer_mujoco.py has the times of
 * MuJoCo. */

#include "perp/perp.h"
#include "slip.h"
#include "tails.h"
#include "timing.h"
#include "../tests/support/outcomes.h"

#include <string.h>

typedef struct figures {
    double mean; /* time of a step */
    tails tails;
    double contacts, penetration, creep, jump, force;
    double sum[3]; /* of the last step's contact forces, each on its second body */
    long refused;
    perp_contact *before; /* contacts of the step before */
    int nbefore;
} figures;

static perp_bodies *make(const perp_robot *robot, perp_diag *diag)
{
    perp_bodies *b = NULL;
    if (perp_robot_create_bodies(robot, NULL, &b, diag) == PERP_OK && perp_robot_keys(robot))
        perp_robot_set_key(robot, 0, b);
    return b;
}

/* What is done to a run from outside. */
typedef struct shaking {
    double degrees, noise;
    unsigned long long seed;
} shaking;

static double largest_speed(const perp_bodies *b)
{
    double most = 0;
    for (int k = 0; k < perp_bodies_nv(b); k++) most = fmax(most, fabs(perp_bodies_v(b)[k]));
    return most;
}

static void look(perp_bodies *b, const perp_robot_parts *p, int is_last, double *J, figures *f)
{
    const perp_contact *touch;
    double h = p->options.step;
    int n = perp_bodies_contacts(b, &touch);
    memset(f->sum, 0, sizeof f->sum);
    if (is_last) f->creep = fmax(f->creep, creep(b, p->shape, J));
    for (int i = 0; i < n; i++) {
        const perp_contact *t = &touch[i], *old = n == f->nbefore ? &f->before[i] : NULL;
        f->penetration = fmax(f->penetration, -t->gap);
        for (int d = 0; d < 3; d++)
            f->sum[d] += (t->impulse[0] * t->normal[d] + t->impulse[1] * t->tangent[0][d] +
                          t->impulse[2] * t->tangent[1][d]) /
                         h;
        if (!is_last) continue;
        f->force = fmax(f->force, t->impulse[0] / h);
        if (!old || memcmp(old->shape, t->shape, sizeof t->shape) || old->feature != t->feature)
            continue;
        for (int d = 0; d < 3; d++)
            f->jump = fmax(f->jump, fabs(t->impulse[d] - old->impulse[d]) / h);
    }
    perp_contact *room = realloc(f->before, (size_t)(n + 1) * sizeof *room);
    if (!room) exit(2);
    f->before = room;
    if (n) memcpy(room, touch, (size_t)n * sizeof *room);
    f->nbefore = n;
}

static void turn_gravity(perp_bodies *b, long step, shaking *by)
{
    double gravity[3];
    if (!(by->degrees > 0) || step % TILT_EVERY) return;
    tilt(by->degrees, &by->seed, gravity);
    perp_bodies_set_gravity(b, gravity);
}

/* Controls of the first key (0 without one) and noise. u: scratch, one number a control. */
static void shake(const perp_robot *robot, perp_bodies *b, long step, shaking *by, double *u)
{
    const double *key = perp_robot_keys(robot) ? perp_robot_key_control(robot, 0) : NULL;
    turn_gravity(b, step, by);
    if (!(by->noise > 0)) return;
    for (int k = 0; k < perp_bodies_nu(b); k++)
        u[k] = (key ? key[k] : 0) + by->noise * (2 * uniform(&by->seed) - 1);
    perp_bodies_set_control(b, u);
}

static double *room_for(int n)
{
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    if (!x) exit(2);
    return x;
}

/* Microseconds of a step, where nothing is looked at between them. */
static double pace(const perp_robot *robot, long steps, shaking by, perp_diag *diag)
{
    perp_bodies *b = make(robot, diag);
    double *u = room_for(b ? perp_bodies_nu(b) : 0), start = cpu_now();
    for (long i = 0; i < steps && b; i++) {
        shake(robot, b, i, &by, u);
        bodies_step(b, NULL, NULL);
    }
    double spent = cpu_now() - start;
    free(u);
    perp_bodies_destroy(b);
    return 1e6 * spent / (double)steps;
}

/* The steps of a robot, one by one. */
static perp_bodies *run(const perp_robot *robot, long steps, shaking by, figures *f,
                        perp_diag *diag)
{
    perp_robot_parts p = *perp_robot_get_parts(robot);
    perp_bodies *b = make(robot, diag);
    double *J = room_for(b ? 3 * perp_bodies_nv(b) : 0), *u = room_for(b ? perp_bodies_nu(b) : 0);
    for (long i = 0; i < steps && b; i++) {
        perp_bodies_info info = {.size = sizeof info};
        shake(robot, b, i, &by, u);
        double start = cpu_now();
        perp_status status = bodies_step(b, &info, diag);
        note_step(&f->tails, cpu_now() - start, &info);
        f->contacts += info.contacts;
        if (status != PERP_OK) {
            if (!f->refused++) fprintf(stderr, "  %s", perp_diag_text(diag));
            perp_diag_clear(diag);
        } else
            look(b, &p, i >= steps - steps / 4, J, f);
    }
    free(J);
    free(u);
    return b;
}

/* Where a run ended: bytes of a snapshot, microseconds to restore it, and those of a copy of as many bytes. */
static void print_restore(perp_bodies *b)
{
    enum { REPEAT = 2000, TRIES = 9 };
    size_t size = perp_bodies_snapshot_size(b);
    unsigned char *bytes = malloc(2 * size);
    double restore = INFINITY, copy = INFINITY;
    if (!bytes || perp_bodies_snapshot(b, bytes, size) != PERP_OK) exit(2);
    for (int t = 0; t < TRIES; t++) {
        double start = cpu_now();
        for (int i = 0; i < REPEAT; i++) perp_bodies_restore(b, bytes, size, NULL);
        restore = fmin(restore, cpu_now() - start);
        start = cpu_now();
        for (int i = 0; i < REPEAT; i++) {
            memcpy(bytes + size, bytes, size);
            bytes[(size_t)i % size] = bytes[2 * size - 1]; /* each copy is needed */
        }
        copy = fmin(copy, cpu_now() - start);
        if (t < TRIES - 1 && perp_bodies_snapshot(b, bytes, size) != PERP_OK) exit(2);
    }
    printf("  snapshot: %zu bytes, restored in %.2f us; a copy of them takes %.2f us\n", size,
           1e6 * restore / REPEAT, 1e6 * copy / REPEAT);
    free(bytes);
}

/* Lines: file, microseconds of a step, contacts and iterations in the mean, the largest speed at the end; the tails. */
static int bench(const char *file, long steps, shaking by)
{
    perp_diag diag = {0};
    perp_robot *robot = NULL;
    perp_bodies *b = NULL;
    figures f = {.tails = make_tails(steps)};
    if (perp_robot_read(file, &robot, &diag) == PERP_OK) {
        f.mean = pace(robot, steps, by, &diag);
        b = run(robot, steps, by, &f, &diag);
    }
    int ok = b && !f.refused;
    if (b) {
        double iterations = 0;
        for (long i = 0; i < steps; i++) iterations += f.tails.iterations[i];
        printf("%s %.2f us a step, %.1f contacts, %.1f iterations, %.1e at the end\n", file, f.mean,
               f.contacts / (double)steps, iterations / (double)steps, largest_speed(b));
        printf(
            "  %ld steps, gravity turned by up to %g degrees, noise %g (seed %llu): %ld refused; "
            "penetration at "
            "most %.1e m; last quarter: creep %.1e m/s, forces up to %.3g N change by up to "
            "%.1e N; at the end they add up to (%.9g, %.9g, %.9g) N\n",
            steps, by.degrees, by.noise, by.seed, f.refused, f.penetration, f.creep, f.force,
            f.jump, f.sum[0], f.sum[1], f.sum[2]);
        print_tails(&f.tails, by.degrees > 0);
        print_restore(b);
    } else
        fprintf(stderr, "%s: %s", file, perp_diag_text(&diag));
    free_tails(&f.tails);
    free(f.before);
    perp_bodies_destroy(b);
    perp_robot_destroy(robot);
    perp_diag_clear(&diag);
    return ok;
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"examples/robots/arm.xml", "examples/robots/hand.xml",
                                        "examples/robots/quadruped.xml"};
    long steps = 2000;
    shaking by = {0, 0, 1};
    int first = 1, ok = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--steps") == 0) steps = atol(argv[first + 1]);
        if (strcmp(argv[first], "--seed") == 0) by.seed = strtoull(argv[first + 1], NULL, 10);
        if (strcmp(argv[first], "--tilt") == 0) by.degrees = atof(argv[first + 1]);
        if (strcmp(argv[first], "--noise") == 0) by.noise = atof(argv[first + 1]);
    }
    if (steps < 1) return fprintf(stderr, "at least one step is expected\n"), 2;
    for (int i = first; i < argc; i++) ok &= bench(argv[i], steps, by);
    for (size_t i = 0; first >= argc && i < sizeof files / sizeof *files; i++)
        ok &= bench(files[i], steps, by);
    return !ok;
}
