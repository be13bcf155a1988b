/* Derivatives through events. With each direction go those of the states, dx, and of the present time, dt: an event that comes later by dt is one of
 * states x(t + dt), so that dx is the whole derivative along it. Between events the points of a step are a root of smooth rows R(Y; x0, t0, h, p), and
 * at its end a check g(Y; ..) = 0 determines dh:
 *
 *     dY = -R_Y^-1 (R_x dx0 + R_t dt0 + R_h dh + R_p dp),      g_Y dY + g_x dx0 + g_t dt0 + g_h dh + g_p dp = 0
 *
 * Behind an event dx is what the reset makes of it (two short steps, 2 x(h/2) - x(h)), dt stays, and the next step ends at a given time: dh = -dt.
 * Together these are the saltation matrix D + (f+ - D f- - D_t) g' / (g_t + g_x f-), with all that guard and reset depend on
 * (Leine and Nijmeijer 2004, ch. 7). */

#include "simulate/run.h"
#include "simulate/saltation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp__saltation {
    perp__collocation_slopes *slopes;
    perp__step *step;
    perp__sensitivity *probe[2];
    int nparam, np, nx, nv, known; /* np: directions, of which nparam by parameters */
    double *dx, *dt;               /* nx by np; np */
    double *before, *dt_before;    /* the same before the last step in a mode */
    double *dY, *dh;               /* n by np; np: its unknowns and length */
    double *by_length, length;     /* n; of the step in a mode that was taken last */
    double *move, *x, *var, *row;  /* a direction; scratch; nv by np; twice nx by np */
    char *choice;
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
    PERP_TAKE(a, s->dh, np + 1);
    PERP_TAKE(a, s->by_length, n + 1);
    PERP_TAKE(a, s->move, perp__collocation_slopes_columns(s->slopes) + 1);
    PERP_TAKE(a, s->x, n + 1);
    PERP_TAKE(a, s->var, (size_t)s->nv * np + 1);
    PERP_TAKE(a, s->row, 2 * nx * np + 1);
    PERP_TAKE(a, s->choice, s->step->np + 1);
    return !a->failed;
}

/* Symbols of a short step that move with time: its ends, then tables at both. */
static int *list_given(const perp__step *s)
{
    int *given = malloc((2 + 2 * (size_t)s->table.n) * sizeof *given);
    if (!given) return NULL;
    given[0] = SYM_T, given[1] = SYM_T_PRE;
    for (int k = 0; k < s->table.n; k++) {
        given[2 + k] = s->sym.table + k;
        given[2 + s->table.n + k] = s->sym.table_pre + k;
    }
    return given;
}

