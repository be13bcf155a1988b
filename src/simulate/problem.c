/* From model to step problem: put the integrator's formula for the derivatives, split two-sided
 * pairs, derive, compile. */

#include "simulate/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is needed only while the problem is built. Expressions live in `graph`, whose symbols are
 * the workspace's; the derivatives D_i = der(x_i) have symbols of their own behind them. */
typedef struct plan {
    perp__step *step;
    const perp_model *model;
    perp__graph graph;
    perp_expr *map_rate;   /* model symbol -> expression with D_i for der(x_i) */
    perp_expr *map_plain;  /* with (y_i - pre_i) / h */
    perp_expr *map_output; /* for outputs: bare names are the new values in discrete models too */
    perp_expr *row;        /* nrow */
    perp_expr *root;       /* scratch and tape roots */
    int *column;           /* symbol -> column of y, or -1 */
    int *rate_column;      /* symbol -> index of D, or -1 */
} plan;

static int pre_symbol(const perp__step *s, int i)
{
    return s->sym_pre + i;
}

static int rate_symbol(const perp__step *s, int i)
{
    return s->nsymbol + i;
}

/* Symbols of the model to expressions of the step. */

static int table_index(const perp__step *s, int input)
{
    for (int k = 0; k < s->ntable; k++) {
        if (s->table_input[k] == input) return k;
    }
    return -1;
}

static void map_inputs(plan *p, perp_expr *map)
{
    const perp_model *m = p->model;
    perp__step *s = p->step;
    for (int i = 0; i < m->nitem[PERP_INPUT]; i++) {
        const perp__item *item = &m->item[PERP_INPUT][i];
        int k = table_index(s, i);
        perp_expr now = 0, before = 0, t = map[PERP__SYM_T];
        if (k >= 0) {
            now = perp__symbol(&p->graph, s->sym_table + k);
            before = perp__symbol(&p->graph, s->sym_table_pre + k);
        } else {
            perp__graph_copy(&p->graph, &m->graph, &item->expr, 1, map, &now);
            map[PERP__SYM_T] = map[PERP__SYM_T_PRE];
            perp__graph_copy(&p->graph, &m->graph, &item->expr, 1, map, &before);
            map[PERP__SYM_T] = t;
        }
        map[item->symbol + PERP__NOW] = now;
        map[item->symbol + PERP__INPUT_PRE] = before;
    }
}

typedef enum rates { RATES_ARE_SYMBOLS, RATES_ARE_QUOTIENTS, RATES_FOR_OUTPUTS } rates;

static void map_symbols(plan *p, rates how, perp_expr *map)
{
    const perp_model *m = p->model;
    const perp__step *s = p->step;
    perp__graph *g = &p->graph;
    perp_expr h = perp__const(g, s->h);
    for (int i = 0; i < m->nsymbol; i++) map[i] = 0;
    map[PERP__SYM_T] = perp__symbol(g, 0);
    map[PERP__SYM_T_PRE] = perp__symbol(g, 1);
    map[PERP__SYM_H] = h;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++)
        map[m->item[PERP_PARAM][i].symbol] = perp__const(g, m->item[PERP_PARAM][i].value);
    map_inputs(p, map);
    for (int i = 0; i < s->nx; i++) {
        int symbol = m->item[PERP_STATE][i].symbol;
        perp_expr y = perp__symbol(g, s->sym_y + i), pre = perp__symbol(g, pre_symbol(s, i));
        map[symbol + PERP__PRE] = pre;
        map[symbol + PERP__NEXT] = y;
        map[symbol + PERP__NOW] = m->kind == PERP_DISCRETE && how != RATES_FOR_OUTPUTS ? pre : y;
        map[symbol + PERP__DER] = how == RATES_ARE_SYMBOLS ? perp__symbol(g, rate_symbol(s, i))
                                                           : perp__div(g, perp__sub(g, y, pre), h);
    }
    for (int i = 0; i < s->nv; i++)
        map[m->item[PERP_VAR][i].symbol] = perp__symbol(g, s->sym_y + s->nx + i);
}

static perp_expr translate(plan *p, perp_expr e, const perp_expr *map)
{
    perp_expr result = 0;
    perp__graph_copy(&p->graph, &p->model->graph, &e, 1, map, &result);
    return result;
}

/* Replace the symbols with a column by 0. */
static perp_expr without(plan *p, perp_expr e, const int *column, int nsymbol)
{
    perp_expr *map = malloc(((size_t)nsymbol + 1) * sizeof *map), result = 0;
    if (!map) p->graph.failed = 1;
    for (int s = 0; s < nsymbol && map; s++)
        map[s] = column[s] >= 0 ? perp__const(&p->graph, 0) : perp__symbol(&p->graph, s);
    if (map) perp__graph_copy(&p->graph, &p->graph, &e, 1, map, &result);
    free(map);
    return result;
}

