/* Steps of an affine model with constant coefficients, of up to PERP__LANES copies at once: the
 * same operations in the same order as in step.c, each over all lanes, as long as a copy keeps its
 * mode and every condition holds by its plain terms. Any other copy takes its step alone. */

#include "simulate/lanes.h"

#include "base/arena.h"
#include "linalg/simd.h"
#include "simulate/impacts.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNKNOWNS = 24, MOST_PAIRS = 40 }; /* 3^40 < 2^64 */
enum { LANES = PERP__LANES, WIDEST = 16 };    /* two vectors of the widest */
enum { PATIENCE = 4 };

/* A mode, the lanes that have it, and its solution. First come unknowns by its inverse, each a sum
 * of terms factor * (-c). Then those that follow from the rows, one after the other
 * (perp__step_settling): -(c + the sum of factor * unknown) / own. An unknown that follows before
 * anything reads it is not among the first. */
typedef struct mode {
    uint64_t key, lanes;
    int is_made, nfirst, nfollow;
    int *unknown, *nterm; /* of each */
    int *of;              /* slots of c, and unknowns */
    double *factor;       /* and own */
} mode;

/* Where an input has its values from, in all lanes that go together. */
enum { HELD, FOLLOWS, MIXED };

/* Values of lane l are at [.. * n + l]; a set of lanes is a number whose bit l shows whether l is
 * in it. */
struct perp__lanes {
    int count, n;               /* copies now; the stride, a multiple of WIDEST */
    int prepared;               /* the stride that the constants in ws are for */
    int follows;                /* is an input of some copy a function of time now? */
    uint64_t going;             /* lanes that go together */
    uint64_t refused[PATIENCE]; /* in the last step, in the last two, .. */
    uint64_t stale;             /* those that may have another mode than before */
    long made, left; /* steps since the copies were gathered; as many are left in all runs */
    perp_simulation *copy[LANES]; /* those of a mode beside each other; */
    int place[LANES];             /* where they are among all */
    double *own[LANES];           /* their workspaces */
    long since[LANES];            /* the sides of pairs are counted up to here */
    double *ws;                   /* slots of all tapes */
    double *old;                  /* symbols before the step */
    double step, *start;          /* the time is start + ticks * step */
    double *ticks, *history, *held;
    double *error, *residual, *worst_error, *worst_residual, *worst_at; /* in ticks */
    double *former;       /* residual of the step before */
    double *value, *unit; /* the coefficients that modes are of, and their units */
    char *source;         /* of each input */
    uint64_t *on;         /* where a guard is on */
    uint64_t *side, *was; /* of pairs of the model, two bits each: after this step, and before */
    int *order;           /* scratch */
    mode mode[LANES];
    int nmode, isa;
    perp__arena arena;
};

typedef struct kernels {
    void (*take)(perp__lanes *x, int count);
    void (*give)(const perp__lanes *x, int count);
    void (*begin)(perp__lanes *x, const perp__step *s);
    uint64_t (*positive)(const double *value, size_t n);
    void (*solve)(const perp__lanes *x, const perp__step *s, const mode *m);
    uint64_t (*judge)(perp__lanes *x, const perp__step *s);
    void (*note)(perp__lanes *x);
} kernels;

/* lanes_kernel.h defines kernels_ISA for every instruction set. */
#define KERNEL "simulate/lanes_kernel.h"
#include "linalg/every_isa.h"
#include "simulate/stepping.h"

#define VERSION(isa, target) &kernels_##isa,
static const kernels *const versions[] = {PERP_ISA_LIST(VERSION)};

/* Memory --------------------------------------------------------------------------------------- */

static int may_go_in_lanes(const perp_simulation *sim)
{
    const perp__step *s = &sim->step;
    return !sim->events && !sim->parts && s->layout->constant && s->cache.A && !s->cache.sparse &&
           s->layout->ncone == 0 && s->layout->gaps.n == 0 && s->layout->ny <= MOST_UNKNOWNS &&
           s->layout->np <= MOST_PAIRS;
}

