/* Derivatives of the next steps of a run, forward along one direction or backward from weights of its rows. Backward, what each solved step was is kept:
 * symbols and sides. Where that is too much for all, snapshots are kept at the beginnings of parts, and each part is run again before it is gone back
 * through. */

#include "simulate/adjoint.h"
#include "simulate/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of records that are kept without running anything again. */
enum { RECORDS = 1 << 24 };

/* Going along with the steps of a simulation. */
struct perp__course {
    const perp_run_stretch *of;
    perp__sensitivity *slopes; /* by parameters, tables and tables before */
    int nt;                    /* tables */
    int *input;                /* of each table: which of the stretch's inputs it is, or -1 */
    char *first;               /* of each table: the first value holds before the first step, too */
    long step;                 /* of the stretch, which is being taken */
    double
        *share; /* nt at the end of a solved step, nt at its beginning: of the value that was set */
    const double *change; /* of values, steps by inputs; NULL where they do not change */
    int is_forward, is_recording;
    unsigned char *record;
    size_t size, capacity, n; /* bytes of one, how many there is room for, and are */
    int is_lost, is_out_of_memory;
};

/* The shares of the values that were set in what the tables are, for the step in the workspace. */
static void put_shares(const perp_simulation *sim, perp__course *c)
{
    const perp__driven *d = &sim->driven;
    const double *ws = sim->step.ws;
    for (int k = 0; k < c->nt; k++)
        for (int at = 0; at < 2; at++) {
            double t = ws[at ? SYM_T_PRE : SYM_T];
            double share =
                t == d->end || isnan(d->from[k]) ? 1 : (t - d->begin) / (d->end - d->begin);
            if (isnan(d->held[k]) || c->input[k] < 0) share = 0;
            c->share[at * c->nt + k] = share;
        }
}

/* The value that was set before the one of this step, or that one again; -1: none of the stretch. */
static long value_before(const perp__course *c, int table, long step)
{
    return step > 0 ? step - 1 : c->first[table] ? 0 : -1;
}

static void advance_forward(const perp_simulation *sim, perp__course *c)
{
    double *given = perp__sensitivity_given(c->slopes);
    put_shares(sim, c);
    for (int i = 0; i < 2 * c->nt; i++) {
        int k = i % c->nt, input = c->input[k], n = c->of->ninput;
        long before = value_before(c, k, c->step);
        given[i] = 0;
        if (input < 0 || !c->change || isnan(sim->driven.held[k])) continue;
        given[i] = c->share[i] * c->change[c->step * n + input];
        if (before >= 0) given[i] += (1 - c->share[i]) * c->change[before * n + input];
    }
    perp__sensitivity_advance(c->slopes);
}

/* A record: which step of the stretch, shares, symbols, sides. */
static void keep(const perp_simulation *sim, perp__course *c)
{
    const perp__step *s = &sim->step;
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 64;
        unsigned char *record = realloc(c->record, capacity * c->size);
        c->is_out_of_memory |= !record;
        if (!record) return;
        c->record = record, c->capacity = capacity;
    }
    unsigned char *at = c->record + c->n++ * c->size;
    size_t shares = 2 * (size_t)c->nt * sizeof(double), symbols = (size_t)s->sym.n * sizeof(double);
    put_shares(sim, c);
    memcpy(at, &c->step, sizeof c->step), at += sizeof c->step;
    if (shares) memcpy(at, c->share, shares);
    at += shares;
    memcpy(at, s->ws, symbols);
    if (s->np) memcpy(at + symbols, s->on, 2 * (size_t)s->np);
}

void perp__course_note(perp_simulation *sim)
{
    perp__course *c = sim->course;
    if (!c) return;
    if (c->is_forward) advance_forward(sim, c);
    if (c->is_recording) keep(sim, c);
}

/* One more step of the stretch. */
static perp_status take_step(perp_simulation *sim, perp__course *c, perp_diag *diag)
{
    const perp_run_stretch *of = c->of;
    perp_status status = PERP_OK;
    for (int k = 0; k < of->ninput && of->value && status == PERP_OK; k++)
        status = perp_simulation_set_input(sim, of->input[k], of->value[c->step * of->ninput + k]);
    if (status == PERP_OK) status = perp_simulation_step(sim, NULL, diag);
    c->step++;
    return c->is_out_of_memory ? PERP_ERR_MEMORY : status;
}

/* Creation ------------------------------------------------------------------------------------ */

static perp_status refuse(const perp_simulation *sim, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                        "no derivatives of this stretch: %s\n", why);
}

