/* From model, data and options to a study. Names are matched. A search that would be meaningless is
 * refused here, with the name of the column. */

#include "base/tol.h"
#include "base/parallel.h"
#include "identify/identify.h"
#include "model/inspect.h"
#include "model/model.h"
#include "trajectory/trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters ---------------------------------------------------------------------------------- */

static perp_status take_parameters(perp__study *s)
{
    const perp_identify_options *o = &s->options;
    for (int i = 0; i < o->nparameter; i++) {
        perp_symbol_kind kind;
        int index;
        if (!perp_model_find(s->model, o->parameter[i], &kind, &index) || kind != PERP_PARAM) {
            char text[512];
            perp__unknown_symbol(s->model, "parameter", o->parameter[i], PERP_PARAM, PERP_PARAM,
                                 text, sizeof text);
            return perp__refuse(s->diag, PERP_ERR_ARG, perp__in(perp_model_file(s->model)),
                                "to estimate: %s\n", text);
        }
        perp_symbol p = perp_model_symbol(s->model, PERP_PARAM, index);
        int same = 0;
        while (same < i && s->param[same] != index) same++;
        if (same < i || s->model->item[PERP_PARAM][index].is_structural)
            return perp__refuse(s->diag, PERP_ERR_ARG, perp__in(perp_model_file(s->model)),
                                "'%s' %s\n", p.name,
                                same < i ? "is to be estimated twice"
                                         : "sets the size of the model and cannot be estimated");
        if (!isfinite(p.lo) || !isfinite(p.hi) || !(p.lo < p.hi))
            return perp__refuse(s->diag, PERP_ERR_ARG, (perp__place){p.file, p.line, p.column},
                                "'%s' needs a range to be estimated: param %s = %g in [lo, hi]\n",
                                p.name, p.name, p.value);
        s->param[i] = index;
        s->lo[i] = p.lo;
        s->hi[i] = p.hi;
        s->from[i] = fmin(fmax(p.value, p.lo), p.hi);
        s->log_scale[i] = p.lo > 0 && p.hi / p.lo >= 100;
    }
    if (o->nparameter) return PERP_OK;
    return perp__refuse(
        s->diag, PERP_ERR_ARG, perp__in(perp_model_file(s->model)),
        "nothing to estimate: give a parameter a range, such as param mu = 0.5 in [0, 2]\n");
}

int perp__starts_exactly(const perp__study *s, const perp__recording *r, int row, int k)
{
    double own = perp_model_symbol(s->model, PERP_STATE, k).value;
    return row == 0 && r->state[k] && fabs(r->state[k][0] - own) <= PERP_TOL_SAME * fabs(own);
}

int perp__set_parameters(const perp__study *s, perp_model *model, const double *theta)
{
    for (int i = 0; i < s->np; i++) {
        perp_status status = perp_model_set(model, s->options.parameter[i], theta[i], NULL);
        if (status != PERP_OK) return 0;
    }
    return 1;
}

/* Is an item written in terms of the symbols with column_of >= 0? Returns -1 when memory is out. */
static int is_written_with(const perp_model *m, const perp__item *item, const int *column_of)
{
    if (item->is_set || item->expr < 0) return 0;
    int degree = perp__degree(&m->graph, item->expr, column_of, NULL);
    return degree < 0 ? -1 : degree > 0;
}

/* Which initial values are written in terms of an estimated parameter, also through other
 * parameters. */
static perp_status find_dependent_states(perp__study *s)
{
    const perp_model *m = s->model;
    int *column_of = malloc(((size_t)m->nsymbol + 1) * sizeof(int)), moves = 0;
    if (!column_of) return PERP_ERR_MEMORY;
    for (int k = 0; k < m->nsymbol; k++) column_of[k] = -1;
    for (int i = 0; i < s->np; i++) column_of[m->item[PERP_PARAM][s->param[i]].symbol] = 0;
    for (int i = 0; i < m->nitem[PERP_PARAM] && moves >= 0; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        if (column_of[item->symbol] >= 0) continue;
        moves = is_written_with(m, item, column_of);
        if (moves > 0) column_of[item->symbol] = 0;
    }
    for (int k = 0; k < s->nstate && moves >= 0; k++) {
        moves = is_written_with(m, &m->item[PERP_STATE][k], column_of);
        s->depends[k] = moves > 0;
    }
    free(column_of);
    return moves < 0 ? PERP_ERR_MEMORY : PERP_OK;
}

/* Columns ------------------------------------------------------------------------------------- */

/* Column of a table for a symbol, after checking its unit; -1 none, -2 refused. */
static int find_column(const perp__study *s, int run, perp_symbol_kind kind, int index)
{
    const perp_trajectory *table = perp_dataset_table(s->data, run);
    perp_symbol symbol = perp_model_symbol(s->model, kind, index);
    int c = perp_trajectory_find(table, symbol.name);
    if (c < 0) return -1;
    const char *file = perp_dataset_name(s->data, run);
    return perp__check_unit(table, c, symbol.unit, file, s->diag) == PERP_OK ? c : -2;
}

