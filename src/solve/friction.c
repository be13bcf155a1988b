/* Friction problems: checks, the scaled copy the methods work on, the driver that verifies, the one
 * residual. */

#include "perp/friction.h"

#include "base/base.h"
#include "base/tol.h"
#include "solve/fc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp_fc_solver {
    perp_fc_method method;
    perp_fc_options options;
    int dimension, nc_max, nb_max, nv_max;
    perp__fc fc;
    double *memory; /* all vectors of fc, and those below */
    int *indices;
    double *dense;     /* (d nc)^2: W from mass and Jacobian; NULL without */
    double *mass;      /* nv x nv: factors of M */
    int *pivot;        /* nv */
    double *solution;  /* nv x d nc: inv(M) J' */
    double *caller_r;  /* d nc */
    int *next, *count; /* triplets to rows */
};

static const char *const names[] = {
#define PERP_FRICTION(name, NAME, function, summary) #name,
#include "perp/friction.def"
#undef PERP_FRICTION
};
static const char *const summaries[] = {
#define PERP_FRICTION(name, NAME, function, summary) summary,
#include "perp/friction.def"
#undef PERP_FRICTION
};
static void (*const methods[])(perp__fc *) = {
#define PERP_FRICTION(name, NAME, function, summary) perp__fc_##function,
#include "perp/friction.def"
#undef PERP_FRICTION
};

perp_fc_method perp_fc_method_find(const char *name)
{
    for (int m = 0; name && m < PERP_FC_METHOD_COUNT; m++)
        if (strcmp(name, names[m]) == 0) return (perp_fc_method)m;
    return PERP_FC_METHOD_COUNT;
}

const char *perp_fc_method_name(perp_fc_method method)
{
    return (unsigned)method < PERP_FC_METHOD_COUNT ? names[method] : "unknown method";
}

const char *perp_fc_method_summary(perp_fc_method method)
{
    return (unsigned)method < PERP_FC_METHOD_COUNT ? summaries[method] : "unknown method";
}

perp_fc_options perp_fc_options_default(void)
{
    perp_fc_options o = {.tol = PERP_TOL_FRICTION};
    o.nsgs.omega = 1;
    o.newton.line_search = 8;
    o.proximal.alpha = 1;
    o.proximal.sigma = 0.2;
    o.admm.adapt = 1;
    o.prox.strategy = PERP_RHO_ADAPTIVE;
    o.prox.rho = 1;
    return o;
}

static int options_valid(const perp_fc_options *o)
{
    return o->tol > 0 && o->tol <= 1e-2 && o->tol_absolute >= 0 && o->max_iter >= 0 &&
           o->nsgs.omega > 0 && o->nsgs.omega < 2 && o->newton.line_search >= 0 &&
           o->newton.line_search <= 50 && o->proximal.alpha > 0 && isfinite(o->proximal.alpha) &&
           o->proximal.sigma > 0 && o->proximal.sigma < 1 && o->admm.rho >= 0 &&
           isfinite(o->admm.rho) && (unsigned)o->prox.strategy < PERP_RHO_COUNT &&
           o->prox.rho > 0 && isfinite(o->prox.rho);
}

/* ---- the one residual
 * ---------------------------------------------------------------------------------------- */

void perp_fc_project(int dimension, double mu, const double *x, double *p)
{
    double t = dimension == 3 ? hypot(x[1], x[2]) : fabs(x[1]);
    if (x[0] >= 0 && t <= mu * x[0]) { /* inside */
        for (int k = 0; k < dimension; k++) p[k] = x[k];
        return;
    }
    double h = hypot(1, mu), n = (x[0] / h + mu / h * t) / h;
    if (mu * t <= -x[0]) n = 0; /* inside the polar cone */
    double f = t > 0 ? mu * n / t : 0;
    for (int k = 1; k < dimension; k++) p[k] = f * x[k];
    p[0] = n;
}

