/* Conditions as written, from the tape of the model's own expressions, with the sizes of their
 * terms. */

#include "plan/verify.h"

#include "base/tol.h"
#include "model/inspect.h"
#include "model/instant.h"
#include "model/plan_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Errors up to SURE are not looked at more closely, nor an equation whose sides agree to CLOSE: its
 * terms only make it better. */
static const double SURE = 1e-9, CLOSE = 1e-12;
/* An unknown enters an equation when LARGE, its value on trial, makes the terms exceed the usual
 * ones so many times. */
static const double ENTERS = 1e20;
/* A node is at a time that is given in digits when it is this near: of its step, or of the time. */
static const double OF_STEP = 1e-6, OF_TIME = 1e-9;

/* The scales of the conditions (docs/adr/008-verdicts.md), computed when the first one is needed:
 * when a condition does not hold to the last digits. */
typedef struct plan_scales {
    perp__tape tape; /* of all that conditions speak of */
    double *ws;
    perp__terms *term;
    int *slot;    /* of the graph's nodes, where they are roots */
    double *size; /* states, vars, chosen inputs: the largest in the plan */
    int is_there, is_by_rows;
    perp__arena arena; /* these arrays, and the checker's */
} plan_scales;

typedef struct checker {
    const perp__program *g;
    const perp_model *m;
    const double *w, *p;
    double *symbol, *value; /* of the model's symbols, with room for values of phases; of nodes */
    perp__plan_check *check;
    plan_scales *scales;
    int step, phase, point;
    double here; /* the worst of the step */
    int failed;  /* memory */
} checker;

static double unknown(const checker *u, int c, int j)
{
    if (u->g->held && j >= u->g->nb - u->g->nu) c = u->g->npoint - 1;
    return u->w[(size_t)(c * u->g->nb + j) * (size_t)u->g->K + (size_t)u->step];
}

/* The value of an expression. All nodes up to it are evaluated, which needs no scratch of the
 * graph: several threads may share the model. */
static double value_of(const checker *u, perp_expr e)
{
    perp__graph_values_to(&u->m->graph, e, u->symbol, u->value);
    return u->value[e];
}

/* Parameters; those written in terms of free ones follow. own: of the block's `param` lines;
 * nullable. */
static void set_params_to(checker *u, const double *own)
{
    const perp_model *m = u->m;
    const perp__plan_block *b = m->plan;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        double x = item->value;
        if (!item->is_set && item->expr >= 0) x = value_of(u, item->expr);
        for (int k = 0; k < u->g->param.n; k++)
            if (u->g->param.item[k] == i) x = u->p[u->g->param.p + k];
        for (int k = 0; k < b->nparam && own; k++)
            if (b->param[k].phase == u->phase && b->param[k].item == i) x = own[k];
        u->symbol[item->symbol] = x;
    }
}

/* Those of the step's phase. Its own values are of the parameters outside of phases. */
static void set_params(checker *u)
{
    const perp__plan_block *b = u->m->plan;
    double *own = u->symbol + u->m->nsymbol;
    while (u->step >= u->g->phase.first[u->phase + 1]) u->phase++;
    for (int i = 0; i < b->distant.n; i++)
        u->symbol[b->distant.of[i].symbol] = perp__program_distant(u->g, u->w, u->p, i);
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
    if (u->step != u->g->phase.first[u->phase]) return;
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
    if (u->step == 0) return u->p[g->initial.p[g->ns + k]];
    size_t j = (size_t)((g->npoint - 1) * g->nb + g->nx + g->nv + g->nsplit + k);
    return u->w[j * (size_t)g->K + (size_t)u->step - 1];
}

