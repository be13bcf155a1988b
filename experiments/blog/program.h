/* The nonlinear program that the blog solves in every step (its equations 9 to 19), on IPOPT. */

#ifndef PERP_EXPERIMENT_BLOG_H
#define PERP_EXPERIMENT_BLOG_H

enum {
    X,
    Z,
    VX,
    VZ,
    FX,
    FZ,
    S1,
    S2,
    LAMBDA,
    VARIABLES
}; /* states at the end of the step, forces, slacks, multiplier */

typedef struct blog_particle {
    double m, mu, g, h, eps;
    int max_iter; /* of IPOPT in a step; as posted: 2000 */
    int is_implicit; /* 0: the friction law has the velocity before the step, as posted; 1: the one after it */
} blog_particle;

typedef struct blog_step {
    double y[VARIABLES];
    int failed; /* IPOPT does not say that it solved the program */
    int iterations;
} blog_step;

/* 1 if this build has IPOPT. */
int blog_has_ipopt(void);

/* One step from the state before it (4 entries), with the blog's starting point and tolerance. */
blog_step blog_solve(const blog_particle *p, const double *before);

#endif
