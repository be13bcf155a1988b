/* Mesh refinement. Steps are divided where the motion leaves the plan and where the inputs jump, or
 * get a method of higher order. Nodes become free to move where inputs or sides of pairs switch.
 * The plan is solved again from the last one, until motion and cost stay within a tolerance. */

#include "base/tol.h"
#include "model/plan_block.h"
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_MESHES = 25,
    MOST_PARTS = 4,
    MOST_RUNS = 40,
    MOST_ITERATIONS = 300,
    MOST_IN_VAIN = 3,
    MOST_LOOKS = 3
};

/* The next mesh is made for this part of the tolerance. Errors are at most lowered so much at a
 * time, more is not foreseen. */
static const double SHARE = 0.2, LEAST_FACTOR = 1e-4;

/* Steps beside a node where a jump of the inputs loses more than this part of the largest such loss
 * are divided. */
static const double LARGE_LOSS = 0.2;

/* A jump of an input by this part of its size, larger than those beside it, is a switch. */
static const double SWITCH = 0.3;

/* What is broken between nodes by more than this is passed through. */
static const double BROKEN = 0.02;

/* A cost near 0 is compared with this part of what it is at the first guess. */
static const double LEAST_COST = 1e-3;

/* A mesh this much finer than it is now is left to a method of higher order, where there is one. */
static const double DEAR = 3;

typedef struct refinement {
    const perp_plan *plan;
    /* K: how far a step ends from where the motion from its beginning does, relative to the sizes
     * of the states */
    double *off;
    double *jump; /* K + 1: of the inputs at a node, relative to their sizes */
    int *parts;   /* K: into so many is a step divided next */
    char *cut;    /* K + 1: a run of free length begins at this node */
    int nrun;     /* how many there are; 0: no such runs */
    perp_plan_method method;
    int holds;     /* inputs have one value a step */
    int evenly;    /* all steps are divided */
    int is_broken; /* between nodes: the plan on the next mesh may be another one */
} refinement;

static int order_of(perp_plan_method method)
{
    switch (method) {
    case PERP_PLAN_THETA: return 2;
    case PERP_PLAN_RADAU3: return 3;
    case PERP_PLAN_RADAU5: return 5;
    case PERP_PLAN_RADAU7: return 7;
    default: return 1;
    }
}

/* Chosen input j a part of the way through step k: held, straight, or the polynomial of its
 * points. */
double perp__plan_input(const perp_plan *plan, int j, int k, double share)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K, at = (size_t)(g->nx + g->nv + g->nsplit + j);
    const double *w = plan->w;
    if (perp_plan_holds_inputs(plan))
        return w[((size_t)((g->npoint - 1) * g->nb) + at) * K + (size_t)k];
    if (g->scheme.is_weighted) {
        double before = perp__program_pre(g, w, plan->p, g->ns + j, k);
        return before + share * (w[at * K + (size_t)k] - before);
    }
    double value[PERP__MOST_POINTS];
    for (int c = 0; c < g->npoint; c++) value[c] = w[((size_t)(c * g->nb) + at) * K + (size_t)k];
    return perp__scheme_between(&g->scheme, value, share);
}

/* The errors of steps, by accurate integration from their beginnings, and by what is broken within
 * them. What integration is not made for counts as if every step were off. */
static perp_status find_errors(refinement *u)
{
    const perp_plan *plan = u->plan;
    const perp__program *g = plan->program;
    double *w = malloc((plan->nW + (size_t)g->ns) * sizeof *w),
           *amplitude = w ? w + plan->nW : NULL;
    if (!w) return PERP_ERR_MEMORY;
    int finer = plan->options.method == PERP_PLAN_RADAU7 ? 2 : 1;
    perp_diag why = {0};
    perp_status status = perp__plan_integrate(plan, finer, 1, w, NULL, &why);
    perp_diag_clear(&why);
    perp__plan_amplitudes(plan, amplitude);
    for (int k = 0; k < g->K; k++) {
        u->off[k] = status == PERP_OK ? 0 : 1;
        for (int i = 0; i < g->ns && status == PERP_OK; i++) {
            size_t at = perp__plan_end(g, i, k);
            u->off[k] = fmax(u->off[k], fabs(w[at] - plan->w[at]) / amplitude[i]);
        }
    }
    free(w);
    perp__plan_gap gap;
    if (!perp__plan_look_between(plan, u->off, NULL, &gap)) status = PERP_ERR_MEMORY;
    return status == PERP_ERR_MEMORY ? status : PERP_OK;
}

