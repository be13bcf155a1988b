/* Interval arithmetic (Moore 1966). Each result is widened by more than the rounding of the
 * operations and of libm. A part of the arguments where an operation is not defined counts for
 * nothing. If no part is left, nothing is known. */

#include "program/intervals.h"

#include <float.h>
#include <math.h>

static const perp__interval anything = {-(double)INFINITY, (double)INFINITY};

static perp__interval widened(double lo, double hi)
{
    if (isnan(lo) || isnan(hi)) return anything;
    double below = isfinite(lo) ? 8 * DBL_EPSILON * fabs(lo) + DBL_MIN : 0,
           above = isfinite(hi) ? 8 * DBL_EPSILON * fabs(hi) + DBL_MIN : 0;
    return (perp__interval){lo - below, hi + above};
}

/* 0 inf = 0: a bound that is never reached. */
static double product(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static perp__interval times(perp__interval a, perp__interval b)
{
    double w = product(a.lo, b.lo), x = product(a.lo, b.hi), y = product(a.hi, b.lo),
           z = product(a.hi, b.hi);
    return widened(fmin(fmin(w, x), fmin(y, z)), fmax(fmax(w, x), fmax(y, z)));
}

static perp__interval magnitude(perp__interval a)
{
    double least = 0;
    if (a.lo > 0)
        least = a.lo;
    else if (a.hi < 0)
        least = -a.hi;
    return (perp__interval){least, fmax(fabs(a.lo), fabs(a.hi))};
}

static perp__interval divided(perp__interval a, perp__interval b)
{
    if (b.lo <= 0 && b.hi >= 0) return anything;
    return times(a, widened(1 / b.hi, 1 / b.lo));
}

/* Of a function that rises, on the part of a from `from` on. */
static perp__interval rising(double (*f)(double), perp__interval a, double from)
{
    if (a.hi < from) return anything;
    return widened(f(fmax(a.lo, from)), f(a.hi));
}

static perp__interval whole_power(perp__interval a, double n)
{
    if (n < 0) return divided((perp__interval){1, 1}, whole_power(a, -n));
    if (fmod(n, 2) != 0) return widened(pow(a.lo, n), pow(a.hi, n));
    a = magnitude(a);
    perp__interval power = widened(pow(a.lo, n), pow(a.hi, n));
    return (perp__interval){fmax(power.lo, 0), power.hi};
}

static perp__interval power(perp__interval a, perp__interval b)
{
    if (b.lo == b.hi && b.lo == floor(b.lo)) return whole_power(a, b.lo);
    perp__interval exponent = times(b, rising(log, a, 0));
    perp__interval whole = rising(exp, exponent, -(double)INFINITY);
    return (perp__interval){fmax(whole.lo, 0), whole.hi};
}

static perp__interval of_function(int op, perp__interval a, perp__interval b)
{
    const double all = -(double)INFINITY;
    switch (op) {
    case PERP__EXP: a = rising(exp, a, all); return (perp__interval){fmax(a.lo, 0), a.hi};
    case PERP__LOG: return rising(log, a, 0);
    case PERP__SQRT: a = rising(sqrt, a, 0); return (perp__interval){fmax(a.lo, 0), a.hi};
    case PERP__ATAN: return rising(atan, a, all);
    case PERP__TANH: return rising(tanh, a, all);
    case PERP__SINH: return rising(sinh, a, all);
    case PERP__COSH: return rising(cosh, magnitude(a), 0);
    case PERP__ABS: return magnitude(a);
    case PERP__MIN: return (perp__interval){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
    case PERP__MAX: return (perp__interval){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
    case PERP__SIN:
    case PERP__COS:
    case PERP__SIGN: return (perp__interval){-1, 1};
    case PERP__STEP:
    case PERP__LE:
    case PERP__LT: return (perp__interval){0, 1};
    case PERP__ASIN:
    case PERP__ACOS:
    case PERP__ATAN2: return (perp__interval){-3.15, 3.15};
    default: return anything;
    }
}

static perp__interval of_node(const perp__node *node, const perp__interval *all)
{
    perp__interval a = all[node->a], b = all[node->b];
    switch (node->op) {
    case PERP__ADD: return widened(a.lo + b.lo, a.hi + b.hi);
    case PERP__SUB: return widened(a.lo - b.hi, a.hi - b.lo);
    case PERP__NEG: return (perp__interval){-a.hi, -a.lo};
    case PERP__MUL: return node->a == node->b ? whole_power(a, 2) : times(a, b);
    case PERP__DIV: return divided(a, b);
    case PERP__POW: return power(a, b);
    default: return of_function(node->op, a, b);
    }
}

void perp__intervals_of_nodes(const perp__nl *nl, const double *lo, const double *hi,
                              perp__interval *all)
{
    for (int k = 0; k < nl->graph.count; k++) {
        const perp__node *node = &nl->graph.node[k];
        if (node->op == PERP__CONST)
            all[k] = (perp__interval){node->value, node->value};
        else if (node->op == PERP__SYMBOL)
            all[k] = (perp__interval){lo[node->a], hi[node->a]};
        else
            all[k] = of_node(node, all);
    }
}

perp__interval perp__interval_of_row(const perp__nl *nl, int i, const double *lo, const double *hi,
                                     const perp__interval *all)
{
    const perp__linear *l = &nl->linear;
    perp__interval row = all[nl->row[i]];
    for (int k = l->first[i]; k < l->first[i] + l->count[i]; k++) {
        double c = l->coefficient[k];
        perp__interval term =
            times((perp__interval){c, c}, (perp__interval){lo[l->var[k]], hi[l->var[k]]});
        row = widened(row.lo + term.lo, row.hi + term.hi);
    }
    return row;
}
