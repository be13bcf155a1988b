/* Many copies of a simulation, stepped by threads, some side by side. */

#include "base/parallel.h"
#include "perp/batch.h"
#include "simulate/lanes.h"
#include "simulate/stepping.h"

#include <stdlib.h>

struct perp_batch {
    int count, threads, nchunk;
    perp_simulation **copy;
    perp_status *status; /* count: of the last step */
    perp__lanes **lanes; /* one a thread; NULL: copies step alone */
    perp_diag *diag;     /* count: why it failed, while a step is in hand */
    long steps;
};

static perp_status make_copies(perp_batch *b, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (int i = 1; i < b->count && status == PERP_OK; i++)
        status = perp_simulation_clone(b->copy[0], &b->copy[i], diag);
    for (int i = 0; i < b->threads && status == PERP_OK; i++)
        if (!perp__lanes_create(b->copy[0], &b->lanes[i]))
            status = perp__out_of_memory(diag, b->copy[0]->model->source.name);
    return status;
}

perp_status perp_batch_create(const perp_model *model, const perp_simulation_options *options,
                              int count, int threads, perp_batch **out, perp_diag *diag)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    if (!model || count < 1 || threads < 0) return PERP_ERR_ARG;
    perp_batch *b = calloc(1, sizeof *b);
    if (!b) return perp__out_of_memory(diag, model->source.name);
    b->count = count;
    b->threads = threads ? threads : perp__processors();
    b->nchunk = (count + PERP__LANES - 1) / PERP__LANES;
    b->copy = calloc((size_t)count, sizeof *b->copy);
    b->status = calloc((size_t)count, sizeof *b->status);
    b->lanes = calloc((size_t)b->threads, sizeof *b->lanes);
    b->diag = calloc((size_t)count, sizeof *b->diag);
    perp_status status = !b->copy || !b->status || !b->lanes || !b->diag
                             ? perp__out_of_memory(diag, model->source.name)
                             : perp_simulation_create(model, options, &b->copy[0], diag);
    if (status == PERP_OK) status = make_copies(b, diag);
    if (status == PERP_OK)
        *out = b;
    else
        perp_batch_destroy(b);
    return status;
}

void perp_batch_destroy(perp_batch *b)
{
    if (!b) return;
    for (int i = 0; b->copy && i < b->count; i++) perp_simulation_destroy(b->copy[i]);
    for (int i = 0; b->lanes && i < b->threads; i++) perp__lanes_destroy(b->lanes[i]);
    free(b->copy);
    free(b->status);
    free(b->lanes);
    free(b->diag);
    free(b);
}

int perp_batch_count(const perp_batch *b)
{
    return b ? b->count : 0;
}

perp_simulation *perp_batch_simulation(perp_batch *b, int i)
{
    return b && i >= 0 && i < b->count ? b->copy[i] : NULL;
}

static perp_status set_all(perp_batch *b, int what, const double *value,
                           perp_status (*set)(perp_simulation *sim, int what, double value))
{
    perp_status status = b && value ? PERP_OK : PERP_ERR_ARG;
    for (int i = 0; status == PERP_OK && i < b->count; i++)
        status = set(b->copy[i], what, value[i]);
    return status;
}

perp_status perp_batch_set_state(perp_batch *b, int state, const double *value)
{
    return set_all(b, state, value, perp_simulation_set_state);
}

perp_status perp_batch_set_input(perp_batch *b, int input, const double *value)
{
    return set_all(b, input, value, perp_simulation_set_input);
}

perp_status perp_batch_set_parameter(perp_batch *b, int parameter, const double *value)
{
    return set_all(b, parameter, value, perp_simulation_set_parameter);
}

static void step_chunk(void *context, int thread, int i)
{
    perp_batch *b = context;
    int first = i * PERP__LANES, n = b->count - first;
    perp__lanes_step(b->lanes[thread], b->copy + first, n < PERP__LANES ? n : PERP__LANES, b->steps,
                     b->status + first, b->diag + first);
}

perp_status perp_batch_step(perp_batch *b, long steps, int *solved, perp_diag *diag)
{
    if (!b || steps < 0 || !solved) return PERP_ERR_ARG;
    b->steps = steps;
    perp__parallel(b->threads, b->nchunk, step_chunk, b);
    perp_status status = PERP_OK,
                first = PERP_OK; /* the first that was not carried out; that failed */
    *solved = 0;
    for (int i = 0; i < b->count; i++) {
        perp_status is = b->status[i];
        *solved += is == PERP_OK;
        if (is != PERP_OK && first == PERP_OK && is == PERP_ERR_MEMORY)
            perp__out_of_memory(diag, b->copy[i]->model->source.name);
        else if (is != PERP_OK && first == PERP_OK)
            perp__refuse(diag, is, perp__in(NULL), "copy %d: %s", i, perp_diag_text(&b->diag[i]));
        if (first == PERP_OK) first = is;
        if (status == PERP_OK && is != PERP_ERR_NO_SOLUTION) status = is;
        perp_diag_clear(&b->diag[i]);
    }
    return status;
}

perp_status perp_batch_status(const perp_batch *b, int i, perp_outcome *outcome)
{
    if (!b || i < 0 || i >= b->count) return PERP_ERR_ARG;
    perp_outcome is = b->copy[i]->summary.outcome;
    perp_status status = perp__run_outcome(b->status[i], &is);
    if (outcome) *outcome = b->status[i] == PERP_OK ? PERP_SOLVED : is;
    return status;
}

perp_status perp_batch_gather(perp_batch *b, int n, const int *column, double *value)
{
    if (!b || n < 0 || (n > 0 && (!column || !value))) return PERP_ERR_ARG;
    int whole = 0; /* an output is wanted: the row has all of them at once */
    for (int j = 0; j < n; j++) {
        if (column[j] < 0 || column[j] >= b->copy[0]->ncolumn) return PERP_ERR_ARG;
        whole |= column[j] > b->copy[0]->step.layout->nx + b->copy[0]->model->nvar;
    }
    for (int i = 0; i < b->count; i++) {
        perp_simulation *sim = b->copy[i];
        if (whole) perp_simulation_row(sim, sim->row);
        for (int j = 0; j < n; j++)
            *value++ = whole ? sim->row[column[j]] : perp_simulation_value(sim, column[j]);
    }
    return PERP_OK;
}

void perp_batch_reset(perp_batch *b, const unsigned char *which)
{
    for (int i = 0; b && i < b->count; i++)
        if (!which || which[i]) perp_simulation_reset(b->copy[i]);
}
