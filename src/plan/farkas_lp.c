/* Proofs by multipliers (Farkas) that no point keeps a linear program, and what follows from its
 * rows for the bounds of unknowns. */

#include "plan/farkas_lp.h"

#include "base/arena.h"
#include "base/twice.h"

#include <float.h>
#include <math.h>
#include <string.h>

double perp__lp_column_sum(const perp__lp *lp, int j, const double *u, double *terms, int *is_exact)
{
    double sum = 0;
    *terms = 0;
    *is_exact = 1;
    for (int e = lp->start[j]; e < lp->start[j + 1]; e++) {
        double y = u[lp->index[e]], product = y * lp->value[e], next = sum + product;
        if (y == 0) continue;
        if (perp__product_error(y, lp->value[e], product) != 0 ||
            perp__sum_error(sum, product, next) != 0)
            *is_exact = 0;
        *terms += fabs(product);
        sum = next;
    }
    return sum;
}

void perp__lp_row_sums(const perp__lp *lp, const double *x, double *sum, double *terms)
{
    for (int j = 0; j < lp->ncolumn; j++)
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++) {
            double term = lp->value[e] * x[j];
            sum[lp->index[e]] += term;
            terms[lp->index[e]] += fabs(term);
        }
}

/* One pass. sum, size: of each row, nrow. Returns 1: one was found. */
static int bound_by_rows(const perp__lp *lp, double *lo, double *hi, double *least, double *most,
                         double *size)
{
    int better = 0;
    memset(least, 0, (size_t)lp->nrow * sizeof *least);
    memset(most, 0, (size_t)lp->nrow * sizeof *most);
    memset(size, 0, (size_t)lp->nrow * sizeof *size);
    for (int j = 0; j < lp->ncolumn; j++)
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++) {
            double a = lp->value[e], x = fmin(a * lo[j], a * hi[j]), y = fmax(a * lo[j], a * hi[j]);
            int i = lp->index[e];
            least[i] += x;
            most[i] += y;
            size[i] += isfinite(x) ? fabs(x) : 0;
            size[i] += isfinite(y) ? fabs(y) : 0;
        }
    for (int j = 0; j < lp->ncolumn; j++)
        for (int e = lp->start[j]; e < lp->start[j + 1] && (isinf(lo[j]) || isinf(hi[j])); e++) {
            int i = lp->index[e], is_upper = lp->value[e] * (isinf(hi[j]) ? hi[j] : lo[j]) > 0;
            double a = lp->value[e], bound = is_upper ? lp->row_hi[i] : lp->row_lo[i],
                   others = is_upper ? least[i] : most[i],
                   own = is_upper ? fmin(a * lo[j], a * hi[j]) : fmax(a * lo[j], a * hi[j]);
            if (!isfinite(bound) || !isfinite(others) || !isfinite(own)) continue;
            double reach = bound - (others - own),
                   slack = PERP_PROOF_MARGIN * (size[i] + fabs(bound));
            double x = (reach + (is_upper ? slack : -slack)) / a;
            if (isinf(hi[j]) && (a > 0) == is_upper) {
                hi[j] = fmax(x, lo[j]);
                better = 1;
            } else if (isinf(lo[j]) && (a < 0) == is_upper) {
                lo[j] = fmin(x, hi[j]);
                better = 1;
            }
        }
    return better;
}

double perp__lp_least_of(double s, double slack, double lo, double hi)
{
    if (fabs(s) <= slack) {
        if (slack == 0) return 0;
        return isfinite(lo) && isfinite(hi) ? -2 * slack * fmax(fabs(lo), fabs(hi))
                                            : -(double)INFINITY;
    }
    double at = s > 0 ? lo : hi;
    return isfinite(at) ? s * at - slack * fabs(at) : -(double)INFINITY;
}