/* How far inputs jump at nodes within a phase. */
static void find_jumps(refinement *u)
{
    const perp__program *g = u->plan->program;
    memset(u->jump, 0, ((size_t)g->K + 1) * sizeof *u->jump);
    for (int j = 0; j < g->nu; j++) {
        double size = 0;
        for (int k = 0; k < g->K; k++) size = fmax(size, fabs(perp__plan_input(u->plan, j, k, 1)));
        for (int k = 1; k < g->K && size > 0; k++) {
            if (perp__program_phase(g, k) != perp__program_phase(g, k - 1)) continue;
            double off =
                perp__plan_input(u->plan, j, k, 0) - perp__plan_input(u->plan, j, k - 1, 1);
            u->jump[k] = fmax(u->jump[k], fabs(off) / size);
        }
    }
}

/* How many parts of each step bring the motion's error from `error` to the tolerance with this
 * order. Returns their number. */
static int divide_by_error(refinement *u, double error, int order)
{
    int K = u->plan->program->K, n = 0;
    double sum = 0, factor = SHARE * u->plan->options.motion_tol / error;
    for (int k = 0; k < K; k++) sum += u->off[k];
    if (!(factor >= LEAST_FACTOR)) factor = LEAST_FACTOR;
    double each = factor * sum / K;
    for (int k = 0; k < K; k++) {
        double parts = each > 0 ? ceil(pow(u->off[k] / each, 1.0 / (order + 1))) : 1;
        u->parts[k] = factor >= 1 ? 1 : (int)fmax(1, fmin(parts, MOST_PARTS));
        n += u->parts[k];
    }
    return n;
}

/* The possible gain of cost if the jump at the beginning of step k moved: of the order of its
 * square, times the steps' length. */
static double loss_at(const refinement *u, int k)
{
    const perp_plan *plan = u->plan;
    double h = perp__program_step(plan->program, plan->p, k - 1) +
               perp__program_step(plan->program, plan->p, k);
    return u->jump[k] * u->jump[k] * h;
}

/* Steps beside the jumps that may lose most, in two at least: where a switch is, and where held
 * inputs change most. */
static void divide_at_jumps(refinement *u)
{
    int K = u->plan->program->K;
    double largest = 0;
    for (int k = 1; k < K; k++) largest = fmax(largest, loss_at(u, k));
    for (int k = 1; k < K && largest > 0; k++)
        if (loss_at(u, k) >= LARGE_LOSS * largest)
            for (int i = k - 1; i <= k; i++) u->parts[i] = u->parts[i] > 2 ? u->parts[i] : 2;
}

/* Nodes at which an input switches. */
static void cut_at_jumps(refinement *u)
{
    find_jumps(u);
    for (int k = 1; k < u->plan->program->K; k++)
        if (u->jump[k] >= SWITCH && u->jump[k] >= u->jump[k - 1] && u->jump[k] > u->jump[k + 1])
            u->cut[k] = 1;
}

/* Nodes behind which another side of a pair is 0. */
static void cut_at_sides(refinement *u)
{
    perp_plan *plan = (perp_plan *)u->plan;
    const perp__program *g = plan->program;
    double cost;
    perp__program_values(plan->program, &plan->pairing, plan->w, plan->p, plan->r, &cost);
    perp__sides_choose(plan->sides, plan->w, plan->r);
    for (int i = 0; i < g->npair; i++) {
        const signed char *side = plan->sides->side + (size_t)i * (size_t)g->K;
        for (int k = 1; k < g->K && g->pair[i].point == g->npoint - 1; k++)
            if (side[k] != side[k - 1]) u->cut[k] = 1;
    }
}

/* Where runs of free length begin: where they do now, and, with `more`, at switches. Returns
 * whether there are new ones. */
static int choose_cuts(refinement *u, int more)
{
    const perp__program *g = u->plan->program;
    int had = g->mesh.nrun ? g->mesh.nrun : g->phase.n, n = 0;
    memset(u->cut, 0, (size_t)g->K + 1);
    if (more) cut_at_jumps(u);
    if (more && g->npair) cut_at_sides(u);
    for (int q = 0; q < g->phase.n; q++) u->cut[g->phase.first[q]] = 1;
    for (int k = 0; k < g->K; k++) n += u->cut[k];
    int is_more = more && n > had && n <= MOST_RUNS && !g->phase.named;
    u->nrun = is_more ? n : g->mesh.nrun;
    return is_more;
}

