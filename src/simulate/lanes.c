/* Steps of an affine model with constant coefficients, of up to PERP__LANES copies at once: the same operations in the same order as in
 * step.c, each over all lanes, while a copy keeps its mode and every condition holds by its plain terms. A copy for which that is not so
 * takes its step alone. */

#include "simulate/lanes.h"

#include "linalg/simd.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MODES = 8 };

/* The substitutions after the solution of a mode (perp__step_settling). */
typedef struct settling {
    uint64_t key;
    int n, *order;
} settling;

/* Values of lane l are at [.. * n + l]. */
struct perp__lanes {
    int n;         /* copies now, the stride */
    int prepared;  /* the stride that the constants in ws are for */
    int follows;   /* is an input of some copy a function of time now? */
    double *ws;    /* slots of all tapes */
    double *old;   /* symbols before the step */
    double *c, *y; /* of the lanes of one mode */
    double *history, *time, *error, *residual;
    double *value;            /* the coefficients that the modes are of */
    uint64_t *key;            /* the mode of each lane */
    char *choice, *on, *side; /* pair by pair: [p * n + l]; side of the pairs of the model */
    char *holds;              /* does the step of the lane hold so far? */
    char *taken;              /* was it made with the others? */
    int *counts;              /* steps with each side of each pair: [(4 * i + side) * n + l] */
    int *lane;                /* those in hand */
    enum { ALONE, READY, TAKEN, REFUSED } * state;
    settling mode[MODES];
    int next_mode, isa;
};

/* Memory ---------------------------------------------------------------------------------------- */

static int may_go_in_lanes(const perp_simulation *sim)
{
    enum { MOST_UNKNOWNS = 24, MOST_PAIRS = 40 }; /* 3^40 < 2^64 */
    const perp__step *s = &sim->step;
    return !sim->events && !sim->parts && s->constant && s->A && !s->sparse && s->ncone == 0 &&
           s->gaps.n == 0 && s->ny <= MOST_UNKNOWNS && s->np <= MOST_PAIRS;
}

int perp__lanes_create(const perp_simulation *of, perp__lanes **out)
{
    const perp__step *s = &of->step;
    const size_t L = PERP__LANES, np = (size_t)s->np, ny = (size_t)s->ny;
    *out = NULL;
    if (!may_go_in_lanes(of)) return 1;
    perp__lanes *x = *out = calloc(1, sizeof *x);
    if (!x) return 0;
    x->isa = perp__isa();
    x->ws = calloc((size_t)perp__tape_end(&s->tape.outputs) * L + 1, sizeof(double));
    x->old = malloc((size_t)s->sym.n * L * sizeof(double));
    x->c = malloc(((size_t)s->nrow + ny + (size_t)s->nx + 3) * L * sizeof(double));
    x->choice = malloc((2 * np + (size_t)of->model->npair + 2) * L);
    x->key = malloc(L * sizeof *x->key);
    x->counts = calloc(4 * (size_t)of->model->npair * L + 1, sizeof(int));
    x->lane = malloc(L * sizeof(int));
    x->value = calloc((size_t)s->row_start[s->nrow] + 1, sizeof(double));
    x->state = calloc(L, sizeof *x->state);
    int ok = x->ws && x->old && x->c && x->choice && x->lane && x->counts && x->state && x->value &&
             x->key;
    for (int i = 0; i < MODES && ok; i++) {
        x->mode[i].order = malloc(2 * (ny + (size_t)s->marks.ndefined + 1) * sizeof(int));
        x->mode[i].n = -1;
        ok = x->mode[i].order != NULL;
    }
    if (!ok) return 0;
    x->y = x->c + (size_t)s->nrow * L, x->history = x->y + ny * L;
    x->time = x->history + (size_t)s->nx * L, x->error = x->time + L, x->residual = x->error + L;
    x->on = x->choice + np * L, x->side = x->on + np * L;
    x->holds = x->side + (size_t)of->model->npair * L, x->taken = x->holds + L;
    return 1;
}

void perp__lanes_destroy(perp__lanes *x)
{
    if (!x) return;
    for (int i = 0; i < MODES; i++) free(x->mode[i].order);
    free(x->ws);
    free(x->old);
    free(x->c);
    free(x->choice);
    free(x->lane);
    free(x->counts);
    free(x->key);
    free(x->value);
    free(x->state);
    free(x);
}

