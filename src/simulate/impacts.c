/* Impacts of a run (docs/accuracy.md). An impact is a contact that closes with a velocity of
 * approach beyond what the forces of one step give. Methods that locate events find it where states
 * jump: the impulse of a force is the limit of force times length of two short steps. In steps of
 * fixed length a contact that closes has an impact if it approached one step before, too. */

#include "simulate/impacts.h"

#include "base/holds.h"
#include "base/tol.h"
#include "simulate/striking.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pair whose contact has just closed in a step of fixed length; one stated by a gap has its whole
 * impulse with the next step. */
typedef struct landing {
    double time, impulse, energy, terms, friction[2];
    int is_begun; /* the step of the closing is behind us, the next one adds to it */
} landing;

/* Changed by each substep. */
typedef struct progress {
    int n;          /* impacts of the step so far */
    double terms;   /* of their energies */
    char *closed;   /* of each pair that can have impacts */
    landing *land;  /* the same */
    double *was;    /* states where the last step of fixed length began */
    double was_at;  /* the time there; NaN: no such step led here */
    int has_struck; /* that step had an impact */
} progress;

struct perp__impacts {
    const perp_model *model;
    perp__strikings strikings;
    perp_impact *impact; /* of the step in hand, or the last one */
    int capacity, is_out_of_memory, nx;
    progress now, kept[PERP__IMPACTS_PLACES];
    long count;
    double energy; /* lost in all; NaN: of one it is not known */
    double terms;  /* the sum of the |terms| that it is made of */
    perp_impact largest;
    double *ws, *impulse, *row; /* scratch: a workspace; of vars; of equations */
    perp__terms *term;
    perp__arena arena;
};

static const perp_impact nothing = {.pair = -1,
                                    .shape = {-1, -1},
                                    .body = {-1, -1},
                                    .point = {(double)NAN, (double)NAN, (double)NAN}};

/* A step without more impacts than this allocates nothing. */
enum { USUAL = 16 };

static void take_progress(perp__impacts *x, progress *p)
{
    PERP_TAKE(&x->arena, p->closed, x->strikings.n + 1);
    PERP_TAKE(&x->arena, p->land, x->strikings.n + 1);
    PERP_TAKE(&x->arena, p->was, x->nx + 1);
    p->was_at = (double)NAN;
}

int perp__impacts_create(perp_simulation *sim)
{
    const perp__layout *l = sim->step.layout;
    perp__impacts *x = sim->impacts = calloc(1, sizeof *x);
    if (!x) return 0;
    x->model = sim->model;
    x->nx = l->nx;
    x->largest = nothing;
    if (!perp__strikings_find(&x->strikings, sim->model)) return 0;
    if (x->strikings.n == 0) return 1;
    size_t slots = (size_t)perp__tape_end(&l->tape.check);
    if ((size_t)perp__tape_end(&l->tape.guards) > slots)
        slots = (size_t)perp__tape_end(&l->tape.guards);
    PERP_TAKE(&x->arena, x->ws, slots + 1);
    PERP_TAKE(&x->arena, x->term, slots + 1);
    PERP_TAKE(&x->arena, x->impulse, sim->model->nitem[PERP_VAR] + 1);
    PERP_TAKE(&x->arena, x->row, sim->model->nequation + 1);
    take_progress(x, &x->now);
    for (int k = 0; k < PERP__IMPACTS_PLACES; k++) take_progress(x, &x->kept[k]);
    return !x->arena.failed && perp__grow(&x->impact, &x->capacity, USUAL, sizeof *x->impact);
}

void perp__impacts_destroy(perp__impacts *x)
{
    if (!x) return;
    perp__strikings_clear(&x->strikings);
    perp__arena_clear(&x->arena);
    free(x->impact);
    free(x);
}

void perp__impacts_restart(perp_simulation *sim)
{
    perp__impacts *x = sim->impacts;
    if (!x) return;
    x->now.n = 0;
    x->now.was_at = (double)NAN;
    x->count = 0;
    x->energy = x->terms = 0;
    x->largest = nothing;
    for (int i = 0; i < x->strikings.n; i++) {
        x->now.closed[i] = 0;
        x->now.land[i] = (landing){.impulse = 0};
    }
}

