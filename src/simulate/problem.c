/* From model to step problem: put the integrator's formula for the derivatives, split two-sided
 * pairs, derive, compile. */

#include "model/instant.h"
#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What becomes a tape. */
enum { VARIED, INPUTS, CHECK, COEFFICIENTS, GUARDS, OUTPUTS, TAPES };

typedef struct roots {
    perp_expr *e;
    int n, capacity;
} roots;

/* Needed only while the problem is built. Expressions live in `graph`. Its symbols are the
 * workspace's, then the parameters that are symbols; the derivatives D_i = der(x_i) have symbols of
 * their own after them. */
typedef struct plan {
    perp__layout *layout;
    const perp_model *model;
    const int *param; /* parameters that are symbols; all others are numbers */
    int nparam;
    const perp__changes *changes; /* NULL: the step is there */
    perp__graph graph;
    perp__instant end; /* of the step; and for equations that move what a gap reads (contacts.c), */
    perp__instant damped; /* the same with theta as a symbol */
    perp_expr *row;       /* nrow */
    roots root[TAPES];
    /* node -> is it a constant, of the parameters alone, or neither? As far as they were asked
     * for. */
    char *kind;
    int nkind, ckind;
    int *column;       /* symbol -> column of y, behind these the assigned vars, or -1 */
    perp_expr *zero_y; /* symbol -> itself, but 0 for the y and what the assigned are then */
    perp_expr *made;   /* assigned var -> what sets it, of unknowns and assigned ones before it */
    perp_expr *full;   /* symbol -> itself, but of unknowns alone for an assigned var */
    perp_expr *filled
        [2]; /* node -> itself by `full`, or -1 while not asked for; of a graph that is strict */
    int nfilled[2], cfilled[2];
    perp__sparse_row *slope; /* assigned var -> its derivatives by the y */
    int *rate, nrate, crate; /* the states whose derivatives stand in each equation, ... */
    int *rate_start;         /* ... one equation after the other */
} plan;

/* Symbols of the model to expressions of the step. */

static int table_index(const perp__layout *l, int input)
{
    for (int k = 0; k < l->table.n; k++) {
        if (l->table.input[k] == input) return k;
    }
    return -1;
}

/* Parameters are numbers, so that values of them alone are computed once; but those of p->param are
 * symbols, and those written in terms of them expressions. */
static perp_expr parameter(plan *p, perp__instant *at, int i)
{
    int k = 0;
    while (k < p->nparam && p->param[k] != i) k++;
    if (k < p->nparam) return perp__symbol(&p->graph, perp__step_parameter(p->layout, k));
    return perp__instant_param(at, i);
}

static int var_symbol(const perp__layout *l, int var)
{
    return l->sym.y + l->sym.var_at[var];
}

static int make_instant(plan *p, perp__instant *at)
{
    const perp_model *m = p->model;
    const perp__layout *l = p->layout;
    perp__graph *g = &p->graph;
    perp__instant_clear(at);
    int rate = perp__step_parameter(l, p->nparam);
    if (!perp__instant_create(at, m, g, &l->scheme, rate, rate + l->nx)) return 0;
    at->is_limit = l->is_limit;
    at->start = perp__symbol(g, SYM_T_PRE);
    at->time[0] = perp__symbol(g, SYM_T);
    at->h = perp__symbol(g, SYM_H);
    at->theta = at == &p->damped ? perp__symbol(g, SYM_THETA) : perp__const(g, l->scheme.theta);
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        at->known[m->item[PERP_PARAM][i].symbol] = parameter(p, at, i);
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        int k = table_index(l, i);
        at->input[i] = k < 0 ? -1 : perp__symbol(g, l->sym.table + k);
        at->input_before[i] = k < 0 ? -1 : perp__symbol(g, l->sym.table_pre + k);
    }
    for (int i = 0; i < l->nx; i++) {
        at->before[i] = perp__symbol(g, l->sym.pre + i);
        at->state[i] = perp__symbol(g, l->sym.y + i);
    }
    for (int i = 0; i < m->nitem[PERP_VAR]; i++) at->var[i] = perp__symbol(g, var_symbol(l, i));
    return 1;
}

static perp_expr translate(plan *p, perp_expr e, perp__reading reading)
{
    return perp__instant_read(&p->end, e, reading, 0);
}

/* Rows ---------------------------------------------------------------------------------------- */

static perp__instant *instant_of(plan *p, int equation)
{
    return p->layout->gaps.damped[equation] ? &p->damped : &p->end;
}

/* Row i, of an equation; the states whose derivatives are in it are remembered. */
static perp_expr equation_row(plan *p, int i)
{
    perp__sparse_row C = {0};
    perp_expr row = 0;
    int of = p->layout->marks.equation[i];
    int degree = perp__instant_row(instant_of(p, of), &p->model->equation[of], 0, &row, &C);
    p->layout->marks.has_h[i] = degree == 1;
    p->rate_start[i] = p->nrate;
    if (!perp__grow(&p->rate, &p->crate, p->nrate + C.count + 1, sizeof *p->rate))
        p->graph.failed = 1;
    else
        for (int k = 0; k < C.count; k++) p->rate[p->nrate++] = C.column[k];
    p->rate_start[i + 1] = p->nrate;
    perp__sparse_row_clear(&C);
    return row;
}

