/* A simulation in use: the values that may be read and changed between its steps, steps that end at
 * given times, and the return to the start. */

#include "base/tol.h"
#include "simulate/run.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What may be set ------------------------------------------------------------------------------ */

int perp__may_vary(const perp_model *m, const char *name, int *i)
{
    perp_symbol_kind kind;
    return name && perp_model_find(m, name, &kind, i) && kind == PERP_PARAM &&
           !m->item[PERP_PARAM][*i].is_structural;
}

/* PERP_ALL: those of the model that are numbers, and no size; others follow from these. */
static int list_all_parameters(const perp_model *m, int *param)
{
    int n = 0;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        if (perp__is_number(m, item) && !item->is_structural) param[n++] = i;
    }
    return n;
}

static int is_listed(const int *list, int n, int i)
{
    while (n > 0 && list[n - 1] != i) n--;
    return n > 0;
}

/* "no input 'F', did you mean ..": name is no such symbol, or shapes the model. */
static perp_status refuse_name(const perp_model *m, const char *name, perp_symbol_kind kind,
                               perp_diag *diag)
{
    char text[512];
    perp_symbol_kind is;
    int i;
    const char *what = kind == PERP_INPUT ? "input" : "parameter";
    if (name && perp_model_find(m, name, &is, &i))
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(m->source.name),
                            is == kind ? "'%s' sets the size of the model; a run cannot change it\n"
                                       : "'%s' is no %s\n",
                            name, what);
    perp__unknown_symbol(m, what, name ? name : "", kind, kind, text, sizeof text);
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(m->source.name), "%s\n", text);
}

perp_status perp__run_find_changes(perp_simulation *sim, perp__changes *changes, int **list,
                                   perp_diag *diag)
{
    const perp_model *m = sim->model;
    const perp_simulation_options *o = &sim->options;
    int np = m->nitem[PERP_PARAM], nu = m->nitem[PERP_INPUT], i;
    int *param = *list = malloc(((size_t)np + (size_t)nu + 1) * sizeof(int)), *input = param + np;
    *changes = (perp__changes){.param = param, .input = input};
    if (!param) return PERP_ERR_MEMORY;
    if (o->nparameter == PERP_ALL) changes->nparam = list_all_parameters(m, param);
    for (int k = 0; k < o->nparameter; k++) {
        if (!perp__may_vary(m, o->parameter[k], &i))
            return refuse_name(m, o->parameter[k], PERP_PARAM, diag);
        if (!is_listed(param, changes->nparam, i)) param[changes->nparam++] = i;
    }
    for (i = 0; o->ninput == PERP_ALL && i < nu; i++) input[changes->ninput++] = i;
    for (int k = 0; k < o->ninput; k++) {
        perp_symbol_kind kind;
        const char *name = o->input[k];
        if (!name || !perp_model_find(m, name, &kind, &i) || kind != PERP_INPUT)
            return refuse_name(m, name, PERP_INPUT, diag);
        if (!is_listed(input, changes->ninput, i)) input[changes->ninput++] = i;
    }
    for (i = 0; i < nu; i++) sim->driven.slot[i] = is_listed(input, changes->ninput, i) ? 0 : -1;
    return PERP_OK;
}

/* Values --------------------------------------------------------------------------------------- */

double perp_simulation_time(const perp_simulation *sim)
{
    return sim ? perp__run_time(sim, sim->done) : (double)NAN;
}

static double *state_of(const perp_simulation *sim, int state)
{
    const perp__step *s = &sim->step;
    return state >= 0 && state < s->layout->nx ? s->ws + s->layout->sym.y + state : NULL;
}

double perp_simulation_state(const perp_simulation *sim, int state)
{
    const double *x = sim ? state_of(sim, state) : NULL;
    return x ? *x : (double)NAN;
}

/* A new value is a new start as far as contacts go that the last step found closed. */
perp_status perp_simulation_set_state(perp_simulation *sim, int state, double value)
{
    double *x = sim ? state_of(sim, state) : NULL;
    if (!x || !isfinite(value)) return PERP_ERR_ARG;
    if (*x == value) return PERP_OK;
    *x = value;
    sim->is_moved = sim->was_moved = 1;
    sim->step.state.are_closed = 0;
    perp__sensitivity_set(sim->sensitivity, state);
    return PERP_OK;
}

/* The place of an input among those that may be set, or -1. */
static int place_of(const perp_simulation *sim, int input)
{
    return sim && input >= 0 && input < sim->model->nitem[PERP_INPUT] ? sim->driven.slot[input]
                                                                      : -1;
}

double perp_simulation_input(const perp_simulation *sim, int input)
{
    int k = place_of(sim, input);
    return k >= 0 ? sim->driven.held[k] : (double)NAN;
}

perp_status perp_simulation_set_input(perp_simulation *sim, int input, double value)
{
    int k = place_of(sim, input);
    if (k < 0 || isinf(value)) return PERP_ERR_ARG;
    sim->driven.held[k] = value;
    double *now = sim->step.ws + sim->step.layout->sym.table + k;
    if (isnan(*now)) *now = value;
    return PERP_OK;
}

static double *parameter_of(const perp_simulation *sim, int parameter)
{
    const perp__varied *v = &sim->step.layout->sym.varied;
    for (int k = 0; k < v->n; k++)
        if (v->param[k] == parameter)
            return sim->step.ws + perp__step_parameter(sim->step.layout, k);
    return NULL;
}

double perp_simulation_parameter(const perp_simulation *sim, int parameter)
{
    const double *p = sim ? parameter_of(sim, parameter) : NULL;
    return p ? *p : (double)NAN;
}