/* Rows
 * ---------------------------------------------------------------------------------------------------------------
 */

/* left - right = R(D, y). Backward Euler puts D = (y - pre) / h. Where R = R0 + sum C_i D_i the row
 * is h R0 + sum C_i (y_i - pre_i): without the division a state at rest stays where it is to the
 * last bit. */
static perp_expr equation_row(plan *p, const perp__equation *equation)
{
    perp__graph *g = &p->graph;
    perp__step *s = p->step;
    perp_expr R = perp__sub(g, translate(p, equation->left, p->map_rate),
                            translate(p, equation->right, p->map_rate));
    perp__sparse_row C = {0};
    perp_expr row = 0;
    int degree = perp__degree(g, R, p->rate_column, NULL);
    if (degree < 0 || !perp__gradient(g, R, p->rate_column, &C)) {
        g->failed = 1;
    } else if (degree == 0) {
        row = R;
    } else if (degree == 1) {
        row = perp__mul(g, perp__const(g, s->h), without(p, R, p->rate_column, s->nsymbol + s->nx));
        for (int k = 0; k < C.count; k++) {
            int i = C.column[k];
            perp_expr change =
                perp__sub(g, perp__symbol(g, s->sym_y + i), perp__symbol(g, pre_symbol(s, i)));
            row = perp__add(g, row, perp__mul(g, C.entry[k], change));
        }
    } else {
        row = perp__sub(g, translate(p, equation->left, p->map_plain),
                        translate(p, equation->right, p->map_plain));
    }
    perp__sparse_row_clear(&C);
    return row;
}

/* Equations first, then the splits' equations, then two or three rows a pair. */
static void build_rows(plan *p)
{
    const perp_model *m = p->model;
    perp__step *s = p->step;
    perp__graph *g = &p->graph;
    int r = 0, np = 0, split = s->sym_y + s->nx + s->nv;
    for (int i = 0; i < m->nequation; i++) p->row[r++] = equation_row(p, &m->equation[i]);
    for (int i = 0; i < m->npair; i++) {
        if (!m->pair[i].two_sided) continue;
        perp_expr e = translate(p, m->pair[i].b, p->map_plain);
        perp_expr plus = perp__symbol(g, split), minus = perp__symbol(g, split + 1);
        p->row[r++] = perp__sub(g, e, perp__sub(g, plus, minus));
        split += 2;
    }
    s->nequation = r;
    split = s->sym_y + s->nx + s->nv;
    for (int i = 0; i < m->npair; i++) {
        perp_expr a = translate(p, m->pair[i].a, p->map_plain),
                  b = translate(p, m->pair[i].b, p->map_plain);
        if (!m->pair[i].two_sided) {
            p->row[r] = a, p->row[r + 1] = b;
            s->pair[np++] = (perp__rows){r, r + 1, r, i};
            r += 2;
            continue;
        }
        perp_expr lo = translate(p, m->pair[i].lo, p->map_plain),
                  hi = translate(p, m->pair[i].hi, p->map_plain);
        p->row[r] = perp__sub(g, a, lo);
        p->row[r + 1] = perp__symbol(g, split);
        p->row[r + 2] = a; /* where the guard is off */
        s->pair[np++] = (perp__rows){r, r + 1, r + 2, i};
        p->row[r + 3] = perp__symbol(g, split + 1);
        p->row[r + 4] = perp__sub(g, hi, a);
        s->pair[np++] = (perp__rows){r + 3, r + 4, r + 3, i};
        r += 5;
        split += 2;
    }
    s->nrow = r;
    s->np = np;
}

/* Which of the model's conditions a row belongs to, for messages. */
static int row_place(const plan *p, int row)
{
    const perp_model *m = p->model;
    const perp__step *s = p->step;
    if (row < m->nequation) return m->equation[row].at;
    if (row < s->nequation) {
        int split = row - m->nequation;
        for (int i = 0; i < m->npair; i++) {
            if (m->pair[i].two_sided && split-- == 0) return m->pair[i].at;
        }
    }
    for (int k = 0; k < s->np; k++) {
        if (s->pair[k].a == row || s->pair[k].b == row || s->pair[k].off == row)
            return m->pair[s->pair[k].of].at;
    }
    return 0;
}

