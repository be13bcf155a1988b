/* Notes 2.4: the direct formulation in the plane. A vector x is encoded by its projections max(0, d_i'x) on k directions d_i, and the
 * LCP of 2.2 is solved for each:
 *
 *     0 <= v_i perp v_i/h - d_i'c/h + mu g |d_i'e| >= 0,     c = v_k + u h
 *
 * with e the direction of the velocity, taken from the step before, then from the solution, and so on: |d_i'e| is what friction of the
 * size mu g along e leaves in the direction d_i; k = 2 is 2.2. For even k >= 4 the velocity is (4/k) sum v_i d_i. Exact law:
 * v+ = c max(0, 1 - mu g h/|c|). */

#include "notes.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

enum { MOST_K = 32, KS = 6, LIMIT = 200, SPEEDS = 40, SAMPLES = 200 };
static const int ks[KS] = {4, 6, 8, 12, 16, 32};
static const double pi = 3.14159265358979323846;

/* One LCP: the velocity for the direction e. b = mu g h. */
static void direct_step(int k, double h, const double c[2], double b, const double e[2],
                        double v[2])
{
    static perp_lcp_solver *solver;
    double M[MOST_K * MOST_K] = {0}, q[MOST_K], z[MOST_K];
    perp_lcp lcp = {.n = k, .M = M, .ldm = k, .q = q};
    perp_lcp_info info = {.size = sizeof info};
    if (!solver && perp_lcp_solver_create(PERP_LCP_LEMKE, MOST_K, NULL, &solver) != PERP_OK)
        die("2.4: no solver");
    for (int i = 0; i < k; i++) {
        double dx = cos(2 * pi * i / k), dy = sin(2 * pi * i / k);
        M[i * (k + 1)] = 1 / h;
        q[i] = -(dx * c[0] + dy * c[1]) / h + b / h * fabs(dx * e[0] + dy * e[1]);
    }
    if (perp_lcp_solve(solver, &lcp, z, NULL, &info) != PERP_OK || info.outcome != PERP_SOLVED)
        die("2.4: a step is not solved");
    v[0] = v[1] = 0;
    for (int i = 0; i < k; i++)
        v[0] += 4 * z[i] * cos(2 * pi * i / k) / k, v[1] += 4 * z[i] * sin(2 * pi * i / k) / k;
}

static void exact_step(const double c[2], double b, double v[2])
{
    double size = hypot(c[0], c[1]), scale = size > b ? 1 - b / size : 0;
    v[0] = scale * c[0], v[1] = scale * c[1];
}

/* The fixed-point iteration on e: the part w of the new direction is taken, 1 is plain. Number of LCPs, or -1 after the limit. */
static int iterate(int k, double h, const double c[2], double b, double e[2], double w, double v[2])
{
    for (int n = 1; n <= LIMIT; n++) {
        direct_step(k, h, c, b, e, v);
        double speed = hypot(v[0], v[1]);
        if (speed == 0) return n; /* it sticks: no direction any more */
        double x = e[0] + w * (v[0] / speed - e[0]), y = e[1] + w * (v[1] / speed - e[1]),
               length = hypot(x, y);
        if (length == 0) return -1;
        double change = hypot(x / length - e[0], y / length - e[1]);
        e[0] = x / length, e[1] = y / length;
        if (change < 1e-12) return n;
    }
    return -1;
}

typedef struct sample {
    double first_error, error; /* worst of one LCP; of what converged: speeds relative to b */
    int converged, solves;
} sample;

/* Random directions of c, and previous directions up to 60 degrees away from them, for one speed |c| = r b. */
static sample sample_speed(int k, double r, int relaxed)
{
    uint64_t seed = 24;
    sample s = {0};
    for (int j = 0; j < SAMPLES; j++) {
        double a = uniform(&seed, -pi, pi), f = a + uniform(&seed, -1, 1) * pi / 3,
               c[] = {r * cos(a), r * sin(a)}, e[] = {cos(f), sin(f)}, v[2], exact[2];
        exact_step(c, 1, exact);
        direct_step(k, 1, c, 1, e, v);
        s.first_error = fmax(s.first_error, hypot(v[0] - exact[0], v[1] - exact[1]));
        int n = iterate(k, 1, c, 1, e, relaxed && r > 1 ? 1 - 1 / r : 1, v);
        if (n < 0) continue;
        s.converged++, s.solves += n;
        s.error = fmax(s.error, hypot(v[0] - exact[0], v[1] - exact[1]));
    }
    return s;
}

