/* The conditions on states alone, before any step. Vars that equations set, and rates that they
 * determine, are substituted in the others until nothing more is determined. An equation that then
 * reads states alone is a condition of the start. */

#include "simulate/starts.h"

#include "base/tol.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is needed only while the rows are written. Symbols have the numbers that they have in the
 * model. */
typedef struct writing {
    perp__starts *at;
    const perp_model *model;
    perp__graph graph;
    perp_expr *map;          /* symbol of the model -> what it is made of, or -1 */
    int *column;             /* scratch: symbol -> column of a gradient, or -1 */
    int *by;                 /* symbol -> state, or -1 */
    char *is_unknown;        /* symbol: a var, or the derivative of a state */
    char *is_used;           /* equation: it tells one of these */
    perp_expr *root;         /* of the tape: rows, then guards and bounds */
    perp__sparse_row *slope; /* of each row */
    int nroot;
} writing;

/* What is told --------------------------------------------------------------------------------- */

/* How many symbols of these expressions are not told, with one of them in *symbol; -1: one that
 * never is, such as h; -2: memory. */
static int untold(const writing *w, const perp_expr *root, int nroot, int *symbol)
{
    int n, count = 0, *reach = perp__graph_reach(&w->model->graph, root, nroot, &n);
    if (!reach) return -2;
    for (int k = 0; k < n && count >= 0; k++) {
        const perp__node *node = &w->model->graph.node[reach[k]];
        if (node->op != PERP__SYMBOL || w->map[node->a] >= 0) continue;
        *symbol = node->a;
        count = w->is_unknown[node->a] ? count + 1 : -1;
    }
    free(reach);
    return count;
}

static perp_expr told(writing *w, perp_expr e)
{
    perp_expr copy = 0;
    perp__graph_copy(&w->graph, &w->model->graph, &e, 1, w->map, &copy);
    return copy;
}

static perp_expr difference(writing *w, const perp__equation *e)
{
    perp_expr left = told(w, e->left);
    return perp__sub(&w->graph, left, told(w, e->right));
}

/* An equation that is affine in its one unknown tells it: u = -(row without it) / its slope. */
static int tell_by(writing *w, const perp__equation *e, int unknown)
{
    perp__graph *g = &w->graph;
    perp__sparse_row d = {0};
    w->map[unknown] = perp__symbol(g, unknown);
    perp_expr row = difference(w, e);
    w->map[unknown] = perp__const(g, 0);
    perp_expr rest = difference(w, e);
    w->map[unknown] = -1;
    w->column[unknown] = 0;
    int is_told = !g->failed && perp__degree(g, row, w->column, NULL) == 1 &&
                  perp__gradient(g, row, w->column, &d) && d.count == 1;
    w->column[unknown] = -1;
    if (is_told) w->map[unknown] = perp__neg(g, perp__div(g, rest, d.entry[0]));
    perp__sparse_row_clear(&d);
    return is_told;
}

/* Does this equation tell an unknown now? An x = ... does as it stands. Returns -1: memory is
 * out. */
static int tells(writing *w, const perp__equation *e)
{
    const perp__node *left = &w->model->graph.node[e->left];
    int is_bare = left->op == PERP__SYMBOL && w->map[left->a] < 0 && w->is_unknown[left->a];
    perp_expr root[2] = {e->right, e->left};
    int symbol, count = untold(w, root, is_bare ? 1 : 2, &symbol);
    if (count == -2) return -1;
    if (is_bare && count == 0) {
        w->map[left->a] = told(w, e->right);
        return 1;
    }
    return count == 1 && (!is_bare || symbol == left->a) && tell_by(w, e, symbol);
}

/* All that equations tell, one after the other. Returns 0 when memory is out. */
static int tell_all(writing *w)
{
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < w->model->nequation; i++) {
            int is_new = w->is_used[i] ? 0 : tells(w, &w->model->equation[i]);
            if (is_new < 0) return 0;
            if (is_new) {
                w->is_used[i] = 1;
                more = 1;
            }
        }
    }
    return !w->graph.failed;
}

/* Rows ----------------------------------------------------------------------------------------- */

static int add_root(writing *w, perp_expr e)
{
    w->root[w->nroot] = e;
    return w->nroot++;
}

