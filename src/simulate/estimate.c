/* The estimated error at the end of a run. It compares with runs by radau7 in parts as long as an
 * accuracy allows, each more accurate than the one before. If events cannot be located, it compares
 * with the same run with longer steps (docs/adr/032-errors-said.md). */

#include "linalg/dense.h"
#include "simulate/collocation.h"
#include "simulate/events.h"
#include "simulate/parts.h"
#include "simulate/stepping.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32, LEVELS = 3, LEAST_STEPS = 32 };

/* Work (perp__run_work). TOGETHER: of a short run and the first reference; LEAST: of further ones.
 * ENOUGH: for a first reference of most models, up to half of the run's; in any case if the part is
 * more than a tenth. To make a reference takes this much for an unknown of its steps. */
#define TOGETHER 3.2e7
#define MAKING   2e4
#define LEAST    1e7
#define ENOUGH   6e7
#define SAMPLED  10

/* Longer steps that fail are halved less often, and problems may take so many pivots or
 * iterations. */
enum { FEWER = 8, LEAST_ITERATIONS = 100 };

/* A difference that is so many times the possible error of the reference is known well enough. */
#define KNOWN 10

/* The first run may take this part of the allowed work, so that with its last step it takes no more
 * than all; the next costs so many times as much. */
#define FOR_FIRST 0.95
#define DEARER    1.8

/* The accuracy of the first run; that for a run whose half is more than TOGETHER; and the factor
 * between runs. The error of each is at most this share of its difference from the one before. */
#define FIRST         1e-5
#define FIRST_OF_LONG 4e-6
#define FALL          1e-2
#define OWN_SHARE     0.04

/* The estimated error of a part may be too small by this factor (with constraints by positions). No
 * part, and no event in it, is more accurate than this share of the requested accuracy, or than
 * this. */
#define TRUST 5
#define ROUGH 1e-4
#define PART  1e-12

/* Of longer steps a state is moved by this part of its size; a difference below NOTHING of what it
 * was moved by is none. */
#define MOVE    1e-7
#define NOTHING 1e-5
#define CANCELS 1e-2

/* Differences in so many directions; their signs follow these bits of a state's position. With
 * longer steps the others are used if the first grew by more than COUNTS, or by more than MATTERS
 * if there is room for them. */
#define COUNTS  1000
#define MATTERS 100
static const int ways[] = {1, 0, 2};
enum { WAYS = sizeof ways / sizeof *ways };

/* The error of the reference is propagated too, as it is and with random signs. The reference is
 * off by less than a factor times the larger one. The first reference, whose parts may be too long
 * for their order, by up to 4.9, others 1.9 (docs/adr/124); if only a small difference from the run
 * counts, less is enough. The error of a state is at least this share of that of all. */
enum { OWN = 2 };
#define SAFE_FIRST 5
#define SAFE       3
#define SHARE      0.1

/* Orders of backward Euler and theta through all that may happen, as differences show them. */
static const double orders[2] = {0.7, 2.4};

typedef struct trace {
    int nx;
    long n;
    double *state;       /* row by row */
    struct trace *moves; /* of what is followed along it, WAYS of them; NULL: of nothing */
    int nfollowed;       /* with OWN behind them */
    perp_simulation *of; /* which is asked whether it is stopped */
} trace;

typedef struct estimate {
    const perp_simulation *sim;
    perp_simulation *other;
    int nx;
    double *size, *end,
        *former; /* states: largest; at the end of the last run, and the one before */
    trace straight,
        moves[WAYS];    /* from the start; and how that moves, of what the start is moved by */
    double *own;        /* states: the possible error of the last run */
    int kinks;          /* perp__has_kinks */
    double most, spent; /* work that the other runs may cost, and have */
    perp_diag *diag;
} estimate;

static perp_status refuse(const perp_simulation *sim, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(sim->model->source.name),
                        "the error of this run is not estimated: %s\n", why);
}

static perp_status check(const perp_simulation *sim, perp_diag *diag)
{
    int is_set = sim->step.layout->sym.varied.n > 0;
    for (int k = 0; k < sim->step.layout->table.n; k++) is_set |= sim->step.layout->table.is_set[k];
    if (sim->model->kind == PERP_DISCRETE) return refuse(sim, "a discrete model has none", diag);
    if (sim->done == 0) return refuse(sim, "no step was taken", diag);
    if (sim->was_moved) return refuse(sim, "its states were set or restored on the way", diag);
    if (is_set) return refuse(sim, "its parameters or inputs may have been set on the way", diag);
    return PERP_OK;
}

