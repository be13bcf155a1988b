/* The public call: make a study, hand it to the estimator, clear up. */

#include "identify/identify.h"

#include <stdlib.h>
#include <string.h>

static const perp__estimator *const estimators[] = {
#define PERP_ESTIMATOR(name, suffix, summary) &perp__estimator_##name,
#include "perp/estimators.def"
#undef PERP_ESTIMATOR
};

static perp_status identify(const perp_model *model, const perp_dataset *data,
                            const perp_identify_options *options, perp_identification *result,
                            perp_diag *diag)
{
    perp__study study;
    perp_identify_options o;
    double start = perp__now();
    perp_status status = perp_identify_options_default(model, &o, diag);
    if (status == PERP_OK && !perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if (status == PERP_OK && o.ranks && o.method != PERP_ESTIMATOR_PREDICT)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(perp_model_file(model)),
                            "method %s is for one process; predict is shared\n",
                            perp_estimator_name(o.method));
    if (status == PERP_OK) status = perp__study_create(&study, model, data, &o, diag);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, perp_model_file(model));
    if (status != PERP_OK) return status;
    result->method = o.method;
    result->step = study.step;
    result->integrator = PERP_INTEGRATOR_COUNT;
    status = estimators[o.method]->run(&study, result);
    perp__study_clear(&study);
    result->seconds = perp__now() - start;
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, perp_model_file(model));
    if (status != PERP_OK) perp_identification_clear(result);
    if (status != PERP_ERR_NO_SOLUTION) return status;
    result->outcome = PERP_LIMIT;
    return PERP_OK;
}

perp_status perp_identify(const perp_model *model, const perp_dataset *data,
                          const perp_identify_options *options, perp_identification *result,
                          perp_diag *diag)
{
    perp_identification own = {.outcome = PERP_SOLVED};
    if (!result || !PERP__FITS(result)) return PERP_ERR_ARG;
    perp_status status = PERP_ERR_ARG;
    if (model && data) status = identify(model, data, options, &own, diag);
    perp__result_give(result, &own, sizeof own);
    return status;
}

void perp_identification_clear(perp_identification *result)
{
    if (!result) return;
    for (int k = 0; k < result->nstart; k++) free(result->start[k].from);
    for (int k = 0; k < result->nfinding; k++) free(result->finding[k]);
    free(result->parameter);
    free(result->column);
    free(result->start);
    free(result->finding);
    free(result->covariance);
    *result = (perp_identification){.size = result->size};
}
