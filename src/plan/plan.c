/* The public face of planning: options, the phases of a solve, results, rows. */

#include "model/plan_block.h"
#include "plan/nlp.h"
#include "plan/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp_plan {
    const perp_model *model;
    perp_plan_options options;
    perp__program *program;
    perp__ipm *ipm;
    perp__sides *sides;
    size_t nW, nP, nR;
    double *w, *p, *best_w, *best_p; /* the iterate; the best answer so far */
    double *from_w, *from_p;         /* where a phase starts */
    double *r, *lambda, *lower, *upper, *slope;
    double *residual, *costate; /* K; nx * (K + 1) */
    double *symbol, *value;     /* of the model, for rows */
    char **costate_name;        /* nx */
    const char *phase;
    int iterations, stopped;
};

/* Words --------------------------------------------------------------------------------------- */

static const char *const method_words[] = {
#define PERP_WORD(name, word, text) word,
    PERP_PLAN_METHOD_LIST(PERP_WORD)};
static const char *const pairs_words[] = {PERP_PLAN_PAIRS_LIST(PERP_WORD)};
static const char *const backend_words[] = {PERP_PLAN_BACKEND_LIST(PERP_WORD)};
static const char *const outcome_words[] = {PERP_PLAN_OUTCOME_LIST(PERP_WORD)};
#undef PERP_WORD
static const char *const outcome_texts[] = {
#define PERP_TEXT(name, word, text) text,
    PERP_PLAN_OUTCOME_LIST(PERP_TEXT)
#undef PERP_TEXT
};

static int find_word(const char *const *words, int n, const char *name)
{
    int k = 0;
    while (k < n && (!name || strcmp(words[k], name) != 0)) k++;
    return k;
}

const char *perp_plan_method_name(perp_plan_method m)
{
    return (unsigned)m < PERP_PLAN_METHOD_COUNT ? method_words[m] : NULL;
}

perp_plan_method perp_plan_method_find(const char *name)
{
    return (perp_plan_method)find_word(method_words, PERP_PLAN_METHOD_COUNT, name);
}

const char *perp_plan_pairs_name(perp_plan_pairs p)
{
    return (unsigned)p < PERP_PLAN_PAIRS_COUNT ? pairs_words[p] : NULL;
}

perp_plan_pairs perp_plan_pairs_find(const char *name)
{
    return (perp_plan_pairs)find_word(pairs_words, PERP_PLAN_PAIRS_COUNT, name);
}

const char *perp_plan_backend_name(perp_plan_backend b)
{
    return (unsigned)b < PERP_PLAN_BACKEND_COUNT ? backend_words[b] : NULL;
}

perp_plan_backend perp_plan_backend_find(const char *name)
{
    return (perp_plan_backend)find_word(backend_words, PERP_PLAN_BACKEND_COUNT, name);
}

const char *perp_plan_outcome_name(perp_plan_outcome o)
{
    return (unsigned)o < PERP_PLAN_OUTCOME_COUNT ? outcome_words[o] : NULL;
}

const char *perp_plan_outcome_message(perp_plan_outcome o)
{
    return (unsigned)o < PERP_PLAN_OUTCOME_COUNT ? outcome_texts[o] : NULL;
}

/* Options ------------------------------------------------------------------------------------- */

perp_plan_options perp_plan_options_default(const perp_model *model)
{
    perp_plan_options o = {.nodes = 41,
                           .seed = 1,
                           .relaxation = 10,
                           .relaxation_min = 1e-7,
                           .penalty = 10,
                           .tol = 1e-8,
                           .verify_tol = 1e-6,
                           .max_iter = 1000,
                           .restarts = 3,
                           .refine = 1};
    const perp__plan_block *b = model ? model->plan : NULL;
    if (!b) return o;
    if (b->nodes >= 0) {
        double *symbol = malloc((size_t)model->nsymbol * sizeof *symbol), nodes = NAN;
        for (int s = 0; symbol && s < model->nsymbol; s++) symbol[s] = NAN;
        for (int i = 0; symbol && i < model->nitem[PERP_PARAM]; i++)
            symbol[model->item[PERP_PARAM][i].symbol] = model->item[PERP_PARAM][i].value;
        if (symbol) perp__graph_value(&model->graph, b->nodes, symbol, &nodes);
        free(symbol);
        o.nodes = nodes >= 2 && nodes <= 1e6 && nodes == floor(nodes) ? (int)nodes : -1;
    }
    if (b->method) o.method = perp_plan_method_find(b->method);
    if (b->complementarity) o.pairs = perp_plan_pairs_find(b->complementarity);
    return o;
}

