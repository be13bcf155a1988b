#include "program.h"

#include "external/nlp.h"

#include <math.h>
#include <string.h>

enum { ROWS = 8 }; /* dynamics (4), dissipation, cone, contact, friction */

typedef struct program {
    const blog_particle *p;
    const double *before;
    int iterations;
} program;

/* S = ssqrt(fx^2) + eps = sqrt(fx^2 + eps^2) and T = fx / S, with derivatives by fx. */
typedef struct smooth {
    double S, dS, ddS, T, dT, ddT;
} smooth;

static smooth smooth_norm(double fx, double eps)
{
    double S = sqrt(fx * fx + eps * eps), e2 = eps * eps;
    return (smooth){S,      fx / S,           e2 / (S * S * S),
                    fx / S, e2 / (S * S * S), -3 * e2 * fx / pow(S, 5)};
}

static int objective(void *context, const double *y, double *value)
{
    (void)context;
    *value = y[S1] * y[S1] + y[S2] * y[S2];
    return 1;
}

static int gradient(void *context, const double *y, double *value)
{
    (void)context;
    memset(value, 0, VARIABLES * sizeof *value);
    value[S1] = 2 * y[S1], value[S2] = 2 * y[S2];
    return 1;
}

static int constraints(void *context, const double *y, double *g)
{
    const program *a = context;
    const blog_particle *p = a->p;
    smooth f = smooth_norm(y[FX], p->eps);
    double cone = p->mu * y[FZ] - (f.S - p->eps);
    g[0] = a->before[X] + p->h * y[VX] - y[X];
    g[1] = a->before[Z] + p->h * y[VZ] - y[Z];
    g[2] = a->before[VX] + p->h * y[FX] / p->m - y[VX];
    g[3] = a->before[VZ] + p->h * (y[FZ] / p->m - p->g) - y[VZ];
    g[4] = (p->is_implicit ? y[VX] : a->before[VX]) + y[LAMBDA] * f.T;
    g[5] = cone;
    g[6] = y[S1] - y[FZ] * y[Z];
    g[7] = y[S2] - y[LAMBDA] * cone;
    return 1;
}

static void fill_jacobian(const program *a, const double *y, double J[ROWS][VARIABLES])
{
    const blog_particle *p = a->p;
    smooth f = smooth_norm(y[FX], p->eps);
    J[0][X] = J[1][Z] = J[2][VX] = J[3][VZ] = -1;
    J[0][VX] = J[1][VZ] = p->h;
    J[2][FX] = J[3][FZ] = p->h / p->m;
    J[4][VX] = p->is_implicit;
    J[4][LAMBDA] = f.T, J[4][FX] = y[LAMBDA] * f.dT;
    J[5][FZ] = p->mu, J[5][FX] = -f.dS;
    J[6][S1] = 1, J[6][FZ] = -y[Z], J[6][Z] = -y[FZ];
    J[7][S2] = 1, J[7][LAMBDA] = -(p->mu * y[FZ] - (f.S - p->eps));
    J[7][FZ] = -y[LAMBDA] * p->mu, J[7][FX] = y[LAMBDA] * f.dS;
}

static int jacobian(void *context, const double *y, int *row, int *col, double *value)
{
    double J[ROWS][VARIABLES] = {{0}};
    if (value) fill_jacobian(context, y, J);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < VARIABLES; j++) {
            if (value)
                value[i * VARIABLES + j] = J[i][j];
            else
                row[i * VARIABLES + j] = i, col[i * VARIABLES + j] = j;
        }
    }
    return 1;
}

static int hessian(void *context, const double *y, double sigma, const double *l, int *row,
                   int *col, double *value)
{
    const blog_particle *p = ((program *)context)->p;
    double H[VARIABLES][VARIABLES] = {{0}};
    int e = 0;
    if (value) {
        smooth f = smooth_norm(y[FX], p->eps);
        H[S1][S1] = H[S2][S2] = 2 * sigma;
        H[FX][FX] = l[4] * y[LAMBDA] * f.ddT - l[5] * f.ddS + l[7] * y[LAMBDA] * f.ddS;
        H[LAMBDA][FX] = l[4] * f.dT + l[7] * f.dS;
        H[LAMBDA][FZ] = -l[7] * p->mu;
        H[FZ][Z] = -l[6];
    }
    for (int i = 0; i < VARIABLES; i++) {
        for (int j = 0; j <= i; j++, e++) {
            if (value)
                value[e] = H[i][j];
            else
                row[e] = i, col[e] = j;
        }
    }
    return 1;
}

static int count(void *context, int iteration, double cost, double infeasibility, double dual,
                 double mu, double alpha)
{
    (void)cost, (void)infeasibility, (void)dual, (void)mu, (void)alpha;
    ((program *)context)->iterations = iteration;
    return 1;
}

int blog_has_ipopt(void)
{
    return perp__nlp_available();
}

blog_step blog_solve(const blog_particle *p, const double *before)
{
    program a = {p, before, 0};
    double lo[VARIABLES] = {0}, hi[VARIABLES], glo[ROWS] = {0}, ghi[ROWS] = {0};
    double lambda[ROWS] = {0}, lower[VARIABLES] = {0}, upper[VARIABLES] = {0}, cost;
    blog_step s = {{0}, 0, 0};
    for (int i = 0; i < VARIABLES; i++) hi[i] = 1e10;
    lo[X] = lo[VX] = lo[VZ] = lo[FX] = -1e10;
    ghi[5] = ghi[6] = ghi[7] = 1e10;
    memcpy(s.y, before, 4 * sizeof *before); /* the rest starts at 0, as posted */
    perp__nlp_problem nlp = {.n = VARIABLES,
                             .m = ROWS,
                             .njac = ROWS * VARIABLES,
                             .nhess = VARIABLES * (VARIABLES + 1) / 2,
                             .xlo = lo,
                             .xhi = hi,
                             .glo = glo,
                             .ghi = ghi,
                             .f = objective,
                             .gradient = gradient,
                             .g = constraints,
                             .jacobian = jacobian,
                             .hessian = hessian,
                             .progress = count,
                             .context = &a};
    perp__nlp_options o = {.tol = p->eps, .max_iter = p->max_iter};
    s.failed = perp__nlp_solve(&nlp, &o, s.y, lambda, lower, upper, &cost) != PERP__NLP_SOLVED;
    s.iterations = a.iterations;
    return s;
}
