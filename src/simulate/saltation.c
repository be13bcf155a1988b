/* Derivatives through events. Each direction has the derivatives dx of the states and dt of the
 * present time. An event that comes later by dt has the states x(t + dt), so dx is the whole
 * derivative along it. Between events the points of a step are a root of smooth rows R(Y; x0,
 * t0, h, p), and at its end a check g(Y; ..) = 0 determines dh:
 *
 *     dY = -R_Y^-1 (R_x dx0 + R_t dt0 + R_h dh + R_p dp)
 *     g_Y dY + g_x dx0 + g_t dt0 + g_h dh + g_p dp = 0
 *
 * After an event dx is the derivative of the reset (two short steps, 2 x(h/2) - x(h)), dt is
 * unchanged, and the next step ends at a given time: dh = -dt. Together these are the saltation
 * matrix D + (f+ - D f- - D_t) g' / (g_t + g_x f-), with all dependences of guard and reset
 * (Leine and Nijmeijer 2004, ch. 7). */

#include "simulate/run.h"
#include "simulate/saltation.h"

#include "base/tol.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is less than this part of its terms is nothing at the start of a step: a gap that is kept
 * drifts; */
#define LITTLE 1e-3

/* ... and what is 0 there and grows is, by the polynomial, less than this part of what it comes
 * to. */
#define SHARE 0.05

/* A guard on its bound is moved by at least this part of the change of the states in it: the error
 * of short steps. */
#define KEPT 1e-5

/* The rate of a guard, or of what ends a step, is none below this part of what it is made of. */
#define STANDS 1e-9

/* If the signs are not asked for, factors that leave this share of a step's residual are good
 * enough. */
#define ROUGH 1e-3

/* At the start a guard is on its bound; and all its slopes are 0; the second side is 0. */
enum { GUARD_TOUCHED = 1, FLAT = 2, SIDE_TOUCHED = 4 };

struct perp__saltation {
    perp__collocation_slopes *slopes;
    perp__step *step;
    perp__sensitivity *probe[2];
    int nparam, np, nx, nv, known; /* np: directions, nparam of them by parameters */
    double *dx, *dt;               /* nx by np; np */
    double *before, *dt_before;    /* the same before the last step in a mode */
    double *dY, *dh;               /* n by np; np: its unknowns and length */
    double *most;                  /* nx by np: the largest |dx| so far */
    double *by_length, length;     /* n; of the step in a mode that was taken last */
    double *move, *x, *var, *row;  /* a direction; scratch; nv by np; twice nx by np */
    char *choice;
    char *touched; /* pairs at the start, bits: */
    char *jumped;  /* np: the direction did, in the last two short steps */
    char *opens;   /* pairs whose force fell to 0 at an event, while their gaps grow from 0 */
    int ntouched;  /* ... how many guards, -1: not looked at yet */
    perp__sensitivity *run;
    perp__backward *back; /* NULL: forward */
    const double *seed; /* NULL: a direction for each parameter and state; else one, by these and */
    const double *now, *before_now; /* ... what tables were set to */
    int is_untold;  /* signs of the directions are not asked for, and they are rough */
    int is_new;     /* no step was taken yet that could have ended at an event */
    int is_fresh;   /* no step was taken since the sides were found */
    int has_jumped; /* there */
    int is_start;   /* what short steps find now is no event: the run begins, or was moved */
    int has_held; /* there is an equation of states alone, which a change of the start may break */
    perp__arena arena;
};

static int take_memory(perp__saltation *s)
{
    size_t np = (size_t)s->np, nx = (size_t)s->nx, n = (size_t)s->slopes->at->n;
    perp__arena *a = &s->arena;
    PERP_TAKE(a, s->dx, nx * np + 1);
    PERP_TAKE(a, s->dt, np + 1);
    PERP_TAKE(a, s->before, nx * np + 1);
    PERP_TAKE(a, s->dt_before, np + 1);
    PERP_TAKE(a, s->dY, n * np + 1);
    PERP_TAKE(a, s->most, nx * np + 1);
    PERP_TAKE(a, s->dh, np + 1);
    PERP_TAKE(a, s->by_length, n + 1);
    PERP_TAKE(a, s->move, perp__collocation_slopes_columns(s->slopes) + 1);
    PERP_TAKE(a, s->x, n + 1);
    PERP_TAKE(a, s->var, (size_t)s->nv * np + 1);
    PERP_TAKE(a, s->row, 2 * nx * np + 1);
    PERP_TAKE(a, s->choice, s->step->layout->np + 1);
    PERP_TAKE(a, s->touched, s->slopes->at->model->npair + 1);
    PERP_TAKE(a, s->jumped, np + 1);
    PERP_TAKE(a, s->opens, s->slopes->at->model->npair + 1);
    return !a->failed;
}

/* Does row r, of the last point, read states of that point alone? */
static int reads_states_alone(const perp__collocation *a, int r)
{
    int first = (a->scheme.npoint - 1) * (a->nx + a->nv), alone = a->start[r] < a->start[r + 1];
    for (int k = a->start[r]; k < a->start[r + 1]; k++)
        alone &= a->column[k] >= first && a->column[k] < first + a->nx;
    return alone;
}

/* Symbols of a short step that move with time: its ends, then tables at both. */
static int *list_given(const perp__step *s)
{
    const perp__layout *l = s->layout;
    int *given = malloc((2 + 2 * (size_t)l->table.n) * sizeof *given);
    if (!given) return NULL;
    given[0] = SYM_T;
    given[1] = SYM_T_PRE;
    for (int k = 0; k < l->table.n; k++) {
        given[2 + k] = l->sym.table + k;
        given[2 + l->table.n + k] = l->sym.table_pre + k;
    }
    return given;
}

