/* Intervals from resampled runs (Efron 1979). Sets of as many runs are drawn with replacement, the
 * parameters are estimated anew from each, and the spread of the estimates is the standard error.
 * Runs are independent even where the samples of one run are not. */

#include "base/hash.h"
#include "base/sorted.h"
#include "base/tol.h"
#include "identify/identify.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 5, ITERATIONS = 20 };

static uint64_t next_random(uint64_t *state)
{
    *state += PERP__RANDOM_STEP;
    return perp__mixed(*state);
}

/* How often each run is drawn, as weights of its residuals. */
static void draw(const perp__study *s, uint64_t *state, double *weight, int *count)
{
    long at = 0;
    memset(count, 0, (size_t)s->nrun * sizeof *count);
    for (int r = 0; r < s->nrun; r++) count[next_random(state) % (uint64_t)s->nrun]++;
    for (int r = 0; r < s->nrun; r++) {
        for (long k = 0; k < (long)s->run[r].rows * s->nm; k++) weight[at++] = count[r];
    }
}

/* Covariance of two parameters over the sets. Sets of n runs vary like the mean of n about its own
 * mean: n - 1 are free. */
static double covariance_of(const double *x, const double *y, int sets, int nrun)
{
    double a = 0, b = 0, product = 0;
    for (int k = 0; k < sets; k++) {
        a += x[k] - x[0];
        b += y[k] - y[0];
        product += (x[k] - x[0]) * (y[k] - y[0]);
    }
    product -= a * b / sets;
    return product / (sets - 1) * nrun / (nrun - 1);
}

/* The quantiles that leave the confidence between them, expanded as Student's interval is beyond
 * the normal one with the standard deviation of n (Hesterberg 2015). */
static void take_quantiles(double *x, int n, double confidence, int nrun, perp_estimate *e)
{
    double wide = perp__student_quantile(confidence, nrun - 1) * sqrt(nrun / (nrun - 1.0));
    perp__sort(x, (size_t)n);
    int tail = (int)floor(0.5 * erfc(wide / sqrt(2)) * (n - 1) + 0.5);
    e->low = x[tail];
    e->high = x[n - 1 - tail];
}

static void summarise(const perp__study *s, double *theta, int sets, int done,
                      perp_identification *result)
{
    int np = s->np;
    for (int i = 0; i < np; i++) {
        for (int j = 0; j < np; j++) {
            if (!result->parameter[i].identifiable || !result->parameter[j].identifiable) continue;
            result->covariance[i + j * np] =
                covariance_of(theta + i * sets, theta + j * sets, done, s->nrun);
        }
    }
    for (int i = 0; i < np; i++) {
        perp_estimate *e = &result->parameter[i];
        if (!e->identifiable) continue;
        e->std_error = sqrt(fmax(0, result->covariance[i + i * np]));
        take_quantiles(theta + i * sets, done, s->options.confidence, s->nrun, e);
    }
}

static perp_status refuse(const perp__study *s)
{
    return perp__refuse(s->diag, PERP_ERR_ARG, perp__in(NULL),
                        "the bootstrap resamples runs and needs at least %d of them and 10 sets; "
                        "there are %d runs, %d sets\n",
                        LEAST_RUNS, s->nrun, s->options.bootstrap);
}

perp_status perp__bootstrap(const perp__study *s, perp__problem *p, const perp__minimum *best,
                            perp_identification *result)
{
    int sets = s->options.bootstrap, done = 0;
    uint64_t state = s->options.seed;
    if (sets == 0) return PERP_OK;
    if (s->nrun < LEAST_RUNS || sets < 10) return refuse(s);
    perp__minimum m = {0};
    double *theta = malloc((size_t)s->np * (size_t)sets * sizeof *theta),
           *weight = malloc((size_t)p->n * sizeof *weight);
    int *count = malloc((size_t)s->nrun * sizeof *count);
    int ok = theta && weight && count && perp__minimum_allocate(&m, p);
    for (int k = 0; k < sets && ok; k++) {
        draw(s, &state, weight, count);
        p->weight = weight;
        memcpy(m.z, best->z, (size_t)s->np * sizeof(double));
        perp__minimise(p, &m, ITERATIONS, fmax(s->options.tol, PERP_TOL_BOOTSTRAP));
        if (!isfinite(m.cost)) continue;
        for (int i = 0; i < s->np; i++) theta[i * sets + done] = m.theta[i];
        done++;
    }
    p->weight = NULL;
    ok = ok && p->status != PERP_ERR_MEMORY;
    if (ok && done > 1) summarise(s, theta, sets, done, result);
    if (ok && done < sets)
        ok = perp__finding(result,
                           "%d of %d resampled sets had no verified solution and are left out",
                           sets - done, sets);
    result->evaluations = p->so_far.evaluations;
    perp__minimum_free(&m);
    free(theta);
    free(weight);
    free(count);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}
