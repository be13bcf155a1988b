/* Assessment of an estimate: Gauss-Newton covariance, the directions that the information matrix
 * leaves open, in words, and statistics of the residuals. */

#include "base/tol.h"
#include "base/number.h"
#include "identify/identify.h"
#include "identify/noise.h"
#include "linalg/symmetric.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS };

/* ... or when the interval along it is wider than the whole range. */
#define OPEN_WIDTH 0.5

int perp__finding(perp_identification *result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = perp__vformat(NULL, 0, format, args);
    va_end(args);
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    char **grown =
        text ? realloc(result->finding, ((size_t)result->nfinding + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(text);
        return 0;
    }
    result->finding = grown;
    va_start(args, format);
    perp__vformat(text, (size_t)n + 1, format, args);
    va_end(args);
    result->finding[result->nfinding++] = text;
    return 1;
}

/* Quantiles ----------------------------------------------------------------------------------- */

/* x with P(|X| <= x) = confidence for a normal X, by Newton's method on erf. */
static double normal_quantile(double confidence)
{
    double x = 1;
    for (int i = 0; i < 50; i++) {
        double slope = sqrt(2 / 3.141592653589793) * exp(-x * x / 2);
        double step = (erf(x / sqrt(2)) - confidence) / slope;
        x -= fmin(fmax(step, -1), 1);
        if (fabs(step) < PERP_TOL_QUANTILE) break;
    }
    return x;
}

/* P(|T| <= sqrt(dof) tan(angle)) for Student's T (Abramowitz & Stegun 26.7.3 and 26.7.4). */
static double student_share(double angle, long dof)
{
    int is_odd = dof % 2 == 1;
    double c = cos(angle), term = is_odd ? c : 1, sum = dof > 1 ? term : 0;
    for (long k = is_odd ? 3 : 2; k <= dof - 2; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    sum *= sin(angle);
    return is_odd ? 2 / 3.141592653589793 * (angle + sum) : sum;
}

/* Bisection of the angle; for many degrees of freedom the expansion in 1 / dof (26.7.5). */
double perp__student_quantile(double confidence, long dof)
{
    enum { FEW = 100, HALVINGS = 60 };
    double n = (double)(dof > 1 ? dof : 1), low = 0, high = 1.5707963267948966;
    if (n > FEW) {
        double x = normal_quantile(confidence), x2 = x * x;
        double g1 = (x2 + 1) * x / 4, g2 = ((5 * x2 + 16) * x2 + 3) * x / 96,
               g3 = (((3 * x2 + 19) * x2 + 17) * x2 - 15) * x / 384;
        return x + (g1 + (g2 + g3 / n) / n) / n;
    }
    for (int k = 0; k < HALVINGS; k++) {
        double middle = 0.5 * (low + high);
        if (student_share(middle, (long)n) < confidence)
            low = middle;
        else
            high = middle;
    }
    return sqrt(n) * tan(low);
}

/* Left-overs ---------------------------------------------------------------------------------- */

typedef struct moments {
    double n, sum, squares, product, before, after; /* product: of neighbours, with their squares */
    double predicted, measured;                     /* squared changes since the first row */
} moments;

static void add_row(const perp__study *s, const perp__minimum *m, int run, int row, int j, long at,
                    moments *sum, perp_fit_column *c)
{
    const perp__recording *r = &s->run[run];
    double x = m->residual[at] * c->scale,
           before = row ? m->residual[at - s->nm] * c->scale : (double)NAN;
    if (!r->measure[j] || isnan(r->measure[j][row])) {
        c->missing += row > 0;
        return;
    }
    if (isnan(x)) return;
    c->samples++;
    sum->sum += x;
    sum->squares += x * x;
    if (fabs(x) > fabs(c->largest)) {
        c->largest = x;
        c->largest_run = run;
        c->largest_time = r->t[row];
    }
    double change = r->measure[j][row] - r->measure[j][0];
    if (!isnan(change)) {
        sum->measured += change * change;
        sum->predicted += (change + x) * (change + x);
    }
    if (isnan(before)) return;
    sum->product += x * before;
    sum->before += before * before;
    sum->after += x * x;
}

static void fill_column(const perp__study *s, const perp__minimum *m, int j, perp_fit_column *c,
                        moments *sum)
{
    long at = j;
    *c = (perp_fit_column){
        .name = s->measured[j].name, .unit = s->measured[j].unit, .scale = s->measured[j].scale};
    *sum = (moments){0};
    for (int run = 0; run < s->nrun; run++) {
        for (int row = 0; row < s->run[run].rows; row++, at += s->nm)
            add_row(s, m, run, row, j, at, sum, c);
    }
    double n = (double)(c->samples > 0 ? c->samples : 1);
    c->mean = sum->sum / n;
    c->rms = sqrt(sum->squares / n);
    c->correlation =
        sum->before > 0 && sum->after > 0 ? sum->product / sqrt(sum->before * sum->after) : 0;
}

/* A column whose changes the model makes far too large or too small is likely in another unit. */
static int suspect_unit(perp_identification *result, const perp_fit_column *c, const moments *sum)
{
    if (!(sum->measured > 0 && sum->predicted > 0)) return 1;
    double ratio = sqrt(sum->measured / sum->predicted);
    if (ratio < 30 && ratio > 1 / 30.0) return 1;
    return perp__finding(result,
                         "column '%s': its measured changes are %.3g times the predicted ones; is "
                         "it in another unit than the "
                         "model's '%s'%s%s%s?",
                         c->name, ratio, c->name, c->unit[0] ? " [" : "", c->unit,
                         c->unit[0] ? "]" : "");
}

static int report_columns(const perp__study *s, const perp__minimum *m, perp_identification *result)
{
    result->column = calloc((size_t)s->nm + 1, sizeof *result->column);
    if (!result->column) return 0;
    result->ncolumn = s->nm;
    for (int j = 0; j < s->nm; j++) {
        moments sum;
        perp_fit_column *c = &result->column[j];
        fill_column(s, m, j, c, &sum);
        result->samples += c->samples;
        result->missing += c->missing;
        if (!suspect_unit(result, c, &sum)) return 0;
    }
    return 1;
}

/* Directions ---------------------------------------------------------------------------------- */

/* Relative change of parameter i when z_i changes by dz. */
static double relative_change(const perp__study *s, const perp__minimum *m, int i, double dz)
{
    if (s->log_scale[i]) return dz * log(s->hi[i] / s->lo[i]);
    return m->theta[i] != 0 ? dz * (s->hi[i] - s->lo[i]) / m->theta[i] : dz * (s->hi[i] - s->lo[i]);
}

int perp__changes_nothing(const perp__problem *p, const perp__minimum *m, int i)
{
    for (long k = 0; k < p->n; k++) {
        if (m->jacobian[k + (long)i * p->n] != 0) return 0;
    }
    return 1;
}

/* The farthest value of parameter i towards `end` (0 or 1 in z) before the cost rises by more than
 * `allowed`: bisection, which assumes a flat cost up to there. */
static double reach(perp__problem *p, const perp__minimum *m, int i, double end, double allowed)
{
    double z[MOST], good = m->z[i], bad = end;
    memcpy(z, m->z, (size_t)p->np * sizeof(double));
    z[i] = end;
    if (perp__cost_at(p, z, p->trial) <= m->cost + allowed) return end;
    for (int k = 0; k < 20; k++) {
        z[i] = 0.5 * (good + bad);
        if (perp__cost_at(p, z, p->trial) <= m->cost + allowed)
            good = z[i];
        else
            bad = z[i];
    }
    return good;
}

static int say_alone(const perp__study *s, perp__problem *p, const perp__minimum *m, int i,
                     double allowed, perp_identification *result)
{
    perp_estimate *e = &result->parameter[i];
    double low[MOST], high[MOST], z[MOST];
    memcpy(z, m->z, (size_t)p->np * sizeof(double));
    z[i] = reach(p, m, i, 0, allowed);
    perp__to_theta(p, z, low);
    z[i] = reach(p, m, i, 1, allowed);
    perp__to_theta(p, z, high);
    e->low = low[i];
    e->high = high[i];
    int whole = e->low <= s->lo[i] && e->high >= s->hi[i], flat = perp__changes_nothing(p, m, i);
    if (whole)
        return perp__finding(result, "%s: not identifiable from these data: %s", e->name,
                             flat ? "no predicted sample depends on it"
                                  : "every value of its range fits as well");
    return perp__finding(
        result,
        "%s: not identifiable from these data: every value from %.6g to %.6g fits as well%s",
        e->name, e->low, e->high,
        flat ? "; its derivative is zero there, so a search that starts there cannot leave" : "");
}

static int say_together(const perp__study *s, const perp__minimum *m, const double *V,
                        const int *member, int n, perp_identification *result)
{
    char text[1024] = "", names[512] = "";
    double first = relative_change(s, m, member[0], V[member[0]]), second = 0;
    for (int k = 0; k < n; k++) {
        int i = member[k];
        size_t a = strlen(text), b = strlen(names);
        second = relative_change(s, m, i, V[i]) / first;
        perp__format(text + a, sizeof text - a, "%s%s by %+.3g %%", k ? " and " : "",
                     s->options.parameter[i], second);
        const char *joins = k == n - 1 ? " and " : ", ";
        snprintf(names + b, sizeof names - b, "%s%s", k ? joins : "", s->options.parameter[i]);
    }
    const char *a = s->options.parameter[member[0]], *b = s->options.parameter[member[n > 1]];
    char known[256] = "";
    const double like = 0.02; /* relative changes that are the same to 2 % */
    if (n == 2 && fabs(second - 1) < like)
        snprintf(known, sizeof known, "; only the ratio %s/%s is determined", a, b);
    if (n == 2 && fabs(second + 1) < like)
        snprintf(known, sizeof known, "; only the product %s*%s is determined", a, b);
    return perp__finding(result,
                         "%s: not identifiable separately from these data: changing %s together "
                         "changes nothing that "
                         "was measured%s",
                         names, text, known);
}

/* One direction that is not determined, v in z. */
static int say_direction(const perp__study *s, perp__problem *p, const perp__minimum *m,
                         const double *v, double allowed, perp_identification *result)
{
    int member[MOST] = {0}, n = 0;
    double largest = 0;
    for (int i = 0; i < s->np; i++) largest = fmax(largest, fabs(v[i]));
    for (int i = 0; i < s->np; i++) {
        if (fabs(v[i]) < 0.05 * largest) continue;
        member[n++] = i;
        result->parameter[i].identifiable = 0;
    }
    return n == 1 ? say_alone(s, p, m, member[0], allowed, result)
                  : say_together(s, m, v, member, n, result);
}

/* Variance of the step along an eigenvector of the information. */
static double direction_variance(const perp__noise *noise, const double *v, double value)
{
    double sum = 0;
    for (int j = 0; j < noise->n; j++) sum += noise->variance[j] * perp__noise_form(noise, j, v, v);
    return sum / (value * value);
}

/* Covariance in z from the columns' noise, and the degrees of freedom of each variance
 * (Satterthwaite 1946). */
static int add_noise(const perp__noise *noise, int n, const double *V, const double *value,
                     double *covariance, double *dof)
{
    int np = noise->np;
    double *P = calloc((size_t)(2 * np * np + np), sizeof *P), *C = P + np * np,
           *spread = C + np * np;
    if (!P) return 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < np * np; i++)
            P[i] += V[i % np + k * np] * V[i / np + k * np] / value[k];
    }
    for (int j = 0; j < noise->n; j++) {
        for (int i = 0; i < np * np; i++)
            C[i] =
                noise->variance[j] * perp__noise_form(noise, j, P + i % np * np, P + i / np * np);
        for (int i = 0; i < np * np; i++) covariance[i] += C[i];
        for (int i = 0; i < np; i++) spread[i] += C[i + i * np] * C[i + i * np] / noise->dof[j];
    }
    for (int i = 0; i < np; i++) {
        double variance = covariance[i + i * np];
        if (spread[i] > 0) dof[i] = fmin(dof[i], variance * variance / spread[i]);
    }
    free(P);
    return 1;
}

