/* Primal-dual interior point with De Saxce's term.
 *
 * With x = (mu r_n, r_T) and z = (u_n/mu + |u_T|, u_T), both in the Lorentz cone |x_T| <= x_n:
 *
 *     z = P W P x + P q + |z_T| e_n,     x o z = tau e,     P = diag(1/mu, 1, 1),   tau -> 0.
 *
 * Each step linearises both equations in the scaling of Nesterov & Todd, dx + V^2 dz = -x + tau
 * inv(z). |z_T| is linearised too, so the matrix is not symmetric. The step solves (P W P + (I -
 * e t') inv(V^2)) dx = ... for all contacts, and goes 0.95 of the way to the boundary.
 *
 * A step from a guess solves twice with one factorisation (Mehrotra 1992). The first solve has
 * tau = 0: its length determines tau, and its product dx o dz is the error of the linear system.
 * The second has both. The method ends with Newton steps of alart-curnier.
 *
 * Fails: without an interior point it stops early; friction makes the problem nonconvex. Cost:
 * one factorisation with all contacts a step, 20 to 50 steps. Acary, Armand, Nguyen & Shpakovych
 * 2023. */

#include "base/tol.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

enum { STEPS = 60, POLISH = 50, IDLE_STEPS = 4 };
static const double SHORT = 0.5;

/* If so many steps in a row are shorter, the path turns back: the other steps of a start with many
 * are useless. */
static const double IDLE = 0.1;

/* Within so many times the tolerance it is Newton's turn if two steps have not halved the residual.
 * The rest is of |z_T| with z_T nearly 0; one of Newton's steps removes it and sixty of these do
 * not. */
static const double NEARLY = 1e4;

/* Above this residual contacts that keep their pieces tell nothing. */
static const double FAR = 3e-3;

static double det(const double *x)
{
    double t = sqrt(x[1] * x[1] + x[2] * x[2]);
    return (x[0] - t) * (x[0] + t);
}

/* The scaling point w of Nesterov and Todd, and f, with inv(V^2) = f (2 w w' - J), J = diag(1, -1,
 * -1). */
static double scaling_point(const double *x, const double *z, double *w)
{
    double dx = sqrt(det(x)), dz = sqrt(det(z)), dot = 0;
    for (int k = 0; k < 3; k++) dot += x[k] * z[k];
    double gamma = sqrt((1 + dot / (dx * dz)) / 2);
    for (int k = 0; k < 3; k++) w[k] = (z[k] / dz + (k ? -1 : 1) * x[k] / dx) / (2 * gamma);
    return dz / dx;
}

/* inv(V^2), 3 x 3: inv(V^2) x = z. */
static void scaling(const double *x, const double *z, double *h)
{
    static const double J[3] = {1, -1, -1};
    double w[3], f = scaling_point(x, z, w);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) h[3 * i + j] = f * (2 * w[i] * w[j] - (i == j ? J[i] : 0));
}

/* (2 v v' - J) a; with a and the result through J: J (2 v v' - J) J a. */
static void reflect(const double *v, const double *a, int through, double *out)
{
    double dot = v[0] * a[0], s = through ? -1 : 1;
    for (int k = 1; k < 3; k++) dot += s * v[k] * a[k];
    out[0] = 2 * v[0] * dot - a[0];
    for (int k = 1; k < 3; k++) out[k] = s * 2 * v[k] * dot + a[k];
}

/* rc less V inv(L) (inv(V) dx o V dz), L the product with l = V z: what the linear system misses of
 * the step. */
static void correct(const double *x, const double *z, const double *dx, const double *dz,
                    double *rc)
{
    double w[3], v[3], a[3], b[3], l[3], y[3], f = scaling_point(x, z, w);
    double unit = 1 / sqrt(2 * (w[0] + 1)), root = sqrt(f);
    for (int k = 0; k < 3; k++) v[k] = (w[k] + (k == 0)) * unit;
    reflect(v, dx, 0, a); /* inv(V) = root (2 v v' - J), whose inverse is J (2 v v' - J) J */
    reflect(v, dz, 1, b);
    reflect(v, z, 1, l);
    for (int k = 0; k < 3; k++) {
        a[k] *= root;
        b[k] /= root;
        l[k] /= root;
    }
    double s[3] = {a[0] * b[0] + a[1] * b[1] + a[2] * b[2], a[0] * b[1] + b[0] * a[1],
                   a[0] * b[2] + b[0] * a[2]};
    y[0] = (l[0] * s[0] - l[1] * s[1] - l[2] * s[2]) / det(l);
    for (int k = 1; k < 3; k++) y[k] = (s[k] - y[0] * l[k]) / l[0];
    reflect(v, y, 1, a);
    for (int k = 0; k < 3; k++) rc[k] -= a[k] / root;
}

