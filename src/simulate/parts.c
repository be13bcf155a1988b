/* A step in as many parts as its accuracy asks for. Each part is taken once whole and once as two
 * halves; their difference gives the error of the halves. These are kept if it is small enough, and
 * the next part is as long as that error allows. */

#include "simulate/parts.h"

#include "base/tol.h"
#include "model/scheme.h"
#include "simulate/collocation.h"
#include "simulate/events.h"
#include "simulate/impacts.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A part is at most so much shorter and longer than the one before. It aims at so much below the
 * allowed error. It is never shorter than this part of a step: such a one is accepted, and
 * counted. */
#define SHORTER  0.2
#define LONGER   4
#define CAUTION  0.8
#define SHORTEST 1e-9

/* HOPELESS such parts in a row, each with too large an error or ended by an event: there is no
 * progress, and a step would take 1e9. */
#define HOPELESS 1000

/* The progress of a run with a limit of cost is checked from this part of its cost on; so many
 * times the share of its time may be too much. */
#define LOOK 0.25
#define LATE 4

struct perp__parts {
    double length; /* that the next is to have */
    double shortest;
    long taken, unresolved, least; /* the last: of the shortest in a row, in the step in hand */
    long left;                     /* of those taken, by backward Euler */
    double off; /* the sum of the estimated errors of parts, of what is allowed of each */
    int order, order_here;           /* of the method; of the part in hand */
    double *begin, *whole, *largest; /* symbols; states of the whole part; of each state so far */
    int closed;
    unsigned char *events; /* what pass_events says at the beginning */
    /* own: the direction that is what the run lacks, or -1. Does the model hold positions? */
    int own, is_held;
    double *lacks, *lasts; /* of the part in hand; scratch */
    double *middle;        /* states between its halves */
    char *on;    /* of steps without events: guards at its beginning, its middle, its end */
    double work; /* at the beginning, where there is a most (perp__run_work) */
};

/* Orders of what the list of methods names (include/perp/schemes.h). */
static int order_of(const perp_simulation *sim)
{
    const perp__scheme scheme =
        perp__scheme_make(perp_integrator_name(sim->options.integrator), sim->options.theta);
    if (scheme.npoint > 1) return 2 * scheme.npoint - 1;
    return scheme.is_weighted && scheme.theta == 0.5 ? 2 : 1;
}

static void pass_no_step(perp__step *step, perp__pass *pass)
{
    (void)step;
    (void)pass;
}

static size_t pass_events(perp_simulation *sim, int mode)
{
    perp__pass pass = {.mode = mode, .at = sim->parts->events};
    if (sim->events) perp__events_pass(sim->events, &pass, pass_no_step);
    if (sim->sensitivity) perp__sensitivity_pass(sim->sensitivity, &pass);
    return pass.n;
}

/* Room for what that is now. Returns 0: memory is out. */
static int take_room(perp_simulation *sim)
{
    perp__parts *p = sim->parts;
    size_t size = pass_events(sim, PERP__COUNT);
    free(p->events);
    return (p->events = malloc(size + 1)) != NULL;
}

perp_status perp__parts_create(perp_simulation *sim)
{
    if (!(sim->options.accuracy > 0)) return PERP_OK;
    perp__parts *p = sim->parts = calloc(1, sizeof *p);
    if (!p) return PERP_ERR_MEMORY;
    size_t nx = (size_t)sim->step.layout->nx;
    p->begin = calloc((size_t)sim->step.layout->sym.n + 5 * nx + 1, sizeof(double));
    p->on = calloc(3 * (size_t)sim->step.layout->np + 1, 1);
    if (!p->begin || !p->on || !take_room(sim)) return PERP_ERR_MEMORY;
    p->whole = p->begin + sim->step.layout->sym.n;
    p->largest = p->whole + nx;
    p->lacks = p->largest + nx;
    p->lasts = p->lacks + nx;
    p->middle = p->lasts + nx;
    p->own = -1;
    p->order = order_of(sim);
    perp__parts_restart(sim);
    return PERP_OK;
}

void perp__parts_destroy(perp__parts *p)
{
    if (!p) return;
    free(p->begin);
    free(p->on);
    free(p->events);
    free(p);
}

