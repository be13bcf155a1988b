/* Plan a motion from C: a cart with dry friction is moved 1 m in 2 s with the least effort. */

#include "perp/perp.h"

#include <stdio.h>
#include <string.h>

static const char text[] = "model cart\n"
                           "param m = 1 \"kg\", friction = 2 \"N\"\n"
                           "input F in [-20, 20] \"N\"\n"
                           "state x = 0 \"m\", v = 0 \"m/s\"\n"
                           "var f \"N\"\n"
                           "der(x) = v\n"
                           "m*der(v) = F + f\n"
                           "-friction <= f <= friction perp v\n"
                           "plan {\n"
                           "    horizon 2\n"
                           "    nodes 21\n"
                           "    minimize integral(F^2)\n"
                           "    at end: x = 1, v = 0\n"
                           "}\n";

int main(void)
{
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_plan *plan = NULL;
    perp_plan_result result = {.size = sizeof result};
    perp_status status = perp_model_parse(text, strlen(text), "cart", &model, &diag);
    if (status == PERP_OK) {
        perp_plan_options options = perp_plan_options_default(model);
        status = perp_plan_create(model, &options, &plan, &diag);
    }
    if (status == PERP_OK) status = perp_plan_solve(plan, &result, &diag);
    if (status != PERP_OK) {
        fputs(perp_diag_text(&diag), stderr);
    } else {
        double row[8]; /* t, x, v, f, F, residual, costates */
        printf("%s: effort %.6f, pairs hold to %.0e\n   t      x      v      F\n",
               perp_plan_outcome_name(result.outcome), result.cost, result.complementarity);
        for (int k = 0; k < perp_plan_rows(plan); k += 4) {
            perp_plan_row(plan, k, row);
            printf("%5.2f %6.3f %6.3f %6.3f\n", row[0], row[1], row[2], row[4]);
        }
        if (result.outcome <= PERP_PLAN_STATIONARY_S) printf("ok\n");
    }
    perp_plan_destroy(plan);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return status != PERP_OK;
}