/* u = W r + q from the caller's arrays. */
static void caller_velocity(const perp_fc *p, const double *r, double *u)
{
    int d = p->dimension, n = d * p->nc;
    memcpy(u, p->q, (size_t)n * sizeof *u);
    if (p->W) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) u[i] += (p->W + (size_t)j * (size_t)p->ldw)[i] * r[j];
    } else {
        for (int k = 0; k < p->nb; k++) {
            const double *w = p->block + (size_t)k * (size_t)(d * d),
                         *x = r + (size_t)p->col[k] * (size_t)d;
            double *y = u + (size_t)p->row[k] * (size_t)d;
            for (int a = 0; a < d; a++)
                for (int b = 0; b < d; b++) y[a] += w[a * d + b] * x[b];
        }
    }
}

/* The natural residual when u is known. */
static double residual_of(const perp_fc *p, const double *r, const double *u)
{
    int d = p->dimension;
    double largest = 0;
    for (int i = 0; i < p->nc; i++) {
        const double *ri = r + (size_t)i * (size_t)d, *ui = u + (size_t)i * (size_t)d;
        double x[3] = {0}, proj[3], sum = 0, t = d == 3 ? hypot(ui[1], ui[2]) : fabs(ui[1]);
        for (int k = 0; k < d; k++) x[k] = ri[k] - ui[k];
        x[0] -= p->mu[i] * t;
        perp_fc_project(d, p->mu[i], x, proj);
        for (int k = 0; k < d; k++) sum += (ri[k] - proj[k]) * (ri[k] - proj[k]);
        double e = sqrt(sum);
        if (!(e <= largest)) largest = e; /* NaN stays */
        if (isnan(largest)) return NAN;
    }
    return largest;
}

double perp_fc_residual(const perp_fc *problem, const double *r, double *u)
{
    if (!problem->W && !problem->block && problem->nc > 0) return NAN;
    if (u) {
        caller_velocity(problem, r, u);
        return residual_of(problem, r, u);
    }
    double *own = malloc(((size_t)problem->nc * 3 + 1) * sizeof *own);
    if (!own) return NAN;
    caller_velocity(problem, r, own);
    double residual = residual_of(problem, r, own);
    free(own);
    return residual;
}

double perp_fc_scale(const perp_fc *problem)
{
    double largest = 0;
    for (int i = 0; i < problem->dimension * problem->nc; i++)
        largest = fmax(largest, fabs(problem->q[i]));
    return largest > 0 ? largest : 1;
}

/* ---- mass and Jacobian
 * ---------------------------------------------------------------------------------------- */

/* a := LU of M with row pivoting; 0 when M is singular. */
static int mass_factor(int n, const double *M, int ldm, double *a, int *pivot)
{
    for (int j = 0; j < n; j++)
        memcpy(a + (size_t)j * (size_t)n, M + (size_t)j * (size_t)ldm, (size_t)n * sizeof *a);
    for (int k = 0; k < n; k++) {
        double *ck = a + (size_t)k * (size_t)n;
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(ck[i]) > fabs(ck[p])) p = i;
        pivot[k] = p;
        if (ck[p] == 0 || !isfinite(ck[p])) return 0;
        for (int j = 0; j < n && p != k; j++) {
            double *c = a + (size_t)j * (size_t)n, t = c[k];
            c[k] = c[p];
            c[p] = t;
        }
        for (int i = k + 1; i < n; i++) ck[i] /= ck[k];
        for (int j = k + 1; j < n; j++) {
            double *c = a + (size_t)j * (size_t)n, f = c[k];
            if (f == 0) continue;
            for (int i = k + 1; i < n; i++) c[i] -= ck[i] * f;
        }
    }
    return 1;
}

