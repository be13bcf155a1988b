/* Is an interval justified? Two searches must end at the least cost, and no other minimum may fit
 * as well. The cost over the interval must be that of the derivatives. The residuals must look like
 * noise. Else it is withdrawn, and each reason is reported. */

#include "base/tol.h"
#include "base/number.h"
#include "identify/identify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = PERP_IDENTIFY_MOST_PARAMETERS,
    LEAST_DOF = 5, /* below, residuals cannot be judged */
    LAGS = 10,     /* rows over which it must not go on */
    FEW = 20,      /* pairs of rows below which a correlation says nothing */
    INSIDE = 30    /* residuals that must count with their square with Huber's loss */
};

#define SIGMAS   4.0  /* of a test that noise fails once in 16000 times */
#define ROUNDING 1e-7 /* of a column's largest sample: left over from a fit without noise */
#define CURVED   3.0  /* times: how much more or less the cost may rise than its derivatives say */

typedef struct judge {
    const perp__study *s;
    perp__problem *p;
    const perp__minimum *m;
    perp_identification *result;
    int refused; /* reasons so far */
    int failed;  /* memory is out */
} judge;

#define REFUSE(j, ...)                                                                             \
    do {                                                                                           \
        (j)->refused++;                                                                            \
        if (!perp__finding((j)->result, "no interval: " __VA_ARGS__)) (j)->failed = 1;             \
    } while (0)

/* The search ----------------------------------------------------------------------------------- */

static void judge_search(judge *j)
{
    const perp_identification *r = j->result;
    int searched = 0, agreeing = perp__agreeing(j->p, r, j->m->cost);
    for (int k = 0; k < r->nstart; k++) searched += r->start[k].searched;
    if (r->interrupted) REFUSE(j, "the search was interrupted; this is the best so far");
    if (r->interrupted) return;
    if (j->m->is_cut)
        REFUSE(j, "the search from the best start ended at its limit of %d iterations",
               j->s->options.max_iter);
    if (j->s->options.max_iter == 0)
        REFUSE(j, "the starts were only looked at (max_iter is 0)");
    else if (searched < 2)
        REFUSE(j, "no other start was compared; give more --starts");
    else if (agreeing == 0)
        REFUSE(j,
               "the best fit was found by small moves over jumps of the cost; the %d searches from "
               "starts ended above it, and others may fit better",
               searched);
    else if (agreeing < 2)
        REFUSE(
            j,
            "of %d searches one alone ended at the best fit, so that others may fit better; more "
            "--starts tell",
            searched);
}

/* Does the end of a search lie outside the interval of some parameter, twice as wide? */
static int is_elsewhere(const judge *j, const double *theta)
{
    for (int i = 0; i < j->s->np; i++) {
        const perp_estimate *e = &j->result->parameter[i];
        double width = fmax(e->high - e->low, PERP_TOL_NARROW * (e->hi - e->lo));
        if (e->identifiable && fabs(theta[i] - e->value) > width) return 1;
    }
    return 0;
}

static size_t write_point(const judge *j, const double *theta, double cost, char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < j->s->np && n < size; i++)
        n += (size_t)perp__format(text + n, size - n, "%s%s = %.6g", i ? ", " : "",
                                  j->result->parameter[i].name, theta[i]);
    if (n < size) n += (size_t)perp__format(text + n, size - n, " (cost %.6g)", cost);
    return n < size ? n : size - 1;
}

/* Other minima whose cost is as low as noise lets tell. */
static void judge_minima(judge *j, double allowed)
{
    const perp_identification *r = j->result;
    char text[2048];
    size_t n = write_point(j, j->m->theta, j->m->cost, text, sizeof text);
    int found = 0;
    for (int k = 0; k < r->nstart; k++) {
        const perp_fit_start *start = &r->start[k];
        int is_new = start->searched && start->cost <= j->m->cost + allowed;
        if (!is_new || !is_elsewhere(j, start->to)) continue;
        if (found++ && n > sizeof text / 2) continue; /* counted, not listed */
        n += (size_t)snprintf(text + n, sizeof text - n, "; ");
        n += write_point(j, start->to, start->cost, text + n, sizeof text - n);
    }
    if (found) REFUSE(j, "%d minima fit as well within the noise: %s", found + 1, text);
}

