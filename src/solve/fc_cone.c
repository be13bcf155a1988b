/* The Coulomb cone and one contact on its own. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

void perp__fc_cone(double mu, const double *x, double *p)
{
    double t = sqrt(x[1] * x[1] + x[2] * x[2]);
    if (x[0] >= 0 && t <= mu * x[0]) {
        memmove(p, x, 3 * sizeof *p);
    } else if (mu * t <= -x[0]) {
        p[0] = p[1] = p[2] = 0;
    } else { /* onto the surface; t > 0 */
        double n = (x[0] + mu * t) / (1 + mu * mu), f = mu * n / t;
        p[0] = n;
        p[1] = f * x[1];
        p[2] = f * x[2];
    }
}

/* Sliding as an equation in one unknown: u_T = -lambda r_T with lambda >= 0, u_n = 0, that is
 * (W + diag(0, lambda, lambda)) r = -q. By Cramer r = N(lambda)/D(lambda); N_n and D are quadratic,
 * N_T linear, and
 *
 *     g(lambda) = |N_T(lambda)| - mu N_n(lambda)
 *
 * is positive at 0 where the contact does not stick and tends to -inf with q_n < 0: positive
 * definite W has a root. */
typedef struct slide {
    double n0, n1, n2; /* N_n = n0 + n1 x + n2 x^2 */
    double a0, a1, b0, b1;
    double mu;
} slide;

perp__fc_local perp__fc_local_of(const double *W)
{
    double a = W[0], b = W[1], c = W[2], d = W[3], e = W[4], f = W[5], g = W[6], h = W[7], i = W[8];
    perp__fc_local l = {.W = W,
                        .adjugate = {e * i - f * h, c * h - b * i, b * f - c * e, f * g - d * i,
                                     a * i - c * g, c * d - a * f, d * h - e * g, b * g - a * h,
                                     a * e - b * d}};
    double least = fmax(PERP_FC_STICK * fabs(a * e * i), PERP_LEAST_FACTOR);
    l.d0 = a * l.adjugate[0] + b * l.adjugate[3] + c * l.adjugate[6];
    l.d1 = a * (e + i) - b * d - c * g;
    l.inverse = l.d0 > least ? 1 / l.d0 : 0;
    return l;
}

static slide slide_of(const perp__fc_local *l, const double *q, double mu)
{
    const double *W = l->W, *A = l->adjugate;
    slide s = {.mu = mu};
    s.n0 = -(A[0] * q[0] + A[1] * q[1] + A[2] * q[2]);
    s.a0 = -(A[3] * q[0] + A[4] * q[1] + A[5] * q[2]);
    s.b0 = -(A[6] * q[0] + A[7] * q[1] + A[8] * q[2]);
    s.n1 = W[1] * q[1] + W[2] * q[2] - (W[4] + W[8]) * q[0];
    s.n2 = -q[0];
    s.a1 = W[3] * q[0] - W[0] * q[1];
    s.b1 = W[6] * q[0] - W[0] * q[2];
    return s;
}

/* g, and in `step` Newton's step for |N_T|/N_n = mu. It is written mu N_n/|N_T| - 1 = 0, which is
 * nearly linear, and linear with W = I. */
static double slide_value(const slide *s, double x, double *step)
{
    double ta = s->a0 + s->a1 * x, tb = s->b0 + s->b1 * x, tt = ta * ta + tb * tb, t = sqrt(tt);
    double n = s->n0 + x * (s->n1 + x * s->n2), g = t - s->mu * n;
    double slope = s->mu * ((s->n1 + 2 * s->n2 * x) * tt - n * (ta * s->a1 + tb * s->b1));
    *step = slope != 0 ? g * (tt / slope) : 0; /* this division does not wait for t */
    return g;
}

/* The root of g by Newton inside a bracket, until a step is below `tol` of it; -1 without one. */
static double slide_root(const slide *s, double guess, double tol)
{
    const double FAR = (double)INFINITY;
    double lo = 0, hi = FAR, x = guess, step;
    for (int k = 0; k < 200; k++) {
        double value = slide_value(s, x, &step), next = x + step;
        if (value > 0)
            lo = x;
        else
            hi = x;
        if (fabs(step) <= tol * x) return next; /* its error is of the order of the square */
        double most = hi < FAR ? hi : 16 * x;
        if (!(next > lo && next < most)) next = hi < FAR ? 0.5 * (lo + hi) : 4 * x;
        if (next == x) return x;
        x = next;
    }
    return hi < FAR ? x : -1;
}

/* Where to look for lambda first: -u_T.r_T/|r_T|^2 with the last r, or the size of the diagonal. */
static double slide_guess(const double *W, const double *q, const double *r)
{
    double unit = 0.5 * fabs(W[4] + W[8]), t2 = r[1] * r[1] + r[2] * r[2];
    if (t2 > 0) {
        double ua = q[1] + W[3] * r[0] + W[4] * r[1] + W[5] * r[2];
        double ub = q[2] + W[6] * r[0] + W[7] * r[1] + W[8] * r[2];
        double guess = -(ua * r[1] + ub * r[2]) / t2;
        if (guess > 0) return guess;
    }
    return unit > 0 ? unit : 1;
}

/* W is not positive definite: one projected step. */
static void projected_step(const double *W, const double *q, double mu, double *r)
{
    double trace = fabs(W[0]) + fabs(W[4]) + fabs(W[8]), rho = trace > 0 ? 1 / trace : 1, y[3];
    for (int k = 0; k < 3; k++)
        y[k] = q[k] + W[3 * k] * r[0] + W[3 * k + 1] * r[1] + W[3 * k + 2] * r[2];
    y[0] += mu * sqrt(y[1] * y[1] + y[2] * y[2]);
    for (int k = 0; k < 3; k++) y[k] = r[k] - rho * y[k];
    perp__fc_cone(mu, y, r);
}

/* It separates, or has no friction: 1, and r. */
static inline int is_plain(const double *W, const double *q, double mu, double *r)
{
    if (!(q[0] >= 0) && !(mu == 0 && W[0] > 0)) return 0;
    r[0] = q[0] >= 0 ? 0 : -q[0] / W[0];
    r[1] = r[2] = 0;
    return 1;
}

int perp__fc_local_solve(perp__fc_local *l, const double *q, double mu, double tol, double *r)
{
    const double *W = l->W;
    if (is_plain(W, q, mu, r)) return 1;
    slide s = slide_of(l, q, mu);
    double most = mu * s.n0;
    if (l->inverse > 0 && s.n0 > 0 && s.a0 * s.a0 + s.b0 * s.b0 <= most * most) { /* sticks */
        r[0] = l->inverse * s.n0;
        r[1] = l->inverse * s.a0;
        r[2] = l->inverse * s.b0;
        return 1;
    }
    double x = slide_root(&s, l->lambda > 0 ? l->lambda : slide_guess(W, q, r), tol);
    double det = x >= 0 ? l->d0 + x * (l->d1 + x * W[0]) : 0;
    double n = s.n0 + x * (s.n1 + x * s.n2);
    if (det > 0 && n > 0) {
        double f = 1 / det;
        r[0] = f * n;
        r[1] = f * (s.a0 + s.a1 * x);
        r[2] = f * (s.b0 + s.b1 * x);
        l->lambda = x;
        return 1;
    }
    projected_step(W, q, mu, r);
    return 0;
}

int perp__fc_contact(const double *W, const double *q, double mu, double *r)
{
    if (is_plain(W, q, mu, r)) return 1;
    perp__fc_local l = perp__fc_local_of(W);
    return perp__fc_local_solve(&l, q, mu, PERP_FC_SLIDE, r);
}
