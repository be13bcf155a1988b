/* Model predictive control: a pendulum on a cart with dry friction is caught and held upright. Every period the plan is moved on by a step, begins
 * where the system is, and is solved again from the last answer; its first force drives the system. Then once more with a single step towards that answer
 * each period (real-time iteration). The same plan made anew is timed beside it. */

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

/* How the force of a period is found: the plan is solved again, or taken one step towards that. */
typedef enum way { AGAIN, STEP, WAYS } way;

/* The force for the next period, so many steps after the last one; *time: what it took. 0: no plan; 2: there was no step, and the last answer goes on,
 * moved on in time, while the plan looks for other sides of its pairs. */
static int control(perp_plan *plan, const perp_simulation *sim, way how, int steps, double *F,
                   double *time)
{
    perp_plan_result r = {.size = sizeof r, .outcome = PERP_PLAN_LIMIT};
    double row[16], start = seconds();
    int ok = perp_plan_shift(plan, steps) == PERP_OK;
    for (int i = 0; i < STATES; i++)
        ok &= perp_plan_set_state(plan, i, perp_simulation_state(sim, i), NULL) == PERP_OK;
    if (how == STEP)
        ok = ok && perp_plan_iterate(plan, &r, NULL) == PERP_OK;
    else
        ok =
            ok && perp_plan_solve_again(plan, 0, &r, NULL) == PERP_OK && perp_plan_holds(r.outcome);
    *time = seconds() - start;
    perp_plan_row(plan, 1, row); /* t, states, f, F */
    *F = row[1 + STATES + 1];
    return !ok ? 0 : r.outcome == PERP_PLAN_LIMIT ? 2 : 1;
}

/* The same plan without what is known from before. */
static double solve_anew(perp_model *model, const perp_plan_options *o, const perp_simulation *sim)
{
    perp_plan *plan;
    perp_plan_result result = {.size = sizeof result};
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

/* The pole is caught and held; *anew, *taken: the time of each period, taken in order. 0: it is not. */
static int run(way how, perp_model *model, perp_model *other, double *anew, double *taken,
               perp_diag *diag)
{
    perp_plan *plan = NULL;
    perp_plan_result result = {.size = sizeof result};
    double F = 0;
    int none = 0;
    perp_plan_options o = perp_plan_options_default(model);
    o.replay = o.restarts = 0;
    o.threads = 1;
    perp_status status = perp_plan_create(model, &o, &plan, diag);
    if (status == PERP_OK) status = perp_plan_solve(plan, &result, diag);
    perp_simulation *sim = status == PERP_OK ? make_system(model, diag) : NULL;
    int ok = sim != NULL;
    perp_step_info info = {.size = sizeof info};
    for (int k = 0; k < PERIODS && ok; k++) {
        if (how == AGAIN) anew[k] = solve_anew(other, &o, sim);
        int answers = control(plan, sim, how, k > 0, &F, &taken[k]);
        none += answers > 1;
        ok = answers > 0 && perp_simulation_set_input(sim, 0, F) == PERP_OK &&
             perp_simulation_advance(sim, (k + 1) * period, &info, diag) == PERP_OK &&
             info.outcome == PERP_SOLVED;
        if (ok && k % 10 == 9)
            printf("%4.1f s: cart %7.4f m, angle %8.5f, force %7.3f N\n", (k + 1) * period,
                   perp_simulation_state(sim, 0), perp_simulation_state(sim, 2), F);
    }
    ok = ok && fabs(perp_simulation_state(sim, 2)) < 0.02;
    if (how == STEP) printf("%d of %d periods had no step\n", none, PERIODS);
    qsort(taken, PERIODS, sizeof *taken, by_size);
    perp_simulation_destroy(sim);
    perp_plan_destroy(plan);
    return ok;
}

static void print_rate(const char *of, const double *sorted)
{
    double median = sorted[PERIODS / 2], worst = sorted[PERIODS - 1];
    printf("%s: %.0f Hz, at worst %.0f Hz, %.1f times the median's time\n", of, 1 / median,
           1 / worst, worst / median);
}

int main(void)
{
    perp_diag diag = {0};
    perp_model *model = NULL, *other = NULL;
    double taken[WAYS][PERIODS] = {0}, anew[PERIODS] = {0};
    perp_status status = perp_model_parse(text, strlen(text), "pole", &model, &diag);
    if (status == PERP_OK) status = perp_model_parse(text, strlen(text), "pole", &other, &diag);
    int ok = status == PERP_OK;
    if (ok) ok = run(AGAIN, model, other, anew, taken[AGAIN], &diag);
    if (ok) printf("the same, one step a period:\n");
    if (ok) ok = run(STEP, model, other, anew, taken[STEP], &diag);
    if (ok) {
        qsort(anew, PERIODS, sizeof *anew, by_size);
        print_rate("one step", taken[STEP]);
        print_rate("solved again", taken[AGAIN]);
        print_rate("made anew", anew);
        printf("ok\n");
    }
    fputs(perp_diag_text(&diag), stderr);
    perp_model_destroy(model);
    perp_model_destroy(other);
    perp_diag_clear(&diag);
    return !ok;
}
