/* guess simulate: states and vars start from a simulation with the guessed inputs over the guessed
 * horizon. */

#include "base/tol.h"
#include "model/plan_block.h"
#include "plan/plan.h"
#include "perp/simulate.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulated {
    const perp__program *g;
    double *row; /* (K + 1) rows of states and vars */
    long rows;
    double step;
} simulated;

static perp_status keep_row(void *context, long step, const double *row)
{
    simulated *u = context;
    int n = u->g->ns + u->g->nv;
    if (step <= u->g->K) memcpy(u->row + step * n, row + 1, (size_t)n * sizeof *row);
    u->rows = step + 1;
    return PERP_OK;
}

/* Chosen input k at the nodes, as a table of the model's copy. Returns 0: memory. */
static int set_input(perp_model *m, const perp__program *g, const double *w, const double *p, int k)
{
    size_t n = (size_t)g->K + 1,
           j = (size_t)((g->npoint - 1) * g->nb + g->nx + g->nv + g->nsplit + k);
    double *time = malloc(2 * n * sizeof *time), *value = time ? time + n : NULL;
    for (size_t i = 0; i < n && time; i++) {
        int step = i > 0 ? (int)i - 1 : 0;
        time[i] = perp__program_time(g, p, step) + (i > 0 ? perp__program_step(g, p, step) : 0);
        value[i] = w[j * (size_t)g->K + (size_t)step];
    }
    if (time && g->scheme.is_weighted) value[0] = perp__program_pre(g, w, p, g->ns + k, 0);
    int ok = time && perp__item_set_table(&m->item[PERP_INPUT][g->input_item[k]], time, value,
                                          (int)n, "the guess");
    free(time);
    return ok;
}

/* A copy of the model with the guessed inputs, parameters and initial values. NULL: memory. */
static perp_model *copy_model(const perp__program *g, const double *w, const double *p)
{
    perp_model *m = NULL;
    if (perp__model_clone(g->model, &m) != PERP_OK) return NULL;
    int ok = 1;
    for (int i = 0; i < g->param.n; i++)
        ok &= perp_model_set(m, m->item[PERP_PARAM][g->param.item[i]].name, p[g->param.p + i],
                             NULL) == PERP_OK;
    for (int i = 0; i < g->ns; i++)
        ok &= perp_model_set(m, m->item[PERP_STATE][i].name, perp__program_pre(g, w, p, i, 0),
                             NULL) == PERP_OK;
    for (int k = 0; k < g->nu && ok; k++) ok = set_input(m, g, w, p, k);
    if (ok) return m;
    perp_model_destroy(m);
    return NULL;
}

/* States go straight from row to row, vars belong to the step before their row. */
static void take_rows(const simulated *u, double *w, const double *p)
{
    const perp__program *g = u->g;
    int n = g->ns + g->nv;
    for (int c = 0; c < g->npoint; c++)
        for (int k = 0; k < g->K; k++) {
            double t = perp__program_time(g, p, k) + g->scheme.c[c] * perp__program_step(g, p, k);
            double place = (t - g->from) / u->step;
            int after = (int)fmin(fmax(ceil(place - PERP_TOL_WHOLE), 1), g->K);
            const double *to = u->row + (size_t)after * (size_t)n, *before = to - n;
            for (int i = 0; i < n; i++) {
                int j = c * g->nb + (i < g->ns ? i : g->nx + i - g->ns);
                size_t at = (size_t)j * (size_t)g->K + (size_t)k;
                double x =
                    i < g->ns ? before[i] + (place - after + 1) * (to[i] - before[i]) : to[i];
                w[at] = fmax(g->bound.wlo[at], fmin(g->bound.whi[at], x));
            }
        }
}

static void say_stopped(const perp__program *g, const perp_diag *why, perp_diag *diag)
{
    perp__place place = perp__source_place(&g->model->source, g->model->plan->simulates_at);
    perp__diag_append(
        diag,
        "%s:%ld:%ld: the simulation with the guessed inputs stopped; the other guesses "
        "are used without it\n%s",
        place.file, place.line, place.column, perp_diag_text(why));
}

int perp__plan_guess_simulate(const perp_plan_options *o, const perp__program *g, double *w,
                              const double *p, perp_diag *diag)
{
    simulated u = {.g = g};
    perp_diag why = {0};
    perp_simulation *sim = NULL;
    perp_model *m = copy_model(g, w, p);
    perp_simulation_options so = perp_simulation_options_default(m);
    double T = perp__program_time(g, p, g->K - 1) + perp__program_step(g, p, g->K - 1) - g->from;
    u.row = malloc(((size_t)g->K + 1) * (size_t)(g->ns + g->nv) * sizeof *u.row);
    u.step = T / g->K;
    so.from = g->from;
    so.to = g->from + T * (1 + PERP_TOL_SAME); /* rounding must not cost the last step */
    so.step = u.step;
    so.integrator = g->scheme.is_weighted ? PERP_THETA : PERP_BACKWARD_EULER;
    so.theta = o->theta;
    perp_status status = PERP_ERR_MEMORY;
    if (m && u.row) status = perp_simulation_create(m, &so, &sim, &why);
    if (status == PERP_OK) status = perp__run_whole(sim, keep_row, &u, &why);
    if (status == PERP_OK && u.rows > g->K)
        take_rows(&u, w, p);
    else if (status != PERP_ERR_MEMORY)
        say_stopped(g, &why, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    perp_diag_clear(&why);
    free(u.row);
    return status != PERP_ERR_MEMORY;
}
