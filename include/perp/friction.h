/// perp/friction.h - contacts with exact Coulomb cones: find the impulses r with
///
///     u = W r + q,     K* contains  u + mu |u_T| e_n   perp   r   in   K = { |r_T| <= mu r_n }
///
/// for each contact in the plane or in space. r and u are (normal, t1[, t2]). W is the Delassus
/// matrix. It need be neither symmetric nor regular.
///
/// The term mu |u_T| e_n (De Saxce and Feng 1998) makes this Coulomb's law itself. A contact
/// separates (r = 0, u_n >= 0), sticks (u = 0), or slides with u_n = 0 and r_T = -mu r_n u_T/|u_T|.
///
/// Use it if friction pyramids are too coarse, or to check an answer from elsewhere. perp_fc_solve
/// verifies every contact of the original problem, on scales of its own (docs/adr/008-verdicts.md).
/// PERP_SOLVED is impossible above the tolerance. docs/friction-solvers.md explains the methods.

#ifndef PERP_FRICTION_H
#define PERP_FRICTION_H

#include "perp/base.h"
#include "perp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A problem is a view of the caller's arrays; nothing is copied. W has one of three forms: the
/// first of W, block, M that is not NULL. With d = dimension and n = d nc:
typedef struct perp_fc {
    int dimension;    ///< d: 2 or 3
    int nc;           ///< contacts, >= 0
    const double *q;  ///< n, per contact (normal, t1[, t2]): u where r = 0 [m/s]
    const double *mu; ///< nc, friction coefficients, >= 0

    const double *W; ///< dense: n x n, column-major [1/kg]; or NULL
    int ldw;         ///< leading dimension, >= max(1, n)

    const double *block; ///< block-sparse: nb blocks of d x d, each row by row; or NULL
    const int *row;      ///< nb, row contact of each, 0-based; in any order, equal positions add up
    const int *col;      ///< nb, column contact
    int nb;              ///< number of blocks, >= 0

    const double *M; ///< mass, nv x nv, column-major [kg], regular: W = J inv(M) J'; or NULL
    int ldm;         ///< leading dimension, >= max(1, nv)
    const double *J; ///< contact Jacobian, n x nv, column-major: u = J v
    int ldj;         ///< leading dimension, >= max(1, n)
    int nv;          ///< velocities, >= 0
} perp_fc;

/// The methods. The list is include/perp/friction.def.
typedef enum perp_fc_method {
#define PERP_FRICTION(name, NAME, function, summary) PERP_FC_##NAME,
#include "perp/friction.def"
#undef PERP_FRICTION
    PERP_FC_METHOD_COUNT
} perp_fc_method;

/// Options. Fill with perp_fc_options_default, then change what you need.
typedef struct perp_fc_options {
    size_t size;  ///< set by the default; tells which fields the caller has
    double tol;   ///< PERP_SOLVED means error <= tol (see perp_fc_info). (0, 1e-2], default 1e-8
    /// Sweeps, Newton steps or iterations of the method, for each connected component of the
    /// contacts. 0 (default): the method's own limit. The methods nsgs, admm and prox end with up
    /// to 20 further Newton steps.
    int max_iter;
    int warm_start; ///< 1: r holds a guess on entry. Default 0: r starts at zero
    struct {
        double omega; ///< over-relaxation, (0, 2), default 1 (exact solve of each contact)
    } nsgs;
    struct {
        int line_search; ///< halvings of a step at most, 0 (always the full step) to 50, default 8
    } newton;
    struct {
        double alpha; ///< first proximal weight relative to the mean diagonal of W, > 0, default 1
        double sigma; ///< factor on the weight after a good outer step, (0, 1), default 0.2
        int sweeps;   ///< 1: the inner solver is nsgs; 0 (default): Newton
    } proximal;
    struct {
        /// First penalty relative to the mean diagonal of W; 0 (default): spectral, from |W| and
        /// |diagonal|
        double rho;
        int adapt;  ///< 1 (default): the penalty follows the ratio of primal and dual residual
    } admm;
    struct {
        perp_rho strategy; ///< default PERP_RHO_ADAPTIVE
        double rho;        ///< for PERP_RHO_FIXED [kg], > 0, default 1
        /// 1: contacts one after the other with the newest values; 0 (default): all at once
        int gauss_seidel;
    } prox;
    /// (0, 1], default 1: methods continue to error <= aim tol. `auto` from a guess does so only
    /// with Newton and interior points; if these stop above it, tol is enough. Use it for time
    /// steps, whose errors add up.
    double aim;
} perp_fc_options;

/// The result of a solve.
typedef struct perp_fc_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    perp_outcome outcome; ///< PERP_SOLVED, PERP_LIMIT or PERP_BAD_INPUT
    perp_fc_method method; ///< the method of the answer (of auto: the last one of its cascade)
    int iterations; ///< sweeps, Newton steps or iterations, of all methods of a cascade
    int factorizations; ///< number of iterations that factorised a matrix
    double residual;    ///< perp_fc_residual of the returned r, for reading; NaN if there is none
    /// Decides: the largest violation of a contact's conditions on its own scale. The scale is that
    /// of its terms, |q_i| + sum |W_ij| |r_j|, but at most 100 times the size that the data give
    /// it. The error is also that of the normal row on its own scale, if that exceeds tol
    /// (docs/adr/069-normal-rows.md). 0: all hold exactly. Infinite: double precision does not
    /// decide.
    double error;
    double work; ///< multiply-adds of factorisations and of products with W
} perp_fc_info;

