/* The phases of a plan: homotopy in the relaxation of the pairs, sides fixed, verification. */

#include "plan/plan.h"

#include "model/plan_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static double uniform(unsigned long long *state, double lo, double hi)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (hi - lo) * (double)(*state >> 11) / 9007199254740992.0;
}

static double within(double x, double lo, double hi)
{
    return fmax(lo, fmin(hi, x));
}

void perp__plan_set_start(perp_plan *plan, int run)
{
    perp__program *g = plan->program;
    perp_plan_start start = plan->options.start;
    unsigned long long state = plan->options.seed + 1000003ULL * (unsigned)run;
    if (run > 0) start = run == 1 ? PERP_PLAN_START_MODEL : PERP_PLAN_START_RANDOM;
    if (perp__plan_start_easier(plan, run)) return;
    if (run == 0 && plan->has_guess) {
        memcpy(plan->w, plan->guess_w, plan->nW * sizeof *plan->w);
        memcpy(plan->p, plan->guess_p, plan->nP * sizeof *plan->p);
        return;
    }
    if (perp__plan_start_coarse(plan, run)) return;
    memcpy(plan->w, plan->model_w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->model_p, plan->nP * sizeof *plan->p);
    for (size_t i = 0; i < plan->nW + plan->nP && start != PERP_PLAN_START_MODEL; i++) {
        int is_p = i >= plan->nW;
        size_t j = is_p ? i - plan->nW : i;
        double lo = is_p ? g->plo[j] : g->wlo[j], hi = is_p ? g->phi[j] : g->whi[j];
        double x =
            start == PERP_PLAN_START_ZEROS ? 0 : uniform(&state, fmax(lo, -10), fmin(hi, 10));
        *(is_p ? &plan->p[j] : &plan->w[j]) = within(x, lo, hi);
    }
}

static perp__ipm_result run_solver(perp_plan *plan, const perp__ipm_options *o, const char *phase)
{
    perp__ipm_result result;
    plan->phase = phase;
    if (plan->options.backend == PERP_PLAN_IPOPT) {
        result = perp__ipopt_solve(plan->program, o, plan->w, plan->p, plan->lambda, plan->lower,
                                   plan->upper);
    } else {
        result = perp__ipm_solve(plan->ipm, o, plan->w, plan->p);
        memcpy(plan->lambda, perp__ipm_lambda(plan->ipm), plan->nR * sizeof *plan->lambda);
        memcpy(plan->lower, perp__ipm_lower(plan->ipm), plan->nW * sizeof *plan->lower);
        memcpy(plan->upper, perp__ipm_upper(plan->ipm), plan->nW * sizeof *plan->upper);
    }
    plan->iterations += result.iterations;
    return result;
}

perp__ipm_result perp__plan_run_homotopy(perp_plan *plan, int start, double last, int goes_on)
{
    const perp_plan_options *po = &plan->options;
    perp__ipm_options o = perp__ipm_options_default();
    int refines = po->refine && plan->program->npair > 0;
    o.max_iter = po->max_iter;
    o.weight = start == 0 ? 1 : 30; /* another path */
    o.tol = refines ? 1e-6 : po->tol;
    o.barrier_min = refines ? fmin(1e-9, 0.1 * last) : 1e-11;
    o.relaxation = po->pairs == PERP_PLAN_PRODUCTS ? 0 : po->relaxation;
    o.relaxation_min = po->pairs == PERP_PLAN_PRODUCTS ? 0 : last;
    if (goes_on) {
        o.relaxation = 100 * o.relaxation_min;
        o.barrier = 10 * o.relaxation_min;
        o.push = 1e-4;
        o.is_warm = 1;
    }
    o.progress = forward_progress;
    o.context = plan;
    plan->program->penalty = po->penalty;
    perp__ipm_result result = run_solver(plan, &o, "homotopy");
    plan->program->penalty = 0;
    return result;
}

static void keep(perp_plan *plan)
{
    memcpy(plan->best_w, plan->w, plan->nW * sizeof *plan->w);
    memcpy(plan->best_p, plan->p, plan->nP * sizeof *plan->p);
}

