/* Intervals from resampled runs (Efron 1979): sets of as many runs are drawn with replacement, the parameters are estimated
 * anew from each, and the spread of the estimates is the standard error. Runs are independent of each other even where the
 * samples of one run are not. */

#include "identify/identify.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_RUNS = 5, ITERATIONS = 20 };

/* splitmix64 (Steele, Lea & Flood 2014) */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Standard deviation, and the quantiles that leave the confidence between them. */
static void summarise(double *x, int n, double confidence, perp_estimate *e)
{
    double sum = 0, squares = 0;
    for (int k = 0; k < n; k++) sum += x[k], squares += (x[k] - x[0]) * (x[k] - x[0]);
    double shift = sum / n - x[0];
    e->std_error = sqrt(fmax(0, squares / n - shift * shift) * n / (n - 1));
    qsort(x, (size_t)n, sizeof *x, ascending);
    int tail = (int)floor(0.5 * (1 - confidence) * (n - 1) + 0.5);
    e->low = x[tail];
    e->high = x[n - 1 - tail];
}

static perp_status refuse(const perp__study *s)
{
    perp__diag_append(s->diag,
                      "the bootstrap resamples runs and needs at least %d of them and 10 sets; "
                      "there are %d runs, %d sets\n",
                      LEAST_RUNS, s->nrun, s->options.bootstrap);
    if (s->diag) s->diag->errors++;
    return PERP_ERR_ARG;
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
        perp__minimise(p, &m, ITERATIONS, fmax(s->options.tol, 1e-6));
        if (!isfinite(m.cost)) continue;
        for (int i = 0; i < s->np; i++) theta[i * sets + done] = m.theta[i];
        done++;
    }
    p->weight = NULL;
    for (int i = 0; i < s->np && ok && done > 1; i++) {
        if (result->parameter[i].identifiable)
            summarise(theta + i * sets, done, s->options.confidence, &result->parameter[i]);
    }
    if (ok && done < sets)
        ok = perp__finding(result,
                           "%d of %d resampled sets had no verified solution and are left out",
                           sets - done, sets);
    result->evaluations = p->evaluations;
    perp__minimum_free(&m);
    free(theta);
    free(weight);
    free(count);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}
