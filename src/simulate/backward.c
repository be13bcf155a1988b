/* The backward pass through the operations of saltation.c. Of each step its symbols and sides are
 * kept. The step is linearised and factored anew, and the derivatives by states and time at its end
 * become those at its beginning, with the transposed matrices of saltation.c. */

#include "simulate/backward.h"

#include "simulate/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int tables(const perp__backward *b)
{
    return b->whole->layout->table.n;
}

int perp__backward_create(perp__backward *b)
{
    const perp__collocation *a = b->slopes ? b->slopes->at : NULL;
    const perp__step *s = b->whole;
    perp__arena *arena = &b->arena;
    size_t nx = (size_t)s->layout->nx, nv = (size_t)(a ? a->nv : 0), nt = (size_t)tables(b);
    PERP_TAKE(arena, b->given, 2 * nt + 3);
    PERP_TAKE(arena, b->now, nt + 1);
    PERP_TAKE(arena, b->before, nt + 1);
    PERP_TAKE(arena, b->pend_state, nx + 1);
    PERP_TAKE(arena, b->rate, nx + nv + 1);
    PERP_TAKE(arena, b->slope, nx + 1);
    PERP_TAKE(arena, b->eta, s->layout->ny + (a ? a->n : 0) + 1);
    PERP_TAKE(arena, b->move, (a ? perp__collocation_slopes_columns(b->slopes) : 0) + 1);
    PERP_TAKE(arena, b->by_length, (a ? a->n : 0) + 1);
    PERP_TAKE(arena, b->weight, 3 + s->layout->nx + s->model->nvar + s->layout->tape.outputs.nout);
    if (!arena->failed) b->var = b->rate + nx;
    return !arena->failed;
}

void perp__backward_clear(perp__backward *b)
{
    perp__records_clear(&b->records);
    perp__arena_clear(&b->arena);
}

/* Notes ---------------------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *at, const void *data, size_t size)
{
    if (size) memcpy(at, data, size);
    return at + size;
}

static const unsigned char *get(const unsigned char *at, void *data, size_t size)
{
    if (size) memcpy(data, at, size);
    return at + size;
}

static unsigned char *push(perp__backward *b, perp__noted kind, size_t size)
{
    unsigned char *at = perp__records_push(&b->records, sizeof b->stamp + size);
    b->stamp.kind = kind;
    return at ? put(at, &b->stamp, sizeof b->stamp) : NULL;
}

/* A multiple of the size of a number. */
static size_t size_of_step(const perp__step *s)
{
    const perp__layout *l = s->layout;
    return (size_t)l->sym.n * sizeof(double) + (2 * (size_t)l->np + 7) / 8 * 8;
}

static unsigned char *put_step(unsigned char *at, const perp__step *s)
{
    const perp__layout *l = s->layout;
    put(put(at, s->ws, (size_t)l->sym.n * sizeof(double)), s->state.on, 2 * (size_t)l->np);
    return at + size_of_step(s);
}

static const unsigned char *get_step(const unsigned char *at, perp__step *s)
{
    const perp__layout *l = s->layout;
    s->cache.newton.is_noted = 0;
    get(get(at, s->ws, (size_t)l->sym.n * sizeof(double)), s->state.on, 2 * (size_t)l->np);
    return at + size_of_step(s);
}

size_t perp__backward_bytes(const perp__backward *b)
{
    size_t size = sizeof b->stamp + size_of_step(b->whole);
    if (!b->slopes) return size;
    const perp__collocation *a = b->slopes->at;
    return size + sizeof b->stamp + (size_t)a->nsymbol * sizeof(double) +
           (size_t)a->n * sizeof(int);
}

void perp__backward_note_solved(perp__backward *b)
{
    unsigned char *at = push(b, PERP__NOTED_SOLVED, size_of_step(b->whole));
    if (at) put_step(at, b->whole);
}

/* The slope of table k at time t. */
static double slope_of(const perp__backward *b, int k, double t)
{
    const perp__collocation *a = b->slopes->at;
    return perp__driven_slope(a->may.driven, a->model, a->table[k], t, &a->hint[k]);
}

