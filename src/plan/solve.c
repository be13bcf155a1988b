/* The phases of a plan: homotopy in the relaxation of the pairs, sides fixed, verification. */

#include "plan/plan.h"

#include "base/tol.h"
#include "model/plan_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double HELD = 1e-3; /* multipliers below this beside their terms hold nothing */

/* End of a search: the last barrier if nothing follows, and if sides are fixed then; the violation
 * of a solution with sides that ended short of its tolerance. */
static const double BARRIER_MIN = 1e-11, BARRIER_MIN_BEFORE_SIDES = 1e-9, TOL_BEFORE_SIDES = 1e-6;
static const double FEASIBLE = 1e-9;
static const double BARELY = 1e-8;
static const double CLOSED = 1e-12; /* gap, and violation tried for, of a solution with sides */
static const double CLOSED_WITHOUT_PAIRS = 1e-9; /* the same where there are no sides to fix */
static const double SMALL_PAIR =
    0.01; /* the larger side of a pair that is relaxed once more before its side is chosen */
/* Of a plan that is solved again: other sides are searched if its cost exceeds the last by this
 * share. */
static const double DEARER = 0.2;
/* The first relaxation of sides that are searched near a plan; near one in a loop, which is to keep
 * most of its sides. */
static const double NEARBY = 0.1, NEARBY_IN_LOOP = 0.03;
/* The last barrier of such a search, relative to its last relaxation. */
static const double BARRIER_BESIDE_LAST = 0.05;
/* In balanced units, of the cost beside the barrier, and of what pairs are relaxed by at first: ADR
 * 075. */
static const double WEIGHT_IF_BALANCED = 2.5, RELAXED_IF_BALANCED = 0.2;
enum { MOST_NEARBY = 40 }; /* iterations of each search: near a solution it is quick */
/* In a loop, of the call up to the end of the search, and of that at least: no call is to take much
 * longer than others. */
enum { MOST_IN_CALL = 19, LEAST_IN_CALL = 5 };
enum { MOST_SYSTEMS = 12 };           /* of the quadratic program of one step */
enum { MOST_IN_PART = 5 };            /* iterations of a search that is spread over steps */
static const double RUN_AWAY = 1e4;   /* times its guess: a length without an end */
static const double STILL = 1e-6;     /* a state that moves by less stays at its value */
static const double UNBOUNDED = -1e9; /* a cost below this counts as unbounded */

static int forward_progress(void *context, const perp__ipm_progress *q)
{
    perp_plan *plan = context;
    const perp_plan_options *o = &plan->options;
    if (!o->progress) return 0;
    perp_plan_progress p = {plan->phase, plan->iterations + q->iteration,
                            q->cost,     q->infeasibility,
                            q->dual,     q->relaxation,
                            q->barrier,  q->step};
    plan->stopped |= o->progress(o->context, &p);
    return plan->stopped;
}

static perp__ipm_result run_solver(perp_plan *plan, perp__ipm_options *o, const char *phase)
{
    perp__ipm_result result;
    int left = plan->again.budget - plan->iterations;
    plan->phase = phase;
    o->bound = plan->pairing.bound;
    if (plan->again.budget > 0 && o->max_iter > left) o->max_iter = left > 1 ? left : 1;
    if (plan->options.backend == PERP_PLAN_IPOPT) {
        result = perp__ipopt_solve(plan->program, o, plan->w, plan->p, plan->lambda, plan->lower,
                                   plan->upper);
    } else {
        result = perp__ipm_solve(plan->ipm, o, plan->w, plan->p);
        memcpy(plan->lambda, perp__ipm_lambda(plan->ipm), plan->nR * sizeof *plan->lambda);
        memcpy(plan->lower, perp__ipm_lower(plan->ipm), plan->nW * sizeof *plan->lower);
        memcpy(plan->upper, perp__ipm_upper(plan->ipm), plan->nW * sizeof *plan->upper);
    }
    plan->pairing.relaxation = result.relaxation;
    plan->iterations += result.iterations;
    plan->last.out_of_memory |= result.status == IPM_MEMORY;
    return result;
}

double perp__plan_relaxation(const perp_plan *plan, double relaxation)
{
    return plan->program->unit.are_balanced ? RELAXED_IF_BALANCED * relaxation : relaxation;
}

static double first_relaxation(const perp_plan *plan)
{
    return perp__plan_relaxation(plan, plan->options.relaxation);
}

/* The relaxation eps at which the guess satisfies a b <= eps in every pair; not so small that the
 * iterates cannot move. */
static double relaxation_of_guess(perp_plan *plan)
{
    const perp__program *g = plan->program;
    double most = fmax(PERP_PLAN_RELAXED, plan->options.relaxation_min), cost;
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++) {
            double a = perp__side_value(g, &g->pair[i], 0, k, plan->w, plan->r),
                   b = perp__side_value(g, &g->pair[i], 1, k, plan->w, plan->r);
            most = fmax(most, fmax(-fmin(a, b), a * b));
        }
    return fmin(most, first_relaxation(plan));
}

perp__ipm_result perp__plan_run_homotopy(perp_plan *plan, int start, double last, int goes_on)
{
    const perp_plan_options *po = &plan->options;
    perp__ipm_options o = perp__ipm_options_default();
    int refines = po->refine && plan->program->npair > 0;
    o.max_iter = po->max_iter;
    o.weight = start == 0 ? 1 : 30; /* another path */
    if (plan->program->unit.are_balanced) o.weight *= WEIGHT_IF_BALANCED;
    o.tol = refines ? TOL_BEFORE_SIDES : po->tol;
    o.barrier_min = refines ? fmin(BARRIER_MIN_BEFORE_SIDES, 0.1 * last) : BARRIER_MIN;
    if (!refines) o.gap = CLOSED_WITHOUT_PAIRS;
    o.relaxation = po->pairs == PERP_PLAN_PRODUCTS ? 0 : first_relaxation(plan);
    o.relaxation_min = po->pairs == PERP_PLAN_PRODUCTS ? 0 : last;
    /* a bounce that is relaxed is none: it begins where the guess has it */
    if (perp__plan_is_near(plan, start) && o.relaxation > 0) {
        o.relaxation = relaxation_of_guess(plan);
        o.push = o.barrier =
            sqrt(o.relaxation); /* no farther from its pairs than they are relaxed */
        o.push = fmin(0.1, o.push);
    }
    if (goes_on == PERP__FROM_START && !(start == 0 && plan->has_guess) &&
        !perp__program_guess_cones(plan->program, o.relaxation, plan->w, plan->p))
        plan->last.out_of_memory = 1;
    if (goes_on == PERP__FROM_START)
        perp__program_close_corners(plan->program, plan->w, plan->p, plan->r);
    if (goes_on == PERP__GOES_ON) {
        o.relaxation = 100 * o.relaxation_min;
        o.barrier = 10 * o.relaxation_min;
        o.push = PERP_PLAN_PUSH_WARM;
        o.is_warm = 1;
    }
    if (goes_on == PERP__NEARBY) {
        int most = plan->again.is_on ? MOST_IN_CALL - plan->iterations : MOST_NEARBY;
        o.relaxation = plan->again.is_on ? NEARBY_IN_LOOP : NEARBY;
        o.barrier = o.push = o.relaxation / 10;
        o.barrier_min = BARRIER_BESIDE_LAST * last;
        if (most < LEAST_IN_CALL) most = LEAST_IN_CALL;
        if (o.max_iter > most) o.max_iter = most;
        o.is_warm = 1;
        o.lambda = plan->best.lambda;
    }
    if (goes_on == PERP__IN_PARTS) {
        o.relaxation = plan->again.search.relaxation;
        o.barrier = o.push = 0.1 * o.relaxation;
        o.barrier_min = BARRIER_BESIDE_LAST * last;
        o.max_iter = MOST_IN_PART;
        o.is_warm = 1;
        o.lambda = plan->lambda;
    }
    o.progress = forward_progress;
    o.context = plan;
    o.penalty = po->penalty;
    return run_solver(plan, &o, "homotopy");
}

