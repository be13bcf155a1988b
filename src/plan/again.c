/* A plan that is solved again, in a control loop: from where the system is now, from the last
 * answer moved on in time, with its multipliers. Nothing is transcribed or allocated anew. */

#include "plan/plan.h"

#include <math.h>
#include <string.h>

/* Where the model is now ----------------------------------------------------------------------- */

static perp_status refuse_state(const perp_plan *plan, int state, const char *why, perp_diag *diag)
{
    return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name), "'%s' %s\n",
                        plan->model->item[PERP_STATE][state].name, why);
}

perp_status perp_plan_set_state(perp_plan *plan, int state, double value, perp_diag *diag)
{
    if (!plan || state < 0 || state >= plan->program->ns) return PERP_ERR_ARG;
    perp__program *g = plan->program;
    const perp__item *item = &plan->model->item[PERP_STATE][state];
    if (g->initial.p[state] >= 0)
        return refuse_state(plan, state, "is chosen by the plan where it begins", diag);
    if (!g->initial.given[state])
        return refuse_state(plan, state, "is given by a condition at the start", diag);
    if (!(value >= item->lo && value <= item->hi))
        return refuse_state(plan, state, "cannot begin there: it is outside of its range", diag);
    plan->again.is_stationary = 0;
    g->initial.x[state] = value;
    g->initial.is_set[state] = 1;
    perp_status status =
        plan->coarse ? perp_plan_set_state(plan->coarse, state, value, diag) : PERP_OK;
    for (int i = 0; i < plan->neasier && status == PERP_OK; i++)
        status = perp_plan_set_state(plan->easier[i], state, value, diag);
    return status;
}

perp_status perp_plan_set_parameter(perp_plan *plan, const char *name, double value,
                                    perp_diag *diag)
{
    if (!plan || !name || isinf(value)) return PERP_ERR_ARG;
    perp__program *g = plan->program;
    int i = 0;
    while (i < g->param.n && strcmp(perp_plan_free_name(plan, i), name) != 0) i++;
    if (i == g->param.n)
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                            "'%s' is no free parameter of the plan; one that is set between solves "
                            "has a line 'free %s' in the plan block\n",
                            name, name);
    size_t at = (size_t)(g->param.p + i);
    plan->again.is_stationary = 0;
    double *lo = &g->bound.plo[at], *hi = &g->bound.phi[at];
    if (isnan(g->param.lo[i])) {
        g->param.lo[i] = *lo;
        g->param.hi[i] = *hi;
    }
    if (isnan(value)) {
        *lo = g->param.lo[i];
        *hi = g->param.hi[i];
    } else if (!(value >= g->param.lo[i] && value <= g->param.hi[i])) {
        return perp__refuse(diag, PERP_ERR_ARG, perp__in(plan->model->source.name),
                            "'%s' = %g is outside of its range\n", name, value);
    } else {
        *lo = *hi = plan->p[at] = value;
    }
    perp_status status =
        plan->coarse ? perp_plan_set_parameter(plan->coarse, name, value, diag) : PERP_OK;
    for (int k = 0; k < plan->neasier && status == PERP_OK; k++)
        status = perp_plan_set_parameter(plan->easier[k], name, value, diag);
    return status;
}

void perp__plan_start_as(perp_plan *plan, const perp_plan *other)
{
    perp__program *g = plan->program;
    const perp__program *from = other->program;
    size_t n = (size_t)g->ns;
    memcpy(g->initial.x, from->initial.x, (size_t)g->nx * sizeof *g->initial.x);
    memcpy(g->initial.is_set, from->initial.is_set, n);
    memcpy(g->bound.plo, from->bound.plo, plan->nP * sizeof *g->bound.plo);
    memcpy(g->bound.phi, from->bound.phi, plan->nP * sizeof *g->bound.phi);
}

/* The model's values when the plan was made, or last looked at: states, then parameters. */
static double *seen_of(const perp_plan *plan, perp_symbol_kind kind)
{
    return plan->again.seen + (kind == PERP_STATE ? 0 : plan->model->nitem[PERP_STATE]);
}

void perp__plan_look(perp_plan *plan)
{
    static const perp_symbol_kind kinds[] = {PERP_STATE, PERP_PARAM};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < plan->model->nitem[kinds[k]]; i++)
            seen_of(plan, kinds[k])[i] = plan->model->item[kinds[k]][i].value;
}

perp_status perp__plan_follow_model(perp_plan *plan, perp_diag *diag)
{
    const perp_model *m = plan->model;
    perp_status status = PERP_OK;
    if (!plan->again.seen) return PERP_OK;
    for (int i = 0; i < m->nitem[PERP_PARAM]; i++) {
        const perp__item *item = &m->item[PERP_PARAM][i];
        if (item->value == seen_of(plan, PERP_PARAM)[i]) continue;
        return perp__refuse(
            diag, PERP_ERR_ARG, perp__in(m->source.name),
            "'%s' was set after the plan was made, which has its value of then; make the plan "
            "anew, or set it by perp_plan_set_parameter\n",
            item->name);
    }
    for (int i = 0; i < m->nitem[PERP_STATE] && status == PERP_OK; i++)
        if (m->item[PERP_STATE][i].value != seen_of(plan, PERP_STATE)[i])
            status = perp_plan_set_state(plan, i, m->item[PERP_STATE][i].value, diag);
    if (status == PERP_OK) perp__plan_look(plan);
    return status;
}