static void judge_bounds(judge *j)
{
    for (int i = 0; i < j->s->np; i++) {
        const perp_estimate *e = &j->result->parameter[i];
        if (e->at_bound) REFUSE(j, "the estimate of %s is an end of its range", e->name);
    }
}

/* Residuals ------------------------------------------------------------------------------------ */

static void judge_samples(judge *j)
{
    const perp_identification *r = j->result;
    long dof = r->samples - j->s->np;
    int exact = 1;
    for (int k = 0; k < r->ncolumn; k++)
        exact &= r->column[k].rms <= ROUNDING * j->s->measured[k].size;
    if (dof == 0)
        REFUSE(
            j,
            "there are as many samples as parameters, and no residual is left to estimate the noise");
    else if (exact)
        REFUSE(j, "the model fits to rounding; there is no noise to judge an interval by");
    else if (dof < LEAST_DOF)
        REFUSE(j, "%ld samples more than parameters are too few to judge noise by", dof);
}

/* Correlation of the residuals of a column with those `lag` rows on, and the number of pairs. */
static double correlation(const judge *j, int column, int lag, long *pairs)
{
    const perp__study *s = j->s;
    double product = 0, squares = 0, n = 0;
    long at = column;
    *pairs = 0;
    for (int run = 0; run < s->nrun; run++) {
        for (int row = 0; row < s->run[run].rows; row++, at += s->nm) {
            double x = j->m->residual[at],
                   before = row >= lag ? j->m->residual[at - lag * s->nm] : (double)NAN;
            if (isnan(x)) continue;
            squares += x * x;
            n++;
            if (isnan(before)) continue;
            product += x * before;
            ++*pairs;
        }
    }
    return squares > 0 && *pairs ? product / (double)*pairs * n / squares : 0;
}

/* Noise has no memory: a wrong valley, and a model that errs, leave over what goes on from row to
 * row. */
static void judge_memory(judge *j, int column)
{
    const perp_fit_column *c = &j->result->column[column];
    const char *remedy = j->s->nrun >= 5 ? "; --bootstrap 200 allows for the latter" : "";
    if (c->rms <= ROUNDING * j->s->measured[column].size) return;
    for (int lag = 1; lag <= LAGS; lag++) {
        long pairs;
        double rho = correlation(j, column, lag, &pairs),
               sure = fabs(rho) * sqrt((double)pairs) > SIGMAS && fabs(rho) > 0.1;
        if (pairs < FEW || (!(sure > 0) && !(lag == 1 && rho > 0.5))) continue;
        REFUSE(j,
               "the residuals of %s are not noise: residuals %d row%s apart have the correlation "
               "%.2f; this is not the best fit, or the model errs, or noise lasts longer than a "
               "row%s",
               c->name, lag, lag == 1 ? "" : "s", rho, remedy);
        return;
    }
}

/* Are residuals larger than the noise that was stated? */
static int is_too_large(const judge *j, int column)
{
    const perp_fit_column *c = &j->result->column[column];
    double n = (double)c->samples, ratio = c->rms / c->scale;
    return j->s->measured[column].has_noise && !(j->s->options.huber > 0) &&
           n * ratio * ratio > n + SIGMAS * sqrt(2 * n);
}

static void judge_size(judge *j, int column)
{
    const perp_fit_column *c = &j->result->column[column];
    double ratio = c->rms / c->scale;
    if (!is_too_large(j, column)) return;
    REFUSE(
        j,
        "the residuals of %s are %.3g times its stated noise: this is not the best fit, or the "
        "model errs, or there is more noise",
        c->name, ratio);
}

