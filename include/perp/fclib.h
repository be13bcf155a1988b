/// perp/fclib.h - contact problems as files of the Friction Contact Library (Acary, Bremond,
/// Koziara, Perignon 2014).
///
/// The files are HDF5, as Siconos and others write and read them, with up to a million contacts.
/// Let d = dimension, n = d nc, and r and u (normal, t1[, t2]) for each contact, with the law of
/// perp/friction.h. A problem is local
///
///     u = W r + V l + q,     0 = V' r + R l + s                         (l: multipliers; V, R, s may be left out)
///
/// or global, with velocities v
///
///     u = H' v + w,     M v = H r + G l + f,     0 = G' v + b           (G, b may be left out)
///
/// If M has blocks of single bodies, the problem is solved as a pile (perp/pile.h). Other global
/// problems, such as finite elements, are solved by `cones`, and so are piles that take long.
/// Neither forms W. Else sparse factors eliminate v and l, and W is solved as blocks
/// (perp/friction.h).
///
/// The problem of the file is verified. Laws of contacts are verified as in perp/friction.h and
/// perp/pile.h, and the equations of v and l row by row from the file's own matrices
/// (docs/adr/088-cones-without-w.md).

#ifndef PERP_FCLIB_H
#define PERP_FCLIB_H

#include "perp/base.h"
#include "perp/friction.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PERP_FCLIB_MOST_CONTACTS = 100000000 };

/// A sparse matrix by columns: column j has the entries start[j] .. start[j + 1] - 1. Equal
/// positions add up.
typedef struct perp_fclib_matrix {
    int rows, columns;   ///< >= 0
    const int *start;    ///< columns + 1, from 0, ascending
    const int *row;      ///< of each entry, 0-based, in any order
    const double *value; ///< of each entry
} perp_fclib_matrix;

/// A problem is a view of arrays of the caller, or of a file. A matrix with start = NULL is absent.
typedef struct perp_fclib_problem {
    int dimension;             ///< d: 2 or 3
    int nc;                    ///< contacts, >= 0
    const double *mu;          ///< nc, friction coefficients, >= 0
    perp_fclib_matrix W, V, R; ///< of a local problem: n x n, n x nl, nl x nl
    const double *q, *s;       ///< n; nl, if there is V
    perp_fclib_matrix M, H, G; ///< of a global one: nv x nv, nv x n, nv x nl
    const double *f, *w, *b;   ///< nv; n; nl, if there is G
    const char *title;         ///< nullable
} perp_fclib_problem;

/// A solution, or an initial guess.
typedef struct perp_fclib_point {
    const double *r; ///< n: impulses [N s]
    const double *u; ///< n: velocities of contacts [m/s]
    const double *v; ///< nv; not read for a local problem
    const double *l; ///< nl; not read without multipliers
} perp_fclib_point;

/// A file that was read.
typedef struct perp_fclib perp_fclib;

