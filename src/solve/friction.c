/* Friction problems: checks, the scaled copy for the methods, and the driver. It solves each
 * connected component on its own and has every answer judged (fc_verdict.c). */

#include "perp/friction.h"

#include "base/base.h"
#include "base/holds.h"
#include "base/tol.h"
#include "base/words.h"
#include "linalg/dense.h"
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
    perp__fc_local *local;
    int *indices;
    double *kept; /* (d nc)^2: the dense W of the last load, to whose contacts ...; NULL for many */
    int nkept;    /* ... order, blocks and scales belong; 0: none */
    double *dense;      /* (d nc)^2: W from mass and Jacobian; NULL without */
    double *mass;       /* nv x nv: factors of M */
    int *pivot;         /* nv */
    double *solution;   /* nv x d nc: inv(M) J' */
    perp__fc_sums sums; /* d nc each: of the caller's problem */
    double *error;      /* nc, by place */
    int *next, *count;  /* triplets to rows */
    /* Contacts that no block joins share nothing: each connected component is solved on its own.
     * Contacts have places, the components one after the other: component c has the places first[c]
     * .. first[c+1]-1. */
    int ncomponent, *first, *place, *component; /* place: of contact i; component: of place k */
    int *pending;                               /* of each component: is it to be solved? */
    double products;                            /* multiply-adds of products with W, of a solve */
    double *reached, *target; /* of each component: what its method ended with; what it aims at */
};

static const perp__word word_rows[] = {
#define PERP_FRICTION(name, NAME, function, summary) {#name, summary},
#include "perp/friction.def"
#undef PERP_FRICTION
};
static const perp__words words = PERP_WORDS(word_rows);
static void (*const methods[])(perp__fc *) = {
#define PERP_FRICTION(name, NAME, function, summary) perp__fc_##function,
#include "perp/friction.def"
#undef PERP_FRICTION
};

PERP_WORD_FUNCTIONS(perp_fc_method, perp_fc_method, words)
PERP_WORD_SUMMARY(perp_fc_method, perp_fc_method_summary, words)

void perp_fc_options_fill(perp_fc_options *options, size_t size)
{
    perp_fc_options o = {.tol = PERP_TOL_FRICTION};
    o.nsgs.omega = 1;
    o.newton.line_search = 8;
    o.proximal.alpha = 1;
    o.proximal.sigma = 0.2;
    o.admm.adapt = 1;
    o.prox.strategy = PERP_RHO_ADAPTIVE;
    o.prox.rho = 1;
    o.aim = 1;
    perp__options_give(options, size, &o, sizeof o);
}

static int options_valid(const perp_fc_options *o)
{
    return o->tol > 0 && o->tol <= PERP_TOL_LARGEST && o->max_iter >= 0 && o->nsgs.omega > 0 &&
           o->nsgs.omega < 2 && o->newton.line_search >= 0 && o->newton.line_search <= 50 &&
           o->proximal.alpha > 0 && isfinite(o->proximal.alpha) && o->proximal.sigma > 0 &&
           o->proximal.sigma < 1 && o->admm.rho >= 0 && isfinite(o->admm.rho) &&
           (unsigned)o->prox.strategy < PERP_RHO_COUNT && o->prox.rho > 0 &&
           isfinite(o->prox.rho) && o->aim > 0 && o->aim <= 1;
}

/* ---- mass and Jacobian
 * ---------------------------------------------------------------------------------------- */

/* W = J inv(M) J'; mass: nv^2, solution: nv. Returns 0 when M is singular. */
static int mass_delassus(const perp_fc *p, double *W, int ldw, double *mass, int *pivot,
                         double *solution)
{
    int n = p->dimension * p->nc, nv = p->nv;
    for (int v = 0; v < nv; v++)
        memcpy(mass + (size_t)v * (size_t)nv, p->M + (size_t)v * (size_t)p->ldm,
               (size_t)nv * sizeof *mass);
    if (perp__lu(nv, mass, nv, pivot) != 0) return 0;
    for (int j = 0; j < n; j++) {
        double *w = W + (size_t)j * (size_t)ldw;
        for (int v = 0; v < nv; v++) solution[v] = (p->J + (size_t)v * (size_t)p->ldj)[j];
        perp__lu_solve(nv, mass, nv, pivot, solution);
        memset(w, 0, (size_t)n * sizeof *w);
        for (int v = 0; v < nv; v++) {
            const double *jv = p->J + (size_t)v * (size_t)p->ldj;
            if (solution[v] == 0) continue;
            for (int i = 0; i < n; i++) w[i] += jv[i] * solution[v];
        }
    }
    return 1;
}

