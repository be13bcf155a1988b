/* Plans whose inputs are at ends of their ranges nearly throughout, mostly least times. Only the
 * switching times are unknown. The inputs of each arc are fixed at the ends that they are near, the
 * lengths of the arcs are free, and the program is solved. Arcs that vanish are dropped. Steps at
 * which the cost would fall off the end become arcs at the other end. Then Newton's iteration finds
 * the lengths to the last digits (lengths.c), with steps that are divided until nothing changes.
 * The answer is judged as a plan with free inputs. */

#include "base/tol.h"
#include "model/plan_block.h"
#include "plan/plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ARCS = 24, MOST_ROUNDS = 6, STEPS = 6, MOST_ITERATIONS = 200 };
/* An input is at an end within this part of its range. So many steps may be between, where switches
 * are. */
static const double NEAR = 0.05, MOST_BETWEEN = 0.5;
/* An arc shorter than this part of the horizon is none, nor is one that is SHORT and at its least
 * length. */
static const double LEAST_ARC = 1e-5, AT_BOUND = 1.01, SHORT = 0.02;
/* A slope off an end counts from this part of its terms on. */
static const double SLOPES = 1e-6;
/* Steps are divided until the remaining changes of the cost, which fall by a factor, are this share
 * of the tolerance. */
static const double SETTLED = 0.5,
                    ROUNDING = 1e-14; /* where more is asked for than lengths can do */

typedef struct arcs {
    int n, nu, abnormal; /* the last: as perp__plan_solve_lengths */
    double length[MOST_ARCS];
    char *is_high; /* MOST_ARCS * nu */
} arcs;

static size_t input_at(const perp__program *g, int j, int k)
{
    int i = (g->npoint - 1) * g->nb + g->nx + g->nv + g->nsplit + j;
    return (size_t)i * (size_t)g->K + (size_t)k;
}

/* Where the input is in its range through step k, on average. */
static double share_of(const perp_plan *plan, int j, int k)
{
    const perp__program *g = plan->program;
    size_t at = input_at(g, j, k);
    double lo = g->bound.wlo[at], hi = g->bound.whi[at], sum = 0;
    enum { LOOKS = 4 };
    for (int i = 0; i < LOOKS; i++) sum += perp__plan_input(plan, j, k, (i + 0.5) / LOOKS);
    return (sum / LOOKS - lo) / (hi - lo);
}

/* Are there conditions at nodes that arcs would move, or fixed lengths? */
static int is_fit(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    const perp__plan_block *b = plan->model->plan;
    int fits = g->npair == 0 && g->nu > 0 && g->ns > 0 && g->nx == g->ns && b->is_free &&
               !g->phase.named && !b->distant.n && !g->cost.nmark && !g->external &&
               plan->model->kind != PERP_DISCRETE;
    for (int i = 0; i < b->ncondition; i++)
        fits &= b->condition[i].where != PLAN_SHARE && b->condition[i].where != PLAN_TIME;
    for (int j = 0; j < g->nu && fits; j++)
        fits =
            isfinite(g->bound.wlo[input_at(g, j, 0)]) && isfinite(g->bound.whi[input_at(g, j, 0)]);
    return fits;
}

/* One step more, with its inputs. Returns 0: there are too many arcs. */
static int add_step(arcs *a, const char *is_high, double h)
{
    const char *last = a->is_high + (a->n - 1) * a->nu;
    if (a->n == 0 || memcmp(last, is_high, (size_t)a->nu) != 0) {
        if (a->n == MOST_ARCS) return 0;
        memcpy(a->is_high + a->n * a->nu, is_high, (size_t)a->nu);
        a->length[a->n++] = 0;
    }
    a->length[a->n - 1] += h;
    return 1;
}

/* The arcs that the plan is near. Returns 0: it is near none. */
static int find_near(const perp_plan *plan, arcs *a, char *is_high)
{
    const perp__program *g = plan->program;
    double between = 0;
    a->n = 0;
    for (int k = 0; k < g->K; k++) {
        int is_between = 0;
        for (int j = 0; j < g->nu; j++) {
            double share = share_of(plan, j, k);
            is_between |= share > NEAR && share < 1 - NEAR;
            is_high[j] = share > 0.5;
        }
        between += is_between;
        if (!add_step(a, is_high, perp__program_step(g, plan->p, k))) return 0;
    }
    return between <= MOST_BETWEEN * g->K;
}