static void recall(perp_plan *plan)
{
    memcpy(plan->w, plan->best_w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->best_p, plan->nP * sizeof *plan->p);
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
 * of it. 0: memory. */
static int find_costates(perp_plan *plan)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K;
    double *jac = calloc((size_t)g->njac * K + 1, sizeof *jac);
    double *grad = calloc((size_t)g->ngrad * K + 1, sizeof *grad);
    memset(plan->costate, 0, (size_t)g->nx * (K + 1) * sizeof *plan->costate);
    if (jac && grad)
        perp__program_derivatives(plan->program, plan->w, plan->p, plan->lambda, 1, jac, grad,
                                  NULL);
    for (int e = 0; jac && grad && e < g->njac; e++) {
        int row = g->jac_row[e], col = g->jac_col[e], last = col - g->nx - (g->npoint - 1) * g->nb;
        const double *J = jac + (size_t)e * K, *lambda = plan->lambda + (size_t)row * K;
        for (size_t k = 0; k < K && col < g->nx && !is_of_start(plan, row); k++)
            plan->costate[(size_t)col * (K + 1) + k] += J[k] * lambda[k];
        if (last >= 0 && last < g->nx && g->row[row].condition < 0) /* there is no next step */
            plan->costate[(size_t)last * (K + 1) + K] -= J[K - 1] * lambda[K - 1];
    }
    for (int e = 0; jac && grad && e < g->ngrad; e++)
        for (size_t k = 0; k < K && g->grad_col[e] < g->nx; k++)
            plan->costate[(size_t)g->grad_col[e] * (K + 1) + k] += grad[(size_t)e * K + k];
    int ok = jac && grad;
    free(jac);
    free(grad);
    return ok;
}

/* Solve with the sides as they are now fixed, and pairs that are relaxed driven on from `relaxation`;
 * from nearer or farther inside the bounds. 1: solved, with the rows' values and *cost. */
static int solve_sides(perp_plan *plan, const char *phase, double relaxation, double *cost)
{
    static const struct {
        double push, barrier;
        int max_iter, is_warm;
    } tries[] = {{1e-3, 1e-4, 60, 1}, {1e-2, 1e-2, 100, 1}, {0.1, 1, 300, 0}};
    perp__ipm_options o = perp__ipm_options_default();
    int solved = 0;
    o.gap = 1e-10;
    o.primal = 1e-12; /* the equations of a phase of hardly any length are multiplied by that */
    o.tol = 0.1 * plan->options.tol;
    o.barrier_min = 1e-11;
    o.relaxation = relaxation;
    o.relaxation_min = 1e-4 * relaxation;
    o.progress = forward_progress;
    o.context = plan;
    memcpy(plan->from_w, plan->w, plan->nW * sizeof *plan->w);
    memcpy(plan->from_p, plan->p, plan->nP * sizeof *plan->p);
    perp__sides_fix(plan->sides);
    for (size_t k = 0; k < sizeof tries / sizeof *tries && !solved && !plan->stopped; k++) {
        o.push = tries[k].push;
        o.barrier = tries[k].barrier;
        o.max_iter = tries[k].max_iter;
        o.is_warm = tries[k].is_warm;
        memcpy(plan->w, plan->from_w, plan->nW * sizeof *plan->w);
        memcpy(plan->p, plan->from_p, plan->nP * sizeof *plan->p);
        perp__ipm_result run = run_solver(plan, &o, phase);
        solved = run.status == IPM_SOLVED || (run.infeasibility < 1e-9 && run.dual < 1e-5);
    }
    perp__program_values(plan->program, plan->w, plan->p, plan->r, cost);
    return solved;
}

/* Fix the sides seen and solve. Where that is impossible, pairs with both sides small are driven on
 * for a while before their sides are fixed. */
