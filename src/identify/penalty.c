/* Estimator `penalty`: complementarity variables measured, violations penalised (notes 3.1.1 to
 * 3.1.3).
 *
 * Minimises, over all steps s, the squares of what the conditions leave over:
 *
 *     sum of (x_s + g_s' theta)^2 over equations (the prediction error)
 *     + sum over pairs of (a_s b_s)^2 + min(0, b_s)^2,    b_s = x_s + g_s' theta
 *
 * (the notes add norms; squares have the same zeros and can be searched by Levenberg-Marquardt).
 * Direct, slack and traditional formulations, and structured bases of M, are models: what is
 * estimated is what the model leaves open. The trivial solution is excluded by fixing one entry of
 * each row. Unlike lp it has no hard constraint, so noise moves it gently. Unlike svd it uses the
 * inactive steps, too. Fails: nothing says that a stuck velocity is exactly zero (Remark 3). */

#include "identify/samples.h"

#include <math.h>

static perp_status evaluate(void *context, const double *theta, double *residual)
{
    const perp__samples *x = context;
    long at = 0;
    for (int c = 0; c < x->ncondition; c++) {
        for (int s = 0; s < x->n; s++) {
            double value = perp__samples_value(x, c, s, theta);
            int is_equation = x->condition[c].is_equation;
            residual[at++] = is_equation ? value : x->other[c * x->n + s] * value;
            residual[at++] = is_equation ? (double)NAN : fmin(0, value);
        }
    }
    return PERP_OK;
}

static perp_status run(perp__study *s, perp_identification *result)
{
    perp__samples x;
    perp_status status = perp__samples_create(s, &x);
    if (status != PERP_OK) return status;
    perp__problem p = {.np = s->np,
                       .n = 2L * x.n * x.ncondition,
                       .lo = s->lo,
                       .hi = s->hi,
                       .log_scale = s->log_scale,
                       .huber = s->options.huber,
                       .watch = &s->options,
                       .evaluate = evaluate,
                       .context = &x};
    perp__minimum best = {0};
    double dof[PERP_IDENTIFY_MOST_PARAMETERS];
    perp__worth worth = {0};
    if (!perp__problem_allocate(&p) || !perp__minimum_allocate(&best, &p)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp__search(s, &p, &best, result);
    if (status == PERP_OK && !isfinite(best.cost)) status = perp__stopped(s);
    int nm = s->nm;
    s->nm = 0; /* residuals here are of conditions, not of columns */
    result->samples = (long)x.n * x.ncondition;
    if (status == PERP_OK) status = perp__report(s, &p, &best, dof, result);
    if (status == PERP_OK) status = perp__judge_intervals(s, &p, &best, &worth, result);
    s->nm = nm;
    perp__minimum_free(&best);
    perp__problem_free(&p);
    perp__samples_clear(&x);
    return status;
}

const perp__estimator perp__estimator_penalty = {run};
