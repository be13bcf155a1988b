/* Snapshots: all data that the rest of a run depends on, as bytes. Matrices are not in them: they
 * are made again from the same numbers, with the same pivots, so that not a bit of the rest
 * changes. */

#include "simulate/events.h"
#include "simulate/impacts.h"
#include "simulate/parts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The list ------------------------------------------------------------------------------------- */

static void pass_patience(perp__patience *p, int most, perp__pass *pass)
{
    perp__pass_ints(pass, &p->failures, 1, 0, most);
    perp__pass_ints(pass, &p->wait, 1, 0, (1 << most) - 1);
}

static void pass_slopes(perp__slopes *slopes, const perp__layout *l, perp__pass *pass)
{
    perp__pass_ints(pass, &slopes->are_known, 1, 0, 1);
    perp__pass_doubles(pass, &slopes->h, 1);
    perp__pass_doubles(pass, &slopes->theta, 1);
    perp__pass_doubles(pass, slopes->value, (size_t)l->row_start[l->nrow]);
}

static void pass_rest(perp__step_rest *rest, const perp__layout *l, perp__pass *pass)
{
    perp__pass_ints(pass, &rest->is_known, 1, 0, 1);
    perp__pass_doubles(pass, rest->root,
                       (size_t)(l->nrow + l->tape.check.nout + l->tape.guards.nout));
    perp__pass_bytes(pass, &rest->verdict, sizeof rest->verdict);
}

static void pass_state(perp__step *s, perp__pass *pass)
{
    const perp__layout *l = s->layout;
    perp__step_state *state = &s->state;
    size_t ny = (size_t)l->ny, np = (size_t)l->np;
    perp__pass_chars(pass, state->on, 2 * np, 0, 1);
    perp__pass_ints(pass, &state->are_closed, 1, 0, 1);
    pass_slopes(&state->slopes, l, pass);
    perp__pass_ints(pass, &state->z.are_known, 1, 0, 1);
    perp__pass_chars(pass, state->z.on, np, 0, 1);
    perp__pass_chars(pass, state->z.side, np, -1, 1);
    perp__pass_ints(pass, &state->units.are_known, 1, 0, 1);
    perp__pass_doubles(pass, state->units.value, ny + (size_t)l->nrow);
    perp__pass_doubles(pass, state->history, ny);
    perp__pass_chars(pass, state->side_now, (size_t)s->model->npair, 0, 3);
    perp__pass_doubles(pass, state->move, PERP__MOVES * (size_t)l->nx);
    perp__pass_ints(pass, &state->moves, 1, 0, PERP__MOVES);
    pass_rest(&state->rest, l, pass);
    perp__pass_ints(pass, &state->redundant, 1, 0, 1);
    pass_patience(&state->beside_cones, PERP__CONES_WAIT, pass);
    pass_patience(&state->standing, PERP__STANDING_WAIT, pass);
    perp__pass_longs(pass, &state->count.eliminations, 1);
    perp__pass_longs(pass, &state->count.cone_steps, 1);
    perp__sparse_pass(s, pass);
}

static void pass_step(perp__step *s, perp__pass *pass)
{
    const perp__layout *l = s->layout;
    perp__pass_doubles(pass, &s->h, 1);
    perp__pass_doubles(pass, s->ws + perp__step_parameter(l, 0), (size_t)l->sym.varied.n);
    if (pass->mode == PERP__LOAD) {
        perp__step_put_varied(s);
        perp__step_stale(s);
    }
    perp__pass_doubles(pass, s->ws, (size_t)l->sym.n);
    if (pass->mode == PERP__LOAD) s->has_assigned = 1;
    pass_state(s, pass);
}

static void pass_run(perp_simulation *sim, perp__pass *pass)
{
    perp_simulation_summary *summary = &sim->summary;
    size_t npair = (size_t)sim->model->npair;
    pass_step(&sim->step, pass);
    perp__pass_longs(pass, &sim->done, 1);
    perp__pass_longs(pass, &sim->since, 1);
    perp__pass_doubles(pass, &sim->start, 1);
    perp__pass_doubles(pass, &sim->residual, 1);
    perp__pass_ints(pass, &sim->is_moved, 1, 0, 1);
    perp__pass_doubles(pass, sim->driven.held, (size_t)sim->step.layout->table.n);
    perp__pass_longs(pass, &summary->solves, 1);
    perp__pass_longs(pass, &summary->worst_step, 1);
    perp__pass_longs(pass, &summary->divided, 1);
    perp__pass_longs(pass, &summary->not_unique, 1);
    perp__pass_doubles(pass, &summary->not_unique_at, 1);
    perp__pass_doubles(pass, &sim->others.work, 1);
    perp__pass_doubles(pass, &summary->worst_residual, 1);
    perp__pass_doubles(pass, &summary->worst_error, 1);
    if (pass->mode == PERP__LOAD)
        summary->outcome = PERP_SOLVED; /* a snapshot is of a verified step */
    perp__pass_longs(pass, sim->sides[0], 4 * npair);
    if (sim->sensitivity) perp__sensitivity_pass(sim->sensitivity, pass);
    if (sim->events) perp__events_pass(sim->events, pass, pass_step);
    if (sim->parts) perp__parts_pass(sim, pass);
    perp__impulses_pass(sim, pass);
    perp__impacts_pass(sim, pass);
}

