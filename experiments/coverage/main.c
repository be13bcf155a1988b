/* How often do 95 % intervals hold the truth? Runs of known parameters are simulated, noise is added, the parameters are identified, and
 * the intervals that hold the truth are counted.   experiment_coverage BLOCK DECAY BALL BELT [--quick] */

#include "support/random.h"
#include "support/verdicts.h"

#include "perp/perp.h"
#include "../../tests/support/outcomes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 };

typedef struct subject {
    const char *what;
    const char *column[2]; /* recorded */
    double noise[2];
    int every; /* steps a row */
    const char *name[MOST];
    double truth[MOST];
    int sets;
    perp_integrator by; /* of the recorded motion, and of the search */
} subject;

typedef struct tally {
    int given, held[MOST], right;
} tally;

/* A run as a table: noise on all rows but the first. */
static perp_dataset *record(const subject *s, perp_model *truth, uint64_t *seed, perp_diag *diag)
{
    perp_simulation *sim = NULL;
    perp_dataset *data = NULL;
    perp_trajectory *table = NULL;
    double row[32];
    char text[32768];
    size_t used = (size_t)snprintf(text, sizeof text, "t,%s%s%s", s->column[0],
                                   s->column[1] ? "," : "", s->column[1] ? s->column[1] : "");
    perp_simulation_options o = perp_simulation_options_default(truth);
    o.integrator = s->by;
    perp_status status = perp_simulation_create(truth, &o, &sim, diag);
    for (long k = 0; status == PERP_OK; k++) {
        if (k % s->every == 0) {
            perp_simulation_row(sim, row);
            used += (size_t)snprintf(text + used, sizeof text - used, "\n%.17g", row[0]);
            for (int i = 0; i < 2 && s->column[i]; i++) {
                int c = 0;
                while (strcmp(perp_simulation_column_name(sim, c), s->column[i]) != 0) c++;
                used += (size_t)snprintf(text + used, sizeof text - used, ",%.17g",
                                         row[c] + (k ? s->noise[i] * normal(seed) : 0));
            }
        }
        if (k == perp_simulation_steps(sim)) break;
        status = simulation_step(sim, NULL, diag);
    }
    if (status == PERP_OK) status = perp_trajectory_parse(text, used, "run", &table, diag);
    if (status == PERP_OK) status = perp_dataset_create(&data);
    if (status == PERP_OK) status = perp_dataset_add(data, table, "run", diag);
    perp_simulation_destroy(sim);
    if (status == PERP_OK) return data;
    perp_dataset_destroy(data);
    return NULL;
}

static void count(const subject *s, const perp_identification *a, tally *t)
{
    int right = 1;
    t->given += a->parameter[0].has_interval;
    for (int i = 0; i < a->nparameter; i++) {
        const perp_estimate *e = &a->parameter[i];
        t->held[i] += e->has_interval && e->low <= s->truth[i] && s->truth[i] <= e->high;
        right &= fabs(e->value - s->truth[i]) <= 0.1 * fmax(fabs(s->truth[i]), 0.5);
    }
    t->right += right;
}

static tally study(const char *file, const subject *s, perp_diag *diag)
{
    tally t = {0};
    uint64_t seed = 7;
    for (int k = 0; k < s->sets; k++) {
        perp_model *truth = NULL, *model = NULL;
        perp_identification a = {.size = sizeof a};
        perp_identify_options o;
        int ok = perp_model_load(file, &truth, diag) == PERP_OK &&
                 perp_model_load(file, &model, diag) == PERP_OK &&
                 perp_identify_options_default(model, &o, diag) == PERP_OK;
        for (int i = 0; i < MOST && s->name[i] && ok; i++)
            ok = perp_model_set(truth, s->name[i], s->truth[i], diag) == PERP_OK;
        if (ok) o.integrator = s->by;
        perp_dataset *data = ok ? record(s, truth, &seed, diag) : NULL;
        if (data && run_identify(model, data, &o, &a, diag) == PERP_OK) {
            count(s, &a, &t);
            perp_identification_clear(&a);
        } else {
            failures++;
        }
        perp_dataset_destroy(data);
        perp_model_destroy(model);
        perp_model_destroy(truth);
    }
    printf("%s: %d of %d sets are found, %d with intervals, which hold", s->what, t.right, s->sets,
           t.given);
    for (int i = 0; i < MOST && s->name[i]; i++)
        printf("%s %s %.1f %%", i ? "," : "", s->name[i], 100.0 * t.held[i] / fmax(t.given, 1));
    printf("\n");
    return t;
}

