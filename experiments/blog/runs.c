/* The blog's program in its time loop: as posted, with the velocity before the step in the friction law, and implicit, with the one
 * after it; over the whole run and on the floor only, from perp's state after the touchdown. */

#include "blog.h"
#include "program.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 1200,
    SPEEDS = 10,
    MOST = 100
}; /* iterations of IPOPT in a step of a run; single steps have the 2000 of the post */
static const blog_particle posted = {10, 0.1, 9.81, 1e-3, 1e-4, MOST, 0};

typedef struct record {
    const char *name;
    double t[STEPS + 1], y[VARIABLES][STEPS + 1], seconds,
        creep; /* largest |vx| in the last 0.1 s */
    int from, to, failed, wrong;
} record;

/* How far a step is from the law itself, with the state after it: contact in m or N, friction in N. */
static double violation(const double *y, const blog_particle *p)
{
    double bound = p->mu * fmax(y[FZ], 0), f = fmin(fmax(y[FX] - y[VX], -bound), bound);
    return fmax(fabs(fmin(y[FZ], y[Z])), fabs(y[FX] - f));
}

static void run_program(record *r, const char *name, int is_implicit, const run *perp, int from,
                        int to)
{
    static const char *const columns[] = {"x", "z", "vx", "vz"};
    blog_particle p = posted;
    double state[4];
    p.is_implicit = is_implicit;
    *r = (record){.name = name, .from = from, .to = to};
    for (int i = 0; i < 4; i++) state[i] = at(perp, from, columns[i]);
    double start = now_s();
    for (int k = from + 1; k <= to; k++) {
        blog_step s = blog_solve(&p, state);
        r->t[k] = k * p.h;
        for (int i = 0; i < VARIABLES; i++) r->y[i][k] = s.y[i];
        memcpy(state, s.y, sizeof state);
        r->failed += s.failed;
        r->wrong += !(violation(s.y, &p) < 1e-3);
        if (k > to - 100) r->creep = fmax(r->creep, fabs(s.y[VX]));
    }
    r->seconds = now_s() - start;
}

/* perp's run in the same form. */
static void take_run(record *r, const run *perp)
{
    static const char *const columns[] = {"x", "z", "vx", "vz", "fx", "fz"};
    *r = (record){.name = "perp", .to = STEPS, .seconds = perp->seconds};
    for (int k = 1; k <= STEPS; k++) {
        double y[VARIABLES];
        r->t[k] = at(perp, k, "t");
        for (int i = 0; i < VARIABLES; i++)
            r->y[i][k] = y[i] = i < 6 ? at(perp, k, columns[i]) : (double)NAN;
        r->wrong += !(violation(y, &posted) < 1e-3);
        if (k > STEPS - 100) r->creep = fmax(r->creep, fabs(y[VX]));
    }
}

static void table_row(const record *r)
{
    int n = r->to - r->from;
    study_text("| %s | %d | %.4g | %d | %d | %.6f | %.1e |\n", r->name, n, 1e3 * r->seconds / n,
               r->failed, r->wrong, r->y[X][r->to], r->creep);
}

static perp_series series_of(const record *r, int i, int color)
{
    return (perp_series){.label = r->name,
                         .x = r->t + r->from + 1,
                         .y = r->y[i] + r->from + 1,
                         .n = r->to - r->from,
                         .color = color};
}

static void draw(const record *r)
{
    static const char *const labels[] = {"x", "z", "vx", NULL, "fx", "fz", "slack s1", "slack s2"};
    static const char *const units[] = {"m", "m", "m/s", NULL, "N", "N", "N m", "N m/s"};
    static const int shown[] = {X, Z, VX, FX, FZ, S1, S2};
    perp_series series[7][3];
    perp_panel panels[7];
    for (int k = 0; k < 7; k++) {
        int i = shown[k];
        for (int j = 0; j < 3; j++)
            series[k][j] = series_of(&r[j == 2 ? 4 : j], i, j == 2 ? 1 : j == 0 ? 2 : 3);
        panels[k] = (perp_panel){.x = {.label = "t", .unit = "s", .lo = 0, .hi = 1.2},
                                 .y = {.label = labels[i], .unit = units[i]},
                                 .series = series[k],
                                 .nseries = i < S1 ? 3 : 2,
                                 .height = 170};
    }
    panels[3].y.lo = -20, panels[3].y.hi = 20;
    panels[4].y.lo = -20, panels[4].y.hi = 300;
    perp_figure figure = {.title = "The blog's particle: its program on IPOPT beside perp",
                          .panels = panels,
                          .npanels = 7,
                          .columns = 2};
    save_figure(&figure, "blog-plots.svg");
}

static void draw_floor(const record *r)
{
    perp_series v[] = {series_of(&r[2], VX, 2), series_of(&r[3], VX, 3), series_of(&r[4], VX, 1)};
    perp_series f[] = {series_of(&r[2], FX, 2), series_of(&r[3], FX, 3), series_of(&r[4], FX, 1)};
    perp_axis time = {.label = "t", .unit = "s", .lo = 0.9, .hi = 1.2};
    perp_panel panels[] = {{.x = time,
                            .y = {.label = "vx", .unit = "m/s", .lo = -0.05, .hi = 0.15},
                            .series = v,
                            .nseries = 3,
                            .height = 200},
                           {.x = time,
                            .y = {.label = "fx", .unit = "N", .lo = -20, .hi = 20},
                            .series = f,
                            .nseries = 3,
                            .height = 200}};
    perp_figure figure = {
        .title = "From perp's state after the touchdown: with the old velocity it never sticks",
        .panels = panels,
        .npanels = 2};
    save_figure(&figure, "blog-stick.svg");
}

