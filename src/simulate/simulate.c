/* The public face of simulation: checks before the run, the loop, rows, and what to say when a step
 * has no solution. */

#include "base/tol.h"
#include "base/words.h"
#include "model/inspect.h"
#include "model/instant.h"
#include "simulate/adjoint.h"
#include "simulate/events.h"
#include "simulate/impacts.h"
#include "simulate/parts.h"
#include "simulate/stepping.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALVINGS = 10, EULER_PARTS = PERP__EULER_PARTS };

#define ROW(name, word, weighted, summary) {word, summary},
static const perp__word word_rows[] = {PERP_INTEGRATOR_LIST(ROW)};
#undef ROW
static const perp__words integrators = PERP_WORDS(word_rows);

PERP_WORD_FUNCTIONS(perp_integrator, perp_integrator, integrators)

static perp_simulation_options default_options(const perp_model *model)
{
    perp_simulation_options o = {.from = 0,
                                 .to = NAN,
                                 .step = NAN,
                                 .integrator = PERP_BACKWARD_EULER,
                                 .theta = 0.5,
                                 .solver = PERP_LCP_AUTO,
                                 .tol = PERP_TOL_STEP};
    if (!model) return o;
    perp_simulate_task task = perp_model_simulate_task(model);
    if (!isnan(task.from)) o.from = task.from;
    o.to = task.to;
    o.step = task.step;
    if (task.method) o.integrator = perp_integrator_find(task.method);
    return o;
}

void perp_simulation_options_fill(perp_simulation_options *options, size_t size,
                                  const perp_model *model)
{
    perp_simulation_options own = default_options(model);
    perp__options_give(options, size, &own, sizeof own);
}

/* Checks before the run ----------------------------------------------------------------------- */

long perp__whole_steps(double from, double to, double step)
{
    double n = (to - from) / step;
    return (long)floor(n * (1 + PERP_TOL_SAME) + PERP_TOL_WHOLE);
}

static perp_status check_options(const perp_model *model, const perp_simulation_options *o,
                                 perp_diag *diag)
{
    const char *file = model->source.name;
    const char *wrong = NULL;
    perp__place place = perp__said_place(&model->source, model->method);
    if ((unsigned)o->integrator >= PERP_INTEGRATOR_COUNT)
        return perp__refuse_word(diag, PERP_ERR_ARG, place, "method", model->method.text,
                                 &integrators);
    const char *method = perp_integrator_name(o->integrator);
    perp_status status = perp__check_steps(model, model->method, method, o->accuracy, diag);
    if (status != PERP_OK) return status;
    if (isnan(o->to))
        wrong =
            model->plan
                ? "no end time: this model has a plan block, which perp plan solves; to step it "
                  "with an input, give --to and --step"
                : "no end time: add 'simulate to 5 step 1e-3' to the model, or give --to";
    else if (isnan(o->step))
        wrong = "no step: add 'simulate to 5 step 1e-3' to the model, or give --step";
    else if (!(o->step > 0) || !isfinite(o->step))
        wrong = "the step must be a positive number";
    else if (!isfinite(o->from) || !isfinite(o->to) || o->to < o->from)
        wrong = "the end time must not be before the start";
    else if ((o->to - o->from) / o->step >
             ((double)LONG_MAX < 1e15 ? 1e9 : 1e15)) /* a long has 32 bits in places */
        wrong = (double)LONG_MAX < 1e15 ? "more than 1e9 steps" : "more than 1e15 steps";
    else if (o->to > o->from && (o->from + o->step == o->from || o->to - o->step == o->to))
        wrong = "the step is lost in the rounding of times as large as these";
    else if (o->to > o->from && perp__whole_steps(o->from, o->to, o->step) == 0)
        wrong = "the step is longer than the run";
    else if (!(o->tol > 0))
        wrong = "the tolerance must be positive";
    else if ((unsigned)o->jit >= PERP_JIT_COUNT)
        wrong = "jit must be one of perp_jit";
    else if (!(o->accuracy >= 0) || o->accuracy >= 1)
        wrong = "the accuracy must be from 0, for whole steps, to below 1";
    else if (!(o->theta >= 0.5 && o->theta <= 1))
        wrong = "theta must be from 0.5 to 1";
    else if ((o->ninput > 0 && !o->input) || (o->nparameter > 0 && !o->parameter))
        wrong = "inputs or parameters that may be set are counted, but not named";
    if (!wrong) return PERP_OK;
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(file), "%s\n", wrong);
}

/* Does the run read an input at its very start? */
static int uses_start(const perp_model *model, int input)
{
    int symbol = model->item[PERP_INPUT][input].symbol + PERP__INPUT_PRE;
    for (int i = 0; i < model->graph.count; i++) {
        if (model->graph.node[i].op == PERP__SYMBOL && model->graph.node[i].a == symbol) return 1;
    }
    return 0;
}

static perp_status check_inputs(const perp_simulation *sim, perp_diag *diag)
{
    const perp_model *m = sim->model;
    const perp_simulation_options *o = &sim->options;
    perp_status status = PERP_OK;
    double first = o->from + o->step, last = o->from + (double)sim->nstep * o->step;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        const perp__table *table = &item->table;
        int hint = 0;
        if (sim->driven.slot[i] >= 0) continue; /* the steps will tell */
        if (table->n == 0 && item->expr < 0)
            status = perp__refuse(diag, PERP_ERR_DATA, perp__source_place(&m->source, item->at),
                                  "input '%s' has no value; write 'input %s = expression of "
                                  "t', or give --input %s=file.csv%s\n",
                                  item->name, item->name, item->name,
                                  m->plan ? ", such as perp plan -o writes" : "");
        else if (table->n > 0 && sim->nstep > 0 &&
                 (isnan(perp__table_value(table, uses_start(m, i) ? o->from : first, &hint)) ||
                  isnan(perp__table_value(table, last, &hint))))
            status = perp__refuse(
                diag, PERP_ERR_DATA, perp__in(table->name),
                "input '%s' goes from t = %g to %g, but the run needs it from %g to %g\n",
                item->name, table->time[0], table->time[table->n - 1],
                uses_start(m, i) ? o->from : first, last);
    }
    return status;
}

static void say_bad_input(const perp_model *m, int input, double x, double t, long step,
                          perp_diag *diag)
{
    perp__refuse(diag, PERP_ERR_DATA, perp__in(m->source.name),
                 "input '%s' is %s at t = %g (step %ld)\n", m->item[PERP_INPUT][input].name,
                 isnan(x) ? "not a number" : "infinite", t, step);
}

/* Inputs come from their tables. */
static double initial_value(const void *context, perp_symbol_kind kind, int i, int is_before)
{
    const perp_model *m = context;
    (void)is_before;
    return kind == PERP_STATE ? m->item[PERP_STATE][i].value : (double)NAN;
}

