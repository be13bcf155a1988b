/* A job that is a plan: its rows are its nodes, its numbers the cost, the horizon and the free
 * parameters. */

#include "base/base.h"
#include "sweep/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    perp_plan *plan;
    perp_plan_result result;
} job;

static void destroy(void *of)
{
    job *j = of;
    if (j) perp_plan_destroy(j->plan);
    free(j);
}

static perp_status create(const perp_sweep_options *s, const perp_model *model, void **of,
                          perp_diag *diag)
{
    perp_plan_options o = perp_plan_options_default(model);
    if (!perp__options_take(&o, sizeof o, s->plan)) return PERP_ERR_ARG;
    job *j = calloc(1, sizeof *j);
    if (!j) return PERP_ERR_MEMORY;
    o.threads = 1; /* jobs are what goes in parallel */
    o.progress = NULL;
    j->result.cost = j->result.horizon = (double)NAN;
    perp_status status = perp_plan_create(model, &o, &j->plan, diag);
    *of = j;
    if (status == PERP_OK) return status;
    destroy(j);
    *of = NULL;
    return status;
}

static int columns(const void *of)
{
    return perp_plan_columns(((const job *)of)->plan);
}

static const char *column(const void *of, int i)
{
    return perp_plan_column_name(((const job *)of)->plan, i);
}

static const char *column_unit(const void *of, int i)
{
    return perp_plan_column_unit(((const job *)of)->plan, i);
}

static int number(const void *of, int i, char room[PERP__NUMBER_NAME], const char **unit,
                  double *value)
{
    enum { COST, HORIZON, FREE };
    const job *j = of;
    const char *name;
    if (i == COST)
        name = "cost";
    else if (i == HORIZON)
        name = "horizon";
    else
        name = perp_plan_free_name(j->plan, i - FREE);
    if (!name) return 0;
    snprintf(room, PERP__NUMBER_NAME, "%s", name);
    *unit = i == HORIZON ? "s" : "";
    if (i == COST)
        *value = j->result.cost;
    else if (i == HORIZON)
        *value = j->result.horizon;
    else
        *value = perp_plan_free_value(j->plan, i - FREE);
    return 1;
}

static double worst(const perp_plan_result *r)
{
    return fmax(fmax(r->defect, r->complementarity), fmax(r->bounds, r->conditions));
}

static perp_status run(void *of, perp__take_row take, void *context, double *last,
                       perp__ending *ending, perp_diag *diag)
{
    job *j = of;
    j->result = (perp_plan_result){.size = sizeof j->result};
    perp_status status = perp_plan_solve(j->plan, &j->result, diag);
    if (status != PERP_OK) return status;
    const perp_plan_result *r = &j->result;
    ending->outcome = perp_plan_outcome_name(r->outcome);
    ending->steps = r->iterations;
    ending->error = worst(r);
    if (!perp_plan_holds(r->outcome)) {
        ending->reason = perp_plan_outcome_message(r->outcome);
        return PERP_ERR_NO_SOLUTION;
    }
    for (int k = 0; k < perp_plan_rows(j->plan) && status == PERP_OK; k++) {
        perp_plan_row(j->plan, k, last);
        if (take) status = take(context, k, last);
    }
    return status;
}

const perp__task perp__task_plan = {create, destroy, columns, column, column_unit, number, run};
