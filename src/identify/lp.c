/* Estimator `lp`: complementarity variables measured, conditions affine in the parameters (notes
 * 3.1.4).
 *
 * Problem: minimise sum over the steps of a_s (x_s + g_s' theta), and of |x_s + g_s' theta| for
 * equations, subject to x_s + g_s' theta >= 0 and the ranges. The trivial solution is excluded by
 * fixing one entry of each row of M, that is by not estimating it (not by a margin, which shifts
 * the bias; see the corrections to the notes). Exact: the simplex method gives a vertex. Then each
 * parameter is made as small and as large as the optimal cost allows: where these differ, the data
 * leave it open. Fails: one noisy row moves a hard constraint. So an error of 1e-2 in the data
 * becomes one of 20 % in M; use svd. Cost: 2 np + 1 linear programs. */

#include "base/tol.h"
#include "external/lp.h"
#include "identify/samples.h"

#include <math.h>
#include <stdlib.h>

/* Rows of the program: the conditions of each step, and last the cost, which is bounded once it is
 * known. Columns: theta, then two slacks for each equation of each step. */
typedef struct program {
    perp__lp lp;
    double *cost; /* of the study: lp.cost changes while the ends of the optimal face are sought */
    double *x;
} program;

static int count_equations(const perp__samples *x)
{
    int n = 0;
    for (int c = 0; c < x->ncondition; c++) n += x->condition[c].is_equation;
    return n;
}

static int allocate_program(program *p, const perp__samples *x)
{
    size_t rows = (size_t)x->n * (size_t)x->ncondition + 1,
           slacks = 2 * (size_t)x->n * (size_t)count_equations(x), columns = (size_t)x->np + slacks;
    p->lp.nrow = (int)rows;
    p->lp.ncolumn = (int)columns;
    p->lp.start = malloc((columns + 1) * sizeof(int));
    p->lp.index = malloc((rows * (size_t)x->np + 2 * slacks + 1) * sizeof(int));
    p->lp.value = malloc((rows * (size_t)x->np + 2 * slacks + 1) * sizeof(double));
    p->lp.lo = malloc((5 * columns + 2 * rows) * sizeof(double));
    if (!p->lp.start || !p->lp.index || !p->lp.value || !p->lp.lo) return 0;
    p->lp.hi = p->lp.lo + columns;
    p->lp.cost = p->lp.hi + columns;
    p->cost = p->lp.cost + columns;
    p->x = p->cost + columns;
    p->lp.row_lo = p->x + columns;
    p->lp.row_hi = p->lp.row_lo + rows;
    return 1;
}

static void free_program(program *p)
{
    free(p->lp.start);
    free(p->lp.index);
    free(p->lp.value);
    free(p->lp.lo);
}

static void push(perp__lp *lp, int *at, int row, double value)
{
    if (value == 0) return;
    lp->index[*at] = row;
    lp->value[(*at)++] = value;
}

/* Measured complementarity variables are not negative but for noise. */
static double weight(const perp__samples *x, int c, int s)
{
    return fmax(0, x->other[c * x->n + s]);
}

static void write_program(program *p, const perp__study *study, const perp__samples *x)
{
    perp__lp *lp = &p->lp;
    int at = 0, last = lp->nrow - 1, column = x->np;
    for (int k = 0; k < x->np; k++) {
        lp->start[k] = at;
        p->cost[k] = 0;
        for (int c = 0; c < x->ncondition; c++) {
            for (int s = 0; s < x->n; s++) {
                double slope = x->slope[(c * x->np + k) * x->n + s];
                push(lp, &at, c * x->n + s, slope);
                p->cost[k] += weight(x, c, s) * slope;
            }
        }
        push(lp, &at, last, p->cost[k]);
        lp->lo[k] = study->lo[k];
        lp->hi[k] = study->hi[k];
    }
    for (int c = 0; c < x->ncondition; c++) {
        for (int s = 0; s < x->n; s++) {
            int row = c * x->n + s;
            lp->row_lo[row] = -x->at_zero[row];
            lp->row_hi[row] = x->condition[c].is_equation ? -x->at_zero[row] : (double)INFINITY;
            for (int sign = -1; sign <= 1 && x->condition[c].is_equation; sign += 2) {
                lp->start[column] = at;
                p->cost[column] = 1;
                push(lp, &at, row, sign);
                push(lp, &at, last, 1);
                lp->lo[column] = 0;
                lp->hi[column++] = (double)INFINITY;
            }
        }
    }
    lp->start[column] = at;
    lp->row_lo[last] = -(double)INFINITY;
    lp->row_hi[last] = (double)INFINITY;
}

