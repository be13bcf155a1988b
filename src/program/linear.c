/* Linear programs by Clp's simplex method, and proofs by multipliers that a program has no feasible point. Optimal, infeasible and
 * unbounded are said where the vertex's multipliers, Farkas's or the ray show it here, whatever Clp says. */

#include "base/tol.h"
#include "base/twice.h"
#include "external/lp.h"
#include "program/program_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The sides of a proof differ by this part of all terms, which is more than their rounding; of an optimum, agree to it. */
static const double MARGIN = 1e-9;

/* The affine rows of a program over its variables, as Clp has them. */
typedef struct affine {
    const perp_program *p;
    perp__lp lp;
    int *row_of; /* ncon: the row of the linear program, or -1 */
    double *x, *price, *ray;
    double *at_zero; /* the rows at x = 0 */
} affine;

/* Which rows have constant derivatives (and the objective, behind them). */
static void find_affine(const perp__functions *f, int *row_of)
{
    for (int k = 0; k < f->n; k++) row_of[k] = 0;
    for (int e = 0; e < f->nentry; e++)
        if (f->root[e] >= 0) row_of[f->row[e]] = -1;
}

static void fill_columns(affine *a, const perp__functions *f)
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

/* 0: memory. */
static int build(affine *a, perp_program *p, perp__arena *arena)
{
    const perp__functions *f = &p->functions;
    const perp__nl *nl = p->nl;
    perp__lp *lp = &a->lp;
    double *zero;
    *a = (affine){.p = p};
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

/* sum_i u_i A_ij with the size of its terms; *is_exact where nothing was rounded. */
static double column_sum(const perp__lp *lp, int j, const double *u, double *terms, int *is_exact)
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

/* Open bounds that follow from rows one by one, by the bounds of the other unknowns: lo and hi (ncolumn) begin as given. Widened by rounding.
 * sum, size: of each row, nrow. 1: one was found. */
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
            least[i] += x, most[i] += y;
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
            double reach = bound - (others - own), slack = MARGIN * (size[i] + fabs(bound));
            double x = (reach + (is_upper ? slack : -slack)) / a;
            if (isinf(hi[j]) && (a > 0) == is_upper)
                hi[j] = fmax(x, lo[j]), better = 1;
            else if (isinf(lo[j]) && (a < 0) == is_upper)
                lo[j] = fmin(x, hi[j]), better = 1;
        }
    return better;
}

/* The least of s x for lo <= x <= hi; s is known up to `slack`. */
static double least_of(double s, double slack, double lo, double hi)
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
        sum -= most, size += fabs(most);
    }
    for (int j = 0; j < lp->ncolumn && isfinite(sum); j++) {
        double terms;
        int is_exact;
        double s = column_sum(lp, j, u, &terms, &is_exact),
               slack = is_exact ? 0 : (lp->nrow + 2) * DBL_EPSILON * terms;
        double least = least_of(s, slack, lo[j], hi[j]);
        sum += least, size += fabs(least);
    }
    return isfinite(sum) && sum > MARGIN * size;
}

/* Try the multipliers, of either sign, as they are and as small whole numbers, whose sums are not rounded. */
static int is_proof(const perp__lp *lp, const double *lo, const double *hi, double *u)
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

/* The same with all bounds that follow from rows. -1: memory. */
static int is_proof_within(const perp__lp *lp, double *u)
{
    enum { MOST_PASSES = 20 };
    perp__arena arena = {0};
    double *lo, *hi, *row[3];
    size_t n = (size_t)lp->ncolumn;
    PERP_TAKE(&arena, lo, n);
    PERP_TAKE(&arena, hi, n);
    for (int k = 0; k < 3; k++) PERP_TAKE(&arena, row[k], lp->nrow);
    int found = arena.failed ? -1 : 0;
    if (found == 0) {
        memcpy(lo, lp->lo, n * sizeof *lo);
        memcpy(hi, lp->hi, n * sizeof *hi);
        for (int k = 0; k < MOST_PASSES && bound_by_rows(lp, lo, hi, row[0], row[1], row[2]); k++)
            continue;
        found = is_proof(lp, lo, hi, u);
    }
    perp__arena_clear(&arena);
    return found;
}

