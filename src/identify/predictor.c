/* Runs of the model from the data's initial states, all at once.
 *
 * Every thread has a model and two simulations, with and without derivatives. They take the present
 * parameters at the first run and are restarted for each. A restart forgets everything, so the
 * result does not depend on the threads. */

#include "base/hash.h"
#include "base/parallel.h"
#include "external/ranks.h"
#include "identify/identify.h"
#include "model/model.h"
#include "simulate/step.h"
#include "simulate/stepping.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    perp_model *model;
    perp_simulation *made[2],
        *sim; /* made[1] has derivatives; the one that has the present parameters, or NULL */
    double *row;
    double *slope; /* derivatives of the row by each parameter */
    perp_diag diag;
    perp_status status; /* of giving the simulation the parameters */
} worker;

struct perp__predictor {
    const perp__study *study;
    int nworker;
    worker *worker;
    long *offset;        /* nrun + 1: where each run's residuals begin */
    perp_status *status; /* of each run */
    int stride;          /* every how many runs are looked at */
    const double *theta;
    double *residual;
    double *jacobian; /* NULL: only residuals are wanted */
    double *scratch;  /* residuals that nobody asked for */
    char *fault;
    const double *sigma; /* NULL, or how far initial states are moved */
    int sign;
    uint64_t draw;
    int first, last; /* runs of this process: all of them, or those from first to last - 1 */
    int *of_runs,
        *of_values; /* NULL, or where those of each process begin: runs, and their residuals */
    int *of_ranks;  /* 0, 1, 2, .. */
    double *shared; /* a number a run, then one a process, to be exchanged */
};

enum { PART = 4 }; /* runs that are enough to tell good points from bad ones */

/* Memory -------------------------------------------------------------------------------------- */

static perp_status create_worker(const perp__study *s, worker *w)
{
    int columns = 2 + perp_model_count(s->model, PERP_INPUT);
    for (int k = PERP_STATE; k <= PERP_OUTPUT; k++)
        columns += perp_model_count(s->model, (perp_symbol_kind)k);
    w->row = malloc((size_t)columns * sizeof(double));
    w->slope = malloc((size_t)columns * (size_t)s->np * sizeof(double));
    return w->row && w->slope ? perp__model_clone(s->model, &w->model) : PERP_ERR_MEMORY;
}

/* Each process has a row of runs with nearly as many residuals. */
static perp_status share_runs(perp__predictor *p)
{
    const perp__study *s = p->study;
    int n = perp__ranks();
    long all = p->offset[s->nrun];
    p->first = 0;
    p->last = s->nrun;
    if (!s->options.ranks || n < 2) return PERP_OK;
    if (all > INT_MAX)
        return perp__refuse(s->diag, PERP_ERR_DATA, perp__in(NULL),
                            "%ld samples are more than processes can exchange, %d\n", all, INT_MAX);
    p->of_runs = malloc(3 * ((size_t)n + 1) * sizeof *p->of_runs);
    p->shared = malloc(((size_t)s->nrun + (size_t)n) * sizeof *p->shared);
    if (!p->of_runs || !p->shared) return PERP_ERR_MEMORY;
    p->of_values = p->of_runs + n + 1;
    p->of_ranks = p->of_values + n + 1;
    for (int i = 0, run = 0; i <= n; i++) {
        p->of_ranks[i] = i;
        while (run < s->nrun && (double)p->offset[run] < (double)all * i / n) run++;
        p->of_runs[i] = run;
        p->of_values[i] = (int)p->offset[run];
    }
    p->first = p->of_runs[perp__rank()];
    p->last = p->of_runs[perp__rank() + 1];
    return PERP_OK;
}

perp_status perp__predictor_create(const perp__study *study, perp__predictor **out)
{
    perp__predictor *p = calloc(1, sizeof *p);
    perp_status status = p ? PERP_OK : PERP_ERR_MEMORY;
    *out = p;
    if (!p) return status;
    p->study = study;
    p->stride = 1;
    p->nworker = study->threads < study->nrun ? study->threads : study->nrun;
    p->worker = calloc((size_t)p->nworker, sizeof *p->worker);
    p->offset = calloc((size_t)study->nrun + 1, sizeof *p->offset);
    p->status = calloc((size_t)study->nrun, sizeof *p->status);
    if (!p->worker || !p->offset || !p->status) status = PERP_ERR_MEMORY;
    for (int r = 0; r < study->nrun && status == PERP_OK; r++)
        p->offset[r + 1] = p->offset[r] + (long)study->run[r].rows * study->nm;
    if (status == PERP_OK)
        p->scratch = malloc(((size_t)p->offset[study->nrun] + 1) * sizeof(double));
    if (!p->scratch) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = share_runs(p);
    for (int i = 0; i < p->nworker && status == PERP_OK; i++)
        status = create_worker(study, &p->worker[i]);
    if (status == PERP_OK) return status;
    perp__predictor_destroy(p);
    *out = NULL;
    return status;
}