/* Keep the point and its multipliers, or go back to the one that was kept. */
static void copy_point(perp_plan *plan, int keep)
{
    double *now[] = {plan->w, plan->p, plan->lambda, plan->lower, plan->upper},
           *best[] = {plan->best.w, plan->best.p, plan->best.lambda, plan->best.lower,
                      plan->best.upper};
    size_t n[] = {plan->nW, plan->nP, plan->nR, plan->nW, plan->nW};
    for (int i = 0; i < 5; i++)
        memcpy(keep ? best[i] : now[i], keep ? now[i] : best[i], n[i] * sizeof(double));
}

void perp__plan_keep_point(perp_plan *plan)
{
    copy_point(plan, 1);
}

void perp__plan_recall_point(perp_plan *plan)
{
    copy_point(plan, 0);
}

/* 0: nothing is minimised, so that every feasible plan is a global minimum. */
static int has_cost(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    int has = g->grad.n > 0 || g->cost.varies; /* a staircase has no slope */
    for (int i = 0; i < g->np; i++) has |= g->cost.time[i] != 0;
    return has;
}

/* First order at the point, for its multipliers; r: the rows' values there. Without a cost
 * multipliers of 0 show it, and what the search ended with are weights of its barrier. */
static double stationarity(perp_plan *plan)
{
    if (!has_cost(plan)) {
        memset(plan->lambda, 0, plan->nR * sizeof *plan->lambda);
        memset(plan->lower, 0, plan->nW * sizeof *plan->lower);
        memset(plan->upper, 0, plan->nW * sizeof *plan->upper);
    }
    perp__kkt_evaluate(plan->kkt, plan->w, plan->p, plan->lambda);
    return perp__kkt_stationarity(plan->kkt, plan->w, plan->p, plan->r, plan->lambda, plan->lower,
                                  plan->upper);
}

/* Does a row say where the plan starts? */
static int is_of_start(const perp_plan *plan, int row)
{
    int i = plan->program->row[row].condition;
    if (i < 0) return i == PERP__OF_START;
    const perp__plan_condition *c = &plan->model->plan->condition[i];
    return c->where == PLAN_START && c->phase <= 0;
}

/* Costates: the slope of the cost along the state at a node is what the next step's conditions make
 * of it, by their derivatives. */
static void take_costates(perp_plan *plan, const double *jac, const double *grad)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K;
    memset(plan->costate, 0, (size_t)g->nx * (K + 1) * sizeof *plan->costate);
    for (int e = 0; e < g->jac.n; e++) {
        int row = g->jac.row[e], col = g->jac.col[e], last = col - g->nx - (g->npoint - 1) * g->nb;
        const double *J = jac + (size_t)e * K, *lambda = plan->lambda + (size_t)row * K;
        for (size_t k = 0; k < K && col < g->nx && !is_of_start(plan, row); k++)
            plan->costate[(size_t)col * (K + 1) + k] += J[k] * lambda[k];
        if (last >= 0 && last < g->nx && g->row[row].condition < 0 &&
            g->row[row].condition != PERP__OF_CORNER) /* there is no next step */
            plan->costate[(size_t)last * (K + 1) + K] -= J[K - 1] * lambda[K - 1];
    }
    for (int e = 0; e < g->grad.n; e++)
        for (size_t k = 0; k < K && g->grad.col[e] < g->nx; k++)
            plan->costate[(size_t)g->grad.col[e] * (K + 1) + k] += grad[(size_t)e * K + k];
}

/* 0: memory. */
static int find_costates(perp_plan *plan)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K;
    double *jac = calloc((size_t)g->jac.n * K + 1, sizeof *jac);
    double *grad = calloc((size_t)g->grad.n * K + 1, sizeof *grad);
    int ok = jac && grad;
    if (ok)
        perp__program_derivatives(plan->program, &plan->pairing, plan->w, plan->p, plan->lambda, 1,
                                  jac, grad, NULL);
    if (ok) take_costates(plan, jac, grad);
    free(jac);
    free(grad);
    return ok;
}

/* Tried with initial points that are moved less or more into the interior of the bounds. */
int perp__plan_solve_sides(perp_plan *plan, const char *phase, double relaxation, double *cost)
{
    static const struct {
        double push, barrier;
        int max_iter, is_warm;
    } tries[] = {{1e-3, 1e-4, 60, 1}, {1e-2, 1e-2, 100, 1}, {0.1, 1, 300, 0}};
    perp__ipm_options o = perp__ipm_options_default();
    int solved = 0, most = plan->options.max_iter,
        is_quick = plan->again.is_on && plan->program->npair > 0;
    size_t ways = is_quick ? 1 : sizeof tries / sizeof *tries;
    if (is_quick && most > MOST_NEARBY) most = MOST_NEARBY;
    o.gap = CLOSED;
    o.primal = CLOSED; /* the equations of a phase of hardly any length are multiplied by that */
    o.tol = 0.1 * plan->options.tol;
    o.barrier_min = BARRIER_MIN;
    o.relaxation = relaxation;
    o.relaxation_min = PERP_PLAN_LOWERED * relaxation;
    o.progress = forward_progress;
    o.context = plan;
    memcpy(plan->from.w, plan->w, plan->nW * sizeof *plan->w);
    memcpy(plan->from.p, plan->p, plan->nP * sizeof *plan->p);
    plan->pairing.bound = perp__sides_fix(plan->sides);
    for (size_t k = 0; k < ways && !solved && !plan->stopped; k++) {
        o.push = tries[k].push;
        o.barrier = tries[k].barrier;
        o.max_iter = tries[k].max_iter < most ? tries[k].max_iter : most;
        o.is_warm = tries[k].is_warm;
        o.lambda = k == 0 && plan->again.is_on ? plan->best.lambda : NULL;
        memcpy(plan->w, plan->from.w, plan->nW * sizeof *plan->w);
        memcpy(plan->p, plan->from.p, plan->nP * sizeof *plan->p);
        perp__ipm_result run = run_solver(plan, &o, phase);
        solved = run.status == IPM_SOLVED ||
                 (run.infeasibility < FEASIBLE && run.dual < PERP_PLAN_STATIONARY);
    }
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, cost);
    return solved;
}

/* Fix the smaller side of each pair at 0 and solve. Where that fails, the pairs with both sides
 * small are kept relaxed for one more solve, from which their sides are chosen. */
static int solve_smaller_sides(perp_plan *plan, double *cost)
{
    perp__sides_choose(plan->sides, plan->w, plan->r);
    if (perp__plan_solve_sides(plan, "sides fixed", 0, cost) || plan->stopped) return 1;
    memcpy(plan->w, plan->best.w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->best.p, plan->nP * sizeof *plan->p);
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    if (!perp__sides_treat(plan->sides, plan->w, plan->r, SMALL_PAIR, PERP__SIDE_RELAXED)) return 0;
    if (!perp__plan_solve_sides(plan, "small pairs relaxed", plan->options.relaxation_min, cost))
        return 0;
    perp__sides_choose(plan->sides, plan->w, plan->r);
    return perp__plan_solve_sides(plan, "sides fixed", 0, cost);
}

