/* Any program as a plan of one stage (docs/adr/016). Its rows, pairs and objective are in a graph
 * of the planner's. The planner searches from one initial guess after another. */

#include "base/tol.h"
#include "plan/plan.h"
#include "plan/transcribe.h"
#include "program/program_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Hessians are numbered by pairs of unknowns. */
enum { MOST_UNKNOWNS = 46000 };

typedef struct builder {
    perp__transcriber t;
    const perp__nl *nl;
    int *row_of; /* ncon: the row of the plan, or -1 if it is a bound */
    int nsplit;
    /* of callbacks, ncon: the row that a value is added to; the unknown that it is, of pairs */
    int *given_row, *link;
    int nlink;
} builder;

/* The whole of row i (or an objective, behind them): its expression and its linear terms. */
static perp_expr whole_row(builder *b, int i, perp_expr e)
{
    perp__graph *g = b->t.graph;
    const perp__linear *l = &b->nl->linear;
    if (b->nl->callbacks) return i < b->nl->ncon ? perp__symbol(g, b->link[i]) : e;
    for (int k = l->first[i]; k < l->first[i] + l->count[i]; k++)
        e = perp__add(g, e,
                      perp__mul(g, perp__const(g, l->coefficient[k]), perp__symbol(g, l->var[k])));
    return e;
}

/* Is row i sign (x_k - offset)? Then the symbol of x_k, else -1. */
static perp_expr bare_row(builder *b, int i, double *sign, double *offset)
{
    const perp__nl *nl = b->nl;
    const perp__node *node = &b->t.graph->node[nl->row[i]];
    int at = nl->linear.first[i];
    *sign = 1;
    *offset = 0;
    if (nl->callbacks) return perp__symbol(b->t.graph, b->link[i]);
    if (nl->linear.count[i] != 1 || node->op != PERP__CONST) return -1;
    *sign = nl->linear.coefficient[at];
    *offset = -*sign * node->value;
    return fabs(*sign) == 1 ? perp__symbol(b->t.graph, nl->linear.var[at]) : -1;
}

/* One face of a pair: 0 <= sign (x - bound) perp sign row >= 0. `part`: what stands for the row's
 * positive part, or -1. */
static void add_face(builder *b, int i, int half, double sign, perp_expr part, perp__plan_pair pair)
{
    perp__graph *g = b->t.graph;
    const perp__nl *nl = b->nl;
    const perp__pair of = {.text = "pair"};
    int j = nl->pairs.var[i];
    double bound = sign > 0 ? nl->lo[j] : nl->hi[j], row_sign = 1, offset = 0;
    perp_expr x = perp__symbol(g, j), from = perp__sub(g, x, perp__const(g, bound)), row = part,
              unknown = part;
    if (sign < 0) from = perp__neg(g, from);
    if (part < 0) {
        row = whole_row(b, i, nl->row[i]);
        if (sign < 0) row = perp__neg(g, row);
        unknown = bare_row(b, i, &row_sign, &offset);
        row_sign *= sign;
    }
    pair.half = half;
    perp__add_side(&b->t, &pair, 0, from, &of, sign, x, bound);
    perp__add_side(&b->t, &pair, 1, row, &of, row_sign, unknown, offset);
    if (part < 0) b->row_of[i] = pair.row[1];
    perp__join_sides(&b->t, &pair, from, row, &of);
    perp__push_pair(&b->t, pair);
}

static void add_pair(builder *b, int i, int *split)
{
    perp__graph *g = b->t.graph;
    const perp__nl *nl = b->nl;
    perp__plan_pair pair = {.pair = i, .parts = -1, .switched = -1, .kept = -1, .scale = 1};
    int both = nl->pairs.lower[i] && nl->pairs.upper[i];
    if (both) {
        perp_expr plus = perp__symbol(g, *split), minus = perp__symbol(g, *split + 1),
                  row = whole_row(b, i, nl->row[i]);
        double width = nl->hi[nl->pairs.var[i]] - nl->lo[nl->pairs.var[i]];
        *split += 2;
        if (width > 0 && width < 1) pair.scale = width;
        pair.parts = b->row_of[i] =
            perp__add_row(&b->t, perp__sub(g, row, perp__sub(g, plus, minus)), 0, 0, "pair", 0, -1);
        add_face(b, i, 0, 1, plus, pair);
        add_face(b, i, 1, -1, minus, pair);
    } else if (nl->pairs.lower[i] || nl->pairs.upper[i]) {
        add_face(b, i, 0, nl->pairs.lower[i] ? 1 : -1, -1, pair);
    } else {
        b->row_of[i] = perp__add_row(&b->t, whole_row(b, i, nl->row[i]), 0, 0, "pair", 0, -1);
    }
}

