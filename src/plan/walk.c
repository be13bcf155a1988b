/* Homotopy in a parameter of the model, such as a friction coefficient from 0. The relaxed program
 * is solved at one value after the other, each from the last solution, up to the model's own
 * value. */

#include "base/tol.h"
#include "plan/plan.h"

#include "model/plan_block.h"

#include <math.h>
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
    for (int k = 0; k < plan->program->param.n && !fault; k++)
        if (plan->program->param.item[k] == i) fault = "is free";
    if (!fault && m->item[kind][i].is_structural) fault = "sets the size of the model";
    if (!fault && is_given_by_all_phases(plan, i)) fault = "has a value of its own in every phase";
    if (!fault) return m->item[kind][i].value;
    say(plan, diag, fault);
    return (double)NAN;
}

static void copy_point(perp_plan *to, const perp_plan *from)
{
    memcpy(to->w, from->w, to->nW * sizeof *to->w);
    memcpy(to->p, from->p, to->nP * sizeof *to->p);
}

/* A plan with the parameter at a value. */
static perp_status create_at(perp_plan *plan, double value, perp_plan **out, perp_diag *diag)
{
    perp_plan_options o = plan->options;
    perp_model *model = NULL;
    perp_status status = perp__model_clone(plan->model, &model);
    if (status == PERP_OK) status = perp_model_set(model, o.homotopy, value, diag);
    o.homotopy = NULL;
    if (status == PERP_OK) status = perp_plan_create(model, &o, out, diag);
    if (*out)
        (*out)->own_model = model;
    else
        perp_model_destroy(model);
    if (status == PERP_ERR_MODEL ||
        (status == PERP_OK && ((*out)->nW != plan->nW || (*out)->nP != plan->nP))) {
        say(plan, diag, "makes another problem on its way");
        status = PERP_ERR_ARG;
    }
    return status;
}

perp_status perp__plan_create_easier(perp_plan *plan, perp_diag *diag)
{
    const perp_plan_options *o = &plan->options;
    if (!o->homotopy || o->homotopy_steps == 0) return PERP_OK;
    double value = value_of(plan, diag);
    perp_status status = isnan(value) ? PERP_ERR_ARG : PERP_OK;
    if (!PERP_TAKE(&plan->arena, plan->easier, o->homotopy_steps)) return PERP_ERR_MEMORY;
    for (int k = o->homotopy_steps; k > 0 && status == PERP_OK; k--) {
        value -= (value - o->homotopy_from) / k;
        status = create_at(plan, value, &plan->easier[plan->neasier++], diag);
    }
    return status;
}

/* One value after the other, each from the solution of the one before, or from its own start where
 * that has none. */
int perp__plan_start_easier(perp_plan *plan, int start)
{
    const perp_plan *from = NULL;
    int iterations = 0, stopped = 0;
    for (int k = plan->neasier - 1; k >= 0; k--) {
        perp_plan *easier = plan->easier[k];
        easier->options.progress = plan->options.progress;
        easier->options.context = plan->options.context;
        easier->iterations = iterations;
        easier->has_guess = plan->has_guess;
        memcpy(easier->guess.w, plan->guess.w, plan->nW * sizeof *plan->guess.w);
        memcpy(easier->guess.p, plan->guess.p, plan->nP * sizeof *plan->guess.p);
        if (from)
            copy_point(easier, from);
        else
            perp__plan_set_start(easier, start);
        easier->stopped = stopped;
        perp__ipm_result run =
            perp__plan_run_homotopy(easier, start, easier->options.relaxation_min, 0);
        iterations = easier->iterations;
        stopped |= easier->stopped;
        from = run.infeasibility < PERP_PLAN_USABLE ? easier : NULL;
    }
    plan->iterations += iterations;
    plan->stopped |= stopped;
    if (from) copy_point(plan, from);
    return from != NULL;
}