static double value_at(const void *context, perp_symbol_kind kind, int i, int is_before)
{
    const checker *u = context;
    const perp__program *g = u->g;
    const double *s = u->symbol + u->m->item[kind][i].symbol;
    if (kind == PERP_STATE) return is_before ? s[PERP__PRE] : unknown(u, u->point, i);
    if (kind == PERP_VAR) return unknown(u, u->point, g->nx + i);
    int k = perp__program_input(g, i);
    if (k < 0) return s[is_before ? PERP__INPUT_PRE : PERP__NOW];
    return is_before ? input_before(u, k) : unknown(u, u->point, g->nx + g->nv + g->nsplit + k);
}

static double slope_at(const void *context, int i)
{
    const checker *u = context;
    const double *D = u->g->scheme.D[u->point];
    double sum = D[0] * value_at(u, PERP_STATE, i, 1);
    for (int j = 0; j < u->g->npoint; j++) sum += D[j + 1] * unknown(u, j, i);
    return sum / u->symbol[PERP__SYM_H];
}

/* The model's symbols at point c of the step, or at its start (c = -1). */
static void set_symbols(checker *u, int c, perp__reading reading)
{
    const perp__program *g = u->g;
    perp__numbers from = {perp__program_time(g, u->p, u->step),
                          0,
                          perp__program_step(g, u->p, u->step),
                          g->scheme.theta,
                          value_at,
                          slope_at,
                          u};
    u->point = c;
    from.time = c < 0 ? from.start : from.start + g->scheme.c[c] * from.h;
    set_before(u);
    perp__put_inputs(u->m, from.start, PERP__INPUT_PRE, u->symbol, u->value);
    perp__put_inputs(u->m, from.time, PERP__NOW, u->symbol, u->value);
    perp__put_numbers(u->m, &from, reading, u->symbol);
    perp__graph_values(&u->m->graph, u->symbol, u->value);
}

/* Scales --------------------------------------------------------------------------------------- */

/* Room for the values of all symbols and nodes. Returns 0: memory. */
static int take_symbols(checker *u, perp__arena *arena)
{
    PERP_TAKE(arena, u->symbol, u->m->nsymbol + u->m->plan->nparam);
    PERP_TAKE(arena, u->value, u->m->graph.count);
    return !arena->failed;
}

static void scales_clear(plan_scales *s)
{
    perp__tape_clear(&s->tape);
    perp__arena_clear(&s->arena);
}

/* All expressions that conditions are made of; NULL: memory. */
static perp_expr *list_roots(const perp_model *m, int *n)
{
    const perp__plan_block *b = m->plan;
    perp_expr *conditions = perp__condition_roots(m, n);
    size_t most =
        (size_t)*n + 2 * (size_t)m->npair + 5 * (size_t)m->nfriction + 3 * (size_t)b->ncondition;
    perp_expr *roots = conditions ? realloc(conditions, (most + 1) * sizeof *roots) : NULL;
    if (!roots) free(conditions);
    for (int i = 0; i < m->npair && roots; i++) {
        if (m->pair[i].guard < 0) continue;
        const perp__node *guard = &m->graph.node[m->pair[i].guard];
        roots[(*n)++] = guard->a;
        roots[(*n)++] = guard->b;
    }
    for (int i = 0; i < m->nfriction && roots; i++) {
        const perp__contact *f = &m->contact[i];
        roots[(*n)++] = f->bound;
        for (int k = 0; k < f->n; k++) {
            roots[(*n)++] = f->f[k];
            roots[(*n)++] = f->v[k];
        }
    }
    for (int i = 0; i < b->ncondition && roots; i++) {
        const perp__plan_condition *c = &b->condition[i];
        const perp_expr part[] = {c->e, c->lo, c->hi};
        for (int k = 0; k < 3; k++)
            if (part[k] >= 0) roots[(*n)++] = part[k];
    }
    return roots;
}

/* Range of unknown j: a state, a var or a chosen input. */
static const perp__item *item_of(const checker *u, int j)
{
    const perp__program *g = u->g;
    if (j < g->ns) return &u->m->item[PERP_STATE][j];
    if (j < g->ns + g->nv) return &u->m->item[PERP_VAR][j - g->ns];
    return &u->m->item[PERP_INPUT][g->input_item[j - g->ns - g->nv]];
}