/* Beyond Huber's bound residuals say on which side they are, no more. The curvature is that of the
 * others. */
static void judge_huber(judge *j)
{
    long inside = 0;
    double k = j->p->huber;
    if (!(k > 0)) return;
    for (long i = 0; i < j->p->n; i++) inside += fabs(j->m->residual[i]) <= k;
    if (inside < INSIDE)
        REFUSE(
            j,
            "%ld of %ld residuals are within Huber's bound of %g scales: too few for a curvature",
            inside, j->result->samples, k);
}

static int are_same(const perp__recording *a, const perp__recording *b)
{
    int n = perp_trajectory_columns(a->table);
    if (a->rows != b->rows || n != perp_trajectory_columns(b->table)) return 0;
    for (int c = 0; c < n; c++) {
        if (memcmp(perp_trajectory_column(a->table, c), perp_trajectory_column(b->table, c),
                   (size_t)a->rows * sizeof(double)) != 0)
            return 0;
    }
    return 1;
}

/* A run that is there twice says nothing new, but would shorten the intervals. */
static void judge_copies(judge *j)
{
    const perp__study *s = j->s;
    for (int r = 1; r < s->nrun; r++) {
        int k = 0;
        while (k < r && !are_same(&s->run[k], &s->run[r])) k++;
        if (k == r) continue;
        REFUSE(j, "%s has the same values as %s, and a run counted twice says nothing new",
               s->run[r].name, s->run[k].name);
        return;
    }
}

/* The cost over the interval ------------------------------------------------------------------- */

/* The cost at z, were residuals as their derivatives say. */
static double straight_cost(const judge *j, const double *dz)
{
    perp__problem *p = j->p;
    for (long i = 0; i < p->n; i++) {
        p->up[i] = j->m->residual[i];
        for (int k = 0; k < p->np; k++) p->up[i] += j->m->jacobian[i + k * p->n] * dz[k];
    }
    return perp__cost_of(p, p->up);
}

/* A step to the end of the interval of parameter i, with the others following by their covariance:
 * a step in z, shortened to stay in the box. Returns 0: there is no room. */
static int step_to_end(const judge *j, int i, double share, double *dz, double *z)
{
    const perp_identification *r = j->result;
    const perp_estimate *e = &r->parameter[i];
    int np = j->s->np;
    double half = 0.5 * (e->high - e->low), fit = 1;
    for (int k = 0; k < np; k++) {
        double c = r->parameter[k].identifiable ? r->covariance[k + i * np] : 0;
        dz[k] =
            share * half * c / (e->std_error * e->std_error) / perp__slope(j->s, j->m->theta, k);
        if (j->m->z[k] + dz[k] > 1) fit = fmin(fit, (1 - j->m->z[k]) / dz[k]);
        if (j->m->z[k] + dz[k] < 0) fit = fmin(fit, -j->m->z[k] / dz[k]);
    }
    for (int k = 0; k < np; k++) {
        dz[k] *= fit;
        z[k] = fmin(fmax(j->m->z[k] + dz[k], 0), 1);
    }
    return fit > 0.1;
}

/* How the cost rises to a share of the interval of parameter i, over what its derivatives say; NaN
 * where there is no room. */
static double rise(judge *j, int i, double share)
{
    double dz[MOST], z[MOST];
    if (!step_to_end(j, i, share, dz, z)) return NAN;
    double cost = perp__cost_at(j->p, z, j->p->trial);
    return (cost - j->m->cost) / (straight_cost(j, dz) - j->m->cost);
}

/* Contacts that come and go between samples make the cost jump, and then derivatives say nothing of
 * the interval. Where one slope only gives way to another, the end is moved to where the cost is
 * that of an end. */
