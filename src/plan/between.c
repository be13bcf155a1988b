/* Values of conditions, ranges of states and gaps between the points of a plan, where nothing
 * constrains them. They are taken on the polynomials of its steps, at SAMPLES points a step and at
 * the local minima beside them. */

#include "base/tol.h"
#include "model/instant.h"
#include "model/plan_block.h"
#include "plan/plan.h"
#include "plan/verify.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 16, NARROWINGS = 30 };

/* PERP_PLAN_LEAST_SCALE for a condition with a constant in it, however small relative to squares
 * that are large elsewhere. */
static const double LEAST = 1e-12;
/* What is kept away from is a scale itself where twice its depth is less than this part of the
 * other. */
static const double WELL = 0.5;
/* Less than this part of all its terms is rounding: of what holds throughout as an equation, at a
 * point and between two. */
static const double ROUNDING = 1e-13;

/* For a condition towards one of its ends: the range over the plan of its part linear in states and
 * t, in which no origin takes part. */
typedef struct reach {
    double least, most;
    int is_there; /* 0: nothing of it moves */
} reach;

/* A node of the graph and how often it counts in a sum; between those that are no sums or
 * differences, which are also rounded. */
typedef struct addend {
    perp_expr e;
    double times;
    int is_sum;
} addend;

/* lo <= e <= hi throughout; by numbers where there are no expressions. */
typedef struct bounded {
    perp_expr e, lo, hi; /* e: -1: a state; lo, hi: -1: the numbers */
    double from, to;
    int state, phase, at; /* phase: -1: all */
    int row;              /* of `off`; -1: none */
    const char *text;
    reach reach[2];  /* towards lo, hi */
    addend *part[2]; /* e - lo, e - hi */
    int npart[2];
    double most; /* the largest scale at a node */
} bounded;

typedef struct looker {
    const perp_plan *plan;
    bounded *of;
    int n, step;
    double *symbol, *value; /* of the model's symbols and nodes */
    double *size;           /* of the states over the plan */
    int *column;            /* nsymbol: 0 for what moves, states and t; else -1 */
    char *degree;  /* of the graph's nodes: how they depend on what moves, as perp__degree */
    double *times; /* of the graph's nodes: work */
    double *kept;  /* n * (SAMPLES + 1) */
    double *off;   /* by conditions and states, and steps; nullable */
    perp__plan_gap *worst;
    perp__arena arena;
} looker;

/* The row of `off` for condition i: that of a state, if it is about one alone. */
static int row_of(const perp_model *m, int i)
{
    const perp__plan_condition *c = &m->plan->condition[i];
    const perp__node *e = &m->graph.node[c->e];
    for (int k = 0; k < m->nitem[PERP_STATE] && e->op == PERP__SYMBOL; k++)
        if (m->item[PERP_STATE][k].symbol == e->a) return m->plan->ncondition + k;
    return i;
}

/* A new one, of all phases, that nothing bounds yet. */
static bounded *add(looker *u, perp_expr e, int at, const char *text)
{
    bounded *c = &u->of[u->n++];
    *c = (bounded){.e = e, .lo = -1, .hi = -1, .phase = -1, .row = -1, .at = at, .text = text};
    c->from = -INFINITY;
    c->to = INFINITY;
    return c;
}

/* What is asked for at all points. */
static void list(looker *u)
{
    const perp_model *m = u->plan->model;
    const perp__plan_block *b = m->plan;
    for (int i = 0; i < b->ncondition; i++) {
        const perp__plan_condition *q = &b->condition[i];
        if (q->where != PLAN_ALWAYS) continue;
        bounded *c = add(u, q->e, q->at, q->text);
        c->lo = q->lo;
        c->hi = q->hi;
        c->phase = q->phase;
        c->row = row_of(m, i);
    }
    for (int i = 0; i < 2 * m->npair; i++) {
        const perp__pair *q = &m->pair[i / 2];
        if (q->two_sided || q->guard >= 0) continue;
        add(u, i % 2 ? q->b : q->a, q->at, q->text)->from = 0;
    }
    for (int i = 0; i < u->plan->program->ns; i++) {
        const perp__item *x = &m->item[PERP_STATE][i];
        if (x->lo == -(double)INFINITY && x->hi == (double)INFINITY) continue;
        bounded *c = add(u, -1, x->at, x->name);
        c->state = i;
        c->from = x->lo;
        c->to = x->hi;
        c->row = b->ncondition + i;
    }
}

