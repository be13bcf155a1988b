/* experiment_scenes [SCENE...]: piles, an arch and a house of cards by perp/bodies.h; of each: steps, what was refused, the worst errors of the verdict,
 * the deepest overlap at any step, how far and how fast the worst body is at the end, CPU time and iterations. docs/scenes.md. */

#include "perp/perp.h"
#include "support/verdicts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODIES = 128, SHAPES = BODIES + 8, MESHES = 128, WORK = 1 << 15 };

typedef struct scene {
    perp_body body[BODIES];
    perp_shape shape[SHAPES];
    perp_mesh *mesh[MESHES];
    int nbody, nshape, nmesh, steps;
    perp_bodies_options o;
    double v[6 * BODIES];
} scene;

typedef struct outcome {
    int steps, refused, contacts, worst_step;
    double contact_error, newton_error, overlap, moved, speed, mean, slowest;
    double *iterations;
    char reason[300];
} outcome;

static double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void add_box(scene *s, const double *half, const double *place, const double *rotation,
                    double mass, double mu)
{
    const double x = half[0] * half[0], y = half[1] * half[1], z = half[2] * half[2];
    perp_body *b = &s->body[s->nbody++];
    *b = (perp_body){.joint = PERP_JOINT_FREE,
                     .mass = mass,
                     .inertia = {mass * (y + z) / 3, mass * (x + z) / 3, mass * (x + y) / 3}};
    perp_shape *is = &s->shape[s->nshape++];
    *is = (perp_shape){.body = s->nbody, .kind = PERP_SHAPE_BOX, .mu = mu};
    memcpy(b->position, place, sizeof b->position);
    if (rotation) memcpy(b->rotation, rotation, sizeof b->rotation);
    memcpy(is->size, half, sizeof is->size);
}

/* n^3 boxes, turned a little at random, fall into a bin of four walls. */
static void boxes_in_a_bin(scene *s, int n)
{
    const double half[3] = {0.05, 0.05, 0.05}, apart = 0.12, wide = 0.06 * n + 0.03;
    unsigned long long seed = 1;
    s->shape[s->nshape++] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = 0.5};
    for (int k = 0; k < 4; k++) {
        double turn = 0.78539816339744831 * k; /* half of it: z of the frame into the bin */
        perp_shape *wall = &s->shape[s->nshape++];
        *wall = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = 0.5};
        double about_z[4] = {cos(turn), 0, 0, sin(turn)}, c = sqrt(0.5);
        double lay[4] = {c, 0, c, 0}; /* z to x */
        wall->rotation[0] = about_z[0] * lay[0];
        wall->rotation[1] = -about_z[3] * lay[2];
        wall->rotation[2] = about_z[0] * lay[2];
        wall->rotation[3] = about_z[3] * lay[0];
        wall->position[0] = -wide * cos(2 * turn), wall->position[1] = -wide * sin(2 * turn);
    }
    for (int i = 0; i < n * n * n; i++) {
        const int at[3] = {i % n, i / n % n, i / n / n};
        double place[3], rotation[4] = {1, 0, 0, 0}, length = 0;
        for (int k = 0; k < 3; k++)
            place[k] =
                apart * (at[k] - (k < 2 ? 0.5 * (n - 1) : -0.6)) + 0.005 * (uniform(&seed) - 0.5);
        for (int k = 1; k < 4; k++) rotation[k] = 0.1 * (uniform(&seed) - 0.5);
        for (int k = 0; k < 4; k++) length += rotation[k] * rotation[k];
        for (int k = 0; k < 4; k++) rotation[k] /= sqrt(length);
        add_box(s, half, place, rotation, 1, 0.5);
    }
    s->steps = 1000;
}

static void boxes_27(scene *s)
{
    boxes_in_a_bin(s, 3);
}

static void boxes_64(scene *s)
{
    boxes_in_a_bin(s, 4);
}

/* A box thrown with spin. */
static void toss(scene *s)
{
    const double half[3] = {0.05, 0.05, 0.05}, place[3] = {0, 0, 0.4},
                 v[6] = {1, 0.3, 0.5, 11, -7, 5};
    s->shape[s->nshape++] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = 0.3};
    add_box(s, half, place, NULL, 0.4, 0.3);
    memcpy(s->v, v, sizeof v);
    s->steps = 1000;
}

