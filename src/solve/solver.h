/* Internal: what a complementarity solver is to the driver. One file per method defines
 * perp__<name>; the registry is include/perp/solvers.def. */

#ifndef PERP_SRC_SOLVER_H
#define PERP_SRC_SOLVER_H

#include "perp/lcp.h"

struct perp_solver {
    perp_method method;
    perp_solver_options options;
    int n_max;
    unsigned char *basis; /* n: 1 where z_i is basic */
    double *ray;          /* n: direction of z a pivoting method ended on */
    double *certificate;  /* n: u >= 0, M'u <= 0, q'u < 0 */
    double *z, *w;        /* n each: the driver's */
    double *work;         /* the method's */
    int *index;
    int has_basis, has_ray, has_certificate;
};

/* Problem classes of the registry. */
enum { PERP_LCP };

typedef struct perp__solver {
    size_t (*doubles)(int n); /* size of solver->work */
    size_t (*ints)(int n);    /* of solver->index */
    /* Solve a problem whose numbers are finite. Leave in z the answer, or the best point. The
     * driver checks it. */
    perp_outcome (*solve)(perp_solver *solver, const perp_lcp *lcp, double *z, int *iterations);
} perp__solver;

#define PERP_SOLVER(name, NAME, problem, summary) extern const perp__solver perp__##name;
#include "perp/solvers.def"
#undef PERP_SOLVER

#endif