/* The next mesh in parts of the present one, and its method. Returns 0: none that is not too
 * large. */
static int choose_parts(refinement *u, double error, int cost_moves)
{
    const perp__program *g = u->plan->program;
    int order = order_of(u->method), n = divide_by_error(u, error, order), sum = 0;
    if (n > DEAR * g->K && order < order_of(PERP_PLAN_RADAU7) && (g->npair == 0 || u->nrun)) {
        u->method = order < order_of(PERP_PLAN_RADAU5) ? PERP_PLAN_RADAU5 : PERP_PLAN_RADAU7;
        for (int k = 0; k < g->K; k++) u->parts[k] = 1;
        return g->K;
    }
    find_jumps(u);
    if (cost_moves) divide_at_jumps(u);
    for (int k = 0; k < g->K && u->evenly; k++) u->parts[k] = u->parts[k] > 2 ? u->parts[k] : 2;
    for (int k = 0; k < g->K; k++) sum += u->parts[k];
    for (int k = 0; k < g->K && sum == g->K; k++) u->parts[k] = 2;
    if (sum == g->K) sum *= 2;
    return sum <= u->plan->options.most_steps ? sum : 0;
}

double perp__plan_unknown_at(const perp_plan *plan, int j, int k, double share)
{
    const perp__program *g = plan->program;
    double value[PERP__MOST_POINTS];
    for (int c = 0; c < g->npoint; c++)
        value[c] = plan->w[(size_t)(c * g->nb + j) * (size_t)g->K + (size_t)k];
    if (j >= g->ns) return perp__scheme_between(&g->scheme, value, share);
    return perp__scheme_through(&g->scheme, perp__program_pre(g, plan->w, plan->p, j, k), value,
                                share);
}

int perp__plan_same_unknown(const perp__program *to, int j, const perp__program *from)
{
    if (j < to->ns) return j;
    if (j < to->nx) return from->nx + from->nv + from->nsplit + j - to->ns;
    return from->nx + j - to->nx;
}

/* The point of the plan on the new mesh. */
static void interpolate(perp_plan *to, const perp_plan *from, const int *parts)
{
    const perp__program *g = to->program, *old = from->program;
    for (int k = 0, fine = 0; k < old->K; k++)
        for (int i = 0; i < parts[k]; i++, fine++)
            for (int j = 0; j < g->nb * g->npoint; j++) {
                int c = j / g->nb, same = perp__plan_same_unknown(g, j % g->nb, old),
                    input = same - (old->nx + old->nv + old->nsplit);
                double share = (i + g->scheme.c[c]) / parts[k];
                size_t at = (size_t)j * (size_t)g->K + (size_t)fine;
                double x = input >= 0 ? perp__plan_input(from, input, k, share)
                                      : perp__plan_unknown_at(from, same, k, share);
                to->guess.w[at] = fmax(g->bound.wlo[at], fmin(g->bound.whi[at], x));
            }
    memcpy(to->guess.p, to->initial.p, to->nP * sizeof *to->guess.p);
    for (int k = 0, fine = 0, q = 0; k < old->K && g->phase.nrun; fine += parts[k++]) {
        if (fine == g->phase.first[q]) to->guess.p[g->phase.run_p + q++] = 0;
        to->guess.p[g->phase.run_p + q - 1] += perp__program_step(old, from->p, k);
    }
    for (int i = 0; i < g->param.n; i++) to->guess.p[g->param.p + i] = from->p[old->param.p + i];
    for (int i = 0; i < g->start.n; i++) {
        int x = g->start.item[i];
        to->guess.p[g->start.p + i] = x < old->nx ? perp__program_pre(old, from->w, from->p, x, 0)
                                                  : perp__plan_input(from, x - g->ns, 0, 0);
    }
    perp__program_set_distant(g, to->guess.w, to->guess.p);
    to->has_guess = PERP__GUESS_COARSER;
}

