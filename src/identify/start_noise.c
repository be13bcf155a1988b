/* The effect of noise in the initial states of predictions on the estimates. These states come
 * directly from the data. Here each is moved by its noise up and down, with random signs for each
 * prediction. The change of the residuals gives the change of each parameter: its covariance, and,
 * from the gradients, its bias (Cook & Stefanski 1994). */

#include "base/tol.h"
#include "identify/identify.h"
#include "linalg/invert.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS };

typedef struct work {
    double *inverse;       /* of the information, np x np */
    double *up, *down;     /* n each */
    double *jacobian;      /* n x np */
    double *sigma, *moved; /* nstate: noise; and the one state that is moved */
    double *spread;        /* np x np: covariance in z */
    double bias[MOST];     /* in z */
    int has_bias;
} work;

/* Does a prediction begin from a measured value of state k? */
static int is_measured(const perp__study *s, int k)
{
    int measured = s->options.horizon > 0;
    for (int r = 0; r < s->nrun; r++) measured |= !perp__starts_exactly(s, &s->run[r], 0, k);
    return measured && !s->depends[k];
}

/* The noise of each state that starts from a measured column. Returns 0: there is none. */
static int find_noise(const perp__study *s, const perp_identification *result, double *sigma)
{
    int found = 0;
    for (int j = 0; j < s->nm; j++) {
        const perp__measured *m = &s->measured[j];
        const perp_fit_column *c = &result->column[j];
        if (m->kind != PERP_STATE || !is_measured(s, m->index) ||
            !(c->rms > PERP_TOL_NOISELESS * c->scale))
            continue;
        sigma[m->index] = m->has_noise ? fmin(m->scale, c->rms) : c->rms;
        found = 1;
    }
    return found;
}

static int invert_information(const perp__problem *p, const perp__minimum *m, double *inverse)
{
    double A[MOST * MOST], g[MOST];
    perp__normal_equations(p, m, A, g);
    return perp__invert(p->np, A, p->np, NULL, inverse, p->square, p->index);
}

/* One prediction changed by g: add the products of the parameters' steps. */
static void add_prediction(work *w, int np, double *g)
{
    double d[MOST] = {0};
    for (int i = 0; i < np; i++) {
        for (int k = 0; k < np; k++) d[i] += w->inverse[i + k * np] * g[k];
    }
    for (int i = 0; i < np * np; i++) w->spread[i] += d[i % np] * d[i / np];
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
    if (p->differentiate(p->context, theta, w->jacobian) != PERP_OK) w->has_bias = 0;
    for (int i = 0; i < np && w->has_bias; i++) {
        double scale = p->log_scale[i] ? theta[i] * log(p->hi[i] / p->lo[i]) : p->hi[i] - p->lo[i];
        for (long k = 0; k < p->n; k++) {
            if (isnan(residual[k]) || isnan(m->residual[k])) continue;
            g[i] += scale * w->jacobian[k + (long)i * p->n] * residual[k] -
                    m->jacobian[k + (long)i * p->n] * m->residual[k];
        }
    }
    for (int i = 0; i < np; i++) {
        for (int k = 0; k < np; k++) w->bias[i] -= w->inverse[i + k * np] * g[k] / 2;
    }
}

static int draw(const perp__study *s, perp__problem *p, const perp__minimum *m, work *w)
{
    int ok = 1;
    for (int k = 0; k < s->nstate && ok; k++) {
        if (!(w->sigma[k] > 0)) continue;
        for (int i = 0; i < s->nstate; i++) w->moved[i] = i == k ? w->sigma[k] : 0;
        perp__predictor_move_starts(p->context, w->moved, 1, k);
        ok = isfinite(perp__cost_at(p, m->z, w->up));
        if (ok && w->has_bias) add_bias(p, m, w->up, w);
        perp__predictor_move_starts(p->context, w->moved, -1, k);
        ok = ok && isfinite(perp__cost_at(p, m->z, w->down));
        if (ok && w->has_bias) add_bias(p, m, w->down, w);
        if (ok) add_spread(s, p, m, w);
    }
    perp__predictor_move_starts(p->context, NULL, 0, 0);
    return ok;
}

/* The covariance grows by the spread. Its effect on the standard error is reported if it exceeds a
 * tenth. */
static int take(const perp__study *s, const perp__problem *p, const perp__minimum *m, const work *w,
                const double *dof, int *is_biased, perp_identification *result)
{
    const char *what = s->options.horizon ? "the rows that predictions begin from are measured"
                                          : "the first row of a run is measured";
    int np = p->np, ok = 1;
    double before[MOST];
    for (int i = 0; i < np; i++) before[i] = result->parameter[i].std_error;
    for (int i = 0; i < np * np; i++)
        result->covariance[i] +=
            w->spread[i] * perp__slope(s, m->theta, i % np) * perp__slope(s, m->theta, i / np);
    perp__fill_intervals(s, dof, result);
    for (int i = 0; i < np && ok; i++) {
        const perp_estimate *e = &result->parameter[i];
        double bias = w->bias[i] * perp__slope(s, m->theta, i);
        int is_off = w->has_bias && s->options.horizon && fabs(bias) > 0.5 * e->std_error;
        if (e->std_error > 1.1 * before[i] && !s->options.bootstrap)
            ok = perp__finding(result,
                               "%s: %s, and as noisy as the others: that widens the standard error "
                               "from %.2g to %.2g",
                               e->name, what, before[i], e->std_error);
        if (ok && is_off)
            ok = perp__finding(result,
                               "%s: %s, and as noisy as the others: the estimate has an error of "
                               "roughly %+.2g; a longer --horizon lessens that",
                               e->name, what, bias);
        *is_biased |= is_off;
    }
    return ok;
}

perp_status perp__start_noise(const perp__study *s, perp__problem *p, const perp__minimum *m,
                              const double *dof, int *is_biased, perp_identification *result)
{
    size_t np = (size_t)p->np, n = (size_t)p->n, nstate = (size_t)s->nstate;
    *is_biased = 0;
    for (int i = 0; i < p->np; i++) {
        if (!result->parameter[i].identifiable || !(result->parameter[i].std_error > 0))
            return PERP_OK;
    }
    double *room = calloc(2 * np * np + 2 * n + n * np + 2 * nstate + 1, sizeof *room);
    if (!room) return PERP_ERR_MEMORY;
    work w = {.inverse = room,
              .spread = room + np * np,
              .up = room + 2 * np * np,
              .has_bias = p->differentiate != NULL && s->options.huber == 0};
    w.down = w.up + n;
    w.jacobian = w.down + n;
    w.sigma = w.jacobian + n * np;
    w.moved = w.sigma + nstate;
    int ok =
        find_noise(s, result, w.sigma) && invert_information(p, m, w.inverse) && draw(s, p, m, &w);
    perp_status status =
        !ok || take(s, p, m, &w, dof, is_biased, result) ? PERP_OK : PERP_ERR_MEMORY;
    result->evaluations = p->so_far.evaluations;
    free(room);
    return status;
}
