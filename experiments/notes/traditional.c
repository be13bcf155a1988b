/* Notes 2.6: the traditional formulation and its set of solutions; 2.6.1: as a mixed problem. m = h = g = 1. */

#include "notes.h"
#include "support/support.h"

#include <math.h>

static const double M[] = {1, -1, 1, -1, 1, 1, -1, -1, 0}; /* by rows; unknowns l+, l-, gamma */

static small_lcp problem(double c, double mu)
{
    double q[] = {c, -c, mu};
    return make_lcp(3, M, q);
}

static double after_friction(double c, double mu)
{
    return copysign(fmax(fabs(c) - mu, 0), c);
}

/* In sticking: the ends of l = (t, t + c, 0), 0 <= t <= (mu - c)/2, for c >= 0. */
static int is_segment(const solutions *s, double c, double mu)
{
    double far = (mu - c) / 2, ends = 0;
    for (int k = 0; k < s->count; k++) {
        const double *z = s->z[k];
        if (fabs(z[1] - z[0] - c) > 1e-9 || fabs(z[2]) > 1e-9 || z[0] < -1e-12 || z[0] > far + 1e-9)
            return 0;
        ends += fabs(z[0]) < 1e-9 || fabs(z[0] - far) < 1e-9;
    }
    return ends == 2 && s->rays == 0;
}

static void draw_segments(void)
{
    double mu = 1, c[] = {-0.75, -0.5, 0, 0.5, 0.75}, x[6][2], y[6][2];
    perp_series series[6];
    static const char *const names[] = {"c = -0.75 N s", "c = -0.5 N s", "c = 0", "c = 0.5 N s",
                                        "c = 0.75 N s"};
    x[5][0] = 0, x[5][1] = mu, y[5][0] = mu, y[5][1] = 0;
    series[0] = (perp_series){.label = "l+ + l- = mu m g h",
                              .x = x[5],
                              .y = y[5],
                              .n = 2,
                              .style = PERP_STYLE_GHOST,
                              .color = 8};
    for (int k = 0; k < 5; k++) {
        small_lcp p = problem(c[k], mu);
        solutions s = all_solutions(&p, NULL);
        if (s.count != 2) die("2.6: a segment has two ends");
        for (int e = 0; e < 2; e++) x[k][e] = s.z[e][0], y[k][e] = s.z[e][1];
        series[k + 1] = (perp_series){.label = names[k],
                                      .x = x[k],
                                      .y = y[k],
                                      .n = 2,
                                      .style = PERP_STYLE_LINE_POINTS,
                                      .color = k + 1};
    }
    perp_panel panel = {.x = {.label = "l+", .unit = "N s", .lo = -0.05, .hi = 1.05},
                        .y = {.label = "l-", .unit = "N s", .lo = -0.05, .hi = 1.05},
                        .series = series,
                        .nseries = 6,
                        .is_square = 1,
                        .height = 480};
    perp_figure figure = {.title = "All solutions in sticking, c = v + u h: segments",
                          .panels = &panel,
                          .npanels = 1};
    save_figure(&figure, "notes-2.6-solutions.svg");
}

