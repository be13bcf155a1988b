/* Friction of a tossed body of two links and a hinge, from the phases of recorded tosses in which it slides without turning:
 * does the estimate depend on the start, and does it predict phases of other tosses better than the published value? Even
 * tosses train, odd ones test. Then whole tosses, with impacts, by a model of both links. Prints a line a claim, with a verdict.
 *
 *     experiment_elbow SLIDING.perp LINKS.perp FOLDER [--quick] */

#include "links.h"
#include "support/verdicts.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME     (1.0 / 148)
#define PUBLISHED 0.3

/* p (3), q (4), hinge angle, v (3), w (3, body), hinge speed. */
enum { COLUMNS = 15, ANGLE = 7, SPEED_UP = 10, TURN = 11, HINGE = 14, SHORTEST = 8 };

/* Horizontal place of the common mass centre: half-way between the links', the second of which is 35 mm from the hinge. */
static void mass_centre(const double *row, double *at)
{
    const double *q = row + 3, a = row[ANGLE];
    double b[3] = {0.5 * (-0.035 + 0.035 * cos(a)), 0.5 * 0.06, -0.5 * 0.035 * sin(a)};
    double t[3] = {2 * (q[2] * b[2] - q[3] * b[1]), 2 * (q[3] * b[0] - q[1] * b[2]),
                   2 * (q[1] * b[1] - q[2] * b[0])};
    at[0] = row[0] + b[0] + q[0] * t[0] + q[2] * t[2] - q[3] * t[1];
    at[1] = row[1] + b[1] + q[0] * t[1] + q[3] * t[0] - q[1] * t[2];
}

static int turns(const double *row)
{
    const double *w = row + TURN;
    return sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) > 0.6 || fabs(row[HINGE]) > 0.6 ||
           fabs(row[SPEED_UP]) > 0.05;
}

/* Path from row i - 1 to row i. */
static double advance(const toss *t, int i)
{
    double now[2], before[2];
    mass_centre(t->row + i * COLUMNS, now);
    mass_centre(t->row + (i - 1) * COLUMNS, before);
    return hypot(now[0] - before[0], now[1] - before[1]);
}

/* Rows from `first` on in which it slides without turning, faster than 0.1 m/s. */
static int phase_length(const toss *t, int first)
{
    int i = first;
    while (i + 1 < t->rows && !turns(t->row + i * COLUMNS) && advance(t, i) > 0.1 * FRAME &&
           advance(t, i + 1) > 0.1 * FRAME)
        i++;
    return i - first;
}

static perp_status add_phase(perp_dataset *data, const toss *t, int first, int rows, int k,
                             perp_diag *diag)
{
    char text[16384], name[32];
    size_t used = (size_t)snprintf(text, sizeof text, "t,s,v");
    double s = 0;
    for (int i = 0; i < rows; i++) {
        double before = advance(t, first + i), after = advance(t, first + i + 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "\n%.17g,%.17g,%.17g", i * FRAME,
                                 s, (before + after) / (2 * FRAME));
        s += after;
    }
    perp_trajectory *table;
    snprintf(name, sizeof name, "toss %d, row %d", k, first);
    perp_status status = perp_trajectory_parse(text, used, name, &table, diag);
    return status == PERP_OK ? perp_dataset_add(data, table, name, diag) : status;
}

/* Phases of the tosses first, first + 2, ... */
static perp_dataset *phases_from(const tosses *all, int first, perp_diag *diag)
{
    perp_dataset *data;
    if (perp_dataset_create(&data) != PERP_OK) return NULL;
    for (int k = first; k < all->n; k += 2) {
        for (int i = 1, rows; i < all->toss[k].rows; i += rows + 1) {
            rows = phase_length(&all->toss[k], i);
            if (rows < SHORTEST) continue;
            if (add_phase(data, &all->toss[k], i, rows, k, diag) != PERP_OK) failures++;
        }
    }
    return data;
}