/* Does e read the step's length? Returns -1 when memory is out. */
static int reads_h(const plan *p, perp_expr e)
{
    int n, found = 0, *reach = perp__graph_reach(&p->graph, &e, 1, &n);
    for (int k = 0; reach && k < n; k++)
        found |= p->graph.node[reach[k]].op == PERP__SYMBOL && p->graph.node[reach[k]].a == SYM_H;
    free(reach);
    return reach ? found : -1;
}

/* A guard includes its bound, up to rounding. One that looks ahead, as z + h v <= 0, is not kept on
 * it by its own pair. */
static perp_expr translate_guard(plan *p, perp_expr e)
{
    perp_expr guard = translate(p, e, PERP__AT_POINT);
    int is_ahead = reads_h(p, guard);
    if (is_ahead < 0) p->graph.failed = 1;
    return is_ahead ? guard : perp__with_margins(&p->graph, guard);
}

/* The most that friction may be; 0 where its guard is off. */
static perp_expr bound_of(plan *p, const perp__contact *contact)
{
    perp_expr bound = translate(p, contact->bound, PERP__AT_POINT);
    if (contact->guard < 0) return bound;
    return perp__mul(&p->graph, bound, translate_guard(p, contact->guard));
}

/* The pair of the step for this pair of the model; of a two-sided one, the first of its two. */
static int step_pair(const perp__layout *l, int of)
{
    int p = of;
    while (l->pair[p].of != of) p++;
    return p;
}

/* The five rows of an exact cone, from row r on. Returns the next free row. */
static int build_cone(plan *p, const perp__contact *contact, int r)
{
    perp__layout *l = p->layout;
    int of = contact->normal;
    l->cone[l->ncone++] = (perp__cone){
        perp__equation_row(l, contact->equation), r,
        of < 0 ? -1 : step_pair(l, of) + (p->model->pair[of].two_sided && contact->side),
        contact->side};
    for (int k = 0; k < 2; k++) {
        p->row[r + k] = translate(p, contact->f[k], PERP__AT_POINT);
        p->row[r + 2 + k] = translate(p, contact->v[k], PERP__AT_POINT);
    }
    p->row[r + 4] = bound_of(p, contact);
    return r + 5;
}

/* Equations first, then the splits' equations, then two or three rows a pair, then the cones. */
static void build_rows(plan *p)
{
    const perp_model *m = p->model;
    perp__layout *l = p->layout;
    perp__graph *g = &p->graph;
    int r = 0, np = 0, split = l->sym.y + l->nx + l->nv;
    l->ncone = 0;
    for (int i = 0; i < l->nown; i++) p->row[r++] = equation_row(p, i);
    for (int i = 0; i < m->npair; i++) {
        if (!m->pair[i].two_sided) continue;
        perp_expr e = translate(p, m->pair[i].b, PERP__AT_POINT);
        perp_expr plus = perp__symbol(g, split), minus = perp__symbol(g, split + 1);
        p->row[r++] = perp__sub(g, e, perp__sub(g, plus, minus));
        split += 2;
    }
    l->nequation = r;
    split = l->sym.y + l->nx + l->nv;
    for (int i = 0; i < m->npair; i++) {
        perp_expr a = translate(p, m->pair[i].a, PERP__AT_POINT),
                  b = translate(p, m->pair[i].b, PERP__AT_POINT);
        if (!m->pair[i].two_sided) {
            p->row[r] = a;
            p->row[r + 1] = b;
            l->pair[np++] = (perp__rows){r, r + 1, r, i};
            r += 2;
            continue;
        }
        perp_expr lo = translate(p, m->pair[i].lo, PERP__AT_POINT),
                  hi = translate(p, m->pair[i].hi, PERP__AT_POINT);
        p->row[r] = perp__sub(g, a, lo);
        p->row[r + 1] = perp__symbol(g, split);
        p->row[r + 2] = a; /* where the guard is off */
        l->pair[np++] = (perp__rows){r, r + 1, r + 2, i};
        p->row[r + 3] = perp__symbol(g, split + 1);
        p->row[r + 4] = perp__sub(g, hi, a);
        l->pair[np++] = (perp__rows){r + 3, r + 4, r + 3, i};
        r += 5;
        split += 2;
    }
    l->np = np;
    for (int i = 0; i < m->nfriction; i++) {
        if (m->contact[i].kind == PERP__CONTACT_CONE) r = build_cone(p, &m->contact[i], r);
    }
    l->nrow = r;
}

/* By p->full. */
static perp_expr fill(plan *p, perp_expr e)
{
    int strict = p->graph.strict != 0, *n = &p->nfilled[strict];
    if (p->layout->sym.assigned.n == 0) return e; /* nothing to do */
    if (!perp__grow(&p->filled[strict], &p->cfilled[strict], p->graph.count, sizeof(perp_expr))) {
        p->graph.failed = 1;
        return 0;
    }
    while (*n < p->graph.count) p->filled[strict][(*n)++] = -1;
    return perp__graph_copy_kept(&p->graph, &p->graph, e, p->full, p->filled[strict]);
}

