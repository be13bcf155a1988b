/* Estimator `svd`: complementarity variables measured, conditions affine in the parameters, data
 * with noise.
 *
 * If the measured side a_s of a pair is positive, x_s + g_s' theta = 0. For each set of parameters
 * that occur together in conditions these are homogeneous equations in (theta, 1). The right
 * singular vector of the smallest singular value solves them: total least squares (Golub & Van Loan
 * 1980), which assumes equal noise in all columns. Standard errors after Van Huffel & Vandewalle
 * 1991, 8.5. Columns that hold only noise leave their parameters open. Fails: when fixed terms of a
 * set are zero in all active steps. Cost: one eigenvalue problem a set. */

#include "base/tol.h"
#include "identify/samples.h"
#include "linalg/symmetric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = PERP_IDENTIFY_MOST_PARAMETERS + 1 };

/* A pair counts as active where its measured side is above this share of its largest value, or
 * above three times its noise. */
#define ACTIVE_SHARE 0.05

/* A column below this share of the largest one holds noise only. */
#define COLUMN_SHARE 0.03

/* Sets of parameters that stand in a condition together: group[k] is the lowest parameter of k's
 * set. */
static void find_groups(const perp__samples *x, int *group)
{
    for (int k = 0; k < x->np; k++) group[k] = k;
    for (int c = 0; c < x->ncondition; c++) {
        int first = -1;
        for (int k = 0; k < x->np; k++) {
            int used = 0;
            for (int s = 0; s < x->n && !used; s++)
                used = x->slope[(c * x->np + k) * x->n + s] != 0;
            if (!used) continue;
            if (first < 0) first = k;
            int from = group[k], to = group[first];
            for (int j = 0; j < x->np && from != to; j++) {
                if (group[j] == from) group[j] = to;
            }
        }
    }
}

/* Does condition c contain a parameter of the set? */
static int belongs(const perp__samples *x, int c, const int *group, int set)
{
    for (int k = 0; k < x->np; k++) {
        if (group[k] != set) continue;
        for (int s = 0; s < x->n; s++) {
            if (x->slope[(c * x->np + k) * x->n + s] != 0) return 1;
        }
    }
    return 0;
}

static double active_from(const perp__samples *x, int c)
{
    double largest = 0;
    for (int s = 0; s < x->n; s++) largest = fmax(largest, x->other[c * x->n + s]);
    return ACTIVE_SHARE * largest;
}

/* One set: its parameters, then the constant. */
typedef struct set_system {
    int n, member[MOST];
    long rows;
    double A[MOST * MOST], V[MOST * MOST], value[MOST];
} set_system;

static void add_row(set_system *y, const perp__samples *x, int c, int s)
{
    double row[MOST];
    for (int i = 0; i < y->n; i++) row[i] = x->slope[(c * x->np + y->member[i]) * x->n + s];
    row[y->n] = x->at_zero[c * x->n + s];
    for (int i = 0; i <= y->n; i++) {
        for (int j = 0; j <= y->n; j++) y->A[i + j * (y->n + 1)] += row[i] * row[j];
    }
    y->rows++;
}

static void collect(set_system *y, const perp__samples *x, const int *group, int set)
{
    memset(y->A, 0, sizeof y->A);
    y->rows = 0;
    for (int c = 0; c < x->ncondition; c++) {
        if (!belongs(x, c, group, set)) continue;
        double least = active_from(x, c);
        for (int s = 0; s < x->n; s++) {
            if (x->condition[c].is_equation || x->other[c * x->n + s] > least) add_row(y, x, c, s);
        }
    }
}

/* Take the parameters out whose columns are empty; returns how many. */
static int drop_empty_columns(set_system *y, perp_identification *result)
{
    double largest = 0;
    int kept = 0, dropped = 0;
    for (int i = 0; i <= y->n; i++) largest = fmax(largest, y->A[i + i * (y->n + 1)]);
    for (int i = 0; i < y->n; i++) {
        if (y->A[i + i * (y->n + 1)] > COLUMN_SHARE * COLUMN_SHARE * largest) {
            y->member[kept++] = y->member[i];
            continue;
        }
        perp_estimate *e = &result->parameter[y->member[i]];
        e->identifiable = 0;
        e->low = e->lo;
        e->high = e->hi;
        e->value = fmin(fmax(0, e->lo), e->hi);
        dropped++;
        if (!perp__finding(result,
                           "%s: not identifiable from these data: what it multiplies is zero "
                           "wherever its pair acts",
                           e->name))
            return -1;
    }
    y->n = kept;
    return dropped;
}

