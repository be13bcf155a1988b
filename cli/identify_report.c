/* The page of an identification: a measured run, and under it the run that the estimated parameters
 * predict. */

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The model with the estimates, the initial state and the inputs of a measured run. */
static perp_status prepare(perp_model *model, const perp_trajectory *table, const char *name,
                           const perp_identification *a, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 0; i < a->nparameter && status == PERP_OK; i++)
        status = perp_model_set(model, a->parameter[i].name, a->parameter[i].value, diag);
    for (int i = 0; i < perp_model_count(model, PERP_STATE) && status == PERP_OK; i++) {
        const char *state = perp_model_symbol(model, PERP_STATE, i).name;
        const double *x = perp_trajectory_column(table, perp_trajectory_find(table, state));
        if (x && isfinite(x[0])) status = perp_model_set(model, state, x[0], diag);
    }
    for (int i = 0; i < perp_model_count(model, PERP_INPUT) && status == PERP_OK; i++) {
        const char *input = perp_model_symbol(model, PERP_INPUT, i).name;
        if (perp_trajectory_find(table, input) >= 0)
            status = perp_model_set_input_table(model, input, table, NULL, name, diag);
    }
    return status;
}

static perp_status write_head(perp_trajectory_writer *w, const perp_model *model,
                              const perp_simulation_options *o, const char *run,
                              const perp_identification *a)
{
    char line[1024], from[PERP_NUMBER_SIZE], to[PERP_NUMBER_SIZE], step[PERP_NUMBER_SIZE],
        value[PERP_NUMBER_SIZE];
    perp_number_write(o->from, from);
    perp_number_write(o->to, to);
    perp_number_write(o->step, step);
    snprintf(line, sizeof line, "model: %s (%s)\nfrom %s to %s step %s\npredicted for %s",
             perp_model_name(model), perp_model_file(model), from, to, step, run);
    perp_status status = perp_trajectory_writer_comment(w, line);
    for (int i = 0; i < perp_model_count(model, PERP_PARAM) && status == PERP_OK; i++) {
        perp_symbol s = perp_model_symbol(model, PERP_PARAM, i);
        perp_number_write(s.value, value);
        int n = snprintf(line, sizeof line, "param %s = %s %s", s.name, value, s.unit);
        for (int k = 0; k < a->nparameter && n < (int)sizeof line; k++) {
            const perp_estimate *e = &a->parameter[k];
            if (strcmp(e->name, s.name) == 0)
                n += e->has_interval || !e->identifiable
                         ? snprintf(line + n, sizeof line - (size_t)n, " estimated, %.6g to %.6g%s",
                                    e->low, e->high, e->identifiable ? "" : ", not identifiable")
                         : snprintf(line + n, sizeof line - (size_t)n,
                                    " estimated, without an interval");
        }
        status = perp_trajectory_writer_comment(w, line);
    }
    return status;
}

static perp_status put_row(void *context, long step, const double *row)
{
    (void)step;
    return perp_trajectory_writer_row(context, row);
}

/* The simulation from the first measured row, as a table. */
static perp_status predict(const perp_model *model, const perp_trajectory *table, const char *run,
                           const perp_identification *a, const char *path, perp_diag *diag)
{
    const double *t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    perp_simulation_options o = perp_simulation_options_default(model);
    o.from = t[0];
    o.to = t[perp_trajectory_rows(table) - 1];
    o.step = a->step;
    if (a->integrator != PERP_INTEGRATOR_COUNT) o.integrator = a->integrator;
    perp_simulation *sim = NULL;
    perp_trajectory_writer *w = NULL;
    perp_status status = perp_simulation_create(model, &o, &sim, diag);
    int n = status == PERP_OK ? perp_simulation_columns(sim) : 0;
    const char **name = malloc(((size_t)n + 1) * sizeof *name),
               **unit = malloc(((size_t)n + 1) * sizeof *unit);
    if (!name || !unit) status = PERP_ERR_MEMORY;
    for (int c = 0; c < n && status == PERP_OK; c++) {
        name[c] = perp_simulation_column_name(sim, c);
        unit[c] = perp_simulation_column_unit(sim, c);
    }
    if (status == PERP_OK) status = perp_trajectory_writer_stream(path, &w, diag);
    if (status == PERP_OK) status = write_head(w, model, &o, run, a);
    if (status == PERP_OK) status = perp_trajectory_writer_header(w, n, name, unit);
    perp_simulation_summary done = {.size = sizeof done};
    if (status == PERP_OK) status = perp_simulation_run(sim, put_row, w, &done, diag);
    status = perp_outcome_status(status, done.outcome);
    perp_status closed = perp_trajectory_writer_close(w, NULL, diag);
    perp_simulation_destroy(sim);
    free(name);
    free(unit);
    return status == PERP_OK ? closed : status;
}

perp_status cli_report_fit(const char *html, perp_model *model, const perp_dataset *data,
                           const perp_identification *a, perp_diag *diag)
{
    const perp_trajectory *table = perp_dataset_table(data, 0);
    const char *run = perp_dataset_name(data, 0);
    char path[4096];
    perp_trajectory *predicted = NULL;
    snprintf(path, sizeof path, "%s.%ld.csv", cli_is_standard_output(html) ? "perp-fit" : html,
             (long)getpid());
    perp_status status = prepare(model, table, run, a, diag);
    if (status == PERP_OK) status = predict(model, table, run, a, path, diag);
    if (status == PERP_OK) status = perp_trajectory_read(path, &predicted, diag);
    remove(path);
    perp_report_run runs[] = {{"measured", table, NULL, NULL},
                              {"predicted", predicted, model, NULL}};
    perp_report_options o = perp_report_options_default();
    o.title = perp_model_name(model);
    if (status == PERP_OK) status = perp_report_write_html(runs, 2, &o, html, diag);
    perp_trajectory_destroy(predicted);
    return status;
}