/* Factor by which a small error of e changes in one plain iteration, against b/(|c| - b). */
static double factor_error(int k)
{
    double worst = 0;
    for (double r = 1.2; r < 6; r += 0.3) {
        for (int j = 0; j < 20; j++) {
            double a = 0.1 + 0.31 * j, d = 1e-5, c[] = {r * cos(a), r * sin(a)},
                   e[] = {cos(a + d), sin(a + d)}, v[2];
            direct_step(k, 1, c, 1, e, v);
            double after = remainder(atan2(v[1], v[0]) - a, 2 * pi);
            worst = fmax(worst, fabs(-after / d - 1 / (r - 1)) * (r - 1));
        }
    }
    return worst;
}

/* The direction of c as it should be gives the exact velocity. */
static double fixed_point_error(void)
{
    uint64_t seed = 240;
    double worst = 0;
    for (int i = 0; i < KS; i++) {
        for (int j = 0; j < 500; j++) {
            double a = uniform(&seed, -pi, pi), r = uniform(&seed, 0, 4),
                   c[] = {r * cos(a), r * sin(a)}, e[] = {cos(a), sin(a)}, v[2], exact[2];
            direct_step(ks[i], 1, c, 1, e, v);
            exact_step(c, 1, exact);
            worst = fmax(worst, hypot(v[0] - exact[0], v[1] - exact[1]));
        }
    }
    return worst;
}

static void convergence(void)
{
    static double r[SPEEDS], plain[3][SPEEDS], relaxed[SPEEDS];
    static const int shown[] = {4, 8, 32};
    int above = 0, all_above = 0, below = 0, all_below = 0, all_relaxed = 0;
    double worst_relaxed = 0, worst = 0;
    for (int i = 0; i < SPEEDS; i++) {
        r[i] = 0.05 + 0.1 * i;
        for (int j = 0; j < 3; j++) {
            sample s = sample_speed(shown[j], r[i], 0);
            plain[j][i] = 100.0 * s.converged / SAMPLES;
            if (r[i] > 2.2)
                above += s.converged, all_above += SAMPLES, worst = fmax(worst, s.error);
            if (r[i] > 1.1 && r[i] < 1.9) below += s.converged, all_below += SAMPLES;
        }
        sample s = sample_speed(8, r[i], 1);
        relaxed[i] = 100.0 * s.converged / SAMPLES;
        if (r[i] > 1.1)
            all_relaxed += s.converged == SAMPLES, worst_relaxed = fmax(worst_relaxed, s.error);
    }
    perp_series series[] = {
        {.label = "k = 4", .x = r, .y = plain[0], .n = SPEEDS},
        {.label = "k = 8", .x = r, .y = plain[1], .n = SPEEDS},
        {.label = "k = 32", .x = r, .y = plain[2], .n = SPEEDS},
        {.label = "k = 8, relaxed", .x = r, .y = relaxed, .n = SPEEDS, .style = PERP_STYLE_DASHED}};
    save_plot("notes-2.4-convergence.svg",
              "Direct formulation in the plane: does the iteration on the direction converge?",
              (perp_axis){.label = "|v + u h| / (mu g h)"},
              (perp_axis){.label = "converged", .unit = "%", .lo = -3, .hi = 103}, series, 4);
    claim("2.4",
          "a fixed-point iteration on the direction would probably work: where friction takes less "
          "than half of the speed",
          HOLDS, above == all_above && worst < 1e-9, "notes-2.4-convergence.svg",
          "|c| > 2.2 mu g h: %d of %d random starts converge, to the exact law within %.0e", above,
          all_above, worst);
    claim("2.4 added", "for mu g h < |c| < 2 mu g h it never ends", HOLDS, below == 0,
          "notes-2.4-convergence.svg",
          "%d of %d random starts end (k = 4, 8, 32); the others go from one direction to another "
          "and back",
          below, all_below);
    claim("2.4 added",
          "taking the part 1 - mu g h/|c| of the new direction, it converges wherever the block "
          "slides",
          HOLDS, all_relaxed == 29 && worst_relaxed < 1e-9, "notes-2.4-convergence.svg",
          "all of %d starts at each of %d speeds (k = 8), error %.0e", SAMPLES, all_relaxed,
          worst_relaxed);
}

