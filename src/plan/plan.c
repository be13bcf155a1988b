/* The public face of planning: words, options, lifecycle, rows. */

#include "plan/plan.h"

#include "base/words.h"
#include "model/inspect.h"
#include "model/plan_block.h"
#include "trajectory/trajectory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words --------------------------------------------------------------------------------------- */

#define METHOD(name, word, weighted, text) {word, text},
#define ROW(name, word, text)              {word, text},
static const perp__word method_rows[] = {PERP_PLAN_METHOD_LIST(METHOD)};
static const perp__word pairs_rows[] = {PERP_PLAN_PAIRS_LIST(ROW)};
static const perp__word backend_rows[] = {PERP_PLAN_BACKEND_LIST(ROW)};
static const perp__word outcome_rows[] = {PERP_PLAN_OUTCOME_LIST(ROW)};
static const perp__words methods = PERP_WORDS(method_rows), pairs = PERP_WORDS(pairs_rows),
                         backends = PERP_WORDS(backend_rows), outcomes = PERP_WORDS(outcome_rows);

PERP_WORD_FUNCTIONS(perp_plan_method, perp_plan_method, methods)
PERP_WORD_FUNCTIONS(perp_plan_pairs, perp_plan_pairs, pairs)
PERP_WORD_FUNCTIONS(perp_plan_backend, perp_plan_backend, backends)
PERP_WORD_SUMMARY(perp_plan_outcome, perp_plan_outcome_message, outcomes)

const char *perp_plan_outcome_name(perp_plan_outcome outcome)
{
    return perp__word_name(&outcomes, (int)outcome);
}

int perp_plan_holds(perp_plan_outcome o)
{
    return (unsigned)o <= PERP_PLAN_FEASIBLE_ON_MESH;
}

/* Options ------------------------------------------------------------------------------------- */

/* A number of nodes; NaN if it is none. symbol: NULL when memory was out. */
static double whole_nodes(const perp_model *model, perp_expr e, const double *symbol)
{
    double nodes = NAN;
    if (symbol) perp__graph_value(&model->graph, e, symbol, &nodes);
    return nodes >= 2 && nodes <= 1e6 && nodes == floor(nodes) ? nodes : (double)NAN;
}

static perp_plan_options default_options(const perp_model *model)
{
    perp_plan_options o = {.nodes = 41,
                           .theta = 0.5,
                           .seed = 1,
                           .relaxation = 10,
                           .relaxation_min = 1e-7,
                           .penalty = 0.1,
                           .tol = 1e-8,
                           .verify_tol = 1e-6,
                           .max_iter = 1000,
                           .tries = 1,
                           .restarts = 4,
                           .homotopy_steps = 4,
                           .refine = 1,
                           .replay = 1,
                           .most_steps = 1000};
    const perp__plan_block *b = model ? model->plan : NULL;
    if (!b) return o;
    if (b->nodes >= 0 || b->nphase > 0) {
        double *symbol = malloc((size_t)model->nsymbol * sizeof *symbol);
        for (int s = 0; symbol && s < model->nsymbol; s++) symbol[s] = NAN;
        for (int i = 0; symbol && i < model->nitem[PERP_PARAM]; i++)
            symbol[model->item[PERP_PARAM][i].symbol] = model->item[PERP_PARAM][i].value;
        double nodes = b->nodes >= 0 ? whole_nodes(model, b->nodes, symbol) : 1;
        for (int q = 0; q < b->nphase; q++)
            nodes += whole_nodes(model, b->phase[q].nodes, symbol) - 1;
        free(symbol);
        o.nodes = nodes <= 1e6 ? (int)nodes : -1; /* NaN, too */
    }
    if (b->method.text) o.method = perp_plan_method_find(b->method.text);
    if (b->complementarity.text) o.pairs = perp_plan_pairs_find(b->complementarity.text);
    return o;
}

void perp_plan_options_fill(perp_plan_options *options, size_t size, const perp_model *model)
{
    perp_plan_options own = default_options(model);
    perp__options_give(options, size, &own, sizeof own);
}

static perp_status refuse(const perp_model *model, int at, perp_diag *diag, perp_status status,
                          const char *text)
{
    return perp__refuse(diag, status, perp__source_place(&model->source, at), "%s\n", text);
}