static void mass_solve(int n, const double *a, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) {
        double t = x[pivot[k]];
        x[pivot[k]] = x[k];
        x[k] = t;
    }
    for (int k = 0; k < n; k++) {
        const double *ck = a + (size_t)k * (size_t)n;
        for (int i = k + 1; i < n && x[k] != 0; i++) x[i] -= ck[i] * x[k];
    }
    for (int k = n - 1; k >= 0; k--) {
        const double *ck = a + (size_t)k * (size_t)n;
        x[k] /= ck[k];
        for (int i = 0; i < k && x[k] != 0; i++) x[i] -= ck[i] * x[k];
    }
}

/* W = J inv(M) J'; mass: nv^2, solution: nv. Returns 0 when M is singular. */
static int mass_delassus(const perp_fc *p, double *W, int ldw, double *mass, int *pivot,
                         double *solution)
{
    int n = p->dimension * p->nc, nv = p->nv;
    if (!mass_factor(nv, p->M, p->ldm, mass, pivot)) return 0;
    for (int j = 0; j < n; j++) {
        double *w = W + (size_t)j * (size_t)ldw;
        for (int v = 0; v < nv; v++) solution[v] = (p->J + (size_t)v * (size_t)p->ldj)[j];
        mass_solve(nv, mass, pivot, solution);
        memset(w, 0, (size_t)n * sizeof *w);
        for (int v = 0; v < nv; v++) {
            const double *jv = p->J + (size_t)v * (size_t)p->ldj;
            if (solution[v] == 0) continue;
            for (int i = 0; i < n; i++) w[i] += jv[i] * solution[v];
        }
    }
    return 1;
}

perp_status perp_fc_delassus(const perp_fc *problem, double *W, int ldw)
{
    if (!problem || !W || problem->dimension < 2 || problem->dimension > 3) return PERP_ERR_ARG;
    int d = problem->dimension, n = d * problem->nc;
    if (ldw < n) return PERP_ERR_ARG;
    if (problem->W) {
        for (int j = 0; j < n; j++)
            memcpy(W + (size_t)j * (size_t)ldw, problem->W + (size_t)j * (size_t)problem->ldw,
                   (size_t)n * sizeof *W);
        return PERP_OK;
    }
    if (problem->block) {
        for (int j = 0; j < n; j++) memset(W + (size_t)j * (size_t)ldw, 0, (size_t)n * sizeof *W);
        for (int k = 0; k < problem->nb; k++) {
            if (problem->row[k] < 0 || problem->row[k] >= problem->nc || problem->col[k] < 0 ||
                problem->col[k] >= problem->nc)
                return PERP_ERR_ARG;
            for (int a = 0; a < d; a++)
                for (int b = 0; b < d; b++)
                    (W +
                     (size_t)(problem->col[k] * d + b) * (size_t)ldw)[problem->row[k] * d + a] +=
                        problem->block[(size_t)k * (size_t)(d * d) + (size_t)(a * d + b)];
        }
        return PERP_OK;
    }
    if (!problem->M || !problem->J) return n ? PERP_ERR_ARG : PERP_OK;
    size_t nv = (size_t)problem->nv;
    double *work = malloc((nv * nv + nv + 1) * sizeof *work);
    int *pivot = malloc((nv + 1) * sizeof *pivot);
    perp_status status = PERP_ERR_MEMORY;
    if (work && pivot)
        status =
            mass_delassus(problem, W, ldw, work, pivot, work + nv * nv) ? PERP_OK : PERP_ERR_MODEL;
    free(work);
    free(pivot);
    return status;
}

/* ---- create, destroy
 * ------------------------------------------------------------------------------------------- */

