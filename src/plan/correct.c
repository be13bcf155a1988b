/* The error of a plan's cost. The plan is solved again with the errors of its steps removed from
 * its equations, so that its points lie on the motion of its inputs (defect correction, Stetter
 * 1978). Conditions that are violated between points are tightened at the points beside. */

#include "model/plan_block.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

/* If the estimated effect is below this share of the cost, slopes are enough. The correction stands
 * when another changes it by less than SETTLED of it. */
static const double SLOPES_DO = 1e-7, SETTLED = 0.1;
enum { MOST_ROUNDS = 6 };

typedef struct correction {
    perp_plan *plan;
    double *motion; /* nW */
    double *margin; /* of conditions and states in steps, as perp__plan_look_between */
    double *lo, *hi, *below, *above; /* nR, nW: the bounds as they were */
    double first, last, cost;        /* the plan's; of the round before; of this one */
    perp__arena arena;
} correction;

static int allocate(correction *c)
{
    const perp__program *g = c->plan->program;
    PERP_TAKE(&c->arena, c->motion, c->plan->nW);
    PERP_TAKE(&c->arena, c->lo, c->plan->nR);
    PERP_TAKE(&c->arena, c->hi, c->plan->nR);
    PERP_TAKE(&c->arena, c->below, c->plan->nW);
    PERP_TAKE(&c->arena, c->above, c->plan->nW);
    PERP_TAKE(&c->arena, c->margin,
              (size_t)(c->plan->model->plan->ncondition + g->ns) * (size_t)g->K);
    return !c->arena.failed;
}

/* Keep the program's bounds, or give them back. */
static void exchange_bounds(correction *c, int keep)
{
    perp__bounds *b = &c->plan->program->bound;
    double *now[] = {b->rlo, b->rhi, b->wlo, b->whi}, *was[] = {c->lo, c->hi, c->below, c->above};
    for (int i = 0; i < 4; i++)
        memcpy(keep ? was[i] : now[i], keep ? now[i] : was[i],
               (i < 2 ? c->plan->nR : c->plan->nW) * sizeof(double));
}

/* The equations keep what the motion leaves of them. Returns 0: that is no number. */
static int take_errors_out(correction *c)
{
    perp_plan *plan = c->plan;
    perp__program *g = plan->program;
    double cost;
    perp__program_values(g, &plan->pairing, c->motion, plan->p, plan->r, &cost);
    for (size_t i = 0; i < plan->nR; i++) {
        if (g->row[i / (size_t)g->K].condition != PERP__OF_MODEL || c->lo[i] != c->hi[i]) continue;
        if (!isfinite(plan->r[i])) return 0;
        g->bound.rlo[i] = g->bound.rhi[i] = plan->r[i];
    }
    return 1;
}

/* What condition or state i is broken by in step k, or in the next, which begins at its last
 * point. */
static double margin_of(const correction *c, int i, int k, int is_last)
{
    const perp__program *g = c->plan->program;
    const double *m = c->margin + (size_t)i * (size_t)g->K + k;
    return is_last && k + 1 < g->K ? fmax(m[0], m[1]) : m[0];
}

/* Conditions and ranges are asked for with these margins. */
static void keep_margins(correction *c)
{
    perp__program *g = c->plan->program;
    const perp__plan_block *b = c->plan->model->plan;
    size_t K = (size_t)g->K;
    for (size_t at = 0; at < c->plan->nR; at++) {
        int i = g->row[at / K].condition;
        if (i < 0 || b->condition[i].where != PLAN_ALWAYS || c->lo[at] == c->hi[at]) continue;
        double margin = margin_of(c, i, (int)(at % K), 1);
        g->bound.rlo[at] = c->lo[at] + margin;
        g->bound.rhi[at] = c->hi[at] - margin;
    }
    for (int point = 0; point < g->npoint; point++)
        for (int i = 0; i < g->ns; i++)
            for (size_t k = 0; k < K; k++) {
                size_t at = (size_t)(point * g->nb + i) * K + k;
                double margin = margin_of(c, b->ncondition + i, (int)k, point == g->npoint - 1);
                g->bound.wlo[at] = c->below[at] + margin;
                g->bound.whi[at] = c->above[at] - margin;
            }
}

/* The margins grow by what the present point breaks. Returns 0: memory. */
static int widen_margins(correction *c)
{
    const perp__program *g = c->plan->program;
    perp__plan_gap gap;
    size_t n = (size_t)(c->plan->model->plan->ncondition + g->ns) * (size_t)g->K;
    perp__arena arena = {0};
    double *off;
    int ok = PERP_TAKE(&arena, off, n) != NULL && perp__plan_look_between(c->plan, NULL, off, &gap);
    for (size_t i = 0; i < n && ok; i++) c->margin[i] += off[i];
    perp__arena_clear(&arena);
    return ok;
}

/* 1: solved, with its cost; 0: not; -1: memory. */
static int solve_round(correction *c)
{
    perp_plan *plan = c->plan;
    perp_diag why = {0};
    perp_status status = perp__plan_integrate(plan, PERP__AT_POINTS, 0, c->motion, NULL, &why);
    perp_diag_clear(&why);
    if (status != PERP_OK) return status == PERP_ERR_MEMORY ? -1 : 0;
    if (!take_errors_out(c)) return 0;
    if (!widen_margins(c)) return -1;
    keep_margins(c);
    memcpy(plan->w, c->motion, plan->nW * sizeof *plan->w);
    return perp__plan_solve_sides(plan, "corrected", 0, &c->cost);
}

/* 1: settled; 0: not; -1: memory. */
static int solve_rounds(correction *c)
{
    for (int i = 0; i < MOST_ROUNDS; i++) {
        c->last = i > 0 ? c->cost : (double)INFINITY;
        int solved = solve_round(c);
        if (solved <= 0) return solved;
        if (fabs(c->cost - c->last) <= SETTLED * fabs(c->cost - c->first)) return 1;
    }
    return 0;
}

perp_status perp__plan_correct(perp_plan *plan, perp_plan_result *result)
{
    const perp__program *g = plan->program;
    correction c = {.plan = plan, .first = result->cost};
    perp__pairing pairing = plan->pairing;
    if (plan->arc_error > 0) {
        result->cost_error = plan->arc_error;
        return PERP_OK;
    }
    int is_clear =
        !(result->cost_error > SLOPES_DO * fabs(result->cost)) && !(result->between > SLOPES_DO);
    if (g->npair > 0 || !isfinite(result->cost_error) || is_clear) return PERP_OK;
    if (!allocate(&c)) {
        perp__arena_clear(&c.arena);
        return PERP_ERR_MEMORY;
    }
    exchange_bounds(&c, 1);
    perp__plan_keep_point(plan);
    int settled = solve_rounds(&c);
    perp__plan_recall_point(plan);
    exchange_bounds(&c, 0);
    plan->pairing = pairing;
    if (settled == 1) result->cost_error = fabs(c.cost - c.first) + fabs(c.cost - c.last);
    perp__arena_clear(&c.arena);
    return settled < 0 ? PERP_ERR_MEMORY : PERP_OK;
}
