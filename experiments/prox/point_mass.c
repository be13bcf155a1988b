/* V.A: a point mass on a frictional plane. */

#include "prox.h"

#include <math.h>

static const double m = 2, mu = 0.5, hy = -20;

/* p = (r/m, h): (25), and (26) with a known normal force in p[2]. */
static double normal_prox(const double *p, double x)
{
    return fmax((1 - p[0]) * x - p[0] * p[1], 0);
}

static double tangential_prox(const double *p, double x)
{
    double bound = mu * p[2], y = (1 - p[0]) * x - p[0] * p[1];
    return fmin(fmax(y, -bound), bound);
}

/* The largest difference of |error after| / |error before| from |1 - r/m| near the solution. */
static double contraction_error(double ratio)
{
    double p[] = {ratio, hy}, x = -hy * 1.1, worst = 0;
    for (int k = 0; k < 8 && fabs(x + hy) > 1e-6; k++) {
        double next = normal_prox(p, x);
        worst = fmax(worst, fabs(fabs((next + hy) / (x + hy)) - fabs(1 - ratio)));
        x = next;
    }
    return worst;
}

/* Iterations of (25) from a guess to a change of 1e-10, or -1 after 10000. */
static int iterations(double r, double guess)
{
    double p[] = {r / m, hy}, x = guess;
    for (int k = 1; k <= 10000; k++) {
        double next = normal_prox(p, x);
        if (fabs(next - x) <= 1e-10) return k - 1;
        x = next;
    }
    return -1;
}

/* The outcome of perp's prox with the same fixed r. */
static perp_outcome outcome_of_prox(double r)
{
    perp_lcp_options o = perp_lcp_options_default(PERP_LCP_PROX);
    perp_lcp_solver *solver;
    perp_lcp_info info = {.size = sizeof info};
    double M = 1 / m, q = hy / m, z;
    perp_lcp lcp = {.n = 1, .M = &M, .ldm = 1, .q = &q};
    o.prox.strategy = PERP_RHO_FIXED, o.prox.rho = r;
    if (perp_lcp_solver_create(PERP_LCP_PROX, 1, &o, &solver) != PERP_OK) die("prox: no solver");
    perp_lcp_solve(solver, &lcp, &z, NULL, &info);
    perp_lcp_solver_destroy(solver);
    return info.outcome;
}

static void draw_figures(void)
{
    static staircase s[3];
    double slow[] = {0.6, hy}, fast[] = {1.6, hy}, tangential[] = {1.6, 4, -hy};
    draw_staircase(&s[0], "normal force, r = 0.6 m", normal_prox, slow, -10, 40, -6, 12,
                   "lambda_U");
    draw_staircase(&s[1], "normal force, r = 1.6 m", normal_prox, fast, -10, 40, -6, 20,
                   "lambda_U");
    draw_staircase(&s[2], "tangential force, h_x = 4 N, r = 1.6 m", tangential_prox, tangential,
                   -12, 12, 11, 20, "lambda_T");
    perp_panel six[] = {s[0].panel, s[1].panel};
    perp_figure figure = {.title =
                              "Figure 6: fixed-point iteration for the normal force, h_y = -20 N",
                          .panels = six,
                          .npanels = 2,
                          .columns = 2};
    save_figure(&figure, "prox-6-normal.svg");
    figure = (perp_figure){.title = "Figure 7: fixed-point iteration for the tangential force",
                           .panels = &s[2].panel,
                           .npanels = 1,
                           .width = 500};
    save_figure(&figure, "prox-7-tangential.svg");
}

