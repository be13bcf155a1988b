/* The distance of a plan from the motion of its inputs, by an accurate integration (motion.c). If
 * that is more expensive than needed or impossible, another method on a finer grid is used. It
 * decides whether a plan is one of the system, or of its mesh only. */

#include "base/tol.h"
#include "model/plan_block.h"
#include "plan/plan.h"
#include "perp/simulate.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINER = 4 }; /* steps of the simulation in one of the plan */

/* Differences of a state, relative to its largest size. MUCH: the plan is not a motion of the
 * system. MUCH_AT_KINKS: the same for higher-order methods with pairs, which lose their order in
 * steps across an event and may cost less than any motion. DIVERGES: more than any impact makes;
 * the replay itself has failed. */
static const double MUCH = 0.1, MUCH_AT_KINKS = 0.02, DIVERGES = 10;

/* What is asked for throughout is broken between nodes by this part of the terms that it is the
 * difference of. */
static const double MUCH_BETWEEN = 0.02;

/* A state that changes by more than this part of its largest size within two steps jumps: at an
 * impact. */
static const double JUMPS = 0.25;
/* A jump: AT_ONCE of that change comes within one of WITHIN parts of a step, at no more than
 * MOST_JUMPS of all nodes. */
static const double AT_ONCE = 0.5, MOST_JUMPS = 0.5;
enum { WITHIN = 8 };

typedef struct replay {
    const perp_plan *plan;
    double *amplitude; /* ns: the largest size of each state in the plan */
    double *w;         /* nW: the accurate motion */
    perp_integrator by;
    perp_plan_phase phase;
    double worst, off, unsure;
    double worth; /* of what is off at the end, to the cost */
    int state;
} replay;

/* State i at the end of step k. */
static double state_at(const perp_plan *plan, int i, int k)
{
    const perp__program *g = plan->program;
    return plan->w[(size_t)((g->npoint - 1) * g->nb + i) * (size_t)g->K + (size_t)k];
}

/* State i is this far from what it is in the plan. */
static void note(replay *u, int i, double off)
{
    double error = off / u->amplitude[i];
    if (off == 0 || error <= u->worst) return;
    u->worst = isfinite(error) ? error : (double)INFINITY;
    u->off = off;
    u->state = i;
}

static perp_status compare_row(void *context, long step, const double *row)
{
    replay *u = context;
    if (step == 0 || step % FINER != 0) return PERP_OK;
    int k = u->phase.first + (int)(step / FINER) - 1;
    for (int i = 0; i < u->plan->program->ns && k < u->phase.last; i++)
        note(u, i, fabs(row[1 + i] - state_at(u->plan, i, k)));
    return PERP_OK;
}

/* Chosen input j over the phase as a table of the model's copy; where it jumps, the middle. Returns
 * 0: memory. */
static int set_input(perp_model *m, const perp_plan *plan, perp_plan_phase q, int j)
{
    const perp__program *g = plan->program;
    int steps = q.last - q.first, n = steps * FINER + 1;
    double *time = malloc(2 * (size_t)n * sizeof *time), *value = time ? time + n : NULL;
    for (int i = 0; i < n && time; i++) {
        int k = q.first + i / FINER;
        double share = (double)(i % FINER) / FINER;
        value[i] =
            k < q.last ? perp__plan_input(plan, j, k, share) : perp__plan_input(plan, j, k - 1, 1);
        if (share == 0 && i > 0 && k < q.last)
            value[i] = 0.5 * (value[i] + perp__plan_input(plan, j, k - 1, 1));
        time[i] = k < q.last ? perp__program_time(g, plan->p, k) +
                                   share * perp__program_step(g, plan->p, k)
                             : q.to;
    }
    int ok = time && perp__item_set_table(&m->item[PERP_INPUT][g->input_item[j]], time, value, n,
                                          "the plan");
    free(time);
    return ok;
}

/* Through steps of different lengths. */
static perp_status advance(replay *u, perp_simulation *sim, perp_diag *diag)
{
    const perp_plan *plan = u->plan;
    const perp__program *g = plan->program;
    perp_status status = PERP_OK;
    for (int k = u->phase.first; k < u->phase.last && status == PERP_OK; k++) {
        double start = perp__program_time(g, plan->p, k), h = perp__program_step(g, plan->p, k);
        for (int i = 1; i <= FINER && status == PERP_OK; i++) {
            double to = i < FINER ? start + h * i / FINER : start + h;
            status = perp__run_until(sim, fmin(to, u->phase.to), NULL, diag);
        }
        for (int i = 0; i < g->ns && status == PERP_OK; i++)
            note(u, i, fabs(perp_simulation_state(sim, i) - state_at(plan, i, k)));
    }
    return status;
}