/* A state that starts from the data must be known there. */
static perp_status check_initial(const perp__study *s, const perp__recording *r, int state)
{
    const double *x = r->state[state];
    if (!x || s->depends[state] || isfinite(x[0])) return PERP_OK;
    return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(r->name),
                        "row 1: column '%s' is missing, but it is the initial value of the state\n",
                        perp_model_symbol(s->model, PERP_STATE, state).name);
}

static perp_status match_states(perp__study *s, int run)
{
    perp__recording *r = &s->run[run];
    for (int k = 0; k < s->nstate; k++) {
        int c = find_column(s, run, PERP_STATE, k);
        if (c == -2) return PERP_ERR_DATA;
        r->state[k] = c < 0 ? NULL : perp_trajectory_column(r->table, c);
        perp_status status = check_initial(s, r, k);
        if (status != PERP_OK) return status;
    }
    return PERP_OK;
}

static perp_status match_inputs(perp__study *s, int run)
{
    perp__recording *r = &s->run[run];
    for (int k = 0; k < s->ninput; k++) {
        int c = find_column(s, run, PERP_INPUT, k), first = find_column(s, 0, PERP_INPUT, k);
        const char *name = perp_model_symbol(s->model, PERP_INPUT, k).name;
        if (c == -2 || first == -2) return PERP_ERR_DATA;
        if ((c < 0) != (first < 0))
            return perp__refuse(
                s->diag, PERP_ERR_DATA, perp__in(NULL),
                "%s has a column '%s' for the input, but %s has not; all runs or none\n",
                perp_dataset_name(s->data, c < 0 ? 0 : run), name,
                perp_dataset_name(s->data, c < 0 ? run : 0));
        r->input[k] = c < 0 ? NULL : perp_trajectory_column(r->table, c);
        for (int i = 0; r->input[k] && i < r->rows; i++) {
            if (isfinite(r->input[k][i])) continue;
            return perp__refuse(
                s->diag, PERP_ERR_DATA, perp__in(r->name),
                "row %d: column '%s' is missing; an input must be known in every row\n", i + 1,
                name);
        }
    }
    return PERP_OK;
}

static perp_status match_measured(perp__study *s, int run)
{
    perp__recording *r = &s->run[run];
    for (int j = 0; j < s->nm; j++) {
        const perp__measured *m = &s->measured[j];
        int c = find_column(s, run, m->kind, m->index);
        if (c == -2) return PERP_ERR_DATA;
        r->measure[j] = c < 0 ? NULL : perp_trajectory_column(r->table, c);
    }
    return PERP_OK;
}

/* Column of a symbol in a row of the simulation: t, states, vars, inputs, outputs. */
static int simulated_column(const perp_model *model, perp_symbol_kind kind, int index)
{
    int n = 1 + index;
    if (kind != PERP_STATE) n += perp_model_count(model, PERP_STATE);
    if (kind == PERP_OUTPUT)
        n += perp_model_count(model, PERP_VAR) + perp_model_count(model, PERP_INPUT);
    return n;
}

static void add_measured(perp__study *s, perp_symbol_kind kind, int index, const perp_measure *m)
{
    perp_symbol symbol = perp_model_symbol(s->model, kind, index);
    double scale = (double)NAN;
    if (m && !isnan(m->noise))
        scale = m->noise;
    else if (m && !isnan(m->weight))
        scale = 1 / m->weight;
    s->measured[s->nm++] = (perp__measured){.name = symbol.name,
                                            .unit = symbol.unit,
                                            .kind = kind,
                                            .index = index,
                                            .sim = simulated_column(s->model, kind, index),
                                            .scale = scale,
                                            .has_noise = m && !isnan(m->noise)};
}

/* Does any run have a column of this name? */
static int is_recorded(const perp__study *s, const char *name)
{
    for (int r = 0; r < s->nrun; r++) {
        if (perp_trajectory_find(perp_dataset_table(s->data, r), name) >= 0) return 1;
    }
    return 0;
}