void perp__backward_note_in_mode(perp__backward *b, perp__noted kind, int row)
{
    const perp__collocation *a = b->slopes->at;
    size_t symbols = (size_t)a->nsymbol * sizeof(double), rows = (size_t)a->n * sizeof(int);
    size_t n = (size_t)a->scheme.npoint * (size_t)a->ntable;
    if (kind == PERP__NOTED_AGAIN && b->is_new) return;
    b->stamp.row = row;
    unsigned char *at = push(b, kind, symbols + rows + n * sizeof(double));
    if (!at) return;
    at = put(at, a->ws, symbols);
    for (int i = 0; i < a->scheme.npoint * a->ntable; i++) {
        double slope = slope_of(b, i % a->ntable, a->ws[a->time + i / a->ntable]);
        at = put(at, &slope, sizeof slope);
    }
    put(at, a->active, rows);
    b->is_new = 0;
}

void perp__backward_note_short(perp__backward *b, perp__noted kind, int is_given)
{
    int steps = kind == PERP__NOTED_JUMP ? 2 : 1, nt = tables(b);
    b->stamp.is_given = is_given;
    unsigned char *at =
        push(b, kind, (size_t)steps * (size_of_step(b->probe) + (size_t)nt * sizeof(double)));
    for (int j = 0; at && j < steps; j++) {
        for (int k = 0; k < nt; k++) {
            double slope = slope_of(b, k, b->probe[j].ws[SYM_T]);
            at = put(at, &slope, sizeof slope);
        }
        at = put_step(at, &b->probe[j]);
    }
    b->is_new = 1;
}

void perp__backward_note_row(perp__backward *b, int is_short)
{
    if (!b->wants_row) return;
    b->stamp.row = is_short;
    unsigned char *at = push(b, PERP__NOTED_ROW, size_of_step(b->whole));
    if (at) put_step(at, b->whole);
}

void perp__backward_note_left(perp__backward *b)
{
    b->records.size = b->mark;
    push(b, PERP__NOTED_LEFT, 0);
    b->is_new = 1;
}

/* Back ----------------------------------------------------------------------------------------- */

/* The derivative by table k at a time of the stamp's step. */
static void add_table(perp__backward *b, const perp__stamp *stamp, int k, double t, double by)
{
    double share = t == stamp->end ? 1 : (t - stamp->begin) / (stamp->end - stamp->begin);
    b->now[k] += share * by;
    b->before[k] += (1 - share) * by;
}

static int back_solved(perp__backward *b, const perp__stamp *stamp, const double *weight)
{
    int nt = tables(b),
        ok = perp__sensitivity_back(b->of_whole, weight, b->state, b->param, b->given);
    const double *ws = b->whole->ws;
    for (int i = 0; i < 2 * nt; i++)
        add_table(b, stamp, i % nt, ws[i < nt ? SYM_T : SYM_T_PRE], b->given[i]);
    b->time = 0;
    return ok;
}

static void back_row(perp__backward *b, const perp__stamp *stamp, const double *weight)
{
    const perp__collocation *a = b->slopes->at;
    const perp__step *s = b->whole;
    int nt = tables(b);
    if (!weight) return;
    perp__sensitivity_back_row(b->of_whole, weight, b->eta, b->slope, b->param, b->given);
    for (int i = 0; i < 2 * nt; i++) add_table(b, stamp, i % nt, stamp->end, b->given[i]);
    for (int i = 0; i < a->nx; i++) b->state[i] += b->eta[i] + b->slope[i];
    for (int i = 0; i < a->nx; i++) b->rate[i] += b->eta[i];
    for (int v = 0; v < a->nv; v++) /* assigned ones went into what they are made of */
        b->var[v] = s->layout->sym.var_at[v] < s->layout->ny ? b->eta[s->layout->sym.var_at[v]] : 0;
}

/* What the row behind this step weighs, by its unknowns; what its length gets of that is
 * returned. */
static double add_row(perp__backward *b, int last, double *state)
{
    const perp__collocation *a = b->slopes->at;
    int size = a->nx + a->nv;
    double length = perp__collocation_length(a), by_length = 0, terms;
    const double *D = a->scheme.D[a->scheme.npoint - 1];
    for (int i = 0; i < a->nx + a->nv; i++) {
        if (i >= a->nx) b->eta[last + i] += b->var[i - a->nx];
        b->time -= (i < a->nx ? b->rate[i] : b->var[i - a->nx]) * b->by_length[last + i];
    }
    for (int i = 0; i < a->nx; i++) {
        double by = b->step * b->slope[i] / length;
        for (int c = 0; c < a->scheme.npoint; c++) {
            b->eta[c * size + i] -= by * D[c + 1];
            state[i] += by * D[c + 1];
        }
        by_length += by * perp__collocation_slope(a, a->scheme.npoint - 1, i, &terms);
    }
    return by_length;
}

