/* V.B: Painleve's rod, 0 <= lambda perp G lambda + b >= 0. */

#include "prox.h"

#include <math.h>

/* A uniform rod: m = 1 kg, L = 2 m, J = m L^2/12. */
static const double m = 1, L = 2, J = 1.0 / 3;

static double G_of(double mu, double theta)
{
    return 1 / m + L * L * cos(theta) / (4 * J) * (cos(theta) - mu * sin(theta));
}

/* p = (r, G, b): (46). */
static double contact_prox(const double *p, double x)
{
    return fmax(x - p[0] * (p[1] * x + p[2]), 0);
}

typedef struct one_case {
    double mu, g; /* theta = 1 */
    const char *what;
} one_case;

static const one_case cases[] = {{0.5, 9.81, "9: g > 0, G > 0, contact stays"},
                                 {0.5, -9.81, "10: g < 0, G > 0, contact opens"},
                                 {2, 9.81, "11: g > 0, G < 0, no solution"},
                                 {2, -9.81, "12: g < 0, G < 0, two solutions"}};
static const double r0 = 0.7;

static void draw_cases(void)
{
    static staircase s[5];
    static const double start[] = {1, 18, 2, 9};
    perp_panel panels[5];
    for (int k = 0; k < 5; k++) {
        const one_case *c = &cases[k < 4 ? k : 3];
        double p[] = {r0, G_of(c->mu, 1), -c->g};
        draw_staircase(&s[k], k < 4 ? c->what : "12, from above the second solution", contact_prox,
                       p, -5, 30, k < 4 ? start[k] : 13, 12, "lambda_U");
        panels[k] = s[k].panel;
    }
    perp_figure figure = {.title = "Figures 9-12: the fixed point of Painleve's rod, r = 0.7 kg",
                          .panels = panels,
                          .npanels = 5,
                          .columns = 2};
    save_figure(&figure, "prox-9-12-painleve.svg");
}

enum { NX = 120, NY = 90 };

static double draw_map(void)
{
    static double value[NX * NY], theta[NX], critical[NX];
    double lowest = 1e9, pi = 4 * atan(1);
    for (int i = 0; i < NX; i++) {
        theta[i] = pi / 2 * (i + 0.5) / NX;
        double a = L * L / (4 * J), c = cos(theta[i]), s = sin(theta[i]),
               mu = (1 / m + a * c * c) / (a * c * s);
        lowest = fmin(lowest, mu);
        critical[i] = mu <= 4 ? mu : (double)NAN;
        for (int j = 0; j < NY; j++)
            value[j * NX + i] = fmax(-2, fmin(G_of(4 * (j + 0.5) / NY, theta[i]), 4));
    }
    perp_map map = {.value = value,
                    .nx = NX,
                    .ny = NY,
                    .x_lo = 0,
                    .x_hi = pi / 2,
                    .y_lo = 0,
                    .y_hi = 4,
                    .label = "G [1/kg]"};
    perp_series line = {
        .label = "G = 0; above it G < 0", .x = theta, .y = critical, .n = NX, .color = 2};
    perp_panel panel = {.x = {.label = "theta", .unit = "rad", .lo = 0, .hi = pi / 2},
                        .y = {.label = "mu", .lo = 0, .hi = 4},
                        .series = &line,
                        .nseries = 1,
                        .map = &map,
                        .height = 380};
    perp_figure figure = {
        .title = "Where G < 0: a uniform rod, m = 1 kg, L = 2 m", .panels = &panel, .npanels = 1};
    save_figure(&figure, "prox-painleve-map.svg");
    return lowest;
}