void traditional(void)
{
    static const char figure[] = "notes-2.6-solutions.svg";
    uint64_t seed = 26;
    double mu = 1, spread = 0, velocity = 0, gamma = 0;
    int many = 0, sticking = 0, segments = 0, n = 1000;
    for (int k = 0; k < n; k++) {
        double c = uniform(&seed, 0, 2), v = after_friction(c, mu);
        small_lcp p = problem(c, mu);
        solutions s = all_solutions(&p, NULL);
        many += s.count > 1;
        sticking += c < mu;
        segments += c < mu && is_segment(&s, c, mu);
        for (int i = 0; i < s.count; i++) {
            spread = fmax(spread, fabs(s.z[i][0] - s.z[0][0]));
            velocity = fmax(velocity, fabs(c + s.z[i][0] - s.z[i][1] - v));
            gamma = fmax(gamma, fabs(s.z[i][2] - fabs(v)));
        }
    }
    small_lcp p = problem(0.5, mu);
    perp_lcp lcp = view(&p);
    perp_lcp_class t = {.size = sizeof t};
    perp_lcp_classify(&lcp, &t);
    draw_segments();
    claim("2.6", "M is a P-matrix", SLIPS, t.p_matrix == 1, NULL,
          "P %s; P0 %s, positive semidefinite %s, copositive %s", t.p_matrix ? "yes" : "no",
          t.p0_matrix ? "yes" : "no", t.positive_semidefinite ? "yes" : "no",
          t.copositive ? "yes" : "no");
    claim("2.6", "the solution is unique", SLIPS, many == 0, figure,
          "%d of %d random c have several solutions: all that stick; l+ spreads by up to %.2f",
          many, n, spread);
    claim("2.6 corrected",
          "in sticking all of (t, t + c, 0), 0 <= t <= (mu - c)/2, and nothing else", HOLDS,
          segments == sticking && many == sticking, figure,
          "the ends found are those in %d of %d sticking problems", segments, sticking);
    claim("2.6 corrected", "v+ and l+ - l- are unique", HOLDS, velocity < 1e-12, figure,
          "v+ of all solutions is the law's to %.0e", velocity);
    claim("2.6", "gamma bounds the speed", HOLDS, gamma < 1e-12, NULL, "gamma = |v+| to %.0e",
          gamma);
}

/* The mixed problem with unknowns v, l+, l-, gamma; sign = 1 as printed, -1 corrected:
 * 0 = v + sign (l+ - l-) + sign c. */
static solutions mixed_solutions(double c, double mu, double sign)
{
    double rows[] = {1, sign, -sign, 0, 1, 0, 0, 1, -1, 0, 0, 1, 0, -1, -1, 0},
           q[] = {sign * c, 0, 0, mu};
    unsigned char is_free[] = {1, 0, 0, 0};
    small_lcp p = make_lcp(4, rows, q);
    return all_solutions(&p, is_free);
}

enum { POINTS = 81, BRANCHES = 3 };

void mixed(void)
{
    static double c[POINTS], law[POINTS], x[2][POINTS * BRANCHES], y[2][POINTS * BRANCHES];
    int n[2] = {0}, right[2] = {0}, found[2] = {0};
    for (int k = 0; k < POINTS; k++) {
        c[k] = -2 + 4.0 * k / (POINTS - 1);
        law[k] = after_friction(c[k], 1);
        for (int f = 0; f < 2; f++) {
            solutions s = mixed_solutions(c[k], 1, f ? -1 : 1);
            int all = s.count > 0;
            found[f] += all;
            for (int i = 0; i < s.count; i++) {
                all = all && fabs(s.z[i][0] - law[k]) < 1e-9;
                if (n[f] < POINTS * BRANCHES) x[f][n[f]] = c[k], y[f][n[f]++] = s.z[i][0];
            }
            right[f] += all;
        }
    }
    perp_series series[] = {{.label = "Coulomb's law",
                             .x = c,
                             .y = law,
                             .n = POINTS,
                             .style = PERP_STYLE_GHOST,
                             .color = 8},
                            {.label = "printed sign",
                             .x = x[0],
                             .y = y[0],
                             .n = n[0],
                             .style = PERP_STYLE_POINTS,
                             .color = 2},
                            {.label = "corrected sign",
                             .x = x[1],
                             .y = y[1],
                             .n = n[1],
                             .style = PERP_STYLE_POINTS,
                             .color = 1}};
    save_plot("notes-2.6.1-mixed.svg", "Mixed form, mu m g h = 1 N s: all solutions",
              (perp_axis){.label = "c = v + u h", .unit = "m/s"},
              (perp_axis){.label = "v after the step", .unit = "m/s"}, series, 3);
    claim("2.6.1", "first row [1 1 -1 0] with constant v_k + u", SLIPS, right[0] == POINTS,
          "notes-2.6.1-mixed.svg",
          "all solutions have the right v for %d of %d c (%d have a solution)", right[0], POINTS,
          found[0]);
    claim("2.6.1 corrected", "first row [1 -1 1 0] with constant -(v_k + u)", HOLDS,
          right[1] == POINTS, "notes-2.6.1-mixed.svg",
          "all solutions have the right v for %d of %d c", right[1], POINTS);
}
