/* The registry, the driver that believes no solver, and the residual. */

#include "base/base.h"
#include "base/tol.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    const perp__solver *solver;
} methods[] = {
#define PERP_SOLVER(name, NAME, problem, summary) {#name, summary, &perp__##name},
#include "perp/solvers.def"
#undef PERP_SOLVER
};

perp_method perp_method_find(const char *name)
{
    int m = 0;
    while (m < PERP_METHOD_COUNT && (!name || strcmp(methods[m].name, name) != 0)) m++;
    return (perp_method)m;
}

const char *perp_method_name(perp_method method)
{
    return (unsigned)method < PERP_METHOD_COUNT ? methods[method].name : "unknown";
}

const char *perp_method_summary(perp_method method)
{
    return (unsigned)method < PERP_METHOD_COUNT ? methods[method].summary : "";
}

/* Life ----------------------------------------------------------------------------------------- */

perp_solver_options perp_solver_options_default(perp_method method)
{
    (void)method;
    return (perp_solver_options){.tol = PERP_TOL_SOLVED,
                                 .psor = {.omega = 1.3},
                                 .prox = {.strategy = PERP_RHO_ADAPTIVE, .rho = 1}};
}

static int options_are_valid(const perp_solver_options *o)
{
    return o->tol > 0 && o->tol <= 1e-2 && o->max_iter >= 0 && o->psor.omega > 0 &&
           o->psor.omega < 2 && (unsigned)o->prox.strategy < PERP_RHO_COUNT && o->prox.rho > 0 &&
           isfinite(o->prox.rho);
}

static int allocate(perp_solver *s)
{
    const perp__solver *method = methods[s->method].solver;
    size_t n = (size_t)s->n_max + 1;
    s->z = calloc(8 * n + n * n, sizeof(double));
    s->basis = calloc(n, 1);
    s->swap = calloc(2 * n, sizeof(int));
    s->work_block = malloc((method->doubles(s->n_max) + 8) * sizeof(double));
    s->index = calloc(method->ints(s->n_max) + 1, sizeof(int));
    if (!s->z || !s->basis || !s->swap || !s->work_block || !s->index) return 0;
    /* whole cache lines: kernels work on aligned columns */
    s->work = (double *)(((uintptr_t)s->work_block + 63) / 64 * 64);
    s->w = s->z + n, s->z2 = s->w + n, s->w2 = s->z2 + n, s->start = s->w2 + n;
    s->ray = s->start + n, s->certificate = s->ray + n, s->scratch = s->certificate + n;
    s->factors = s->scratch + n;
    s->rows = s->swap + n;
    if (!s->options.mixed || method->takes_bounds) return 1;
    s->mixed = malloc(perp__mixed_doubles(s->n_max) * sizeof(double));
    s->mixed_index = malloc(perp__mixed_ints(s->n_max) * sizeof(int));
    return s->mixed && s->mixed_index;
}

perp_status perp_solver_create(perp_method method, int n_max, const perp_solver_options *options,
                               perp_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    perp_solver_options o = options ? *options : perp_solver_options_default(method);
    if ((unsigned)method >= PERP_METHOD_COUNT || n_max < 0 || n_max > 1 << 20 ||
        !options_are_valid(&o))
        return PERP_ERR_ARG;
    int (*is_available)(void) = methods[method].solver->is_available;
    if (is_available && !is_available()) return PERP_ERR_UNAVAILABLE;
    perp_solver *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    *s = (perp_solver){
        .method = method, .answered = method, .options = o, .n_max = n_max, .n = -1, .nrows = -1};
    s->isa = perp__isa();
    perp_status status = allocate(s) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK && s->mixed) {
        o.mixed = 0;
        status = perp_solver_create(method, 2 * n_max, &o, &s->inner);
    }
    if (status != PERP_OK) {
        perp_solver_destroy(s);
        return status;
    }
    *out = s;
    return PERP_OK;
}

void perp_solver_destroy(perp_solver *s)
{
    if (!s) return;
    perp_solver_destroy(s->inner);
    free(s->z);
    free(s->basis);
    free(s->swap);
    free(s->work_block);
    free(s->index);
    free(s->mixed);
    free(s->mixed_index);
    free(s);
}

/* Residuals and certificates ------------------------------------------------------------------- */