static int place_of(const checker *u, int j)
{
    const perp__program *g = u->g;
    if (j < g->ns) return j;
    if (j < g->ns + g->nv) return g->nx + j - g->ns;
    return g->nx + g->nsplit + j - g->ns;
}

/* The largest absolute value of each unknown. Where that is rounding relative to its range, half
 * the range. */
static void size_by_plan(const checker *u)
{
    const perp__program *g = u->g;
    checker at = *u;
    for (int j = 0; j < g->ns + g->nv + g->nu; j++) {
        const perp__item *item = item_of(u, j);
        double range = 0.5 * (item->hi - item->lo),
               most = j < g->ns ? fabs(perp__program_pre(g, u->w, u->p, j, 0)) : 0;
        for (at.step = 0; at.step < g->K; at.step++)
            for (int c = 0; c < g->npoint; c++)
                most = fmax(most, fabs(unknown(&at, c, place_of(u, j))));
        u->scales->size[j] = isfinite(range) && most < PERP_PLAN_NOISE * range ? range : most;
    }
}

/* The terms of the symbols: their values, and those of unknowns at least their declared scales and
 * this share of their sizes. */
static void set_symbol_terms(checker *u, double share)
{
    const perp__program *g = u->g;
    plan_scales *s = u->scales;
    for (int k = 0; k < u->m->nsymbol; k++)
        s->term[k] = (perp__terms){fabs(u->symbol[k]), fabs(u->symbol[k])};
    for (int j = 0; j < g->ns + g->nv + g->nu; j++) {
        perp__terms *t = s->term + item_of(u, j)->symbol;
        double least = fmax(share * s->size[j], item_of(u, j)->scale);
        t[PERP__NOW].scale = fmax(t[PERP__NOW].scale, least);
        if (j >= g->ns + g->nv) t[PERP__INPUT_PRE].scale = fmax(t[PERP__INPUT_PRE].scale, least);
        if (j >= g->ns) continue;
        t[PERP__NEXT].scale = fmax(t[PERP__NEXT].scale, least);
        t[PERP__PRE].scale = fmax(t[PERP__PRE].scale, least);
        t[PERP__DER].rounding = 8 * s->size[j] / u->symbol[PERP__SYM_H];
    }
}

static void find_terms(checker *u)
{
    plan_scales *s = u->scales;
    memcpy(s->ws, u->symbol, (size_t)u->m->nsymbol * sizeof *s->ws);
    perp__tape_eval(&s->tape, s->ws);
    perp__tape_terms(&s->tape, s->ws, NULL, s->term);
}

/* The sum of the terms of equation i. */
static double terms_of(const checker *u, int i)
{
    const plan_scales *s = u->scales;
    const perp__equation *e = &u->m->equation[i];
    return s->term[s->slot[e->left]].scale + s->term[s->slot[e->right]].scale;
}

/* The size of each unknown by the equations at the end of the step: the least, over its equations,
 * of the sum of the other terms divided by its coefficient. States are sized by their rates,
 * times h. */
static void add_sizes_by_rows(checker *u, double *size)
{
    /* all other terms vanish beside it, so the coefficient remains */
    static const double LARGE = 1e150;
    const perp__program *g = u->g;
    plan_scales *s = u->scales;
    int is_discrete = u->m->kind == PERP_DISCRETE;
    for (int j = 0; j < g->ns + g->nv; j++) {
        int symbol = item_of(u, j)->symbol, is_state = j < g->ns;
        double least = (double)INFINITY, h = u->symbol[PERP__SYM_H];
        if (is_state) symbol += is_discrete ? PERP__NEXT : PERP__DER;
        for (int large = 0; large < 2; large++) {
            set_symbol_terms(u, 1);
            if (large) s->term[symbol].scale = LARGE;
            perp__tape_terms(&s->tape, s->ws, NULL, s->term);
            for (int i = 0; i < u->m->nequation; i++) {
                double *sum = &s->size[g->ns + g->nv + g->nu + i], terms = terms_of(u, i);
                if (!large) *sum = terms;
                if (large && terms > ENTERS * *sum) least = fmin(least, *sum / (terms / LARGE));
            }
        }
        if (is_state && !is_discrete) least *= h;
        if (isfinite(least)) size[j] = fmax(size[j], least);
    }
}

