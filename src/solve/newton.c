/* Semismooth Newton with a line search (De Luca, Facchinei & Kanzow 1996).
 *
 * 1. phi(z) = 0 with one of the functions of newton.h; d from (Da + Db J) d = -phi, an element of the
 * generalised derivative.
 * 2. The longest step 2^-k that lowers |phi|^2/2 by 1e-4 of what the slope promises.
 * 3. Where the system is singular or d no descent: the diagonal is raised once (Levenberg), then minus the
 * gradient. */

#include "base/holds.h"
#include "base/tol.h"
#include "solve/newton.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

static const double infinity = (double)__builtin_inf();

typedef struct newton {
    const perp__newton_problem *p;
    perp__ncp kind;
    double *z, *trial, *w, *phi, *da, *db, *d, *g;
} newton;

/* a + b - sqrt(a^2 + b^2) and its derivatives. */
static double fischer_burmeister(double a, double b, double *by_a, double *by_b)
{
    double r = perp__length(a, b);
    *by_a = r > 0 ? 1 - a / r : 1 - sqrt(0.5);
    *by_b = r > 0 ? 1 - b / r : 1 - sqrt(0.5);
    /* without cancellation where both are positive */
    return a > 0 && b > 0 ? 2 * a * b / (a + b + r) : a + b - r;
}

static double equation(const newton *s, int i, const double *z, const double *w, double *by_z,
                       double *by_w)
{
    double lo = s->p->lo ? s->p->lo[i] : 0, hi = s->p->hi ? s->p->hi[i] : infinity;
    if (s->kind == PERP__NCP_MIN) {
        double x = z[i] - w[i];
        int inside = x > lo && x < hi;
        *by_z = !inside;
        *by_w = inside;
        if (inside) return w[i];
        if (x <= lo) return z[i] - lo;
        return z[i] - hi;
    }
    double value = w[i], by_a, by_b;
    *by_z = 0;
    *by_w = 1;
    if (hi < infinity) {
        value = -fischer_burmeister(hi - z[i], -w[i], &by_a, &by_b);
        *by_z = by_a;
        *by_w = by_b;
    }
    if (lo > -infinity) {
        value = fischer_burmeister(z[i] - lo, value, &by_a, &by_b);
        *by_z = by_a + by_b * *by_z;
        *by_w *= by_b;
    }
    return value;
}

/* |phi|^2 at z; the parts are left in phi, da, db. Infinity where w is not defined. */
static double merit(newton *s, const double *z)
{
    double sum = 0;
    if (!s->p->evaluate(s->p->context, z, s->w)) return infinity;
    for (int i = 0; i < s->p->n; i++) {
        s->phi[i] = equation(s, i, z, s->w, &s->da[i], &s->db[i]);
        sum += s->phi[i] * s->phi[i];
    }
    return isfinite(sum) ? sum : infinity;
}

static double natural_residual(const newton *s)
{
    double largest = 0;
    for (int i = 0; i < s->p->n; i++) {
        double lo = s->p->lo ? s->p->lo[i] : 0, hi = s->p->hi ? s->p->hi[i] : infinity;
        double size = fabs(perp__natural(s->z[i], s->w[i], lo, hi));
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Gradient of |phi|^2/2 into g: Da phi + J'(Db phi). d is scratch. */
static void gradient(newton *s)
{
    for (int i = 0; i < s->p->n; i++) s->d[i] = s->db[i] * s->phi[i];
    s->p->transposed(s->p->context, s->d, s->g);
    for (int i = 0; i < s->p->n; i++) s->g[i] += s->da[i] * s->phi[i];
}

/* A Newton direction into d; its slope, 0 when there is none. `shift` is added to the diagonal. */
static double newton_direction(newton *s, double shift)
{
    int n = s->p->n;
    double slope = 0;
    for (int i = 0; i < n; i++) s->trial[i] = s->da[i] + shift;
    if (!s->p->factor(s->p->context, s->trial, s->db)) return 0;
    for (int i = 0; i < n; i++) s->d[i] = -s->phi[i];
    s->p->solve(s->p->context, s->d);
    for (int i = 0; i < n; i++) slope += s->g[i] * s->d[i];
    return isfinite(slope) ? slope : 0;
}

static double choose_direction(newton *s, double value)
{
    gradient(s);
    double gg = 0, slope = newton_direction(s, 0);
    if (!(slope < -PERP_TOL_DESCENT * value)) slope = newton_direction(s, PERP_NEWTON_SHIFT);
    if (slope < -PERP_TOL_DESCENT * value) return slope;
    for (int i = 0; i < s->p->n; i++) {
        s->d[i] = -s->g[i];
        gg += s->g[i] * s->g[i];
    }
    return -gg;
}

int perp__newton_solve(const perp__newton_problem *p, perp__ncp kind, double target, int limit,
                       double *z, double *work)
{
    size_t n = (size_t)p->n;
    newton s = {p,
                kind,
                z,
                work,
                work + n,
                work + 2 * n,
                work + 3 * n,
                work + 4 * n,
                work + 5 * n,
                work + 6 * n};
    double value = merit(&s, z);
    int steps = 0;
    for (; steps < limit && isfinite(value) && natural_residual(&s) > target; steps++) {
        if (!p->linearize(p->context, z)) break;
        double slope = choose_direction(&s, value), length = 1, next = infinity;
        if (!(slope < 0)) break;
        for (int k = 0; k < 40; k++, length /= 2) {
            for (size_t i = 0; i < n; i++) s.trial[i] = z[i] + length * s.d[i];
            next = merit(&s, s.trial);
            if (next <= value + 2 * PERP_ARMIJO * length * slope) break;
        }
        if (!(next < value)) break;
        memcpy(z, s.trial, n * sizeof *z);
        value = next;
    }
    return steps;
}
