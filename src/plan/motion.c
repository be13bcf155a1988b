/* The motion of a plan's inputs, by the simulator's method of highest order, with the inputs
 * between nodes by their rule. It ends its steps at events and at non-differentiable points of the
 * inputs. */

#include "base/tol.h"
#include "plan/plan.h"
#include "perp/simulate.h"
#include "simulate/stepping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an integration goes on from. */
typedef struct integration {
    const perp_plan *plan;
    double *w; /* the plan's, with the states of the motion at the ends of steps */
    int finer; /* steps in one of the plan, or PERP__AT_POINTS */
    int from_nodes;
    double
        *jump; /* ns * K: how much a state changes within one of these steps, at most; nullable */
} integration;

size_t perp__plan_end(const perp__program *g, int i, int k)
{
    return (size_t)((g->npoint - 1) * g->nb + i) * (size_t)g->K + (size_t)k;
}

/* Chosen input j over phase q as a table of the model's copy: pieces through the points of each
 * step, or, by theta, straight lines between nodes. One more piece follows after the end, for
 * evaluations there (events.c). Returns 0: memory. */
static int set_input(perp_model *m, const perp_plan *plan, perp_plan_phase q, int j)
{
    const perp__program *g = plan->program;
    int is_straight = g->scheme.is_weighted, points = perp_plan_holds_inputs(plan) ? 1 : g->npoint;
    int steps = q.last - q.first, n = 1 + points * (steps + 1), at = g->nx + g->nv + g->nsplit + j;
    double *time = malloc(2 * (size_t)n * sizeof *time), *value = time ? time + n : NULL;
    for (int i = 0; i < n && time; i++) {
        int k = q.first + (i > 0 ? (i - 1) / points : 0), c = i > 0 ? (i - 1) % points : 0;
        int point = points == 1 ? g->npoint - 1 : c, is_behind = k == q.last;
        if (is_behind) k--;
        double h = perp__program_step(g, plan->p, k),
               start = perp__program_time(g, plan->p, k) + is_behind * h;
        time[i] = i > 0 ? start + g->scheme.c[point] * h : start;
        if (is_behind) {
            value[i] = value[points * steps];
            continue;
        }
        value[i] = plan->w[(size_t)(point * g->nb + at) * (size_t)g->K + (size_t)k];
    }
    if (time && is_straight) value[0] = perp__program_pre(g, plan->w, plan->p, g->ns + j, q.first);
    int ok = time && perp__item_set_pieces(&m->item[PERP_INPUT][g->input_item[j]], time, value, n,
                                           is_straight ? 0 : points, "the plan");
    free(time);
    return ok;
}

static void note_jump(const integration *u, int i, int k, double change)
{
    double *most = &u->jump[(size_t)i * (size_t)u->plan->program->K + (size_t)k];
    *most = fmax(*most, fabs(change));
}

/* Step k, from where the simulation is or from the plan's node. */
static perp_status take_step(const integration *u, perp_simulation *sim, int k, perp_diag *diag)
{
    const perp__program *g = u->plan->program;
    const double *p = u->plan->p;
    perp_status status = PERP_OK;
    double start = perp__program_time(g, p, k), h = perp__program_step(g, p, k);
    int is_first = k == g->phase.first[perp__program_phase(g, k)];
    for (int i = 0; i < g->ns && u->from_nodes && !is_first; i++)
        perp_simulation_set_state(sim, i, perp__program_pre(g, u->plan->w, p, i, k));
    int n = u->finer == PERP__AT_POINTS ? g->npoint : u->finer;
    for (int i = 1; i <= n && status == PERP_OK; i++) {
        double share = u->finer == PERP__AT_POINTS ? g->scheme.c[i - 1] : (double)i / n;
        for (int j = 0; j < g->ns && u->jump; j++) /* kept where the end of the step will be */
            u->w[perp__plan_end(g, j, k)] = perp_simulation_state(sim, j);
        status = perp__run_until(sim, i < n ? start + h * share : start + h, NULL, diag);
        for (int j = 0; j < g->ns && u->jump; j++)
            note_jump(u, j, k, perp_simulation_state(sim, j) - u->w[perp__plan_end(g, j, k)]);
        for (int j = 0; j < g->ns + g->nv && status == PERP_OK && u->finer == PERP__AT_POINTS; j++)
            u->w[(size_t)((i - 1) * g->nb + (j < g->ns ? j : j - g->ns + g->nx)) * (size_t)g->K +
                 (size_t)k] = perp_simulation_value(sim, 1 + j);
    }
    for (int i = 0; i < g->ns && status == PERP_OK; i++)
        u->w[perp__plan_end(g, i, k)] = perp_simulation_state(sim, i);
    return status;
}

static perp_status integrate_phase(const integration *u, int q, perp_diag *diag)
{
    const perp__program *g = u->plan->program;
    const double *p = u->plan->p;
    perp_plan_phase phase = perp_plan_get_phase(u->plan, q);
    perp_model *m = NULL;
    perp_simulation *sim = NULL;
    double longest = 0;
    for (int k = phase.first; k < phase.last; k++)
        longest = fmax(longest, perp__program_step(g, p, k));
    if (!(phase.from + longest > phase.from)) { /* of no length */
        for (int k = phase.first; k < phase.last; k++)
            for (int i = 0; i < g->ns; i++)
                u->w[perp__plan_end(g, i, k)] = perp__program_pre(g, u->w, p, i, k);
        return PERP_OK;
    }
    perp_status status =
        perp__plan_phase_model(u->plan, u->from_nodes ? u->plan->w : u->w, q, &m, diag);
    for (int j = 0; j < g->nu && status == PERP_OK; j++)
        if (!set_input(m, u->plan, phase, j)) status = PERP_ERR_MEMORY;
    if (status == PERP_OK) {
        perp_simulation_options o = perp_simulation_options_default(m);
        o.from = phase.from;
        o.to = phase.to;
        o.step = u->finer == PERP__AT_POINTS ? longest : longest / u->finer;
        o.integrator = PERP_RADAU7;
        status = perp_simulation_create(m, &o, &sim, diag);
    }
    for (int k = phase.first; k < phase.last && status == PERP_OK; k++)
        status = take_step(u, sim, k, diag);
    perp_simulation_destroy(sim);
    perp_model_destroy(m);
    return status;
}

perp_status perp__plan_integrate(const perp_plan *plan, int finer, int from_nodes, double *w,
                                 double *jump, perp_diag *diag)
{
    integration u = {plan, w, finer, from_nodes, jump};
    perp_status status = PERP_OK;
    size_t njump = (size_t)plan->program->ns * (size_t)plan->program->K;
    if (jump) memset(jump, 0, njump * sizeof *jump);
    memcpy(w, plan->w, plan->nW * sizeof *w);
    for (int q = 0; q < plan->program->phase.n && status == PERP_OK; q++)
        status = integrate_phase(&u, q, diag);
    return status;
}
