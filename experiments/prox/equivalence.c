/* IV: complementarity and prox formulations have the same solutions, whatever r > 0. Clouds of points on a grid, so that
 * many satisfy a law exactly, and points at the edge of the friction disc; both sides are judged by their own formulas. */

#include "prox.h"

#include <math.h>

enum { POINTS = 200000 };
static const double tiny = 1e-10;

typedef struct cloud {
    int both, neither, differ;
} cloud;

static void count(cloud *c, int in_complementarity, int in_prox)
{
    c->both += in_complementarity && in_prox;
    c->neither += !in_complementarity && !in_prox;
    c->differ += in_complementarity != in_prox;
}

static double grid(uint64_t *seed)
{
    return floor(uniform(seed, -4, 5)) / 4;
}

static double any_r(uint64_t *seed)
{
    return pow(10, uniform(seed, -2, 2));
}

static int bilateral_prox(double g, double lambda, double r)
{
    return fabs(lambda - (lambda - r * g)) <= tiny * r;
}

static int unilateral_prox(double g, double lambda, double r)
{
    return fabs(lambda - fmax(lambda - r * g, 0)) <= tiny * fmin(1, r);
}

static int unilateral_complementarity(double g, double lambda)
{
    return g >= 0 && lambda >= 0 && g * lambda == 0;
}

static double norm(const double *x, int n)
{
    return n == 1 ? fabs(x[0]) : hypot(x[0], x[1]);
}

/* (6) for n tangents. */
static int coulomb(const double *v, const double *f, int n, double bound)
{
    double speed = norm(v, n), off = 0;
    if (speed == 0) return norm(f, n) <= bound + tiny;
    for (int i = 0; i < n; i++) off = fmax(off, fabs(f[i] + v[i] / speed * bound));
    return off <= tiny;
}

/* (7), with the sigma that its first line asks for. */
static int coulomb_sigma(const double *v, const double *f, int n, double bound)
{
    double sigma = norm(v, n), slack = bound - norm(f, n), off = 0;
    for (int i = 0; i < n; i++) off = fmax(off, fabs(bound * v[i] + sigma * f[i]));
    return off <= tiny && slack >= -tiny && fabs(sigma * slack) <= tiny;
}

/* (9c): the nearest point of the disc of radius `bound`. */
static int coulomb_prox(const double *v, const double *f, int n, double bound, double r)
{
    double x[2], off = 0;
    for (int i = 0; i < n; i++) x[i] = f[i] - r * v[i];
    double length = norm(x, n), scale = length > bound ? bound / length : 1;
    for (int i = 0; i < n; i++) off = fmax(off, fabs(f[i] - scale * x[i]));
    return off <= tiny * fmin(1, r);
}

/* A third of the points stick, a third slide by the law, the rest is anything. */
static void tangential_point(uint64_t *seed, int n, double bound, double *v, double *f)
{
    double kind = uniform(seed, 0, 3);
    for (int i = 0; i < n; i++) v[i] = kind < 1 ? 0 : grid(seed), f[i] = 2 * bound * grid(seed);
    double speed = norm(v, n);
    if (kind < 2 && speed > 0) {
        for (int i = 0; i < n; i++) f[i] = -v[i] / speed * bound;
    }
}

static cloud tangential(int n, cloud *sigma)
{
    uint64_t seed = 43;
    cloud c = {0};
    *sigma = c;
    for (int k = 0; k < POINTS; k++) {
        double v[2], f[2], bound = 0.3 * uniform(&seed, 0.1, 10);
        tangential_point(&seed, n, bound, v, f);
        int prox = coulomb_prox(v, f, n, bound, any_r(&seed));
        count(&c, coulomb(v, f, n, bound), prox);
        count(sigma, coulomb_sigma(v, f, n, bound), prox);
    }
    return c;
}

static void report(const char *what, cloud c)
{
    claim("IV", what, HOLDS, c.differ == 0 && c.both > 1000 && c.neither > 1000, NULL,
          "%d points, r from 0.01 to 100: %d satisfy both, %d neither, %d one of them", POINTS,
          c.both, c.neither, c.differ);
}

void equivalence(void)
{
    uint64_t seed = 41;
    cloud bilateral = {0}, unilateral = {0}, sigma;
    for (int k = 0; k < POINTS; k++) {
        double g = grid(&seed), lambda = grid(&seed), r = any_r(&seed);
        count(&bilateral, g == 0, bilateral_prox(g, lambda, r));
        count(&unilateral, unilateral_complementarity(g, lambda), unilateral_prox(g, lambda, r));
    }
    report("bilateral: B_C = B_P", bilateral);
    report("unilateral: U_C = U_P", unilateral);
    report("Coulomb, one tangent: T_C = T_P", tangential(1, &sigma));
    report("Coulomb, one tangent: T_sigma = T_P", sigma);
    report("Coulomb, two tangents: T_C = T_P", tangential(2, &sigma));
    report("Coulomb, two tangents: T_sigma = T_P", sigma);
}