void perp__predictor_destroy(perp__predictor *p)
{
    if (!p) return;
    for (int i = 0; p->worker && i < p->nworker; i++) {
        for (int k = 0; k < 2; k++) perp_simulation_destroy(p->worker[i].made[k]);
        perp_model_destroy(p->worker[i].model);
        perp_diag_clear(&p->worker[i].diag);
        free(p->worker[i].row);
        free(p->worker[i].slope);
    }
    free(p->worker);
    free(p->offset);
    free(p->of_runs);
    free(p->shared);
    free(p->status);
    free(p->scratch);
    free(p->fault);
    free(p);
}

void perp__predictor_take_part(void *predictor, int part)
{
    perp__predictor *p = predictor;
    p->stride = part && p->study->nrun > PART ? p->study->nrun / PART : 1;
}

long perp__predictor_residuals(const perp__predictor *p)
{
    return p->offset[p->study->nrun];
}

const char *perp__predictor_fault(const perp__predictor *p)
{
    return p->fault ? p->fault : "";
}

/* Runs ---------------------------------------------------------------------------------------- */

void perp__predictor_move_starts(void *predictor, const double *sigma, int sign, int draw)
{
    perp__predictor *p = predictor;
    p->sigma = sigma;
    p->sign = sign;
    p->draw = (uint64_t)draw;
}

/* How far state k is moved in the prediction whose residuals begin at `at`: +- sigma, by a hash
 * (splitmix64's finish). */
static double start_move(const perp__predictor *p, long at, int k)
{
    if (!p->sigma) return 0;
    uint64_t z = (p->draw << 48) + ((uint64_t)at << 12) + (uint64_t)k + PERP__RANDOM_STEP;
    return (perp__mixed(z) >> 63 ? 1 : -1) * p->sign * p->sigma[k];
}

/* Initial states of a prediction that begins at `row`, whose residuals begin at `at`.
 * PERP_ERR_DATA: one is missing there. */
static perp_status set_states(const perp__predictor *p, const perp__recording *r, int row, long at,
                              perp_model *model)
{
    const perp__study *s = p->study;
    perp_status status = PERP_OK;
    for (int k = 0; k < s->nstate && status == PERP_OK; k++) {
        if (s->depends[k]) continue;
        if (!r->state[k] && row > 0) return PERP_ERR_DATA;
        double x = r->state[k] ? r->state[k][row] /* or else the model's, not that of another run */
                               : perp_model_symbol(s->model, PERP_STATE, k).value;
        if (r->state[k] && !perp__starts_exactly(s, r, row, k)) x += start_move(p, at, k);
        if (isnan(x)) return PERP_ERR_DATA;
        status = perp_model_set(model, perp_model_symbol(model, PERP_STATE, k).name, x, NULL);
    }
    return status;
}

static perp_status set_inputs(const perp__study *s, const perp__recording *r, perp_model *model)
{
    perp_status status = PERP_OK;
    for (int k = 0; k < s->ninput && status == PERP_OK; k++) {
        if (r->input[k])
            status = perp_model_set_input_table(model, perp_model_symbol(model, PERP_INPUT, k).name,
                                                r->table, NULL, r->name, NULL);
    }
    return status;
}

static perp_status create_simulation(const perp__predictor *p, worker *w, int follow)
{
    const perp__study *s = p->study;
    const perp__recording *first = &s->run[0];
    perp_simulation *sim;
    perp_simulation_options o = perp_simulation_options_default(w->model);
    o.step = s->step * s->merged / s->parts;
    o.integrator = s->integrator;
    o.from = first->t[0];
    o.to = o.from + (double)first->at[first->rows - 1] * s->step;
    o.parameter = s->options.parameter;
    o.nparameter = s->np;
    perp_status status = perp_simulation_create(w->model, &o, &sim, &w->diag);
    if (status == PERP_OK && follow)
        status = perp_simulation_follow(sim, s->np, s->options.parameter, &w->diag);
    if (status == PERP_OK)
        w->made[follow] = sim;
    else
        perp_simulation_destroy(sim);
    return status;
}

