/* Linear programs by Clp's simplex method, and the search for a proof that no choice of sides has a
 * point. Optimal, infeasible and unbounded are reported only if the vertex's multipliers, Farkas's
 * or the ray prove it here, whatever Clp reports. */

#include "program/affine.h"
#include "program/intervals.h"

#include <math.h>
#include <string.h>

/* The cost can nowhere be less than at the vertex, by its prices. */
static int is_optimal(const perp__affine *a)
{
    const perp__lp *lp = &a->lp;
    double bound = 0, cost = 0, size = 0;
    for (int i = 0; i < lp->nrow; i++) {
        double y = a->price[i];
        if (y == 0) continue;
        double at = y * (y > 0 ? lp->row_lo[i] : lp->row_hi[i]);
        if (!isfinite(at)) at = 0; /* of the wrong sign: no price, and the gap says so */
        bound += at;
        size += fabs(at);
    }
    for (int j = 0; j < lp->ncolumn; j++) {
        double terms;
        int is_exact;
        double d = lp->cost[j] - perp__lp_column_sum(lp, j, a->price, &terms, &is_exact);
        terms += fabs(lp->cost[j]);
        cost += lp->cost[j] * a->x[j];
        size += fabs(lp->cost[j] * a->x[j]);
        if (fabs(d) <= PERP_PROOF_MARGIN * terms) continue;
        double at = d * (d > 0 ? lp->lo[j] : lp->hi[j]);
        if (!isfinite(at)) return 0;
        bound += at;
        size += fabs(at);
    }
    return cost - bound <= PERP_PROOF_MARGIN * size;
}

/* Along the ray every row and bound stays, and the cost falls. */
static int is_ray(const perp__affine *a, perp__arena *arena)
{
    const perp__lp *lp = &a->lp;
    double *row, *terms, cost = 0, size = 0;
    PERP_TAKE(arena, row, lp->nrow);
    PERP_TAKE(arena, terms, lp->nrow);
    if (arena->failed) return 0;
    for (int j = 0; j < lp->ncolumn; j++) {
        double d = a->ray[j];
        if ((d > 0 && isfinite(lp->hi[j])) || (d < 0 && isfinite(lp->lo[j]))) return 0;
        cost += lp->cost[j] * d;
        size += fabs(lp->cost[j] * d);
    }
    perp__lp_row_sums(lp, a->ray, row, terms);
    for (int i = 0; i < lp->nrow; i++)
        if ((isfinite(lp->row_hi[i]) && row[i] > PERP_PROOF_MARGIN * terms[i]) ||
            (isfinite(lp->row_lo[i]) && row[i] < -PERP_PROOF_MARGIN * terms[i]))
            return 0;
    return cost < -PERP_PROOF_MARGIN * size;
}

/* A column that stands in no row, and along which the cost falls: the ray, which Clp has not
 * then. */
static int is_column_ray(const perp__affine *a)
{
    const perp__lp *lp = &a->lp;
    for (int j = 0; j < lp->ncolumn; j++) {
        double c = lp->cost[j], end = c > 0 ? lp->lo[j] : lp->hi[j];
        if (lp->start[j] != lp->start[j + 1] || c == 0 || isfinite(end)) continue;
        memset(a->ray, 0, (size_t)lp->ncolumn * sizeof *a->ray);
        a->ray[j] = c > 0 ? -1 : 1;
        return 1;
    }
    return 0;
}

