/* Installed solvers of others, for comparison in the same run. bench_solvers links them where they are
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

extern const peer perp_bench_peers[]; /* ends with a name of NULL */

#endif
