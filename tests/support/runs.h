/* Loading and running models in tests. Every failure prints the diagnostics and ends the test. */

#ifndef PERP_TEST_RUNS_H
#define PERP_TEST_RUNS_H

#include "unit.h"

#include <stdio.h>

#include "perp/perp.h"
#include "outcomes.h"

/* A finished run: row k, column c is value[k * ncolumn + c]. */
typedef struct run {
    perp_model *model;
    perp_simulation *sim;
    int ncolumn;
    long nrow;
    double *value;
    double worst; /* residual */
} run;

static inline perp_model *load_model(const char *example)
{
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    snprintf(path, sizeof path, "%s/examples/%s", PERP_SOURCE_DIR, example);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return model;
}

static inline perp_model *parse_model(const char *text)
{
    perp_diag diag = {0};
    perp_model *model;
    if (perp_model_parse(text, strlen(text), "test.perp", &model, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return model;
}

/* A text that is no model, and what is said of it. */
static inline void refuse_model(const char *text, const char *said)
{
    perp_diag diag = {0};
    perp_model *model;
    perp_model_parse(text, strlen(text), "m.perp", &model, &diag);
    if (model || !strstr(perp_diag_text(&diag), said))
        fail_msg("%s\nexpected '%s' in\n%s", text, said, model ? "nothing" : perp_diag_text(&diag));
    perp_model_destroy(model);
    perp_diag_clear(&diag);
}

static inline void set_value(perp_model *model, const char *name, double value)
{
    perp_diag diag = {0};
    if (perp_model_set(model, name, value, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
}

static inline perp_status keep_row(void *context, long step, const double *row)
{
    run *r = context;
    (void)step;
    if ((r->nrow & (r->nrow - 1)) == 0) { /* double the room at every power of two */
        size_t rows = r->nrow ? 2 * (size_t)r->nrow : 1;
        r->value = realloc(r->value, rows * (size_t)r->ncolumn * sizeof *r->value);
        assert_non_null(r->value);
    }
    memcpy(r->value + r->nrow++ * r->ncolumn, row, (size_t)r->ncolumn * sizeof *row);
    return PERP_OK;
}

/* Run a model (which the run then owns); `to` and `step` are the model's when they are not
 * positive. */
static inline run run_as(perp_model *model, const perp_simulation_options *o)
{
    perp_diag diag = {0};
    run r = {.model = model};
    if (perp_simulation_create(model, o, &r.sim, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    r.ncolumn = perp_simulation_columns(r.sim);
    if (simulation_run(r.sim, keep_row, &r, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    r.worst = simulation_summary(r.sim).worst_residual;
    return r;
}

static inline run run_model(perp_model *model, double to, double step)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    if (to > 0) o.to = to;
    if (step > 0) o.step = step;
    return run_as(model, &o);
}

static inline void free_run(run *r)
{
    perp_simulation_destroy(r->sim);
    perp_model_destroy(r->model);
    free(r->value);
}

static inline int column_of(const run *r, const char *name)
{
    for (int c = 0; c < r->ncolumn; c++) {
        if (strcmp(perp_simulation_column_name(r->sim, c), name) == 0) return c;
    }
    fail_msg("no column '%s'", name);
    return -1;
}

static inline double at(const run *r, long row, const char *name)
{
    return r->value[row * r->ncolumn + column_of(r, name)];
}

static inline double last(const run *r, const char *name)
{
    return at(r, r->nrow - 1, name);
}

/* The file of a name that ends in .perp, from the folder of the sources; else a text. */
static inline perp_model *load_or_parse(const char *what)
{
    char path[1024];
    perp_diag diag = {0};
    perp_model *model;
    if (!strstr(what, ".perp")) return parse_model(what);
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, what);
    if (perp_model_load(path, &model, &diag) != PERP_OK) fail_msg("%s", perp_diag_text(&diag));
    return model;
}

/* A whole run by this method. */
static inline perp_simulation *run_to(const perp_model *model, perp_integrator by, double to,
                                      double step)
{
    perp_diag diag = {0};
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.integrator = by, o.to = to, o.step = step;
    if (perp_simulation_create(model, &o, &sim, &diag) != PERP_OK ||
        simulation_run(sim, NULL, NULL, &diag) != PERP_OK)
        fail_msg("%s", perp_diag_text(&diag));
    return sim;
}

#endif