/* The parts of e - lo or e - hi. Nodes come after their users. So a shared one is visited once,
 * with its full count. Returns the number of parts; to: nullable. */
static int take_apart(const looker *u, const bounded *c, int end, addend *to)
{
    const perp__graph *g = &u->plan->model->graph;
    perp_expr bound = end ? c->hi : c->lo, e = c->e > bound ? c->e : bound;
    int n = 0;
    if (c->e >= 0) u->times[c->e] += 1;
    if (bound >= 0) u->times[bound] -= 1;
    for (; e >= 0; e--) {
        const perp__node *node = &g->node[e];
        double times = u->times[e];
        int is_difference = node->op == PERP__SUB, is_sum = node->op == PERP__ADD || is_difference;
        if (times == 0) continue;
        u->times[e] = 0;
        if (node->op == PERP__NEG) {
            u->times[node->a] -= times;
            continue;
        }
        if (to) to[n] = (addend){e, times, is_sum};
        n++;
        if (!is_sum) continue;
        u->times[node->a] += times;
        u->times[node->b] += is_difference ? -times : times;
    }
    return n;
}

static void take_all_apart(looker *u)
{
    for (int i = 0; i < 2 * u->n && !u->arena.failed; i++) {
        bounded *c = &u->of[i / 2];
        int end = i % 2, n = take_apart(u, c, end, NULL);
        PERP_TAKE(&u->arena, c->part[end], n);
        if (!u->arena.failed) c->npart[end] = take_apart(u, c, end, c->part[end]);
    }
}

static int allocate(looker *u)
{
    const perp_model *m = u->plan->model;
    int most = m->plan->ncondition + 2 * m->npair + u->plan->program->ns;
    PERP_TAKE(&u->arena, u->of, most);
    PERP_TAKE(&u->arena, u->kept, (size_t)most * (SAMPLES + 1));
    PERP_TAKE(&u->arena, u->symbol, m->nsymbol + m->plan->nparam);
    PERP_TAKE(&u->arena, u->value, m->graph.count);
    PERP_TAKE(&u->arena, u->size, u->plan->program->ns);
    PERP_TAKE(&u->arena, u->column, m->nsymbol + m->plan->nparam);
    PERP_TAKE(&u->arena, u->degree, m->graph.count);
    PERP_TAKE(&u->arena, u->times, m->graph.count);
    if (u->arena.failed) return 0;
    for (int s = 0; s < m->nsymbol + m->plan->nparam; s++) u->column[s] = -1;
    u->column[PERP__SYM_T] = 0;
    for (int i = 0; i < u->plan->program->ns; i++) u->column[m->item[PERP_STATE][i].symbol] = 0;
    perp__degrees(&m->graph, u->column, u->degree);
    for (int i = 0; i < u->plan->program->ns; i++)
        for (int k = 0; k < u->plan->program->K; k++)
            u->size[i] = fmax(
                u->size[i], fabs(u->plan->w[(size_t)i * (size_t)u->plan->program->K + (size_t)k]));
    return 1;
}

/* To a point at `share` of the step: states by its polynomial, inputs by their rule between nodes.
 * Nothing else has a value. */
static void look_at(looker *u, double share)
{
    const perp_plan *plan = u->plan;
    const perp__program *g = plan->program;
    const perp_model *m = plan->model;
    double at[PERP__MOST_POINTS], h = perp__program_step(g, plan->p, u->step);
    size_t K = (size_t)g->K, k = (size_t)u->step;
    u->symbol[PERP__SYM_T] = perp__program_time(g, plan->p, u->step) + share * h;
    perp__put_inputs(m, u->symbol[PERP__SYM_T], PERP__NOW, u->symbol, u->value);
    for (int i = 0; i < g->ns; i++) {
        double *x = u->symbol + m->item[PERP_STATE][i].symbol;
        for (int c = 0; c < g->npoint; c++) at[c] = plan->w[(size_t)(c * g->nb + i) * K + k];
        x[PERP__NOW] = perp__scheme_through(&g->scheme, x[PERP__PRE], at, share);
        x[PERP__DER] = NAN;
    }
    for (int i = 0; i < g->nv; i++) u->symbol[m->item[PERP_VAR][i].symbol] = NAN;
    for (int j = 0; j < g->nu; j++) {
        const perp__item *x = &m->item[PERP_INPUT][g->input_item[j]];
        u->symbol[x->symbol] = fmax(x->lo, fmin(x->hi, perp__plan_input(plan, j, u->step, share)));
    }
    perp__graph_values(&m->graph, u->symbol, u->value);
}

