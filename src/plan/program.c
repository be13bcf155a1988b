/* Programs: layout of the unknowns, compilation of values and derivatives, evaluation over the
 * stages in chunks, guesses. */

#include "base/tol.h"
#include "plan/program.h"

#include "plan/transcribe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64,
    MAX_STEPS = 1000000,
    MAX_TABLE = 10000 /* rows of an input's table, each of them a term */
}; /* stages evaluated at once: their workspace stays in cache */

static size_t at(const perp__program *g, int i, int k)
{
    return (size_t)i * (size_t)g->K + (size_t)k;
}

/* Layout -------------------------------------------------------------------------------------- */

static int is_freed(const perp__plan_block *b, perp_symbol_kind kind, int item)
{
    for (int k = 0; k < b->nfree; k++) {
        if (b->free_[k].kind == kind && b->free_[k].item == item) return 1;
    }
    return 0;
}

static int is_of_a_phase(const perp__plan_block *b, int param)
{
    for (int k = 0; k < b->nparam; k++) {
        if (b->param[k].item == param) return 1;
    }
    return 0;
}

/* The value of an expression of parameters that are not free, nor follow such, and with `phases`
 * not different in a phase either; NaN otherwise. */
static double value_unless_free(perp__transcriber *t, perp_expr e, int phases)
{
    const perp_model *m = t->model;
    double *symbol = malloc((size_t)m->nsymbol * sizeof *symbol), value = NAN;
    if (!symbol) t->failed = 1;
    for (int s = 0; s < m->nsymbol && symbol; s++) symbol[s] = NAN;
    for (int i = 0; i < m->nitem[PERP_PARAM] && symbol; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        double *x = &symbol[item->symbol];
        if (is_freed(t->block, PERP_PARAM, i) || (phases && is_of_a_phase(t->block, i))) continue;
        *x = item->value;
        if (!item->is_set && item->expr >= 0 &&
            !perp__graph_value(&m->graph, item->expr, symbol, x))
            t->failed = 1;
    }
    if (symbol && e >= 0 && !perp__graph_value(&m->graph, e, symbol, &value)) t->failed = 1;
    free(symbol);
    return value;
}

static double known_value(perp__transcriber *t, perp_expr e)
{
    return value_unless_free(t, e, 1);
}

/* Initial states: the model's, unless a condition at the start gives or frees them. */
static void read_start(perp__transcriber *t, char *is_free)
{
    perp__program *g = t->program;
    const perp_model *m = t->model;
    for (int i = 0; i < g->ns; i++) {
        g->initial.x[i] = m->item[PERP_STATE][i].value;
        is_free[i] = (char)is_freed(t->block, PERP_STATE, i);
        g->initial.given[i] = !is_free[i];
    }
    for (int k = 0; k < t->block->ncondition && !t->failed; k++) {
        const perp__plan_condition *c = &t->block->condition[k];
        if (c->where != PLAN_START || c->phase > 0) continue;
        const perp__node *node = &m->graph.node[c->e];
        double value = c->lo == c->hi ? known_value(t, c->lo) : (double)NAN;
        perp_expr parts[3] = {c->e, c->lo >= 0 ? c->lo : c->e, c->hi >= 0 ? c->hi : c->e};
        int n, *reach = perp__graph_reach(&m->graph, parts, 3, &n);
        if (!reach) t->failed = 1;
        for (int i = 0; i < g->ns && reach; i++) {
            int symbol = m->item[PERP_STATE][i].symbol;
            int fixes = node->op == PERP__SYMBOL && node->a == symbol && !isnan(value);
            if (fixes && !is_free[i]) g->initial.x[i] = value;
            if (fixes) g->initial.given[i] = 0;
            for (int r = 0; r < n && !fixes; r++) {
                const perp__node *part = &m->graph.node[reach[r]];
                if (part->op == PERP__SYMBOL && part->a == symbol) is_free[i] = 1;
            }
        }
        free(reach);
    }
    for (int i = 0; i < g->ns; i++) {
        const perp__item *item = &m->item[PERP_STATE][i];
        g->initial.given[i] = g->initial.given[i] && !is_free[i];
        if (g->initial.given[i] && !item->is_set && item->expr >= 0 &&
            isnan(value_unless_free(t, item->expr, 0)))
            is_free[i] = 1; /* it follows a free parameter */
    }
}

/* A table of a plan: expressions stand for it. */
static void check_table(perp__transcriber *t, const perp__item *item)
{
    const perp__table *table = &item->table;
    const perp__program *g = t->program;
    if (table->n > MAX_TABLE)
        perp__plan_error(t, item->at, "the table of '%s' has %d rows; a plan takes up to %d",
                         item->name, table->n, (int)MAX_TABLE);
    else if (table->points)
        perp__plan_error(t, item->at,
                         "the table of '%s' is in pieces (# held, # points); a plan takes one that "
                         "is straight between its rows",
                         item->name);
    else if (g->from < table->time[0])
        perp__plan_error(t, item->at, "the table of '%s' begins at t = %g, the plan at %g",
                         item->name, table->time[0], g->from);
}