/* How many of n random (G, b) with these signs have just the solutions that are said. */
static int count_solutions(int sign_G, int sign_b, int n)
{
    uint64_t seed = 53;
    int right = 0;
    for (int k = 0; k < n; k++) {
        double G = sign_G * uniform(&seed, 0.1, 3), b = sign_b * uniform(&seed, 0.1, 20), found = 0;
        small_lcp p = make_lcp(1, &G, &b);
        solutions s = all_solutions(&p, NULL);
        int expected = sign_G > 0 ? 1 : sign_b > 0 ? 2 : 0;
        for (int i = 0; i < s.count; i++)
            found += fabs(s.z[i][0] - (sign_b > 0 ? 0 : -b / G)) < 1e-9 ||
                     (sign_G < 0 && fabs(s.z[i][0] + b / G) < 1e-9);
        right += s.count == expected && found == expected;
    }
    return right;
}

static void count_claims(double lowest)
{
    int n = 1000, unique = count_solutions(1, 1, n) + count_solutions(1, -1, n),
        two = count_solutions(-1, 1, n), none = count_solutions(-1, -1, n);
    claim("V.B", "G > 0: a unique solution for any b", HOLDS, unique == 2 * n,
          "prox-9-12-painleve.svg", "%d of %d random problems", unique, 2 * n);
    claim("V.B", "G < 0, b > 0: two solutions", HOLDS, two == n, "prox-9-12-painleve.svg",
          "0 and -b/G in %d of %d", two, n);
    claim("V.B", "G < 0, b < 0: no solution", HOLDS, none == n, "prox-9-12-painleve.svg",
          "%d of %d", none, n);
    claim("V.B", "G can be made negative by plausible m, J, L, theta, mu", HOLDS, lowest < 2,
          "prox-painleve-map.svg", "uniform rod: above mu = %.4f (4/3) at theta = arctan 2",
          lowest);
}

typedef enum end { CONVERGED, DIVERGED, NEITHER } end;

/* (46) from a guess. */
static end fixed_point(double G, double b, double *z)
{
    double p[] = {r0, G, b};
    for (int k = 0; k < 5000; k++) {
        double next = contact_prox(p, *z);
        if (next == *z) return CONVERGED;
        *z = next;
        if (next > 1e12) return DIVERGED;
    }
    return NEITHER;
}

/* perp's prox with the same fixed r from a guess. */
static perp_outcome prox_outcome(double G, double b, double guess, double *z)
{
    static perp_lcp_solver *solver;
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_PROX);
    perp_lcp_info info = {.size = sizeof info};
    perp_lcp lcp = {.n = 1, .M = &G, .ldm = 1, .q = &b};
    o.prox.strategy = PERP_RHO_FIXED, o.prox.rho = r0, o.warm_start = 1;
    if (!solver && perp_lcp_solver_create(PERP_LCP_PROX, 1, &o, &solver) != PERP_OK)
        die("prox: no solver");
    *z = guess;
    perp_lcp_solve(solver, &lcp, z, NULL, &info);
    return info.outcome;
}

static void fixed_point_claims(void)
{
    static const char figure[] = "prox-9-12-painleve.svg";
    double G = G_of(2, 1), b = 9.81, second = -b / G, z;
    int below = 0, above = 0, none = 0, n = 50;
    for (int k = 0; k < n; k++) {
        z = second * (k + 0.5) / n * 0.999;
        below += fixed_point(G, b, &z) == CONVERGED && z == 0;
        z = second * (1.001 + k);
        above += fixed_point(G, b, &z) == DIVERGED;
        z = k;
        none += fixed_point(G, -b, &z) == DIVERGED;
    }
    claim("V.B", "two solutions: guesses below the second one lead to 0", HOLDS, below == n, figure,
          "%d of %d", below, n);
    claim("V.B", "two solutions: guesses above the second one diverge", HOLDS, above == n, figure,
          "%d of %d", above, n);
    claim("V.B", "no solution: fixed-point iterations diverge from any guess", HOLDS, none == n,
          figure, "%d of %d", none, n);
    perp_outcome no_solution = prox_outcome(G, -b, 1, &z),
                 bad_guess = prox_outcome(G, b, 2 * second, &z);
    claim("V.B", "the fixed-point iteration cannot tell a bad guess from no solution", HOLDS,
          above == n && none == n, figure,
          "both diverge. perp's prox reports `%s` without solution and `%s` (%.4g N) for a bad "
          "guess: the iterate overflows "
          "and is set back to 0, here a solution",
          perp_outcome_name(no_solution), perp_outcome_name(bad_guess), z);
    small_lcp p = make_lcp(1, &G, &(double){-b});
    perp_outcome lemke = solve_by(PERP_LCP_LEMKE, &p, &z, NULL);
    claim("V.B", "a pivoting method recognises that there is no solution", HOLDS,
          lemke == PERP_INFEASIBLE, NULL, "lemke reports `%s`, with a certificate",
          perp_outcome_name(lemke));
    p = make_lcp(1, &G, &b);
    int count = all_solutions(&p, NULL).count;
    claim("V.B", "pivoting may end at either solution, or be made to find both", HOLDS, count == 2,
          NULL, "lemke ends at %g; the search of all supports finds %d",
          (solve_by(PERP_LCP_LEMKE, &p, &z, NULL), z), count);
}