/* There and back --------------------------------------------------------------------------------- */

/* Slots of lane l, `count` from the first, out of or into a workspace. */
static void take_slots(perp__lanes *x, int l, const double *ws, int count)
{
    for (int i = 0; i < count; i++) x->ws[(size_t)i * (size_t)x->n + (size_t)l] = ws[i];
}

static void give_slots(const double *from, int n, int l, double *ws, int count)
{
    for (int i = 0; i < count; i++) ws[i] = from[(size_t)i * (size_t)n + (size_t)l];
}

/* What the steps of a copy leave in it beside its symbols. */
static void take_rest(perp__lanes *x, int l, const perp__step *s)
{
    for (int j = 0; j < s->nx; j++)
        x->history[(size_t)j * (size_t)x->n + (size_t)l] = s->sizes.history[j];
    for (int p = 0; p < s->np; p++) x->choice[(size_t)p * (size_t)x->n + (size_t)l] = s->choice[p];
}

static void give_sides(const perp__lanes *x, int l, perp__step *s)
{
    for (int p = 0; p < s->np; p++) {
        s->choice[p] = x->choice[(size_t)p * (size_t)x->n + (size_t)l];
        s->on[p] = x->on[(size_t)p * (size_t)x->n + (size_t)l];
    }
}

static void give_rest(const perp__lanes *x, int l, perp__step *s)
{
    for (int j = 0; j < s->nx; j++)
        s->sizes.history[j] = x->history[(size_t)j * (size_t)x->n + (size_t)l];
    give_sides(x, l, s);
}

/* The same matrices as the first? */
static int is_alike(const perp__step *a, const perp__step *b)
{
    size_t values = (size_t)a->row_start[a->nrow] * sizeof(double),
           units = ((size_t)a->ny + (size_t)a->nrow) * sizeof(double);
    return b->sizes.has_units && memcmp(a->value, b->value, values) == 0 &&
           memcmp(a->sizes.unit, b->sizes.unit, units) == 0;
}

static void prepare_constants(perp__lanes *x, const perp__step *s)
{
    const perp__tape *tapes[] = {&s->table.tape, &s->tape.coefficients, &s->tape.check,
                                 &s->tape.guards};
    if (x->prepared == x->n) return;
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perp__tape_prepare(tapes[i], x->ws, x->n);
    x->prepared = x->n;
}

/* Which substitutions follow a mode depends on the coefficients. */
static void keep_values(perp__lanes *x, const perp__step *s)
{
    size_t bytes = (size_t)s->row_start[s->nrow] * sizeof(double);
    if (memcmp(x->value, s->value, bytes) == 0) return;
    memcpy(x->value, s->value, bytes);
    for (int i = 0; i < MODES; i++) x->mode[i].n = -1;
}

/* The copies that can go side by side with the first of them. */
static void gather(perp__lanes *x, perp_simulation *const *copy, int n, const perp_status *status)
{
    const perp_simulation *first = NULL;
    x->n = n, x->follows = 0;
    for (int l = 0; l < n; l++) {
        const perp_simulation *sim = copy[l];
        x->follows |= perp__run_follows(sim);
        const perp__step *s = &sim->step;
        int may = status[l] == PERP_OK && sim->done > 0 && !sim->sensitivity &&
                  s->sizes.has_units && s->h == sim->options.step &&
                  (!first || is_alike(&first->step, s));
        if (may && !first) first = sim;
        x->state[l] = may ? READY : ALONE;
        take_slots(x, l, s->ws, perp__tape_end(&s->sym.varied.tape));
        if (may) take_rest(x, l, s);
    }
    prepare_constants(x, &copy[0]->step);
    if (first) keep_values(x, &first->step);
}

/* A step ------------------------------------------------------------------------------------------ */

