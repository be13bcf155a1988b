/// perp/lcp.h - linear complementarity problems: find z with
///
///     w = M z + q,   w >= 0,   z >= 0,   z'w = 0                    LCP(M, q)
///
/// (Cottle, Pang, Stone, The Linear Complementarity Problem, 1992), and mixed ones, with bounds:
///
///     lo <= z <= hi,   w_i >= 0 where z_i = lo_i,   w_i <= 0 where z_i = hi_i,   else w_i = 0.
///
/// Use it to solve such a problem, to list the methods, or to check an answer from elsewhere. The
/// function perp_lcp_solve verifies every answer, each condition on a scale of its own
/// (docs/adr/008-verdicts.md). PERP_SOLVED is impossible above the tolerance.

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
    /// n each, lo <= hi; infinities allowed, a free z_i has both. NULL: 0 and INFINITY, the pure
    /// problem
    const double *lo, *hi;
} perp_lcp;

/// The methods. The list is include/perp/solvers.def.
typedef enum perp_lcp_method {
#define PERP_LCP_METHOD(name, NAME, problem, summary) PERP_LCP_##NAME,
#include "perp/solvers.def"
#undef PERP_LCP_METHOD
    PERP_LCP_METHOD_COUNT
} perp_lcp_method;

/// The choice of rho in a fixed-point iteration z <- mid(lo, z - rho w, hi). Schindler, Nguyen and
/// Trinkle 2011 leave it open. These choices are in use.
typedef enum perp_rho {
    PERP_RHO_FIXED, ///< options.prox.rho for all
    PERP_RHO_LOCAL, ///< 1 / M_ii (contacts: of the largest diagonal entry of the contact's block)
    PERP_RHO_TRACE, ///< 1 / trace M (contacts: of the contact's block)
    PERP_RHO_SPECTRAL, ///< 1 / (largest eigenvalue, by power iteration) of M scaled to diagonal 1
    /// Starts local; shrinks after a step that is too long for M, grows after a short one
    PERP_RHO_ADAPTIVE,
    PERP_RHO_COUNT
} perp_rho;

/// Options. Fill with perp_lcp_options_default, then change what you need.
typedef struct perp_lcp_options {
    size_t size;  ///< set by the default; tells which fields the caller has
    double tol;   ///< PERP_SOLVED means error <= tol. (0, 1e-2], default 1e-10
    int max_iter; ///< pivots or iterations; 0 (default): the method's own limit
    /// 1: begin at the end of the last solve. 0 (default): every solve stands alone. Of the
    /// methods, lemke keeps its pivots for the same M, and bpp keeps its basis. The methods fb,
    /// min, pgs, psor, prox and nlp begin at the given z. The methods murty, ipm and enumerate
    /// ignore it.
    int warm_start;
    /// 1: problems may have lo and hi; pivoting methods then need four times the memory. Default 0
    int mixed;
    struct {
        double omega; ///< over-relaxation, (0, 2), default 1.3
    } psor;
    struct {
        perp_rho strategy; ///< default PERP_RHO_ADAPTIVE
        double rho;        ///< for PERP_RHO_FIXED, > 0, default 1
        /// 1: one row after the other with the newest values; 0 (default): all at once
        int gauss_seidel;
    } prox;
} perp_lcp_options;

/// The result of a solve.
typedef struct perp_lcp_info {
    size_t size; ///< sizeof of this struct, set by the caller
    perp_outcome outcome;
    perp_lcp_method method; ///< the method of the answer
    int iterations;         ///< pivots, sweeps or Newton steps
    /// Perp_lcp_residual of the returned z, recomputed by the driver; NaN if there is no z
    double residual;
    /// The largest violation of a condition on its own scale, without unit. The scale is the sum of
    /// the |terms|, |q_i| + sum |M_ij z_j|. If z is so large that q would be lost, it is the size
    /// that the data give to the row.
    double error;
} perp_lcp_info;

/// Owns the workspace of one method for problems up to a size; reusable, one thread at a time.
typedef struct perp_lcp_solver perp_lcp_solver;

/// The defaults. The library exports _fill: see "Options" in perp/base.h.
PERP_API void perp_lcp_options_fill(perp_lcp_options *options, size_t size, perp_lcp_method method);
static inline perp_lcp_options perp_lcp_options_default(perp_lcp_method method)
{
    perp_lcp_options options;
    perp_lcp_options_fill(&options, sizeof options, method);
    return options;
}