static void take_modes(perp__lanes *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t ny = (size_t)l->ny, most = 2 * ny + (size_t)l->marks.ndefined, terms = most * (ny + 1);
    PERP_TAKE(&x->arena, x->order, 2 * most + 1);
    for (int i = 0; i < LANES && !x->arena.failed; i++) {
        mode *m = &x->mode[i];
        PERP_TAKE(&x->arena, m->factor, terms + 1);
        PERP_TAKE(&x->arena, m->unknown, 2 * most + terms + 1);
        m->nterm = m->unknown + most;
        m->of = m->nterm + most;
    }
}

int perp__lanes_create(const perp_simulation *of, perp__lanes **out)
{
    const perp__step *s = &of->step;
    const size_t L = PERP__LANES, nx = (size_t)s->layout->nx, ntable = (size_t)s->layout->table.n,
                 npair = (size_t)of->model->npair, nguard = (size_t)s->layout->tape.guards.nout,
                 nsymbol = (size_t)s->layout->sym.n,
                 nslot = (size_t)perp__tape_end(&s->layout->tape.outputs);
    double *room;
    *out = NULL;
    if (!may_go_in_lanes(of)) return 1;
    perp__lanes *x = *out = calloc(1, sizeof *x);
    if (!x) return 0;
    x->isa = perp__isa();
    PERP_TAKE(&x->arena, room, (nslot + nsymbol + nx + ntable + 8) * L + WIDEST);
    PERP_TAKE(&x->arena, x->value, s->layout->row_start[s->layout->nrow] + 1);
    PERP_TAKE(&x->arena, x->unit, s->layout->ny + s->layout->nrow + 1);
    PERP_TAKE(&x->arena, x->source, ntable + 1);
    PERP_TAKE(&x->arena, x->on, nguard + 4 * npair + 1);
    take_modes(x, s);
    if (x->arena.failed) return 0;
    while ((uintptr_t)room % (WIDEST * sizeof *room)) room++; /* whole lines of the cache */
    x->ws = room;
    x->old = x->ws + nslot * L;
    x->history = x->old + nsymbol * L;
    x->held = x->history + nx * L;
    x->start = x->held + ntable * L;
    x->ticks = x->start + L;
    x->error = x->ticks + L;
    x->residual = x->error + L;
    x->worst_error = x->residual + L;
    x->worst_residual = x->worst_error + L;
    x->worst_at = x->worst_residual + L;
    x->former = x->worst_at + L;
    x->side = x->on + nguard;
    x->was = x->side + 2 * npair;
    return 1;
}

void perp__lanes_destroy(perp__lanes *x)
{
    if (!x) return;
    perp__arena_clear(&x->arena);
    free(x);
}

/* There and back ------------------------------------------------------------------------------- */

static int is_in(uint64_t lanes, int l)
{
    return (int)(lanes >> l & 1);
}

/* What the steps of a copy leave in it beside its symbols. */
static void take_rest(perp__lanes *x, int l, const perp_simulation *sim)
{
    const perp__step *s = &sim->step;
    const size_t n = (size_t)x->n, at = (size_t)l;
    x->ws[SYM_H * n + at] = s->h;
    x->ws[SYM_THETA * n + at] = s->layout->scheme.theta;
    x->start[at] = sim->start;
    x->ticks[at] = (double)(sim->done - sim->since);
    x->residual[at] = sim->residual;
    x->worst_error[at] = sim->summary.worst_error;
    x->worst_residual[at] = sim->summary.worst_residual;
    x->worst_at[at] = (double)(sim->summary.worst_step - sim->since);
    for (size_t j = 0; j < (size_t)s->layout->nx; j++) x->history[j * n + at] = s->state.history[j];
    for (size_t k = 0; k < (size_t)s->layout->table.n; k++)
        x->held[k * n + at] = sim->driven.held[k];
}

