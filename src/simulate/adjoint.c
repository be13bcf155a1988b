/* Derivatives of the next steps of a run: forward along one direction, or backward from weights of
 * its rows. Backward, symbols and sides of each solved step are kept (backward.c). If that takes
 * too much memory, snapshots are kept at the beginnings of parts, and each part is run again before
 * its backward pass. */

#include "simulate/adjoint.h"
#include "simulate/backward.h"
#include "simulate/events.h"
#include "simulate/saltation.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of records that are kept without running anything again. */
enum { RECORDS = 1 << 24 };

/* Going along with the steps of a simulation. */
struct perp__course {
    const perp_run_stretch *of;
    perp__sensitivity *slopes; /* by parameters, tables and tables before */
    int nt, ncolumn;           /* tables; columns of a row */
    int *input;                /* of each table: which of the stretch's inputs it is, or -1 */
    char *first;               /* of each table: the first value holds before the first step, too */
    long step;                 /* of the stretch, which is being taken */
    const double *change;      /* of values, steps by inputs; NULL where they do not change */
    double *moved;             /* nt, by what was set last and before that: of the step in hand */
    int is_forward, is_recording, is_lost;
    perp__saltation *saltation; /* through events, forward */
    perp__backward back;
    const double *weight;
    long last; /* the step of the record that was gone through last */
};

/* The value that was set before the one of this step, or that one again; -1: none of the
 * stretch. */
static long value_before(const perp__course *c, int table, long step)
{
    if (step > 0) return step - 1;
    return c->first[table] ? 0 : -1;
}

/* How what the tables are set to in this step moves, and how what they were set to before that. */
static void move_tables(const perp_simulation *sim, perp__course *c)
{
    for (int k = 0; k < c->nt; k++) {
        int input = c->input[k], n = c->of->ninput, moves = input >= 0 && c->change;
        long before = value_before(c, k, c->step);
        moves = moves && !isnan(sim->driven.held[k]);
        c->moved[k] = moves ? c->change[c->step * n + input] : 0;
        c->moved[c->nt + k] = moves && before >= 0 ? c->change[before * n + input] : 0;
    }
}

/* ... moves them at a time of it. */
static double moved_at(const perp_simulation *sim, const perp__course *c, int k, double t)
{
    const perp__driven *d = &sim->driven;
    double share = t == d->end ? 1 : (t - d->begin) / (d->end - d->begin);
    return share * c->moved[k] + (1 - share) * c->moved[c->nt + k];
}

static void put_given(const perp_simulation *sim, perp__course *c, double t, double t0)
{
    double *given = perp__sensitivity_given(c->slopes);
    for (int k = 0; k < c->nt; k++) {
        given[k] = moved_at(sim, c, k, t);
        given[c->nt + k] = moved_at(sim, c, k, t0);
    }
}

void perp__course_note(perp_simulation *sim)
{
    perp__course *c = sim->course;
    const double *ws = sim->step.ws;
    if (!c) return;
    if (c->is_recording) perp__backward_note_solved(&c->back);
    if (!c->is_forward) return;
    put_given(sim, c, ws[SYM_T], ws[SYM_T_PRE]);
    perp__sensitivity_advance(c->slopes);
}

/* One more step of the stretch. */
static perp_status take_step(perp_simulation *sim, perp__course *c, perp_diag *diag)
{
    const perp_run_stretch *of = c->of;
    perp_status status = PERP_OK;
    for (int k = 0; k < of->ninput && of->value && status == PERP_OK; k++)
        status = perp_simulation_set_input(sim, of->input[k], of->value[c->step * of->ninput + k]);
    double begin = perp_simulation_time(sim), end = perp__run_time(sim, sim->done + 1);
    c->back.stamp = (perp__stamp){.step = c->step, .begin = begin, .end = end, .row = -1};
    c->back.wants_row = c->is_recording && (of->every_row || c->step + 1 == of->steps);
    if (c->is_forward) move_tables(sim, c);
    for (int i = 0; i < 2 * c->nt && c->saltation; i++) /* of the row at the end */
        perp__sensitivity_given(c->slopes)[i] = c->moved[i % c->nt];
    if (status == PERP_OK) status = perp__run_next(sim, NULL, diag);
    c->step++;
    return c->back.records.is_out_of_memory ? PERP_ERR_MEMORY : status;
}