/* The plan of these arcs with so many steps each, in memory of an arena. */
static perp_status create(const perp_plan *plan, const arcs *a, int steps, int is_exact,
                          perp_plan **out)
{
    perp_plan_options o = plan->options;
    perp__arena arena = {0};
    int n = a->n * steps;
    perp__mesh mesh = {.base = 1, .nrun = a->n, .holds = 1, .is_exact = is_exact};
    o.nodes = n + 1;
    o.method = PERP_PLAN_RADAU7;
    o.tries = 1;
    o.restarts = 0;
    o.homotopy = NULL;
    if (o.max_iter > MOST_ITERATIONS) o.max_iter = MOST_ITERATIONS;
    PERP_TAKE(&arena, mesh.first, 2);
    PERP_TAKE(&arena, mesh.cut, a->n + 1);
    PERP_TAKE(&arena, mesh.part, n);
    PERP_TAKE(&arena, mesh.length, n);
    if (!arena.failed) {
        mesh.first[1] = n;
        for (int q = 0; q <= a->n; q++) mesh.cut[q] = q * steps;
        for (int k = 0; k < n; k++) {
            mesh.part[k] = 1.0 / n;
            mesh.length[k] = a->length[k / steps] / steps;
        }
    }
    perp_status status =
        arena.failed ? PERP_ERR_MEMORY : perp__plan_create_on(plan->model, &o, &mesh, out, NULL);
    if (status == PERP_OK) perp__plan_keep_settings(*out, plan);
    perp__arena_clear(&arena);
    return status;
}

/* The point of the plan on the arcs, whose inputs are where they are fixed. */
static void start_from(perp_plan *to, const perp_plan *from, const arcs *a, int steps)
{
    perp__program *g = to->program;
    const perp__program *old = from->program;
    double all = 0, was = 0, t = 0, end = 0;
    int at = -1;
    for (int q = 0; q < a->n; q++) all += a->length[q];
    for (int k = 0; k < old->K; k++) was += perp__program_step(old, from->p, k);
    for (int k = 0; k < g->K; k++) {
        double h = a->length[k / steps] / steps * (was / all);
        for (int c = 0; c < g->npoint; c++) {
            double time = t + g->scheme.c[c] * h;
            while (at < 0 || (time > end * (1 + 1e-12) && at < old->K - 1))
                end += perp__program_step(old, from->p, ++at);
            double step = perp__program_step(old, from->p, at),
                   share = fmin(1, (time - (end - step)) / step);
            for (int j = 0; j < g->nx + g->nv; j++)
                to->guess.w[(size_t)(c * g->nb + j) * (size_t)g->K + (size_t)k] =
                    perp__plan_unknown_at(from, perp__plan_same_unknown(g, j, old), at, share);
        }
        for (int j = 0; j < g->nu; j++) {
            size_t i = input_at(g, j, k);
            to->guess.w[i] = a->is_high[k / steps * a->nu + j] ? g->bound.whi[i] : g->bound.wlo[i];
        }
        t += h;
    }
    for (int q = 0; q < a->n; q++) to->guess.p[g->phase.run_p + q] = a->length[q];
    for (int i = 0; i < g->param.n; i++) to->guess.p[g->param.p + i] = from->p[old->param.p + i];
    for (int i = 0; i < g->start.n; i++) to->guess.p[g->start.p + i] = from->p[old->start.p + i];
    to->has_guess = PERP__GUESS_COARSER;
}

/* Inputs fixed where they are, or free again. */
static void fix_inputs(perp_plan *plan, const perp_plan *like, int fixed)
{
    perp__program *g = plan->program;
    const perp__bounds *b = &like->program->bound;
    for (int j = 0; j < g->nu; j++)
        for (int k = 0; k < g->K; k++) {
            size_t i = input_at(g, j, k), from = input_at(like->program, j, 0);
            g->bound.wlo[i] = fixed ? plan->guess.w[i] : b->wlo[from];
            g->bound.whi[i] = fixed ? plan->guess.w[i] : b->whi[from];
        }
}

/* Multipliers of the ends of ranges of inputs. Returns the number of steps that would cost less at
 * another end. */
static int price_inputs(perp_plan *plan, char *is_wrong)
{
    const perp__program *g = plan->program;
    int wrong = 0;
    memset(plan->lower, 0, plan->nW * sizeof *plan->lower);
    memset(plan->upper, 0, plan->nW * sizeof *plan->upper);
    perp__kkt_evaluate(plan->kkt, plan->w, plan->p, plan->lambda);
    for (int j = 0; j < g->nu; j++)
        for (int k = 0; k < g->K; k++) {
            size_t i = input_at(g, j, k);
            double slope = plan->kkt->slope[i], hi = g->bound.whi[i], lo = g->bound.wlo[i];
            int is_high = plan->w[i] > 0.5 * (lo + hi);
            if (is_high)
                plan->upper[i] = fmax(0, -slope);
            else
                plan->lower[i] = fmax(0, slope);
            int is_off = (is_high ? slope : -slope) > SLOPES * plan->kkt->size[i];
            if (is_wrong) is_wrong[k * g->nu + j] = (char)is_off;
            wrong += is_off;
        }
    return wrong;
}

