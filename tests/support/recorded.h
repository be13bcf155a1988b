/* Making recorded data in tests: a model is run, chosen columns are kept, noise is added. */

#ifndef PERP_TEST_RECORDED_H
#define PERP_TEST_RECORDED_H

#include "runs.h"
#include "outcomes.h"

/* Standard normal, repeatable. */
static inline double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* Run `model` (destroyed) by its method, else one that fits it, and add every `every`-th row of the columns named to the data, with noise of standard deviation
 * `noise` on all but t and the first row. */
static inline void record(perp_dataset *data, perp_model *model, int every,
                          const char *const *columns, int n, double noise, uint64_t *seed)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    if (!perp_model_simulate_task(model).method) o.integrator = perp_simulation_recommend(model);
    run r = run_as(model, &o);
    size_t room = 64 + (size_t)r.nrow * (size_t)(n + 1) * 32, used = 0;
    char *text = malloc(room);
    assert_non_null(text);
    used += (size_t)snprintf(text, room, "t");
    for (int c = 0; c < n; c++)
        used += (size_t)snprintf(text + used, room - used, ",%s", columns[c]);
    for (long k = 0; k < r.nrow; k += every) {
        used += (size_t)snprintf(text + used, room - used, "\n%.17g", at(&r, k, "t"));
        for (int c = 0; c < n; c++) {
            double x = at(&r, k, columns[c]) + (k && noise > 0 ? noise * normal(seed) : 0);
            used += (size_t)snprintf(text + used, room - used, ",%.17g", x);
        }
    }
    perp_trajectory *table;
    perp_diag diag = {0};
    char name[32];
    snprintf(name, sizeof name, "run%d.csv", perp_dataset_runs(data));
    if (perp_trajectory_parse(text, used, name, &table, &diag) != PERP_OK ||
        perp_dataset_add(data, table, name, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    free(text);
    free_run(&r);
}

static inline perp_dataset *new_dataset(void)
{
    perp_dataset *data;
    assert_int_equal(perp_dataset_create(&data), PERP_OK);
    return data;
}

static inline perp_dataset *dataset_of(const char *text)
{
    perp_trajectory *table;
    perp_diag diag = {0};
    perp_dataset *data = new_dataset();
    if (perp_trajectory_parse(text, strlen(text), "run.csv", &table, &diag) != PERP_OK ||
        perp_dataset_add(data, table, "run.csv", &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return data;
}

static inline perp_identification identify(const perp_model *model, const perp_dataset *data,
                                           const perp_identify_options *options)
{
    perp_diag diag = {0};
    perp_identify_options o;
    perp_identification result = {.size = sizeof result};
    if (options)
        o = *options;
    else if (perp_identify_options_default(model, &o, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    if (run_identify(model, data, &o, &result, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return result;
}

/* A finding that contains the text? */
static inline int finds(const perp_identification *result, const char *text)
{
    for (int i = 0; i < result->nfinding; i++) {
        if (strstr(result->finding[i], text)) return 1;
    }
    return 0;
}

#endif