static perp_status check_options(const perp_model *m, const perp_plan_options *o, perp_diag *diag)
{
    const perp__plan_block *b = m->plan;
    if (!b)
        return refuse(m, 0, diag, PERP_ERR_MODEL,
                      "the model has no plan block: plan { horizon ..., nodes ..., minimize ... }");
    if (o->nodes == -1 && default_options(m).nodes != -1) /* there was no memory to say */
        return perp__out_of_memory(diag, m->source.name);
    if (o->nodes < 2) {
        int at = b->at;
        if (b->nphase)
            at = b->phase[0].nodes_at;
        else if (b->nodes_at)
            at = b->nodes_at;
        return refuse(m, at, diag, PERP_ERR_MODEL, "nodes must be a whole number from 2 on");
    }
    if ((unsigned)o->method >= PERP_PLAN_METHOD_COUNT)
        return perp__refuse_word(diag, PERP_ERR_MODEL, perp__said_place(&m->source, b->method),
                                 "method", b->method.text, &methods);
    perp_status status =
        perp__check_steps(m, b->method, perp_plan_method_name(o->method), o->motion_tol, diag);
    if (status != PERP_OK) return status;
    if (!(o->theta >= 0.5 && o->theta <= 1))
        return refuse(m, b->at, diag, PERP_ERR_ARG, "theta must be from 0.5 to 1");
    if (perp__scheme_make(perp_plan_method_name(o->method), o->theta).is_weighted &&
        b->holds_inputs)
        return refuse(m, b->at, diag, PERP_ERR_MODEL,
                      "inputs cannot be held with theta: they go straight from node to node");
    if ((unsigned)o->pairs >= PERP_PLAN_PAIRS_COUNT)
        return perp__refuse_word(diag, PERP_ERR_MODEL,
                                 perp__said_place(&m->source, b->complementarity),
                                 "treatment of pairs", b->complementarity.text, &pairs);
    if (o->backend == PERP_PLAN_IPOPT && !perp__ipopt_available())
        return refuse(m, b->at, diag, PERP_ERR_UNAVAILABLE,
                      "there is no IPOPT here: install coinor-libipopt-dev and build again");
    if (!(o->tol > 0) || !(o->verify_tol > 0) || o->max_iter < 1 || o->restarts < 0 ||
        o->tries < 1 || o->threads < 0 || o->homotopy_steps < 0 || o->homotopy_steps > 100 ||
        !(o->relaxation >= 0) || !(o->relaxation_min >= 0) || !(o->motion_tol >= 0) ||
        o->most_steps < 1)
        return refuse(m, b->at, diag, PERP_ERR_ARG, "an option is out of its range");
    return PERP_OK;
}

/* Lifecycle ----------------------------------------------------------------------------------- */

/* "costate_x" for each state. */
static void name_costates(perp_plan *plan)
{
    static const char prefix[] = "costate_";
    const perp_model *m = plan->model;
    PERP_TAKE(&plan->arena, plan->costate_name, plan->program->nx);
    for (int i = 0; !plan->arena.failed && i < plan->program->ns; i++) {
        const char *name = m->item[PERP_STATE][i].name;
        size_t size = sizeof prefix + strlen(name);
        if (PERP_TAKE(&plan->arena, plan->costate_name[i], size))
            snprintf(plan->costate_name[i], size, "%s%s", prefix, name);
    }
}

static int allocate(perp_plan *plan)
{
    perp__program *g = plan->program;
    perp__arena *arena = &plan->arena;
    size_t K = (size_t)g->K;
    plan->nW = (size_t)g->nw * K;
    plan->nP = (size_t)g->np;
    plan->nR = (size_t)g->nrow * K;
    plan->pairing.bound = &g->bound;
    plan->ipm = perp__ipm_create(arena, g);
    plan->sides = perp__sides_create(arena, g);
    plan->kkt = perp__kkt_create(arena, g, &plan->pairing);
    double **of_w[] = {&plan->w,          &plan->best.w, &plan->from.w, &plan->guess.w,
                       &plan->initial.w,  &plan->lower,  &plan->upper,  &plan->best.lower,
                       &plan->best.upper, &plan->kept[0]};
    perp__answer *other = &plan->again.search.at;
    double **of_p[] = {&plan->p,       &plan->best.p,    &plan->from.p,
                       &plan->guess.p, &plan->initial.p, &plan->kept[1]};
    double **of_r[] = {&plan->r, &plan->lambda, &plan->best.lambda};
    for (size_t i = 0; i < sizeof of_w / sizeof *of_w; i++) PERP_TAKE(arena, *of_w[i], plan->nW);
    for (size_t i = 0; i < sizeof of_p / sizeof *of_p; i++) PERP_TAKE(arena, *of_p[i], plan->nP);
    for (size_t i = 0; i < sizeof of_r / sizeof *of_r; i++) PERP_TAKE(arena, *of_r[i], plan->nR);
    double **of_search[] = {&other->w, &other->lower, &other->upper};
    for (int i = 0; i < 3; i++) PERP_TAKE(arena, *of_search[i], plan->nW);
    PERP_TAKE(arena, other->p, plan->nP);
    PERP_TAKE(arena, other->lambda, plan->nR);
    PERP_TAKE(arena, plan->direction, plan->nW + plan->nP);
    PERP_TAKE(arena, plan->residual, K);
    PERP_TAKE(arena, plan->kept[2], K);
    PERP_TAKE(arena, plan->costate, (size_t)g->nx * (K + 1));
    PERP_TAKE(arena, plan->kept[3], (size_t)g->nx * (K + 1));
    PERP_TAKE(arena, plan->kept[4], plan->nR);
    return !arena->failed;
}