/* The arcs of a solution. Vanished arcs are dropped, arcs at their least length keep it, steps that
 * are `is_wrong` go to the other end. Returns 1: the arcs changed; 0: they are the same; -1: there
 * are too many. */
static int revise(const perp_plan *now, arcs *a, int steps, const char *is_wrong, char *is_high)
{
    const perp__program *g = now->program;
    const double *length = now->p + g->phase.run_p, *least = g->bound.plo + g->phase.run_p;
    arcs next = *a;
    char was[MOST_ARCS];
    double all = 0;
    int changed = 0, shortened = 0, fits = 1, n = a->n;
    char *old = a->is_high;
    perp__arena arena = {0};
    if (!PERP_TAKE(&arena, next.is_high, MOST_ARCS * a->nu)) return -1;
    next.n = 0;
    for (int q = 0; q < n; q++) all += length[q];
    for (int q = 0; q < n; q++) {
        int is_short = length[q] <= AT_BOUND * least[q];
        was[q] = length[q] <= (is_short ? SHORT : LEAST_ARC) * all;
        shortened |= was[q] || is_short;
    }
    for (int k = 0; k < g->K && fits; k++) {
        int q = k / steps;
        if (was[q]) continue;
        for (int j = 0; j < a->nu; j++) {
            int is_off = !shortened && is_wrong[k * a->nu + j];
            is_high[j] = (char)(old[q * a->nu + j] != is_off);
            changed |= is_off;
        }
        fits = add_step(&next, is_high, length[q] / steps);
    }
    memcpy(old, next.is_high, (size_t)(MOST_ARCS * a->nu));
    next.is_high = old;
    *a = next;
    perp__arena_clear(&arena);
    return fits && a->n > 0 ? changed | shortened : -1;
}

/* Solve with the lengths of the arcs free. Returns 1: solved, in *now; 0: not; -1: memory. */
static int solve_arcs(const perp_plan *plan, const perp_plan *from, const arcs *a, int steps,
                      int is_newton, perp_plan **now)
{
    perp_plan_result r;
    perp_status made = create(plan, a, steps, is_newton, now);
    if (made != PERP_OK) return made == PERP_ERR_MEMORY ? -1 : 0;
    start_from(*now, from, a, steps);
    fix_inputs(*now, plan, 1);
    if (!is_newton) {
        perp_status status = perp__plan_run_starts(*now, &r);
        if (status != PERP_OK) return -1;
        if (perp_plan_holds(r.outcome)) return 1;
        if (a->n > 1) return 0;
    }
    memcpy((*now)->w, (*now)->guess.w, (*now)->nW * sizeof *(*now)->w);
    memcpy((*now)->p, (*now)->guess.p, (*now)->nP * sizeof *(*now)->p);
    return perp__plan_solve_lengths(*now, a->abnormal);
}

/* The same with multipliers as large as they may be, where they may. Returns 1: then inputs are
 * right. */
static int price_abnormal(const perp_plan *plan, perp_plan *now, arcs *a, char *is_wrong)
{
    for (a->abnormal = 1; a->abnormal >= -1; a->abnormal -= 2) {
        fix_inputs(now, plan, 1);
        int solved = perp__plan_solve_lengths(now, a->abnormal);
        fix_inputs(now, plan, 0);
        if (solved > 0 && !price_inputs(now, is_wrong)) return 1;
    }
    a->abnormal = 0;
    return 0;
}

/* 1: there was one that is short. */
static int drop_shortest(arcs *a)
{
    int least = 0;
    double all = 0;
    for (int q = 0; q < a->n; q++) {
        all += a->length[q];
        if (a->length[q] < a->length[least]) least = q;
    }
    if (a->n < 2 || a->length[least] > SHORT * all) return 0;
    for (int q = least; q + 1 < a->n; q++) {
        a->length[q] = a->length[q + 1];
        memcpy(a->is_high + q * a->nu, a->is_high + (q + 1) * a->nu, (size_t)a->nu);
    }
    a->n--;
    return 1;
}

