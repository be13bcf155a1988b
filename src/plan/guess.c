/* Where a plan starts from: the guesses of the plan block, straight lines between the values that
 * are given, middles of ranges. */

#include "model/plan_block.h"
#include "plan/program.h"

#include <math.h>
#include <stdlib.h>

typedef struct guesser {
    const perp__program *program;
    const perp_model *model;
    double *symbol; /* of the model: parameters and time */
    perp_status status;
    perp_diag *diag;
} guesser;

/* What guesses a value: an expression, -1 if there is none, of something with a name, at a place of
 * the model's text. */
typedef struct source {
    perp_expr e;
    const char *name;
    int at;
} source;

/* The guess within a phase, else that of the plan. */
static const perp__plan_guess *find_guess(const guesser *u, perp_symbol_kind kind, int item,
                                          int phase)
{
    const perp__plan_block *b = u->model->plan;
    const perp__plan_guess *found = NULL;
    for (int k = 0; k < b->nguess; k++) {
        const perp__plan_guess *guess = &b->guess[k];
        if (guess->kind != kind || guess->item != item) continue;
        if (guess->phase == phase) return guess;
        if (guess->phase < 0 && !found) found = guess;
    }
    return found;
}

/* What a number is that is not finite. */
static const char *word_of(double x)
{
    if (isnan(x)) return "not a number";
    if (x > 0) return "infinite";
    return "minus infinity";
}

/* A guess is a finite number wherever it is asked for. The first that is none is named. */
static double value_at(guesser *u, source from, double t)
{
    double x = NAN;
    u->symbol[PERP__SYM_T] = t;
    if (!perp__graph_value(&u->model->graph, from.e, u->symbol, &x))
        u->status = PERP_ERR_MEMORY;
    else if (!isfinite(x) && u->status == PERP_OK)
        u->status = perp__refuse(
            u->diag, PERP_ERR_MODEL, perp__source_place(&u->model->source, from.at),
            "the guess of '%s' is %s at t = %g; the search starts from finite numbers\n", from.name,
            word_of(x), t);
    return x;
}

static double clip(double x, double lo, double hi)
{
    if (x < lo) return lo;
    if (x > hi) return hi;
    return x;
}

/* What nothing guesses is in the middle of its range; else what is nearest to 0. */
static double middle(double lo, double hi)
{
    return clip(isfinite(lo) && isfinite(hi) ? 0.5 * (lo + hi) : 0, lo, hi);
}

/* Unknown j of a point as a chosen input, or the copy of one; -1: it is neither. */
static int chosen_input(const perp__program *g, int j)
{
    int first = g->nx + g->nv + g->nsplit;
    if (j >= first) return j - first;
    return j >= g->ns && j < g->nx ? j - g->ns : -1;
}

/* What guesses unknown j of a point in a phase. */
static source source_of(const guesser *u, int j, int phase)
{
    const perp__program *g = u->program;
    perp_symbol_kind kind = j < g->ns ? PERP_STATE : PERP_VAR;
    int item = j < g->ns ? j : j - g->nx, input = chosen_input(g, j);
    if (input >= 0) {
        kind = PERP_INPUT;
        item = g->input_item[input];
    } else if (j >= g->nx + g->nv) {
        return (source){.e = -1};
    }
    const perp__item *of = &u->model->item[kind][item];
    const perp__plan_guess *own = find_guess(u, kind, item, phase);
    if (own) return (source){own->e, of->name, own->at};
    return (source){input >= 0 ? of->expr : -1, of->name, of->at};
}

/* Lengths of runs of steps: a phase's own, or a part of the horizon. */
static void guess_lengths(guesser *u, double *p)
{
    const perp__program *g = u->program;
    const perp__plan_block *b = u->model->plan;
    for (int q = 0; q < g->phase.nrun; q++) {
        double lo = g->bound.plo[g->phase.run_p + q], hi = g->bound.phi[g->phase.run_p + q],
               T = isfinite(hi) ? 0.5 * (lo + hi) : fmax(1, 2 * lo);
        int is_own = g->phase.named && b->phase[q].horizon >= 0;
        source of = {b->horizon, "horizon", b->horizon_at};
        if (is_own) of = (source){b->phase[q].horizon, "horizon", b->phase[q].horizon_at};
        if (of.e >= 0) T = value_at(u, of, g->from) / (is_own ? 1 : g->phase.nrun);
        p[g->phase.run_p + q] = clip(T, lo, hi);
    }
}

