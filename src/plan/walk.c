/* Homotopy in a parameter of the model, such as a friction coefficient from 0: the relaxed program is solved at
 * one value after the other, each from the solution of the last, up to the model's own value. */

#include "plan/plan.h"

#include "model/plan_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Has parameter i a value of its own wherever the plan is? */
static int is_given_by_all_phases(const perp_plan *plan, int i)
{
    const perp__plan_block *b = plan->model->plan;
    int given = 0; /* once a phase, at most */
    for (int k = 0; k < b->nparam; k++) given += b->param[k].item == i;
    return b->nphase > 0 && given == b->nphase;
}

static void say(const perp_plan *plan, perp_diag *diag, const char *text)
{
    perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                 "'%s' %s and cannot walk\n", plan->options.homotopy, text);
}

/* The parameter's value in the model; NaN with a message if no homotopy in it is possible. */
static double value_of(const perp_plan *plan, perp_diag *diag)
{
    const perp_model *m = plan->model;
    const char *name = plan->options.homotopy, *fault = NULL;
    perp_symbol_kind kind;
    int i;
    if (!perp_model_find(m, name, &kind, &i) || kind != PERP_PARAM)
        fault = "is no parameter of the model";
    for (int k = 0; k < plan->program->nparam && !fault; k++)
        if (plan->program->param_item[k] == i) fault = "is free";
    if (!fault && m->item[kind][i].is_structural) fault = "sets the size of the model";
    if (!fault && is_given_by_all_phases(plan, i)) fault = "has a value of its own in every phase";
    if (!fault) return m->item[kind][i].value;
    say(plan, diag, fault);
    return (double)NAN;
}

perp_status perp__plan_create_easier(perp_plan *plan, perp_diag *diag)
{
    perp_plan_options o = plan->options;
    if (!o.homotopy || o.homotopy_steps == 0) return PERP_OK;
    double value = value_of(plan, diag);
    if (isnan(value)) return PERP_ERR_ARG;
    /* one step back; the easier plan takes those before it */
    double here = value - (value - o.homotopy_from) / o.homotopy_steps--;
    perp_status status = perp__model_clone(plan->model, &plan->easier_model);
    if (status == PERP_OK) status = perp_model_set(plan->easier_model, o.homotopy, here, diag);
    if (status == PERP_OK) status = perp_plan_create(plan->easier_model, &o, &plan->easier, diag);
    if (status == PERP_ERR_MODEL ||
        (status == PERP_OK && (plan->easier->nW != plan->nW || plan->easier->nP != plan->nP))) {
        say(plan, diag, "makes another problem on its way");
        status = PERP_ERR_ARG;
    }
    return status;
}

int perp__plan_start_easier(perp_plan *plan, int start)
{
    perp_plan *easier = plan->easier;
    if (!easier) return 0;
    easier->options.progress = plan->options.progress;
    easier->options.context = plan->options.context;
    easier->iterations = easier->stopped = 0;
    easier->has_guess = plan->has_guess;
    memcpy(easier->guess_w, plan->guess_w, plan->nW * sizeof *plan->guess_w);
    memcpy(easier->guess_p, plan->guess_p, plan->nP * sizeof *plan->guess_p);
    perp__plan_set_start(easier, start);
    perp__ipm_result run =
        perp__plan_run_homotopy(easier, start, easier->options.relaxation_min, 0);
    plan->iterations += easier->iterations;
    plan->stopped |= easier->stopped;
    if (!(run.infeasibility < 1e-3)) return 0;
    memcpy(plan->w, easier->w, plan->nW * sizeof *plan->w);
    memcpy(plan->p, easier->p, plan->nP * sizeof *plan->p);
    return 1;
}