perp__saltation *perp__saltation_create(perp__collocation *at, perp__step probe[2],
                                        const perp__followed *by, perp__sensitivity *run,
                                        perp__backward *back)
{
    perp__saltation *s = calloc(1, sizeof *s);
    int *given = list_given(probe);
    perp__followed short_by = *by;
    short_by.tells_bounds =
        0; /* short steps are of Radau's methods, which see them by themselves */
    short_by.given = given;
    short_by.ngiven = 2 + 2 * probe[0].layout->table.n;
    if (s && given) {
        *s = (perp__saltation){.nparam = by->nparam,
                               .np = by->is_one ? 1 : by->nparam + by->nstate,
                               .step = probe,
                               .run = run,
                               .back = back,
                               .is_untold = by->is_untold,
                               .is_new = by->is_one};
        s->nx = at->nx;
        s->nv = at->nv;
        for (int i = 0; i < at->neq; i++)
            s->has_held |= reads_states_alone(at, (at->scheme.npoint - 1) * at->nrow + i);
        s->slopes = perp__collocation_slopes_create(at, by->param, by->nparam);
        for (int k = 0; k < 2; k++) s->probe[k] = perp__sensitivity_create(&probe[k], &short_by);
    }
    free(given);
    if (s && s->slopes && s->probe[0] && s->probe[1] && take_memory(s)) {
        if (back) {
            back->slopes = s->slopes;
            back->probe = probe;
        }
        for (int k = 0; k < 2 && back; k++) back->of_probe[k] = s->probe[k];
        for (int k = 0; k < 2; k++) perp__sensitivity_revalue(s->probe[k]);
        return s;
    }
    perp__saltation_destroy(s);
    return NULL;
}

void perp__saltation_destroy(perp__saltation *s)
{
    if (!s) return;
    perp__collocation_slopes_destroy(s->slopes);
    for (int k = 0; k < 2; k++) perp__sensitivity_destroy(s->probe[k]);
    perp__arena_clear(&s->arena);
    free(s);
}

void perp__saltation_direct(perp__saltation *s, const double *seed, const double *now,
                            const double *before)
{
    s->seed = seed;
    s->now = now;
    s->before_now = before;
    for (int k = 0; k < 2; k++)
        if (s->nparam)
            memcpy(perp__sensitivity_seed(s->probe[k]), seed, (size_t)s->nparam * sizeof *seed);
}

void perp__saltation_leave(perp__saltation *s)
{
    if (s && s->back) perp__backward_note_left(s->back);
}

void perp__saltation_forget(perp__saltation *s)
{
    if (!s) return;
    memset(s->dt, 0, (size_t)s->np * sizeof(double));
    memset(s->opens, 0, (size_t)s->slopes->at->model->npair);
}

void perp__saltation_pass(perp__saltation *s, perp__pass *pass)
{
    perp__pass_doubles(pass, s->dx, (size_t)s->nx * (size_t)s->np);
    perp__pass_doubles(pass, s->dt, (size_t)s->np);
    perp__pass_doubles(pass, s->before, (size_t)s->nx * (size_t)s->np);
    perp__pass_doubles(pass, s->dt_before, (size_t)s->np);
    perp__pass_doubles(pass, s->most, (size_t)s->nx * (size_t)s->np);
    perp__pass_chars(pass, s->opens, (size_t)s->slopes->at->model->npair, 0, 1);
}

void perp__saltation_begin(perp__saltation *s, int is_moved, int is_start)
{
    const double *state = perp__sensitivity_states(s->run);
    s->is_start = is_start;
    if (s->back) s->back->mark = s->back->records.size;
    if (s->back) return;
    s->known = perp__sensitivity_known(s->run);
    s->ntouched = is_start ? -1 : 0;
    s->has_jumped = 0;
    if (is_moved) perp__saltation_forget(s);
    if (is_start) memset(s->most, 0, (size_t)s->nx * (size_t)s->np * sizeof *s->most);
    for (int i = 0; i < s->nx * s->np; i++)
        if (s->dt[i % s->np] == 0) s->dx[i] = state[i];
}

/* The derivative of the state `step` before the point of the run's row, with the same slope, at a
 * fixed time: row - step dx'. */
static double behind(const perp__saltation *s, int i, int j, int is_short, double step)
{
    const perp__collocation *a = s->slopes->at;
    const double *D = a->scheme.D[a->scheme.npoint - 1];
    int at = i * s->np + j, n = a->nx + a->nv;
    double sum = 0, terms;
    if (is_short) return s->row[at] - step * (s->dx[at] - s->before[at]) / s->step->ws[SYM_H];
    for (int c = 0; c < a->scheme.npoint; c++)
        sum += D[c + 1] *
               (s->dY[c * n * s->np + at] - s->dt[j] * s->by_length[c * n + i] - s->before[at]);
    double slope = perp__collocation_slope(a, a->scheme.npoint - 1, i, &terms);
    return s->row[at] - step * (sum - slope * (s->dh[j] - s->dt[j])) / s->length;
}

/* The row is that from before the event that ended it: it is so for changes by which that comes
 * later. */
static void note_row(perp__saltation *s)
{
    for (int j = 0; j < s->np; j++)
        if (s->dt[j] != 0)
            perp__sensitivity_doubt_row(s->run, j, s->dt[j] > 0 ? PERP__NOT_DOWN : PERP__NOT_UP);
}