static perp_status refuse(const perp_model *model, int at, perp_diag *diag, perp_status status,
                          const char *text)
{
    int line, column;
    perp__source_place(&model->source, at, &line, &column);
    perp__diag_append(diag, "%s:%d:%d: %s\n", model->source.name, line, column, text);
    if (diag) diag->errors++;
    return status;
}

static perp_status check_options(const perp_model *m, const perp_plan_options *o, perp_diag *diag)
{
    const perp__plan_block *b = m->plan;
    if (!b)
        return refuse(m, 0, diag, PERP_ERR_MODEL,
                      "the model has no plan block: plan { horizon ..., nodes ..., minimize ... }");
    if (o->nodes < 2)
        return refuse(m, b->nodes_at ? b->nodes_at : b->at, diag, PERP_ERR_MODEL,
                      "nodes must be a whole number from 2 on");
    if (o->method >= PERP_PLAN_METHOD_COUNT)
        return refuse(m, b->at, diag, PERP_ERR_MODEL,
                      "unknown method; there are: backward-euler, radau3, radau5");
    if (o->pairs >= PERP_PLAN_PAIRS_COUNT)
        return refuse(m, b->at, diag, PERP_ERR_MODEL,
                      "unknown way to treat pairs; there are: scholtes, products, l1, "
                      "fischer-burmeister");
    if (o->backend == PERP_PLAN_IPOPT && !perp__ipopt_available())
        return refuse(m, b->at, diag, PERP_ERR_UNAVAILABLE,
                      "this build has no IPOPT; it needs coinor-libipopt-dev");
    if (!(o->tol > 0) || !(o->verify_tol > 0) || o->max_iter < 1 || o->restarts < 0 ||
        !(o->relaxation >= 0) || !(o->relaxation_min >= 0))
        return refuse(m, b->at, diag, PERP_ERR_ARG, "an option is out of its range");
    return PERP_OK;
}

/* Lifecycle ----------------------------------------------------------------------------------- */

static int take(double **to, size_t n)
{
    *to = calloc(n + 1, sizeof **to);
    return *to != NULL;
}

/* "costate_x" for each state. 0: memory. */
static int name_costates(perp_plan *plan)
{
    const perp_model *m = plan->model;
    plan->costate_name = calloc((size_t)plan->program->nx + 1, sizeof *plan->costate_name);
    for (int i = 0; plan->costate_name && i < plan->program->nx; i++) {
        static const char prefix[] = "costate_";
        const char *name = m->item[PERP_STATE][i].name;
        char *text = malloc(sizeof prefix + strlen(name));
        if (!text) return 0;
        strcpy(text, prefix);
        strcat(text, name);
        plan->costate_name[i] = text;
    }
    return plan->costate_name != NULL;
}

static int allocate(perp_plan *plan)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K;
    plan->nW = (size_t)g->nw * K;
    plan->nP = (size_t)g->np;
    plan->nR = (size_t)g->nrow * K;
    plan->ipm = perp__ipm_create(plan->program);
    plan->sides = perp__sides_create(plan->program);
    return name_costates(plan) && plan->ipm && plan->sides && take(&plan->w, plan->nW) &&
           take(&plan->p, plan->nP) && take(&plan->best_w, plan->nW) &&
           take(&plan->best_p, plan->nP) && take(&plan->from_w, plan->nW) &&
           take(&plan->from_p, plan->nP) && take(&plan->r, plan->nR) &&
           take(&plan->lambda, plan->nR) && take(&plan->lower, plan->nW) &&
           take(&plan->upper, plan->nW) && take(&plan->slope, plan->nW + plan->nP) &&
           take(&plan->residual, K) && take(&plan->costate, (size_t)g->nx * (K + 1)) &&
           take(&plan->symbol, (size_t)plan->model->nsymbol) &&
           take(&plan->value, (size_t)plan->model->graph.count);
}