void perp__plan_keep_settings(perp_plan *to, const perp_plan *from)
{
    perp__program *g = to->program;
    const perp__program *old = from->program;
    memcpy(g->initial.x, old->initial.x, (size_t)g->ns * sizeof *g->initial.x);
    memcpy(g->initial.is_set, old->initial.is_set, (size_t)g->ns);
    for (int i = 0; i < g->param.n; i++) {
        g->bound.plo[g->param.p + i] = old->bound.plo[old->param.p + i];
        g->bound.phi[g->param.p + i] = old->bound.phi[old->param.p + i];
    }
}

/* The new mesh, in memory of an arena. Returns 0: there was none. */
static int make_mesh(const refinement *u, int steps, perp__mesh *mesh, perp__arena *arena)
{
    const perp__program *g = u->plan->program;
    const perp__mesh *old = &g->mesh;
    int n = 0, run = 0;
    *mesh = (perp__mesh){.base = old->base, .nrun = u->nrun, .holds = u->holds};
    PERP_TAKE(arena, mesh->first, old->base + 1);
    PERP_TAKE(arena, mesh->cut, u->nrun + 1);
    PERP_TAKE(arena, mesh->part, steps);
    PERP_TAKE(arena, mesh->length, steps);
    if (arena->failed) return 0;
    for (int b = 0; b < old->base; b++) {
        mesh->first[b] = n;
        for (int k = old->first[b]; k < old->first[b + 1]; k++) {
            if (u->cut[k] && u->nrun) mesh->cut[run++] = n;
            for (int i = 0; i < u->parts[k]; i++, n++) {
                mesh->part[n] = old->part[k] / u->parts[k];
                mesh->length[n] = perp__program_step(g, u->plan->p, k) / u->parts[k];
            }
        }
    }
    mesh->first[old->base] = n;
    mesh->cut[run] = n;
    return 1;
}

/* The plan on a mesh of `steps`. */
static perp_status create_finer(const refinement *u, int steps, perp_plan **finer)
{
    const perp_plan *plan = u->plan;
    perp_plan_options o = plan->options;
    perp__arena arena = {0};
    perp__mesh mesh;
    o.nodes = steps + 1;
    o.method = u->method;
    o.tries = 1;
    if (!u->is_broken) o.restarts = plan->program->npair > 0 && o.restarts > 0;
    o.homotopy = NULL;
    if (o.max_iter > MOST_ITERATIONS) o.max_iter = MOST_ITERATIONS;
    perp_status status = make_mesh(u, steps, &mesh, &arena) ? PERP_OK : PERP_ERR_MEMORY;
    if (status == PERP_OK) status = perp__plan_create_on(plan->model, &o, &mesh, finer, NULL);
    if (status == PERP_OK) perp__plan_keep_settings(*finer, plan);
    if (status == PERP_OK) interpolate(*finer, plan, u->parts);
    perp__arena_clear(&arena);
    return status;
}

void perp__plan_exchange(perp_plan *plan, perp_plan *finer)
{
    perp_plan was = *plan;
    perp_plan_method method = finer->options.method;
    *plan = *finer;
    *finer = was;
    perp__attempts none = plan->attempt;
    plan->attempt = was.attempt;
    finer->attempt = none;
    int nodes = plan->options.nodes;
    plan->options = was.options;
    plan->options.method = method;
    plan->options.nodes = nodes;
    plan->again.has_answer = was.again.has_answer;
    plan->again.cost = was.again.cost;
    plan->kkt->pairing = &plan->pairing;
    finer->kkt->pairing = &finer->pairing;
}

/* What is known of the cost, each in its own size. */
typedef struct cost_errors {
    /* from that of a motion that keeps all. With pairs only slopes tell of it, which are too large
     * by any factor: 0 */
    double off;
    double rule;   /* what the method's rule leaves out of its integrals, of what it counts */
    double change; /* with the last mesh on which inputs had more values */
} cost_errors;

/* The rise of the cost, to second order, when all unknowns change by this share of their units.
 * Slopes are 0 to no better, and a cost below it is 0. Returns 0: memory. */
