/* Semismooth Newton on the map of Alart & Curnier (1991).
 *
 *     F_n = r_n - max(0, z),                 z = r_n - rho_n u_n
 *     F_T = r_T - P(r_T - rho_T u_T),        P onto the disc of radius mu max(0, z)
 *
 * with rho_n, rho_T from the diagonal block. Contacts with z <= 0 are eliminated by hand (dr = -r);
 * the rest is the block-sparse system (A + B (W + shift I)) dr = -F. A singular W (more contacts
 * than the bodies can tell apart) makes steps along its null space long and useless: the shift, one
 * proximal step inside Newton's, damps exactly those. It grows when the line search fails and
 * shrinks after full steps. The line search compares with the largest |F| of the last steps: going
 * over a hill is often the way out of a wrong set of sliding contacts. Fails: far from a solution
 * the line search stalls; then a few Gauss-Seidel sweeps help (auto). Cost: one sparse
 * factorisation a step.
 * Alart & Curnier, Comput. Methods Appl. Mech. Engrg. 92 (1991); Grippo, Lampariello & Lucidi 1986
 * (line search). */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

/* The weight of a velocity in the map, by the diagonal of W. */
static double weight_of(double w)
{
    return w > PERP_FC_DIAGONAL ? 1 / w : 1;
}

int perp__fc_map(const double *w, double mu, const double *r, const double *u, double *F, double *A,
                 double *B)
{
    double rn = weight_of(w[0]), rt = weight_of(fmax(w[4], w[8]));
    double z = r[0] - rn * u[0], y[2] = {r[1] - rt * u[1], r[2] - rt * u[2]};
    if (A) {
        memset(A, 0, 9 * sizeof *A);
        memset(B, 0, 9 * sizeof *B);
    }
    if (z <= 0) {
        memcpy(F, r, 3 * sizeof *F);
        return 0;
    }
    F[0] = rn * u[0];
    if (A) B[0] = rn;
    double t = sqrt(y[0] * y[0] + y[1] * y[1]);
    if (t <= mu * z) {
        F[1] = rt * u[1];
        F[2] = rt * u[2];
        if (A) B[4] = B[8] = rt;
        return 1;
    }
    double d[2] = {y[0] / t, y[1] / t}, g = mu * z / t;
    for (int a = 0; a < 2; a++) {
        F[1 + a] = r[1 + a] - mu * z * d[a];
        if (!A) continue;
        A[3 * (1 + a)] = -mu * d[a];
        B[3 * (1 + a)] = mu * rn * d[a];
        for (int b = 0; b < 2; b++) {
            double gamma = g * ((a == b) - d[a] * d[b]);
            A[3 * (1 + a) + 1 + b] = (a == b) - gamma;
            B[3 * (1 + a) + 1 + b] = rt * gamma;
        }
    }
    return 1;
}

static int map_contact(const perp__fc *fc, int i, const double *r, const double *u, double *F,
                       double *A, double *B)
{
    return perp__fc_map(fc->block + 9 * (size_t)fc->diag[i], fc->mu[i], r, u, F, A, B);
}

static void velocity(const perp__fc *fc, double alpha, const double *center, const double *r,
                     double *u)
{
    perp__fc_velocity(fc, r, u);
    for (int k = 0; alpha > 0 && k < fc->n; k++) u[k] += alpha * (r[k] - center[k]);
}

/* |F|, and F. */
static double map_norm(const perp__fc *fc, const double *r, const double *u, double *F)
{
    double sum = 0;
    for (int i = 0; i < fc->nc; i++) {
        map_contact(fc, i, r + 3 * i, u + 3 * i, F + 3 * i, NULL, NULL);
        for (int k = 0; k < 3; k++) sum += F[3 * i + k] * F[3 * i + k];
    }
    return sqrt(sum);
}

/* dr := the Newton step from (r, u); 0 when memory is out. The order of elimination is that of the
 * last step where the same contacts are closed. */
static int newton_step(perp__fc *fc, int is_first, double shift, const double *u, double *dr)
{
    const double *r = fc->r;
    int is_ordered = !is_first;
    double *B = perp__fc_work(fc, 0), *A = perp__fc_work(fc, 3); /* 9 nc each: 3 vectors */
    for (int i = 0; i < fc->nc; i++) {
        double *Ai = A + 9 * (size_t)i, *Bi = B + 9 * (size_t)i;
        int closed = map_contact(fc, i, r + 3 * i, u + 3 * i, dr + 3 * i, Ai, Bi);
        is_ordered &= closed == fc->active[i];
        fc->active[i] = closed;
        for (int k = 0; k < 3; k++) dr[3 * i + k] = -dr[3 * i + k];
        for (int e = 0; e < 9; e++) Ai[e] += shift * Bi[e];
    }
    if (!is_ordered && !perp__fc_system_order(fc, fc->active)) return 0;
    perp__fc_system_factor(fc, A, B, PERP_TOL_SINGULAR);
    perp__fc_system_solve(fc, dr);
    return 1;
}