/* Beyond the first of the other runs; for a run that takes a moment, the rest of that. */
static double allowed(const estimate *e, double part)
{
    double own = perp__run_work(e->sim);
    return fmax(own / part, TOGETHER - own);
}

static perp_status make_other(estimate *e, perp_integrator by, long n, double accuracy)
{
    perp_simulation_options o = e->sim->options;
    o.integrator = by;
    o.accuracy = accuracy;
    if (!perp_simulation_compiler(e->sim))
        o.jit = PERP_JIT_OFF; /* it takes no more time than the run */
    o.to = perp_simulation_time(e->sim);
    o.step = (o.to - o.from) / (double)n;
    perp_simulation_destroy(e->other);
    e->other = NULL;
    perp_status status = perp__simulation_create_like(e->sim, &o, &e->other, e->diag);
    if (status != PERP_OK) return status;
    int ok = e->other->events ? perp__events_go_on(e->other->events)
                              : perp__step_limit(&e->other->step, o.solver, LEAST_ITERATIONS);
    if (accuracy == 0) e->other->fewer = FEWER;
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}

/* One more row; NULL when memory is out. */
static double *add_row(trace *t)
{
    size_t n = (size_t)t->n + 1, nx = (size_t)t->nx;
    double *state = realloc(t->state, (n * nx + 1) * sizeof *state);
    if (!state) return NULL;
    t->state = state;
    t->n++;
    return state + (n - 1) * nx;
}

static perp_status keep_row(void *context, long step, const double *row)
{
    trace *t = context;
    double *state = add_row(t);
    (void)step;
    if (!state) return PERP_ERR_MEMORY;
    memcpy(state, row + 1, (size_t)t->nx * sizeof *state);
    for (int w = 0; w < WAYS && t->moves; w++) {
        const double *moves = perp__sensitivity_states(t->of->sensitivity);
        if (!(state = add_row(&t->moves[w]))) return PERP_ERR_MEMORY;
        for (int i = 0; i < t->nx; i++) state[i] = moves[i * t->nfollowed + w];
    }
    return perp__run_is_stopped(t->of) ? PERP_ERR_STOPPED : PERP_OK;
}

/* The other run, from its start, or from where it was moved to; as far as this part of the work
 * goes that is left. */
static perp_status run_other(estimate *e, trace *rows, double share)
{
    const perp_simulation_options *o = &e->sim->options;
    double before = perp__run_work(e->other);
    rows->of = e->other;
    e->other->most_work = before + share * (e->most - e->spent);
    perp_status status = perp__run_whole(e->other, keep_row, rows, e->diag);
    e->spent += perp__run_work(e->other) - before;
    if (status != PERP_ERR_STOPPED || (o->stop && o->stop(o->stop_context))) return status;
    perp_diag_clear(e->diag);
    refuse(e->sim, "a more accurate run costs more than the part allowed", e->diag);
    return PERP_ERR_NO_SOLUTION;
}

static perp_status run_from_start(estimate *e, trace *rows, double share)
{
    perp_status status = run_other(e, rows, share);
    memcpy(e->former, e->end, (size_t)e->nx * sizeof(double));
    for (int i = 0; i < e->nx; i++) e->end[i] = perp_simulation_state(e->other, i);
    return status;
}

/* Growth --------------------------------------------------------------------------------------- */

/* By what each state at the start is moved in a direction. Velocities move on the spot; a position
 * that is moved may be one that cannot be. Returns 0: memory is out. */
static int find_way(const estimate *e, int w, double *by)
{
    char *moves = calloc((size_t)e->nx + 1, 1);
    int has_velocity = 0, ok = moves && perp__find_velocities(e->sim->model, moves);
    for (int i = 0; ok && i < e->nx; i++) has_velocity |= moves[i];
    for (int i = 0; ok && i < e->nx; i++)
        by[i] = moves[i] || !has_velocity
                    ? e->size[i] * (1 - 0.3 * (i % 3)) * (i & ways[w] ? -1 : 1)
                    : 0;
    free(moves);
    return ok;
}