static int find_scales(checker *u)
{
    const perp__program *g = u->g;
    plan_scales *s = u->scales;
    int nsize = g->ns + g->nv + g->nu + u->m->nequation, n;
    perp_expr *roots = list_roots(u->m, &n);
    s->is_there = 1;
    PERP_TAKE(&s->arena, s->slot, u->m->graph.count);
    PERP_TAKE(&s->arena, s->size, nsize);
    if (roots && !s->arena.failed &&
        perp__tape_compile(&s->tape, &u->m->graph, roots, n, u->m->nsymbol)) {
        PERP_TAKE(&s->arena, s->ws, perp__tape_end(&s->tape));
        PERP_TAKE(&s->arena, s->term, perp__tape_end(&s->tape));
        for (int i = 0; i < n; i++) s->slot[roots[i]] = s->tape.out[i];
    }
    free(roots);
    if (!s->ws || !s->term) return 0;
    perp__tape_prepare(&s->tape, s->ws, 1);
    size_by_plan(u);
    return 1;
}

/* Unknowns that are rounding at every step, such as the velocity of a body at rest, get the size
 * that their equations make of all other sizes. Repeated until nothing grows: a position takes the
 * size of its velocity, and a force of a spring then that of the position. Where one would grow
 * twice they feed each other, by products of what is rounding, without end: then all sizes stay
 * those of the plan. */
static int find_sizes_by_rows(const checker *from)
{
    checker u = *from;
    const perp__program *g = u.g;
    size_t n = (size_t)(g->ns + g->nv);
    perp__arena arena = {0};
    double *size, *of_plan;
    int is_fed = 0; /* back */
    PERP_TAKE(&arena, size, n);
    PERP_TAKE(&arena, of_plan, n);
    int ok = take_symbols(&u, &arena);
    if (ok) memcpy(of_plan, u.scales->size, n * sizeof *size);
    u.scales->is_by_rows = 1;
    for (int s = 0; s < u.m->nsymbol && ok; s++) u.symbol[s] = NAN;
    for (size_t pass = 0, grew = 1; pass <= n && grew && ok && !is_fed; pass++) {
        memset(size, 0, n * sizeof *size);
        u.phase = 0;
        grew = 0;
        for (u.step = 0; u.step < g->K; u.step++) {
            set_params(&u);
            set_symbols(&u, g->npoint - 1, PERP__AT_POINT);
            find_terms(&u);
            add_sizes_by_rows(&u, size);
        }
        for (size_t j = 0; j < n; j++) {
            if (!(u.scales->size[j] < PERP_PLAN_NOISE * size[j])) continue;
            is_fed |= u.scales->size[j] != of_plan[j];
            u.scales->size[j] = size[j];
            grew = 1;
        }
    }
    if (is_fed) memcpy(u.scales->size, of_plan, n * sizeof *size);
    perp__arena_clear(&arena);
    return ok;
}

/* Compute the terms at the present point, in which unknowns count with at least this share of their
 * sizes. */
static void know_terms(checker *u, double share)
{
    plan_scales *s = u->scales;
    if (!s->is_there && !find_scales(u)) u->failed = 1;
    if (u->failed) return;
    set_symbol_terms(u, share);
    find_terms(u);
}