/* w = M z + q, four columns at a time. */
static inline PERP_INLINE void product(const perp_lcp *lcp, int n, const double *z,
                                       double *restrict w)
{
    int j = 0;
    for (int i = 0; i < n; i++) w[i] = lcp->q[i];
    for (; j + 4 <= n; j += 4) {
        const double *a = perp__column(lcp, j), *b = perp__column(lcp, j + 1),
                     *c = perp__column(lcp, j + 2), *d = perp__column(lcp, j + 3);
        double za = z[j], zb = z[j + 1], zc = z[j + 2], zd = z[j + 3];
        if (za == 0 && zb == 0 && zc == 0 && zd == 0) continue;
        for (int i = 0; i < n; i++) w[i] = w[i] + (a[i] * za + b[i] * zb) + (c[i] * zc + d[i] * zd);
    }
    for (; j < n; j++) {
        const double *a = perp__column(lcp, j);
        for (int i = 0; i < n; i++) w[i] += a[i] * z[j];
    }
}

/* max |min(z_i, w_i)| in eight strands; NaN where something is not finite. */
static inline PERP_INLINE double pure_residual(int n, const double *z, const double *w)
{
    enum { STRANDS = 8 };
    double most[STRANDS] = {0}, sum[STRANDS] = {0};
    int i = 0;
    for (; i + STRANDS <= n; i += STRANDS) {
        for (int l = 0; l < STRANDS; l++) {
            double a = z[i + l], b = w[i + l], r = fabs(a < b ? a : b);
            most[l] = r > most[l] ? r : most[l];
            sum[l] += (a - a) + (b - b); /* 0, or NaN where one is not finite */
        }
    }
    for (int l = 0; i < n; i++, l++) {
        double a = z[i], b = w[i], r = fabs(a < b ? a : b);
        most[l] = r > most[l] ? r : most[l];
        sum[l] += (a - a) + (b - b);
    }
    int strands = n < STRANDS ? n : STRANDS;
    for (int l = 1; l < strands; l++) {
        most[0] = most[l] > most[0] ? most[l] : most[0];
        sum[0] += sum[l];
    }
    return isnan(sum[0]) ? (double)NAN : most[0];
}

/* The same for n <= 4, rounded alike. */
static inline PERP_INLINE double check_few(const perp_lcp *lcp, int n, const double *z,
                                           double *restrict w)
{
    double residual = 0, sum = 0;
    const double *M = lcp->M;
    size_t ld = (size_t)lcp->ldm;
    for (int i = 0; i < n; i++, M++) {
        double x = lcp->q[i], y = z[i];
        if (n == 4)
            x = x + (M[0] * z[0] + M[ld] * z[1]) + (M[2 * ld] * z[2] + M[3 * ld] * z[3]);
        else
            for (int j = 0; j < n; j++) x += M[(size_t)j * ld] * z[j];
        double r = fabs(y < x ? y : x);
        w[i] = x;
        residual = r > residual ? r : residual;
        sum += (x - x) + (y - y);
    }
    return isnan(sum) ? (double)NAN : residual;
}

static inline PERP_INLINE double check(const perp_lcp *lcp, int n, const double *z, double *w)
{
    product(lcp, n, z, w);
    return pure_residual(n, z, w);
}

/* w and the residual without bounds; small ones with loops of known length. */
#define VERSION(isa, target)                                                                       \
    target static double check_##isa(const perp_lcp *lcp, const double *z, double *w)              \
    {                                                                                              \
        switch (lcp->n) {                                                                          \
        case 3: return check_few(lcp, 3, z, w);                                                    \
        case 4: return check_few(lcp, 4, z, w);                                                    \
        case 8: return check(lcp, 8, z, w);                                                        \
        case 16: return check(lcp, 16, z, w);                                                      \
        default: return check(lcp, lcp->n, z, w);                                                  \
        }                                                                                          \
    }
PERP_ISA_LIST(VERSION)
#undef VERSION

static double (*const checks[])(const perp_lcp *lcp, const double *z, double *w) = {
#define VERSION(isa, target) check_##isa,
    PERP_ISA_LIST(VERSION)
#undef VERSION
};