/* The columns that the options name, or all that the data and the model share. */
static perp_status choose_measured(perp__study *s)
{
    const perp_identify_options *o = &s->options;
    for (int i = 0; i < o->nmeasure; i++) {
        perp_symbol_kind kind;
        int index, known = perp_model_find(s->model, o->measure[i].name, &kind, &index);
        if (!known || kind < PERP_STATE || !is_recorded(s, o->measure[i].name)) {
            perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                         known && kind >= PERP_STATE
                             ? "no run has a column '%s', which is to be measured; %s has:"
                             : "the model has no state, var or output '%s' to measure; %s has:",
                         o->measure[i].name, perp_dataset_name(s->data, 0));
            perp__list_columns(s->diag, perp_dataset_table(s->data, 0));
            return PERP_ERR_DATA;
        }
        add_measured(s, kind, index, &o->measure[i]);
    }
    for (int k = PERP_STATE; k <= PERP_OUTPUT && o->nmeasure == 0; k++) {
        for (int i = 0; i < perp_model_count(s->model, (perp_symbol_kind)k); i++) {
            if (is_recorded(s, perp_model_symbol(s->model, (perp_symbol_kind)k, i).name))
                add_measured(s, (perp_symbol_kind)k, i, NULL);
        }
    }
    if (s->nm) return PERP_OK;
    perp__refuse(s->diag, PERP_ERR_DATA, perp__in(perp_dataset_name(s->data, 0)),
                 "no column is a state, var or output of the model; it has:");
    perp__list_columns(s->diag, perp_dataset_table(s->data, 0));
    return PERP_ERR_DATA;
}

/* Without a stated noise, a column is weighed by its own spread. */
static perp_status set_scale(perp__study *s, int j)
{
    perp__measured *m = &s->measured[j];
    double sum = 0, squares = 0, n = 0, largest = 0;
    for (int r = 0; r < s->nrun; r++) {
        const double *x = s->run[r].measure[j];
        for (int i = 0; x && i < s->run[r].rows; i++) {
            if (isnan(x[i])) continue;
            n++;
            sum += x[i];
            squares += x[i] * x[i];
            largest = fmax(largest, fabs(x[i]));
        }
    }
    if (n == 0)
        return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                            "column '%s' has no samples: every row is empty or nan\n", m->name);
    double deviation = sqrt(fmax(0, squares / n - (sum / n) * (sum / n)));
    m->moves = deviation > PERP_TOL_CONSTANT * largest;
    m->size = largest;
    if (isnan(m->scale)) {
        if (m->moves)
            m->scale = deviation;
        else if (largest > 0)
            m->scale = largest;
        else
            m->scale = 1;
    }
    return PERP_OK;
}

/* Time ---------------------------------------------------------------------------------------- */

/* The step: what the options say, else the largest one up to the model's that divides the smallest
 * interval of the data. A discrete model keeps its own, or has one a row. */
static void choose_step(perp__study *s)
{
    double interval = INFINITY, most = perp_model_simulate_task(s->model).step;
    for (int r = 0; r < s->nrun; r++) {
        const perp__recording *run = &s->run[r];
        double mean = (run->t[run->rows - 1] - run->t[0]) / (run->rows - 1), least = INFINITY;
        for (int i = 1; i < run->rows; i++) least = fmin(least, run->t[i] - run->t[i - 1]);
        if (least > 0.9 * mean) least = mean; /* equal but for rounding */
        interval = fmin(interval, least);
    }
    s->step = interval;
    if (perp_model_get_kind(s->model) == PERP_CONTINUOUS && most < interval)
        s->step = interval / ceil(interval / most - PERP_TOL_STEPS);
    else if (most < 0.75 * interval)
        s->step = most; /* a discrete model's equations are those of its step */
    if (!isnan(s->options.step)) s->step = s->options.step;
}

/* Every row lies on a step of the simulation. */
static perp_status place_rows(perp__study *s, perp__recording *r)
{
    for (int i = 0; i < r->rows; i++) {
        double k = (r->t[i] - r->t[0]) / s->step;
        r->at[i] = lround(k);
        if (fabs(k - (double)r->at[i]) < 0.02 + PERP_TOL_WHOLE * k &&
            (i == 0 || r->at[i] > r->at[i - 1]))
            continue;
        return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(r->name),
                            "row %d: t = %.10g is not a whole number of steps of %.10g after the "
                            "first row (%.6g "
                            "steps); give --step, or resample the data\n",
                            i + 1, r->t[i], s->step, k);
    }
    return PERP_OK;
}

/* Horizon: from a row in the middle all states must be known. */
static perp_status check_horizon(const perp__study *s)
{
    if (s->options.horizon == 0) return PERP_OK;
    for (int k = 0; k < s->nstate; k++) {
        if (s->run[0].state[k] && !s->depends[k]) continue;
        return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                            "horizon %d starts predictions in the middle of a run, so every state "
                            "must be measured; "
                            "there is no column '%s'\n",
                            s->options.horizon, perp_model_symbol(s->model, PERP_STATE, k).name);
    }
    return PERP_OK;
}

/* Memory -------------------------------------------------------------------------------------- */

static void *zeroed(size_t n, size_t size)
{
    return calloc(n + 1, size);
}

