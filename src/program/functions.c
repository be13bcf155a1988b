/* Rows and derivatives of a program: linear terms are constants of the Jacobian, expressions roots
 * of one tape. */

#include "program/functions.h"

#include "program/callbacks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries row by row, in the order of discovery. */
typedef struct list {
    int n, crow, ccol, croot, cconstant;
    int *row, *col, *root;
    double *constant;
    perp_expr *roots;
    int nroot, croots;
    int *place; /* nvar: the entry that a column has in this row, if it is at least `first` */
    int first;
} list;

static int push_entry(list *l, int row, int col)
{
    int n = l->n + 1;
    if (!perp__grow(&l->row, &l->crow, n, sizeof *l->row) ||
        !perp__grow(&l->col, &l->ccol, n, sizeof *l->col) ||
        !perp__grow(&l->root, &l->croot, n, sizeof *l->root) ||
        !perp__grow(&l->constant, &l->cconstant, n, sizeof *l->constant))
        return -1;
    l->row[l->n] = row;
    l->col[l->n] = col;
    l->root[l->n] = -1;
    l->constant[l->n] = 0;
    l->place[col] = l->n;
    return l->n++;
}

static int entry_of(list *l, int row, int col)
{
    return l->place[col] >= l->first ? l->place[col] : push_entry(l, row, col);
}

static int push_root(list *l, perp_expr e)
{
    if (!perp__grow(&l->roots, &l->croots, l->nroot + 1, sizeof *l->roots)) return -1;
    l->roots[l->nroot] = e;
    return l->nroot++;
}

/* Row k of the functions is row i of the file (or an objective, behind them), with this
 * expression. */
static int add_row(perp__functions *f, list *l, int k, int i, perp_expr e, const int *column_of,
                   perp__sparse_row *slope)
{
    perp__graph *g = (perp__graph *)&f->nl->graph;
    const perp__linear *linear = &f->nl->linear;
    l->first = l->n;
    for (int t = linear->first[i]; t < linear->first[i] + linear->count[i]; t++) {
        int at = push_entry(l, k, linear->var[t]);
        if (at < 0) return 0;
        l->constant[at] = linear->coefficient[t];
    }
    f->out[k] = -1;
    if (perp__is_const(g, e, 0)) return 1;
    if ((f->out[k] = push_root(l, e)) < 0 || !perp__gradient(g, e, column_of, slope)) return 0;
    for (int t = 0; t < slope->count; t++) {
        const perp__node *node = &g->node[slope->entry[t]];
        int at = entry_of(l, k, slope->column[t]);
        if (at < 0) return 0;
        if (node->op == PERP__CONST)
            l->constant[at] += node->value;
        else if ((l->root[at] = push_root(l, slope->entry[t])) < 0)
            return 0;
    }
    return 1;
}

/* Row k of the caller's functions: its value and its entries, or those of the objective. */
static int add_given_row(perp__functions *f, list *l, int k)
{
    const perp__nl *nl = f->nl;
    int is_row = k < nl->ncon, n = is_row ? 0 : nl->nvar, first = perp__callbacks_gradient(nl);
    if (is_row) {
        first = perp__callbacks_jacobian(nl) + nl->callbacks->row_start[k];
        n = nl->callbacks->row_start[k + 1] - nl->callbacks->row_start[k];
    }
    l->first = l->n;
    f->out[k] = -2 - k;
    for (int e = 0; e < n; e++) {
        int j = is_row ? nl->callbacks->column[nl->callbacks->row_start[k] + e] : e;
        int at = push_entry(l, k, j);
        if (at < 0) return 0;
        l->root[at] = -2 - (first + e);
    }
    return 1;
}

/* By columns; rows are visited in order, so that each column is ascending. */
static int sort_by_columns(perp__functions *f, perp__arena *arena, const list *l)
{
    int *next;
    f->nentry = l->n;
    PERP_TAKE(arena, f->start, f->nl->nvar + 1);
    PERP_TAKE(arena, next, f->nl->nvar + 1);
    PERP_TAKE(arena, f->row, l->n);
    PERP_TAKE(arena, f->root, l->n);
    PERP_TAKE(arena, f->constant, l->n);
    if (arena->failed) return 0;
    for (int e = 0; e < l->n; e++) f->start[l->col[e] + 1]++;
    for (int j = 0; j < f->nl->nvar; j++) f->start[j + 1] += f->start[j];
    memcpy(next, f->start, ((size_t)f->nl->nvar + 1) * sizeof *next);
    for (int e = 0; e < l->n; e++) {
        int at = next[l->col[e]]++;
        f->row[at] = l->row[e];
        f->root[at] = l->root[e];
        f->constant[at] = l->constant[e];
    }
    return 1;
}

