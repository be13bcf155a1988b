/* Estimator `predict`: the parameters whose simulated motion is nearest to the recorded one.
 *
 * Problem: any model that can be simulated. Algorithm: multi-step prediction from the data's initial states, residuals of
 * all measured columns, Levenberg-Marquardt with derivatives through the solved steps (or wide central differences where the
 * cost has a valley for each sequence of contacts), many starts. Fails: where the motion is chaotic over the horizon the cost
 * is rugged; shorten the horizon or use Huber's loss. Cost: starts + iterations * 2 (with differences: 1 + 2 np) simulations
 * of all runs, spread over the threads. */

#include "identify/identify.h"

#include <math.h>

static perp_status no_solution(const perp__study *s, const perp__predictor *predictor)
{
    return perp__refuse(s->diag, PERP_ERR_NO_SOLUTION, perp__in(perp_model_file(s->model)),
                        "the model has no verified solution over the data from any of the "
                        "starts; the first:\n%s",
                        perp__predictor_fault(predictor));
}

static perp_status run(perp__study *s, perp_identification *result)
{
    perp__predictor *predictor = NULL;
    perp__problem p = {.np = s->np,
                       .lo = s->lo,
                       .hi = s->hi,
                       .log_scale = s->log_scale,
                       .huber = s->options.huber,
                       .watch = &s->options,
                       .evaluate = perp__predictor_evaluate,
                       .differentiate = perp__predictor_differentiate,
                       .take_part = perp__predictor_take_part};
    if (s->options.derivatives == PERP_DERIVATIVES_DIFFERENCES) p.differentiate = NULL;
    p.fixed_width = s->options.derivatives == PERP_DERIVATIVES_EXACT;
    perp__minimum best = {0};
    double dof[PERP_IDENTIFY_MOST_PARAMETERS];
    int is_biased = 0;
    perp_status status = perp__predictor_create(s, &predictor);
    if (status != PERP_OK) return status;
    p.context = predictor;
    p.n = perp__predictor_residuals(predictor);
    if (!perp__problem_allocate(&p) || !perp__minimum_allocate(&best, &p)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp__search(s, &p, &best, result);
    if (status == PERP_OK && !isfinite(best.cost))
        status = result->interrupted ? perp__stopped(s) : no_solution(s, predictor);
    if (status == PERP_OK) status = perp__report(s, &p, &best, dof, result);
    if (status == PERP_OK) status = perp__start_noise(s, &p, &best, dof, &is_biased, result);
    if (status == PERP_OK) status = perp__bootstrap(s, &p, &best, result);
    if (status == PERP_OK) status = perp__judge_intervals(s, &p, &best, is_biased, result);
    perp__minimum_free(&best);
    perp__problem_free(&p);
    perp__predictor_destroy(predictor);
    return status;
}

const perp__estimator perp__estimator_predict = {run};
