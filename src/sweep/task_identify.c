/* A job that is an identification: its numbers are the estimates, their standard errors and
 * intervals, and the residual. */

#include "base/base.h"
#include "sweep/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct job {
    const perp_model *model;
    const perp_dataset *data;
    perp_identify_options o;
    perp_identification answer;
    int is_done;
} job;

static void destroy(void *of)
{
    job *j = of;
    if (j && j->is_done) perp_identification_clear(&j->answer);
    free(j);
}

static perp_status create(const perp_sweep_options *s, const perp_model *model, void **of,
                          perp_diag *diag)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return PERP_ERR_MEMORY;
    j->model = model;
    j->data = s->data;
    perp_status status = perp_identify_options_default(model, &j->o, diag);
    if (status == PERP_OK && !perp__options_take(&j->o, sizeof j->o, s->identify))
        status = PERP_ERR_ARG;
    j->o.threads = 1; /* jobs are what goes in parallel */
    j->o.progress = NULL;
    *of = j;
    if (status == PERP_OK) return status;
    destroy(j);
    *of = NULL;
    return status;
}

static int no_columns(const void *of)
{
    (void)of;
    return 0;
}

static const char *no_column(const void *of, int i)
{
    (void)of;
    (void)i;
    return NULL;
}

/* The k-th number of a parameter. */
static double entry(const perp_estimate *e, int k)
{
    const double of[] = {e->identifiable ? e->value : (double)NAN,
                         e->has_interval ? e->std_error : (double)NAN, e->low, e->high};
    return of[k];
}

static const char *unit_of(const perp_model *model, const char *name)
{
    perp_symbol_kind kind;
    int i;
    return perp_model_find(model, name, &kind, &i) ? perp_model_symbol(model, kind, i).unit : "";
}

static int number(const void *of, int i, char room[PERP__NUMBER_NAME], const char **unit,
                  double *value)
{
    static const char *const before[] = {"", "std_error(", "low(", "high("};
    enum { FORMS = 4 };
    const job *j = of;
    int p = i / FORMS, k = i % FORMS, n = j->o.nparameter;
    if (p > n || (p == n && k > 0)) return 0;
    *unit = p < n ? unit_of(j->model, j->o.parameter[p]) : "";
    *value = (double)NAN;
    if (p == n) {
        snprintf(room, PERP__NUMBER_NAME, "noise_factor");
        if (j->is_done) *value = j->answer.noise_factor;
        return 1;
    }
    snprintf(room, PERP__NUMBER_NAME, "%s%s%s", before[k], j->o.parameter[p], k ? ")" : "");
    if (j->is_done) *value = entry(&j->answer.parameter[p], k);
    return 1;
}

static perp_status run(void *of, perp__take_row take, void *context, double *last,
                       perp__ending *ending, perp_diag *diag)
{
    job *j = of;
    (void)take;
    (void)context;
    (void)last;
    j->answer = (perp_identification){.size = sizeof j->answer};
    perp_status status = perp_identify(j->model, j->data, &j->o, &j->answer, diag);
    if (status != PERP_OK) return status;
    j->is_done = 1;
    if (j->answer.outcome != PERP_SOLVED) return PERP_ERR_NO_SOLUTION;
    ending->outcome = "identified";
    for (int p = 0; p < j->answer.nparameter; p++)
        if (!j->answer.parameter[p].identifiable) ending->outcome = "not identifiable";
    ending->steps = j->answer.evaluations;
    ending->error = j->answer.noise_factor;
    return PERP_OK;
}

const perp__task perp__task_identify = {create,    destroy, no_columns, no_column,
                                        no_column, number,  run};