/// Owns the workspace of one method for problems up to a size; reusable, one thread at a time.
typedef struct perp_fc_solver perp_fc_solver;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_fc_options_fill(perp_fc_options *options, size_t size);
static inline perp_fc_options perp_fc_options_default(void)
{
    perp_fc_options options;
    perp_fc_options_fill(&options, sizeof options);
    return options;
}

/// Create a solver for problems no larger than `shape`. Only the sizes are read: dimension, nc, nb
/// (0: dense, nc squared blocks) and nv.
///
/// All memory of a solve is allocated here, except for the sparse factors. Their fill depends on
/// the contact graph, so they grow in the first solves and then stay.
///
/// @param options  nullable: the defaults
/// @param solver   out; NULL on error
/// @return PERP_OK, PERP_ERR_ARG (unknown method, sizes or options out of range), PERP_ERR_MEMORY
PERP_API perp_status perp_fc_solver_create(perp_fc_method method, const perp_fc *shape,
                                           const perp_fc_options *options, perp_fc_solver **solver);
PERP_API void perp_fc_solver_destroy(perp_fc_solver *solver);

/// Change options.max_iter from the next solve on. @return PERP_OK, PERP_ERR_ARG (NULL, below 0)
PERP_API perp_status perp_fc_solver_set_max_iter(perp_fc_solver *solver, int max_iter);

/// Solve a friction problem. Several threads may use different solvers.
///
/// If W is singular impulses need not be unique; with friction neither need velocities. The result
/// is one solution. Contacts that no nonzero block joins are solved on their own: one component
/// changes neither the verdict nor the numbers of another.
///
/// @param problem  no larger than the solver's shape. Entries that are not finite, mu < 0, blocks
///         outside the contacts and a singular M end in PERP_BAD_INPUT
/// @param r        n, in: guess if options.warm_start, out: impulses [N s] (the best if not solved)
/// @param u        n, out: velocities W r + q [m/s]; nullable
/// @param info     nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM, PERP_ERR_MEMORY. Not solving is an outcome in info,
///         not an error.
PERP_API perp_status perp_fc_solve(perp_fc_solver *solver, const perp_fc *problem, double *r,
                                   double *u, perp_fc_info *info);

/// Natural residual: the largest |r - P_K(r - u - mu |u_T| e_n)| of the contacts (Euclidean
/// length), u = W r + q. Computed from the caller's arrays, here and nowhere else. NaN if anything
/// is NaN or M is singular.
///
/// @param u  n, out: W r + q; NULL is fine for dense and block W. For mass and Jacobian use
///         perp_fc_delassus first: NaN.
PERP_API double perp_fc_residual(const perp_fc *problem, const double *r, double *u);

/// P_K(x) for one contact: the point of { |x_T| <= mu x_n } nearest to x.
///
/// @param p  out, dimension entries
PERP_API void perp_fc_project(int dimension, double mu, const double *x, double *p);

/// W as a dense matrix, from any of the three forms.
///
/// @param W  n x n column-major, leading dimension ldw >= n, out
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_MODEL (M is singular), PERP_ERR_MEMORY
PERP_API perp_status perp_fc_delassus(const perp_fc *problem, double *W, int ldw);

/// Size of the polyhedral LCP with `facets` facets a contact: nc (facets + 2). In the plane facets
/// is 2.
PERP_API int perp_fc_lcp_size(const perp_fc *problem, int facets);

/// State a dense problem as the LCP of Stewart and Trinkle (1996). Its unknowns are (r_n, beta,
/// gamma) with r_T = D beta, and D holds the `facets` directions (cos, sin)(2 pi k/facets). For
/// each contact
///
///     0 <= r_n perp u_n >= 0,    0 <= beta perp D'u_T + gamma >= 0,
///     0 <= gamma perp mu r_n - sum beta >= 0.
///
/// The pyramid is inscribed in the cone: |r_T| <= mu r_n.
///
/// @param problem  its W dense (else perp_fc_delassus first)
/// @param facets   2 in the plane; 4 or more, even, in space
/// @param M        m x m column-major with m = perp_fc_lcp_size, out
/// @param q        m, out
/// @return PERP_OK, PERP_ERR_ARG
PERP_API perp_status perp_fc_to_lcp(const perp_fc *problem, int facets, double *M, double *q);

/// r of the friction problem from z of its LCP. @return PERP_OK, PERP_ERR_ARG
PERP_API perp_status perp_fc_from_lcp(const perp_fc *problem, int facets, const double *z,
                                      double *r);

/// Look-up: perp_fc_method_find returns PERP_FC_METHOD_COUNT for an unknown name.
PERP_API perp_fc_method perp_fc_method_find(const char *name);
PERP_API const char *perp_fc_method_name(perp_fc_method method);
PERP_API const char *perp_fc_method_summary(perp_fc_method method);

#ifdef __cplusplus
}
#endif
#endif
