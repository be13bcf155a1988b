/* The main loop: barrier, steps, and when to stop; ipm_system.c solves for steps, ipm_search.c
 * accepts them. */

#include "base/tol.h"
#include "plan/ipm_state.h"

#include <string.h>

static const double KAPPA_EPS = 10, KAPPA_MU = 0.2, TAU_MIN = 0.99, KAPPA_SIGMA = 1e10, S_MAX = 100;
/* Not in the paper: the barrier problem of one mu gets at most LONG iterations once its violation
 * is below PERP_PLAN_NEARLY_FEASIBLE. */
enum { LONG = 50, POLISH = 3 };
/* Stages of fewer unknowns and rows than this fill up in any order. */
enum { MOST_UNORDERED = 64 };
/* The paper's exponent is 1.5; slower where the relaxation of pairs is lowered together with mu. */
static const double THETA_MU = 1.5, THETA_MU_OF_PAIRS = 1.2;
/* The paper's bounds of the violation: none above THETA_MAX of the first is taken, below THETA_MIN
 * of it the barrier decides. */
static const double THETA_MAX = 1e4, THETA_MIN = 1e-4;
perp__ipm_options perp__ipm_options_default(void)
{
    return (perp__ipm_options){.tol = 1e-9,
                               .primal = UNBOUNDED,
                               .gap = UNBOUNDED,
                               .max_iter = 1000,
                               .barrier = 1,
                               .push = 0.1,
                               .weight = 1,
                               .barrier_min = 1e-10,
                               .relaxation = 10,
                               .relaxation_min = 1e-9};
}

/* Memory -------------------------------------------------------------------------------------- */

static void take_doubles(perp__arena *arena, double **to[], int many, size_t n)
{
    for (int i = 0; i < many; i++) PERP_TAKE(arena, *to[i], n);
}

/* Entries that couple a stage to the one before. */
static int count_coupled(const perp__ipm *s)
{
    const perp__program *g = s->g;
    int n = 0;
    for (int e = 0; e < g->jac.n; e++) n += perp__ipm_kind_of(s, g->jac.col[e]) == PRE;
    for (int e = 0; e < g->hess.n; e++) n += perp__ipm_kind_of(s, g->hess.col[e]) == PRE;
    return n;
}

static void allocate(perp__ipm *s, perp__arena *arena)
{
    double **of_n[] = {&s->x,      &s->lo,       &s->hi,          &s->zl,        &s->zu,
                       &s->d.x,    &s->d.zl,     &s->d.zu,        &s->sigma,     &s->trial.x,
                       &s->soc.dx, &s->units.of, &s->units.plain, &s->active.lo, &s->active.hi};
    double **of_m[] = {
        &s->lambda,       &s->d.lambda,     &s->r,     &s->c,          &s->trial.r, &s->trial.c,
        &s->system.rhs_c, &s->system.res_c, &s->soc.c, &s->soc.dlambda};
    double **of_x[] = {&s->values.gradient, &s->system.rhs_x, &s->system.res_x,
                       &s->active.gradient};
    const perp__program *g = s->g;
    size_t K = (size_t)s->K;
    PERP_TAKE(arena, s->values.jac, (size_t)g->jac.n * K);
    PERP_TAKE(arena, s->values.grad, (size_t)g->grad.n * K);
    PERP_TAKE(arena, s->values.hess, (size_t)g->hess.n * K);
    PERP_TAKE(arena, s->system.xk, (size_t)(g->nw + g->nrow) * K);
    PERP_TAKE(arena, s->system.yk, s->nP);
    PERP_TAKE(arena, s->factors.border_before, K * s->nP * s->nP);
    take_doubles(arena, of_n, sizeof of_n / sizeof *of_n, s->n);
    take_doubles(arena, of_m, sizeof of_m / sizeof *of_m, s->m);
    take_doubles(arena, of_x, sizeof of_x / sizeof *of_x, s->nW + s->nP);
    PERP_TAKE(arena, s->is_free, s->n);
    PERP_TAKE(arena, s->active.held, s->n);
    PERP_TAKE(arena, s->active.next, s->n);
    PERP_TAKE(arena, s->factors.was_held, s->n);
    PERP_TAKE(arena, s->factors.negative_before, K);
    PERP_TAKE(arena, s->place.w, s->nW);
    PERP_TAKE(arena, s->place.r, s->m);
    PERP_TAKE(arena, s->place.p, s->nP);
    PERP_TAKE(arena, s->place.order, (size_t)(s->nw + s->nrow));
    if (perp__ipm_sparse_create(s, arena) && !s->factors.sparse)
        s->stages =
            perp__stages_create(arena, g->K, g->nw + g->nrow, g->nx, g->np, count_coupled(s));
    else if (!s->factors.sparse)
        arena->failed = 1;
}