static void drop_cache(perp__step *s, perp__pass *pass)
{
    pass->is_bad |= perp__step_drop_cache(s) != PERP_OK;
}

perp_status perp__simulation_drop_caches(perp_simulation *sim)
{
    perp__pass pass = {.mode = PERP__COUNT};
    drop_cache(&sim->step, &pass);
    if (sim->events) perp__events_pass(sim->events, &pass, drop_cache);
    return pass.is_bad ? PERP_ERR_MEMORY : PERP_OK;
}

/* The head -------------------------------------------------------------------------------------- */

/* What stands before the bytes of a run. Version: to be raised with every change of the list
 * above. */
typedef struct head {
    char magic[8];
    uint32_t version, order;
    uint64_t size, problem, sum;
} head;

enum { VERSION = 17, ORDER = 0x01020304 };
static const char magic[8] = "perpsnap";

static uint64_t mix(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t word;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (; size > 0; at++, size--) sum = (sum ^ *at) * 0x100000001b3u;
    return sum;
}

/* By what two simulations take the same steps: the model's text, what the problem was made of,
 * tables and options. */
static uint64_t problem_of(const perp_simulation *sim)
{
    const perp_model *m = sim->model;
    const perp_simulation_options *o = &sim->options;
    const perp__step *s = &sim->step;
    double number[] = {o->step,           o->tol,     o->theta, (double)o->integrator,
                       (double)o->solver, o->accuracy};
    size_t n;
    const double *key = perp__step_key(s, &n);
    uint64_t sum = mix(VERSION, PERP_VERSION, strlen(PERP_VERSION));
    sum = mix(sum, m->source.text, strlen(m->source.text));
    sum = mix(sum, number, sizeof number);
    sum = mix(sum, key, n * sizeof *key);
    for (int k = 0; k < s->layout->table.n; k++) {
        const perp__table *table = &m->item[PERP_INPUT][s->layout->table.input[k]].table;
        sum = mix(sum, &table->points, sizeof table->points);
        sum = mix(sum, table->time, (size_t)table->n * sizeof(double));
        sum = mix(sum, table->value, (size_t)table->n * sizeof(double));
    }
    if (!sim->sensitivity) return sum;
    perp__followed by = perp__sensitivity_followed(sim->sensitivity);
    int count[] = {by.nparam, by.nstate};
    sum = mix(sum, count, sizeof count);
    sum = mix(sum, by.param, (size_t)by.nparam * sizeof(int));
    sum = mix(sum, by.state, (size_t)by.nstate * sizeof(int));
    return mix(sum, by.place, (size_t)(by.nparam + by.nstate) * sizeof(int));
}

/* A pass only reads what is const here. */
static size_t count(const perp_simulation *sim)
{
    perp__pass pass = {.mode = PERP__COUNT};
    pass_run((perp_simulation *)sim, &pass);
    return pass.n;
}

size_t perp_simulation_snapshot_size(const perp_simulation *sim)
{
    return sim ? sizeof(head) + count(sim) : 0;
}

static void save(const perp_simulation *sim, unsigned char *bytes)
{
    perp__pass pass = {.mode = PERP__SAVE, .at = bytes};
    pass_run((perp_simulation *)sim, &pass);
}

static perp_status load(perp_simulation *sim, const unsigned char *bytes)
{
    perp__pass pass = {.mode = PERP__LOAD, .at = (unsigned char *)bytes};
    pass_run(sim, &pass);
    sim->nstep = sim->done + perp__whole_steps(perp__run_time(sim, sim->done), sim->options.to,
                                               sim->options.step);
    if (sim->since == 0)
        sim->nstep = perp__whole_steps(sim->start, sim->options.to, sim->options.step);
    return pass.is_bad ? PERP_ERR_MEMORY : PERP_OK;
}

