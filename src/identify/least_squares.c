/* Levenberg-Marquardt in a box (Marquardt 1963; Nocedal & Wright, Numerical Optimization, 10.3), in
 * coordinates z in [0, 1] that run linearly, or in the logarithm, over each parameter's range. A
 * residual that is NaN is a missing sample. Huber's loss is minimised by weights that are kept
 * during a step. */

#include "base/tol.h"
#include "identify/identify.h"
#include "linalg/invert.h"
#include "perp/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS };

/* Widths of the differences, in units of a range. One is far above the rounding of a verified step
 * (1e-9). The other is wide enough to bridge the jumps at a change of contacts. */
#define PERP_IDENTIFY_NARROW 1e-5
#define PERP_IDENTIFY_WIDE   1e-2

/* A step shorter than this share of the width is not worth a simulation. */
#define PERP_IDENTIFY_LEAST_STEP 0.1

int perp__problem_allocate(perp__problem *p)
{
    p->width = PERP_IDENTIFY_NARROW;
    size_t np = (size_t)p->np, n = (size_t)p->n;
    p->so_far.cost = INFINITY;
    p->trial = malloc((3 * n + 2 * np * np + perp__invert_doubles(p->np)) * sizeof(double) + 1);
    p->index = malloc(3 * np * sizeof *p->index + 1);
    if (!p->trial || !p->index) return 0;
    p->up = p->trial + n;
    p->down = p->up + n;
    p->square = p->down + n;
    return 1;
}

void perp__problem_free(perp__problem *p)
{
    free(p->trial);
    free(p->index);
    p->trial = NULL;
    p->index = NULL;
}

int perp__minimum_allocate(perp__minimum *m, const perp__problem *p)
{
    size_t np = (size_t)p->np, n = (size_t)p->n;
    m->z = calloc(2 * np + n + np * n + 1, sizeof(double));
    if (!m->z) return 0;
    m->theta = m->z + np;
    m->residual = m->theta + np;
    m->jacobian = m->residual + n;
    m->cost = INFINITY;
    return 1;
}

void perp__minimum_free(perp__minimum *m)
{
    free(m->z);
    m->z = NULL;
}

void perp__to_theta(const perp__problem *p, const double *z, double *theta)
{
    for (int i = 0; i < p->np; i++) {
        double x = p->log_scale[i] ? p->lo[i] * pow(p->hi[i] / p->lo[i], z[i])
                                   : p->lo[i] + z[i] * (p->hi[i] - p->lo[i]);
        if (z[i] <= 0)
            theta[i] = p->lo[i];
        else if (z[i] >= 1)
            theta[i] = p->hi[i];
        else
            theta[i] = fmin(fmax(x, p->lo[i]), p->hi[i]);
    }
}

void perp__to_z(const perp__problem *p, const double *theta, double *z)
{
    for (int i = 0; i < p->np; i++) {
        double x = p->log_scale[i] ? log(theta[i] / p->lo[i]) / log(p->hi[i] / p->lo[i])
                                   : (theta[i] - p->lo[i]) / (p->hi[i] - p->lo[i]);
        z[i] = fmin(fmax(x, 0), 1);
    }
}

double perp__cost_of(const perp__problem *p, const double *residual)
{
    double sum = 0, k = p->huber;
    for (long i = 0; i < p->n; i++) {
        double r = fabs(residual[i]);
        if (isnan(r)) continue;
        sum += (p->weight ? p->weight[i] : 1) * (k > 0 && r > k ? k * (2 * r - k) : r * r);
    }
    return sum;
}

/* After an evaluation: tell the caller, and note what ends everything. */
static void count(perp__problem *p, perp_status status)
{
    const perp_identify_options *o = p->watch;
    p->so_far.evaluations++;
    int is_shared = o && o->ranks,
        stop = o && o->progress && o->progress(o->progress_context, &p->so_far);
    if (status == PERP_ERR_MEMORY || (is_shared && status == PERP_ERR_UNAVAILABLE))
        p->status = status;
    else if (is_shared ? perp_ranks_most(stop) : stop) /* all of them stop, or none */
        p->status = PERP_ERR_STOPPED;
}

double perp__cost_at(perp__problem *p, const double *z, double *residual)
{
    double theta[MOST];
    if (p->status != PERP_OK) return INFINITY;
    perp__to_theta(p, z, theta);
    perp_status status = p->evaluate(p->context, theta, residual);
    count(p, status);
    return status == PERP_OK ? perp__cost_of(p, residual) : (double)INFINITY;
}