static perp__amount amount(const checker *u, perp_expr e)
{
    perp__terms t = u->failed ? (perp__terms){0, 0} : u->scales->term[u->scales->slot[e]];
    return (perp__amount){u->value[e], t.scale, PERP_ROUNDING * t.rounding};
}

/* The error of condition i of a kind; a large one once more with the sizes from the equations. */
static double judged(checker *u, double (*error_of)(checker *u, int i), int i)
{
    double error = error_of(u, i);
    if (!(error > SURE) || u->failed || !u->scales->is_there || u->scales->is_by_rows) return error;
    if (!find_sizes_by_rows(u)) u->failed = 1;
    return error_of(u, i);
}

/* Conditions ----------------------------------------------------------------------------------- */

/* Keep the worst of a kind and of all. */
static void note(checker *u, double *kind, double error, int at)
{
    double x =
        isnan(error) ? (double)INFINITY : error; /* a NaN is a violation, and stays the worst */
    if (x > *kind) *kind = x;
    if (x > u->here) u->here = x;
    if (x <= u->check->worst) return;
    u->check->worst = x;
    u->check->worst_at = at;
    u->check->worst_step = u->step;
}

static double outside(double x, double lo, double hi)
{
    if (x < lo) return lo - x;
    if (x > hi) return x - hi;
    if (isnan(x)) return (double)NAN;
    return 0;
}

/* The error of lo <= x <= hi, relative to x, the bound and the size of unknown j (-1: x is no
 * unknown of a step). */
static double range_error(checker *u, double x, double lo, double hi, int j)
{
    double off = outside(x, lo, hi), scale = fabs(x) + fabs(x < lo ? lo : hi);
    if (off == 0) return 0;
    if (j >= 0) know_terms(u, 1);
    if (j >= 0 && !u->failed) scale = fmax(scale, u->scales->size[j]);
    return perp__error_zero((perp__amount){off, scale, 0});
}

static double equation_error(checker *u, int i)
{
    const perp__equation *e = &u->m->equation[i];
    double left = u->value[e->left], right = u->value[e->right], r = fabs(left - right);
    if (r <= CLOSE * (fabs(left) + fabs(right))) return r == 0 ? 0 : r / (fabs(left) + fabs(right));
    know_terms(u, PERP_PLAN_LEAST_SCALE);
    return perp__error_zero(perp__amount_difference(amount(u, e->left), amount(u, e->right)));
}

/* Is the friction switched off? */
static int is_off(const checker *u, int i)
{
    int guard = u->m->contact[i].guard;
    return guard >= 0 && u->value[guard] == 0;
}

/* Is equation i one of an exact friction cone's, which is judged as such? */
static int is_of_cone(const checker *u, int i)
{
    int cone = perp__cone_of(u->m, i);
    return cone >= 0 && !is_off(u, cone);
}

/* Equations with a derivative, or those without. */
static void check_equations(checker *u, int with_rate)
{
    for (int i = 0; i < u->m->nequation; i++)
        if (u->g->has.rate[i] == with_rate && !is_of_cone(u, i))
            note(u, &u->check->defect, judged(u, equation_error, i), u->m->equation[i].at);
}

/* Where the guard left <= right holds, or is as good as equal, the pair may. Where it does not, or
 * so, a may be 0. */
static double guarded_error(checker *u, const perp__pair *q)
{
    const perp__node *guard = &u->m->graph.node[q->guard];
    know_terms(u, 1);
    perp__amount a = amount(u, q->a),
                 room = perp__amount_difference(amount(u, guard->b), amount(u, guard->a)),
                 passed = perp__amount_difference(amount(u, guard->a), amount(u, guard->b));
    double on = fmax(perp__error_negative(room), perp__error_pair(a, amount(u, q->b))),
           off = fmax(perp__error_negative(passed), perp__error_zero(a));
    return fmin(on, off);
}