void perp__run_initial_symbols(const perp_simulation *sim, double *symbol)
{
    const perp_model *m = sim->model;
    const perp_simulation_options *o = &sim->options;
    perp__numbers from = {o->from, o->from, o->step, 1, initial_value, NULL, m};
    for (int s = 0; s < m->nsymbol; s++) symbol[s] = NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    perp__put_numbers(m, &from, PERP__AT_START, symbol);
}

/* What an input is at all times; NaN: that changes. */
static double constant_of(const perp_model *m, int input)
{
    perp_expr e = m->item[PERP_INPUT][input].expr;
    const perp__node *node = e < 0 ? NULL : &m->graph.node[e];
    return node && node->op == PERP__CONST ? node->value : (double)NAN;
}

/* Does only the caller say what this input is? Where events are located a function of time is not
 * taken in the place of what may be set. */
static int is_open(const perp_simulation *sim, int input)
{
    const perp__item *item = &sim->model->item[PERP_INPUT][input];
    int is_function = item->expr >= 0 && !(sim->events && isnan(constant_of(sim->model, input)));
    return sim->driven.slot[input] >= 0 && item->table.n == 0 && !is_function;
}

int perp__run_open_input(const perp_simulation *sim)
{
    for (int i = 0; i < sim->model->nitem[PERP_INPUT]; i++)
        if (is_open(sim, i) && isnan(sim->driven.held[sim->driven.slot[i]])) return i;
    return -1;
}

/* Symbols of the model as known at the first step: parameters, initial states, inputs and t at its
 * end. */
static perp_status initial_symbols(const perp_simulation *sim, double *symbol, double *value,
                                   perp_diag *diag)
{
    const perp_model *m = sim->model;
    const perp_simulation_options *o = &sim->options;
    perp_status status = PERP_OK;
    perp__run_initial_symbols(sim, symbol);
    perp__put_inputs(m, o->from, PERP__INPUT_PRE, symbol, value);
    perp__put_inputs(m, o->from + o->step, PERP__NOW, symbol, value);
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        double x = symbol[m->item[PERP_INPUT][i].symbol + PERP__NOW];
        if (isfinite(x) || sim->nstep == 0 || is_open(sim, i)) continue;
        say_bad_input(m, i, x, o->from + o->step, 1, diag);
        status = PERP_ERR_DATA;
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        const perp__item *item = &m->item[PERP_STATE][i];
        if (isfinite(item->value)) continue;
        status = perp__refuse(diag, PERP_ERR_MODEL, perp__source_place(&m->source, item->at),
                              "the initial value of '%s' is %s\n", item->name,
                              isnan(item->value) ? "not a number" : "infinite");
    }
    return status;
}

static void report_node(const perp_model *model, int node, const char *when, perp_diag *diag)
{
    perp__source source = model->source;
    source.message = NULL;
    source.nmessage = source.capacity = source.nerror = 0;
    int at = model->graph.node[node].source;
    const char *fault = perp__op_fault(model->graph.node[node].op);
    perp__error(&source, at < 0 ? 0 : at, at, "%s %s", fault ? fault : "the result is too large",
                when);
    perp__source_report(&source, diag);
    perp__source_clear(&source);
}

/* A condition or guard that has no value at the initial state is a fault of the model. */
static perp_status check_initial_state(const perp_simulation *sim, perp_diag *diag)
{
    const perp_model *m = sim->model;
    int n;
    perp_expr *roots = perp__condition_roots(m, &n);
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol),
           *value = malloc((size_t)m->graph.count * sizeof *value);
    perp_status status = PERP_ERR_MEMORY;
    if (!roots || !symbol || !value) goto done;
    status = initial_symbols(sim, symbol, value, diag);
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++)
        if (is_open(sim, i)) goto done;
    if (status != PERP_OK) goto done;
    int node = perp__graph_not_finite(&m->graph, roots, n, symbol);
    if (node == -2) status = PERP_ERR_MEMORY;
    if (node >= 0) {
        report_node(m, node, "at the initial state", diag);
        status = PERP_ERR_MODEL;
    }
done:
    free(roots);
    free(symbol);
    free(value);
    return status;
}

/* Time and symbols ---------------------------------------------------------------------------- */

/* What the caller set input k of the tables to, on the way there. */
static double held_at(const perp__driven *driven, int k, double t)
{
    double share = (t - driven->begin) / (driven->end - driven->begin);
    if (t == driven->end || isnan(driven->from[k])) return driven->held[k];
    return driven->from[k] + share * (driven->held[k] - driven->from[k]);
}

/* The place among those that were set; -1: it was not. */
static int place_of(const perp__driven *driven, int input)
{
    int k = driven ? driven->slot[input] : -1;
    return k >= 0 && !isnan(driven->held[k]) ? k : -1;
}

double perp__driven_value(const perp__driven *driven, const perp_model *m, int input, double t,
                          int *hint)
{
    const perp__table *table = &m->item[PERP_INPUT][input].table;
    int k = place_of(driven, input);
    if (k >= 0) return held_at(driven, k, t);
    return table->n > 0 ? perp__table_value(table, t, hint) : constant_of(m, input);
}

double perp__driven_slope(const perp__driven *driven, const perp_model *m, int input, double t,
                          int *hint)
{
    int k = place_of(driven, input);
    const perp__table *table = &m->item[PERP_INPUT][input].table;
    if (k < 0) return table->n > 0 ? perp__table_slope(table, t, hint) : 0;
    double rise = driven->held[k] - driven->from[k];
    return isnan(rise) ? 0 : rise / (driven->end - driven->begin);
}

int perp__run_follows(const perp_simulation *sim)
{
    int follows = 0;
    for (int k = 0; k < sim->step.layout->table.n; k++)
        follows |= sim->step.layout->table.formula[k] >= 0 && isnan(sim->driven.held[k]);
    return follows;
}

/* Inputs that are tables, or set. */
static void put_inputs(perp_simulation *sim, double t0, double t1)
{
    perp__step *s = &sim->step;
    double *before = s->ws + s->layout->sym.table_pre, *now = s->ws + s->layout->sym.table;
    if (perp__run_follows(sim)) perp__tape_eval(&s->layout->table.tape, s->ws);
    for (int k = 0; k < s->layout->table.n; k++) {
        const perp__table *table = &sim->model->item[PERP_INPUT][s->layout->table.input[k]].table;
        const int *formula = s->layout->table.tape.out + s->layout->table.formula[k];
        if (!isnan(sim->driven.held[k])) {
            before[k] = held_at(&sim->driven, k, t0);
            now[k] = held_at(&sim->driven, k, t1);
        } else if (s->layout->table.formula[k] >= 0) {
            now[k] = s->ws[formula[0]];
            before[k] = s->ws[formula[1]];
        } else if (table->n > 0) {
            before[k] = perp__table_value(table, t0, &s->cache.hint[k]);
            now[k] = perp__table_value(table, t1, &s->cache.hint[k]);
        } else {
            before[k] = now[k] = (double)NAN;
        }
    }
}