/* Row i of the same, rounded alike. */
static double row_of_w(const perp_lcp *lcp, const double *z, int i)
{
    const double *row = lcp->M + i;
    size_t ld = (size_t)lcp->ldm;
    double sum = lcp->q[i];
    int j = 0;
    for (; j + 4 <= lcp->n; j += 4, row += 4 * ld)
        sum = sum + (row[0] * z[j] + row[ld] * z[j + 1]) +
              (row[2 * ld] * z[j + 2] + row[3 * ld] * z[j + 3]);
    for (; j < lcp->n; j++, row += ld) sum += row[0] * z[j];
    return sum;
}

static double residual_of(const perp_lcp *lcp, const double *z, const double *w)
{
    double residual = 0, sum = 0;
    for (int i = 0; i < lcp->n; i++) {
        double r = fabs(perp__natural(z[i], w[i], perp__lo(lcp, i), perp__hi(lcp, i)));
        residual = r > residual ? r : residual;
        sum += (z[i] - z[i]) + (w[i] - w[i]); /* 0, or NaN where one is not finite */
    }
    return isnan(sum) ? (double)NAN : residual;
}

static double residual_and_w(int isa, const perp_lcp *lcp, const double *z, double *w)
{
    double residual = checks[isa](lcp, z, w);
    return lcp->lo || lcp->hi ? residual_of(lcp, z, w) : residual;
}

double perp_lcp_residual(const perp_lcp *lcp, const double *z, double *w)
{
    if (w) return residual_and_w(perp__isa(), lcp, z, w);
    double residual = 0;
    for (int i = 0; i < lcp->n; i++) {
        double sum = row_of_w(lcp, z, i), lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
        perp_lcp row = {1, NULL, 1, NULL, &lo, &hi};
        double r = residual_of(&row, &z[i], &sum);
        if (!(r <= residual)) residual = r;
        if (isnan(residual)) return residual;
    }
    return residual;
}

int perp_lcp_is_infeasible(const perp_lcp *lcp, const double *u, double tol)
{
    double qu = 0, qu_terms = 0, largest = 0;
    int exponent = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (!(u[i] >= 0) || isinf(u[i])) return 0;
        largest = fmax(largest, u[i]);
    }
    frexp(largest, &exponent); /* u is used with its largest entry near 1 */
    for (int i = 0; i < lcp->n; i++) {
        double x = lcp->q[i] * ldexp(u[i], -exponent);
        qu += x;
        qu_terms += fabs(x);
    }
    if (!(qu < -tol * qu_terms) || !(qu_terms >= DBL_MIN) || isinf(qu_terms)) return 0;
    for (int j = 0; j < lcp->n; j++) {
        double sum = 0, terms = 0;
        for (int i = 0; i < lcp->n; i++) {
            double m = perp__column(lcp, j)[i], x = m * ldexp(u[i], -exponent);
            if (m > 0 && u[i] > 0 && x < DBL_MIN) return 0; /* a term lost in underflow */
            sum += x;
            terms += fabs(x);
        }
        if (!(sum <= tol * terms) || isinf(terms)) return 0;
    }
    return 1;
}

/* Candidates in the order of their cost: a row that no z >= 0 can make nonnegative, the ray of z, Farkas. */
static void find_certificate(perp_solver *s, const perp_lcp *lcp)
{
    enum { FARKAS_UP_TO = 200 };
    double tol = 1e-10;
    for (int i = 0; i < lcp->n && !s->has_certificate; i++) {
        memset(s->certificate, 0, (size_t)lcp->n * sizeof(double));
        s->certificate[i] = 1;
        s->has_certificate = lcp->q[i] < 0 && perp_lcp_is_infeasible(lcp, s->certificate, tol);
    }
    if (s->has_certificate) return;
    for (int i = 0; i < lcp->n && s->has_ray; i++) s->certificate[i] = fmax(s->ray[i], 0);
    s->has_certificate = s->has_ray && perp_lcp_is_infeasible(lcp, s->certificate, tol);
    if (s->has_certificate || lcp->n > FARKAS_UP_TO) return;
    perp__lcp_farkas(s, lcp);
    s->has_certificate = perp_lcp_is_infeasible(lcp, s->certificate, tol);
}

/* Verification --------------------------------------------------------------------------------- */

/* z_i is basic where neither bound stops z_i - w_i. */
static void basis_of_point(perp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++) {
        double x = s->z[i] - s->w[i];
        s->basis[i] = x > perp__lo(lcp, i) && x < perp__hi(lcp, i);
    }
}