/* Central differences, one-sided at the ends of the range and where one side has no value. Returns
 * 0 where neither has. */
static int difference_column(perp__problem *p, const perp__minimum *at, int j, double dz,
                             double *column)
{
    double z[MOST], a, b;
    memcpy(z, at->z, (size_t)p->np * sizeof(double));
    a = fmin(at->z[j] + dz, 1);
    b = fmax(at->z[j] - dz, 0);
    z[j] = a;
    const double *up = p->up, *down = p->down;
    if (!(a > at->z[j]) || !isfinite(perp__cost_at(p, z, p->up))) {
        up = at->residual;
        a = at->z[j];
    }
    z[j] = b;
    if (!(b < at->z[j]) || !isfinite(perp__cost_at(p, z, p->down))) {
        down = at->residual;
        b = at->z[j];
    }
    if (!(a > b)) return 0;
    for (long i = 0; i < p->n; i++) {
        double d = (up[i] - down[i]) / (a - b);
        column[i] = isnan(d) ? 0 : d;
    }
    return 1;
}

/* Exact derivatives, scaled to z. Returns 0 where there are none. */
static int differentiate_exactly(perp__problem *p, const perp__minimum *at, double *jacobian)
{
    double theta[MOST];
    if (!p->differentiate || p->status != PERP_OK) return 0;
    perp__to_theta(p, at->z, theta);
    perp_status status = p->differentiate(p->context, theta, jacobian);
    count(p, status);
    if (status != PERP_OK) return 0;
    for (int j = 0; j < p->np; j++) {
        double scale = p->log_scale[j] ? theta[j] * log(p->hi[j] / p->lo[j]) : p->hi[j] - p->lo[j];
        double *column = jacobian + (size_t)j * (size_t)p->n;
        for (long i = 0; i < p->n; i++) column[i] *= scale;
    }
    return 1;
}

int perp__differentiate(perp__problem *p, const perp__minimum *at, double *jacobian)
{
    if (p->width == PERP_IDENTIFY_NARROW && differentiate_exactly(p, at, jacobian)) return 1;
    for (int j = 0; j < p->np; j++) {
        if (!difference_column(p, at, j, p->width, jacobian + (size_t)j * (size_t)p->n)) return 0;
    }
    return 1;
}

int perp__looks_wide(const perp__problem *p)
{
    return p->width > PERP_IDENTIFY_NARROW;
}

void perp__look_narrow(perp__problem *p)
{
    p->width = PERP_IDENTIFY_NARROW;
}

void perp__choose_width(perp__problem *p, perp__minimum *at)
{
    double *wide = p->trial;
    int ok = perp__differentiate(p, at, at->jacobian);
    for (int j = 0; ok && j < p->np && p->width < PERP_IDENTIFY_WIDE; j++) {
        const double *narrow = at->jacobian + (size_t)j * (size_t)p->n;
        double length = 0, apart = 0;
        if (!difference_column(p, at, j, PERP_IDENTIFY_WIDE, wide)) continue;
        for (long i = 0; i < p->n; i++) {
            length += wide[i] * wide[i];
            apart += (narrow[i] - wide[i]) * (narrow[i] - wide[i]);
        }
        if (apart > 0.25 * length && length > 0) p->width = PERP_IDENTIFY_WIDE;
    }
}

void perp__normal_equations(const perp__problem *p, const perp__minimum *at, double *A, double *g)
{
    int np = p->np;
    memset(A, 0, (size_t)(np * np) * sizeof(double));
    memset(g, 0, (size_t)np * sizeof(double));
    for (long i = 0; i < p->n; i++) {
        double r = at->residual[i], w = p->huber > 0 && fabs(r) > p->huber ? p->huber / fabs(r) : 1;
        if (p->weight) w *= p->weight[i];
        if (isnan(r)) continue;
        for (int a = 0; a < np; a++) {
            double x = w * at->jacobian[i + (long)a * p->n];
            g[a] += x * r;
            for (int b = 0; b <= a; b++) A[a + b * np] += x * at->jacobian[i + (long)b * p->n];
        }
    }
    for (int a = 0; a < np; a++) {
        for (int b = 0; b < a; b++) A[b + a * np] = A[a + b * np];
    }
}

/* Parameters that a bound holds: there, and the gradient points outward. */
static int free_ones(const perp__problem *p, const double *z, const double *g, const double *A,
                     int *list)
{
    int n = 0;
    for (int i = 0; i < p->np; i++) {
        int held = (z[i] <= 0 && g[i] > 0) || (z[i] >= 1 && g[i] < 0) || !(A[i + i * p->np] > 0);
        if (!held) list[n++] = i;
    }
    return n;
}

