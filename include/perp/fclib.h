/// perp/fclib.h - contact problems as files of the Friction Contact Library (Acary, Bremond, Koziara, Perignon 2014): HDF5, as Siconos and
/// others write and read them, small ones and such of a million contacts.
///
/// With d = dimension, n = d nc, r and u per contact (normal, t1[, t2]), u and r by the law of perp/friction.h, a problem is local
///
///     u = W r + V l + q,     0 = V' r + R l + s                         (l: multipliers; V, R, s may be left out)
///
/// or global, of velocities v
///
///     u = H' v + w,     M v = H r + G l + f,     0 = G' v + b           (G, b may be left out)
///
/// Masses that are blocks of single bodies are solved as a pile (perp/pile.h). Other global problems, as those of finite elements, and piles that take
/// long are solved by `cones`, on M and H as they are: neither forms W. Else v and l are eliminated by sparse factors, and W is solved as blocks
/// (perp/friction.h).
///
/// Verified is the problem of the file: the laws of contacts as perp/friction.h and perp/pile.h do, the equations of v and l row by row from the
/// file's own matrices (docs/adr/088-cones-without-w.md).

#ifndef PERP_FCLIB_H
#define PERP_FCLIB_H

#include "perp/base.h"
#include "perp/friction.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PERP_FCLIB_MOST_CONTACTS = 100000000 };

/// A sparse matrix by columns: column j has the entries start[j] .. start[j + 1] - 1; those of one place add up.
typedef struct perp_fclib_matrix {
    int rows, columns;   ///< >= 0
    const int *start;    ///< columns + 1, from 0, ascending
    const int *row;      ///< of each entry, 0-based, in any order
    const double *value; ///< of each entry
} perp_fclib_matrix;

/// A problem is a view of arrays of the caller, or of a file that was read. A matrix with start = NULL is not there.
typedef struct perp_fclib_problem {
    int dimension;             ///< d: 2 or 3
    int nc;                    ///< contacts, >= 0
    const double *mu;          ///< nc, friction coefficients, >= 0
    perp_fclib_matrix W, V, R; ///< of a local problem: n x n, n x nl, nl x nl
    const double *q, *s;       ///< n; nl, where there is V
    perp_fclib_matrix M, H, G; ///< of a global one: nv x nv, nv x n, nv x nl
    const double *f, *w, *b;   ///< nv; n; nl, where there is G
    const char *title;         ///< nullable
} perp_fclib_problem;

/// Values of a solution, or of a guess.
typedef struct perp_fclib_point {
    const double *r; ///< n: impulses [N s]
    const double *u; ///< n: velocities of contacts [m/s]
    const double *v; ///< nv; not read of a local problem
    const double *l; ///< nl; not read where there are no multipliers
} perp_fclib_point;

/// A file that was read.
typedef struct perp_fclib perp_fclib;

/// Read a problem and the solution that is stored with it.
///
/// @param path  an HDF5 file with a group fclib_local or fclib_global; matrices as triplets, by rows or by columns
/// @param out   NULL on error
/// @param diag  nullable; says what is wrong, with the path inside the file
/// @return PERP_OK, PERP_ERR_ARG, PERP_ERR_FILE, PERP_ERR_DATA, PERP_ERR_UNAVAILABLE (no HDF5 here), PERP_ERR_MEMORY
PERP_API perp_status perp_fclib_read(const char *path, perp_fclib **out, perp_diag *diag);
PERP_API void perp_fclib_destroy(perp_fclib *file);

/// The problem; lives as long as the file.
PERP_API const perp_fclib_problem *perp_fclib_problem_of(const perp_fclib *file);

/// Impulses of the file's solution, n; NULL: it has none.
PERP_API const double *perp_fclib_impulses(const perp_fclib *file);

/// nv and nl of a problem: how many velocities and multipliers it has.
PERP_API int perp_fclib_velocities(const perp_fclib_problem *problem);
PERP_API int perp_fclib_multipliers(const perp_fclib_problem *problem);

