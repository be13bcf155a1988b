/* Time between events is stepped by collocation with fixed zero sides (collocation.c). If a
 * condition on the other sides changes its sign, the step ends there. A short step of backward
 * Euler (step.c), made twice for its limit, gives the zero sides after it and the jumps of
 * velocities. */

#include "simulate/events.h"

#include "base/tol.h"
#include <stdio.h>
#include "simulate/collocation.h"
#include "simulate/impacts.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A short step has this part of a step. The limit of two has an error of the order of its
 * square. */
#define PROBE 1e-5
/* Where equations hold positions (a closed loop): the rounding of these, divided by it, are the
 * velocities that decide about sides. */
#define PROBE_HELD 1e-3

/* A state jumps if its change in half a short step is more than this share of the one in a whole
 * step; without a jump it is one half, or less. */
#define JUMP 0.75

/* ... if another one jumps, and this one changes at once by more than this share of its change, by
 * three short steps. */
#define BESIDE 1e-3

/* A side is negative below this part of its terms, */
#define NEGATIVE 1e-13

/* A guard stands still whose rate is below this part of what it is made of. */
#define STANDS 1e-9

/* ... between two points of a step where its polynomial is below this part of its terms. */
#define DIPS 1e-7

/* A step that is to stop at its first event passes one that comes before this part of it. */
#define AT_ONCE 1e-3

/* Events of one pair that are nearer to each other than so many short steps, so many times,
 * accumulate. */
enum { QUICK = 20, QUICK_TIMES = 3, PASS = 64 };

/* They are passed by so many short steps, twice as many each time, then by so many that are twice
 * as long. */
enum { MOST_PASS = 1024 };

/* After a step that fails, the method leaves some steps to backward Euler, twice as many after the
 * next failure. If a failed attempt cost more than DEAR such steps, it waits for as many, so that a
 * stack's run takes twice the time of backward Euler's. */
enum { MOST_WAIT = 63, DEAR = 100, LONGEST_WAIT = 1 << 30 };

/* The limits for which radau5 is recommended: beyond them its steps cost much more than they
 * gain. */
enum { MOST_PAIRS = 12, MOST_UNKNOWNS = 200 };

/* The last step's polynomial is extrapolated to a guess up to this multiple of its length. */
#define FAR 1.000000001

/* Its slope and bend at its end lead to a rough one up to so many times as long. */
#define AHEAD 3

enum { HALVINGS = 10, TRIES = 3, CHECKS = 3, MOST_JUMPS = 30, PROBES = 3 };

/* Checks are evaluated at so many equal parts of a step. */
enum { SAMPLES = 8 };

/* A step may have PARTS parts, and PARTS_OF_PAIR more for each pair: a ball of e = 0.99 hits the
 * floor 400 times before its impacts are seen to accumulate. */
enum { PARTS = 1000, PARTS_OF_PAIR = 20 };

/* Events at once, one after the other: a cube that comes to rest on its corners has 61, a roof of
 * 18 pairs 78. */
enum { AT_ONE_TIME = 100 };

/* Why a step could not be taken; the last ones are those of perp__collocated. */
enum { NOT_KNOWN, NO_STEP, TOO_MANY, NO_REST, NO_SIDE, HOLDS_NOT, GROWS, NOT_COLLOCATED };
static const char *const reasons[PERP__LEFT_REASONS] = {
    [NO_STEP] = "a short step from there has no verified solution",
    [TOO_MANY] = "there are too many events within a step",
    [NO_REST] = "contacts do not come to rest, nor leave it",
    [NO_SIDE] = "no side of this pair stays zero behind it",
    [HOLDS_NOT] = "what was found does not hold, with steps however short; furthest off is",
    [GROWS] = "impulses without restitution would add energy there",
    [NOT_COLLOCATED + PERP__HAS_NO_VALUE] = "a coefficient is not a number",
    [NOT_COLLOCATED + PERP__HAS_NO_MATRIX] =
        "with the sides that are zero there the unknowns are not determined",
    [NOT_COLLOCATED + PERP__HAS_NO_MEMORY] = "there is no memory",
    [NOT_COLLOCATED + PERP__HAS_NO_END] =
        "Newton's iteration does not converge, with steps however short"};
enum { REASONS = PERP__LEFT_REASONS };

struct perp__events {
    perp__collocation *at;
    const perp_model *model;
    perp__step probe[PROBES]; /* short steps, of h, h/2 and h/4 */
    perp__step limit; /* judges points where conditions read pre(x), which is x there (has_pre) */
    perp__impacts *impacts;     /* of the run */
    perp__saltation *saltation; /* NULL: derivatives are not followed */
    perp__saltation *followed;  /* during a stretch, or a pause: the run's own */
    double past_t, past_h,
        *past_x;      /* the last step, at whose end an event may turn out to have been */
    int is_fresh;     /* the mode was found here */
    int is_reference; /* steps in which nothing happens may be rough */
    double accuracy;  /* ... which is to have this one, of its states */
    struct {          /* a step in the present mode, on whose polynomial those within it begin */
        int is_kept, is_known;
        double t, h, *x, *y; /* x: nx; y: n */
    } wide;
    double short_h, step;
    double *first_end;         /* NULL: steps go to their end (perp__events_stop) */
    int is_short;              /* the last that was done were short steps */
    int has_mode, was_in_mode; /* was: `mode` held up to e->t */
    int has_pre, has_past; /* do conditions read pre(x); is a side of a pair made of that alone: */
    char *past;            /* of these? */
    char *mode, *former,
        *held; /* held: guards that are on, > 0, or off, < 0, whatever their gaps drifted */
    /* Open pairs whose guards hold on their bounds, too: was it on where the step began? Do guard
     * and side become negative in this step together, so that the side is what ends it? -1: they
     * seemed to. */
    char *closed, *on, *tied, *sinks, *off;         /* sinks, off: scratch */
    int *group;                                     /* the first pair with the same guard */
    double t, *x, *var, *struck;                    /* the last one: states before a jump */
    double between[SAMPLES + 1][PERP__MOST_POINTS]; /* what the points count at the samples */
    double *at_lo; /* CHECKS of each pair, where the search has no event */
    double *last;  /* pair -> the time of its last event, */
    int *quick;    /* ... and how many came in a row so near to each other */
    int flips,
        at_once; /* sides changed without progress; the pair whose event came at once, or -1 */
    int pass;    /* the next accumulation takes so many short steps, or as long */
    int hit, hit_check; /* the pair and the check of it that ended the step, or -1 */
    long passed;
    int why, worst; /* of a failure: one of `reasons`; and the condition, as perp__verdict.worst */
    perp__events_left left;
    perp__arena arena;
};

/* Creation ------------------------------------------------------------------------------------- */

int perp__events_wanted(const perp_model *model, perp_integrator integrator)
{
    if (model->kind == PERP_DISCRETE || (unsigned)integrator >= PERP_INTEGRATOR_COUNT) return 0;
    return perp__scheme_make(perp_integrator_name(integrator), 1).npoint > 1;
}

/* Do these expressions read a symbol that is asked for? Returns -1 when memory is out. */
static int they_read(const perp_model *m, const perp_expr *root, int nroot, const int *is_asked)
{
    int found = 0, n, *reach = perp__graph_reach(&m->graph, root, nroot, &n);
    for (int k = 0; reach && k < n; k++) {
        const perp__node *node = &m->graph.node[reach[k]];
        found |= node->op == PERP__SYMBOL && is_asked[node->a];
    }
    if (!reach) return -1;
    free(reach);
    return found;
}

/* Does a condition of the model? */
static int reads(const perp_model *m, const int *is_asked)
{
    int found = 0;
    for (int i = 0; i < m->nequation + m->npair && found == 0; i++) {
        const perp__equation *e = i < m->nequation ? &m->equation[i] : NULL;
        const perp__pair *p = e ? NULL : &m->pair[i - m->nequation];
        perp_expr root[4] = {e ? e->left : p->a, e ? e->right : p->b};
        int two = p && p->two_sided;
        if (two) {
            root[2] = p->lo;
            root[3] = p->hi;
        }
        found = they_read(m, root, two ? 4 : 2, is_asked);
    }
    return found;
}

/* Do conditions read h, and pre(x)? Returns 0 when memory is out. */
static int find_readers(const perp_model *m, int *has_h, int *has_pre)
{
    int *asked = calloc((size_t)m->nsymbol + 1, sizeof *asked);
    if (!asked) return 0;
    asked[PERP__SYM_H] = 1;
    *has_h = reads(m, asked);
    asked[PERP__SYM_H] = 0;
    for (int i = 0; i < m->nitem[PERP_STATE]; i++)
        asked[m->item[PERP_STATE][i].symbol + PERP__PRE] = 1;
    *has_pre = reads(m, asked);
    free(asked);
    return *has_h >= 0 && *has_pre >= 0;
}

/* Mark the pairs that have a side of what was before the step and of nothing that the step finds.
 * Returns 0 when memory is out. */
static int find_past(perp__events *e)
{
    const perp_model *m = e->model;
    int *before = calloc(2 * (size_t)m->nsymbol + 1, sizeof *before), *now = before + m->nsymbol;
    int ok = before != NULL;
    for (int i = 0; ok && i < m->nitem[PERP_STATE]; i++) {
        int x = m->item[PERP_STATE][i].symbol;
        before[x + PERP__PRE] = 1;
        now[x + PERP__NOW] = now[x + PERP__DER] = now[x + PERP__NEXT] = 1;
    }
    for (int i = 0; ok && i < m->nitem[PERP_VAR]; i++) now[m->item[PERP_VAR][i].symbol] = 1;
    for (int k = 0; ok && e->has_pre && k < 2 * m->npair; k++) {
        const perp_expr *side = k % 2 ? &m->pair[k / 2].b : &m->pair[k / 2].a;
        int of_before = they_read(m, side, 1, before), of_now = they_read(m, side, 1, now);
        ok = of_before >= 0 && of_now >= 0;
        e->past[k / 2] |= of_before > 0 && of_now == 0;
        e->has_past |= e->past[k / 2];
    }
    free(before);
    return ok;
}

static const perp__contact *first_cone(const perp_model *m)
{
    for (int i = 0; i < m->nfriction; i++)
        if (m->contact[i].kind == PERP__CONTACT_CONE) return &m->contact[i];
    return NULL;
}

/* Mark the one-sided pairs whose guards are made of <= and >= alone, so that they hold on their
 * bounds. Returns 0 when memory is out. */
static int find_closed(perp__events *e)
{
    const perp_model *m = e->model;
    int ok = 1;
    for (int p = 0; p < m->npair && ok; p++) {
        int n, *reach, has_le = 0, has_lt = 0;
        if (m->pair[p].guard < 0 || m->pair[p].two_sided) continue;
        ok = (reach = perp__graph_reach(&m->graph, &m->pair[p].guard, 1, &n)) != NULL;
        for (int k = 0; ok && k < n; k++) {
            has_le |= m->graph.node[reach[k]].op == PERP__LE;
            has_lt |= m->graph.node[reach[k]].op == PERP__LT;
        }
        e->closed[p] = (char)(has_le && !has_lt);
        free(reach);
    }
    return ok;
}

