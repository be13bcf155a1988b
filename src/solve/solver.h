/* Internal: what a complementarity solver is to the driver. One file per method defines
 * perp__<name>; the registry is include/perp/solvers.def. */

#ifndef PERP_SRC_SOLVER_H
#define PERP_SRC_SOLVER_H

#include "perp/lcp.h"

/* Problem classes of the registry. */
enum { PERP_LCP };

struct perp_solver {
    perp_method method, answered; /* the one asked for, the one that gave the answer */
    perp_solver_options options;
    int n_max;
    int isa;             /* of linalg/simd.h */
    double *z, *w;       /* n each; a method leaves its answer in z, the driver computes w */
    double *z2, *w2;     /* n each: the driver's, for an answer computed anew on the basis */
    double *start;       /* n: the caller's z, where options.warm_start */
    double *ray;         /* n: direction of z a pivoting method ended on */
    double *certificate; /* n: u >= 0, M'u <= 0, q'u < 0 */
    double *scratch;     /* n: the driver's */
    unsigned char
        *basis; /* n: 1 where z_i is basic; a pivoting method leaves its own and sets has_basis */
    double *factors;  /* n x n: LU of the basis */
    int *swap, *rows; /* n each: of the factors */
    double *work;     /* the method's, from the first cache line in work_block */
    void *work_block;
    int *index; /* the method's, zero at creation */
    int nrows;  /* order of the factors; -1 when there are none of this solve */
    int n;      /* size of the last problem that was solved; -1 if none */
    int has_basis, has_ray, has_certificate;
    double scale;                     /* 1 + max|q| */
    double residual, residual_scaled; /* of z */

    /* Problems with bounds, for methods that take none (mixed.c). */
    perp_solver *inner; /* solves the pure problem, of up to 2 n pairs */
    double *mixed;      /* its M, q and what maps it back */
    int *mixed_index;
    int is_differentiated; /* the factors are those of perp_lcp_differentiate */
};

typedef struct perp__solver {
    size_t (*doubles)(int n); /* size of solver->work */
    size_t (*ints)(int n);    /* of solver->index */
    /* Solve a problem whose numbers are finite, in the attempt-th way. Leave in solver->z the answer,
     * or the best point; add to *iterations. The driver checks it, and tries the next way if there
     * is one. */
    perp_outcome (*solve)(perp_solver *solver, const perp_lcp *lcp, int attempt, int *iterations);
    int attempts;              /* at least 1 */
    int takes_bounds;          /* problems with lo and hi as they are; the others get a pure one */
    int (*is_available)(void); /* nullable: always */
} perp__solver;

#define PERP_SOLVER(name, NAME, problem, summary) extern const perp__solver perp__##name;
#include "perp/solvers.def"
#undef PERP_SOLVER

/* Bounds of a pair, which the problem may leave out. */
static inline double perp__lo(const perp_lcp *lcp, int i)
{
    return lcp->lo ? lcp->lo[i] : 0;
}

static inline double perp__hi(const perp_lcp *lcp, int i)
{
    return lcp->hi ? lcp->hi[i] : (double)__builtin_inf();
}

/* mid(lo, x, hi) */
static inline double perp__clamp(const perp_lcp *lcp, int i, double x)
{
    double lo = perp__lo(lcp, i), hi = perp__hi(lcp, i);
    return x < lo ? lo : x > hi ? hi : x;
}

/* z - mid(lo, z - w, hi), the natural residual of a pair, without the difference z - w: a w that is small beside z
 * would vanish in it. */
static inline double perp__natural(double z, double w, double lo, double hi)
{
    double below = z - lo, above = z - hi;
    return w > below ? below : w < above ? above : w;
}

static inline const double *perp__column(const perp_lcp *lcp, int j)
{
    return lcp->M + (size_t)j * (size_t)lcp->ldm;
}

/* Run one method to the end of its attempts; outcome, residual, z and w are verified and left in the
 * solver. */
perp_outcome perp__lcp_run(perp_solver *solver, const perp__solver *method, const perp_lcp *lcp,
                           int *iterations);

/* Residual of solver->z into solver->residual; where that is more than rounding, z is computed anew
 * from M and q on the basis (the method's, else the one z shows), and kept if it is better. */
void perp__lcp_verify(perp_solver *solver, const perp_lcp *lcp);

/* M_bb for the basis into solver->factors, its rows into solver->rows. Returns its order. */
int perp__lcp_gather_basis(perp_solver *solver, const perp_lcp *lcp);

/* LU of M_bb for the basis into solver->factors. 0 if singular. */
int perp__lcp_factor_basis(perp_solver *solver, const perp_lcp *lcp);

/* farkas.c: into solver->certificate what may prove that there is no solution. */
void perp__lcp_farkas(perp_solver *solver, const perp_lcp *lcp);

/* Forget what a warm start would begin from. */
void perp__lcp_forget(perp_solver *solver);

/* mixed.c: state a problem with bounds as a pure one, and read its answer back into solver->z and
 * solver->basis. Sizes of the workspace for n pairs. */
size_t perp__mixed_doubles(int n);
size_t perp__mixed_ints(int n);
perp_lcp perp__mixed_reduce(perp_solver *solver, const perp_lcp *lcp);
void perp__mixed_expand(perp_solver *solver, const perp_lcp *lcp);

#endif