static perp_expr substitute(plan *p, perp_expr e, const perp_expr *map)
{
    perp_expr result = 0;
    if (map == p->full) return fill(p, e);
    perp__graph_copy(&p->graph, &p->graph, &e, 1, map, &result);
    return result;
}

/* Are all rows affine in the unknowns? Returns -1 when memory is out. */
static int rows_are_affine(plan *p)
{
    for (int r = 0; r < p->layout->nrow; r++) {
        int degree = perp__degree(&p->graph, substitute(p, p->row[r], p->full), p->column, NULL);
        if (degree != 0 && degree != 1) return degree < 0 ? -1 : 0;
    }
    return 1;
}

/* Does unknown j stand in row r with the constant 1 or -1, and so nowhere else in it? (Entries that change are 0 by now.) */
static int stands_alone(const perp__layout *l, int r, int j)
{
    for (int k = l->row_start[r]; k < l->row_start[r + 1]; k++)
        if (l->column[k] == j) return fabs(l->fixed[k]) == 1;
    return 0;
}

/* The var that e, an expression of the model, is; -1 if it is another thing. */
static int var_of(plan *p, perp_expr e)
{
    const perp__layout *l = p->layout;
    const perp__node *node = &p->model->graph.node[e];
    if (node->op == PERP__SYMBOL)
        node = &p->graph.node[perp__instant_map(&p->end, PERP__AT_POINT, 0)[node->a]];
    int j = node->op == PERP__SYMBOL ? node->a - l->sym.y : -1;
    return j >= l->nx && j < l->nx + l->nv ? j : -1;
}

/* The var that equation i sets, x = ...; -1 if there is none. */
static int defined_by(plan *p, int i)
{
    const perp__equation *of = &p->model->equation[p->layout->marks.equation[i]];
    perp_expr side[2] = {of->left, of->right};
    for (int k = 0; k < 2 && p->rate_start[i] == p->rate_start[i + 1]; k++) {
        int j = var_of(p, side[k]);
        if (j >= 0 && stands_alone(p->layout, i, j)) return j;
    }
    return -1;
}

/* Does equation i use a var that is defined in turn but not ordered yet? */
static int waits(const perp__layout *l, int i, const char *ordered)
{
    for (int k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
        int j = l->column[k];
        if (j != l->marks.defines[i] && l->marks.defined[j] && !ordered[j]) return 1;
    }
    return 0;
}

/* Equations that define a var, x = ..., from what is there without it: those that use each other in
 * a circle do not. */
static int find_definitions(plan *p)
{
    perp__layout *l = p->layout;
    char *ordered = calloc((size_t)l->ny + 1, 1);
    if (!ordered) return 0;
    for (int i = 0; i < l->nown; i++) {
        int j = defined_by(p, i);
        l->marks.defines[i] = j >= 0 && !l->marks.defined[j] ? j : -1;
        if (j >= 0) l->marks.defined[j] = 1;
    }
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < l->nown; i++) {
            int j = l->marks.defines[i];
            if (j < 0 || ordered[j] || waits(l, i, ordered)) continue;
            ordered[j] = 1;
            l->marks.definition[l->marks.ndefined++] = i;
            more = 1;
        }
    }
    for (int i = 0; i < l->nown; i++) {
        int j = l->marks.defines[i];
        if (j >= 0 && !ordered[j]) l->marks.defines[i] = -1;
    }
    for (int r = l->nequation; r < l->nrow; r++)
        if (l->row_start[r + 1] == l->row_start[r] + 1)
            l->marks.is_side[l->column[l->row_start[r]]] = 1;
    memcpy(l->marks.defined, ordered, (size_t)l->ny);
    free(ordered);
    return 1;
}

/* Equation i moves state j, and no other: the states of its row have one row less to be moved by. */
static void move_by(perp__layout *l, int i, int j, int *rows)
{
    for (int k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
        if (l->column[k] >= l->nx) continue;
        l->marks.is_rate[k] = l->column[k] == j;
        rows[l->column[k]]--;
    }
    rows[j] = 0;
}

/* May equation i of a discrete model move states? Not one that sets a var, that states friction, or
 * that splits a pair. */
static int may_move(const plan *p, int i)
{
    const perp__layout *l = p->layout;
    return i < l->nown && l->marks.defines[i] < 0 &&
           perp__cone_of(p->model, l->marks.equation[i]) < 0;
}

/* Which equation of a discrete model moves a state, next(x) = ...? Of those that define no var the only one that it stands in,
 * once those that move another are left out. A state for which none is left alone is moved by all that are left. */
static int find_moves(plan *p)
{
    perp__layout *l = p->layout;
    int *rows = calloc((size_t)l->nx + 1, sizeof(int));
    if (!rows) return 0;
    for (int i = 0; i < l->nequation; i++) {
        for (int k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
            l->marks.is_rate[k] = l->column[k] < l->nx && may_move(p, i);
            if (l->marks.is_rate[k]) rows[l->column[k]]++;
        }
    }
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < l->nequation; i++) {
            int only = -1;
            for (int k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
                int j = l->column[k];
                if (j < l->nx && l->marks.is_rate[k] && rows[j] == 1) only = j;
            }
            if (only < 0) continue;
            move_by(l, i, only, rows);
            more = 1;
        }
    }
    free(rows);
    return 1;
}

