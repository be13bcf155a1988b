/* The registry, and the driver that believes no solver. */

#include "base/base.h"
#include "base/tol.h"
#include "base/words.h"
#include "linalg/dense.h"
#include "linalg/simd.h"
#include "solve/solver.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const perp__word word_rows[] = {
#define PERP_LCP_METHOD(name, NAME, problem, summary) {#name, summary},
#include "perp/solvers.def"
#undef PERP_LCP_METHOD
};
static const perp__solver *const methods[] = {
#define PERP_LCP_METHOD(name, NAME, problem, summary) &perp__lcp_##name,
#include "perp/solvers.def"
#undef PERP_LCP_METHOD
};
static const perp__words words = PERP_WORDS(word_rows);

PERP_WORD_FUNCTIONS(perp_lcp_method, perp_lcp_method, words)
PERP_WORD_SUMMARY(perp_lcp_method, perp_lcp_method_summary, words)

/* Life ----------------------------------------------------------------------------------------- */

void perp_lcp_options_fill(perp_lcp_options *options, size_t size, perp_lcp_method method)
{
    (void)method;
    perp_lcp_options own = {.tol = PERP_TOL_SOLVED,
                            .psor = {.omega = 1.3},
                            .prox = {.strategy = PERP_RHO_ADAPTIVE, .rho = 1}};
    perp__options_give(options, size, &own, sizeof own);
}

static int options_are_valid(const perp_lcp_options *o)
{
    return o->tol > 0 && o->tol <= PERP_TOL_LARGEST && o->max_iter >= 0 && o->psor.omega > 0 &&
           o->psor.omega < 2 && (unsigned)o->prox.strategy < PERP_RHO_COUNT && o->prox.rho > 0 &&
           isfinite(o->prox.rho);
}

static int allocate(perp_lcp_solver *s)
{
    const perp__solver *method = methods[s->method];
    size_t n = (size_t)s->n_max + 1;
    s->z = calloc(18 * n + n * n, sizeof(double));
    s->basis = calloc(4 * n, 1);
    s->lu.swap = calloc(3 * n, sizeof(int));
    s->own.block = malloc(perp__own_units_doubles(s->n_max) * sizeof(double));
    s->work_block = malloc((method->doubles(s->n_max) + 8) * sizeof(double));
    s->index = calloc(method->ints(s->n_max) + 1, sizeof(int));
    if (!s->z || !s->basis || !s->lu.swap || !s->own.block || !s->work_block || !s->index) return 0;
    /* whole cache lines: kernels work on aligned columns */
    s->work = (double *)(((uintptr_t)s->work_block + 63) / 64 * 64);
    s->w = s->z + n;
    s->z2 = s->w + n;
    s->w2 = s->z2 + n;
    s->start = s->w2 + n;
    s->ray = s->start + n;
    s->certificate = s->ray + n;
    s->scratch = s->certificate + n;
    s->kept = s->scratch + n;
    s->correction = s->kept + n;
    s->terms = s->correction + n;
    s->data = s->terms + n;
    s->low = s->data + n;
    s->lu.row_scale = s->low + n;
    s->lu.column_scale = s->lu.row_scale + n;
    s->fine = s->lu.column_scale + n;
    s->target = s->fine + n;
    s->along = s->target + n;
    s->lu.values = s->along + n;
    s->wrong = s->basis + n;
    s->needy = s->wrong + n;
    s->part = s->needy + n;
    s->lu.rows = s->lu.swap + n;
    s->lu.order = s->lu.rows + n;
    if (!perp__lcp_parts_create(s)) return 0;
    if (!s->options.mixed || method->takes_bounds) return 1;
    s->mixed = malloc(perp__mixed_doubles(s->n_max) * sizeof(double));
    s->mixed_index = malloc(perp__mixed_ints(s->n_max) * sizeof(int));
    return s->mixed && s->mixed_index;
}

perp_status perp_lcp_solver_create(perp_lcp_method method, int n_max,
                                   const perp_lcp_options *options, perp_lcp_solver **out)
{
    if (!out) return PERP_ERR_ARG;
    *out = NULL;
    perp_lcp_options o = perp_lcp_options_default(method);
    if (!perp__options_take(&o, sizeof o, options)) return PERP_ERR_ARG;
    if ((unsigned)method >= PERP_LCP_METHOD_COUNT || n_max < 0 || n_max > 1 << 20 ||
        !options_are_valid(&o))
        return PERP_ERR_ARG;
    int (*is_available)(void) = methods[method]->is_available;
    if (is_available && !is_available()) return PERP_ERR_UNAVAILABLE;
    perp_lcp_solver *s = calloc(1, sizeof *s);
    if (!s) return PERP_ERR_MEMORY;
    *s = (perp_lcp_solver){
        .method = method, .answered = method, .options = o, .n_max = n_max, .n = -1, .lu.n = -1};
    s->isa = perp__isa();
    perp_status status = allocate(s) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK && s->mixed) {
        o.mixed = 0;
        status = perp_lcp_solver_create(method, 2 * n_max, &o, &s->inner);
    }
    if (status != PERP_OK) {
        perp_lcp_solver_destroy(s);
        return status;
    }
    *out = s;
    return PERP_OK;
}