/* Where an event ends the row, it is seen at a time that does not move. */
void perp__saltation_end(perp__saltation *s, int is_short, double step)
{
    if (s->back) {
        perp__backward_note_row(s->back, is_short);
        return;
    }
    const perp__collocation *a = s->slopes->at;
    int np = s->np, last = (a->scheme.npoint - 1) * (a->nx + a->nv);
    if (!s->known) {
        perp__sensitivity_lose(s->run);
        return;
    }
    for (int i = 0; i < s->nx * np; i++)
        s->row[i] = s->dx[i] - s->dt[i % np] * s->by_length[last + i / np];
    if (s->is_untold) { /* of its rows nobody reads */
        memcpy(perp__sensitivity_states(s->run), s->row, (size_t)(s->nx * np) * sizeof(double));
        return;
    }
    if (is_short) perp__sensitivity_vars(s->probe[0], s->var);
    for (int i = 0; i < s->nv * np && !is_short; i++)
        s->var[i] =
            s->dY[(last + s->nx) * np + i] - s->dt[i % np] * s->by_length[last + s->nx + i / np];
    for (int i = 0; i < s->nx * np; i++)
        s->row[s->nx * np + i] = behind(s, i / np, i % np, is_short, step);
    perp__sensitivity_put(s->run, s->row + s->nx * np, s->row, s->var);
    note_row(s);
}

/* The direction j of the step that was solved last, but for its time and length. */
static void put_direction(const perp__saltation *s, int j)
{
    const perp__collocation *a = s->slopes->at;
    for (int i = 0; i < s->nx; i++) s->move[a->before + i] = s->dx[i * s->np + j];
    for (int k = 0; k < s->nparam; k++) s->move[a->y + k] = s->seed ? s->seed[k] : k == j;
}

/* How what table k was set to moves it at a time of the step in hand. */
static double shift(const perp__saltation *s, int k, double t)
{
    const perp__driven *d = s->slopes->at->may.driven;
    double share = t == d->end ? 1 : (t - d->begin) / (d->end - d->begin);
    return s->now ? share * s->now[k] + (1 - share) * s->before_now[k] : 0;
}

/* The step that was solved last: its tables, besides what the times of its points do to them. */
static void shift_tables(perp__saltation *s)
{
    const perp__collocation *a = s->slopes->at;
    for (int i = 0; i < a->scheme.npoint * a->ntable && s->now; i++)
        s->move[a->at_table + i] += shift(s, i % a->ntable, a->ws[a->time + i / a->ntable]);
}

/* How row r moves with all that is in `move`, and the unknowns. */
static double row_moves(const perp__saltation *s, int r, const double *dY)
{
    return perp__collocation_slopes_row(s->slopes, r, s->move) +
           perp__collocation_row_by_unknowns(s->slopes->at, r, dY);
}

/* How the unknowns move with the length of the step, and the row that ended it; 0: it does not. */
static int move_length(perp__saltation *s, int row, double *rate)
{
    memset(s->move, 0, (size_t)perp__collocation_slopes_columns(s->slopes) * sizeof(double));
    perp__collocation_slopes_move(s->slopes, 0, 1, s->move);
    if (!perp__collocation_slopes_solve(s->slopes, s->move, s->by_length)) return 0;
    *rate = 1;
    if (row < 0) return 1;
    double size = 0;
    const perp__collocation *a = s->slopes->at;
    for (int k = a->start[row]; k < a->start[row + 1]; k++)
        size += fabs(a->value[k] * s->by_length[a->column[k]]);
    *rate = row_moves(s, row, s->by_length);
    return isfinite(*rate) && fabs(*rate) > STANDS * size &&
           (s->is_untold || fabs(*rate) * a->step > perp__collocation_noise_of(s->slopes->at, row));
}

/* If no time moves that is not needed; if all is asked for, it is known whether the step has a
 * matrix. */
static int times_stand(perp__saltation *s, int row)
{
    int stand = s->is_untold && row < 0;
    for (int j = 0; j < s->np; j++) stand &= s->dt[j] == 0;
    if (stand) memset(s->by_length, 0, (size_t)s->slopes->at->n * sizeof(double));
    return stand;
}

static int move_direction(perp__saltation *s, int j, int row, double rate)
{
    const perp__collocation *a = s->slopes->at;
    put_direction(s, j);
    perp__collocation_slopes_move(s->slopes, s->dt[j], 0, s->move);
    shift_tables(s);
    if (!perp__collocation_slopes_solve(s->slopes, s->move, s->x)) return 0;
    double dh = row < 0 ? -s->dt[j] : -row_moves(s, row, s->x) / rate;
    for (int i = 0; i < a->n; i++) s->dY[i * s->np + j] = s->x[i] + dh * s->by_length[i];
    s->dh[j] = dh;
    s->dt[j] = row < 0 ? 0 : s->dt[j] + dh;
    return 1;
}

/* The rows of pair p that must be >= 0 in the step that was solved last, in which `zero` of it is
 * 0; returns their number. */
static int other_rows(const perp__collocation *a, int p, int zero, int other[3])
{
    const perp__pair *pair = &a->model->pair[p];
    int last = a->scheme.npoint - 1, n = 0;
    if (zero == PERP__ROW_RATE) zero = a->gap[p] - 1;
    if (zero == PERP__ROW_A) {
        double guard = perp__collocation_side(a, last, p, PERP__ROW_GUARD);
        if (pair->two_sided ||
            guard < -PERP_TOL_STEP * perp__collocation_terms(a, last, p, PERP__ROW_GUARD))
            return 0;
        other[0] = PERP__ROW_B;
        return 1;
    }
    if (pair->two_sided)
        other[n++] = zero == PERP__ROW_B ? PERP__ROW_LO : PERP__ROW_B;
    else
        other[n++] = PERP__ROW_A;
    if (pair->two_sided && zero == PERP__ROW_B) other[n++] = PERP__ROW_HI;
    if (pair->guard >= 0) other[n++] = PERP__ROW_GUARD;
    return n;
}

/* The |terms| of row k of pair p at point c, each state with what it was made of in this step. */
static double terms_of(const perp__collocation *a, int c, int p, int k)
{
    int r = perp__collocation_row(a, c, p, k), first = c * (a->nx + a->nv);
    double sum = perp__collocation_terms(a, c, p, k), terms;
    for (int e = a->start[r]; e < a->start[r + 1]; e++) {
        int i = a->column[e] - first;
        if (i < 0 || i >= a->nx) continue;
        perp__collocation_slope(a, c, i, &terms);
        sum += fabs(a->value[e]) * perp__collocation_length(a) * terms;
    }
    return sum;
}