perp_status perp__program_solve_linear(perp_program *p, perp_program_result *result)
{
    perp__affine a;
    perp__arena arena = {0};
    if (!perp__affine_build(&a, p, &arena)) {
        perp__arena_clear(&arena);
        return PERP_ERR_MEMORY;
    }
    perp__lp_end end = {.price = a.price, .unbounded = a.ray};
    perp_status status = perp__lp_solve_with_end(&a.lp, a.x, &end);
    int is_unbounded = end.is_unbounded && is_ray(&a, &arena);
    if (!is_unbounded && status == PERP_ERR_NO_SOLUTION)
        is_unbounded = is_column_ray(&a) && is_ray(&a, &arena);
    if (is_unbounded) { /* and there is a point to go from */
        memcpy(p->ray, a.ray, (size_t)p->nl->nvar * sizeof *p->ray);
        memset(a.lp.cost, 0, (size_t)a.lp.ncolumn * sizeof *a.lp.cost);
        memset(a.price, 0, (size_t)a.lp.nrow * sizeof *a.price);
        status = perp__lp_solve(&a.lp, a.x);
        result->is_unbounded = status == PERP_OK;
    }
    if (status == PERP_OK) {
        memcpy(p->x, a.x, (size_t)p->nl->nvar * sizeof *p->x);
        for (int k = 0; k < p->nl->ncon; k++) p->dual[k] = p->sign * a.price[a.row_of[k]];
        perp__program_check(p, result);
    }
    if (status == PERP_OK && perp__program_holds(p, result))
        result->outcome =
            !result->is_unbounded && is_optimal(&a) ? PERP_PLAN_GLOBAL : PERP_PLAN_FEASIBLE;
    result->is_unbounded &= perp__program_holds(p, result);
    int proved = 0;
    if (status == PERP_ERR_NO_SOLUTION) { /* Clp may have found a ray before it saw that */
        proved = perp__lp_is_empty(&a.lp, a.ray);
        status = PERP_OK;
    } else if (status == PERP_OK && result->error > PERP_PROOF_MARGIN) { /* it keeps rows to 1e-7 */
        proved = perp__lp_is_empty_near(&a.lp, a.x, a.ray);
    }
    if (proved > 0) {
        result->outcome = PERP_PLAN_INFEASIBLE;
        result->is_unbounded = 0;
        perp__affine_blame(&a, a.ray);
    }
    if (proved < 0) status = PERP_ERR_MEMORY;
    result->method = "clp";
    perp__arena_clear(&arena);
    return status;
}

/* Infeasibility -------------------------------------------------------------------------------- */

/* A search over the sides of pairs, depth first: no side of this pair holds with those chosen
 * before it. */
typedef struct search {
    perp__affine a;
    const perp__nl *nl;
    int left; /* linear programs that may still be solved */
} search;

/* 1: no point of the linear program is there, by a proof; 0: there may be one; -1: memory, or no
 * Clp. */
static int is_empty(search *s)
{
    perp__lp_end end = {0};
    perp_status status = perp__lp_solve_with_end(&s->a.lp, s->a.x, &end);
    if (status == PERP_ERR_MEMORY || status == PERP_ERR_UNAVAILABLE) return -1;
    int empty = end.is_infeasible ? perp__lp_is_empty(&s->a.lp, s->a.ray) : 0;
    if (empty > 0) perp__affine_blame(&s->a, s->a.ray);
    return empty;
}

/* As is_empty, with pairs from `first` on put on each of their faces. */
static int has_no_point(search *s, int first)
{
    const perp__nl *nl = s->nl;
    if (s->left-- <= 0) return 0;
    int empty = is_empty(s), i = first;
    if (empty != 0) return empty;
    while (i < nl->ncon && (nl->pairs.var[i] < 0 || !(nl->pairs.lower[i] || nl->pairs.upper[i])))
        i++;
    if (i == nl->ncon) return 0;
    empty = 1;
    for (int face = PERP__AT_LO; face < PERP__NFACE && empty == 1; face++) {
        if (perp__affine_put_on_face(&s->a, i, face)) empty = has_no_point(s, i + 1);
        perp__affine_take_off_face(&s->a, i);
    }
    return empty;
}

/* A row that is nowhere what it has to be, whatever the variables are within the bounds lo ..
 * hi. */