static double value_of(const looker *u, const bounded *c)
{
    return c->e >= 0 ? u->value[c->e]
                     : u->symbol[u->plan->model->item[PERP_STATE][c->state].symbol];
}

static double low_of(const looker *u, const bounded *c)
{
    return c->lo >= 0 ? u->value[c->lo] : c->from;
}

static double high_of(const looker *u, const bounded *c)
{
    return c->hi >= 0 ? u->value[c->hi] : c->to;
}

/* By how much it is kept where the looker is; NaN: it speaks of what has no value there. */
static double kept_by(const looker *u, const bounded *c)
{
    double x = value_of(u, c), below = x - low_of(u, c), above = high_of(u, c) - x;
    return isnan(below) || isnan(above) ? (double)NAN : fmin(below, above);
}

/* A sum by its terms: what is linear with its sign, the size of what is curved, of what does not
 * move, and of all. */
typedef struct terms {
    double linear, curved, fixed, all;
    int moves, is_curved;
} terms;

/* e - lo or e - hi where the looker is. */
static terms terms_of(const looker *u, const bounded *c, int end)
{
    terms of = {0};
    double number = end ? c->to : c->from;
    if (c->e < 0) {
        of.linear = value_of(u, c);
        of.all = fabs(of.linear);
        of.moves = 1;
    }
    for (int i = 0; i < c->npart[end]; i++) {
        const addend *q = &c->part[end][i];
        double x = q->times * u->value[q->e];
        int degree = u->degree[q->e];
        of.all += fabs(x);
        if (q->is_sum) continue;
        if (degree == 2) {
            of.curved += fabs(x);
            of.is_curved = 1;
        } else {
            of.linear += x;
            if (degree == 0) of.fixed += fabs(x);
            of.moves |= degree == 1;
        }
    }
    if ((end ? c->hi : c->lo) < 0 && isfinite(number)) {
        of.linear -= number;
        of.fixed += fabs(number);
        of.all += fabs(number);
    }
    return of;
}

/* 0: lo, 1: hi. */
static int nearer_end(const looker *u, const bounded *c)
{
    double x = value_of(u, c);
    return !(x - low_of(u, c) < high_of(u, c) - x);
}

/* The scale of a condition at its nearer end: its curved terms, and the range of the linear ones
 * over the plan. If none of these moves, the size of the linear ones. Returns 0: no scale. Heights
 * above another ground, or a body at another position, change none of it. */
static double scale_of(const looker *u, const bounded *c)
{
    int end = nearer_end(u, c);
    terms of = terms_of(u, c, end);
    const reach *r = &c->reach[end];
    int has_constant = !of.moves && of.is_curved && of.fixed > 0;
    double scale = 0;
    if (of.moves)
        scale = of.curved + (r->is_there ? r->most - r->least : 0);
    else if (has_constant)
        scale = of.curved + of.fixed;
    return scale > 0 ? fmax(scale, (has_constant ? LEAST : PERP_PLAN_LEAST_SCALE) * c->most) : 0;
}

/* Depth of the region that a condition excludes, at the present point: to its lowest point by one
 * state after the other, along the parabola through three points. This is exact for squares in any
 * form (a disc, multiplied out). Returns 0: it has no lowest point. */