int perp__lcp_gather_basis(perp_solver *s, const perp_lcp *lcp)
{
    int nb = 0;
    for (int i = 0; i < lcp->n; i++) {
        if (s->basis[i]) s->rows[nb++] = i;
    }
    for (int j = 0; j < nb; j++) {
        const double *column = perp__column(lcp, s->rows[j]);
        double *factor = s->factors + (size_t)j * (size_t)nb;
        for (int i = 0; i < nb; i++) factor[i] = column[s->rows[i]];
    }
    return nb;
}

int perp__lcp_factor_basis(perp_solver *s, const perp_lcp *lcp)
{
    int nb = perp__lcp_gather_basis(s, lcp);
    s->nrows = perp__lu(nb, s->factors, nb > 0 ? nb : 1, s->swap) == 0 ? nb : -1;
    return s->nrows >= 0;
}

/* z2 = z with the basic entries corrected by -inv(M_bb) w_b, the others on the bound they are at. */
static double correct_on_basis(perp_solver *s, const perp_lcp *lcp)
{
    for (int i = 0; i < lcp->n; i++)
        s->z2[i] = s->basis[i] ? s->z[i]
                               : fmin(fmax(s->z[i] - s->w[i], perp__lo(lcp, i)), perp__hi(lcp, i));
    residual_and_w(s->isa, lcp, s->z2, s->w2);
    for (int k = 0; k < s->nrows; k++) s->scratch[k] = s->w2[s->rows[k]];
    perp__lu_solve(s->nrows, s->factors, s->nrows, s->swap, s->scratch);
    for (int k = 0; k < s->nrows; k++) s->z2[s->rows[k]] -= s->scratch[k];
    return perp_lcp_residual(lcp, s->z2, s->w2);
}

void perp__lcp_verify(perp_solver *s, const perp_lcp *lcp)
{
    enum { ROUNDS = 3 };
    size_t bytes = (size_t)lcp->n * sizeof(double);
    s->residual = residual_and_w(s->isa, lcp, s->z, s->w);
    for (int round = 0; round < ROUNDS && s->residual > 1e-14 * s->scale; round++) {
        if (round == 0) {
            if (!s->has_basis) basis_of_point(s, lcp);
            if (!perp__lcp_factor_basis(s, lcp)) break;
        }
        double corrected = correct_on_basis(s, lcp);
        if (!(corrected < s->residual)) break;
        memcpy(s->z, s->z2, bytes);
        memcpy(s->w, s->w2, bytes);
        s->residual = corrected;
    }
    s->residual_scaled = s->residual / s->scale;
}

/* Driver --------------------------------------------------------------------------------------- */

/* x - x is NaN for those that are not. */
static inline PERP_INLINE int few_are_finite(int n, const double *M, const double *q)
{
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += M[i] - M[i];
    for (int i = 0; i < n; i++) sum += q[i] - q[i];
    return sum == 0;
}

static int problem_is_finite(const perp_lcp *lcp)
{
    if (lcp->n == 3 && lcp->ldm == 3) return few_are_finite(3, lcp->M, lcp->q);
    if (lcp->n == 4 && lcp->ldm == 4) return few_are_finite(4, lcp->M, lcp->q);
    if (!perp__are_finite(lcp->n, lcp->q)) return 0;
    if (lcp->ldm == lcp->n && lcp->n < 30000) return perp__are_finite(lcp->n * lcp->n, lcp->M);
    for (int j = 0; j < lcp->n; j++) {
        if (!perp__are_finite(lcp->n, perp__column(lcp, j))) return 0;
    }
    return 1;
}

static int bounds_are_valid(const perp_lcp *lcp)
{
    if (!lcp->lo && !lcp->hi) return 1;
    for (int i = 0; i < lcp->n; i++) {
        double lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
        if (!(lo <= hi) || lo == (double)INFINITY || hi == -(double)INFINITY) return 0;
    }
    return 1;
}

perp_outcome perp__lcp_run(perp_solver *s, const perp__solver *method, const perp_lcp *lcp,
                           int *iterations)
{
    perp_outcome outcome = PERP_LIMIT; /* a ray, if any attempt ends on one */
    for (int attempt = 0; attempt < method->attempts; attempt++) {
        s->has_basis = 0;
        s->nrows = -1;
        if (method->solve(s, lcp, attempt, iterations) == PERP_RAY) outcome = PERP_RAY;
        perp__lcp_verify(s, lcp);
        if (s->residual_scaled <= s->options.tol) {
            s->has_ray = 0; /* of an attempt before */
            return PERP_SOLVED;
        }
    }
    return outcome;
}

