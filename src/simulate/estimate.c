/* How far the end of a run is from that of the motion: the same model by a method of higher order, which takes longer steps and ends at
 * events, so that its own error is the smaller one. How large that is, steps twice as long tell. */

#include "simulate/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_STEPS = 16 };

/* Order 5 and more: the difference of a run and one with steps twice as long is at least this many times its error. */
#define OWN_SHARE 10

/* The method that a run is held against; PERP_INTEGRATOR_COUNT: there is none. */
static perp_integrator beside(perp_integrator by)
{
    return by == PERP_RADAU7   ? PERP_INTEGRATOR_COUNT
           : by == PERP_RADAU5 ? PERP_RADAU7
                               : PERP_RADAU5;
}

/* The states at the end by n steps of this method. */
static perp_status end_by(const perp_simulation *sim, perp_integrator by, long n, double *state,
                          perp_diag *diag)
{
    perp_simulation *other = NULL;
    perp_simulation_options o = sim->options;
    o.integrator = by;
    o.to = perp_simulation_time(sim);
    o.step = (o.to - o.from) / (double)n;
    perp_status status = perp_simulation_create(sim->model, &o, &other, diag);
    if (status == PERP_OK) status = perp_simulation_run(other, NULL, NULL, diag);
    for (int i = 0; i < sim->step.nx && status == PERP_OK; i++)
        state[i] = perp_simulation_state(other, i);
    perp_simulation_destroy(other);
    return status;
}

static perp_status refuse(const perp_simulation *sim, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                        "the error of this run is not estimated: %s\n", why);
}

perp_status perp_simulation_estimate(const perp_simulation *sim, int longer, double *error,
                                     double *unsure, perp_diag *diag)
{
    if (!sim || longer < 1 || !error || !unsure) return PERP_ERR_ARG;
    perp_integrator by = beside(sim->options.integrator);
    if (sim->model->kind == PERP_DISCRETE) return refuse(sim, "a discrete model has none", diag);
    if (by == PERP_INTEGRATOR_COUNT) return refuse(sim, "no method has a higher order", diag);
    if (sim->done == 0) return refuse(sim, "no step was taken", diag);
    int is_set = sim->step.sym.varied.n > 0;
    for (int k = 0; k < sim->step.table.n; k++) is_set |= sim->step.table.is_set[k];
    if (sim->was_moved) return refuse(sim, "its states were set or restored on the way", diag);
    if (is_set) return refuse(sim, "its parameters or inputs may have been set on the way", diag);
    long n = sim->done / longer;
    if (n < LEAST_STEPS) n = LEAST_STEPS;
    size_t bytes = ((size_t)sim->step.nx + 1) * sizeof(double);
    double *twice = malloc(bytes);
    perp_status status = twice ? end_by(sim, by, n, error, diag)
                               : perp__out_of_memory(diag, sim->model->source.name);
    if (status == PERP_OK) status = end_by(sim, by, n / 2, twice, diag);
    for (int i = 0; i < sim->step.nx && status == PERP_OK; i++) {
        unsure[i] = fabs(error[i] - twice[i]) / OWN_SHARE;
        error[i] = fabs(error[i] - perp_simulation_state(sim, i));
    }
    free(twice);
    return status;
}
