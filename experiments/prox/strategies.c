/* V.A leaves the choice of r open: iterations against r, and for every strategy that perp has, on a particle, a box with
 * four contacts and a stack of five boxes (in space, exact cones). */

#include "prox.h"

#include "support/boxes.h"

#include <math.h>

enum { LIMIT = 20000, RS = 41 };

/* Iterations of perp's prox to 1e-6; negative when it does not get there by itself (the driver would go on with Newton's method). */
static int iterations(const contacts *c, perp_rho strategy, double rho, int gauss_seidel,
                      double *residual)
{
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    double r[MOST_R] = {0};
    o.tol = 1e-6, o.max_iter = LIMIT;
    o.prox.strategy = strategy, o.prox.rho = rho, o.prox.gauss_seidel = gauss_seidel;
    if (perp_fc_solver_create(PERP_FC_PROX, &c->problem, &o, &solver) != PERP_OK)
        die("strategies: no solver");
    perp_fc_solve(solver, &c->problem, r, NULL, &info);
    perp_fc_solver_destroy(solver);
    *residual = info.error;
    return info.outcome == PERP_SOLVED && info.method == PERP_FC_PROX ? info.iterations : -1;
}

/* Largest eigenvalue of W, by power iteration. */
static double largest_eigenvalue(const contacts *c)
{
    int n = 3 * c->problem.nc;
    double x[MOST_R], y[MOST_R], size = 0;
    for (int i = 0; i < n; i++) x[i] = 1 + 0.1 * i;
    for (int k = 0; k < 2000; k++) {
        size = 0;
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int j = 0; j < n; j++) y[i] += c->W[i + j * n] * x[j];
            size = fmax(size, fabs(y[i]));
        }
        for (int i = 0; i < n; i++) x[i] = y[i] / size;
    }
    return size;
}

/* The largest fixed r W_nn that converges, by bisection. */
static double largest_fixed(const contacts *c)
{
    double lo = 0.01, hi = 4, residual;
    while (hi > 1.005 * lo) {
        double r = sqrt(lo * hi);
        *(iterations(c, PERP_RHO_FIXED, r / c->weight, 0, &residual) > 0 ? &lo : &hi) = r;
    }
    return lo;
}

static void draw_sweep(const contacts *c)
{
    static double r[3][RS], n[3][RS], bad_r[3][RS], bad_n[3][RS];
    perp_series series[7];
    int count = 0;
    for (int k = 0; k < 3; k++) {
        int good = 0, bad = 0;
        for (int i = 0; i < RS; i++) {
            double ratio = pow(10, -2 + 3.0 * i / (RS - 1)), residual;
            int it = iterations(&c[k], PERP_RHO_FIXED, ratio / c[k].weight, 0, &residual);
            if (it > 0) {
                r[k][good] = ratio, n[k][good++] = it;
            } else {
                bad_r[k][bad] = ratio, bad_n[k][bad++] = LIMIT * (1 + 0.35 * k);
            }
        }
        series[count++] = (perp_series){.label = c[k].name,
                                        .x = r[k],
                                        .y = n[k],
                                        .n = good,
                                        .style = PERP_STYLE_LINE_POINTS,
                                        .color = k + 1};
        series[count++] = (perp_series){.label = k ? NULL : "not in 20000 iterations",
                                        .x = bad_r[k],
                                        .y = bad_n[k],
                                        .n = bad,
                                        .style = PERP_STYLE_POINTS,
                                        .color = k + 1};
    }
    save_plot("prox-iterations.svg",
              "Fixed r, all contacts at once: iterations to a residual of 1e-6",
              (perp_axis){
                  .label = "r W_nn (particle: r/m)", .scale = PERP_SCALE_LOG, .lo = 0.01, .hi = 10},
              (perp_axis){.label = "iterations", .scale = PERP_SCALE_LOG, .lo = 1, .hi = 1e5},
              series, count);
}

static void strategy_table(const contacts *c, int solved[PERP_RHO_COUNT])
{
    static const char *const names[] = {"fixed, r W_nn = 1", "local", "trace", "spectral",
                                        "adaptive"};
    study_text("\nIterations of perp's prox to a relative residual of 1e-6, by the strategy for r. "
               "*no* marks runs that do not converge in %d iterations, with their last residual:\n\n| strategy | %s | %s | %s | %s, "
               "contacts one by one | %s, one by one |\n"
               "| --- | --- | --- | --- | --- | --- |\n",
               LIMIT, c[0].name, c[1].name, c[2].name, c[1].name, c[2].name);
    for (int s = 0; s < PERP_RHO_COUNT; s++) {
        study_text("| %s ", names[s]);
        for (int k = 0; k < 5; k++) {
            const contacts *p = &c[k < 3 ? k : k - 2];
            double residual;
            int it = iterations(p, (perp_rho)s, 1 / p->weight, k >= 3, &residual);
            if (it > 0)
                study_text("| %d ", it);
            else
                study_text("| *no*, %.1g ", residual);
            solved[s] += it > 0;
        }
        study_text("|\n");
    }
}

void strategies(void)
{
    static contacts c[3];
    int solved[PERP_RHO_COUNT] = {0};
    make_boxes(&c[0], "particle", 1, 1, 0.02);
    make_boxes(&c[1], "box, 4 contacts", 1, CORNERS, 0.02);
    make_boxes(&c[2], "5 boxes, 20 contacts", BOXES, CORNERS, 0.02);
    draw_sweep(c);
    double r[3], bound[3];
    for (int k = 0; k < 3; k++)
        r[k] = largest_fixed(&c[k]), bound[k] = 2 * c[k].weight / largest_eigenvalue(&c[k]);
    claim("V.A", "one has to be careful about r: what converges for one contact does not for many",
          HOLDS, r[1] < r[0] && r[2] < r[1], "prox-iterations.svg",
          "largest fixed r W_nn that converges: particle %.3f, box %.3f, stack %.3f", r[0], r[1],
          r[2]);
    double off = 0;
    for (int k = 0; k < 3; k++) off = fmax(off, fabs(r[k] / bound[k] - 1));
    claim("V.A",
          "conjecture: which r converge is a matter of the eigenvalues of the Delassus matrix",
          HOLDS, off < 0.05, "prox-iterations.svg",
          "2 / (largest eigenvalue of W) gives %.3f, %.3f, %.3f: within %.1f %%", bound[0],
          bound[1], bound[2], 100 * off);
    strategy_table(c, solved);
    claim("V.A, added",
          "r by the eigenvalue, by the trace or adapted converges everywhere; a fixed or local r "
          "does not",
          HOLDS,
          solved[PERP_RHO_TRACE] == 5 && solved[PERP_RHO_SPECTRAL] == 5 &&
              solved[PERP_RHO_ADAPTIVE] == 5 && solved[PERP_RHO_FIXED] < 5 &&
              solved[PERP_RHO_LOCAL] < 5,
          "prox-iterations.svg",
          "of 5 problems: trace %d, spectral %d, adaptive %d, local %d, fixed %d",
          solved[PERP_RHO_TRACE], solved[PERP_RHO_SPECTRAL], solved[PERP_RHO_ADAPTIVE],
          solved[PERP_RHO_LOCAL], solved[PERP_RHO_FIXED]);
}