static void guess_globals(guesser *u, double *p)
{
    const perp__program *g = u->program;
    const perp_model *m = u->model;
    for (int i = 0; i < g->param.n; i++) {
        const perp__item *item = &m->item[PERP_PARAM][g->param.item[i]];
        const perp__plan_guess *own = find_guess(u, PERP_PARAM, g->param.item[i], -1);
        int j = g->param.p + i;
        double x = own ? value_at(u, (source){own->e, item->name, own->at}, g->from) : item->value;
        p[j] = clip(x, g->bound.plo[j], g->bound.phi[j]);
        u->symbol[item->symbol] = p[j];
    }
    guess_lengths(u, p);
    for (int i = 0; i < g->start.n; i++) {
        int of = g->start.item[i], j = g->start.p + i;
        double lo = g->bound.plo[j], hi = g->bound.phi[j];
        source from = source_of(u, of, 0);
        if (from.e >= 0)
            p[j] = clip(value_at(u, from, g->from), lo, hi);
        else if (of < g->ns)
            p[j] = clip(m->item[PERP_STATE][of].value, lo, hi);
        else
            p[j] = middle(lo, hi);
    }
}

/* Straight lines between the start and the nodes where the state is given; level behind the
 * last. */
static void guess_line(const perp__program *g, const double *p, int i, double *w)
{
    int K = g->K, j = (g->npoint - 1) * g->nb + i, from = -1;
    double before = g->initial.p[i] >= 0 ? p[g->initial.p[i]] : g->initial.x[i];
    const double *lo = g->bound.wlo + (size_t)j * (size_t)K,
                 *hi = g->bound.whi + (size_t)j * (size_t)K;
    for (int k = 0; k <= K; k++) {
        int given = k < K && lo[k] == hi[k];
        if (!given && k < K) continue;
        double after = given ? lo[k] : before;
        int to = given ? k : K - 1;
        for (int s = from + 1; s <= to; s++)
            for (int c = 0; c < g->npoint; c++)
                w[(size_t)(c * g->nb + i) * (size_t)K + (size_t)s] =
                    before + (after - before) * ((double)(s - from - 1) + g->scheme.c[c]) /
                                 (double)(to - from);
        before = after;
        from = to;
    }
}

/* The parts of two-sided pairs: what their second side is at the guess, above 0 and below. They
 * enter one row alone, second side - above + below = 0. 0: memory. */
/* What only a pair that is switched has: the first part of its guard, and what its second side
 * falls short by. r: the rows without parts; NULL: both are 0. */
static void guess_switched(const perp__program *g, const perp__plan_pair *pair, size_t k,
                           const double *r, double *w)
{
    size_t K = (size_t)g->K;
    const perp__plan_pair *guard = &g->pair[pair->switched];
    w[(size_t)guard->w[0] * K + k] = r ? fmax(0, r[(size_t)guard->parts * K + k]) : 0;
    w[(size_t)pair->minus * K + k] = r ? fmax(0, -r[(size_t)pair->parts * K + k]) : 0;
}

int perp__program_guess_parts(perp__program *g, double *w, const double *p)
{
    size_t K = (size_t)g->K;
    if (!perp__program_guess_cones(g, 0, w, p)) return 0;
    double cost, *r = malloc(((size_t)g->nrow * K + 1) * sizeof *r);
    if (!r) return 0;
    for (int i = 0; i < g->npair; i++)
        for (size_t k = 0; k < K && g->pair[i].parts >= 0; k++) {
            w[(size_t)g->pair[i].w[1] * K + k] = 0;
            if (g->pair[i].switched >= 0) guess_switched(g, &g->pair[i], k, NULL, w);
        }
    perp__program_values(g, NULL, w, p, r, &cost);
    for (int i = 0; i < g->npair; i++) {
        const perp__plan_pair *pair = &g->pair[i];
        for (size_t k = 0; k < K && pair->parts >= 0; k++) {
            double side = r[(size_t)pair->parts * K + k];
            w[(size_t)pair->w[1] * K + k] = fmax(0, pair->half ? -side : side);
            if (pair->switched >= 0) guess_switched(g, pair, k, r, w);
        }
    }
    perp__program_close_corners(g, w, p, r);
    free(r);
    return 1;
}

/* Unknown j of point c at all steps. */
static void guess_row(guesser *u, int c, int j, double *w, const double *p)
{
    const perp__program *g = u->program;
    size_t first = (size_t)(c * g->nb + j) * (size_t)g->K;
    const double *lo = g->bound.wlo + first, *hi = g->bound.whi + first;
    source from = {.e = -1};
    for (int k = 0, q = 0; k < g->K; k++) {
        if (k == g->phase.first[q]) from = source_of(u, j, q++);
        double t = perp__program_time(g, p, k) + g->scheme.c[c] * perp__program_step(g, p, k);
        if (from.e >= 0)
            w[first + (size_t)k] = clip(value_at(u, from, t), lo[k], hi[k]);
        else if (j < g->ns)
            w[first + (size_t)k] = clip(w[first + (size_t)k], lo[k], hi[k]);
        else
            w[first + (size_t)k] = middle(lo[k], hi[k]);
    }
}