/* W from mass and Jacobian, where they are what is given. */
static int dense_view(perp_fc_solver *s, perp_fc *p)
{
    if (p->W || p->block || p->nc == 0) return 1;
    int n = p->dimension * p->nc;
    size_t nv = (size_t)p->nv;
    if (!mass_delassus(p, s->dense, n, s->mass, s->pivot, s->mass + nv * nv)) return 0;
    p->W = s->dense;
    p->ldw = n;
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

/* Problems of so many contacts at most are compared with the last: beyond, what W makes of them
 * costs little beside the solution. */
enum { KEPT = 32 };

static int allocate(perp_fc_solver *s, int is_dense)
{
    size_t nc = (size_t)s->nc_max + 1, n = 3 * nc, nb = (size_t)s->nb_max + 1,
           nv = (size_t)s->nv_max, dn = (size_t)s->dimension * (size_t)s->nc_max;
    int ok = 1;
    ok &=
        (s->memory = malloc((18 * nb + n * (7 + PERP__FC_WORK) + 9 * nc) * sizeof(double))) != NULL;
    ok &= (s->local = malloc(nc * sizeof *s->local)) != NULL;
    ok &= (s->indices = malloc((10 * nc + 2 * nb + 3) * sizeof(int))) != NULL;
    if (is_dense && s->nc_max <= KEPT)
        ok &= (s->kept = malloc((dn * dn + 1) * sizeof(double))) != NULL;
    if (nv) {
        ok &= (s->dense = malloc((dn * dn + 1) * sizeof(double))) != NULL;
        ok &= (s->mass = malloc((nv * nv + nv) * sizeof(double))) != NULL;
        ok &= (s->pivot = malloc(nv * sizeof(int))) != NULL;
    }
    ok &= (s->fc.lu = perp__block_lu_create(s->nc_max)) != NULL;
    ok &= (s->fc.system = perp__fc_system_create()) != NULL;
    return ok;
}

/* Shares out what was allocated. */
static void lay_out(perp_fc_solver *s)
{
    size_t nc = (size_t)s->nc_max + 1, n = 3 * nc, nb = (size_t)s->nb_max + 1;
    double *at = s->memory;
    s->fc.block = at;
    at += 9 * nb;
    s->fc.jacobian = at;
    at += 9 * nb;
    s->fc.q = at;
    at += n;
    s->fc.r = at;
    at += n;
    s->fc.u = at;
    at += n;
    s->fc.best = at;
    at += n;
    s->sums.u = at;
    at += n;
    s->sums.S = at;
    at += n;
    s->sums.low = at;
    at += n;
    s->fc.work = at;
    at += n * PERP__FC_WORK;
    s->fc.mu = at;
    at += nc;
    s->fc.scale = at;
    at += nc;
    s->fc.force = at;
    at += nc;
    s->fc.data = at;
    at += nc;
    s->fc.normal = at;
    at += nc;
    s->fc.weight = at;
    at += nc;
    s->error = at;
    at += nc;
    s->reached = at;
    at += nc;
    s->target = at;
    s->fc.local = s->local;
    int *index = s->indices;
    s->fc.start = index;
    index += nc + 1;
    s->fc.diag = index;
    index += nc;
    s->fc.active = index;
    index += nc;
    s->fc.order = index;
    index += nc;
    s->fc.carries = index;
    index += nc;
    s->count = index;
    index += nc;
    s->place = index;
    index += nc;
    s->component = index;
    index += nc;
    s->pending = index;
    index += nc;
    s->first = index;
    index += nc + 1;
    s->fc.col = index;
    index += nb;
    s->next = index;
}

perp_status perp_fc_solver_create(perp_fc_method method, const perp_fc *shape,
                                  const perp_fc_options *options, perp_fc_solver **solver)
{
    if (!solver) return PERP_ERR_ARG;
    *solver = NULL;
    perp_fc_options o = perp_fc_options_default();
    if (!perp__options_take(&o, sizeof o, options) || (unsigned)method >= PERP_FC_METHOD_COUNT ||
        !shape || !options_valid(&o))
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
    if (!allocate(s, shape->nb == 0)) {
        perp_fc_solver_destroy(s);
        return PERP_ERR_MEMORY;
    }
    lay_out(s);
    s->fc.options = &s->options;
    s->fc.products = &s->products;
    *solver = s;
    return PERP_OK;
}

void perp_fc_solver_destroy(perp_fc_solver *solver)
{
    if (!solver) return;
    perp__block_lu_destroy(solver->fc.lu);
    perp__fc_system_destroy(solver->fc.system);
    free(solver->memory);
    free(solver->local);
    free(solver->kept);
    free(solver->indices);
    free(solver->dense);
    free(solver->mass);
    free(solver->pivot);
    free(solver);
}

perp_status perp_fc_solver_set_max_iter(perp_fc_solver *solver, int max_iter)
{
    if (!solver || max_iter < 0) return PERP_ERR_ARG;
    solver->options.max_iter = max_iter;
    return PERP_OK;
}

/* ---- the scaled copy
 * ------------------------------------------------------------------------------------------- */

static int all_finite(const double *x, size_t n)
{
    double sum[4] = {
        0}; /* x - x is 0 for a number, NaN otherwise; four sums fill a vector register */
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += x[i + k] - x[i + k];
    for (; i < n; i++) sum[0] += x[i] - x[i];
    return sum[0] + sum[1] + sum[2] + sum[3] == 0;
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

static inline void block_add_any(double *to, const double *from, int d, size_t rs, size_t cs)
{
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) to[3 * a + b] += from[(size_t)a * rs + (size_t)b * cs];
}

/* Add a d x d block, strides (rs, cs), to a zeroed 3 x 3 one; the frequent ones have loops of their
 * own. */
static void block_add(double *to, const double *from, int d, size_t rs, size_t cs)
{
    if (d == 3 && cs == 1)
        block_add_any(to, from, 3, 3, 1);
    else if (d == 3 && rs == 1)
        block_add_any(to, from, 3, 1, cs);
    else
        block_add_any(to, from, d, rs, cs);
}

static int is_zero(const double *w, int d, size_t rs, size_t cs)
{
    for (int a = 0; a < d; a++) {
        for (int b = 0; b < d; b++) {
            if (w[(size_t)a * rs + (size_t)b * cs] != 0) return 0;
        }
    }
    return 1;
}

/* The first contact of i's component so far. */
static int root(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int *parent, int i, int j)
{
    i = root(parent, i);
    j = root(parent, j);
    if (i < j)
        parent[j] = i;
    else
        parent[i] = j;
}

static void join_contacts(const perp_fc *p, int *parent)
{
    int d = p->dimension;
    for (int i = 0; i < p->nc; i++) parent[i] = i;
    for (int k = 0; k < p->nb && !p->W; k++) {
        if (p->row[k] != p->col[k] && !is_zero(p->block + k * d * d, d, (size_t)d, 1))
            join(parent, p->row[k], p->col[k]);
    }
    int parts = p->nc;
    for (int j = 0; j < p->nc && p->W; j++) {
        for (int i = 0; i < p->nc && parts > 1; i++) {
            const double *w = p->W + (size_t)(d * i) + (size_t)(d * j) * (size_t)p->ldw;
            if (root(parent, i) == root(parent, j) || is_zero(w, d, 1, (size_t)p->ldw)) continue;
            join(parent, i, j);
            parts--;
        }
    }
}

/* Contacts in order of their components, which are in order of their first contacts. */
static void find_components(perp_fc_solver *s, const perp_fc *p)
{
    int *parent = s->fc.active, *of = s->fc.diag, n = 0;
    join_contacts(p, parent);
    for (int i = 0; i < p->nc; i++) {
        int r = root(parent, i);
        if (r == i) {
            s->first[n] = 0;
            of[i] = n++;
        }
        s->first[of[i] = of[r]]++;
    }
    for (int c = 0, sum = 0; c <= n; c++) {
        int size = c < n ? s->first[c] : 0;
        s->first[c] = s->count[c] = sum;
        sum += size;
    }
    for (int i = 0; i < p->nc; i++) {
        int k = s->place[i] = s->count[of[i]]++;
        s->fc.order[k] = i;
        s->component[k] = of[i];
    }
    s->ncomponent = n;
}

/* Rows of nonzero blocks from a dense W. */
static void load_dense(perp_fc_solver *s, const perp_fc *p)
{
    perp__fc *fc = &s->fc;
    int nb = 0, d = p->dimension;
    size_t ld = (size_t)p->ldw;
    for (int i = 0; i < p->nc; i++) {
        int c = s->component[i];
        fc->start[i] = nb;
        for (int j = s->first[c]; j < s->first[c + 1]; j++) {
            const double *w = p->W + (size_t)(d * fc->order[i]) + (size_t)(d * fc->order[j]) * ld;
            if (i != j && is_zero(w, d, 1, ld)) continue;
            memset(fc->block + 9 * (size_t)nb, 0, 9 * sizeof(double));
            block_add(fc->block + 9 * (size_t)nb, w, d, 1, ld);
            fc->col[nb++] = j;
        }
    }
    fc->start[p->nc] = nb;
}

/* Rows from blocks in any order: those of one row are linked, then scattered by column. */
static void load_blocks(perp_fc_solver *s, const perp_fc *p)
{
    perp__fc *fc = &s->fc;
    int nc = p->nc, d = p->dimension, *head = s->count, *next = s->next;
    /* sort by column, then by row, both stable: a pass each of linked lists */
    int *row_head = fc->diag;
    for (int i = 0; i < nc; i++) head[i] = row_head[i] = -1;
    for (int k = p->nb - 1; k >= 0; k--) {
        int j = s->place[p->col[k]];
        next[k] = head[j];
        head[j] = k;
    }
    int *tail = fc->start; /* last of each row's list */
    for (int i = 0; i < nc; i++) tail[i] = -1;
    for (int j = 0; j < nc; j++)
        for (int k = head[j], after; k >= 0; k = after) {
            int i = s->place[p->row[k]];
            after = next[k];
            next[k] = -1;
            if (s->component[i] != s->component[j]) continue; /* a block of zeros */
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
            int j = k >= 0 ? s->place[p->col[k]] : nc;
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

/* The problem of component c; its contacts count from 0. */
static perp__fc component(const perp_fc_solver *s, int c)
{
    perp__fc fc = s->fc;
    int first = s->first[c];
    fc.nc = s->first[c + 1] - first;
    fc.n = 3 * fc.nc;
    fc.start += first;
    fc.diag += first;
    fc.active += first;
    fc.carries += first;
    fc.order += first;
    fc.place = s->place;
    fc.first = first;
    fc.mu += first;
    fc.scale += first;
    fc.force += first;
    fc.data += first;
    fc.normal += first;
    fc.weight += first;
    fc.q += 3 * first;
    fc.r += 3 * first;
    fc.u += 3 * first;
    fc.best += 3 * first;
    return fc;
}

/* Where are the diagonal blocks; does an impulse move anything, that of its own contact or
 * another? */
static void find_diagonals(perp__fc *fc, int first)
{
    int all = 1;
    for (int i = 0; i < fc->nc; i++) {
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            fc->col[k] -= first;
            if (fc->col[k] == i) fc->diag[i] = k;
        }
        all &= fc->carries[i] = !is_zero(fc->block + 9 * (size_t)fc->diag[i], 3, 3, 1);
    }
    for (int k = fc->start[0]; k < fc->start[fc->nc] && !all; k++) {
        if (!fc->carries[fc->col[k]])
            fc->carries[fc->col[k]] = !is_zero(fc->block + 9 * (size_t)k, 3, 3, 1);
    }
}

static double largest_entry(const double *w)
{
    double largest = 0;
    for (int e = 0; e < 9; e++) largest = perp__larger(largest, fabs(w[e]));
    return largest;
}

/* The block (i, j), or NULL. */
static const double *find_block(const perp__fc *fc, int i, int j)
{
    for (int k = fc->start[i]; k < fc->start[i + 1] && fc->col[k] <= j; k++) {
        if (fc->col[k] == j) return fc->block + 9 * (size_t)k;
    }
    return NULL;
}

/* Powers of two for the columns that balance |W_ij| and |W_ji| along a tree of the contacts' graph:
 * with them each contact may have its units of velocity and of force. power, queue: nc. */
static void balance(const perp__fc *fc, int *power, int *queue)
{
    enum { UNSEEN = -100000 };
    for (int i = 0; i < fc->nc; i++) power[i] = UNSEEN;
    for (int first = 0; first < fc->nc; first++) {
        int end = 0;
        if (power[first] != UNSEEN) continue;
        power[first] = 0;
        queue[end++] = first;
        for (int n = 0; n < end; n++) {
            int i = queue[n];
            for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
                int j = fc->col[k], exponent = 1;
                const double *back = power[j] == UNSEEN ? find_block(fc, j, i) : NULL;
                if (!back) continue;
                double ratio = largest_entry(back) / largest_entry(fc->block + 9 * (size_t)k);
                if (!(ratio > PERP_LEAST_FACTOR && ratio < 1 / PERP_LEAST_FACTOR)) continue;
                if (ratio != 1)
                    frexp(1.4 * ratio, &exponent); /* the nearest power: most W are symmetric */
                power[j] = power[i] + exponent - 1;
                queue[end++] = j;
            }
        }
    }
}

/* The mean diagonal of a contact, its column times 2^power, or the largest entry of its block; 0 if
 * there is none within the range of double. In the plane the second tangent, which has no velocity,
 * gets a diagonal. */
static double mean_diagonal(double *w, int d, int power)
{
    double size = largest_entry(w), sum;
    if (d == 2 && size > 0) w[8] = w[4] != 0 ? fabs(w[4]) : size;
    sum = fabs(w[0]) + fabs(w[4]) + fabs(w[8]);
    double mean = sum > 0 ? sum / 3 : size;
    if (power != 0) mean = ldexp(mean, power);
    if (d == 2 && size == 0) w[8] = 1;
    return mean > PERP_LEAST_FACTOR && mean < 1 / PERP_LEAST_FACTOR ? mean : 0;
}

/* The scale of a contact without diagonal, by its coupling to one that is scaled; 0 without. */
static double scale_of_coupling(const perp__fc *fc, int i)
{
    for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
        double x = largest_entry(fc->block + 9 * (size_t)k) * fc->force[fc->col[k]];
        if (x > PERP_LEAST_FACTOR && x < 1 / PERP_LEAST_FACTOR) return 1 / x;
    }
    return 0;
}