/* How row r of the step that was solved last moves with direction j, and the |terms| of that. */
static double moves_at(const perp__saltation *s, int r, int j, double *size)
{
    const perp__collocation *a = s->slopes->at;
    put_direction(s, j);
    perp__collocation_slopes_move(s->slopes, s->dt_before[j], s->dh[j], s->move);
    double moves = perp__collocation_slopes_row(s->slopes, r, s->move);
    *size = fabs(moves);
    for (int e = a->start[r]; e < a->start[r + 1]; e++) {
        double part = a->value[e] * s->dY[a->column[e] * s->np + j];
        moves += part;
        *size += fabs(part);
    }
    return moves;
}

/* Does a direction move states that a guard reads, or parameters in it? */
static int reads_what_moves(const perp__saltation *s, int r, int j)
{
    const perp__collocation *a = s->slopes->at;
    for (int e = a->start[r]; e < a->start[r + 1]; e++) {
        int i = a->state_of[a->column[e]];
        if (s->dY[a->column[e] * s->np + j] != 0) return 1;
        if (i < a->nx && s->before[i * s->np + j] != 0) return 1;
    }
    put_direction(s, j);
    for (int e = s->slopes->start[r]; e < s->slopes->start[r + 1]; e++)
        if (s->slopes->column[e] >= a->y && s->move[s->slopes->column[e]] != 0) return 1;
    return 0;
}

/* The least change of a guard. Constant states change by the error of short steps, relative to
 * their derivatives; by the rounding of large changes; and of their speed, with the time of the
 * step's end. */
static double least_move(const perp__saltation *s, int r, int j)
{
    const perp__collocation *a = s->slopes->at;
    const double *y = perp__collocation_point(a, 0);
    double sum = 0, far = 0, ends = fabs(s->dh[j]) / a->step;
    for (int i = 0; i < a->n; i++) far = fmax(far, fabs(s->dY[i * s->np + j]));
    for (int e = a->start[r]; e < a->start[r + 1]; e++) {
        int i = a->state_of[a->column[e]];
        if (i < a->nx)
            sum += fabs(a->value[e]) * fmax(KEPT * s->most[i * s->np + j],
                                            LITTLE * STANDS * (far + ends * fabs(y[a->column[e]])));
    }
    return sum;
}

/* The guard of a pair that it keeps closed is on its bound at the end of the step: which signs of
 * direction j take it off? */
static int against_guard(const perp__saltation *s, int p, int j)
{
    perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1, r = perp__collocation_row(a, last, p, PERP__ROW_GUARD);
    double size, moves = moves_at(s, r, j, &size);
    if (perp__collocation_is_flat(a, last, p, PERP__ROW_GUARD))
        return reads_what_moves(s, r, j) ? PERP__NOT_UP | PERP__NOT_DOWN : 0;
    return fabs(moves) <= least_move(s, r, j) ? 0 : perp__against(moves, size);
}

/* Is row k of pair p 0 all along the step, up to rounding? */
static int is_nothing(const perp__saltation *s, int p, int k)
{
    perp__collocation *a = s->slopes->at;
    for (int c = 0; c < a->scheme.npoint; c++) {
        double off = fabs(perp__collocation_side(a, c, p, k));
        if (off > s->step->tol * terms_of(a, c, p, k) && off > perp__collocation_noise(a, c, p, k))
            return 0;
    }
    return 1;
}

/* Both sides are 0 all along the step, or the guard is on its bound. Does a change in direction j
 * make this one negative at its end? At HI of a two-sided pair B is <= 0. */
static int against(const perp__saltation *s, int p, int zero, int k, int j)
{
    const perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1;
    double moves = 0, size = 0;
    if (k == PERP__ROW_GUARD) return is_nothing(s, p, k) ? against_guard(s, p, j) : 0;
    for (int c = 0; c <= last; c++)
        if (fabs(perp__collocation_side(a, c, p, k)) > s->step->tol * terms_of(a, c, p, k))
            return 0;
    moves = moves_at(s, perp__collocation_row(a, last, p, k), j, &size);
    return perp__against(zero == PERP__ROW_HI ? -moves : moves, size);
}

/* A side ended the step with the guard on its bound. A change that moves the guard up, beside the
 * side, leaves that as it is; one that moves it down has it off before. Where the guard stands
 * still, too, nothing is known. */
static void note_tie(perp__saltation *s, int p)
{
    perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1, r = perp__collocation_row(a, last, p, PERP__ROW_GUARD);
    double rate = fabs(perp__collocation_side(a, last, p, PERP__ROW_GUARD_RATE)),
           terms = perp__collocation_terms(a, last, p, PERP__ROW_GUARD_RATE);
    int stands = rate <= LITTLE * STANDS * terms ||
                 rate <= perp__collocation_noise(a, last, p, PERP__ROW_GUARD_RATE);
    for (int j = 0; j < s->np; j++) {
        double size, moves = moves_at(s, r, j, &size);
        int bits = perp__against(moves, size);
        if (bits && stands) bits = PERP__NOT_UP | PERP__NOT_DOWN;
        perp__sensitivity_doubt(s->run, j, bits, a->ws[a->time + last]);
    }
}

/* A gap that an event has just opened is 0 at first, relative to its terms. It is no kink while it
 * grows: it does for changes of either sign. */
static void find_opening(perp__saltation *s)
{
    const perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1;
    for (int p = 0; p < a->model->npair; p++) {
        int zero = a->active[a->neq + p] - perp__collocation_row(a, 0, p, 0);
        s->opens[p] &= zero == PERP__ROW_A && a->gap[p] == PERP__ROW_B + 1;
        for (int c = 0; c <= last && s->opens[p]; c++)
            s->opens[p] = perp__collocation_side(a, c, p, PERP__ROW_RATE) > 0;
    }
}