perp_status perp_fc_solver_create(perp_fc_method method, const perp_fc *shape,
                                  const perp_fc_options *options, perp_fc_solver **solver)
{
    if (!solver) return PERP_ERR_ARG;
    *solver = NULL;
    perp_fc_options o = options ? *options : perp_fc_options_default();
    if ((unsigned)method >= PERP_FC_METHOD_COUNT || !shape || !options_valid(&o))
        return PERP_ERR_ARG;
    if (shape->dimension < 2 || shape->dimension > 3 || shape->nc < 0 || shape->nb < 0 ||
        shape->nv < 0)
        return PERP_ERR_ARG;
    if (shape->nc > 100000000 || shape->nb > 100000000) return PERP_ERR_ARG;
    if (shape->nb == 0 && shape->nc > 10000) return PERP_ERR_MEMORY; /* dense, 64 GB */
    perp_fc_solver *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    s->method = method;
    s->options = o;
    s->dimension = shape->dimension;
    s->nc_max = shape->nc;
    s->nv_max = shape->nv;
    /* every row has a diagonal block, given or not */
    s->nb_max = (shape->nb ? shape->nb : shape->nc * shape->nc) + shape->nc;
    size_t nc = (size_t)shape->nc + 1, n = 3 * nc, nb = (size_t)s->nb_max + 1,
           nv = (size_t)shape->nv;
    size_t dn = (size_t)shape->dimension * (size_t)shape->nc;
    int ok = 1;
    size_t doubles = 18 * nb + n * (5 + PERP__FC_WORK) + 2 * nc;
    ok &= (s->memory = malloc(doubles * sizeof(double))) != NULL;
    ok &= (s->indices = malloc((5 * nc + 2 * nb + 2) * sizeof(int))) != NULL;
    if (nv) {
        ok &= (s->dense = malloc((dn * dn + 1) * sizeof(double))) != NULL;
        ok &= (s->mass = malloc((nv * nv + nv) * sizeof(double))) != NULL;
        ok &= (s->pivot = malloc(nv * sizeof(int))) != NULL;
    }
    ok &= (s->fc.lu = perp__block_lu_create(shape->nc)) != NULL;
    if (!ok) {
        perp_fc_solver_destroy(s);
        return PERP_ERR_MEMORY;
    }
    double *at = s->memory;
    s->fc.block = at, at += 9 * nb;
    s->fc.jacobian = at, at += 9 * nb;
    s->fc.q = at, at += n;
    s->fc.r = at, at += n;
    s->fc.u = at, at += n;
    s->fc.best = at, at += n;
    s->caller_r = at, at += n;
    s->fc.work = at, at += n * PERP__FC_WORK;
    s->fc.mu = at, at += nc;
    s->fc.scale = at;
    int *index = s->indices;
    s->fc.start = index, index += nc + 1;
    s->fc.diag = index, index += nc;
    s->fc.active = index, index += nc;
    s->count = index, index += nc;
    s->fc.col = index, index += nb;
    s->next = index;
    s->fc.options = &s->options;
    *solver = s;
    return PERP_OK;
}

void perp_fc_solver_destroy(perp_fc_solver *solver)
{
    if (!solver) return;
    perp__block_lu_destroy(solver->fc.lu);
    free(solver->memory);
    free(solver->indices);
    free(solver->dense);
    free(solver->mass);
    free(solver->pivot);
    free(solver);
}

/* ---- the scaled copy
 * ------------------------------------------------------------------------------------------- */

static int all_finite(const double *x, size_t n)
{
    double sum = 0; /* x - x is 0 for a number, NaN otherwise */
    for (size_t i = 0; i < n; i++) sum += x[i] - x[i];
    return sum == 0;
}

static int matrix_finite(const double *a, int rows, int cols, int ld)
{
    for (int j = 0; j < cols; j++)
        if (!all_finite(a + (size_t)j * (size_t)ld, (size_t)rows)) return 0;
    return 1;
}

