/* Programs by functions: what is given is checked and copied. Rows and objective have no
 * expressions. */

#include "program/callbacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status wrong(perp_diag *diag, const char *name, const char *what, int i)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(name), "%s %d\n", what, i + 1);
}

static perp_status check_patterns(const perp_program_callbacks *c, const char *name,
                                  perp_diag *diag)
{
    if (c->rows > 0 && c->row_start[0] != 0)
        return wrong(diag, name, "row_start is not 0 at row", 0);
    for (int i = 0; i < c->rows; i++) {
        if (c->row_start[i + 1] < c->row_start[i])
            return wrong(diag, name, "row_start falls behind row", i);
        for (int e = c->row_start[i]; e < c->row_start[i + 1]; e++) {
            int falls = e > c->row_start[i] && c->column[e] <= c->column[e - 1];
            if (falls || c->column[e] < 0 || c->column[e] >= c->variables)
                return wrong(diag, name, "columns do not ascend from 0 to the last variable in row",
                             i);
        }
        if (c->complements && c->complements[i] >= c->variables)
            return wrong(diag, name, "a variable that is none is complemented by row", i);
    }
    for (int e = 0; e < c->curvatures; e++) {
        int i = c->hessian_row[e], j = c->hessian_column[e];
        int falls = e > 0 && (i < c->hessian_row[e - 1] ||
                              (i == c->hessian_row[e - 1] && j <= c->hessian_column[e - 1]));
        if (falls || j < 0 || i < j || i >= c->variables)
            return wrong(diag, name,
                         "not in the lower triangle, row by row, is the Hessian's entry", e);
    }
    return PERP_OK;
}

static perp_status check(const perp_program_callbacks *c, const char *name, perp_diag *diag)
{
    if (c->variables < 0 || c->rows < 0 || c->curvatures < 0) return PERP_ERR_ARG;
    int has_pattern = c->rows == 0 || (c->row_start && (c->row_start[c->rows] == 0 || c->column));
    int has_hessian = c->curvatures == 0 || (c->hessian_row && c->hessian_column && c->hessian);
    if (!c->values || !c->slopes || !has_pattern || !has_hessian)
        return perp__refuse(
            diag, PERP_ERR_ARG, perp__in(name),
            "values, slopes, the patterns and, where it has entries, the hessian are needed\n");
    perp_status status = check_patterns(c, name, diag);
    for (int j = 0; j < c->variables && status == PERP_OK; j++)
        if ((c->lo && isnan(c->lo[j])) || (c->hi && isnan(c->hi[j])) ||
            (c->start && !isfinite(c->start[j])))
            status = wrong(diag, name, "a bound or a start is no number of variable", j);
    return status;
}

static const int *copy(perp__arena *arena, const int *from, int n)
{
    int *to;
    PERP_TAKE(arena, to, n + 1);
    if (to && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

static void fill(perp__nl *nl, const perp_program_callbacks *c)
{
    perp_expr zero = perp__const(&nl->graph, 0);
    for (int j = 0; j < nl->nvar; j++) {
        nl->lo[j] = c->lo ? c->lo[j] : -(double)INFINITY;
        nl->hi[j] = c->hi ? c->hi[j] : (double)INFINITY;
        nl->start[j] = c->start ? c->start[j] : 0;
    }
    for (int i = 0; i < nl->ncon; i++) {
        int j = nl->pairs.var[i] =
            c->complements && c->complements[i] >= 0 ? c->complements[i] : -1;
        nl->row[i] = zero;
        nl->rlo[i] = c->row_lo ? c->row_lo[i] : -(double)INFINITY;
        nl->rhi[i] = c->row_hi ? c->row_hi[i] : (double)INFINITY;
        if (j < 0) continue;
        nl->pairs.n++;
        nl->pairs.lower[i] = isfinite(nl->lo[j]) != 0;
        nl->pairs.upper[i] = isfinite(nl->hi[j]) != 0;
        nl->rlo[i] = nl->pairs.upper[i] ? -(double)INFINITY : 0;
        nl->rhi[i] = nl->pairs.lower[i] ? (double)INFINITY : 0;
    }
    if (nl->nobj) {
        nl->objective[0] = zero;
        nl->maximise[0] = c->maximise != 0;
    }
}

perp__nl *perp__nl_of_callbacks(const perp_program_callbacks *c, const char *name,
                                perp_status *status, perp_diag *diag)
{
    *status = check(c, name, diag);
    if (*status != PERP_OK) return NULL;
    perp__nl *nl = calloc(1, sizeof *nl);
    perp_program_callbacks *own = NULL;
    int ok = nl && (nl->name = perp__arena_string(&nl->arena, name, strlen(name)));
    if (ok) {
        nl->nvar = c->variables;
        nl->ncon = c->rows;
        nl->nobj = c->has_objective != 0;
    }
    ok = ok && perp__nl_allocate(nl) && PERP_TAKE(&nl->arena, own, 1);
    if (ok) {
        *own = *c;
        own->row_start = copy(&nl->arena, c->row_start, c->rows ? c->rows + 1 : 0);
        own->column = copy(&nl->arena, c->column, c->rows ? c->row_start[c->rows] : 0);
        own->hessian_row = copy(&nl->arena, c->hessian_row, c->curvatures);
        own->hessian_column = copy(&nl->arena, c->hessian_column, c->curvatures);
        nl->callbacks = own;
        fill(nl, c);
        ok = !nl->arena.failed && !nl->graph.failed;
    }
    if (ok) return nl;
    perp__nl_destroy(nl);
    *status = perp__out_of_memory(diag, name);
    return NULL;
}

/* Values --------------------------------------------------------------------------------------- */

int perp__callbacks_jacobian(const perp__nl *nl)
{
    return nl->ncon + 1;
}

int perp__callbacks_gradient(const perp__nl *nl)
{
    return nl->ncon + 1 + nl->callbacks->row_start[nl->ncon];
}

int perp__callbacks_size(const perp__nl *nl)
{
    return perp__callbacks_gradient(nl) + nl->nvar;
}

int perp__callbacks_at(const perp__nl *nl, const double *x, int slopes, double *all)
{
    const perp_program_callbacks *c = nl->callbacks;
    int n = slopes ? perp__callbacks_size(nl) : nl->ncon + 1;
    double *gradient = all + perp__callbacks_gradient(nl);
    all[nl->ncon] = 0;
    for (int j = 0; j < nl->nvar && slopes; j++) gradient[j] = 0;
    int no = c->values(c->context, x, all, nl->nobj ? all + nl->ncon : NULL);
    if (!no && slopes)
        no = c->slopes(c->context, x, all + perp__callbacks_jacobian(nl),
                       nl->nobj ? gradient : NULL);
    for (int e = 0; e < n && no; e++) all[e] = (double)NAN;
    return !no;
}