perp_status perp_plan_create(const perp_model *model, const perp_plan_options *options,
                             perp_plan **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!model || !options) return PERP_ERR_ARG;
    perp_status status = check_options(model, options, diag);
    if (status != PERP_OK) return status;
    perp_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return PERP_ERR_MEMORY;
    plan->model = model;
    plan->options = *options;
    perp__program_options o = {.steps = options->nodes - 1,
                               .method = options->method,
                               .pairs = options->pairs,
                               .from = options->from};
    plan->program = perp__program_create(model, &o, &status, diag);
    if (plan->program && !allocate(plan)) status = PERP_ERR_MEMORY;
    if (status != PERP_OK) {
        perp_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return PERP_OK;
}

void perp_plan_destroy(perp_plan *plan)
{
    if (!plan) return;
    perp__ipm_destroy(plan->ipm);
    perp__sides_destroy(plan->sides);
    for (int i = 0; plan->costate_name && i < plan->program->nx; i++) free(plan->costate_name[i]);
    free(plan->costate_name);
    perp__program_destroy(plan->program);
    double *arrays[] = {plan->w,      plan->p,        plan->best_w,  plan->best_p, plan->from_w,
                        plan->from_p, plan->r,        plan->lambda,  plan->lower,  plan->upper,
                        plan->slope,  plan->residual, plan->costate, plan->symbol, plan->value};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(plan);
}

/* Solve --------------------------------------------------------------------------------------- */

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

/* The start of run number `run`: as asked for, then the model's guesses, then random points. 0:
 * memory. */