static int has_impossible_row(perp_program *p, const double *lo, const double *hi,
                              perp__interval *all)
{
    const perp__nl *nl = p->nl;
    perp__intervals_of_nodes(nl, lo, hi, all);
    for (int i = 0; i < nl->ncon; i++) {
        perp__interval row = perp__interval_of_row(nl, i, lo, hi, all);
        double above = row.lo - nl->rhi[i], below = nl->rlo[i] - row.hi;
        int is_above = above > PERP_PROOF_MARGIN * (fabs(row.lo) + fabs(nl->rhi[i])),
            is_below = below > PERP_PROOF_MARGIN * (fabs(row.hi) + fabs(nl->rlo[i]));
        if (!is_above && !is_below) continue;
        memset(p->row_conflicts, 0, (size_t)nl->ncon);
        memset(p->bound_conflicts, 0, (size_t)nl->nvar);
        p->row_conflicts[i] = 1;
        for (int j = 0; j < nl->nvar; j++) /* those that the row depends on */
            for (int e = p->functions.start[j]; e < p->functions.start[j + 1]; e++)
                if (p->functions.row[e] == i && (isfinite(nl->lo[j]) || isfinite(nl->hi[j])))
                    p->bound_conflicts[j] = 1;
        return 1;
    }
    return 0;
}

/* The same, with bounds that follow from affine rows. */
static int is_empty_by_intervals(perp_program *p, const perp__lp *lp, perp__arena *arena)
{
    double *lo, *hi;
    perp__interval *all;
    size_t n = (size_t)p->nl->nvar;
    if (p->nl->callbacks) return 0;
    PERP_TAKE(arena, lo, n + 1);
    PERP_TAKE(arena, hi, n + 1);
    PERP_TAKE(arena, all, p->nl->graph.count + 1);
    if (arena->failed) return -1;
    memcpy(lo, lp->lo, n * sizeof *lo);
    memcpy(hi, lp->hi, n * sizeof *hi);
    return perp__lp_follow_rows(lp, lo, hi) ? has_impossible_row(p, lo, hi, all) : -1;
}

/* Does a exceed its bound by at most this share of the bound, and its rounding? sign: 1 of a lower
 * bound, -1 of an upper one. */
static int is_seen(double a, double rounding, double bound, double sign, double tol)
{
    return !isfinite(bound) || bound == 0 || sign * (bound - a) + rounding <= tol * fabs(bound);
}

/* Does each affine row hold at x beside what it is given, however large its terms? Returns -1:
 * memory. */
static int holds_beside_bounds(const perp__lp *lp, const double *x, double tol, perp__arena *arena)
{
    double *sum, *terms;
    int all = 1;
    PERP_TAKE(arena, sum, lp->nrow + 1);
    PERP_TAKE(arena, terms, lp->nrow + 1);
    if (arena->failed) return -1;
    perp__lp_row_sums(lp, x, sum, terms);
    for (int i = 0; i < lp->nrow; i++) {
        double rounding = PERP_ROUNDING * terms[i];
        all &= is_seen(sum[i], rounding, lp->row_lo[i], 1, tol) &&
               is_seen(sum[i], rounding, lp->row_hi[i], -1, tol);
    }
    return all;
}

int perp__program_is_infeasible(perp_program *p, int holds)
{
    enum { MOST_PROGRAMS = 4000 };
    search s = {.nl = p->nl, .left = p->nl->pairs.n > 40 ? 1 : MOST_PROGRAMS};
    perp__arena arena = {0};
    int empty = perp__affine_build(&s.a, p, &arena) ? 0 : -1, is_asked = 1;
    if (empty == 0 && holds)
        is_asked = holds_beside_bounds(&s.a.lp, p->x, p->options.tol, &arena) == 0;
    if (empty == 0 && is_asked) empty = is_empty_by_intervals(p, &s.a.lp, &arena);
    if (empty == 0 && is_asked && perp__lp_available()) empty = has_no_point(&s, 0);
    if (arena.failed) empty = -1;
    perp__arena_clear(&arena);
    return empty;
}