/* Single steps from perp's states in flight, with the posted limit of iterations: how many does IPOPT solve, and how many multipliers
 * are the speed? */
static void flight(const run *perp, int n)
{
    static const char *const columns[] = {"x", "z", "vx", "vz"};
    blog_particle p = posted;
    int solved = 0, right = 0;
    double largest = 0;
    p.max_iter = 2000;
    for (int k = 0; k < n; k++) {
        double state[4];
        for (int i = 0; i < 4; i++) state[i] = at(perp, 20 + 400 * k / n, columns[i]);
        blog_step s = blog_solve(&p, state);
        solved += !s.failed;
        right +=
            !s.failed && fabs(s.y[LAMBDA] - fabs(state[VX])) < 0.01 && violation(s.y, &p) < 1e-3;
        largest = fmax(largest, s.y[LAMBDA]);
    }
    claim("(3)-(5)", "lambda is the magnitude of the tangential velocity, also in flight", SLIPS,
          right == n, "blog-plots.svg",
          "ill-posed where fz = 0: of %d steps from perp's states in flight, IPOPT (2000 "
          "iterations) solves %d, %d with lambda = |vx| and no force; "
          "lambda up to %.3g m/s where |vx| = 1",
          n, solved, right, largest);
}

/* Single steps on the floor with a speed v that friction can stop within the step, with the posted limit of iterations: after how many
 * of those that IPOPT solves is the speed below 1e-4 m/s? */
static int stopped(int is_implicit, int *solved, double *seconds)
{
    blog_particle p = posted;
    double start = now_s();
    int count = 0;
    p.is_implicit = is_implicit, p.max_iter = 2000;
    for (int k = 0; k < SPEEDS; k++) {
        double v = (k + 0.5) / SPEEDS * p.mu * p.g * p.h * (k % 2 ? 1 : -1), state[] = {0, 0, v, 0};
        blog_step s = blog_solve(&p, state);
        *solved += !s.failed;
        count += !s.failed && fabs(s.y[VX]) < 1e-4;
    }
    *seconds += (now_s() - start) / (2 * SPEEDS);
    return count;
}

/* The same steps by perp: the largest speed after one. */
static double speed_by_perp(void)
{
    double largest = 0;
    for (int k = 0; k < SPEEDS; k++) {
        perp_model *model = load_model("examples/blog/particle.perp");
        set_value(model, "z", 0);
        set_value(model, "vx", (k + 0.5) / SPEEDS * posted.mu * posted.g * posted.h);
        run r = run_model(model, posted.h, posted.h);
        largest = fmax(largest, fabs(last(&r, "vx")));
        free_run(&r);
    }
    return largest;
}

static void stops(const run *perp)
{
    int solved[2] = {0};
    double seconds = 0;
    int lagged = stopped(0, &solved[0], &seconds), implicit = stopped(1, &solved[1], &seconds);
    claim("(15)", "as posted, with the velocity before the step, the block comes to rest", SLIPS,
          lagged > 0, "blog-stick.svg",
          "it never sticks: of %d single steps that friction can end at rest, IPOPT solves %d; the "
          "speed is below 1e-4 m/s after %d of them",
          SPEEDS, solved[0], lagged);
    claim("(15) corrected", "with the velocity after the step it does", HOLDS,
          solved[1] > SPEEDS / 2 && implicit == solved[1], "blog-stick.svg",
          "IPOPT solves %d of %d; the speed is below 1e-4 m/s after %d of them. perp: at most "
          "%g m/s",
          solved[1], SPEEDS, implicit, speed_by_perp());
    double ratio = seconds / (perp->seconds / STEPS);
    claim("Result", "\"IPOPT is not really the right solver for this\"", HOLDS, ratio > 100, NULL,
          "%.1f ms a step here, %.0f times that of perp", 1e3 * seconds, ratio);
}

static void whole_runs(const run *perp)
{
    record *r = allocate(5 * sizeof *r);
    run_program(&r[0], "as posted", 0, perp, 0, STEPS);
    run_program(&r[1], "implicit", 1, perp, 0, STEPS);
    run_program(&r[2], "as posted, from perp's state on the floor", 0, perp, 460, STEPS);
    run_program(&r[3], "implicit, from perp's state on the floor", 1, perp, 460, STEPS);
    take_run(&r[4], perp);
    draw(r);
    draw_floor(r);
    study_text("\nThe program of the blog in its time loop, h = 1e-3 s, beside perp's step.\n\n"
               "- Each step may take %d iterations of IPOPT (2000 in the post, and in the single "
               "steps above).\n"
               "- *failed*: IPOPT does not report success.\n"
               "- *wrong*: contact or friction, with the state after the step, is violated by more "
               "than 1e-3 (m, N).\n"
               "- *speed at rest*: the largest |vx| in the last 0.1 s.\n\n"
               "Exact are x = 0.609684 m and speed 0. In flight the program is ill-posed, and the "
               "steps "
               "that fail there push the block.\n\n"
               "| | steps | ms a step | failed | wrong | final x [m] | speed at rest [m/s] |\n| "
               "--- | --- | --- | --- | --- | --- | --- |\n",
               MOST);
    for (int k = 0; k < 5; k++) table_row(&r[k]);
    free(r);
}

void program_runs(void)
{
    if (!blog_has_ipopt()) {
        study_text("This build has no IPOPT: the blog's program was not run.\n");
        return;
    }
    run perp = run_model(load_model("examples/blog/particle.perp"), 0, 0);
    flight(&perp, study_is_quick() ? 5 : 20);
    stops(&perp);
    if (!study_is_quick()) whole_runs(&perp);
    free_run(&perp);
}