/* The products of n differences with each other at row k, each state of its size. */
static void products(const estimate *e, int n, long k, double *A)
{
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int i = 0; i < e->nx; i++) {
        double d[WAYS] = {0};
        for (int w = 0; w < n && e->size[i] > 0; w++)
            d[w] = e->moves[w].state[k * e->nx + i] / e->size[i];
        for (int p = 0; p < n * n; p++) A[p] += d[p / n] * d[p % n];
    }
}

/* What of differences cancels to less than this share of them, or below NOTHING, may be what is not
 * linear in them. */
static void fill_up(int n, double *A)
{
    double sum = 0;
    for (int w = 0; w < n; w++) sum += A[w * n + w];
    for (int w = 0; w < n; w++) A[w * n + w] += NOTHING * NOTHING + CANCELS * CANCELS * sum / n;
}

/* The largest of |sum c_w d_w at the end| / |sum c_w d_w at row k|, squared: of inv(A) B by its
 * powers. */
static double most_growth(int n, double *A, const double *B)
{
    enum { POWERS = 30 };
    double c[WAYS], next[WAYS], size = 0;
    int swap[WAYS];
    if (perp__lu(n, A, n, swap) != 0) return 0;
    for (int w = 0; w < n; w++) c[w] = 1 + 0.3 * w;
    for (int m = 0; m < POWERS; m++) {
        size = 0;
        for (int w = 0; w < n; w++) {
            next[w] = 0;
            for (int v = 0; v < n; v++) next[w] += B[w * n + v] * c[v];
        }
        perp__lu_solve(n, A, n, swap, next);
        for (int w = 0; w < n; w++) size = fmax(size, fabs(next[w]));
        for (int w = 0; w < n && size > 0; w++) c[w] = next[w] / size;
    }
    return size;
}

/* The growth of a sum of the n differences from its minimum to the end. */
static double growth_of(const estimate *e, int n)
{
    double A[WAYS * WAYS], B[WAYS * WAYS], most = 1;
    long last = e->straight.n - 1;
    products(e, n, last, B);
    for (long k = 0; k < last; k++) {
        products(e, n, k, A);
        fill_up(n, A);
        most = fmax(most, most_growth(n, A, B));
    }
    return sqrt(most);
}

/* A run of longer steps from a start that is moved, beside the one that was not. */
static perp_status run_moved(estimate *e, int w)
{
    trace *moves = &e->moves[w];
    double *by = calloc((size_t)e->nx + 1, sizeof *by);
    perp_status status = by && find_way(e, w, by) ? PERP_OK : PERP_ERR_MEMORY;
    perp_simulation_reset(e->other);
    for (int i = 0; i < e->nx && status == PERP_OK; i++)
        perp_simulation_set_state(e->other, i, perp_simulation_state(e->other, i) + MOVE * by[i]);
    free(by);
    if (status == PERP_OK) status = run_other(e, moves, 1);
    for (long k = 0; k < moves->n * e->nx && status == PERP_OK; k++)
        moves->state[k] = (moves->state[k] - e->straight.state[k]) / MOVE;
    return status;
}

/* Of longer steps: growth in one direction, and where that is so much that a factor counts, in all
 * that several are made of. */
static perp_status find_growth(estimate *e, double *growth)
{
    double begin = e->spent;
    *growth = 0;
    for (int i = 0; i < WAYS; i++) {
        int has_room = begin + WAYS * (e->spent - begin) / fmax(i, 1) <= e->most;
        if (i > 0 && !(*growth > COUNTS || (*growth > MATTERS && has_room))) break;
        perp_status status = run_moved(e, i);
        if (i > 0 && status == PERP_ERR_NO_SOLUTION) return PERP_OK;
        if (status != PERP_OK) return status;
        *growth = growth_of(e, i + 1);
    }
    return PERP_OK;
}

/* The largest that each state was in the run itself, as far as it knows. */
static void take_sizes(estimate *e)
{
    const perp_simulation *sim = e->sim;
    for (int i = 0; i < e->nx; i++)
        e->size[i] = fmax(sim->step.state.history[i],
                          fmax(fabs(sim->initial[i]), fabs(perp_simulation_state(sim, i))));
}

