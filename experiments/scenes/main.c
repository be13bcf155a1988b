/* experiment_scenes [--quick] [--tosses FOLDER] [--jump FOLDER] [--turn DEGREES] [--steps N] [--seed S] [SCENE...]: piles, arches, impacts, what rolls and what
 * is held, by perp/bodies.h; of each: steps, what was refused, the worst errors of the verdict, the deepest penetration at any step, how far and how fast the worst
 * body is at the end, creep in the last quarter (of contacts whose force is 1 % inside its cone), CPU time and iterations; and what the scene claims. --quick,
 * the test: without the long ones, and times are printed, not judged. --jump: a planned one, too; examples/robots has it. --turn: gravity turns by up to so much
 * every 50 steps, N steps are to be verified, and nothing else is claimed. docs/scenes.md. */

#include "scene.h"
#include "slip.h"
#include "support/verdicts.h"
#include "tails.h"
#include "timing.h"
#include "../../tests/support/outcomes.h"

#include <string.h>

typedef struct outcome {
    int refused, contacts, worst_step, steps, parted; /* parted: made in parts */
    double contact_error, newton_error, penetration, moved, speed, creep, slowest;
    double *iterations, *time; /* of each step; time: [us] */
    char reason[300];
} outcome;

static const struct {
    const char *name;
    void (*make)(scene *, double);
    double p;
    double penetration, moved, falls; /* at most, at most, at least [m]; 0: no claim */
    double median;                    /* at most, of the CPU times of its steps [us]; 0: no claim */
    int is_long;
} scenes[] = {
    {"incline, 2 % inside the cone", incline, 0.98, .penetration = 1e-9},
    {"incline, 20 % outside", incline, 1.2, .penetration = 1e-9},
    {"backspin", backspin, 0, .penetration = 1e-9},
    {"turntable", turntable, 1, .penetration = 1e-6},
    {"turntable, half the step", turntable, 2, .penetration = 1e-6},
    {"balls on a plate, along", balls_on_a_plate, 1.57079632679489662, .penetration = 1e-9},
    {"balls on a plate, at 60 degrees", balls_on_a_plate, 1.04719755119659775, .penetration = 1e-9},
    {"disc", disc, 2, .penetration = 1e-6},
    {"disc, half the step", disc, 4, .penetration = 1e-6},
    {"toss", thrown_box, 0, .penetration = 1e-6},
    {"27 boxes", boxes_in_a_bin, 3, .penetration = 1e-4, .is_long = 1},
    {"64 boxes", boxes_in_a_bin, 4, .penetration = 1e-4, .is_long = 1},
    {"216 balls", balls_666, 0, .penetration = 1e-5, .is_long = 1},
    {"216 balls, elastic", balls_666, 1, .penetration = 1e-5, .is_long = 1},
    {"20 boxes stacked", boxes_stacked, 20, .penetration = 1e-9, .moved = 1e-9},
    {"26 cards", cards, 0, .penetration = 1e-6, .moved = 1e-9},
    {"arch of 25", arch, 25, .penetration = 1e-6, .moved = 1e-9, .median = 2500},
    {"arch of 101", arch, 101, .penetration = 1e-6, .moved = 1e-9, .is_long = 1},
    {"arch of 1.002 of the least thickness", thin_arch, 1.002, .penetration = 1e-6, .moved = 1e-9},
    {"arch of 0.998 of the least thickness", thin_arch, 0.998, .penetration = 1e-6, .falls = 1e-3},
    {"books at 0.999 of the overhang", overhang, 0.999, .penetration = 1e-9, .moved = 1e-9},
    {"books at 1.001 of the overhang", overhang, 1.001, .penetration = 1e-6, .falls = 1e-3},
    {"ladder at 1.001 of the least angle", ladder, 1.001, .penetration = 1e-9, .moved = 1e-9},
    {"ladder at 0.999 of the least angle", ladder, 0.999, .penetration = 1e-6, .falls = 1e-3},
    {"cradle, touching", cradle, 0, .penetration = 1e-9},
    {"cradle, 3 mm apart", cradle, 3e-3, .penetration = 1e-9},
    {"bouncing", bouncing, 0, .penetration = 1e-9},
    {"rod, little friction", rod, 0.5, .penetration = 1e-6},
    {"rod, Painleve", rod, 2, .penetration = 1e-6},
    {"woodpecker", woodpecker, 0, .penetration = 1e-6},
    {"pinched cube, held", pinched, 1.02, .penetration = 1e-9},
    {"pinched cube, slips", pinched, 0.98, .penetration = 1e-9},
    {"arm presses, sphere", pressing_arm, 0, .penetration = 1e-9},
    {"arm presses, flat", pressing_arm, 1, .penetration = 1e-9},
    {"sixteen ways, at rest", sixteen_ways, 0.98, .penetration = 1e-9, .moved = 1e-9},
    {"sixteen ways, sliding", sixteen_ways, 1.2, .penetration = 1e-9},
};
enum { COUNT = sizeof scenes / sizeof *scenes };

