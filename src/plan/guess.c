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
    int failed;
} guesser;

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

static double value_at(guesser *u, perp_expr e, double t)
{
    double x = NAN;
    u->symbol[PERP__SYM_T] = t;
    if (!perp__graph_value(&u->model->graph, e, u->symbol, &x)) u->failed = 1;
    return x;
}

/* x within [lo, hi], or the nearest finite thing to it. */
static double clip(double x, double lo, double hi)
{
    if (isnan(x)) x = isfinite(lo) && isfinite(hi) ? 0.5 * (lo + hi) : 0;
    return x < lo ? lo : x > hi ? hi : x;
}

/* Unknown j of a point as a chosen input, or the copy of one; -1: it is neither. */
static int chosen_input(const perp__program *g, int j)
{
    int first = g->nx + g->nv + g->nsplit;
    if (j >= first) return j - first;
    return j >= g->ns && j < g->nx ? j - g->ns : -1;
}

/* The expression that guesses unknown j of a point in a phase; -1 if there is none. */
static perp_expr expression_of(const guesser *u, int j, int phase)
{
    const perp__program *g = u->program;
    const perp__plan_guess *own = NULL;
    if (j < g->ns)
        own = find_guess(u, PERP_STATE, j, phase);
    else if (j >= g->nx && j < g->nx + g->nv)
        own = find_guess(u, PERP_VAR, j - g->nx, phase);
    else if (chosen_input(g, j) >= 0) {
        int item = g->input_item[chosen_input(g, j)];
        own = find_guess(u, PERP_INPUT, item, phase);
        if (!own) return u->model->item[PERP_INPUT][item].expr;
    }
    return own ? own->e : -1;
}

static void guess_globals(guesser *u, double *p)
{
    const perp__program *g = u->program;
    const perp_model *m = u->model;
    const perp__plan_block *b = m->plan;
    for (int q = 0; q < g->phase.nrun; q++) {
        double lo = g->bound.plo[g->phase.run_p + q], hi = g->bound.phi[g->phase.run_p + q],
               T = g->horizon / g->phase.nrun;
        if (g->phase.named && b->phase[q].horizon >= 0)
            T = value_at(u, b->phase[q].horizon, g->from);
        if (isnan(T)) T = isfinite(hi) ? 0.5 * (lo + hi) : fmax(1, 2 * lo);
        p[g->phase.run_p + q] = clip(T, lo, hi);
    }
    for (int i = 0; i < g->param.n; i++) {
        int item = g->param.item[i], j = g->param.p + i;
        const perp__plan_guess *own = find_guess(u, PERP_PARAM, item, -1);
        double x = own ? value_at(u, own->e, g->from) : m->item[PERP_PARAM][item].value;
        p[j] = clip(x, g->bound.plo[j], g->bound.phi[j]);
        u->symbol[m->item[PERP_PARAM][item].symbol] = p[j];
    }
    for (int i = 0; i < g->start.n; i++) {
        int of = g->start.item[i], j = g->start.p + i;
        perp_expr e = expression_of(u, of, 0);
        double x = e >= 0 ? value_at(u, e, g->from) : (double)NAN;
        if (e < 0 && of < g->ns) x = m->item[PERP_STATE][of].value;
        p[j] = clip(x, g->bound.plo[j], g->bound.phi[j]);
    }
}

/* Straight lines between the start and the nodes where the state is given; level behind the last. */
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

/* The parts of two-sided pairs: what their second side is at the guess, above 0 and below. They enter one row
 * alone, second side - above + below = 0. 0: memory. */
/* What only a pair that is switched has: the first part of its guard, and what its second side falls short by. r: the rows without parts; NULL:
 * both are 0. */
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
    free(r);
    return 1;
}

int perp__program_guess(const perp__program *g, double *w, double *p)
{
    const perp_model *m = g->model;
    size_t K = (size_t)g->K;
    guesser u = {.program = g, .model = m};
    u.symbol = malloc((size_t)m->nsymbol * sizeof *u.symbol);
    if (!u.symbol) return 0;
    for (int s = 0; s < m->nsymbol; s++) u.symbol[s] = NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        u.symbol[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    guess_globals(&u, p);
    for (int i = 0; i < g->nx; i++) guess_line(g, p, i, w);
    for (int c = 0; c < g->npoint; c++)
        for (int j = 0; j < g->nb; j++) {
            perp_expr e = -1;
            double *row = w + (size_t)(c * g->nb + j) * K;
            const double *lo = g->bound.wlo + (size_t)(c * g->nb + j) * K,
                         *hi = g->bound.whi + (size_t)(c * g->nb + j) * K;
            for (int k = 0, q = 0; k < g->K; k++) {
                if (k == g->phase.first[q]) e = expression_of(&u, j, q++);
                double t =
                    perp__program_time(g, p, k) + g->scheme.c[c] * perp__program_step(g, p, k);
                double x = e >= 0 ? value_at(&u, e, t) : j < g->ns ? row[k] : (double)NAN;
                row[k] = clip(x, lo[k], hi[k]);
            }
        }
    perp__program_set_distant(g, w, p);
    free(u.symbol);
    return !u.failed;
}

/* The column's value at a share of the table's time; rows without a value are skipped. */
static double column_at(const double *t, const double *x, int n, double share)
{
    double time = t[0] + share * (t[n - 1] - t[0]);
    int before = -1, after = -1;
    for (int i = 0; i < n && after < 0; i++) {
        if (isnan(x[i])) continue;
        if (t[i] <= time) before = i;
        if (t[i] >= time) after = i;
    }
    if (before < 0 || after < 0)
        return before < 0 ? (after < 0 ? (double)NAN : x[after]) : x[before];
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

int perp__program_guess_table(perp__program *g, const perp_trajectory *table, double *w, double *p)
{
    int n = perp_trajectory_rows(table), found = 0;
    const double *t = perp_trajectory_column(table, perp_trajectory_find(table, "t"));
    size_t K = (size_t)g->K;
    if (!perp__program_guess(g, w, p)) return -1;
    for (int q = 0; q < g->phase.nrun; q++) { /* rows are shared out like steps */
        int j = g->phase.run_p + q, begin = row_of(g, g->phase.first[q], n),
            end = row_of(g, g->phase.first[q + 1], n);
        p[j] = clip(t[end] - t[begin], g->bound.plo[j], g->bound.phi[j]);
    }
    double from = perp__program_time(g, p, 0), length = 0;
    for (int k = 0; k < g->K; k++) length += perp__program_step(g, p, k);
    for (int j = 0; j < g->nb; j++) {
        int column = name_of(g, j) ? perp_trajectory_find(table, name_of(g, j)) : -1;
        if (column < 0) continue;
        const double *x = perp_trajectory_column(table, column);
        found++;
        for (int c = 0; c < g->npoint; c++)
            for (int k = 0; k < g->K; k++) {
                size_t at = (size_t)(c * g->nb + j) * K + (size_t)k;
                double now =
                    perp__program_time(g, p, k) + g->scheme.c[c] * perp__program_step(g, p, k);
                w[at] = clip(column_at(t, x, n, (now - from) / length), g->bound.wlo[at],
                             g->bound.whi[at]);
            }
        if (j < g->nx && g->initial.p[j] >= 0) {
            int at = g->initial.p[j];
            p[at] = clip(column_at(t, x, n, 0), g->bound.plo[at], g->bound.phi[at]);
        }
    }
    perp__program_set_distant(g, w, p);
    if (!perp__program_guess_parts(g, w, p)) return -1;
    return found;
}
