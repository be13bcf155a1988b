/* A plan simulated with the inputs found by another method on a finer grid: whether its motion is that of
 * the system, or of its mesh only. */

#include "base/tol.h"
#include "model/plan_block.h"
#include "plan/plan.h"
#include "perp/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINER = 4 }; /* steps of the simulation in one of the plan */

/* Differences of a state, relative to its largest size. MUCH: the plan is not a motion of the system. MUCH_AT_KINKS: the
 * same for higher-order methods with pairs, which lose their order in steps across an event and may cost less than any
 * motion. DIVERGES: more than any impact makes; the replay itself has failed. */
static const double MUCH = 0.1, MUCH_AT_KINKS = 0.02, DIVERGES = 10;

/* A state that is less than this of its unit throughout is taken for rounding. */
static const double NOISE = 1e-9;

typedef struct replay {
    const perp_plan *plan;
    const double *amplitude; /* ns: the largest size of each state in the plan */
    perp_integrator by;
    perp_plan_phase phase;
    double worst, off;
    int state;
} replay;

/* State i at the end of step k. */
static double state_at(const perp_plan *plan, int i, int k)
{
    const perp__program *g = plan->program;
    return plan->w[(size_t)((g->npoint - 1) * g->nb + i) * (size_t)g->K + (size_t)k];
}

static perp_status compare_row(void *context, long step, const double *row)
{
    replay *u = context;
    if (step == 0 || step % FINER != 0) return PERP_OK;
    int k = u->phase.first + (int)(step / FINER) - 1;
    for (int i = 0; i < u->plan->program->ns && k < u->phase.last; i++) {
        double off = fabs(row[1 + i] - state_at(u->plan, i, k)), error = off / u->amplitude[i];
        if (off == 0 || error <= u->worst) continue;
        u->worst = isfinite(error) ? error : (double)INFINITY;
        u->off = off;
        u->state = i;
    }
    return PERP_OK;
}

/* Chosen input j a share of the way through step k: held, straight, or the polynomial of its points. */
static double input_at(const perp_plan *plan, int j, int k, double share)
{
    const perp__program *g = plan->program;
    size_t K = (size_t)g->K, at = (size_t)(g->nx + g->nv + g->nsplit + j);
    const double *w = plan->w;
    if (perp_plan_holds_inputs(plan))
        return w[((size_t)((g->npoint - 1) * g->nb) + at) * K + (size_t)k];
    if (g->nx > g->ns) {
        double before = perp__program_pre(g, w, plan->p, g->ns + j, k);
        return before + share * (w[at * K + (size_t)k] - before);
    }
    double value[PERP__MOST_POINTS];
    for (int c = 0; c < g->npoint; c++) value[c] = w[((size_t)(c * g->nb) + at) * K + (size_t)k];
    return perp__scheme_between(&g->scheme, value, share);
}

/* Chosen input j over the phase as a table of the model's copy; where it jumps, the middle. 0: memory. */
static int set_input(perp_model *m, const perp_plan *plan, perp_plan_phase q, int j)
{
    const perp__program *g = plan->program;
    int steps = q.last - q.first, n = steps * FINER + 1;
    double *time = malloc(2 * (size_t)n * sizeof *time), *value = time ? time + n : NULL;
    for (int i = 0; i < n && time; i++) {
        int k = q.first + i / FINER;
        double share = (double)(i % FINER) / FINER;
        value[i] = k < q.last ? input_at(plan, j, k, share) : input_at(plan, j, k - 1, 1);
        if (share == 0 && i > 0 && k < q.last)
            value[i] = 0.5 * (value[i] + input_at(plan, j, k - 1, 1));
        time[i] = q.from + (q.to - q.from) * i / (n - 1);
    }
    int ok = time && perp__item_set_table(&m->item[PERP_INPUT][g->input_item[j]], time, value, n,
                                          "the plan");
    free(time);
    return ok;
}