/* The multiplier of a side of a pair at 0, relative to the terms of its slope; negative where the
 * cost would fall off 0. */
static double side_multiplier(const perp_plan *plan, const perp__plan_pair *pair, int side, int k)
{
    const perp__kkt *u = plan->kkt;
    size_t K = (size_t)plan->program->K;
    if (pair->row[side] >= 0) {
        size_t at = (size_t)pair->row[side] * K + (size_t)k;
        return plan->lambda[at] < 0 ? u->share[at] : -u->share[at];
    }
    size_t at = (size_t)pair->w[side] * K + (size_t)k;
    return pair->sign[side] * u->slope[at] / (u->size[at] + u->floor[at] + PERP_TINY);
}

/* Are the multipliers of both sides nonnegative in every open pair, at the point last evaluated?
 * Then opening it does not lower the cost to first order. */
static int holds_both_sides(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++) {
            const perp__plan_pair *pair = &g->pair[i];
            if (plan->sides->side[(size_t)i * (size_t)g->K + (size_t)k] != PERP__SIDE_OPEN)
                continue;
            if (side_multiplier(plan, pair, 0, k) < -HELD ||
                side_multiplier(plan, pair, 1, k) < -HELD)
                return 0;
        }
    return 1;
}

/* Biactive pairs (both sides 0) of the kept plan, up to MOST_CHOSEN: solve the program of each
 * choice of a side. Returns 1: a choice costs less than `below`, and its solution is the present
 * point. 0: none does. is_b is 1 if every program was solved, which shows B-stationarity. */
static int try_every_side(perp_plan *plan, double below)
{
    enum { MOST_CHOSEN = 4 };
    size_t list[MOST_CHOSEN], n = 0,
                              npair = (size_t)plan->program->npair * (size_t)plan->program->K;
    double cost;
    perp__plan_recall_point(plan);
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    if (perp__sides_treat(plan->sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN) >
        MOST_CHOSEN)
        return 0;
    for (size_t at = 0; at < npair; at++)
        if (plan->sides->side[at] == PERP__SIDE_OPEN) list[n++] = at;
    plan->last.is_b = 1;
    for (int choice = 0; choice < 1 << n && !plan->stopped; choice++) {
        perp__plan_recall_point(plan);
        for (size_t i = 0; i < n; i++) plan->sides->side[list[i]] = (choice >> i) & 1;
        int solved = perp__plan_solve_sides(plan, "each side", 0, &cost);
        if (solved && cost < below) return 1;
        plan->last.is_b &= solved;
    }
    return 0;
}

/* The kept plan is not strongly stationary. Show that it is B-stationary (is_b), or continue along
 * a direction of descent, with the sides that stay 0 along it. If that fails, use a direction that
 * takes longer to find. Returns 1: a plan that costs less than `below`, the present point; 0: none;
 * -1: out of memory. */
static int certify_or_leave(perp_plan *plan, double below)
{
    static const double ways[] = {0.1, 1e-3};
    double cost;
    for (int is_reduced = 1; is_reduced >= 0 && !plan->stopped; is_reduced--) {
        perp__plan_recall_point(plan);
        perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
        perp__sides_choose(plan->sides, plan->w, plan->r);
        perp__sides_treat(plan->sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN);
        plan->pairing.bound = perp__sides_fix(plan->sides);
        stationarity(plan);
        int found = perp__plan_certify(plan, is_reduced, plan->direction);
        plan->last.is_b = found == 1;
        if (found == 1) return 0;
        if (found == -2) return -1;
        for (size_t k = 0; k < sizeof ways / sizeof *ways && found == 0 && !plan->stopped; k++) {
            perp__plan_recall_point(plan);
            for (size_t i = 0; i < plan->nW; i++) plan->w[i] += ways[k] * plan->direction[i];
            for (size_t i = 0; i < plan->nP; i++)
                plan->p[i] += ways[k] * plan->direction[plan->nW + i];
            if (perp__plan_solve_sides(plan, "along a descent", 0, &cost) && cost < below) return 1;
        }
    }
    return try_every_side(plan, below);
}

/* Fix the smaller side of each pair and solve. Biactive pairs (both sides 0) whose multipliers are
 * not both >= 0 are then opened, with both sides >= 0 only. If the cost stays the point is strongly
 * stationary (Scheel and Scholtes 2000). If it falls, the smaller sides of the opened solution are
 * tried, and then those of a direction of descent, if there is one. Returns 1: an answer; 0: none;
 * -1: out of memory. */
static int refine(perp_plan *plan, perp_plan_result *result)
{
    enum { MAX_ROUNDS = 20 };
    perp__program *g = plan->program;
    double cost, opened, best = INFINITY;
    int found = 0;
    plan->last.is_b = 0;
    perp__program_values(g, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    for (int round = 1; round <= MAX_ROUNDS && !plan->stopped; round++) {
        if (!solve_smaller_sides(plan, &cost) || plan->stopped) break;
        double here = stationarity(plan),
               slack = PERP_PLAN_SAME_COST * (fabs(cost) + plan->kkt->worth);
        if (!(cost < best - slack)) {
            int left = result->weak ? certify_or_leave(plan, best - slack) : 0;
            if (left < 0) return -1;
            if (left == 0) break;
            continue;
        }
        result->stationarity = here;
        best = cost;
        if (!find_costates(plan)) return -1;
        found = 1;
        perp__plan_keep_point(plan);
        result->rounds = round;
        result->weak = 0;
        result->both_zero =
            perp__sides_treat(plan->sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN);
        if (result->both_zero == 0 || holds_both_sides(plan)) break;
        if (plan->again
                .is_on) { /* what opening them would give is not looked for in a control loop */
            result->weak = result->both_zero;
            break;
        }
        if (perp__plan_solve_sides(plan, "both zero opened", 0, &opened) && opened >= best - slack)
            break;
        result->weak = result->both_zero;
    }
    if (found > 0) perp__plan_recall_point(plan);
    plan->pairing.bound = &plan->program->bound;
    return found;
}

/* Unknowns that are rounding at all steps and points, 0 instead: relative to themselves they can
 * keep no equation. Returns 1: there are some. */
static int drop_rounding(perp_plan *plan)
{
    const perp__program *g = plan->program;
    const perp__bounds *b = &g->bound;
    size_t K = (size_t)g->K;
    int dropped = 0;
    for (int j = 0; j < g->soft.w; j++) {
        double *w = plan->w + (size_t)j * K, most = 0;
        int may = 1;
        for (int c = 0; c < g->npoint; c++) /* of the same unknown at all points */
            for (size_t k = 0; k < K; k++) {
                size_t at = (size_t)(c * g->nb + j % g->nb) * K + k;
                most = fmax(most, fabs(plan->w[at]));
                may &= b->wlo[at] <= 0 && b->whi[at] >= 0;
            }
        if (!may || most == 0 || !(most <= PERP_PLAN_NOISE * g->unit.w[j])) continue;
        memset(w, 0, K * sizeof *w);
        dropped = 1;
    }
    return dropped;
}

static int check_point(perp_plan *plan, perp__plan_check *check)
{
    if (plan->judge.at) return plan->judge.at(plan->judge.context, plan->w, check);
    return perp__plan_verify(plan->program, plan->w, plan->p, check, plan->residual);
}

/* Residuals of the plan at hand; 1 if it holds, -1: memory. */
static int verify(perp_plan *plan, perp_plan_result *result)
{
    perp__program *g = plan->program;
    perp__plan_check check;
    perp__program_close_corners(g, plan->w, plan->p, plan->r);
    int ok = check_point(plan, &check);
    if (ok && !(check.worst <= plan->options.verify_tol) && !plan->judge.at && drop_rounding(plan))
        ok = check_point(plan, &check);
    if (!ok) return -1;
    result->complementarity = check.pairs;
    result->defect = check.defect;
    result->bounds = check.bounds;
    result->conditions = check.conditions;
    perp__program_values(g, &plan->pairing, plan->w, plan->p, plan->r, &result->cost);
    result->horizon = g->phase.nrun ? 0 : g->horizon;
    for (int q = 0; q < g->phase.nrun; q++) result->horizon += plan->p[g->phase.run_p + q];
    return check.worst <= plan->options.verify_tol;
}

/* Homotopy in the relaxation a b <= eps of the pairs, then the program in which one side of each
 * pair is fixed at 0. If that program has no solution, eps is lowered 100 times further and the
 * sides are chosen again. If that fails too, the homotopy is repeated from the start and ends at an
 * eps 100 times larger. Returns 1: solved with sides fixed; 0: it is not; -1: out of memory. */
static int run_phases(perp_plan *plan, int start, perp__ipm_result *solved,
                      perp_plan_result *result)
{
    static const struct {
        double factor;
        int goes_on;
    } ways[] = {{1, 0}, {0.01, 1}, {100, 0}};
    int refined = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !refined && !plan->stopped; i++) {
        if (i > 0 && !ways[i].goes_on) perp__plan_set_start(plan, start);
        *solved = perp__plan_run_homotopy(
            plan, start, ways[i].factor * plan->options.relaxation_min, ways[i].goes_on);
        if (!plan->options.refine || plan->program->npair == 0) return 0;
        if (plan->stopped || !(solved->infeasibility < PERP_PLAN_NEARLY_FEASIBLE)) return 0;
        perp__plan_keep_point(plan);
        refined = refine(plan, result);
        if (refined == 0) perp__plan_recall_point(plan);
    }
    return refined;
}