/* A parameter that an open direction moves a little is known no better than that: the direction can
 * go as far as the range. */
static void add_open(int np, const double *v, double sd, double quantile, double *covariance)
{
    double most = fmin(sd, 1 / quantile);
    for (int i = 0; i < np * np; i++) covariance[i] += most * v[i % np] * most * v[i / np];
}

/* Covariance in z from the directions that are determined; the others are spoken of. dof: of all
 * samples, then of each parameter's variance. */
static int report_directions(const perp__study *s, perp__problem *p, const perp__minimum *m,
                             double variance, double quantile, double *covariance, double *dof,
                             perp_identification *result)
{
    int np = s->np, ok = 1, first = 0, known = 0;
    double A[MOST * MOST], V[MOST * MOST], value[MOST];
    double allowed = variance * quantile * quantile + PERP_TOL_FLAT * m->cost + PERP_TOL_FLAT_LEAST;
    perp__noise noise;
    if (!perp__noise_create(p, m, s->nm, &noise)) return 0;
    perp__noise_total(&noise, A);
    perp__symmetric_eigen(np, A, value, V);
    double largest = fmax(value[np - 1], 0);
    result->condition = value[0] > 0 && value[0] > PERP_TOL_CONDITION * largest ? largest / value[0]
                                                                                : (double)INFINITY;
    while (first < np && !(value[first] > PERP_TOL_OPEN * largest)) first++;
    perp__noise_divide(&noise, np - first, V + first * np, value + first);
    for (int k = 0; k < np && ok; k++) {
        double *v = V + k * np, sd = (double)INFINITY;
        if (k >= first) sd = sqrt(direction_variance(&noise, v, value[k]));
        if (quantile * sd > OPEN_WIDTH) {
            ok = say_direction(s, p, m, v, allowed, result);
            add_open(np, v, sd, quantile, covariance);
            continue;
        }
        memmove(V + known * np, v, (size_t)np * sizeof *v);
        value[known++] = value[k];
    }
    ok = ok && add_noise(&noise, known, V, value, covariance, dof);
    perp__noise_clear(&noise);
    return ok;
}