perp_status perp_simulation_snapshot(const perp_simulation *sim, void *bytes, size_t size)
{
    if (!sim || !bytes || size < perp_simulation_snapshot_size(sim)) return PERP_ERR_ARG;
    size_t n = perp_simulation_snapshot_size(sim);
    unsigned char *body = (unsigned char *)bytes + sizeof(head);
    head h = {.version = VERSION, .order = ORDER, .size = n, .problem = problem_of(sim)};
    memcpy(h.magic, magic, sizeof magic);
    save(sim, body);
    h.sum = mix(h.problem, body, n - sizeof h);
    memcpy(bytes, &h, sizeof h);
    return PERP_OK;
}

/* Why these bytes are no snapshot that this simulation can go on from; NULL: they are. */
static const char *fault_of(const perp_simulation *sim, const unsigned char *bytes, size_t size)
{
    head h;
    if (size < sizeof h) return "too short for a snapshot";
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0) return "not a snapshot";
    if (h.order != ORDER || h.version != VERSION)
        return "a snapshot of another version of perp, or of another kind of machine";
    if (h.problem != problem_of(sim))
        return "a snapshot of another model, or of a simulation with other options, parameters, "
               "input tables or derivatives";
    if (h.size != perp_simulation_snapshot_size(sim) || size < h.size)
        return "a snapshot that is not complete";
    if (h.sum != mix(h.problem, bytes + sizeof h, (size_t)h.size - sizeof h))
        return "a snapshot that was damaged";
    perp__pass pass = {.mode = PERP__LOOK, .at = (unsigned char *)bytes + sizeof h};
    pass_run((perp_simulation *)sim, &pass);
    return pass.is_bad ? "a snapshot that was damaged" : NULL;
}

perp_status perp_simulation_restore(perp_simulation *sim, const void *bytes, size_t size,
                                    perp_diag *diag)
{
    if (!sim || !bytes) return PERP_ERR_ARG;
    const char *fault = fault_of(sim, bytes, size);
    if (fault)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(sim->model->source.name),
                            "what is to be restored is %s\n", fault);
    perp_status status = load(sim, (const unsigned char *)bytes + sizeof(head));
    sim->was_moved = 1;
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, sim->model->source.name) : status;
}

/* Copies --------------------------------------------------------------------------------------- */

/* All of a simulation but what its steps left behind. */
static perp_status make_copy(const perp_simulation *sim, perp_simulation *copy)
{
    const perp__step *s = &sim->step;
    size_t ninput = (size_t)sim->model->nitem[PERP_INPUT];
    copy->model = sim->model;
    copy->options = sim->options;
    copy->was_moved = sim->was_moved;
    copy->sides = calloc((size_t)sim->model->npair + 1, sizeof *copy->sides);
    copy->driven.slot = malloc((ninput + 1) * sizeof(int));
    if (!copy->sides || !copy->driven.slot || !perp__run_name_columns(copy)) return PERP_ERR_MEMORY;
    memcpy(copy->driven.slot, sim->driven.slot, ninput * sizeof(int));
    perp_status status = perp__step_share(&copy->step, s, &sim->options);
    if (status == PERP_OK) status = perp__run_allocate(copy);
    if (status != PERP_OK) return status;
    memcpy(copy->initial, sim->initial,
           ((size_t)s->layout->nx + (size_t)s->layout->sym.varied.n) * sizeof(double));
    if (sim->events)
        status = perp__events_share(sim->events, &sim->options, &copy->driven, &copy->events);
    perp__events_report(copy->events, copy->impacts);
    if (status == PERP_OK) status = perp__parts_create(copy);
    if (status != PERP_OK) return status;
    if (sim->sensitivity)
        copy->sensitivity = perp__sensitivity_clone(sim->sensitivity, &copy->step);
    if (!copy->sensitivity) return sim->sensitivity ? PERP_ERR_MEMORY : PERP_OK;
    perp__followed by = perp__sensitivity_followed(copy->sensitivity);
    return copy->events && !perp__events_follow(copy->events, &by, copy->sensitivity)
               ? PERP_ERR_MEMORY
               : PERP_OK;
}

perp_status perp_simulation_clone(const perp_simulation *sim, perp_simulation **clone,
                                  perp_diag *diag)
{
    if (!clone) return PERP_ERR_ARG;
    *clone = NULL;
    if (!sim) return PERP_ERR_ARG;
    perp_simulation *copy = calloc(1, sizeof *copy);
    unsigned char *bytes = malloc(count(sim));
    perp_status status = copy && bytes ? make_copy(sim, copy) : PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        save(sim, bytes);
        status = load(copy, bytes);
    }
    free(bytes);
    if (status == PERP_OK) {
        *clone = copy;
        return PERP_OK;
    }
    perp_simulation_destroy(copy);
    return status == PERP_ERR_MEMORY ? perp__out_of_memory(diag, sim->model->source.name) : status;
}