/* For the verdicts: the entries of the equations for a state whose derivative is there (in a
 * discrete model: a state that the equation changes), the unknowns of each equation, and the
 * equations of cones. */
static int mark_entries(plan *p)
{
    const perp_model *m = p->model;
    perp__layout *l = p->layout;
    int nonzeros = l->row_start[l->nequation];
    l->marks.is_rate = calloc((size_t)nonzeros + 1, 1);
    if (!l->marks.is_rate) return 0;
    for (int i = 0; i < l->nequation; i++) {
        for (int k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
            int j = l->column[k];
            l->marks.in_equation[j] = 1;
            for (int r = i < l->nown ? p->rate_start[i] : 0;
                 i < l->nown && r < p->rate_start[i + 1]; r++)
                l->marks.is_rate[k] |= p->rate[r] == j;
        }
    }
    if (!find_definitions(p) || (m->kind == PERP_DISCRETE && !find_moves(p))) return 0;
    for (int i = 0; i < 2 * m->nfriction; i++) {
        int j = var_of(p, m->contact[i / 2].f[i % 2]);
        l->marks.force_of[i] = j >= 0 && l->marks.defined[j] ? j : -1;
    }
    return 1;
}

/* Tapes --------------------------------------------------------------------------------------- */

static void append_root(plan *p, int tape, perp_expr e)
{
    roots *list = &p->root[tape];
    if (!perp__grow(&list->e, &list->capacity, list->n + 1, sizeof *list->e))
        p->graph.failed = 1;
    else
        list->e[list->n++] = e;
}

static void add_root(plan *p, int tape, perp_expr e)
{
    append_root(p, tape, tape == OUTPUTS ? e : substitute(p, e, p->full));
}

enum { CONSTANT, OF_PARAMETERS, OTHER };

/* Does this symbol stay the same until values are put in? The step of an affine model is one,
 * too. */
static int is_varied(const plan *p, int symbol)
{
    const perp__layout *l = p->layout;
    if (symbol == SYM_H) return !l->nonlinear;
    return symbol >= l->sym.n && symbol < perp__step_parameter(l, p->nparam);
}

/* What a node depends on. */
static int kind_of(plan *p, perp_expr e)
{
    if (p->nkind <= e && !perp__grow(&p->kind, &p->ckind, e + 1, 1)) p->graph.failed = 1;
    if (p->graph.failed) return OTHER;
    for (; p->nkind <= e; p->nkind++) {
        const perp__node *node = &p->graph.node[p->nkind];
        int kind = CONSTANT, arity = perp__op_arity(node->op);
        if (node->op == PERP__SYMBOL) kind = is_varied(p, node->a) ? OF_PARAMETERS : OTHER;
        if (arity > 0) kind = p->kind[node->a];
        if (arity > 1 && p->kind[node->b] > kind) kind = p->kind[node->b];
        p->kind[p->nkind] = (char)kind;
    }
    return p->kind[e];
}

static int derive_assigned(plan *p)
{
    int ok = 1;
    for (int d = 0; d < p->layout->sym.assigned.nread && ok; d++)
        ok = perp__gradient(&p->graph, p->made[d], p->column, &p->slope[d]) &&
             perp__chain(&p->graph, &p->slope[d], p->layout->ny, p->slope);
    return ok;
}

/* The roots of the coefficients. First c (of affine rows, which is the row at y = 0) or the rows
 * themselves, then the Jacobian's entries; constant ones go into A now. */
static int derive_rows(plan *p)
{
    perp__layout *l = p->layout;
    perp__sparse_row gradient = {0};
    int ok = derive_assigned(p);
    for (int r = 0; r < l->nrow; r++)
        add_root(p, COEFFICIENTS, substitute(p, p->row[r], l->nonlinear ? p->full : p->zero_y));
    int centry = 0, cvaried = 0, ccolumn = 0, cvalue = 0, nonzeros = 0;
    for (int r = 0; ok && r < l->nrow; r++) {
        l->row_start[r] = nonzeros;
        ok = perp__gradient(&p->graph, p->row[r], p->column, &gradient) &&
             perp__chain(&p->graph, &gradient, l->ny, p->slope);
        for (int k = 0; ok && k < gradient.count; k++) {
            perp_expr slope = substitute(p, gradient.entry[k], p->full);
            const perp__node *node = &p->graph.node[slope];
            int is_const = node->op == PERP__CONST;
            if (is_const && node->value == 0) continue;
            ok = perp__grow(&l->column, &ccolumn, nonzeros + 1, sizeof *l->column) &&
                 perp__grow(&l->fixed, &cvalue, nonzeros + 1, sizeof *l->fixed);
            if (!ok) break;
            l->column[nonzeros] = gradient.column[k];
            l->fixed[nonzeros++] = is_const ? node->value : 0;
            if (is_const) continue;
            int varies = kind_of(p, slope) != OF_PARAMETERS;
            int **entry = varies ? &l->entry : &l->sym.varied.entry;
            int *n = varies ? &l->nentry : &l->sym.varied.nentry;
            ok = perp__grow(entry, varies ? &centry : &cvaried, *n + 1, sizeof **entry);
            if (!ok) break;
            add_root(p, varies ? COEFFICIENTS : VARIED, slope);
            (*entry)[(*n)++] = nonzeros - 1;
        }
    }
    l->row_start[l->nrow] = nonzeros;
    l->constant = l->nentry == 0 && !l->nonlinear;
    perp__sparse_row_clear(&gradient);
    return ok && !p->graph.failed;
}