static void end_following(perp_simulation *other)
{
    if (!other->sensitivity) return;
    perp__events_end_stretch(other->events);
    perp__sensitivity_destroy(other->sensitivity);
    other->sensitivity = NULL;
}

/* The other run propagates derivatives in so many directions, then its own error. Returns 0 if
 * memory is out. */
static int follow(estimate *e, int n)
{
    static const int any[WAYS + OWN] = {0};
    perp_simulation *other = e->other;
    perp__followed by = {.nstate = n + OWN, .state = any, .is_untold = 1};
    end_following(other);
    other->sensitivity = perp__sensitivity_create(&other->step, &by);
    if (!other->sensitivity) return 0;
    perp__parts_add_to(other, n);
    return perp__events_begin_stretch(other->events, &by, other->sensitivity, NULL) != NULL;
}

/* At its start, which is moved in the first n directions, and lacks nothing. Returns 0: memory is
 * out. */
static int begin_ways(estimate *e, int n)
{
    double *by = calloc((size_t)e->nx + 1, sizeof *by), *moves;
    int ok = by != NULL;
    moves = perp__sensitivity_states(e->other->sensitivity);
    memset(moves, 0, (size_t)e->nx * (size_t)(n + OWN) * sizeof *moves);
    for (int w = 0; w < n && ok; w++) {
        ok = find_way(e, w, by);
        for (int i = 0; i < e->nx; i++) moves[i * (n + OWN) + w] = by[i];
    }
    free(by);
    return ok;
}

/* Beside runs that locate events --------------------------------------------------------------- */

/* The largest of these, of the size of the states. */
static double relative(const estimate *e, const double *x)
{
    double largest = 0;
    for (int i = 0; i < e->nx; i++)
        if (e->size[i] > 0) largest = fmax(largest, x[i] / e->size[i]);
    return largest;
}

/* Add what kinks this has in all that moves (perp__has_kinks). */
static void add_kinks(const perp_model *m, perp_expr e, const int *moves, int *kinks)
{
    int found = *kinks >= 0 ? perp__has_kinks(&m->graph, e, moves) : 0;
    *kinks = found < 0 ? -1 : *kinks | found;
}

/* Of equations, sides of pairs and inputs. Returns -1: memory is out. */
static int find_kinks(const perp_model *m)
{
    int *moves = calloc((size_t)m->nsymbol + 1, sizeof *moves), kinks = moves ? 0 : -1;
    for (int i = 0; i < m->nitem[PERP_PARAM] && moves; i++)
        moves[m->item[PERP_PARAM][i].symbol] = -1;
    for (int i = 0; i < m->nequation && moves; i++) {
        add_kinks(m, m->equation[i].left, moves, &kinks);
        add_kinks(m, m->equation[i].right, moves, &kinks);
    }
    for (int p = 0; p < m->npair && moves; p++) {
        const perp__pair *pair = &m->pair[p];
        perp_expr of[4] = {pair->a, pair->b, pair->lo, pair->hi};
        for (int k = 0; k < (pair->two_sided ? 4 : 2); k++) add_kinks(m, of[k], moves, &kinks);
    }
    for (int i = 0; i < m->nitem[PERP_INPUT] && moves; i++)
        if (m->item[PERP_INPUT][i].expr >= 0)
            add_kinks(m, m->item[PERP_INPUT][i].expr, moves, &kinks);
    free(moves);
    return kinks;
}

/* Compares with the run that has just ended. Its possible error is its difference from the one
 * before, or a share of that. */
static void compare(const estimate *e, int k, double share, double least, double *error,
                    double *unsure)
{
    for (int i = 0; i < e->nx; i++) {
        error[i] = fabs(e->end[i] - perp_simulation_state(e->sim, i));
        double differs = k ? share * fabs(e->end[i] - e->former[i]) : error[i];
        unsure[i] = fmax(differs, least * e->size[i]);
    }
}

/* What no reference is better than. */
static double least_errors(const estimate *e)
{
    double part = fmax(ROUGH * e->other->options.accuracy, PART);
    return part * (double)perp_simulation_substeps(e->other, NULL, NULL);
}

/* The errors of the parts of the run that has just ended. */
static double errors_of_parts(const estimate *e)
{
    return TRUST * perp__parts_error(e->other) + least_errors(e);
}