static void judge_end(judge *j, int i, int sign)
{
    perp_estimate *e = &j->result->parameter[i];
    double half = rise(j, i, 0.5 * sign), whole = rise(j, i, sign);
    if (j->p->status != PERP_OK) return; /* stopped: these are no costs */
    if (isnan(half) || isnan(whole)) return;
    if (!(fmin(half, whole) >= 1 / CURVED && fmax(half, whole) <= CURVED)) {
        REFUSE(
            j,
            "the cost is not smooth over that of %s: towards %.6g it rises by %.3g times what its "
            "derivatives say, and by %.3g times half-way, as where contacts come and go between "
            "samples",
            e->name, sign < 0 ? e->low : e->high, whole, half);
        return;
    }
    double *end = sign < 0 ? &e->low : &e->high;
    *end = e->value + (*end - e->value) / sqrt(fmin(whole, 1));
    *end = fmin(fmax(*end, e->lo), e->hi);
}

static void judge_shape(judge *j)
{
    for (int i = 0; i < j->s->np; i++) {
        const perp_estimate *e = &j->result->parameter[i];
        if (e->identifiable && e->std_error > 0 && !j->refused) judge_end(j, i, -1);
        if (e->identifiable && e->std_error > 0 && !j->refused) judge_end(j, i, 1);
    }
}

/* ---------------------------------------------------------------------------------------------- */

static void take_back(const perp__study *s, perp_identification *result)
{
    for (int i = 0; i < s->np; i++) {
        perp_estimate *e = &result->parameter[i];
        if (e->identifiable) e->std_error = e->low = e->high = NAN;
    }
    for (int i = 0; i < s->np * s->np; i++) result->covariance[i] = NAN;
}

static void judge_left_over(judge *j, perp__worth *worth)
{
    int resampled = j->s->options.bootstrap > 0;
    judge_samples(j);
    judge_copies(j);
    int before = j->refused;
    for (int k = 0; k < j->result->ncolumn && !j->refused && !resampled; k++) judge_size(j, k);
    for (int k = 0; k < j->result->ncolumn && !resampled; k++) judge_memory(j, k);
    worth->is_no_noise = j->refused > before;
    for (int k = 0; k < j->result->ncolumn; k++) worth->is_no_noise |= is_too_large(j, k);
    if (!resampled) judge_huber(j);
    if (worth->is_biased) REFUSE(j, "the noise that predictions begin with biases the estimates");
}

perp_status perp__judge_intervals(const perp__study *s, perp__problem *p, const perp__minimum *m,
                                  perp__worth *worth, perp_identification *result)
{
    judge j = {.s = s, .p = p, .m = m, .result = result, .refused = worth->is_off};
    long dof = result->samples - s->np;
    double quantile = perp__student_quantile(s->options.confidence, dof),
           variance = dof > 0 ? m->cost / (double)dof : 0;
    int some = 0;
    for (int i = 0; i < s->np; i++) some |= result->parameter[i].identifiable;
    if (p->status == PERP_ERR_MEMORY) return PERP_ERR_MEMORY;
    if (!some && !result->interrupted) return PERP_OK;
    result->interrupted |= p->status == PERP_ERR_STOPPED;
    judge_search(&j);
    if (s->options.method != PERP_ESTIMATOR_PREDICT)
        REFUSE(&j,
               "how often those of method %s hold the truth is not established; predict has some",
               perp_estimator_name(s->options.method));
    if (!result->interrupted) {
        judge_minima(&j, variance * quantile * quantile + perp__same_cost(p, m->cost));
        judge_bounds(&j);
        judge_left_over(&j, worth);
    }
    if (!j.refused) judge_shape(&j);
    if (!j.refused && p->status == PERP_ERR_STOPPED) {
        result->interrupted = 1;
        judge_search(&j);
    }
    for (int i = 0; i < s->np; i++)
        result->parameter[i].has_interval = !j.refused && result->parameter[i].identifiable;
    if (j.refused) take_back(s, result);
    result->evaluations = p->so_far.evaluations;
    return j.failed || p->status == PERP_ERR_MEMORY ? PERP_ERR_MEMORY : PERP_OK;
}