static void pass_largest(perp__impacts *x, perp__pass *pass)
{
    perp_impact *largest = &x->largest;
    double *number[] = {&largest->time, &largest->impulse, &largest->friction, &largest->energy};
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        perp__pass_doubles(pass, number[k], 1);
    perp__pass_ints(pass, &largest->pair, 1, -1, x->model->npair - 1);
}

void perp__impacts_pass(perp_simulation *sim, perp__pass *pass)
{
    perp__impacts *x = sim->impacts;
    size_t n = (size_t)x->strikings.n;
    perp__pass_longs(pass, &x->count, 1);
    perp__pass_doubles(pass, &x->energy, 1);
    perp__pass_doubles(pass, &x->terms, 1);
    pass_largest(x, pass);
    perp__pass_chars(pass, x->now.closed, n, 0, 1);
    for (size_t i = 0; i < n; i++) {
        landing *land = &x->now.land[i];
        double *number[] = {&land->time,  &land->impulse,     &land->energy,
                            &land->terms, &land->friction[0], &land->friction[1]};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++)
            perp__pass_doubles(pass, number[k], 1);
        perp__pass_ints(pass, &land->is_begun, 1, 0, 1);
    }
    perp__pass_doubles(pass, x->now.was, n ? (size_t)x->nx : 0);
    perp__pass_doubles(pass, &x->now.was_at, 1);
    perp__pass_ints(pass, &x->now.has_struck, 1, 0, 1);
    if (pass->mode == PERP__LOAD) x->now.n = 0;
}

static void copy(const perp__impacts *x, progress *to, const progress *from)
{
    size_t n = (size_t)x->strikings.n;
    to->n = from->n;
    to->terms = from->terms;
    if (n == 0) return;
    memcpy(to->closed, from->closed, n);
    memcpy(to->land, from->land, n * sizeof *to->land);
    memcpy(to->was, from->was, (size_t)x->nx * sizeof *to->was);
    to->was_at = from->was_at;
    to->has_struck = from->has_struck;
}

void perp__impacts_keep(perp_simulation *sim, perp__impacts_place place)
{
    if (sim->impacts) copy(sim->impacts, &sim->impacts->kept[place], &sim->impacts->now);
}

void perp__impacts_go_back(perp_simulation *sim, perp__impacts_place place)
{
    if (sim->impacts) copy(sim->impacts, &sim->impacts->now, &sim->impacts->kept[place]);
}

/* Records -------------------------------------------------------------------------------------- */

/* terms: the |terms| of its energy */
static void add(perp__impacts *x, perp_impact impact, double terms)
{
    if (!perp__grow(&x->impact, &x->capacity, x->now.n + 1, sizeof *x->impact)) {
        x->is_out_of_memory = 1;
        return;
    }
    x->now.terms += terms;
    x->impact[x->now.n++] = impact;
}

static perp_impact record(const perp__striking *of, double t, double impulse,
                          const double friction[2], double energy)
{
    perp_impact impact = nothing;
    impact.time = t;
    impact.pair = of->pair;
    impact.impulse = impulse;
    impact.friction = of->n < 0 ? (double)NAN : hypot(friction[0], friction[1]);
    impact.energy = energy;
    return impact;
}

static const int *roots_of(const perp__layout *l, int equation)
{
    for (int i = 0; i < l->nown; i++)
        if (l->marks.equation[i] == equation) return l->tape.check.out + 2 * i;
    return NULL;
}

/* Left minus right of an equation, as it was evaluated in the scratch workspace. */
static double row_of(const perp__impacts *x, const int *root)
{
    return x->ws[root[0]] - x->ws[root[1]];
}

/* The work of an impulse of a var, by the equations in this workspace, at the mean of the
 * velocities. An equation reads M der(v) - .. - G var: the impulse gives it the momentum
 * G impulse. Adds its |terms|. */