/* What an instant has no meaning for. */
static perp_status check_model(perp__events *e, perp_integrator integrator, perp_diag *diag)
{
    const perp_model *m = e->model;
    const char *word = perp_integrator_name(integrator);
    const perp__contact *cone = first_cone(m);
    int has_h;
    if (!find_readers(m, &has_h, &e->has_pre) || !find_past(e) || !find_closed(e))
        return PERP_ERR_MEMORY;
    if (cone)
        return perp__refuse(
            diag, PERP_ERR_MODEL, perp__source_place(&m->source, cone->at),
            "%s locates events of pairs, and an exact friction cone has none; state it with "
            "facets, or take theta\n",
            word);
    if (has_h)
        return perp__refuse(
            diag, PERP_ERR_MODEL, perp__in(m->source.name),
            "%s takes conditions at instants, where the step h that one of them reads "
            "has no length; only guards may read it\n",
            word);
    return PERP_OK;
}

int perp__events_fit(const perp_model *m)
{
    int has_h, has_pre, unknowns = m->nitem[PERP_STATE] + m->nitem[PERP_VAR];
    if (m->npair > MOST_PAIRS || unknowns > MOST_UNKNOWNS || first_cone(m)) return 0;
    return find_readers(m, &has_h, &has_pre) ? !has_h : -1;
}

perp_integrator perp_simulation_recommend(const perp_model *m)
{
    if (!m || m->kind == PERP_DISCRETE || m->plan) return PERP_BACKWARD_EULER;
    int fits = perp__events_fit(m);
    if (fits) return fits > 0 ? PERP_RADAU5 : PERP_INTEGRATOR_COUNT;
    return m->npair == 0 && !first_cone(m) ? PERP_THETA : PERP_BACKWARD_EULER;
}

int perp__events_unknowns(const perp__events *e)
{
    return e->at->n;
}

double perp__events_work(const perp__events *e)
{
    enum {
        AN_UNKNOWN = 250,
        AGAIN = 50,
        ALONG = 20
    }; /* of a point, in an iteration of Newton's; without new factors; of a direction */
    double work = 0;
    for (int k = 0; k < PROBES; k++) work += e->probe[k].state.count.work;
    return work + (double)e->at->n * (AN_UNKNOWN * (double)e->at->iterations +
                                      AGAIN * (double)e->at->again + ALONG * (double)e->at->along);
}

static int take_memory(perp__events *e)
{
    int np = e->model->npair;
    PERP_TAKE(&e->arena, e->mode, np + 1);
    PERP_TAKE(&e->arena, e->former, np + 1);
    PERP_TAKE(&e->arena, e->past, np + 1);
    PERP_TAKE(&e->arena, e->held, np + 1);
    PERP_TAKE(&e->arena, e->closed, np + 1);
    PERP_TAKE(&e->arena, e->on, np + 1);
    PERP_TAKE(&e->arena, e->tied, np + 1);
    PERP_TAKE(&e->arena, e->sinks, np + 1);
    PERP_TAKE(&e->arena, e->off, np + 1);
    PERP_TAKE(&e->arena, e->group, np + 1);
    PERP_TAKE(&e->arena, e->x, e->model->nitem[PERP_STATE] + 1);
    PERP_TAKE(&e->arena, e->var, e->model->nitem[PERP_VAR] + 1);
    PERP_TAKE(&e->arena, e->struck, e->model->nitem[PERP_STATE] + 1);
    PERP_TAKE(&e->arena, e->past_x, e->model->nitem[PERP_STATE] + 1);
    PERP_TAKE(&e->arena, e->at_lo, CHECKS * np + 1);
    PERP_TAKE(&e->arena, e->last, np + 1);
    PERP_TAKE(&e->arena, e->quick, np + 1);
    for (int p = 0; p < np && !e->arena.failed; p++)
        while (e->model->pair[e->group[p]].guard != e->model->pair[p].guard) e->group[p]++;
    return !e->arena.failed;
}

static void find_samples(perp__events *e)
{
    double through[PERP__MOST_POINTS + 1];
    for (int s = 0; s <= SAMPLES; s++)
        perp__scheme_basis(&e->at->scheme, (double)s / SAMPLES, through, e->between[s]);
}

perp_status perp__events_create(const perp_model *model, const perp_simulation_options *options,
                                const perp__changes *changes, const perp__driven *driven,
                                perp__events **events, perp_diag *diag)
{
    perp__events *e = *events = calloc(1, sizeof *e);
    if (!e) return PERP_ERR_MEMORY;
    perp__scheme scheme = perp__scheme_make(perp_integrator_name(options->integrator), 1);
    perp_simulation_options o = *options;
    e->model = model;
    e->step = o.step;
    e->short_h = PROBE * o.step;
    int held = perp__holds_positions(model);
    if (held > 0) e->short_h = PROBE_HELD * o.step;
    perp_status status =
        take_memory(e) && held >= 0 ? check_model(e, o.integrator, diag) : PERP_ERR_MEMORY;
    if (status != PERP_OK) return status;
    o.integrator = PERP_BACKWARD_EULER;
    for (int k = 0; k < PROBES && status == PERP_OK; k++) {
        o.step = ldexp(e->short_h, -k);
        status = perp__step_create(&e->probe[k], model, &o, changes, diag);
    }
    for (int k = 0; k < PROBES; k++) e->probe[k].held = e->held;
    if (status == PERP_OK && e->has_pre)
        status = perp__step_create_limit(&e->limit, &e->probe[0], e->step);
    if (status != PERP_OK) return status;
    e->at = perp__collocation_create(model, &scheme, e->step, changes);
    if (!e->at) return PERP_ERR_MEMORY;
    e->at->may.driven = driven;
    find_samples(e);
    perp__events_forget(e);
    return perp__step_compiler(&e->probe[0]) ? perp__collocation_compile(e->at, diag) : PERP_OK;
}

perp_status perp__events_share(const perp__events *of, const perp_simulation_options *options,
                               const perp__driven *driven, perp__events **events)
{
    perp__events *e = *events = calloc(1, sizeof *e);
    perp_simulation_options o = *options;
    if (!e) return PERP_ERR_MEMORY;
    e->model = of->model;
    e->step = of->step;
    e->short_h = of->short_h;
    e->has_pre = of->has_pre;
    e->has_past = of->has_past;
    perp_status status = take_memory(e) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) memcpy(e->past, of->past, (size_t)e->model->npair);
    if (status == PERP_OK) memcpy(e->closed, of->closed, (size_t)e->model->npair);
    for (int k = 0; k < PROBES && status == PERP_OK; k++) {
        o.step = ldexp(e->short_h, -k);
        status = perp__step_share(&e->probe[k], &of->probe[k], &o);
        e->probe[k].held = e->held;
    }
    if (status == PERP_OK && e->has_pre) status = perp__step_share(&e->limit, &of->limit, options);
    if (status == PERP_OK) e->at = perp__collocation_share(of->at);
    if (status != PERP_OK || !e->at) return PERP_ERR_MEMORY;
    e->at->may.driven = driven;
    memcpy(e->between, of->between, sizeof e->between);
    perp__events_forget(e);
    return PERP_OK;
}

void perp__events_pass(perp__events *e, perp__pass *pass,
                       void (*pass_step)(perp__step *step, perp__pass *pass))
{
    int np = e->model->npair;
    for (int k = 0; k < PROBES; k++) pass_step(&e->probe[k], pass);
    if (e->has_pre) pass_step(&e->limit, pass);
    perp__pass_ints(pass, &e->has_mode, 1, 0, 1);
    perp__pass_ints(pass, &e->was_in_mode, 1, 0, 1);
    perp__pass_chars(pass, e->mode, (size_t)np, 0, PERP__ROW_HI);
    perp__pass_chars(pass, e->held, (size_t)np, -1, 2);
    perp__pass_chars(pass, e->on, (size_t)np, 0, 1);
    perp__pass_chars(pass, e->tied, (size_t)np, -1, 1);
    perp__pass_doubles(pass, e->var, (size_t)e->at->nv);
    perp__pass_doubles(pass, e->at->size, (size_t)e->at->nx);
    perp__pass_doubles(pass, e->last, (size_t)np);
    perp__pass_ints(pass, e->quick, (size_t)np, 0, INT_MAX);
    perp__pass_ints(pass, &e->flips, 1, 0, INT_MAX);
    perp__pass_ints(pass, &e->at_once, 1, -1, np - 1);
    perp__pass_ints(pass, &e->hit, 1, -1, np - 1);
    perp__pass_ints(pass, &e->hit_check, 1, 0, CHECKS - 1);
    perp__pass_ints(pass, &e->pass, 1, PASS, INT_MAX);
    perp__pass_longs(pass, &e->passed, 1);
    perp__pass_longs(pass, &e->left.steps, 1);
    perp__pass_longs(pass, e->left.by, REASONS);
    perp__pass_ints(pass, &e->left.wait, 1, 0, LONGEST_WAIT);
    perp__pass_ints(pass, &e->left.next_wait, 1, 0, MOST_WAIT);
    perp__pass_doubles(pass, &e->left.t, 1);
    perp__pass_ints(pass, &e->left.why, 1, 0, REASONS - 1);
    perp__pass_ints(pass, &e->left.worst, 1, -1, e->model->nequation + np - 1);
    perp__pass_doubles(pass, &e->past_t, 1);
    perp__pass_doubles(pass, &e->past_h, 1);
    perp__pass_doubles(pass, e->past_x, (size_t)e->at->nx);
    perp__pass_ints(pass, &e->is_fresh, 1, 0, 1);
    if (e->saltation) perp__saltation_pass(e->saltation, pass);
}

void perp__events_ask(perp__events *e, perp__others *others)
{
    if (e) e->probe[0].others = e->probe[1].others = others;
}

void perp__events_report(perp__events *e, perp__impacts *impacts)
{
    if (e) e->impacts = impacts;
}

perp__saltation *perp__events_begin_stretch(perp__events *e, const perp__followed *by,
                                            perp__sensitivity *run, perp__backward *back)
{
    perp__saltation *made = perp__saltation_create(e->at, e->probe, by, run, back);
    if (!made) return NULL;
    if (back) back->step = e->step;
    e->followed = e->saltation;
    return e->saltation = made;
}

void perp__events_end_stretch(perp__events *e)
{
    perp__saltation_destroy(e->saltation);
    e->saltation = e->followed;
    e->followed = NULL;
}

int perp__events_carry(perp__events *e, const double *by, double *to)
{
    return !e->is_short && perp__saltation_carry(e->saltation, by, to);
}

void perp__events_pause(perp__events *e, int is_paused)
{
    if (is_paused) {
        e->followed = e->saltation;
        e->saltation = NULL;
    }
    if (!is_paused) {
        e->saltation = e->followed;
        e->followed = NULL;
    }
}

int perp__events_follow(perp__events *e, const perp__followed *by, perp__sensitivity *run)
{
    perp__saltation *made = perp__saltation_create(e->at, e->probe, by, run, NULL);
    if (!made) return 0;
    perp__saltation_destroy(e->saltation);
    e->saltation = made;
    return 1;
}

void perp__events_destroy(perp__events *e)
{
    if (!e) return;
    perp__saltation_destroy(e->saltation);
    for (int k = 0; k < PROBES; k++) perp__step_clear(&e->probe[k]);
    if (e->has_pre) perp__step_clear(&e->limit);
    perp__collocation_destroy(e->at);
    perp__arena_clear(&e->arena);
    free(e);
}