/* Say where rows are not affine in the unknowns. */
static int check_affine(plan *p, perp_diag *diag)
{
    perp__source source = p->model->source;
    source.message = NULL, source.nmessage = source.capacity = source.nerror = 0;
    for (int r = 0; r < p->step->nrow && !p->graph.failed; r++) {
        int where = -1, degree = perp__degree(&p->graph, p->row[r], p->column, &where);
        if (degree < 0) p->graph.failed = 1;
        if (degree < 2) continue;
        int at = where >= 0 ? p->graph.node[where].source : -1;
        if (at < 0) at = row_place(p, r);
        perp__error(&source, at, at,
                    "the step is not affine in its unknowns (new states and vars) here; this "
                    "version steps affine models. "
                    "pre(x) of a state is known and may stand in any function");
    }
    int ok = source.nerror == 0;
    if (!ok) perp__source_report(&source, diag);
    perp__source_clear(&source);
    return ok;
}

/* Tapes
 * --------------------------------------------------------------------------------------------------------------
 */

/* Jacobian entries: constants go into A now, the others join the coefficient tape's roots. */
static int derive_rows(plan *p, perp_expr **roots, int *nroots)
{
    perp__step *s = p->step;
    perp__sparse_row gradient = {0};
    int ok = 1, capacity = 0;
    *nroots = 0;
    for (int r = 0; ok && r < s->nrow; r++) {
        perp_expr c = without(p, p->row[r], p->column, s->nsymbol + s->nx);
        ok = perp__grow(roots, &capacity, *nroots + 1, sizeof **roots);
        if (ok) (*roots)[(*nroots)++] = c;
    }
    int centry = 0;
    for (int r = 0; ok && r < s->nrow; r++) {
        ok = perp__gradient(&p->graph, p->row[r], p->column, &gradient);
        for (int k = 0; ok && k < gradient.count; k++) {
            int place = r * s->ny + gradient.column[k];
            const perp__node *node = &p->graph.node[gradient.entry[k]];
            if (node->op == PERP__CONST) {
                s->A[place] = node->value;
                continue;
            }
            ok = perp__grow(roots, &capacity, *nroots + 1, sizeof **roots) &&
                 perp__grow(&s->entry, &centry, s->nentry + 1, sizeof *s->entry);
            if (!ok) break;
            (*roots)[(*nroots)++] = gradient.entry[k];
            s->entry[s->nentry++] = place;
        }
    }
    s->constant = s->nentry == 0;
    perp__sparse_row_clear(&gradient);
    return ok && !p->graph.failed;
}

static int compile_coefficients(plan *p)
{
    perp_expr *roots = NULL;
    int nroots, ok = derive_rows(p, &roots, &nroots);
    if (ok)
        ok = perp__tape_compile(&p->step->coefficients, &p->graph, roots, nroots, p->step->nsymbol);
    free(roots);
    return ok;
}

/* The conditions as they were written, the guards, and the outputs. */
static int compile_reports(plan *p)
{
    const perp_model *m = p->model;
    perp__step *s = p->step;
    int n = 0;
    for (int i = 0; i < m->nequation; i++) {
        p->root[n++] = translate(p, m->equation[i].left, p->map_plain);
        p->root[n++] = translate(p, m->equation[i].right, p->map_plain);
    }
    for (int i = 0; i < m->npair; i++) {
        p->root[n++] = translate(p, m->pair[i].a, p->map_plain);
        p->root[n++] = translate(p, m->pair[i].b, p->map_plain);
        if (!m->pair[i].two_sided) continue;
        p->root[n++] = translate(p, m->pair[i].lo, p->map_plain);
        p->root[n++] = translate(p, m->pair[i].hi, p->map_plain);
    }
    if (!perp__tape_compile(&s->check, &p->graph, p->root, n, perp__tape_end(&s->coefficients)))
        return 0;

    n = 0;
    for (int i = 0; i < m->npair; i++) {
        s->guard_of[i] = m->pair[i].guard >= 0 ? n : -1;
        if (m->pair[i].guard >= 0) p->root[n++] = translate(p, m->pair[i].guard, p->map_plain);
    }
    if (!perp__tape_compile(&s->guards, &p->graph, p->root, n, perp__tape_end(&s->check))) return 0;

    map_symbols(p, RATES_FOR_OUTPUTS, p->map_output);
    for (int i = 0; i < m->nitem[PERP_OUTPUT]; i++)
        p->root[i] = translate(p, m->item[PERP_OUTPUT][i].expr, p->map_output);
    return perp__tape_compile(&s->outputs, &p->graph, p->root, m->nitem[PERP_OUTPUT],
                              perp__tape_end(&s->guards)) &&
           !p->graph.failed;
}

static int make_workspace(perp__step *s)
{
    const perp__tape *tapes[] = {&s->coefficients, &s->check, &s->guards, &s->outputs};
    s->ws = calloc((size_t)perp__tape_end(&s->outputs) + 1, sizeof(double));
    if (!s->ws) return 0;
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perp__tape_prepare(tapes[i], s->ws, 1);
    return 1;
}