/* The derivatives of e by states. Are there any; is one of them a velocity? */
static int derive(writing *w, perp_expr e, perp__sparse_row *d, int *has_velocity)
{
    if (!perp__gradient(&w->graph, e, w->by, d)) w->graph.failed = 1;
    *has_velocity = 0;
    for (int k = 0; k < d->count; k++) *has_velocity |= w->at->is_velocity[d->column[k]];
    return !w->graph.failed && d->count > 0;
}

/* The row e, if it reads states, as it must unless it is a width. */
static perp__start_row *add_row(writing *w, perp__start_kind kind, int of, perp_expr e)
{
    perp__starts *s = w->at;
    perp__start_row *row = &s->row[s->n];
    *row = (perp__start_row){.kind = kind, .of = of, .guard = -1, .bound = -1};
    int reads = derive(w, e, &w->slope[s->n], &row->moves_rates);
    if (!reads && kind != PERP__START_WIDTH) return NULL;
    w->root[s->n++] = e;
    return row;
}

/* The derivative by the time of the row that was added last, which is made of positions. Inputs
 * that are numbers have their slopes where what they were before stands. */
static perp_expr rate(writing *w)
{
    const perp_model *m = w->model;
    perp__graph *g = &w->graph;
    const perp__sparse_row *d = &w->slope[w->at->n - 1];
    perp__sparse_row more = {0};
    perp_expr sum = perp__const(g, 0);
    for (int k = 0; k < d->count; k++) {
        perp_expr x = w->map[m->item[PERP_STATE][d->column[k]].symbol + PERP__DER];
        sum = perp__add(g, sum, perp__mul(g, d->entry[k], x));
    }
    w->column[PERP__SYM_T] = 0;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) w->column[m->item[PERP_INPUT][i].symbol] = 1 + i;
    if (!perp__gradient(g, w->root[w->at->n - 1], w->column, &more)) g->failed = 1;
    for (int k = 0; k < more.count && !g->failed; k++) {
        int i = more.column[k] - 1;
        perp_expr by = i < 0 ? perp__const(g, 1)
                             : perp__symbol(g, m->item[PERP_INPUT][i].symbol + PERP__INPUT_PRE);
        sum = perp__add(g, sum, perp__mul(g, more.entry[k], by));
    }
    w->column[PERP__SYM_T] = -1;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) w->column[m->item[PERP_INPUT][i].symbol] = -1;
    perp__sparse_row_clear(&more);
    return sum;
}

static int add_equation(writing *w, int i)
{
    const perp__equation *e = &w->model->equation[i];
    perp_expr root[2] = {e->left, e->right};
    int symbol, count = w->is_used[i] ? -1 : untold(w, root, 2, &symbol);
    if (count != 0) return count != -2;
    perp__start_row *row = add_row(w, PERP__START_EQUATION, i, difference(w, e));
    if (row && !row->moves_rates) add_row(w, PERP__START_RATE, i, rate(w));
    return 1;
}

/* Is everything in these told? Returns -1: memory is out. */
static int is_told(const writing *w, const perp_expr *root, int nroot)
{
    int symbol, count = untold(w, root, nroot, &symbol);
    return count == -2 ? -1 : count == 0;
}

static int add_side(writing *w, int i, int side, int guard)
{
    const perp__pair *p = &w->model->pair[i];
    perp_expr e = side ? p->b : p->a;
    int ok = is_told(w, &e, 1);
    perp__start_row *row = ok > 0 ? add_row(w, PERP__START_SIDE, i, told(w, e)) : NULL;
    if (row) {
        row->side = side;
        row->guard = guard;
    }
    return ok >= 0;
}

static int add_bounds(writing *w, int i, int guard)
{
    const perp__pair *p = &w->model->pair[i];
    perp_expr lo_hi[2] = {p->lo, p->hi}, bound[2], a = p->a;
    int ok = is_told(w, lo_hi, 2);
    if (ok <= 0) return ok == 0;
    for (int k = 0; k < 2; k++) bound[k] = told(w, lo_hi[k]);
    perp__start_row *row =
        add_row(w, PERP__START_WIDTH, i, perp__sub(&w->graph, bound[1], bound[0]));
    int first = add_root(w, bound[0]);
    add_root(w, bound[1]);
    if (row) {
        row->guard = guard;
        row->bound = first;
    }
    ok = is_told(w, &a, 1);
    for (int k = 0; k < 2 && ok > 0; k++) {
        a = told(w, p->a);
        row = add_row(w, k ? PERP__START_UPPER : PERP__START_LOWER, i,
                      k ? perp__sub(&w->graph, bound[1], a) : perp__sub(&w->graph, a, bound[0]));
        if (row) {
            row->guard = guard;
            row->bound = first + k;
        }
    }
    return ok >= 0;
}