/* Is pre() of an input written anywhere? */
static int reads_inputs_before(const perp_model *m)
{
    for (int k = 0; k < m->graph.count; k++)
        for (int i = 0; i < m->nitem[PERP_INPUT] && m->graph.node[k].op == PERP__SYMBOL; i++)
            if (m->graph.node[k].a == m->item[PERP_INPUT][i].symbol + PERP__INPUT_PRE) return 1;
    return 0;
}

/* Which inputs, parameters and initial states are unknowns. */
static int choose_unknowns(perp__transcriber *t)
{
    perp__program *g = t->program;
    const perp_model *m = t->model;
    perp__arena *arena = &g->arena;
    char *is_free;
    int most = g->ns + m->nitem[PERP_INPUT];
    PERP_TAKE(arena, is_free, g->ns);
    PERP_TAKE(arena, g->initial.given, g->ns);
    PERP_TAKE(arena, g->initial.is_set, g->ns);
    PERP_TAKE(arena, g->param.lo, m->nitem[PERP_PARAM]);
    PERP_TAKE(arena, g->param.hi, m->nitem[PERP_PARAM]);
    PERP_TAKE(arena, g->input_item, m->nitem[PERP_INPUT]);
    PERP_TAKE(arena, g->param.item, m->nitem[PERP_PARAM]);
    PERP_TAKE(arena, g->start.item, most);
    PERP_TAKE(arena, g->initial.p, most);
    PERP_TAKE(arena, g->initial.x, most);
    if (arena->failed) return 0;
    read_start(t, is_free);
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int chosen = is_freed(t->block, PERP_INPUT, i) || (item->expr < 0 && !item->table.n);
        if (chosen) g->input_item[g->nu++] = i;
        if (!chosen && item->table.n) check_table(t, item);
    }
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        if (!is_freed(t->block, PERP_PARAM, i)) continue;
        if (item->is_structural)
            perp__plan_error(t, t->block->at, "'%s' sets the size of the model and cannot be free",
                             item->name);
        g->param.lo[g->param.n] = (double)NAN;
        g->param.item[g->param.n++] = i;
    }
    if (g->scheme.is_weighted || reads_inputs_before(m)) g->nx += g->nu;
    for (int i = 0; i < g->nx; i++) {
        g->initial.p[i] = -1;
        if (i >= g->ns || is_free[i]) g->start.item[g->start.n++] = i;
    }
    g->phase.run_p = 0;
    g->param.p = g->phase.nrun;
    g->start.p = g->param.p + g->param.n;
    g->initial.distant = g->start.p + g->start.n;
    g->np = g->initial.distant + t->block->distant.n;
    for (int i = 0; i < g->start.n; i++) g->initial.p[g->start.item[i]] = g->start.p + i;
    return !t->failed;
}

/* The share of the steps that phase q asks for. */
static double steps_asked_for(perp__transcriber *t, int q)
{
    if (!t->program->phase.named) return 1;
    const perp__plan_phase *phase = &t->block->phase[q];
    double nodes = known_value(t, phase->nodes);
    if (nodes >= 2 && nodes <= 1e6 && nodes == floor(nodes)) return nodes - 1;
    perp__plan_error(t, phase->nodes_at, "nodes must be a whole number from 2 on");
    return 1;
}

/* Phases, and the steps of each: as the block has them, in proportion where their number is another
 * one. Returns 0: memory. */
static int share_steps(perp__transcriber *t)
{
    perp__program *g = t->program;
    const perp__plan_block *b = t->block;
    double runs = b->runs >= 0 ? known_value(t, b->runs) : 1, all = 0, sum = 0;
    g->phase.named = b->nphase;
    if (b->nphase) runs = b->nphase;
    int n = g->mesh.base;
    if (g->mesh.nrun && !b->nphase) {
        g->phase.n = g->mesh.nrun;
        g->phase.first = g->mesh.cut;
        return 1;
    }
    if (!(runs >= 1 && runs <= n) || runs != floor(runs)) {
        if (b->nphase)
            perp__plan_error(t, b->phase[0].at, "%d steps are too few for %d phases", n, b->nphase);
        else
            perp__plan_error(t, b->runs_at,
                             "phases must be a whole number from 1 to the number of steps, %d", n);
        runs = 1;
        g->phase.named = 0;
    }
    g->phase.n = (int)runs;
    double *asked;
    PERP_TAKE(&g->arena, asked, g->phase.n);
    PERP_TAKE(&g->arena, g->phase.first, g->phase.n + 1);
    if (g->arena.failed) return 0;
    for (int q = 0; q < g->phase.n; q++) all += asked[q] = steps_asked_for(t, q);
    g->phase.first[0] = 0;
    for (int q = 0; q < g->phase.n; q++) {
        sum += asked[q];
        double last = floor(n * sum / all + PERP_TOL_WHOLE); /* and at least a step for each */
        g->phase.first[q + 1] =
            (int)fmin(fmax(last, g->phase.first[q] + 1), n - (g->phase.n - 1 - q));
    }
    return 1;
}

