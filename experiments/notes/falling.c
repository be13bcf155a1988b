/* Notes 1: a block falls on a table; a 1 x 1 LCP in each step. */

#include "notes.h"
#include "support/support.h"

#include <math.h>

/* The largest difference between the run and the LCP as it is printed: lambda = M x + q, M = 1/h^2,
 * q = -(x_k + h v_k - h^2 g)/h^2. */
static double largest_difference(const run *r, double h, double g)
{
    double worst = 0;
    for (long k = 1; k < r->nrow; k++) {
        double M = 1 / (h * h), x[1], lambda[1];
        double q = -(at(r, k - 1, "x") + h * at(r, k - 1, "v") - h * h * g) / (h * h);
        small_lcp p = make_lcp(1, &M, &q);
        if (solve_by(PERP_LCP_LEMKE, &p, x, lambda) != PERP_SOLVED) return (double)INFINITY;
        worst = fmax(worst, fabs(x[0] - at(r, k, "x")));
    }
    return worst;
}

static void draw(run *r)
{
    double *t = column(r, "t"), *x = column(r, "x"), *v = column(r, "v"), *f = column(r, "lambda");
    perp_axis time = {.label = "t", .unit = "s"};
    perp_series height = {.label = "height x", .x = t, .y = x, .n = (int)r->nrow, .color = 1};
    perp_series speed = {.label = "velocity", .x = t, .y = v, .n = (int)r->nrow, .color = 2};
    perp_series force = {.label = "contact force", .x = t, .y = f, .n = (int)r->nrow, .color = 3};
    perp_panel panels[] = {
        {.x = time,
         .y = {.label = "x", .unit = "m"},
         .series = &height,
         .nseries = 1,
         .height = 150},
        {.x = time,
         .y = {.label = "v", .unit = "m/s"},
         .series = &speed,
         .nseries = 1,
         .height = 150},
        {.x = time,
         .y = {.label = "lambda", .unit = "N", .scale = PERP_SCALE_LOG, .lo = 1, .hi = 1e4},
         .series = &force,
         .nseries = 1,
         .height = 150}};
    perp_figure figure = {.title = "Falling block: the impact takes one step, then lambda = m g",
                          .panels = panels,
                          .npanels = 3};
    save_figure(&figure, "notes-1-falling-block.svg");
}

void falling_block(void)
{
    const double h = 1e-3, g = 9.81, touchdown = sqrt(2 / g);
    run r = run_model(load_model("examples/notes/falling_block.perp"), 0, 0);
    double lowest = 1, rest = 0, landed = 0;
    for (long k = 1; k < r.nrow; k++) {
        lowest = fmin(lowest, at(&r, k, "x"));
        if (landed == 0 && at(&r, k, "lambda") > 0) landed = at(&r, k, "t");
        if (at(&r, k, "t") > touchdown + 2 * h)
            rest = fmax(rest, fmax(fabs(at(&r, k, "x")), fabs(at(&r, k, "lambda") - g)));
    }
    draw(&r);
    claim("1", "no penetration: x >= 0 in every step", HOLDS, lowest >= -1e-12,
          "notes-1-falling-block.svg", "lowest x %.1e m in %ld steps", lowest, r.nrow - 1);
    claim("1", "a force needs contact; at rest x = 0 and lambda = m g", HOLDS,
          rest < 1e-8 && fabs(landed - touchdown) < 2 * h, "notes-1-falling-block.svg",
          "lands at %.3f s (exact %.4f), then |x|, |lambda - m g| <= %.0e", landed, touchdown,
          rest);
    double worst = largest_difference(&r, h, g);
    claim("1", "M = 1/dt^2, q = -(x_k + dt v_k - g dt^2)/dt^2", HOLDS, worst < 1e-9, NULL,
          "x as in the run of the model to %.0e m", worst);
    free_run(&r);
}