/* What the model says of an input at the time that is this symbol. */
static perp_expr input_at(plan *p, perp_expr e, int time)
{
    perp_expr *t = &p->end.known[PERP__SYM_T], result = 0;
    *t = perp__symbol(&p->graph, time);
    perp__graph_copy(&p->graph, &p->model->graph, &e, 1, p->end.known, &result);
    *t = -1;
    return result;
}

static void add_inputs(plan *p)
{
    const perp__tables *table = &p->layout->table;
    for (int k = 0; k < table->n; k++) {
        const perp__item *item = &p->model->item[PERP_INPUT][table->input[k]];
        int has_formula = item->table.n == 0 && item->expr >= 0;
        table->formula[k] = has_formula ? p->root[INPUTS].n : -1;
        if (!has_formula) continue;
        add_root(p, INPUTS, input_at(p, item->expr, SYM_T));
        add_root(p, INPUTS, input_at(p, item->expr, SYM_T_PRE));
    }
}

/* What a row reports beside the unknowns: inputs, then outputs. */
static perp_expr reported(plan *p, int i)
{
    const perp_model *m = p->model;
    int output = i - m->nitem[PERP_INPUT];
    if (output >= 0) return translate(p, m->item[PERP_OUTPUT][output].expr, PERP__AT_ROW);
    return perp__instant_map(&p->end, PERP__AT_ROW, 0)[m->item[PERP_INPUT][i].symbol + PERP__NOW];
}

/* The conditions as they were written, the guards, and what rows report. */
static void add_reports(plan *p)
{
    const perp_model *m = p->model;
    perp__layout *l = p->layout;
    p->graph.strict = 1;
    for (int i = 0; i < l->nown; i++) {
        const perp__equation *of = &m->equation[l->marks.equation[i]];
        int has_rate = p->rate_start[i + 1] > p->rate_start[i];
        perp__reading reading = has_rate ? PERP__AT_WEIGHTED : PERP__AT_POINT;
        perp__instant *at = instant_of(p, l->marks.equation[i]);
        add_root(p, CHECK, perp__instant_read(at, of->left, reading, 0));
        add_root(p, CHECK, perp__instant_read(at, of->right, reading, 0));
    }
    for (int i = 0; i < m->npair; i++) {
        add_root(p, CHECK, translate(p, m->pair[i].a, PERP__AT_POINT));
        add_root(p, CHECK, translate(p, m->pair[i].b, PERP__AT_POINT));
        if (!m->pair[i].two_sided) continue;
        add_root(p, CHECK, translate(p, m->pair[i].lo, PERP__AT_POINT));
        add_root(p, CHECK, translate(p, m->pair[i].hi, PERP__AT_POINT));
    }
    for (int i = 0; i < m->nfriction; i++) {
        const perp__contact *contact = &m->contact[i];
        if (contact->kind != PERP__CONTACT_CONE) continue;
        for (int k = 0; k < 2; k++) add_root(p, CHECK, translate(p, contact->f[k], PERP__AT_POINT));
        for (int k = 0; k < 2; k++) add_root(p, CHECK, translate(p, contact->v[k], PERP__AT_POINT));
        add_root(p, CHECK, bound_of(p, contact));
    }
    l->sym.assigned.root = p->root[CHECK].n;
    for (int d = 0; d < l->sym.assigned.n; d++)
        add_root(p, CHECK,
                 translate(p, m->equation[l->sym.assigned.equation[d]].right, PERP__AT_POINT));
    for (int i = 0; i < m->nfriction; i++)
        if (m->contact[i].kind != PERP__CONTACT_CONE)
            add_root(p, CHECK, bound_of(p, &m->contact[i]));
    p->graph.strict = 0;
    for (int i = 0; i < m->npair; i++) {
        l->tape.guard_of[i] = m->pair[i].guard >= 0 ? p->root[GUARDS].n : -1;
        if (m->pair[i].guard >= 0) add_root(p, GUARDS, translate_guard(p, m->pair[i].guard));
    }
    for (int i = 0; i < m->nitem[PERP_INPUT] + m->nitem[PERP_OUTPUT]; i++)
        add_root(p, OUTPUTS, reported(p, i));
}

/* Node e is wanted by a tape of each step: a result of the parameters alone goes to their tape.
 * given[e] is then 0. */
static void give(plan *p, perp_expr e, int *given)
{
    int is_result = kind_of(p, e) == OF_PARAMETERS && perp__op_arity(p->graph.node[e].op) > 0;
    if (!is_result || given[e] >= 0) return;
    append_root(p, VARIED, e);
    given[e] = 0;
}

