/* Model predictive control: a pendulum on a cart with dry friction is caught and held upright. Every period the plan is moved on by a step, begins
 * where the system is, and is solved again from the last answer; its first force drives the system. The same plan made anew is timed beside it. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char text[] =
    "param M = 1 \"kg\", m = 0.3 \"kg\", l = 0.5 \"m\", mu = 0.04, g = 9.81 \"m/s^2\"\n"
    "input F in [-20, 20] \"N\"\n"
    "state x = 0.3 in [-2, 2] \"m\", v = 0 \"m/s\", a = 0.3, w = 0 \"1/s\"\n"
    "var f \"N\"\n"
    "der(x) = v\n"
    "der(a) = w\n"
    "(M + m)*der(v) + m*l*(der(w)*cos(a) - w^2*sin(a)) = F + f\n"
    "l*der(w) + der(v)*cos(a) = g*sin(a)\n"
    "-mu*(M + m)*g <= f <= mu*(M + m)*g perp v\n"
    "plan {\n"
    "    horizon 1\n"
    "    nodes 21\n"
    "    minimize integral(x^2 + 10*a^2 + 0.1*v^2 + 0.1*w^2 + 0.01*F^2) + 10*end(x^2 + 10*a^2 + "
    "v^2 + w^2)\n"
    "}\n";

enum { STATES = 4, PERIODS = 80 };
static const double period = 0.05;

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a - *(const double *)b;
    return x < 0 ? -1 : x > 0;
}

/* The system itself: the model, simulated with small steps. */
static perp_simulation *make_system(const perp_model *model, perp_diag *diag)
{
    perp_simulation_options o = perp_simulation_options_default(model);
    perp_simulation *sim = NULL;
    o.to = PERIODS * period;
    o.step = 1e-3;
    o.ninput = PERP_ALL;
    return perp_simulation_create(model, &o, &sim, diag) == PERP_OK ? sim : NULL;
}

/* The force for the next period, so many steps after the last one; *time: what it took. 0: no plan. */
static int control(perp_plan *plan, const perp_simulation *sim, int steps, double *F, double *time)
{
    perp_plan_result result;
    double row[16], start = seconds();
    int ok = perp_plan_shift(plan, steps) == PERP_OK;
    for (int i = 0; i < STATES; i++)
        ok &= perp_plan_set_state(plan, i, perp_simulation_state(sim, i), NULL) == PERP_OK;
    ok = ok && perp_plan_solve_again(plan, 0, &result, NULL) == PERP_OK &&
         perp_plan_holds(result.outcome);
    *time = seconds() - start;
    perp_plan_row(plan, 1, row); /* t, states, f, F */
    *F = row[1 + STATES + 1];
    return ok;
}

/* The same plan without what is known from before. */
static double solve_anew(perp_model *model, const perp_plan_options *o, const perp_simulation *sim)
{
    perp_plan *plan;
    perp_plan_result result;
    double start = seconds();
    for (int i = 0; i < STATES; i++)
        perp_model_set(model, perp_simulation_column_name(sim, 1 + i),
                       perp_simulation_state(sim, i), NULL);
    if (perp_plan_create(model, o, &plan, NULL) == PERP_OK) {
        perp_plan_solve(plan, &result, NULL);
        perp_plan_destroy(plan);
    }
    return seconds() - start;
}

int main(void)
{
    perp_diag diag = {0};
    perp_model *model = NULL, *other = NULL;
    perp_plan *plan = NULL;
    perp_plan_result result;
    double again[PERIODS], anew[PERIODS], F = 0;
    perp_status status = perp_model_parse(text, strlen(text), "pole", &model, &diag);
    if (status == PERP_OK) status = perp_model_parse(text, strlen(text), "pole", &other, &diag);
    perp_plan_options o = perp_plan_options_default(model);
    o.replay = o.restarts = 0;
    o.threads = 1;
    if (status == PERP_OK) status = perp_plan_create(model, &o, &plan, &diag);
    if (status == PERP_OK) status = perp_plan_solve(plan, &result, &diag);
    perp_simulation *sim = status == PERP_OK ? make_system(model, &diag) : NULL;
    int ok = sim != NULL;
    for (int k = 0; k < PERIODS && ok; k++) {
        anew[k] = solve_anew(other, &o, sim);
        ok = control(plan, sim, k > 0, &F, &again[k]) &&
             perp_simulation_set_input(sim, 0, F) == PERP_OK &&
             perp_simulation_advance(sim, (k + 1) * period, NULL, &diag) == PERP_OK;
        if (ok && k % 10 == 9)
            printf("%4.1f s: cart %7.4f m, angle %8.5f, force %7.3f N\n", (k + 1) * period,
                   perp_simulation_state(sim, 0), perp_simulation_state(sim, 2), F);
    }
    if (ok) {
        qsort(again, PERIODS, sizeof *again, by_size);
        qsort(anew, PERIODS, sizeof *anew, by_size);
        printf("solved again: %.0f Hz, at worst %.0f; made anew: %.0f Hz, at worst %.0f\n",
               1 / again[PERIODS / 2], 1 / again[PERIODS - 1], 1 / anew[PERIODS / 2],
               1 / anew[PERIODS - 1]);
        ok = fabs(perp_simulation_state(sim, 2)) < 0.02;
        if (ok) printf("ok\n");
    }
    fputs(perp_diag_text(&diag), stderr);
    perp_simulation_destroy(sim);
    perp_plan_destroy(plan);
    perp_model_destroy(model);
    perp_model_destroy(other);
    perp_diag_clear(&diag);
    return !ok;
}