/* Second order --------------------------------------------------------------------------------- */

/* Biactive pairs for which a multiplier is not positive make one program for each choice of a side,
 * whose second order is tested by itself: up to this many such pairs. */
enum { MOST_BRANCHED = 12 };

/* Those pairs at the present point: the first MOST_BRANCHED of them in `list`; returns their
 * number. Sets the sides to those of the point. */
static int find_branched(perp_plan *plan, size_t *list)
{
    const perp__program *g = plan->program;
    int n = 0;
    perp__sides_choose(plan->sides, plan->w, plan->r);
    perp__sides_treat(plan->sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN);
    for (int i = 0; i < g->npair; i++)
        for (int k = 0; k < g->K; k++) {
            size_t at = (size_t)i * (size_t)g->K + (size_t)k;
            const perp__plan_pair *pair = &g->pair[i];
            if (plan->sides->side[at] != PERP__SIDE_OPEN) continue;
            double held =
                fmin(side_multiplier(plan, pair, 0, k), side_multiplier(plan, pair, 1, k));
            if (held > HELD) continue;
            if (n < MOST_BRANCHED) list[n] = at;
            n++;
        }
    perp__sides_choose(plan->sides, plan->w, plan->r);
    return n;
}

/* Latest step first: the first entries of the list change most often as the choices are enumerated,
 * and the factors of all steps before the changed one are reused. */
static void sort_late_first(const perp_plan *plan, size_t *list, int n)
{
    size_t K = (size_t)plan->program->K;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && list[j] % K > list[j - 1] % K; j--) {
            size_t x = list[j];
            list[j] = list[j - 1];
            list[j - 1] = x;
        }
}

/* The second-order test at the present point, for each choice of sides of its biactive pairs. Ends
 * at the first choice under which the cost falls along a direction, with the sides of that choice
 * fixed. */
static int second_order(perp_plan *plan)
{
    size_t list[MOST_BRANCHED];
    if (plan->program->npair > 0) { /* without pairs the point is the one that was evaluated last */
        double cost;
        perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
        stationarity(plan);
    }
    int n = find_branched(plan, list), most = n < MOST_BRANCHED ? n : MOST_BRANCHED;
    sort_late_first(plan, list, most);
    int least = n > MOST_BRANCHED ? 0 : 1;
    for (int choice = 0; choice < 1 << most && least >= 0; choice++) {
        for (int i = 0; i < most; i++) plan->sides->side[list[i]] = (choice >> i) & 1;
        plan->pairing.bound = perp__sides_fix(plan->sides);
        int rises =
            perp__kkt_second_order(plan->kkt, plan->ipm, choice == 0, plan->w, plan->p, plan->r,
                                   plan->lambda, plan->lower, plan->upper, plan->direction);
        if (rises < least) least = rises;
        if (least == 0 && n > MOST_BRANCHED) break;
    }
    if (least >= 0) plan->pairing.bound = &plan->program->bound;
    return least;
}

/* The longest step along the direction that covers at most half the distance to any bound and
 * changes no unknown by more than its extent or unit. */
static double way_along(const perp_plan *plan, double sign)
{
    const perp__program *g = plan->program;
    double t = INFINITY;
    for (size_t i = 0; i < plan->nW + plan->nP; i++) {
        int is_w = i < plan->nW;
        size_t j = is_w ? i : i - plan->nW;
        double x = is_w ? plan->w[j] : plan->p[j], d = sign * plan->direction[i];
        double lo = is_w ? plan->pairing.bound->wlo[j] : plan->pairing.bound->plo[j],
               hi = is_w ? plan->pairing.bound->whi[j] : plan->pairing.bound->phi[j];
        if (d == 0 || lo == hi) continue;
        double unit = is_w ? g->unit.w[j / (size_t)g->K] : g->unit.p[j];
        t = fmin(t, fmax(unit, plan->kkt->extent[i]) / fabs(d));
        double room = d > 0 ? hi - x : x - lo;
        if (room > PERP_PLAN_ROOM * plan->kkt->extent[i]) t = fmin(t, 0.5 * room / fabs(d));
    }
    return isfinite(t) ? t : 0;
}

static int improves(const perp_plan_result *now, const perp_plan_result *before)
{
    double size = fmax(fabs(now->cost), fabs(before->cost));
    return now->cost < before->cost - PERP_PLAN_SAME_COST * size;
}

/* Take one step along the direction and solve again, at first with the present sides fixed. Returns
 * 1: a cheaper plan; 0: none, or stopped; -1: out of memory. */
static int follow(perp_plan *plan, double way, perp_plan_result *result)
{
    perp_plan_result now = *result;
    double cost;
    for (size_t i = 0; i < plan->nW; i++) plan->w[i] += way * plan->direction[i];
    for (size_t i = 0; i < plan->nP; i++) plan->p[i] += way * plan->direction[plan->nW + i];
    int solved = perp__plan_solve_sides(plan, "leaving a saddle", 0, &cost) && !plan->stopped;
    plan->pairing.bound = &plan->program->bound;
    if (!solved) return 0;
    perp__plan_keep_point(plan);
    if (plan->program->npair > 0) {
        int refined = refine(plan, &now);
        if (refined <= 0) return refined;
    } else {
        now.stationarity = stationarity(plan);
    }
    int holds = verify(plan, &now);
    if (holds <= 0 || !improves(&now, result)) return holds < 0 ? -1 : 0;
    *result = now;
    return find_costates(plan) ? 1 : -1;
}