/* What rows of a model's plan need. */
static int allocate_rows(perp_plan *plan)
{
    perp__arena *arena = &plan->arena;
    name_costates(plan);
    PERP_TAKE(arena, plan->symbol, plan->model->nsymbol + plan->model->plan->nparam);
    PERP_TAKE(arena, plan->value, plan->model->graph.count);
    return !arena->failed;
}

perp_plan *perp__plan_of_program(perp__program *program, const perp_plan_options *options,
                                 perp__plan_judge judge)
{
    perp_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        perp__program_destroy(program);
        return NULL;
    }
    plan->options = *options;
    plan->program = program;
    plan->judge = judge;
    if (allocate(plan)) return plan;
    perp_plan_destroy(plan);
    return NULL;
}

/* The start from the table that the block names. */
static perp_status read_guess(perp_plan *plan, perp_diag *diag)
{
    const perp__plan_block *b = plan->model->plan;
    perp_trajectory *table = NULL;
    perp_diag why = {0};
    perp_status status = perp__trajectory_read(b->table, PERP__REGULAR, &table, &why);
    if (status == PERP_OK) status = perp_plan_set_guess(plan, table, b->table, &why);
    if (status != PERP_OK)
        perp__refuse(diag, status, perp__source_place(&plan->model->source, b->table_at), "%s",
                     perp_diag_text(&why));
    perp_diag_clear(&why);
    perp_trajectory_destroy(table);
    return status;
}

perp_status perp_plan_create(const perp_model *model, const perp_plan_options *given,
                             perp_plan **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!model) return PERP_ERR_ARG;
    perp_plan_options options = default_options(model);
    if (!perp__options_take(&options, sizeof options, given)) return PERP_ERR_ARG;
    perp_status status = check_options(model, &options, diag);
    return status == PERP_OK ? perp__plan_create_on(model, &options, NULL, out, diag) : status;
}

perp_status perp__plan_create_on(const perp_model *model, const perp_plan_options *options,
                                 const perp__mesh *mesh, perp_plan **out, perp_diag *diag)
{
    perp_status status = PERP_OK;
    perp_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return PERP_ERR_MEMORY;
    plan->model = model;
    plan->options = *options;
    perp__program_options o = {.steps = options->nodes - 1,
                               .method = options->method,
                               .theta = options->theta,
                               .pairs = options->pairs,
                               .from = options->from,
                               .mesh = mesh};
    plan->program = perp__program_create(model, &o, &status, diag);
    if (plan->program && (!allocate(plan) || !allocate_rows(plan))) status = PERP_ERR_MEMORY;
    if (plan->program && status == PERP_OK)
        status = perp__program_guess(plan->program, plan->initial.w, plan->initial.p, diag);
    if (status == PERP_OK && model->plan->simulates && !mesh &&
        !perp__plan_guess_simulate(options, plan->program, plan->initial.w, plan->initial.p, diag))
        status = PERP_ERR_MEMORY;
    if (status == PERP_OK &&
        !perp__program_guess_cones(plan->program, 0, plan->initial.w, plan->initial.p))
        status = PERP_ERR_MEMORY;
    if (status == PERP_OK && plan->program->has.guards &&
        !perp__program_guess_parts(plan->program, plan->initial.w, plan->initial.p))
        status = PERP_ERR_MEMORY;
    if (status == PERP_OK && model->plan->table && !mesh) status = read_guess(plan, diag);
    if (status == PERP_OK &&
        !perp__program_find_units(plan->program, plan->initial.w, plan->initial.p))
        status = PERP_ERR_MEMORY;
    if (status == PERP_OK && PERP_TAKE(&plan->arena, plan->again.seen,
                                       model->nitem[PERP_STATE] + model->nitem[PERP_PARAM]))
        perp__plan_look(plan);
    if (plan->arena.failed) status = PERP_ERR_MEMORY;
    if (status == PERP_OK && !mesh) status = perp__plan_create_coarse(plan);
    if (status == PERP_OK && !plan->coarse) status = perp__plan_create_easier(plan, diag);
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
    perp_plan_destroy(plan->coarse);
    perp_plan_destroy(plan->rough);
    for (int i = 0; i < plan->neasier; i++) perp_plan_destroy(plan->easier[i]);
    perp__ipm_destroy(plan->ipm);
    perp__program_destroy(plan->program);
    free(plan->attempt.made);
    perp__arena_clear(&plan->arena);
    perp_model_destroy(plan->own_model);
    free(plan);
}