static double work_of(perp__impacts *x, const perp__step *s, int var, double impulse,
                      const double *before, const double *after, double *terms)
{
    const perp__layout *l = s->layout;
    const perp__strikings *of = &x->strikings;
    int first = of->start[var], n = of->start[var + 1] - first;
    double *unknown = x->ws + l->sym.y + l->sym.var_at[var], work = 0;
    memcpy(x->ws, s->ws, (size_t)perp__tape_end(&l->tape.check) * sizeof *x->ws);
    for (int pass = 0; pass < 2; pass++) {
        *unknown = pass ? impulse : 0;
        perp__tape_eval(&l->tape.check, x->ws);
        for (int k = 0; k < n; k++) {
            const perp__balance *b = &of->balance[first + k];
            const int *root = roots_of(l, b->equation);
            if (!root) return (double)NAN;
            double old = before[b->state], new = after[b->state], row = row_of(x, root);
            if (pass == 0) x->row[k] = row;
            if (pass == 0) continue;
            double gain = b->scale * (x->row[k] - row) / 2;
            work += gain * (old + new);
            *terms += fabs(gain) * (fabs(old) + fabs(new));
        }
    }
    return work;
}

/* The energy that the impulses of a contact took; x->impulse has those of all vars. Adds its
 * |terms|. */
static double energy_of(perp__impacts *x, const perp__striking *of, const perp__step *s,
                        const double *before, const double *after, double *terms)
{
    if (!of->has_energy) return (double)NAN;
    double energy = -work_of(x, s, of->var, x->impulse[of->var], before, after, terms);
    for (int k = 0; k < of->n; k++)
        energy -= work_of(x, s, of->friction[k], x->impulse[of->friction[k]], before, after, terms);
    return energy;
}

static void sum_friction(const perp__impacts *x, const perp__striking *of, double friction[2])
{
    friction[0] = friction[1] = 0;
    for (int k = 0; k < of->n; k++)
        friction[of->direction[k]] += of->sign[k] * x->impulse[of->friction[k]];
}

/* The symbols at these states, now and before, with vars 0. */
static void stand_at(perp__impacts *x, const perp__step *s, const double *states, double t,
                     double h)
{
    const perp__layout *l = s->layout;
    double *ws = x->ws;
    size_t slots = (size_t)perp__tape_end(&l->tape.check), size = (size_t)l->nx * sizeof *ws,
           guards = (size_t)perp__tape_end(&l->tape.guards);
    memcpy(ws, s->ws, (slots > guards ? slots : guards) * sizeof *ws);
    memcpy(ws + l->sym.y, states, size);
    memcpy(ws + l->sym.pre, states, size);
    for (int k = l->nx; k < l->ny; k++) ws[l->sym.y + k] = 0;
    ws[SYM_T] = ws[SYM_T_PRE] = t;
    ws[SYM_H] = h;
    ws[SYM_THETA] = 1;
}

/* The conditions there, and what their terms are. */
static void evaluate(perp__impacts *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int k = 0; k < l->sym.n; k++) x->term[k] = (perp__terms){fabs(x->ws[k]), fabs(x->ws[k])};
    perp__tape_eval(&l->tape.check, x->ws);
    perp__tape_terms(&l->tape.check, x->ws, NULL, x->term);
}

/* Located events ------------------------------------------------------------------------------- */

static double var_in(const perp__step *s, int var)
{
    return s->ws[s->layout->sym.y + s->layout->sym.var_at[var]];
}

/* Force times length is I + h F + .. in a short step. */
static double limit_of(const perp__step *whole, const perp__step *half, int var, double h)
{
    return h * (var_in(half, var) - var_in(whole, var));
}

/* Is the impulse more than that of the force that stays, in the same short step? */
static int is_impulsive(const perp__striking *of, const perp__step *whole, const perp__step *half,
                        double h, double impulse)
{
    double f = var_in(whole, of->var), g = var_in(half, of->var);
    return g > 0 && impulse > h * (2 * f - g);
}

/* Does an impulse, by which states jump, belong to none of the impacts from `first` on? */
static int is_foreign(const perp__impacts *x, int first, int var)
{
    for (int k = first; k < x->now.n; k++) {
        const perp__striking *of = &x->strikings.pair[x->strikings.of[x->impact[k].pair]];
        int is_own = of->var == var;
        for (int i = 0; i < of->n; i++) is_own |= of->friction[i] == var;
        if (is_own) return 0;
    }
    return 1;
}

/* Do the impacts of a jump, from `first` on, add energy though none of them may, and no other
 * impulse can? */