/* Largest step in [0, 1] that keeps x + a d in the cone. */
static double step_length(const double *x, const double *d)
{
    double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
    double b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2], c = det(x);
    double step = d[0] < 0 ? fmin(1, -x[0] / d[0]) : 1, disc = b * b - a * c;
    if (disc < 0) return step;
    double s = sqrt(disc), q = b < 0 ? -b + s : -b - s; /* roots of a t^2 + 2 b t + c */
    double roots[2] = {a != 0 ? q / a : 2, q != 0 ? c / q : 2};
    for (int k = 0; k < 2; k++)
        if (roots[k] > 0 && roots[k] < step) step = roots[k];
    return step;
}

/* The system of a step, in impulses P dx: W + A with A = inv(P) (I - e t') inv(V^2) inv(P); h:
 * inv(V^2). 9 nc each. p = inv(P) (z - P u - |z_T| e). */
typedef struct step {
    double *h, *A, *p;
    double *dx, *dz, *rc; /* dx + V^2 dz = rc */
} step;

/* Of contact i the inverse of P's first entry. */
static double cone_of(const perp__fc *fc, int i)
{
    return fmax(fc->mu[i], PERP_FC_MU_LEAST);
}

static void factor(perp__fc *fc, const double *x, const double *z, step *s)
{
    double *r = perp__fc_work(fc, 12), *u = perp__fc_work(fc, 13);
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < 3; k++) r[3 * i + k] = x[3 * i + k] / (k ? 1 : cone_of(fc, i));
    perp__fc_velocity(fc, r, u);
    for (int i = 0; i < fc->nc; i++) {
        double *h = s->h + 9 * (size_t)i, *A = s->A + 9 * (size_t)i, m = cone_of(fc, i);
        double t = sqrt(z[3 * i + 1] * z[3 * i + 1] + z[3 * i + 2] * z[3 * i + 2]);
        scaling(x + 3 * i, z + 3 * i, h);
        memcpy(A, h, 9 * sizeof *A);
        for (int j = 0; j < 3; j++)
            for (int k = 1; k < 3 && t > 0; k++) A[j] -= z[3 * i + k] / t * h[3 * k + j];
        for (int e = 0; e < 9; e++) A[e] *= (e < 3 ? m : 1) * (e % 3 ? 1 : m);
        for (int k = 0; k < 3; k++)
            s->p[3 * i + k] = (k ? 1 : m) * (z[3 * i + k] - (k ? 0 : t)) - u[3 * i + k];
    }
    perp__fc_system_factor(fc, s->A, NULL, PERP_FC_PIVOT_IPM);
    fc->iterations++;
}

/* dx and dz for rc; how far they may go. */
static double find_step(perp__fc *fc, const double *x, const double *z, step *s)
{
    double length = 1;
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < 3; k++) {
            const double *A = s->A + 9 * (size_t)i + 3 * k, *rc = s->rc + 3 * i;
            s->dx[3 * i + k] =
                s->p[3 * i + k] + A[0] * rc[0] / cone_of(fc, i) + A[1] * rc[1] + A[2] * rc[2];
        }
    perp__fc_system_solve(fc, s->dx);
    for (int i = 0; i < fc->nc; i++) {
        const double *rc = s->rc + 3 * i;
        double *dx = s->dx + 3 * i, *dz = s->dz + 3 * i;
        dx[0] *= cone_of(fc, i);
        for (int k = 0; k < 3; k++) {
            const double *h = s->h + 9 * (size_t)i + 3 * k;
            dz[k] = h[0] * (rc[0] - dx[0]) + h[1] * (rc[1] - dx[1]) + h[2] * (rc[2] - dx[2]);
        }
        length = fmin(length, step_length(x + 3 * i, dx));
        length = fmin(length, step_length(z + 3 * i, dz));
    }
    return length;
}

/* The target of a step as a share of the gap: by the length of the last step; or the square of the
 * share that the step to 0 would leave, within these. */
static double sigma_of(double length)
{
    if (length > 0.9) return 0.1;
    if (length > 0.5) return 0.3;
    return 0.6;
}
static const double SIGMA_LEAST = 1e-3, SIGMA_MOST = 0.8;

/* The share of the way to the boundary of a step, without and with correction. */
static const double INSIDE = 0.95, INSIDE_CORRECTED = 0.99;