/* Inputs that are tables, or set, at both ends of the step. */
static void put_inputs(perp__lanes *x, perp_simulation *const *copy)
{
    const perp__step *s = &copy[0]->step;
    size_t n = (size_t)x->n;
    if (x->follows) perp__tape_eval_many(&s->table.tape, x->ws, x->n);
    for (int k = 0; k < s->table.n; k++) {
        double *before = x->ws + (size_t)(s->sym.table_pre + k) * n,
               *now = x->ws + (size_t)(s->sym.table + k) * n;
        const int *formula = s->table.tape.out + s->table.formula[k];
        for (size_t l = 0; l < n; l++) {
            if (x->state[l] == ALONE) continue;
            double held = copy[l]->driven.held[k];
            const perp__table *table = &copy[l]->model->item[PERP_INPUT][s->table.input[k]].table;
            int *hint = &copy[l]->step.table.hint[k];
            if (!isnan(held)) {
                before[l] = isnan(now[l]) ? held : now[l], now[l] = held;
            } else if (s->table.formula[k] >= 0) {
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
}

/* The mode of the last step, with the guards of now. */
static void find_keys(perp__lanes *x, const perp__step *s)
{
    size_t n = (size_t)x->n;
    memset(x->key, 0, n * sizeof *x->key);
    for (int p = 0; p < s->np; p++) {
        int g = s->tape.guard_of[s->pair[p].of];
        const double *guard = g < 0 ? NULL : x->ws + (size_t)s->tape.guards.out[g] * n;
        const char *choice = x->choice + (size_t)p * n;
        char *on = x->on + (size_t)p * n;
        if (!guard) {
            memset(on, 1, n);
            for (size_t l = 0; l < n; l++) x->key[l] = 3 * x->key[l] + (uint64_t)choice[l];
            continue;
        }
        for (size_t l = 0; l < n; l++) {
            on[l] = guard[l] > 0;
            x->key[l] = 3 * x->key[l] + (uint64_t)(on[l] ? choice[l] : 2);
        }
    }
}

/* As perp__run_begin_step, and the beginning of perp__step_solve. */
static void begin_step(perp__lanes *x, perp_simulation *const *copy)
{
    const perp__step *s = &copy[0]->step;
    size_t n = (size_t)x->n;
    double *pre = x->ws + (size_t)s->sym.pre * n;
    memcpy(x->old, x->ws, (size_t)s->sym.n * n * sizeof(double));
    memcpy(pre, x->ws + (size_t)s->sym.y * n, (size_t)s->nx * n * sizeof(double));
    for (size_t l = 0; l < n; l++) {
        const perp_simulation *sim = copy[l];
        if (x->state[l] == TAKEN) x->state[l] = READY;
        if (x->state[l] == READY && sim->done >= sim->nstep) x->state[l] = REFUSED;
        x->time[l] = perp__run_time(sim, sim->done + 1);
        x->ws[SYM_T * n + l] = x->time[l];
        x->ws[SYM_T_PRE * n + l] = perp__run_time(sim, sim->done);
    }
    for (size_t l = 0; l < n; l++) x->ws[SYM_H * n + l] = s->h;
    for (size_t l = 0; l < n; l++) x->ws[SYM_THETA * n + l] = s->scheme.theta;
    if (s->table.n) put_inputs(x, copy);
    for (size_t i = 0; i < (size_t)s->nx * n; i++) {
        double size = fabs(pre[i]);
        x->history[i] = size > x->history[i] ? size : x->history[i];
    }
    if (s->tape.guards.nout) perp__tape_eval_many(&s->tape.guards, x->ws, x->n);
    perp__tape_eval_many(&s->tape.coefficients, x->ws, x->n);
    find_keys(x, s);
}

/* The lanes that wait with the mode of the first of them. */
static int lanes_of_a_mode(perp__lanes *x)
{
    int many = 0;
    for (int l = 0; l < x->n; l++)
        if (x->state[l] == READY && (many == 0 || x->key[l] == x->key[x->lane[0]]))
            x->lane[many++] = l;
    return many;
}

static const settling *find_settling(perp__lanes *x, perp__step *s, const perp__mode *mode,
                                     uint64_t key)
{
    for (int i = 0; i < MODES; i++)
        if (x->mode[i].n >= 0 && x->mode[i].key == key) return &x->mode[i];
    settling *made = &x->mode[x->next_mode];
    x->next_mode = (x->next_mode + 1) % MODES;
    made->key = key;
    made->n = perp__step_settling(s, mode->row, made->order);
    return made;
}

/* y = S (-c) over the rows of the mode, then what these determine one after the other; many lanes. */
static inline PERP_INLINE void solve_many(const perp__lanes *x, const perp__step *s,
                                          const perp__mode *mode, const settling *settle,
                                          size_t many)
{
    size_t ny = (size_t)s->ny;
    memset(x->y, 0, ny * many * sizeof(double));
    for (size_t k = 0; k < ny; k++) {
        const double *restrict c = x->c + (size_t)mode->row[k] * many, *column = mode->S + k * ny;
        for (size_t i = 0; i < ny; i++) {
            double *restrict y = x->y + i * many, a = column[i];
            for (size_t l = 0; a != 0 && l < many; l++) y[l] += (0.0 - c[l]) * a;
        }
    }
    for (int e = 0; e < settle->n; e++) {
        int r = settle->order[2 * e], j = settle->order[2 * e + 1];
        double sum[PERP__LANES], own = 0, *restrict y = x->y + (size_t)j * many;
        memcpy(sum, x->c + (size_t)r * many, many * sizeof(double));
        for (int k = s->row_start[r]; k < s->row_start[r + 1]; k++) {
            const double *restrict other = x->y + (size_t)s->column[k] * many, a = s->value[k];
            if (s->column[k] == j)
                own = a;
            else
                for (size_t l = 0; l < many; l++) sum[l] += a * other[l];
        }
        for (size_t l = 0; l < many; l++) y[l] = (0.0 - sum[l]) / own;
    }
}

#define VERSION(isa, target)                                                                       \
    target static void solve_##isa(const perp__lanes *x, const perp__step *s,                      \
                                   const perp__mode *mode, const settling *settle, size_t many)    \
    {                                                                                              \
        solve_many(x, s, mode, settle, many);                                                      \
    }
PERP_ISA_LIST(VERSION)
#define NAME(isa, target) solve_##isa,
static void (*const solve_mode[])(const perp__lanes *x, const perp__step *s, const perp__mode *mode,
                                  const settling *settle, size_t many) = {PERP_ISA_LIST(NAME)};

/* Solve in the mode of some lanes; those whose mode is singular stay as they are. */
static void solve_lanes(perp__lanes *x, perp_simulation *const *copy, int many)
{
    perp__step *s = &copy[x->lane[0]]->step;
    size_t n = (size_t)x->n;
    const int *out = s->tape.coefficients.out;
    give_sides(x, x->lane[0], s);
    const perp__mode *mode = perp__step_mode(s);
    for (int l = 0; l < many; l++) x->state[x->lane[l]] = mode ? TAKEN : REFUSED;
    if (!mode) return;
    const settling *settle = find_settling(x, s, mode, x->key[x->lane[0]]);
    for (int k = 0; k < s->ny; k++) {
        double *c = x->c + (size_t)mode->row[k] * (size_t)many;
        const double *from = x->ws + (size_t)out[mode->row[k]] * n;
        for (int l = 0; l < many; l++) c[l] = from[x->lane[l]];
    }
    solve_mode[x->isa](x, s, mode, settle, (size_t)many);
    for (int i = 0; i < s->ny; i++) {
        const double *y = x->y + (size_t)i * (size_t)many;
        double *to = x->ws + (size_t)(s->sym.y + i) * n;
        for (int l = 0; l < many; l++) to[x->lane[l]] = y[l];
    }
}

/* Verdict: what perp__step_verify finds without looking at terms; other lanes are REFUSED. ------- */

static inline PERP_INLINE void judge_equations(perp__lanes *x, const perp__step *s)
{
    const int *out = s->tape.check.out;
    const double tol = s->tol;
    size_t n = (size_t)x->n;
    double *restrict worst = x->error, *restrict residual = x->residual;
    for (int i = 0; i < s->nown; i++, out += 2) {
        const double *left = x->ws + (size_t)out[0] * n, *right = x->ws + (size_t)out[1] * n;
        for (size_t l = 0; l < n; l++) {
            double r = fabs(left[l] - right[l]), sure = fabs(left[l]) + fabs(right[l]);
            double error = r == 0 ? 0 : r / sure;
            residual[l] = r <= residual[l] ? residual[l] : r; /* also where it is no number */
            worst[l] = error <= worst[l] ? worst[l] : error;
        }
    }
    for (size_t l = 0; l < n; l++) x->holds[l] = worst[l] <= tol;
}

static inline PERP_INLINE void judge_pair(const double *a, const double *b, size_t n, char *side,
                                          char *holds)
{
    for (size_t l = 0; l < n; l++) {
        int p = a[l] > 0, q = b[l] > 0;
        holds[l] = (char)(holds[l] & (a[l] >= 0) & (b[l] >= 0) & !(p & q));
        side[l] = (char)(p ? 0 : 1 + q);
    }
}

static inline PERP_INLINE void judge_box(const double *const value[4], size_t n, char *side,
                                         char *holds)
{
    for (size_t l = 0; l < n; l++) {
        double a = value[0][l], e = value[1][l], lo = value[2][l], hi = value[3][l];
        int is_low = a <= lo, is_high = a >= hi;
        int at_side = e > 0 ? a == lo : e < 0 ? a == hi : e == 0;
        holds[l] = (char)(holds[l] & (a >= lo) & (a <= hi) & at_side);
        side[l] = (char)(e > 0 ? 0 : e < 0 ? 2 : is_low ? 0 : is_high ? 2 : 1);
    }
}

static inline PERP_INLINE void judge_pairs(perp__lanes *x, const perp__step *s)
{
    const perp_model *m = s->model;
    const int *out = s->tape.check.out + 2 * s->nown;
    size_t n = (size_t)x->n;
    for (int i = 0; i < m->npair; i++) {
        int two = m->pair[i].two_sided, g = s->tape.guard_of[i];
        const double *value[4], *guard = g < 0 ? NULL : x->ws + (size_t)s->tape.guards.out[g] * n;
        char *side = x->side + (size_t)i * n, held[PERP__LANES];
        for (int k = 0; k < 4; k++) value[k] = x->ws + (size_t)out[k < 2 || two ? k : 0] * n;
        if (guard) memcpy(held, x->holds, n);
        if (two)
            judge_box(value, n, side, x->holds);
        else
            judge_pair(value[0], value[1], n, side, x->holds);
        for (size_t l = 0; guard && l < n; l++)
            if (!(guard[l] > 0)) x->holds[l] = held[l] && value[0][l] == 0, side[l] = 3;
        out += two ? 4 : 2;
    }
    for (int d = 0; d < s->sym.assigned.n; d++)
        for (size_t l = 0; l < n; l++)
            if (!isfinite(x->ws[(size_t)out[d] * n + l])) x->holds[l] = 0;
}

/* Of the lanes that were taken. */
static inline PERP_INLINE void count_sides(perp__lanes *x, int npair)
{
    size_t n = (size_t)x->n;
    for (size_t i = 0; i < 4 * (size_t)npair; i++) {
        const char *restrict side = x->side + i / 4 * n, *restrict taken = x->taken,
                             k = (char)(i % 4);
        int *restrict count = x->counts + i * n;
        for (size_t l = 0; l < n; l++) count[l] += taken[l] & (side[l] == k);
    }
}

static inline PERP_INLINE void judge_many(perp__lanes *x, const perp__step *s)
{
    for (int l = 0; l < x->n; l++) x->error[l] = x->residual[l] = 0;
    judge_equations(x, s);
    judge_pairs(x, s);
    for (int l = 0; l < x->n; l++) {
        if (x->state[l] == TAKEN && !x->holds[l]) x->state[l] = REFUSED;
        x->taken[l] = x->state[l] == TAKEN;
    }
    count_sides(x, s->model->npair);
}

#define JUDGE(isa, target)                                                                         \
    target static void judge_##isa(perp__lanes *x, const perp__step *s)                            \
    {                                                                                              \
        judge_many(x, s);                                                                          \
    }
PERP_ISA_LIST(JUDGE)
#define JUDGE_NAME(isa, target) judge_##isa,
static void (*const judge[])(perp__lanes *x, const perp__step *s) = {PERP_ISA_LIST(JUDGE_NAME)};

/* The end of perp__run_step. */
static void note_step(const perp__lanes *x, perp_simulation *sim, int l)
{
    perp_simulation_summary *summary = &sim->summary;
    sim->done++;
    sim->is_moved = 0;
    sim->residual = x->residual[l];
    if (sim->residual > summary->worst_residual)
        summary->worst_residual = sim->residual, summary->worst_step = sim->done;
    if (x->error[l] > summary->worst_error) summary->worst_error = x->error[l];
}

/* What the pairs of a copy were, step by step, and are; nothing is counted any more. */
static void give_counts(perp__lanes *x, int l, perp_simulation *sim)
{
    size_t n = (size_t)x->n;
    for (size_t i = 0; i < (size_t)sim->model->npair; i++) {
        sim->step.sizes.side_now[i] = x->side[i * n + (size_t)l];
        for (size_t k = 0; k < 4; k++) {
            int *count = &x->counts[(4 * i + k) * n + (size_t)l];
            sim->sides[i][k] += *count;
            *count = 0;
        }
    }
}

static void assign(perp__lanes *x, const perp__step *s)
{
    size_t n = (size_t)x->n, row = n * sizeof(double);
    const int *out = s->tape.check.out + s->sym.assigned.root;
    for (int d = 0; d < s->sym.assigned.n; d++)
        memcpy(x->ws + (size_t)(s->sym.y + s->ny + d) * n, x->ws + (size_t)out[d] * n, row);
}

/* The copies -------------------------------------------------------------------------------------- */

static perp_status step_alone(perp_simulation *sim, perp_status *status, perp_diag *diag)
{
    *status = perp_simulation_step(sim, NULL, diag);
    return *status;
}

/* A lane that was refused takes its step from the beginning, and then joins the others again. */
static void step_refused(perp__lanes *x, perp_simulation *sim, int l, perp_status *status,
                         perp_diag *diag)
{
    perp__step *s = &sim->step;
    give_slots(x->old, x->n, l, s->ws, s->sym.n);
    give_rest(x, l, s);
    give_counts(x, l, sim);
    x->state[l] = step_alone(sim, status, diag) == PERP_OK ? TAKEN : ALONE;
    take_slots(x, l, s->ws, s->sym.n);
    take_rest(x, l, s);
    for (int i = 0; i < sim->model->npair; i++)
        x->side[(size_t)i * (size_t)x->n + (size_t)l] = s->sizes.side_now[i];
}

static void step_together(perp__lanes *x, perp_simulation *const *copy, perp_status *status,
                          perp_diag *diag)
{
    const perp__step *s = &copy[0]->step;
    begin_step(x, copy);
    for (int many; (many = lanes_of_a_mode(x)) > 0;) solve_lanes(x, copy, many);
    perp__tape_eval_many(&s->tape.check, x->ws, x->n);
    judge[x->isa](x, s);
    assign(x, s);
    for (int l = 0; l < x->n; l++) {
        if (x->state[l] == TAKEN) note_step(x, copy[l], l);
        if (x->state[l] == REFUSED) step_refused(x, copy[l], l, &status[l], &diag[l]);
    }
}

void perp__lanes_step(perp__lanes *x, perp_simulation *const *copy, int n, long steps,
                      perp_status *status, perp_diag *diag)
{
    int is_first = 0; /* the first step of a run has checks of its own */
    for (int l = 0; l < n; l++) status[l] = PERP_OK, is_first |= copy[l]->done == 0;
    if (is_first && steps > 0) {
        for (int l = 0; l < n; l++) step_alone(copy[l], &status[l], &diag[l]);
        steps--;
    }
    int together = x && steps > 0;
    if (together) {
        gather(x, copy, n, status);
        for (long k = 0; k < steps; k++) step_together(x, copy, status, diag);
    }
    for (int l = 0; l < n; l++) {
        if (together && x->state[l] != ALONE) {
            give_slots(x->ws, n, l, copy[l]->step.ws, copy[l]->step.sym.n);
            give_rest(x, l, &copy[l]->step);
            give_counts(x, l, copy[l]);
            continue;
        }
        for (long k = 0; k < steps && status[l] == PERP_OK; k++)
            step_alone(copy[l], &status[l], &diag[l]);
    }
}