/* Scales that make the mean diagonal of every contact 1 (see fc.h). The powers of two take the
 * units, and 1/sqrt does the rest: with units that differ by powers of two all numbers are the
 * same. */
static void find_scales(perp__fc *fc, int d, const int *power)
{
    int exponent = 0;
    double first = 0;
    for (int i = fc->nc - 1; i >= 0; i--) {
        fc->scale[i] = mean_diagonal(fc->block + 9 * (size_t)fc->diag[i], d, power[i]);
        if (fc->scale[i] > 0) first = fc->scale[i];
    }
    if (first > 0) frexp(first, &exponent);
    double unit = ldexp(1, -exponent);
    for (int i = 0; i < fc->nc; i++) {
        double mean = fc->scale[i];
        fc->scale[i] = mean > 0 ? 1 / sqrt(mean * unit) : 0;
        fc->force[i] =
            power[i] == 0 ? fc->scale[i] * unit : ldexp(fc->scale[i], power[i] - exponent);
    }
    for (int i = 0; i < fc->nc; i++) {
        if (fc->scale[i] > 0) continue;
        double scale = scale_of_coupling(fc, i);
        fc->scale[i] = scale > 0 ? scale : 1;
        fc->force[i] =
            power[i] == 0 ? fc->scale[i] * unit : ldexp(fc->scale[i], power[i] - exponent);
    }
}