/* The tape of what depends on the parameters alone; given (node) is the slot of each that others
 * want, or -1. */
static int compile_varied(plan *p, int *given)
{
    perp__tape *tape = &p->layout->sym.varied.tape;
    int count = p->graph.count;
    for (int i = 0; i < count; i++) given[i] = -1;
    for (int i = 0; i < count; i++) {
        const perp__node *node = &p->graph.node[i];
        int arity = kind_of(p, i) == OTHER ? perp__op_arity(node->op) : 0;
        if (arity > 0) give(p, node->a, given);
        if (arity > 1) give(p, node->b, given);
    }
    for (int k = INPUTS; k < TAPES; k++)
        for (int i = 0; i < p->root[k].n; i++) give(p, p->root[k].e[i], given);
    const roots *list = &p->root[VARIED];
    if (p->graph.failed || !perp__tape_compile(tape, &p->graph, list->e, list->n,
                                               perp__step_parameter(p->layout, p->nparam)))
        return 0;
    for (int i = 0; i < list->n; i++)
        if (given[list->e[i]] >= 0) given[list->e[i]] = tape->out[i];
    return 1;
}

/* The rows of a step that is not affine, and their slopes, take from the conditions what these have
 * evaluated. */
static int compile_tapes(plan *p)
{
    perp__layout *l = p->layout;
    perp__tape *tape[] = {&l->sym.varied.tape,   &l->table.tape,  &l->tape.check,
                          &l->tape.coefficients, &l->tape.guards, &l->tape.outputs};
    size_t n = (size_t)p->graph.count;
    int *given = malloc(2 * n * sizeof *given), *of_check = given + n;
    int ok = given && compile_varied(p, given);
    if (ok) memcpy(of_check, given, n * sizeof *given);
    for (int k = INPUTS; ok && k < TAPES; k++) {
        int early = k == COEFFICIENTS ? l->nrow : p->root[k].n,
            is_upon_check = k == COEFFICIENTS && l->nonlinear;
        ok = perp__tape_compile_upon(tape[k], &p->graph, p->root[k].e, p->root[k].n, early,
                                     perp__tape_end(tape[k - 1]), is_upon_check ? of_check : given,
                                     k == CHECK ? of_check : NULL);
    }
    free(given);
    return ok;
}

/* Sizes and symbols --------------------------------------------------------------------------- */

/* Unknowns and their equations in the order of the model, then those that are assigned. */
static int number_vars(perp__layout *l, const perp_model *m)
{
    const perp__assigned *a = &l->sym.assigned;
    int nvar = m->nitem[PERP_VAR], n = 0;
    l->sym.var_at = malloc((2 * (size_t)nvar + (size_t)m->nequation + 1) * sizeof(int));
    if (!l->sym.var_at) return 0;
    l->sym.var_of = l->sym.var_at + nvar;
    l->marks.equation = l->sym.var_of + nvar;
    for (int v = 0; v < nvar; v++) l->sym.var_at[v] = -1;
    for (int i = 0; i < m->nequation; i++) l->marks.equation[i] = 0;
    for (int d = 0; d < a->n; d++) {
        l->sym.var_at[a->var[d]] = l->ny + d;
        l->marks.equation[a->equation[d]] = 1; /* for the moment */
    }
    for (int v = 0; v < nvar; v++) {
        if (l->sym.var_at[v] >= 0) continue;
        l->sym.var_of[n] = v;
        l->sym.var_at[v] = l->nx + n++;
    }
    n = 0;
    for (int i = 0; i < m->nequation; i++)
        if (!l->marks.equation[i]) l->marks.equation[n++] = i;
    return 1;
}

/* The inputs that have symbols. */
static void list_tables(perp__layout *l, const perp_model *m, const perp__changes *changes)
{
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        int is_set = 0;
        for (int k = 0; k < changes->ninput; k++) is_set |= changes->input[k] == i;
        if (!is_set && m->item[PERP_INPUT][i].table.n == 0) continue;
        l->table.is_set[l->table.n] = is_set;
        l->table.input[l->table.n++] = i;
    }
}