void perp__lcp_forget(perp_solver *s)
{
    memset(s->index, 0, methods[s->method].solver->ints(s->n_max) * sizeof(int));
    memset(s->basis, 0, (size_t)s->n_max + 1);
}

/* Through the pure problem. */
static perp_outcome run_mixed(perp_solver *s, const perp__solver *method, const perp_lcp *lcp,
                              int *iterations)
{
    perp_lcp pure = perp__mixed_reduce(s, lcp);
    perp_solver *inner = s->inner;
    inner->scale = s->scale;
    perp_outcome outcome = PERP_LIMIT;
    if (problem_is_finite(&pure)) {
        outcome = perp__lcp_run(inner, method, &pure, iterations);
        s->answered = inner->answered;
        perp__mixed_expand(s, lcp);
    } else { /* bounds so far apart that their difference overflows */
        for (int i = 0; i < lcp->n; i++) s->z[i] = perp__clamp(lcp, i, 0);
    }
    s->has_basis = 0;
    perp__lcp_verify(s, lcp);
    if (s->residual_scaled <= s->options.tol) return PERP_SOLVED;
    return outcome == PERP_SOLVED ? PERP_LIMIT : outcome;
}

static perp_outcome solve_and_check(perp_solver *s, const perp_lcp *lcp, perp_solve_info *info)
{
    const perp__solver *method = methods[s->method].solver;
    int mixed = (lcp->lo || lcp->hi) && !method->takes_bounds;
    double largest = 0;
    for (int i = 0; i < lcp->n; i++) {
        double size = fabs(lcp->q[i]);
        largest = size > largest ? size : largest;
    }
    s->scale = 1 + largest;
    s->answered = s->method;
    perp_outcome outcome = mixed ? run_mixed(s, method, lcp, &info->iterations)
                                 : perp__lcp_run(s, method, lcp, &info->iterations);
    info->method = s->answered;
    info->residual = s->residual;
    info->residual_scaled = s->residual_scaled;
    if (outcome == PERP_SOLVED) {
        if (!s->has_basis) basis_of_point(s, lcp);
        s->n = lcp->n;
        return outcome;
    }
    if (outcome == PERP_RAY && !lcp->lo && !lcp->hi) find_certificate(s, lcp);
    return s->has_certificate ? PERP_INFEASIBLE : outcome;
}

perp_status perp_lcp_solve(perp_solver *s, const perp_lcp *lcp, double *z, double *w,
                           perp_solve_info *info)
{
    if (!s || !lcp || lcp->n < 0 || (lcp->n > 0 && (!lcp->M || !lcp->q || !z)) ||
        lcp->ldm < (lcp->n > 1 ? lcp->n : 1) || ((lcp->lo || lcp->hi) && !s->options.mixed))
        return PERP_ERR_ARG;
    if (lcp->n > s->n_max) return PERP_ERR_DIM;
    perp_solve_info result = {.outcome = PERP_BAD_INPUT,
                              .method = s->method,
                              .residual = (double)NAN,
                              .residual_scaled = (double)NAN};
    size_t bytes = (size_t)lcp->n * sizeof(double);
    s->has_basis = s->has_ray = s->has_certificate = 0;
    s->n = s->nrows = -1;
    s->is_differentiated = 0;
    if (problem_is_finite(lcp) && bounds_are_valid(lcp) &&
        (!s->options.warm_start || lcp->n == 0 || perp__are_finite(lcp->n, z))) {
        if (s->options.warm_start && bytes) memcpy(s->start, z, bytes);
        result.outcome = solve_and_check(s, lcp, &result);
        if (bytes) memcpy(z, s->z, bytes);
        if (w && bytes) memcpy(w, s->w, bytes);
    }
    if (info) *info = result;
    return PERP_OK;
}

const double *perp_lcp_certificate(const perp_solver *s)
{
    return s && s->has_certificate ? s->certificate : NULL;
}

const double *perp_lcp_ray(const perp_solver *s)
{
    return s && s->has_ray ? s->ray : NULL;
}

const unsigned char *perp_lcp_basis(const perp_solver *s)
{
    return s && s->n >= 0 ? s->basis : NULL;
}
