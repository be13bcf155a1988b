/* Alternating directions of multipliers on the cones (Acary, Bremond and Huber 2018; Boyd et al.
 * 2011, 3). v minimises the augmented Lagrangian with factors of M + rho H H'. Contacts are
 * projected with De Saxce's correction of the present velocities. Over-relaxed, rho balanced. */

#include "base/holds.h"
#include "fclib/cones.h"
#include "solve/fc.h"

#include <math.h>
#include <string.h>

static const double RELAX = 1.6, MOST_APART = 5;

typedef struct sums {
    double primal, dual, u, x; /* squares, in the units of items */
} sums;

/* One item: x and z from velocities u. */
static void project(const perp__fclib_cones *s, int i, double rho, const double *u, double *x,
                    double *z, sums *to)
{
    const perp__cones_item *t = s->item + i;
    double hat[3] = {0}, old[3] = {0}, y[3] = {0}, p[3] = {0}, shift = 0;
    for (int a = 0; a < t->d; a++) {
        hat[a] = i < s->nc ? RELAX * u[a] + (1 - RELAX) * z[a] : u[a];
        old[a] = z[a];
    }
    if (i < s->nc) {
        shift = s->p->mu[i] * perp__length(hat[1], hat[2]);
        hat[0] += shift;
        for (int a = 0; a < t->d; a++) y[a] = x[a] - rho * hat[a];
        perp_fc_project(s->d, s->p->mu[i], y, p);
        for (int a = 0; a < t->d; a++) z[a] = hat[a] + (p[a] - x[a]) / rho;
        z[0] -= shift;
    } else {
        p[0] = x[0] - rho * u[0];
        z[0] = 0;
    }
    for (int a = 0; a < t->d; a++) {
        x[a] = p[a];
        to->primal += rho * (u[a] - z[a]) * (u[a] - z[a]);
        to->dual += rho * (z[a] - old[a]) * (z[a] - old[a]);
        to->u += rho * fmax(u[a] * u[a], z[a] * z[a]);
        to->x += x[a] * x[a] / rho;
    }
}

static perp_status set_penalty(perp__fclib_cones *s, perp__cones_run *run, double rho)
{
    memset(s->weight, 0, 9 * ((size_t)s->nc + (size_t)s->nl) * sizeof *s->weight);
    for (int i = 0; i < s->nc + s->nl; i++)
        for (int a = 0; a < s->item[i].d && s->unit[i] > 0; a++)
            s->weight[9 * (size_t)i + (size_t)(a * (s->item[i].d + 1))] = rho / s->unit[i];
    run->factors++;
    return perp__cones_factor(s);
}

/* One iteration. Returns 0: no solution. */
static int iterate(perp__fclib_cones *s, double *x, double *v, double *z, double *y, sums *to)
{
    for (int i = 0; i < s->nc + s->nl; i++)
        for (int j = s->item[i].row; j < s->item[i].row + s->item[i].d; j++)
            y[j] = x[j] + s->weight[9 * (size_t)i] * (z[j] - s->c[j]);
    perp__cones_forces(s, y, v);
    if (!perp__sparse_ldl_solve(s->ldl, v)) return 0;
    perp__cones_velocities(s, v, y);
    *to = (sums){0};
    for (int i = 0; i < s->nc + s->nl; i++)
        if (s->unit[i] > 0)
            project(s, i, s->weight[9 * (size_t)i], y + s->item[i].row, x + s->item[i].row,
                    z + s->item[i].row, to);
    return 1;
}

/* rho towards where both parts of the rest are alike; 0: it is there. */
static int balance(const sums *at, double *rho)
{
    double least = 1e-12 * fmax(at->u, at->x),
           ratio = sqrt(fmax(at->primal, least) / fmax(at->dual, least));
    if (!(ratio >= MOST_APART || ratio <= 1 / MOST_APART)) return 0;
    *rho *= fmin(fmax(ratio, 0.01), 100);
    return 1;
}

perp_status perp__cones_admm(perp__fclib_cones *s, perp__cones_run *run, int limit, double *rho,
                             double *x, double *v, double *z, double *y)
{
    enum { FIRST_BALANCE = 10, LOOK = 10 };
    int next = FIRST_BALANCE;
    perp_status status = set_penalty(s, run, *rho);
    for (int k = 1; k <= limit && status == PERP_OK; k++) {
        sums at;
        if (!iterate(s, x, v, z, y, &at)) return PERP_ERR_MEMORY;
        run->iterations++;
        if (run->progress && run->progress(run->context, run->iterations, run->error)) {
            run->is_stopped = 1;
            break;
        }
        if (k % LOOK == 0 && perp__cones_error(s, run->tol, x, y) <= 0.1 * run->tol) break;
        if (k < next || k == limit) continue;
        next += next;
        if (balance(&at, rho)) status = set_penalty(s, run, *rho);
    }
    return status;
}