typedef struct options {
    double turn; /* degrees; 0: not */
    int steps;   /* with turn */
    unsigned long long seed;
    int is_quick;
    const char *folder, *robots; /* of recorded tosses, of the planned jump; nullable */
} options;

static perp_bodies *create(scene *s)
{
    perp_bodies *b = NULL;
    perp_diag diag = {0};
    if (perp_bodies_create(s->body, s->nbody, s->shape, s->nshape, &s->o, &b, &diag) != PERP_OK) {
        fprintf(stderr, "%s: %s", s->name, perp_diag_text(&diag));
        perp_diag_clear(&diag);
        exit(2);
    }
    if (s->drive) s->drive(s, b);
    perp_bodies_set(b, NULL, s->v);
    return b;
}

/* Gravity turned by up to so many degrees about a level line. */
static void turn(perp_bodies *b, double degrees, unsigned long long *seed)
{
    double gravity[3];
    tilt(degrees, seed, gravity);
    perp_bodies_set_gravity(b, gravity);
}

/* Contacts at the begin of each step are where the step before ended. Creep: of the last quarter. */
static void look(const scene *s, perp_bodies *b, outcome *r)
{
    static double J[3 * 6 * BODIES];
    const perp_contact *touch;
    int n = perp_bodies_contacts(b, &touch);
    for (int i = 0; i < n; i++) r->penetration = fmax(r->penetration, 0 - touch[i].gap);
    if (n > r->contacts) r->contacts = n;
    if (4 * r->steps >= 3 * s->steps) r->creep = fmax(r->creep, creep(b, s->shape, J));
}

