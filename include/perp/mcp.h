/// perp/mcp.h - mixed complementarity problems with a nonlinear function: find z with
///
///     lo <= z <= hi,   F_i(z) >= 0 where z_i = lo_i,   F_i(z) <= 0 where z_i = hi_i,   else F_i(z) = 0.
///
/// Use it if the function is not affine (else perp/lcp.h), or if it is and M is sparse. F and its
/// derivative J are callbacks; J is dense or in compressed columns. The driver evaluates F and J
/// once more at the answer and verifies it. PERP_SOLVED is impossible above the tolerance.

#ifndef PERP_MCP_H
#define PERP_MCP_H

#include "perp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A problem is a view of the caller's arrays and functions.
typedef struct perp_mcp {
    int n;                 ///< number of pairs, >= 0
    const double *lo, *hi; ///< n each, lo <= hi, infinities allowed. NULL: 0 and INFINITY
    /// W = F(z), n entries. Return 0. Anything else means that F is not defined at z, and a shorter
    /// step is tried.
    int (*F)(void *context, const double *z, double *w);
    /// Values of J = dF/dz: n x n column-major, or in the order of `row`. Return as F does.
    int (*J)(void *context, const double *z, double *values);
    void *context; ///< handed to F and J
    /// n + 1: column j has the entries column_start[j] .. column_start[j+1]-1. NULL: J is dense
    const int * column_start;
    const int *row; ///< rows of the entries, ascending in each column
    /// Nullable, called like F: n bounds of the rounding in F(z). Without it rounding inside a
    /// function goes unnoticed: x - sqrt(1 + x^2) is 0 in doubles at 1e9.
    int (*rounding)(void *context, const double *z, double *bounds);
} perp_mcp;

/// The methods. The list is include/perp/mcp.def.
typedef enum perp_mcp_method {
#define PERP_MCP_METHOD(name, NAME, summary) PERP_MCP_##NAME,
#include "perp/mcp.def"
#undef PERP_MCP_METHOD
    PERP_MCP_METHOD_COUNT
} perp_mcp_method;

/// Fill with perp_mcp_options_default, then change what you need.
typedef struct perp_mcp_options {
    size_t size;  ///< set by the default; tells which fields the caller has
    double tol;   ///< PERP_SOLVED means error <= tol. (0, 1e-2], default 1e-9
    int max_iter; ///< steps of a method; 0 (default): 200
} perp_mcp_options;

/// The result of a solve.
typedef struct perp_mcp_info {
    size_t size;            ///< sizeof of this struct, set by the caller
    perp_outcome outcome;   ///< PERP_SOLVED, PERP_LIMIT or PERP_BAD_INPUT
    perp_mcp_method method; ///< the method of the answer
    int iterations;         ///< steps, of all methods tried
    double residual;        ///< perp_mcp_residual of the returned z; NaN if F is not defined there
    /// The largest violation of a condition on its own scale, sum |J_ij z_j| + |F_i - sum J_ij
    /// z_j|. If z is so large that it hides the data of a row, the rows may still determine z. Else
    /// the scale is that of the row's own data, or the error is infinite.
    double error;
} perp_mcp_info;

/// Owns the workspace of one method for problems of one size and pattern; reusable, one thread at a
/// time.
typedef struct perp_mcp_solver perp_mcp_solver;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_mcp_options_fill(perp_mcp_options *options, size_t size);
static inline perp_mcp_options perp_mcp_options_default(void)
{
    perp_mcp_options options;
    perp_mcp_options_fill(&options, sizeof options);
    return options;
}

/// Create a solver for problems like `shape`; only n and the pattern of J are read.
///
/// @param options  nullable: the defaults
/// @param solver   out; NULL on error
/// @return PERP_OK; PERP_ERR_MEMORY; PERP_ERR_ARG: unknown method, options out of range, a pattern
///         that is not ascending or leaves the matrix, n above 2^15 with a dense J or with josephy,
///         which makes J dense
PERP_API perp_status perp_mcp_solver_create(perp_mcp_method method, const perp_mcp *shape,
                                            const perp_mcp_options *options,
                                            perp_mcp_solver **solver);
PERP_API void perp_mcp_solver_destroy(perp_mcp_solver *solver);

/// Solve. With a dense J nothing is allocated. The sparse LU allocates its factors.
///
/// @param problem  same n and pattern as the shape
/// @param z        n, in: guess (moved into the bounds), out: solution, or the best point
/// @param w        n, out: F(z); nullable
/// @param info     nullable
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_DIM (another n or pattern). Not solving is an outcome in
///         info, not an error.
PERP_API perp_status perp_mcp_solve(perp_mcp_solver *solver, const perp_mcp *problem, double *z,
                                    double *w, perp_mcp_info *info);

/// Natural residual max_i |z_i - mid(lo_i, z_i - F_i(z), hi_i)|. NaN if F is not defined or a
/// number is not finite.
///
/// @param w  n, out: F(z)
PERP_API double perp_mcp_residual(const perp_mcp *problem, const double *z, double *w);

/// Look-up: perp_mcp_method_find returns PERP_MCP_METHOD_COUNT for an unknown name.
PERP_API perp_mcp_method perp_mcp_method_find(const char *name);
PERP_API const char *perp_mcp_method_name(perp_mcp_method method);
PERP_API const char *perp_mcp_method_summary(perp_mcp_method method);

#ifdef __cplusplus
}
#endif
#endif