/* One stage of nothing but unknowns: those of the file, and the parts of rows that complement both
 * bounds. */
static int lay_out(builder *b)
{
    perp__program *g = b->t.program;
    const perp__nl *nl = b->nl;
    g->K = g->npoint = 1;
    g->nw = g->nb = g->nv = g->soft.w = nl->nvar + b->nsplit + b->nlink;
    g->sym.ncol = g->sym.step = g->sym.frac = g->nw;
    g->sym.in = g->sym.begin = g->sym.last = g->sym.end = g->nw;
    g->sym.relaxation = g->sym.end + 1;
    g->sym.penalty = g->sym.relaxation + 1;
    g->sym.sigma = g->sym.penalty + 1;
    g->sym.lambda = g->sym.n = g->sym.sigma + 1;
    PERP_TAKE(&g->arena, g->bound.wlo, g->nw);
    PERP_TAKE(&g->arena, g->bound.whi, g->nw);
    PERP_TAKE(&g->arena, g->bound.plo, g->np); /* there are none: not NULL */
    PERP_TAKE(&g->arena, g->bound.phi, g->np);
    PERP_TAKE(&g->arena, g->cost.time, g->np);
    g->bound.rlo = malloc(sizeof *g->bound.rlo); /* there may be no rows */
    g->bound.rhi = malloc(sizeof *g->bound.rhi);
    if (g->arena.failed || !g->bound.rlo || !g->bound.rhi) return 0;
    for (int j = 0; j < g->nw; j++) {
        int is_part = j < nl->nvar + b->nsplit;
        if (j < nl->nvar)
            g->bound.wlo[j] = nl->lo[j];
        else if (is_part)
            g->bound.wlo[j] = 0;
        else
            g->bound.wlo[j] = -(double)INFINITY;
        g->bound.whi[j] = j < nl->nvar ? nl->hi[j] : (double)INFINITY;
    }
    return 1;
}

/* Callbacks ------------------------------------------------------------------------------------ */

/* Rows of pairs are unknowns of their own, F_i(x) - y_i = 0, so that what is the caller's enters
 * rows alone. */
typedef struct given {
    const perp_program *p;
    const int *row; /* ncon: of the plan */
    double *all, *multiplier;
} given;

static void add_values(void *context, const double *w, double *rows, double *cost)
{
    const given *c = context;
    int n = c->p->nl->ncon;
    perp__callbacks_at(c->p->nl, w, 0, c->all);
    for (int i = 0; i < n; i++) rows[c->row[i]] += c->all[i];
    if (c->p->objective >= 0) *cost += c->p->sign * c->all[n];
}

static void give_slopes(void *context, const double *w, double *jac, double *grad)
{
    const given *c = context;
    const perp__nl *nl = c->p->nl;
    int first = perp__callbacks_jacobian(nl), end = perp__callbacks_gradient(nl);
    perp__callbacks_at(nl, w, 1, c->all);
    memcpy(jac, c->all + first, (size_t)(end - first) * sizeof *jac);
    for (int j = 0; j < nl->nvar && c->p->objective >= 0; j++)
        grad[j] = c->p->sign * c->all[end + j];
}

static void give_curvatures(void *context, const double *w, const double *lambda, double sigma,
                            double *hess)
{
    const given *c = context;
    const perp_program_callbacks *of = c->p->nl->callbacks;
    for (int i = 0; i < c->p->nl->ncon; i++) c->multiplier[i] = lambda ? lambda[c->row[i]] : 0;
    double weight = c->p->objective >= 0 ? sigma * c->p->sign : 0;
    if (of->curvatures && of->hessian(of->context, w, weight, c->multiplier, hess))
        for (int e = 0; e < of->curvatures; e++) hess[e] = (double)NAN;
}