/* What the last steps moved. */
static void note_move(perp_simulation *sim, double h)
{
    perp__step *s = &sim->step;
    const double *y = s->ws + s->layout->sym.y, *pre = s->ws + s->layout->sym.pre;
    if (!s->layout->nonlinear || s->layout->np > 0) return; /* nothing is guessed */
    int is_like = s->ws[SYM_H] == h && !sim->is_moved;
    int moves = is_like && sim->done > 0 ? s->state.moves + (s->state.moves < PERP__MOVES) : 0;
    for (int j = 0; j < s->layout->nx; j++) {
        double difference = moves > 0 && isfinite(pre[j]) ? y[j] - pre[j] : 0;
        for (int k = 0; k < PERP__MOVES; k++) {
            double *move = &s->state.move[k * s->layout->nx + j], before = *move;
            *move = k < moves ? difference : 0;
            difference -= before;
        }
    }
    s->state.moves = moves;
}

void perp__run_begin_step(perp_simulation *sim, double t0, double t1, double h)
{
    perp__step *s = &sim->step;
    double *ws = s->ws;
    note_move(sim, h);
    memcpy(ws + s->layout->sym.pre, ws + s->layout->sym.y, (size_t)s->layout->nx * sizeof(double));
    ws[SYM_T] = t1;
    ws[SYM_T_PRE] = t0;
    if (!s->layout->nonlinear && h != s->h) {
        s->h = h;
        perp__step_revalue(s);
    }
    ws[SYM_H] = h;
    ws[SYM_THETA] = s->state.are_closed ? 1 : s->layout->scheme.theta;
    if (s->layout->table.n) put_inputs(sim, t0, t1);
}

void perp__run_set_initial(perp_simulation *sim)
{
    perp__step *s = &sim->step;
    for (int i = 1; i < s->layout->sym.n; i++) s->ws[i] = NAN;
    s->ws[0] = sim->start;
    for (int i = 0; i < s->layout->nx; i++) s->ws[s->layout->sym.y + i] = sim->initial[i];
    if (s->layout->table.n) put_inputs(sim, sim->start, sim->start);
    for (int k = 0; k < s->layout->table.n; k++) s->ws[s->layout->sym.table_pre + k] = NAN;
}

void perp__run_restart(perp_simulation *sim, double from, long steps)
{
    sim->start = from;
    sim->nstep = steps;
    sim->done = sim->since = 0;
    sim->is_moved = sim->was_moved = 0;
    sim->residual = NAN;
    perp__step_forget(&sim->step);
    perp__run_set_initial(sim);
    perp__events_restart(sim->events);
    perp__parts_restart(sim);
    perp__impacts_restart(sim);
    if (sim->sensitivity) perp__sensitivity_restart(sim->sensitivity);
}

void perp__simulation_restart(perp_simulation *sim, double from, long steps)
{
    for (int i = 0; i < sim->step.layout->nx; i++)
        sim->initial[i] = sim->model->item[PERP_STATE][i].value;
    sim->options.from = from;
    perp__run_restart(sim, from, steps);
}

/* Creation ------------------------------------------------------------------------------------ */

static void say_pair(const perp_model *m, int pair, perp_diag *diag)
{
    perp_statement s = perp_model_pair(m, pair);
    perp__diag_append(diag, "  %s:%d: %s\n", s.file, s.line, s.text);
}

/* The step problem at the initial state must have a set of complementary variables. */
static perp_status check_sides(perp_simulation *sim, perp_diag *diag)
{
    perp__step *s = &sim->step;
    const perp_model *m = sim->model;
    int bad_row;
    if (sim->nstep == 0 || s->layout->nonlinear || !s->cache.A || perp__run_open_input(sim) >= 0)
        return PERP_OK; /* the steps will tell */
    perp__run_begin_step(sim, sim->options.from, perp__run_time(sim, 1), sim->options.step);
    perp__elimination *e = perp__step_prepare(s, 0, &bad_row);
    perp__run_set_initial(sim);
    if (e) return PERP_OK;
    if (s->cache.out_of_memory) return PERP_ERR_MEMORY;
    if (bad_row >= 0 && bad_row < s->layout->nown) {
        perp_statement q = perp_model_equation(m, s->layout->marks.equation[bad_row]);
        perp__refuse(diag, PERP_ERR_MODEL, (perp__place){q.file, q.line, q.column},
                     "this equation depends on the others, so a step is not determined: %s\n",
                     q.text);
    } else {
        perp__refuse(diag, PERP_ERR_MODEL, perp__in(m->source.name),
                     "a step is singular: the equations and one side of each pair do not "
                     "determine the unknowns. These pairs cannot be placed:\n");
        int last = -1;
        for (int p = 0; p < s->layout->np; p++) {
            int listed = s->cache.newton.bad[p] || s->layout->pair[p].off == bad_row;
            if (listed && s->layout->pair[p].of != last)
                say_pair(m, last = s->layout->pair[p].of, diag);
        }
    }
    return PERP_ERR_MODEL;
}

int perp__run_name_columns(perp_simulation *sim)
{
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT, PERP_OUTPUT};
    const perp_model *m = sim->model;
    int n = 2, k = 0;
    for (int kind = 0; kind < 4; kind++) n += perp_model_count(m, kinds[kind]);
    sim->column_name = malloc((size_t)n * sizeof(char *));
    sim->column_unit = malloc((size_t)n * sizeof(char *));
    sim->row = malloc((size_t)n * sizeof(double));
    if (!sim->column_name || !sim->column_unit || !sim->row) return 0;
    sim->column_name[k] = "t";
    sim->column_unit[k++] = "s";
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < perp_model_count(m, kinds[kind]); i++) {
            sim->column_name[k] = m->item[kinds[kind]][i].name;
            sim->column_unit[k++] = m->item[kinds[kind]][i].unit;
        }
    }
    sim->column_name[k] = "residual";
    sim->column_unit[k++] = "";
    sim->ncolumn = k;
    return 1;
}

perp_status perp__run_allocate(perp_simulation *sim)
{
    const perp__step *s = &sim->step;
    size_t nt = (size_t)s->layout->table.n;
    sim->before = malloc(2 * (size_t)s->layout->sym.n * sizeof(double));
    sim->initial =
        malloc(((size_t)s->layout->nx + (size_t)s->layout->sym.varied.n + 1) * sizeof(double));
    sim->driven.held = malloc((2 * nt + 1) * sizeof(double));
    if (!sim->before || !sim->initial || !sim->driven.held) return PERP_ERR_MEMORY;
    sim->beginning = sim->before + s->layout->sym.n;
    sim->driven.from = sim->driven.held + nt;
    for (int k = 0; k < s->layout->table.n; k++) {
        sim->driven.held[k] = sim->driven.from[k] = (double)NAN;
        if (s->layout->table.is_set[k]) sim->driven.slot[s->layout->table.input[k]] = k;
    }
    return perp__impulses_create(sim) && perp__impacts_create(sim) ? PERP_OK : PERP_ERR_MEMORY;
}

