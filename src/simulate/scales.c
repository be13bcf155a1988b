/* The time scales of a model at its first step: eigenvalues of the map of one step of backward
 * Euler, (1 - h a)^-1 for a motion exp(a t), on the sides of the step, and with each single pair on
 * its other side. */

#include "linalg/eigenvalues.h"
#include "simulate/run.h"
#include "simulate/stepping.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 100, MOST_SIDES = 40, PROBES = 2 };
static const double SHORTER = 8, /* the second step is so many times shorter */
    AGREE = 0.05,                /* what both must find it within */
    RESOLVED = 1e4,    /* |a| h beyond which rounding decides: algebraic unknowns have infinity */
    STANDS = 1e-7,     /* |a| h below which it is rounding, or nothing moves */
    SLOW = 1e-2,       /* |a| T of what does not move within the run */
    PASSED = 1e-3,     /* of the run: decays that are over by then may be passed over */
    KEPT = 0.01,       /* the change that is asked for */
    LEAST_STEPS = 100, /* of a run */
    MOST_TURN = 0.5;   /* |a| h up to which the errors above are those of a method */

typedef struct rate {
    double complex a; /* 1/s */
    int pair;
} rate;

typedef struct rates {
    int n, capacity;
    rate *item;
} rates;

/* One of the two steps. */
typedef struct probe {
    perp_simulation *sim;
    perp__sensitivity *map;
    rates found;
    int known; /* on the sides of the first step */
} probe;

static int add_rate(rates *to, double complex a, int pair)
{
    if (!perp__grow(&to->item, &to->capacity, to->n + 1, sizeof *to->item)) return 0;
    to->item[to->n++] = (rate){a, pair};
    return 1;
}

/* The rates of the sides that are chosen. Returns 0: memory. */
static int add_rates(probe *of, int pair)
{
    const perp__step *s = &of->sim->step;
    int n = s->layout->nx;
    const double *map = perp__sensitivity_of_sides(of->map);
    if (!map) return !s->cache.out_of_memory;
    double complex *A = malloc(((size_t)n * (size_t)n + (size_t)n + 1) * sizeof *A);
    if (!A) return 0;
    double complex *value = A + n * n;
    int ok = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A[i + j * n] = map[i * n + j];
    int known = perp__eigenvalues(n, A, value);
    if (pair < 0) of->known = known;
    for (int i = 0; i < n && ok && known; i++) {
        if (cabs(value[i]) * RESOLVED < 1) continue;
        double complex turn = 1 - 1 / value[i];
        if (cabs(turn) > STANDS) ok = add_rate(&of->found, turn / of->sim->options.step, pair);
    }
    free(A);
    return ok;
}

/* A pair that a model has as two sides of its own: not one of friction(...), nor of a var between
 * bounds. */
static int is_contact(const perp__step *s, int p)
{
    const perp__pair *pair = &s->model->pair[s->layout->pair[p].of];
    return s->state.on[p] && !pair->two_sided && pair->side[0][0] && pair->side[1][0];
}

/* chosen: sides of the first step, those of the other probe or NULL. Returns 0: memory. */
static int look(probe *of, const char *chosen)
{
    perp__step *s = &of->sim->step;
    if (chosen && s->layout->np) memcpy(s->state.choice, chosen, (size_t)s->layout->np);
    int ok = add_rates(of, -1);
    for (int p = 0, n = 0; p < s->layout->np && n < MOST_SIDES && ok; p++) {
        if (!is_contact(s, p)) continue;
        n++;
        s->state.choice[p] = !s->state.choice[p];
        ok = add_rates(of, s->layout->pair[p].of);
        s->state.choice[p] = !s->state.choice[p];
    }
    return ok;
}

