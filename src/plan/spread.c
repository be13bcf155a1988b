/* Other sides for the pairs of a plan in a control loop, searched beside it a few iterations a
 * call, so that no call takes long. The homotopy from a small relaxation continues where it
 * stopped, moved in time with the plan, from the present state of the system. Its result is one
 * more point from which to take a step. */

#include "plan/plan.h"

#include "base/tol.h"

#include <math.h>
#include <string.h>

/* A search begins if the plan costs more than the least cost since the last search, by this share;
 * the first relaxation. */
static const double DEARER = 0.2, FIRST = 0.1;
/* A point of the search that costs less than the plan by this share is one to try a step from. */
static const double NEAR = 1e-3;
/* A search that has taken so many calls is given up: the system has moved on. */
enum { MOST_CALLS = 20 };

void perp__plan_swap_search(perp_plan *plan)
{
    perp__answer *at = &plan->again.search.at, now = *at;
    *at = (perp__answer){plan->w, plan->p, plan->lambda, plan->lower, plan->upper};
    plan->w = now.w;
    plan->p = now.p;
    plan->lambda = now.lambda;
    plan->lower = now.lower;
    plan->upper = now.upper;
}

void perp__plan_watch_cost(perp_plan *plan, int has_step, double cost)
{
    perp__plan_search *s = &plan->again.search;
    int is_dearer = !(cost <= plan->again.cost + DEARER * fabs(plan->again.cost));
    s->cost = has_step ? cost : (double)INFINITY;
    if (s->has_ended || cost < plan->again.cost) plan->again.cost = cost;
    s->has_ended = 0;
    if (s->is_on || plan->program->npair == 0 || (has_step && !is_dearer)) return;
    s->is_on = 1;
    s->calls = 0;
    s->relaxation = perp__plan_relaxation(plan, FIRST);
    memcpy(s->at.w, plan->w, plan->nW * sizeof *plan->w);
    memcpy(s->at.p, plan->p, plan->nP * sizeof *plan->p);
    memcpy(s->at.lambda, plan->lambda, plan->nR * sizeof *plan->lambda);
    memcpy(s->at.lower, plan->lower, plan->nW * sizeof *plan->lower);
    memcpy(s->at.upper, plan->upper, plan->nW * sizeof *plan->upper);
}

int perp__plan_search_part(perp_plan *plan)
{
    perp__plan_search *s = &plan->again.search;
    if (!s->is_on) return 0;
    perp__pairing was = plan->pairing;
    perp__plan_swap_search(plan);
    perp__ipm_result run = perp__plan_run_homotopy(plan, 0, PERP_PLAN_LAST_NEARBY, PERP__IN_PARTS);
    plan->pairing = was;
    s->relaxation = fmax(PERP_PLAN_LAST_NEARBY, run.relaxation);
    int is_over = run.status != IPM_LIMIT || ++s->calls == MOST_CALLS;
    int is_near = s->relaxation <= NEAR && run.infeasibility < PERP_PLAN_NEARLY_FEASIBLE;
    s->is_on = !is_over;
    s->has_ended = is_over;
    if (is_near && run.cost < s->cost - DEARER * fabs(s->cost)) return 1;
    perp__plan_swap_search(plan);
    return 0;
}