void perp__events_forget(perp__events *e)
{
    if (!e) return;
    for (int k = 0; k < PROBES; k++) perp__step_forget(&e->probe[k]);
    if (e->has_pre) perp__step_forget(&e->limit);
    for (int p = 0; p < e->model->npair; p++) {
        e->last[p] = -(double)INFINITY;
        e->quick[p] = 0;
    }
    memset(e->var, 0, (size_t)e->model->nitem[PERP_VAR] * sizeof(double));
    memset(e->held, 0, (size_t)e->model->npair);
    memset(e->on, 0, (size_t)e->model->npair);
    memset(e->tied, 0, (size_t)e->model->npair);
    memset(e->at->size, 0, (size_t)e->model->nitem[PERP_STATE] * sizeof(double));
    e->has_mode = e->was_in_mode = e->is_short = e->flips = e->wide.is_known = 0;
    e->at_once = e->hit = -1;
    e->pass = PASS;
    perp__saltation_forget(e->saltation);
}

void perp__events_restart(perp__events *e)
{
    perp__events_forget(e);
    if (!e) return;
    e->passed = 0;
    e->left = (perp__events_left){0};
}

int perp__events_wait(perp__events *e)
{
    if (e->left.wait == 0) return 0;
    e->left.wait--;
    e->left.steps++;
    e->left.by[NOT_KNOWN]++;
    return 1;
}

void perp__events_leave(perp__events *e)
{
    perp__events_left *left = &e->left;
    left->by[e->why]++;
    if (left->steps++ == 0) {
        left->t = e->t;
        left->why = e->why;
        left->worst = e->worst;
    }
    left->wait = left->next_wait;
    left->next_wait = 2 * left->wait + 1 < MOST_WAIT ? 2 * left->wait + 1 : MOST_WAIT;
    int pass = e->pass;
    perp__saltation_leave(e->saltation);
    perp__events_forget(e);
    e->pass = pass;
}

void perp__events_weigh(perp__events *e, double trial, double step)
{
    double wait = fmin(trial / step, LONGEST_WAIT);
    if (wait > DEAR) e->left.wait = (int)wait;
}

static int fails(perp__events *e, int why, int worst)
{
    e->why = why;
    e->worst = worst;
    return 0;
}

/* Short steps ---------------------------------------------------------------------------------- */

static void put_tables(const perp__events *e, perp__step *s, double t0, double t1)
{
    const perp__layout *l = s->layout;
    for (int i = 0; i < l->table.n; i++) {
        int input = l->table.input[i], *hint = &s->cache.hint[i];
        s->ws[l->sym.table_pre + i] =
            perp__driven_value(e->at->may.driven, e->model, input, t0, hint);
        s->ws[l->sym.table + i] = perp__driven_value(e->at->may.driven, e->model, input, t1, hint);
    }
}

static void put_vars(perp__step *s, const double *var)
{
    const perp__layout *l = s->layout;
    for (int v = 0; v < s->model->nitem[PERP_VAR]; v++) s->ws[l->sym.y + l->sym.var_at[v]] = var[v];
}

static void take_length(perp__step *s, double h)
{
    if (!s->layout->nonlinear && h != s->h) {
        s->h = h;
        perp__step_revalue(s);
    }
}

/* A step of backward Euler of length h from here, by this problem. */
static perp__step_result probe_by(perp__events *e, perp__step *s, double h)
{
    const perp__layout *l = s->layout;
    double *ws = s->ws;
    take_length(s, h);
    memcpy(ws + l->sym.pre, e->x, (size_t)l->nx * sizeof(double));
    memcpy(ws + l->sym.y, e->x, (size_t)l->nx * sizeof(double));
    put_vars(s, e->var);
    for (int j = l->nx + l->nv; j < l->ny; j++) ws[l->sym.y + j] = 0;
    ws[SYM_T] = e->t + h;
    ws[SYM_T_PRE] = e->t;
    ws[SYM_H] = h;
    ws[SYM_THETA] = 1;
    put_tables(e, s, e->t, e->t + h);
    s->cache.out_of_memory = 0;
    perp__step_result r = perp__step_solve(s);
    if (r.outcome == PERP_SOLVED) perp__step_assign(s);
    return r;
}

static perp__step_result probe(perp__events *e, int k, double h)
{
    return probe_by(e, &e->probe[k], h);
}

static void read_vars(perp__events *e, const perp__step *s)
{
    const perp__layout *l = s->layout;
    for (int v = 0; v < e->model->nitem[PERP_VAR]; v++)
        e->var[v] = s->ws[l->sym.y + l->sym.var_at[v]];
}

/* The zero sides of a short step; past_only: of pairs with a side of what was before alone. */
static void read_mode(perp__events *e, const perp__step *s, int past_only)
{
    const perp__layout *l = s->layout;
    for (int q = 0; q < l->np; q++) {
        int p = l->pair[q].of, first = q;
        char *mode = &e->mode[p];
        if (e->model->pair[p].two_sided) q++;
        if (past_only && !e->past[p]) continue;
        if (!s->state.on[first])
            *mode = PERP__ROW_A;
        else if (first == q)
            *mode = s->state.choice[q] ? PERP__ROW_B : PERP__ROW_A;
        else if (s->state.choice[first] == 0)
            *mode = PERP__ROW_LO;
        else
            *mode = s->state.choice[q] ? PERP__ROW_HI : PERP__ROW_B;
    }
}

/* Which guards that hold on their bounds are on where the next step begins, by the last short
 * step. */
static void read_guards(perp__events *e)
{
    const perp__step *s = &e->probe[1];
    for (int q = 0; q < s->layout->np; q++) {
        int p = s->layout->pair[q].of;
        if (!e->closed[p]) continue;
        e->on[p] |=
            s->state.on[q]; /* jumps may be rounding; what went off with one, is_no_tie finds */
        if (e->mode[p] == PERP__ROW_A && e->held[p] > 0)
            e->held[p] = 0; /* find_ties looks after it */
    }
}

/* A contact stated by positions makes velocities of the rounding of its gap: no jump is less than
 * that. */
static double least_jump(const perp__events *e)
{
    double largest = 0;
    int has_gap = 0;
    for (int p = 0; p < e->model->npair; p++) has_gap |= e->at->gap[p] == e->mode[p] + 1;
    for (int i = 0; i < e->at->nx && has_gap; i++)
        largest = fmax(largest, e->probe[0].state.history[i]);
    return 64 * DBL_EPSILON * largest / e->short_h;
}

/* Do two short steps show that state i jumps by this amount? */
static int does_jump(perp__events *e, int i, double by, double least)
{
    perp__step *s = &e->probe[0];
    double x = e->x[i], a = s->ws[s->layout->sym.y + i], b = e->probe[1].ws[s->layout->sym.y + i];
    double size = fmax(fabs(x), s->state.history[i]);
    return fabs(b - x) > JUMP * fabs(a - x) && fabs(by) > 16 * DBL_EPSILON * size + least;
}

/* A third short step, from where the two began, in the sides of these; NULL: it cannot be had, or
 * tells no more than rounding. */
static const double *probe_again(perp__events *e, double least, int *solves)
{
    perp__step *s = &e->probe[2], *like = &e->probe[1];
    size_t np = (size_t)s->layout->np;
    if (least > 0 || memcmp(like->state.on, e->probe[0].state.on, 2 * np) != 0) return NULL;
    memcpy(s->state.on, like->state.on, 2 * np);
    memcpy(s->state.history, like->state.history, (size_t)s->layout->nx * sizeof(double));
    perp__step_result r = probe(e, 2, ldexp(e->short_h, -2));
    *solves += r.solves;
    int is_like = r.outcome == PERP_SOLVED && memcmp(like->state.on, s->state.on, 2 * np) == 0;
    return is_like ? s->ws + s->layout->sym.y : NULL;
}

/* Add to the states what short steps say that they do at once: the limit of two, of the order of
 * their square, or of three. Was there such a thing? */
static int jump(perp__events *e, int *solves)
{
    perp__step *s = &e->probe[0];
    const double *a = s->ws + s->layout->sym.y, *b = e->probe[1].ws + e->probe[1].layout->sym.y,
                 *c = NULL;
    int jumped = 0;
    double least = least_jump(e);
    for (int i = 0; i < e->at->nx && !jumped; i++)
        jumped = does_jump(e, i, 2 * b[i] - a[i] - e->x[i], least);
    if (!jumped) return 0;
    perp__step_size(s);
    c = probe_again(e, least, solves);
    jumped = 0;
    for (int i = 0; i < e->at->nx; i++) {
        double x = e->x[i], two = 2 * b[i] - a[i], to = c ? (8 * c[i] - 6 * b[i] + a[i]) / 3 : two;
        int does = does_jump(e, i, two - x, least) || (c && fabs(to - x) > BESIDE * fabs(a[i] - x));
        if (!does || fabs(to - x) <= PERP_TOL_SAME * s->cache.sizes.own[i])
            continue; /* what forces leave */
        e->x[i] = to;
        jumped = 1;
    }
    return jumped;
}

/* The row whose terms say what is nothing beside check k. */
static int row_of_check(const perp__events *e, int p, int k)
{
    int two = e->model->pair[p].two_sided, mode = e->mode[p];
    if (!two) return mode == PERP__ROW_A ? PERP__ROW_B : k ? PERP__ROW_GUARD : PERP__ROW_A;
    if (mode == PERP__ROW_A || k == 2) return PERP__ROW_GUARD;
    if (mode != PERP__ROW_B) return PERP__ROW_B;
    return k ? PERP__ROW_HI : PERP__ROW_LO;
}

/* Pairs that were closed up to here have their guards on, except the one whose guard ended that,
 * and one whose side ended the step with its guard on its bound. So have others with the same
 * guard. */
static void hold_guards(perp__events *e)
{
    const perp_model *m = e->model;
    int is_opened = e->hit >= 0 && e->mode[e->hit] != PERP__ROW_A &&
                    row_of_check(e, e->hit, e->hit_check) == PERP__ROW_GUARD;
    for (int p = 0; p < m->npair; p++) {
        int is_kept = e->mode[p] != PERP__ROW_A || (e->hit == p && e->tied[p] == 1);
        e->held[p] = (char)(e->was_in_mode && is_kept);
    }
    for (int p = 0; p < m->npair; p++)
        for (int q = 0; q < m->npair && !e->held[p] && m->pair[p].guard >= 0; q++)
            e->held[p] = m->pair[q].guard == m->pair[p].guard && e->held[q] == 1 ? 2 : 0;
    for (int p = 0; p < m->npair && is_opened; p++)
        if (e->group[p] == e->group[e->hit]) e->held[p] = -1;
}

/* Guards on their bounds that were on stay on for another short step, if their error is no more
 * than the error of short steps. */
static void keep_guards(perp__events *e)
{
    int is_known = 0;
    for (int p = 0; p < e->model->npair; p++) {
        e->held[p] = 0;
        if (!e->closed[p]) continue;
        if (!is_known++) perp__collocation_stand(e->at, e->t, e->x, e->var);
        double guard = perp__collocation_side(e->at, 0, p, PERP__ROW_GUARD);
        double nothing = e->probe[0].tol * perp__collocation_terms(e->at, 0, p, PERP__ROW_GUARD);
        e->held[p] = e->on[p] && guard < 0 && guard >= -nothing;
        e->on[p] = guard >= -nothing;
    }
}

