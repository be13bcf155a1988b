/* A block on a slope of angle theta: it sticks exactly when mu >= tan(theta).
 *
 * Prints, for three slopes, whether the block sticks, its final speed and the speed of the closed
 * form, then "ok". */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char model_text[] = "model block_on_slope\n"
                                 "param m = 1 \"kg\", mu = 0.5, g = 9.81 \"m/s^2\", theta = 0.3\n"
                                 "state v = 0 \"m/s\"\n"
                                 "var f \"N\"\n"
                                 "m*der(v) = m*g*sin(theta) + f\n"
                                 "-mu*m*g*cos(theta) <= f <= mu*m*g*cos(theta) perp v\n"
                                 "simulate to 1 step 1e-3\n";

/* Final speed after one second on a slope; NaN if something went wrong. */
static double final_speed(double theta)
{
    perp_diag diag = {0};
    perp_model *model = NULL;
    perp_simulation *simulation = NULL;
    double row[4] = {0, (double)NAN};

    perp_status status =
        perp_model_parse(model_text, strlen(model_text), "slope.perp", &model, &diag);
    if (status == PERP_OK) status = perp_model_set(model, "theta", theta, &diag);
    if (status == PERP_OK) status = perp_simulation_create(model, NULL, &simulation, &diag);
    perp_simulation_summary done = {.size = sizeof done};
    if (status == PERP_OK) status = perp_simulation_run(simulation, NULL, NULL, &done, &diag);
    if (status == PERP_OK && done.outcome == PERP_SOLVED) /* each step is verified */
        perp_simulation_row(simulation, row);             /* t, v, f, residual */
    else
        fprintf(stderr, "%s: %s", perp_status_name(status), perp_diag_text(&diag));

    perp_simulation_destroy(simulation);
    perp_model_destroy(model);
    perp_diag_clear(&diag);
    return row[1];
}

int main(void)
{
    const double mu = 0.5, g = 9.81, slopes[] = {0.3, 0.46, 0.6};
    int right = 1;
    for (int i = 0; i < 3; i++) {
        double theta = slopes[i], v = final_speed(theta);
        double expected = mu >= tan(theta) ? 0 : g * (sin(theta) - mu * cos(theta));
        printf("theta %.2f: %s, v = %.6f m/s, closed form %.6f\n", theta,
               v == 0 ? "sticks" : "slides", v, expected);
        right = right && fabs(v - expected) < 1e-12 && (v == 0) == (expected == 0);
    }
    printf(right ? "ok\n" : "wrong\n");
    return !right;
}