/* Scale the copy of W; 0 when the problem is beyond the range of double. */
static int scale_blocks(perp__fc *fc, int d, const int *power)
{
    find_scales(fc, d, power);
    for (int i = 0; i < fc->nc; i++) {
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            double f = fc->scale[i] * fc->force[fc->col[k]];
            for (int e = 0; e < 9; e++) fc->block[9 * (size_t)k + (size_t)e] *= f;
        }
    }
    size_t first = 9 * (size_t)fc->start[0], end = 9 * (size_t)fc->start[fc->nc];
    return all_finite(fc->block + first, end - first);
}

/* The same of q and r. */
static int scale_vectors(perp__fc *fc)
{
    for (int i = 0; i < fc->nc; i++) {
        for (int e = 0; e < 3; e++) {
            fc->q[3 * i + e] *= fc->scale[i];
            fc->r[3 * i + e] /= fc->force[i];
        }
    }
    return all_finite(fc->q, (size_t)fc->n) && all_finite(fc->r, (size_t)fc->n);
}

/* The largest entry of block k that the conditions of its contacts see: without friction there are
 * no tangents. */
static double coupling(const perp__fc *fc, int i, int k)
{
    const double *w = fc->block + 9 * (size_t)k;
    int rows = fc->mu[i] > 0 ? 3 : 1, columns = fc->mu[fc->col[k]] > 0 ? 3 : 1;
    if (rows == 3 && columns == 3) return largest_entry(w);
    double largest = 0;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) largest = perp__larger(largest, fabs(w[3 * a + b]));
    return largest;
}