static void forget_row(perp__backward *b)
{
    const perp__collocation *a = b->slopes->at;
    memset(b->rate, 0, (size_t)(a->nx + a->nv) * sizeof(double));
    memset(b->slope, 0, (size_t)a->nx * sizeof(double));
}

/* The entries of a direction become what they are made of. */
static void take_move(perp__backward *b, const perp__stamp *stamp, const double *slope,
                      double *state)
{
    const perp__collocation *a = b->slopes->at;
    b->time += b->move[0];
    for (int i = 0; i < a->nx; i++) state[i] += b->move[a->before + i];
    for (int c = 0; c < a->scheme.npoint; c++) {
        b->time += b->move[a->time + c];
        for (int k = 0; k < a->ntable; k++) {
            double by = b->move[a->at_table + c * a->ntable + k];
            b->time += by * slope[c * a->ntable + k];
            add_table(b, stamp, k, a->ws[a->time + c], by);
        }
    }
    for (int k = 0; k < b->slopes->nparam; k++) b->param[k] += b->move[a->y + k];
}

/* How the unknowns and the row that ended the step (-1: none) move with its length; 0: they do
 * not. */
static int find_rate(perp__backward *b, int row, const double *slope, double *rate)
{
    perp__collocation *a = b->slopes->at;
    size_t columns = (size_t)perp__collocation_slopes_columns(b->slopes);
    memset(b->move, 0, columns * sizeof(double));
    if (!perp__collocation_slopes_take(b->slopes, 0)) return 0;
    perp__collocation_slopes_move(b->slopes, 0, 1, b->move);
    for (int i = 0; i < a->scheme.npoint * a->ntable; i++) /* as they were then */
        b->move[a->at_table + i] = a->scheme.c[i / a->ntable] * slope[i];
    if (!perp__collocation_slopes_solve(b->slopes, b->move, b->by_length)) return 0;
    *rate = row < 0 ? 1
                    : perp__collocation_slopes_row(b->slopes, row, b->move) +
                          perp__collocation_row_by_unknowns(a, row, b->by_length);
    memset(b->move, 0, columns * sizeof(double));
    return isfinite(*rate) && *rate != 0;
}

/* Derivatives at the beginning of a step in a mode: by the states in *state (zeroed), by the time
 * in b->time. */
static int back_in_mode(perp__backward *b, const perp__stamp *stamp, const unsigned char *at,
                        double *state)
{
    perp__collocation *a = b->slopes->at;
    int last = (a->scheme.npoint - 1) * (a->nx + a->nv), row = stamp->row;
    const double *symbol = (const double *)at, *slope = symbol + a->nsymbol;
    double rate;
    perp__collocation_put(a, symbol, (const int *)(slope + a->scheme.npoint * a->ntable));
    if (!find_rate(b, row, slope, &rate)) return 0;
    memset(b->eta, 0, (size_t)a->n * sizeof(double));
    for (int i = 0; i < a->nx; i++) b->eta[last + i] = b->state[i];
    double by_length = add_row(b, last, state);
    for (int i = 0; i < a->n; i++) by_length += b->eta[i] * b->by_length[i];
    forget_row(b);
    if (row < 0) {
        b->time = -by_length;
    } else {
        double by = -(by_length + b->time) / rate;
        perp__collocation_slopes_add(b->slopes, row, by, b->move);
        perp__collocation_add_unknowns(a, row, by, b->eta);
    }
    if (!perp__collocation_slopes_back(b->slopes, b->eta, b->move)) return 0;
    take_move(b, stamp, slope, state);
    return 1;
}

static int back_mode(perp__backward *b, const perp__stamp *stamp, const unsigned char *at)
{
    const perp__collocation *a = b->slopes->at;
    double *state = b->weight; /* scratch */
    memset(state, 0, (size_t)a->nx * sizeof(double));
    if (!back_in_mode(b, stamp, at, state)) return 0;
    int is_again = stamp->kind == PERP__NOTED_AGAIN;
    for (int i = 0; i < a->nx; i++) {
        double pend = b->is_pending ? b->pend_state[i] : 0;
        b->state[i] = is_again ? 0 : state[i] + pend;
        b->pend_state[i] = is_again ? state[i] + pend : 0;
    }
    double pend = b->is_pending ? b->pend_time : 0, time = b->time + pend;
    b->time = is_again ? 0 : time;
    b->pend_time = is_again ? time : 0;
    b->is_pending = is_again;
    return 1;
}