static double pair_error(checker *u, int i)
{
    const perp__pair *q = &u->m->pair[i];
    const double *v = u->value;
    double a = v[q->a], b = v[q->b];
    if (q->guard >= 0) return guarded_error(u, q);
    if (!q->two_sided) {
        if (a >= 0 && b >= 0 && (a == 0 || b == 0)) return 0;
        know_terms(u, 1);
        return perp__error_pair(amount(u, q->a), amount(u, q->b));
    }
    double lo = v[q->lo], hi = v[q->hi];
    if (a >= lo && a <= hi && (b == 0 || (b > 0 ? a == lo : a == hi))) return 0;
    know_terms(u, 1);
    perp__amount A = amount(u, q->a), above = perp__amount_difference(A, amount(u, q->lo)),
                 below = perp__amount_difference(amount(u, q->hi), A);
    if (isnan(a) || isnan(b)) return (double)INFINITY;
    return perp__error_box(above, below, amount(u, q->b));
}

static void check_pairs(checker *u)
{
    for (int i = 0; i < u->m->npair; i++)
        note(u, &u->check->pairs, judged(u, pair_error, i), u->m->pair[i].at);
}

static double cone_error(checker *u, int i)
{
    const perp__contact *q = &u->m->contact[i];
    perp__amount f[2], v[2];
    know_terms(u, 1);
    for (int k = 0; k < 2; k++) {
        f[k] = amount(u, q->f[k]);
        v[k] = amount(u, q->v[k]);
    }
    return perp__error_friction(f, v, amount(u, q->bound));
}

/* Exact friction cones. */
static void check_cones(checker *u)
{
    for (int i = 0; i < u->m->nfriction; i++)
        if (u->m->contact[i].kind == PERP__CONTACT_CONE && !is_off(u, i))
            note(u, &u->check->pairs, judged(u, cone_error, i), u->m->contact[i].at);
}

static void check_ranges(checker *u, int c)
{
    const perp__program *g = u->g;
    const perp_model *m = u->m;
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_VAR, PERP_INPUT};
    int counts[] = {g->ns, g->nv, g->nu}, first[] = {0, g->nx, g->nx + g->nv + g->nsplit};
    for (int kind = 0, j = 0; kind < 3; kind++)
        for (int i = 0; i < counts[kind]; i++, j++) {
            int index = kind == 2 ? g->input_item[i] : i;
            const perp__item *item = &m->item[kinds[kind]][index];
            double lo = item->lo, hi = item->hi, x = unknown(u, c, first[kind] + i);
            for (int k = 0; k < m->plan->nfree && kind == 2; k++) {
                const perp__plan_free *f = &m->plan->free_[k];
                if (f->kind != PERP_INPUT || f->item != index || f->lo < 0) continue;
                lo = u->value[f->lo];
                hi = u->value[f->hi];
            }
            note(u, &u->check->bounds, range_error(u, x, lo, hi, j), item->at);
        }
}

/* Is this node at a time that is given in decimal digits: within rounding of them, and no other
 * node nearer? */
static int is_time(const checker *u, double time)
{
    double h = u->symbol[PERP__SYM_H], slack = fmax(OF_STEP * h, OF_TIME * (1 + fabs(time)));
    return fabs(u->symbol[PERP__SYM_T] - time) <= fmin(slack, 0.499 * h);
}

static int is_at(const checker *u, const perp__plan_condition *c)
{
    const perp__program *g = u->g;
    double share = c->place >= 0 ? u->value[c->place] : 0;
    int first = c->phase < 0 ? 0 : g->phase.first[c->phase],
        last = c->phase < 0 ? g->K : g->phase.first[c->phase + 1];
    if (u->step < first || u->step >= last) return 0;
    switch (c->where) {
    case PLAN_ALWAYS: return 1;
    case PLAN_END: return u->step == last - 1;
    case PLAN_SHARE: return u->step - first + 1 == (int)floor(share / 100 * (last - first) + 0.5);
    case PLAN_TIME: return is_time(u, share);
    default: return 0;
    }
}