static int find_resolution(const perp_plan *plan, double *resolution)
{
    const double MOVED = 1e-5;
    const perp__program *g = plan->program;
    double cost, *w = malloc((plan->nW + plan->nP + 1) * sizeof *w);
    *resolution = 0;
    for (int side = 0; side < 3 && w; side++) { /* the plan itself is the last to be evaluated */
        double *p = w + plan->nW, move = side < 2 ? (2 * side - 1) * MOVED : 0;
        for (size_t i = 0; i < plan->nW; i++)
            w[i] = plan->w[i] + move * g->unit.w[i / (size_t)g->K];
        for (size_t i = 0; i < plan->nP; i++) p[i] = plan->p[i] + move * g->unit.p[i];
        perp__program_values(plan->program, &plan->pairing, w, p, plan->r, &cost);
        *resolution += side < 2 ? 0.5 * cost : -cost;
    }
    free(w);
    *resolution = fabs(*resolution);
    return w != NULL;
}

/* 0: memory. */
static int find_cost_errors(const perp_plan *plan, const perp_plan_result *result, cost_errors *e)
{
    double guessed, off, counted, resolution, cost = result->cost_error;
    perp__program_values(plan->program, &plan->pairing, plan->initial.w, plan->initial.p, plan->r,
                         &guessed);
    if (!find_resolution(plan, &resolution) || !perp__plan_quadrature(plan, &off, &counted))
        return 0;
    double size = fabs(result->cost) + LEAST_COST * fabs(guessed);
    if (fabs(result->cost) <= resolution) size = fmax(size, resolution / plan->options.motion_tol);
    *e = (cost_errors){0};
    if (isfinite(cost) && cost > 0 && plan->program->npair == 0) e->off = cost / size;
    if (isfinite(off) && off != 0) e->rule = fabs(off) / fmax(counted, size);
    if (plan->arc_error > 0 || plan->model->plan->ncost == 0) return 1;
    e->change = plan->is_freer ? fabs(result->cost_change) : (double)INFINITY;
    if (e->change > 0) e->change /= size;
    return 1;
}

/* How far the plan is from a motion that keeps all, and its cost from that of one. */
static double error_of(const perp_plan_result *result, const cost_errors *e)
{
    return fmax(e->off, fmax(result->replay, result->between));
}

/* What is accurate already is not given up for a plan that costs more: another minimum. */
static int is_no_worse(const perp_plan *plan, const cost_errors *e, const perp_plan_result *finer,
                       const perp_plan_result *now)
{
    int is_accurate = fmax(error_of(now, e), e->rule) <= plan->options.motion_tol;
    if (is_accurate && finer->cost > now->cost + PERP_PLAN_DEARER * fabs(now->cost)) return 0;
    return perp_plan_holds(finer->outcome) &&
           (finer->outcome <= now->on_mesh || finer->outcome <= PERP_PLAN_STATIONARY_B);
}

/* On the next mesh, with the chosen runs. Returns 1: the plan is on it; 0: there is none, or no
 * such plan on it; -1: memory. */
static int solve_on_next(refinement *u, perp_plan *plan, int cost_moves, perp_plan_result *result)
{
    perp_plan *finer = NULL;
    perp_plan_result next;
    cost_errors e;
    if (!find_cost_errors(plan, result, &e)) return -1;
    int steps = choose_parts(u, error_of(result, &e), cost_moves);
    int gains = u->nrun > plan->program->mesh.nrun && order_of(u->method) == 1;
    if (!steps || gains) return 0; /* free lengths exploit the error of a method of order 1 */
    perp_status status = create_finer(u, steps, &finer);
    if (status == PERP_OK) status = perp__plan_run_starts(finer, &next);
    int is_freer = steps > plan->program->K || !u->holds;
    int is_finer = status == PERP_OK ? is_no_worse(plan, &e, &next, result) : 0;
    if (is_finer > 0) {
        next.iterations += result->iterations;
        next.starts += result->starts;
        next.meshes = result->meshes + 1;
        next.cost_change = next.cost - result->cost;
        *result = next;
        perp__plan_exchange(plan, finer);
        plan->is_freer = is_freer;
    }
    perp_plan_destroy(finer);
    return status == PERP_ERR_MEMORY ? -1 : is_finer;
}

static int all_are_divided(const refinement *u)
{
    int all = 1;
    for (int k = 0; k < u->plan->program->K; k++) all &= u->parts[k] > 1;
    return all;
}

/* One mesh finer. It has runs between switches, once these are visible. It has none, if there is no
 * plan with them. All steps are divided if both fail and only the cost is left to be shown. If
 * the last mesh failed, inputs are held: several values a step may swing between the points of a
 * method, and cost less than any motion. Returns as solve_on_next. */