static int adds_energy(const perp__impacts *x, int first, double terms, double rounding)
{
    double energy = 0;
    for (int k = first; k < x->now.n; k++) {
        if (!x->strikings.pair[x->strikings.of[x->impact[k].pair]].loses) return 0;
        energy += x->impact[k].energy;
    }
    if (!(energy < -PERP_TOL_ENERGY * terms)) return 0;
    for (int v = 0; v < x->model->nitem[PERP_VAR]; v++)
        if (fabs(x->impulse[v]) > rounding && is_foreign(x, first, v)) return 0;
    return 1;
}

int perp__impacts_note_jump(perp__impacts *x, double t, double h, const perp__step *whole,
                            const perp__step *half, const double *before, const double *after)
{
    double largest = 0, rounding, all = 0;
    if (!x || x->strikings.n == 0) return 1;
    int first = x->now.n;
    for (int v = 0; v < x->model->nitem[PERP_VAR]; v++) {
        x->impulse[v] = limit_of(whole, half, v, h);
        largest = fmax(largest, fabs(x->impulse[v]));
    }
    rounding = PERP_ROUNDING * half->layout->ny * largest; /* each unknown adds one */
    for (int i = 0; i < x->strikings.n; i++) {
        const perp__striking *of = &x->strikings.pair[i];
        double impulse = x->impulse[of->var], friction[2], terms = 0;
        if (!is_impulsive(of, whole, half, h, impulse) || impulse <= rounding) continue;
        sum_friction(x, of, friction);
        double energy = energy_of(x, of, half, before, after, &terms);
        add(x, record(of, t, impulse, friction, perp__beyond_tol(energy, terms, half->tol)), terms);
        all += terms;
    }
    return x->is_out_of_memory || !adds_energy(x, first, all, rounding);
}

/* Steps of fixed length ------------------------------------------------------------------------ */

/* The pair's place among the roots of the conditions: a, b. */
static const int *sides_of(const perp__layout *l, const perp_model *m, int pair)
{
    const int *out = l->tape.check.out + 2 * l->nown;
    for (int i = 0; i < pair; i++) out += m->pair[i].two_sided ? 4 : 2;
    return out;
}

/* Whose guard is on there? */
static void evaluate_guards(perp__impacts *x, const perp__step *s)
{
    const perp__layout *l = s->layout;
    perp__tape_eval(&l->tape.guards, x->ws);
    for (int i = 0; i < x->strikings.n; i++) {
        int g = l->tape.guard_of[x->strikings.pair[i].pair];
        x->now.closed[i] = g < 0 || x->ws[l->tape.guards.out[g]] > 0;
    }
}

/* Of a pair's side that is no force, by the last evaluation. */
static int root_of(const perp__impacts *x, const perp__step *s, const perp__striking *of)
{
    return sides_of(s->layout, x->model, of->pair)[1 - of->side];
}

static int is_approaching(const perp__impacts *x, const perp__step *s, const perp__striking *of)
{
    int root = root_of(x, s, of);
    return x->ws[root] < -s->tol * x->term[root].scale;
}

/* Contacts at the start of a run, or where a state was set. One is closed if its guard is on and
 * its side is neither open nor, of a velocity, approaching; up to rounding. */
static void find_closed(perp__impacts *x, const perp__step *s, double t, double h)
{
    stand_at(x, s, s->ws + s->layout->sym.y, t, h);
    evaluate_guards(x, s);
    evaluate(x, s);
    for (int i = 0; i < x->strikings.n; i++) {
        const perp__striking *of = &x->strikings.pair[i];
        int root = root_of(x, s, of), is_gap = of->when == PERP__STRIKES_BY_GAP;
        int is_still =
            is_gap ? !(x->ws[root] > s->tol * x->term[root].scale) : !is_approaching(x, s, of);
        x->now.closed[i] = (char)(x->now.closed[i] && is_still);
        x->now.land[i] = (landing){.impulse = 0};
    }
}

/* A contact has closed in the step in the workspace. Did it approach where the step before began,
 * or was there an impact in that step? If not its velocity of approach is from the forces of one
 * step. A gap: did it shrink in the step before? */