/* Everything finite, mu >= 0, block places inside. */
static int input_valid(const perp_fc *p)
{
    int n = p->dimension * p->nc;
    if (!all_finite(p->q, (size_t)n) || !all_finite(p->mu, (size_t)p->nc)) return 0;
    for (int i = 0; i < p->nc; i++)
        if (p->mu[i] < 0) return 0;
    if (p->W) return matrix_finite(p->W, n, n, p->ldw);
    if (p->block) {
        for (int k = 0; k < p->nb; k++)
            if (p->row[k] < 0 || p->row[k] >= p->nc || p->col[k] < 0 || p->col[k] >= p->nc)
                return 0;
        return all_finite(p->block, (size_t)p->nb * (size_t)(p->dimension * p->dimension));
    }
    return matrix_finite(p->M, p->nv, p->nv, p->ldm) && matrix_finite(p->J, n, p->nv, p->ldj);
}

/* Add a d x d block, strides (rs, cs), to a zeroed 3 x 3 one. */
static void block_add(double *to, const double *from, int d, size_t rs, size_t cs)
{
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) to[3 * a + b] += from[(size_t)a * rs + (size_t)b * cs];
}

/* Rows of nonzero blocks from a dense W. */
static void load_dense(perp_fc_solver *s, int d, int nc, const double *W, int ldw)
{
    perp__fc *fc = &s->fc;
    int nb = 0;
    size_t ld = (size_t)ldw;
    for (int i = 0; i < nc; i++) {
        fc->start[i] = nb;
        for (int j = 0; j < nc; j++) {
            const double *w = W + (size_t)(d * i) + (size_t)(d * j) * ld;
            int zero = i != j;
            for (int a = 0; a < d && zero; a++)
                for (int b = 0; b < d; b++) zero &= w[(size_t)a + (size_t)b * ld] == 0;
            if (zero) continue;
            memset(fc->block + 9 * (size_t)nb, 0, 9 * sizeof(double));
            block_add(fc->block + 9 * (size_t)nb, w, d, 1, ld);
            fc->col[nb++] = j;
        }
    }
    fc->start[nc] = nb;
}

/* Rows from blocks in any order: those of one row are linked, then scattered by column. */
static void load_blocks(perp_fc_solver *s, const perp_fc *p)
{
    perp__fc *fc = &s->fc;
    int nc = p->nc, d = p->dimension, *head = s->count, *next = s->next, *at = fc->active;
    /* sort by column, then by row, both stable: a pass each of linked lists */
    int *row_head = fc->diag;
    for (int i = 0; i < nc; i++) head[i] = row_head[i] = at[i] = -1;
    for (int k = p->nb - 1; k >= 0; k--) {
        next[k] = head[p->col[k]];
        head[p->col[k]] = k;
    }
    int *tail = fc->start; /* last of each row's list */
    for (int i = 0; i < nc; i++) tail[i] = -1;
    for (int j = 0; j < nc; j++)
        for (int k = head[j], after; k >= 0; k = after) {
            int i = p->row[k];
            after = next[k];
            next[k] = -1;
            if (tail[i] >= 0)
                next[tail[i]] = k;
            else
                row_head[i] = k;
            tail[i] = k;
        }
    int nb = 0;
    for (int i = 0; i < nc; i++) {
        int seen = 0, last = -1;
        fc->start[i] = nb;
        for (int k = row_head[i]; k >= 0 || !seen; k = k >= 0 ? next[k] : k) {
            int j = k >= 0 ? p->col[k] : nc;
            if (!seen && j > i) { /* the diagonal is always there */
                seen = 1;
                memset(fc->block + 9 * (size_t)nb, 0, 9 * sizeof(double));
                fc->col[nb++] = last = i;
                if (k < 0) break;
            }
            if (j == i) seen = 1;
            if (j != last) {
                memset(fc->block + 9 * (size_t)nb, 0, 9 * sizeof(double));
                fc->col[nb++] = last = j;
            }
            block_add(fc->block + 9 * (size_t)(nb - 1), p->block + (size_t)k * (size_t)(d * d), d,
                      (size_t)d, 1);
        }
    }
    fc->start[nc] = nb;
}

/* Scale every contact to a mean diagonal of 1 (see fc.h); 0 when the problem is beyond the range of
 * double. */
