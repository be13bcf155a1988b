/* Internal: what a complementarity solver is to the driver. One file per method defines
 * perp__lcp_<name>; the registry is include/perp/solvers.def. */

#ifndef PERP_SRC_SOLVER_H
#define PERP_SRC_SOLVER_H

#include "perp/lcp.h"

#include <stdint.h>
#include <string.h>

/* Problem classes of the registry. */
enum { PERP_LCP };

/* LU of the matrix of a basis, its rows and columns scaled. */
typedef struct perp__basis_lu {
    double *values;                   /* n_max x n_max */
    double *row_scale, *column_scale; /* n_max each: powers of two */
    int *swap, *rows, *order;         /* n_max each */
    int n;                            /* its order; -1 when there is none of this solve */
    int rank;
    int is_differentiated; /* it is that of perp_lcp_differentiate */
} perp__basis_lu;

typedef struct perp__lcp_parts perp__lcp_parts;

struct perp_lcp_solver {
    perp_lcp_method method, answered; /* the one asked for, the one that gave the answer */
    perp_lcp_options options;
    int n_max;
    int isa;             /* of linalg/simd.h */
    double *z, *w;       /* n each; a method leaves its answer in z, the driver computes w */
    double *z2, *w2;     /* n each: the driver's, for an answer computed anew on the basis */
    double *start;       /* n: the caller's z, where options.warm_start */
    double *ray;         /* n: direction of z a pivoting method ended on */
    double *certificate; /* n: u >= 0, M'u <= 0, q'u < 0 */
    double *kept;        /* n: the best point of auto */
    double *scratch, *correction, *fine; /* n each: the driver's */
    double *terms, *data, *low;          /* n each: S and D of each row, see verdict.c; scratch */
    double *target, *along;              /* n each: of farkas.c */
    unsigned char
        *basis; /* n: 1 where z_i is basic; a pivoting method leaves its own and sets has_basis */
    unsigned char *wrong;        /* n: 1 where that is wrong */
    unsigned char *needy, *part; /* n each: of rows whose own data rounding hides, see verdict.c */
    perp__basis_lu lu;           /* of its matrix */
    double *work;                /* the method's, from the first cache line in work_block */
    void *work_block;
    int *index; /* the method's, zero at creation */
    int n;      /* size of the last problem that was solved; -1 if none */
    int has_basis, has_ray, has_certificate;
    /* lemke's guess of this solve: 1 it is in z, -1 it led nowhere, 0 there was none */
    int guessed;
    int pivots;             /* of the last guess */
    int is_exhausted;       /* the method says that its further attempts would change nothing */
    int out_of_memory;      /* a method could not do its work (nlp) */
    double residual, error; /* of z */
    /* the caller judges by data of its own: rows that rounding hides may be redundant ones */
    int takes_rounded;

    /* Problems with bounds, for methods that take none (mixed.c). */
    perp_lcp_solver *inner; /* solves the pure problem, of up to 2 n pairs */
    double *mixed;          /* its M, q and what maps it back */
    int *mixed_index;
    perp__lcp_parts *parts; /* lcp_parts.c */
    struct {
        double *block; /* M and q */
        double *R, *C; /* NULL where all are 1 */
    } own;             /* own_units.c: the problem in units of its own */
};

typedef struct perp__solver {
    size_t (*doubles)(int n); /* size of solver->work */
    size_t (*ints)(int n);    /* of solver->index */
    /* Solve a problem whose numbers are finite, in the attempt-th way. Leave in solver->z the
     * answer, or the best point; add to *iterations. The driver checks it, and tries the next way
     * if there is one. */
    perp_outcome (*solve)(perp_lcp_solver *solver, const perp_lcp *lcp, int attempt,
                          int *iterations);
    int attempts;              /* at least 1 */
    int is_driver;             /* its word has been verified by perp__lcp_run */
    int in_own_units;          /* problems without bounds are given in units of their own */
    int takes_bounds;          /* problems with lo and hi directly; the others get a pure one */
    int (*is_available)(void); /* nullable: always */
} perp__solver;

/* Sums of terms below this have lost digits in underflow. */
#define PERP__UNDERFLOW 1e-291