/* What the plan's program has to know of them. Rows were added in their order. */
static int put_callbacks(builder *b, perp_program *p)
{
    perp__program *g = b->t.program;
    const perp__nl *nl = p->nl;
    const perp_program_callbacks *c = nl->callbacks;
    perp__external *x;
    given *context;
    if (!c) return 1;
    int njac = c->row_start[nl->ncon], ngrad = p->objective >= 0 ? nl->nvar : 0;
    PERP_TAKE(&g->arena, x, 1);
    PERP_TAKE(&g->arena, context, 1);
    if (!x || !context) return 0;
    PERP_TAKE(&g->arena, context->all, perp__callbacks_size(nl));
    PERP_TAKE(&g->arena, context->multiplier, nl->ncon + 1);
    PERP_TAKE(&g->arena, x->jac_row, njac + 1);
    PERP_TAKE(&g->arena, x->jac_at, njac + 1);
    PERP_TAKE(&g->arena, x->jac, njac + 1);
    PERP_TAKE(&g->arena, x->grad_col, ngrad + 1);
    if (g->arena.failed) return 0;
    context->p = p;
    context->row = b->given_row;
    x->njac = njac;
    x->ngrad = ngrad;
    x->nhess = c->curvatures;
    x->jac_col = c->column;
    x->hess_row = c->hessian_row;
    x->hess_col = c->hessian_column;
    for (int i = 0; i < nl->ncon; i++)
        for (int e = c->row_start[i]; e < c->row_start[i + 1]; e++) x->jac_row[e] = b->given_row[i];
    for (int j = 0; j < ngrad; j++) x->grad_col[j] = j;
    x->context = context;
    x->add_values = add_values;
    x->slopes = give_slopes;
    x->curvatures = give_curvatures;
    g->external = x;
    return 1;
}

/* The row to which the caller's value is added. */
static void add_given_row(builder *b, int i)
{
    perp__graph *g = b->t.graph;
    const perp__nl *nl = b->nl;
    int is_pair = nl->pairs.var[i] >= 0;
    perp_expr e = is_pair ? perp__neg(g, perp__symbol(g, b->link[i])) : perp__const(g, 0);
    b->given_row[i] = b->row_of[i] =
        perp__add_row(&b->t, e, is_pair ? 0 : nl->rlo[i], is_pair ? 0 : nl->rhi[i], "row", 0, -1);
}

static int transcribe(builder *b, perp_program *p)
{
    const perp__nl *nl = p->nl;
    perp__graph *g = b->t.graph;
    int split = nl->nvar;
    for (int i = 0; i < nl->ncon && !b->t.failed; i++) {
        if (nl->callbacks) {
            add_given_row(b, i);
            if (nl->pairs.var[i] >= 0) add_pair(b, i, &split);
            b->row_of[i] = b->given_row[i];
        } else if (nl->pairs.var[i] >= 0)
            add_pair(b, i, &split);
        else
            b->row_of[i] = perp__add_row(&b->t, whole_row(b, i, nl->row[i]), nl->rlo[i], nl->rhi[i],
                                         "row", 0, -1);
    }
    b->t.cost = perp__const(g, 0);
    if (p->objective >= 0)
        b->t.cost = perp__mul(g, perp__const(g, p->sign),
                              whole_row(b, nl->ncon + p->objective, nl->objective[p->objective]));
    return !b->t.failed && !g->failed && put_callbacks(b, p) && perp__program_compile(&b->t);
}

/* The program as a plan's; NULL: memory. */
static perp__program *make_program(perp_program *p, int *row_of)
{
    const perp__nl *nl = p->nl;
    perp__program *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    builder b = {.t = {.program = g, .graph = &g->tape.graph}, .nl = nl, .row_of = row_of};
    for (int i = 0; i < nl->ncon; i++) {
        row_of[i] = -1;
        b.nsplit += nl->pairs.var[i] >= 0 && nl->pairs.lower[i] && nl->pairs.upper[i] ? 2 : 0;
    }
    PERP_TAKE(&g->arena, b.given_row, nl->ncon + 1);
    PERP_TAKE(&g->arena, b.link, nl->ncon + 1);
    for (int i = 0; i < nl->ncon && !g->arena.failed && nl->callbacks; i++)
        if (nl->pairs.var[i] >= 0) b.link[i] = nl->nvar + b.nsplit + b.nlink++;
    int ok = !g->arena.failed && perp__graph_clone(&g->tape.graph, &nl->graph) && lay_out(&b) &&
             transcribe(&b, p);
    free(b.t.row);
    if (ok) return g;
    perp__program_destroy(g);
    return NULL;
}

