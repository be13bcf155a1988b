/* V.A leaves the choice of r open: iterations against r, and for every strategy that perp has, on a particle, a box with
 * four contacts and a stack of five boxes (in space, exact cones). */

#include "prox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BOXES = 5,
    CORNERS = 4,
    MOST_V = 6 * BOXES,
    MOST_R = 3 * CORNERS * BOXES,
    LIMIT = 20000,
    RS = 41
};

typedef struct contacts {
    const char *name;
    perp_fc problem;
    double M[MOST_V * MOST_V], J[MOST_R * MOST_V], W[MOST_R * MOST_R], q[MOST_R],
        mu[CORNERS * BOXES];
    double weight; /* W_nn of a contact */
} contacts;

/* Row of the Jacobian: velocity along axis a of the point at `arm` from the centre of box b, times sign. */
static void add_row(contacts *c, int row, int b, int a, const double arm[3], double sign)
{
    int n = 3 * c->problem.nc, y = (a + 1) % 3, z = (a + 2) % 3;
    double *J = c->J + row + 6 * b * n;
    J[a * n] += sign;
    J[(3 + y) * n] += sign * arm[z]; /* (omega x arm)_a = omega_y arm_z - omega_z arm_y */
    J[(3 + z) * n] -= sign * arm[y];
}

static void finish(contacts *c, double push)
{
    perp_fc *p = &c->problem;
    int n = 3 * p->nc, nv = p->nv;
    double v[MOST_V] = {0};
    p->M = c->M, p->ldm = nv, p->J = c->J, p->ldj = n, p->q = c->q, p->mu = c->mu;
    for (int b = 0; b < nv / 6; b++) v[6 * b + 2] = -9.81e-2; /* one step of 10 ms */
    v[nv - 6] = push, v[nv - 5] = push / 3;                   /* the top is pushed aside */
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < nv; k++) c->q[i] += c->J[i + k * n] * v[k];
    }
    for (int i = 0; i < p->nc; i++) c->mu[i] = 0.5;
    if (perp_fc_delassus(p, c->W, n) != PERP_OK) die("strategies: no Delassus matrix");
    c->weight = c->W[0];
    p->W = c->W, p->ldw = n; /* the dense form */
}

static void make_boxes(contacts *c, const char *name, int boxes, int corners, double push)
{
    const double half[3] = {0.5, 0.5, 0.2}, mass = 2;
    memset(c, 0, sizeof *c);
    c->name = name;
    c->problem = (perp_fc){.dimension = 3, .nc = boxes * corners, .nv = 6 * boxes};
    int nv = 6 * boxes;
    for (int b = 0; b < boxes; b++) {
        for (int a = 0; a < 3; a++) {
            double y = half[(a + 1) % 3], z = half[(a + 2) % 3];
            c->M[(6 * b + a) * (nv + 1)] = mass;
            c->M[(6 * b + 3 + a) * (nv + 1)] = mass / 3 * (y * y + z * z);
        }
        for (int k = 0; k < corners; k++) {
            double below[3] = {k & 1 ? half[0] : -half[0], k & 2 ? half[1] : -half[1], -half[2]},
                   above[3] = {below[0], below[1], half[2]};
            static const int axis[3] = {2, 0, 1};                 /* normal, two tangents */
            if (corners == 1) below[0] = below[1] = below[2] = 0; /* a particle */
            for (int i = 0; i < 3; i++) {
                int row = 3 * (b * corners + k) + i;
                add_row(c, row, b, axis[i], below, 1);
                if (b > 0) add_row(c, row, b - 1, axis[i], above, -1);
            }
        }
    }
    finish(c, push);
}

/* Iterations of perp's prox to 1e-6; negative when it does not get there. */
static int iterations(const contacts *c, perp_rho strategy, double rho, int gauss_seidel,
                      double *residual)
{
    perp_fc_options o = perp_fc_options_default();
    perp_fc_solver *solver;
    perp_fc_info info;
    double r[MOST_R] = {0};
    o.tol = 1e-6, o.max_iter = LIMIT;
    o.prox.strategy = strategy, o.prox.rho = rho, o.prox.gauss_seidel = gauss_seidel;
    if (perp_fc_solver_create(PERP_FC_PROX, &c->problem, &o, &solver) != PERP_OK)
        die("strategies: no solver");
    perp_fc_solve(solver, &c->problem, r, NULL, &info);
    perp_fc_solver_destroy(solver);
    *residual = info.residual_scaled;
    return info.outcome == PERP_SOLVED ? info.iterations : -1;
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
    study_text("Iterations of perp's prox to a relative residual of 1e-6, by the strategy for r; "
               "*no* marks those that do not get there "
               "in %d iterations, with their last residual:\n\n| strategy | %s | %s | %s | %s, "
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