/* As solve_arcs until the arcs stay. */
static int settle_arcs(const perp_plan *plan, arcs *a, perp_plan **now)
{
    const perp_plan *from = plan;
    perp__arena arena = {0};
    char *is_wrong, *is_high;
    int changed = 1, solved = 1;
    PERP_TAKE(&arena, is_wrong, MOST_ARCS * STEPS * a->nu);
    PERP_TAKE(&arena, is_high, a->nu);
    if (arena.failed) solved = -1;
    for (int i = 0; i < MOST_ROUNDS && changed > 0 && solved > 0; i++) {
        perp_plan *next = NULL;
        solved = solve_arcs(plan, from, a, STEPS, 0, &next);
        if (solved > 0) {
            fix_inputs(next, plan, 0);
            if (price_inputs(next, is_wrong) && !price_abnormal(plan, next, a, is_wrong)) {
                fix_inputs(next, plan, 0);
                price_inputs(next, is_wrong);
            }
            changed = revise(next, a, STEPS, is_wrong, is_high);
        }
        if (solved == 0 && drop_shortest(a)) {
            perp_plan_destroy(next);
            solved = 1;
            continue;
        }
        perp_plan_destroy(*now);
        from = *now = next;
    }
    perp__arena_clear(&arena);
    return solved > 0 ? changed == 0 && *now : solved;
}

/* Change of the cost if conditions at nodes have an error of the size of a state's rounding. */
static double rounding_of(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    double sum = 0;
    for (size_t i = 0; i < plan->nR; i++) {
        int row = (int)(i / (size_t)g->K);
        if (row < g->has.model_row || row >= g->has.model_end)
            sum += fabs(plan->lambda[i] * plan->r[i]);
    }
    for (int i = 0; i < g->ns; i++) {
        double most = fabs(perp__program_pre(g, plan->w, plan->p, i, 0));
        for (int k = 0; k < g->K; k++) most = fmax(most, fabs(plan->w[perp__plan_end(g, i, k)]));
        sum += fabs(plan->lower[perp__plan_end(g, i, g->K - 1)]) * most;
    }
    return DBL_EPSILON * sum;
}

/* Lengths to the last digits, with steps divided until the cost stays; its last change. The
 * remaining change is the plan's arc_error, with the effect of rounding on conditions at nodes, by
 * their multipliers. */
static int refine_lengths(const perp_plan *plan, arcs *a, perp_plan **now, double *change)
{
    double last = INFINITY, was = INFINITY, cost = 0,
           tol = a->abnormal ? ROUNDING : SETTLED * plan->options.motion_tol;
    int solved = 1, most = plan->options.most_steps / a->n;
    for (int steps = STEPS; steps <= most && solved > 0; steps *= 2) {
        perp_plan *next = NULL;
        const perp__program *g = (*now)->program;
        for (int q = 0; q < a->n; q++) a->length[q] = (*now)->p[g->phase.run_p + q];
        solved = solve_arcs(plan, *now, a, steps, 1, &next);
        perp_plan_destroy(*now);
        *now = next;
        if (solved > 0) perp__program_values(next->program, NULL, next->w, next->p, next->r, &cost);
        *change = cost - last;
        double left = isfinite(was) && fabs(*change) < 0.5 * was
                          ? *change * *change / (was - fabs(*change))
                          : fabs(*change);
        if (solved > 0) next->arc_error = left + (a->abnormal ? 0 : rounding_of(next));
        if (solved <= 0 || left <= tol * fabs(cost)) return solved;
        was = fabs(*change);
        last = cost;
    }
    return solved > 0 ? 0 : solved;
}

int perp__plan_find_arcs(perp_plan *plan, perp_plan_result *result)
{
    perp__arena arena = {0};
    arcs a = {.nu = plan->program->nu};
    perp_plan *now = NULL;
    perp_plan_result next = *result;
    char *is_high;
    if (!is_fit(plan)) return 0;
    PERP_TAKE(&arena, a.is_high, MOST_ARCS * a.nu);
    PERP_TAKE(&arena, is_high, a.nu);
    int found = arena.failed ? -1 : find_near(plan, &a, is_high);
    if (found > 0) found = settle_arcs(plan, &a, &now);
    if (found > 0) found = refine_lengths(plan, &a, &now, &next.cost_change);
    if (found > 0) {
        fix_inputs(now, plan, 0);
        price_inputs(now, NULL);
        if (!perp__plan_judge_point(now, &next)) found = -1;
    }
    if (found > 0)
        found = next.outcome <= PERP_PLAN_STATIONARY_S && next.curvature >= 0 &&
                next.cost <= result->cost + PERP_PLAN_DEARER * fabs(result->cost);
    if (found > 0) {
        next.meshes = result->meshes + 1;
        *result = next;
        perp__plan_exchange(plan, now);
    }
    perp_plan_destroy(now);
    perp__arena_clear(&arena);
    return found;
}
