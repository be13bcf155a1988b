/* B-stationarity at a point with biactive pairs (both sides 0): the linear program with
 * complementarity constraints of the point,
 *
 *     minimise  slope' d   where all active conditions, linearised, keep holding, and of each biactive pair one side stays 0,
 *
 * by branching on the sides, each linear program by Clp. Where its least value is 0 no direction
 * that the conditions leave lowers the cost (Scheel and Scholtes 2000; Kirches, Larson, Leyffer,
 * Manns 2022). Else it gives a direction of descent and the sides to go on with. */

#include "base/tol.h"
#include "external/lp.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

typedef struct certifier {
    perp_plan *plan;
    perp__lp lp;               /* over (w, p); rows of the program in their order */
    double *x, *price, *reach; /* reach: of rows, the most that they can change by; */
    double *change;            /* and their change along x */
    double tol;
    size_t *pair; /* biactive: pair * K + step */
    int npair, left;
    int failed; /* memory, or no Clp */
    perp__arena arena;
} certifier;

static int allocate(certifier *c)
{
    const perp__program *g = c->plan->program;
    size_t n = c->plan->nW + c->plan->nP, K = (size_t)g->K, entries = (size_t)g->jac.n * K;
    perp__arena *a = &c->arena;
    c->lp.ncolumn = (int)n;
    c->lp.nrow = (int)c->plan->nR;
    PERP_TAKE(a, c->lp.start, n + 2);
    PERP_TAKE(a, c->lp.index, entries);
    PERP_TAKE(a, c->lp.value, entries);
    PERP_TAKE(a, c->lp.lo, n);
    PERP_TAKE(a, c->lp.hi, n);
    PERP_TAKE(a, c->lp.cost, n);
    PERP_TAKE(a, c->lp.row_lo, c->plan->nR);
    PERP_TAKE(a, c->lp.row_hi, c->plan->nR);
    PERP_TAKE(a, c->x, n);
    PERP_TAKE(a, c->price, c->plan->nR);
    PERP_TAKE(a, c->reach, c->plan->nR);
    PERP_TAKE(a, c->change, c->plan->nR);
    PERP_TAKE(a, c->pair, (size_t)g->npair * K);
    return !a->failed;
}

/* The Jacobian by columns, and the cost's slope, from the derivatives that were taken last. */
static void fill_matrix(certifier *c)
{
    const perp__program *g = c->plan->program;
    const perp__kkt *u = c->plan->kkt;
    size_t K = (size_t)g->K;
    int *start = c->lp.start + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int e = 0; e < g->jac.n; e++)
            for (size_t k = 0; k < K; k++) {
                long j = perp__program_place(g, g->jac.col[e], (int)k);
                if (j < 0) continue;
                if (pass == 0) {
                    start[j + 1]++;
                    continue;
                }
                c->lp.index[start[j]] = g->jac.row[e] * g->K + (int)k;
                c->lp.value[start[j]++] = u->jac[(size_t)e * K + k];
            }
        for (int j = 0; j < c->lp.ncolumn && pass == 0; j++) start[j + 1] += start[j];
    }
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < K; k++) {
            long j = perp__program_place(g, g->grad.col[e], (int)k);
            if (j >= 0) c->lp.cost[j] += u->grad[(size_t)e * K + k];
        }
    for (size_t i = 0; i < c->plan->nP; i++) c->lp.cost[c->plan->nW + i] += g->cost.time[i];
}

/* What a change may be of something at x within lo .. hi: not over a bound that it is at, else as
 * far as `reach`. */
static void leave_active(double x, double lo, double hi, double size, double reach, double *least,
                         double *most)
{
    *least = x - lo <= PERP_PLAN_AT_BOUND * size ? 0 : -reach;
    *most = hi - x <= PERP_PLAN_AT_BOUND * size ? 0 : reach;
    if (lo == hi) *least = *most = 0;
}

static void fill_bounds(certifier *c, const perp__bounds *b)
{
    const perp_plan *plan = c->plan;
    const perp__kkt *u = plan->kkt;
    for (size_t i = 0; i < plan->nW + plan->nP; i++) {
        int is_w = i < plan->nW;
        size_t j = is_w ? i : i - plan->nW;
        leave_active(is_w ? plan->w[j] : plan->p[j], is_w ? b->wlo[j] : b->plo[j],
                     is_w ? b->whi[j] : b->phi[j], u->unit[i], u->unit[i], &c->lp.lo[i],
                     &c->lp.hi[i]);
        c->tol += PERP_PLAN_STATIONARY * fabs(c->lp.cost[i]) * u->unit[i];
    }
    for (int j = 0; j < c->lp.ncolumn; j++)
        for (int e = c->lp.start[j]; e < c->lp.start[j + 1]; e++)
            c->reach[c->lp.index[e]] += 1.01 * fabs(c->lp.value[e]) * u->unit[j];
    for (size_t i = 0; i < plan->nR; i++)
        leave_active(plan->r[i], b->rlo[i], b->rhi[i], u->reach[i], c->reach[i], &c->lp.row_lo[i],
                     &c->lp.row_hi[i]);
}

