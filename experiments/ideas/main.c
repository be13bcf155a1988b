/* Two of the ideas of section 4 of the notes: entries as differences of two rectified parameters, and learning the directions of
 * friction. Prints a line a claim, with a verdict.
 *
 *     experiment_ideas RELU.perp DIRECTIONS.perp */

#include "perp/perp.h"
#include "support/random.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static perp_dataset *dataset_of(const char *text, size_t length, perp_diag *diag)
{
    perp_dataset *data;
    perp_trajectory *table;
    if (perp_dataset_create(&data) != PERP_OK) return NULL;
    if (perp_trajectory_parse(text, length, "data", &table, diag) == PERP_OK &&
        perp_dataset_add(data, table, "data", diag) == PERP_OK)
        return data;
    perp_dataset_destroy(data);
    return NULL;
}

/* Rectified entries --------------------------------------------------------------------------- */

enum { POINTS = 400, SEEDS = 5 };

/* Steps of the block with mu m g = 1, whose sticking forces lie anywhere in their segment, with noise on everything. */
static perp_dataset *draw_steps(double noise, uint64_t seed, perp_diag *diag)
{
    size_t room = 160 * (POINTS + 2), used = 0;
    char *text = malloc(room);
    uint64_t state = seed;
    if (!text) return NULL;
    used += (size_t)snprintf(text, room, "t,l1,l2,l3,v,u,r1,r2,r3,size");
    for (int k = 0; k <= POINTS; k++) {
        double x[5] = {0, 0, 0, uniform(&state, -2, 2), uniform(&state, -2, 2)}, c = x[3] + x[4];
        double slack = uniform(&state, 0, 0.5 * fmax(0, 1 - fabs(c)));
        x[0] = c < -1 ? 1 : c > 1 ? 0 : slack + fmax(0, -c);
        x[1] = c > 1 ? 1 : c < -1 ? 0 : slack + fmax(0, c);
        x[2] = fmax(0, fabs(c) - 1);
        used += (size_t)snprintf(text + used, room - used, "\n%d", k);
        for (int i = 0; i < 5; i++) {
            double y = x[i] == 0 ? 0 : x[i] + noise * normal_of_twelve(&state);
            used += (size_t)snprintf(text + used, room - used, ",%.9g", y);
        }
        used += (size_t)snprintf(text + used, room - used, ",0,0,0,0");
    }
    perp_dataset *data = dataset_of(text, used, diag);
    free(text);
    return data;
}

typedef struct entries {
    int zeros,
        false_zeros; /* entries that are exactly 0, of the 5 that are and the 10 that are not */
    double worst;
} entries;

static double value_of(const perp_identification *a, char letter, int i, int j)
{
    char name[16];
    snprintf(name, sizeof name, "%c[%d,%d]", letter, i, j);
    for (int k = 0; k < a->nparameter; k++) {
        if (strcmp(a->parameter[k].name, name) == 0) return a->parameter[k].value;
    }
    return (double)NAN;
}

static int fit_entries(perp_model *model, const perp_dataset *data, double tau, double from,
                       entries *e, perp_diag *diag)
{
    static const double truth[3][6] = {
        {1, -1, 1, 1, 1, 0}, {-1, 1, 1, -1, -1, 0}, {-1, -1, 0, 0, 0, 1}};
    static const int fixed[3] = {1, 2, 1};
    perp_identify_options o;
    perp_identification a = {.size = sizeof a};
    char name[16];
    for (int k = 0; k < 36; k++) {
        snprintf(name, sizeof name, "%c[%d,%d]", k < 18 ? 'a' : 'b', 1 + k % 18 / 6, 1 + k % 6);
        if (perp_model_set(model, name, from, diag) != PERP_OK) return 0;
    }
    if (perp_model_set(model, "tau", tau, diag) != PERP_OK ||
        perp_identify_options_default(model, &o, diag) != PERP_OK)
        return 0;
    o.starts = 1;
    o.derivatives = PERP_DERIVATIVES_EXACT;
    if (run_identify(model, data, &o, &a, diag) != PERP_OK) return 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 6; j++) {
            if (j + 1 == fixed[i]) continue;
            double x =
                fmax(0, value_of(&a, 'a', i + 1, j + 1)) - fmax(0, value_of(&a, 'b', i + 1, j + 1));
            if (x == 0 && truth[i][j] == 0) e->zeros++;
            if (x == 0 && truth[i][j] != 0) e->false_zeros++;
            e->worst = fmax(e->worst, fabs(x - truth[i][j]));
        }
    }
    perp_identification_clear(&a);
    return 1;
}

static void print_entries(const char *how, const entries *e)
{
    printf("  %-30s %2d of 25 zeros exact, %2d of 50 others 0, worst entry off by %.3f\n", how,
           e->zeros, e->false_zeros, e->worst);
}