static int add_pair(writing *w, int i)
{
    const perp__pair *p = &w->model->pair[i];
    int guard = -1, ok = 1;
    if (p->guard >= 0) {
        ok = is_told(w, &p->guard, 1);
        if (ok <= 0) return ok == 0; /* nobody knows whether it is on */
        guard = add_root(w, told(w, p->guard));
    }
    if (p->two_sided) return add_bounds(w, i, guard);
    return add_side(w, i, 0, guard) && add_side(w, i, 1, guard);
}

/* Memory --------------------------------------------------------------------------------------- */

/* An input has the value of a symbol if it is set, is a table or a number; else it is its
 * function. */
static perp_expr input_of(const writing *w, int i)
{
    const perp__item *item = &w->model->item[PERP_INPUT][i];
    int slot = w->at->sim->driven.slot[i];
    int is_number =
        item->table.n > 0 || item->expr < 0 || (slot >= 0 && !isnan(w->at->sim->driven.held[slot]));
    return is_number ? -1 : item->expr;
}

static void map_symbols(writing *w)
{
    const perp_model *m = w->model;
    perp__graph *g = &w->graph;
    for (int s = 0; s < m->nsymbol; s++) w->map[s] = w->column[s] = w->by[s] = -1;
    w->map[PERP__SYM_T] = perp__symbol(g, PERP__SYM_T);
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        int s = m->item[PERP_PARAM][i].symbol;
        w->map[s] = perp__symbol(g, s);
    }
    for (int i = 0; i < m->nitem[PERP_STATE]; i++) {
        int s = m->item[PERP_STATE][i].symbol;
        w->map[s] = perp__symbol(g, s);
        w->by[s] = i;
        w->is_unknown[s + PERP__DER] = 1;
    }
    for (int i = 0; i < m->nitem[PERP_VAR]; i++) w->is_unknown[m->item[PERP_VAR][i].symbol] = 1;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        int s = m->item[PERP_INPUT][i].symbol;
        perp_expr e = input_of(w, i);
        w->map[s] = e < 0 ? perp__symbol(g, s) : told(w, e);
    }
}

static int most_rows(const perp_model *m)
{
    return 2 * m->nequation + 3 * m->npair;
}

static int allocate(writing *w, perp__arena *scratch)
{
    const perp_model *m = w->model;
    perp__starts *s = w->at;
    int most = most_rows(m);
    PERP_TAKE(scratch, w->map, m->nsymbol + 1);
    PERP_TAKE(scratch, w->column, m->nsymbol + 1);
    PERP_TAKE(scratch, w->by, m->nsymbol + 1);
    PERP_TAKE(scratch, w->is_unknown, m->nsymbol + 1);
    PERP_TAKE(scratch, w->is_used, m->nequation + 1);
    PERP_TAKE(scratch, w->slope, most + 1);
    PERP_TAKE(scratch, w->root, most + 3 * m->npair + 1);
    PERP_TAKE(&s->arena, s->row, most + 1);
    PERP_TAKE(&s->arena, s->start, most + 2);
    PERP_TAKE(&s->arena, s->is_velocity, s->nx + 1);
    PERP_TAKE(&s->arena, s->size, s->nx + 1);
    w->nroot = most; /* behind the rows */
    return !scratch->failed && !s->arena.failed && perp__graph_init(&w->graph);
}

