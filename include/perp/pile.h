/// perp/pile.h - very many contacts with exact Coulomb cones: piles of grains, masonry, a thousand
/// bodies and more.
///
/// The problem is that of perp/friction.h, u = W r + q with the same conditions of every contact.
/// But W = J inv(M) J' is never formed. Bodies have inverse masses, and each contact names its two
/// bodies and their Jacobians. Memory and the work of an iteration grow with the number of
/// contacts. perp/friction.h has more methods, and is faster below a few hundred contacts.
///
/// Every contact of the original problem is verified on scales of its own (docs/adr/056-piles.md).
/// PERP_SOLVED is impossible above the tolerance.

#ifndef PERP_PILE_H
#define PERP_PILE_H

#include "perp/base.h"
#include "perp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PERP_PILE_MAX_DOF = 6 }; ///< velocities of a body at most

/// A problem is a view of the caller's arrays; nothing is copied. With d = dimension and k = dof:
typedef struct perp_pile {
    int dimension; ///< d: 2 or 3
    int dof;       ///< k: velocities of a body, 1 .. PERP_PILE_MAX_DOF
    int nbody;     ///< bodies, >= 0
    /// Nbody x k x k, symmetric, positive semidefinite [1/kg ..]; 0: the body is fixed
    const double * inverse_mass;
    /// Nbody x k: velocities of the bodies without these contacts [m/s, rad/s]
    const double *velocity;
    int nc;                 ///< contacts, >= 0
    const int *body;        ///< nc x 2: the bodies, 0-based; the second may be -1, the ground
    /// nc x 2 x d x k, each d x k row by row: u = J1 v1 + J2 v2 + bias, for each contact (normal,
    /// t1[, t2]). For a contact with the ground the second is not read.
    const double *jacobian;
    const double *bias; ///< nc x d, added to u, such as gap/h on the normal [m/s]; nullable: 0
    const double *mu;   ///< nc, friction coefficients, >= 0
} perp_pile;

/// Called between iterations, about every second. @return 0 to continue; else the solve ends with
/// PERP_LIMIT
typedef int (*perp_pile_progress)(void *context, int iterations, double error);

/// Options. Fill with perp_pile_options_default, then change what you need.
typedef struct perp_pile_options {
    size_t size;    ///< set by the default; tells which fields the caller has
    double tol; ///< PERP_SOLVED means error <= tol (see perp_pile_info). (0, 1e-2], default 1e-6
    int max_iter;   ///< sweeps over all contacts, >= 1, default 100000
    int warm_start; ///< 1: r holds a guess on entry. Default 0: r starts at zero
    int threads;    ///< >= 1, default 1; the numbers are the same for any
    perp_pile_progress progress; ///< nullable
    void *context;               ///< passed to it
} perp_pile_options;

/// The result of a solve.
typedef struct perp_pile_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    perp_outcome outcome; ///< PERP_SOLVED, PERP_LIMIT or PERP_BAD_INPUT
    int iterations;       ///< sweeps
    int colours; ///< groups of contacts without a common body, one after the other in a sweep
    /// Natural residual of the returned r, as perp_fc_residual [N s]; NaN if there is none
    double residual;
    /// Decides: the largest violation of a contact's conditions on its own scale. Infinite: double
    /// precision does not decide.
    double error;
    int worst; ///< its contact, 0-based; -1: none
    size_t bytes; ///< memory of the solve in addition to the caller's arrays
} perp_pile_info;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_pile_options_fill(perp_pile_options *options, size_t size);
static inline perp_pile_options perp_pile_options_default(void)
{
    perp_pile_options options;
    perp_pile_options_fill(&options, sizeof options);
    return options;
}

/// Solve a pile. Impulses need not be unique. The result is one solution. Safe from several
/// threads.
///
/// @param problem  entries that are not finite, mu < 0 and bodies outside the list end in
///         PERP_BAD_INPUT
/// @param options  nullable: the defaults
/// @param r        nc x d, in: guess if options->warm_start, out: impulses [N s] (the best if not
///         solved)
/// @param v        nbody x k, out: velocities of the bodies with them; nullable
/// @param info     nullable
/// @return PERP_OK, PERP_ERR_ARG (a size or option out of range, a NULL array), PERP_ERR_MEMORY.
///         Not solving is an outcome in info, not an error.
PERP_API perp_status perp_pile_solve(const perp_pile *problem, const perp_pile_options *options,
                                     double *r, double *v, perp_pile_info *info);

#ifdef __cplusplus
}
#endif
#endif