static void rectified_entries(perp_model *model, perp_diag *diag)
{
    entries plain = {0, 0, 0}, sized = {0, 0, 0}, below = {0, 0, 0};
    int ok = 1;
    for (uint64_t seed = 1; seed <= SEEDS && ok; seed++) {
        perp_dataset *data = draw_steps(2e-3, seed, diag);
        ok = data && fit_entries(model, data, 0, 0.5, &plain, diag) &&
             fit_entries(model, data, 0.3, 0.5, &sized, diag) &&
             fit_entries(model, data, 0, -0.5, &below, diag);
        perp_dataset_destroy(data);
    }
    failures += !ok;
    printf("4, entries max(0, a) - max(0, b) from 400 points with noise 2e-3, 5 draws:\n");
    print_entries("all from 0.5:", &plain);
    print_entries("the same with a cost of size:", &sized);
    print_entries("all from -0.5:", &below);
    verdict("begun positive, rectified entries are not exactly 0 under noise", plain.zeros == 0);
    verdict("a cost of size kills entries that are not 0, and a killed one has no gradient to "
            "return by",
            sized.false_zeros > 0);
    verdict("begun negative, where nothing has a gradient, the smoothed search revives exactly "
            "those that are not 0",
            below.zeros == 25 && below.false_zeros == 0 && below.worst < 0.05);
}

/* Directions ---------------------------------------------------------------------------------- */

enum { ROWS = 401 };

/* The velocities of a run with D = columns of length 1 (and one of 0.8) turned by 25 degrees. */
static perp_dataset *run_directions(perp_model *model, double truth[2][4], double noise,
                                    perp_diag *diag)
{
    perp_simulation *sim;
    char *text = malloc(80 * (ROWS + 1)), name[16];
    size_t room = 80 * (ROWS + 1), used = 0;
    uint64_t state = 3;
    double row[32];
    perp_dataset *data = NULL;
    for (int k = 0; k < 8; k++) {
        double angle = (25 + 90 * (k % 4)) * acos(-1.0) / 180, length = k % 4 == 2 ? 0.8 : 1;
        truth[k / 4][k % 4] = length * (k < 4 ? cos(angle) : sin(angle));
        snprintf(name, sizeof name, "D[%d,%d]", 1 + k / 4, 1 + k % 4);
        if (perp_model_set(model, name, truth[k / 4][k % 4], diag) != PERP_OK) failures++;
    }
    if (!text || perp_simulation_create(model, NULL, &sim, diag) != PERP_OK) {
        free(text);
        return NULL;
    }
    used += (size_t)snprintf(text, room, "t,v[1],v[2]");
    for (int k = 0, ok = 1; k < ROWS && ok; k++) {
        if (k > 0) ok = simulation_step(sim, NULL, diag) == PERP_OK;
        perp_simulation_row(sim, row);
        for (int i = 1; i <= 2 && k > 0; i++) row[i] += noise * normal_of_twelve(&state);
        used += (size_t)snprintf(text + used, room - used, "\n%.17g,%.17g,%.17g", row[0], row[1],
                                 row[2]);
    }
    data = dataset_of(text, used, diag);
    perp_simulation_destroy(sim);
    free(text);
    return data;
}

static void learn_directions(perp_model *model, perp_diag *diag)
{
    static const double axes[2][4] = {{1, 0, -1, 0}, {0, 1, 0, -1}};
    double truth[2][4], worst = 0;
    char name[16];
    perp_identify_options o;
    perp_identification a = {.size = sizeof a};
    perp_dataset *data = run_directions(model, truth, 1e-3, diag);
    for (int k = 0; k < 8; k++) {
        snprintf(name, sizeof name, "D[%d,%d]", 1 + k / 4, 1 + k % 4);
        if (perp_model_set(model, name, axes[k / 4][k % 4], diag) != PERP_OK) failures++;
    }
    if (!data || perp_identify_options_default(model, &o, diag) != PERP_OK) {
        failures++;
        return;
    }
    o.starts = 1;
    if (run_identify(model, data, &o, &a, diag) == PERP_OK) {
        for (int k = 0; k < 8; k++) {
            worst = fmax(worst, fabs(a.parameter[k].value - truth[k / 4][k % 4]));
        }
        printf("4, four directions of friction from 400 velocities, noise 1e-3, from the axes: "
               "worst entry off by %.4f, %ld evaluations\n",
               worst, a.evaluations);
        verdict("D is learned from motion alone: directions turned by 25 degrees, and one of other "
                "length",
                worst < 0.02);
        perp_identification_clear(&a);
    } else {
        failures++;
    }
    perp_dataset_destroy(data);
}

int main(int argc, char **argv)
{
    perp_diag diag = {0};
    perp_model *relu = NULL, *directions = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: experiment_ideas RELU.perp DIRECTIONS.perp\n");
        return 1;
    }
    if (perp_model_load(argv[1], &relu, &diag) == PERP_OK) rectified_entries(relu, &diag);
    if (perp_model_load(argv[2], &directions, &diag) == PERP_OK)
        learn_directions(directions, &diag);
    fputs(perp_diag_text(&diag), stderr);
    failures += diag.errors;
    perp_model_destroy(relu);
    perp_model_destroy(directions);
    perp_diag_clear(&diag);
    return failures != 0;
}