/* Stages that are small, or single, keep their order. Returns 0: memory. */
static int order_stages(perp__ipm *s)
{
    int n = s->nw + s->nrow, ok = 1;
    perp__arena work = {0};
    for (int i = 0; i < n; i++) s->place.order[i] = i;
    if (s->K > 1 && n > MOST_UNORDERED) ok = perp__ipm_order(s, &work, s->place.order);
    perp__arena_clear(&work);
    return ok;
}

perp__ipm *perp__ipm_create(perp__arena *arena, perp__program *g)
{
    perp__ipm *s;
    size_t K = (size_t)g->K;
    if (!PERP_TAKE(arena, s, 1)) return NULL;
    s->g = g;
    s->K = g->K;
    s->nx = g->nx;
    s->nw = g->nw;
    s->np = g->np;
    s->nrow = g->nrow;
    s->nW = (size_t)g->nw * K;
    s->nP = (size_t)g->np;
    s->nS = s->m = (size_t)g->nrow * K;
    s->n = s->nW + s->nP + s->nS;
    allocate(s, arena);
    if (!arena->failed && !order_stages(s)) arena->failed = 1; /* by which callers see it */
    if (!arena->failed) return s;
    perp__ipm_destroy(s);
    return NULL;
}

const double *perp__ipm_lambda(const perp__ipm *s)
{
    return s->lambda;
}

const double *perp__ipm_lower(const perp__ipm *s)
{
    return s->zl;
}

const double *perp__ipm_upper(const perp__ipm *s)
{
    return s->zu;
}

typedef struct error {
    double dual, primal, complementarity, total;
} error;

static error optimality_error(const perp__ipm *s, double mu)
{
    error e = {0};
    double sum = perp__ipm_norm1(s->lambda, s->m), zsum = 0;
    size_t nz = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        double d = perp__ipm_lagrangian_slope(s, i);
        if (s->lo[i] > -UNBOUNDED) {
            d -= s->zl[i];
            e.complementarity =
                perp__ipm_worse(e.complementarity, (s->x[i] - s->lo[i]) * s->zl[i] - mu);
            zsum += s->zl[i];
            nz++;
        }
        if (s->hi[i] < UNBOUNDED) {
            d += s->zu[i];
            e.complementarity =
                perp__ipm_worse(e.complementarity, (s->hi[i] - s->x[i]) * s->zu[i] - mu);
            zsum += s->zu[i];
            nz++;
        }
        e.dual = perp__ipm_worse(e.dual, d);
    }
    e.primal = perp__ipm_norm_inf(s->c, s->m);
    double sd = fmax(S_MAX, (sum + zsum) / (double)(s->m + nz + 1)) / S_MAX;
    double sc = fmax(S_MAX, zsum / (double)(nz + 1)) / S_MAX;
    e.total = fmax(fmax(e.dual / sd, e.primal), e.complementarity / sc);
    return e;
}

/* Main loop ----------------------------------------------------------------------------------- */

