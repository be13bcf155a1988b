/* build/bench_cones [REPEAT]: a plate that is pushed on 4, 9, 16 feet, exact cones by `auto` beside the box friction of ODE's pivoting, the
 * same W, q, mu in turn: CPU time of a solve, least and median, and the ratio of the least. ODE's W has 1e-9 of its mean diagonal more
 * (its pivoting needs a definite one), and its boxes are no cones: the times compare, the forces do not. */

#include "peers.h"
#include "perp/friction.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 4, MOST = 3 * SIDE * SIDE, PUSHES = 64 };

typedef struct plate {
    int nc, solved;
    double W[MOST * MOST], definite[MOST * MOST], q[PUSHES][MOST], mu[SIDE * SIDE];
} plate;

static double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* The velocity of foot (x, y, -z) of a body of mass 1 along [n t1 t2], by its velocity and angular velocity: 3 x 6, row by row. */
static void foot_rows(double x, double y, double z, double *J)
{
    const double rows[3][6] = {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, -z, -y}, {0, 1, 0, z, 0, x}};
    memcpy(J, rows, sizeof rows);
}

/* W = J M^-1 J' and q = J u: gravity over a step and a push, from far within the cone of friction to far beyond it. */
static void make_plate(plate *p, int side)
{
    static const double inverse[6] = {1, 1, 1, 6, 6, 3.2}; /* of mass and inertia */
    double J[MOST][6], mean = 0;
    unsigned long long state = 2026;
    int n = 3 * side * side;
    p->nc = side * side, p->solved = 0;
    for (int i = 0; i < p->nc; i++) {
        double x = (double)(i % side) / (side - 1) - 0.5, y = (double)(i / side) / (side - 1) - 0.5;
        foot_rows(x, y, 0.1, J[3 * i]);
        p->mu[i] = 0.5;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < 6; k++) sum += J[i][k] * inverse[k] * J[j][k];
            p->W[i * n + j] = p->definite[i * n + j] = sum;
        }
        mean += p->W[i * n + i] / n;
    }
    for (int i = 0; i < n; i++) p->definite[i * n + i] += 1e-9 * mean;
    for (int k = 0; k < PUSHES; k++) {
        double u[6] = {0, 0, -9.81e-2, 0, 0, 0};
        for (int c = 0; c < 6; c++)
            if (c != 2) u[c] = 0.1 * (2 * uniform(&state) - 1);
        for (int i = 0; i < n; i++) {
            p->q[k][i] = 0;
            for (int c = 0; c < 6; c++) p->q[k][i] += J[i][c] * u[c];
        }
    }
}

/* All pushes, one after the other, by each in turn. */
static void measure(plate *p, const peer *ode, int repeat)
{
    int n = 3 * p->nc;
    double r[MOST];
    times ours = {0}, theirs = {0};
    perp_fc problem = {.dimension = 3, .nc = p->nc, .q = p->q[0], .mu = p->mu, .W = p->W, .ldw = n};
    perp_fc_solver *solver;
    perp_fc_info info = {.size = sizeof info};
    if (perp_fc_solver_create(PERP_FC_AUTO, &problem, NULL, &solver) != PERP_OK) return;
    void *self = ode ? ode->create(n) : NULL;
    for (int k = 0; k < repeat; k++) {
        double start = cpu_now();
        p->solved = 0;
        for (int i = 0; i < PUSHES; i++) {
            problem.q = p->q[i];
            perp_fc_solve(solver, &problem, r, NULL, &info);
            p->solved += info.outcome == PERP_SOLVED;
        }
        times_add(&ours, (cpu_now() - start) / PUSHES);
        start = cpu_now();
        for (int i = 0; i < PUSHES && ode; i++)
            perp_bench_box(self, p->nc, p->definite, p->q[i], p->mu, r);
        if (ode) times_add(&theirs, (cpu_now() - start) / PUSHES);
    }
    printf("%2d feet: cones %8.2f us, median %8.2f, %d of %d solved", p->nc,
           1e6 * times_least(&ours), 1e6 * times_median(&ours), p->solved, PUSHES);
    if (ode)
        printf("; ODE's boxes %8.2f us, median %8.2f; ratio %.2f", 1e6 * times_least(&theirs),
               1e6 * times_median(&theirs), times_least(&ours) / times_least(&theirs));
    printf("\n");
    if (ode) ode->destroy(self);
    perp_fc_solver_destroy(solver);
}

int main(int argc, char **argv)
{
    static plate p;
    const peer *ode = NULL;
    int repeat = argc > 1 ? atoi(argv[1]) : 50;
    for (const peer *q = perp_bench_peers; q->name && perp_bench_box; q++)
        if (strcmp(q->name, "ode-dantzig") == 0) ode = q;
    if (!ode) printf("ODE is not installed: ours alone\n");
    for (int side = 2; side <= SIDE; side++) {
        make_plate(&p, side);
        measure(&p, ode, repeat);
    }
    return 0;
}