/* The same of a normal row: of the other's friction what its normal impulse allows. */
static double normal_coupling(const perp__fc *fc, int i, int k)
{
    const double *w = fc->block + 9 * (size_t)k, mu = fc->mu[fc->col[k]];
    (void)i;
    return perp__larger(fabs(w[0]), perp__smaller(mu, 1) * perp__larger(fabs(w[1]), fabs(w[2])));
}

/* The largest data of each contact: the contact's own, or another's carried here. A
 * coupling carries its share of the largest, and carried data go on undiminished: in a stack only
 * the floor has data, and each box is held by all below. */
static inline void carry(const perp__fc *fc, double (*coupled)(const perp__fc *, int, int),
                         double largest, double *data)
{
    for (int pass = 0, changed = 1; changed && pass < 2 * fc->nc; pass++) {
        changed = 0;
        for (int n = 0; n < fc->nc; n++) {
            int i = pass % 2 ? fc->nc - 1 - n : n;
            for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
                double from = data[fc->col[k]];
                if (!(from > data[i])) continue;
                double carried = perp__smaller(from, coupled(fc, i, k) * largest);
                if (carried > data[i]) {
                    data[i] = carried;
                    changed = 1;
                }
            }
        }
    }
}

/* fc->data: the largest |q_i| that a contact's conditions see, or another's carried here. */
static void find_data(perp__fc *fc)
{
    double largest = 0;
    for (int i = 0; i < fc->nc; i++) {
        const double *q = fc->q + 3 * i;
        double tangent = fc->mu[i] > 0 ? perp__larger(fabs(q[1]), fabs(q[2])) : 0;
        fc->data[i] = perp__larger(fabs(q[0]), tangent);
        largest = perp__larger(largest, fc->data[i]);
    }
    carry(fc, coupling, largest, fc->data);
    for (int i = 0; i < fc->nc; i++) fc->weight[i] = fc->data[i] > PERP_TINY ? 1 / fc->data[i] : 0;
}