/* Rows, guards and bounds, then the slopes of the rows, on one tape. */
static int compile(writing *w, perp__arena *scratch)
{
    perp__starts *s = w->at;
    perp_expr *root;
    int most = most_rows(w->model), n = w->nroot, slopes = 0;
    for (int r = 0; r < s->n; r++) slopes += w->slope[r].count;
    PERP_TAKE(scratch, root, n + slopes + 1);
    PERP_TAKE(&s->arena, s->column, slopes + 1);
    if (scratch->failed || s->arena.failed) return 0;
    for (int i = s->n; i < most; i++) w->root[i] = perp__const(&w->graph, 0);
    memcpy(root, w->root, (size_t)n * sizeof *root);
    s->first_slope = n;
    for (int r = 0, k = 0; r < s->n; r++) {
        for (int j = 0; j < w->slope[r].count; j++, k++) {
            s->column[k] = w->slope[r].column[j];
            root[n + k] = w->slope[r].entry[j];
        }
        s->start[r + 1] = k;
    }
    if (w->graph.failed ||
        !perp__tape_compile(&s->tape, &w->graph, root, n + slopes, w->model->nsymbol))
        return 0;
    PERP_TAKE(&s->arena, s->ws, perp__tape_end(&s->tape) + 1);
    PERP_TAKE(&s->arena, s->term, perp__tape_end(&s->tape) + 1);
    if (s->arena.failed) return 0;
    perp__tape_prepare(&s->tape, s->ws, 1);
    return 1;
}

/* The numbers that do not change with states. */
static void put_numbers(perp__starts *s)
{
    const perp_simulation *sim = s->sim;
    const perp_model *m = sim->model;
    const perp__varied *v = &sim->step.layout->sym.varied;
    double t = perp_simulation_time(sim);
    for (int i = 0; i < m->nsymbol; i++) s->ws[i] = (double)NAN;
    s->ws[PERP__SYM_T] = t;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        s->ws[m->item[PERP_PARAM][i].symbol] = m->item[PERP_PARAM][i].value;
    for (int k = 0; k < v->n; k++)
        s->ws[m->item[PERP_PARAM][v->param[k]].symbol] =
            sim->step.ws[perp__step_parameter(sim->step.layout, k)];
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int hint = 0, k = sim->driven.slot[i], is_held = k >= 0 && !isnan(sim->driven.held[k]);
        double *u = s->ws + item->symbol;
        if (is_held) {
            u[PERP__NOW] = sim->driven.held[k];
            u[PERP__INPUT_PRE] = 0;
        } else if (item->table.n > 0) {
            u[PERP__NOW] = perp__table_value(&item->table, t, &hint);
            u[PERP__INPUT_PRE] = perp__table_slope(&item->table, t, &hint);
        }
    }
}

/* The first state that has the unit of state i; often that of the state before, which is given. */
static int first_of_unit(const perp__item *item, int i, int before)
{
    if (strcmp(item[before].unit, item[i].unit) == 0) return before;
    int first = 0;
    while (strcmp(item[first].unit, item[i].unit) != 0) first++;
    return first;
}

static void put_sizes(perp__starts *s)
{
    const perp__item *item = s->sim->model->item[PERP_STATE];
    for (int i = 0, first = 0; i < s->nx; i++) {
        first = first_of_unit(item, i, first);
        s->size[first] = fmax(s->size[first], fabs(perp_simulation_state(s->sim, i)));
    }
    for (int i = s->nx - 1, first = 0; i >= 0;
         i--) { /* first <= i: its size is still that of all */
        first = first_of_unit(item, i, first);
        s->size[i] = item[i].scale > 0 ? item[i].scale : s->size[first];
        if (s->size[i] == 0) s->size[i] = 1;
    }
}

int perp__starts_create(perp__starts *s, const perp_simulation *sim)
{
    const perp_model *m = sim->model;
    writing w = {.at = s, .model = m};
    perp__arena scratch = {0};
    *s = (perp__starts){.sim = sim, .nx = m->nitem[PERP_STATE]};
    int ok = allocate(&w, &scratch), is_discrete = m->kind == PERP_DISCRETE;
    if (ok) map_symbols(&w);
    if (ok && !is_discrete) ok = tell_all(&w);
    for (int i = 0; ok && i < s->nx; i++)
        s->is_velocity[i] = w.map[m->item[PERP_STATE][i].symbol + PERP__DER] < 0;
    for (int i = 0; ok && !is_discrete && i < m->nequation; i++) ok = add_equation(&w, i);
    for (int i = 0; ok && i < m->npair; i++) ok = add_pair(&w, i);
    ok = ok && compile(&w, &scratch);
    if (ok) {
        put_numbers(s);
        put_sizes(s);
    }
    for (int r = 0; w.slope && r <= s->n; r++) perp__sparse_row_clear(&w.slope[r]);
    perp__graph_clear(&w.graph);
    perp__arena_clear(&scratch);
    return ok;
}