double perp__slope(const perp__study *s, const double *theta, int i)
{
    return s->log_scale[i] ? theta[i] * log(s->hi[i] / s->lo[i]) : s->hi[i] - s->lo[i];
}

void perp__fill_intervals(const perp__study *s, const double *dof, perp_identification *result)
{
    for (int i = 0; i < s->np; i++) {
        perp_estimate *e = &result->parameter[i];
        if (!e->identifiable) continue;
        e->std_error = sqrt(result->covariance[i + i * s->np]);
        double relative = e->std_error / e->value,
               q = perp__student_quantile(s->options.confidence, (long)(dof[i] + PERP_TOL_STEPS));
        e->low = s->log_scale[i] ? e->value * exp(-q * relative) : e->value - q * e->std_error;
        e->high = s->log_scale[i] ? e->value * exp(q * relative) : e->value + q * e->std_error;
        e->low = fmax(e->low, e->lo);
        e->high = fmin(e->high, e->hi);
    }
}

static int fill_estimates(const perp__study *s, const perp__minimum *m, const double *dof,
                          perp_identification *result)
{
    int np = s->np, ok = 1;
    double *covariance = result->covariance;
    for (int i = 0; i < np; i++) {
        for (int j = 0; j < np; j++) {
            int known = result->parameter[i].identifiable && result->parameter[j].identifiable;
            covariance[i + j * np] = known ? covariance[i + j * np] * perp__slope(s, m->theta, i) *
                                                 perp__slope(s, m->theta, j)
                                           : (double)NAN;
        }
    }
    perp__fill_intervals(s, dof, result);
    for (int i = 0; i < np && ok; i++) {
        perp_estimate *e = &result->parameter[i];
        double own = perp_model_symbol(s->model, PERP_PARAM, s->param[i]).value;
        if (own != s->from[i])
            ok = perp__finding(result,
                               "%s: the model's value %.6g is outside of the range [%.6g, %.6g]; "
                               "the search begins at %.6g",
                               e->name, own, e->lo, e->hi, s->from[i]);
        e->at_bound = e->identifiable && (m->z[i] <= 0 || m->z[i] >= 1);
        if (e->at_bound && ok)
            ok = perp__finding(result,
                               "%s: the estimate is the %s end of its range [%.6g, %.6g]; the best "
                               "value may lie outside",
                               e->name, m->z[i] <= 0 ? "lower" : "upper", e->lo, e->hi);
    }
    return ok;
}