/* Points of a method that locates events are judged as steps of backward Euler. */
static perp_status make_step(perp_simulation *sim, const perp__changes *changes, perp_diag *diag)
{
    perp_simulation_options o = sim->options;
    int has_events = perp__events_wanted(sim->model, o.integrator);
    if (has_events) o.integrator = PERP_BACKWARD_EULER;
    perp_status status = perp__step_create(&sim->step, sim->model, &o, changes, diag);
    if (status != PERP_OK || !has_events) return status;
    return perp__events_create(sim->model, &sim->options, changes, &sim->driven, &sim->events,
                               diag);
}

/* The checks before the run, then the step problem; whose sides were found for another step where
 * it is_like that. */
static perp_status prepare(perp_simulation *sim, int is_like, perp_diag *diag)
{
    const perp_model *m = sim->model;
    perp__changes changes;
    int *list = NULL;
    sim->sides = calloc((size_t)m->npair + 1, sizeof *sim->sides);
    sim->driven.slot = malloc(((size_t)m->nitem[PERP_INPUT] + 1) * sizeof(int));
    if (!sim->sides || !sim->driven.slot || !perp__run_name_columns(sim)) return PERP_ERR_MEMORY;
    perp_status status = perp__run_find_changes(sim, &changes, &list, diag);
    if (status == PERP_OK) status = check_inputs(sim, diag);
    if (status == PERP_OK) status = check_initial_state(sim, diag);
    if (status == PERP_OK) status = make_step(sim, &changes, diag);
    if (status == PERP_OK) status = perp__run_allocate(sim);
    free(list);
    if (status != PERP_OK) return status;
    for (int i = 0; i < sim->step.layout->nx; i++) sim->initial[i] = m->item[PERP_STATE][i].value;
    memcpy(sim->initial + sim->step.layout->nx,
           sim->step.ws + perp__step_parameter(sim->step.layout, 0),
           (size_t)sim->step.layout->sym.varied.n * sizeof(double));
    perp__run_set_initial(sim);
    perp__events_report(sim->events, sim->impacts);
    status = perp__parts_create(sim);
    return status == PERP_OK && !is_like ? check_sides(sim, diag) : status;
}

/* Does a run take less time than gcc? That takes 0.2 ms an instruction, against 1 ns in each of
 * some 3 evaluations a step. The run decides: problems within it have shorter steps. */
static int is_short(const perp_simulation_options *o)
{
    enum { SHORT_RUN = 100000 };
    return (o->to - o->from) / o->step < SHORT_RUN;
}

static perp_status create(const perp_model *model, const perp_simulation_options *options,
                          int is_like, perp_simulation **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!model) return PERP_ERR_ARG;
    perp_simulation_options o = default_options(model);
    if (!perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if (isnan(o.to)) o.to = default_options(model).to; /* had there been memory */
    if (isnan(o.step)) o.step = default_options(model).step;
    perp_status status = check_options(model, &o, diag);
    if (status != PERP_OK) return status;
    if (o.jit == PERP_JIT_AUTO && is_short(&o)) o.jit = PERP_JIT_OFF;
    perp_simulation *sim = calloc(1, sizeof *sim);
    if (!sim) return perp__out_of_memory(diag, model->source.name);
    sim->model = model;
    sim->options = o;
    sim->start = o.from;
    sim->nstep = perp__whole_steps(o.from, o.to, o.step);
    sim->residual = NAN;
    status = prepare(sim, is_like, diag);
    sim->options.input = sim->options.parameter = NULL; /* the caller's */
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, model->source.name);
    if (status != PERP_OK) {
        perp_simulation_destroy(sim);
        return status;
    }
    *out = sim;
    return PERP_OK;
}

perp_status perp_simulation_create(const perp_model *model, const perp_simulation_options *options,
                                   perp_simulation **out, perp_diag *diag)
{
    return create(model, options, 0, out, diag);
}

perp_status perp__simulation_create_like(const perp_simulation *sim,
                                         const perp_simulation_options *options,
                                         perp_simulation **out, perp_diag *diag)
{
    return create(sim->model, options, 1, out, diag);
}

perp_status perp__simulation_revalue(perp_simulation *sim, double from, long steps, perp_diag *diag)
{
    perp__step_take_parameters(&sim->step);
    perp__step_revalue(&sim->step);
    perp__sensitivity_revalue(sim->sensitivity);
    perp__simulation_restart(sim, from, steps);
    perp_status status = check_inputs(sim, diag);
    if (status == PERP_OK) status = check_initial_state(sim, diag);
    if (status == PERP_OK) status = check_sides(sim, diag);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, sim->model->source.name) : status;
}

void perp_simulation_destroy(perp_simulation *sim)
{
    if (!sim) return;
    perp__sensitivity_destroy(sim->sensitivity);
    perp__events_destroy(sim->events);
    perp__parts_destroy(sim->parts);
    perp__impulses_destroy(sim->impulses);
    perp__impacts_destroy(sim->impacts);
    perp__step_clear(&sim->step);
    free(sim->before);
    free(sim->initial);
    free(sim->driven.slot);
    free(sim->driven.held);
    free(sim->sides);
    free(sim->column_name);
    free(sim->column_unit);
    free(sim->row);
    free(sim);
}

const char *perp_simulation_compiler(const perp_simulation *sim)
{
    return sim ? perp__step_compiler(&sim->step) : NULL;
}

long perp_simulation_steps(const perp_simulation *sim)
{
    return sim->nstep;
}

perp_integrator perp_simulation_method(const perp_simulation *sim)
{
    return sim ? sim->options.integrator : PERP_INTEGRATOR_COUNT;
}

long perp_simulation_fallback_steps(const perp_simulation *sim, perp_diag *diag)
{
    return sim && sim->events ? perp__events_say_left(sim, diag) : 0;
}

/* When a step fails --------------------------------------------------------------------------- */

static int is_held(const perp_simulation *sim, int input)
{
    int k = sim->driven.slot[input];
    return k >= 0 && !isnan(sim->driven.held[k]);
}

/* An input that is not finite at the step's end, or start if the model asks for it. */
static int bad_input(const perp_simulation *sim, double *x)
{
    const perp_model *m = sim->model;
    const perp__step *s = &sim->step;
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol),
           *value = malloc((size_t)m->graph.count * sizeof *value);
    int found = -1;
    for (int i = 0; symbol && i < m->nsymbol; i++) symbol[i] = NAN;
    for (int i = 0; symbol && i < m->nitem[PERP_PARAM]; i++)
        symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    for (int k = 0; k < s->layout->sym.varied.n; k++)
        symbol[m->item[PERP_PARAM][s->layout->sym.varied.param[k]].symbol] =
            s->ws[perp__step_parameter(s->layout, k)];
    for (int when = 0; symbol && value && when < 2 && found < 0; when++) {
        symbol[PERP__SYM_T] = s->ws[when];
        perp__graph_values(&m->graph, symbol, value);
        for (int i = 0; i < m->nitem[PERP_INPUT] && found < 0; i++) {
            const perp__item *item = &m->item[PERP_INPUT][i];
            if (item->expr < 0 || (when == 1 && !uses_start(m, i)) || is_held(sim, i)) continue;
            *x = value[item->expr];
            if (!isfinite(*x)) found = i;
        }
    }
    free(symbol);
    free(value);
    return found;
}