/* Sizes and symbols
 * --------------------------------------------------------------------------------------------------
 */

static int lay_out(perp__step *s, const perp_model *m)
{
    int ninput = m->nitem[PERP_INPUT], splits = 0;
    for (int i = 0; i < m->npair; i++) splits += m->pair[i].two_sided;
    s->nx = m->nitem[PERP_STATE];
    s->nv = m->nitem[PERP_VAR];
    s->ny = s->nx + s->nv + 2 * splits;
    s->np = m->npair + splits;
    s->nrow = m->nequation + splits + 2 * (m->npair - splits) + 5 * splits;
    s->table_input = malloc(((size_t)ninput + 1) * sizeof(int));
    s->table_hint = calloc((size_t)ninput + 1, sizeof(int));
    s->guard_of = malloc(((size_t)m->npair + 1) * sizeof(int));
    s->pair = malloc(((size_t)s->np + 1) * sizeof *s->pair);
    s->A = calloc((size_t)s->nrow * (size_t)s->ny + 1, sizeof(double));
    s->c = calloc((size_t)s->nrow + 1, sizeof(double));
    if (!s->table_input || !s->table_hint || !s->guard_of || !s->pair || !s->A || !s->c) return 0;
    for (int i = 0; i < ninput; i++) {
        if (m->item[PERP_INPUT][i].table.n > 0) s->table_input[s->ntable++] = i;
    }
    s->sym_pre = 2;
    s->sym_table = s->sym_pre + s->nx;
    s->sym_table_pre = s->sym_table + s->ntable;
    s->sym_y = s->sym_table_pre + s->ntable;
    s->nsymbol = s->sym_y + s->ny;
    return 1;
}

static int prepare_plan(plan *p)
{
    const perp_model *m = p->model;
    const perp__step *s = p->step;
    size_t ns = (size_t)m->nsymbol, total = (size_t)s->nsymbol + (size_t)s->nx + 1;
    size_t nroot =
        2 * (size_t)m->nequation + 4 * (size_t)m->npair + (size_t)m->nitem[PERP_OUTPUT] + 1;
    p->map_rate = malloc(ns * sizeof(perp_expr));
    p->map_plain = malloc(ns * sizeof(perp_expr));
    p->map_output = malloc(ns * sizeof(perp_expr));
    p->row = malloc(((size_t)s->nrow + 1) * sizeof(perp_expr));
    p->root = malloc(nroot * sizeof(perp_expr));
    p->column = malloc(total * sizeof(int));
    p->rate_column = malloc(total * sizeof(int));
    if (!p->map_rate || !p->map_plain || !p->map_output || !p->row || !p->root || !p->column ||
        !p->rate_column || !perp__graph_init(&p->graph))
        return 0;
    for (size_t i = 0; i < total; i++) p->column[i] = p->rate_column[i] = -1;
    for (int i = 0; i < s->ny; i++) p->column[s->sym_y + i] = i;
    for (int i = 0; i < s->nx; i++) p->rate_column[rate_symbol(s, i)] = i;
    map_symbols(p, RATES_ARE_SYMBOLS, p->map_rate);
    map_symbols(p, RATES_ARE_QUOTIENTS, p->map_plain);
    return 1;
}

perp_status perp__step_create(perp__step *step, const perp_model *model,
                              const perp_simulation_options *options, perp_diag *diag)
{
    memset(step, 0, sizeof *step);
    step->model = model;
    step->h = options->step;
    step->tol = options->tol;
    plan p = {.step = step, .model = model};
    perp_status status = PERP_ERR_MEMORY;
    if (lay_out(step, model) && prepare_plan(&p)) {
        build_rows(&p);
        if (!p.graph.failed && !check_affine(&p, diag))
            status = PERP_ERR_MODEL;
        else if (!p.graph.failed && compile_coefficients(&p) && compile_reports(&p) &&
                 make_workspace(step))
            status = PERP_OK;
    }
    if (status == PERP_OK) status = perp__step_allocate(step, options->solver);
    perp__graph_clear(&p.graph);
    free(p.map_rate);
    free(p.map_plain);
    free(p.map_output);
    free(p.row);
    free(p.root);
    free(p.column);
    free(p.rate_column);
    return status;
}

void perp__step_clear(perp__step *step)
{
    perp__step_free(step);
    perp__tape_clear(&step->coefficients);
    perp__tape_clear(&step->check);
    perp__tape_clear(&step->guards);
    perp__tape_clear(&step->outputs);
    free(step->table_input);
    free(step->table_hint);
    free(step->guard_of);
    free(step->pair);
    free(step->A);
    free(step->c);
    free(step->entry);
    free(step->ws);
    memset(step, 0, sizeof *step);
}
