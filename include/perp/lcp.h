/// perp/lcp.h - linear complementarity problems: find z with
///
///     w = M z + q,   w >= 0,   z >= 0,   z'w = 0 LCP(M, q)
///
/// (Cottle, Pang, Stone, The Linear Complementarity Problem, 1992). Come back here when you have
/// such a problem, want to know which methods there are, or want to check somebody's answer: the
/// residual of perp_lcp_residual is the only one the project uses. A solver's word is never taken:
/// perp_lcp_solve recomputes the residual after every solve, and PERP_SOLVED is impossible above
/// the tolerance.

#ifndef PERP_LCP_H
#define PERP_LCP_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A problem is a view of the caller's arrays; nothing is copied.
typedef struct perp_lcp {
    int n;           ///< number of pairs, >= 0
    const double *M; ///< n x n, column-major; M[i + j*ldm] is row i, column j
    int ldm;         ///< leading dimension, >= max(1, n)
    const double *q; ///< n
} perp_lcp;

/// The methods; the list is include/perp/solvers.def.
typedef enum perp_method {
#define PERP_SOLVER(name, NAME, problem, summary) PERP_METHOD_##NAME,
#include "perp/solvers.def"
#undef PERP_SOLVER
    PERP_METHOD_COUNT
} perp_method;

/// Options shared by all methods. Fill with perp_solver_options_default, then change what you need.
typedef struct perp_solver_options {
    double tol;   ///< solved means: residual <= tol * (1 + max|q|). (0, 1e-2], default 1e-10
    int max_iter; ///< pivots or iterations; 0 (default): the method's own limit
} perp_solver_options;

/// What a solve did.
typedef struct perp_solve_info {
    perp_outcome outcome;
    perp_method method; ///< the method that gave the answer
    int iterations;     ///< pivots, sweeps or Newton steps
    double residual;    ///< perp_lcp_residual of the returned z, recomputed by the driver; NaN if
                        ///< there is no z
    double residual_scaled; ///< residual / (1 + max|q|)
} perp_solve_info;

/// Owns the workspace of one method for problems up to a size; reusable, one thread at a time.
typedef struct perp_solver perp_solver;

PERP_API perp_solver_options perp_solver_options_default(perp_method method);

/// Create a solver. Allocates everything a solve will need.
///
/// @param method   which one
/// @param n_max    largest problem, >= 0
/// @param options  nullable: the defaults
/// @param solver   out; NULL on error
/// @return PERP_OK, PERP_ERR_ARG (unknown method, n_max < 0, options out of range), PERP_ERR_MEMORY
PERP_API perp_status perp_solver_create(perp_method method, int n_max,
                                        const perp_solver_options *options, perp_solver **solver);
PERP_API void perp_solver_destroy(perp_solver *solver);

/// Solve LCP(M, q) with the solver's method. Allocates nothing; safe from several threads on
/// different solvers.
///
/// For a Delassus matrix with redundant contacts the impulses z need not be unique; the velocities
/// w are.
///
/// @param lcp   n <= n_max; entries that are not finite end in PERP_BAD_INPUT
/// @param z     n, out: solution (the best point found if the
/// outcome is not solved)
/// @param w     n, out: M z + q; nullable
/// @param info  nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM. Not solving is an outcome in info, not an error.
PERP_API perp_status perp_lcp_solve(perp_solver *solver, const perp_lcp *lcp, double *z, double *w,
                                    perp_solve_info *info);

/// After PERP_INFEASIBLE: u >= 0 with M'u <= 0 and q'u < 0, which no feasible z admits. n entries,
/// owned by the solver, valid until its next solve; NULL after any other outcome. After PERP_RAY
/// use perp_lcp_ray.
PERP_API const double *perp_lcp_certificate(const perp_solver *solver);

/// After PERP_RAY or PERP_INFEASIBLE by a pivoting method: the direction of z on which it ended;
/// else NULL.
PERP_API const double *perp_lcp_ray(const perp_solver *solver);

/// Does u prove LCP(M, q) infeasible? Every condition is checked relative to the size of its terms.
/// The complementary basis of the last solve: 1 where z_i is basic (w_i = 0). NULL if the method
/// has none.
PERP_API const unsigned char *perp_lcp_basis(const perp_solver *solver);

PERP_API int perp_lcp_is_infeasible(const perp_lcp *lcp, const double *u, double tol);

/// Natural residual max_i |min(z_i, (M z + q)_i)|, computed here and nowhere else. NaN if anything
/// is NaN.
///
/// @param w  n, out: M z + q; nullable
PERP_API double perp_lcp_residual(const perp_lcp *lcp, const double *z, double *w);

/// Called with each solution that perp_lcp_enumerate finds: z and w of n entries, or with is_ray =
/// 1 an unbounded direction of the solution set (z sums to 1, w = M z). Return 0 to go on.
typedef int (*perp_solution_fn)(void *context, const double *z, const double *w, int is_ray);

enum { PERP_ENUMERATE_MAX = 20 };

/// Find all solutions of a small problem: isolated points, the vertices of solution segments and
/// faces, then their extreme rays. A vertex on several faces is reported once per face.
///
/// @param lcp      n <= PERP_ENUMERATE_MAX
/// @param is_free  n, nullable: 1 where z_i may have any sign and w_i = 0 (a mixed problem)
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM
PERP_API perp_status perp_lcp_enumerate(const perp_lcp *lcp, const unsigned char *is_free,
                                        perp_solution_fn found, void *context);

/// Classes of a matrix: 1 yes, 0 no, -1 not decided (too large to visit all principal submatrices).
/// Entries below 1e-12 of the largest count as zero.
typedef struct perp_lcp_class {
    int symmetric;
    int positive_definite;     ///< x'Mx > 0: exactly one solution for every q
    int positive_semidefinite; ///< a solution whenever w >= 0, z >= 0 is feasible; Lemke finds it
                               ///< or proves there is none
    int p_matrix;   ///< all principal minors > 0: exactly one solution for every q. n <= 16
    int p0_matrix;  ///< all principal minors >= 0. n <= 16
    int copositive; ///< x'Mx >= 0 for x >= 0: a solution if q'z >= 0 for all z >= 0, Mz >= 0, z'Mz
                    ///< = 0. n <= 12
    int z_matrix;   ///< nothing positive off the diagonal: a least solution if any
} perp_lcp_class;

/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY
PERP_API perp_status perp_lcp_classify(const perp_lcp *lcp, perp_lcp_class *out);

/// Registry: perp_method_find returns PERP_METHOD_COUNT for an unknown name.
PERP_API perp_method perp_method_find(const char *name);
PERP_API const char *perp_method_name(perp_method method);
PERP_API const char *perp_method_summary(perp_method method);

#ifdef __cplusplus
}
#endif
#endif