/* The pairs that a certificate or ray speaks of. */
static void say_pairs_at_fault(const perp_simulation *sim, const perp__step_result *r,
                               perp_diag *diag)
{
    const perp__step *s = &sim->step;
    double largest = 0;
    int last = -1;
    if (!r->certificate) return;
    for (int i = 0; i < r->elimination->nz; i++) largest = fmax(largest, fabs(r->certificate[i]));
    perp__diag_append(diag, r->outcome == PERP_INFEASIBLE || r->fault == PERP__LINEARISED
                                ? "these pairs cannot hold together with the equations:\n"
                                : "the ray goes along these pairs:\n");
    for (int i = 0; i < r->elimination->nz; i++) {
        int pair = s->layout->pair[r->elimination->pair[i]].of;
        if (fabs(r->certificate[i]) <= PERP_TOL_NAMED * largest || pair == last) continue;
        say_pair(sim->model, last = pair, diag);
    }
}

/* The model's condition that a row belongs to, equations first, then pairs; -1: it is of none. */
static int condition_of(const perp__step *s, int row)
{
    const perp__layout *l = s->layout;
    int neq = s->model->nequation;
    for (int p = 0; p < l->np && row >= neq; p++) {
        const perp__rows *pair = &l->pair[p];
        if (pair->a == row || pair->b == row || pair->off == row) return neq + pair->of;
    }
    for (int c = 0; c < l->ncone && row >= neq; c++)
        if (row >= l->cone[c].row && row < l->cone[c].row + 5) return l->cone[c].equation;
    return row < neq ? row : -1;
}

static void say_statement(const perp_model *m, int condition, perp_diag *diag)
{
    perp_statement s = condition < m->nequation ? perp_model_equation(m, condition)
                                                : perp_model_pair(m, condition - m->nequation);
    perp__diag_append(diag, "  %s:%d: %s", s.file, s.line, s.text);
}

/* The first condition with a coefficient that is no number, where the step was linearised last. */
static void say_not_finite(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    const perp__step *s = &sim->step;
    (void)r;
    for (int row = 0; row < s->layout->nrow; row++) {
        int ok = isfinite(s->cache.c[row]), condition = condition_of(s, row);
        for (int e = s->layout->row_start[row]; e < s->layout->row_start[row + 1]; e++)
            ok &= isfinite(s->state.slopes.value[e]);
        if (ok || condition < 0) continue;
        say_statement(sim->model, condition, diag);
        perp__diag_append(diag, "\n");
        return;
    }
}

static void say_worst(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    const perp_model *m = sim->model;
    if (r->worst < 0) {
        perp__diag_append(diag, "  a linear system whose rounding is too large\n");
        return;
    }
    say_statement(m, r->worst, diag);
    perp__diag_append(diag, "  (off by %g)\n", r->off);
}

/* Offers a power of ten. */
static void say_unscaled(const perp__step_result *r, perp_diag *diag)
{
    if (!r->unscaled) return;
    perp__diag_append(diag,
                      "all its terms vanish with '%s', and nothing says how small that must be to "
                      "count as 0; a scale in its declaration does, such as 'scale %g'\n",
                      r->unscaled, pow(10, ceil(log10(r->scale))));
}

/* How often a step that fails may be halved. */
static int halvings(const perp_simulation *sim)
{
    return perp__step_has_halves(&sim->step) ? HALVINGS - sim->fewer : 0;
}

static void say_diverged(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    if (halvings(sim)) perp__diag_append(diag, ", also not with steps of h/%d", 1 << halvings(sim));
    perp__diag_append(diag, "; the condition furthest off is\n");
    say_worst(sim, r, diag);
    say_unscaled(r, diag);
    int jump = perp__find_jump(sim->model);
    if (jump >= 0)
        perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__source_place(&sim->model->source, jump),
                     PERP__JUMP_CURE "\n");
}

static void say_unverified(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    perp__diag_append(diag, "what %s gave does not hold; furthest off is\n",
                      perp_lcp_method_name(sim->options.solver));
    say_worst(sim, r, diag);
}

/* What would be so large, and the data, in its unit. */
static void say_grown(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    const perp__item *item = perp__step_grown(&sim->step);
    const perp__sizes *sizes = &sim->step.cache.sizes;
    (void)r;
    if (item) {
        const char *unit = item->unit ? item->unit : "";
        perp__diag_append(diag, ": '%s' would be %.3g%s%s, beside data of size %.3g", item->name,
                          sizes->grown_to, *unit ? " " : "", unit, sizes->beside);
    }
    perp__diag_append(diag, "\n");
}

static void say_outcome(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    perp__diag_append(diag, "%s ended with '%s', %s%s", perp_lcp_method_name(sim->options.solver),
                      perp_outcome_name(r->outcome), perp_outcome_message(r->outcome),
                      r->certificate ? "; " : "\n");
    say_pairs_at_fault(sim, r, diag);
}

/* The words for a fault: "WHAT at step ..: WHY", and more. */
static const struct {
    const char *what, *why;
    void (*say_more)(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag);
} faults[] = {
    [PERP__FINE] = {"no solution", "", say_outcome},
    [PERP__NOT_FINITE] = {"no solution",
                          "a coefficient is not a number (division by zero, a function outside "
                          "its domain, or at its edge, where it has no derivative), in\n",
                          say_not_finite},
    [PERP__SINGULAR] = {"no solution found",
                        "the step is singular, the equations and the sides of the pairs that were "
                        "tried do not determine the unknowns (contacts that say the same thing "
                        "twice do this); nothing is proved\n",
                        NULL},
    [PERP__NO_ANSWER] = {"no solution", "", say_outcome},
    [PERP__DIVERGED] = {"no solution", "Newton's iteration does not converge", say_diverged},
    [PERP__UNVERIFIED] = {"no verified solution", "", say_unverified},
    [PERP__UNDECIDED] = {"no verified solution",
                         "the conditions hold only with numbers so large beside their data that "
                         "rounding decides; the system is singular or nearly so there",
                         say_grown},
    [PERP__UNRESOLVED] = {"no solution of the accuracy asked for",
                          "parts of 1e-9 of the step follow one another, each with too large an "
                          "error or ended by an event, and make no progress; a run without an "
                          "accuracy may pass\n",
                          NULL},
    [PERP__LINEARISED] = {"no solution found",
                          "Newton's iteration ends where the linearised conditions have no "
                          "solution, which proves nothing of the conditions themselves; ",
                          say_pairs_at_fault}};

