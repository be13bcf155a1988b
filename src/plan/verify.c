#include "plan/verify.h"

#include "model/plan_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    const perp__program *g;
    const perp_model *m;
    const double *w, *p;
    double *symbol, *value; /* of the model's symbols, with room for values of phases; of nodes */
    perp__plan_check *check;
    int step, phase;
    double here; /* the worst of the step */
} checker;

static double unknown(const checker *u, int c, int j)
{
    if (u->g->held && j >= u->g->nb - u->g->nu) c = u->g->npoint - 1;
    return u->w[(size_t)(c * u->g->nb + j) * (size_t)u->g->K + (size_t)u->step];
}

/* Slope at point c of the polynomial through the start of the step and its points. */
static double slope(const checker *u, int c, int i, double pre, double h)
{
    const perp__program *g = u->g;
    if (g->npoint == 1) return (unknown(u, 0, i) - pre) / h;
    double sum = g->D[c][0] * pre;
    for (int j = 0; j < g->npoint; j++) sum += g->D[c][j + 1] * unknown(u, j, i);
    return sum / h;
}

/* The value of an expression; all nodes are evaluated, which needs no scratch of the graph: several
 * threads may share the model. */
static double value_of(const checker *u, perp_expr e)
{
    perp__graph_values(&u->m->graph, u->symbol, u->value);
    return u->value[e];
}

/* Parameters; those written in terms of free ones follow. own: of the block's `param` lines; nullable. */
static void set_params_to(checker *u, const double *own)
{
    const perp_model *m = u->m;
    const perp__plan_block *b = m->plan;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        double x = item->value;
        if (!item->is_set && item->expr >= 0) x = value_of(u, item->expr);
        for (int k = 0; k < u->g->nparam; k++)
            if (u->g->param_item[k] == i) x = u->p[u->g->param_p + k];
        for (int k = 0; k < b->nparam && own; k++)
            if (b->param[k].phase == u->phase && b->param[k].item == i) x = own[k];
        u->symbol[item->symbol] = x;
    }
}

/* Those of the step's phase; its own values are of the parameters outside of phases. */
static void set_params(checker *u)
{
    const perp__plan_block *b = u->m->plan;
    double *own = u->symbol + u->m->nsymbol;
    while (u->step >= u->g->first[u->phase + 1]) u->phase++;
    set_params_to(u, NULL);
    if (b->nparam == 0) return;
    perp__graph_values(&u->m->graph, u->symbol, u->value);
    for (int k = 0; k < b->nparam; k++) own[k] = u->value[b->param[k].e];
    set_params_to(u, own);
}

/* States before the step: those of the step before it, or what a link makes of them. */
static void set_before(checker *u)
{
    const perp_model *m = u->m;
    const perp__plan_block *b = m->plan;
    int links = 0;
    for (int i = 0; i < u->g->ns; i++)
        u->symbol[m->item[PERP_STATE][i].symbol + PERP__PRE] =
            perp__program_pre(u->g, u->w, u->p, i, u->step);
    if (u->step != u->g->first[u->phase]) return;
    for (int k = 0; k < b->nlink; k++) links += b->link[k].phase == u->phase;
    if (!links) return;
    u->symbol[PERP__SYM_T] = perp__program_time(u->g, u->p, u->step);
    perp__graph_values(&m->graph, u->symbol, u->value);
    for (int k = 0; k < b->nlink; k++)
        if (b->link[k].phase == u->phase)
            u->symbol[m->item[PERP_STATE][b->link[k].state].symbol + PERP__PRE] =
                u->value[b->link[k].e];
}

/* Chosen input k at the start of the step; NaN where it has no value. */
static double input_before(const checker *u, int k)
{
    const perp__program *g = u->g;
    if (g->nx == g->ns) return NAN;
    if (u->step == 0) return u->p[g->x0_of[g->ns + k]];
    size_t j = (size_t)(g->nx + g->nv + g->nsplit + k);
    return u->w[j * (size_t)g->K + (size_t)u->step - 1];
}

/* States, inputs and time between the step's start and its end: theta of the end. */
static void weigh_symbols(checker *u)
{
    const perp__program *g = u->g;
    const perp_model *m = u->m;
    double *t = &u->symbol[PERP__SYM_T], a = g->theta, b = 1 - a;
    *t = a * *t + b * u->symbol[PERP__SYM_T_PRE];
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        double *s = u->symbol + m->item[PERP_INPUT][i].symbol;
        s[PERP__NOW] = a * s[PERP__NOW] + b * s[PERP__INPUT_PRE];
    }
    for (int i = 0; i < g->ns; i++) {
        double *s = u->symbol + m->item[PERP_STATE][i].symbol;
        s[PERP__NOW] = a * s[PERP__NEXT] + b * s[PERP__PRE];
    }
    perp__graph_values(&m->graph, u->symbol, u->value);
}