static int refine_once(perp_plan *plan, int cost_moves, int is_accurate, int in_vain,
                       perp_plan_result *result)
{
    size_t K = (size_t)plan->program->K;
    refinement u = {.plan = plan, .method = plan->options.method};
    u.is_broken = result->between > BROKEN;
    u.holds = perp_plan_holds_inputs(plan) || (in_vain && plan->program->nx == plan->program->ns);
    perp__arena arena = {0};
    int is_finer = -1;
    PERP_TAKE(&arena, u.off, K);
    PERP_TAKE(&arena, u.jump, K + 1);
    PERP_TAKE(&arena, u.parts, K);
    PERP_TAKE(&arena, u.cut, K + 1);
    if (!arena.failed && find_errors(&u) == PERP_OK) {
        is_finer = 0;
        if (choose_cuts(&u, plan->program->npair > 0))
            is_finer = solve_on_next(&u, plan, cost_moves, result);
        if (is_finer == 0) {
            u.method = plan->options.method;
            choose_cuts(&u, 0);
            is_finer = solve_on_next(&u, plan, cost_moves, result);
        }
        u.evenly = is_finer == 0 && is_accurate && cost_moves && !all_are_divided(&u);
        if (u.evenly) is_finer = solve_on_next(&u, plan, cost_moves, result);
    }
    perp__arena_clear(&arena);
    return is_finer;
}

perp_status perp__plan_judge_cost(const perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const double tol = plan->options.motion_tol;
    cost_errors e;
    if (!(tol > 0) || plan->model->kind == PERP_DISCRETE || plan->program->ns == 0) return PERP_OK;
    if (!find_cost_errors(plan, result, &e)) return PERP_ERR_MEMORY;
    double off = fmax(e.off, e.rule);
    if (fmax(off, e.change) <= tol) return PERP_OK;
    perp__diag_append(diag, "%s: the cost is asked for to %.3g of itself, and ",
                      plan->model->source.name, tol);
    if (!(off <= tol))
        perp__diag_append(diag, "along the motion it is another by up to %.3g", off);
    else if (isfinite(e.change))
        perp__diag_append(diag, "changed by %.3g with the last finer mesh", e.change);
    else
        perp__diag_append(diag, "no plan on a finer mesh shows whether it stays");
    perp__diag_append(diag,
                      ": the plan holds on its mesh only (there: %s); more steps%s, or a larger "
                      "tolerance, may show more\n",
                      perp_plan_outcome_name(result->on_mesh),
                      plan->program->held ? ", inputs that are not held" : "");
    result->outcome = PERP_PLAN_FEASIBLE_ON_MESH;
    return PERP_OK;
}

perp_status perp__plan_refine(perp_plan *plan, perp_plan_result *result)
{
    const double tol = plan->options.motion_tol;
    double least = INFINITY;
    int is_finer = tol > 0 && plan->model->kind != PERP_DISCRETE && plan->program->ns > 0, vain = 0,
        looks = 0;
    plan->is_freer = 0;
    while (is_finer > 0 && !plan->stopped && result->meshes < MOST_MESHES) {
        int arcs = looks++ < MOST_LOOKS ? perp__plan_find_arcs(plan, result) : 0;
        if (arcs) return arcs < 0 ? PERP_ERR_MEMORY : PERP_OK;
        result->on_mesh = result->outcome;
        perp_status status = perp__plan_replay(plan, result, NULL);
        if (status == PERP_OK && result->replay <= tol) status = perp__plan_correct(plan, result);
        result->outcome = result->on_mesh;
        if (status != PERP_OK) return status;
        cost_errors e;
        if (!find_cost_errors(plan, result, &e)) return PERP_ERR_MEMORY;
        double error = error_of(result, &e);
        int stays = e.change <= tol, is_accurate = error <= tol;
        vain = is_accurate || error < 0.5 * least ? 0 : vain + 1;
        if ((is_accurate && stays && e.rule <= tol) || vain > MOST_IN_VAIN) break;
        least = fmin(least, error);
        is_finer = refine_once(plan, !stays, is_accurate, vain > 0, result);
    }
    return is_finer < 0 ? PERP_ERR_MEMORY : PERP_OK;
}