double perp__ipm_sum_curvature(const perp__ipm *s, perp__ipm_weight *weight, const void *context)
{
    const perp__program *g = s->g;
    double sum = 0;
    for (int e = 0; e < g->hess.n; e++)
        for (int k = 0; k < s->K; k++) {
            long i = perp__ipm_index_of(s, g->hess.row[e], k),
                 j = perp__ipm_index_of(s, g->hess.col[e], k);
            if (i < 0 || j < 0) continue;
            sum += fabs(s->values.hess[(size_t)e * (size_t)s->K + (size_t)k]) *
                   weight(s, context, (size_t)i, (size_t)j);
        }
    return sum;
}

/* A change of each unknown by 1, or by half its range. */
static double by_ranges(const perp__ipm *s, const void *context, size_t i, size_t j)
{
    (void)context;
    return fmin(1, fmin(s->hi[i] - s->lo[i], s->hi[j] - s->lo[j]) / 2);
}

/* Weigh the cost so that its gradient is 1/4 a step on average. Then the barrier's path, and the
 * number of iterations, depend little on the number of steps, and not at all on the unit of the
 * cost. If the start is a stationary point, its curvature gives the size of a gradient nearby. */
static void scale_cost(perp__ipm *s, double weight)
{
    s->units.cost = 1;
    memset(s->lambda, 0, s->m * sizeof *s->lambda);
    perp__ipm_differentiate(s);
    double norm = perp__ipm_norm1(s->values.gradient, s->nW + s->nP);
    double curvature = 0.25 * perp__ipm_sum_curvature(s, by_ranges, NULL);
    if (!(norm > PERP_IPM_STATIONARY * curvature)) norm = curvature;
    s->units.cost = 0.25 * s->K * weight;
    if (isfinite(norm) && norm > 0) s->units.cost /= norm;
}

/* Move a point inside its bounds. */
static void push_inside(perp__ipm *s, size_t i, double kappa1, double kappa2)
{
    double lo = s->lo[i], hi = s->hi[i];
    if (!s->is_free[i]) {
        if (lo == hi) s->x[i] = lo;
        return;
    }
    double pl = kappa1 * fmax(1, fabs(lo)), pu = kappa1 * fmax(1, fabs(hi));
    if (lo > -UNBOUNDED && hi < UNBOUNDED) {
        pl = fmin(pl, kappa2 * (hi - lo));
        pu = fmin(pu, kappa2 * (hi - lo));
    }
    if (lo > -UNBOUNDED) s->x[i] = fmax(s->x[i], lo + pl);
    if (hi < UNBOUNDED) s->x[i] = fmin(s->x[i], hi - pu);
}

static int start(perp__ipm *s, const perp__ipm_options *o, const double *w, const double *p)
{
    double push = o->push;
    s->pairing = (perp__pairing){o->bound ? o->bound : &s->g->bound, o->relaxation, o->penalty};
    perp__ipm_read_bounds(s);
    s->mu = o->barrier;
    s->delta.last = 0;
    s->restorations = 0;
    s->options = o;
    s->iteration = s->is_stopped = 0;
    memcpy(s->x, w, s->nW * sizeof *s->x);
    memcpy(s->x + s->nW, p, s->nP * sizeof *s->x);
    for (size_t i = 0; i < s->nW + s->nP && s->g->unit.differ; i++) s->x[i] /= s->units.of[i];
    for (size_t i = 0; i < s->nW + s->nP; i++) push_inside(s, i, push, push);
    if (o->is_warm && o->lambda) memcpy(s->lambda, o->lambda, s->m * sizeof *s->lambda);
    if (!o->is_warm) scale_cost(s, o->weight);
    perp__ipm_rows(s, s->x, s->r, &s->cost);
    for (size_t i = 0; i < s->m; i++) {
        s->x[s->nW + s->nP + i] = s->r[i];
        push_inside(s, s->nW + s->nP + i, push, push);
    }
    for (size_t i = 0; i < s->m; i++)
        s->lambda[i] =
            o->is_warm ? s->units.cost * s->lambda[i] * s->units.of[s->nW + s->nP + i] : 0;
    for (size_t i = 0; i < s->n; i++) {
        s->zl[i] = s->is_free[i] && s->lo[i] > -UNBOUNDED ? s->mu / (s->x[i] - s->lo[i]) : 0;
        s->zu[i] = s->is_free[i] && s->hi[i] < UNBOUNDED ? s->mu / (s->hi[i] - s->x[i]) : 0;
        if (o->is_warm) continue;
        s->zl[i] = s->zl[i] > 0 ? 1 : 0;
        s->zu[i] = s->zu[i] > 0 ? 1 : 0;
    }
    int finite = perp__ipm_values(s, s->x, s->r, s->c, &s->cost);
    double theta = perp__ipm_norm1(s->c, s->m);
    s->filter.theta_max = THETA_MAX * fmax(1, theta);
    s->filter.theta_min = THETA_MIN * fmax(1, theta);
    perp__ipm_reset_filter(s);
    return finite;
}