/* theta = v / v_constant of the smallest singular vector; covariance s^2 (1 + |theta|^2) (A'A -
 * s_min^2)^-1 by the other vectors. */
static int read_solution(const set_system *y, double quantile, double *sum,
                         perp_identification *result)
{
    int n = y->n + 1;
    const double *v = y->V;
    double last = v[y->n], length = 1, noise = fmax(0, y->value[0]);
    long dof = y->rows - y->n;
    if (fabs(last) < PERP_TOL_LAST) return 0;
    for (int i = 0; i < y->n; i++) length += (v[i] / last) * (v[i] / last);
    double variance = dof > 0 ? noise / (double)dof : 0;
    *sum += noise;
    for (int i = 0; i < y->n; i++) {
        perp_estimate *e = &result->parameter[y->member[i]];
        double spread = 0;
        e->value = v[i] / last;
        for (int k = 1; k < n; k++) {
            double d = y->V[i + k * n] - e->value * y->V[y->n + k * n];
            spread += d * d / fmax(y->value[k] - y->value[0], PERP_TINY);
        }
        e->std_error = sqrt(variance * length * spread);
        e->low = e->value - quantile * e->std_error;
        e->high = e->value + quantile * e->std_error;
    }
    return 1;
}

/* When two singular values are as small as each other, a whole plane of parameters fits. */
static int is_open(const set_system *y)
{
    double largest = y->value[y->n], second = y->n > 0 ? y->value[1] : largest;
    return y->rows < y->n || !(second > PERP_TOL_PLANE * largest) || second < 2 * y->value[0];
}

static int say_open(const set_system *y, perp_identification *result)
{
    for (int i = 0; i < y->n; i++) {
        perp_estimate *e = &result->parameter[y->member[i]];
        double apart = fabs(y->V[i + (y->n + 1)]) + fabs(y->V[i]);
        if (apart < PERP_TOL_APART) continue;
        e->identifiable = 0;
        e->low = e->lo;
        e->high = e->hi;
        e->std_error = NAN;
        if (!perp__finding(
                result,
                "%s: not identifiable from these data: two singular values are equally small",
                e->name))
            return 0;
    }
    return 1;
}

static perp_status solve_set(const perp__samples *x, const int *group, int set, double quantile,
                             set_system *y, double *sum, perp_identification *result)
{
    y->n = 0;
    for (int k = 0; k < x->np; k++) {
        if (group[k] == set) y->member[y->n++] = k;
    }
    collect(y, x, group, set);
    int dropped = drop_empty_columns(y, result);
    if (dropped < 0) return PERP_ERR_MEMORY;
    if (dropped) collect(y, x, group, set);
    if (y->n == 0) return PERP_OK;
    perp__symmetric_eigen(y->n + 1, y->A, y->value, y->V);
    double condition = y->value[1] > 0 ? y->value[y->n] / y->value[1] : (double)INFINITY;
    if (!(condition < result->condition)) result->condition = condition;
    if (is_open(y) || !read_solution(y, quantile, sum, result))
        return say_open(y, result) ? PERP_OK : PERP_ERR_MEMORY;
    return PERP_OK;
}

static perp_status run(perp__study *study, perp_identification *result)
{
    perp__samples x;
    int group[MOST];
    double sum = 0, quantile = perp__student_quantile(study->options.confidence, 1000);
    perp_status status = perp__samples_create(study, &x);
    if (status != PERP_OK) return status;
    set_system *y = malloc(sizeof *y);
    if (!y || !perp__samples_report(study, &x, study->from, result)) status = PERP_ERR_MEMORY;
    result->condition = 0;
    find_groups(&x, group);
    for (int set = 0; set < x.np && status == PERP_OK; set++) {
        if (group[set] == set) status = solve_set(&x, group, set, quantile, y, &sum, result);
    }
    result->cost = sum;
    result->evaluations = 1;
    free(y);
    perp__samples_clear(&x);
    return status;
}

const perp__estimator perp__estimator_svd = {run};