/* mu from the data, with that start and two others; or, without iterations, the cost at that start. */
static int estimate(perp_model *model, const perp_dataset *data, double start, int iterations,
                    perp_identification *a, perp_diag *diag)
{
    perp_identify_options o;
    if (perp_model_set(model, "mu", start, diag) != PERP_OK ||
        perp_identify_options_default(model, &o, diag) != PERP_OK)
        return 0;
    o.huber = 1; /* tracking errors */
    o.starts = iterations ? 3 : 1;
    o.max_iter = iterations;
    o.bootstrap = iterations ? 100 : 0;
    return run_identify(model, data, &o, a, diag) == PERP_OK;
}

static double compare_starts(perp_model *model, const perp_dataset *data, perp_diag *diag)
{
    const double starts[] = {0.02, 0.1, 0.3, 1};
    double low = 1e9, high = 0, error = 1e9;
    for (int k = 0; k < 4; k++) {
        perp_identification a = {.size = sizeof a};
        if (!estimate(model, data, starts[k], 100, &a, diag)) return (double)NAN;
        double mu = a.parameter[0].value;
        error = a.parameter[0].std_error;
        printf("  from mu = %-5g %.4f +- %.4f in %.2f s\n", starts[k], mu, error, a.seconds);
        low = fmin(low, mu), high = fmax(high, mu);
        perp_identification_clear(&a);
    }
    verdict("every start from 0.02 to 1 gives the same mu within 0.01", high - low <= 0.01);
    verdict("the published 0.3 is over 3 standard errors away", PUBLISHED - high > 3 * error);
    return high;
}

static double cost(perp_model *model, const perp_dataset *data, double mu, perp_diag *diag)
{
    perp_identification a = {.size = sizeof a};
    if (!estimate(model, data, mu, 0, &a, diag)) return (double)NAN;
    double value = a.start[0].cost;
    perp_identification_clear(&a);
    return value;
}

static void study(perp_model *model, const tosses *all, perp_diag *diag)
{
    perp_dataset *train = phases_from(all, 0, diag), *test = phases_from(all, 1, diag);
    if (train && test) {
        printf("elbow: %d recorded tosses, %d sliding phases to train, %d to test\n", all->n,
               perp_dataset_runs(train), perp_dataset_runs(test));
        double mu = compare_starts(model, train, diag);
        double ours = cost(model, test, mu, diag), theirs = cost(model, test, PUBLISHED, diag);
        printf("  cost on phases of other tosses: %.1f with %.4f, %.1f with %.1f\n", ours, mu,
               theirs, PUBLISHED);
        verdict("phases not used are predicted better than with the published value",
                ours < theirs);
        perp_identification a = {.size = sizeof a};
        if (estimate(model, test, PUBLISHED, 100, &a, diag)) {
            printf("  from the other half: mu = %.4f +- %.4f\n", a.parameter[0].value,
                   a.parameter[0].std_error);
            verdict("both halves agree within 0.03", fabs(a.parameter[0].value - mu) <= 0.03);
            perp_identification_clear(&a);
        }
    }
    perp_dataset_destroy(train);
    perp_dataset_destroy(test);
}

/* Run one of the parts on its model. */
static void run_part(const char *path, const tosses *all, int whole, int quick, perp_diag *diag)
{
    perp_model *model = NULL;
    if (perp_model_load(path, &model, diag) == PERP_OK && whole)
        verdict("with friction from whole tosses others are predicted no worse than with the "
                "published value",
                links_study(model, all, PUBLISHED, quick, diag) == 1);
    else if (model)
        study(model, all, diag);
    perp_model_destroy(model);
}

int main(int argc, char **argv)
{
    tosses all;
    perp_diag diag = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: experiment_elbow SLIDING.perp LINKS.perp FOLDER [--quick]\n");
        return 1;
    }
    if (!tosses_read(argv[3], COLUMNS, &all)) {
        printf("skipped: no recorded tosses in %s\n", argv[3]);
        tosses_free(&all);
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* lines appear as they are known */
    run_part(argv[1], &all, 0, 0, &diag);
    run_part(argv[2], &all, 1, argc > 4 && strcmp(argv[4], "--quick") == 0, &diag);
    fputs(perp_diag_text(&diag), stderr);
    failures += diag.errors;
    perp_diag_clear(&diag);
    tosses_free(&all);
    return failures != 0;
}