static perp_status say_open(const perp_simulation *sim, int input, perp_diag *diag)
{
    const perp__item *item = &sim->model->item[PERP_INPUT][input];
    return perp__refuse(diag, PERP_ERR_DATA, perp__in(sim->model->source.name),
                        "input '%s' has no value at t = %g (step %ld): %s, and none was set\n",
                        item->name, sim->driven.end, sim->done + 1,
                        item->expr < 0 ? "the model gives none"
                                       : "a method that locates events takes no function of time "
                                         "for an input that may be set");
}

static perp_status explain(const perp_simulation *sim, const perp__step_result *r, perp_diag *diag)
{
    const perp_model *m = sim->model;
    long k = sim->done + 1;
    double t = sim->driven.end, x;
    if (sim->step.cache.out_of_memory) return perp__out_of_memory(diag, m->source.name);
    int open = perp__run_open_input(sim);
    if (open >= 0) return say_open(sim, open, diag);
    int input = r->fault == PERP__NOT_FINITE ? bad_input(sim, &x) : -1;
    if (input >= 0) {
        say_bad_input(m, input, x, t, k, diag);
        return PERP_ERR_DATA;
    }
    if (r->fault == PERP__BELOW_RESOLUTION)
        return perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(m->source.name),
                            "the step %g is below the resolution of the states: none changes in "
                            "it, although their rates are not 0; take a longer step\n",
                            sim->options.step);
    perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(m->source.name),
                 "%s at step %ld (t = %g): %s", faults[r->fault].what, k, t, faults[r->fault].why);
    if (faults[r->fault].say_more) faults[r->fault].say_more(sim, r, diag);
    return PERP_ERR_NO_SOLUTION;
}

/* Stepping ------------------------------------------------------------------------------------ */

static void count_sides(perp_simulation *sim)
{
    for (int i = 0; i < sim->model->npair; i++) sim->sides[i][(int)sim->step.state.side_now[i]]++;
}

int perp__run_is_stopped(perp_simulation *sim)
{
    const perp_simulation_options *o = &sim->options;
    if (!sim->is_stopped && o->stop && o->stop(o->stop_context)) sim->is_stopped = 1;
    if (sim->most_work > 0 && perp__run_work(sim) > sim->most_work) sim->is_stopped = 1;
    return sim->is_stopped;
}

/* Solves the step whose beginning is in the workspace. A step that begins or ends in a contact
 * stated by positions is taken with theta = 1 for these positions: the contact is plastic, and its
 * next step at rest. */
static perp__step_result solve_step(perp_simulation *sim)
{
    perp__step *s = &sim->step;
    if (s->layout->gaps.n == 0) return perp__step_solve(s);
    size_t symbols = perp__step_symbols(s);
    memcpy(sim->beginning, s->ws, symbols);
    perp__step_result r = perp__step_solve(s);
    if (r.outcome == PERP_SOLVED && !s->state.are_closed && perp__contacts_closed(s)) {
        int solves = r.solves;
        memcpy(s->ws, sim->beginning, symbols);
        s->ws[SYM_THETA] = 1;
        r = perp__step_solve(s);
        r.solves += solves;
    }
    if (r.outcome == PERP_SOLVED) s->state.are_closed = perp__contacts_closed(s);
    return r;
}

/* From t0 to t1. A step that fails is taken as two halves, so often at most. */
static perp__step_result advance(perp_simulation *sim, double t0, double t1, double h, int most)
{
    perp__run_begin_step(sim, t0, t1, h);
    perp__step_result r = solve_step(sim);
    if (r.outcome == PERP_SOLVED && sim->sensitivity) perp__sensitivity_advance(sim->sensitivity);
    if (r.outcome == PERP_SOLVED && sim->course) perp__course_note(sim);
    if (r.outcome == PERP_SOLVED && sim->impulses) perp__impulses_add(sim, h);
    if (r.outcome == PERP_SOLVED) perp__impacts_note_step(sim, h);
    if (r.outcome == PERP_SOLVED || most == 0 || perp__run_is_stopped(sim)) return r;
    sim->is_divided = 1;
    double middle = t0 + h / 2;
    int solves = r.solves;
    r = advance(sim, t0, middle, h / 2, most - 1);
    solves += r.solves;
    if (r.outcome == PERP_SOLVED) {
        r = advance(sim, middle, t1, h / 2, most - 1);
        solves += r.solves;
    }
    r.solves = solves;
    return r;
}

/* From t0 to t1 through the events on the way; where the method cannot pass them, by parts of
 * backward Euler. */
static perp__step_result advance_through_events(perp_simulation *sim, double t0, double t1)
{
    perp__step_result sum = {.outcome = PERP_SOLVED};
    size_t symbols = perp__step_symbols(&sim->step);
    double trial = perp__events_work(sim->events), before = sim->step.state.count.work;
    memcpy(sim->beginning, sim->step.ws, symbols);
    int is_tried = !perp__events_wait(sim->events);
    perp__impacts_keep(sim, PERP__IMPACTS_EVENTS);
    if (is_tried) {
        sum = perp__events_advance(sim, t0, t1);
        if (sum.outcome == PERP_SOLVED || sim->step.cache.out_of_memory || sim->is_stopped)
            return sum;
        perp__events_leave(sim->events);
        perp__impacts_go_back(sim, PERP__IMPACTS_EVENTS);
        memcpy(sim->step.ws, sim->beginning, symbols);
    }
    for (int k = 0; k < EULER_PARTS; k++) {
        double begin = t0 + (t1 - t0) * k / EULER_PARTS, h = (t1 - t0) / EULER_PARTS;
        double end = k + 1 < EULER_PARTS ? begin + h : t1;
        int solves = sum.solves;
        perp__step_result r = advance(sim, begin, end, h, halvings(sim));
        r.error = fmax(r.error, k ? sum.error : 0);
        r.residual = fmax(r.residual, k ? sum.residual : 0);
        sum = r;
        sum.solves += solves;
        if (r.outcome != PERP_SOLVED) break;
    }
    if (is_tried)
        perp__events_weigh(sim->events, perp__events_work(sim->events) - trial,
                           sim->step.state.count.work - before);
    return sum;
}

perp__step_result perp__run_advance(perp_simulation *sim, double t0, double t1)
{
    return sim->events ? advance_through_events(sim, t0, t1)
                       : advance(sim, t0, t1, t1 - t0, halvings(sim));
}

double perp__run_work(const perp_simulation *sim)
{
    return sim->step.state.count.work + (sim->events ? perp__events_work(sim->events) : 0);
}

/* For a step without pairs that does not hold at its beginning: the forces in its null space, such
 * as those of a loop that is closed twice. Nothing is preserved. */