/* Farkas: for all x within the bounds lo .. hi sum u_i r_i(x) is more than the rows allow. */
static int proves(const perp__lp *lp, const double *lo, const double *hi, const double *u)
{
    double sum = 0, size = 0;
    for (int i = 0; i < lp->nrow; i++) {
        if (u[i] == 0) continue;
        double most = u[i] * (u[i] > 0 ? lp->row_hi[i] : lp->row_lo[i]);
        sum -= most;
        size += fabs(most);
    }
    for (int j = 0; j < lp->ncolumn && isfinite(sum); j++) {
        double terms;
        int is_exact;
        double s = perp__lp_column_sum(lp, j, u, &terms, &is_exact),
               slack = is_exact ? 0 : (lp->nrow + 2) * DBL_EPSILON * terms;
        double least = perp__lp_least_of(s, slack, lo[j], hi[j]);
        sum += least;
        size += fabs(least);
    }
    return isfinite(sum) && sum > PERP_PROOF_MARGIN * size;
}

int perp__lp_is_proof(const perp__lp *lp, const double *lo, const double *hi, double *u)
{
    enum { MOST_COMMON = 240 };
    double most = 0;
    for (int i = 0; i < lp->nrow; i++) most = fmax(most, fabs(u[i]));
    if (!(most > 0)) return 0;
    for (int i = 0; i < lp->nrow; i++) u[i] = fabs(u[i]) < 1e-11 * most ? 0 : u[i] / most;
    for (int k = 0; k <= MOST_COMMON; k++) {
        int is_whole = 1;
        for (int i = 0; i < lp->nrow && k > 0; i++)
            is_whole &= fabs(k * u[i] - round(k * u[i])) < 1e-7 * k;
        if (!is_whole) continue;
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (int i = 0; i < lp->nrow && k > 0; i++) u[i] = round(k * u[i]) / k;
            for (int i = 0; i < lp->nrow; i++) u[i] *= k > 0 ? sign * k : sign;
            if (proves(lp, lo, hi, u)) return 1;
            for (int i = 0; i < lp->nrow; i++) u[i] /= k > 0 ? sign * k : sign;
        }
    }
    return 0;
}

int perp__lp_follow_rows(const perp__lp *lp, double *lo, double *hi)
{
    enum { MOST_PASSES = 20 };
    perp__arena arena = {0};
    double *row[3];
    for (int k = 0; k < 3; k++) PERP_TAKE(&arena, row[k], lp->nrow);
    for (int k = 0; k < MOST_PASSES && !arena.failed; k++)
        if (!bound_by_rows(lp, lo, hi, row[0], row[1], row[2])) break;
    int ok = !arena.failed;
    perp__arena_clear(&arena);
    return ok;
}

/* The same with all bounds that follow from rows. Returns -1: memory. */
static int is_proof_within(const perp__lp *lp, double *u)
{
    perp__arena arena = {0};
    double *lo, *hi;
    size_t n = (size_t)lp->ncolumn;
    PERP_TAKE(&arena, lo, n);
    PERP_TAKE(&arena, hi, n);
    int found = arena.failed ? -1 : 0;
    if (found == 0) {
        memcpy(lo, lp->lo, n * sizeof *lo);
        memcpy(hi, lp->hi, n * sizeof *hi);
        found = perp__lp_follow_rows(lp, lo, hi) ? perp__lp_is_proof(lp, lo, hi, u) : -1;
    }
    perp__arena_clear(&arena);
    return found;
}