perp_status perp_simulation_set_parameter(perp_simulation *sim, int parameter, double value)
{
    double *p = sim ? parameter_of(sim, parameter) : NULL;
    if (!p || !isfinite(value)) return PERP_ERR_ARG;
    if (*p == value) return PERP_OK;
    *p = value;
    perp__step_revalue(&sim->step);
    perp__sensitivity_revalue(sim->sensitivity);
    return PERP_OK;
}

/* Columns -------------------------------------------------------------------------------------- */

int perp_simulation_find_column(const perp_simulation *sim, const char *name)
{
    for (int c = 0; sim && name && c < sim->ncolumn; c++)
        if (strcmp(sim->column_name[c], name) == 0) return c;
    return -1;
}

void perp__run_begin_row(const perp_simulation *sim, double *row)
{
    const perp__step *s = &sim->step;
    int first = s->layout->sym.y + s->layout->nx;
    memcpy(sim->before, s->ws, (size_t)s->layout->sym.n * sizeof(double));
    for (int i = 1; i < s->layout->sym.table; i++) s->ws[i] = (double)NAN;
    for (int i = s->layout->sym.table_pre; i < s->layout->sym.y; i++) s->ws[i] = (double)NAN;
    for (int i = first; i < s->layout->sym.n; i++) s->ws[i] = (double)NAN;
    *row++ = perp_simulation_time(sim);
    memcpy(row, s->ws + s->layout->sym.y, (size_t)s->layout->nx * sizeof(double));
    row += s->layout->nx;
    for (int v = 0; v < sim->model->nvar; v++) *row++ = (double)NAN;
    perp__tape_get(&s->layout->tape.outputs, s->ws, row);
    row[s->layout->tape.outputs.nout] = (double)NAN;
    memcpy(s->ws, sim->before, (size_t)s->layout->sym.n * sizeof(double));
}

double perp_simulation_value(const perp_simulation *sim, int column)
{
    if (!sim || column < 0 || column >= sim->ncolumn) return (double)NAN;
    const perp__step *s = &sim->step;
    int var = column - 1 - s->layout->nx, output = var - sim->model->nvar;
    if (column == 0) return perp_simulation_time(sim);
    if (var < 0) return s->ws[s->layout->sym.y + column - 1];
    if (output < 0)
        return sim->is_moved ? (double)NAN : s->ws[s->layout->sym.y + s->layout->sym.var_at[var]];
    if (output >= s->layout->tape.outputs.nout) return sim->is_moved ? (double)NAN : sim->residual;
    if (sim->is_moved) {
        perp_simulation_row(sim, sim->row);
        return sim->row[column];
    }
    perp__tape_eval(&s->layout->tape.outputs, s->ws);
    return s->ws[s->layout->tape.outputs.out[output]];
}

/* Time ----------------------------------------------------------------------------------------- */

/* The last part of a step, after which whole steps are counted from its end. */
static perp_status end_at(perp_simulation *sim, double to, perp_step_info *info, perp_diag *diag)
{
    perp_status status = perp__run_step(sim, to, to - perp_simulation_time(sim), info, diag);
    if (status != PERP_OK) return status;
    sim->start = to;
    sim->since = sim->done;
    sim->nstep = sim->done + perp__whole_steps(to, sim->options.to, sim->options.step);
    return PERP_OK;
}

perp_status perp__run_until(perp_simulation *sim, double to, perp_step_info *info, perp_diag *diag)
{
    double now = perp_simulation_time(sim), h = sim->options.step, near = PERP_TOL_WHOLE * h;
    perp_status status = PERP_OK;
    if (info)
        *info = (perp_step_info){.size = info->size,
                                 .step = sim->done,
                                 .time = now,
                                 .outcome = PERP_SOLVED,
                                 .residual = sim->residual};
    if (!(to >= now - near && to <= sim->options.to + near))
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                            "a run at t = %g that may go to %g cannot advance to t = %g\n", now,
                            sim->options.to, to);
    while (status == PERP_OK && perp__run_time(sim, sim->done + 1) <= to + near) {
        double t = perp__run_time(sim, sim->done + 1);
        status = perp__run_step(sim, t, h, info, diag);
    }
    if (status != PERP_OK || to - perp_simulation_time(sim) <= near) return status;
    return end_at(sim, to, info, diag);
}

perp_status perp_simulation_advance(perp_simulation *sim, double to, perp_step_info *info,
                                    perp_diag *diag)
{
    if (!sim || !info || !PERP__FITS(info)) return PERP_ERR_ARG;
    return perp__run_outcome(perp__run_until(sim, to, info, diag), &info->outcome);
}

void perp_simulation_reset(perp_simulation *sim)
{
    if (!sim) return;
    perp__step *s = &sim->step;
    const perp_simulation_options *o = &sim->options;
    for (int k = 0; k < s->layout->table.n; k++) sim->driven.held[k] = (double)NAN;
    if (s->layout->sym.varied.n)
        memcpy(s->ws + perp__step_parameter(s->layout, 0), sim->initial + s->layout->nx,
               (size_t)s->layout->sym.varied.n * sizeof(double));
    s->h = o->step;
    perp__step_revalue(s);
    perp__sensitivity_revalue(sim->sensitivity);
    sim->others = (perp__others){.work = 0};
    sim->summary = (perp_simulation_summary){.size = sizeof sim->summary};
    memset(sim->sides, 0, (size_t)sim->model->npair * sizeof *sim->sides);
    s->state.count.eliminations = s->state.count.cone_steps = 0;
    perp__run_restart(sim, o->from, perp__whole_steps(o->from, o->to, o->step));
}
