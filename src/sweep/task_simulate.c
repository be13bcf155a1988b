/* A job that is a run. */

#include "base/words.h"
#include "sweep/task.h"
#include "simulate/stepping.h"

#include <math.h>

static perp_status create(const perp_sweep_options *s, const perp_model *model, void **of,
                          perp_diag *diag)
{
    perp_simulation *sim = NULL;
    perp_simulation_options o = perp_simulation_options_default(model);
    if (!isnan(s->from)) o.from = s->from;
    if (!isnan(s->to)) o.to = s->to;
    if (!isnan(s->step)) o.step = s->step;
    if (s->integrator < PERP_INTEGRATOR_COUNT) o.integrator = s->integrator;
    perp_status status = perp_simulation_create(model, &o, &sim, diag);
    *of = sim;
    return status;
}

static void destroy(void *of)
{
    perp_simulation_destroy(of);
}

static int columns(const void *of)
{
    return perp_simulation_columns(of);
}

static const char *column(const void *of, int i)
{
    return perp_simulation_column_name(of, i);
}

static const char *column_unit(const void *of, int i)
{
    return perp_simulation_column_unit(of, i);
}

static int number(const void *of, int i, char room[PERP__NUMBER_NAME], const char **unit,
                  double *value)
{
    (void)of;
    (void)i;
    (void)room;
    (void)unit;
    (void)value;
    return 0;
}

static perp_status run(void *of, perp__take_row take, void *context, double *last,
                       perp__ending *ending, perp_diag *diag)
{
    perp_status status = perp__run_whole(of, take, context, diag);
    perp_simulation_summary done = {.size = sizeof done};
    perp_simulation_get_summary(of, &done);
    ending->steps = done.steps;
    ending->error = done.worst_error;
    if (status == PERP_OK) perp_simulation_row(of, last);
    return status;
}

const perp__task perp__task_simulate = {create, destroy, columns, column, column_unit, number, run};