/* The steps with the sides that the pairs of a copy were on. */
static void count_sides(perp__lanes *x, int l, perp_simulation *sim)
{
    const long steps = x->made - x->since[l];
    for (int i = 0; steps > 0 && i < sim->model->npair; i++) {
        int side = is_in(x->was[2 * i], l) + 2 * is_in(x->was[2 * i + 1], l);
        sim->step.state.side_now[i] = (char)side;
        sim->sides[i][side] += steps;
    }
    x->since[l] = x->made;
}

static void give_rest(perp__lanes *x, int l, perp_simulation *sim)
{
    perp__step *s = &sim->step;
    const size_t n = (size_t)x->n, at = (size_t)l;
    const long done = sim->since + (long)x->ticks[at];
    if (done > sim->done) {
        sim->is_moved = 0;
        perp__impacts_lose(sim);
    }
    sim->done = done;
    sim->residual = x->residual[at];
    sim->summary.worst_error = x->worst_error[at];
    sim->summary.worst_residual = x->worst_residual[at];
    sim->summary.worst_step = sim->since + (long)x->worst_at[at];
    for (size_t j = 0; j < (size_t)s->layout->nx; j++) s->state.history[j] = x->history[j * n + at];
    count_sides(x, l, sim);
}

/* The same matrices as the first? */
static int is_alike(const perp__step *a, const perp__step *b)
{
    const perp__layout *l = a->layout;
    size_t values = (size_t)l->row_start[l->nrow] * sizeof(double),
           units = ((size_t)l->ny + (size_t)l->nrow) * sizeof(double);
    return a->h == b->h && memcmp(a->state.slopes.value, b->state.slopes.value, values) == 0 &&
           memcmp(a->state.units.value, b->state.units.value, units) == 0;
}

static void prepare_constants(perp__lanes *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__tape *tapes[] = {&l->table.tape, &l->tape.coefficients, &l->tape.check,
                                 &l->tape.guards};
    if (x->prepared == x->n) return;
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perp__tape_prepare(tapes[i], x->ws, x->n);
    x->prepared = x->n;
}

/* Modes that were made of other values are forgotten; no lane has one yet. */
static void keep_values(perp__lanes *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t values = (size_t)l->row_start[l->nrow] * sizeof(double),
           units = ((size_t)l->ny + (size_t)l->nrow) * sizeof(double);
    for (int i = 0; i < x->nmode; i++) x->mode[i].lanes = 0;
    if (memcmp(x->value, s->state.slopes.value, values) == 0 &&
        memcmp(x->unit, s->state.units.value, units) == 0)
        return;
    memcpy(x->value, s->state.slopes.value, values);
    memcpy(x->unit, s->state.units.value, units);
    x->nmode = 0;
}

static void find_sources(perp__lanes *x, const perp__step *s)
{
    const perp__layout *layout = s->layout;
    x->follows = 0;
    for (int k = 0; k < layout->table.n; k++) {
        const double *held = x->held + (size_t)k * (size_t)x->n;
        int going = 0, set = 0, has_formula = layout->table.formula[k] >= 0;
        for (int l = 0; l < x->count; l++)
            if (is_in(x->going, l)) {
                going++;
                set += !isnan(held[l]);
            }
        x->source[k] = (char)(set == going ? HELD : set == 0 && has_formula ? FOLLOWS : MIXED);
        x->follows |= has_formula && set < going;
    }
}

/* The mode of a copy's last step, with its guards. */
static uint64_t key_of(const perp__step *s)
{
    const perp__layout *l = s->layout;
    uint64_t key = 0;
    for (int p = 0; p < l->np; p++) {
        int is_on = l->tape.guard_of[l->pair[p].of] < 0 || s->state.on[p];
        key = 3 * key + (uint64_t)(is_on ? s->state.choice[p] : 2);
    }
    return key;
}

