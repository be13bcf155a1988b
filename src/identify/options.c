/* The table of estimators, and the options that a model's identify block sets. */

#include "base/words.h"
#include "identify/identify.h"
#include "model/identify_block.h"

#include <math.h>
#include <string.h>

static const perp__word estimator_rows[] = {
#define PERP_ESTIMATOR(name, suffix, summary) {#name, summary},
#include "perp/estimators.def"
#undef PERP_ESTIMATOR
};
static const perp__word derivatives_rows[] = {
    {"auto", "exact, unless wide differences disagree"},
    {"exact", "through the solved steps"},
    {"differences", "of whole predictions"},
};
static const perp__words estimators = PERP_WORDS(estimator_rows),
                         derivatives = PERP_WORDS(derivatives_rows);

PERP_WORD_FUNCTIONS(perp_estimator, perp_estimator, estimators)
PERP_WORD_SUMMARY(perp_estimator, perp_estimator_summary, estimators)
PERP_WORD_FUNCTIONS(perp_derivatives, perp_derivatives, derivatives)

static perp_status refuse(const perp_model *model, const char *what, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(model->source.name), "%s\n", what);
}

/* Without a block, every parameter with a range is estimated. */
static perp_status default_parameters(const perp_model *model, perp_identify_options *o,
                                      perp_diag *diag)
{
    const perp__identify_block *b = model->identify;
    int listed = b && b->nparam, n = listed ? b->nparam : model->nitem[PERP_PARAM];
    for (int i = 0; i < n; i++) {
        const perp__item *item = &model->item[PERP_PARAM][listed ? b->param[i] : i];
        if (!(isfinite(item->lo) && isfinite(item->hi)) || item->is_structural) continue;
        if (o->nparameter == PERP_IDENTIFY_MOST_PARAMETERS)
            return refuse(model, "more than 64 parameters to estimate; choose with 'estimate'",
                          diag);
        o->parameter[o->nparameter++] = item->name;
    }
    return PERP_OK;
}

static perp_status read_block(const perp_model *model, perp_identify_options *o, perp_diag *diag)
{
    const perp__identify_block *b = model->identify;
    if (b->nmeasure > PERP_IDENTIFY_MOST_MEASURES)
        return refuse(model, "more than 256 measured columns", diag);
    for (int i = 0; i < b->nmeasure; i++)
        o->measure[i] =
            (perp_measure){b->measure[i].name, b->measure[i].noise, b->measure[i].weight};
    o->nmeasure = b->nmeasure;
    if (!isnan(b->horizon)) o->horizon = (int)b->horizon;
    if (!isnan(b->starts)) o->starts = (int)b->starts;
    if (!isnan(b->seed)) o->seed = (unsigned long long)b->seed;
    if (!isnan(b->step)) o->step = b->step;
    if (b->method.text) o->method = perp_estimator_find(b->method.text);
    if (o->method != PERP_ESTIMATOR_COUNT) return PERP_OK;
    return perp__refuse_word(diag, PERP_ERR_ARG, perp__said_place(&model->source, b->method),
                             "method", b->method.text, &estimators);
}

perp_status perp__check_choices(const perp_identify_options *o, perp_diag *diag)
{
    perp__place place = perp__in("identify");
    if ((unsigned)o->method >= PERP_ESTIMATOR_COUNT)
        return perp__refuse_word(diag, PERP_ERR_ARG, place, "method", NULL, &estimators);
    if ((unsigned)o->derivatives >= PERP_DERIVATIVES_COUNT)
        return perp__refuse_word(diag, PERP_ERR_ARG, place, "kind of derivatives", NULL,
                                 &derivatives);
    return PERP_OK;
}

perp_status perp_identify_options_fill(perp_identify_options *options, size_t size,
                                       const perp_model *model, perp_diag *diag)
{
    if (!model || !options) return PERP_ERR_ARG;
    perp_identify_options own = {.method = PERP_ESTIMATOR_PREDICT,
                                 .tol = 1e-10,
                                 .max_iter = 100,
                                 .seed = 1,
                                 .step = NAN,
                                 .integrator = PERP_INTEGRATOR_COUNT,
                                 .confidence = 0.95};
    perp_status status = model->identify ? read_block(model, &own, diag) : PERP_OK;
    if (status == PERP_OK) status = default_parameters(model, &own, diag);
    perp__options_give(options, size, &own, sizeof own);
    return status;
}
