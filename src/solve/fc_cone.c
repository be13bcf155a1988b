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
    double d0, d1, d2;
    double mu;
} slide;

static slide slide_of(const double *W, const double *q, double mu)
{
    double a = W[0], b = W[1], c = W[2], d = W[3], e = W[4], f = W[5], g = W[6], h = W[7], i = W[8];
    slide s = {.mu = mu};
    s.d0 = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
    s.d1 = a * (e + i) - b * d - c * g;
    s.d2 = a;
    s.n0 = -(q[0] * (e * i - f * h) - b * (q[1] * i - f * q[2]) + c * (q[1] * h - e * q[2]));
    s.n1 = -(q[0] * (e + i) - b * q[1] - c * q[2]);
    s.n2 = -q[0];
    s.a0 = -(a * (q[1] * i - f * q[2]) - q[0] * (d * i - f * g) + c * (d * q[2] - q[1] * g));
    s.a1 = -(a * q[1] - q[0] * d);
    s.b0 = -(a * (e * q[2] - q[1] * h) - b * (d * q[2] - q[1] * g) + q[0] * (d * h - e * g));
    s.b1 = -(a * q[2] - q[0] * g);
    return s;
}

/* g, and in `step` Newton's step for |N_T|/N_n = mu written mu N_n/|N_T| - 1 = 0, which is nearly linear: with W = I it is. */
static double slide_value(const slide *s, double x, double *step)
{
    double ta = s->a0 + s->a1 * x, tb = s->b0 + s->b1 * x, tt = ta * ta + tb * tb, t = sqrt(tt);
    double n = s->n0 + x * (s->n1 + x * s->n2), g = t - s->mu * n;
    double slope = s->mu * ((s->n1 + 2 * s->n2 * x) * tt - n * (ta * s->a1 + tb * s->b1));
    *step = slope != 0 ? g * tt / slope : 0;
    return g;
}

/* The root of g by Newton inside a bracket, -1 without one. The guess is the last sliding contact's lambda. */
static double slide_root(const slide *s, double guess, double unit)
{
    const double FAR = (double)INFINITY;
    double lo = 0, hi = FAR, x = guess > 0 ? guess : unit, step;
    for (int k = 0; k < 200; k++) {
        double value = slide_value(s, x, &step), next = x + step;
        if (value > 0)
            lo = x;
        else
            hi = x;
        if (fabs(step) <= PERP_FC_SLIDE * x)
            return next; /* its error is of the order of the square */
        double most = hi < FAR ? hi : 16 * x;
        if (!(next > lo && next < most)) next = hi < FAR ? 0.5 * (lo + hi) : 4 * x;
        if (next == x) return x;
        x = next;
    }
    return hi < FAR ? x : -1;
}

int perp__fc_contact(const double *W, const double *q, double mu, double *r)
{
    if (q[0] >= 0) { /* separates */
        r[0] = r[1] = r[2] = 0;
        return 1;
    }
    if (mu == 0 && W[0] > 0) {
        r[0] = -q[0] / W[0];
        r[1] = r[2] = 0;
        return 1;
    }
    slide s = slide_of(W, q, mu);
    double size = W[0] * W[4] * W[8];
    if (s.d0 > PERP_FC_STICK * fabs(size)) {
        double t = sqrt(s.a0 * s.a0 + s.b0 * s.b0);
        if (s.n0 > 0 && t <= mu * s.n0) { /* sticks */
            r[0] = s.n0 / s.d0;
            r[1] = s.a0 / s.d0;
            r[2] = s.b0 / s.d0;
            return 1;
        }
    }
    double unit = 0.5 * fabs(W[4] + W[8]), guess = 0;
    double t2 = r[1] * r[1] + r[2] * r[2];
    if (t2 > 0) { /* from the last r: lambda = -u_T.r_T/|r_T|^2 */
        double ua = q[1] + W[3] * r[0] + W[4] * r[1] + W[5] * r[2];
        double ub = q[2] + W[6] * r[0] + W[7] * r[1] + W[8] * r[2];
        guess = -(ua * r[1] + ub * r[2]) / t2;
    }
    double x = slide_root(&s, guess, unit > 0 ? unit : 1);
    double det = x >= 0 ? s.d0 + x * (s.d1 + x * s.d2) : 0;
    double n = s.n0 + x * (s.n1 + x * s.n2);
    if (det > 0 && n > 0) {
        double a = s.a0 + s.a1 * x, b = s.b0 + s.b1 * x, t = sqrt(a * a + b * b);
        double rn = n / det, f = t > 0 ? mu * rn / t : 0;
        r[0] = rn;
        r[1] = f * a;
        r[2] = f * b;
        return 1;
    }
    /* not positive definite: one projected step */
    double trace = fabs(W[0]) + fabs(W[4]) + fabs(W[8]), rho = trace > 0 ? 1 / trace : 1, y[3];
    for (int k = 0; k < 3; k++)
        y[k] = q[k] + W[3 * k] * r[0] + W[3 * k + 1] * r[1] + W[3 * k + 2] * r[2];
    y[0] += mu * sqrt(y[1] * y[1] + y[2] * y[2]);
    for (int k = 0; k < 3; k++) y[k] = r[k] - rho * y[k];
    perp__fc_cone(mu, y, r);
    return 0;
}