static int scale_copy(perp__fc *fc, int d)
{
    for (int i = 0; i < fc->nc; i++) {
        int k = fc->start[i];
        while (fc->col[k] != i) k++;
        fc->diag[i] = k;
        double *w = fc->block + 9 * (size_t)k;
        if (d == 2) w[8] = w[4] != 0 ? fabs(w[4]) : 1;
        double mean = (fabs(w[0]) + fabs(w[4]) + fabs(w[8])) / 3;
        fc->scale[i] = mean > 1e-280 && mean < 1e280 ? 1 / sqrt(mean) : 1;
    }
    for (int i = 0; i < fc->nc; i++) {
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            double f = fc->scale[i] * fc->scale[fc->col[k]];
            for (int e = 0; e < 9; e++) fc->block[9 * (size_t)k + (size_t)e] *= f;
        }
        for (int e = 0; e < 3; e++) {
            fc->q[3 * i + e] *= fc->scale[i];
            fc->r[3 * i + e] /= fc->scale[i];
        }
    }
    return all_finite(fc->block, 9 * (size_t)fc->nb) && all_finite(fc->q, (size_t)fc->n) &&
           all_finite(fc->r, (size_t)fc->n);
}

static int load(perp_fc_solver *s, const perp_fc *p, const double *r)
{
    perp__fc *fc = &s->fc;
    int d = p->dimension;
    fc->nc = p->nc;
    fc->n = 3 * p->nc;
    if (p->W) {
        load_dense(s, d, p->nc, p->W, p->ldw);
    } else if (p->block) {
        load_blocks(s, p);
    } else {
        size_t nv = (size_t)p->nv;
        if (!mass_delassus(p, s->dense, d * p->nc, s->mass, s->pivot, s->mass + nv * nv)) return 0;
        load_dense(s, d, p->nc, s->dense, d * p->nc);
    }
    fc->nb = fc->start[p->nc];
    for (int i = 0; i < p->nc; i++) {
        fc->mu[i] = fmin(p->mu[i], 1e100); /* its square must be a number */
        for (int k = 0; k < 3; k++) {
            fc->q[3 * i + k] = k < d ? p->q[d * i + k] : 0;
            fc->r[3 * i + k] = k < d && r ? r[d * i + k] : 0;
        }
    }
    return scale_copy(fc, d);
}

/* ---- what the methods call
 * -------------------------------------------------------------------------------------- */

void perp__fc_velocity(const perp__fc *fc, const double *r, double *u)
{
    for (int i = 0; i < fc->nc; i++) {
        double a = fc->q[3 * i], b = fc->q[3 * i + 1], c = fc->q[3 * i + 2];
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *x = r + 3 * (size_t)fc->col[k];
            a += w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
            b += w[3] * x[0] + w[4] * x[1] + w[5] * x[2];
            c += w[6] * x[0] + w[7] * x[1] + w[8] * x[2];
        }
        u[3 * i] = a, u[3 * i + 1] = b, u[3 * i + 2] = c;
    }
}

double perp__fc_residual(perp__fc *fc)
{
    double sum = 0;
    perp__fc_velocity(fc, fc->r, fc->u);
    for (int i = 0; i < fc->nc; i++) {
        double s = fc->scale[i], x[3], p[3], r[3], u[3];
        for (int k = 0; k < 3; k++) {
            r[k] = s * fc->r[3 * i + k];
            u[k] = fc->u[3 * i + k] / s;
            x[k] = r[k] - u[k];
        }
        x[0] -= fc->mu[i] * sqrt(u[1] * u[1] + u[2] * u[2]);
        perp__fc_cone(fc->mu[i], x, p);
        for (int k = 0; k < 3; k++) sum += (r[k] - p[k]) * (r[k] - p[k]);
    }
    double residual = sqrt(sum);
    if (residual < fc->best_residual) {
        fc->best_residual = residual;
        memcpy(fc->best, fc->r, (size_t)fc->n * sizeof(double));
    }
    return residual;
}