/* The model's symbols at point c of the step, or at its start (c = -1). `rows`: a bare state of a
 * discrete model is the value of the row. */
static void set_symbols(checker *u, int c, int rows)
{
    const perp__program *g = u->g;
    const perp_model *m = u->m;
    double h = perp__program_step(g, u->p, u->step), start = perp__program_time(g, u->p, u->step);
    double t = c < 0 ? start : start + g->c[c] * h;
    set_before(u);
    u->symbol[PERP__SYM_H] = h;
    u->symbol[PERP__SYM_T_PRE] = start;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int k = 0;
        double *now = &u->symbol[item->symbol + PERP__NOW],
               *before = &u->symbol[item->symbol + PERP__INPUT_PRE];
        while (k < g->nu && g->input_item[k] != i) k++;
        if (k < g->nu) {
            *before = input_before(u, k);
            *now = c >= 0 ? unknown(u, c, g->nx + g->nv + g->nsplit + k) : *before;
            continue;
        }
        u->symbol[PERP__SYM_T] = start;
        *before = value_of(u, item->expr);
        u->symbol[PERP__SYM_T] = t;
        *now = value_of(u, item->expr);
    }
    u->symbol[PERP__SYM_T] = t;
    for (int i = 0; i < g->ns; i++) {
        double *s = u->symbol + m->item[PERP_STATE][i].symbol;
        s[PERP__NEXT] = c < 0 ? (double)NAN : unknown(u, c, i);
        s[PERP__DER] = c < 0 ? (double)NAN : slope(u, c, i, s[PERP__PRE], h);
        s[PERP__NOW] = c < 0 || (m->kind == PERP_DISCRETE && !rows) ? s[PERP__PRE] : s[PERP__NEXT];
    }
    for (int i = 0; i < g->nv; i++)
        u->symbol[m->item[PERP_VAR][i].symbol] = c < 0 ? (double)NAN : unknown(u, c, g->nx + i);
    perp__graph_values(&m->graph, u->symbol, u->value);
}

/* Keep the worst of a kind and of all. */
static void note(checker *u, double *kind, double violation, double scale, int at)
{
    double x = fabs(violation) / (1 + fabs(scale));
    if (isnan(x)) x = INFINITY; /* what is no number does not hold, and stays so */
    if (x > *kind) *kind = x;
    if (x > u->here) u->here = x;
    if (x <= u->check->worst) return;
    u->check->worst = x;
    u->check->worst_at = at;
    u->check->worst_step = u->step;
}

static double outside(double x, double lo, double hi)
{
    return x < lo ? lo - x : x > hi ? x - hi : isnan(x) ? (double)NAN : 0;
}

/* Equations with a derivative, or those without. */
static void check_equations(checker *u, int with_rate)
{
    const perp_model *m = u->m;
    const double *v = u->value;
    perp__plan_check *check = u->check;
    for (int i = 0; i < m->nequation; i++) {
        const perp__equation *e = &m->equation[i];
        if (u->g->has_rate[i] != with_rate) continue;
        note(u, &check->defect, v[e->left] - v[e->right], fmax(fabs(v[e->left]), fabs(v[e->right])),
             e->at);
    }
}

/* A range narrower than 1 is a scale of its own: a stays in it, and is at one of its ends where b is not 0, beside
 * its width. Bounds that are 0 give no scale. */
static void check_narrow(checker *u, const perp__pair *q)
{
    const double *v = u->value;
    double a = v[q->a], lo = v[q->lo], hi = v[q->hi], width = hi - lo;
    if (!(width > 0 && width < 1)) return;
    double away = v[q->b] > 0 ? fabs(a - lo) : fabs(hi - a);
    double off = fmax(outside(a, lo, hi) / width, fmin(away / width, fabs(v[q->b])));
    note(u, &u->check->pairs, off, 0, q->at);
}

static void check_pairs(checker *u)
{
    const perp_model *m = u->m;
    const double *v = u->value;
    for (int i = 0; i < m->npair; i++) {
        const perp__pair *q = &m->pair[i];
        double a = v[q->a], b = v[q->b], gap = fmin(a, b);
        if (q->two_sided) gap = a - fmin(fmax(a - b, v[q->lo]), v[q->hi]);
        note(u, &u->check->pairs, gap, 0, q->at);
        if (q->two_sided) check_narrow(u, q);
    }
}

/* The bounds of exact friction cones: an equation cannot say that they are not below 0. */
static void check_cones(checker *u)
{
    const perp_model *m = u->m;
    for (int i = 0; i < m->nfriction; i++) {
        const perp__friction *f = &m->friction[i];
        double bound = f->equation >= 0 ? u->value[f->bound] : 0;
        if (f->guard >= 0) bound *= u->value[f->guard];
        note(u, &u->check->pairs, fmin(bound, 0), 0, f->at);
    }
}