static double condition_error(checker *u, int i)
{
    const perp__plan_condition *q = &u->m->plan->condition[i];
    const double *v = u->value;
    double lo = q->lo >= 0 ? v[q->lo] : (double)-INFINITY,
           hi = q->hi >= 0 ? v[q->hi] : (double)INFINITY, off = outside(v[q->e], lo, hi);
    if (off == 0) return 0;
    if (!isfinite(off)) return (double)INFINITY;
    know_terms(u, 1);
    return perp__error_zero(
        perp__amount_difference(amount(u, q->e), amount(u, v[q->e] < lo ? q->lo : q->hi)));
}

static void check_plan(checker *u, int c)
{
    const perp__plan_block *b = u->m->plan;
    for (int i = 0; i < b->ncondition; i++) {
        const perp__plan_condition *q = &b->condition[i];
        int begins = u->step == (q->phase < 0 ? 0 : u->g->phase.first[q->phase]);
        int here =
            c < 0 ? (q->where == PLAN_START && begins) ||
                        (q->where == PLAN_ALWAYS && perp__program_holds_first(u->g, i, u->phase))
                  : (q->where == PLAN_ALWAYS || c == u->g->npoint - 1) && is_at(u, q);
        if (!here) continue;
        note(u, &u->check->conditions, judged(u, condition_error, i), q->at);
    }
}

static void check_globals(checker *u)
{
    const perp__program *g = u->g;
    double horizon = 0;
    for (int i = 0; i < g->np; i++)
        note(u, &u->check->bounds, range_error(u, u->p[i], g->bound.plo[i], g->bound.phi[i], -1),
             u->m->plan->at);
    const perp__plan_block *b = u->m->plan;
    for (int q = 0; q < g->phase.nrun; q++) horizon += u->p[g->phase.run_p + q];
    if (!g->phase.nrun || (b->horizon < 0 && b->horizon_lo < 0)) return;
    perp_expr lo = b->is_free ? b->horizon_lo : b->horizon, hi = b->is_free ? b->horizon_hi : lo;
    note(u, &u->check->conditions,
         range_error(u, horizon, lo >= 0 ? u->value[lo] : 0,
                     hi >= 0 ? u->value[hi] : (double)INFINITY, -1),
         b->at);
}

/* States where the plan begins: within their ranges, and at the model's initial values, of
 * parameters outside of phases, unless the block says otherwise. */
static void check_initial(checker *u)
{
    const perp__program *g = u->g;
    set_params_to(u, NULL);
    perp__graph_values(&u->m->graph, u->symbol, u->value);
    for (int i = 0; i < g->ns; i++) {
        const perp__item *item = &u->m->item[PERP_STATE][i];
        double x = perp__program_pre(g, u->w, u->p, i, 0), given = item->value;
        if (!item->is_set && item->expr >= 0) given = u->value[item->expr];
        if (g->initial.is_set[i]) given = g->initial.x[i];
        if (g->initial.given[i])
            note(u, &u->check->conditions, range_error(u, x, given, given, i), item->at);
        if (g->initial.p[i] < 0)
            note(u, &u->check->bounds, range_error(u, x, item->lo, item->hi, i), item->at);
    }
}

/* What holds where a phase begins: its conditions at the start, and ranges of what links give. */
static void check_begin(checker *u)
{
    const perp__plan_block *b = u->m->plan;
    set_symbols(u, -1, PERP__AT_START);
    check_plan(u, -1);
    for (int k = 0; k < b->nlink; k++) {
        const perp__item *item = &u->m->item[PERP_STATE][b->link[k].state];
        double x = u->symbol[item->symbol + PERP__PRE];
        if (b->link[k].phase == u->phase)
            note(u, &u->check->bounds, range_error(u, x, item->lo, item->hi, b->link[k].state),
                 b->link[k].at);
    }
}