/* fc->normal: |q_n|, or what those of others that press in fc->best make of it. */
static void find_normal_data(perp__fc *fc)
{
    double largest = 0;
    for (int i = 0; i < fc->nc; i++) {
        fc->normal[i] = fc->best[3 * i] > 0 ? fabs(fc->q[3 * i]) : 0;
        largest = perp__larger(largest, fc->normal[i]);
    }
    carry(fc, normal_coupling, largest, fc->normal);
    for (int i = 0; i < fc->nc; i++)
        fc->normal[i] = perp__larger(fc->normal[i], fabs(fc->q[3 * i]));
}

/* Is W that of the last load, bit for bit? Else it is kept, if it is small. */
static int is_as_before(perp_fc_solver *s, const perp_fc *p)
{
    size_t n = (size_t)p->dimension * (size_t)p->nc, j = 0, ldw = (size_t)p->ldw;
    if (!p->W || !s->kept || n == 0) return 0;
    while (s->nkept == p->nc && j < n &&
           memcmp(s->kept + j * n, p->W + j * ldw, n * sizeof(double)) == 0)
        j++;
    if (j == n) return s->nkept == p->nc;
    for (; j < n; j++) memcpy(s->kept + j * n, p->W + j * ldw, n * sizeof(double));
    return 0;
}

/* What the methods work on; 0 when the problem is beyond the range of double. What W alone says,
 * the order of contacts, their blocks and scales, is that of the last load where W is. */
static int load(perp_fc_solver *s, const perp_fc *p, const double *r)
{
    perp__fc *fc = &s->fc;
    int d = p->dimension, is_old = is_as_before(s, p), fine = 1;
    s->nkept = 0;
    fc->nc = p->nc;
    fc->n = 3 * p->nc;
    if (!is_old) find_components(s, p);
    if (!is_old && p->W) load_dense(s, p);
    if (!is_old && !p->W) load_blocks(s, p);
    for (int k = 0; k < p->nc; k++) {
        int i = fc->order[k];
        fc->mu[k] = fmin(p->mu[i], PERP_FC_MU_MOST);
        for (int e = 0; e < 3; e++) {
            fc->q[3 * k + e] = e < d ? p->q[d * i + e] : 0;
            fc->r[3 * k + e] = e < d && r ? r[d * i + e] : 0;
        }
    }
    for (int c = 0; c < s->ncomponent; c++) {
        perp__fc part = component(s, c);
        if (!is_old) {
            find_diagonals(&part, s->first[c]);
            balance(&part, s->count, part.active);
            fine &= scale_blocks(&part, d, s->count);
        }
        fine &= scale_vectors(&part);
        find_data(&part);
    }
    if (fine && p->W && s->kept) s->nkept = p->nc;
    return fine;
}

/* ---- what the methods call
 * -------------------------------------------------------------------------------------- */

void perp__fc_velocity(const perp__fc *fc, const double *r, double *u)
{
    if (perp__fc_in_velocities(fc)) {
        perp__fc_system_product(fc, r, u);
        return;
    }
    perp__fc_count(fc, 1);
    for (int i = 0; i < fc->nc; i++) {
        double a = fc->q[3 * i], b = fc->q[3 * i + 1], c = fc->q[3 * i + 2];
        for (int k = fc->start[i]; k < fc->start[i + 1]; k++) {
            const double *w = fc->block + 9 * (size_t)k, *x = r + 3 * (size_t)fc->col[k];
            if (x[0] == 0 && x[1] == 0 && x[2] == 0) continue;
            a += w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
            b += w[3] * x[0] + w[4] * x[1] + w[5] * x[2];
            c += w[6] * x[0] + w[7] * x[1] + w[8] * x[2];
        }
        u[3 * i] = a;
        u[3 * i + 1] = b;
        u[3 * i + 2] = c;
    }
}

/* So many times the tolerance from the end the contacts are judged one by one. */
static const double NEAR = 1e3;

