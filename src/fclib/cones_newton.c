/* Newton's method on the augmented Lagrangian (Alart and Curnier 1991): M v = f + B P(x - rho (B'
 * v + c)) for v, then x = P(..). P is the projection of each contact on its disc. The matrix is M +
 * B Q B', not symmetric where contacts slide. GMRES (Saad and Schultz 1986) uses the factors of its
 * symmetric part, which is positive definite like M, whatever W. */

#include "base/holds.h"
#include "fclib/cones.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

enum { BASIS = 30, STEPS = 12 };

typedef struct newton {
    perp__fclib_cones *s;
    const double *x;                 /* m */
    double *rho, *p, *y, *room;      /* items; m each */
    double *full, *F, *step, *trial; /* 9 x items; nv each */
    double *basis;                   /* (BASIS + 1) x nv */
} newton;

/* P(y) of item i, and its derivative times rho: Q, and what is symmetric of it. */
static void law(const newton *w, int i, const double *y, double *p, double *Q, double *symmetric)
{
    const perp__fclib_cones *s = w->s;
    int d = s->item[i].d;
    double rho = w->rho[i], mu = i < s->nc ? s->p->mu[i] : 0, *of[2] = {Q, symmetric};
    for (int k = 0; k < 2 && Q; k++) memset(of[k], 0, 9 * sizeof *Q);
    p[0] = y[0];
    for (int a = 1; a < d; a++) p[a] = 0;
    if (i < s->nc && !(y[0] > 0)) p[0] = 0;
    if (i < s->nc && !(y[0] > 0)) return;
    for (int k = 0; k < 2 && Q; k++) of[k][0] = rho;
    if (d == 1 || mu == 0) return;
    double t = d == 3 ? perp__length(y[1], y[2]) : fabs(y[1]), most = mu * y[0],
           shorter = t > most ? most / t : 1;
    for (int a = 1; a < d; a++) p[a] = shorter * y[a];
    for (int a = 1; a < d && Q; a++) {
        for (int b = 1; b < d; b++) {
            double along = t > most ? y[a] / t * (y[b] / t) : 0,
                   entry = rho * shorter * ((a == b) - along);
            Q[d * a + b] = symmetric[d * a + b] = entry;
        }
        if (t > most) Q[d * a] = rho * mu * y[a] / t;
    }
}

/* F = M v - f - B P(x - rho (B' v + c)), and P; with derivatives. Returns |F| in the units of the
 * diagonal of M. */
static double gap(newton *w, const double *v, double *F, int derive)
{
    perp__fclib_cones *s = w->s;
    double norm = 0;
    perp__cones_velocities(s, v, w->y);
    for (int i = 0; i < s->nc + s->nl; i++) {
        int at = s->item[i].row;
        for (int a = at; a < at + s->item[i].d; a++) w->y[a] = w->x[a] - w->rho[i] * w->y[a];
        law(w, i, w->y + at, w->p + at, derive ? w->full + 9 * (size_t)i : NULL,
            derive ? s->weight + 9 * (size_t)i : NULL);
    }
    perp__cones_forces(s, w->p, s->work[0]);
    perp__cones_momentum(s, v, F);
    for (int j = 0; j < s->nv; j++) {
        F[j] -= s->work[0][j];
        norm += F[j] * F[j] / s->mass[j];
    }
    return sqrt(norm);
}

