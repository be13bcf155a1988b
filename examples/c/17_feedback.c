/* Feedback along a plan: a pole on a cart is swung up. The plan is made once; at each of its nodes the loop asks what force the state as it is calls
 * for. The pole begins off by a few degrees, which the plan's own forces do not forgive. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "param M = 1 \"kg\", m = 0.3 \"kg\", l = 0.5 \"m\", g = 9.81 \"m/s^2\"\n"
    "input F in [-20, 20] \"N\"\n"
    "state x = 0 in [-2, 2] \"m\", a = 3.141592653589793, v = 0 \"m/s\", w = 0 \"1/s\"\n"
    "der(x) = v\n"
    "der(a) = w\n"
    "(M + m)*der(v) + m*l*(der(w)*cos(a) - w^2*sin(a)) = F\n"
    "l*der(w) + der(v)*cos(a) = g*sin(a)\n"
    "plan {\n"
    "    horizon 2\n"
    "    nodes 41\n"
    "    method radau5\n"
    "    inputs held\n"
    "    minimize integral(F^2)\n"
    "    at end: x = 0, a = 0, v = 0, w = 0\n"
    "}\n";

enum { STATES = 4, STEPS = 40 };
static const double period = 0.05, off = 0.05;

/* The system itself: the pole is off by so much where it begins. */
static perp_simulation *make_system(const perp_model *model, perp_diag *diag)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim = NULL;
    o.to = STEPS * period;
    o.step = 0.01;
    o.integrator = PERP_RADAU5;
    o.ninput = PERP_ALL;
    if (perp_simulation_create(model, &o, &sim, diag) != PERP_OK) return NULL;
    perp_simulation_set_state(sim, 1, perp_simulation_state(sim, 1) + off);
    return sim;
}

/* The user's loop, with or without feedback: where the pole ends. */
static int run(const perp_model *model, const perp_plan *plan, int with_feedback, double *angle,
               perp_diag *diag)
{
    perp_simulation *sim = make_system(model, diag);
    int ok = sim != NULL;
    perp_step_info info = {.size = sizeof info};
    for (int k = 0; k < STEPS && ok; k++) {
        double row[16], x[STATES], F;
        for (int i = 0; i < STATES; i++) x[i] = perp_simulation_state(sim, i);
        perp_plan_row(plan, k + 1, row); /* t, states, F */
        F = row[1 + STATES];
        if (with_feedback) ok = perp_plan_feedback(plan, k * period + 1e-9, x, &F) == PERP_OK;
        ok = ok && perp_simulation_set_input(sim, 0, F) == PERP_OK &&
             perp_simulation_advance(sim, (k + 1) * period, &info, diag) == PERP_OK &&
             info.outcome == PERP_SOLVED;
    }
    if (ok) *angle = perp_simulation_state(sim, 1);
    perp_simulation_destroy(sim);
    return ok;
}

int main(void)
{
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_plan *plan = NULL;
    perp_plan_result result = {.size = sizeof result};
    double gain[STATES], open = 0, closed = 0;
    perp_status status = perp_model_parse(text, strlen(text), "pole", &model, &diag);
    if (status == PERP_OK) status = perp_plan_create(model, NULL, &plan, &diag);
    if (status == PERP_OK) status = perp_plan_solve(plan, &result, &diag);
    if (status == PERP_OK) status = perp_plan_find_gains(plan, NULL, &diag);
    int ok = status == PERP_OK && perp_plan_get_gain(plan, 0, gain, NULL, NULL) == PERP_OK;
    if (ok) printf("plan: %s, cost %.4f\n", perp_plan_outcome_name(result.outcome), result.cost);
    if (ok)
        printf("gains of the first step: %.2f N/m, %.2f N, %.2f N s/m, %.2f N s\n", gain[0],
               gain[1], gain[2], gain[3]);
    ok = ok && run(model, plan, 0, &open, &diag) && run(model, plan, 1, &closed, &diag);
    if (ok)
        printf("off by %.2f at first: %.2f at the end, with feedback %.4f\n", off, open, closed);
    ok = ok && fabs(closed) < 0.1 * fabs(open);
    if (ok) printf("ok\n");
    fputs(perp_diag_text(&diag), stderr);
    perp_plan_destroy(plan);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return !ok;
}
