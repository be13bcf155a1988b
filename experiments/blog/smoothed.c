/* A smoothed friction law, fx = -mu fz tanh(vx/eps), creeps; the exact one sticks. */

#include "blog.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

enum { LAWS = 4 };
static const double eps[LAWS] = {0.1, 0.01, 0.001, 0}; /* 0: the exact law */

/* The particle of the blog, with a force F along x from the beginning, from height z0 with speed v0. */
static run particle(double e, double F, double z0, double v0, double to)
{
    char text[1024], law[256];
    if (e > 0)
        snprintf(law, sizeof law, "fx = -mu*fz*tanh(vx/%g)", e);
    else
        snprintf(law, sizeof law, "-mu*fz <= fx <= mu*fz perp vx");
    snprintf(text, sizeof text,
             "param m = 10, mu = 0.1, g = 9.81, F = %.17g\nstate x = 0, z = %g\nstate vx = %g, vz "
             "= 0\nvar fz, fx\n"
             "der(x) = vx\nder(z) = vz\nm*der(vx) = F + fx\nm*der(vz) = fz - m*g\n0 <= fz perp z "
             ">= 0\n%s\nsimulate to %g step 1e-3\n",
             F, z0, v0, law, to);
    return run_model(parse_model(text), 0, 0);
}

void smoothed_law(void)
{
    static const char *const names[] = {"tanh, eps = 0.1 m/s", "tanh, eps = 0.01 m/s",
                                        "tanh, eps = 0.001 m/s", "exact law"};
    run fall[LAWS], push[LAWS];
    perp_series v[LAWS], x[LAWS];
    double half = 0.5 * 0.1 * 10 * 9.81, off = 0, moved, creep[LAWS];
    for (int k = 0; k < LAWS; k++) {
        fall[k] = particle(eps[k], 0, 1, 1, 2);
        push[k] = particle(eps[k], half, 0, 0, 2);
        double *vx = column(&fall[k], "vx");
        for (long i = 0; i < fall[k].nrow; i++) vx[i] = fabs(vx[i]);
        v[k] = (perp_series){.label = names[k],
                             .x = column(&fall[k], "t"),
                             .y = vx,
                             .n = (int)fall[k].nrow,
                             .color = k == 3 ? 1 : k + 2};
        x[k] = (perp_series){.label = names[k],
                             .x = column(&push[k], "t"),
                             .y = column(&push[k], "x"),
                             .n = (int)push[k].nrow,
                             .color = k == 3 ? 1 : k + 2};
        creep[k] = last(&push[k], "vx");
        if (k < 3) off = fmax(off, fabs(creep[k] / (eps[k] * atanh(0.5)) - 1));
    }
    moved = last(&push[3], "x");
    perp_axis time = {.label = "t", .unit = "s"};
    perp_panel panels[] = {
        {.title = "the blog's particle",
         .x = time,
         .y = {.label = "|vx|", .unit = "m/s", .scale = PERP_SCALE_LOG, .lo = 1e-9, .hi = 2},
         .series = v,
         .nseries = LAWS,
         .height = 200},
        {.title = "at rest, pushed with half of mu m g",
         .x = time,
         .y = {.label = "x", .unit = "m"},
         .series = x,
         .nseries = LAWS,
         .height = 200}};
    perp_figure figure = {
        .title = "A smoothed friction law creeps", .panels = panels, .npanels = 2};
    save_figure(&figure, "blog-creep.svg");
    claim("added", "a block pushed with half of mu m g stays where it is", HOLDS,
          moved == 0 && creep[3] == 0, "blog-creep.svg", "perp: x = %g m, v = %g m/s after 2 s",
          moved, creep[3]);
    claim("added", "with tanh(v/eps) it creeps at eps atanh(1/2)", HOLDS, off < 1e-3,
          "blog-creep.svg", "%.4g, %.4g, %.4g m/s for eps = 0.1, 0.01, 0.001 m/s: as said to %.0e",
          creep[0], creep[1], creep[2], off);
    study_text(
        "\nFinal position of the blog's particle at 2 s under the smoothed law: %.5f, %.5f, %.5f "
        "m for eps = 0.1, 0.01, 0.001 m/s. Exact law, same step: %.5f m.\n",
        last(&fall[0], "x"), last(&fall[1], "x"), last(&fall[2], "x"), last(&fall[3], "x"));
    for (int k = 0; k < LAWS; k++) free_run(&fall[k]), free_run(&push[k]);
}