/* What the run that has just ended lacks, as it was followed behind n differences, times what is
 * safe. */
static void find_own(const estimate *e, int n, double safe, double least)
{
    const double *lacks = perp__sensitivity_states(e->other->sensitivity) + n;
    for (int i = 0; i < e->nx; i++, lacks += n + OWN)
        e->own[i] = fmax(fabs(lacks[0]), fabs(lacks[1]));
    double most = relative(e, e->own);
    for (int i = 0; i < e->nx; i++)
        e->own[i] = safe * fmax(e->own[i], SHARE * most * e->size[i]) + least * e->size[i];
}

/* ... and its possible error: that, and at most the errors of all parts times their growth. Those
 * are too small at corners of equations, so the run must not differ by more from the one before
 * either. They mean nothing at jumps, or at corners that were left to backward Euler. fell: the
 * errors of parts as a share of those of the run before; parts may be as short in both. */
static void judge(estimate *e, int k, double fell, double growth, double *error, double *unsure)
{
    int is_blind = e->kinks & PERP__JUMP || (e->kinks && perp__parts_left(e->other) > 0);
    double share = is_blind ? 1 : fmax(OWN_SHARE, fell < 0.5 ? 2 * fell : 1);
    double safe = k || (e->kinks && !is_blind) ? SAFE : SAFE_FIRST;
    double all = growth * errors_of_parts(e);
    compare(e, k, share, (is_blind ? KNOWN : 1) * e->other->options.accuracy, error, unsure);
    find_own(e, k ? 0 : WAYS, safe, growth * least_errors(e));
    for (int i = 0; i < e->nx; i++) {
        double most = all * e->size[i],
               own = perp__sensitivity_known(e->other->sensitivity) ? e->own[i] : unsure[i];
        if (is_blind)
            unsure[i] = fmax(unsure[i], own);
        else if (e->kinks)
            unsure[i] = fmax(fmin(unsure[i], most), own - error[i]);
        else
            unsure[i] = fmin(own, most);
    }
}

/* Runs one after the other while the work lasts, and until the difference is known. */
static perp_status beside_accurate(estimate *e, double part, double *error, double *unsure,
                                   double *growth)
{
    double own = perp__run_work(e->sim), former = (double)INFINITY;
    double accuracy = own > 2 * TOGETHER ? FIRST_OF_LONG : FIRST;
    perp_status status = make_other(e, PERP_RADAU7, ROWS, accuracy);
    e->most = fmax(allowed(e, part), part < SAMPLED ? ENOUGH : fmin(own / 2, ENOUGH));
    if (status == PERP_OK) e->spent = MAKING * (double)perp__events_unknowns(e->other->events);
    if (status == PERP_OK && (e->kinks = find_kinks(e->sim->model)) < 0) status = PERP_ERR_MEMORY;
    take_sizes(e);
    for (int k = 0; k < LEVELS && status == PERP_OK; k++, accuracy *= FALL) {
        trace unused = {.nx = e->nx};
        double before = e->spent;
        int n = k ? 0 : WAYS;
        e->other->options.accuracy = accuracy;
        if (!follow(e, n) || !perp__parts_refer(e->other)) return PERP_ERR_MEMORY;
        e->straight.nfollowed = n + OWN;
        perp_simulation_reset(e->other);
        if (!begin_ways(e, n)) return PERP_ERR_MEMORY;
        status = run_from_start(e, k ? &unused : &e->straight, k ? 1 : FOR_FIRST);
        free(unused.state);
        if (status == PERP_ERR_NO_SOLUTION && k > 0) return PERP_OK; /* the last one stands */
        if (status != PERP_OK) return status;
        double cost = e->spent - before;
        memcpy(e->size, perp__parts_largest(e->other), (size_t)e->nx * sizeof(double));
        if (k == 0) *growth = growth_of(e, WAYS);
        if (k == 0 && !perp__sensitivity_known(e->other->sensitivity)) {
            refuse(e->sim, "a step on the way does not determine how differences grow", e->diag);
            return PERP_ERR_NO_SOLUTION;
        }
        double errors = errors_of_parts(e);
        judge(e, k, errors / former, *growth, error, unsure);
        former = errors;
        e->most = fmax(own / part, LEAST - own);
        if (relative(e, error) > KNOWN * relative(e, unsure)) break;
        if (e->spent + DEARER * cost > e->most) break;
    }
    return status;
}

