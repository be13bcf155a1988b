/* Which class a program is of: linear, quadratic, complementarity, or anything. */

#include "program/program_state.h"

#include <math.h>
#include <stdlib.h>

/* 0, 1: the expression is affine; 2: quadratic; 3: neither. Returns -1: memory. */
static int degree_of(perp__graph *g, perp_expr e, const int *column_of)
{
    perp__sparse_row row = {0};
    int degree = perp__degree(g, e, column_of, NULL);
    if (degree < 2) return degree;
    int kinks = perp__has_kinks(g, e, column_of);
    if (kinks != 0) return kinks < 0 ? -1 : 3;
    int ok = perp__gradient(g, e, column_of, &row);
    for (int k = 0; k < row.count && ok && degree == 2; k++) {
        int of_slope = perp__degree(g, row.entry[k], column_of, NULL);
        ok = of_slope >= 0;
        if (of_slope > 1) degree = 3;
    }
    perp__sparse_row_clear(&row);
    return ok ? degree : -1;
}

/* Has each variable a row: one that complements it, or an equation if it is free? */
static int is_square(const perp__nl *nl, char *has_row)
{
    int equations = 0, left = 0;
    if (nl->nvar != nl->ncon) return 0;
    for (int i = 0; i < nl->ncon; i++) {
        int j = nl->pairs.var[i];
        if (j < 0) {
            if (nl->rlo[i] != nl->rhi[i]) return 0;
            equations++;
            continue;
        }
        if (has_row[j] || nl->pairs.lower[i] != isfinite(nl->lo[j]) ||
            nl->pairs.upper[i] != isfinite(nl->hi[j]))
            return 0;
        has_row[j] = 1;
    }
    for (int j = 0; j < nl->nvar; j++) {
        if (has_row[j]) continue;
        if (isfinite(nl->lo[j]) || isfinite(nl->hi[j])) return 0;
        left++;
    }
    return left == equations;
}

/* Does the objective depend on anything? */
static int has_objective(const perp_program *p)
{
    const perp__nl *nl = p->nl;
    if (p->objective < 0) return 0;
    if (nl->callbacks) return 1;
    return nl->linear.count[nl->ncon + p->objective] > 0 ||
           nl->graph.node[nl->objective[p->objective]].op != PERP__CONST;
}

int perp__program_classify(perp_program *p)
{
    perp__nl *nl = p->nl;
    int *column_of = malloc(((size_t)nl->nvar + 1) * sizeof *column_of);
    char *has_row = calloc((size_t)nl->nvar + 1, 1);
    int rows = nl->callbacks ? 3 : 0, cost = 0, ok = column_of && has_row;
    for (int j = 0; j < nl->nvar && ok; j++) column_of[j] = j;
    for (int i = 0; i < nl->ncon && ok && rows < 2; i++) {
        rows = perp__degree(&nl->graph, nl->row[i], column_of, NULL);
        ok = rows >= 0;
    }
    if (ok && p->objective >= 0 && rows < 2)
        cost = degree_of(&nl->graph, nl->objective[p->objective], column_of);
    ok = ok && cost >= 0;
    if (ok && nl->pairs.n > 0 && !has_objective(p) && is_square(nl, has_row))
        p->kind = rows < 2 ? PERP_PROGRAM_LCP : PERP_PROGRAM_MCP;
    else if (ok && nl->pairs.n > 0)
        p->kind = PERP_PROGRAM_MPCC;
    else if (rows >= 2 || cost > 2)
        p->kind = PERP_PROGRAM_NLP;
    else if (cost == 2)
        p->kind = PERP_PROGRAM_QP;
    else
        p->kind = PERP_PROGRAM_LP;
    free(column_of);
    free(has_row);
    return ok;
}