static double size_of(const double *x)
{
    return fabs(x[0]) + fabs(x[1]) + fabs(x[2]);
}

/* The size of the terms in the sums of the map at r: below its rounding no step makes the map
 * smaller. */
static double terms_of(const perp__fc *fc)
{
    double sum = 0;
    perp__fc_count(fc, 1);
    for (int i = 0; i < fc->nc; i++) {
        const double *w = fc->block + 9 * (size_t)fc->diag[i];
        double terms = size_of(fc->q + 3 * i);
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *b = fc->block + 9 * (size_t)k, *x = fc->r + 3 * (size_t)fc->col[k];
            for (int a = 0; a < 3; a++)
                terms +=
                    fabs(b[3 * a] * x[0]) + fabs(b[3 * a + 1] * x[1]) + fabs(b[3 * a + 2] * x[2]);
        }
        terms = fmax(weight_of(w[0]), weight_of(fmax(w[4], w[8]))) * terms + size_of(fc->r + 3 * i);
        sum += terms * terms;
    }
    return sqrt(sum);
}

/* How many values the line search remembers; factors of the shift, shift at which to give up.
 * Chosen on the stored problems and 8 variants of each (bench_friction --vary): between half and
 * twice these little changes. */
enum { MEMORY = 5 };
static const double SHIFT_UP = 10, SHIFT_DOWN = 0.3, SHIFT_LEAST = 1e-13, SHIFT_MOST = 10,
                    STEP_SHORT = 0.1, SHIFT_SHORT = 3;

double perp__fc_newton(perp__fc *fc, double alpha, const double *center, double reduce, int limit)
{
    double *u = perp__fc_work(fc, 6), *dr = perp__fc_work(fc, 7), *F = perp__fc_work(fc, 8);
    double *trial = perp__fc_work(fc, 9);
    double past[MEMORY], first, norm, shift = fc->shift;
    velocity(fc, alpha, center, fc->r, u);
    first = norm = map_norm(fc, fc->r, u, F);
    for (int k = 0; k < MEMORY; k++) past[k] = norm;
    for (int it = 0; it < limit && norm > reduce * first && norm > 0; it++) {
        if (!newton_step(fc, it == 0, alpha + shift, u, dr)) break;
        fc->iterations++;
        /* the longest step 1, 1/2, 1/4, ... that is better than the worst of the last */
        double worst = 0, step = 1, value = INFINITY, before = norm;
        int halvings = fc->options->newton.line_search, accepted = 0;
        for (int k = 0; k < MEMORY; k++) worst = fmax(worst, past[k]);
        for (int h = 0; h <= halvings && !accepted; h++) {
            step = ldexp(1, -h);
            for (int k = 0; k < fc->n; k++) trial[k] = fc->r[k] + step * dr[k];
            velocity(fc, alpha, center, trial, u);
            value = map_norm(fc, trial, u, F);
            accepted =
                value <= (1 - PERP_ARMIJO * step) * worst || (halvings == 0 && isfinite(value));
        }
        if (!accepted) {
            if (shift > SHIFT_MOST) break;
            velocity(fc, alpha, center, fc->r, u);
            shift *= SHIFT_UP;
            continue;
        }
        if (step == 1 && value < norm) shift = fmax(shift * SHIFT_DOWN, SHIFT_LEAST);
        if (fc->is_stuck && step < STEP_SHORT) shift *= SHIFT_SHORT;
        memcpy(fc->r, trial, (size_t)fc->n * sizeof(double));
        past[it % MEMORY] = norm = value;
        if (alpha > 0) continue;
        memcpy(fc->u, u, (size_t)fc->n * sizeof(double));
        if (perp__fc_residual_of_u(fc) <= fc->target) break;
        fc->is_exact = norm > 0.5 * before && norm <= PERP_ROUNDING * terms_of(fc);
        if (fc->is_exact) break;
    }
    return first > 0 ? norm / first : 0;
}

void perp__fc_alart_curnier(perp__fc *fc)
{
    fc->used = PERP_FC_ALART_CURNIER;
    if (perp__fc_residual(fc) > fc->target)
        perp__fc_newton(fc, 0, NULL, 0, fc->max_iter ? fc->max_iter : 200);
}