/* There are as many places as lanes. */
static mode *find_place(perp__lanes *x, uint64_t key)
{
    mode *m = NULL;
    for (int i = 0; i < x->nmode; i++) {
        if (x->mode[i].key == key) return &x->mode[i];
        if (x->mode[i].lanes == 0) m = &x->mode[i];
    }
    if (x->nmode < LANES) m = &x->mode[x->nmode++];
    m->key = key;
    m->lanes = 0;
    m->is_made = 0;
    return m;
}

static int may_go(const perp_simulation *sim, const perp_simulation *first)
{
    const perp__step *s = &sim->step;
    return sim->done > 0 && !sim->sensitivity && s->state.units.are_known &&
           s->h == sim->options.step && (!first || is_alike(&first->step, s));
}

/* Which copies can go side by side with the first of them? */
static uint64_t find_going(perp_simulation *const *copy, int count, const perp_status *status)
{
    const perp_simulation *first = NULL;
    uint64_t going = 0;
    for (int l = 0; l < count; l++) {
        if (status[l] != PERP_OK || !may_go(copy[l], first)) continue;
        if (!first) first = copy[l];
        going |= (uint64_t)1 << l;
    }
    return going;
}

/* The copies of each mode beside each other, then those that do not go. */
static void put_in_order(perp__lanes *x, perp_simulation *const *copy, uint64_t going)
{
    int n = 0;
    for (int l = 0; l < x->count; l++)
        if (is_in(going, l)) find_place(x, key_of(&copy[l]->step))->lanes |= (uint64_t)1 << l;
    for (int i = 0; i < x->nmode; i++) {
        for (int l = 0; l < x->count && x->mode[i].lanes >> l; l++)
            if (is_in(x->mode[i].lanes, l)) {
                x->going |= (uint64_t)1 << n;
                x->place[n++] = l;
            }
        x->mode[i].lanes = 0;
    }
    for (int l = 0; l < x->count; l++)
        if (!is_in(going, l)) x->place[n++] = l;
}

/* The copies that can go side by side. In order steps cost less, there and back cost more. */
static void gather(perp__lanes *x, perp_simulation *const *copy, int count,
                   const perp_status *status, int in_order)
{
    const uint64_t going = find_going(copy, count, status);
    int first = 0;
    x->count = count;
    x->n = (count + WIDEST - 1) / WIDEST * WIDEST;
    x->going = 0;
    x->made = 0;
    x->left = LONG_MAX;
    memset(x->refused, 0, sizeof x->refused);
    if (!going) return;
    while (!is_in(going, first)) first++;
    const perp__step *s = &copy[first]->step;
    keep_values(x, s);
    if (in_order) {
        put_in_order(x, copy, going);
    } else {
        for (int l = 0; l < count; l++) x->place[l] = l;
        x->going = going;
    }
    for (int l = 0; l < x->n; l++) { /* the rest of a vector is filled with the last */
        x->copy[l] = copy[x->place[l < count ? l : count - 1]];
        x->own[l] = x->copy[l]->step.ws;
    }
    versions[x->isa]->take(x, perp__tape_end(&s->layout->sym.varied.tape));
    for (int l = 0; l < x->n; l++) {
        const long left = x->copy[l]->nstep - x->copy[l]->done;
        take_rest(x, l, x->copy[l]);
        x->since[l] = 0;
        if (is_in(x->going, l) && left < x->left) x->left = left;
    }
    x->stale = x->going;
    x->step = s->h;
    prepare_constants(x, s);
    find_sources(x, s);
}

/* A step --------------------------------------------------------------------------------------- */