/// Write a problem, with a solution where there is one; the file is whole or not there.
///
/// @param solution  nullable
/// @return PERP_OK, PERP_ERR_ARG (a matrix that does not fit, no array), PERP_ERR_FILE, PERP_ERR_UNAVAILABLE, PERP_ERR_MEMORY
PERP_API perp_status perp_fclib_write(const char *path, const perp_fclib_problem *problem,
                                      const perp_fclib_point *solution, perp_diag *diag);

/// What a solve does between sweeps of a pile or iterations of cones; the error is infinite where none was judged yet. @return 0 to go on; else the solve ends with PERP_LIMIT
typedef int (*perp_fclib_progress)(void *context, int iterations, double error);

/// What was found after so many iterations; `context` is that of the options. The arrays are there during the call.
typedef void (*perp_fclib_keep)(void *context, int iterations, const perp_fclib_point *point);

/// Options. Fill with perp_fclib_options_default, then change what you need.
typedef struct perp_fclib_options {
    size_t size; ///< set by the default; says which fields the caller has
    const char *
        method; ///< "pile", "petsc" (a pile by all processes of an MPI run, perp/petsc.h), "cones" (global, M symmetric and positive definite), the name of a method of perp/friction.h, or
    ///< (default) "auto": above 200 contacts a pile where it is one, by sweeps and then by cones; above 100 cones;
    ///< where neither applies `auto` of perp/friction.h
    double
        tol; ///< solved means: error <= tol (see perp_fclib_info). (0, 1e-2], default 1e-6, of blocks of W 1e-8
    int max_iter;   ///< of the method; 0 (default): its own limit
    int warm_start; ///< 1: r holds a guess on entry. Default 0: r starts at zero
    int threads;    ///< of a pile and cones, >= 1, default 1; the numbers are the same for any
    perp_fclib_progress progress; ///< nullable; of a pile and cones alone
    void *context;                ///< handed to it
    perp_fclib_keep
        keep; ///< nullable; of "petsc" alone: now and then what was found so far, before a process may be lost
} perp_fclib_options;

/// What a solve did.
typedef struct perp_fclib_info {
    size_t size;          ///< sizeof of this struct, set by the caller
    perp_outcome outcome; ///< PERP_SOLVED, PERP_LIMIT or PERP_BAD_INPUT
    const char
        *method; ///< "pile", "petsc", "cones", or that of perp/friction.h which gave the answer
    int iterations;
    int bodies;      ///< of a pile; 0: it is none, or was not looked at as one
    double residual; ///< natural residual, as perp_fc_residual [N s]; NaN if there is none
    double
        error; ///< what decides: the largest of the error of perp_fc_info or perp_pile_info and of `equations`; infinite where double
               ///< precision does not decide
    double
        equations; ///< largest violation of a row of the equations of v, l and u, with the file's matrices, beside the sum of its |terms|
} perp_fclib_info;

/// The defaults; _fill as in perp/base.h.
PERP_API void perp_fclib_options_fill(perp_fclib_options *options, size_t size);
static inline perp_fclib_options perp_fclib_options_default(void)
{
    perp_fclib_options options;
    perp_fclib_options_fill(&options, sizeof options);
    return options;
}

/// Solve a problem. Impulses need not be unique; what is returned is one solution. Safe from several threads.
///
/// @param options  nullable: the defaults
/// @param r        n, in: guess if options->warm_start, out: impulses (the best found if not solved)
/// @param u        n, out: velocities of contacts from the file's matrices; nullable
/// @param v        nv, out; nullable
/// @param l        nl, out; nullable
/// @param info     nullable
/// @param diag     nullable; says why a problem is not taken
/// @return PERP_OK, PERP_ERR_ARG (sizes that do not fit, an unknown method, an option out of range), PERP_ERR_DATA (entries that are
/// not finite, mu < 0, equations that do not determine v and l, "pile", "petsc" or "cones" of what is none, a W beyond 4 GB), PERP_ERR_UNAVAILABLE (sparse factors or PETSc, which are needed, are not here), PERP_ERR_MEMORY. Not solving is an outcome in info, not an error.
PERP_API perp_status perp_fclib_solve(const perp_fclib_problem *problem,
                                      const perp_fclib_options *options, double *r, double *u,
                                      double *v, double *l, perp_fclib_info *info, perp_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