int perp__functions_create(perp__functions *f, perp__arena *arena, perp__nl *nl, int objective)
{
    list l = {0};
    perp__sparse_row slope = {0};
    int *column_of = malloc(((size_t)nl->nvar + 1) * sizeof *column_of);
    *f = (perp__functions){.nl = nl, .n = nl->ncon + (objective >= 0), .objective = objective};
    l.place = malloc(((size_t)nl->nvar + 1) * sizeof *l.place);
    int ok = column_of && l.place && PERP_TAKE(arena, f->out, f->n);
    for (int j = 0; j < nl->nvar && ok; j++) {
        column_of[j] = j;
        l.place[j] = -1;
    }
    if (nl->callbacks) ok = ok && PERP_TAKE(arena, f->given, perp__callbacks_size(nl));
    for (int k = 0; k < f->n && ok; k++) {
        if (nl->callbacks) {
            ok = add_given_row(f, &l, k);
            continue;
        }
        int is_row = k < nl->ncon;
        ok = add_row(f, &l, k, is_row ? k : nl->ncon + objective,
                     is_row ? nl->row[k] : nl->objective[objective], column_of, &slope);
    }
    ok = ok && !nl->graph.failed && sort_by_columns(f, arena, &l) &&
         perp__tape_compile(&f->tape, &nl->graph, l.roots, l.nroot, nl->nvar) &&
         PERP_TAKE(arena, f->ws, perp__tape_end(&f->tape)) &&
         PERP_TAKE(arena, f->terms, perp__tape_end(&f->tape));
    if (ok) perp__tape_prepare(&f->tape, f->ws, 1);
    perp__sparse_row_clear(&slope);
    free(column_of);
    free(l.place);
    free(l.row);
    free(l.col);
    free(l.root);
    free(l.constant);
    free(l.roots);
    return ok;
}

void perp__functions_clear(perp__functions *f)
{
    perp__tape_clear(&f->tape);
}

static double root_value(const perp__functions *f, int root)
{
    if (root <= -2) return f->given[-2 - root];
    return root < 0 ? 0 : f->ws[f->tape.out[root]];
}

int perp__functions_at(const perp__functions *f, const double *x, double *rows, double *jacobian)
{
    const perp__nl *nl = f->nl;
    const perp__linear *l = &nl->linear;
    double sum = 0;
    memcpy(f->ws, x, (size_t)nl->nvar * sizeof *x);
    perp__tape_eval(&f->tape, f->ws);
    if (nl->callbacks && !perp__callbacks_at(nl, x, 1, f->given)) return 0;
    for (int k = 0; k < f->n; k++) {
        int i = k < nl->ncon ? k : nl->ncon + f->objective;
        rows[k] = root_value(f, f->out[k]);
        for (int t = l->first[i]; t < l->first[i] + l->count[i]; t++)
            rows[k] += l->coefficient[t] * x[l->var[t]];
        sum += fabs(rows[k]);
    }
    for (int j = 0; j < nl->nvar; j++)
        for (int e = f->start[j]; e < f->start[j + 1]; e++) {
            double slope = f->constant[e] + root_value(f, f->root[e]);
            if (jacobian) jacobian[e] = slope;
            sum += fabs(slope);
        }
    return isfinite(sum);
}

int perp__functions_rounding(const perp__functions *f, const double *x, double *rows)
{
    const perp__nl *nl = f->nl;
    const perp__linear *l = &nl->linear;
    double sum = 0;
    if (!perp__functions_at(f, x, rows, NULL)) return 0;
    perp__tape_complete(&f->tape, f->ws);
    for (int j = 0; j < nl->nvar; j++) f->terms[j] = (perp__terms){.scale = fabs(x[j])};
    perp__tape_terms(&f->tape, f->ws, NULL, f->terms);
    for (int k = 0; k < f->n; k++) {
        int i = k < nl->ncon ? k : nl->ncon + f->objective;
        double size = fabs(root_value(f, f->out[k]));
        rows[k] = f->out[k] >= 0 ? f->terms[f->tape.out[f->out[k]]].rounding : 0;
        for (int t = 0; t < l->count[i]; t++) {
            double term = fabs(l->coefficient[l->first[i] + t] * x[l->var[l->first[i] + t]]);
            rows[k] +=
                (l->count[i] - t + 1) * term; /* the product and the sums that it goes into */
            size += term;
        }
        rows[k] = (rows[k] + (l->count[i] > 0 ? size : 0)) * (DBL_EPSILON / 2);
        sum += rows[k];
    }
    return isfinite(sum);
}