/* A half circle of n wedges, thickness 0.2 of the middle radius (0.1075 is the least that stands: Milankovitch 1907). */
static void arch(scene *s, int n)
{
    const double inner = 0.9, outer = 1.1, deep = 0.15, density = 2000, pi = 3.14159265358979324;
    s->shape[s->nshape++] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = 0.7};
    for (int i = 0; i < n; i++) {
        double x[24], mass, center[3];
        for (int k = 0; k < 8; k++) {
            double angle = pi * (i + (k & 1)) / n, r = k & 2 ? outer : inner;
            x[3 * k] = r * cos(angle), x[3 * k + 1] = k & 4 ? deep : -deep;
            x[3 * k + 2] = i + (k & 1) == n ? 0 : r * sin(angle);
        }
        perp_mesh **mesh = &s->mesh[s->nmesh++];
        if (perp_mesh_hull(x, 8, mesh, NULL) != PERP_OK) exit(2);
        perp_mesh_mass(*mesh, &mass, center, NULL);
        for (int k = 0; k < 8; k++) /* about its centre */
            for (int c = 0; c < 3; c++) x[3 * k + c] -= center[c];
        perp_mesh_destroy(*mesh);
        if (perp_mesh_hull(x, 8, mesh, NULL) != PERP_OK) exit(2);
        perp_body *b = &s->body[s->nbody++];
        *b = (perp_body){.joint = PERP_JOINT_FREE};
        perp_mesh_mass(*mesh, &b->mass, b->center, b->inertia);
        b->mass *= density;
        for (int c = 0; c < 6; c++) b->inertia[c] *= density;
        memcpy(b->position, center, sizeof center);
        s->shape[s->nshape++] =
            (perp_shape){.body = s->nbody, .kind = PERP_SHAPE_MESH, .mesh = *mesh, .mu = 0.7};
    }
    s->steps = 500;
}

static void arch_25(scene *s)
{
    arch(s, 25);
}

static void arch_101(scene *s)
{
    arch(s, 101);
}

/* Four storeys of leaning pairs, 4, 3, 2 and 1, with cards between them: 26. */
static void cards(scene *s)
{
    const double length = 0.088, t = 0.001, wide = 0.063, lean = 0.35, mu = 0.6, mass = 0.0018,
                 sine = sin(lean), cosine = cos(lean), high = length * cosine + t * sine,
                 apart = 2 * (length * sine + t * cosine) + 0.5 * t;
    const double leaning[3] = {t / 2, wide / 2, length / 2},
                 lying[3] = {apart / 2 - 0.25 * t, wide / 2, t / 2};
    s->shape[s->nshape++] = (perp_shape){.kind = PERP_SHAPE_PLANE, .mu = mu};
    for (int storey = 0; storey < 4; storey++)
        for (int i = 0; i < 4 - storey; i++) {
            double top = apart * (i + 0.5 * storey), floor = storey * (high + t);
            for (int side = -1; side <= 1; side += 2) {
                double place[3] = {top + side * (length / 2 * sine + t / 2 * cosine), 0,
                                   floor + length / 2 * cosine + t / 2 * sine},
                       turn[4] = {cos(lean / 2), 0, -side * sin(lean / 2), 0};
                add_box(s, leaning, place, turn, mass, mu);
            }
            double place[3] = {top + apart / 2, 0, floor + high + t / 2};
            if (i < 3 - storey) add_box(s, lying, place, NULL, mass * lying[0] / (length / 2), mu);
        }
    s->steps = 500;
}

static const struct {
    const char *name;
    void (*make)(scene *);
    double overlap, moved; /* at most [m]; 0: no claim */
} scenes[] = {{"toss", toss, 1e-6, 0},
              {"27 boxes", boxes_27, 1e-4, 0},
              {"64 boxes", boxes_64, 1e-4, 0},
              {"arch of 25", arch_25, 1e-6, 1e-6},
              {"arch of 101", arch_101, 1e-6, 1e-6},
              {"26 cards", cards, 1e-6, 1e-3}};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Contacts at the begin of each step are where the step before ended. */
