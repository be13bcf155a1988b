/* How much less far does a block slide if it is pushed less hard? The gradient of where it ends by each push, going back through its motion, and what it is: of both sides,
 * or of one where pushes hold the block with all the friction there is, so that harder ones set it going and weaker ones change nothing. */

#include "perp/perp.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 20, COLUMNS = 5 };

static const char text[] = "param m = 1 \"kg\", bound = 2 \"N\"\n"
                           "input push \"N\"\n"
                           "state x = 0 \"m\", v = 0 \"m/s\"\n"
                           "var f \"N\"\n"
                           "der(x) = v\n"
                           "m*der(v) = push + f\n"
                           "-bound <= f <= bound perp v\n"
                           "simulate { to 2\n step 0.1\n method radau5 }\n";

/* The gradient by the pushes and what it is; where the block ends. */
static perp_derivative_kind go(perp_simulation *sim, double push, double gradient[STEPS],
                               double *end)
{
    double value[STEPS], weight[COLUMNS] = {0, 1};
    int input = 0;
    perp_derivative_kind kind = PERP_DERIVATIVE_NONE;
    perp_diag diag = {0};
    for (int k = 0; k < STEPS; k++) value[k] = push;
    const perp_run_stretch of = {.size = sizeof of,
                                 .steps = STEPS,
                                 .ninput = 1,
                                 .input = &input,
                                 .value = value,
                                 .kind = &kind};
    const perp_run_change by = {.value = gradient};
    perp_simulation_reset(sim);
    if (perp_simulation_vjp(sim, &of, weight, &by, &diag) != PERP_OK)
        printf("%s", perp_diag_text(&diag));
    *end = perp_simulation_state(sim, 0);
    perp_diag_clear(&diag);
    return kind;
}

int main(void)
{
    static const double pushes[] = {3, 2, 1};
    perp_model *model;
    perp_simulation *sim;
    int right = 0;
    if (perp_model_parse(text, strlen(text), "block.perp", &model, NULL) != PERP_OK) return 1;
    perp_simulation_options o = perp_simulation_options_default(model);
    o.ninput = PERP_ALL;
    if (perp_simulation_create(model, &o, &sim, NULL) != PERP_OK) return 1;
    for (int i = 0; i < 3; i++) {
        double gradient[STEPS], end;
        perp_derivative_kind kind = go(sim, pushes[i], gradient, &end);
        printf("pushed with %g N it ends at %.3f m; the first push moves that by %.4f m/N: %s\n",
               pushes[i], end, gradient[0], perp_derivative_kind_name(kind));
        right +=
            kind == (pushes[i] == 2 ? PERP_DERIVATIVE_INCREASE : PERP_DERIVATIVE_DIFFERENTIABLE);
    }
    perp_simulation_destroy(sim);
    perp_model_destroy(model);
    if (right == 3) printf("ok\n");
    return 0;
}