static void say_undetermined(perp_simulation *sim, perp_diag *diag)
{
    perp__step *s = &sim->step;
    const perp__item *item = s->model->item[PERP_VAR];
    int n = s->model->nitem[PERP_VAR], found = 0;
    char is_open = 0, *var = s->cache.A && s->layout->np == 0 && s->layout->ncone == 0
                                 ? malloc((size_t)n + 1)
                                 : NULL;
    if (!var) return;
    memcpy(s->ws + s->layout->sym.y, sim->before + s->layout->sym.y,
           (size_t)s->layout->ny * sizeof(double));
    for (int i = s->layout->nx; i < s->layout->ny; i++) s->ws[s->layout->sym.y + i] = 0;
    perp__step_linearise(s);
    perp__step_fill(s);
    int is_known = perp__step_undetermined(s, &is_open, var);
    for (int i = 0; i < n && is_known; i++)
        if (var[i])
            perp__diag_append(diag, found++ ? ", '%s'" : "  nothing determines '%s'", item[i].name);
    if (found)
        perp__diag_append(diag, "; equations say the same twice there, or nearly the same\n");
    free(var);
}

perp_status perp__run_step(perp_simulation *sim, double t, double h, perp_step_info *info,
                           perp_diag *diag)
{
    perp__step *s = &sim->step;
    long k = sim->done + 1;
    double t0 = perp__run_time(sim, sim->done);
    size_t symbols = perp__step_symbols(s);
    memcpy(sim->before, s->ws, symbols);
    s->cache.out_of_memory = sim->is_stopped = sim->is_divided = sim->others.is_found = 0;
    sim->driven.begin = t0;
    sim->driven.end = t;
    memcpy(sim->driven.from, s->ws + s->layout->sym.table,
           (size_t)s->layout->table.n * sizeof(double));
    int open = sim->events ? perp__run_open_input(sim) : -1;
    if (open >= 0) return say_open(sim, open, diag);
    int closed = s->state.are_closed;
    perp__impulses_begin(sim);
    perp__impacts_begin(sim, t0, h);
    perp__step_result r = sim->parts    ? perp__parts_advance(sim, t0, t)
                          : sim->events ? advance_through_events(sim, t0, t)
                                        : advance(sim, t0, t, h, halvings(sim));
    if (k == 1 && r.outcome == PERP_SOLVED &&
        perp__step_moves_nothing(s, sim->before + s->layout->sym.y)) {
        r.outcome = PERP_LIMIT;
        r.fault = PERP__BELOW_RESOLUTION;
    }
    if (info) *info = (perp_step_info){info->size, k, t, r.outcome, r.residual, r.error, r.solves};
    sim->summary.outcome = r.outcome;
    sim->summary.solves += r.solves;
    s->cache.out_of_memory |= perp__impacts_lack_memory(sim);
    if (r.outcome != PERP_SOLVED ||
        s->cache.out_of_memory) { /* another way round gives other numbers */
        perp_status status = PERP_ERR_STOPPED;
        if (s->cache.out_of_memory)
            status = perp__out_of_memory(diag, sim->model->source.name);
        else if (!sim->is_stopped)
            status = explain(sim, &r, diag);
        if (status == PERP_ERR_NO_SOLUTION && r.fault == PERP__UNVERIFIED)
            say_undetermined(sim, diag);
        memcpy(s->ws, sim->before, symbols);
        s->state.are_closed = closed;
        perp__impulses_undo(sim);
        perp__impacts_go_back(sim, PERP__IMPACTS_STEP);
        perp__events_forget(sim->events);
        if (sim->sensitivity) perp__sensitivity_lose(sim->sensitivity);
        return status;
    }
    if (sim->events) perp__step_evaluate(s);
    perp__step_assign(s);
    perp__impacts_end(sim);
    sim->done = k;
    sim->is_moved = 0;
    sim->residual = r.residual;
    if (r.residual > sim->summary.worst_residual || k == 1) {
        sim->summary.worst_residual = r.residual;
        sim->summary.worst_step = k;
    }
    sim->summary.worst_error = fmax(sim->summary.worst_error, r.error);
    sim->summary.divided += sim->is_divided;
    if (sim->others.is_found && sim->summary.not_unique++ == 0) sim->summary.not_unique_at = t;
    count_sides(sim);
    return PERP_OK;
}

perp_status perp__run_next(perp_simulation *sim, perp_step_info *info, perp_diag *diag)
{
    if (sim->done >= sim->nstep)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                            "the run has ended after its %ld steps, at t = %g\n", sim->nstep,
                            perp__run_time(sim, sim->done));
    return perp__run_step(sim, perp__run_time(sim, sim->done + 1), sim->options.step, info, diag);
}

perp_status perp__run_outcome(perp_status status, perp_outcome *outcome)
{
    if (status != PERP_ERR_NO_SOLUTION) return status;
    if (*outcome == PERP_SOLVED) *outcome = PERP_LIMIT;
    return PERP_OK;
}

perp_status perp_simulation_step(perp_simulation *sim, perp_step_info *info, perp_diag *diag)
{
    if (!sim || !info || !PERP__FITS(info)) return PERP_ERR_ARG;
    return perp__run_outcome(perp__run_next(sim, info, diag), &info->outcome);
}

int perp_simulation_columns(const perp_simulation *sim)
{
    return sim->ncolumn;
}

const char *perp_simulation_column_name(const perp_simulation *sim, int column)
{
    return column >= 0 && column < sim->ncolumn ? sim->column_name[column] : NULL;
}

const char *perp_simulation_column_unit(const perp_simulation *sim, int column)
{
    return column >= 0 && column < sim->ncolumn ? sim->column_unit[column] : NULL;
}

void perp_simulation_row(const perp_simulation *sim, double *row)
{
    const perp__step *s = &sim->step;
    const double *y = s->ws + s->layout->sym.y;
    if (sim->is_moved) {
        perp__run_begin_row(sim, row);
        return;
    }
    *row++ = s->ws[0];
    for (int j = 0; j < s->layout->nx; j++) *row++ = y[j];
    for (int v = 0; v < sim->model->nvar; v++) *row++ = y[s->layout->sym.var_at[v]];
    perp__tape_get(&s->layout->tape.outputs, s->ws, row);
    row += s->layout->tape.outputs.nout;
    *row = sim->residual;
}

/* Derivatives --------------------------------------------------------------------------------- */

/* The positions of these names among the parameters and states of the model, each kind in the order
 * given: in *list, with room for both, the position of each name after them (the caller frees
 * it). */