static void check_ranges(checker *u, int c)
{
    const perp__program *g = u->g;
    const perp_model *m = u->m;
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT};
    int counts[] = {g->ns, g->nv, g->nu}, first[] = {0, g->nx, g->nx + g->nv + g->nsplit};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < counts[kind]; i++) {
            int index = kind == 2 ? g->input_item[i] : i;
            const perp__item *item = &m->item[kinds[kind]][index];
            double lo = item->lo, hi = item->hi, x = unknown(u, c, first[kind] + i);
            for (int k = 0; k < m->plan->nfree && kind == 2; k++) {
                const perp__plan_free *f = &m->plan->free_[k];
                if (f->kind != PERP_INPUT || f->item != index || f->lo < 0) continue;
                lo = u->value[f->lo];
                hi = u->value[f->hi];
            }
            note(u, &u->check->bounds, outside(x, lo, hi), x, item->at);
        }
}

/* As near as the number can be written, and no other node is nearer. */
static int is_time(const checker *u, double time)
{
    double h = u->symbol[PERP__SYM_H], slack = fmax(1e-6 * h, 1e-9 * (1 + fabs(time)));
    return fabs(u->symbol[PERP__SYM_T] - time) <= fmin(slack, 0.499 * h);
}

static int is_at(const checker *u, const perp__plan_condition *c)
{
    const perp__program *g = u->g;
    double share = c->place >= 0 ? u->value[c->place] : 0;
    int first = c->phase < 0 ? 0 : g->first[c->phase],
        last = c->phase < 0 ? g->K : g->first[c->phase + 1];
    if (u->step < first || u->step >= last) return 0;
    switch (c->where) {
    case PLAN_ALWAYS: return 1;
    case PLAN_END: return u->step == last - 1;
    case PLAN_SHARE: return u->step - first + 1 == (int)floor(share / 100 * (last - first) + 0.5);
    case PLAN_TIME: return is_time(u, share);
    default: return 0;
    }
}

static void check_plan(checker *u, int c)
{
    const perp__plan_block *b = u->m->plan;
    const double *v = u->value;
    for (int i = 0; i < b->ncondition; i++) {
        const perp__plan_condition *q = &b->condition[i];
        int begins = u->step == (q->phase < 0 ? 0 : u->g->first[q->phase]);
        int here =
            c < 0 ? (q->where == PLAN_START && begins) ||
                        (q->where == PLAN_ALWAYS && perp__program_holds_first(u->g, i, u->phase))
                  : (q->where == PLAN_ALWAYS || c == u->g->npoint - 1) && is_at(u, q);
        if (!here) continue;
        double lo = q->lo >= 0 ? v[q->lo] : (double)-INFINITY,
               hi = q->hi >= 0 ? v[q->hi] : (double)INFINITY;
        note(u, &u->check->conditions, outside(v[q->e], lo, hi), v[q->e], q->at);
    }
}

static void check_globals(checker *u)
{
    const perp__program *g = u->g;
    double horizon = 0;
    for (int i = 0; i < g->np; i++)
        note(u, &u->check->bounds, outside(u->p[i], g->plo[i], g->phi[i]), u->p[i], u->m->plan->at);
    const perp__plan_block *b = u->m->plan;
    for (int q = 0; q < g->nrun; q++) horizon += u->p[g->run_p + q];
    if (!g->nrun || (b->horizon < 0 && b->horizon_lo < 0)) return;
    perp_expr lo = b->is_free ? b->horizon_lo : b->horizon, hi = b->is_free ? b->horizon_hi : lo;
    note(u, &u->check->conditions,
         outside(horizon, lo >= 0 ? u->value[lo] : 0, hi >= 0 ? u->value[hi] : (double)INFINITY),
         horizon, b->at);
}

/* States where the plan begins: within their ranges, and at the model's initial values, of parameters
 * outside of phases, unless the block says otherwise. */
static void check_initial(checker *u)
{
    const perp__program *g = u->g;
    set_params_to(u, NULL);
    perp__graph_values(&u->m->graph, u->symbol, u->value);
    for (int i = 0; i < g->ns; i++) {
        const perp__item *item = &u->m->item[PERP_STATE][i];
        double x = perp__program_pre(g, u->w, u->p, i, 0), given = item->value;
        if (!item->is_set && item->expr >= 0) given = u->value[item->expr];
        if (g->begins[i]) note(u, &u->check->conditions, x - given, x, item->at);
        if (g->x0_of[i] < 0)
            note(u, &u->check->bounds, outside(x, item->lo, item->hi), x, item->at);
    }
}