/* Clp says that there is no point: a proof is sought in the prices of the linear program whose rows may be missed, at a cost of
 * 1 for each unit of a miss. u: nrow. 1: it is one; 0: it is not; -1: memory. */
static int is_empty_by_proof(const perp__lp *lp, double *u)
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
                soft.index[n] = i, soft.value[n] = sign;
                soft.hi[column] = INFINITY, soft.cost[column] = 1;
            }
        soft.start[column] = n;
        status = perp__lp_solve_with_end(&soft, x, &(perp__lp_end){.price = u});
    }
    perp__arena_clear(&arena);
    return status == PERP_ERR_MEMORY ? -1 : status == PERP_OK ? is_proof_within(lp, u) : 0;
}

/* The cost can nowhere be less than at the vertex, by its prices. */
static int is_optimal(const affine *a)
{
    const perp__lp *lp = &a->lp;
    double bound = 0, cost = 0, size = 0;
    for (int i = 0; i < lp->nrow; i++) {
        double y = a->price[i];
        if (y == 0) continue;
        double at = y * (y > 0 ? lp->row_lo[i] : lp->row_hi[i]);
        if (!isfinite(at)) at = 0; /* of the wrong sign: no price, and the gap says so */
        bound += at, size += fabs(at);
    }
    for (int j = 0; j < lp->ncolumn; j++) {
        double terms;
        int is_exact;
        double d = lp->cost[j] - column_sum(lp, j, a->price, &terms, &is_exact);
        terms += fabs(lp->cost[j]);
        cost += lp->cost[j] * a->x[j], size += fabs(lp->cost[j] * a->x[j]);
        if (fabs(d) <= MARGIN * terms) continue;
        double at = d * (d > 0 ? lp->lo[j] : lp->hi[j]);
        if (!isfinite(at)) return 0;
        bound += at, size += fabs(at);
    }
    return cost - bound <= MARGIN * size;
}

/* Along the ray every row and bound stays, and the cost falls. */
static int is_ray(const affine *a, perp__arena *arena)
{
    const perp__lp *lp = &a->lp;
    double *row, *terms, cost = 0, size = 0;
    PERP_TAKE(arena, row, lp->nrow);
    PERP_TAKE(arena, terms, lp->nrow);
    if (arena->failed) return 0;
    for (int j = 0; j < lp->ncolumn; j++) {
        double d = a->ray[j];
        if ((d > 0 && isfinite(lp->hi[j])) || (d < 0 && isfinite(lp->lo[j]))) return 0;
        cost += lp->cost[j] * d, size += fabs(lp->cost[j] * d);
        for (int e = lp->start[j]; e < lp->start[j + 1]; e++) {
            row[lp->index[e]] += lp->value[e] * d;
            terms[lp->index[e]] += fabs(lp->value[e] * d);
        }
    }
    for (int i = 0; i < lp->nrow; i++)
        if ((isfinite(lp->row_hi[i]) && row[i] > MARGIN * terms[i]) ||
            (isfinite(lp->row_lo[i]) && row[i] < -MARGIN * terms[i]))
            return 0;
    return cost < -MARGIN * size;
}

perp_status perp__program_solve_linear(perp_program *p, perp_program_result *result)
{
    affine a;
    perp__arena arena = {0};
    if (!build(&a, p, &arena)) return perp__arena_clear(&arena), PERP_ERR_MEMORY;
    perp__lp_end end = {.price = a.price, .unbounded = a.ray};
    perp_status status = perp__lp_solve_with_end(&a.lp, a.x, &end);
    if (end.is_unbounded && is_ray(&a, &arena)) { /* and there is a point to go from */
        memset(a.lp.cost, 0, (size_t)a.lp.ncolumn * sizeof *a.lp.cost);
        memset(a.price, 0, (size_t)a.lp.nrow * sizeof *a.price);
        status = perp__lp_solve(&a.lp, a.x);
        result->is_unbounded = status == PERP_OK;
    }
    if (status == PERP_OK) {
        memcpy(p->x, a.x, (size_t)p->nl->nvar * sizeof *p->x);
        for (int k = 0; k < p->nl->ncon; k++) p->dual[k] = p->sign * a.price[a.row_of[k]];
        perp__program_check(p, result);
    }
    if (status == PERP_OK && perp__program_holds(p, result))
        result->outcome =
            !result->is_unbounded && is_optimal(&a) ? PERP_PLAN_GLOBAL : PERP_PLAN_FEASIBLE;
    result->is_unbounded &= perp__program_holds(p, result);
    if (status == PERP_ERR_NO_SOLUTION) {
        status = PERP_OK;
        int proved = end.is_infeasible ? is_empty_by_proof(&a.lp, a.ray) : 0;
        if (proved > 0) result->outcome = PERP_PLAN_INFEASIBLE;
        if (proved < 0) status = PERP_ERR_MEMORY;
    }
    result->method = "clp";
    perp__arena_clear(&arena);
    return status;
}