/* Simulate phase q from where it begins. PERP_ERR_NO_SOLUTION where the simulation stops. */
static perp_status replay_phase(replay *u, int q, perp_diag *diag)
{
    const perp__program *g = u->plan->program;
    perp_model *m = NULL;
    perp_simulation *sim = NULL;
    u->phase = perp_plan_get_phase(u->plan, q);
    double T = u->phase.to - u->phase.from, step = T / (u->phase.last - u->phase.first) / FINER;
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
    if (status == PERP_OK) status = perp_simulation_run(sim, compare_row, u, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    return status;
}

/* The whole plan by an integrator; worst is infinite where the simulation stops, and why says so. */
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

static double much(const perp__program *g)
{
    return has_order_to_lose(g) ? MUCH_AT_KINKS : MUCH;
}

static void say_different(const replay *u, perp_plan_outcome on_mesh, const perp_diag *why,
                          perp_diag *diag)
{
    const perp_model *m = u->plan->model;
    perp__diag_append(diag, "%s: replayed with these inputs by %s at a quarter of the step, ",
                      m->source.name, perp_integrator_name(u->by));
    if (u->worst > DIVERGES && isfinite(u->worst))
        perp__diag_append(diag, "the motion diverges: ");
    else if (!isfinite(u->worst))
        perp__diag_append(diag, "the simulation ends before the plan:\n%s", perp_diag_text(why));
    if (isfinite(u->worst))
        perp__diag_append(diag, "'%s' is off by %.3g, %.3g times its largest size in the plan\n",
                          m->item[PERP_STATE][u->state].name, u->off, u->worst);
    perp__diag_append(
        diag,
        "%s: the plan holds on its mesh only (there: %s); more nodes, or %s, show whether "
        "there is such a motion\n",
        m->source.name, perp_plan_outcome_name(on_mesh),
        has_order_to_lose(u->plan->program) ? "phases that end where forces jump"
                                            : "a method of higher order");
}

/* By theta 1/2, which damps nothing; a plan by theta, by backward Euler. Where a model has pairs theta may
 * bounce off an impact, so there a second replay by backward Euler may stand for the first, unless that
 * diverged. */
static perp_status replay_both(replay *u, perp_diag *why)
{
    int is_weighted = u->plan->program->scheme.is_weighted;
    perp_status status = replay_by(u, is_weighted ? PERP_BACKWARD_EULER : PERP_THETA, why);
    int may_bounce = u->plan->program->npair > 0 && !is_weighted && u->worst <= DIVERGES;
    if (status == PERP_ERR_MEMORY || u->worst <= much(u->plan->program) || !may_bounce)
        return status;
    replay other = *u;
    status = replay_by(&other, PERP_BACKWARD_EULER, why);
    if (other.worst < u->worst) *u = other;
    return status;
}

perp_status perp__plan_replay(const perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    const perp__program *g = plan->program;
    perp_diag why = {0};
    replay u = {.plan = plan};
    if (plan->model->kind == PERP_DISCRETE || g->ns == 0) return PERP_OK;
    double *amplitude = calloc((size_t)g->ns, sizeof *amplitude);
    if (!amplitude) return PERP_ERR_MEMORY;
    for (int i = 0; i < g->ns; i++) {
        amplitude[i] = fabs(perp__program_pre(g, plan->w, plan->p, i, 0));
        for (int k = 0; k < g->K; k++)
            amplitude[i] = fmax(amplitude[i], fabs(state_at(plan, i, k)));
        amplitude[i] = fmax(amplitude[i], NOISE * g->unit.w[i]);
    }
    u.amplitude = amplitude;
    perp_status status = replay_both(&u, &why);
    result->replay = u.worst;
    result->replay_state = u.state;
    result->replay_off = u.off;
    result->replay_by = perp_integrator_name(u.by);
    if (!(u.worst <= much(g))) {
        say_different(&u, result->on_mesh, &why, diag);
        result->outcome = PERP_PLAN_FEASIBLE_ON_MESH;
    }
    perp_diag_clear(&why);
    free(amplitude);
    return status == PERP_ERR_MEMORY ? status : PERP_OK;
}
