/* What the noise of the states that predictions begin from does to the estimates. These states are taken from the data as they
 * are; here they are moved by their noise up and down, with signs drawn for each prediction, and the change of the
 * residuals says how far each parameter would go: its spread, and, from the gradients, its bias (the same that the noise has
 * already made; Cook & Stefanski 1994). Only said, since a first row may well be exact. */

#include "identify/identify.h"
#include "linalg/invert.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS, DRAWS = 4 };

typedef struct work {
    double *inverse;                 /* of the information, np x np */
    double *up, *down;               /* n each */
    double *jacobian;                /* n x np */
    double *sigma;                   /* nstate */
    double spread[MOST], bias[MOST]; /* in z; squared sums, sums */
    int has_bias;
} work;

/* The noise of each state that starts from a measured column. 0: there is none. */
static int find_noise(const perp__study *s, const perp_identification *result, double *sigma)
{
    int found = 0;
    for (int j = 0; j < s->nm; j++) {
        const perp__measured *m = &s->measured[j];
        const perp_fit_column *c = &result->column[j];
        if (m->kind != PERP_STATE || s->depends[m->index] || !(c->rms > 1e-6 * c->scale)) continue;
        sigma[m->index] = m->has_noise ? fmin(m->scale, c->rms) : c->rms;
        found = 1;
    }
    return found;
}

static int invert_information(const perp__problem *p, const perp__minimum *m, double *inverse)
{
    double A[MOST * MOST], g[MOST];
    int np = p->np, index[4 * MOST];
    double *room = malloc((size_t)(2 * np * np + np) * sizeof *room);
    perp__normal_equations(p, m, A, g);
    int ok = room && perp__invert(np, A, np, inverse, room, index);
    free(room);
    return ok;
}

/* One prediction went off by g: add the squares of the parameters' steps. */
static void add_prediction(work *w, int np, double *g)
{
    for (int i = 0; i < np; i++) {
        double d = 0;
        for (int k = 0; k < np; k++) d += w->inverse[i + k * np] * g[k];
        w->spread[i] += d * d / DRAWS;
    }
    for (int i = 0; i < np; i++) g[i] = 0;
}

static void add_spread(const perp__study *s, const perp__problem *p, const perp__minimum *m,
                       work *w)
{
    double g[MOST] = {0};
    long at = 0;
    for (int r = 0; r < s->nrun; r++) {
        for (int row = 0; row < s->run[r].rows; row++) {
            for (int j = 0; j < s->nm; j++, at++) {
                double change = 0.5 * (w->up[at] - w->down[at]);
                for (int i = 0; i < p->np && !isnan(change); i++)
                    g[i] += m->jacobian[at + (long)i * p->n] * change;
            }
            int is_last = row == s->run[r].rows - 1;
            if (is_last || (s->options.horizon && row && row % s->options.horizon == 0))
                add_prediction(w, p->np, g);
        }
    }
}

/* The step from the gradient J'r of moved predictions. */
static void add_bias(const perp__problem *p, const perp__minimum *m, const double *residual,
                     work *w)
{
    double g[MOST] = {0}, theta[MOST];
    int np = p->np;
    perp__to_theta(p, m->z, theta);
    if (!p->differentiate || !p->differentiate(p->context, theta, w->jacobian)) w->has_bias = 0;
    for (int i = 0; i < np && w->has_bias; i++) {
        double scale = p->log_scale[i] ? theta[i] * log(p->hi[i] / p->lo[i]) : p->hi[i] - p->lo[i];
        for (long k = 0; k < p->n; k++) {
            if (isnan(residual[k]) || isnan(m->residual[k])) continue;
            g[i] += scale * w->jacobian[k + (long)i * p->n] * residual[k] -
                    m->jacobian[k + (long)i * p->n] * m->residual[k];
        }
    }
    for (int i = 0; i < np; i++) {
        for (int k = 0; k < np; k++) w->bias[i] -= w->inverse[i + k * np] * g[k] / (2 * DRAWS);
    }
}

static int draw(const perp__study *s, perp__problem *p, const perp__minimum *m, work *w)
{
    int ok = 1;
    for (int k = 0; k < DRAWS && ok; k++) {
        perp__predictor_move_starts(p->context, w->sigma, 1, k);
        ok = isfinite(perp__cost_at(p, m->z, w->up));
        if (ok && w->has_bias) add_bias(p, m, w->up, w);
        perp__predictor_move_starts(p->context, w->sigma, -1, k);
        ok = ok && isfinite(perp__cost_at(p, m->z, w->down));
        if (ok && w->has_bias) add_bias(p, m, w->down, w);
        if (ok) add_spread(s, p, m, w);
    }
    perp__predictor_move_starts(p->context, NULL, 0, 0);
    return ok;
}

static int say(const perp__study *s, const perp__problem *p, const work *w,
               perp_identification *result)
{
    const char *what = s->options.horizon
                           ? "the rows that predictions begin from are taken as exact; if they are"
                           : "the first row of a run is taken as exact; if it is";
    for (int i = 0; i < p->np; i++) {
        const perp_estimate *e = &result->parameter[i];
        double slope = p->log_scale[i] ? e->value * log(p->hi[i] / p->lo[i]) : p->hi[i] - p->lo[i];
        double spread = sqrt(w->spread[i]) * fabs(slope), bias = w->bias[i] * slope,
               ratio = sqrt(1 + spread * spread / (e->std_error * e->std_error));
        int is_biased =
            w->has_bias && s->options.horizon && fabs(bias) > e->std_error && fabs(bias) > spread;
        if (ratio > 1.5 && !s->options.bootstrap &&
            !perp__finding(
                result, "%s: %s as noisy as the others, the standard error is about %.2g, not %.2g",
                e->name, what, ratio * e->std_error, e->std_error))
            return 0;
        if (is_biased && !perp__finding(result,
                                        "%s: %s as noisy as the others, the estimate is off by "
                                        "roughly %+.2g; a longer --horizon lessens that",
                                        e->name, what, bias))
            return 0;
    }
    return 1;
}

perp_status perp__start_noise(const perp__study *s, perp__problem *p, const perp__minimum *m,
                              perp_identification *result)
{
    size_t np = (size_t)p->np, n = (size_t)p->n;
    for (int i = 0; i < p->np; i++) {
        if (!result->parameter[i].identifiable || !(result->parameter[i].std_error > 0))
            return PERP_OK;
    }
    double *room = calloc(np * np + 2 * n + n * np + (size_t)s->nstate + 1, sizeof *room);
    if (!room) return PERP_ERR_MEMORY;
    work w = {.inverse = room,
              .up = room + np * np,
              .has_bias = p->differentiate != NULL && s->options.huber == 0};
    w.down = w.up + n, w.jacobian = w.down + n, w.sigma = w.jacobian + n * np;
    int ok =
        find_noise(s, result, w.sigma) && invert_information(p, m, w.inverse) && draw(s, p, m, &w);
    perp_status status = !ok || say(s, p, &w, result) ? PERP_OK : PERP_ERR_MEMORY;
    result->evaluations = p->evaluations;
    free(room);
    return status;
}