double perp__fc_residual(perp__fc *fc)
{
    perp__fc_velocity(fc, fc->r, fc->u);
    return perp__fc_residual_of_u(fc);
}

double perp__fc_residual_of_u(perp__fc *fc)
{
    double sum = 0;
    for (int i = 0; i < fc->nc; i++) {
        double x[3], p[3], *r = fc->r + 3 * i, *u = fc->u + 3 * i, off = 0;
        for (int k = 0; k < 3; k++) x[k] = r[k] - u[k];
        x[0] -= fc->mu[i] * sqrt(u[1] * u[1] + u[2] * u[2]);
        perp__fc_cone(fc->mu[i], x, p);
        for (int k = 0; k < 3; k++) off += (r[k] - p[k]) * (r[k] - p[k]);
        sum += off * fc->weight[i] * fc->weight[i];
    }
    double residual = sqrt(sum);
    if (residual <= NEAR * fc->tol) {
        double error = perp__fc_error(fc);
        residual =
            error <= fc->tol ? error : fmax(residual, error <= PERP_HUGE ? error : NEAR * fc->tol);
    }
    if (residual < fc->best_residual) {
        fc->best_residual = residual;
        memcpy(fc->best, fc->r, (size_t)fc->n * sizeof(double));
    }
    return residual;
}

/* ---- the driver
 * ---------------------------------------------------------------------------------------------- */

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

/* How often a method may go on where it was satisfied and the verdict is not; iterations to
 * finish. */
enum { ATTEMPTS = 4, FINISH = 400 };

/* Nothing presses: r = 0. */
static int separates(perp__fc *fc)
{
    for (int i = 0; i < fc->nc; i++) {
        if (fc->q[3 * i] < 0) return 0;
    }
    memset(fc->best, 0, (size_t)fc->n * sizeof(double));
    fc->best_residual = 0;
    return 1;
}

/* One contact, which auto solves exactly (fc_cone.c); if the verdict is against it the sweeps have
 * their turn. */
static int is_alone(perp__fc *fc, perp_fc_method method, int again)
{
    if (fc->nc > 1 || method != PERP_FC_AUTO || again) return 0;
    memcpy(fc->best, fc->r, 3 * sizeof(double));
    if (!perp__fc_contact(fc->block + 9 * (size_t)fc->diag[0], fc->q, fc->mu[0], fc->best))
        return 0;
    fc->used = PERP_FC_NSGS;
    fc->iterations++;
    fc->best_residual = 0;
    return 1;
}

/* Every method is finished: from its best point, some rounds of sweeps and Newton's steps find
 * which contacts slide, stick and open, and solve these equations. */
static void finish(perp__fc *fc, perp_fc_method method)
{
    double before = fc->best_residual;
    int spent = fc->iterations, given = fc->max_iter;
    perp_fc_method by = fc->used;
    if (method == PERP_FC_AUTO || before <= fc->target || fc->is_exact || fc->out_of_memory) return;
    memcpy(fc->r, fc->best, (size_t)fc->n * sizeof(double));
    fc->iterations = 0;
    fc->max_iter = given && given < FINISH ? given : FINISH;
    perp__fc_auto(fc);
    fc->iterations += spent;
    fc->max_iter = given;
    if (!(fc->best_residual < before)) fc->used = by;
}

/* Impulses that fell so far behind the largest that only underflow keeps them from 0, in one unit
 * and not in another. */
static void drop_underflow(const perp__fc *fc)
{
    double largest = 0;
    for (int i = 0; i < fc->n; i++) largest = perp__larger(largest, fabs(fc->best[i]));
    for (int i = 0; i < fc->n; i++) {
        if (fabs(fc->best[i]) < PERP_FC_UNDERFLOW * largest) fc->best[i] = 0;
    }
}

/* Solve component c to target[c], again from where it ended; 0 when memory is out. */
static int solve_component(perp_fc_solver *s, int c, int again, const perp__fc_factors *factors,
                           perp_fc_info *info)
{
    perp__fc fc = component(s, c);
    if (!perp__fc_system_begin(&fc, factors)) return 0;
    fc.tol = s->target[c];
    fc.target = s->options.aim * fc.tol;
    fc.shift = PERP_FC_SHIFT;
    fc.iterations = fc.factorizations = fc.out_of_memory = fc.is_stuck = fc.is_exact = 0;
    fc.best_residual = (double)INFINITY;
    fc.used = s->method;
    if (!again) memcpy(fc.normal, fc.data, (size_t)fc.nc * sizeof *fc.normal);
    memcpy(again ? fc.r : fc.best, again ? fc.best : fc.r, (size_t)fc.n * sizeof(double));
    if (!separates(&fc)) {
        if (!is_alone(&fc, s->method, again)) {
            methods[s->method](&fc);
            finish(&fc, s->method);
        }
        info->method = fc.used;
        drop_underflow(&fc);
    }
    s->reached[c] = fc.best_residual;
    info->iterations += fc.iterations;
    info->factorizations += fc.factorizations;
    return !fc.out_of_memory;
}