static void look(const perp_bodies *b, outcome *r)
{
    const perp_touch *touch;
    int n = perp_bodies_touches(b, &touch);
    for (int i = 0; i < n; i++) r->overlap = fmax(r->overlap, -touch[i].gap);
    if (n > r->contacts) r->contacts = n;
}

static void run(const scene *s, perp_bodies *b, outcome *r)
{
    perp_diag diag = {0};
    for (; r->steps < s->steps && !r->refused; r->steps++) {
        perp_bodies_info info;
        double start = cpu_now(), spent;
        r->refused = perp_bodies_step(b, &info, &diag) != PERP_OK;
        spent = cpu_now() - start;
        r->mean += spent / s->steps;
        if (spent > r->slowest) r->slowest = spent, r->worst_step = r->steps + 1;
        r->iterations[r->steps] = info.iterations;
        look(b, r);
        if (r->refused) break;
        r->contact_error = fmax(r->contact_error, info.contact_error);
        r->newton_error = fmax(r->newton_error, info.newton_error);
    }
    if (r->refused) snprintf(r->reason, sizeof r->reason, "%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    for (int i = 0; i < s->nbody; i++) {
        double far = 0, speed = 0;
        for (int k = 0; k < 3; k++)
            far = hypot(far, perp_bodies_q(b)[7 * i + k] - s->body[i].position[k]);
        for (int k = 0; k < 3; k++) speed = hypot(speed, perp_bodies_v(b)[6 * i + k]);
        r->moved = fmax(r->moved, far), r->speed = fmax(r->speed, speed);
    }
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void judge(int which)
{
    scene *s = calloc(1, sizeof *s);
    outcome r = {.iterations = calloc(WORK, sizeof(double))};
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    char claim[200];
    s->o = perp_bodies_options_default();
    scenes[which].make(s);
    if (perp_bodies_create(s->body, s->nbody, s->shape, s->nshape, &s->o, &b, &diag) != PERP_OK) {
        fprintf(stderr, "%s", perp_diag_text(&diag));
        failures++;
    } else {
        perp_bodies_set(b, NULL, s->v);
        run(s, b, &r);
        qsort(r.iterations, (size_t)r.steps, sizeof(double), ascending);
        printf("%s: %d bodies, %d steps of %g s, at most %d contacts\n", scenes[which].name,
               s->nbody, r.steps, s->o.step, r.contacts);
        printf("  errors %.1e (contacts) %.1e (Newton); overlap %.1e m; at the end moved %.2e m, "
               "speed %.1e m/s\n",
               r.contact_error, r.newton_error, r.overlap, r.moved, r.speed);
        printf(
            "  CPU %.0f us a step, slowest %.0f us (step %d); iterations median %.0f, worst %.0f\n",
            1e6 * r.mean, 1e6 * r.slowest, r.worst_step, r.steps ? r.iterations[r.steps / 2] : 0,
            r.steps ? r.iterations[r.steps - 1] : 0);
        if (r.refused) printf("  %s", r.reason);
        snprintf(claim, sizeof claim, "%s: every step verified to %g", scenes[which].name,
                 s->o.tol);
        verdict(claim, !r.refused);
        snprintf(claim, sizeof claim, "%s: no overlap above %g m", scenes[which].name,
                 scenes[which].overlap);
        verdict(claim, r.overlap <= scenes[which].overlap);
        snprintf(claim, sizeof claim, "%s: stands within %g m", scenes[which].name,
                 scenes[which].moved);
        if (scenes[which].moved > 0) verdict(claim, !r.refused && r.moved <= scenes[which].moved);
    }
    perp_bodies_destroy(b);
    for (int i = 0; i < s->nmesh; i++) perp_mesh_destroy(s->mesh[i]);
    perp_diag_clear(&diag);
    free(r.iterations);
    free(s);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int is_asked = argc < 2;
        for (int k = 1; k < argc; k++) is_asked |= strcmp(argv[k], scenes[i].name) == 0;
        if (is_asked) judge((int)i);
        fflush(stdout);
    }
    return failures != 0;
}