static int solve_smaller_sides(perp_plan *plan, double *cost)
{
    perp__sides_choose(plan->sides, plan->w, plan->r);
    if (solve_sides(plan, "sides fixed", 0, cost) || plan->stopped) return 1;
    memcpy(plan->w, plan->best_w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, plan->best_p, plan->nP * sizeof *plan->p);
    perp__program_values(plan->program, plan->w, plan->p, plan->r, cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    if (!perp__sides_treat(plan->sides, plan->w, plan->r, 0.01, PERP__SIDE_RELAXED)) return 0;
    if (!solve_sides(plan, "small pairs relaxed", plan->options.relaxation_min, cost)) return 0;
    perp__sides_choose(plan->sides, plan->w, plan->r);
    return solve_sides(plan, "sides fixed", 0, cost);
}

/* Fix the sides seen and solve. Pairs with both sides 0 are then opened, that is, asked for no more
 * than both sides >= 0: where this does not lower the cost the point is strongly stationary (Scheel
 * and Scholtes 2000); where it does, the sides it would rather have are tried. 1: an answer; 0:
 * none; -1: memory. */
static int refine(perp_plan *plan, perp_plan_result *result)
{
    enum { MAX_ROUNDS = 20 };
    perp__program *g = plan->program;
    double cost, opened, best = INFINITY;
    int found = 0;
    perp__program_values(g, plan->w, plan->p, plan->r, &cost);
    for (int round = 1; round <= MAX_ROUNDS && !plan->stopped; round++) {
        if (!solve_smaller_sides(plan, &cost) || plan->stopped) break;
        double slack = 1e-9 * (1 + fabs(cost));
        if (!(cost < best - slack)) break;
        if (!perp__plan_slope(g, plan->w, plan->p, plan->lambda, plan->slope, plan->size))
            found = -1;
        result->stationarity = perp__plan_stationarity(g, plan->w, plan->p, plan->slope, plan->size,
                                                       plan->lower, plan->upper);
        best = cost;
        if (found < 0 || !find_costates(plan)) return -1;
        found = 1;
        keep(plan);
        result->rounds = round;
        result->weak = 0;
        result->both_zero = perp__sides_treat(plan->sides, plan->w, plan->r, 1e-6, PERP__SIDE_OPEN);
        if (result->both_zero == 0) break;
        if (solve_sides(plan, "both zero opened", 0, &opened) && opened >= best - slack) break;
        result->weak = result->both_zero;
    }
    if (found > 0) recall(plan);
    perp__sides_release(plan->sides);
    return found;
}

/* Residuals of the plan at hand; 1 if it holds, -1: memory. */
static int verify(perp_plan *plan, perp_plan_result *result)
{
    perp__program *g = plan->program;
    perp__plan_check check;
    if (!perp__plan_verify(g, plan->w, plan->p, &check, plan->residual)) return -1;
    result->complementarity = check.pairs;
    result->defect = check.defect;
    result->bounds = check.bounds;
    result->conditions = check.conditions;
    g->penalty = 0;
    perp__program_values(g, plan->w, plan->p, plan->r, &result->cost);
    result->horizon = g->nrun ? 0 : g->horizon;
    for (int q = 0; q < g->nrun; q++) result->horizon += plan->p[g->run_p + q];
    return check.worst <= plan->options.verify_tol;
}

/* Homotopy and fixed sides. Where no sides come out that can be, the pairs are driven further; then,
 * from the start again, less far. 1: the sides are fixed; 0: they are not; -1: memory. */
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
        if (plan->stopped || !(solved->infeasibility < 1e-2)) return 0;
        keep(plan);
        refined = refine(plan, result);
        if (refined == 0) recall(plan);
    }
    return refined;
}

int perp__plan_run(perp_plan *plan, int start, perp_plan_result *result)
{
    perp__ipm_result solved = {0};
    int refined = run_phases(plan, start, &solved, result), memory = 1;
    plan->is_not_finite = solved.status == IPM_NOT_FINITE;
    if (refined <= 0) result->weak = result->both_zero = 0;
    if (refined == 0 && solved.status != IPM_NOT_FINITE) {
        memory = perp__plan_slope(plan->program, plan->w, plan->p, plan->lambda, plan->slope,
                                  plan->size);
        result->stationarity = perp__plan_stationarity(plan->program, plan->w, plan->p, plan->slope,
                                                       plan->size, plan->lower, plan->upper);
    }
    int holds = verify(plan, result);
    if (refined < 0 || holds < 0 || !memory || (!refined && !find_costates(plan))) return 0;
    int stationary = (refined > 0 || plan->program->npair == 0) && result->weak == 0 &&
                     result->stationarity <= 1e-5;
    result->outcome = plan->stopped ? PERP_PLAN_STOPPED
                      : !holds      ? PERP_PLAN_LIMIT
                      : stationary  ? PERP_PLAN_OPTIMAL
                                    : PERP_PLAN_FEASIBLE;
    return 1;
}