static perp_status find_followed(const perp_model *m, int n, const char *const *name,
                                 perp__followed *by, int **list, perp_diag *diag)
{
    perp_status status = PERP_OK;
    int *param = *list = malloc((3 * (size_t)n + 1) * sizeof **list);
    if (!param) return perp__out_of_memory(diag, m->source.name);
    int *state = param + n;
    *by = (perp__followed){.param = param, .state = state, .place = state + n};
    for (int k = 0, i; k < n && status == PERP_OK; k++) {
        perp_symbol_kind kind;
        int *place = state + n + k;
        if (perp__may_vary(m, name[k], &i)) {
            *place = by->nparam;
            param[by->nparam++] = i;
        } else if (name[k] && perp_model_find(m, name[k], &kind, &i) && kind == PERP_STATE) {
            *place = -1 - by->nstate;
            state[by->nstate++] = i;
        } else
            status = perp__refuse(diag, PERP_ERR_ARG, perp__in(m->source.name),
                                  "no parameter '%s' to differentiate with respect to, nor a state "
                                  "of this name\n",
                                  name[k] ? name[k] : "");
    }
    for (int k = 0; k < n && status == PERP_OK; k++)
        if (state[n + k] < 0) state[n + k] = by->nparam - 1 - state[n + k];
    return status;
}

/* Does the expression read this parameter, or others that are made of it? Out of memory: it may. */
static int reads_parameter(const perp_model *m, perp_expr e, int param)
{
    int n, reads = 0, *reach = perp__graph_reach(&m->graph, &e, 1, &n);
    for (int k = 0; reach && k < n; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        for (int i = 0; node->op == PERP__SYMBOL && i < m->nitem[PERP_PARAM]; i++) {
            const perp__item *item = &m->item[PERP_PARAM][i];
            if (item->symbol != node->a) continue;
            reads |= i == param || (i > param && !item->is_set && item->expr >= 0 &&
                                    reads_parameter(m, item->expr, param));
        }
    }
    free(reach);
    return reads || !reach;
}

/* An input that may be set is data: how the model's function of time moves with a parameter would
 * be lost. */
perp_status perp__run_check_followed(const perp_simulation *sim, int n, const int *param,
                                     perp_diag *diag)
{
    const perp_model *m = sim->model;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < sim->step.layout->table.n; k++) {
            const perp__item *input = &m->item[PERP_INPUT][sim->step.layout->table.input[k]];
            if (sim->step.layout->table.formula[k] >= 0 &&
                reads_parameter(m, input->expr, param[j]))
                return perp__refuse(diag, PERP_ERR_ARG, perp__in(m->source.name),
                                    "no derivatives with respect to '%s': input '%s' depends on "
                                    "it, and may be set\n",
                                    m->item[PERP_PARAM][param[j]].name, input->name);
        }
    return PERP_OK;
}

perp_status perp_simulation_follow(perp_simulation *sim, int n, const char *const *name,
                                   perp_diag *diag)
{
    if (!sim || n < 1 || !name || sim->done > 0) return PERP_ERR_ARG;
    if (sim->parts)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                            "derivatives are those of whole steps; a run whose accuracy is given "
                            "has none\n");
    int *list;
    perp__followed by;
    perp_status status = find_followed(sim->model, n, name, &by, &list, diag);
    if (status == PERP_OK) status = perp__run_check_followed(sim, by.nparam, by.param, diag);
    by.tells_bounds = 1;
    perp__sensitivity *made = status == PERP_OK ? perp__sensitivity_create(&sim->step, &by) : NULL;
    int ok = made && (!sim->events || perp__events_follow(sim->events, &by, made));
    free(list);
    if (ok) {
        perp__sensitivity_destroy(sim->sensitivity);
        sim->sensitivity = made;
        perp__sensitivity_restart(made);
        return PERP_OK;
    }
    perp__sensitivity_destroy(made);
    return status != PERP_OK ? status : perp__out_of_memory(diag, sim->model->source.name);
}

perp_status perp_simulation_derivatives(const perp_simulation *sim, double *derivative)
{
    if (!sim || !sim->sensitivity || !derivative) return PERP_ERR_ARG;
    return perp__sensitivity_get(sim->sensitivity, derivative, sim->ncolumn) ? PERP_OK
                                                                             : PERP_ERR_NO_SOLUTION;
}

#define KIND(word)                                                                                 \
    {                                                                                              \
        word, NULL                                                                                 \
    }
static const perp__word kind_rows[] = {
    KIND("none"),           KIND("of unknown direction"), KIND("for an increase"),
    KIND("for a decrease"), KIND("of the steps"),         KIND("differentiable")};
#undef KIND
static const perp__words kinds = PERP_WORDS(kind_rows);

PERP_WORD_FUNCTIONS(perp_derivative_kind, perp_derivative_kind, kinds)

perp_derivative_kind perp_simulation_derivative_kind(const perp_simulation *sim, int k,
                                                     double *since)
{
    double at;
    if (!sim || !sim->sensitivity) return PERP_DERIVATIVE_KIND_COUNT;
    perp__followed by = perp__sensitivity_followed(sim->sensitivity);
    if (k < 0 || k >= by.nparam + by.nstate) return PERP_DERIVATIVE_KIND_COUNT;
    return perp__sensitivity_kind(sim->sensitivity, k, since ? since : &at);
}

perp_status perp_simulation_get_summary(const perp_simulation *sim,
                                        perp_simulation_summary *summary)
{
    if (!sim || !summary || !PERP__FITS(summary)) return PERP_ERR_ARG;
    size_t size = summary->size;
    *summary = sim->summary;
    summary->size = size;
    summary->steps = sim->done;
    summary->time = perp__run_time(sim, sim->done);
    summary->friction_problems = sim->step.state.count.cone_steps;
    summary->eliminations = sim->step.state.count.eliminations;
    summary->pairs = sim->model->npair;
    summary->modes = (const long(*)[4])sim->sides;
    return PERP_OK;
}

perp_status perp__run_whole(perp_simulation *sim, perp_row_fn sink, void *context, perp_diag *diag)
{
    double *row = malloc((size_t)sim->ncolumn * sizeof *row);
    perp_status status = row ? PERP_OK : perp__out_of_memory(diag, sim->model->source.name);
    if (status == PERP_OK && sink && sim->done == 0) {
        perp_simulation_row(sim, row);
        status = sink(context, 0, row);
    }
    while (status == PERP_OK && sim->done < sim->nstep) {
        status = perp__run_next(sim, NULL, diag);
        if (status != PERP_OK || !sink) continue;
        perp_simulation_row(sim, row);
        status = sink(context, sim->done, row);
    }
    free(row);
    return status;
}

perp_status perp_simulation_run(perp_simulation *sim, perp_row_fn sink, void *context,
                                perp_simulation_summary *summary, perp_diag *diag)
{
    if (!sim || !summary || !PERP__FITS(summary)) return PERP_ERR_ARG;
    sim->step.others = &sim->others;
    perp__events_ask(sim->events, &sim->others);
    perp_status status = perp__run_whole(sim, sink, context, diag);
    sim->step.others = NULL;
    perp__events_ask(sim->events, NULL);
    perp_simulation_get_summary(sim, summary);
    return perp__run_outcome(status, &summary->outcome);
}