void perp__parts_restart(perp_simulation *sim)
{
    perp__parts *p = sim->parts;
    if (!p) return;
    p->length = p->shortest = sim->options.step;
    p->taken = p->unresolved = p->left = 0;
    p->off = 0;
    memset(p->largest, 0, (size_t)sim->step.layout->nx * sizeof(double));
}

void perp__parts_pass(perp_simulation *sim, perp__pass *pass)
{
    perp__parts *p = sim->parts;
    perp__pass_doubles(pass, &p->length, 1);
    perp__pass_doubles(pass, &p->shortest, 1);
    perp__pass_longs(pass, &p->taken, 1);
    perp__pass_longs(pass, &p->unresolved, 1);
    perp__pass_doubles(pass, p->largest, (size_t)sim->step.layout->nx);
}

static void keep(perp_simulation *sim)
{
    perp__parts *p = sim->parts;
    memcpy(p->begin, sim->step.ws, perp__step_symbols(&sim->step));
    p->closed = sim->step.state.are_closed;
    perp__impulses_keep(sim);
    perp__impacts_keep(sim, PERP__IMPACTS_PART);
    pass_events(sim, PERP__SAVE);
}

static void go_back(perp_simulation *sim)
{
    perp__parts *p = sim->parts;
    memcpy(sim->step.ws, p->begin, perp__step_symbols(&sim->step));
    sim->step.state.are_closed = p->closed;
    perp__impulses_go_back(sim);
    perp__impacts_go_back(sim, PERP__IMPACTS_PART);
    pass_events(sim, PERP__LOAD);
}

/* What may be rounding of state i, or left of its conditions by a step that holds; those of Radau's
 * methods are solved to rounding. */
static double unresolved(perp_simulation *sim, int i, double reach)
{
    perp__step *s = &sim->step;
    double held =
        sim->events ? 0 : fmin(s->tol, sim->options.accuracy); /* who asks for more gets more */
    return fmax(held * s->cache.sizes.own[i], PERP_ROUNDING * reach * perp__step_units(s)[i]);
}

/* The error of the halves, relative to the allowed one: of each state relative to its largest value
 * so far, and to its change in a step at its present rate. With the reach of the unknowns, less
 * than the unresolved part is no error. */
static double error_of_halves(perp_simulation *sim, double h, double reach)
{
    const perp__parts *p = sim->parts;
    const double *x = sim->step.ws + sim->step.layout->sym.y,
                 *x0 = p->begin + sim->step.layout->sym.y;
    double worst = 0, gain = ldexp(1, p->order_here) - 1;
    for (int i = 0; i < sim->step.layout->nx; i++) {
        double moves = fabs(x[i] - x0[i]) / h * sim->options.step;
        double size = fmax(fmax(p->largest[i], moves), fmax(fabs(x[i]), fabs(x0[i])));
        double off = fabs(x[i] - p->whole[i]) / gain;
        if (off > (reach > 0 ? unresolved(sim, i, reach) : 0))
            worst = fmax(worst, off / (sim->options.accuracy * size));
    }
    return worst;
}

/* Where all that stands moves by what is unresolved no part would be short enough: that is looked
 * at where the parts seem too long. Beside the largest unknown, however small it is: in other units
 * it is another number. */
static double judge(perp_simulation *sim, double h)
{
    double off = error_of_halves(sim, h, 0);
    if (off <= 1) return off;
    if (sim->events)
        perp__step_linearise(&sim->step); /* points may have been judged by another problem */
    else
        perp__step_size(&sim->step);
    return error_of_halves(sim, h, perp__step_reach(&sim->step));
}

static void add(perp__step_result *sum, perp__step_result r)
{
    r.solves += sum->solves;
    r.error = fmax(r.error, sum->error);
    r.residual = fmax(r.residual, sum->residual);
    *sum = r;
}

/* Steps so far that the method left to backward Euler, which is of order 1. */
static long left(const perp_simulation *sim)
{
    return perp_simulation_fallback_steps(sim, NULL);
}

/* What follows the run goes along the halves alone. */
static perp__step_result take_whole(perp_simulation *sim, double t, double *end)
{
    perp__sensitivity *followed = sim->sensitivity;
    if (followed) {
        sim->sensitivity = NULL;
        perp__events_pause(sim->events, 1);
    }
    perp__events_stop(sim->events, end);
    perp__step_result r = perp__run_advance(sim, t, *end);
    perp__events_stop(sim->events, NULL);
    if (followed) {
        sim->sensitivity = followed;
        perp__events_pause(sim->events, 0);
    }
    return r;
}