/* An input that is neither held in all lanes nor a function of time in all. */
static void put_mixed(perp__lanes *x, int k)
{
    const perp__step *s = &x->copy[0]->step;
    const size_t n = (size_t)x->n;
    const int *formula = s->layout->table.tape.out + s->layout->table.formula[k];
    double *before = x->ws + (size_t)(s->layout->sym.table_pre + k) * n,
           *now = x->ws + (size_t)(s->layout->sym.table + k) * n;
    for (size_t l = 0; l < (size_t)x->count; l++) {
        double held = x->held[(size_t)k * n + l];
        const perp__table *table =
            &x->copy[l]->model->item[PERP_INPUT][s->layout->table.input[k]].table;
        int *hint = &x->copy[l]->step.cache.hint[k];
        if (!is_in(x->going, (int)l)) continue;
        if (!isnan(held)) {
            before[l] = isnan(now[l]) ? held : now[l];
            now[l] = held;
        } else if (s->layout->table.formula[k] >= 0) {
            now[l] = x->ws[(size_t)formula[0] * n + l];
            before[l] = x->ws[(size_t)formula[1] * n + l];
        } else if (table->n > 0) {
            before[l] = perp__table_value(table, x->ws[SYM_T_PRE * n + l], hint);
            now[l] = perp__table_value(table, x->ws[SYM_T * n + l], hint);
        } else {
            before[l] = now[l] = (double)NAN;
        }
    }
}

/* Inputs at both ends of the step, but for those that are held. */
static void put_inputs(perp__lanes *x)
{
    const perp__step *s = &x->copy[0]->step;
    const size_t n = (size_t)x->n, row = n * sizeof(double);
    if (x->follows) perp__tape_eval_many(&s->layout->table.tape, x->ws, x->n);
    for (int k = 0; k < s->layout->table.n; k++) {
        const int *formula = s->layout->table.tape.out + s->layout->table.formula[k];
        if (x->source[k] == MIXED) put_mixed(x, k);
        if (x->source[k] != FOLLOWS) continue;
        memcpy(x->ws + (size_t)(s->layout->sym.table + k) * n, x->ws + (size_t)formula[0] * n, row);
        memcpy(x->ws + (size_t)(s->layout->sym.table_pre + k) * n, x->ws + (size_t)formula[1] * n,
               row);
    }
}

/* As perp__run_begin_step, and the beginning of perp__step_solve. */
static void begin_step(perp__lanes *x)
{
    const perp__step *s = &x->copy[0]->step;
    const kernels *kernel = versions[x->isa];
    const size_t n = (size_t)x->n;
    memcpy(x->old, x->ws, (size_t)s->layout->sym.n * n * sizeof(double));
    kernel->begin(x, s);
    put_inputs(x);
    if (s->layout->tape.guards.nout) perp__tape_eval_many(&s->layout->tape.guards, x->ws, x->n);
    for (int g = 0; g < s->layout->tape.guards.nout; g++) {
        uint64_t on = kernel->positive(x->ws + (size_t)s->layout->tape.guards.out[g] * n, n);
        x->stale |= on ^ x->on[g];
        x->on[g] = on;
    }
    perp__tape_eval_many(&s->layout->tape.coefficients, x->ws, x->n);
}

static void give_guards(const perp__lanes *x, int l, perp__step *s)
{
    const perp__layout *layout = s->layout;
    for (int p = 0; layout->tape.guards.nout && p < layout->np; p++) {
        int g = layout->tape.guard_of[layout->pair[p].of];
        if (g >= 0) s->state.on[p] = (char)is_in(x->on[g], l);
    }
}

static void find_modes(perp__lanes *x)
{
    const uint64_t stale = x->stale & x->going;
    for (int i = 0; x->stale && i < x->nmode; i++) x->mode[i].lanes &= ~x->stale;
    for (int l = 0; l < x->count && stale >> l; l++) {
        if (!is_in(stale, l)) continue;
        give_guards(x, l, &x->copy[l]->step);
        find_place(x, key_of(&x->copy[l]->step))->lanes |= (uint64_t)1 << l;
    }
    x->stale = 0;
}

/* Which unknowns are read before these have followed one after the other, or do not follow? */
static void find_first(const perp__step *s, const int *order, int norder, char *is_first)
{
    const perp__layout *l = s->layout;
    char is_known[MOST_UNKNOWNS] = {0};
    memset(is_first, 0, MOST_UNKNOWNS);
    for (int e = 0; e < norder; e++) {
        int r = order[2 * e], j = order[2 * e + 1];
        for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
            is_first[l->column[k]] |= l->column[k] != j && !is_known[l->column[k]];
        is_known[j] = 1;
    }
    for (int j = 0; j < l->ny; j++) is_first[j] |= !is_known[j];
}