/* One step from (x, z) towards less tau; its length. length: of the last. */
static double advance(perp__fc *fc, double *x, double *z, int is_corrected, double length,
                      double *gap)
{
    step s = {.h = perp__fc_work(fc, 2),
              .A = perp__fc_work(fc, 5),
              .p = perp__fc_work(fc, 0),
              .dx = perp__fc_work(fc, 8),
              .dz = perp__fc_work(fc, 1),
              .rc = perp__fc_work(fc, 9)};
    double tau = 0, left = 0, sigma = sigma_of(length);
    for (int k = 0; k < fc->n; k++) tau += x[k] * z[k];
    *gap = tau /= fc->nc;
    factor(fc, x, z, &s);
    for (int k = 0; k < fc->n; k++) s.rc[k] = -x[k];
    if (is_corrected) {
        length = find_step(fc, x, z, &s);
        for (int k = 0; k < fc->n; k++)
            left += (x[k] + length * s.dx[k]) * (z[k] + length * s.dz[k]);
        left /= fc->nc * tau;
        sigma = fmin(fmax(left * left, SIGMA_LEAST), SIGMA_MOST);
    }
    for (int i = 0; i < fc->nc; i++) {
        double d = det(z + 3 * i);
        for (int k = 0; k < 3; k++)
            s.rc[3 * i + k] += sigma * tau * (k ? -1 : 1) * z[3 * i + k] / d;
        if (is_corrected) correct(x + 3 * i, z + 3 * i, s.dx + 3 * i, s.dz + 3 * i, s.rc + 3 * i);
    }
    length = find_step(fc, x, z, &s);
    double inside = is_corrected ? INSIDE_CORRECTED : INSIDE;
    double shorter = length < 1 ? inside * length : 1;
    for (int k = 0; k < fc->n; k++) {
        x[k] += shorter * s.dx[k];
        z[k] += shorter * s.dz[k];
    }
    return isfinite(length) ? length : 0;
}

/* A factor from 1/e^3 to e^3, another for each i and start; 1 for start 0. */
static double spread(int i, int start)
{
    unsigned long long x =
        (unsigned long long)(start * 1000003 + i) * 6364136223846793005u + 1442695040888963407u;
    x = (x ^ (x >> 29)) * 6364136223846793005u;
    return start ? exp(6 * (double)(x >> 11) * 0x1p-53 - 3) : 1;
}

/* Is each contact on the piece of the map where it was? They are kept in fc->active. */
static int are_settled(perp__fc *fc)
{
    int is_settled = 1;
    for (int i = 0; i < fc->nc; i++) {
        double F[3], A[9], B[9], *r = fc->r + 3 * i;
        int closed = perp__fc_map(fc->block + 9 * (size_t)fc->diag[i], fc->mu[i], r, fc->u + 3 * i,
                                  F, A, B),
            piece = perp__fc_piece(closed, A);
        is_settled &= piece == fc->active[i];
        fc->active[i] = piece;
    }
    return is_settled;
}

int perp__fc_ipm_steps(perp__fc *fc, int limit, int start, perp__ipm_end end)
{
    double *x = perp__fc_work(fc, 10), *z = perp__fc_work(fc, 11), size = PERP_TINY, gap = 0;
    for (int k = 0; k < fc->n; k++) size = fmax(size, fabs(fc->q[k]));
    if (!perp__fc_system_order(fc, NULL)) return 0;
    for (int i = 0; i < fc->nc; i++) fc->active[i] = -1;
    for (int k = 0; k < fc->n && start >= 0; k++) x[k] = z[k] = k % 3 ? 0 : size;
    for (int i = 0; i < fc->nc && start >= 0; i++) {
        x[3 * i] *= spread(2 * i, start);
        z[3 * i] *= spread(2 * i + 1, start);
    }
    /* from nothing piles are solved more often without correction */
    int is_corrected = end == PERP__IPM_SETTLED || start < 0;
    double length = 0, last[2] = {INFINITY, INFINITY}; /* the residual of the last steps */
    for (int it = 0, idle = 0; it < limit; it++) {
        length = advance(fc, x, z, is_corrected, length, &gap);
        idle = length < IDLE ? idle + 1 : 0;
        if (end == PERP__IPM_SETTLED && idle == IDLE_STEPS) break;
        if (length < PERP_FC_STEP || gap < PERP_FC_GAP * size * size) break;
        for (int i = 0; i < fc->nc; i++) {
            fc->r[3 * i] = x[3 * i] / cone_of(fc, i);
            fc->r[3 * i + 1] = x[3 * i + 1];
            fc->r[3 * i + 2] = x[3 * i + 2];
        }
        double residual = perp__fc_residual(fc);
        if (residual <= fc->target) break;
        if (fc->best_residual <= fc->tol && length < SHORT) break; /* Newton's turn */
        if (end == PERP__IPM_SETTLED && are_settled(fc) && residual <= FAR) return 1;
        if (end == PERP__IPM_SLOW && residual <= NEARLY * fc->tol && residual > 0.5 * last[0])
            return 1;
        last[0] = last[1];
        last[1] = residual;
    }
    return 0;
}

void perp__fc_ipm(perp__fc *fc)
{
    fc->used = PERP_FC_IPM;
    if (perp__fc_residual(fc) <= fc->target) return;
    int limit = fc->max_iter ? fc->max_iter : STEPS + POLISH;
    perp__fc_ipm_steps(fc, limit < STEPS ? limit : STEPS, 0, PERP__IPM_SLOW);
    memcpy(fc->r, fc->best, (size_t)fc->n * sizeof(double));
    if (!fc->out_of_memory && perp__fc_residual(fc) > fc->target)
        perp__fc_newton(fc, 0, NULL, 0, limit - STEPS);
}