void perp__starts_clear(perp__starts *s)
{
    perp__tape_clear(&s->tape);
    perp__arena_clear(&s->arena);
}

/* At a point ----------------------------------------------------------------------------------- */

void perp__starts_evaluate(perp__starts *s, const double *x)
{
    const perp_model *m = s->sim->model;
    for (int i = 0; i < s->nx; i++) s->ws[m->item[PERP_STATE][i].symbol] = x[i];
    for (int k = 0; k < m->nsymbol; k++) s->term[k] = (perp__terms){fabs(s->ws[k]), fabs(s->ws[k])};
    perp__tape_eval(&s->tape, s->ws);
    perp__tape_terms(&s->tape, s->ws, NULL, s->term);
}

double perp__starts_value(const perp__starts *s, int r)
{
    int guard = s->row[r].guard;
    if (guard >= 0 && !(s->ws[s->tape.out[guard]] > 0)) return (double)NAN;
    return s->ws[s->tape.out[r]];
}

double perp__starts_lack(const perp__starts *s, int r)
{
    double x = perp__starts_value(s, r);
    if (isnan(x)) return 0;
    return perp__starts_is_equation(s, r) ? fabs(x) : fmax(-x, 0);
}

static double terms_of(const perp__starts *s, int r)
{
    return s->term[s->tape.out[r]].scale;
}

/* What the slopes of row r make of the sizes of states. */
static double reach_of(const perp__starts *s, int r)
{
    double sum = 0;
    for (int k = s->start[r]; k < s->start[r + 1]; k++)
        sum += fabs(s->ws[s->tape.out[s->first_slope + k]]) * s->size[s->column[k]];
    return sum;
}

double perp__starts_scale(const perp__starts *s, int r)
{
    return terms_of(s, r) + reach_of(s, r);
}

int perp__starts_is_broken(const perp__starts *s, int r)
{
    return perp__starts_lack(s, r) >
           PERP_TOL_STEP * terms_of(s, r) + 16 * DBL_EPSILON * reach_of(s, r);
}

static void tell(const perp__starts *s, int r, perp__source *findings)
{
    const perp_model *m = s->sim->model;
    const perp__start_row *row = &s->row[r];
    const perp__equation *e = &m->equation[row->of];
    const perp__pair *p = &m->pair[row->of];
    double x = perp__starts_value(s, r),
           bound = row->bound < 0 ? 0 : s->ws[s->tape.out[row->bound]];
    int is_upper = row->kind == PERP__START_UPPER;
    findings->note =
        row->kind == PERP__START_EQUATION || row->kind == PERP__START_RATE ? e->note : p->note;
    if (row->kind == PERP__START_WIDTH)
        perp__error(findings, p->at, p->at,
                    "warning: at the start the lower bound of '%s' is %g, above the upper one, "
                    "%g: nothing is between them",
                    p->side[0], bound, s->ws[s->tape.out[row->bound + 1]]);
    else if (row->kind == PERP__START_EQUATION)
        perp__error(
            findings, e->at, e->at,
            "warning: at the start the sides of this equation differ by %g; a step from there "
            "would move states until they do not, whatever force that takes",
            x);
    else if (row->kind == PERP__START_RATE)
        perp__error(findings, e->at, e->at,
                    "warning: at the start the sides of this equation drift apart, by %g a second: "
                    "velocities do not fit it; a step from there would move them at once, whatever "
                    "force that takes",
                    x);
    else
        perp__error(
            findings, p->at, p->at,
            "warning: at the start '%s' is %g, %s %g; a step from there would take it to that "
            "at once, whatever force that takes",
            p->side[row->side], is_upper ? bound - x : bound + x, is_upper ? "above" : "below",
            bound);
    findings->note = NULL;
}

int perp__starts_tell(const perp__starts *s, int with_impacts, perp__source *findings)
{
    int told = 0, crossed = -1; /* the pair whose bounds cross */
    for (int r = 0; r < s->n; r++) {
        const perp__start_row *row = &s->row[r];
        int is_equation = perp__starts_is_equation(s, r);
        if (!is_equation && row->moves_rates && !with_impacts) continue; /* an impact */
        if (!perp__starts_is_broken(s, r) || (!is_equation && row->of == crossed)) continue;
        if (row->kind == PERP__START_WIDTH) crossed = row->of;
        tell(s, r, findings);
        told++;
    }
    return told;
}