static int had_approached(perp__impacts *x, const perp__striking *of, const perp__step *s)
{
    const double *pre = s->ws + s->layout->sym.pre;
    int is_first = isnan(x->now.was_at), root = root_of(x, s, of);
    double from = is_first ? s->ws[SYM_T_PRE] : x->now.was_at, h = s->ws[SYM_H];
    if (is_first ? of->when == PERP__STRIKES_BY_GAP : x->now.has_struck) return 1;
    stand_at(x, s, is_first ? pre : x->now.was, from, h);
    evaluate(x, s);
    if (of->when != PERP__STRIKES_BY_GAP) return is_approaching(x, s, of);
    double gap = x->ws[root], rounding = x->term[root].rounding;
    stand_at(x, s, pre, s->ws[SYM_T_PRE], h);
    evaluate(x, s);
    return gap - x->ws[root] > DBL_EPSILON / 2 * (rounding + x->term[root].rounding);
}

/* Of the last step: is there a force; is the contact closed, with or without one? */
static int has_force(const perp__striking *of, const perp__step *s)
{
    return s->state.side_now[of->pair] == (of->side ? 2 : 0);
}

static int is_closed(const perp__striking *of, const perp__step *s)
{
    return has_force(of, s) || s->state.side_now[of->pair] == 1;
}

void perp__impacts_begin(perp_simulation *sim, double t, double h)
{
    perp__impacts *x = sim->impacts;
    if (!x) return;
    int is_new = sim->done == 0 || sim->is_moved;
    x->now.n = 0;
    x->now.terms = 0;
    if (is_new || sim->events) x->now.was_at = (double)NAN;
    if (x->strikings.n && is_new) find_closed(x, &sim->step, t, h);
    perp__impacts_keep(sim, PERP__IMPACTS_STEP);
}

/* The impulses of a step add to what a contact has of its impact. */
static void add_to_landing(perp__impacts *x, const perp__striking *of, const perp__step *s,
                           landing *to)
{
    double friction[2];
    const double *y = s->ws + s->layout->sym.y, *pre = s->ws + s->layout->sym.pre;
    sum_friction(x, of, friction);
    to->impulse += x->impulse[of->var];
    to->energy += energy_of(x, of, s, pre, y, &to->terms);
    for (int k = 0; k < 2; k++) to->friction[k] += friction[k];
}

/* Does the step add to an impact of the pair? Then the contact has just closed, or its gap did with
 * the step before. */
static int adds(perp__impacts *x, int i, const perp__step *s)
{
    const perp__striking *of = &x->strikings.pair[i];
    int begins = has_force(of, s) && !x->now.closed[i] && of->when != PERP__STRIKES_NEVER;
    return x->now.land[i].is_begun || (begins && had_approached(x, of, s));
}

static void note_pair(perp__impacts *x, int i, const perp__step *s, double t)
{
    const perp__striking *of = &x->strikings.pair[i];
    landing *land = &x->now.land[i];
    int is_last = land->is_begun || of->when == PERP__STRIKES_BY_GUARD;
    if (!land->is_begun) *land = (landing){.time = t, .is_begun = 1};
    if (has_force(of, s)) add_to_landing(x, of, s, land);
    if (!is_last) return;
    double energy = perp__beyond_tol(land->energy, land->terms, s->tol);
    add(x, record(of, land->time, land->impulse, land->friction, energy), land->terms);
    land->is_begun = 0;
}

void perp__impacts_note_step(perp_simulation *sim, double h)
{
    perp__impacts *x = sim->impacts;
    const perp__step *s = &sim->step;
    int has_struck = 0, n = x ? x->strikings.n : 0;
    for (int i = 0; i < n; i++) {
        int has_impact = adds(x, i, s);
        x->now.closed[i] = (char)is_closed(&x->strikings.pair[i], s);
        for (int v = 0; has_impact && !has_struck && v < x->model->nitem[PERP_VAR]; v++)
            x->impulse[v] = h * var_in(s, v);
        has_struck |= has_impact;
        if (has_impact) note_pair(x, i, s, s->ws[SYM_T]);
    }
    if (n == 0) return;
    memcpy(x->now.was, s->ws + s->layout->sym.pre, (size_t)x->nx * sizeof *x->now.was);
    x->now.was_at = s->ws[SYM_T_PRE];
    x->now.has_struck = has_struck;
}