void perp_lcp_solver_destroy(perp_lcp_solver *s)
{
    if (!s) return;
    perp_lcp_solver_destroy(s->inner);
    perp__lcp_parts_destroy(s->parts);
    free(s->z);
    free(s->basis);
    free(s->lu.swap);
    free(s->own.block);
    free(s->work_block);
    free(s->index);
    free(s->mixed);
    free(s->mixed_index);
    free(s);
}

/* Driver --------------------------------------------------------------------------------------- */

/* A finite sum has no term that is not finite; a sum that is not finite decides nothing. x - x is
 * NaN for numbers that are not finite. */
static inline PERP_INLINE int few_are_finite(int n, const double *M, const double *q)
{
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += M[i];
    for (int i = 0; i < n; i++) sum += q[i];
    return sum - sum == 0 || (perp__are_finite(n * n, M) && perp__are_finite(n, q));
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

perp_outcome perp__lcp_run(perp_lcp_solver *s, const perp__solver *method, const perp_lcp *lcp,
                           int *iterations)
{
    perp_outcome outcome = PERP_LIMIT; /* a ray, if any attempt ends on one */
    int own = method->in_own_units && !s->options.warm_start && !lcp->lo && !lcp->hi;
    s->is_exhausted = 0;
    for (int attempt = 0; attempt < method->attempts && !s->is_exhausted; attempt++) {
        int before = *iterations;
        s->has_basis = 0;
        s->lu.n = -1;
        perp_outcome word = own ? perp__solve_in_own_units(s, method, lcp, attempt, iterations)
                                : method->solve(s, lcp, attempt, iterations);
        if (word == PERP_INFEASIBLE || (word == PERP_SOLVED && method->is_driver)) return word;
        int is_guess = *iterations == before && attempt + 1 < method->attempts;
        int holds = perp__lcp_verify(s, lcp, is_guess);
        if (s->has_certificate) return PERP_INFEASIBLE;
        if (holds) {
            s->has_ray = 0; /* of an attempt before */
            return PERP_SOLVED;
        }
        if (word != PERP_RAY) continue;
        outcome = PERP_RAY;
        if (perp__lcp_prove(s, lcp, 0)) return PERP_INFEASIBLE;
    }
    return outcome;
}

void perp__lcp_forget(perp_lcp_solver *s)
{
    memset(s->index, 0, methods[s->method]->ints(s->n_max) * sizeof(int));
    memset(s->basis, 0, (size_t)s->n_max + 1);
}

/* Through the pure problem. */
static perp_outcome run_mixed(perp_lcp_solver *s, const perp__solver *method, const perp_lcp *lcp,
                              int *iterations)
{
    perp_lcp pure = perp__mixed_reduce(s, lcp);
    perp_lcp_solver *inner = s->inner;
    inner->has_ray = inner->has_certificate = 0;
    perp_outcome outcome = PERP_LIMIT;
    if (problem_is_finite(&pure)) {
        outcome = perp__lcp_run(inner, method, &pure, iterations);
        s->answered = inner->answered;
        perp__mixed_expand(s, lcp);
    } else { /* bounds so far apart that their difference overflows */
        for (int i = 0; i < lcp->n; i++) s->z[i] = perp__clamp(lcp, i, 0);
    }
    s->has_basis = 0;
    if (perp__lcp_verify(s, lcp, 0)) return PERP_SOLVED;
    return outcome == PERP_RAY || outcome == PERP_INFEASIBLE ? PERP_RAY : PERP_LIMIT;
}

/* Does z = 0 solve it? Not asked where a search is to begin from elsewhere. */
static int is_at_rest(const perp_lcp_solver *s, const perp_lcp *lcp)
{
    int i = 0;
    while (i < lcp->n && lcp->q[i] >= 0) i++;
    return i == lcp->n && !lcp->lo && !lcp->hi && !s->options.warm_start;
}

/* Problems that need no method: zero is the answer, or one pair alone. Returns 0 for all others. */
static int solve_plainly(perp_lcp_solver *s, const perp_lcp *lcp, perp_lcp_info *info)
{
    int pushed = !is_at_rest(s, lcp);
    if (pushed && (lcp->n != 1 || lcp->lo || lcp->hi || !(lcp->M[0] > 0 && lcp->q[0] < 0)))
        return 0;
    memset(s->basis, pushed, (size_t)lcp->n);
    memset(s->z, 0, (size_t)lcp->n * sizeof *s->z);
    if (pushed) s->z[0] = -lcp->q[0] * (1 / lcp->M[0]); /* rounded as lemke does */
    if (!perp__lcp_is_shown(s, lcp)) return 0;
    info->iterations += pushed;
    s->answered = s->method == PERP_LCP_AUTO ? PERP_LCP_LEMKE : s->method;
    return 1;
}

perp_outcome perp__lcp_solve_part(perp_lcp_solver *s, const perp_lcp *lcp, perp_lcp_info *info)
{
    const perp__solver *method = methods[s->method];
    int has_bounds = lcp->lo || lcp->hi, mixed = has_bounds && !method->takes_bounds;
    s->answered = s->method;
    perp_outcome outcome = PERP_SOLVED;
    if (solve_plainly(s, lcp, info))
        s->has_basis = 1;
    else
        outcome = mixed ? run_mixed(s, method, lcp, &info->iterations)
                        : perp__lcp_run(s, method, lcp, &info->iterations);
    info->method = s->answered;
    if (outcome != PERP_SOLVED && !has_bounds && perp__lcp_prove(s, lcp, 1))
        outcome = PERP_INFEASIBLE;
    info->residual = s->residual;
    info->error = s->error;
    if (outcome == PERP_SOLVED) {
        if (!s->has_basis) perp__lcp_basis_of_point(s, lcp);
        s->n = lcp->n;
    }
    return outcome;
}

/* By sets of bits: what 0 knows, and what these know, twice. */
static int are_four_connected(const double *M, size_t ld)
{
    unsigned known = 1, pairs[6] = {3, 5, 9, 6, 10, 12}, are[6];
    for (int k = 0, i = 0; i < 4; i++) {
        for (int j = i + 1; j < 4; j++, k++)
            are[k] = perp__is_entry(M[(size_t)i + (size_t)j * ld], M[(size_t)j + (size_t)i * ld])
                         ? pairs[k]
                         : 0;
    }
    known |= are[0] | are[1] | are[2];
    for (int round = 0; round < 2; round++) {
        for (int k = 3; k < 6; k++) known |= known & are[k] ? are[k] : 0;
    }
    return known == 15;
}

/* Is M seen to be one connected component at little cost? Up to 64 indices by sets of bits; else
 * where the first knows all. */
static int is_connected(const perp_lcp *lcp)
{
    int n = lcp->n, i = 1;
    size_t ld = (size_t)lcp->ldm;
    const double *column = lcp->M, *row = lcp->M;
    if (n == 4) return are_four_connected(column, ld);
    while (i < n && perp__is_entry(column[i], row[(size_t)i * ld])) i++;
#ifdef __GNUC__
    if (i >= n || n > 64) return i >= n;
    uint64_t left = (n < 64 ? (uint64_t)1 << n : 0) - 2,
             next = 1; /* not reached yet; reached, and not seen from */
    while (next && left) {
        int j = __builtin_ctzll(next);
        column = lcp->M + (size_t)j * ld;
        row = lcp->M + j;
        next &= next - 1;
        for (uint64_t rest = left; rest; rest &= rest - 1) {
            i = __builtin_ctzll(rest);
            uint64_t bit = rest & -rest;
            if (perp__is_entry(column[i], row[(size_t)i * ld])) {
                next |= bit;
                left ^= bit;
            }
        }
    }
    return left == 0;
#else
    return i >= n;
#endif
}

/* Whatever begins from an earlier answer does so for the whole. */
static perp_outcome solve_and_check(perp_lcp_solver *s, const perp_lcp *lcp, perp_lcp_info *info)
{
    if (s->options.warm_start || is_at_rest(s, lcp) || is_connected(lcp) ||
        perp__lcp_parts_find(s, lcp) == 1)
        return perp__lcp_solve_part(s, lcp, info);
    return perp__lcp_parts_solve(s, lcp, info);
}

/* Small problems at once: the guess by which lemke begins, shown by plain sums, which no number
 * passes that is not finite. Where that does not settle it, nothing is lost: lemke goes on from
 * there. */
static inline int solve_at_once(perp_lcp_solver *s, const perp_lcp *lcp)
{
    int guessed = perp__lemke_guess(s, lcp);
    s->guessed = guessed > 0 ? 1 : -1;
    /* a pair that went back and forth may have had more pivots than its connected component is
     * granted alone */
    if (guessed == 0 || (guessed == 2 && !is_connected(lcp) && perp__lcp_parts_find(s, lcp) > 1) ||
        !perp__lcp_is_shown(s, lcp))
        return 0;
    s->answered = PERP_LCP_LEMKE;
    s->n = lcp->n;
    return 1;
}

static inline PERP_INLINE void copy_answer(int n, const double *from, double *to)
{
    if (n == 3)
        memcpy(to, from, 3 * sizeof *to);
    else if (n == 4)
        memcpy(to, from, 4 * sizeof *to);
    else if (n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
}

static inline PERP_INLINE void copy_answers(const perp_lcp_solver *s, int n, double *z, double *w)
{
    copy_answer(n, s->z, z);
    if (w) copy_answer(n, s->w, w);
}

static int is_call_wrong(const perp_lcp_solver *s, const perp_lcp *lcp, const double *z)
{
    return !s || !lcp || lcp->n < 0 || (lcp->n > 0 && (!lcp->M || !lcp->q || !z)) ||
           lcp->ldm < (lcp->n > 1 ? lcp->n : 1) || ((lcp->lo || lcp->hi) && !s->options.mixed);
}

/* A right call that begins with the guess? */
static inline PERP_INLINE int is_for_guess(const perp_lcp_solver *s, const perp_lcp *lcp,
                                           const double *z)
{
    return s && lcp && z && lcp->M && lcp->q && !lcp->lo && !lcp->hi && lcp->n > 0 &&
           lcp->n <= PERP__GUESS_UP_TO && lcp->n <= s->n_max && lcp->ldm >= lcp->n &&
           !s->options.warm_start && (s->method == PERP_LCP_LEMKE || s->method == PERP_LCP_AUTO);
}

static inline PERP_INLINE void forget_last(perp_lcp_solver *s)
{
    s->has_basis = s->has_ray = s->has_certificate = 0;
    s->n = s->lu.n = -1;
    s->lu.is_differentiated = 0;
    s->guessed = 0;
}

/* What the guess does not settle; z: in, where the start is warm. */
static PERP_APART perp_status solve_at_length(perp_lcp_solver *s, const perp_lcp *lcp, double *z,
                                              double *w, perp_lcp_info *info)
{
    perp_lcp_info unread = {.size = sizeof unread}, *result = info ? info : &unread;
    *result = (perp_lcp_info){.size = result->size,
                              .outcome = PERP_BAD_INPUT,
                              .method = s->method,
                              .residual = (double)NAN,
                              .error = (double)NAN};
    if (!problem_is_finite(lcp) || !bounds_are_valid(lcp) ||
        (s->options.warm_start && lcp->n > 0 && !perp__are_finite(lcp->n, z)))
        return PERP_OK;
    result->iterations = s->guessed ? s->pivots : 0;
    if (s->options.warm_start) copy_answer(lcp->n, z, s->start);
    s->out_of_memory = 0;
    if (s->inner) s->inner->out_of_memory = 0;
    result->outcome = solve_and_check(s, lcp, result);
    copy_answers(s, lcp->n, z, w);
    return s->out_of_memory || (s->inner && s->inner->out_of_memory) ? PERP_ERR_MEMORY : PERP_OK;
}

perp_status perp_lcp_solve(perp_lcp_solver *s, const perp_lcp *lcp, double *z, double *w,
                           perp_lcp_info *info)
{
    if (!PERP__FITS(info)) return PERP_ERR_ARG;
    if (!is_for_guess(s, lcp, z)) {
        if (is_call_wrong(s, lcp, z)) return PERP_ERR_ARG;
        if (lcp->n > s->n_max) return PERP_ERR_DIM;
        forget_last(s);
        return solve_at_length(s, lcp, z, w, info);
    }
    forget_last(s);
    if (!solve_at_once(s, lcp)) return solve_at_length(s, lcp, z, w, info);
    if (info)
        *info = (perp_lcp_info){.size = info->size,
                                .outcome = PERP_SOLVED,
                                .method = PERP_LCP_LEMKE,
                                .iterations = s->pivots,
                                .residual = s->residual,
                                .error = s->error};
    copy_answers(s, lcp->n, z, w);
    return PERP_OK;
}

const double *perp_lcp_certificate(const perp_lcp_solver *s)
{
    return s && s->has_certificate ? s->certificate : NULL;
}

const double *perp_lcp_ray(const perp_lcp_solver *s)
{
    return s && s->has_ray ? s->ray : NULL;
}

const unsigned char *perp_lcp_basis(const perp_lcp_solver *s)
{
    return s && s->n >= 0 ? s->basis : NULL;
}