/* Runs that begin at given steps. */
static void set_steps_of_runs(perp__program *g)
{
    for (int q = 0; q < g->phase.n; q++) {
        double all = 0, passed = 0;
        for (int k = g->phase.first[q]; k < g->phase.first[q + 1]; k++) all += g->mesh.length[k];
        for (int k = g->phase.first[q]; k < g->phase.first[q + 1]; k++) {
            g->phase.step[at(g, q, k)] = g->mesh.length[k] / all;
            g->phase.frac[at(g, q, k)] = passed / all;
            passed += g->mesh.length[k];
            for (int r = 0; r < q; r++) g->phase.frac[at(g, r, k)] = 1;
        }
    }
}

/* The steps that a phase asks for are of equal length. From now on phase.first counts those they
 * are divided into. */
static void set_steps(perp__program *g)
{
    const int *first = g->mesh.first;
    if (g->phase.first == g->mesh.cut) {
        set_steps_of_runs(g);
        return;
    }
    for (int q = 0; q < g->phase.n; q++) {
        int from = g->phase.first[q], n = g->phase.first[q + 1] - from;
        for (int i = 0; i < n; i++) {
            double passed = 0;
            for (int k = first[from + i]; k < first[from + i + 1]; k++) {
                g->phase.step[at(g, q, k)] = g->mesh.part[k] / n;
                g->phase.frac[at(g, q, k)] = (i + passed) / n;
                passed += g->mesh.part[k];
                for (int r = 0; r < q; r++) g->phase.frac[at(g, r, k)] = 1;
            }
        }
    }
    for (int q = 0; q <= g->phase.n; q++) g->phase.first[q] = first[g->phase.first[q]];
}

/* 0: memory */
static int take_mesh(perp__program *g, const perp__mesh *mesh)
{
    int n = g->mesh.base = mesh ? mesh->base : g->K;
    g->mesh.nrun = mesh ? mesh->nrun : 0;
    g->mesh.holds = mesh ? mesh->holds : 0;
    g->mesh.is_exact = mesh ? mesh->is_exact : 0;
    PERP_TAKE(&g->arena, g->mesh.first, n + 1);
    PERP_TAKE(&g->arena, g->mesh.part, g->K);
    if (g->mesh.nrun) PERP_TAKE(&g->arena, g->mesh.cut, g->mesh.nrun + 1);
    if (g->mesh.nrun) PERP_TAKE(&g->arena, g->mesh.length, g->K);
    for (int i = 0; !g->arena.failed && i <= n; i++) g->mesh.first[i] = mesh ? mesh->first[i] : i;
    for (int k = 0; !g->arena.failed && k < g->K; k++) g->mesh.part[k] = mesh ? mesh->part[k] : 1;
    if (g->arena.failed || !g->mesh.nrun) return !g->arena.failed;
    memcpy(g->mesh.cut, mesh->cut, ((size_t)g->mesh.nrun + 1) * sizeof *g->mesh.cut);
    memcpy(g->mesh.length, mesh->length, (size_t)g->K * sizeof *g->mesh.length);
    return !g->arena.failed;
}

int perp__program_holds_first(const perp__program *g, int condition, int q)
{
    const perp__plan_block *b = g->model->plan;
    int phase = b->condition[condition].phase, is_new = q == 0 || b->nparam > 0;
    if (!g->has.first[condition]) return 0;
    if (phase >= 0) return phase == q;
    for (int k = 0; k < b->nlink; k++) is_new |= b->link[k].phase == q;
    return is_new && (q == 0 || g->phase.named);
}

int perp__program_input(const perp__program *g, int item)
{
    int k = 0;
    while (k < g->nu && g->input_item[k] != item) k++;
    return k < g->nu ? k : -1;
}

int perp__program_phase(const perp__program *g, int k)
{
    int q = 0;
    while (k >= g->phase.first[q + 1]) q++;
    return q;
}

static int count_soft(const perp__plan_block *b)
{
    int n = 0;
    for (int i = 0; i < b->ncondition; i++) n += perp__plan_may_be_missed(&b->condition[i]);
    return n;
}