/* A short step as a real one, to time t. */
static perp__step_result take_short_step(perp__events *e, double t, int is_given)
{
    const perp__step *s = &e->probe[0];
    keep_guards(e);
    perp__step_result r = probe(e, 0, t - e->t);
    if (r.outcome != PERP_SOLVED) return r;
    memcpy(e->x, s->ws + s->layout->sym.y, (size_t)e->at->nx * sizeof(double));
    read_vars(e, s);
    e->t = t;
    if (e->saltation) perp__saltation_short(e->saltation, is_given);
    return r;
}

/* Past an accumulation of events by short steps, at most to t1. */
static perp__step_result pass(perp__events *e, double t1)
{
    perp__step_result r = {.outcome = PERP_SOLVED};
    e->was_in_mode = 0;
    int n = e->pass < MOST_PASS ? e->pass : MOST_PASS;
    if (e->pass * e->short_h >= e->step) { /* no faster than backward Euler */
        fails(e, NO_REST, -1);
        return (perp__step_result){.outcome = PERP_LIMIT, .fault = PERP__NOT_PASSED};
    }
    double h = e->short_h * (e->pass / n);
    for (int k = 0; k < n && e->t < t1; k++) {
        double t = fmin(e->t + h, t1);
        r = take_short_step(e, t, t >= t1);
        if (r.outcome != PERP_SOLVED) return r;
    }
    /* a contact at rest there, its guard off by rounding, stays at rest */
    read_mode(e, &e->probe[0], 0);
    e->was_in_mode = 1;
    e->hit = -1;
    e->passed++;
    e->is_short = 1;
    e->pass *= 2;
    memset(e->quick, 0, (size_t)e->model->npair * sizeof *e->quick);
    return r;
}

/* A side of what was before the step alone is 0 at the event that it makes, and leaves open which
 * side is zero behind it. A short step whose pre(x) are those of its end tells; where there is
 * none, the sides stay what they are. */
static int look_ahead(perp__events *e)
{
    perp__step_result r = probe_by(e, &e->limit, e->short_h);
    if (r.outcome == PERP_SOLVED) {
        read_mode(e, &e->limit, 1);
        read_vars(e, &e->limit);
    }
    return r.solves;
}

/* The sides that are zero from now on; impacts, one after the other, until there is none. */
static perp__step_result find_mode(perp__events *e, double t1)
{
    size_t np = (size_t)e->model->npair;
    perp__step_result r = {.outcome = PERP_SOLVED};
    int solves = 0, is_settled = np == 0;
    hold_guards(e);
    if (np) memset(e->on, 0, np);
    for (int k = 0; !is_settled; k++) {
        for (int i = 0; i < 2; i++) {
            r = probe(e, i, ldexp(e->short_h, -i));
            solves += r.solves;
            if (r.outcome != PERP_SOLVED) return r;
        }
        memcpy(e->former, e->mode, np);
        read_mode(e, &e->probe[1], 0);
        read_vars(e, &e->probe[1]);
        read_guards(e);
        if (e->saltation) perp__saltation_jump(e->saltation);
        memcpy(e->struck, e->x, (size_t)e->at->nx * sizeof(double));
        is_settled = !jump(e, &solves);
        if (!is_settled && !perp__impacts_note_jump(e->impacts, e->t, e->short_h, &e->probe[0],
                                                    &e->probe[1], e->struck, e->x)) {
            fails(e, GROWS, -1);
            return (perp__step_result){.outcome = PERP_LIMIT, .fault = PERP__NOT_PASSED};
        }
        if (e->saltation) perp__saltation_settle(e->saltation, !is_settled);
        if (!is_settled && ((k > 0 && memcmp(e->mode, e->former, np) == 0) || k == MOST_JUMPS))
            return pass(e, t1); /* in contact, and not at rest in it */
    }
    if (e->has_past) solves += look_ahead(e);
    e->has_mode = e->was_in_mode = e->is_fresh = 1;
    e->wide.is_known = 0;
    r.solves = solves;
    return r;
}

/* Events --------------------------------------------------------------------------------------- */

/* Are the bounds of a two-sided pair the same, so that its other side is free? */
static int is_narrow(const perp__events *e, int c, int p)
{
    double width = perp__collocation_side(e->at, c, p, PERP__ROW_LO) +
                   perp__collocation_side(e->at, c, p, PERP__ROW_HI);
    return width <= NEGATIVE * (perp__collocation_terms(e->at, c, p, PERP__ROW_LO) +
                                perp__collocation_terms(e->at, c, p, PERP__ROW_HI));
}

/* The row of the collocation that became 0 at the event that ended the step. */
static int row_of_hit(const perp__events *e)
{
    int p = e->hit, c = e->at->scheme.npoint - 1, row = row_of_check(e, p, e->hit_check);
    const perp__pair *pair = &e->model->pair[p];
    if (row == PERP__ROW_B && e->mode[p] == PERP__ROW_A && pair->guard >= 0 && e->held[p] <= 0 &&
        e->tied[p] != 1 &&
        -perp__collocation_side(e->at, c, p, PERP__ROW_GUARD) >=
            perp__collocation_side(e->at, c, p, row))
        row = PERP__ROW_GUARD; /* the later one of guard and side */
    return perp__collocation_row(e->at, c, p, row);
}

/* The value of pair p at point c that must be >= 0 while the mode does not change; infinite for a
 * check that the pair does not have. */
static double check(const perp__events *e, int c, int p, int k)
{
    const perp__collocation *at = e->at;
    const perp__pair *pair = &e->model->pair[p];
    const double none = (double)INFINITY;
    double guard = pair->guard < 0 ? none : perp__collocation_side(at, c, p, PERP__ROW_GUARD);
    double b = perp__collocation_side(at, c, p, PERP__ROW_B);
    if (!pair->two_sided) {
        int is_on = isinf(guard) || e->held[p] > 0 || e->tied[p] == 1;
        if (e->mode[p] == PERP__ROW_A) return k ? none : is_on ? b : fmax(-guard, b);
        if (k == 0) return perp__collocation_side(at, c, p, PERP__ROW_A);
        return k == 1 ? guard : none;
    }
    if (e->mode[p] == PERP__ROW_A) return k ? none : -guard;
    if (k == 2) return guard;
    if (e->mode[p] == PERP__ROW_B)
        return perp__collocation_side(at, c, p, k ? PERP__ROW_HI : PERP__ROW_LO);
    if (k || is_narrow(e, c, p)) return none;
    return e->mode[p] == PERP__ROW_LO ? b : -b;
}

/* A guard of a closed pair opens only if it moves. A gap that the pair keeps constant drifts by the
 * error of steps, at rate 0 or at one that is rounding of the step. */
static int is_opening(perp__events *e, int c, int p)
{
    double rate = perp__collocation_side(e->at, c, p, PERP__ROW_GUARD_RATE);
    return rate < -STANDS * perp__collocation_terms(e->at, c, p, PERP__ROW_GUARD_RATE) &&
           rate < -perp__collocation_noise(e->at, c, p, PERP__ROW_GUARD_RATE);
}

/* By its sign; a guard of a closed pair, if it is opening. */
static int is_negative(perp__events *e, int c, int p, int k)
{
    if (!(check(e, c, p, k) < 0)) return 0;
    int is_kept = row_of_check(e, p, k) == PERP__ROW_GUARD && e->mode[p] != PERP__ROW_A;
    return !is_kept || is_opening(e, c, p);
}

static int is_violated(perp__events *e, int c, int p, int k)
{
    if (!is_negative(e, c, p, k)) return 0;
    double value = check(e, c, p, k);
    int row = row_of_check(e, p, k), is_open = e->mode[p] == PERP__ROW_A;
    double side = row == PERP__ROW_B && is_open
                      ? perp__collocation_side(e->at, c, p, row) /* not the guard beside it */
                      : value;
    return side < -NEGATIVE * perp__collocation_terms(e->at, c, p, row);
}

/* The first point at which a check is violated, and which; -1: none is. At the last point it is the
 * one that was >= 0 for longest by linear interpolation from the shorter step of at_lo. */
static int first_violated(perp__events *e, int has_lo)
{
    int last = e->at->scheme.npoint - 1;
    for (int c = 0; c <= last; c++) {
        double least = 2;
        for (int i = 0; i < CHECKS * e->model->npair; i++) {
            int p = i / CHECKS, k = i % CHECKS;
            if (!is_violated(e, c, p, k)) continue;
            double before = has_lo && c == last ? e->at_lo[i] : c > 0 ? check(e, c - 1, p, k) : 0;
            double share = before > 0            ? before / (before - check(e, c, p, k))
                           : has_lo && c == last ? 0 /* from there on */
                                                 : 1;
            if (share < least) {
                least = share;
                e->hit = p;
                e->hit_check = k;
            }
        }
        if (least < 2) return c;
    }
    return -1;
}

/* A guard on its bound that was on at the beginning of the step, and is negative at the first point
 * at which it is off its side. Either it went off before, and nothing follows. Or both became 0 at
 * once: the step ends there, and the pair holds, since its guard was on up to then, as at the
 * beginning of any next step. */
static void find_ties(perp__events *e)
{
    for (int p = 0; p < e->model->npair; p++) {
        if (e->mode[p] != PERP__ROW_A || !e->on[p] || e->held[p] > 0 || e->tied[p]) continue;
        int c = 0, last = e->at->scheme.npoint - 1;
        while (c < last && perp__collocation_side(e->at, c, p, PERP__ROW_GUARD) >= 0) c++;
        e->tied[p] = (char)(perp__collocation_side(e->at, c, p, PERP__ROW_GUARD) < 0 &&
                            perp__collocation_side(e->at, c, p, PERP__ROW_B) < 0);
    }
}

/* By its terms, at the end of the step. */
static int is_on_or_at_bound(const perp__events *e, int p)
{
    int last = e->at->scheme.npoint - 1;
    double guard = perp__collocation_side(e->at, last, p, PERP__ROW_GUARD);
    return guard >= 0 ||
           -guard <= e->probe[0].tol * perp__collocation_terms(e->at, last, p, PERP__ROW_GUARD);
}

/* At the end of the step the side of a tie is 0: is its guard on its bound there, or on? */
static int is_no_tie(perp__events *e)
{
    int last = e->at->scheme.npoint - 1, p = e->hit;
    if (p < 0 || e->mode[p] != PERP__ROW_A || e->tied[p] != 1) return 0;
    return !is_on_or_at_bound(e, p) &&
           perp__collocation_side(e->at, last, p, PERP__ROW_GUARD) <
               -perp__collocation_noise(e->at, last, p, PERP__ROW_GUARD);
}

/* How row k of pair p goes along a step: by the polynomial through its values at the points. */
static void sample(const perp__events *e, int p, int k, double *at)
{
    for (int s = 0; s <= SAMPLES; s++) {
        at[s] = 0;
        for (int c = 0; c < e->at->scheme.npoint; c++)
            at[s] += e->between[s][c] * perp__collocation_side(e->at, c, p, k);
    }
}