/* ---- the driver
 * --------------------------------------------------------------------------------------------------
 */

static perp_status check_shape(const perp_fc_solver *s, const perp_fc *p)
{
    if (p->dimension < 2 || p->dimension > 3 || p->nc < 0) return PERP_ERR_ARG;
    if (p->nc == 0) return PERP_OK;
    if (!p->q || !p->mu) return PERP_ERR_ARG;
    int n = p->dimension * p->nc;
    if (p->dimension != s->dimension || p->nc > s->nc_max) return PERP_ERR_DIM;
    if (p->W) {
        if (p->ldw < n) return PERP_ERR_ARG;
        return (long long)p->nc * p->nc > s->nb_max ? PERP_ERR_DIM : PERP_OK;
    }
    if (p->block) {
        if (!p->row || !p->col || p->nb < 0) return PERP_ERR_ARG;
        return p->nb > s->nb_max - p->nc ? PERP_ERR_DIM : PERP_OK;
    }
    if (!p->M || !p->J || p->nv < 0 || p->ldm < p->nv || p->ldj < n) return PERP_ERR_ARG;
    return p->nv > s->nv_max || (long long)p->nc * p->nc > s->nb_max ? PERP_ERR_DIM : PERP_OK;
}

/* How often a method may go on where it was satisfied and the caller's problem is not. */
enum { ATTEMPTS = 3 };

perp_status perp_fc_solve(perp_fc_solver *solver, const perp_fc *problem, double *r, double *u,
                          perp_fc_info *info)
{
    perp_fc_info own;
    if (!info) info = &own;
    *info = (perp_fc_info){.outcome = PERP_BAD_INPUT, .residual = NAN, .residual_scaled = NAN};
    if (!solver || !problem || (problem->nc > 0 && !r)) return PERP_ERR_ARG;
    info->method = solver->method;
    perp_status status = check_shape(solver, problem);
    if (status != PERP_OK) return status;
    perp__fc *fc = &solver->fc;
    int d = problem->dimension, n = d * problem->nc, warm = solver->options.warm_start;
    if (!input_valid(problem) || (warm && !all_finite(r, (size_t)n)) ||
        !load(solver, problem, warm ? r : NULL))
        return PERP_OK;
    double unit = perp_fc_scale(problem);
    double target = fmax(solver->options.tol * unit, solver->options.tol_absolute);
    fc->target = target;
    fc->max_iter = solver->options.max_iter;
    fc->iterations = fc->factorizations = fc->out_of_memory = 0;
    fc->best_residual = INFINITY;
    memcpy(fc->best, fc->r, (size_t)fc->n * sizeof(double));
    fc->used = solver->method;
    perp_fc view = *problem;
    if (!view.W && !view.block) {
        view.W = solver->dense;
        view.ldw = n;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        methods[solver->method](fc);
        if (fc->out_of_memory) return PERP_ERR_MEMORY;
        /* the best iterate, in the caller's units, judged by the caller's problem */
        for (int i = 0; i < problem->nc; i++)
            for (int k = 0; k < d; k++) r[d * i + k] = fc->scale[i] * fc->best[3 * i + k];
        info->residual = perp_fc_residual(&view, r, solver->caller_r);
        if (info->residual <= target || !(fc->best_residual <= fc->target)) break;
        fc->target /= 10; /* what the method took for solved is not, by rounding */
        memcpy(fc->r, fc->best, (size_t)fc->n * sizeof(double));
    }
    info->residual_scaled = info->residual / unit;
    info->outcome = info->residual <= target ? PERP_SOLVED : PERP_LIMIT;
    info->method = fc->used;
    info->iterations = fc->iterations;
    info->factorizations = fc->factorizations;
    if (u) memcpy(u, solver->caller_r, (size_t)n * sizeof *u);
    return PERP_OK;
}
