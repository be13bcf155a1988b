/* Does a condition hold? The only comparisons behind "solved", "verified" and "optimal"
 * (docs/adr/008-verdicts.md): each condition on its own scale, never on that of another. An error
 * is |violation| / scale beyond rounding. A condition holds where its error is at most tol. */

#ifndef PERP_SRC_HOLDS_H
#define PERP_SRC_HOLDS_H

#include "base/tol.h"

#include <math.h>

/* |(x, y)|; hypot costs several times more, and is for squares that overflow or vanish. */
static inline double perp__length(double x, double y)
{
    double square = x * x + y * y;
    return square > PERP_LEAST_FACTOR && square < 1 / PERP_LEAST_FACTOR ? sqrt(square)
                                                                        : hypot(x, y);
}

/* A number that a condition speaks of, with what it is made of. */
typedef struct perp__amount {
    double value;
    double scale;    /* sum of the |terms| it is made of; 0: only an exact 0 is 0 */
    double rounding; /* bound of the rounding in value; 0: it is exact */
} perp__amount;

/* a - b */
static inline perp__amount perp__amount_difference(perp__amount a, perp__amount b)
{
    double value = a.value - b.value;
    return (perp__amount){value, a.scale + b.scale,
                          a.rounding + b.rounding + PERP_ROUNDING * fabs(value)};
}

/* value = 0. Infinite where nothing gives a scale or a number is not finite. */
static inline double perp__error_zero(perp__amount x)
{
    double beyond = fabs(x.value) - x.rounding;
    if (beyond <= 0) return 0;
    double error = beyond / x.scale;
    return error <= PERP_HUGE ? error : (double)INFINITY;
}

/* value >= 0 */
static inline double perp__error_negative(perp__amount x)
{
    return x.value >= 0 ? 0 : perp__error_zero(x);
}

/* 0 <= a perp b >= 0 */
static inline double perp__error_pair(perp__amount a, perp__amount b)
{
    double below = fmax(perp__error_negative(a), perp__error_negative(b));
    return fmax(below, fmin(perp__error_zero(a), perp__error_zero(b)));
}

/* lo <= y <= hi perp e, by the distances y - lo and hi - y from the bounds. Between them e = 0;
 * where y = lo, e >= 0; where y = hi, e <= 0. An absent bound is at an infinite distance. */
static inline double perp__error_box(perp__amount above_lo, perp__amount below_hi, perp__amount e)
{
    double outside = fmax(perp__error_negative(above_lo), perp__error_negative(below_hi));
    double at_bound = perp__error_zero(e.value > 0 ? above_lo : below_hi);
    return fmax(outside, fmin(perp__error_zero(e), at_bound));
}

/* A contact with friction, r in { |r_T| <= mu r_n }, both as (normal, t1, t2). Either r = 0 and u_n
 * >= 0. Or u_n = 0, and r_T is the point nearest to r_T - (R/S) u_T of the disc of radius mu r_n.
 * S, R: the scales of u and r. r = 0 is not judged on a scale: the caller puts it there, because
 * under a large mu a small r_n carries much. */
static inline double perp__error_contact(double mu, const double *r, const double *u, double S,
                                         double R)
{
    perp__amount normal = {u[0], S, 0};
    if (r[0] == 0) return perp__error_negative(normal);
    double error = perp__error_zero(normal);
    if (u[1] == 0 && u[2] == 0) return error;
    double step = R / S, x = r[1] - step * u[1], y = r[2] - step * u[2], t = perp__length(x, y);
    double shorter = t > mu * r[0] ? mu * r[0] / t : 1;
    double off = perp__length(r[1] - shorter * x, r[2] - shorter * y) / R;
    if (error > off) return error;
    if (off <= PERP_HUGE) return off;
    return (double)INFINITY;
}

/* Coulomb friction without a normal force of its own: |f| <= bound, and f = -bound v/|v| unless v
 * = 0. Each is on its own scale, where an equation of the same content multiplies forces and
 * velocities. */
static inline double perp__error_friction(const perp__amount *f, const perp__amount *v,
                                          perp__amount bound)
{
    double force = perp__length(f[0].value, f[1].value),
           speed = perp__length(v[0].value, v[1].value);
    perp__amount V = {speed, v[0].scale + v[1].scale, v[0].rounding + v[1].rounding};
    perp__amount inside = {bound.value - force, bound.scale + f[0].scale + f[1].scale,
                           bound.rounding + f[0].rounding + f[1].rounding},
                 slides = inside;
    slides.value = 0;
    if (speed > 0) {
        slides.value = perp__length(f[0].value + bound.value * v[0].value / speed,
                                    f[1].value + bound.value * v[1].value / speed);
        slides.rounding += fabs(bound.value) * fmin(1, V.rounding / speed);
    }
    double outside = fmax(perp__error_negative(bound), perp__error_negative(inside));
    double error = fmax(outside, fmin(perp__error_zero(V), perp__error_zero(slides)));
    return error <= PERP_HUGE ? error : (double)INFINITY;
}

/* As fmax and fmin, in line; where b is no number it is b. */
static inline double perp__larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double perp__smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The larger error; NaN counts as infinite. */
static inline double perp__worse(double a, double b)
{
    if (isnan(a) || isnan(b)) return (double)INFINITY;
    return a > b ? a : b;
}

#endif