static perp_bodies *run(scene *s, const options *o, outcome *r)
{
    perp_diag diag = {0};
    perp_bodies *b = create(s);
    unsigned long long seed = o->seed;
    for (; r->steps < s->steps && !r->refused; r->steps++) {
        perp_bodies_info info = {.size = sizeof info};
        if (o->turn > 0 && r->steps % TILT_EVERY == 0) turn(b, o->turn, &seed);
        double start = cpu_now(), spent;
        r->refused = bodies_step(b, &info, &diag) != PERP_OK;
        spent = cpu_now() - start;
        r->time[r->steps] = 1e6 * spent;
        if (spent > r->slowest) r->slowest = spent, r->worst_step = r->steps + 1;
        r->iterations[r->steps] = info.iterations;
        look(s, b, r);
        if (r->refused) break;
        r->contact_error = fmax(r->contact_error, info.contact_error);
        r->newton_error = fmax(r->newton_error, info.newton_error);
        r->penetration = fmax(r->penetration, info.penetration);
        r->parted += info.substeps > 1;
        if (s->look && !o->turn) s->look(s, b, r->steps + 1);
    }
    if (r->refused) snprintf(r->reason, sizeof r->reason, "%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    return b;
}

/* How far and how fast the worst free body is at the end. */
static void look_back(const scene *s, const perp_bodies *b, outcome *r)
{
    for (int i = 0; i < s->nbody; i++) {
        const double *q = perp_bodies_q(b) + perp_bodies_q_of(b, i + 1),
                     *v = perp_bodies_v(b) + perp_bodies_v_of(b, i + 1), *x = s->body[i].position;
        if (s->body[i].joint != PERP_JOINT_FREE) continue;
        r->moved = fmax(r->moved, hypot(hypot(q[0] - x[0], q[1] - x[1]), q[2] - x[2]));
        r->speed = fmax(r->speed, hypot(hypot(v[0], v[1]), v[2]));
    }
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n ? x[n / 2] : 0;
}

static void print(const scene *s, outcome *r)
{
    const double iterations = median(r->iterations, r->steps), time = median(r->time, r->steps);
    double mean = 0;
    for (int i = 0; i < r->steps; i++) mean += r->time[i] / r->steps;
    printf("%s: %d bodies, %d steps of %.6g s, at most %d contacts\n", s->name, s->nbody, r->steps,
           s->o.step, r->contacts);
    printf("  errors %.1e (contacts) %.1e (Newton); penetration %.1e m; at the end moved %.2e m, "
           "speed %.1e m/s; creep %.1e m/s\n",
           r->contact_error, r->newton_error, r->penetration, r->moved, r->speed, r->creep);
    printf(
        "  CPU %.0f us a step, median %.0f, slowest %.0f (step %d); iterations median %.0f, worst "
        "%.0f\n",
        mean, time, 1e6 * r->slowest, r->worst_step, iterations,
        r->steps ? r->iterations[r->steps - 1] : 0);
    if (r->parted) printf("  %d steps were made in parts\n", r->parted);
    if (r->refused) printf("  %s", r->reason);
}

static void judge(int which, const options *o)
{
    scene *s = calloc(1, sizeof *s);
    outcome r = {0};
    char claim[200];
    if (!s) exit(2);
    s->name = scenes[which].name;
    s->o = perp_bodies_options_default();
    scenes[which].make(s, scenes[which].p);
    if (o->turn > 0) s->steps = o->steps;
    r.iterations = calloc((size_t)s->steps, sizeof(double));
    r.time = calloc((size_t)s->steps, sizeof(double));
    if (!r.iterations || !r.time) exit(2);
    perp_bodies *b = run(s, o, &r);
    look_back(s, b, &r);
    print(s, &r);
    snprintf(claim, sizeof claim, "%s: every step verified to %g", s->name, s->o.tol);
    verdict(claim, !r.refused);
    if (o->turn > 0) {
        printf("  gravity turned by up to %g degrees every %d steps, seed %llu\n", o->turn,
               TILT_EVERY, o->seed);
    } else {
        at_most(s, "penetration [m]", r.penetration, scenes[which].penetration);
        if (scenes[which].moved > 0) {
            at_most(s, "stands, moved [m]", r.refused ? HUGE_VAL : r.moved, scenes[which].moved);
            at_most(s, "creep [m/s]", r.creep, 1e-10);
        }
        if (scenes[which].falls > 0) at_least(s, "falls, moved [m]", r.moved, scenes[which].falls);
        if (scenes[which].median > 0 && !o->is_quick)
            at_most(s, "CPU time of a step, median [us]", r.time[r.steps / 2],
                    scenes[which].median);
        if (s->judge) s->judge(s, b);
    }
    fflush(stdout);
    perp_bodies_destroy(b);
    for (int i = 0; i < s->nmesh; i++) perp_mesh_destroy(s->mesh[i]);
    free(r.iterations);
    free(r.time);
    free(s);
}

static int find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(scenes[i].name, name) == 0) return i;
    fprintf(stderr, "there is no scene '%s'; they are\n", name);
    for (int i = 0; i < COUNT; i++) fprintf(stderr, "  %s\n", scenes[i].name);
    exit(2);
}

/* @return the first argument that is a scene */
static int read_options(int argc, char **argv, options *o)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--quick") == 0) {
            o->is_quick = 1;
            continue;
        }
        const char *value = ++i < argc ? argv[i] : "";
        if (strcmp(name, "--tosses") == 0)
            o->folder = value;
        else if (strcmp(name, "--jump") == 0)
            o->robots = value;
        else if (strcmp(name, "--turn") == 0 && atof(value) > 0)
            o->turn = atof(value);
        else if (strcmp(name, "--steps") == 0 && atoi(value) > 0)
            o->steps = atoi(value);
        else if (strcmp(name, "--seed") == 0)
            o->seed = strtoull(value, NULL, 10);
        else
            fprintf(stderr, "%s '%s' is no option of this program\n", name, value), exit(2);
    }
    return i;
}

int main(int argc, char **argv)
{
    options o = {.steps = 10000, .seed = 1};
    int first = read_options(argc, argv, &o);
    for (int i = first; i < argc; i++) find(argv[i]);
    for (int i = first; i < argc; i++) judge(find(argv[i]), &o);
    for (int i = 0; i < COUNT && first == argc; i++)
        if (!(o.is_quick && scenes[i].is_long)) judge(i, &o);
    if (o.folder) recorded_tosses(o.folder);
    if (o.robots) planned_jump(o.robots);
    return failures != 0;
}