/* Which guards are on at one of the three places of the part? */
static void note_guards(perp_simulation *sim, int place, double t)
{
    perp__parts *p = sim->parts;
    perp__step *s = &sim->step;
    if (sim->events || s->layout->tape.guards.nout == 0) return;
    perp__step_guards(s, t, p->on + place * s->layout->np, p->lacks);
    if (place == 1)
        memcpy(p->middle, s->ws + s->layout->sym.y, (size_t)s->layout->nx * sizeof(double));
}

/* A guard that did not change up to the middle and has changed at the end let the second half go on
 * as before, for up to its whole length. The change of the states in that, relative to the allowed
 * error. The halves need not show it: if flight is exact they agree beyond the floor, too. */
static double moved_late(const perp_simulation *sim)
{
    const perp__parts *p = sim->parts;
    const perp__step *s = &sim->step;
    const double *x = s->ws + s->layout->sym.y;
    double worst = 0;
    int is_late = 0;
    for (int i = 0; i < s->layout->np; i++) {
        const char *on = p->on + i;
        is_late |= on[0] == on[s->layout->np] && on[0] != on[2 * s->layout->np];
    }
    for (int i = 0; i < s->layout->nx && is_late; i++) {
        double size = fmax(p->largest[i], fmax(fabs(x[i]), fabs(p->begin[s->layout->sym.y + i])));
        if (x[i] != p->middle[i])
            worst = fmax(worst, fabs(x[i] - p->middle[i]) / (sim->options.accuracy * size));
    }
    return worst;
}

/* A part from t to *end, once whole, once in halves, which are the present state after it. It ends
 * where the whole has an event: the motion after one would be the same in both. Its error is in
 * *off; infinite if the whole cannot be taken. */
static perp__step_result take(perp_simulation *sim, double t, double *end, double *off)
{
    const double *x = sim->step.ws + sim->step.layout->sym.y;
    long left_before = left(sim);
    note_guards(sim, 0, t);
    keep(sim);
    perp__step_result r = take_whole(sim, t, end), half;
    double middle = t + (*end - t) / 2;
    int is_whole = r.outcome == PERP_SOLVED, solves = r.solves, is_left = left(sim) > left_before;
    memcpy(sim->parts->whole, x, (size_t)sim->step.layout->nx * sizeof(double));
    go_back(sim);
    r = perp__run_advance(sim, t, middle);
    r.solves += solves;
    if (r.outcome == PERP_SOLVED) {
        note_guards(sim, 1, middle);
        half = perp__run_advance(sim, middle, *end);
        add(&r, half);
    }
    is_left |= left(sim) > left_before;
    sim->parts->order_here = is_left ? 1 : sim->parts->order;
    *off = r.outcome == PERP_SOLVED && is_whole ? judge(sim, *end - t) : (double)INFINITY;
    if (isfinite(*off)) {
        note_guards(sim, 2, *end);
        *off = fmax(*off, moved_late(sim));
    }
    return r;
}

/* Half of all numbers, at random. */
static int is_chosen(long k)
{
    unsigned long long x = (unsigned long long)k * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return (int)(x >> 63);
}

/* The error of the halves, by their order. If positions are held, velocities that the next step
 * removes are of the order of its points alone (their number is given); that counts if there
 * is no next step. */
static void find_lack(perp_simulation *sim, int is_last, int npoint)
{
    perp__parts *p = sim->parts;
    const double *x = sim->step.ws + sim->step.layout->sym.y;
    double gain = ldexp(1, p->order_here) - 1, least = ldexp(1, npoint) - 1;
    for (int i = 0; i < sim->step.layout->nx; i++) p->lacks[i] = (p->whole[i] - x[i]) / gain;
    if (!is_last || !p->is_held || !perp__events_carry(sim->events, p->lacks, p->lasts)) return;
    for (int i = 0; i < sim->step.layout->nx; i++)
        p->lacks[i] += (p->lacks[i] - p->lasts[i]) * (gain / least - 1);
}

static void add_lack(perp_simulation *sim, int is_last)
{
    perp__parts *p = sim->parts;
    int np = p->own + 2;
    double *state = perp__sensitivity_states(sim->sensitivity) + p->own;
    find_lack(sim, is_last && p->order_here == p->order, (p->order + 1) / 2);
    for (int i = 0; i < sim->step.layout->nx; i++, state += np) {
        state[0] += p->lacks[i];
        state[1] += is_chosen(p->taken) ? -p->lacks[i] : p->lacks[i];
    }
}