/* A guard, whose slopes are known there, by cubics from point to point. */
static void sample_guard(const perp__events *e, int p, double *at)
{
    const perp__scheme *scheme = &e->at->scheme;
    for (int s = 0, c = 0; s <= SAMPLES; s++) {
        double share = (double)s / SAMPLES;
        while (c + 2 < scheme->npoint && share > scheme->c[c + 1]) c++;
        double width = scheme->c[c + 1] - scheme->c[c], u = (share - scheme->c[c]) / width;
        double a = perp__collocation_side(e->at, c, p, PERP__ROW_GUARD),
               b = perp__collocation_side(e->at, c + 1, p, PERP__ROW_GUARD),
               da = width * perp__collocation_side(e->at, c, p, PERP__ROW_GUARD_RATE),
               db = width * perp__collocation_side(e->at, c + 1, p, PERP__ROW_GUARD_RATE);
        at[s] = a + u * (da + u * (3 * (b - a) - 2 * da - db + u * (2 * (a - b) + da + db)));
    }
}

/* Where, behind `first`, samples are below -nothing, or the parabola through three of them is:
 * behind where it comes there, and before its lowest place. As a part of the step; 1: nowhere. */
static double lowest(const double *at, double nothing, double first)
{
    for (int k = 1; k < SAMPLES; k++) {
        double before = at[k - 1], x = at[k], behind = at[k + 1];
        double bend = before - 2 * x + behind, slope = (behind - before) / 2;
        double below = slope * slope / (2 * bend) - x, place = k - slope / bend;
        double least = fmax(k > 1 ? k - 0.5 : 0, first * SAMPLES),
               most = k + 1 < SAMPLES ? k + 0.5 : SAMPLES;
        if (bend > 0 && below > nothing && place > least && place < most)
            return fmax(place - 0.5 * sqrt(2 * below / bend), place / 2) / SAMPLES;
        if (x < -nothing && k > first * SAMPLES) return (double)k / SAMPLES;
    }
    return 1;
}

static double most_terms(const perp__events *e, int p, int k)
{
    double most = 0;
    for (int c = 0; c < e->at->scheme.npoint; c++)
        most = fmax(most, perp__collocation_terms(e->at, c, p, k));
    return most;
}

/* Where row k of an open pair, or a side of a closed one, seems to be below 0 between the
 * points. */
static double dip_of(const perp__events *e, int p, int k, int is_minus)
{
    double at[SAMPLES + 1];
    sample(e, p, k, at);
    for (int s = 0; s <= SAMPLES && is_minus; s++) at[s] = -at[s];
    return lowest(at, DIPS * most_terms(e, p, k), e->at->scheme.c[0]);
}

/* Where the guard of an open pair seems to come on for a while, its second side below 0. */
static double dip_of_guard(const perp__events *e, int p)
{
    double at[SAMPLES + 1], side[SAMPLES + 1];
    sample_guard(e, p, at);
    for (int s = 0; s <= SAMPLES; s++) at[s] = -at[s];
    double nothing = DIPS * most_terms(e, p, PERP__ROW_GUARD);
    int is_two_sided = e->model->pair[p].two_sided;
    if (at[0] < -nothing) return is_two_sided ? 1 : dip_of(e, p, PERP__ROW_B, 0);
    double share = lowest(at, nothing, 0);
    if (share == 1 || is_two_sided) return share;
    sample(e, p, PERP__ROW_B, side);
    return side[(int)(share * SAMPLES)] < 0 ? share : 1;
}

/* Where between the points, as a part of the step, a check seems to be violated; 1: nowhere. */
static double dip(const perp__events *e)
{
    double first = 1;
    for (int i = 0; i < CHECKS * e->model->npair; i++) {
        int p = i / CHECKS, row = row_of_check(e, p, i % CHECKS),
            is_open = e->mode[p] == PERP__ROW_A;
        int is_off = is_open && e->model->pair[p].guard >= 0 && e->held[p] <= 0 && e->tied[p] != 1;
        if ((row == PERP__ROW_GUARD && !is_open) || /* drifts */
            isinf(check(e, 0, p, i % CHECKS)))
            continue;
        first = fmin(first, is_off ? dip_of_guard(e, p)
                                   : dip_of(e, p, row,
                                            row == PERP__ROW_GUARD || e->mode[p] == PERP__ROW_HI));
    }
    return first;
}

static void guess(perp__events *e, double h);

static perp__collocated solve(perp__events *e, double h)
{
    perp__collocated is = perp__collocation_solve(e->at, e->t, h, e->x, e->mode);
    if (is != PERP__COLLOCATED) fails(e, NOT_COLLOCATED + (int)is, -1);
    return is;
}

static void keep_lo(perp__events *e)
{
    int last = e->at->scheme.npoint - 1;
    for (int i = 0; i < CHECKS * e->model->npair; i++)
        e->at_lo[i] = check(e, last, i / CHECKS, i % CHECKS);
}

/* Is what the check lacks at the end of the step no more than its rounding? */
static int is_at_zero(const perp__events *e, double value)
{
    int last = e->at->scheme.npoint - 1, row = row_of_check(e, e->hit, e->hit_check);
    return fabs(value) <= PERP_ROUNDING * perp__collocation_terms(e->at, last, e->hit, row);
}

/* A guard must have changed where the step ends; a force, or a gap, is better not negative
 * there. */
static int is_far(const perp__events *e)
{
    int p = e->hit, is_open = e->mode[p] == PERP__ROW_A;
    if (e->model->pair[p].guard < 0) return 0;
    return is_open ? e->tied[p] != 1 : row_of_check(e, p, e->hit_check) == PERP__ROW_GUARD;
}

/* The zero of the polynomial through the values of the check that is violated first at point c, as
 * a part of the step; 0: not determined. */
static double root_of(const perp__events *e, int c)
{
    enum { STEPS = 6 };
    const perp__scheme *scheme = &e->at->scheme;
    double value[PERP__MOST_POINTS], a = c > 0 ? scheme->c[c - 1] : 0, b = scheme->c[c];
    for (int i = 0; i < scheme->npoint; i++)
        if (!isfinite(value[i] = check(e, i, e->hit, e->hit_check))) return 0;
    double at_a = perp__scheme_between(scheme, value, a),
           at_b = perp__scheme_between(scheme, value, b), share = 0;
    for (int i = 0; i < STEPS && at_a > 0 && at_b < 0; i++) {
        share = a + (b - a) * (at_a / (at_a - at_b));
        double x = perp__scheme_between(scheme, value, share);
        if (x >= 0) {
            a = share;
            at_a = x;
            at_b /= 2;
        } else {
            b = share;
            at_b = x;
            at_a /= 2;
        }
    }
    return share;
}

/* The value of a check at the end of a step that was solved. */
typedef struct ending {
    int which; /* -1: none */
    double length, value;
} ending;

/* The length at which a reference is looked at next, after i others. Check `which` of them ends the
 * step: by a line through its last two values. It is not known yet (-1): by the polynomial, where
 * one is violated at point c; else a little further, and ever more. */
static double next_length(const perp__events *e, int i, int c, int which, double length,
                          ending *former)
{
    const double beyond = 1e-4;
    if (which < 0) return length * (c < 0 ? 1 + ldexp(beyond, 4 * i) : root_of(e, c));
    double now = check(e, e->at->scheme.npoint - 1, which / CHECKS, which % CHECKS);
    ending was = *former;
    *former = (ending){which, length, now};
    return was.which == which ? length - now * (length - was.length) / (now - was.value) : 0;
}

/* The zero, near the end of the step that was solved last, of the polynomial through the values of
 * check k of pair p at its points, as a part of the step; 0: it does not fall to 0. And its rate at
 * the end. */
static double root_near_end(const perp__events *e, int p, int k, double *rate)
{
    enum { STEPS = 4 };
    const double apart = 1e-3, least = 0.1, most = 2;
    const perp__scheme *scheme = &e->at->scheme;
    double value[PERP__MOST_POINTS], share = 1;
    *rate = 0;
    for (int c = 0; c < scheme->npoint; c++)
        if (!isfinite(value[c] = check(e, c, p, k))) return 0;
    for (int i = 0; i < STEPS; i++) {
        double x = perp__scheme_between(scheme, value, share),
               moves = perp__scheme_between(scheme, value, share + apart) -
                       perp__scheme_between(scheme, value, share - apart),
               falls = moves / (2 * apart);
        if (i == 0) *rate = falls;
        share -= x / falls;
        if (!(falls < 0 && share > least && share < most)) return 0;
    }
    return share;
}

/* Two times that are nearer than this are the same to a reference. Where positions are held, so
 * short a step makes velocities of their rounding. */
static double least_time(const perp__events *e)
{
    double least = e->short_h > PROBE * e->step ? 1e-4 : 0;
    return fmax(10 * e->accuracy, least) * e->short_h;
}

/* A check of a reference is located by steps that end ever nearer to its zero. */
typedef struct search {
    int p, k, row;
    int is_fine;         /* they are solved to rounding from now on */
    double whole;        /* the length of the step in which it is violated, */
    double length, left; /* ... of the last of them, and what the check is at its end: */
    double slope;        /* ... it moves by this with the length */
} search;

/* The check is violated at the first point of a step of length h. The zero, as a part of the step,
 * by a line from its value at the start, where all points are then. Returns 0 if it is 0 there, or
 * below, up to rounding. */
static double root_from_start(perp__events *e, const search *s, double h)
{
    double first = check(e, 0, s->p, s->k), noise = perp__collocation_noise(e->at, 0, s->p, s->row);
    perp__collocation_stand(e->at, e->t, e->x, e->var);
    double start = check(e, 0, s->p, s->k), share = e->at->scheme.c[0] * start / (start - first),
           nothing = PERP_ROUNDING * perp__collocation_terms(e->at, 0, s->p, s->row);
    if (is_far(e)) return start < 0 ? 0 : share + nothing / (start - first);
    int is_nothing = start <= nothing || (start <= noise && share <= AT_ONCE);
    return is_nothing || h * share <= least_time(e) ? 0 : share;
}

/* The check is 0 at the start. If it is negative all along a much shorter step, too, the event is
 * at once; if it is not at its end, the step was too long. */
static double locate_at_start(perp__events *e, const search *s, double h)
{
    const double much = 0.01;
    int last = e->at->scheme.npoint - 1, negative = 0;
    e->at->is_rough = 1;
    if (solve(e, much * h) != PERP__COLLOCATED) return 0;
    if (check(e, last, s->p, s->k) >= 0) return -h / 2;
    for (int c = 0; c <= last; c++) negative += check(e, c, s->p, s->k) < 0;
    perp__collocation_stand(e->at, e->t, e->x, e->var);
    return negative > last ? DBL_MIN : 0; /* no time passes */
}

/* The first step of a search, or the next, has this part of the length of the one before. */
static perp__collocated solve_next(perp__events *e, search *s, double share, int is_first)
{
    const double follows = 1e-4; /* the unknowns are to be so much nearer than the length was */
    s->length *= share;
    double enough = fmax(e->at->roughly, follows * fabs(share - 1) / PERP_ROUNDING);
    if (!is_first) return perp__collocation_solve_again(e->at, s->length, s->is_fine ? 0 : enough);
    e->at->is_rough = !s->is_fine;
    return solve(e, s->length);
}

/* The value of the check at the end of the last step beyond half its rounding. A guard must have
 * changed there; a force or a gap should not be negative. */
static double what_is_left(const perp__events *e, const search *s, double *nothing)
{
    int last = e->at->scheme.npoint - 1;
    *nothing = PERP_ROUNDING / 2 * perp__collocation_terms(e->at, last, s->p, s->row);
    return check(e, last, s->p, s->k) + (is_far(e) ? *nothing : -*nothing);
}