static double depth_of(looker *u, const bounded *c)
{
    enum { SWEEPS = 8 };
    const double APART = 1e-3, FLAT = 1e-9;
    const perp_model *m = u->plan->model;
    double low = kept_by(u, c);
    int moved = 1;
    for (int sweep = 0; sweep < SWEEPS && moved; sweep++) {
        moved = 0;
        for (int i = 0; i < u->plan->program->ns; i++) {
            double *x = &u->symbol[m->item[PERP_STATE][i].symbol], at = *x, y[2],
                   d = APART * fmax(u->size[i], fabs(at));
            for (int k = 0; k < 2 && d > 0; k++) {
                *x = k ? at + d : at - d;
                perp__graph_values(&m->graph, u->symbol, u->value);
                y[k] = kept_by(u, c);
            }
            double slope = d > 0 ? 0.5 * (y[1] - y[0]) : 0,
                   bend = d > 0 ? y[1] - 2 * low + y[0] : 0;
            *x = at;
            if (fabs(slope) + fabs(bend) <= FLAT * fabs(low)) continue;
            if (!(bend > FLAT * fabs(slope))) return 0;
            *x = at - d * slope / bend;
            perp__graph_values(&m->graph, u->symbol, u->value);
            double now = kept_by(u, c);
            if (now < low) {
                moved |= now < low * (1 + APART);
                low = now;
            } else
                *x = at;
        }
    }
    return -low;
}

/* Condition c is broken here. */
static void note(looker *u, const bounded *c, double *of_step)
{
    double off = -kept_by(u, c), scale = scale_of(u, c), shown = scale > 0 ? scale : c->most,
           t = u->symbol[PERP__SYM_T];
    if (off <= ROUNDING * terms_of(u, c, nearer_end(u, c)).all) return;
    double depth = c->e >= 0 && u->degree[c->e] == 2 ? 2 * depth_of(u, c) : 0;
    double error = off / (depth > 0 && depth < WELL * shown ? depth : shown);
    size_t at = (size_t)c->row * (size_t)u->plan->program->K + (size_t)u->step;
    *of_step = fmax(*of_step, error);
    if (u->off && c->row >= 0) u->off[at] = fmax(u->off[at], off);
    if (!(error > u->worst->error)) return;
    *u->worst = (perp__plan_gap){error, off, t, u->step, c->at, c->text};
}

/* The lowest place between two shares, by golden sections. */
static void look_lowest(looker *u, const bounded *c, double a, double b)
{
    const double part = 0.5 * (sqrt(5) - 1);
    double x[2] = {b - part * (b - a), a + part * (b - a)}, y[2];
    for (int k = 0; k < 2; k++) {
        look_at(u, x[k]);
        y[k] = kept_by(u, c);
    }
    for (int i = 0; i < NARROWINGS; i++) {
        int right = y[1] < y[0];
        if (right) {
            a = x[0];
            x[0] = x[1];
            y[0] = y[1];
            x[1] = a + part * (b - a);
        } else {
            b = x[1];
            x[1] = x[0];
            y[1] = y[0];
            x[0] = b - part * (b - a);
        }
        look_at(u, x[right]);
        y[right] = kept_by(u, c);
    }
    look_at(u, 0.5 * (a + b));
}

/* Places of condition i that are lower than those beside them, and may be broken. */
static void look_through(looker *u, int i, double *of_step)
{
    const bounded *c = &u->of[i];
    const double *y = u->kept + (size_t)i * (SAMPLES + 1);
    for (int s = 0; s <= SAMPLES; s++) {
        double left = s > 0 ? y[s - 1] : y[s], right = s < SAMPLES ? y[s + 1] : y[s];
        if (!(y[s] <= left && y[s] <= right) || !(y[s] < 2 * fmax(left - y[s], right - y[s])))
            continue;
        look_lowest(u, c, fmax(0, s - 1.0) / SAMPLES, fmin(SAMPLES, s + 1.0) / SAMPLES);
        if (kept_by(u, c) < 0) note(u, c, of_step);
    }
}

static void look_at_step(looker *u, double *of_step)
{
    perp__plan_row_symbols(u->plan->program, u->plan->w, u->plan->p, u->step + 1,
                           u->plan->program->npoint - 1, u->symbol, u->value);
    for (int s = 0; s <= SAMPLES; s++) {
        look_at(u, (double)s / SAMPLES);
        for (int i = 0; i < u->n; i++)
            u->kept[(size_t)i * (SAMPLES + 1) + (size_t)s] = kept_by(u, &u->of[i]);
    }
    int phase = perp__program_phase(u->plan->program, u->step);
    for (int i = 0; i < u->n; i++)
        if (u->of[i].phase < 0 || u->of[i].phase == phase) look_through(u, i, of_step);
}