/* What each method makes of the four cases. */
static void outcome_table(void)
{
    study_text(
        "\nWhat each method reports for Painleve's rod (theta = 1, |g| = 9.81 m/s^2, mu = 0.5 "
        "and 2):\n\n"
        "| method | G > 0, contact stays | G > 0, opens | G < 0, none | G < 0, two |\n| --- "
        "| --- | --- | --- | --- |\n");
    for (int method = 0; method < PERP_LCP_METHOD_COUNT; method++) {
        if (method == PERP_LCP_ENUMERATE) continue;
        study_text("| %s ", perp_lcp_method_name((perp_lcp_method)method));
        for (int k = 0; k < 4; k++) {
            double G = G_of(cases[k].mu, 1), b = -cases[k].g, z = 0;
            small_lcp p = make_lcp(1, &G, &b);
            perp_outcome outcome = solve_by((perp_lcp_method)method, &p, &z, NULL);
            if (outcome == PERP_SOLVED)
                study_text("| %.4g N ", z);
            else
                study_text("| %s ", perp_outcome_name(outcome));
        }
        study_text("|\n");
    }
    study_text("| all solutions ");
    for (int k = 0; k < 4; k++) {
        double G = G_of(cases[k].mu, 1), b = -cases[k].g;
        small_lcp p = make_lcp(1, &G, &b);
        solutions s = all_solutions(&p, NULL);
        study_text("| ");
        for (int i = 0; i < s.count; i++) study_text("%s%.4g N", i ? " and " : "", s.z[i][0]);
        study_text(s.count ? " " : "none ");
    }
    study_text("|\n");
}

static double gap(double t)
{
    return 1.2 * t * t -
           L / 2 *
               sin(0.4 + 0.9 * t + 0.7 * t * t); /* q_y = 1.2 t^2, theta = 0.4 + 0.9 t + 0.7 t^2 */
}

static void kinematics_claims(void)
{
    double t = 0.3, d = 1e-4, theta = 0.4 + 0.9 * t + 0.7 * t * t, rate = 0.9 + 1.4 * t;
    double right_side = 2.4 + L / 2 * (rate * rate * sin(theta) - 1.4 * cos(theta));
    double first = (gap(t + d) - gap(t - d)) / (2 * d),
           second = (gap(t + d) - 2 * gap(t) + gap(t - d)) / (d * d);
    claim("V.B (44)", "the right side is the first derivative of g_U", SLIPS,
          fabs(first - right_side) < 1e-4, NULL,
          "right side %.6f, first derivative by differences %.6f", right_side, first);
    claim("V.B (44) corrected", "it is the second", HOLDS, fabs(second - right_side) < 1e-4, NULL,
          "second derivative by differences %.6f", second);
}

void painleve(void)
{
    draw_cases();
    count_claims(draw_map());
    fixed_point_claims();
    kinematics_claims();
    outcome_table();
}