/* Sums in twice the precision leave less than this of their terms where a condition holds but for
 * rounding. */
#define PERP__STRICT 1e-20

#define PERP_LCP_METHOD(name, NAME, problem, summary) extern const perp__solver perp__lcp_##name;
#include "perp/solvers.def"
#undef PERP_LCP_METHOD

/* A row of a problem without bounds that does not hold relative to its own data is one of two. It
 * is redundant, and its datum is itself rounding; or it has lost that datum
 * (docs/adr/114-redundant-rows.md). It counts as redundant if it is violated by at most NOISE
 * roundings of its sum, or SEEN times the tolerance of its own data, and its terms are at most
 * GROWTH times those that the data ask for. */
#define PERP__LCP_NOISE  32
#define PERP__LCP_SEEN   10
#define PERP__LCP_GROWTH 32

/* What no z near makes of such rows but by so many roundings of their terms is no rounding of M and
 * q. */
#define PERP__LCP_ROUNDINGS 4

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
    if (x < lo) return lo;
    if (x > hi) return hi;
    return x;
}

/* z - mid(lo, z - w, hi), the natural residual of a pair, without the difference z - w: a w much
 * smaller than z would vanish in it. */
static inline double perp__natural(double z, double w, double lo, double hi)
{
    double below = z - lo, above = z - hi;
    if (w > below) return below;
    if (w < above) return above;
    return w;
}