static perp_status check(const perp_simulation *sim, const perp_run_stretch *of, perp_diag *diag)
{
    const perp_model *m = sim->model;
    if (of->size != sizeof *of || of->steps < 1 || of->ninput < 0 || of->nparameter < 0 ||
        (of->ninput > 0 && !of->input) || (of->nparameter > 0 && !of->parameter))
        return refuse(sim, "its size, steps, inputs or parameters are not as they must be", diag);
    if (of->steps > sim->nstep - sim->done) return refuse(sim, "the run ends before it does", diag);
    if (sim->events)
        return refuse(sim, "its steps end at events; perp_simulation_follow has those of such runs",
                      diag);
    if (sim->parts)
        return refuse(sim, "its steps are in parts, and derivatives are those of whole ones", diag);
    for (int k = 0; k < of->ninput; k++)
        if (of->input[k] < 0 || of->input[k] >= m->nitem[PERP_INPUT] ||
            sim->driven.slot[of->input[k]] < 0)
            return refuse(sim, "an input may not be set; the options of creation name those", diag);
    for (int k = 0; k < of->nparameter; k++)
        if (of->parameter[k] < 0 || of->parameter[k] >= m->nitem[PERP_PARAM] ||
            m->item[PERP_PARAM][of->parameter[k]].is_structural)
            return refuse(sim, "a parameter is none, or sets the size of the model", diag);
    return perp__run_check_followed(sim, of->nparameter, of->parameter, diag);
}

static void end_course(perp_simulation *sim, perp__course *c)
{
    sim->course = NULL;
    perp__sensitivity_destroy(c->slopes);
    free(c->input), free(c->first), free(c->share), free(c->record);
}

static perp_status begin_course(perp_simulation *sim, perp__course *c, const perp_run_stretch *of,
                                int is_forward, perp_diag *diag)
{
    const perp__step *s = &sim->step;
    size_t nt = (size_t)s->table.n;
    perp_status status = check(sim, of, diag);
    *c = (perp__course){.of = of, .nt = s->table.n, .is_forward = is_forward};
    if (status != PERP_OK) return status;
    int *given = malloc((2 * nt + 1) * sizeof *given);
    c->input = malloc((nt + 1) * sizeof *c->input);
    c->first = malloc(nt + 1);
    c->share = malloc((2 * nt + 1) * sizeof *c->share);
    int ok = given && c->input && c->first && c->share;
    for (int k = 0; ok && k < c->nt; k++) {
        given[k] = s->sym.table + k, given[c->nt + k] = s->sym.table_pre + k;
        c->input[k] = -1;
        c->first[k] = (char)(isnan(s->ws[s->sym.table + k]) != 0);
        for (int i = 0; i < of->ninput; i++)
            if (of->input[i] == s->table.input[k]) c->input[k] = i;
    }
    const perp__followed by = {.nparam = of->nparameter,
                               .param = of->parameter,
                               .ngiven = 2 * c->nt,
                               .given = given,
                               .is_one = 1};
    if (ok) c->slopes = perp__sensitivity_create(&sim->step, &by);
    free(given);
    c->size = sizeof c->step + (2 * nt + (size_t)s->sym.n) * sizeof(double) + 2 * (size_t)s->np;
    c->size = (c->size + 7) / 8 * 8;
    if (!c->slopes) return PERP_ERR_MEMORY;
    sim->course = c;
    return PERP_OK;
}

static perp_status finish(perp_simulation *sim, perp__course *c, perp_status status,
                          perp_diag *diag)
{
    if (status == PERP_OK && c->is_lost)
        status = perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(sim->model->source.name),
                              "the sides in force at step %ld of the stretch do not determine it, "
                              "so it has no derivatives\n",
                              c->step);
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, sim->model->source.name);
    end_course(sim, c);
    return status;
}

/* Forward --------------------------------------------------------------------------------------- */

perp_status perp_simulation_jvp(perp_simulation *sim, const perp_run_stretch *of,
                                const perp_run_change *change, double *row, perp_diag *diag)
{
    perp__course c;
    if (!sim || !of || !change || !row) return PERP_ERR_ARG;
    perp_status status = begin_course(sim, &c, of, 1, diag);
    if (status == PERP_OK) {
        double *state = perp__sensitivity_states(c.slopes),
               *seed = perp__sensitivity_seed(c.slopes);
        perp__sensitivity_trust(c.slopes);
        for (int i = 0; i < sim->step.nx; i++) state[i] = change->state ? change->state[i] : 0;
        for (int k = 0; k < of->nparameter; k++)
            seed[k] = change->parameter ? change->parameter[k] : 0;
        c.change = change->value;
    }
    while (status == PERP_OK && c.step < of->steps && !c.is_lost) {
        status = take_step(sim, &c, diag);
        c.is_lost = status == PERP_OK && !perp__sensitivity_known(c.slopes);
        if (status != PERP_OK || (!of->every_row && c.step < of->steps)) continue;
        perp__sensitivity_get(c.slopes, row, sim->ncolumn);
        row += sim->ncolumn;
    }
    return finish(sim, &c, status, diag);
}

/* Backward -------------------------------------------------------------------------------------- */

/* Record k: into the workspace; its step of the stretch. */
static long put_record(perp_simulation *sim, perp__course *c, size_t k)
{
    perp__step *s = &sim->step;
    const unsigned char *at = c->record + k * c->size;
    size_t shares = 2 * (size_t)c->nt * sizeof(double), symbols = (size_t)s->sym.n * sizeof(double);
    long step;
    memcpy(&step, at, sizeof step), at += sizeof step;
    if (shares) memcpy(c->share, at, shares);
    at += shares;
    memcpy(s->ws, at, symbols);
    if (s->np) memcpy(s->on, at + symbols, 2 * (size_t)s->np);
    return step;
}