/* The cost at x without its constant part, and the largest violation, both from the samples
 * themselves. */
static double recompute(const program *p, const perp__samples *x, double *violation)
{
    double cost = 0;
    *violation = 0;
    for (int c = 0; c < x->ncondition; c++) {
        for (int s = 0; s < x->n; s++) {
            double value = perp__samples_value(x, c, s, p->x);
            if (x->condition[c].is_equation)
                cost += fabs(value);
            else {
                cost += weight(x, c, s) * value;
                *violation = fmax(*violation, -value);
            }
        }
    }
    return cost;
}

/* How far parameter k goes on the optimal face, in the direction `sign`; NaN when memory is out. */
static double end_of_face(program *p, int k, int sign, double otherwise)
{
    for (int j = 0; j < p->lp.ncolumn; j++) p->lp.cost[j] = 0;
    p->lp.cost[k] = -sign;
    perp_status status = perp__lp_solve(&p->lp, p->x);
    if (status == PERP_OK) return p->x[k];
    if (status == PERP_ERR_MEMORY) return (double)NAN;
    return otherwise;
}

static int report_face(program *p, const perp__samples *x, double optimum,
                       perp_identification *result)
{
    p->lp.row_hi[p->lp.nrow - 1] = optimum + PERP_TOL_FACE * (1 + fabs(optimum));
    int ok = 1;
    for (int k = 0; k < x->np && ok; k++) {
        perp_estimate *e = &result->parameter[k];
        double low = end_of_face(p, k, -1, e->value), high = end_of_face(p, k, 1, e->value);
        if (isnan(low) || isnan(high)) return 0;
        e->low = fmin(e->value, low);
        e->high = fmax(e->value, high);
        e->at_bound = e->value <= e->lo || e->value >= e->hi;
        if (e->high - e->low <= PERP_TOL_POINT * (e->hi - e->lo)) {
            if (e->at_bound)
                ok = perp__finding(
                    result,
                    "%s: the estimate is an end of its range; the best value may lie outside",
                    e->name);
            continue;
        }
        e->identifiable = 0;
        ok = perp__finding(
            result,
            "%s: not identifiable from these data: every value from %.6g to %.6g costs the same",
            e->name, e->low, e->high);
    }
    return ok;
}

static perp_status refuse(const perp__study *study, perp_status status, const char *why)
{
    return perp__refuse(study->diag, status, perp__in(NULL), "method lp: %s\n", why);
}

static perp_status solve(program *p, const perp__study *study, const perp__samples *x,
                         perp_identification *result)
{
    double violation, optimum = 0, scale = 1;
    write_program(p, study, x);
    for (int j = 0; j < p->lp.ncolumn; j++) p->lp.cost[j] = p->cost[j];
    perp_status status = perp__lp_solve(&p->lp, p->x);
    if (status == PERP_ERR_MEMORY) return status;
    if (status != PERP_OK)
        return refuse(study, PERP_ERR_NO_SOLUTION,
                      "no parameters of the ranges satisfy w >= 0 at every sample; widen the "
                      "ranges, or use svd");
    result->cost = recompute(p, x, &violation);
    for (int j = 0; j < p->lp.ncolumn; j++) {
        optimum += p->cost[j] * p->x[j];
        scale = fmax(scale, fabs(p->x[j]));
    }
    if (violation > PERP_TOL_PROGRAM * scale)
        return refuse(study, PERP_ERR_NO_SOLUTION,
                      "the linear program's answer does not satisfy its constraints");
    if (!perp__samples_report(study, x, p->x, result)) return PERP_ERR_MEMORY;
    result->evaluations = 1 + 2 * x->np;
    return report_face(p, x, optimum, result) ? PERP_OK : PERP_ERR_MEMORY;
}

static perp_status run(perp__study *study, perp_identification *result)
{
    perp__samples x;
    program p = {0};
    if (!perp__lp_available())
        return refuse(study, PERP_ERR_UNAVAILABLE,
                      "there is no Clp here: install coinor-libclp-dev and build again");
    perp_status status = perp__samples_create(study, &x);
    if (status != PERP_OK) return status;
    status = allocate_program(&p, &x) ? solve(&p, study, &x, result) : PERP_ERR_MEMORY;
    free_program(&p);
    perp__samples_clear(&x);
    return status;
}

const perp__estimator perp__estimator_lp = {run};
