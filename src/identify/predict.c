/* Estimator `predict`: the parameters whose simulated motion is nearest to the recorded one.
 *
 * Problem: any model that can be simulated. Algorithm: multi-step prediction from the data's
 * initial states, residuals of all measured columns, many starts. Levenberg-Marquardt takes
 * derivatives through the solved steps, or wide central differences where the cost has a valley for
 * each sequence of contacts. Fails: if the motion is chaotic over the horizon the cost is rugged.
 * Shorten the horizon or use Huber's loss. Cost: starts + iterations * 2 (with differences: 1 + 2
 * np) simulations of all runs, spread over the threads. */

#include "base/tol.h"
#include "identify/identify.h"

#include <math.h>

static perp_status no_solution(const perp__study *s, const perp__predictor *predictor)
{
    const char *fault = perp__predictor_fault(predictor);
    return perp__refuse(s->diag, PERP_ERR_NO_SOLUTION, perp__in(perp_model_file(s->model)),
                        "the model has no verified solution over the data from any of the "
                        "starts; the first:\n%s",
                        fault[0] ? fault : "that of a run of another process\n");
}

/* By the study's method of steps. */
static perp_status fit(perp__study *s, perp__worth *worth, perp_identification *result)
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
    perp_status status = perp__predictor_create(s, &predictor);
    if (status != PERP_OK) return status;
    p.context = predictor;
    p.n = perp__predictor_residuals(predictor);
    if (!perp__problem_allocate(&p) || !perp__minimum_allocate(&best, &p)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp__search(s, &p, &best, result);
    if (status == PERP_OK && !isfinite(best.cost))
        status = result->interrupted ? perp__stopped(s) : no_solution(s, predictor);
    if (status == PERP_OK) status = perp__report(s, &p, &best, dof, result);
    if (status == PERP_OK) status = perp__start_noise(s, &p, &best, dof, &worth->is_biased, result);
    if (status == PERP_OK) status = perp__bootstrap(s, &p, &best, result);
    if (status == PERP_OK) status = perp__time_error(s, &p, &best, worth, result);
    if (status == PERP_OK) status = perp__judge_intervals(s, &p, &best, worth, result);
    perp__minimum_free(&best);
    perp__problem_free(&p);
    perp__predictor_destroy(predictor);
    return status;
}

static perp_integrator choose_integrator(const perp__study *s, int *is_open)
{
    const char *named = perp_model_simulate_task(s->model).method;
    *is_open = s->options.integrator == PERP_INTEGRATOR_COUNT && !named;
    if (s->options.integrator != PERP_INTEGRATOR_COUNT) return s->options.integrator;
    return named ? perp_integrator_find(named) : perp_simulation_recommend(s->model);
}

/* Rows that another run of steps has made are fitted by these, and not by the motion. */
static perp_status try_steps(perp__study *s, perp_identification *result)
{
    perp_identification other = {
        .method = result->method, .step = result->step, .integrator = PERP_BACKWARD_EULER};
    perp_integrator motion = s->integrator;
    perp_diag *diag = s->diag;
    perp__worth worth = {0};
    int ok = 1;
    s->integrator = PERP_BACKWARD_EULER;
    s->diag = NULL; /* if it has no fit, the other stands */
    perp_status status = fit(s, &worth, &other);
    s->integrator = motion;
    s->diag = diag;
    if (status == PERP_ERR_MEMORY || status == PERP_ERR_STOPPED) return status;
    double dof = fmax(1, (double)(other.samples - s->np));
    int is_better = status == PERP_OK && !worth.is_no_noise &&
                    result->cost > other.cost * (1 + PERP_BETTER_FIT / dof);
    if (is_better)
        ok = perp__finding(&other,
                           "the model names no method, and steps of backward-euler leave over "
                           "noise; what %s leaves, %.3g times the cost, is none",
                           perp_integrator_name(motion), result->cost / other.cost);
    perp_identification worse = is_better ? *result : other;
    if (is_better) *result = other;
    perp_identification_clear(&worse);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status run(perp__study *s, perp_identification *result)
{
    int is_open;
    perp__worth worth = {0};
    s->integrator = result->integrator = choose_integrator(s, &is_open);
    if (s->integrator == PERP_INTEGRATOR_COUNT) return PERP_ERR_MEMORY;
    perp_status status = fit(s, &worth, result);
    if (status != PERP_OK || !worth.is_no_noise || !is_open || s->integrator == PERP_BACKWARD_EULER)
        return status;
    return try_steps(s, result);
}

const perp__estimator perp__estimator_predict = {run};