/* 2^k <= x < 2^(k + 1), x > 0 normal; by its bits */
static inline double perp__power_below(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 1 + max|q|, by which some methods end. */
static inline double perp__lcp_scale(const perp_lcp *lcp)
{
    double largest = 0;
    for (int i = 0; i < lcp->n; i++) {
        double size = lcp->q[i] < 0 ? -lcp->q[i] : lcp->q[i];
        largest = size > largest ? size : largest;
    }
    return 1 + largest;
}

static inline const double *perp__column(const perp_lcp *lcp, int j)
{
    return lcp->M + (size_t)j * (size_t)lcp->ldm;
}

/* Runs one method to the end of its attempts, or to a proof that there is no solution. Outcome,
 * residual, error, z and w are verified and left in the solver. */
perp_outcome perp__lcp_run(perp_lcp_solver *solver, const perp__solver *method, const perp_lcp *lcp,
                           int *iterations);

/* verdict.c: does solver->z solve the problem? Where plain sums leave that open, z is computed anew
 * on the basis (the method's, else the one z shows). Residual and error of z, or of the better
 * point found, are left in the solver. Where the point is a guess that no iteration has moved,
 * there is one direct solve at most. */
int perp__lcp_verify(perp_lcp_solver *solver, const perp_lcp *lcp, int is_guess);

/* The beginning of that, for problems without bounds: do plain sums show it, by the data of each
 * row or of others? Numbers that are not finite never pass, up to 16 unknowns. Leaves w and the
 * terms. */
int perp__lcp_is_shown(perp_lcp_solver *solver, const perp_lcp *lcp);

/* The principal pivots with which lemke begins, n <= PERP__GUESS_UP_TO: z, the basis and their
 * number. Returns 0 if they find no answer, 2 if a pair changed sides more than once.
 * lcp_lemke.c. */
enum { PERP__GUESS_UP_TO = 16 };
int perp__lemke_guess(perp_lcp_solver *solver, const perp_lcp *lcp);

/* For z + fine, the solution on the basis, which holds on the scale of others' data: does each row
 * hold relative to its own, or need it not? */
int perp__lcp_keeps_data(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z);

/* The error of z + fine, z between its bounds, by sums in twice the precision; w and the terms are
 * left behind. Of the solver isa, options.tol, terms, data, low, scratch and fine are used. */
double perp__lcp_error(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z, double *w);

/* After that: does a row live on digits that z, rounded to doubles, has lost and z + fine has? */
int perp__lcp_needs_fine(const perp_lcp_solver *solver, int n);

/* The same without a judgement: w of z + fine in twice the precision, and the terms. */
void perp__lcp_product(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z, double *w);

/* w and the terms of its rows, of solver->z. */
void perp__lcp_terms(perp_lcp_solver *solver, const perp_lcp *lcp);

/* The data of every row of a problem without bounds into solver->data. */
void perp__lcp_data(perp_lcp_solver *solver, const perp_lcp *lcp);

/* The size that z_i may have: what would change some row by its terms (solver->terms). */
double perp__lcp_size(const perp_lcp_solver *solver, const perp_lcp *lcp, int i);

/* solver->basis from z, w and the terms of a verdict. z_i is basic if its distance from its bounds,
 * on its own scale, is more than w_i on that of its row. */
void perp__lcp_basis_of_point(perp_lcp_solver *solver, const perp_lcp *lcp);

/* M_bb for the basis into solver->lu.values, its rows into lu.rows. Returns its order. */
int perp__lcp_gather_basis(perp_lcp_solver *solver, const perp_lcp *lcp);

/* LU of M_bb for the basis into solver->lu, rows and columns scaled. Returns 0 if singular. */
int perp__lcp_factor_basis(perp_lcp_solver *solver, const perp_lcp *lcp);

/* x := inv(M_bb) x with that. */
void perp__lcp_solve_basis(const perp_lcp_solver *solver, double *x);

/* Scales that bring the largest entry of every row and column of M near 1 (Ruiz 2001), as powers of
 * two, starting from those in R and C (0: not known). If those change with the units, so does the
 * result. */
void perp__equilibrate(int n, const double *M, int ldm, double *R, double *C);

/* farkas.c: a proof that the pure problem has no solution into solver->certificate, from a row or
 * the ray; with `search` also by nonnegative least squares. Sets and returns has_certificate. */
int perp__lcp_prove(perp_lcp_solver *solver, const perp_lcp *lcp, int search);

/* The same for a point z that is a solution only up to rounding; w2 and the terms are those of z.
 * Does no other point near it do better, by more than rounding, or is there a proof? The proof goes
 * into certificate, and sets has_certificate. */
int perp__lcp_is_contradicted(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z);

/* May that say yes? In n operations: is there a proof already, or is z off in some row? */
int perp__lcp_may_be_contradicted(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z);

/* The second alone. */
int perp__lcp_is_disproved(perp_lcp_solver *solver, const perp_lcp *lcp, const double *z);

/* own_units.c: a problem without bounds in units of its own; z or a ray there and back, by the
 * units last made. */
size_t perp__own_units_doubles(int n);
perp_lcp perp__own_units(perp_lcp_solver *solver, const perp_lcp *lcp);
void perp__to_own_units(const perp_lcp_solver *solver, int n, double *z);
void perp__from_own_units(const perp_lcp_solver *solver, int n, double *z);
perp_outcome perp__solve_in_own_units(perp_lcp_solver *solver, const perp__solver *method,
                                      const perp_lcp *lcp, int attempt, int *iterations);

/* Is x or y not 0? By their bits without the sign. */
static inline int perp__is_entry(double x, double y)
{
    uint64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return (a | b) << 1 != 0;
}

/* lcp_parts.c: how many connected components has M? More than one: solve them one by one, into
 * s->z, w and the basis. */
int perp__lcp_parts_create(perp_lcp_solver *solver);
void perp__lcp_parts_destroy(perp__lcp_parts *parts);
int perp__lcp_parts_find(perp_lcp_solver *solver, const perp_lcp *lcp);
perp_outcome perp__lcp_parts_solve(perp_lcp_solver *solver, const perp_lcp *lcp,
                                   perp_lcp_info *info);

/* solve.c: one of them, by the solver's method; verified. */
perp_outcome perp__lcp_solve_part(perp_lcp_solver *solver, const perp_lcp *lcp,
                                  perp_lcp_info *info);

/* Forget what a warm start would begin from. */
void perp__lcp_forget(perp_lcp_solver *solver);

/* mixed.c: state a problem with bounds as a pure one, and read its answer back into solver->z and
 * solver->basis. Sizes of the workspace for n pairs. */
size_t perp__mixed_doubles(int n);
size_t perp__mixed_ints(int n);
perp_lcp perp__mixed_reduce(perp_lcp_solver *solver, const perp_lcp *lcp);
void perp__mixed_expand(perp_lcp_solver *solver, const perp_lcp *lcp);

#endif
