/* Mesh refinement for the first guess: with many nodes the relaxed program is first solved on a
 * mesh of an eighth of the steps. That solution, interpolated, is the initial guess on the full
 * mesh. */

#include "base/tol.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

enum { COARSE_FROM = 480, COARSER = 8 }; /* steps; with fewer, the plain guess is as quick */
enum { ROUGH_FROM = 16, ROUGHER = 4 };   /* of a start beside others (ladder.c) */

/* Stretch the coarse program's w over the fine one's steps: states along straight lines between
 * nodes, the rest step by step. */
static void stretch(const perp__program *fine, double *w, const perp__program *coarse,
                    const double *cw, const double *cp)
{
    for (int j = 0; j < fine->soft.w; j++) {
        int c = j / fine->nb, i = j % fine->nb, last = (fine->npoint - 1) * fine->nb + i;
        const double *from = cw + (size_t)(i < fine->nx ? last : j) * (size_t)coarse->K;
        double *to = w + (size_t)j * (size_t)fine->K;
        for (int k = 0; k < fine->K; k++) {
            double place = ((double)k + fine->scheme.c[c]) / fine->K * coarse->K;
            int step = (int)fmin(floor(place - PERP_TOL_WHOLE), coarse->K - 1);
            if (step < 0) step = 0;
            double share = fmin(1, place - step),
                   before = i < fine->nx ? perp__program_pre(coarse, cw, cp, i, step) : 0;
            to[k] = i < fine->nx ? before + share * (from[step] - before) : from[step];
            to[k] = fmax(fine->bound.wlo[(size_t)j * (size_t)fine->K + (size_t)k],
                         fmin(fine->bound.whi[(size_t)j * (size_t)fine->K + (size_t)k], to[k]));
        }
    }
}

static perp_status create(const perp_plan *plan, int steps, perp_plan **out)
{
    perp_plan_options o = plan->options;
    o.nodes = steps + 1;
    o.start = PERP_PLAN_START_MODEL;
    o.homotopy = NULL;
    perp_status status = perp_plan_create(plan->model, &o, out, NULL);
    /* other faults: no node at the required time */
    return status == PERP_ERR_MEMORY ? status : PERP_OK;
}

perp_status perp__plan_create_coarse(perp_plan *plan)
{
    if (plan->program->K < COARSE_FROM) return PERP_OK;
    return create(plan, plan->program->K / COARSER, &plan->coarse);
}

int perp__plan_may_be_coarse(const perp_plan *plan)
{
    const perp__program *g = plan->program;
    return g->K >= ROUGH_FROM && g->K < COARSE_FROM && g->mesh.base == g->K && !g->mesh.nrun;
}

perp_status perp__plan_create_rough(perp_plan *plan)
{
    return create(plan, plan->program->K / ROUGHER, &plan->rough);
}

int perp__plan_start_coarse(perp_plan *plan, perp_plan *coarse, int start)
{
    if (!coarse || coarse->program->np != plan->program->np) return 0;
    /* made for this start alone: from the model's guess, with what was set since */
    if (coarse == plan->rough) {
        perp__plan_keep_settings(coarse, plan);
        start = 0;
    }
    coarse->options.progress = plan->options.progress;
    coarse->options.context = plan->options.context;
    coarse->iterations = coarse->stopped = 0;
    perp__plan_set_start(coarse, start);
    perp__ipm_result run = perp__plan_run_homotopy(coarse, start, plan->options.relaxation_min, 0);
    plan->iterations += coarse->iterations;
    plan->stopped |= coarse->stopped;
    if (!(run.infeasibility < PERP_PLAN_USABLE)) return 0;
    stretch(plan->program, plan->w, coarse->program, coarse->w, coarse->p);
    memcpy(plan->p, coarse->p, plan->nP * sizeof *plan->p);
    return 1;
}