static int count_marks(const perp__plan_block *b)
{
    int n = 0;
    for (int i = 0; i < b->ncost; i++) n += b->cost[i].kind == PLAN_COST_AT;
    return n;
}

static int lay_out(perp__transcriber *t, const perp__program_options *o)
{
    perp__program *g = t->program;
    const perp_model *m = t->model;
    g->K = o->steps;
    g->pairs = o->pairs;
    g->from = o->from;
    g->scheme = perp__scheme_make(
        perp_plan_method_name(m->kind == PERP_DISCRETE ? PERP_PLAN_BACKWARD_EULER : o->method),
        o->theta);
    g->npoint = g->scheme.npoint;
    g->ns = g->nx = m->nitem[PERP_STATE];
    PERP_TAKE(&g->arena, g->has.rate, m->nequation);
    PERP_TAKE(&g->arena, g->has.first, t->block->ncondition);
    if (g->arena.failed || !take_mesh(g, o->mesh)) return 0;
    g->nv = m->nitem[PERP_VAR];
    g->held = t->block->holds_inputs || g->mesh.holds;
    for (int i = 0; i < m->npair; i++) {
        if (m->pair[i].two_sided)
            g->nsplit += 2;
        else if (m->pair[i].guard >= 0)
            g->nsplit += PERP__GUARD_PARTS;
    }
    g->corner.first = g->nsplit;
    g->corner.most = perp__plan_corners(m, g->scheme.theta < 1);
    if (g->corner.most < 0) return 0;
    g->nsplit += g->corner.most + PERP__CONE_UNKNOWNS * perp__plan_cones(m);
    if (!share_steps(t)) return 0;
    g->horizon = known_value(t, t->block->horizon);
    g->phase.nrun = t->block->is_free || g->phase.n > 1 || g->phase.named ? g->phase.n : 0;
    if (!t->block->is_free && (!t->block->nphase || t->block->horizon >= 0) &&
        !(g->horizon > 0 && isfinite(g->horizon)))
        perp__plan_error(t, t->block->horizon_at ? t->block->horizon_at : t->block->at,
                         "the plan needs a horizon: 'horizon 5', or 'horizon free'");
    if (!choose_unknowns(t)) return 0;
    g->corner.first += g->nx + g->nv;
    g->nb = g->nx + g->nv + g->nsplit + g->nu;
    g->soft.w = g->nb * g->npoint;
    g->nw = g->soft.w + 2 * (o->soft ? count_soft(t->block) : 0);
    g->sym.ncol = g->nx + g->nw + g->np;
    g->sym.step = g->sym.ncol;
    g->sym.frac = g->sym.step + g->phase.n;
    g->sym.in = g->sym.frac + g->phase.n;
    g->sym.begin = g->sym.in + g->phase.named;
    g->sym.last = g->sym.begin + g->phase.named;
    g->sym.mark = g->sym.last + g->phase.named;
    g->cost.nmark = count_marks(t->block);
    g->sym.end = g->sym.mark + g->cost.nmark;
    g->sym.relaxation = g->sym.end + 1;
    g->sym.penalty = g->sym.relaxation + 1;
    g->sym.slip = g->sym.penalty + 1;
    g->sym.ncone = perp__plan_cones(m);
    g->sym.sigma = g->sym.slip + g->sym.ncone;
    g->sym.lambda = g->sym.sigma + 1;
    g->sym.n = g->sym.lambda; /* and the rows' multipliers, once the rows are known */
    PERP_TAKE(&g->arena, g->soft.condition, g->nw - g->soft.w);
    PERP_TAKE(&g->arena, g->soft.step, g->nw - g->soft.w);
    PERP_TAKE(&g->arena, g->corner.of, g->corner.most * g->npoint);
    PERP_TAKE(&g->arena, g->cost.mark, g->cost.nmark);
    PERP_TAKE(&g->arena, g->bound.wlo, at(g, g->nw, 0));
    PERP_TAKE(&g->arena, g->bound.whi, at(g, g->nw, 0));
    PERP_TAKE(&g->arena, g->bound.plo, g->np);
    PERP_TAKE(&g->arena, g->bound.phi, g->np);
    PERP_TAKE(&g->arena, g->cost.time, g->np);
    PERP_TAKE(&g->arena, g->phase.step, at(g, g->phase.n, 0));
    PERP_TAKE(&g->arena, g->phase.frac, at(g, g->phase.n, 0));
    if (g->arena.failed) return 0;
    set_steps(g);
    return 1;
}

/* The number of stages, from k0 on, that are evaluated at once. */
static int chunk_of(const perp__program *g, int k0)
{
    return g->K - k0 < CHUNK ? g->K - k0 : CHUNK;
}