/* The present point and its multipliers, one after the other: into `to`, or back from it. */
static void copy_iterate(perp_plan *plan, double *to, int back)
{
    double *part[] = {plan->w, plan->p, plan->lambda, plan->lower, plan->upper};
    size_t length[] = {plan->nW, plan->nP, plan->nR, plan->nW, plan->nW};
    for (size_t i = 0; i < 5; to += length[i++])
        memcpy(back ? part[i] : to, back ? to : part[i], length[i] * sizeof *to);
}

static double *kept_iterate(perp_plan *plan)
{
    double *kept = malloc((3 * plan->nW + plan->nP + plan->nR + 1) * sizeof *kept);
    if (kept) copy_iterate(plan, kept, 0);
    return kept;
}

/* A direction of negative curvature in the null space of the active conditions: restart from points
 * along it, on both sides and at several distances. Returns 1: a cheaper plan was found; 0: none;
 * -1: out of memory. */
static int leave(perp_plan *plan, perp_plan_result *result)
{
    static const double ways[] = {1, -1, 0.1, -0.1};
    perp__sides *sides = plan->sides;
    size_t npair = (size_t)plan->program->npair * (size_t)plan->program->K;
    double *from = kept_iterate(plan);
    signed char *side = malloc(npair + 1);
    int left = from && side ? 0 : -1;
    if (left == 0) memcpy(side, sides->side, npair);
    for (size_t k = 0; k < sizeof ways / sizeof *ways && left == 0 && !plan->stopped; k++) {
        double way = ways[k] * way_along(plan, ways[k] > 0 ? 1 : -1);
        plan->pairing.bound = perp__sides_fix(sides);
        left = follow(plan, way, result);
        if (left == 1) break;
        copy_iterate(plan, from, 1);
        memcpy(sides->side, side, npair);
        stationarity(plan);
    }
    plan->pairing.bound = &plan->program->bound;
    free(from);
    free(side);
    return left;
}

/* From a plan with sides: other sides by a homotopy from a small relaxation, as long as that is
 * cheaper. Returns 0: memory. */
static int improve_sides(perp_plan *plan, perp_plan_result *result)
{
    enum { MOST_IMPROVED = 8 };
    double *kept = kept_iterate(plan);
    int better = kept ? 1 : -1;
    for (int i = 0; i < MOST_IMPROVED && better == 1 && !plan->stopped; i++) {
        perp_plan_result now = {.outcome = result->outcome};
        perp__plan_keep_point(plan);
        perp__plan_run_homotopy(plan, 0, PERP_PLAN_LAST_NEARBY, PERP__NEARBY);
        perp__plan_keep_point(plan);
        better = plan->stopped ? 0 : refine(plan, &now);
        if (better == 1) better = verify(plan, &now);
        if (better == 1) better = improves(&now, result);
        if (better >= 0) copy_iterate(plan, kept, better == 0);
        if (better == 1) *result = now;
    }
    free(kept);
    return better >= 0 && verify(plan, result) >= 0 && find_costates(plan);
}

/* Second order at a stationary point, and on from it where the cost falls. Returns 0: memory. */
static int judge_curvature(perp_plan *plan, perp_plan_result *result)
{
    enum { MOST_LEFT = 5 };
    int left = 1;
    for (int i = 0; i <= MOST_LEFT && left == 1 && !plan->stopped; i++) {
        result->curvature = second_order(plan);
        if (result->curvature >= 0 && i == 0) return 1;
        if (result->curvature >= 0) break;
        if (i < MOST_LEFT) left = leave(plan, result);
        if (left == 1 && !(result->stationarity <= PERP_PLAN_STATIONARY && result->weak == 0))
            break;
    }
    plan->pairing.bound = &plan->program->bound;
    return left >= 0 && verify(plan, result) >= 0;
}

/* The word ------------------------------------------------------------------------------------- */

/* Does the cost fall as a horizon without upper bound grows, at the point last evaluated? Or has it
 * grown so far already that no slope says anything? */
static int falls_with_horizon(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    const perp__kkt *u = plan->kkt;
    int falls = 0;
    for (int q = 0; q < g->phase.nrun; q++) {
        size_t at = u->nW + (size_t)(g->phase.run_p + q);
        int ran_away = plan->p[g->phase.run_p + q] > RUN_AWAY * plan->initial.p[g->phase.run_p + q];
        falls |= plan->pairing.bound->phi[g->phase.run_p + q] == (double)INFINITY &&
                 (u->slope[at] < -0.1 * u->size[at] || ran_away);
    }
    return falls;
}

/* The part of a convex program's cost that multipliers leave open, which may be above its least. It
 * is relative to the cost and to the effect of its slopes on the unknowns at the point, so
 * constants do not count. If these are 0, it is relative to the least effect of a single unknown.
 * The cost elsewhere may be far larger and does not count. Below 1 it is negligible. */
static double gap_left(const perp_plan *plan, double cost)
{
    const double LEFT = 1e-6;
    const perp__kkt *u = plan->kkt;
    double gap = perp__kkt_gap(u, plan->w, plan->r, plan->lambda, plan->lower, plan->upper);
    return gap == 0 ? 0 : gap / (LEFT * fmax(u->least, fmin(u->pull, fabs(cost))));
}

static perp_plan_outcome word_of(perp_plan *plan, const perp_plan_result *result, int is_refined)
{
    if (!has_cost(plan)) return PERP_PLAN_GLOBAL;
    if (!is_refined || !(result->stationarity <= PERP_PLAN_STATIONARY) || result->falls)
        return PERP_PLAN_FEASIBLE;
    if (perp__kkt_is_kinked(plan->kkt, plan->w, plan->p, plan->lambda)) return PERP_PLAN_FEASIBLE;
    if (perp__kkt_is_convex(plan->kkt, plan->w, plan->p))
        return gap_left(plan, result->cost) <= 1 ? PERP_PLAN_GLOBAL : PERP_PLAN_FEASIBLE;
    if (result->weak > 0) return plan->last.is_b ? PERP_PLAN_STATIONARY_B : PERP_PLAN_FEASIBLE;
    return result->curvature > 0 ? PERP_PLAN_LOCAL_MINIMUM : PERP_PLAN_STATIONARY_S;
}

/* No state moves, and that is not free of cost: without a contact of what should be moved, the cost
 * has no slope. */
static int does_nothing(const perp_plan *plan, const perp_plan_result *result)
{
    const perp__program *g = plan->program;
    if (g->ns == 0 || result->outcome == PERP_PLAN_GLOBAL || result->cost == 0 ||
        plan->model->kind == PERP_DISCRETE)
        return 0;
    for (int i = 0; i < g->ns; i++) {
        double from = perp__program_pre(g, plan->w, plan->p, i, 0);
        const double *x = plan->w + (size_t)((g->npoint - 1) * g->nb + i) * (size_t)g->K;
        for (int k = 0; k < g->K; k++)
            if (!(fabs(x[k] - from) <= STILL * fmax(fabs(from), g->unit.w[i]))) return 0;
    }
    return 1;
}

/* If the guess itself is feasible and costs less than the plan found from it (or none was found),
 * it becomes the plan, refined if that works. Returns 1: it is the plan now; 0: it is not; -1: out
 * of memory. */
