/* Steps are 1, 2 or 5 times a power of ten. */

#include "base/tol.h"
#include "report/ticks.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LARGEST = PERP_HUGE, SMALLEST = PERP_TINY;

/* 1, 2 or 5 times a power of ten, at least x. */
static double nice_step(double x)
{
    double power = pow(10, floor(log10(x))), share = x / power;
    double rounded = 10;
    if (share <= 1.0000001)
        rounded = 1;
    else if (share <= 2)
        rounded = 2;
    else if (share <= 5)
        rounded = 5;
    return power * rounded;
}

/* "1e-05" to "1e-5", "1e+06" to "1e6", "1.50e3" to "1.5e3" */
static void tidy_exponent(char *label)
{
    char *e = strchr(label, 'e'), tail[16];
    if (!e) return;
    snprintf(tail, sizeof tail, "%s", e + 1);
    while (strchr(label, '.') && (e[-1] == '0' || e[-1] == '.')) {
        int is_point = *--e == '.';
        if (is_point) break;
    }
    const char *digits = tail + (tail[0] == '+' || tail[0] == '-');
    while (digits[0] == '0' && digits[1]) digits++;
    snprintf(e, 12, "e%s%s", tail[0] == '-' ? "-" : "", digits);
}

static void write_label(char *label, size_t size, double x, double step, double largest)
{
    int decimals = (int)fmax(0, -floor(log10(step) + PERP_TOL_WHOLE));
    if (fabs(x) < PERP_TOL_WHOLE * step) x = 0;
    if (x == 0 || (largest < 1e5 && largest >= 1e-3)) {
        int places = decimals;
        if (x == 0 && largest < 1e-3)
            places = 0;
        else if (decimals > 12)
            places = 12;
        perp__format(label, size, "%.*f", places, x);
        return;
    }
    int digits = (int)ceil(log10(fabs(x) / step) - PERP_TOL_WHOLE);
    int places = digits;
    if (digits < 0)
        places = 0;
    else if (digits > 12)
        places = 12;
    perp__format(label, size, "%.*e", places, x);
    tidy_exponent(label);
}

static void linear_ticks(perp__ticks *ticks, double lo, double hi, int target)
{
    double step = nice_step((hi - lo) / target), largest = fmax(fabs(lo), fabs(hi));
    while ((hi - lo) / step > PERP__MAX_TICKS - 2) step = nice_step(step * 1.5);
    double first = ceil(lo / step - PERP_TOL_WHOLE);
    for (int k = 0; k < PERP__MAX_TICKS; k++) {
        double x = (first + k) * step;
        if (x > hi + PERP_TOL_WHOLE * step) break;
        ticks->at[ticks->n] = fabs(x) < PERP_TOL_WHOLE * step ? 0 : x;
        write_label(ticks->label[ticks->n], sizeof ticks->label[0], x, step, largest);
        ticks->n++;
    }
}

static void log_ticks(perp__ticks *ticks, double lo, double hi, int target)
{
    static const double part[] = {1, 2, 5};
    int first = (int)fmax(floor(log10(lo) + PERP_TOL_WHOLE), -330),
        last = (int)floor(log10(hi) + PERP_TOL_WHOLE);
    int every = (last - first) / target + 1, parts = last - first < 2 ? 3 : 1;
    for (int e = first; e <= last; e++) {
        for (int k = 0; k < parts; k++) {
            double x = part[k] * pow(10, e);
            int in_range = x >= lo * (1 - PERP_TOL_WHOLE) && x <= hi * (1 + PERP_TOL_WHOLE);
            if (!in_range || (e % every) != 0 || ticks->n == PERP__MAX_TICKS) continue;
            ticks->at[ticks->n] = x;
            char *label = ticks->label[ticks->n++];
            perp__format(label, sizeof ticks->label[0], e > -4 && e < 5 ? "%.6g" : "%.0e", x);
            tidy_exponent(label);
        }
    }
}

void perp__ticks_make(perp__ticks *ticks, perp_scale scale, double lo, double hi, int target)
{
    ticks->n = 0;
    if (scale == PERP_SCALE_LOG)
        log_ticks(ticks, lo, hi, target);
    else
        linear_ticks(ticks, lo, hi, target);
}

void perp__range_add(double *lo, double *hi, perp_scale scale, const double *x, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i]) || (scale == PERP_SCALE_LOG && !(x[i] > 0))) continue;
        *lo = fmin(*lo, x[i]);
        *hi = fmax(*hi, x[i]);
    }
}

void perp__range_finish(double *lo, double *hi, perp_scale scale, double room)
{
    if (!(*lo <= *hi)) { /* nothing to show */
        *lo = scale == PERP_SCALE_LOG ? 0.1 : 0;
        *hi = 1;
    }
    *lo = fmin(fmax(*lo, -LARGEST), LARGEST); /* differences stay finite */
    *hi = fmin(fmax(*hi, -LARGEST), LARGEST);
    if (scale == PERP_SCALE_LOG) {
        *lo = fmax(*lo, fmax(1e-20 * *hi, SMALLEST));
        *hi = fmax(*hi, *lo);
        if (*hi < 2 * *lo) {
            *lo /= 2;
            *hi *= 2;
        } else {
            double factor = pow(*hi / *lo, room);
            *lo /= factor;
            *hi *= factor;
        }
        return;
    }
    double size = fmax(fabs(*lo), fabs(*hi)), width = *hi - *lo;
    if (!(width > PERP_TOL_SAME * size) || width < SMALLEST) {
        double half = size > SMALLEST ? 0.1 * size : 1;
        *lo -= half;
        *hi += half;
        return;
    }
    *lo -= room * width;
    *hi += room * width;
}