perp_status perp__program_guess(const perp__program *g, double *w, double *p, perp_diag *diag)
{
    const perp_model *m = g->model;
    guesser u = {.program = g, .model = m, .diag = diag};
    u.symbol = malloc((size_t)m->nsymbol * sizeof *u.symbol);
    if (!u.symbol) return PERP_ERR_MEMORY;
    for (int s = 0; s < m->nsymbol; s++) u.symbol[s] = NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        u.symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    guess_globals(&u, p);
    for (int i = 0; i < g->nx; i++) guess_line(g, p, i, w);
    for (int c = 0; c < g->npoint; c++)
        for (int j = 0; j < g->nb; j++) guess_row(&u, c, j, w, p);
    perp__program_set_distant(g, w, p);
    free(u.symbol);
    return u.status;
}

/* The column's value at a share of the table's time. A first row without a value is skipped. */
static double column_at(const double *t, const double *x, int n, double share)
{
    double time = t[0] + share * (t[n - 1] - t[0]);
    int before = -1, after = -1;
    for (int i = 0; i < n && after < 0; i++) {
        if (isnan(x[i])) continue;
        if (t[i] <= time) before = i;
        if (t[i] >= time) after = i;
    }
    if (before < 0) return after < 0 ? (double)NAN : x[after];
    if (after < 0) return x[before];
    if (after == before) return x[before];
    return x[before] + (x[after] - x[before]) * (time - t[before]) / (t[after] - t[before]);
}

static const char *name_of(const perp__program *g, int j)
{
    const perp_model *m = g->model;
    int k = chosen_input(g, j);
    if (k >= 0) return m->item[PERP_INPUT][g->input_item[k]].name;
    if (j < g->ns) return m->item[PERP_STATE][j].name;
    return j < g->nx + m->nvar ? m->item[PERP_VAR][j - g->nx].name : NULL;
}

/* The row, of n, that stands where step k begins if the table's rows are nodes. */
static int row_of(const perp__program *g, int k, int n)
{
    return (int)floor((double)k / g->K * (n - 1) + 0.5);
}

/* Unknown j of a point, and where it begins if that is chosen, from a column. */
static void take_column(const perp__program *g, int j, const double *t, const double *x, int n,
                        double *w, double *p)
{
    double from = perp__program_time(g, p, 0), length = 0;
    for (int k = 0; k < g->K; k++) length += perp__program_step(g, p, k);
    for (int c = 0; c < g->npoint; c++)
        for (int k = 0; k < g->K; k++) {
            size_t at = (size_t)(c * g->nb + j) * (size_t)g->K + (size_t)k;
            double now = perp__program_time(g, p, k) + g->scheme.c[c] * perp__program_step(g, p, k);
            w[at] =
                clip(column_at(t, x, n, (now - from) / length), g->bound.wlo[at], g->bound.whi[at]);
        }
    if (j < g->nx && g->initial.p[j] >= 0) {
        int at = g->initial.p[j];
        p[at] = clip(column_at(t, x, n, 0), g->bound.plo[at], g->bound.phi[at]);
    }
}

/* A column has a number in each row; in the first, that of what has no value before a step may be
 * missing. */
static perp_status check_column(const double *t, const double *x, int n, int is_state,
                                const char *column, const char *name, perp_diag *diag)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i]) && (i > 0 || is_state || !isnan(x[i])))
            return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                                "the guess of '%s' is %s in row %d (t = %g); the search starts "
                                "from finite numbers\n",
                                column, word_of(x[i]), i + 1, t[i]);
    return PERP_OK;
}

perp_status perp__program_guess_table(perp__program *g, const perp_trajectory *table,
                                      const char *name, double *w, double *p, perp_diag *diag)
{
    int n = perp_trajectory_rows(table), found = 0;
    const double *t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    perp_status status = perp__program_guess(g, w, p, diag);
    for (int q = 0; q < g->phase.nrun; q++) { /* rows are shared out like steps */
        int j = g->phase.run_p + q, begin = row_of(g, g->phase.first[q], n),
            end = row_of(g, g->phase.first[q + 1], n);
        p[j] = clip(t[end] - t[begin], g->bound.plo[j], g->bound.phi[j]);
    }
    for (int j = 0; j < g->nb && status == PERP_OK; j++) {
        const char *of = name_of(g, j);
        int column = of ? perp_trajectory_find(table, of) : -1;
        if (column < 0) continue;
        const double *x = perp_trajectory_column(table, column);
        status = check_column(t, x, n, j < g->ns, of, name, diag);
        if (status == PERP_OK) take_column(g, j, t, x, n, w, p);
        found++;
    }
    if (status == PERP_OK && found == 0)
        return perp__refuse(diag, PERP_ERR_DATA, perp__in(name),
                            "no column has the name of a state, var or chosen input\n");
    perp__program_set_distant(g, w, p);
    if (status == PERP_OK && !perp__program_guess_parts(g, w, p)) return PERP_ERR_MEMORY;
    return status;
}