static int fall_back(perp_plan *plan, perp_plan_result *result, int *refined)
{
    perp_plan_result guess = {0}, now;
    double cost;
    perp__program_values(plan->program, &plan->pairing, plan->guess.w, plan->guess.p, plan->r,
                         &cost);
    if (!(cost < result->cost) && perp_plan_holds(result->outcome)) return 0;
    memcpy(plan->best.w, plan->w, plan->nW * sizeof *plan->w);
    memcpy(plan->best.p, plan->p, plan->nP * sizeof *plan->p);
    memcpy(plan->w, plan->guess.w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->guess.p, plan->nP * sizeof *plan->p);
    int holds = verify(plan, &guess);
    if (holds <= 0) {
        memcpy(plan->w, plan->best.w, plan->nW * sizeof *plan->w);
        memcpy(plan->p, plan->best.p, plan->nP * sizeof *plan->p);
        return holds;
    }
    now = guess;
    *refined = plan->program->npair > 0 && plan->options.refine ? refine(plan, &now) : 0;
    if (*refined > 0 && verify(plan, &now) > 0 && now.cost <= guess.cost) {
        *result = now;
        return 1;
    }
    if (*refined < 0) return -1;
    *refined = 0;
    memcpy(plan->w, plan->guess.w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->guess.p, plan->nP * sizeof *plan->p);
    *result = guess;
    result->stationarity = (double)INFINITY; /* there are no multipliers of this point */
    return 1;
}

static int is_spent(const perp_plan *plan)
{
    return plan->again.budget > 0 && plan->iterations >= plan->again.budget;
}

/* From an answer with these sides, whose cost has grown, or from the present point, which has none:
 * find other sides by a homotopy from a small relaxation. The cheaper plan counts. Returns 1:
 * solved with sides fixed; 0: it is not; -1: out of memory. */
static int find_other_sides(perp_plan *plan, double cost, perp_plan_result *result)
{
    perp_plan_result other = {.outcome = PERP_PLAN_LIMIT};
    double now = INFINITY;
    if (isfinite(cost)) perp__plan_copy_answer(plan, plan, 1);
    plan->again.is_on = isfinite(cost);
    perp__plan_run_homotopy(plan, 0, PERP_PLAN_LAST_NEARBY, PERP__NEARBY);
    perp__plan_keep_point(plan);
    int refined = plan->stopped ? 0 : refine(plan, &other);
    plan->again.is_on = 0;
    if (refined > 0)
        perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &now);
    if (refined > 0 && now < cost) *result = other;
    plan->again.cost = fmin(now, cost);
    if (refined < 0 || now < cost || !isfinite(cost)) return refined;
    perp__plan_copy_answer(plan, plan, 0);
    return 1;
}

/* From the present point, which solves a nearby program, with its sides. Others follow if the cost
 * has grown, and a search from the model's guess if there are none. Returns 1: solved with sides
 * fixed; 0: it is not; -1: out of memory. */
static int run_from_here(perp_plan *plan, perp_plan_result *result)
{
    double cost = INFINITY;
    perp__ipm_result solved;
    plan->again.is_on = 1;
    perp__plan_keep_point(plan);
    if (plan->program->npair == 0) {
        perp__plan_solve_sides(plan, "again", 0, &cost);
        plan->pairing.bound = &plan->program->bound;
        plan->again.is_on = 0;
        return 0;
    }
    int refined = refine(plan, result);
    plan->again.is_on = 0;
    if (refined > 0)
        perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    if (refined == 0) perp__plan_recall_point(plan);
    if (refined >= 0 && !plan->stopped && !is_spent(plan) &&
        !(cost <= plan->again.cost + DEARER * fabs(plan->again.cost)))
        refined = find_other_sides(plan, cost, result);
    if (refined != 0 || plan->stopped || is_spent(plan)) return refined;
    perp__plan_set_start(plan, 0);
    return run_phases(plan, 0, &solved, result);
}

/* The worst that rows are off their bounds by, in their units, at the values r. */
static double missed(const perp_plan *plan, const perp__bounds *bound)
{
    const perp__program *g = plan->program;
    double most = 0;
    for (size_t i = 0; i < plan->nR; i++) {
        double off = fmax(bound->rlo[i] - plan->r[i], plan->r[i] - bound->rhi[i]);
        off /= g->unit.r[i / (size_t)g->K];
        most = isnan(off) ? (double)INFINITY : fmax(most, off);
    }
    return most;
}

int perp__plan_run_again(perp_plan *plan, perp_plan_result *result)
{
    int refined = run_from_here(plan, result);
    if (refined <= 0) result->weak = result->both_zero = 0;
    if (refined == 0) result->stationarity = stationarity(plan);
    int holds = verify(plan, result);
    if (refined < 0 || holds < 0 || plan->last.out_of_memory || (!refined && !find_costates(plan)))
        return 0;
    if (plan->stopped)
        result->outcome = PERP_PLAN_STOPPED;
    else if (!holds)
        result->outcome = PERP_PLAN_LIMIT;
    else
        result->outcome = word_of(plan, result, refined > 0 || plan->program->npair == 0);
    if (holds && result->cost < plan->again.cost) plan->again.cost = result->cost;
    return 1;
}

int perp__plan_judge_point(perp_plan *plan, perp_plan_result *result)
{
    double cost;
    plan->pairing.bound = &plan->program->bound;
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    result->stationarity = stationarity(plan);
    result->curvature = result->stationarity <= PERP_PLAN_STATIONARY ? second_order(plan) : 0;
    plan->pairing.bound = &plan->program->bound;
    int holds = verify(plan, result);
    if (holds < 0 || !find_costates(plan)) return 0;
    result->falls = holds && falls_with_horizon(plan);
    result->outcome = holds ? word_of(plan, result, 1) : PERP_PLAN_LIMIT;
    return 1;
}

/* One step from the present point, with the sides that it has; *cost: there. Returns 0: there is
 * none, and the point is as it was. */
static int take_step(perp_plan *plan, double *cost)
{
    perp__program *g = plan->program;
    perp__sides *sides = plan->sides;
    perp__ipm_iterate at = {plan->w, plan->p, plan->lambda, plan->lower, plan->upper};
    double before;
    perp__program_values(g, &plan->pairing, plan->w, plan->p, plan->r, cost);
    memset(sides->side, PERP__SIDE_OPEN, (size_t)g->npair * (size_t)g->K);
    const perp__bounds *open = perp__sides_fix(sides);
    before = missed(plan, open);
    perp__sides_choose(sides, plan->w, plan->r);
    perp__plan_keep_point(plan);
    int systems = perp__ipm_quadratic(plan->ipm, open, sides->side, MOST_SYSTEMS, &at);
    int ok = systems > 0;
    plan->iterations += systems;
    if (ok) perp__program_values(g, &plan->pairing, plan->w, plan->p, plan->r, cost);
    if (ok) ok = missed(plan, open) <= fmax(before, PERP_PLAN_NEARLY_FEASIBLE);
    if (!ok) perp__plan_recall_point(plan);
    return ok;
}

/* From what the search for other sides came to, if that is cheaper than the plan was when it was
 * last looked at; else from the plan. */
static int take_cheaper_step(perp_plan *plan)
{
    double cost;
    if (!perp__plan_search_part(plan)) return take_step(plan, &cost);
    if (take_step(plan, &cost) && cost < plan->again.search.cost) {
        plan->again.search.is_on = 0;
        plan->again.search.has_ended = 1;
        return 1;
    }
    perp__plan_swap_search(plan);
    return take_step(plan, &cost);
}