/* Sides ---------------------------------------------------------------------------------------- */

static const perp__plan_pair *pair_of(const certifier *c, int i, int *k)
{
    const perp__program *g = c->plan->program;
    *k = (int)(c->pair[i] % (size_t)g->K);
    return &g->pair[c->pair[i] / (size_t)g->K];
}

/* The change of a side along x. */
static double side_change(const certifier *c, int i, int side)
{
    int k;
    const perp__plan_pair *p = pair_of(c, i, &k);
    size_t K = (size_t)c->plan->program->K;
    if (p->row[side] < 0) return p->sign[side] * c->x[(size_t)p->w[side] * K + (size_t)k];
    return c->change[(size_t)p->row[side] * K + (size_t)k];
}

static void change_rows(certifier *c)
{
    const perp__lp *lp = &c->lp;
    memset(c->change, 0, (size_t)lp->nrow * sizeof *c->change);
    for (int j = 0; j < lp->ncolumn; j++)
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++)
            c->change[lp->index[e]] += lp->value[e] * c->x[j];
}

/* The largest change that a side may have: 0, or as before. */
static double *limit_of(certifier *c, int i, int side)
{
    int k;
    const perp__plan_pair *p = pair_of(c, i, &k);
    size_t K = (size_t)c->plan->program->K;
    if (p->row[side] >= 0) return &c->lp.row_hi[(size_t)p->row[side] * K + (size_t)k];
    size_t at = (size_t)p->w[side] * K + (size_t)k;
    return p->sign[side] > 0 ? &c->lp.hi[at] : &c->lp.lo[at];
}

/* The least that the cost can change by, from prices alone, whatever they are: all unknowns and
 * rows are bounded. */
static double bound_by_prices(const certifier *c)
{
    const perp__lp *lp = &c->lp;
    double bound = 0;
    for (int i = 0; i < lp->nrow; i++) {
        double y = c->price[i], at = y > 0 ? lp->row_lo[i] : lp->row_hi[i];
        if (y != 0) bound += y * at;
    }
    for (int j = 0; j < lp->ncolumn; j++) {
        double d = lp->cost[j];
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++)
            d -= c->price[lp->index[e]] * lp->value[e];
        bound += fmin(d * lp->lo[j], d * lp->hi[j]);
    }
    return bound;
}

/* Does no direction lower the cost, with the sides chosen so far? Returns 1: none; 0: x is one; -1:
 * not decided. */
static int has_no_descent(certifier *c)
{
    const double ZERO = 1e-9;
    if (c->left-- <= 0 || c->plan->stopped) return -1;
    perp__lp_end end = {.price = c->price};
    perp_status status = perp__lp_solve_with_end(&c->lp, c->x, &end);
    if (end.is_cut) c->left = 0; /* the others would take as long */
    c->failed |= status == PERP_ERR_MEMORY;
    if (status != PERP_OK) return -1;
    if (bound_by_prices(c) >= -c->tol) return 1;
    change_rows(c);
    for (int i = 0; i < c->npair; i++) {
        if (fmin(side_change(c, i, 0), side_change(c, i, 1)) <= ZERO) continue;
        int all = 1;
        for (int side = 0; side < 2; side++) {
            double *limit = limit_of(c, i, side), before = *limit;
            *limit = 0;
            int found = has_no_descent(c);
            *limit = before;
            if (found == 0) return 0;
            if (found < 0) all = -1;
        }
        return all;
    }
    return 0;
}

/* The sides that stay 0 along x. */
static void take_sides(certifier *c)
{
    for (int i = 0; i < c->npair; i++)
        c->plan->sides->side[c->pair[i]] = side_change(c, i, 0) > side_change(c, i, 1);
}

int perp__plan_certify(perp_plan *plan, int is_reduced, double *direction)
{
    enum { MOST_PROGRAMS = 8192, MOST_WORK = 20000000 };
    certifier c = {.plan = plan};
    size_t npair = (size_t)plan->program->npair * (size_t)plan->program->K;
    int found = -1;
    if (!perp__lp_available()) return -1;
    if (!allocate(&c)) {
        perp__arena_clear(&c.arena);
        return -2;
    }
    for (size_t at = 0; at < npair; at++)
        if (plan->sides->side[at] == PERP__SIDE_OPEN) c.pair[c.npair++] = at;
    c.left = MOST_WORK / (c.lp.ncolumn + c.lp.nrow + 1);
    if (c.left > MOST_PROGRAMS) c.left = MOST_PROGRAMS;
    c.lp.is_reduced = is_reduced;
    c.lp.most = 3 * (c.lp.ncolumn + c.lp.nrow); /* a few times what a simplex method takes */
    fill_matrix(&c);
    fill_bounds(&c, perp__sides_fix(plan->sides));
    found = has_no_descent(&c);
    if (found == 0) {
        memcpy(direction, c.x, (size_t)c.lp.ncolumn * sizeof *direction);
        take_sides(&c);
    }
    if (c.failed) found = -2;
    perp__arena_clear(&c.arena);
    return found;
}