/// Create a solver. Allocates all memory of a solve.
///
/// @param method   a method
/// @param n_max    largest problem, >= 0
/// @param options  nullable: the defaults
/// @param solver   out; NULL on error
/// @return PERP_OK, PERP_ERR_ARG (unknown method, n_max < 0, options out of range),
///         PERP_ERR_MEMORY, PERP_ERR_UNAVAILABLE (nlp, in a build without IPOPT)
PERP_API perp_status perp_lcp_solver_create(perp_lcp_method method, int n_max,
                                            const perp_lcp_options *options,
                                            perp_lcp_solver **solver);
PERP_API void perp_lcp_solver_destroy(perp_lcp_solver *solver);

/// Solve LCP(M, q) with the solver's method.
///
/// Allocates nothing (except nlp: its library does). Several threads may use different solvers. For
/// a Delassus matrix with redundant contacts the impulses z need not be unique. The velocities w
/// are.
///
/// @param lcp   n <= n_max; bounds only with options.mixed. Entries that are not finite, NaN bounds
///         and lo > hi end in PERP_BAD_INPUT
/// @param z     n, in: guess if options.warm_start; out: solution, or the best point if not solved;
///         untouched after PERP_BAD_INPUT
/// @param w     n, out: M z + q; nullable
/// @param info  nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM. Not solving is an outcome in info, not an error.
PERP_API perp_status perp_lcp_solve(perp_lcp_solver *solver, const perp_lcp *lcp, double *z,
                                    double *w, perp_lcp_info *info);

/// After PERP_INFEASIBLE: u >= 0 with M'u <= 0 and q'u < 0, which excludes every feasible z.
///
/// It has n entries, belongs to the solver, and is valid until its next solve. NULL after any other
/// outcome. After PERP_RAY use perp_lcp_ray.
PERP_API const double *perp_lcp_certificate(const perp_lcp_solver *solver);

/// After PERP_RAY or PERP_INFEASIBLE by a pivoting method: the direction of z on which it ended;
/// else NULL.
PERP_API const double *perp_lcp_ray(const perp_lcp_solver *solver);

/// The basis of the last solve: 1 if z_i is basic (w_i = 0, z_i between its bounds). It has n
/// entries and belongs to the solver; NULL unless solved.
PERP_API const unsigned char *perp_lcp_basis(const perp_lcp_solver *solver);

/// 1 if u proves the pure LCP(M, q) infeasible. Each condition is decided without rounding, for the
/// numbers as given; tol is not used.
PERP_API int perp_lcp_is_infeasible(const perp_lcp *lcp, const double *u, double tol);

/// Natural residual max_i |z_i - mid(lo_i, z_i - w_i, hi_i)|, without bounds |min(z_i, w_i)|. NaN
/// if anything is not finite.
///
/// It is computed here and nowhere else. It avoids the difference z_i - w_i, in which a w_i much
/// smaller than z_i would vanish.
///
/// @param w  n, out: M z + q; nullable
PERP_API double perp_lcp_residual(const perp_lcp *lcp, const double *z, double *w);

/// The kind of the derivatives of a solution.
typedef struct perp_lcp_sensitivity {
    /// 1: strict complementarity, z is differentiable. 0: both sides of some pair are zero
    /// (relative 1e-9). The derivative is then directional, that of the basis.
    int strict;
    int degenerate;              ///< number of such pairs
    int worst;                   ///< index of the pair closest to degeneracy; -1 if n = 0
    /// Of M_bb, estimated: below 1e-14 the derivative has no correct digits
    double reciprocal_condition;
} perp_lcp_sensitivity;

/// Prepare derivatives of the solution of the last perp_lcp_solve, on its basis b:
///
///     M_bb dz_b = -(dM z + dq)_b,   dz = 0 elsewhere.
///
/// lcp must be the solved problem. Both products below are valid until the next solve.
///
/// @return PERP_OK, PERP_ERR_ARG (the last solve was not solved, or of another size),
///         PERP_ERR_MODEL (M_bb is singular: no derivative)
PERP_API perp_status perp_lcp_differentiate(perp_lcp_solver *solver, const perp_lcp *lcp,
                                            perp_lcp_sensitivity *out);

/// Jacobian-vector product: dz for a change dM, dq. After perp_lcp_differentiate.
///
/// @param dM  n x n with leading dimension n, nullable: 0
/// @param dq  n, nullable: 0
/// @param dz  n, out
/// @return PERP_OK, PERP_ERR_ARG
PERP_API perp_status perp_lcp_jvp(perp_lcp_solver *solver, const double *dM, const double *dq,
                                  double *dz);