/* The simulation at the first run's start, whichever run is wanted, with the present parameters. */
static perp_status take_parameters(const perp__predictor *p, worker *w, const double *theta,
                                   int follow)
{
    const perp__study *s = p->study;
    const perp__recording *first = &s->run[0];
    if (!perp__set_parameters(s, w->model, theta)) return PERP_ERR_MEMORY;
    perp_status status = set_inputs(s, first, w->model);
    if (status == PERP_OK) status = set_states(p, first, 0, 0, w->model);
    if (status != PERP_OK) return status;
    status =
        w->made[follow]
            ? perp__simulation_revalue(w->made[follow], first->t[0],
                                       s->parts * first->at[first->rows - 1] / s->merged, &w->diag)
            : create_simulation(p, w, follow);
    if (status == PERP_OK) w->sim = w->made[follow];
    return status;
}

/* Residuals of one row; the first row of a prediction is compared only where its value was not
 * taken from the data. */
static void compare(const perp__study *s, const perp__recording *r, int row, int is_first,
                    const double *predicted, double *residual)
{
    for (int j = 0; j < s->nm; j++) {
        const perp__measured *m = &s->measured[j];
        double x = r->measure[j] ? r->measure[j][row] : (double)NAN;
        int given =
            is_first && (m->kind != PERP_STATE || (r->state[m->index] && !s->depends[m->index]));
        residual[j] = given ? (double)NAN : (predicted[m->sim] - x) / m->scale;
    }
}

/* Residuals of one row, which begin at `at` among all, and their derivatives where these are
 * wanted. */
static perp_status compare_row(const perp__predictor *p, worker *w, const perp__recording *r,
                               int row, int is_first, long at)
{
    const perp__study *s = p->study;
    int columns = perp_simulation_columns(w->sim);
    long n = p->offset[s->nrun];
    perp_simulation_row(w->sim, w->row);
    compare(s, r, row, is_first, w->row, p->residual + at);
    if (!p->jacobian) return PERP_OK;
    perp_status status = perp_simulation_derivatives(w->sim, w->slope);
    for (int j = 0; j < s->nm && status == PERP_OK; j++) {
        const perp__measured *m = &s->measured[j];
        for (int k = 0; k < s->np && !isnan(p->residual[at + j]); k++)
            p->jacobian[at + j + k * n] = w->slope[m->sim + k * columns] / m->scale;
    }
    return status;
}

/* From row `first` to row `last` of a run whose residuals begin at `at`. */
static perp_status predict_rows(const perp__predictor *p, worker *w, const perp__recording *r,
                                int first, int last, long at)
{
    const perp__study *s = p->study;
    perp_status status = set_states(p, r, first, at + (long)first * s->nm, w->model);
    if (status == PERP_ERR_DATA) return PERP_OK; /* nothing to predict from */
    if (status != PERP_OK) return status;
    perp__simulation_restart(w->sim, r->t[0] + (double)r->at[first] * s->step,
                             s->parts * (r->at[last] - r->at[first]) / s->merged);
    if (first == 0) status = compare_row(p, w, r, 0, 1, at);
    for (int i = first + 1; i <= last && status == PERP_OK; i++) {
        for (long k = s->parts * (r->at[i] - r->at[i - 1]) / s->merged; k > 0 && status == PERP_OK;
             k--)
            status = perp__run_next(w->sim, NULL, &w->diag);
        if (status == PERP_OK) status = compare_row(p, w, r, i, 0, at + (long)i * s->nm);
    }
    return status;
}

static perp_status predict_run(perp__predictor *p, worker *w, int run)
{
    const perp__study *s = p->study;
    const perp__recording *r = &s->run[run];
    long at = p->offset[run], end = p->offset[run + 1], n = p->offset[s->nrun];
    int horizon = s->options.horizon ? s->options.horizon : r->rows;
    for (long i = at; i < end; i++) p->residual[i] = (double)NAN;
    for (int k = 0; k < s->np && p->jacobian; k++)
        memset(p->jacobian + at + k * n, 0, (size_t)(end - at) * sizeof(double));
    if (run % p->stride != 0) return PERP_OK;
    perp_status status = w->sim ? PERP_OK : w->status;
    if (status == PERP_OK && !w->sim)
        status = w->status = take_parameters(p, w, p->theta, p->jacobian != NULL);
    if (status == PERP_OK) status = set_inputs(s, r, w->model);
    for (int first = 0; first < r->rows - 1 && status == PERP_OK; first += horizon) {
        int last = first + horizon < r->rows ? first + horizon : r->rows - 1;
        status = predict_rows(p, w, r, first, last, at);
    }
    return status;
}