int perp__plan_run_step(perp_plan *plan, perp_plan_result *result)
{
    perp__program *g = plan->program;
    perp__sides *sides = plan->sides;
    double cost;
    int ok = take_cheaper_step(plan);
    plan->pairing.bound = perp__sides_fix(sides);
    perp__program_values(g, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    result->stationarity = stationarity(plan);
    take_costates(plan, plan->kkt->jac, plan->kkt->grad);
    result->both_zero =
        perp__sides_treat(sides, plan->w, plan->r, PERP_PLAN_BOTH_ZERO, PERP__SIDE_OPEN);
    result->weak = holds_both_sides(plan) ? 0 : result->both_zero;
    plan->last.is_b = 0;
    plan->pairing.bound = &g->bound;
    int holds = verify(plan, result);
    if (holds < 0 || plan->last.out_of_memory) return 0;
    if (!ok)
        result->outcome = PERP_PLAN_LIMIT;
    else if (holds)
        result->outcome = word_of(plan, result, 1);
    else
        result->outcome = PERP_PLAN_ITERATING;
    perp__plan_watch_cost(plan, ok, result->cost);
    return 1;
}

/* The same program once more, from its solution, to the last digits: a phase of very small length
 * multiplies the residuals of its equations. Returns as verify. */
static int polish(perp_plan *plan, perp_plan_result *result)
{
    double cost;
    perp__plan_solve_sides(plan, "polished", 0, &cost);
    plan->pairing.bound = &plan->program->bound;
    result->stationarity = stationarity(plan);
    return verify(plan, result);
}

/* A convex program whose cost is far larger elsewhere than at its minimum: the barrier's remainder
 * is relative to that size. It is solved again from its answer, with the cost weighed by the
 * remainder, until that is negligible, or no better answer is found. holds, or -1: memory. */
static int close_gap(perp_plan *plan, perp_plan_result *result)
{
    enum { MOST_WEIGHED = 4, MOST_ITERATIONS = 60 };
    const double LEAST_WEIGHT = 100, MOST_WEIGHT = 1e6;
    perp__ipm_options o = perp__ipm_options_default();
    double left = gap_left(plan, result->cost);
    int better = 1;
    o.tol = plan->options.tol;
    o.max_iter =
        plan->options.max_iter < MOST_ITERATIONS ? plan->options.max_iter : MOST_ITERATIONS;
    o.barrier_min = BARRIER_MIN;
    o.gap = 0;
    o.push = o.barrier = 1e-3;
    o.progress = forward_progress;
    o.context = plan;
    for (int i = 0; i < MOST_WEIGHED && better > 0 && !plan->stopped &&
                    (left > 1 || result->stationarity > PERP_PLAN_STATIONARY);
         i++) {
        perp_plan_result now = *result;
        double before = left;
        o.weight *= fmax(LEAST_WEIGHT, fmin(10 * left, MOST_WEIGHT));
        perp__plan_keep_point(plan);
        run_solver(plan, &o, "cost weighed");
        now.stationarity = stationarity(plan);
        better = verify(plan, &now);
        if (better < 0) return -1;
        left = gap_left(plan, now.cost);
        better &=
            now.cost <= result->cost + PERP_PLAN_SAME_COST * fabs(result->cost) && left < before;
        if (better) *result = now;
    }
    if (!better) {
        perp__plan_recall_point(plan);
        result->stationarity = stationarity(plan);
        return verify(plan, result);
    }
    return 1;
}

int perp__plan_run(perp_plan *plan, int start, perp_plan_result *result)
{
    perp__ipm_result solved = {0};
    int refined = run_phases(plan, start, &solved, result);
    double cost;
    plan->last.is_not_finite = solved.status == IPM_NOT_FINITE;
    if (refined <= 0) result->weak = result->both_zero = 0;
    if (refined == 0 && solved.status != IPM_NOT_FINITE) {
        perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
        result->stationarity = stationarity(plan);
    }
    int holds = verify(plan, result);
    if (holds == 0 && plan->program->npair == 0 && solved.infeasibility < TOL_BEFORE_SIDES &&
        !plan->stopped)
        holds = polish(plan, result);
    if (holds == 1 && plan->program->npair == 0 && has_cost(plan) && !plan->stopped &&
        gap_left(plan, result->cost) > 1)
        holds = close_gap(plan, result);
    int is_given = plan->has_guess && plan->has_guess != PERP__GUESS_COARSER;
    if (start == 0 && is_given && holds >= 0 && refined >= 0 && !plan->stopped) {
        result->outcome = holds ? PERP_PLAN_FEASIBLE : PERP_PLAN_LIMIT;
        int fell = fall_back(plan, result, &refined);
        if (fell > 0) holds = verify(plan, result);
        if (fell < 0) holds = -1;
    }
    if (refined < 0 || holds < 0 || plan->last.out_of_memory || (!refined && !find_costates(plan)))
        return 0;
    int is_refined = refined > 0 || plan->program->npair == 0;
    if (holds && refined > 0 && perp__plan_is_far(plan, start) && !improve_sides(plan, result))
        return 0;
    int is_stationary = has_cost(plan) && is_refined && result->weak == 0 &&
                        result->stationarity <= PERP_PLAN_STATIONARY;
    if (holds && is_stationary && !plan->stopped) {
        if (!judge_curvature(plan, result)) return 0;
    }
    result->falls = holds && !plan->stopped && falls_with_horizon(plan);
    if (plan->stopped)
        result->outcome = PERP_PLAN_STOPPED;
    else if (!holds)
        result->outcome = PERP_PLAN_LIMIT;
    else
        result->outcome = word_of(plan, result, is_refined);
    plan->last.is_idle = perp_plan_holds(result->outcome) && does_nothing(plan, result);
    return 1;
}

perp_status perp_plan_set_guess(perp_plan *plan, const perp_trajectory *table, const char *name,
                                perp_diag *diag)
{
    if (!plan || !table) return PERP_ERR_ARG;
    const double *t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    int n = perp_trajectory_rows(table);
    const char *fault = NULL;
    if (!t)
        fault = "no column 't'";
    else if (n < 2)
        fault = "fewer than two rows";
    for (int i = 1; i < n && !fault; i++)
        if (!(t[i] > t[i - 1])) fault = "times must increase";
    if (!name) name = "table";
    if (fault) return perp__refuse(diag, PERP_ERR_DATA, perp__in(name), "%s\n", fault);
    perp_status status =
        perp__program_guess_table(plan->program, table, name, plan->guess.w, plan->guess.p, diag);
    if (status != PERP_OK) return status;
    plan->has_guess = 1;
    return PERP_OK;
}

/* The given initial values violate a condition by themselves: that proves the plan infeasible. */
static perp_status say_broken_start(const perp_plan *plan, int condition, double off,
                                    perp_plan_result *result, perp_diag *diag)
{
    const perp__plan_condition *c = &plan->model->plan->condition[condition];
    result->outcome = PERP_PLAN_INFEASIBLE;
    return perp__refuse(diag, PERP_OK, perp__source_place(&plan->model->source, c->at),
                        "no plan keeps '%s': it is violated by %.4g where the plan begins, and all "
                        "its values are given there\n",
                        c->text, off);
}

/* No run ended in a plan: say why, as far as it can be found out. Or one did whose conditions hold
 * to the tolerance, and no better: only_proof of that there is none. */
static perp_status explain(perp_plan *plan, int only_proof, perp_plan_result *result,
                           perp_diag *diag)
{
    const perp_plan_options *po = &plan->options;
    perp__program_options p = {.steps = plan->program->K,
                               .method = po->method,
                               .theta = po->theta,
                               .pairs = po->pairs == PERP_PLAN_L1 ? PERP_PLAN_SCHOLTES : po->pairs,
                               .from = po->from,
                               .mesh = &plan->program->mesh};
    perp__ipm_options o = perp__ipm_options_default();
    o.max_iter = po->max_iter;
    o.tol = 1e-6;
    o.barrier_min = 1e-9;
    o.relaxation_min = 1e-7;
    o.weight = 100; /* the miss before the barrier: sticking is a trap */
    o.progress = forward_progress;
    o.context = plan;
    double off;
    int broken = perp__plan_broken_start(plan->program, plan->initial.w, plan->initial.p,
                                         po->verify_tol, &off);
    if (broken == -2) return PERP_ERR_MEMORY;
    if (broken >= 0) return say_broken_start(plan, broken, off, result, diag);
    plan->phase = "conditions may be missed";
    int conflict = perp__plan_explain(plan->program, &p, &o, only_proof, diag);
    if (conflict < 0) return PERP_ERR_MEMORY;
    if (conflict > 0) {
        result->outcome = conflict > 1 ? PERP_PLAN_INFEASIBLE : PERP_PLAN_LOCALLY_INFEASIBLE;
        return PERP_OK;
    }
    if (only_proof) return PERP_OK;
    return perp__refuse(diag, PERP_OK, perp__in(plan->model->source.name),
                        "no plan was found from %d start%s; the conditions could not be "
                        "shown to conflict. Another guess, or more nodes, may help\n",
                        result->starts, result->starts == 1 ? "" : "s");
}

/* No start gave finite numbers: name a condition that did not. */
static void say_not_finite(perp_plan *plan, perp_diag *diag)
{
    const perp__program *g = plan->program;
    const char *text = "what is minimised";
    int at = plan->model->plan->at;
    double cost;
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    for (int i = g->nrow - 1; i >= 0; i--)
        for (int k = 0; k < g->K; k++)
            if (!isfinite(plan->r[i * g->K + k])) {
                text = g->row[i].text;
                at = g->row[i].at;
            }
    perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__source_place(&plan->model->source, at),
                 "'%s' is not a finite number where the search starts; give a guess, "
                 "or ranges, within its domain\n",
                 text);
}