/* Where something is not identifiable, a column that never changes is likely why. */
static int say_still_columns(const perp__study *s, perp_identification *result)
{
    int open = 0, still = 0;
    for (int i = 0; i < s->np; i++) open |= !result->parameter[i].identifiable;
    for (int j = 0; j < s->nm; j++) still += !s->measured[j].moves;
    if (!open || !still) return 1;
    if (still == s->nm)
        return perp__finding(
            result,
            "no measured column ever changes in these data: everything sticks or rests, which says "
            "nothing about what moves it");
    for (int j = 0; j < s->nm; j++) {
        if (!s->measured[j].moves &&
            !perp__finding(result, "column '%s' never changes in these data", s->measured[j].name))
            return 0;
    }
    return 1;
}

static int prepare(const perp__study *s, const perp__minimum *m, perp_identification *result)
{
    size_t np = (size_t)s->np;
    result->nparameter = s->np;
    result->parameter = calloc(np, sizeof *result->parameter);
    result->covariance = calloc(np * np, sizeof(double));
    if (!result->parameter || !result->covariance) return 0;
    for (int i = 0; i < s->np; i++) {
        perp_symbol symbol = perp_model_symbol(s->model, PERP_PARAM, s->param[i]);
        result->parameter[i] = (perp_estimate){.name = symbol.name,
                                               .unit = symbol.unit,
                                               .value = m->theta[i],
                                               .lo = s->lo[i],
                                               .hi = s->hi[i],
                                               .std_error = NAN,
                                               .low = s->lo[i],
                                               .high = s->hi[i],
                                               .identifiable = 1};
    }
    return 1;
}

perp_status perp__report(const perp__study *s, perp__problem *p, const perp__minimum *m,
                         double *dof, perp_identification *result)
{
    if (!prepare(s, m, result) || !report_columns(s, m, result)) return PERP_ERR_MEMORY;
    long left = result->samples - s->np;
    if (left < 0 || result->samples == 0)
        return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                            "%ld samples for %d parameters: too few\n", result->samples, s->np);
    double variance = left > 0 ? m->cost / (double)left : 0,
           quantile = perp__student_quantile(s->options.confidence, left);
    for (int i = 0; i < s->np; i++) dof[i] = (double)left;
    result->cost = m->cost;
    result->noise_factor = left > 0 ? sqrt(variance) : (double)NAN;
    result->condition = result->time_shift = NAN;
    const perp_identify_options *watch = p->watch;
    p->watch = NULL; /* half a report would be wrong */
    if (p->status == PERP_OK &&
        (!report_directions(s, p, m, variance, quantile, result->covariance, dof, result) ||
         !fill_estimates(s, m, dof, result) || !say_still_columns(s, result)))
        return PERP_ERR_MEMORY;
    p->watch = watch;
    result->evaluations = p->so_far.evaluations;
    return PERP_OK;
}