static void accept(perp_simulation *sim, double h)
{
    perp__parts *p = sim->parts;
    const double *x = sim->step.ws + sim->step.layout->sym.y;
    for (int i = 0; i < sim->step.layout->nx; i++) p->largest[i] = fmax(p->largest[i], fabs(x[i]));
    p->taken++;
    p->shortest = fmin(p->shortest, h);
}

/* Ends hopeless runs early: has the run to t cost so large a part of its allowance, with less of
 * its time done? */
static int costs_too_much(const perp_simulation *sim, double t)
{
    const perp__parts *p = sim->parts;
    const perp_simulation_options *o = &sim->options;
    if (!(sim->most_work > 0)) return 0;
    double cost = (perp__run_work(sim) - p->work) / (sim->most_work - p->work);
    return cost > LOOK && LATE * (t - o->from) < cost * (o->to - o->from);
}

perp__step_result perp__parts_advance(perp_simulation *sim, double t0, double t1)
{
    perp__parts *p = sim->parts;
    perp__step_result sum = {.outcome = PERP_SOLVED};
    p->least = 0;
    for (double t = t0; t < t1;) {
        sim->is_stopped |= costs_too_much(sim, t);
        if (perp__run_is_stopped(sim)) {
            sum.outcome = PERP_LIMIT;
            return sum;
        }
        double rest = t1 - t, h = p->length;
        if (rest - h <= SHORTEST * sim->options.step)
            h = rest; /* rows are a step apart but for rounding */
        if (h < rest && h > rest / 2) h = rest / 2;
        double end = h >= rest ? t1 : t + h, off;
        double meant = end;
        perp__step_result r = take(sim, t, &end, &off);
        h = end - t;
        int is_least = h <= 2 * SHORTEST * sim->options.step;
        int is_fine = off <= 1 || (is_least && r.outcome == PERP_SOLVED);
        double share = CAUTION * pow(fmax(off, 1e-30), -1.0 / (p->order_here + 1));
        double next = h * fmin(fmax(share, SHORTER), is_fine ? LONGER : 0.5);
        if (is_fine && (end == t1 || end < meant))
            next = fmax(next, p->length); /* it was short for another reason */
        p->length = fmin(fmax(next, SHORTEST * sim->options.step), sim->options.step);
        if (is_fine) {
            add(&sum, r);
            accept(sim, h);
            if (p->own >= 0 && isfinite(off))
                add_lack(sim, end == t1 && sim->done + 1 == sim->nstep);
            p->off += off;
            p->left += p->order_here < p->order;
            p->unresolved += off > 1;
            p->least = is_least ? p->least + 1 : 0;
            if (p->least == HOPELESS) {
                sum.outcome = PERP_LIMIT;
                sum.fault = PERP__UNRESOLVED;
                return sum;
            }
            t = end;
            continue;
        }
        sum.solves += r.solves;
        if (is_least || sim->step.cache.out_of_memory || sim->is_stopped) {
            add(&sum, r);
            return sum;
        }
        go_back(sim);
    }
    return sum;
}

void perp__parts_add_to(perp_simulation *sim, int j)
{
    sim->parts->own = j;
    sim->parts->is_held = perp__holds_positions(sim->model) != 0;
}

int perp__parts_refer(perp_simulation *sim)
{
    sim->parts->work = perp__run_work(sim);
    perp__events_be_rough(sim->events, sim->options.accuracy);
    return take_room(sim);
}

double perp__parts_error(const perp_simulation *sim)
{
    return sim->options.accuracy * sim->parts->off;
}

long perp__parts_left(const perp_simulation *sim)
{
    return sim->parts->left;
}

const double *perp__parts_largest(const perp_simulation *sim)
{
    return sim->parts->largest;
}

long perp_simulation_substeps(const perp_simulation *sim, double *shortest, long *unresolved)
{
    const perp__parts *p = sim ? sim->parts : NULL;
    if (shortest) *shortest = p && p->taken ? p->shortest : (double)NAN;
    if (unresolved) *unresolved = p ? p->unresolved : 0;
    return p ? p->taken : 0;
}