/* The damped step, clipped to the box; 0 where the system cannot be solved. */
static int step_from(const perp__problem *p, const double *z, const double *A, const double *g,
                     const int *list, int n, double damping, double *to)
{
    int np = p->np;
    double *B = p->square, *inverse = B + n * n;
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) B[a + b * n] = A[list[a] + list[b] * np];
        B[a + a * n] *= 1 + damping;
    }
    int ok = perp__invert(n, B, n, NULL, inverse, inverse + n * n, p->index);
    memcpy(to, z, (size_t)np * sizeof(double));
    for (int a = 0; a < n && ok; a++) {
        for (int b = 0; b < n; b++) to[list[a]] -= inverse[a + b * n] * g[list[b]];
        to[list[a]] = fmin(fmax(to[list[a]], 0), 1);
    }
    return ok;
}

static double distance(int n, const double *a, const double *b)
{
    double d = 0;
    for (int i = 0; i < n; i++) d = fmax(d, fabs(a[i] - b[i]));
    return d;
}

/* One accepted step, or 0 when none lowers the cost. */
static int improve(perp__problem *p, perp__minimum *m, double *damping, double *gain)
{
    enum { TRIES = 12 };
    double A[MOST * MOST], g[MOST], to[MOST];
    int list[MOST];
    perp__normal_equations(p, m, A, g);
    int n = free_ones(p, m->z, g, A, list);
    m->flat = 1;
    for (int i = 0; i < p->np; i++) m->flat &= A[i + i * p->np] == 0;
    *gain = 0;
    if (n == 0) return 0;
    for (int k = 0, longer = 1; k < TRIES && longer; k++) {
        if (step_from(p, m->z, A, g, list, n, *damping, to)) {
            double cost = perp__cost_at(p, to, p->trial);
            if (cost < m->cost) {
                int is_short = distance(p->np, to, m->z) <= PERP_IDENTIFY_LEAST_STEP * p->width;
                *gain = is_short && p->width > PERP_IDENTIFY_NARROW ? 0 : m->cost - cost;
                m->cost = cost;
                p->so_far.cost = fmin(p->so_far.cost, cost);
                memcpy(m->z, to, (size_t)p->np * sizeof(double));
                memcpy(m->residual, p->trial, (size_t)p->n * sizeof(double));
                *damping = fmax(*damping / 5, 1e-12);
                return 1;
            }
            longer = distance(p->np, to, m->z) > PERP_IDENTIFY_LEAST_STEP * p->width;
        }
        *damping *= 4;
    }
    return 0;
}

int perp__move_smoothed(perp__problem *p, perp__minimum *m, double width)
{
    enum { LENGTHS = 12 };
    double A[MOST * MOST], g[MOST], to[MOST], z[MOST], best[MOST], usual = p->width,
                                                                   least = m->cost;
    int list[MOST];
    p->width = width;
    int ok = perp__differentiate(p, m, m->jacobian);
    p->width = usual;
    if (!ok) return 0;
    perp__normal_equations(p, m, A, g);
    int n = free_ones(p, m->z, g, A, list);
    if (n == 0 || !step_from(p, m->z, A, g, list, n, PERP_DAMPING_LEAST, to)) return 0;
    for (int k = 1; k <= LENGTHS; k++) {
        for (int i = 0; i < p->np; i++)
            z[i] = fmin(fmax(m->z[i] + 0.25 * k * (to[i] - m->z[i]), 0), 1);
        double cost = perp__cost_at(p, z, p->trial);
        if (cost < least) {
            least = cost;
            memcpy(best, z, (size_t)p->np * sizeof(double));
        }
    }
    if (!(least < m->cost)) return 0;
    memcpy(m->z, best, (size_t)p->np * sizeof(double));
    return 1;
}

void perp__minimise(perp__problem *p, perp__minimum *m, int max_iter, double tol)
{
    double damping = PERP_DAMPING_FIRST, gain = 0;
    m->cost = perp__cost_at(p, m->z, m->residual);
    m->iterations = m->flat = 0;
    m->is_cut = isfinite(m->cost) && max_iter > 0;
    while (m->is_cut && m->iterations < max_iter) {
        m->is_cut = perp__differentiate(p, m, m->jacobian) && improve(p, m, &damping, &gain);
        m->iterations += m->is_cut;
        if (gain <= tol * m->cost) m->is_cut = 0;
    }
    perp__to_theta(p, m->z, m->theta);
}
