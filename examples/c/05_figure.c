/* A sliding block for three coefficients of friction, drawn as one figure: position, velocity, and the phase portrait.
 *
 *     build/example_05_figure [OUT.svg]        (default build/block.svg)
 */

#include "perp/perp.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 3, ROWS = 2001 };

static const char text[] = "param mu = 0.1, g = 9.81\n"
                           "state x = 0, v = 2\n"
                           "var f\n"
                           "der(x) = v\n"
                           "der(v) = f\n"
                           "-mu*g <= f <= mu*g perp v\n"
                           "simulate to 2 step 1e-3\n";

static double t[RUNS][ROWS], x[RUNS][ROWS], v[RUNS][ROWS];

typedef struct place {
    int run;
} place;

static perp_status keep(void *context, long step, const double *row)
{
    int run = ((place *)context)->run;
    if (step >= ROWS) return PERP_ERR_STOPPED;
    t[run][step] = row[0];
    x[run][step] = row[1];
    v[run][step] = row[2];
    return PERP_OK;
}

static perp_status simulate(perp_model *model, double mu, int run, perp_diag *diag)
{
    perp_simulation *simulation = NULL;
    place p = {run};
    perp_status status = perp_model_set(model, "mu", mu, diag);
    perp_simulation_options options = perp_simulation_options_default(model);
    if (status == PERP_OK) status = perp_simulation_create(model, &options, &simulation, diag);
    perp_simulation_summary done = {.size = sizeof done};
    if (status == PERP_OK) status = perp_simulation_run(simulation, keep, &p, &done, diag);
    perp_simulation_destroy(simulation);
    return perp_outcome_status(status, done.outcome);
}

static perp_status draw(const char *path, perp_diag *diag)
{
    static const char *const label[RUNS] = {"mu = 0.1", "mu = 0.2", "mu = 0.4"};
    perp_series position[RUNS], velocity[RUNS], phase[RUNS];
    for (int r = 0; r < RUNS; r++) {
        position[r] = (perp_series){.label = label[r], .x = t[r], .y = x[r], .n = ROWS};
        velocity[r] = (perp_series){.label = label[r], .x = t[r], .y = v[r], .n = ROWS};
        phase[r] = (perp_series){.label = label[r], .x = x[r], .y = v[r], .n = ROWS};
    }
    perp_axis time = {.label = "t", .unit = "s"}, metres = {.label = "x", .unit = "m"},
              speed = {.label = "v", .unit = "m/s"};
    perp_panel panels[] = {{.x = time, .y = metres, .series = position, .nseries = RUNS},
                           {.x = time, .y = speed, .series = velocity, .nseries = RUNS},
                           {.x = metres, .y = speed, .series = phase, .nseries = RUNS}};
    perp_figure figure = {.title = "a block slides to rest", .panels = panels, .npanels = 3};
    return perp_figure_write_svg(&figure, path, diag);
}

int main(int argc, char **argv)
{
    static const double mu[RUNS] = {0.1, 0.2, 0.4};
    const char *path = argc > 1 ? argv[1] : "build/block.svg";
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_status status = perp_model_parse(text, sizeof text - 1, "block", &model, &diag);
    for (int r = 0; r < RUNS && status == PERP_OK; r++) status = simulate(model, mu[r], r, &diag);
    if (status == PERP_OK) status = draw(path, &diag);
    if (status == PERP_OK) printf("ok: %s\n", path);
    fputs(perp_diag_text(&diag), stderr);
    perp_diag_clear(&diag);
    perp_model_destroy(model);
    return status == PERP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
