/* The particle of the blog: m = 10 kg, mu = 0.1, from z = 1 m with vx = 1 m/s, by perp and in closed form. */

#include "blog.h"
#include "support/support.h"

#include <math.h>

void exact_law(void)
{
    const double mu = 0.1, g = 9.81, touchdown = sqrt(2 / g), after = 1 - mu * g * touchdown,
                 stop = touchdown + after / (mu * g),
                 end = touchdown + after * after / (2 * mu * g);
    double x[2], kept = 0, before = 0, rest = 0, slide = 0;
    for (int k = 0; k < 2; k++) {
        run r = run_model(load_model("examples/blog/particle.perp"), 0, k ? 5e-4 : 1e-3);
        x[k] = last(&r, "x");
        for (long i = 1; i < r.nrow && k == 0; i++) {
            double t = at(&r, i, "t"), f = at(&r, i, "fx");
            if (t > touchdown + 2e-3 && kept == 0) kept = at(&r, i, "vx") + mu * g * 2e-3;
            if (t > touchdown + 2e-3 && t < stop - 2e-3) slide = fmax(slide, fabs(f + mu * 10 * g));
            if (t > stop + 2e-3) rest = fmax(rest, fmax(fabs(f), fabs(at(&r, i, "vx"))));
            if (t < touchdown - 2e-3) before = fmax(before, fabs(f));
        }
        free_run(&r);
    }
    claim("Modeling Friction",
          "sliding to a stop, force and acceleration jump from a constant to zero", HOLDS,
          slide < 1e-9 && rest == 0 && before == 0, "blog-plots.svg",
          "perp: |fx + mu m g| <= %.0e N while it slides, fx = vx = %g after it", slide, rest);
    claim("added", "the impact impulse brakes vx to 1 - mu sqrt(2 g z0)", HOLDS,
          fabs(kept - after) < 2e-3, "blog-plots.svg", "perp %.5f m/s, exact %.6f", kept, after);
    claim("added", "it stops at x = 0.609683996 m; a Moreau step with h = 1e-3 gives 0.609184110",
          HOLDS,
          fabs(end - 0.609683996) < 1e-9 && fabs(x[0] - 0.609184110) < 1e-9 &&
              fabs((x[0] - end) / (x[1] - end) - 2) < 0.02,
          "blog-plots.svg", "closed form %.9f, perp %.9f; half the step leaves %.3f of the error",
          end, x[0], (x[1] - end) / (x[0] - end));
}