/* Is that 0, or as near to it as is asked for, or as rounding allows, on the right side? was: of
 * the step before, or infinite. */
static int is_found(perp__events *e, const search *s, double was)
{
    const double little = 1e-6;
    double nothing, left = what_is_left(e, s, &nothing), size = fabs(left);
    int last = e->at->scheme.npoint - 1, is_right = (left < 0) == is_far(e);
    if (!s->is_fine) return 0;
    if (size <= nothing) return 1;
    if (is_far(e) && !is_right) return 0;
    return ((is_right && size > 0.5 * fabs(was)) ||
            size <= little * e->accuracy * fabs(s->slope) * s->whole) &&
           size <= perp__collocation_noise(e->at, last, s->p, s->row);
}

/* The first step of a search was solved. Where does the next one end, as a part of it? Returns 0:
 * the check does not fall. */
static double look(perp__events *e, search *s)
{
    double rate, nothing, share = root_near_end(e, s->p, s->k, &rate);
    s->left = what_is_left(e, s, &nothing);
    s->slope = rate / s->length;
    return share;
}

/* ... The check does not fall at the end of the first step: there may be no event in a shorter one.
 * Returns 0 if so short a step does not decide. */
static double give_up(perp__events *e, const search *s)
{
    int last = e->at->scheme.npoint - 1, is_short = s->length <= AT_ONCE * s->whole;
    if (is_short && s->left <= perp__collocation_noise(e->at, last, s->p, s->row)) return 0;
    return -fmax(s->length, s->whole / 2);
}

/* ... and another one: by a line through both, once they are solved to rounding by that which led
 * there. On the wrong side of what is rounding: twice as far. */
static double look_again(perp__events *e, search *s, double length)
{
    double nothing, was = s->left, left = s->left = what_is_left(e, s, &nothing);
    if (!s->is_fine) s->slope = (left - was) / (s->length - length);
    int is_lost = s->is_fine && (left < 0) != is_far(e) && fabs(left) > 0.5 * fabs(was);
    return 1 - (is_lost ? 2 : 1) * left / (s->slope * s->length);
}

/* In a reference: the length at which the check that is violated first in a step of length h
 * becomes 0. By the polynomial of that step, then of one that ends there, then by lines, all with
 * the factors of that one. Returns 0 if it is not found; -x: the step is too long, one of length x
 * may have no event. */
static double locate_along(perp__events *e, double h)
{
    enum { MOST = 8 };
    const double near = 1e-5;
    int last = e->at->scheme.npoint - 1, c = first_violated(e, 0);
    search s = {.p = e->hit, .k = e->hit_check, .whole = h, .length = h};
    s.row = row_of_check(e, s.p, s.k);
    double share = c > 0 ? root_of(e, c) : root_from_start(e, &s, h);
    if (c == 0 && share == 0) return locate_at_start(e, &s, h);
    if (!(share > 0)) return 0;
    s.is_fine = share < AT_ONCE; /* the error of so short a step is far below that of velocities */
    if (c > 0) perp__collocation_stretch(e->at, share * h);
    for (int i = 0; i < MOST; i++) {
        double length = s.length, was = i > 0 && s.is_fine ? s.left : (double)INFINITY;
        s.is_fine |= i > 0 && fabs(share - 1) < near;
        if (solve_next(e, &s, share, i == 0) != PERP__COLLOCATED) return -s.length / 2;
        share = i > 0 ? look_again(e, &s, length) : look(e, &s);
        if (is_found(e, &s, was)) break;
        if (i == 0 && share == 0) return give_up(e, &s);
        if (!(s.slope < 0 && share > 0 && share * s.length < h) || i == MOST - 1) return 0;
    }
    c = first_violated(e, 0);
    int is_first = c < 0 || (c == last && e->hit == s.p && e->hit_check == s.k);
    e->hit = s.p;
    e->hit_check = s.k;
    return is_first ? s.length : 0;
}

/* Does a check become 0 at the end of a reference's step of length h, or where that is the same to
 * it? */
static int ends_in_event(perp__events *e, double h)
{
    const double beyond = 1e-3;
    int last = e->at->scheme.npoint - 1, c = first_violated(e, 0);
    if (c >= 0 && c < last) return 0;
    if (c == last) return h * (1 - root_of(e, c)) <= least_time(e);
    for (int i = 0; i < CHECKS * e->model->npair; i++) {
        int p = e->hit = i / CHECKS, k = e->hit_check = i % CHECKS;
        double value = check(e, last, p, k), slope, share;
        int is_kept = row_of_check(e, p, k) == PERP__ROW_GUARD && e->mode[p] != PERP__ROW_A;
        if (!(value < beyond * check(e, 0, p, k)) || is_kept || is_far(e)) continue;
        share = root_near_end(e, p, k, &slope);
        if (share > 0 && h * (share - 1) <= least_time(e)) return 1;
    }
    e->hit = -1;
    return 0;
}

/* In a step of length h a check is violated: the longest step that ends where the first one changes
 * its sign. By the Illinois method on the length of the step, whose end is of the full order.
 * Returns 0 where steps are not solved. */
static double locate(perp__events *e, double h, int is_quick)
{
    if (is_quick) {
        double end = locate_along(e, h);
        e->at->is_rough = 0;
        if (end != 0) return end;
    }
    if (e->is_reference) { /* from here on to rounding */
        e->at->is_rough = 0;
        guess(e, h);
        if (solve(e, h) != PERP__COLLOCATED) return 0;
        if (first_violated(e, 0) < 0) {
            e->hit = -1;
            return h;
        }
    }
    int last = e->at->scheme.npoint - 1, has_lo = 0, c = first_violated(e, 0);
    double lo = 0, hi = h, at_lo = 0, at_hi = 0, length = h;
    int hit = -1, hit_check = -1, side = 0, ok = 1;
    ending former = {.which = -1};
    for (int i = 0; i < 200; i++) {
        double next = (lo + hi) / 2;
        if (ok && c < 0 && hit >= 0 && is_negative(e, last, hit, hit_check)) {
            c = last;
            e->hit = hit;
            e->hit_check = hit_check;
        }                                  /* by its sign, to the last bit */
        if (!ok || (c >= 0 && c < last)) { /* an event before the end, or none can be seen */
            hi = length;
            hit = -1;
            if (ok && e->at->scheme.c[c] * length > lo) next = e->at->scheme.c[c] * length;
        } else if (c < 0) {
            lo = length;
            has_lo = 1;
            keep_lo(e);
            if (hit >= 0) {
                at_lo = e->at_lo[CHECKS * hit + hit_check];
                e->hit = hit;
                e->hit_check = hit_check;
                if (!is_far(e) && is_at_zero(e, at_lo)) return lo;
            }
            if (side < 0) at_hi /= 2;
            side = -1;
        } else {
            int is_same = hit == e->hit && hit_check == e->hit_check;
            hi = length;
            hit = e->hit;
            hit_check = e->hit_check;
            at_hi = check(e, last, hit, hit_check);
            if (is_far(e) && is_at_zero(e, at_hi)) return hi;
            if (!is_same) at_lo = has_lo ? e->at_lo[CHECKS * hit + hit_check] : 0;
            if (is_same && side > 0) at_lo /= 2;
            side = is_same ? 1 : 0;
        }
        if (hi - lo <= 2 * DBL_EPSILON * fmax(fabs(e->t), hi)) break;
        if (i > 0 && has_lo && hit >= 0 && at_lo > 0 && at_hi < 0)
            next = lo + (hi - lo) * (at_lo / (at_lo - at_hi));
        if (e->is_reference && ok) {
            double x =
                next_length(e, i, c, hit < 0 ? -1 : CHECKS * hit + hit_check, length, &former);
            if (x > lo && x < hi) next = x;
        }
        if (!(next > lo && next < hi)) next = (lo + hi) / 2;
        length = next;
        ok = solve(e, length) == PERP__COLLOCATED;
        c = ok ? first_violated(e, has_lo) : -1;
    }
    double end = has_lo && hit >= 0 && !is_far(e) ? lo : hi;
    if (length != end && solve(e, end) != PERP__COLLOCATED) return 0;
    if (hit < 0)
        first_violated(e, has_lo);
    else {
        e->hit = hit;
        e->hit_check = hit_check;
    }
    return end;
}

/* Points as steps of backward Euler: the conditions of a point are those of one that ends there
 * with the same slopes ------------- */

/* At which of the open pairs is the guard off at this point, or on and the second side negative, of
 * rounding? */
static void find_off(perp__events *e, int c)
{
    memset(e->off, 0, (size_t)e->model->npair);
    for (int p = 0; p < e->model->npair; p++)
        if (e->model->pair[p].two_sided ||
            perp__collocation_side(e->at, c, p, PERP__ROW_GUARD) < 0 ||
            perp__collocation_side(e->at, c, p, PERP__ROW_B) < 0)
            e->off[e->group[p]] = 1;
}

static void put_point(perp__events *e, int c, perp__step *s)
{
    const perp__layout *l = s->layout;
    const perp__collocation *at = e->at;
    const double *y = perp__collocation_point(at, c), h = e->step;
    double *ws = s->ws, t = ws[SYM_T] = at->ws[at->time + c];
    int split = l->sym.y + l->nx + l->nv;
    ws[SYM_T_PRE] = t - h;
    ws[SYM_H] = h;
    ws[SYM_THETA] = 1;
    for (int i = 0; i < l->nx; i++) {
        double terms;
        ws[l->sym.y + i] = y[i];
        ws[l->sym.pre + i] = y[i] - h * perp__collocation_slope(at, c, i, &terms);
        at->size[i] = fmax(at->size[i], fabs(y[i]));
        s->state.history[i] = fmax(at->size[i], 2 * h * terms); /* what rounding is counted of */
    }
    put_vars(s, y + at->nx);
    put_tables(e, s, t, t);
    perp__tape_eval(&l->tape.guards, ws);
    find_off(e, c);
    for (int p = 0; p < s->model->npair; p++) {
        const perp__pair *pair = &s->model->pair[p];
        double b = perp__collocation_side(at, c, p, PERP__ROW_B);
        int g = l->tape.guard_of[p];
        int is_on = e->mode[p] != PERP__ROW_A || e->held[p] > 0 || !e->off[e->group[p]];
        if (pair->two_sided) {
            ws[split++] = fmax(b, 0);
            ws[split++] = fmax(-b, 0);
        }
        if (g >= 0 && (ws[l->tape.guards.out[g]] > 0) != is_on) ws[l->tape.guards.out[g]] = is_on;
    }
}

static void take_sizes(perp__events *e)
{
    for (int c = 0; c < e->at->scheme.npoint; c++)
        for (int i = 0; i < e->at->nx; i++)
            e->at->size[i] = fmax(e->at->size[i], fabs(perp__collocation_point(e->at, c)[i]));
}

/* Do the conditions hold at points up to the last? */
static int hold_at(perp__events *e, perp__step *s, perp__step_result *r)
{
    for (int c = 0; c < e->at->scheme.npoint; c++) {
        put_point(e, c, s);
        perp__step_linearise(s); /* which evaluates the rows where it has slopes to take */
        perp__verdict v =
            s->layout->nonlinear ? perp__step_judge_evaluated(s) : perp__step_verify(s);
        r->worst = v.worst;
        r->off = v.off;
        if (!(v.error <= s->tol)) return 0;
        r->error = fmax(r->error, v.error);
        r->residual = fmax(r->residual, v.residual);
    }
    return 1;
}