int perp_plan_attempts(const perp_plan *plan)
{
    return plan->attempt.n;
}

perp_plan_attempt perp_plan_get_attempt(const perp_plan *plan, int i)
{
    perp_plan_attempt none = {"", PERP_PLAN_LIMIT, NAN, 0};
    return i >= 0 && i < plan->attempt.n ? plan->attempt.made[i] : none;
}

/* Rows ---------------------------------------------------------------------------------------- */

/* Steps of corners of the cost at which they are unknowns. */
static int lifted_steps(const perp__program *g)
{
    int n = 0;
    for (int i = 0; i < g->corner.n; i++) {
        size_t first = (size_t)g->corner.of[i].w * (size_t)g->K;
        for (size_t k = first; k < first + (size_t)g->K; k++)
            n += g->bound.wlo[k] < g->bound.whi[k];
    }
    return n;
}

perp_plan_size perp_plan_get_size(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    int lifted = lifted_steps(g); /* with two rows each; room for others is none of the program */
    return (perp_plan_size){g->K,
                            (g->nw - g->corner.most * g->npoint) * g->K + lifted + g->np,
                            (g->nrow - 2 * g->corner.n) * g->K + 2 * lifted,
                            g->npair * g->K,
                            (long)g->jac.n * g->K,
                            (long)g->hess.n * g->K};
}

int perp_plan_rows(const perp_plan *plan)
{
    return plan->program->K + 1;
}

int perp_plan_columns(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    return 2 + 2 * g->ns + plan->model->nvar + g->nu + plan->model->nitem[PERP_OUTPUT];
}

/* Column c as an item: its kind and index; PERP_SYMBOL_KINDS for t, residual (1) and costates (2 +
 * state). */
static perp_symbol_kind column_of(const perp_plan *plan, int c, int *index)
{
    const perp__program *g = plan->program;
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT, PERP_OUTPUT};
    int counts[] = {g->ns, plan->model->nvar, g->nu, plan->model->nitem[PERP_OUTPUT]};
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
    if (i == 0) return "t";
    if (i == 1) return "residual";
    return plan->costate_name[i - 2];
}

const char *perp_plan_column_unit(const perp_plan *plan, int column)
{
    int i;
    if (column < 0 || column >= perp_plan_columns(plan)) return NULL;
    perp_symbol_kind kind = column_of(plan, column, &i);
    if (kind < PERP_SYMBOL_KINDS) return plan->model->item[kind][i].unit;
    return i == 0 ? "s" : "";
}