/* Take the first step. *unknown: why it cannot be. */
static perp_status begin(probe *of, const perp_model *model, const perp_simulation_options *options,
                         double step, const char **unknown)
{
    perp_diag diag = {0};
    perp_simulation_options o = *options;
    int state[MOST_STATES];
    o.step = step;
    o.to = o.from + step;
    o.integrator = PERP_BACKWARD_EULER;
    o.accuracy = 0;
    perp_status status = perp_simulation_create(model, &o, &of->sim, &diag);
    perp__step *s = of->sim ? &of->sim->step : NULL;
    if (status == PERP_OK && !s->cache.A) *unknown = "its steps are too large";
    if (status == PERP_OK && !*unknown) status = perp__run_next(of->sim, NULL, &diag);
    if (status != PERP_OK && status != PERP_ERR_MEMORY) {
        *unknown = "the first step has no solution";
        status = PERP_OK;
    }
    perp_diag_clear(&diag);
    if (status != PERP_OK || *unknown) return status;
    for (int i = 0; i < s->layout->nx; i++) state[i] = i;
    of->map =
        perp__sensitivity_create(s, &(perp__followed){.nstate = s->layout->nx, .state = state});
    return of->map ? PERP_OK : PERP_ERR_MEMORY;
}

static void end(probe *of)
{
    perp__sensitivity_destroy(of->map);
    perp_simulation_destroy(of->sim);
    free(of->found.item);
}

static int is_found(const rates *in, const rate *r)
{
    for (int i = 0; i < in->n; i++)
        if (in->item[i].pair == r->pair && cabs(in->item[i].a - r->a) <= AGREE * cabs(r->a))
            return 1;
    return 0;
}

static perp_time_scale scale_of(const rate *r)
{
    double size = cabs(r->a);
    int swings = fabs(cimag(r->a)) > fabs(creal(r->a));
    perp_motion_kind kind = creal(r->a) < 0 ? PERP_MOTION_DECAY : PERP_MOTION_GROWTH;
    if (swings) kind = PERP_MOTION_SWING;
    return (perp_time_scale){kind, (swings ? 2 * acos(-1) : 1) / size, r->pair};
}

/* The time that it lasts: the run; the time of its decay; a contact, half a swing. One turn of it
 * where no run is given. */
static double lasts(const rate *r, double horizon)
{
    double turn = 1 / cabs(r->a), T = isnan(horizon) ? 2 * acos(-1) * turn : horizon;
    if (creal(r->a) < 0) T = fmin(T, -1 / creal(r->a));
    return r->pair < 0 ? T : fmin(T, acos(-1) * turn);
}

/* A step h changes exp(a t) by constant (|a| h)^order |a| T. */
typedef struct law {
    double constant, order;
} law;

static law law_of(perp_integrator method, double theta)
{
    perp__scheme scheme = perp__scheme_make(perp_integrator_name(method), theta);
    if (scheme.is_weighted && scheme.theta != 0.5) return (law){fabs(0.5 - scheme.theta), 1};
    if (scheme.is_weighted) return (law){1.0 / 12, 2};
    int s = scheme.npoint;
    return (law){tgamma(s + 1) * tgamma(s) / (tgamma(2 * s + 1) * tgamma(2 * s)), 2 * s - 1};
}

/* 1, 2 or 5 times a power of ten, at most x. */
static double round_down(double x)
{
    double ten = pow(10, floor(log10(x) + 1e-9)), part = x / ten * (1 + 1e-9);
    return (part >= 5 ? 5 : part >= 2 ? 2 : 1) * ten;
}

static void judge(perp_step_advice *of, law l, const rate *r, double h, double horizon)
{
    double size = cabs(r->a), T = lasts(r, horizon), turn = size * h;
    double wanted = fmin(MOST_TURN, pow(KEPT / (l.constant * size * T), 1 / l.order)) / size;
    double error = turn > MOST_TURN ? 1 : fmin(1, l.constant * pow(turn, l.order) * size * T);
    if (isnan(of->step) || wanted < of->step) {
        of->step = wanted;
        of->asks = scale_of(r);
    }
    if (!(error <= of->error)) {
        of->error = error;
        of->worst = scale_of(r);
    }
}

static void keep_fastest(perp_time_scale *of, perp_time_scale with)
{
    if (!(of->time <= with.time)) *of = with;
}