/* The force that ended the step. */
static void note_opened(perp__saltation *s, int row)
{
    const perp__collocation *a = s->slopes->at;
    int k = row - (a->scheme.npoint - 1) * a->nrow - a->neq;
    if (k >= 0 && k % PERP__PAIR_ROWS == PERP__ROW_A) s->opens[k / PERP__PAIR_ROWS] = 1;
}

static void note_kinks(perp__saltation *s)
{
    const perp__collocation *a = s->slopes->at;
    int npair = a->model->npair, first = (a->scheme.npoint - 1) * (a->neq + npair) + a->neq;
    double t = a->ws[a->time + a->scheme.npoint - 1];
    for (int p = 0; p < npair; p++) {
        int base = perp__collocation_row(a, a->scheme.npoint - 1, p, 0), other[3];
        int zero = a->active[first + p] - base, n = other_rows(a, p, zero, other);
        if (s->opens[p]) continue;
        for (int i = 0; i < n * s->np; i++)
            perp__sensitivity_doubt(s->run, i % s->np,
                                    against(s, p, zero, other[i / s->np], i % s->np), t);
    }
}

/* How row r moves with time at the end of the step that was solved last. */
static double rate_of(perp__saltation *s, int r)
{
    memset(s->move, 0, (size_t)perp__collocation_slopes_columns(s->slopes) * sizeof(double));
    perp__collocation_slopes_move(s->slopes, 0, 1, s->move);
    return row_moves(s, r, s->by_length);
}

/* What is taken as no time at all. */
static double no_time(const perp__collocation *a)
{
    double t = a->ws[a->time + a->scheme.npoint - 1];
    return fmax(PERP_TOL_SAME * a->step, 4 * DBL_EPSILON * fabs(t));
}

/* Does row k of pair p come to 0 at the end of the step, from this side? */
static void note_coming(perp__saltation *s, int p, int k, int side)
{
    const perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1, r = perp__collocation_row(a, last, p, k);
    double rate = rate_of(s, r), size;
    if (!(side * rate < 0) ||
        fabs(perp__collocation_side(a, last, p, k)) > no_time(a) * fabs(rate) ||
        is_nothing(s, p, k))
        return;
    for (int j = 0; j < s->np; j++) {
        double moves = moves_at(s, r, j, &size);
        perp__sensitivity_doubt_row(s->run, j, perp__against(side * moves, size));
    }
}

/* The row of pair p that is 0 at the end of the step. */
static int zero_row(const perp__collocation *a, int p)
{
    int last = a->scheme.npoint - 1;
    return a->active[last * (a->neq + a->model->npair) + a->neq + p] -
           perp__collocation_row(a, last, p, 0);
}

/* The step ended at a given time: is an event there, which the next step will find? The row is that
 * from before it. */
static void note_coming_events(perp__saltation *s)
{
    const perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1;
    for (int p = 0; p < a->model->npair; p++) {
        const perp__pair *pair = &a->model->pair[p];
        int zero = zero_row(a, p);
        double guard = perp__collocation_side(a, last, p, PERP__ROW_GUARD);
        int is_given = pair->guard >= 0, has_b = !pair->two_sided;
        if (zero == PERP__ROW_RATE) zero = a->gap[p] - 1;
        if (zero == PERP__ROW_A) {
            if (is_given && !(has_b && perp__collocation_side(a, last, p, PERP__ROW_B) > 0))
                note_coming(s, p, PERP__ROW_GUARD, -1);
            if (has_b && !(is_given && guard < 0)) note_coming(s, p, PERP__ROW_B, 1);
            continue;
        }
        if (is_given) note_coming(s, p, PERP__ROW_GUARD, 1);
        if (!pair->two_sided) note_coming(s, p, PERP__ROW_A, 1);
        if (pair->two_sided && zero == PERP__ROW_B) {
            note_coming(s, p, PERP__ROW_LO, 1);
            note_coming(s, p, PERP__ROW_HI, 1);
        } else if (pair->two_sided) {
            note_coming(s, p, PERP__ROW_B, zero == PERP__ROW_LO ? 1 : -1);
        }
    }
}

/* An event ended the step, and contact p closes there, too. A change that moves it relative to the
 * event puts one before the other; the motion after both may then be another one. */
static void note_coinciding(perp__saltation *s, int p)
{
    const perp__collocation *a = s->slopes->at;
    const perp__pair *pair = &a->model->pair[p];
    int last = a->scheme.npoint - 1, is_given = pair->guard >= 0,
        k = is_given ? PERP__ROW_GUARD : PERP__ROW_B, r = perp__collocation_row(a, last, p, k);
    double rate = rate_of(s, r), b = perp__collocation_side(a, last, p, PERP__ROW_B), size;
    int is_coming = (is_given ? rate > 0 : rate < 0) &&
                    fabs(perp__collocation_side(a, last, p, k)) <= no_time(a) * fabs(rate);
    if (zero_row(a, p) != PERP__ROW_A || pair->two_sided ||
        (is_given && b > s->step->tol * terms_of(a, last, p, PERP__ROW_B)) || !is_coming)
        return;
    for (int j = 0; j < s->np; j++) {
        double moves = moves_at(s, r, j, &size);
        if (fabs(moves) > least_move(s, r, j) && perp__against(moves, size))
            perp__sensitivity_doubt(s->run, j, PERP__NOT_UP | PERP__NOT_DOWN,
                                    a->ws[a->time + last]);
    }
}

static void note_coinciding_events(perp__saltation *s, int row)
{
    const perp__collocation *a = s->slopes->at;
    int k = row - (a->scheme.npoint - 1) * a->nrow - a->neq;
    for (int p = 0; p < a->model->npair; p++)
        if (p != k / PERP__PAIR_ROWS) note_coinciding(s, p);
}