perp__saltation *perp__saltation_create(perp__collocation *at, perp__step probe[2],
                                        const perp__followed *by)
{
    perp__saltation *s = calloc(1, sizeof *s);
    int *given = list_given(probe);
    perp__followed short_by = *by;
    short_by.given = given, short_by.ngiven = 2 + 2 * probe[0].table.n;
    if (s && given) {
        *s = (perp__saltation){.nparam = by->nparam, .np = by->nparam + by->nstate, .step = probe};
        s->nx = at->nx, s->nv = at->nv;
        s->slopes = perp__collocation_slopes_create(at, by->param, by->nparam);
        for (int k = 0; k < 2; k++) s->probe[k] = perp__sensitivity_create(&probe[k], &short_by);
    }
    free(given);
    if (s && s->slopes && s->probe[0] && s->probe[1] && take_memory(s)) return s;
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

void perp__saltation_forget(perp__saltation *s)
{
    if (s) memset(s->dt, 0, (size_t)s->np * sizeof(double));
}

void perp__saltation_pass(perp__saltation *s, perp__pass *pass)
{
    perp__pass_doubles(pass, s->dx, (size_t)s->nx * (size_t)s->np);
    perp__pass_doubles(pass, s->dt, (size_t)s->np);
    perp__pass_doubles(pass, s->before, (size_t)s->nx * (size_t)s->np);
    perp__pass_doubles(pass, s->dt_before, (size_t)s->np);
}

void perp__saltation_begin(perp__saltation *s, perp__sensitivity *run, int is_moved)
{
    const double *state = perp__sensitivity_states(run);
    s->known = perp__sensitivity_known(run);
    if (is_moved) perp__saltation_forget(s);
    for (int i = 0; i < s->nx * s->np; i++)
        if (s->dt[i % s->np] == 0) s->dx[i] = state[i];
}

/* How the state moves that was `step` before the point of the run's row, with the same slope: dx - step dx'. */
static double behind(const perp__saltation *s, int i, int j, int is_short, double step)
{
    const perp__collocation *a = s->slopes->at;
    const double *D = a->scheme.D[a->scheme.npoint - 1];
    int at = i * s->np + j, size = (a->nx + a->nv) * s->np;
    double sum = 0, terms;
    if (is_short) return s->dx[at] - step * (s->dx[at] - s->before[at]) / s->step->ws[SYM_H];
    for (int c = 0; c < a->scheme.npoint; c++)
        sum += D[c + 1] * (s->dY[c * size + at] - s->before[at]);
    double slope = perp__collocation_slope(a, a->scheme.npoint - 1, i, &terms);
    return s->dx[at] - step * (sum - slope * s->dh[j]) / s->length;
}

/* Where an event ends the row, it is seen at a time that does not move. */
void perp__saltation_end(perp__saltation *s, perp__sensitivity *run, int is_short, double step)
{
    const perp__collocation *a = s->slopes->at;
    int np = s->np, last = (a->scheme.npoint - 1) * (a->nx + a->nv);
    if (!s->known) {
        perp__sensitivity_lose(run);
        return;
    }
    for (int i = 0; i < s->nx * np; i++)
        s->row[s->nx * np + i] = behind(s, i / np, i % np, is_short, step);
    if (is_short) perp__sensitivity_vars(s->probe[0], s->var);
    for (int i = 0; i < s->nv * np && !is_short; i++)
        s->var[i] =
            s->dY[(last + s->nx) * np + i] - s->dt[i % np] * s->by_length[last + s->nx + i / np];
    for (int i = 0; i < s->nx * np; i++)
        s->row[i] = s->dx[i] - s->dt[i % np] * s->by_length[last + i / np];
    perp__sensitivity_put(run, s->row + s->nx * np, s->row, s->var);
}

/* The direction j of the step that was solved last, but for its time and length. */
static void put_direction(perp__saltation *s, int j)
{
    const perp__collocation *a = s->slopes->at;
    for (int i = 0; i < s->nx; i++) s->move[a->before + i] = s->dx[i * s->np + j];
    for (int k = 0; k < s->nparam; k++) s->move[a->y + k] = k == j;
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
    *rate = row < 0 ? 1 : row_moves(s, row, s->by_length);
    return isfinite(*rate) && *rate != 0;
}

static int move_direction(perp__saltation *s, int j, int row, double rate)
{
    const perp__collocation *a = s->slopes->at;
    put_direction(s, j);
    perp__collocation_slopes_move(s->slopes, s->dt[j], 0, s->move);
    if (!perp__collocation_slopes_solve(s->slopes, s->move, s->x)) return 0;
    double dh = row < 0 ? -s->dt[j] : -row_moves(s, row, s->x) / rate;
    for (int i = 0; i < a->n; i++) s->dY[i * s->np + j] = s->x[i] + dh * s->by_length[i];
    s->dh[j] = dh;
    s->dt[j] = row < 0 ? 0 : s->dt[j] + dh;
    return 1;
}

void perp__saltation_step(perp__saltation *s, int row)
{
    const perp__collocation *a = s->slopes->at;
    double rate = 1;
    size_t np = (size_t)s->np, states = (size_t)s->nx * np;
    int last = (a->scheme.npoint - 1) * (a->nx + a->nv);
    if (!s->known) return;
    s->length = perp__collocation_length(a);
    s->known = perp__collocation_slopes_take(s->slopes) && move_length(s, row, &rate);
    if (states) memcpy(s->before, s->dx, states * sizeof(double));
    memcpy(s->dt_before, s->dt, np * sizeof(double));
    for (int j = 0; j < s->np && s->known; j++) s->known = move_direction(s, j, row, rate);
    if (s->known && states) memcpy(s->dx, s->dY + (size_t)last * np, states * sizeof(double));
}

void perp__saltation_again(perp__saltation *s, int is_solved, int row)
{
    s->known = s->known && is_solved;
    memcpy(s->dx, s->before, (size_t)s->nx * (size_t)s->np * sizeof(double));
    memcpy(s->dt, s->dt_before, (size_t)s->np * sizeof(double));
    perp__saltation_step(s, row);
}

/* Short step k moves as what is before it does. */
static int advance_short(perp__saltation *s, int k)
{
    perp__step *step = &s->step[k];
    size_t np = (size_t)s->np, states = (size_t)s->nx * np;
    double *given = perp__sensitivity_given(s->probe[k]);
    for (int i = 0; i < 2 + 2 * step->table.n; i++) {
        double rate = 1;
        if (i >= 2) {
            int table = (i - 2) % step->table.n;
            rate =
                perp__driven_slope(s->slopes->at->may.driven, step->model, step->table.input[table],
                                   step->ws[SYM_T], &step->table.hint[table]);
        }
        for (int j = 0; j < s->np; j++) given[i * s->np + j] = rate * s->dt[j];
    }
    if (states) memcpy(perp__sensitivity_states(s->probe[k]), s->dx, states * sizeof(double));
    memcpy(s->choice, step->choice, (size_t)step->np);
    perp__sensitivity_revalue(s->probe[k]);
    perp__sensitivity_trust(s->probe[k]);
    perp__sensitivity_advance(s->probe[k]);
    memcpy(step->choice, s->choice,
           (size_t)step->np); /* the run goes on as if nothing had been asked */
    return perp__sensitivity_known(s->probe[k]);
}

void perp__saltation_jump(perp__saltation *s)
{
    for (int k = 0; k < 2 && s->known; k++) s->known = advance_short(s, k);
    if (!s->known) return;
    const double *a = perp__sensitivity_states(s->probe[0]),
                 *b = perp__sensitivity_states(s->probe[1]);
    for (int i = 0; i < s->nx * s->np; i++) s->dx[i] = 2 * b[i] - a[i];
}

void perp__saltation_short(perp__saltation *s, int is_given)
{
    const perp__step *step = s->step;
    const double *x = step->ws + step->sym.y, *pre = step->ws + step->sym.pre;
    double h = step->ws[SYM_H];
    size_t states = (size_t)s->nx * (size_t)s->np * sizeof(double);
    if (states) memcpy(s->before, s->dx, states);
    s->known = s->known && advance_short(s, 0);
    if (!s->known) return;
    if (states) memcpy(s->dx, perp__sensitivity_states(s->probe[0]), states);
    for (int j = 0; j < s->np && is_given; j++) {
        for (int i = 0; i < s->nx; i++) s->dx[i * s->np + j] -= s->dt[j] * (x[i] - pre[i]) / h;
        s->dt[j] = 0;
    }
}
