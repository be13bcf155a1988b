/* The affine rows of a program as a linear program, its pairs put on one face or another. */

#include "program/affine.h"

#include <math.h>
#include <string.h>

/* Which rows have constant derivatives (and the objective, behind them). */
static void find_affine(const perp__functions *f, int *row_of)
{
    for (int k = 0; k < f->n; k++) row_of[k] = 0;
    for (int e = 0; e < f->nentry; e++)
        if (f->root[e] != -1) row_of[f->row[e]] = -1;
}

static void fill_columns(perp__affine *a, const perp__functions *f)
{
    perp__lp *lp = &a->lp;
    int n = 0, ncon = f->nl->ncon;
    for (int j = 0; j < lp->ncolumn; j++) {
        lp->start[j] = n;
        for (int e = f->start[j]; e < f->start[j + 1]; e++) {
            int k = f->row[e];
            if (a->row_of[k] < 0 || f->constant[e] == 0) continue;
            if (k == ncon) {
                lp->cost[j] = a->p->sign * f->constant[e];
                continue;
            }
            lp->index[n] = a->row_of[k];
            lp->value[n++] = f->constant[e];
        }
    }
    lp->start[lp->ncolumn] = n;
}

int perp__affine_build(perp__affine *a, perp_program *p, perp__arena *arena)
{
    const perp__functions *f = &p->functions;
    const perp__nl *nl = p->nl;
    perp__lp *lp = &a->lp;
    double *zero;
    *a = (perp__affine){.p = p};
    lp->ncolumn = nl->nvar;
    PERP_TAKE(arena, a->row_of, f->n + 1);
    PERP_TAKE(arena, a->at_zero, f->n + 1);
    PERP_TAKE(arena, zero, nl->nvar);
    PERP_TAKE(arena, lp->start, nl->nvar + 1);
    PERP_TAKE(arena, lp->index, f->nentry);
    PERP_TAKE(arena, lp->value, f->nentry);
    PERP_TAKE(arena, lp->lo, nl->nvar);
    PERP_TAKE(arena, lp->hi, nl->nvar);
    PERP_TAKE(arena, lp->cost, nl->nvar);
    PERP_TAKE(arena, lp->row_lo, nl->ncon);
    PERP_TAKE(arena, lp->row_hi, nl->ncon);
    PERP_TAKE(arena, a->price, nl->ncon);
    PERP_TAKE(arena, a->x, nl->nvar);
    PERP_TAKE(arena, a->ray, nl->nvar > nl->ncon ? nl->nvar : nl->ncon);
    if (arena->failed) return 0;
    find_affine(f, a->row_of);
    perp__functions_at(f, zero, a->at_zero,
                       NULL); /* where rows that are not affine need not be finite */
    for (int k = 0; k < nl->ncon; k++) {
        if (a->row_of[k] < 0) continue;
        int row = a->row_of[k] = lp->nrow++;
        lp->row_lo[row] = nl->rlo[k] - a->at_zero[k];
        lp->row_hi[row] = nl->rhi[k] - a->at_zero[k];
    }
    memcpy(lp->lo, nl->lo, (size_t)nl->nvar * sizeof *lp->lo);
    memcpy(lp->hi, nl->hi, (size_t)nl->nvar * sizeof *lp->hi);
    fill_columns(a, f);
    return 1;
}

int perp__affine_put_on_face(perp__affine *a, int i, int face)
{
    const perp__nl *nl = a->p->nl;
    perp__lp *lp = &a->lp;
    int j = nl->pairs.var[i], row = a->row_of[i];
    if ((face == PERP__AT_LO && !nl->pairs.lower[i]) ||
        (face == PERP__AT_HI && !nl->pairs.upper[i]))
        return 0;
    double zero = row >= 0 ? -a->at_zero[i] : 0;
    if (face == PERP__AT_LO) lp->hi[j] = nl->lo[j];
    if (face == PERP__AT_HI) lp->lo[j] = nl->hi[j];
    if (row < 0) return 1;
    lp->row_lo[row] = face == PERP__AT_HI ? -(double)INFINITY : zero;
    lp->row_hi[row] = face == PERP__AT_LO ? (double)INFINITY : zero;
    return 1;
}

void perp__affine_take_off_face(perp__affine *a, int i)
{
    const perp__nl *nl = a->p->nl;
    int j = nl->pairs.var[i], row = a->row_of[i];
    a->lp.lo[j] = nl->lo[j];
    a->lp.hi[j] = nl->hi[j];
    if (row < 0) return;
    a->lp.row_lo[row] = nl->rlo[i] - a->at_zero[i];
    a->lp.row_hi[row] = nl->rhi[i] - a->at_zero[i];
}

void perp__affine_blame(const perp__affine *a, const double *u)
{
    const perp_program *p = a->p;
    for (int i = 0; i < p->nl->ncon; i++)
        if (a->row_of[i] >= 0 && u[a->row_of[i]] != 0) p->row_conflicts[i] = 1;
    for (int j = 0; j < p->nl->nvar; j++) {
        double terms;
        int is_exact;
        double sum = perp__lp_column_sum(&a->lp, j, u, &terms, &is_exact);
        if (fabs(sum) > PERP_PROOF_MARGIN * terms) p->bound_conflicts[j] = 1;
    }
}