/* Compilation --------------------------------------------------------------------------------- */

typedef struct roots {
    perp_expr *e;
    int n, capacity;
} roots;

/* A derivative's entry: a number, or a root of the tape. Returns the root, -1, or -2: memory. */
static int push_root(roots *list, const perp__graph *graph, perp_expr e, double *value)
{
    const perp__node *node = &graph->node[e];
    *value = node->op == PERP__CONST ? node->value : 0;
    if (node->op == PERP__CONST) return -1;
    if (!perp__grow(&list->e, &list->capacity, list->n + 1, sizeof *list->e)) return -2;
    list->e[list->n] = e;
    return list->n++;
}

/* Append the derivatives in a sparse row, which stand in this row of the matrix. Returns 0 when
 * memory is out. */
static int push_entries(perp__program *g, perp__stage_entries *to, roots *list,
                        const perp__sparse_row *from, int row)
{
    for (int k = 0; k < from->count; k++) {
        int n = to->n, c[4] = {to->capacity, to->capacity, to->capacity, to->capacity};
        if (!perp__arena_grow(&g->arena, &to->row, &c[0], n + 1, sizeof *to->row) ||
            !perp__arena_grow(&g->arena, &to->col, &c[1], n + 1, sizeof *to->col) ||
            !perp__arena_grow(&g->arena, &to->root, &c[2], n + 1, sizeof *to->root) ||
            !perp__arena_grow(&g->arena, &to->value, &c[3], n + 1, sizeof *to->value))
            return 0;
        to->capacity = c[0];
        to->row[n] = row;
        to->col[n] = from->column[k];
        to->root[n] = push_root(list, &g->tape.graph, from->entry[k], &to->value[n]);
        if (to->root[n] == -2) return 0;
        to->n++;
    }
    return 1;
}

/* Entry n of `to` is added to by functions of the caller, whose value here is 0. */
static int push_external(perp__program *g, perp__stage_entries *to, int row, int col)
{
    perp_expr zero = perp__const(&g->tape.graph, 0);
    const perp__sparse_row entry = {.count = 1, .column = &col, .entry = &zero};
    return push_entries(g, to, NULL, &entry, row);
}

/* The external entries of row i, from `next` on, which goes on behind them. */
static int push_external_row(perp__program *g, int i, int *next)
{
    perp__external *x = g->external;
    for (; x && *next < x->njac && x->jac_row[*next] == i; ++*next) {
        x->jac_at[*next] = g->jac.n;
        if (!push_external(g, &g->jac, i, x->jac_col[*next])) return 0;
    }
    return 1;
}

static int push_external_second(perp__program *g)
{
    perp__external *x = g->external;
    int ok = 1;
    if (!x) return 1;
    x->grad_at = g->grad.n;
    x->hess_at = g->hess.n;
    for (int e = 0; e < x->ngrad && ok; e++) ok = push_external(g, &g->grad, 0, x->grad_col[e]);
    for (int e = 0; e < x->nhess && ok; e++)
        ok = push_external(g, &g->hess, x->hess_row[e], x->hess_col[e]);
    g->is_affine = g->is_quadratic = 0;
    for (int e = 0; e < x->njac; e++) g->row[x->jac_row[e]].is_affine = 0;
    return ok;
}

static int derive_rows(perp__transcriber *t, roots *list, const int *column_of)
{
    perp__program *g = t->program;
    perp__sparse_row row = {0};
    int ok = 1, next = 0;
    for (int i = 0; i < g->nrow && ok; i++)
        ok = perp__gradient(&g->tape.graph, t->row[i], column_of, &row) &&
             push_entries(g, &g->jac, list, &row, i) && push_external_row(g, i, &next);
    perp__sparse_row_clear(&row);
    return ok;
}

/* Is the length of a run given? Then what it multiplies is linear. */
static int is_given_length(const perp__program *g, int p)
{
    return p >= g->phase.run_p && p < g->phase.run_p + g->phase.nrun &&
           g->bound.plo[p] == g->bound.phi[p];
}

/* Is a row, whose degree is 2, affine in what is not given? Returns -1: memory. */
static int is_affine_beside_lengths(perp__transcriber *t, perp_expr row, int *column_of)
{
    const perp__program *g = t->program;
    int first = g->nx + g->nw, n = 0;
    for (int p = 0; p < g->np; p++)
        if (is_given_length(g, p)) {
            column_of[first + p] = -1;
            n++;
        }
    int degree = n ? perp__degree(&t->program->tape.graph, row, column_of, NULL) : 2;
    for (int p = 0; p < g->np; p++) column_of[first + p] = first + p;
    return degree < 0 ? -1 : degree < 2;
}

