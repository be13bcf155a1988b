/* How must a ball be thrown so that it is at a given place at a given time, after three bounces? Newton's method on its initial velocity, with the
 * derivatives of the run through its impacts, whose times move with it: a few runs are enough. */

#include "perp/perp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "param g = 9.81 \"m/s^2\", e = 0.8, mu = 0.1, c = 0.05\n"
                           "state x = 0 \"m\", z = 1 \"m\", u = 2 \"m/s\", v = 0 \"m/s\"\n"
                           "var p \"N\", f \"N\"\n"
                           "der(x) = u\n"
                           "der(z) = v\n"
                           "der(u) = f - c*u*sqrt(u^2 + v^2)\n"
                           "der(v) = p - g - c*v*sqrt(u^2 + v^2)\n"
                           "0 <= p perp v + e*pre(v) >= 0 when z <= 0\n"
                           "-mu*p <= f <= mu*p perp u\n"
                           "simulate { to 1.8\n step 0.05\n method radau5 }\n";

enum { MOST_COLUMNS = 16 };

/* x and z at the end, and their derivatives by u and v at the start, by columns. */
static int throw_ball(perp_model *model, const double velocity[2], double end[2],
                      double derivative[4])
{
    static const char *const by[] = {"u", "v"};
    perp_simulation *sim = NULL;
    perp_diag diag = {0};
    double row[MOST_COLUMNS], all[2 * MOST_COLUMNS];
    perp_simulation_summary done = {.size = sizeof done};
    int ok = perp_model_set(model, "u", velocity[0], &diag) == PERP_OK &&
             perp_model_set(model, "v", velocity[1], &diag) == PERP_OK &&
             perp_simulation_create(model, NULL, &sim, &diag) == PERP_OK &&
             perp_simulation_columns(sim) <= MOST_COLUMNS &&
             perp_simulation_follow(sim, 2, by, &diag) == PERP_OK &&
             perp_simulation_run(sim, NULL, NULL, &done, &diag) == PERP_OK &&
             done.outcome == PERP_SOLVED && perp_simulation_derivatives(sim, all) == PERP_OK;
    if (ok) {
        int n = perp_simulation_columns(sim), x = perp_simulation_find_column(sim, "x"),
            z = perp_simulation_find_column(sim, "z");
        perp_simulation_row(sim, row);
        end[0] = row[x], end[1] = row[z];
        for (int j = 0; j < 2; j++)
            derivative[2 * j] = all[j * n + x], derivative[2 * j + 1] = all[j * n + z];
    }
    if (!ok) printf("%s", perp_diag_text(&diag));
    perp_diag_clear(&diag);
    perp_simulation_destroy(sim);
    return ok;
}

int main(void)
{
    const double target[2] = {3, 0.5};
    double velocity[2] = {2, 0}, end[2], d[4], off = 1;
    perp_model *model;
    if (perp_model_parse(text, strlen(text), "ball.perp", &model, NULL) != PERP_OK) return 1;
    for (int k = 0; k < 12 && off > 1e-10; k++) {
        if (!throw_ball(model, velocity, end, d)) return 1;
        double dx = target[0] - end[0], dz = target[1] - end[1], det = d[0] * d[3] - d[2] * d[1];
        off = hypot(dx, dz);
        printf("thrown with (%.6f, %.6f) m/s it is off by %.1e m\n", velocity[0], velocity[1], off);
        velocity[0] += (d[3] * dx - d[2] * dz) / det;
        velocity[1] += (d[0] * dz - d[1] * dx) / det;
    }
    perp_model_destroy(model);
    if (off <= 1e-10) printf("ok\n");
    return 0;
}
