#include "prox.h"

#include <math.h>

void draw_staircase(staircase *s, const char *title, scalar_fn f, const double *p, double lo,
                    double hi, double x0, int steps, const char *label)
{
    int n = 0;
    for (int i = 0; i < CURVE; i++) {
        double y = f(p, s->x[i] = lo + (hi - lo) * i / (CURVE - 1));
        s->f[i] = y >= lo && y <= hi ? y : (double)NAN;
    }
    s->line[0] = lo, s->line[1] = hi;
    s->stair_x[n] = x0, s->stair_y[n++] = lo;
    for (int k = 0; k < steps && n + 2 <= STAIRS;
         k++) { /* up to the function, across to the line */
        double y = f(p, x0);
        if (!(y >= lo && y <= hi)) break;
        s->stair_x[n] = x0, s->stair_y[n++] = y;
        s->stair_x[n] = y, s->stair_y[n++] = y;
        x0 = y;
    }
    s->series[0] =
        (perp_series){.label = "unit slope", .x = s->line, .y = s->line, .n = 2, .color = 8};
    s->series[1] =
        (perp_series){.label = "prox function", .x = s->x, .y = s->f, .n = CURVE, .color = 2};
    s->series[2] = (perp_series){.label = "iterates",
                                 .x = s->stair_x,
                                 .y = s->stair_y,
                                 .n = n,
                                 .style = PERP_STYLE_DASHED,
                                 .color = 1};
    perp_axis axis = {.label = label, .unit = "N", .lo = lo, .hi = hi};
    s->panel = (perp_panel){
        .title = title, .x = axis, .y = axis, .series = s->series, .nseries = 3, .height = 300};
    s->panel.y.label = "prox";
}