/* Simulate phase q from where it begins. PERP_ERR_NO_SOLUTION where the simulation stops. */
static perp_status replay_phase(replay *u, int q, perp_diag *diag)
{
    const perp__program *g = u->plan->program;
    perp_model *m = NULL;
    perp_simulation *sim = NULL;
    u->phase = perp_plan_get_phase(u->plan, q);
    double T = u->phase.to - u->phase.from, step = T / (u->phase.last - u->phase.first) / FINER;
    int is_even = g->mesh.base == g->K && !g->mesh.nrun;
    for (int k = u->phase.first; k < u->phase.last && !is_even; k++)
        step = fmax(step, perp__program_step(g, u->plan->p, k) / FINER);
    if (!(u->phase.from + step > u->phase.from)) return PERP_OK; /* of no length */
    perp_status status = perp_plan_phase_model(u->plan, q, &m, diag);
    for (int j = 0; j < g->nu && status == PERP_OK; j++)
        if (!set_input(m, u->plan, u->phase, j)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        perp_simulation_options o = perp_simulation_options_default(m);
        o.from = u->phase.from;
        o.to = u->phase.from + T * (1 + PERP_TOL_SAME); /* rounding must not cost the last step */
        o.step = step;
        o.integrator = u->by;
        o.theta = 0.5;
        status = perp_simulation_create(m, &o, &sim, diag);
    }
    if (status == PERP_OK)
        status = is_even ? perp__run_whole(sim, compare_row, u, diag) : advance(u, sim, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    return status;
}

/* The whole plan by an integrator; worst is infinite where the simulation stops, and why says
 * so. */
static perp_status replay_by(replay *u, perp_integrator by, perp_diag *why)
{
    perp_status status = PERP_OK;
    u->by = by;
    u->worst = u->off = 0;
    u->state = 0;
    for (int q = 0; q < u->plan->program->phase.n && status == PERP_OK; q++)
        status = replay_phase(u, q, why);
    if (status != PERP_OK) u->worst = (double)INFINITY;
    return status;
}

static int has_order_to_lose(const perp__program *g)
{
    return g->npair > 0 && g->npoint > 1;
}

/* Limit of the difference: the requested one, or a value that no plan of the system exceeds. */
static double much(const perp_plan *plan)
{
    if (plan->options.motion_tol > 0) return plan->options.motion_tol;
    return has_order_to_lose(plan->program) ? MUCH_AT_KINKS : MUCH;
}

static void say_different(const replay *u, perp_plan_outcome on_mesh, const perp_diag *why,
                          perp_diag *diag)
{
    const perp_model *m = u->plan->model;
    if (!diag) return;
    int is_accurate = u->by == PERP_RADAU7;
    perp__diag_append(diag, "%s: %s with these inputs by %s%s, ", m->source.name,
                      is_accurate ? "integrated" : "replayed", perp_integrator_name(u->by),
                      is_accurate ? "" : " at a quarter of the step");
    if (u->worst > DIVERGES && isfinite(u->worst))
        perp__diag_append(diag, "the motion diverges: ");
    else if (!isfinite(u->worst))
        perp__diag_append(diag, "the simulation ends before the plan:\n%s", perp_diag_text(why));
    if (isfinite(u->worst))
        perp__diag_append(diag, "'%s' differs by %.3g, %.3g times its largest size in the plan\n",
                          m->item[PERP_STATE][u->state].name, u->off, u->worst);
    perp__diag_append(
        diag,
        "%s: the plan holds on its mesh only (there: %s); more nodes, or %s, show whether "
        "there is such a motion\n",
        m->source.name, perp_plan_outcome_name(on_mesh),
        has_order_to_lose(u->plan->program) ? "phases that end where forces jump"
                                            : "a method of higher order");
}

static double off_at(const replay *u, int i, int k)
{
    return fabs(u->w[perp__plan_end(u->plan->program, i, k)] - state_at(u->plan, i, k));
}

/* What state i of the motion is at the ends of steps k - 1 to k + 1. */
static void range_beside(const replay *u, int i, int k, double *lo, double *hi)
{
    const perp__program *g = u->plan->program;
    *lo = *hi = u->w[perp__plan_end(g, i, k)];
    for (int j = k > 0 ? k - 1 : 0; j <= k + 1 && j < g->K; j++) {
        *lo = fmin(*lo, u->w[perp__plan_end(g, i, j)]);
        *hi = fmax(*hi, u->w[perp__plan_end(g, i, j)]);
    }
}

/* Does the motion jump within a step of the end of step k: is a good part of what state i changes
 * there changed at once? */
static int jumps_beside(const replay *u, const double *jump, int i, int k)
{
    int K = u->plan->program->K;
    double lo, hi, most = 0;
    range_beside(u, i, k, &lo, &hi);
    for (int j = k; j <= k + 1 && j < K; j++)
        most = fmax(most, jump[(size_t)i * (size_t)K + (size_t)j]);
    if (k > 0) most = fmax(most, jump[(size_t)i * (size_t)K + (size_t)k - 1]);
    return hi - lo > JUMPS * u->amplitude[i] && most >= AT_ONCE * (hi - lo);
}

/* If the motion of a model with pairs jumps, at an impact, the plan may do so a step earlier or
 * later. Beside a jump it lies between the values of the motion at the nodes around. A motion that
 * jumps nearly everywhere has no impacts but too few nodes. */
static perp_status compare_beside_jumps(replay *u, int finer, perp_diag *why)
{
    const perp__program *g = u->plan->program;
    double lo, hi, *jump = malloc((size_t)g->ns * (size_t)g->K * sizeof *jump);
    if (!jump) return PERP_ERR_MEMORY;
    perp_status status = perp__plan_integrate(u->plan, WITHIN * finer, 0, u->w, jump, why);
    u->worst = u->off = 0;
    for (int i = 0; i < g->ns && status == PERP_OK; i++) {
        int n = 0;
        for (int k = 0; k < g->K; k++) n += jumps_beside(u, jump, i, k);
        for (int k = 0; k < g->K; k++) {
            int is_free = n <= MOST_JUMPS * g->K && jumps_beside(u, jump, i, k);
            double x = state_at(u->plan, i, k);
            range_beside(u, i, k, &lo, &hi);
            note(u, i, is_free ? fmax(0, fmax(lo - x, x - hi)) : off_at(u, i, k));
        }
    }
    free(jump);
    return status;
}

/* By an accurate integration. What it is unsure by, one with steps half as long tells where a
 * tolerance was asked for. */
static perp_status integrate(replay *u, perp_diag *why)
{
    const perp_plan *plan = u->plan;
    const perp__program *g = plan->program;
    int finer = plan->options.method == PERP_PLAN_RADAU7 ? 2 : 1;
    replay half = *u;
    perp_status status = perp__plan_integrate(plan, finer, 0, u->w, NULL, why);
    u->by = PERP_RADAU7;
    u->worst = u->off = u->unsure = 0;
    for (int i = 0; i < g->ns && status == PERP_OK; i++)
        for (int k = 0; k < g->K; k++) note(u, i, off_at(u, i, k));
    if (status == PERP_OK && g->npair > 0 && u->worst > much(plan))
        status = compare_beside_jumps(u, finer, why);
    u->worth = 0;
    for (int i = 0; i < g->ns; i++)
        u->worth += fabs(plan->costate[(size_t)i * ((size_t)g->K + 1) + (size_t)g->K] *
                         (u->w[perp__plan_end(g, i, g->K - 1)] - state_at(plan, i, g->K - 1)));
    if (status != PERP_OK || !(plan->options.motion_tol > 0) || u->worst > DIVERGES) return status;
    double *once = malloc(plan->nW * sizeof *once);
    if (!once) return PERP_ERR_MEMORY;
    memcpy(once, u->w, plan->nW * sizeof *once);
    status = perp__plan_integrate(plan, 2 * finer, 0, u->w, NULL, why);
    half.worst = 0;
    for (int i = 0; i < g->ns && status == PERP_OK; i++)
        for (int k = 0; k < g->K; k++)
            note(&half, i, fabs(u->w[perp__plan_end(g, i, k)] - once[perp__plan_end(g, i, k)]));
    u->unsure = half.worst;
    u->worst += half.worst;
    free(once);
    return status;
}

/* By theta 1/2, which damps nothing; a plan by theta, by backward Euler. Where a model has pairs
 * theta may bounce off an impact. So there a second replay by backward Euler may stand for the
 * first, unless that diverged. */
static perp_status replay_both(replay *u, perp_diag *why)
{
    int is_weighted = u->plan->program->scheme.is_weighted;
    perp_status status = replay_by(u, is_weighted ? PERP_BACKWARD_EULER : PERP_THETA, why);
    int may_bounce = u->plan->program->npair > 0 && !is_weighted && u->worst <= DIVERGES;
    if (status == PERP_ERR_MEMORY || u->worst <= much(u->plan) || !may_bounce) return status;
    replay other = *u;
    status = replay_by(&other, PERP_BACKWARD_EULER, why);
    if (other.worst < u->worst) *u = other;
    return status;
}

/* By another method, and accurately where the plan's order asks for it or the other is far off. A
 * method that damps, with steps that are long for what grows, takes that for stable: where the
 * other motion diverges it is the one that counts. */
static perp_status measure(replay *u, perp_diag *why)
{
    const perp_plan *plan = u->plan;
    int is_fine =
        plan->options.motion_tol > 0 || plan->program->npoint > 1 || plan->program->npair == 0;
    perp_status status = replay_both(u, why);
    int diverges = status == PERP_OK && !(u->worst <= DIVERGES);
    if (status == PERP_ERR_MEMORY || diverges || (!is_fine && u->worst <= much(plan)))
        return status;
    replay accurate = *u;
    perp_diag stops = {0};
    perp_status other = integrate(&accurate, &stops);
    perp_diag_clear(&stops);
    if (other == PERP_OK) *u = accurate;
    return other == PERP_OK || other == PERP_ERR_MEMORY ? other : status;
}

void perp__plan_amplitudes(const perp_plan *plan, double *amplitude)
{
    const perp__program *g = plan->program;
    for (int i = 0; i < g->ns; i++) {
        amplitude[i] = fabs(perp__program_pre(g, plan->w, plan->p, i, 0));
        for (int k = 0; k < g->K; k++)
            amplitude[i] = fmax(amplitude[i], fabs(state_at(plan, i, k)));
        amplitude[i] = fmax(amplitude[i], PERP_PLAN_NOISE * g->unit.w[i]);
    }
}

/* Something is broken between two nodes: a condition, a range, a gap. */
static void say_broken(const perp_plan *plan, const perp__plan_gap *gap, perp_diag *diag)
{
    perp__refuse(
        diag, PERP_OK, perp__source_place(&plan->model->source, gap->at),
        "'%s' is broken by %.3g between nodes %d and %d, at t = %.6g, though not at them: "
        "the plan holds on its mesh only; more nodes, or a tolerance, show whether there is "
        "such a motion\n",
        gap->text, gap->off, gap->step + 1, gap->step + 2, gap->time);
}

/* 0: memory. */
static int judge_between(const perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    perp__plan_gap gap;
    if (!perp__plan_look_between(plan, NULL, NULL, &gap)) return 0;
    result->between = gap.error;
    if (gap.error <= (plan->options.motion_tol > 0 ? plan->options.motion_tol : MUCH_BETWEEN))
        return 1;
    say_broken(plan, &gap, diag);
    result->outcome = PERP_PLAN_FEASIBLE_ON_MESH;
    return 1;
}

perp_status perp__plan_replay(const perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const perp__program *g = plan->program;
    perp_diag why = {0};
    replay u = {.plan = plan, .worth = (double)NAN};
    if (plan->model->kind == PERP_DISCRETE || g->ns == 0) return PERP_OK;
    u.amplitude = malloc(((size_t)g->ns + plan->nW) * sizeof *u.amplitude);
    if (!u.amplitude) return PERP_ERR_MEMORY;
    u.w = u.amplitude + g->ns;
    perp__plan_amplitudes(plan, u.amplitude);
    perp_status status = measure(&u, &why);
    result->replay = u.worst;
    result->replay_state = u.state;
    result->replay_off = u.off;
    result->cost_error = u.worth;
    result->replay_by = perp_integrator_name(u.by);
    if (!(u.worst <= much(plan))) {
        say_different(&u, result->on_mesh, &why, diag);
        result->outcome = PERP_PLAN_FEASIBLE_ON_MESH;
    }
    perp_diag_clear(&why);
    free(u.amplitude);
    if (status == PERP_ERR_MEMORY || !judge_between(plan, result, diag)) return PERP_ERR_MEMORY;
    return PERP_OK;
}