static int allocate_study(perp__study *s)
{
    size_t np = (size_t)s->options.nparameter, nm = 0;
    for (int k = PERP_STATE; k <= PERP_OUTPUT; k++)
        nm += (size_t)perp_model_count(s->model, (perp_symbol_kind)k);
    nm += (size_t)s->options.nmeasure;
    s->np = s->options.nparameter;
    s->param = zeroed(np, sizeof *s->param);
    s->lo = zeroed(3 * np, sizeof *s->lo);
    s->log_scale = zeroed(np, 1);
    s->depends = zeroed((size_t)s->nstate, 1);
    s->measured = zeroed(nm, sizeof *s->measured);
    s->run = zeroed((size_t)s->nrun, sizeof *s->run);
    if (!s->param || !s->lo || !s->log_scale || !s->depends || !s->measured || !s->run) return 0;
    s->hi = s->lo + np;
    s->from = s->hi + np;
    return 1;
}

static int allocate_recording(const perp__study *s, perp__recording *r)
{
    r->state = zeroed((size_t)s->nstate, sizeof *r->state);
    r->input = zeroed((size_t)s->ninput, sizeof *r->input);
    r->measure = zeroed((size_t)s->nm, sizeof *r->measure);
    r->at = zeroed((size_t)r->rows, sizeof *r->at);
    return r->state && r->input && r->measure && r->at;
}

void perp__study_clear(perp__study *s)
{
    for (int r = 0; s->run && r < s->nrun; r++) {
        free(s->run[r].state);
        free(s->run[r].input);
        free(s->run[r].measure);
        free(s->run[r].at);
    }
    free(s->param);
    free(s->lo);
    free(s->log_scale);
    free(s->depends);
    free(s->measured);
    free(s->run);
    memset(s, 0, sizeof *s);
}

/* ---------------------------------------------------------------------------------------------- */

static perp_status check_options(const perp__study *s)
{
    const perp_identify_options *o = &s->options;
    const char *wrong = NULL;
    perp_status status = perp__check_choices(o, s->diag);
    if (status != PERP_OK) return status;
    if (!(o->confidence > 0 && o->confidence < 1))
        wrong = "the confidence must lie between 0 and 1";
    else if (o->starts < 0 || o->max_iter < 0 || o->threads < 0 || o->horizon < 0 ||
             o->bootstrap < 0 || o->huber < 0 || o->soft_sides < 0 || o->soft_vars < 0 ||
             !(o->sliding >= 0) || isinf(o->sliding))
        wrong =
            "starts, max_iter, threads, horizon, bootstrap, huber and weights must not be negative";
    else if (!isnan(o->step) && !(o->step > 0 && isfinite(o->step)))
        wrong = "the step must be positive";
    else if (s->nrun == 0)
        wrong = "no data";
    if (!wrong) return PERP_OK;
    return perp__refuse(s->diag, PERP_ERR_ARG, perp__in("identify"), "%s\n", wrong);
}

static perp_status match_run(perp__study *s, int run)
{
    perp__recording *r = &s->run[run];
    perp_status status = allocate_recording(s, r) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) status = match_states(s, run);
    if (status == PERP_OK) status = match_inputs(s, run);
    if (status == PERP_OK) status = match_measured(s, run);
    return status == PERP_OK ? place_rows(s, r) : status;
}

perp_status perp__study_create(perp__study *s, const perp_model *model, const perp_dataset *data,
                               const perp_identify_options *options, perp_diag *diag)
{
    *s = (perp__study){.model = model,
                       .data = data,
                       .options = *options,
                       .nrun = perp_dataset_runs(data),
                       .nstate = perp_model_count(model, PERP_STATE),
                       .ninput = perp_model_count(model, PERP_INPUT),
                       .integrator = options->integrator,
                       .parts = 1,
                       .merged = 1,
                       .diag = diag};
    if (options->threads)
        s->threads = options->threads;
    else if (options->ranks)
        s->threads = 1;
    else
        s->threads = perp__processors();
    perp_status status = check_options(s);
    if (status == PERP_OK && !allocate_study(s)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = take_parameters(s);
    if (status == PERP_OK) status = find_dependent_states(s);
    if (status == PERP_OK) status = choose_measured(s);
    for (int r = 0; r < s->nrun && status == PERP_OK; r++) {
        const perp_trajectory *table = perp_dataset_table(data, r);
        s->run[r].table = table;
        s->run[r].name = perp_dataset_name(data, r);
        s->run[r].rows = perp_trajectory_rows(table);
        s->run[r].t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    }
    if (status == PERP_OK) choose_step(s);
    for (int r = 0; r < s->nrun && status == PERP_OK; r++) status = match_run(s, r);
    for (int j = 0; j < s->nm && status == PERP_OK; j++) status = set_scale(s, j);
    if (status == PERP_OK) status = check_horizon(s);
    if (status != PERP_OK) perp__study_clear(s);
    return status;
}