/* The best iterate, in the caller's units and order. */
static void unload(const perp_fc_solver *s, int d, double *r)
{
    const perp__fc *fc = &s->fc;
    for (int i = 0; i < fc->nc; i++)
        for (int k = 0; k < d; k++) r[d * fc->order[i] + k] = fc->force[i] * fc->best[3 * i + k];
}

/* Of each contact first beside its own data, then, where these are too little, beside what others
 * that press make of them. */
static double judge(perp_fc_solver *s, const perp_fc *view, double *r)
{
    perp__fc *fc = &s->fc;
    for (int i = 0; i < fc->nc; i++) fc->normal[i] = fabs(fc->q[3 * i]);
    double error = perp__fc_judge(fc, view, s->options.tol, r, s->sums, s->error);
    if (error <= s->options.tol) return error;
    for (int c = 0; c < s->ncomponent; c++) {
        perp__fc part = component(s, c);
        find_normal_data(&part);
    }
    error = perp__fc_judge(fc, view, s->options.tol, r, s->sums, s->error);
    if (!(error <= s->options.tol)) return error;
    return perp__larger(error, perp__fc_contradiction(view, r, s->sums.u, s->options.tol));
}

/* Marks the components whose methods took a wrong answer for solved. Now they know the data of
 * normal rows; if these do not decide, rounding does, and they aim at a tenth. Returns their
 * number. */
static int lower_targets(perp_fc_solver *s, int attempt)
{
    int many = 0;
    for (int c = 0; c < s->ncomponent; c++) {
        int satisfied = s->reached[c] <= s->target[c], holds = 1;
        for (int k = s->first[c]; k < s->first[c + 1]; k++) holds &= s->error[k] <= s->options.tol;
        s->pending[c] = satisfied && !holds;
        if (!s->pending[c]) continue;
        if (attempt > 1) s->target[c] /= 10;
        many++;
    }
    return many;
}

perp_status perp_fc_solve(perp_fc_solver *solver, const perp_fc *problem, double *r, double *u,
                          perp_fc_info *info)
{
    return perp__fc_solve(solver, problem, NULL, r, u, info);
}

perp_status perp__fc_solve(perp_fc_solver *solver, const perp_fc *problem,
                           const perp__fc_factors *factors, double *r, double *u,
                           perp_fc_info *info)
{
    perp_fc_info own = {.size = sizeof own};
    if (!PERP__FITS(info)) return PERP_ERR_ARG;
    if (!info) info = &own;
    *info = (perp_fc_info){
        .size = info->size, .outcome = PERP_BAD_INPUT, .residual = NAN, .error = NAN};
    if (!solver || !problem || (problem->nc > 0 && !r)) return PERP_ERR_ARG;
    info->method = solver->method;
    perp_status status = check_shape(solver, problem);
    if (status != PERP_OK) return status;
    int d = problem->dimension, n = d * problem->nc, warm = solver->options.warm_start;
    perp_fc view = *problem;
    if (!input_valid(problem) || (warm && !all_finite(r, (size_t)n)) ||
        !dense_view(solver, &view) || !load(solver, &view, warm ? r : NULL))
        return PERP_OK;
    solver->fc.max_iter = solver->options.max_iter;
    solver->products = 0;
    perp__block_lu_work(solver->fc.lu);
    for (int c = 0; c < solver->ncomponent; c++) {
        solver->target[c] = solver->options.tol;
        solver->pending[c] = 1;
    }
    for (int attempt = 0; attempt == 0 || (attempt < ATTEMPTS && lower_targets(solver, attempt));
         attempt++) {
        for (int c = 0; c < solver->ncomponent; c++) {
            if (solver->pending[c] && !solve_component(solver, c, attempt > 0, factors, info))
                return PERP_ERR_MEMORY;
        }
        unload(solver, d, r);
        perp__fc_count(&solver->fc, 1);
        info->error = judge(solver, &view, r);
        if (info->error <= solver->options.tol) break;
    }
    info->residual = perp__fc_residual_of(&view, r, solver->sums.u);
    info->work = solver->products + perp__block_lu_work(solver->fc.lu);
    info->outcome = info->error <= solver->options.tol ? PERP_SOLVED : PERP_LIMIT;
    if (u) memcpy(u, solver->sums.u, (size_t)n * sizeof *u);
    return PERP_OK;
}