/* A path: m = 1, mu = 0.3, a force that turns, so that the block slides, turns and sticks. */
enum { STEPS = 400 };
static const double h = 0.01, b = 0.3 * 9.81 * 0.01;

static void force(int step, double u[2])
{
    double t = step * h, size = 5 * fabs(sin(1.5 * t));
    u[0] = size * cos(4 * t), u[1] = size * sin(4 * t);
}

typedef struct path {
    double x[STEPS + 1], y[STEPS + 1], vx[STEPS + 1], vy[STEPS + 1];
    int solves, failed,
        sticking; /* LCPs; steps that cycle, and of these the ones in which the block should stick */
} path;

/* mode 0: the exact law; 1: one LCP with the direction of the step before; 2: iterated from it, relaxed; 3: one LCP with the direction
 * of c = v + u h. At rest the direction is that of c. */
static void follow(path *p, int k, int mode)
{
    double v[2] = {0.5, 0}, e[2] = {1, 0}, x[2] = {0};
    *p = (path){.vx = {v[0]}};
    for (int n = 1; n <= STEPS; n++) {
        double u[2], speed;
        force(n, u);
        double c[] = {v[0] + u[0] * h, v[1] + u[1] * h}, size = hypot(c[0], c[1]);
        if ((speed = hypot(v[0], v[1])) > 0) e[0] = v[0] / speed, e[1] = v[1] / speed;
        if (size > 0 && (speed == 0 || mode == 3)) e[0] = c[0] / size, e[1] = c[1] / size;
        if (mode == 0) exact_step(c, b, v);
        if (mode == 1 || mode == 3) direct_step(k, h, c, b, e, v), p->solves++;
        if (mode == 2) {
            int solves = iterate(k, h, c, b, e, size > b ? 1 - b / size : 1, v);
            p->solves += solves < 0 ? LIMIT : solves, p->failed += solves < 0,
                p->sticking += solves < 0 && size <= b;
        }
        for (int i = 0; i < 2; i++) x[i] += h * v[i];
        p->x[n] = x[0], p->y[n] = x[1], p->vx[n] = v[0], p->vy[n] = v[1];
    }
}

/* perp's friction with k facets on the same path. */
static void follow_facets(path *p, int k)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "param m = 1, mu = 0.3, g = 9.81\nstate x = 0, y = 0\nstate vx = 0.5, vy = 0\nvar fx, "
        "fy\nder(x) = vx\nder(y) = vy\n"
        "m*der(vx) = fx + 5*abs(sin(1.5*t))*cos(4*t)\nm*der(vy) = fy + 5*abs(sin(1.5*t))*sin(4*t)\n"
        "friction(f = [fx, fy], v = [vx, vy], bound = mu*m*g, facets = %d)\nsimulate to 4 step "
        "0.01\n",
        k);
    run r = run_model(parse_model(text), 0, 0);
    for (int n = 0; n <= STEPS; n++)
        p->x[n] = at(&r, n, "x"), p->y[n] = at(&r, n, "y"), p->vx[n] = at(&r, n, "vx"),
        p->vy[n] = at(&r, n, "vy");
    free_run(&r);
}

static double velocity_error(const path *p, const path *exact)
{
    double worst = 0;
    for (int n = 0; n <= STEPS; n++)
        worst = fmax(worst, hypot(p->vx[n] - exact->vx[n], p->vy[n] - exact->vy[n]));
    return worst;
}

static void draw_paths(const path *p, const double *k, double e[4][KS])
{
    static const char *const names[] = {"direct, one LCP, old direction",
                                        "direct, iterated from it", "direct, direction of v + u h",
                                        "pyramid"};
    perp_series xy[4], error[4];
    for (int i = 0; i < 4; i++) {
        xy[i] = (perp_series){.label = i ? names[i == 2   ? 3
                                                 : i == 3 ? 2
                                                          : 0]
                                         : "exact cone",
                              .x = p[i].x,
                              .y = p[i].y,
                              .n = STEPS + 1,
                              .style = i ? PERP_STYLE_LINE : PERP_STYLE_GHOST,
                              .color = i ? i : 8};
        error[i] = (perp_series){
            .label = names[i], .x = k, .y = e[i], .n = KS, .style = PERP_STYLE_LINE_POINTS};
    }
    perp_panel panels[] = {
        {.title = "k = 4",
         .x = {.label = "x", .unit = "m"},
         .y = {.label = "y", .unit = "m"},
         .series = xy,
         .nseries = 4,
         .is_square = 1,
         .height = 380},
        {.x = {.label = "directions or facets k"},
         .y = {.label = "error of v", .unit = "m/s", .scale = PERP_SCALE_LOG, .lo = 1e-16, .hi = 1},
         .series = error,
         .nseries = 4}};
    perp_figure figure = {
        .title = "A block pushed around in the plane", .panels = panels, .npanels = 2};
    save_figure(&figure, "notes-2.4-paths.svg");
}

