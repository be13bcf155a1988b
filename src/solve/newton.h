/* Semismooth Newton on an equation that holds exactly at the solutions of a complementarity problem
 * lo <= z <= hi perp w(z). Shared by lcp_newton.c and the mcp methods. */

#ifndef PERP_SRC_NEWTON_H
#define PERP_SRC_NEWTON_H

typedef enum perp__ncp {
    PERP__NCP_MIN, /* z - mid(lo, z - w, hi) */
    /* Fischer-Burmeister: a + b - sqrt(a^2 + b^2), nested for two bounds (Billups 1995) */
    PERP__NCP_FB
} perp__ncp;

/* The problem, as operations on the derivative J of w at the last linearize. */
typedef struct perp__newton_problem {
    int n;
    const double *lo, *hi; /* n each, nullable: 0, INFINITY */
    void *context;
    int (*evaluate)(void *context, const double *z, double *w); /* 0: not defined at z */
    int (*linearize)(void *context, const double *z);           /* 0: not defined at z */
    int (*factor)(void *context, const double *dz,
                  const double *dw);         /* diag(dz) + diag(dw) J; 0: singular */
    void (*solve)(void *context, double *x); /* with that, in place */
    void (*transposed)(void *context, const double *v, double *out); /* J'v */
} perp__newton_problem;

/* doubles of workspace for n */
#define PERP__NEWTON_WORK 7

/* Iterate from z (in, out) until the natural residual is at most `target`, `limit` steps are done,
 * or nothing gets better. Returns the steps done. z stays finite. */
int perp__newton_solve(const perp__newton_problem *problem, perp__ncp kind, double target,
                       int limit, double *z, double *work);

#endif
