/* The linear systems of the interior point for one large stage: one sparse matrix over all unknowns
 * and rows, of one pattern, in place of the elimination stage by stage. Fixed and inactive entries
 * have a 1 on the diagonal and no other entry. */

#include "plan/ipm_state.h"

#include "external/sparse_ldl.h"

#include <string.h>

/* Below this many unknowns and rows dense factors are as quick. */
enum { MOST_DENSE = 120 };

struct perp__ipm_sparse {
    perp__sparse_ldl *ldl;
    int n, nentry;
    int *row, *column; /* from 1: second derivatives, the Jacobian, the diagonal */
    double *value, *x;
    int lacked_memory;
};

int perp__ipm_sparse_create(perp__ipm *s, perp__arena *arena)
{
    const perp__program *g = s->g;
    struct perp__ipm_sparse *a;
    int e = 0, n = s->nw + s->nrow;
    if (s->K > 1 || s->nx > 0 || s->np > 0 || n <= MOST_DENSE || !perp__sparse_ldl_available())
        return 1;
    if (!PERP_TAKE(arena, a, 1)) return 0;
    a->n = n;
    a->nentry = g->hess.n + g->jac.n + n;
    PERP_TAKE(arena, a->row, a->nentry);
    PERP_TAKE(arena, a->column, a->nentry);
    PERP_TAKE(arena, a->value, a->nentry);
    PERP_TAKE(arena, a->x, n);
    if (arena->failed) return 0;
    for (int k = 0; k < g->hess.n; k++, e++) {
        a->row[e] = g->hess.row[k] + 1;
        a->column[e] = g->hess.col[k] + 1;
    }
    for (int k = 0; k < g->jac.n; k++, e++) {
        a->row[e] = s->nw + g->jac.row[k] + 1;
        a->column[e] = g->jac.col[k] + 1;
    }
    for (int i = 0; i < n; i++, e++) a->row[e] = a->column[e] = i + 1;
    a->ldl = perp__sparse_ldl_create(n, a->nentry, a->row, a->column);
    if (a->ldl) s->factors.sparse = a;
    return a->ldl != NULL;
}

void perp__ipm_destroy(perp__ipm *s)
{
    if (s && s->factors.sparse) perp__sparse_ldl_destroy(s->factors.sparse->ldl);
}

static int is_in(const perp__ipm *s, int i)
{
    return i < s->nw ? s->place.w[i] >= 0 : s->place.r[i - s->nw] >= 0;
}

static double diagonal(const perp__ipm *s, int i)
{
    if (!is_in(s, i)) return 1;
    if (i < s->nw) return s->sigma[i] + s->delta.w;
    int slack = i; /* behind the unknowns, as the row behind them here */
    double D = s->is_free[slack] ? 1 / (s->sigma[slack] + s->delta.w) : 0;
    return -(D + s->delta.c);
}

int perp__ipm_sparse_factor(perp__ipm *s)
{
    const perp__program *g = s->g;
    struct perp__ipm_sparse *a = s->factors.sparse;
    int e = 0, negative, wanted = 0;
    for (int k = 0; k < g->hess.n; k++, e++)
        a->value[e] = is_in(s, g->hess.row[k]) && is_in(s, g->hess.col[k]) ? s->values.hess[k] : 0;
    for (int k = 0; k < g->jac.n; k++, e++)
        a->value[e] =
            is_in(s, s->nw + g->jac.row[k]) && is_in(s, g->jac.col[k]) ? s->values.jac[k] : 0;
    for (int i = 0; i < a->n; i++, e++) a->value[e] = diagonal(s, i);
    for (int i = s->nw; i < a->n; i++) wanted += is_in(s, i);
    int ok = perp__sparse_ldl_factor(a->ldl, a->value, &negative);
    a->lacked_memory |= ok < 0;
    return ok <= 0 ? -1 : negative == wanted;
}

void perp__ipm_sparse_solve(perp__ipm *s, double *bx, double *bc)
{
    struct perp__ipm_sparse *a = s->factors.sparse;
    for (int i = 0; i < a->n; i++) {
        if (!is_in(s, i))
            a->x[i] = 0;
        else if (i < s->nw)
            a->x[i] = bx[i];
        else
            a->x[i] = bc[i - s->nw];
    }
    int ok = perp__sparse_ldl_solve(a->ldl, a->x);
    for (int i = 0; i < a->n; i++) {
        double x = 0;
        if (!ok)
            x = (double)NAN;
        else if (is_in(s, i))
            x = a->x[i];
        *(i < s->nw ? &bx[i] : &bc[i - s->nw]) = x;
    }
}

int perp__ipm_lacked_memory(const perp__ipm *s)
{
    return s->factors.sparse && s->factors.sparse->lacked_memory;
}