/* y = inv(M + B Qs B') (M + B Q B') x */
static int apply(newton *w, const double *x, double *y)
{
    perp__cones_momentum(w->s, x, y);
    perp__cones_push(w->s, w->full, x, y, w->room);
    return perp__sparse_ldl_solve(w->s->ldl, y);
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Column k of the Hessenberg matrix h into triangular form by rotations, g with it. */
static void rotate(double h[][BASIS + 1], int k, double *cosine, double *sine, double *g)
{
    double *H = h[k];
    for (int i = 0; i < k; i++) {
        double a = H[i], b = H[i + 1];
        H[i] = cosine[i] * a + sine[i] * b;
        H[i + 1] = cosine[i] * b - sine[i] * a;
    }
    double size = hypot(H[k], H[k + 1]);
    cosine[k] = size > 0 ? H[k] / size : 1;
    sine[k] = size > 0 ? H[k + 1] / size : 0;
    H[k] = size;
    H[k + 1] = 0;
    g[k + 1] = -sine[k] * g[k];
    g[k] *= cosine[k];
}

/* step = -inv(J) F by GMRES, to `until` of it. Its first vector is the step of the symmetric part.
 * Returns 0: no solve. */
static int solve_step(newton *w, double until)
{
    int n = w->s->nv, k = 0;
    double h[BASIS][BASIS + 1] = {{0}}, g[BASIS + 1] = {0}, c[BASIS], s[BASIS], z[BASIS];
    double *V = w->basis, *step = w->step;
    for (int j = 0; j < n; j++) {
        V[j] = -w->F[j];
        step[j] = 0;
    }
    if (!perp__sparse_ldl_solve(w->s->ldl, V)) return 0;
    double size = g[0] = sqrt(dot(n, V, V));
    if (!(size > 0)) return 1;
    for (int j = 0; j < n; j++) V[j] /= size;
    while (k < BASIS) {
        double *next = V + (size_t)(k + 1) * (size_t)n;
        if (!apply(w, V + (size_t)k * (size_t)n, next)) return 0;
        for (int i = 0; i <= k; i++) {
            const double *Vi = V + (size_t)i * (size_t)n;
            h[k][i] = dot(n, next, Vi);
            for (int j = 0; j < n; j++) next[j] -= h[k][i] * Vi[j];
        }
        h[k][k + 1] = sqrt(dot(n, next, next));
        for (int j = 0; j < n && h[k][k + 1] > 0; j++) next[j] /= h[k][k + 1];
        rotate(h, k, c, s, g);
        k++;
        if (fabs(g[k]) <= until * size) break;
    }
    for (int i = k - 1; i >= 0; i--) {
        z[i] = g[i];
        for (int j = i + 1; j < k; j++) z[i] -= h[j][i] * z[j];
        z[i] = h[i][i] != 0 ? z[i] / h[i][i] : 0;
        for (int j = 0; j < n; j++) step[j] += z[i] * V[(size_t)i * (size_t)n + (size_t)j];
    }
    return 1;
}

/* The longest of 1, 1/2 .. of the step that shortens F; the best of them. */
static double search(newton *w, double *v, double before)
{
    int n = w->s->nv;
    double best = (double)INFINITY, length = 0;
    for (double t = 1; t > 0.01; t *= 0.5) {
        for (int j = 0; j < n; j++) w->trial[j] = v[j] + t * w->step[j];
        double after = gap(w, w->trial, w->F, 0);
        if (after < best) {
            best = after;
            length = t;
        }
        if (after <= (1 - 0.1 * t) * before) break;
    }
    for (int j = 0; j < n; j++) v[j] += length * w->step[j];
    return best;
}

/* What the new forces change, in the units of contacts, and how large they are. */
static double change_of(const newton *w, double *size)
{
    double change = 0;
    *size = 0;
    for (int i = 0; i < w->s->nc + w->s->nl; i++)
        for (int j = w->s->item[i].row; j < w->s->item[i].row + w->s->item[i].d; j++) {
            change += (w->p[j] - w->x[j]) * (w->p[j] - w->x[j]) * w->s->unit[i];
            *size += w->p[j] * w->p[j] * w->s->unit[i];
        }
    *size = sqrt(*size);
    return sqrt(change);
}

/* v with these x and rho; *is_close: F is small beside what x will change. */
static perp_status find_velocities(newton *w, perp__cones_run *run, double *v, int *steps)
{
    double norm = gap(w, v, w->F, 1), size;
    for (*steps = 0; *steps < STEPS && run->iterations < run->max_iter; ++*steps) {
        double change = change_of(w, &size);
        if (*steps > 0 && norm <= fmax(0.01 * change, 1e-13 * size)) break;
        perp_status status = perp__cones_factor(w->s);
        if (status != PERP_OK) return status;
        run->factors++;
        run->iterations++;
        if (!solve_step(w, 1e-8)) return PERP_ERR_MEMORY;
        double after = search(w, v, norm);
        if (!(after < norm)) break;
        norm = gap(w, v, w->F, 1);
        if (run->progress && run->progress(run->context, run->iterations, run->error)) {
            run->is_stopped = 1;
            break;
        }
    }
    return PERP_OK;
}

static int take(newton *w, perp__arena *arena)
{
    size_t m = (size_t)w->s->m + 1, nv = (size_t)w->s->nv + 1,
           items = (size_t)w->s->nc + (size_t)w->s->nl + 1;
    PERP_TAKE(arena, w->rho, items);
    PERP_TAKE(arena, w->full, 9 * items);
    PERP_TAKE(arena, w->p, m);
    PERP_TAKE(arena, w->y, m);
    PERP_TAKE(arena, w->room, m);
    PERP_TAKE(arena, w->F, nv);
    PERP_TAKE(arena, w->step, nv);
    PERP_TAKE(arena, w->trial, nv);
    PERP_TAKE(arena, w->basis, (BASIS + 1) * nv);
    return !arena->failed;
}

perp_status perp__cones_newton(perp__fclib_cones *s, perp__cones_run *run, int limit, double *x,
                               double *v)
{
    newton w = {.s = s, .x = x};
    perp_status status = PERP_OK;
    perp__arena own = {0};
    double *u, sigma = 100, tol = run->tol, last = (double)INFINITY;
    int steps, worse = 0;
    PERP_TAKE(&own, u, s->m + 1);
    if (!take(&w, &own)) status = PERP_ERR_MEMORY;
    for (int k = 0;
         k < limit && status == PERP_OK && !run->is_stopped && run->iterations < run->max_iter;
         k++) {
        for (int i = 0; i < s->nc + s->nl; i++) w.rho[i] = s->unit[i] > 0 ? sigma / s->unit[i] : 0;
        status = find_velocities(&w, run, v, &steps);
        if (status != PERP_OK) break;
        memcpy(x, w.p, (size_t)s->m * sizeof *x);
        perp__cones_velocities(s, v, u);
        double error = perp__cones_error(s, tol, x, u);
        if (error <= 0.1 * tol || k == limit - 1) {
            status = perp__cones_look(s, run, x, w.step);
            if (run->error <= tol) break;
        }
        worse = error < 0.5 * last ? 0 : worse + 1;
        if (worse > 5) break;
        last = fmin(last, error);
        if (steps <= 2 && sigma < 1e4) sigma *= 10;
    }
    perp__arena_clear(&own);
    return status;
}