/* The cost fell without end: name what the plan block leaves unbounded. */
static void warn_unbounded(const perp_plan *plan, const perp_plan_result *result, perp_diag *diag)
{
    if (result->outcome != PERP_PLAN_FEASIBLE) return;
    if (result->falls)
        perp__diag_append(
            diag,
            "%s: no minimum found: the cost falls as the horizon grows, beyond the %.3g s of this "
            "plan; a longest horizon, or a price on time, is missing\n",
            plan->model->source.name, result->horizon);
    if (result->cost > UNBOUNDED) return;
    perp__diag_append(
        diag,
        "%s: the cost falls to %.2g and further; ranges of inputs or states, or a price "
        "on them, are missing\n",
        plan->model->source.name, result->cost);
}

static void warn_idle(const perp_plan *plan, const perp_plan_result *result, perp_diag *diag)
{
    perp__diag_append(diag,
                      "%s: the plan does nothing, at a cost of %.4g: no state moves. Without a "
                      "contact the cost has no slope; a guess, or more starts (tries), may find a "
                      "plan that acts\n",
                      plan->model->source.name, result->cost);
}

/* The method's rule for the integral of the cost is no part of the motion. So its error is added.
 * If it is more than half of the counted integrals, the cost is not the motion's: it may have a
 * pole between two nodes, or swing within each step. */
static perp_status add_quadrature(const perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const double MOST = 0.5;
    double off, counted;
    if (plan->model->kind == PERP_DISCRETE) return PERP_OK;
    if (!perp__plan_quadrature(plan, &off, &counted)) return PERP_ERR_MEMORY;
    if (isfinite(off)) result->cost_error += fabs(off);
    if (result->outcome >= PERP_PLAN_FEASIBLE_ON_MESH ||
        !(fabs(off) > MOST * fmax(counted, fabs(result->cost))))
        return PERP_OK;
    perp__diag_append(diag,
                      "%s: along the motion the integrals of the cost are another by %.3g, for a "
                      "cost of %.3g: the plan holds on its mesh only; more nodes, or a tolerance, "
                      "show whether there is such a motion\n",
                      plan->model->source.name, fabs(off), result->cost);
    result->outcome = PERP_PLAN_FEASIBLE_ON_MESH;
    return PERP_OK;
}

/* The conditions hold to the tolerance, but worse than a search leaves them: they may contradict
 * each other by less than that. */
static int holds_barely(const perp_plan_result *result)
{
    return perp_plan_holds(result->outcome) &&
           fmax(result->defect, fmax(result->bounds, result->conditions)) > BARELY;
}

static perp_status solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    perp_status status = perp__plan_follow_model(plan, diag);
    if (status == PERP_OK && plan->has_guess == PERP__GUESS_IN_ROWS)
        status = perp__program_guess_parts(plan->program, plan->guess.w, plan->guess.p)
                     ? PERP_OK
                     : PERP_ERR_MEMORY;
    plan->arc_error = 0;
    if (status == PERP_OK) status = perp__plan_run_starts(plan, result);
    if (status == PERP_OK && holds_barely(result)) status = explain(plan, 1, result, diag);
    if (status != PERP_OK) return status;
    plan->again.has_answer = perp_plan_holds(result->outcome);
    plan->again.cost = result->cost;
    plan->again.search.is_on = 0;
    if (plan->last.is_idle) warn_idle(plan, result, diag);
    warn_unbounded(plan, result, diag);
    result->on_mesh = result->outcome;
    result->replay = result->cost_error = (double)NAN;
    if (perp_plan_holds(result->outcome)) status = perp__plan_refine(plan, result);
    result->method = plan->options.method;
    if (status != PERP_OK) return status;
    result->on_mesh = result->outcome;
    plan->again.is_stationary = result->outcome <= PERP_PLAN_STATIONARY_B;
    if ((plan->options.replay || plan->options.motion_tol > 0) && perp_plan_holds(result->outcome))
        status = perp__plan_replay(plan, result, diag);
    if (status == PERP_OK && result->outcome < PERP_PLAN_FEASIBLE_ON_MESH)
        status = perp__plan_correct(plan, result);
    if (status == PERP_OK && result->outcome < PERP_PLAN_FEASIBLE_ON_MESH)
        status = perp__plan_judge_cost(plan, result, diag);
    if (status == PERP_OK && plan->options.replay && perp_plan_holds(result->outcome))
        status = add_quadrature(plan, result, diag);
    if (status != PERP_OK) return status;
    if (result->outcome != PERP_PLAN_LIMIT) return PERP_OK;
    if (plan->last.is_not_finite)
        say_not_finite(plan, diag);
    else
        status = explain(plan, 0, result, diag);
    result->on_mesh = result->outcome;
    return status;
}

perp_status perp_plan_solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    if (!plan || !result || !PERP__FITS(result)) return PERP_ERR_ARG;
    perp_plan_result own = *result;
    perp_status status = solve(plan, &own, diag);
    perp__result_give(result, &own, sizeof own);
    return status;
}