int perp__plan_verify(const perp__program *g, const double *w, const double *p,
                      perp__plan_check *check, double *residual)
{
    const perp_model *m = g->model;
    plan_scales scales = {0};
    checker u = {.g = g, .m = m, .w = w, .p = p, .check = check, .scales = &scales};
    int ok = 0;
    memset(check, 0, sizeof *check);
    check->worst_at = -1;
    if (!take_symbols(&u, &scales.arena)) goto done;
    for (int s = 0; s < m->nsymbol; s++) u.symbol[s] = NAN;
    for (u.step = 0; u.step < g->K; u.step++) {
        u.here = 0;
        if (u.step == 0) check_initial(&u);
        if (u.step == 0 || u.step == g->phase.first[u.phase + 1]) {
            set_params(&u);
            check_begin(&u);
        }
        if (u.step == 0) check_globals(&u);
        for (int c = 0; c < g->npoint; c++) {
            set_symbols(&u, c, PERP__AT_POINT);
            check_equations(&u, 0);
            check_pairs(&u);
            check_cones(&u);
            if (g->scheme.theta < 1) set_symbols(&u, c, PERP__AT_WEIGHTED);
            check_equations(&u, 1);
            if (g->scheme.theta < 1 || m->kind == PERP_DISCRETE) set_symbols(&u, c, PERP__AT_ROW);
            check_ranges(&u, c);
            check_plan(&u, c);
        }
        if (residual) residual[u.step] = u.here;
    }
    ok = !u.failed;
done:
    scales_clear(&scales);
    return ok;
}

int perp__plan_broken_start(const perp__program *g, const double *w, const double *p, double tol,
                            double *off)
{
    const perp__plan_block *b = g->model->plan;
    double *unknown_p;
    plan_scales scales = {0};
    PERP_TAKE(&scales.arena, unknown_p, g->np);
    checker u = {.g = g, .m = g->model, .w = w, .p = unknown_p, .scales = &scales};
    int broken = -2;
    if (!take_symbols(&u, &scales.arena) || !find_scales(&u)) goto done;
    memset(scales.size, 0, (size_t)(g->ns + g->nv + g->nu) * sizeof(double));
    /* chosen parameters and initial values are NaN, and with them every expression that depends on
     * them */
    for (int i = 0; i < g->np; i++)
        unknown_p[i] = g->bound.plo[i] < g->bound.phi[i] ? (double)NAN : p[i];
    for (int s = 0; s < u.m->nsymbol; s++) u.symbol[s] = NAN;
    set_params(&u);
    for (int i = 0; i < b->distant.n; i++) u.symbol[b->distant.of[i].symbol] = NAN;
    set_symbols(&u, -1, PERP__AT_START);
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
        if (here && !isnan(lo) && !isnan(hi) && *off > 0 && condition_error(&u, i) > tol)
            broken = i;
    }
done:
    scales_clear(&scales);
    return broken;
}

void perp__plan_row_symbols(const perp__program *g, const double *w, const double *p, int node,
                            int point, double *symbol, double *value)
{
    checker u = {.g = g, .m = g->model, .w = w, .p = p, .symbol = symbol, .value = value};
    for (int s = 0; s < g->model->nsymbol; s++) symbol[s] = NAN;
    u.step = node > 0 ? node - 1 : 0;
    set_params(&u);
    set_symbols(&u, node > 0 ? point : -1, node > 0 ? PERP__AT_ROW : PERP__AT_START);
}

void perp__plan_begin_symbols(const perp__program *g, const double *w, const double *p, int phase,
                              double *symbol, double *value)
{
    checker u = {.g = g, .m = g->model, .w = w, .p = p, .symbol = symbol, .value = value};
    for (int s = 0; s < g->model->nsymbol; s++) symbol[s] = NAN;
    u.step = g->phase.first[phase];
    set_params(&u);
    set_symbols(&u, -1, PERP__AT_START);
}