/* The Hessian of sigma * cost + lambda' rows, and the gradient of the cost. */
static int derive_second(perp__transcriber *t, roots *list, int *column_of)
{
    perp__program *g = t->program;
    perp__graph *graph = &g->tape.graph;
    perp__sparse_row row = {0};
    int ok =
        perp__gradient(graph, t->cost, column_of, &row) && push_entries(g, &g->grad, list, &row, 0);
    perp_expr L = perp__mul(graph, perp__symbol(graph, g->sym.sigma), t->cost);
    int kinks = perp__has_kinks(graph, t->cost, column_of),
        of_cost = perp__degree(graph, t->cost, column_of, NULL);
    ok = ok && kinks >= 0 && of_cost >= 0;
    g->cost.varies = of_cost > 0;
    g->is_affine = 1;
    g->is_quadratic = kinks == 0; /* else second derivatives say nothing of corners and jumps */
    g->has_kinks = kinks > 0;
    for (int i = 0; i < g->nrow && ok; i++) {
        int degree = perp__degree(graph, t->row[i], column_of, NULL);
        kinks = degree == 2 ? perp__has_kinks(graph, t->row[i], column_of) : 0;
        ok = degree >= 0 && kinks >= 0;
        g->has_kinks |= kinks > 0;
        int is_affine = degree == 2 ? is_affine_beside_lengths(t, t->row[i], column_of) : 1;
        ok = ok && is_affine >= 0;
        g->is_affine &= g->row[i].is_affine = is_affine > 0;
        if (degree == 2)
            L = perp__add(graph, L,
                          perp__mul(graph, perp__symbol(graph, g->sym.lambda + i), t->row[i]));
    }
    ok = ok && perp__hessian(graph, L, column_of, g->sym.ncol, &row) &&
         push_entries(g, &g->hess, list, &row, 0);
    for (int k = 0; k < row.count && ok; k++) {
        int degree = perp__degree(graph, row.entry[k], column_of, NULL);
        ok = degree >= 0;
        g->is_quadratic &= degree == 0;
    }
    for (int k = 0; k < g->hess.n && ok; k++) {
        g->hess.row[k] = g->hess.col[k] / g->sym.ncol;
        g->hess.col[k] %= g->sym.ncol;
    }
    perp__sparse_row_clear(&row);
    return ok && !graph->failed;
}

static double *ones(perp__arena *arena, int n)
{
    double *x;
    PERP_TAKE(arena, x, n);
    for (int i = 0; x && i < n; i++) x[i] = 1;
    return x;
}

int perp__program_compile(perp__transcriber *t)
{
    perp__program *g = t->program;
    roots list = {0};
    g->sym.n = g->sym.lambda + g->nrow;
    int *column_of;
    PERP_TAKE(&g->arena, column_of, g->sym.n + g->nx);
    int ok = column_of && perp__grow(&t->row, &t->crow, g->nrow + 1, sizeof *t->row);
    for (int s = 0; s < g->sym.n + g->nx && ok; s++) column_of[s] = s < g->sym.ncol ? s : -1;
    if (ok) t->row[g->nrow] = t->cost;
    ok = ok && perp__tape_compile(&g->tape.values, &g->tape.graph, t->row, g->nrow + 1, g->sym.n) &&
         (t->values_only || (derive_rows(t, &list, column_of) &&
                             derive_second(t, &list, column_of) && push_external_second(g))) &&
         perp__tape_compile(&g->tape.derivatives, &g->tape.graph, list.e, list.n,
                            perp__tape_end(&g->tape.values));
    g->unit.w = ones(&g->arena, g->nw);
    g->unit.p = ones(&g->arena, g->np);
    g->unit.r = ones(&g->arena, g->nrow);
    PERP_TAKE(&g->arena, g->tape.ws,
              (size_t)perp__tape_end(&g->tape.derivatives) * (size_t)chunk_of(g, 0));
    free(list.e);
    return ok && !g->arena.failed;
}

perp__program *perp__program_create(const perp_model *model, const perp__program_options *options,
                                    perp_status *status, perp_diag *diag)
{
    perp__program *g = calloc(1, sizeof *g);
    perp__transcriber t = {.program = g,
                           .model = model,
                           .block = model->plan,
                           .miss = options->miss,
                           .values_only = options->values_only,
                           .diag = diag};
    *status = PERP_ERR_MEMORY;
    if (!g || !perp__graph_init(&g->tape.graph)) goto done;
    g->model = model;
    t.graph = &g->tape.graph;
    int ok = lay_out(&t, options);
    if (ok && !t.errors) perp__transcribe(&t);
    if (t.errors && !t.failed && !g->tape.graph.failed) *status = PERP_ERR_MODEL;
    if (ok && !t.failed && !t.errors && perp__program_compile(&t)) *status = PERP_OK;
done:
    perp__instant_clear(&t.at);
    free(t.row);
    free(t.column_of);
    if (*status != PERP_OK) {
        perp__program_destroy(g);
        return NULL;
    }
    return g;
}