/* Most sets have intervals, and these hold the truth as often as they say. */
static void judge_smooth(const subject *s, const tally *t)
{
    int ok = t->given > 0.8 * s->sets;
    double few = 3 * sqrt(0.0475 * t->given); /* of few sets 92 to 97 % may be missed by chance */
    for (int i = 0; i < MOST && s->name[i]; i++)
        ok &= s->sets < 400 ? t->held[i] >= 0.95 * t->given - few
                            : t->held[i] >= 0.92 * t->given && t->held[i] <= 0.97 * t->given;
    verdict("at least 8 of 10 sets have intervals, and each holds the truth in 92 to 97 %", ok);
}

/* Impacts between samples: few intervals, and no more of them miss the truth than chance has it, within 3 standard deviations. */
static void judge_ball(const subject *s, const tally *t)
{
    double misses = 0.05 * t->given + 3 * sqrt(0.0475 * t->given);
    int ok = t->right == s->sets;
    for (int i = 0; i < MOST; i++) ok &= t->given - t->held[i] <= misses;
    verdict("every ball is found, and no more intervals miss the truth than 5 of 100", ok);
}

int main(int argc, char **argv)
{
    perp_diag diag = {0};
    int quick = argc > 5 && strcmp(argv[5], "--quick") == 0;
    subject blocks[] = {{"block, m = 1.3, mu = 0.37",
                         {"x", "v"},
                         {0.002, 0.02},
                         5,
                         {"m", "mu"},
                         {1.3, 0.37},
                         600,
                         PERP_BACKWARD_EULER},
                        {"block, m = 0.8, mu = 0.2",
                         {"x", "v"},
                         {0.002, 0.02},
                         5,
                         {"m", "mu"},
                         {0.8, 0.2},
                         600,
                         PERP_BACKWARD_EULER}};
    subject decays[] = {
        {"decay", {"x"}, {0.05}, 1, {"c", "b", "d"}, {1.3, 0.8, 0.2}, 600, PERP_RADAU5}};
    subject balls[] = {{"ball, e = 0.5",
                        {"z", "x"},
                        {0.004, 0.004},
                        1,
                        {"e", "mu", "g"},
                        {0.5, 0.3, 9.81},
                        100,
                        PERP_BACKWARD_EULER},
                       {"ball, e = 0.7",
                        {"z", "x"},
                        {0.004, 0.004},
                        1,
                        {"e", "mu", "g"},
                        {0.7, 0.12, 9.81},
                        100,
                        PERP_BACKWARD_EULER},
                       {"ball, e = 0.8",
                        {"z", "x"},
                        {0.004, 0.004},
                        1,
                        {"e", "mu", "g"},
                        {0.8, 0.05, 9.5},
                        400,
                        PERP_BACKWARD_EULER}};
    subject moving[] = {
        {"ball, e = 0.5, in time",
         {"z", "x"},
         {0.004, 0.004},
         1,
         {"e", "mu", "g"},
         {0.5, 0.3, 9.81},
         400,
         PERP_RADAU5},
        {"ball, e = 0.7, in time",
         {"z", "x"},
         {0.004, 0.004},
         1,
         {"e", "mu", "g"},
         {0.7, 0.12, 9.81},
         400,
         PERP_RADAU5},
        {"ball, e = 0.8, in time",
         {"z", "x"},
         {0.004, 0.004},
         1,
         {"e", "mu", "g"},
         {0.8, 0.05, 9.5},
         400,
         PERP_RADAU5},
        {"belt", {"x"}, {0.004}, 1, {"k", "mu", "u"}, {18, 0.3, 0.4}, 400, PERP_RADAU5}};
    if (argc < 5) {
        fprintf(stderr,
                "usage: experiment_coverage BLOCK.perp DECAY.perp BALL.perp BELT.perp [--quick]\n");
        return 1;
    }
    for (int k = 0; k < 2; k++) {
        tally t = study(argv[1], &blocks[k], &diag);
        judge_smooth(&blocks[k], &t);
    }
    tally t = study(argv[2], &decays[0], &diag);
    judge_smooth(&decays[0], &t);
    for (int k = 0; k < 3; k++) {
        if (quick) balls[k].sets /= 10;
        t = study(argv[3], &balls[k], &diag);
        judge_ball(&balls[k], &t);
    }
    for (int k = 0; k < 4; k++) { /* through located events */
        if (quick) moving[k].sets /= 10;
        t = study(argv[k < 3 ? 3 : 4], &moving[k], &diag);
        judge_smooth(&moving[k], &t);
    }
    fputs(perp_diag_text(&diag), stderr);
    perp_diag_clear(&diag);
    return failures != 0;
}