static double between(double x, double lo, double hi)
{
    x = x <= hi ? x : hi;
    return x >= lo ? x : lo;
}

/* Keep the multipliers within a factor of what the barrier says. */
static void reset_multipliers(perp__ipm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) {
            double z = s->mu / (s->x[i] - s->lo[i]);
            s->zl[i] = between(s->zl[i], z / KAPPA_SIGMA, KAPPA_SIGMA * z);
        }
        if (s->hi[i] < UNBOUNDED) {
            double z = s->mu / (s->hi[i] - s->x[i]);
            s->zu[i] = between(s->zu[i], z / KAPPA_SIGMA, KAPPA_SIGMA * z);
        }
    }
}

/* Lower the barrier, and the relaxation with it; 0 when both are at their last. */
static int lower_barrier(perp__ipm *s, const perp__ipm_options *o)
{
    double faster = o->relaxation > 0 && s->g->npair > 0 ? THETA_MU_OF_PAIRS : THETA_MU;
    double mu = fmax(o->barrier_min, fmin(KAPPA_MU * s->mu, pow(s->mu, faster)));
    double relaxation = fmax(o->relaxation_min, o->relaxation * mu / o->barrier);
    if (mu == s->mu && relaxation == s->pairing.relaxation) return 0;
    s->mu = mu;
    perp__ipm_reset_filter(s);
    if (relaxation == s->pairing.relaxation) return 1;
    s->pairing.relaxation = relaxation;
    if (s->g->npair > 0) perp__ipm_values(s, s->x, s->r, s->c, &s->cost);
    return 1;
}

/* Lower the barrier as long as the point solves it, or once if it has been tried for long. Returns
 * 1 if it was lowered. */
static int update_barrier(perp__ipm *s, const perp__ipm_options *o, int tried, double primal)
{
    int lowered = 0;
    int moves_rows = perp__program_has_cones(s->g) ||
                     (s->g->npair > 0 && s->g->pairs == PERP_PLAN_FISCHER_BURMEISTER);
    while (optimality_error(s, s->mu).total <= KAPPA_EPS * s->mu && lower_barrier(s, o)) {
        if (moves_rows)
            perp__ipm_differentiate(s); /* elsewhere the relaxation is a constant of its rows */
        lowered = 1;
    }
    if (!lowered && tried >= LONG && primal < PERP_PLAN_NEARLY_FEASIBLE && lower_barrier(s, o)) {
        if (moves_rows) perp__ipm_differentiate(s);
        lowered = 1;
    }
    return lowered;
}