/* As the first copy that has the mode makes it. Returns 0: it is singular. */
static int make_mode(perp__lanes *x, mode *m)
{
    char is_first[MOST_UNKNOWNS];
    int *unknown = m->unknown, *nterm = m->nterm, *of = m->of, l = 0;
    double *factor = m->factor;
    while (!is_in(m->lanes, l)) l++;
    perp__step *s = &x->copy[l]->step;
    const int *out = s->layout->tape.coefficients.out;
    const perp__mode *made = perp__step_mode(s);
    if (!made) return 0;
    m->nfollow = perp__step_settling(s, made->row, x->order);
    find_first(s, x->order, m->nfollow, is_first);
    for (int i = 0; i < s->layout->ny; i++) {
        const int *begin = of;
        if (!is_first[i]) continue;
        for (int k = 0; k < s->layout->ny; k++) {
            double a = made->S[(size_t)k * (size_t)s->layout->ny + (size_t)i];
            if (a != 0) {
                *of++ = out[made->row[k]];
                *factor++ = a;
            }
        }
        *unknown++ = i;
        *nterm++ = (int)(of - begin);
    }
    m->nfirst = (int)(unknown - m->unknown);
    for (int e = 0; e < m->nfollow; e++) {
        int r = x->order[2 * e], j = x->order[2 * e + 1];
        double own = 0;
        *of++ = out[r];
        const int *begin = of;
        for (int k = s->layout->row_start[r]; k < s->layout->row_start[r + 1]; k++) {
            if (s->layout->column[k] == j)
                own = s->state.slopes.value[k];
            else {
                *of++ = s->layout->column[k];
                *factor++ = s->state.slopes.value[k];
            }
        }
        *factor++ = own;
        *unknown++ = j;
        *nterm++ = (int)(of - begin);
    }
    m->is_made = 1;
    return 1;
}

/* Which lanes have modes that are not singular? */
static uint64_t solve_modes(perp__lanes *x)
{
    uint64_t solved = 0;
    for (int i = 0; i < x->nmode; i++) {
        mode *m = &x->mode[i];
        if (m->lanes == 0 || (!m->is_made && !make_mode(x, m))) continue;
        versions[x->isa]->solve(x, &x->copy[0]->step, m);
        solved |= m->lanes;
    }
    return solved;
}

static void assign(perp__lanes *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    size_t n = (size_t)x->n, row = n * sizeof(double);
    const int *out = l->tape.check.out + l->sym.assigned.root;
    for (int d = 0; d < l->sym.assigned.n; d++)
        memcpy(x->ws + (size_t)(l->sym.y + l->ny + d) * n, x->ws + (size_t)out[d] * n, row);
}

/* Lanes whose run goes on for a step. */
static uint64_t find_running(const perp__lanes *x)
{
    uint64_t running = ~(uint64_t)0;
    for (int l = 0; x->made >= x->left && l < x->count; l++)
        if (x->copy[l]->since + (long)x->ticks[l] > x->copy[l]->nstep)
            running &= ~((uint64_t)1 << l);
    return running;
}

/* Of those that took the step. */
static void note_sides(perp__lanes *x, uint64_t taken)
{
    const int n = 2 * x->copy[0]->model->npair;
    uint64_t other = 0;
    for (int i = 0; i < n; i++) other |= (x->was[i] ^ x->side[i]) & taken;
    for (int l = 0; l < x->count && other >> l; l++)
        if (is_in(other, l)) count_sides(x, l, x->copy[l]);
    for (int i = 0; i < n; i++) x->was[i] = (x->was[i] & ~taken) | (x->side[i] & taken);
}

/* The copies ----------------------------------------------------------------------------------- */