/* In what follows rounding is counted of the slopes of a whole step, not of those of this one,
 * which may be short. */
static void put_sizes(const perp__events *e, perp__step *s)
{
    const perp__collocation *at = e->at;
    for (int i = 0; i < at->nx; i++) {
        double terms;
        perp__collocation_slope(at, at->scheme.npoint - 1, i, &terms);
        s->state.history[i] = fmax(at->size[i], 2 * perp__collocation_length(at) * terms);
    }
}

/* At all points? A rough step is not judged. */
static int holds(perp_simulation *sim, perp__step_result *r)
{
    perp__events *e = sim->events;
    if (e->at->is_rough) {
        take_sizes(e);
        return 1;
    }
    perp__step *s = e->has_pre ? &e->limit : &sim->step;
    take_length(s, e->step);
    int hold = hold_at(e, s, r);
    if (hold && e->has_pre) {
        put_point(e, e->at->scheme.npoint - 1, &sim->step);
        memcpy(sim->step.state.side_now, s->state.side_now, (size_t)e->model->npair);
    }
    put_sizes(e, s);
    if (s != &sim->step) put_sizes(e, &sim->step);
    return hold;
}

/* One step ------------------------------------------------------------------------------------- */

/* A step so short that forces in it are rounding, or that it is that of the time. */
static int is_nothing(const perp__events *e, double h)
{
    return h <= fmax(PERP_TOL_SAME * e->step, 4 * DBL_EPSILON * fabs(e->t));
}

static int take_step(perp__events *e, double h)
{
    const double *y = perp__collocation_point(e->at, e->at->scheme.npoint - 1);
    memcpy(e->x, y, (size_t)e->at->nx * sizeof(double));
    memcpy(e->var, y + e->at->nx, (size_t)e->at->nv * sizeof(double));
    e->t += h;
    for (int i = 0; i < e->at->nx && e->is_reference; i++) /* rows that are rough leave rounding */
        if (fabs(e->x[i]) <= PERP_ROUNDING * e->at->size[i]) e->x[i] = 0;
    for (int p = 0; p < e->model->npair; p++) e->on[p] = e->closed[p] && is_on_or_at_bound(e, p);
    return 1;
}

/* The time of an event is known up to its rounding. What that leaves of a gap, 1e-15, a short step
 * makes a velocity of, and the next step a force of 1e-8: positions take it. */
static void close_gap(perp__events *e)
{
    const perp__collocation *at = e->at;
    int last = at->scheme.npoint - 1, side = row_of_check(e, e->hit, e->hit_check);
    if (at->gap[e->hit] != side + 1) return;
    int r = perp__collocation_row(at, last, e->hit, side), first = last * (at->nx + at->nv);
    double gap = perp__collocation_side(at, last, e->hit, side), square = 0;
    if (fabs(gap) > PERP_TOL_STEP * perp__collocation_terms(at, last, e->hit, side)) return;
    for (int k = at->start[r]; k < at->start[r + 1]; k++)
        if (at->column[k] >= first) square += at->value[k] * at->value[k];
    for (int k = at->start[r]; k < at->start[r + 1] && square > 0; k++)
        if (at->column[k] >= first) e->x[at->column[k] - first] -= at->value[k] * gap / square;
}

/* The slopes of so short a step may be rounding, of forces that are not determined: states that
 * move far with them keep their values. */
static void take_nothing(perp__events *e, double h)
{
    const double *y = perp__collocation_point(e->at, e->at->scheme.npoint - 1);
    for (int i = 0; i < e->at->nx; i++) {
        double size = fmax(fabs(e->x[i]), e->at->size[i]);
        if (fabs(y[i] - e->x[i]) <= PERP_TOL_SAME * size) e->x[i] = y[i];
    }
    e->t += h;
}

/* Does a step of length h from here lie within the one that is kept, or not far behind it? */
static int is_within(const perp__events *e, double h)
{
    return e->wide.is_known && e->t >= e->wide.t && e->t + h - e->wide.t <= FAR * e->wide.h;
}

static void keep_wide(perp__events *e, double h)
{
    if (!e->wide.is_kept ||
        (e->wide.is_known && e->t >= e->wide.t && e->t + h - e->wide.t <= (1 + 1e-9) * e->wide.h))
        return;
    e->wide.is_known = 1;
    e->wide.t = e->t;
    e->wide.h = h;
    memcpy(e->wide.x, e->x, (size_t)e->at->nx * sizeof(double));
    memcpy(e->wide.y, perp__collocation_point(e->at, 0), (size_t)e->at->n * sizeof(double));
}

/* The derivatives of the step that was just taken. */
static void follow_step(perp__events *e, double h)
{
    int row = e->hit < 0 ? -1 : row_of_hit(e);
    int tied = e->hit >= 0 && e->mode[e->hit] == PERP__ROW_A && e->tied[e->hit] == 1 ? e->hit : -1;
    if (e->saltation) perp__saltation_step(e->saltation, row, tied);
    e->past_t = e->t;
    e->past_h = h;
    memcpy(e->past_x, e->x, (size_t)e->at->nx * sizeof(double));
    keep_wide(e, h);
    e->is_fresh = 0;
}

/* Is the step that was solved last the one before this, in the same mode, and not much shorter? */
static int goes_on(const perp__events *e, double h)
{
    double begin = e->at->ws[0], length = e->at->ws[1];
    return !e->is_fresh && fabs(begin + length - e->t) <= 1e-9 * length && h <= AHEAD * length;
}

/* Where Newton's iteration begins. */
static void guess(perp__events *e, double h)
{
    if (is_within(e, h))
        perp__collocation_continue(e->at, e->t, h, e->wide.t, e->wide.h, e->wide.x, e->wide.y);
    else if (e->at->is_rough && goes_on(e, h))
        perp__collocation_predict(e->at, h);
    else
        perp__collocation_guess(e->at, e->x, e->var);
}

/* An event at once: it was at the end of the step before, which is derived again as one that ended
 * there. */
static void follow_event_at_once(perp__events *e, int row)
{
    if (!e->saltation || e->hit < 0 || e->is_fresh) return;
    perp__collocation_guess(e->at, e->past_x, e->var);
    perp__collocated is = perp__collocation_solve(e->at, e->past_t, e->past_h, e->past_x, e->mode);
    perp__saltation_again(e->saltation, is == PERP__COLLOCATED, row);
}

/* The length that is valid of the solved step of length h: to its end, or to its first event.
 * Returns 0 if steps are not solved; -x: it is too long, one of length x may have no event. */
static double find_end(perp__events *e, double h, int is_quick)
{
    for (;;) {
        int is_at_end = e->is_reference && ends_in_event(e, h);
        double taken = is_at_end || first_violated(e, 0) < 0 ? h : locate(e, h, is_quick);
        if (taken <= 0 || !is_no_tie(e)) return taken;
        e->tied[e->hit] = -1;
        e->hit = -1;
        if (solve(e, h) != PERP__COLLOCATED) return 0;
    }
}

/* Short steps left this pair open. Its side is negative at the end of the step and all along the
 * one that was located within their length, or no more than rounding in it: short steps could not
 * decide. */
static int is_misjudged(const perp__events *e, double taken)
{
    int p = e->hit, is_less = taken < e->short_h;
    if (!e->is_fresh || p < 0 || e->mode[p] != PERP__ROW_A || !e->sinks[p] ||
        row_of_check(e, p, e->hit_check) != PERP__ROW_B)
        return 0;
    for (int c = 0; c < e->at->scheme.npoint && !is_less; c++)
        if (fabs(perp__collocation_side(e->at, c, p, PERP__ROW_B)) >
            4 * PERP_ROUNDING * perp__collocation_terms(e->at, c, p, PERP__ROW_B))
            return 0;
    return 1;
}

/* Is the gap of an open pair, whose guard is on or was where the step began? */
static int is_below(perp__events *e, int c, int p)
{
    return is_violated(e, c, p, 0) ||
           (e->on[p] && perp__collocation_side(e->at, c, p, PERP__ROW_B) <
                            -NEGATIVE * perp__collocation_terms(e->at, c, p, PERP__ROW_B));
}

/* If a force that fell to 0 lets a gap open, the gap grows as the third power of time; a method of
 * order 3 has it below 0 at its first point, however short the step. A gap that grows at all
 * points, and is open at the end of the step, shows only that the step is too long. */
static int lags(perp__events *e)
{
    int last = e->at->scheme.npoint - 1, found = 0;
    for (int p = 0; p < e->model->npair && !found; p++) {
        if (e->mode[p] != PERP__ROW_A || e->at->gap[p] != PERP__ROW_B + 1) continue;
        for (int c = 0; c < last; c++) found |= is_below(e, c, p);
        found &= !is_below(e, last, p);
        for (int c = 0; c <= last && found; c++)
            found = perp__collocation_side(e->at, c, p, PERP__ROW_RATE) >= 0;
    }
    return found;
}

/* ... off 0 by a short step, beside which those behind it may be some times as long. */
static int step_off(perp__events *e, double end, perp__step_result *r)
{
    double t = fmin(e->t + e->short_h, end);
    memcpy(e->former, e->held, (size_t)e->model->npair);
    perp__step_result of = take_short_step(e, t, t >= end);
    memcpy(e->held, e->former, (size_t)e->model->npair);
    r->solves += of.solves;
    r->error = fmax(r->error, of.error);
    r->residual = fmax(r->residual, of.residual);
    e->is_short = 1;
    e->wide.is_known = 0;
    e->is_fresh = 0;
    return of.outcome == PERP_SOLVED;
}

/* The open pairs whose second side is negative at the end of this step. */
static void find_sinking(perp__events *e)
{
    int last = e->at->scheme.npoint - 1;
    for (int p = 0; p < e->model->npair && e->is_fresh; p++)
        e->sinks[p] =
            e->mode[p] == PERP__ROW_A && perp__collocation_side(e->at, last, p, PERP__ROW_B) < 0;
}

/* May a step of a reference be rough? The first after an event shows whether its sides were found
 * correctly. If contacts are closed by positions, the next event turns the residual of their gaps
 * into velocities. */
static int may_be_rough(const perp__events *e)
{
    int may = e->is_reference && (!e->is_fresh || e->model->npair == 0);
    for (int p = 0; p < e->model->npair && may; p++) may = e->at->gap[p] != e->mode[p] + 1;
    return may;
}

/* A step of length h, as rough as it may be: where an event seems to be between its points, to
 * rounding. */
static perp__collocated solve_step(perp__events *e, double h, int is_quick)
{
    e->at->is_rough = is_quick && may_be_rough(e);
    guess(e, h);
    perp__collocated is = solve(e, h);
    if (!e->at->is_rough || e->model->npair == 0 || is != PERP__COLLOCATED) return is;
    if (first_violated(e, 0) >= 0 || dip(e) == 1) return is;
    e->at->is_rough = 0;
    return solve(e, h);
}

/* From e->t on, at most to `end`, with the mode as it is; e->hit tells what ended it, or is -1.
 * Returns 0: it cannot be. */
