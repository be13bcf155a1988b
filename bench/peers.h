/* Installed solvers of others, for comparison in the same run. bench_solvers and bench_cones link them where they are
 * installed; the library never does. */

#ifndef PERP_BENCH_PEERS_H
#define PERP_BENCH_PEERS_H

typedef struct peer {
    const char *name;
    int definite_only;
    void *(*create)(int n);
    void (*destroy)(void *self);
    /* M column-major, n x n. z is set; the caller computes the residual. */
    void (*solve)(void *self, int n, const double *M, const double *q, double *z);
} peer;

/* Box friction |t| <= mu * (the last normal force) of nc contacts in space, rows [n t1 t2], by the pivoting of ODE: W n x n is
 * symmetric, n = 3 nc, `self` from the create of "ode-dantzig". r takes the forces. NULL where ODE is not installed. */
extern void (*const perp_bench_box)(void *self, int nc, const double *W, const double *q,
                                    const double *mu, double *r);

extern const peer perp_bench_peers[]; /* ends with a name of NULL */

#endif