/* Starts --------------------------------------------------------------------------------------- */

static int judge(const void *context, const double *w, perp__plan_check *check)
{
    const perp_program *p = context;
    perp__judgement j = perp__judge_point(&p->judge, w);
    *check = (perp__plan_check){
        .defect = j.rows, .pairs = j.pairs, .bounds = j.bounds, .worst = j.worst, .worst_at = -1};
    return 1;
}

static int is_better(const perp_plan_result *a, const perp_plan_result *b)
{
    int holds = perp_plan_holds(a->outcome), other = perp_plan_holds(b->outcome);
    if (!holds || !other) return holds;
    if (fabs(a->cost - b->cost) > PERP_PLAN_SAME_COST * fmax(fabs(a->cost), fabs(b->cost)))
        return a->cost < b->cost;
    return a->outcome < b->outcome;
}

static void keep(perp_program *p, const perp_plan *plan, const int *row_of,
                 const perp_plan_result *found, perp_program_result *result)
{
    memcpy(p->x, plan->w, (size_t)p->nl->nvar * sizeof *p->x);
    for (int i = 0; i < p->nl->ncon; i++)
        p->dual[i] = row_of[i] >= 0 ? -p->sign * plan->lambda[row_of[i]] : 0;
    result->outcome = found->outcome;
    result->stationarity = found->stationarity;
    result->both_zero = found->both_zero;
    result->weak = found->weak;
    result->curvature = found->curvature;
}

/* Start after start: the tries that are asked for, then restarts while no point is stationary.
 * Returns 0: memory. */
static int run_starts(perp_program *p, perp_plan *plan, const int *row_of,
                      perp_program_result *result)
{
    const perp_program_options *o = &p->options;
    perp_plan_result best = {.outcome = PERP_PLAN_LIMIT}, now;
    for (int run = 0; run < o->tries + o->restarts; run++) {
        if (run >= o->tries && best.outcome <= PERP_PLAN_STATIONARY_B && best.curvature >= 0) break;
        plan->iterations = 0;
        memset(&now, 0, sizeof now);
        perp__plan_set_start(plan, run);
        if (!perp__plan_run(plan, run, &now)) return 0;
        result->iterations += plan->iterations;
        result->starts++;
        if (run > 0 && !is_better(&now, &best)) continue;
        best = now;
        keep(p, plan, row_of, &now, result);
    }
    return 1;
}

/* The unknowns that stand for rows of callbacks, at the start. */
static void guess_links(const perp_program *p, const perp__program *g, double *w)
{
    if (!g->external) return;
    const given *c = g->external->context;
    int place = g->nw, n = p->nl->ncon;
    if (!perp__callbacks_at(p->nl, w, 0, c->all)) return;
    for (int i = n - 1; i >= 0; i--)
        if (p->nl->pairs.var[i] >= 0) w[--place] = c->all[i];
}

perp_status perp__program_search(perp_program *p, perp_program_result *result)
{
    const perp__nl *nl = p->nl;
    perp_plan_options o;
    perp_plan_options_fill(&o, sizeof o, NULL);
    o.max_iter = p->options.max_iter;
    o.seed = p->options.seed;
    o.verify_tol = p->options.tol;
    o.replay = 0;
    result->method = "search";
    if (nl->nvar + 2 * nl->pairs.n > MOST_UNKNOWNS) return PERP_ERR_DIM;
    int *row_of = malloc(((size_t)nl->ncon + 1) * sizeof *row_of);
    perp__program *g = row_of ? make_program(p, row_of) : NULL;
    perp_plan *plan = g ? perp__plan_of_program(g, &o, (perp__plan_judge){judge, p}) : NULL;
    int ok = plan != NULL;
    if (ok) {
        memcpy(plan->initial.w, nl->start, (size_t)nl->nvar * sizeof *nl->start);
        guess_links(p, g, plan->initial.w);
        ok = run_starts(p, plan, row_of, result);
    }
    if (ok) perp__program_check(p, result);
    perp_plan_destroy(plan);
    free(row_of);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}