/* Starts --------------------------------------------------------------------------------------- */

/* The entries of one unknown or row at all steps, `steps` earlier. The last one is repeated. */
static void shift(double *x, size_t K, size_t steps)
{
    double last = x[K - 1];
    memmove(x, x + steps, (K - steps) * sizeof *x);
    for (size_t k = K - steps; k < K; k++) x[k] = last;
}

static void shift_answer(const perp_plan *plan, const perp__answer *at, size_t steps)
{
    size_t K = (size_t)plan->program->K;
    double *const of_w[] = {at->w, at->lower, at->upper};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < plan->program->nw; j++) shift(of_w[i] + (size_t)j * K, K, steps);
    for (int j = 0; j < plan->program->nrow; j++) shift(at->lambda + (size_t)j * K, K, steps);
}

perp_status perp_plan_shift(perp_plan *plan, int steps)
{
    if (!plan || steps < 0 || steps > plan->program->K || !plan->again.has_answer)
        return PERP_ERR_ARG;
    if (plan->program->mesh.base != plan->program->K) return PERP_ERR_ARG;
    size_t K = (size_t)plan->program->K, n = (size_t)steps < K ? (size_t)steps : K - 1;
    plan->again.is_stationary = 0;
    perp__answer now = {plan->w, plan->p, plan->lambda, plan->lower, plan->upper};
    shift_answer(plan, &now, n);
    if (plan->again.search.is_on) shift_answer(plan, &plan->again.search.at, n);
    return PERP_OK;
}

perp_status perp_plan_set_guess_row(perp_plan *plan, int node, const double *row)
{
    if (!plan || !row || node < 0 || node > plan->program->K) return PERP_ERR_ARG;
    const perp__program *g = plan->program;
    for (int i = 0; i < g->ns + g->nv + g->nu; i++)
        if (isinf(row[1 + i])) return PERP_ERR_ARG;
    size_t K = (size_t)g->K, k = (size_t)(node > 0 ? node - 1 : 0);
    int inputs = 1 + g->ns + g->nv;
    if (!plan->has_guess) {
        memcpy(plan->guess.w, plan->initial.w, plan->nW * sizeof *plan->guess.w);
        memcpy(plan->guess.p, plan->initial.p, plan->nP * sizeof *plan->guess.p);
    }
    plan->has_guess = PERP__GUESS_IN_ROWS;
    for (int i = 0; i < g->ns && node == 0; i++)
        if (g->initial.p[i] >= 0 && isfinite(row[1 + i]))
            plan->guess.p[g->initial.p[i]] = row[1 + i];
    for (int c = 0; c < g->npoint && node > 0; c++) {
        double *w = plan->guess.w + (size_t)(c * g->nb) * K;
        for (int i = 0; i < g->ns; i++) {
            double before = perp__program_pre(g, plan->guess.w, plan->guess.p, i, (int)k),
                   x = row[1 + i];
            if (isfinite(x)) w[(size_t)i * K + k] = before + g->scheme.c[c] * (x - before);
        }
        for (int i = 0; i < g->nv; i++)
            if (isfinite(row[1 + g->ns + i])) w[(size_t)(g->nx + i) * K + k] = row[1 + g->ns + i];
        for (int i = 0; i < g->nu; i++)
            if (isfinite(row[inputs + i]))
                w[(size_t)(g->nx + g->nv + g->nsplit + i) * K + k] = row[inputs + i];
    }
    return PERP_OK;
}

/* From the last answer: by a search of so many iterations, or one step. */
static perp_status go_on(perp_plan *plan, int max_iter, perp_plan_result *result, perp_diag *diag,
                         int (*run)(perp_plan *plan, perp_plan_result *result))
{
    perp_status status = perp__plan_follow_model(plan, diag);
    if (status != PERP_OK) return status;
    perp_plan_result own = {.outcome = PERP_PLAN_LIMIT, .starts = 1, .replay = (double)NAN};
    plan->iterations = plan->stopped = plan->attempt.n = 0;
    plan->again.budget = max_iter;
    int ok = run(plan, &own);
    plan->again.budget = 0;
    if (ok) {
        own.on_mesh = own.outcome;
        plan->again.is_stationary = own.outcome <= PERP_PLAN_STATIONARY_B;
        own.iterations = plan->iterations;
    }
    perp__result_give(result, &own, sizeof own);
    return ok ? PERP_OK : PERP_ERR_MEMORY;
}

perp_status perp_plan_solve_again(perp_plan *plan, int max_iter, perp_plan_result *result,
                                  perp_diag *diag)
{
    if (!plan || !result || !PERP__FITS(result) || !plan->again.has_answer || max_iter < 0)
        return PERP_ERR_ARG;
    plan->again.search.is_on = 0;
    return go_on(plan, max_iter, result, diag, perp__plan_run_again);
}

perp_status perp_plan_iterate(perp_plan *plan, perp_plan_result *result, perp_diag *diag)
{
    if (!plan || !result || !PERP__FITS(result) || !plan->again.has_answer) return PERP_ERR_ARG;
    if (plan->program->has.guards)
        return perp__refuse(diag, PERP_ERR_MODEL, perp__in(plan->model->source.name),
                            "a plan with pairs that 'when' switches takes no single steps; "
                            "perp_plan_solve_again solves it\n");
    return go_on(plan, 0, result, diag, perp__plan_run_step);
}