/* The value at the start of the step, by the polynomial through its points; 0 if it is small
 * relative to its value there, or to its terms. */
static double at_start(const perp__saltation *s, const double *value, double terms)
{
    const perp__scheme *scheme = &s->slopes->at->scheme;
    double most = 0, x = perp__scheme_between(scheme, value, 0);
    for (int c = 0; c < scheme->npoint; c++) most = fmax(most, fabs(value[c]));
    return fabs(x) > SHARE * most && fabs(x) > LITTLE * terms ? x : 0;
}

/* A guard that was on its bound all along the step ended it: it opens with no speed, and the time
 * of that moves infinitely fast. */
static void note_opening(perp__saltation *s, int row)
{
    const perp__collocation *a = s->slopes->at;
    int last = a->scheme.npoint - 1, k = row - last * a->nrow - a->neq, p = k / PERP__PAIR_ROWS;
    if (k < 0 || k % PERP__PAIR_ROWS != PERP__ROW_GUARD || !is_nothing(s, p, PERP__ROW_GUARD))
        return;
    double value[PERP__MOST_POINTS];
    for (int c = 0; c <= last; c++)
        value[c] = perp__collocation_side(a, c, p, PERP__ROW_GUARD_RATE);
    if (fabs(value[0]) <= STANDS * fabs(value[last])) return; /* of min or max: another one began */
    for (int j = 0; j < s->np; j++) {
        int is_moved = 0;
        for (int i = 0; i < a->n; i++) is_moved |= s->dY[i * s->np + j] != 0;
        if (is_moved)
            perp__sensitivity_doubt(s->run, j, PERP__NOT_UP | PERP__NOT_DOWN,
                                    a->ws[a->time + last]);
    }
}

/* The derivative of row k of pair p in direction j at the start of the step that was solved last.
 * of_states: by the states that were there, not by those of the points, which keep a gap as far as
 * a step does. */
static double moves_at_start(const perp__saltation *s, int p, int k, int j, int of_states)
{
    const perp__collocation *a = s->slopes->at;
    double value[PERP__MOST_POINTS], terms = 0;
    for (int c = 0; c < a->scheme.npoint; c++) {
        int r = perp__collocation_row(a, c, p, k);
        double size, moves = moves_at(s, r, j, &size);
        for (int e = a->start[r]; e < a->start[r + 1] && of_states; e++) {
            int i = a->state_of[a->column[e]];
            if (i == a->nx) continue;
            double was = s->before[i * s->np + j], is = s->dY[a->column[e] * s->np + j];
            moves += a->value[e] * (was - is);
            size += fabs(a->value[e] * was);
        }
        value[c] = moves;
        terms = fmax(terms, size);
    }
    for (int i = 0; i < a->n; i++)
        terms = fmax(terms, STANDS * fabs(s->dY[i * s->np + j])); /* rounding of what moves far */
    return at_start(s, value, terms);
}

/* The motion began with the guard of pair p on its bound. A change of the guard keeps it on the
 * side of the motion, or puts it on the other one. If it began with speed 0, a change of that speed
 * does, too, and its side is not determined. */
static void note_touched(perp__saltation *s, int p)
{
    perp__collocation *a = s->slopes->at;
    double value[PERP__MOST_POINTS];
    int last = a->scheme.npoint - 1, is_flat = s->touched[p] & FLAT, moves = 0;
    for (int c = 0; c <= last; c++) {
        double terms = perp__collocation_terms(a, c, p, PERP__ROW_GUARD_RATE),
               noise = perp__collocation_noise(a, c, p, PERP__ROW_GUARD_RATE);
        value[c] = perp__collocation_side(a, c, p, PERP__ROW_GUARD_RATE);
        moves |= fabs(value[c]) > fmax(STANDS * terms, noise);
    }
    double rate = moves ? at_start(s, value, 0) : 0, t = a->ws[a->time];
    int zero = a->active[a->neq + p] - perp__collocation_row(a, 0, p, 0);
    int is_on = zero != PERP__ROW_A || rate > 0;
    for (int j = 0; j < s->np; j++) {
        double by = moves_at_start(s, p, PERP__ROW_GUARD, j, 1);
        int bits = (by > 0) == is_on ? PERP__NOT_DOWN : PERP__NOT_UP;
        if (rate == 0 || s->has_jumped) bits = PERP__NOT_UP | PERP__NOT_DOWN;
        if (by == 0) bits = 0;
        if (rate == 0 && moves_at_start(s, p, PERP__ROW_GUARD_RATE, j, 0) != 0)
            bits = PERP__NOT_UP | PERP__NOT_DOWN;
        if (is_flat && reads_what_moves(s, perp__collocation_row(a, last, p, PERP__ROW_GUARD), j))
            bits = PERP__NOT_UP | PERP__NOT_DOWN;
        perp__sensitivity_doubt(s->run, j, bits, t);
    }
}

/* The sides were found with the second one of pair p at 0. If it is not held, but must be >= 0 (at
 * HI: <= 0), a change to the other sign closes the pair. If it is held, as it is and not by its
 * rate, a change causes a jump that the run does not have. */
static void note_other_side(perp__saltation *s, int p)
{
    const perp__collocation *a = s->slopes->at;
    int zero = a->active[a->neq + p] - perp__collocation_row(a, 0, p, 0);
    int r = perp__collocation_row(a, a->scheme.npoint - 1, p, PERP__ROW_B);
    if (zero == PERP__ROW_RATE || (zero == PERP__ROW_A && a->model->pair[p].two_sided)) return;
    for (int j = 0; j < s->np; j++) {
        double by = moves_at_start(s, p, PERP__ROW_B, j, 1);
        if (fabs(by) <= least_move(s, r, j)) continue;
        if (zero == PERP__ROW_HI) by = -by;
        int bits = (by < 0 ? PERP__NOT_UP : 0) | (by > 0 ? PERP__NOT_DOWN : 0);
        if (bits && zero == PERP__ROW_B) bits = PERP__NOT_UP | PERP__NOT_DOWN;
        perp__sensitivity_doubt(s->run, j, bits, a->ws[a->time]);
    }
}