/* Of a run ------------------------------------------------------------------------------------- */

int perp__impacts_lack_memory(perp_simulation *sim)
{
    perp__impacts *x = sim->impacts;
    int lack = x && x->is_out_of_memory;
    if (x) x->is_out_of_memory = 0;
    return lack;
}

void perp__impacts_lose(perp_simulation *sim)
{
    if (!sim->impacts) return;
    sim->impacts->now.n = 0;
    sim->impacts->count = -1;
}

/* In the order of time: a gap's impact began a step before it is recorded. */
static void sort(perp__impacts *x)
{
    for (int i = 1; i < x->now.n; i++) {
        perp_impact one = x->impact[i];
        int k = i;
        for (; k > 0 && x->impact[k - 1].time > one.time; k--) x->impact[k] = x->impact[k - 1];
        x->impact[k] = one;
    }
}

void perp__impacts_end(perp_simulation *sim)
{
    perp__impacts *x = sim->impacts;
    if (x) sort(x);
    for (int i = 0; x && sim->events && i < x->strikings.n; i++)
        x->now.closed[i] = (char)is_closed(&x->strikings.pair[i], &sim->step);
    if (x && x->count >= 0) x->terms += x->now.terms;
    for (int k = 0; x && x->count >= 0 && k < x->now.n; k++) {
        x->energy += x->impact[k].energy;
        if (x->count++ == 0 || x->impact[k].impulse > x->largest.impulse) x->largest = x->impact[k];
    }
}

int perp_simulation_impacts(const perp_simulation *sim, const perp_impact **impact)
{
    const perp__impacts *x = sim ? sim->impacts : NULL;
    if (impact) *impact = x ? x->impact : NULL;
    return x ? x->now.n : 0;
}

long perp_simulation_impact_count(const perp_simulation *sim, perp_impact *largest, double *energy)
{
    const perp__impacts *x = sim ? sim->impacts : NULL;
    if (largest) *largest = x ? x->largest : nothing;
    if (energy) *energy = x ? perp__beyond_tol(x->energy, x->terms, sim->step.tol) : 0;
    return x ? x->count : 0;
}

/* Names ---------------------------------------------------------------------------------------- */

static const perp__striking *striking_of(const perp_simulation *sim, int pair)
{
    const perp__strikings *of = sim && sim->impacts ? &sim->impacts->strikings : NULL;
    if (!of || of->n == 0 || pair < 0 || pair >= sim->model->npair) return NULL;
    return of->of[pair] < 0 ? NULL : &of->pair[of->of[pair]];
}

const char *perp_simulation_impact_name(const perp_simulation *sim, int pair)
{
    const perp__striking *of = striking_of(sim, pair);
    return of ? sim->model->item[PERP_VAR][of->var].name : NULL;
}

int perp_simulation_impact_unit(const perp_simulation *sim, int pair, char *text, size_t size)
{
    const perp__striking *of = striking_of(sim, pair);
    return of ? perp__impulse_unit(sim->model, of->var, text, size) : -1;
}

/* The instance of a part that a state belongs to: its name up to the last dot. 0: to none. */
static int instance_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (int)(dot - name) : 0;
}

int perp_simulation_impact_bodies(const perp_simulation *sim, int pair, char *text, size_t size)
{
    const perp__striking *of = striking_of(sim, pair);
    if (!of) return -1;
    const perp__strikings *all = &sim->impacts->strikings;
    int n = 0, first = all->start[of->var];
    if (size) text[0] = 0;
    for (int k = first; k < all->start[of->var + 1]; k++) {
        int state = all->balance[k].of, is_new = 1;
        const char *name = state < 0 ? "" : sim->model->item[PERP_STATE][state].name;
        int length = instance_of(name);
        for (int j = first; j < k; j++) {
            const char *other =
                all->balance[j].of < 0 ? "" : sim->model->item[PERP_STATE][all->balance[j].of].name;
            is_new &= instance_of(other) != length || memcmp(other, name, (size_t)length) != 0;
        }
        if (length == 0 || !is_new) continue;
        size_t used = (size_t)n < size ? (size_t)n : size;
        n +=
            snprintf(text ? text + used : NULL, size - used, "%s%.*s", n ? ", " : "", length, name);
    }
    return n;
}
