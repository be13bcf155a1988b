/* Notes 2.8 (the text breaks off): a falling square, and other polygons, by the equations of Stewart and Trinkle. */

#include "notes.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

/* A regular polygon whose corners are at distance r; the model is examples/mechanics/square.perp with n corners. */
static run drop(int n, double r)
{
    char text[4096];
    double pi = 4 * atan(1);
    int at = snprintf(text, sizeof text,
                      "param m = 1, g = 9.81, mu = 0.4, J = 0.15\nparam cx[%d] = [", n);
    for (int axis = 0; axis < 2; axis++) {
        for (int i = 0; i < n; i++) {
            double a = 2 * pi * (i + 0.5) / n;
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%.17g", i ? ", " : "",
                           r * (axis ? sin(a) : cos(a)));
        }
        at +=
            snprintf(text + at, sizeof text - (size_t)at, axis ? "]\n" : "]\nparam cy[%d] = [", n);
    }
    snprintf(
        text + at, sizeof text - (size_t)at,
        "state x = 0, y = 1.5\nstate th = 0.3\nstate vx = 1, vy = 0\nstate om = 0\n"
        "var fn[%d], ft[%d], gap[%d], rx[%d]\nder(x) = vx\nder(y) = vy\nder(th) = om\nm*der(vx) = "
        "sum(ft)\n"
        "m*der(vy) = sum(fn) - m*g\nJ*der(om) = sum(i in 1..%d, rx[i]*fn[i] - (gap[i] - y)*ft[i])\n"
        "for i in 1..%d {\nrx[i] = cx[i]*cos(th) - cy[i]*sin(th)\ngap[i] = y + cx[i]*sin(th) + "
        "cy[i]*cos(th)\n"
        "0 <= fn[i] perp gap[i] >= 0\n-mu*fn[i] <= ft[i] <= mu*fn[i] perp vx - om*(gap[i] - y)\n}\n"
        "output lowest = min(gap)\noutput energy = m*(vx^2 + vy^2)/2 + J*om^2/2 + m*g*y\nsimulate "
        "to 3 step 1e-3\n",
        n, n, n, n, n, n);
    return run_model(parse_model(text), 0, 0);
}

void polygon(void)
{
    static const int corners[] = {3, 4, 6};
    static const char *const names[] = {"triangle", "square", "hexagon"};
    perp_series height[3], angle[3], energy[3];
    run r[3];
    double lowest = 0, gain = 0, speed = 0, residual = 0;
    for (int k = 0; k < 3; k++) {
        r[k] = drop(corners[k], sqrt(0.5));
        double *t = column(&r[k], "t"), *e = column(&r[k], "energy"),
               *low = column(&r[k], "lowest");
        int n = (int)r[k].nrow;
        for (long i = 1; i < r[k].nrow; i++) {
            lowest = fmin(lowest, low[i]);
            if (i > 1) gain = fmax(gain, e[i] - e[i - 1]);
        }
        speed = fmax(speed, fmax(fabs(last(&r[k], "vx")),
                                 fmax(fabs(last(&r[k], "vy")), fabs(last(&r[k], "om")))));
        residual = fmax(residual, r[k].summary.worst_residual);
        height[k] = (perp_series){.label = names[k], .x = t, .y = column(&r[k], "y"), .n = n};
        angle[k] = (perp_series){.label = names[k], .x = t, .y = column(&r[k], "th"), .n = n};
        energy[k] = (perp_series){.label = names[k], .x = t, .y = e, .n = n};
    }
    perp_axis time = {.label = "t", .unit = "s"};
    perp_panel panels[] = {{.x = time,
                            .y = {.label = "height of the centre", .unit = "m"},
                            .series = height,
                            .nseries = 3,
                            .height = 170},
                           {.x = time,
                            .y = {.label = "angle", .unit = "rad"},
                            .series = angle,
                            .nseries = 3,
                            .height = 170},
                           {.x = time,
                            .y = {.label = "energy", .unit = "J"},
                            .series = energy,
                            .nseries = 3,
                            .height = 170}};
    perp_figure figure = {
        .title = "Falling polygons, m = 1 kg, mu = 0.4", .panels = panels, .npanels = 3};
    save_figure(&figure, "notes-2.8-polygon.svg");
    claim("2.8", "Stewart and Trinkle's equations cover any polygon", HOLDS,
          lowest > -1e-9 && gain < 1e-9 && speed < 1e-9 && residual < 1e-8, "notes-2.8-polygon.svg",
          "triangle, square and hexagon fall, tip and rest: lowest corner %.0e m, largest gain of "
          "energy in a step %.0e J, "
          "speed at 3 s %.0e, worst residual %.0e",
          lowest, gain, speed, residual);
    for (int k = 0; k < 3; k++) free_run(&r[k]);
}