/* The second sides that are 0 at the present choice of sides (the two short steps give their vars);
 * and the guards that are on their bounds at the start. */
static void find_touched(perp__saltation *s)
{
    perp__collocation *a = s->slopes->at;
    const perp__step *step = &s->step[1];
    int is_first = s->is_start && s->ntouched < 0;
    for (int v = 0; v < s->nv; v++)
        s->x[v] = step->ws[step->layout->sym.y + step->layout->sym.var_at[v]];
    perp__collocation_stand(a, step->ws[SYM_T_PRE], step->ws + step->layout->sym.pre, s->x);
    if (is_first) s->ntouched = 0;
    for (int p = 0; p < a->model->npair; p++) {
        double guard = perp__collocation_side(a, 0, p, PERP__ROW_GUARD),
               side = fabs(perp__collocation_side(a, 0, p, PERP__ROW_B)),
               nothing = step->tol * perp__collocation_terms(a, 0, p, PERP__ROW_GUARD);
        int is_on_bound = a->model->pair[p].guard >= 0 && fabs(guard) <= nothing;
        int bits = is_first ? 0 : s->touched[p] & (GUARD_TOUCHED | FLAT);
        if (is_first && is_on_bound) {
            bits |= GUARD_TOUCHED;
            s->ntouched++;
        }
        if (is_first && is_on_bound && perp__collocation_is_flat(a, 0, p, PERP__ROW_GUARD))
            bits |= FLAT;
        if (guard >= -nothing && side <= step->tol * perp__collocation_terms(a, 0, p, PERP__ROW_B))
            bits |= SIDE_TOUCHED;
        s->touched[p] = (char)bits;
    }
    s->is_fresh = 1;
}

/* What the first step with these sides tells of changes where it began. */
static void note_start(perp__saltation *s, int is_start)
{
    const perp__collocation *a = s->slopes->at;
    for (int p = 0; p < a->model->npair; p++) {
        if (is_start && s->touched[p] & GUARD_TOUCHED) note_touched(s, p);
        if (s->touched[p] & SIDE_TOUCHED) note_other_side(s, p);
    }
}

void perp__saltation_step(perp__saltation *s, int row, int tied)
{
    const perp__collocation *a = s->slopes->at;
    double rate = 1;
    size_t np = (size_t)s->np, states = (size_t)s->nx * np;
    int last = (a->scheme.npoint - 1) * (a->nx + a->nv);
    if (s->back) perp__backward_note_in_mode(s->back, PERP__NOTED_IN_MODE, row);
    int is_start = s->is_start && s->ntouched >= 0, is_fresh = s->is_fresh;
    s->is_new = s->is_start = s->is_fresh = 0;
    if (!s->known || s->back) return;
    perp__sensitivity_next_row(s->run);
    s->length = perp__collocation_length(a);
    int is_taken = perp__collocation_slopes_take(s->slopes, s->is_untold ? ROUGH : 0);
    s->known = is_taken && (times_stand(s, row) || move_length(s, row, &rate));
    if (is_taken && !s->known && s->is_untold && row >= 0) /* of what stands no time is followed */
        s->known = move_length(s, row = -1, &rate);
    if (states) memcpy(s->before, s->dx, states * sizeof(double));
    memcpy(s->dt_before, s->dt, np * sizeof(double));
    for (int j = 0; j < s->np && s->known; j++) s->known = move_direction(s, j, row, rate);
    if (s->known && !s->is_untold) {
        find_opening(s);
        note_kinks(s);
        if (row >= 0) note_opened(s, row);
        if (tied >= 0) note_tie(s, tied);
        if (row >= 0) note_opening(s, row);
        if (row < 0) note_coming_events(s);
        if (row >= 0) note_coinciding_events(s, row);
        if (is_fresh) note_start(s, is_start);
    }
    if (s->known && states) memcpy(s->dx, s->dY + (size_t)last * np, states * sizeof(double));
    for (size_t i = 0; i < states && s->known; i++) s->most[i] = fmax(s->most[i], fabs(s->dx[i]));
}

void perp__saltation_again(perp__saltation *s, int is_solved, int row)
{
    if (s->back && is_solved) perp__backward_note_in_mode(s->back, PERP__NOTED_AGAIN, row);
    if (s->is_new || s->back) return; /* the start of a stretch does not move */
    s->known = s->known && is_solved;
    memcpy(s->dx, s->before, (size_t)s->nx * (size_t)s->np * sizeof(double));
    memcpy(s->dt, s->dt_before, (size_t)s->np * sizeof(double));
    perp__saltation_step(s, row, -1);
}

int perp__saltation_carry(perp__saltation *s, const double *by, double *to)
{
    const perp__collocation *a = s->slopes->at;
    int last = (a->scheme.npoint - 1) * (a->nx + a->nv);
    memset(s->move, 0, (size_t)perp__collocation_slopes_columns(s->slopes) * sizeof(double));
    for (int i = 0; i < s->nx; i++) s->move[a->before + i] = by[i];
    if (!s->known || !perp__collocation_slopes_solve(s->slopes, s->move, s->x)) return 0;
    for (int i = 0; i < s->nx; i++) to[i] = s->x[last + i];
    return 1;
}