/* What holds where a phase begins: its conditions at the start, and ranges of what links give. */
static void check_begin(checker *u)
{
    const perp__plan_block *b = u->m->plan;
    set_symbols(u, -1, 1);
    check_plan(u, -1);
    for (int k = 0; k < b->nlink; k++) {
        const perp__item *item = &u->m->item[PERP_STATE][b->link[k].state];
        double x = u->symbol[item->symbol + PERP__PRE];
        if (b->link[k].phase == u->phase)
            note(u, &u->check->bounds, outside(x, item->lo, item->hi), x, b->link[k].at);
    }
}

int perp__plan_verify(const perp__program *g, const double *w, const double *p,
                      perp__plan_check *check, double *residual)
{
    const perp_model *m = g->model;
    checker u = {.g = g, .m = m, .w = w, .p = p, .check = check};
    int ok = 0;
    memset(check, 0, sizeof *check);
    check->worst_at = -1;
    u.symbol = malloc((size_t)(m->nsymbol + m->plan->nparam) * sizeof *u.symbol);
    u.value = malloc((size_t)m->graph.count * sizeof *u.value);
    if (!u.symbol || !u.value) goto done;
    for (int s = 0; s < m->nsymbol; s++) u.symbol[s] = NAN;
    for (u.step = 0; u.step < g->K; u.step++) {
        u.here = 0;
        if (u.step == 0) check_initial(&u);
        if (u.step == 0 || u.step == g->first[u.phase + 1]) {
            set_params(&u);
            check_begin(&u);
        }
        if (u.step == 0) check_globals(&u);
        for (int c = 0; c < g->npoint; c++) {
            set_symbols(&u, c, 0);
            check_equations(&u, 0);
            check_pairs(&u);
            check_cones(&u);
            if (g->theta < 1) weigh_symbols(&u);
            check_equations(&u, 1);
            if (g->theta < 1) set_symbols(&u, c, 0);
            if (m->kind == PERP_DISCRETE) set_symbols(&u, c, 1);
            check_ranges(&u, c);
            check_plan(&u, c);
        }
        if (residual) residual[u.step] = u.here;
    }
    ok = 1;
done:
    free(u.symbol);
    free(u.value);
    return ok;
}

int perp__plan_broken_start(const perp__program *g, const double *w, const double *p, double tol,
                            double *off)
{
    const perp__plan_block *b = g->model->plan;
    double *unknown_p = malloc(((size_t)g->np + 1) * sizeof *unknown_p);
    checker u = {.g = g, .m = g->model, .w = w, .p = unknown_p};
    int broken = -2;
    u.symbol = malloc((size_t)(u.m->nsymbol + b->nparam) * sizeof *u.symbol);
    u.value = malloc((size_t)u.m->graph.count * sizeof *u.value);
    if (!u.symbol || !u.value || !unknown_p) goto done;
    /* what is chosen has no value, and so has what depends on it */
    for (int i = 0; i < g->np; i++) unknown_p[i] = g->plo[i] < g->phi[i] ? (double)NAN : p[i];
    for (int s = 0; s < u.m->nsymbol; s++) u.symbol[s] = NAN;
    set_params(&u);
    set_symbols(&u, -1, 1);
    u.symbol[PERP__SYM_H] = NAN;
    perp__graph_values(&u.m->graph, u.symbol, u.value);
    broken = -1;
    for (int i = 0; i < b->ncondition && broken < 0; i++) {
        const perp__plan_condition *c = &b->condition[i];
        int here = (c->where == PLAN_START && c->phase <= 0) ||
                   (c->where == PLAN_ALWAYS && perp__program_holds_first(g, i, 0));
        double lo = c->lo >= 0 ? u.value[c->lo] : -(double)INFINITY,
               hi = c->hi >= 0 ? u.value[c->hi] : (double)INFINITY, x = u.value[c->e];
        *off = outside(x, lo, hi);
        if (here && !isnan(lo) && !isnan(hi) && *off > tol * (1 + fabs(x))) broken = i;
    }
done:
    free(u.symbol);
    free(u.value);
    free(unknown_p);
    return broken;
}

void perp__plan_row_symbols(const perp__program *g, const double *w, const double *p, int node,
                            double *symbol, double *value)
{
    checker u = {.g = g, .m = g->model, .w = w, .p = p, .symbol = symbol, .value = value};
    for (int s = 0; s < g->model->nsymbol; s++) symbol[s] = NAN;
    u.step = node > 0 ? node - 1 : 0;
    set_params(&u);
    set_symbols(&u, node > 0 ? g->npoint - 1 : -1, 1);
}

void perp__plan_begin_symbols(const perp__program *g, const double *w, const double *p, int phase,
                              double *symbol, double *value)
{
    checker u = {.g = g, .m = g->model, .w = w, .p = p, .symbol = symbol, .value = value};
    for (int s = 0; s < g->model->nsymbol; s++) symbol[s] = NAN;
    u.step = g->first[phase];
    set_params(&u);
    set_symbols(&u, -1, 1);
}
