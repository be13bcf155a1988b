/* build/bench_tosses FOLDER FACETS [EVERY]: every recorded toss (of EVERY-th), simulated from its start until the cube must be
 * at rest. FACETS is a number or `exact`. Prints what did not come to rest, verified, and the steps per second. */

#include "../experiments/cube/tosses.h"
#include "timing.h"
#include "../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DURATION 2.5

static const char *const names[TOSS_COLUMNS] = {"p[1]", "p[2]", "p[3]", "q[1]", "q[2]",
                                                "q[3]", "q[4]", "v[1]", "v[2]", "v[3]",
                                                "w[1]", "w[2]", "w[3]"};

/* The example's text with other facets. */
static perp_model *load_cube(const char *facets)
{
    enum { LARGEST = 1 << 16 };
    static char text[LARGEST], changed[LARGEST + 64];
    static const char wanted[] = "facets = 8)";
    FILE *file = fopen("examples/mechanics/cube.perp", "rb");
    perp_diag diag = {0};
    perp_model *model = NULL;
    if (!file) {
        fprintf(stderr,
                "examples/mechanics/cube.perp: cannot be read (run this in the source folder)\n");
        exit(2);
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *at = strstr(text, wanted);
    if (at) {
        *at = 0;
        int n = snprintf(changed, sizeof changed, "%sfacets = %.20s)%s", text, facets,
                         at + strlen(wanted));
        perp_model_parse(changed, (size_t)n, "cube.perp", &model, &diag);
    }
    if (!model) {
        fprintf(stderr, "the cube with facets = %s: %s\n", facets, perp_diag_text(&diag));
        exit(2);
    }
    return model;
}

typedef struct figures {
    int tosses, stopped, restless;
    long steps, solves, problems;
    double seconds, worst;
} figures;

static int at_rest(const perp_simulation *sim, double *row)
{
    perp_simulation_row(sim, row);
    double speed = 0;
    for (int k = 7; k < TOSS_COLUMNS; k++) speed = fmax(speed, fabs(row[1 + k]));
    return speed < 1e-6 && fabs(row[3] - 0.0524) < 1e-6;
}

static void run_toss(perp_model *model, int number, const toss *of, figures *sum)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    for (int k = 0; k < TOSS_COLUMNS; k++)
        if (perp_model_set(model, names[k], of->row[k], &diag) != PERP_OK) exit(2);
    perp_simulation_options o = perp_simulation_options_default(model);
    o.to = DURATION;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK) {
        fprintf(stderr, "%s", perp_diag_text(&diag));
        exit(2);
    }
    double start = cpu_now(), *row = calloc((size_t)perp_simulation_columns(sim), sizeof *row);
    perp_status status = simulation_run(sim, NULL, NULL, &diag);
    perp_simulation_summary s = simulation_summary(sim);
    sum->seconds += cpu_now() - start;
    sum->steps += s.steps;
    sum->solves += s.solves;
    sum->problems += s.friction_problems;
    sum->worst = fmax(sum->worst, s.worst_residual);
    sum->tosses++;
    if (status != PERP_OK) {
        sum->stopped++;
        printf("toss %d stopped: %s", number, perp_diag_text(&diag));
    } else if (!row || !at_rest(sim, row)) {
        sum->restless++;
        printf("toss %d is not at rest at %g s\n", number, DURATION);
    }
    fflush(stdout);
    free(row);
    perp_simulation_destroy(sim);
}

int main(int argc, char **argv)
{
    tosses all;
    figures sum = {0};
    int every = argc > 3 ? atoi(argv[3]) : 1, first = argc > 4 ? atoi(argv[4]) : 0;
    if (argc < 3 || every < 1 || !tosses_read(argv[1], TOSS_COLUMNS, &all)) {
        fprintf(
            stderr,
            "bench_tosses FOLDER FACETS [EVERY [FIRST]]: FOLDER has tosses.f64 and index.csv\n");
        return 2;
    }
    perp_model *model = load_cube(argv[2]);
    for (int k = first; k < all.n; k += every) run_toss(model, k, &all.toss[k], &sum);
    printf("facets = %s: %d tosses, %d at rest after %g s, %d not at rest, %d stopped; %ld steps, "
           "%.0f steps/s, %.2f solves a "
           "step, %ld friction problems, worst residual %.1e\n",
           argv[2], sum.tosses, sum.tosses - sum.stopped - sum.restless, DURATION, sum.restless,
           sum.stopped, sum.steps, (double)sum.steps / sum.seconds,
           (double)sum.solves / (double)sum.steps, sum.problems, sum.worst);
    perp_model_destroy(model);
    tosses_free(&all);
    return sum.stopped + sum.restless > 0;
}