/* Short step k moves as what is before it does. */
static int advance_short(perp__saltation *s, int k)
{
    perp__step *step = &s->step[k];
    size_t np = (size_t)s->np, states = (size_t)s->nx * np;
    double *given = perp__sensitivity_given(s->probe[k]);
    for (int i = 0; i < 2 + 2 * step->layout->table.n; i++) {
        double rate = 1, moved = 0;
        if (i >= 2) {
            int table = (i - 2) % step->layout->table.n;
            moved = shift(s, table, step->ws[i - 2 < step->layout->table.n ? SYM_T : SYM_T_PRE]);
            rate = perp__driven_slope(s->slopes->at->may.driven, step->model,
                                      step->layout->table.input[table], step->ws[SYM_T],
                                      &step->cache.hint[table]);
        }
        for (int j = 0; j < s->np; j++) given[i * s->np + j] = rate * s->dt[j] + moved;
    }
    if (states) memcpy(perp__sensitivity_states(s->probe[k]), s->dx, states * sizeof(double));
    memcpy(s->choice, step->state.choice, (size_t)step->layout->np);
    perp__sensitivity_revalue(s->probe[k]);
    perp__sensitivity_trust(s->probe[k]);
    perp__sensitivity_advance(s->probe[k]);
    memcpy(step->state.choice, s->choice,
           (size_t)step->layout->np); /* the run goes on as if nothing had been asked */
    return perp__sensitivity_known(s->probe[k]);
}

/* Does a state jump with direction j, by as much in half a short step (b) as in a whole one (a)?
 * Relative to its own motion, or to this part of the largest, and to the error of short steps in
 * the largest value so far: a mass that sticks, and did not all along, has nothing else. */
static int jumps(const perp__saltation *s, const double *a, const double *b, int j, double part)
{
    double least = 0;
    for (int i = j; i < s->nx * s->np; i += s->np)
        least = fmax(least, fmax(part * fabs(s->dx[i]), KEPT * s->most[i]));
    for (int i = j; i < s->nx * s->np; i += s->np) {
        double whole = fabs(a[i] - s->dx[i]), half = fabs(b[i] - s->dx[i]);
        if (half > fmax(1e-9 * fabs(s->dx[i]), least) && half > 0.75 * whole) return 1;
    }
    return 0;
}

static void note_settled(perp__saltation *s)
{
    const perp__collocation *a = s->slopes->at;
    for (int p = 0; p < a->model->npair; p++)
        if (a->gap[p]) return; /* velocities jump with the rounding of how gaps move */
    for (int j = 0; j < s->np; j++)
        if (s->jumped[j])
            perp__sensitivity_doubt(s->run, j, PERP__NOT_UP | PERP__NOT_DOWN,
                                    s->step->ws[SYM_T_PRE]);
}

/* Two short steps, from what is before them. */
static void pass_jump(perp__saltation *s)
{
    if (s->back) {
        perp__backward_note_short(s->back, PERP__NOTED_JUMP, 0);
        return;
    }
    for (int k = 0; k < 2 && s->known; k++) s->known = advance_short(s, k);
}

static void take_jump(perp__saltation *s)
{
    const double *a = perp__sensitivity_states(s->probe[0]),
                 *b = perp__sensitivity_states(s->probe[1]);
    for (int i = 0; i < s->nx * s->np; i++) s->dx[i] = 2 * b[i] - a[i];
}

void perp__saltation_settle(perp__saltation *s, int has_jumped)
{
    if (has_jumped) s->has_jumped |= s->is_start;
    if (has_jumped) return;
    if (s->known && !s->back && !s->is_untold) note_settled(s);
    if (!s->is_start || !s->has_held) return;
    pass_jump(s); /* places that were moved to where they must be have left speeds behind */
    if (s->known && !s->back) take_jump(s);
}

void perp__saltation_jump(perp__saltation *s)
{
    if (s->known && !s->back && !s->is_untold) find_touched(s);
    if (!s->back) perp__sensitivity_forget_doubts(s->probe[1]);
    pass_jump(s);
    if (!s->known || s->back) return;
    const double *a = perp__sensitivity_states(s->probe[0]),
                 *b = perp__sensitivity_states(s->probe[1]);
    for (int j = 0; j < s->np && s->is_start && !s->is_untold; j++) {
        if (jumps(s, a, b, j, 0))
            perp__sensitivity_doubt(s->run, j, perp__sensitivity_doubts(s->probe[1], j),
                                    s->step->ws[SYM_T_PRE]);
        if (s->ntouched > 0 && jumps(s, a, b, j, LITTLE))
            perp__sensitivity_doubt(s->run, j, PERP__NOT_UP | PERP__NOT_DOWN,
                                    s->step->ws[SYM_T_PRE]);
    }
    for (int j = 0; j < s->np && !s->is_untold; j++) s->jumped[j] = (char)jumps(s, a, b, j, LITTLE);
    take_jump(s);
}

void perp__saltation_short(perp__saltation *s, int is_given)
{
    if (s->back) {
        perp__backward_note_short(s->back, PERP__NOTED_SHORT, is_given);
        return;
    }
    const perp__step *step = s->step;
    const double *x = step->ws + step->layout->sym.y, *pre = step->ws + step->layout->sym.pre;
    double h = step->ws[SYM_H];
    size_t states = (size_t)s->nx * (size_t)s->np * sizeof(double);
    for (int j = 0; j < s->np && s->is_start && s->ntouched > 0; j++)
        perp__sensitivity_doubt(s->run, j, PERP__NOT_UP | PERP__NOT_DOWN, step->ws[SYM_T_PRE]);
    if (states) memcpy(s->before, s->dx, states);
    perp__sensitivity_next_row(s->run);
    s->known = s->known && advance_short(s, 0);
    if (!s->known) return;
    if (states) memcpy(s->dx, perp__sensitivity_states(s->probe[0]), states);
    for (int j = 0; j < s->np && is_given; j++) {
        for (int i = 0; i < s->nx; i++) s->dx[i * s->np + j] -= s->dt[j] * (x[i] - pre[i]) / h;
        s->dt[j] = 0;
    }
}