/* Beside the same with longer steps ------------------------------------------------------------ */

/* From differences to runs of so many times, and twice as many times as long steps. */
static void extrapolate(double once, double twice, double longer, double *error, double *unsure)
{
    double order = once > 0 ? log2(twice / once) : 0;
    int is_one = order >= orders[0] && order <= orders[1];
    *error = once / (pow(longer, is_one ? order : orders[0]) - 1);
    *unsure = is_one ? 0.3 * *error : *error;
}

static perp_status beside_longer(estimate *e, int part, double *error, double *unsure,
                                 double *growth)
{
    const perp_simulation *sim = e->sim;
    long done = sim->done, n = done / (2 * part);
    if (sim->parts) return refuse(sim, "radau5 does not fit its model", e->diag);
    if (done < LEAST_STEPS) return refuse(sim, "its steps are too few", e->diag);
    if (n < LEAST_STEPS) n = done / 4 < LEAST_STEPS ? done / 4 : LEAST_STEPS;
    trace unused = {.nx = e->nx};
    perp_status status = make_other(e, sim->options.integrator, n, 0);
    e->most = allowed(e, part);
    if (status == PERP_OK) status = run_from_start(e, &unused, 1);
    free(unused.state);
    if (status == PERP_OK) status = make_other(e, sim->options.integrator, n / 2, 0);
    if (status == PERP_OK) status = run_from_start(e, &e->straight, 1);
    if (status == PERP_ERR_NO_SOLUTION) {
        perp_diag_clear(e->diag);
        refuse(sim, "longer steps are too hard to solve", e->diag);
    }
    if (status != PERP_OK) return status;
    for (long k = 0; k < e->straight.n * e->nx; k++)
        e->size[k % e->nx] = fmax(e->size[k % e->nx], fabs(e->straight.state[k]));
    for (int i = 0; i < e->nx; i++) {
        double x = perp_simulation_state(sim, i);
        extrapolate(fabs(e->former[i] - x), fabs(e->end[i] - x), (double)done / (double)n,
                    &error[i], &unsure[i]);
        unsure[i] += DBL_EPSILON * (double)done * e->size[i]; /* of the run itself */
    }
    return find_growth(e, growth);
}

perp_status perp__estimate(const perp_simulation *sim, int part, double *error, double *unsure,
                           double *growth, double *work, perp_diag *diag)
{
    perp_diag why = {0};
    perp_status status = check(sim, diag);
    int nx = sim->step.layout->nx, fits = sim->events ? 1 : perp__events_fit(sim->model);
    if (status != PERP_OK) return status;
    double *states = calloc(4 * (size_t)nx + 1, sizeof *states);
    estimate e = {.sim = sim, .nx = nx, .diag = &why};
    e.straight.nx = nx;
    for (int w = 0; w < WAYS; w++) e.moves[w].nx = nx;
    if (fits) e.straight.moves = e.moves;
    if (!states || fits < 0) {
        free(states);
        return perp__out_of_memory(diag, sim->model->source.name);
    }
    e.size = states;
    e.end = states + nx;
    e.former = e.end + nx;
    e.own = e.former + nx;
    double grows = 1;
    status = fits ? beside_accurate(&e, part, error, unsure, &grows)
                  : beside_longer(&e, part, error, unsure, &grows);
    if (growth) *growth = grows;
    if (work) *work = e.spent;
    if (e.other) end_following(e.other);
    perp_simulation_destroy(e.other);
    free(states);
    free(e.straight.state);
    for (int w = 0; w < WAYS; w++) free(e.moves[w].state);
    if (status == PERP_ERR_MEMORY)
        perp__out_of_memory(diag, sim->model->source.name);
    else if (status != PERP_OK)
        perp__diag_append(diag, "%s", perp_diag_text(&why));
    perp_diag_clear(&why);
    return status;
}

perp_status perp_simulation_estimate(const perp_simulation *sim, int part, double *error,
                                     double *unsure, double *growth, perp_diag *diag)
{
    if (!sim || part < 1 || !error || !unsure) return PERP_ERR_ARG;
    return perp__estimate(sim, part, error, unsure, growth, NULL, diag);
}