/* Infeasibility --------------------------------------------------------------------------------- */

/* A search over the sides of pairs, depth first: no side of this pair holds with those chosen before it. */
typedef struct search {
    affine a;
    const perp__nl *nl;
    int left; /* linear programs that may still be solved */
} search;

/* Put a pair on one of its faces: the variable at its lower bound, at its upper, or the row at 0. */
enum { AT_LO, AT_HI, ROW_ZERO, NFACE };

static int put_on_face(search *s, int i, int face)
{
    const perp__nl *nl = s->nl;
    perp__lp *lp = &s->a.lp;
    int j = nl->pairs.var[i], row = s->a.row_of[i];
    if ((face == AT_LO && !nl->pairs.lower[i]) || (face == AT_HI && !nl->pairs.upper[i])) return 0;
    double zero = row >= 0 ? -s->a.at_zero[i] : 0;
    if (face == AT_LO) lp->hi[j] = nl->lo[j];
    if (face == AT_HI) lp->lo[j] = nl->hi[j];
    if (row < 0) return 1;
    lp->row_lo[row] = face == AT_HI ? -(double)INFINITY : zero;
    lp->row_hi[row] = face == AT_LO ? (double)INFINITY : zero;
    return 1;
}

static void take_off_face(search *s, int i)
{
    const perp__nl *nl = s->nl;
    int j = nl->pairs.var[i], row = s->a.row_of[i];
    s->a.lp.lo[j] = nl->lo[j];
    s->a.lp.hi[j] = nl->hi[j];
    if (row < 0) return;
    s->a.lp.row_lo[row] = nl->rlo[i] - s->a.at_zero[i];
    s->a.lp.row_hi[row] = nl->rhi[i] - s->a.at_zero[i];
}

/* 1: no point of the linear program is there, by a proof; 0: there may be one; -1: memory, or no Clp. */
static int is_empty(search *s)
{
    perp__lp_end end = {0};
    perp_status status = perp__lp_solve_with_end(&s->a.lp, s->a.x, &end);
    if (status == PERP_ERR_MEMORY || status == PERP_ERR_UNAVAILABLE) return -1;
    return end.is_infeasible ? is_empty_by_proof(&s->a.lp, s->a.ray) : 0;
}

/* As is_empty, with pairs from `first` on put on each of their faces. */
static int has_no_point(search *s, int first)
{
    const perp__nl *nl = s->nl;
    if (s->left-- <= 0) return 0;
    int empty = is_empty(s), i = first;
    if (empty != 0) return empty;
    while (i < nl->ncon && (nl->pairs.var[i] < 0 || !(nl->pairs.lower[i] || nl->pairs.upper[i])))
        i++;
    if (i == nl->ncon) return 0;
    empty = 1;
    for (int face = AT_LO; face < NFACE && empty == 1; face++) {
        if (put_on_face(s, i, face)) empty = has_no_point(s, i + 1);
        take_off_face(s, i);
    }
    return empty;
}

int perp__program_is_infeasible(perp_program *p)
{
    enum { MOST_PROGRAMS = 4000 };
    search s = {.nl = p->nl, .left = p->nl->pairs.n > 40 ? 1 : MOST_PROGRAMS};
    perp__arena arena = {0};
    if (!perp__lp_available()) return 0;
    int empty = build(&s.a, p, &arena) ? has_no_point(&s, 0) : -1;
    perp__arena_clear(&arena);
    return empty;
}