/* How far the linear terms of a condition have gone. */
static void reach_on(const looker *u, bounded *c)
{
    for (int end = 0; end < 2; end++) {
        terms of = terms_of(u, c, end);
        reach *r = &c->reach[end];
        if (isnan(of.linear)) continue;
        r->least = r->is_there ? fmin(r->least, of.linear) : of.linear;
        r->most = r->is_there ? fmax(r->most, of.linear) : of.linear;
        r->is_there = 1;
    }
}

/* The largest scale of a condition; where that says nothing, its largest distance. */
static void size_on(const looker *u, bounded *c)
{
    double scale = scale_of(u, c);
    c->most = fmax(c->most, scale > 0 ? scale : fabs(kept_by(u, c)));
}

/* At the ends of steps and half way. */
static void for_each_place(looker *u, void (*f)(const looker *, bounded *))
{
    const perp__program *g = u->plan->program;
    for (u->step = 0; u->step < g->K; u->step++) {
        int phase = perp__program_phase(g, u->step);
        perp__plan_row_symbols(g, u->plan->w, u->plan->p, u->step + 1, g->npoint - 1, u->symbol,
                               u->value);
        for (int s = 0; s <= 2; s++) {
            look_at(u, 0.5 * s);
            for (int i = 0; i < u->n; i++)
                if (u->of[i].phase < 0 || u->of[i].phase == phase) f(u, &u->of[i]);
        }
    }
}

static void find_scales(looker *u)
{
    for_each_place(u, reach_on);
    for_each_place(u, size_on);
}

int perp__plan_look_between(const perp_plan *plan, double *of_step, double *off,
                            perp__plan_gap *worst)
{
    looker u = {.plan = plan, .off = off, .worst = worst};
    double error = 0;
    int ok = allocate(&u);
    *worst = (perp__plan_gap){0};
    if (ok) {
        list(&u);
        take_all_apart(&u);
        ok = !u.arena.failed;
    }
    if (ok) find_scales(&u);
    for (u.step = 0; ok && u.step < plan->program->K; u.step++)
        look_at_step(&u, of_step ? &of_step[u.step] : &error);
    perp__arena_clear(&u.arena);
    return ok;
}

/* Gauss's five places and weights in [0, 1]: exact to degree 9 (Abramowitz and Stegun 25.4.30). */
static const double PLACE[] = {0.04691007703066800, 0.23076534494715845, 0.5, 0.76923465505284155,
                               0.95308992296933200},
                    WEIGHT[] = {0.11846344252809454, 0.23931433524968324, 0.28444444444444444,
                                0.23931433524968324, 0.11846344252809454};

/* What integral c of the cost has at a share of the step, times its weight. */
static double running_cost(looker *u, const perp__plan_cost *c, double share)
{
    look_at(u, share);
    return u->value[c->weight] * u->value[c->e];
}

/* Of the present step: what the method's own rule takes the integral for, less than it is; what the
 * rule adds up, without signs. */
static double rule_is_off_by(looker *u, const perp__plan_cost *c, double *counted)
{
    const perp__program *g = u->plan->program;
    const perp__scheme *s = &g->scheme;
    double sum = 0, h = perp__program_step(g, u->plan->p, u->step);
    for (int i = 0; i < 5; i++) sum += WEIGHT[i] * running_cost(u, c, PLACE[i]);
    for (int i = 0; i < g->npoint; i++) {
        double part = s->b[i] * running_cost(u, c, s->is_weighted ? s->theta : s->c[i]);
        sum -= part;
        *counted += h * fabs(part);
    }
    return h * sum;
}

int perp__plan_quadrature(const perp_plan *plan, double *off, double *counted)
{
    const perp__program *g = plan->program;
    const perp__plan_block *b = plan->model->plan;
    looker u = {.plan = plan};
    int ok = allocate(&u);
    *off = *counted = 0;
    for (u.step = 0; ok && u.step < g->K; u.step++) {
        int phase = perp__program_phase(g, u.step);
        perp__plan_row_symbols(g, plan->w, plan->p, u.step + 1, g->npoint - 1, u.symbol, u.value);
        for (int i = 0; i < b->ncost; i++) {
            const perp__plan_cost *c = &b->cost[i];
            if (c->kind == PLAN_COST_INTEGRAL && (c->phase < 0 || c->phase == phase))
                *off += rule_is_off_by(&u, c, counted);
        }
    }
    perp__arena_clear(&u.arena);
    return ok;
}