static void paths(void)
{
    static path shown[4], now;
    double k[KS], e[4][KS], worst = 0, least_once = 1;
    int cycles = 0, sticking = 0;
    follow(&shown[0], 0, 0);
    study_text("\nThe path of notes-2.4-paths, %d steps, in which the block slides, turns and "
               "sticks. Largest error of the velocity against the exact cone [m/s]:\n\n"
               "| k | one LCP, direction of the step before | iterated from it | LCPs a step | "
               "steps that cycle | one LCP, direction of v + u h | pyramid of k facets |\n"
               "| --- | --- | --- | --- | --- | --- | --- |\n",
               STEPS);
    for (int i = 0; i < KS; i++) {
        int iterated = 0, cycling = 0, stuck = 0;
        k[i] = ks[i];
        for (int mode = 1; mode <= 4; mode++) {
            if (mode == 4)
                follow_facets(&now, ks[i]);
            else
                follow(&now, ks[i], mode);
            e[mode - 1][i] = velocity_error(&now, &shown[0]);
            if (mode == 2) iterated = now.solves, cycling = now.failed, stuck = now.sticking;
            if (i == 0 && mode != 2) shown[mode == 1 ? 1 : mode == 4 ? 2 : 3] = now;
        }
        worst = fmax(worst, e[2][i]), least_once = fmin(least_once, e[0][i]), cycles += cycling,
        sticking += stuck;
        study_text("| %d | %.2e | %.0e | %.1f | %d | %.0e | %.2e |\n", ks[i], e[0][i], e[1][i],
                   (double)iterated / STEPS, cycling, e[2][i], e[3][i]);
    }
    draw_paths(shown, k, e);
    claim("2.4 added",
          "with the direction of the step before alone the error does not vanish with k", HOLDS,
          least_once > 1e-4, "notes-2.4-paths.svg", "%.0e m/s or more for k = 4..32", least_once);
    claim("2.4 added", "nor does it always end where the block should stick", HOLDS, sticking > 0,
          "notes-2.4-paths.svg", "%d of %d steps of the path cycle, %d of them should stick",
          cycles, KS * STEPS, sticking);
    claim("2.4", "there is no way that does not linearise about the step before", SLIPS,
          !(worst < 1e-9), "notes-2.4-paths.svg",
          "for one block the direction of v + u h is the one looked for: one LCP has an error of "
          "at most %.0e m/s on the path, "
          "for every even k >= 4",
          worst);
}

void plane(void)
{
    int active = 0, most = 0;
    for (int j = 0; j < 100; j++) {
        int count = 0;
        for (int i = 0; i < 16; i++) count += cos(2 * pi * i / 16 - 0.06 * j) > 1e-12;
        active += count, most = count > most ? count : most;
    }
    claim("2.4", "roughly half of the elements of an encoded velocity are nonzero", HOLDS,
          fabs(active / 1600.0 - 0.5) < 0.01, NULL, "k = 16: %.1f on average, %d at most",
          active / 100.0, most);
    double worst = 0, fixed = fixed_point_error();
    for (int i = 0; i < KS; i++) worst = fmax(worst, factor_error(ks[i]));
    claim("2.4 added",
          "the true direction is a fixed point with the exact velocity, for every even k >= 4",
          HOLDS, fixed < 1e-12, NULL, "k = 4..32, sliding and sticking: to %.0e mu g h", fixed);
    claim("2.4 added",
          "an error of the direction changes by the factor -mu g h/(|c| - mu g h), whatever k",
          HOLDS, worst < 1e-3, NULL,
          "relative difference of the measured factor at most %.0e, k = 4..32", worst);
    convergence();
    paths();
}