static perp_status step_alone(perp_simulation *sim, perp_status *status, perp_diag *diag)
{
    *status = perp__run_next(sim, NULL, diag);
    return *status;
}

/* A lane that was refused takes its step from the beginning, and then joins the others again. */
static void step_refused(perp__lanes *x, int l, perp_status *status, perp_diag *diag)
{
    perp_simulation *sim = x->copy[l];
    const size_t n = (size_t)x->n, nsymbol = (size_t)sim->step.layout->sym.n, at = (size_t)l;
    double *ws = sim->step.ws;
    x->ticks[at] -= 1;
    for (size_t i = 0; i < nsymbol; i++) ws[i] = x->old[i * n + at];
    x->residual[at] = x->former[at];
    give_rest(x, l, sim);
    if (step_alone(sim, status, diag) != PERP_OK) x->going &= ~((uint64_t)1 << l);
    for (size_t i = 0; i < nsymbol; i++) x->ws[i * n + at] = ws[i];
    take_rest(x, l, sim);
    x->since[at] = x->made + 1;
    x->stale |= (uint64_t)1 << l;
}

/* Lanes that were refused in so many steps, one after the other, go on alone. */
static void leave(perp__lanes *x, uint64_t refused)
{
    for (int i = 0; i < PATIENCE; i++) {
        const uint64_t before = x->refused[i];
        x->refused[i] = refused;
        refused &= before;
    }
    x->going &= ~x->refused[PATIENCE - 1];
    x->stale |= x->refused[PATIENCE - 1];
}

static void step_together(perp__lanes *x, perp_status *status, perp_diag *diag)
{
    const perp__step *s = &x->copy[0]->step;
    const kernels *kernel = versions[x->isa];
    begin_step(x);
    find_modes(x);
    uint64_t taken = x->going & solve_modes(x) & find_running(x);
    perp__tape_eval_many(&s->layout->tape.check, x->ws, x->n);
    memcpy(x->former, x->residual, (size_t)x->n * sizeof *x->former);
    taken &= kernel->judge(x, s);
    const uint64_t refused = x->going & ~taken;
    for (int l = 0; l < x->count && refused >> l; l++)
        if (is_in(refused, l)) x->residual[l] = x->error[l] = 0;
    assign(x, s);
    kernel->note(x);
    note_sides(x, taken);
    for (int l = 0; l < x->count && refused >> l; l++)
        if (is_in(refused, l)) step_refused(x, l, &status[x->place[l]], &diag[x->place[l]]);
    leave(x, refused);
    x->made++;
}

/* Those that cannot go together one after the other. */
static void step_all(perp__lanes *x, perp_simulation *const *copy, int n, long steps,
                     perp_status *status, perp_diag *diag)
{
    enum { FEW = 16 };
    long end[LANES];
    for (int l = 0; l < n; l++) end[l] = copy[l]->done + steps;
    if (x) gather(x, copy, n, status, steps >= FEW);
    if (x && x->going) {
        while (x->going && x->made < steps) step_together(x, status, diag);
        versions[x->isa]->give(x, copy[0]->step.layout->sym.n);
        for (int l = 0; l < n; l++)
            if (is_in(x->going, l)) give_rest(x, l, x->copy[l]);
    }
    for (int l = 0; l < n; l++)
        while (status[l] == PERP_OK && copy[l]->done < end[l])
            step_alone(copy[l], &status[l], &diag[l]);
}

/* The first step of a run has checks of its own. */
void perp__lanes_step(perp__lanes *x, perp_simulation *const *copy, int n, long steps,
                      perp_status *status, perp_diag *diag)
{
    enum { STEPS = 64 };
    int is_first = 0;
    for (int l = 0; l < n; l++) {
        status[l] = PERP_OK;
        is_first |= copy[l]->done == 0;
    }
    for (long most = is_first ? 1 : STEPS; steps > 0; most = STEPS) {
        step_all(x, copy, n, steps < most ? steps : most, status, diag);
        steps -= most;
    }
}