void perp__program_destroy(perp__program *g)
{
    if (!g) return;
    free(g->bound.rlo);
    free(g->bound.rhi);
    perp__tape_clear(&g->tape.values);
    perp__tape_clear(&g->tape.derivatives);
    perp__graph_clear(&g->tape.graph);
    perp__arena_clear(&g->arena);
    free(g);
}

/* Evaluation ---------------------------------------------------------------------------------- */

double perp__program_pre(const perp__program *g, const double *w, const double *p, int i, int k)
{
    if (k > 0) return w[at(g, (g->npoint - 1) * g->nb + i, k - 1)];
    return g->initial.p[i] >= 0 ? p[g->initial.p[i]] : g->initial.x[i];
}

double perp__program_distant(const perp__program *g, const double *w, const double *p, int i)
{
    const perp__plan_distant *d = &g->model->plan->distant.of[i];
    return perp__program_pre(g, w, p, d->state, d->is_end ? g->K : 0);
}

void perp__program_set_distant(const perp__program *g, const double *w, double *p)
{
    for (int i = g->initial.distant; i < g->np; i++)
        p[i] = perp__program_distant(g, w, p, i - g->initial.distant);
}

double perp__program_step(const perp__program *g, const double *p, int k)
{
    double h = 0;
    if (!g->phase.nrun) return g->phase.step[k] * g->horizon;
    for (int q = 0; q < g->phase.nrun; q++) h += g->phase.step[at(g, q, k)] * p[g->phase.run_p + q];
    return h;
}

double perp__program_time(const perp__program *g, const double *p, int k)
{
    double t = g->from;
    if (!g->phase.nrun) return t + g->phase.frac[k] * g->horizon;
    for (int q = 0; q < g->phase.nrun; q++) t += g->phase.frac[at(g, q, k)] * p[g->phase.run_p + q];
    return t;
}

static void fill(double *slot, int n, double x)
{
    for (int i = 0; i < n; i++) slot[i] = x;
}

/* 1 in steps first .. last, 0 elsewhere. */
static void mark(double *slot, int k0, int n, int first, int last)
{
    for (int k = 0; k < n; k++) slot[k] = k0 + k >= first && k0 + k <= last;
}

/* The symbols of stages k0 .. k0 + n - 1. */
static void load_symbols(perp__program *g, const perp__pairing *pairing, const double *w,
                         const double *p, int k0, int n)
{
    size_t size = (size_t)n * sizeof(double);
    double *slot = g->tape.ws;
    for (int i = 0; i < g->nx; i++, slot += n) {
        int j = (g->npoint - 1) * g->nb + i;
        if (k0 > 0) {
            memcpy(slot, w + at(g, j, k0 - 1), size);
        } else {
            slot[0] = perp__program_pre(g, w, p, i, 0);
            memcpy(slot + 1, w + at(g, j, 0), size - sizeof(double));
        }
    }
    for (int i = 0; i < g->nw; i++, slot += n) memcpy(slot, w + at(g, i, k0), size);
    for (int i = 0; i < g->np; i++, slot += n) fill(slot, n, p[i]);
    const int *first = g->phase.first, K = g->K;
    for (int q = 0; q < g->phase.n; q++, slot += n)
        memcpy(slot, g->phase.step + at(g, q, k0), size);
    for (int q = 0; q < g->phase.n; q++, slot += n)
        memcpy(slot, g->phase.frac + at(g, q, k0), size);
    for (int q = 0; q < g->phase.named; q++, slot += n)
        mark(slot, k0, n, first[q], first[q + 1] - 1);
    for (int q = 0; q < g->phase.named; q++, slot += n) mark(slot, k0, n, first[q], first[q]);
    for (int q = 0; q < g->phase.named; q++, slot += n)
        mark(slot, k0, n, first[q + 1] - 1, first[q + 1] - 1);
    for (int i = 0; i < g->cost.nmark; i++, slot += n)
        mark(slot, k0, n, g->cost.mark[i], g->cost.mark[i]);
    mark(slot, k0, n, K - 1, K - 1);
    slot += n;
    fill(slot, n, pairing ? pairing->relaxation : 0);
    fill(slot + n, n, pairing ? pairing->penalty : 0);
    slot += 2 * n;
    const double *unit = g->unit.w + g->nx + g->nv + g->nsplit - PERP__CONE_UNKNOWNS * g->sym.ncone;
    for (int i = 0; i < g->sym.ncone; i++, slot += n)
        fill(slot, n, unit[PERP__CONE_UNKNOWNS * i + PERP__CONE_UNKNOWNS - 1]);
}