perp_status perp_plan_set_guess(perp_plan *plan, const perp_trajectory *table, const char *name,
                                perp_diag *diag)
{
    if (!plan || !table) return PERP_ERR_ARG;
    const double *t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    int n = perp_trajectory_rows(table), found = 0;
    const char *fault = !t ? "no column 't'" : n < 2 ? "fewer than two rows" : NULL;
    for (int i = 1; i < n && !fault; i++)
        if (!(t[i] > t[i - 1])) fault = "times must increase";
    if (!fault)
        found = perp__program_guess_table(plan->program, table, plan->guess_w, plan->guess_p);
    if (found < 0) return PERP_ERR_MEMORY;
    if (!fault && found == 0) fault = "no column has the name of a state, var or chosen input";
    if (fault) {
        perp__diag_append(diag, "%s: %s\n", name ? name : "table", fault);
        if (diag) diag->errors++;
        return PERP_ERR_DATA;
    }
    plan->has_guess = 1;
    return PERP_OK;
}

/* No run ended in a plan: say why, as far as it can be found out. */
static perp_status explain(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const perp_plan_options *po = &plan->options;
    perp__program_options p = {.steps = plan->program->K,
                               .method = po->method,
                               .theta = po->theta,
                               .pairs = po->pairs == PERP_PLAN_L1 ? PERP_PLAN_SCHOLTES : po->pairs,
                               .from = po->from};
    perp__ipm_options o = perp__ipm_options_default();
    o.max_iter = po->max_iter;
    o.tol = 1e-6;
    o.barrier_min = 1e-8;
    o.relaxation_min = 1e-6;
    o.weight = 100; /* the miss before the barrier: sticking is a trap */
    o.progress = forward_progress;
    o.context = plan;
    plan->phase = "conditions may be missed";
    int conflict = perp__plan_explain(plan->program, &p, &o, diag);
    if (conflict < 0) return PERP_ERR_MEMORY;
    if (conflict > 0) result->outcome = PERP_PLAN_INFEASIBLE;
    if (conflict == 0)
        perp__diag_append(diag,
                          "%s: no plan was found from %d start%s; the conditions could not be "
                          "shown to conflict. Another guess, or more nodes, may help\n",
                          plan->model->source.name, result->starts, result->starts == 1 ? "" : "s");
    if (diag) diag->errors++;
    return PERP_OK;
}

/* No start gave finite numbers: name a condition that did not. */
static void say_not_finite(perp_plan *plan, perp_diag *diag)
{
    const perp__program *g = plan->program;
    const perp__source *source = &plan->model->source;
    const char *text = "what is minimised";
    int at = plan->model->plan->at, line, column;
    double cost;
    perp__program_values(plan->program, plan->w, plan->p, plan->r, &cost);
    for (int i = g->nrow - 1; i >= 0; i--)
        for (int k = 0; k < g->K; k++)
            if (!isfinite(plan->r[i * g->K + k])) text = g->row[i].text, at = g->row[i].at;
    perp__source_place(source, at, &line, &column);
    perp__diag_append(
        diag,
        "%s:%d:%d: '%s' is not a finite number where the search starts; give a guess, "
        "or ranges, within its domain\n",
        source->name, line, column, text);
    if (diag) diag->errors++;
}

/* A cost this low, and no optimum: something is missing in the study. */
static void warn_unbounded(const perp_plan *plan, const perp_plan_result *result, perp_diag *diag)
{
    if (result->outcome != PERP_PLAN_FEASIBLE || result->cost > -1e9) return;
    perp__diag_append(
        diag,
        "%s: the cost falls to %.2g and further; ranges of inputs or states, or a price "
        "on them, are missing\n",
        plan->model->source.name, result->cost);
}

perp_status perp_plan_solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    if (!plan || !result) return PERP_ERR_ARG;
    perp_status status = perp__plan_run_starts(plan, result);
    if (status != PERP_OK) return status;
    warn_unbounded(plan, result, diag);
    if (result->outcome != PERP_PLAN_LIMIT) return PERP_OK;
    if (!plan->is_not_finite) return explain(plan, result, diag);
    say_not_finite(plan, diag);
    return PERP_OK;
}