static void job(void *context, int thread, int i)
{
    perp__predictor *p = context;
    int run = p->first + i;
    p->status[run] = predict_run(p, &p->worker[thread], run);
}

/* Keep the first message for a caller who wants to know why there was no value. */
static void keep_fault(perp__predictor *p)
{
    for (int i = 0; i < p->nworker && !p->fault; i++) {
        const char *text = perp_diag_text(&p->worker[i].diag);
        if (!text[0]) continue;
        p->fault = malloc(strlen(text) + 1);
        if (p->fault) strcpy(p->fault, text);
    }
}

/* Are all at the same point? Those with other options, data or mathematical functions would go
 * other ways, each with a part of other predictions. */
static perp_status agree(perp__predictor *p)
{
    const perp__study *s = p->study;
    const unsigned char *byte = (const unsigned char *)p->theta;
    uint64_t hash = perp__hash_byte(PERP__HASH_OF_NOTHING, p->jacobian != NULL);
    double *of = p->shared + s->nrun;
    for (size_t i = 0; i < (size_t)s->np * sizeof *p->theta; i++)
        hash = perp__hash_byte(hash, byte[i]);
    of[perp__rank()] = (double)(hash >> 12);
    perp_status status = perp__ranks_gather(of, p->of_ranks);
    for (int i = 1; i < perp__ranks() && status == PERP_OK; i++) {
        if (of[i] != of[0])
            status = perp__refuse(s->diag, PERP_ERR_UNAVAILABLE, perp__in(NULL),
                                  "process %d of %d is not at the parameters of process 1: its "
                                  "options, data or machine differ\n",
                                  i + 1, perp__ranks());
    }
    return status;
}

/* What became of the runs of the other processes: afterwards all have the same numbers.
 * PERP_ERR_UNAVAILABLE: one of them is not there any more. */
static perp_status exchange(perp__predictor *p)
{
    const perp__study *s = p->study;
    long n = p->offset[s->nrun];
    if (!p->of_runs) return PERP_OK;
    for (int r = p->first; r < p->last; r++) p->shared[r] = p->status[r];
    perp_status status = agree(p);
    if (status == PERP_OK) status = perp__ranks_gather(p->shared, p->of_runs);
    if (status == PERP_OK) status = perp__ranks_gather(p->residual, p->of_values);
    for (int k = 0; k < s->np && p->jacobian && status == PERP_OK; k++)
        status = perp__ranks_gather(p->jacobian + k * n, p->of_values);
    for (int r = 0; r < s->nrun && status == PERP_OK; r++) p->status[r] = (perp_status)p->shared[r];
    if (status == PERP_ERR_UNAVAILABLE && !perp_diag_text(s->diag)[0])
        perp__refuse(s->diag, status, perp__in(NULL), "%s\n", perp__ranks_fault());
    return status;
}

/* PERP_OK, PERP_ERR_MEMORY where that is what a run failed of, else the first run's fault. */
static perp_status predict_all(perp__predictor *p, const double *theta)
{
    perp_status status = PERP_OK;
    p->theta = theta;
    for (int i = 0; i < p->nworker; i++) {
        p->worker[i].sim = NULL;
        p->worker[i].status = PERP_OK;
        perp_diag_clear(&p->worker[i].diag);
    }
    perp__parallel(p->nworker, p->last - p->first, job, p);
    status = exchange(p);
    for (int r = 0; r < p->study->nrun; r++) {
        if (status == PERP_OK || p->status[r] == PERP_ERR_MEMORY) status = p->status[r];
    }
    return status;
}

perp_status perp__predictor_evaluate(void *predictor, const double *theta, double *residual)
{
    perp__predictor *p = predictor;
    p->residual = residual;
    p->jacobian = NULL;
    perp_status status = predict_all(p, theta);
    if (status != PERP_OK) keep_fault(p);
    return status;
}

perp_status perp__predictor_differentiate(void *predictor, const double *theta, double *jacobian)
{
    perp__predictor *p = predictor;
    p->residual = p->scratch;
    p->jacobian = jacobian;
    return predict_all(p, theta);
}