/// Vector-Jacobian product: the gradients of c'z by q and by M. After perp_lcp_differentiate.
///
/// @param c   n
/// @param gq  n, out
/// @param gM  n x n with leading dimension n, out; nullable. gM = gq z', of rank 1
/// @return PERP_OK, PERP_ERR_ARG
PERP_API perp_status perp_lcp_vjp(perp_lcp_solver *solver, const double *c, double *gq, double *gM);

/// Many problems of one size at once.
typedef struct perp_lcp_batch {
    int count; ///< problems, >= 0
    int n;     ///< pairs of each, >= 0
    /// Problem k at M + k * n * n, column-major, leading dimension n; one matrix if shared_M
    const double *M;
    const double *q; ///< problem k at q + k * n
    int shared_M; ///< 1: one M for all; each solve starts from the basis of the one before it
    /// 1: structure of arrays, entry e of problem k at M[e * count + k], q[e * count + k], and z
    /// alike. 0: problem by problem.
    int interleaved;
} perp_lcp_batch;

typedef struct perp_lcp_batch_solver perp_lcp_batch_solver;

/// Create solvers for batches: one for each thread.
///
/// @param method   a method; for n <= 4 lemke and auto first try all supports of many problems by
///         SIMD
/// @param n_max    largest n, >= 0
/// @param threads  >= 1; 0: one for each processor. Builds without OpenMP use one
/// @param options  nullable; warm_start and mixed must be 0
/// @param solver   out; NULL on error
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY, PERP_ERR_UNAVAILABLE
PERP_API perp_status perp_lcp_batch_solver_create(perp_lcp_method method, int n_max, int threads,
                                                  const perp_lcp_options *options,
                                                  perp_lcp_batch_solver **solver);
PERP_API void perp_lcp_batch_solver_destroy(perp_lcp_batch_solver *solver);

/// Solve all problems, each verified like perp_lcp_solve. Allocates nothing. The result does not
/// depend on the number of threads.
///
/// @param z         count * n, out, in the order of batch->interleaved; untouched after
///         PERP_BAD_INPUT
/// @param outcomes  count, out; nullable
/// @param solved    out: number of PERP_SOLVED; nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM
PERP_API perp_status perp_lcp_solve_batch(perp_lcp_batch_solver *solver,
                                          const perp_lcp_batch *batch, double *z,
                                          perp_outcome *outcomes, int *solved);

/// Called with each solution of perp_lcp_enumerate: z and w of n entries. With is_ray = 1 it is an
/// unbounded direction of the solution set (z sums to 1, w = M z). Return 0 to continue.
typedef int (*perp_lcp_solution_fn)(void *context, const double *z, const double *w, int is_ray);

enum { PERP_LCP_ENUMERATE_MAX = 20 };

/// Find all solutions of a small problem (n <= PERP_LCP_ENUMERATE_MAX): isolated points, the
/// vertices of solution segments and faces, then their extreme rays. A vertex on several faces is
/// reported once for each.
///
/// @param lcp      lo and hi are not read
/// @param is_free  n, nullable: 1 if z_i may have any sign and w_i = 0 (a mixed problem)
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM
PERP_API perp_status perp_lcp_enumerate(const perp_lcp *lcp, const unsigned char *is_free,
                                        perp_lcp_solution_fn found, void *context);

/// Classes of a matrix: 1 yes, 0 no, -1 not decided (too many principal submatrices). Rows and
/// columns are scaled to 1, so units change nothing. Entries below 1e-12 then count as zero.
typedef struct perp_lcp_class {
    size_t size; ///< sizeof of this struct, set by the caller
    int symmetric;
    int positive_definite;     ///< x'Mx > 0: exactly one solution for every q
    int positive_semidefinite; ///< a solution whenever w >= 0, z >= 0 is feasible; Lemke finds it
                               ///< or proves there is none
    int p_matrix;   ///< all principal minors > 0: exactly one solution for every q. n <= 20
    int p0_matrix;  ///< all principal minors >= 0. n <= 20
    int copositive; ///< x'Mx >= 0 for x >= 0: a solution if q'z >= 0 for all z >= 0, Mz >= 0, z'Mz
                    ///< = 0. n <= 12
    int z_matrix;   ///< nothing positive off the diagonal: a least solution if there is any
} perp_lcp_class;

/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MEMORY
PERP_API perp_status perp_lcp_classify(const perp_lcp *lcp, perp_lcp_class *out);

/// Look-up: perp_lcp_method_find returns PERP_LCP_METHOD_COUNT for an unknown name.
PERP_API perp_lcp_method perp_lcp_method_find(const char *name);
PERP_API const char *perp_lcp_method_name(perp_lcp_method method);
PERP_API const char *perp_lcp_method_summary(perp_lcp_method method);

#ifdef __cplusplus
}
#endif
#endif