/* Creation ------------------------------------------------------------------------------------ */

static perp_status refuse(const perp_simulation *sim, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                        "no derivatives of this stretch: %s\n", why);
}

static perp_status check(const perp_simulation *sim, const perp_run_stretch *of, int is_forward,
                         perp_diag *diag)
{
    const perp_model *m = sim->model;
    size_t least = offsetof(perp_run_stretch, kind); /* of programs that know no kind */
    if (of->size < least || of->size > sizeof *of || of->steps < !is_forward || of->ninput < 0 ||
        of->nparameter < 0 || (of->ninput > 0 && !of->input) ||
        (of->nparameter > 0 && !of->parameter))
        return refuse(sim, "its size, steps, inputs or parameters are not as they must be", diag);
    if (of->steps > sim->nstep - sim->done) return refuse(sim, "the run ends before it does", diag);
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
    if (sim->course && sim->events) perp__events_end_stretch(sim->events);
    /* it was not propagated */
    if (sim->course && sim->events && sim->sensitivity) perp__sensitivity_lose(sim->sensitivity);
    sim->course = NULL;
    perp__sensitivity_destroy(c->slopes);
    perp__backward_clear(&c->back);
    free(c->input);
    free(c->first);
    free(c->moved);
}

static perp_status begin_course(perp_simulation *sim, perp__course *c, const perp_run_stretch *of,
                                int is_forward, perp_diag *diag)
{
    const perp__step *s = &sim->step;
    size_t nt = (size_t)s->layout->table.n;
    perp_status status = check(sim, of, is_forward, diag);
    *c = (perp__course){.of = of, .nt = s->layout->table.n, .is_forward = is_forward};
    if (status != PERP_OK) return status;
    int *given = malloc((2 * nt + 1) * sizeof *given);
    c->input = malloc((nt + 1) * sizeof *c->input);
    c->first = malloc(nt + 1);
    c->moved = calloc(2 * nt + 1, sizeof *c->moved);
    int ok = given && c->input && c->first && c->moved;
    for (int k = 0; ok && k < c->nt; k++) {
        given[k] = s->layout->sym.table + k;
        given[c->nt + k] = s->layout->sym.table_pre + k;
        c->input[k] = -1;
        c->first[k] = (char)(isnan(s->ws[s->layout->sym.table + k]) != 0);
        for (int i = 0; i < of->ninput; i++)
            if (of->input[i] == s->layout->table.input[k]) c->input[k] = i;
    }
    const perp__followed by = {.nparam = of->nparameter,
                               .param = of->parameter,
                               .ngiven = 2 * c->nt,
                               .given = given,
                               .tells_bounds = 1,
                               .is_one = 1};
    if (ok) c->slopes = perp__sensitivity_create(&sim->step, &by);
    free(given);
    if (!c->slopes) return PERP_ERR_MEMORY;
    c->back.whole = &sim->step;
    c->back.of_whole = c->slopes;
    c->back.is_new = 1;
    if (sim->events) {
        c->saltation =
            perp__events_begin_stretch(sim->events, &by, c->slopes, is_forward ? NULL : &c->back);
        if (!c->saltation) return PERP_ERR_MEMORY;
    }
    sim->course = c;
    return is_forward || perp__backward_create(&c->back) ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status finish(perp_simulation *sim, perp__course *c, perp_status status,
                          perp_diag *diag)
{
    if (status == PERP_OK && c->is_lost)
        status =
            perp__refuse(diag, PERP_ERR_NO_SOLUTION, perp__in(sim->model->source.name),
                         "the sides in force at step %ld of the stretch do not determine it%s, "
                         "so it has no derivatives\n",
                         c->step, sim->events ? ", or an event there moves infinitely fast" : "");
    if (status == PERP_ERR_MEMORY) perp__out_of_memory(diag, sim->model->source.name);
    end_course(sim, c);
    return status;
}

/* Forward -------------------------------------------------------------------------------------- */

/* No step: the row where the run is, along states, parameters and what inputs are now. */
static void take_none(const perp__course *c)
{
    double *given = perp__sensitivity_given(c->slopes);
    for (int k = 0; k < c->nt; k++)
        if (c->input[k] >= 0 && c->change) given[k] = c->change[c->input[k]];
    perp__sensitivity_here(c->slopes);
}

/* Does an entry of a row count? */
static int counts(const double *weight, int ncolumn)
{
    for (int c = 1; c < ncolumn - 1; c++)
        if (weight[c] != 0) return 1;
    return 0;
}

/* weight: of all rows except those of zeros; each counts by its kind; NULL: the last row
 * counts. */
static perp_status go_along(perp_simulation *sim, const perp_run_stretch *of,
                            const perp_run_change *change, double *row, const double *weight,
                            perp_diag *diag)
{
    perp__course c;
    perp_status status = begin_course(sim, &c, of, 1, diag);
    if (status == PERP_OK) {
        double *state = perp__sensitivity_states(c.slopes),
               *seed = perp__sensitivity_seed(c.slopes);
        perp__sensitivity_trust(c.slopes);
        for (int i = 0; i < sim->step.layout->nx; i++)
            state[i] = change->state ? change->state[i] : 0;
        for (int k = 0; k < of->nparameter; k++)
            seed[k] = change->parameter ? change->parameter[k] : 0;
        c.change = change->value;
        if (c.saltation) perp__saltation_direct(c.saltation, seed, c.moved, c.moved + c.nt);
    }
    if (status == PERP_OK && of->steps == 0) {
        take_none(&c);
        perp__sensitivity_get(c.slopes, row, sim->ncolumn);
    }
    while (status == PERP_OK && c.step < of->steps && !c.is_lost) {
        status = take_step(sim, &c, diag);
        c.is_lost = status == PERP_OK && !perp__sensitivity_known(c.slopes);
        if (weight && counts(weight + (size_t)(c.step - 1) * (size_t)sim->ncolumn, sim->ncolumn))
            perp__sensitivity_keep_row(c.slopes);
        if (status != PERP_OK || (!of->every_row && c.step < of->steps)) continue;
        perp__sensitivity_get(c.slopes, row, sim->ncolumn);
        row += sim->ncolumn;
    }
    double since;
    if (status == PERP_OK && of->size == sizeof *of && of->kind)
        *of->kind = perp__sensitivity_kind(c.slopes, 0, &since);
    return finish(sim, &c, status, diag);
}

perp_status perp_simulation_jvp(perp_simulation *sim, const perp_run_stretch *of,
                                const perp_run_change *change, double *row, perp_diag *diag)
{
    if (!sim || !of || !change || !row) return PERP_ERR_ARG;
    return go_along(sim, of, change, row, NULL, diag);
}

/* Backward ------------------------------------------------------------------------------------- */

static void add_values(const perp_simulation *sim, perp__course *c, long step, double *value)
{
    for (int k = 0; k < c->nt && value; k++) {
        int input = c->input[k], n = c->of->ninput;
        long before = value_before(c, k, step);
        if (input < 0 || isnan(sim->driven.held[k])) continue;
        value[step * n + input] += c->back.now[k];
        if (before >= 0) value[before * n + input] += c->back.before[k];
    }
}

/* Of the row of a record; of a step that was taken in parts, the last one has it. */
static const double *weight_of(void *context, const perp__stamp *stamp)
{
    perp__course *c = context;
    int is_end = stamp->kind == PERP__NOTED_ROW ||
                 (stamp->kind == PERP__NOTED_SOLVED && stamp->step != c->last);
    c->last = stamp->step;
    if (!is_end) return NULL;
    if (c->of->every_row) return c->weight + (size_t)stamp->step * (size_t)c->ncolumn;
    return stamp->step + 1 == c->of->steps ? c->weight : NULL;
}

/* Through all records, from the last one on. */
static void go_back(perp_simulation *sim, perp__course *c, double *value)
{
    perp__stamp stamp;
    c->last = -1;
    while (c->back.records.size > 0 && !c->is_lost) {
        c->is_lost = !perp__backward_pop(&c->back, &stamp, weight_of, c);
        if (c->is_lost)
            c->step = stamp.step + 1;
        else
            add_values(sim, c, stamp.step, value);
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
         room = (long)(RECORDS / perp__backward_bytes(&c->back));
    p->length = room < steps ? room : steps;
    if (p->length < root) p->length = root;
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
    c->back.records.size = 0;
    c->back.is_new = k == 0;
    for (c->step = k * p->length; c->step < end && status == PERP_OK;)
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

static perp_status go_there_and_back(perp_simulation *sim, const perp_run_stretch *of,
                                     const double *weight, const perp_run_change *gradient,
                                     perp_diag *diag)
{
    perp__course c;
    parts p = {0};
    perp_status status = begin_course(sim, &c, of, 0, diag);
    size_t nx = (size_t)sim->step.layout->nx, np = (size_t)of->nparameter;
    double *state = status == PERP_OK ? calloc(nx + np + 1, sizeof *state) : NULL,
           *param = state ? state + nx : NULL;
    c.back.state = state;
    c.back.param = param;
    c.weight = weight;
    c.ncolumn = sim->ncolumn;
    if (status == PERP_OK && (!state || !plan_parts(sim, &c, &p))) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) status = take_all(sim, &c, &p, diag);
    if (status == PERP_OK && gradient->value)
        memset(gradient->value, 0, (size_t)of->steps * (size_t)of->ninput * sizeof(double));
    for (long k = p.n - 1; k >= 0 && status == PERP_OK && !c.is_lost; k--) {
        if (k + 1 < p.n)
            status = perp_simulation_restore(sim, p.snapshot + (size_t)k * p.size, p.size, diag);
        c.is_recording = 1;
        if (k + 1 < p.n && status == PERP_OK) status = take_part(sim, &c, &p, k, diag);
        if (status == PERP_OK) go_back(sim, &c, gradient->value);
    }
    if (status == PERP_OK)
        status = perp_simulation_restore(sim, p.snapshot + (size_t)p.n * p.size, p.size, diag);
    int is_known = status == PERP_OK && !c.is_lost;
    if (is_known && gradient->state && nx) memcpy(gradient->state, state, nx * sizeof *state);
    if (is_known && gradient->parameter && np)
        memcpy(gradient->parameter, param, np * sizeof *param);
    free(state);
    free(p.snapshot);
    return finish(sim, &c, status, diag);
}

/* Which kind a gradient is --------------------------------------------------------------------- */

/* In (0.5, 1.5), with either sign: no two entries of a change are in step. */
static double draw(uint64_t *state)
{
    uint64_t bits = *state = *state * 6364136223846793005u + 1442695040888963407u;
    double x = 0.5 + (double)(bits >> 12) / 4503599627370496.0;
    return bits >> 11 & 1 ? x : -x;
}

/* A change in all that the gradient is by, of its sizes. */
static void draw_change(const perp_simulation *sim, const perp_run_stretch *of,
                        const perp_run_change *change)
{
    uint64_t bits = 1;
    for (int i = 0; change->state && i < sim->step.layout->nx; i++) {
        double x = fabs(sim->step.ws[sim->step.layout->sym.y + i]);
        change->state[i] = draw(&bits) * (x > 0 ? x : 1);
    }
    for (int k = 0; change->parameter && k < of->nparameter; k++) {
        double x = fabs(sim->model->item[PERP_PARAM][of->parameter[k]].value);
        change->parameter[k] = draw(&bits) * (x > 0 ? x : 1);
    }
    for (long i = 0; change->value && i < of->steps * of->ninput; i++) {
        double x = of->value ? fabs(of->value[i]) : 0;
        change->value[i] = draw(&bits) * (x > 0 ? x : 1);
    }
}

/* The kind of the derivative along this change, from the beginning of the stretch. */
static perp_status kind_along(perp_simulation *sim, const perp_run_stretch *of,
                              const perp_run_change *change, const double *weight, double *row,
                              const void *begin, perp_derivative_kind *kind, perp_diag *diag)
{
    perp_run_stretch along = *of;
    along.every_row = 0;
    along.kind = kind;
    perp_status status =
        perp_simulation_restore(sim, begin, perp_simulation_snapshot_size(sim), diag);
    if (status != PERP_OK) return status;
    return go_along(sim, &along, change, row, of->every_row ? weight : NULL, diag);
}

/* Backward nothing is known of how a side moves; along a change in everything it moves, unless
 * nothing moves it. Where one does, what a step along the gradient is tells its side. The run is
 * then at the end of the stretch again. */
static perp_status tell_kind(perp_simulation *sim, const perp_run_stretch *of, const double *weight,
                             const perp_run_change *gradient, const void *begin, perp_diag *diag)
{
    size_t nx = (size_t)sim->step.layout->nx, np = (size_t)of->nparameter,
           values = (size_t)of->steps * (size_t)of->ninput;
    double *state = calloc(nx + np + values + (size_t)sim->ncolumn + 1, sizeof *state);
    if (!state) return perp__out_of_memory(diag, sim->model->source.name);
    double *row = state + nx + np + values;
    const perp_run_change drawn = {gradient->state ? state : NULL,
                                   gradient->parameter ? state + nx : NULL,
                                   gradient->value ? state + nx + np : NULL};
    perp_derivative_kind kind = PERP_DERIVATIVE_UNKNOWN_DIRECTION;
    draw_change(sim, of, &drawn);
    perp_status status = kind_along(sim, of, &drawn, weight, row, begin, of->kind, diag);
    int has_sides = status == PERP_OK && *of->kind != PERP_DERIVATIVE_DIFFERENTIABLE &&
                    *of->kind != PERP_DERIVATIVE_OF_STEPS;
    if (has_sides) {
        status = kind_along(sim, of, gradient, weight, row, begin, &kind, diag);
        int is_one = kind == PERP_DERIVATIVE_INCREASE || kind == PERP_DERIVATIVE_DECREASE;
        *of->kind = is_one ? kind : PERP_DERIVATIVE_UNKNOWN_DIRECTION;
    }
    free(state);
    return status;
}

perp_status perp_simulation_vjp(perp_simulation *sim, const perp_run_stretch *of,
                                const double *weight, const perp_run_change *gradient,
                                perp_diag *diag)
{
    if (!sim || !of || !weight || !gradient) return PERP_ERR_ARG;
    size_t size = perp_simulation_snapshot_size(sim);
    int wants_kind = of->size == sizeof *of && of->kind;
    void *begin = wants_kind ? malloc(size) : NULL;
    if (wants_kind && !begin) return perp__out_of_memory(diag, sim->model->source.name);
    if (wants_kind) perp_simulation_snapshot(sim, begin, size);
    perp_status status = go_there_and_back(sim, of, weight, gradient, diag);
    if (wants_kind && status == PERP_OK) status = tell_kind(sim, of, weight, gradient, begin, diag);
    free(begin);
    return status;
}