static void add_values(const perp__course *c, long step, const double *given, double *value)
{
    for (int i = 0; i < 2 * c->nt && value; i++) {
        int k = i % c->nt, input = c->input[k], n = c->of->ninput;
        long before = value_before(c, k, step);
        if (input < 0) continue;
        value[step * n + input] += c->share[i] * given[i];
        if (before >= 0) value[before * n + input] += (1 - c->share[i]) * given[i];
    }
}

/* Through all records, from the last one on. */
static void go_back(perp_simulation *sim, perp__course *c, const double *weight, double *state,
                    double *param, double *given, double *value)
{
    long last = -1;
    size_t ncolumn = (size_t)sim->ncolumn;
    while (c->n > 0 && !c->is_lost) {
        long step = put_record(sim, c, --c->n);
        int is_end = step != last; /* of a step that was taken in parts, the last one has the row */
        const double *w = !is_end                    ? NULL
                          : c->of->every_row         ? weight + (size_t)step * ncolumn
                          : step + 1 == c->of->steps ? weight
                                                     : NULL;
        last = step;
        c->is_lost = !perp__sensitivity_back(c->slopes, w, state, param, given);
        if (c->is_lost)
            c->step = step + 1;
        else
            add_values(c, step, given, value);
    }
}

/* Parts of a stretch, with a snapshot at the beginning of each; behind them one of its end. */
typedef struct parts {
    long length, n;
    size_t size;
    unsigned char *snapshot;
} parts;

static int plan_parts(const perp_simulation *sim, const perp__course *c, parts *p)
{
    long steps = c->of->steps, root = (long)ceil(sqrt((double)steps)),
         room = (long)(RECORDS / c->size);
    p->length = root > room ? root : room < steps ? room : steps;
    p->n = (steps + p->length - 1) / p->length;
    p->size = (perp_simulation_snapshot_size(sim) + 15) / 16 * 16;
    p->snapshot = malloc((size_t)(p->n + 1) * p->size);
    return p->snapshot != NULL;
}

/* Part k, recorded. */
static perp_status take_part(perp_simulation *sim, perp__course *c, const parts *p, long k,
                             perp_diag *diag)
{
    long end = (k + 1) * p->length;
    perp_status status = PERP_OK;
    if (end > c->of->steps) end = c->of->steps;
    for (c->step = k * p->length, c->n = 0; c->step < end && status == PERP_OK;)
        status = take_step(sim, c, diag);
    return status;
}

static perp_status take_all(perp_simulation *sim, perp__course *c, const parts *p, perp_diag *diag)
{
    perp_status status = PERP_OK;
    for (long k = 0; k < p->n && status == PERP_OK; k++) {
        perp_simulation_snapshot(sim, p->snapshot + (size_t)k * p->size, p->size);
        c->is_recording = k + 1 == p->n;
        status = take_part(sim, c, p, k, diag);
    }
    if (status == PERP_OK)
        perp_simulation_snapshot(sim, p->snapshot + (size_t)p->n * p->size, p->size);
    return status;
}

perp_status perp_simulation_vjp(perp_simulation *sim, const perp_run_stretch *of,
                                const double *weight, const perp_run_change *gradient,
                                perp_diag *diag)
{
    perp__course c;
    parts p = {0};
    if (!sim || !of || !weight || !gradient) return PERP_ERR_ARG;
    perp_status status = begin_course(sim, &c, of, 0, diag);
    size_t nx = (size_t)sim->step.nx, np = (size_t)of->nparameter;
    double *state =
               status == PERP_OK ? calloc(nx + np + 2 * (size_t)c.nt + 1, sizeof *state) : NULL,
           *param = state ? state + nx : NULL, *given = state ? param + np : NULL;
    if (status == PERP_OK && (!state || !plan_parts(sim, &c, &p))) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = take_all(sim, &c, &p, diag);
    if (status == PERP_OK && gradient->value)
        memset(gradient->value, 0, (size_t)of->steps * (size_t)of->ninput * sizeof(double));
    for (long k = p.n - 1; k >= 0 && status == PERP_OK && !c.is_lost; k--) {
        if (k + 1 < p.n)
            status = perp_simulation_restore(sim, p.snapshot + (size_t)k * p.size, p.size, diag);
        c.is_recording = 1;
        if (k + 1 < p.n && status == PERP_OK) status = take_part(sim, &c, &p, k, diag);
        if (status == PERP_OK) go_back(sim, &c, weight, state, param, given, gradient->value);
    }
    if (status == PERP_OK)
        status = perp_simulation_restore(sim, p.snapshot + (size_t)p.n * p.size, p.size, diag);
    int is_known = status == PERP_OK && !c.is_lost;
    if (is_known && gradient->state && nx) memcpy(gradient->state, state, nx * sizeof *state);
    if (is_known && gradient->parameter && np)
        memcpy(gradient->parameter, param, np * sizeof *param);
    free(state), free(p.snapshot);
    return finish(sim, &c, status, diag);
}