long perp__program_place(const perp__program *g, int col, int k)
{
    long nW = (long)g->nw * g->K;
    if (col >= g->nx + g->nw) return nW + col - g->nx - g->nw;
    if (col >= g->nx) return (long)(col - g->nx) * g->K + k;
    if (k > 0) return (long)((g->npoint - 1) * g->nb + col) * g->K + k - 1;
    return g->initial.p[col] >= 0 ? nW + g->initial.p[col] : -1;
}

/* Less eps in the units of the sides. As a term of the row's formula it would drown what is far
 * smaller. */
static void relax_products(const perp__program *g, double eps, double *r)
{
    for (int i = 0; i < g->npair && eps > 0 && g->pairs != PERP_PLAN_FISCHER_BURMEISTER; i++) {
        int row = g->pair[i].product;
        if (row < 0) continue;
        double unit = g->unit.differ ? g->unit.r[row] : g->pair[i].scale;
        for (int k = 0; k < g->K; k++) r[at(g, row, k)] -= unit * eps;
    }
    for (int i = 0; i < PERP__KEPT * g->npair && eps > 0; i++) {
        const perp__plan_pair *pair = &g->pair[i / PERP__KEPT];
        if (pair->kept < 0) continue;
        int row = pair->kept + i % PERP__KEPT;
        double unit = g->unit.differ ? g->unit.r[row] : 1;
        for (int k = 0; k < g->K; k++) r[at(g, row, k)] -= unit * eps;
    }
}

void perp__program_values(perp__program *g, const perp__pairing *pairing, const double *w,
                          const double *p, double *r, double *cost)
{
    double total = g->cost.fixed;
    for (int i = 0; i < g->np; i++)
        if (g->cost.time[i] != 0) total += g->cost.time[i] * p[i];
    for (int k0 = 0; k0 < g->K; k0 += CHUNK) {
        int n = chunk_of(g, k0);
        load_symbols(g, pairing, w, p, k0, n);
        perp__tape_prepare(&g->tape.values, g->tape.ws, n);
        perp__tape_eval_many(&g->tape.values, g->tape.ws, n);
        for (int i = 0; i < g->nrow; i++)
            memcpy(r + at(g, i, k0), g->tape.ws + (size_t)g->tape.values.out[i] * (size_t)n,
                   (size_t)n * sizeof *r);
        const double *f = g->tape.ws + (size_t)g->tape.values.out[g->nrow] * (size_t)n;
        for (int k = 0; k < n; k++) total += f[k];
    }
    relax_products(g, pairing ? pairing->relaxation : 0, r);
    if (g->external) g->external->add_values(g->external->context, w, r, &total);
    *cost = total;
}

/* Copy the roots of a kind of derivative to their entries; constants are filled in. */
static void store(const perp__program *g, const perp__stage_entries *of, int k0, int n, double *to)
{
    for (int e = 0; e < of->n; e++) {
        if (of->root[e] < 0)
            fill(to + at(g, e, k0), n, of->value[e]);
        else
            memcpy(to + at(g, e, k0),
                   g->tape.ws + (size_t)g->tape.derivatives.out[of->root[e]] * (size_t)n,
                   (size_t)n * sizeof *to);
    }
}

void perp__program_derivatives(perp__program *g, const perp__pairing *pairing, const double *w,
                               const double *p, const double *lambda, double sigma, double *jac,
                               double *grad, double *hess)
{
    for (int k0 = 0; k0 < g->K; k0 += CHUNK) {
        int n = chunk_of(g, k0);
        load_symbols(g, pairing, w, p, k0, n);
        fill(g->tape.ws + (size_t)g->sym.sigma * (size_t)n, n, sigma);
        for (int i = 0; i < g->nrow; i++) {
            double *slot = g->tape.ws + (size_t)(g->sym.lambda + i) * (size_t)n;
            if (lambda)
                memcpy(slot, lambda + at(g, i, k0), (size_t)n * sizeof *slot);
            else
                fill(slot, n, 0);
        }
        perp__tape_prepare(&g->tape.derivatives, g->tape.ws, n);
        perp__tape_eval_many(&g->tape.derivatives, g->tape.ws, n);
        store(g, &g->jac, k0, n, jac);
        store(g, &g->grad, k0, n, grad);
        if (hess) store(g, &g->hess, k0, n, hess);
    }
    perp__external *x = g->external;
    if (!x) return;
    x->slopes(x->context, w, x->jac, grad + x->grad_at);
    for (int e = 0; e < x->njac; e++) jac[x->jac_at[e]] = x->jac[e];
    if (hess) x->curvatures(x->context, w, lambda, sigma, hess + x->hess_at);
}