int perp__ipm_report(perp__ipm *s, double primal, double dual, double alpha)
{
    const perp__ipm_options *o = s->options;
    perp__ipm_progress p = {s->iteration + s->restorations,
                            s->cost / s->units.cost,
                            primal,
                            dual,
                            s->pairing.relaxation,
                            s->mu,
                            alpha,
                            s->delta.w};
    s->is_stopped = o->progress && o->progress(o->context, &p);
    return s->is_stopped;
}

/* The barrier's complementarity in units of the cost. */
static double barrier_gap(const perp__ipm *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->is_free[i]) continue;
        if (s->lo[i] > -UNBOUNDED) sum += (s->x[i] - s->lo[i]) * s->zl[i];
        if (s->hi[i] < UNBOUNDED) sum += (s->hi[i] - s->x[i]) * s->zu[i];
    }
    return sum;
}

perp__ipm_result perp__ipm_solve(perp__ipm *s, const perp__ipm_options *o, double *w, double *p)
{
    perp__ipm_result result = {.status = IPM_LIMIT};
    double alpha = 0;
    int iteration = 0, level = 0 /* since it was lowered */, polished = 0;
    int finite = start(s, o, w, p);
    if (!finite) result.status = IPM_NOT_FINITE;
    for (; finite && iteration < o->max_iter; iteration++) {
        perp__ipm_differentiate(s);
        error e = optimality_error(s, 0);
        s->iteration = iteration;
        if (perp__ipm_report(s, e.primal, e.dual, alpha)) {
            result.status = IPM_STOPPED;
            break;
        }
        int solved = e.total <= o->tol && s->pairing.relaxation <= o->relaxation_min &&
                     (s->mu <= o->barrier_min || barrier_gap(s) <= o->gap * (1 + fabs(s->cost)));
        result.status = solved ? IPM_SOLVED : IPM_LIMIT;
        if (solved && (e.primal <= o->primal || polished++ == POLISH)) break;
        if (!solved && update_barrier(s, o, iteration - level, e.primal)) level = iteration;
        if (!perp__ipm_factor(s)) {
            if (!solved) result.status = IPM_STALLED;
            break;
        }
        double tau = fmax(TAU_MIN, 1 - s->mu);
        perp__ipm_direction(s, s->c);
        alpha = perp__ipm_line_search(s, tau);
        if (alpha == 0 && solved) break;
        if (alpha == 0) {
            if (perp__ipm_restore(s)) continue;
            result.status = s->is_stopped ? IPM_STOPPED : IPM_STALLED;
            break;
        }
        double alpha_z = perp__ipm_longest_dual(s, tau);
        perp__ipm_adopt_trial(s);
        for (size_t i = 0; i < s->m; i++) s->lambda[i] += fmin(alpha, 1) * s->d.lambda[i];
        for (size_t i = 0; i < s->n; i++) {
            s->zl[i] += alpha_z * s->d.zl[i];
            s->zu[i] += alpha_z * s->d.zu[i];
        }
        reset_multipliers(s);
    }
    error e = optimality_error(s, 0);
    if (perp__ipm_lacked_memory(s)) result.status = IPM_MEMORY;
    result.iterations = iteration + s->restorations;
    result.cost = s->cost / s->units.cost;
    result.infeasibility = e.primal;
    result.dual = e.dual;
    result.relaxation = s->pairing.relaxation;
    result.complementarity = e.complementarity / s->units.cost;
    for (size_t i = 0; i < s->m; i++)
        s->lambda[i] /= s->units.cost * s->units.of[s->nW + s->nP + i];
    for (size_t i = 0; i < s->n; i++) {
        s->zl[i] /= s->units.cost * s->units.of[i];
        s->zu[i] /= s->units.cost * s->units.of[i];
    }
    for (size_t i = 0; i < s->nW + s->nP && s->g->unit.differ; i++) s->x[i] *= s->units.of[i];
    memcpy(w, s->x, s->nW * sizeof *w);
    memcpy(p, s->x + s->nW, s->nP * sizeof *p);
    return result;
}