static int set_start(perp_plan *plan, int run)
{
    perp__program *g = plan->program;
    perp_plan_start start = plan->options.start;
    unsigned long long state = plan->options.seed + 1000003ULL * (unsigned)run;
    if (run > 0) start = run == 1 ? PERP_PLAN_START_MODEL : PERP_PLAN_START_RANDOM;
    if (!perp__program_guess(g, plan->w, plan->p)) return 0;
    for (size_t i = 0; i < plan->nW + plan->nP && start != PERP_PLAN_START_MODEL; i++) {
        int is_p = i >= plan->nW;
        size_t j = is_p ? i - plan->nW : i;
        double lo = is_p ? g->plo[j] : g->wlo[j], hi = is_p ? g->phi[j] : g->whi[j];
        double x =
            start == PERP_PLAN_START_ZEROS ? 0 : uniform(&state, fmax(lo, -10), fmin(hi, 10));
        *(is_p ? &plan->p[j] : &plan->w[j]) = within(x, lo, hi);
    }
    return 1;
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

/* Relaxed pairs, tighter and tighter. */
static perp__ipm_result run_homotopy(perp_plan *plan, int start)
{
    const perp_plan_options *po = &plan->options;
    perp__ipm_options o = perp__ipm_options_default();
    int refines = po->refine && plan->program->npair > 0;
    o.max_iter = po->max_iter;
    o.weight = start == 0 ? 1 : 30; /* another path */
    o.tol = refines ? 1e-6 : po->tol;
    o.barrier_min = refines ? 1e-9 : 1e-11;
    o.relaxation = po->pairs == PERP_PLAN_PRODUCTS ? 0 : po->relaxation;
    o.relaxation_min = po->pairs == PERP_PLAN_PRODUCTS ? 0 : po->relaxation_min;
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
    for (int e = 0; jac && grad && e < g->njac; e++)
        for (size_t k = 0; k < K && g->jac_col[e] < g->nx; k++)
            plan->costate[(size_t)g->jac_col[e] * (K + 1) + k] +=
                jac[(size_t)e * K + k] * plan->lambda[(size_t)g->jac_row[e] * K + k];
    for (int e = 0; jac && grad && e < g->ngrad; e++)
        for (size_t k = 0; k < K && g->grad_col[e] < g->nx; k++)
            plan->costate[(size_t)g->grad_col[e] * (K + 1) + k] += grad[(size_t)e * K + k];
    int ok = jac && grad;
    free(jac);
    free(grad);
    return ok;
}

/* Solve with the sides as they are now fixed, from nearer or farther inside the bounds. 1: solved,
 * with the rows' values and *cost. */
static int solve_sides(perp_plan *plan, const char *phase, double *cost)
{
    static const struct {
        double push, barrier;
        int max_iter, is_warm;
    } tries[] = {{1e-3, 1e-4, 60, 1}, {1e-2, 1e-2, 100, 1}, {0.1, 1, 300, 0}};
    perp__ipm_options o = perp__ipm_options_default();
    int solved = 0;
    o.gap = 1e-10;
    o.tol = 0.1 * plan->options.tol;
    o.barrier_min = 1e-11;
    o.relaxation = o.relaxation_min = 0;
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
    perp__sides_choose(plan->sides, plan->w, plan->r);
    for (int round = 1; round <= MAX_ROUNDS && !plan->stopped; round++) {
        if (!solve_sides(plan, "sides fixed", &cost) || plan->stopped) break;
        double slack = 1e-9 * (1 + fabs(cost));
        if (!(cost < best - slack)) break;
        if (!perp__plan_slope(g, plan->w, plan->p, plan->lambda, plan->slope)) found = -1;
        result->stationarity =
            perp__plan_stationarity(g, plan->w, plan->p, plan->slope, plan->lower, plan->upper);
        best = cost;
        if (found < 0 || !find_costates(plan)) return -1;
        found = 1;
        keep(plan);
        result->rounds = round;
        result->weak = 0;
        result->both_zero = perp__sides_open(plan->sides, plan->w, plan->r, 1e-6);
        if (result->both_zero == 0) break;
        if (solve_sides(plan, "both zero opened", &opened) && opened >= best - slack) break;
        result->weak = result->both_zero;
        perp__sides_choose(plan->sides, plan->w, plan->r);
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

/* One run from a start. The outcome is in result; 0: memory. */
static int run(perp_plan *plan, int start, perp_plan_result *result)
{
    const perp_plan_options *o = &plan->options;
    perp__ipm_result solved = run_homotopy(plan, start);
    int refined = 0, memory = 1;
    result->stationarity = solved.dual;
    result->weak = result->both_zero = 0;
    if (!plan->stopped && o->refine && plan->program->npair && solved.infeasibility < 1e-2) {
        keep(plan);
        refined = refine(plan, result);
        if (refined == 0) recall(plan);
    }
    if (refined == 0 && solved.status != IPM_NOT_FINITE) {
        memory = perp__plan_slope(plan->program, plan->w, plan->p, plan->lambda, plan->slope);
        result->stationarity = perp__plan_stationarity(plan->program, plan->w, plan->p, plan->slope,
                                                       plan->lower, plan->upper);
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

/* No run ended in a plan: say why, as far as it can be found out. */
static perp_status explain(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const perp_plan_options *po = &plan->options;
    perp__program_options p = {.steps = plan->program->K,
                               .method = po->method,
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
                          "%s: no plan was found from %d starts; the conditions could not be "
                          "shown to conflict. Another guess, or more nodes, may help\n",
                          plan->model->source.name, result->starts);
    if (diag) diag->errors++;
    return PERP_OK;
}

perp_status perp_plan_solve(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    if (!plan || !result) return PERP_ERR_ARG;
    memset(result, 0, sizeof *result);
    plan->iterations = plan->stopped = 0;
    result->outcome = PERP_PLAN_LIMIT;
    for (int k = 0; k <= plan->options.restarts; k++) {
        if (!set_start(plan, k) || !run(plan, k, result)) return PERP_ERR_MEMORY;
        result->starts = k + 1;
        if (result->outcome == PERP_PLAN_OPTIMAL || result->outcome == PERP_PLAN_STOPPED) break;
    }
    result->iterations = plan->iterations;
    return result->outcome == PERP_PLAN_LIMIT ? explain(plan, result, diag) : PERP_OK;
}

/* Rows ---------------------------------------------------------------------------------------- */

perp_plan_size perp_plan_get_size(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    return (perp_plan_size){g->K,
                            g->nw * g->K + g->np,
                            g->nrow * g->K,
                            g->npair * g->K,
                            (long)g->njac * g->K,
                            (long)g->nhess * g->K};
}

int perp_plan_rows(const perp_plan *plan)
{
    return plan->program->K + 1;
}

int perp_plan_columns(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    return 2 + 2 * g->nx + plan->model->nvar + g->nu + plan->model->nitem[PERP_OUTPUT];
}

/* Column c as an item: its kind and index; PERP_SYMBOL_KINDS for t, residual (1) and costates (2 +
 * state). */
static perp_symbol_kind column_of(const perp_plan *plan, int c, int *index)
{
    const perp__program *g = plan->program;
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT, PERP_OUTPUT};
    int counts[] = {g->nx, plan->model->nvar, g->nu, plan->model->nitem[PERP_OUTPUT]};
    *index = 0;
    if (c-- == 0) return PERP_SYMBOL_KINDS;
    for (int k = 0; k < 4; k++) {
        *index = k == 2 && c < counts[k] ? g->input_item[c] : c;
        if (c < counts[k]) return kinds[k];
        c -= counts[k];
    }
    *index = 1 + c;
    return PERP_SYMBOL_KINDS;
}

const char *perp_plan_column_name(const perp_plan *plan, int column)
{
    int i;
    if (column < 0 || column >= perp_plan_columns(plan)) return NULL;
    perp_symbol_kind kind = column_of(plan, column, &i);
    if (kind < PERP_SYMBOL_KINDS) return plan->model->item[kind][i].name;
    return i == 0 ? "t" : i == 1 ? "residual" : plan->costate_name[i - 2];
}

const char *perp_plan_column_unit(const perp_plan *plan, int column)
{
    int i;
    if (column < 0 || column >= perp_plan_columns(plan)) return NULL;
    perp_symbol_kind kind = column_of(plan, column, &i);
    if (kind < PERP_SYMBOL_KINDS) return plan->model->item[kind][i].unit;
    return i == 0 ? "s" : "";
}

void perp_plan_row(const perp_plan *plan, int node, double *row)
{
    const perp__program *g = plan->program;
    const perp_model *m = plan->model;
    int step = node > 0 ? node - 1 : 0, last = (g->npoint - 1) * g->nb, c = 0;
    size_t K = (size_t)g->K, k = (size_t)step;
    double h = perp__program_step(g, plan->p, step), start = perp__program_time(g, plan->p, step);
    perp__plan_row_symbols(g, plan->w, plan->p, node, plan->symbol, plan->value);
    row[c++] = node > 0 ? start + h : start;
    for (int i = 0; i < g->nx; i++)
        row[c++] = node > 0 ? plan->w[(size_t)(last + i) * K + k]
                            : perp__program_pre(g, plan->w, plan->p, i, 0);
    for (int i = 0; i < m->nvar; i++)
        row[c++] = node > 0 ? plan->w[(size_t)(last + g->nx + i) * K + k] : (double)NAN;
    for (int i = 0; i < g->nu; i++)
        row[c++] = plan->w[(size_t)(last + g->nx + g->nv + g->nsplit + i) * K + k];
    for (int i = 0; i < m->nitem[PERP_OUTPUT]; i++)
        row[c++] = plan->value[m->item[PERP_OUTPUT][i].expr];
    row[c++] = node > 0 ? plan->residual[step] : (double)NAN;
    for (int i = 0; i < g->nx; i++) row[c++] = plan->costate[(size_t)i * (K + 1) + (size_t)node];
}

int perp_plan_is_uniform(const perp_plan *plan)
{
    return plan->program->nrun <= 1;
}

const char *perp_plan_free_name(const perp_plan *plan, int i)
{
    const perp__program *g = plan->program;
    if (i < 0 || i >= g->nparam) return NULL;
    return plan->model->item[PERP_PARAM][g->param_item[i]].name;
}

double perp_plan_free_value(const perp_plan *plan, int i)
{
    return perp_plan_free_name(plan, i) ? plan->p[plan->program->param_p + i] : (double)NAN;
}