/* A row at a point of the step before a node; node 0: at the start. */
static void row_at(const perp_plan *plan, int node, int point, double *row)
{
    const perp__program *g = plan->program;
    const perp_model *m = plan->model;
    int step = node > 0 ? node - 1 : 0, first = point * g->nb, c = 0,
        is_node = point == g->npoint - 1;
    size_t K = (size_t)g->K, k = (size_t)step;
    double h = perp__program_step(g, plan->p, step), start = perp__program_time(g, plan->p, step);
    perp__plan_row_symbols(g, plan->w, plan->p, node, point, plan->symbol, plan->value);
    row[c++] = node > 0 ? start + g->scheme.c[point] * h : start;
    for (int i = 0; i < g->ns; i++)
        row[c++] = node > 0 ? plan->w[(size_t)(first + i) * K + k]
                            : perp__program_pre(g, plan->w, plan->p, i, 0);
    for (int i = 0; i < m->nvar; i++)
        row[c++] = node > 0 ? plan->w[(size_t)(first + g->nx + i) * K + k] : (double)NAN;
    for (int i = 0; i < g->nu; i++)
        row[c++] = node == 0 && g->scheme.is_weighted
                       ? perp__program_pre(g, plan->w, plan->p, g->ns + i, 0)
                       : plan->w[(size_t)(first + g->nx + g->nv + g->nsplit + i) * K + k];
    for (int i = 0; i < m->nitem[PERP_OUTPUT]; i++)
        row[c++] = plan->value[m->item[PERP_OUTPUT][i].expr];
    row[c++] = node > 0 && is_node ? plan->residual[step] : (double)NAN;
    for (int i = 0; i < g->ns; i++)
        row[c++] = is_node ? plan->costate[(size_t)i * (K + 1) + (size_t)node] : (double)NAN;
}

void perp_plan_row(const perp_plan *plan, int node, double *row)
{
    row_at(plan, node, plan->program->npoint - 1, row);
}

int perp_plan_points(const perp_plan *plan)
{
    return perp_plan_holds_inputs(plan) ? 1 : plan->program->npoint;
}

void perp_plan_point_row(const perp_plan *plan, int step, int point, double *row)
{
    int behind = plan->program->npoint - perp_plan_points(plan);
    row_at(plan, step + 1, point + behind, row);
}

int perp_plan_holds_inputs(const perp_plan *plan)
{
    const perp__scheme *scheme = &plan->program->scheme;
    return plan->program->held || (scheme->npoint == 1 && !scheme->is_weighted);
}

int perp_plan_phases(const perp_plan *plan)
{
    return plan->program->phase.n;
}

perp_plan_phase perp_plan_get_phase(const perp_plan *plan, int i)
{
    const perp__program *g = plan->program;
    const perp__plan_block *b = plan->model->plan;
    perp_plan_phase phase = {.name = ""};
    if (i < 0 || i >= g->phase.n) return phase;
    if (g->phase.named) phase.name = b->phase[i].name;
    phase.first = g->phase.first[i];
    phase.last = g->phase.first[i + 1];
    phase.from = perp__program_time(g, plan->p, phase.first);
    phase.to = perp__program_time(g, plan->p, phase.last - 1) +
               perp__program_step(g, plan->p, phase.last - 1);
    for (int k = 0; k < b->nlink; k++) phase.is_linked |= b->link[k].phase == i;
    return phase;
}

perp_status perp_plan_phase_model(const perp_plan *plan, int i, perp_model **model, perp_diag *diag)
{
    if (!plan || !model || i < 0 || i >= plan->program->phase.n) return PERP_ERR_ARG;
    return perp__plan_phase_model(plan, plan->w, i, model, diag);
}

perp_status perp__plan_phase_model(const perp_plan *plan, const double *w, int i,
                                   perp_model **model, perp_diag *diag)
{
    const perp__program *g = plan->program;
    const perp_model *m = plan->model;
    const perp__plan_block *b = m->plan;
    perp_status status = perp__model_clone(m, model);
    perp__plan_begin_symbols(g, w, plan->p, i, plan->symbol, plan->value);
    for (int k = 0; k < g->param.n + b->nparam && status == PERP_OK; k++) {
        const perp__item *item =
            &m->item[PERP_PARAM][k < g->param.n ? g->param.item[k] : b->param[k - g->param.n].item];
        status = perp_model_set(*model, item->name, plan->symbol[item->symbol], diag);
    }
    for (int k = 0; k < g->ns && status == PERP_OK; k++) {
        const perp__item *item = &m->item[PERP_STATE][k];
        status = perp_model_set(*model, item->name, plan->symbol[item->symbol], diag);
    }
    if (status == PERP_OK) return PERP_OK;
    perp_model_destroy(*model);
    *model = NULL;
    return status;
}

const char *perp_plan_free_name(const perp_plan *plan, int i)
{
    const perp__program *g = plan->program;
    if (i < 0 || i >= g->param.n) return NULL;
    return plan->model->item[PERP_PARAM][g->param.item[i]].name;
}

double perp_plan_free_value(const perp_plan *plan, int i)
{
    return perp_plan_free_name(plan, i) ? plan->p[plan->program->param.p + i] : (double)NAN;
}
