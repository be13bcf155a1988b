/* nlp - the program that the blog post on Coulomb friction solves in every step, for any linear
 * problem:
 *
 *     minimize sum s_i^2   subject to   s_i - z_i w_i >= 0,   w = M z + q >= 0,   z >= 0,   s >= 0
 *
 * on IPOPT with exact derivatives. A reference for the other methods: thousands of times slower,
 * and it ends in points that are none where M is not monotone. Its library allocates. */

#include "base/tol.h"
#include "external/nlp.h"
#include "solve/solver.h"

#include <math.h>
#include <string.h>

enum { MOST = 32000 }; /* pairs: 2 n^2 + n entries are counted in an int */

typedef struct program {
    const perp_lcp *lcp;
    double *w; /* n: M z, scratch */
    int iterations;
} program;

/* x = (z, s); bounds of x, then of g = (w - q, s - z w); w of the program; multipliers of g and of
 * x. */
static size_t nlp_doubles(int n)
{
    return 17 * (size_t)n;
}

static size_t nlp_ints(int n)
{
    (void)n;
    return 0;
}

static double entry(const program *p, int i, int j)
{
    return perp__column(p->lcp, j)[i];
}

static void multiply(const program *p, const double *z)
{
    int n = p->lcp->n;
    memset(p->w, 0, (size_t)n * sizeof *p->w);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) p->w[i] += entry(p, i, j) * z[j];
    }
}

static int objective(void *context, const double *x, double *value)
{
    const program *p = context;
    int n = p->lcp->n;
    *value = 0;
    for (int i = 0; i < n; i++) *value += x[n + i] * x[n + i];
    return 1;
}

static int gradient(void *context, const double *x, double *value)
{
    const program *p = context;
    int n = p->lcp->n;
    for (int i = 0; i < n; i++) {
        value[i] = 0;
        value[n + i] = 2 * x[n + i];
    }
    return 1;
}

static int constraints(void *context, const double *x, double *value)
{
    const program *p = context;
    int n = p->lcp->n;
    multiply(p, x);
    for (int i = 0; i < n; i++) {
        value[i] = p->w[i];
        value[n + i] = x[n + i] - x[i] * (p->w[i] + p->lcp->q[i]);
    }
    return 1;
}

static int jacobian(void *context, const double *x, int *row, int *col, double *value)
{
    const program *p = context;
    int n = p->lcp->n, e = 0;
    if (value) multiply(p, x);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++, e += 2) {
            if (!value) {
                row[e] = i;
                row[e + 1] = n + i;
                col[e] = col[e + 1] = j;
                continue;
            }
            value[e] = entry(p, i, j);
            value[e + 1] = -x[i] * entry(p, i, j) - (i == j ? p->w[i] + p->lcp->q[i] : 0);
        }
    }
    for (int i = 0; i < n; i++, e++) {
        if (value)
            value[e] = 1;
        else
            row[e] = col[e] = n + i;
    }
    return 1;
}

static int hessian(void *context, const double *x, double sigma, const double *lambda, int *row,
                   int *col, double *value)
{
    const program *p = context;
    int n = p->lcp->n, e = 0;
    (void)x;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++, e++) {
            if (value)
                value[e] = -lambda[n + i] * entry(p, i, j) - lambda[n + j] * entry(p, j, i);
            else {
                row[e] = i;
                col[e] = j;
            }
        }
    }
    for (int i = 0; i < n; i++, e++) {
        if (value)
            value[e] = 2 * sigma;
        else
            row[e] = col[e] = n + i;
    }
    return 1;
}

static int count(void *context, int iteration, double cost, double infeasibility, double dual,
                 double mu, double alpha)
{
    (void)cost;
    (void)infeasibility;
    (void)dual;
    (void)mu;
    (void)alpha;
    ((program *)context)->iterations = iteration;
    return 1;
}

static perp_outcome nlp_solve(perp_lcp_solver *s, const perp_lcp *lcp, int attempt, int *iterations)
{
    int n = lcp->n, limit = s->options.max_iter ? s->options.max_iter : 500;
    double *x = s->work, *xlo = x + 2 * n, *xhi = xlo + 2 * n, *glo = xhi + 2 * n;
    double *ghi = glo + 2 * n, *lambda = ghi + 2 * n, *lower = lambda + 2 * n,
           *upper = lower + 2 * n;
    program p = {lcp, upper + 2 * n, 0};
    double cost = 0;
    (void)attempt;
    for (int i = 0; i < n; i++) {
        double start = s->options.warm_start ? s->start[i] : 1;
        x[i] = start > 0 ? start : 0;
        x[n + i] = 1;
        xlo[i] = xlo[n + i] = 0;
        xhi[i] = xhi[n + i] = PERP_NLP_UNBOUNDED;
        glo[i] = -lcp->q[i];
        glo[n + i] = 0;
        ghi[i] = ghi[n + i] = PERP_NLP_UNBOUNDED;
    }
    perp__nlp_problem nlp = {.n = 2 * n,
                             .m = 2 * n,
                             .njac = n > MOST ? 0 : 2 * n * n + n,
                             .nhess = n > MOST ? 0 : n * (n + 1) / 2 + n,
                             .xlo = xlo,
                             .xhi = xhi,
                             .glo = glo,
                             .ghi = ghi,
                             .f = objective,
                             .gradient = gradient,
                             .g = constraints,
                             .jacobian = jacobian,

                             .hessian = hessian,
                             .progress = count,
                             .context = &p};
    perp__nlp_options o = {.tol = fmax(PERP_NLP_TOL_LEAST, PERP_TOL_INNER * s->options.tol),
                           .max_iter = limit};
    if (n > 0 && n <= MOST)
        s->out_of_memory =
            perp__nlp_solve(&nlp, &o, x, lambda, lower, upper, &cost) == PERP__NLP_MEMORY;
    *iterations += p.iterations;
    for (int i = 0; i < n; i++) s->z[i] = isfinite(x[i]) ? x[i] : 0;
    return PERP_LIMIT; /* the driver's residual decides */
}

const perp__solver perp__lcp_nlp = {
    .doubles = nlp_doubles,
    .ints = nlp_ints,
    .solve = nlp_solve,
    .in_own_units = 1,
    .attempts = 1,
    .is_available = perp__nlp_available,
};