static int advance_in_mode(perp_simulation *sim, double end, perp__step_result *r)
{
    perp__events *e = sim->events;
    double h = end - e->t, whole = h, shorter = 0;
    int is_late = 0;
    for (int k = 0; k <= HALVINGS; k++, h = shorter > 0 ? shorter : h / (is_late ? 4 : 2)) {
        int is_quick = e->is_reference && k < TRIES;
        shorter = 0;
        e->hit = -1;
        memset(e->tied, 0, (size_t)e->model->npair);
        perp__collocated is = solve_step(e, h, is_quick);
        e->wide.is_known &= is == PERP__COLLOCATED;
        r->solves++;
        sim->step.cache.out_of_memory |= is == PERP__HAS_NO_MEMORY;
        if (is != PERP__COLLOCATED) continue;
        if ((is_late = lags(e)) != 0) continue;
        find_ties(e);
        find_sinking(e);
        double share = first_violated(e, 0) < 0 ? dip(e) : 1;
        h *= share;
        if (share < 1 && solve(e, h) != PERP__COLLOCATED) continue;
        double taken = find_end(e, h, is_quick);
        shorter = -taken;
        if (taken <= 0) continue;
        if (is_misjudged(e, taken)) return 1;
        if (is_nothing(e, taken)) {
            int row = e->hit < 0 ? -1 : row_of_hit(e);
            take_nothing(e, taken);
            if (e->hit >= 0) close_gap(e); /* it closed at the end of the step before */
            follow_event_at_once(e, row);
            return 1;
        }
        fails(e, HOLDS_NOT, -1);
        int ok = holds(sim, r);
        if (!ok) e->worst = r->worst;
        if (!ok) continue;
        follow_step(e, taken);
        take_step(e, taken);
        if (e->hit >= 0) close_gap(e);
        if (taken == whole && (e->hit < 0 || e->is_reference)) e->t = end;
        return 1;
    }
    return is_late && step_off(e, end, r);
}

/* A check is violated as soon as time moves: the other side of its pair is zero. */
static int flip(perp__events *e)
{
    char *mode = &e->mode[e->hit];
    int two = e->model->pair[e->hit].two_sided, row = row_of_check(e, e->hit, e->hit_check);
    e->wide.is_known = 0;
    if (++e->flips > 2 * e->model->npair + 2)
        return fails(e, NO_SIDE, e->model->nequation + e->hit);
    if (row == PERP__ROW_GUARD)
        *mode = *mode == PERP__ROW_A ? PERP__ROW_B : PERP__ROW_A;
    else if (!two || *mode != PERP__ROW_B)
        *mode = *mode == PERP__ROW_B ? PERP__ROW_A : PERP__ROW_B;
    else
        *mode = e->hit_check ? PERP__ROW_HI : PERP__ROW_LO;
    return 1;
}

/* Count the event that has just ended a step. Does its pair's accumulate? */
static int accumulates(perp__events *e)
{
    int p = e->hit;
    double since = e->t - e->last[p];
    if (e->at_once >= 0) return 0;
    e->last[p] = e->t;
    e->quick[p] = since < QUICK * e->short_h ? e->quick[p] + 1 : 0;
    return e->quick[p] >= QUICK_TIMES;
}

/* The next time at which a table has a kink. */
static double next_kink(const perp__events *e, double t1)
{
    for (int k = 0; k < e->at->ntable; k++) {
        const perp__table *table = &e->model->item[PERP_INPUT][e->at->table[k]].table;
        int piece = table->points ? table->points : 1;
        for (int i = 0; i < table->n && table->time[i] < t1; i += piece)
            if (table->time[i] > e->t + PERP_TOL_SAME * (fabs(e->t) + e->step)) t1 = table->time[i];
    }
    return t1;
}

/* After the step that ended at an event. One at once shows that a side was taken wrongly: it is
 * found again, from a little after the event, and if that does not help it is the other one. */
static perp__step_result go_on(perp__events *e, double taken, double t1)
{
    perp__step_result r = {.outcome = PERP_SOLVED};
    int is_again = is_nothing(e, taken) && e->at_once == e->hit;

    e->at_once = is_nothing(e, taken) && !is_again ? e->hit : -1;
    if (!is_nothing(e, taken)) e->flips = 0;
    if (is_again) {
        if (!flip(e)) {
            r.outcome = PERP_LIMIT;
            r.fault = PERP__NOT_PASSED;
        }
        return r;
    }
    e->has_mode = 0;
    return accumulates(e) ? pass(e, t1) : r;
}

static void add(perp__step_result *sum, perp__step_result r)
{
    r.solves += sum->solves;
    r.error = fmax(r.error, sum->error);
    r.residual = fmax(r.residual, sum->residual);
    *sum = r;
}

/* The row of a time that short steps led to. */
static void put_short_step(perp_simulation *sim)
{
    const perp__events *e = sim->events;
    const perp__step *of = &e->probe[0];
    perp__step *s = &sim->step;
    double *ws = s->ws, rate = e->step / of->ws[SYM_H];
    memcpy(ws, of->ws, (size_t)s->layout->sym.n * sizeof(double));
    ws[SYM_H] = e->step;
    for (int i = 0; i < s->layout->nx; i++) {
        double *y = ws + s->layout->sym.y + i, *pre = ws + s->layout->sym.pre + i;
        *pre = *y - rate * (*y - *pre);
    }
    memcpy(s->state.side_now, of->state.side_now, (size_t)e->model->npair);
}

/* Until the next event, table row or the end. */
static perp__step_result advance_once(perp_simulation *sim, double t1)
{
    perp__events *e = sim->events;
    double before = e->t;
    perp__step_result r = {.outcome = PERP_SOLVED, .worst = -1};
    if (!e->has_mode) r = find_mode(e, t1);
    if (r.outcome != PERP_SOLVED || !e->has_mode) return r;
    e->is_short = 0;
    if (!advance_in_mode(sim, next_kink(e, t1), &r)) {
        r.outcome = PERP_LIMIT;
        r.fault = PERP__NOT_PASSED;
    } else if (e->hit >= 0) {
        add(&r, go_on(e, e->t - before, t1));
    } else {
        e->flips = 0;
        e->at_once = -1;
    }
    return r;
}

/* What may be set has the values that it has now in every problem. Did one change? */
static int take_parameters(perp_simulation *sim)
{
    perp__events *e = sim->events;
    int n = sim->step.layout->sym.varied.n, has_changed = 0;
    const double *now = sim->step.ws + perp__step_parameter(sim->step.layout, 0);
    perp__step *all[] = {&e->probe[0], &e->probe[1], &e->probe[2], &e->limit};
    for (int k = 0; k < PROBES + e->has_pre && n; k++) {
        perp__step *s = all[k];
        double *was = s->ws + perp__step_parameter(s->layout, 0);
        if (memcmp(was, now, (size_t)n * sizeof *now) == 0) continue;
        memcpy(was, now, (size_t)n * sizeof *now);
        perp__step_revalue(s);
        has_changed = 1;
    }
    perp__collocation_put_parameters(e->at, now);
    return has_changed;
}

perp__step_result perp__events_advance(perp_simulation *sim, double t0, double t1)
{
    perp__events *e = sim->events;
    perp__step *s = &sim->step;
    perp__step_result sum = {.outcome = PERP_SOLVED, .worst = -1};
    long passed = e->passed;
    memcpy(e->x, s->ws + s->layout->sym.y, (size_t)s->layout->nx * sizeof(double));
    e->t = t0;
    if (!e->wide.is_kept) perp__collocation_forget(e->at);
    if (e->saltation)
        perp__saltation_begin(e->saltation, sim->is_moved, sim->is_moved || sim->done == 0);
    if (take_parameters(sim) || sim->is_moved) e->has_mode = e->was_in_mode = 0;
    fails(e, NO_STEP, -1);
    int idle = 0;
    for (int k = 0; !is_nothing(e, t1 - e->t) && sum.outcome == PERP_SOLVED; k++) {
        if (k > PARTS + PARTS_OF_PAIR * e->model->npair || idle > AT_ONE_TIME) {
            fails(e, TOO_MANY, -1);
            sum.outcome = PERP_LIMIT;
            sum.fault = PERP__NOT_PASSED;
            break;
        }
        if (perp__run_is_stopped(sim)) {
            sum.outcome = PERP_LIMIT;
            break;
        }
        double before = e->t;
        add(&sum, advance_once(sim, t1));
        idle = is_nothing(e, e->t - before) ? idle + 1 : 0;
        if (e->first_end && sum.outcome == PERP_SOLVED && e->t - t0 > AT_ONCE * (t1 - t0))
            t1 = *e->first_end = fmin(e->t, t1);
    }
    for (int k = 0; k < PROBES; k++) s->cache.out_of_memory |= e->probe[k].cache.out_of_memory;
    s->cache.out_of_memory |= e->limit.cache.out_of_memory;
    if (sum.outcome == PERP_SOLVED) e->left.next_wait = 0;
    if (sum.outcome == PERP_SOLVED && e->passed == passed && e->pass > PASS) e->pass /= 2;
    if (sum.outcome == PERP_SOLVED && e->is_short) put_short_step(sim);
    memcpy(s->ws + s->layout->sym.y, e->x, (size_t)s->layout->nx * sizeof(double));
    s->ws[SYM_T] = t1;
    for (int k = 0; k < s->layout->table.n; k++) /* to the last bit */
        if (s->layout->table.is_set[k])
            s->ws[s->layout->sym.table + k] = perp__driven_value(
                e->at->may.driven, e->model, s->layout->table.input[k], t1, &s->cache.hint[k]);
    if (e->saltation && sum.outcome == PERP_SOLVED)
        perp__saltation_end(e->saltation, e->is_short, e->step);
    return sum;
}

int perp__events_go_on(perp__events *e)
{
    PERP_TAKE(&e->arena, e->wide.x, e->at->nx + 1);
    PERP_TAKE(&e->arena, e->wide.y, e->at->n + 1);
    e->wide.is_kept = !e->arena.failed;
    return e->wide.is_kept;
}

void perp__events_be_rough(perp__events *e, double accuracy)
{
    const double share = 1e-4, least = 100;
    e->is_reference = 1;
    e->accuracy = accuracy;
    e->at->roughly = fmax(share * accuracy / PERP_ROUNDING, least);
}

void perp__events_stop(perp__events *e, double *end)
{
    if (e) e->first_end = end;
}

long perp__events_say_left(const perp_simulation *sim, perp_diag *diag)
{
    const perp__events_left *left = &sim->events->left;
    const perp_model *m = sim->model;
    if (left->steps == 0 || !reasons[left->why]) return left->steps;
    perp__diag_append(diag, "at t = %.10g %s", left->t, reasons[left->why]);
    if (left->worst < 0) {
        perp__diag_append(diag, "\n");
        return left->steps;
    }
    perp_statement s = left->worst < m->nequation ? perp_model_equation(m, left->worst)
                                                  : perp_model_pair(m, left->worst - m->nequation);
    perp__diag_append(diag, ":\n  %s:%d: %s\n", s.file, s.line, s.text);
    return left->steps;
}

/* Causes are given in the order of `reasons`: those that have words, then the one that has none. */
long perp_simulation_fallback_cause(const perp_simulation *sim, int cause, const char **words)
{
    int reason = 0;
    const char *said = NULL;
    for (int k = 1; k < REASONS && !said; k++)
        if (reasons[k] && cause-- == 0) said = reasons[reason = k];
    if (!said && cause == 0) said = "an earlier one could not be taken, and this was not tried";
    if (words) *words = said;
    return said && sim && sim->events ? sim->events->left.by[reason] : 0;
}