static void normal_claims(void)
{
    static const char figure[] = "prox-6-normal.svg";
    static const double ratio[] = {0.1, 0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 1.9};
    double worst = 0;
    int converged = 0, diverged = 0, tried = 0;
    for (int k = 0; k < 8; k++) {
        worst = fmax(worst, contraction_error(ratio[k]));
        for (int g = -3; g <= 3; g++) converged += iterations(ratio[k] * m, 10.0 * g) >= 0, tried++;
    }
    for (double r = 2; r < 10; r += 0.25) diverged += iterations(r * m, 7) < 0;
    claim("V.A", "the slope of the prox function is 1 - r/m: errors shrink by |1 - r/m|", HOLDS,
          worst < 1e-8, figure, "largest difference of a measured factor %.0e, r/m = 0.1..1.9",
          worst);
    double p[] = {1, hy}, once = normal_prox(p, 123);
    claim("V.A", "r = m: one iteration", HOLDS, once == -hy && iterations(m, 123) == 1, figure,
          "from 123 N to %g N in %d", once, iterations(m, 123));
    claim("V.A", "0 < r < 2m converges from any guess", HOLDS, converged == tried, figure,
          "%d of %d runs, guesses -30..30 N", converged, tried);
    claim("V.A", "r >= 2m does not converge", HOLDS, diverged == 32, figure,
          "%d of 32 values r/m = 2..9.75 end at the limit of 10000 iterations; perp's prox, with r "
          "= 3m, reports `%s`: "
          "its driver solves anew on the basis that the last iterate shows",
          diverged, perp_outcome_name(outcome_of_prox(3 * m)));
    p[0] = 1.5, p[1] = 5; /* h_y > 0: the contact opens */
    double x = 30;
    for (int k = 0; k < 100; k++) x = normal_prox(p, x);
    claim("V.A", "h_y > 0: the iterates go to 0", HOLDS, x == 0, NULL,
          "%g N after 100 iterations with r = 1.5 m", x);
}

static void tangential_claims(void)
{
    uint64_t seed = 51;
    int printed = 0, corrected = 0, n = 1000;
    for (int k = 0; k < n; k++) {
        double hx = uniform(&seed, 0.05, 0.95) * mu * -hy,
               p[] = {uniform(&seed, 0.1, 1.9), hx, -hy}, x = uniform(&seed, -50, 50);
        for (int i = 0; i < 2000; i++) x = tangential_prox(p, x);
        printed += fabs(x - hx) < 1e-9, corrected += fabs(x + hx) < 1e-9;
    }
    claim("V.A", "0 < h_x < mu |h_y|: unique solution lambda_T = h_x", SLIPS, printed == n,
          "prox-7-tangential.svg", "%d of %d random runs", printed, n);
    claim("V.A corrected", "lambda_T = -h_x, from any guess, 0 < r < 2m", HOLDS, corrected == n,
          "prox-7-tangential.svg", "%d of %d random runs", corrected, n);
}

/* (27)-(32) without the accelerations: unknowns lambda_U, lambda_f1, lambda_f2, sigma. */
static small_lcp four(double hx, double h_y)
{
    double rows[] = {1 / m, 0, 0, 0, 0, 1 / m, -1 / m, 1, 0, -1 / m, 1 / m, 1, mu, -1, -1, 0};
    double q[] = {h_y / m, hx / m, -hx / m, 0};
    return make_lcp(4, rows, q);
}

static void complementarity_claims(void)
{
    uint64_t seed = 52;
    double worst = 0;
    int solved = 0, rays = 0, n = 5000;
    for (int k = 0; k < n; k++) {
        double hx = uniform(&seed, -30, 30), h_y = uniform(&seed, -30, -0.1), z[4], w[4];
        small_lcp p = four(hx, h_y);
        if (solve_by(PERP_LCP_LEMKE, &p, z, w) != PERP_SOLVED) continue;
        solved++;
        worst = fmax(worst, fabs(z[3] - fabs(hx + z[1] - z[2]) / m));
    }
    for (int k = 0; k < 100; k++) {
        small_lcp p = four(uniform(&seed, -30, 30), uniform(&seed, 0.1, 30));
        solutions s = all_solutions(&p, NULL);
        rays += s.rays == 1 && fabs(s.ray[0][3] - 1) < 1e-9;
    }
    claim("V.A (27-32)", "a standard LCP of size four, solved by Lemke", HOLDS, solved == n, NULL,
          "%d of %d random (h_x, h_y < 0)", solved, n);
    claim("V.A (27-32)", "at a solution sigma = |u_x'|", HOLDS, worst < 1e-12, NULL,
          "to %.0e in all of these", worst);
    claim("V.A (27-32), added",
          "where the contact opens, h_y > 0, sigma is any number above |u_x'|", HOLDS, rays == 100,
          NULL, "a ray along sigma in %d of 100 problems", rays);
}

void point_mass(void)
{
    draw_figures();
    normal_claims();
    tangential_claims();
    complementarity_claims();
}