static void weigh(perp_time_scales *scales, const rate *r, const perp_simulation_options *o,
                  double h)
{
    double T = scales->horizon;
    perp_time_scale scale = scale_of(r);
    if (cabs(r->a) * T < SLOW) return;
    if (creal(r->a) < 0 && -creal(r->a) * T * PASSED > 1) {
        keep_fastest(&scales->passed, scale);
        return;
    }
    perp_time_scale *of = scale.kind == PERP_MOTION_DECAY ? &scales->decay : &scales->growth;
    keep_fastest(scale.kind == PERP_MOTION_SWING ? &scales->swing : of, scale);
    for (int m = 0; m < PERP_INTEGRATOR_COUNT; m++)
        judge(&scales->of[m], law_of((perp_integrator)m, o->theta), r, h, T);
}

static int reads_time(const perp_model *m)
{
    for (int i = 0; i < m->graph.count; i++)
        if (m->graph.node[i].op == PERP__SYMBOL && m->graph.node[i].a == PERP__SYM_T) return 1;
    return m->nitem[PERP_INPUT] > 0;
}

static void clear(perp_time_scales *scales)
{
    const perp_time_scale none = {PERP_MOTION_NONE, (double)NAN, -1};
    *scales = (perp_time_scales){.size = scales->size,
                                 .swing = none,
                                 .decay = none,
                                 .growth = none,
                                 .passed = none,
                                 .horizon = (double)NAN};
    for (int m = 0; m < PERP_INTEGRATOR_COUNT; m++)
        scales->of[m] = (perp_step_advice){(double)NAN, none, 0, none};
}

/* No longer than a part of the run, and a round number. */
static void finish(perp_time_scales *scales, double step)
{
    const perp_time_scale none = {PERP_MOTION_NONE, (double)NAN, -1};
    for (int m = 0; m < PERP_INTEGRATOR_COUNT; m++) {
        perp_step_advice *of = &scales->of[m];
        double most = scales->horizon / LEAST_STEPS;
        if (isnan(of->step) || most < of->step) {
            of->step = most;
            of->asks = none;
        }
        if (!isnan(of->step)) of->step = round_down(of->step);
        if (isnan(step)) of->error = (double)NAN;
    }
}

perp_status perp_time_scales_find(const perp_model *model, const perp_simulation_options *options,
                                  perp_time_scales *scales, perp_diag *diag)
{
    if (!model || !scales || !PERP__FITS(scales)) return PERP_ERR_ARG;
    clear(scales);
    perp_simulation_options o = perp_simulation_options_default(model);
    if (!perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if (model->kind == PERP_DISCRETE) scales->unknown = "the model is discrete";
    if (model->nitem[PERP_STATE] > MOST_STATES) scales->unknown = "it has too many states";
    if (model->nitem[PERP_STATE] == 0) scales->unknown = "it has no state";
    if (scales->unknown) return PERP_OK;
    if (o.to > o.from) scales->horizon = o.to - o.from;
    scales->reads_time = reads_time(model);
    double step = isnan(o.step) ? 1e-3 : o.step;
    probe of[PROBES] = {{0}};
    perp_status status = PERP_OK;
    for (int k = 0; k < PROBES && status == PERP_OK && !scales->unknown; k++) {
        status = begin(&of[k], model, &o, k ? step / SHORTER : step, &scales->unknown);
        if (status != PERP_OK || scales->unknown) break;
        const perp__step *first = &of[0].sim->step;
        if (k && first->layout->np &&
            memcmp(first->state.on, of[k].sim->step.state.on, (size_t)first->layout->np) != 0)
            scales->unknown = "its guards at the first step depend on the length of that";
        if (!look(&of[k], k ? first->state.choice : NULL)) status = PERP_ERR_MEMORY;
        if (!of[k].known) scales->unknown = "the first step does not determine how it goes on";
    }
    for (int i = 0; i < of[0].found.n && status == PERP_OK && !scales->unknown; i++)
        if (is_found(&of[1].found, &of[0].found.item[i]))
            weigh(scales, &of[0].found.item[i], &o, step);
    if (!scales->unknown) finish(scales, o.step);
    for (int k = 0; k < PROBES; k++) end(&of[k]);
    return status == PERP_OK ? status : perp__out_of_memory(diag, model->source.name);
}