static int lay_out(perp__layout *l, const perp_model *m, const perp__changes *changes)
{
    int ninput = m->nitem[PERP_INPUT], splits = 0, cones = 0;
    for (int i = 0; i < m->nfriction; i++) cones += m->contact[i].kind == PERP__CONTACT_CONE;
    for (int i = 0; i < m->npair; i++) splits += m->pair[i].two_sided;
    l->nx = m->nitem[PERP_STATE];
    l->nv = m->nitem[PERP_VAR] - l->sym.assigned.n;
    l->nown = m->nequation - l->sym.assigned.n;
    l->ny = l->nx + l->nv + 2 * splits;
    l->np = m->npair + splits;
    l->nrow = l->nown + splits + 2 * (m->npair - splits) + 5 * splits + 5 * cones;
    l->table.input = malloc((3 * (size_t)ninput + 1) * sizeof(int));
    l->tape.guard_of = malloc(((size_t)m->npair + 1) * sizeof(int));
    l->pair = malloc(((size_t)l->np + 1) * sizeof *l->pair);
    l->cone = malloc(((size_t)cones + 1) * sizeof *l->cone);
    l->row_start = calloc((size_t)l->nrow + 2, sizeof(int));
    l->marks.has_h = calloc((size_t)m->nequation + 3 * (size_t)l->ny + 1, 1);
    l->marks.defines =
        malloc((2 * ((size_t)m->nequation + (size_t)m->nfriction) + 1) * sizeof(int));
    if (!l->marks.has_h || !l->marks.defines) return 0;
    l->marks.in_equation = l->marks.has_h + m->nequation;
    l->marks.defined = l->marks.in_equation + l->ny;
    l->marks.is_side = l->marks.defined + l->ny;
    l->marks.definition = l->marks.defines + m->nequation;
    l->marks.force_of = l->marks.definition + m->nequation;
    if (!l->table.input || !l->tape.guard_of || !l->pair || !l->cone || !l->row_start) return 0;
    l->table.is_set = l->table.input + ninput;
    l->table.formula = l->table.is_set + ninput;
    list_tables(l, m, changes);
    l->sym.pre = SYM_PRE;
    l->sym.table = l->sym.pre + l->nx;
    l->sym.table_pre = l->sym.table + l->table.n;
    l->sym.y = l->sym.table_pre + l->table.n;
    l->sym.n = l->sym.y + l->ny + l->sym.assigned.n;
    return number_vars(l, m);
}

static int allocate_plan(plan *p)
{
    const perp_model *m = p->model;
    const perp__layout *l = p->layout;
    size_t total = (size_t)perp__step_parameter(l, p->nparam) + (size_t)l->nx + 1;
    p->row = malloc(((size_t)l->nrow + 1) * sizeof(perp_expr));
    p->column = malloc(total * sizeof(int));
    p->zero_y = malloc((2 * total + (size_t)l->sym.assigned.n) * sizeof(perp_expr));
    p->slope = calloc((size_t)l->sym.assigned.n + 1, sizeof *p->slope);
    p->rate_start = calloc((size_t)m->nequation + 2, sizeof(int));
    if (!p->row || !p->column || !p->zero_y || !p->rate_start || !p->slope) return 0;
    p->full = p->zero_y + total;
    p->made = p->full + total;
    for (size_t i = 0; i < total; i++) p->column[i] = -1;
    for (int i = 0; i < l->ny + l->sym.assigned.n; i++) p->column[l->sym.y + i] = i;
    return 1;
}

/* What stands for the assigned vars. */
static void make_assigned(plan *p)
{
    const perp__layout *l = p->layout;
    for (int d = 0; d < l->sym.assigned.n; d++) {
        int symbol = l->sym.y + l->ny + d;
        p->made[d] =
            translate(p, p->model->equation[l->sym.assigned.equation[d]].right, PERP__AT_POINT);
        p->zero_y[symbol] = substitute(p, p->made[d], p->zero_y);
        p->full[symbol] = substitute(p, p->made[d], p->full);
    }
}

/* Write the rows, with h as a number or as a symbol. */
static int write_rows(plan *p)
{
    perp__graph_clear(&p->graph);
    if (!perp__graph_init(&p->graph)) return 0;
    p->nrate = p->nfilled[0] = p->nfilled[1] = 0;
    if (!make_instant(p, &p->end) || (p->layout->gaps.n && !make_instant(p, &p->damped))) return 0;
    for (int l = 0; l < perp__step_parameter(p->layout, p->nparam) + p->layout->nx; l++) {
        p->full[l] = perp__symbol(&p->graph, l);
        p->zero_y[l] = p->column[l] >= 0 ? perp__const(&p->graph, 0) : p->full[l];
    }
    make_assigned(p);
    build_rows(p);
    return !p->graph.failed;
}

static int build_problem(plan *p)
{
    perp__layout *l = p->layout;
    if (!perp__contacts_find(l, p->model) || !perp__assigned_find(&l->sym.assigned, p->model) ||
        !lay_out(l, p->model, p->changes) || !allocate_plan(p))
        return 0;
    if (!write_rows(p)) return 0;
    int affine = rows_are_affine(p);
    if (affine < 0) return 0;
    l->nonlinear = !affine;
    if (!derive_rows(p) || !mark_entries(p)) return 0;
    add_inputs(p);
    add_reports(p);
    if (!compile_tapes(p) || !perp__marks_allocate(l, p->model)) return 0;
    l->nrow_code = perp__tape_instructions(&l->tape.coefficients, l->nrow);
    return 1;
}

static void free_plan(plan *p)
{
    perp__graph_clear(&p->graph);
    perp__instant_clear(&p->end);
    perp__instant_clear(&p->damped);
    for (int k = 0; k < TAPES; k++) free(p->root[k].e);
    for (int d = 0; p->slope && d < p->layout->sym.assigned.n; d++)
        perp__sparse_row_clear(&p->slope[d]);
    free(p->slope);
    free(p->filled[0]);
    free(p->filled[1]);
    free(p->kind);
    free(p->row);
    free(p->column);
    free(p->zero_y);
    free(p->rate);
    free(p->rate_start);
}