/* Short step j with these derivatives at its end, and weights of its vars; added to by the time. */
static int back_short_step(perp__backward *b, const perp__stamp *stamp, int j, const double *slope,
                           const double *weight, double *state)
{
    int nt = tables(b);
    const double *ws = b->probe[j].ws;
    if (!perp__sensitivity_back(b->of_probe[j], weight, state, b->param, b->given)) return 0;
    b->time += b->given[0] + b->given[1];
    for (int i = 0; i < 2 * nt; i++) {
        b->time += b->given[2 + i] * slope[i % nt];
        add_table(b, stamp, i % nt, ws[i < nt ? SYM_T : SYM_T_PRE], b->given[2 + i]);
    }
    return 1;
}

/* 2 x(h/2) - x(h) */
static int back_jump(perp__backward *b, const perp__stamp *stamp, const unsigned char *at)
{
    int nx = b->slopes->at->nx, ok = 1;
    double *sum = b->eta, *state = b->weight; /* scratch */
    for (int i = 0; i < nx; i++) sum[i] = 0;
    for (int j = 0; j < 2 && ok; j++) {
        const double *slope = (const double *)at;
        at = get_step((const unsigned char *)(slope + tables(b)), &b->probe[j]);
        for (int i = 0; i < nx; i++) state[i] = (j ? 2 : -1) * b->state[i];
        ok = back_short_step(b, stamp, j, slope, NULL, state);
        for (int i = 0; i < nx; i++) sum[i] += state[i];
    }
    if (nx) memcpy(b->state, sum, (size_t)nx * sizeof *sum);
    return ok;
}

static int back_short(perp__backward *b, const perp__stamp *stamp, const unsigned char *at)
{
    const perp__collocation *a = b->slopes->at;
    const double *slope = (const double *)at;
    perp__step *s = b->probe;
    get_step((const unsigned char *)(slope + tables(b)), s);
    const double *x = s->ws + s->layout->sym.y, *pre = s->ws + s->layout->sym.pre;
    double h = s->ws[SYM_H], *weight = b->weight;
    memset(weight, 0,
           (size_t)(2 + a->nx + s->model->nvar + s->layout->tape.outputs.nout) * sizeof(double));
    memcpy(weight + 1 + a->nx, b->var, (size_t)a->nv * sizeof(double));
    if (stamp->is_given) b->time = 0;
    for (int i = 0; i < a->nx; i++) {
        b->eta[i] = b->step * b->slope[i] / h; /* by the states before it */
        b->state[i] -= b->eta[i];
        if (stamp->is_given) b->time -= b->state[i] * (x[i] - pre[i]) / h;
    }
    double *before = b->pend_state; /* nothing is pending behind a short step */
    memcpy(before, b->eta, (size_t)a->nx * sizeof(double));
    int ok = back_short_step(b, stamp, 0, slope, weight, b->state);
    for (int i = 0; i < a->nx; i++) {
        b->state[i] += before[i];
        before[i] = 0;
    }
    forget_row(b);
    return ok;
}

int perp__backward_pop(perp__backward *b, perp__stamp *stamp,
                       const double *(*weight_of)(void *context, const perp__stamp *stamp),
                       void *context)
{
    const unsigned char *at = perp__records_pop(&b->records);
    size_t nt = (size_t)tables(b);
    at = get(at, stamp, sizeof *stamp);
    for (size_t k = 0; k < nt; k++) b->now[k] = b->before[k] = 0;
    const double *weight = weight_of(context, stamp);
    switch (stamp->kind) {
    case PERP__NOTED_SOLVED: get_step(at, b->whole); return back_solved(b, stamp, weight);
    case PERP__NOTED_ROW:
        get_step(at, b->whole);
        back_row(b, stamp, weight);
        return 1;
    case PERP__NOTED_JUMP: return back_jump(b, stamp, at);
    case PERP__NOTED_SHORT: return back_short(b, stamp, at);
    case PERP__NOTED_LEFT:
        for (int i = 0; i < b->slopes->at->nx; i++) b->rate[i] += b->state[i];
        b->time = 0;
        return 1;
    default: return back_mode(b, stamp, at);
    }
}