/// Read a problem and the solution that is stored with it.
///
/// @param path  an HDF5 file with a group fclib_local or fclib_global; matrices as triplets, by
///         rows or columns
/// @param out   NULL on error
/// @param diag  nullable; names the fault with its path inside the file
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_DATA, PERP_ERR_UNAVAILABLE (no HDF5
///         here), PERP_ERR_MEMORY
PERP_API perp_status perp_fclib_read(const char *path, perp_fclib **out, perp_diag *diag);
PERP_API void perp_fclib_destroy(perp_fclib *file);

/// The problem; lives as long as the file.
PERP_API const perp_fclib_problem *perp_fclib_problem_of(const perp_fclib *file);

/// Impulses of the file's solution, n; NULL if it has none.
PERP_API const double *perp_fclib_impulses(const perp_fclib *file);

/// nv and nl of a problem: its numbers of velocities and multipliers.
PERP_API int perp_fclib_velocities(const perp_fclib_problem *problem);
PERP_API int perp_fclib_multipliers(const perp_fclib_problem *problem);

/// Write a problem, with its solution if there is one. The file is complete or absent.
///
/// @param solution  nullable
/// @return PERP_OK, PERP_ERR_ARG (a matrix that does not fit, no array), PERP_ERR_FILE,
///         PERP_ERR_UNAVAILABLE, PERP_ERR_MEMORY
PERP_API perp_status perp_fclib_write(const char *path, const perp_fclib_problem *problem,
                                      const perp_fclib_point *solution, perp_diag *diag);

/// Called between sweeps of a pile or iterations of cones. The error is infinite before the first
/// verdict. @return 0 to continue; else the solve ends with PERP_LIMIT
typedef int (*perp_fclib_progress)(void *context, int iterations, double error);

/// Called with the iterate after `iterations` iterations; `context` is that of the options. The
/// arrays are valid during the call.
typedef void (*perp_fclib_keep)(void *context, int iterations, const perp_fclib_point *point);

/// Options. Fill with perp_fclib_options_default, then change what you need.
typedef struct perp_fclib_options {
    size_t size; ///< set by the default; tells which fields the caller has
    /// A method of perp/friction.h by name, or one of
    ///
    /// - "pile": a pile;
    /// - "petsc": a pile by all processes of an MPI run, perp/petsc.h;
    /// - "cones": global, M symmetric and positive definite;
    /// - "auto" (default): above 200 contacts a pile, if it is one, by sweeps and then by cones;
    ///   above 100 contacts cones; else `auto` of perp/friction.h.
    const char * method;
    /// PERP_SOLVED means error <= tol (see perp_fclib_info). (0, 1e-2], default 1e-6, of blocks of
    /// W 1e-8
    double tol;
    int max_iter;   ///< of the method; 0 (default): its own limit
    int warm_start; ///< 1: r holds a guess on entry. Default 0: r starts at zero
    int threads;    ///< of a pile and cones, >= 1, default 1; the numbers are the same for any
    perp_fclib_progress progress; ///< nullable; only for a pile and cones
    void *context;                ///< passed to it
    /// Nullable; only for "petsc": receives the iterate now and then, before a process may be lost
    perp_fclib_keep keep;
} perp_fclib_options;

/// The result of a solve.
typedef struct perp_fclib_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    perp_outcome outcome; ///< PERP_SOLVED, PERP_LIMIT or PERP_BAD_INPUT
    /// "pile", "petsc", "cones", or the method of perp/friction.h of the answer
    const char *method;
    int iterations;
    int bodies;      ///< of a pile; 0: it is not a pile, or was not checked for one
    double residual; ///< natural residual, as perp_fc_residual [N s]; NaN if there is none
    /// Decides: the largest of `equations` and the error of perp_fc_info or perp_pile_info.
    /// Infinite: double precision does not decide.
    double error;
    /// Largest violation of a row of the equations of v, l and u, with the file's matrices,
    /// relative to the sum of its |terms|.
    double equations;
} perp_fclib_info;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_fclib_options_fill(perp_fclib_options *options, size_t size);
static inline perp_fclib_options perp_fclib_options_default(void)
{
    perp_fclib_options options;
    perp_fclib_options_fill(&options, sizeof options);
    return options;
}

/// Solve a problem. Impulses need not be unique. The result is one solution. Safe from several
/// threads.
///
/// @param options  nullable: the defaults
/// @param r        n, in: guess if options->warm_start, out: impulses (the best if not solved)
/// @param u        n, out: velocities of contacts from the file's matrices; nullable
/// @param v        nv, out; nullable
/// @param l        nl, out; nullable
/// @param info     nullable
/// @param diag     nullable; the reason if a problem is refused
/// @return PERP_OK; PERP_ERR_MEMORY; PERP_ERR_ARG (sizes that do not fit, an unknown method, an
///         option out of range); PERP_ERR_DATA (entries that are not finite, mu < 0, equations that
///         do not determine v and l, "pile", "petsc" or "cones" for another problem, a W beyond 4
///         GB); PERP_ERR_UNAVAILABLE (sparse factors or PETSc are needed and missing). Not solving
///         is an outcome in info, not an error.
PERP_API perp_status perp_fclib_solve(const perp_fclib_problem *problem,
                                      const perp_fclib_options *options, double *r, double *u,
                                      double *v, double *l, perp_fclib_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