perp_status perp__lp_price_misses(const perp__lp *lp, double *u)
{
    perp__arena arena = {0};
    perp__lp soft = *lp;
    double *x;
    int n = lp->start[lp->ncolumn], column = lp->ncolumn;
    soft.ncolumn += 2 * lp->nrow;
    PERP_TAKE(&arena, x, soft.ncolumn);
    PERP_TAKE(&arena, soft.start, soft.ncolumn + 1);
    PERP_TAKE(&arena, soft.index, n + 2 * lp->nrow);
    PERP_TAKE(&arena, soft.value, n + 2 * lp->nrow);
    PERP_TAKE(&arena, soft.lo, soft.ncolumn);
    PERP_TAKE(&arena, soft.hi, soft.ncolumn);
    PERP_TAKE(&arena, soft.cost, soft.ncolumn);
    perp_status status = PERP_ERR_MEMORY;
    if (!arena.failed) {
        memcpy(soft.start, lp->start, (size_t)lp->ncolumn * sizeof *soft.start);
        memcpy(soft.index, lp->index, (size_t)n * sizeof *soft.index);
        memcpy(soft.value, lp->value, (size_t)n * sizeof *soft.value);
        memcpy(soft.lo, lp->lo, (size_t)lp->ncolumn * sizeof *soft.lo);
        memcpy(soft.hi, lp->hi, (size_t)lp->ncolumn * sizeof *soft.hi);
        for (int i = 0; i < lp->nrow; i++)
            for (int sign = 1; sign >= -1; sign -= 2, column++, n++) {
                soft.start[column] = n;
                soft.index[n] = i;
                soft.value[n] = sign;
                soft.hi[column] = INFINITY;
                soft.cost[column] = 1;
            }
        soft.start[column] = n;
        status = perp__lp_solve_with_end(&soft, x, &(perp__lp_end){.price = u});
    }
    perp__arena_clear(&arena);
    return status;
}

int perp__lp_is_empty(const perp__lp *lp, double *u)
{
    perp_status status = perp__lp_price_misses(lp, u);
    if (status == PERP_ERR_MEMORY) return -1;
    if (status == PERP_OK) return is_proof_within(lp, u);
    return 0;
}

/* By how much the largest of `value` is outside lo .. hi; these from there on. */
static double shift(int n, const double *value, double *lo, double *hi)
{
    double miss = 0;
    for (int i = 0; i < n; i++) {
        lo[i] -= value[i];
        hi[i] -= value[i];
        miss = fmax(miss, fmax(lo[i], -hi[i]));
    }
    return miss;
}

static void divide(int n, double by, double *lo, double *hi)
{
    for (int i = 0; i < n; i++) {
        lo[i] /= by;
        hi[i] /= by;
    }
}

int perp__lp_is_empty_near(const perp__lp *lp, const double *x, double *u)
{
    perp__arena arena = {0};
    perp__lp near = *lp;
    double *row, *terms;
    size_t rows = (size_t)lp->nrow, columns = (size_t)lp->ncolumn;
    PERP_TAKE(&arena, row, rows);
    PERP_TAKE(&arena, terms, rows);
    PERP_TAKE(&arena, near.row_lo, rows);
    PERP_TAKE(&arena, near.row_hi, rows);
    PERP_TAKE(&arena, near.lo, columns);
    PERP_TAKE(&arena, near.hi, columns);
    int found = arena.failed ? -1 : 0;
    if (found == 0) {
        memcpy(near.row_lo, lp->row_lo, rows * sizeof *near.row_lo);
        memcpy(near.row_hi, lp->row_hi, rows * sizeof *near.row_hi);
        memcpy(near.lo, lp->lo, columns * sizeof *near.lo);
        memcpy(near.hi, lp->hi, columns * sizeof *near.hi);
        perp__lp_row_sums(lp, x, row, terms);
        double miss = fmax(shift(lp->nrow, row, near.row_lo, near.row_hi),
                           shift(lp->ncolumn, x, near.lo, near.hi));
        divide(lp->nrow, miss, near.row_lo, near.row_hi);
        divide(lp->ncolumn, miss, near.lo, near.hi);
        perp_status status = miss > 0 ? perp__lp_price_misses(&near, u) : PERP_ERR_NO_SOLUTION;
        if (status == PERP_ERR_MEMORY)
            found = -1;
        else if (status == PERP_OK)
            found = is_proof_within(lp, u);
        else
            found = 0;
    }
    perp__arena_clear(&arena);
    return found;
}