int perp__problem_build(perp__layout *layout, const perp_model *model, const perp__changes *changes)
{
    int nparam = changes->nparam;
    const int *param = changes->param;
    perp__varied *varied = &layout->sym.varied;
    plan p = {
        .layout = layout, .model = model, .param = param, .nparam = nparam, .changes = changes};
    varied->n = nparam;
    varied->param = malloc(((size_t)nparam + 1) * sizeof(int));
    if (varied->param && nparam) memcpy(varied->param, param, (size_t)nparam * sizeof(int));
    int ok = varied->param && build_problem(&p);
    free_plan(&p);
    return ok;
}

void perp__step_evaluate(perp__step *s)
{
    s->cache.newton.is_noted = s->has_assigned = 0;
    perp__tape_eval(&s->layout->tape.check, s->ws);
}

void perp__step_assign(perp__step *s)
{
    const perp__symbols *sym = &s->layout->sym;
    const int *out = s->layout->tape.check.out + sym->assigned.root;
    if (s->has_assigned) return;
    s->has_assigned = 1;
    for (int d = 0; d < sym->assigned.n; d++) s->ws[sym->y + s->layout->ny + d] = s->ws[out[d]];
}

int perp__equation_row(const perp__layout *l, int equation)
{
    int low = 0, high = l->nown - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (l->marks.equation[middle] < equation)
            low = middle + 1;
        else
            high = middle;
    }
    return high >= 0 && l->marks.equation[low] == equation ? low : -1;
}

void perp__problem_clear(perp__layout *layout)
{
    perp__tape_clear(&layout->sym.varied.tape);
    free(layout->sym.varied.param);
    free(layout->sym.varied.entry);
    free(layout->sym.assigned.var);
    free(layout->sym.var_at);
    perp__tape_clear(&layout->tape.coefficients);
    perp__tape_clear(&layout->tape.check);
    perp__tape_clear(&layout->tape.guards);
    perp__tape_clear(&layout->tape.outputs);
    free(layout->table.input);
    perp__tape_clear(&layout->table.tape);
    free(layout->gaps.side);
    free(layout->gaps.damped);
    free(layout->tape.guard_of);
    free(layout->pair);
    free(layout->cone);
    free(layout->row_start);
    free(layout->column);
    free(layout->fixed);
    free(layout->entry);
    free(layout->marks.is_rate);
    free(layout->marks.has_h);
    free(layout->marks.defines);
    free(layout->marks.before);
    free(layout->marks.defined_at);
    free(layout->marks.stands_in);
    free(layout->marks.stands_start);
    free(layout->declared);
}

int perp__step_parameter(const perp__layout *layout, int k)
{
    return layout->sym.n + k;
}

/* Guards of pairs and of friction, as written. */
static int add_bounds(plan *p, perp__guard_bounds *to)
{
    const perp_model *m = p->model;
    int ok = 1;
    for (int i = 0; i < m->npair + m->nfriction && ok; i++) {
        perp_expr guard = i < m->npair ? m->pair[i].guard : m->contact[i - m->npair].guard;
        if (guard < 0) continue;
        perp_expr e = substitute(p, translate(p, guard, PERP__AT_POINT), p->full);
        perp_expr taken = substitute(p, translate_guard(p, guard), p->full);
        ok = perp__guard_bounds_add(&p->graph, e, taken, to);
    }
    return ok;
}

int perp__step_formulas(const perp__step *step, const int *param, int nparam, perp__graph *graph,
                        perp_expr *row, perp_expr *output, perp_expr *initial,
                        perp__guard_bounds *bounds)
{
    const perp_model *m = step->model;
    const perp__layout *l = step->layout;
    perp__layout own = *l; /* what is written with the rows is shared */
    plan p = {.layout = &own, .model = m, .param = param, .nparam = nparam};
    own.pair = malloc(((size_t)l->np + 1) * sizeof *own.pair);
    own.cone = malloc(((size_t)l->ncone + 1) * sizeof *own.cone);
    own.marks.has_h = malloc((size_t)l->nown + 1);
    int ok = own.pair && own.cone && own.marks.has_h && allocate_plan(&p) && write_rows(&p);
    for (int r = 0; ok && r < l->nrow; r++) row[r] = substitute(&p, p.row[r], p.full);
    for (int i = 0; ok && i < l->tape.outputs.nout; i++)
        output[i] = substitute(&p, reported(&p, i), p.full);
    for (int d = 0; ok && d < l->sym.assigned.n; d++)
        output[l->tape.outputs.nout + d] = p.full[l->sym.y + l->ny + d];
    for (int i = 0; ok && i < l->nx; i++) {
        const perp__item *state = &m->item[PERP_STATE][i];
        initial[i] = state->expr < 0 ? 0 : translate(&p, state->expr, PERP__AT_POINT);
    }
    ok = ok && (!bounds || add_bounds(&p, bounds)) && !p.graph.failed;
    *graph = p.graph; /* handed over */
    p.graph = (perp__graph){0};
    free_plan(&p);
    free(own.pair);
    free(own.cone);
    free(own.marks.has_h);
    return ok;
}
